"""Figure: error, energy and constraint residual over the step: a residual at round-off says nothing about accuracy."""

import numpy as np
from matplotlib.figure import Figure

import mbfmu
from examples.figures.style import BLUE, GREEN, ORANGE, panels

MODEL = "slider_crank"
STOP, INTERVAL = 2.0, 0.04
STEPS = (0.04, 0.02, 0.01, 0.005, 0.0025, 0.00125)
"""s"""
STEPPERS = {"rattle": BLUE, "projected": ORANGE, "gauss": GREEN}
NAME = "crank.phi"


def draw() -> Figure:
    """Return the figure."""
    exact = mbfmu.simulate(MODEL, STOP, stepper=mbfmu.Gauss(stages=3), step=5e-4, output_interval=INTERVAL)[NAME]
    figure, axes = panels(1, 3, (9.4, 2.9), sharey=True)
    for stepper, colour in STEPPERS.items():
        rows = []
        for step in STEPS:
            run = mbfmu.simulate(MODEL, STOP, stepper=stepper, step=step, output_interval=INTERVAL, error_samples=0)
            energy = run["energy.total"]
            rows.append((
                np.abs(run[NAME] - exact).max(),
                np.abs(energy - energy[0]).max() / np.ptp(run["energy.kinetic"]),
                max(run["constraint.position"].max(), 1e-17),
            ))  # fmt: skip
        for sheet, values in zip(axes, zip(*rows, strict=True), strict=True):
            sheet.loglog(STEPS, values, "o-", color=colour, markersize=3, label=stepper)
    titles = ("error of crank.phi [rad]", "energy error / kinetic energy", "constraint residual [m, rad]")
    for sheet, title in zip(axes, titles, strict=True):
        sheet.set(title=title, xlabel="step", ylim=(1e-18, 1), xlim=(9e-4, 6e-2))
        sheet.set_xticks((1e-3, 1e-2), ("1 ms", "10 ms"))
        sheet.minorticks_off()
        sheet.axhspan(1e-18, 1e-14, color="#dfe6ed", alpha=0.6, linewidth=0)
    axes[0].text(1e-3, 3e-18, "round-off", size=8)
    axes[1].legend(loc="lower right")
    figure.tight_layout()
    return figure

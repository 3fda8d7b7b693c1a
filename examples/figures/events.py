"""Figure: what events show: a ball that bounces and a mass that sticks to a belt, on one time axis each."""

from matplotlib.figure import Figure

import mbfmu
from examples.figures.style import BLUE, GREEN, ORANGE, panels

BALL = {"model": "bouncing_ball"}
BELT = {"model": "stick_slip"}
STOPS = (4.6, 15.0)
"""s, ends of both runs."""


def draw() -> Figure:
    """Return the figure."""
    ball = mbfmu.simulate(BALL["model"], STOPS[0], output_interval=STOPS[0] / 300, error_samples=0)
    belt = mbfmu.simulate(BELT["model"], STOPS[1], output_interval=STOPS[1] / 300, error_samples=0)
    columns = (
        ("a ball on the ground", ball, ("ground.gap", "ground.f_n", "ground.closed"), ("gap [m]", "f_n [N]", "closed")),
        ("a mass on a belt", belt, ("belt.slip", "belt.f_t", "belt.sticks"), ("slip [m/s]", "f_t [N]", "sticks")),
    )
    figure, axes = panels(3, 2, (7.6, 3.9), sharex="col", gridspec_kw={"height_ratios": (2, 2, 1)})
    for column, (title, run, names, labels) in enumerate(columns):
        for row, (name, label, colour) in enumerate(zip(names, labels, (BLUE, ORANGE, GREEN), strict=True)):
            sheet = axes[2 * row + column]
            sheet.plot(run.time, run[name], color=colour, drawstyle="steps-post" if row == 2 else "default")
            sheet.set_ylabel(label)
        axes[column].set_title(title)
        axes[4 + column].set(xlabel="time [s]", ylim=(-0.2, 1.2), yticks=(0, 1))
    figure.align_ylabels()
    figure.tight_layout()
    return figure

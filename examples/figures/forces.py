"""Figure: cards of forces on an axis: each force as mbfmu computes it while the axis swings."""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import mbfmu
from examples.figures.style import BLUE, GREY, panels
from mbfmu.model import (
    AxisLaw,
    AxisMotion,
    AxisPotential,
    Body,
    Component,
    Prismatic,
    System,
    TranslationalDamper,
    TranslationalFriction,
    TranslationalLuGreFriction,
    TranslationalMaxwellDamper,
    TranslationalSpring,
    TranslationalStop,
    World,
    connect,
)

AMPLITUDE, OMEGA = 0.1, 5.0
"""m and rad/s, of the axis."""
STOP = 2 * np.pi / OMEGA
CARDS: tuple[tuple[Callable[..., Component], dict[str, Any], str], ...] = (
    (TranslationalSpring, {"c": 100.0}, "s"),
    (TranslationalDamper, {"d": 20.0}, "v"),
    (TranslationalMaxwellDamper, {"c": 100.0, "d": 20.0, "f": 0.0}, "s"),
    (AxisLaw, {"formula": "-1e4*s**3"}, "s"),
    (TranslationalStop, {"lower": -0.06, "upper": 0.06, "c": 200.0, "d": 20.0}, "s"),
    (TranslationalFriction, {"f_c": 5.0, "peak": 1.6, "v_s": 0.1, "v_0": 0.02, "d": 8.0}, "v"),
    (
        TranslationalLuGreFriction,
        {"f_c": 5.0, "peak": 1.6, "v_s": 0.1, "sigma_0": 3e3, "sigma_1": 20.0, "sigma_2": 8.0, "z": 0.0},
        "v",
    ),
    (AxisPotential, {"formula": "4e3*s**4 - 40*s**2"}, "s"),
)
"""A force, its values in the figure, and what it is drawn over."""


def swung(force: Component) -> mbfmu.Result:
    """Return the run of a mass whose axis swings as it is prescribed to, with a force on that axis."""
    model = System(
        name="card",
        planar=True,
        components=(
            World(g=0.0),
            Prismatic("rail", n=(1, 0)),
            Body("mass", m=1.0, I_33=0.01),
            AxisMotion("swing", joint="rail", s=f"{AMPLITUDE}*sin({OMEGA}*time)"),
            force,
        ),
        connections=(connect("world.frame_b", "rail.frame_a"), connect("rail.frame_b", "mass.frame_a")),
    )
    return mbfmu.simulate(model, 2 * STOP, step=1e-3, output_interval=STOP / 200, error_samples=0)


def draw() -> Figure:
    """Return the figure."""
    figure, axes = panels(2, 4, (9.4, 4.4))
    for sheet, (kind, fields, over) in zip(axes, CARDS, strict=True):
        run = swung(kind("force", joint="rail", **fields))
        last = run.time >= STOP * (1 - 1e-9)  # the second swing, which the start does not show in
        sheet.axhline(0, color=GREY, linewidth=0.5)
        sheet.axvline(0, color=GREY, linewidth=0.5)
        sheet.plot(run[f"rail.{over}"][last], run["force.f"][last], color=BLUE)
        sheet.set_title(getattr(kind, "__name__", ""), family="monospace", size=8)
        sheet.set_xlabel(f"{over} [{'m' if over == 's' else 'm/s'}]")
    for sheet in axes[::4]:
        sheet.set_ylabel("f [N]")
    figure.tight_layout()
    return figure

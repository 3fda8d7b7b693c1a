"""Figure: cards of the joints, drawn as `mbfmu view` draws them: a body before and after a motion of the joint."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from examples.figures.solids import flat, paint
from examples.figures.style import GREY, INK, ORANGE, arrow, panels
from mbfmu.model import (
    BodyShape,
    Component,
    Cylindrical,
    Distance,
    FreeMotion,
    Planar,
    PointOnLine,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    System,
    Universal,
    World,
    connect,
)
from mbfmu.show.viewer.motion import motion_of_model

X, Y = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
STOP = 1.0
CARDS: tuple[tuple[type[Component], dict[str, Any], str], ...] = (
    (Revolute, {"n": Y, "w": 0.8}, "phi"),
    (Prismatic, {"n": X, "v": 0.35}, "s"),
    (Cylindrical, {"n": Y, "v": 0.3, "w": 0.8}, "s, phi"),
    (Screw, {"n": Y, "pitch": 2.2, "w": 0.8}, "phi; advances by pitch a turn"),
    (Universal, {"n_a": Y, "n_b": (0.0, 0.0, 1.0), "w_a": 0.6, "w_b": 0.5}, "phi_a, phi_b"),
    (Spherical, {"w_rel": (0.4, 0.6, 0.5)}, "Q_rel"),
    (Planar, {"n": Y, "n_x": X, "v_x": 0.2, "v_y": -0.25, "w": 0.5}, "s_x, s_y, phi"),
    (PointOnLine, {"n": X, "v": 0.3, "w_rel": (0.0, 0.3, 0.6)}, "s, Q_rel"),
    (FreeMotion, {"v_rel": (0.2, 0.25, 0.1), "w_rel": (0.0, 0.4, 0.4)}, "r_rel, Q_rel"),
    (Distance, {"l": 0.3}, "none; a rod with two balls"),
)
"""A joint, its fields in the figure, and its coordinates."""


def mechanism(joint: Component) -> System:
    """Return a bar that a joint holds, without gravity."""
    inertia: dict[str, Any] = dict.fromkeys(("I_11", "I_22", "I_33"), 0.02)
    length = 0.3 if isinstance(joint, Distance) else 0.6
    start: dict[str, Any] = {"r_0": (0.3, 0.0, 0.0), "v_0": (0.0, 0.2, 0.1)} if length < 0.5 else {}
    return System(
        name="card",
        components=(
            World(g=0.0),
            joint,
            BodyShape("bar", m=1.0, r=(length, 0.0, 0.0), r_CM=(0.0, 0.0, 0.0), **inertia, **start),
        ),
        connections=(connect("world.frame_b", "joint.frame_a"), connect("joint.frame_b", "bar.frame_a")),
    )


def draw() -> Figure:
    """Return the figure."""
    figure, axes = panels(2, 5, (8.6, 4.0))
    for sheet, (kind, fields, coordinates) in zip(axes, CARDS, strict=True):
        motion = motion_of_model(mechanism(kind("joint", **fields)), STOP, up="y")
        paint(sheet, motion, -1, alpha=0.35)
        paint(sheet, motion)
        for field in ("n", "n_a", "n_b"):
            if field in fields:
                tail, head = flat(np.array([[-0.3], [0.45]]) * np.array(fields[field]))
                arrow(sheet, tail, head, colour=ORANGE, width=1.0)
                sheet.text(head[0] + 0.03, head[1] + 0.02, field, color=ORANGE, size=8, family="monospace")
        sheet.set(xlim=(-0.36, 0.64), ylim=(-0.42, 0.5), aspect="equal")
        sheet.axis("off")
        sheet.set_title(kind.__name__, family="monospace", color=INK, pad=0)
        sheet.text(0.5, -0.02, coordinates, transform=sheet.transAxes, ha="center", color=GREY, size=8)
    figure.tight_layout()
    return figure

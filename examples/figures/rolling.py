"""Figure: cards of the joints that weld, close loops, cut or roll: a body before and after a motion of the joint."""

from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from examples.figures.solids import LOOK, circle, flat, paint
from examples.figures.style import GREY, INK, ORANGE, PALE, arrow, panels
from mbfmu.model import (
    BodyShape,
    Coincident,
    Component,
    Fixed,
    FreeMotion,
    KnifeEdge,
    Revolute,
    RollingDisk,
    RollingSphere,
    RollingWheel,
    System,
    World,
    connect,
)
from mbfmu.show.viewer.motion import motion_of_model

Array = npt.NDArray[np.float64]

STOP = 1.0
RADIUS = 0.2
"""Radius of what rolls, m."""
X, Y, Z = np.eye(3)
CARDS: tuple[tuple[Component, dict[str, Any], str], ...] = (
    (Fixed("joint", r=(0.1, 0.2, 0.0)), {}, "none; a weld, r from frame_a"),
    (Coincident("joint"), {"w_a": (0.3, 0.4, 0.7)}, "none; two points stay together"),
    (KnifeEdge("joint"), {"r_0": (-0.2, -0.2), "v_0": (0.5, 0.0), "phi": 0.0, "w": 1.0}, "none; no sliding along n"),
    (RollingWheel("joint", radius=RADIUS, phi=0.0, w=-1.6), {}, "phi"),
    (
        RollingDisk(
            "joint", radius=RADIUS, phi=0.0, theta=0.3, psi=0.0, s_x=0.0, s_y=0.0, w=-1.6, w_theta=0.0, w_psi=-0.6
        ),
        {},
        "phi, theta, psi, s_x, s_y",
    ),
    (
        RollingSphere("joint", radius=RADIUS, s_x=0.0, s_y=0.0, v_x=0.35, v_y=-0.2, w_rel=(1.0, 0.0, -1.75)),
        {},
        "s_x, s_y, Q_rel",
    ),
)
"""A joint, start values of its bar, and its coordinates."""


def mechanism(joint: Component, start: dict[str, Any]) -> System:
    """Return a bar that a joint holds, without gravity; of a weld, on a bar that turns."""
    planar = isinstance(joint, KnifeEdge | RollingWheel)
    zero = (0.0, 0.0) if planar else (0.0, 0.0, 0.0)
    inertia = {"I_33": 0.02} if planar else dict.fromkeys(("I_11", "I_22", "I_33"), 0.02)
    length = 0.15 if isinstance(joint, RollingWheel | RollingDisk | RollingSphere) else 0.3
    bar = BodyShape("bar", m=1.0, r=(length, *zero[1:]), r_CM=zero, **inertia, **start)
    others: list[Component] = []
    ends = [("joint.frame_b", "bar.frame_a")]
    if isinstance(joint, Fixed):
        others = [
            Revolute("hinge", n=tuple(Z), phi=-0.2, w=0.6),
            BodyShape("arm", m=1.0, r=(0.3, 0.0, 0.0), r_CM=zero, **inertia),
        ]
        ends += [("world.frame_b", "hinge.frame_a"), ("hinge.frame_b", "arm.frame_a"), ("arm.frame_b", "joint.frame_a")]
    elif isinstance(joint, KnifeEdge):
        others = [FreeMotion("free")]
        ends += [("world.frame_b", "free.frame_a"), ("free.frame_b", "bar.frame_a")]
    if not isinstance(joint, Fixed):
        ends.append(("world.frame_b", "joint.frame_a"))
    return System(
        "card",
        planar=planar,
        components=(World(g=0.0), *others, joint, bar),
        connections=tuple(connect(*pair) for pair in ends),
    )


def rolled(sheet: Axes, at: Array, axis: Array, planar: bool, alpha: float = 1.0, radius: float = RADIUS) -> None:
    """Draw the outline of a disk or ball."""
    points = flat(circle(at, axis, radius), planar)
    sheet.fill(*points.T, facecolor=PALE, edgecolor=INK, linewidth=0.7, alpha=alpha)


def card(sheet: Axes, joint: Component, start: dict[str, Any]) -> None:
    """Draw a joint's mechanism at the begin and the end of a motion."""
    system = mechanism(joint, start)
    motion = motion_of_model(system, STOP) if system.planar else motion_of_model(system, STOP, up="y")
    planar = motion.dim == 2
    if isinstance(joint, RollingWheel | RollingDisk | RollingSphere):
        ends = flat(np.array([-0.45 * X, 0.65 * X]), planar)
        sheet.plot(*ends.T, color=GREY, linewidth=2)
    for moment, alpha in ((0, 0.35), (-1, 1.0)):
        if isinstance(joint, RollingWheel | RollingDisk | RollingSphere):
            index = motion.bodies.index("bar")
            r, R = np.zeros(3), np.eye(3)
            r[: motion.dim], R[: motion.dim, : motion.dim] = motion.r[moment, index], motion.R[moment, index]
            rolled(sheet, r, LOOK if isinstance(joint, RollingSphere) else R @ Z, planar, alpha)
        paint(sheet, motion, moment, alpha)
    if isinstance(joint, KnifeEdge | RollingWheel):
        x, y = start.get("r_0", (0.0, 0.0))
        arrow(sheet, (x, y), (x, y + 0.4), colour=ORANGE, width=1.0)
        sheet.text(x + 0.03, y + 0.38, "n", color=ORANGE, size=8, family="monospace")


def wheelset(sheet: Axes) -> None:
    """Draw a wheelset on its track, x along it, with the proportions of the library's model."""
    for side in (-0.3, 0.3):
        sheet.plot(*flat(np.array([-0.4 * X, 0.4 * X]) + side * Z - RADIUS * Y).T, color=GREY, linewidth=2)
    sheet.plot(*flat(np.array([-0.3 * Z, 0.3 * Z])).T, color=INK, linewidth=3)
    for side in (-0.3, 0.3):
        rolled(sheet, side * Z, Z, False)


def draw() -> Figure:
    """Return the figure."""
    figure, axes = panels(2, 4, (8.6, 4.0))
    for sheet, (joint, start, coordinates) in zip(axes, CARDS, strict=False):
        card(sheet, joint, start)
        label(sheet, type(joint).__name__, coordinates)
    wheelset(axes[len(CARDS)])
    label(axes[len(CARDS)], "WheelsetOnTrack", "none; creep forces on two rails")
    axes[-1].axis("off")
    figure.tight_layout()
    return figure


def label(sheet: Axes, name: str, coordinates: str) -> None:
    """Write a joint's name above and its coordinates below its card."""
    sheet.set(xlim=(-0.46, 0.66), ylim=(-0.42, 0.5), aspect="equal")
    sheet.axis("off")
    sheet.set_title(name, family="monospace", color=INK, pad=0)
    sheet.text(0.5, -0.02, coordinates, transform=sheet.transAxes, ha="center", color=GREY, size=8)

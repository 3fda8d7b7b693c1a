"""Figure: cards of contacts: the shapes that a contact's fields state, and the gaps that mbfmu reports for them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import mbfmu
from examples.figures.style import BLUE, GREY, INK, ORANGE, PALE, blank, panels
from mbfmu.model import (
    Body,
    Cable,
    CapsuleOnCircle,
    CapsuleOnLine,
    CircleOnCircle,
    CircleOnLine,
    Component,
    FreeMotion,
    PinInHole,
    PointOnHeightField,
    PointOnPlane,
    RectangleOnLine,
    SliderInGuide,
    System,
    World,
    connect,
)

Array = npt.NDArray[np.float64]
AROUND = np.linspace(0, 2 * np.pi, 61)
HILL = "0.15*sin(3*x)"


def ring(radius: float) -> Array:
    """Return a circle, shape (n, 2)."""
    return radius * np.column_stack([np.cos(AROUND), np.sin(AROUND)])


def block(length: float, width: float) -> Array:
    """Return a rectangle, shape (5, 2)."""
    return np.array([(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)]) * (length / 2, width / 2)


def capsule(length: float, radius: float) -> Array:
    """Return a capsule along x, shape (n, 2)."""
    half = np.linspace(-np.pi / 2, np.pi / 2, 31)
    right = np.column_stack([radius * np.cos(half) + length / 2, radius * np.sin(half)])
    return np.vstack([right, -right, right[:1]])


GROUND = np.array([(-0.9, 0.0), (0.9, 0.0)])
WAVES = np.column_stack([np.linspace(-0.9, 0.9, 80), 0.15 * np.sin(3 * np.linspace(-0.9, 0.9, 80))])
POINT = np.zeros((1, 2))
Card = tuple[Callable[..., Component], dict[str, Any], tuple[float, float, float], Array, Array]
CARDS: tuple[Card, ...] = (
    (PointOnPlane, {}, (0.0, 0.4, 0.0), GROUND, POINT),
    (PointOnHeightField, {"height": HILL}, (0.3, 0.5, 0.0), WAVES, POINT),
    (CircleOnLine, {"radius": 0.3}, (0.0, 0.5, 0.0), GROUND, ring(0.3)),
    (RectangleOnLine, {"size": (0.8, 0.4)}, (0.0, 0.5, 0.25), GROUND, block(0.8, 0.4)),
    (CapsuleOnLine, {"length": 0.6, "radius": 0.15}, (0.0, 0.5, 0.4), GROUND, capsule(0.6, 0.15)),
    (CircleOnCircle, {"radius_a": 0.35, "radius_b": 0.2}, (0.55, 0.4, 0.0), ring(0.35), ring(0.2)),
    (
        CapsuleOnCircle,
        {"length": 0.7, "radius_a": 0.15, "radius_b": 0.2},
        (0.2, 0.5, 0.0),
        capsule(0.7, 0.15),
        ring(0.2),
    ),
    (PinInHole, {"radius": 0.3, "clearance": 0.12}, (0.05, 0.03, 0.0), ring(0.42), ring(0.3)),
    (SliderInGuide, {"length": 0.8, "width": 0.3, "clearance": 0.15}, (0.0, 0.02, 0.1), GROUND, block(0.8, 0.3)),
    (Cable, {"length": 1.0}, (0.6, 0.5, 0.0), POINT, POINT),
)
"""A contact in the plane, its fields, position and angle of frame_b, and the outlines about frame_a and frame_b."""


def gaps(contact: Component, pose: tuple[float, float, float]) -> dict[str, float]:
    """Return the gaps that mbfmu reports at the start, m, by the last part of their names."""
    x, y, phi = pose
    model = System(
        name="card",
        planar=True,
        components=(World(g=0.0), FreeMotion("free", r_rel=(x, y), phi=phi), Body("body", m=1.0, I_33=0.1), contact),
        connections=(
            connect("world.frame_b", "free.frame_a"),
            connect("free.frame_b", "body.frame_a"),
            connect("world.frame_b", "contact.frame_a"),
            connect("body.frame_a", "contact.frame_b"),
        ),
    )
    run = mbfmu.simulate(model, 1e-3, step=1e-3, error_samples=0)
    return {name: float(run[name][0]) for name in run.names if name.startswith("contact.") and name.endswith("gap")}


def outlines(sheet: Axes, kind: object, pose: tuple[float, float, float], near: Array, far: Array) -> None:
    """Draw what touches."""
    x, y, phi = pose
    turn = np.array([(np.cos(phi), np.sin(phi)), (-np.sin(phi), np.cos(phi))])
    moved = far @ turn + (x, y)
    if kind is SliderInGuide:
        for side in (-0.3, 0.3):
            sheet.plot(*(near + np.array((0.0, side))).T, color=INK)
    elif len(near) > 1:
        closed = bool(np.allclose(near[0], near[-1]))
        sheet.fill(*near.T, facecolor="none" if kind is PinInHole or not closed else PALE, edgecolor="none")
        sheet.plot(*near.T, color=INK)
    if kind is Cable:
        sheet.plot([0.0, x / 2, x], [0.0, y / 2 - 0.2, y], color=GREY)
        sheet.plot(0.0, 0.0, "o", color=INK, markersize=4)
    if len(moved) > 1:
        sheet.fill(*moved.T, facecolor="#a9cdea", edgecolor=BLUE)
    sheet.plot(x, y, "o", color=BLUE, markersize=3)


def draw() -> Figure:
    """Return the figure."""
    figure, axes = panels(2, 5, (9.6, 3.9))
    for sheet, (kind, fields, pose, near, far) in zip(axes, CARDS, strict=True):
        blank(sheet, (-1.0, 1.0), (-0.5, 0.9))
        outlines(sheet, kind, pose, near, far)
        found = gaps(kind("contact", e=0.5, **fields), pose)
        name = min(found, key=found.__getitem__)
        sheet.set_title(getattr(kind, "__name__", ""), family="monospace", size=8.5, pad=2)
        text = f"{name.removeprefix('contact.')} = {found[name]:.3f} m"
        sheet.text(0, -0.62, text, ha="center", color=ORANGE, size=8, family="monospace")
    figure.tight_layout()
    return figure

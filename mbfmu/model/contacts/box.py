"""Boxes, and rectangles in the plane, on lines, planes and surfaces: their corners touch."""

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.model.component import Vector, quantity
from mbfmu.model.contacts.point import PointOnHeightField, PointOnPlane
from mbfmu.model.contacts.several import SeveralPoints
from mbfmu.model.frame import SX

RECTANGLE = tuple((x, y) for y in (-1, 1) for x in (-1, 1))
"""Corners of a rectangle in its half lengths."""
BOX = tuple((x, y, z) for z in (-1, 1) for y in (-1, 1) for x in (-1, 1))
"""Corners of a box in its half lengths."""
SIDES = (("left", "right"), ("lower", "upper"), ("rear", "front"))
"""Names of the sides along frame_b's -x and x, -y and y, -z and z."""


def corner_name(corner: tuple[int, ...]) -> str:
    """Return the name of a corner, such as ``upper_left``, in space ``front_upper_left``."""
    return "_".join(SIDES[k][corner[k] > 0] for k in reversed(range(len(corner))))


@dataclass(frozen=True)
class Corners(SeveralPoints):
    """Base of contacts of the corners of a box about the origin of frame_b; derived for the plane and for space.

    Args:
        size: lengths along frame_b's x, y and, in space, z, m.
    """

    size: Vector = quantity((0.0, 0.0, 0.0), "m", "lengths along the axes of frame_b", min=0)
    corners: ClassVar[tuple[tuple[int, ...], ...]] = ()

    def points(self, p: Any) -> tuple[SX, ...]:
        return tuple(ca.DM(list(corner)) * p.size / 2 for corner in self.corners)


@dataclass(frozen=True)
class Rectangle(Corners):
    """Base of contacts of a rectangle in the plane, with the corners `lower_left`, `lower_right` and so on."""

    corners: ClassVar[tuple[tuple[int, ...], ...]] = RECTANGLE
    parts: ClassVar[tuple[str, ...]] = tuple(map(corner_name, RECTANGLE))
    needs: ClassVar[str] = "planar"


@dataclass(frozen=True)
class Box(Corners):
    """Base of contacts of a box in space, with the corners `rear_lower_left`, `rear_lower_right` and so on."""

    corners: ClassVar[tuple[tuple[int, ...], ...]] = BOX
    parts: ClassVar[tuple[str, ...]] = tuple(map(corner_name, BOX))
    needs: ClassVar[str] = "spatial"


@dataclass(frozen=True)
class RectangleOnLine(Rectangle, PointOnPlane):
    """A rectangle about the origin of frame_b on the line along x through the origin of frame_a, in the plane.

    Its corners touch as points do (see `PointOnPlane`).
    """


@dataclass(frozen=True)
class BoxOnPlane(Box, PointOnPlane):
    """A box about the origin of frame_b on the plane of frame_a's x and y, in space.

    Its corners touch as points do (see `PointOnPlane`).
    """


@dataclass(frozen=True)
class RectangleOnHeightField(Rectangle, PointOnHeightField):
    """A rectangle about the origin of frame_b on the line ``y = height(x)`` of frame_a, in the plane.

    Its corners touch as points do (see `PointOnHeightField`); its edges do not.
    """


@dataclass(frozen=True)
class BoxOnHeightField(Box, PointOnHeightField):
    """A box about the origin of frame_b on the surface ``z = height(x, y)`` of frame_a, in space.

    Its corners touch as points do (see `PointOnHeightField`); its edges and faces do not.
    """

"""A point of one body on a plane, or on a surface, of another."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.model.component import Value, law
from mbfmu.model.contacts.contact import SurfaceContact, rate_of
from mbfmu.model.frame import SX, Frame
from mbfmu.model.relative import r_rel, v_rel


@dataclass(frozen=True)
class PointOnPlane(SurfaceContact):
    """The origin of frame_b on a plane through the origin of frame_a.

    In space the plane is that of frame_a's x and y, in the plane it is the line along x; the gap is the distance along
    the third or second axis.
    """

    def gap(self, p: Any, a: Frame, b: Frame) -> SX:
        return r_rel(a, b)[-1]

    def friction(self, p: Any, a: Frame, b: Frame) -> tuple[SX, SX | None]:
        def place(a: Frame, b: Frame) -> SX:
            seen = r_rel(a, b)
            return seen[: seen.numel() - 1]

        return rate_of(place, a, b), place(a, b)


@dataclass(frozen=True)
class PointOnHeightField(SurfaceContact):
    """The origin of frame_b on a surface of frame_a: ``z = height(x, y)``; in the plane on a line ``y = height(x)``.

    With the unit normal n of the surface where the point is above it, the gap is the height of the point over the
    surface times the last entry of n: the distance to first order. The slip is along frame_a's x, turned into the
    surface, and across that.

    Args:
        height: formula of the places ``x`` and ``y``, m, and of parameters; it has a slope.
    """

    height: Value = law(0.0, "m", "height of the surface as a formula of x and y", "x", "y")

    def gap(self, p: Any, a: Frame, b: Frame) -> SX:
        z, slope = self._above(p, r_rel(a, b))
        return z / ca.sqrt(1 + ca.dot(slope, slope))

    def friction(self, p: Any, a: Frame, b: Frame) -> tuple[SX, SX | None]:
        _, slope = self._above(p, r_rel(a, b))
        v = v_rel(a, b)
        along = ca.vertcat(1, *([] if p.planar else [0]), slope[0])
        along = along / ca.norm_2(along)
        if p.planar:
            return ca.dot(along, v), None
        up = ca.vertcat(-slope, 1)
        return ca.vertcat(ca.dot(along, v), ca.dot(ca.cross(up / ca.norm_2(up), along), v)), None

    def _above(self, p: Any, seen: SX) -> tuple[SX, SX]:
        """Return the height over the surface, m, and the surface's slope, shape (1,) or (2,)."""
        x, y = ca.SX.sym("x"), ca.SX.sym("y")
        places = ca.vertcat(x) if p.planar else ca.vertcat(x, y)
        height = ca.SX(p.height(x=x, y=0 if p.planar else y))
        height_and_slope = ca.vertcat(height, ca.gradient(height, places))
        height_and_slope = ca.substitute(height_and_slope, places, seen[: places.numel()])
        return seen[-1] - height_and_slope[0], height_and_slope[1:]

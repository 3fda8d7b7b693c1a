"""Gravity that changes with the position, by a formula."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.model.component import Value, law, quantity
from mbfmu.model.forces.force import Force
from mbfmu.model.frame import SX, Frame


@dataclass(frozen=True)
class GravityField(Force):
    """Weight of a mass at frame_b in a field of gravity that a user's formulas give: ``f = m g(r)``.

    frame_b is the centre of mass: the field has no torque about it here. The world's own field has ``g = 0`` then.

    Args:
        m: mass at frame_b, kg, as large as the body has there.
        g_x, g_y, g_z: gravity acceleration, m/s2, resolved in the world frame, in terms of the position ``x``, ``y``,
            ``z`` of frame_b, m, ``time`` and parameters; in the plane g_z and z are 0.
    """

    m: Value = quantity(0.0, "kg", "mass at frame_b", min=0)
    g_x: Value = law(0.0, "m/s2", "gravity acceleration along x as a formula of x, y, z and time", "x", "y", "z")
    g_y: Value = law(0.0, "m/s2", "gravity acceleration along y as a formula of x, y, z and time", "x", "y", "z")
    g_z: Value = law(0.0, "m/s2", "gravity acceleration along z as a formula of x, y, z and time", "x", "y", "z")

    @property
    def frames(self) -> tuple[str, ...]:
        return ("frame_b",)

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        x, y, z = (*b.r_0.elements(), ca.SX(0))[:3]
        g = [item(x=x, y=y, z=z) for item in (p.g_x, p.g_y, p.g_z)]
        return ((b.v_0, p.m * ca.vertcat(*g[: b.r_0.numel()])),)

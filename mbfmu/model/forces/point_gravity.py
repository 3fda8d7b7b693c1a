"""Gravity of a point mass."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.model.component import Value, quantity
from mbfmu.model.forces.force import Force
from mbfmu.model.frame import SX, Frame


@dataclass(frozen=True)
class PointGravity(Force):
    """Attraction of a mass at frame_b by one at frame_a (Newton): ``V = -mu m / |r_b - r_a|``.

    Both frames are centres of mass: in a field that is not uniform, gravity has no torque about them here. For a planet
    that stands still, frame_a is the world's, whose own field has ``g = 0``.

    Args:
        mu: gravitational parameter of the mass at frame_a, m3/s2.
        m: mass at frame_b, kg, which must be that of the body there.
    """

    mu: Value = quantity(3.986004418e14, "m3/s2", "gravitational parameter of the mass at frame_a", min=0)
    m: Value = quantity(0.0, "kg", "mass at frame_b", min=0)

    def potential(self, p: Any, a: Frame, b: Frame) -> SX:
        r = b.r_0 - a.r_0
        return -p.mu * p.m / ca.sqrt(ca.dot(r, r))

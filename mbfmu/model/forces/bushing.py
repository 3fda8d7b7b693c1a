"""Bushing: stiffness and damping in all directions between two frames."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.model.component import Value, Vector, quantity
from mbfmu.model.forces.force import Force
from mbfmu.model.frame import SX, Frame
from mbfmu.model.relative import Q_rel, r_rel, v_rel, w_rel


@dataclass(frozen=True)
class Bushing(Force):
    """Linear springs and dampers in every direction of frame_a, and about its axes, between frame_a and frame_b.

    With r the origin and Q = (s, e) the quaternion of frame_b seen from frame_a, resolved in frame_a:

        V = r . C r / 2 + theta . C_phi theta / 2,    theta = 2 e = 2 sin(phi / 2) n,
        f = -D r',    t = -D_phi w

    where phi is the angle and n the axis of the relative rotation: theta is the rotation vector up to third order,
    grows up to half a turn, and Q and -Q give one potential. In the plane theta is the relative angle itself.

    Args:
        c: stiffness along x, y (and z) of frame_a, N/m.
        d: damping along them, N.s/m.
        c_phi_1, c_phi_2, c_phi_3: stiffness about x, y, z of frame_a, N.m/rad; in the plane c_phi_3 only.
        d_phi_1, d_phi_2, d_phi_3: damping about them, N.m.s/rad.
    """

    c: Vector = quantity((0.0, 0.0, 0.0), "N/m", "stiffness along the axes of frame_a", min=0)
    d: Vector = quantity((0.0, 0.0, 0.0), "N.s/m", "damping along the axes of frame_a", min=0)
    c_phi_1: Value = quantity(0.0, "N.m/rad", "stiffness about x of frame_a", min=0, spatial_only=True)
    c_phi_2: Value = quantity(0.0, "N.m/rad", "stiffness about y of frame_a", min=0, spatial_only=True)
    c_phi_3: Value = quantity(0.0, "N.m/rad", "stiffness about z of frame_a", min=0)
    d_phi_1: Value = quantity(0.0, "N.m.s/rad", "damping about x of frame_a", min=0, spatial_only=True)
    d_phi_2: Value = quantity(0.0, "N.m.s/rad", "damping about y of frame_a", min=0, spatial_only=True)
    d_phi_3: Value = quantity(0.0, "N.m.s/rad", "damping about z of frame_a", min=0)

    def potential(self, p: Any, a: Frame, b: Frame) -> SX:
        theta = b.phi - a.phi if p.planar else 2 * Q_rel(a, b)[1:]
        c_phi = p.c_phi_3 if p.planar else ca.vertcat(p.c_phi_1, p.c_phi_2, p.c_phi_3)
        return ca.dot(p.c, r_rel(a, b) ** 2) / 2 + ca.dot(c_phi, theta**2) / 2

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        sliding, turning = v_rel(a, b), w_rel(a, b)
        d_phi = p.d_phi_3 if p.planar else ca.vertcat(p.d_phi_1, p.d_phi_2, p.d_phi_3)
        return ((sliding, -p.d * sliding), (turning, -d_phi * turning))

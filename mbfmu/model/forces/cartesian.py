"""Springs and dampers along the axes of the world frame, in the plane."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.errors import ModelError
from mbfmu.model.component import Input, Value, quantity
from mbfmu.model.forces.force import Force
from mbfmu.model.frame import SX, Frame


@dataclass(frozen=True)
class CartesianSpringDamper(Force):
    """Linear springs and dampers along x and y of the world frame, and about z. For planar systems.

    With ``s = r_b - r_a`` resolved in the world frame and ``phi = phi_b - phi_a``:
    ``V = (c_x (s_x - s_relx0)^2 + c_y (s_y - s_rely0)^2 + c_phi (phi - phi_rel0)^2) / 2``, and on frame_b the force
    ``-(d_x s_x', d_y s_y')`` with the torque ``-d_phi phi'``. The forces act at the frames: on frame_a, as on frame_b,
    without a moment, so that the moment of momentum is kept only where s lies along the force.

    Args:
        c_x, c_y: stiffness, N/m.
        c_phi: rotational stiffness, N.m/rad.
        d_x, d_y: damping constants, N.s/m.
        d_phi: rotational damping constant, N.m.s/rad.
        s_relx0, s_rely0: position of frame_b without force, m.
        phi_rel0: angle without torque, rad.
    """

    c_x: Value = quantity(0.0, "N/m", "stiffness along x", min=0)
    c_y: Value = quantity(0.0, "N/m", "stiffness along y", min=0)
    c_phi: Value = quantity(0.0, "N.m/rad", "rotational stiffness", min=0)
    d_x: Value = quantity(0.0, "N.s/m", "damping constant along x", min=0)
    d_y: Value = quantity(0.0, "N.s/m", "damping constant along y", min=0)
    d_phi: Value = quantity(0.0, "N.m.s/rad", "rotational damping constant", min=0)
    s_relx0: Value = quantity(0.0, "m", "position along x without force")
    s_rely0: Value = quantity(0.0, "m", "position along y without force")
    phi_rel0: Value = quantity(0.0, "rad", "angle without torque")

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        if not planar:
            raise ModelError(f"'{self.name}': a CartesianSpringDamper needs a planar system; use Bushing")
        return ()

    def potential(self, p: Any, a: Frame, b: Frame) -> SX:
        x, y = ca.vertsplit(b.r_0 - a.r_0)
        shift = ca.vertcat(x - p.s_relx0, y - p.s_rely0, b.phi - a.phi - p.phi_rel0)
        return ca.dot(ca.vertcat(p.c_x, p.c_y, p.c_phi), shift**2) / 2

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        rate = ca.vertcat(b.v_0 - a.v_0, b.w_0 - a.w_0)
        return ((rate, -ca.vertcat(p.d_x, p.d_y, p.d_phi) * rate),)

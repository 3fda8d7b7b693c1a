"""Fixed: no motion at all."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.model.component import Vector, quantity
from mbfmu.model.frame import SX, Frame, Pose, identity
from mbfmu.model.joints.joint import Joint
from mbfmu.model.relative import aligned


@dataclass(frozen=True)
class Fixed(Joint):
    """frame_b is frame_a moved by `r`: a weld whose cut force and torque are outputs.

    Equations: ``r_b - r_a = R_a r``, and equal orientation: in the plane ``phi_b = phi_a``; in space
    ``e1_a . e2_b = e2_a . e3_b = e3_a . e1_b = 0``.

    Args:
        r: from frame_a to frame_b, m, resolved in frame_a.
    """

    r: Vector = quantity((0.0, 0.0, 0.0), "m", "frame_a to frame_b, resolved in frame_a")

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        return ca.vertcat(b.r_0 - a.r_0 - a.R @ p.r, aligned((0.0, 0.0, 1.0), a, b))

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        return Pose(p.r, identity(p.planar).angle, ca.SX.eye(p.r.numel()))

    def twist(self, p: Any, coordinates: dict[str, SX], rates: dict[str, SX]) -> tuple[SX, SX]:
        return ca.SX(p.r.numel(), 1), ca.SX(1 if p.planar else 3, 1)

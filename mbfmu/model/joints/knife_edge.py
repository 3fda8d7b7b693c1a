"""KnifeEdge: a blade that slides along itself, never sideways."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.model.component import direction
from mbfmu.model.frame import SX, Frame
from mbfmu.model.joints.joint import Joint
from mbfmu.model.relative import axis, velocity_seen


@dataclass(frozen=True)
class KnifeEdge(Joint):
    """The origin of frame_b does not move, seen from frame_a, in the direction `n` fixed in frame_b.

    Equation (nonholonomic): ``(R_b n) . (v_b - v_a - w_a x (r_b - r_a)) = 0``; in space a second joint keeps the
    blade on its ground.

    Args:
        n: direction across the blade, a unit vector resolved in frame_b.
    """

    n: tuple[float, ...] = direction(0.0, 1.0, 0.0)

    def velocity(self, p: Any, a: Frame, b: Frame) -> SX:
        across = b.R @ axis(self.n, p.planar)
        return ca.dot(across, velocity_seen(a, b, ca.SX(across.numel(), 1)))

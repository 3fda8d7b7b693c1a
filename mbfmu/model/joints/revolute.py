"""Revolute: one rotation."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.model.component import Value, direction, start
from mbfmu.model.frame import SX, Frame, Pose, axis_quaternion, axis_rotation
from mbfmu.model.joints.joint import Joint, JointCoordinate, turning
from mbfmu.model.relative import angle_about, axis, parallel


@dataclass(frozen=True)
class Revolute(Joint):
    """frame_b turns by `phi` about the axis `n` fixed in frame_a.

    Equations: ``r_b = r_a`` and, in space, ``e1 . n_b = e2 . n_b = 0`` with e1, e2 normal to n in frame_a
    (Haug, Computer Aided Kinematics and Dynamics, dot-1 constraints).

    Args:
        n: axis, a unit vector resolved in frame_a and in frame_b (a planar joint turns about z).
        phi: start angle of frame_b seen from frame_a, rad.
        w: start angular velocity, rad/s.
    """

    n: tuple[float, ...] = direction(0.0, 0.0, 1.0)
    phi: Value | None = start("rad", "angle of frame_b seen from frame_a")
    w: Value | None = start("rad/s", "angular velocity of frame_b seen from frame_a")

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        gap = b.r_0 - a.r_0
        return gap if p.planar else ca.vertcat(gap, parallel(self.n, a, b))

    def motion(self, p: Any, a: Frame, b: Frame) -> tuple[JointCoordinate, ...]:
        return (turning(angle_about(self.n, a, b), wraps=not p.planar),)

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        phi = coordinates["phi"]
        if p.planar:
            return Pose(ca.SX(2, 1), phi)
        return Pose(ca.SX(3, 1), axis_quaternion(self.n, phi), axis_rotation(self.n, phi))

    def twist(self, p: Any, coordinates: dict[str, SX], rates: dict[str, SX]) -> tuple[SX, SX]:
        w = rates["phi"]
        return (ca.SX(2, 1), w) if p.planar else (ca.SX(3, 1), axis(self.n) * w)

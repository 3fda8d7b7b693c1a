"""Cylindrical: one translation and one rotation, along and about one axis."""

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.model.component import Value, direction, start
from mbfmu.model.frame import SX, Frame, Pose, axis_quaternion, axis_rotation
from mbfmu.model.joints.joint import Joint, JointCoordinate, sliding, turning
from mbfmu.model.relative import across, angle_about, axis, parallel


@dataclass(frozen=True)
class Cylindrical(Joint):
    """frame_b slides by `s` along the axis `n` fixed in frame_a and turns by `phi` about it. For spatial systems.

    Equations, with e1, e2 normal to n in frame_a: ``e1 . (r_b - r_a) = e2 . (r_b - r_a) = 0`` and
    ``e1 . n_b = e2 . n_b = 0``. The first motion, and so the axis of forces, is `s`.

    Args:
        n: axis, a unit vector resolved in frame_a and in frame_b.
        s, v: start position (m) and velocity (m/s) of frame_b along the axis.
        phi, w: start angle (rad) and angular velocity (rad/s) of frame_b about the axis.
    """

    n: tuple[float, ...] = direction(1.0, 0.0, 0.0)
    s: Value | None = start("m", "position of frame_b along the axis")
    v: Value | None = start("m/s", "velocity of frame_b along the axis")
    phi: Value | None = start("rad", "angle of frame_b about the axis")
    w: Value | None = start("rad/s", "angular velocity of frame_b about the axis")
    needs: ClassVar[str] = "spatial"
    instead: ClassVar[str] = "Prismatic or Revolute"

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        return ca.vertcat(across(self.n, a, b), parallel(self.n, a, b))

    def motion(self, p: Any, a: Frame, b: Frame) -> tuple[JointCoordinate, ...]:
        s = ca.dot(a.R @ axis(self.n), b.r_0 - a.r_0)
        return (sliding(s), turning(angle_about(self.n, a, b), acceleration="wd", wraps=True))

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        phi = coordinates["phi"]
        return Pose(axis(self.n) * coordinates["s"], axis_quaternion(self.n, phi), axis_rotation(self.n, phi))

    def twist(self, p: Any, coordinates: dict[str, SX], rates: dict[str, SX]) -> tuple[SX, SX]:
        return axis(self.n) * rates["s"], axis(self.n) * rates["phi"]

"""PointOnLine: a point that slides along a line."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.model.component import Value, Vector, direction, start
from mbfmu.model.frame import SX, Frame, Pose
from mbfmu.model.joints.joint import Joint, JointCoordinate, check_in_plane, sliding, turning
from mbfmu.model.joints.spherical import rotation
from mbfmu.model.relative import across, axis


@dataclass(frozen=True)
class PointOnLine(Joint):
    """The origin of frame_b slides by `s` along the axis `n` fixed in frame_a, and frame_b turns freely.

    Equations: ``e . (r_b - r_a) = 0`` for the directions e normal to n in frame_a: two in space, one in the plane.

    Args:
        n: axis, a unit vector resolved in frame_a.
        s, v: start position (m) and velocity (m/s) along the axis.
        phi, w: start angle (rad) and angular velocity (rad/s) of frame_b seen from frame_a (planar).
        Q_rel: start quaternion of frame_b seen from frame_a, 4 numbers (spatial).
        w_rel: start angular velocity of frame_b seen from frame_a, rad/s, resolved in frame_a (spatial).
    """

    n: tuple[float, ...] = direction(1.0, 0.0, 0.0)
    s: Value | None = start("m", "position of frame_b along the axis")
    v: Value | None = start("m/s", "velocity of frame_b along the axis")
    phi: Value | None = start("rad", "angle of frame_b seen from frame_a")
    w: Value | None = start("rad/s", "angular velocity of frame_b seen from frame_a")
    Q_rel: Vector | None = start("1", "quaternion of frame_b seen from frame_a", sizes=(4,), spatial_only=True)
    w_rel: Vector | None = start(
        "rad/s", "angular velocity of frame_b seen from frame_a, resolved in frame_a", sizes=(3,), spatial_only=True
    )

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        return across(self.n, a, b)

    def motion(self, p: Any, a: Frame, b: Frame) -> tuple[JointCoordinate, ...]:
        if p.planar:
            check_in_plane(self, "n")
        s = ca.dot(a.R @ axis(self.n, p.planar), b.r_0 - a.r_0)
        return (sliding(s), turning(b.phi - a.phi, acceleration="wd") if p.planar else rotation(a, b))

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        turn = coordinates["phi"] if p.planar else coordinates["Q_rel"]
        return Pose(axis(self.n, p.planar) * coordinates["s"], turn)

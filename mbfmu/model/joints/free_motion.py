"""FreeMotion: no constraint; gives a free body its coordinates and start values."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.model.component import Value, Vector, start
from mbfmu.model.frame import SX, Frame, Pose
from mbfmu.model.joints.joint import Joint, JointCoordinate, sliding, turning
from mbfmu.model.joints.spherical import rotation
from mbfmu.model.relative import r_rel


@dataclass(frozen=True)
class FreeMotion(Joint):
    """frame_b moves freely relative to frame_a (3 degrees of freedom in the plane, 6 in space).

    Args:
        r_rel: start position of frame_b seen from frame_a, m, resolved in frame_a.
        v_rel: start velocity: the derivative of `r_rel`, m/s.
        phi: start angle, rad (planar).
        w: start angular velocity, rad/s (planar).
        Q_rel: start quaternion, 4 numbers (spatial).
        w_rel: start angular velocity, rad/s, resolved in frame_a (spatial).
    """

    r_rel: Vector | None = start("m", "position of frame_b seen from frame_a, resolved in frame_a", sizes=(2, 3))
    v_rel: Vector | None = start("m/s", "derivative of the position of frame_b seen from frame_a", sizes=(2, 3))
    phi: Value | None = start("rad", "angle of frame_b seen from frame_a")
    w: Value | None = start("rad/s", "angular velocity of frame_b seen from frame_a")
    Q_rel: Vector | None = start("1", "quaternion of frame_b seen from frame_a", sizes=(4,), spatial_only=True)
    w_rel: Vector | None = start(
        "rad/s", "angular velocity of frame_b seen from frame_a, resolved in frame_a", sizes=(3,), spatial_only=True
    )

    def motion(self, p: Any, a: Frame, b: Frame) -> tuple[JointCoordinate, ...]:
        shift = sliding(r_rel(a, b), "r_rel", "v_rel", "a_rel", "f_rel")
        return (shift, turning(b.phi - a.phi) if p.planar else rotation(a, b))

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        turn = coordinates["phi"] if p.planar else coordinates["Q_rel"]
        return Pose(ca.vertcat(coordinates["r_rel"]), turn)

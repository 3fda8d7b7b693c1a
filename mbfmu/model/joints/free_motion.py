"""FreeMotion: no constraint; gives a free body its coordinates and start values."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.model.component import Value, Vector, start
from mbfmu.model.frame import SX, Frame, Pose
from mbfmu.model.joints.joint import Joint, Motion
from mbfmu.model.joints.spherical import rotation


@dataclass(frozen=True)
class FreeMotion(Joint):
    """frame_b moves freely against frame_a (3 degrees of freedom in the plane, 6 in space).

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

    def motion(self, p: Any, a: Frame, b: Frame) -> tuple[Motion, ...]:
        r_rel = a.R.T @ (b.r_0 - a.r_0)
        sliding = Motion("r_rel", "m", r_rel, "v_rel", "m/s", "a_rel", "m/s2", "f_rel", "N")
        if p.planar:
            phi = b.phi - a.phi
            return (sliding, Motion("phi", "rad", phi, "w", "rad/s", "a", "rad/s2", "tau", "N.m"))
        return (sliding, rotation(p, a, b))

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        turn = coordinates["phi"] if p.planar else coordinates["Q_rel"]
        return Pose(ca.vertcat(coordinates["r_rel"]), turn)

"""Planar: two translations in a plane and the rotation about its normal."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.model.component import Value, direction, start
from mbfmu.model.frame import SX, Frame, Pose, axis_quaternion, axis_rotation
from mbfmu.model.joints.joint import Joint, JointCoordinate, check_perpendicular, sliding, turning
from mbfmu.model.relative import angle_about, axis, parallel


@dataclass(frozen=True)
class Planar(Joint):
    """frame_b slides by `s_x` along `n_x` and by `s_y` along ``n x n_x`` in frame_a, and turns by `phi` about `n`.

    Equations in space: ``n . (r_b - r_a) = 0`` and, with e1, e2 normal to n in frame_a, ``e1 . n_b = e2 . n_b = 0``;
    in a planar system there are none. The first motion, and so the axis of forces, is `s_x`.

    Args:
        n: normal of the plane, a unit vector resolved in frame_a and in frame_b (a planar system turns about z).
        n_x: direction in the plane, a unit vector resolved in frame_a.
        s_x, s_y: start position of frame_b, m.
        phi: start angle of frame_b seen from frame_a, rad.
        v_x, v_y, w: start values of their derivatives, m/s and rad/s.
    """

    n: tuple[float, ...] = direction(0.0, 0.0, 1.0)
    n_x: tuple[float, ...] = direction(1.0, 0.0, 0.0)
    s_x: Value | None = start("m", "position of frame_b along n_x")
    s_y: Value | None = start("m", "position of frame_b along n x n_x")
    phi: Value | None = start("rad", "angle of frame_b seen from frame_a")
    v_x: Value | None = start("m/s", "velocity of frame_b along n_x")
    v_y: Value | None = start("m/s", "velocity of frame_b along n x n_x")
    w: Value | None = start("rad/s", "angular velocity of frame_b seen from frame_a")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_perpendicular(self, "n", "n_x")

    def _directions(self, p: Any) -> tuple[SX, SX]:
        n_x = axis(self.n_x, p.planar)
        if p.planar:
            return n_x, axis((-self.n_x[1], self.n_x[0]), planar=True)
        return n_x, ca.sparsify(ca.cross(axis(self.n), n_x))

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        if p.planar:
            return ca.SX(0, 1)
        return ca.vertcat(ca.dot(a.R @ axis(self.n), b.r_0 - a.r_0), parallel(self.n, a, b))

    def motion(self, p: Any, a: Frame, b: Frame) -> tuple[JointCoordinate, ...]:
        s_x, s_y = (ca.dot(a.R @ n, b.r_0 - a.r_0) for n in self._directions(p))
        return (
            sliding(s_x, "s_x", "v_x", "a_x", "f_x"),
            sliding(s_y, "s_y", "v_y", "a_y", "f_y"),
            turning(angle_about(self.n, a, b), acceleration="wd", wraps=not p.planar),
        )

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        n_x, n_y = self._directions(p)
        r, phi = n_x * coordinates["s_x"] + n_y * coordinates["s_y"], coordinates["phi"]
        return Pose(r, phi) if p.planar else Pose(r, axis_quaternion(self.n, phi), axis_rotation(self.n, phi))

    def twist(self, p: Any, coordinates: dict[str, SX], rates: dict[str, SX]) -> tuple[SX, SX]:
        n_x, n_y = self._directions(p)
        w = rates["phi"]
        return n_x * rates["s_x"] + n_y * rates["s_y"], w if p.planar else axis(self.n) * w

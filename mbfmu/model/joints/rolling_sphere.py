"""RollingSphere: a ball that rolls on a plane."""

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.model.component import Value, Vector, direction, quantity, start
from mbfmu.model.frame import SX, Frame, G_matrix, Pose
from mbfmu.model.joints.joint import Joint, JointCoordinate, check_perpendicular, sliding
from mbfmu.model.joints.spherical import rotation
from mbfmu.model.relative import axis, velocity_seen


@dataclass(frozen=True)
class RollingSphere(Joint):
    """A ball about the origin of frame_b rolls, without slipping, on the plane through frame_a. For spatial systems.

    Equations, with n the normal of the plane: the contact ``n . (r_b - r_a) = radius`` (holonomic), and no slip of
    the ball's point at ``-radius n`` against the plane along n_x and n x n_x (nonholonomic). The ball may spin about
    the normal (Neimark, Fufaev, Dynamics of Nonholonomic Systems).

    Args:
        n: normal of the plane on the ball's side, a unit vector resolved in frame_a.
        n_x: direction in the plane, a unit vector resolved in frame_a.
        radius: radius of the ball, m.
        s_x, s_y: start position of the ball along n_x and n x n_x, m.
        v_x, v_y: start velocity, m/s.
        Q_rel: start quaternion of frame_b seen from frame_a, 4 numbers.
        w_rel: start angular velocity of frame_b seen from frame_a, rad/s, resolved in frame_a.
    """

    n: tuple[float, ...] = direction(0.0, 1.0, 0.0)
    n_x: tuple[float, ...] = direction(1.0, 0.0, 0.0)
    radius: Value = quantity(1.0, "m", "radius of the ball", min=1e-9)
    s_x: Value | None = start("m", "position along n_x")
    s_y: Value | None = start("m", "position along n x n_x")
    v_x: Value | None = start("m/s", "velocity along n_x")
    v_y: Value | None = start("m/s", "velocity along n x n_x")
    Q_rel: Vector | None = start("1", "quaternion of frame_b seen from frame_a", sizes=(4,))
    w_rel: Vector | None = start(
        "rad/s", "angular velocity of frame_b seen from frame_a, resolved in frame_a", sizes=(3,)
    )
    needs: ClassVar[str] = "spatial"
    instead: ClassVar[str] = "RollingWheel"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_perpendicular(self, "n", "n_x")

    def _directions(self) -> tuple[SX, SX, SX]:
        n, n_x = axis(self.n), axis(self.n_x)
        return n, n_x, ca.sparsify(ca.cross(n, n_x))

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        return ca.dot(a.R @ axis(self.n), b.r_0 - a.r_0) - p.radius

    def velocity(self, p: Any, a: Frame, b: Frame) -> SX:
        n, n_x, n_y = (a.R @ item for item in self._directions())
        slip = velocity_seen(a, b, -p.radius * n)
        return ca.vertcat(ca.dot(n_x, slip), ca.dot(n_y, slip))

    def motion(self, p: Any, a: Frame, b: Frame) -> tuple[JointCoordinate, ...]:
        _, n_x, n_y = (a.R @ item for item in self._directions())
        gap = b.r_0 - a.r_0
        return (
            sliding(ca.dot(n_x, gap), "s_x", "v_x", "a_x", "f_x"),
            sliding(ca.dot(n_y, gap), "s_y", "v_y", "a_y", "f_y"),
            rotation(a, b),
        )

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        n, n_x, n_y = self._directions()
        return Pose(n_x * coordinates["s_x"] + n_y * coordinates["s_y"] + p.radius * n, coordinates["Q_rel"])

    def twist(self, p: Any, coordinates: dict[str, SX], rates: dict[str, SX]) -> tuple[SX, SX]:
        _, n_x, n_y = self._directions()
        w_b = 2 * G_matrix(coordinates["Q_rel"]) @ rates["Q_rel"]
        return n_x * rates["s_x"] + n_y * rates["s_y"], w_b

"""RollingWheel: a wheel in the plane that rolls on a line."""

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.model.component import Value, direction, quantity, start
from mbfmu.model.frame import SX, Frame, Pose
from mbfmu.model.joints.joint import Joint, JointCoordinate, check_in_plane, turning
from mbfmu.model.relative import axis


@dataclass(frozen=True)
class RollingWheel(Joint):
    """A wheel about the origin of frame_b rolls, without slipping, on the line through frame_a. For planar systems.

    Equations, with n the normal of the line and t = (n_y, -n_x) its direction (+x for a ground along x):
    ``n . (r_b - r_a) = radius`` and, holonomic in the plane, ``t . (r_b - r_a) = -radius phi``: the wheel turns
    anticlockwise for positive `phi` and w and so rolls towards -t; at phi = 0 it stands on the origin of frame_a.

    Args:
        n: normal of the line on the wheel's side, a unit vector resolved in frame_a.
        radius: radius of the wheel, m.
        phi: start angle of frame_b seen from frame_a, rad.
        w: start angular velocity, rad/s.
    """

    n: tuple[float, ...] = direction(0.0, 1.0, 0.0)
    radius: Value = quantity(1.0, "m", "radius of the wheel", min=1e-9)
    phi: Value | None = start("rad", "angle of frame_b seen from frame_a")
    w: Value | None = start("rad/s", "angular velocity of frame_b seen from frame_a")
    needs: ClassVar[str] = "planar"
    instead: ClassVar[str] = "RollingDisk"

    def _directions(self) -> tuple[SX, SX]:
        check_in_plane(self, "n")
        return axis(self.n, planar=True), axis((self.n[1], -self.n[0]), planar=True)

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        n, t = (a.R @ item for item in self._directions())
        gap = b.r_0 - a.r_0
        return ca.vertcat(ca.dot(n, gap) - p.radius, ca.dot(t, gap) + p.radius * (b.phi - a.phi))

    def motion(self, p: Any, a: Frame, b: Frame) -> tuple[JointCoordinate, ...]:
        return (turning(b.phi - a.phi),)

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        n, t = self._directions()
        return Pose(p.radius * (n - t * coordinates["phi"]), coordinates["phi"])

    def twist(self, p: Any, coordinates: dict[str, SX], rates: dict[str, SX]) -> tuple[SX, SX]:
        return -p.radius * self._directions()[1] * rates["phi"], rates["phi"]

"""PlanarTranslation: two bodies slide along a plane without turning."""

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.model.component import Value, direction, start
from mbfmu.model.frame import SX, Frame, Pose, identity
from mbfmu.model.joints.joint import Joint, JointCoordinate, check_perpendicular, sliding
from mbfmu.model.relative import aligned, axis


@dataclass(frozen=True)
class PlanarTranslation(Joint):
    """The origin of frame_b moves in the plane with normal `n` through frame_a; the orientations stay equal.

    For spatial systems: a cross slide. Equations: ``n . (r_b - r_a) = 0`` and equal orientation, with n_x and
    n_y = n x n_x fixed in frame_a.

    Args:
        n: normal of the plane, a unit vector resolved in frame_a.
        n_x: first direction in the plane, a unit vector resolved in frame_a, perpendicular to n.
        s_x, s_y: start position along n_x and n_y, m.
        v_x, v_y: start velocity, m/s.
    """

    n: tuple[float, ...] = direction(0.0, 0.0, 1.0)
    n_x: tuple[float, ...] = direction(1.0, 0.0, 0.0)
    s_x: Value | None = start("m", "position along n_x")
    s_y: Value | None = start("m", "position along n x n_x")
    v_x: Value | None = start("m/s", "velocity along n_x")
    v_y: Value | None = start("m/s", "velocity along n x n_x")
    needs: ClassVar[str] = "spatial"
    instead: ClassVar[str] = "Planar"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_perpendicular(self, "n", "n_x")

    def _directions(self) -> tuple[SX, SX]:
        n_x = axis(self.n_x)
        return n_x, ca.sparsify(ca.cross(axis(self.n), n_x))

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        return ca.vertcat(ca.dot(a.R @ axis(self.n), b.r_0 - a.r_0), aligned(self.n, a, b))

    def motion(self, p: Any, a: Frame, b: Frame) -> tuple[JointCoordinate, ...]:
        n_x, n_y = (a.R @ item for item in self._directions())
        gap = b.r_0 - a.r_0
        return (
            sliding(ca.dot(n_x, gap), "s_x", "v_x", "a_x", "f_x"),
            sliding(ca.dot(n_y, gap), "s_y", "v_y", "a_y", "f_y"),
        )

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        n_x, n_y = self._directions()
        return Pose(n_x * coordinates["s_x"] + n_y * coordinates["s_y"], identity(p.planar).angle, ca.SX.eye(3))

    def twist(self, p: Any, coordinates: dict[str, SX], rates: dict[str, SX]) -> tuple[SX, SX]:
        n_x, n_y = self._directions()
        return n_x * rates["s_x"] + n_y * rates["s_y"], ca.SX(3, 1)

"""Prismatic: one translation."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.model.component import Value, direction, start
from mbfmu.model.frame import SX, Frame, Pose, identity
from mbfmu.model.joints.joint import Joint, JointCoordinate, sliding
from mbfmu.model.relative import across, aligned, axis


@dataclass(frozen=True)
class Prismatic(Joint):
    """frame_b slides by `s` along the axis `n` fixed in frame_a, without turning.

    Equations: ``e . (r_b - r_a) = 0`` for the directions e normal to n in frame_a, and equal orientation: in the
    plane ``phi_b = phi_a``; in space ``e1_a . e2_b = e2_a . n_b = n_a . e1_b = 0``.

    Args:
        n: axis, a unit vector resolved in frame_a.
        s: start position of frame_b along the axis, m.
        v: start velocity, m/s.
    """

    n: tuple[float, ...] = direction(1.0, 0.0, 0.0)
    s: Value | None = start("m", "position of frame_b along the axis")
    v: Value | None = start("m/s", "velocity of frame_b along the axis")

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        return ca.vertcat(across(self.n, a, b), aligned(self.n, a, b))

    def motion(self, p: Any, a: Frame, b: Frame) -> tuple[JointCoordinate, ...]:
        return (sliding(ca.dot(a.R @ axis(self.n, p.planar), b.r_0 - a.r_0)),)

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        n = axis(self.n, p.planar)
        return Pose(n * coordinates["s"], identity(p.planar).angle, ca.SX.eye(n.numel()))

    def twist(self, p: Any, coordinates: dict[str, SX], rates: dict[str, SX]) -> tuple[SX, SX]:
        return axis(self.n, p.planar) * rates["s"], ca.SX(1 if p.planar else 3, 1)

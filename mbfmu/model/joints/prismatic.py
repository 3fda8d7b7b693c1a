"""Prismatic: one translation."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.model.component import Value, direction, start
from mbfmu.model.frame import SX, Frame, Pose, identity, normals_of
from mbfmu.model.joints.joint import Joint, Motion


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
        gap = b.r_0 - a.r_0
        if p.planar:
            across = ca.SX([-self.n[1], self.n[0]])
            return ca.vertcat(ca.dot(a.R @ across, gap), b.phi - a.phi)
        e1, e2 = normals_of(self.n)
        n = ca.SX(list(self.n))
        return ca.vertcat(
            ca.dot(a.R @ e1, gap),
            ca.dot(a.R @ e2, gap),
            ca.dot(a.R @ e1, b.R @ e2),
            ca.dot(a.R @ e2, b.R @ n),
            ca.dot(a.R @ n, b.R @ e1),
        )

    def motion(self, p: Any, a: Frame, b: Frame) -> tuple[Motion, ...]:
        n = ca.SX(list(self.n[: 2 if p.planar else 3]))
        s = ca.dot(a.R @ n, b.r_0 - a.r_0)
        return (Motion("s", "m", s, "v", "m/s", "a", "m/s2", "f", "N"),)

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        n = ca.SX(list(self.n[: 2 if p.planar else 3]))
        return Pose(n * coordinates["s"], identity(p.planar).angle, ca.SX.eye(2 if p.planar else 3))

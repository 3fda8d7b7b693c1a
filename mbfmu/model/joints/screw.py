"""Screw: a rotation that advances along its axis."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.errors import ValueRangeError
from mbfmu.model.component import Value, direction, quantity, start
from mbfmu.model.frame import SX, Frame, Pose, axis_quaternion, axis_rotation, wrapped
from mbfmu.model.joints.joint import Joint, JointCoordinate, turning
from mbfmu.model.relative import across, angle_about, axis, parallel


@dataclass(frozen=True)
class Screw(Joint):
    """frame_b turns by `phi` about the axis `n` and advances by ``s = pitch phi / (2 pi)``. For spatial systems.

    Equations: those of Cylindrical, and ``s = pitch phi / (2 pi)``. The angle between two bodies is known only up to
    full turns, so the turn is determined by `s`: ``pitch / (2 pi) wrapped(2 pi s / pitch - phi) = 0``.

    Args:
        n: axis, a unit vector resolved in frame_a and in frame_b.
        pitch: advance along n in a full turn, m; negative for a left-hand thread, not zero.
        phi: start angle of frame_b seen from frame_a, rad, full turns included.
        w: start angular velocity, rad/s.
    """

    n: tuple[float, ...] = direction(1.0, 0.0, 0.0)
    pitch: Value = quantity(0.01, "m", "advance along the axis in a full turn")
    phi: Value | None = start("rad", "angle of frame_b seen from frame_a")
    w: Value | None = start("rad/s", "angular velocity of frame_b seen from frame_a")
    needs: ClassVar[str] = "spatial"
    instead: ClassVar[str] = "a Gear between a Revolute and a Prismatic"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pitch == 0:
            raise ValueRangeError(f"{self.name}.pitch = 0: a screw that does not advance is a Revolute")

    def _behind(self, p: Any, a: Frame, b: Frame) -> tuple[SX, SX]:
        """Return the angle that belongs to the advance, rad, and its difference from the orientation within a turn."""
        wanted = 2 * math.pi / p.pitch * ca.dot(a.R @ axis(self.n), b.r_0 - a.r_0)
        return wanted, wrapped(wanted - angle_about(self.n, a, b))

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        screwed = p.pitch / (2 * math.pi) * self._behind(p, a, b)[1]
        return ca.vertcat(across(self.n, a, b), parallel(self.n, a, b), screwed)

    def motion(self, p: Any, a: Frame, b: Frame) -> tuple[JointCoordinate, ...]:
        wanted, behind = self._behind(p, a, b)
        return (turning(wanted - behind),)

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        phi = coordinates["phi"]
        advance = p.pitch / (2 * math.pi) * phi
        return Pose(axis(self.n) * advance, axis_quaternion(self.n, phi), axis_rotation(self.n, phi))

    def twist(self, p: Any, coordinates: dict[str, SX], rates: dict[str, SX]) -> tuple[SX, SX]:
        w = axis(self.n) * rates["phi"]
        return p.pitch / (2 * math.pi) * w, w

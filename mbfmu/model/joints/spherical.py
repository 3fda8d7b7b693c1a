"""Spherical: any rotation about a common point."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.errors import ValueRangeError
from mbfmu.model.component import Vector, start
from mbfmu.model.frame import SX, Frame, Pose
from mbfmu.model.joints.joint import Joint, JointCoordinate
from mbfmu.model.relative import Q_rel, w_rel


@dataclass(frozen=True)
class Spherical(Joint):
    """frame_b turns freely about the origin of frame_a: ``r_b = r_a``. For spatial systems.

    Args:
        Q_rel: start quaternion of frame_b seen from frame_a, 4 numbers.
        w_rel: start angular velocity of frame_b seen from frame_a, rad/s, resolved in frame_a.
        J: inertia of the rotors of its drives about every axis, which turn with the joint alone, kg.m2, fixed when
            exported: energy ``J w_rel . w_rel / 2``.
    """

    Q_rel: Vector | None = start("1", "quaternion of frame_b seen from frame_a", sizes=(4,))
    w_rel: Vector | None = start(
        "rad/s", "angular velocity of frame_b seen from frame_a, resolved in frame_a", sizes=(3,)
    )
    J: float = 0.0
    needs: ClassVar[str] = "spatial"
    instead: ClassVar[str] = "Revolute"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.J < math.inf:
            raise ValueRangeError(f"{self.name}.J = {self.J} must be a finite number of at least 0")

    def inertia(self, p: Any) -> SX:
        return ca.SX(self.J) if self.J else ca.SX(1, 1)

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        return b.r_0 - a.r_0

    def motion(self, p: Any, a: Frame, b: Frame) -> tuple[JointCoordinate, ...]:
        return (rotation(a, b),)

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        return Pose(ca.SX(3, 1), coordinates["Q_rel"])


def rotation(a: Frame, b: Frame) -> JointCoordinate:
    """Return the relative rotation of two spatial frames as a motion: quaternion and angular velocity in frame_a."""
    return JointCoordinate(
        "Q_rel", "1", Q_rel(a, b), "w_rel", "rad/s", "z_rel", "rad/s2", "t_rel", "N.m",
        rate_value=w_rel(a, b), neutral=(1.0, 0.0, 0.0, 0.0),
    )  # fmt: skip

"""Universal: two rotations about crossing axes."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from mbfmu.errors import AxisError
from mbfmu.model.component import Value, direction, start
from mbfmu.model.frame import SX, Frame, Pose, axis_quaternion, axis_rotation, quaternion_product
from mbfmu.model.joints.joint import Joint, JointCoordinate, turning
from mbfmu.model.relative import axis


@dataclass(frozen=True)
class Universal(Joint):
    """frame_b turns by `phi_a` about `n_a` fixed in frame_a, then by `phi_b` about `n_b` fixed in frame_b.

    For spatial systems. Equations: ``r_b = r_a`` and the axes keep their angle, ``n_a_a . n_b_b = n_a . n_b`` (a
    dot-1 constraint; 0 for the axes at right angles of a Cardan joint). The first motion, and so the axis of forces,
    is `phi_a`.

    Args:
        n_a: first axis, a unit vector resolved in frame_a.
        n_b: second axis, a unit vector resolved in frame_b, not parallel to n_a.
        phi_a, phi_b: start angles, rad.
        w_a, w_b: start angular velocities, rad/s: the derivatives of the angles.
    """

    n_a: tuple[float, ...] = direction(1.0, 0.0, 0.0)
    n_b: tuple[float, ...] = direction(0.0, 1.0, 0.0)
    phi_a: Value | None = start("rad", "angle about n_a")
    phi_b: Value | None = start("rad", "angle about n_b")
    w_a: Value | None = start("rad/s", "angular velocity about n_a")
    w_b: Value | None = start("rad/s", "angular velocity about n_b")
    needs: ClassVar[str] = "spatial"
    instead: ClassVar[str] = "Revolute"

    def __post_init__(self) -> None:
        super().__post_init__()
        if math.hypot(*self._between()[1]) < 1e-6:
            raise AxisError(f"{self.name}.n_a and {self.name}.n_b are parallel: a universal joint needs two axes")

    def _between(self) -> tuple[float, tuple[float, ...]]:
        """Return the cosine between the axes, and their cross product."""
        one, two = (np.array([*n, 0.0][:3]) for n in (self.n_a, self.n_b))
        return float(one @ two), tuple(np.cross(one, two).tolist())

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        leaning = ca.dot(a.R @ axis(self.n_a), b.R @ axis(self.n_b)) - self._between()[0]
        return ca.vertcat(b.r_0 - a.r_0, leaning)

    def motion(self, p: Any, a: Frame, b: Frame) -> tuple[JointCoordinate, ...]:
        cosine, normal = self._between()
        n_a, n_b = axis(self.n_a), axis(self.n_b)
        first, second = a.R @ n_a, b.R @ n_b
        phi_a = ca.atan2(ca.dot(a.R @ axis(normal), second), ca.dot(a.R @ (n_b - cosine * n_a), second))
        phi_b = ca.atan2(ca.dot(b.R @ axis(normal), first), ca.dot(b.R @ (n_a - cosine * n_b), first))
        return (
            turning(phi_a, "phi_a", "w_a", "a_a", "tau_a", wraps=True),
            turning(phi_b, "phi_b", "w_b", "a_b", "tau_b", wraps=True),
        )

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        turns = ((self.n_a, coordinates["phi_a"]), (self.n_b, coordinates["phi_b"]))
        Q_a, Q_b = (axis_quaternion(n, phi) for n, phi in turns)
        R_a, R_b = (axis_rotation(n, phi) for n, phi in turns)
        return Pose(ca.SX(3, 1), quaternion_product(Q_a, Q_b), R_a @ R_b)

    def twist(self, p: Any, coordinates: dict[str, SX], rates: dict[str, SX]) -> tuple[SX, SX]:
        carried = axis_rotation(self.n_b, coordinates["phi_b"]).T @ axis(self.n_a)
        return ca.SX(3, 1), carried * rates["phi_a"] + axis(self.n_b) * rates["phi_b"]

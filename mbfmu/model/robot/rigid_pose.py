"""Poses of rigid bodies as numbers."""

import math
from dataclasses import dataclass

import numpy as np

from mbfmu.model.robot.robot import Array


@dataclass(frozen=True)
class RigidPose:
    """A pose: position r, m, shape (3,), and rotation matrix R, shape (3, 3)."""

    r: Array
    R: Array

    def __matmul__(self, other: "RigidPose") -> "RigidPose":
        """Return the pose of another pose seen from this one's frame."""
        return RigidPose(self.r + self.R @ other.r, self.R @ other.R)

    def inverse(self) -> "RigidPose":
        """Return the pose of the outer frame seen from this one."""
        return RigidPose(-self.R.T @ self.r, self.R.T)


HERE = RigidPose(np.zeros(3), np.eye(3))


def turned(Q: Array) -> Array:
    """Return the rotation matrix of a unit quaternion, scalar first."""
    s, (x, y, z) = Q[0], Q[1:]
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - s * z), 2 * (x * z + s * y)],
            [2 * (x * y + s * z), 1 - 2 * (x * x + z * z), 2 * (y * z - s * x)],
            [2 * (x * z - s * y), 2 * (y * z + s * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def about(n: Array, angle: float) -> Array:
    """Return the rotation matrix of a turn about a unit vector, rad."""
    return turned(np.array([math.cos(angle / 2), *(math.sin(angle / 2) * n)]))

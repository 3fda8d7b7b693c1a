"""Mass, centre and inertia of the primitive shapes of geoms, solid or as shells."""

import math
from dataclasses import dataclass

import numpy as np

from mbfmu.model.robot.principal import principal_axes
from mbfmu.model.robot.rigid_pose import RigidPose
from mbfmu.model.robot.robot import Array


@dataclass(frozen=True)
class MassShare:
    """A body's share of mass.

    Args:
        m: mass, kg (or volume, m3, for density 1).
        r: centre of mass, m, shape (3,).
        I: inertia about the centre of mass, shape (3, 3), kg.m2.
        axes: axes that its moments are stated on, shape (3, 3), one in each column; None: the principal ones.
    """

    m: float
    r: Array
    I: Array  # noqa: E741 - the field's letter
    axes: Array | None = None

    @property
    def pose(self) -> RigidPose:
        """Return the pose of its inertial frame as MuJoCo takes it."""
        return RigidPose(self.r, principal_axes(self.I) if self.axes is None else self.axes)

    def moved(self, r: Array, R: Array) -> "MassShare":
        """Return it seen from a frame in which its own has the position r and the rotation matrix R."""
        return MassShare(self.m, r + R @ self.r, R @ self.I @ R.T, None if self.axes is None else R @ self.axes)

    def scaled(self, factor: float) -> "MassShare":
        """Return it with its mass multiplied by a factor."""
        return MassShare(self.m * factor, self.r, self.I * factor, self.axes)


def merged(parts: list[MassShare]) -> MassShare:
    """Return several solids as one."""
    if len(parts) == 1:
        return parts[0]
    m = sum(item.m for item in parts)
    if m == 0:
        return MassShare(0.0, np.zeros(3), np.zeros((3, 3)))
    r = np.sum([item.m * item.r for item in parts], axis=0) / m
    steiner = [item.m * (d @ d * np.eye(3) - np.outer(d, d)) for item in parts for d in [item.r - r]]
    return MassShare(m, r, np.sum([item.I for item in parts], axis=0) + np.sum(steiner, axis=0))


def sphere(r: float, shell: bool) -> MassShare:
    """Return a sphere of density 1 (per area for a shell)."""
    moment = (2 / 3 if shell else 2 / 5) * r * r
    m = 4 * math.pi * r * r if shell else 4 / 3 * math.pi * r**3
    return _solid(m, moment, moment, moment)


def box(a: float, b: float, c: float, shell: bool) -> MassShare:
    """Return a box with the half sides a, b, c of density 1."""
    if not shell:
        return _solid(8 * a * b * c, (b * b + c * c) / 3, (a * a + c * c) / 3, (a * a + b * b) / 3)
    faces = [(8 * b * c, (a, 0, 0), (b, c)), (8 * a * c, (0, b, 0), (a, c)), (8 * a * b, (0, 0, c), (a, b))]
    squares = np.zeros(3)  # integrals of x^2, y^2, z^2
    for area, normal, _ in faces:
        half = np.array((a, b, c)) ** 2
        squares += area * np.where(np.array(normal) > 0, half, half / 3)
    x, y, z = squares
    m = sum(area for area, *_ in faces)
    return _solid(m, (y + z) / m, (x + z) / m, (x + y) / m)


def ellipsoid(a: float, b: float, c: float) -> MassShare:
    """Return a solid ellipsoid with the half axes a, b, c of density 1."""
    return _solid(4 / 3 * math.pi * a * b * c, (b * b + c * c) / 5, (a * a + c * c) / 5, (a * a + b * b) / 5)


def cylinder(r: float, h: float, shell: bool) -> MassShare:
    """Return a cylinder about z with radius r and half length h of density 1."""
    if not shell:
        return _solid(2 * math.pi * r * r * h, r * r / 4 + h * h / 3, r * r / 4 + h * h / 3, r * r / 2)
    side, ends = 4 * math.pi * r * h, 2 * math.pi * r * r
    across = side * (r * r / 2 + h * h / 3) + ends * (r * r / 4 + h * h)
    m = side + ends
    return _solid(m, across / m, across / m, (side * r * r + ends * r * r / 2) / m)


def capsule(r: float, h: float, shell: bool) -> MassShare:
    """Return a capsule about z with radius r and half length h of its cylinder, of density 1."""
    if shell:
        side, ball = 4 * math.pi * r * h, 4 * math.pi * r * r
        across = side * (r * r / 2 + h * h / 3) + ball * (2 / 3 * r * r + h * h + r * h)
        along = side * r * r + ball * 2 / 3 * r * r
    else:
        side, ball = 2 * math.pi * r * r * h, 4 / 3 * math.pi * r**3
        across = side * (r * r / 4 + h * h / 3) + ball * (2 / 5 * r * r + h * h + 3 / 4 * r * h)
        along = side * r * r / 2 + ball * 2 / 5 * r * r
    m = side + ball
    return _solid(m, across / m, across / m, along / m)


def _solid(m: float, x: float, y: float, z: float) -> MassShare:
    """Return a solid of mass m with principal moments per mass."""
    return MassShare(m, np.zeros(3), m * np.diag([x, y, z]), np.eye(3))

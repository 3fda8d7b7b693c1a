"""Frames: the symbolic pose and velocity of a point with axes, and the algebra of orientations.

Notation: ``r_0`` is resolved in the world frame 0; ``R_0F`` turns components resolved in F into components resolved
in 0. A quaternion is ``(scalar, vector)``; it is *not* assumed to have norm one, so that all expressions stay
polynomial and the norm remains a constraint like any other.
"""

import math
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import casadi as ca

from mbfmu.model.traced import traced

SX = ca.SX
"""An expression of scalars, a matrix (see `stubs/casadi`)."""


@dataclass(frozen=True)
class Pose:
    """Position and orientation of one frame relative to another.

    Args:
        r: SX, shape (2,) or (3,), m, resolved in the other frame.
        angle: SX scalar, rad, or quaternion SX shape (4,): the orientation.
        rotation: the rotation matrix, if a shorter form than the quaternion's is known.
        alike: a pose of the same orientation, which has the same rotation matrix: it is written once for both.
    """

    r: SX
    angle: SX
    rotation: SX | None = None
    alike: "Pose | None" = None

    @property
    def planar(self) -> bool:
        """Return whether this is a pose in the plane."""
        return bool(self.r.numel() == 2)

    @cached_property
    def R(self) -> SX:
        """Rotation matrix, shape (2, 2) or (3, 3)."""
        if self.rotation is not None:
            return self.rotation
        if self.alike is not None:
            return self.alike.R
        return rotation_2d(self.angle) if self.planar else rotation_of(self.angle)

    @cached_property
    def parallel(self) -> bool:
        """Whether the axes of both frames are parallel in all coordinates."""
        return bool(ca.is_equal(ca.SX(self.angle), identity(self.planar).angle, 0))

    def __matmul__(self, other: "Pose") -> "Pose":
        """Return the product of two poses: A seen from 0, times B seen from A, is B seen from 0."""
        neutral = identity(self.planar)
        if self is neutral or other is neutral:
            return other if self is neutral else self
        if self.planar:
            return Pose(*_planar_product(self.r, self.angle, self.R, other.r, other.angle))
        if self.rotation is None and other.rotation is None:
            alike = self if other.parallel else other if self.parallel else None
            return Pose(*_spatial_product(self.r, self.angle, self.R, other.r, other.angle), alike=alike)
        return Pose(*_short_product(self.r, self.angle, self.R, other.r, other.angle, other.R))

    def inverse(self) -> "Pose":
        """Return the pose of the other frame seen from this one (unit quaternions)."""
        if self.planar:
            return Pose(-rotation_2d(-self.angle) @ self.r, -self.angle)
        back = conjugate(self.angle)
        turned = rotation_of(back) if self.rotation is None else self.rotation.T
        return Pose(-turned @ self.r, back, None if self.rotation is None else turned)


@cache
def identity(planar: bool) -> Pose:
    """Return the pose of a frame seen from itself, always the same object."""
    return Pose(ca.SX(2, 1), ca.SX(0)) if planar else Pose(ca.SX(3, 1), ca.SX([1, 0, 0, 0]))


@dataclass(frozen=True)
class Frame:
    """A frame in motion, by which joints and forces know the bodies they join.

    Args:
        pose: pose seen from the world.
        v_0: SX, shape (2,) or (3,), m/s, velocity of the origin, resolved in the world frame.
        w_0: SX, scalar or shape (3,), rad/s, angular velocity, resolved in the world frame.
    """

    pose: Pose
    v_0: SX
    w_0: SX

    @property
    def planar(self) -> bool:
        """Return whether the frame moves in the plane."""
        return self.pose.planar

    @property
    def r_0(self) -> SX:
        """Position of the origin, m, resolved in the world frame."""
        return self.pose.r

    @property
    def R(self) -> SX:
        """Rotation matrix R_0F."""
        return self.pose.R

    def moved(self, shift: SX, turn: SX) -> "Frame":
        """Return the frame after a small displacement and a small rotation, both resolved in the world frame."""
        if self.planar:
            return replace(self, pose=Pose(self.r_0 + shift, self.phi + turn))
        turned = quaternion_product(ca.vertcat(1, turn / 2), self.Q)
        rotation = None if self.pose.rotation is None else self.R + skew(turn) @ self.R
        return replace(self, pose=Pose(self.r_0 + shift, turned, rotation))

    @property
    def phi(self) -> SX:
        """Angle about z of a planar frame, rad."""
        return self.pose.angle

    @property
    def Q(self) -> SX:
        """Quaternion of a spatial frame."""
        return self.pose.angle


def expression(value: Any) -> SX:
    """Return a number as an SX, and an SX as it is."""
    return value if isinstance(value, ca.SX) else ca.SX(value)


def wrapped(angle: SX) -> SX:
    """Return an angle without its full turns: between -pi and pi."""
    return angle - 2 * math.pi * ca.floor(angle / (2 * math.pi) + 0.5)


def undifferentiated(value: SX, spacing: SX | float) -> SX:
    """Return a value rounded down to a grid, by which its derivatives are those of the spacing alone.

    A Newton correction from there has the derivatives of the solution: one the first, two in succession the third.
    """
    return spacing * ca.floor(value / spacing)


@traced
def rotation_2d(phi: SX) -> SX:
    """Return the rotation matrix of a plane angle."""
    c, s = ca.cos(phi), ca.sin(phi)
    return ca.vertcat(ca.horzcat(c, -s), ca.horzcat(s, c))


@traced
def skew(a: SX) -> SX:
    """Return the matrix whose product with b is the cross product a x b."""
    return ca.vertcat(
        ca.horzcat(0, -a[2], a[1]),
        ca.horzcat(a[2], 0, -a[0]),
        ca.horzcat(-a[1], a[0], 0),
    )


@traced
def rotation_of(Q: SX) -> SX:
    """Return R(Q), quadratic in Q: a rotation times |Q|^2."""
    s, e = Q[0], Q[1:]
    return (s * s - ca.dot(e, e)) * ca.SX.eye(3) + 2 * e @ e.T + 2 * s * skew(e)


@traced
def quaternion_product(a: SX, b: SX) -> SX:
    """Return the Hamilton product of two quaternions."""
    return ca.vertcat(a[0] * b[0] - ca.dot(a[1:], b[1:]), a[0] * b[1:] + b[0] * a[1:] + ca.cross(a[1:], b[1:]))


@traced
def conjugate(Q: SX) -> SX:
    """Return the quaternion of the turn back."""
    return ca.vertcat(Q[0], -Q[1:])


@traced
def _planar_product(r: SX, phi: SX, R: SX, r_B: SX, phi_B: SX) -> tuple[SX, SX]:
    return r + R @ r_B, phi + phi_B


@traced
def _spatial_product(r: SX, Q: SX, R: SX, r_B: SX, Q_B: SX) -> tuple[SX, SX]:
    return r + R @ r_B, quaternion_product(Q, Q_B)


@traced
def _short_product(r: SX, Q: SX, R: SX, r_B: SX, Q_B: SX, R_B: SX) -> tuple[SX, SX, SX]:
    return r + R @ r_B, quaternion_product(Q, Q_B), R @ R_B


@traced
def G_matrix(Q: SX) -> SX:
    """Return G(Q), shape (3, 4), with w_body = 2 G(Q) Qdot (Lu & Ren, section on the quaternion description)."""
    return ca.horzcat(-Q[1:], Q[0] * ca.SX.eye(3) - skew(Q[1:]))


def axis_quaternion(n: tuple[float, ...], angle: SX) -> SX:
    """Return the unit quaternion of a turn by `angle` (rad) about the unit axis `n`."""
    return _axis_quaternion(tuple(n))(angle)


@cache
def _axis_quaternion(n: tuple[float, ...]) -> Any:
    """Return the Function angle -> quaternion."""
    angle = ca.SX.sym("angle")
    return ca.Function("Q", [angle], [ca.vertcat(ca.cos(angle / 2), ca.sin(angle / 2) * ca.SX(n))])


def axis_rotation(n: tuple[float, ...], angle: SX | float) -> SX:
    """Return the rotation matrix of a turn by `angle` (rad) about the unit axis `n` (Rodrigues' formula)."""
    return _axis_rotation(tuple(n))(angle)


@cache
def _axis_rotation(n: tuple[float, ...]) -> Any:
    """Return the Function angle -> rotation matrix, sparse."""
    angle = ca.SX.sym("angle")
    c, s = ca.cos(angle), ca.sin(angle)
    axis = ca.DM(n)
    along = axis @ axis.T
    spin = ca.DM([[0, -n[2], n[1]], [n[2], 0, -n[0]], [-n[1], n[0], 0]])
    across = ca.sparsify(ca.DM.eye(3) - along, 1e-15)
    return ca.Function("R", [angle], [ca.sparsify(along, 1e-15) + c * across + s * ca.sparsify(spin)])


@cache
def normals_of(n: tuple[float, ...]) -> tuple[SX, SX]:
    """Return two constant unit vectors that complete the unit axis `n` to a right-handed frame."""
    least = min(range(3), key=lambda k: abs(n[k]))
    axis = ca.DM(list(n))
    first = ca.cross(axis, ca.DM.eye(3)[:, least])
    first = first / ca.norm_2(first)
    return ca.SX(first), ca.SX(ca.cross(axis, first))

"""Position and motion of one frame seen from another, resolved in the other, for joints, forces and sensors."""

from collections.abc import Sequence
from functools import cache

import casadi as ca

from mbfmu.model.frame import SX, Frame, conjugate, normals_of, quaternion_product
from mbfmu.model.traced import traced

SMALLEST_LENGTH = 1e-12
"""Smallest distance of two points, m, at which their direction is defined and a force can act along it."""


def axis(n: Sequence[float], planar: bool = False) -> SX:
    """Return a constant direction as a sparse SX column of the plane or of space (a missing third entry is 0)."""
    return _axis((*n, 0.0)[: 2 if planar else 3])


@cache
def _axis(n: tuple[float, ...]) -> SX:
    return ca.sparsify(ca.SX(n))


def r_rel(a: Frame, b: Frame) -> SX:
    """Return the origin of b seen from a, m, resolved in a."""
    return a.R.T @ (b.r_0 - a.r_0)


def cross(w: SX, x: SX) -> SX:
    """Return w x x, in space or, for a scalar w, in the plane."""
    return ca.cross(w, x) if x.numel() == 3 else w * ca.vertcat(-x[1], x[0])


def moment_of(r: SX, f: SX) -> SX:
    """Return r x f, in space or in the plane."""
    return ca.cross(r, f) if r.numel() == 3 else r[0] * f[1] - r[1] * f[0]


def velocity_seen(a: Frame, b: Frame, arm: SX) -> SX:
    """Return the velocity of a point of b for an observer moving with a, m/s, resolved in the world frame.

    Args:
        a: frame of the observer.
        b: frame of the point.
        arm: from the origin of b to the point, m, resolved in the world frame.
    """
    return b.v_0 + cross(b.w_0, arm) - a.v_0 - cross(a.w_0, b.r_0 + arm - a.r_0)


def v_rel(a: Frame, b: Frame) -> SX:
    """Return the derivative of `r_rel`, m/s: the velocity of b's origin seen from a, resolved in a."""
    return a.R.T @ velocity_seen(a, b, ca.SX(b.r_0.numel(), 1))


def Q_rel(a: Frame, b: Frame) -> SX:
    """Return the quaternion of b seen from a (spatial)."""
    return _turn_between(a.Q, b.Q)


@traced
def _turn_between(Q_a: SX, Q_b: SX) -> SX:
    return quaternion_product(conjugate(Q_a), Q_b)


def w_rel(a: Frame, b: Frame) -> SX:
    """Return the angular velocity of b seen from a, rad/s, resolved in a (a scalar in the plane)."""
    return b.w_0 - a.w_0 if a.planar else a.R.T @ (b.w_0 - a.w_0)


def distance(a: Frame, b: Frame) -> SX:
    """Return the distance of the origins, m, smoothed where they meet."""
    gap = b.r_0 - a.r_0
    return ca.sqrt(ca.dot(gap, gap) + SMALLEST_LENGTH**2)


def angle_about(n: Sequence[float], a: Frame, b: Frame) -> SX:
    """Return the angle of b seen from a about the unit axis `n` of both, rad; in space up to two full turns.

    For a rotation about another axis it is the twist in a decomposition into twist about n and swing across n. It is
    computed from the quaternion, so that it has no jump for less than a full turn to either side.
    """
    if a.planar:
        return b.phi - a.phi
    return _twist_angle(axis(n), a.Q, b.Q)


@traced
def _twist_angle(n: SX, Q_a: SX, Q_b: SX) -> SX:
    Q = _turn_between(Q_a, Q_b)
    return 2 * ca.atan2(ca.dot(n, Q[1:]), Q[0])


def across(n: Sequence[float], a: Frame, b: Frame) -> SX:
    """Return the rows that put the origin of b on the line through a along its unit axis `n`, m: 2, in the plane 1."""
    gap = b.r_0 - a.r_0
    if a.planar:
        return ca.dot(a.R @ axis((-n[1], n[0]), planar=True), gap)
    return _products_with_axes(a.R, gap, *normals_of(tuple(n)))


def parallel(n: Sequence[float], a: Frame, b: Frame) -> SX:
    """Return the 2 rows that keep the unit axis `n` of two spatial frames parallel (Haug's dot-1 constraints)."""
    return _products_with_axes(a.R, b.R @ axis(n), *normals_of(tuple(n)))


@traced
def _products_with_axes(R: SX, x: SX, *axes: SX) -> SX:
    return ca.vertcat(*(ca.dot(R @ e, x) for e in axes))


def aligned(n: Sequence[float], a: Frame, b: Frame) -> SX:
    """Return the rows that give two frames one orientation: 3 dot products, in the plane the angle.

    With e1, e2, n a right-handed frame: ``e1_a . e2_b = e2_a . n_b = n_a . e1_b = 0``.
    """
    if a.planar:
        return b.phi - a.phi
    return _products_of_axes(a.R, b.R, *normals_of(tuple(n)), axis(n))


@traced
def _products_of_axes(R_a: SX, R_b: SX, e1: SX, e2: SX, e3: SX) -> SX:
    pairs = ((e1, e2), (e2, e3), (e3, e1))
    return ca.vertcat(*(ca.dot(R_a @ first, R_b @ second) for first, second in pairs))

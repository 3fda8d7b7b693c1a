"""Position and motion of one frame seen from another, resolved in the other, for joints, forces and sensors."""

from collections.abc import Sequence

import casadi as ca

from mbfmu.model.frame import SX, Frame, normals_of, quaternion_product

SMALLEST_LENGTH = 1e-12
"""Smallest distance of two points, m, at which their direction is defined and a force can act along it."""


def axis(n: Sequence[float], planar: bool = False) -> SX:
    """Return a constant direction as a sparse SX column of the plane or of space (a missing third entry is 0)."""
    entries = [*n, 0.0][:3]
    return ca.sparsify(ca.SX(entries[: 2 if planar else 3]))


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
    return quaternion_product(ca.vertcat(a.Q[0], -a.Q[1:]), b.Q)


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
    Q = Q_rel(a, b)
    return 2 * ca.atan2(ca.dot(axis(n), Q[1:]), Q[0])


def across(n: Sequence[float], a: Frame, b: Frame) -> SX:
    """Return the rows that put the origin of b on the line through a along its unit axis `n`, m: 2, in the plane 1."""
    gap = b.r_0 - a.r_0
    if a.planar:
        return ca.dot(a.R @ axis((-n[1], n[0]), planar=True), gap)
    return ca.vertcat(*(ca.dot(a.R @ ca.sparsify(e), gap) for e in normals_of((n[0], n[1], n[2]))))


def parallel(n: Sequence[float], a: Frame, b: Frame) -> SX:
    """Return the 2 rows that keep the unit axis `n` of two spatial frames parallel (Haug's dot-1 constraints)."""
    n_b = b.R @ axis(n)
    return ca.vertcat(*(ca.dot(a.R @ ca.sparsify(e), n_b) for e in normals_of((n[0], n[1], n[2]))))


def aligned(n: Sequence[float], a: Frame, b: Frame) -> SX:
    """Return the rows that give two frames one orientation: 3 dot products, in the plane the angle.

    With e1, e2, n a right-handed frame: ``e1_a . e2_b = e2_a . n_b = n_a . e1_b = 0``.
    """
    if a.planar:
        return b.phi - a.phi
    e1, e2 = (ca.sparsify(item) for item in normals_of((n[0], n[1], n[2])))
    e3 = axis(n)
    pairs = ((e1, e2), (e2, e3), (e3, e1))
    return ca.vertcat(*(ca.dot(a.R @ first, b.R @ second) for first, second in pairs))

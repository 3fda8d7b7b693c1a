"""The slip of two bodies at the point where they touch."""

import casadi as ca

from mbfmu.model.frame import SX, Frame, skew


def slip_at(point: SX, a: Frame, b: Frame, along: SX, offset: SX) -> SX:
    """Return the velocity of body b's material point against body a's, along tangents.

    Args:
        point: position of body a's point, m, resolved in the world frame.
        a: a frame of body a.
        b: a frame of body b.
        along: tangents, resolved in the world frame, shape (2, 1) or (3, 2).
        offset: position of body b's point, m, relative to the origin of `b`, resolved in the world frame.
    """
    return along.T @ (_velocity(b, offset) - _velocity(a, point - a.r_0))


def tangents(n: SX) -> SX:
    """Return tangents of a unit normal: one in the plane, two at right angles in space.

    (Duff et al., Building an orthonormal basis, revisited, J. Comput. Graph. Tech. 6, 2017.)

    Args:
        n: unit vector, shape (2,) or (3,).
    """
    if n.numel() == 2:
        return ca.vertcat(n[1], -n[0])
    x, y, z = n[0], n[1], n[2]
    side = ca.if_else(z < 0, -1, 1)
    a = -1 / (side + z)
    b = x * y * a
    return ca.horzcat(
        ca.vertcat(1 + side * x**2 * a, side * b, -side * x), ca.vertcat(b, side + y**2 * a, -y)
    )  # fmt: skip


def _velocity(frame: Frame, offset: SX) -> SX:
    """Return the velocity of a material point at an offset from a frame's origin, m/s."""
    if frame.planar:
        return frame.v_0 + frame.w_0 * ca.vertcat(-offset[1], offset[0])
    return frame.v_0 + skew(frame.w_0) @ offset

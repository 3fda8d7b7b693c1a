"""The slip of two bodies at the point where they touch."""

import casadi as ca

from mbfmu.model.frame import SX, Frame, axis_rotation, skew

AWAY = axis_rotation((0.48, -0.64, 0.6), 0.7)
"""Axes of which the third is far from what axes of models are."""


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

    They turn steadily with the normal, but for one direction that no usual arrangement has. (Duff et al., Building an
    orthonormal basis, revisited, J. Comput. Graph. Tech. 6, 2017, in a frame of its own.)

    Args:
        n: unit vector, shape (2,) or (3,).
    """
    if n.numel() == 2:
        return ca.vertcat(n[1], -n[0])
    seen = AWAY.T @ n
    x, y, a = seen[0], seen[1], -1 / (1 + seen[2])
    return AWAY @ ca.horzcat(ca.vertcat(1 + x**2 * a, x * y * a, -x), ca.vertcat(x * y * a, 1 + y**2 * a, -y))


def _velocity(frame: Frame, offset: SX) -> SX:
    """Return the velocity of a material point at an offset from a frame's origin, m/s."""
    if frame.planar:
        return frame.v_0 + frame.w_0 * ca.vertcat(-offset[1], offset[0])
    return frame.v_0 + skew(frame.w_0) @ offset

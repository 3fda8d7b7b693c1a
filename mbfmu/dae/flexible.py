"""Inertia of bodies with flexible parts: kinetic energy and momenta, from the motion of the frames of their parts.

A rigid body's inertia is known in closed form (see `inertia`); that of a flexible one depends on its shape, and so do
the places of the rigid parts that it carries. Mass matrix and gyroscopic terms are derivatives of the kinetic energy.
"""

from collections.abc import Iterator

import casadi as ca

from mbfmu.dae.bodies import Bodies
from mbfmu.model.flexible import MassIntegrals, kinetic_energy, momenta
from mbfmu.model.frame import SX, Frame, Pose, identity
from mbfmu.model.relative import moment_of


def kinetic(bodies: Bodies, number: int) -> SX:
    """Return the kinetic energy of a body with flexible parts, J.

    Args:
        bodies: the bodies.
        number: number of the group.
    """
    T = ca.SX(0)
    for _, item, first_t, v, w in _parts(bodies, number):
        T += kinetic_energy(item, first_t, v, w)
    return T


def regularising(bodies: Bodies, number: int) -> SX:
    """Return the energy that gives the direction of a quaternion a mass, zero for unit quaternions (see `inertia`)."""
    if bodies.planar:
        return ca.SX(0)
    columns = slice(7 * number - 4, 7 * number)
    J = ca.SX(0)
    for _, item, *_ in _parts(bodies, number):
        J += ca.trace(item.J)
    eta = ca.vertcat(*(shape.eta for shape in bodies.shapes.values()))
    J = ca.substitute(J, eta, ca.SX.zeros(eta.numel()))
    return 4 * J / 3 * ca.dot(bodies.q[columns], bodies.v[columns]) ** 2 / 2


def angular_momentum(bodies: Bodies, number: int) -> SX:
    """Return the angular momentum of a body with flexible parts about the world's origin, N.m.s, in the world frame."""
    total = ca.SX(1 if bodies.planar else 3, 1)
    for frame, item, first_t, v, w in _parts(bodies, number):
        linear, spin = momenta(item, first_t, v, w)
        total += moment_of(frame.r_0, frame.R @ linear) + (spin if bodies.planar else frame.R @ spin)
    return total


def _parts(bodies: Bodies, number: int) -> Iterator[tuple[Frame, MassIntegrals, SX, SX, SX]]:
    """Yield frame, integrals, rate of `first`, velocity and angular velocity of each part with mass."""
    group = bodies.groups[number]
    for path in group.parts:
        pose = group.poses[f"{path}.frame_a"]
        if path in bodies.shapes:
            frame, item, shape = bodies.frame(number, pose), bodies.integrals[path], bodies.shapes[path]
            first_t = ca.jtimes(item.first, shape.eta, shape.rate)
        else:
            inertia = bodies.mechanism.components[path].inertia(bodies.values[path])  # type: ignore[attr-defined]
            if inertia is None:
                continue
            frame = bodies.frame(number, pose @ Pose(inertia.r_CM, identity(bodies.planar).angle))
            still = ca.SX(bodies.dim, 1)
            item = MassIntegrals(inertia.m, still, inertia.I_CM, ca.SX(1 if bodies.planar else 3, 1), ca.SX(0))
            first_t = still
        yield frame, item, first_t, frame.R.T @ frame.v_0, frame.w_0 if bodies.planar else frame.R.T @ frame.w_0

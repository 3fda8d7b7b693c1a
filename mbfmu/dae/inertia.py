"""Inertia: kinetic energy, mass matrix and gyroscopic terms of all bodies, in closed form.

Those of bodies that flexible parts hold together are computed by recursion (see `recursive`).

For a quaternion Q with y = G(Q) Qdot (Lu & Ren, section on the quaternion description; J about the centre of mass),

    T = 2 y.J y,    T_v = 4 G(Q)^T J y,    T_q = -4 G(Qdot)^T J y,    (T_v)_q v = 4 G(Qdot)^T J y,

which hold for any length of Q. The regularising energy mu0 (Q.Qdot)^2 / 2, mu0 = 4/3 trace J, adds mu0 Q Q^T to the
mass matrix and mu0 (Q.Qdot) Qdot and mu0 ((Qdot.Qdot) Q + (Q.Qdot) Qdot) to the other two. Automatic differentiation
of T gives the same in three times as many operations (gyroscopic term 286 against 105, its Jacobian 1370 against 454);
tests compare the two. A rotor on an axis of rate v = J_v qdot adds J v^2 / 2, differentiated as it is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import casadi as ca

from mbfmu.dae.bodies import Bodies
from mbfmu.dae.flexible import kinetic
from mbfmu.dae.linear_algebra.kkt import Factor
from mbfmu.dae.outputs import Transmitted
from mbfmu.dae.tree.recursive import inverse_dynamics, link_rates, mass_matrix, regularising
from mbfmu.model.frame import SX, G_matrix


@dataclass(frozen=True)
class InertialTerms:
    """The contributions of the bodies' inertia and weight.

    Args:
        T: kinetic energy, SX scalar.
        M: gives the regular mass matrix, SX, shape (n, n).
        momentum: gives T_v, SX, shape (n,).
        impulse: gives M v, SX, shape (n,): T_v with the regularising energy.
        T_q: gives it, SX, shape (n,).
        regular_T_q: gives T_q with the regularising energy, SX, shape (n,).
        bias: what M a takes without any load: gyroscopic terms (M v)_q v - regular_T_q less the weight, SX,
            shape (n,).
        solve: force -> M^-1 force.
        free: load -> M^-1 (load - bias).
        transmitted: forces and torques that the joints of the tree transmit, see `outputs`; None in absolute
            coordinates.
    """

    T: SX
    M: Callable[[], SX]
    momentum: Callable[[], SX]
    impulse: Callable[[], SX]
    T_q: Callable[[], SX]
    regular_T_q: Callable[[], SX]
    bias: SX
    solve: Callable[[SX], SX]
    free: Callable[[SX], SX]
    transmitted: Transmitted | None = None


def inertial_terms(bodies: Bodies) -> InertialTerms:
    """Return the inertial terms of all moving bodies in absolute coordinates."""
    # Blocks of M of each rigid body, its T, and the columns M v, T_v, T_q, regular T_q and the gyroscopic term
    energies: list[SX] = []
    blocks: list[SX] = []
    columns: list[list[SX]] = [[], [], [], [], []]
    alone = [(group, inertia) for group, inertia in bodies.moving() if group not in bodies.bonded]
    for k, (group, inertia) in enumerate(alone):
        velocity, w = bodies.coordinates.rates[group]
        energies.append((inertia.m * ca.dot(velocity, velocity) + ca.dot(w, inertia.I_CM @ w)) / 2)
        still = ca.SX(bodies.dim, 1)
        blocks.append(inertia.m * ca.SX.eye(bodies.dim))
        if bodies.planar:
            blocks.append(inertia.I_CM)
            parts = [inertia.I_CM * w, inertia.I_CM * w, ca.SX(1, 1), ca.SX(1, 1), ca.SX(1, 1)]
        else:
            state = bodies.coordinates.poses[group].angle, bodies.v[7 * k + 3 : 7 * k + 7], inertia.I_CM
            block, *parts = turning(*state)
            blocks.append(block)
        translation = [inertia.m * velocity, inertia.m * velocity, still, still, still]
        for column, first, second in zip(columns, translation, parts, strict=True):
            column += [first, second]
    # All of these bodies together; bias = gyroscopic term - weight, zero for the bonded bodies
    T = sum(energies, ca.SX(0))
    bonded = bodies.q.numel() - sum(block.shape[0] for block in blocks)
    rest = ca.SX(bonded, 1)
    momentum, impulse, T_q, regular_T_q, gyroscopic = (ca.vertcat(*column, rest) for column in columns)
    gravity, still = bodies.gravity(), ca.SX(1 if bodies.planar else 4, 1)
    weight = ca.vertcat(ca.SX(0, 1), *(ca.vertcat(inertia.m * gravity, still) for _, inertia in alone), rest)
    M, bias = ca.diagcat(*blocks, ca.SX(bonded, bonded)), gyroscopic - weight
    # Rotors on joints: T = J s^2 / 2, with the rate s = s_v v of the joint
    for path, J in bodies.rotors.items():
        rate = bodies.axes[path].rates[0]
        row = ca.jacobian(rate, bodies.v)
        if rate.numel() == 1:
            momentum_J, slope = J * rate * row.T, J * rate * ca.gradient(rate, bodies.q)
        else:  # of a joint that turns about every axis
            momentum_J, slope = row.T @ (J * rate), ca.jtimes(rate, bodies.q, J * rate, True)
        T, M, momentum, impulse = (
            T + J * ca.sumsqr(rate) / 2,
            M + J * row.T @ row,
            momentum + momentum_J,
            impulse + momentum_J,
        )
        T_q, regular_T_q = T_q + slope, regular_T_q + slope
        bias += ca.jtimes(momentum_J, bodies.q, bodies.v) - slope
    # Flexible bodies, and those bonded to them, from the recursive algorithms
    if bodies.bonded:
        links = bodies.coordinates.links
        T_bonded = sum((kinetic(bodies, index) for index in sorted(bodies.bonded)), ca.SX(0))
        slope = ca.gradient(T_bonded, bodies.q)
        more, regular = ca.gradient(T_bonded, bodies.v), regularising(links, bodies.v)
        T, momentum, impulse = T + T_bonded, momentum + more, impulse + more + ca.gradient(regular, bodies.v)
        T_q, regular_T_q = T_q + slope, regular_T_q + slope + ca.gradient(regular, bodies.q)
        M, bias = M + mass_matrix(links), bias + inverse_dynamics(links, link_rates(links), gravity)[0]
    # M^-1 by one factor
    factor = cache(lambda: Factor(M))
    return InertialTerms(
        T=T,
        M=lambda: M,
        momentum=lambda: momentum,
        impulse=lambda: impulse,
        T_q=lambda: T_q,
        regular_T_q=lambda: regular_T_q,
        bias=bias,
        solve=lambda f: factor().solve(f),
        free=lambda load: factor().solve(load - bias),
    )


def turning(Q: SX, Qdot: SX, J: SX) -> list[SX]:
    """Return the block of M, and T_v, M v, T_q, regular T_q and the gyroscopic term of one quaternion."""
    G, H = G_matrix(Q), G_matrix(Qdot)
    Jy = J @ (G @ Qdot)
    mu0 = 4 * ca.trace(J) / 3
    turned, radial, momentum = 4 * H.T @ Jy, mu0 * ca.dot(Q, Qdot), 4 * G.T @ Jy
    gyroscopic = 2 * turned + mu0 * ca.dot(Qdot, Qdot) * Q
    parts = [momentum, momentum + radial * Q, -turned, radial * Qdot - turned, gyroscopic]
    return [4 * G.T @ J @ G + mu0 * Q @ Q.T, *parts]

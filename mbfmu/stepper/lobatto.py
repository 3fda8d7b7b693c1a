"""lobatto: the symplectic Lobatto IIIA-IIIB pair, which meets both constraint levels at the step ends."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import casadi as ca
import numpy as np

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Formula
from mbfmu.dae.linear_algebra.kkt import SchurFactor
from mbfmu.stepper.coupled import coupled_formula, weighted
from mbfmu.stepper.scheme import SHORT, SX, Choice, Family, Limits, Problem, Scheme, holonomic_only, option
from mbfmu.stepper.tableaus import lobatto_tableaus

LIMITS = {2: Limits(vibration=2.0), 3: Limits(vibration=2.828), 4: Limits(vibration=3.112)}
"""Limits by the number of stages; with three, errors do not grow from omega h = 3.47 to 4.89 either."""


def lobatto(dae: Dae, stages: int = 3) -> Scheme:
    """Return the SPARK method of s-stage Lobatto IIIA (coordinates) and IIIB (momenta), order 2 s - 2.

    (Jay, Symplectic partitioned Runge-Kutta methods for constrained Hamiltonian systems, SIAM J. Numer. Anal. 33, 1996;
    Hairer, Lubich & Wanner, Geometric Numerical Integration, VII.1, (1.29)-(1.31)); with F = T_q - V_q + Q, the force
    on the momentum without multipliers, (a_ij) of IIIA, (ahat_ij) of IIIB:

        Q_i = q0 + h sum_j a_ij V_j,    M(Q_i) V_i = p0 + h sum_j ahat_ij (F(Q_j, V_j, t_j) - Phi_q(Q_j)^T lambda_j)
        Phi(Q_i) = 0,    q1 = Q_s
        p1 = p0 + h sum_j b_j (F_j - Phi_q(Q_j)^T lambda_j),    Phi_q(q1) M(q1)^-1 p1 + Phi_t = 0

    Q_1 = q0 and ahat_is = 0, so lambda_s appears in p1 only. The unknowns are d_i = h V_i and the impulses
    h^2 lambda_j, j < s. With a constant M the momenta of the stages lie on a polynomial of degree s - 2 and d_s is
    eliminated. With s = 2 the method is RATTLE. First-order states are integrated like the coordinates, by IIIA:
    z_i = z0 + h sum_j a_ij z'_j, i > 1, with (z_i - z0) / nominal unknown; stiff ones are not damped. State
    x = [q; p; z; lambda].

    Args:
        dae: the equations.
        stages: s, 2 to 4.
    """
    holonomic_only("lobatto", dae)
    problem = Problem(dae)
    n, m, t, h, s = problem.n, problem.m, problem.t, problem.h, stages
    A, Ahat, b, c = lobatto_tableaus(s)
    x, first = ca.SX.sym("x", problem.n_y + m), ca.SX.sym("y", problem.n_y)
    q0, p0, z0, lambda0 = ca.vertsplit(x, [0, n, 2 * n, problem.n_y, problem.n_y + m])
    q_free, v_free, z_free = problem.split(first)

    solved = s - 1 if dae.equations.constant_mass else s
    d = [ca.SX.sym(f"d{i}", n) for i in range(solved)]
    # constant M: the velocities of the stages lie on a polynomial of degree s - 2, which gives d_s
    if dae.equations.constant_mass:
        last = np.linalg.solve(np.vander(c[:-1], s - 1).T, np.ones(s - 1))
        d.append(weighted(last, d))
    impulse = [ca.SX.sym(f"impulse{j}", m) for j in range(s - 1)]
    Zz = [ca.SX.zeros(problem.n_z), *(ca.SX.sym(f"Zz{i}", problem.n_z) for i in range(1, s))]
    times = [t + c[i] * h for i in range(s)]
    # stages of the coordinates (IIIA): Q_i = q0 + h sum_j a_ij V_j
    Q = [q0 + weighted(A[i], d) for i in range(s)]
    points = [
        ca.vertcat(Q[i], d[i], impulse[i] if i < s - 1 else ca.SX.zeros(m), z0 + problem.nominal * Zz[i])
        for i in range(s)
    ]

    def node(y: SX, at: SX) -> SX:
        Q, d, impulse, z = ca.vertsplit(y, [0, n, 2 * n, 2 * n + m, y.numel()])
        # force of a stage with its multiplier, h^2 (F(Q_j, V_j) - P^T lambda_j), and Phi(Q_j)
        push = h**2 * problem.impulse_rate(Q, d / h, z, at) - problem.Phi_q(Q, at).T @ impulse
        return ca.vertcat(problem.M(Q) @ d, push, problem.Phi(Q, at), h * problem.scaled_flow(Q, d / h, z, at))

    def finish(N: Sequence[SX]) -> tuple[SX, SX]:
        parts = (ca.vertsplit(item, [0, n, 2 * n, 2 * n + m, item.numel()]) for item in N)
        inertia, push, gaps, flows = zip(*parts, strict=True)
        # stages of the momenta (IIIB): M(Q_i) V_i = p0 + h sum_j ahat_ij (F_j - P_j^T lambda_j)
        balance = [inertia[i] - h * p0 - weighted(Ahat[i], push) for i in range(solved)]
        collocated = [Zz[i] - weighted(A[i], flows) for i in range(1, s)]
        # step end: p1 = p0 + h sum_j b_j (F_j - P_j^T lambda_j), with lambda_s from P v1 + Phi_t = 0
        q1, z1 = Q[-1], z0 + problem.nominal * Zz[-1]
        M1, p1 = problem.M(q1), p0 + weighted(b, push) / h
        v1, mu = SchurFactor(problem.over_mass(q1), problem.Phi_q(q1, t + h)).solve(p1, -problem.Phi_t(q1, t + h))
        return ca.vertcat(*balance, *gaps[1:], *collocated), ca.vertcat(q1, M1 @ v1, z1, mu / (b[-1] * h))

    # guess: Taylor's series of the motion from the start of the step
    solve = problem.over_mass(q0)
    v0 = solve(p0)
    a0 = solve(problem.force(q0, v0, z0, t) - problem.Phi_q(q0, t).T @ lambda0)
    guess = ca.vertcat(
        *(h * v0 + c[i] * h**2 * a0 for i in range(solved)),
        *(c[i] * h * problem.scaled_flow(q0, v0, z0, t) for i in range(1, s)),
        *([h**2 * lambda0] * (s - 1)),
    )
    unknowns, watched = ca.vertcat(*d[:solved], *Zz[1:], *impulse), solved * n + (s - 1) * problem.n_z
    known, _, first_lambda = problem.called_acceleration(q_free, v_free, z_free, t)
    return Scheme(
        name="lobatto",
        options={"stages": s},
        order=2 * s - 2,
        exact=frozenset({"position", "velocity"}),
        begin=Formula(
            first, problem.given, known, ca.vertcat(q_free, problem.M(q_free) @ v_free, z_free, first_lambda)
        ),
        step=coupled_formula(problem, x, unknowns, guess, watched, points, times, node, finish),
        read=ca.Function("read", [x, problem.p, t], [q0, v0, z0]),
        short=SHORT,
        limits=LIMITS[stages],
    )  # fmt: skip


@dataclass(frozen=True)
class Lobatto(Choice):
    """The stepper `lobatto` with its options.

    Args:
        stages: `2`, `3` (default) or `4`; number of nodes s.
    """

    name: ClassVar[str] = "lobatto"
    stages: Literal[2, 3, 4] = option(3, "number of nodes s")


FAMILY = Family(
    choice=Lobatto,
    make=lobatto,
    states=True,
    order="2 s - 2",
    preserves="position and velocity constraints at every step end; symplectic, symmetric: energy error without drift",
    needs="holonomic constraints",
    source="Jay 1996; Hairer, Lubich & Wanner, Geometric Numerical Integration, VII.1.4",
)

"""lobatto: the symplectic Lobatto IIIA-IIIB pair, which meets both constraint levels at the step ends."""

from collections.abc import Sequence

import casadi as ca
import numpy as np

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Formula
from mbfmu.dae.kkt import SchurFactor
from mbfmu.steppers.coupled import coupled_formula, weighted
from mbfmu.steppers.scheme import SX, Family, Option, Problem, Scheme, holonomic_only
from mbfmu.steppers.tableaus import lobatto_tableaus


def lobatto(dae: Dae, stages: int = 3) -> Scheme:
    """SPARK method of s-stage Lobatto IIIA (coordinates) and IIIB (momenta), order 2 s - 2.

    (Jay, Symplectic partitioned Runge-Kutta methods for constrained Hamiltonian systems, SIAM J. Numer. Anal. 33, 1996;
    Hairer, Lubich & Wanner, Geometric Numerical Integration, VII.1, (1.29)-(1.31)); with F = T_q - V_q + Q, the force
    on the momentum without multipliers, (a_ij) of IIIA, (ahat_ij) of IIIB:

        Q_i = q0 + h sum_j a_ij V_j,    M(Q_i) V_i = p0 + h sum_j ahat_ij (F(Q_j, V_j, t_j) - Phi_q(Q_j)^T lambda_j)
        Phi(Q_i) = 0,    q1 = Q_s
        p1 = p0 + h sum_j b_j (F_j - Phi_q(Q_j)^T lambda_j),    Phi_q(q1) M(q1)^-1 p1 + Phi_t = 0

    Q_1 = q0 and ahat_is = 0, so lambda_s appears in p1 only. Unknown are d_i = h V_i and the impulses h^2 lambda_j,
    j < s. With a constant M the momenta of the stages lie on a polynomial of degree s - 2 and d_s is eliminated.
    With s = 2 the method is RATTLE. State x = [q; p; lambda].

    Args:
        dae: the equations.
        stages: s, 2 to 4.
    """
    holonomic_only("lobatto", dae)
    problem = Problem(dae)
    n, m, t, h, s = problem.n, problem.m, problem.t, problem.h, stages
    A, Ahat, b, c = lobatto_tableaus(s)
    x = ca.SX.sym("x", 2 * n + m)
    q0, p0, lambda0 = x[:n], x[n : 2 * n], x[2 * n :]
    q_free, v_free = ca.SX.sym("q", n), ca.SX.sym("v", n)

    solved = s - 1 if dae.constant_mass else s
    d = [ca.SX.sym(f"d{i}", n) for i in range(solved)]
    if dae.constant_mass:
        last = np.linalg.solve(np.vander(c[:-1], s - 1).T, np.ones(s - 1))
        d.append(weighted(last, d))
    impulse = [ca.SX.sym(f"impulse{j}", m) for j in range(s - 1)]
    times = [t + c[i] * h for i in range(s)]
    points = [ca.vertcat(q0 + weighted(A[i], d), d[i], impulse[i] if i < s - 1 else ca.SX.zeros(m)) for i in range(s)]

    def node(y: SX, at: SX) -> SX:
        Q, d, impulse = y[:n], y[n : 2 * n], y[2 * n :]
        push = h**2 * problem.impulse_rate(Q, d / h, at) - problem.Phi_q(Q, at).T @ impulse
        return ca.vertcat(problem.M(Q) @ d, push, problem.Phi(Q, at))

    def finish(N: Sequence[SX]) -> tuple[SX, SX]:
        inertia, push = [item[:n] for item in N], [item[n : 2 * n] for item in N]
        balance = [inertia[i] - h * p0 - weighted(Ahat[i], push) for i in range(solved)]
        q1 = points[-1][:n]
        M1, p1 = problem.M(q1), p0 + weighted(b, push) / h
        v1, mu = SchurFactor(problem.over_mass(q1), problem.Phi_q(q1, t + h)).solve(p1, -problem.Phi_t(q1, t + h))
        return ca.vertcat(*balance, *(item[2 * n :] for item in N[1:])), ca.vertcat(q1, M1 @ v1, mu / (b[-1] * h))

    solve = problem.over_mass(q0)
    v0 = solve(p0)
    a0 = solve(problem.force(q0, v0, t) - problem.Phi_q(q0, t).T @ lambda0)
    guess = ca.vertcat(*(h * v0 + c[i] * h**2 * a0 for i in range(solved)), *([h**2 * lambda0] * (s - 1)))
    z = ca.vertcat(*d[:solved], *impulse)
    return Scheme(
        name="lobatto",
        options={"stages": s},
        order=2 * s - 2,
        exact=frozenset({"position", "velocity"}),
        begin=Formula(
            ca.vertcat(q_free, v_free), problem.given, (),
            ca.vertcat(q_free, problem.M(q_free) @ v_free, problem.acceleration(q_free, v_free, t)[1]),
        ),
        step=coupled_formula(problem, x, z, guess, solved * n, points, times, node, finish),
        read=ca.Function("read", [x, problem.p, t], [q0, v0]),
    )  # fmt: skip


FAMILY = Family(
    name="lobatto",
    make=lobatto,
    order="2 s - 2",
    preserves="position and velocity constraints at every step end; symplectic, symmetric: energy error without drift",
    needs="holonomic constraints",
    source="Jay 1996; Hairer, Lubich & Wanner, Geometric Numerical Integration, VII.1.4",
    options={"stages": Option(3, "number of nodes s", choices=(2, 3, 4))},
)

"""radau: Radau IIA on the stabilised index-2 form: stiffly accurate, both constraint levels at the step ends."""

from collections.abc import Sequence

import casadi as ca
import numpy as np

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Formula, Stage, arguments
from mbfmu.dae.ode import Ode
from mbfmu.steppers.coupled import coupled_formula, weighted
from mbfmu.steppers.scheme import SX, Family, Option, Problem, Scheme
from mbfmu.steppers.tableaus import radau_tableau


def radau(dae: Dae, stages: int = 3) -> Scheme:
    """s-stage Radau IIA on the form of Gear, Gupta & Leimkuhler, order 2 s - 1 in q and v.

    (Hairer & Wanner, Solving Ordinary Differential Equations II, VII.2 and VII.4; Gear, Gupta & Leimkuhler, Automatic
    integration of Euler-Lagrange equations with constraints, J. Comput. Appl. Math. 12, 1985.) With C = [Phi_q; G],
    c = [Phi_t; g] and an additional multiplier mu that is zero on the solution:

        M0 q' = M0 v - P0^T mu,    M(q) v' = force - C^T lambda,    Phi(q) = 0,    C v + c = 0

    M0 and P0 are the mass matrix and Phi_q at the start of the step: which directions mu moves q in is free, as long as
    they lead off the constraints, and these are constant over the step. At every node x'_i = sum_j d_ij (x_j - x_n) / h
    with D = A^-1; the last node, c_s = 1, is the step end. Unknown are the displacements Z_i = q_i - q_n, the impulses
    h^2 lambda_i and h mu_i; v_i follows from the first equation. State x = [q; v; lambda].

    Args:
        dae: the equations.
        stages: s, 1 to 3; s = 1 is the implicit Euler rule, of order 1.
    """
    problem = Problem(dae)
    n, m, k, t, h, s = problem.n, problem.m, problem.k, problem.t, problem.h, stages
    A, _, c = radau_tableau(s)
    D = np.linalg.inv(A)
    x = ca.SX.sym("x", 2 * n + m + k)
    qn, vn, lambda_n = x[:n], x[n : 2 * n], x[2 * n :]
    off = problem.over_mass(qn)(problem.Phi_q(qn, t).T)

    Z = [ca.SX.sym(f"Z{i}", n) for i in range(s)]
    L = [ca.SX.sym(f"L{i}", m + k) for i in range(s)]
    mu = [ca.SX.sym(f"mu{i}", m) for i in range(s)]
    hv = [weighted(D[i], Z) + off @ mu[i] for i in range(s)]
    gain = [weighted(D[i], [item - h * vn for item in hv]) for i in range(s)]

    def node(y: SX, at: SX) -> SX:
        q, hv, gain, L = ca.vertsplit(y, [0, n, 2 * n, 3 * n, 3 * n + m + k])
        C = problem.C(q, at)
        balance = problem.M(q) @ gain - h**2 * problem.force(q, hv / h, at) + C.T @ L
        return ca.vertcat(balance, problem.Phi(q, at), C @ hv + h * problem.c(q, at))

    def finish(N: Sequence[SX]) -> tuple[SX, SX]:
        return ca.vertcat(*N), ca.vertcat(qn + Z[-1], hv[-1] / h, L[-1] / h**2)

    an = problem.over_mass(qn)(problem.force(qn, vn, t) - problem.C(qn, t).T @ lambda_n)
    guess = [c[i] * h * vn + (c[i] * h) ** 2 / 2 * an for i in range(s)]
    q_free, v_free = ca.SX.sym("q", n), ca.SX.sym("v", n)
    begin = ca.vertcat(q_free, v_free, problem.acceleration(q_free, v_free, t)[1])
    return Scheme(
        name="radau",
        options={"stages": s},
        order=2 * s - 1,
        exact=frozenset({"position", "velocity"}),
        begin=Formula(ca.vertcat(q_free, v_free), problem.given, (), begin),
        step=coupled_formula(
            problem, x,
            z=ca.vertcat(*Z, *L, *mu),
            guess=ca.vertcat(*guess, *([h**2 * lambda_n] * s), ca.SX.zeros(s * m)),
            watched=s * n,
            points=[ca.vertcat(qn + Z[i], hv[i], gain[i], L[i]) for i in range(s)],
            times=[t + c[i] * h for i in range(s)],
            node=node, finish=finish,
        ),
        read=ca.Function("read", [x, problem.p, t], [qn, vn]),
    )  # fmt: skip


def radau_first_order(ode: Ode, stages: int = 3) -> Scheme:
    """s-stage Radau IIA on x' = f(x, u, p, t), order 2 s - 1.

    (Hairer & Wanner, Solving Ordinary Differential Equations II, IV.5 and IV.8.) Unknown are the displacements
    Z_i = x(t + c_i h) - x, in units of each state's nominal size: Z_i = h sum_j a_ij f(x + Z_j). The last node is the
    step end.

    Args:
        ode: the equations.
        stages: s, 1 to 3; s = 1 is the implicit Euler rule, of order 1.
    """
    A, _, c = radau_tableau(stages)
    given = arguments(len(ode.inputs), len(ode.parameters), ca.SX)
    size = ca.DM([ode.nominal[item.name] for item in ode.states])
    x = ca.SX.sym("x", ode.n)
    Z = [ca.SX.sym(f"Z{i}", ode.n) for i in range(stages)]

    def rate(at: SX, part: float) -> SX:
        t = given.t + part * given.h
        return ode.rate(at, given.u + given.du * (t - given.t), given.p, t) / size

    f = [rate(x + size * Z[j], c[j]) for j in range(stages)]
    residual = ca.vertcat(*(Z[i] - given.h * weighted(A[i], f) for i in range(stages)))
    guess = ca.vertcat(*(c[i] * given.h * rate(x, 0.0) for i in range(stages)))
    return Scheme(
        name="radau",
        options={"stages": stages},
        order=2 * stages - 1,
        exact=frozenset(),
        begin=Formula(x, given, (), x),
        step=Formula(x, given, (Stage(ca.vertcat(*Z), guess, residual),), x + size * Z[-1]),
        read=ca.Function("read", [x, given.p, given.t], [x / size, ca.SX(0, 1)]),
    )


FAMILY = Family(
    name="radau",
    make=radau,
    make_first_order=radau_first_order,
    stiff=True,
    order="2 s - 1",
    preserves="position and velocity constraints at every step end; damps what the step cannot resolve",
    needs="any model; made for stiff forces",
    source="Hairer & Wanner, Solving Ordinary Differential Equations II, VII.4; Gear, Gupta & Leimkuhler 1985",
    options={"stages": Option(3, "number of nodes s", choices=(1, 2, 3))},
)

"""gauss: Gauss collocation of the constrained Hamilton equations in displacement form."""

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Formula, Stage
from mbfmu.steppers.scheme import Family, Option, Problem, Scheme, holonomic_only

Array = npt.NDArray[np.float64]


def gauss_tableau(s: int) -> tuple[Array, Array, Array]:
    """Return (A, b, c) of the s-stage Gauss method, shapes (s, s), (s,), (s,): order 2 s.

    c are the zeros of the shifted Legendre polynomial, a_ij the integral from 0 to c_i of the j-th Lagrange
    polynomial (Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.7).
    """
    nodes, weights = np.polynomial.legendre.leggauss(s)
    c = (nodes + 1) / 2
    k = np.arange(1, s + 1)
    A = (c[:, None] ** k / k) @ np.linalg.inv(np.vander(c, s, increasing=True))
    return A, weights / 2, c


def gauss(dae: Dae, stages: int = 3) -> Scheme:
    """Momentum form of the s-stage Gauss method (Lu & Ren, displacement form, section on the momentum form).

    Unknown at each node: the displacement Z_i = Q_i - q_n and h^2 lambda_i. With D = A^-1,

        qdot_i = sum_j d_ij Z_j / h,    p_i = T_v(Q_i, qdot_i),    pdot_i = sum_j d_ij (p_j - p_n) / h,
        h^2 (pdot_i - T_q + V_q - Q) + Phi_q(Q_i)^T (h^2 lambda_i) = 0,    Phi(Q_i) = 0,
        q_{n+1} = q_n + h sum b_i qdot_i,    p_{n+1} = p_n + h sum b_i pdot_i.

    The constraints hold at the inner nodes, not at the step ends, where the residual alternates and is O(h^(s+1)).
    Order of q and v: s + 1 for odd s, s for even s (index 3; measured 2, 2, 4, 4); the rotation of a single rigid
    body, read from the normalised quaternion, has order 2 s.
    Right for one rigid body with quaternions, whose singular mass matrix keeps the momentum free of normal parts;
    on other multibody systems the error grows exponentially in time, whatever the step, so keep the spans short.

    Args:
        dae: the equations.
        stages: s, 1 to 4.
    """
    holonomic_only("gauss", dae)
    problem = Problem(dae)
    n, m, t, h, s = problem.n, problem.m, problem.t, problem.h, stages
    A, b, c = gauss_tableau(s)
    D = np.linalg.inv(A)
    e = b @ D
    x = ca.SX.sym("x", 2 * n + m)
    qn, pn, lambda_n = x[:n], x[n : 2 * n], x[2 * n :]
    v_n = problem.velocity(qn, pn, t)

    Z = [ca.SX.sym(f"Z{i}", n) for i in range(s)]
    L = [ca.SX.sym(f"L{i}", m) for i in range(s)]
    times = [t + c[i] * h for i in range(s)]
    Q = [qn + Z[i] for i in range(s)]
    qdot = [sum(D[i, j] * Z[j] for j in range(s)) / h for i in range(s)]
    p = [problem.momentum(Q[i], qdot[i]) for i in range(s)]
    gain = [h * (p[j] - pn) for j in range(s)]
    residual = []
    for i in range(s):
        inertia = sum(D[i, j] * gain[j] for j in range(s))
        balance = inertia - h**2 * problem.momentum_rate(Q[i], qdot[i], times[i])
        residual += [balance + problem.Phi_q(Q[i], times[i]).T @ L[i], problem.Phi(Q[i], times[i])]
    stage = Stage(
        unknowns=ca.vertcat(*Z, *L),
        guess=ca.vertcat(*(c[i] * h * v_n for i in range(s)), *([h**2 * lambda_n] * s)),
        residual=ca.vertcat(*residual),
        watched=s * n,
    )
    q1 = qn + sum(e[j] * Z[j] for j in range(s))
    p1 = pn + sum(e[j] * (p[j] - pn) for j in range(s))

    q_free, v_free = ca.SX.sym("q", n), ca.SX.sym("v", n)
    begin = ca.vertcat(q_free, problem.momentum(q_free, v_free), problem.acceleration(q_free, v_free, t)[1])
    return Scheme(
        name="gauss",
        options={"stages": s},
        order=s + s % 2,
        exact=frozenset(),
        begin=Formula(ca.vertcat(q_free, v_free), problem.given, (), begin),
        step=Formula(x, problem.given, (stage,), ca.vertcat(q1, p1, L[-1] / h**2)),
        read=ca.Function("read", [x, problem.p, t], [qn, v_n]),
    )


FAMILY = Family(
    name="gauss",
    make=gauss,
    order="s + 1 (s odd), s (s even)",
    preserves="position constraints at the inner nodes; spatial angular momentum of a rigid body; error grows "
    "exponentially on other mechanisms: short spans only",
    needs="holonomic constraints",
    source="Lu & Ren, displacement-form s-stage Gauss integrator, momentum form",
    options={"stages": Option(3, "number of nodes s", choices=(1, 2, 3, 4))},
)

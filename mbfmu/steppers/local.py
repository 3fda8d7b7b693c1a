"""local: the local equivalent index-1 equations, integrated by the implicit trapezoidal rule."""

from collections.abc import Callable

import casadi as ca

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Formula, Stage
from mbfmu.dae.kkt import SchurFactor
from mbfmu.steppers.nullspace import NULLSPACES
from mbfmu.steppers.scheme import SX, Family, Option, Problem, Scheme, holonomic_only


def local(dae: Dae, basis: str = "kkt") -> Scheme:
    """Wang, Zhao & Pan: fixed point on the differential part, Newton on the constraints.

    One pass, with everything at the last iterate (q, v), V a basis of ker P, P = Phi_q:

        [V^T M; P] a = [V^T F; gamma]
        [V^T M; P] d1 = [-V^T M (q - q_k - h/2 (v + v_k)); -Phi]
        [V^T M; P] d2 = [-V^T M (v - v_k - h/2 (a + a_k)); -(P v + Phi_t) - (P v + Phi_t)_q d1]

    V^T y = 0 says that y + P^T mu = 0 for some mu, so with ``basis=kkt`` the same iterates come from one
    factorisation of [M P^T; P 0] and no basis is computed. State x = [q; v].

    Args:
        dae: the equations.
        basis: how V enters: ``kkt`` (not at all), ``qr`` (Householder), ``gauss`` (elimination with pivoting).
    """
    holonomic_only("local", dae)
    problem = Problem(dae)
    n, t, h = problem.n, problem.t, problem.h
    x = ca.SX.sym("x", 2 * n)
    qk, vk = x[:n], x[n:]
    ak = problem.acceleration(qk, vk, t)[0]

    q, v = ca.SX.sym("q", n), ca.SX.sym("v", n)
    M, P, t1 = problem.M(q), problem.Phi_q(q, t + h), t + h
    solve = _projected_solver(M, P, basis)
    drift = P @ v + problem.Phi_t(q, t1)
    a = solve(problem.force(q, v, t1), problem.gamma(q, v, t1))
    d1 = solve(-M @ (q - qk - h / 2 * (v + vk)), -problem.Phi(q, t1))
    d2 = solve(-M @ (v - vk - h / 2 * (a + ak)), -drift - ca.jtimes(drift, q, d1))
    stage = Stage(ca.vertcat(q, v), x, correction=ca.vertcat(d1, d2))
    return Scheme(
        name="local",
        options={"basis": basis},
        order=2,
        exact=frozenset({"position", "velocity"}),
        begin=Formula(x, problem.given, (), x),
        step=Formula(x, problem.given, (stage,), ca.vertcat(q, v)),
        read=ca.Function("read", [x, problem.p, t], [qk, vk]),
    )


def _projected_solver(M: SX, P: SX, basis: str) -> Callable[[SX, SX], SX]:
    """Return (f, g) -> y with V^T M y = V^T f and P y = g."""
    if basis == "kkt" or not P.shape[0]:
        factor = SchurFactor(M, P)
        return lambda f, g: factor.solve(f, g)[0]
    V = NULLSPACES[basis](P)
    B = ca.densify(ca.vertcat(V.T @ M, P))
    Q, R = ca.qr(B)
    return lambda f, g: ca.solve(R, Q.T @ ca.vertcat(V.T @ f, g))


FAMILY = Family(
    name="local",
    make=local,
    order="2",
    preserves="position and velocity constraints at every step end",
    needs="holonomic constraints; forces not stiff against the step",
    source="Wang, Zhao & Pan, local equivalent index-1 equations, (4.4)-(4.6)",
    options={
        "basis": Option("kkt", "how the null space of Phi_q enters; same iterates", choices=("kkt", "qr", "gauss"))
    },
)

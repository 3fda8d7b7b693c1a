"""local: the local equivalent index-1 equations, integrated by the implicit trapezoidal rule."""

from collections.abc import Callable

import casadi as ca

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Formula, Stage
from mbfmu.dae.kkt import OverMass, SchurFactor
from mbfmu.steppers.nullspace import NULLSPACES
from mbfmu.steppers.scheme import SX, Family, Option, Problem, Scheme, holonomic_only

Solver = Callable[[SX, SX], SX]


def local(dae: Dae, basis: str = "kkt", iteration: str = "fixed_point", matrices: str = "current") -> Scheme:
    """Wang, Zhao & Pan: the differential part against a basis V of ker P, P = Phi_q, and the constraints themselves.

    The discrete solution at the step end, with a from the index-1 form and x_k the state before:

        V^T M (q - q_k - h/2 (v + v_k)) = 0,    Phi(q) = 0
        V^T M (v - v_k - h/2 (a + a_k)) = 0,    P v + Phi_t = 0

    State x = [q; v].

    Args:
        dae: the equations.
        basis: how V enters: ``kkt`` (V^T y = 0 says y + P^T mu = 0, so no basis is computed), ``qr`` (Householder),
            ``gauss`` (elimination with pivoting). The iterates are the same.
        iteration: ``fixed_point`` on the differential part and Newton on the constraints, as in the paper; or
            ``newton`` on all of it, for stiff forces (always without a basis). The limit is the same.
        matrices: V and M at the iterate (``current``) or at x_k (``frozen``): two solutions, both of order 2.
    """
    holonomic_only("local", dae)
    problem = Problem(dae)
    x = ca.SX.sym("x", 2 * problem.n)
    make = _newton_stage if iteration == "newton" else _fixed_point_stage
    stage, q, v = make(problem, x, basis, matrices == "frozen")
    return Scheme(
        name="local",
        options={"basis": basis, "iteration": iteration, "matrices": matrices},
        order=2,
        exact=frozenset({"position", "velocity"}),
        begin=Formula(x, problem.given, (), x),
        step=Formula(x, problem.given, (stage,), ca.vertcat(q, v)),
        read=ca.Function("read", [x, problem.p, problem.t], [x[: problem.n], x[problem.n :]]),
    )


def _fixed_point_stage(problem: Problem, x: SX, basis: str, frozen: bool) -> tuple[Stage, SX, SX]:
    """Return one pass of the paper's iteration (its steps 1-4), all at the last iterate (q, v):

    [V^T M; P] a = [V^T F; gamma]
    [V^T M; P] d1 = [-V^T M (q - q_k - h/2 (v + v_k)); -Phi]
    [V^T M; P] d2 = [-V^T M (v - v_k - h/2 (a + a_k)); -(P v + Phi_t) - (P v + Phi_t)_q d1]
    """  # noqa: D415 - the claim ends in its equations
    n, h, t1 = problem.n, problem.h, problem.t + problem.h
    qk, vk = x[:n], x[n:]
    ak = problem.acceleration(qk, vk, problem.t)[0]
    q, v = ca.SX.sym("q", n), ca.SX.sym("v", n)
    M, P = problem.M(q), problem.Phi_q(q, t1)
    solve = _symmetric_solver(problem.over_mass(q), M, P, basis)
    a = solve(problem.force(q, v, t1), problem.gamma(q, v, t1))
    if frozen:
        M = problem.M(qk)
        solve = _frozen_solver(problem.over_mass(qk), M, problem.Phi_q(qk, problem.t), P, basis)
    drift = P @ v + problem.Phi_t(q, t1)
    d1 = solve(-M @ (q - qk - h / 2 * (v + vk)), -problem.Phi(q, t1))
    d2 = solve(-M @ (v - vk - h / 2 * (a + ak)), -drift - ca.jtimes(drift, q, d1))
    return Stage(ca.vertcat(q, v), x, correction=ca.vertcat(d1, d2)), q, v


def _newton_stage(problem: Problem, x: SX, basis: str, frozen: bool) -> tuple[Stage, SX, SX]:
    """Return the same equations with multipliers, solved by Newton for (d, h v, h^2 a), d = q - q_k."""
    del basis
    n, m, h, t1 = problem.n, problem.m, problem.h, problem.t + problem.h
    qk, vk = x[:n], x[n:]
    ak = problem.acceleration(qk, vk, problem.t)[0]
    d, hv, ha = (ca.SX.sym(name, n) for name in ("d", "hv", "ha"))
    mu1, mu2, impulse = (ca.SX.sym(name, m) for name in ("mu1", "mu2", "impulse"))
    q, v = qk + d, hv / h
    M, P = problem.M(q), problem.Phi_q(q, t1)
    held = problem.M(qk), problem.Phi_q(qk, problem.t)
    M_V, P_V = held if frozen else (M, P)
    residual = ca.vertcat(
        M_V @ (d - (hv + h * vk) / 2) + P_V.T @ mu1,
        M_V @ (hv - h * vk - (ha + h**2 * ak) / 2) + P_V.T @ mu2,
        M @ ha + P.T @ impulse - h**2 * problem.force(q, v, t1),
        problem.Phi(q, t1),
        P @ hv + h * problem.Phi_t(q, t1),
        P @ ha - h**2 * problem.gamma(q, v, t1),
    )
    guess = ca.vertcat(h * vk, h * vk, h**2 * ak, ca.SX.zeros(3 * m))
    stage = Stage(ca.vertcat(d, hv, ha, mu1, mu2, impulse), guess, residual, watched=3 * n)
    return stage, q, v


def _symmetric_solver(over_mass: OverMass, M: SX, P: SX, basis: str) -> Solver:
    """Return (f, g) -> y with V^T M y = V^T f and P y = g, V a basis of ker P."""
    if basis == "kkt" or not P.shape[0]:
        factor = SchurFactor(over_mass, P)
        return lambda f, g: factor.solve(f, g)[0]
    return _based_solver(NULLSPACES[basis](P), M, P)


def _frozen_solver(over_mass: OverMass, M: SX, P_V: SX, P: SX, basis: str) -> Solver:
    """Return (f, g) -> y with V^T M y = V^T f and P y = g, V a basis of ker P_V: M y + P_V^T mu = f."""
    if basis != "kkt" and P.shape[0]:
        return _based_solver(NULLSPACES[basis](P_V), M, P)
    if not P.shape[0]:
        return lambda f, _: over_mass(f)
    MiPt = over_mass(P_V.T)
    Q, R = ca.qr(ca.densify(P @ MiPt))

    def solve(f: SX, g: SX) -> SX:
        y = over_mass(f)
        return y - MiPt @ ca.solve(R, Q.T @ (P @ y - g))

    return solve


def _based_solver(V: SX, M: SX, P: SX) -> Solver:
    Q, R = ca.qr(ca.densify(ca.vertcat(V.T @ M, P)))
    return lambda f, g: ca.solve(R, Q.T @ ca.vertcat(V.T @ f, g))


FAMILY = Family(
    name="local",
    make=local,
    order="2",
    preserves="position and velocity constraints at every step end",
    needs="holonomic constraints; with iteration=fixed_point forces not stiff against the step",
    source="Wang, Zhao & Pan, local equivalent index-1 equations, (4.4)-(4.6)",
    options={
        "basis": Option("kkt", "how the null space of Phi_q enters; same iterates", choices=("kkt", "qr", "gauss")),
        "iteration": Option("fixed_point", "newton for stiff forces", choices=("fixed_point", "newton")),
        "matrices": Option(
            "current", "null space at the iterate or at the step's start", choices=("current", "frozen")
        ),
    },
)

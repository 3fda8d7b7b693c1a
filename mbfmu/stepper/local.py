"""local: the local equivalent index-1 equations, integrated by the implicit trapezoidal rule."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import casadi as ca

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Formula, Stage
from mbfmu.dae.linear_algebra.kkt import OverMass, SchurFactor
from mbfmu.stepper.nullspace import NULLSPACES
from mbfmu.stepper.scheme import SX, Choice, Family, Problem, Scheme, holonomic_only, option

Solver = Callable[[SX, SX], SX]


def local(dae: Dae, basis: str = "kkt", iteration: str = "fixed_point", matrices: str = "current") -> Scheme:
    """Return the scheme of Wang, Zhao & Pan: differential equations in a basis V of ker P, P = Phi_q, and constraints.

    The discrete solution at the step end, with a from the index-1 form and x_k the state before, meets

        V^T M (q - q_k - h/2 (v + v_k)) = 0,    Phi(q) = 0
        V^T M (v - v_k - h/2 (a + a_k)) = 0,    P v + Phi_t = 0
        z - z_k - h/2 (z' + z'_k) = 0

    The unknowns of the last equation are (z - z_k) / nominal; stiff first-order states are not damped. State
    x = [q; v; z].

    Args:
        dae: the equations.
        basis: how V enters: ``kkt`` (V^T y = 0 means y + P^T mu = 0, so no basis is computed), ``qr`` (Householder),
            ``gauss`` (elimination with pivoting). The iterates are the same.
        iteration: ``fixed_point`` on the differential part and Newton on the constraints, as in the paper; or
            ``newton`` on all equations, for stiff forces (always without a basis). The limit is the same. Both solve
            for z, given q and v, by Newton's method.
        matrices: V and M at the iterate (``current``) or at x_k (``frozen``): two solutions, both of order 2.
    """
    holonomic_only("local", dae)
    problem = Problem(dae)
    x = ca.SX.sym("x", problem.n_y)
    make = _newton_stage if iteration == "newton" else _fixed_point_stage
    stage, y = make(problem, x, basis, matrices == "frozen")
    return Scheme(
        name="local",
        options={"basis": basis, "iteration": iteration, "matrices": matrices},
        order=2,
        exact=frozenset({"position", "velocity"}),
        begin=Formula(x, problem.given, (), x),
        step=Formula(x, problem.given, (stage,), y),
        read=ca.Function("read", [x, problem.p, problem.t], [*problem.split(x)]),
    )


def _fixed_point_stage(problem: Problem, x: SX, basis: str, frozen: bool) -> tuple[Stage, SX]:
    """Return one pass of the paper's iteration (steps 1 to 4), all at the last iterate (q, v, z), and [q; v; z]:

    [V^T M; P] a = [V^T F; gamma]
    [V^T M; P] d1 = [-V^T M (q - q_k - h/2 (v + v_k)); -Phi]
    [V^T M; P] d2 = [-V^T M (v - v_k - h/2 (a + a_k)); -(P v + Phi_t) - (P v + Phi_t)_q d1]
    (1 - h/2 z'_z) d3 = -(z - z_k - h/2 (z' + z'_k))
    """  # noqa: D415 - the claim ends in its equations
    n, h, t1 = problem.n, problem.h, problem.t + problem.h
    qk, vk, zk = problem.split(x)
    ak = problem.acceleration(qk, vk, zk, problem.t)[0]
    q, v = ca.SX.sym("q", n), ca.SX.sym("v", n)
    Zz, z, apart = _trapezoidal(problem, (qk, vk, zk), q, v)
    M, P = problem.M(q), problem.Phi_q(q, t1)
    solve = _symmetric_solver(problem.over_mass(q), M, P, basis)
    # accelerations of the index-1 form: [V^T M; P] a = [V^T F; gamma]
    a = solve(problem.force(q, v, z, t1), problem.gamma(q, v, t1))
    if frozen:
        M = problem.M(qk)
        solve = _frozen_solver(problem.over_mass(qk), M, problem.Phi_q(qk, problem.t), P, basis)
    # corrections d1 of q and d2 of v, whose constraint P v + Phi_t = 0 moves with d1; d3 of z by Newton's method
    drift = P @ v + problem.Phi_t(q, t1)
    d1 = solve(-M @ (q - qk - h / 2 * (v + vk)), -problem.Phi(q, t1))
    d2 = solve(-M @ (v - vk - h / 2 * (a + ak)), -drift - ca.jtimes(drift, q, d1))
    d3 = ca.solve(ca.jacobian(apart, Zz), -apart) if problem.n_z else apart
    guess = ca.vertcat(qk, vk, ca.SX.zeros(problem.n_z))
    return Stage(ca.vertcat(q, v, Zz), guess, correction=ca.vertcat(d1, d2, d3)), ca.vertcat(q, v, z)


def _trapezoidal(problem: Problem, start: tuple[SX, SX, SX], q: SX, v: SX) -> tuple[SX, SX, SX]:
    """Return unknowns (z - z_k) / nominal, z, and the residual of the trapezoidal rule in the same units."""
    h, (qk, vk, zk) = problem.h, start
    Zz = ca.SX.sym("Zz", problem.n_z)
    z = zk + problem.nominal * Zz
    rates = problem.scaled_flow(qk, vk, zk, problem.t) + problem.scaled_flow(q, v, z, problem.t + h)
    return Zz, z, Zz - h / 2 * rates


def _newton_stage(problem: Problem, x: SX, basis: str, frozen: bool) -> tuple[Stage, SX]:
    """Return the same equations with multipliers, solved by Newton for (d, h v, h^2 a), d = q - q_k."""
    del basis
    n, m, h, t1 = problem.n, problem.m, problem.h, problem.t + problem.h
    qk, vk, zk = problem.split(x)
    ak = problem.acceleration(qk, vk, zk, problem.t)[0]
    d, hv, ha = (ca.SX.sym(name, n) for name in ("d", "hv", "ha"))
    mu1, mu2, impulse = (ca.SX.sym(name, m) for name in ("mu1", "mu2", "impulse"))
    q, v = qk + d, hv / h
    Zz, z, apart = _trapezoidal(problem, (qk, vk, zk), q, v)
    M, P = problem.M(q), problem.Phi_q(q, t1)
    # trapezoidal rule in the basis V of ker P, by multipliers: V^T y = 0 means y + P^T mu = 0
    held = problem.M(qk), problem.Phi_q(qk, problem.t)
    M_V, P_V = held if frozen else (M, P)
    residual = ca.vertcat(
        M_V @ (d - (hv + h * vk) / 2) + P_V.T @ mu1,
        M_V @ (hv - h * vk - (ha + h**2 * ak) / 2) + P_V.T @ mu2,
        M @ ha + P.T @ impulse - h**2 * problem.force(q, v, z, t1),
        problem.Phi(q, t1),
        P @ hv + h * problem.Phi_t(q, t1),
        P @ ha - h**2 * problem.gamma(q, v, t1),
        apart,
    )
    guess = ca.vertcat(h * vk, h * vk, h**2 * ak, ca.SX.zeros(problem.n_z + 3 * m))
    stage = Stage(ca.vertcat(d, hv, ha, Zz, mu1, mu2, impulse), guess, residual, watched=3 * n + problem.n_z)
    return stage, ca.vertcat(q, v, z)


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


@dataclass(frozen=True)
class Local(Choice):
    """The stepper `local` with its options.

    Args:
        basis: `kkt` (default), `qr` or `gauss`; how the null space of Phi_q enters; same iterates.
        iteration: `fixed_point` (default) or `newton`; newton for stiff forces.
        matrices: `current` (default) or `frozen`; null space at the iterate or at the step's start.
    """

    name: ClassVar[str] = "local"
    basis: Literal["kkt", "qr", "gauss"] = option("kkt", "how the null space of Phi_q enters; same iterates")
    iteration: Literal["fixed_point", "newton"] = option("fixed_point", "newton for stiff forces")
    matrices: Literal["current", "frozen"] = option("current", "null space at the iterate or at the step's start")


FAMILY = Family(
    choice=Local,
    make=local,
    states=True,
    order="2",
    preserves="position and velocity constraints at every step end",
    needs="holonomic constraints; with iteration=fixed_point forces not stiff against the step",
    source="Wang, Zhao & Pan, local equivalent index-1 equations, (4.4)-(4.6)",
)

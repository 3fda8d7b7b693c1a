"""generalized_alpha: the structural-dynamics method of order 2 with adjustable numerical damping."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import casadi as ca
import numpy as np

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Formula, Stage
from mbfmu.dae.linear_algebra.merged import LONG, operations
from mbfmu.errors import StepperError
from mbfmu.stepper.coupled import coupled_formula
from mbfmu.stepper.decoupled import Collocated
from mbfmu.stepper.scheme import SHORT, SX, Choice, Family, Problem, Scheme, option


def generalized_alpha(dae: Dae, rho: float = 0.8, index: int = 2) -> Scheme:
    """Return generalized-alpha for constrained systems; rho is the spectral radius at infinite frequency.

    (Arnold & Bruls, Convergence of the generalized-alpha scheme for constrained mechanical systems, Multibody Syst.
    Dyn. 18, 2007; stabilised: Arnold, Cardona & Bruls, A Lie algebra approach to Lie group time integration of
    constrained systems, 2016, after Gear, Gupta & Leimkuhler.) With C = [Phi_q; G], c = [Phi_t; g]:

        q1 = q0 + h v0 + h^2 ((1/2 - beta) a0 + beta a1) - M0^-1 P0^T mu
        v1 = v0 + h ((1 - gamma) a0 + gamma a1)
        (1 - alpha_m) a1 + alpha_m a0 = (1 - alpha_f) w1 + alpha_f w0
        M(q1) w1 = force(q1, v1, z1, t1) - C(q1)^T lambda1,    Phi(q1) = 0,    G v1 + g = 0

    and ``index=2``: also Phi_q v1 + Phi_t = 0, with the additional multiplier mu; ``index=3``: mu = 0.
    alpha_m = (2 rho - 1)/(rho + 1), alpha_f = rho/(rho + 1), gamma = 1/2 + alpha_f - alpha_m, beta = (gamma + 1/2)^2/4.

    The auxiliary a is the acceleration at t + (alpha_m - alpha_f) h up to O(h^2), not at t. Its first value is taken
    there too, by the derivative of the accelerations along the motion, so that q and v have order 2 from the first
    step, and with ``index=2`` lambda too. With ``index=3`` the method's own velocities leave the constraints by O(h^2)
    and those of the start do not: lambda has an error O(h) that decays like rho^n; no output is made from it.

    First-order states are integrated by the method's form for them, with the same rho (Jansen, Whiting & Hulbert, A
    generalized-alpha method for integrating the filtered Navier-Stokes equations with a stabilized finite element
    method, Comput. Methods Appl. Mech. Eng. 190, 2000; with the rates weighted at the step ends as above: Bruls &
    Golinval, The generalized-alpha method in mechatronic applications, Z. Angew. Math. Mech. 86, 2006):

        z1 = z0 + h ((1 - gamma_z) b0 + gamma_z b1)
        (1 - delta_m) b1 + delta_m b0 = (1 - delta_f) z'(q1, v1, z1, t1) + delta_f z'(q0, v0, z0, t0)

    delta_m = (3 rho - 1)/(2 (rho + 1)), delta_f = rho/(rho + 1), gamma_z = 1/2 + delta_f - delta_m. An error of a stiff
    state is multiplied by -rho in a step; rho = 1 is the trapezoidal rule. The unknowns are (z1 - z0) / nominal. The
    auxiliary b starts as z', and the first a leaves the rates of z out: the derivative of z' times h would be far off
    where a stiff state has not settled. The errors of b and a, O(h), decay like rho^n, so that order 2 holds.

    Newton's method linearises long equations once a step, see `decoupled`, and short ones in each correction.

    The state holds (a - w) / h and (b - z') / h, which do not depend on h, so that the step may change. With
    ``index=3`` it should not change often: if steps h and h/3 alternate, the velocities off the constraints grow (their
    spectral radius over the two steps is 1.05 for rho = 0.8).
    State x = [q; v; z; w; (a - w) / h; (b - z') / h; lambda].

    Args:
        dae: the equations.
        rho: 0 (most damping) to 1 (no damping).
        index: 3 or 2.

    Raises:
        StepperError: rho = 1 with index = 3, for which velocities off the constraints grow without bound.
    """
    if rho == 1 and index == 3:
        raise StepperError("stepper 'generalized_alpha': rho=1 is unstable with index=3: take index=2, or rho < 1")
    problem = Problem(dae)
    n, m, k, t, h = problem.n, problem.m, problem.k, problem.t, problem.h
    alpha_m, alpha_f = (2 * rho - 1) / (rho + 1), rho / (rho + 1)
    gamma = 1 / 2 + alpha_f - alpha_m
    beta = (gamma + 1 / 2) ** 2 / 4
    n_y, n_z = problem.n_y, problem.n_z
    x = ca.SX.sym("x", n_y + 2 * n + n_z + m + k)
    y0, w0, slope, bend, lambda0 = ca.vertsplit(x, [0, n_y, n_y + n, n_y + 2 * n, n_y + 2 * n + n_z, x.numel()])
    q0, v0, z0 = problem.split(y0)
    a0, t1 = w0 + h * slope, t + h

    # what is known once a step: M0^-1 P0^T and z' at its start
    Zz = ca.SX.sym("Zz", n_z)
    L = ca.SX.sym("L", m + k)  # h^2 lambda1
    mu = ca.SX.sym("mu", m if index == 2 else 0)
    moved = problem.over_mass(q0)(problem.Phi_q(q0, t).T)[:, : mu.numel()]
    flow0 = problem.scaled_flow(q0, v0, z0, t)
    once = ca.vertcat(*moved.nonzeros(), ca.densify(flow0))
    symbols = ca.SX.sym("once", once.numel())
    decoupled = (index == 2 or not k) and dae.equations.resisting and operations(dae.equations.force) >= LONG
    off = moved
    if decoupled:
        off, flow0 = ca.SX(moved.sparsity(), symbols[: moved.nnz()]), symbols[moved.nnz() :]
    # Newmark's formulas: q1 and h v1 from a0 and h^2 a1, q1 moved by M0^-1 P0^T mu; the unknown is h^2 a1, or where
    # Newton's matrix is made once a step, what of q1 depends on it
    first = ca.SX.sym("first", n)
    s1 = (first + off @ mu) / beta if decoupled else first
    q1 = q0 + h * v0 + h**2 * (1 / 2 - beta) * a0 + (first if decoupled else beta * s1 - off @ mu)
    hv1 = h * v0 + h**2 * (1 - gamma) * a0 + gamma * s1
    z1 = z0 + problem.nominal * Zz
    # acceleration at the step end: (1 - alpha_m) a1 + alpha_m a0 = (1 - alpha_f) w1 + alpha_f w0
    w1 = ((1 - alpha_m) * s1 + h**2 * (alpha_m * a0 - alpha_f * w0)) / (1 - alpha_f)
    b0 = flow0 + h * bend / problem.nominal
    rows = n + m + mu.numel() + k

    def node(y: SX, at: SX) -> SX:
        q, hv, w, L, z = ca.vertsplit(y, [0, n, 2 * n, 3 * n, 3 * n + m + k, y.numel()])
        # M(q1) w1 = force - C^T lambda1, Phi(q1) = 0, and C v1 + c = 0, whose rows of Phi index 3 leaves out
        C = problem.C(q, at)
        balance = problem.times_mass(q)(w) - h**2 * problem.force(q, hv / h, z, at) + C.T @ L
        rates = C @ hv + h * problem.c(q, at)
        flow = h * problem.scaled_flow(q, hv / h, z, at)
        return ca.vertcat(balance, problem.Phi(q, at), rates[m - mu.numel() :, :], flow)

    def finish(N: Sequence[SX]) -> tuple[SX, SX]:
        equations, flow1 = ca.vertsplit(N[0], [0, rows, N[0].numel()])
        flow1 = flow1 / h
        # first-order states, by the same weights: b1 and the error of their mean rate
        b1, off_z = _first_order(rho, b0, flow0, flow1, Zz / h)
        bent = problem.nominal * (b1 - flow1) / h
        return (
            ca.vertcat(equations, h * off_z),
            ca.vertcat(q1, hv1 / h, z1, w1 / h**2, (s1 - w1) / h**3, bent, L / h**2),
        )

    # changes W of q1 and V = ratio (W + off mu) of h v1 change w1 by to_w ratio V, and h off_z by Wz - by_flow h z'
    ratio = gamma / beta
    to_w = (1 - alpha_m) / (1 - alpha_f) / gamma / ratio
    by_flow = float(-_first_order(rho, 0.0, 0.0, 1.0, 0.0)[1])

    def linearised(slopes: SX) -> tuple[SX, ...]:
        # columns q, v, w and z of the rows of the node; those of C^T L stand in C
        columns = ca.horzsplit(slopes, [0, n, 2 * n, 3 * n, 3 * n + m + k, slopes.shape[1]])
        ends = [0, n, n + m, rows, rows + n_z]
        (B0, P, _, F0), (B1, _, C, F1), (B2, *_), _, (Bz, _, _, Fz) = (ca.vertsplit(item, ends) for item in columns)
        F0, F1, Fz = (ratio * by_flow * item for item in (F0, F1, Fz @ ca.diag(problem.nominal)))
        return B2 * to_w, B1, B0, C if index == 2 else P, Bz @ ca.diag(problem.nominal), F1, F0, Fz

    point = ca.vertcat(q1, hv1, w1, L, z1)
    guess = ca.vertcat(h**2 * a0 * (beta if decoupled else 1), h * flow0, h**2 * lambda0, ca.SX.zeros(mu.numel()))
    unknowns = ca.vertcat(first, Zz, L, mu)
    if decoupled:
        start = ca.vertcat(q0, h * v0, h**2 * w0, h**2 * lambda0, z0)
        once_a_step = Collocated(
            np.array([[ratio]]), n, m, m + k, mu.numel() + k, start, ratio * off, once, symbols, linearised
        )
        step = coupled_formula(problem, x, unknowns, guess, n + n_z, [point], [t1], node, finish, once_a_step)
    else:
        residual, result = finish([node(point, t1)])
        step = Formula(x, problem.given, (Stage(unknowns, guess, residual, watched=n + n_z),), result)
    return Scheme(
        name="generalized_alpha",
        options={"rho": rho, "index": index},
        order=2,
        exact=frozenset({"position", "velocity"} if index == 2 else {"position"}),
        begin=_begin(problem, alpha_m - alpha_f),
        step=step,
        read=ca.Function("read", [x, problem.p, t], [q0, v0, z0]),
        short=SHORT if index == 2 else 1 / 64,
        replaced=index == 3,
    )


def _first_order(rho: float, b0: SX, flow0: SX, flow1: SX, rate: SX) -> tuple[SX, SX]:
    """Return b1, and the residual of the first-order states, 1/s, which is the error of their mean rate.

    Args:
        rho: spectral radius at infinite frequency.
        b0: auxiliary at the start of the step, 1/s, shape (n_z,).
        flow0: z' at the start of the step, 1/s, shape (n_z,).
        flow1: z' at its end, 1/s, shape (n_z,).
        rate: (z1 - z0) / h, 1/s, shape (n_z,).
    """
    delta_m, delta_f = (3 * rho - 1) / (2 * (rho + 1)), rho / (rho + 1)
    gamma = 1 / 2 + delta_f - delta_m
    b1 = (rate - (1 - gamma) * b0) / gamma
    weighted = ((1 - delta_f) * flow1 + delta_f * flow0 - delta_m * b0) / (1 - delta_m)
    return b1, rate - (1 - gamma) * b0 - gamma * weighted


def _begin(problem: Problem, ahead: float) -> Formula:
    """Return the formula [q; v; z] -> x; (a - w) / h starts as the derivative of the acceleration times `ahead`."""
    y, u, t = ca.SX.sym("y", problem.n_y), problem.given.u, problem.t
    q, v, z = problem.split(y)
    a, lambda_ = problem.acceleration(q, v, z, t)
    slope = ahead * ca.jtimes(a, ca.vertcat(q, v, u, t), ca.vertcat(v, a, problem.given.du, 1))
    return Formula(y, problem.given, (), ca.vertcat(y, a, slope, ca.SX.zeros(problem.n_z), lambda_))


@dataclass(frozen=True)
class GeneralizedAlpha(Choice):
    """The stepper `generalized_alpha` with its options.

    Args:
        rho: spectral radius at infinite frequency: 0 damps most, 1 not at all; default 0.8.
        index: `2` (default) or `3`; 2 adds the constraints on velocities to those on coordinates.
    """

    name: ClassVar[str] = "generalized_alpha"
    rho: float = option(0.8, "spectral radius at infinite frequency: 0 damps most, 1 not at all", range=(0.0, 1.0))
    index: Literal[2, 3] = option(2, "2 adds the constraints on velocities to those on coordinates")


FAMILY = Family(
    choice=GeneralizedAlpha,
    make=generalized_alpha,
    stiff=True,
    states=True,
    order="2",
    preserves="position constraints, and with index=2 velocity constraints, at every step end; damps high frequencies",
    needs="any model",
    source="Arnold & Bruls 2007; stabilised: Arnold, Cardona & Bruls 2016; states: Jansen, Whiting & Hulbert 2000",
)

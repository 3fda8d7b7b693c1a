"""generalized_alpha: the structural-dynamics method of order 2 with adjustable numerical damping."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import casadi as ca

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Formula, Stage
from mbfmu.errors import StepperError
from mbfmu.stepper.scheme import Choice, Family, Problem, Scheme, option


def generalized_alpha(dae: Dae, rho: float = 0.8, index: int = 2) -> Scheme:
    """Return generalized-alpha for constrained systems; rho is the spectral radius at infinite frequency.

    (Arnold & Bruls, Convergence of the generalized-alpha scheme for constrained mechanical systems, Multibody Syst.
    Dyn. 18, 2007; stabilised: Arnold, Cardona & Bruls, A Lie algebra approach to Lie group time integration of
    constrained systems, 2016, after Gear, Gupta & Leimkuhler.) With C = [Phi_q; G], c = [Phi_t; g]:

        q1 = q0 + h v0 + h^2 ((1/2 - beta) a0 + beta a1) - M0^-1 P0^T mu
        v1 = v0 + h ((1 - gamma) a0 + gamma a1)
        (1 - alpha_m) a1 + alpha_m a0 = (1 - alpha_f) w1 + alpha_f w0
        M(q1) w1 = force(q1, v1, z1, t1) - C(q1)^T lambda1,    Phi(q1) = 0,    G v1 + g = 0
        z1 = z0 + h/2 (z'(q0, v0, z0, t0) + z'(q1, v1, z1, t1))

    and ``index=2``: also Phi_q v1 + Phi_t = 0, with the additional multiplier mu; ``index=3``: mu = 0.
    alpha_m = (2 rho - 1)/(rho + 1), alpha_f = rho/(rho + 1), gamma = 1/2 + alpha_f - alpha_m, beta = (gamma + 1/2)^2/4.

    The auxiliary a is the acceleration at t + (alpha_m - alpha_f) h up to O(h^2), not at t. Its first value is taken
    there too, by the derivative of the accelerations along the motion, so that q and v have order 2 from the first
    step, and with ``index=2`` lambda too. With ``index=3`` the method's own velocities leave the constraints by O(h^2)
    and those of the start do not: lambda has an error O(h) that decays like rho^n; no output is made from it.

    First-order states are integrated by the trapezoidal rule for every rho: stiff ones are not damped. The unknowns are
    (z1 - z0) / nominal.

    The state holds (a - w) / h, which does not depend on h, so that the step may change. With ``index=3`` it should
    not change often: if steps h and h/3 alternate, the velocities off the constraints grow (their spectral radius over
    the two steps is 1.05 for rho = 0.8). State x = [q; v; z; w; (a - w) / h; lambda].

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
    n_y = problem.n_y
    x = ca.SX.sym("x", n_y + 2 * n + m + k)
    y0, w0, slope, lambda0 = ca.vertsplit(x, [0, n_y, n_y + n, n_y + 2 * n, x.numel()])
    q0, v0, z0 = problem.split(y0)
    a0, t1 = w0 + h * slope, t + h

    s1 = ca.SX.sym("s1", n)  # h^2 a1
    Zz = ca.SX.sym("Zz", problem.n_z)
    L = ca.SX.sym("L", m + k)  # h^2 lambda1
    mu = ca.SX.sym("mu", m if index == 2 else 0)
    off = problem.over_mass(q0)(problem.Phi_q(q0, t).T)
    q1 = q0 + h * v0 + h**2 * (1 / 2 - beta) * a0 + beta * s1 - off[:, : mu.numel()] @ mu
    hv1 = h * v0 + h**2 * (1 - gamma) * a0 + gamma * s1
    z1 = z0 + problem.nominal * Zz
    w1 = ((1 - alpha_m) * s1 + h**2 * (alpha_m * a0 - alpha_f * w0)) / (1 - alpha_f)
    C = problem.C(q1, t1)
    rates = C @ hv1 + h * problem.c(q1, t1)
    flow0 = problem.scaled_flow(q0, v0, z0, t)
    residual = ca.vertcat(
        problem.M(q1) @ w1 - h**2 * problem.force(q1, hv1 / h, z1, t1) + C.T @ L,
        problem.Phi(q1, t1),
        rates[m - mu.numel() :, :],
        Zz - h / 2 * (flow0 + problem.scaled_flow(q1, hv1 / h, z1, t1)),
    )
    stage = Stage(
        ca.vertcat(s1, Zz, L, mu),
        ca.vertcat(h**2 * a0, h * flow0, h**2 * lambda0, ca.SX.zeros(mu.numel())),
        residual,
        watched=n + problem.n_z,
    )
    return Scheme(
        name="generalized_alpha",
        options={"rho": rho, "index": index},
        order=2,
        exact=frozenset({"position", "velocity"} if index == 2 else {"position"}),
        begin=_begin(problem, alpha_m - alpha_f),
        step=Formula(
            x, problem.given, (stage,),
            ca.vertcat(q1, hv1 / h, z1, w1 / h**2, (s1 - w1) / h**3, L / h**2),
        ),
        read=ca.Function("read", [x, problem.p, t], [q0, v0, z0]),
    )  # fmt: skip


def _begin(problem: Problem, ahead: float) -> Formula:
    """Return the formula [q; v; z] -> x; (a - w) / h starts as the derivative of the acceleration times `ahead`."""
    y, u, t = ca.SX.sym("y", problem.n_y), problem.given.u, problem.t
    a, lambda_ = problem.acceleration(*problem.split(y), t)
    moving, rates = ca.vertcat(y, u, t), ca.vertcat(problem.rate(y, t), problem.given.du, 1)
    slope = ahead * ca.jtimes(a, moving, rates)
    return Formula(y, problem.given, (), ca.vertcat(y, a, slope, lambda_))


@dataclass(frozen=True)
class GeneralizedAlpha(Choice):
    """The stepper `generalized_alpha` with its options."""

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
    source="Arnold & Bruls 2007; stabilised: Arnold, Cardona & Bruls 2016",
)

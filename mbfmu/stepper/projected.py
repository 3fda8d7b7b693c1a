"""projected: explicit Runge-Kutta steps, each followed by a projection onto the constraints."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import casadi as ca

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Formula
from mbfmu.dae.kkt import SchurFactor
from mbfmu.dae.merged import merged
from mbfmu.stepper.explicit import DOPRI5, DOPRI8, RK4, kind_of
from mbfmu.stepper.scheme import Choice, Family, Problem, Scheme, Stage, option
from mbfmu.stepper.verner import VERNER9

TABLEAUS = {tableau.order: tableau for tableau in (RK4, DOPRI5, DOPRI8, VERNER9)}


def projected(dae: Dae, order: int = 4) -> Scheme:
    """Return the scheme of projected steps (Hairer, Lubich & Wanner, Geometric Numerical Integration, IV.4).

    With (q~, v~, z) from the Runge-Kutta method on the index-1 form, C = [Phi_q; G], c = [Phi_t; g], all at t_{n+1}:

        M (q - q~) + Phi_q^T mu = 0,    Phi(q) = 0        Gauss-Newton: M d + Phi_q^T mu = 0, Phi_q d = -Phi, q += d
        M (v - v~) + C^T nu = 0,        C v + c = 0       linear

    The corrections are as small as the local error, so the order is kept. M and Phi_q are those of the last iterate, at
    the step end. State x = [q; v; z].

    Args:
        dae: the equations.
        order: 4 (classical), 5, 8 (Dormand & Prince) or 9 (Verner).
    """
    tableau = TABLEAUS[order]
    kind = kind_of(dae, len(tableau.b))
    problem = Problem(dae, kind)
    n, p, t, h = problem.n, problem.p, problem.t, problem.h
    x, q, v, z = (kind.sym(*item) for item in (("x", problem.n_y), ("q", n), ("v", n), ("z", problem.n_z)))

    to_positions, to_velocities = projections(dae)
    stages: tuple[Stage, ...] = ()
    if dae.m:
        correction = ca.vertcat(to_positions(q, p, t + h), kind.zeros(n + problem.n_z))
        stages = (Stage(ca.vertcat(q, v, z), tableau.step(problem.rate, x, t, h), correction=correction, watched=n),)
    else:
        q, v, z = problem.split(tableau.step(problem.rate, x, t, h))
    if dae.m + dae.k:
        v = v + to_velocities(q, v, p, t + h)
    return Scheme(
        name="projected",
        options={"order": order},
        order=order,
        exact=frozenset({"position", "velocity"}),
        begin=Formula(x, problem.given, (), x),
        step=Formula(x, problem.given, stages, ca.vertcat(q, v, z), tableau.estimate(problem, problem.rate, x)),
        read=ca.Function("read", [x, p, t], [*problem.split(x)]),
        estimate_order=tableau.estimate_order,
    )


def projections(dae: Dae) -> tuple[Any, Any]:
    """Return the Functions (q, p, t) -> correction of q and (q, v, p, t) -> correction of v, each shape (n,)."""
    q, v = ca.SX.sym("q", dae.n), ca.SX.sym("v", dae.n)
    p, t = ca.SX.sym("p", dae.n_p), ca.SX.sym("t")
    solve, P, nothing = dae.over_mass(q, p), dae.Phi_q(q, p, t), ca.SX(dae.n, 1)
    C, c = ca.vertcat(P, dae.G(q, p, t)), ca.vertcat(dae.Phi_t(q, p, t), dae.g(q, p, t))
    dq, _ = SchurFactor(solve, P).solve(nothing, -dae.Phi(q, p, t))
    dv, _ = SchurFactor(solve, C).solve(nothing, -(C @ v + c))
    return (
        merged("to_positions", [q, p, t], [ca.densify(dq)]),
        merged("to_velocities", [q, v, p, t], [ca.densify(dv)]),
    )


@dataclass(frozen=True)
class Projected(Choice):
    """The stepper `projected` with its options."""

    name: ClassVar[str] = "projected"
    order: Literal[4, 5, 8, 9] = option(4, "of the Runge-Kutta method")


FAMILY = Family(
    choice=Projected,
    make=projected,
    explicit=True,
    states=True,
    order="4, 5, 8 or 9",
    preserves="position and velocity constraints at every step end",
    needs="any model",
    source="Hairer, Lubich & Wanner, Geometric Numerical Integration, IV.4; Dormand & Prince; Verner",
)

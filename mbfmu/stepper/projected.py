"""projected: explicit steps, each followed by a projection onto the constraints."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import casadi as ca

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Formula, Let
from mbfmu.dae.linear_algebra.kkt import SchurFactor
from mbfmu.dae.linear_algebra.merged import merged, operations
from mbfmu.stepper.bashforth import WEIGHTS, bashforth, limits_of, preceding_rates, same, substeps
from mbfmu.stepper.explicit import DOPRI5, DOPRI8, RK4, kind_of
from mbfmu.stepper.scheme import CALLED, Choice, Family, Problem, Scheme, Stage, option
from mbfmu.stepper.verner import VERNER9

TABLEAUS = {tableau.order: tableau for tableau in (RK4, DOPRI5, DOPRI8, VERNER9)}
EXACT = frozenset({"position", "velocity"})
SUBSTEPS = 12
"""Number of substeps d of a step h with order 7, each with one acceleration: fewer than `order=9` takes in all."""
LASTING = 1000
"""Number of steps after which a history is made again, at the cost of six steps."""


def projected(dae: Dae, order: int = 4) -> Scheme:
    """Return the scheme of projected steps (Hairer, Lubich & Wanner, Geometric Numerical Integration, IV.4).

    With (q~, v~, z) from the Runge-Kutta method on the index-1 form, C = [Phi_q; G], c = [Phi_t; g], all at t_{n+1}:

        M (q - q~) + Phi_q^T mu = 0,    Phi(q) = 0        Gauss-Newton: M d + Phi_q^T mu = 0, Phi_q d = -Phi, q += d
        M (v - v~) + C^T nu = 0,        C v + c = 0       linear

    The corrections are as small as the local error, so the order is kept. M and Phi_q are those of the last iterate, at
    the step end. State x = [q; v; z].

    Args:
        dae: the equations.
        order: 4 (classical), 5, 8 (Dormand & Prince) or 9 (Verner); 7: see `projected_bashforth`.
    """
    if order == len(WEIGHTS):
        return projected_bashforth(dae)
    tableau = TABLEAUS[order]
    kind = kind_of(dae, len(tableau.b))
    problem = Problem(dae, kind)
    n, p, t, h = problem.n, problem.p, problem.t, problem.h
    x, q, v, z = (kind.sym(*item) for item in (("x", problem.n_y), ("q", n), ("v", n), ("z", problem.n_z)))

    # Runge-Kutta step q~, v~, z, then M (q - q~) + Phi_q^T mu = 0, Phi(q) = 0 by Gauss-Newton
    to_positions, to_velocities = projections(dae)
    stages: tuple[Stage, ...] = ()
    if dae.m:
        correction = ca.vertcat(to_positions(q, p, t + h), kind.zeros(n + problem.n_z))
        stages = (Stage(ca.vertcat(q, v, z), tableau.step(problem.rate, x, t, h), correction=correction, watched=n),)
    else:
        q, v, z = problem.split(tableau.step(problem.rate, x, t, h))
    # M (v - v~) + C^T nu = 0, C v + c = 0: linear
    if dae.m + dae.k:
        v = v + to_velocities(q, v, p, t + h)
    return Scheme(
        name="projected",
        options={"order": order},
        order=order,
        exact=EXACT,
        begin=Formula(x, problem.given, (), x),
        step=Formula(x, problem.given, stages, ca.vertcat(q, v, z), tableau.estimate(problem, problem.rate, x)),
        read=ca.Function("read", [x, p, t], [*problem.split(x)]),
        estimate_order=tableau.estimate_order,
        limits=tableau.limits,
    )


def projected_bashforth(dae: Dae) -> Scheme:
    """Return the scheme of projected steps in twelve substeps of Adams-Bashforth (see `bashforth`), order 7.

    Each step continues from its own end y^ of the step before, and what is read is y^ projected: rates along a path
    that is projected jump, which costs two digits (measured). y^ drifts off the constraints meanwhile, so that after
    LASTING steps, and whenever the step changes, the history begins again where y^ was projected.

    State x = [q; v; z; y^; the rates at t - d, ... t - 6 d; the step h they were made with; the number of steps since].

    Args:
        dae: the equations.
    """
    options = {"order": len(WEIGHTS)}
    if not dae.m + dae.k:  # there is nothing to project
        return replace(bashforth("projected", options, dae, SUBSTEPS), exact=EXACT)
    problem = Problem(dae, ca.MX)
    n, n_y, p, t, h, given = problem.n, problem.n_y, problem.p, problem.t, problem.h, problem.given
    before, at = preceding_rates(dae, SUBSTEPS), (given.u, given.du, p, t, h)
    n_past = n_y * (len(WEIGHTS) - 1)
    first, x = ca.MX.sym("y", n_y), ca.MX.sym("x", 2 * n_y + n_past + 2)
    y, free, past, h_past, age = ca.vertsplit(x, [0, n_y, 2 * n_y, 2 * n_y + n_past, x.numel() - 1, x.numel()])
    # go on from y^ and its history, or begin a new one where y^ was projected
    goes_on = ca.logic_and(same(h, h_past), age < LASTING)
    past = ca.if_else(goes_on, past, before(y, *at), True)  # short-circuited: the other branch is not evaluated
    end = substeps(dae, SUBSTEPS)(ca.if_else(goes_on, free, y), past, *at)
    q, free, past = ca.MX.sym("q", n), ca.MX.sym("free", n_y), ca.MX.sym("past", n_past)
    stages: list[Let | Stage] = [Let(ca.vertcat(free, past), ca.vertcat(*end))]
    # project the end of the substeps: Phi(q) = 0, then C v + c = 0
    start, v, z = problem.split(free)
    to_positions, to_velocities = projections(dae)
    if dae.m:
        stages.append(Stage(q, start, correction=to_positions(q, p, t + h)))
    else:
        q = start
    v = v + to_velocities(q, v, p, t + h)
    return Scheme(
        name="projected",
        options=options,
        order=len(WEIGHTS),
        exact=EXACT,
        begin=Formula(first, given, (), ca.vertcat(first, first, before(first, *at), h, 0)),
        step=Formula(x, given, tuple(stages), ca.vertcat(q, v, z, free, past, h, ca.if_else(goes_on, age + 1, 1))),
        read=ca.Function("read", [x, p, t], [*problem.split(y)]),
        multistep=True,
        limits=limits_of(SUBSTEPS),
    )


def projections(dae: Dae) -> tuple[Any, Any]:
    """Return the Functions (q, p, t) -> correction of q and (q, v, p, t) -> correction of v, each shape (n,).

    Without constraints on velocities alone both solve for the same rows: long ones call one Function that does.
    """
    n, sizes = dae.n, {"q": dae.n, "v": dae.n, "p": dae.n_p, "t": 1}
    q, v, p, t = (ca.SX.sym(*item) for item in sizes.items())
    solve, C, nothing = dae.over_mass(q, p), dae.constraints.C(q, p, t), ca.SX(n, 1)
    Phi, c = dae.constraints.Phi(q, p, t), dae.constraints.c(q, p, t)
    # M y + C^T mu = 0, C y = -(C v + g)
    factor, g = SchurFactor(solve, C), ca.SX.sym("g", C.shape[0])
    onto = merged("onto_rows", [q, v, p, t, g], [ca.densify(factor.solve(nothing, -(C @ v + g))[0])])
    if not dae.k and operations(onto) > CALLED:
        missed, drift = merged("missed", [q, p, t], [ca.densify(Phi)]), merged("drift", [q, p, t], [ca.densify(c)])
        x, w, parameters, at = (ca.MX.sym(*item) for item in sizes.items())
        to_positions = onto(x, ca.MX(n, 1), parameters, at, missed(x, parameters, at))
        to_velocities = onto(x, w, parameters, at, drift(x, parameters, at))
        return (
            ca.Function("to_positions", [x, parameters, at], [to_positions]),
            ca.Function("to_velocities", [x, w, parameters, at], [to_velocities]),
        )
    dq, _ = SchurFactor(solve, dae.constraints.Phi_q(q, p, t)).solve(nothing, -Phi)
    dv, _ = factor.solve(nothing, -(C @ v + c))
    return (
        merged("to_positions", [q, p, t], [ca.densify(dq)]),
        merged("to_velocities", [q, v, p, t], [ca.densify(dv)]),
    )


@dataclass(frozen=True)
class Projected(Choice):
    """The stepper `projected` with its options.

    Args:
        order: `4` (default), `5`, `7`, `8` or `9`; of the Runge-Kutta method; 7: Adams-Bashforth.
    """

    name: ClassVar[str] = "projected"
    order: Literal[4, 5, 7, 8, 9] = option(4, "of the Runge-Kutta method; 7: Adams-Bashforth")


FAMILY = Family(
    choice=Projected,
    make=projected,
    states=True,
    order="4, 5, 7, 8 or 9",
    preserves="position and velocity constraints at every step end",
    needs="any model; order 7: smooth inputs",
    source="Hairer, Lubich & Wanner, Geometric Numerical Integration, IV.4; Dormand & Prince; Verner; order 7: Hairer, "
    "Norsett & Wanner, III.1",
)

"""Adams-Bashforth of order 7 in substeps of a step, restarted whenever the step changes.

`direct method=ab7` takes six of them, `projected order=7` twelve between two projections.
"""

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Formula
from mbfmu.dae.linear_algebra.merged import merged
from mbfmu.stepper.explicit import DOPRI8, combination, kind_of
from mbfmu.stepper.scheme import SX, Limits, Problem, Scheme

WEIGHTS = np.array([198721, -447288, 705549, -688256, 407139, -134472, 19087]) / 60480
"""Weights of the rates at t, t - d, ... t - 6 d (Hairer, Norsett & Wanner, III.1)."""
LIMITS = Limits(vibration=0.0581, decay=0.04653)
"""Limits of a substep."""
SAME = 1e-9
"""Relative difference up to which two steps are the same: the steps that a master computes from its clock are rounded.
"""


def bashforth(name: str, options: Mapping[str, Any], dae: Dae, count: int) -> Scheme:
    """Return the scheme of substeps d = h / count on the index-1 form.

    With y = [q; v; z], its rates f = [v; a; z'] and the weights w, `count` times over

        y_{i+1} = y_i + d (w_0 f_i + w_1 f_{i-1} + ... + w_6 f_{i-6})

    State x = [q; v; z], the rates at t - d, ... t - 6 d, and the step h they were made with. `begin` makes these rates
    by Runge-Kutta steps of order 8 backwards in time. A step that differs from the one before makes them again, which
    costs 78 accelerations but keeps the order: a history of seven rates does not stay bounded if it is interpolated
    again and again.

    Args:
        name: name of the family.
        options: options of the family.
        dae: the equations.
        count: number of substeps of a step.
    """
    problem = Problem(dae, ca.MX)
    n_y, p, t, h, given = problem.n_y, problem.p, problem.t, problem.h, problem.given
    before, at = preceding_rates(dae, count), (given.u, given.du, p, t, h)
    first, x = ca.MX.sym("y", n_y), ca.MX.sym("x", n_y * len(WEIGHTS) + 1)
    y, past, h_past = ca.vertsplit(x, [0, n_y, n_y * len(WEIGHTS), x.numel()])
    past = ca.if_else(same(h, h_past), past, before(y, *at), True)  # short-circuited: the other branch is not evaluated
    return Scheme(
        name=name,
        options=options,
        order=len(WEIGHTS),
        exact=frozenset(),
        begin=Formula(first, given, (), ca.vertcat(first, before(first, *at), h)),
        step=Formula(x, given, (), ca.vertcat(*substeps(dae, count)(y, past, *at), h)),
        read=ca.Function("read", [x, p, t], [*problem.split(x)]),
        multistep=True,
        limits=limits_of(count),
    )


def limits_of(count: int) -> Limits:
    """Return the limits of a step of so many substeps."""
    return Limits(*(count * limit for limit in LIMITS))


def same(h: SX, h_past: SX) -> SX:
    """Return whether a step is as long as the one before, but for the rounding of a master's clock."""
    return ca.fabs(h - h_past) <= SAME * ca.fabs(h)


def substeps(dae: Dae, count: int) -> Any:
    """Return the Function (y, past, u, du, p, t, h) -> (y, past) at t + h; past: the rates at t - d, ... t - 6 d.

    Args:
        dae: the equations.
        count: number of substeps d of a step h.
    """
    kind = kind_of(dae, count)
    problem = Problem(dae, kind)
    given, t, d = problem.given, problem.t, problem.h / count
    start, past = kind.sym("y", problem.n_y), kind.sym("past", problem.n_y * (len(WEIGHTS) - 1))
    y, rates = start, ca.vertsplit(past, [k * problem.n_y for k in range(len(WEIGHTS))])
    for i in range(count):
        rates = [problem.rate(y, t + i * d), *rates[: len(WEIGHTS) - 1]]
        y = y + d * combination(WEIGHTS, rates)
    inputs = [start, past, given.u, given.du, given.p, t, given.h]
    return merged("substeps", inputs, [y, ca.vertcat(*rates[:-1])])


def preceding_rates(dae: Dae, count: int) -> Any:
    """Return the Function (y, u, du, p, t, h) -> the rates at t - d, ... t - 6 d on the solution through y at t.

    Args:
        dae: the equations.
        count: number of substeps d of a step h.
    """
    kind = kind_of(dae, len(DOPRI8.b))
    problem = Problem(dae, kind)
    given, t, d = problem.given, problem.t, problem.h / count
    start = kind.sym("y", problem.n_y)
    earlier = DOPRI8.step(problem.rate, start, t, -d)
    inputs = [start, given.u, given.du, given.p, t, given.h]
    back = merged("back", inputs, [earlier, problem.rate(earlier, t - d)])
    arguments = [ca.MX.sym(f"i{k}", item.numel()) for k, item in enumerate(inputs)]
    y, u, du, p, t, h = arguments
    rates = []
    for _ in WEIGHTS[1:]:
        y, f = back(y, u, du, p, t, h)
        rates.append(f)
        t, u = t - h / count, u - du * (h / count)
    return ca.Function("preceding_rates", arguments, [ca.vertcat(*rates)])

"""Explicit formulas that several families share: Runge-Kutta tableaus, and Adams with a history in the state."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add, mul
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Formula
from mbfmu.dae.linear_algebra.merged import operations
from mbfmu.stepper.dormand_prince import ERRORS_8, NODES_5, NODES_8, ROWS_5, ROWS_8, WEIGHTS_5, WEIGHTS_8
from mbfmu.stepper.scheme import SX, UNEVEN, UNLIMITED, Limits, Problem, Scheme

Array = npt.NDArray[np.float64]
Rate = Callable[[SX, SX], SX]
"""Function (x, t) -> the time derivative of x."""
TINY = 1e-300
"""Squared error that counts as zero."""
INLINED = 3000
"""Largest number of operations, in all accelerations of a step, to be written out: for more, calls are faster and
shorter."""


@dataclass(frozen=True)
class Tableau:
    """An explicit Runge-Kutta method (Hairer, Norsett & Wanner, Solving Ordinary Differential Equations I, II.1).

    Args:
        A: shape (s, s), strictly lower triangular.
        b: weights, shape (s,).
        c: nodes, shape (s,).
        order: order of the step.
        errors: weights whose combinations of the rates, and of the rate at the step's end, estimate the error of a step
            per unit of time, each of shape (s + 1,); none: the method has no estimate. Of two, the second corrects the
            first (Hairer, Norsett & Wanner, II.10).
        estimate_order: of the estimate.
        limits: the steps up to which no error grows.
    """

    A: Array
    b: Array
    c: Array
    order: int
    errors: tuple[Array, ...] = ()
    estimate_order: int = 0
    limits: Limits = UNLIMITED

    def step(self, rate: Rate, x: SX, t: SX, h: SX) -> SX:
        """Return x at t + h, shape (n_x,), from x at t."""
        return x + combination(self.b, self._rates(rate, x, t, h), h)

    def estimate(self, problem: Problem, rate: Rate, x: SX) -> SX | None:
        """Return the estimated error of the step from x, as a number relative to 1 and the size of x; None without one.

        With the two estimates of Dormand & Prince's method of order 8, e5 and e3: h e5^2 / sqrt(e5^2 + e3^2 / 100).
        """
        if not self.errors:
            return None
        t, h = problem.t, problem.h
        k = self._rates(rate, x, t, h)
        end = x + combination(self.b, k, h)
        k.append(rate(end, t + h))
        first, *others = (problem.relative(combination(weights, k), end) for weights in self.errors)
        for other in others:
            first = first**2 / ca.sqrt(first**2 + other**2 / 100 + TINY)
        return h * first

    def _rates(self, rate: Rate, x: SX, t: SX, h: SX) -> list[SX]:
        k: list[SX] = []
        for row, c in zip(self.A, self.c, strict=True):
            k.append(rate(x + combination(row, k, h) if k else x, t + float(c) * h))
        return k


def lower_triangle(rows: Sequence[Sequence[float]]) -> Array:
    """Return a square matrix of rows that are given up to their last entry which is not zero."""
    return np.array([[*row, *[0.0] * (len(rows) - len(row))] for row in rows])


RK4 = Tableau(
    A=np.array([[0, 0, 0, 0], [1 / 2, 0, 0, 0], [0, 1 / 2, 0, 0], [0, 0, 1, 0]]),
    b=np.array([1, 2, 2, 1]) / 6,
    c=np.array([0, 1 / 2, 1 / 2, 1]),
    order=4,
    limits=Limits(vibration=2.829, decay=2.786),
)
"""The classical method, of order 4."""
DOPRI5 = Tableau(lower_triangle(ROWS_5), np.array(WEIGHTS_5), np.array(NODES_5), order=5, limits=Limits(1.335, 3.307))
"""The method of Dormand & Prince, solution of order 5 (Hairer, Norsett & Wanner, II.5).

Its estimate, of order 4, is left out: against an error per unit of time it asks for more and shorter steps than two
half steps do, and twice the time at a tolerance of 1e-10.
"""
DOPRI8 = Tableau(
    lower_triangle(ROWS_8),
    np.array(WEIGHTS_8),
    np.array(NODES_8),
    order=8,
    errors=tuple(np.array(weights) for weights in ERRORS_8),
    estimate_order=7,
    limits=Limits(5.96, 6.394),
)
"""The method of Dormand & Prince, order 8, with its two estimates (Hairer, Norsett & Wanner, II.5 and II.10)."""

PREDICTOR = np.array([55, -59, 37, -9]) / 24
"""Adams-Bashforth, order 4: weights of the rates at t, t - h, t - 2 h, t - 3 h (Hairer, Norsett & Wanner, III.1)."""
CORRECTOR = np.array([9, 19, -5, 1]) / 24
"""Adams-Moulton, order 4: weights of the rates at t + h, t, t - h, t - 2 h."""
MODIFIER = -19 / 270
"""Factor of corrected minus predicted in the modifier (from the error constants in Hairer, Norsett & Wanner, III.1 and
III.2)."""
ADAMS_LIMITS = Limits(0.5195, 1.413)
"""Limits of a step of predictor, corrector and modifier."""

ONE_STEP = {"rk4": RK4, "dopri5": DOPRI5}
METHOD_TEXT = "the explicit method"
"""Text on the option of the families that `explicit_scheme` makes."""


def combination(weights: Iterable[float], vectors: Sequence[SX], h: SX | float = 1.0) -> SX:
    """Return h times the weighted sum of vectors, without the terms of weight zero.

    The weights are multiplied by h, so that the last vector, for which all waits, is multiplied only once.
    """
    return reduce(add, [(float(w) * h) * vector for w, vector in zip(weights, vectors, strict=False) if w])


def resampled(values: Sequence[SX], ratio: SX) -> list[SX]:
    """Return a history at the spacing of another step: at -ratio, -2 ratio ..., from values at 0, -1, -2 ...

    The polynomial through all values is evaluated (Lagrange); with ratio 1 the values come back bit by bit.
    """
    nodes = range(len(values))

    def weight(k: int, at: SX) -> SX:
        return reduce(mul, [(at + j) / (j - k) for j in nodes if j != k])

    return [reduce(add, [weight(k, -j * ratio) * values[k] for k in nodes]) for j in nodes[1:]]


def adams_step(rate: Rate, x: SX, past: Sequence[SX], h_past: SX, t: SX, h: SX) -> tuple[SX, list[SX]]:
    """Return a step of the Adams-Bashforth-Moulton method of order 4, with its new history.

    The method predicts, evaluates, corrects, modifies and evaluates; the last evaluation begins the next step. With
    C - P = (251 + 19)/720 h^5 x^(5) the modifier -19/270 (C - P) removes the leading error, so that steps of equal
    length have order 5. A changed step interpolates the history by the polynomial through its 4 rates (Gear & Tu,
    SIAM J. Numer. Anal. 11, 1974): order 4, stable unless many steps in a row are more than 1.5 times the one before.

    Args:
        rate: function (x, t) -> x'.
        x: shape (n_x,), at t.
        past: rates at t - h_past, t - 2 h_past, t - 3 h_past.
        h_past: the step these rates were made with, s.
        t: time, s.
        h: step, s.

    Returns:
        x at t + h, and its history: the rates at t, t - h, t - 2 h.
    """
    now = rate(x, t)
    past = resampled([now, *past], h / h_past)
    predicted = x + h * combination(PREDICTOR, [now, *past])
    corrected = x + h * combination(CORRECTOR, [rate(predicted, t + h), now, *past])
    return corrected + MODIFIER * (corrected - predicted), [now, *past[:2]]


def kind_of(dae: Dae, evaluations: int) -> Any:
    """Return the kind of symbols for the fastest step with a number of accelerations; `casadi.SX` writes them out."""
    of_each = operations(dae.acceleration) + operations(dae.equations.flow)
    return ca.SX if evaluations * of_each <= INLINED else ca.MX


def explicit_scheme(
    name: str,
    options: Mapping[str, Any],
    dae: Dae,
    method: str,
    acceleration_of: Callable[[Problem], Callable[[SX, SX, SX, SX], SX]],
) -> Scheme:
    """Return the scheme that integrates y' = [v; a(q, v, z, t); z'] with no further treatment of the constraints.

    State x = y = [q; v; z]; for ``abm4`` it also has the rates y' at the last three times and the step they were made
    with. `begin` makes these rates by three steps of the classical Runge-Kutta method backwards in time.

    Args:
        name: name of the family.
        options: options of the family.
        dae: the equations.
        method: rk4, abm4 or dopri5.
        acceleration_of: function that returns the function (q, v, z, t) -> a of a problem.
    """
    one_step = ONE_STEP.get(method)
    kind = kind_of(dae, len(one_step.b) if one_step else len(RK4.b))  # Adams has two, but thirteen to begin
    problem = Problem(dae, kind)
    accelerate = acceleration_of(problem)
    n_y, t, h = problem.n_y, problem.t, problem.h
    first = kind.sym("y", n_y)

    def rate(y: SX, t: SX) -> SX:
        q, v, z = problem.split(y)
        return ca.vertcat(v, accelerate(q, v, z, t), problem.flow(q, v, z, t))

    estimate = None
    if one_step:
        x, begin, step = first, first, one_step.step(rate, first, t, h)
        estimate = one_step.estimate(problem, rate, first)
    else:
        x = kind.sym("x", 4 * n_y + 1)
        y, *past = ca.vertsplit(ca.reshape(x[:-1], 4 * n_y, 1), [k * n_y for k in range(5)])
        # predictor and corrector of order 4 with their modifier, on the rates at the last three times
        y1, history = adams_step(rate, y, past, x[-1], t, h)
        step = ca.vertcat(y1, *history, h)
        # first history: three Runge-Kutta steps backwards
        before = [first]
        for j in range(3):
            before.append(RK4.step(rate, before[-1], t - j * h, -h))
        rates = [rate(y, t - j * h) for j, y in enumerate(before[1:], 1)]
        begin = ca.vertcat(first, *rates, h)
    return Scheme(
        name=name,
        options=options,
        order=one_step.order if one_step else 5,
        exact=frozenset(),
        begin=Formula(first, problem.given, (), begin),
        step=Formula(x, problem.given, (), step, estimate),
        read=ca.Function("read", [x, problem.p, t], [*problem.split(x)]),
        estimate_order=one_step.estimate_order if one_step else 0,
        multistep=one_step is None,
        short=0.0 if one_step else UNEVEN,
        limits=one_step.limits if one_step else ADAMS_LIMITS,
    )

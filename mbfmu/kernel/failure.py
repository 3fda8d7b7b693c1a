"""Messages on steps that failed: when, how badly, which variable has left its usual range, and what to do.

FMUs say the same in C (`suspects.h` and `not_done` in `core.c`).
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from mbfmu.kernel.limits import LIMIT_SHARE, MAX_HALVINGS, MOST_EVENTS, MOST_STEPS
from mbfmu.kernel.runtime import (
    CODES,
    INCONSISTENT_START,
    MANY_EVENTS,
    NO_PERIOD,
    NOT_ACCURATE,
    NOT_CONVERGED,
    NOT_FINITE,
    OK,
    OUTPUTS_NOT_FINITE,
    STARTS_INSIDE,
    UNFINISHED,
    Status,
    Vector,
    move,
    vector,
)

FAR = 1e4
"""Ratio of a value to its usual size from which it is out of its plausible range."""
NEAR = 1e-3
"""Ratio of a gap to its usual size below which bodies may be about to hit."""
TRIES = 8
"""Number of times that a step is made again up to where it failed, each time less far if that fails too."""
SUSPICIOUS = (NOT_CONVERGED, NOT_FINITE, NOT_ACCURATE, OUTPUTS_NOT_FINITE)
"""Outcomes of a step that a value out of its plausible range may have caused."""
UNSOLVED = (NOT_CONVERGED, NOT_FINITE)
"""Those of equations without a solution."""
REMEDIES = {
    "NOT_CONVERGED": "take a smaller solver.step or smoother inputs",
    "NOT_FINITE": "check inputs and parameters, or take a smaller solver.step",
    "NOT_ACCURATE": "take a larger one",
    "OUTPUTS_NOT_FINITE": "take a smaller solver.step",
    "TOO_LONG": "or a stepper without that limit, such as 'generalized_alpha'",
}
"""Advice for any stepper, by the outcome of a step; and against a step that is longer than the stepper's limit."""


def too_long(step: float, longest: float, limit: float, subject: str) -> str:
    """Return a sentence on a step at which errors grow.

    Args:
        step: its length, s.
        longest: the longest step at which they do not, of which a share is left, s.
        limit: product of a step and a rate, rad, from which on errors of the stepper grow.
        subject: what the user can set.
    """
    rate = limit * LIMIT_SHARE / longest
    return (
        f"steps of {step:.3g} s let errors grow from one to the next, as something vibrates or settles at a rate of "
        f"about {rate:.4g} rad/s: take {subject} of at most {longest:.3g} s, {REMEDIES['TOO_LONG']}"
    )


class Quantity(NamedTuple):
    """An input or a state, by which a failed step is judged.

    Args:
        name: full dotted name.
        unit: SI unit.
        usual: usual size, in this unit, > 0.
        place: place among the inputs, or among the outputs.
        rate: place of its time derivative among the outputs; -1: there is none.
        rate_unit: SI unit of the time derivative.
    """

    name: str
    unit: str
    usual: float
    place: int
    rate: int = -1
    rate_unit: str = ""

    def shown(self, value: float) -> str:
        """Return name, value and unit."""
        return f"{self.name} = {_with_unit(value, self.unit)}"


class Bound(NamedTuple):
    """The bounds of a calculated parameter.

    Args:
        name: full dotted name.
        unit: SI unit.
        place: place among the outputs.
        min, max: least and greatest value, in this unit.
    """

    name: str
    unit: str
    place: int
    min: float
    max: float

    def broken(self, y: Sequence[float]) -> str:
        """Return a message if the value among the outputs is out of bounds, else an empty text."""
        value = y[self.place]
        if self.min <= value <= self.max:
            return ""
        bounds = f"{self.min:g} to {_with_unit(self.max, self.unit)}"
        return (
            f"{self.name} = {_with_unit(value, self.unit)} is outside its bounds {bounds}; change the parameters it "
            "depends on"
        )


def first_broken(bounds: Iterable[Bound], y: Sequence[float]) -> str:
    """Return the message on the first of some bounds that a value among the outputs breaks, else an empty text."""
    return next(filter(None, (bound.broken(y) for bound in bounds)), "")


def _no_cause(_x: Any, _p: Any, _t: float) -> str:
    return ""


class Facts(NamedTuple):
    """The facts of a model that messages on its steps need.

    Args:
        model: its name.
        guards: what each guard of gaps and frictions belongs to, in words.
        inputs: the real inputs.
        states: coordinates, rates and first-order states that are outputs.
        forces: normal forces of gaps, among the outputs.
        gaps: these gaps.
        remedies: advice, by the outcome of a step.
        cause: function (x, p, t) -> why no step leads on from a state, with what to do; empty: that is not known.
    """

    model: str
    guards: Sequence[str] = ()
    inputs: Sequence[Quantity] = ()
    states: Sequence[Quantity] = ()
    forces: Sequence[Quantity] = ()
    gaps: Sequence[Quantity] = ()
    remedies: Mapping[str, str] = REMEDIES
    cause: Callable[[Any, Any, float], str] = _no_cause

    def explained(
        self, kernel: Any, status: Status, x: Vector, u: Vector, du: Vector, p: Vector, t: float, step: float,
        tolerance: float,
    ) -> str:  # fmt: skip
        """Return the message on a step that failed, with the variable to suspect.

        Args:
            kernel: the kernel, which makes the step again up to where it failed.
            status: how it failed.
            x: state at its beginning.
            u: inputs there.
            du: their time derivatives.
            p: parameters.
            t: time of its beginning, s.
            step: longest step of the stepper, s.
            tolerance: error that a second of motion may add; 0: steps of equal length.
        """
        if status.code not in SUSPICIOUS:
            return self.message(status)
        begin, span = t, status.time - t
        for _ in range(TRIES):
            if not span > 0:
                break
            x1, moved = move(kernel, x, u, du, p, begin, span, step, tolerance)
            if moved.code == OK:
                x, t = x1, begin + span
                break
            span = moved.time - begin if moved.time - begin < span else span / 2
        if status.code in UNSOLVED and (cause := self.cause(x, p, t)):
            return f"{self.model}: no step from t = {status.time:.9g} s: {cause}"
        y = kernel.outputs(x, _later(u, du, t - begin), p, t)
        return self.message(status, self.suspect(_later(u, du, status.time - begin), y))

    def suspect(self, u: Sequence[float], y: Sequence[float]) -> str:
        """Return a clause on the variable that is farthest out of its plausible range.

        An input that is far from its usual size comes first, then a state that is. Where none is far, it is the gap
        with the largest force, or if all are open the smallest one, as bodies jam or hit there. Otherwise it is the
        state that changes fastest for its size.

        Args:
            u: inputs.
            y: outputs.
        """
        for kind, items, values in (("input ", self.inputs, u), ("", self.states, y)):
            sizes = [_part(values[item.place], item.usual) for item in items]
            if sizes and (size := max(sizes)) > FAR:
                item = items[sizes.index(size)]
                clause = "is not finite" if math.isinf(size) else f"is {size:.2g} times its typical size"
                return f"; {kind}{item.shown(values[item.place])} {clause}"
        pushed = max(self.forces, key=lambda item: abs(y[item.place]), default=None)
        if pushed and y[pushed.place]:
            return f"; {pushed.shown(y[pushed.place])} is the largest force of a contact"
        least = min(self.gaps, key=lambda item: y[item.place], default=None)
        if least and y[least.place] < NEAR * least.usual:
            return f"; {least.shown(y[least.place])} is the smallest gap"
        rates = [_part(y[item.rate], item.usual) if item.rate >= 0 else 0.0 for item in self.states]
        if not rates or not (fastest := max(rates)) > 0:
            return ""
        item = self.states[rates.index(fastest)]
        rate = _with_unit(y[item.rate], item.rate_unit)
        return f"; {item.shown(y[item.place])} changes fastest for its typical size, at {rate}"

    def message(self, status: Status, suspect: str = "") -> str:
        """Return a sentence that says what failed, where, and what to do.

        Args:
            status: how it failed.
            suspect: a clause of `suspect`.
        """
        model, code = self.model, int(status.code)
        where = f"{model}: no step from t = {status.time:.9g} s"
        remedy = f"{suspect}; {self.remedies.get(CODES[code], '')}"
        if code == OK:
            return f"{model}: done, {status.iterations:.0f} corrections in {status.substeps:.0f} substeps"
        if code == INCONSISTENT_START:
            return f"{model}: the start values contradict the constraints (residual {status.correction:.2g})"
        if code == OUTPUTS_NOT_FINITE:
            return f"{model}: outputs at t = {status.time} s are not finite{remedy}"
        if code == NO_PERIOD:
            return f"{where}: the period of a sampled block is not positive; check the parameters it depends on"
        if code == MANY_EVENTS:
            return (
                f"{where}: more than {MOST_EVENTS} events in one communication step, the last one of "
                f"{self.guards[int(status.correction)]}; check its parameters, such as a speed of rest that is too "
                "small"
            )
        if code == STARTS_INSIDE:
            return (
                f"{model}: no consistent start at t = {status.time:.9g} s: {self.guards[int(status.substeps)]} is "
                f"{status.correction:.9g} below 0; change the start values it depends on"
            )
        if code == UNFINISHED:
            return (
                f"{model}: a communication step takes more than {MOST_STEPS} steps, of which the last ended at "
                f"t = {status.time:.9g} s; take shorter communication steps or a larger solver.tolerance"
            )
        if code == NOT_ACCURATE:
            return f"{where} meets solver.tolerance, however short{remedy}"
        halved = f", even with the step halved {MAX_HALVINGS} times{remedy}"
        if code == NOT_FINITE:
            return f"{where}: the solution is no longer finite{halved}"
        return f"{where}: the equations did not converge (last correction {status.correction:.2g}){halved}"


def _later(u: Vector, du: Vector, dt: float) -> Vector:
    """Return the inputs after a time dt, s."""
    return vector(a + b * dt for a, b in zip(u, du, strict=True))


def _part(value: float, usual: float) -> float:
    """Return the ratio of a value to its usual size; infinity for one that is not finite."""
    return abs(value) / usual if math.isfinite(value) else math.inf


def _with_unit(value: float, unit: str) -> str:
    """Return a value with its unit, if it has one."""
    return f"{value:.6g}" if unit == "1" else f"{value:.6g} {unit}"

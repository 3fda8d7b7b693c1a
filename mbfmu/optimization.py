"""Optimize: parameters and start values for which an expression of measures of a run is least.

The expression is differentiated by the adjoint of the run, see `Sensitivity.gradient`, so that a step of the search
costs about as much for many values as for one. The search is L-BFGS-B (Byrd, Lu, Nocedal & Zhu, A limited memory
algorithm for bound constrained optimization, SIAM J. Sci. Comput. 16, 1995): the minimum is the nearest one, not the
least of all.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.arguments import checked
from mbfmu.equilibria import write_start
from mbfmu.errors import StartError, StepError, UnknownNameError, UsageError, nearest
from mbfmu.inputs import InputValue
from mbfmu.model import Model
from mbfmu.model.expression import FUNCTIONS, Expression
from mbfmu.model.library import model_of
from mbfmu.prepared.prepare import prepare
from mbfmu.sensitivity import Sensitivity
from mbfmu.stepper import Choice
from mbfmu.study.measures import MEASURES, SLOPES

Array = npt.NDArray[np.float64]
Told = Callable[[int, float], None]
"""Function of the number of runs so far and the value of the expression in the last one."""

CONVERGED = 1e-12
"""Relative change of the expression at which a search ends."""
FLAT = 1e-10
"""Largest entry of the gradient, in units of the values' sizes, at which a search ends."""
MOST_RUNS = 500
"""Largest number of runs of a search."""
CALL = re.compile(rf"\b({'|'.join(MEASURES)})\s*\(")
"""Beginning of a measure."""


@dataclass(frozen=True)
class Optimized:
    """A value that was searched for.

    Args:
        name: of the parameter or start value.
        unit: SI unit.
        start: where the search began.
        value: the result.
        bound: whether it is at a bound.
    """

    name: str
    unit: str
    start: float
    value: float
    bound: bool


@dataclass(frozen=True)
class Optimum:
    """A model's values for which an expression is least.

    Args:
        name: of the model.
        expression: as text.
        items: the values.
        before: value of the expression where the search began.
        least: its value at the result.
        runs: number of runs of the model.
        notices: what a user should know about the search.
    """

    name: str
    expression: str
    items: tuple[Optimized, ...]
    before: float
    least: float
    runs: int
    notices: tuple[str, ...]

    @property
    def values(self) -> dict[str, float]:
        """The values by name."""
        return {item.name: item.value for item in self.items}

    def __getitem__(self, name: str) -> float:
        """Return a value of the result.

        Raises:
            UnknownNameError: it was not free.
        """
        if name not in self.values:
            raise UnknownNameError(f"'{name}' was not free; {nearest(name, self.values)}")
        return self.values[name]

    @checked
    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the values as a start file, .json or .toml, which ``mbfmu simulate --start`` takes.

        Raises:
            UsageError: the path has another ending.
            MbfmuError: the file cannot be written.
        """
        return write_start(path, self.values)


@checked
def optimize(
    model: Model | str | os.PathLike[str],
    stop: float,
    minimize: str,
    free: Sequence[str],
    *,
    bounds: Mapping[str, Sequence[float]] | None = None,
    stepper: str | Choice | None = None,
    options: Mapping[str, Any] | None = None,
    step: float | None = None,
    output_interval: float | None = None,
    values: Mapping[str, Any] | None = None,
    inputs: Mapping[str, InputValue] | None = None,
    input_hold: bool = False,
    coordinates: str | None = None,
    progress: Told | None = None,
) -> Optimum:
    """Compute parameters and start values for which an expression of measures of a run is least, with its gradient.

    Args:
        model: a model, a name in models/, or the path of a model file.
        stop: end of the run, s.
        minimize: expression of measures and free values, such as ``"rms(rail.s) + 0.1*max(rail.f)**2"``; measures are
            ``max``, ``min``, ``last``, ``mean``, ``rms`` and ``ptp`` of an output at the output points.
        free: names of the parameters and start values; the search begins at the model's values.
        bounds: least and greatest value by name, for values whose own bounds are too wide.
        stepper: see `simulate`.
        options: see `simulate`.
        step: see `simulate`, s; steps are equal.
        output_interval: time between the values measured, s; see `simulate`.
        values: parameters and start values by name.
        inputs: see `simulate`.
        input_hold: see `simulate`.
        coordinates: see `simulate`.
        progress: called after each run.

    Raises:
        UsageError, UnknownNameError, ExpressionError: an argument is invalid, or the model has no gradient.
        ModelError, StepperError: the model or the stepper is invalid.
        StartError, StepError: a run fails; the message names its values.
        KernelError: there is no C compiler.
    """
    system = model_of(model, values)
    choices: Any = stepper, options, step or 1e-3, 0.0, coordinates
    outputs = [item.name for item in prepare(system, *choices).outline.outputs]
    goal = _Goal(minimize, outputs, tuple(free))
    run = Sensitivity(
        system, stop, free, outputs=goal.outputs, stepper=stepper, options=options, step=step or 1e-3,
        output_interval=output_interval, inputs=inputs, input_hold=input_hold, coordinates=coordinates,
    )  # fmt: skip
    low, high = run.limits(bounds)
    begin = run.values
    sizes = np.where(begin != 0, np.abs(begin), 1.0)
    seen: list[float] = []

    def value_and_slope(x: Array) -> tuple[float, Array]:
        now = np.clip(x * sizes, low, high)
        try:
            value, slope = goal.of(run, now)
        except (StartError, StepError) as error:
            where = ", ".join(f"{name} = {item:g}" for name, item in zip(run.free, now, strict=True))
            raise type(error)(f"the run with {where} fails: {error}; bounds (--bounds) keep the search away") from None
        seen.append(value)
        if progress:
            progress(len(seen), value)
        return value, slope * sizes

    from scipy.optimize import minimize as search

    found = search(
        value_and_slope, begin / sizes, jac=True, method="L-BFGS-B",
        bounds=list(zip((low / sizes).tolist(), (high / sizes).tolist(), strict=True)),
        options={"ftol": CONVERGED, "gtol": FLAT, "maxfun": MOST_RUNS, "maxiter": MOST_RUNS},
    )  # fmt: skip
    best = np.clip(found.x * sizes, low, high)
    items = zip(run.signals, begin.tolist(), best.tolist(), low.tolist(), high.tolist(), strict=True)
    notices = () if found.success else (f"the search ended early: {str(found.message).strip().rstrip('.').lower()}",)
    return Optimum(
        system.name,
        minimize,
        tuple(Optimized(item.name, item.unit, a, b, b in {least, most}) for item, a, b, least, most in items),
        seen[0],
        float(found.fun),
        len(seen),
        notices,
    )


class _Goal:
    """An expression of measures and free values.

    Args:
        text: the expression.
        outputs: names of the model's outputs.
        free: names of the free values.
    """

    def __init__(self, text: str, outputs: Sequence[str], free: tuple[str, ...]) -> None:
        self._measures: list[tuple[str, str]] = []
        rest, place = "", 0
        while found := CALL.search(text, place):
            end = _closing(text, found.end())
            if end == len(text):
                raise UsageError(f"'{text}': a parenthesis is open at the end: close it")
            name = text[found.end() : end].strip()
            if name in outputs:
                rest += f"{text[place : found.start()]}measure{len(self._measures)}"
                self._measures.append((found[1], name))
                place = end + 1
            elif found[1] not in FUNCTIONS:
                raise _unknown(text, name, outputs)
            else:
                rest += text[place : found.end()]
                place = found.end()
        expression = Expression(rest + text[place:])
        symbols = {f"measure{k}": ca.SX.sym(f"measure{k}") for k in range(len(self._measures))}
        for name in expression.names - symbols.keys():
            if name not in free:
                raise _unknown(text, name, outputs)
        if not self._measures:
            raise UsageError(f"'{text}' measures no output: write such as rms(NAME); {nearest(text, outputs)}")
        symbols |= {name: ca.SX.sym(name) for name in free}
        value = ca.densify(ca.SX(expression.evaluate(lambda name: symbols[name])))
        given = ca.vertcat(*symbols.values())
        self._value = ca.Function("goal", [given], [value, ca.gradient(value, given)])
        self.outputs = tuple(dict.fromkeys(name for _, name in self._measures))

    def of(self, run: Sensitivity, values: Array) -> tuple[float, Array]:
        """Return its value for a run with some values, and its derivatives, shape (n_free,).

        Raises:
            StepError: it is not finite.
        """
        seen: list[Array] = []

        def weights(outputs: Array) -> Array:
            columns = [outputs[:, self.outputs.index(name)] for _, name in self._measures]
            measured = [
                MEASURES[function](run.time, column)
                for (function, _), column in zip(self._measures, columns, strict=True)
            ]
            value, slope = (np.array(item).ravel() for item in self._value([*measured, *values]))
            if not (np.all(np.isfinite(value)) and np.all(np.isfinite(slope))):
                raise StepError("the expression or its gradient is not finite")
            seen[:] = [value, slope]
            found = np.zeros_like(outputs)
            for (function, name), column, part in zip(self._measures, columns, slope, strict=False):
                found[:, self.outputs.index(name)] += part * SLOPES[function](run.time, column)
            return found

        gradient = run.gradient(weights, values)
        value, slope = seen
        return float(value[0]), gradient.values + slope[len(self._measures) :]


def _unknown(text: str, name: str, outputs: Sequence[str]) -> UnknownNameError:
    known = ", ".join(f"{item}(NAME)" for item in MEASURES)
    return UnknownNameError(
        f"'{text}': '{name}' is neither an output that is measured, as in {known}, nor a free value; "
        f"{nearest(name, outputs)}"
    )


def _closing(text: str, begin: int) -> int:
    """Return the place of the parenthesis that closes the one before a place; the end if there is none."""
    depth = 1
    for place in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if not depth:
            return place
    return len(text)

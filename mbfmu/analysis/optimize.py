"""Optimize: parameters, start values and input trajectories for which an expression of measures of a run is least.

The expression is differentiated by the adjoint of the run, see `Sensitivity.gradient`, so that a step of the search
costs about as much for many values as for one. The search is L-BFGS-B (Byrd, Lu, Nocedal & Zhu, A limited memory
algorithm for bound constrained optimization, SIAM J. Sci. Comput. 16, 1995), or with conditions SLSQP (Kraft, A
software package for sequential quadratic programming, DFVLR-FB 88-28, 1988): the minimum is the nearest one, not the
least of all.
"""

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.analysis.equilibria import write_start
from mbfmu.analysis.final_run import final_run
from mbfmu.analysis.sensitivity import Gradient, Knots, Sensitivity
from mbfmu.analysis.study.measures import MEASURES, SLOPES
from mbfmu.base.arguments import checked
from mbfmu.base.described import Described, part_of, takes
from mbfmu.base.formats import write_columns
from mbfmu.errors import MbfmuError, StartError, StepError, UnknownNameError, UsageError, nearest
from mbfmu.model import Model
from mbfmu.model.expression import FUNCTIONS, Expression
from mbfmu.model.library import model_of
from mbfmu.prepared import settings
from mbfmu.prepared.prepare import prepare_run
from mbfmu.prepared.settings import InputFunction, ModelSettings, RunSettings

Array = npt.NDArray[np.float64]
Told = Callable[[int, float], None]
"""Function of the number of runs so far and the value of the expression in the last one."""

CONVERGED = 1e-12
"""Relative change of the expression at which a search ends."""
SMALL = 1e-6
"""Value of the expression, in units of its scale, below which its changes are relative to this value."""
FLAT = 1e-6
"""Largest entry of the gradient, relative to the same and in units of the values' sizes, with which a search whose
steps find nothing less has ended well."""
FIRST = 0.1
"""Part of a value's size by which a step along the first gradient changes the value most, in units of the scale."""
OFFSET = 1e-4
"""Part of the expression's first value that stands for its gradient where that is less."""
MOST_RUNS = 500
"""Largest number of runs of a search."""
MOST_FREE = 2000
"""Largest number of values that are free in a search under conditions, which takes matrices of that size."""
MET = 1e-6
"""Largest difference between the sides of a condition, in units of its gradient, at which it counts as met."""
ROUND_OFF = 1e-14
"""Relative distance from a bound at which a value is at it."""
RELATION = re.compile(r"<=|>=|==?|<|>")
"""A comparison between two expressions."""
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
class Trajectory:
    """An input that was searched for.

    Args:
        unit: SI unit.
        time: of the knots, s, shape (n,).
        values: there, shape (n,).
    """

    unit: str
    time: Array
    values: Array

    def at(self, time: Any, hold: bool = False) -> Any:
        """Return the values at times, s; hold: they stay until the next knot, else lines lead from knot to knot."""
        if hold:
            return self.values[np.maximum(np.searchsorted(self.time, time, side="right") - 1, 0)]
        return np.interp(time, self.time, self.values)


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
        trajectories: inputs that were searched for, by name.
        hold: whether these values stay until the next knot; False: lines lead from value to value.
    """

    name: str
    expression: str
    items: tuple[Optimized, ...]
    before: float
    least: float
    runs: int
    notices: tuple[str, ...]
    trajectories: Mapping[str, Trajectory] = field(default_factory=dict)
    hold: bool = False

    @property
    def values(self) -> dict[str, float]:
        """The values by name, without those of inputs."""
        return {item.name: item.value for item in self.items}

    @property
    def inputs(self) -> dict[str, InputFunction]:
        """The inputs over time by name, as functions of the time, s."""
        return {name: partial(item.at, hold=self.hold) for name, item in self.trajectories.items()}

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
    def write_inputs(self, path: str | os.PathLike[str]) -> Path:
        """Write the inputs over time as a table, .csv, .parquet, .mat or .npz, which ``mbfmu simulate --input`` takes.

        Between its times inputs are lines; with `knots_hold` each value stays until the next (``--input-hold``).

        Raises:
            UsageError: no input was free, or the path has another ending.
            MbfmuError: the file cannot be written.
        """
        if not self.trajectories:
            raise UsageError("no input was free over time: give knots of one (--knots)")
        time = np.unique(np.concatenate([item.time for item in self.trajectories.values()]))
        columns = {name: item.at(time, hold=self.hold) for name, item in self.trajectories.items()}
        return write_columns(Path(path), {"time": time, **columns})


@dataclass(frozen=True)
class OptimizeArguments(ModelSettings):
    """The arguments of `optimize`; steps are equal."""

    model: Annotated[Model | str | os.PathLike[str], settings.MODEL]
    stop: Annotated[float, settings.STOP]
    minimize: Annotated[
        str,
        Described(
            'expression of measures and free values, such as ``"rms(rail.s) + 0.1*max(rail.f)**2"``; measures are '
            "``max``, ``min``, ``last``, ``mean``, ``rms`` and ``ptp`` of an output or an input at the output points"
        ),
    ]
    free: Annotated[
        Sequence[str],
        Described("names of the parameters and start values; the initial guess is the model's values"),
    ] = ()
    _: KW_ONLY
    subject: Annotated[
        Sequence[str],
        Described(
            'conditions on such expressions, as ``"last(elbow.phi) = pi/2"`` or ``"-1 <= max(elbow.w) <= 3"``, or on '
            'free values alone, as ``"l1 + l2 <= 3"``'
        ),
    ] = ()
    knots: Annotated[
        Mapping[str, int | Sequence[float]] | None,
        Described(
            "inputs that are free over time: by name the number of their knots, evenly over the run, or the times of "
            "these, s. The search begins at the values of `inputs`"
        ),
    ] = None
    knots_hold: Annotated[
        bool, Described("whether the value of a knot stays until the next one; False: lines lead from value to value")
    ] = False
    bounds: Annotated[
        Mapping[str, Sequence[float]] | None,
        Described("least and greatest value by name, for values whose own bounds are too wide, and for inputs"),
    ] = None
    output_interval: Annotated[float | None, settings.OUTPUT_INTERVAL] = None
    progress: Annotated[Told | None, Described("called after each run")] = None


@takes(OptimizeArguments)
def optimize(search: OptimizeArguments) -> Optimum:
    """Compute values and inputs for which an expression of measures of a run is least, with its gradient.

    Raises:
        UsageError, UnknownNameError, ExpressionError: an argument is invalid, or the model has no gradient.
        ModelError, StepperError: the model or the stepper is invalid.
        StartError, StepError: a run fails; the message names its values.
        KernelError: there is no C compiler.
    """
    free, knots = search.free, search.knots
    if not (free or knots):
        raise UsageError("nothing is free: name parameters or start values, or give knots of an input")
    system = model_of(search.model, search.values)
    run_settings = part_of(search, RunSettings)
    outline = prepare_run(system, run_settings).outline
    outputs, driven = [item.name for item in outline.outputs], tuple(knots or {})
    goals = [_Goal(search.minimize, outputs, tuple(free), driven)]
    conditions = [condition for text in search.subject for condition in _conditions(text)]
    goals += [_Goal(text, outputs, tuple(free), driven, condition=True) for text, _ in conditions]
    shown = dict.fromkeys(name for goal in goals for name in goal.outputs)
    run = Sensitivity(
        system, search.stop, free, outputs=tuple(shown) or outputs[:1], knots=knots, knots_hold=search.knots_hold,
        **run_settings.of_model(),
    )  # fmt: skip
    if conditions and len(run.free) > MOST_FREE:
        raise UsageError(f"{len(run.free)} values are free, and a search under conditions takes at most {MOST_FREE}")
    limits = run.limits(search.bounds)
    kinds = [kind for _, kind in conditions]
    optimum = _Search(run, goals, kinds, limits, search.progress).optimum(system.name)
    final = replace(run_settings, inputs={**(search.inputs or {}), **optimum.inputs})
    result = final_run(system, final, optimum.values, search.stop)
    return replace(optimum, notices=(*optimum.notices, *result.notices))


class _Search:
    """A search for the least value of a goal under conditions.

    Each goal is divided by its scale, the size of its first gradient, or value, that is not zero, so that the search
    takes the same steps whatever the units are.

    Args:
        run: the run.
        goals: the expression, then the left minus the right sides of the conditions.
        kinds: ``eq``, or ``ineq`` where that is to be positive; of each condition.
        limits: least and greatest values, each of shape (n_free,).
        told: called after each run.
    """

    def __init__(
        self,
        run: Sensitivity,
        goals: "list[_Goal]",
        kinds: list[str],
        limits: tuple[Array, Array],
        progress: Told | None,
    ) -> None:
        self._run, self._goals, self._kinds, self._limits, self._told = run, goals, kinds, limits, progress
        self._begin = run.values
        self._sizes = np.where(self._begin != 0, np.abs(self._begin), 1.0)
        for item in run.knots:  # values of one input are of one size
            entries = [k for k, name in enumerate(run.free) if name.partition("@")[0] == item.name]
            self._sizes[entries] = np.abs(self._begin[entries]).max() or 1.0
        self._seen: list[float] = []
        self._scales, self._parts = np.zeros(len(goals)), np.array([OFFSET, *[1.0] * len(kinds)])
        self._before, self._rested = math.inf, False
        self._last: tuple[bytes, Array, Array] | None = None

    def _at(self, x: Array) -> tuple[Array, Array]:
        """Return the values of all goals, shape (n_goals,), and their derivatives, shape (n_goals, n_free)."""
        if self._last is None or self._last[0] != x.tobytes():
            # one run, with the gradients of all goals by its adjoint
            now = np.clip(x * self._sizes, *self._limits)
            try:
                outputs, back = self._run.pullback(now)
                pairs = [goal.of(self._run, now, outputs, back) for goal in self._goals]
            except (StartError, StepError) as error:
                where = ", ".join(f"{name} = {item:g}" for name, item in zip(self._run.free, now, strict=True))
                raise type(error)(
                    f"the run with {where} fails: {error}; bounds (--bounds) keep the search away"
                ) from None
            values = np.array([value for value, _ in pairs])
            slopes = np.array([slope for _, slope in pairs]) * self._sizes
            self._last = x.tobytes(), values, slopes
            # the scale of a goal, from the first gradient that is not zero
            sizes = np.maximum(np.abs(slopes).max(axis=1), self._parts * np.abs(values))
            sizes[0] /= FIRST
            self._scales = np.where(self._scales > 0, self._scales, sizes)
            self._seen.append(pairs[0][0])
            if self._told:
                self._told(len(self._seen), pairs[0][0])
        return self._last[1:]

    def _scaled(self, x: Array, k: int = 0) -> tuple[float, Array]:
        """Return the value of a goal and its derivatives, shape (n_free,), in units of its scale; k: its number."""
        values, slopes = self._at(x)
        scale = self._scales[k] or 1.0  # all was zero so far
        return float(values[k] / scale), slopes[k] / scale

    def _rest(self, intermediate_result: Any) -> None:
        """End L-BFGS-B, which compares with the larger of value and 1, where the change of the value is small."""
        before, self._before = self._before, float(intermediate_result.fun)
        self._rested = abs(before - self._before) <= CONVERGED * max(abs(before), abs(self._before), SMALL)
        if self._rested:
            raise StopIteration

    def _is_flat(self, x: Array) -> bool:
        """Return whether the gradient, where bounds let values follow it, is too small for a further decrease."""
        value, slope = self._scaled(x)
        now, (low, high) = x * self._sizes, self._limits
        held = ((now <= low) & (slope > 0)) | ((now >= high) & (slope < 0))
        return bool(np.all(held | (np.abs(slope) <= FLAT * max(abs(value), SMALL))))

    def optimum(self, name: str) -> Optimum:
        """Return the optimum; name: of the model."""
        from scipy.optimize import minimize as search

        run, sizes, (low, high) = self._run, self._sizes, self._limits
        # the search in units of the sizes: SLSQP under conditions, else L-BFGS-B within the bounds
        begin = self._begin / sizes
        self._before, slope = self._scaled(begin)
        solution = search(
            self._scaled, begin, jac=True, method="SLSQP" if self._kinds else "L-BFGS-B",
            bounds=list(zip((low / sizes).tolist(), (high / sizes).tolist(), strict=True)),
            constraints=[
                {"type": kind, "fun": lambda x, k=k: self._scaled(x, k)[0], "jac": lambda x, k=k: self._scaled(x, k)[1]}
                for k, kind in enumerate(self._kinds, 1)
            ],
            callback=None if self._kinds else self._rest,
            options={"maxiter": MOST_RUNS}
            | ({"ftol": CONVERGED * FIRST} if self._kinds else {"ftol": 0.0, "gtol": 0.0, "maxfun": MOST_RUNS}),
        )  # fmt: skip
        # whether it came to rest, moved at all, and meets the conditions
        best = np.clip(solution.x * sizes, low, high)
        reached, slopes = self._at(solution.x)
        ended = str(solution.message).strip().rstrip(".").lower()
        rested = solution.success or self._rested or (not self._kinds and self._is_flat(solution.x))
        notices = [] if rested else [f"the search ended early: {ended}"]
        if not slope.any() and np.array_equal(best, self._begin):
            notices.append(
                f"the search went nowhere: where it begins, the gradient of {self._goals[0].text} is 0; that may be no "
                "minimum: begin elsewhere, or free other values"
            )
        met = MET * np.maximum(np.abs(slopes).max(axis=1), SMALL * self._scales)
        ends = zip(self._kinds, self._goals[1:], reached[1:].tolist(), met[1:].tolist(), strict=True)
        for kind, goal, value, most in ends:
            if (abs(value) if kind == "eq" else -value) > most:
                wanted = "0" if kind == "eq" else "at least 0"
                notices.append(f"{goal.text} is {value:.3g} instead of {wanted}: begin nearer to a run that meets it")
        # the values, and the inputs that knots make
        whole = zip(run.signals, self._begin.tolist(), best.tolist(), low.tolist(), high.tolist(), strict=True)
        items = [
            Optimized(item.name, item.unit, a, b, min(b - least, most - b) <= ROUND_OFF * abs(b))
            for item, a, b, least, most in whole
        ]
        trajectories, offset = {}, len(items) - sum(len(item.times) for item in run.knots)
        parameters = tuple(items[:offset])
        for item in run.knots:
            trajectories[item.name] = Trajectory(item.unit, item.times, best[offset : offset + len(item.times)])
            offset += len(item.times)
        return Optimum(
            name, self._goals[0].text, parameters, self._seen[0], float(reached[0]), len(self._seen), tuple(notices),
            trajectories, any(item.hold for item in run.knots),
        )  # fmt: skip


def _conditions(text: str) -> list[tuple[str, str]]:
    """Return the left side minus the right side of a condition, or the opposite, and its kind (see `_Search`).

    A chain such as ``1 <= c <= 2`` is one condition for each of its comparisons; those in parentheses are parts of an
    expression.

    Raises:
        UsageError: it is none.
    """
    relations = [relation for relation in RELATION.finditer(text) if _is_outside(text[: relation.start()])]
    ends = [0, *(bound for relation in relations for bound in relation.span()), len(text)]
    sides = [text[begin:end].strip() for begin, end in zip(ends[::2], ends[1::2], strict=True)]
    signs = [relation[0] for relation in relations]
    if not signs or not all(sides) or {"<", ">"} & {*signs}:
        raise UsageError(
            f"'{text}' is not a condition: write =, <= or >=, as last(NAME) = 1.5, min(NAME) >= 0 or 1 <= "
            "max(NAME) <= 2"
        )
    pairs = [(b, a) if sign == "<=" else (a, b) for (a, b), sign in zip(pairwise(sides), signs, strict=True)]
    return [
        (f"({more}) - ({less})", "ineq" if sign in {"<=", ">="} else "eq")
        for (more, less), sign in zip(pairs, signs, strict=True)
    ]


def _is_outside(before: str) -> bool:
    """Return whether an index is outside of all parentheses; before: the text up to there."""
    return before.count("(") == before.count(")")


class _Goal:
    """An expression of measures and free values.

    Args:
        text: the expression.
        outputs: names of the model's outputs.
        free: names of the free values.
        driven: names of the inputs that are free over time.
        condition: whether it is of a condition, which may be on the free values alone.

    Attributes:
        outputs: names of those that are measured.
    """

    def __init__(
        self, text: str, outputs: Sequence[str], free: tuple[str, ...], driven: tuple[str, ...], condition: bool = False
    ) -> None:
        self.text = text
        self._free = len(free)
        self._measures: list[tuple[str, str]] = []
        rest, begin = "", 0
        while call := CALL.search(text, begin):
            end = _closing(text, call.end())
            if end == len(text):
                raise UsageError(f"'{text}': a parenthesis is open at the end: close it")
            name = text[call.end() : end].strip()
            if name in outputs or name in driven:
                rest += f"{text[begin : call.start()]}measure{len(self._measures)}"
                self._measures.append((call[1], name))
                begin = end + 1
            elif call[1] not in FUNCTIONS:
                raise _unknown(text, name, (*outputs, *driven))
            else:
                rest += text[begin : call.end()]
                begin = call.end()
        expression = Expression(rest + text[begin:])
        symbols = {f"measure{k}": ca.SX.sym(f"measure{k}") for k in range(len(self._measures))}
        for name in expression.names - symbols.keys():
            if name not in free:
                raise _unknown(text, name, (*outputs, *driven))
        if not (self._measures or (condition and expression.names)):
            raise UsageError(f"'{text}' measures no output: write such as rms(NAME); {nearest(text, outputs)}")
        symbols |= {name: ca.SX.sym(name) for name in free}
        value = ca.densify(ca.SX(expression.evaluate(lambda name: symbols[name])))
        arguments = ca.vertcat(*symbols.values())
        self._value = ca.Function("goal", [arguments], [value, ca.gradient(value, arguments)])
        self.outputs = tuple(dict.fromkeys(name for _, name in self._measures if name not in driven))

    def of(
        self, run: Sensitivity, values: Array, outputs: Array, back: Callable[[Array], Gradient]
    ) -> tuple[float, Array]:
        """Return its value for a run, and its derivatives, shape (n_free,).

        Args:
            run: the run.
            values: the free values, shape (n_free,).
            outputs: of the run with these, shape (n_t, n_outputs).
            back: function of weights of outputs, see `Sensitivity.pullback`.

        Raises:
            StepError: it is not finite.
        """
        # inputs over time by their knots
        shown, offset = run.output_names, self._free
        driven: dict[str, tuple[Knots, slice, Array, Array]] = {}
        for item in run.knots:
            part = slice(offset, offset + len(item.times))
            offset = part.stop
            if item.hold:  # each value counts up to the next point
                driven[item.name] = item, part, np.repeat(run.time, 2)[1:-1], np.repeat(run.time[:-1], 2)
            else:
                driven[item.name] = item, part, run.time, run.time
        # the value g(m, p) of the measures m and the free values p, with its gradient
        times, columns = [], []
        for _, name in self._measures:
            if name in driven:
                item, part, time, read = driven[name]
                column = item.at(read, values[part])
            else:
                time, column = run.time, outputs[:, shown.index(name)]
            times.append(time)
            columns.append(column)
        measured = [
            MEASURES[function](time, column)
            for (function, _), time, column in zip(self._measures, times, columns, strict=True)
        ]
        value, slope = (np.array(item).ravel() for item in self._value([*measured, *values[: self._free]]))
        if not (np.all(np.isfinite(value)) and np.all(np.isfinite(slope))):
            raise StepError("the expression or its gradient is not finite")
        # chain rule: dg/dp = g_p + g_m m_y y_p, in which the adjoint of the run gives the last product
        weights, gradient = np.zeros_like(outputs), np.zeros(len(values))
        gradient[: self._free] = slope[len(self._measures) :]
        for (function, name), time, column, each in zip(self._measures, times, columns, slope, strict=False):
            along = each * SLOPES[function](time, column)
            if name in driven:
                item, part, _, read = driven[name]
                gradient[part] += item.gathered(read, along)
            else:
                weights[:, shown.index(name)] += along
        if self.outputs:
            gradient += back(weights).values
        return float(value[0]), gradient


def _unknown(text: str, name: str, outputs: Sequence[str]) -> MbfmuError:
    if name in outputs:
        such = ", ".join(f"{item}({name})" for item in MEASURES)
        return UsageError(f"'{text}': '{name}' changes over time: say which number of it is meant, one of {such}")
    known = ", ".join(f"{item}(NAME)" for item in MEASURES)
    return UnknownNameError(
        f"'{text}': '{name}' is neither an output that is measured, as in {known}, nor a free value; "
        f"{nearest(name, outputs)}"
    )


def _closing(text: str, begin: int) -> int:
    """Return the index of the parenthesis that closes the one before an index; the end if there is none."""
    depth = 1
    for index in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if not depth:
            return index
    return len(text)

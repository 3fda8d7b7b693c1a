"""Inputs over time, as a user gives them: numbers, expressions of the time, tables and functions.

An expression becomes part of a model's equations (see `derive`), so that every stage of a stepper sees its value at the
stage's own time. A table and a function cannot be part of a kernel: they are followed by lines, a table exactly, from
point to point, a function from step to step of the stepper.
"""

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.base.formats import FORMATS, is_table, read_columns
from mbfmu.base.result import read_table
from mbfmu.errors import UsageError, nearest
from mbfmu.kernel.limits import CLOSE
from mbfmu.kernel.runtime import fewest_steps
from mbfmu.model.expression import Expression
from mbfmu.model.variable_type import VALUES_OF, is_value
from mbfmu.prepared.settings import InputFunction, InputValue

Array = npt.NDArray[np.float64]

EXACT = 2.0**53
"""Number up to which a floating-point number is every whole number."""
APART = 1e-5
"""Smallest distance of corners, relative to a step: steppers that remember accelerations or multipliers lose them to
round-off in steps that are much shorter than the others."""


@dataclass(frozen=True)
class Course(ABC):
    """The course of an input over time.

    Args:
        name: of the input.
    """

    name: str

    curved = False
    """Whether the function is approximated by a line over each step, as it has no exact lines."""

    @property
    def corners(self) -> Array:
        """The times between which it is a line, s."""
        return np.empty(0)

    @abstractmethod
    def at(self, time: float) -> float:
        """Return the value that acts from a time (s) on.

        Raises:
            UsageError: it is not a finite number.
        """

    @abstractmethod
    def lines(self, times: Sequence[float]) -> tuple[list[float], list[float]]:
        """Return value and rate at the start of each line from time to time, for n + 1 times n of each.

        Args:
            times: s, with no corner between two of them.

        Raises:
            UsageError: a value is not a finite number.
        """

    def secants(self, times: Sequence[float]) -> tuple[list[float], list[float]]:
        """Return the same for the lines through the values at the times, whatever is between them."""
        values = [self.at(time) for time in times]
        rates = [(b - a) / (t1 - t) for (a, b), (t, t1) in zip(pairwise(values), pairwise(times), strict=True)]
        return values[:-1], rates

    @property
    @abstractmethod
    def identity(self) -> Any:
        """Its content as JSON data; None if only its values are known."""

    def rest(self, time: float) -> int:
        """Return what the value at a time (s) lacks of a whole number of 64 bits."""
        return 0

    def _refusal(self, time: float) -> UsageError:
        return UsageError(f"input {self.name} is not finite at t = {time:g} s")


@dataclass(frozen=True)
class Constant(Course):
    """An input that stays as it is.

    Args:
        value: its value.
    """

    value: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise self._refusal(0.0)

    def at(self, time: float) -> float:
        return self.value

    def lines(self, times: Sequence[float]) -> tuple[list[float], list[float]]:
        n = len(times) - 1
        return [self.value] * n, [0.0] * n

    @property
    def identity(self) -> Any:
        return repr(self.value)


class _Curve(Course):
    """A course that is a line between steps."""

    curved = True

    def lines(self, times: Sequence[float]) -> tuple[list[float], list[float]]:
        return self.secants(times)


@dataclass(frozen=True)
class InputFormula(_Curve):
    """An input that is an expression of the time.

    Args:
        text: the expression.
    """

    text: str

    @cached_property
    def _function(self) -> Any:
        time = ca.SX.sym("time")
        return ca.Function("input", [time], [ca.densify(Expression(self.text).evaluate(lambda _: time))])

    def at(self, time: float) -> float:
        value = float(self._function(time))
        if not math.isfinite(value):
            raise self._refusal(time)
        return value

    def column(self, times: Array) -> Array:
        """Return the values at some times, shape (n_t,).

        Raises:
            UsageError: one of them is not a finite number.
        """
        values: Array = np.array(self._function(times.reshape(1, -1))).ravel()
        if not np.all(np.isfinite(values)):
            raise self._refusal(float(times[np.argmin(np.isfinite(values))]))
        return values

    @property
    def identity(self) -> Any:
        return self.text


@dataclass(frozen=True)
class Function(_Curve):
    """An input that is a function of the time.

    Args:
        function: the function.
    """

    function: InputFunction

    def at(self, time: float) -> float:
        returned = self.function(time)
        try:
            value = float(returned)
        except (TypeError, ValueError):
            raise UsageError(
                f"input {self.name}: its function gives {returned!r} at t = {time:g} s, no number"
            ) from None
        if not math.isfinite(value):
            raise self._refusal(time)
        return value

    @property
    def identity(self) -> Any:
        return None


@dataclass(frozen=True)
class InputTable(Course):
    """An input whose values are known at some times; before the first and after the last it stays as it is there.

    Args:
        times: s, increasing, shape (n,); two that are equal are a jump.
        values: shape (n,).
        hold: whether each value stays until the next time; False: lines lead from value to value.
        rests: what the values lack of whole numbers of 64 bits, shape (n,); empty: nothing.
    """

    times: Array = field(compare=False)
    values: Array = field(compare=False)
    hold: bool = False
    rests: tuple[int, ...] = ()

    @property
    def corners(self) -> Array:
        return self.times

    def rest(self, time: float) -> int:
        if not self.rests:
            return 0
        return self.rests[max(0, self._before(time * (1 + CLOSE) if time > 0 else time))]

    @property
    def jumps(self) -> bool:
        """Whether its values may change at once."""
        return self.hold or bool((np.diff(self.times) == 0).any())

    def at(self, time: float) -> float:
        if self.hold:
            return float(self.values[max(0, self._before(time * (1 + CLOSE) if time > 0 else time))])
        return float(np.interp(time, self.times, self.values))

    def lines(self, times: Sequence[float]) -> tuple[list[float], list[float]]:
        lines = [self._line(start, end) for start, end in pairwise(times)]
        return [value for value, _ in lines], [rate for _, rate in lines]

    def secants(self, times: Sequence[float]) -> tuple[list[float], list[float]]:
        if self.hold:
            return [self.at(time) for time in times[:-1]], [0.0] * (len(times) - 1)
        if not self.jumps:
            return super().secants(times)
        secants = [self._secant(start, end) for start, end in pairwise(times)]
        return [value for value, _ in secants], [rate for _, rate in secants]

    def _secant(self, start: float, end: float) -> tuple[float, float]:
        """Return value and rate from what acts after a time to what acts before another: jumps at them do not count."""
        near = APART * (end - start)
        value, _ = self._line(start, start + near)
        last, rate = self._line(end - near, end)
        return value, (last + rate * near - value) / (end - start)

    def _line(self, start: float, end: float) -> tuple[float, float]:
        k = self._before((start + end) / 2)
        if self.hold or k < 0 or k == len(self.times) - 1:
            return float(self.values[max(k, 0)]), 0.0
        rate = float((self.values[k + 1] - self.values[k]) / (self.times[k + 1] - self.times[k]))
        return float(self.values[k] + rate * (start - self.times[k])), rate

    def _before(self, time: float) -> int:
        """Return the number of the last point that is not after a time; -1 if there is none."""
        return int(np.searchsorted(self.times, time, side="right")) - 1

    @property
    def identity(self) -> Any:
        return [self.times.tolist(), self.values.tolist(), self.hold, *self.rests]


@dataclass(frozen=True)
class Switched(_Curve):
    """An input of whole numbers or truth values that follows a course: it holds the value at the start of each step.

    Args:
        followed: the course.
        nearest: function that makes a number a value of the input's type.
    """

    followed: Course
    nearest: Callable[[float], float]

    def at(self, time: float) -> float:
        return float(self.nearest(self.followed.at(time)))

    def secants(self, times: Sequence[float]) -> tuple[list[float], list[float]]:
        return [self.at(time) for time in times[:-1]], [0.0] * (len(times) - 1)

    @property
    def identity(self) -> Any:
        return self.followed.identity


def as_type(function: Course, type: str, *, any_size: bool = False) -> Course:
    """Return the course of an input of a type of FMI.

    Args:
        function: the course, of numbers: whole-number inputs are rounded, Boolean inputs true unless they are zero.
        type: the type.
        any_size: whether whole numbers may have more than 32 bits, as some of FMI 3.0 have.

    Raises:
        UsageError: a constant or a table has a whole number of more bits; others raise it where they have one.
    """
    if type in {"Real", "String"}:
        return function
    whole: Callable[[float], float] = round if any_size else partial(_whole, function.name)
    nearest = bool if type == "Boolean" else whole
    if isinstance(function, Constant):
        return Constant(function.name, float(nearest(function.value)))
    if isinstance(function, InputTable):
        return replace(function, values=np.array([float(nearest(value)) for value in function.values]), hold=True)
    return Switched(function.name, function, nearest)


def _whole(name: str, value: float) -> float:
    """Return the whole number next to a value of an input.

    Raises:
        UsageError: it has more than 32 bits.
    """
    whole = round(value)
    if not is_value(whole, "Integer"):
        raise UsageError(f"input {name} = {value:.10g} must be {VALUES_OF['Integer']}")
    return whole


def course(name: str, given: InputValue, hold: bool = False) -> Course:
    """Return the course of an input, from what a user gives for it.

    Args:
        name: of the input.
        given: an expression of ``time``, the path of a table with a column of that name, a number, True or False,
            or a function.
        hold: whether a table holds each value until the next.

    Raises:
        UsageError: it is none of these, or a constant that is not finite.
    """
    if callable(given):
        return Function(name, given)
    if not isinstance(given, str):
        return Constant(name, float(given))
    if is_table(given):
        columns = read_table(given, jumps=True)
        if name not in columns:
            raise UsageError(f"'{given}' has no column '{name}'; {nearest(name, columns)}")
        return InputTable(name, columns["time"], columns[name], hold, _rests(given, name, columns[name]))
    if os.sep in given and os.path.exists(given):
        raise UsageError(f"input {name}: the name of a table ends in {', '.join(FORMATS)}; that of '{given}' does not")
    expression = Expression(given)
    unknown = expression.names - {"time"}
    if unknown:
        raise UsageError(
            f"input {name} = '{given}': an input is an expression of 'time', not of {sorted(unknown)[0]!r}"
        )
    formula = InputFormula(name, given)
    return formula if expression.names else Constant(name, float(formula._function(0.0)))


def _rests(path: str, name: str, values: Array) -> tuple[int, ...]:
    """Return what the values of a column lack of the whole numbers in its file; empty: nothing."""
    if np.abs(values).max(initial=0.0) < EXACT:
        return ()
    try:
        wholes = [int(cell) for cell in read_columns(Path(path))[name]]
    except (TypeError, ValueError):  # numbers with a fraction or an exponent
        return ()
    rests = tuple(whole - int(value) for whole, value in zip(wholes, values.tolist(), strict=True))
    return rests if any(rests) else ()


def courses(inputs: Mapping[str, InputValue] | None, hold: bool = False) -> dict[str, Course]:
    """Return the courses of inputs by name (see `course`).

    Raises:
        UsageError: an input is invalid, or tables are to hold their values and there is none.
    """
    by_name = {name: course(name, value, hold) for name, value in (inputs or {}).items()}
    if hold and not any(isinstance(item, InputTable) for item in by_name.values()):
        raise UsageError("--input-hold is for inputs from .csv files: there is none")
    return by_name


def formulas(given: Mapping[str, Course]) -> dict[str, str]:
    """Return the inputs that become part of a model's equations, as expressions by name.

    There are none if all inputs are constant or followed: numbers then need no equations of their own.
    """
    if not any(isinstance(item, InputFormula) for item in given.values()):
        return {}
    texts = {name: item.text for name, item in given.items() if isinstance(item, InputFormula)}
    return texts | {name: repr(item.value) for name, item in given.items() if isinstance(item, Constant)}


def pieces(given: Iterable[Course], start: float, end: float, longest: float, divide: bool) -> list[float]:
    """Return the times from start to end between which all of some inputs are followed by lines.

    Args:
        given: the inputs; those whose corners do not count left out.
        start: s.
        end: s.
        longest: longest step, s; it tells which corners are so close to each other that they count as one.
        divide: whether no piece is longer than that, as curves need it.
    """
    gap = APART * longest + 16 * math.ulp(end)
    inner: set[float] = set()
    for item in given:
        first, last = np.searchsorted(item.corners, (start + gap, end - gap))
        inner.update(item.corners[first:last].tolist())
    times = [start]
    times += [time for last, time in pairwise([start, *sorted(inner)]) if time - last > gap]
    times.append(end)
    if not divide:
        return times
    bounds = [start]
    for begin, stop in pairwise(times):
        n = fewest_steps(stop - begin, longest)
        bounds += [begin + (stop - begin) * k / n for k in range(1, n)] + [stop]
    return bounds

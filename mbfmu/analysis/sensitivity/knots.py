"""Inputs that are free over time: values at knots, with lines between them or held until the next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from mbfmu.analysis.sensitivity.recorded import InputLine
from mbfmu.dae import ParameterSignal
from mbfmu.errors import UnknownNameError, UsageError, nearest
from mbfmu.kernel.limits import CLOSE
from mbfmu.prepared.outline import Outline
from mbfmu.run.inputs import Course, InputTable

Array = npt.NDArray[np.float64]
APART = 1e-5
"""Smallest distance of knots, as a part of the run."""


@dataclass(frozen=True)
class Knots:
    """The knots of an input.

    Args:
        name: of the input.
        unit: SI unit.
        times: s, increasing, shape (n,).
        values: where a search begins, shape (n,).
        hold: whether each value stays until the next knot; False: lines lead from value to value.
        secants: whether the stepper follows lines from step to step, whatever is between.
    """

    name: str
    unit: str
    times: Array
    values: Array
    hold: bool
    secants: bool

    @property
    def signals(self) -> tuple[ParameterSignal, ...]:
        """Name, unit and default of each value."""
        text, bounds = f"input {self.name} at a knot", (-np.inf, np.inf)
        return tuple(
            ParameterSignal(f"{self.name}@{time:g}", self.unit, text, value, *bounds, tunable=True)
            for time, value in zip(self.times.tolist(), self.values.tolist(), strict=True)
        )

    def course(self, values: Array) -> InputTable:
        """Return the input for values at the knots, shape (n,)."""
        return InputTable(self.name, self.times, values, self.hold)

    def at(self, times: Array, values: Array) -> Array:
        """Return the input at some times, shape (n_t,), for values at the knots, shape (n,)."""
        before, after, part = self._between(times)
        values_there: Array = (1 - part) * values[before] + part * values[after]
        return values_there

    def gathered(self, times: Array, weights: Array) -> Array:
        """Return the derivatives with respect to its values, shape (n,), from those with respect to the input.

        Args:
            times: s, shape (n_t,).
            weights: derivatives with respect to the input at these times, shape (n_t,).
        """
        before, after, part = self._between(times)
        sums: Array = np.zeros(len(self.times))
        np.add.at(sums, before, (1 - part) * weights)
        np.add.at(sums, after, part * weights)
        return sums

    def _between(self, times: Array) -> tuple[Any, Any, Array]:
        """Return the knots before and after some times, and how far from the one to the other these are, 0 to 1."""
        after = np.searchsorted(self.times, times * (1 + CLOSE) if self.hold else times, side="right")
        before, after = np.maximum(after - 1, 0), np.minimum(after, len(self.times) - 1)
        if self.hold:
            return before, before, np.zeros(len(times))
        length = self.times[after] - self.times[before]  # none before the first and after the last
        return before, after, (times - self.times[before]) / np.where(length > 0, length, np.inf)

    def changes(self, start: float, end: float) -> tuple[Array, Array]:
        """Return the derivatives of the input at the start of a line, and of its rate, each of shape (n,).

        Args:
            start: of the line, s.
            end: of the line, s; the start for the end of the run.
        """
        begun = (start + end) / 2 if self.hold and not self.secants else start
        first, last = (self.gathered(np.array([time]), np.ones(1)) for time in (begun, end))
        return first, np.zeros_like(first) if self.hold or start == end else (last - first) / (end - start)

    def weights(self, lines: Sequence[InputLine], u: Array, du: Array) -> Array:
        """Return the derivatives with respect to its values, shape (n,), from those with respect to lines.

        Args:
            lines: those that the input follows.
            u: derivatives with respect to the input at the start of each line and at the end, shape (n_lines + 1,).
            du: derivatives with respect to its rate along each line, shape (n_lines,).
        """
        start, end = (np.array([getattr(line, which) for line in lines]) for which in ("t", "end"))
        begun = (start + end) / 2 if self.hold and not self.secants else start
        sums = self.gathered(begun, u[:-1]) + self.gathered(end[-1:], u[-1:])
        if not self.hold:
            rate = du / (end - start)
            sums += self.gathered(end, rate) - self.gathered(begun, rate)
        return sums


def knots_of(
    outline: Outline,
    driven: Mapping[str, Course],
    stop: float,
    requested: Mapping[str, int | Sequence[float]] | None,
    hold: bool,
) -> tuple[Knots, ...]:
    """Return the knots of inputs.

    Args:
        outline: the model.
        driven: the inputs over time, by name, at which a search begins.
        stop: end of the run, s.
        requested: number of knots, evenly from 0 on, or their times, s, by the name of the input.
        hold: see `Knots`.

    Raises:
        UnknownNameError, UsageError: an argument is invalid.
    """
    known = {item.name: item for item in outline.inputs}
    knots = []
    for name, choice in (requested or {}).items():
        if name not in known:
            raise UnknownNameError(f"knots: '{outline.name}' has no input '{name}'; {nearest(name, known)}")
        if known[name].type != "Real":
            raise UsageError(f"knots: input '{name}' is of type {known[name].type}, and has no slope")
        times = _times(name, choice, stop, hold)
        begun = driven.get(name)
        values = [begun.at(time) if begun else known[name].start for time in times.tolist()]
        knots.append(Knots(name, known[name].unit, times, np.array(values), hold, outline.multistep))
    return tuple(knots)


def _times(name: str, choice: int | Sequence[float], stop: float, hold: bool) -> Array:
    """Return the times of knots."""
    if isinstance(choice, int):
        if not 2 - hold <= choice <= 1 / APART:
            raise UsageError(f"knots of {name} = {choice}: give at least {2 - hold} and at most {1 / APART:.0f}")
        return np.linspace(0.0, stop, choice + hold)[:choice]
    times = np.array(choice, dtype=np.float64)
    inside = len(times) and times[0] >= 0 and times[-1] <= stop
    if not inside or any(not b - a > APART * stop for a, b in pairwise(times.tolist())):
        raise UsageError(f"knots of {name}: give times that increase, from 0 to {stop:g} s, or their number")
    return times

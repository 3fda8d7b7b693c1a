"""The inputs of a run between its communication points: lines that the stepper follows."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from mbfmu.errors import UnknownNameError, UsageError, nearest
from mbfmu.kernel import vector
from mbfmu.prepared.outline import Outline
from mbfmu.run.inputs import Constant, Course, InputFormula, as_type, pieces

Drive = tuple[float, float, Any, Any]
"""Start and end of a line, s, with the inputs at its start and their time derivatives, as vectors of a kernel."""


@dataclass(frozen=True)
class Drives:
    """The inputs of a run.

    Args:
        outline: the model.
        given: inputs over time, by name; the others keep their start values.
        points: communication points, s, shape (n + 1,).
        step: longest step of the stepper, s.

    Raises:
        UsageError, UnknownNameError: an input is invalid.
    """

    outline: Outline
    given: Mapping[str, Course]
    points: npt.NDArray[np.float64]
    step: float

    def __post_init__(self) -> None:
        outline, known = self.outline, [item.name for item in self.outline.inputs]
        for name, item in self.given.items():
            if name not in known:
                raise UnknownNameError(f"'{outline.name}' has no input '{name}'; {nearest(name, known)}")
            if name in outline.formulas and not isinstance(item, InputFormula | Constant):
                others = [other for other in outline.formulas if isinstance(self.given.get(other), InputFormula)]
                raise UsageError(
                    f"inputs {name} and {others[0]} describe motions: give all of {', '.join(outline.formulas)} as "
                    "expressions of time, or none of them"
                )

    @cached_property
    def courses(self) -> tuple[Course, ...]:
        """The course of each input."""
        return tuple(
            as_type(self.given.get(item.name) or Constant(item.name, item.start), item.type)
            for item in self.outline.inputs
        )

    @cached_property
    def exact(self) -> Mapping[str, InputFormula]:
        """The inputs that are part of the equations, by name."""
        formulas = self.outline.formulas
        return {item.name: item for item in self.courses if isinstance(item, InputFormula) and item.name in formulas}

    def at(self, time: float) -> Any:
        """Return the inputs that act from a time (s) on, as a vector of a kernel."""
        return vector([item.at(time) for item in self.courses])

    def between(self, k: int) -> list[Drive]:
        """Return the lines from communication point k to the next one."""
        start, end = self._times[k], self._times[k + 1]
        if not (self._followed or self.exact):
            return [(start, end, *self._held)]
        multistep = self.outline.multistep
        divide = any(item.curved for item in self._followed) or (multistep and bool(self._followed))
        times = pieces(() if multistep else self._followed, start, end, self.step, divide)
        lines = [
            ([self._columns[item.name][k]] * len(times), [0.0] * len(times))
            if item.name in self.exact
            else (item.secants if multistep else item.lines)(times)
            for item in self.courses
        ]
        return [
            (t, t1, vector([value[i] for value, _ in lines]), vector([rate[i] for _, rate in lines]))
            for i, (t, t1) in enumerate(pairwise(times))
        ]

    @cached_property
    def _times(self) -> list[float]:
        times: list[float] = self.points.tolist()
        return times

    @cached_property
    def _held(self) -> tuple[Any, Any]:
        """Inputs that stay as they are, and their derivatives."""
        return self.at(0.0), vector([0.0] * len(self.courses))

    @cached_property
    def _followed(self) -> tuple[Course, ...]:
        return tuple(item for item in self.courses if not (item.name in self.exact or isinstance(item, Constant)))

    @cached_property
    def _columns(self) -> Mapping[str, list[float]]:
        return {name: item.column(self.points).tolist() for name, item in self.exact.items()}

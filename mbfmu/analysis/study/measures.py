"""Measures: the numbers a run is reduced to."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mbfmu.base.result import Result
from mbfmu.errors import MbfmuError, UsageError

Array = npt.NDArray[np.float64]


def _mean(time: Array, values: Array) -> float:
    from scipy.integrate import trapezoid

    return float(trapezoid(values, time) / (time[-1] - time[0]))  # output points need not be equally spaced


MEASURES: dict[str, Callable[[Array, Array], float]] = {
    "max": lambda _, values: float(values.max()),
    "min": lambda _, values: float(values.min()),
    "last": lambda _, values: float(values[-1]),
    "mean": _mean,
    "rms": lambda time, values: math.sqrt(_mean(time, values**2)),
    "ptp": lambda _, values: float(np.ptp(values)),
}
"""Functions (time in s, shape (n_t,); values, shape (n_t,)) -> measure, by name."""


ERROR = "error"
"""Measure of a run: its estimated error, relative to the range of the worst variable."""


def _one(values: Array, index: int) -> Array:
    weights = np.zeros_like(values)
    weights[index] = 1.0
    return weights


def _mean_slope(time: Array) -> Array:
    weights, part = np.zeros_like(time), np.diff(time) / (2 * (time[-1] - time[0]))
    weights[:-1] += part
    weights[1:] += part
    return weights


def _rms_slope(time: Array, values: Array) -> Array:
    return _mean_slope(time) * values / (MEASURES["rms"](time, values) or math.inf)


SLOPES: dict[str, Callable[[Array, Array], Array]] = {
    "max": lambda _, values: _one(values, int(values.argmax())),
    "min": lambda _, values: _one(values, int(values.argmin())),
    "last": lambda _, values: _one(values, -1),
    "mean": lambda time, _: _mean_slope(time),
    "rms": _rms_slope,
    "ptp": lambda _, values: _one(values, int(values.argmax())) - _one(values, int(values.argmin())),
}
"""Functions (time in s, shape (n_t,); values, shape (n_t,)) -> derivatives of a measure, shape (n_t,), by its name.

Where two values are the largest, that of the first one is taken.
"""


@dataclass(frozen=True)
class Measure:
    """A number that a run is reduced to.

    Args:
        label: name of its column.
        function: one of `MEASURES`, or `ERROR`.
        name: name of the output; empty for the error of the run.
    """

    label: str
    function: str
    name: str

    def of(self, result: Result) -> float:
        """Return its value for a run.

        Raises:
            MbfmuError: the value is not finite.
        """
        if self.function != ERROR:
            return self.value(result.time, result[self.name])
        if not math.isfinite(result.error.value):
            raise MbfmuError(f"{self.label}: no error of the run is known; of an FMU measure last(solver.error)")
        return result.error.value

    def value(self, time: Array, values: Array) -> float:
        """Return its value for the output's values, shape (n_t,), at times, s, shape (n_t,).

        Raises:
            MbfmuError: the value is not finite.
        """
        value = MEASURES[self.function](time, values)
        if not math.isfinite(value):
            raise MbfmuError(f"{self.label} = {self.function}({self.name}) is {value}")
        return value


def measure(label: str, text: str) -> Measure:
    """Read a measure such as ``max(elbow.phi)``, or ``error``, the estimated error of a run.

    Raises:
        UsageError: the text is not a measure.
    """
    if text.strip() == ERROR:
        return Measure(label, ERROR, "")
    match = re.fullmatch(r"\s*(\w+)\s*\(\s*(.+?)\s*\)\s*", text)
    if not match or match[1] not in MEASURES:
        known = ", ".join(MEASURES)
        raise UsageError(f"measure '{label}={text}': write LABEL=FUNCTION(NAME), with one of {known}, or LABEL={ERROR}")
    return Measure(label, match[1], match[2])

"""Frequency response: gain and phase from inputs to outputs about a state.

A continuous form answers u = Re(U exp(i w t)) with y = Re(G(i w) U exp(i w t)), G(s) = C (s 1 - A)^-1 B + D; one of
sampled data with G(z) at z = exp(i w T), for frequencies up to half of 1/T (Franklin, Powell & Workman, Digital Control
of Dynamic Systems, 1998, chapters 2 and 4).
"""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from mbfmu.errors import UnknownNameError, UsageError, nearest
from mbfmu.formats import write_columns
from mbfmu.linearization.linear import Array, Linear

COUNT = 400
"""Number of frequencies where they are not given."""
AROUND = 10.0
"""Ratio of the limits of the frequencies to the slowest and fastest eigenvalue."""
DECADE = (0.01, 100.0)
"""Frequencies of a form without eigenvalues other than 0, Hz."""
NARROW = 1e6
"""Largest ratio of the frequencies where they are not given."""

ROUND_OFF = 1e-9
"""Gain, relative to the largest, that counts as zero."""


@dataclass(frozen=True)
class Margin:
    """The margins of an open loop from an input to an output, with negative feedback.

    Args:
        input: name of the input.
        output: name of the output.
        gain: factor by which the gain may grow until the closed loop oscillates, least of all above 1; None: any.
        gain_frequency: frequency at which it then oscillates, Hz.
        phase: phase that may be lost until it does, degrees; None: the gain is never 1.
        phase_frequency: frequency at which the gain is 1, Hz.
    """

    input: str
    output: str
    gain: float | None
    gain_frequency: float | None
    phase: float | None
    phase_frequency: float | None


@dataclass(frozen=True)
class FrequencyResponse:
    """The frequency response of a linear form.

    Args:
        frequency: Hz, shape (n_f,), rising.
        response: G, complex, shape (n_f, n_y, n_u), in SI units of the output over those of the input.
        inputs: names of u.
        outputs: names of y.
        linear: the form.
    """

    frequency: Array
    response: npt.NDArray[np.complex128]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    linear: Linear

    @property
    def gain(self) -> Array:
        """Gain abs(G), shape (n_f, n_y, n_u)."""
        return np.abs(self.response)

    @property
    def decibels(self) -> Array:
        """Gain 20 log10 abs(G), shape (n_f, n_y, n_u); -inf for a gain of 0."""
        with np.errstate(divide="ignore"):
            return np.asarray(20 * np.log10(np.abs(self.response)))

    @property
    def phase(self) -> Array:
        """Phase without jumps of full turns, degrees, shape (n_f, n_y, n_u); it begins between -180 and 180."""
        return np.asarray(np.degrees(np.unwrap(np.angle(self.response), axis=0)))

    def pair(self, output: str, input: str) -> npt.NDArray[np.complex128]:
        """Return G from an input to an output, shape (n_f,).

        Raises:
            UnknownNameError: there is no such input or output.
        """
        row, column = _number("output", output, self.outputs), _number("input", input, self.inputs)
        found: npt.NDArray[np.complex128] = self.response[:, row, column]
        return found

    def columns(self) -> dict[str, Array]:
        """Return a table: frequency, then gain, gain in decibels and phase of each pair, as ``y/u.gain``."""
        found = {"frequency": self.frequency}
        for row, output in enumerate(self.outputs):
            for column, name in enumerate(self.inputs):
                pair = f"{output}/{name}"
                found[f"{pair}.gain"] = self.gain[:, row, column]
                found[f"{pair}.decibels"] = self.decibels[:, row, column]
                found[f"{pair}.phase"] = self.phase[:, row, column]
        return found

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the table as .csv, .parquet, .mat or .npz; numbers read back exactly.

        Raises:
            UsageError: the path has another ending, or a library for it is not installed.
            MbfmuError: the file cannot be written.
        """
        return write_columns(Path(path), self.columns())

    def margins(self) -> tuple[Margin, ...]:
        """Return the margins of each pair, at the crossings within the frequencies, which are found on the form."""
        return tuple(
            self._margin(row, column) for row in range(len(self.outputs)) for column in range(len(self.inputs))
        )

    def _margin(self, row: int, column: int) -> Margin:
        there = self.linear.outputs.index(self.outputs[row]), self.linear.inputs.index(self.inputs[column])

        def at(frequency: float) -> complex:
            return complex(response_of(self.linear, np.array([frequency]))[0][there])

        G = self.response[:, row, column]
        ones = self._crossings(np.abs(G) - 1, lambda frequency: abs(at(frequency)) - 1)
        backs = [
            item
            for item in self._crossings(G.imag, lambda frequency: at(frequency).imag)
            if at(item).real < -ROUND_OFF * np.max(np.abs(G))  # neither the positive real axis nor a zero
        ]
        phases = [(math.degrees(np.angle(-at(item))), item) for item in ones]
        gains = [(1 / abs(at(item)), item) for item in backs]
        phase = min(phases, key=lambda item: abs(item[0]), default=(None, None))
        gain = min((item for item in gains if item[0] > 1), default=(None, None))
        return Margin(self.inputs[column], self.outputs[row], *gain, *phase)

    def _crossings(self, values: Array, function: Callable[[float], float]) -> list[float]:
        """Return the frequencies at which a function of them crosses zero, one for each change of sign."""
        found = []
        for k in np.flatnonzero(np.isfinite(values[:-1]) & np.isfinite(values[1:]) & (values[:-1] * values[1:] < 0)):
            low, high = float(self.frequency[k]), float(self.frequency[k + 1])
            if function(low) * function(high) < 0:
                found.append(float(brentq(function, low, high, xtol=1e-14 * high, rtol=1e-14)))
        return found


def frequency_response(
    linear: Linear,
    frequency: Sequence[float] | Array | None = None,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
) -> FrequencyResponse:
    """Return the frequency response of a linear form.

    Args:
        linear: the form, continuous or of sampled data.
        frequency: Hz, rising; None: 400 of them around the eigenvalues, up to half the sampling frequency.
        inputs: names of inputs; () for all.
        outputs: names of outputs; () for all.

    Raises:
        UnknownNameError: there is no such input or output.
        UsageError: the frequencies are not positive and rising, or beyond half the sampling frequency, or there are no
            inputs or outputs.
    """
    for what, known in (("inputs", linear.inputs), ("outputs", linear.outputs)):
        if not known:
            raise UsageError(f"the linear form has no {what}: there is no frequency response")
    columns = [_number("input", name, linear.inputs) for name in inputs or linear.inputs]
    rows = [_number("output", name, linear.outputs) for name in outputs or linear.outputs]
    given = _usual(linear) if frequency is None else np.array(frequency, dtype=np.float64)
    if given.ndim != 1 or not given.size or not (np.all(np.isfinite(given)) and np.all(given > 0)):
        raise UsageError("frequencies are positive numbers, in Hz")
    if np.any(np.diff(given) <= 0):
        raise UsageError("frequencies must rise")
    if linear.period and given[-1] > 0.5 / linear.period * (1 + 1e-12):
        raise UsageError(
            f"{given[-1]:g} Hz is beyond half the sampling frequency, {0.5 / linear.period:g} Hz: the sampled signal "
            "shows no faster oscillation"
        )
    some = [linear.inputs[k] for k in columns], [linear.outputs[k] for k in rows]
    response = response_of(linear, given)[:, rows][:, :, columns]
    return FrequencyResponse(given, response, tuple(some[0]), tuple(some[1]), linear)


def response_of(linear: Linear, frequency: Array) -> npt.NDArray[np.complex128]:
    """Return G of all inputs and outputs, complex, shape (n_f, n_y, n_u); infinite at an undamped eigenvalue.

    Args:
        linear: the form.
        frequency: Hz, shape (n_f,).
    """
    s = 2j * np.pi * frequency
    points = np.exp(s * linear.period) if linear.period else s
    found = np.empty((len(frequency), *linear.D.shape), dtype=np.complex128)
    unit = np.eye(len(linear.A))
    for k, point in enumerate(points):
        try:
            found[k] = linear.C @ np.linalg.solve(point * unit - linear.A, linear.B) + linear.D
        except np.linalg.LinAlgError:
            found[k] = complex(math.inf, 0.0)
    return found


def _usual(linear: Linear) -> Array:
    """Return frequencies around the eigenvalues, Hz."""
    sizes = np.array([abs(mode.eigenvalue) for mode in linear.modes]) / math.tau
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    low, high = (sizes.min() / AROUND, sizes.max() * AROUND) if sizes.size else DECADE
    if linear.period:
        high = 0.5 / linear.period
        low = min(low, high / AROUND)
    return np.geomspace(max(low, high / NARROW), high, COUNT)


def _number(what: str, name: str, known: tuple[str, ...]) -> int:
    if name not in known:
        raise UnknownNameError(f"the linear form has no {what} '{name}'; {nearest(name, known)}")
    return known.index(name)


def spread(text: str) -> Any:
    """Read ``LOW:HIGH:N`` as N frequencies, Hz, each the same factor above the last.

    Raises:
        UsageError: the text has another form.
    """
    try:
        low, high, number = text.split(":")
        ends, count = (float(low), float(high)), int(number)
        assert 0 < ends[0] < ends[1] < math.inf
        assert count > 1
    except (ValueError, AssertionError):
        raise UsageError(f"'{text}' is not LOW:HIGH:N with 0 < LOW < HIGH, such as 0.1:100:400") from None
    return np.geomspace(*ends, count)

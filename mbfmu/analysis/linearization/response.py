"""Frequency response: gain and phase from inputs to outputs about a state.

A continuous form answers u = Re(U exp(i w t)) with y = Re(G(i w) U exp(i w t)), G(s) = C (s 1 - A)^-1 B + D; one of
sampled data with G(z) at z = exp(i w T), for frequencies up to half of 1/T (Franklin, Powell & Workman, Digital Control
of Dynamic Systems, 1998, chapters 2 and 4).
"""

import cmath
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from mbfmu.analysis.linearization.linear import Array, Linear
from mbfmu.base.formats import write_columns
from mbfmu.errors import UnknownNameError, UsageError, nearest

COUNT = 400
"""Number of frequencies where the user requests none."""
AROUND = 10.0
"""Ratio of the limits of the frequencies to the slowest and fastest eigenvalue."""
DECADE = (0.01, 100.0)
"""Frequencies of a form without eigenvalues other than 0, Hz."""
NARROW = 1e6
"""Largest ratio of highest to lowest frequency where the user requests none."""

ROUND_OFF = 1e-9
"""Gain, relative to the largest, that counts as zero."""
LOUD = 1e6
"""Gain above which the search for a gain of 1 need not tell one from another, as next to an undamped mode."""
REAL = 1e-13
"""Imaginary part of G, relative to its size, that is round-off."""
NYQUIST = 1e-12
"""Difference of a frequency from half that of the sampling, as a part of it, up to which they are the same."""
COUPLED = 1e-12
"""Part of an undamped mode in a pair, relative to its output's and its input's slopes, that is round-off."""


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
        values: npt.NDArray[np.complex128] = self.response[:, row, column]
        return values

    def columns(self) -> dict[str, Array]:
        """Return a table: frequency, then gain, gain in decibels and phase of each pair, as ``y/u.gain``."""
        columns = {"frequency": self.frequency}
        for row, output in enumerate(self.outputs):
            for column, name in enumerate(self.inputs):
                pair = f"{output}/{name}"
                columns[f"{pair}.gain"] = self.gain[:, row, column]
                columns[f"{pair}.decibels"] = self.decibels[:, row, column]
                columns[f"{pair}.phase"] = self.phase[:, row, column]
        return columns

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the table as .csv, .parquet, .mat or .npz; numbers read back exactly.

        Raises:
            UsageError: the path has another ending, or a library for it is not installed.
            MbfmuError: the file cannot be written.
        """
        return write_columns(Path(path), self.columns())

    def margins(self) -> tuple[Margin, ...]:
        """Return the margins of each pair, at the crossings within the frequencies, computed from the form."""
        return tuple(
            self._margin(row, column) for row in range(len(self.outputs)) for column in range(len(self.inputs))
        )

    def _margin(self, row: int, column: int) -> Margin:
        there = self.linear.outputs.index(self.outputs[row]), self.linear.inputs.index(self.inputs[column])

        def at(frequency: float) -> complex:
            return complex(response_of(self.linear, np.array([frequency]))[0][there])

        G = self.response[:, row, column]
        real = np.abs(G.imag) <= REAL * np.abs(G)
        backs = self._crossings(np.where(real, 0.0, G.imag), lambda frequency: at(frequency).imag)
        if self._folds and not np.all(real):
            backs.append(float(self.frequency[-1]))
        least = -ROUND_OFF * np.max(np.abs(G[np.isfinite(G)]), initial=0.0)
        backs = [item for item in backs if at(item).real < least]  # neither the positive real axis nor a zero
        above = np.minimum(np.abs(G), LOUD) - 1
        ones = self._crossings(above, lambda frequency: min(abs(at(frequency)), LOUD) - 1)
        ones += [float(self.frequency[k]) for k in {0, len(above) - 1} if above[k] == 0]
        phases = [(math.degrees(cmath.phase(-at(item))), item) for item in ones]
        gains = [(1 / abs(at(item)), item) for item in backs]
        phase = min(phases, key=lambda item: abs(item[0]), default=(None, None))
        gain = min((item for item in gains if item[0] > 1), default=(None, None))
        return Margin(self.inputs[column], self.outputs[row], *gain, *phase)

    @property
    def _folds(self) -> bool:
        """Whether the frequencies end at half that of the sampling, where z = -1 and G is real."""
        period = self.linear.period
        return bool(period) and abs(2 * period * float(self.frequency[-1]) - 1) <= NYQUIST

    def _crossings(self, values: Array, function: Callable[[float], float]) -> list[float]:
        """Return the frequencies at which a function of them crosses zero, one for each change of sign.

        Args:
            values: of the function at the frequencies, shape (n_f,); 0 where round-off hides their sign.
            function: the function between the frequencies.
        """
        crossings = []
        signed = np.flatnonzero(values)
        for k, after in pairwise(signed.tolist()):
            if not values[k] * values[after] < 0:
                continue
            low, high = float(self.frequency[k]), float(self.frequency[after])
            if after > k + 1:  # it crosses at one of the frequencies
                crossings.append(float(self.frequency[(k + after) // 2]))
            elif function(low) * function(high) < 0:
                crossings.append(float(brentq(function, low, high, xtol=1e-14 * high, rtol=1e-14)))
        return crossings


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
    for kind, known in (("inputs", linear.inputs), ("outputs", linear.outputs)):
        if not known:
            raise UsageError(f"the linear form has no {kind}: there is no frequency response")
    columns = [_number("input", name, linear.inputs) for name in inputs or linear.inputs]
    rows = [_number("output", name, linear.outputs) for name in outputs or linear.outputs]
    hertz = _usual(linear) if frequency is None else np.array(frequency, dtype=np.float64)
    if hertz.ndim != 1 or not hertz.size or not (np.all(np.isfinite(hertz)) and np.all(hertz > 0)):
        raise UsageError("frequencies are positive numbers, in Hz")
    if np.any(np.diff(hertz) <= 0):
        raise UsageError("frequencies must rise")
    if linear.period and hertz[-1] > 0.5 / linear.period * (1 + NYQUIST):
        raise UsageError(
            f"{hertz[-1]:g} Hz is beyond half the sampling frequency, {0.5 / linear.period:g} Hz: the sampled signal "
            "shows no faster oscillation"
        )
    some = [linear.inputs[k] for k in columns], [linear.outputs[k] for k in rows]
    response = response_of(linear, hertz)[:, rows][:, :, columns]
    return FrequencyResponse(hertz, response, tuple(some[0]), tuple(some[1]), linear)


def response_of(linear: Linear, frequency: Array) -> npt.NDArray[np.complex128]:
    """Return G of all inputs and outputs, complex, shape (n_f, n_y, n_u); infinite where an undamped mode resonates.

    Args:
        linear: the form.
        frequency: Hz, shape (n_f,).
    """
    s = 2j * np.pi * frequency
    points = np.exp(s * linear.period) if linear.period else s
    response = np.empty((len(frequency), *linear.D.shape), dtype=np.complex128)
    unit = np.eye(len(linear.A))
    for k, point in enumerate(points):
        try:
            response[k] = linear.C @ np.linalg.solve(point * unit - linear.A, linear.B) + linear.D
        except np.linalg.LinAlgError:
            response[k] = _at_pole(linear, point * unit - linear.A)
    return response


def _at_pole(linear: Linear, M: npt.NDArray[np.complex128]) -> npt.NDArray[np.complex128]:
    """Return G where M = s 1 - A is singular: infinite in pairs in which the mode takes part, else its limit.

    With U* M = 0, M V = 0 and s = s0 + d, (M + d) x = B is met by x = V a / d + x0 + ... where U* V a = U* B,
    M x0 = B - V a and U* x0 = 0.

    Args:
        linear: the form.
        M: shape (n_x, n_x).
    """
    left, values, right = np.linalg.svd(M)
    count = max(1, int(np.sum(values <= len(M) * np.finfo(float).eps * values[0])))
    U, V = left[:, -count:], right[-count:].conj().T
    with np.errstate(divide="ignore", invalid="ignore"):
        try:
            Va = V @ np.linalg.solve(U.conj().T @ V, U.conj().T @ linear.B)
            x = right[:-count].conj().T @ ((left[:, :-count].conj().T @ (linear.B - Va)) / values[:-count, None])
            x -= V @ np.linalg.solve(U.conj().T @ V, U.conj().T @ x)
        except np.linalg.LinAlgError:  # a double eigenvalue with one shape
            return np.full(linear.D.shape, complex(math.inf, 0.0))
    least = COUPLED * np.outer(np.linalg.norm(linear.C, axis=1), np.linalg.norm(linear.B, axis=0))
    return np.where(np.abs(linear.C @ Va) > least, complex(math.inf, 0.0), linear.C @ x + linear.D)


def _usual(linear: Linear) -> Array:
    """Return frequencies around the eigenvalues, Hz."""
    sizes = np.array([abs(mode.eigenvalue) for mode in linear.modes]) / math.tau
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    low, high = (sizes.min() / AROUND, sizes.max() * AROUND) if sizes.size else DECADE
    if linear.period:
        high = 0.5 / linear.period
        low = min(low, high / AROUND)
    return np.geomspace(max(low, high / NARROW), high, COUNT)


def _number(kind: str, name: str, known: tuple[str, ...]) -> int:
    if name not in known:
        raise UnknownNameError(f"the linear form has no {kind} '{name}'; {nearest(name, known)}")
    return known.index(name)


def spread(text: str) -> Any:
    """Read ``LOW:HIGH:N`` as N frequencies, Hz, each the same factor above the last.

    Raises:
        UsageError: the text has another form.
    """
    try:
        low, high, points = text.split(":")
        ends, count = (float(low), float(high)), int(points)
        assert 0 < ends[0] < ends[1] < math.inf
        assert count > 1
    except (ValueError, AssertionError):
        raise UsageError(f"'{text}' is not LOW:HIGH:N with 0 < LOW < HIGH, such as 0.1:100:400") from None
    return np.geomspace(*ends, count)

"""Linear: a state-space form, its modes and its file."""

import io
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import eig, matrix_balance

from mbfmu.base.files import ending_of, write_aside

Array = npt.NDArray[np.float64]

ARRAYS, NAMES = ("A", "B", "C", "D", "x0", "u0", "y0"), ("states", "inputs", "outputs")
"""Fields of a linearization in a file, beside the eigenvalues: arrays, and tuples of names."""
ENDINGS = (".npz", ".json")
"""Endings of the files that a linearization is written to."""
FORGOTTEN = 1e-9
"""Largest eigenvalue of a sampled-data form that counts as 0: what has it is gone after one period."""
ROUNDING = 100.0
"""Error of a matrix element, relative to the norm and in units of round-off, for which an eigenvalue may stand."""


@dataclass(frozen=True)
class Mode:
    """A motion that keeps its shape: x(t) = Re(shape exp(eigenvalue t)).

    Args:
        eigenvalue: 1/s, with an imaginary part of at least 0; parts that are round-off are 0.
        shape: the states' amplitudes and phases, complex, shape (n_x,), the largest of them 1.
        shares: how much each state takes part in the mode, shape (n_x,), 1 in all: the product of its entries in the
            right and left eigenvectors, a state's share in the mode and the mode's in the state
            (Perez-Arriaga, Verghese and Schweppe, Selective modal analysis, 1982).
    """

    eigenvalue: complex
    shape: npt.NDArray[np.complex128]
    shares: Array

    def relative(self, rows: Sequence[int]) -> npt.NDArray[np.complex128]:
        """Return the entries of the shape in some rows, relative to the largest of them."""
        entries = self.shape[list(rows)]
        largest = entries[int(np.argmax(np.abs(entries)))] if entries.size else 1.0
        return entries / largest if largest else entries

    @property
    def frequency(self) -> float:
        """Frequency of the damped oscillation, Hz; 0: it does not oscillate."""
        return self.eigenvalue.imag / math.tau

    @property
    def damping(self) -> float | None:
        """Damping ratio, 1 where nothing oscillates and negative where the motion grows; None for an eigenvalue 0."""
        size = abs(self.eigenvalue)
        if math.isinf(size):
            return 1.0
        return 0.0 - self.eigenvalue.real / size if size else None


@dataclass(frozen=True)
class Linear:
    """x' = A x + B u, y = C x + D u, for deviations from the point of linearization.

    With a period it is a sampled-data form, x(t + period) = A x(t) + B u(t), with u held in between.

    Args:
        A: shape (n_x, n_x).
        B: shape (n_x, n_u).
        C: shape (n_y, n_x).
        D: shape (n_y, n_u).
        states: names of x: coordinates, their rates as ``der(...)``, and first-order states.
        inputs: names of u.
        outputs: names of y.
        x0: the state, in SI units.
        u0: the inputs.
        y0: the outputs.
        rest: largest acceleration of the chosen coordinates, or largest rate of the first-order states, at that point;
            0 in an equilibrium at rest.
        coordinates: names of all coordinates q.
        q0: the coordinates, in SI units.
        V: slopes of all coordinates with respect to x, shape (n, n_x).
        t0: time of the point, s.
        period: of a sampled-data form, s; 0: continuous in time.
    """

    A: Array
    B: Array
    C: Array
    D: Array
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    x0: Array
    u0: Array
    y0: Array
    rest: float
    coordinates: tuple[str, ...]
    q0: Array
    V: Array
    t0: float = 0.0
    period: float = 0.0

    @property
    def eigenvalues(self) -> npt.NDArray[np.complex128]:
        """Eigenvalues of A, 1/s, the least damped first; of a sampled-data form those of the same motion in time."""
        rates: npt.NDArray[np.complex128] = self._rates(np.linalg.eigvals(self.A).astype(np.complex128))
        return rates[np.lexsort((rates.imag, -rates.real))]

    def _rates(self, values: npt.NDArray[np.complex128]) -> npt.NDArray[np.complex128]:
        """Return eigenvalues of A in 1/s: z = exp(s period), and s = -inf for what is forgotten at once."""
        if not self.period:
            return values
        rates = np.full(values.shape, complex(-math.inf, 0.0))
        lasting = np.abs(values) > FORGOTTEN
        rates[lasting] = np.log(values[lasting]) / self.period
        return rates

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes, one for each real eigenvalue and each conjugate pair, slow oscillations first."""
        if not self.A.size:
            return ()
        with np.errstate(invalid="ignore"):  # SciPy makes integers of the scales too, which are not used
            balanced, (scale, _) = matrix_balance(self.A, permute=False, separate=True)  # to its usual sizes
        values, left, right = eig(balanced, left=True, right=True)
        norm = float(np.linalg.norm(balanced, 2))
        modes = []
        rates = self._rates(values.astype(np.complex128))
        for k in np.argsort(values.imag, kind="stable"):
            noise = _noise(left[:, k], right[:, k], norm)
            if self.period and abs(values[k]) > FORGOTTEN:
                noise /= abs(values[k]) * self.period
            value = complex(*(0.0 if abs(part) <= noise else float(part) for part in (rates[k].real, rates[k].imag)))
            if value.imag < 0 or (value.imag == 0 and values[k].imag < 0):
                continue  # it shows with its conjugate
            shape = scale * right[:, k]
            largest = shape[int(np.argmax(np.abs(shape)))]
            shares = np.abs(left[:, k] * right[:, k])
            if not shares.any():
                shares = np.abs(right[:, k]) ** 2
            modes.append(Mode(value, shape / largest, shares / shares.sum()))
        return tuple(sorted(modes, key=lambda mode: (mode.eigenvalue.imag, -mode.eigenvalue.real)))

    def participants(self, mode: Mode) -> dict[str, float]:
        """Return how much each coordinate, with its rate, or first-order state takes part in a mode, largest first."""
        totals: dict[str, float] = {}
        for state, share in zip(self.states, mode.shares.tolist(), strict=True):
            coordinate = place_of(state)
            totals[coordinate] = totals.get(coordinate, 0.0) + share
        return dict(sorted(totals.items(), key=lambda item: -item[1]))

    def data(self) -> dict[str, Any]:
        """Return everything as JSON data: matrices as rows, eigenvalues as [real, imaginary]."""
        arrays = {name: getattr(self, name).tolist() for name in ARRAYS}
        arrays |= {name: list(getattr(self, name)) for name in NAMES}
        modes = [
            {
                "eigenvalue": [mode.eigenvalue.real, mode.eigenvalue.imag],
                "frequency": mode.frequency,
                "damping": mode.damping,
                "shape": [[value.real, value.imag] for value in mode.shape],
                "shares": mode.shares.tolist(),
            }
            for mode in self.modes
        ]
        eigenvalues = [[value.real, value.imag] for value in self.eigenvalues]
        return arrays | {
            "t0": self.t0,
            "period": self.period,
            "rest": self.rest,
            "eigenvalues": eigenvalues,
            "modes": modes,
        }

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write everything as .npz or .json.

        Raises:
            UsageError: the path has another suffix.
        """
        target = Path(path)
        if ending_of(target, ENDINGS) == ".json":
            return write_aside(target, json.dumps(self.data(), indent=1).encode())
        content = io.BytesIO()
        arrays = {name: np.array(getattr(self, name)) for name in (*ARRAYS, *NAMES, "eigenvalues", "period")}
        np.savez(content, allow_pickle=False, **arrays)
        return write_aside(target, content.getvalue())


def place_of(state: str) -> str:
    """Return the coordinate that a state is the rate of, or the state itself."""
    return state.removeprefix("der(").removesuffix(")") if state.startswith("der(") else state


def _noise(left: Array, right: Array, norm: float) -> float:
    """Return how much of an eigenvalue may be round-off, 1/s.

    The change by small errors of the matrix is their norm over |y.x| for left and right eigenvectors of length 1
    (Wilkinson, The Algebraic Eigenvalue Problem, 1965, ch. 2), and of an eigenvalue that is about to be double the root
    of that.

    Args:
        left: left eigenvector, shape (n,).
        right: right eigenvector, shape (n,).
        norm: norm of the matrix, 1/s.
    """
    small = ROUNDING * float(np.finfo(float).eps)
    alone = abs(np.vdot(left, right)) / (np.linalg.norm(left) * np.linalg.norm(right))
    return norm * min(small / alone if alone else math.inf, math.sqrt(small))

"""Root locus: eigenvalues about steady states over a value, and the values at which the stability changes.

Each interval between two values in which the number of unstable eigenvalues changes is halved until it is short; there
the real part of the eigenvalue that crosses is zero, which Brent's method finds (Brent, Algorithms for Minimization
without Derivatives, 1973, chapter 4). An eigenvalue that was on the imaginary axis until then is left to halving.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq, linear_sum_assignment

from mbfmu.analysis.equilibria.newton import Found
from mbfmu.analysis.linearization import Linear
from mbfmu.analysis.modal.operating import Machine, checked_hold
from mbfmu.base.arguments import checked
from mbfmu.base.formats import write_columns
from mbfmu.errors import EquilibriumError, StartError, UnknownNameError, UsageError, nearest
from mbfmu.model import Model
from mbfmu.model.library import model_of
from mbfmu.run.inputs import courses

Array = npt.NDArray[np.float64]
Complex = npt.NDArray[np.complex128]

ALONE = 1e-9
"""Distance of a frequency from half that of the sampling, as a part of it, up to which they are the same."""
SHORT = 1e-3
"""Length of an interval of the parameter in which Brent's method takes over, relative to the distance of two of its
values."""


@dataclass(frozen=True)
class Critical:
    """A value at which the stability changes.

    Args:
        value: the value.
        eigenvalue: that is on the imaginary axis there, with an imaginary part of at least 0, 1/s.
        unstable: numbers of unstable eigenvalues just below and just above.
    """

    value: float
    eigenvalue: complex
    unstable: tuple[int, int]

    @property
    def text(self) -> str:
        """The change there as the value grows."""
        grows = self.unstable[1] > self.unstable[0]
        way = "oscillation" if self.eigenvalue.imag else "divergence"
        return f"{way} {'becomes unstable' if grows else 'becomes stable'}"


@dataclass(frozen=True)
class Locus:
    """Eigenvalues over a value.

    Args:
        name: name of the value.
        unit: its SI unit; empty if it has none.
        values: shape (n_v,).
        branches: eigenvalues, 1/s, shape (n_v, n), each column a branch as the value grows; NaN where there are fewer.
        unstable: number of eigenvalues with a positive real part at each value, shape (n_v,).
        critical: the values at which that number changes.
    """

    name: str
    unit: str
    values: Array
    branches: Complex
    unstable: npt.NDArray[np.int64]
    critical: tuple[Critical, ...]

    def columns(self) -> dict[str, Array]:
        """Return a table: the value, real and imaginary part of each branch, the number of unstable eigenvalues."""
        columns = {self.name: self.values}
        for k, branch in enumerate(self.branches.T, 1):
            columns |= {f"eigenvalue[{k}].re": branch.real, f"eigenvalue[{k}].im": branch.imag}
        return columns | {"unstable": self.unstable.astype(np.float64)}

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the table as .csv, .parquet, .mat or .npz; numbers read back exactly.

        Raises:
            UsageError: the path has another ending, or a library for it is not installed.
            MbfmuError: the file cannot be written.
        """
        return write_columns(Path(path), self.columns())


class _At(NamedTuple):
    """The eigenvalues at a value.

    Args:
        value: the value.
        clean: eigenvalues whose round-off is zero, 1/s.
        raw: the same with their round-off.
        found: the equilibrium, from which a search continues.
    """

    value: float
    clean: Complex
    raw: Complex
    found: Found | None

    @property
    def unstable(self) -> int:
        """Number of eigenvalues with a positive real part."""
        return int(np.sum(self.clean.real > 0))


Evaluate = Callable[[float, Found | None], _At]
"""Function (value, an equilibrium nearby) -> the eigenvalues."""


@checked
def locus(
    model: Model | str | os.PathLike[str],
    parameter: Mapping[str, Sequence[float]],
    values: Mapping[str, Any] | None = None,
    *,
    hold: Mapping[str, float] | None = None,
    free: Sequence[str] = (),
    coordinates: str | None = None,
    progress: Callable[[float], Any] | None = None,
) -> Locus:
    """Return the eigenvalues about steady states over a value, and where the stability changes.

    The states are those of `modes`: the start where it is steady, else an equilibrium, which is followed from value to
    value. A change of stability and back between two neighbouring values is not seen.

    Args:
        model: the mechanism or block, a name in models/, or the path of a model file.
        parameter: one name with its values, which rise: a parameter, an input, an output that is held in the
            equilibrium, such as the rate of a steady motion, or an argument of the model's function; in SI units.
        values: start values, inputs and parameters that differ from the model's, by name.
        hold: values of other outputs or inputs in the equilibrium, see `equilibrium`.
        free: names of inputs and parameters that are unknown there, see `equilibrium`.
        coordinates: ``absolute``, ``joint``, or mixed as ``absolute:load``; None: joint coordinates if they are fewer.
        progress: called with the fraction done.

    Raises:
        ModelError, StartError: the model or its start is invalid.
        EquilibriumError: there is no equilibrium at a value.
        UnknownNameError: there is nothing of a name.
        UsageError: there is not one name, or its values are not finite or do not rise.
    """
    if len(parameter) != 1:
        raise UsageError("a root locus is over one value: give one name with its values")
    ((name, requested),) = parameter.items()
    grid = np.array(requested, dtype=np.float64)
    if grid.size < 2 or not np.all(np.isfinite(grid)) or np.any(np.diff(grid) <= 0):
        raise UsageError(f"the values of {name} must be two or more finite numbers that rise")
    evaluate, unit = _evaluation(model, name, values or {}, checked_hold(hold), tuple(free), coordinates)
    points: list[_At] = []
    for index, value in enumerate(grid.tolist()):
        points.append(evaluate(value, points[-1].found if points else None))
        (progress or (lambda _: None))((index + 1) / len(grid))
    critical = [item for low, high in pairwise(points) for item in _crossings(evaluate, low, high, SHORT)]
    unstable = np.array([item.unstable for item in points])
    return Locus(name, unit, grid, _branches([item.clean for item in points]), unstable, tuple(critical))


def _evaluation(
    model: Model | str | os.PathLike[str],
    name: str,
    values: Mapping[str, Any],
    hold: dict[str, float],
    free: tuple[str, ...],
    coordinates: str | None,
) -> tuple[Evaluate, str]:
    """Return the function that evaluates a value, and its unit."""
    machine = Machine.of(model_of(model, values), hold, free, values, coordinates)
    dae = machine.dae
    parameters = {item.name: k for k, item in enumerate(dae.parameters)}
    inputs = {item.name: item for item in dae.inputs}
    outputs = {item.name: item for item in dae.outputs}
    if name in parameters:
        index, item = parameters[name], dae.parameters[parameters[name]]

        def with_parameter(value: float, before: Found | None) -> _At:
            if not item.min <= value <= item.max:
                raise UsageError(f"{name} = {value:g} is outside its bounds {item.min:g} to {item.max:g} {item.unit}")
            p = dae.p_default()
            p[index] = value
            return _at(name, machine, value, before, p=p)

        return with_parameter, item.unit
    if name in inputs:

        def with_input(value: float, before: Found | None) -> _At:
            return _at(name, machine, value, before, given=courses({name: value}, False))

        return with_input, inputs[name].unit
    if name in outputs:

        def with_held(value: float, before: Found | None) -> _At:
            held = Machine(machine.model, machine.prepared, {**hold, name: value}, free, values)
            return _at(name, held, value, before)

        return with_held, outputs[name].unit
    if isinstance(model, Model):
        known = [*parameters, *inputs, *outputs]
        raise UnknownNameError(f"'{dae.name}' has no parameter, input or output '{name}'; {nearest(name, known)}")

    def remade(value: float, before: Found | None) -> _At:
        with_it = {**values, name: value}  # an argument of the model's function, or an error that says what there is
        return _at(name, Machine.of(model_of(model, with_it), hold, free, with_it, coordinates), value, before)

    return remade, ""


def _at(name: str, machine: Machine, value: float, before: Found | None, **given: Any) -> _At:
    try:
        operating = machine.operating(before=before, **given)
    except (EquilibriumError, StartError) as error:
        raise type(error)(f"{name} = {value:g}: {error}") from None
    linear = machine.linear(operating)
    raw = linear.eigenvalues
    return _At(value, clean_of(linear), raw[np.isfinite(raw)], operating.found)


def clean_of(linear: Linear) -> Complex:
    """Return all eigenvalues of a form, 1/s, in which round-off is zero; none that are forgotten at once."""
    upper = np.array([mode.eigenvalue for mode in linear.modes], dtype=np.complex128)
    upper = upper[np.isfinite(upper)]
    fastest = np.pi / linear.period if linear.period else np.inf  # of a negative real z, which has no conjugate
    return np.concatenate([upper, upper[(upper.imag > 0) & (upper.imag < fastest * (1 - ALONE))].conj()])


def _crossings(evaluate: Evaluate, low: _At, high: _At, least: float) -> Iterator[Critical]:
    """Yield where the number of unstable eigenvalues changes between two values.

    Args:
        evaluate: function that evaluates a value.
        low: the lower value.
        high: the higher value.
        least: part of the interval that need not be halved.
    """
    if low.unstable == high.unstable:
        return
    if least < 1:
        middle = evaluate((low.value + high.value) / 2, low.found)
        yield from _crossings(evaluate, low, middle, 2 * least)
        yield from _crossings(evaluate, middle, high, 2 * least)
        return
    yield _crossing(evaluate, low, high)


def _crossing(evaluate: Evaluate, low: _At, high: _At) -> Critical:
    """Return where an eigenvalue crosses the imaginary axis in a short interval."""
    still = min(int(np.sum(item.clean == 0)) for item in (low, high))
    one, other = _matched(_without_zeros(low), _without_zeros(high))
    unstable = (low.unstable, high.unstable)
    changed = np.flatnonzero(one.real * other.real < 0)
    undamped = any(np.any((item.clean.real == 0) & (item.clean.imag != 0)) for item in (low, high))
    if undamped or not changed.size:  # it leaves the axis on which it lay
        while (value := (low.value + high.value) / 2) not in {low.value, high.value}:
            middle = evaluate(value, low.found)
            low, high = (middle, high) if middle.unstable == low.unstable else (low, middle)
        gone = _matched(low.clean, high.clean)[0]
        return Critical(high.value, complex(0.0, abs(gone[np.argmin(np.abs(gone.real))].imag)), unstable)
    k = changed[np.argmax(one[changed].imag)]

    def crossing(value: float) -> complex:
        raw = evaluate(value, low.found).raw
        moving = raw[np.argsort(np.abs(raw), kind="stable")[still:]]
        part = (value - low.value) / (high.value - low.value)
        return complex(moving[np.argmin(np.abs(moving - ((1 - part) * one[k] + part * other[k])))])

    value = brentq(lambda item: crossing(item).real, low.value, high.value, xtol=1e-15, rtol=4 * np.finfo(float).eps)
    return Critical(float(value), complex(0.0, abs(crossing(value).imag)), unstable)


def _without_zeros(item: _At) -> Complex:
    """Return the eigenvalues without those that are zero up to round-off."""
    return item.raw[np.argsort(np.abs(item.raw), kind="stable")[int(np.sum(item.clean == 0)) :]]


def _matched(one: Complex, other: Complex) -> tuple[Complex, Complex]:
    """Return two sets of eigenvalues in an order in which neighbours belong together, the fewer of the two."""
    rows, columns = linear_sum_assignment(_distances(one, other))
    return one[rows], other[columns]


def _distances(one: Complex, other: Complex) -> Array:
    """Return the distances of eigenvalues, relative to their sizes, shape (number of one, number of the other)."""
    sizes = np.sqrt(np.outer(1 + np.abs(one), 1 + np.abs(other)))
    return np.asarray(np.abs(one[:, None] - other[None, :]) / sizes)


def _branches(points: Sequence[Complex]) -> Complex:
    """Return eigenvalues at successive values as branches: columns in which each is near the last."""
    count = max(len(item) for item in points)
    branches = np.full((len(points), count), complex(np.nan, np.nan))
    # branches begin in the order of the first eigenvalues
    first = points[0][np.lexsort((points[0].imag, -points[0].real))]
    branches[0, : len(first)] = first
    last = np.where(np.isnan(branches[0]), 0, branches[0])
    # each goes on to the eigenvalue that is nearest, all distances together least
    for row, item in enumerate(points[1:], 1):
        rows, columns = linear_sum_assignment(_distances(last, item))
        branches[row, rows] = item[columns]
        last = np.where(np.isnan(branches[row]), last, branches[row])
    return branches

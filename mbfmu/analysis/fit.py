"""Fit: parameters and start values from measured outputs, by least squares.

With the outputs y(x) of a run for values x, measured ones m and a scale sigma for each output, the sum of squares of
r = (y - m) / sigma is made least, within the bounds of the values. J = r_x is exact, see `Sensitivity.jacobian`. If
errors of the measurements are independent and sigma is their standard deviation, the values have the covariance
(J^T J)^-1; without known errors it is that times the mean square of the residuals, sum r^2 / (n_r - n_x) (Bard,
Nonlinear Parameter Estimation, 1974, 7-5).
"""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from mbfmu.analysis.equilibria import write_start
from mbfmu.analysis.final_run import final_run
from mbfmu.analysis.sensitivity import Sensitivity
from mbfmu.base.arguments import checked
from mbfmu.base.described import Described, part_of, takes
from mbfmu.base.result import read_table
from mbfmu.errors import StartError, StepError, UnknownNameError, UsageError, nearest
from mbfmu.model import Model
from mbfmu.model.library import model_of
from mbfmu.prepared import settings
from mbfmu.prepared.prepare import prepare_run
from mbfmu.prepared.settings import ModelSettings, RunSettings

Array = npt.NDArray[np.float64]
Told = Callable[[int, float], None]
"""Function of the number of runs so far and the root mean square of the residuals of the last one."""

CONVERGED = 1e-14
"""Relative change of the values, the sum of squares or its gradient at which a fit ends."""
MOST_RUNS = 200
"""Largest number of runs of a fit, besides those for derivatives."""
SMALL = 1e-12
"""Largest spread of a measured output, relative to its size, that counts as constant."""
COMPUTED = ("energy.", "constraint.")
"""Beginnings of the names of outputs that no sensor measures."""
ALIKE = 1e-9
"""Singular value of the scaled Jacobian, relative to the largest, below which values cannot be told apart."""
COARSE = 1e-4
"""Estimated error of an output, relative to its range, up to which the steps of a fit are short enough."""
SHARE = 0.1
"""Smallest share of a value in an undetermined combination of values for a message to name it."""


@dataclass(frozen=True)
class Fitted:
    """A value that was fitted.

    Args:
        name: of the parameter or start value.
        unit: SI unit.
        start: where the search began.
        value: the result.
        error: standard error; NaN if the value is at a bound, infinite if the data do not determine it.
        bound: whether it is at a bound.
    """

    name: str
    unit: str
    start: float
    value: float
    error: float
    bound: bool


@dataclass(frozen=True)
class Fit:
    """A model's values that fit measured outputs best.

    Args:
        name: of the model.
        items: the values.
        residuals: root mean square of computed minus measured values, for each output.
        units: SI units of these outputs.
        covariance: of the values, shape (n, n).
        rms: root mean square of the residuals, each in units of its output's scale.
        points: number of measured values.
        runs: number of runs of the model, besides those for derivatives.
        notices: what a user should know about the fit.
    """

    name: str
    items: tuple[Fitted, ...]
    residuals: dict[str, float]
    units: dict[str, str]
    covariance: Array
    rms: float
    points: int
    runs: int
    notices: tuple[str, ...]

    @property
    def values(self) -> dict[str, float]:
        """The values by name."""
        return {item.name: item.value for item in self.items}

    def __getitem__(self, name: str) -> float:
        """Return a fitted value.

        Raises:
            UnknownNameError: it was not fitted.
        """
        if name not in self.values:
            raise UnknownNameError(f"'{name}' was not fitted; {nearest(name, self.values)}")
        return self.values[name]

    @checked
    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the values as a start file, .json or .toml, which ``mbfmu simulate --start`` takes.

        Raises:
            UsageError: the path has another ending.
            MbfmuError: the file cannot be written.
        """
        return write_start(path, self.values)


@dataclass(frozen=True)
class FitArguments(ModelSettings):
    """The arguments of `fit`."""

    model: Annotated[Model | str | os.PathLike[str], settings.MODEL]
    data: Annotated[
        str | os.PathLike[str],
        Described(
            "table of measured values (.csv, .parquet, .mat, .npz) with a column ``time``, s, not before 0. Columns "
            "with the name of an input drive the model, unless `inputs` says otherwise"
        ),
    ]
    free: Annotated[
        Sequence[str],
        Described("names of the parameters and start values; the search begins at the model's values"),
    ]
    _: KW_ONLY
    outputs: Annotated[
        Sequence[str],
        Described("columns to fit; empty: joint coordinates, rates, accelerations and outputs of blocks"),
    ] = ()
    sigma: Annotated[
        Mapping[str, float] | None,
        Described(
            "standard deviation of the errors of each of them, by name, in SI units; None: the errors are unknown, and "
            "each output counts relative to its spread, the standard deviation of its column"
        ),
    ] = None
    bounds: Annotated[
        Mapping[str, Sequence[float]] | None,
        Described("least and greatest value by name, for values whose own bounds are too wide"),
    ] = None
    tolerance: Annotated[float | None, settings.TOLERANCE] = None
    progress: Annotated[Told | None, Described("called after each run")] = None


@takes(FitArguments)
def fit(search: FitArguments) -> Fit:
    """Compute parameters and start values that fit measured outputs, by least squares with exact derivatives.

    Raises:
        UsageError, UnknownNameError: an argument or a column is invalid.
        ModelError, StepperError: the model or the stepper is invalid.
        StartError, StepError: the first run fails, or a derivative is unknown, as after an event.
        MbfmuError: the data are missing or hold something else than numbers.
    """
    # the data: columns over the time
    data, sigma = search.data, search.sigma
    system = model_of(search.model, search.values)
    columns = read_table(data)
    time = columns.pop("time")
    if time[0] < 0:
        raise UsageError(f"'{data}' begins at t = {time[0]:g} s, and a run at 0: shift its times")
    # which columns drive inputs, and which are fitted
    outline = prepare_run(system, part_of(search, RunSettings)).outline
    driving = {item.name: str(data) for item in outline.inputs if item.name in columns}
    fitted = _measured(outline, columns, search.outputs, str(data))
    begun = time[0] == 0
    times = time if begun else np.concatenate([[0.0], time])
    if len(times) < 2:
        raise UsageError(f"'{data}' has one row, at t = 0 s: a fit needs later times too")
    # the run with these inputs, and its residuals
    driven = replace(part_of(search, RunSettings), inputs={**driving, **(search.inputs or {})})
    run = Sensitivity(system, None, search.free, outputs=fitted, times=times, **driven.of_model())
    measured = np.array([columns[name] for name in fitted]).T
    scales, limits, progress = _scales(measured, fitted, sigma), run.limits(search.bounds), search.progress
    if measured.size < len(run.free):
        raise UsageError(f"'{data}' has {measured.size} measured values, for {len(run.free)} free ones: free fewer")
    run.outputs()  # a failure at the begin of the search is reported as it is
    problem = _Problem(run, measured, scales, 0 if begun else 1, limits, progress or (lambda *_: None))
    found = problem.solved(outline.name, sigma is not None, {item.name: item.unit for item in outline.outputs})
    return replace(found, notices=(*found.notices, *_coarse(found, system, driven, float(times[-1]))))


def _coarse(found: Fit, system: Model, driven: RunSettings, stop: float) -> tuple[str, ...]:
    """Return a notice if the steps of the fitted model have a larger error in an output than the fit leaves there."""
    result = final_run(system, driven, found.values, stop)
    for name, rest in found.residuals.items():
        error = result.error.by_variable.get(name, 0.0)
        if error > max(rest, COARSE * float(np.ptp(result[name]))):
            size = f"{error:.2g} {found.units[name]}, and the fit leaves {rest:.2g}"
            return (f"the steps have an estimated error of {size} in {name}: take a smaller step",)
    return ()


def _measured(outline: Any, columns: Mapping[str, Array], requested: Sequence[str], data: str) -> tuple[str, ...]:
    """Return the names of the columns to fit."""
    known = {item.name: item for item in outline.outputs}
    if len(set(requested)) != len(requested):
        raise UsageError(f"outputs: name each column once, not {', '.join(requested)}")
    for name in requested:
        if name not in known:
            raise UnknownNameError(f"'{outline.name}' has no output '{name}'; {nearest(name, known)}")
        if name not in columns:
            raise UsageError(f"'{data}' has no column '{name}'; {nearest(name, columns)}")
        if known[name].type != "Real":
            raise UsageError(f"'{name}' is of type {known[name].type}: leave it out, it has no slope")
    chosen = requested or [
        name
        for name, item in known.items()
        if name in columns and item.kind == "output" and item.type == "Real" and not name.startswith(COMPUTED)
    ]
    if not chosen:
        text = ", ".join(list(columns)[:8]) or "nothing but the time"
        raise UsageError(
            f"'{data}' has no column with the name of an output of '{outline.name}' such as "
            f"{', '.join(list(known)[:3])}; it has {text}"
        )
    return tuple(chosen)


def _scales(measured: Array, names: tuple[str, ...], sigma: Mapping[str, float] | None) -> Array:
    """Return the scale of each output, shape (n_y,)."""
    if sigma is not None:
        if set(sigma) != set(names):
            odd = sorted(set(sigma) ^ set(names))[0]
            raise UsageError(f"sigma: give one for each of {', '.join(names)}, and for nothing else; see '{odd}'")
        for name, value in sigma.items():
            if not (math.isfinite(value) and value > 0):
                raise UsageError(f"sigma of {name} = {value}: it must be a positive number")
        return np.array([sigma[name] for name in names], dtype=np.float64)
    spread = measured.std(axis=0)
    return np.where(spread > SMALL * np.abs(measured).max(axis=0), spread, 1.0)


class _Problem:
    """The residuals of a fit and their Jacobian, as functions of the free values in units of their sizes."""

    def __init__(
        self, run: Sensitivity, measured: Array, scales: Array, first: int, limits: tuple[Array, Array], progress: Told
    ) -> None:
        self._run, self._measured, self._scales, self._first, self._told = run, measured, scales, first, progress
        self._start, self._limits = run.values, limits
        self._sizes = np.where(self._start != 0, np.abs(self._start), 1.0)
        self.runs = 0

    def values(self, x: Array) -> Array:
        """Return the free values; round-off does not take them beyond their bounds."""
        values: Array = np.clip(x * self._sizes, *self._limits)
        return values

    def _residuals(self, outputs: Array) -> Array:
        residuals: Array = ((outputs[self._first :] - self._measured) / self._scales).ravel()
        return residuals

    def residuals(self, x: Array) -> Array:
        """Return the residuals, infinite ones where the model has no run."""
        self.runs += 1
        try:
            residuals = self._residuals(self._run.outputs(self.values(x)))
        except (StartError, StepError):
            return np.full(self._measured.size, math.inf)
        self._told(self.runs, float(np.sqrt(np.mean(residuals**2))))
        return residuals

    def jacobian(self, x: Array) -> Array:
        """Return the derivatives of the residuals, shape (n_r, n)."""
        _, slopes = self._run.jacobian(self.values(x))
        weighted: Array = slopes[self._first :] / self._scales[:, None] * self._sizes
        return weighted.reshape(-1, len(x))

    def solved(self, name: str, known: bool, units: Mapping[str, str]) -> Fit:
        """Return the fit.

        Args:
            name: of the model.
            known: whether the errors of the measurements are known.
            units: of the outputs.
        """
        from scipy.optimize import least_squares

        # Gauss-Newton in a trust region: min |r(x)|^2 / 2 within the bounds, with the exact J = r_x
        inside = tuple(item / self._sizes for item in self._limits)
        solution = least_squares(
            self.residuals, self._start / self._sizes, self.jacobian, inside, x_scale="jac", ftol=CONVERGED,
            xtol=CONVERGED, gtol=CONVERGED, max_nfev=MOST_RUNS,
        )  # fmt: skip
        free, values = self._run.free, self.values(solution.x)
        at_bound = solution.active_mask != 0
        # covariance s^2 (J^T J)^-1, with s^2 = |r|^2 / (n_r - n) where the errors of the data are not known
        squares, left = float(solution.fun @ solution.fun), solution.fun.size - len(free)
        scale = 1.0 if known else squares / left if left else math.nan
        covariance, alike = _covariance(solution.jac, ~at_bound, free)
        covariance *= np.outer(self._sizes, self._sizes)
        finite = np.isfinite(covariance)  # what is not determined stays so, whatever the residuals are
        covariance[finite] *= scale
        # notices: values that the data leave open, no data left for errors, no rest
        notices = list(alike)
        if not (left or known):
            notices.append(
                f"{len(free)} values take {solution.fun.size} measured ones to the last, which leaves none to tell "
                "their errors: measure more, or say what the errors of the data are (--sigma)"
            )
        if solution.status == 0:
            notices.append(f"the fit did not come to rest in {MOST_RUNS} runs: begin nearer to the result")
        # the fit, with the root mean square of each output
        each = (solution.fun.reshape(self._measured.shape) * self._scales).T
        items = zip(self._run.signals, self._start, values, np.sqrt(np.diag(covariance)), at_bound, strict=True)
        return Fit(
            name=name,
            items=tuple(
                Fitted(item.name, item.unit, float(a), float(b), float(error), bool(bound))
                for item, a, b, error, bound in items
            ),
            residuals={
                key: float(np.sqrt(np.mean(row**2))) for key, row in zip(self._run.output_names, each, strict=True)
            },
            units={key: units[key] for key in self._run.output_names},
            covariance=covariance,
            rms=math.sqrt(squares / solution.fun.size),
            points=solution.fun.size,
            runs=self.runs,
            notices=tuple(notices),
        )


def _covariance(J: Array, moving: npt.NDArray[np.bool_], free: Sequence[str]) -> tuple[Array, tuple[str, ...]]:
    """Return (J^T J)^-1, NaN for values at a bound, and notices of values that the data do not determine.

    Args:
        J: shape (n_r, n).
        moving: whether each value is free to move, shape (n,).
        free: their names.
    """
    n = J.shape[1]
    covariance, notices = np.full((n, n), math.nan), []
    columns = np.flatnonzero(moving)
    if not columns.size:
        return covariance, ()
    # singular values of J with columns of length 1
    sizes = np.linalg.norm(J[:, columns], axis=0)
    sizes[sizes == 0] = 1.0
    _, singular, V = np.linalg.svd(J[:, columns] / sizes, full_matrices=False)
    # directions that the data do not determine
    lost = singular <= ALIKE * max(singular.max(), np.finfo(float).tiny)
    for row in V[lost]:
        names = [free[int(k)] for k, part in zip(columns, row, strict=True) if abs(part) > SHARE]
        undetermined_names = names[0] if len(names) == 1 else f"{', '.join(names)} apart"
        notices.append(f"the data do not determine {undetermined_names}: free fewer values, or measure more")
    # (J^T J)^-1 = V diag(sigma^-2) V^T over the others, in the units of the columns
    kept = V[~lost] / singular[~lost, None]
    block = kept.T @ kept / np.outer(sizes, sizes)
    undetermined = (np.abs(V[lost]) > SHARE).any(axis=0)
    block[undetermined, undetermined] = math.inf
    covariance[np.ix_(columns, columns)] = block
    return covariance, tuple(notices)

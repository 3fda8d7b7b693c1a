"""Fit: parameters and start values from measured outputs, by least squares.

With the outputs y(x) of a run for values x, measured ones m and a scale sigma for each output, the sum of squares of
r = (y - m) / sigma is made least, within the bounds of the values. J = r_x is exact, see `Sensitivity.jacobian`. If
errors of the measurements are independent and sigma is their standard deviation, the values have the covariance
(J^T J)^-1; without known errors it is that times the mean square of the residuals, sum r^2 / (n_r - n_x) (Bard,
Nonlinear Parameter Estimation, 1974, 7-5). The profile of a value is the least sum of squares with this value held at
others (Bates and Watts, Nonlinear Regression Analysis and Its Applications, 1988, ch. 6).
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
from mbfmu.analysis.identifiability import ALIKE, Identifiability, identifiability
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
COARSE = 1e-4
"""Estimated error of an output, relative to its range, up to which the steps of a fit are short enough."""
SURE = 0.95
"""Probability that an interval holds a value."""
STEPS = (1.0, 2.0, 3.0)
"""Standard errors to either side at which a profile is computed."""


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
        interval: ends of the interval of 95 %, from the standard error.
    """

    name: str
    unit: str
    start: float
    value: float
    error: float
    bound: bool
    interval: tuple[float, float]


@dataclass(frozen=True)
class Profile:
    """The rise of the sum of squares over one value, which is held while all others are fitted again.

    Args:
        name: of the value.
        values: at which it was held, increasing; one of them is the result.
        rise: of the sum of squares, in units of the variance of a residual; of a linear
            model it is the square of the number of standard errors.
        interval: ends of the interval of 95 %; infinite where the rise does not reach it.
    """

    name: str
    values: tuple[float, ...]
    rise: tuple[float, ...]
    interval: tuple[float, float]


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
        identifiability: what the data tell of the values that are at no bound.
        profiles: of the values that are determined worst, if they were requested.
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
    identifiability: Identifiability
    profiles: tuple[Profile, ...]
    notices: tuple[str, ...]

    @property
    def correlation(self) -> Array:
        """Correlation of the values, shape (n, n); NaN for those at a bound and those that the data do not tell."""
        with np.errstate(invalid="ignore", divide="ignore"):
            deviations = np.sqrt(np.diag(self.covariance))
            correlation: Array = self.covariance / np.outer(deviations, deviations)
        return correlation

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
        Described("names of the parameters and start values; the initial guess is the model's values"),
    ]
    _: KW_ONLY
    outputs: Annotated[
        Sequence[str],
        Described("columns to fit; empty: joint coordinates, velocities, accelerations and outputs of blocks"),
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
    profiles: Annotated[
        int, Described("number of values, those with the largest relative standard errors, that get a profile")
    ] = 0
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
    if search.profiles < 0:
        raise UsageError(f"profiles = {search.profiles}: give the number of values that get one, or 0")
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
    units = {item.name: item.unit for item in outline.outputs}
    found = problem.solved(outline.name, sigma is not None, units, search.profiles)
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

    def solved(self, name: str, known: bool, units: Mapping[str, str], profiles: int) -> Fit:
        """Return the fit.

        Args:
            name: of the model.
            known: whether the errors of the measurements are known.
            units: of the outputs.
            profiles: number of profiles.
        """
        from scipy.special import stdtrit

        # Gauss-Newton in a trust region: min |r(x)|^2 / 2 within the bounds, with the exact J = r_x
        free, n = self._run.free, len(self._start)
        solution = self._least(self._start / self._sizes, np.ones(n, dtype=bool))
        values, runs = self.values(solution.x), self.runs
        at_bound = solution.active_mask != 0
        # covariance s^2 (J^T J)^-1, with s^2 = |r|^2 / (n_r - n) where the errors of the data are not known
        squares, left = float(solution.fun @ solution.fun), solution.fun.size - n
        scale = 1.0 if known else squares / left if left else math.nan
        known_values = self._identifiability(solution, ~at_bound)
        covariance = _covariance(solution.jac, ~at_bound, [name in sum(known_values.undetermined, ()) for name in free])
        covariance *= np.outer(self._sizes, self._sizes)
        finite = np.isfinite(covariance)  # what is not determined stays so, whatever the residuals are
        covariance[finite] *= scale
        # notices: values that the data leave open, no data left for errors, no rest
        notices = list(known_values.notices)
        if not (left or known):
            notices.append(
                f"{n} values take {solution.fun.size} measured ones to the last, which leaves none to tell "
                "their errors: measure more, or say what the errors of the data are (--sigma)"
            )
        if solution.status == 0:
            notices.append(f"the fit did not come to rest in {MOST_RUNS} runs: begin nearer to the result")
        # intervals by Student's distribution, or the normal one if the errors are known; profiles of the worst values
        errors = np.sqrt(np.diag(covariance))
        quantile = float(stdtrit(math.inf if known else max(left, 1), (1 + SURE) / 2))
        worst = sorted(np.flatnonzero(np.isfinite(errors) & (errors > 0)), key=lambda k: -errors[k] / self._sizes[k])
        drawn = [self._profile(solution, int(k), errors[k], squares, scale, quantile) for k in worst[:profiles]]
        # the fit, with the root mean square of each output
        each = (solution.fun.reshape(self._measured.shape) * self._scales).T
        items = zip(self._run.signals, self._start, values, errors, at_bound, strict=True)
        return Fit(
            name=name,
            items=tuple(
                Fitted(
                    item.name, item.unit, float(a), float(b), float(error), bool(bound),
                    (float(b - quantile * error), float(b + quantile * error)),
                )
                for item, a, b, error, bound in items
            ),
            residuals={
                key: float(np.sqrt(np.mean(row**2))) for key, row in zip(self._run.output_names, each, strict=True)
            },
            units={key: units[key] for key in self._run.output_names},
            covariance=covariance,
            rms=math.sqrt(squares / solution.fun.size),
            points=solution.fun.size,
            runs=runs,
            identifiability=known_values,
            profiles=tuple(drawn),
            notices=tuple(notices),
        )  # fmt: skip

    def _least(self, x: Array, moving: npt.NDArray[np.bool_]) -> Any:
        """Return the solution of SciPy in which some of the values move from x, and the others stay."""
        from scipy.optimize import least_squares

        def whole(part: Array) -> Array:
            moved: Array = x.copy()
            moved[moving] = part
            return moved

        low, high = (item[moving] / self._sizes[moving] for item in self._limits)
        found: Any = least_squares(
            lambda part: self.residuals(whole(part)), np.clip(x[moving], low, high),
            lambda part: self.jacobian(whole(part))[:, moving], (low, high), x_scale="jac", ftol=CONVERGED,
            xtol=CONVERGED, gtol=CONVERGED, max_nfev=MOST_RUNS,
        )  # fmt: skip
        return found

    def _identifiability(self, solution: Any, moving: npt.NDArray[np.bool_]) -> Identifiability:
        """Return what the data tell of the values that are free to move."""
        values = self.values(solution.x)

        def residuals(moved: Array) -> Array:
            x = values.copy()
            x[moving] = moved
            inside = np.array_equal(np.clip(x, *self._limits), x)
            return self.residuals(x / self._sizes) if inside else np.full(self._measured.size, math.inf)

        J, free = (solution.jac / self._sizes)[:, moving], self._run.free
        names = [name for name, moves in zip(free, moving, strict=True) if moves]
        return identifiability(J, values[moving], self._sizes[moving], names, residuals)

    def _profile(
        self, solution: Any, index: int, error: float, squares: float, scale: float, quantile: float
    ) -> Profile:
        """Return the profile of a value, from its standard error and the sum of squares of the fit."""
        others = np.arange(len(self._sizes)) != index
        best = float(self.values(solution.x)[index])
        points = {best: 0.0}
        for side in (-1.0, 1.0):
            x = solution.x.copy()
            for step in STEPS:
                held = float(np.clip(best + side * step * error, *(item[index] for item in self._limits)))
                x[index] = held / self._sizes[index]
                if others.any():
                    again = self._least(x, others)
                    x[others] = again.x
                    total = 2 * again.cost
                else:
                    total = float(np.sum(self.residuals(x) ** 2))
                points[held] = (total - squares) / scale
        values = np.array(sorted(points))
        rise = np.array([points[value] for value in values.tolist()])
        # the signed root of the rise is nearly a line, on which the ends are those of the quantile
        root = np.sign(values - best) * np.sqrt(np.maximum(rise, 0.0))
        ends = (float(np.interp(end, root, values, -math.inf, math.inf)) for end in (-quantile, quantile))
        low, high = ends
        return Profile(self._run.free[index], tuple(values.tolist()), tuple(rise.tolist()), (low, high))


def _covariance(J: Array, moving: npt.NDArray[np.bool_], undetermined: Sequence[bool]) -> Array:
    """Return (J^T J)^-1, NaN for values at a bound, infinite for those that the data do not determine.

    Args:
        J: shape (n_r, n).
        moving: whether each value is free to move, shape (n,).
        undetermined: whether the data do not determine it.
    """
    n = J.shape[1]
    covariance = np.full((n, n), math.nan)
    columns = np.flatnonzero(moving)
    if not columns.size:
        return covariance
    # (J^T J)^-1 = V diag(sigma^-2) V^T, with columns of length 1 and the directions that the data determine
    sizes = np.linalg.norm(J[:, columns], axis=0)
    sizes[sizes == 0] = 1.0
    _, singular, V = np.linalg.svd(J[:, columns] / sizes, full_matrices=False)
    told = singular > ALIKE * max(singular.max(), np.finfo(float).tiny)
    kept = V[told] / singular[told, None]
    block = kept.T @ kept / np.outer(sizes, sizes)
    lost = np.array(undetermined)[columns]
    block[lost, lost] = math.inf
    covariance[np.ix_(columns, columns)] = block
    return covariance

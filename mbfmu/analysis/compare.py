"""Comparison: every stepper with every step on one model, against a reference solution computed for it."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mbfmu.analysis.compared import (
    GOOD,
    MOST_STEPS,
    ComparedMotion,
    ComparisonTask,
    distance,
    nearest_steps,
    reference,
    relative_error,
    run,
)
from mbfmu.base.arguments import checked
from mbfmu.base.files import ending_of, write_aside
from mbfmu.base.formats import write_columns
from mbfmu.errors import MbfmuError, StepperError, UsageError
from mbfmu.model import Block, Model, Sampled, System
from mbfmu.model.library import model_of
from mbfmu.prepared.prepare import Prepared, check_steps
from mbfmu.prepared.settings import InputValue
from mbfmu.run.inputs import courses
from mbfmu.run.resolved import CAUTION, SHORTER
from mbfmu.stepper import Choice, family_of
from mbfmu.stepper import steppers as families

Array = npt.NDArray[np.float64]
STEPS = (1e-2, 5e-3, 2e-3, 1e-3)
"""Steps that are tried if none are named, s."""
REPEATS = 3
POINTS = 100
"""Largest number of times at which errors are found."""
ROUND_OFF = 1e-10
"""Largest residual, at every step tried, that counts as constraints at round-off."""
TRIALS = 2
"""Largest number of shorter steps that are tried of a stepper to find one with a good error."""
ENDINGS = (".csv", ".md")
"""Endings of the files that a comparison is written to."""


@dataclass(frozen=True)
class ComparedRun:
    """One stepper with one step.

    Args:
        stepper: name of the stepper, with the options that were given.
        h: step, s.
        error: largest error of the joint coordinates over the run, rad or m.
        position: largest residual of the position constraints over the run.
        velocity: largest residual of the velocity constraints over the run.
        energy: largest error of the total energy over the run, J.
        corrections: Newton or fixed-point corrections per step.
        us_per_step: microseconds per step, the best of several repeats.
        ms: milliseconds for the run.
        relative: largest error of a coordinate, rate or first-order state over the run, relative to its range.
        failure: reason why it did not run; empty if it did.
    """

    stepper: str
    h: float
    error: float = math.nan
    position: float = math.nan
    velocity: float = math.nan
    energy: float = math.nan
    corrections: float = math.nan
    us_per_step: float = math.nan
    ms: float = math.nan
    relative: float = math.nan
    failure: str = ""


@dataclass(frozen=True)
class Comparison:
    """The results of a comparison.

    Args:
        model: name of the model.
        stop: end of the runs, s.
        rows: one row for each stepper and step.
        accuracy: accuracy of the reference, rad or m.
        advice: one sentence.
        notices: what a user should know about the comparison.
    """

    model: str
    stop: float
    rows: tuple[ComparedRun, ...]
    accuracy: float
    advice: str
    notices: tuple[str, ...] = ()

    def write(self, path: Path) -> Path:
        """Write the table as .csv or .md.

        Raises:
            UsageError: the path has another ending.
            MbfmuError: the file cannot be written.
        """
        names = [item.name for item in fields(ComparedRun)]
        if ending_of(path, ENDINGS) == ".csv":
            return write_columns(path, {name: [getattr(row, name) for row in self.rows] for name in names}, texts=True)
        lines = [f"# {self.model}, {self.stop:g} s", "", "| " + " | ".join(names) + " |", "|---" * len(names) + "|"]
        lines += ["| " + " | ".join(shown(value) for value in astuple(row)) + " |" for row in self.rows]
        lines += ["", f"The reference is converged to {self.accuracy:.1e} rad or m. {self.advice}", ""]
        return write_aside(path, "\n".join(lines).encode("utf-8"))


def shown(value: Any) -> str:
    """Return the text of a value in a table."""
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.3g}"
    return str(value)


@checked
def compare(
    system: Model | str | os.PathLike[str],
    stop: float,
    *,
    steppers: Sequence[str | Choice] = (),
    steps: Sequence[float] = (),
    values: Mapping[str, Any] | None = None,
    coordinates: str | None = None,
    inputs: Mapping[str, InputValue] | None = None,
    input_hold: bool = False,
    progress: Callable[[float], None] = lambda _: None,
    ended: Callable[[ComparedRun], None] = lambda _: None,
) -> Comparison:
    """Run every stepper with every step, and advise which one to use.

    An interrupt from the keyboard ends it with the runs that have ended by then.

    Args:
        system: the mechanism, a name in models/, or the path of a model file.
        stop: end of the runs, s.
        steppers: names, ``name:key=value:key=value`` with options, or objects such as `mbfmu.Radau(stages=2)`;
            default: every family with its defaults.
        steps: steps, each at most `stop`, s; default: 10, 5, 2 and 1 ms, and shorter ones of steppers that could reach
            an error of 1e-4 of the ranges in the least time with these.
        values: parameters and start values by name.
        coordinates: ``absolute``, ``joint``, or mixed as ``absolute:load``; None: joint coordinates if they are fewer.
        inputs: see `simulate`.
        input_hold: see `simulate`.
        progress: called with the fraction done.
        ended: called with each run as it ends.

    Raises:
        UsageError: a step or the stop time is not a positive number, or the model is a block.
        MbfmuError: the model or a named stepper is invalid.
    """
    grid = tuple(steps) or STEPS
    for span in (stop, *grid):
        if not (math.isfinite(span) and span > 0):
            raise UsageError(f"{span} s is not a time: stop and steps are positive numbers")
    if max(grid) > stop:
        raise UsageError(f"every step must be at most the stop time {stop:g} s")
    check_steps(f"a run of {stop:g} s", stop, min(grid))
    system = model_of(system, values)
    if isinstance(system, Block | Sampled) or (isinstance(system, System) and system.only_blocks):
        kind = "has blocks only" if isinstance(system, System) else "is a block"
        raise UsageError(f"'{system.name}' {kind}, and this compares the coordinates of mechanisms")
    task = ComparisonTask(system, stop, coordinates, courses(inputs, input_hold), _points(stop, grid))
    exact, accuracy = reference(task, min(grid))
    chosen = [_parsed(text) for text in steppers] or [(name, {}) for name in families()]
    rows: list[ComparedRun] = []
    coarse: list[tuple[Prepared, ComparedRun]] = []
    count = len(chosen) * len(grid)

    def note(row: ComparedRun) -> None:
        rows.append(row)
        progress(min(1.0, len(rows) / count))
        ended(row)

    notices: tuple[str, ...] = ()
    try:
        for name, options in chosen:
            label = " ".join([name, *(f"{key}={value}" for key, value in options.items())])
            try:
                prepared = task.prepared(name, options, grid[0])
            except StepperError as error:
                if steppers:
                    raise
                for h in grid:
                    note(ComparedRun(label, h, failure=str(error)))
                continue
            for h in grid:
                note(_row(label, prepared, task, h, exact))
            finest = min(rows[-len(grid) :], key=lambda row: (math.isnan(row.relative), row.h))
            if finest.relative > GOOD and not steps:
                coarse.append((prepared, finest))
        for prepared, finest in sorted(coarse, key=lambda item: _next(*item)[1]):
            _shorten(task, prepared, finest, exact, rows, note)
    except KeyboardInterrupt:
        if not rows:
            raise
        notices = (f"stopped after {len(rows)} of {count} runs",)
    return Comparison(system.name, stop, tuple(rows), accuracy, _advice(rows), notices)


def _next(prepared: Prepared, row: ComparedRun) -> tuple[float, float]:
    """Return the step, s, with which a good error is expected, and the time of that run, ms.

    Errors fall with the order: h' = h (CAUTION GOOD / error)^(1/order).
    """
    ratio = max((CAUTION * GOOD / row.relative) ** (1 / prepared.kernel.order), SHORTER)
    return row.h * ratio, row.ms / ratio


def _shorten(
    task: ComparisonTask,
    prepared: Prepared,
    row: ComparedRun,
    exact: ComparedMotion,
    rows: Sequence[ComparedRun],
    note: Callable[[ComparedRun], None],
) -> None:
    """Run a stepper with shorter steps, as long as one could have a good error in less time than all rows.

    Args:
        task: what is run.
        prepared: the model with the stepper.
        row: its run with the shortest step, whose error is not good.
        exact: the reference.
        rows: the runs so far.
        note: called with each further run.
    """
    for _ in range(TRIALS):
        h, ms = _next(prepared, row)
        least = min((item.ms for item in rows if item.relative <= GOOD), default=math.inf)
        if ms >= least or task.stop / h > MOST_STEPS:
            return
        between = math.ceil(task.stop / h / task.points)  # steps from one point to the next
        row = _row(row.stepper, prepared, task, task.stop / (task.points * between), exact)
        note(row)
        if not row.relative > GOOD:
            return


def _points(stop: float, steps: Sequence[float]) -> int:
    """Return the number of times, at equal distances, that the ends of some steps of all lengths have in common."""
    common = math.gcd(*(nearest_steps(stop, h) for h in steps))
    return max(points for points in range(1, min(common, POINTS) + 1) if common % points == 0)


def _parsed(text: str | Choice) -> tuple[str, dict[str, Any]]:
    if isinstance(text, Choice):
        defaults = type(text).table()
        return text.name, {key: value for key, value in text.options().items() if value != defaults[key].default}
    name, *pairs = text.split(":")
    options = dict(pair.partition("=")[::2] for pair in pairs)
    if not all(options.values()):
        raise UsageError(f"'{text}': options are written name:key=value")
    return name, options


def _row(label: str, prepared: Prepared, task: ComparisonTask, h: float, exact: ComparedMotion) -> ComparedRun:
    try:
        course = run(prepared, task, h, REPEATS)
    except MbfmuError as error:
        return ComparedRun(label, h, failure=str(error))
    return ComparedRun(
        label,
        h,
        distance(course, exact),
        course.position,
        course.velocity,
        float(np.abs(course.energy - exact.energy).max()),
        course.corrections,
        course.seconds / course.steps * 1e6,
        course.seconds * 1e3,
        relative_error(course, exact),
    )


def _advice(rows: Sequence[ComparedRun]) -> str:
    """Return one sentence of advice, from the numbers and from the families that take stiff forces."""
    ran = [row for row in rows if math.isfinite(row.error)]
    loose = {row.stepper for row in ran if not max(row.position, row.velocity) < ROUND_OFF}
    held = [row for row in ran if row.stepper not in loose]
    offered = held or ran  # what leaves the constraints is advised only if nothing else ran
    good = [row for row in offered if row.relative <= GOOD]
    stiff = [row for row in offered if family_of(row.stepper.split()[0]).stiff]
    parts = []
    if good:
        best = min(good, key=lambda row: row.ms)
        reached = f"errors below {GOOD:g} of the ranges in {best.ms:.2g} ms, the least time"
        parts.append(f"for accuracy take {best.stepper} at h = {best.h:.3g} s ({reached})")
    if held:
        best = min(held, key=lambda row: (row.energy, row.ms))
        kept = f"constraints at round-off, energy error {best.energy:.1g} J at h = {best.h:g} s"
        parts.append(f"for long runs {best.stepper} ({kept})")
        best = min(held, key=lambda row: row.us_per_step)
        cost = f"{best.us_per_step:.2g} us a step of {best.h:g} s"
        parts.append(f"for real time {best.stepper} ({cost}, constraints at round-off)")
    if stiff:
        best = max(stiff, key=lambda row: (row.h, -row.error))
        parts.append(f"for stiff forces {best.stepper} (error {best.error:.1g} at h = {best.h:g} s)")
    sentence = "; ".join(parts)
    if not parts:
        return "No stepper ran with a good error: take smaller steps." if ran else "No stepper ran: take smaller steps."
    warning = "" if held else " All of these leave the constraints."
    return f"{sentence[0].upper()}{sentence[1:]}.{warning}"

"""Comparison: every stepper with every step on one model, against a reference solution computed for it."""

import math
import os
import time as clock
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mbfmu.base.arguments import checked
from mbfmu.base.files import ending_of, write_aside
from mbfmu.base.formats import write_columns
from mbfmu.errors import MbfmuError, StepError, StepperError, UsageError
from mbfmu.fmu.failures import facts
from mbfmu.kernel import vector
from mbfmu.kernel.runtime import OK
from mbfmu.model import Block, Model, Sampled, System
from mbfmu.model.library import model_of
from mbfmu.prepared.prepare import Prepared, check_steps, prepare
from mbfmu.stepper import Choice, family_of
from mbfmu.stepper import steppers as families

Array = npt.NDArray[np.float64]
REFERENCE = ("projected", {"order": 8})
"""Stepper of the reference solution."""
CONVERGED = 1e-11
"""Change, rad or m, below which halving the reference's step ends; it also ends when the change no longer shrinks."""
MOST_STEPS = 2_000_000
REPEATS = 3
POINTS = 100
"""Largest number of times at which errors are found."""
ROUND_OFF = 1e-10
"""Largest residual, at every step tried, that counts as constraints at round-off."""
GOOD = 1e-4
"""Largest error that counts as good in the advice, rad or m."""
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
    steps: Sequence[float] = (1e-2, 5e-3, 2e-3, 1e-3),
    values: Mapping[str, Any] | None = None,
    coordinates: str | None = None,
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
        steps: steps, each at most `stop`, s.
        values: parameters and start values by name.
        coordinates: ``absolute``, ``joint``, or mixed as ``absolute:load``; None: joint coordinates if they are fewer.
        progress: called with the fraction done.
        ended: called with each run as it ends.

    Raises:
        UsageError: a step or the stop time is not a positive number, or the model is a block.
        MbfmuError: the model or a named stepper is invalid.
    """
    for span in (stop, *steps):
        if not (math.isfinite(span) and span > 0):
            raise UsageError(f"{span} s is not a time: stop and steps are positive numbers")
    if not steps or max(steps) > stop:
        raise UsageError(f"every step must be at most the stop time {stop:g} s")
    check_steps(f"a run of {stop:g} s", stop, min(steps))
    system = model_of(system, values)
    if isinstance(system, Block | Sampled) or (isinstance(system, System) and system.only_blocks):
        kind = "has blocks only" if isinstance(system, System) else "is a block"
        raise UsageError(f"'{system.name}' {kind}, and this compares the coordinates of mechanisms")
    points = _points(stop, steps)
    exact, accuracy = _reference(system, stop, min(steps), coordinates, points)
    chosen = [_parsed(text) for text in steppers] or [(name, {}) for name in families()]
    rows: list[ComparedRun] = []
    count = len(chosen) * len(steps)

    def note(row: ComparedRun) -> None:
        rows.append(row)
        progress(len(rows) / count)
        ended(row)

    notices: tuple[str, ...] = ()
    try:
        for name, options in chosen:
            label = " ".join([name, *(f"{key}={value}" for key, value in options.items())])
            try:
                prepared = prepare(system, name, options, steps[0], coordinates=coordinates)
            except StepperError as error:
                if steppers:
                    raise
                for h in steps:
                    note(ComparedRun(label, h, failure=str(error)))
                continue
            for h in steps:
                note(_row(label, prepared, stop, h, exact, points))
    except KeyboardInterrupt:
        if not rows:
            raise
        notices = (f"stopped after {len(rows)} of {count} runs",)
    return Comparison(system.name, stop, tuple(rows), accuracy, _advice(rows), notices)


def _points(stop: float, steps: Sequence[float]) -> int:
    """Return the number of times, at equal distances, that the ends of some steps of all lengths have in common."""
    common = math.gcd(*(_count(stop, h) for h in steps))
    return max(points for points in range(1, min(common, POINTS) + 1) if common % points == 0)


def _count(stop: float, h: float) -> int:
    return max(1, round(stop / h))


def _parsed(text: str | Choice) -> tuple[str, dict[str, Any]]:
    if isinstance(text, Choice):
        defaults = type(text).table()
        return text.name, {key: value for key, value in text.options().items() if value != defaults[key].default}
    name, *pairs = text.split(":")
    options = dict(pair.partition("=")[::2] for pair in pairs)
    if not all(options.values()):
        raise UsageError(f"'{text}': options are written name:key=value")
    return name, options


@dataclass(frozen=True)
class _Course:
    """A run: joint coordinates and energy at the points, largest residuals, work and time."""

    coordinates: Array
    energy: Array
    position: float
    velocity: float
    corrections: float
    seconds: float
    steps: int


def _run(prepared: Prepared, stop: float, h: float, repeats: int, points: int) -> _Course:
    outline, n = prepared.outline, _count(stop, h)
    kernel, p = prepared.kernel, vector(outline.p_default())
    u = vector(outline.u_default())
    still = vector([0.0] * len(u))
    x0, begun = kernel.initialize(vector(outline.s_default()), u, p, 0.0, stop / n)
    if begun.code != OK:
        prepared.initial_state()
        raise StepError(facts(prepared).message(begun))
    names = [item.name for item in outline.outputs]
    rows: list[list[float]] = []
    seconds, iterations = math.inf, 0.0
    for repeat in range(repeats):
        x, spent = x0, 0.0
        for k in range(points):
            t = stop * k / points
            begin = clock.perf_counter()
            end, status = kernel.advance(x, u, still, p, t, stop / n, n // points)
            spent += clock.perf_counter() - begin
            if status.code != OK:
                raise StepError(facts(prepared).explained(kernel, status, x, u, still, p, t, stop / n, 0.0))
            x = end
            if repeat == 0:
                iterations += status.iterations
                rows.append(list(kernel.outputs(x, u, p, stop * (k + 1) / points))[: len(names)])
        seconds = min(seconds, spent)
    table = dict(zip(names, np.array(rows).T, strict=True))
    units = {item.name: item.unit for item in outline.outputs if item.kind == "output"}
    return _Course(
        np.array([table[name] for name, unit in units.items() if unit in {"rad", "m"}]),
        table["energy.total"],
        float(table["constraint.position"].max()),
        float(table["constraint.velocity"].max()),
        iterations / n,
        seconds,
        n,
    )


def _reference(system: Model, stop: float, h: float, coordinates: str | None, points: int) -> tuple[_Course, float]:
    """Return the converged run, and the difference of the last two halvings."""
    prepared = prepare(system, *REFERENCE, h, coordinates=coordinates)
    last = _run(prepared, stop, h, 1, points)
    best, accuracy = last, math.inf
    while stop / h < MOST_STEPS:
        h /= 2
        this = _run(prepared, stop, h, 1, points)
        change = _distance(this, last)
        if change >= accuracy:
            break
        best, accuracy, last = this, change, this
        if accuracy <= CONVERGED:
            break
    return best, accuracy


def _distance(a: _Course, b: _Course) -> float:
    return float(np.max(np.abs(a.coordinates - b.coordinates), initial=0.0))


def _row(label: str, prepared: Prepared, stop: float, h: float, exact: _Course, points: int) -> ComparedRun:
    try:
        course = _run(prepared, stop, h, REPEATS, points)
    except MbfmuError as error:
        return ComparedRun(label, h, failure=str(error))
    return ComparedRun(
        label,
        h,
        _distance(course, exact),
        course.position,
        course.velocity,
        float(np.abs(course.energy - exact.energy).max()),
        course.corrections,
        course.seconds / course.steps * 1e6,
        course.seconds * 1e3,
    )


def _advice(rows: Sequence[ComparedRun]) -> str:
    """Return one sentence of advice, from the numbers and from the families that take stiff forces."""
    ran = [row for row in rows if math.isfinite(row.error)]
    loose = {row.stepper for row in ran if not max(row.position, row.velocity) < ROUND_OFF}
    held = [row for row in ran if row.stepper not in loose]
    offered = held or ran  # what leaves the constraints is advised only if nothing else ran
    good = [row for row in offered if row.error <= GOOD]
    stiff = [row for row in offered if family_of(row.stepper.split()[0]).stiff]
    parts = []
    if good:
        best = min(good, key=lambda row: row.ms)
        parts.append(f"for accuracy take {best.stepper} at h = {best.h:g} s ({best.error:.1g} in {best.ms:.2g} ms)")
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

"""A run with the step that meets a tolerance of its result."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from mbfmu.base.result import Result, RunError
from mbfmu.errors import StepError
from mbfmu.kernel.errors import NARROW, SLIGHT, SMALL

MOST_TRIALS = 8
"""Largest number of steps that are tried."""
SPLIT = 1.5
"""Least ratio of the numbers of steps of two runs of which one has half the step of the other."""
CAUTION = 0.5
"""Part of the tolerance at which the next step aims, as errors do not fall exactly with the order."""
LONGER, SHORTER = 2.0, 1 / 64
"""Largest and least ratio of the step that is tried next to the one before."""

Values: TypeAlias = Mapping[str, npt.NDArray[np.float64]]
Courses: TypeAlias = Result | Values


def resolved(run: Callable[[float], Result], step: float, order: int, tolerance: float) -> Result:
    """Return a run whose error, by a run with half the step, is at most the tolerance.

    Args:
        run: a function that returns the run with a step, s, at the same output points.
        step: the step that is tried first, s.
        order: of the stepper.
        tolerance: largest error of a coordinate, rate or first-order state at an output point, relative to its range.

    Raises:
        StepError: none of the steps that are tried meets the tolerance.
    """
    tried: list[str] = []
    for _ in range(MOST_TRIALS):
        whole, halves = run(step), run(step / 2)
        if halves.steps < SPLIT * whole.steps:  # steps that have no solution are taken in parts, the same in both
            tried.append(f"unknown with steps of {step:.3g} s, which have no solution")
            step = min(step / 2, float(whole.time[-1] - whole.time[0]) / halves.steps)
            continue
        error = error_by(whole, halves, order)
        if error.value <= tolerance:
            return replace(whole, error=error, step=step)
        tried.append(f"{error.value:.2g} with steps of {step:.3g} s")
        ratio = (CAUTION * tolerance / error.value) ** (1 / order) if math.isfinite(error.value) else SHORTER
        step *= min(max(ratio, SHORTER), LONGER)
    raise StepError(f"no step meets the tolerance {tolerance:g} of the result: the errors are {', '.join(tried)}")


def error_by(whole: Result, halves: Result, order: int) -> RunError:
    """Return the error of a run by one with half the step: Richardson's extrapolation at their output points.

    Args:
        whole: the run.
        halves: that with half the step.
        order: of the stepper.
    """
    part, spans = 2**order / (2**order - 1), ranges(whole)
    errors = {name: part * error for name, error in relative_errors(whole, halves, spans).items()}
    if not errors:
        return RunError()
    worst = max(errors, key=lambda name: math.inf if math.isnan(errors[name]) else errors[name])
    time = float(whole.time[int(np.abs(whole[worst] - halves[worst]).argmax())])
    return RunError(errors[worst], worst, time, {name: error * spans[name] for name, error in errors.items()})


def relative_errors(run: Courses, exact: Courses, spans: Mapping[str, float]) -> dict[str, float]:
    """Return the largest error of each variable over a run, relative to its range.

    Args:
        run: values over the time by name, shape (n_t,).
        exact: those of the exact motion.
        spans: what errors are relative to by name, see `sizes`.
    """
    return {name: float(np.abs(run[name] - exact[name]).max()) / span for name, span in spans.items()}


def ranges(run: Result) -> Mapping[str, float]:
    """Return what the errors of a run are relative to at its output points, by the names of what is estimated."""
    return sizes({name: run[name] for name in run.error.by_variable if name in run.names}, run.units)


def sizes(courses: Values, units: Mapping[str, str]) -> Mapping[str, float]:
    """Return what the errors of variables are relative to, by name: a range next to none of its unit does not count.

    Args:
        courses: values over a run by name, shape (n_t,).
        units: units by name.
    """
    spans = {name: float(np.ptp(values)) for name, values in courses.items()}
    widest: dict[str, float] = {}
    for name, span in spans.items():
        widest[units.get(name, "")] = max(span, widest.get(units.get(name, ""), 0.0))
    least = {name: max(NARROW, SMALL * widest[units.get(name, "")]) for name in spans}
    return {name: max(spans[name], least[name], SLIGHT * float(np.abs(courses[name]).max())) for name in spans}

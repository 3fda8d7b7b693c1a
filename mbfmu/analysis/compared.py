"""The runs of a comparison: a model to a time by a stepper, and its reference."""

import math
import time as clock
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mbfmu.errors import StepError
from mbfmu.fmu.failures import facts
from mbfmu.kernel import vector
from mbfmu.kernel.runtime import OK, fewest_steps
from mbfmu.model import Model
from mbfmu.prepared.prepare import Prepared, prepare
from mbfmu.run.drives import Drives
from mbfmu.run.inputs import Course, formulas
from mbfmu.run.resolved import relative_errors, sizes

Array = npt.NDArray[np.float64]
REFERENCES: tuple[tuple[str, dict[str, Any]], ...] = (("projected", {"order": 8}), ("radau", {"stages": 5}))
"""Steppers of the reference solution; one that fails is followed by the next."""
CONVERGED = 1e-11
"""Change, rad or m, below which halving the reference's step ends; it also ends when the change no longer shrinks."""
LONG = 1.0
"""Time, s, of a reference run after which its step is halved only as long as a good error cannot be told."""
CERTAIN = 0.01
"""Part of the good error to which the reference is converged after such a run."""
MOST_STEPS = 2_000_000
"""Largest number of steps of a run."""
GOOD = 1e-4
"""Largest error that counts as good, relative to the range of each variable."""


@dataclass(frozen=True)
class ComparisonTask:
    """A model that is run to a time.

    Args:
        system: the model.
        stop: end of the run, s.
        coordinates: see `simulate`.
        inputs: over time, by name.
        points: number of times, at equal distances, at which errors are found.
    """

    system: Model
    stop: float
    coordinates: str | None
    inputs: Mapping[str, Course]
    points: int

    def prepared(self, name: str, options: Mapping[str, Any], h: float) -> Prepared:
        """Return the model with a stepper and its options; h: step, s."""
        return prepare(self.system, name, options, h, coordinates=self.coordinates, formulas=formulas(self.inputs))


def nearest_steps(stop: float, h: float) -> int:
    """Return the number of steps of equal length of about h, s, to a time, s."""
    return max(1, round(stop / h))


@dataclass(frozen=True)
class ComparedMotion:
    """A run at the points of its task.

    Args:
        coordinates: joint coordinates, rad or m, shape (number of them, number of points).
        measured: coordinates, rates and first-order states by name.
        sizes: what their errors are relative to.
        energy: total energy, J.
        position: largest residual of the position constraints.
        velocity: largest residual of the velocity constraints.
        corrections: Newton or fixed-point corrections per step.
        seconds: time of the run, s.
        steps: number of steps.
    """

    coordinates: Array
    measured: Mapping[str, Array]
    sizes: Mapping[str, float]
    energy: Array
    position: float
    velocity: float
    corrections: float
    seconds: float
    steps: int


def run(prepared: Prepared, task: ComparisonTask, h: float, repeats: int) -> ComparedMotion:
    """Run a prepared model with steps of about h, s; its time is the least of some repeats.

    Raises:
        StepError: a step has no solution.
    """
    outline, n, stop, points = prepared.outline, nearest_steps(task.stop, h), task.stop, task.points
    kernel, p = prepared.kernel, vector(outline.p_default())
    drives = Drives(outline, task.inputs, np.linspace(0.0, stop, points + 1), stop / n)
    x0, begun = kernel.initialize(vector(outline.s_default()), drives.at(0.0), p, 0.0, stop / n)
    if begun.code != OK:
        prepared.initial_state(drives.at(0.0))
        raise StepError(facts(prepared).message(begun))
    names = [item.name for item in outline.outputs]
    rows: list[list[float]] = []
    seconds, iterations = math.inf, 0.0
    for repeat in range(repeats):
        x, spent = x0, 0.0
        for k in range(points):
            for t, t1, u, du in drives.between(k):
                steps = fewest_steps(t1 - t, stop / n)
                begin = clock.perf_counter()
                end, status = kernel.advance(x, u, du, p, t, (t1 - t) / steps, steps)
                spent += clock.perf_counter() - begin
                if status.code != OK:
                    raise StepError(facts(prepared).explained(kernel, status, x, u, du, p, t, stop / n, 0.0))
                x = end
                iterations += status.iterations if repeat == 0 else 0
            if repeat == 0:
                now = stop * (k + 1) / points
                rows.append(list(kernel.outputs(x, drives.at(now), p, now))[: len(names)])
        seconds = min(seconds, spent)
    table = dict(zip(names, np.array(rows).T, strict=True))
    units = {item.name: item.unit for item in outline.outputs}
    measured = {name: table[name] for name in outline.measured.names if name in table}
    coordinates = [table[item.name] for item in outline.outputs if item.kind == "output" and item.unit in {"rad", "m"}]
    return ComparedMotion(
        np.array(coordinates),
        measured,
        sizes(measured, units),
        table["energy.total"],
        float(table["constraint.position"].max()),
        float(table["constraint.velocity"].max()),
        iterations / n,
        seconds,
        n,
    )


def reference(task: ComparisonTask, h: float) -> tuple[ComparedMotion, float]:
    """Return the converged run, and the difference of the last two halvings."""
    for name, options in REFERENCES[:-1]:
        try:
            return converged(task, task.prepared(name, options, h), h)
        except StepError:
            continue  # forces are stiff
    name, options = REFERENCES[-1]
    return converged(task, task.prepared(name, options, h), h)


def converged(task: ComparisonTask, prepared: Prepared, h: float) -> tuple[ComparedMotion, float]:
    """Return the run whose step h, s, was halved until it converged, and the difference of the last two halvings."""
    last = run(prepared, task, h, 1)
    best, accuracy = last, math.inf
    while task.stop / h < MOST_STEPS:
        h /= 2
        this = run(prepared, task, h, 1)
        change = distance(this, last)
        if change >= accuracy:
            break
        told = relative_error(this, last) <= CERTAIN * GOOD
        best, accuracy, last = this, change, this
        if accuracy <= CONVERGED or (told and this.seconds > LONG):
            break
    return best, accuracy


def distance(a: ComparedMotion, b: ComparedMotion) -> float:
    """Return the largest difference of the joint coordinates of two runs, rad or m."""
    return float(np.max(np.abs(a.coordinates - b.coordinates), initial=0.0))


def relative_error(course: ComparedMotion, exact: ComparedMotion) -> float:
    """Return the largest error of what is measured, relative to its range."""
    return max(relative_errors(course.measured, exact.measured, exact.sizes).values(), default=math.nan)

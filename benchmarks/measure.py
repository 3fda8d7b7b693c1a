"""Measuring cases: interleaved repeats, medians; and the longest step that reaches an error."""

import math
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.progress import track

from benchmarks.case import Case, End

ENOUGH = 2e-3
"""Seconds of a measurement: shorter runs are repeated within it."""
FEWEST = 3
"""Repeats of a run that takes so long that more would be a waste."""
FINER = 2**-0.25
"""Ratio of the steps that are tried one after the other."""
COARSEST, LONGEST = 32, 3.0
"""Fewest steps that are tried, and seconds of a run after which no finer step is."""


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Args:
        task: the problem.
        engine: who ran it.
        scheme: the method with its options.
        coordinates: absolute or joint.
        h: step, s; for a method that chooses its steps its relative tolerance.
        steps: number of steps.
        us_per_step: median wall time of one step, microseconds.
        ms: median wall time of the whole run, milliseconds.
        error: largest error of the watched coordinates at the end.
        phi: residual of the position constraints at the end.
        phidot: residual of the velocity constraints at the end.
        energy: error of the energy at the end, J.
        spread: largest over smallest time of the repeats.
        target: error that was to be reached with as few steps as possible; 0: the step was given.
    """

    task: str
    engine: str
    scheme: str
    coordinates: str
    h: float
    steps: int
    us_per_step: float
    ms: float
    error: float
    phi: float
    phidot: float
    energy: float
    spread: float
    target: float = 0.0


@dataclass(frozen=True)
class Job:
    """A case to be measured at a step.

    Args:
        case: who solves what.
        h: step or tolerance.
        target: the error it is to reach; 0: none.
    """

    case: Case
    h: float
    target: float = 0.0


def measure(jobs: Sequence[Job], repeats: int) -> list[Row]:
    """Return the rows of some jobs, repeats interleaved."""
    times: list[list[float]] = [[] for _ in jobs]
    ends: list[End] = [job.case.run(job.h) for job in jobs]  # also warms up
    label = jobs[0].case.task.name if jobs else ""
    for _ in track(range(repeats), label, console=Console(stderr=True), disable=not sys.stderr.isatty()):
        for number, job in enumerate(jobs):
            if len(times[number]) >= FEWEST and sum(times[number]) > LONGEST:
                continue
            once = ends[number].seconds
            inner = math.ceil(ENOUGH / once) if once > 0 else 1
            times[number].append(statistics.fmean(job.case.run(job.h).seconds for _ in range(inner)))
    return [_row(job, end, spent) for job, end, spent in zip(jobs, ends, times, strict=True)]


def _row(job: Job, end: End, spent: Sequence[float]) -> Row:
    case, median = job.case, statistics.median(spent)
    return Row(
        case.task.name, case.engine, case.scheme, case.coordinates, job.h, end.steps,
        median / end.steps * 1e6, median * 1e3, end.error, end.phi, end.phidot, end.energy,
        max(spent) / min(spent), job.target,
    )  # fmt: skip


def reaching(case: Case, targets: Sequence[float]) -> Iterator[Job]:
    """Return for each target a job with the largest step whose error, and that of the next finer one, is below it.

    Targets that would take too long are left out.
    """
    left = sorted(targets, reverse=True)
    tried: list[tuple[float, float]] = []
    for k in range(200):
        h = 1e-2 * 0.1 ** (k / 2) if case.adaptive else case.task.stop / math.ceil(COARSEST * FINER**-k)
        if not left or h < case.finest:
            return
        end = case.run(h)
        tried.append((h, end.error))
        while left and len(tried) > 1 and all(error <= left[0] for _, error in tried[-2:]):
            yield Job(case, tried[-2][0], left.pop(0))
        if end.seconds > LONGEST:
            return

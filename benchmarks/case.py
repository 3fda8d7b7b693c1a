"""A case: somebody who solves a task by a scheme."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from benchmarks.judge import Array, Poses, coordinates, energy, poses, residuals
from benchmarks.task import Task

MOST = 1_000_000
"""Steps of a run beyond which no peer's equal steps are tried."""


class End(NamedTuple):
    """How a run went.

    Args:
        seconds: wall time of the run alone; NaN: it was given up.
        steps: number of steps.
        error: largest error of the watched coordinates.
        phi: residual of the position constraints.
        phidot: residual of the velocity constraints.
        energy: error of the energy, J.
    """

    seconds: float
    steps: int
    error: float
    phi: float
    phidot: float
    energy: float


@dataclass(frozen=True)
class Case:
    """Somebody who solves a task by a scheme.

    Args:
        task: the problem.
        engine: who runs it.
        scheme: the method with its options.
        coordinates: absolute or joint.
        run: from the start to the end with a step in s, or, if adaptive, with a relative tolerance.
        adaptive: it chooses its steps.
        finest: the least step or tolerance worth trying.
    """

    task: Task
    engine: str
    scheme: str
    coordinates: str
    run: Callable[[float], End]
    adaptive: bool = False
    finest: float = 0.0


def number_of_steps(task: Task, h: float) -> int:
    """Return how many equal steps of about h make the whole time."""
    return max(1, round(task.stop / h))


def clock(task: Task) -> float:
    """Return the time that counts, s: with contacts that of the processor, else that of the wall."""
    return time.process_time() if task.touching else time.perf_counter()


def touched(task: Task, seconds: float, steps: int, found: Mapping[str, float], gap: float) -> End:
    """Return how a run with contacts went; phi is the penetration at the end, the energy is not told.

    Args:
        task: the problem.
        seconds: processor's time.
        steps: number of steps.
        found: the watched values at the end by name.
        gap: least gap at the end, m.
    """
    if not np.isfinite([seconds, *found.values()]).all():
        return End(seconds, steps, *([np.inf] * 4))
    error = max(abs(found[name] - value) for name, value in task.exact.items())
    return End(seconds, steps, float(error), max(0.0, -gap), 0.0, np.nan)


def damping(e: float) -> float:
    """Return the damping ratio with which a spring and damper that only push return the part e of a speed.

    Source: Schwager & Poeschel, Coefficient of restitution and linear-dashpot model revisited, Granular Matter 9, 2007.
    With e = 0 critical damping is returned.
    """
    low, high = 0.0, 1 - 1e-12
    for _ in range(60 if e else 0):
        middle = (low + high) / 2
        damped = math.sqrt(1 - middle**2)
        apart = math.pi - math.atan2(2 * middle * damped, 1 - 2 * middle**2)
        after = math.exp(-middle / damped * apart)
        low, high = (middle, high) if after > e else (low, middle)
    return (low + high) / 2 if e else 1.0


def judged(task: Task, seconds: float, steps: int, q: Array | None, v: Array | None, where: Poses | None = None) -> End:
    """Return how a peer's run went.

    Args:
        task: the problem.
        seconds: wall time.
        steps: number of steps.
        q: coordinates of the tree's joints, shape (N,); None: taken from the poses.
        v: their rates, shape (N,).
        where: poses of all links; None: those of q and v.
    """
    start = np.array([[link.q, link.v] for link in task.links]).T
    if where is None:
        assert q is not None
        where = poses(task, q, np.asarray(v))
    if not np.isfinite([seconds, *where.r.ravel(), *where.R.ravel()]).all():
        return End(seconds, steps, *([np.inf] * 4))
    if q is None:
        q = coordinates(task, where)
    found = dict(zip((link.name for link in task.links), q, strict=True))
    error = max(float(abs(found[name] - value)) for name, value in task.exact.items())
    drift = energy(task, where, q) - energy(task, poses(task, *start), start[0])
    return End(seconds, steps, error, *residuals(task, where), abs(drift))

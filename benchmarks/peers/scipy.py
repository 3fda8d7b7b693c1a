"""SciPy: DOP853 with steps of its own choice on the index-1 form, planar tasks; the constraints drift."""

import time
from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy.integrate import solve_ivp

from benchmarks.case import Case, End, judged
from benchmarks.judge import Array
from benchmarks.planar import acceleration, planar, where
from benchmarks.task import Task

LARGEST = 8


def cases(task: Task) -> Iterator[Case]:
    """Return DOP853."""
    if task.planar and len(task.links) <= LARGEST:
        yield Case(task, "scipy", "DOP853", "absolute", partial(run, task), adaptive=True, finest=1e-13)


def run(task: Task, rtol: float) -> End:
    """Run the whole time; return how it went."""
    item = planar(task)
    n, data = len(item.q), item.data

    def rate(_: float, y: Array) -> Array:
        v = y[n:]
        return np.concatenate((v, acceleration(y[:n], v, *data)))

    y0 = np.concatenate((item.q, item.v))
    rate(0.0, y0)  # compiles
    begin = time.perf_counter()
    found = solve_ivp(rate, (0.0, task.stop), y0, method="DOP853", rtol=rtol, atol=rtol)
    seconds = time.perf_counter() - begin
    y = found.y[:, -1] if found.success else np.full(2 * n, np.nan)
    return judged(task, seconds, len(found.t) - 1, None, None, where(task, y[:n], y[n:]))

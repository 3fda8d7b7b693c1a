"""SUNDIALS' IDA by scikit-sundae, on the stabilised index-2 form of Gear, Gupta and Leimkuhler; planar tasks."""

import time
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.case import Case, End, judged
from benchmarks.judge import Array
from benchmarks.planar import acceleration, compiled, constraints, planar, where
from benchmarks.task import Task

ida = import_module("sksundae.ida")

LARGEST = 8
LOOSE = 1e3
"""Absolute tolerance of the multipliers, which would else choose the steps."""


def cases(task: Task) -> Iterator[Case]:
    """Return IDA."""
    if task.planar and len(task.links) <= LARGEST:
        yield Case(task, "sundae", "IDA, GGL", "absolute", partial(run, task), adaptive=True, finest=1e-11)


@compiled
def residual(y: Any, yp: Any, M: Any, F: Any, ends: Any, points: Any, held: Any, out: Any) -> None:
    """Write M (q' - v) + P^T mu, M v' + P^T lambda - F, Phi and P v; y = [q; v; lambda; mu]."""
    n = len(M)
    m = (len(y) - 2 * n) // 2
    q, v, lambda_, mu = y[:n], y[n : 2 * n], y[2 * n : 2 * n + m], y[2 * n + m :]
    Phi, P, _ = constraints(q, v, ends, points, held)
    out[:n] = M * (yp[:n] - v) + P.T @ mu
    out[n : 2 * n] = M * yp[n : 2 * n] + P.T @ lambda_ - F
    out[2 * n : 2 * n + m] = Phi
    out[2 * n + m :] = P @ v


def run(task: Task, rtol: float) -> End:
    """Run the whole time; return how it went."""
    item = planar(task)
    n, m = len(item.q), item.m
    data = (item.M, item.F, item.ends, item.points, item.held)

    def evaluate(_: float, y: Array, yp: Array, out: Array) -> None:
        residual(y, yp, *data, out)

    a, lambda_ = acceleration(item.q, item.v, *data)
    y0 = np.concatenate((item.q, item.v, lambda_, np.zeros(m)))
    yp0 = np.concatenate((item.v, a, np.zeros(2 * m)))
    evaluate(0.0, y0, yp0, np.zeros_like(y0))  # compiles
    solver = ida.IDA(
        evaluate,
        rtol=rtol,
        atol=np.concatenate((np.full(2 * n, rtol), np.full(2 * m, LOOSE))),
        algebraic_idx=np.arange(2 * n, 2 * n + 2 * m),
        max_num_steps=1_000_000,
    )
    begin = time.perf_counter()
    found = solver.solve(np.array([0.0, task.stop]), y0, yp0)
    seconds = time.perf_counter() - begin
    y = found.y[-1] if found.success else np.full(2 * n, np.nan)
    return judged(task, seconds, len(found.t) - 1, None, None, where(task, y[:n], y[n : 2 * n]))

"""Pinocchio with many contacts: its solvers of contacts in a time stepping of ours, see `pinocchio_contacts`."""

from collections.abc import Iterator
from functools import partial
from time import process_time

import numpy as np

from benchmarks.peers.pinocchio_contacts import SOLVERS, Spheres, pin
from benchmarks.pile import Heap, Seen, Watch, Way, push, steps


def ways(task: Heap) -> Iterator[Way]:
    """Return both solvers."""
    for solver in SOLVERS:
        yield Way("pinocchio", f"{solver}, steps lent", partial(run, task, solver))


def run(task: Heap, solver: str, h: float, watch: Watch | None) -> float:
    """Run the whole time; return the processor's time."""
    n = steps(task, h)
    this = Spheres(
        task.places, np.zeros_like(task.places), task.walls, turning=True, radius=task.radius, m=task.m, e=task.e,
        mu=task.mu, g=task.g, solver=solver,
    )  # fmt: skip
    begin = process_time()
    for _ in range(n):
        this.step(task.stop / n)
        if not np.isfinite(this.q).all():
            return float("nan")
        if watch:
            pin.forwardKinematics(this.model, this.data, this.q)
            r, (v, w) = this.r, this.rates(this.v)
            acting = zip(this.touches, this.forces, strict=True) if this.touches else ()
            watch(Seen(r, v, w, [push(task, r, v, w, i, j, f) for (i, j, _, _), f in acting]))
    return process_time() - begin

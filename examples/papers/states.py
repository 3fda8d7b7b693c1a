"""Runs of the papers' mechanisms, read in the papers' own variables."""

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

import mbfmu
from mbfmu.kernel import vector
from mbfmu.kernel.runtime import OK
from mbfmu.model import Model
from mbfmu.prepared.prepare import Prepared

Array = npt.NDArray[np.float64]


def reference(model: Model, stop: float, interval: float, step: float = 1e-3) -> mbfmu.Result:
    """Return a run of order 8, correct to many more digits than any method of the papers.

    Args:
        model: the mechanism.
        stop: s.
        interval: between outputs, s.
        step: s.
    """
    return mbfmu.simulate(model, stop, stepper="projected", options={"order": 8}, step=step, output_interval=interval)


def link_coordinates(run: mbfmu.Result) -> Array:
    """Return q = [x1 y1 th1 x2 y2 th2] of the two-link arm (centres of mass, m and rad), shape (6, n_t)."""
    columns = []
    for link in ("link1", "link2"):
        centre = [(run[f"{link}.r_0[{k}]"] + run[f"{link}.frame_b.r_0[{k}]"]) / 2 for k in (1, 2)]
        columns += [*centre, run[f"{link}.phi"]]
    return np.array(columns)


def link_rates(run: mbfmu.Result) -> Array:
    """Return the time derivatives of `link_coordinates` (m/s and rad/s), shape (6, n_t)."""
    q, columns = link_coordinates(run), []
    for link, (x, y) in (("link1", q[0:2]), ("link2", q[3:5])):
        w = run[f"{link}.w"]
        columns += [
            run[f"{link}.v_0[1]"] - w * (y - run[f"{link}.r_0[2]"]),
            run[f"{link}.v_0[2]"] + w * (x - run[f"{link}.r_0[1]"]),
            w,
        ]
    return np.array(columns)


def states(
    prepared: Prepared,
    steps: int,
    h: float,
    *,
    every: int = 1,
    start: Iterable[float] | None = None,
    after: Callable[[Array], Array] | None = None,
) -> Array:
    """Return the states of a stepper as it carries them, shape (1 + steps / every, n); fewer if a step fails.

    The last entry, which is a step chosen for a tolerance, is left out.

    Args:
        prepared: model and stepper.
        steps: how many.
        h: step, s.
        every: steps from one row to the next.
        start: start values s; default: the model's.
        after: is applied to the state at every row.
    """
    u, p = vector([0.0] * len(prepared.dae.inputs)), vector(prepared.dae.p_default())
    x, _ = prepared.kernel.initialize(vector(prepared.dae.s_default() if start is None else start), u, p, 0.0, h)
    rows = [list(x)]
    for k in range(0, steps, every):
        x, status = prepared.kernel.advance(x, u, u, p, k * h, h, every)
        if status.code != OK:
            break
        if after:
            x = vector(after(np.array(x)))
        rows.append(list(x))
    return np.array(rows)[:, :-1]

"""The notices of a run: on steps that are too long, errors, absurd states, gaps and the energy."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mbfmu.base.result import RunError
from mbfmu.dae.energy import STORED, Conserved
from mbfmu.kernel import vector
from mbfmu.kernel.failure import Quantity
from mbfmu.kernel.limits import HOPELESS, INSIDE, NOTICEABLE
from mbfmu.kernel.runtime import OK, Energy, fewest_steps
from mbfmu.prepared.outline import Outline
from mbfmu.prepared.prepare import Prepared

MOST_STANDS = 2000
"""Largest number of states of a run that are kept until its end, approximately."""
MOST_TRIED = 16
"""Largest number of points at equal distances at which the growth of errors is tried after a run."""
STEPS_TRIED = 1000
"""Number of steps of a run for each point at which the growth of errors is tried."""
SHORTER = "take a smaller step, or steps chosen for a tolerance"
"""Advice against errors of steps of equal length."""


class Stand(NamedTuple):
    """The time, s, the state and the inputs of a motion at a point."""

    t: float
    x: Any
    u: Any


def notices_of(
    prepared: Prepared,
    error: RunError,
    stands: Sequence[Stand],
    p: Any,
    steps: int,
    points: npt.NDArray[np.float64],
    table: npt.NDArray[np.float64],
    usual_start: bool,
) -> tuple[str, ...]:
    """Return the notices of a run: one on the steps, that which says most, then on gaps and the energy.

    Args:
        prepared: the model with its stepper.
        error: the error of the run.
        stands: where the motion stood.
        p: parameters.
        steps: number of steps of the run.
        points: communication points, s, shape (n + 1,).
        table: inputs and outputs there, shape (n + 1, n_u + n_y).
        usual_start: whether parameters and start values are those of the model.
    """
    outline, chosen, n_u = prepared.outline, bool(prepared.tolerance), len(prepared.outline.inputs)
    bounded = usual_start and outline.bounded(prepared.step)  # the flexible body gave the notice when it was made
    limited = outline.limit and not (chosen or bounded)
    interval, y = float(points[1] - points[0]), table[:, n_u:]
    names = tuple(item.name for item in (*outline.inputs, *outline.outputs))
    too_long = _step_notices(prepared, stands, p, steps, interval) if limited else ()
    return (
        *(too_long or _error_notices(error, chosen) or _size_notices(outline, points, y)),
        *_gap_notices(outline, points, y),
        *_energy_notices(outline.constant, names, table, n_u, chosen),
    )


def _step_notices(prepared: Prepared, stands: Sequence[Stand], p: Any, steps: int, interval: float) -> tuple[str, ...]:
    """Return a notice if errors grow from step to step at a point tried.

    Those are the start, the two around the step that changes the state most, as it does where errors grow or where
    something stiff begins to act, and others at equal distances, one for so many steps that to try them takes little of
    the run's time.

    Args:
        prepared: the model with its stepper.
        stands: where the motion stood.
        p: parameters.
        steps: number of steps of the run.
        interval: time between communication points, s.
    """
    step = interval / fewest_steps(interval, prepared.step)
    others = np.linspace(0, len(stands) - 1, min(MOST_TRIED, steps // STEPS_TRIED) + 2)[1:]
    k = _most_changed([item.x for item in stands])
    within = _replayed(prepared.kernel, stands[k], stands[k + 1].t, p, step)
    k = _most_changed([item.x for item in within])
    tried = [stands[0], *within[k : k + 2], *(stands[int(k)] for k in others)]
    for t, x, u in tried:
        if sentence := prepared.too_long(x, u, vector([0.0] * len(u)), p, t, step):
            return (f"at t = {t:.6g} s {sentence}",)
    return ()


def _most_changed(states: Sequence[Any]) -> int:
    """Return the number of the state from which the next one differs most, relative to 1 and its size."""
    values = np.array([x[:-1] for x in states])
    with np.errstate(all="ignore"):
        change = np.max(np.abs(np.diff(values, axis=0)) / (1 + np.abs(values[:-1])), axis=1, initial=0.0)
    return int(change.argmax())


def _replayed(kernel: Any, first: Stand, end: float, p: Any, step: float) -> list[Stand]:
    """Return where a motion stands step by step up to a time, its inputs held; at most so many steps as are kept."""
    stands, still = [first], vector([0.0] * len(first.u))
    n = min(fewest_steps(end - first.t, step), MOST_STANDS)
    for k in range(n):
        x, status = kernel.advance(stands[-1].x, first.u, still, p, stands[-1].t, step, 1)
        if status.code != OK:
            break
        stands.append(Stand(first.t + (k + 1) * step, x, first.u))
    return stands if len(stands) > 1 else [first, first]


def _error_notices(error: RunError, chosen: bool) -> tuple[str, ...]:
    """Return a notice if the error of a run is noticeable; chosen: whether steps were chosen for a tolerance."""
    if not error.name or error.value <= NOTICEABLE:
        return ()
    remedy = "take a smaller tolerance" if chosen else "take a smaller step, another stepper, or a tolerance"
    size = f"{100 * error.value:.2g} % of its range" if error.value <= 1 else "more than its range"
    where = f"{error.name} with an estimated error of {size}, most of it from t = {error.time:.6g} s"
    return (f"the steps leave {where}; {remedy}",)


def _size_notices(outline: Outline, points: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> tuple[str, ...]:
    """Return a notice on the first state that is absurdly large, `HOPELESS` times its typical size.

    Args:
        outline: the model.
        points: communication points, s, shape (n + 1,).
        y: outputs there, shape (n + 1, n_y).
    """
    if not outline.states:
        return ()
    sizes = np.abs(y[:, [item.place for item in outline.states]]) / [item.usual for item in outline.states]
    beyond = np.flatnonzero(sizes.max(axis=1) > HOPELESS)
    if not beyond.size:
        return ()
    row = int(beyond[0])
    worst = outline.states[int(sizes[row].argmax())]
    value = float(y[row, worst.place])
    size = f"{worst.shown(value)} is {abs(value) / worst.usual:.2g} times its typical size"
    return (f"at t = {points[row]:.6g} s {size}; check inputs and parameters, or take other steps",)


def _gap_notices(outline: Outline, points: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> tuple[str, ...]:
    """Return a notice on the first gap that is noticeably below zero, as bodies have passed through each other.

    Args:
        outline: the model.
        points: communication points, s, shape (n + 1,).
        y: outputs there, shape (n + 1, n_y).
    """
    below = y[:, outline.clearances] < -INSIDE
    if not below.any():
        return ()
    row = int(below.any(axis=1).argmax())
    index = outline.clearances[int(below[row].argmax())]
    item = outline.outputs[index]
    gap = Quantity(item.name, item.unit, 1.0, index).shown(float(y[row, index]))
    reason = "is below 0: the steps have led through the contact"
    return (f"at t = {points[row]:.6g} s {gap} {reason}; {SHORTER}",)


def _energy_notices(
    constant: Conserved, names: tuple[str, ...], rows: npt.NDArray[np.float64], n_u: int, chosen: bool
) -> tuple[str, ...]:
    """Return a notice if the energy of a run has a noticeable error.

    Args:
        constant: the quantity that only errors change.
        names: names of the columns; those of the inputs come first.
        rows: values at the output points.
        n_u: number of inputs.
        chosen: whether steps were chosen for a tolerance.
    """
    if not constant.name or (constant.undriven and rows[:, :n_u].any()):
        return ()
    total, kinetic, potential = (rows[:, names.index(name)] for name in (constant.name, *STORED[1:]))
    energy = Energy(total[0], kinetic.max(), potential.min(), potential.max())
    farthest = total[np.abs(total - total[0]).argmax()]
    if not energy.noticeable(farthest):
        return ()
    remedy = "take a smaller tolerance" if chosen else SHORTER
    return (energy.message(constant.name, farthest, remedy),)

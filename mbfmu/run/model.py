"""The run of a prepared model: communication points, inputs, steps, results."""

import math
import time as clock
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mbfmu.base.result import Result, RunError, matching, roles
from mbfmu.dae.energy import STORED, Conserved
from mbfmu.errors import StartError, StepError, UsageError
from mbfmu.fmu.failures import facts
from mbfmu.kernel import Status, vector
from mbfmu.kernel.errors import begun, estimated
from mbfmu.kernel.failure import Quantity
from mbfmu.kernel.limits import ABSURD, HOPELESS, INSIDE, NOTICEABLE, RAISED, UNRESOLVED
from mbfmu.kernel.runtime import OK, UNFINISHED, Energy, count
from mbfmu.prepared.failures import not_finite
from mbfmu.prepared.outline import Outline
from mbfmu.prepared.prepare import Prepared, check_steps
from mbfmu.prepared.settings import OFTEN
from mbfmu.run.drives import Drives
from mbfmu.run.inputs import Course

Progress = Callable[[float], None]
POINTS = 500
"""Default number of output points of a run, approximately."""
MOST_POINTS = 10_000_000
LONGEST = 1e12
"""Largest number of steps of a run: more take days, of the smallest model."""
CALL = 2000
"""Largest number of steps of one call of the kernel, after which Python handles an interrupt from the keyboard."""
MOST_STANDS = 2000
"""Largest number of states of a run that are kept until its end, approximately."""
MOST_TRIED = 16
"""Largest number of points at equal distances at which the growth of errors is tried after a run."""
STEPS_TRIED = 1000
"""Number of steps of a run for each point at which the growth of errors is tried."""
HISTORY = 8
"""Number of points before t = 0 that a multistep method may need, at which inputs are evaluated if the start fails."""
PROBES = 129
"""Number of times within a failed step at which its inputs are tried."""
SHORTER = "take a smaller step, or steps chosen for a tolerance"
"""Advice against errors of equal steps."""


class Stand(NamedTuple):
    """The time, s, the state and the inputs of a motion at a point."""

    t: float
    x: Any
    u: Any


def communication_points(
    stop: float, step: float, interval: float | None, start: float = 0.0
) -> npt.NDArray[np.float64]:
    """Return the communication points t0, t0 + H, ..., stop, shape (n + 1,); the last interval may be shorter.

    Args:
        stop: end of the run, s.
        step: step of the stepper, s.
        interval: H, s; None: a multiple of the step that gives about 500 points.
        start: t0, s.

    Raises:
        UsageError: the interval is not a positive number, or there would be too many points.
    """
    span = stop - start
    if interval is None:
        if not (math.isfinite(step) and step > 0 and math.isfinite(span / step)):
            raise UsageError(f"a step of {step} s does not go with a stop time of {stop} s")
        interval = step * max(1, round(span / step / POINTS))
    if not (math.isfinite(interval) and interval > 0):
        raise UsageError(f"the output interval is {interval} s; it must be a positive number")
    if span / interval > MOST_POINTS:
        raise UsageError(f"an output interval of {interval} s gives {span / interval:.3g} points: take a longer one")
    count = max(1, math.ceil(span / interval * (1 - 1e-12)))
    points: npt.NDArray[np.float64] = start + np.arange(count + 1, dtype=np.float64) * np.float64(interval)
    points[-1] = stop
    return points


def check_length(points: npt.NDArray[np.float64], step: float) -> None:
    """Raise a UsageError if a run over communication points, s, shape (n + 1,), takes too many steps to end."""
    span = float(points[-1] - points[0])
    check_steps(f"a run of {span:g} s", span, step, LONGEST)


def run_prepared(
    prepared: Prepared,
    stop: float,
    interval: float | None = None,
    given: Mapping[str, Course] | None = None,
    report: Progress = lambda _: None,
    *,
    s: Any = None,
    p: Any = None,
    watch: Callable[[float, Any], None] = lambda _t, _x: None,
    show: Sequence[str] = (),
    error_samples: int = OFTEN,
) -> Result:
    """Run a prepared model from 0 to `stop`.

    Args:
        prepared: the model with its stepper.
        stop: end of the run, s.
        interval: time between outputs, s; None: about 500 points.
        given: inputs over time, by name; the others keep their start values.
        report: called with the fraction done.
        s: start values, shape (n_s,); None: the model's.
        p: parameters, shape (n_p,); None: the model's.
        watch: called with time and state x at every communication point.
        show: see `simulate`.
        error_samples: see `simulate`.

    Raises:
        StartError: there is no consistent state with the start values.
        StepError: a step failed, or an output is not finite at a communication point.
        UsageError, UnknownNameError: an input is invalid, a name to show is unknown, or there are too many steps.
    """
    # what is recorded when; how the inputs run
    outline = prepared.outline
    step, tolerance = prepared.step, prepared.tolerance
    shown = [*outline.inputs, *outline.outputs]
    names = tuple(item.name for item in shown)
    points = communication_points(stop, step, interval)
    check_length(points, step)
    drives = Drives(outline, given or {}, points, step)
    chosen = matching(show, names)
    exact = drives.exact.values()
    # the start: a state x that meets constraints and start values
    kernel = prepared.kernel
    usual_start = s is None and p is None
    p = vector(outline.p_default() if p is None else p)
    try:
        x = prepared.initial_state(drives.at(0.0), None if s is None else vector(s), p)
    except StartError:
        for item in exact:
            item.column(np.arange(HISTORY) * np.float64(-step))  # where a multistep method makes its first history
        raise
    watch(0.0, x)
    # where the run is watched for steps that are too long for the model
    rows: list[list[float]] = []
    bounded = usual_start and outline.bounded(step)  # the flexible body gave the notice when it was made
    limited = outline.limit and not (tolerance or bounded)
    stands: list[Stand] = []
    stride = math.ceil(len(points) / MOST_STANDS)
    steps, seconds = 0, 0.0
    errors = vector(begun(kernel.n_errors, error_samples)) if error_samples and kernel.n_errors else None

    def note(t: float, x: Any, u: Any) -> None:
        y, finite = kernel.checked_outputs(x, u, p, t)
        if not finite:
            raise StepError(not_finite(prepared, x, u, p, t, t > 0))
        rows.append([*u, *y])

    # from one communication point to the next, in parts over which the inputs are lines u + du (t - t0)
    for k, (start, end) in enumerate(pairwise(points.tolist())):
        for t, t1, u, du in drives.between(k):
            if t == start:
                note(t, x, u)
                if k % stride == 0:
                    stands.append(Stand(t, x, u))
            begin = clock.perf_counter()
            x, status, began = _moved(prepared, x, u, du, p, t, t1 - t, errors, lambda time: report(time / stop))
            seconds += clock.perf_counter() - begin
            # a failure: an input that has no value is named first, then what the kernel knows
            if status.code != OK:
                for item in exact:
                    item.column(np.linspace(status.time, min(status.time + step, end), PROBES))
                now = vector(a + b * (began - t) for a, b in zip(u, du, strict=True))
                raise StepError(facts(prepared).explained(kernel, status, x, now, du, p, began, step, tolerance))
            steps += int(status.substeps)
        watch(end, x)
        report(end / stop)
    # the result, with notices: one on the steps, that which says most, then of gaps and of the energy
    stands.append(Stand(stop, x, drives.at(stop)))
    note(stop, x, stands[-1].u)
    table = np.array(rows)[:, : len(shown)]
    error = RunError() if errors is None else estimated(errors, outline.measured)
    y = table[:, len(outline.inputs) :]
    too_long = _step_notices(prepared, stands, p, steps, float(points[1] - points[0]), bool(limited))
    return Result(
        points,
        names,
        table,
        {item.name: item.unit for item in shown},
        steps,
        seconds,
        roles((item.name, item.kind, item.unit, item.derivative_of) for item in shown),
        chosen,
        (
            *(too_long or _error_notices(error, bool(tolerance)) or _size_notices(prepared, points, y, stands, p)),
            *_gap_notices(outline, points, y),
            *_energy_notices(outline.constant, names, table, len(outline.inputs), bool(tolerance)),
        ),
        prepared.stepper,
        prepared.reason,
        error=error,
    )


def _moved(
    prepared: Prepared,
    x: Any,
    u: Any,
    du: Any,
    p: Any,
    t: float,
    span: float,
    errors: Any,
    progress: Progress,
) -> tuple[Any, Status, float]:
    """Return state and status after a span, and when the last call began: a user can interrupt between short ones.

    The arguments are those of `runtime.move`; `told` is called between two calls with the time reached, s.
    """
    kernel, step, tolerance = prepared.kernel, prepared.step, prepared.tolerance
    substeps, done, n = 0.0, 0.0, count(span, step)

    def later() -> Any:
        return vector([a + b * done for a, b in zip(u, du, strict=True)]) if done else u

    while tolerance:
        began = t + done
        x, status = kernel.control(x, later(), du, p, began, span - done, step, tolerance, CALL, errors)
        substeps, done = substeps + status.substeps, status.time - t
        if status.code != UNFINISHED:
            return x, status._replace(substeps=substeps), began
        progress(t + done)
    if n <= CALL:
        return *kernel.advance(x, u, du, p, t, span / n, n, errors), t
    for first in range(0, n, CALL):
        began = t + done
        x, status = kernel.advance(x, later(), du, p, began, span / n, min(CALL, n - first), errors)
        substeps, done = substeps + status.substeps, (first + CALL) * (span / n)
        if status.code != OK or first + CALL >= n:
            break
        progress(t + done)
    return x, status._replace(substeps=substeps), began


def _step_notices(
    prepared: Prepared, stands: Sequence[Stand], p: Any, steps: int, interval: float, limited: bool
) -> tuple[str, ...]:
    """Return a notice if errors grow from step to step, or a step does not resolve the motion, at a point tried.

    Those are the start, the two around the step that changes the state most, as it does where errors grow or where
    something stiff begins to act, and others at equal distances, one for so many steps that to try them takes little of
    the run's time.

    Args:
        prepared: the model with its stepper.
        stands: where the motion stood.
        p: parameters.
        steps: number of steps of the run.
        interval: time between communication points, s.
        limited: whether errors may grow.
    """
    halves = prepared.outline.halves and not prepared.tolerance
    if not (limited or halves):
        return ()
    step = interval / count(interval, prepared.step)
    others = np.linspace(0, len(stands) - 1, min(MOST_TRIED, steps // STEPS_TRIED) + 2)[1:]
    k = _most_changed([item.x for item in stands])
    within = _replayed(prepared.kernel, stands[k], stands[k + 1].t, p, step)
    k = _most_changed([item.x for item in within])
    tried = [stands[0], *within[k : k + 2], *(stands[int(k)] for k in others)]
    for t, x, u in tried if limited else ():
        if sentence := prepared.too_long(x, u, vector([0.0] * len(u)), p, t, step):
            return (f"at t = {t:.6g} s {sentence}",)
    for stand in tried if halves else ():
        for item, one, other in _halved(prepared, stand, p, step):
            if abs(other - one) > UNRESOLVED * max(item.usual, abs(one)):
                return (f"at t = {stand.t:.6g} s {item.unresolved(one, other, step)}; {SHORTER}",)
    return ()


def _halved(prepared: Prepared, stand: Stand, p: Any, step: float) -> Iterator[tuple[Quantity, float, float]]:
    """Yield each state after a step, s, and after two of half the length, with the inputs held; none if one fails."""
    t, x, u = stand
    kernel, values, still = prepared.kernel, [], vector([0.0] * len(u))
    for n in (1, 2):
        end, status = kernel.advance(x, u, still, p, t, step / n, n)
        if status.code != OK:
            return
        values.append(kernel.outputs(end, u, p, t + step))
    for item in prepared.outline.states:
        yield item, values[0][item.place], values[1][item.place]


def _most_changed(states: Sequence[Any]) -> int:
    """Return the number of the state from which the next one differs most, relative to 1 and its size."""
    values = np.array([x[:-1] for x in states])
    with np.errstate(all="ignore"):
        change = np.max(np.abs(np.diff(values, axis=0)) / (1 + np.abs(values[:-1])), axis=1, initial=0.0)
    return int(change.argmax())


def _replayed(kernel: Any, first: Stand, end: float, p: Any, step: float) -> list[Stand]:
    """Return where a motion stands step by step up to a time, its inputs held; at most so many steps as are kept."""
    stands, still = [first], vector([0.0] * len(first.u))
    n = min(count(end - first.t, step), MOST_STANDS)
    for k in range(n):
        x, status = kernel.advance(stands[-1].x, first.u, still, p, stands[-1].t, step, 1)
        if status.code != OK:
            break
        stands.append(Stand(first.t + (k + 1) * step, x, first.u))
    return stands if len(stands) > 1 else [first, first]


def _size_notices(
    prepared: Prepared, points: npt.NDArray[np.float64], y: npt.NDArray[np.float64], stands: Sequence[Stand], p: Any
) -> tuple[str, ...]:
    """Return a notice if a state is absurdly large: far beyond its usual size where the halves of a step end apart.

    Beyond `HOPELESS` times that size, the size alone decides.

    Args:
        prepared: the model with its stepper.
        points: communication points, s, shape (n + 1,).
        y: outputs there, shape (n + 1, n_y).
        stands: where the motion stood.
        p: parameters.
    """
    outline = prepared.outline
    if not outline.states:
        return ()
    halves = outline.halves and not prepared.tolerance
    sizes = np.abs(y[:, [item.place for item in outline.states]]) / [item.usual for item in outline.states]
    most, bar = sizes.max(axis=1), ABSURD
    step = min(prepared.step, float(points[1] - points[0]))
    while (beyond := np.flatnonzero(most > bar)).size:
        row = int(beyond[0])
        worst, bar = outline.states[int(sizes[row].argmax())], RAISED * float(most[row])
        start = f"at t = {points[row]:.6g} s {worst.absurd(float(y[row, worst.place]))}"
        before = [stand for stand in stands if stand.t < points[row]] or stands
        for item, one, other in _halved(prepared, before[-1], p, step) if halves else ():
            if item == worst and abs(other - one) > NOTICEABLE * abs(one):
                return (f"{start}, and {item.unresolved(one, other, step)}; {SHORTER}",)
        if most[row] > HOPELESS:
            return (f"{start}; check inputs and parameters, or take other steps",)
    return ()


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


def _error_notices(error: RunError, chosen: bool) -> tuple[str, ...]:
    """Return a notice if the error of a run is noticeable; chosen: whether steps were chosen for a tolerance."""
    if not error.name or error.value <= NOTICEABLE:
        return ()
    remedy = "take a smaller tolerance" if chosen else "take a smaller step, another stepper, or a tolerance"
    size = f"{100 * error.value:.2g} % of its range" if error.value <= 1 else "more than its range"
    where = f"{error.name} with an estimated error of {size}, most of it from t = {error.time:.6g} s"
    return (f"the steps leave {where}; {remedy}",)


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

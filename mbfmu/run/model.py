"""The run of a prepared model: communication points, inputs, steps, results."""

import math
import time as clock
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from mbfmu.base.result import Result, RunError, matching, roles
from mbfmu.errors import StartError, StepError, UsageError
from mbfmu.fmu.failures import facts
from mbfmu.kernel import Status, vector
from mbfmu.kernel.errors import begun, estimated
from mbfmu.kernel.runtime import OK, UNFINISHED, fewest_steps
from mbfmu.prepared.failures import not_finite
from mbfmu.prepared.prepare import Prepared, check_steps
from mbfmu.prepared.settings import OFTEN
from mbfmu.run.drives import Drives
from mbfmu.run.inputs import Course
from mbfmu.run.notices import MOST_STANDS, Stand, notices_of

Progress = Callable[[float], None]
POINTS = 500
"""Default number of output points of a run, approximately."""
MOST_POINTS = 10_000_000
LONGEST = 1e12
"""Largest number of steps of a run: more take days, of the smallest model."""
CALL = 2000
"""Largest number of steps of one call of the kernel, after which Python handles an interrupt from the keyboard."""
HISTORY = 8
"""Number of points before t = 0 that a multistep method may need, at which inputs are evaluated if the start fails."""
PROBES = 129
"""Number of times within a failed step at which its inputs are tried."""


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
    # what is kept of the run
    rows: list[list[float]] = []
    stands: list[Stand] = []
    stride = math.ceil(len(points) / MOST_STANDS)
    steps, seconds = 0, 0.0
    errors = begun(kernel.n_errors, error_samples) if error_samples and kernel.n_errors else None

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
    # the result, with notices
    stands.append(Stand(stop, x, drives.at(stop)))
    note(stop, x, stands[-1].u)
    table = np.array(rows)[:, : len(shown)]
    error = RunError() if errors is None else estimated(kernel, errors, outline.measured)
    return Result(
        points,
        names,
        table,
        {item.name: item.unit for item in shown},
        steps,
        seconds,
        roles((item.name, item.kind, item.unit, item.derivative_of) for item in shown),
        chosen,
        notices_of(prepared, error, stands, p, steps, points, table, usual_start),
        prepared.stepper,
        prepared.reason,
        error=error,
        step=step,
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
    substeps, done, n = 0.0, 0.0, fewest_steps(span, step)

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

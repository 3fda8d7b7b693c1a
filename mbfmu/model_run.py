"""The run of a prepared model: communication points, inputs, steps, results."""

import math
import time as clock
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from mbfmu.dae.energy import STORED, Conserved
from mbfmu.errors import StartError, StepError, UnknownNameError, UsageError, nearest
from mbfmu.fmu.failures import facts
from mbfmu.inputs import Constant, Course, Formula, as_type, pieces
from mbfmu.kernel import Status, vector
from mbfmu.kernel.runtime import OK, UNFINISHED, Energy, count
from mbfmu.prepared.outline import Outline
from mbfmu.prepared.prepare import Prepared
from mbfmu.result import Result, matching, roles

Progress = Callable[[float], None]
POINTS = 500
"""Default number of output points of a run, approximately."""
MOST_POINTS = 10_000_000
CALL = 2000
"""Largest number of steps between two looks at the keyboard."""
HISTORY = 8
"""Number of points of a first history, at which inputs are tried if it cannot be made."""
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


class Drives:
    """The inputs of a run, as lines between the times at which they bend.

    Args:
        outline: of the model.
        given: inputs over time, by name; the others keep their start values.
        points: communication points, s.
        step: longest step, s.
    """

    def __init__(
        self, outline: Outline, given: Mapping[str, Course], points: npt.NDArray[np.float64], step: float
    ) -> None:
        items = outline.inputs
        self._points, self._step, self._multistep = points.tolist(), step, outline.multistep
        self._inputs = [as_type(given.get(item.name) or Constant(item.name, item.start), item.type) for item in items]
        inside = [item for item in self._inputs if isinstance(item, Formula) and item.name in outline.formulas]
        self._columns = {item.name: item.column(points).tolist() for item in inside}
        self._formulas = {item.name: item for item in inside}
        self._followed = [
            item for item in self._inputs if not (item.name in self._formulas or isinstance(item, Constant))
        ]
        self._divide = any(item.curved for item in self._followed) or (self._multistep and bool(self._followed))

    def at(self, time: float) -> list[float]:
        """Return the inputs at a time, s."""
        return [item.at(time) for item in self._inputs]

    def try_formulas(self, times: npt.NDArray[np.float64]) -> None:
        """Compute the formulas that are part of the equations at some times, s.

        Raises:
            UsageError: one of them has no value there.
        """
        for item in self._formulas.values():
            item.column(times)

    def between(self, k: int) -> list[tuple[float, float, list[float], list[float]]]:
        """Return (begin, s, end, s, inputs, their derivatives) from communication point k to the next."""
        start, end = self._points[k : k + 2]
        if not (self._followed or self._formulas):
            return [(start, end, self.at(0.0), [0.0] * len(self._inputs))]
        times = pieces([] if self._multistep else self._followed, start, end, self._step, self._divide)
        lines = [
            ([self._columns[item.name][k]] * len(times), [0.0] * len(times))
            if item.name in self._formulas
            else (item.secants if self._multistep else item.lines)(times)
            for item in self._inputs
        ]
        return [
            (t, t1, [value[i] for value, _ in lines], [rate[i] for _, rate in lines])
            for i, (t, t1) in enumerate(pairwise(times))
        ]


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

    Raises:
        StartError: there is no consistent state with the start values.
        StepError: a step failed.
        UsageError, UnknownNameError: an input is invalid, or a name to show is unknown.
    """
    outline = prepared.outline
    step, tolerance, given = prepared.step, prepared.tolerance, given or {}
    _refuse_inputs(outline, given)
    shown = [*outline.inputs, *outline.outputs]
    names = tuple(item.name for item in shown)
    chosen = matching(show, names)
    points = communication_points(stop, step, interval)
    drives = Drives(outline, given, points, step)
    kernel = prepared.kernel
    p = vector(outline.p_default() if p is None else p)
    try:
        x = prepared.initial_state(vector(drives.at(0.0)), None if s is None else vector(s), p)
    except StartError:
        drives.try_formulas(np.arange(HISTORY) * np.float64(-step))  # where a multistep method makes its first history
        raise
    watch(0.0, x)
    rows: list[list[float]] = []
    steps, seconds = 0, 0.0
    for k, (start, end) in enumerate(pairwise(points.tolist())):
        for t, t1, u_t, du_t in drives.between(k):
            u, du = vector(u_t), vector(du_t)
            if t == start:
                rows.append([*u, *kernel.outputs(x, u, p, t)])
            begin = clock.perf_counter()
            drive = u, du, p, t, t1 - t, step, tolerance
            x, status, began = _moved(kernel, x, *drive, lambda time: report(time / stop))
            seconds += clock.perf_counter() - begin
            if status.code != OK:
                drives.try_formulas(np.linspace(status.time, min(status.time + step, end), PROBES))
                now = vector(a + b * (began - t) for a, b in zip(u, du, strict=True))
                raise StepError(facts(prepared).explained(kernel, status, x, now, du, p, began, step, tolerance))
            steps += int(status.substeps)
        watch(end, x)
        report(end / stop)
    u = vector(drives.at(stop))
    rows.append([*u, *kernel.outputs(x, u, p, stop)])
    table = np.array(rows)[:, : len(shown)]
    return Result(
        points,
        names,
        table,
        {item.name: item.unit for item in shown},
        steps,
        seconds,
        roles((item.name, item.kind, item.unit, item.derivative_of) for item in shown),
        chosen,
        _energy_notices(outline.constant, names, table, len(outline.inputs), bool(tolerance)),
        prepared.stepper,
        prepared.reason,
    )


def _refuse_inputs(outline: Outline, given: Mapping[str, Course]) -> None:
    """Raise an error for an input that does not exist, or one of a motion that is given as another kind than the rest.

    Raises:
        UnknownNameError, UsageError: see above.
    """
    known = [item.name for item in outline.inputs]
    for name, item in given.items():
        if name not in known:
            raise UnknownNameError(f"'{outline.name}' has no input '{name}'; {nearest(name, known)}")
        if name in outline.formulas and not isinstance(item, Formula | Constant):
            others = [other for other in outline.formulas if isinstance(given.get(other), Formula)]
            raise UsageError(
                f"inputs {name} and {others[0]} describe motions: give all of {', '.join(outline.formulas)} as "
                "expressions of time, or none of them"
            )


def _moved(
    kernel: Any, x: Any, u: Any, du: Any, p: Any, t: float, span: float, step: float, tolerance: float, told: Progress
) -> tuple[Any, Status, float]:
    """Return state and status after a span, and when the last call began: a user can interrupt between short ones.

    The arguments are those of `runtime.move`; `told` is called between two calls with the time reached, s.
    """
    substeps, done, n = 0.0, 0.0, count(span, step)

    def later() -> Any:
        return vector([a + b * done for a, b in zip(u, du, strict=True)]) if done else u

    while tolerance:
        began = t + done
        x, status = kernel.control(x, later(), du, p, began, span - done, step, tolerance, CALL)
        substeps, done = substeps + status.substeps, status.time - t
        if status.code != UNFINISHED:
            return x, status._replace(substeps=substeps), began
        told(t + done)
    if n <= CALL:
        return *kernel.advance(x, u, du, p, t, span / n, n), t
    for first in range(0, n, CALL):
        began = t + done
        x, status = kernel.advance(x, later(), du, p, began, span / n, min(CALL, n - first))
        substeps, done = substeps + status.substeps, (first + CALL) * (span / n)
        if status.code != OK or first + CALL >= n:
            break
        told(t + done)
    return x, status._replace(substeps=substeps), began


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
    remedy = "take a smaller tolerance" if chosen else "take a smaller step, or steps chosen for a tolerance"
    return (energy.message(constant.name, farthest, remedy),)

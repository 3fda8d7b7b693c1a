"""The error of a coupled run, by segments that are done once more with half the communication step.

States of all FMUs are kept at a few communication points of the run. After it, the segments where most happens are done
again, each step as two halves with the same exchange of inputs. The difference from the run grows over a segment as
errors do in this system, or stops growing where damping forgets them. What the segments show is carried over to the
whole run by the bends of the signals, which inputs along lines miss, or by their changes, which held inputs miss.
Halves of a communication step as a measure of its error: Schierz, Arnold & Clauss, Co-simulation with communication
step size control in an FMI compatible master algorithm, Proc. 9th Int. Modelica Conf., 2012.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mbfmu.base.result import RunError
from mbfmu.errors import FmuError, MbfmuError, StepError
from mbfmu.kernel.errors import NARROW, PASSING, SLIGHT, SMALL
from mbfmu.kernel.limits import HOPELESS, NOTICEABLE
from mbfmu.run.exchange import CoupledRun, Steps
from mbfmu.run.part import CoupledFmu, Shown

Array = npt.NDArray[np.float64]

WHOLE = 400
"""Number of steps of a run up to which all of them are done once more; of a longer run as many."""
COMPARED = 0.02
"""Part of the steps of a long run that are done once more."""
LONGER = 4
"""Ratio of the numbers of steps that are done once more, if the error is noticeable only beyond the segments."""
SEGMENTS = 2
"""Number of segments of a run that is not compared as a whole."""
REPEATED = 4
"""Number of steps at the start that are repeated, with the same bits if all FMUs return to their states."""
SPACING, MOST = 16, 64
"""Least number of steps from one saved state to the next, and largest number of saved states."""
ENORMOUS = 1e150
"""Largest change of a signal that counts."""
LAST = 3
"""Number of steps that a difference lasts if it is more than that of a jump that comes earlier in halves."""
FASTEST = 1e3
"""Largest ratio of two differences, two steps apart, with which an error is taken to grow."""
MARGIN = 0.1
"""Amount by which less is forgotten than a segment shows: at a constant amount of errors nothing then is forgotten."""


class CoupledSignal(NamedTuple):
    """A real variable whose error is estimated.

    Args:
        name: ``component.variable``.
        unit: its unit, or an empty text.
        nominal: its usual size.
        integral: index of the signal whose time derivative it is; None: there is none.
    """

    name: str
    unit: str
    nominal: float
    integral: int | None = None


class Segment(NamedTuple):
    """Steps of a run that were done once more in halves.

    Args:
        first: index of the first step.
        differences: what the halves change at the end of each step, shape (n_steps, n_signals).
    """

    first: int
    differences: Array


class CoupledSignals:
    """The variables whose error is estimated: real ones that inputs follow, and recorded ones with a known derivative.

    Args:
        run: the FMUs.
        shown: FMU and name of what is recorded.
    """

    def __init__(self, run: CoupledRun, shown: Sequence[tuple[CoupledFmu, str]]) -> None:
        followed = dict.fromkeys((source.part, source.name) for source in run.sources.values())
        kept = dict.fromkeys([*followed, *((part, name) for part, name in shown if name in part.differentiated)])
        self.ends = [(part, name) for part, name in kept if part.is_real(name)] if followed else []
        self.signals = [
            CoupledSignal(f"{part.name}.{name}", *part.usual(name), self._integral(part, name))
            for part, name in self.ends
        ]

    def _integral(self, part: CoupledFmu, name: str) -> int | None:
        end = (part, part.derivative_of(name))
        return self.ends.index(end) if end in self.ends else None

    def absurd(self, times: Array, values: Array) -> tuple[str, ...]:
        """Return a notice on the first value that is absurdly large.

        Args:
            times: communication points, s, shape (n + 1,).
            values: the signals there, shape (n + 1, n_signals).
        """
        if not self.signals:
            return ()
        sizes = np.abs(values) / [item.nominal for item in self.signals]
        beyond = np.flatnonzero(~(sizes.max(axis=1) <= HOPELESS))
        if not beyond.size:
            return ()
        row, column = int(beyond[0]), int(np.nan_to_num(sizes[beyond[0]], nan=math.inf).argmax())
        item = self.signals[column]
        shown = f"{item.name} = {values[row, column]:.3g} {item.unit}".rstrip()
        return (
            f"at t = {times[row]:.6g} s {shown}, far beyond its typical size {item.nominal:g}: take a shorter step",
        )


class ReturnError(MbfmuError):
    """An FMU does not return to a state that it saved."""


class States:
    """States of a run at a few communication points, at equal numbers of steps from each other.

    Args:
        run: the FMUs, at the start of the run.
    """

    def __init__(self, run: CoupledRun) -> None:
        for part in run.parts.values():
            part.returns = True
        self._run, self._spacing = run, SPACING
        self.by_index: dict[int, Any] = {}
        self.passed(0)

    def passed(self, index: int) -> None:
        """Keep the state at a communication point, whose index is supplied, if it is one of a few."""
        if index % self._spacing:
            return
        with suppress(FmuError):
            self.by_index[index] = self._run.save()
        if len(self.by_index) > MOST:
            self._spacing *= 2
            for other in [item for item in self.by_index if item % self._spacing]:
                self._run.forget(self.by_index.pop(other))

    def free(self) -> None:
        """Free all states."""
        while self.by_index:
            with suppress(FmuError):
                self._run.forget(self.by_index.popitem()[1])


class Halves:
    """Segments of a run that has ended, done once more in halves of its steps.

    Args:
        run: the FMUs.
        ends: FMU and name of the signals.
        steps: the steps from each communication point to the next.
        values: the signals at all of them, shape (n + 1, n_signals).
    """

    def __init__(
        self, run: CoupledRun, ends: Sequence[tuple[CoupledFmu, str]], steps: Sequence[Steps], values: Array
    ) -> None:
        self._run, self._ends, self._steps, self._values = run, ends, steps, values
        self._signals = Shown(ends)

    def from_start(self) -> list[Segment]:
        """Do all steps by FMUs that stand at the start."""
        return self._compared(0, len(self._steps))

    def from_states(self, states: Mapping[int, Any], segments: Iterable[tuple[int, int]]) -> list[Segment]:
        """Do segments from states.

        Args:
            states: saved states by the index of their communication point.
            segments: index of the first and number of the steps of each.

        Raises:
            ReturnError: an FMU does not return to a state.
        """
        if 0 not in states:
            raise ReturnError("an FMU does not save its state")
        self._check(states[0])
        compared = []
        for first, length in segments:
            self._return(states[first])
            compared += self._compared(first, length)
        return compared

    def _return(self, state: Any) -> None:
        try:
            self._run.restore(state)
        except FmuError as error:
            raise ReturnError(str(error)) from None

    def _check(self, start: Any) -> None:
        """Raise a ReturnError unless the first steps, done once more, end with the same bits."""
        for _ in range(2):  # a state that is no copy changes with the first steps
            self._return(start)
            rows = [self._signals.values()]
            with suppress(FmuError, StepError):
                for steps in self._steps[:REPEATED]:
                    for time, size in steps:
                        self._run.step(time, size)
                    rows.append(self._signals.values())
            values, wanted = np.array(rows), self._values[: REPEATED + 1]
            if values.tobytes() != wanted.tobytes():
                changed = np.flatnonzero((values != wanted[: len(values)]).any(axis=0))
                part, name = self._ends[int(changed[0]) if changed.size else 0]
                raise ReturnError(f"{part.name}.{name} continues differently after a return to a saved state")

    def _compared(self, first: int, length: int) -> list[Segment]:
        """Return what halves of steps change, as far as they do not fail."""
        rows: list[list[float]] = []
        with suppress(FmuError, StepError):
            for steps in self._steps[first : first + length]:
                self._run.halves(steps)
                rows.append(self._signals.values())
        if not rows:
            return []
        with np.errstate(all="ignore"):
            return [Segment(first, np.abs(self._values[first + 1 : first + 1 + len(rows)] - np.array(rows)))]


def chosen(activity: Array, starts: Iterable[int], count: int) -> list[tuple[int, int]]:
    """Return the segments that are compared, index of the first and number of the steps of each: where most happens.

    Args:
        activity: of each signal in each step, shape (n, n_signals).
        starts: indices of steps with which a segment may begin.
        count: number of steps of all segments.
    """
    n = len(activity)
    if count >= n:
        return [(0, n)]
    length = count // SEGMENTS
    shares = (activity / np.maximum(activity.sum(axis=0), np.finfo(float).tiny)).sum(axis=1)
    segments: list[tuple[int, int]] = []
    for start in sorted(starts, key=lambda start: -shares[start : start + length].sum()):
        apart = all(abs(start - other) >= length for other, _ in segments)
        if apart and start < n and len(segments) < SEGMENTS:
            segments.append((start, min(length, n - start)))
    return segments


def compared(
    signals: Sequence[CoupledSignal], times: Array, values: Array, order: int, attempt: Callable[[int], list[Segment]]
) -> RunError:
    """Return the error of a run of which some steps are done once more.

    If the error is noticeable only by what is carried over from the segments, more steps are done, up to all.

    Args:
        signals: see `estimated`.
        times: see there.
        values: see there.
        order: see there.
        attempt: function that does a number of steps once more.
    """
    n = len(times) - 1
    count = min(n, max(WHOLE, round(COMPARED * n)))
    while True:
        segments = attempt(count)
        error = estimated(signals, times, values, segments, order)
        seen = estimated(signals, times, values, segments, order, carried=False)
        if count == n or not seen.value <= NOTICEABLE < error.value:
            return error
        count = min(n, LONGER * count)


def activity_of(values: Array, order: int) -> Array:
    """Return by how much a held input, or one along a line, misses each signal in each step, shape (n, n_signals).

    Args:
        values: signals at the communication points, shape (n + 1, n_signals).
        order: 1 for held inputs, 2 for those along lines.
    """
    with np.errstate(all="ignore"):
        missed = np.abs(np.diff(values, n=min(order, len(values) - 1), axis=0))
    missed = np.minimum(np.nan_to_num(missed, nan=0.0), ENORMOUS)
    return np.concatenate((missed[:1], missed)) if len(missed) < len(values) - 1 else missed


def estimated(
    signals: Sequence[CoupledSignal],
    times: Array,
    values: Array,
    segments: Sequence[Segment],
    order: int,
    carried: bool = True,
) -> RunError:
    """Return the error of a coupled run.

    Args:
        signals: the variables.
        times: communication points, s, shape (n + 1,).
        values: signals there, shape (n + 1, n_signals).
        segments: what halves of the step change.
        order: order of the error in the communication step.
        carried: whether what the segments show is carried over to the whole run.
    """
    if not (signals and segments):
        return RunError()
    with np.errstate(all="ignore"):
        scale = _scales(signals, values)
        activity = activity_of(values, order)
        error, time = _carried(segments, activity, times)
        if not carried:
            error = np.max([lasting(item.differences).max(axis=0) for item in segments], axis=0)
        error *= 2**order / (2**order - 1)  # e(h) = d 2^p / (2^p - 1)
        relative = np.where(error > 0, error / scale, 0.0)
    for index, item in enumerate(signals):
        if item.integral is not None:
            relative[index] = min(relative[index], PASSING * relative[item.integral])
    relative = np.where(np.isnan(error) | np.isnan(relative), math.inf, relative)
    worst = int(np.argmax(relative))
    by_variable = {item.name: float(part) for item, part in zip(signals, error, strict=True)}
    return RunError(float(relative[worst]), signals[worst].name, float(time[worst]), by_variable)


def _scales(signals: Sequence[CoupledSignal], values: Array) -> Array:
    """Return the ranges of signals, as far as they count."""
    ranges = np.ptp(values, axis=0)
    largest: dict[str, float] = {}
    for item, size in zip(signals, ranges, strict=True):
        largest[item.unit] = max(largest.get(item.unit, 0.0), float(size))
    least = [max(NARROW * item.nominal, SMALL * largest[item.unit]) for item in signals]
    scales: Array = np.maximum.reduce([ranges, np.array(least), SLIGHT * np.abs(values).max(axis=0)])
    return scales


def lasting(differences: Array) -> Array:
    """Return differences as far as they last: where a signal jumps, halves are apart for a step or two.

    A difference counts as far as there is one two or three steps later, at the end of a segment as far as it has grown
    from those before.

    Args:
        differences: at successive communication points, shape (n, n_signals).
    """
    n = len(differences)
    if n < 2 * LAST:
        return differences
    later = np.maximum(differences[LAST - 1 : -1], differences[LAST:])
    before = np.maximum(differences[n - 2 * LAST : n - LAST], differences[n - 2 * LAST + 1 : n - LAST + 1])
    limits: Array = np.vstack((later, FASTEST * before))
    return np.minimum(differences, limits, dtype=np.float64)


def _carried(segments: Sequence[Segment], activity: Array, times: Array) -> tuple[Array, Array]:
    """Return the largest difference over the whole run of each signal, and when most was added to it, s."""
    n = activity.shape[1]
    shorter, longer, until, total = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    most, added, time = np.zeros(n), np.zeros(n), np.full(n, times[0])
    for first, rows in segments:
        grown = np.maximum.accumulate(lasting(rows), axis=0)
        half = max(1, len(grown) // 2)
        shorter, longer = shorter + grown[half - 1], longer + grown[-1]
        until, total = until + activity[first : first + half].sum(0), total + activity[first : first + len(rows)].sum(0)
        steps = np.diff(np.vstack((np.zeros(n), grown)), axis=0)
        time = np.where(steps.max(axis=0) > added, times[first + 1 + steps.argmax(axis=0)], time)
        most, added = np.maximum(most, grown[-1]), np.maximum(added, steps.max(axis=0))
    if len(segments[0].differences) == len(activity):
        return most, time
    # the part of an error that is left after half a segment: d(l) / d(l / 2) = 1 + left, if errors are made evenly
    ratio = 2 * (longer / total) / (shorter / until)
    left = np.clip(np.nan_to_num(ratio, nan=2.0) - 1 + MARGIN, 0.0, 1.0)
    # the most active part of a segment's length, and the number of such parts in the run
    length = max(len(rows) for _, rows in segments)
    sums = np.vstack((np.zeros(n), np.cumsum(activity, axis=0)))
    busiest = (sums[length:] - sums[:-length]).max(axis=0)
    parts = sums[-1] / busiest
    # their sum, with what each has left: (1 - left^(2 parts)) / (1 - left^2)
    remaining = np.where(left < 1, (1 - left ** (2 * parts)) / np.maximum(1 - left**2, np.finfo(float).tiny), parts)
    carried = longer / total * busiest * remaining
    return np.fmax(most, carried), time

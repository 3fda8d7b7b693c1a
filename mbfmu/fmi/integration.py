"""Runs of FMUs for model exchange: CVode integrates them from event to event, as FMPy calls it.

Inputs follow the rows of the run: lines over each, and what does not continue from one to the next is an event.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from ctypes import c_double
from typing import Any

from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import fmi2Discard
from fmpy.sundials import CVodeSolver

from mbfmu.fmi.events import out_of_order, settle

TOLERANCE = 1e-5
"""Relative tolerance where neither the user nor the FMU names one."""
PARTS = 50
"""Least number of the solver's steps in a run."""
MOST = 100_000
"""Largest number of the solver's steps between two events or output points."""
MET = 1e-12
"""Distance, relative to the time of a run, within which a time is reached."""
ENDLESS = 1000
"""Largest number of events in a row at one time."""
SPARE = 64
"""Numbers behind an array in which it shows whether an FMU fills more than it has."""
MARK = -1.2345678901234567e-289
"""A number that no FMU gives."""
JUMP = 1e-9
"""Difference between two values of an input, relative to 1 and their size, from which it jumps."""


class Lost(Exception):  # noqa: N818 - it tells how a run ended
    """A point from which the solver cannot continue, as the FMU discards it; a master takes it as a discarded step."""

    status = fmi2Discard


class Contradiction(Exception):  # noqa: N818 - it ends a run with its text
    """An FMU that is not what its description says."""


class WithoutSign(Exception):  # noqa: N818 - it ends a run with its text
    """An event indicator that is no finite number."""


class _Solver(CVodeSolver):  # type: ignore[misc]
    """CVode, which takes a shorter step where the FMU discards a point, and ends where it fails."""

    error: Exception | None = None

    def f(self, t: float, y: Any, ydot: Any, user_data: Any) -> int:
        """Give the derivatives."""
        return self._tried(super().f, t, y, ydot, user_data)

    def g(self, t: float, y: Any, gout: Any, user_data: Any) -> int:
        """Give the event indicators.

        Raises:
            WithoutSign: one of them is not finite, so that its sign says nothing.
        """
        return self._tried(self._indicators, t, y, gout, user_data)

    def _indicators(self, t: float, y: Any, gout: Any, user_data: Any) -> int:
        status: int = super().g(t, y, gout, user_data)
        for k in range(self.nz):
            if not math.isfinite(gout[k]):
                raise WithoutSign(f"its event indicator {k + 1} is {gout[k]:g} at t = {t:g} s")
        return status

    def _tried(self, function: Callable[..., int], *arguments: Any) -> int:
        try:
            return function(*arguments)
        except Exception as error:  # noqa: BLE001 - nothing may leave a callback of C
            self.error = error
            return 1 if _discards(error) else -1

    def step(self, t: float, tNext: float) -> tuple[bool, Any, float]:
        """Go on towards a time; return whether an indicator changed its sign, which, and the time reached."""
        try:
            result: tuple[bool, Any, float] = super().step(t, tNext)
        except Exception as error:  # noqa: BLE001 - FMPy raises plain Exceptions
            if self.error is None or _discards(self.error):
                raise Lost(str(self.error or error)) from None
            raise self.error from None
        self.error = None
        return result


def _discards(error: Exception) -> bool:
    """Return whether an error is a point that the FMU discards."""
    return isinstance(error, FMICallException) and bool(error.status == fmi2Discard)


class _Nothing:
    """The inputs that FMPy's solver asks for at event indicators; they are set with the time."""

    def apply(self, time: float) -> None:
        """Do nothing."""


class Integration:
    """An instance for model exchange that follows rows.

    Args:
        instance: the instance, with the calls of FMI 2.0, in event mode after its initialisation.
        description: FMPy's model description with scalar variables.
        inputs: variables of the inputs that change.
        rows: time, length of a step, and values and rates of these inputs; output points have no length.
        give: sets one of the inputs, by its number, to a value.
        span: begin and end of the run, s.
        tolerance: relative tolerance; None: that of the FMU's default experiment.
        remark: called with what is wrong with the FMU though the run continues.

    Raises:
        Contradiction: the FMU has other numbers of states or event indicators than its description.
    """

    def __init__(
        self, instance: Any, description: Any, inputs: Sequence[Any], rows: Iterable[Sequence[float]],
        give: Callable[[int, float], None], span: tuple[float, float], tolerance: float | None,
        remark: Callable[[str], None] = lambda _: None,
    ) -> None:  # fmt: skip
        self._instance, self._give, self._remark = instance, give, remark
        self._moving = [index for index, item in enumerate(inputs) if is_continuous(item)]
        self._whole = [index for index, item in enumerate(inputs) if item.type in ("Integer", "Enumeration")]
        self._n = len(inputs)
        self._rows = list(rows)
        self._steps = [row for row in self._rows if row[1] > 0]
        self._times = [row[0] for row in self._steps]
        ends = [self._end(row) for row in self._steps[:-1]]
        starts = [self._values(row) for row in self._steps[1:]]
        self._breaks = [k for k, (end, begin) in enumerate(zip(ends, starts, strict=True), 1) if _jumps(end, begin)]
        self._piece = (0, len(self._steps) - 1)  # numbers of the steps whose lines hold until the next jump
        self._near = MET * max(map(abs, span))
        self._completes = description.modelExchange.needsCompletedIntegratorStep
        self._next = math.inf  # time of the next event
        self._disordered = False  # whether such a time was not ahead
        self.ended = False
        """Whether the FMU has asked for the end of the run."""
        self._update(span[0])
        if self.ended:
            return
        self._check_numbers(description)
        self._begin_piece(span[0])
        self._at(span[0])
        experiment = description.defaultExperiment
        if tolerance is None and experiment is not None and experiment.tolerance is not None:
            tolerance = float(experiment.tolerance)
        self._solver = _Solver(
            nx=description.numberOfContinuousStates,
            nz=description.numberOfEventIndicators,
            get_x=instance.getContinuousStates,
            set_x=instance.setContinuousStates,
            get_dx=instance.getDerivatives,
            get_z=instance.getEventIndicators,
            get_nominals=self._nominals,
            set_time=self._at,
            input=_Nothing(),
            startTime=span[0],
            maxStep=(span[1] - span[0]) / PARTS,
            relativeTolerance=tolerance or TOLERANCE,
            maxNumSteps=MOST,
        )

    def points(self, tell: Callable[[float], None]) -> Iterator[float]:
        """Give the output points, with the instance at each; tell is called with the time that is reached.

        Raises:
            Lost: the solver cannot continue.
        """
        before: Sequence[float] = ()
        for row in self._rows:
            time, size, values = row[0], row[1], self._values(row)
            if self.ended:
                return
            if before and _jumps(before, values):
                self._jump(time, values)
            before = self._end(row)
            if size > 0 and not self.ended:
                self._integrate(time, time + size, tell)
            elif not self.ended:
                yield time

    def _values(self, row: Sequence[float]) -> Sequence[float]:
        """Return the inputs at the start of a row; the rate of a whole number is what its value lacks."""
        values = list(row[2 : 2 + self._n])
        for index in self._whole:
            values[index] = round(values[index]) + round(row[2 + self._n + index])
        return values

    def _end(self, row: Sequence[float]) -> list[float]:
        """Return the inputs at the end of a row."""
        values = list(self._values(row))
        for index in self._moving:
            values[index] += row[2 + self._n + index] * row[1]
        return values

    def _begin_piece(self, time: float) -> None:
        """Set the lines that hold from a time until the next jump."""
        first = min(max(bisect_right(self._times, time + self._near) - 1, 0), len(self._steps) - 1)
        last = next((k for k in self._breaks if k > first), len(self._steps)) - 1
        self._piece = first, last

    def _at(self, time: float) -> None:
        """Set the time, and the inputs that move with it."""
        self._instance.setTime(time)
        if self._moving:
            first, last = self._piece
            row = self._steps[min(max(bisect_right(self._times, time) - 1, first), last)]
            for index in self._moving:
                self._give(index, row[2 + index] + row[2 + self._n + index] * (time - row[0]))

    def _update(self, time: float) -> None:
        """Do updates of the discrete states in event mode, and continue to the continuous-time mode."""
        self.ended, self._next = settle(self._instance)
        if self.ended:
            return
        if text := out_of_order(self._next, time):
            self._next = math.inf
            if not self._disordered:
                self._remark(text)
            self._disordered = True
        self._instance.enterContinuousTimeMode()

    def _check_numbers(self, description: Any) -> None:
        """Check that the FMU has as many states and event indicators as its description says.

        Raises:
            Contradiction: it has not.
        """
        states, indicators = description.numberOfContinuousStates, description.numberOfEventIndicators
        functions = (
            ("getContinuousStates", states, "continuous states"),
            ("getDerivatives", states, "derivatives"),
            ("getNominalsOfContinuousStates", states, "nominal values"),
            ("getEventIndicators", indicators, "event indicators"),
        )
        for name, n, quantity in functions:
            if not n:
                continue
            # what the FMU fills shows how many it has, whatever number it is asked for
            values = (c_double * (n + SPARE))(*[MARK] * (n + SPARE))
            getattr(self._instance, name)(values, n)
            filled = max((k for k, value in enumerate(values, 1) if value != MARK), default=0)
            if filled != n:
                raise Contradiction(f"it has {filled} {quantity}, and its description lists {n}")

    def _nominals(self, values: Any, n: int) -> None:
        """Put the nominal values of the states into an array; those that are not positive and finite become 1."""
        self._instance.getNominalsOfContinuousStates(values, n)
        for k in range(n):
            if not 0.0 < values[k] < math.inf:
                self._remark(f"the nominal value of its state {k + 1} is {values[k]:g}: 1 is used")
                values[k] = 1.0

    def _event(self, time: float, inputs: Sequence[float] = ()) -> None:
        """Go through an event, at which inputs may get other values, and begin again."""
        self._instance.enterEventMode()
        for index, value in enumerate(inputs):
            self._give(index, value)
        self._update(time)
        if not self.ended:
            self._solver.reset(time)

    def _jump(self, time: float, inputs: Sequence[float]) -> None:
        """Set inputs to values that they jump to."""
        self._begin_piece(time)
        self._event(time, inputs)

    def _integrate(self, time: float, end: float, tell: Callable[[float], None]) -> None:
        """Go from event to event up to the end of a row."""
        still = 0  # events in a row at one time
        while time < end - self._near and not self.ended:
            tell(time)
            fallen, _, reached = self._solver.step(time, min(end, self._next) if self._next > time else end)
            self._at(reached)
            still = still + 1 if reached <= time else 0
            if still > ENDLESS:
                raise Lost(f"more than {ENDLESS} events follow each other at t = {time:g} s")
            time, wanted = reached, False
            if self._completes:
                wanted, self.ended = self._instance.completedIntegratorStep()
            if not self.ended and (fallen or wanted or time >= self._next - self._near):
                self._event(time)


def is_continuous(variable: Any) -> bool:
    """Return whether a variable may change between events."""
    return variable.type == "Real" and variable.variability in (None, "continuous")


def _jumps(before: Sequence[float], after: Sequence[float]) -> bool:
    """Return whether values do not continue from others."""
    pairs = zip(before, after, strict=True)
    return any(a != b if isinstance(a, int) else abs(a - b) > JUMP * (1 + abs(a)) for a, b in pairs)

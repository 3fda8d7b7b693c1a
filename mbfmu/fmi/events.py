"""The event mode of FMI 3.0 in co-simulation, as a master goes through it: ticks, event iterations, steps to events."""

import math
from collections.abc import Callable, Sequence
from ctypes import c_double, c_int, c_uint32
from typing import Any

PERIODIC = ("constant", "fixed", "tunable")
"""Interval variabilities of clocks that tick periodically."""
ITERATIONS = 100
"""Updates after which an event iteration counts as endless."""
SAME = 1e-9
"""Part of an interval within which a periodic clock ticks."""
TOUCH = 1e-12
"""Distance, relative to the time of a run, within which an instant is met."""


class Endless(Exception):  # noqa: N818 - it ends a rule or a run with its text
    """An event iteration that does not end."""


def settle(slave: Any) -> tuple[bool, float]:
    """Do updates of the discrete states until they need no other update.

    Args:
        slave: an instance in event mode, with the calls of FMI 2.0.

    Returns:
        Whether the FMU asks for the end of the run, and the time of the next event, s.

    Raises:
        Endless: they always need another.
    """
    for _ in range(ITERATIONS):
        again, ended, _, _, defined, time = slave.newDiscreteStates()
        if ended or not again:
            return bool(ended), float(time) if defined else math.inf
    raise Endless(f"the discrete states still need another update after {ITERATIONS} calls")


def out_of_order(following: float, time: float) -> str:
    """Return what is wrong with the time of the next event that an FMU gives at a time, s; empty: nothing."""
    if following >= time - SAME * max(1.0, abs(time)):
        return ""
    return f"at t = {time:g} s it gives {following:g} s as the time of its next event, which is not ahead"


class Events:
    """The events of an instance for co-simulation by FMI 3.0.

    Args:
        slave: the instance behind calls of FMI 2.0.
        clocks: value references of its periodic input clocks.
        triggered: value references of clocks that it activates itself.
        used: whether it was made with event mode.
        stops: whether it returns early at ticks and at the next event; otherwise steps end there.
        tell: called with what is wrong with the time of the next event.
    """

    def __init__(
        self, slave: Any, clocks: Sequence[int] = (), triggered: Sequence[int] = (), used: bool = True,
        stops: bool = False, tell: Callable[[str], None] = lambda _: None,
    ) -> None:  # fmt: skip
        self._slave, self._references, self._triggered = slave, list(clocks), list(triggered)
        self._used, self._stops, self._tell = used, stops, tell
        self._disordered = False  # whether the time of a next event was not ahead
        self._clocks: list[tuple[int, float, float]] = []  # value reference, first tick and interval, s
        self.next = math.inf
        """Time of the next event that the FMU has told, s."""
        self.ended = False
        """Whether it has asked for the end of the run."""
        self.active: list[bool] = []
        """Whether each of the clocks that it activates was still active after the last update."""

    def read(self, start: float) -> None:
        """Read intervals and shifts of the clocks in initialisation mode; start: begin of the run, s."""
        shifts, lengths = shifts_of(self._slave, self._references), intervals_of(self._slave, self._references)
        self._clocks = [
            (reference, start + shift, interval)
            for reference, shift, interval in zip(self._references, shifts, lengths, strict=True)
            if 0.0 < interval < math.inf and math.isfinite(shift)
        ]

    def handle(self, time: float) -> None:
        """Go through the events of a time, s, from within event mode, and continue to step mode."""
        due = [reference for reference, first, interval in self._clocks if _is_tick(time, first, interval)]
        if due:
            self._slave.setClock(due, [True] * len(due))
        self.ended, self.next = settle(self._slave)
        if self.ended:
            return
        if (text := out_of_order(self.next, time)) and not self._disordered:
            self._tell(text)
            self._disordered = True
        self.active = list(map(bool, self._slave.getClock(self._triggered))) if self._triggered else []
        self._slave.enterStepMode()

    def change(self, time: float, inputs: Callable[[], None]) -> None:
        """Set inputs that jump at a time, s, in event mode, by a function."""
        self._slave.enterEventMode()
        inputs()
        self.handle(time)

    def advance(self, time: float, end: float, size: float | None = None) -> tuple[bool, bool, float]:
        """Step towards a time, to the next event that is known at most, and handle what is met there.

        Args:
            time: begin of the step, s.
            end: its end, s.
            size: its length, s; None: the difference.

        Returns:
            Whether the FMU needs event mode, whether the step ended early, and the time that was reached, s.
        """
        instants = [self.next, *(_tick_after(time, first, interval) for _, first, interval in self._clocks)]
        to = end if self._stops else min([end, *(instant for instant in instants if instant > time)])
        length = size if size is not None and to == end else to - time
        met, self.ended, early, last = self._slave.advance(time, length)
        last = last if early or self.ended else to  # solvers inside may stop beside it
        event = met or (self._used and last >= min(instants) - TOUCH * max(abs(last), abs(length)))
        if event and not self.ended:
            self._slave.enterEventMode()
            self.handle(last)
        return bool(met), bool(early), float(last)


def _is_tick(time: float, first: float, interval: float) -> bool:
    """Return whether a periodic clock ticks at a time."""
    ticks = (time - first) / interval
    return ticks > -SAME and abs(ticks - round(ticks)) <= SAME


def _tick_after(time: float, first: float, interval: float) -> float:
    """Return the time of the first tick of a periodic clock after a time, s."""
    return first + interval * max(0, math.floor((time - first) / interval + SAME) + 1)


def intervals_of(slave: Any, clocks: Sequence[int]) -> list[float]:
    """Return the intervals of clocks in initialisation mode, s."""
    n = len(clocks)
    intervals, qualifiers = (c_double * n)(), (c_int * n)()
    if n:
        slave.getIntervalDecimal((c_uint32 * n)(*clocks), intervals, qualifiers)
    return list(intervals)


def shifts_of(slave: Any, clocks: Sequence[int]) -> list[float]:
    """Return the shifts of clocks in initialisation mode, s."""
    n = len(clocks)
    shifts = (c_double * n)()
    if n:
        slave.getShiftDecimal((c_uint32 * n)(*clocks), shifts)
    return list(shifts)

"""Rules that FMI 3.0 alone has on co-simulation: functions, event mode, clocks, early returns, intermediate updates."""

import math
from collections.abc import Iterator, Mapping
from ctypes import CDLL
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from fmpy import platform_tuple, sharedLibraryExtension
from fmpy.fmi3 import FMU3Model, FMU3ScheduledExecution, FMU3Slave

from mbfmu.checker.outcome import NotApplicable, Remark
from mbfmu.checker.probe.instance import Instance, Outputs
from mbfmu.checker.probe.probe import SAME, SAVED, STEPS, DynamicRule, Probe, differences, not_finite
from mbfmu.fmi.calls import Ended
from mbfmu.fmi.events import PERIODIC, TOUCH, Events, intervals_of, shifts_of

FUNCTIONS = sorted(
    {name for kind in (FMU3Model, FMU3Slave, FMU3ScheduledExecution) for name in dir(kind) if name.startswith("fmi3")}
)
"""Names of all functions of FMI 3.0."""
SPANS = 500
"""Calls of fmi3DoStep that a run with event mode may take."""


class Stepped(Instance):
    """An instance with event mode that may return early; its master activates periodic clocks when they are due."""

    options: Mapping[str, Any] = MappingProxyType({"eventModeUsed": True, "earlyReturnAllowed": True})

    def __init__(self, job: dict[str, Any], callbacks: Any, name: str) -> None:
        super().__init__(job, callbacks, name)
        self._triggered = [clock for clock in job["clocks"] if clock["causality"] != "input" and not clock["clocks"]]
        self._events = Events(
            self.slave,
            [clock["reference"] for clock in job["clocks"] if clock["interval_kind"] in PERIODIC],
            [clock["reference"] for clock in self._triggered],
            used=self.options["eventModeUsed"],
        )

    @property
    def next(self) -> float:
        """Time of the next event that the FMU has reported, s."""
        return self._events.next

    @property
    def rang(self) -> list[str]:
        """Clocks that were still active after the last update of the discrete states."""
        return [clock["name"] for clock, on in zip(self._triggered, self._events.active, strict=False) if on]

    def initialise(self, stop: float | None = None) -> None:
        """Go through initialisation and the first event iteration; end in step mode."""
        self.slave.setupExperiment(tolerance=self.job["tolerance"], startTime=self.job["start"], stopTime=stop)
        self.slave.enterInitializationMode()
        self._events.read(self.job["start"])
        self.slave.exitInitializationMode()
        self.ready = True
        if self.options["eventModeUsed"]:
            self._events.handle(self.job["start"])
            self.ended = self._events.ended

    def advance(self, time: float, end: float) -> tuple[bool, bool, float]:
        """Step towards a time, and handle what is met on the way: see `Events.advance`."""
        result = self._events.advance(time, end)
        self.ended = self._events.ended
        return result

    def step(self, n: float, size: float | None = None) -> None:
        """Step from t0 + n h, by h if no other size is given, over all events on the way."""
        time = self.job["start"] + n * self.h
        size = self.h if size is None else size
        end, left = time + size, SPANS
        while left > 0 and not self.ended:
            _, _, time = self.advance(time, end)
            left = left - 1 if time < end - TOUCH * max(abs(end), size) else 0
        if self.ended:
            raise Ended(f"it ended the run at t = {time:g} s")


def functions_exported(probe: Probe) -> Iterator[str]:
    """The library exports all functions of FMI 3.0, also those of other kinds of FMU."""
    file = Path(probe.job["folder"], "binaries", platform_tuple, probe.job["identifier"] + sharedLibraryExtension)
    library = CDLL(str(file))
    missing = [name for name in FUNCTIONS if not hasattr(library, name)]
    if missing:
        yield f"not exported: {', '.join(missing)}"


class Span(NamedTuple):
    """One call of fmi3DoStep in a run with event mode.

    Args:
        instance: the instance, in step mode after what was met has been handled.
        begin: time at which it began, s.
        end: time that was reached, s.
        event: whether the FMU needs event handling.
        early: whether it returned early.
    """

    instance: Stepped
    begin: float
    end: float
    event: bool
    early: bool


def _spans(probe: Probe) -> Iterator[Span]:
    """Run the FMU with event mode over its default experiment."""
    start, stop = probe.job["start"], probe.job["stop"]
    with probe.instance(kind=Stepped) as instance:
        instance.initialise()
        time = start
        for _ in range(SPANS):
            passed = math.floor((time - start) / instance.h + SAME)
            event, early, last = instance.advance(time, min(start + (passed + 1) * instance.h, stop))
            yield Span(instance, time, last, event, early)
            if instance.ended or not last < stop - TOUCH * max(abs(stop), instance.h):
                return
            time = last


def event_mode(probe: Probe) -> Iterator[str]:
    """The FMU runs with event mode: event iterations end, the next event lies ahead, outputs stay finite."""
    probe.needs("hasEventMode")
    events, reached = 0, probe.job["start"]
    why = ""
    for instance, _, reached, event, _ in _spans(probe):
        events += event
        why = " where it ended the run" if instance.ended else ""
        if names := not_finite(instance.outputs()):
            yield f"not finite at t = {reached:g} s: {', '.join(names)}"
            return
        if instance.next < reached - SAME * instance.h:
            yield f"the next event is told to be at t = {instance.next!r} s, and it is t = {reached!r} s already"
            return
    if not why and reached < probe.job["stop"] - SAME * probe.job["step"]:
        why = " where the number of steps tried was used up"
    probe.remark = f"run to t = {reached:g} s{why}" + (f", with {events} events" if events else "")


def early_return(probe: Probe) -> Iterator[str]:
    """A step ends early or at an event only where master and FMU have agreed on it, and at a time within the step."""
    if not probe.job["clocks"]:  # an FMU with clocks needs event mode
        yield from _basic(probe)
    if not probe.job["flags"]["hasEventMode"]:
        return
    probe.after("event-mode")
    for _, time, last, _, early in _spans(probe):
        if early and not probe.job["flags"]["mightReturnEarlyFromDoStep"]:
            yield Remark(f"fmi3DoStep returned early at t = {last:g} s, but mightReturnEarlyFromDoStep is not set")
            return
        if early and not time <= last:
            yield f"a step from t = {time!r} s returned early at t = {last!r} s"
            return


def _basic(probe: Probe) -> Iterator[str]:
    """Take steps without event mode, and yield the first that asks for it; the rule 'step' has early returns."""
    with probe.running() as instance:
        for n in range(STEPS):
            time = probe.job["start"] + n * instance.h
            event, *_ = instance.slave.advance(time, instance.h)
            if event:
                yield f"fmi3DoStep asked for event handling at t = {time:g} s, and the master has no event mode"
                return


def intermediate_update(probe: Probe) -> Iterator[str]:
    """Intermediate updates lie within the step, never before a finished one, and may end it if the FMU says so."""
    probe.needs("providesIntermediateUpdate")
    probe.after("event-mode")
    times: list[tuple[float, bool]] = []
    asking = False

    def update(
        _environment: Any, time: float, _set: bool, _get: bool, finished: bool, can: bool, early: Any, when: Any
    ) -> None:
        times.append((time, finished))
        if asking and can:
            early[0], when[0] = True, time

    class Updated(Stepped):
        options = MappingProxyType(
            {**Stepped.options, "eventModeUsed": probe.job["flags"]["hasEventMode"], "intermediateUpdate": update}
        )

    with probe.instance(kind=Updated) as instance:
        instance.initialise()
        time, h = probe.job["start"], instance.h
        near = SAME * max(abs(time), abs(probe.job["stop"]), h)
        for _ in range(SAVED):
            times.clear()
            begin, (_, _, time) = time, instance.advance(time, time + h)
            latest = begin
            for at, finished in times:
                if not latest - near <= at <= begin + h + near:
                    yield f"an update at t = {at!r} s is not between {latest!r} s and {begin + h!r} s"
                    return
                latest = at if finished else latest
        if not times:
            yield "intermediateUpdate was not called in a step, though providesIntermediateUpdate is set"
        if not times or not probe.job["flags"]["canReturnEarlyAfterIntermediateUpdate"]:
            return
        asking = True
        times.clear()
        _, early, last = instance.advance(time, time + h)
        requested = times[0][0]
        if last < requested - near or (not early and last < time + h - near):
            yield f"a step that was asked to end at t = {requested!r} s ended at {last!r} s, early: {early}"


def clock_interval(probe: Probe) -> Iterator[str]:
    """Periodic clocks tell a positive interval, that of the description if it has one, and no negative shift."""
    clocks = [clock for clock in probe.job["clocks"] if clock["interval_kind"] in PERIODIC]
    if not clocks:
        raise NotApplicable("there are no periodic clocks")
    with probe.instance(kind=Stepped) as instance:
        instance.slave.setupExperiment(startTime=probe.job["start"])
        instance.slave.enterInitializationMode()
        references = [clock["reference"] for clock in clocks]
        intervals, shifts = intervals_of(instance.slave, references), shifts_of(instance.slave, references)
        instance.slave.exitInitializationMode()
    for clock, interval, shift in zip(clocks, intervals, shifts, strict=True):
        name = clock["name"]
        if not 0.0 < interval < math.inf:
            yield f"the interval of the clock '{name}' is {interval!r} s"
        elif clock["interval"] is not None and not math.isclose(interval, clock["interval"], rel_tol=SAME):
            yield f"the interval of the clock '{name}' is {interval!r} s, in the description {clock['interval']!r} s"
        if not 0.0 <= shift < math.inf:
            yield f"the shift of the clock '{name}' is {shift!r} s"


def clock_tick(probe: Probe) -> Iterator[str]:
    """A clock that ticked is inactive again once the discrete states are updated."""
    probe.needs("hasEventMode")
    if not any(clock["causality"] != "input" for clock in probe.job["clocks"]):
        raise NotApplicable("there are no clocks that the FMU activates")
    for instance, _, time, _, _ in _spans(probe):
        if instance.rang:
            yield f"still active after fmi3UpdateDiscreteStates, at t = {time:g} s: {', '.join(instance.rang)}"
            return


def state_elsewhere(probe: Probe) -> Iterator[str]:
    """A state that went through bytes goes on in another instance, to the last bit."""
    probe.needs("canSerializeFMUstate")
    probe.after("state")
    probe.after("serialized-state")
    with probe.running() as one:
        one.run(0, SAVED)
        saved = one.slave.getFMUState()
        content = one.slave.serializeFMUState(saved)
        one.slave.freeFMUState(saved)
        expected: list[Outputs] = one.run(SAVED, STEPS)
    with probe.running() as two:
        saved = two.slave.deserializeFMUState(content)
        two.slave.setFMUState(saved)
        two.slave.freeFMUState(saved)
        outputs = two.run(SAVED, STEPS)
    yield from differences("in another instance, ", expected, outputs)


VITAL: tuple[tuple[DynamicRule, str], ...] = ((functions_exported, "2.2.1"),)
"""Rules on steps in FMI 3.0 that an FMU must keep for any other rule to be tried."""

RULES: tuple[tuple[DynamicRule, str], ...] = (
    (event_mode, "2.3.5"),
    (early_return, "4.1.3"),
    (intermediate_update, "4.2.2"),
    (clock_interval, "2.2.8"),
    (clock_tick, "2.3.5"),
    (state_elsewhere, "2.2.7"),
)

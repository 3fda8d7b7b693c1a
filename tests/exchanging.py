"""Instances of FMUs for model exchange, a solver that integrates them, and masters with a multistep method."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from fmpy import fmi2
from fmpy.sundials import CVodeSolver
from masters import Message, Unpacked
from scipy.integrate import solve_ivp

import mbfmu
from mbfmu.fmi.instance import instantiate
from mbfmu.fmi.scalars import scalars


class Exchanged:
    """One instance of an FMU for model exchange; every call raises where its status is not OK.

    Args:
        fmu: the FMU.
    """

    def __init__(self, fmu: Unpacked) -> None:
        self.fmu = fmu
        self.messages: list[Message] = []
        exchange = fmu.description.modelExchange
        self.n = fmu.description.numberOfContinuousStates
        self.n_indicators = fmu.description.numberOfEventIndicators
        self.model: Any = fmi2.FMU2Model(
            guid=fmu.description.guid, unzipDirectory=str(fmu.folder), modelIdentifier=exchange.modelIdentifier,
            instanceName="one",
        )  # fmt: skip
        callbacks = fmi2.fmi2CallbackFunctions()
        callbacks.logger = fmi2.fmi2CallbackLoggerTYPE(self._note)
        callbacks.allocateMemory = fmi2.defaultCallbacks.allocateMemory
        callbacks.freeMemory = fmi2.defaultCallbacks.freeMemory
        self.model.instantiate(callbacks=callbacks, loggingOn=True)

    def _note(self, _environment: Any, _name: Any, status: int, category: bytes | None, message: bytes) -> None:
        self.messages.append(Message(status, None if category is None else category.decode(), message.decode()))

    def __enter__(self) -> "Exchanged":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.model.freeInstance()

    def start(self, values: Mapping[str, float] | None = None) -> "Exchanged":
        """Initialise at t = 0 and enter the continuous-time mode."""
        self.model.setupExperiment(startTime=0.0)
        self.set(values or {})
        self.model.enterInitializationMode()
        self.model.exitInitializationMode()
        self.next = self.update()[1]
        return self

    def set(self, values: Mapping[str, float]) -> None:
        """Set real variables."""
        self.model.setReal([self.fmu.references[name] for name in values], list(values.values()))

    def get(self, names: Iterable[str]) -> list[float]:
        """Get real variables."""
        found: list[float] = self.model.getReal([self.fmu.references[name] for name in names])
        return found

    def update(self) -> tuple[bool, float]:
        """Update in the event mode, go on; return whether states have changed, and the time of the next event."""
        needed, _, _, changed, defined, time = self.model.newDiscreteStates()
        assert not needed
        self.model.enterContinuousTimeMode()
        return bool(changed), time if defined else np.inf

    def event(self) -> tuple[bool, float]:
        """Enter the event mode and update."""
        self.model.enterEventMode()
        return self.update()

    def _vector(self, call: Callable[[Any, int], Any], n: int) -> Any:
        values = np.zeros(n)
        call(values.ctypes.data_as(fmi2.POINTER(fmi2.c_double)), n)
        return values

    @property
    def states(self) -> Any:
        """The continuous states, shape (n,)."""
        return self._vector(self.model.getContinuousStates, self.n)

    @property
    def indicators(self) -> Any:
        """The event indicators."""
        return self._vector(self.model.getEventIndicators, self.n_indicators)

    @property
    def nominals(self) -> Any:
        """The nominal sizes of the states."""
        return self._vector(self.model.getNominalsOfContinuousStates, self.n)

    def rates(self, time: float, states: Sequence[float]) -> Any:
        """Return the derivatives at a point."""
        self.at(time, states)
        return self._vector(self.model.getDerivatives, self.n)

    def at(self, time: float, states: Sequence[float]) -> None:
        """Set a point."""
        self.model.setTime(time)
        x = np.array(states, dtype=float)
        self.model.setContinuousStates(x.ctypes.data_as(fmi2.POINTER(fmi2.c_double)), self.n)

    def run(
        self,
        end: float,
        tolerance: float = 1e-11,
        span: float = 0.1,
        inputs: Callable[[float], Mapping[str, float]] | None = None,
    ) -> list[float]:
        """Integrate to an end with Dormand & Prince's method of order 8, from event to event; return the events' times.

        Points are accepted every `span` seconds.
        """
        time, events = 0.0, []

        def rates(t: float, x: Any) -> Any:
            if inputs:
                self.set(inputs(t))
            return self.rates(t, x)

        def guard(number: int) -> Callable[[float, Any], float]:
            def value(t: float, x: Any) -> float:
                self.at(t, x)
                return float(self.indicators[number])

            value.terminal, value.direction = True, -1  # type: ignore[attr-defined]
            return value

        guards = [guard(number) for number in range(self.n_indicators)]
        while time < end:
            until = min(end, self.next, time + span)
            found = solve_ivp(
                rates, (time, until), self.states, "DOP853", events=guards, rtol=tolerance, atol=tolerance
            )
            assert found.success, found.message
            time = float(found.t[-1])
            self.at(time, found.y[:, -1])
            wanted, _ = self.model.completedIntegratorStep()
            due = found.status == 1 or time >= self.next
            if due:
                events.append(time)
            if due or wanted:
                self.next = self.event()[1]
        return events


def exchanged(model: Any, path: Path, **more: Any) -> Unpacked:
    """Write a model as an FMU for model exchange, and unpack it."""
    written = mbfmu.export(model, path, kind=more.pop("kind", "me"), backend="native", platforms=["linux64"], **more)
    return Unpacked(written, written.with_suffix(""))


class Kept(NamedTuple):
    """What a master with a multistep method found.

    Args:
        values: variables at the end.
        events: number of events.
        restarts: number of those after which the method began anew.
    """

    values: list[float]
    events: int
    restarts: int


class _NoInputs:
    """The inputs that FMPy's solver asks for; those of the tests jump, and are set at events."""

    def apply(self, time: float) -> None:
        """Do nothing."""


def keeping_history(
    fmu: Unpacked,
    stop: float,
    tolerance: float,
    shown: Sequence[str],
    always: bool = False,
    jumps: Sequence[tuple[float, str, float]] = (),
    interval: float = 0.02,
) -> Kept:
    """Integrate by CVode's formulas of backward differences, of any version of FMI, as fmusim does.

    The method goes on with its history after an event unless the FMU answers valuesOfContinuousStatesChanged. A second
    update at the same time must change nothing, as some masters repeat updates until none does.

    Args:
        fmu: the FMU.
        stop: s.
        tolerance: relative tolerance.
        shown: names of the variables to return.
        always: whether the method begins anew after every event.
        jumps: time, name and new value of inputs that jump, in the order of time.
        interval: time between output points, s.
    """
    described = scalars(fmu.description)
    references = {item.name: item.valueReference for item in described.modelVariables}
    model = instantiate(str(fmu.folder), described, "one", lambda *_: None)
    coming, next_event, time, events, restarts = list(jumps), np.inf, 0.0, 0, 0

    def update() -> bool:
        nonlocal next_event
        needed, _, _, changed, defined, at = model.newDiscreteStates()
        assert not needed
        assert not model.newDiscreteStates()[3]
        next_event = at if defined else np.inf
        model.enterContinuousTimeMode()
        return bool(changed)

    try:
        model.setupExperiment(startTime=0.0)
        model.enterInitializationMode()
        model.exitInitializationMode()
        update()
        solver = CVodeSolver(
            nx=described.numberOfContinuousStates, nz=described.numberOfEventIndicators,
            get_x=model.getContinuousStates, set_x=model.setContinuousStates, get_dx=model.getDerivatives,
            get_z=model.getEventIndicators, get_nominals=model.getNominalsOfContinuousStates, set_time=model.setTime,
            input=_NoInputs(), startTime=0.0, maxStep=stop / 50, relativeTolerance=tolerance,
        )  # fmt: skip
        for point in range(1, round(stop / interval) + 1):
            while time < (point - 1e-9) * interval:
                until = min(point * interval, next_event, *(at for at, *_ in coming[:1]))
                fallen, _, time = solver.step(time, until)
                model.setTime(time)
                wanted, _ = model.completedIntegratorStep()
                jumped = bool(coming) and time >= coming[0][0]
                if fallen or wanted or jumped or time >= next_event:
                    events += 1
                    model.enterEventMode()
                    if jumped:
                        _, name, value = coming.pop(0)
                        model.setReal([references[name]], [value])
                    if update() or always:
                        restarts += 1
                        solver.reset(time)
        return Kept(model.getReal([references[name] for name in shown]), events, restarts)
    finally:
        model.freeInstance()

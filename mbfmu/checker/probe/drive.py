"""Runs of an FMU, each from a plan and rows that say what to do to a table of numbers.

A row holds a time, the length of a step, and the values and the rates of the inputs that change. A row whose length is
zero is an output point: the inputs are given, and the variables recorded. An FMU for co-simulation does the steps, with
event mode if it has one; one for model exchange is integrated over them.
"""

import json
import math
import os
import time as clock
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import c_double, c_int, c_uint
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
import numpy.typing as npt
from fmpy.fmi2 import FMU2Model, FMU2Slave, fmi2Discard, fmi2Error, fmi2LastSuccessfulTime
from fmpy.fmi3 import FMU3Model, FMU3Slave
from fmpy.simulation import apply_start_values, settable_in_initialization_mode, settable_in_instantiated
from fmpy.util import add_remoting, can_simulate

from .events3 import PERIODIC, TOUCH, Endless, Events
from .instance import callbacks_of, step
from .integration import ENDLESS, Exchange, Lost, is_continuous
from .report import begin
from .scalars import Ended, Scalars, scalars, starts_of

MOST_NOTICES = 5
"""Largest number of different messages of an FMU that are kept as notices."""
MOST_MESSAGES = 20
"""Largest number of different messages of an FMU that are kept: the first, which become notices, and the last."""
LONGEST = 2000
"""Largest number of characters of a message."""
PAUSE = 0.1
"""Seconds between two lines of progress."""
PATIENCE = 0.002
"""Seconds between two looks for the next rows."""
TYPES = ("Real", "Integer", "Boolean")
"""Types of FMI whose values are numbers; an enumeration is an Integer."""
KINDS = {"Enumeration": "Integer"}
"""Type whose functions serve for a type that has none of its own."""
VALUES: dict[str, Callable[[float], Any]] = {"Real": float, "Integer": round, "Enumeration": round, "Boolean": bool}
"""Functions that make a number a value of a variable, by the variable's type."""

EVENTS = {"eventModeUsed": True, "earlyReturnAllowed": True}
"""Options of an instance of FMI 3.0 that uses its event mode."""

Table = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Plan:
    """What to do with an FMU.

    Args:
        start: first time, s.
        stop: last time, s.
        values: start values by name.
        shown: names of the variables to record.
        driven: names of the inputs that the rows hold.
        tolerance: relative tolerance of the solver in model exchange; None: that of the FMU.
    """

    start: float
    stop: float
    values: dict[str, Any]
    shown: Sequence[str]
    driven: Sequence[str]
    tolerance: float | None = None


class Failure(Exception):  # noqa: N818 - the text goes on from the name of the FMU
    """A run that did not go through.

    Args:
        text: what to say of it, after the name of the FMU.
        refused: whether a step was refused, or led to something that is not a number.
    """

    def __init__(self, text: str, refused: bool = False) -> None:
        super().__init__(text)
        self.refused = refused


class Messages(list[str]):
    """The warnings and errors of an FMU, each once.

    Args:
        tell: called with the first of them, as they come, and with errors.
    """

    def __init__(self, tell: Callable[[str], None] = lambda _: None) -> None:
        super().__init__()
        self._tell, self._told = tell, 0

    def note(self, _environment: Any, _instance: Any, status: int, _category: Any, message: bytes | None) -> None:
        """Keep a message unless it is only a notice; FMPy calls this as its logger."""
        text = (message or b"").decode("utf-8", "replace").strip()[:LONGEST]
        if not status or text in self:
            return
        self.append(text)
        if len(self) > MOST_MESSAGES:
            del self[MOST_NOTICES]
        if self._told < (MOST_MESSAGES if status >= fmi2Error else MOST_NOTICES):
            self._told += 1
            self._tell(text)

    def clear(self) -> None:
        """Forget all messages, for another run."""
        super().clear()
        self._told = 0

    def or_else(self, error: object) -> str:
        """Return the messages in one text; if there are none, another text."""
        return "; ".join(self) or str(error)


def run(path: Path) -> None:
    """Make the runs of a job file, one after the other; save their tables, and report how they go and how they end.

    Each has a folder of its own beside the file, where the parent puts its plan. A run that fails is the last.
    """
    report = begin()
    job = json.loads(path.read_text(encoding="utf-8"))
    messages = Messages(lambda text: report(message=text))
    unit = _Unit(job["fmu"], messages)
    for number in count(job["first"]):
        folder = path.parent / f"run{number}"
        _wait_for(folder / "plan.json")
        task = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
        messages.clear()
        try:
            table, seconds = unit.table(Plan(**task["plan"]), folder, report)
        except Failure as error:
            report(failed=str(error), refused=error.refused)
            break
        np.save(folder / "table.npy", table)
        report(done=True, seconds=seconds)
        try:
            unit.end(free=task["last"])
        except Exception as error:  # noqa: BLE001 - FMPy raises plain Exceptions
            report(message=f"after the run: {error}")
        if task["last"]:
            break
        report(ready=True)
    os._exit(0)  # what the FMU leaves for the end of the process cannot change the table


class _Unit:
    """An unpacked FMU, whose runs are made by one instance as long as it can be reset.

    Args:
        folder: folder that it is unpacked to.
        messages: messages of the FMU.
    """

    def __init__(self, folder: str, messages: Messages) -> None:
        self._folder, self._messages = folder, messages
        self._instance: Any = None
        self._description: Any = None

    def table(self, plan: Plan, folder: Path, report: Callable[..., None]) -> tuple[Table, float]:
        """Return the table of a run, and the seconds it took.

        Args:
            plan: the plan.
            folder: folder of the run, with its rows.
            report: writes a line of the report.

        Raises:
            Failure: the run did not go through.
        """
        reached = np.memmap(folder / "reached", np.float64, "r+")
        last = 0.0

        def tell(time: float) -> None:
            nonlocal last
            reached[0] = time
            if clock.monotonic() > last + PAUSE:
                last = clock.monotonic()
                report(time=time)

        with _beginning(self._messages):
            self._prepare()
        instance, description, messages = self._instance, self._description, self._messages
        started = clock.perf_counter()
        rows = _read(folder, 2 + 2 * len(plan.driven), report)
        table = follow(instance, description, plan, rows, messages, tell)
        return table, clock.perf_counter() - started

    def end(self, free: bool) -> None:
        """End a run of the instance, and the instance too if it is to be freed."""
        self._instance.terminate()
        if free:
            self._instance.freeInstance()

    def _prepare(self) -> None:
        """Have an instance in the state after instantiation."""
        if self._instance is not None:
            try:
                self._instance.reset()
            except Exception:  # noqa: BLE001 - FMPy raises plain Exceptions; many FMUs cannot be reset
                self._instance.freeInstance()
                self._instance = None
        if self._instance is not None:
            return
        self._description = scalars(fmpy.read_model_description(self._folder, validate=False))
        able, remote = can_simulate(fmpy.supported_platforms(self._folder))
        if not able:
            raise Failure(f": it has no library for this platform ({fmpy.platform})")
        if remote:
            add_remoting(self._folder, host_platform=fmpy.platform, remote_platform=remote)
        about = self._description.coSimulation or self._description.modelExchange
        name = about.modelIdentifier
        self._instance = instantiate(self._folder, self._description, name, self._messages.note, events=True)


def instantiate(
    folder: str, description: Any, name: str, note: Callable[..., None], alone: bool = True, events: bool = False
) -> Any:
    """Return an instance with the functions of FMPy's classes for FMI 2.0: for co-simulation if the FMU is for that.

    Args:
        folder: folder that the FMU is unpacked to.
        description: FMPy's description; that of an FMU of FMI 3.0 with scalar variables.
        name: name of the instance.
        note: called with environment, name, status, category and message of what the FMU says.
        alone: whether the process has no other instance: only then are arguments put into messages of FMI 2.0.
        events: whether an FMU of FMI 3.0 for co-simulation that has an event mode is to use it, and may return early.
    """
    steps = description.coSimulation
    made = {
        "guid": description.guid,
        "unzipDirectory": folder,
        "modelIdentifier": (steps or description.modelExchange).modelIdentifier,
        "instanceName": name,
    }
    if not description.fmiVersion.startswith("3."):
        slave = (FMU2Slave if steps else FMU2Model)(**made)
        slave.instantiate(callbacks=callbacks_of(note, printf=alone), loggingOn=True)
        return slave

    def log(environment: Any, status: int, category: Any, message: Any) -> None:
        note(environment, name, status, category, message)

    slave = (FMU3Slave if steps else FMU3Model)(**made)
    events = events and has_event_mode(description)
    try:
        slave.instantiate(loggingOn=True, logMessage=log, **(EVENTS if events else {}))
    except Exception:  # FMPy raises plain Exceptions; some FMUs do not have the event mode that they claim
        if not events:
            raise
        events = False
        slave.instantiate(loggingOn=True, logMessage=log)
    return Scalars(slave, starts_of(description), events)


def has_event_mode(description: Any) -> bool:
    """Return whether an FMU for co-simulation has an event mode."""
    return description.fmiVersion.startswith("3.") and bool(
        description.coSimulation and description.coSimulation.hasEventMode
    )


def _events(instance: Any, description: Any) -> Events | None:
    """Return the events of an instance that uses its event mode; None for others.

    FMUs of mbfmu return early at their samplings, so steps need not end there, and have the bits of longer ones.
    """
    if not (isinstance(instance, Scalars) and instance.events):
        return None
    clocks = [
        item.valueReference
        for item in description.modelVariables
        if item.type == "Clock" and item.causality == "input" and item.intervalVariability in PERIODIC
    ]
    return Events(instance, clocks, stops=(description.generationTool or "").startswith("mbfmu"))


def follow(
    instance: Any,
    description: Any,
    plan: Plan,
    rows: Iterable[Sequence[float]],
    messages: Messages,
    tell: Callable[[float], None] = lambda _: None,
) -> Table:
    """Initialise an instance and do what the rows say; the caller ends it.

    Args:
        instance: an instance of `instantiate`, with events.
        description: FMPy's model description.
        plan: the plan.
        rows: see above.
        messages: messages of the FMU.
        tell: called with the time before every step.

    Returns:
        Time and recorded variables, shape (n_t, 1 + n_shown).

    Raises:
        Failure: the FMU cannot be initialised or stepped, or an output is not finite.
    """
    variables = {item.name: item for item in description.modelVariables}
    inputs = [variables[name] for name in plan.driven]
    record = _Record(instance, [variables[name] for name in plan.shown])
    reached = plan.start

    def told(time: float) -> None:
        nonlocal reached
        reached = time
        tell(time)

    events = _events(instance, description)
    with _beginning(messages):
        _initialise(instance, description, plan, events)
        if description.coSimulation is None:
            points = _exchanged(instance, description, plan, inputs, rows, told)
        else:
            points = _stepped(instance, description, plan, inputs, rows, told, events)
        record.take(plan.start)
    try:
        for time in points:
            record.take(time)
    except Failure:
        raise
    except Exception as error:  # noqa: BLE001 - FMPy raises plain Exceptions
        if getattr(error, "status", None) == fmi2Discard:
            why = messages.or_else(error if isinstance(error, Ended | Lost) else "it discarded the step")
            text = f" stopped at t = {_successful(instance, reached):g} s: {why}"
            raise Failure(text, refused=True) from None
        raise Failure(f" failed at t = {reached:g} s: {messages.or_else(error)}") from None
    return record.table


def _exchanged(
    instance: Any, description: Any, plan: Plan, inputs: Sequence[Any], rows: Iterable[Sequence[float]],
    tell: Callable[[float], None],
) -> Iterator[float]:  # fmt: skip
    """Return the output points of an instance for model exchange, which is integrated as they are asked for."""
    setters = [
        (getattr(instance, f"set{KINDS.get(item.type, item.type)}"), [item.valueReference], VALUES[item.type])
        for item in inputs
    ]

    def give(number: int, value: float) -> None:
        setter, reference, value_of = setters[number]
        setter(reference, [value_of(value)])

    exchange = Exchange(instance, description, inputs, rows, give, (plan.start, plan.stop), plan.tolerance)

    def points() -> Iterator[float]:
        yield from exchange.points(tell)
        if exchange.ended:
            raise Ended("it ended the run")

    return points()


def _stepped(
    instance: Any, description: Any, plan: Plan, inputs: Sequence[Any], rows: Iterable[Sequence[float]],
    tell: Callable[[float], None], events: Events | None,
) -> Iterator[float]:  # fmt: skip
    """Give the output points of an instance for co-simulation, which takes steps as they are asked for."""
    asynchronous = bool(description.coSimulation.canRunAsynchronuously)
    drive = _Drive(instance, description, inputs, events, plan.values)
    for time, size, *values in rows:
        tell(time)
        drive.give(time, values, ramps=size > 0)
        if size == 0:
            yield time
        elif events is None:
            step(instance, time, size, asynchronous)
        else:
            _step_over(events, time, size)


def _step_over(events: Events, time: float, size: float) -> None:
    """Do a step over all events on the way.

    What is left after an event is reckoned from the begin of the step, as an FMU does that handles events within it.

    Raises:
        Ended: the FMU ended the run.
        Endless: events go on for ever at one time.
    """
    begin, end, still = time, time + size, 0
    near = TOUCH * max(abs(end), size)
    while time < end - near and not events.ended:
        _, _, reached = events.advance(time, end, size - (time - begin))
        still = still + 1 if reached <= time else 0
        time = max(time, reached)
        if still > ENDLESS:
            raise Endless(f"more than {ENDLESS} events follow each other at t = {time:g} s")
    if events.ended:
        raise Ended("it ended the run")


@contextmanager
def _beginning(messages: Messages) -> Iterator[None]:
    """Make a Failure of every error before the first step."""
    try:
        yield
    except Failure:
        raise
    except Exception as error:  # noqa: BLE001 - FMPy raises plain Exceptions
        raise Failure(f": {messages.or_else(error)}") from None


def _initialise(instance: Any, description: Any, plan: Plan, events: Events | None) -> None:
    """Initialise an instance with the start values of a plan, and handle the events there."""
    experiment = description.defaultExperiment
    tolerance = None if experiment is None or experiment.tolerance is None else float(experiment.tolerance)
    instance.setupExperiment(tolerance=tolerance, startTime=plan.start)
    left = apply_start_values(instance, description, plan.values, settable=settable_in_instantiated)
    instance.enterInitializationMode()
    left = apply_start_values(instance, description, left, settable=settable_in_initialization_mode)
    if events is not None:
        events.read(plan.start)
    instance.exitInitializationMode()
    if left:
        raise Failure(f": {', '.join(left)} cannot be set")
    if events is not None:
        events.handle(plan.start)
        if events.ended:
            raise Failure(" ended the run at its begin")


def _successful(instance: Any, time: float) -> float:
    """Return the time up to which a discarded step came, or where it began."""
    try:
        return max(time, float(instance.getRealStatus(fmi2LastSuccessfulTime)))
    except Exception:  # noqa: BLE001 - FMPy raises plain Exceptions; many FMUs do not know it
        return time


class _Drive:
    """The inputs of an instance for co-simulation that change; in event mode those that are discrete jump.

    Args:
        instance: the instance.
        description: FMPy's model description.
        inputs: variables of the inputs.
        events: events of an instance that uses its event mode; None for others.
        values: start values by name.
    """

    def __init__(
        self, instance: Any, description: Any, inputs: Sequence[Any], events: Events | None, values: dict[str, Any]
    ) -> None:
        ramps = description.coSimulation.canInterpolateInputs
        self._instance = instance
        self._setters = [
            (getattr(instance, f"set{KINDS.get(item.type, item.type)}"), [item.valueReference], VALUES[item.type])
            for item in inputs
        ]
        self._events = events
        self._jumping = [] if events is None else [n for n, item in enumerate(inputs) if not is_continuous(item)]
        self._last = [values.get(inputs[number].name) for number in self._jumping]
        self._ramped = [number for number, item in enumerate(inputs) if ramps and item.type == "Real"]
        n = len(self._ramped)
        self._references = (c_uint * n)(*(inputs[number].valueReference for number in self._ramped))
        self._orders = (c_int * n)(*[1] * n)

    def give(self, time: float, inputs: Sequence[float], ramps: bool) -> None:
        """Set the inputs at a time, s, to their values, and their time derivatives if a step follows."""
        n = len(self._setters)
        for number in range(n):
            if number not in self._jumping:
                self._set(number, inputs[number])
        jumped = [self._setters[number][2](inputs[number]) for number in self._jumping]
        if self._events is not None and jumped != self._last:
            self._last = jumped
            self._events.change(time, lambda: self._set_jumping(inputs))
        if ramps and self._ramped:
            rates = (c_double * len(self._ramped))(*(inputs[n + number] for number in self._ramped))
            self._instance.fmi2SetRealInputDerivatives(
                self._instance.component, self._references, len(self._ramped), self._orders, rates
            )

    def _set_jumping(self, inputs: Sequence[float]) -> None:
        for number in self._jumping:
            self._set(number, inputs[number])

    def _set(self, number: int, value: float) -> None:
        setter, reference, value_of = self._setters[number]
        setter(reference, [value_of(value)])


class _Record:
    """The table of a run, as it grows."""

    def __init__(self, instance: Any, shown: Sequence[Any]) -> None:
        self._rows = array("d")
        self._getters = []
        self._order: list[int] = []
        self._names: list[str] = []
        for kind in TYPES:
            chosen = [number for number, item in enumerate(shown) if KINDS.get(item.type, item.type) == kind]
            if chosen:
                references = [shown[number].valueReference for number in chosen]
                self._getters.append((getattr(instance, f"get{kind}"), references))
                self._order += chosen
        self._outputs = [shown[number].causality == "output" for number in self._order]
        self._names = [shown[number].name for number in self._order]

    def take(self, time: float) -> None:
        """Add a row.

        Raises:
            Failure: an output is not finite.
        """
        row = [value for getter, references in self._getters for value in getter(references)]
        if not math.isfinite(sum(row)):
            for name, output, value in zip(self._names, self._outputs, row, strict=True):
                if output:
                    refuse(name, value, time)
        self._rows.append(time)
        self._rows.extend(row)

    @property
    def table(self) -> Table:
        """Time and variables, in the order they are to be shown, shape (n_t, 1 + n_shown)."""
        rows = np.array(self._rows).reshape(-1, 1 + len(self._order))
        found = np.empty_like(rows)
        found[:, [0, *(1 + number for number in self._order)]] = rows
        return found


def refuse(name: str, value: float, time: float) -> None:
    """Refuse an output that is not finite.

    Raises:
        Failure: it is not.
    """
    if not math.isfinite(value):
        raise Failure(f" gives no number: output {name} is {value} at t = {time:g} s", refused=True)


def _read(folder: Path, width: int, report: Callable[..., None]) -> Iterator[list[float]]:
    """Give the rows of a run, from blocks that the parent writes a little ahead; an empty one is the end."""
    for number in count():
        path = folder / f"rows{number}"
        _wait_for(path, lambda: report(waits=True))  # the parent may take long to evaluate an input
        block = np.fromfile(path, np.float64)
        path.unlink()
        if not len(block):
            return
        yield from block.reshape(-1, width).tolist()


def _wait_for(path: Path, tell: Callable[[], None] = lambda: None) -> None:
    """Wait until the parent has put a file where it is expected.

    Args:
        path: path of the file.
        tell: called now and then meanwhile.
    """
    last = clock.monotonic()
    while not path.exists():
        clock.sleep(PATIENCE)
        if clock.monotonic() > last + PAUSE:
            last = clock.monotonic()
            tell()

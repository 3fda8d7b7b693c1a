"""Runs of an FMU, each from a plan and rows that say what to do to a table of numbers.

A row holds a time, the length of a step, and the values and the rates of the inputs that change; the rate of a whole
number is what its value, a floating-point number, lacks of an integer of 64 bits. A row whose length is
zero is an output point: the inputs are given, and the variables recorded. An FMU for co-simulation does the steps, with
event mode if it has one; one for model exchange is integrated over them.
"""

import json
import os
import sys
import time as clock
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import c_double, c_int, c_uint
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
from fmpy.fmi2 import fmi2Discard, fmi2LastSuccessfulTime
from fmpy.simulation import apply_start_values, settable_in_initialization_mode, settable_in_instantiated
from fmpy.util import add_remoting, can_simulate

from mbfmu.fmi.binaries import ENOUGH, platforms_of
from mbfmu.fmi.calls import Ended, Scalars
from mbfmu.fmi.events import PERIODIC, TOUCH, Endless, Events
from mbfmu.fmi.instance import Messages, instantiate, step
from mbfmu.fmi.integration import ENDLESS, Integration, Lost, is_continuous
from mbfmu.fmi.plan import FOLDERS, KINDS, VALUES, Plan
from mbfmu.fmi.record import Failure, Record, Table
from mbfmu.fmi.report import begin
from mbfmu.fmi.scalars import scalars

PAUSE = 0.1
"""Seconds between two lines of progress."""
PATIENCE = 0.002
"""Longest time between two checks whether the next plan or the next rows of inputs are there, s."""
BRIEFLY = 5e-5
"""Shortest time between two such checks, s."""


def run(path: Path) -> None:
    """Make the runs of a job file, one after the other; save their tables, and report how they go and how they end.

    They take turns in folders beside the file, where the parent puts their plans. A run that fails is the last.
    """
    report = begin()
    job = json.loads(path.read_text(encoding="utf-8"))
    messages = Messages(lambda text: report(message=text))
    unit = _Unit(job["fmu"], messages, job["exchange"])
    for index in count(job["first"]):
        folder = path.parent / f"run{index % FOLDERS}"
        _wait_for(folder / "plan.json")
        task = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
        messages.clear()
        if "batch" in task:
            tables = unit.batch(Plan(**task["plan"]), task["batch"], task["columns"], folder, report)
            np.save(folder / "table.npy", np.array(tables))
            report(done=True)
            if len(tables) < len(task["batch"]):
                break
            report(ready=True)
            continue
        try:
            record, seconds = unit.record(Plan(**task["plan"]), folder, report)
        except Failure as error:
            report(failed=str(error), refused=error.refused)
            break
        np.save(folder / "table.npy", record.table)
        if record.rests.any():
            np.save(folder / "rests.npy", record.rests)
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
        exchange: whether it is used for model exchange, though it may be for co-simulation too.
    """

    def __init__(self, folder: str, messages: Messages, exchange: bool) -> None:
        self._folder, self._messages, self._exchange = folder, messages, exchange
        self._instance: Any = None
        self._description: Any = None

    def record(self, plan: Plan, folder: Path, report: Callable[..., None]) -> tuple[Record, float]:
        """Return the record of a run, and the seconds it took.

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
        record = recorded(instance, description, plan, rows, messages, tell)
        return record, clock.perf_counter() - started

    def batch(
        self, plan: Plan, batch: Sequence[dict[str, Any]], columns: Sequence[int], folder: Path,
        report: Callable[..., None],
    ) -> list[Table]:  # fmt: skip
        """Return columns of the tables of runs with the same rows, up to the first that does not go through.

        Args:
            plan: the plan of all.
            batch: start values of each.
            columns: indices of the columns.
            folder: folder of the runs, with their rows.
            report: writes a line of the report.
        """
        rows = list(_read(folder, 2 + 2 * len(plan.driven), report))
        tables: list[Table] = []
        for values in batch:
            try:
                with _beginning(self._messages):
                    self._prepare()
                plan = replace(plan, values=values)
                record = recorded(self._instance, self._description, plan, rows, self._messages)
                self.end(free=False)
            except Exception:  # noqa: BLE001 - alone it tells what is wrong
                break
            tables.append(record.table[:, columns])
            report(runs=len(tables))
        return tables

    def end(self, free: bool) -> None:
        """End a run of the instance, and the instance too if it is to be freed."""
        self._instance.terminate()
        if free:
            self._instance.freeInstance()

    def _prepare(self) -> None:
        """Make or reset an instance, so that it is in the state after instantiation."""
        if self._instance is not None:
            try:
                self._instance.reset()
            except Exception:  # noqa: BLE001 - FMPy raises plain Exceptions; many FMUs cannot be reset
                self._instance.freeInstance()
                self._instance = None
        if self._instance is not None:
            return
        self._description = scalars(fmpy.read_model_description(self._folder, validate=False))
        platforms = fmpy.supported_platforms(self._folder)
        able, remote = can_simulate(platforms)
        if not able:
            only = f", only for {', '.join(platforms)}" if platforms else ""
            raise Failure(f": it has no library for this platform ({fmpy.platform}){only}")
        if remote:
            add_remoting(self._folder, host_platform=fmpy.platform, remote_platform=remote)
        if self._exchange:
            self._description.coSimulation = None
        about = self._description.coSimulation or self._description.modelExchange
        name = about.modelIdentifier
        if not remote:
            _check_processor(self._folder, name)
        self._instance = instantiate(self._folder, self._description, name, self._messages.note, events=True)


def _events(instance: Any, description: Any, messages: Messages) -> Events | None:
    """Return the events of an instance that uses its event mode; None for others.

    FMUs of mbfmu return early at their sampling instants, so steps need not end there, and have the bits of longer
    ones.
    """
    if not (isinstance(instance, Scalars) and instance.events):
        return None
    clocks = [
        item.valueReference
        for item in description.modelVariables
        if item.type == "Clock" and item.causality == "input" and item.intervalVariability in PERIODIC
    ]
    stops = (description.generationTool or "").startswith("mbfmu")
    return Events(instance, clocks, stops=stops, tell=messages.add)


def follow(
    instance: Any, description: Any, plan: Plan, rows: Iterable[Sequence[float]], messages: Messages
) -> Table:  # fmt: skip
    """Return time and recorded variables of a run, shape (n_t, 1 + n_shown); see `recorded`."""
    return recorded(instance, description, plan, rows, messages).table


def recorded(
    instance: Any,
    description: Any,
    plan: Plan,
    rows: Iterable[Sequence[float]],
    messages: Messages,
    tell: Callable[[float], None] = lambda _: None,
) -> Record:
    """Initialise an instance and do what the rows say; the caller ends it.

    Args:
        instance: an instance of `instantiate`, with events.
        description: FMPy's model description.
        plan: the plan.
        rows: see above.
        messages: messages of the FMU.
        tell: called with the time before every step.

    Returns:
        The record of time and variables.

    Raises:
        Failure: the FMU cannot be initialised or stepped, or an output is not finite.
    """
    variables = {item.name: item for item in description.modelVariables}
    inputs = [variables[name] for name in plan.driven]
    record = Record(instance, [variables[name] for name in plan.shown])
    reached = plan.start

    def told(time: float) -> None:
        nonlocal reached
        reached = time
        tell(time)

    events = _events(instance, description, messages)
    with _beginning(messages):
        _initialise(instance, description, plan, events)
        if description.coSimulation is None:
            points = _exchanged(instance, description, plan, inputs, rows, told, messages)
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
    return record


def _exchanged(
    instance: Any, description: Any, plan: Plan, inputs: Sequence[Any], rows: Iterable[Sequence[float]],
    tell: Callable[[float], None], messages: Messages,
) -> Iterator[float]:  # fmt: skip
    """Return the output points of an instance for model exchange, which is integrated as they are read."""
    setters = [
        (getattr(instance, f"set{KINDS.get(item.type, item.type)}"), [item.valueReference], VALUES[item.type])
        for item in inputs
    ]

    def give(index: int, value: float) -> None:
        setter, reference, value_of = setters[index]
        setter(reference, [value_of(value)])

    span = (plan.start, plan.stop)
    exchange = Integration(instance, description, inputs, rows, give, span, plan.tolerance, messages.add)

    def points() -> Iterator[float]:
        yield from exchange.points(tell)
        if exchange.ended:
            raise Ended("it ended the run")

    return points()


def _stepped(
    instance: Any, description: Any, plan: Plan, inputs: Sequence[Any], rows: Iterable[Sequence[float]],
    tell: Callable[[float], None], events: Events | None,
) -> Iterator[float]:  # fmt: skip
    """Give the output points of an instance for co-simulation, which takes steps as they are read."""
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


def _check_processor(folder: str, identifier: str) -> None:
    """Raise a Failure if the library of an FMU is for another processor than this process, on the same system."""
    for platform in (fmpy.platform, fmpy.platform_tuple):
        path = Path(folder, "binaries", platform, identifier + fmpy.sharedLibraryExtension)
        if path.is_file():
            (its, system), (own, same) = (_processors(file) for file in (path, Path(sys.executable)))
            if system == same and its and own and not its & own:
                names = ["/".join(sorted(processors)) for processors in (its, own)]
                raise Failure(f": its library for {platform} is for another processor ({names[0]}, not {names[1]})")


def _processors(path: Path) -> tuple[set[str], str]:
    """Return the processors that a file is for, and their system; both are empty for a file of unknown format."""
    with path.open("rb") as file:
        named = [name.partition("-") for name in platforms_of(file.read(ENOUGH))]
    return {processor for processor, _, _ in named}, next((system for _, _, system in named), "")


def _step_over(events: Events, time: float, size: float) -> None:
    """Do a step over all events on the way.

    What is left after an event is reckoned from the begin of the step, as an FMU does that handles events within it.

    Raises:
        Ended: the FMU ended the run.
        Endless: events continue for ever at one time.
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
        self._whole = [KINDS.get(item.type, item.type) == "Integer" for item in inputs]
        self._events = events
        self._jumping = [] if events is None else [n for n, item in enumerate(inputs) if not is_continuous(item)]
        self._last = [values.get(inputs[index].name) for index in self._jumping]
        self._ramped = [index for index, item in enumerate(inputs) if ramps and item.type == "Real"]
        n = len(self._ramped)
        self._references = (c_uint * n)(*(inputs[index].valueReference for index in self._ramped))
        self._orders = (c_int * n)(*[1] * n)

    def give(self, time: float, inputs: Sequence[float], ramps: bool) -> None:
        """Set the inputs at a time, s, to their values, and their time derivatives if a step follows."""
        n = len(self._setters)
        for index in range(n):
            if index not in self._jumping:
                self._set(index, inputs)
        jumped = [self._value(index, inputs) for index in self._jumping]
        if self._events is not None and jumped != self._last:
            self._last = jumped
            self._events.change(time, lambda: self._set_jumping(inputs))
        if ramps and self._ramped:
            rates = (c_double * len(self._ramped))(*(inputs[n + index] for index in self._ramped))
            self._instance.fmi2SetRealInputDerivatives(
                self._instance.component, self._references, len(self._ramped), self._orders, rates
            )

    def _set_jumping(self, inputs: Sequence[float]) -> None:
        for index in self._jumping:
            self._set(index, inputs)

    def _value(self, index: int, inputs: Sequence[float]) -> Any:
        """Return the value of an input; the rate of a whole number is what its value lacks."""
        value = self._setters[index][2](inputs[index])
        return value + round(inputs[len(self._setters) + index]) if self._whole[index] else value

    def _set(self, index: int, inputs: Sequence[float]) -> None:
        setter, reference, _ = self._setters[index]
        setter(reference, [self._value(index, inputs)])


def _read(folder: Path, width: int, report: Callable[..., None]) -> Iterator[list[float]]:
    """Give the rows of a run, from blocks that the parent writes a little ahead; an empty one is the end."""
    for index in count():
        path = folder / f"rows{index}"
        _wait_for(path, lambda: report(waits=index))  # noqa: B023 - the parent may take long to evaluate an input
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
    begin = last = clock.monotonic()
    while not path.exists():
        clock.sleep(min(PATIENCE, BRIEFLY + (clock.monotonic() - begin) / 8))
        if clock.monotonic() > last + PAUSE:
            last = clock.monotonic()
            tell()

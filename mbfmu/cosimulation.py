"""Coupled runs of several FMUs on FMPy, for studies and tests of a coupling; not meant to replace a master tool.

Between communication points every input is held, or extrapolated from the last two points (order 1); in further passes
it is interpolated between the step's ends. An FMU that takes input derivatives gets the slope. Any other FMU gets the
value of the line in the middle of the step, and after the step the value at its end.
"""

import math
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from ctypes import c_double, c_int, c_uint
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mbfmu.arguments import checked
from mbfmu.errors import FmuError, StepError, UnknownNameError, UsageError, nearest
from mbfmu.fmu.ssp import Wire
from mbfmu.result import Result
from mbfmu.simulation import InputFunction, Messages, communication_points, read_fmu, unit_of

Order = Literal["jacobi", "gauss_seidel"]

SAFETY = 0.9
"""Ratio of a chosen step to the step that is expected to meet the tolerance."""
LARGEST, LEAST = 4.0, 0.2
"""Largest and smallest factor by which a step may change at once."""
SHORTEST = 1e-9
"""Smallest ratio of a chosen step to the time of the run."""


@checked
def couple(
    fmus: Mapping[str, str | os.PathLike[str]],
    connections: Iterable[Wire | tuple[str, str]],
    stop: float,
    step: float,
    *,
    order: Order = "jacobi",
    extrapolation: int = 0,
    passes: int = 1,
    tolerance: float = 0.0,
    values: Mapping[str, float] | None = None,
    inputs: Mapping[str, float | InputFunction] | None = None,
    outputs: Sequence[str] = (),
) -> Result:
    """Run several FMUs whose inputs follow outputs of other FMUs or functions of the time.

    Args:
        fmus: paths of .fmu files by the name of the component; in Gauss-Seidel order they step in this order.
        connections: each from an output, ``component.variable``, to an input, times a factor if it is a `Wire`.
        stop: end of the run, s.
        step: communication step, s; with a tolerance the longest.
        order: ``jacobi``: all FMUs step with the outputs at the step's start; ``gauss_seidel``: they step one after the
            other, each with the outputs of those before it at the step's end.
        extrapolation: 0: inputs are held over the step; 1: they continue the line through their last two values.
        passes: number of times that each communication step is done: after the first, all FMUs go back and step again,
            with inputs on the line from the step's start to the outputs at its end; all must save their state.
        tolerance: 0: equal steps. Otherwise a step is compared with two of half its length, which are kept, and is
            repeated with a shorter one while its outputs differ by more, relative to 1 and their size; all FMUs must
            save their state.
        values: parameters and start values by ``component.variable``.
        inputs: numbers, or functions of the time, s, by ``component.variable``.
        outputs: ``component.variable`` of the outputs to record; () for all.

    Returns:
        The recorded outputs at every communication point.

    Raises:
        UsageError, UnknownNameError: the arguments do not fit each other or the FMUs.
        FmuError: an FMU cannot be read or started.
        StepError: a step failed.
    """
    _check(stop, step, order, extrapolation, passes, tolerance)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        parts = {name: _Part(name, Path(path), folder / name, stack) for name, path in fmus.items()}
        wires = [item if isinstance(item, Wire) else Wire(*item) for item in connections]
        signals = {end: _function(given) for end, given in (inputs or {}).items()}
        run = _Run(parts, wires, signals, order, extrapolation, passes)
        for end, value in (values or {}).items():
            part, name = _end(parts, end)
            part.set({name: float(value)})
        shown = [_end(parts, item) for item in outputs] or [
            (part, name) for part in parts.values() for name in part.names("output")
        ]
        run.start()
        if tolerance or passes > 1:
            for part in parts.values():
                if not part.description.coSimulation.canGetAndSetFMUstate:
                    raise UsageError(f"'{part.name}' cannot save its state: leave tolerance and passes out")
        times, rows = [0.0], [_row(shown)]

        def note(time: float) -> None:
            times.append(time)
            rows.append(_row(shown))

        if tolerance:
            _controlled(run, stop, step, tolerance, note)
        else:
            for time, end in pairwise(communication_points(stop, step, step).tolist()):
                run.step(time, min(step, stop - time))
                note(end)
    names = tuple(f"{part.name}.{name}" for part, name in shown)
    units = {f"{part.name}.{name}": unit_of(part.variables[name]) for part, name in shown}
    return Result(np.array(times), names, np.array(rows), units)


def _function(given: float | InputFunction) -> InputFunction:
    return given if callable(given) else lambda _: given


def _check(stop: float, step: float, order: str, extrapolation: int, passes: int, tolerance: float) -> None:
    for label, value in (("stop time", stop), ("communication step", step)):
        if not (math.isfinite(value) and value > 0):
            raise UsageError(f"the {label} is {value} s; it must be a positive number")
    if order not in {"jacobi", "gauss_seidel"}:
        raise UsageError(f"there is no order '{order}'; {nearest(order, ('jacobi', 'gauss_seidel'))}")
    if extrapolation not in {0, 1}:
        raise UsageError(f"extrapolation = {extrapolation}: it is 0 (hold) or 1 (a line)")
    if passes < 1:
        raise UsageError(f"passes = {passes}: each step is done at least once")
    if not 0 <= tolerance < 1:
        raise UsageError(f"the tolerance is {tolerance}; it is 0 (equal steps) or below 1, such as 1e-6")


class _Part:
    """One FMU, instantiated.

    Args:
        name: name of the component.
        path: path of the .fmu file.
        folder: folder that it is unpacked to.
        stack: stack of contexts that frees it.
    """

    def __init__(self, name: str, path: Path, folder: Path, stack: ExitStack) -> None:
        import fmpy
        from fmpy.fmi2 import (
            FMU2Slave,
            defaultCallbacks,
            fmi2CallbackFunctions,
            fmi2CallbackLoggerTYPE,
        )

        self.name, self.messages = name, Messages()
        self.description = read_fmu(path)
        if self.description.coSimulation is None:
            raise FmuError(f"'{path}' is not for co-simulation")
        self.variables = {item.name: item for item in self.description.modelVariables if item.type == "Real"}
        self.ramps = bool(self.description.coSimulation.canInterpolateInputs)
        try:
            unpacked = fmpy.extract(str(path), unzipdir=str(folder))
            self.slave = FMU2Slave(
                guid=self.description.guid,
                unzipDirectory=unpacked,
                modelIdentifier=self.description.coSimulation.modelIdentifier,
                instanceName=name,
            )
            callbacks = fmi2CallbackFunctions()
            callbacks.logger = fmi2CallbackLoggerTYPE(self.messages.note)
            callbacks.allocateMemory = defaultCallbacks.allocateMemory
            callbacks.freeMemory = defaultCallbacks.freeMemory
            self.slave.instantiate(callbacks=callbacks, loggingOn=True)
        except Exception as error:  # noqa: BLE001 - FMPy raises plain Exceptions
            raise FmuError(f"'{path}' cannot be started: {self._said(error)}") from None
        stack.callback(self.slave.freeInstance)

    def names(self, causality: str) -> list[str]:
        """Return the names of the Real variables of a causality."""
        return [name for name, item in self.variables.items() if item.causality == causality]

    def set(self, values: Mapping[str, float]) -> None:
        """Set variables by name."""
        self._call("a value", self.slave.setReal, [self._reference(name) for name in values], list(values.values()))

    def get(self, names: Sequence[str]) -> list[float]:
        """Return values by name."""
        found: list[float] = self._call("a value", self.slave.getReal, [self._reference(name) for name in names])
        return found

    def ramp(self, slopes: Mapping[str, float]) -> None:
        """Set the time derivatives of inputs by name."""
        references = [self._reference(name) for name in slopes]
        count = len(references)
        self._call(
            "input derivatives", self.slave.fmi2SetRealInputDerivatives, self.slave.component,
            (c_uint * count)(*references), count, (c_int * count)(*[1] * count),
            (c_double * count)(*slopes.values()),
        )  # fmt: skip

    def start(self) -> None:
        """Enter initialisation mode at t = 0."""
        self._call("the start", self.slave.setupExperiment, startTime=0.0)
        self._call("the start", self.slave.enterInitializationMode)

    def begin(self) -> None:
        """Leave initialisation mode."""
        self._call("the start", self.slave.exitInitializationMode)

    def step(self, time: float, size: float) -> None:
        """Do a communication step.

        Raises:
            StepError: the step failed.
        """
        try:
            self.slave.doStep(currentCommunicationPoint=time, communicationStepSize=size)
        except Exception as error:  # noqa: BLE001 - FMPy raises plain Exceptions
            where = f"'{self.name}' cannot step from t = {time:g} s by {size:g} s"
            raise StepError(f"{where}: {self._said(error)}") from None

    def _reference(self, name: str) -> int:
        return int(self.variables[name].valueReference)

    def _call(self, what: str, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except Exception as error:  # noqa: BLE001 - FMPy raises plain Exceptions
            raise FmuError(f"'{self.name}' refuses {what}: {self._said(error)}") from None

    def _said(self, error: Exception) -> str:
        """Return the messages of the FMU; if there are none, FMPy's error."""
        return "; ".join(dict.fromkeys(self.messages)) or str(error)


def _end(parts: Mapping[str, _Part], text: str) -> tuple[_Part, str]:
    """Return the component and the variable that a text names.

    Raises:
        UnknownNameError: there is no such component or variable.
    """
    component, _, name = text.partition(".")
    if component not in parts:
        raise UnknownNameError(f"'{text}': there is no component '{component}'; {nearest(component, parts)}")
    if name not in parts[component].variables:
        known = parts[component].variables
        raise UnknownNameError(f"'{text}': '{component}' has no Real variable '{name}'; {nearest(name, known)}")
    return parts[component], name


def _row(shown: Sequence[tuple[_Part, str]]) -> list[float]:
    return [part.get([name])[0] for part, name in shown]


@dataclass
class _Line:
    """The source of an input: an output of another FMU times a factor, or a function of the time."""

    part: _Part
    name: str
    source: tuple[_Part, str, float] | None = None
    signal: InputFunction | None = None
    past: tuple[float, float] | None = None  # time and value at the last communication point

    def value(self, time: float) -> float:
        """Return the value of the source at a time."""
        if self.source is None:
            assert self.signal is not None
            return float(self.signal(time))
        part, name, factor = self.source
        return factor * part.get([name])[0]


class _Run:
    """The FMUs and the sources of their inputs."""

    def __init__(
        self,
        parts: Mapping[str, _Part],
        connections: Sequence[Wire],
        inputs: Mapping[str, InputFunction],
        order: Order,
        extrapolation: int,
        passes: int,
    ) -> None:
        self.parts, self.order, self.extrapolation, self.passes = parts, order, extrapolation, passes
        self.lines: dict[str, _Line] = {}
        for item in connections:
            part, name = self._input(parts, item.end)
            self.lines[item.end] = _Line(part, name, (*_end(parts, item.start), item.factor))
        for end, signal in inputs.items():
            part, name = self._input(parts, end)
            self.lines[end] = _Line(part, name, signal=signal)

    def _input(self, parts: Mapping[str, _Part], end: str) -> tuple[_Part, str]:
        part, name = _end(parts, end)
        if part.variables[name].causality != "input":
            raise UsageError(f"'{end}' is not an input but {part.variables[name].causality}")
        if end in self.lines:
            raise UsageError(f"'{end}' is connected twice")
        return part, name

    def start(self) -> None:
        """Initialise all FMUs; their inputs agree with the outputs they follow unless a loop has direct feedthrough."""
        for part in self.parts.values():
            part.start()
        for _ in range(len(self.parts) + 1):  # outputs may depend on inputs, along a chain of FMUs
            for line in self.lines.values():
                line.part.set({line.name: line.value(0.0)})
        for part in self.parts.values():
            part.begin()

    def step(self, time: float, size: float) -> None:
        """Do a communication step of all FMUs, once for each pass."""
        now = {end: line.value(time) for end, line in self.lines.items()}
        state = self.save() if self.passes > 1 else None
        try:
            self._pass(now, {}, time, size)
            for _ in range(1, self.passes):
                ahead = {end: line.value(time + size) for end, line in self.lines.items()}
                assert state is not None
                self.restore(state)
                self._pass(now, ahead, time, size)
        finally:
            if state is not None:
                self.forget(state)
        for end, line in self.lines.items():
            line.past = (time, now[end])

    def _pass(self, now: Mapping[str, float], ahead: Mapping[str, float], time: float, size: float) -> None:
        """Step all FMUs once; `ahead` holds the sources at the step's end, as the pass before computed them."""
        done: set[str] = set()
        for name, part in self.parts.items():
            held: dict[str, float] = {}
            slopes: dict[str, float] = {}
            for end, line in self.lines.items():
                if line.part is part:
                    held[line.name], slopes[line.name] = self._along(line, now[end], ahead.get(end), time, size, done)
            if part.ramps and held:
                part.set(held)
                part.ramp(slopes)
            elif held:
                part.set({item: value + slopes[item] * size / 2 for item, value in held.items()})
            part.step(time, size)
            if any(slopes.values()) and not part.ramps:  # outputs may follow inputs directly
                part.set({item: value + slopes[item] * size for item, value in held.items()})
            if self.order == "gauss_seidel":
                done.add(name)

    def _along(
        self, line: _Line, now: float, ahead: float | None, time: float, size: float, done: set[str]
    ) -> tuple[float, float]:
        """Return the value at the step's start, and the slope over the step, of an input."""
        if ahead is not None:
            if line.source is not None and line.source[0].name in done:
                ahead = line.value(time + size)
            return now, (ahead - now) / size
        if line.signal is not None:
            return now, (line.value(time + size) - now) / size if self.extrapolation else 0.0
        assert line.source is not None
        if line.source[0].name in done:
            ahead = line.value(time + size)
            return (now, (ahead - now) / size) if self.extrapolation else (ahead, 0.0)
        if self.extrapolation and line.past is not None:
            before, value = line.past
            return now, (now - value) / (time - before)
        return now, 0.0

    def save(self) -> tuple[dict[str, Any], dict[str, tuple[float, float] | None]]:
        """Return the state of all FMUs."""
        return (
            {name: part.slave.getFMUState() for name, part in self.parts.items()},
            {end: line.past for end, line in self.lines.items()},
        )

    def restore(self, state: tuple[dict[str, Any], dict[str, tuple[float, float] | None]]) -> None:
        """Restore a state of all FMUs."""
        for name, part in self.parts.items():
            part.slave.setFMUState(state[0][name])
        for end, line in self.lines.items():
            line.past = state[1][end]

    def forget(self, state: tuple[dict[str, Any], dict[str, tuple[float, float] | None]]) -> None:
        """Free a state."""
        for name, part in self.parts.items():
            part.slave.freeFMUState(state[0][name])

    def followed(self) -> list[float]:
        """Return the current values for the inputs that follow outputs."""
        return [line.value(0.0) for line in self.lines.values() if line.source is not None]


def _controlled(run: _Run, stop: float, step: float, tolerance: float, note: Callable[[float], None]) -> None:
    """Step by rollback, comparing a step with two halves; the coupling error has the order of extrapolation plus 1."""
    time, size, power = 0.0, step, run.extrapolation + 2
    while time < stop * (1 - 1e-12):
        size = min(size, step, stop - time)
        if size < SHORTEST * stop:
            raise StepError(f"the coupling meets no tolerance of {tolerance:g} at t = {time:g} s: take a larger one")
        state = run.save()
        try:
            run.step(time, size)
            whole = run.followed()
            run.restore(state)
            run.step(time, size / 2)
            run.step(time + size / 2, size / 2)
            halves = run.followed()
            error = max((abs(a - b) / (1 + abs(b)) for a, b in zip(whole, halves, strict=True)), default=0.0)
            if error <= tolerance:
                time = stop if stop - time - size < 1e-12 * stop else time + size
                note(time)
            else:
                run.restore(state)
        finally:
            run.forget(state)
        factor = SAFETY * (tolerance / error) ** (1 / power) if error else LARGEST
        size *= min(LARGEST, max(LEAST, factor))

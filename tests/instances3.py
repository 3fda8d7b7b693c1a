"""Instances of FMI 3.0 FMUs, call by call."""

import ctypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from types import TracebackType
from typing import Any

from fmpy import fmi3
from masters import Message, Unpacked

Update = Callable[..., None]
Dependencies = set[tuple[int, str, int]]
SETTABLE = ("Float64", "Int32", "Boolean")
"""Types of the variables of our FMUs, clocks apart."""


class Instance3:
    """One instance; every call is the FMI call of that name, and raises where its status is not OK.

    Args:
        fmu: the FMU.
        events: whether the master has an event mode.
        early: whether it lets steps end early.
        update: called in intermediate updates with the arguments of the standard, the environment apart.
    """

    def __init__(self, fmu: Unpacked, events: bool = False, early: bool = False, update: Update | None = None) -> None:
        self.fmu = fmu
        self.messages: list[Message] = []
        self.slave: Any = fmi3.FMU3Slave(
            guid=fmu.description.guid, unzipDirectory=str(fmu.folder), instanceName="one",
            modelIdentifier=fmu.description.coSimulation.modelIdentifier,
        )  # fmt: skip
        self.slave.instantiate(
            loggingOn=True, eventModeUsed=events, earlyReturnAllowed=early, logMessage=self._note,
            intermediateUpdate=update and (lambda _environment, *more: update(*more)),
        )  # fmt: skip

    def _note(self, _environment: Any, status: int, category: bytes, message: bytes) -> None:
        self.messages.append(Message(status, category.decode(), message.decode()))

    def __enter__(self) -> "Instance3":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.slave.freeInstance()

    def size(self, name: str) -> int:
        """Return the number of elements of a variable."""
        return int(prod(self.fmu.variables[name].shape or (1,)))

    def get(self, names: Iterable[str] | None = None) -> list[float]:
        """Return the values of all elements; of all outputs and local variables if none is given, type by type."""
        chosen = self.fmu.shown if names is None else names
        found: list[float] = []
        for kind, some in sorted(self.fmu.by_type(chosen).items()):
            if kind in SETTABLE:
                count = sum(map(self.size, some))
                found += getattr(self.slave, f"get{kind}")([self.fmu.references[name] for name in some], count)
        return found

    def start(self, values: Mapping[str, float | Sequence[float]] | None = None, time: float = 0.0) -> "Instance3":
        """Initialise at `time` with these values."""
        self.set(values or {})
        self.slave.enterInitializationMode(startTime=time)
        self.slave.exitInitializationMode()
        return self

    def step(self, time: float, size: float) -> tuple[bool, bool, bool, float]:
        """fmi3DoStep."""
        found: tuple[bool, bool, bool, float] = self.slave.doStep(time, size)
        return found

    def settle(self) -> tuple[bool, float]:
        """Let an event act, and go on to step mode; return whether there is a next event, and when."""
        *_, defined, time = self.slave.updateDiscreteStates()
        self.slave.enterStepMode()
        return defined, time

    def save(self) -> bytes:
        """Get the state, serialise and free it."""
        state = self.slave.getFMUState()
        data: bytes = self.slave.serializeFMUState(state)
        self.slave.freeFMUState(state)
        return data

    def restore(self, data: bytes) -> None:
        """Deserialise a state, set and free it."""
        state = self.slave.deserializeFMUState(data)
        self.slave.setFMUState(state)
        self.slave.freeFMUState(state)

    def dependencies(self, name: str) -> Dependencies:
        """Return what a variable depends on: its element, the other variable and the other's element; 0: all."""
        count = ctypes.c_size_t()
        instance, reference = self.slave.component, self.fmu.references[name]
        self.slave.fmi3GetNumberOfVariableDependencies(instance, reference, ctypes.byref(count))
        sizes, others = ctypes.c_size_t * count.value, ctypes.c_uint32 * count.value
        of, on, element, kinds = sizes(), others(), sizes(), (ctypes.c_int * count.value)()
        self.slave.fmi3GetVariableDependencies(instance, reference, of, on, element, kinds, count.value)
        names = {number: other for other, number in self.fmu.references.items()}
        return {(a, names[b], c) for a, b, c in zip(of, on, element, strict=True)}

    def set(self, values: Mapping[str, float | Sequence[float]]) -> None:
        """fmi3SetFloat64 by name, or the function of another type."""
        for kind, names in self.fmu.by_type(values).items():
            flat: list[float] = []
            for name in names:
                value = values[name]
                flat += value if isinstance(value, Sequence) else [value]
            getattr(self.slave, f"set{kind}")([self.fmu.references[name] for name in names], flat)

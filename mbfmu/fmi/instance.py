"""An instance of an FMU of any version behind the calls of FMI 2.0, and what it says."""

from collections.abc import Callable
from ctypes import byref, c_int
from pathlib import Path
from time import sleep
from typing import Any
from urllib.parse import unquote_to_bytes

from fmpy import calloc, free
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import (
    FMU2Model,
    FMU2Slave,
    fmi2CallbackAllocateMemoryTYPE,
    fmi2CallbackFreeMemoryTYPE,
    fmi2CallbackFunctions,
    fmi2CallbackLoggerTYPE,
    fmi2DoStepStatus,
    fmi2Error,
    fmi2OK,
    fmi2Pending,
    fmi2Warning,
)
from fmpy.fmi3 import FMU3Model, FMU3Slave
from fmpy.logging import addLoggerProxy

from mbfmu.fmi.calls import Scalars
from mbfmu.fmi.plan import SLAVE_MODULE, has_event_mode
from mbfmu.fmi.scalars import starts_of

MOST_NOTICES = 5
"""Largest number of different messages of an FMU that are kept as notices."""
MOST_MESSAGES = 20
"""Largest number of different messages of an FMU that are kept: the first, which become notices, and the last."""
LONGEST = 2000
"""Largest number of characters of a message."""
EVENTS = {"eventModeUsed": True, "earlyReturnAllowed": True}
"""Options of an instance of FMI 3.0 that uses its event mode."""


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

    def add(self, text: str) -> None:
        """Keep a finding on the FMU as if it had given a warning itself."""
        self.note(None, None, fmi2Warning, None, text.encode())

    def clear(self) -> None:
        """Remove all messages, for another run."""
        super().clear()
        self._told = 0

    def or_else(self, error: object) -> str:
        """Return the messages in one text; if there are none, another text."""
        return "; ".join(self) or str(error)


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
        slave = watched((FMU2Slave if steps else FMU2Model)(**made))
        if steps and Path(folder, SLAVE_MODULE).exists():
            _read_by_loader(slave)
        slave.instantiate(callbacks=callbacks_of(note, printf=alone), loggingOn=True)
        return slave

    def log(environment: Any, status: int, category: Any, message: Any) -> None:
        note(environment, name, status, category, message)

    slave = watched((FMU3Slave if steps else FMU3Model)(**made))
    events = events and has_event_mode(description)
    try:
        slave.instantiate(loggingOn=True, logMessage=log, **(EVENTS if events else {}))
    except Exception:  # FMPy raises plain Exceptions; some FMUs do not have the event mode that they claim
        if not events:
            raise
        events = False
        slave.instantiate(loggingOn=True, logMessage=log)
    return Scalars(slave, starts_of(description), events)


def _read_by_loader(slave: Any) -> None:
    """Make the resource URI one for pythonfmu's loader: of what a URI encodes, it decodes spaces alone."""
    create = slave.fmi2Instantiate

    def passed(name: bytes, kind: int, guid: bytes, resources: bytes, *rest: Any) -> Any:
        return create(name, kind, guid, unquote_to_bytes(resources).replace(b" ", b"%20"), *rest)

    slave.fmi2Instantiate = passed


def watched(slave: Any) -> Any:
    """Return an instance of FMPy whose functions raise an error for a status that the standard does not have too."""
    call = slave._call
    statuses = {name for name, function in slave._functions.items() if function.restype is c_int}

    def checked(name: str, *arguments: Any) -> Any:
        result = call(name, *arguments)
        if name in statuses and not fmi2OK <= result <= fmi2Pending:
            raise FMICallException(function=name, status=result)
        return result

    slave._call = checked
    return slave


def callbacks_of(logger: Callable[..., None], printf: bool = True) -> Any:
    """Return the functions that an FMU of FMI 2.0 may call.

    Args:
        logger: called with environment, name, status, category and message.
        printf: whether the message is a format of printf with arguments; otherwise it is taken as it is. What puts them
            in has one logger for the whole process, the last.
    """
    callbacks = fmi2CallbackFunctions()
    callbacks.logger = fmi2CallbackLoggerTYPE(logger)
    callbacks.allocateMemory = fmi2CallbackAllocateMemoryTYPE(calloc)
    callbacks.freeMemory = fmi2CallbackFreeMemoryTYPE(free)
    if printf:
        addLoggerProxy(byref(callbacks))
    return callbacks


def step(slave: FMU2Slave, time: float, size: float, asynchronous: bool) -> None:
    """Do a step, and wait for its end if the FMU may continue by itself."""
    try:
        slave.doStep(time, size)
    except FMICallException as error:
        if error.status != fmi2Pending or not asynchronous:
            raise
        while (status := slave.getStatus(fmi2DoStepStatus)) == fmi2Pending:
            sleep(1e-4)
        if status > fmi2Warning:
            raise FMICallException("fmi2DoStep", status) from None

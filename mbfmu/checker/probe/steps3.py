"""Rules on co-simulation by FMI 3.0: functions, steps, rollback, reset."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import CDLL
from pathlib import Path
from typing import Any

from fmpy import platform_tuple, sharedLibraryExtension
from fmpy.fmi3 import FMU3Model, FMU3ScheduledExecution, FMU3Slave

from .instance import PRACTICE, SAVED, STEPS, DynamicRule, NotApplicable, Outputs, Probe, difference

FUNCTIONS = sorted(
    {name for kind in (FMU3Model, FMU3Slave, FMU3ScheduledExecution) for name in dir(kind) if name.startswith("fmi3")}
)
"""Names of all functions of FMI 3.0."""


class Stepped:
    """One instance of the FMU under test, without event mode and early return, stepped on the grid t0 + n h."""

    def __init__(self, probe: Probe) -> None:
        self.job, self.probe = probe.job, probe
        self.slave: Any = FMU3Slave(
            guid=self.job["guid"], modelIdentifier=self.job["identifier"], unzipDirectory=self.job["folder"],
            instanceName="check",
        )  # fmt: skip
        self.slave.instantiate(loggingOn=True, logMessage=self._logged)

    def _logged(self, _environment: Any, status: int, _category: Any, message: Any) -> None:
        if status:
            self.probe.log.append((message or b"").decode(errors="replace").strip()[:300])

    def initialise(self) -> None:
        """Go through initialisation mode with the start values."""
        self.slave.enterInitializationMode(tolerance=self.job["tolerance"], startTime=self.job["start"])
        self.slave.exitInitializationMode()

    def outputs(self) -> Outputs:
        """Return the elements of every output that is a number."""
        found: Outputs = {}
        for kind, variables in self.job["outputs"].items():
            count = sum(size for _, _, size in variables)
            values = getattr(self.slave, f"get{kind}")([reference for _, reference, _ in variables], count)
            names = [f"{name}[{n}]" if size > 1 else name for name, _, size in variables for n in range(1, size + 1)]
            found.update(zip(names, values, strict=True))
        return found

    def run(self, first: int, steps: int) -> list[Outputs]:
        """Return the outputs now and after each of some steps, the first from t0 + first h."""
        found = [self.outputs()]
        for n in range(first, first + steps):
            self.slave.doStep(self.job["start"] + n * self.job["step"], self.job["step"], False)
            found.append(self.outputs())
        return found


@contextmanager
def _running(probe: Probe) -> Iterator[Stepped]:
    """Make an initialised instance, and free it."""
    instance = Stepped(probe)
    try:
        instance.initialise()
        yield instance
        instance.slave.terminate()
        probe.log.clear()
    finally:
        instance.slave.freeInstance()


def functions_exported(probe: Probe) -> Iterator[str]:
    """The library exports all functions of FMI 3.0, also those of other kinds of FMU."""
    file = Path(probe.job["folder"], "binaries", platform_tuple, probe.job["identifier"] + sharedLibraryExtension)
    library = CDLL(str(file))
    missing = [name for name in FUNCTIONS if not hasattr(library, name)]
    if missing:
        yield f"not exported: {', '.join(missing)}"


def step_mode(probe: Probe) -> Iterator[str]:
    """The FMU is instantiated, initialises and takes steps of the default size with finite outputs."""
    with _running(probe) as instance:
        found = instance.run(0, STEPS)
    for n, outputs in enumerate(found):
        wrong = [name for name, value in outputs.items() if isinstance(value, float) and not math.isfinite(value)]
        if wrong:
            yield f"not finite after {n} steps with start values: {', '.join(wrong)}"
            return


def rollback(probe: Probe) -> Iterator[str]:
    """A state set back, also through bytes, replays what followed it, to the last bit."""
    probe.needs("canGetAndSetFMUState")
    with _running(probe) as instance:
        instance.run(0, SAVED)
        saved = instance.slave.getFMUState()
        if probe.job["flags"]["canSerializeFMUState"]:
            content = instance.slave.serializeFMUState(saved)
            instance.slave.freeFMUState(saved)
            saved = instance.slave.deserializeFMUState(content)
        expected = instance.run(SAVED, STEPS)
        instance.slave.setFMUState(saved)
        found = instance.run(SAVED, STEPS)
        instance.slave.freeFMUState(saved)
    if text := difference(expected, found):
        yield f"fmi3SetFMUState does not bring the state back: {text}"


def reset_anew(probe: Probe) -> Iterator[str]:
    """A reset instance starts anew, with the first results to the last bit."""
    with _running(probe) as instance:
        expected = instance.run(0, STEPS)
        instance.slave.reset()
        instance.initialise()
        found = instance.run(0, STEPS)
    if text := difference(expected, found):
        yield f"after fmi3Reset and a new initialisation, {text}"


def side_by_side(probe: Probe) -> Iterator[str]:
    """Two instances in one process go the same way and do not disturb each other."""
    if probe.job["flags"]["canBeInstantiatedOnlyOncePerProcess"]:
        raise NotApplicable("canBeInstantiatedOnlyOncePerProcess is set")
    with _running(probe) as one:
        expected = one.run(0, STEPS)
    with _running(probe) as one, _running(probe) as two:
        found = one.run(0, SAVED)
        other = two.run(0, STEPS)
        found += one.run(SAVED, STEPS - SAVED)[1:]
    for text in filter(None, (difference(expected, found), difference(expected, other))):
        yield f"with another instance in the process, {text}"


def process_end(probe: Probe) -> Iterator[str]:
    """The process ends well after the FMU was used by FMI 3.0."""
    with _running(probe) as instance:
        instance.run(0, SAVED)
    yield from ()


VITAL: tuple[tuple[DynamicRule, str], ...] = (
    (functions_exported, "2.2.1"),
    (step_mode, "4.2.1"),
)
"""Rules without which the others make no sense."""

RULES: tuple[tuple[DynamicRule, str], ...] = (
    (rollback, "2.2.7"),
    (reset_anew, "2.3.1"),
    (side_by_side, "2.3.2"),
    (process_end, PRACTICE),
)
"""The others; the last is judged by how the process ends."""

"""The process in which an FMU is put to the test; a script that only `dynamic.py` starts.

It imports nothing of mbfmu, so the FMU meets a clean interpreter. Its one argument is the path of a JSON file
with what it must know of the FMU. It prints JSON lines: a stage before each rule, a problem for each breach,
and a last `done`. What is missing in the end tells the parent where the FMU took the process down.

A rule is one function and one row in `RULES`; it yields a message for each breach.
"""

import json
import math
import os
import struct
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import byref
from itertools import count
from pathlib import Path
from typing import Any

from fmpy import calloc, free
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import (
    FMU2Slave,
    fmi2CallbackAllocateMemoryTYPE,
    fmi2CallbackFreeMemoryTYPE,
    fmi2CallbackFunctions,
    fmi2CallbackLoggerTYPE,
    fmi2Fatal,
)
from fmpy.logging import addLoggerProxy

STEPS = 20
SAVED = 5
REPLAYED = 10

Outputs = dict[str, Any]


class Instance:
    """One instance of the FMU under test, stepped on the grid t0 + n h."""

    def __init__(self, job: dict[str, Any], callbacks: Any, name: str) -> None:
        self.job = job
        self.h: float = job["step"]
        self.slave = FMU2Slave(
            guid=job["guid"],
            modelIdentifier=job["identifier"],
            unzipDirectory=job["folder"],
            instanceName=name,
        )
        self.slave.instantiate(callbacks=callbacks, loggingOn=True)

    def initialise(self) -> None:
        """Go through initialisation mode with the start values."""
        self.slave.setupExperiment(tolerance=self.job["tolerance"], startTime=self.job["start"])
        self.slave.enterInitializationMode()
        self.slave.exitInitializationMode()

    def step(self, n: float, size: float | None = None) -> None:
        """Step from t0 + n h, by h if no other size is given."""
        self.slave.doStep(self.job["start"] + n * self.h, self.h if size is None else size)

    def run(self, first: int, steps: int) -> list[Outputs]:
        """Return the outputs now and after each of some steps, the first from t0 + first h."""
        found = [self.outputs()]
        for n in range(first, first + steps):
            self.step(n)
            found.append(self.outputs())
        return found

    def outputs(self) -> Outputs:
        """Get the value of every output."""
        found: Outputs = {}
        for kind, variables in self.job["outputs"].items():
            values = getattr(self.slave, f"get{kind}")(list(variables.values()))
            found.update(zip(variables, values, strict=True))
        return found


class Probe:
    """The FMU under test: makes instances, gathers what it logs, and writes down what is found."""

    def __init__(self, job: dict[str, Any], report: Callable[..., None]) -> None:
        self.job = job
        self.report = report
        self.log: deque[str] = deque(maxlen=5)
        self.reference: list[Outputs] = []
        self._null_seen = False
        self._names = (f"check{n}" for n in count())
        self._callbacks = fmi2CallbackFunctions()
        self._callbacks.logger = fmi2CallbackLoggerTYPE(self._logged)
        self._callbacks.allocateMemory = fmi2CallbackAllocateMemoryTYPE(calloc)
        self._callbacks.freeMemory = fmi2CallbackFreeMemoryTYPE(free)
        addLoggerProxy(byref(self._callbacks))

    def _logged(self, _environment: Any, _name: bytes, _status: int, category: Any, message: Any) -> None:
        text = (message or b"").decode(errors="replace").strip()
        self.log.append(text[:300])
        if category is None and not self._null_seen:
            self._null_seen = True
            self.problem("log-category-null", f"masters crash at the NULL category of the message: {text}")

    def problem(self, rule: str, message: str) -> None:
        """Write down a breach of a rule."""
        self.report(rule=rule, message=message)

    @contextmanager
    def instance(self) -> Iterator[Instance]:
        """Make an instance; free it afterwards unless the FMU has declared itself beyond repair."""
        instance = Instance(self.job, self._callbacks, next(self._names))
        try:
            yield instance
        except FMICallException as error:
            if error.status != fmi2Fatal:
                instance.slave.fmi2FreeInstance(instance.slave.component)
            raise
        instance.slave.terminate()
        instance.slave.fmi2FreeInstance(instance.slave.component)

    @contextmanager
    def running(self) -> Iterator[Instance]:
        """Make an initialised instance."""
        with self.instance() as instance:
            instance.initialise()
            yield instance


def difference(expected: list[Outputs], found: list[Outputs]) -> str | None:
    """Say where two runs first differ in a bit, if they do."""
    for n, (left, right) in enumerate(zip(expected, found, strict=True)):
        for name in left:
            a, b = left[name], right[name]
            if (struct.pack("<d", a) != struct.pack("<d", b)) if isinstance(a, float) else a != b:
                return f"'{name}' is {b!r} instead of {a!r} after {n} steps"
    return None


def not_finite(outputs: Outputs) -> list[str]:
    """Name the outputs that are no finite numbers."""
    return [name for name, value in outputs.items() if isinstance(value, float) and not math.isfinite(value)]


def instantiate(probe: Probe) -> Iterator[str]:
    """The FMU loads and makes an instance (2.1.5)."""
    with probe.instance():
        yield from ()


def initialise(probe: Probe) -> Iterator[str]:
    """The FMU initialises with its start values (2.1.6)."""
    with probe.running() as instance:
        yield from ()
        instance.outputs()


def step(probe: Probe) -> Iterator[str]:
    """The FMU takes steps of the default size (4.2.2)."""
    with probe.running() as instance:
        yield from ()
        probe.reference = instance.run(0, STEPS)


def output_finite(probe: Probe) -> Iterator[str]:
    """Outputs are finite numbers, from initialisation on."""
    for n, outputs in enumerate(probe.reference):
        if names := not_finite(outputs):
            yield f"not finite after {n} steps with start values: {', '.join(names)}"
            return


def state(probe: Probe) -> Iterator[str]:
    """A state set back replays what followed it, to the last bit (2.1.8)."""
    with probe.running() as instance:
        instance.run(0, SAVED)
        saved = instance.slave.getFMUstate()
        expected = instance.run(SAVED, REPLAYED)
        instance.slave.setFMUstate(saved)
        found = instance.run(SAVED, REPLAYED)
        instance.slave.freeFMUstate(saved)
    if text := difference(expected, found):
        yield f"setFMUstate does not bring the state back: {text}"


def serialized_state(probe: Probe) -> Iterator[str]:
    """A state that went through bytes does so too (2.1.8)."""
    with probe.running() as instance:
        instance.run(0, SAVED)
        saved = instance.slave.getFMUstate()
        content = instance.slave.serializeFMUstate(saved)
        instance.slave.freeFMUstate(saved)
        expected = instance.run(SAVED, REPLAYED)
        saved = instance.slave.deSerializeFMUstate(content)
        instance.slave.setFMUstate(saved)
        found = instance.run(SAVED, REPLAYED)
        instance.slave.freeFMUstate(saved)
    if text := difference(expected, found):
        yield f"a serialised state does not bring the state back: {text}"


def variable_step(probe: Probe) -> Iterator[str]:
    """Step sizes may change on the way if the FMU says so (4.3.1)."""
    with probe.running() as instance:
        instance.run(0, SAVED)
        instance.step(SAVED, instance.h / 2)
        instance.step(SAVED + 0.5, instance.h / 2)
        instance.step(SAVED + 1)
        names = not_finite(instance.outputs())
    if names:
        yield f"not finite after steps of half the size: {', '.join(names)}"


def instances(probe: Probe) -> Iterator[str]:
    """Two instances in one process go the same way and do not disturb each other (2.1.5)."""
    with probe.running() as one, probe.running() as two:
        found = one.run(0, SAVED)
        other = two.run(0, STEPS)
        found += one.run(SAVED, STEPS - SAVED)[1:]
    for text in filter(None, (difference(probe.reference, found), difference(probe.reference, other))):
        yield f"with another instance in the process, {text}"


def reset(probe: Probe) -> Iterator[str]:
    """A reset instance starts anew, with the first results (2.1.6)."""
    with probe.running() as instance:
        instance.run(0, STEPS)
        instance.slave.reset()
        instance.initialise()
        found = instance.run(0, STEPS)
    if text := difference(probe.reference, found):
        yield f"after fmi2Reset and a new initialisation, {text}"


def _refusal(probe: Probe, n: int, size: float | None, reals: dict[int, float]) -> Outputs | None:
    """Ask for a step that makes no sense; return the outputs if it is taken, None if it is refused."""
    try:
        with probe.running() as instance:
            instance.run(0, n)
            if reals:
                instance.slave.setReal(list(reals), list(reals.values()))
            instance.step(n, size)
            return instance.outputs()
    except FMICallException as error:
        if error.status == fmi2Fatal:
            raise
        return None


def zero_step(probe: Probe) -> Iterator[str]:
    """A step of size zero is refused or changes no time; it does no harm (4.2.2)."""
    outputs = _refusal(probe, SAVED, 0.0, {})
    if outputs is not None and (names := not_finite(outputs)):
        yield f"not finite after a step of size zero: {', '.join(names)}"


def negative_step(probe: Probe) -> Iterator[str]:
    """A step of negative size is refused (4.2.2)."""
    if _refusal(probe, SAVED, -probe.job["step"], {}) is not None:
        yield "a step of negative size was answered with fmi2OK; answer fmi2Error or fmi2Discard"


def nan_input(probe: Probe) -> Iterator[str]:
    """NaN in an input does not come out as a step well done (2.1.3)."""
    name, reference = probe.job["input"]
    outputs = _refusal(probe, SAVED, None, {reference: math.nan})
    if outputs is not None and (names := not_finite(outputs)):
        yield f"NaN in '{name}' was answered with fmi2OK and spoils {', '.join(names)}; refuse it"


RULES: tuple[tuple[Callable[[Probe], Iterator[str]], str | None], ...] = (
    (instantiate, None),
    (initialise, None),
    (step, None),
    (output_finite, None),
    (state, "state"),
    (serialized_state, "serialize"),
    (variable_step, "variable_step"),
    (instances, "instances"),
    (reset, None),
    (zero_step, None),
    (negative_step, None),
    (nan_input, "input"),
)
"""Each rule, with the entry of the job that must be there for it."""

VITAL = (instantiate, initialise, step, output_finite)
"""Rules without which the others make no sense."""

REFUSALS = (zero_step, negative_step, nan_input)
"""Rules that ask for what may be refused."""


def main(job: dict[str, Any], report: Callable[..., None]) -> None:
    """Apply the rules in turn; stop where going on makes no sense."""
    probe = Probe(job, report)
    skipped = {entry for _, entry in RULES if entry is not None and not job[entry]}
    for rule, entry in RULES:
        if entry in skipped:
            continue
        name = rule.__name__.replace("_", "-")
        report(stage=name)
        probe.log.clear()
        fatal = False
        try:
            found = list(rule(probe))
        except FMICallException as error:
            fatal = error.status == fmi2Fatal
            found = [str(error)]
        except Exception as error:  # noqa: BLE001 - FMPy raises bare exceptions
            found = [str(error)]
        if fatal and rule in REFUSALS:
            name, found = "fatal", [f"{name}: fmi2Fatal ends all instances; answer fmi2Error or fmi2Discard"]
        for text in found:
            said = f"; the FMU says: {' | '.join(probe.log)}" if probe.log else ""
            probe.problem(name, text + said)
        if fatal or (found and rule in VITAL):
            break
        if found and rule is state:
            skipped.add("serialize")  # it would only say the same again
    report(done=True)


if __name__ == "__main__":
    sys.path.pop(0)  # the folder of this script: its modules are none of the FMU's business
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the FMU prints must not get between the lines

    def write(**line: object) -> None:
        """Print one line, at once: the next call may be the last."""
        print(json.dumps(line), file=stream, flush=True)

    main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), write)

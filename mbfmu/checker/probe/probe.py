"""The FMU under test: its instances, what it logs, and what it does after nonsensical calls."""

import math
import struct
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import count
from typing import Any

from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import fmi2Fatal, fmi2OK

from mbfmu.checker.outcome import NotApplicable, Remark
from mbfmu.checker.probe.instance import Instance, Outputs, Variable
from mbfmu.fmi.instance import callbacks_of
from mbfmu.fmi.scalars import ScalarIndex

STEPS = 20
SAVED = 5
NUDGE = 1e-4
"""By how much values are changed, relative to 1 and their size: no mechanism comes apart."""
SAME = 1e-9
"""Relative difference up to which two numbers mean the same."""
ROUND_OFF = 1e-9
"""Difference, relative to the largest value of an output, up to which two runs go the same way:
iterations that begin where others ended leave it."""


class Probe:
    """The FMU under test: makes instances, gathers what it logs, and writes down faults."""

    def __init__(self, job: dict[str, Any], report: Callable[..., None], kind: type[Instance] = Instance) -> None:
        self.job = job
        self.kind = kind
        """Class of the instances that rules step."""
        self.report = report
        self.log: deque[str] = deque(maxlen=5)
        self.remark = ""
        """What to say of a rule that is kept."""
        self.legal = True
        """Whether the calls are such that the rules on messages hold."""
        self.failed: set[str] = set(job["failed"])
        """Rules that have been found broken."""
        self.dead = False
        """Whether a call was answered with fmi2Fatal, after which no other may follow."""
        self.spoken: set[str] = set()
        """Rules on messages that have been broken."""
        self._names = (f"check{n}" for n in count())
        if job["version"] == "2.0":  # messages of pythonfmu come without arguments, so they are looked at as they are
            self._callbacks = callbacks_of(self._logged, printf=not job["pythonfmu"])
        else:
            self._callbacks = lambda environment, *said: self._logged(environment, b"", *said)
            _place(job)

    def _logged(self, _environment: Any, _name: bytes, status: int, category: Any, message: Any) -> None:
        text = (message or b"").decode(errors="replace").strip()
        if category is None and self.job["categories"]:
            self._break("message-category", f"masters crash at the NULL category of the message: {text}")
        if self.job["pythonfmu"]:
            if "%" in text.replace("%%", ""):
                self._break("message-format", f"masters print with printf, which takes this '%' for its own: {text}")
            text = text.replace("%%", "%")
        if status != fmi2OK:
            self.log.append(text[:300])

    def _break(self, rule: str, message: str) -> None:
        if self.legal and rule not in self.spoken:
            self.spoken.add(rule)
            self.report(rule=rule, status="fail", message=message)

    @contextmanager
    def instance(
        self, callbacks: Any = None, kind: Callable[..., Instance] | None = None, **changes: Any
    ) -> Iterator[Any]:
        """Make an instance of a kind; free it afterwards unless the FMU has declared itself beyond repair."""
        instance = (kind or self.kind)({**self.job, **changes}, callbacks or self._callbacks, next(self._names))
        try:
            yield instance
            if instance.ready and not self.terminates(instance):
                self.log.clear()
        except FMICallException as error:
            self.dead = self.dead or error.status == fmi2Fatal
            raise
        finally:
            if not self.dead:
                instance.free()

    def terminates(self, instance: Instance) -> bool:
        """Terminate an instance; whether that works is a rule of its own."""
        try:
            instance.slave.terminate()
        except FMICallException as error:
            self.dead = self.dead or error.status == fmi2Fatal
            return False
        return True

    @contextmanager
    def running(self, **changes: Any) -> Iterator[Instance]:
        """Make an initialised instance."""
        with self.instance(**changes) as instance:
            instance.initialise()
            yield instance

    @cached_property
    def reference(self) -> list[Outputs]:
        """The outputs at the start and after each of `STEPS` steps, with the start values."""
        with self.running() as instance:
            return instance.run(0, STEPS)

    def needs(self, flag: str) -> None:
        """Leave a rule whose capability the FMU does not claim."""
        if not self.job["flags"][flag]:
            raise NotApplicable(f"{self.job['spelled'].get(flag, flag)} is not set")

    def after(self, rule: str) -> None:
        """Leave a rule that would only repeat what another has said."""
        if rule in self.failed:
            raise NotApplicable(f"waits for the rule '{rule}'")

    def variables(self, missing: str = "", **wanted: str) -> list[Variable]:
        """Return the variables of a causality, variability..., or leave the rule if there are none."""
        matching = [v for v in self.job["variables"] if all(v[key] == value for key, value in wanted.items())]
        if not matching and missing:
            raise NotApplicable(missing)
        return matching

    def disturb(self, instance: Instance, n: int) -> None:
        """Set every continuous input to something else and step."""
        for v in self.variables(causality="input", variability="continuous"):
            value = nudged(v)
            if value is not None:
                instance.set(v, value)
        instance.step(n)

    def refused(
        self, n: int, size: float | None, variable: Variable | None = None, value: Any = None
    ) -> Outputs | None:
        """Ask for a step that makes no sense; return the outputs if it is taken, None if it is refused."""
        try:
            with self.running() as instance:
                instance.run(0, n)
                if variable is not None:
                    instance.set(variable, value)
                instance.step(n, size)
                return instance.outputs()
        except FMICallException as error:
            if error.status == fmi2Fatal:
                raise
            return None


def _place(job: dict[str, Any]) -> None:
    """Make indices of elements of the value references of a job."""
    job["outputs"] = {
        kind: {name: ScalarIndex(*index) for name, index in outputs.items()} for kind, outputs in job["outputs"].items()
    }
    job["states"] = [[ScalarIndex(*state), ScalarIndex(*rate)] for state, rate in job["states"]]
    for variable in job["variables"]:
        variable["reference"] = ScalarIndex(*variable["reference"])


def differences(where: str, expected: list[Outputs], reported: list[Outputs]) -> Iterator[str]:
    """Yield where two runs first differ in a bit, if they do; a remark if they are close to each other everywhere.

    Args:
        where: beginning of the message.
        expected: outputs of one run.
        reported: outputs of the other.
    """
    first, close = "", True
    for n, (left, right) in enumerate(zip(expected, reported, strict=True)):
        for name in left:
            a, b = left[name], right[name]
            if (struct.pack("<d", a) != struct.pack("<d", b)) if isinstance(a, float) else a != b:
                first = first or f"{where}'{name}' is {b!r} instead of {a!r} after {n} steps"
                size = max(abs(outputs[name]) for outputs in expected) if isinstance(a, float) else 0
                close = close and abs(b - a) <= ROUND_OFF * size if isinstance(a, float) else False
    if first:
        yield Remark(first) if close else first


def not_finite(outputs: Outputs) -> list[str]:
    """Name the outputs that are no finite numbers."""
    return [name for name, value in outputs.items() if isinstance(value, float) and not math.isfinite(value)]


def same(value: Any, other: Any) -> bool:
    """Whether two values mean the same."""
    return math.isclose(value, other, rel_tol=SAME, abs_tol=1e-300) if isinstance(value, float) else value == other


def nudged(variable: Variable) -> float | None:
    """Return a value near the start value of a Real and within its bounds, None if there is none."""
    if variable["type"] != "Real" or "start" not in variable:
        return None
    start: float = variable["start"]
    for sign in (1.0, -1.0):
        value = start + sign * NUDGE * (abs(start) or 1.0)
        if variable.get("single"):
            (value,) = struct.unpack("<f", struct.pack("<f", value))
        if variable["min"] <= value <= variable["max"] and math.isfinite(value):
            return value
    return None


def changeable(variables: list[Variable], missing: str) -> list[tuple[Variable, float]]:
    """Return those that are Real and have a second value to be set to."""
    pairs = [(v, value) for v in variables for value in [nudged(v)] if value is not None]
    if not pairs:
        raise NotApplicable(missing)
    return pairs


DynamicRule = Callable[[Probe], Iterator[str]]

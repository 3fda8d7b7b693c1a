"""The slave inside an FMU: a class for pythonfmu around a kernel.

This file is packed into every FMU under a name of its own, beside `runtime`, `failure` and `loader`; it needs only the
standard library and the pythonfmu runtime that is packed in the FMU. The behaviour of pythonfmu and of masters explains
its form: an exception that leaves `do_step` ends some masters, a return value of None is taken for a discarded step, a
percent sign in a message is read as a format, and the state has to be complete.
"""

import ctypes
import json
import math
import os
import struct
import sys
import weakref
import zlib
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any, ClassVar, NoReturn

from pythonfmu import Fmi2Slave
from pythonfmu.enums import Fmi2Status

from mbfmu.fmu.loader import end_once
from mbfmu.kernel.failure import Bound, Facts, Quantity, first_broken, too_long
from mbfmu.kernel.limits import CONSISTENT, DRIFTED, MOST_STEPS, PERSISTENT
from mbfmu.kernel.runtime import OK, STARTS_INSIDE, Compiled, Energy, Interpreted, Motion, Vector, count, vector

FMU = "unpacked"
"""Identity of the FMU that contains this file, written by export. It serves to refuse states of other FMUs."""

HEAD = "<32sBBII"
"""Layout of the head of a state: the FMU, phase, whether outputs are stale, sizes of x and of the texts."""
INFINITE = math.inf
INSTANTIATED, INITIALIZING, RUNNING, TERMINATED = range(4)

Row = dict[str, Any]
"""A variable in model.json: ``name``, ``kind``, ``offset`` in the vector of its kind and, if it has them,
``start_offset`` in the vector of start values, ``start``, ``min``, ``max``, ``fixed``, the reason why it is, and
``type`` if it is not real."""
REAL = "Real"
LEAST = {"Integer": -(2**31), "Boolean": 0}
GREATEST = {"Integer": 2**31 - 1, "Boolean": 1}
"""Bounds of the values of the types that are not real."""


class MultibodySlave(Fmi2Slave):  # type: ignore[misc]
    """One instance: values of all variables, the state x, and the kernel that advances it."""

    _living: ClassVar["weakref.WeakSet[MultibodySlave]"] = weakref.WeakSet()
    """The instances of this FMU: pythonfmu has the class read the bytes of a state, and does not say for which one."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._living.add(self)
        while self.resources in sys.path:  # pythonfmu leaves one entry for each instance
            sys.path.remove(self.resources)
        end_once(self.resources)
        with open(os.path.join(self.resources, "model.json"), encoding="utf-8") as file:
            model = json.load(file)
        self._name = model["name"]
        limits = model["limits"]
        self._largest, self._step_part, self._time_part = (
            limits[name] for name in ("largest", "step_part", "time_part")
        )
        self._whole = limits.get("whole", 0.0)  # largest round-off of a whole number
        suspects = {kind: [Quantity(*item) for item in items] for kind, items in model["suspects"].items()}
        self._facts = Facts(self._name, model.get("guards", []), **suspects, remedies=model["remedies"])
        self._bounds = [Bound(*item) for item in model.get("bounds", [])]  # of calculated parameters
        self._rows: dict[int, Row] = dict(enumerate(model["variables"]))  # by value reference
        self._inputs, self._outputs = self._reals("input"), self._reals("output")
        watched = model["watched"]
        self._constant, self._undriven = watched["name"], watched["undriven"]
        self._energies = itemgetter(*watched["energies"]) if watched["energies"] else None
        self._residual = watched["residual"]
        self._limit: float | None = watched.get("limit")  # None: it is not watched, or no longer
        self._told: set[str] = set()  # what has been said once
        self._energy: Energy | None = None  # what the energy is judged by; None: the next outputs begin it
        self._kernel = _load(self.resources)
        self._u: Vector = vector(self._defaults("offset", "input"))
        self._du = vector([0.0] * len(self._u))
        self._driven: bool | None = None  # whether an input is not zero, if that matters; None: not looked at
        self._p: Vector = vector(self._defaults("offset", "parameter"))
        self._s: Vector = vector(self._defaults("start_offset", "output"))
        self._settings = self._defaults("offset", "setting")  # longest step, tolerance
        self._places = dict(self._settable())  # by value reference: vector and offset
        self._y = vector([0.0] * sum(row["kind"] == "output" for row in self._rows.values()))
        self._x = None
        self._motion: Motion | None = None  # what took the last step, and may take the next one
        self._time = 0.0
        self._phase = INSTANTIATED
        self._stale = True  # values have changed since outputs were computed
        self._retuned = False  # a parameter has changed since the bounds of calculated ones were checked
        self._refused: dict[str, str] = {}  # name of a variable -> why its last value was refused
        self._asked: list[int] = []  # the value references of the last get_real, and how to get them at once
        self._pick: Callable[[Vector], tuple[float, ...]] | None = None

    def _reals(self, kind: str) -> dict[int, int]:
        """Return the offsets of the real variables of a kind, by value reference."""
        return {vr: row["offset"] for vr, row in self._rows.items() if row["kind"] == kind and "type" not in row}

    def _defaults(self, place: str, kind: str) -> list[float]:
        """Return the start values of the variables of a kind that have a place in a vector, in its order."""
        rows = [row for row in self._rows.values() if row["kind"] == kind and place in row]
        return [row.get("start", 0.0) for row in sorted(rows, key=itemgetter(place))]

    def _settable(self) -> Iterator[tuple[int, tuple[Any, int]]]:
        """Yield the value references that can be set, with the vector and the offset of their values."""
        vectors = {"input": self._u, "parameter": self._p, "setting": self._settings}
        for vr, row in self._rows.items():
            if row["kind"] in vectors:
                yield vr, (vectors[row["kind"]], row["offset"])
            elif "start_offset" in row:
                yield vr, (self._s, row["start_offset"])

    # -- values -------------------------------------------------------------------------------------------------

    def get_real(self, vrs: list[int]) -> list[float]:
        """Return the values of the given value references."""
        if self._stale:
            self._refresh()
            self._tell_lost(vrs)
        if self._pick and vrs == self._asked:  # the same outputs as before: the usual case, and it is often
            return list(self._pick(self._y))
        outputs, y = self._outputs, self._y
        many = len(vrs) > 1 and all(vr in outputs for vr in vrs)
        self._asked, self._pick = list(vrs), itemgetter(*(outputs[vr] for vr in vrs)) if many else None
        return [y[outputs[vr]] if vr in outputs else self._known(vr, REAL) for vr in vrs]

    def _tell_lost(self, vrs: list[int]) -> None:
        """Give a warning if one of these outputs is not finite for what was set."""
        values = ((self._rows[vr]["name"], self._y[self._outputs[vr]]) for vr in vrs if vr in self._outputs)
        for name, value in values:
            if not math.isfinite(value):
                text = f"{self._name}: {name} = {value} at t = {self._time:.9g} s is not finite"
                self._say(f"{text}; check what was set last", Fmi2Status.warning)
                return

    def get_integer(self, vrs: list[int]) -> list[int]:
        """Return the values of the given value references."""
        return [self._nearest(vr, "Integer") for vr in vrs]

    def get_boolean(self, vrs: list[int]) -> list[bool]:
        """Return the values of the given value references."""
        return [bool(self._nearest(vr, "Boolean")) for vr in vrs]

    def _known(self, vr: int, kind: str) -> float:
        """Return the value of a variable of a type."""
        self._expect(vr, kind)
        if vr in self._places:
            values, offset = self._places[vr]
            return float(values[offset])
        row = self._rows[vr]
        return float(self._y[row["offset"]]) if row["kind"] == "output" else self._time

    def _nearest(self, vr: int, kind: str) -> int:
        """Return the value of a type that is nearest to that of a variable."""
        if self._stale:
            self._refresh()
        value = self._known(vr, kind)
        found = 0 if math.isnan(value) else round(min(max(value, LEAST[kind]), GREATEST[kind]))
        if not abs(value - found) <= self._whole * max(1, abs(found)):
            text = f"{self._rows[vr]['name']} = {value} is no value of type {kind}, and {_shown(found, kind)} is given"
            self._tell_once("whole", f"{text}; mend its expression")
        return found

    def _expect(self, vr: int, kind: str) -> None:
        """Raise an error if a variable does not exist or is of another type."""
        if vr not in self._rows:
            self._fail(f"{self._name}: {_unknown(vr)}: there is no such variable")
        own = self._rows[vr].get("type", REAL)
        if own != kind:
            name = self._rows[vr]["name"]
            self._fail(f"{self._name}: {name} is of type {own}, not {kind}: use the functions of its type")

    def set_real(self, vrs: list[int], values: list[float]) -> None:
        """Set values; a value that may not be set is refused with a message, and the old one stays."""
        inputs, u, usual = self._inputs, self._u, not self._refused
        least, greatest = -self._largest, self._largest
        for vr, value in zip(vrs, values, strict=True):
            if usual and vr in inputs and least <= value <= greatest:  # an input, without trouble
                u[inputs[vr]] = value
                continue
            usual = self._take(vr, value, REAL) and usual
        self._stale, self._driven = True, None

    def set_integer(self, vrs: list[int], values: list[int]) -> None:
        """Set values; see `set_real`."""
        self._set_whole(vrs, values, "Integer")

    def set_boolean(self, vrs: list[int], values: list[bool]) -> None:
        """Set values; see `set_real`."""
        self._set_whole(vrs, values, "Boolean")

    def _set_whole(self, vrs: list[int], values: Sequence[int], kind: str) -> None:
        for vr, value in zip(vrs, values, strict=True):
            self._take(vr, float(value), kind)
        self._stale, self._driven = True, None

    def _take(self, vr: int, value: float, kind: str) -> bool:
        """Set the value of a variable of a type; return whether it may be set."""
        if vr in self._rows:
            self._expect(vr, kind)
        reason = self._why_not(vr, value)
        name = self._rows[vr]["name"] if vr in self._rows else _unknown(vr)
        if reason:
            status = Fmi2Status.warning if vr in self._rows else Fmi2Status.error
            self._refuse(name, f"{name} = {_shown(value, kind)}: {reason}", status)
            return False
        self._refused.pop(name, None)
        target, offset = self._places[vr]
        target[offset] = value
        if target is self._p:
            self._energy = None  # a parameter may change the energy
            self._retuned = bool(self._bounds)
        return True

    def _refuse(self, name: str, text: str, status: Fmi2Status) -> None:
        """Give a warning or error about a value, which stays refused until a good one replaces it."""
        self._refused[name] = text
        self._say(text, status)

    def _why_not(self, vr: int, value: float) -> str:
        """Return the reason why a value may not be set; an empty text if it may."""
        if vr not in self._rows:
            return "there is no such variable"
        if not math.isfinite(value):
            return "not a finite number; the value before is kept"
        if abs(value) > self._largest:
            return f"larger than {self._largest:g}, beyond which sums and products overflow; the value before is kept"
        if vr not in self._places:
            return "this variable is computed, it cannot be set"
        row, running = self._rows[vr], self._phase >= RUNNING
        if row["kind"] == "output" and running:
            return "a start value cannot be set after initialisation; use reset"
        kind = row.get("type", REAL)
        if running and "fixed" in row and value != self._known(vr, kind):
            return f"a fixed parameter cannot be set after initialisation, as {row['fixed']}"
        least, greatest = row.get("min", -math.inf), row.get("max", math.inf)
        if not least <= value <= greatest:
            return f"outside its bounds [{_shown(least, kind)}, {_shown(greatest, kind)}]"
        return ""

    def _refresh(self) -> str:
        """Compute the outputs for the current values; return a message if that fails, else an empty text."""
        if self._phase < RUNNING:
            x, status = self._kernel.initialize(self._s, self._u, self._p, self._time, self._settings[0])
            self._x = x if status.code == OK else None
            if self._bounds and (broken := self._broken(self._kernel.outputs(x, self._u, self._p, self._time))):
                return broken
            if status.code == STARTS_INSIDE:
                return str(self._facts.message(status))
            if status.code != OK:
                reason = f"{self._facts.remedies['INCONSISTENT_START']} (last correction {status.correction:.2g})"
                return f"{self._name}: no consistent start at t = {self._time:.9g} s: {reason}"
        y, finite = self._kernel.checked_outputs(self._x, self._u, self._p, self._time)
        if self._retuned and (broken := self._broken(y)):
            return broken
        if self._phase < RUNNING and not finite:
            return f"{self._name}: the start values give outputs that are not finite"
        inside = next((gap for gap in self._facts.gaps if y[gap.place] < -CONSISTENT), None)
        if self._phase < RUNNING and inside:
            return (
                f"{self._name}: no consistent start at t = {self._time:.9g} s: {inside.shown(y[inside.place])} is "
                "below 0; change the start values it depends on"
            )
        self._y, self._stale, self._retuned = y, not finite, False
        return ""

    def _broken(self, y: Vector) -> str:
        """Return a message on a calculated parameter that is out of its bounds, if one is."""
        text = first_broken(self._bounds, y)
        return text and f"{self._name}: {text}"

    def _no_text(self, vrs: list[int], values: list[Any] | None = None) -> list[Any]:
        """Raise an error for value references of texts, as no variable is one."""
        if vrs:
            self._fail(f"{self._name}: no variable is of type String")
        return []

    get_string = set_string = _no_text

    # -- life cycle ---------------------------------------------------------------------------------------------

    def setup_experiment(
        self, start_time: float, stop_time: float | None = None, tolerance: float | None = None
    ) -> None:
        """Set the start time."""
        if math.isfinite(start_time):
            self._time = start_time
            self._refused.pop("start time", None)
        else:
            self._refuse("start time", f"start time = {start_time}: not a finite number", Fmi2Status.warning)
        self._stale = True

    def enter_initialization_mode(self) -> None:
        """Do nothing: start values, inputs and parameters may still be set."""
        self._phase = INITIALIZING

    def exit_initialization_mode(self) -> None:
        """Compute the consistent start. An impossible start is the only error that leaves as an exception."""
        problem = "; ".join(self._refused.values()) or self._refresh()
        if problem:
            self._fail(problem)
        self._phase = RUNNING
        if self._energies:
            self._judge_energy(*self._energies(self._y))

    def terminate(self) -> None:
        """End the run: values can still be got, and steps are refused until the instance is reset."""
        if self._phase == RUNNING:
            self._phase = TERMINATED

    def do_step(self, current_time: float, step_size: float) -> bool:
        """Advance by the communication step, in steps of at most solver.step; False discards the step."""
        try:
            problem = self._advance(current_time, step_size)
        except Exception as error:  # noqa: BLE001 - an exception here would end some masters
            problem = f"{self._name}: internal error: {error!r}"
        if problem:
            self._say(problem, Fmi2Status.discard)
            return False
        return True

    def _advance(self, time: float, step_size: float) -> str:
        name, now = self._name, self._time
        if self._phase == TERMINATED:
            return f"{name}: a step after fmi2Terminate; use reset"
        if self._phase != RUNNING:
            return f"{name}: a step before the initialisation is finished"
        if self._retuned and (problem := self._refresh()):
            return problem
        if self._refused:
            return f"{name}: no step while a value is refused: {'; '.join(self._refused.values())}"
        if not 0.0 < step_size < INFINITE:
            return f"{name}: a communication step of {step_size} s is not possible; it must be > 0"
        if not abs(time - now) <= self._step_part * step_size + self._time_part * abs(now):
            return f"{name}: no step from t = {time} s: the FMU stands at t = {now} s, and a step must begin there"
        if not time + step_size > time:
            return (
                f"{name}: a communication step of {step_size} s is below the round-off of the time t = {time} s, which "
                "would stand still; take longer communication steps or an earlier start time"
            )
        longest, tolerance = self._settings
        if step_size / longest > MOST_STEPS:
            return (
                f"{name}: a communication step of {step_size} s takes {step_size / longest:.3g} steps, and at most "
                f"{MOST_STEPS:.3g} are taken at once; take shorter communication steps or a longer solver.step"
            )
        motion = self._motion
        if motion is None:
            motion = self._motion = self._kernel.motion(self._x, self._u, self._du, self._p)
        elif motion.x is not self._x:  # a state was set
            motion.x[:] = self._x
        failure = motion.step(time, step_size, longest, tolerance)
        if failure is not None:
            given = self._x, self._u, self._du, self._p, time, longest, tolerance
            return str(self._facts.explained(self._kernel, failure, *given))
        if self._limit is not None:
            self._judge_step(self._limit, step_size / count(step_size, longest))
        self._x, self._y, self._time, self._stale = motion.x, motion.y, time + step_size, False
        if self._energies:
            self._judge_energy(*self._energies(self._y))
        if self._residual is not None and self._y[self._residual] > DRIFTED:
            remedy = self._facts.remedies["DRIFTED"]
            self._tell_once("residual", f"the constraints are violated by {self._y[self._residual]:.2g}; {remedy}")
        return ""

    def _judge_step(self, limit: float, step: float) -> None:
        """Warn if errors grow in equal steps from where one began; only the first that is done is judged."""
        self._limit = None
        if self._settings[1]:
            return
        longest = self._kernel.longest(self._x, self._u, self._du, self._p, self._time, step)
        if longest < INFINITE:
            self._tell_once("step", too_long(step, longest, limit, "a solver.step"))

    def _judge_energy(self, constant: float, kinetic: float, potential: float) -> None:
        """Warn once if the energy has a noticeable error."""
        if self._undriven and self._driven is None:
            self._driven = any(self._u)
        if self._energy is None or self._driven:
            self._energy = Energy(constant, kinetic, potential, potential)
            return
        self._energy = self._energy.after(constant, kinetic, potential)
        if self._energy.noticed >= PERSISTENT and "energy" not in self._told:
            remedy = self._facts.remedies["ENERGY_CHOSEN" if self._settings[1] else "ENERGY"]
            self._tell_once("energy", self._energy.message(self._constant, constant, remedy))

    def _tell_once(self, what: str, text: str) -> None:
        """Give a warning unless one on the same subject has been given."""
        if what in self._told:
            return
        self._told.add(what)
        self._say(f"{self._name}: {text} (said once, at t = {self._time:.9g} s)", Fmi2Status.warning)

    def _say(self, text: str, status: Fmi2Status) -> None:
        self.log(text.replace("%", "%%"), status)

    def _fail(self, text: str) -> NoReturn:
        """End a call with fmi2Fatal, the one error status pythonfmu has outside do_step."""
        self._hold()
        raise ValueError(text.replace("%", "%%"))

    def _hold(self) -> None:
        """Add references before an exception reaches pythonfmu's binary.

        It drops its own to class, instance and messages then, and drops them again when the instance is freed or
        reset: without one more of each, that corrupts the process.
        """
        for item in (type(self), self, self.log_queue):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(item))

    # -- state --------------------------------------------------------------------------------------------------

    def _get_fmu_state(self) -> bytes:
        """Return everything that the next step depends on, as bytes."""
        x = self._x if self._x is not None else ()
        energy = self._energy or (math.nan,) * len(Energy._fields)
        numbers = [self._time, *self._settings, *self._u, *self._p, *self._s, *energy, *x]
        refused = json.dumps(self._refused).encode("utf-8")
        head = struct.pack(HEAD, FMU.encode()[:32], self._phase, self._stale, len(x), len(refused))
        body = head + struct.pack(f"<{len(numbers)}d", *numbers) + refused
        return body + struct.pack("<I", zlib.crc32(body))

    def _set_fmu_state(self, state: bytes) -> None:
        """Restore a state; a damaged state or one of another FMU is refused and changes nothing."""
        problem = _fault_of(state)
        if problem:
            self._fail(f"{self._name}: {problem}")
        _, phase, stale, n_x, n_text = struct.unpack(HEAD, state[: struct.calcsize(HEAD)])
        end = len(state) - 4 - n_text
        numbers = struct.unpack(f"<{(end - struct.calcsize(HEAD)) // 8}d", state[struct.calcsize(HEAD) : end])
        self._time, *rest = numbers
        for target in (self._settings, self._u, self._p, self._s):
            target[:] = rest[: len(target)]
            rest = rest[len(target) :]
        self._driven = None
        energy, rest = Energy(*rest[: len(Energy._fields)]), rest[len(Energy._fields) :]
        self._energy = None if math.isnan(energy.constant) else energy
        self._x = vector(rest) if n_x or phase >= RUNNING else None
        self._phase, self._stale, self._retuned = phase, bool(stale), bool(self._bounds)
        self._refused = json.loads(state[end : end + n_text].decode("utf-8"))
        if self._x is not None:
            self._y = self._kernel.outputs(self._x, self._u, self._p, self._time)

    @staticmethod
    def _fmu_state_to_bytes(state: bytes) -> bytes:
        return state

    @classmethod
    def _fmu_state_from_bytes(cls, state: bytes) -> bytes:
        problem = _fault_of(state)
        if problem:
            for instance in cls._living:
                instance._hold()
            raise ValueError(problem)
        return bytes(state)


def _unknown(vr: int) -> str:
    """Return a value reference of no variable in words; a large one arrives as a negative number."""
    return f"value reference {vr % 2**32}"


def _shown(value: float, kind: str) -> str:
    """Return a value as its type has it."""
    if kind == REAL:
        return str(value)
    return ("false", "true")[int(value)] if kind == "Boolean" else f"{value:.0f}"


def _fault_of(state: bytes) -> str:
    """Return what is wrong with the bytes of a state; an empty text if nothing is."""
    size = struct.calcsize(HEAD)
    if len(state) < size + 4 or struct.unpack("<I", state[-4:])[0] != zlib.crc32(state[:-4]):
        return "the state is damaged"
    owner = struct.unpack(HEAD, state[:size])[0].rstrip(b"\0")
    return "" if owner == FMU.encode()[:32] else "the state belongs to another FMU"


def _load(resources: str) -> Compiled | Interpreted:
    """Return the kernel compiled for this platform if the FMU carries one, else the interpreted one."""
    name = {"linux": "kernel_linux64.so", "win32": "kernel_win64.dll", "darwin": "kernel_darwin64.dylib"}
    library = os.path.join(resources, name.get(sys.platform, ""))
    if os.path.isfile(library):
        try:
            return Compiled(library)
        except OSError:
            pass  # made for another processor: the interpreted kernel runs anywhere
    with open(os.path.join(resources, "kernel.json"), encoding="utf-8") as file:
        description = json.load(file)
    try:
        return Interpreted(description)
    except ImportError:
        raise ImportError(
            "this FMU carries no compiled kernel for this platform and the Python here has no casadi: "
            "python -m pip install casadi"
        ) from None

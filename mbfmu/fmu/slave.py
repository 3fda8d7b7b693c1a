"""The FMU's inside: a pythonfmu slave around a kernel.

This file is packed into every FMU under a name of its own, beside `runtime`; it needs only the standard library and
the pythonfmu runtime that travels in the FMU. What pythonfmu does by itself and what a master makes of it decides
the form here: an exception that leaves `do_step` ends some masters, a return value of None is taken for a discarded
step, a percent sign in a message is read as a format, and the state has to be complete.
"""

import ctypes
import json
import math
import os
import struct
import sys
import zlib
from collections.abc import Callable
from operator import itemgetter
from typing import Any, NoReturn

from pythonfmu import Fmi2Slave
from pythonfmu.enums import Fmi2Status

from mbfmu.kernel.runtime import OK, Compiled, Interpreted, Vector, vector

FMU = "unpacked"
"""Identity of the FMU this file is packed in; export writes it here. States of other FMUs are refused by it."""

INSTANTIATED, INITIALIZING, RUNNING = range(3)
LARGEST = 1e100
"""Of the values that may be set."""
MOST_STEPS = 1_000_000_000
"""Of the stepper in one communication step; more would not end, or not fit the kernel's counter."""


class MultibodySlave(Fmi2Slave):  # type: ignore[misc]
    """One instance: values of all variables, the state x, and the kernel that advances it."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        while self.resources in sys.path:  # pythonfmu leaves one entry an instance
            sys.path.remove(self.resources)
        with open(os.path.join(self.resources, "model.json"), encoding="utf-8") as file:
            model = json.load(file)
        self._model = model
        self._kernel = _load(self.resources)
        self._u: Vector = vector(model["u"])
        self._du = vector([0.0] * model["n_u"])
        self._p = vector(model["p"])
        self._s = vector(model["s"])
        self._step = float(model["step"])
        self._tolerance = float(model["tolerance"])
        self._y = vector([0.0] * model["n_y"])
        self._x = None
        self._time = 0.0
        self._phase = INSTANTIATED
        self._stale = True  # values have changed since outputs were computed
        self._refused: dict[str, str] = {}  # name of a variable -> why its last value was not taken
        self._first_p = 1 + model["n_u"]
        self._solver_step = self._first_p + model["n_p"]
        self._solver_tolerance = self._solver_step + 1
        self._first_y = self._solver_tolerance + 1
        self._asked: list[int] = []  # the value references of the last get_real, and how to get them at once
        self._pick: Callable[[Vector], tuple[float, ...]] | None = None
        self._start_of = {reference: number for number, reference in enumerate(model["starts"])}

    # -- values -------------------------------------------------------------------------------------------------

    def get_real(self, vrs: list[int]) -> list[float]:
        """Return the values of the given value references."""
        if self._stale:
            self._refresh()
        if self._pick and vrs == self._asked:  # the same outputs as before: the usual case, and it is often
            return list(self._pick(self._y))
        first = self._first_y
        if vrs and not (min(vrs) >= 0 and max(vrs) < first + len(self._y)):  # large ones arrive as negative numbers
            self._fail(f"{self._model['name']}: value references {vrs}: one is not in the description")
        many = len(vrs) > 1 and min(vrs) >= first
        self._asked, self._pick = list(vrs), itemgetter(*(vr - first for vr in vrs)) if many else None
        return [self._y[vr - first] if vr >= first else self._known(vr) for vr in vrs]

    def _known(self, vr: int) -> float:
        if vr == self._solver_tolerance:
            return self._tolerance
        if vr == self._solver_step:
            return self._step
        if vr >= self._first_p:
            return float(self._p[vr - self._first_p])
        return float(self._u[vr - 1]) if vr else self._time

    def set_real(self, vrs: list[int], values: list[float]) -> None:
        """Take values; one that may not be taken is refused with a message, and the old one stays."""
        first_p, u = self._first_p, self._u
        usual = not self._refused
        for vr, value in zip(vrs, values, strict=True):
            if usual and 0 < vr < first_p and -LARGEST <= value <= LARGEST:  # an input, without trouble
                u[vr - 1] = value
                continue
            reason = self._why_not(vr, value)
            name = self._model["names"].get(str(vr), f"value reference {vr}")
            if reason:
                self._refused[name] = f"{name} = {value}: {reason}"
                self._say(self._refused[name], Fmi2Status.error)
                usual = False
                continue
            self._refused.pop(name, None)
            if vr < self._first_p:
                self._u[vr - 1] = value
            elif vr < self._solver_step:
                self._p[vr - self._first_p] = value
            elif vr == self._solver_step:
                self._step = value
            elif vr == self._solver_tolerance:
                self._tolerance = value
            else:
                self._s[self._start_of[vr]] = value
        self._stale = True

    def _why_not(self, vr: int, value: float) -> str:
        """Return why a value may not be set, empty if it may."""
        if not 0 <= vr < self._first_y + len(self._y):  # pythonfmu hands over large ones as negative numbers
            return "there is no such variable"
        if not math.isfinite(value):
            return "not a finite number; the value before is kept"
        if abs(value) > LARGEST:
            return f"larger than {LARGEST:g}, beyond which sums and products overflow; the value before is kept"
        if vr == 0 or (vr >= self._first_y and vr not in self._start_of):
            return "this variable is computed, it cannot be set"
        if vr >= self._first_y and self._phase == RUNNING:
            return "a start value cannot be set after initialisation; use reset"
        if self._first_p <= vr <= self._solver_tolerance:
            number = vr - self._first_p
            tunable, least, greatest = self._model["bounds"][number]
            if self._phase == RUNNING and not tunable and value != self._known(vr):
                return "a fixed parameter cannot be set after initialisation; use reset"
            if not _number(least, -math.inf) <= value <= _number(greatest, math.inf):
                return f"outside its bounds [{_number(least, -math.inf)}, {_number(greatest, math.inf)}]"
        return ""

    def _refresh(self) -> str:
        """Compute the outputs that belong to the present values."""
        if self._phase != RUNNING:
            x, status = self._kernel.initialize(self._s, self._u, self._p, self._time, self._step)
            self._x = x if status.code == OK else None
            if status.code != OK:
                return (
                    f"{self._model['name']}: no consistent start at t = {self._time:.9g} s: start values contradict "
                    f"the constraints, or the parameters leave a loop open (last correction {status.correction:.2g})"
                )
        y, finite = self._kernel.checked_outputs(self._x, self._u, self._p, self._time)
        if self._phase != RUNNING and not finite:
            return f"{self._model['name']}: the start values give outputs that are not finite"
        self._y, self._stale = y, False
        return ""

    def _other_type(self, vrs: list[int], values: list[Any] | None = None) -> list[Any]:
        """Refuse value references of a type no variable has."""
        if vrs:
            self._fail(f"{self._model['name']}: all variables are real numbers")
        return []

    get_integer = get_boolean = get_string = set_integer = set_boolean = set_string = _other_type

    # -- life cycle ---------------------------------------------------------------------------------------------

    def setup_experiment(
        self, start_time: float, stop_time: float | None = None, tolerance: float | None = None
    ) -> None:
        """Take the start time."""
        if math.isfinite(start_time):
            self._time = start_time
        else:
            self._refused["start time"] = f"start time = {start_time}: not a finite number"
        self._stale = True

    def enter_initialization_mode(self) -> None:
        """Start values, inputs and parameters may still be set."""
        self._phase = INITIALIZING

    def exit_initialization_mode(self) -> None:
        """Find the consistent start. An impossible one is the only error that leaves as an exception."""
        problem = "; ".join(self._refused.values()) or self._refresh()
        if problem:
            self._fail(problem)
        self._phase = RUNNING

    def do_step(self, current_time: float, step_size: float) -> bool:
        """Advance by the communication step, in steps of at most solver.step; False discards the step."""
        try:
            problem = self._advance(current_time, step_size)
        except Exception as error:  # noqa: BLE001 - an exception here would end some masters
            problem = f"{self._model['name']}: internal error: {error!r}"
        if problem:
            self._say(problem, Fmi2Status.discard)
            return False
        return True

    def _advance(self, time: float, step_size: float) -> str:
        name = self._model["name"]
        if self._phase != RUNNING:
            return f"{name}: a step before the initialisation is finished"
        if self._refused:
            return f"{name}: no step while a value is refused: {'; '.join(self._refused.values())}"
        if not (step_size > 0 and math.isfinite(step_size) and math.isfinite(time)):
            return f"{name}: a communication step of {step_size} s from t = {time} s is not possible; it must be > 0"
        count = step_size / self._step
        if count > MOST_STEPS:
            return f"{name}: a communication step of {step_size} s needs {count:.3g} steps; take a longer solver.step"
        x, y, failure = self._kernel.communicate(
            self._x, self._u, self._du, self._p, time, step_size, self._step, self._tolerance
        )
        if failure is not None:
            return str(failure.message(name))
        self._x, self._y, self._time, self._stale = x, y, time + step_size, False
        return ""

    def _say(self, text: str, status: Fmi2Status) -> None:
        self.log(text.replace("%", "%%"), status)

    def _fail(self, text: str) -> NoReturn:
        """End a call with fmi2Fatal, the one error status pythonfmu has outside do_step.

        Its binary drops its references to class, instance and messages when an exception reaches it, and drops them
        again when the instance is freed or reset: without one more reference to each, that corrupts the process.
        """
        for item in (type(self), self, self.log_queue):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(item))
        raise ValueError(text.replace("%", "%%"))

    # -- state --------------------------------------------------------------------------------------------------

    def _get_fmu_state(self) -> bytes:
        """Return everything that the next step depends on, as bytes."""
        x = self._x if self._x is not None else ()
        numbers = [self._time, self._step, self._tolerance, *self._u, *self._p, *self._s, *x]
        refused = json.dumps(self._refused).encode("utf-8")
        head = struct.pack("<32sBBII", FMU.encode()[:32], self._phase, self._stale, len(x), len(refused))
        body = head + struct.pack(f"<{len(numbers)}d", *numbers) + refused
        return body + struct.pack("<I", zlib.crc32(body))

    def _set_fmu_state(self, state: bytes) -> None:
        """Go back to a state; one of another FMU or a damaged one is refused and changes nothing."""
        size = struct.calcsize("<32sBBII")
        if len(state) < size + 4 or struct.unpack("<I", state[-4:])[0] != zlib.crc32(state[:-4]):
            self._fail(f"{self._model['name']}: the state is damaged")
        owner, phase, stale, n_x, n_text = struct.unpack("<32sBBII", state[:size])
        if owner.rstrip(b"\0") != FMU.encode()[:32]:
            self._fail(f"{self._model['name']}: the state belongs to another FMU")
        end = len(state) - 4 - n_text
        numbers = struct.unpack(f"<{(end - size) // 8}d", state[size:end])
        self._time, self._step, self._tolerance, *rest = numbers
        for target in (self._u, self._p, self._s):
            target[:] = rest[: len(target)]
            rest = rest[len(target) :]
        self._x = vector(rest) if n_x or phase == RUNNING else None
        self._phase, self._stale = phase, bool(stale)
        self._refused = json.loads(state[end : end + n_text].decode("utf-8"))
        if self._x is not None:
            self._y = self._kernel.outputs(self._x, self._u, self._p, self._time)

    @staticmethod
    def _fmu_state_to_bytes(state: bytes) -> bytes:
        return state

    @staticmethod
    def _fmu_state_from_bytes(state: bytes) -> bytes:
        return bytes(state)


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


def _number(value: float | None, missing: float) -> float:
    return missing if value is None else value

"""The slave inside an FMU: a class for pythonfmu around the library of shell.c, the core of native FMUs.

This file is packed into every FMU under a name of its own, beside `loader`; it needs only the standard library and the
pythonfmu runtime that is packed in the FMU. The behaviour of pythonfmu and of masters explains its form: an exception
that leaves `do_step` ends some masters, a return value of None is taken for a discarded step, a percent sign in a
message is read as a format, and the state has to be complete.
"""

import _ctypes
import ctypes
import os
import platform
import sys
import weakref
from collections.abc import Sequence
from functools import partial
from math import inf
from struct import Struct
from typing import Any, ClassVar, NoReturn

from pythonfmu import Fmi2Slave
from pythonfmu.enums import Fmi2Status

from mbfmu.fmu.loader import end_once

SETTINGS: tuple[float, ...] = ()
"""Defaults of the variables of the solver, written by export."""

LIBRARIES = {"linux": "linux64.so", "win32": "win64.dll", "darwin": "darwin64.dylib"}
"""Names of the libraries in the folder core of the resources, by `sys.platform`."""
DONE, NOTED, DISCARDED, REFUSED = range(4)
"""Outcomes of calls, and severities of messages: enum outcome of core.h."""
STATUS = {NOTED: Fmi2Status.warning, DISCARDED: Fmi2Status.discard}
"""Status of the messages of pythonfmu's log, which errors come by as exceptions."""
LOGGER = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p)
MOST_ROOMS = 1000
"""Number of lists of value references whose room is kept: a master reads and writes a few over and over."""

free_library = getattr(_ctypes, "FreeLibrary", None) or _ctypes.dlclose
"""Function that gives up a library: on Windows a master cannot remove the folder of one that is loaded."""


class Room:
    """The room of the values of some value references, which a function of the core reads or writes.

    Args:
        vrs: the value references.
        kind: the type of the numbers, as the module struct has it.
        function: the function.
        at: address of the instance.
    """

    def __init__(self, vrs: Sequence[int], kind: str, function: Any, at: int) -> None:
        n = len(vrs)
        number: type[Any] = ctypes.c_double if kind == "d" else ctypes.c_int
        self.vrs, self.values = list(vrs), (number * n)()
        self.call = partial(function, at, (ctypes.c_uint * n)(*vrs), n, self.values)
        layout = Struct(f"{n}{kind}")
        self.read, self.write = partial(layout.unpack_from, self.values), partial(layout.pack_into, self.values, 0)


class MultibodySlave(Fmi2Slave):  # type: ignore[misc]
    """One instance: its memory, and the core that works on it."""

    _living: ClassVar["weakref.WeakSet[MultibodySlave]"] = weakref.WeakSet()
    """The instances of this FMU: pythonfmu has the class read the bytes of a state, and does not say for which one."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        while self.resources in sys.path:  # pythonfmu leaves one entry for each instance
            sys.path.remove(self.resources)
        end_once(self.resources)
        try:
            self._core = core = _load(self.resources)
        except ImportError as error:  # of which masters hear with logging on only, and show little even then
            print(f"{self.instance_name}: {error}", file=sys.stderr)
            raise
        weakref.finalize(self, free_library, core._handle).atexit = False
        self._memory = (ctypes.c_double * -(-core.shell_size() // 8))()
        self._at = ctypes.addressof(self._memory)
        self._rooms: dict[tuple[str, tuple[int, ...]], Room] = {}
        self._reason = ""  # the message of the call that is refused
        me: Any = weakref.proxy(self)  # a logger that held the instance would keep it alive
        self._logger = LOGGER(lambda severity, text: me._note(severity, text.decode("utf-8", "replace")))
        core.shell_open(self._at, self._logger, (ctypes.c_double * len(SETTINGS))(*SETTINGS))
        self._read, self._written = self._room("get_real", []), self._room("set_real", [])  # those of the last calls
        self._step = partial(core.shell_step, self._at)
        self._living.add(self)

    # -- values -------------------------------------------------------------------------------------------------

    def get_real(self, vrs: list[int]) -> list[float]:
        """Return the values of the given value references."""
        room = self._read
        if vrs != room.vrs:
            room = self._read = self._room("get_real", vrs)
        if outcome := room.call():
            self._end(outcome)
        return list(room.read())

    def get_integer(self, vrs: list[int]) -> list[int]:
        """Return the values of the given value references."""
        return self._got("get_integer", vrs)

    def get_boolean(self, vrs: list[int]) -> list[bool]:
        """Return the values of the given value references."""
        return list(map(bool, self._got("get_boolean", vrs)))

    def set_real(self, vrs: list[int], values: list[float]) -> None:
        """Set values; a value that may not be set is rejected with a message, and the old one stays."""
        room = self._written
        if vrs != room.vrs:
            room = self._written = self._room("set_real", vrs)
        room.write(*values)
        if outcome := room.call():
            self._end(outcome)

    def set_integer(self, vrs: list[int], values: list[int]) -> None:
        """Set values; see `set_real`."""
        self._put("set_integer", vrs, values)

    def set_boolean(self, vrs: list[int], values: list[bool]) -> None:
        """Set values; see `set_real`."""
        self._put("set_boolean", vrs, values)

    def _got(self, name: str, vrs: list[int]) -> list[int]:
        room = self._room(name, vrs)
        self._end(room.call())
        return list(room.read())

    def _put(self, name: str, vrs: list[int], values: Sequence[int]) -> None:
        room = self._room(name, vrs)
        room.write(*values)
        self._end(room.call())

    def _room(self, name: str, vrs: list[int]) -> Room:
        """Return the room for a function and value references, which is kept."""
        key = name, tuple(vrs)
        if key not in self._rooms:
            if len(self._rooms) >= MOST_ROOMS:
                self._rooms.clear()
            kind = "d" if name.endswith("real") else "i"
            self._rooms[key] = Room(vrs, kind, getattr(self._core, f"shell_{name}"), self._at)
        return self._rooms[key]

    def _no_text(self, vrs: list[int], values: list[Any] | None = None) -> list[Any]:
        """Raise an error for value references of texts, as no variable is one."""
        if vrs:
            self._end(self._core.shell_refuse_texts(self._at))
        return []

    get_string = set_string = _no_text

    # -- life cycle ---------------------------------------------------------------------------------------------

    def setup_experiment(
        self, start_time: float, stop_time: float | None = None, tolerance: float | None = None
    ) -> None:
        """Set the start time, and the stop time if there is one."""
        self._core.shell_start_at(self._at, start_time)
        self._core.shell_stop_at(self._at, inf if stop_time is None else stop_time)

    def enter_initialization_mode(self) -> None:
        """Enter the initialisation: start values, inputs and parameters may still be set."""
        self._core.shell_initialise(self._at)

    def exit_initialization_mode(self) -> None:
        """Compute the consistent start."""
        self._end(self._core.shell_run(self._at))

    def terminate(self) -> None:
        """End the run: values can still be got, and steps are rejected until the instance is reset."""
        self._core.shell_terminate(self._at)

    def do_step(self, current_time: float, step_size: float) -> bool:
        """Advance by the communication step, in steps of at most solver.step; False discards the step."""
        try:
            outcome: int = self._step(current_time, step_size)
            if outcome == REFUSED:  # pythonfmu has no status for an error in a step
                self._note(DISCARDED, self._reason)
            return outcome <= NOTED
        except Exception as error:  # noqa: BLE001 - an exception here would end some masters
            self._note(DISCARDED, f"internal error: {error!r}")
            return False

    # -- messages -----------------------------------------------------------------------------------------------

    def _note(self, severity: int, text: str) -> None:
        """Put a message of the core into the log, or keep it for the exception of the call that is rejected."""
        if severity == REFUSED:
            self._reason = text
        else:
            self.log(text.replace("%", "%%"), STATUS[severity])

    def _end(self, outcome: int) -> None:
        """Raise an error if a call is rejected: fmi2Fatal, the one error status pythonfmu has outside do_step."""
        if outcome == REFUSED:
            self._fail(self._reason)

    def _fail(self, text: str) -> NoReturn:
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
        state = ctypes.create_string_buffer(self._core.shell_state_size())
        self._end(self._core.shell_save(self._at, state))
        return state.raw

    def _set_fmu_state(self, state: bytes) -> None:
        """Restore a state; a damaged state or one of another FMU is rejected and changes nothing."""
        self._end(self._core.shell_restore(self._at, state, len(state)))

    @staticmethod
    def _fmu_state_to_bytes(state: bytes) -> bytes:
        return state

    @classmethod
    def _fmu_state_from_bytes(cls, state: bytes) -> bytes:
        living = list(cls._living)
        if living and living[0]._core.shell_check(living[0]._at, state, len(state)) == REFUSED:
            for instance in living[1:]:
                instance._hold()
            living[0]._fail(living[0]._reason)
        return bytes(state)


def _load(resources: str) -> Any:
    """Return the core's library for this platform.

    Raises:
        ImportError: the FMU carries none that can be loaded here.
    """
    folder, name = os.path.join(resources, "core"), LIBRARIES.get(sys.platform, "")
    try:
        core: Any = ctypes.CDLL(os.path.join(folder, name))
    except OSError as error:
        packed = ", ".join(sorted(os.path.splitext(file)[0] for file in os.listdir(folder)))
        wanted = os.path.splitext(name)[0]
        here = f"{sys.platform} on {platform.machine()}"
        remedy = f"mbfmu export --platform {wanted or 'all'}"
        raise ImportError(f"this FMU has no library for {here}, only for {packed}: {remedy} ({error})") from None
    pointer, size, real = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_double
    arguments: dict[str, list[Any]] = {
        "open": [LOGGER, pointer], "start_at": [real], "stop_at": [real], "initialise": [], "run": [], "terminate": [],
        "step": [real, real], "refuse_texts": [], "save": [pointer], "check": [pointer, size],
        "restore": [pointer, size],
    }  # fmt: skip
    for kind in ("real", "integer", "boolean"):
        arguments[f"get_{kind}"] = arguments[f"set_{kind}"] = [pointer, size, pointer]
    for function, taken in arguments.items():
        getattr(core, f"shell_{function}").argtypes = [pointer, *taken]
    core.shell_size.restype = core.shell_state_size.restype = size
    return core

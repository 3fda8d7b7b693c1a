"""Kernels that differentiate runs: one records its steps and goes back through them, one is followed by tangents."""

import ctypes
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mbfmu.kernel.runtime import Compiled, Status, Vector

Array = npt.NDArray[np.float64]

ROOMS = 4
"""Size of the work vector of tangents of a step, relative to that of the step (see codegen.py)."""


REASONS = ("KNOWN", "UNKNOWN", "GRAZED", "SPLIT")
"""Reasons for which a change may be unknown: a code of tangents.c is an index into them."""


class Unknown(NamedTuple):
    """A reason for which the change of a state is unknown.

    Args:
        reason: one of the `REASONS`: a formula has none; a guard only touches zero; two events come at once, but not
            after a change.
        time: of the event, s; 0 if it is none.
        guard: number of the guard that fell there.
    """

    reason: str
    time: float
    guard: int


class StepWeights(NamedTuple):
    """StepWeights of what a step begins with, from those of its end.

    Args:
        x: of the state.
        u: of the inputs at the time from which steps are counted, then of their time derivatives.
        p: of the parameters.
    """

    x: Vector
    u: Vector | int
    p: Vector


class Change(NamedTuple):
    """A change of what a span begins with.

    Args:
        u: of the inputs at its beginning.
        du: of their time derivatives.
        p: of the parameters.
        x: of the state.
    """

    u: Vector
    du: Vector
    p: Vector
    x: Vector


def address(array: Array, first: int = 0) -> int:
    """Return the address of an entry of an array in one piece, which stands for the vector from there on.

    The array must last as long as the address is used.
    """
    return int(array.ctypes.data) + array.itemsize * first


class Recording(Compiled):
    """A kernel with adjoints in a shared library; see gradient.c for its functions.

    Weights of inputs and parameters are added to what their vectors hold, and those of the state change in place. What
    is taken as an address may lie in an array, see `address`.

    Args:
        path: path of the library.

    Attributes:
        record_size: number of entries of a recorded step.

    Raises:
        OSError: the library cannot be loaded on this machine.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        library = ctypes.CDLL(path)
        pointer: Any = ctypes.c_void_p
        real: Any = ctypes.c_double
        sizes = (ctypes.c_longlong * 2)()
        library.mbfmu_record_sizes(sizes)
        self.record_size, n_work = sizes
        self._room = (ctypes.c_double * n_work)()
        self._record = library.mbfmu_record
        self._record.argtypes = [pointer] * 4 + [real, real] + [ctypes.c_longlong] * 2 + [pointer] * 4
        self._record_adjoint = library.mbfmu_record_adjoint
        self._record_adjoint.argtypes = [pointer] * 4 + [real, real] + [ctypes.c_longlong] * 2 + [pointer] * 4
        self._initialize_adjoint = library.mbfmu_initialize_adjoint
        self._initialize_adjoint.argtypes = [pointer] * 4 + [real, real] + [pointer] * 5
        self._outputs_adjoint = library.mbfmu_outputs_adjoint
        self._outputs_adjoint.argtypes = [pointer] * 3 + [real] + [pointer] * 5
        self._outputs_adjoint.restype = None

    def record(
        self, x: Vector, u: Vector, du: Vector, p: Vector, t: float, h: float, first: int, end: int, record: int
    ) -> tuple[Vector, Status]:
        """Return the state after the steps `first` to `end` - 1, and how it went.

        Args:
            x: the state before these steps.
            u: inputs at time t.
            du: their time derivatives.
            p: parameters.
            t: time from which steps are counted, s.
            h: length of a step, s.
            first: number of the first of these steps.
            end: number after that of the last one.
            record: address that the steps are written to, each with `record_size` entries.
        """
        x1 = self._state()
        self._record(x, u, du, p, t, h, first, end, record, x1, self._status, self._work)
        return x1, self._read_status()

    def record_adjoint(
        self,
        record: int,
        u: Vector,
        du: Vector,
        p: Vector,
        t: float,
        h: float,
        first: int,
        end: int,
        weights: StepWeights,
    ) -> int:
        """Turn weights of the state after recorded steps into those before them; return a code of `runtime.CODES`.

        Args:
            record: as for `record`.
            u: as for `record`.
            du: as for `record`.
            p: as for `record`.
            t: as for `record`.
            h: as for `record`.
            first: as for `record`.
            end: as for `record`.
            weights: those of the state are turned, those of inputs and parameters are added to.
        """
        return int(self._record_adjoint(record, u, du, p, t, h, first, end, *weights, self._room))

    def initialize_adjoint(
        self, s: Vector, u: Vector, p: Vector, t: float, h: float, wx: Vector, wu: Vector | int, wp: Vector
    ) -> tuple[Vector, int]:
        """Return the weights of the start values, from those of their state, and a code; see `record_adjoint`."""
        ws = (ctypes.c_double * self.ns)()
        code = self._initialize_adjoint(s, u, self._no_rate, p, t, h, wx, ws, wu, wp, self._room)
        return ws, int(code)

    def outputs_adjoint(
        self, x: Vector | int, u: Vector, p: Vector, t: float, wy: int, wx: Vector, wu: Vector | int, wp: Vector
    ) -> None:
        """Add to the weights of state, inputs and parameters, from those of the outputs."""
        self._outputs_adjoint(x, u, p, t, wy, wx, wu, wp, self._work)


class Following(Compiled):
    """A kernel with tangents in a shared library; see derivatives.c and follow.c for its functions.

    Args:
        path: path of the library.

    Raises:
        OSError: the library cannot be loaded on this machine.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        library = ctypes.CDLL(path)
        pointer: Any = ctypes.c_void_p
        real: Any = ctypes.c_double
        self._room = (ctypes.c_double * (ROOMS * len(self._work)))()
        self._initialize_tangent = library.mbfmu_initialize_tangent
        self._initialize_tangent.argtypes = [pointer] * 4 + [real, real] + [pointer] * 5
        self._follow = library.mbfmu_follow
        self._follow.argtypes = [pointer] * 4 + [real] * 4 + [pointer] * 6
        self._outputs_tangent = library.mbfmu_outputs_tangent
        self._outputs_tangent.argtypes = [pointer] * 3 + [real] + [pointer] * 5
        self._outputs_tangent.restype = None

    def initialize_tangent(
        self, s: Vector, u: Vector, p: Vector, t: float, h: float, ss: Vector, su: Vector, sp: Vector
    ) -> tuple[Vector, Unknown | None]:
        """Return the change of the state of a start, for those of start values, inputs and parameters; see `follow`."""
        sx = self._state()
        known = self._initialize_tangent(s, u, self._no_rate, p, t, h, ss, su, sp, sx, self._room)
        return sx, None if known else Unknown("UNKNOWN", t, 0)

    def follow(
        self, x: Vector, u: Vector, du: Vector, p: Vector, t: float, H: float, h_max: float, tol: float, change: Change
    ) -> tuple[Vector, Unknown | None]:
        """Return the change of the state over the span H, and a reason if it is unknown.

        Args:
            x: as for `communicate`.
            u: as for `communicate`.
            du: as for `communicate`.
            p: as for `communicate`.
            t: as for `communicate`.
            H: as for `communicate`.
            h_max: as for `communicate`.
            tol: as for `communicate`.
            change: the change that is followed.
        """
        state, where = self._state(*change.x), (ctypes.c_double * 2)()
        changes = change.u, change.du, change.p, state
        reason = self._follow(x, u, du, p, t, H, h_max, tol, *changes, where, self._room)
        return state, Unknown(REASONS[reason], where[0], int(where[1])) if reason else None

    def outputs_tangent(self, x: Vector, u: Vector, p: Vector, t: float, sx: Vector, su: Vector, sp: Vector) -> Vector:
        """Return the change of the outputs, for changes of the state, the inputs and the parameters."""
        sy = self._shown()
        self._outputs_tangent(x, u, p, t, sx, su, sp, sy, self._room)
        return sy

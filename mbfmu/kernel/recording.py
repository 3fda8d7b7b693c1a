"""A kernel that records its steps and goes back through them, for gradients of runs."""

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from mbfmu.kernel.runtime import Compiled, Status, Vector

Array = npt.NDArray[np.float64]


class Recording(Compiled):
    """A kernel with adjoints in a shared library; see gradient.c for its functions.

    Weights of inputs and parameters are added to what the arrays hold; all arrays are of doubles, in one piece.

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
        library.mbfmu_record_size.restype = ctypes.c_longlong
        self.record_size = int(library.mbfmu_record_size())
        self._record = library.mbfmu_record
        self._record.argtypes = [pointer] * 4 + [real, real, ctypes.c_longlong] + [pointer] * 4
        self._record_adjoint = library.mbfmu_record_adjoint
        self._record_adjoint.argtypes = [pointer] * 4 + [real, real, ctypes.c_longlong] + [pointer] * 4
        self._initialize_adjoint = library.mbfmu_initialize_adjoint
        self._initialize_adjoint.argtypes = [pointer] * 4 + [real, real] + [pointer] * 5
        self._outputs_adjoint = library.mbfmu_outputs_adjoint
        self._outputs_adjoint.argtypes = [pointer] * 3 + [real] + [pointer] * 5
        self._outputs_adjoint.restype = None

    def record(
        self, x: Vector, u: Vector, du: Vector, p: Vector, t: float, h: float, record: Array
    ) -> tuple[Vector, Status]:
        """Return the state after a step of length h for each row of a record, and how it went.

        Args:
            x: the state at time t.
            u: inputs at time t.
            du: their time derivatives.
            p: parameters.
            t: s.
            h: s.
            record: what the steps write, shape (n, record_size).
        """
        x1 = self._state()
        self._record(x, u, du, p, t, h, len(record), record.ctypes.data, x1, self._status, self._work)
        return x1, self._read_status()

    def record_adjoint(
        self, record: Array, u: Vector, du: Vector, p: Vector, t: float, h: float, wx: Array, wu: Array, wp: Array
    ) -> int:
        """Turn weights of the state after recorded steps into those before them; return a code of `runtime.CODES`.

        Args:
            record: the steps, shape (n, record_size).
            u: as for `record`.
            du: as for `record`.
            p: as for `record`.
            t: as for `record`.
            h: as for `record`.
            wx: weights of the state, which change, shape (n_x,).
            wu: weights of the inputs, shape (n_u,).
            wp: weights of the parameters, shape (n_p,).
        """
        addresses = (item.ctypes.data for item in (wx, wu, wp))
        return int(self._record_adjoint(record.ctypes.data, u, du, p, t, h, len(record), *addresses, self._work))

    def initialize_adjoint(
        self, s: Vector, u: Vector, p: Vector, t: float, h: float, wx: Array, wu: Array, wp: Array
    ) -> tuple[Array, int]:
        """Return the weights of the start values, shape (n_s,), from those of their state, and a code."""
        ws = np.zeros(self.ns)
        addresses = (item.ctypes.data for item in (wx, ws, wu, wp))
        code = self._initialize_adjoint(s, u, self._no_rate, p, t, h, *addresses, self._work)
        return ws, int(code)

    def outputs_adjoint(
        self, x: Vector, u: Vector, p: Vector, t: float, wy: Array, wx: Array, wu: Array, wp: Array
    ) -> None:
        """Add to the weights of state, inputs and parameters, from those of the outputs, shape (n_y,)."""
        addresses = (item.ctypes.data for item in (wy, wx, wu, wp))
        self._outputs_adjoint(x, u, p, t, *addresses, self._work)

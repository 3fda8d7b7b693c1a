"""Running a kernel, which is a compiled library.

Its functions are pure; vectors are ctypes arrays of doubles and are never changed in place.

    initialize(s, u, p, t, h)        -> x, status     consistent state of the start values s at time t
    advance(x, u, du, p, t, h, n)    -> x1, status    n steps of length h; on failure x1 is x
    control(x, u, du, p, t, H, h_max, tol, most) -> x1, status    over H, steps chosen for the tolerance
    outputs(x, u, p, t)              -> y
    communicate(x, u, du, p, t, H, h_max, tol) -> x1, y, None    a communication step in one call; or x, None, status
    longest(x, u, du, p, t, h)       -> step          from x on at which errors do not grow; inf: h is no longer
    error(errors, n, usual, amounts, worst, when) -> value    the error of a run, see errors.py
"""

import ctypes
import math
import struct
from collections.abc import Iterable
from typing import Any, NamedTuple

from mbfmu.kernel.limits import (
    CLOSE,
    MOST_STEPS,
    NOTICEABLE,
    UNNOTICED,
)

CODES = (
    "OK",
    "NOT_CONVERGED",
    "NOT_FINITE",
    "INCONSISTENT_START",
    "NOT_ACCURATE",
    "OUTPUTS_NOT_FINITE",
    "UNFINISHED",
    "NO_PERIOD",
    "MANY_EVENTS",
    "STARTS_INSIDE",
    "EVENT",
)
"""Outcomes of a call; a code is an index into them."""
(
    OK,
    NOT_CONVERGED,
    NOT_FINITE,
    INCONSISTENT_START,
    NOT_ACCURATE,
    OUTPUTS_NOT_FINITE,
    UNFINISHED,
    NO_PERIOD,
    MANY_EVENTS,
    STARTS_INSIDE,
    EVENT,
) = range(len(CODES))

Vector = Any
"""A ctypes array of c_double."""


class Status(NamedTuple):
    """The outcome of a call, with counts as doubles, as the kernel returns them.

    Args:
        code: one of the CODES.
        iterations: number of all corrections.
        correction: size of the last correction (m, rad); after an inconsistent start the residual; after a start inside
            a gap how far; after too many events the number of the guard that fell.
        time: start of the last substep tried, s; of an unfinished call the time that x1 belongs to.
        substeps: number of substeps done; after a start inside a gap its number among the guards.
        least_step: the shortest of these substeps, s.
    """

    code: float
    iterations: float
    correction: float
    time: float
    substeps: float
    least_step: float


class Sizes(NamedTuple):
    """The sizes of a kernel: of x, s, u, p, y, status, work and errors; and the order of the stepper."""

    nx: int
    ns: int
    nu: int
    np: int
    ny: int
    status: int
    work: int
    errors: int
    order: int

    @classmethod
    def of(cls, library: ctypes.CDLL) -> "Sizes":
        """Return those of a kernel's library."""
        numbers = (ctypes.c_longlong * len(cls._fields))()
        library.mbfmu_sizes(numbers)
        return cls(*numbers)


class Energy(NamedTuple):
    """The energies of a motion, J, to judge the error of its energy by.

    Args:
        constant: value at that time of the quantity that only errors change.
        kinetic: largest kinetic energy.
        least: least potential energy.
        most: largest potential energy.
    """

    constant: float
    kinetic: float
    least: float
    most: float

    @property
    def exchanged(self) -> float:
        """The energy that the motion exchanges."""
        return self.kinetic + self.most - self.least

    def noticeable(self, constant: float) -> bool:
        """Return whether the error is noticeable where the constant quantity has this value."""
        first, kinetic, least, most = self
        error = abs(constant - first)
        return error > NOTICEABLE * (kinetic + most - least) and error > UNNOTICED * max(abs(least), abs(most))

    def message(self, name: str, constant: float, remedy: str) -> str:
        """Return a sentence on the error.

        Args:
            name: name of the quantity that only errors change.
            constant: its value now.
            remedy: what the user can do.
        """
        error, exchanged = abs(constant - self.constant), self.exchanged
        percent = 100 * error / exchanged if exchanged else math.inf
        part = f"{percent:.3g} % of the {exchanged:.3g} J that the motion exchanges"
        return f"errors of the steps change the energy by {error:.3g} J, {part} (see {name}); {remedy}"


write_span = struct.Struct("4d").pack_into
"""Function that writes the span of a communication step (t, H, h_max, tol) into a vector."""


def vector(values: Iterable[float]) -> Vector:
    """Return a vector of the given numbers."""
    numbers = list(values)
    return (ctypes.c_double * len(numbers))(*numbers)


def move(
    kernel: Any, x: Vector, u: Vector, du: Vector, p: Vector, t: float, span: float, step: float, tolerance: float
) -> tuple[Vector, Status]:
    """Return the state and status after a span, in equal steps of at most `step` or in steps chosen for a tolerance."""
    if tolerance:
        return kernel.control(x, u, du, p, t, span, step, tolerance)  # type: ignore[no-any-return]
    n = fewest_steps(span, step)
    return kernel.advance(x, u, du, p, t, span / n, n)  # type: ignore[no-any-return]


def fewest_steps(span: float, longest: float) -> int:
    """Return the number of steps of equal length, each at most `longest`, that a span takes."""
    return max(1, math.ceil(span / longest * (1 - CLOSE)))


class Compiled:
    """A kernel in a shared library.

    Args:
        path: path of the library.

    Raises:
        OSError: the library cannot be loaded on this machine.
    """

    def __init__(self, path: str) -> None:
        sizes = Sizes.of(self.take(path))
        self.nx, self.ns, self.nu, self.np, self.ny, n_status, n_work, self.n_errors, self.order = sizes
        self._status = (ctypes.c_double * n_status)()
        self._work = (ctypes.c_double * n_work)()
        self._no_rate = (ctypes.c_double * self.nu)()
        self._state, self._shown = ctypes.c_double * self.nx, ctypes.c_double * self.ny
        self._given: tuple[Any, ...] = (None, None, None)  # the vectors u, du, p whose addresses the table holds
        self._span = (ctypes.c_double * 4)()
        fixed = self._status, self._work, self._span
        self._table = (ctypes.c_void_p * 10)(*[None] * 6, *map(ctypes.addressof, fixed), None)
        self._table_at = ctypes.addressof(self._table)

    def take(self, path: str) -> Any:
        """Go on with another library of the same sources, and return it; a call that runs ends with the one it has.

        Raises:
            OSError: the library cannot be loaded on this machine.
        """
        library = ctypes.CDLL(path)
        pointer: Any = ctypes.c_void_p
        real: Any = ctypes.c_double
        for name, arguments in (
            ("initialize", [pointer] * 4 + [real, real] + [pointer] * 3),
            ("advance", [pointer] * 4 + [real, real, ctypes.c_longlong] + [pointer] * 4),
            ("control", [pointer] * 4 + [real] * 4 + [ctypes.c_longlong] + [pointer] * 4),
            ("outputs", [pointer] * 3 + [real] + [pointer] * 2),
            ("communicate", [pointer]),
            ("longest", [pointer] * 4 + [real, real, pointer]),
            ("error", [pointer, ctypes.c_int] + [pointer] * 4),
        ):
            getattr(library, f"mbfmu_{name}").argtypes = arguments
        library.mbfmu_longest.restype = real
        library.mbfmu_error.restype = real
        self._initialize, self._advance = library.mbfmu_initialize, library.mbfmu_advance
        self._control, self._outputs = library.mbfmu_control, library.mbfmu_outputs
        self._communicate, self._longest = library.mbfmu_communicate, library.mbfmu_longest
        self.error = library.mbfmu_error
        self.path = path
        return library

    def initialize(self, s: Vector, u: Vector, p: Vector, t: float, h: float) -> tuple[Vector, Status]:
        """Return the consistent state of the start values and how it went."""
        x = self._state()
        self._initialize(s, u, self._no_rate, p, t, h, x, self._status, self._work)
        return x, self._read_status()

    def advance(
        self, x: Vector, u: Vector, du: Vector, p: Vector, t: float, h: float, n: int, errors: Vector | None = None
    ) -> tuple[Vector, Status]:
        """Return the state after n steps of length h and how it went; their errors are added to those of the run."""
        x1 = self._state()
        code = self._advance(x, u, du, p, t, h, n, x1, self._status, self._work, errors)
        return (x1 if code == OK else x), self._read_status()

    def control(
        self, x: Vector, u: Vector, du: Vector, p: Vector, t: float, H: float, h_max: float, tol: float,
        most: int = MOST_STEPS, errors: Vector | None = None,
    ) -> tuple[Vector, Status]:  # fmt: skip
        """Return the state after the span H, with steps chosen for the tolerance, and how it went.

        The errors of the steps are added to those of the run.
        After `most` steps, those that are repeated included, the call is unfinished: x1 belongs to the status's time.
        """
        x1 = self._state()
        code = self._control(x, u, du, p, t, H, h_max, tol, most, x1, self._status, self._work, errors)
        return (x1 if code in {OK, UNFINISHED} else x), self._read_status()

    def communicate(
        self, x: Vector, u: Vector, du: Vector, p: Vector, t: float, H: float, h_max: float, tol: float,
        errors: Vector | None = None,
    ) -> tuple[Vector, Vector | None, Status | None]:  # fmt: skip
        """Return state and outputs after the span H in steps of at most h_max, chosen if tol > 0; or how it failed.

        The errors of the steps are added to those of the run.
        """
        x1, y, table, address = self._state(), self._shown(), self._table, ctypes.addressof
        seen_u, seen_du, seen_p = self._given
        if u is not seen_u or du is not seen_du or p is not seen_p:
            self._given = u, du, p
            table[1], table[2], table[3] = address(u), address(du), address(p)
        table[0], table[4], table[5] = address(x), address(x1), address(y)
        table[9] = address(errors) if errors else None
        write_span(self._span, 0, t, H, h_max, tol)  # numbers as arguments of the kernel would take longer
        return (x1, y, None) if self._communicate(self._table_at) == OK else (x, None, self._read_status())

    def outputs(self, x: Vector, u: Vector, p: Vector, t: float) -> Vector:
        """Return the outputs."""
        return self.checked_outputs(x, u, p, t)[0]

    def checked_outputs(self, x: Vector, u: Vector, p: Vector, t: float) -> tuple[Vector, bool]:
        """Return the outputs, and whether all are finite."""
        y = self._shown()
        code = self._outputs(x, u, p, t, y, self._work)
        return y, code == OK

    def longest(self, x: Vector, u: Vector, du: Vector, p: Vector, t: float, h: float) -> float:
        """Return the longest step from a state on at which errors do not grow; infinity if h is no longer."""
        return float(self._longest(x, u, du, p, t, h, self._work))

    def _read_status(self) -> Status:
        return Status._make(self._status)

"""Running a kernel: from a compiled library, or interpreted by CasADi.

This file is packed into every FMU, so with a compiled kernel it needs nothing but the standard library. Both kernels
have the same pure functions; vectors are ctypes arrays of doubles and are never changed in place, but for those that a
`Motion` owns.

    initialize(s, u, p, t, h)        -> x, status     consistent state of the start values s at time t
    advance(x, u, du, p, t, h, n)    -> x1, status    n steps of length h; on failure x1 is x
    control(x, u, du, p, t, H, h_max, tol, most) -> x1, status    over H, steps chosen for the tolerance (if compiled)
    outputs(x, u, p, t)              -> y
    communicate(x, u, du, p, t, H, h_max, tol) -> x1, y, None    a communication step in one call; or x, None, status
    motion(x, u, du, p)              -> Motion        from x on, for many communication steps
    longest(x, u, du, p, t, h)       -> step          from x on at which errors do not grow; inf: h is no longer
"""

import ctypes
import math
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from mbfmu.kernel.limits import (
    CLOSE,
    CONSISTENT,
    HALF_UNIT,
    LOST,
    MAX_CORRECTIONS,
    MAX_HALVINGS,
    MOST_STEPS,
    NOTICEABLE,
    QUICK_CORRECTIONS,
    ROUND_OFF,
    STALLED,
    STALLED_UNITS,
    UNNOTICED,
)

CODES = (
    "OK",
    "NOT_CONVERGED",
    "NOT_FINITE",
    "INCONSISTENT_START",
    "NOT_ACCURATE",
    "OUTPUTS_NOT_FINITE",
    "NOT_COMPILED",
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
    NOT_COMPILED,
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


class Energy(NamedTuple):
    """The energies of a motion since a point of time, J, to judge the error of its energy by.

    Args:
        constant: value at that time of the quantity that only errors change.
        kinetic: largest kinetic energy.
        least: least potential energy.
        most: largest potential energy.
        noticed: number of the last times in a row at which the error was noticeable.
    """

    constant: float
    kinetic: float
    least: float
    most: float
    noticed: float = 0.0

    @property
    def exchanged(self) -> float:
        """The energy that the motion exchanges."""
        return self.kinetic + self.most - self.least

    def after(self, constant: float, kinetic: float, potential: float) -> "Energy":
        """Return the energies with those of a later time."""
        first, greatest, least, most, noticed = found = self
        if kinetic > greatest or not least <= potential <= most:
            greatest = kinetic if kinetic > greatest else greatest  # max and min take longer, and this is often
            least, most = potential if potential < least else least, potential if potential > most else most
            found = Energy(first, greatest, least, most, noticed)
        if found.noticeable(constant):
            return found._replace(noticed=noticed + 1)
        return found._replace(noticed=0.0) if noticed else found

    def noticeable(self, constant: float) -> bool:
        """Return whether the error is noticeable where the constant quantity has this value."""
        first, kinetic, least, most, _ = self
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
    n = count(span, step)
    return kernel.advance(x, u, du, p, t, span / n, n)  # type: ignore[no-any-return]


def count(span: float, longest: float) -> int:
    """Return the number of equal steps, each at most `longest`, that a span takes."""
    return max(1, math.ceil(span / longest * (1 - CLOSE)))


class Compiled:
    """A kernel in a shared library.

    Args:
        path: path of the library.

    Raises:
        OSError: the library cannot be loaded on this machine.
    """

    def __init__(self, path: str) -> None:
        sizes = (ctypes.c_longlong * 7)()
        self.take(path).mbfmu_sizes(sizes)
        self.nx, self.ns, self.nu, self.np, self.ny, n_status, n_work = sizes
        self._status = (ctypes.c_double * n_status)()
        self._work = (ctypes.c_double * n_work)()
        self._no_rate = (ctypes.c_double * self.nu)()
        self._state, self._shown = ctypes.c_double * self.nx, ctypes.c_double * self.ny
        self._given: tuple[Any, ...] = (None, None, None)  # the vectors u, du, p whose addresses the table holds
        self._span = (ctypes.c_double * 4)()
        fixed = self._status, self._work, self._span
        self._table = (ctypes.c_void_p * 9)(*[None] * 6, *map(ctypes.addressof, fixed))
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
            ("advance", [pointer] * 4 + [real, real, ctypes.c_longlong] + [pointer] * 3),
            ("control", [pointer] * 4 + [real] * 4 + [ctypes.c_longlong] + [pointer] * 3),
            ("outputs", [pointer] * 3 + [real] + [pointer] * 2),
            ("communicate", [pointer]),
            ("longest", [pointer] * 4 + [real, real, pointer]),
        ):
            getattr(library, f"mbfmu_{name}").argtypes = arguments
        library.mbfmu_longest.restype = real
        self._initialize, self._advance = library.mbfmu_initialize, library.mbfmu_advance
        self._control, self._outputs = library.mbfmu_control, library.mbfmu_outputs
        self._communicate, self._longest = library.mbfmu_communicate, library.mbfmu_longest
        self.path = path
        return library

    def initialize(self, s: Vector, u: Vector, p: Vector, t: float, h: float) -> tuple[Vector, Status]:
        """Return the consistent state of the start values and how it went."""
        x = self._state()
        self._initialize(s, u, self._no_rate, p, t, h, x, self._status, self._work)
        return x, self._read_status()

    def advance(self, x: Vector, u: Vector, du: Vector, p: Vector, t: float, h: float, n: int) -> tuple[Vector, Status]:
        """Return the state after n steps of length h and how it went."""
        x1 = self._state()
        code = self._advance(x, u, du, p, t, h, n, x1, self._status, self._work)
        return (x1 if code == OK else x), self._read_status()

    def control(
        self, x: Vector, u: Vector, du: Vector, p: Vector, t: float, H: float, h_max: float, tol: float,
        most: int = MOST_STEPS,
    ) -> tuple[Vector, Status]:  # fmt: skip
        """Return the state after the span H, with steps chosen for the tolerance, and how it went.

        After `most` steps, those that are repeated included, the call is unfinished: x1 belongs to the status's time.
        """
        x1 = self._state()
        code = self._control(x, u, du, p, t, H, h_max, tol, most, x1, self._status, self._work)
        return (x1 if code in {OK, UNFINISHED} else x), self._read_status()

    def communicate(
        self, x: Vector, u: Vector, du: Vector, p: Vector, t: float, H: float, h_max: float, tol: float
    ) -> tuple[Vector, Vector | None, Status | None]:
        """Return state and outputs after the span H in steps of at most h_max, chosen if tol > 0; or how it failed."""
        x1, y, table, address = self._state(), self._shown(), self._table, ctypes.addressof
        seen_u, seen_du, seen_p = self._given
        if u is not seen_u or du is not seen_du or p is not seen_p:
            self._given = u, du, p
            table[1], table[2], table[3] = address(u), address(du), address(p)
        table[0], table[4], table[5] = address(x), address(x1), address(y)
        failure = self.step_of(self._table_at, t, H, h_max, tol)
        return (x1, y, None) if failure is None else (x, None, failure)

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

    def motion(self, x: Vector, u: Vector, du: Vector, p: Vector) -> "Motion":
        """Return the motion from a state on."""
        return _CompiledMotion(self, x, u, du, p)

    def table(self, x: Vector, u: Vector, du: Vector, p: Vector, x1: Vector, y: Vector) -> Vector:
        """Return the addresses of all that a communication step reads and writes."""
        vectors = x, u, du, p, x1, y, self._status, self._work, self._span
        return (ctypes.c_void_p * len(vectors))(*map(ctypes.addressof, vectors))

    def step_of(self, table: int, t: float, H: float, h_max: float, tol: float) -> Status | None:
        """Return how the communication step of the table at an address failed, if it did."""
        write_span(self._span, 0, t, H, h_max, tol)  # numbers as arguments of the kernel would take longer
        return None if self._communicate(table) == OK else self._read_status()

    def _read_status(self) -> Status:
        return Status._make(self._status)


class Interpreted:
    """A kernel whose functions CasADi interprets: it needs no compiler, and gives the same numbers to round-off.

    It takes equal steps only, and has no tangents: what driver.c does beyond, it refuses by name.

    Args:
        description: ``sizes`` (nx, ns, nu, np, ny, nqv),
            ``stages`` (place and number of the unknowns of each, for each formula), ``coordinates`` (number of the
            leading entries of x that are coordinates) and ``functions`` (CasADi Functions, or their serialised text, by
            name), as `kernel.describe` gives it.
    """

    def __init__(self, description: Mapping[str, Any]) -> None:
        self.nx, self.ns, self.nu, self.np, self.ny, self._nqv = description["sizes"]
        self._stages, self._coordinates = description["stages"], description["coordinates"]
        self._call = {name: _callable(function) for name, function in description["functions"].items()}
        self._no_rate = (ctypes.c_double * self.nu)()

    def initialize(self, s: Vector, u: Vector, p: Vector, t: float, h: float) -> tuple[Vector, Status]:
        """Return the consistent state of the start values and how it went; gaps and dry friction do not act yet."""
        nothing, counts = (ctypes.c_double * self.nx)(), _Counts(t)
        code, found = self._evaluate("start", s, u, self._no_rate, p, t, h, counts)
        if code == OK:
            counts.correction = found[self._nqv]
            if not found[self._nqv] <= CONSISTENT:
                code = INCONSISTENT_START
        if code != OK:
            return nothing, counts.status(code)
        residual = counts.correction
        code, x = self._evaluate("begin", vector(found[: self._nqv]), u, self._no_rate, p, t, h, counts)
        counts.correction = residual
        if code == OK and not all(map(math.isfinite, x)):
            code = NOT_FINITE
        return (vector([*x, 0.0]) if code == OK else nothing), counts.status(code)

    def advance(self, x: Vector, u: Vector, du: Vector, p: Vector, t: float, h: float, n: int) -> tuple[Vector, Status]:
        """Return the state after n steps of length h and how it went; NOT_COMPILED if there are sampled blocks."""
        *now, chosen = x
        whole, counts = 1 << MAX_HALVINGS, _Counts(t, h)
        if self._call.keys() & {"until_sampling", "guards"}:
            return x, counts.status(NOT_COMPILED)
        for k in range(n):
            level, done = 0, 0
            while done < whole:
                part = whole >> level
                dt = k * h + (h * done / whole if done else 0.0)
                small = h * part / whole if level else h
                code, x1 = self._take(now, _later(u, du, dt), du, p, t + dt, small, counts)
                if code != OK:
                    if level == MAX_HALVINGS:
                        return x, counts.status(code)
                    level += 1
                    continue
                counts.took(small)
                now = x1
                done += part
                while level and done % (whole >> (level - 1)) == 0:
                    level -= 1
        return vector([*now, chosen]), counts.status(OK)

    def control(
        self, x: Vector, u: Vector, du: Vector, p: Vector, t: float, H: float, h_max: float, tol: float,
        most: int = MOST_STEPS,
    ) -> tuple[Vector, Status]:  # fmt: skip
        """Return the state as it is and the status NOT_COMPILED: the search for steps is left to compiled kernels."""
        return x, _Counts(t).status(NOT_COMPILED)

    def communicate(
        self, x: Vector, u: Vector, du: Vector, p: Vector, t: float, H: float, h_max: float, tol: float
    ) -> tuple[Vector, Vector | None, Status | None]:
        """Return state and outputs after the span H in steps of at most h_max, chosen if tol > 0; or how it failed."""
        x1, status = move(self, x, u, du, p, t, H, h_max, tol)
        if status.code != OK:
            return x, None, status
        y, finite = self.checked_outputs(x1, _later(u, du, H), p, t + H)
        return (x1, y, None) if finite else (x, None, status._replace(code=OUTPUTS_NOT_FINITE, time=t + H))

    def outputs(self, x: Vector, u: Vector, p: Vector, t: float) -> Vector:
        """Return the outputs."""
        return self._call["outputs"](x[:-1], u, p, [t])[0]

    def checked_outputs(self, x: Vector, u: Vector, p: Vector, t: float) -> tuple[Vector, bool]:
        """Return the outputs, and whether all are finite."""
        y = self.outputs(x, u, p, t)
        return y, all(map(math.isfinite, y))

    def longest(self, x: Vector, u: Vector, du: Vector, p: Vector, t: float, h: float) -> float:
        """Return infinity: the search is left to compiled kernels."""
        return math.inf

    def motion(self, x: Vector, u: Vector, du: Vector, p: Vector) -> "Motion":
        """Return the motion from a state on."""
        return Motion(self, x, u, du, p)

    def _take(self, x: Any, u: Vector, du: Vector, p: Vector, t: float, h: float, counts: "_Counts") -> tuple[int, Any]:
        """Return the code of a step and the state after it."""
        counts.time = t
        code, x1 = self._evaluate("step", x, u, du, p, t, h, counts)
        return (NOT_FINITE if code == OK and not all(abs(value) < LOST for value in x1) else code), x1

    def _evaluate(
        self, name: str, x: Any, u: Vector, du: Vector, p: Vector, t: float, h: float, counts: "_Counts"
    ) -> tuple[int, Vector]:
        """Return the code of a formula's stages and its result."""
        stages = self._stages[name]
        z = (ctypes.c_double * max((place + size for place, size in stages), default=0))()
        arguments = (x, u, du, p, [t], [h], z)
        for k, (place, size) in enumerate(stages):
            guess = self._call[f"{name}_guess{k}"](*arguments)[0]
            z[place : place + size] = guess[:]
            correct = self._call.get(f"{name}_correct{k}")
            if correct is None:  # values that are only computed
                continue
            last, solved = math.nan, False  # the first pass has no rate of convergence
            for number in range(MAX_CORRECTIONS):
                found, (correction,) = correct(*arguments)
                counts.iterations, counts.correction = counts.iterations + 1, correction
                if not math.isfinite(correction):
                    return NOT_FINITE, None
                z[place : place + size] = found[:]
                rounded = name == "step" and number >= QUICK_CORRECTIONS
                solved = at_rest(correction, last, x[: self._coordinates] if rounded else ())
                if solved:
                    break
                last = correction
            if not solved:
                return NOT_CONVERGED, None
        return OK, self._call[f"{name}_result"](*arguments)[0]


class Motion:
    """A state that communication steps carry on.

    Args:
        kernel: takes the steps.
        x: the first state, which is copied.
        u: the inputs at the start of a step; this and the next two are read at every step.
        du: their rates.
        p: the parameters.

    Attributes:
        x: the state, which is overwritten by the step after the next one; its entries may be set.
        y: the outputs there, likewise; None before the first step.
    """

    def __init__(self, kernel: Any, x: Vector, u: Vector, du: Vector, p: Vector) -> None:
        self.x, self.y = vector(x), None
        self._kernel, self._given = kernel, (u, du, p)

    def step(self, t: float, H: float, h_max: float, tol: float) -> Status | None:
        """Go over the span H in steps of at most h_max, chosen if tol > 0; return how it failed, if it did."""
        x, y, failure = self._kernel.communicate(self.x, *self._given, t, H, h_max, tol)
        if failure is None:
            self.x, self.y = x, y
        return failure  # type: ignore[no-any-return]


class _CompiledMotion(Motion):
    """The same, with two places for states and outputs that take turns, as new vectors and addresses take time."""

    def __init__(self, kernel: Compiled, x: Vector, u: Vector, du: Vector, p: Vector) -> None:
        super().__init__(kernel, x, u, du, p)
        here, there = ((state, vector([0.0] * kernel.ny)) for state in (self.x, vector(x)))
        turns = (here[0], there), (there[0], here)
        self._tables = [kernel.table(start, u, du, p, *end) for start, end in turns]
        out, back = map(ctypes.addressof, self._tables)
        self._next, self._later = (out, *there), (back, *here)

    def step(self, t: float, H: float, h_max: float, tol: float) -> Status | None:
        """Go over the span H; see `Motion.step`."""
        table, x, y = self._next
        failure: Status | None = self._kernel.step_of(table, t, H, h_max, tol)
        if failure is None:
            self.x, self.y, self._next, self._later = x, y, self._later, self._next
        return failure


def at_rest(correction: float, last: float, q: Sequence[float]) -> bool:
    """Return whether a correction leaves an error at round-off; last: the one before, NaN for the first.

    The error is estimated by the rate of convergence, and is at round-off if it is no larger than what is lost when the
    coordinates q, m or rad, are rounded, if there are any: those of long chains and of mechanisms far from the origin
    are known no better.
    """
    ratio = correction / last
    if correction <= ROUND_OFF / 10 or _ends(correction, ratio, ROUND_OFF, STALLED):
        return True
    lost = HALF_UNIT * sum(map(abs, q))
    return _ends(correction, ratio, lost, STALLED_UNITS * lost)


def _ends(correction: float, ratio: float, error: float, stalled: float) -> bool:
    """Return whether a correction leaves at most an error, or no longer shrinks and is at most a size."""
    return (ratio < 1 and correction * ratio <= error * (1 - ratio)) or (ratio > 0.5 and correction <= stalled)


class _Counts:
    """Counts of a call, for its status."""

    def __init__(self, time: float, least_step: float = 0.0) -> None:
        self.iterations, self.correction, self.time, self.substeps, self.least_step = 0, 0.0, time, 0, least_step

    def took(self, step: float) -> None:
        self.substeps, self.least_step = self.substeps + 1, min(self.least_step, step)

    def status(self, code: int) -> Status:
        return Status(code, self.iterations, self.correction, self.time, self.substeps, self.least_step)


def _later(u: Vector, du: Vector, dt: float) -> Vector:
    """Return the inputs after a time dt."""
    return vector(a + b * dt for a, b in zip(u, du, strict=True)) if any(du) else u


def _callable(function: Any) -> Callable[..., tuple[Vector, ...]]:
    """Return a function of vectors that evaluates a CasADi Function without converting anything."""
    if isinstance(function, str):
        import casadi

        function = casadi.Function.deserialize(function)
    buffer, run = function.buffer()
    sizes = [function.nnz_out(k) for k in range(function.n_out())]

    def call(*arguments: Vector) -> tuple[Vector, ...]:
        results = tuple((ctypes.c_double * size)() for size in sizes)
        given = [item if isinstance(item, ctypes.Array) else vector(item) for item in arguments]
        for k, item in enumerate(given):
            buffer.set_arg(k, memoryview(item))
        for k, item in enumerate(results):
            buffer.set_res(k, memoryview(item))
        run()
        if buffer.ret():  # a singular solve leaves the results as they were
            for item in results:
                item[:] = [math.nan] * len(item)
        return results

    return call

"""Running a kernel: from a compiled library, or interpreted by CasADi.

This file is packed into every FMU, so with a compiled kernel it needs nothing but the standard library. Both kernels
have the same pure functions; vectors are ctypes arrays of doubles and are never changed in place.

    initialize(s, u, p, t, h)        -> x, status     consistent state of the start values s at time t
    advance(x, u, du, p, t, h, n)    -> x1, status    n steps of length h; on failure x1 is x
    control(x, u, du, p, t, H, h_max, tol) -> x1, status    over the span H, steps chosen for the tolerance
    outputs(x, u, p, t)              -> y
    communicate(x, u, du, p, t, H, h_max, tol) -> x1, y, None    a communication step in one go; or x, None, status
"""

import ctypes
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

OK, NOT_CONVERGED, NOT_FINITE, INCONSISTENT_START, NOT_ACCURATE, OUTPUTS_NOT_FINITE = range(6)

# the same numbers as in driver.c, which says what they mean
MAX_PASSES = 40
ROUND_OFF = 1e-14
STALLED = 1e-9
MAX_HALVINGS = 6
LOST = 1e50
SAFETY = 0.9
WORST = 5.0
SHORTEST = 1e-9
CLOSE = 1e-9
CONSISTENT = 1e-9

Vector = Any
"""A ctypes array of c_double."""


class Status(NamedTuple):
    """How a call went, as the kernel counts it: in doubles.

    Args:
        code: OK, NOT_CONVERGED, NOT_FINITE, INCONSISTENT_START, NOT_ACCURATE or OUTPUTS_NOT_FINITE.
        iterations: corrections made in all.
        correction: size of the last one (m, rad); after an inconsistent start the residual.
        time: s, the start of the last substep tried.
        substeps: substeps done.
        least_step: s, the shortest of them.
    """

    code: float
    iterations: float
    correction: float
    time: float
    substeps: float
    least_step: float

    def message(self, model: str) -> str:
        """Say what failed, where and what to do, in one sentence."""
        where = f"{model}: no step from t = {self.time:.9g} s"
        if self.code == OK:
            return f"{model}: done, {self.iterations:.0f} corrections in {self.substeps:.0f} substeps"
        if self.code == INCONSISTENT_START:
            return f"{model}: the start values contradict the constraints (residual {self.correction:.2g})"
        if self.code == OUTPUTS_NOT_FINITE:
            return f"{model}: outputs at t = {self.time} s are not finite; take a smaller solver.step"
        if self.code == NOT_ACCURATE:
            return f"{where} meets solver.tolerance, however short; take a larger one, or a stepper of higher order"
        if self.code == NOT_FINITE:
            return (
                f"{where}: the solution is no longer finite, even with the step halved {MAX_HALVINGS} times; "
                "check inputs and parameters, take a smaller solver.step, or for stiff forces the stepper 'radau'"
            )
        return (
            f"{where}: the equations did not converge (last correction {self.correction:.2g}), even with the step "
            f"halved {MAX_HALVINGS} times; take a smaller solver.step, smoother inputs, or for stiff forces 'radau'"
        )


def vector(values: Iterable[float]) -> Vector:
    """Return a vector of the given numbers."""
    numbers = list(values)
    return (ctypes.c_double * len(numbers))(*numbers)


def move(
    kernel: Any, x: Vector, u: Vector, du: Vector, p: Vector, t: float, span: float, step: float, tolerance: float
) -> tuple[Vector, Status]:
    """Return the state after a span and how it went: in equal steps of at most `step`, or chosen for a tolerance."""
    if tolerance:
        return kernel.control(x, u, du, p, t, span, step, tolerance)  # type: ignore[no-any-return]
    n = max(1, math.ceil(span / step * (1 - 1e-9)))
    return kernel.advance(x, u, du, p, t, span / n, n)  # type: ignore[no-any-return]


class Compiled:
    """A kernel in a shared library.

    Args:
        path: of the library.

    Raises:
        OSError: the library cannot be loaded here.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        library = ctypes.CDLL(path)
        sizes = (ctypes.c_longlong * 7)()
        library.mbfmu_sizes(sizes)
        self.nx, self.ns, self.nu, self.np, self.ny, n_status, n_work = sizes
        self._status = (ctypes.c_double * n_status)()
        self._work = (ctypes.c_double * n_work)()
        self._no_rate = (ctypes.c_double * self.nu)()
        pointer: Any = ctypes.c_void_p
        real: Any = ctypes.c_double
        self._initialize = library.mbfmu_initialize
        self._initialize.argtypes = [pointer] * 4 + [real, real] + [pointer] * 3
        self._advance = library.mbfmu_advance
        self._advance.argtypes = [pointer] * 4 + [real, real, ctypes.c_longlong] + [pointer] * 3
        self._control = library.mbfmu_control
        self._control.argtypes = [pointer] * 4 + [real] * 4 + [pointer] * 3
        self._outputs = library.mbfmu_outputs
        self._outputs.argtypes = [pointer] * 3 + [real] + [pointer] * 2
        self._communicate = library.mbfmu_communicate
        self._communicate.argtypes = [pointer] + [real] * 4
        self._state, self._shown = ctypes.c_double * self.nx, ctypes.c_double * self.ny
        self._given: tuple[Any, ...] = (None, None, None)  # the vectors u, du, p whose addresses the table holds
        self._table = (pointer * 8)(*[None] * 6, ctypes.addressof(self._status), ctypes.addressof(self._work))
        self._table_at = ctypes.addressof(self._table)

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
        self, x: Vector, u: Vector, du: Vector, p: Vector, t: float, H: float, h_max: float, tol: float
    ) -> tuple[Vector, Status]:
        """Return the state after the span H, with steps chosen for the tolerance, and how it went."""
        x1 = self._state()
        code = self._control(x, u, du, p, t, H, h_max, tol, x1, self._status, self._work)
        return (x1 if code == OK else x), self._read_status()

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
        if self._communicate(self._table_at, t, H, h_max, tol) == OK:
            return x1, y, None
        return x, None, self._read_status()

    def outputs(self, x: Vector, u: Vector, p: Vector, t: float) -> Vector:
        """Return the outputs."""
        return self.checked_outputs(x, u, p, t)[0]

    def checked_outputs(self, x: Vector, u: Vector, p: Vector, t: float) -> tuple[Vector, bool]:
        """Return the outputs, and whether all are finite."""
        y = self._shown()
        code = self._outputs(x, u, p, t, y, self._work)
        return y, code == OK

    def _read_status(self) -> Status:
        return Status._make(self._status)


class Interpreted:
    """A kernel whose functions CasADi interprets: no compiler, the same numbers to round-off.

    Args:
        description: ``order``, ``sizes`` (nx, ns, nu, np, ny, nqv), ``stages`` (sizes, for each formula) and
            ``functions`` (CasADi Functions, or their serialised text, by name), as `kernel.describe` gives it.
    """

    def __init__(self, description: Mapping[str, Any]) -> None:
        self.nx, self.ns, self.nu, self.np, self.ny, self._nqv = description["sizes"]
        self._stages, self._order = description["stages"], description["order"]
        self._call = {name: _callable(function) for name, function in description["functions"].items()}
        self._no_rate = (ctypes.c_double * self.nu)()

    def initialize(self, s: Vector, u: Vector, p: Vector, t: float, h: float) -> tuple[Vector, Status]:
        """Return the consistent state of the start values and how it went."""
        nothing = (ctypes.c_double * self.nx)()
        code, found, work = self._evaluate("start", s, u, self._no_rate, p, t, h)
        if code == OK:
            work[1] = found[self._nqv]
            if not found[self._nqv] <= CONSISTENT:
                code = INCONSISTENT_START
        if code != OK:
            return nothing, Status(code, work[0], work[1], t, 0, 0.0)
        code, x, more = self._evaluate("begin", vector(found[: self._nqv]), u, self._no_rate, p, t, h)
        if code == OK and not all(map(math.isfinite, x)):
            code = NOT_FINITE
        return (x if code == OK else nothing), Status(code, work[0] + more[0], work[1], t, 0, 0.0)

    def advance(self, x: Vector, u: Vector, du: Vector, p: Vector, t: float, h: float, n: int) -> tuple[Vector, Status]:
        """Return the state after n steps of length h and how it went."""
        now, whole, least, substeps, iterations = x, 1 << MAX_HALVINGS, h, 0, 0
        correction, dt = 0.0, 0.0
        for k in range(n):
            level, done = 0, 0
            while done < whole:
                part = whole >> level
                dt = k * h + (h * done / whole if done else 0.0)
                small = h * part / whole if level else h
                inputs = vector(a + b * dt for a, b in zip(u, du, strict=True)) if any(du) else u
                code, x1, work = self._evaluate("step", now, inputs, du, p, t + dt, small)
                iterations, correction = iterations + work[0], work[1]
                if code == OK and not _meaningful(x1):
                    code = NOT_FINITE
                if code != OK:
                    if level == MAX_HALVINGS:
                        return x, Status(code, iterations, correction, t + dt, substeps, least)
                    level += 1
                    continue
                least, substeps, now = min(least, small), substeps + 1, x1
                done += part
                while level and done % (whole >> (level - 1)) == 0:
                    level -= 1
        return now, Status(OK, iterations, correction, t + dt, substeps, least)

    def control(
        self, x: Vector, u: Vector, du: Vector, p: Vector, t: float, H: float, h_max: float, tol: float
    ) -> tuple[Vector, Status]:
        """Return the state after the span H, with steps chosen for the tolerance, and how it went."""
        now, done, h, substeps, iterations, correction = x, 0.0, min(h_max, H), 0, 0, 0.0
        least, start = h, t
        while done < H:
            last = done + h >= H * (1 - CLOSE)
            small, excess = (H - done if last else h), WORST**self._order
            ends: list[Vector] = []
            start, code = t + done, OK
            for begin, part, offset in ((now, small, 0.0), (now, small / 2, 0.0), (None, small / 2, small / 2)):
                inputs = vector(a + b * (done + offset) for a, b in zip(u, du, strict=True)) if any(du) else u
                state = ends[-1] if begin is None else begin
                code, x1, work = self._evaluate("step", state, inputs, du, p, start + offset, part)
                iterations, correction = iterations + work[0], work[1]
                if code == OK and not _meaningful(x1):
                    code = NOT_FINITE
                if code != OK:
                    break
                ends.append(x1)
            if code == OK:
                (apart,) = self._call["distance"](ends[0], ends[2], p, vector([start + small]))[0]
                excess = (
                    0.0 if apart == 0 else apart / (2**self._order - 1) / (tol * small) if tol * small else math.inf
                )
            factor = max(1 / WORST, min(4.0, SAFETY * (excess if excess > 0 else 1e-300) ** (-1.0 / self._order)))
            if code == OK and excess <= 1:
                now, done = ends[2], (H if last else done + small)
                substeps, least = substeps + 1, min(least, small)
            elif small * factor <= SHORTEST * H:
                return x, Status(NOT_ACCURATE if code == OK else code, iterations, correction, start, substeps, least)
            h = min(small * factor, h_max)
        return now, Status(OK, iterations, correction, start, substeps, least)

    def communicate(
        self, x: Vector, u: Vector, du: Vector, p: Vector, t: float, H: float, h_max: float, tol: float
    ) -> tuple[Vector, Vector | None, Status | None]:
        """Return state and outputs after the span H in steps of at most h_max, chosen if tol > 0; or how it failed."""
        x1, status = move(self, x, u, du, p, t, H, h_max, tol)
        if status.code != OK:
            return x, None, status
        inputs = vector(a + b * H for a, b in zip(u, du, strict=True))
        y, finite = self.checked_outputs(x1, inputs, p, t + H)
        return (x1, y, None) if finite else (x, None, status._replace(code=OUTPUTS_NOT_FINITE, time=t + H))

    def outputs(self, x: Vector, u: Vector, p: Vector, t: float) -> Vector:
        """Return the outputs."""
        return self._call["outputs"](x, u, p, vector([t]))[0]

    def checked_outputs(self, x: Vector, u: Vector, p: Vector, t: float) -> tuple[Vector, bool]:
        """Return the outputs, and whether all are finite."""
        y = self.outputs(x, u, p, t)
        return y, all(map(math.isfinite, y))

    def _evaluate(
        self, name: str, x: Vector, u: Vector, du: Vector, p: Vector, t: float, h: float
    ) -> tuple[int, Vector, list[Any]]:
        sizes = self._stages[name]
        z = (ctypes.c_double * sum(sizes))()
        arguments = (x, u, du, p, vector([t]), vector([h]), z)
        iterations, correction, offset = 0, 0.0, 0
        for k, size in enumerate(sizes):
            z[offset : offset + size] = self._call[f"{name}_guess{k}"](*arguments)[0][:]
            last, solved = math.nan, False  # the first pass has no rate of convergence
            for _ in range(MAX_PASSES):
                found, (correction,) = self._call[f"{name}_correct{k}"](*arguments)
                iterations += 1
                if not math.isfinite(correction):
                    return NOT_FINITE, None, [iterations, correction]
                z[offset : offset + size] = found[:]
                ratio = correction / last
                solved = (
                    correction <= ROUND_OFF / 10
                    or (ratio < 1 and correction * ratio <= ROUND_OFF * (1 - ratio))
                    or (ratio > 0.5 and correction <= STALLED)
                )
                if solved:
                    break
                last = correction
            if not solved:
                return NOT_CONVERGED, None, [iterations, correction]
            offset += size
        return OK, self._call[f"{name}_result"](*arguments)[0], [iterations, correction]


def _meaningful(x: Vector) -> bool:
    return all(abs(value) < LOST for value in x)


def _callable(function: Any) -> Callable[..., tuple[Vector, ...]]:
    """Return a function of vectors that evaluates a CasADi Function without converting anything."""
    if isinstance(function, str):
        import casadi

        function = casadi.Function.deserialize(function)
    buffer, run = function.buffer()
    sizes = [function.nnz_out(k) for k in range(function.n_out())]

    def call(*arguments: Vector) -> tuple[Vector, ...]:
        results = tuple((ctypes.c_double * size)() for size in sizes)
        for k, item in enumerate(arguments):
            buffer.set_arg(k, memoryview(item))
        for k, item in enumerate(results):
            buffer.set_res(k, memoryview(item))
        run()
        if buffer.ret():  # a singular solve leaves the results as they were
            for item in results:
                item[:] = [math.nan] * len(item)
        return results

    return call

"""An oracle for kernels: the same functions interpreted by CasADi, which writes no C."""

import ctypes
import math
from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca

from mbfmu.dae.formula import solve_linear
from mbfmu.kernel import Bundle, Status, vector
from mbfmu.kernel.bundle import FormulaFunctions
from mbfmu.kernel.limits import (
    CONSISTENT,
    HALF_UNIT,
    LOST,
    MAX_CORRECTIONS,
    MAX_HALVINGS,
    QUICK_CORRECTIONS,
    ROUND_OFF,
    STALLED,
    STALLED_UNITS,
)
from mbfmu.kernel.runtime import INCONSISTENT_START, NOT_CONVERGED, NOT_FINITE, OK, Vector


class Interpreted:
    """A kernel whose functions CasADi interprets, for starts, equal steps without events, and outputs."""

    def __init__(self, bundle: Bundle) -> None:
        self.nx, self.ns, self.nu, self.np, self.ny = bundle.nx, bundle.ns, bundle.nu, bundle.np, bundle.ny
        self._nqv, formulas = bundle.nqv, bundle.formulas
        self._stages = {name: list(zip(item.places, item.sizes, strict=True)) for name, item in formulas.items()}
        self._coordinates = formulas["step"].coordinates
        self._call = {function.name(): _callable(function) for function in bundle.functions()}
        for name, item in formulas.items():
            if item.decoupled:  # solved here with the Newton matrix of all nodes together
                correct = _coupled(item)
                self._call[f"{name}_correct{item.decoupled.stage}"] = _callable(correct)
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
        """Return the state after n steps of length h and how it went."""
        *now, chosen = x
        whole, counts = 1 << MAX_HALVINGS, _Counts(t, h)
        assert not self._call.keys() & {"until_sampling", "guards"}
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

    def outputs(self, x: Vector, u: Vector, p: Vector, t: float) -> Vector:
        """Return the outputs."""
        return self._call["outputs"](x[:-1], u, p, [t])[0]

    def checked_outputs(self, x: Vector, u: Vector, p: Vector, t: float) -> tuple[Vector, bool]:
        """Return the outputs, and whether all are finite."""
        y = self.outputs(x, u, p, t)
        return y, all(map(math.isfinite, y))

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


def _coupled(item: FormulaFunctions) -> Any:
    """Return Newton's correction of a decoupled stage by the whole matrix, a Function -> (unknowns, its size)."""
    assert item.decoupled
    stage = item.decoupled.stage
    equations, place, size = item.equations[stage], item.places[stage], item.sizes[stage]
    inputs = [ca.MX.sym(f"i{k}", equations.sparsity_in(k)) for k in range(equations.n_in())]
    residual, jacobian = equations(*inputs)
    d = -solve_linear(jacobian, residual)
    unknowns = inputs[-1][place : place + size]
    return ca.Function("coupled", inputs, [unknowns + d, ca.norm_1(d[: item.decoupled.watched])])


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

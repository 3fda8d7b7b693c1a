"""Tangents of a bundle: the exact change of its functions' results with states, inputs and parameters.

Each function of a formula has a tangent ``t_...`` with the arguments (x, u, du, p, t, h, z, sx, su, sp, sz), where the
prefix s marks a small change of a quantity. The tangent of a correction is again a correction, of sz:

    z + d(z)  ->  sz + d_x sx + d_u su + d_p sp + d_z sz      for a stage with a correction of its own
    z - J^-1 r  ->  sz - J^-1 (s(r) - s(J) J^-1 r)      for Newton's method, with J = r_z and s the change of a value

Repeated along the corrections of z, and then with z at rest, it gives the change of the solution. There r vanishes, so
that s(J) is left out. With a fixed number of corrections some r remains, and s(J) is kept. A solution that depends on
the guess, such as that of a start with free values, has a change that depends on the guess too.

Tangents that follow a run have one more argument, (..., sz, sdu), the change of du; where events and sampling
instants shorten steps also (..., sdu, st, sh), the changes of the time at which a step begins and of its length. With
g the guard that falls at the end of a step of length theta, and S the step,

    s(theta) = -(g_x s(S) + g_u s(u) + g_p s(p) + g_t s(t)) / (g_x S_h + g_u u' + g_t),

with s(S) at a given length; from there on the change of the state is s(S) + S_h s(theta), and that of the time is
s(t) + s(theta). The formula of the event and the new beginning take both: they give the saltation matrix (Leine &
Nijmeijer, Dynamics and Bifurcations of Non-Smooth Mechanical Systems, 2004, ch. 7), with the flow of the stepper
instead of that of the equations.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import solve_linear
from mbfmu.dae.linear_algebra.merged import merged, operations
from mbfmu.kernel.bundle import Bundle, FormulaFunctions, with_kept
from mbfmu.stepper.scheme import CALLED, Scheme

CHANGING = (0, 1, 3, 6)
"""Positions of the arguments of a formula's function that change: x, u, p, z."""
FOLLOWED = (*CHANGING, 2)
"""The same where a run is followed: du too."""
TIMED = (*FOLLOWED, 4, 5)
"""The same where also the time t and the length h of a step change, by events and sampling instants."""


@dataclass(frozen=True)
class FormulaDerivatives:
    """The tangents, or the adjoints, of a formula's functions.

    Args:
        guess: one Function for each stage.
        correct: one Function for each stage; None for a `Let` and a `Call`.
        result: Function.
    """

    guess: tuple[Any, ...]
    correct: tuple[Any, ...]
    result: Any

    def functions(self) -> list[Any]:
        """Return all functions."""
        return [*self.guess, *filter(None, self.correct), self.result]


@dataclass(frozen=True)
class Tangents:
    """The tangents of a bundle.

    Args:
        formulas: tangents of each formula, by its name.
        outputs: Function (x, u, p, t, sx, su, sp) -> change of y.
        rates: Function (x, u, du, p, t) -> time derivative of y along the motion; for a solver of its own instead the
            tangent of its rates, (x, u, p, t, sx, su, sp) -> change of the time derivative of [q; v; z].
        drift: that of the way back onto the constraints, in the same way; None without constraints, and for a stepper.
        guards: Function (x, u, p, t, sx, su, sp, st) -> change of the guards, if the time changes too; else None.
        until_sampling: Function (x, p, t, sx, sp, st) -> change of the time until the next sampling, in the same way.
        by_time: of outputs, rates and drift those that depend on the time explicitly, for a change of the time alone:
            Functions (x, u, p, t, st), named ``by_time_`` and the function's name.
    """

    formulas: Mapping[str, FormulaDerivatives]
    outputs: Any
    rates: Any
    drift: Any = None
    guards: Any = None
    until_sampling: Any = None
    by_time: tuple[Any, ...] = ()

    @property
    def timed(self) -> bool:
        """Whether the time changes too, by which events come and steps are taken."""
        return bool(self.guards or self.until_sampling)

    def functions(self) -> list[Any]:
        """Return all functions, each with a name of its own."""
        result = [
            self.outputs,
            self.rates,
            *filter(None, [self.drift, self.guards, self.until_sampling]),
            *self.by_time,
        ]
        return [*result, *(function for item in self.formulas.values() for function in item.functions())]


def tangents(dae: Dae, scheme: Scheme, bundle: Bundle, solved: bool = True) -> Tangents:
    """Return the tangents of a bundle made of equations and a scheme.

    Args:
        dae: the equations.
        scheme: the stepper.
        bundle: the functions made of both.
        solved: whether the step's corrections are repeated until its stages are solved, not a fixed number of times.
    """
    return Tangents(
        formulas={name: _formula(item, solved or name != "step") for name, item in bundle.formulas.items()},
        outputs=_tangent(bundle.outputs, (0, 1, 2)),
        rates=_rates(dae, scheme, bundle.observed),
        by_time=_by_time(bundle.outputs),
    )


def following_tangents(dae: Dae, scheme: Scheme, bundle: Bundle) -> Tangents:
    """Return the tangents of a bundle that follow a run through its sampling instants and events; see `tangents`."""
    changing = TIMED if bundle.guards or bundle.until_sampling else FOLLOWED
    return Tangents(
        formulas={name: _formula(item, True, changing) for name, item in bundle.formulas.items()},
        outputs=_tangent(bundle.outputs, (0, 1, 2)),
        rates=_rates(dae, scheme, bundle.observed),
        guards=bundle.guards and _tangent(bundle.guards, (0, 1, 2, 3)),
        until_sampling=bundle.until_sampling and _tangent(bundle.until_sampling, (0, 1, 2)),
    )


def exchange_tangents(bundle: Bundle) -> Tangents:
    """Return the tangents of a bundle for a solver of its own: those of its start, its outputs and its rates."""
    return Tangents(
        formulas={name: _formula(item, True) for name, item in bundle.formulas.items() if name != "step"},
        outputs=_tangent(bundle.outputs, (0, 1, 2)),
        rates=_tangent(bundle.rates, (0, 1, 2)),
        drift=bundle.drift and _tangent(bundle.drift, (0, 1, 2)),
        by_time=_by_time(bundle.outputs, bundle.rates, bundle.drift),
    )


def _by_time(*functions: Any) -> tuple[Any, ...]:
    """Return the tangents, for a change of the time alone, of those functions (x, u, p, t) that depend on it."""
    timed = (item for item in functions if item and item.jac_sparsity(0, 3).nnz())
    return tuple(_tangent(item, (3,), prefix="by_time") for item in timed)


def _formula(item: FormulaFunctions, solved: bool, changing: tuple[int, ...] = CHANGING) -> FormulaDerivatives:
    corrections: list[Any] = []
    for correct, equations, offset, size in zip(item.correct, item.equations, item.places, item.sizes, strict=True):
        where = slice(offset, offset + size)
        if correct is None:
            corrections.append(None)
        elif equations is None:
            corrections.append(_tangent(correct, changing))
        else:
            corrections.append(_newton(correct, equations, where, solved, changing))
    return FormulaDerivatives(
        tuple(_tangent(function, changing) for function in item.guess),
        tuple(corrections),
        _tangent(item.slope or item.result, changing),
    )


def _tangent(function: Any, changing: tuple[int, ...], results: int = 1, prefix: str = "t") -> Any:
    """Return the tangent of a function's first results for changes of some of its arguments."""
    names = function.name_in()
    requested = [f"fwd:{name}" for name in function.name_out()[:results]]
    forward = function.factory("forward", [*names, *(f"fwd:{name}" for name in names)], requested)
    kind = ca.SX if forward.is_a("SXFunction") else ca.MX
    symbols = [kind.sym(name, function.sparsity_in(k)) for k, name in enumerate(names)]
    changes = {k: kind.sym(f"s{names[k]}", function.sparsity_in(k)) for k in changing}
    seeds = [changes.get(k, kind(*function.size_in(k))) for k in range(len(names))]
    first, *others = forward.call([*symbols, *seeds])
    return (merged if kind is ca.SX else ca.Function)(
        f"{prefix}_{function.name()}", [*symbols, *changes.values()], [ca.densify(first), *others]
    )


def _newton(correct: Any, equations: Any, where: slice, solved: bool, changing: tuple[int, ...]) -> Any:
    """Return the correction of the tangent of a stage solved by Newton's method."""
    change = _tangent(equations, changing, 1 if solved else 2)
    inputs = [ca.MX.sym(f"i{k}", change.sparsity_in(k)) for k in range(change.n_in())]
    residual, jacobian = equations.call(inputs[: equations.n_in()])
    changed, *turned = change.call(inputs)
    unknowns = inputs[equations.n_in() + CHANGING.index(6)]
    for matrix in turned:
        changed = changed - matrix @ solve_linear(jacobian, residual)
    return ca.Function(f"t_{correct.name()}", inputs, [unknowns[where] - solve_linear(jacobian, changed)])


def _rates(dae: Dae, scheme: Scheme, observed: Any) -> Any:
    """Return the time derivative of the outputs: their tangent along (v, a, z', rates of the angles, du, 1)."""
    # What moves, and how fast
    n_scheme, symbols = scheme.step.x.numel(), dae.symbols()
    moved = ca.vertcat(symbols[0], symbols[5])
    angles = ca.densify(dae.angles(symbols[0], *symbols[4:]))
    turning = ca.jtimes(angles, moved, ca.vertcat(symbols[1], 1)) if dae.n_angles else ca.SX(0, 1)
    flow = merged("moving", list(symbols), [ca.densify(dae.equations.flow(*symbols)), ca.densify(turning)])
    # The outputs along it, called if they are long
    sizes = (n_scheme + dae.n_angles, len(dae.inputs), len(dae.inputs), dae.n_p, 1)
    is_called = not observed.is_a("SXFunction") or operations(observed) > CALLED
    kind = ca.MX if is_called else ca.SX
    x, u, du, p, t = (kind.sym(*item) for item in zip(("x", "u", "du", "p", "t"), sizes, strict=True))
    q, v, z = scheme.read(x[:n_scheme], p, t)
    a, _ = dae.acceleration(q, v, z, u, p, t)
    at, rates = (q, v, z, x[n_scheme:], u, p, t), flow(q, v, z, u, p, t)
    along = observed.forward(1)(*at, observed(*at), v, a, *rates, du, kind(dae.n_p, 1), 1)
    result = (ca.Function if is_called else merged)("output_rates", [x, u, du, p, t], [ca.densify(along)])
    return with_kept(dae, result, (0,), 3, scheme) if dae.n_held + dae.n_memory else result

"""Adjoints of a bundle: the exact gradient of a weighted sum of its functions' results.

Each function f of a formula has an adjoint ``a_...`` with the arguments (x, u, du, p, t, h, z, w), where w are weights
of its first result, and the results (f_x^T w, f_u^T w, f_du^T w, f_p^T w, f_z^T w). They are the transposed of the
tangents, see `tangent`, and so is their use. A correction z -> g(x, u, p, z) at rest, with its last value in a sum with
weights w, is

    mu = w + g_z^T mu,    x: g_x^T mu,    u: g_u^T mu,    p: g_p^T mu,

which passes of the correction's adjoint solve. Newton's method, g = z - J^-1 r with J = r_z, has g_z = 0 at rest, and
g_x^T w = -r_x^T J^-T w: one pass is enough.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.dae.formula import solve_linear
from mbfmu.dae.linear_algebra.merged import merged
from mbfmu.kernel.bundle import Bundle, FormulaFunctions
from mbfmu.kernel.tangent import FormulaDerivatives

CHANGING = (0, 1, 2, 3, 6)
"""Positions of the arguments of a formula's function that change: x, u, du, p, z."""
FORMULAS = ("start", "begin", "step")
"""The formulas of a run without sampling instants and events."""


@dataclass(frozen=True)
class Adjoints:
    """The adjoints of a bundle.

    Args:
        formulas: adjoints of each of `FORMULAS`, by its name.
        outputs: Function (x, u, p, t, w) -> (y_x^T w, y_u^T w, y_p^T w).
    """

    formulas: Mapping[str, FormulaDerivatives]
    outputs: Any

    def functions(self) -> list[Any]:
        """Return all functions, each with a name of its own."""
        return [self.outputs, *(function for item in self.formulas.values() for function in item.functions())]


def adjoints(bundle: Bundle) -> Adjoints:
    """Return the adjoints of a bundle without sampling instants and events, whose stages are solved."""
    return Adjoints(
        formulas={name: _formula(bundle.formulas[name]) for name in FORMULAS},
        outputs=_adjoint(bundle.outputs, (0, 1, 2)),
    )


def _formula(item: FormulaFunctions) -> FormulaDerivatives:
    corrections: list[Any] = []
    for correct, equations, offset, size in zip(item.correct, item.equations, item.places, item.sizes, strict=True):
        if correct is None:
            corrections.append(None)
        elif equations is None:
            corrections.append(_adjoint(correct, CHANGING))
        else:
            corrections.append(_newton(correct, equations, offset, size))
    return FormulaDerivatives(
        tuple(_adjoint(function, CHANGING) for function in item.guess),
        tuple(corrections),
        _adjoint(item.slope or item.result, CHANGING),
    )


def _adjoint(function: Any, changing: tuple[int, ...]) -> Any:
    """Return the adjoint of a function's first result, with respect to some of its arguments."""
    names, first = function.name_in(), function.name_out()[0]
    requested = [f"adj:{names[k]}" for k in changing]
    reverse = function.factory("reverse", [*names, f"adj:{first}"], requested)
    kind = ca.SX if reverse.is_a("SXFunction") else ca.MX
    symbols = [kind.sym(name, function.sparsity_in(k)) for k, name in enumerate(names)]
    weights = kind.sym("w", function.sparsity_out(0))
    results = [ca.densify(item) for item in reverse.call([*symbols, weights])]
    return (merged if kind is ca.SX else ca.Function)(f"a_{function.name()}", [*symbols, weights], results)


def _newton(correct: Any, equations: Any, offset: int, size: int) -> Any:
    """Return the adjoint of the correction of a stage solved by Newton's method, at rest."""
    turned = _adjoint(equations, CHANGING)
    symbols = [ca.MX.sym(f"i{k}", equations.sparsity_in(k)) for k in range(equations.n_in())]
    w = ca.MX.sym("w", size)
    _, jacobian = equations.call(symbols)
    x, u, du, p, z = turned.call([*symbols, -solve_linear(jacobian.T, w)])
    before, after = ca.MX.zeros(offset), ca.MX.zeros(z.numel() - offset - size)
    return ca.Function(
        f"a_{correct.name()}", [*symbols, w], [x, u, du, p, z + ca.densify(ca.vertcat(before, w, after))]
    )

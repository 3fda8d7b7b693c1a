"""First and second derivatives of Functions with named arguments, as Functions of the same arguments."""

from collections.abc import Sequence
from typing import Any

import casadi as ca

from mbfmu.errors import UnknownNameError, nearest


def jacobian(function: Any, arguments: Sequence[str]) -> Any:
    """Return the Function of the same arguments -> J, the slopes of all results, one below the other, in some of them.

    Args:
        function: the function, with named arguments.
        arguments: names of the arguments, whose entries follow each other as the columns of J.

    Raises:
        UnknownNameError: it has no such argument.
    """
    symbols, results, chosen = _inside(function, arguments)
    return _named(f"{function.name()}_jacobian", function, symbols, [], ca.jacobian(results, chosen), "J")


def hessian(function: Any, arguments: Sequence[str]) -> Any:
    """Return the Function of the same arguments and weights -> H, second derivatives of weights^T results in some.

    Args:
        function: the function, with named arguments.
        arguments: names of the arguments, whose entries follow each other as the rows and columns of H.

    Raises:
        UnknownNameError: it has no such argument.
    """
    symbols, results, chosen = _inside(function, arguments)
    weights = ca.SX.sym("weights", results.numel())
    H = ca.hessian(ca.dot(weights, results), chosen)[0]
    return _named(f"{function.name()}_hessian", function, symbols, [weights], H, "H")


def _inside(function: Any, arguments: Sequence[str]) -> tuple[list[Any], Any, Any]:
    """Return symbols for the arguments of a function, its results in one column, and the symbols of some arguments."""
    known = function.name_in()
    for name in arguments:
        if name not in known:
            raise UnknownNameError(f"{function.name()} has no argument '{name}'; {nearest(name, known)}")
    symbols = function.sx_in()
    results = ca.vertcat(*map(ca.vec, function.call(symbols)))
    return symbols, results, ca.vertcat(*(symbols[known.index(name)] for name in arguments))


def _named(name: str, function: Any, symbols: Sequence[Any], more: Sequence[Any], result: Any, label: str) -> Any:
    names = [*function.name_in(), *(["weights"] if more else [])]
    return ca.Function(name, [*symbols, *more], [result], names, [label])

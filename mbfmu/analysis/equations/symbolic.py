"""CasADi Function -> SymPy, operation by operation."""

import re
from typing import Any

import casadi as ca

from mbfmu.base import extras
from mbfmu.errors import UsageError
from mbfmu.kernel.emit.instructions import read_instructions
from mbfmu.kernel.emit.operations import OPERATIONS, casadi_name

MOST = 2000
"""Largest number of operations of a function that becomes a formula: longer ones are not for readers."""


def sympy_matrices(function: Any, symbols: dict[str, tuple[str, ...]]) -> tuple[Any, ...]:
    """Return the results of a function as matrices of SymPy.

    Args:
        function: the function, with named arguments.
        symbols: names of the entries of each argument, which become symbols.

    Raises:
        UsageError: SymPy is not installed, or the function is too long or has an operation that is no formula.
    """
    try:
        import sympy as sp
    except ImportError:
        raise UsageError(f"formulas of SymPy need it: {extras.command('sympy')}") from None
    if function.n_instructions() > MOST:
        raise UsageError(
            f"{function.name()} has {function.n_instructions()} operations, and {MOST} become a formula at most: take "
            "a smaller system, or C"
        )
    words = _words(sp)
    results = [sp.zeros(*function.size_out(index)) for index in range(function.n_out())]
    patterns = [function.sparsity_out(index).get_triplet() for index in range(function.n_out())]
    taken = [[sp.Symbol(name, real=True) for name in symbols[label]] for label in function.name_in()]
    values: dict[int, Any] = {}
    for code, operands, to in read_instructions(function):
        if code == ca.OP_OUTPUT:
            rows, columns = patterns[to[0]]
            results[to[0]][rows[to[1]], columns[to[1]]] = values[operands[0]]
        elif code == ca.OP_INPUT:
            values[to[0]] = taken[operands[0]][operands[1]]
        elif code == ca.OP_CONST:
            values[to[0]] = sp.nsimplify(operands) if float(operands) == int(operands) else sp.Float(operands)
        else:
            word, order = OPERATIONS.get(code, ("", ()))
            if word not in words:
                raise UsageError(f"{function.name()} has the operation {casadi_name(code)}, which is not a formula")
            held = [sp.Integer(int(item)) if isinstance(item, float) else values[operands[item]] for item in order]
            values[to[0]] = words[word](*held)
    return tuple(item.applyfunc(sp.simplify) for item in results)


def symbol_name(name: str) -> str:
    """Return the name of a symbol: the last part of a full name, then the others, as ``phidot_shoulder``."""
    inner = name.removeprefix("der(").removesuffix(")") if name.startswith("der(") else name
    stem, _, last = re.sub(r"\[(\d+)\]", r"_\1", inner).rpartition(".")
    head, _, index = last.partition("_")
    head += "dot" if inner != name else ""
    return "_".join(filter(None, [head, index, *stem.split(".")]))


def _words(sp: Any) -> dict[str, Any]:
    """Return the functions of SymPy by the names of operations."""
    same = ("sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "exp", "log", "sinh", "cosh", "tanh")
    more = ("asinh", "acosh", "atanh", "sign", "floor")
    return {
        **{name.upper(): getattr(sp, name) for name in (*same, *more)},
        "CEIL": sp.ceiling,
        "FABS": sp.Abs,
        "FMIN": sp.Min,
        "FMAX": sp.Max,
        "ADD": lambda a, b: a + b,
        "SUB": lambda a, b: a - b,
        "MUL": lambda a, b: a * b,
        "DIV": lambda a, b: a / b,
        "NEG": lambda a: -a,
        "SQUARE": lambda a: a**2,
        "POW": lambda a, b: a**b,
        "SAME": lambda a: a,
    }

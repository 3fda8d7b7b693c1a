"""CasADi's instructions -> operations by name: the words of generated C."""

import math

import casadi as ca

from mbfmu.errors import KernelError

Operand = int | float
"""The number of an instruction's operand, or a constant that the operation adds."""

OPERATIONS: dict[int, tuple[str, tuple[Operand, ...]]] = {
    ca.OP_ADD: ("ADD", (0, 1)),
    ca.OP_SUB: ("SUB", (0, 1)),
    ca.OP_MUL: ("MUL", (0, 1)),
    ca.OP_DIV: ("DIV", (0, 1)),
    ca.OP_NEG: ("NEG", (0,)),
    ca.OP_TWICE: ("MUL", (2.0, 0)),
    ca.OP_SQ: ("SQUARE", (0,)),
    ca.OP_INV: ("DIV", (1.0, 0)),
    ca.OP_LT: ("LT", (0, 1)),
    ca.OP_LE: ("LE", (0, 1)),
    ca.OP_EQ: ("EQ", (0, 1)),
    ca.OP_NE: ("NE", (0, 1)),
    ca.OP_NOT: ("NOT", (0,)),
    ca.OP_AND: ("AND", (0, 1)),
    ca.OP_OR: ("OR", (0, 1)),
    ca.OP_IF_ELSE_ZERO: ("SELECT", (0, 1, 0.0)),
    ca.OP_ASSIGN: ("SAME", (0,)),
    ca.OP_FABS: ("FABS", (0,)),
    ca.OP_SIGN: ("SIGN", (0,)),
    ca.OP_COPYSIGN: ("COPYSIGN", (0, 1)),
    ca.OP_FMIN: ("FMIN", (0, 1)),
    ca.OP_FMAX: ("FMAX", (0, 1)),
    ca.OP_FMOD: ("FMOD", (0, 1)),
    ca.OP_FLOOR: ("FLOOR", (0,)),
    ca.OP_CEIL: ("CEIL", (0,)),
    ca.OP_SQRT: ("SQRT", (0,)),
    ca.OP_HYPOT: ("HYPOT", (0, 1)),
    ca.OP_SIN: ("SIN", (0,)),
    ca.OP_COS: ("COS", (0,)),
    ca.OP_TAN: ("TAN", (0,)),
    ca.OP_ASIN: ("ASIN", (0,)),
    ca.OP_ACOS: ("ACOS", (0,)),
    ca.OP_ATAN: ("ATAN", (0,)),
    ca.OP_ATAN2: ("ATAN2", (0, 1)),
    ca.OP_EXP: ("EXP", (0,)),
    ca.OP_EXPM1: ("EXPM1", (0,)),
    ca.OP_LOG: ("LOG", (0,)),
    ca.OP_LOG1P: ("LOG1P", (0,)),
    ca.OP_POW: ("POW", (0, 1)),
    ca.OP_CONSTPOW: ("POW", (0, 1)),
    ca.OP_SINH: ("SINH", (0,)),
    ca.OP_COSH: ("COSH", (0,)),
    ca.OP_TANH: ("TANH", (0,)),
    ca.OP_ASINH: ("ASINH", (0,)),
    ca.OP_ACOSH: ("ACOSH", (0,)),
    ca.OP_ATANH: ("ATANH", (0,)),
}
"""Name and operands of each operation on numbers, by CasADi's number of the operation; arithmetic.h defines the names.
"""
PLAIN = {name: code for code, (name, places) in OPERATIONS.items() if places[0] == 0}
"""CasADi's number of an operation that takes its operands in order, by its name."""


def operation(opcode: int, function: str) -> tuple[str, tuple[Operand, ...]]:
    """Return the name and the operands of an operation on numbers.

    Args:
        opcode: CasADi's number of the operation.
        function: name of the function that uses it, for the message.

    Raises:
        KernelError: the operation is not in the table.
    """
    entry = OPERATIONS.get(opcode)
    if entry is None:
        raise KernelError(f"no C code is known for CasADi's operation {casadi_name(opcode)} in '{function}'")
    return entry


def casadi_name(opcode: int) -> str:
    """Return CasADi's name of an operation."""
    return next((name for name in dir(ca) if name.startswith("OP_") and getattr(ca, name) == opcode), f"{opcode}")


def literal(value: float) -> str:
    """Return a number as C text of the same bits."""
    if math.isfinite(value):
        return f"({value!r})" if value < 0 else repr(value)
    return "NAN" if math.isnan(value) else "INFINITY" if value > 0 else "(-INFINITY)"

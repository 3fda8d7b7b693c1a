"""CasADi SX Function -> its instructions."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import casadi as ca

LEAVES = frozenset({ca.OP_INPUT, ca.OP_CONST})
"""CasADi's numbers of the operations that take no values."""
NEITHER = LEAVES | {ca.OP_OUTPUT}
"""CasADi's numbers of the operations that compute nothing."""


def read_instructions(function: Any) -> Iterator[tuple[int, Any, list[int]]]:
    """Yield each instruction of a CasADi SX Function.

    Its parts are CasADi's number of the operation; what it takes, registers, an entry of an argument (the numbers of
    both) or the constant; and what it fills, a register or an entry of a result.

    CasADi's methods get the object that the Function wraps: they look for it for more than a microsecond otherwise,
    which is longer than they take for all else.
    """
    count, wrapped, kind = range(function.n_instructions()), function.this, ca.Function
    codes = map(partial(kind.instruction_id, wrapped), count)
    filled = map(partial(kind.instruction_output, wrapped), count)
    taken, constant = (partial(method, wrapped) for method in (kind.instruction_input, kind.instruction_constant))
    for k, code, to in zip(count, codes, filled, strict=True):
        yield code, constant(k) if code == ca.OP_CONST else taken(k), to

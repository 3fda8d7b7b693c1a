"""SX Function -> C text, operation by operation, in CasADi's order and with its registers."""

from collections.abc import Collection, Iterator
from typing import Any

import casadi as ca

from mbfmu.kernel.operations import literal, operation


def straight(function: Any, unwanted: Collection[int]) -> str:
    """Return a function's body without loops.

    Args:
        function: CasADi SX Function.
        unwanted: results that a caller may not ask for.

    Raises:
        KernelError: it has an operation that is not known.
    """
    lines = list(_lines(function, unwanted))
    used = {line.partition(" ")[0] for line in lines if line.startswith("a")}
    head = [f"V {', '.join(sorted(used))};"] if used else []
    return "".join(f"  {line}\n" for line in [*head, *lines])


def _lines(function: Any, unwanted: Collection[int]) -> Iterator[str]:
    for k in range(function.n_instructions()):
        code, given, to = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if code == ca.OP_OUTPUT:
            which, index = to
            guard = f"if (res[{which}]) " if which in unwanted else ""
            yield f"{guard}res[{which}][{index}] = a{given[0]};"
        elif code == ca.OP_INPUT:
            yield f"a{to[0]} = arg[{given[0]}][{given[1]}];"
        elif code == ca.OP_CONST:
            yield f"a{to[0]} = {literal(function.instruction_constant(k))};"
        else:
            name, places = operation(code, function.name())
            names = (literal(item) if isinstance(item, float) else f"a{given[item]}" for item in places)
            yield f"a{to[0]} = {name}({', '.join(names)});"

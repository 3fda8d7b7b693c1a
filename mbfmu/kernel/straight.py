"""SX Function -> C text, operation by operation, in CasADi's order and with its registers."""

from collections.abc import Collection, Sequence
from typing import Any

import casadi as ca

from mbfmu.kernel.operations import literal, operation

Instruction = tuple[int, Any, tuple[int, ...]]
"""CasADi's number of an operation; what it takes, registers, an entry of an argument or the constant; what it fills.

Tuples of numbers are no load for Python's collector of cycles, as lists of them are.
"""


def straight(function: Any, unwanted: Collection[int]) -> str:
    """Return a function's body without loops.

    Operations that only optional results need come last, and run only if such a result is asked for. A function with
    optional results has a variable for each operation instead of CasADi's registers, which are used again and again.

    Args:
        function: CasADi SX Function.
        unwanted: numbers of the optional results, which a caller may leave out.

    Raises:
        KernelError: the function has an unknown operation.
    """
    name_of, instructions = function.name(), _read(function)
    needed = _needed(instructions, unwanted) if unwanted else range(len(instructions))
    names: dict[int, str] = {}
    always: list[str] = []
    sometimes: list[str] = []
    for k, (code, given, to) in enumerate(instructions):
        lines = always if k in needed else sometimes
        if code == ca.OP_OUTPUT:
            guard = f"if (res[{to[0]}]) " if to[0] in unwanted and len(unwanted) > 1 else ""
            lines.append(f"{guard}res[{to[0]}][{to[1]}] = {names[given[0]]};")
            continue
        if code == ca.OP_INPUT:
            expression = f"arg[{given[0]}][{given[1]}]"
        elif code == ca.OP_CONST:
            expression = f"SAME({literal(given)})"
        else:
            name, places = operation(code, name_of)
            operands = (literal(item) if isinstance(item, float) else names[given[item]] for item in places)
            expression = f"{name}({', '.join(operands)})"
        names[to[0]] = f"a{k if unwanted else to[0]}"
        lines.append(f"{names[to[0]]} = {expression};")
    variables = sorted({line.partition(" ")[0] for line in (*always, *sometimes) if line.startswith("a")})
    if variables:
        always.insert(0, f"V {', '.join(variables)};")
    if sometimes:
        asked = " || ".join(f"res[{which}]" for which in sorted(unwanted))
        always += [f"if ({asked}) {{", *(f"  {line}" for line in sometimes), "}"]
    return "".join(f"  {line}\n" for line in always)


def _needed(instructions: Sequence[Instruction], unwanted: Collection[int]) -> set[int]:
    """Return the instructions that the other results, which are always asked for, depend on."""
    found: set[int] = set()
    current: dict[int, int] = {}  # register -> instruction that filled it
    made_by: list[list[int]] = []
    for k, (code, given, to) in enumerate(instructions):
        made_by.append([] if code in {ca.OP_INPUT, ca.OP_CONST} else [current[register] for register in given])
        if code == ca.OP_OUTPUT:
            if to[0] not in unwanted:
                found.add(k)
        else:
            current[to[0]] = k
    for k in reversed(range(len(instructions))):
        if k in found:
            found.update(made_by[k])
    return found


def _read(function: Any) -> list[Instruction]:
    """Return the instructions of a CasADi SX Function; each is asked for once, as that takes CasADi a while."""
    code, given, to, constant = (
        function.instruction_id, function.instruction_input, function.instruction_output, function.instruction_constant,
    )  # fmt: skip
    codes = map(code, range(function.n_instructions()))
    return [
        (each, constant(k) if each == ca.OP_CONST else tuple(given(k)), tuple(to(k))) for k, each in enumerate(codes)
    ]

"""SX Function -> C text, operation by operation, in CasADi's order and with its registers."""

from collections.abc import Collection, Sequence
from typing import Any

import casadi as ca

from mbfmu.kernel.operations import literal, operation
from mbfmu.kernel.ordering import LEAVES, ordered

Instruction = tuple[int, Any, tuple[int, ...]]
"""CasADi's number of an operation; what it takes, registers, an entry of an argument or the constant; what it fills.

Tuples of numbers are no load for Python's collector of cycles, as lists of them are.
"""


def straight(function: Any, unwanted: Collection[int], lanes: bool = False) -> str:
    """Return a function's body without loops.

    Operations that only optional results need come last, and run only if such a result is asked for. A function with
    optional results, or in another order than CasADi's, has a variable for each operation instead of CasADi's
    registers, which are used again and again.

    Args:
        function: CasADi SX Function.
        unwanted: numbers of the optional results, which a caller may leave out.
        lanes: whether the operations are ordered for several instances at a time.

    Raises:
        KernelError: the function has an unknown operation.
    """
    name_of, instructions = function.name(), _read(function)
    single = lanes or bool(unwanted)
    made_by = _made_by(instructions) if single else []
    needed = _needed(instructions, made_by, unwanted) if unwanted else range(len(instructions))
    order = ordered([code for code, _, _ in instructions], made_by) if lanes else range(len(instructions))
    always: list[str] = []
    sometimes: list[str] = []
    for k in order:
        code, given, to = instructions[k]
        lines = always if k in needed else sometimes
        held = made_by[k] if single else given
        if code == ca.OP_OUTPUT:
            guard = f"if (res[{to[0]}]) " if to[0] in unwanted and len(unwanted) > 1 else ""
            lines.append(f"{guard}res[{to[0]}][{to[1]}] = a{held[0]};")
            continue
        if code == ca.OP_INPUT:
            expression = f"arg[{given[0]}][{given[1]}]"
        elif code == ca.OP_CONST:
            expression = f"SAME({literal(given)})"
        else:
            name, places = operation(code, name_of)
            operands = (literal(item) if isinstance(item, float) else f"a{held[item]}" for item in places)
            expression = f"{name}({', '.join(operands)})"
        lines.append(f"a{k if single else to[0]} = {expression};")
    variables = sorted({line.partition(" ")[0] for line in (*always, *sometimes) if line.startswith("a")})
    if variables:
        always.insert(0, f"V {', '.join(variables)};")
    if sometimes:
        asked = " || ".join(f"res[{which}]" for which in sorted(unwanted))
        always += [f"if ({asked}) {{", *(f"  {line}" for line in sometimes), "}"]
    return "".join(f"  {line}\n" for line in always)


def _made_by(instructions: Sequence[Instruction]) -> list[list[int]]:
    """Return the instructions whose values each instruction takes."""
    current: dict[int, int] = {}  # register -> instruction that filled it
    found: list[list[int]] = []
    for k, (code, given, to) in enumerate(instructions):
        found.append([] if code in LEAVES else [current[register] for register in given])
        if code != ca.OP_OUTPUT:
            current[to[0]] = k
    return found


def _needed(
    instructions: Sequence[Instruction], made_by: Sequence[Sequence[int]], unwanted: Collection[int]
) -> set[int]:
    """Return the instructions that the other results, which are always asked for, depend on."""
    found = {k for k, (code, _, to) in enumerate(instructions) if code == ca.OP_OUTPUT and to[0] not in unwanted}
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

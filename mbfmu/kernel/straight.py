"""SX Function -> C text, operation by operation, in CasADi's order and with its registers."""

from collections.abc import Collection, Sequence
from typing import Any

import casadi as ca

from mbfmu.kernel.operations import literal, operation
from mbfmu.kernel.ordering import LEAVES, ordered
from mbfmu.kernel.sections import LENGTH, LENGTH_IN_LANES, Code, Line, as_one, in_sections

Instruction = tuple[int, Any, tuple[int, ...]]
"""CasADi's number of an operation; what it takes, registers, an entry of an argument or the constant; what it fills.

Tuples of numbers are no load for Python's collector of cycles, as lists of them are.
"""


def straight(function: Any, unwanted: Collection[int], name: str, lanes: bool = False) -> Code:
    """Return a function without loops.

    Operations that only optional results need come last, and run only if such a result is asked for. A function with
    optional results, or in another order than CasADi's, has a variable for each operation instead of CasADi's
    registers, which are used again and again.

    Args:
        function: CasADi SX Function.
        unwanted: numbers of the optional results, which a caller may leave out.
        name: name of the function in C.
        lanes: whether the operations are ordered for several instances at a time.

    Raises:
        KernelError: the function has an unknown operation.
    """
    instructions = _read(function)
    single = lanes or bool(unwanted)
    length = LENGTH_IN_LANES if lanes else LENGTH
    long = len(instructions) >= 2 * length
    made_by = _made_by(instructions) if single or long else []
    needed = _needed(instructions, made_by, unwanted) if unwanted else range(len(instructions))
    order = ordered([code for code, _, _ in instructions], made_by) if lanes else range(len(instructions))
    always, sometimes = [k for k in order if k in needed], [k for k in order if k not in needed]
    place = {k: at for at, k in enumerate((*always, *sometimes))} if long else {}

    def line(k: int) -> Line:
        code, given, to = instructions[k]
        held = made_by[k] if single else given
        takes = [place[each] for each in made_by[k]] if long else ()
        if code == ca.OP_OUTPUT:
            guard = f"if (res[{to[0]}]) " if to[0] in unwanted and len(unwanted) > 1 else ""
            return Line(f"{guard}res[{to[0]}][{to[1]}] = a{held[0]};", "", takes, leaf=False)
        if code == ca.OP_INPUT:
            expression = f"arg[{given[0]}][{given[1]}]"
        elif code == ca.OP_CONST:
            expression = f"SAME({literal(given)})"
        else:
            word, places = operation(code, function.name())
            operands = (literal(item) if isinstance(item, float) else f"a{held[item]}" for item in places)
            expression = f"{word}({', '.join(operands)})"
        filled = f"a{k if single else to[0]}"
        return Line(f"{filled} = {expression};", filled, takes, code in LEAVES)

    first, then = [line(k) for k in always], [line(k) for k in sometimes]
    asked = " || ".join(f"res[{which}]" for which in sorted(unwanted))
    return in_sections(first, then, asked, name, length) if long else as_one(first, then, asked)


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

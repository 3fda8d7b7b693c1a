"""SX Function or Program -> C text, operation by operation, in CasADi's order."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

import casadi as ca
import numpy as np

from mbfmu.kernel.emit.instructions import LEAVES, read_instructions
from mbfmu.kernel.emit.operations import PLAIN, literal, operation
from mbfmu.kernel.emit.ordering import ordered
from mbfmu.kernel.emit.program import CONSTANT, Nodes, Program
from mbfmu.kernel.emit.sections import (
    LEAF,
    LENGTH,
    LENGTH_IN_LANES,
    LINE,
    NUMBER,
    REPEATING,
    RESULT,
    WAITING,
    WIDTH,
    Code,
    CodeLine,
    as_one,
    in_sections,
)  # fmt: skip

REPEATED = frozenset({"SQUARE", "SIGN"})
"""Operations whose C text has an operand more than once."""
Instruction = tuple[int, Any, tuple[int, ...]]
"""CasADi's number of an operation; what it takes, registers, an entry of an argument or the constant; what it fills.

Tuples of numbers are no load for Python's collector of cycles, as lists of them are.
"""


def straight(function: Any, unwanted: Collection[int], name: str, lanes: bool = False) -> Code:
    """Return a function without loops.

    Operations that only optional results need come last, and run only if such a result is asked for. Those that one
    other takes alone stand within it.

    Args:
        function: CasADi SX Function, or a Program.
        unwanted: numbers of the optional results, which a caller may leave out.
        name: name of the function in C.
        lanes: whether the operations are ordered for several instances at a time.

    Raises:
        KernelError: the function has an unknown operation.
    """
    instructions = _instructions(function) if isinstance(function, Program) else _read(function)
    length = LENGTH_IN_LANES if lanes else LENGTH
    long = len(instructions) >= 2 * length
    made_by = _made_by(instructions)
    needed = _needed(instructions, made_by, unwanted) if unwanted else range(len(instructions))
    order = ordered([code for code, _, _ in instructions], made_by) if lanes else range(len(instructions))
    always, sometimes = [k for k in order if k in needed], [k for k in order if k not in needed]
    index_of = {k: at for at, k in enumerate((*always, *sometimes))}
    patterns = {code: _pattern(code, name) for code in {code for code, _, _ in instructions} - LEAVES - {ca.OP_OUTPUT}}

    def line(k: int) -> CodeLine:
        code, taken, to = instructions[k]
        takes = [index_of[each] for each in made_by[k]]
        if code in patterns:
            text, kind = patterns[code]
            return CodeLine(text, f"a{k}", takes, kind)
        if code == ca.OP_OUTPUT:
            guard = f"if (res[{to[0]}]) " if to[0] in unwanted and len(unwanted) > 1 else ""
            return CodeLine("{}", f"{guard}res[{to[0]}][{to[1]}]", takes, RESULT)
        if code == ca.OP_INPUT:
            return CodeLine(f"arg[{taken[0]}][{taken[1]}]", f"a{k}", takes, LEAF)
        return CodeLine(f"SAME({literal(taken)})" if lanes else literal(taken), f"a{k}", takes, NUMBER)

    first, then = [line(k) for k in always], [line(k) for k in sometimes]
    requested = " || ".join(f"res[{which}]" for which in sorted(unwanted))
    width = 0 if lanes else WIDTH
    if not long:
        return as_one(first, then, requested, width)
    return in_sections(first, then, requested, name, length, 0 if lanes else WAITING, width)


def _pattern(code: int, function: str) -> tuple[str, int]:
    """Return what gives the value of an operation, with {} for its operands, and the kind of its line."""
    word, order = operation(code, function)
    operands = (literal(item) if isinstance(item, float) else f"{{{item}}}" for item in order)
    return f"{word}({', '.join(operands)})", REPEATING if word in REPEATED else LINE


def _made_by(instructions: Sequence[Instruction]) -> list[list[int]]:
    """Return the instructions whose values each instruction takes."""
    current: dict[int, int] = {}  # register -> instruction that filled it
    result: list[list[int]] = []
    for k, (code, registers, to) in enumerate(instructions):
        result.append([] if code in LEAVES else [current[register] for register in registers])
        if code != ca.OP_OUTPUT:
            current[to[0]] = k
    return result


def _needed(
    instructions: Sequence[Instruction], made_by: Sequence[Sequence[int]], unwanted: Collection[int]
) -> set[int]:
    """Return the instructions that the other results, which are always asked for, depend on."""
    needed = {k for k, (code, _, to) in enumerate(instructions) if code == ca.OP_OUTPUT and to[0] not in unwanted}
    for k in reversed(range(len(instructions))):
        if k in needed:
            needed.update(made_by[k])
    return needed


def _instructions(program: Program) -> list[Instruction]:
    """Return the instructions of a Program, each result after its value, in registers that are used again."""
    # Results by node, codes of kinds, and the last user of each node
    results: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for item in program.outputs:
        results[item.node].append((item.which, item.element))
    codes = [
        ca.OP_CONST if kind == CONSTANT else ca.OP_INPUT if kind.isdecimal() else PLAIN[kind] for kind in program.kinds
    ]
    last = _last_users(program).tolist()
    # Each node fills a register that no value needs any more, or a new one
    result: list[Instruction] = []
    register: list[int] = []
    free: list[int] = []
    count = 0
    rows = zip(program.kind.tolist(), program.index.tolist(), program.operands.tolist(), strict=True)
    for node, (kind, index, operands) in enumerate(rows):
        code = codes[kind]
        if code == ca.OP_CONST:
            takes: Any = program.numbers[node]
        elif code == ca.OP_INPUT:
            takes = int(program.kinds[kind]), index
        else:
            takes = tuple([register[each] for each in operands if each >= 0])
            for each in reversed(operands):
                if last[each] == node:
                    free.append(register[each])
                    last[each] = -1
        # A register for the value, then its results
        if not free:
            free.append(count)
            count += 1
        to = (free.pop(),)
        register += to
        result.append((code, takes, to))
        if node in results:
            result += [(ca.OP_OUTPUT, to, each) for each in results[node]]
        if last[node] < 0:
            free += to
    return result


def _last_users(program: Program) -> Nodes:
    """Return the last node that takes each node, -1 without; shape (n + 1,), where the last one belongs to no node."""
    nodes = np.arange(len(program.kind))
    last = np.full(len(nodes) + 1, -1)
    for operand in program.operands.T:
        last[operand] = np.maximum(last[operand], nodes)  # of several that take one, the last is assigned last
    last[-1] = -1
    return last


def _read(function: Any) -> list[Instruction]:
    """Return the instructions of a CasADi SX Function."""
    return [
        (code, taken if code == ca.OP_CONST else tuple(taken), tuple(filled))
        for code, taken, filled in read_instructions(function)
    ]

"""Generated C text of a straight-line function <-> a Program: its operations in single assignment."""

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Nodes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

CONSTANT = "#"
"""Template of a number."""
OPERANDS = 3
"""Most operands of an operation."""

_INPUT = re.compile(r"  (a\d+)=arg\[(\d+)\]\? arg\[\d+\]\[(\d+)\] : 0;")
_OUTPUT = re.compile(r"  (if \(res\[\d+\]!=0\) )?res\[(\d+)\]\[(\d+)\]=(a\d+);")
_OPERATION = re.compile(r"  (a\d+)=(.*);")
_NUMBER = re.compile(r"-?(?:\d+\.?\d*(?:e[-+]?\d+)?|NAN|INFINITY)")
_OPERAND = re.compile(r"\ba\d+\b|(?<![\w.])\d+\.?\d*(?:e[-+]?\d+)?(?![\w.])")
_REST = re.compile(r"  casadi_real a\d+(?:, a\d+)*;|  return 0;|\s*")


@dataclass(frozen=True)
class Output:
    """A result: element `index` of result `which` is a node; `guarded` where the caller may not want it."""

    which: int
    index: int
    node: int
    guarded: bool


@dataclass(frozen=True)
class Program:
    """A straight-line function. Nodes are operations and leaves, operands before those that use them.

    Args:
        templates: C expressions with an ``@`` for each operand; ``i0``, ``i1`` ... for elements of the arguments, and
            `CONSTANT`.
        kind: of each node, the index of its template, shape (n,).
        operands: of each node, -1 where there is none, shape (n, `OPERANDS`).
        leaf: which nodes are leaves, shape (n,).
        index: of an argument's element, -1 for other nodes, shape (n,).
        numbers: C text of the constants, by node.
        outputs: all results.
    """

    templates: tuple[str, ...]
    kind: Nodes
    operands: Nodes
    leaf: Flags
    index: Nodes
    numbers: dict[int, str]
    outputs: tuple[Output, ...]

    def expression(self, node: int, names: list[str]) -> str:
        """Return the C expression of an operation with names for its operands."""
        first, *others = self.templates[int(self.kind[node])].split("@")
        return first + "".join(name + text for name, text in zip(names, others, strict=True))


def read_program(body: str) -> Program | None:
    """Return the program of a generated function's body; None where it is more than assignments."""
    templates: dict[str, int] = {}
    leaves: dict[tuple[str, int | str], int] = {}
    registers: dict[str, int] = {}
    kind: list[int] = []
    operands: list[list[int]] = []
    index: list[int] = []
    numbers: dict[int, str] = {}
    outputs: list[Output] = []

    def node(template: str, given: list[int], element: int = -1) -> int:
        kind.append(templates.setdefault(template, len(templates)))
        operands.append(given + [-1] * (OPERANDS - len(given)))
        index.append(element)
        return len(kind) - 1

    def number(text: str) -> int:
        if (CONSTANT, text) not in leaves:
            leaves[CONSTANT, text] = node(CONSTANT, [])
            numbers[leaves[CONSTANT, text]] = text
        return leaves[CONSTANT, text]

    for line in body.splitlines():
        if found := _INPUT.fullmatch(line):
            register, which, element = found.groups()
            key = f"i{which}", int(element)
            if key not in leaves:
                leaves[key] = node(key[0], [], key[1])
            registers[register] = leaves[key]
        elif found := _OUTPUT.fullmatch(line):
            guard, which, element, register = found.groups()
            outputs.append(Output(int(which), int(element), registers[register], guard is not None))
        elif found := _OPERATION.fullmatch(line):
            register, text = found.groups()
            if _NUMBER.fullmatch(text):
                registers[register] = number(text)
                continue
            parts = _OPERAND.findall(text)
            if len(parts) > OPERANDS:
                return None
            given = [registers[part] if part[0] == "a" else number(part) for part in parts]
            registers[register] = node(_OPERAND.sub("@", text), given)
        elif not _REST.fullmatch(line):
            return None
    elements = np.array(index, dtype=np.int64)
    is_number = np.zeros(len(kind), dtype=bool)
    is_number[list(numbers)] = True
    return Program(
        templates=tuple(templates),
        kind=np.array(kind, dtype=np.int64),
        operands=np.array(operands, dtype=np.int64).reshape(-1, OPERANDS),
        leaf=(elements >= 0) | is_number,
        index=elements,
        numbers=numbers,
        outputs=tuple(outputs),
    )

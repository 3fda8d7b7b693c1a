"""CasADi SX Function -> its instructions -> Program: its operations in single assignment."""

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.kernel.operations import operation

Nodes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

Instruction = tuple[int, Any, tuple[int, ...]]
"""CasADi's number of an operation; what it takes, registers, an entry of an argument or the constant; what it fills.

Tuples of numbers are no load for Python's collector of cycles, as lists of them are.
"""

CONSTANT = "constant"
"""Kind of the nodes that are constants."""
OPERANDS = 3
"""Largest number of operands of an operation."""


@dataclass(frozen=True)
class Output:
    """A result: nonzero `index` of result `which` is a node."""

    which: int
    index: int
    node: int


@dataclass(frozen=True)
class Program:
    """A straight-line function. Nodes are operations and leaves, operands before those that use them.

    Args:
        kinds: names of the kinds of nodes: operations, as in `operations.OPERATIONS`; arguments, ``0``, ``1`` ...; and
            `CONSTANT`.
        kind: index of each node's kind, shape (n,).
        operands: operands of each node, -1 where there is none, shape (n, `OPERANDS`).
        leaf: whether a node is a leaf, shape (n,).
        index: number of the argument's nonzero, -1 for nodes that are no arguments, shape (n,).
        numbers: the constants, by node.
        outputs: all results.
    """

    kinds: tuple[str, ...]
    kind: Nodes
    operands: Nodes
    leaf: Flags
    index: Nodes
    numbers: dict[int, float]
    outputs: tuple[Output, ...]

    def name(self, node: int) -> str:
        """Return the kind of a node."""
        return self.kinds[int(self.kind[node])]


def read_instructions(function: Any) -> list[Instruction]:
    """Return the instructions of a CasADi SX Function; each is asked for once, as that takes CasADi a while."""
    code, given, to, constant = (
        function.instruction_id, function.instruction_input, function.instruction_output, function.instruction_constant,
    )  # fmt: skip
    codes = map(code, range(function.n_instructions()))
    return [
        (each, constant(k) if each == ca.OP_CONST else tuple(given(k)), tuple(to(k))) for k, each in enumerate(codes)
    ]


def read_program(function: Any) -> Program:
    """Return the program of a function, in which each operation is done once on the same operands.

    Args:
        function: CasADi SX Function.

    Raises:
        KernelError: the function has an unknown operation.
    """
    kinds: dict[str, int] = {}
    leaves: dict[tuple[str, int | str], int] = {}
    registers: dict[int, int] = {}
    kind: list[int] = []
    operands: list[int] = []
    index: list[int] = []
    numbers: dict[int, float] = {}
    equal: dict[tuple[str, tuple[int, ...]], int] = {}
    outputs: list[Output] = []
    none = (-1,) * OPERANDS

    def node(name: str, given: tuple[int, ...], element: int = -1) -> int:
        kind.append(kinds.setdefault(name, len(kinds)))
        operands.extend(given)
        operands.extend(none[len(given) :])
        index.append(element)
        return len(kind) - 1

    def number(value: float) -> int:
        key = CONSTANT, value.hex()
        if key not in leaves:
            leaves[key] = node(CONSTANT, ())
            numbers[leaves[key]] = value
        return leaves[key]

    called = function.name()
    for code, given, to in read_instructions(function):
        if code == ca.OP_OUTPUT:
            which, element = to
            outputs.append(Output(which, element, registers[given[0]]))
            continue
        (register,) = to
        if code == ca.OP_INPUT:
            which, element = given
            key = str(which), element
            if key not in leaves:
                leaves[key] = node(key[0], (), element)
            registers[register] = leaves[key]
        elif code == ca.OP_CONST:
            registers[register] = number(given)
        else:
            name, places = operation(code, called)
            found = tuple([number(item) if isinstance(item, float) else registers[given[item]] for item in places])
            same = equal.get((name, found))
            if same is None:
                same = equal[name, found] = node(name, found)
            registers[register] = same
    elements = np.array(index, dtype=np.int64)
    is_number = np.zeros(len(kind), dtype=bool)
    is_number[list(numbers)] = True
    return Program(
        kinds=tuple(kinds),
        kind=np.array(kind, dtype=np.int64),
        operands=np.array(operands, dtype=np.int64).reshape(-1, OPERANDS),
        leaf=(elements >= 0) | is_number,
        index=elements,
        numbers=numbers,
        outputs=tuple(outputs),
    )

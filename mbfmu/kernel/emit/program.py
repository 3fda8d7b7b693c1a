"""CasADi SX Function -> Program: its operations in single assignment, each done once on the same operands."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.kernel.emit.instructions import LEAVES, read_instructions
from mbfmu.kernel.emit.operations import Operand, operation

Nodes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

CONSTANT = "constant"
"""Kind of the nodes that are constants."""
COPY = "SAME"
"""Operation that gives what it takes."""
COMMUTATIVE = frozenset({"ADD", "MUL"})
"""Operations that give the same bits for exchanged operands."""
OPERANDS = 3
"""Largest number of operands of an operation."""


class Output(NamedTuple):
    """A result: nonzero `element` of result `which` is a node."""

    which: int
    element: int
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
        index: that of the argument's nonzero, -1 for nodes that are no arguments, shape (n,).
        numbers: the constants, by node.
        depth: number of operations on the longest way from each node to a leaf, shape (n,).
        outputs: all results.
    """

    kinds: tuple[str, ...]
    kind: Nodes
    operands: Nodes
    leaf: Flags
    index: Nodes
    numbers: dict[int, float]
    depth: Nodes
    outputs: tuple[Output, ...]

    @property
    def size(self) -> int:
        """Number of operations."""
        return int((~self.leaf).sum())

    def name(self, node: int) -> str:
        """Return the kind of a node."""
        return self.kinds[int(self.kind[node])]


def triples(operands: Nodes) -> Iterator[tuple[int, int, int]]:
    """Yield the operands of each node: a list of lists would have Python look for garbage in all of them."""
    return zip(*(column.tolist() for column in operands.T), strict=True)


def depths(operands: Nodes) -> Nodes:
    """Return the number of operations on the longest way from each node to a leaf, shape (n,), of operands as above."""
    depth = [-1] * (len(operands) + 1)  # the last one stands for no operand
    for node, (a, b, c) in enumerate(triples(operands)):
        deepest, other, last = depth[a], depth[b], depth[c]
        deepest = other if other > deepest else deepest
        depth[node] = 1 + (last if last > deepest else deepest)
    return np.array(depth[:-1], dtype=np.int64)


def read_program(function: Any) -> Program:
    """Return the program of a function, in which each operation is done once on the same operands.

    Args:
        function: CasADi SX Function.

    Raises:
        KernelError: the function has an unknown operation.
    """
    # Nodes as columns of kind, operands, index and depth; equal nodes are one
    kinds: dict[str, int] = {}
    constants: dict[str, int] = {}
    entries: dict[int, int] = {}  # of the arguments, one argument after the other
    begins = list(accumulate((function.nnz_in(which) for which in range(function.n_in())), initial=0))
    registers = [-1] * int(function.sz_w())
    kind: list[int] = []
    operands: list[int] = []
    index: list[int] = []
    depth: list[int] = []
    numbers: dict[int, float] = {}
    equal: dict[int, int] = {}  # by kind and operands as one number: collecting garbage is slow among tuples
    outputs: list[Output] = []
    known: dict[int, tuple[int, tuple[Operand, ...], bool]] = {}

    # Leaves: constants by their bits, and entries of arguments
    def leaf(name: str, element: int = -1) -> int:
        kind.append(kinds.setdefault(name, len(kinds)))
        operands.extend((-1,) * OPERANDS)
        index.append(element)
        depth.append(0)
        return len(kind) - 1

    def constant(value: float) -> int:
        key = value.hex()
        if key not in constants:
            constants[key] = leaf(CONSTANT)
            numbers[constants[key]] = value
        return constants[key]

    def argument(which: int, element: int) -> int:
        node = entries.setdefault(begins[which] + element, len(kind))
        return leaf(str(which), element) if node == len(kind) else node

    # One instruction after the other, with the node that each register holds
    most = OPERANDS * function.n_instructions()
    for code, taken, filled in read_instructions(function):
        form = known.get(code)
        if form is None:
            if code == ca.OP_OUTPUT:
                which, element = filled
                outputs.append(Output(which, element, registers[taken[0]]))
                continue
            if code in LEAVES:
                registers[filled[0]] = constant(taken) if code == ca.OP_CONST else argument(*taken)
                continue
            # The form of an operation: its kind, its operands if not as they stand, and whether they commute
            name, order = operation(code, function.name())
            plain = all(item == at for at, item in enumerate(order))
            form = known[code] = kinds.setdefault(name, len(kinds)), () if plain else order, name in COMMUTATIVE
        # Operands, of which those that commute have one order
        which_kind, order, commutes = form
        a, b, c = registers[taken[0]], registers[taken[1]] if len(taken) > 1 else -1, -1
        if order:
            values = [constant(item) if isinstance(item, float) else (a, b)[item] for item in order]
            a, b, c = (values + [-1] * OPERANDS)[:OPERANDS]
        lower, upper = (b, a) if commutes and a > b else (a, b)
        # The node of this kind and these operands, which is new if there is none
        same = ((lower * most + upper) * most + c) * most + which_kind
        node = equal.setdefault(same, len(kind))
        if node == len(kind):
            kind.append(which_kind)
            operands += a, b, c
            index.append(-1)
            deepest = depth[a]
            if b >= 0:
                deepest = max(deepest, depth[b], depth[c] if c >= 0 else 0)
            depth.append(1 + deepest)
        registers[filled[0]] = node
    # The columns as arrays
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
        depth=np.array(depth, dtype=np.int64),
        outputs=tuple(outputs),
    )


def taken_by(program: Program, nodes: Nodes, outputs: Iterable[Output]) -> Nodes:
    """Return what operations take and results are."""
    shown = np.fromiter((item.node for item in outputs), np.int64)
    taken = np.unique(np.concatenate([program.operands[nodes].ravel(), shown]))
    return taken[taken >= 0]


def with_leaves(program: Program, names: Sequence[str], elements: Sequence[int]) -> tuple[Program, Nodes]:
    """Return a program with more arguments after its nodes, and their nodes.

    Args:
        program: the program.
        names: number of each argument.
        elements: number of its nonzero.
    """
    kinds = tuple(dict.fromkeys([*program.kinds, COPY, *names]))
    new = np.arange(len(program.kind), len(program.kind) + len(names))
    return replace(
        program,
        kinds=kinds,
        kind=np.append(program.kind, np.array([kinds.index(name) for name in names], dtype=np.int64)),
        operands=np.concatenate([program.operands, np.full((len(names), OPERANDS), -1)]),
        leaf=np.append(program.leaf, np.ones(len(names), dtype=bool)),
        index=np.append(program.index, np.array(elements, dtype=np.int64)),
    ), new


def part_of(program: Program, nodes: Nodes, outputs: Sequence[Output]) -> Program:
    """Return operations of a program, with the leaves that they take, as one of their own with these results.

    Args:
        program: the program.
        nodes: the operations.
        outputs: the results.
    """
    taken = taken_by(program, nodes, outputs)
    kept = np.concatenate([taken[program.leaf[taken]], nodes])
    index_of = np.full(len(program.kind) + 1, -1)  # of each node in the part; the last one is no node's
    index_of[kept] = np.arange(len(kept))
    operands, place_of = index_of[program.operands[kept]], index_of.tolist()
    return Program(
        kinds=program.kinds,
        kind=program.kind[kept],
        operands=operands,
        leaf=program.leaf[kept],
        index=program.index[kept],
        numbers={place_of[node]: value for node, value in program.numbers.items() if place_of[node] >= 0},
        depth=depths(operands),
        outputs=tuple(Output(item.which, item.element, place_of[item.node]) for item in outputs),
    )

"""SX Function or Program -> C tables: its operations as numbers, which one loop of the file follows.

An operation of straight code takes a compiler some 100 us and 12 bytes, one of a table 3 us and 4 bytes; but the table
runs for half as long again, or for up to twice as long. So tables are for long functions that run seldom.

Operations of one kind that do not take each other's results make a run. Products that only a sum takes are taken
together with it, term after term, which gives the same bits:

    SUM: a b + c d + ...        DOT: x + a b + c d + ...        DIFFERENCE: x - a b - c d - ...
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from mbfmu.kernel.emit.operations import literal
from mbfmu.kernel.emit.places import Tables
from mbfmu.kernel.emit.program import Program, read_program, triples
from mbfmu.kernel.emit.sections import Code

TABLED, TANGENT = "tabled.h", "tangent_tabled.h"
"""Names of the C files that follow tables, for values and for their changes."""
SUMS = ("SUM", "DOT", "DIFFERENCE")
"""Kinds of sums of products."""
WINDOW = 16_000
"""Number of operations among which runs are sought: more make longer runs, but keep more values waiting."""
LONGEST = 60_000
"""Largest number of operations of a run, of products of a sum, and of values that wait, which tables state in 16 bits.
"""


class Operation(NamedTuple):
    """An operation of a table.

    Args:
        kind: its name: one of `SUMS`, or one of the program's kinds.
        operands: the nodes that it takes.
    """

    kind: str
    operands: Sequence[int]

    @property
    def form(self) -> tuple[str, int]:
        """The kind and the number of products, which are the same for all operations of a run."""
        return self.kind, len(self.operands) // 2 if self.kind in SUMS else 0


class Tabled(NamedTuple):
    """A function as a table.

    Args:
        code: its C text.
        kinds: number of operands of each kind of operation that is no sum.
    """

    code: Code
    kinds: Mapping[str, int]


def tabled(function: Any, tables: Tables, seeds: int = 0) -> Tabled | None:
    """Return a function as a table; None if more than `LONGEST` values wait for their users at a time.

    Args:
        function: CasADi SX Function, or a Program.
        tables: constants of the file.
        seeds: index of the argument from which on there are changes of the arguments, for the change of the results
            instead of these; 0: there are none.

    Raises:
        KernelError: the function has an unknown operation.
    """
    program = function if isinstance(function, Program) else read_program(function)
    operations = _operations(program)
    runs = list(_runs(operations))
    slots, size = _slots(program, operations, runs)
    if size > LONGEST:
        return None
    # Runs: kind, number of operations, of a sum that of products; of each operation the entry it fills and its operands
    text: list[str] = []
    for run in runs:
        kind, products = operations[run[0]].form
        text += [f"TABLE_{kind}", f"{len(run)}", *([f"{products}"] if kind in SUMS else [])]
        for node in run:
            text += map(str, (slots[node], *map(slots.__getitem__, operations[node].operands)))
    # Leaves and results: constants, of which C has no table of those that are not finite; arguments as index and entry;
    # results as index, entry, and their entry of the work vector
    numbers = [literal(program.numbers[node]) for node in _numbers(program)]
    first = sum(not math.isfinite(value) for value in program.numbers.values())
    arguments = [(program.name(node), program.index[node]) for node in _arguments(program)]
    results = [(item.which, item.element, slots[item.node]) for item in program.outputs]
    rows = [
        tables.name("unsigned short", [*text, "TABLE_END"]),
        f"{first}",
        tables.name("V", [f"ENTRY({number})" for number in numbers[first:]] or ["ENTRY(0.0)"]),
        f"{len(numbers) - first}",
        *(part for table in (arguments, results) for part in _listed(tables, table)),
    ]
    lines = [f"w[{slot}] = SAME({number});" for slot, number in enumerate(numbers[:first])]
    table = tables.name("struct table", rows)
    call = f"follow_tangent(&{table}, arg, arg + {seeds}, res, w, w + {size});"
    lines.append(call if seeds else f"follow(&{table}, arg, res, w);")
    included = (TABLED, TANGENT) if seeds else (TABLED,)
    kinds = {item.kind: len(item.operands) for item in operations.values() if item.kind not in SUMS}
    room = 2 * size if seeds else size
    return Tabled(Code("".join(f"  {line}\n" for line in lines), room, included=included), kinds)


def _listed(tables: Tables, rows: Sequence[Sequence[Any]]) -> tuple[str, str]:
    """Return the name of a table of integers, and the number of its rows."""
    return tables.name("int", [str(entry) for row in rows for entry in row] or ["0"]), f"{len(rows)}"


def _numbers(program: Program) -> list[int]:
    """Return the nodes that are constants, those that are not finite first."""
    return sorted(program.numbers, key=lambda node: math.isfinite(program.numbers[node]))


def _arguments(program: Program) -> list[int]:
    """Return the nodes that are entries of arguments."""
    return [node for node in np.flatnonzero(program.leaf).tolist() if node not in program.numbers]


def _operations(program: Program) -> dict[int, Operation]:
    """Return the operations by node, in the program's order; sums stand for their products and for shorter sums."""
    uses = Counter(program.operands[program.operands >= 0].tolist())
    uses.update(item.node for item in program.outputs)
    result: dict[int, Operation] = {}

    def only(node: int, *kinds: str) -> bool:
        """Return whether a node has one of these kinds and nothing else takes it."""
        return uses[node] == 1 and node in result and result[node].kind in kinds

    kinds, leaf = [program.kinds[kind] for kind in program.kind.tolist()], program.leaf.tolist()
    for node, taken in enumerate(triples(program.operands)):
        if leaf[node]:
            continue
        kind, operands = kinds[node], [item for item in taken if item >= 0]
        result[node] = Operation(kind, operands)
        if kind not in {"ADD", "SUB"}:
            continue
        # The last term, a product, and what comes before it: a sum of the same sign or else a value
        last, before = (1, 0) if kind == "SUB" or only(operands[1], "MUL") else (0, 1)
        if not only(operands[last], "MUL"):
            continue
        product, rest, signed = result.pop(operands[last]).operands, operands[before], "DIFFERENCE"
        if kind == "ADD":
            signed = "SUM" if only(rest, "MUL", "SUM") else "DOT"
        joined = (only(rest, signed) or signed == "SUM") and len(result[rest].operands) < LONGEST
        result[node] = Operation(signed, [*(result.pop(rest).operands if joined else [rest]), *product])
    return result


def _runs(operations: Mapping[int, Operation]) -> Iterator[list[int]]:
    """Yield runs of operations of one form, operands before their users: of those that are ready the longest first."""
    users: dict[int, list[int]] = defaultdict(list)
    missing: dict[int, int] = {}
    for node, item in operations.items():
        taken = {operand for operand in item.operands if operand in operations}
        missing[node] = len(taken)
        for operand in taken:
            users[operand].append(node)
    order = list(operations)
    for begin in range(0, len(order), WINDOW):
        window = order[begin : begin + WINDOW]
        last, left = window[-1], len(window)
        ready: dict[tuple[str, int], list[int]] = defaultdict(list)
        for node in window:
            if not missing[node]:
                ready[operations[node].form].append(node)
        while left:
            run = sorted(ready.pop(max(ready, key=lambda form: len(ready[form]))))[:LONGEST]
            left -= len(run)
            yield run
            for user in (user for node in run for user in users[node]):
                missing[user] -= 1
                if not missing[user] and user <= last:
                    ready[operations[user].form].append(user)


def _slots(
    program: Program, operations: Mapping[int, Operation], runs: Sequence[Sequence[int]]
) -> tuple[dict[int, int], int]:
    """Return the entry of the work vector of each node, and the number of entries; constants and arguments are first.

    An entry is filled again once no value in it is needed any more.
    """
    leaves = [*_numbers(program), *_arguments(program)]
    slots, size = {node: slot for slot, node in enumerate(leaves)}, len(leaves)
    last: dict[int, int] = {}  # run after which a node is not needed
    for index, run in enumerate(runs):
        for node in run:
            last.update(dict.fromkeys(operations[node].operands, index))
    last.update((item.node, len(runs)) for item in program.outputs)
    ending: dict[int, list[int]] = defaultdict(list)
    free: list[int] = []
    for index, run in enumerate(runs):
        for node in run:
            if free:
                slots[node] = heappop(free)
            else:
                slots[node] = size
                size += 1
            ending[last.get(node, index)].append(slots[node])
        for slot in ending.pop(index, ()):
            heappush(free, slot)
    return slots, size

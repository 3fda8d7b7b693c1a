"""C functions with loops: what does not depend on how the loops were found."""

from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mbfmu.kernel.emit.operations import literal
from mbfmu.kernel.emit.program import Nodes, Output, Program
from mbfmu.kernel.shorten.families import LEAST


@dataclass(frozen=True)
class Blocks:
    """Turns of a loop in blocks.

    Args:
        length: number of turns of a block, but for the first and the last, which may have fewer.
        missing: number of turns that the first one lacks.
    """

    length: int
    missing: int

    def head(self, count: int) -> str:
        """Return the line that begins a loop of so many turns; one brace ends it."""
        if self.missing or count % self.length:
            ends, first, last = f"k < {count}", f"b ? 0 : {self.missing}", f"i < {self.length} && k < {count}"
        else:
            ends, first, last = f"b < {count // self.length}", "0", f"i < {self.length}"
        return f"  for (int k = 0, b = 0; {ends}; ++b) for (int i = {first}; {last}; ++i, ++k) {{"

    def linear(self, indices: Nodes) -> str | None:
        """Return indices as an expression linear in the numbers of the block and of the turn in it, if they are."""
        turns = np.arange(len(indices)) + self.missing
        block, turn = turns // self.length, turns % self.length
        steps = np.diff(indices)
        within = steps[turn[1:] > 0]
        between = steps[turn[1:] == 0]
        if not (len(within) and len(between)):
            return None
        step = int(within[0])
        leap = int(between[0]) + step * (self.length - 1)
        first = int(indices[0]) - step * self.missing
        if (indices != first + leap * block + step * turn).any():
            return None
        return f"{leap} * b + {step} * i + {first}"


def blocks_of(steps: Nodes) -> Blocks | None:
    """Return the blocks in which indices with these steps may be linear; None: there are none."""
    values, counts = np.unique(steps, return_counts=True)
    leaps = np.flatnonzero(steps != values[counts.argmax()])
    if len(leaps) < 2 or leaps[1] - leaps[0] < 2:
        return None
    length = int(leaps[1] - leaps[0])
    return Blocks(length, length - 1 - int(leaps[0])) if leaps[0] < length else None


class LoopText(ABC):
    """The C text of a function; subclasses say what their loops, and the nodes outside of them, are.

    In it ``i0``, ``o0`` ... are arguments and results, ``t0`` ... are tables, ``k`` counts turns from 0, and ``s9`` is
    the value of node 9, outside of loops. Turns may come in blocks (see `looped`): ``b`` counts these, and ``i`` the
    turns of one.

    Args:
        program: the function.
        unwanted: numbers of the results that a caller may leave out.

    Attributes:
        tables: definitions of the tables.
    """

    def __init__(self, program: Program, unwanted: Collection[int]) -> None:
        self.program, self.unwanted = program, unwanted
        self.tables: dict[str, str] = {}
        self._blocks: Blocks | None = None  # of the loop that is written
        self._tried: Counter[Blocks] = Counter()  # those that would spare that loop a table

    @abstractmethod
    def name(self, node: int) -> str:
        """Return the C expression of a node outside of its loop."""

    @abstractmethod
    def single(self, node: int) -> Iterator[str]:
        """Yield the computation of a node outside of loops."""

    @abstractmethod
    def loop(self, index: int) -> Iterator[str]:
        """Yield a loop."""

    def body(self, before: Iterable[tuple[int, int]], loops: int, alone: Iterable[Output]) -> str:
        """Return the function's body.

        Args:
            before: nodes outside of loops, each after its operands, and the loop that follows it.
            loops: number of loops.
            alone: the results that are stored one by one.
        """
        nodes, again, copies = defaultdict(list), defaultdict(list), defaultdict(list)
        for item in alone:
            if self.program.index[item.node] >= 0:
                copies[item.which, self.program.name(item.node)].append(item)
            else:
                again[item.node, item.which].append(item)
        stores: dict[int, list[str]] = defaultdict(list)
        for (node, _), items in again.items():
            stores[node] += self.store_all(items, self.name(node))
        for node, index in before:
            nodes[index].append(node)
        lines: list[str] = []
        for index in range(loops + 1):
            for node in nodes[index]:
                lines += [*self.single(node), *stores.pop(node, [])]
            if index < loops:
                lines += self.loop(index)
        lines += [line for each in stores.values() for line in each]
        for items in copies.values():
            lines += self.store_all(items)
        return "\n".join([*self.head(), *self.definitions(), *lines, ""])

    def operation(self, node: int) -> str:
        """Return the line that computes a node outside of loops."""
        names = [self.name(used) for used in self.program.operands[node].tolist() if used >= 0]
        return f"  const V s{node} = {self.program.name(node)}({', '.join(names)});"

    def head(self) -> Iterator[str]:
        """Yield the declarations of arguments and results."""
        for kind in np.unique(self.program.kind[self.program.index >= 0]):
            which = self.program.kinds[kind]
            yield f"  const V *const restrict i{which} = arg[{which}];"
        for which in sorted({item.which for item in self.program.outputs}):
            yield f"  V *const restrict o{which} = res[{which}];"

    def leaf(self, node: int) -> str:
        """Return the C expression of a leaf."""
        if node in self.program.numbers:
            return literal(self.program.numbers[node])
        return f"i{self.program.name(node)}[{self.program.index[node]}]"

    def leaves(self, nodes: Nodes) -> str:
        """Return the C expression of leaves of one kind, one for each turn."""
        if nodes[0] in self.program.numbers:
            texts = [literal(self.program.numbers[node]) for node in nodes.tolist()]
            return texts[0] if len(set(texts)) == 1 else f"{self.table('double', texts)}[k]"
        return f"i{self.program.name(int(nodes[0]))}[{self.index(self.program.index[nodes])}]"

    def index(self, indices: Nodes) -> str:
        """Return an index for each turn: linear in k, or in the numbers of a block and a turn in it, or a table."""
        return self.linear(indices) or f"{self.table('int', map(str, indices.tolist()))}[k]"

    def linear(self, indices: Nodes) -> str | None:
        """Return an index for each turn, if it needs no table."""
        steps = np.diff(indices)
        if not len(steps):
            return None
        if (steps == steps[0]).all():
            return f"{steps[0]} * k + {indices[0]}"
        if self._blocks:
            return self._blocks.linear(indices)
        blocks = blocks_of(steps)
        if blocks and blocks.linear(indices):
            self._tried[blocks] += 1
        return None

    def looped(self, count: int, body: Callable[[], Iterable[str]]) -> Iterator[str]:
        """Yield a loop; one that would need tables is over blocks of turns in which indices are linear, if they are.

        Args:
            count: number of turns.
            body: gives the lines of a turn.
        """
        tables = dict(self.tables)
        self._tried.clear()
        lines = list(body())
        head = f"  for (int k = 0; k < {count}; ++k) {{"
        if self._tried:
            self.tables, self._blocks = tables, self._tried.most_common(1)[0][0]
            lines, head = list(body()), self._blocks.head(count)
            self._blocks = None
        yield head
        yield from lines
        yield "  }"

    def table(self, kind: str, values: Iterable[str]) -> str:
        """Return the name of a table of values."""
        content = f"{{{', '.join(values)}}}"
        return self.tables.setdefault(f"{kind} {content}", f"t{len(self.tables)}")

    def definitions(self) -> Iterator[str]:
        """Yield the definitions of all tables."""
        for key, name in self.tables.items():
            kind, _, content = key.partition(" ")
            yield f"  static const {kind} {name}[] = {content};"

    def store_all(self, items: Sequence[Output], value: str = "") -> Iterator[str]:
        """Yield the lines that store results of one number: the same value, or without one the argument of each."""
        if len(items) < LEAST:
            yield from (self.store(item, str(item.element), value or self.leaf(item.node)) for item in items)
            return
        nodes = np.array([item.node for item in items])
        yield from self.looped(len(items), lambda: [self.store_turns(items, value or self.leaves(nodes))])

    def store(self, item: Output, index: str, value: str) -> str:
        """Return the line that stores a result."""
        guard = f"if (o{item.which}) " if item.which in self.unwanted else ""
        return f"  {guard}o{item.which}[{index}] = SAME({value});"

    def stores(
        self, index: Nodes, turn: Nodes, turns: Callable[[int], int]
    ) -> tuple[dict[int, list[list[Output]]], list[Output]]:
        """Return the results that loops store, one for each turn, and the results stored one by one.

        Args:
            index: operation in a loop that computes each node, -1 for other nodes, shape (n,).
            turn: turn in which it does, shape (n,).
            turns: gives the number of turns of an operation's loop.

        Returns:
            The results for all turns, in their order, by operation; all other results.
        """
        at_turns: dict[tuple[int, int], dict[int, list[Output]]] = defaultdict(lambda: defaultdict(list))
        alone: list[Output] = []
        nodes = np.fromiter((item.node for item in self.program.outputs), np.int64, len(self.program.outputs))
        for item, of, at in zip(self.program.outputs, index[nodes].tolist(), turn[nodes].tolist(), strict=True):
            if of >= 0:
                at_turns[of, item.which][at].append(item)
            else:
                alone.append(item)
        stored: dict[int, list[list[Output]]] = defaultdict(list)
        for (of, _), items in at_turns.items():
            if len(items) == turns(of) and len({len(each) for each in items.values()}) == 1:
                stored[of] += [list(each) for each in zip(*(items[turn] for turn in sorted(items)), strict=True)]
            else:
                alone += [item for each in items.values() for item in each]
        return stored, alone

    def store_turns(self, items: Sequence[Output], value: str) -> str:
        """Return the line that stores a result in each turn."""
        return "  " + self.store(items[0], self.index(np.array([item.element for item in items])), value)

"""Layers -> C text: loops whose turns find by tables what other loops left in the work vector."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from mbfmu.kernel.emit.program import Nodes, Program
from mbfmu.kernel.shorten.layers import Layers, in_turn, operands_alone
from mbfmu.kernel.shorten.loop_text import LoopText

BESIDE = 4
"""Largest number of turns by which values of nodes of no layer stand before or after the rows of a layer's loop."""


class LayerText(LoopText):
    """The C text of a program with layers.

    There ``s9`` may be the result of the run that ends with node 9. Within a loop ``a7`` is layer 7's value in this
    turn, ``v`` this turn's row of the work vector, and ``r3`` what table 3 leads to.

    Args:
        program: the function.
        layers: the place of each operation.
        unwanted: numbers of the results that a caller may leave out.

    Attributes:
        size: number of entries of the work vector.
    """

    def __init__(self, program: Program, layers: Layers, unwanted: Collection[int]) -> None:
        super().__init__(program, unwanted)
        self.layers = layers
        self.turn = np.zeros(len(program.kind), dtype=np.int64)
        for members in layers.members:
            self.turn[members] = np.arange(len(members))
        self.stored, self.alone = self.stores(layers.layer, self.turn, lambda index: len(layers.members[index]))
        self.slot = np.full(len(program.kind), -1)  # entry of the work vector of each node that is kept there
        self.column: dict[int, int] = {}  # of each layer that is kept there, in the rows of its loop
        self.rows: dict[int, tuple[int, int]] = {}  # first entry and length of each loop's rows
        self.size = self._kept(*self._needed())

    def text(self) -> str:
        """Return the function's body."""
        return self.body(sorted(self.layers.before.items()), self.layers.loops, self.alone)

    def single(self, node: int) -> Iterator[str]:
        """Yield the computation of a node that is in no layer, or of the run that it stands for."""
        run = self.layers.runs.get(node)
        if run is None:
            yield self.operation(node)
        else:

            def turn() -> list[str]:
                names = [f"s{node}"] * 2
                names[run.other], pointer = self._varying(self.program.operands[run.members, run.other])
                return [*pointer, f"    s{node} = {self.program.name(node)}({', '.join(names)});"]

            yield f"  V s{node} = SAME({self.name(int(self.program.operands[run.members[0], run.place]))});"
            yield from self.looped(len(run.members), turn)
        if self.slot[node] >= 0:
            yield f"  w[{self.slot[node]}] = s{node};"

    def loop(self, index: int) -> Iterator[str]:
        """Yield a loop; nothing for one that all layers have left."""
        ours = np.flatnonzero(self.layers.loop == index).tolist()
        if ours:
            yield from self.looped(len(self.layers.members[ours[0]]), lambda: self._turn(index, ours))

    def _turn(self, index: int, ours: Sequence[int]) -> Iterator[str]:
        """Yield the lines of a turn of a loop with these layers."""
        lines: list[str] = []
        pointers: dict[str, None] = {}
        for layer in ours:
            members, names = self.layers.members[layer], []
            for used in self._operands(layer):
                if self._at_hand(layer, used):
                    names.append(f"a{self.layers.layer[used[0]]}")
                else:
                    name, pointer = self._varying(used)
                    names.append(name)
                    pointers |= dict.fromkeys(pointer)
            lines.append(f"    const V a{layer} = {self.program.name(int(members[0]))}({', '.join(names)});")
            if layer in self.column:
                lines.append(f"    v[{self.column[layer]}] = a{layer};")
            lines += [self.store_turns(items, f"a{layer}") for items in self.stored[layer]]
        if index in self.rows:
            start, length = self.rows[index]
            yield f"    V *const v = w + ({length} * k + {start});"
        yield from pointers
        yield from lines

    def _varying(self, used: Nodes) -> tuple[str, Iterable[str]]:
        """Return the C expression of a node for each turn of a loop, and the line that defines its pointer."""
        if (used == used[0]).all():
            return self.name(int(used[0])), ()
        if self.program.leaf[used[0]]:
            return self.leaves(used), ()
        slots = self.slot[used]
        index = self.linear(slots)
        if index:
            return f"w[{index}]", ()
        table = self.table("int", map(str, (slots - slots[0]).tolist()))
        return f"r{table[1:]}[{slots[0]}]", (f"    const V *const r{table[1:]} = w + {table}[k];",)

    def name(self, node: int) -> str:
        """Return the C expression of a node outside of its loop."""
        if self.program.leaf[node]:
            return self.leaf(node)
        return f"s{node}" if self.layers.layer[node] < 0 else f"w[{self.slot[node]}]"

    def _operands(self, index: int) -> Iterator[Nodes]:
        """Yield the operands of a layer, one for each turn."""
        for used in self.program.operands[self.layers.members[index]].T:
            if used[0] >= 0:
                yield used

    def _at_hand(self, index: int, used: Nodes) -> bool:
        """Return whether a layer's operand comes from the same turn of its loop."""
        same = self.layers.loop[self.layers.layer[used[0]]] == self.layers.loop[index]
        return bool(same and in_turn(self.layers.members, self.layers.layer, used))

    def _needed(self) -> tuple[set[int], set[int]]:
        """Return the layers, and the nodes of none, whose values are read from the work vector."""
        layers = {int(self.layers.layer[item.node]) for item in self.alone}
        nodes: set[int] = set()
        for node in self.layers.before:
            used = operands_alone(self.program, self.layers.runs, node)
            layers.update(self.layers.layer[used].tolist())
            if node in self.layers.runs:
                nodes.update(used.tolist())
        for index in range(len(self.layers.members)):
            for used in self._operands(index):
                if not self.program.leaf[used[0]] and not self._at_hand(index, used):
                    layers.update(self.layers.layer[used].tolist())
                    if (used != used[0]).any():
                        nodes.update(used.tolist())
        return layers - {-1}, {node for node in nodes if self.layers.layer[node] < 0}

    def _kept(self, layers: Collection[int], nodes: Collection[int]) -> int:
        """Give values their entries of the work vector, loop by loop; return the number of entries."""
        loops = defaultdict(list)
        for index in sorted(layers):
            loops[int(self.layers.loop[index])].append(index)
        beside = self._beside(nodes)
        size = 0
        for loop, ours in sorted(loops.items()):
            turns = len(self.layers.members[ours[0]])
            others = [turn for layer, turn in beside if self.layers.loop[layer] == loop]
            start = size - len(ours) * min([0, *others])
            size = start + len(ours) * max([turns, *(turn + 1 for turn in others)])
            self.rows[loop] = start, len(ours)
            for column, index in enumerate(ours):
                self.column[index] = column
                self.slot[self.layers.members[index]] = start + column + len(ours) * np.arange(turns)
        for (layer, turn), node in beside.items():
            start, length = self.rows[int(self.layers.loop[layer])]
            self.slot[node] = start + self.column[layer] + length * turn
        for node in sorted(set(nodes) - set(beside.values())):
            self.slot[node] = size
            size += 1
        return size

    def _beside(self, nodes: Collection[int]) -> dict[tuple[int, int], int]:
        """Return nodes of no layer that stand before or after a layer's rows, by layer and turn.

        They are where the first or last turns of a loop look for what the other turns take from the layer, so that no
        table is needed.

        Args:
            nodes: nodes of no layer whose values are read from the work vector.
        """
        result: dict[tuple[int, int], int] = {}
        placed: set[int] = set()
        for index in range(len(self.layers.members)):
            for used in self._operands(index):
                wanted = self._continued(used)
                if all(
                    node in nodes and (result[slot] == node if slot in result else node not in placed)
                    for slot, node in wanted.items()
                ):
                    result |= wanted
                    placed.update(wanted.values())
        return result

    def _continued(self, used: Nodes) -> dict[tuple[int, int], int]:
        """Return the places in which the rows of a layer, continued before and after, would have some operands.

        Args:
            used: an operand in each turn of a loop: of the layer, or for few turns of none.

        Returns:
            The operands of no layer by layer and turn; nothing if there are none, if they are more than `BESIDE`, or
            where the others are not evenly apart.
        """
        layer = self.layers.layer[used]
        alone, ours = np.flatnonzero(layer < 0), np.flatnonzero(layer >= 0)
        if not 0 < len(alone) <= BESIDE or len(ours) < 2 or (layer[ours] != layer[ours[0]]).any():
            return {}
        index, turns = int(layer[ours[0]]), self.turn[used[ours]]
        step = int(turns[-1] - turns[0]) // int(ours[-1] - ours[0])
        line = turns[0] + step * (np.arange(len(used)) - ours[0])
        there, last = line[alone], len(self.layers.members[index]) - 1
        near = (there >= -BESIDE) & (there < 0) | (last < there) & (there <= last + BESIDE)
        if (line[ours] != turns).any() or not near.all():
            return {}
        return {(index, turn): node for turn, node in zip(there.tolist(), used[alone].tolist(), strict=True)}

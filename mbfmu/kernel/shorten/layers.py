"""Program -> Layers: equal operations at equal depths, for loops whose turns find their operands by tables.

The links of a branching tree repeat the same operations, but no distance leads from a link to its parent. Operations at
the same depth, the longest way down to the arguments, never depend on each other; those that are equal, with equal
operands some steps down, form a layer. A branching tree has a few for each of its levels, and bodies in absolute
coordinates have few. Layers with as many turns share a loop where their operands allow it. Those whose turns belong to
the same links have one frame: their turns have one order, so that one takes the results of another turn by turn.

Bodies in a pile touch unlike many others, so that their values differ by their users; layers of what pairs of bodies do
disregard these.

A sum over all links is a run: operations each of which takes the result of the one before, which nothing else takes.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mbfmu.kernel.emit.program import Nodes, Program
from mbfmu.kernel.shorten.families import LEAST, USERS, colours_below

LONGEST = 24
"""Number of operations from which a run is a loop of its own."""

FEW = 1 / 32
"""Largest share of the operations of a layer, and of all layers, that are taken out so that the others have neighbours
in layers alone: steps of a tree of 1000 links take 5 to 8 per cent less; from 1/25 on the code becomes too long."""


@dataclass(frozen=True)
class OperationChain:
    """Operations of one kind, each of which takes the result of the one before.

    Args:
        members: their nodes, in order; the last stands for the run.
        place: place of that result among their operands.
        other: place of the other operand.
    """

    members: Nodes
    place: int
    other: int


@dataclass(frozen=True)
class Layers:
    """The place of each operation of a program.

    Args:
        members: nodes of each layer, one for each turn of its loop; layers stand after those whose results they take.
        loop: number of each layer's loop, shape (layers,).
        layer: layer of each node, -1 for nodes of none, shape (n,).
        loops: number of loops.
        before: the loop that follows each other node; of a run, its last node alone.
        runs: the runs, by their last node.
    """

    members: tuple[Nodes, ...]
    loop: Nodes
    layer: Nodes
    loops: int
    before: dict[int, int]
    runs: dict[int, OperationChain]

    @property
    def statements(self) -> int:
        """Number of operations that are written."""
        return len(self.members) + len(self.before)


def find_layers(program: Program, most: float, users: int = USERS) -> Layers | None:
    """Return the layers and the runs of a program; None if more than `most` operations would still be written.

    Args:
        program: the program.
        most: largest number of operations that are written.
        users: see `colours_below`.
    """
    runs = {int(run.members[-1]): run for run in _runs(program)}
    free = ~program.leaf
    for run in runs.values():
        free[run.members] = False
    alike = _alike(program, np.flatnonzero(free), most, users)
    if alike is None or free.sum() - sum(len(nodes) - 1 for nodes in alike) > most:
        return None
    frames = _Frames(program)
    for nodes in alike:
        frames.add(nodes)
    layers = _placed(program, frames.layers(), runs)
    return layers if layers.statements <= most else None


def operands_alone(program: Program, runs: Mapping[int, OperationChain], node: int) -> Nodes:
    """Return the operands, without leaves, of a node of no layer, or of the run that it stands for."""
    used = program.operands[node]
    if node in runs:
        run = runs[node]
        used = np.append(program.operands[run.members, run.other], program.operands[run.members[0], run.place])
    used = used[used >= 0]
    return np.asarray(used[~program.leaf[used]])


def in_turn(members: Sequence[Nodes], layer: Nodes, used: Nodes) -> bool:
    """Return whether operands are those of a layer, turn by turn.

    Args:
        members: nodes of each layer.
        layer: layer of each node, -1 for nodes of none.
        used: the operand in each turn.
    """
    other = layer[used[0]]
    return bool(other >= 0 and np.array_equal(members[other], used))


def _forms(program: Program) -> Nodes:
    """Return the kind of each operand that is a leaf; -1 for other operands, -2 for none, shape (n, `OPERANDS`)."""
    used = program.operands
    return np.where(used < 0, -2, np.where(program.leaf[used], program.kind[used], -1))


def _runs(program: Program) -> Iterator[OperationChain]:
    """Yield the runs of at least `LONGEST` operations whose other operands have one form."""
    # Operands on the longer way, by depth, and how often each node is used
    shown = np.array([item.node for item in program.outputs], dtype=np.int64)
    uses = np.bincount(np.append(program.operands[program.operands >= 0], shown), minlength=len(program.kind))
    nodes = np.arange(len(program.kind))
    reach = program.depth[program.operands]
    position = np.where(reach[:, 1] > reach[:, 0], 1, 0)
    taken, form = program.operands[nodes, position], _forms(program)
    # Whether an operation continues the run of that operand, which nothing else uses
    follows = (form[:, 1] != -2) & (form[:, 2] == -2) & ~program.leaf[taken] & (uses[taken] == 1)
    follows &= (program.kind[taken] == program.kind) & (position[taken] == position)
    follows &= form[taken, 1 - position] == form[nodes, 1 - position]
    # From the last operation of each run back to its first
    last = follows.copy()
    last[taken[follows]] = False
    before = np.where(follows, taken, -1).tolist()
    for node in np.flatnonzero(last).tolist():
        members = [node]
        while before[members[-1]] >= 0:
            members.append(before[members[-1]])
        if len(members) >= LONGEST:
            yield OperationChain(np.array(members[::-1]), int(position[node]), int(1 - position[node]))


def _alike(program: Program, nodes: Nodes, most: float, users: int) -> list[Nodes] | None:
    """Return those of the nodes that make layers, layer by layer, operands before their users.

    Args:
        program: the program.
        nodes: some of them.
        most: number of nodes of no layer from which the layers are of no use: nothing is returned.
        users: see `colours_below`.
    """
    # Operations of equal depth, kind and forms of operands
    key = program.depth
    for column in (program.kind, *_forms(program).T):
        key = key * (len(program.kinds) + 2) + column + 2
    _, which, count = np.unique(key[nodes], return_inverse=True, return_counts=True)
    enough = count[which] >= LEAST
    all_nodes = len(nodes)
    if all_nodes - enough.sum() > most:
        return None
    # Of these, layers are those of equal colours below
    nodes = nodes[enough]
    keys = np.stack([colours_below(program, users).view(np.int64)[nodes], key[nodes]])
    order = np.lexsort(keys)
    ends = np.flatnonzero((np.diff(keys[:, order], axis=1) != 0).any(axis=0)) + 1
    ends = np.concatenate([[0], ends, [len(nodes)]])
    long = np.flatnonzero(np.diff(ends) >= LEAST)
    result = [nodes[order[first:last]] for first, last in zip(ends[long], ends[long + 1], strict=True)]
    in_layers = sum(map(len, result))
    return _even(program, result, max((1 - FEW) * in_layers, all_nodes + len(result) - most))


def _even(program: Program, alike: list[Nodes], least: float) -> list[Nodes]:
    """Return layers without the few operations that take, or are taken by, what is in no layer, unlike the others.

    They are those next to the places where a tree is uneven. Layers on both sides of such a place then have as many
    turns, and share loops.

    Args:
        program: the program.
        alike: nodes of each layer.
        least: number of nodes below which the layers stay as they are.
    """
    # Layer of each node, and pairs of user and operand
    of = np.full(len(program.kind), -1)
    for index, nodes in enumerate(alike):
        of[nodes] = index
    users, columns = np.nonzero((program.operands >= 0) & ~program.leaf[program.operands])
    used = program.operands[users, columns]
    size = np.array([len(nodes) for nodes in alike], dtype=np.int64)
    while True:
        leaving = np.zeros(len(of), dtype=bool)
        within = of >= 0
        # Members that leave: few of a layer are beside a node of none, as user or operand
        for one, other in ((users, used), (used, users)):
            beside = np.zeros(len(of), dtype=bool)
            beside[one[within[one] & ~within[other]]] = True
            nodes = np.flatnonzero(beside)
            count = np.bincount(of[nodes], minlength=len(alike))
            leaving[nodes[(count <= FEW * size)[of[nodes]]]] = True
        if not leaving.any():
            return [nodes[within[nodes]] for nodes in alike]
        size -= np.bincount(of[leaving], minlength=len(alike))
        of[leaving] = -1
        if size.sum() < least:
            return alike


class _Frames:
    """Layers while they are found, and their frames, of which two become one where an operation ties their turns.

    The arguments that a layer takes, a different one in each turn, count as a layer too: whatever takes the same ones
    has the same frame.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.members: list[Nodes] = []
        self.frame: list[int] = []
        self.belonging: dict[int, list[int]] = {}
        self.layer, self.turn = np.full(len(program.kind), -1), np.zeros(len(program.kind), dtype=np.int64)
        self.arguments: dict[bytes, int] = {}

    def add(self, nodes: Nodes) -> None:
        """Make equal operations one layer, or one for each layer of an operand that they take as a whole."""
        # Operands that differ from turn to turn, and their layers
        operands = self.program.operands[nodes]
        positions = [position for position, used in enumerate(operands.T) if used[0] >= 0 and (used != used[0]).any()]
        parted = [parts for position in positions if (parts := self._parts(operands[:, position]))]
        # Without such layers, turns are in the order of the first operand
        if not parted and positions:
            used = operands[:, positions[0]]
            rank = np.where(self.program.leaf[used], self.program.index[used], self.turn[used])
            nodes = nodes[np.lexsort([nodes, rank])]
        # One layer for each, with the frame of what it takes as a whole
        for part in max(parted, key=len, default=[np.arange(len(nodes))]):
            index = self._put(nodes[part])
            for position in positions:
                used = self.program.operands[self.members[index], position]
                other = self._of_arguments(used) if self.program.leaf[used[0]] else int(self.layer[used[0]])
                if other >= 0 and self._whole(used, other):
                    self._tie(index, other, used)

    def layers(self) -> list[Nodes]:
        """Return the nodes of each layer, one for each turn."""
        return [nodes for nodes in self.members if not self.program.leaf[nodes[0]]]

    def _parts(self, used: Nodes) -> list[Nodes]:
        """Return the places of operands by their layers, if each of these is taken as a whole; else nothing."""
        layers = self.layer[used]
        parts = [np.flatnonzero(layers == layer) for layer in np.unique(layers)] if layers.min() >= 0 else []
        return parts if all(self._whole(used[part], int(layers[part[0]])) for part in parts) else []

    def _whole(self, used: Nodes, layer: int) -> bool:
        """Return whether nodes are all those of a layer, each once."""
        return np.array_equal(np.sort(used), np.sort(self.members[layer]))

    def _of_arguments(self, used: Nodes) -> int:
        """Return the layer of arguments, which may be a new one; -1 for numbers, and if some are taken twice."""
        different = np.unique(used)
        if len(different) < len(used) or used[0] in self.program.numbers:
            return -1
        key = different.tobytes()
        if key not in self.arguments:
            self.arguments[key] = self._put(different)
        return self.arguments[key]

    def _put(self, members: Nodes) -> int:
        """Make a layer with a frame of its own; return its number."""
        index = len(self.members)
        self.members.append(members)
        self.frame.append(index)
        self.belonging[index] = [index]
        self._order(index, members)
        return index

    def _order(self, index: int, members: Nodes) -> None:
        """Give the members of a layer their turns."""
        self.members[index] = members
        if not self.program.leaf[members[0]]:
            self.layer[members], self.turn[members] = index, np.arange(len(members))

    def _tie(self, one: int, other: int, used: Nodes) -> None:
        """Make one frame of those of two layers, given the member of the other that each member of the first takes."""
        if self.frame[one] == self.frame[other]:
            return
        few, many = sorted((self.frame[one], self.frame[other]), key=lambda frame: len(self.belonging[frame]))
        by_node = np.argsort(self.members[other])
        turns = by_node[np.searchsorted(self.members[other], used, sorter=by_node)]
        order = turns if few == self.frame[other] else np.argsort(turns)
        for index in self.belonging.pop(few):
            self._order(index, self.members[index][order])
            self.frame[index] = many
            self.belonging[many].append(index)


class _Schedule:
    """Loops for layers, and places between them for other nodes, as early as operands allow, then as late as users do.

    A layer can share a loop of as many turns with what it takes turn by turn, and with what it does not take.
    """

    def __init__(self, program: Program, members: Sequence[Nodes], runs: Mapping[int, OperationChain]) -> None:
        self.program, self.members, self.runs = program, members, runs
        self.layer = np.full(len(program.kind), -1)
        for index, each in enumerate(members):
            self.layer[each] = index
        self.loops, self.loops_of = 0, defaultdict[int, list[int]](list)  # by their numbers of turns
        self.loop = np.zeros(len(members), dtype=np.int64)
        self.before = np.zeros(len(program.kind), dtype=np.int64)

    def early(self, index: int) -> None:
        """Put a layer into the first loop of as many turns that follows its operands."""
        earliest = max(
            (self._ready(used) - in_turn(self.members, self.layer, used) for used in self._operands(index)), default=0
        )
        loops = self.loops_of[len(self.members[index])]
        chosen = next((loop for loop in loops if loop >= earliest), self.loops)
        if chosen == self.loops:
            loops.append(chosen)
            self.loops += 1
        self.loop[index] = chosen

    def early_alone(self, node: int) -> None:
        """Put a node of no layer before the first loop that follows its operands."""
        self.before[node] = self._ready(operands_alone(self.program, self.runs, node))

    def late(self, order: Iterable[int]) -> None:
        """Put what can be later next to its users.

        Args:
            order: layers, and nodes of none as ``-1 - node``, users before what they take.
        """
        end = self.loops + 1
        limit, limit_alone = np.full(len(self.members), end), np.full(len(self.before), end)
        for item in order:
            if item < 0:
                node = -1 - item
                if limit_alone[node] < end:
                    self.before[node] = limit_alone[node]
                at = self.before[node]
                taken = [(operands_alone(self.program, self.runs, node), at - 1)]
            else:
                if limit[item] < end:
                    self.loop[item] = max(
                        loop for loop in self.loops_of[len(self.members[item])] if loop <= limit[item]
                    )
                at = self.loop[item]
                taken = [(used, at - (not in_turn(self.members, self.layer, used))) for used in self._operands(item)]
            for used, last in taken:
                np.minimum.at(limit, self.layer[used[self.layer[used] >= 0]], last)
                limit_alone[used] = np.minimum(limit_alone[used], at)

    def _operands(self, index: int) -> Iterator[Nodes]:
        """Yield the operands of a layer that are no leaves, one for each turn."""
        for used in self.program.operands[self.members[index]].T:
            if used[0] >= 0 and not self.program.leaf[used[0]]:
                yield used

    def _ready(self, used: Nodes) -> int:
        """Return the first loop that follows nodes."""
        layer = self.layer[used]
        loops = self.loop[layer[layer >= 0]] + 1
        return int(max(loops.max(initial=0), self.before[used[layer < 0]].max(initial=0)))


def _placed(program: Program, members: Sequence[Nodes], runs: dict[int, OperationChain]) -> Layers:
    """Return layers with their loops, and the places of other nodes and runs."""
    # Layers and single nodes by depth, so that operands come before their users
    schedule = _Schedule(program, members, runs)
    free = (schedule.layer < 0) & ~program.leaf
    for last, run in runs.items():
        free[run.members] = run.members == last
    alone = np.flatnonzero(free).tolist()
    keyed = [(int(program.depth[each[0]]), index) for index, each in enumerate(members)]
    order = [item for _, item in sorted([*keyed, *((int(program.depth[node]), -1 - node) for node in alone)])]
    # As early as operands allow, then as late as users do
    for item in order:
        if item < 0:
            schedule.early_alone(-1 - item)
        else:
            schedule.early(item)
    schedule.late(reversed(order))
    before = {node: int(schedule.before[node]) for node in alone}
    return Layers(tuple(members), schedule.loop, schedule.layer, schedule.loops, before, runs)

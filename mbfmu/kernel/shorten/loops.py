"""SX Function -> C text with loops: operations that recur body after body are written once.

The same operations are done on the same numbers, so that the results are the same bits; only the code is shorter. A
chain of 128 links then fits into the processor's caches, and compiles in seconds.

There are two kinds of loops, of which those are written that leave less code. Layers (`layers.py`) find operands by
tables: for trees that branch, and for what bodies compute each for itself. Chains have families.

Families (`families.py`) share loops over k where the distances allow it. A loop runs upwards if its recurrences look
back (distances below 0), downwards if they look ahead. Operations outside of loops stand between the loops. Values
that are needed after the next turn are kept in the work vector, a row for each k; those that only what follows their
loop needs, of its last turn, in variables: rows are as short as can be, as long mechanisms read them from slow caches.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbfmu.dae.linear_algebra.merged import LONG
from mbfmu.kernel.emit.program import Flags, Nodes, Program, read_program
from mbfmu.kernel.emit.sections import Code
from mbfmu.kernel.shorten.families import (
    LEAF,
    NOTHING,
    SAME,
    Families,
    best_turns,
    components,
    find_families,
    in_order,
    turns_together,
    users_of,
)
from mbfmu.kernel.shorten.layer_text import LayerText
from mbfmu.kernel.shorten.layers import find_layers
from mbfmu.kernel.shorten.loop_text import LoopText

WORTH = 0.5
"""Smallest share of the operations that must be in loops for the loops to be written."""
SHORTER = 0.25
"""Share of the statements that families or code without loops need: layers are written if they need fewer, as many
short loops take longer than the same operations in sections."""
WELL = 0.1
"""Share of the operations, or of the results if these are more: if layers need fewer statements than that, they are
written and no families are sought."""
ALMOST_ALL = 0.03
"""Share of the operations: if layers that disregard the users of arguments need fewer statements than that, they are
written. Those that need more have so many short loops that steps take longer than written out."""
FEW = 4
"""Largest number of turns of an operation that are computed once more, outside of its loop."""


@dataclass(frozen=True)
class LoopPlan:
    """The place of each operation of a program.

    Args:
        first, last: first and last k of all loops.
        steps: step of k in each loop, 1 or -1.
        loop: number of each family's loop, -1 for families outside of loops, shape (families,).
        order: families of the loops, operands before their users.
        looped: whether a node is in a loop, shape (n,).
        single: the operations outside of loops.
        before: for each of these nodes, the loop that follows it, shape (n,).
        again: nodes of loops that others outside need before, so that they are computed there too, with the loop that
            follows them.
    """

    first: int
    last: int
    steps: tuple[int, ...]
    loop: Nodes
    order: tuple[int, ...]
    looped: Flags
    single: Nodes
    before: Nodes
    again: dict[int, int]

    @property
    def statements(self) -> int:
        """Number of operations that are written."""
        return len(self.order) + len(self.single)


def long_program(function: Any) -> Program | None:
    """Return the program of a CasADi SX Function in which loops are sought; None if it is short.

    Raises:
        KernelError: the function has an unknown operation.
    """
    return read_program(function) if function.n_instructions() >= LONG else None


def with_loops(program: Program, unwanted: Collection[int], is_part: bool = False) -> Code | None:
    """Return a function's body with loops; None if they do not pay, or if it is short without what is done twice.

    Args:
        program: the function.
        unwanted: numbers of the results that a caller may leave out.
        is_part: whether the program is a part of a long function, so that it may be short.
    """
    if not is_part and len(program.kind) + len(program.outputs) < LONG:
        return None
    operations = program.size
    layers = find_layers(program, WELL * max(operations, len(program.outputs)))
    if layers is None:
        layers = find_layers(program, ALMOST_ALL * operations, users=0)
    if layers is None:
        families = find_families(program)
        plan = make_plan(program, families, max(1.0, WORTH * operations)) if families else None
        layers = find_layers(program, SHORTER * (plan.statements if plan else operations))
        if families and plan and layers is None:
            writer = _Writer(program, families, plan, unwanted)
            return Code(writer.text(), writer.size)
    if layers is None:
        return None
    text = LayerText(program, layers, unwanted)
    return Code(text.text(), text.size)


def make_plan(program: Program, families: Families, least: float) -> LoopPlan | None:
    """Return the place of each operation; None if less than `least` of them are in loops."""
    # The range of k over which loops hold most operations
    begin, end = turns_together(families)
    held, first, last = best_turns(begin, end)
    kept = (begin <= first) & (end >= last)
    # Families on a cycle that leaves their loop are written out, until there is none
    while held and kept.sum() * (last - first + 1) >= least:
        graph = _Graph(program, families, kept, first, last)
        tangled = graph.tangled()
        if not tangled.any():
            return graph.plan()
        kept = kept & ~tangled
    return None


class _Graph:
    """The graph of dependencies between families, each for all its k at once, and nodes outside of loops.

    Families have their own numbers; a node's number is its own plus the number of families.
    """

    def __init__(self, program: Program, families: Families, kept: Flags, first: int, last: int) -> None:
        # A vertex for each family with all its k, and for each node outside of loops
        self.families, self.kept, self.first, self.last = families, kept, first, last
        self.operands = program.operands
        self.count, n = len(families.members), len(program.kind)
        self.looped = np.zeros(n, dtype=bool)
        self.looped[families.members[kept, first : last + 1]] = True
        self.single = np.flatnonzero(~self.looped & ~program.leaf)
        vertex = self.count + np.arange(n)
        for family in np.flatnonzero(kept):
            vertex[families.members[family, first : last + 1]] = family
        # Edges from users to what they take, and the strongly connected components
        users, columns = np.nonzero(program.operands >= 0)
        used = program.operands[users, columns]
        real = ~program.leaf[used]
        user, used = vertex[users[real]], vertex[used[real]]
        self.vertex = vertex
        self.component = components(self.count + n, user, used)
        self.edges = set(zip(self.component[user].tolist(), self.component[used].tolist(), strict=True))
        # Uses of one member for all k, whose loop must end before
        fixed, columns = np.nonzero((families.operands == SAME) & kept[:, None])
        members = program.operands[families.members[fixed, first], columns]
        again = self.looped[members]
        self.whole = set(  # users of a single member for all k, which need its loop to have ended
            zip(self.component[fixed[again]].tolist(), self.component[vertex[members[again]]].tolist(), strict=True)
        )

    def tangled(self) -> Flags:
        """Return the families on a cycle of dependencies that leaves their loop, shape (families,).

        Recurrences that look both back and ahead belong to them: no direction of a loop suits them.
        """
        # Components with nodes outside of loops, or with a member used for all k
        bad = np.zeros(self.component.max() + 1, dtype=bool)
        bad[self.component[self.count + self.single]] = True
        bad &= np.bincount(self.component) > 1
        bad[[user for user, used in self.whole if user == used]] = True
        # Recurrences with operands both back and ahead
        user, used, apart = self.families.edges().T
        user, used = self.component[user], self.component[used]
        back, ahead = (set(user[(user == used) & looking].tolist()) for looking in (apart < 0, apart > 0))
        bad[list(back & ahead)] = True
        return self.kept & bad[self.component[: self.count]]

    def plan(self) -> LoopPlan:
        """Return the plan that puts each operation into the first loop, or before the first loop, that it can be in."""
        # Components in the program's order, operands before their users
        middle = self.families.members[:, (self.first + self.last) // 2]
        recurrences = defaultdict(list)
        for family in np.flatnonzero(self.kept).tolist():
            recurrences[int(self.component[family])].append(family)
        nodes = {int(self.component[self.count + node]): node for node in self.single.tolist()}
        rank = {index: min(int(middle[family]) for family in each) for index, each in recurrences.items()} | nodes
        users = defaultdict(list)
        for user, used in sorted(self.edges):
            if user != used:
                users[used].append(user)
        # The first loop that each can be in, after those of its operands
        loop, before = np.full(self.count, -1), np.zeros(len(self.looped), dtype=np.int64)
        steps: list[int] = []
        earliest = dict.fromkeys(rank, 0)
        sequence = list(in_order(rank, users))
        for index in sequence:
            if index in nodes:
                at = before[nodes[index]] = earliest[index]
            else:
                at = loop[recurrences[index]] = self._loop_for(recurrences[index], earliest[index], loop, steps)
            for user in users[index]:
                over = index in recurrences and (user in nodes or (user, index) in self.whole)
                earliest[user] = max(earliest[user], at + over)
        # Then as late as users allow
        directions = tuple(step or 1 for step in steps)
        backwards = [recurrences[index] for index in reversed(sequence) if index in recurrences]
        again = self._late(backwards, loop, before, directions)
        # Order of the families within a loop: those of this turn before their users
        within = defaultdict(list)
        for user, used, apart in self.families.edges().tolist():
            if not apart and loop[user] >= 0 and loop[user] == loop[used]:
                within[used].append(user)
        families = {family: (int(loop[family]), int(middle[family])) for family in np.flatnonzero(self.kept).tolist()}
        order = tuple(in_order(families, within))
        return LoopPlan(self.first, self.last, directions, loop, order, self.looped, self.single, before, again)

    def _late(
        self, recurrences: Iterable[Sequence[int]], loop: Nodes, before: Nodes, steps: Sequence[int]
    ) -> dict[int, int]:
        """Put what is no recurrence into the loop of its first users, where it is done while recurrences wait.

        Args:
            recurrences: families of each, users before what they take.
            loop: number of each family's loop, which is changed.
            before: the loop that follows each node outside of loops.
            steps: step of k in each loop.

        Returns:
            See `Plan.again`.
        """
        # Users of each family, in loops and outside
        edges = self.families.edges()
        using = users_of(edges[self.kept[edges[:, :2]].all(axis=1)])
        alone: dict[int, list[tuple[int, int]]] = defaultdict(list)  # nodes outside that take a member, by family
        for node in self.single.tolist():
            self._note(node, alone)
        whole = {used for _, used in self.whole}
        again: dict[int, int] = {}
        for family, *others in recurrences:
            if others or int(self.component[family]) in whole or any(user == family for user, _ in using[family]):
                continue
            # The last loop before any user needs it
            limits = [loop[user] - (apart * steps[loop[user]] > 0) for user, apart in using[family]]
            at = min(limits, default=loop[family])
            if at <= loop[family]:
                continue
            # Members that nodes outside need earlier are computed there too, if they are few
            needed: dict[int, int] = {}
            for user, node in alone[family]:
                first = again.get(user, before[user])
                if first <= at:
                    needed[node] = min(needed.get(node, first), first)
            if len(needed) > FEW:
                continue
            loop[family] = at
            for node, first in needed.items():
                again[node] = first
                self._note(node, alone)
        return again

    def _note(self, node: int, alone: dict[int, list[tuple[int, int]]]) -> None:
        """Add a node outside of loops, or computed there too, to the families whose members it takes."""
        for used in self.operands[node].tolist():
            if used >= 0 and self.looped[used]:
                alone[int(self.vertex[used])].append((node, used))

    def _loop_for(self, recurrence: Sequence[int], earliest: int, loop: Nodes, steps: list[int]) -> int:
        """Return the first loop whose direction suits a recurrence and its operands there; it may be a new loop."""
        needed = [
            (used, apart) for family in recurrence for used, apart in self.families.needs(family) if self.kept[used]
        ]
        at = earliest
        while True:
            if at == len(steps):
                steps.append(0)
            here = {
                -1 if apart > 0 else 1 for used, apart in needed if apart and (loop[used] == at or used in recurrence)
            }
            if len(here | {steps[at]} - {0}) <= 1:
                steps[at] = next(iter(here), steps[at])
                return at
            at += 1


class _Writer(LoopText):
    """The C text of a program with a plan.

    Within a loop ``a7`` is family 7's value in this turn, ``b7`` its value in the turn before, and ``v`` this turn's
    row of the work vector. After the loop ``e7`` is its value in the last turn.
    """

    def __init__(self, program: Program, families: Families, plan: LoopPlan, unwanted: Collection[int]) -> None:
        super().__init__(program, unwanted)
        self.families, self.plan = families, plan
        self.turns = range(plan.first, plan.last + 1)
        # Family and k of each node in a loop
        self.family = np.full(len(program.kind), -1)  # family and k of nodes in loops
        self.k = np.zeros(len(program.kind), dtype=np.int64)
        order = np.array(plan.order)
        looped = families.members[order, plan.first : plan.last + 1]
        self.family[looped], self.k[looped] = order[:, None], self.turns
        self.single_nodes: list[int] = [*plan.single.tolist(), *plan.again]
        self.stored, self.alone = self.stores(self.family, self.k, lambda _: len(self.turns))
        # Columns of the work vector: values that later turns or other loops take
        self.slots: dict[int, int] = {}  # column of the families that are kept in the work vector
        self.filled: dict[int, tuple[int, int]] = {}  # family and k of the nodes outside of loops that are kept there
        kept_k = [plan.first, plan.last]
        for family in plan.order:
            for used, apart in families.needs(family):
                if self._at_hand(family, used, apart):
                    continue
                self.slots.setdefault(used, len(self.slots))
                kept_k += [plan.first + apart, plan.last + apart]
                for k in range(plan.first + apart, plan.last + apart + 1):
                    if not plan.looped[node := int(families.members[used, k])]:
                        self.filled[node] = used, k
        # Values that nodes outside take: those of the last turn alone need no column
        outside = defaultdict(set)
        for node in self._needed_outside():
            if self.family[node] >= 0 and node not in plan.again:
                outside[int(self.family[node])].add(int(self.k[node]))
        self.ends = {  # families of which only the last turn is needed, after their loop
            family for family, needed in outside.items() if family not in self.slots and needed == {self._end(family)}
        }
        for family in outside:
            if family not in self.ends:
                self.slots.setdefault(family, len(self.slots))
        self.first_row = min(kept_k)
        self.size = len(self.slots) * (max(kept_k) - self.first_row + 1)

    def text(self) -> str:
        """Return the function's body."""
        before = ((node, self.plan.again.get(node, int(self.plan.before[node]))) for node in sorted(self.single_nodes))
        return self.body(before, len(self.plan.steps), self.alone)

    def single(self, node: int) -> Iterator[str]:
        """Yield the computation of a node outside of loops."""
        yield self.operation(node)
        if node in self.filled:
            yield f"  {self._slot(*self.filled[node])} = s{node};"

    def loop(self, index: int) -> Iterator[str]:
        """Yield a loop."""
        # Families of this loop, and the values that each turn takes from the one before
        ours = [family for family in self.plan.order if self.plan.loop[family] == index]
        last = len(self.turns) - 1
        if self.plan.steps[index] > 0:
            span, before = f"k = 0; k <= {last}; ++k", self.turns[0] - 1
        else:
            span, before = f"k = {last}; k >= 0; --k", self.turns[-1] + 1
        carried = sorted(
            {
                used
                for family in ours
                for used, apart in self.families.needs(family)
                if apart and self._at_hand(family, used, apart)
            }
        )
        # Before the loop: these values for the first turn
        for family in carried:
            yield f"  V b{family} = SAME({self.name(int(self.families.members[family, before]))});"
        for family in ours:
            if family in self.ends:
                yield f"  V e{family};"
        # A turn: each family's operation, kept where it is taken later
        yield f"  for (int {span}) {{"
        if self.slots:
            yield f"    V *const v = w + {len(self.slots)} * (k + {self.plan.first - self.first_row});"
        for family in ours:
            members = self.families.members[family, self.turns.start : self.turns.stop]
            positions = np.flatnonzero(self.families.operands[family] != NOTHING)
            names = [self._name_in_loop(family, int(position), members) for position in positions]
            yield f"    const V a{family} = {self.program.name(int(members[0]))}({', '.join(names)});"
            if family in self.slots:
                yield f"    v[{self.slots[family]}] = a{family};"
            if family in self.ends:
                yield f"    e{family} = a{family};"
            for items in self.stored[family]:
                yield self.store_turns(items, f"a{family}")
        # At the end of a turn: what the next one takes
        for family in carried:
            yield f"    b{family} = a{family};"
        yield "  }"

    def _name_in_loop(self, family: int, position: int, members: Nodes) -> str:
        """Return the C expression of a family's operand in the family's loop."""
        used = self.program.operands[members, position]
        pattern, apart = int(self.families.operands[family, position]), int(self.families.distance[family, position])
        if pattern >= 0:
            if self._at_hand(family, pattern, apart):
                return f"b{pattern}" if apart else f"a{pattern}"
            return f"v[{len(self.slots) * apart + self.slots[pattern]}]"
        if pattern != LEAF:
            return self.name(int(used[0]))
        return self.leaves(used)

    def name(self, node: int) -> str:
        """Return the C expression of a node outside of its loop."""
        if self.program.leaf[node]:
            return self.leaf(node)
        family, k = int(self.family[node]), int(self.k[node])
        if family < 0 or node in self.plan.again:
            return f"s{node}"
        return f"e{family}" if family in self.ends else self._slot(family, k)

    def _end(self, family: int) -> int:
        """Return k in the last turn of a family's loop."""
        return self.turns[-1] if self.plan.steps[self.plan.loop[family]] > 0 else self.turns[0]

    def _slot(self, family: int, k: int) -> str:
        return f"w[{len(self.slots) * (k - self.first_row) + self.slots[family]}]"

    def _at_hand(self, family: int, used: int, apart: int) -> bool:
        """Return whether a family's operand comes from the same turn of its loop or from the turn before."""
        index = self.plan.loop[family]
        return bool(self.plan.loop[used] == index and apart in (0, -self.plan.steps[index]))

    def _needed_outside(self) -> Iterator[int]:
        """Yield the nodes that are used by their own name, outside of their loops."""
        yield from self.program.operands[self.single_nodes].ravel().tolist()
        yield from (item.node for item in self.alone)
        for family in self.plan.order:
            node = self.families.members[family, self.plan.first]
            for position in np.flatnonzero(self.families.operands[family] == SAME):
                yield int(self.program.operands[node, position])

"""Program -> Families: operations that recur body after body, recognised by their surroundings alone.

The equations of a chain are derived body by body, so that its code repeats the same operations with other operands. A
family is such an operation with all its occurrences: one member for each k. Each operand of a family is another family
at a fixed distance in k, a leaf, or one node for all k, so that a loop over k can compute the family.

Members are found in three steps. Operations with equal surroundings get equal colours (as in Weisfeiler and Leman's
refinement); a colour with one member for each body is a first family; and the operands of a family form families
again, which extend until the bodies differ.
"""

import hashlib
import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mbfmu.kernel.emit.program import OPERANDS, Flags, Nodes, Program

ROUNDS = 6
"""Number of rounds of colour refinement: enough to tell the parts of a body apart, and few enough that most bodies of a
chain do not notice its ends."""
LEAST = 6
"""Smallest number of members of a family."""
LEFT = 0.55
"""Largest share of the operations that may be left outside of loops, as estimated from the sizes of colours, for
families to be sought. Chains of 11 links and more, rows of closed loops, and piles leave half at most; beams and
bogies, in which loops do not pay, leave 0.6 to 0.7."""
ALIKES = 4
"""Largest number of families of one colour that this estimate counts: more of them can seldom be told apart."""
SIZES = 24
"""Number of colour sizes, the most frequent ones, from which first families are taken."""
SLIGHT = 0.01
"""Increase of the operations left outside of loops, as a share of all, that is accepted for a number of turns at which
more operations recur."""
ALIKE = 1.2
"""Largest ratio between the sizes of two colours that count as recurring equally often: the ends of a chain make the
sizes differ."""
MARGIN = 64
"""Largest distance in k that a family may extend beyond the first families, on both sides."""
REACH = 100
"""Largest number of operands searched to align a new first family with the others."""
NEAR = 2
"""Largest shift in k by which a family joins the loop of another."""
SHORTEST = 4
"""Smallest number of turns of a loop."""
USERS = 3
"""Usual number of steps from a leaf, from user to user, within which the users decide the colour of the leaf."""
ODD = tuple(np.uint64(0x9E3779B97F4A7C15 + 2 * 0x1F83D9ABFB41BD6B * k & (1 << 64) - 1) for k in range(2 * OPERANDS + 2))
"""Odd factors by which colours are multiplied when they are mixed: multiplication by an odd number loses no bits."""
HALF = np.uint64(31)
"""Number of bits by which mixed colours are shifted."""
NOTHING, LEAF, SAME = -1, -2, -3
"""Codes of operands that belong to no family: no operand; leaves of one template; one node for all k."""

Colours = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Families:
    """Operations that recur.

    Args:
        members: node of each family at each k, -1 where there is none, shape (families, span).
        valid: whether a member's operands follow the family's pattern, shape (families, span).
        operands: family of each operand, or `NOTHING`, `LEAF`, `SAME`, shape (families, `OPERANDS`).
        distance: distance in k from a member to its operand, shape (families, `OPERANDS`).
    """

    members: Nodes
    valid: Flags
    operands: Nodes
    distance: Nodes

    def edges(self) -> Nodes:
        """Return (user, family used, distance) of all operands that belong to families, shape (edges, 3)."""
        user, position = np.nonzero(self.operands >= 0)
        return np.stack([user, self.operands[user, position], self.distance[user, position]], axis=1)

    def needs(self, family: int) -> list[tuple[int, int]]:
        """Return (family used, distance) of those operands of a family that belong to families."""
        operands, distance = self.operands[family].tolist(), self.distance[family].tolist()
        return [(used, apart) for used, apart in zip(operands, distance, strict=True) if used >= 0]

    def shifted(self, by: Nodes) -> "Families":
        """Return the families with the k of each reduced by its entry of `by`, shape (families,)."""
        count, span = self.members.shape
        columns = np.arange(span) + by.max() - by[:, None]
        members = np.full((count, span + int(by.max() - by.min())), -1)
        valid = np.zeros(members.shape, dtype=bool)
        np.put_along_axis(members, columns, self.members, axis=1)
        np.put_along_axis(valid, columns, self.valid, axis=1)
        nearer = np.where(self.operands >= 0, by[:, None] - by[np.maximum(self.operands, 0)], 0)
        return replace(self, members=members, valid=valid, distance=self.distance + nearer)


def find_families(program: Program) -> Families | None:
    """Return the families of a program, shifted close to each other in k; None if nothing recurs."""
    members = _members(program)
    if members is None:
        return None
    families = _patterned(program, members)
    return families.shifted(_offsets(families))


def colours(program: Program) -> Colours:
    """Return a colour for each node: nodes with equal surroundings within `ROUNDS` steps have equal colours."""
    at_first = _kinds(program)
    colour = at_first
    for _ in range(ROUNDS):
        mixed = colour * ODD[-2] + _below(program, colour) + _above(program, colour) * ODD[-1]
        colour = np.where(program.leaf, at_first, mixed ^ mixed >> HALF)
    return colour


def colours_below(program: Program, users: int = USERS) -> Colours:
    """Return a colour for each node: operations with equal operands within `ROUNDS` steps have equal colours.

    Args:
        program: the program.
        users: number of steps, from user to user, within which the users decide the colour of a leaf, which tells a
            body's values from each other; 0: leaves of one kind are alike.
    """
    at_first = _kinds(program)
    colour = at_first
    for _ in range(users):
        mixed = at_first * ODD[-2] + _above(program, colour) * ODD[-1]
        colour = mixed ^ mixed >> HALF
    leaves = colour
    colour = np.where(program.leaf, leaves, at_first)
    for _ in range(ROUNDS):
        mixed = colour * ODD[-2] + _below(program, colour)
        colour = np.where(program.leaf, leaves, mixed ^ mixed >> HALF)
    return colour


def _kinds(program: Program) -> Colours:
    """Return a colour for each node that depends on its kind alone."""
    names = [hashlib.sha256(text.encode()).digest()[:8] for text in program.kinds]
    result: Colours = np.array([int.from_bytes(name, "little") for name in names], dtype=np.uint64)[program.kind]
    return result


def _below(program: Program, colour: Colours) -> Colours:
    """Return a mixture of the colours of each node's operands."""
    result = np.zeros_like(colour)
    for position in range(OPERANDS):
        users = np.flatnonzero(program.operands[:, position] >= 0)
        seen = (colour[program.operands[users, position]] ^ ODD[position]) * ODD[-1]
        result[users] += (seen ^ seen >> HALF) * ODD[position]
    return result


def _above(program: Program, colour: Colours) -> Colours:
    """Return a mixture of the colours of each node's users."""
    result = np.zeros_like(colour)
    for position in range(OPERANDS):
        users = np.flatnonzero(program.operands[:, position] >= 0)
        seen = (colour[users] ^ ODD[OPERANDS + position]) * ODD[-1]
        np.add.at(result, program.operands[users, position], (seen ^ seen >> HALF) * ODD[OPERANDS + position])
    return result


def components(count: int, source: Nodes, target: Nodes) -> Nodes:
    """Return the number of the strongly connected component of each node of a graph, shape (count,)."""
    from scipy.sparse import coo_array  # its import takes longer than a prepared model takes to start
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(source), dtype=np.int8), (source, target)), shape=(count, count))
    result: Nodes = connected_components(graph.tocsr(), directed=True, connection="strong")[1].astype(np.int64)
    return result


def users_of(edges: Nodes) -> dict[int, list[tuple[int, int]]]:
    """Return (user, distance) of all users of each family; see `Families.edges`."""
    users: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for user, used, apart in edges.tolist():
        users[used].append((user, apart))
    return users


def in_order(rank: Mapping[int, Any], users: Mapping[int, Iterable[int]]) -> Iterator[int]:
    """Yield the keys of `place` in the order of its values, but each before its users."""
    waiting = dict.fromkeys(rank, 0)
    for each in users.values():
        for user in each:
            waiting[user] += 1
    ready = [(rank[index], index) for index, left in waiting.items() if not left]
    heapq.heapify(ready)
    while ready:
        _, index = heapq.heappop(ready)
        yield index
        for user in users.get(index, ()):
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, (rank[user], user))


class _Table:
    """Families while they grow: the member for each family and k, and the family and k of each member."""

    def __init__(self, program: Program, span: int) -> None:
        self.program, self.span = program, span
        self.rows: list[Nodes] = []
        self.family = np.full(len(program.kind), -1)
        self.free = ~program.leaf  # operations of no family
        self.k = np.zeros(len(program.kind), dtype=np.int64)
        self.inner: dict[bytes, list[Nodes]] = {}

    def put(self, family: int, nodes: Nodes, k: Nodes) -> int:
        """Make nodes members of a family (-1: of a new one); return the family's number."""
        if family < 0:
            family = len(self.rows)
            self.rows.append(np.full(self.span, -1))
        self.rows[family][k] = nodes
        self.family[nodes], self.k[nodes], self.free[nodes] = family, k, False
        return family

    def grow(self, family: int) -> None:
        """Make families of a family's operands, of the operands of those, and so on."""
        waiting = [family]
        while waiting:
            row = self.rows[waiting.pop()]
            k = np.flatnonzero(row >= 0)
            for used in self.program.operands[row[k]].T:
                if used[0] < 0:
                    break
                waiting += self._followed(used, k)

    def _followed(self, used: Nodes, k: Nodes) -> list[int]:
        """Put the operands of a family's members at k into one family; return that family in a list if it grew."""
        new = self.free[used]
        if not np.count_nonzero(new) or (used == used[0]).all():
            return []
        kind, families = self.program.kind[used], self.family[used]
        known = families >= 0
        if np.count_nonzero(known):
            family = _most(families[known])
            ours = families == family
            at = k + _most(self.k[used[ours]] - k[ours])
            row = self.rows[family]
            fitting = new & (kind == self.program.kind[row.max()]) & (at >= 0) & (at < self.span)
            fitting[fitting] &= row[at[fitting]] < 0
            if np.count_nonzero(fitting) and _distinct(used[fitting]):
                return [self.put(family, used[fitting], at[fitting])]
        fitting = new & (kind == _most(kind[new]))
        if np.count_nonzero(fitting) < LEAST or not _distinct(used[fitting]):
            return []
        return [self.put(-1, used[fitting], k[fitting])]

    def aligned(self, nodes: Nodes) -> Nodes | None:
        """Return the k of nodes, taken from their nearest operands that are in one family; None without any.

        It is -1 for a few whose operands are in no or another family, as at the ends of a chain.
        """
        layers = [nodes]
        for layer in layers:
            if len(layers) > REACH:
                return None
            for used in self._inner(layer):
                family = self.family[used]
                if (family < 0).all():
                    layers.append(used)
                elif 2 * (ours := family == _most(family[family >= 0])).sum() > len(used):
                    return np.where(ours, self.k[used], -1)
        return None

    def parted(self, nodes: Nodes) -> list[tuple[Nodes, Nodes]]:
        """Return nodes of no family, and their k, by the families of their operands and the distances between these.

        Of nodes with equal ones and the same k, the first of each k belong together, the second ones, and so on.
        """
        nodes = nodes[self.family[nodes] < 0]
        operands = [used for used in self.program.operands[nodes].T if (used >= 0).all()]
        tied = [used for used in operands if (self.family[used] >= 0).all()]
        if len(nodes) < LEAST or not tied:
            return []
        k = self.k[tied[0]]
        keys = np.array([column for used in tied for column in (self.family[used], self.k[used] - k)])
        _, which = np.unique(keys, axis=1, return_inverse=True)
        order = np.lexsort([nodes, k, which.ravel()])
        nodes, k, which = nodes[order], k[order], which.ravel()[order]
        begins = np.concatenate([[True], (np.diff(which) != 0) | (np.diff(k) != 0)])
        rank = np.arange(len(k)) - np.flatnonzero(begins)[np.cumsum(begins) - 1]
        parts = [
            np.flatnonzero((which == one) & (rank == turn))
            for one, turn in sorted({*zip(which.tolist(), rank.tolist(), strict=True)})
        ]
        return [(nodes[part], k[part]) for part in parts if len(part) >= LEAST]

    def _inner(self, layer: Nodes) -> list[Nodes]:
        """Return the operands of nodes, place by place, where each node has its own and none is a leaf."""
        key = layer.tobytes()
        if key not in self.inner:
            self.inner[key] = [
                used
                for used in np.ascontiguousarray(self.program.operands[layer].T)
                if used[0] >= 0 and (used >= 0).all() and not self.program.leaf[used].any() and _distinct(used)
            ]
        return self.inner[key]


def _members(program: Program) -> Nodes | None:
    """Return the members of all families, shape (families, span); None if too little recurs."""
    # Colours of operations, and how many operations have a colour that recurs so often
    operations = np.flatnonzero(~program.leaf)
    _, which, count = np.unique(colours(program)[operations], return_inverse=True, return_counts=True)
    sizes = Counter[int]()
    for size in count[count >= LEAST].tolist():
        sizes[size] += size
    frequent = sizes.most_common(SIZES)
    if not frequent:
        return None
    # Whether loops pay: how much they leave
    turns = _turns(frequent)
    counted = [item for item in frequent if item[0] >= turns / ALIKE and _apart(item[0], turns) <= ALIKES]
    if sum(many * (1 - _apart(size, turns) / size) for size, many in counted) < (1 - LEFT) * len(operations):
        return None
    # Operations of one colour, in the program's order
    by_colour = operations[np.argsort(which, kind="stable")]
    first = np.concatenate([[0], np.cumsum(count)])
    table = _Table(program, 2 * (turns + MARGIN))
    # First families: colours that recur as often as loops turn, then those that recur as often as several families
    for tied in (True, False):  # first what operands tie to other families; members of the rest keep their order
        for size, _ in sorted(frequent, key=lambda item: _apart(item[0], turns) > 1):
            of_size = np.flatnonzero(count == size)
            for colour in of_size[np.argsort(by_colour[first[of_size]])]:
                every = by_colour[first[colour] : first[colour + 1]]
                if (program.kind[every] != program.kind[every[0]]).any():  # equal colours are only equal hashes
                    continue
                apart = _apart(size, turns)
                # Several families of one colour, told apart by the families of their operands
                for nodes, ks in table.parted(every) if apart > 1 else ():
                    if (table.family[nodes] < 0).all():
                        table.grow(table.put(-1, nodes, ks))
                # One family, or each so many-th node; k is that of aligned operands, or counted
                for nodes in (every[begin::apart] for begin in range(apart)):
                    if (table.family[nodes] >= 0).any():
                        continue
                    k = table.aligned(nodes) if table.rows else None
                    if k is None and not (tied and table.rows):
                        k = np.arange(len(nodes)) + MARGIN
                    if k is not None and (known := k >= 0).sum() >= LEAST:
                        table.grow(table.put(-1, nodes[known], k[known]))
    return np.array(table.rows) if table.rows else None


def _turns(frequent: Sequence[tuple[int, int]]) -> int:
    """Return how often loops turn: the one of the sizes of colours that leaves the least operations to be written.

    In a chain whose links differ by turns, operations that do not show it recur twice as often as those that do; they
    become two families, and three if a vector's entries are alike. What recurs less often is written out.

    Args:
        frequent: sizes of colours, and numbers of operations with such a colour.
    """
    total = sum(operations for _, operations in frequent)

    def written(turns: int) -> float:
        long = sum(operations * _apart(size, turns) / size for size, operations in frequent if size >= turns / ALIKE)
        return long + sum(operations for size, operations in frequent if size < turns / ALIKE)

    least = min(written(size) for size, _ in frequent)
    return max((operations, size) for size, operations in frequent if written(size) <= least + SLIGHT * total)[1]


def _apart(size: int, turns: int) -> int:
    """Return into how many families the nodes of a colour go."""
    return max(1, round(size / turns))


def _patterned(program: Program, members: Nodes) -> Families:
    """Return families, each with the pattern that the operands of most of its members follow."""
    # Family and k of each member
    count, span = members.shape
    family, at = np.full(len(program.kind), -1), np.zeros(len(program.kind), dtype=np.int64)
    rows, columns = np.nonzero(members >= 0)
    family[members[rows, columns]], at[members[rows, columns]] = rows, columns
    valid = members >= 0
    operands = np.full((count, OPERANDS), NOTHING)
    distance = np.zeros((count, OPERANDS), dtype=np.int64)
    # One operand at a time: whether one node serves for most members
    for position in range(OPERANDS):
        there = program.operands[members[rows, columns], position] >= 0
        row, k = rows[there], columns[there]
        used = program.operands[members[row, k], position]
        follows = used == _most_of_each(used, row, count)[row]
        same = 2 * np.bincount(row[follows], minlength=count) > np.bincount(row, minlength=count)
        # Else its family and its distance in k, or the kind of leaf
        known = (family[used] >= 0) & ~program.leaf[used]
        meant = np.where(known, family[used] * 2 * span + at[used] - k + span, -2 - program.kind[used])
        meant[~known & ~program.leaf[used]] = NOTHING
        # The usual one is the pattern, which valid members follow
        usual = _most_of_each(meant, row, count)
        valid[row, k] &= np.where(same[row], follows, (meant == usual[row]) & (meant != NOTHING))
        ours = ~same & (usual >= 0)
        operands[:, position] = np.select([same, ours, usual < NOTHING], [SAME, usual // (2 * span), LEAF], NOTHING)
        distance[ours, position] = usual[ours] % (2 * span) - span
    return Families(members, valid, operands, distance)


def _offsets(families: Families) -> Nodes:
    """Return the shift of each family with which loops over k compute operands before their users.

    A recurrence, which is a strongly connected component, gets the least shifts that give all its distances one sign,
    if there are any (a retiming, by the shortest paths of Bellman and Ford). Then each component in turn is shifted
    so that most of its operands have distance 0, or a little further if it can then share their loop; what is no
    recurrence, so that it can share the loop of its users; and each loop as a whole, so that most can be done in all
    loops over the same k.
    """
    # Recurrences are strongly connected components of the graph of families
    count = len(families.members)
    edges = families.edges()
    offsets = np.zeros(count, dtype=np.int64)
    component = components(count, edges[:, 0], edges[:, 1])
    inner = component[edges[:, 0]] == component[edges[:, 1]]
    # Edges in each, and between them; users after what they take
    within: dict[int, list[Nodes]] = defaultdict(list)
    between: dict[int, list[Nodes]] = defaultdict(list)
    belonging: dict[int, list[int]] = defaultdict(list)
    for edge, same in zip(edges, inner, strict=True):
        (within if same else between)[int(component[edge[0]])].append(edge)
    for family, index in enumerate(component.tolist()):
        belonging[index].append(family)
    steps: list[int] = []
    loop: dict[int, int] = {}
    users: dict[int, list[int]] = defaultdict(list)
    for user, used in zip(component[edges[~inner, 0]].tolist(), component[edges[~inner, 1]].tolist(), strict=True):
        users[used].append(user)
    sequence = list(in_order(dict.fromkeys(belonging, 0), users))
    # Shifts of one component after the other: retimed, then as its operands ask
    for index in sequence:
        step, shifts = _retimed(np.array(within[index]), count, len(belonging[index])) if within[index] else (0, 0)
        offsets += shifts
        wanted = np.array([offsets[used] - apart - offsets[user] for user, used, apart in between[index]])
        loops = np.array([loop[int(component[used])] for _, used, _ in between[index]])
        loop[index], shift = _shared(step, wanted, loops, steps)
        offsets[belonging[index]] += shift
    # What is no recurrence goes to the loop of its users; then each loop as a whole is shifted
    alone = (belonging[index][0] for index in reversed(sequence) if not within[index])
    loops = np.array([loop[index] for index in component.tolist()])
    offsets, loops = _nearer_to_users(alone, edges, offsets, loops, steps)
    return offsets + _in_step(families.shifted(offsets), loops)


def _in_step(families: Families, loop: Nodes) -> Nodes:
    """Return further shifts, one for each loop, with which loops over the same k hold most operations.

    Args:
        families: the families.
        loop: loop of each family, shape (families,).
    """
    begin, end = turns_together(families)
    shifts = np.zeros(len(loop), dtype=np.int64)
    for index, _ in Counter(loop.tolist()).most_common():
        ours = (loop == index).astype(np.int64)
        by = max(
            sorted(range(-NEAR, NEAR + 1), key=abs), key=lambda by: best_turns(begin - by * ours, end - by * ours)[0]
        )
        begin, end, shifts = begin - by * ours, end - by * ours, shifts + by * ours
    return shifts


def turns_together(families: Families) -> tuple[Nodes, Nodes]:
    """Return the first and last k at which all families of each family's recurrence have members, shape (families,)."""
    begin, end = _longest_runs(families.valid)
    count, span = families.members.shape
    user, used, _ = families.edges().T
    recurrence = components(count, user, used)
    there_from, there_to = np.zeros(count, dtype=np.int64), np.full(count, span)
    np.maximum.at(there_from, recurrence, begin)
    np.minimum.at(there_to, recurrence, end)
    return there_from[recurrence], there_to[recurrence]


def best_turns(begin: Nodes, end: Nodes) -> tuple[int, int, int]:
    """Return how many operations loops over the best range of k hold, 0 if each is short, and its first and last k.

    Args:
        begin: first k of each family, shape (families,).
        end: last k of each family, shape (families,).
    """
    # How many families have each first and each last k
    first, which_first = np.unique(begin, return_inverse=True)
    last, which_last = np.unique(end, return_inverse=True)
    count = np.zeros((len(first), len(last)), dtype=np.int64)
    np.add.at(count, (which_first, which_last), 1)
    # How many have members over a whole range, and the operations in a loop over it
    there = count.cumsum(axis=0)[:, ::-1].cumsum(axis=1)[:, ::-1]  # begin no later, and end no earlier
    turns = last - first[:, None] + 1
    held = np.where(turns >= SHORTEST, there * turns, 0)
    row, column = divmod(int(held.argmax()), len(last))
    return int(held[row, column]), int(first[row]), int(last[column])


def _longest_runs(flags: Flags) -> tuple[Nodes, Nodes]:
    """Return the first and last place of the first longest run of true flags in each row; 0 and -1 without any."""
    length, longest = np.zeros((2, len(flags)), dtype=np.int64)
    end = np.full(len(flags), -1)
    for column, there in enumerate(flags.T):
        length = (length + 1) * there
        longer = length > longest
        longest[longer], end[longer] = length[longer], column
    return end - longest + 1, end


def _nearer_to_users(
    alone: Iterable[int], edges: Nodes, offsets: Nodes, loop: Nodes, steps: Sequence[int]
) -> tuple[Nodes, Nodes]:
    """Return the shifts with which operations can share the loop of their first users, and these loops.

    Args:
        alone: families that are no recurrences, users before what they take.
        edges: see `Families.edges`.
        offsets: shift of each family, shape (families,).
        loop: loop of each family, shape (families,).
        steps: directions of the loops.
    """
    offsets, loop = offsets.copy(), loop.copy()
    using = users_of(edges)
    for family in alone:
        at = min((loop[user] for user, _ in using[family]), default=loop[family])
        if at > loop[family]:
            first = [(user, apart) for user, apart in using[family] if loop[user] == at]
            distances = [apart + int(offsets[user] - offsets[family]) for user, apart in first]
            shift = max(distances) if steps[at] >= 0 else min(distances)
            if abs(shift) <= NEAR:
                loop[family] = at
                offsets[family] += shift
    return offsets, loop


def _shared(step: int, wanted: Nodes, loops: Nodes, steps: list[int]) -> tuple[int, int]:
    """Return a loop for a component and its shift.

    Args:
        step: direction of the component; 0: any.
        wanted: for each of its operands, the shift after which that operand has distance 0.
        loops: loop of each of these operands.
        steps: directions of all loops, of which one may be set or added.
    """
    if not len(wanted):
        at, shift = 0, 0
    else:
        at, shift = int(loops.max()), _most(wanted)
    while at < len(steps):
        here = wanted[loops == at]
        if step * steps[at] >= 0:
            downwards = (step or steps[at]) < 0
            enough = int(max(here.max(), shift) if downwards else min(here.min(), shift)) if len(here) else shift
            if abs(enough - shift) <= NEAR:
                uneven = (here != enough).any()
                steps[at] = step or steps[at] or int(uneven)
                return at, enough
        at += 1
    steps.append(step)
    return at, shift


def _retimed(edges: Nodes, count: int, members: int) -> tuple[int, Nodes]:
    """Return the direction in which a recurrence can run, and its shifts; 0 and zeros if there is none."""
    user, used, distance = edges.T
    for step in (1, -1):
        shifts = np.zeros(count, dtype=np.int64)
        for _ in range(members + 1):
            before = shifts.copy()
            np.minimum.at(shifts, user, before[used] - step * distance)
            if (shifts == before).all():
                return step, step * shifts
    return 0, np.zeros(count, dtype=np.int64)


def _distinct(values: Nodes) -> bool:
    return len(set(values.tolist())) == len(values)


def _most_of_each(values: Nodes, row: Nodes, rows: int) -> Nodes:
    """Return the most frequent value of each row, the least of them if there are several; `NOTHING` of an empty row.

    Args:
        values: the values.
        row: row of each value.
        rows: number of the rows.
    """
    result = np.full(rows, NOTHING)
    order = np.lexsort([values, row])
    values, row = values[order], row[order]
    begins = np.flatnonzero(np.concatenate([[True], (np.diff(row) != 0) | (np.diff(values) != 0)])[: len(values)])
    values, row, count = values[begins], row[begins], np.diff(np.append(begins, len(values)))
    order = np.lexsort([values, -count, row])[::-1]  # the last one of a row stays
    result[row[order]] = values[order]
    return result


def _most(values: Nodes) -> int:
    """Return the most frequent value, the least of them if there are several."""
    if (values == values[0]).all():
        return int(values[0])
    different, count = np.unique(values, return_counts=True)
    return int(different[count.argmax()])

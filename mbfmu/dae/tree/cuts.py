"""Cuts of loops: among the spanning trees with the fewest coordinates, the one whose other joints cost the least.

A tree of joints with the fewest coordinates leaves the fewest rows of constraints, as each joint has as many rows as it
lacks degrees of freedom; all such trees come from each other by exchanges of two joints of a loop that are equally
free (they are the bases of least weight of a matroid). Among them the cut is the cheapest that

1. leaves no bodies without mass at the end of a chain, where nothing would tell how they accelerate;
2. leaves no axis off the tree that is needed there: one with a rotor, or a spatial angle on which something acts, as
   off the tree it is known up to full turns only;
3. has the fewest entries in the Jacobian of the cut joints: rows, times the coordinates on the way round;
4. has the shortest chains from the world to the bodies.

The tree that is given remains if none is cheaper. Another choice of a user says which joints carry coordinates (see
`CoordinateChoice`): a loop is then cut where none of them is.
"""

import heapq
import itertools
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mbfmu.dae.tree.edges import Edge, way

MOST_WORK = 10_000
"""Largest number of trees that are compared, times the number of joints: all trees of small mechanisms."""


class Cost(NamedTuple):
    """Cost of a tree, of which the first differing entry decides.

    Args:
        bare: number of groups without mass that carry none either.
        needed: number of cut joints whose axes are needed on the tree.
        entries: number of entries in the Jacobian of the cut joints.
        depth: number of edges from the world to each group, over all groups.
    """

    bare: int
    needed: int
    entries: int
    depth: int


@dataclass(frozen=True)
class CutWeights:
    """Weights of joints, by their full names.

    Args:
        rank: sort key of each joint, the least first: from its freedom.
        columns: number of coordinates that each joint carries.
        rows: number of equations of each joint where it is cut.
        free: number of coordinates of a group that has its own.
        needed: joints whose axes are needed on the tree.
        light: numbers of the groups without mass.
        rotors: joints with a rotor, which have coordinates of their own if any tree leaves them there.
    """

    rank: Mapping[str, int]
    columns: Mapping[str, int]
    rows: Mapping[str, int]
    free: int
    needed: Collection[str] = ()
    light: Collection[int] = ()
    rotors: Collection[str] = ()


@dataclass(frozen=True)
class Cuts:
    """The joints and bonds of a mechanism, of which trees are made.

    Args:
        edges: all of them, either way round; `free` marks joints that cannot carry coordinates.
        roots: numbers of the groups that have coordinates of their own.
        weights: what they cost.
    """

    edges: Sequence[Edge]
    roots: Sequence[int]
    weights: CutWeights

    def parents(self, tree: Collection[str]) -> dict[int, Edge]:
        """Return the edge that carries each group, seen outward from the world.

        Args:
            tree: full names of the joints that carry groups.
        """
        leaving: dict[int, list[Edge]] = {}
        for edge in self.edges:
            if not edge.path or edge.path in tree:
                leaving.setdefault(edge.near, []).append(edge)
                leaving.setdefault(edge.far, []).append(edge.turned())
        parents = {index: Edge("", 0, index, True, "", "", True) for index in self.roots}
        waiting = deque([0, *self.roots])
        while waiting:
            for edge in leaving.get(waiting.popleft(), ()):
                if edge.far and edge.far not in parents:
                    parents[edge.far] = edge
                    waiting.append(edge.far)
        return parents

    def cost(self, tree: Collection[str]) -> Cost:
        """Return the cost of a tree of joints."""
        parents, weights = self.parents(tree), self.weights
        cut = [edge for edge in self.edges if edge.path and edge.path not in tree]
        depth = {0: 0}
        for index, edge in parents.items():  # parents come before children
            depth[index] = depth[edge.near] + 1
        heavy = set(parents) - set(weights.light)
        for index, edge in reversed(parents.items()):
            if index in heavy:
                heavy.add(edge.near)
        return Cost(
            bare=sum(index in weights.light and index not in heavy for index in parents),
            needed=sum(edge.path in weights.needed for edge in cut),
            entries=sum(
                weights.rows[edge.path] * sum(self._columns(item) for item in way(parents, edge.near, edge.far))
                for edge in cut
            ),
            depth=sum(depth.values()),
        )

    def _columns(self, edge: Edge) -> int:
        if edge.free:
            return self.weights.free
        return self.weights.columns[edge.path] if edge.path else 0

    def exchanged(self, tree: frozenset[str]) -> Iterator[frozenset[str]]:
        """Yield the trees with as many coordinates that differ in one joint."""
        parents, rank = self.parents(tree), self.weights.rank
        for edge in self.edges:
            if edge.path and not edge.free and edge.path not in tree:
                for other in way(parents, edge.near, edge.far):
                    if other.path and rank[other.path] == rank[edge.path]:
                        yield tree - {other.path} | {edge.path}

    def cheapest(self, tree: frozenset[str]) -> frozenset[str]:
        """Return the tree of least cost that exchanges lead to, the best ones first; the given one if none is cheaper.

        Args:
            tree: full names of the joints that carry groups, with the fewest coordinates.
        """
        best = least = (self.cost(tree), 0, tree)
        count, seen = itertools.count(1), {tree}
        waiting = [least]
        work = MOST_WORK // max(1, len(self.edges))
        while waiting and len(seen) < work:
            for other in self.exchanged(heapq.heappop(waiting)[2]):
                if other not in seen:
                    seen.add(other)
                    candidate = (self.cost(other), next(count), other)
                    heapq.heappush(waiting, candidate)
                    best = min(best, candidate)
        return best[2] if best[0] < least[0] else tree

"""Edges of a tree of groups, and the way along them."""

from collections.abc import Mapping
from typing import NamedTuple


class Edge(NamedTuple):
    """An edge of a tree: a joint, or a bond.

    Args:
        path: full name of the joint; empty for a bond.
        near: group that it starts from.
        far: group that it reaches.
        forward: whether frame_a is on the near group.
        start, stop: full names of the parts' frames that it joins, on the near and on the far group.
        free: whether the far group has coordinates of its own, and the joint only places it at the start.
    """

    path: str
    near: int
    far: int
    forward: bool
    start: str
    stop: str
    free: bool = False

    def turned(self) -> "Edge":
        """Return the edge the other way round."""
        return Edge(self.path, self.far, self.near, not self.forward, self.stop, self.start, self.free)


def way(parents: Mapping[int, Edge], a: int, b: int) -> tuple[Edge, ...]:
    """Return the edges on the way between two groups along a tree.

    Args:
        parents: the edge that reaches each group, seen outward from the world.
        a: number of the first group.
        b: number of the other.
    """

    def to_root(group: int) -> list[Edge]:
        edges = []
        while (edge := parents.get(group)) is not None:
            group = edge.near
            edges.append(edge)
        return edges

    up, down = to_root(a), to_root(b)
    while up and down and up[-1] == down[-1]:
        up.pop()
        down.pop()
    return (*reversed(down), *up)

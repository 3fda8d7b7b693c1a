"""Topology: the groups of parts that move together, the spanning tree of joints, and the loops of the other joints."""

import heapq
import itertools
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from mbfmu.dae.tree.cuts import Cuts, CutWeights
from mbfmu.dae.tree.edges import Edge, way
from mbfmu.errors import FrameConnectionError
from mbfmu.model.frame import Pose, identity
from mbfmu.model.joints import Joint
from mbfmu.model.mechanism import Mechanism
from mbfmu.model.parts import MovingPart, Part


@dataclass(frozen=True)
class Group:
    """Parts fixed to each other: one rigid body of the mechanism, or a flexible part by itself.

    Args:
        parts: full names, the first gives the group its axes; none if joints meet without a part between them.
        poses: pose of every frame of the group seen from the origin of the first part.
    """

    parts: tuple[str, ...]
    poses: dict[str, Pose]

    @property
    def frames(self) -> frozenset[str]:
        """Full names of the frames of the group."""
        return frozenset(self.poses)

    @property
    def label(self) -> str:
        """Name of the group in messages: its parts, or the frames that meet in it."""
        return ", ".join(self.parts or sorted(self.poses))


class FlexibleBond(NamedTuple):
    """Two frames of parts that are connected, of which at least one belongs to a flexible part.

    Args:
        frame_a, frame_b: full names of the frames.
    """

    frame_a: str
    frame_b: str


@dataclass(frozen=True)
class Tree:
    """The spanning tree and the loops that the other joints close.

    Args:
        order: the edges in the order of placing.
        loops: for each joint off the tree, the joints around its loop, beginning with that joint.
    """

    order: tuple[Edge, ...]
    loops: tuple[tuple[str, ...], ...]


def nodes_of(mechanism: Mechanism) -> tuple[frozenset[str], ...]:
    """Return the sets of frames that coincide because they are connected."""
    node: dict[str, set[str]] = {}
    for a, b in mechanism.connections:
        merged = node.get(a, {a}) | node.get(b, {b})
        for frame in merged:
            node[frame] = merged
    unique = {id(frames): frames for frames in node.values()}
    return tuple(frozenset(frames) for frames in unique.values())


def rigid_groups(
    mechanism: Mechanism, local: dict[str, dict[str, Pose]], flexible: Collection[str]
) -> tuple[tuple[Group, ...], tuple[FlexibleBond, ...]]:
    """Return the groups of parts that move together, and the bonds that flexible parts have with others.

    The world's group is the first, those of joints without a part between are the last. Each flexible part is a group
    by itself.

    Args:
        mechanism: the mechanism.
        local: for each part, the pose of each of its frames seen from its own origin.
        flexible: full names of the flexible parts.

    Raises:
        FrameConnectionError: a connection joins two frames that are rigidly connected already.
    """
    # Frames of parts that coincide; of rigid parts, those each touches
    owner = {f"{path}.{frame}": path for path, frames in local.items() for frame in frames}
    fixed = [sorted(frame for frame in node if frame in owner) for node in nodes_of(mechanism)]
    _refuse_rigid_loops(fixed, owner)
    rigid = [[frame for frame in frames if owner[frame] not in flexible] for frames in fixed]
    touching = {frame: [other for other in frames if other != frame] for frames in rigid for frame in frames}
    # From each part along rigid connections: poses of all frames, seen from the first part's origin
    seen: set[str] = set()
    groups: list[Group] = []
    for first in [mechanism.world, *mechanism.of(Part)]:
        if first in seen:
            continue
        poses: dict[str, Pose] = {}
        members: list[str] = []
        origins = deque([(first, identity(mechanism.planar))])
        seen.add(first)
        while origins:
            path, origin = origins.popleft()
            members.append(path)
            for frame, pose in local[path].items():
                name = f"{path}.{frame}"
                poses[name] = origin @ pose
                for other in touching.get(name, ()):
                    partner = owner[other]
                    if partner not in seen:
                        seen.add(partner)
                        inner = local[partner][other.removeprefix(partner + ".")]
                        origins.append((partner, poses[name] @ inner.inverse()))
        groups.append(Group(tuple(members), poses))
    # Joints between which there is no part meet in groups without one; flexible parts are bonded to a hub
    ends = {f"{path}.{frame}" for path, joint in mechanism.of(Joint).items() for frame in joint.frames}
    bare = (node for node in nodes_of(mechanism) if not node & owner.keys() and len(node & ends) > 1)
    here = identity(mechanism.planar)
    bonds = tuple(
        FlexibleBond(hub, frame)
        for frames, solid in zip(fixed, rigid, strict=True)
        for hub in (solid or frames)[:1]
        for frame in frames
        if frame != hub and owner[frame] in flexible
    )
    return (*groups, *(Group((), dict.fromkeys(sorted(node), here)) for node in bare)), bonds


def _refuse_rigid_loops(fixed: list[list[str]], owner: dict[str, str]) -> None:
    root = {path: path for path in owner.values()}

    def find(path: str) -> str:
        while root[path] != path:
            path = root[path]
        return path

    for frames in fixed:
        for other in frames[1:]:
            a, b = owner[frames[0]], owner[other]
            if find(a) == find(b):
                raise FrameConnectionError(
                    f"'{frames[0]}' and '{other}' are connected, but '{a}' and '{b}' are rigidly connected already; "
                    "drop one connection, or put a joint in the loop"
                )
            root[find(a)] = find(b)


def anchors_of(
    mechanism: Mechanism, groups: tuple[Group, ...], flexible: Collection[str]
) -> dict[str, tuple[int, str]]:
    """Return, for each frame of a joint or force, its group and the frame of a part that it coincides with.

    Args:
        mechanism: the mechanism.
        groups: its groups.
        flexible: full names of the flexible parts; a frame of another part is taken where there is one.

    Raises:
        FrameConnectionError: a frame is connected to no part.
    """
    group_of = {frame: index for index, group in enumerate(groups) for frame in group.poses}
    parts = mechanism.of(Part)
    anchors: dict[str, tuple[int, str]] = {}
    for node in nodes_of(mechanism):
        solid_first = sorted(node, key=lambda frame: (frame.rpartition(".")[0] in flexible, frame))
        anchor = next((frame for frame in solid_first if frame in group_of), None)
        for frame in node:
            if frame.rpartition(".")[0] in parts:
                continue
            if anchor is None:
                raise FrameConnectionError(f"'{frame}' reaches no part and no other joint: connect it to a body")
            anchors[frame] = (group_of[anchor], anchor)
    return anchors


def spanning_tree(
    mechanism: Mechanism,
    groups: tuple[Group, ...],
    bonds: tuple[FlexibleBond, ...],
    where: dict[str, tuple[int, str]],
    weights: CutWeights,
    carrying: Collection[str],
    alone: Collection[int] = (),
) -> Tree:
    """Return the spanning tree outward from the world: bonds, then joints of least freedom; its cuts are the cheapest.

    Args:
        mechanism: the mechanism.
        groups: the bodies.
        bonds: what holds them together without joints; all of it is on the tree, as it closes no loops.
        where: group and part's frame of each frame.
        weights: what the joints cost.
        carrying: the joints that may carry coordinates; where others lead to, a group has its own.
        alone: numbers of the groups that have coordinates of their own wherever a joint leads to them.

    Raises:
        FrameConnectionError: a joint has both ends on one body, or a body is not connected to the world.
    """
    # Edges of the graph of groups: joints, and bonds before all of them
    edges: list[tuple[int, Edge]] = []
    group_of = {frame: index for index, group in enumerate(groups) for frame in group.poses}
    for path in mechanism.of(Joint):
        (a, start), (b, stop) = where[f"{path}.frame_a"], where[f"{path}.frame_b"]
        if a == b:
            raise FrameConnectionError(f"joint '{path}': frame_a and frame_b are on one rigid body ({groups[a].label})")
        edges.append((weights.rank[path], Edge(path, a, b, True, start, stop, path not in carrying)))
    first = min(weights.rank.values(), default=0) - 1
    edges += [(first, Edge("", group_of[a], group_of[b], True, a, b)) for a, b in bonds]
    # A first tree outward from the world, which must reach all moving parts
    order = _grown(edges, len(groups))
    reached = {0, *(edge.far for edge in order)}
    for index, group in enumerate(groups):
        if index not in reached and any(isinstance(mechanism.components[part], MovingPart) for part in group.parts):
            raise FrameConnectionError(
                f"body '{group.parts[0]}' is not connected to the world by joints: connect it; "
                "a free body hangs on a FreeMotion joint"
            )
    # The tree whose cut joints cost least
    tree = frozenset(edge.path for edge in order if edge.path and not edge.free)
    cheapest = Cuts([edge for _, edge in edges], [edge.far for edge in order if edge.free], weights).cheapest(tree)
    # With a rotor on a joint that is off the tree, rotors come first: joints of less freedom are cut in their place
    late = {path: first for path in weights.rotors if path in carrying and weights.rank[path] > first + 1}
    if late.keys() - cheapest:
        ranked = replace(weights, rank={**weights.rank, **late})
        return spanning_tree(mechanism, groups, bonds, where, ranked, carrying, alone)
    if cheapest != tree:
        kept = cheapest | {edge.path for edge in order if edge.free or not edge.path}
        order = _grown([(key, edge) for key, edge in edges if edge.path in kept], len(groups))
    # Groups with coordinates of their own; every joint off the tree closes a loop
    order = tuple(edge._replace(free=edge.free or bool(edge.path and edge.far in alone)) for edge in order)
    on_tree, parents = {edge.path for edge in order}, {edge.far: edge for edge in order}
    loops = tuple(
        (edge.path, *(item.path for item in way(parents, edge.near, edge.far) if item.path))
        for _, edge in edges
        if edge.path not in on_tree and edge.near in reached
    )
    return Tree(order, loops)


def _grown(edges: Sequence[tuple[int, Edge]], count: int) -> tuple[Edge, ...]:
    """Return the edges that reach groups from the world outward: those of the least key first, then the nearest.

    Args:
        edges: with their keys.
        count: number of groups.
    """
    leaving: dict[int, list[tuple[int, Edge]]] = {index: [] for index in range(count)}
    for key, edge in edges:
        leaving[edge.near].append((key, edge))
        leaving[edge.far].append((key, edge.turned()))
    seen = {0}
    order: list[Edge] = []
    counter = itertools.count()
    waiting: list[tuple[int, int, int, Edge]] = []

    def reach(group: int, depth: int) -> None:
        for key, edge in leaving[group]:
            heapq.heappush(waiting, (key, depth, next(counter), edge))

    reach(0, 0)
    while waiting:
        _, depth, _, edge = heapq.heappop(waiting)
        if edge.far not in seen:
            seen.add(edge.far)
            order.append(edge)
            reach(edge.far, depth + 1)
    return tuple(order)

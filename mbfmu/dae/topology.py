"""Topology: the groups of parts that move together, the spanning tree of joints, and the loops of the other joints."""

import heapq
import itertools
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from mbfmu.errors import FrameConnectionError
from mbfmu.model.frame import Pose, identity
from mbfmu.model.joints import Joint
from mbfmu.model.mechanism import Mechanism
from mbfmu.model.parts import MovingPart, Part


@dataclass(frozen=True)
class Group:
    """Parts fixed to each other: one rigid body of the mechanism.

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


@dataclass(frozen=True)
class Tree:
    """The spanning tree and the loops that the other joints close.

    Args:
        order: (joint, group it starts from, group it reaches, forward) in the order of placing.
        loops: for each joint off the tree, the joints around its loop, beginning with that joint.
    """

    order: tuple[tuple[str, int, int, bool], ...]
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


def rigid_groups(mechanism: Mechanism, local: dict[str, dict[str, Pose]]) -> tuple[Group, ...]:
    """Return the groups of parts that move together, the world's first; then those of joints without a part between.

    Args:
        mechanism: the mechanism.
        local: for each part, the pose of each of its frames seen from its own origin.

    Raises:
        FrameConnectionError: a connection joins two frames that are rigidly connected already.
    """
    owner = {f"{path}.{frame}": path for path, frames in local.items() for frame in frames}
    fixed = [sorted(frame for frame in node if frame in owner) for node in nodes_of(mechanism)]
    _refuse_rigid_loops(fixed, owner)
    touching = {frame: [other for other in frames if other != frame] for frames in fixed for frame in frames}
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
    ends = {f"{path}.{frame}" for path, joint in mechanism.of(Joint).items() for frame in joint.frames}
    bare = (node for node in nodes_of(mechanism) if not node & owner.keys() and len(node & ends) > 1)
    here = identity(mechanism.planar)
    return (*groups, *(Group((), dict.fromkeys(sorted(node), here)) for node in bare))


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


def anchors_of(mechanism: Mechanism, groups: tuple[Group, ...]) -> dict[str, tuple[int, str]]:
    """Return, for each frame of a joint or force, its group and the frame of a part that it coincides with.

    Raises:
        FrameConnectionError: a frame is connected to no part.
    """
    group_of = {frame: number for number, group in enumerate(groups) for frame in group.poses}
    parts = mechanism.of(Part)
    found: dict[str, tuple[int, str]] = {}
    for node in nodes_of(mechanism):
        anchor = next((frame for frame in sorted(node) if frame in group_of), None)
        for frame in node:
            if frame.rpartition(".")[0] in parts:
                continue
            if anchor is None:
                raise FrameConnectionError(f"'{frame}' reaches no part and no other joint: connect it to a body")
            found[frame] = (group_of[anchor], anchor)
    return found


def spanning_tree(
    mechanism: Mechanism, groups: tuple[Group, ...], where: dict[str, tuple[int, str]], freedom: Mapping[str, int]
) -> Tree:
    """Return the spanning tree outward from the world: joints of least freedom first, then the nearest.

    Args:
        mechanism: the mechanism.
        groups: the rigid bodies.
        where: group and part's frame of each frame.
        freedom: sort key of each joint, from the number of coordinates that it would carry.

    Raises:
        FrameConnectionError: a joint has both ends on one body, or a body is not connected to the world.
    """
    ends: dict[str, tuple[int, int]] = {}
    for path in mechanism.of(Joint):
        a, b = where[f"{path}.frame_a"][0], where[f"{path}.frame_b"][0]
        if a == b:
            raise FrameConnectionError(f"joint '{path}': frame_a and frame_b are on one rigid body ({groups[a].label})")
        ends[path] = (a, b)
    leaving: dict[int, list[tuple[str, int, bool]]] = {number: [] for number in range(len(groups))}
    for path, (a, b) in ends.items():
        leaving[a].append((path, b, True))
        leaving[b].append((path, a, False))
    parent: dict[int, tuple[int, str] | None] = {0: None}
    order: list[tuple[str, int, int, bool]] = []
    count = itertools.count()
    waiting: list[tuple[int, int, int, tuple[str, int, bool]]] = []

    def reach(group: int, depth: int) -> None:
        for edge in leaving[group]:
            heapq.heappush(waiting, (freedom[edge[0]], depth, next(count), (edge[0], group, edge[2])))

    reach(0, 0)
    while waiting:
        _, depth, _, (path, near, forward) = heapq.heappop(waiting)
        far = ends[path][1 if forward else 0]
        if far not in parent:
            parent[far] = (near, path)
            order.append((path, near, far, forward))
            reach(far, depth + 1)
    for number, group in enumerate(groups):
        if number not in parent and any(isinstance(mechanism.components[part], MovingPart) for part in group.parts):
            raise FrameConnectionError(
                f"body '{group.parts[0]}' is not connected to the world by joints: connect it; "
                "a free body hangs on a FreeMotion joint"
            )
    on_tree = {path for path, *_ in order}
    loops = tuple((path, *_way(parent, a, b)) for path, (a, b) in ends.items() if path not in on_tree and a in parent)
    return Tree(tuple(order), loops)


def _way(parent: dict[int, tuple[int, str] | None], a: int, b: int) -> tuple[str, ...]:
    def to_root(group: int) -> list[str]:
        joints = []
        while (step := parent[group]) is not None:
            group, joint = step
            joints.append(joint)
        return joints

    up, down = to_root(a), to_root(b)
    while up and down and up[-1] == down[-1]:
        up.pop()
        down.pop()
    return (*reversed(down), *up)

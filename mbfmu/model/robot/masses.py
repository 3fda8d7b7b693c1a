"""Masses of a robot: links fixed to each other as one body, and the inertia that each joint moves at the start."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from mbfmu.errors import MOST_SAID, ModelError
from mbfmu.model.physical import unphysical
from mbfmu.model.robot.robot import AXIAL, DUST, Array, Robot, RobotJoint, RobotLink

LARGE, MOST = 500, 4_000
"""Largest number of joints of a robot whose mass matrix is computed, which takes a second: as it is useful, and as a
mimicking joint without mass or a damping ratio needs it."""

MOST_RATES = 6
"""Largest number of rates of a joint."""


@dataclass(frozen=True)
class Rigid:
    """The links that are fixed to each other.

    Args:
        links: their names, beginning with the one that a joint carries.
        m: mass, kg.
        r_CM: centre of mass, m, resolved in the first link's frame.
        inertia: about the centre of mass, shape (3, 3), kg.m2, resolved in the first link's frame.
    """

    links: tuple[str, ...]
    m: float
    r_CM: Array
    inertia: Array


def rigid_bodies(robot: Robot) -> dict[str, Rigid]:
    """Return the rigid bodies of a robot by the name of their first link; that of the world comes first."""
    poses: dict[str, dict[str, tuple[Array, Array]]] = {robot.root: {robot.root: (np.eye(3), np.zeros(3))}}
    first = {robot.root: robot.root}
    for joint in robot.joints.values():
        if joint.kind == "fixed":
            base = first[joint.child] = first[joint.parent]
            R, r = poses[base][joint.parent]
            poses[base][joint.child] = R @ joint.origin.R, r + R @ np.array(joint.origin.xyz)
        else:
            first[joint.child] = joint.child
            poses[joint.child] = {joint.child: (np.eye(3), np.zeros(3))}
    return {base: _merged(robot.links, links_on) for base, links_on in poses.items()}


def _merged(links: Mapping[str, RobotLink], poses: Mapping[str, tuple[Array, Array]]) -> Rigid:
    parts = [
        (links[name].m, r + R @ np.array(links[name].r_CM), R @ links[name].inertia @ R.T)
        for name, (R, r) in poses.items()
    ]
    m = sum(part[0] for part in parts)
    r_CM = np.array(sum(part[0] * part[1] for part in parts) / m if m else np.zeros(3))
    inertia = sum((part[2] + part[0] * _steiner(part[1] - r_CM) for part in parts), np.zeros((3, 3)))
    return Rigid(tuple(poses), m, r_CM, inertia)


def _steiner(d: Array) -> Array:
    return np.array(d @ d * np.eye(3) - np.outer(d, d))


def notices_of_masses(robot: Robot) -> Iterator[str]:
    """Yield what is wrong with the inertias of the bodies that move, of the first of them."""
    faults: list[str] = []
    for base, body in rigid_bodies(robot).items():
        if np.abs(body.inertia).max() > DUST and base != robot.root and (reason := unphysical(body.inertia)):
            others = f" (with {', '.join(body.links[1:4])}{' ...' * (len(body.links) > 4)})" * (len(body.links) > 1)
            faults.append(f"link '{base}'{others}: {reason}")
    yield from faults[:MOST_SAID]
    if len(faults) > MOST_SAID:
        yield f"and {len(faults) - MOST_SAID} more links with such inertias"


def inertias_on_axes(robot: Robot, start: Mapping[str, float]) -> dict[str, float]:
    """Return the inertia that an effort on each axis moves at the start, with all other joints free, kg.m2 or kg.

    It is one over the diagonal of the inverse mass matrix; joints that mimic others move with those. There are none for
    robots of more than `LARGE` joints.

    Args:
        robot: the robot.
        start: coordinate of each joint with an axis.
    """
    if len(robot.joints) > LARGE:
        return {}
    names, eased = accelerations_of_axes(robot, start)
    return {name: 1 / float(item) for name, item in zip(names, eased.diagonal(), strict=True) if item > 0}


def accelerations_of_axes(robot: Robot, start: Mapping[str, float]) -> tuple[list[str], Array]:
    """Return the joints with an axis, and the acceleration of each per effort on each, from rest and without weight.

    The matrix is a part of the inverse of the mass matrix; joints that mimic others move with those.

    Args:
        robot: the robot.
        start: coordinate of each joint with an axis.

    Raises:
        ModelError: it has too many joints.
    """
    mobility = mobility_of(robot, start)
    names = [name for name, joint in robot.joints.items() if joint.kind in AXIAL]
    axial = mobility.follow[[mobility.column[f"{name} 0"] for name in names]]
    return names, np.array(axial @ mobility.inverse @ axial.T)


@dataclass(frozen=True)
class Mobility:
    """Ease of motion of a robot from rest in some pose.

    Args:
        column: index of each rate among all, by the name of its joint and its index there.
        velocities: velocity of the point at the world's origin and angular velocity per rate, by the same names.
        ways: names of the rates that move each link, by its name.
        frames: pose (R, r) of each link, by its name.
        follow: rates of all joints per rate of those that mimic no other, a matrix.
        blocks: indices of rates that mimic no other, and the inverse of their mass matrix, for each part of the robot
            that moves by itself.
    """

    column: Mapping[str, int]
    velocities: Mapping[str, tuple[Array, Array]]
    ways: Mapping[str, tuple[str, ...]]
    frames: Mapping[str, tuple[Array, Array]]
    follow: Array
    blocks: tuple[tuple[npt.NDArray[np.int64], Array], ...]

    @property
    def inverse(self) -> Array:
        """Return the inverse mass matrix of the rates that mimic no other."""
        whole = np.zeros((self.follow.shape[1],) * 2)
        for where, block in self.blocks:
            whole[np.ix_(where, where)] = block
        return whole

    def along(self, combination: Mapping[str, float]) -> Array:
        """Return the rate of a combination of axes per rate that mimics no other."""
        return sum((ratio * self.follow[self.column[f"{name} 0"]] for name, ratio in combination.items()),
                   np.zeros(self.follow.shape[1]))  # fmt: skip

    def of_point(self, link: str, r: Array, n: Array, about: Array | None = None) -> Array:
        """Return the speed along n of a point r of a link per rate that mimics no other, and about an axis its turn.

        Args:
            link: name of the link.
            r: the point, m, in the frame of the link.
            n: direction of the speed, in the world frame.
            about: direction of the angular velocity that is added, in the world frame; None: none.
        """
        R, origin = self.frames[link]
        row, point = np.zeros(len(self.column)), origin + R @ r
        for name in self.ways[link]:
            v, w = self.velocities[name]
            row[self.column[name]] = n @ (v + np.cross(w, point)) + (0.0 if about is None else about @ w)
        return np.array(row @ self.follow)

    def eased(self, row: Array) -> float:
        """Return the acceleration along a motion, given as a row of its rate, by a unit force there."""
        return float(sum(row[where] @ inverse @ row[where] for where, inverse in self.blocks))

    def loaded(self, rows: Sequence[tuple[Array, float]]) -> "Mobility":
        """Return the mobility with masses that move along, each given as a row of its speed and its size, kg."""
        if not rows:
            return self
        inverse = self.inverse
        for row, mass in rows:  # Sherman and Morrison
            way = inverse @ row
            inverse -= np.outer(way, way) * mass / (1 + mass * (row @ way))
        return replace(self, blocks=((np.arange(len(inverse)), inverse),))

    def eased_by(self, joint: str) -> float:
        """Return the acceleration of a joint by a unit effort on it, the mean of those of its rates."""
        names = [f"{joint} {index}" for index in range(MOST_RATES) if f"{joint} {index}" in self.column]
        return float(np.mean([self.eased(self.follow[self.column[name]]) for name in names]))


def mobility_of(robot: Robot, start: Mapping[str, float]) -> Mobility:
    """Return how easily a robot moves from rest.

    Args:
        robot: the robot.
        start: coordinate of each joint with an axis.

    Raises:
        ModelError: it has too many joints.
    """
    if len(robot.joints) > MOST:
        message = f"a robot of {len(robot.joints)} joints has no mass matrix here, which this one needs: at most {MOST}"
        raise robot.source.error(robot.links[robot.root].line, ModelError(message))
    bodies = rigid_bodies(robot)
    columns: dict[str, tuple[Array, Array]] = {}
    frames = {robot.root: (np.eye(3), np.zeros(3))}
    ways: dict[str, tuple[str, ...]] = {robot.root: ()}
    # pose of each link at the start, and the velocity of its points per rate of each axis before it
    for joint in robot.joints.values():
        R, r = frames[joint.parent]
        R, r = R @ joint.origin.R, r + R @ np.array(joint.origin.xyz)
        entries = []
        for index, (v, w) in enumerate(_twists(joint)):
            columns[f"{joint.name} {index}"] = R @ v + np.cross(r, R @ w), R @ w
            entries.append(f"{joint.name} {index}")
        ways[joint.child] = (*ways[joint.parent], *entries)
        q = start.get(joint.name, 0.0)
        if joint.kind in AXIAL:
            ((v, w),) = _twists(joint)
            R, r = R @ _turned(np.array(joint.axis), q) if w.any() else R, r + R @ v * q
        frames[joint.child] = R, r
    column = {name: index for index, name in enumerate(columns)}
    # parts that move by themselves: those that hang on the world, unless joints mimic others, perhaps of another part
    mimics = any(joint.mimic for joint in robot.joints.values())
    first = {name: way[0] if not mimics else "" for way in ways.values() for name in way}
    parts: dict[str, list[str]] = {}
    for name in columns:
        parts.setdefault(first[name], []).append(name)
    local = {name: index for names in parts.values() for index, name in enumerate(names)}
    masses = {key: np.zeros((len(names), len(names))) for key, names in parts.items()}
    # mass matrix: M = sum over bodies of m J_v^T J_v + J_w^T I J_w, and the rotors on their axes
    for base, body in bodies.items():
        R, r = frames[base]
        if not ways[base]:
            continue
        where = [local[name] for name in ways[base]]
        v, w = (np.array([columns[name][k] for name in ways[base]]).T for k in range(2))
        moved = v + np.cross(w.T, r + R @ body.r_CM).T
        M = masses[first[ways[base][0]]]
        M[np.ix_(where, where)] += body.m * moved.T @ moved + w.T @ (R @ body.inertia @ R.T) @ w
    for name, joint in robot.joints.items():
        for index in range(len(_twists(joint)) if joint.rotor else 0):
            at = local[f"{name} {index}"]
            masses[first[f"{name} {index}"]][at, at] += joint.rotor
    # rates that follow others, q_t = G r_t: inverse of G^T M G, seen from the axes
    follow = _following(robot, column) if mimics else np.eye(len(column))
    blocks = []
    for key, names in parts.items():
        M = follow.T @ masses[key] @ follow if mimics else masses[key]
        rates = np.arange(len(M)) if mimics else np.array([column[name] for name in names])
        blocks.append((rates, np.linalg.pinv(M, hermitian=True)))
    return Mobility(column, columns, ways, frames, follow, tuple(blocks))


def _twists(joint: RobotJoint) -> list[tuple[Array, Array]]:
    """Return the motions of a joint: velocity and angular velocity per rate of each, in the joint's frame."""
    axis, still = np.array(joint.axis), np.zeros(3)
    if joint.kind in AXIAL:
        sliding = joint.kind == "prismatic"
        return [(axis if sliding else joint.advance * axis, still if sliding else axis)]
    if joint.kind == "planar":
        return [(still, axis), *((row, still) for row in np.linalg.svd(axis[None])[2][1:])]
    sliding_ways = [(row, still) for row in np.eye(3)] if joint.kind == "floating" else []
    return [*sliding_ways, *((still, row) for row in np.eye(3) if joint.kind in {"floating", "ball"})]


def _turned(n: Array, angle: float) -> Array:
    """Return the rotation matrix about a unit vector, by Rodrigues' formula."""
    K = np.cross(np.eye(3), n)
    return np.array(np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K)


def _following(robot: Robot, column: Mapping[str, int]) -> Array:
    """Return the rates of all joints per rate of those that mimic no other, a matrix."""
    G = np.eye(len(column))
    mimics = {name: joint.mimic for name, joint in robot.joints.items() if joint.mimic}
    for name in mimics:
        ratio, leader = 1.0, name
        while leader in mimics:
            ratio, leader = ratio * mimics[leader].multiplier, mimics[leader].joint
        G[column[f"{name} 0"]] = 0.0
        G[column[f"{name} 0"], column[f"{leader} 0"]] = ratio
    return G[:, [index for name, index in column.items() if name.rpartition(" ")[0] not in mimics]]

"""Where a mechanism is, and what is wrong with it: the same judge for all peers, from the links alone."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from benchmarks.task import ORIGIN, Task, Vector3

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Poses:
    """Where the links are, and how fast; shapes (N, 3, 3) and (N, 3), all resolved in the world.

    Args:
        R: orientations.
        r: the joints' points, m.
        v: their velocities, m/s.
        w: angular velocities, rad/s.
    """

    R: Array
    r: Array
    v: Array
    w: Array

    def point(self, link: int, at: Vector3) -> tuple[Array, Array]:
        """Return a point of a link (-1: the world) and its velocity."""
        if link < 0:
            return np.array(at), np.zeros(3)
        arm = self.R[link] @ np.array(at)
        return self.r[link] + arm, self.v[link] + np.cross(self.w[link], arm)

    def angle(self, task: Task, link: int) -> float:
        """Return the angle of a link's hinge but for full turns, or how far it has slid."""
        item = task.links[link]
        before = self.R[item.parent] if item.parent >= 0 else np.eye(3)
        axis = np.array(item.axis)
        if item.slides:
            return float(axis @ before.T @ (self.r[link] - self.point(item.parent, item.at)[0]))
        R = before.T @ self.R[link]
        twist = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
        return float(np.arctan2(axis @ twist, np.trace(R) - 1))


def poses(task: Task, q: Array, v: Array) -> Poses:
    """Return where the links are for coordinates q and rates v of the tree's joints, shapes (N,)."""
    N = len(task.links)
    found = Poses(np.zeros((N, 3, 3)), np.zeros((N, 3)), np.zeros((N, 3)), np.zeros((N, 3)))
    for i, link in enumerate(task.links):
        before = found.R[link.parent] if link.parent >= 0 else np.eye(3)
        turning = found.w[link.parent] if link.parent >= 0 else np.zeros(3)
        found.r[i], found.v[i] = found.point(link.parent, link.at)
        along = before @ np.array(link.axis)
        if link.slides:
            found.R[i], found.w[i] = before, turning
            found.r[i] += along * q[i]
            found.v[i] += along * v[i] + np.cross(turning, along * q[i])
        else:
            found.R[i], found.w[i] = before @ rotation(link.axis, q[i]), turning + along * v[i]
    return found


def rotation(axis: Vector3, angle: float) -> Array:
    """Return the rotation about a unit axis (Rodrigues), shape (3, 3)."""
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    turn: Array = np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
    return turn


def residuals(task: Task, where: Poses) -> tuple[float, float]:
    """Return the largest gap of all joints (m) and its rate (m/s); of the tree's joints their points only."""
    gaps = [
        [a - b for a, b in zip(where.point(i, ORIGIN), where.point(link.parent, link.at), strict=True)]
        for i, link in enumerate(task.links)
        if not link.slides
    ]
    gaps += [
        [a - b for a, b in zip(where.point(pin.a, pin.at_a), where.point(pin.b, pin.at_b), strict=True)]
        for pin in task.pins
    ]
    return tuple(float(max(np.abs(gap[k]).max() for gap in gaps)) for k in (0, 1))  # type: ignore[return-value]


def coordinates(task: Task, where: Poses) -> Array:
    """Return the coordinates of the tree's joints, shape (N,), with the full turns that the true end has."""
    found = np.array([where.angle(task, i) for i in range(len(task.links))])
    for i, link in enumerate(task.links):
        if not link.slides and link.name in task.exact:
            found[i] += 2 * np.pi * round((task.exact[link.name] - found[i]) / (2 * np.pi))
    return found


def energy(task: Task, where: Poses, q: Array) -> float:
    """Return kinetic plus potential energy, less the work of torques on the coordinates q, J."""
    total = 0.0
    for i, link in enumerate(task.links):
        center, velocity = where.point(i, link.center)
        w = where.R[i].T @ where.w[i]
        total += link.m * (velocity @ velocity) / 2 + w @ (np.array(link.inertia) * w) / 2
        total -= link.m * (np.array(task.gravity) @ center) + link.torque * q[i]
    for spring in task.springs:
        a, b = where.point(spring.a, spring.at_a)[0], where.point(spring.b, spring.at_b)[0]
        total += spring.c * (np.linalg.norm(b - a) - spring.length) ** 2 / 2
    return float(total)


def assembled(task: Task) -> Task:
    """Return the task with a start that meets the pins; the first coordinate and its rate stay (Newton's method)."""
    q = np.array([link.q for link in task.links])
    v = np.array([link.v for link in task.links])

    def gap(q: Array, v: Array, level: int) -> Array:
        where = poses(task, q, v)
        ends = [(where.point(pin.a, pin.at_a)[level], where.point(pin.b, pin.at_b)[level]) for pin in task.pins]
        return np.concatenate([(a - b)[:2] for a, b in ends])

    def jacobian(q: Array) -> Array:
        return np.stack([gap(q, unit, 1) for unit in np.eye(len(q))], axis=1)

    for _ in range(50):
        q[1:] -= np.linalg.solve(jacobian(q)[:, 1:], gap(q, v, 0))
    v[1:] = -np.linalg.solve(jacobian(q)[:, 1:], jacobian(q)[:, 0] * v[0])
    links = [replace(link, q=float(a), v=float(b)) for link, a, b in zip(task.links, q, v, strict=True)]
    return replace(task, links=tuple(links))

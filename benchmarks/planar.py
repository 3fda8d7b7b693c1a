"""A planar task as plain arrays in absolute coordinates, for peers that solve equations and build no mechanisms.

    q = [x, y, phi of each centre of mass],    M a + P^T lambda = F(q),    P a = gamma

Compiled by numba where it is installed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from benchmarks.judge import Array, Poses, poses
from benchmarks.task import ORIGIN, Task, Vector3

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Return a function compiled by numba, or as it is."""
    try:
        numba = import_module("numba")
    except ImportError:
        return function
    made: F = numba.njit(function)
    return made


@dataclass(frozen=True)
class Planar:
    """A mechanism in the plane.

    Args:
        M: diagonal of the mass matrix, shape (3 N,).
        F: gravity and torques, shape (3 N,).
        ends: the bodies that each pin joins, -1: the world, shape (p, 2).
        points: the points it joins, seen from the centres of mass, shape (p, 4).
        held: coordinates that are zero, shape (k,).
        sprung: the bodies that each spring joins, shape (s, 2).
        springs: its points, stiffness and length, shape (s, 6).
        q, v: the start, shape (3 N,).
    """

    M: Array
    F: Array
    ends: Any
    points: Array
    held: Any
    sprung: Any
    springs: Array
    q: Array
    v: Array

    @property
    def data(self) -> tuple[Any, ...]:
        """What `acceleration` takes after q and v."""
        return self.M, self.F, self.ends, self.points, self.held, self.sprung, self.springs


def planar(task: Task) -> Planar:
    """Return a task as arrays."""
    start = poses(task, *(np.array([getattr(link, name) for link in task.links]) for name in ("q", "v")))
    seen = [np.array(link.center[:2]) for link in task.links]
    joints = [(link.parent, i, link.at, ORIGIN) for i, link in enumerate(task.links) if not link.slides]
    joints += [(pin.a, pin.b, pin.at_a, pin.at_b) for pin in task.pins]
    centers = [start.point(i, link.center) for i, link in enumerate(task.links)]

    def of_points(pairs: list[tuple[int, int, Vector3, Vector3]]) -> tuple[Any, Array]:
        ends = np.array([pair[:2] for pair in pairs], dtype=int).reshape(-1, 2)
        points = [[np.array(at[:2]) - (seen[i] if i >= 0 else 0) for i, at in ((a, u), (b, w))] for a, b, u, w in pairs]
        return ends, np.array(points).reshape(-1, 4)

    ends, points = of_points(joints)
    sprung, between = of_points([(item.a, item.b, item.at_a, item.at_b) for item in task.springs])
    laws = np.array([(item.c, item.length) for item in task.springs]).reshape(-1, 2)
    return Planar(
        M=np.ravel([[link.m, link.m, link.inertia[2]] for link in task.links]),
        F=np.ravel([[link.m * task.gravity[0], link.m * task.gravity[1], link.torque] for link in task.links]),
        ends=ends,
        points=points,
        held=np.array([3 * i + row for i, link in enumerate(task.links) if link.slides for row in (1, 2)], dtype=int),
        sprung=sprung,
        springs=np.hstack([between, laws]),
        q=np.ravel([[*r[:2], np.arctan2(R[1, 0], R[0, 0])] for R, (r, _) in zip(start.R, centers, strict=True)]),
        v=np.ravel([[*v[:2], w[2]] for w, (_, v) in zip(start.w, centers, strict=True)]),
    )


def where(task: Task, q: Array, v: Array) -> Poses:
    """Return the poses of absolute coordinates."""
    N = len(task.links)
    q, v = q.reshape(N, 3), v.reshape(N, 3)
    found = Poses(np.zeros((N, 3, 3)), np.zeros((N, 3)), np.zeros((N, 3)), np.zeros((N, 3)))
    for i, link in enumerate(task.links):
        c, s = np.cos(q[i, 2]), np.sin(q[i, 2])
        found.R[i] = [[c, -s, 0], [s, c, 0], [0, 0, 1]]
        found.w[i, 2] = v[i, 2]
        arm = found.R[i] @ np.array(link.center)
        found.r[i] = [*q[i, :2], 0] - arm
        found.v[i] = [*v[i, :2], 0] - np.cross(found.w[i], arm)
    return found


@compiled
def constraints(q: Any, v: Any, ends: Any, points: Any, held: Any) -> Any:
    """Return (P, gamma), shapes (m, 3 N), (m,)."""
    m, n = 2 * len(ends) + len(held), len(q)
    P, gamma = np.zeros((m, n)), np.zeros(m)
    for k in range(len(ends)):
        for end in range(2):
            i, x, y = ends[k, end], points[k, 2 * end], points[k, 2 * end + 1]
            sign = 1.0 if end == 0 else -1.0
            if i < 0:
                continue
            c, s, w = np.cos(q[3 * i + 2]), np.sin(q[3 * i + 2]), v[3 * i + 2]
            X, Y = c * x - s * y, s * x + c * y
            P[2 * k, 3 * i] = sign
            P[2 * k + 1, 3 * i + 1] = sign
            P[2 * k, 3 * i + 2] = -sign * Y
            P[2 * k + 1, 3 * i + 2] = sign * X
            gamma[2 * k] += sign * X * w * w
            gamma[2 * k + 1] += sign * Y * w * w
    for k in range(len(held)):
        P[2 * len(ends) + k, held[k]] = 1.0
    return P, gamma


@compiled
def forces(q: Any, F: Any, sprung: Any, springs: Any) -> Any:
    """Return F and the springs' forces, shape (3 N,)."""
    total = F.copy()
    arms, tips = np.zeros((2, 2)), np.zeros((2, 2))
    for k in range(len(sprung)):
        for end in range(2):
            i, x, y = sprung[k, end], springs[k, 2 * end], springs[k, 2 * end + 1]
            if i < 0:
                tips[end, 0], tips[end, 1] = x, y
                continue
            c, s = np.cos(q[3 * i + 2]), np.sin(q[3 * i + 2])
            arms[end, 0], arms[end, 1] = c * x - s * y, s * x + c * y
            tips[end, 0], tips[end, 1] = q[3 * i] + arms[end, 0], q[3 * i + 1] + arms[end, 1]
        dx, dy = tips[1, 0] - tips[0, 0], tips[1, 1] - tips[0, 1]
        length = np.sqrt(dx * dx + dy * dy)
        pull = springs[k, 4] * (1 - springs[k, 5] / length)
        for end in range(2):
            i, sign = sprung[k, end], 1.0 - 2.0 * end
            if i >= 0:
                total[3 * i] += sign * pull * dx
                total[3 * i + 1] += sign * pull * dy
                total[3 * i + 2] += sign * pull * (arms[end, 0] * dy - arms[end, 1] * dx)
    return total


@compiled
def acceleration(q: Any, v: Any, M: Any, F: Any, ends: Any, points: Any, held: Any, sprung: Any, springs: Any) -> Any:
    """Return a of the index-1 form, shape (3 N,)."""
    P, gamma = constraints(q, v, ends, points, held)
    total, over = forces(q, F, sprung, springs), P / M
    return (total - P.T @ np.linalg.solve(over @ P.T, over @ total - gamma)) / M

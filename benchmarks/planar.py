"""A planar task as plain arrays in absolute coordinates, for peers that solve equations and build no mechanisms.

    q = [x, y, phi of each centre of mass],    M a + P^T lambda = F,    P a = gamma,    Phi(q) = 0

Compiled by numba where it is installed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from benchmarks.judge import Array, Poses, poses
from benchmarks.task import ORIGIN, Task

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
        F: forces, shape (3 N,).
        ends: the bodies that each pin joins, -1: the world, shape (p, 2).
        points: the points it joins, seen from the centres of mass, shape (p, 4).
        held: coordinates that are zero, shape (k,).
        q, v: the start, shape (3 N,).
    """

    M: Array
    F: Array
    ends: Any
    points: Array
    held: Any
    q: Array
    v: Array

    @property
    def m(self) -> int:
        """Number of constraints."""
        return 2 * len(self.ends) + len(self.held)


def planar(task: Task) -> Planar:
    """Return a task as arrays."""
    start = poses(task, *(np.array([getattr(link, name) for link in task.links]) for name in ("q", "v")))
    seen = [np.array(link.center[:2]) for link in task.links]
    joints = [(link.parent, i, link.at, ORIGIN) for i, link in enumerate(task.links) if not link.slides]
    joints += [(pin.a, pin.b, pin.at_a, pin.at_b) for pin in task.pins]
    centers = [start.point(i, link.center) for i, link in enumerate(task.links)]
    ends = np.array([item[:2] for item in joints])
    points = [[np.array(at[:2]) - (seen[i] if i >= 0 else 0) for i, at in ((a, u), (b, w))] for a, b, u, w in joints]
    return Planar(
        M=np.ravel([[link.m, link.m, link.inertia[2]] for link in task.links]),
        F=np.ravel([[link.m * task.gravity[0], link.m * task.gravity[1], 0.0] for link in task.links]),
        ends=ends,
        points=np.array(points).reshape(-1, 4),
        held=np.array([3 * i + row for i, link in enumerate(task.links) if link.slides for row in (1, 2)], dtype=int),
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
    """Return (Phi, P, gamma), shapes (m,), (m, 3 N), (m,)."""
    m, n = 2 * len(ends) + len(held), len(q)
    Phi, P, gamma = np.zeros(m), np.zeros((m, n)), np.zeros(m)
    for k in range(len(ends)):
        for end in range(2):
            i, x, y = ends[k, end], points[k, 2 * end], points[k, 2 * end + 1]
            sign = 1.0 if end == 0 else -1.0
            if i < 0:
                Phi[2 * k] += sign * x
                Phi[2 * k + 1] += sign * y
                continue
            c, s, w = np.cos(q[3 * i + 2]), np.sin(q[3 * i + 2]), v[3 * i + 2]
            X, Y = c * x - s * y, s * x + c * y
            Phi[2 * k] += sign * (q[3 * i] + X)
            Phi[2 * k + 1] += sign * (q[3 * i + 1] + Y)
            P[2 * k, 3 * i] = sign
            P[2 * k + 1, 3 * i + 1] = sign
            P[2 * k, 3 * i + 2] = -sign * Y
            P[2 * k + 1, 3 * i + 2] = sign * X
            gamma[2 * k] += sign * X * w * w
            gamma[2 * k + 1] += sign * Y * w * w
    for k in range(len(held)):
        Phi[2 * len(ends) + k] = q[held[k]]
        P[2 * len(ends) + k, held[k]] = 1.0
    return Phi, P, gamma


@compiled
def acceleration(q: Any, v: Any, M: Any, F: Any, ends: Any, points: Any, held: Any) -> Any:
    """Return (a, lambda) of the index-1 form, shapes (3 N,), (m,)."""
    _, P, gamma = constraints(q, v, ends, points, held)
    over = P / M
    lambda_ = np.linalg.solve(over @ P.T, over @ F - gamma)
    return (F - P.T @ lambda_) / M, lambda_

"""Meshes that are made of a few numbers, with the corners and triangles that MuJoCo gives them."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from mbfmu.errors import ValueRangeError
from mbfmu.model.robot.robot import Array

Triangles = npt.NDArray[np.int64]
Surface = tuple[Array, Triangles]
FINEST = 500
"""Largest number of corners along one side."""
GOLDEN = np.float32((1 + math.sqrt(5)) / 2)


def made(kind: str, numbers: Sequence[float]) -> Surface:
    """Return the corners, shape (n, 3), and triangles, shape (m, 3), of a mesh; no triangles stand for the convex hull.

    Args:
        kind: one of `BUILTIN`.
        numbers: its numbers.

    Raises:
        ValueRangeError: there are more or fewer numbers than it has, or one is out of its bounds.
    """
    maker, bounds = BUILTIN[kind]
    if len(numbers) != len(bounds):
        raise ValueRangeError(f"<mesh params> of a {kind} are {len(bounds)} numbers, not {len(numbers)}")
    for number, (least, greatest) in zip(numbers, bounds, strict=True):
        if not least <= number <= greatest:
            raise ValueRangeError(f"<mesh params> of a {kind}: {number:g} must be from {least:g} to {greatest:g}")
    vertices, triangles = maker(*numbers)
    single = np.array(vertices, dtype=np.float32)  # as MuJoCo keeps them
    return single.astype(np.float64).reshape(-1, 3), np.array(triangles, dtype=np.int64).reshape(-1, 3)


def _sphere(subdivisions: float) -> Surface:
    """Return an icosahedron with its triangles cut in four, again and again, in single precision."""
    one, phi, zero = np.float32(1), GOLDEN, np.float32(0)
    norm = math.sqrt(1.0 + float(phi * phi))
    corners = [
        (-one, phi, zero), (one, phi, zero), (-one, -phi, zero), (one, -phi, zero),
        (zero, -one, phi), (zero, one, phi), (zero, -one, -phi), (zero, one, -phi),
        (phi, zero, -one), (phi, zero, one), (-phi, zero, -one), (-phi, zero, one),
    ]  # fmt: skip
    vertices = [np.array([np.float32(float(x) / norm) for x in corner], dtype=np.float32) for corner in corners]
    faces = [
        (0, 11, 5), (0, 5, 1), (0, 1, 7), (0, 7, 10), (0, 10, 11), (1, 5, 9), (5, 11, 4), (11, 10, 2), (10, 7, 6),
        (7, 1, 8), (3, 9, 4), (3, 4, 2), (3, 2, 6), (3, 6, 8), (3, 8, 9), (4, 9, 5), (2, 4, 11), (6, 2, 10), (8, 6, 7),
        (9, 8, 1),
    ]  # fmt: skip
    for _ in range(int(subdivisions)):
        halves: dict[tuple[int, int], int] = {}

        def half(i: int, k: int, halves: dict[tuple[int, int], int] = halves) -> int:
            pair = (min(i, k), max(i, k))
            if pair not in halves:
                halves[pair] = len(vertices)
                middle = (vertices[i] + vertices[k]) / np.float32(2)
                vertices.append(middle / np.float32(np.sqrt((middle * middle).sum(dtype=np.float32))))
            return halves[pair]

        finer = []
        for i, k, n in faces:
            a, b, c = half(i, k), half(k, n), half(n, i)
            finer += [(i, a, c), (k, b, a), (n, c, b), (a, b, c)]
        faces = finer
    return np.array(vertices), np.array(faces)


def _hemisphere(resolution: float) -> Surface:
    """Return a hemisphere of rows of points between the pole and the equator, with a flat bottom."""
    rows = int(resolution) + 1
    pole, equator = np.array([0.0, 0.0, 1.0]), np.array([[1.0, 0, 0], [0, 1.0, 0], [-1.0, 0, 0], [0, -1.0, 0]])
    vertices = [pole]
    for row in range(rows):
        for side in range(4):
            first, last = (pole + (row + 1) / rows * (equator[(side + k) % 4] - pole) for k in range(2))
            points = (first + index * ((last - first) / (row + 1)) for index in range(row + 1))
            vertices += [point / np.linalg.norm(point) for point in points]
    vertices.append(np.zeros(3))
    faces = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 1)]
    for row in range(rows - 1):
        here, count, beyond = 2 * row * (row + 1) + 1, 4 * (row + 1), 4 * (row + 2)
        below = here + count
        for side in range(4):
            for index in range(row + 2):
                v, w = index + (row + 1) * side, index + (row + 2) * side
                faces.append((here + v % count, below + w % beyond, below + (w + 1) % beyond))
                if index < row + 1:
                    faces.append((here + v % count, below + (w + 1) % beyond, here + (v + 1) % count))
    first, count = 2 * (rows - 1) * rows + 1, 4 * rows
    faces += [(first + index, len(vertices) - 1, first + (index + 1) % count) for index in range(count)]
    return np.array(vertices), np.array(faces)


def _cone(corners: float, radius: float) -> Surface:
    """Return the corners of two polygons, of which the upper may be a point."""
    angles = 2 * np.arange(int(corners)) * math.pi / int(corners)
    ring = np.stack([np.cos(angles), np.sin(angles), np.full(len(angles), -1.0)], axis=1)
    top = ring * [radius, radius, -1.0] if radius > 0 else np.array([[0.0, 0.0, 1.0]])
    return np.concatenate([ring, top]), np.zeros((0, 3), dtype=np.int64)


def _supersphere(resolution: float, e: float, n: float) -> Surface:
    """Return a superellipsoid with unit axes."""
    count = int(resolution)
    v, u = -math.pi / 2 + np.arange(1, count) * math.pi / count, -math.pi + np.arange(count) * 2 * math.pi / count
    ring = _surface(_power(np.cos(v), n), _power(np.sin(v), n), u, e)
    vertices = np.concatenate([[[0.0, 0.0, -1.0]], ring, [[0.0, 0.0, 1.0]]])
    j = np.arange(count)
    after = (j + 1) % count
    faces = [np.stack([0 * j, 1 + after, 1 + j], axis=1)]
    for index in range(count - 2):
        here, beyond = 1 + index * count, 1 + (index + 1) * count
        faces.append(np.stack([here + j, here + after, beyond + j], axis=1))
        faces.append(np.stack([here + after, beyond + after, beyond + j], axis=1))
    last = 1 + (count - 2) * count
    faces.append(np.stack([last + j, last + after, 0 * j + len(vertices) - 1], axis=1))
    return vertices, np.concatenate(faces)


def _supertorus(resolution: float, radius: float, s: float, t: float) -> Surface:
    """Return a supertorus with the major radius 1."""
    count = int(resolution)
    angles = 2 * math.pi * np.arange(count) / count
    across, up = 1 + radius * _power(np.cos(angles), s), radius * _power(np.sin(angles), s)
    vertices = _surface(across, up, angles, t).reshape(count, count, 3).swapaxes(0, 1).reshape(-1, 3)
    i, k = (item.ravel() for item in np.indices((count, count)))
    one, two = i * count + k, (i + 1) % count * count + k
    three, four = (i + 1) % count * count + (k + 1) % count, i * count + (k + 1) % count
    return vertices, np.stack([one, two, four, two, three, four], axis=1).reshape(-1, 3)


def _surface(across: Array, up: Array, u: Array, exponent: float) -> Array:
    """Return the points of a curve turned about z, one circle after the other, shape (n, 3)."""
    around = np.stack([_power(np.cos(u), exponent), _power(np.sin(u), exponent)], axis=1)
    flat = across[:, None, None] * around
    heights = np.broadcast_to(up[:, None, None], (len(across), len(u), 1))
    return np.array(np.concatenate([flat, heights], axis=2).reshape(-1, 3))


def _power(x: Array, exponent: float) -> Array:
    return np.copysign(np.abs(x) ** exponent, x)


def _wedge(steps: float, more: float, fov: float, fov_2: float, gamma: float) -> Surface:
    """Return points of a part of a unit sphere."""
    middles = []
    for count, angle in ((int(steps), fov), (int(more), fov_2)):
        x = -1 + 2 / count * np.arange(count + 1)
        edges = (gamma * x**5 + (1 - gamma) * x) * angle * math.pi / 180
        middles.append((edges[1:] + edges[:-1]) / 2)
    a, e = (item.ravel() for item in np.meshgrid(*middles, indexing="ij"))
    vertices = np.stack([np.cos(e) * np.sin(a), np.sin(e), -np.cos(e) * np.cos(a)], axis=1)
    return vertices, np.zeros((0, 3), dtype=np.int64)


def _plate(steps: float, more: float) -> Surface:
    """Return a flat grid of points, whose mesh is a shell."""
    m, n = int(steps), int(more)
    x, y = -1 + (np.arange(m) + 0.5) * (2.0 / m), -1 + (np.arange(n) + 0.5) * (2.0 / n)
    grid = np.stack([*(item.ravel() for item in np.meshgrid(x, y, indexing="ij")), np.full(m * n, -1.0)], axis=1)
    i, k = (item.ravel() for item in np.indices((m - 1, n - 1)))
    one, two = i * n + k, (i + 1) * n + k
    faces = np.stack([one, two, one + 1, two + 1, one + 1, two], axis=1)
    return grid, faces.reshape(-1, 3)


STEPS = (1.0, float(FINEST))
BUILTIN: dict[str, tuple[Callable[..., Surface], tuple[tuple[float, float], ...]]] = {
    "sphere": (_sphere, ((0, 4),)),
    "hemisphere": (_hemisphere, ((0, 10),)),
    "cone": (_cone, ((3, FINEST), (0, 1))),
    "supersphere": (_supersphere, ((3, FINEST), (0, math.inf), (0, math.inf))),
    "supertorus": (_supertorus, ((3, FINEST), (1e-9, 1), (1e-9, math.inf), (1e-9, math.inf))),
    "wedge": (_wedge, (STEPS, STEPS, (1e-9, 180), (1e-9, 90), (0, 1))),
    "plate": (_plate, (STEPS, STEPS)),
}
"""Function that makes each kind, and the bounds of its numbers."""
SHELLS = frozenset({"plate"})
"""Kinds whose mesh is a shell."""

"""Polygons of OBJ files as triangles, cut as tinyobjloader cuts them, by which MuJoCo reads such files."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from mbfmu.errors import ValueRangeError

Array = npt.NDArray[np.float32]
Corners = tuple[int, int, int]
WORK = 100_000_000
"""Largest number of corners that are looked at in polygons of a file, which takes some five seconds."""
FIXED = 1_000
"""Number of corners that are looked at in the time that an attempt takes besides."""
SHORT = 100
"""Largest number of corners of polygons whose usual attempts, three a corner, are no such work: files have many."""


def all_triangles(vertices: Array, polygons: Iterable[Sequence[int]]) -> list[Corners]:
    """Return the triangles of polygons as numbers of vertices.

    Args:
        vertices: shape (n, 3), single precision, m.
        polygons: numbers of the vertices of each polygon, in order.

    Raises:
        ValueRangeError: polygons have so many corners that cutting them takes too long.
    """
    triangles: list[Corners] = []
    left = WORK
    for corners in polygons:
        each, usual = FIXED + len(corners), 3 * len(corners) if len(corners) <= SHORT else 0
        cut, tried = triangles_of(vertices, corners, usual + left // each)
        triangles += cut
        left -= max(0, tried - usual) * each
    return triangles


def triangles_of(vertices: Array, corners: Sequence[int], most: int) -> tuple[list[Corners], int]:
    """Return the triangles of a polygon as numbers of vertices, and how many attempts to cut one off it took.

    Four corners are cut along the shorter diagonal. More lose ears in turn: corners that do not bend against the sense
    in which their first side goes round the origin. That may be the wrong sense of a concave polygon, whose triangles
    then overlap.

    Args:
        vertices: shape (n, 3), single precision, m.
        corners: numbers of the polygon's vertices, in order.
        most: largest number of attempts.

    Raises:
        ValueRangeError: it takes more.
    """
    if len(corners) == 4:
        a, b, c, d = corners
        first, second = (np.sum((vertices[i] - vertices[k]) ** 2) for i, k in ((a, c), (b, d)))
        return ([(a, b, c), (a, c, d)] if first < second else [(a, b, d), (b, c, d)]), 0
    triangles: list[Corners] = []
    rest, tried = list(corners), 0
    at, before, left = 0, len(rest), len(rest)
    with np.errstate(all="ignore"):
        flat = vertices[:, _plane(vertices[rest])] if len(rest) > 3 else vertices
        while len(rest) > 3 and left > 0:
            tried += 1
            if tried > most:
                message = f"a polygon of {len(corners)} corners takes too long to cut into triangles: use shorter ones"
                raise ValueRangeError(message)
            left, before = (left - 1 if len(rest) == before else len(rest)), len(rest)
            turned = np.roll(rest, -at).tolist()
            if _is_ear(flat[turned[:3]], flat[turned[3:]]):
                triangles.append((turned[0], turned[1], turned[2]))
                del rest[(at + 1) % len(rest)]
            else:
                at += 1
            at %= len(rest)
    if len(rest) == 3:
        triangles.append((rest[0], rest[1], rest[2]))
    return triangles, tried


def _plane(corners: Array) -> tuple[int, int]:
    """Return the two axes that a polygon is seen along, by its first corner that is not straight."""
    sides = np.roll(corners, -1, axis=0) - corners
    for normal in np.abs(np.cross(sides, np.roll(sides, -1, axis=0))):
        if (normal > np.finfo(np.float32).eps).any():
            x, y, z = normal
            return (1, 2) if x > max(y, z) else (0, 1) if z > max(x, y) else (0, 2)
    return (1, 2)


def _is_ear(corners: Array, others: Array) -> bool:
    """Return whether three corners in a row, shape (3, 2), are an ear, with the others, shape (n, 2), outside of it."""
    (x, y), (x_2, y_2), (x_3, y_3) = corners
    bend = (x_2 - x) * (y_3 - y_2) - (y_2 - y) * (x_3 - x_2)
    if bend * (x * y_2 - y * x_2) < 0:
        return False
    inside = np.zeros(len(others), dtype=bool)
    p, q = others.T
    for (a, b), (c, d) in zip(corners, np.roll(corners, 1, axis=0), strict=True):
        inside ^= ((b > q) != (d > q)) & (p < (c - a) * (q - b) / (d - b) + a)
    return not inside.any()

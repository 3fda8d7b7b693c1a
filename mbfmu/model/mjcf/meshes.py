"""Meshes: their files, and their volume and inertia as exact integrals over tetrahedra."""

import re
import struct
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.spatial import ConvexHull, QhullError

from mbfmu.errors import ModelFileError, ValueRangeError
from mbfmu.model.mjcf.polygons import all_triangles
from mbfmu.model.robot.robot import Array
from mbfmu.model.robot.solids import MassShare
from mbfmu.model.source import read_bytes

LARGEST = 200_000_000
"""Largest number of bytes of a file."""
THINNEST = 1e-14
"""Smallest volume of a mesh, m3."""
LARGEST_SIZE = 1e30
"""Largest coordinate of a corner, m."""
Triangles = npt.NDArray[np.int64]


def read_mesh(path: Path) -> tuple[Array, Triangles]:
    """Return the vertices, shape (n, 3), and triangles, shape (m, 3), of an STL or OBJ file, or an MSH one of MuJoCo.

    A file of points alone has no triangles: it stands for their convex hull.

    Raises:
        ModelFileError: the file is missing or of another format, or holds no triangles.
        ValueRangeError: its polygons have too many corners.
    """
    content = read_bytes(path, LARGEST)
    try:
        match path.suffix.lower():
            case ".stl":
                vertices, triangles = _stl(content)
            case ".obj":
                vertices, triangles = _obj(content)
            case ".msh":
                vertices, triangles = _msh(content)
            case _:
                raise ModelFileError(f"'{path}': the mass of a mesh is computed of .stl, .obj and .msh files")
    except (ValueError, IndexError, struct.error):
        raise ModelFileError(f"'{path}' is not a mesh that can be read") from None
    if not len(vertices) or not np.isfinite(vertices).all():
        raise ModelFileError(f"'{path}' holds no triangles with finite corners")
    if len(triangles) and (triangles.min() < 0 or triangles.max() >= len(vertices)):
        raise ModelFileError(f"'{path}': a triangle has a corner that is not there")
    return vertices, triangles


def _stl(content: bytes) -> tuple[Array, Triangles]:
    (count,) = struct.unpack_from("<I", content, 80) if len(content) >= 84 else (0,)
    if len(content) == 84 + 50 * count:
        rows = np.frombuffer(content, dtype=np.uint8, offset=84).reshape(count, 50)
        corners = rows[:, 12:48].copy().view("<f4").astype(np.float64).reshape(-1, 3)
    else:  # as text
        decimal = rb"[-+0-9.eEnafi]+"
        vertices = re.findall(rb"vertex\s+(" + decimal + rb")\s+(" + decimal + rb")\s+(" + decimal + rb")", content)
        corners = np.array(vertices, dtype=np.float64).reshape(-1, 3)
    return corners, np.arange(len(corners)).reshape(-1, 3)


def _obj(content: bytes) -> tuple[Array, Triangles]:
    """Return the first object of an OBJ file that has faces: MuJoCo takes no others."""
    vertices: list[list[float]] = []
    polygons: list[list[int]] = []
    complete = False
    for line in content.decode("utf-8", "replace").splitlines():
        word, _, rest = line.strip().partition(" ")
        if word == "v":
            vertices.append([float(item) for item in rest.split()[:3]])
        elif word == "f" and not complete:
            numbers = [int(item.split("/")[0]) for item in rest.split()]
            polygons.append([vertex - 1 if vertex > 0 else len(vertices) + vertex for vertex in numbers])
        elif word in {"o", "g"}:
            complete = bool(polygons)
    single = np.array(vertices, dtype=np.float32).reshape(-1, 3)  # as an STL file has them, and MuJoCo takes them
    triangles = all_triangles(single, polygons)
    return single.astype(np.float64), np.array(triangles, dtype=np.int64).reshape(-1, 3)


def _msh(content: bytes) -> tuple[Array, Triangles]:
    """Return the mesh of MuJoCo's own format: four counts, then vertices, normals and textures, and triangles."""
    counts = struct.unpack_from("<4i", content, 0)
    points, normals, textures, faces = counts
    if min(counts) < 0 or len(content) != 16 + 12 * (points + normals + faces) + 8 * textures:
        raise ValueError
    vertices = np.frombuffer(content, dtype="<f4", count=3 * points, offset=16).astype(np.float64)
    triangles = np.frombuffer(content, dtype="<i4", count=3 * faces, offset=len(content) - 12 * faces)
    return vertices.reshape(-1, 3), triangles.astype(np.int64).reshape(-1, 3)


def solid_of(vertices: Array, triangles: Triangles, kind: str) -> MassShare:
    """Return the solid of density 1 that a mesh encloses.

    Args:
        vertices: shape (n, 3), m.
        triangles: shape (m, 3); empty for the convex hull of the vertices.
        kind: ``exact``: signed tetrahedra, of a closed surface; ``legacy``: each tetrahedron to the centre
            counts as positive, as MuJoCo has it by default (the same for convex meshes); ``convex``: the
            convex hull; ``shell``: the surface, with density 1 per area.

    Raises:
        ValueRangeError: the mesh encloses no volume.
    """
    size = float(np.abs(vertices).max(initial=0.0))
    if not size <= LARGEST_SIZE:
        raise ValueRangeError(f"a corner of the mesh lies {size:g} m away: nothing is larger than {LARGEST_SIZE:g} m")
    if kind == "convex" or not len(triangles):
        vertices, triangles = _hull(vertices)
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a) / 2
    areas = np.linalg.norm(normals, axis=1)
    if not areas.sum() > 0:
        raise ValueRangeError("the mesh has no surface")
    corners = np.stack([a, b, c])
    middle = (areas[:, None] * corners.mean(axis=0)).sum(axis=0) / areas.sum()
    if kind == "shell":
        count, weights = 3, areas  # corners of each simplex
        r = (weights[:, None] * corners.sum(axis=0)).sum(axis=0) / count / weights.sum()
    else:
        count, weights = 4, _volumes(corners - middle, normals, kind)
        r = middle + (weights[:, None] * (corners - middle).sum(axis=0)).sum(axis=0) / count / weights.sum()
        weights = _volumes(corners - r, normals, kind)
    m = float(weights.sum())
    corners = corners - r
    total = corners.sum(axis=0)
    squares = np.einsum("i,kij,kil->jl", weights, corners, corners) + np.einsum("i,ij,il->jl", weights, total, total)
    second = squares / (count * (count + 1))
    return MassShare(m, r, np.trace(second) * np.eye(3) - second)


def _volumes(corners: Array, normals: Array, kind: str) -> Array:
    """Return the volumes of the tetrahedra between the triangles of a surface and the origin.

    Args:
        corners: shape (3, m, 3), m.
        normals: normal of each triangle, as long as its area.
        kind: see `solid_of`.

    Raises:
        ValueRangeError: they are nothing together.
    """
    volumes: Array = np.einsum("ij,ij->i", corners[0], normals) / 3
    volumes = np.abs(volumes) if kind == "legacy" else volumes * np.sign(volumes.sum() or 1.0)
    if volumes.sum() < THINNEST:
        raise ValueRangeError(f"the mesh encloses {volumes.sum():g} m3: close its surface, or make it a shell")
    return volumes


def _hull(vertices: Array) -> tuple[Array, Triangles]:
    try:
        hull = ConvexHull(vertices)
    except QhullError:
        raise ValueRangeError("the vertices of the mesh enclose no volume") from None
    triangles = hull.simplices.astype(np.int64)
    inner = vertices[hull.vertices].mean(axis=0)
    a, b, c = (vertices[triangles[:, k]] - inner for k in range(3))
    inward = np.einsum("ij,ij->i", a, np.cross(b - a, c - a)) < 0
    triangles[inward] = triangles[inward][:, ::-1]
    return vertices, triangles

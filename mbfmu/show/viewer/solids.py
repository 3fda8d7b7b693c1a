"""Solids: the shapes that bodies of a model have of their own, as triangles in the frames that they move with."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mbfmu.dae.picture import Skeleton
from mbfmu.model.shape import shape_of
from mbfmu.show.viewer.looks import Look, mesh_of, solid

Array = npt.NDArray[np.float64]
BEGUN = 1e-9
"""Distance from frame_a to frame_b, m, up to which a body has no length."""


def own_looks(skeleton: Skeleton, q: Any, p: Any) -> Iterator[Look]:
    """Yield the shapes of a mechanism's parts, with coordinates q and parameters p; warn of meshes that are unread."""
    if not skeleton.drawn:
        return
    assert skeleton.solids is not None
    columns = np.array(skeleton.solids(q, p, 0.0))
    dim = len(columns)
    for item, part in zip(skeleton.drawn, np.split(columns, len(skeleton.drawn), axis=1), strict=True):
        # in space: position and rotation of the part, seen from its body; centre of mass and frame_b as it sees them
        r, center, end = (np.pad(part[:, k], (0, 3 - dim)) for k in (0, -2, -1))
        R = np.eye(3)
        R[:dim, :dim] = part[:, 1:-2]
        shape = shape_of(item.shape, f"{item.part}.shape")
        if shape.kind == "mesh":
            mesh = mesh_of(Path(shape.file), f"the shape of '{item.part}' is not drawn")
            if mesh is None:
                continue
            vertices, triangles = mesh
        else:
            vertices, triangles = _placed(shape.kind, shape.sizes, center, end)
        yield Look(item.body, vertices @ R.T + r, triangles)


def _placed(kind: str, sizes: tuple[float, ...], center: Array, end: Array) -> tuple[Array, Any]:
    """Return a solid as the part's frame_a sees it: along the line to frame_b, else about the centre of mass."""
    length = float(np.linalg.norm(end))
    along = length > BEGUN
    if kind == "box":
        sides = sizes if len(sizes) == 3 else (length or sizes[0], *sizes)
        vertices, triangles = solid("box", sides)
        turn = _axes(end / length, 0) if along else np.eye(3)
    elif kind == "cylinder":
        vertices, triangles = solid("cylinder", sizes if len(sizes) == 2 else (*sizes, length or 2 * sizes[0]))
        turn = _axes(end / length, 2) if along else np.eye(3)
    else:
        vertices, triangles = solid(kind, sizes)
        turn = np.eye(3)
    return vertices @ turn.T + (end / 2 if along else center), triangles


def _axes(n: Array, index: int) -> Array:
    """Return a rotation matrix whose column of an index is the unit vector n, and another lies in the plane of z."""
    helper = np.array([0.0, 0.0, 1.0]) if abs(n[2]) < 0.9 else np.array([1.0, 0.0, 0.0])
    across = np.cross(helper, n)
    across /= np.linalg.norm(across)
    return np.roll(np.column_stack([n, across, np.cross(n, across)]), index, axis=1)

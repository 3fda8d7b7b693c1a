"""Stresses and surface of a reduced body: points with outputs, and a surface for pictures, bounded in size."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.spatial import KDTree

from mbfmu.analysis.reduction.model import Array, FiniteElementModel, Numbers
from mbfmu.errors import UsageError
from mbfmu.model.flexible import ModalSurface, StressPoints

MOST_CORNERS = 600
"""Largest number of corners of a surface, which bounds the size of its file."""
MOST_POINTS = 100
"""Largest number of points with stresses, of which each has seven outputs."""
COARSER = 1.1
"""Factor between the widths of two grids that are tried for a coarser surface."""


def stress_points(
    model: FiniteElementModel, requested: Mapping[str, Sequence[float] | None], origin: Array, modes: Array
) -> StressPoints | None:
    """Return the stresses by each mode at some nodes; None if none are requested.

    Args:
        model: the finite element model.
        requested: points, m, by their names; None for all nodes of the set of that name, which get a number
            behind the name if they are several. A position stands for the node nearest to it.
        origin: place of frame_a, m.
        modes: displacements by each mode, shape (dofs, n).

    Raises:
        UsageError: there is no such set, a position is no point, or the model has no known stresses.
        NameInUseError: two points have one name.
    """
    if not requested:
        return None
    if model.stress is None:
        raise UsageError("matrices do not say the stresses in the body: these need a mesh")
    names, numbers = [], []
    for name, point in requested.items():
        nearest = model.nodes_of(name) if point is None else _nearest(model, name, point)
        names += [name] if len(nearest) == 1 else [f"{name}_{k}" for k in range(1, len(nearest) + 1)]
        numbers += nearest.tolist()
    if len(numbers) > MOST_POINTS:
        raise UsageError(
            f"stresses at {len(numbers)} points are too many, as each has seven outputs: name sets of up to "
            f"{MOST_POINTS} nodes, or positions"
        )
    nodes = np.array(numbers, dtype=np.int64)
    return StressPoints(tuple(names), model.nodes[nodes] - origin, _stresses(model, nodes, modes))


def surface(model: FiniteElementModel, origin: Array, modes: Array) -> ModalSurface | None:
    """Return a surface of a body with its displacements and stresses by each mode; None if its faces are not known.

    Args:
        model: the finite element model.
        origin: place of frame_a, m.
        modes: displacements by each mode, shape (dofs, n).
    """
    if not len(model.faces):
        return None
    halves = [model.faces[:, [0, k, k + 1]] for k in range(1, model.faces.shape[1] - 1)]
    nodes, triangles = coarse(model.nodes, np.concatenate(halves))
    moved = np.stack([model.translations(mode)[nodes] for mode in modes.T], axis=-1)
    sigma = np.zeros((0, 6, modes.shape[1])) if model.stress is None else _stresses(model, nodes, modes)
    return ModalSurface(
        (model.nodes[nodes] - origin).astype(np.float32), triangles.astype(np.int32), moved.astype(np.float32),
        sigma.astype(np.float32),
    )  # fmt: skip


def coarse(points: Array, triangles: Numbers, most: int = MOST_CORNERS) -> tuple[Numbers, Numbers]:
    """Return the numbers of the points that a coarser surface keeps, and its triangles among them.

    The corners in each cell of a grid become one, that next to their mean (J. Rossignac & P. Borrel, 1993); triangles
    without area go. The grid is the finest one with few enough corners.

    Args:
        points: positions, shape (N, 3).
        triangles: numbers of their corners, shape (f, 3).
        most: largest number of corners that are kept.
    """
    used, corners = np.unique(triangles, return_inverse=True)
    corners, points_used = corners.reshape(-1, 3), points[used]
    kept = np.arange(len(used))
    width = float(np.ptp(points_used, axis=0).max()) / len(used)
    while len(np.unique(kept)) > most:
        width *= COARSER
        cells = np.unique(np.floor(points_used / width), axis=0, return_inverse=True)[1].ravel()
        count = np.bincount(cells)
        means = np.column_stack([np.bincount(cells, axis) / count for axis in points_used.T])
        order = np.lexsort((np.linalg.norm(points_used - means[cells], axis=1), cells))
        kept = order[np.searchsorted(cells[order], np.arange(len(count)))][cells]
    triangles_left = kept[corners]
    triangles_left = triangles_left[(triangles_left != np.roll(triangles_left, 1, axis=1)).all(axis=1)]
    left, renumbered = np.unique(triangles_left, return_inverse=True)
    return used[left], renumbered.reshape(-1, 3)


def _nearest(model: FiniteElementModel, name: str, point: Sequence[float]) -> Numbers:
    if len(point) != 3 or not np.isfinite(point).all():
        raise UsageError(f"the position of '{name}' must be three finite numbers x, y, z")
    return np.atleast_1d(KDTree(model.nodes).query(point)[1]).astype(np.int64)


def _stresses(model: FiniteElementModel, nodes: Numbers, modes: Array) -> Array:
    """Return the stresses at nodes by each mode, shape (k, 6, n)."""
    assert model.stress is not None
    once, positions = np.unique(nodes, return_inverse=True)
    return np.asarray(model.stress(once) @ modes).reshape(len(once), 6, -1)[positions]

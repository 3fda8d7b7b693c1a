"""Connections: node sets that move as a frame does, rigidly (RBE2) or on average (RBE3).

The displacements of all degrees of freedom are u = T (f, q): f those that stay, q translations and rotations of the
frames, six each. Of a rigid connection, all degrees of freedom of the set follow the frame. Of an averaged one, q is
the rigid motion next to the displacements of the set, whose nodes all have one weight: q = W u. Six of its degrees of
freedom are solved for, so that the set stays as flexible as it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import qr
from scipy.sparse import coo_matrix

from mbfmu.analysis.reduction.model import Array, FiniteElementModel, Numbers, rigid_motion
from mbfmu.errors import UsageError

FLAT = 1e-8
"""Least singular value of the rigid motion of a node set, relative to the largest, with which it can guide a frame."""


@dataclass(frozen=True)
class Attachment:
    """A node set that is connected to a frame.

    Args:
        name: name of the set.
        at: position of the frame, m, shape (3,).
        dofs: numbers of the set's degrees of freedom.
        X: their displacements by unit translations and rotations of the frame, shape (number, 6).
        averaged: whether the frame moves as the nodes do on average; else they move with it.
    """

    name: str
    at: Array
    dofs: Numbers
    X: Array
    averaged: bool


def connections(
    model: FiniteElementModel, names: Sequence[str], averaged: Sequence[str], positions: Mapping[str, Sequence[float]]
) -> tuple[Attachment, ...]:
    """Return the connections of node sets to frames.

    Args:
        model: the finite element model.
        names: names of the sets.
        averaged: those of them that are connected by their average.
        positions: positions of frames, m, by the name of the set; the others are at the mean of their nodes.

    Raises:
        UsageError: a set does not exist, is named twice, shares nodes with another, or has its nodes on a line; or a
            place is no point.
    """
    attachments: list[Attachment] = []
    for name in names:
        numbers = model.nodes_of(name)
        at = np.array(positions.get(name, model.nodes[numbers].mean(axis=0)), dtype=np.float64)
        if at.shape != (3,) or not np.isfinite(at).all():
            raise UsageError(f"the position of node set '{name}' must be three finite numbers x, y, z")
        dofs = model.of_nodes(numbers)
        X = rigid_motion(model.nodes - at, model.dofs[dofs])
        size = np.sqrt(np.mean(X[:, 3:] ** 2)) or 1.0
        values = np.linalg.svd(X / np.repeat([1.0, size], 3), compute_uv=False)
        if len(values) < 6 or values[-1] < FLAT * values[0]:
            raise UsageError(
                f"node set '{name}' has its nodes on a line, or is a single node without rotations: nothing guides a "
                "frame about it; take more nodes"
            )
        for other in attachments:
            if np.isin(dofs, other.dofs).any():
                raise UsageError(f"node sets '{other.name}' and '{name}' share nodes: each frame needs separate nodes")
        attachments.append(Attachment(name, at, dofs, X, name in averaged))
    return tuple(attachments)


def transformation(model: FiniteElementModel, attachments: Sequence[Attachment]) -> tuple[Any, Numbers]:
    """Return T, sparse, shape (n, stay + 6 k), and the numbers of the degrees of freedom that stay."""
    n = len(model.dofs)
    gone = np.zeros(n, dtype=bool)
    dependent = []
    for item in attachments:
        rows = item.dofs
        if item.averaged:
            W = np.linalg.pinv(item.X)
            _, _, order = qr(W, pivoting=True, mode="economic")
            solved, others = order[:6], order[6:]
            inverse = np.linalg.inv(W[:, solved])
            dependent.append((rows[solved], inverse, rows[others], -inverse @ W[:, others]))
            rows = rows[solved]
        else:
            dependent.append((rows, item.X, rows[:0], np.zeros((len(rows), 0))))
        gone[rows] = True
    stay = np.flatnonzero(~gone)
    column = np.full(n, -1)
    column[stay] = np.arange(len(stay))
    parts = [(stay, column[stay], np.ones(len(stay)))]
    for index, (rows, by_frame, sources, by_others) in enumerate(dependent):
        columns = np.concatenate([len(stay) + 6 * index + np.arange(6), column[sources]])
        block = np.hstack([by_frame, by_others])
        parts.append((np.repeat(rows, len(columns)), np.tile(columns, len(rows)), block.ravel()))
    row, col, value = (np.concatenate(items) for items in zip(*parts, strict=True))
    return coo_matrix((value, (row, col)), shape=(n, len(stay) + 6 * len(attachments))).tocsr(), stay

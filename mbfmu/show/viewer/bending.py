"""Bending: the frames and the surface of a flexible body, for its shape coordinates over a run."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mbfmu.dae.picture import Bending
from mbfmu.model.flexible.stresses import squared_von_mises

Array = npt.NDArray[np.float64]

LEFT_OUT = 1e-4
"""Largest error of a motion that is written by few shapes, relative to its largest displacement or stress."""


@dataclass(frozen=True)
class Bent:
    """A flexible body with the parameters of a run.

    Args:
        shape: its shape as functions.
        p: parameters of the equations.
        dim: 2 in the plane, 3 in space.
    """

    shape: Bending
    p: Array
    dim: int

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of the frames, frame_a first."""
        return self.shape.frames

    def poses(self, eta: Array) -> tuple[Array, Array]:
        """Return positions, m, shape (n_t, k, dim), and rotations, (n_t, k, dim, dim), of k frames seen from frame_a.

        Args:
            eta: shape coordinates, shape (n_t, n).
        """
        columns = self._called(self.shape.poses, eta)[0]
        columns = columns.reshape(len(eta), len(self.frames), 1 + self.dim, self.dim)  # columns of the function
        return columns[:, :, 0], columns[:, :, 1:].swapaxes(2, 3)

    def surface(self, eta: Array, thick: float) -> tuple[Array, Array, npt.NDArray[np.int64]] | None:
        """Return the surface's points, m, shape (n_t, v, 3), its stresses, (n_t, v, 0, 1 or 6), and its triangles.

        Args:
            eta: shape coordinates, shape (n_t, n).
            thick: radius of a bar, m.
        """
        made = self.shape.surface(thick)
        if made is None:
            return None
        function, triangles = made
        points, stress = self._called(function, eta)
        return points, stress, triangles

    def _called(self, function: Any, eta: Array) -> list[Array]:
        """Return the values of a function at each time, their columns as rows, shape (n_t, columns, rows)."""
        p = self.p[: function.size1_in(1)]  # modes may follow, on which no shape depends
        result = function(eta.T, p, np.zeros((1, len(eta))))  # CasADi maps it over the columns
        values = result if isinstance(result, tuple) else (result,)
        shapes = [function.size_out(index) for index in range(function.n_out())]
        return [
            np.array(item).T.reshape(len(eta), columns, rows)
            for item, (rows, columns) in zip(values, shapes, strict=True)
        ]


@dataclass(frozen=True)
class Skin:
    """The moving surface of a body, as sums of a few fixed shapes.

    Args:
        body: full name of the body.
        rest: points of the undeformed body seen from its frame_a, m, shape (v, 3).
        triangles: numbers of their corners, shape (f, 3).
        shapes: displacements, m, shape (k, v, 3).
        weights: factors of the displacements at each time, shape (n_t, k).
        stresses: parts of the stresses, N/m2, shape (j, v, 1 or 6); (0, v, 0) where they are unknown.
        loads: factors of the stresses at each time, shape (n_t, j).
        largest: largest equivalent stress in the run, N/m2.
    """

    body: str
    rest: Array
    triangles: npt.NDArray[np.int64]
    shapes: Array
    weights: Array
    stresses: Array
    loads: Array
    largest: float


def skin_of(body: str, bent: Bent, eta: Array, thick: float, level: float) -> Skin | None:
    """Return the moving surface of a flexible body; None if it has none.

    Args:
        body: full name of the body in the picture.
        bent: the body.
        eta: shape coordinates, shape (n_t, n).
        thick: radius of a bar, m.
        level: height above the plane of a planar system, m.
    """
    surface = bent.surface(np.vstack([np.zeros_like(eta[:1]), eta]), thick)
    if surface is None:
        return None
    points, stress, triangles = surface
    weights, shapes = _few((points[1:] - points[0]).reshape(len(eta), -1))
    loads, stresses = _few(stress[1:].reshape(len(eta), -1))
    largest = float(equivalent(stress[1:]).max(initial=0.0))
    rest = points[0] + np.array([0.0, 0.0, level])
    shapes, stresses = shapes.reshape(-1, *points.shape[1:]), stresses.reshape(len(stresses), *stress.shape[1:])
    return Skin(body, rest, triangles, shapes, weights, stresses, loads, largest)


def equivalent(stress: Array) -> Array:
    """Return equivalent stresses (v. Mises) of tensors, shape (..., 6), or of normal stresses alone, (..., 1)."""
    if stress.shape[-1] == 6:
        return np.asarray(np.sqrt(squared_von_mises(np.moveaxis(stress, -1, 0))))
    return np.asarray(np.abs(stress).sum(axis=-1))


def _few(values: Array) -> tuple[Array, Array]:
    """Return weights, shape (n_t, k), and few shapes, (k, n), whose products are next to values, shape (n_t, n).

    Each shape is what is left of the picture that the others show worst.
    """
    left, weights, directions = values.copy(), [np.zeros((len(values), 0))], [np.zeros((0, values.shape[1]))]
    size = LEFT_OUT * np.abs(values).max(initial=0.0)
    while np.abs(left).max(initial=0.0) > size:
        worst = left[np.abs(left).max(axis=1).argmax()]
        directions.append((worst / np.linalg.norm(worst))[None])
        weights.append(left @ directions[-1].T)
        left = left - weights[-1] @ directions[-1]
    return np.hstack(weights), np.vstack(directions)

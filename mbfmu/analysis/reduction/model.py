"""Finite element models: sparse matrices of mass and stiffness, positions of the nodes, and sets of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from mbfmu.errors import UsageError, nearest

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

FREE = 1e-6
"""Size of what a free body must not have, such as a force of rigid motion, relative to its largest part."""


@dataclass(frozen=True)
class FiniteElementModel:
    """A linear finite element model of a free body, in SI units.

    Args:
        nodes: positions of the nodes, m, shape (N, 3).
        dofs: node (from 0) and component of each degree of freedom, shape (n, 2); components 0 to 2 are translations
            along x, y and z, 3 to 5 are rotations about them.
        M: mass matrix, sparse, shape (n, n).
        K: stiffness matrix, sparse, shape (n, n).
        sets: numbers of nodes, by the name of their set.
        second_order: function of displacements a and b, shape (n,), that returns the forces, shape (n,), whose work on
            a displacement u is the integral of the stress of u times (grad a)^T grad b; None where only matrices are
            known.
        faces: corners of the faces of the surface, counterclockwise from outside, for pictures, shape (f, 3 or 4).
        integrals: mass (kg), first moment (kg.m) and moment of inertia (kg.m2) about the origin, integrated
            over the volume, without the matrices; None where only matrices are known.
        stress: function of the numbers of k different nodes that returns the matrix, sparse, shape (6 k, n), of the
            stresses xx, yy, zz, xy, yz and zx at each by the displacements; None where only matrices are known.

    Raises:
        UsageError: shapes do not fit, a value is NaN or infinite, a matrix is not symmetric, or the body is not free.
    """

    nodes: Array
    dofs: Numbers
    M: Any
    K: Any
    sets: Mapping[str, Numbers]
    second_order: Callable[[Array, Array], Array] | None = None
    faces: Numbers = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int64))
    integrals: tuple[float, Array, Array] | None = None
    stress: Callable[[Numbers], Any] | None = None

    def __post_init__(self) -> None:
        n = len(self.dofs)
        if self.nodes.ndim != 2 or self.nodes.shape[1] != 3 or not np.isfinite(self.nodes).all():
            raise UsageError(
                f"the nodes must be an array of finite numbers x, y, z, not of the shape {self.nodes.shape}"
            )
        if len(np.unique(self.dofs, axis=0)) < n:
            raise UsageError("two degrees of freedom have the same node and component")
        for name, matrix in (("M", self.M), ("K", self.K)):
            if matrix.shape != (n, n):
                raise UsageError(f"{name} has the shape {matrix.shape}, and there are {n} degrees of freedom")
            if not issparse(matrix) or matrix.dtype.kind not in "fiu":
                raise UsageError(f"{name} must be a sparse matrix of SciPy with real numbers")
            if not np.isfinite(matrix.data).all():
                raise UsageError(f"{name} has entries that are NaN or infinite")
            if abs(matrix - matrix.T).max() > FREE * abs(matrix).max():
                raise UsageError(f"{name} is not symmetric; a file with one triangle only says so in its header")
        for name, numbers in self.sets.items():
            if not np.size(numbers) or np.min(numbers) < 0 or np.max(numbers) >= len(self.nodes):
                raise UsageError(f"node set '{name}' is empty, or has numbers of nodes that do not exist")
        self._check_free()

    def _check_free(self) -> None:
        forces, carried = abs(self.K @ self.rigid), abs(self.K) @ abs(self.rigid)
        if (forces.max(axis=0) > FREE * carried.max(axis=0)).any():
            raise UsageError(
                "the stiffness matrix resists a rigid motion: it is held or grounded, or the order of the degrees of "
                "freedom or the positions of the nodes are not those supplied"
            )
        mass = self.rigid[:, :3].T @ self.M @ self.rigid[:, :3]
        if not mass[0, 0] > 0 or abs(mass - mass[0, 0] * np.eye(3)).max() > FREE * mass[0, 0]:
            raise UsageError(f"the mass matrix must give one mass in x, y and z: it gives {np.diag(mass)} kg")

    @cached_property
    def rigid(self) -> Array:
        """Displacements of the degrees of freedom by unit translations and rotations about the origin, shape (n, 6)."""
        return rigid_motion(self.nodes, self.dofs)

    @property
    def mass(self) -> float:
        """Mass, kg."""
        return float(self.rigid[:, 0] @ (self.M @ self.rigid[:, 0]))

    def turned(self, a: int, displacements: Array) -> Array:
        """Return e_a x u for displacements u, shape (n,) or (n, k), with the same turn of the rotations."""
        turned = np.zeros_like(displacements)
        b, c = (a + 1) % 3, (a + 2) % 3
        for offset in (0, 3):
            for source, target, sign in ((b, c, 1.0), (c, b, -1.0)):
                pairs = self._places[:, [source + offset, target + offset]]
                here, there = pairs[(pairs >= 0).all(axis=1)].T
                turned[there] += sign * displacements[here]
        return turned

    @cached_property
    def _places(self) -> Numbers:
        """Number of the degree of freedom of each node and component, shape (N, 6); -1 where there is none."""
        rows = np.full((len(self.nodes), 6), -1)
        rows[self.dofs[:, 0], self.dofs[:, 1]] = np.arange(len(self.dofs))
        return rows

    def motions(self, displacements: Array) -> tuple[Array, Array]:
        """Return translations, m, and rotations of all nodes, shape (N, 3) each, for displacements of shape (n,)."""
        motions = np.zeros((len(self.nodes), 6))
        motions[self.dofs[:, 0], self.dofs[:, 1]] = displacements
        return motions[:, :3], motions[:, 3:]

    def translations(self, displacements: Array) -> Array:
        """Return the translations of all nodes, m, shape (N, 3), for displacements of shape (n,)."""
        return self.motions(displacements)[0]

    def nodes_of(self, name: str) -> Numbers:
        """Return the numbers of the nodes of a set.

        Raises:
            UsageError: there is no such set.
        """
        if name not in self.sets:
            raise UsageError(f"there is no node set '{name}'; {nearest(name, self.sets)}")
        return np.unique(self.sets[name])

    def of_nodes(self, numbers: Numbers) -> Numbers:
        """Return the numbers of the degrees of freedom of some nodes."""
        return np.flatnonzero(np.isin(self.dofs[:, 0], numbers))


def rigid_motion(nodes: Array, dofs: Numbers) -> Array:
    """Return displacements of degrees of freedom by unit translations and rotations about the origin, shape (n, 6)."""
    motions = np.zeros((len(dofs), 6))
    rows, (node, component) = np.arange(len(dofs)), dofs.T
    motions[rows, component] = 1.0
    points = nodes[node]
    for a in range(3):  # e_b x r along a
        moves = component == a
        b, c = (a + 1) % 3, (a + 2) % 3
        motions[moves, 3 + b] = points[moves, c]
        motions[moves, 3 + c] = -points[moves, b]
    return motions

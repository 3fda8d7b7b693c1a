"""Meshes: a finite element model of an isotropic solid, assembled by scikit-fem on the mesh of a file.

Elements are quadratic: on cells with straight edges too, whose displacements are quadratic then.
"""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import bmat, coo_matrix, csr_matrix, diags, kron

from mbfmu.analysis.reduction.cells import SOLIDS, solid_cells
from mbfmu.analysis.reduction.inp import read_inp
from mbfmu.analysis.reduction.model import Array, FiniteElementModel, Numbers
from mbfmu.base import extras
from mbfmu.base.arguments import check_type
from mbfmu.errors import ModelFileError, UsageError

OTHERS = frozenset({"vertex", "line", "line3", "triangle", "triangle6", "quad", "quad8", "quad9"})
"""Kinds of cells that only name parts of a surface."""
ORDER = 5
"""Degree that the quadrature over a cell is exact for, whose rules have no negative weights."""
FLAT = 1e-9
"""Least size of a cell's Jacobian determinant relative to the cube of its length: below, it has no volume."""
FOLDED = (
    "a cell of the mesh has no volume, or is turned inside out: its corners are not in the order of its kind, or a "
    "point is misplaced"
)
BATCH = 500
"""Number of cells whose stresses are taken together, which bounds the memory."""
SAME = 1e-6
"""Distance of places that are one node, relative to the size of the mesh."""


@dataclass(frozen=True)
class Material:
    """An isotropic elastic material.

    Args:
        E: modulus of elasticity, N/m2.
        nu: Poisson's ratio.
        rho: density, kg/m3.

    Raises:
        UsageError: a number is outside its bounds.
    """

    E: float
    nu: float
    rho: float

    def __post_init__(self) -> None:
        for name in ("E", "nu", "rho"):
            check_type(name, getattr(self, name), float)
        for name, value, least, most in (("E", self.E, 0.0, np.inf), ("rho", self.rho, 0.0, np.inf),
                                         ("nu", self.nu, -1.0, 0.5)):  # fmt: skip
            if not (np.isfinite(value) and least < value < most):
                raise UsageError(f"{name} = {value} must be a number between {least:g} and {most:g}")

    @property
    def lame(self) -> tuple[float, float]:
        """Lame's constants lambda and mu, N/m2."""
        return self.E * self.nu / ((1 + self.nu) * (1 - 2 * self.nu)), self.E / (2 * (1 + self.nu))


def read_mesh(path: str | os.PathLike[str], material: Material) -> FiniteElementModel:
    """Read a mesh file and assemble its matrices.

    Args:
        path: an input file (.inp) of CalculiX or Abaqus, or a file that meshio reads, such as .msh of Gmsh, with
            lengths in m.
        material: material of the whole mesh.

    Raises:
        UsageError: the extra is not installed, or see `assemble`.
        ModelFileError: the file cannot be read as a mesh.
    """
    _require()
    import meshio

    path = Path(path)
    if path.suffix.lower() == ".inp":
        written = read_inp(path)
        return assemble(written.points, written.blocks, material, written.sets)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mesh = meshio.read(path)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - readers of many formats raise anything
        raise ModelFileError(f"cannot read '{path}' as a mesh: {error or type(error).__name__}") from None
    return assemble(np.asarray(mesh.points, dtype=np.float64), _cells(mesh, path), material, _sets(mesh))


def assemble(
    points: Array,
    cells: tuple[str, Numbers] | Sequence[tuple[str, Numbers]],
    material: Material,
    sets: Mapping[str, Numbers],
) -> FiniteElementModel:
    """Return the finite element model of a mesh.

    Args:
        points: positions of the points, m, shape (p, 3).
        cells: kind of the cells, one of `SOLIDS` in the words of meshio, and their points, those on edges included;
            or several of these, which are divided into tetrahedra.
        material: material of all cells.
        sets: numbers of points, by the name of their set.

    Raises:
        UsageError: the extra is not installed, a point is not finite, a cell has no volume or is given twice, or a
            number of a point is none.
    """
    _require()
    from skfem import Basis, ElementHex2, ElementTetP2

    # points, cells and sets are those of a mesh
    blocks: list[tuple[str, Any]] = [cells] if isinstance(cells[0], str) else list(cells)  # type: ignore[list-item, arg-type]
    if points.ndim != 2 or points.shape[1] != 3 or not np.isfinite(points).all():
        raise UsageError("the points of a mesh must be finite numbers x, y, z")
    whole = solid_cells(points, [_block(name, rows, len(points)) for name, rows in blocks])
    kind, corners = whole.kind, whole.corners
    if len(np.unique(np.sort(corners, axis=1), axis=0)) < len(corners):
        raise UsageError(
            "a cell of the mesh is given twice, and its mass and stiffness would count twice: take one out"
        )
    checked = {name: _numbers(f"set '{name}'", numbers, len(points)) for name, numbers in sets.items()}
    # finite elements on it, none of which is folded or flat
    used, renumbered = np.unique(corners, return_inverse=True)
    mesh = _mesh(kind, whole.points[used], renumbered.reshape(corners.shape))
    try:
        basis = Basis(mesh, ElementHex2() if kind.startswith("hexahedron") else ElementTetP2(), intorder=ORDER)
        determinant = basis.mapping.detDF(np.hstack([basis.X, basis.elem.doflocs.T]))
    except Exception as error:
        if "Jacobian" in str(error):  # of scikit-fem, which has no class for it
            raise UsageError(FOLDED) from None
        raise
    length = np.ptp(mesh.p[:, mesh.t], axis=1).max(axis=0)
    least, most = determinant.min(axis=1), determinant.max(axis=1)
    if not (np.maximum(least, -most) > FLAT * length**3).all():
        raise UsageError(FOLDED)
    # the model by their nodes
    nodes = np.asarray(basis.doflocs.T)
    model_sets = {name: _nodes_of(basis, nodes, points[numbers], whole.divided) for name, numbers in checked.items()}
    M, K = _matrices(basis, material)
    N = len(nodes)
    dofs = np.column_stack([np.repeat(np.arange(N), 3), np.tile(np.arange(3), N)])
    return FiniteElementModel(
        nodes, dofs, M, K, {name: item for name, item in model_sets.items() if item.size},
        _SecondOrder(basis, material), _as_nodes(basis, _faces(mesh)), _volume_integrals(basis, material.rho),
        _Stress(basis, material),
    )  # fmt: skip


def _block(kind: str, corners: Any, count: int) -> tuple[str, Numbers]:
    """Return cells of a kind.

    Args:
        kind: the kind.
        corners: their points.
        count: number of points of the mesh.

    Raises:
        UsageError: there is no such kind, or its cells have another number of points.
    """
    numbers = _numbers("cells", corners, count)
    if kind not in SOLIDS or numbers.shape[1:] != (SOLIDS[kind].count,) or not len(numbers):
        raise UsageError(
            f"cells of the kind '{kind}' and the shape {numbers.shape} are none of "
            f"{', '.join(f'{name} (number, {item.count})' for name, item in SOLIDS.items())}"
        )
    return kind, numbers


def _numbers(name: str, numbers: Any, count: int) -> Numbers:
    """Return numbers of points.

    Raises:
        UsageError: some are no whole numbers from 0, or beyond the points.
    """
    integers = np.asarray(numbers)
    if integers.size and (integers.dtype.kind not in "iu" or integers.min() < 0 or integers.max() >= count):
        raise UsageError(f"{name} must hold whole numbers of points, from 0 to {count - 1}")
    return integers.astype(np.int64)


def _require() -> None:
    missing = [name for name, module in (("scikit-fem", "skfem"), ("meshio", "meshio")) if find_spec(module) is None]
    if missing:
        raise UsageError(f"meshes need {' and '.join(missing)}: {extras.command('flexible')}")


def _mesh(kind: str, points: Array, corners: Numbers) -> Any:
    import meshio
    from skfem.io.meshio import from_meshio

    return from_meshio(meshio.Mesh(points, [(kind, corners)]), force_meshio_type=kind)


def _cells(mesh: Any, path: Path) -> list[tuple[str, Numbers]]:
    """Return kinds and points of the cells of the body."""
    kinds = sorted({block.type for block in mesh.cells} - OTHERS)
    if not kinds or not SOLIDS.keys() >= set(kinds):
        raise ModelFileError(
            f"'{path}' has cells of the kinds {', '.join(kinds) or 'of surfaces only'}: a mesh needs some of "
            f"{', '.join(SOLIDS)}"
        )
    return [(block.type, block.data.astype(np.int64)) for block in mesh.cells if block.type in SOLIDS]


def _sets(mesh: Any) -> dict[str, Numbers]:
    """Return the sets of points of a mesh: point sets, and the points of named cells of its surface."""
    sets: dict[str, list[Any]] = {name: [numbers] for name, numbers in mesh.point_sets.items()}
    for name, blocks in mesh.cell_sets.items():
        if not name.startswith("gmsh:"):
            for block, numbers in zip(mesh.cells, blocks, strict=True):
                if block.type in OTHERS and numbers is not None and len(numbers):
                    sets.setdefault(name, []).append(block.data[np.asarray(numbers, dtype=np.int64)])
    tags = mesh.cell_data.get("gmsh:physical", ())
    for name, (tag, _) in mesh.field_data.items():
        for block, numbers in zip(mesh.cells, tags, strict=False):
            if block.type in OTHERS and (numbers == tag).any():
                sets.setdefault(name, []).append(block.data[numbers == tag])
    return {
        name: np.unique(np.concatenate([np.ravel(item) for item in items])).astype(np.int64)
        for name, items in sets.items()
    }


def _nodes_of(basis: Any, nodes: Array, points: Array, divided: bool) -> Numbers:
    """Return the nodes at some positions; of divided cells, those of edges and faces between them too."""
    from scipy.spatial import KDTree

    size = np.ptp(nodes, axis=0).max()
    distance, nearest = KDTree(nodes).query(points)
    met = np.unique(nearest[distance < SAME * size])
    mesh = basis.mesh
    if not (divided and met.size):
        return met.astype(np.int64)
    inside = np.isin(basis.nodal_dofs[0], met)
    more = [basis.edge_dofs[:, inside[mesh.edges].all(axis=0)]]
    if basis.facet_dofs.size:
        more.append(basis.facet_dofs[:, inside[mesh.facets].all(axis=0)])
    return np.unique(np.concatenate([met, *(item.ravel() for item in more)])).astype(np.int64)


def _faces(mesh: Any) -> Numbers:
    """Return the corners of the faces of the surface, counterclockwise from outside."""
    facets = mesh.boundary_facets()
    corners = mesh.facets[:, facets].T
    corner_points = mesh.p.T[corners]
    inside = mesh.p[:, mesh.t[:, mesh.f2t[0, facets]]].mean(axis=1).T
    normals = np.cross(corner_points[:, 1] - corner_points[:, 0], corner_points[:, 2] - corner_points[:, 0])
    inward = np.einsum("fa,fa->f", normals, corner_points.mean(axis=1) - inside) < 0
    return np.asarray(np.where(inward[:, None], corners[:, ::-1], corners))


def _as_nodes(basis: Any, faces: Numbers) -> Numbers:
    """Return faces with the numbers of nodes instead of those of corners, in order around the face."""
    return np.asarray(basis.nodal_dofs[0][faces], dtype=np.int64)


def _matrices(basis: Any, material: Material) -> tuple[csr_matrix, csr_matrix]:
    """Return mass and stiffness matrix, with x, y and z of each node in a row."""
    from skfem import BilinearForm

    lam, mu = material.lame
    N = basis.N
    mass = BilinearForm(lambda u, v, _: material.rho * u * v).assemble(basis)
    slopes: list[list[Any]] = [
        [BilinearForm(lambda u, v, _, a=a, c=c: v.grad[a] * u.grad[c]).assemble(basis) for c in range(3)]
        for a in range(3)
    ]
    whole = slopes[0][0] + slopes[1][1] + slopes[2][2]
    blocks = [
        [lam * slopes[a][c] + mu * slopes[c][a] + (mu * whole if a == c else 0 * whole) for c in range(3)]
        for a in range(3)
    ]
    order = np.arange(3 * N).reshape(3, N).T.ravel()  # x of all nodes, then y, then z -> x, y, z of each
    K = bmat(blocks).tocsr()[order][:, order]
    return kron(mass, np.eye(3)).tocsr(), (K + K.T) / 2


def _volume_integrals(basis: Any, rho: float) -> tuple[float, Array, Array]:
    """Return mass, integral of the positions and moment of inertia by quadrature over the cells."""
    x = np.asarray(basis.global_coordinates())
    dm = rho * basis.dx
    squares = np.einsum("aeq,beq,eq->ab", x, x, dm)
    return float(dm.sum()), np.einsum("aeq,eq->a", x, dm), np.trace(squares) * np.eye(3) - squares


class _SecondOrder:
    """The forces of second order of a mesh (see `FiniteElementModel`), by quadrature over its cells."""

    def __init__(self, basis: Any, material: Material) -> None:
        self.lam, self.mu = material.lame
        self.dofs = np.asarray(basis.element_dofs)
        self.slopes = np.array([item[0].grad for item in basis.basis])  # (functions, 3, cells, points)
        self.dx = np.asarray(basis.dx)
        self.N = basis.N

    def __call__(self, a: Array, b: Array) -> Array:
        first, second = (self._gradient(item.reshape(self.N, 3)) for item in (a, b))
        product = np.einsum("caeq,cbeq->abeq", first, second, optimize=True)
        strain = (product + product.swapaxes(0, 1)) / 2
        trace = strain[0, 0] + strain[1, 1] + strain[2, 2]
        stress = 2 * self.mu * strain
        for k in range(3):
            stress[k, k] += self.lam * trace
        forces = np.einsum("abeq,fbeq,eq->fea", stress, self.slopes, self.dx, optimize=True)
        total = np.zeros((self.N, 3))
        np.add.at(total, self.dofs, forces)
        return total.ravel()

    def _gradient(self, u: Array) -> Array:
        """Return the derivative of component c along x_a, shape (3, 3, cells, points)."""
        return np.asarray(np.einsum("fec,faeq->caeq", u[self.dofs], self.slopes, optimize=True))


class _Stress:
    """The stresses at nodes of a mesh (see `FiniteElementModel`), the mean of those in the cells around each."""

    def __init__(self, basis: Any, material: Material) -> None:
        self.basis = basis
        lam, mu = material.lame
        D = np.zeros((6, 3, 3))  # of component c by the derivative of u_a along x_b
        for c in range(3):
            D[c, range(3), range(3)] = lam
            D[c, c, c] += 2 * mu
            d = (c + 1) % 3
            D[3 + c, c, d] = D[3 + c, d, c] = mu
        self.D = D

    def __call__(self, nodes: Numbers) -> csr_matrix:
        from skfem import Basis

        basis = self.basis
        order = np.full(basis.N, -1)
        order[nodes] = np.arange(len(nodes))
        around = np.flatnonzero(np.isin(basis.element_dofs, nodes).any(axis=0))
        X = np.asarray(basis.elem.doflocs, dtype=np.float64).T  # positions of the nodes in a cell
        total = csr_matrix((6 * len(nodes), 3 * basis.N))
        for cells in np.split(around, range(BATCH, len(around), BATCH)):
            some = Basis(basis.mesh, basis.elem, elements=cells, quadrature=(X, np.ones(X.shape[1])))
            slopes = np.array([item[0].grad for item in some.basis])  # (functions, 3, cells, nodes)
            dofs = np.asarray(basis.element_dofs[:, cells])
            cell, node = np.nonzero(order[dofs.T] >= 0)
            value = np.einsum("cab,fbp->pcfa", self.D, slopes[:, :, cell, node])
            row = 6 * order[dofs[node, cell]][:, None, None, None] + np.arange(6)[:, None, None]
            column = 3 * dofs[:, cell].T[:, None, :, None] + np.arange(3)
            row, column = (np.broadcast_to(item, value.shape).ravel() for item in (row, column))
            total = total + coo_matrix((value.ravel(), (row, column)), shape=total.shape).tocsr()
        met = order[basis.element_dofs[:, around]]
        return (diags(1 / np.repeat(np.bincount(met[met >= 0]), 6)) @ total).tocsr()

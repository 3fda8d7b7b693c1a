"""Cells of meshes: their corners, edges and faces, and those that are divided into tetrahedra."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mbfmu.analysis.reduction.model import Array, Numbers


@dataclass(frozen=True)
class CellKind:
    """A kind of cell, with its points in the order of VTK, which is that of meshio, Abaqus and CalculiX.

    Args:
        corners: number of its corners, which come first.
        edges: corners of the edges with a point in the middle, in the order of these points.
        faces: corners of the faces, in order around each, the face of number k in Abaqus and CalculiX at k - 1.
        more: number of points in the middle of faces and of the cell, which come last.
    """

    corners: int
    edges: tuple[tuple[int, int], ...]
    faces: tuple[tuple[int, ...], ...]
    more: int = 0

    @property
    def count(self) -> int:
        """Number of points."""
        return self.corners + len(self.edges) + self.more


TETRA = ((0, 1, 2), (0, 1, 3), (1, 2, 3), (0, 2, 3))
WEDGE = ((0, 1, 2), (3, 4, 5), (0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5))
PYRAMID = ((0, 1, 2, 3), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4))
HEXAHEDRON = ((0, 1, 2, 3), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7))
EDGES = {
    4: ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3)),
    5: ((0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4), (2, 4), (3, 4)),
    6: ((0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)),
    8: ((0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7)),
}
"""Edges of cells by their number of corners."""
SOLIDS = {
    "tetra": CellKind(4, (), TETRA),
    "tetra10": CellKind(4, EDGES[4], TETRA),
    "hexahedron": CellKind(8, (), HEXAHEDRON),
    "hexahedron20": CellKind(8, EDGES[8], HEXAHEDRON),
    "hexahedron27": CellKind(8, EDGES[8], HEXAHEDRON, 7),
    "wedge": CellKind(6, (), WEDGE),
    "wedge15": CellKind(6, EDGES[6], WEDGE),
    "pyramid": CellKind(5, (), PYRAMID),
    "pyramid13": CellKind(5, EDGES[5], PYRAMID),
}
"""Kinds of cells of a body, in the words of meshio."""
WHOLE = ("tetra", "tetra10", "hexahedron", "hexahedron27")
"""Kinds whose cells are elements as they are."""
BETWEEN = ((3, 0, 4, 7), (1, 2, 6, 5), (0, 1, 5, 4), (2, 3, 7, 6), (0, 1, 2, 3), (4, 5, 6, 7))
"""Faces of a hexahedron in the order of the points in their middles."""


@dataclass(frozen=True)
class SolidCells:
    """The cells of a body, all of one kind of `WHOLE`.

    Args:
        points: positions, m, shape (p, 3); those that were added come last.
        kind: the kind.
        corners: numbers of the points of each cell, in the order of `CellKind`.
        divided: whether there are points that the mesh does not have, or edges without a point.
    """

    points: Array
    kind: str
    corners: Numbers
    divided: bool


def solid_cells(points: Array, blocks: Sequence[tuple[str, Numbers]]) -> SolidCells:
    """Return the cells of a body as cells of one kind.

    Hexahedra of 20 points get points in the middles of faces and cells, where their shape functions are; wedges,
    pyramids and cells of several kinds are divided into tetrahedra, of which neighbours share faces.

    Args:
        points: positions, m, shape (p, 3).
        blocks: kinds and numbers of the points of the cells.
    """
    kinds = {kind for kind, _ in blocks}
    if len(kinds) == 1 and kinds <= set(WHOLE):
        (kind,) = kinds
        return SolidCells(points, kind, np.vstack([corners for _, corners in blocks]), kind not in {"tetra10"})
    grown = _Grown(points)
    if kinds == {"hexahedron20"}:
        rows = [grown.filled(cell) for _, corners in blocks for cell in corners.tolist()]
        return SolidCells(grown.all(), "hexahedron27", np.array(rows, dtype=np.int64), True)
    for kind, corners in blocks:  # the points on edges that are there, before others are added
        for place, (a, b) in enumerate(SOLIDS[kind].edges):
            for row in corners[:, [a, b, SOLIDS[kind].corners + place]].tolist():
                grown.middles[tuple(sorted(row[:2]))] = row[2]
    rows = [row for kind, corners in blocks for cell in corners.tolist() for row in grown.tetrahedra(kind, cell)]
    return SolidCells(grown.all(), "tetra10", np.array(rows, dtype=np.int64), True)


class _Grown:
    """Points of a mesh, and those that were added in the middles of edges, faces and cells, by their corners."""

    def __init__(self, points: Array) -> None:
        self.points = points
        self.added: list[Array] = []
        self.middles: dict[tuple[int, ...], int] = {}

    def all(self) -> Array:
        return np.vstack([self.points, *self.added])

    def middle(self, corners: Sequence[int], edges: Sequence[int]) -> int:
        """Return the point in the middle of an edge, face or cell, of 2, 4 or 8 corners, with points on its edges.

        It is where the shape functions of 8 or 20 points put it, or in the mean of the corners.
        """
        key = tuple(sorted(corners))
        if key not in self.middles:
            position = self._positions(corners).mean(axis=0)
            if edges:  # -1/4 at each corner and 1/2 (face) or 1/4 (cell) at each edge
                weight = 0.5 if len(corners) == 4 else 0.25
                position = weight * self._positions(edges).sum(axis=0) - self._positions(corners).sum(axis=0) / 4
            self.middles[key] = len(self.points) + len(self.added)
            self.added.append(position[None])
        return self.middles[key]

    def _positions(self, numbers: Sequence[int]) -> Array:
        return np.array(
            [self.points[k] if k < len(self.points) else self.added[k - len(self.points)][0] for k in numbers]
        )

    def filled(self, cell: Sequence[int]) -> list[int]:
        """Return the 27 points of a hexahedron of 20."""
        kind = SOLIDS["hexahedron20"]
        faces = [self.middle([cell[k] for k in face], _on_face(kind, cell, face)) for face in BETWEEN]
        return [*cell, *faces, self.middle(cell[:8], cell[8:20])]

    def tetrahedra(self, name: str, cell: Sequence[int]) -> Iterator[list[int]]:
        """Yield tetrahedra of 10 points that divide a cell.

        They have its first corner, the one with the least number, in common; a face of four corners is divided from its
        own first corner, so that neighbours agree.
        """
        kind = SOLIDS[name]
        quadratic = len(kind.edges) > 0
        corners = cell[: kind.corners]
        first = min(corners)
        for triangle in _triangles(kind, corners, first):
            four = self._upright([first, *triangle])
            mids = []
            for a, b in EDGES[4]:
                pair = tuple(sorted((four[a], four[b])))
                if pair not in self.middles and quadratic:
                    self.middles[pair] = self._across(kind, cell, pair)
                mids.append(self.middle(pair, ()))
            yield [*four, *mids]

    def _across(self, kind: CellKind, cell: Sequence[int], pair: tuple[int, ...]) -> int:
        """Return the point in the middle of a diagonal of a face, or else of the cell."""
        for face in kind.faces:
            around = [cell[k] for k in face]
            if len(face) == 4 and set(pair) <= set(around):
                return self.middle(around, _on_face(kind, cell, face))
        return self.middle(cell[: kind.corners], cell[kind.corners : kind.corners + len(kind.edges)])

    def _upright(self, four: list[int]) -> list[int]:
        """Return the corners of a tetrahedron in the order that has a positive volume."""
        r = self._positions(four)
        return four if np.linalg.det(r[1:] - r[0]) >= 0 else [four[0], four[2], four[1], four[3]]


def _triangles(kind: CellKind, corners: Sequence[int], first: int) -> Iterator[list[int]]:
    """Yield the triangles of the faces without the first corner."""
    for face in kind.faces:
        around = [corners[k] for k in face]
        if first in around:
            continue
        if len(around) == 3:
            yield around
            continue
        begin = around.index(min(around))
        a, b, c, d = (around[(begin + k) % 4] for k in range(4))
        yield from ([a, b, c], [a, c, d])


def _on_face(kind: CellKind, cell: Sequence[int], face: Sequence[int]) -> list[int]:
    """Return the points on the edges of a face; none if the kind has none."""
    return [cell[kind.corners + k] for k, edge in enumerate(kind.edges) if set(edge) <= set(face)]


def on_faces(kind: CellKind, cell: Sequence[int], face: int) -> list[int]:
    """Return the points of a face of a cell, with those on its edges.

    Args:
        kind: kind of the cell.
        cell: its points.
        face: index of the face.
    """
    return [*(cell[k] for k in kind.faces[face]), *_on_face(kind, cell, kind.faces[face])]

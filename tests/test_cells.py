"""Cells of meshes as finite elements, and meshes of input files: mass, patch test, deflection, by closed forms."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from harness import extra
from scipy.sparse.linalg import spsolve

from mbfmu.analysis.reduction import Material, assemble, read_mesh
from mbfmu.analysis.reduction.cells import SOLIDS
from mbfmu.errors import MbfmuError, ModelFileError, UsageError

extra("skfem", "flexible")
Array = npt.NDArray[np.float64]
Blocks = list[tuple[str, Array]]
MATERIAL = Material(E=2e9, nu=0.3, rho=1200.0)
PARTS = {
    "hexahedron": ((0, 1, 2, 3, 4, 5, 6, 7),),
    "wedge": ((0, 1, 2, 4, 5, 6), (0, 2, 3, 4, 6, 7)),
    "tetra": ((0, 1, 2, 6), (0, 2, 3, 6), (0, 3, 7, 6), (0, 7, 4, 6), (0, 4, 5, 6), (0, 5, 1, 6)),
    "pyramid": ((0, 3, 2, 1, 8), (4, 5, 6, 7, 8), (0, 1, 5, 4, 8), (1, 2, 6, 5, 8), (2, 3, 7, 6, 8), (3, 0, 4, 7, 8)),
}
"""Cells that divide a hexahedron, of which 8 is the middle."""
QUADRATIC = {"hexahedron": "hexahedron20", "wedge": "wedge15", "tetra": "tetra10", "pyramid": "pyramid13"}
KINDS = (*PARTS, *QUADRATIC.values(), "wedge and hexahedron20")


def meshed(kind: str, counts: Sequence[int], place: Callable[[Array], Array]) -> tuple[Array, Blocks]:
    """A block of cells of one kind, or of two by turns: points of the unit cube, moved to their place, and cells.

    Args:
        kind: kind of the cells, or two of them with `and` between.
        counts: number of hexahedra along each axis, which are divided.
        place: function of positions in the unit cube, shape (p, 3).
    """
    points: dict[tuple[float, ...], int] = {}

    def point(*r: float) -> int:
        return points.setdefault(tuple(round(float(x), 9) for x in r), len(points))

    kinds = kind.split(" and ")
    cells: dict[str, list[list[int]]] = {name: [] for name in kinds}
    for low in np.ndindex(*counts):
        box = [np.array(low) + step for step in ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1),
                                                 (1, 1, 1), (0, 1, 1), (0.5, 0.5, 0.5))]  # fmt: skip
        name = kinds[sum(low) % len(kinds)]
        for part in PARTS[next(linear for linear, more in QUADRATIC.items() if name in {linear, more})]:
            corners = [box[k] / counts for k in part]
            middles = [(corners[a] + corners[b]) / 2 for a, b in SOLIDS[name].edges]
            cells[name].append([point(*r) for r in (*corners, *middles)])
    return place(np.array(list(points))), [(name, np.array(rows)) for name, rows in cells.items()]


SKEW = np.array([[1.0, 0.3, 0.1], [0.0, 0.7, -0.2], [0.0, 0.0, 0.5]])


def skewed(r: Array) -> Array:
    """A block with the volume 0.35 m3."""
    return r @ SKEW.T


@pytest.mark.parametrize("kind", KINDS)
def test_cells_of_any_kind_have_the_mass_of_their_body_and_pass_the_patch_test(kind: str) -> None:
    """A displacement that is linear gives one stress: no force on inner nodes, and the energy of the whole volume."""
    points, cells = meshed(kind, (2, 2, 1 if "and" in kind else 2), skewed)  # no triangles on a face of four corners
    model = assemble(points, cells if len(cells) > 1 else cells[0], MATERIAL, {})
    middle, m = SKEW @ [0.5, 0.5, 0.5], 0.35 * MATERIAL.rho
    second = m / 12 * SKEW @ SKEW.T + m * np.outer(middle, middle)
    assert model.mass == pytest.approx(m, rel=1e-12)
    assert model.integrals is not None
    assert model.integrals[2] == pytest.approx(np.trace(second) * np.eye(3) - second, rel=1e-12)
    slope = np.array([[1.0, 2.0, -0.5], [0.3, -0.7, 0.4], [0.1, 0.9, 0.2]]) * 1e-3
    u = (model.nodes @ slope.T).ravel()
    strain = (slope + slope.T) / 2
    lam, mu = MATERIAL.lame
    stress = lam * np.trace(strain) * np.eye(3) + 2 * mu * strain
    assert u @ model.K @ u == pytest.approx(0.35 * np.sum(stress * strain), rel=1e-11)
    unit = np.linalg.solve(SKEW, model.nodes.T).T
    inner = (np.abs(unit - 0.5) < 0.499).all(axis=1)
    assert inner.any()
    forces = (model.K @ u).reshape(-1, 3)
    assert np.abs(forces[inner]).max() < 1e-11 * np.abs(forces).max()


@pytest.mark.parametrize("kind", ["hexahedron20", "wedge15", "wedge", "pyramid13", "wedge and hexahedron20"])
def test_a_cantilever_of_any_cells_bends_as_timoshenko_says(kind: str) -> None:
    """``F L^3 / (3 E I) + F L / (5/6 G A)``, without contraction, which the clamped end would keep from happening."""
    L, h, material = 1.0, 0.1, Material(E=2e9, nu=0.0, rho=1200.0)
    points, cells = meshed(kind, (10, 1, 1), lambda r: r * [L, h, h])
    sets = {"root": np.flatnonzero(points[:, 0] == 0), "tip": np.flatnonzero(points[:, 0] == L)}
    model = assemble(points, cells, material, sets)
    fixed = model.of_nodes(model.nodes_of("root"))
    free = np.setdiff1d(np.arange(len(model.dofs)), fixed)
    tip = model.nodes_of("tip")
    weights = model.M @ np.ones(len(model.dofs))  # shares of the load, as of the mass around each node
    load = np.zeros(len(model.dofs))
    load[3 * tip + 1] = weights[3 * tip + 1] / weights[3 * tip + 1].sum()
    u = spsolve(model.K[free][:, free].tocsc(), load[free])
    work = load[free] @ u
    inertia, G = h**4 / 12, material.E / 2
    assert work == pytest.approx(L**3 / (3 * material.E * inertia) + L / (5 / 6 * G * h * h), rel=8e-3)


def bent(r: Array) -> Array:
    """A quarter of a ring with the radii 1 m and 2 m, 0.4 m thick."""
    radius, angle = 1 + r[:, 0], r[:, 1] * math.pi / 2
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), 0.4 * r[:, 2]])


@pytest.mark.parametrize("kind", ["hexahedron20", "wedge15", "tetra10", "pyramid13"])
def test_cells_with_curved_edges_fill_a_ring(kind: str) -> None:
    """Four parabolas in place of an arc of 90 degrees: its area is known within 1e-5."""
    points, cells = meshed(kind, (1, 4, 1), bent)
    model = assemble(points, cells, MATERIAL, {"side": np.flatnonzero(points[:, 2] == 0)})
    assert model.mass == pytest.approx(math.pi / 4 * 3 * 0.4 * MATERIAL.rho, rel=5e-5)
    side = model.nodes_of("side")
    assert np.array_equal(side, np.flatnonzero(np.abs(model.nodes[:, 2]) < 1e-12))


def written(path: Path, points: Array, cells: Blocks, types: dict[str, str], more: str = "") -> Path:
    """Write an input file, whose labels are 10 times the indices and 1, in lines of 8 numbers."""
    lines = ["*HEADING", "a block", "** nodes", "*Node, NSET=Nall"]
    lines += [f"{10 * k + 1}, {', '.join(map(repr, r))}" for k, r in enumerate(points.tolist())]
    label = 0
    for kind, rows in cells:
        lines.append(f"*ELEMENT, TYPE={types[kind]},\nELSET=Eall")
        for row in rows.tolist():
            label += 1
            words = [str(label), *(str(10 * k + 1) for k in row)]
            lines += [", ".join(words[k : k + 8]) + "," * (k + 8 < len(words)) for k in range(0, len(words), 8)]
    path.write_text("\n".join(lines) + "\n" + more, encoding="utf-8")
    return path


TYPES = {"hexahedron20": "C3D20R", "wedge15": "C3D15", "wedge": "C3D6", "tetra10": "C3D10"}


@pytest.mark.parametrize("kind", ["hexahedron20", "wedge15", "wedge and hexahedron20"])
def test_an_input_file_is_the_mesh_that_it_describes(kind: str, tmp_path: Path) -> None:
    """Elements over several lines, sets of labels, of a range and of other sets, a surface of faces."""
    points, cells = meshed(kind, (2, 1, 1), skewed)
    root = np.flatnonzero(np.abs(points @ np.linalg.inv(SKEW).T)[:, 0] < 1e-9)
    more = f"*NSET, NSET=Root\n{', '.join(str(10 * k + 1) for k in root[:3])},\n*Nset, nset=rest\n"
    more += f"{', '.join(str(10 * k + 1) for k in root[3:])}\n*NSET, NSET=Ends\nroot, REST\n"
    more += "*NSET, NSET=Few, GENERATE\n1, 41, 20\n*SURFACE, NAME=Under\n1, S1\n*BOUNDARY\nRoot, 1, 3\n"
    model = read_mesh(written(tmp_path / "block.inp", points, cells, TYPES, more), MATERIAL)
    first = cells[0][1][0][: 3 if kind == "wedge15" or "and" in kind else 4]
    expected = assemble(points, cells, MATERIAL, {"Ends": root, "Few": np.array([0, 2, 4])})
    assert abs(model.K - expected.K).max() == 0.0
    for name in ("Ends", "Few"):
        assert np.array_equal(model.nodes_of(name), expected.nodes_of(name))
    assert set(map(tuple, points[first])) <= set(map(tuple, model.nodes[model.nodes_of("Under")]))


SHELL = "*ELEMENT, TYPE=S4, ELSET=Skin\n900, 1, 11, 21, 31\n"
WRONG: dict[str, str] = {
    "elements that are not solids, whose stiffness or mass is not modelled: 1 of the type S4": SHELL
    + "*SHELL SECTION, ELSET=Skin, MATERIAL=m\n0.1\n",
    "2 of the type MASS": "*ELEMENT, TYPE=MASS\n900, 1\n901, 11\n",
    r"line \d+: \*EQUATION ties nodes to each other, which is not read: remove it": "*EQUATION\n2\n1,1,1.,11,1,-1.\n",
    r"line \d+: \*SYSTEM makes or moves parts of the mesh": "*SYSTEM\n1.,0.,0.\n",
    "has node 7, which is not there": "*ELEMENT, TYPE=C3D4\n900, 1, 11, 21, 7\n",
    "the last element of the type C3D4 has 2 of 4 nodes": "*ELEMENT, TYPE=C3D4\n900, 1, 11\n",
    r"line \d+: \*NODE is incomplete, or has a line that is none of it": "*NODE\n7, one\n",
    "is outside the folder of the file": "*INCLUDE, INPUT=../other.inp\n",
    "more than 20 files include each other": "*INCLUDE, INPUT=block.inp\n",
}


@pytest.mark.parametrize("message", WRONG)
def test_what_an_input_file_has_besides_a_solid_is_refused_by_name(message: str, tmp_path: Path) -> None:
    points, cells = meshed("wedge", (1, 1, 1), skewed)
    with pytest.raises(ModelFileError, match=message):
        read_mesh(written(tmp_path / "block.inp", points, cells, TYPES, WRONG[message]), MATERIAL)


def test_shells_without_a_section_on_the_surface_name_a_part_of_it(tmp_path: Path) -> None:
    """So Gmsh writes named surfaces; a file of shells alone has no solid."""
    points, cells = meshed("wedge", (1, 1, 1), skewed)
    four = [0, 1, 2, 5]
    skin = SHELL.replace("1, 11, 21, 31", ", ".join(str(10 * k + 1) for k in four))
    model = read_mesh(written(tmp_path / "block.inp", points, cells, TYPES, skin), MATERIAL)
    assert set(map(tuple, points[four])) <= set(map(tuple, model.nodes[model.nodes_of("Skin")]))
    with pytest.raises(ModelFileError, match="1 of the type S4"):
        read_mesh(written(tmp_path / "shell.inp", points, [], TYPES, skin), MATERIAL)


def test_cells_of_a_kind_that_is_not_known_are_refused() -> None:
    points: Any = np.zeros((4, 3))
    with pytest.raises(MbfmuError, match="are none of tetra"):
        assemble(points, [("polyhedron4", np.array([[0, 1, 2, 3]]))], MATERIAL, {})
    with pytest.raises(UsageError, match="no volume"):
        assemble(points, ("wedge", np.array([[0, 1, 2, 0, 1, 3]])), MATERIAL, {})

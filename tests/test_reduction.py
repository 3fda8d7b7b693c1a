"""Reduced finite element models: frequencies, mass and static shapes of the whole model, rotation, files, commands."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from conftest import REFERENCES
from harness import extra
from scipy.io import mmwrite
from scipy.linalg import eigh
from scipy.sparse import csr_matrix
from test_cli import Called, call, done
from test_modal_bodies import clamped, floating, slopes

import mbfmu
from examples import boom
from mbfmu.analysis.reduction import FiniteElementModel, Material, assemble, read_matrices, read_mesh, reduce
from mbfmu.dae import derive
from mbfmu.errors import MbfmuError, UsageError
from mbfmu.model import ModalBody, read_modal, write_modal
from mbfmu.model.library import known_models

meshio = extra("meshio", "flexible")

Array = npt.NDArray[np.float64]
__all__ = ["call", "done"]

STEEL = Material(E=2.1e11, nu=0.3, rho=7850.0)
SIZE = (1.0, 0.02, 0.03)
"""Length, height and width of the bar, m."""


def bar_mesh(cells: tuple[int, int, int] = (12, 1, 1), size: tuple[float, float, float] = SIZE) -> meshio.Mesh:
    """Return a straight bar of hexahedra along x with its ends as node sets."""
    axes = [
        np.linspace(0.0, L, n + 1) - (0 if k == 0 else L / 2) for k, (L, n) in enumerate(zip(size, cells, strict=True))
    ]
    x, y, z = np.meshgrid(*axes, indexing="ij")
    points = np.column_stack([x.ravel(), y.ravel(), z.ravel()])
    index = np.arange(len(points)).reshape(x.shape)
    i, j, k = (slice(None, -1), slice(1, None)), (slice(None, -1), slice(1, None)), (slice(None, -1), slice(1, None))
    order = ((0, 0), (1, 0), (1, 1), (0, 1))
    corners = [index[i[a], j[b], k[c]].ravel() for c in (0, 1) for a, b in order]
    sets = {"root": index[0].ravel(), "tip": index[-1].ravel()}
    return meshio.Mesh(points, [("hexahedron", np.column_stack(corners))], point_sets=sets)


@cache
def bar(
    nu: float = 0.3, cells: tuple[int, int, int] = (12, 1, 1), size: tuple[float, float, float] = SIZE
) -> FiniteElementModel:
    """Return the finite element model of a bar."""
    mesh = bar_mesh(cells, size)
    return assemble(mesh.points, ("hexahedron", mesh.cells_dict["hexahedron"]), replace(STEEL, nu=nu), mesh.point_sets)


def hermite(elements: int = 20) -> FiniteElementModel:
    """Return a beam of Euler and Bernoulli with six degrees of freedom for each node, by Hermite's cubics."""
    L, h, b = SIZE
    A, I = h * b, {1: b * h**3 / 12, 2: h * b**3 / 12}  # noqa: E741
    E, G, rho, e = STEEL.E, STEEL.E / 2 / 1.3, STEEL.rho, L / elements
    n = 6 * (elements + 1)
    K, M = np.zeros((n, n)), np.zeros((n, n))
    rod_K, rod_M = np.array([[1, -1], [-1, 1]]) / e, e * np.array([[2, 1], [1, 2]]) / 6
    bend_K = np.array([[12, 6 * e, -12, 6 * e], [6 * e, 4 * e * e, -6 * e, 2 * e * e],
                       [-12, -6 * e, 12, -6 * e], [6 * e, 2 * e * e, -6 * e, 4 * e * e]]) / e**3  # fmt: skip
    bend_M = np.array([[156, 22 * e, 54, -13 * e], [22 * e, 4 * e * e, 13 * e, -3 * e * e],
                       [54, 13 * e, 156, -22 * e], [-13 * e, -3 * e * e, -22 * e, 4 * e * e]]) * e / 420  # fmt: skip
    for k in range(elements):
        at = np.array([6 * k, 6 * (k + 1)])
        for component, stiff, mass in ((0, E * A, rho * A), (3, G * 2e-8, rho * (I[1] + I[2]))):
            here = np.ix_(at + component, at + component)
            K[here] += stiff * rod_K
            M[here] += mass * rod_M
        for side, turn, sign in ((1, 5, 1.0), (2, 4, -1.0)):
            rows = np.array([at[0] + side, at[0] + turn, at[1] + side, at[1] + turn])
            signs = np.array([1.0, sign, 1.0, sign])
            K[np.ix_(rows, rows)] += E * I[side] * bend_K * np.outer(signs, signs)
            M[np.ix_(rows, rows)] += rho * A * bend_M * np.outer(signs, signs)
    nodes = np.zeros((elements + 1, 3))
    nodes[:, 0] = np.linspace(0, L, elements + 1)
    dofs = np.column_stack([np.repeat(np.arange(elements + 1), 6), np.tile(np.arange(6), elements + 1)])
    sets = {"root": np.array([0]), "tip": np.array([elements])}
    return FiniteElementModel(nodes, dofs, csr_matrix(M), csr_matrix(K), sets)


@pytest.mark.parametrize("source", ["mesh", "matrices"])
@pytest.mark.parametrize("free_frames", [False, True])
def test_the_ten_lowest_frequencies_are_those_of_the_whole_model(source: str, free_frames: bool) -> None:
    model = bar() if source == "mesh" else hermite()
    found = reduce(model, ["root", "tip"], 20, free_frames=free_frames, stiffening=False)
    bound = 1e-5 if free_frames else 1e-3  # 2e-6 measured
    assert len(found.clamped) == len(found.free) == 10
    assert max(abs(item.error) for item in found.clamped) < bound
    assert max(abs(item.error) for item in found.free) < 1e-2
    assert min(item.error for item in (*found.clamped, *found.free)) > -1e-6  # by Rayleigh's principle


def test_frequencies_of_a_beams_matrices_are_those_in_closed_form() -> None:
    found = reduce(hermite(), ["root", "tip"], 10)
    L, h, b = SIZE
    unit = np.sqrt(STEEL.E / STEEL.rho / 12) / (2 * np.pi * L**2)
    wanted = sorted(size * unit * number**2 for size in (h, b) for number in (1.8751040687119611, 4.694091132974175))
    assert [item.whole for item in found.clamped[:4]] == pytest.approx(wanted, rel=1e-5)
    assert not found.stiffening


def test_mass_and_inertia_are_those_of_the_solid() -> None:
    found = reduce(bar(), ["root", "tip"], 4)
    (L, h, b), data = SIZE, found.data
    m = STEEL.rho * L * h * b
    assert data.m == pytest.approx(m, rel=1e-13)
    assert data.c0 == pytest.approx([m * L / 2, 0, 0], abs=1e-13)
    J = m * np.diag([(h * h + b * b) / 12, L * L / 3 + b * b / 12, L * L / 3 + h * h / 12])
    assert pytest.approx(J, abs=1e-13) == data.J0
    assert found.volume_difference is not None
    assert found.volume_difference < 1e-13
    carried = found.effective.sum(axis=0)
    assert (carried > 0.7).all()
    assert (carried < 1 + 1e-9).all()


@pytest.mark.parametrize("free_frames", [False, True])
def test_loads_at_the_frames_bend_the_body_as_they_bend_the_whole_model(free_frames: bool) -> None:
    found = reduce(bar(0.0, (20, 1, 1)), ["root", "tip"], 2, free_frames=free_frames, stiffening=False)
    data, (L, h, b) = found.data, SIZE
    motion = np.vstack([data.Phi0[0], data.Psi0[0]])
    flexibility = motion @ np.linalg.solve(data.Ke, motion.T)
    shear = 6 / 5 * 2 * L / (h * b)
    wanted = {0: L / (h * b), 1: 4 * L**3 / (b * h**3) + shear, 2: 4 * L**3 / (h * b**3) + shear}
    for axis, item in wanted.items():
        assert flexibility[axis, axis] == pytest.approx(item / STEEL.E, rel=1e-3)  # of this mesh
    more = reduce(bar(0.0, (20, 1, 1)), ["root", "tip"], 8, free_frames=free_frames, stiffening=False).data
    again = np.vstack([more.Phi0[0], more.Psi0[0]])
    assert flexibility == pytest.approx(again @ np.linalg.solve(more.Ke, again.T), rel=1e-6, abs=1e-14)


@pytest.mark.parametrize("gamma", ["2", pytest.param("6", marks=pytest.mark.further)])
def test_a_reduced_bar_that_rotates_stiffens_as_published(gamma: str) -> None:
    reference = json.loads((REFERENCES / "flexible.json").read_text())["rotating"][gamma]
    size = (1.0, 0.01, 0.01)
    found = reduce(bar(0.0, (32, 1, 1), size), ["root"], 8, free_frames=True)
    unit = np.sqrt(STEEL.E / STEEL.rho / 12) * size[1] / size[0] ** 2
    part = ModalBody("body", data=found.data)
    dae = derive(floating(part))
    q, v = np.zeros(dae.n), np.zeros(dae.n)
    q[3], v[6] = 1.0, float(gamma) * unit / 2
    M, _, stiffness, _ = slopes(dae, q, v)
    frequencies = np.sqrt(eigh(-stiffness[7:, 7:], M[7:, 7:], eigvals_only=True)) / unit
    wanted = sorted([*reference["lead_lag"][:2], *reference["flap"][:2]])
    assert frequencies[:4] == pytest.approx(wanted, rel=1e-3)
    soft = reduce(bar(0.0, (32, 1, 1), size), ["root"], 8, free_frames=True, stiffening=False)
    dae = derive(floating(ModalBody("body", data=soft.data)))
    M, _, stiffness, _ = slopes(dae, q, v)
    squares = eigh(-stiffness[7:, 7:], M[7:, 7:], eigvals_only=True)
    assert squares[0] < 0.9 * (wanted[0] * unit) ** 2  # without these terms it softens


def test_an_averaged_frame_leaves_its_nodes_free_and_moves_as_their_mean() -> None:
    rigid, loose = (reduce(bar(), ["root", "tip"], 6, averaged=names, stiffening=False) for names in ((), ("tip",)))
    pairs = list(zip(rigid.clamped, loose.clamped, strict=True))
    assert all(b.whole < a.whole * (1 + 1e-9) for a, b in pairs)
    assert any(b.whole < a.whole * (1 - 1e-6) for a, b in pairs)
    nodes = loose.model.nodes_of("tip")
    for number, mode in enumerate(loose.modes.T):
        mean = loose.model.translations(mode)[nodes].mean(axis=0)
        assert loose.data.Phi0[0, :, number] == pytest.approx(mean, abs=1e-12)


def test_a_frame_can_be_beside_its_nodes() -> None:
    found = reduce(bar(), ["root", "tip"], 2, places={"tip": (1.2, 0.0, 0.1)}, stiffening=False)
    there = reduce(bar(), ["root", "tip"], 2, stiffening=False)
    assert found.data.r0 == pytest.approx(np.array([[1.2, 0.0, 0.1]]))
    turned = np.cross(there.data.Psi0[0], [0.2, 0.0, 0.1], axis=0)
    assert found.data.Phi0[0] == pytest.approx(there.data.Phi0[0] + turned, abs=1e-7)


def test_modes_of_a_square_bar_bend_along_its_sides_and_a_planar_body_keeps_those_of_the_plane() -> None:
    model = bar(0.3, (10, 1, 1), (1.0, 0.02, 0.02))
    whole, flat = (reduce(model, ["root", "tip"], 6, planar=planar, stiffening=False) for planar in (False, True))
    assert whole.data.mixed() == ()
    kept = whole.data.in_plane()
    assert 0 < len(kept) < len(whole.data.Me)
    assert np.diag(flat.data.Ke) == pytest.approx(np.diag(whole.data.Ke)[list(kept)])
    dae = derive(clamped(ModalBody("body", data=flat.data), planar=True), "absolute")
    assert dae.n == 3 + len(kept)


def test_files_of_meshes_and_matrices_give_the_model_that_they_hold(tmp_path: Path) -> None:
    mesh = bar_mesh((4, 1, 1))
    names = ("bar.inp", "bar.msh")
    mesh.write(tmp_path / "bar.inp")
    ends = [np.flatnonzero(np.isclose(mesh.points[:, 0], place))[[0, 1, 3, 2]] for place in (0.0, SIZE[0])]
    cells = [("hexahedron", mesh.cells_dict["hexahedron"]), ("quad", np.array(ends))]
    tags = [np.full(4, 3), np.array([1, 2])]
    named = meshio.Mesh(
        mesh.points, cells, cell_data={"gmsh:physical": tags, "gmsh:geometrical": tags},
        field_data={"root": np.array([1, 2]), "tip": np.array([2, 2]), "all": np.array([3, 3])},
    )  # fmt: skip
    named.write(tmp_path / "bar.msh", file_format="gmsh22", binary=False)
    models = [read_mesh(tmp_path / name, STEEL) for name in names]
    wanted = stiffness_of(bar(0.3, (4, 1, 1)))
    for model in models:
        assert {name: len(item) for name, item in model.sets.items()} == {"root": 9, "tip": 9}
        assert stiffness_of(model) == pytest.approx(wanted, rel=1e-9)
    matrices = written(tmp_path, hermite(4))
    for given in matrices:
        assert stiffness_of(read_matrices(*given)) == pytest.approx(stiffness_of(hermite(4)), rel=1e-9)


def test_one_triangle_of_a_matrix_is_enough_whatever_the_order_of_the_nodes(tmp_path: Path) -> None:
    *_, (K, M, nodes) = written(tmp_path, hermite(4))
    head, *rows = nodes.read_text().splitlines()
    nodes.write_text("\n".join([head, *(rows[k] for k in (3, 0, 4, 1, 2))]) + "\n")
    assert stiffness_of(read_matrices(K, M, nodes)) == pytest.approx(stiffness_of(hermite(4)), rel=1e-9)


def stiffness_of(model: FiniteElementModel) -> Array:
    """Return the stiffness of the modes of a model with two frames."""
    return np.diag(reduce(model, ["root", "tip"], 3, stiffening=False).data.Ke)


def written(folder: Path, model: FiniteElementModel) -> list[tuple[Path, ...]]:
    """Write the matrices of a model in each format; return the arguments of `read_matrices` for each."""
    K, M = (np.asarray(item.toarray()) for item in (model.K, model.M))
    np.savez(
        folder / "whole.npz", nodes=model.nodes, K=K, M=M, **{f"set.{key}": item for key, item in model.sets.items()}
    )
    triples = {}
    for name, matrix in (("K", K), ("M", M)):
        mmwrite(folder / f"{name}.mtx", csr_matrix(matrix), symmetry="symmetric")
        row, column = np.nonzero(matrix)
        triples[name] = np.column_stack([row, column, matrix[row, column]])
        labels = 10 * (1 + model.dofs[:, 0])  # labels need not count from 1
        lines = [
            f"{labels[i]},{model.dofs[i, 1] + 1}, {labels[j]},{model.dofs[j, 1] + 1}, {float(matrix[i, j])!r}"
            for i, j in zip(row, column, strict=True)
            if i >= j
        ]
        (folder / f"{name}_abaqus.mtx").write_text("** made by a test\n" + "\n".join(lines) + "\n")
    np.savez(folder / "rows.npz", nodes=model.nodes, dofs=model.dofs, **triples,
             **{f"set.{key}": item for key, item in model.sets.items()})  # fmt: skip
    sets = {int(numbers[0]): name for name, numbers in model.sets.items()}
    rows = [f"{10 * (k + 1)},{x!r},{y!r},{z!r},{sets.get(k, '')}" for k, (x, y, z) in enumerate(model.nodes.tolist())]
    (folder / "nodes.csv").write_text("node,x,y,z,set\n" + "\n".join(rows) + "\n")
    pairs = [tuple(folder / f"{name}{end}.mtx" for name in "KM") for end in ("", "_abaqus")]
    return [(folder / "whole.npz",), (folder / "rows.npz",), *((*pair, folder / "nodes.csv") for pair in pairs)]


MATERIAL = ("--E", "2.1e11", "--nu", "0.3", "--rho", "7850")


def test_the_command_writes_a_body_that_a_model_takes(tmp_path: Path, done: Callable[..., str]) -> None:
    bar_mesh((2, 1, 1)).write(tmp_path / "bar.inp")
    words = ["reduce", "bar.inp", "--interface", "root", "--interface", "tip=1.1,0,0", "--modes", "1", *MATERIAL]
    words += ["--plot", "bar.png", "-o", "bar.npz"]
    report = json.loads(done(*words, "--json", cwd=tmp_path))
    assert report["frames"] == {"frame_a": "root", "tip": "tip"}
    assert report["places"]["tip"] == pytest.approx([1.1, 0, 0])
    assert report["modes"] == len(report["frequencies"]) == 7
    assert report["stiffening"] is True
    assert (tmp_path / "bar.png").read_bytes().startswith(b"\x89PNG")
    assert read_modal(tmp_path / "bar.npz").frames == ("tip",)
    shown = done(*words[:-4], "-o", "bar.npz", cwd=tmp_path)
    for text in (
        "frame_a",
        "whole model",
        "effective mass",
        "differ from the integrals over the volume",
        "wrote bar.npz",
    ):
        assert text in shown
    data = read_modal(tmp_path / "bar.npz")
    assert derive(clamped(ModalBody("body", data=data)), "absolute").n == 7 + 7


def test_matrices_are_reduced_by_the_command_with_a_notice(tmp_path: Path, call: Callable[..., Called]) -> None:
    written(tmp_path, hermite(3))
    files = ["K.mtx", "--mass", "M.mtx", "--nodes", "nodes.csv"]
    found = call("reduce", *files, "--interface", "root", "--modes", "3", "-o", "beam.npz", cwd=tmp_path)
    assert found.status == 0
    assert "these terms are left out" in found.stderr
    assert len(read_modal(tmp_path / "beam.npz").Me) == 3


@pytest.mark.parametrize(("words", "message"), [
    ("--interface rot", "no node set 'rot'; did you mean 'root'"), ("--interface root --modes -1", "modes = -1"),
    ("--interface root --interface root", "root is there twice"),
    ("--interface root --averaged tip", "not an interface"),
    ("--interface root=1,2", "three finite numbers"), ("--interface root --nu 0.5", "nu = 0.5"),
    ("--interface root --E nan", "E = nan"), ("--interface root --mass bar.inp", "--mass and --nodes"),
    ("--interface root -o body.txt", "must end in .npz"), ("--interface root --plot body.txt", "a figure ends in"),
    ("--interface root -o bar.inp", "must end in .npz"),
    ("--interface root --stress a=0,0,0 --stress a=1,0,0", "--stress a is there twice"),
    ("--interface root --stress eta=0,0,0", "the name 'eta' of a variable"),
])  # fmt: skip
def test_a_mistake_is_one_clear_line_and_no_file(
    tmp_path: Path, call: Callable[..., Called], words: str, message: str
) -> None:
    bar_mesh((2, 1, 1)).write(tmp_path / "bar.inp")
    found = call("reduce", "bar.inp", "-o", "body.npz", *MATERIAL, *words.split(), cwd=tmp_path)
    assert found.status == 1
    assert message in found.stderr
    assert found.stderr.count("\n") == 1
    assert not list(tmp_path.glob("body*"))


def test_a_mesh_needs_a_material_and_matrices_have_theirs(tmp_path: Path, call: Callable[..., Called]) -> None:
    bar_mesh((2, 1, 1)).write(tmp_path / "bar.inp")
    written(tmp_path, hermite(2))
    for words, message in (("bar.inp --E 1e11", "--nu and --rho"), ("whole.npz --E 1e11", "leave out --E"),
                           ("none.inp", "there is no file")):  # fmt: skip
        found = call("reduce", *words.split(), "--interface", "root", "-o", "body.npz", cwd=tmp_path)
        assert (found.status, message in found.stderr) == (1, True)


def test_a_frame_beside_its_nodes_has_the_second_order_of_a_rigid_arm() -> None:
    there, beside = (
        reduce(bar(0.3, (6, 1, 1)), ["root", "tip"], 2, places=places, planar=True)
        for places in ({}, {"tip": (1.0, 0.2, 0.0)})
    )
    arm, bent = np.array([0.0, 0.2, 0.0]), []
    for i in range(len(there.data.Me)):
        for j in range(len(there.data.Me)):
            a, b = there.data.Psi0[0, :, i], there.data.Psi0[0, :, j]
            bent.append((np.cross(a, np.cross(b, arm)) + np.cross(b, np.cross(a, arm))) / 2)
    wanted = there.data.Phi1[0] + np.reshape(bent, (len(there.data.Me), -1, 3)).transpose(2, 0, 1)
    bends = np.flatnonzero(np.abs(there.data.Psi0[0, 2]) > 1e-3)  # two of these turn the frame by no more
    found, wanted, plain = (item[:, bends][:, :, bends] for item in (beside.data.Phi1[0], wanted, there.data.Phi1[0]))
    assert np.abs(wanted - plain).max() > 0.1
    assert found == pytest.approx(wanted, rel=1e-3, abs=1e-4 * np.abs(wanted).max())


def test_a_mesh_in_two_parts_is_refused_by_name() -> None:
    mesh = bar_mesh((2, 1, 1))
    points = np.vstack([mesh.points, mesh.points + np.array([3.0, 0.0, 0.0])])
    cells = mesh.cells_dict["hexahedron"]
    model = assemble(points, ("hexahedron", np.vstack([cells, cells + len(mesh.points)])), STEEL, mesh.point_sets)
    with pytest.raises(UsageError, match="falls into parts"):
        reduce(model, ["root"], 3)


def test_torsion_of_beam_elements_turns_the_node_that_it_turns_furthest_by_one() -> None:
    found = reduce(hermite(6), ["root", "tip"], 16)
    turned = np.abs(found.modes.reshape(7, 6, -1)).max(axis=0)
    twisting = np.flatnonzero(turned[0] + turned[1] + turned[2] < 1e-6)
    assert twisting.size
    assert turned[3, twisting] == pytest.approx(1.0)
    G, rho, polar = STEEL.E / 2 / 1.3, STEEL.rho, 2e-2 * 3e-2 * (2e-2**2 + 3e-2**2) / 12
    assert found.frequencies[twisting[0]] == pytest.approx(np.sqrt(G * 2e-8 / (rho * polar)) / 4, rel=3e-3)
    assert np.abs(found.data.Psi0).max() < 100


def test_a_body_of_beam_elements_reads_back_from_standard_input_data(tmp_path: Path) -> None:
    data = reduce(hermite(4), ["root", "tip"], 2).data
    assert np.abs(data.Cr1 + data.Cr1.swapaxes(1, 2)).max() > 1e-3  # sections with inertia twist and bend
    back = read_modal(write_modal(tmp_path / "beam.sid_fem", data))
    for name in ("Cr1", "N2", "J2", "Psi0"):
        assert getattr(back, name) == pytest.approx(getattr(data, name), abs=1e-12)


def test_massless_rotations_are_refused_by_name() -> None:
    model = hermite(6)
    lumped = np.diag(np.where(model.dofs[:, 1] < 3, 1.0, 0.0))
    points = replace(model, M=csr_matrix(lumped))
    with pytest.raises(UsageError, match="rotation about x of 'tip' moves no mass"):
        reduce(points, ["root", "tip"], 2)
    with pytest.raises(UsageError, match=r"modes = 25 .* has mass for 18"):
        reduce(points, ["root"], 25)
    with pytest.raises(UsageError, match="no moment of inertia about some axis"):
        reduce(points, ["root"], 2)


SPLIT = ((0, 1, 2, 6), (0, 2, 3, 6), (0, 3, 7, 6), (0, 7, 4, 6), (0, 4, 5, 6), (0, 5, 1, 6))
"""Corners of the tetrahedra around the diagonal of a hexahedron."""
EDGES = ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))
"""Edges of a tetrahedron in the order of the nodes 5 to 10."""


def test_tetrahedra_of_both_kinds_are_the_solid_that_hexahedra_are() -> None:
    mesh = bar_mesh((8, 1, 1))
    corners = mesh.cells_dict["hexahedron"][:, SPLIT].reshape(-1, 4)
    corners[::2] = corners[::2][:, [1, 0, 2, 3]]  # from inside or outside
    pairs, number = np.unique(np.sort(corners[:, EDGES].reshape(-1, 2), axis=1), axis=0, return_inverse=True)
    points = np.vstack([mesh.points, mesh.points[pairs].mean(axis=1)])
    ten = np.hstack([corners, len(mesh.points) + number.reshape(-1, 6)])
    ends = {name: np.flatnonzero(points[:, 0] == place) for name, place in (("root", 0.0), ("tip", SIZE[0]))}
    models = [
        assemble(mesh.points, ("tetra", corners), STEEL, mesh.point_sets),
        assemble(points, ("tetra10", ten), STEEL, ends),
    ]
    wanted = reduce(bar(0.3, (8, 1, 1)), ["root", "tip"], 4)
    for model in models:
        assert {name: len(item) for name, item in model.sets.items()} == {"root": 9, "tip": 9}
        found = reduce(model, ["root", "tip"], 4)
        assert found.volume_difference == pytest.approx(0.0, abs=1e-13)
        assert found.data.m == pytest.approx(wanted.data.m, rel=1e-13)
        assert found.frequencies[:4] == pytest.approx(wanted.frequencies[:4], rel=2e-2)
        face = model.nodes[model.faces]
        volume = np.einsum("fa,fa->", face[:, 0], np.cross(face[:, 1], face[:, 2])) / 6
        assert volume == pytest.approx(np.prod(SIZE), rel=1e-12)


@pytest.mark.parametrize("case", ["twisted", "folded", "collapsed"])
def test_a_cell_without_a_volume_of_one_sign_is_refused(case: str) -> None:
    mesh = bar_mesh((4, 1, 1))
    points, corners = mesh.points.copy(), mesh.cells_dict["hexahedron"].copy()
    if case == "twisted":
        corners[1] = corners[1][[0, 1, 3, 2, 4, 5, 7, 6]]
    else:
        points[8] = points[4] + [0.6 if case == "folded" else 0.0, 0.0, 0.0]
    with pytest.raises(UsageError, match="no volume, or is turned inside out"):
        assemble(points, ("hexahedron", corners), STEEL, mesh.point_sets)


@pytest.mark.parametrize(("corners", "kind", "message"), [
    (np.vstack([np.arange(8), np.arange(8)]), "hexahedron", "given twice"), (np.arange(8)[None], "wedge", "none of"),
    (np.arange(4)[None], "hexahedron", "none of"), (np.zeros((0, 8), dtype=int), "hexahedron", "none of"),
    (np.arange(1, 9)[None], "hexahedron", "whole numbers of points"),
])  # fmt: skip
def test_cells_that_make_no_mesh_are_refused(corners: Any, kind: str, message: str) -> None:
    points = np.array([[x, y, z] for z in (0.0, 1.0) for x, y in ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))])
    with pytest.raises(UsageError, match=message):
        assemble(points, (kind, corners), STEEL, {})


def test_arguments_of_a_reduction_that_are_of_another_kind_are_refused() -> None:
    model = hermite(2)
    wrong: list[dict[str, Any]] = [{"modes": 2.5}, {"interfaces": "root"}, {"places": {"root": "here"}}]
    for changes in wrong:
        with pytest.raises(UsageError, match=f"{min(changes)}.* must be"):
            reduce(model, **{"interfaces": ["root"], "modes": 2, **changes})
    with pytest.raises(UsageError, match="E = None must be a number"):
        replace(STEEL, E=None)
    with pytest.raises(UsageError, match="must be a sparse matrix"):
        replace(model, K=model.K.toarray())


def test_matrices_that_are_of_no_free_body_are_refused_by_name() -> None:
    model = hermite(3)
    held = model.K.toarray()
    held[:6, :6] += 1e9 * np.eye(6)
    skew = model.K.toarray()
    skew[0, 1] += 1e9
    cases: dict[str, dict[str, Any]] = {
        "resists a rigid motion": {"K": csr_matrix(held)}, "not symmetric": {"K": csr_matrix(skew)},
        "must give one mass": {"M": csr_matrix(np.diag(np.arange(1.0, 25.0)))},
        "NaN": {"M": csr_matrix(np.full((24, 24), np.nan))}, "has the shape": {"M": csr_matrix(np.eye(23))},
        "finite numbers x, y, z": {"nodes": np.full((4, 3), np.inf)}, "is empty": {"sets": {"root": np.array([9])}},
    }  # fmt: skip
    for words, changes in cases.items():
        with pytest.raises(UsageError, match=words):
            replace(model, **changes)
    twice = np.vstack([model.dofs[:-1], model.dofs[-2:-1]])
    with pytest.raises(UsageError, match="same node and component"):
        replace(model, dofs=twice)
    corner = replace(bar(0.3, (4, 1, 1)), sets={"corner": np.array([0])})
    with pytest.raises(UsageError, match="nodes on a line"):
        reduce(corner, ["corner"], 2)


def test_a_damaged_file_is_refused_by_name(tmp_path: Path) -> None:
    (whole, *_), _, market, abaqus = written(tmp_path, hermite(2))
    cases: list[tuple[tuple[Path, ...], str]] = [
        ((whole, market[1]), "leave out --mass"),
        ((market[0],), "give --mass"),
    ]
    cases += [((market[0], abaqus[1], market[2]), "two formats"), ((tmp_path / "no.mtx", *market[1:]), "cannot read")]
    for given, words in cases:
        with pytest.raises(MbfmuError, match=words):
            read_matrices(*given)
    text = abaqus[0].read_text()
    abaqus[0].write_text(text + "10,1,99,1,3.0\n")
    with pytest.raises(MbfmuError, match=r"K_abaqus.mtx', line .*'10,1,99,1,3.0' is not an entry"):
        read_matrices(*abaqus)
    market[0].write_text("%%MatrixMarket matrix coordinate real general\n2 2\n")
    with pytest.raises(MbfmuError, match="as a matrix"):
        read_matrices(*market)
    mmwrite(market[0], csr_matrix(hermite(2).K * (1 + 0.02j)))
    with pytest.raises(MbfmuError, match=r"K.mtx' has complex numbers"):
        read_matrices(*market)
    np.savez(whole, nodes=np.zeros((2, 3)))
    with pytest.raises(MbfmuError, match="lacks the array 'M'"):
        read_matrices(whole)
    (tmp_path / "x.msh").write_text("nothing")
    with pytest.raises(MbfmuError, match="as a mesh"):
        read_mesh(tmp_path / "x.msh", STEEL)


@pytest.mark.further
def test_the_boom_of_the_excavator_is_what_its_example_makes_of_the_mesh() -> None:
    found, kept = boom.reduced(), read_modal(known_models()["excavator"].with_name("excavator_boom.npz"))
    assert max(abs(item.error) for item in found.clamped) < 1e-3  # 2e-10 measured
    assert found.volume_difference is not None
    assert found.volume_difference < 1e-12
    assert kept.frames == found.data.frames == ("lift_eye", "crowd_foot", "tip")
    assert kept.m == pytest.approx(found.data.m, rel=1e-12)
    assert kept.surface is not None
    assert found.data.surface is not None
    assert kept.surface.r == pytest.approx(found.data.surface.r, abs=1e-6)
    largest = np.abs(kept.surface.sigma).max(axis=(0, 1))
    assert np.abs(found.data.surface.sigma).max(axis=(0, 1)) == pytest.approx(largest, rel=1e-3)
    for name in ("J0", "Me", "Ke"):
        size = np.sqrt(np.abs(np.diag(getattr(kept, name))))
        assert getattr(kept, name) / np.outer(size, size) == pytest.approx(
            getattr(found.data, name) / np.outer(size, size), abs=1e-6
        )


@pytest.mark.further
def test_an_excavator_with_a_boom_that_bends_moves_next_to_the_rigid_one() -> None:
    ways: dict[str, Any] = {"values": {"part": "mechanism"}, "output_interval": 0.05, "error_samples": 0}
    runs = [
        mbfmu.simulate(name, 0.2, step=1e-3, stepper=stepper, **ways)
        for name, stepper in (("excavator", None), ("excavator_flexible", "generalized_alpha"))
    ]
    for joint in ("boom", "stick", "bucket"):
        assert np.abs(runs[0][f"{joint}.phi"] - runs[1][f"{joint}.phi"]).max() < 0.02
        assert np.ptp(runs[1][f"{joint}.phi"]) > 0.03
    assert runs[1]["constraint.position"].max() < 1e-12
    assert np.ptp(runs[1]["beam.eta[1]"]) > 1e-6


def test_the_message_for_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mbfmu.analysis.reduction.mesh.find_spec", lambda _: None)
    with pytest.raises(UsageError, match=r"pip install .*\[flexible\]"):
        read_mesh(Path("bar.msh"), STEEL)

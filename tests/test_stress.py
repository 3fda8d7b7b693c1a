"""Stresses of flexible bodies: those in closed form, those of the whole finite element model, files and refusals."""

import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from harness import extra
from test_cli import Called, call, done
from test_reduction import MATERIAL, SIZE, STEEL, bar, bar_mesh, hermite

import mbfmu
from mbfmu.analysis.reduction import Reduction, reduce
from mbfmu.analysis.reduction.model import rigid_motion
from mbfmu.analysis.reduction.surface import MOST_CORNERS, coarse
from mbfmu.dae import derive
from mbfmu.errors import MbfmuError, ModelFileError, NameInUseError, UsageError, ValueRangeError
from mbfmu.model import (
    Beam,
    Body,
    Fixed,
    ModalBody,
    ModalSurface,
    StressPoints,
    System,
    World,
    connect,
    read_modal,
    write_modal,
)

Array = npt.NDArray[np.float64]
__all__ = ["call", "done"]

SECTION = {"A": 6e-4, "I_z": 2e-8, "I_y": 4.5e-8, "c_y": 0.01, "c_z": 0.015, "G": 8e10, "I_t": 5e-8}
"""Of a bar of 20 mm by 30 mm."""
LOAD = 12.0
"""Mass at the tip, kg."""


def loaded(planar: bool, n: tuple[float, ...] = (0.0, -1.0, 0.0), off: float = 0.0, **fields: Any) -> System:
    """Return a cantilever with a body at its tip; off: its distance from the axis along z, m."""
    load = Body("load", m=LOAD, r_CM=(0.0, 0.0, off), I_11=0.1, I_22=0.1, I_33=0.1)
    return System(
        "loaded", planar=planar,
        components=(World(n=n), Fixed("root"), Beam("beam", **SECTION | {"modes": 4} | fields), load),
        connections=(
            connect("world.frame_b", "root.frame_a"), connect("root.frame_b", "beam.frame_a"),
            connect("beam.frame_b", "load.frame_a"),
        ),
    )  # fmt: skip


def outputs_at_rest(model: System) -> dict[str, float]:
    """Return the outputs in the equilibrium next to the undeformed shape."""
    dae = derive(model, "joint")
    symbols = dae.symbols()
    slope = ca.Function("slope", [*symbols], [ca.jacobian(dae.equations.force(*symbols), symbols[0])])
    q, none, p = np.zeros(dae.n), np.zeros(0), dae.p_default()
    for _ in range(6):
        at = (q, np.zeros(dae.n), none, none, p, 0.0)
        q = q - np.linalg.solve(np.array(slope(*at)), np.array(dae.equations.force(*at)).ravel())
    y = dae.output(q, np.zeros(dae.n), none, none, np.zeros(dae.n), np.zeros(dae.m + dae.k), none, p, 0.0)
    return dict(zip([item.name for item in dae.outputs], np.array(y).ravel().tolist(), strict=True))


@pytest.mark.parametrize("planar", [True, False])
def test_bending_stress_of_a_loaded_cantilever_is_m_c_over_i(planar: bool) -> None:
    places = (0.0, 0.3, 1.0)
    found = outputs_at_rest(loaded(planar, sections=places))
    rho, A, I, c = 7850.0, SECTION["A"], SECTION["I_z"], SECTION["c_y"]  # noqa: E741
    for number, xi in enumerate(places, 1):
        x = 1.0 - xi
        M = -9.81 * (LOAD * x + rho * A * x**2 / 2)
        name = f"beam.section_{number}"
        assert found[f"{name}.M" if planar else f"{name}.M[3]"] == pytest.approx(M, rel=1e-8, abs=1e-6)
        fibres = (1, -1) if planar else (1, -1, -1, 1)
        sigma = [found[f"{name}.sigma[{fibre}]"] for fibre in range(1, len(fibres) + 1)]
        assert sigma == pytest.approx([-side * M * c / I for side in fibres], rel=1e-8, abs=1.0)


def test_moments_at_the_root_are_those_that_the_joint_carries() -> None:
    model = loaded(False, (0.0, -0.6, -0.8), 0.2, sections=(0.0,), torsion=2, E=2.1e15, G=8e14)
    found = outputs_at_rest(model)
    moment = [found[f"beam.section_1.M[{k}]"] for k in (1, 2, 3)]
    cut = [found[f"root.frame_b.t[{k}]"] for k in (1, 2, 3)]
    assert min(map(abs, moment)) > 1.0
    assert moment == pytest.approx(cut, rel=1e-5)  # of the undeformed beam, 3e-6 measured


@pytest.mark.parametrize("planar", [True, False])
def test_a_hanging_rod_is_drawn_by_the_weight_below(planar: bool) -> None:
    found = outputs_at_rest(loaded(planar, (1.0, 0.0, 0.0), axial=2, sections=(0.25,)))
    N = 9.81 * (LOAD + 0.75 * 7850.0 * SECTION["A"])
    assert found["beam.section_1.N"] == pytest.approx(N, rel=1e-9)
    assert found["beam.section_1.sigma[1]"] == pytest.approx(N / SECTION["A"], rel=1e-9)


def test_sections_without_fibres_have_moments_alone_and_beams_without_sections_no_more_outputs() -> None:
    names = outputs_at_rest(loaded(True, sections=(0.0,), c_y=0.0))
    assert {name for name in names if "section" in name} == {"beam.section_1.M"}
    assert not any("section" in name for name in outputs_at_rest(loaded(True)))


@pytest.mark.parametrize("places", [(-0.1,), (1.1,), (float("nan"),), ("end",), 0.5])
def test_a_section_beyond_the_beam_is_refused_by_name(places: Any) -> None:
    with pytest.raises(ValueRangeError, match=r"beam\.sections = .* parts of the length from 0 to 1"):
        loaded(True, sections=places)


# -- bodies from finite elements -------------------------------------------------------------------------------------

L, HEIGHT, WIDTH = SIZE
TOP = (0.5, HEIGHT / 2, WIDTH / 2)


@cache
def reduced_bar(nu: float = 0.3) -> Reduction:
    """Return a clamped bar with stresses at a point on top, at one inside, and at its root."""
    inside = (3.5 / 12, 0.0, 0.0)
    return reduce(bar(nu), ["root", "tip"], 2, stress={"top": TOP, "inside": inside, "root": None}, stiffening=False)


def by_tip_load(found: Reduction, load: Array) -> Array:
    """Return the coordinates of the modes under a force and a torque at the tip."""
    data = found.data
    return np.linalg.solve(data.Ke, np.vstack([data.Phi0[0], data.Psi0[0]]).T @ load)


def test_a_reduced_bar_has_the_stress_m_c_over_i() -> None:
    found = reduced_bar(0.0)
    assert found.data.stresses is not None
    eta = by_tip_load(found, np.array([3000.0, -100.0, 40.0, 0, 0, 0]))
    sigma = found.data.stresses.sigma[0] @ eta
    M_z, M_y = -100.0 * L / 2, -40.0 * L / 2
    I_z, I_y = WIDTH * HEIGHT**3 / 12, HEIGHT * WIDTH**3 / 12
    wanted = 3000.0 / (HEIGHT * WIDTH) - M_z * HEIGHT / 2 / I_z + M_y * WIDTH / 2 / I_y
    assert sigma[0] == pytest.approx(wanted, rel=1e-6)
    assert np.abs(sigma[1:3]).max() < 1e-6 * wanted


def test_stresses_under_loads_at_the_frames_are_those_of_the_whole_model() -> None:
    found = reduced_bar()
    model, data = found.model, found.data
    assert model.stress is not None
    assert data.stresses is not None
    load = np.array([500.0, -100.0, 70.0, 5.0, -20.0, 30.0])
    root, tip = model.of_nodes(model.nodes_of("root")), model.of_nodes(model.nodes_of("tip"))
    X = rigid_motion(model.nodes - np.array([L, 0.0, 0.0]), model.dofs)[tip]
    free = np.setdiff1d(np.arange(len(model.dofs)), np.union1d(root, tip))
    T = np.zeros((len(model.dofs), len(free) + 6))
    T[free, np.arange(len(free))] = 1.0
    T[tip, len(free) :] = X
    u = T @ np.linalg.solve(T.T @ (model.K @ T), np.concatenate([np.zeros(len(free)), load]))
    numbers = np.array([np.argmin(np.linalg.norm(model.nodes - place, axis=1)) for place in data.stresses.r])
    whole = (model.stress(numbers) @ u).reshape(-1, 6)
    sigma = data.stresses.sigma @ by_tip_load(found, load)
    assert np.abs(sigma - whole).max() < 1e-7 * np.abs(whole).max()


def test_the_stress_at_a_node_is_that_of_the_displacements_around_it() -> None:
    found = reduced_bar()
    assert found.data.stresses is not None
    skfem, from_meshio = extra("skfem", "flexible"), extra("skfem.io.meshio", "flexible").from_meshio
    basis = skfem.Basis(from_meshio(bar_mesh()), skfem.ElementHex2(), intorder=4)
    match = [int(np.argmin(np.linalg.norm(found.model.nodes - place, axis=1))) for place in basis.doflocs.T]
    u = found.model.translations(found.modes.sum(axis=1))[match]
    place, h = found.data.stresses.r[1], 1e-3
    slopes = np.zeros((3, 3))
    for axis in range(3):
        ends = [basis.probes((place + side * h * np.eye(3)[axis])[:, None]) @ u for side in (1, -1)]
        slopes[:, axis] = (ends[0] - ends[1]).ravel() / (2 * h)
    strain = (slopes + slopes.T) / 2
    lam, mu = STEEL.lame
    wanted = lam * np.trace(strain) * np.eye(3) + 2 * mu * strain
    sigma = found.data.stresses.sigma[1].sum(axis=1)
    assert sigma == pytest.approx(wanted[[0, 1, 2, 0, 1, 2], [0, 1, 2, 1, 2, 0]], abs=1e-8 * np.abs(wanted).max())


def stressed(eta: tuple[float, ...] = (), **parts: Any) -> System:
    """Return the reduced bar clamped to the world, with some modes deflected."""
    data = replace(reduced_bar().data, **parts)
    return System(
        "stressed", components=(World(g=0.0), Fixed("root"), ModalBody("bar", data=data, eta=eta or None)),
        connections=(connect("world.frame_b", "root.frame_a"), connect("root.frame_b", "bar.frame_a")),
    )  # fmt: skip


def test_outputs_are_the_stresses_and_the_equivalent_stress_of_v_mises() -> None:
    dae = derive(stressed(), "joint")
    rng = np.random.default_rng(1)
    q, none = rng.normal(size=dae.n) * 1e-3, np.zeros(0)
    rest = (np.zeros(dae.n), np.zeros(dae.m + dae.k), none, dae.p_default(), 0.0)
    y = np.array(dae.output(q, np.zeros(dae.n), none, none, *rest)).ravel()
    found = dict(zip([item.name for item in dae.outputs], y, strict=True))
    stresses = reduced_bar().data.stresses
    assert stresses is not None
    for name, modes in zip(stresses.names, stresses.sigma, strict=True):
        sigma = np.array([found[f"bar.{name}.sigma[{k}]"] for k in range(1, 7)])
        assert sigma == pytest.approx(modes @ q, abs=1e-9 * np.abs(modes @ q).max())
        tensor = np.diag(sigma[:3])
        for k, (a, b) in enumerate(((0, 1), (1, 2), (2, 0)), 3):
            tensor[a, b] = tensor[b, a] = sigma[k]
        deviator = tensor - np.trace(tensor) / 3 * np.eye(3)
        assert found[f"bar.{name}.sigma_v"] == pytest.approx(np.sqrt(1.5 * np.sum(deviator**2)), rel=1e-10)
    symbols = dae.symbols()
    row = [item.name for item in dae.outputs].index("bar.top.sigma_v")
    expression = dae.output(symbols[0], *(np.zeros(dae.n), none, none), *rest)[row]
    slope = ca.Function("slope", [symbols[0]], [ca.jacobian(expression, symbols[0])])
    assert np.isfinite(np.array(slope(np.zeros(dae.n)))).all()  # at rest, where it is zero


def test_an_fmu_has_stresses_as_arrays_that_are_those_of_the_run(tmp_path: Path) -> None:
    ways: dict[str, Any] = {"stepper": "radau", "step": 1e-5}
    model = stressed((1e-3, *[0.0] * (len(reduced_bar().data.Me) - 1)))
    run = mbfmu.simulate(model, stop=2e-5, **ways)
    path = mbfmu.export(model, tmp_path / "bar.fmu", backend="native", fmi="3.0", **ways)
    names = ["bar.top.sigma[1]", "bar.top.sigma_v"]
    again = mbfmu.simulate(path, stop=2e-5, show=names)
    assert [list(again[name]) for name in names] == [list(run[name]) for name in names]
    with zipfile.ZipFile(path) as archive:
        text = archive.read("modelDescription.xml").decode()
    variable = re.search(r'<Float64 name="bar\.top\.sigma" .*?</Float64>', text, re.DOTALL)
    assert variable
    assert 'causality="output"' in variable[0]
    assert '<Dimension start="6" />' in variable[0]


def test_points_and_surface_are_in_the_file_and_change_no_equation(tmp_path: Path) -> None:
    data = reduced_bar().data
    assert read_modal(write_modal(tmp_path / "bar.npz", data)) == data
    plain = derive(stressed(stresses=None, surface=None), "joint")
    full = derive(stressed(), "joint")
    names = [item.name for item in plain.outputs]
    assert names == [item.name for item in full.outputs if "sigma" not in item.name]
    assert str(plain.equations.force(*plain.symbols())) == str(full.equations.force(*full.symbols()))


def test_the_surface_encloses_the_volume_and_moves_as_the_modes_do() -> None:
    found = reduced_bar()
    surface = found.data.surface
    assert surface is not None
    x, y, z = np.moveaxis(surface.r[surface.triangles].astype(float), 1, 0)
    assert np.einsum("fa,fa->", x, np.cross(y, z)) / 6 == pytest.approx(L * HEIGHT * WIDTH, rel=1e-6)
    for r, Phi in zip(surface.r[::7], surface.Phi[::7], strict=True):
        node = int(np.argmin(np.linalg.norm(found.model.nodes - r, axis=1)))
        moved = [found.model.translations(mode)[node] for mode in found.modes.T]
        assert pytest.approx(np.array(moved).T, abs=1e-6) == Phi


def test_a_fine_surface_is_made_coarser_at_corners_of_its_own() -> None:
    x, y = (item.ravel() for item in np.meshgrid(np.arange(60.0), np.arange(60.0)))
    points = np.column_stack([x, y, 0 * x])
    corner = (np.arange(59)[:, None] * 60 + np.arange(59)).ravel()
    triangles = np.vstack([corner + np.array([0, 1, 61])[:, None], corner + np.array([0, 61, 60])[:, None]])
    triangles = np.vstack([triangles[:3].T, triangles[3:].T])
    kept, found = coarse(points, triangles)
    assert MOST_CORNERS / 2 < len(kept) <= MOST_CORNERS
    area = np.cross(*(points[kept[found[:, k]]] - points[kept[found[:, 0]]] for k in (1, 2)))[:, 2] / 2
    assert area.min() > -1e-12
    assert area.sum() == pytest.approx(59.0**2, rel=0.1)
    assert np.array_equal(points[coarse(points, triangles, 3600)[0]], points)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"edge": None}, "no node set 'edge'"),
        ({"p": (0.0, float("nan"), 0.0)}, "position of 'p'"),
        ({"root": None, "root_1": (0.0, 0.0, 0.0)}, "two points with stresses have one name"),
        ({"a b": (0.0, 0.0, 0.0)}, "cannot name a point"),
    ],
)
def test_points_that_cannot_be_are_refused_by_name(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(MbfmuError, match=reason):
        reduce(bar(), ["root", "tip"], 2, stress=given, stiffening=False)


def test_stresses_need_a_mesh_and_few_points() -> None:
    with pytest.raises(UsageError, match="need a mesh"):
        reduce(hermite(), ["root", "tip"], 2, stress={"tip": None})
    assert reduce(hermite(), ["root", "tip"], 2).data.surface is None
    model = bar()
    many = replace(model, sets={**model.sets, "all": np.arange(len(model.nodes))})
    with pytest.raises(UsageError, match="up to 100 nodes"):
        reduce(many, ["root", "tip"], 2, stress={"all": None}, stiffening=False)


@pytest.mark.parametrize(
    ("change", "kind", "reason"),
    [
        ({"sigma": np.zeros((1, 5, 2))}, ValueRangeError, "must be"),
        ({"sigma": np.full((1, 6, 2), np.nan)}, ValueRangeError, "not finite numbers"),
        ({"names": ("1st",)}, NameInUseError, "'1st'"),
    ],
)
def test_damaged_stresses_are_refused(change: dict[str, Any], kind: type[MbfmuError], reason: str) -> None:
    points: dict[str, Any] = {"names": ("top",), "r": np.zeros((1, 3)), "sigma": np.zeros((1, 6, 2))}
    with pytest.raises(kind, match=reason):
        StressPoints(**points | change)


def test_a_damaged_surface_and_one_of_other_modes_are_refused(tmp_path: Path) -> None:
    data = reduced_bar().data
    flat = {"r": np.zeros((3, 3)), "triangles": np.array([[0, 1, 2]]), "Phi": np.zeros((3, 3, 1))}
    one = ModalSurface(**flat, sigma=np.zeros((0, 6, 1)))  # type: ignore[arg-type]
    with pytest.raises(ValueRangeError, match="of 1 modes"):
        replace(data, surface=one)
    with pytest.raises(ValueRangeError, match="beyond the 3 corners"):
        replace(one, triangles=np.array([[0, 1, 3]]))
    path = write_modal(tmp_path / "bar.npz", data)
    with np.load(path) as content:
        left = {name: content[name] for name in content.files if name != "sigma_at"}
    np.savez(path, **left)
    with pytest.raises(ModelFileError, match="lacks the array 'sigma_at'"):
        read_modal(path)


def test_the_command_writes_the_points_and_says_where_they_are(
    tmp_path: Path, call: Callable[..., Called], done: Callable[..., str]
) -> None:
    bar_mesh((2, 1, 1)).write(tmp_path / "bar.inp")
    body = tmp_path / "bar.npz"
    how = ["reduce", "bar.inp", "--interface", "root", "--interface", "tip", "--modes", "1", "-o", "bar.npz", *MATERIAL]
    report = json.loads(done(*how, "--stress", "top=0.5,0.011,0.02", "--stress", "tip", "--json", cwd=tmp_path))
    assert report["stresses"]["top"] == pytest.approx(TOP)
    assert set(report["stresses"]) == {"top", *(f"tip_{k}" for k in range(1, 10))}
    stresses = read_modal(body).stresses
    assert stresses is not None
    assert stresses.names[0] == "top"
    assert report["corners"] == 12
    assert "point with stresses" in done(*how, "--stress", "tip", "--no-surface", cwd=tmp_path)
    assert read_modal(body).surface is None
    found = call(*how, "--stress", "top=1,2", cwd=tmp_path)
    assert found.status
    assert "the position of 'top' must be three finite numbers" in found.stderr

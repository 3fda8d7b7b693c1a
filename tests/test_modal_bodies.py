"""Bodies given by modes: their energy is that of their points, and a beam's modes move as the beam does."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from harness import cache_key

import mbfmu
from mbfmu.dae import Dae, derive
from mbfmu.dae.absolute import _coordinates
from mbfmu.dae.bodies import Bodies
from mbfmu.errors import MbfmuError, ModelFileError, NameInUseError, ValueRangeError
from mbfmu.model import (
    Beam,
    Component,
    Fixed,
    FreeMotion,
    ModalBody,
    ModalData,
    System,
    World,
    connect,
    flatten,
    read_modal,
    write_modal,
)
from mbfmu.model.flexible.shapes import nodes, shapes

Array = npt.NDArray[np.float64]

BEAM = {"L": 1.0, "rho": 1000.0, "A": 1e-3, "E": 1e7, "I_z": 1e-7, "I_y": 2e-7, "I_t": 1e-7, "G": 4e6}


def point_masses(number: int = 6, modes: int = 3) -> tuple[ModalData, Array]:
    """Return the constants of a body of random point masses, which are sums over the points, and the masses."""
    rng = np.random.default_rng(3)
    m, r, phi = rng.uniform(0.5, 1.5, number), rng.normal(size=(number, 3)), rng.normal(size=(number, 3, modes))
    stiffness = rng.normal(size=(modes, modes))

    def second(a: Array, b: Array) -> Array:
        """Return the integral of (a.b) 1 - a b^T over the mass, for places or modes."""
        outer = np.einsum("p,pa...,pb...->ab...", m, a, b)
        return np.asarray(np.einsum("cc...,ab->ab...", outer, np.eye(3)) - outer)

    first = np.stack([second(r, phi[..., k]) for k in range(modes)], axis=-1)
    both = np.array([[second(phi[..., i], phi[..., j]) for j in range(modes)] for i in range(modes)])
    both = np.moveaxis(both, (0, 1), (2, 3))
    data = ModalData(
        m=float(m.sum()), c0=m @ r, C1=np.einsum("p,pak->ak", m, phi), C2=np.zeros((3, modes, modes)),
        N2=np.zeros((3, 3, modes, modes)),
        J0=second(r, r), J1=first + first.swapaxes(0, 1), J2=both + both.swapaxes(0, 1),
        Cr0=np.einsum("p,pak->ak", m, np.cross(r[:, :, None], phi, axis=1)),
        Cr1=np.einsum("p,paij->aij", m, np.cross(phi[..., None], phi[:, :, None, :], axis=1)),
        Me=np.einsum("p,pai,paj->ij", m, phi, phi), Ke=stiffness @ stiffness.T, De=np.zeros((modes, modes)),
        frames=tuple(f"point_{k}" for k in range(number)), r0=r, Phi0=phi, Phi1=np.zeros((number, 3, modes, modes)),
        Psi0=rng.normal(size=(number, 3, modes)),
    )  # fmt: skip
    return data, m


def beam_data(modes: int, axial: int) -> ModalData:
    """Return the constants of a spatial `Beam` without torsion, by quadrature along its axis."""
    L, m = BEAM["L"], BEAM["rho"] * BEAM["A"] * BEAM["L"]
    bend, pull = shapes(2, modes), shapes(1, axial)
    n = 2 * modes + axial
    y, z, u = slice(0, modes), slice(modes, 2 * modes), slice(2 * modes, n)

    def at(xi: float) -> tuple[Array, Array, Array]:
        r, phi, gamma = np.array([xi * L, 0, 0]), np.zeros((3, n)), np.zeros((3, n, n))
        phi[1, y], phi[2, z], phi[0, u] = bend.at(xi), bend.at(xi), pull.at(xi)
        gamma[0, y, y] = gamma[0, z, z] = -bend.products(1, end=xi) / L
        return r, phi, gamma

    c0, C1, C2, N2 = (np.zeros(shape) for shape in ((3,), (3, n), (3, n, n), (3, 3, n, n)))
    J0, J1, J2 = (np.zeros(shape) for shape in ((3, 3), (3, 3, n), (3, 3, n, n)))
    Cr0, Cr1, Me = np.zeros((3, n)), np.zeros((3, n, n)), np.zeros((n, n))
    for xi, share in zip(*nodes(2 * modes + 6), strict=True):
        r, phi, gamma = at(xi)
        dm = m * share
        c0, C1, C2 = c0 + dm * r, C1 + dm * phi, C2 + dm * gamma
        N2 += dm * np.einsum("a,bij->abij", r, gamma)
        outer = (np.outer(r, r), 2 * np.einsum("a,bk->abk", r, phi), 2 * np.einsum("ai,bj->abij", phi, phi))
        inertia = []
        for order in range(3):
            even = (outer[order] + outer[order].swapaxes(0, 1)) / 2
            if order == 2:
                even = (even + even.swapaxes(2, 3)) / 2
            inertia.append(dm * (np.einsum("cc...,ab->ab...", even, np.eye(3)) - even))
        J0, J1, J2 = J0 + inertia[0], J1 + inertia[1], J2 + inertia[2]
        Cr0 += dm * np.cross(r[:, None], phi, axis=0)
        Cr1 += dm * (np.cross(phi[:, :, None], phi[:, None, :], axis=0))
        Me += dm * phi.T @ phi
    J0[0, 0] += BEAM["rho"] * (BEAM["I_y"] + BEAM["I_z"]) * L
    Ke = np.zeros((n, n))
    Ke[y, y], Ke[z, z] = (BEAM["E"] * BEAM[name] / L**3 * bend.products(2) for name in ("I_z", "I_y"))
    Ke[u, u] = BEAM["E"] * BEAM["A"] / L * pull.products(1)
    r, phi, gamma = at(1.0)
    psi = np.zeros((3, n))
    psi[2, y], psi[1, z] = bend.at(1.0, 1) / L, -bend.at(1.0, 1) / L
    return ModalData(
        m=m, c0=c0, C1=C1, C2=C2, J0=J0, J1=J1, J2=J2, N2=N2, Cr0=Cr0, Cr1=Cr1, Me=Me, Ke=Ke, De=np.zeros((n, n)),
        frames=("frame_b",), r0=r[None], Phi0=phi[None], Phi1=gamma[None], Psi0=psi[None],
    )  # fmt: skip


def floating(part: Component, planar: bool = False, g: float = 0.0) -> System:
    """Return a body that moves freely."""
    return System(
        "floating", planar=planar, components=(World(g=g), FreeMotion("free"), part),
        connections=(connect("world.frame_b", "free.frame_a"), connect("free.frame_b", f"{part.name}.frame_a")),
    )  # fmt: skip


def clamped(part: Component, planar: bool = False) -> System:
    """Return a body clamped to the world."""
    return System(
        "clamped", planar=planar, components=(World(g=0.0), Fixed("root"), part),
        connections=(connect("world.frame_b", "root.frame_a"), connect("root.frame_b", f"{part.name}.frame_a")),
    )  # fmt: skip


def slopes(dae: Dae, q: Array, v: Array) -> list[Array]:
    """Return the mass matrix, the force, and its derivatives by coordinates and velocities, at a state."""
    symbols = dae.symbols()
    force = dae.equations.force(*symbols)
    found = ca.Function(
        "found",
        [*symbols],
        [dae.equations.M(symbols[0], symbols[4]), force, *(ca.jacobian(force, symbols[k]) for k in (0, 1))],
    )
    none = np.zeros(0)
    return [np.array(item) for item in found(q, v, none, none, dae.p_default(), 0.0)]


@pytest.mark.parametrize("planar", [False, pytest.param(True, marks=pytest.mark.further)])
def test_kinetic_energy_and_momentum_are_those_of_the_points(planar: bool) -> None:
    data, masses = point_masses()
    if planar:  # points of the plane, which move in it
        flat = np.diag([1.0, 1.0, 0.0])
        phi = np.einsum("ab,pbk->pak", flat, data.Phi0)
        r = data.r0 @ flat
        data = replace(
            data, c0=masses @ r, C1=np.einsum("p,pak->ak", masses, phi), r0=r, Phi0=phi, Psi0=0 * data.Psi0,
            **_planar_integrals(masses, r, phi),
        )  # fmt: skip
    body = ModalBody("body", data=data)
    dae = derive(floating(body, planar))
    bodies = Bodies(flatten(floating(body, planar)), central=True, coordinates=_coordinates)
    q, v, p = bodies.q, bodies.v, bodies.p
    frames = [bodies.frame(1, bodies.groups[1].poses[f"body.point_{k}"]) for k in range(len(masses))]
    T = sum(m * ca.sumsqr(frame.v_0) / 2 for m, frame in zip(masses, frames, strict=True))
    both = ca.Function("both", [q, v, p], [T, dae.energies.kinetic(q, v, p)])
    rng = np.random.default_rng(1)
    for _ in range(3):
        places, rates = rng.normal(size=dae.n), rng.normal(size=dae.n)
        if not planar:
            places[3:7] /= np.linalg.norm(places[3:7])
            rates[3:7] -= places[3:7] * (places[3:7] @ rates[3:7])
        wanted, found = (float(item) for item in both(places, rates, dae.p_default()))
        assert found == pytest.approx(wanted, rel=1e-12)


def test_terms_of_second_order_leave_an_error_of_third_order_in_the_kinetic_energy() -> None:
    parts = (Beam("body", **BEAM, modes=2, axial=1), ModalBody("body", data=beam_data(2, 1)))
    daes = [derive(floating(part)) for part in parts]
    rng = np.random.default_rng(2)
    q, v, p = rng.normal(size=daes[0].n), rng.normal(size=daes[0].n), [dae.p_default() for dae in daes]
    q[3:7] /= np.linalg.norm(q[3:7])
    v[3:7] -= q[3:7] * (q[3:7] @ v[3:7])
    errors = []
    for size in (0.02, 0.01, 0.005):
        scale = np.r_[np.ones(7), np.full(daes[0].n - 7, size)]
        T = [float(dae.energies.kinetic(q * scale, v * scale, p_)) for dae, p_ in zip(daes, p, strict=True)]
        errors.append(abs(T[1] - T[0]))
    assert 7 < errors[0] / errors[1] < 9
    assert 7 < errors[1] / errors[2] < 9


def test_the_mass_matrix_stays_positive_definite_however_far_the_body_is_bent() -> None:
    dae = derive(floating(ModalBody("body", data=beam_data(2, 1))))
    rng = np.random.default_rng(4)
    for size in (0.1, 1.0, 10.0):
        q = size * rng.normal(size=dae.n)
        q[3:7] /= np.linalg.norm(q[3:7])
        assert np.linalg.eigvalsh(np.array(dae.equations.M(q, dae.p_default()))).min() > 0


def _planar_integrals(m: Array, r: Array, phi: Array) -> dict[str, Array]:
    """Return the integrals of point masses in the plane."""
    n = phi.shape[2]
    J1, J2 = np.zeros((3, 3, n)), np.zeros((3, 3, n, n))
    J1[2, 2] = 2 * np.einsum("p,pa,pak->k", m, r, phi)
    J2[2, 2] = 2 * np.einsum("p,pai,paj->ij", m, phi, phi)
    Cr0 = np.einsum("p,pak->ak", m, np.cross(r[:, :, None], phi, axis=1))
    Cr1 = np.einsum("p,paij->aij", m, np.cross(phi[..., None], phi[:, :, None, :], axis=1))
    J0 = np.eye(3) * (m @ (r**2).sum(axis=1))
    return {"J0": J0, "J1": J1, "J2": J2, "Cr0": Cr0, "Cr1": Cr1, "Me": J2[2, 2] / 2}


@pytest.mark.parametrize("planar", [True, False])
def test_a_beams_modes_have_the_beams_linear_equations_in_steady_rotation(planar: bool) -> None:
    modes, axial = 3, 1
    beam = Beam("body", **BEAM | {"rho": 1000.0}, modes=modes, axial=axial)
    found = []
    for part in (beam, ModalBody("body", data=beam_data(modes, axial))):
        dae = derive(floating(part, planar))
        q, v = np.zeros(dae.n), np.zeros(dae.n)
        if planar:
            v[2] = 30.0
        else:  # about y, across the bending along z and along the other bending
            q[3], v[5] = 1.0, 15.0
        found.append(slopes(dae, q, v))
    for name, wanted, got in zip(("M", "f", "K", "D"), *found, strict=True):
        assert np.abs(got - wanted).max() < 1e-12 * max(1.0, np.abs(wanted).max()), name


def test_a_clamped_beam_in_tension_moves_as_its_modes_do() -> None:
    start = {"eta": (1e-3, -2e-4, 5e-5)}
    ways: dict[str, Any] = {"stop": 0.1, "step": 1e-3, "stepper": "radau"}
    data = beam_data(0, 3)
    beam = mbfmu.simulate(clamped(Beam("body", **BEAM, modes=0, axial=3, **start), planar=True), **ways)
    body = mbfmu.simulate(clamped(ModalBody("body", data=data, **start), planar=True), **ways)
    for name in ("body.eta[1]", "body.eta[2]", "body.frame_b.r_0[1]"):
        assert np.abs(beam[name] - body[name]).max() < 1e-14
    assert np.ptp(body["body.eta[1]"]) > 1e-3


def test_a_free_body_keeps_momentum_to_round_off_and_energy_to_the_steppers_order() -> None:
    data = beam_data(2, 1)
    start: dict[str, Any] = {"Q": (1.0, 0, 0, 0), "w_a": (0.1, 0.4, 0.8), "v_0": (0.3, -0.1, 0.2)}
    model = floating(ModalBody("body", data=data, eta=(0.03, -0.01, 0.02, 0.01, 1e-4), **start))
    drifts = []
    for step in (1e-3, 5e-4):
        ways: dict[str, Any] = {"stepper": "nodal_impulse", "output_interval": 0.05, "error_samples": 0}
        run = mbfmu.simulate(model, stop=0.2, step=step, **ways)
        names = [name for name in run.names if name.startswith("momentum.")]
        assert len(names) == 6
        for name in names:
            assert np.ptp(run[name]) < 1e-12 * (1 + np.abs(run[name]).max())
        drifts.append(np.ptp(run["energy.total"]))
    assert np.ptp(run["body.eta[1]"]) > 0.01
    assert drifts[1] < drifts[0] / 3


def test_a_body_of_the_plane_has_the_same_energies_in_a_planar_and_a_spatial_system() -> None:
    body = ModalBody("body", data=beam_data(2, 1))
    flat, whole = (derive(floating(body, planar, g=9.81)) for planar in (True, False))
    rng = np.random.default_rng(5)
    for _ in range(3):
        x, v, turn, w = rng.normal(size=2), rng.normal(size=2), *rng.normal(size=2)
        eta, rate = (np.array([a, b, 0, 0, c]) for a, b, c in 0.1 * rng.normal(size=(2, 3)))
        kept = [0, 1, 4]
        c, s = np.cos(turn / 2), np.sin(turn / 2)
        q = (np.r_[x, turn, eta[kept]], np.r_[x, 0, c, 0, 0, s, eta])
        rates = (np.r_[v, w, rate[kept]], np.r_[v, 0, -s * w / 2, 0, 0, c * w / 2, rate])
        p = [dae.p_default() for dae in (flat, whole)]
        T = [float(dae.energies.kinetic(*item)) for dae, *item in zip((flat, whole), q, rates, p, strict=True)]
        V = [float(dae.energies.potential(*item, 0.0)) for dae, *item in zip((flat, whole), q, p, strict=True)]
        assert T[0] == pytest.approx(T[1], rel=1e-12)
        assert V[0] == pytest.approx(V[1], rel=1e-12)


def test_modal_damping_is_a_part_of_the_critical_damping_of_every_mode() -> None:
    data = beam_data(2, 1)
    linear = mbfmu.linearize(clamped(ModalBody("body", data=data, zeta=0.02), planar=True))
    moving = np.array([mode.eigenvalue for mode in linear.modes if abs(mode.eigenvalue) > 1.0])
    assert len(moving) == 3
    assert -moving.real / np.abs(moving) == pytest.approx(0.02, rel=1e-6)


def test_a_file_gives_back_what_was_written_and_what_it_holds_decides_the_kept_start(tmp_path: Path) -> None:
    data = beam_data(2, 1)
    path = write_modal(tmp_path / "body.npz", data)
    assert read_modal(path) == data
    model = floating(ModalBody("body", data=str(path)))
    key = cache_key(model, "rattle", {}, None, False)
    assert key is not None
    assert key == cache_key(floating(ModalBody("body", data=data)), "rattle", {}, None, False)
    other = floating(ModalBody("body", data=replace(data, Ke=2 * data.Ke)))
    assert key != cache_key(other, "rattle", {}, None, False)


def test_a_toml_model_names_a_file_of_its_own_folder(tmp_path: Path) -> None:
    text = """name = "tower"\nplanar = true\n[components]\nworld = {type = "World", g = 0.0}
root = {type = "Fixed"}\nmast = {type = "ModalBody", data = "parts/mast.npz", zeta = 0.01}
"""
    text = f'name = "tower"\nplanar = true\nconnections = [["world.frame_b", "root.frame_a"], ' \
        f'["root.frame_b", "mast.frame_a"]]\n{text.partition("planar = true")[2].lstrip()}'  # fmt: skip
    (tmp_path / "parts").mkdir()
    write_modal(tmp_path / "parts" / "mast.npz", beam_data(2, 0))
    path = tmp_path / "tower.toml"
    path.write_text(text)
    assert mbfmu.load(path).components[2].frames == ("frame_a", "frame_b")  # type: ignore[union-attr]
    for name, words in {
        "../mast.npz": "this file's folder",
        "mast.txt": r"\.npz or \.sid_fem file",
        "none.npz": "no model file",
    }.items():
        path.write_text(text.replace("parts/mast.npz", name))
        with pytest.raises(ModelFileError, match=rf"tower.toml.*{words}"):
            mbfmu.load(path)


def test_a_modal_body_is_the_same_in_an_fmu(tmp_path: Path) -> None:
    model = clamped(ModalBody("body", data=beam_data(1, 0), eta=(0.01,)), planar=True)
    ways: dict[str, Any] = {"stepper": "radau", "step": 1e-3}
    run = mbfmu.simulate(model, stop=0.05, output_interval=0.01, **ways)
    fmu = mbfmu.export(model, tmp_path / "body.fmu", backend="native", **ways)
    again = mbfmu.simulate(fmu, stop=0.05, output_interval=0.01, show=["body.eta[1]"])
    assert list(again["body.eta[1]"]) == list(run["body.eta[1]"])


def test_modes_in_and_out_of_the_plane_at_once_are_refused_in_a_planar_system() -> None:
    data, _ = point_masses()
    with pytest.raises(ValueRangeError, match="'body' has modes that move it both in the x-y plane and out of it"):
        derive(floating(ModalBody("body", data=data), planar=True))


@pytest.mark.parametrize(("changes", "kind", "words"), [
    ({"m": 0.0}, ValueRangeError, "mass above zero"), ({"m": np.nan}, ValueRangeError, "m has entries .* finite"),
    ({"c0": [0.0, np.inf, 0.0]}, ValueRangeError, "c0 has entries"),
    ({"C1": np.zeros((3, 2))}, ValueRangeError, "C1 has the shape"),
    ({"Me": np.diag([1.0, 1.0, -1.0])}, ValueRangeError, "Me is not positive definite"),
    ({"Ke": np.diag([1.0, 1.0, -1.0])}, ValueRangeError, "Ke has a negative eigenvalue"),
    ({"De": np.diag([1.0, 1.0, -1.0])}, ValueRangeError, "De has a negative eigenvalue"),
    ({"Ke": np.triu(np.ones((3, 3)))}, ValueRangeError, "Ke is not symmetric"),
    ({"J0": np.diag([1e-3, 1.0, 1.0])}, ValueRangeError, "the mass matrix of m"),
    ({"Me": np.zeros((0, 0))}, ValueRangeError, "a row for each mode"),
    ({"frames": ("a",) * 6}, NameInUseError, "two frames"),
    ({"frames": ("frame_a", *"bcdef")}, NameInUseError, "'frame_a' cannot name"),
    ({"frames": ("x y", *"bcdef")}, NameInUseError, "'x y' cannot name"),
])  # fmt: skip
def test_constants_that_no_body_has_are_refused_by_name(
    changes: dict[str, Any], kind: type[MbfmuError], words: str
) -> None:
    data, _ = point_masses()
    with pytest.raises(kind, match=words):
        replace(data, **changes)


def test_a_file_that_is_no_body_is_refused_by_name(tmp_path: Path) -> None:
    path = write_modal(tmp_path / "body.npz", beam_data(2, 0))
    whole = dict(np.load(path))
    cases = {
        "lacks the array 'Ke'": {name: item for name, item in whole.items() if name != "Ke"},
        "has the array 'extra'": {**whole, "extra": np.zeros(2)},
        "no modal data": {**whole, "format": np.array("other")},
        "m = -1 kg": {**whole, "m": np.array(-1.0)},
        "m has entries that are not": {**whole, "m": np.array("heavy")},
    }
    for words, arrays in cases.items():
        np.savez(path, **arrays)
        with pytest.raises(MbfmuError, match=words) as caught:
            ModalBody("body", data=str(path))
        assert str(path) in str(caught.value)
    np.savez(path, **{**whole, "m": np.array([None], dtype=object)}, allow_pickle=True)
    with pytest.raises(MbfmuError, match="cannot read"):
        read_modal(path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(MbfmuError, match="cannot read"):
        read_modal(path)
    for missing in ("", "none.npz", str(tmp_path)):
        with pytest.raises(ModelFileError, match="modal data"):
            ModalBody("body", data=missing)
    with pytest.raises(ModelFileError, match="must name a file"):
        ModalBody("body", data=3)  # type: ignore[arg-type]
    with pytest.raises(NameInUseError, match="'eta' of a variable"):
        replace(beam_data(2, 0), frames=("eta",))

"""Flexible bodies: frequencies in closed form, stiffening, conservation, and the points of the axis by themselves."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from conftest import REFERENCES
from scipy.linalg import eigh

import mbfmu
from mbfmu.dae import Dae, derive
from mbfmu.dae.absolute import _coordinates
from mbfmu.dae.bodies import Bodies
from mbfmu.dae.vibration import vibrations
from mbfmu.errors import MassError, ValueRangeError
from mbfmu.model import Beam, BodyShape, Component, Fixed, FreeMotion, Revolute, System, World, connect, flatten
from mbfmu.show.listing import description

Array = npt.NDArray[np.float64]

CANTILEVER = (1.8751040687119611, 4.694091132974175)
"""beta L of the first modes, cos(beta L) cosh(beta L) = -1."""
FREE = (4.730040744862704, 7.853204624095838)
"""beta L of the first modes, cos(beta L) cosh(beta L) = 1."""
SPUN = {"L": 8.0, "rho": 2766.67, "A": 7.299e-5, "E": 6.895e10, "I_z": 8.218e-9}
BEAM = {"L": 1.0, "rho": 1000.0, "A": 1e-3, "E": 1e7, "I_z": 1e-7, "I_y": 2e-7, "I_t": 1e-7, "G": 4e6}


def placed(dae: Dae) -> Array:
    """Return the first guess of the coordinates, which is the start where nothing is closed."""
    s = dae.s_default()[: len(dae.start.starts)]
    return np.array(dae.start.guess(s, dae.p_default(), 0.0)).ravel()


def frequencies(dae: Dae, q: Array, v: Array, clamped: bool) -> Array:
    """Return the natural frequencies for small motions about a state, rad/s, with frame_a clamped or free."""
    symbols = dae.symbols()
    stiffness = ca.Function("stiffness", [*symbols], [ca.jacobian(dae.equations.force(*symbols), symbols[0])])
    p, none = dae.p_default(), np.zeros(0)
    M, K = np.array(dae.equations.M(q, p)), -np.array(stiffness(q, v, none, none, p, 0.0))
    first = (3 if "beam.phi" in dae.coordinates else 7) if clamped else 0
    return np.sqrt(np.maximum(eigh(K[first:, first:], M[first:, first:], eigvals_only=True), 0.0))


def unit(beam: dict[str, float], inertia: str = "I_z") -> float:
    """Return sqrt(EI / (rho A L^4)), rad/s."""
    return math.sqrt(beam["E"] * beam[inertia] / (beam["rho"] * beam["A"])) / beam["L"] ** 2


def alone(planar: bool, *more: Component, **fields: Any) -> System:
    """Return a free beam, with further components on it."""
    ends = [connect("beam.frame_b", f"{item.name}.frame_a") for item in more]
    return System(
        "free_beam", planar=planar, components=(World(g=0.0), FreeMotion("free"), Beam("beam", **BEAM | fields), *more),
        connections=(connect("world.frame_b", "free.frame_a"), connect("free.frame_b", "beam.frame_a"), *ends),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("planar", "numbers", "bound"),
    [(True, (4, 7, 10), 1e-8), pytest.param(False, (3, 5, 7), 1e-5, marks=pytest.mark.further)],
)
def test_frequencies_of_a_cantilever_converge_to_the_closed_form(
    planar: bool, numbers: tuple[int, ...], bound: float
) -> None:
    beam = {"L": 1.0, "rho": 7850.0, "A": 1e-4, "E": 2.1e11, "I_z": 1e-8 / 12}
    wanted = np.array(CANTILEVER) ** 2 * unit(beam)
    errors = []
    for modes in numbers:
        dae = derive(mbfmu.load("cantilever", {"modes": modes, "planar": int(planar)}), "absolute")
        found = frequencies(dae, placed(dae), np.zeros(dae.n), clamped=True)[:: 1 if planar else 2]
        errors.append(np.abs(found[:2] / wanted - 1).max())
    assert errors[2] < bound
    assert errors[2] < errors[1] / 10 < errors[0] / 100


@pytest.mark.parametrize("planar", [True, False])
def test_a_rod_without_bending_modes_stretches_as_in_closed_form(planar: bool) -> None:
    rod = System(
        "rod", planar=planar, components=(World(g=0.0), Beam("rod", **BEAM, modes=0, axial=8)),
        connections=(connect("world.frame_b", "rod.frame_a"),),
    )  # fmt: skip
    dae = derive(rod)
    found = frequencies(dae, placed(dae), np.zeros(dae.n), clamped=False)
    wanted = np.array([1, 3]) * math.pi / 2 * math.sqrt(BEAM["E"] / BEAM["rho"]) / BEAM["L"]
    assert found[:2] == pytest.approx(wanted, rel=1e-6)


def test_a_cantilever_sags_under_its_weight_as_in_closed_form() -> None:
    beam = BEAM | {"E": 1e12}
    root = connect("world.frame_b", "root.frame_a"), connect("root.frame_b", "beam.frame_a")
    model = System(
        "sagging", planar=True, components=(World(), Fixed("root"), Beam("beam", **beam, modes=4)), connections=root
    )
    found = {item.name: item.value for item in mbfmu.equilibrium(model).items}
    tip = sum(found[f"beam.eta[{mode}]"] for mode in range(1, 5))
    sag = beam["rho"] * beam["A"] * 9.81 * beam["L"] ** 4 / (8 * beam["E"] * beam["I_z"])
    assert tip == pytest.approx(-sag, rel=1e-6)


@pytest.mark.further
@pytest.mark.parametrize(("planar", "numbers", "bound"), [(True, (6, 9, 12), 1e-8), (False, (4, 6, 8), 1e-4)])
def test_frequencies_of_a_free_beam_converge_to_the_closed_form(
    planar: bool, numbers: tuple[int, ...], bound: float
) -> None:
    errors = []
    for modes in numbers:
        dae = derive(alone(planar, modes=modes))
        found = frequencies(dae, placed(dae), np.zeros(dae.n), clamped=False)
        bends = found[found > 1e-3 * unit(BEAM)]
        wanted = [np.array(FREE) ** 2 * unit(BEAM, axis) for axis in (("I_z",) if planar else ("I_z", "I_y"))]
        errors.append(max(np.abs(bends / item - 1).min() for items in wanted for item in items))
    assert errors[2] < bound
    assert errors[2] < errors[1] / 10 < errors[0] / 100


@pytest.mark.parametrize("gamma", [pytest.param("2", marks=pytest.mark.further), "6"])
def test_a_beam_that_rotates_stiffens_in_and_out_of_the_plane_as_published(gamma: str) -> None:
    reference = json.loads((REFERENCES / "flexible.json").read_text())["rotating"][gamma]
    wanted = {"lead_lag": reference["lead_lag"][:2], "flap": reference["flap"][:2]}
    beam = BEAM | {"I_y": BEAM["I_z"]}
    for planar in (True, False):
        dae = derive(alone(planar, **beam, modes=6))
        v = np.zeros(dae.n)
        v[2 if planar else 6] = float(gamma) * unit(beam) * (1 if planar else 0.5)
        found = frequencies(dae, placed(dae), v, clamped=True) / unit(beam)
        if planar:
            assert found[:2] == pytest.approx(wanted["lead_lag"], rel=1e-4)  # 1.2e-5 measured
        else:
            assert found[:4] == pytest.approx(sorted((*wanted["lead_lag"], *wanted["flap"])), rel=1e-4)


@pytest.mark.slow
def test_a_beam_that_is_spun_up_lags_behind_as_the_reference_does() -> None:
    reference = json.loads((REFERENCES / "flexible.json").read_text())["spin_up"]
    run = mbfmu.simulate(
        mbfmu.load("spin_up_beam"), stop=20.0, step=5e-3, stepper="generalized_alpha", output_interval=1.0
    )
    tip = np.sum([run[f"beam.eta[{mode}]"] for mode in range(1, 5)], axis=0)
    largest = max(abs(item["v_transverse"]) for item in reference)
    for item in reference:
        assert tip[int(item["t"])] == pytest.approx(item["v_transverse"], abs=0.01 * largest)  # 0.0016 measured


@pytest.mark.parametrize("planar", [True, pytest.param(False, marks=pytest.mark.further)])
def test_a_free_beam_with_a_body_at_its_tip_keeps_momentum_and_energy(planar: bool) -> None:
    load = BodyShape("load", m=0.3, r=(0.2, 0, 0), r_CM=(0.1, 0.02, 0), I_11=1e-3, I_22=2e-3, I_33=2e-3)
    if planar:
        fields: dict[str, Any] = {"modes": 2, "axial": 1, "eta": (0.03, -0.002, 1e-4), "phi": 0.3, "w": 2.0}
    else:
        fields = {"modes": 2, "torsion": 1, "eta": (0.03, -0.002, 0.02, 1e-3, 0.01), "w_a": (0.5, -1.0, 2.0)}
        fields["Q"] = (1.0, 0.0, 0.0, 0.0)
    size = 2 if planar else 3
    model = alone(planar, load, **fields, r_0=(0.1, 0.2, 0.0)[:size], v_0=(0.3, -0.1, 0.2)[:size])
    drifts = []
    for step in (1e-3, 5e-4):
        run = mbfmu.simulate(model, stop=0.2, step=step, stepper="nodal_impulse", output_interval=0.05, error_samples=0)
        names = [name for name in run.names if name.startswith("momentum.")]
        assert len(names) == (3 if planar else 6)
        for name in names:
            assert np.ptp(run[name]) < 1e-12 * (1 + np.abs(run[name]).max())  # 5e-14 measured
        drifts.append(np.ptp(run["energy.total"]))
    assert np.ptp(run["beam.eta[1]"]) > 0.01
    assert drifts[1] < drifts[0] / 3  # the stepper is of order 2


@pytest.mark.parametrize("planar", [True, False])
def test_kinetic_energy_is_that_of_the_points_of_the_axis(planar: bool) -> None:
    xi, weights = np.polynomial.legendre.leggauss(12)
    kinds: dict[str, Any] = {"modes": 2, "axial": 1} | ({} if planar else {"I_y": 1e-30, "I_z": 1e-30})
    system = alone(planar, **kinds, at=tuple((xi + 1) / 2))
    bodies = Bodies(flatten(system), central=True, coordinates=_coordinates)
    q, v, p = bodies.q, bodies.v, bodies.p
    points = (bodies.frame(1, bodies.groups[1].poses[f"beam.frame_{number}"]) for number in range(1, 13))
    m = BEAM["rho"] * BEAM["A"] * BEAM["L"]
    T = sum(m * weight / 2 * ca.sumsqr(point.v_0) / 2 for weight, point in zip(weights, points, strict=True))
    dae = derive(system)
    both = ca.Function("both", [q, v, p], [T, dae.energies.kinetic(q, v, p)])
    rng = np.random.default_rng(1)
    for size in (1.0, 0.01):
        places, rates = size * rng.normal(size=dae.n), rng.normal(size=dae.n)
        if not planar:
            places[3:7] /= np.linalg.norm(places[3:7])
            rates[3:7] -= places[3:7] * (places[3:7] @ rates[3:7])
        found, wanted = (float(item) for item in both(places, rates, dae.p_default()))
        assert found == pytest.approx(wanted, rel=1e-12)  # 4e-15 measured


def test_a_stiff_beam_moves_as_a_rigid_one() -> None:
    def swinging(part: Component) -> System:
        return System(
            "swinging", planar=True, components=(World(), Revolute("hinge", phi=0.3, w=0.0), part),
            connections=(connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", f"{part.name}.frame_a")),
        )  # fmt: skip

    m = BEAM["rho"] * BEAM["A"] * BEAM["L"]
    ways: dict[str, Any] = {
        "stepper": "radau", "step": 1e-3, "stop": 1.0, "output_interval": 0.1, "error_samples": 0,
    }  # fmt: skip
    rigid = mbfmu.simulate(swinging(BodyShape("rod", m=m, r=(1.0, 0), r_CM=(0.5, 0), I_33=m / 12)), **ways)
    errors = []
    for E in (1e10, 1e12):
        run = mbfmu.simulate(swinging(Beam("rod", **BEAM | {"E": E}, modes=2)), **ways)
        errors.append(np.abs(run["hinge.phi"] - rigid["hinge.phi"]).max())
    assert errors[1] < errors[0] / 50
    assert errors[1] < 1e-5


@pytest.mark.parametrize(("fields", "word"), [
    ({"modes": 0}, "rigid"), ({"modes": 2.0}, "whole number"), ({"modes": True}, "whole number"),
    ({"modes": 21}, "from 0 to 20"), ({"at": (1.5,)}, "between 0 and 1"), ({"rho": -1.0}, "outside its bounds"),
    ({"eta": (0.1, 0.2, 0.3)}, "vector of 2 or 4"), ({"at": 0.5}, "such as"), ({"at": (1,)}, "between 0 and 1"),
])  # fmt: skip
def test_a_beam_that_cannot_be_is_refused_by_name(fields: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueRangeError, match=word):
        Beam("beam", **fields)


@pytest.mark.further
def test_beams_in_a_row_bend_far_with_an_error_that_falls_with_the_square_of_their_number() -> None:
    reference = json.loads((REFERENCES / "flexible.json").read_text())["spin_up"]
    whole = mbfmu.load("spin_up_beam")
    assert isinstance(whole, System)
    errors = []
    for number in (1, 3):
        beams = [
            Beam(f"beam{k}", **SPUN | {"L": SPUN["L"] / number}, modes=2 if number > 1 else 3) for k in range(number)
        ]
        places = ["hub.frame_b", *(f"{beam.name}.frame_b" for beam in beams)]
        model = replace(
            whole,
            components=(*(item for item in whole.components if not isinstance(item, Beam)), *beams),
            connections=(
                connect("world.frame_b", "hub.frame_a"),
                *(connect(place, f"{beam.name}.frame_a") for place, beam in zip(places, beams, strict=False)),
            ),
        )
        run = mbfmu.simulate(model, stop=10.0, step=1e-2, stepper="generalized_alpha", output_interval=1.0)
        x, y = (run[f"{places[-1]}.r_0[{k}]"] for k in (1, 2))
        tip = np.cos(run["hub.phi"]) * y - np.sin(run["hub.phi"]) * x
        errors.append(max(abs(tip[int(item["t"])] - item["v_transverse"]) for item in reference[:11]))
    assert errors[1] < errors[0] / 6
    assert errors[1] < 0.001 * 0.534  # 4.5e-4 of it measured


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_a_beam_on_the_world_itself_moves_as_on_a_fixed_joint(coordinates: str) -> None:
    whole = mbfmu.load("cantilever")
    assert isinstance(whole, System)
    model = replace(
        whole,
        components=tuple(item for item in whole.components if item.name != "root"),
        connections=(connect("world.frame_b", "beam.frame_a"),),
    )
    bare, held = derive(model, coordinates), derive(whole, "absolute")
    assert bare.coordinates == tuple(f"beam.eta[{mode}]" for mode in range(1, 5))
    assert not bare.m
    found, wanted = (frequencies(dae, placed(dae), np.zeros(dae.n), clamped=dae is held) for dae in (bare, held))
    assert found == pytest.approx(wanted, rel=1e-9)


def test_a_beam_without_mass_is_refused_by_name() -> None:
    with pytest.raises(MassError, match="'beam' bends but its mass is 0 kg"):
        derive(alone(True, rho=0.0))


@pytest.mark.parametrize("coordinates", ["joint", pytest.param("absolute", marks=pytest.mark.further)])
def test_a_flexible_coupler_closes_its_loop_undeformed_and_moves_as_an_fmu_does(
    coordinates: str, tmp_path: Path
) -> None:
    model = mbfmu.load("flexible_four_bar")
    ways: dict[str, Any] = {"stepper": "rattle", "step": 1e-3, "coordinates": coordinates}
    run = mbfmu.simulate(model, stop=0.2, output_interval=0.01, **ways)
    assert run["rod.eta[1]"][0] == pytest.approx(0.0, abs=1e-15)
    assert np.abs(run["constraint.position"]).max() < 1e-13  # 9e-16 measured
    assert np.ptp(run["rod.eta[1]"]) > 1e-3
    fmu = mbfmu.export(model, tmp_path / "bar.fmu", backend="native", **ways)
    again = mbfmu.simulate(fmu, stop=0.2, output_interval=0.01, show=["crank.phi", "rod.eta[1]"])
    assert list(again["rod.eta[1]"]) == list(run["rod.eta[1]"])


def test_the_frequencies_reported_of_a_beam_are_those_of_its_modes() -> None:
    """Held at its root they are those of the cantilever; nothing that holds it makes the highest one higher."""
    whole = mbfmu.load("cantilever")
    (found,) = vibrations(derive(whole, "absolute"))
    (held,) = vibrations(derive(whole, "joint"))
    modes = frequencies(derive(whole, "joint"), np.zeros(4), np.zeros(4), clamped=False) / (2 * math.pi)
    assert held.lowest == pytest.approx(modes[0], rel=1e-9)
    assert found.lowest == pytest.approx(modes[0], rel=1e-9)
    assert held.highest == pytest.approx(modes[-1], rel=1e-9)
    free = frequencies(derive(whole, "absolute"), placed(derive(whole, "absolute")), np.zeros(7), clamped=False)
    assert found.highest == pytest.approx(free[-1] / (2 * math.pi), rel=1e-9)
    assert found.highest > held.highest
    (row,) = description(whole)["flexible_bodies"]
    assert (row["name"], row["highest_Hz"], row["longest_explicit_step_s"]) == ("beam", held.highest, held.step)


def test_an_explicit_stepper_is_told_the_step_that_the_quickest_mode_asks_for() -> None:
    model, ways = mbfmu.load("cantilever"), {"stop": 0.01, "stepper": "projected", "values": {"beam.zeta": 0.01}}
    with pytest.warns(UserWarning, match=r"'beam' has modes of up to 669.2 Hz.* needs steps below about 0.0005 s"):
        mbfmu.simulate(model, step=1e-3, **ways)
    run = mbfmu.simulate(model, step=4.9e-4, **ways)
    assert np.abs(run["beam.eta[4]"]).max() < 1.0
    mbfmu.linearize(model)  # takes no steps, so that nothing is told: warnings are errors here

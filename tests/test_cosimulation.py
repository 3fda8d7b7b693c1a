"""Coupled runs: the coupling error shrinks with the order of the extrapolation, rollback meets a tolerance."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_ssp import altered

import mbfmu
from mbfmu.errors import FmuError, ResultWarning, StepError, UnknownNameError, UsageError
from mbfmu.fmu.ssp import Wire
from mbfmu.model import Block, Body, Defined, Parameter, Port, Prismatic, State, System, World, connect
from mbfmu.run.bonds import bonds_of
from mbfmu.run.couple import CoupledResult, couple

STIFFNESS = 4.0
CROSSED = (Wire("a.rail.s", "b.rail.f", -STIFFNESS), Wire("b.rail.s", "a.rail.f", -STIFFNESS))
"""Each mass is drawn back by where the other one is: moving alike, both swing as cos(2 t)."""


def mass() -> System:
    """A mass of 1 kg on a rail, 1 m from where no force draws it."""
    return System(
        name="mass",
        planar=True,
        components=(World(g=0.0), Prismatic("rail", s=1.0, v=0.0, actuated=True), Body("body", m=1.0, I_33=1.0)),
        connections=(connect("world.frame_b", "rail.frame_a"), connect("rail.frame_b", "body.frame_a")),
    )


@pytest.fixture(scope="module", params=["python", "native"])
def masses(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    path = tmp_path_factory.mktemp("masses") / "mass.fmu"
    mbfmu.export(mass(), path, stepper="rattle", step=1e-3, backend=request.param)
    mbfmu.export(spring(), path.with_name("spring.fmu"), stepper="projected", step=1e-3, backend=request.param)
    return {"a": path, "b": path}


def error(masses: dict[str, Path], step: float, **how: Any) -> float:
    """The largest error of the positions over 2 s; both at once and with held inputs unless asked otherwise."""
    how = {"order": "jacobi", "extrapolation": 0, "error": False, **how}
    found = couple(masses, CROSSED, 2.0, step, outputs=("a.rail.s", "b.rail.s"), **how)
    exact = np.cos(math.sqrt(STIFFNESS) * found.time)
    return max(float(np.abs(found[name] - exact).max()) for name in ("a.rail.s", "b.rail.s"))


@pytest.mark.parametrize("order", ["jacobi", "gauss_seidel"])
@pytest.mark.parametrize("extrapolation", [0, 1])
def test_the_coupling_error_has_the_order_of_the_extrapolation_and_one_more(
    masses: dict[str, Path], order: Any, extrapolation: int
) -> None:
    coarse, fine = (error(masses, step, order=order, extrapolation=extrapolation) for step in (0.02, 0.01))
    measured = math.log2(coarse / fine)
    assert measured > extrapolation + 0.8
    assert fine < (0.2 if extrapolation == 0 else 2e-3)  # one after the other they part, and that grows as exp(2 t)


def test_a_tolerance_is_met_with_steps_that_rollback_chooses(masses: dict[str, Path]) -> None:
    loose, tight = (error(masses, 0.1, extrapolation=1, tolerance=tolerance) for tolerance in (1e-4, 1e-6))
    assert tight < 0.2 * loose
    assert tight < 1e-3
    found = couple(masses, CROSSED, 2.0, 0.1, order="jacobi", tolerance=1e-5)
    steps = np.diff(found.time)
    assert found.time[-1] == 2.0
    assert steps.min() < 0.9 * steps.max() <= 0.1


def test_steps_done_again_meet_what_both_sides_do_over_the_whole_step(masses: dict[str, Path]) -> None:
    once, twice, often = (error(masses, 0.02, passes=passes) for passes in (1, 2, 6))
    assert twice < 0.2 * once
    assert often < 0.02 * once
    one_after_the_other = error(masses, 0.02, order="gauss_seidel", passes=6)
    assert one_after_the_other == pytest.approx(often, rel=1e-3)  # where they agree, the way there is forgotten
    assert math.log2(often / error(masses, 0.01, passes=6)) == pytest.approx(2.0, abs=0.3)


def test_outputs_are_those_asked_for_in_any_order_and_as_often(masses: dict[str, Path]) -> None:
    every = couple(masses, CROSSED, 0.1, 0.02)
    asked = ("b.rail.v", "a.rail.s", "b.rail.s", "a.rail.s")
    found = couple(masses, CROSSED, 0.1, 0.02, outputs=asked)
    assert found.names == asked
    for column, name in enumerate(asked):
        assert np.array_equal(found.values[:, column], every[name])


def test_inputs_may_follow_the_time(masses: dict[str, Path]) -> None:
    """x'' = sin t from rest."""
    found = couple({"a": masses["a"]}, (), 1.0, 1e-3, inputs={"a.rail.f": math.sin}, values={"a.rail.s": 0.0})
    np.testing.assert_allclose(found["a.rail.s"], found.time - np.sin(found.time), atol=1e-6)
    assert found.units["a.rail.s"] == "m"


@pytest.mark.parametrize("passes", [1, 2])
def test_an_input_that_jumps_at_a_communication_point_jumps_there(
    masses: dict[str, Path], tmp_path: Path, passes: int
) -> None:
    """x'' = 1 from t = 0.5 s on."""
    path = tmp_path / "jump.csv"
    path.write_text("time,a.rail.f\n0,0\n0.5,0\n0.5,1\n1,1\n", encoding="utf-8")
    found = couple(
        {"a": masses["a"]}, (), 1.0, 0.25, passes=passes, inputs={"a.rail.f": str(path)}, values={"a.rail.s": 0.0}
    )
    np.testing.assert_allclose(found["a.rail.s"], np.maximum(found.time - 0.5, 0.0) ** 2 / 2, atol=1e-9)


def test_a_number_is_an_input_that_stays(masses: dict[str, Path]) -> None:
    """x'' = 2 from rest."""
    found = couple({"a": masses["a"]}, (), 1.0, 0.1, inputs={"a.rail.f": 2}, values={"a.rail.s": 0.0})
    np.testing.assert_allclose(found["a.rail.s"], found.time**2, atol=1e-9)


@pytest.mark.parametrize(
    ("change", "kind", "text"),
    [
        ({"stop": -1.0}, UsageError, "stop time"),
        ({"step": math.nan}, UsageError, "communication step"),
        ({"order": "gauss"}, UsageError, "no order 'gauss'"),
        ({"extrapolation": 2}, UsageError, "extrapolation = 2"),
        ({"passes": 0}, UsageError, "passes = 0"),
        ({"tolerance": -1e-3}, UsageError, "tolerance"),
        ({"values": {"c.rail.s": 1.0}}, UnknownNameError, "no component 'c'"),
        ({"values": {"a.rail.x": 1.0}}, UnknownNameError, "'a' has no variable 'rail.x' whose value is a number"),
        ({"inputs": {"a.rail.s": math.sin}}, UsageError, "is not an input but output"),
        ({"inputs": {"a.rail.f": math.sin}}, UsageError, "connected twice"),
        (
            {"connections": (("a.rail.f", "b.rail.f"),)},
            UsageError,
            "'a.rail.f' is of causality input; only outputs give",
        ),
        ({"connections": (("a.body.m", "b.rail.f"),)}, UsageError, "of causality parameter; only outputs give values"),
        (
            {"connections": (("a.rail.s", "b.rail.f"),)},
            UsageError,
            r"'m' \(m\) cannot go to 'N' \(kg\.m\.s-2\); a factor may carry the units",
        ),
        (
            {"connections": (Wire("a.rail.s", "b.rail.f", math.nan),)},
            UsageError,
            "the factor is nan; it must",
        ),
        ({"fmus": {}, "connections": ()}, UsageError, "a coupling needs at least one FMU"),
        ({"fmus": {"a.b": "mass.fmu"}}, UsageError, "the component 'a.b' has a dot in its name"),
        ({"fmus": {"a": "nothing.fmu", "b": "nothing.fmu"}}, FmuError, "there is no FMU"),
        (
            {"inputs": {"a.rail.f": lambda _: 1e90}, "connections": ()},
            StepError,
            "by 0.01 s: mass: no step from t = 0 s",
        ),
    ],
)
def test_mistakes_are_named(masses: dict[str, Path], change: dict[str, Any], kind: type[Exception], text: str) -> None:
    given: dict[str, Any] = {"fmus": masses, "connections": CROSSED, "stop": 0.1, "step": 0.01, **change}
    run: Callable[..., Any] = couple
    with pytest.raises(kind, match=text):
        run(given.pop("fmus"), given.pop("connections"), given.pop("stop"), given.pop("step"), **given)


def test_the_name_of_a_component_may_be_any_but_names_no_folder(masses: dict[str, Path], tmp_path: Path) -> None:
    """FMUs are unpacked aside, whatever their components are called: some libraries crash in folders such as these."""
    kept = tmp_path / "modelDescription.xml"
    kept.write_text("mine")
    names = ("pump(1)", "ä", "a+b", "a#b", "a%20b", str(tmp_path))
    found = couple(dict.fromkeys(names, masses["a"]), (), 0.02, 0.01)
    assert found.names[0].startswith("pump(1).")
    assert kept.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [kept]


# -- energy that a coupling makes -----------------------------------------------------------------------------------

SPRUNG = (Wire("spring.f", "mass.rail.f"), Wire("mass.rail.v", "spring.v"))
"""A spring pulls the mass: 10 rad/s."""


def spring() -> Block:
    """A spring of 100 N/m that takes the velocity of its end and gives its force."""
    return Block(
        "spring",
        inputs=(Port("v", "m/s"),),
        states=(State("x", "v", "m", 1.0),),
        parameters=(Parameter("c", 100.0, "N/m"),),
        defined=(Defined("f", "-c*x", "N", output=True), Defined("energy", "c*x**2/2", "J", output=True)),
    )


@pytest.fixture(scope="module")
def sprung(masses: dict[str, Path]) -> dict[str, Path]:
    """The mass and the spring."""
    return {"mass": masses["a"], "spring": masses["a"].with_name("spring.fmu")}


def test_a_pair_of_names_is_a_connection(sprung: dict[str, Path]) -> None:
    pairs = [(wire.start, wire.end) for wire in SPRUNG]
    runs = [couple(sprung, ends, 0.1, 0.01) for ends in (pairs, SPRUNG)]
    assert np.array_equal(runs[0].values, runs[1].values)


def test_a_value_changes_to_the_unit_of_the_input_it_goes_to(sprung: dict[str, Path], tmp_path: Path) -> None:
    """A spring that takes its velocity in mm/s gets that number; the energy of the bond is that of the plain number."""
    old = '<BaseUnit m="1" s="-1" />'
    fine = altered(sprung["spring"], tmp_path / "fine.fmu", [(old, '<BaseUnit m="1" s="-1" factor="0.001" />')])
    force, speed = SPRUNG
    how: dict[str, Any] = {"stop": 0.5, "step": 0.01, "values": {"spring.c": 0.1}}
    scaled = couple({**sprung, "spring": fine}, SPRUNG, **how)
    given = couple(sprung, (force, replace(speed, factor=1 / 0.001)), **how)
    assert np.ptp(given["mass.rail.s"]) > 1e-3
    np.testing.assert_array_equal(scaled.values, given.values)
    np.testing.assert_array_equal(scaled.bonds[0].made, given.bonds[0].made)


def test_numbers_of_the_unit_1_fit_any(sprung: dict[str, Path], tmp_path: Path) -> None:
    other = altered(
        sprung["spring"], tmp_path / "plain.fmu", [('<BaseUnit m="1" s="-1" />', "<BaseUnit />"), ('"m/s"', '"one"')]
    )
    found, given = (couple({**sprung, "spring": fmu}, SPRUNG, 0.1, 0.01) for fmu in (other, sprung["spring"]))
    np.testing.assert_array_equal(found.values, given.values)


def test_a_unit_may_have_an_offset(sprung: dict[str, Path], tmp_path: Path) -> None:
    """Base value = 2 value + 6: a mass at rest is seen at -3 m/s, so the spring's force grows by 300 N a second."""
    old = '<BaseUnit m="1" s="-1" />'
    shifted = altered(
        sprung["spring"], tmp_path / "shifted.fmu", [(old, '<BaseUnit m="1" s="-1" factor="2" offset="6" />')]
    )
    found = couple({**sprung, "spring": shifted}, SPRUNG[1:], 0.1, 0.01)
    np.testing.assert_allclose(found["spring.f"], 100 * (3 * found.time - 1), atol=1e-10)


def energy_of(found: CoupledResult) -> Any:
    """The energy of mass and spring at all times, J."""
    return found["mass.energy.total"] + found["spring.energy"]


@pytest.mark.filterwarnings("ignore::mbfmu.errors.ResultWarning")
@pytest.mark.parametrize("order", ["jacobi", "gauss_seidel"])
def test_what_a_bond_makes_is_what_the_parts_gain(sprung: dict[str, Path], order: Any) -> None:
    """Energies inside the FMUs, against powers at their ports, which are linear in time where inputs are held."""
    found = couple(sprung, SPRUNG, 2.0, 0.01, order=order, extrapolation=0)
    (bond,) = found.bonds
    gained = energy_of(found) - energy_of(found)[0]
    assert abs(gained[-1]) > 1.0
    np.testing.assert_allclose(bond.made, gained, atol=1e-9)  # measured: 2e-11 J
    assert np.all(np.diff(bond.exchanged) >= 0)


def test_what_a_bond_makes_is_near_what_the_parts_gain_along_lines(sprung: dict[str, Path]) -> None:
    for passes in (1, 2):
        found = couple(sprung, SPRUNG, 2.0, 0.01, order="jacobi", passes=passes, error=False)
        gained = energy_of(found)[-1] - energy_of(found)[0]
        assert abs(gained) > 0.1
        assert found.bonds[0].made[-1] == pytest.approx(gained, rel=0.5)


@pytest.mark.filterwarnings("ignore::mbfmu.errors.ResultWarning")
def test_steps_that_are_taken_back_make_nothing(sprung: dict[str, Path]) -> None:
    found = couple(sprung, SPRUNG, 1.0, 0.05, order="jacobi", extrapolation=0, tolerance=1e-3)
    gained = energy_of(found) - energy_of(found)[0]
    np.testing.assert_allclose(found.bonds[0].made, gained, atol=1e-9)


def test_a_coupling_that_makes_energy_is_told_with_what_is_left_to_do(sprung: dict[str, Path]) -> None:
    """Both at once and held, the energy of 50 J grows by a factor of 50 in 4 s; with the defaults it stays."""
    with pytest.warns(
        ResultWarning,
        match=r"the coupling spring.f -> mass.rail.f makes .* J out of nothing, .* % of .*; take extrapolation=1, "
        r"order='gauss_seidel', passes=2, a tolerance such as 1e-5, or a step shorter than 0.01 s",
    ) as caught:
        found = couple(sprung, SPRUNG, 4.0, 0.01, order="jacobi", extrapolation=0, error=False)
    assert energy_of(found)[-1] > 40 * energy_of(found)[0]
    assert found.notices == tuple(str(item.message) for item in caught)
    usual = couple(sprung, SPRUNG, 4.0, 0.01, error=False)
    assert usual.notices == ()
    assert energy_of(usual)[-1] == pytest.approx(energy_of(usual)[0], rel=0.02)


def test_a_coupling_that_fails_tells_what_it_made_until_then(sprung: dict[str, Path]) -> None:
    with pytest.raises(StepError, match=r"cannot step from .*; the coupling spring.f -> mass.rail.f makes"):
        couple(sprung, SPRUNG, 1e4, 0.5, order="jacobi", extrapolation=0)


UNITS = {"f": "N", "v": "m/s", "tau": "N.m", "w": "rad/s", "s": "m"}


def unit(text: str) -> str:
    """Return the unit that goes with the last part of a name."""
    return UNITS[text.rpartition(".")[2]]


@pytest.mark.parametrize(
    ("wires", "wanted"),
    [
        ("oil.f=arm.rod.f arm.length.v=oil.v", "oil.f:arm.length.v"),
        ("d.one.f=m.a.f d.two.f=m.b.f m.b.v=d.two.v m.a.v=d.one.v", "d.one.f:m.a.v d.two.f:m.b.v"),
        ("d.one.f=m.x.f d.two.f=m.y.f m.b.v=d.two.v m.a.v=d.one.v", "d.one.f:m.a.v d.two.f:m.b.v"),
        ("d.one.f=m.a.f d.y.f=m.z.f m.a.v=d.x.v m.b.v=d.w.v", "d.one.f:m.a.v d.y.f:m.b.v"),
        ("d.tau=m.a.tau d.f=m.b.f m.a.w=d.w m.b.v=d.v", "d.tau:m.a.w d.f:m.b.v"),
        ("wagon.tow.f=cart.rail.f cart.rail.s=wagon.tow.s cart.rail.v=wagon.tow.v", "wagon.tow.f:cart.rail.v"),
        ("d.x.f=m.a.f d.y.f=m.b.f m.c.v=d.z.v", ""),
        ("d.f=m.a.f m.a.s=d.s", ""),
        ("d.f=m.a.f m.a.w=d.w", ""),
        ("d.f=m.a.f m.a.v=other.v", ""),
        ("m.a.f=m.b.f m.b.v=m.a.v", ""),
    ],
)
def test_a_bond_is_an_effort_and_the_rate_of_its_axis(wires: str, wanted: str) -> None:
    found = bonds_of([Wire(*item.split("=")) for item in wires.split()], unit)
    assert " ".join(f"{bond.effort.start}:{bond.rate.start}" for bond in found) == wanted


def test_factors_of_connections_count_in_the_power_of_a_bond(sprung: dict[str, Path]) -> None:
    """A spring that is told the velocity, and gives the force, the other way round."""
    turned = (Wire("spring.f", "mass.rail.f", -1.0), Wire("mass.rail.v", "spring.v", -1.0))
    plain, other = (
        couple(sprung, wires, 0.5, 0.01, values={"spring.x": x}).bonds[0]
        for wires, x in ((SPRUNG, 1.0), (turned, -1.0))
    )
    np.testing.assert_allclose(other.made, plain.made, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(other.exchanged, plain.exchanged, rtol=1e-12)

"""The coupled examples: two FMUs against one system, actuators that hold what they should."""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from unittest import mock

import numpy as np
import pytest
from masters import need

from examples import report
from examples.coupled import accuracy, arm, axes, crane, excavator, manipulator, masters, platform, split

pytestmark = pytest.mark.long
EXAMPLES = (arm, crane, manipulator, masters, platform)
"""Examples that each run of the whole suite has; the others measure the same parts at more length."""
ACCURACY, MACHINES, EXCAVATOR = (pytest.mark.represented(example.__name__) for example in (accuracy, axes, excavator))
STUDIES = ((accuracy, ACCURACY), (axes, MACHINES), (excavator, EXCAVATOR))

SOURCE = Path(__file__).parent / "references" / "hydraulic_manipulator.json"
REFERENCE = json.loads(SOURCE.read_text(encoding="utf-8"))


@pytest.mark.further
def test_the_manipulator_as_one_system_is_the_reference() -> None:
    rows = np.array(REFERENCE["M1"])
    times, found = manipulator.monolithic(manipulator.STEP)
    found = {name: values[::100] for name, values in found.items()}
    np.testing.assert_allclose(times[::100], rows[:, 0], atol=1e-12)
    np.testing.assert_allclose(found["arm.length.distance"], rows[:, 1], atol=1e-9)
    np.testing.assert_allclose(found["arm.length.distance_rate"], rows[:, 2], atol=1e-8)
    for column, name in ((3, "oil.p1"), (4, "oil.p2")):
        np.testing.assert_allclose(found[name], rows[:, column], atol=0.1)


SHORT = {
    "platform": {"stop": 0.6, "steps": (1e-3, 5e-4, 2.5e-4)},
    "arm": {"stop": 0.2, "steps": (2e-4, 1e-4, 5e-5)},
}
"""Studies of the machines on six axes that end soon after their motions begin, at 0.1 s, by a few steps."""
AXES = {
    name: replace(study, **SHORT[name], wholes={"whole, projected": study.wholes["whole, projected"]})
    for name, study in axes.STUDIES.items()
}


@pytest.fixture(scope="module", autouse=True)
def shortened() -> Iterator[None]:
    """Let the examples measure less; their times, of which nothing is claimed, come from single runs."""
    with (
        mock.patch.object(split, "REPEATS", 1),
        mock.patch.object(axes, "STUDIES", AXES),
        mock.patch.object(accuracy, "STEPS", accuracy.STEPS[:-1]),
    ):
        yield


@cache
def found(example: ModuleType) -> report.Found:
    """Run an example once."""
    if example is masters:
        need("libcosim")
    result: report.Found = example.run()
    return result


@pytest.mark.further
@pytest.mark.parametrize(
    "example",
    [*EXAMPLES, *(pytest.param(example, marks=mark) for example, mark in STUDIES)],
    ids=lambda example: example.__name__.rpartition(".")[2],
)
def test_every_example_prints_its_table_and_draws_its_figure(
    example: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = found(example)
    assert all(np.isfinite(value) for value in result.numbers.values())
    path = tmp_path / "figure.png"
    monkeypatch.setattr("sys.argv", ["example", "--plot", str(path)])
    report.present("title", lambda: result, example.rows)
    assert "measured" in capsys.readouterr().out
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.further
def test_mechanics_and_oil_as_two_fmus_keep_the_cylinders_length_within_a_micrometre() -> None:
    numbers = found(manipulator).numbers
    assert numbers["length"] < 1e-6
    assert numbers["length, done once"] < 3e-6
    assert numbers["length, inputs held"] > 1e-5
    assert numbers["lift"] > 0.09
    assert 0.1 < numbers["force, done once, estimated"] / numbers["force, done once"] < 10  # and it gave no notice


@ACCURACY
def test_every_way_of_coupling_has_its_order() -> None:
    numbers = found(accuracy).numbers
    for way, (_, how) in accuracy.WAYS.items():
        coarse, fine = (numbers[f"{way}, {step * 1e3:g} ms"] for step in accuracy.STEPS[-2:])
        assert np.log2(coarse / fine) == pytest.approx(2.0 if how.get("extrapolation") else 1.0, abs=0.2), way
    assert numbers["both at once, lines, 1 ms"] < 0.1 * numbers["both at once, held, 1 ms"]
    assert numbers["done twice, 1 ms"] < 0.5 * numbers["one after the other, lines, 1 ms"]


@ACCURACY
def test_steps_chosen_by_rollback_are_few_where_little_happens_and_short_where_the_valve_moves() -> None:
    numbers = found(accuracy).numbers
    for tolerance in accuracy.TOLERANCES:
        assert numbers[f"tolerance {tolerance:g}, steps"] < 1.1 * accuracy.STOP / accuracy.STEPS[0]
        assert numbers[f"tolerance {tolerance:g}, shortest"] < 0.3 * accuracy.STEPS[0]
    assert numbers["tolerance 1e-05"] < 0.5 * numbers["one after the other, lines, 1 ms"]


@pytest.mark.further
def test_other_masters_give_the_numbers_of_couple() -> None:
    numbers = found(masters).numbers
    for name in masters.MASTERS:
        assert numbers[f"{name}, length against couple"] < 1e-13
        assert numbers[f"{name}, length"] < 2e-5


@pytest.mark.further
def test_the_arm_follows_its_path_within_the_limits_of_its_motors() -> None:
    numbers = found(arm).numbers
    assert numbers["tracking"] < 1.5
    assert numbers["end"] < 0.2
    assert numbers["current"] < 20.0
    assert numbers["voltage"] <= 24.0
    assert numbers["work"] == pytest.approx(numbers["energy"], abs=5e-3)
    assert numbers["electric"] > numbers["work"]
    assert numbers["coupling"] < 5e-5


@pytest.mark.further
@pytest.mark.parametrize("example", [crane, platform], ids=["crane", "platform"])
def test_a_mechanism_on_servo_axes_keeps_its_constraints_and_the_balance_of_energy(example: ModuleType) -> None:
    numbers = found(example).numbers
    assert numbers["residual"] < 1e-13
    assert numbers["work"] == pytest.approx(numbers["energy"], rel=1e-4)
    assert 0.0 < numbers["least pressure"] < numbers["greatest pressure"] < 21.0


@pytest.mark.further
def test_the_tip_of_the_crane_and_the_platform_go_where_they_should() -> None:
    assert found(crane).numbers["tip"] < 0.01
    assert found(crane).numbers["end"] < 0.002
    assert found(platform).numbers["place"] < 0.005
    assert found(platform).numbers["attitude"] < 0.2
    assert found(platform).numbers["hold"] < 1e-6  # all legs alike at home


@EXCAVATOR
def test_the_excavator_in_parts_comes_to_the_whole_in_the_order_of_what_crosses_the_splits() -> None:
    numbers = found(excavator).numbers
    for way, order in excavator.STUDY.ways.items():
        assert numbers[f"{way}, order"] == pytest.approx(order, abs=0.1), way
    assert numbers["whole, projected, 1 ms"] < 0.2 * numbers["two FMUs, 0.25 ms"]  # measured 5e-10, 1.2e-8
    assert numbers["whole, generalized_alpha, 1 ms"] < 3e-7  # measured 1.7e-7
    assert numbers["whole, radau of order 5, 5 ms"] < 2e-8  # measured 8.1e-9
    assert numbers["whole, projected, 5 ms"] < 1e-6  # measured 2.5e-7
    # where the whole is accurate, couplings swing:
    assert all(numbers[f"{way}, 2 ms"] > 1e-4 for way in excavator.STUDY.ways)


@MACHINES
@pytest.mark.parametrize("name", axes.STUDIES)
def test_a_machine_on_six_axes_in_parts_comes_to_the_whole_in_the_order_of_what_crosses_the_splits(name: str) -> None:
    numbers, study = found(axes).numbers, axes.STUDIES[name]
    for way, order in study.ways.items():
        assert numbers[f"{name}: {way}, order"] == pytest.approx(order, abs=0.1), way
    finest = {way: numbers[f"{name}: {split.labelled(way, steps[-1])}"] for way, steps in study.runs.items()}
    assert finest["whole, projected"] < 0.1 * min(finest["two FMUs"], finest["eight FMUs"])
    assert finest["whole, projected"] < {"platform": 2e-10, "arm": 5e-12}[name]  # measured 7.5e-11 m, 1.2e-12 rad


@pytest.mark.parametrize("name", axes.STUDIES)
def test_the_pieces_of_a_machine_have_each_of_its_components_and_wires_once(name: str) -> None:
    machine = axes.STUDIES[name].machine
    for parts in axes.cuts(name).values():
        systems, between = split.pieces(machine, "mechanism", parts)
        components = [item.name for system in systems.values() for item in system.components]
        assert sorted(components) == sorted(item.name for item in machine.components)
        assert len(between) + sum(len(system.wires) for system in systems.values()) == len(machine.wires)


def test_the_cost_of_an_error_is_exact_for_powers_of_the_step() -> None:
    errors, costs = zip(*((h**2, 1 / h) for h in (1.0, 0.5, 0.25)), strict=True)
    for h in (0.7, 0.3, 0.01):
        assert split.cost(errors, costs, 2.0, h**2) == pytest.approx(1 / h, rel=1e-12)

"""Optimize: minima with a closed form are found, and gradients of measures are those of differences."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbfmu
from mbfmu import cli
from mbfmu.analysis.equilibria import read_start
from mbfmu.analysis.sensitivity import Knots
from mbfmu.analysis.study.measures import MEASURES, SLOPES
from mbfmu.base.result import read_table
from mbfmu.errors import MbfmuError
from mbfmu.model import Block, Defined, Parameter, Port, State


def line(c: float = 0.5) -> Block:
    """Return x' = c from x = x0: y = x0 + c t."""
    return Block(
        name="line",
        description="",
        inputs=(Port("u", "m/s", ""),),
        states=(State("x", "c + u", "m", 0.0, ""),),
        defined=(Defined("y", "x", "m", "", True),),
        parameters=(Parameter("c", c, "m/s", ""),),
    )


@pytest.mark.parametrize("name", MEASURES)
def test_slopes_of_measures_are_those_of_differences(name: str) -> None:
    numbers = np.random.default_rng(1)
    time, values, h = np.sort(numbers.random(9)), numbers.normal(size=9), 1e-6
    ahead, behind = (np.array([MEASURES[name](time, values + k * h * row) for row in np.eye(9)]) for k in (1, -1))
    assert SLOPES[name](time, values) == pytest.approx((ahead - behind) / (2 * h), abs=1e-8)


def test_a_minimum_with_a_closed_form_is_found() -> None:
    found = mbfmu.optimize(line(), 1.0, "(last(y) - 2)**2 + c**2", ["c"], step=0.05)
    assert found["c"] == pytest.approx(1.0, rel=1e-7)
    assert found.least == pytest.approx(2.0, rel=1e-12)
    assert found.before == pytest.approx(2.5, rel=1e-12)
    assert not found.notices


def test_two_values_and_several_measures_are_minimised_together() -> None:
    goal = "(mean(y) - 1)**2 + (ptp(y) - max(0.5, 0.2))**2 + 0*rms(y)"
    found = mbfmu.optimize(line(), 2.0, goal, ["c", "x"], step=0.05)
    assert found.values == pytest.approx({"c": 0.25, "x": 0.75}, rel=1e-5)


def test_a_machine_is_improved_up_to_its_bounds() -> None:
    found = mbfmu.optimize(
        "two_link", 0.3, "last(shoulder.phi)**2", ["m1", "m2"], bounds={"m1": (0.5, 2.0), "m2": (0.5, 2.0)}, step=5e-3
    )
    ends = {
        (m1, m2): mbfmu.simulate("two_link", 0.3, step=5e-3, values={"m1": m1, "m2": m2})["shoulder.phi"][-1] ** 2
        for m1 in (0.5, 1.0, 2.0)
        for m2 in (0.5, 1.0, 2.0)
    }
    assert found.before == ends[1.0, 1.0]
    assert found.least <= min(ends.values()) * (1 + 1e-12)
    assert all(item.bound for item in found.items)


def test_an_optimum_of_steps_that_are_too_long_says_so() -> None:
    search: dict[str, Any] = {"free": ["m2"], "bounds": {"m2": (0.5, 2.0)}, "stepper": "rattle"}
    coarse = mbfmu.optimize("two_link", 1.0, "last(elbow.phi)**2", step=0.05, **search)
    assert any("an estimated error of" in notice for notice in coarse.notices)
    assert not mbfmu.optimize("two_link", 1.0, "last(elbow.phi)**2", step=0.005, **search).notices


def test_what_is_written_starts_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    given = "optimize two_link --stop 0.1 --step 1e-2 --free m2 --bounds m2=0.5:2 -o best.json --set l1=0.8 --json"
    goal = "rms(shoulder.w) + last(elbow.phi)"
    monkeypatch.setattr(sys, "argv", ["mbfmu", *given.split(), "--minimize", goal])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert not caught.value.code
    document = json.loads(capsys.readouterr().out)
    assert set(document) == {"model", "stop", "minimize", "values", "before", "least", "runs", "wrote"}
    assert document["least"] < document["before"]
    assert read_start(tmp_path / "best.json") == {"l1": 0.8, "m2": document["values"][0]["value"]}


@pytest.mark.parametrize(
    ("goal", "more", "message"),
    [
        ("c", {}, "measures no output"),
        ("y", {}, r"'y' changes over time: say which number of it is meant, one of max\(y\)"),
        ("last(y)", {"step": 0.0}, "the step is 0.0 s"),
        ("last(z)", {}, "'z' is neither an output that is measured"),
        ("last(y) + k", {}, "'k' is neither an output that is measured"),
        ("last(y", {}, "a parenthesis is open"),
        ("last(y + 1)", {}, "neither an output"),
        ("log(last(y) - 9)", {}, "not finite"),
        ("last(y)", {"bounds": {"c": (1.0, 2.0)}}, "not between 1 and 2"),
    ],
)
def test_mistakes_are_told(goal: str, more: dict[str, Any], message: str) -> None:
    with pytest.raises(MbfmuError, match=message):
        mbfmu.optimize(line(), 1.0, goal, ["c"], **{"step": 0.05, **more})


def mass() -> Block:
    """Return a mass of 1 kg that a force drives: x'' = u."""
    return Block(
        name="mass",
        description="",
        inputs=(Port("u", "N", ""),),
        states=(State("x", "v", "m", 0.0, ""), State("v", "u", "m/s", 0.0, "")),
        defined=(Defined("place", "x", "m", "", True), Defined("speed", "v", "m/s", "", True)),
        parameters=(),
    )


TRANSFER: dict[str, Any] = {"subject": ["last(place) = 1", "last(speed) = 0"], "step": 0.01, "output_interval": 0.01}


def test_the_least_effort_of_a_transfer_is_that_of_its_closed_form() -> None:
    found = mbfmu.optimize(mass(), 1.0, "rms(u)**2", knots={"u": 11}, **TRANSFER)
    force = found.trajectories["u"]
    assert force.values == pytest.approx(6 - 12 * force.time, abs=1e-2)
    assert found.least == pytest.approx(12.0, rel=1e-3)
    assert not found.items
    assert not found.notices


def test_held_inputs_of_a_transfer_are_those_of_linear_algebra() -> None:
    n = 10
    found = mbfmu.optimize(mass(), 1.0, "rms(u)**2", knots={"u": n}, knots_hold=True, **TRANSFER)
    middles = (np.arange(n) + 0.5) / n  # least |u| with sum u/n = 0 and sum u (1 - t)/n = 1
    rows = np.array([np.ones(n), 1 - middles]) / n
    assert found.trajectories["u"].values == pytest.approx(np.linalg.pinv(rows) @ [0.0, 1.0], rel=1e-6)


def test_an_arm_swings_from_rest_to_rest_and_simulate_repeats_it(tmp_path: Path) -> None:
    arm: dict[str, Any] = {"values": {"shoulder.phi": -np.pi / 2}, "step": 0.02, "output_interval": 0.1}
    ends = {"shoulder.phi": np.pi / 2, "elbow.phi": 0.0, "shoulder.w": 0.0, "elbow.w": 0.0}
    found = mbfmu.optimize(
        "two_link", 1.0, "rms(shoulder.tau)**2 + rms(elbow.tau)**2", knots={"shoulder.tau": 8, "elbow.tau": 8},
        subject=[f"last({name}) = {value}" for name, value in ends.items()], **arm,
    )  # fmt: skip
    table = str(found.write_inputs(tmp_path / "torques.csv"))
    run = mbfmu.simulate("two_link", 1.0, inputs={"shoulder.tau": table, "elbow.tau": table}, **arm)
    assert [run[name][-1] for name in ends] == pytest.approx(list(ends.values()), abs=1e-7)
    straight = mbfmu.optimize("two_link", 1.0, "rms(shoulder.tau)**2", knots={"shoulder.tau": 2}, **arm)
    assert straight.least == 0.0 < found.least


def test_conditions_on_free_values_alone_hold() -> None:
    found = mbfmu.optimize(
        line(), 1.0, "(last(y) - 3)**2 + (c - x)**2/100", ["c", "x"], subject=["c + x <= 2"], step=0.05
    )
    assert found.values == pytest.approx({"c": 1.0, "x": 1.0}, abs=1e-6)
    assert not found.notices


def test_conditions_that_are_inequalities_bind_or_do_not() -> None:
    most = mbfmu.optimize(line(), 1.0, "(last(y) - 2)**2", ["c"], subject=["max(y) <= 1", "min(y) >= -1"], step=0.05)
    assert most["c"] == pytest.approx(1.0, abs=1e-6)
    loose = mbfmu.optimize(line(), 1.0, "(last(y) - 2)**2", ["c"], subject=["max(y) <= 3"], step=0.05)
    assert loose["c"] == pytest.approx(2.0, abs=1e-6)


@pytest.mark.parametrize("condition", ["-1 <= c <= 1", "1 >= c >= -1", "c*(c <= 9) <= 1"])
def test_a_chain_of_conditions_is_each_of_them(condition: str) -> None:
    for wanted in (-3, 3):
        found = mbfmu.optimize(line(), 1.0, f"(last(y) - {wanted})**2", ["c"], subject=[condition], step=0.05)
        held = wanted > 0 or condition.startswith(("-1", "1"))
        assert found["c"] == pytest.approx(np.sign(wanted) if held else wanted, abs=1e-6)


@pytest.mark.parametrize("condition", [[], ["c <= 3"], ["1e6*c = 2e6"], ["1e-9*c = 2e-9"]])
@pytest.mark.parametrize("bounds", [{}, {"c": (-5.0, 5.0)}])
def test_what_is_found_does_not_depend_on_units(condition: list[str], bounds: dict[str, tuple[float, float]]) -> None:
    for unit in (1e-12, 1.0, 1e9):
        found = mbfmu.optimize(
            line(), 1.0, f"{unit}*(last(y) - 2)**2", ["c"], subject=condition, bounds=bounds, step=0.05
        )
        assert found["c"] == pytest.approx(2.0, abs=1e-6)
        assert not found.notices


def test_the_scale_of_an_effort_that_begins_at_zero_is_that_of_its_first_values() -> None:
    efforts = [mbfmu.optimize(mass(), 1.0, f"{unit}*rms(u)**2", knots={"u": 5}, **TRANSFER) for unit in (1e-9, 1e9)]
    small, large = (found.trajectories["u"].values for found in efforts)
    assert small == pytest.approx(large, rel=1e-5)
    assert not any(found.notices for found in efforts)


def test_a_minimum_ten_orders_below_the_start_is_found() -> None:
    goal = "exp(5*last(y)) + exp(-5*last(y))"
    found = mbfmu.optimize(line(5.0), 1.0, goal, ["c"], bounds={"c": (-6.0, 7.0)}, step=0.05)
    assert found["c"] == pytest.approx(0.0, abs=1e-5)
    assert not found.notices


def test_a_search_from_a_minimum_stays_there() -> None:
    goal, more = "(last(y) - 2)**2 + c**2", {"bounds": {"c": (-5.0, 5.0)}, "step": 0.05}
    found = mbfmu.optimize(line(1.0 + 1e-9), 1.0, goal, ["c"], **more)
    assert found["c"] == pytest.approx(1.0, abs=1e-8)
    assert not found.notices


def test_a_gradient_of_zero_at_the_start_is_told() -> None:
    found = mbfmu.optimize(line(0.0), 1.0, "-last(y)**2", ["c"], step=0.05)
    assert found["c"] == 0.0
    assert found.notices[0].startswith("the search went nowhere: where it begins, the gradient of -last(y)**2 is 0")


@pytest.mark.parametrize("hold", [False, True])
def test_what_knots_give_to_an_input_and_take_from_it_are_transposes(hold: bool) -> None:
    numbers = np.random.default_rng(2)
    knots = Knots("u", "N", np.array([0.1, 0.4, 0.5, 0.9]), np.zeros(4), hold, secants=False)
    times, values, weights = np.array([0.0, 0.1, 0.2, 0.5, 0.7, 0.9, 1.0]), numbers.random(4), numbers.random(7)
    given = knots.at(times, values)
    table = knots.course(values)
    assert given == pytest.approx([table.at(time) for time in times.tolist()])
    assert weights @ given == pytest.approx(knots.gathered(times, weights) @ values)


def test_many_knots_take_no_matrix_of_their_size() -> None:
    knots = Knots("u", "N", np.linspace(0.0, 1.0, 100_000), np.zeros(100_000), hold=False, secants=False)
    assert knots.gathered(np.array([0.3, 1.0]), np.ones(2)).sum() == pytest.approx(2.0)


def test_bounds_of_an_input_hold_at_all_knots() -> None:
    found = mbfmu.optimize(mass(), 1.0, "-last(place)", knots={"u": 5}, bounds={"u": (-2.0, 2.0)}, step=0.01)
    assert found.trajectories["u"].values[:-1] == pytest.approx([2.0] * 4)
    assert found.least == pytest.approx(-1.0, rel=1e-6)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_conditions_that_no_run_meets_are_told(unit: float) -> None:
    subject = [f"{unit}*last(y) = {unit}", f"{unit}*last(y) = {2 * unit}"]
    found = mbfmu.optimize(line(), 1.0, "last(y)**2", ["c"], subject=subject, step=0.05)
    assert any("instead of 0" in notice for notice in found.notices)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({}, "nothing is free"),
        ({"knots": {"w": 3}}, "has no input 'w'"),
        ({"knots": {"u": 1}}, "give at least 2"),
        ({"knots": {"u": 200_000}}, "at most 100000"),
        ({"knots": {"u": 3000}, "subject": ["last(y) = 1"]}, "takes at most 2000"),
        ({"knots": {"u": [0.0, 0.5, 0.5]}}, "times that increase"),
        ({"knots": {"u": 3}, "subject": ["last(y)"]}, "is not a condition"),
        ({"knots": {"u": 3}, "subject": ["0 < last(y) <= 1"]}, "is not a condition"),
        ({"knots": {"u": 3}, "subject": ["(last(y) <= 1)"]}, "is not a condition"),
        ({"knots": {"u": 3}, "subject": ["last(y) <= "]}, "is not a condition"),
        ({"knots": {"u": 3}, "subject": ["last(q) = 1"]}, "'q' is neither"),
        ({"knots": {"u": 3}, "subject": ["1 <= 2"]}, "measures no output"),
        ({"knots": {"u": 3}, "bounds": {"v": (0.0, 1.0)}}, "'v' is not free"),
    ],
)
def test_mistakes_of_trajectories_are_told(more: dict[str, Any], message: str) -> None:
    with pytest.raises(MbfmuError, match=message):
        mbfmu.optimize(line(), 1.0, "last(y)**2", step=0.05, **more)


def test_inputs_over_time_are_written_by_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    given = ["optimize", "two_link", "--stop", "0.2", "--step", "1e-2", "--knots", "elbow.tau=3", "--json"]
    given += ["--subject-to", "last(elbow.w) = 0", "--minimize", "rms(elbow.tau)", "--write-inputs", "u.csv"]
    monkeypatch.setattr(sys, "argv", ["mbfmu", *given, "--input", "elbow.tau=1"])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert not caught.value.code
    document = json.loads(capsys.readouterr().out)
    columns = read_table(tmp_path / "u.csv")
    assert columns["elbow.tau"].tolist() == document["inputs"]["elbow.tau"]["values"]
    assert columns["time"] == pytest.approx([0.0, 0.1, 0.2])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("-o folder.toml --free l1", "cannot write 'folder.toml'"),
        ("--write-inputs folder.csv --knots elbow.tau=3", "cannot write 'folder.csv'"),
        ("--write-inputs u.csv --free l1", "no input is free over time"),
    ],
)
def test_files_that_cannot_be_written_are_told_before_the_search(
    more: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(mbfmu, "optimize", lambda *_, **__: pytest.fail("the search began"))
    for name in ("folder.toml", "folder.csv"):
        (tmp_path / name).mkdir()
    given = ["optimize", "two_link", "--stop", "0.1", "--minimize", "last(elbow.phi)", *more.split()]
    monkeypatch.setattr(sys, "argv", ["mbfmu", *given])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 1
    assert message in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_what_was_found_is_shown_even_if_it_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["optimize", "two_link", "--stop", "0.1", "--step", "1e-2", "--knots", "elbow.tau=3", "--json"]
    given += ["--minimize", "rms(elbow.tau)", "--write-inputs", "/dev/full"]
    monkeypatch.setattr(sys, "argv", ["mbfmu", *given])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 1
    shown = capsys.readouterr()
    assert json.loads(shown.out)["wrote"] == []
    assert "cannot write '/dev/full'" in shown.err


def test_a_value_that_was_not_free_is_an_unknown_name() -> None:
    with pytest.raises(MbfmuError, match="'k' was not free"):
        mbfmu.optimize(line(), 1.0, "last(y)**2", ["c"], step=0.05)["k"]


def test_a_restitution_is_chosen_that_brings_a_ball_to_a_height() -> None:
    found = mbfmu.optimize("bouncing_ball", 0.8, "(last(y) - 0.5)**2", ["e"], bounds={"e": (0.5, 1.0)}, step=0.01)
    first = np.sqrt(2 / 9.81)
    rise = 0.5 + 9.81 * (0.8 - first) ** 2 / 2
    assert found["e"] == pytest.approx(rise / (9.81 * first * (0.8 - first)), rel=1e-6)

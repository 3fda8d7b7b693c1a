"""mbfmu.simulate: a system and its FMU move alike, agree with the reference, and mistakes have names."""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from conftest import REFERENCES
from mechanisms import spatial_arm

import mbfmu
from mbfmu.base.result import Result, Roles, matching, read_table, roles
from mbfmu.errors import (
    FmuError,
    MbfmuError,
    ModelError,
    ModelFileError,
    StepError,
    StepperError,
    UnknownNameError,
    UsageError,
    ValueRangeError,
)
from mbfmu.model import System

Array = npt.NDArray[np.float64]
ANGLES = ("shoulder.phi", "elbow.phi")
JOINTS = (*ANGLES, "shoulder.w", "elbow.w")


@pytest.fixture(scope="session")
def two_link(two_link: System) -> System:
    """The two-link arm with the stepper of its FMU."""
    return replace(two_link, stepper="rattle")


@pytest.fixture(scope="module", params=["system", "fmu"])
def model(request: pytest.FixtureRequest, two_link: System, two_link_fmu: Path) -> System | Path:
    """The two-link arm, as a system and as an FMU."""
    return two_link if request.param == "system" else two_link_fmu


@pytest.fixture(scope="module")
def reference() -> dict[str, Any]:
    """The exact motion of the two-link arm without torques, t = 0, 0.1, ..., 2 s."""
    found: dict[str, Any] = json.loads((REFERENCES / "two_link.json").read_text(encoding="utf-8"))
    return found


def table(result: Result, names: tuple[str, ...] = JOINTS) -> Array:
    return np.column_stack([result[name] for name in names])


def torque(t: float) -> float:
    return 3.0 * math.sin(5.0 * t) - 1.0


# -- a system and its FMU -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["expression", "csv", "function"])
def test_a_system_and_its_fmu_move_alike(kind: str, two_link: System, two_link_fmu: Path, tmp_path: Path) -> None:
    """An FMU that takes no derivatives of inputs holds their means over a step of 1 ms: an error of second order."""
    csv = tmp_path / "torques.csv"
    csv.write_text("time,elbow.tau,shoulder.tau\n0,0,1\n0.1,2.5,-4\n0.25,-1,0.5\n", encoding="utf-8")
    inputs: dict[str, Mapping[str, Any]] = {
        "expression": {"shoulder.tau": "3*sin(5*time) - 1", "elbow.tau": "2*exp(-time)"},
        "csv": {"shoulder.tau": str(csv), "elbow.tau": str(csv)},
        "function": {"shoulder.tau": torque, "elbow.tau": lambda t: -torque(t)},
    }
    one, other = (
        mbfmu.simulate(item, 0.5, step=1e-3, output_interval=2e-3, inputs=inputs[kind])
        for item in (two_link, two_link_fmu)
    )
    assert len(one.time) == 251
    np.testing.assert_allclose(other.time, one.time, rtol=0, atol=1e-12)
    np.testing.assert_allclose(table(other), table(one), rtol=0, atol=2e-5)
    assert np.max(np.abs(table(one) - table(one)[0])) > 0.1


def test_with_constant_inputs_all_variables_of_a_system_and_its_fmu_agree(two_link: System, two_link_fmu: Path) -> None:
    inputs = {"shoulder.tau": "5", "elbow.tau": "-2"}
    one, other = (mbfmu.simulate(item, 0.5, step=1e-3, inputs=inputs) for item in (two_link, two_link_fmu))
    np.testing.assert_allclose(table(other, one.names), table(one, one.names), rtol=1e-12, atol=1e-12)


def test_an_expression_a_function_and_a_table_of_the_same_input_give_the_same_motion(
    two_link: System, tmp_path: Path
) -> None:
    """The lines of the function are 1 ms long, those of the table 5 ms: they leave (25 rad/s2) 3 N.m h^2/12 at most."""
    times = np.arange(101) * np.float64(5e-3)
    csv = Result(times, ("shoulder.tau",), np.array([[torque(t)] for t in times])).write(tmp_path / "torque.csv")
    runs = [
        mbfmu.simulate(two_link, 0.5, output_interval=5e-3, inputs={"shoulder.tau": given})
        for given in ("3*sin(5*time) - 1", torque, str(csv))
    ]
    for run, atol in zip(runs[1:], (1e-5, 3e-4), strict=True):
        np.testing.assert_allclose(table(run), table(runs[0]), rtol=0, atol=atol)


def test_a_table_is_interpolated_between_its_times_and_held_outside(two_link: System, tmp_path: Path) -> None:
    csv = tmp_path / "torque.csv"
    csv.write_text("time,shoulder.tau\n0.1,1\n0.2,3\n", encoding="utf-8")
    found = mbfmu.simulate(two_link, 0.4, output_interval=0.05, inputs={"shoulder.tau": str(csv)})["shoulder.tau"]
    np.testing.assert_allclose(found, [1, 1, 1, 2, 3, 3, 3, 3, 3], atol=1e-12)


def test_an_input_that_is_not_given_is_zero(model: System | Path, capfd: pytest.CaptureFixture[str]) -> None:
    result = mbfmu.simulate(model, 0.05, inputs={"shoulder.tau": "2"})
    assert np.all(result["shoulder.tau"] == 2.0)
    assert np.all(result["elbow.tau"] == 0.0)
    assert capfd.readouterr() == ("", "")


def test_an_input_may_be_given_as_a_constant_beside_one_over_time(two_link_fmu: Path) -> None:
    result = mbfmu.simulate(two_link_fmu, 0.05, values={"elbow.tau": 3.0}, inputs={"shoulder.tau": "2"})
    assert np.all(result["elbow.tau"] == 3.0)


def test_parameters_and_start_values_are_taken(model: System | Path) -> None:
    values = {"shoulder.phi": 0.3, "elbow.w": -2.0, "l1": 1.5, "world.g": 1.62}
    result = mbfmu.simulate(model, 0.1, values=values)
    assert (result["shoulder.phi"][0], result["elbow.w"][0]) == pytest.approx((0.3, -2.0), abs=1e-14)
    assert math.hypot(result["link1.frame_b.r_0[1]"][-1], result["link1.frame_b.r_0[2]"][-1]) == pytest.approx(1.5)
    low = 1.5 * math.sin(0.3) * 1.62 * 1.5 + math.sin(0.3) * 1.62  # (m1/2 + m2) g l1 sin(phi1) + m2 g l2/2 sin(phi2)
    assert result["energy.potential"][0] == pytest.approx(low, rel=1e-12)


def test_a_system_and_its_fmu_show_the_same_variables_with_the_same_units(two_link: System, two_link_fmu: Path) -> None:
    one, other = mbfmu.simulate(two_link, 0.01), mbfmu.simulate(two_link_fmu, 0.01)
    assert list(other.names) == [*one.names, "solver.error"]
    assert {name: other.units[name] for name in one.names} == one.units


def test_the_step_is_taken_by_both(two_link: System, two_link_fmu: Path) -> None:
    one, other = (mbfmu.simulate(item, 0.5, step=0.01, output_interval=0.1) for item in (two_link, two_link_fmu))
    fine = mbfmu.simulate(two_link, 0.5, step=0.001, output_interval=0.1)
    np.testing.assert_allclose(table(other), table(one), rtol=0, atol=1e-12)
    assert np.max(np.abs(table(fine) - table(one))) > 1e-6
    assert (one.steps, fine.steps) == (50, 500)


def test_a_spatial_mechanism_and_its_fmu_move_alike(tmp_path: Path) -> None:
    system = spatial_arm()
    inputs = {"j1.tau": "2", "j2.f": "0.2"}
    fmu = mbfmu.export(system, tmp_path / "spatial_arm.fmu")
    one, other = (mbfmu.simulate(item, 0.2, output_interval=1e-2, inputs=inputs) for item in (system, fmu))
    names = (
        "j1.phi",
        "j1.w",
        "j2.s",
        "j2.v",
        *(f"b3.{kind}_0[{k}]" for kind in "rv" for k in (1, 2, 3)),
        "energy.total",
    )
    np.testing.assert_allclose(table(other, names), table(one, names), rtol=1e-12, atol=1e-12)


# -- the reference --------------------------------------------------------------------------------------------------


def distance(two_link: System, reference: dict[str, Any], stop: float, **choices: Any) -> float:
    """Return the largest distance of both joint angles from the reference, rad."""
    values = {name: float(value) for name, value in reference["parameters"].items()}
    result = mbfmu.simulate(
        two_link, stop, output_interval=0.1, values=values, **{"coordinates": "absolute", **choices}
    )
    count = len(result.time)
    np.testing.assert_allclose(result.time, reference["t"][:count], rtol=0, atol=1e-12)
    exact = np.column_stack([np.array(reference[name][:count], dtype=np.float64) for name in ANGLES])
    return float(np.max(np.abs(table(result, ANGLES) - exact)))


@pytest.mark.parametrize(
    ("stepper", "options", "step", "stop", "least", "most"),
    [
        ("gauss", {"stages": 3}, 2e-3, 1.0, 1e-13, 1e-9),
        ("local", {}, 1e-3, 2.0, 1e-6, 1e-4),
        ("rattle", {}, 1e-3, 2.0, 1e-6, 1e-4),
        ("direct", {}, 1e-3, 2.0, 1e-13, 1e-9),
    ],
)
def test_the_motion_is_that_of_the_reference(
    stepper: str,
    options: dict[str, Any],
    step: float,
    stop: float,
    least: float,
    most: float,
    two_link: System,
    reference: dict[str, Any],
) -> None:
    error = distance(two_link, reference, stop, stepper=stepper, options=options, step=step)
    assert least < error < most


@pytest.mark.slow
def test_rattle_keeps_constraints_and_mean_energy_for_a_hundred_seconds(two_link: System) -> None:
    result = mbfmu.simulate(two_link, 100.0, stepper="rattle", step=5e-3, output_interval=5e-3)
    assert len(result.time) == 20_001
    assert np.max(result["constraint.position"]) < 1e-11
    assert np.max(result["constraint.velocity"]) < 1e-11
    error = result["energy.total"] - result["energy.total"][0]
    amplitude = np.ptp(error)
    assert 1e-3 < amplitude < 1e-2  # J, of about 30 J exchanged
    first, last = error[result.time <= 20.0], error[result.time >= 80.0]
    assert abs(np.mean(last) - np.mean(first)) < 0.01 * amplitude
    assert abs(np.ptp(last) - np.ptp(first)) < 0.1 * amplitude


# -- output points --------------------------------------------------------------------------------------------------


def test_outputs_stand_at_multiples_of_the_interval_and_at_the_stop(model: System | Path) -> None:
    time = mbfmu.simulate(model, 0.1, output_interval=0.03).time
    np.testing.assert_allclose(time, [0, 0.03, 0.06, 0.09, 0.1], rtol=0, atol=1e-12)
    assert time[-1] == pytest.approx(0.1, abs=1e-15)


def test_an_interval_that_divides_the_stop_up_to_round_off_gives_no_point_more(model: System | Path) -> None:
    assert len(mbfmu.simulate(model, 0.3, output_interval=0.1).time) == 4
    assert len(mbfmu.simulate(model, 0.1 + 0.2, output_interval=0.1).time) == 4


def test_an_interval_longer_than_the_stop_gives_start_and_stop(model: System | Path) -> None:
    result = mbfmu.simulate(model, 0.01, output_interval=1.0)
    np.testing.assert_allclose(result.time, [0, 0.01], rtol=0, atol=1e-15)


def test_without_an_interval_there_are_about_five_hundred_points(model: System | Path) -> None:
    for stop in (0.7, 1.0, 1.3):
        assert 400 <= len(mbfmu.simulate(model, stop, step=1e-3).time) <= 1400
    assert len(mbfmu.simulate(model, 2.0, step=1e-3).time) == 501


def test_a_stop_that_is_no_multiple_of_the_step_is_met(two_link: System, reference: dict[str, Any]) -> None:
    """The last communication step is divided anew."""
    whole = mbfmu.simulate(two_link, 0.1, stepper="direct", step=1e-3)
    odd = mbfmu.simulate(two_link, 0.1, stepper="direct", step=7e-4, output_interval=0.03)
    np.testing.assert_allclose(table(odd, ANGLES)[-1], table(whole, ANGLES)[-1], rtol=0, atol=1e-10)
    assert odd["shoulder.phi"][-1] == pytest.approx(float(reference["shoulder.phi"][1]), abs=1e-9)


def test_progress_is_told_up_to_one(model: System | Path) -> None:
    told: list[float] = []
    mbfmu.simulate(model, 0.05, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == pytest.approx(1.0, abs=1e-9)


# -- mistakes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stop", [0.0, -1.0, math.nan, math.inf, 1e308])
def test_an_impossible_stop_is_a_usage_error(stop: float, model: System | Path) -> None:
    with pytest.raises(UsageError, match="stop time"):
        mbfmu.simulate(model, stop)


@pytest.mark.parametrize("interval", [0.0, -1.0, math.nan, math.inf, 1e-12])
def test_an_impossible_output_interval_is_a_usage_error(interval: float, model: System | Path) -> None:
    with pytest.raises(UsageError, match="output interval"):
        mbfmu.simulate(model, 1.0, output_interval=interval)


@pytest.mark.parametrize("interval", [None, 0.1])
def test_a_run_of_steps_without_end_is_refused_before_it_starts(interval: float | None, two_link: System) -> None:
    message = r"a run of \S+ s needs \S+ steps of 1e-300 s, and at most 1e\+12 are taken at once"
    with pytest.raises(UsageError, match=message):
        mbfmu.simulate(two_link, 1.0, step=1e-300, output_interval=interval)
    with pytest.raises(UsageError, match=message):
        mbfmu.Sensitivity(two_link, 1.0, ["l1"], step=1e-300, output_interval=interval)
    with pytest.raises(UsageError, match=message):
        mbfmu.sweep(
            two_link, 1.0, measures={"e": "last(energy.total)"}, vary={"l1": [1.0, 2.0]}, step=1e-300,
            output_interval=interval,
        )  # fmt: skip


@pytest.mark.parametrize("step", [0.0, -1.0, math.nan, math.inf])
def test_an_impossible_step_is_a_usage_error(step: float, model: System | Path) -> None:
    with pytest.raises(UsageError, match="step"):
        mbfmu.simulate(model, 1.0, step=step)


def test_an_unknown_input_is_an_unknown_name(model: System | Path) -> None:
    with pytest.raises(UnknownNameError, match=r"'shoulder\.tua'.*did you mean 'shoulder\.tau'"):
        mbfmu.simulate(model, 1.0, inputs={"shoulder.tua": "1"})


def test_an_output_is_no_input(two_link: System, two_link_fmu: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"no input 'energy\.total'"):
        mbfmu.simulate(two_link, 1.0, inputs={"energy.total": "1"})
    with pytest.raises(UsageError, match=r"'energy\.total' .* is not an input"):
        mbfmu.simulate(two_link_fmu, 1.0, inputs={"energy.total": "1"})


@pytest.mark.parametrize(
    ("text", "when"), [("1/time", "t = 0 s"), ("1/(time - 0.5)", "t = 0.5 s"), ("log(0*time)", "t = 0 s")]
)
def test_an_input_that_is_not_finite_is_a_usage_error(text: str, when: str, model: System | Path) -> None:
    with pytest.raises(UsageError, match=f"input elbow.tau is not finite at {when}"):
        mbfmu.simulate(model, 1.0, output_interval=0.1, inputs={"elbow.tau": text})


def test_a_function_that_is_not_finite_is_a_usage_error(model: System | Path) -> None:
    with pytest.raises(UsageError, match="not finite"):
        mbfmu.simulate(model, 1.0, inputs={"elbow.tau": lambda t: math.nan if t > 0.5 else 0.0})


@pytest.mark.parametrize("text", ["sin(", "2*phi", "__import__('os')", ""])
def test_an_input_that_is_no_expression_of_time_is_an_error(text: str, model: System | Path) -> None:
    with pytest.raises((UsageError, ModelError)):
        mbfmu.simulate(model, 1.0, inputs={"elbow.tau": text})


def test_an_unknown_value_is_an_unknown_name(model: System | Path) -> None:
    with pytest.raises(UnknownNameError, match="'l3'"):
        mbfmu.simulate(model, 1.0, values={"l3": 1.0})


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0])
def test_a_value_out_of_range_is_an_error_that_names_it(value: float, two_link: System, two_link_fmu: Path) -> None:
    with pytest.raises(ValueRangeError, match="l1"):
        mbfmu.simulate(two_link, 1.0, values={"l1": value})
    with pytest.raises(FmuError, match=r"two_link\.fmu.*l1"):
        mbfmu.simulate(two_link_fmu, 1.0, values={"l1": value})


def test_a_step_that_cannot_be_done_is_a_step_error_that_says_when(model: System | Path) -> None:
    with pytest.raises(StepError, match=r"no step from t = 0\.45\d* s: the solution is no longer finite"):
        mbfmu.simulate(model, 1.0, output_interval=0.1, inputs={"elbow.tau": "1e90*max(0, time - 0.45033)"})


def test_a_table_without_the_column_is_a_usage_error(model: System | Path, tmp_path: Path) -> None:
    csv = tmp_path / "torque.csv"
    csv.write_text("time,elbow_tau\n0,1\n1,2\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"no column 'elbow\.tau'; did you mean 'elbow_tau'"):
        mbfmu.simulate(model, 1.0, inputs={"elbow.tau": str(csv)})


@pytest.mark.parametrize(
    "text",
    ["", "time,elbow.tau\n", "t,elbow.tau\n0,1\n", "time,elbow.tau\n0,1\n0,2\n", "time,elbow.tau\n1,1\n0,2\n",
     "time,elbow.tau\n0,x\n", "time,elbow.tau\n0\n", "time,elbow.tau\n0,nan\n", "\x00"],
)  # fmt: skip
def test_a_table_that_cannot_be_read_is_an_error_that_names_it(text: str, two_link: System, tmp_path: Path) -> None:
    csv = tmp_path / "torque.csv"
    csv.write_text(text, encoding="utf-8")
    with pytest.raises(MbfmuError, match=r"torque\.csv"):
        mbfmu.simulate(two_link, 1.0, inputs={"elbow.tau": str(csv)})


def test_a_missing_file_is_an_error_that_names_it(two_link: System, tmp_path: Path) -> None:
    with pytest.raises(MbfmuError, match=r"none\.csv"):
        mbfmu.simulate(two_link, 1.0, inputs={"elbow.tau": str(tmp_path / "none.csv")})
    with pytest.raises(FmuError, match=r"none\.fmu"):
        mbfmu.simulate(tmp_path / "none.fmu", 1.0)
    with pytest.raises(ModelFileError, match=r"arm\.py"):
        mbfmu.simulate(tmp_path / "arm.py", 1.0)


def test_a_damaged_fmu_is_an_fmu_error(tmp_path: Path, two_link_fmu: Path) -> None:
    data = two_link_fmu.read_bytes()
    for text in (b"", b"no ZIP", data[: len(data) // 2]):
        (tmp_path / "bad.fmu").write_bytes(text)
        with pytest.raises(FmuError, match=r"bad\.fmu"):
            mbfmu.simulate(tmp_path / "bad.fmu", 1.0)


@pytest.mark.parametrize("choice", [{"stepper": "gauss"}, {"options": {"stages": 2}}])
def test_an_fmu_takes_no_stepper(choice: dict[str, Any], two_link_fmu: Path) -> None:
    with pytest.raises(UsageError, match="has its stepper inside"):
        mbfmu.simulate(two_link_fmu, 1.0, **choice)


def test_an_unknown_stepper_option_or_choice_has_its_error(two_link: System) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'rattle'"):
        mbfmu.simulate(two_link, 1.0, stepper="ratle")
    with pytest.raises(StepperError, match="did you mean 'stages'"):
        mbfmu.simulate(two_link, 1.0, stepper="gauss", options={"stage": 2})
    with pytest.raises(StepperError, match="stages=9"):
        mbfmu.simulate(two_link, 1.0, stepper="gauss", options={"stages": 9})


# -- results --------------------------------------------------------------------------------------------------------


def test_a_csv_file_reads_back_exactly(two_link: System, tmp_path: Path) -> None:
    result = mbfmu.simulate(two_link, 1 / 3, output_interval=0.01, inputs={"shoulder.tau": "sin(time)/3"})
    columns = read_table(result.write(tmp_path / "deeper" / "out.csv"))
    assert list(columns) == ["time", *result.names]
    assert np.array_equal(columns["time"], result.time)
    for name in result.names:
        assert np.array_equal(columns[name], result[name])


def test_a_result_has_units_and_counts_its_steps(two_link: System) -> None:
    result = mbfmu.simulate(two_link, 0.1, step=1e-3)
    assert {name: result.units[name] for name in ("shoulder.tau", "shoulder.phi", "elbow.a", "energy.total")} == {
        "shoulder.tau": "N.m",
        "shoulder.phi": "rad",
        "elbow.a": "rad/s2",
        "energy.total": "J",
    }
    assert set(result.units) == set(result.names)
    assert result.steps == 100
    assert result["time"] is result.time


def test_an_unknown_variable_of_a_result_is_an_unknown_name(two_link: System) -> None:
    with pytest.raises(UnknownNameError, match=r"'shoulder\.fi'; did you mean 'shoulder\.phi'"):
        mbfmu.simulate(two_link, 0.01)["shoulder.fi"]


@pytest.mark.parametrize("name", ["folder.csv", "file/out.csv", "file/deeper/out.csv"])
def test_a_csv_file_that_cannot_be_written_is_an_error_and_leaves_nothing(
    name: str, two_link: System, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(MbfmuError, match="cannot write"):
        mbfmu.simulate(two_link, 0.01).write(tmp_path / name)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder.csv"]


def test_variables_of_a_model_have_the_roles_that_those_of_its_fmu_have(two_link: System, two_link_fmu: Path) -> None:
    expected = Roles(("shoulder.tau", "elbow.tau"), (), ("shoulder.phi", "shoulder.w", "elbow.phi", "elbow.w"))
    assert mbfmu.simulate(two_link, 0.01).roles == expected
    assert mbfmu.simulate(two_link_fmu, 0.01).roles == expected


def test_sensors_forces_and_couplings_measure_and_joints_move() -> None:
    found = roles(
        [
            ("drive.f", "input", "N", None),
            *((f"drive.{name}", "output", unit, of) for name, unit, of in (
                ("s", "m", None), ("v", "m/s", "drive.s"), ("a", "m/s2", "drive.v"))),
            *((f"ball.{name}", "output", unit, of) for name, unit, of in (
                ("Q[1]", "1", None), ("w[1]", "rad/s", None), ("z[1]", "rad/s2", "ball.w[1]"))),
            *((f"gauge.{name}", "output", unit, of) for name, unit, of in (
                ("r[1]", "m", None), ("v[1]", "m/s", None), ("a[1]", "m/s2", "gauge.v[1]"))),
            ("spring.f", "output", "N", None),
            ("damper.power", "local", "W", None),
            ("share", "output", "1", None),
            ("energy.total", "output", "J", None),
        ]
    )  # fmt: skip
    assert found.inputs == ("drive.f",)
    assert found.measured == ("gauge.r[1]", "gauge.v[1]", "gauge.a[1]", "spring.f", "share")
    assert found.motions == ("drive.s", "drive.v", "ball.Q[1]", "ball.w[1]")


def test_names_are_met_by_themselves_and_by_patterns_in_which_brackets_are_indices() -> None:
    names = ("a.r[1]", "a.r[2]", "a.r1", "b.r[1]", "c")
    assert matching(["c", "a.*", "a.r[1]"], names) == ("c", "a.r[1]", "a.r[2]", "a.r1")
    assert matching(["*.r[1]"], names) == ("a.r[1]", "b.r[1]")
    assert matching(["?.r[?]"], names) == ("a.r[1]", "a.r[2]", "b.r[1]")
    assert matching([], names) == ()
    for wrong, said in (("d", "no variable 'd'"), ("d.*", "no variable matches 'd"), ("", "no variable ''")):
        with pytest.raises(UnknownNameError, match=said):
            matching([wrong], names)


@pytest.mark.parametrize("choice", ["elbow.*", "elbow.fi"])
def test_a_model_and_its_fmu_choose_alike_before_they_run(
    choice: str, two_link: System, two_link_fmu: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if choice == "elbow.*":
        one, other = (mbfmu.simulate(item, 0.01, show=[choice]).chosen for item in (two_link, two_link_fmu))
        assert one == other
        assert {name.partition(".")[0] for name in one} == {"elbow"}
        return
    monkeypatch.setattr("mbfmu.run.model._moved", lambda *_: pytest.fail("ran"))
    monkeypatch.setattr("mbfmu.run.simulate.run_apart", lambda *_, **__: pytest.fail("ran"))
    for item in (two_link, two_link_fmu):
        with pytest.raises(UnknownNameError, match=r"'elbow\.fi'; did you mean 'elbow\.phi'"):
            mbfmu.simulate(item, 0.01, show=[choice])

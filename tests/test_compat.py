"""mbfmu compat: the cross-check files of an FMU say how it was run, and any master meets them again."""

import json
import os
import re
import shlex
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import fmpy
import numpy as np
import pytest
from fmpy.util import read_csv, read_ref_opt_file, validate_result
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from test_foreign import COMPILER, DISCARD, FMI_1, FMI_3, FREE, SOURCE, Maker, built

import mbfmu
from mbfmu.base.files import write_folder
from mbfmu.base.result import read_table
from mbfmu.errors import FmuError, MbfmuError, StepError, UnknownNameError, UsageError
from mbfmu.run.cross_check import _samples, write_cross_check
from mbfmu.run.inputs import InputTable, course

EXTRA = "extra/org.fmi-standard.fmi-ls-ref/"
SPAN = {"stop": 0.2}
TORQUE = {"shoulder.tau": "20*sin(15*time)"}
ONLY_EXCHANGE = (
    'CoSimulation modelIdentifier="foreign" canHandleVariableCommunicationStepSize="true" canInterpolateInputs="true"',
    'ModelExchange modelIdentifier="foreign"',
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The library of an FMU of another maker."""
    if not COMPILER or os.name == "nt":
        pytest.skip("there is no C compiler")
    return built(SOURCE.read_text(encoding="utf-8"), tmp_path_factory.mktemp("foreign"))


@pytest.fixture
def make(library: bytes, tmp_path: Path) -> Maker:
    """What makes that FMU."""
    return Maker(library, tmp_path)


@pytest.fixture(scope="module")
def arm(two_link_fmu: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the arm's files, driven by a torque."""
    folder = tmp_path_factory.mktemp("compat") / "arm"
    write_cross_check(two_link_fmu, folder, inputs=TORQUE, **SPAN)
    return folder


def options_of(folder: Path, name: str) -> dict[str, float]:
    """The options of a set, as FMPy reads them."""
    found: dict[str, float] = read_ref_opt_file(str(folder / f"{name}_ref.opt"))
    return found


def files_of(folder: Path) -> dict[str, bytes]:
    """The files of a folder by name."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


# -- what is met again -----------------------------------------------------------------------------------------------


def test_the_run_with_the_inputs_and_the_options_is_the_reference(arm: Path) -> None:
    options = options_of(arm, "two_link")
    reference = read_csv(arm / "two_link_ref.csv")
    result = mbfmu.simulate(
        arm / "two_link.fmu",
        options["StopTime"],
        start=options["StartTime"],
        output_interval=options["StepSize"],
        inputs={name: str(arm / "two_link_in.csv") for name in ("shoulder.tau", "elbow.tau")},
    )
    rows = np.searchsorted(result.time, reference["time"])
    assert reference["time"][[0, -1]].tolist() == [options["StartTime"], options["StopTime"]]
    for name in reference.dtype.names:
        assert (result[name][rows] == reference[name]).all()


def test_another_master_meets_the_reference(arm: Path) -> None:
    options, reference = options_of(arm, "two_link"), read_csv(arm / "two_link_ref.csv")
    result = fmpy.simulate_fmu(
        str(arm / "two_link.fmu"),
        start_time=options["StartTime"],
        stop_time=options["StopTime"],
        output_interval=options["StepSize"],
        input=read_csv(arm / "two_link_in.csv"),
        output=list(reference.dtype.names[1:]),
    )
    assert validate_result(result, reference, options["StopTime"]) == 0.0
    assert np.ptp(reference["shoulder.phi"]) > 0.01


def test_another_master_meets_a_foreign_reference_with_jumps_to_round_off(make: Maker, tmp_path: Path) -> None:
    table = tmp_path / "in.csv"
    table.write_text("time,u,n\n0,1,1\n0.35,-2,1\n0.61,7,-3\n", encoding="utf-8")
    write_cross_check(make(), tmp_path / "set", inputs={"u": str(table), "n": str(table)}, input_hold=True, step=0.1)
    options, reference = options_of(tmp_path / "set", "foreign"), read_csv(tmp_path / "set" / "foreign_ref.csv")
    result = fmpy.simulate_fmu(
        str(tmp_path / "set" / "foreign.fmu"),
        start_time=options["StartTime"],
        stop_time=options["StopTime"],
        output_interval=options["StepSize"],
        input=read_csv(tmp_path / "set" / "foreign_in.csv"),
        output=["y", "its.n"],
    )
    rows = np.searchsorted(result["time"], reference["time"] - 1e-9)
    assert result["y"][rows] == pytest.approx(reference["y"], abs=1e-14)
    assert result["its.n"][rows].tolist() == reference["its.n"].tolist()
    assert reference["y"][-1] == pytest.approx(0.35 - 2 * 0.26 + 7 * 0.39, rel=1e-14)


def test_a_formula_is_sampled_at_every_step_an_error_of_second_order(make: Maker, tmp_path: Path) -> None:
    """Of the trapezoidal rule: h^2/12 of the largest second derivative, 81, times the time."""
    write_cross_check(make(), tmp_path / "set", inputs={"u": "cos(9*time)", "n": "5*time"}, step=0.02)
    reference, signals = (read_csv(tmp_path / "set" / f"foreign_{what}.csv") for what in ("ref", "in"))
    error = np.abs(reference["y"] - np.sin(9 * reference["time"]) / 9).max()
    assert 1e-4 < error < 0.02**2 / 12 * 81
    after = np.append(np.diff(signals["time"]) > 0, True)
    assert signals["n"][after].tolist() == np.round(5 * signals["time"][after]).tolist()
    assert np.diff(signals["n"])[after[:-1]].tolist() == [0.0] * (np.count_nonzero(after) - 1)


def test_the_command_in_the_read_me_makes_the_same_files(arm: Path, tmp_path: Path, said: Callable[..., str]) -> None:
    for path in arm.iterdir():
        shutil.copy(path, tmp_path)
    (line,) = (line for line in (arm / "ReadMe.txt").read_text(encoding="utf-8").splitlines() if "mbfmu compat" in line)
    said(*shlex.split(line)[1:])
    assert files_of(tmp_path / "again") == files_of(arm)


# -- inputs ----------------------------------------------------------------------------------------------------------


def test_inputs_of_every_type_are_numbers_and_those_not_given_stay(make: Maker, tmp_path: Path) -> None:
    table = tmp_path / "in.csv"
    table.write_text("time,on,u\n0,0,1\n0.105,1,3\n0.3,0,3\n", encoding="utf-8")
    inputs = {"on": str(table), "u": str(table), "mode": "fast"}
    write_cross_check(make(), tmp_path / "set", inputs=inputs, stop=0.4, step=0.1)
    assert (tmp_path / "set" / "foreign_in.csv").read_text(encoding="utf-8") == (
        '"time","u","n","mode","on"\n0.0,1.0,0,2,0\n0.105,3.0,0,2,0\n0.105,3.0,0,2,1\n'
        "0.3,3.0,0,2,1\n0.3,3.0,0,2,0\n0.4,3.0,0,2,0\n"
    )
    reference = read_csv(tmp_path / "set" / "foreign_ref.csv")
    assert reference.dtype.names == ("time", "t", "y", "its.n", "its.mode", "its.on")
    assert reference["its.on"].tolist() == [0, 0, 1, 0, 0]
    assert set(reference["its.mode"]) == {2}
    assert reference["y"][-1] == pytest.approx(0.105 * 2 + 0.295 * 3, rel=1e-14)


def test_an_input_that_is_held_jumps_in_two_rows_with_one_time(make: Maker, tmp_path: Path) -> None:
    table = tmp_path / "in.csv"
    table.write_text("time,u\n0,1\n0.15,-2\n", encoding="utf-8")
    write_cross_check(make(), tmp_path / "set", inputs={"u": str(table)}, input_hold=True, stop=0.3, step=0.1)
    signals, reference = (read_csv(tmp_path / "set" / f"foreign_{what}.csv") for what in ("in", "ref"))
    assert list(zip(signals["time"], signals["u"], strict=True)) == [(0, 1), (0.15, 1), (0.15, -2), (0.3, -2)]
    assert reference["y"] == pytest.approx([0, 0.1, 0.15 - 0.1, 0.15 - 0.3], abs=1e-15)
    again = mbfmu.simulate(make(), 0.3, output_interval=0.1, inputs={"u": str(tmp_path / "set" / "foreign_in.csv")})
    assert again["y"].tolist() == reference["y"].tolist()


def test_a_set_made_of_its_own_inputs_is_the_same(make: Maker, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("time,u,on\n0,1,0\n0.15,2,1\n0.15,-2,1\n0.4,3,0\n", encoding="utf-8")
    table = str(tmp_path / "in.csv")
    span = {"start": 0.1, "stop": 0.5, "step": 0.4}
    write_cross_check(make(), tmp_path / "one", inputs={"u": table, "on": table, "n": "9*time"}, **span)
    table = str(tmp_path / "one" / "foreign_in.csv")
    write_cross_check(make(), tmp_path / "two", inputs=dict.fromkeys(("u", "on", "n", "mode"), table), **span)
    assert files_of(tmp_path / "one").keys() == files_of(tmp_path / "two").keys()
    for name in ("foreign_in.csv", "foreign_ref.csv", "foreign_ref.opt"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert options_of(tmp_path / "one", "foreign")["StepSize"] == 0.4


def test_two_rows_with_one_time_drive_a_model_as_held_rows_do(tmp_path: Path) -> None:
    (tmp_path / "jump.csv").write_text("time,elbow.tau\n0,0\n0.01,0\n0.01,3\n1,3\n", encoding="utf-8")
    (tmp_path / "held.csv").write_text("time,elbow.tau\n0,0\n0.01,3\n", encoding="utf-8")
    one, other = (
        mbfmu.simulate("two_link", 0.02, inputs={"elbow.tau": str(tmp_path / name)}, input_hold=hold)
        for name, hold in (("jump.csv", False), ("held.csv", True))
    )
    assert one["elbow.phi"].tolist() == other["elbow.phi"].tolist()


@given(st.lists(st.tuples(st.floats(0.01, 0.99), st.floats(-9, 9), st.booleans()), max_size=6))
def test_the_table_of_inputs_keeps_every_line_and_every_jump(points: list[tuple[float, float, bool]]) -> None:
    times, values = [0.0], [0.0]
    for time, value, jumps in sorted(points):
        if time - times[-1] > 1e-3:
            times += [time] * (1 + jumps)
            values += [value] * (1 + jumps)
            values[-1] += jumps
    table = InputTable("u", np.array(times), np.array(values))
    columns = _samples({"u": table, "v": course("v", "time")}, np.linspace(0, 1, 11), 0.1)
    sampled = InputTable("u", columns["time"], columns["u"])
    assert (np.diff(columns["time"]) >= 0).all()
    for time in np.linspace(0, 1, 97):
        if min(abs(time - corner) for corner in times) > 1e-5:
            assert sampled.at(time) == pytest.approx(table.at(time), abs=1e-5)


def test_an_fmu_without_inputs_has_no_table_of_inputs(tmp_path: Path) -> None:
    fmu = mbfmu.export("ice_skate", tmp_path / "free.fmu", stop=0.05)
    assert write_cross_check(fmu, tmp_path / "set").inputs == ()
    assert set(files_of(tmp_path / "set")) == {"free.fmu", "free_ref.csv", "free_ref.opt", "ReadMe.txt"}


# -- what the rules ask ----------------------------------------------------------------------------------------------


def test_span_and_step_are_those_of_the_default_experiment(make: Maker, tmp_path: Path) -> None:
    fmu = make(
        ('startTime="0" stopTime="1" stepSize="0.01"', 'startTime="5" stopTime="6" stepSize="0.02" tolerance="1e-5"')
    )
    write_cross_check(fmu, tmp_path / "set")
    assert options_of(tmp_path / "set", "foreign") == {
        "StartTime": 5.0, "StopTime": 6.0, "StepSize": 0.02, "RelTol": 1e-5, "OutputIntervalLength": 0.02,
    }  # fmt: skip
    reference = read_csv(tmp_path / "set" / "foreign_ref.csv")
    assert reference["time"][[0, 1, -1]].tolist() == [5.0, 5.02, 6.0]


def test_a_reference_of_many_steps_has_about_500_rows_and_both_ends(make: Maker, tmp_path: Path) -> None:
    done = write_cross_check(make(), tmp_path / "set", step=5e-4)
    reference = read_csv(tmp_path / "set" / "foreign_ref.csv")
    options = options_of(tmp_path / "set", "foreign")
    assert (len(reference), done.rows) == (501, 501)
    assert options["OutputIntervalLength"] == 4 * options["StepSize"]
    assert np.diff(reference["time"]) == pytest.approx(20e-4, rel=1e-9)
    assert reference["time"][-1] == 1.0


def test_of_many_outputs_the_reference_has_ten_and_says_so(tmp_path: Path) -> None:
    fmu = mbfmu.export("slider_crank", tmp_path / "crank.fmu", stop=0.01)
    done = write_cross_check(fmu, tmp_path / "set")
    (notice,) = done.notices
    assert len(done.variables) == 10
    assert notice.startswith("the reference has 10 of ")
    assert {"crank.phi", "slider.s"} <= set(done.variables)
    assert write_cross_check(fmu, tmp_path / "other", show=["*.phi"]).notices == ()


def test_names_are_quoted_and_numbers_are_not(arm: Path) -> None:
    head, *lines = (arm / "two_link_ref.csv").read_text(encoding="utf-8").splitlines()
    assert head == '"time","shoulder.phi","shoulder.w","shoulder.a","elbow.phi","elbow.w","elbow.a","energy.total"'
    assert all(len([float(cell) for cell in line.split(",")]) == 8 for line in lines)


def test_a_table_larger_than_the_rules_allow_is_refused_and_nothing_is_left(make: Maker, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"foreign_in\.csv would have 1\.\d MB, and the rules allow 1 MB"):
        write_cross_check(make(), tmp_path / "set", inputs={"u": "sin(time)"}, step=3e-5)
    assert [path.name for path in tmp_path.iterdir()] == ["foreign.fmu"]


# -- whole or not at all ---------------------------------------------------------------------------------------------


def test_a_folder_with_something_in_it_is_not_touched(arm: Path, tmp_path: Path) -> None:
    before = files_of(arm)
    with pytest.raises(UsageError, match="is there already, and is not overwritten"):
        write_cross_check(arm / "two_link.fmu", arm)
    assert files_of(arm) == before
    (tmp_path / "empty").mkdir()
    assert set(files_of(write_folder(tmp_path / "empty", {"a": b"1"})[0].parent)) == {"a"}


def test_a_folder_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(MbfmuError, match="cannot write"):
        write_folder(tmp_path / "file" / "set", {"a": b"1"})
    with pytest.raises(MbfmuError, match="cannot write"):
        write_folder(tmp_path / "set", {"a": b"1", "a/b": b"2"})
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_run_that_fails_leaves_nothing(make: Maker, tmp_path: Path) -> None:
    fault = 'valueReference="2" causality="{} variability="{}">\n      <Integer start="0"/>'
    fmu = make((fault.format('parameter"', "fixed"), fault.format('input"', "discrete")))
    with pytest.raises(StepError, match=r"stopped at t = 0\.25 s"):
        write_cross_check(fmu, tmp_path / "set", inputs={"fault": str(DISCARD)})
    assert [path.name for path in tmp_path.iterdir()] == ["foreign.fmu"]


# -- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"inputs": {"v": "1"}}, UnknownNameError, "has no variable 'v'"),
        ({"inputs": {"y": "1"}}, UsageError, "'y' of .* is not an input but output"),
        (
            {"inputs": {"label": "one"}},
            UsageError,
            "input label is a text, and a cross-check table holds only numbers",
        ),
        ({"inputs": {"u": "1/(time - 0.5)"}}, UsageError, "input u is not finite at t = 0.5 s"),
        ({"input_hold": True}, UsageError, "--input-hold is for inputs from .csv files"),
        ({"show": ["v*"]}, UnknownNameError, r"no variable matches 'v\*'"),
        ({"stop": 0.0}, UsageError, "the stop time is 0.0 s; it must be a time after the start"),
        ({"stop": float("nan")}, UsageError, "the stop time is nan s"),
        ({"start": float("inf")}, UsageError, "the start time is inf s"),
        ({"step": 0.0}, UsageError, "the step is 0.0 s; it must be positive"),
        ({"step": 2.0}, UsageError, "the step is 2.0 s; it must be positive and not longer than the run, 1 s"),
        ({"step": float("nan")}, UsageError, "the step is nan s"),
        ({"timeout": 0.0}, UsageError, "the timeout is 0.0 s"),
    ],
)
def test_wrong_arguments_give_one_message(
    given: dict[str, object],
    error: type[MbfmuError],
    message: str,
    make: Maker,
    tmp_path: Path,
) -> None:
    with pytest.raises(error, match=message):
        write_cross_check(make(), tmp_path / "set", **given)  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["foreign.fmu"]


ROLE = re.compile("document|model|parameter|testcase|experiment|result|report|configuration|other")
"""Some of the roles of FMI-LS-REF."""


def test_the_fmu_of_a_set_has_the_others_inside_with_their_roles(two_link_fmu: Path, tmp_path: Path) -> None:
    folder = tmp_path / "set"
    done = write_cross_check(two_link_fmu, folder, inputs=TORQUE, inside=True, **SPAN)
    names = {path.name for path in done.files if path.suffix in {".csv", ".opt"}}
    with zipfile.ZipFile(two_link_fmu) as old, zipfile.ZipFile(folder / "two_link.fmu") as new:
        added = {*new.namelist()} - {*old.namelist()}
        assert added == {f"{EXTRA}{name}" for name in (*names, "fmi-ls-manifest.xml")} | {
            "documentation/fmi-ls-ref.txt"
        }
        assert all(new.read(name) == old.read(name) for name in old.namelist())
        assert all(new.read(EXTRA + name) == (folder / name).read_bytes() for name in names)
        assert new.read("documentation/fmi-ls-ref.txt") == (folder / "ReadMe.txt").read_bytes()
        root = etree.fromstring(new.read(f"{EXTRA}fmi-ls-manifest.xml"))
    assert root.tag == "fmiReferences"
    assert root.get("{http://fmi-standard.org/fmi-ls-manifest}fmi-ls-name") == "org.fmi-standard.fmi-ls-ref"
    assert {item.get("source"): item.get("role") for item in root} == {
        "two_link_ref.csv": "result", "two_link_in.csv": "testcase", "two_link_ref.opt": "configuration",
    }  # fmt: skip
    assert all(ROLE.fullmatch(item.get("role")) and item.tag == "Related" and item.get("type") for item in root)
    assert mbfmu.check(folder / "two_link.fmu") == []


def test_an_fmu_with_its_set_inside_gives_the_same_set_again(two_link_fmu: Path, tmp_path: Path) -> None:
    write_cross_check(two_link_fmu, tmp_path / "one", inside=True, **SPAN)
    write_cross_check(tmp_path / "one" / "two_link.fmu", tmp_path / "two", inside=True, **SPAN)
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")


def test_files_of_others_inside_an_fmu_are_not_struck_from_the_manifest(make: Maker, tmp_path: Path) -> None:
    path = make()
    with zipfile.ZipFile(path, "a") as file:
        file.writestr(f"{EXTRA}params.ssv", b"")
    with pytest.raises(UsageError, match=r"has files of org.fmi-standard.fmi-ls-ref already: .*params.ssv"):
        write_cross_check(path, tmp_path / "set", inside=True)
    assert not (tmp_path / "set").exists()


def test_other_kinds_of_fmus_are_refused_by_name(make: Maker, tmp_path: Path) -> None:
    with pytest.raises(FmuError, match="is for model exchange only: have its tool export it for co-simulation"):
        write_cross_check(make(ONLY_EXCHANGE), tmp_path / "set")
    for xml, reason in ((FMI_1, "is of FMI 1.0"), (FMI_3, "is only for scheduled execution")):
        path = tmp_path / "other.fmu"
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("modelDescription.xml", xml)
        with pytest.raises(FmuError, match=reason):
            write_cross_check(path, tmp_path / "set")
    with pytest.raises(FmuError, match="there is no FMU"):
        write_cross_check(tmp_path / "none.fmu", tmp_path / "set")
    assert not (tmp_path / "set").exists()


def test_an_fmu_with_steps_of_one_length_gets_no_other(make: Maker, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="takes steps of one length only"):
        write_cross_check(make((FREE, "")), tmp_path / "set", step=0.3)
    write_cross_check(make((FREE, "")), tmp_path / "set", step=0.25, inputs={"u": "1"})
    assert read_csv(tmp_path / "set" / "foreign_ref.csv")["y"].tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_without_a_default_experiment_the_stop_time_is_asked_for(make: Maker, tmp_path: Path) -> None:
    fmu = make(('  <DefaultExperiment startTime="0" stopTime="1" stepSize="0.01"/>\n', ""))
    with pytest.raises(UsageError, match="has no default stop time: --stop gives one"):
        write_cross_check(fmu, tmp_path / "set")
    done = write_cross_check(fmu, tmp_path / "set", stop=1.0)
    assert (done.start, done.step, done.tolerance, done.rows) == (0.0, 0.002, 1e-4, 501)


# -- the command -----------------------------------------------------------------------------------------------------


def test_the_command_says_what_it_wrote(make: Maker, said: Callable[..., str]) -> None:
    document = json.loads(said("compat", str(make()), "-o", "set", "--input", "u=1", "--show", "y", "--json"))
    assert document["variables"] == ["y"]
    assert document["inputs"] == ["u", "n", "mode", "on"]
    assert sorted(Path(path).name for path in document["wrote"]) == sorted(files_of(Path("set")))
    assert "is not overwritten" in said("compat", str(make()), "-o", "set")


def test_the_inputs_of_a_set_are_read_as_any_table(arm: Path) -> None:
    columns = read_table(arm / "two_link_in.csv", jumps=True)
    assert list(columns) == ["time", "shoulder.tau", "elbow.tau"]
    assert columns["shoulder.tau"] == pytest.approx(20 * np.sin(15 * columns["time"]), abs=1e-13)

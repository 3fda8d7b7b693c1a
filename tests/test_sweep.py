"""Sweeps: every point gives a row, whatever happens to the workers, and the row is what a run alone gives."""

import csv
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import extra, thorough

import mbfmu
from mbfmu import cli
from mbfmu.analysis.study import Row, cluster
from mbfmu.analysis.study.measures import measure
from mbfmu.analysis.study.points import points
from mbfmu.analysis.study.subjects import Study, model_subject
from mbfmu.analysis.study.table import StudyTable
from mbfmu.base.files import kept_for_itself
from mbfmu.base.result import Result
from mbfmu.errors import MbfmuError, StartError, UnknownNameError, UsageError
from mbfmu.model import Block, Defined, Parameter, State, System
from mbfmu.run.inputs import courses, formulas

dask, distributed = extra("dask", "sweep"), extra("distributed", "sweep")

MEASURES = {"top": "max(elbow.phi)", "end": "last(shoulder.phi)", "energy": "ptp(energy.total)"}
STOP = 0.2
LENGTHS = (0.5, 0.8, 1.1)
TOP = "--measure top=max(elbow.phi)"
INTERRUPTED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored if the tests run in the background
from mbfmu.cli import main
main()
"""


@pytest.fixture(scope="module")
def scheduler() -> Iterator[distributed.LocalCluster]:
    """A scheduler with two worker processes, which are started again if they die."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs="CRITICAL"
        ) as found,
    ):
        yield found


def alone(source: Any, row: Row, **choices: Any) -> dict[str, float]:
    """Return the measures of a run of its own."""
    result = mbfmu.simulate(source, STOP, values=row.values, **choices)
    return {
        "top": result["elbow.phi"].max(),
        "end": result["shoulder.phi"][-1],
        "energy": np.ptp(result["energy.total"]),
    }


# -- rows are runs ---------------------------------------------------------------------------------------------------


def test_every_row_is_what_a_run_alone_gives(two_link: System, scheduler: distributed.LocalCluster) -> None:
    choices: dict[str, Any] = {"stepper": "lobatto", "step": 2e-3, "inputs": {"shoulder.tau": "3*sin(9*time)"}}
    rows = mbfmu.sweep(
        two_link, STOP, measures=MEASURES, vary={"l1": LENGTHS, "elbow.phi": (0.0, 0.4), "link2.m": (1.7,)},
        scheduler=scheduler.scheduler_address, **choices,
    )  # fmt: skip
    assert [tuple(row.values.values()) for row in rows] == [(a, b, 1.7) for a in LENGTHS for b in (0.0, 0.4)]
    assert len({row.measures["top"] for row in rows}) == len(rows)
    for row in rows:
        assert row.failure == ""
        assert row.measures == alone(two_link, row, **choices)


TOGETHER: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "held": ("elbow.phi", {"step": 2e-3}, {"shoulder.tau": 0.4}),
    "table": ("elbow.phi", {"stepper": "rattle"}, {"shoulder.tau": lambda time: 3.0 * np.floor(40 * time)}),
    "formula": ("energy.total", {"step": 0.01}, {"elbow.tau": "sin(30*time)"}),
    "history": ("shoulder.w", {"stepper": "block"}, {"elbow.tau": lambda time: np.cos(20 * time)}),
}
"""An output, how the runs are made, and inputs: held, along lines, by an expression, with a multistep method."""


@pytest.mark.parametrize("case", TOGETHER)
def test_rows_made_together_are_rows_made_alone(two_link: System, case: str) -> None:
    name, choices, inputs = TOGETHER[case]
    wanted = [measure("a", f"max({name})"), measure("b", f"mean({name})"), measure("c", "last(elbow.tau)")]
    usual = {"stepper": None, "options": {}, "step": 1e-3, "tolerance": 0.0, "coordinates": None}
    given = courses(inputs, False)
    values = [{"l1": l1, "elbow.phi": phi} for l1 in (0.5, 0.9, -1.0, 1.3) for phi in (0.0, 0.4, 1e300)]
    chosen = {**usual, **choices, "formulas": formulas(given)}
    subject = model_subject(two_link, ("l1", "elbow.phi"), wanted, chosen, (0.5, 0.0), 0.15, 0.01, given)
    assert subject.open_many()
    found = Study(subject, wanted, together=True).rows(values)
    assert found == [Study(subject, wanted).row(item) for item in values]
    assert sum(not row.failure for row in found) == 6


def test_a_row_with_an_output_that_is_not_finite_fails_together_as_alone() -> None:
    """Whatever output a measure takes: that of x(t) = exp(-t) is finite, and another one is not from t = b on."""
    block = Block(
        "pole",
        states=(State("x", "-x", start=1.0),),
        defined=(Defined("y", "sqrt(b - time)", output=True),),
        parameters=(Parameter("b", 1.0, "s"),),
    )
    usual = {"stepper": "projected", "options": {}, "step": 1e-2, "tolerance": 0.0, "coordinates": None, "formulas": {}}
    wanted = [measure("end", "last(x)")]
    subject = model_subject(block, ("b",), wanted, usual, (1.0,), 0.5, 0.1, {})
    assert subject.open_many()
    values = [{"b": b} for b in (1.0, 0.25, 2.0, 0.45, 3.0)]
    found = Study(subject, wanted, together=True).rows(values)
    assert found == [Study(subject, wanted).row(item) for item in values]
    assert ["not finite: y" in row.failure for row in found] == [False, True, False, True, False]
    assert found[0].measures["end"] == pytest.approx(math.exp(-0.5), abs=1e-8)


def test_rows_of_an_fmu_with_resets_between_are_what_a_new_instance_gives(
    two_link_fmu: Path, scheduler: distributed.LocalCluster
) -> None:
    vary = {"l1": (0.5, -1.0, 1.1, 0.8), "shoulder.phi": (0.0, 0.3)}
    rows = mbfmu.sweep(two_link_fmu, STOP, measures=MEASURES, vary=vary, scheduler=scheduler.scheduler_address)
    good = [row for row in rows if row.values["l1"] > 0]
    assert len(good) == 6
    for row in good:
        assert row.measures == alone(two_link_fmu, row)
    for row in rows:
        if row not in good:
            assert row.measures == {}
            assert row.failure.startswith(f"'{two_link_fmu}': l1 = -1.0: outside its bounds")


def test_a_run_that_fails_is_a_row_with_its_message(scheduler: distributed.LocalCluster) -> None:
    model = mbfmu.load("four_bar")
    rows = mbfmu.sweep(
        model, STOP, measures={"e": "max(energy.total)"}, vary={"l1": (0.1, 9.0, -1.0)},
        scheduler=scheduler.scheduler_address,
    )  # fmt: skip
    assert [bool(row.failure) for row in rows] == [False, True, True]
    with pytest.raises(StartError) as told:
        mbfmu.simulate(model, STOP, values={"l1": 9.0})
    assert rows[1].failure == str(told.value)
    assert "outside its bounds" in rows[2].failure


def test_processes_of_its_own_give_the_same_rows(two_link: System, scheduler: distributed.LocalCluster) -> None:
    there, here = (
        mbfmu.sweep(two_link, STOP, measures=MEASURES, vary={"l1": LENGTHS}, **where)
        for where in ({"scheduler": scheduler.scheduler_address}, {"workers": 1})
    )
    assert there == here


# -- no row is lost --------------------------------------------------------------------------------------------------


def test_every_row_is_there_though_a_worker_is_killed_in_the_middle(
    two_link: System, scheduler: distributed.LocalCluster, tmp_path: Path
) -> None:
    with distributed.Client(scheduler, set_as_default=False) as client:
        before = set(client.run(os.getpid).values())
    victims = sorted(before)[:1]

    def kill(fraction: float) -> None:
        if fraction > 0.3 and victims:
            os.kill(victims.pop(), signal.SIGKILL)

    lengths = np.linspace(0.5, 1.5, 60).tolist()
    rows = mbfmu.sweep(
        two_link, STOP, measures=MEASURES, vary={"l1": lengths}, output=tmp_path / "killed.csv",
        scheduler=scheduler.scheduler_address, progress=kill,
    )  # fmt: skip
    assert victims == []
    with distributed.Client(scheduler, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=30)
        assert set(client.run(os.getpid).values()) != before
    assert [row.values["l1"] for row in rows] == lengths
    assert [row.failure for row in rows] == [""] * len(rows)
    assert rows[17].measures == alone(two_link, rows[17])
    with (tmp_path / "killed.csv").open(encoding="utf-8", newline="") as file:
        assert [float(line["l1"]) for line in csv.DictReader(file)] == lengths


@dataclass(frozen=True)
class Poison:
    """A subject that ends its process at one value."""

    deadly: float

    def open(self) -> Callable[[Mapping[str, float]], Result]:
        """Return the runner."""

        def run(values: Mapping[str, float]) -> Result:
            if values["a"] == self.deadly:
                os._exit(1)
            return Result(np.array([0.0, 1.0]), ("y",), np.array([[0.0], [values["a"]]]))

        return run

    def fingerprint(self) -> str:
        """Return what makes it differ."""
        return str(self.deadly)


@pytest.mark.slow
def test_a_row_that_kills_its_worker_fails_alone(scheduler: distributed.LocalCluster) -> None:
    todo = [(float(number),) for number in range(8)]
    found = cluster.run(
        Study(Poison(3.0), [measure("y", "last(y)")]), ("a",), todo, {}, None, scheduler.scheduler_address, None,
        lambda _: None,
    )  # fmt: skip
    assert set(found) == set(todo)
    for point, row in found.items():
        if point == (3.0,):
            assert row.failure.startswith("the worker failed, KilledWorker")
        else:
            assert (row.measures, row.failure) == ({"y": point[0]}, "")


@dataclass(frozen=True)
class Trail(Poison):
    """A subject that leaves a file in its folder and notes each death before it ends its process."""

    notes: Path = Path()

    def compile(self, _together: bool) -> None:
        """Do nothing."""

    def open(self) -> Callable[[Mapping[str, float]], Result]:
        """Return the runner."""
        folder = Path(tempfile.mkdtemp())
        (folder / "unit.fmu").write_bytes(b"unpacked")

        def run(values: Mapping[str, float]) -> Result:
            if values["a"] == self.deadly:
                with (self.notes / "deaths").open("a", encoding="utf-8") as file:
                    print(folder, file=file)
                os._exit(1)
            return Result(np.array([0.0, 1.0]), ("y",), np.array([[0.0], [values["a"]]]))

        return run


@pytest.mark.slow  # it starts a cluster of its own
def test_a_row_is_given_up_after_two_deaths_and_nothing_unpacked_is_left(tmp_path: Path) -> None:
    study = Study(Trail(3.0, tmp_path), [measure("y", "last(y)")])
    found = cluster.run(study, ("a",), [(1.0,), (3.0,)], {}, None, None, 1, lambda _: None)
    assert found[(1.0,)].failure == ""
    assert "the worker failed" in found[(3.0,)].failure
    folders = [Path(line) for line in (tmp_path / "deaths").read_text(encoding="utf-8").split()]
    assert len(folders) == 2
    assert not any(folder.exists() for folder in folders)


# -- the file --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", thorough(zip([".csv", ".parquet"]), lambda ending: ending == ".csv"))
def test_rows_in_the_file_are_not_run_again(
    ending: str, two_link: System, scheduler: distributed.LocalCluster, tmp_path: Path
) -> None:
    path = tmp_path / f"rows{ending}"

    def study(lengths: tuple[float, ...], **more: Any) -> tuple[list[Row], list[float]]:
        told: list[float] = []
        rows = mbfmu.sweep(
            two_link, STOP, measures=MEASURES, vary={"l1": lengths}, output=path, progress=told.append,
            scheduler=scheduler.scheduler_address, **more,
        )  # fmt: skip
        return rows, told

    first, told = study((0.5, -1.0))
    assert told == [0.5, 1.0]
    both, told = study((-1.0, 0.8, 0.5))
    assert told == [1.0]  # two of three were there
    assert [both[2], both[0]] == first
    assert study((-1.0, 0.8, 0.5)) == (both, [1.0])
    assert study((0.5,)) == (first[:1], [1.0])
    again, told = study((-1.0, 0.8, 0.5), again=True)
    assert (again, told) == (both, [1.0])
    changed = mbfmu.load("two_link", {"m2": 3.0})
    for wrong in ({"stop": 2 * STOP}, {"model": changed}, {"measures": {**MEASURES, "top": "min(elbow.phi)"}}):
        asked: dict[str, Any] = {"model": two_link, "stop": STOP, "measures": MEASURES, **wrong}
        with pytest.raises(UsageError, match="holds another study"):
            mbfmu.sweep(**asked, vary={"l1": (0.5,)}, output=path)
    with pytest.raises(UsageError, match="holds another study"):
        mbfmu.sweep(two_link, STOP, measures=MEASURES, vary={"l1": (0.5,)}, output=path, inputs={"elbow.tau": 0.0})
    with pytest.raises(UsageError, match="holds another table"):
        mbfmu.sweep(two_link, STOP, measures={"top": "max(elbow.phi)"}, vary={"l1": (0.5,)}, output=path)


def fingerprint(model: Any, monkeypatch: pytest.MonkeyPatch, path: Path, **choices: Any) -> str:
    """Return the hash of what all rows of a study share."""
    found: list[str] = []

    def note(_study: Study, _names: Any, todo: Any, _found: Any, table: StudyTable, *_: Any) -> dict[Any, Any]:
        found.append(table.study)
        return dict.fromkeys(todo)

    monkeypatch.setattr("mbfmu.analysis.study.run", note)
    mbfmu.sweep(model, STOP, measures={"s": "last(elbow.phi)"}, vary={"l1": (0.5,)}, output=path, **choices)
    return found[0]


def test_studies_whose_inputs_start_otherwise_are_different_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [
        fingerprint(mbfmu.load("two_link", {"elbow.tau": tau}), monkeypatch, tmp_path / "a.csv") for tau in (3, 30, 3)
    ]
    assert found[0] == found[2] != found[1]
    given = [
        fingerprint(
            mbfmu.load("two_link", {"elbow.tau": tau}), monkeypatch, tmp_path / "a.csv", inputs={"elbow.tau": 1.0}
        )
        for tau in (3, 30)
    ]
    assert given[0] == given[1]  # what is given replaces the start


@pytest.mark.parametrize("packed", [False, True])
def test_studies_whose_functions_differ_at_any_step_are_different_ones(
    packed: bool, two_link: System, two_link_fmu: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pulse(start: float) -> Callable[[float], float]:
        return lambda time: 50.0 if start <= time < start + 9e-4 else 0.0

    found = [
        fingerprint(
            two_link_fmu if packed else two_link, monkeypatch, tmp_path / "a.csv", inputs={"elbow.tau": pulse(start)}
        )
        for start in (0.0505, 0.1005, 0.0505)
    ]
    assert found[0] == found[2] != found[1]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_table_reads_back_exactly(ending: str, tmp_path: Path) -> None:
    table = StudyTable(tmp_path / f"t{ending}", ("a", "b"), ("top",), "0f")
    rows = [Row({"a": 0.1, "b": 1 / 3}, {"top": np.pi}), Row({"a": -1e-300, "b": 2.0}, {}, 'it "failed", twice')]
    table.write(rows)
    assert list(table.read().values()) == rows
    assert list(tmp_path.iterdir()) == [table.path]


@pytest.mark.parametrize("content", [b"", b"\xff", b"a,top,failure,study\n1\n", b"a,top,failure,study\nx,1,,0f\n"])
def test_a_file_that_is_no_table_is_refused_and_left(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(MbfmuError, match=r"t\.csv"):
        StudyTable(path, ("a",), ("top",), "0f").read()
    assert path.read_bytes() == content


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a process group is a POSIX matter")
def test_an_interrupted_study_keeps_its_rows_and_says_that_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, scratch = tmp_path / "rows.csv", tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    command = f"{TOP} --vary l1=0.5:1.5:4000 --stop 0.1 --workers 2 -o {path}"
    running = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, "sweep", "two_link", *command.split()],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    while running.poll() is None and (not path.exists() or path.read_text(encoding="utf-8").count("\n") < 2):
        time.sleep(0.1)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to the command and its workers
    said = f"mbfmu: interrupted: the same command continues from the rows in '{path}'\n"
    assert running.communicate(timeout=60) == ("", said)
    assert running.returncode == 130
    assert list(scratch.iterdir()) == []
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 1
    assert all(float(row["top"]) >= 0 and row["failure"] == "" for row in rows)


def test_two_runs_do_not_write_to_one_table_at_once(tmp_path: Path, two_link: System) -> None:
    path = tmp_path / "rows.csv"
    with kept_for_itself(path):
        assert [item.name for item in tmp_path.iterdir()] == [".rows.csv.lock"]
        with pytest.raises(UsageError, match=r"another run writes to '.*rows\.csv': wait for its end, or name"):
            mbfmu.sweep(two_link, 0.1, measures={"top": "max(elbow.phi)"}, vary={"l1": (1.0,)}, output=path)
    assert list(tmp_path.iterdir()) == []
    with kept_for_itself(tmp_path / "no" / "folder.csv"):  # the table says so when it is written
        pass


def test_processes_that_do_not_start_and_a_scheduler_that_is_lost_are_one_line(
    tmp_path: Path, two_link: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.csv"
    wanted: Any = {"measures": {"top": "max(elbow.phi)"}, "vary": {"l1": (1.0, 2.0)}, "output": path}

    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("Nanny failed\nto start.")

    with monkeypatch.context() as patch:
        patch.setattr("distributed.LocalCluster", fail)
        with pytest.raises(MbfmuError, match=r"^the 2 processes .* \(Nanny failed to start\.\): take fewer"):
            mbfmu.sweep(two_link, 0.1, workers=2, **wanted)

    def lost(*_: Any) -> Iterator[Any]:
        yield (1.0,), Row({"l1": 1.0}, {"top": 0.5})
        raise OSError("Timed out during handshake")

    monkeypatch.setattr(cluster, "_rows", lost)
    monkeypatch.setattr(cluster, "_client", lambda *_: nullcontext())
    with pytest.raises(MbfmuError, match=r"^the connection to the Dask scheduler was lost; the same"):
        mbfmu.sweep(two_link, 0.1, **wanted)
    with path.open(encoding="utf-8", newline="") as file:
        assert [row["top"] for row in csv.DictReader(file)] == ["0.5"]


# -- points and measures ---------------------------------------------------------------------------------------------


def test_points_are_every_combination_with_every_sample() -> None:
    names, found = points({"a": (1.0, 2.0), "b": (3.0,)}, 4, {"c": "uniform(5,6)"}, 0)
    assert names == ("a", "b", "c")
    assert [point[:2] for point in found] == [(1.0, 3.0)] * 4 + [(2.0, 3.0)] * 4
    assert [point[2] for point in found[:4]] == [point[2] for point in found[4:]]
    assert all(5 <= point[2] < 6 for point in found)


def test_more_samples_begin_with_the_same_ones_and_names_draw_for_themselves() -> None:
    drawn = {"a": "normal(3,0.5)", "b": "normal(3,0.5)"}
    _, few = points({}, 10, drawn, 7)
    _, many = points({}, 4000, drawn, 7)
    assert many[:10] == few
    a, b = np.array(many).T
    for column in (a, b):
        assert abs(column.mean() - 3) < 0.05
        assert abs(column.std() - 0.5) < 0.05
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.05
    assert points({}, 10, drawn, 8)[1] != few


def test_measures_take_unequal_intervals_into_account() -> None:
    time = np.array([0.0, 1.0, 1.5, 3.0])
    result = Result(time, ("y",), 2 * time[:, None] - 1)
    found = {name: measure("m", f"{name}(y)").of(result) for name in ("max", "min", "last", "mean", "ptp")}
    assert found == {"max": 5.0, "min": -1.0, "last": 5.0, "mean": 2.0, "ptp": 6.0}
    assert measure("m", "rms( y )").of(Result(time, ("y",), np.full((4, 1), -2.0))) == 2.0


# -- mistakes --------------------------------------------------------------------------------------------------------

SWEEP = "sweep two_link --stop 1 -o out.csv"
MISTAKES = {
    f"{SWEEP} {TOP}": "nothing is varied",
    f"{SWEEP} --vary l1=1:2:3": "Missing option '--measure'",
    f"{SWEEP} {TOP} --vary l1=1:2": "'l1=1:2' is not NAME=START:STOP:N",
    f"{SWEEP} {TOP} --vary l1=1:2:0": "N at least 1",
    f"{SWEEP} {TOP} --vary l1=1:nan:2": "must be finite",
    f"{SWEEP} {TOP} --vary l3=1:2:3": "'two_link' has no parameter or start value 'l3'; did you mean",
    f"{SWEEP} {TOP} --vary elbow.tau=1:2:3": "'elbow.tau' of 'two_link' is an input, the same in all runs",
    f"{SWEEP} {TOP} --vary l1=1:2:3 --output-interval 0": "the output interval is 0.0 s",
    f"{SWEEP} {TOP} --sample 3": "go together",
    f"{SWEEP} {TOP} --distribution l1=normal(1,0.1)": "go together",
    f"{SWEEP} {TOP} --sample 3 --distribution l1=normal(1,-0.1)": "is not a distribution",
    f"{SWEEP} {TOP} --sample 3 --distribution l1=gamma(1,2)": "is not a distribution",
    f"{SWEEP} {TOP} --vary l1=1:2:3 --sample 3 --distribution l1=normal(1,0.1)": "'l1' is varied and drawn",
    f"{SWEEP} --vary l1=1:2:3 --measure top=most(elbow.phi)": "with one of max, min, last, mean, rms, ptp",
    f"{SWEEP} --vary l1=1:2:3 --measure top=max(elbow.ph)": "no output 'elbow.ph'; did you mean 'elbow.phi'",
    f"{SWEEP} --vary l1=1:2:3 --measure l1=max(elbow.phi)": "take another label",
    f"{SWEEP} --vary l1=1:2:3 --measure failure=max(elbow.phi)": "take another label",
    f"{SWEEP} {TOP} --vary l1=1:2:3 --input foo=1": "no input 'foo'",
    f"{SWEEP} {TOP} --vary l1=1:2:3 --scheduler tcp://127.0.0.1:1 --workers 2": "a scheduler has its own workers",
    f"{SWEEP} {TOP} --vary l1=1:2:3 --scheduler nonsense://127.0.0.1:1": "no Dask scheduler answers",
    f"sweep two_link --stop 1 -o out.txt {TOP} --vary l1=1:2:3": "'out.txt' must end in .csv or .parquet",
    f"sweep two_link --stop 1 -o file/out.csv {TOP} --vary l1=1:2:3": "cannot write 'file/out.csv'",
    f"sweep two_link --stop -1 -o out.csv {TOP} --vary l1=1:2:3": "the stop time is -1.0 s",
    "sweep chain --stop 1 -o out.csv --vary N=2:4:3 --measure e=max(energy.total)": "'N' of 'chain' is structural",
    f"sweep missing.fmu --stop 1 -o out.csv {TOP} --vary l1=1:2:3": "no FMU 'missing.fmu'",
}


@pytest.mark.parametrize("arguments", thorough(zip(MISTAKES), lambda arguments: "file/out.csv" not in arguments))
def test_a_mistake_ends_in_one_clear_line_and_leaves_no_file(
    arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["mbfmu", *arguments.split()])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code in {1, 2}
    out, err = capfd.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("mbfmu: ")
    assert MISTAKES[arguments] in line
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_an_fmus_calculated_variable_cannot_be_varied(two_link_fmu: Path) -> None:
    for name, error in (("energy.total", UsageError), ("l9", UnknownNameError)):
        with pytest.raises(error, match=name):
            mbfmu.sweep(two_link_fmu, STOP, measures=MEASURES, vary={name: (1.0,)})


def test_what_is_varied_is_given_in_one_way(two_link_fmu: Path) -> None:
    for name, more in (("elbow.tau", {"inputs": {"elbow.tau": 1.0}}), ("solver.step", {"step": 1e-3})):
        with pytest.raises(UsageError, match=f"'{name}' is varied,? and"):
            mbfmu.sweep(two_link_fmu, STOP, measures=MEASURES, vary={name: (1e-3, 2e-3)}, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("interval", [0.0, float("nan")])
def test_an_impossible_output_interval_is_refused_before_the_runs(
    packed: bool, interval: float, two_link: System, two_link_fmu: Path
) -> None:
    with pytest.raises(UsageError, match="the output interval is"):
        mbfmu.sweep(
            two_link_fmu if packed else two_link, STOP, measures=MEASURES, vary={"l1": (1.0,)}, output_interval=interval
        )


@pytest.mark.parametrize(
    "values",
    [np.ones((2, 2)), np.array(["a"]), [10**400], np.array([1 + 1j]), np.ma.masked_array([1.0, 2.0], [0, 1]), []],
    ids=["matrix", "texts", "too large", "complex", "masked", "none"],
)
def test_what_is_no_list_of_finite_numbers_cannot_be_varied_over(values: Any, two_link: System) -> None:
    with pytest.raises(UsageError, match=r"'l1' is varied over .* needs a list of finite numbers"):
        mbfmu.sweep(two_link, STOP, measures=MEASURES, vary={"l1": values})


def test_a_seed_is_not_negative(two_link: System) -> None:
    with pytest.raises(UsageError, match="the seed is -1"):
        mbfmu.sweep(two_link, STOP, measures=MEASURES, sample=2, distributions={"l1": "normal(1,.1)"}, seed=-1)


@pytest.mark.parametrize("library", ["distributed", "pyarrow"])
def test_a_missing_library_is_named_with_the_way_to_install_it(
    library: str, two_link: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(UsageError, match=rf"{library}.*pip install .*\[sweep\]"):
        mbfmu.sweep(two_link, STOP, measures=MEASURES, vary={"l1": LENGTHS})


@pytest.mark.slow
def test_the_command_writes_the_table_and_says_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--vary", "l1=-0.5:0.5:2", "--set", "m2=2", "--stop", "0.1", "--measure", "top=max(elbow.phi)"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["mbfmu", "sweep", "two_link", *arguments, "-o", "out.csv", "--workers", "1"])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 0
    out, err = capfd.readouterr()
    assert "1 of 2 runs of 0.1 s" in out
    assert "wrote out.csv (" in out
    assert "1 of 2 runs failed, the first: l1 = -0.5 is outside its bounds" in err
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        failed, good = csv.DictReader(file)
    assert (failed["top"], good["failure"]) == ("", "")
    run = mbfmu.simulate(mbfmu.load("two_link", {"m2": 2.0, "l1": 0.5}), 0.1)
    assert float(good["top"]) == run["elbow.phi"].max()

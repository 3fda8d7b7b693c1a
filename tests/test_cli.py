"""The command line: what works, and the one line a mistake is worth."""

import importlib.util
import io
import json
import math
import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from harness import thorough
from rich.console import Console

import mbfmu
from mbfmu import cli
from mbfmu.base import extras
from mbfmu.base.result import Result, read_table
from mbfmu.cli import console, simulate
from mbfmu.errors import MbfmuError
from mbfmu.model.library import known_models
from mbfmu.stepper import FAMILIES

PNG = b"\x89PNG\r\n\x1a\n"
MODELS = {
    "syntax.py": "x = 1\ndef syntax(:\n    pass\n",
    "nul.py": "x = 1\0\n",
    "raises.py": "def helper():\n    return 1 / 0\n\n\ndef raises():\n    return helper()\n",
    "lines.py": 'def lines():\n    raise ValueError("one\\ntwo\\n\\nthree")\n',
    "leaves.py": 'import sys\n\n\ndef leaves():\n    sys.exit("bye")\n',
    "number.py": "def number():\n    return 3\n",
    "empty.py": "",
    "imports.py": "import there_is_no_such_module\n",
    "model.urdf": "<robot/>",
    "bad.toml": "model = [",
    "odd.toml": 'model = "two_link"\nsteper = "gauss"\n',
    "kind.toml": 'model = "two_link"\nstep = "1 ms"\n',
    "none.toml": "step = 1e-3\n",
    "junk.fmu": "no ZIP file",
    "other.csv": "time,other\n0,1\n1,2\n",
    "text.csv": "time,shoulder.tau\n0,1\n1,two\n",
    "file": "in the way of a folder",
}
"""Files a user may have lying about."""


def run(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `mbfmu ARGUMENTS` with its output piped."""
    command = [sys.executable, "-m", "mbfmu", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, timeout=100, check=False, env={**os.environ, **environment}
    )


def done_apart(*arguments: str, cwd: Path, **environment: str) -> str:
    """Run a command that works and says nothing on stderr in a process of its own; return what it says on stdout."""
    found = run(*arguments, cwd=cwd, **environment)
    assert (found.returncode, found.stderr) == (0, "")
    return found.stdout


class Called(NamedTuple):
    """How a call of the command line ended."""

    status: int
    stdout: str
    stderr: str


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Called]:
    """Run `mbfmu ARGUMENTS` in this process, for speed; an exception that leaves it fails the test."""
    monkeypatch.setattr("webbrowser.open", lambda _: True)

    def in_this_process(*arguments: str, cwd: Path) -> Called:
        monkeypatch.chdir(cwd)
        monkeypatch.setattr(sys, "argv", ["mbfmu", *arguments])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        code = caught.value.code
        assert code is None or isinstance(code, int)
        return Called(code or 0, *capfd.readouterr())

    return in_this_process


@pytest.fixture
def done(call: Callable[..., Called]) -> Callable[..., str]:
    """Run a command that works and says nothing on stderr in this process; return what it says on stdout."""

    def in_this_process(*arguments: str, cwd: Path) -> str:
        found = call(*arguments, cwd=cwd)
        assert (found.status, found.stderr) == (0, "")
        return found.stdout

    return in_this_process


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with the files a user may have lying about."""
    for name, text in MODELS.items():
        (tmp_path / name).write_bytes(text.encode())
    (tmp_path / "latin.py").write_bytes(b"# caf\xe9\n")
    (tmp_path / "folder").mkdir()
    return tmp_path


# -- what works -----------------------------------------------------------------------------------------------------


def test_the_version_tells_the_package_python_casadi_compiler_platform_and_extras(tmp_path: Path) -> None:
    lines = done_apart("--version", cwd=tmp_path).splitlines()
    assert lines[0] == f"mbfmu {mbfmu.__version__}"
    assert lines[1].startswith(f"Python {platform.python_version()} (")
    assert lines[2] == f"CasADi {version('casadi')}"
    assert re.fullmatch(r"C compiler: /\S+, .*\d+\.\d+.*", lines[3])
    assert lines[4].startswith("platform: ")
    assert {"cross", "sweep", "view"} <= set(lines[5].removeprefix("extras: ").split(", "))


def test_the_console_script_is_the_module(tmp_path: Path, done: Callable[..., str]) -> None:
    script = Path(sys.executable).with_name("mbfmu")
    found = subprocess.run([script, "--version"], capture_output=True, text=True, cwd=tmp_path, timeout=60, check=True)
    texts = (found.stdout, done("--version", cwd=tmp_path))
    one, other = (re.sub(r"/python[\d.]*", "/python", text) for text in texts)  # an environment has several names of it
    assert one == other


@pytest.mark.parametrize("arguments", [(), ("--help",)])
def test_help_names_every_command(arguments: tuple[str, ...], tmp_path: Path, call: Callable[..., Called]) -> None:
    found = call(*arguments, cwd=tmp_path)
    for command in ("demo", "list", "export", "simulate", "check"):
        assert re.search(rf"\b{command}\b", found.stdout + found.stderr)


def test_every_command_stands_in_one_panel_of_the_help() -> None:
    assert sorted(" ".join(cli.PANELS.values()).split()) == sorted(cli.COMMANDS)


@pytest.mark.parametrize("command", ["demo", "list", "export", "simulate", "check"])
def test_every_command_explains_itself(command: str, tmp_path: Path, done: Callable[..., str]) -> None:
    assert "Usage:" in done(command, "--help", cwd=tmp_path)


def test_export_writes_an_fmu_that_check_passes(tmp_path: Path, done: Callable[..., str]) -> None:
    assert done("export", "two_link", cwd=tmp_path).startswith("wrote two_link.fmu (")
    first, *rules = done("check", "two_link.fmu", cwd=tmp_path).splitlines()
    assert first.startswith("two_link.fmu: no problem; ")
    assert {line.split()[0] for line in rules} == {"pass", "n/a"}
    assert [path.name for path in tmp_path.iterdir()] == ["two_link.fmu"]


def test_export_takes_every_choice(tmp_path: Path, done: Callable[..., str]) -> None:
    text = "--stepper gauss --option stages=2 --step 5e-4 --stop 3 --set l1=1.25 --set shoulder.phi=-0.5"
    choices = shlex.split(text)
    done("export", "two_link", "-o", "deeper/arm.fmu", *choices, cwd=tmp_path)
    expected = mbfmu.export(
        mbfmu.load("two_link").with_values({"l1": 1.25, "shoulder.phi": -0.5}),
        tmp_path / "same.fmu",
        stepper="gauss",
        options={"stages": 2},
        step=5e-4,
        stop=3.0,
    )
    assert (tmp_path / "deeper" / "arm.fmu").read_bytes() == expected.read_bytes()


def test_export_reads_a_recipe_and_the_command_line_goes_before_it(tmp_path: Path, done: Callable[..., str]) -> None:
    text = 'model = "two_link"\nstepper = "gauss"\nstep = 5e-4\n[options]\nstages = 2\n[values]\nl1 = 1.25\n'
    (tmp_path / "arm.toml").write_text(text, encoding="utf-8")
    done("export", "arm.toml", "--step", "2e-3", cwd=tmp_path)
    system = mbfmu.load("two_link").with_values({"l1": 1.25})
    expected = mbfmu.export(system, tmp_path / "same.fmu", stepper="gauss", options={"stages": 2}, step=2e-3)
    assert (tmp_path / "arm.fmu").read_bytes() == expected.read_bytes()


def test_export_finds_a_recipe_by_name(tmp_path: Path, done: Callable[..., str]) -> None:
    done("export", "two_link_rattle", cwd=tmp_path)
    expected = mbfmu.export(mbfmu.load("two_link"), tmp_path / "same.fmu", stepper="rattle", step=1e-3, stop=10.0)
    assert (tmp_path / "two_link_rattle.fmu").read_bytes() == expected.read_bytes()


def test_simulate_writes_numbers_and_a_picture(tmp_path: Path, done: Callable[..., str]) -> None:
    given = "--stop 0.2 --output-interval 0.01 --step 5e-4 --set world.g=1.62 --input 'shoulder.tau=2*sin(time)'"
    choices = shlex.split(given)
    text = done("simulate", "two_link", *choices, "-o", "out.csv", "--plot", "out.png", cwd=tmp_path)
    assert "shoulder.phi" in text
    assert "400 steps" in text
    assert re.fullmatch(r"wrote out\.csv \(\d+ kB\), out\.png \(\d+ kB\)", text.splitlines()[-1])
    expected = mbfmu.simulate(
        mbfmu.load("two_link"),
        0.2,
        output_interval=0.01,
        step=5e-4,
        values={"world.g": 1.62},
        inputs={"shoulder.tau": "2*sin(time)"},
    )
    columns = read_table(tmp_path / "out.csv")
    assert list(columns) == ["time", *expected.names]
    assert all((columns[name] == expected[name]).all() for name in columns)
    assert (tmp_path / "out.png").read_bytes().startswith(PNG)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no /dev/stdout")
def test_a_table_that_goes_to_the_standard_output_is_alone_there(tmp_path: Path) -> None:
    found = run("simulate", "two_link", "--stop", "0.01", "-o", "/dev/stdout", cwd=tmp_path)
    assert found.returncode == 0
    lines = found.stdout.splitlines()
    assert lines[0].startswith("time,shoulder.tau,")
    assert len(lines) == 12
    assert lines[-1].startswith("0.01,")
    assert "shoulder.phi" in found.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".mat", ".npz"])
def test_simulate_writes_the_format_that_the_ending_names_and_view_reads_it(
    ending: str, tmp_path: Path, done: Callable[..., str]
) -> None:
    done("simulate", "two_link", "--stop", "0.01", "-o", f"run{ending}", cwd=tmp_path)
    expected = mbfmu.simulate(mbfmu.load("two_link"), 0.01)
    columns = read_table(tmp_path / f"run{ending}")
    assert list(columns) == ["time", *expected.names]
    assert all((columns[name] == expected[name]).all() for name in columns)
    done("view", f"run{ending}", "-o", "page.html", cwd=tmp_path)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert all(f'"name": "{body}"' in page for body in ("link1", "link2"))


def variables(text: str) -> list[str]:
    """Return the names in a table of results, from the top."""
    return [line.split("│")[1].strip() for line in text.splitlines() if line.startswith("│")]


MONITORED = ["energy.total", "constraint.position", "constraint.velocity"]


def test_the_table_shows_what_is_driven_and_measured_first(tmp_path: Path, done: Callable[..., str]) -> None:
    motions = ["shoulder.phi", "shoulder.w", "elbow.phi", "elbow.w"]
    driven = done("simulate", "two_link", "--stop", "0.01", "--input", "elbow.tau=1", cwd=tmp_path)
    assert variables(driven) == ["elbow.tau", *motions, *MONITORED]
    measured = variables(done("simulate", "quarter_car", "--stop", "0.2", cwd=tmp_path))
    assert measured[:3] == ["tyre.f", "spring.f", "damper.f"]
    assert measured[3:7] == ["suspension.s", "suspension.v", "hub.s", "hub.v"]  # the joint with a drive first


def test_the_page_of_a_mode_is_called_by_model_and_mode_once(tmp_path: Path, done: Callable[..., str]) -> None:
    done("modes", "quarter_car", "--animate", "page.html", "--mode", "2", cwd=tmp_path)
    assert "<title>quarter_car: mode 2</title>" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_what_the_table_has_no_room_for_is_counted(tmp_path: Path, done: Callable[..., str]) -> None:
    text = done("simulate", "chain", "--set", "N=8", "--stop", "0.01", cwd=tmp_path)
    assert len(variables(text)) == 12 + len(MONITORED)
    assert "and 4 more: choose by --show NAME,..." in text


def test_round_off_is_shown_as_zero_and_a_small_number_that_is_none_as_it_is() -> None:
    time = np.array([0.0, 1.0, 2.0])
    columns = {"a.s": [1.0, -2e-25, 3.0], "b.s": [1e-17, 0.0, 1e-9], "valve.q": [1e-19, 2e-19, -3e-19]}
    columns["constraint.position"] = [0.0, 1e-18, 2e-18]
    units = {"a.s": "m", "b.s": "m", "valve.q": "m3/s", "constraint.position": "1"}
    result = Result(time, tuple(columns), np.array(list(columns.values())).T, units)
    (rows, *_) = simulate.table(result)
    assert not isinstance(rows, str)
    shown = {name: cells for name, _, *cells in zip(*(column._cells for column in rows.columns), strict=True)}
    assert shown["a.s"] == ["3", "0", "3"]
    assert shown["b.s"] == ["1e-09", "0", "1e-09"]
    assert shown["valve.q"] == ["-3e-19", "-3e-19", "2e-19"]
    assert shown["constraint.position"] == ["2e-18", "0", "2e-18"]


def test_names_and_patterns_choose_what_is_shown(tmp_path: Path, done: Callable[..., str]) -> None:
    shown = "link1.r_0[2],elbow.*,energy.total,elbow.phi,*.frame_b.r_0[?]"
    text = done("simulate", "two_link", "--stop", "0.01", "--show", shown, cwd=tmp_path)
    assert variables(text) == [
        "link1.r_0[2]", "elbow.tau", "elbow.phi", "elbow.w", "elbow.a", *(f"elbow.frame_b.f[{k}]" for k in (1, 2)),
        "elbow.frame_b.t", "energy.total", *(f"link{link}.frame_b.r_0[{k}]" for link in (1, 2) for k in (1, 2)),
    ]  # fmt: skip


def test_a_value_may_be_an_expression_of_numbers(tmp_path: Path, done: Callable[..., str]) -> None:
    choices = ("--stop", "0.01", "--set", "shoulder.phi=pi/6", "--set", "elbow.phi=deg(-20)", "--set", "l1=2**0.5")
    done("simulate", "two_link", *choices, "-o", "out.csv", cwd=tmp_path)
    found = read_table(tmp_path / "out.csv")
    assert found["shoulder.phi"][0] == pytest.approx(math.pi / 6, rel=1e-15)
    assert found["elbow.phi"][0] == pytest.approx(math.radians(-20), rel=1e-15)
    assert found["link1.frame_b.r_0[2]"][0] == pytest.approx(math.sqrt(2) / 2, rel=1e-14)


def test_one_start_value_is_freed_and_another_given(tmp_path: Path, done: Callable[..., str]) -> None:
    """The old value chooses the branch; cos phi = (s^2 + l1^2 - l2^2) / (2 s l1)."""
    choices = ("--stop", "0.01", "--set", "slider.s=2.4", "--free", "crank.phi")
    for sign in (1, -1):
        done("simulate", "slider_crank", *choices, "--set", f"crank.phi={sign * 0.9}", "-o", "out.csv", cwd=tmp_path)
        found = read_table(tmp_path / "out.csv")
        assert found["slider.s"][0] == pytest.approx(2.4, abs=1e-12)
        assert found["crank.phi"][0] == pytest.approx(sign * math.acos((2.4**2 - 3) / 4.8), abs=1e-9)


def test_simulate_runs_an_fmu_as_it_runs_the_model(
    two_link_fmu: Path, tmp_path: Path, done: Callable[..., str]
) -> None:
    choices = ("--stop", "0.2", "--output-interval", "0.01", "--set", "shoulder.phi=0.3", "--input", "elbow.tau=2")
    done("simulate", str(two_link_fmu), *choices, "-o", "fmu.csv", cwd=tmp_path)
    done("simulate", "two_link", "--stepper", "rattle", *choices, "-o", "model.csv", cwd=tmp_path)
    one, other = read_table(tmp_path / "model.csv"), read_table(tmp_path / "fmu.csv")
    for name in ("time", "shoulder.phi", "elbow.phi", "shoulder.w", "elbow.w", "elbow.tau"):
        assert other[name] == pytest.approx(one[name], abs=1e-12)


def test_simulate_takes_inputs_from_what_it_wrote(tmp_path: Path, done: Callable[..., str]) -> None:
    first = ("simulate", "two_link", "--stop", "0.1", "--output-interval", "0.01")
    done(*first, "--input", "elbow.tau=3 - 40*time", "-o", "one.csv", cwd=tmp_path)
    done(*first, "--input", "elbow.tau=one.csv", "-o", "two.csv", cwd=tmp_path)
    done(*first, "--input", "elbow.tau=one.csv", "--input-hold", "-o", "held.csv", cwd=tmp_path)
    one, two, held = (read_table(tmp_path / name) for name in ("one.csv", "two.csv", "held.csv"))
    for name in ("elbow.tau", "elbow.phi", "elbow.w"):
        assert two[name] == pytest.approx(one[name], abs=1e-12)
    assert abs(held["elbow.phi"] - one["elbow.phi"]).max() > 1e-5


def test_a_model_file_may_lie_anywhere(tmp_path: Path, done: Callable[..., str]) -> None:
    source = known_models()["two_link"].read_text(encoding="utf-8")
    (tmp_path / "my_arm.py").write_text(source.replace("two_link", "my_arm"), encoding="utf-8")
    done("export", "my_arm.py", cwd=tmp_path)
    assert (tmp_path / "my_arm.fmu").is_file()
    assert "20 steps" in done("simulate", str(tmp_path / "my_arm.py"), "--stop", "0.02", cwd=tmp_path)


@pytest.mark.parametrize(
    ("what", "shown"),
    [("models", "two_link"), ("steppers", "rattle"), ("components", "Revolute"), ("readers", "MJCF")],
)
def test_list_shows_one_kind_or_all(what: str, shown: str, tmp_path: Path, done: Callable[..., str]) -> None:
    assert shown in done("list", what, cwd=tmp_path)
    assert shown in done("list", cwd=tmp_path)


def test_list_names_every_stepper_with_its_options(tmp_path: Path, done: Callable[..., str]) -> None:
    text = done("list", "steppers", cwd=tmp_path)
    for family in mbfmu.steppers().values():
        assert family.name in text
        assert all(option in text for option in family.options)


@pytest.mark.slow
def test_the_demo_exports_checks_runs_and_draws(tmp_path: Path, done: Callable[..., str]) -> None:
    text = done("demo", "-o", str(tmp_path / "demo"), cwd=tmp_path)
    assert "check: no problem" in text
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == [
        "crane.csv",
        "crane.fmu",
        "crane.png",
    ]
    columns = read_table(tmp_path / "demo" / "crane.csv")
    assert columns["time"][-1] == pytest.approx(10.0, abs=1e-9)
    for axis in ("lift", "tilt"):
        assert 1e-6 < abs(columns[f"{axis}.s"] - columns[f"reference.{axis}.s"]).max() < 0.01
    for residual in ("constraint.position", "constraint.velocity"):
        assert 0 < columns[residual].max() < 1e-12  # loops: at round-off (measured 2e-15, 8e-15), and no trivial zero
    assert abs(columns["energy.balance"]).max() < 1e-5 * np.ptp(columns["energy.total"])
    assert (tmp_path / "demo" / "crane.png").read_bytes().startswith(PNG)


# -- what every command has ------------------------------------------------------------------------------------------

RUN = "two_link --stop 0.05 --step 1e-2"
DOCUMENTS = {
    "list": {"models", "steppers", "components", "readers", "wrote"},
    "describe two_link": {
        *("model", "description", "start_fault", "bodies", "joints", "loops", "blocks", "wires", "flexible_bodies"),
        *("frames", "variables", "counts", "wrote"),
    },
    "describe Revolute": {"component", "description", "frames_or_joints", "fields", "wrote"},
    "export two_link": {
        *("model", "backend", "stepper", "options", "step", "tolerance", "stop", "coordinates", "fmi", "wrote"),
    },
    f"simulate {RUN} --stepper direct": {
        "model",
        "stop",
        "steps",
        "seconds",
        "stepper",
        "step",
        "stepper_reason",
        "drift",
        "error",
        "notices",
        "variables",
        "wrote",
    },
    "compare two_link --stop 0.05 --steps 1e-2 --steppers rattle": {
        *("model", "stop", "accuracy", "rows", "advice", "wrote"),
    },
    f"sweep {RUN} --vary l1=-1:1:2 --measure top=max(elbow.phi) -o out.csv --workers 1": {
        *("model", "stop", "rows", "wrote"),
    },
    f"view {RUN}": {"model", "stop", "wrote"},
    f"report {RUN}": {"model", "stop", "wrote"},
    **({"live two_link --stop 0.05": {"model", "stop", "wrote"}} if importlib.util.find_spec("ziglang") else {}),
    "kinematics slider_crank --motion crank.phi=time --stop 0.1": {"model", "variables", "wrote"},
    "kinematics two_link --frame link2 --grid shoulder.phi=0:1:2 --grid elbow.phi=0:1:2": {
        *("model", "frame", "axes", "reached", "position", "regularity", "wrote"),
    },
    "modes two_link --animate page.html --mode 2": {
        *("model", "states", "values", "steady", "stability", "modes", "wrote")
    },
    "bode two_link --frequency 1:2:3 --from shoulder.tau": {
        *("model", "period", "rest", "frequency", "responses", "margins", "wrote"),
    },
    "locus two_link --parameter l1=1:2:2": {
        *("model", "parameter", "unit", "values", "branches", "unstable", "critical", "wrote"),
    },
    "equations two_link": {"model", "sizes", "names", "functions", "wrote"},
    "linearize two_link": {
        *(
            "A",
            "B",
            "C",
            "D",
            "x0",
            "u0",
            "y0",
            "states",
            "inputs",
            "outputs",
            "t0",
            "period",
            "rest",
            "eigenvalues",
            "modes",
            "wrote",
        ),
    },
}
"""Keys of the document that a command prints."""


@pytest.mark.parametrize("arguments", thorough(zip(DOCUMENTS), lambda arguments: not arguments.startswith("sweep")))
def test_json_is_one_document_that_says_what_was_written(
    arguments: str, tmp_path: Path, call: Callable[..., Called]
) -> None:
    found = call(*arguments.split(), "--json", "--quiet", cwd=tmp_path)
    assert (found.status, found.stderr) == (0, "")
    document = json.loads(found.stdout)
    assert set(document) == DOCUMENTS[arguments]
    assert document["wrote"] == [path.name for path in tmp_path.iterdir()]


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_takes_json_and_quiet(name: str, tmp_path: Path, call: Callable[..., Called]) -> None:
    text = call(name, "--help", cwd=tmp_path).stdout
    assert "--json" in text
    assert "--quiet" in text
    assert "bool" not in text.lower()  # a flag takes no value
    assert f"Example: mbfmu {name}" in text


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ("simulate two_lnik --stop 1", "UnknownNameError"),
        ("simulate two_link --stop -1", "UsageError"),
        ("simulate two_link", "UsageError"),
        ("check missing.fmu", "FmuError"),
        ("describe syntax.py", "ModelFileError"),
    ],
)
def test_json_of_a_mistake_is_one_document_with_the_message(
    arguments: str, kind: str, here: Path, call: Callable[..., Called]
) -> None:
    found = call(*arguments.split(), "--json", cwd=here)
    document = json.loads(found.stdout)
    assert set(document) == {"error", "kind"}
    assert document["kind"] == kind
    assert found.status in {1, 2}
    assert found.stderr.startswith(f"mbfmu: {document['error']}")


def test_json_of_a_file_that_cannot_be_written_has_result_and_message(capfd: pytest.CaptureFixture[str]) -> None:
    def fail(path: Path) -> None:
        raise MbfmuError(f"cannot write '{path}': No space left on device")

    def found(_: console.Tell) -> console.Report:
        return console.Report({"value": 1.5}, writes=((Path("found.json"), fail),))

    message = "cannot write 'found.json': No space left on device"
    with pytest.raises(MbfmuError, match=re.escape(message)):
        console.command(found)(as_json=True, quiet=False)
    document = json.loads(capfd.readouterr().out)
    assert document == {"value": 1.5, "wrote": [], "error": message, "kind": "MbfmuError"}


def test_json_has_no_nan() -> None:
    numbers = (math.nan, -math.inf, 1.5)
    assert console.plain({"a": numbers, "b": np.array(numbers), "c": 1 + 2j, "d": np.float64(2), "e": Path("f")}) == {
        "a": [None, None, 1.5], "b": [None, None, 1.5], "c": [1.0, 2.0], "d": 2.0, "e": "f",
    }  # fmt: skip


def test_json_tells_of_a_stepper_that_failed_without_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[..., Called]
) -> None:
    some = {name: family for name, family in mbfmu.steppers().items() if name in {"projected", "rattle"}}
    monkeypatch.setattr("mbfmu.analysis.compare.families", lambda: some)
    given = "compare rolling_disk --stop 0.02 --steps 1e-2 --json"
    rows = json.loads(call(*given.split(), cwd=tmp_path).stdout)["rows"]
    assert all((row["error"] is None) == bool(row["failure"]) for row in rows)
    assert any(row["failure"] for row in rows)


def test_what_a_model_file_prints_is_not_in_the_document(tmp_path: Path, call: Callable[..., Called]) -> None:
    source = known_models()["two_link"].read_text(encoding="utf-8")
    (tmp_path / "two_link.py").write_text(f"print('hello')\n{source}", encoding="utf-8")
    found = call("describe", "./two_link.py", "--json", cwd=tmp_path)
    assert json.loads(found.stdout)["model"] == "two_link"
    assert found.stderr == "hello\n"


def test_quiet_leaves_the_result_and_no_notice(tmp_path: Path, call: Callable[..., Called]) -> None:
    loud, quiet = (call("linearize", "two_link", *more, cwd=tmp_path) for more in ((), ("--quiet",)))
    assert "notice: not an equilibrium" in loud.stderr
    assert (quiet.status, quiet.stdout, quiet.stderr) == (0, loud.stdout, "")


def test_quiet_does_not_hide_a_mistake(tmp_path: Path, call: Callable[..., Called]) -> None:
    assert "did you mean 'two_link'" in call("export", "two_lnik", "--quiet", cwd=tmp_path).stderr


@pytest.mark.parametrize("quiet", [False, True])
def test_a_terminal_shows_a_bar_from_the_beginning_and_quiet_none(quiet: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(console, "err", Console(file=terminal, force_terminal=True))
    shown: list[str] = []

    def long(tell: console.Tell) -> console.Report:
        shown.append(terminal.getvalue())
        tell("half of it", 0.5)
        return console.Report({})

    console.command(long)(as_json=False, quiet=quiet)
    assert ("long" in shown[0], "half of it" in terminal.getvalue()) == (not quiet, not quiet)


# -- what a shell completes ------------------------------------------------------------------------------------------

COMPLETIONS = {
    "mbfmu si": {"simulate"},
    "mbfmu list st": {"steppers"},
    "mbfmu simulate two": {"two_link"},
    "mbfmu export two": {"two_link", "two_link_rattle"},
    "mbfmu simulate two_link --stepper g": {name for name in FAMILIES if name.startswith("g")},
    "mbfmu compare two_link --steppers rattle,ra": {f"rattle,{name}" for name in FAMILIES if name.startswith("ra")},
    "mbfmu simulate two_link --stepper gauss --option st": {f"stages={s}" for s in range(1, 5)},
    "mbfmu simulate two_link --set shoulder.": {"shoulder.phi=", "shoulder.w="},
    "mbfmu simulate two_link --input ": {"shoulder.tau=", "elbow.tau="},
    "mbfmu linearize two_link --output-name shoulder.p": {"shoulder.phi"},
    "mbfmu kinematics two_link --frame link1": {"link1", "link1.frame_b"},
    "mbfmu bode two_link --from ": {"shoulder.tau", "elbow.tau"},
    "mbfmu bode two_link --to elbow.ph": {"elbow.phi"},
    "mbfmu modes two_link --free shoulder.t": {"shoulder.tau"},
    "mbfmu locus two_link --parameter l1": {"l1="},
    "mbfmu simulate two_link --coordinates ": {"absolute", "joint"},
    "mbfmu simulate two_link --coordinates joint:elbow,sh": {"joint:elbow,shoulder"},
    "mbfmu export two_link --backend ": {"python", "native"},
    "mbfmu export two_link --backend native --platform d": {"darwin"},
    "mbfmu check two_link.fmu --skip gui": {"guid", "guid-mismatch"},
    "mbfmu simulate two_link --show elbow.a,shoulder.p": {"elbow.a,shoulder.phi"},
    "mbfmu view stewart --up ": {"x", "y", "z", "-x", "-y", "-z"},
    "mbfmu simulate raises.py --set ": set(),
    "mbfmu simulate --set ": set(),
}
"""What Tab offers after a line."""


@pytest.mark.parametrize("line", COMPLETIONS)
def test_a_shell_completes_names_from_the_tables_and_the_model(
    line: str, here: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[..., Called]
) -> None:
    monkeypatch.setenv("_MBFMU_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    found = call(cwd=here)
    assert (found.status, set(found.stdout.split()), found.stderr) == (0, COMPLETIONS[line], "")


def test_the_completion_of_a_shell_is_for_the_console_script(tmp_path: Path) -> None:
    text = done_apart(cwd=tmp_path, _MBFMU_COMPLETE="source_bash")
    assert "_MBFMU_COMPLETE=complete_bash" in text
    assert text.rstrip().endswith("mbfmu")


# -- what this machine lacks -----------------------------------------------------------------------------------------

GCC = "install gcc"


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine without a compiler, on which nothing ran before."""
    (tmp_path / "bare").mkdir()
    return {"PATH": str(tmp_path / "bare"), "CC": "none", "XDG_CACHE_HOME": str(tmp_path / "bare")}


def test_the_version_tells_how_to_get_a_compiler_where_there_is_none(bare: dict[str, str], tmp_path: Path) -> None:
    line = done_apart("--version", cwd=tmp_path, **bare).splitlines()[3]
    assert line.startswith("C compiler: none: nothing can be run or exported")
    assert GCC in line


@pytest.mark.parametrize(
    "arguments",
    [
        "simulate two_link --stop 0.05",
        pytest.param("compare two_link --stop 0.05 --steps 1e-2", marks=pytest.mark.further),
        pytest.param("export two_link", marks=pytest.mark.further),
        pytest.param(
            "sweep two_link --stop 0.05 --vary l1=1:2:2 --measure top=max(elbow.phi) -o out.csv",
            marks=pytest.mark.further,
        ),
    ],
)
def test_without_a_compiler_a_command_says_what_to_install(
    arguments: str, bare: dict[str, str], tmp_path: Path
) -> None:
    found = run(*arguments.split(), cwd=tmp_path, **bare)
    assert found.returncode
    (line,) = found.stderr.splitlines()
    assert "need a C compiler" in line or "needs zig, no C compiler" in line
    assert "there is none" in line or "no C compiler" in line
    assert GCC in line or "cross" in line


@pytest.mark.parametrize(
    ("library", "extra", "arguments"),
    [
        ("jupyter_threejs_sage", "view", "view two_link --stop 1000"),
        ("distributed", "sweep", "sweep two_link --stop 1 --vary l1=1:2:2 --measure top=max(elbow.phi) -o out.csv"),
        ("pyarrow", "sweep", "sweep two_link --stop 1 --vary l1=1:2:2 --measure top=max(elbow.phi) -o out.csv"),
        ("pyarrow", "sweep", "simulate two_link --stop 1000 -o out.parquet"),
        ("ziglang", "cross", "export two_link --backend native"),
        ("ziglang", "cross", "export two_link --backend native --platform win64"),
    ],
)
def test_a_missing_extra_is_named_with_the_command_that_installs_it(
    library: str,
    extra: str,
    arguments: str,
    bare: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: Callable[..., Called],
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == library else find(name, *more))
    for name, value in bare.items():
        monkeypatch.setenv(name, value)
    found = call(*arguments.split(), cwd=tmp_path)
    assert (found.status, found.stdout) == (1, "")
    line = found.stderr.splitlines()[-1]
    assert not [other for other in found.stderr.splitlines() if not other.startswith("mbfmu: ")]
    assert extras.command(extra) in line
    assert [path.name for path in tmp_path.iterdir()] == ["bare"]


# -- what is piped --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param("export two_link", marks=pytest.mark.further),
        "simulate two_link --stop 0.5",
        pytest.param("list", marks=pytest.mark.further),
        pytest.param("check junk.fmu", marks=pytest.mark.further),
        pytest.param("simulate two_link --stop -1", marks=pytest.mark.further),
        pytest.param("export x", marks=pytest.mark.further),
    ],
)
def test_what_is_piped_has_no_bar_no_colour_and_no_carriage_return(arguments: str, here: Path) -> None:
    found = run(*arguments.split(), cwd=here)
    assert not re.search(r"[\r\x1b\x08]", found.stdout + found.stderr)


def test_a_long_message_stays_on_one_line_however_narrow_the_terminal(here: Path) -> None:
    found = run("simulate", "two_link", "--stop", "1", "--input", "shoulder.tau=sin(", cwd=here, COLUMNS="30")
    assert found.stderr.count("\n") == 1
    assert len(found.stderr) > 100


# -- mistakes -------------------------------------------------------------------------------------------------------

MISTAKES = {
    "export nothing": "no model 'nothing'",
    "describe Revolut": "there is no component 'Revolut'; did you mean 'Revolute'?",
    "export two_lnik": "did you mean 'two_link'",
    "export two_link --stepper ratle": "did you mean 'rattle'",
    "export two_link --stepper gauss --option stage=2": "no option 'stage'; did you mean 'stages'",
    "export two_link --stepper gauss --option stages=9": "stages=9",
    "export two_link --stepper gauss --option stages=two": "stages=two",
    "export two_link --stepper gauss --option stages": "'stages' is not NAME=VALUE",
    "export two_link --set l3=1": "'l3'",
    "export two_link --set l1=nan": "l1 = nan",
    "export two_link --set l1=1e999": "l1 = inf",
    "export two_link --set l1=1/0": "'1/0' is inf: give a finite number",
    "export two_link --set l1=2*l2": "'2*l2' is not a number: there is 'l2' in it",
    "export two_link --set elbow.w=guess(1)": "a rate has no guess",
    "export two_link --free elbow.ph": "did you mean 'phi'",
    "export two_link --free l1": "only start values can be free",
    "simulate junk.fmu --stop 1 --free elbow.phi": "--free goes with export",
    "export two_link --set l1=-1": "l1 = -1.0 is outside its bounds",
    "export two_link --set l1=1,5": "'1,5' is not a number",
    "export two_link --set l1": "'l1' is not NAME=VALUE",
    "export two_link --set l1=1 --set l1=2": "'l1' has two values, 1 and 2: leave one out",
    "export two_link --set =1": "'=1' is not NAME=VALUE",
    "export two_link --step 0": "the step is 0.0 s",
    "export two_link --step -1e-3": "the step is -0.001 s",
    "export two_link --step nan": "the step is nan s",
    "export two_link --stop nan": "stop",
    "export two_link --stop -1": "stop",
    "export two_link -o arm.txt": "'arm.txt' must end in .fmu",
    "export two_link -o folder": "'folder' must end in .fmu",
    "export two_link -o file/arm.fmu": "cannot write 'file/arm.fmu'",
    "export two_link -o file/deeper/arm.fmu": "cannot write 'file/deeper/arm.fmu'",
    "export two_link -o /proc/arm.fmu": "cannot write '/proc/arm.fmu'",
    "export missing.py": "no model file 'missing.py'",
    "export folder/missing.py": "no model file 'folder/missing.py'",
    "export ./folder": "folder",
    "export ./file": "a model file ends in .py",
    "export model.urdf": "a robot has at least one <link>",
    "export syntax.py": "'syntax.py', line 2: ",
    "export nul.py": "null bytes",
    "export latin.py": "latin.py",
    "export raises.py": "'raises.py', line 2: ZeroDivisionError: division by zero",
    "export lines.py": "'lines.py', line 2: ValueError: one",
    "export leaves.py": "'leaves.py'",
    "export number.py": "number() gave a int, not a System",
    "export empty.py": "needs a function 'empty()'",
    "export imports.py": "ModuleNotFoundError",
    "export bad.toml": "bad.toml",
    "export odd.toml": "did you mean 'stepper'",
    "export kind.toml": "step = '1 ms'",
    "export none.toml": "names no model",
    "export missing.toml": "missing.toml",
    "simulate nothing --stop 1": "no model 'nothing'",
    "simulate raises.py --stop 1": "'raises.py', line 2: ZeroDivisionError",
    "simulate two_link --stop 0": "the stop time is 0.0 s",
    "simulate two_link --stop -1": "the stop time is -1.0 s",
    "simulate two_link --stop nan": "the stop time is nan s",
    "simulate two_link --stop 1e308": "stop time",
    "simulate two_link --stop 1 --step 0": "step",
    "simulate two_link --stop 1 --step nan": "step",
    "simulate two_link --stop 1 --output-interval 0": "the output interval is 0.0 s",
    "simulate two_link --stop 1 --output-interval 1e-12": "take a longer one",
    "simulate two_link --stop 1 --set phi=1": "'phi'",
    "simulate two_link --stop 1 --input foo=1": "no input 'foo'",
    "simulate two_link --stop 1 --input shoulder.tau=sin(": "cannot read the expression 'sin('",
    "simulate two_link --stop 1 --input shoulder.tau=2*x": "not of 'x'",
    "simulate two_link --stop 1 --input shoulder.tau=1/time": "not finite at t = 0 s",
    "simulate two_link --stop 1 --input shoulder.tau=1e90": "no step from t = 0 s",
    "simulate two_link --stop 1 --input shoulder.tau=missing.csv": "missing.csv",
    "simulate two_link --stop 1 --input shoulder.tau=other.csv": "no column 'shoulder.tau'",
    "simulate two_link --stop 1 --input shoulder.tau=text.csv": "text.csv",
    "simulate two_link --stop 1 -o folder": "'folder' must end in .csv, .parquet, .mat or .npz",
    "simulate two_link --stop 1 -o out": "'out' must end in .csv, .parquet, .mat or .npz",
    "simulate kind.toml --stop 1 -o kind.toml": "'kind.toml' must end in .csv",
    "simulate two_link --stop 1 --input shoulder.tau=other.csv -o other.csv": "overwrite 'other.csv', which is read",
    "simulate two_link --stop 1 --show elbow.fi": "no variable 'elbow.fi'; did you mean 'elbow.phi'",
    "simulate two_link --stop 1 --show elbow.phi,boom.*": "no variable matches 'boom.*'",
    "simulate two_link --stop 1 -o file/out.csv": "cannot write 'file/out.csv'",
    "simulate two_link --stop 1 --plot out.nonsense": "a figure ends in .png",
    "simulate two_link --stop 1 --plot file/out.png": "cannot write 'file/out.png'",
    "simulate missing.fmu --stop 1": "no FMU 'missing.fmu'",
    "compat missing.fmu -o set": "no FMU 'missing.fmu'",
    "check missing.fmu": "there is no FMU 'missing.fmu'",
    "check folder": "there is no FMU 'folder'",
    "linearize missing.fmu": "there is no FMU 'missing.fmu'",
    "simulate two_link --stop 1 --start missing.json": "start file 'missing.json': No such file or directory",
    "fit two_link --data missing.csv --free l1": "cannot read 'missing.csv': No such file or directory",
    "export gone.toml": "recipe 'gone.toml': No such file or directory",
    "ssp gone.toml -o gone.ssp": "coupling 'gone.toml': No such file or directory",
    "couple gone.toml": "coupling 'gone.toml': No such file or directory",
    "couple junk.fmu": "a coupled run needs --stop T and --step H, s, or a coupling file that has them",
    "compat junk.fmu -o set": "junk.fmu",
    "compat junk.fmu -o file": "'file' is there already",
    "simulate junk.fmu --stop 1": "junk.fmu",
    "simulate junk.fmu --stop 1 --stepper gauss": "has its stepper inside",
    "kinematics two_link": "the frame of a workspace (--frame, --grid)",
    "kinematics two_link --motion shoulder.phi=time --stop 1": "leaves 1 freedom(s) open",
    "kinematics two_link --motion shoulder.phi=time --grid elbow.phi=0:1:2 --stop 1": "give --frame NAME too",
    "kinematics two_link --frame link2 --grid elbow.phi=0:1": "'elbow.phi=0:1' is not NAME=START:STOP:N",
    "kinematics two_link --frame link9 --grid elbow.phi=0:1:2": "has no frame 'link9'",
    "kinematics two_link --frame link2 --grid elbow.phi=0:1:2 --stop 1": "a workspace has no times",
    "modes two_link --mode 2": "give --animate PAGE.html too",
    "modes two_link --animate page.png": "page.png",
    "modes two_link --animate page.html --mode 9": "modes 1 to 2, and no mode 9",
    "modes two_link --animate page.html --mode 0": "modes 1 to 2, and no mode 0",
    "modes two_link --hold shoulder.phi": "'shoulder.phi' is not NAME=VALUE",
    "bode two_link --frequency 1:2": "'1:2' is not LOW:HIGH:N",
    "bode two_link --frequency 0:1:3": "such as 0.1:100:400",
    "bode two_link --from elbow": "no input 'elbow'",
    "bode two_link --to elbow": "no output 'elbow'",
    "bode heavy_top": "has no inputs",
    "bode two_link --period 0": "the period is 0.0 s",
    "locus two_link --parameter l1": "'l1' is not NAME=START:STOP:N",
    "locus two_link --parameter l1=1:2": "'l1=1:2' is not NAME=START:STOP:N",
    "locus two_link --parameter l1=2:1:3": "finite numbers that rise",
    "locus two_link --parameter l3=1:2:3": "'l3'",
    "demo -o file": "cannot write",
    # mistakes that Typer sees
    "frobnicate": "frobnicate",
    "export": "MODEL",
    "export two_link --nonsense": "--nonsense",
    "simulate two_link": "--stop",
    "simulate two_link --stop soon": "--stop",
    "list nonsense": "nonsense",
}


@pytest.mark.parametrize("arguments", MISTAKES)
def test_a_mistake_ends_in_one_clear_line_and_leaves_no_file(
    arguments: str, here: Path, call: Callable[..., Called]
) -> None:
    before = sorted(here.rglob("*"))
    found = call(*arguments.split(), cwd=here)
    assert found.status in {1, 2}
    assert found.stdout == ""
    (line,) = found.stderr.splitlines()
    assert line.startswith("mbfmu: ")
    assert MISTAKES[arguments] in line
    assert all(line.count(name) < 2 for name in ("missing.", "gone.toml"))
    assert sorted(path for path in here.rglob("*") if "__pycache__" not in path.parts) == before


@pytest.mark.parametrize(
    "arguments",
    [
        "simulate two_link --stop 1 --plot out.nonsense",
        "compare two_link --stop 1 --plot out.nonsense",
        "compare two_link --stop 1 -o out.nonsense",
        "simulate two_link --stop 1 -o out.nonsense",
        "linearize two_link -o out.nonsense",
        "bode two_link -o out.nonsense",
        "kinematics two_link --motion elbow.phi=time --stop 1 -o out.nonsense",
        "kinematics two_link --motion elbow.phi=time --stop 1 --plot out.nonsense",
        "bode two_link --plot out.nonsense",
        "locus two_link --parameter l1=1:2:2 -o out.nonsense",
        "locus two_link --parameter l1=1:2:2 --plot out.nonsense",
        "modes two_link --animate out.nonsense",
        "view two_link --stop 1 -o out.nonsense",
    ],
)
def test_a_file_of_no_known_kind_is_refused_before_anything_runs(
    arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[..., Called]
) -> None:
    def run_nothing(*_: object, **__: object) -> None:
        pytest.fail("ran")

    monkeypatch.setattr("mbfmu.kernel.runtime.Compiled.initialize", run_nothing)
    found = call(*arguments.split(), cwd=tmp_path)
    assert found.status == 1
    assert "'out.nonsense'" in found.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        "simulate arm.py --stop 1 -o out.csv",
        "simulate arm.py --stop 1 --plot out.png",
        "simulate two_link --stop 1 --input shoulder.tau=arm.csv -o out.csv",
        "compare arm.py --stop 1 -o out.md",
        "compare arm.py --stop 1 --plot out.svg",
        "sweep arm.py --stop 1 --vary l1=1:2:2 --measure top=max(elbow.phi) -o out.csv",
        "view arm.py -o out.html",
        "linearize arm.py -o out.npz",
        "export arm.py -o out.fmu",
        "modelica arm.fmu -o out.mo",
        "couple arm.fmu --stop 1 --step 1 -o out.csv",
        "ssp arm.fmu -o out.ssp",
        "ssp left=arm.fmu -o out.ssp",
    ],
)
def test_no_command_overwrites_what_it_reads(arguments: str, tmp_path: Path, call: Callable[..., Called]) -> None:
    """Not through a link with the ending of a result either; nothing is run, as what is read is no model."""
    for name in ("arm.py", "arm.fmu", "arm.csv"):
        (tmp_path / name).write_text("mine", encoding="utf-8")
    source = next(name for name in ("arm.py", "arm.fmu", "arm.csv") if name in arguments)
    (link,) = (tmp_path / word for word in arguments.split() if word.startswith("out."))
    link.symlink_to(source)
    found = call(*arguments.split(), cwd=tmp_path)
    assert (found.status, found.stdout) == (1, "")
    assert f"'{link.name}' would overwrite '{source}', which is read: name another file" in found.stderr
    assert link.is_symlink()
    assert (tmp_path / source).read_text(encoding="utf-8") == "mine"


FMU_MISTAKES = {
    "--set foo=1": "no variable 'foo'",
    "--set l1=-1": "l1 = -1.0: outside its bounds",
    "--set l1=nan": "l1 = nan",
    "--set energy.total=1": "energy.total",
    "--step nan": "step",
    "--step 0": "step",
    "--input foo=1": "no variable 'foo'",
    "--input energy.total=1": "'energy.total'",
    "--input shoulder.tau=1e13": "the equations did not converge",
    "--output-interval -1": "output interval",
    "--stepper rattle": "has its stepper inside",
    "--option stages=2": "has its stepper inside",
}


@pytest.mark.parametrize("arguments", FMU_MISTAKES)
def test_a_mistake_with_an_fmu_ends_in_one_clear_line_and_leaves_no_file(
    arguments: str, two_link_fmu: Path, tmp_path: Path, call: Callable[..., Called]
) -> None:
    found = call("simulate", str(two_link_fmu), "--stop", "1", "-o", "out.csv", *arguments.split(), cwd=tmp_path)
    assert found.status in {1, 2}
    assert found.stdout == ""
    (line,) = found.stderr.splitlines()
    assert line.startswith("mbfmu: ")
    assert FMU_MISTAKES[arguments] in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param("export two_link --stepper ratle", marks=pytest.mark.further),
        pytest.param("export raises.py", marks=pytest.mark.further),
        pytest.param("export two_link -o file/arm.fmu", marks=pytest.mark.further),
        pytest.param("simulate two_link --stop 1 --input shoulder.tau=1e90", marks=pytest.mark.further),
        "frobnicate",
    ],
)
def test_a_mistake_in_a_process_of_its_own_is_the_same_line(
    arguments: str, here: Path, call: Callable[..., Called]
) -> None:
    found = run(*arguments.split(), cwd=here)
    assert (found.returncode, found.stdout, found.stderr) == call(*arguments.split(), cwd=here)


def test_a_failed_export_leaves_the_file_that_was_there(here: Path, call: Callable[..., Called]) -> None:
    (here / "two_link.fmu").write_text("mine", encoding="utf-8")
    assert call("export", "two_link", "--stepper", "nonsense", cwd=here).status == 1
    assert (here / "two_link.fmu").read_text(encoding="utf-8") == "mine"


def test_linearize_shows_frequencies_writes_matrices_and_says_what_is_no_equilibrium(
    tmp_path: Path, call: Callable[..., Called]
) -> None:
    down = ("--set", "shoulder.phi=-1.5707963267948966", "--set", "elbow.phi=0")
    found = call("linearize", "two_link", *down, "-o", "arm.json", cwd=tmp_path)
    assert (found.status, found.stderr) == (0, "")
    assert "0.356126" in found.stdout
    assert json.loads((tmp_path / "arm.json").read_text(encoding="utf-8"))["inputs"] == ["shoulder.tau", "elbow.tau"]
    assert "not an equilibrium" in call("linearize", "two_link", cwd=tmp_path).stderr


def test_linearize_takes_states_and_a_later_time_and_names_what_takes_part(
    tmp_path: Path, call: Callable[..., Called]
) -> None:
    found = call(
        "linearize", "two_link", "--at", "0.1", "--state", "elbow.phi", "--state", "shoulder.phi", cwd=tmp_path
    )
    assert found.status == 0
    assert "elbow.phi, shoulder.phi, der(elbow.phi), der(shoulder.phi)" in found.stdout
    assert re.search(r"elbow\.phi \d+ %", found.stdout)
    wrong = call("linearize", "two_link", "--state", "elbow.phi", cwd=tmp_path)
    assert wrong.status == 1
    assert wrong.stderr.strip() == "mbfmu: two_link has 2 degrees of freedom: name 2 coordinates as states"


def test_check_lists_what_is_wrong_and_ends_with_status_one(here: Path, call: Callable[..., Called]) -> None:
    found = call("check", "junk.fmu", cwd=here)
    assert (found.status, found.stderr) == (1, "")
    first, second, *others = found.stdout.splitlines()
    assert first.startswith("junk.fmu: 1 problem; ")
    assert second.split()[:2] == ["fail", "zip"]
    assert not any(line.startswith("fail") for line in others)


@pytest.mark.parametrize(
    "command",
    ["simulate two_link --stop 1e6", "sweep two_link --vary l1=1:2:9 --stop 1e6 --measure e=last(energy.total)"],
)
def test_a_file_that_cannot_be_written_is_told_before_the_work(
    command: str, said: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "folder.csv").mkdir()
    assert "cannot write 'folder.csv': Is a directory" in said(*command.split(), "-o", "folder.csv")


FATES = {
    ">/dev/full": (1, "mbfmu: cannot write the standard output: No space left on device\n"),
    "| true": (0, ""),
    ">&-": (0, ""),
}
"""What happens to the standard output, by what a shell does with it: the exit status, and what is on stderr."""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("where", FATES)
@pytest.mark.parametrize("what", ["list steppers", "list steppers --json", "--version", "--help", "list --help"])
def test_an_output_that_cannot_be_written_or_that_nobody_reads_ends_in_no_traceback(what: str, where: str) -> None:
    command = f"{shlex.quote(sys.executable)} -m mbfmu {what} {where}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == FATES[where]

"""FMUs of other makers: whatever they hold and whatever they do, a run gives their numbers or one clear error."""

import gc
import math
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
import pytest
from harness import thorough

import mbfmu
from mbfmu.analysis.study.measures import measure
from mbfmu.analysis.study.subjects import FmuUse, Study, fmu_subject
from mbfmu.errors import FmuError, ResultWarning, StepError, UnknownNameError, UsageError
from mbfmu.fmi import archive, supervise
from mbfmu.fmi.reading import parse_fmu
from mbfmu.fmu.modelica.writing import write_modelica
from mbfmu.fmu.ssp import write_ssp
from mbfmu.run import fmu_process
from mbfmu.run.inputs import courses

SOURCE = Path(__file__).with_name("foreign.c")
STANDARD = Path(mbfmu.__file__).parent / "fmu" / "native" / "standard"
EXIT, CRASH, HANG, NAN, INFINITE, DISCARD, PRINT, CRASH_AT_END, TALK, LATER, REFUSE, HANG_AT_START, LOCAL = range(1, 14)
FORGE, REMOVE, FLOOD, UNKNOWN, PAST, BLIND, NOMINAL, MORE = range(14, 22)
COMPILER = shutil.which("gcc") or shutil.which("cc")
XML = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="Foreign" guid="{f}" variableNamingConvention="structured">
  <CoSimulation modelIdentifier="foreign" canHandleVariableCommunicationStepSize="true" canInterpolateInputs="true"/>
  <TypeDefinitions><SimpleType name="Mode"><Enumeration>
    <Item name="slow" value="1"/><Item name="fast" value="2"/></Enumeration></SimpleType></TypeDefinitions>
  <DefaultExperiment startTime="0" stopTime="1" stepSize="0.01"/>
  <ModelVariables>
    <ScalarVariable name="t" valueReference="0" causality="output"><Real/></ScalarVariable>
    <ScalarVariable name="u" valueReference="1" causality="input"><Real start="0"/></ScalarVariable>
    <ScalarVariable name="y" valueReference="2" causality="output"><Real/></ScalarVariable>
    <ScalarVariable name="yt" valueReference="3"><Real derivative="3"/></ScalarVariable>
    <ScalarVariable name="length" valueReference="4"><Real/></ScalarVariable>
    <ScalarVariable name="n" valueReference="0" causality="input" variability="discrete">
      <Integer start="0"/></ScalarVariable>
    <ScalarVariable name="mode" valueReference="1" causality="input" variability="discrete">
      <Enumeration declaredType="Mode" start="1"/></ScalarVariable>
    <ScalarVariable name="fault" valueReference="2" causality="parameter" variability="fixed">
      <Integer start="0"/></ScalarVariable>
    <ScalarVariable name="its.n" valueReference="3" causality="output" variability="discrete">
      <Integer/></ScalarVariable>
    <ScalarVariable name="its.mode" valueReference="4" causality="output" variability="discrete">
      <Enumeration declaredType="Mode"/></ScalarVariable>
    <ScalarVariable name="on" valueReference="0" causality="input" variability="discrete">
      <Boolean start="false"/></ScalarVariable>
    <ScalarVariable name="its.on" valueReference="1" causality="output" variability="discrete">
      <Boolean/></ScalarVariable>
    <ScalarVariable name="label" valueReference="0" causality="input" variability="discrete">
      <String start="none"/></ScalarVariable>
  </ModelVariables>
  <ModelStructure>
    <Outputs><Unknown index="1"/><Unknown index="3"/><Unknown index="9"/><Unknown index="10"/><Unknown index="12"/>
    </Outputs>
    <Derivatives><Unknown index="4"/></Derivatives>
    <InitialUnknowns><Unknown index="1"/><Unknown index="3"/><Unknown index="4"/><Unknown index="9"/>
      <Unknown index="10"/><Unknown index="12"/></InitialUnknowns>
  </ModelStructure>
</fmiModelDescription>
"""
TEXT = """    <ScalarVariable name="its.label" valueReference="1" causality="output" variability="discrete">
      <String/></ScalarVariable>
  </ModelVariables>"""
CO, EXCHANGE = '<CoSimulation modelIdentifier="foreign" canHandle', '<ModelExchange modelIdentifier="foreign" canHandle'
FREE = ' canHandleVariableCommunicationStepSize="true"'
RAMPS = ' canInterpolateInputs="true"'

pytestmark = pytest.mark.skipif(not COMPILER or os.name == "nt", reason="there is no C compiler")


DYING = """
fmi2Status fmi2Terminate(fmi2Component c) { raise(SIGSEGV); return fmi2OK; }
"""


def built(source: str, folder: Path) -> bytes:
    """Compile an FMU's library."""
    path = folder / "foreign.so"
    path.with_suffix(".c").write_text(source, encoding="utf-8")
    command = [str(COMPILER), "-shared", "-fPIC", "-w", f"-I{STANDARD}", "-o", str(path), str(path.with_suffix(".c"))]
    subprocess.run([*command, "-lm"], check=True)
    return path.read_bytes()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The FMU's library."""
    return built(SOURCE.read_text(encoding="utf-8"), tmp_path_factory.mktemp("foreign"))


class Maker:
    """Makes the FMU with changes to its description, in a folder of its own."""

    def __init__(self, library: bytes, folder: Path) -> None:
        self.library, self.folder = library, folder

    def __call__(self, *changes: tuple[str, str], library: bytes = b"") -> Path:
        xml = XML
        for old, new in changes:
            assert xml.count(old) == 1, old
            xml = xml.replace(old, new)
        path = self.folder / "foreign.fmu"
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("modelDescription.xml", xml)
            file.writestr(f"binaries/{fmpy.platform}/foreign{fmpy.sharedLibraryExtension}", library or self.library)
        return path


@pytest.fixture
def make(library: bytes, tmp_path: Path) -> Maker:
    return Maker(library, tmp_path)


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def ended(pid: int) -> bool:
    """Return whether a process has ended; where nobody asks for its status, it stays in the list of processes."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return False
    except ProcessLookupError:
        return True


# -- variables of every type ----------------------------------------------------------------------------------------


def test_inputs_of_every_type_are_set_and_outputs_are_numbers(make: Maker, tmp_path: Path) -> None:
    table = tmp_path / "in.csv"
    table.write_text("time,on,n\n0,0,0\n0.105,1,3\n0.205,0,-4\n", encoding="utf-8")
    inputs = {"u": "2*time", "on": str(table), "n": str(table), "mode": "fast", "label": "seven l"}
    run = mbfmu.simulate(make(), 0.3, output_interval=0.01, inputs=inputs)
    one, two = run.time < 0.105, run.time < 0.205
    np.testing.assert_array_equal(run["its.on"], np.where(one | ~two, 0, 1))
    np.testing.assert_array_equal(run["its.n"], np.where(one, 0, np.where(two, 3, -4)))
    assert set(run["its.mode"]) == {2.0}
    assert set(run["length"]) == {7.0}
    np.testing.assert_allclose(run["y"], run.time**2, rtol=0, atol=1e-14)
    assert "label" not in run


@pytest.mark.parametrize("changes", [(), ((RAMPS, ""),)])
def test_a_line_is_integrated_exactly_with_its_derivative_or_its_means(
    changes: tuple[tuple[str, str], ...], make: Maker
) -> None:
    run = mbfmu.simulate(make(*changes), 1.0, output_interval=0.1, inputs={"u": "3*time - 1"})
    np.testing.assert_allclose(run["y"], 1.5 * run.time**2 - run.time, rtol=0, atol=1e-14)


def test_words_are_values_of_a_boolean_and_of_an_enumeration(make: Maker) -> None:
    values = {"on": "true", "mode": "fast", "n": "3", "label": "ab"}
    run = mbfmu.simulate(make(), 0.1, values=values)
    assert [run[f"its.{name}"][-1] for name in ("on", "mode", "n")] == [1.0, 2.0, 3.0]
    assert run["length"][-1] == 2.0


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [("n", 2.5, "a whole number"),
     ("mode", "quick", "a whole number or fast, slow"), ("on", "perhaps", "true or false"),
     ("u", "x", "a number"), ("none", 1, "no variable 'none'")],
)  # fmt: skip
def test_a_start_value_of_another_type_is_refused(name: str, value: Any, said: str, make: Maker) -> None:
    with pytest.raises((UsageError, UnknownNameError), match=said):
        mbfmu.simulate(make(), 0.1, values={name: value})


def test_a_text_input_takes_nothing_but_a_text(make: Maker) -> None:
    with pytest.raises(UsageError, match="input label is a text"):
        mbfmu.simulate(make(), 0.1, inputs={"label": 3.0})


def test_text_outputs_are_left_out_with_a_notice(make: Maker) -> None:
    with pytest.warns(ResultWarning, match=r"texts are left out of the result: its\.label"):
        run = mbfmu.simulate(make(("  </ModelVariables>", TEXT)), 0.1)
    assert "its.label" not in run


def test_an_fmu_without_real_variables_has_a_result(make: Maker) -> None:
    xml = XML.replace("<Outputs>", "").partition("<ModelVariables>")
    only = (
        '<ModelVariables><ScalarVariable name="on" valueReference="0" causality="input" variability="discrete">'
        '<Boolean start="false"/></ScalarVariable><ScalarVariable name="its.on" valueReference="1" causality="output"'
        ' variability="discrete"><Boolean/></ScalarVariable></ModelVariables>'
        '<ModelStructure><Outputs><Unknown index="2"/></Outputs></ModelStructure></fmiModelDescription>'
    )
    run = mbfmu.simulate(make((XML, xml[0] + only)), 0.1, inputs={"on": "true"})
    assert run.names == ("on", "its.on")
    assert set(run["its.on"]) == {1.0}
    bare = only.replace('<ScalarVariable name="its.on"', '<ScalarVariable name="x"')
    bare = f"<ModelVariables>{bare.partition('</ScalarVariable>')[2].replace('output', 'parameter')}"
    bare = bare.replace('"discrete"><Boolean/>', '"fixed"><Boolean start="true"/>').replace('<Unknown index="2"/>', "")
    bare = bare.replace("<Outputs></Outputs>", "")
    assert mbfmu.simulate(make((XML, xml[0] + bare)), 0.1).values.shape == (11, 0)


# -- the span -------------------------------------------------------------------------------------------------------

FIVE = ('startTime="0" stopTime="1"', 'startTime="5" stopTime="6"')


def test_a_run_begins_at_the_start_time_of_the_default_experiment(make: Maker) -> None:
    run = mbfmu.simulate(make(FIVE), 10.0, output_interval=0.25, inputs={"u": "time - 5"})
    assert (run.time[0], run.time[-1], len(run.time)) == (5.0, 10.0, 21)
    np.testing.assert_array_equal(run["t"], run.time)
    np.testing.assert_allclose(run["y"], 0.5 * (run.time - 5.0) ** 2, rtol=0, atol=1e-13)


def test_another_start_time_may_be_given(make: Maker) -> None:
    for start in (7.0, 0.0, -1.0):
        run = mbfmu.simulate(make(FIVE), 10.0, start=start, inputs={"u": 1.0})
        assert (run.time[0], run.time[-1]) == (start, 10.0)
        assert run["y"][-1] == pytest.approx(10.0 - start, rel=1e-12)


def test_a_stop_before_the_start_is_refused_with_the_reason(make: Maker) -> None:
    with pytest.raises(UsageError, match=r"3\.0 s; .*the start, 5 s, as the DefaultExperiment .*--start gives another"):
        mbfmu.simulate(make(FIVE), 3.0)
    with pytest.raises(UsageError, match=r"after the start, 4 s"):
        mbfmu.simulate(make(FIVE), 3.0, start=4.0)
    with pytest.raises(UsageError, match="start time is nan"):
        mbfmu.simulate(make(), 3.0, start=math.nan)


@pytest.mark.parametrize("choice", [{"start": 1.0}, {"timeout": 5.0}])
def test_a_model_has_neither_a_start_time_nor_a_timeout(choice: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=r"are for an \.fmu"):
        mbfmu.simulate("pendulum", 2.0, **choice)


def test_an_fmu_with_steps_of_one_length_gets_no_other(make: Maker) -> None:
    path = make((FREE, ""))
    run = mbfmu.simulate(path, 10.03, inputs={"u": "time"})  # 1003 steps: 17 * 59
    assert (len(run.time), run.time[-1]) == (1004, 10.03)
    with pytest.raises(UsageError, match=r"steps of one length only.*output interval, 0\.3 s"):
        mbfmu.simulate(path, 1.0, output_interval=0.3)


# -- faults ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "error", "said"),
    thorough(
        [
            (EXIT, FmuError, r"at t = 0\.25 s, the FMU ended the process \(exit status 0\)"),
            (CRASH, FmuError, r"at t = 0\.25 s, the FMU ended the process \(SIGSEGV\)"),
            (HANG, FmuError, r"at t = 0\.25 s, the FMU did not answer within 4 s; --timeout"),
            (HANG_AT_START, FmuError, r"before its first step, the FMU did not answer within 4 s"),
            (NAN, StepError, r"output y is nan at t = 0\.26 s"),
            (INFINITE, StepError, r"output y is inf at t = 0\.26 s"),
            (DISCARD, StepError, r"stopped at t = 0\.25 s: it discarded the step"),
            (REFUSE, FmuError, r"failed at t = 0\.25 s: no more 0$"),
            (UNKNOWN, FmuError, r"failed at t = 0\.25 s: fmi2DoStep failed with status -3 \(illegal return code\)"),
            (REMOVE, FmuError, r"cannot be run: it removed or changed the files of its run: No such file"),
        ],
        lambda fault, *_: fault != HANG_AT_START,
    ),
)
def test_a_fault_is_one_error_that_says_what_and_when_and_leaves_nothing(
    fault: int, error: type[Exception], said: str, make: Maker, scratch: Path
) -> None:
    timeout = 4.0 if "did not answer" in said else None
    with pytest.raises(error, match=rf"foreign\.fmu'.*{said}") as caught:
        mbfmu.simulate(make(), 1.0, output_interval=0.01, values={"fault": fault}, timeout=timeout)
    assert caught.type is error
    assert "\n" not in str(caught.value)
    assert list(scratch.iterdir()) == []


def test_an_fmu_that_prints_without_end_is_ended(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervise, "SPOKEN", 100_000)
    with pytest.raises(FmuError, match=r"at t = 0\.25 s, the FMU prints without end"):
        mbfmu.simulate(make(), 1.0, output_interval=0.01, values={"fault": PRINT})


def test_what_an_fmu_writes_to_descriptors_that_are_not_its_own_is_no_report(make: Maker) -> None:
    runs = [
        mbfmu.simulate(make(), 1.0, output_interval=0.1, inputs={"u": 1.0}, values={"fault": fault})
        for fault in (FORGE, 0)
    ]
    np.testing.assert_array_equal(runs[0].values, runs[1].values)


def test_an_fmu_that_floods_descriptors_that_are_not_its_own_is_ended(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervise, "SPOKEN", 100_000)
    with pytest.raises(FmuError, match=r"at t = 0\.25 s, the FMU prints without end"):
        mbfmu.simulate(make(), 1.0, output_interval=0.01, values={"fault": FLOOD})


def test_a_local_variable_that_is_not_finite_is_a_notice(make: Maker) -> None:
    with pytest.warns(ResultWarning, match="not finite at times: length"):
        run = mbfmu.simulate(make(), 1.0, output_interval=0.1, values={"fault": LOCAL})
    assert run.time[np.isnan(run["length"])].min() == pytest.approx(0.4)


def test_a_crash_after_the_run_is_a_notice_of_a_complete_result(make: Maker) -> None:
    with pytest.warns(ResultWarning, match=r"after the run, the FMU ended the process \(SIGSEGV\)"):
        run = mbfmu.simulate(make(), 1.0, inputs={"u": 1.0}, values={"fault": CRASH_AT_END})
    assert run["y"][-1] == pytest.approx(1.0)


def test_of_many_messages_the_last_says_why_and_the_memory_is_bounded(make: Maker) -> None:
    with pytest.raises(FmuError) as caught:
        mbfmu.simulate(make(), 1.0, output_interval=0.01, values={"fault": TALK})
    text = str(caught.value)
    assert text.endswith("too much 0")
    assert text.count(";") == 19
    assert "step 1; step 2" in text


def test_a_step_that_goes_on_by_itself_is_waited_for(make: Maker) -> None:
    path = make((RAMPS, f'{RAMPS} canRunAsynchronuously="true"'))
    run = mbfmu.simulate(path, 1.0, inputs={"u": 1.0}, values={"fault": LATER})
    assert run["y"][-1] == pytest.approx(1.0)


def test_an_interruption_ends_the_process_and_leaves_nothing(
    make: Maker, scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOREIGN_PID", str(tmp_path / "pid"))

    def interrupt(_fraction: float) -> None:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text(encoding="utf-8"):
            time.sleep(0.01)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mbfmu.simulate(make(), 1.0, output_interval=0.01, values={"fault": HANG}, progress=interrupt)
    assert ended(int((tmp_path / "pid").read_text(encoding="utf-8")))
    assert list(scratch.iterdir()) == []


def test_a_process_whose_parent_is_killed_ends(make: Maker, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = f"import mbfmu; mbfmu.simulate({str(make())!r}, 1.0, values={{'fault': {HANG}}})"
    environment = {**os.environ, "FOREIGN_PID": str(pid), "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", script], env=environment) as parent:
        while not pid.exists() or not pid.read_text(encoding="utf-8"):
            assert parent.poll() is None
            time.sleep(0.01)
        child = int(pid.read_text(encoding="utf-8"))
        os.kill(child, 0)
        parent.kill()
    begin = time.monotonic()
    while not ended(child) and time.monotonic() - begin < 60.0:
        time.sleep(0.01)
    assert ended(child)


def test_an_input_that_takes_longer_than_the_timeout_does_not_end_the_run(make: Maker) -> None:
    slept: list[float] = []

    def slow(t: float) -> float:
        if t > 300.0 and not slept:
            slept.append(t)
            time.sleep(2.5)
        return 1.0

    run = mbfmu.simulate(make(), 400.0, inputs={"u": slow}, timeout=2.0)  # 40 blocks of rows
    assert run["y"][-1] == pytest.approx(400.0, rel=1e-9)


def test_the_inputs_of_a_run_are_evaluated_while_it_goes(make: Maker, scratch: Path) -> None:
    def late(t: float) -> float:
        if t > 1198.999:
            assert not list(scratch.glob("*/run*/rows0")), "nothing has been read yet"
            assert len(list(scratch.glob("*/run*/rows*"))) <= 21
            return math.nan
        return 1.0

    with pytest.raises(UsageError, match=r"input u is not finite at t = 1199 s"):
        mbfmu.simulate(make(), 1200.0, inputs={"u": late})
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("timeout", [0.0, -1.0, math.nan])
def test_an_impossible_timeout_is_a_usage_error(timeout: float, make: Maker) -> None:
    with pytest.raises(UsageError, match="timeout"):
        mbfmu.simulate(make(), 1.0, timeout=timeout)


def test_the_command_ends_with_status_one_and_one_line(make: Maker) -> None:
    command = ["simulate", str(make()), "--stop", "1", "--set", f"fault={EXIT}", "--input", "on=true"]
    done = subprocess.run([sys.executable, "-m", "mbfmu", *command], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1
    assert "ended the process (exit status 0)" in done.stderr


# -- many runs --------------------------------------------------------------------------------------------------------


def study_of(path: Path, timeout: float = 60.0, **values: float) -> Study:
    """Runs of an FMU as a worker makes them."""
    given = courses({"u": "2*time"})
    measures = [measure("y", "last(y)"), measure("n", "last(its.n)")]
    subject = fmu_subject(path, ("fault",), measures, None, None, values, 1.0, 0.01, given, FmuUse(timeout=timeout))
    return Study(subject, measures)


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[supervise.Supervised]:
    """The processes that are started."""
    started: list[supervise.Supervised] = []

    class Noted(supervise.Supervised):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            started.append(self)

    monkeypatch.setattr("mbfmu.run.fmu_process.Supervised", Noted)
    return started


@pytest.mark.parametrize(
    "fault", thorough(zip([EXIT, CRASH, HANG, NAN, DISCARD, HANG_AT_START]), lambda fault: fault in {EXIT, NAN})
)
def test_a_row_says_what_the_fmu_did_and_the_next_ones_are_as_without_it(
    fault: int, make: Maker, processes: list[supervise.Supervised], scratch: Path
) -> None:
    path, timeout = make(), 1.0 if fault in {HANG, HANG_AT_START} else 60.0
    study = study_of(path, timeout, n=3)
    before, failed, *after = [study.row({"fault": number}) for number in (0, fault, 0, 0)]
    assert len(processes) == 2
    assert before.measures == {"y": pytest.approx(1.0, abs=1e-13), "n": 3.0}
    assert [(row.measures, row.failure) for row in after] == [(before.measures, "")] * 2
    with pytest.raises((FmuError, StepError)) as told:
        mbfmu.simulate(path, 1.0, output_interval=0.01, values={"fault": fault}, timeout=timeout)
    assert failed.failure == str(told.value)
    del study
    gc.collect()
    assert list(scratch.iterdir()) == []


def test_an_fmu_that_crashes_between_two_rows_spoils_neither(
    make: Maker, processes: list[supervise.Supervised]
) -> None:
    crash = ("fmi2Status fmi2Terminate(fmi2Component c) { return fmi2OK; }", "")
    study = study_of(make(library=built(SOURCE.read_text(encoding="utf-8").replace(*crash) + DYING, make.folder)))
    rows = [study.row({"fault": 0}) for _ in range(2)]
    assert [row.failure for row in rows] == ["", ""]
    assert len(processes) == 2


def test_rows_of_a_sweep_that_are_made_together_are_those_that_are_made_alone(make: Maker) -> None:
    path = make()
    alone, together = study_of(path), study_of(path)
    together.together = True
    values = [{"fault": float(fault)} for fault in (0, TALK, LOCAL, 0, DISCARD, 0, 0, CRASH, 0)]
    assert together.rows(values[:4]) == [alone.row(item) for item in values[:4]]
    rows = together.rows(values)
    assert rows == [alone.row(item) for item in values]
    assert [bool(row.failure) for row in rows] == [False, True, False, False, True, False, False, True, False]


def test_an_fmu_for_model_exchange_can_be_swept(make: Maker) -> None:
    path = make((CO[: CO.index(" canHandle")] + FREE + RAMPS, EXCHANGE[: EXCHANGE.index(" canHandle")]))
    study = study_of(path)
    rows = [study.row({"fault": 0}) for _ in range(2)]
    assert [row.failure for row in rows] == ["", ""]
    assert rows[0].measures["y"] == pytest.approx(1.0, abs=2e-4)
    assert rows[1] == rows[0]


def test_a_timeout_of_a_sweep_is_for_an_fmu_and_positive(make: Maker) -> None:
    with pytest.raises(UsageError, match="--timeout is for an"):
        mbfmu.sweep("pendulum", 1.0, measures={"m": "max(hinge.phi)"}, vary={"l": [1.0]}, timeout=3.0)
    with pytest.raises(UsageError, match="timeout is -1"):
        mbfmu.sweep(make(), 1.0, measures={"m": "max(y)"}, vary={"u": [1.0]}, timeout=-1.0)


# -- other kinds of FMUs --------------------------------------------------------------------------------------------


def test_an_fmu_for_model_exchange_is_integrated_and_supervised(make: Maker) -> None:
    path = make((CO[: CO.index(" canHandle")] + FREE + RAMPS, EXCHANGE[: EXCHANGE.index(" canHandle")]), FIVE)
    run = mbfmu.simulate(path, 7.0, inputs={"u": "cos(time - 5)", "on": 1})
    assert (run.time[0], run.time[-1]) == (5.0, pytest.approx(7.0, abs=1e-12))
    np.testing.assert_allclose(run["y"], np.sin(run.time - 5.0), rtol=0, atol=2e-4)
    with pytest.raises(FmuError, match=r"the FMU ended the process \(SIGSEGV\)"):
        mbfmu.simulate(path, 7.0, values={"fault": CRASH})


INDICATOR = ('modelName="Foreign"', 'modelName="Foreign" numberOfEventIndicators="1"')


def exchanged(make: Maker) -> Path:
    """Make the FMU for model exchange alone, with an event indicator, from 5 s on."""
    return make(
        (CO[: CO.index(" canHandle")] + FREE + RAMPS, EXCHANGE[: EXCHANGE.index(" canHandle")]), FIVE, INDICATOR
    )


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (PAST, r"at t = 5 s it gives 4 s as the time of its next event, which is not ahead"),
        (NOMINAL, r"the nominal value of its state 1 is 0: 1 is used"),
    ],
)
def test_nonsense_of_model_exchange_that_can_be_mended_is_a_notice(fault: int, said: str, make: Maker) -> None:
    with pytest.warns(ResultWarning, match=said):
        run = mbfmu.simulate(exchanged(make), 7.0, inputs={"u": "cos(time - 5)"}, values={"fault": fault})
    np.testing.assert_allclose(run["y"], np.sin(run.time - 5.0), rtol=0, atol=2e-4)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (BLIND, r"failed at t = 5\.\d+ s: its event indicator 1 is nan at t = 5\.\d+ s$"),
        (MORE, r": it has 3 continuous states, and its description lists 1$"),
    ],
)
def test_nonsense_of_model_exchange_that_cannot_be_mended_ends_the_run(fault: int, said: str, make: Maker) -> None:
    with pytest.raises(FmuError, match=said):
        mbfmu.simulate(exchanged(make), 7.0, values={"fault": fault})


def test_an_fmu_for_both_uses_is_run_by_the_requested_one(make: Maker) -> None:
    exchange = '<ModelExchange modelIdentifier="foreign"/>\n  <CoSimulation'
    path = make(("<CoSimulation", exchange))
    inputs: Any = {"u": "cos(10*time)"}
    default, stepped, integrated = (
        mbfmu.simulate(path, 1.0, output_interval=0.1, inputs=inputs, kind=kind, tolerance=tolerance)
        for kind, tolerance in ((None, None), ("cs", None), ("me", 1e-8))
    )
    np.testing.assert_array_equal(default.values, stepped.values)
    np.testing.assert_allclose(integrated["y"], np.sin(10 * integrated.time) / 10, rtol=0, atol=2e-4)
    assert not np.array_equal(integrated["y"], stepped["y"])
    for kind, result in (("cs", stepped), ("me", integrated)):
        given, measures = courses(inputs), [measure("y", "last(y)")]
        accuracy = 1e-8 if kind == "me" else None
        subject = fmu_subject(path, ("fault",), measures, None, accuracy, {}, 1.0, 0.1, given, FmuUse(kind))
        assert Study(subject, measures).row({"fault": 0}).measures["y"] == pytest.approx(result["y"][-1], abs=1e-15)
    with pytest.raises(UsageError, match=r"--kind and --no-validate are for an \.fmu"):
        mbfmu.sweep("pendulum", 1.0, measures={"y": "max(energy.total)"}, vary={"m": [1.0]}, kind="cs")
    with pytest.raises(FmuError, match="is for co-simulation only: leave out --kind, or use --kind cs"):
        mbfmu.simulate(make(), 1.0, kind="me")
    with pytest.raises(UsageError, match="the kind is 'se'; it must be cs"):
        mbfmu.simulate(path, 1.0, kind="se")
    with pytest.raises(UsageError, match=r"--kind and --no-validate are for an \.fmu"):
        mbfmu.simulate("pendulum", 1.0, kind="cs")


def test_an_fmu_that_breaks_the_schema_runs_on_request(make: Maker) -> None:
    path = make(('startTime="0" stopTime="1"', 'startTime="0" end="1" stopTime="1"'))
    with pytest.raises(FmuError, match=r"breaks the XML schema of FMI 2\.0.*--no-validate"):
        mbfmu.simulate(path, 1.0)
    assert mbfmu.simulate(path, 1.0, inputs={"u": 1.0}, validate=False)["y"][-1] == pytest.approx(1.0)
    subject = fmu_subject(path, (), [], None, None, {}, 1.0, None, courses({"u": 1.0}), FmuUse(validate=False))
    assert subject.open()({})["y"][-1] == pytest.approx(1.0)


def test_a_library_for_another_processor_or_system_is_told_as_that(make: Maker) -> None:
    for machine, name in ((183, "aarch64"), (40, "aarch32")):
        head = bytearray(make.library)
        head[18:20] = machine.to_bytes(2, "little")
        with pytest.raises(FmuError, match=rf"its library for {fmpy.platform} is for another processor \({name}, not "):
            mbfmu.simulate(make(library=bytes(head)), 1.0)
    path = _members(make.folder / "windows.fmu", ("binaries/win64/foreign.dll", b"MZ"))
    with pytest.raises(FmuError, match=r"no library for this platform \(\w+\), only for win64$"):
        mbfmu.simulate(path, 1.0)


FMI_1 = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="1.0" modelName="Old" modelIdentifier="old" guid="{o}"
    numberOfContinuousStates="0" numberOfEventIndicators="0">
  <ModelVariables>
    <ScalarVariable name="u" valueReference="0" causality="input"><Real start="0"/></ScalarVariable>
    <ScalarVariable name="y" valueReference="1" causality="output"><Real/></ScalarVariable>
  </ModelVariables>
  <Implementation><CoSimulation_StandAlone>
    <Capabilities canHandleVariableCommunicationStepSize="true" canHandleEvents="false"/>
  </CoSimulation_StandAlone></Implementation>
</fmiModelDescription>
"""
FMI_3 = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="3.0" modelName="New" instantiationToken="{n}">
  <ScheduledExecution modelIdentifier="new"/>
  <ModelVariables><Float64 name="time" valueReference="0" causality="independent"/></ModelVariables>
  <ModelStructure/>
</fmiModelDescription>
"""


@pytest.mark.parametrize(
    ("xml", "reason"),
    [
        (FMI_1, "is of FMI 1.0: have its tool export it as FMI 2.0 or 3.0"),
        (FMI_3, "is only for scheduled execution: have its tool export it for co-simulation"),
    ],
)
def test_what_is_not_run_is_refused_by_one_sentence(xml: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "other.fmu"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("modelDescription.xml", xml)
        file.writestr(f"binaries/{fmpy.platform}/old{fmpy.sharedLibraryExtension}", b"")
    calls: tuple[Callable[[], object], ...] = (
        lambda: mbfmu.simulate(path, 1.0),
        lambda: mbfmu.sweep(path, 1.0, measures={"m": "max(y)"}, vary={"u": [1.0]}),
        lambda: mbfmu.couple({"a": path}, [], 1.0, 0.1),
        lambda: mbfmu.linearize(path),
    )
    for call in calls:
        with pytest.raises(FmuError) as told:
            call()
        assert str(told.value) == f"'{path}' {reason}"
    if xml == FMI_1:
        (outcome,) = mbfmu.check(path)
        assert outcome.message == "the FMU is of FMI 1.0: judged are FMI 2.0 and 3.0"


def _members(path: Path, *added: tuple[str, bytes], xml: str = XML) -> Path:
    """Write an archive with a description and other members."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in (("modelDescription.xml", xml.encode()), *added):
            file.writestr(name, content)
    return path


HOSTILE: list[tuple[str, dict[str, int], list[tuple[str, bytes]], str]] = [
    ("2 members are named 'a'", {}, [("a", b"1"), ("a", b"2")], XML),
    ("must have a relative path", {}, [("../a", b"1")], XML),
    ("would unpack to 200000 bytes", {"MEMBER_LIMIT": 100_000}, [("a", bytes(200_000))], XML),
    ("the archive would unpack to", {"TOTAL_LIMIT": 100_000}, [("a", bytes(60_000)), ("b", bytes(60_000))], XML),
    ("more than 3 members", {"COUNT_LIMIT": 3}, [(name, b"") for name in "abc"], XML),
    ("tags and value references, more than 20", {"MARK_LIMIT": 20}, [], XML),
    ("remove the document type", {}, [], XML.replace("<fmiModel", '<!DOCTYPE a [<!ENTITY b "c">]><fmiModel', 1)),
    ("line 6 breaks the XML schema of FMI 2.0", {}, [], XML.replace("startTime", "begin", 1)),
]
"""What every reader of FMUs says, limits that make it small, members, and the description."""


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(("said", "limits", "added", "xml"), HOSTILE)
def test_every_reader_of_fmus_has_the_limits_of_the_check(
    said: str, limits: dict[str, int], added: list[tuple[str, bytes]], xml: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    path = _members(tmp_path / "hostile.fmu", *added, xml=xml)
    for name, limit in limits.items():
        monkeypatch.setattr(archive, name, limit)
    readers: tuple[Callable[[], object], ...] = (
        lambda: mbfmu.simulate(path, 1.0),
        lambda: mbfmu.sweep(path, 1.0, measures={"m": "max(y)"}, vary={"u": [1.0]}),
        lambda: mbfmu.couple({"a": path}, [], 1.0, 0.1),
        lambda: mbfmu.linearize(path),
        lambda: parse_fmu(path),
        lambda: fmu_process.FmuProcess(path, path, 1.0),  # which leaves the description to the others
    )
    for reader in readers[: 4 if "schema" in said else 5 if "document type" in said else None]:
        with pytest.raises(FmuError, match=said) as caught:
            reader()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('modelIdentifier="foreign"', 'modelIdentifier="../../foreign"'), "must have only letters, digits"),
        (('modelIdentifier="foreign"', 'modelIdentifier="a&quot;); quit"'), "must have only letters, digits"),
        (('name="u" valueReference="1"', 'name="u" valueReference="4294967296"'), "value reference 4294967296"),
        (('name="u" valueReference="1"', 'name="u" valueReference="-1"'), "value reference -1"),
    ],
)
def test_identifiers_and_value_references_are_checked_before_code_is_written_of_them(
    change: tuple[str, str], said: str, make: Maker
) -> None:
    path = make(change)
    with pytest.raises(FmuError, match=said):
        write_modelica(path, path.with_name("Package.mo"))
    with pytest.raises(FmuError, match=said):
        write_ssp(path.with_suffix(".ssp"), {"a": path}, [])


def test_a_library_for_another_platform_is_told(make: Maker) -> None:
    path = make()
    with zipfile.ZipFile(path) as old:
        xml = old.read("modelDescription.xml")
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("modelDescription.xml", xml)
        file.writestr("binaries/vax/foreign.so", b"")
    with pytest.raises(FmuError, match=r"no library for this platform"):
        mbfmu.simulate(path, 1.0)

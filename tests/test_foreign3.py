"""FMUs of FMI 3.0 run by every command as those of FMI 2.0: ours with the same bits, foreign ones with their arrays."""

import os
import shutil
import subprocess
import zipfile
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import fmpy
import numpy as np
import pytest
from harness import thorough
from struck import ball

import mbfmu
from mbfmu.analysis.study.measures import measure
from mbfmu.analysis.study.subjects import Study, fmu_subject
from mbfmu.checker.probe import steps3
from mbfmu.errors import FmuError, ResultWarning, StepError, UnknownNameError, UsageError
from mbfmu.fmi.scalars import MOST
from mbfmu.fmu.ssp import Wire
from mbfmu.model import Model
from mbfmu.run.cross_check import write_cross_check
from mbfmu.run.fmu import read_fmu

MODELS: dict[str, Model | str] = {"two_link": "two_link", "top": "heavy_top", "ball": ball(), "crane": "crane"}
STEPPERS = {"ball": "projected", "two_link": "rattle", "top": "rattle"}
"""Those of other tests, so that their binaries serve."""
INPUTS = {
    "two_link": {"shoulder.tau": 7.0, "elbow.tau": -2.0},
    "crane": {"lift.f": 100.0},
}
RAMPS = b' canInterpolateInputs="true"'
pytestmark = pytest.mark.skipif(os.name == "nt" or not shutil.which("gcc"), reason="there is no C compiler")


# -- ours --------------------------------------------------------------------------------------------------------------


@cache
def path_of(name: str, fmi: str) -> Path:
    """Write a model as a native FMU; once a session."""
    path = Path(mkdtemp(prefix="mbfmu-runs3-")) / f"{name}.fmu"
    return mbfmu.export(
        MODELS[name], path, stepper=STEPPERS.get(name), backend="native", fmi=fmi, platforms=["linux64"], stop=0.2
    )


@cache
def both(name: str) -> tuple[Path, Path]:
    """Return a model as an FMU of FMI 2.0 that takes no derivatives of inputs, as FMI 3.0 has none, and of FMI 3.0."""
    path = path_of(name, "2.0")
    held = path.with_name("held.fmu")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(held, "w") as new:
        for item in old.infolist():
            data = old.read(item)
            if item.filename == "modelDescription.xml":
                assert data.count(RAMPS) == 1
                data = data.replace(RAMPS, b"")
            new.writestr(item, data)
    return held, path_of(name, "3.0")


@pytest.mark.parametrize("name", thorough([(name,) for name in MODELS], lambda name: name in {"top", "ball"}))
def test_both_versions_are_simulated_to_the_same_bits(name: str) -> None:
    two, three = (mbfmu.simulate(path, 0.1, inputs=INPUTS.get(name)) for path in both(name))
    assert two.names == three.names
    assert two.units == three.units
    assert two.roles == three.roles
    assert np.array_equal(two.values, three.values)


def test_inputs_that_change_act_by_their_means_over_each_step() -> None:
    two, three = (mbfmu.simulate(path, 0.2, inputs={"elbow.tau": "sin(9*time)"}) for path in both("two_link"))
    assert np.array_equal(two.values, three.values)


def test_both_versions_have_the_same_state_space_form() -> None:
    two, three = (mbfmu.linearize(path, inputs={"shoulder.tau": 1.0}) for path in both("two_link"))
    assert two.states == three.states
    for matrix in ("A", "B", "C", "D", "x0", "y0"):
        assert np.array_equal(getattr(two, matrix), getattr(three, matrix))


@pytest.mark.parametrize("how", [{}, {"passes": 2}, {"tolerance": 1e-4}])
def test_both_versions_are_coupled_to_the_same_bits(how: dict[str, Any]) -> None:
    wires = [Wire("a.elbow.w", "b.shoulder.tau", 0.5), Wire("b.elbow.w", "a.shoulder.tau", 0.5)]
    two, three = both("two_link")
    found = [
        mbfmu.couple({"a": a, "b": b}, wires, 0.1, 0.01, **how, outputs=["a.elbow.phi"]).values
        for a, b in ((two, two), (two, three), (three, three))
    ]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_both_versions_are_swept_to_the_same_bits() -> None:
    measures = [measure("m", "max(elbow.phi)")]
    rows = []
    for path in both("two_link"):
        subject = fmu_subject(path, ("shoulder.tau",), measures, None, None, {}, 0.05, None, {})
        study = Study(subject, measures)
        rows.append([study.row({"shoulder.tau": value}).measures for value in (1.0, 2.0)])
    assert rows[0] == rows[1]
    assert rows[0][0]["m"] != rows[0][1]["m"]


def test_both_versions_have_the_same_reference_solution(tmp_path: Path) -> None:
    two, three = (
        write_cross_check(path, tmp_path / path.parent.name, inputs={"elbow.tau": 2.0}) for path in both("two_link")
    )
    texts = [
        {path.name.rpartition("_")[2]: path.read_bytes() for path in item.files if path.suffix == ".csv"}
        for item in (two, three)
    ]
    assert texts[0] == texts[1]
    assert {*texts[0]} == {"ref.csv", "in.csv"}
    (read_me,) = (path for path in three.files if path.suffix == ".txt")
    assert "FMI 3.0 for co-simulation (fmus/3.0/cs)" in read_me.read_text(encoding="utf-8")


# -- those of others ---------------------------------------------------------------------------------------------------

XML = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="3.0" modelName="Table" instantiationToken="{t}">
  <CoSimulation modelIdentifier="table" canHandleVariableCommunicationStepSize="true" canGetAndSetFMUState="true"/>
  <TypeDefinitions><EnumerationType name="Mode"><Item name="sum" value="1"/><Item name="mean" value="2"/>
  </EnumerationType></TypeDefinitions>
  <DefaultExperiment startTime="0" stopTime="1" stepSize="0.25"/>
  <ModelVariables>
    <Float64 name="time" valueReference="0" causality="independent"/>
    <UInt64 name="n" valueReference="1" causality="structuralParameter" variability="fixed" start="2"/>
    <Float64 name="A" valueReference="2" causality="input" start="1 2 3 4 5 6">
      <Dimension valueReference="1"/><Dimension start="3"/></Float64>
    <Float64 name="y" valueReference="3" causality="output"><Dimension valueReference="1"/><Alias name="row"/></Float64>
    <Float64 name="der(y)" valueReference="4" derivative="3"><Dimension valueReference="1"/></Float64>
    <Float32 name="gain" valueReference="5" causality="parameter" variability="tunable" start="1"/>
    <Int8 name="k" valueReference="6" causality="input" start="7"><Dimension start="2"/></Int8>
    <Int8 name="its.k" valueReference="7" causality="output"><Dimension start="2"/></Int8>
    <Enumeration name="mode" declaredType="Mode" valueReference="8" causality="input" start="1"/>
    <Boolean name="on" valueReference="9" causality="input" start="true false"><Dimension start="2"/></Boolean>
    <Boolean name="its.on" valueReference="10" causality="output"><Dimension start="2"/></Boolean>
    <Binary name="blob" valueReference="11" causality="input" variability="discrete"><Start value="00"/></Binary>
    <Float64 name="large" valueReference="12" causality="output"><Dimension start="20000"/></Float64>
    <Int32 name="fault" valueReference="13" causality="parameter" start="0"/>
  </ModelVariables>
  <ModelStructure>
    <Output valueReference="3"/><Output valueReference="7"/><Output valueReference="10"/><Output valueReference="12"/>
    <InitialUnknown valueReference="3"/><InitialUnknown valueReference="7"/><InitialUnknown valueReference="10"/>
    <InitialUnknown valueReference="12"/>
  </ModelStructure>
</fmiModelDescription>
"""
CODE = r"""
#include <stdlib.h>
#include <string.h>
typedef struct { double t, A[6]; float gain; signed char k[2]; long long mode; _Bool on[2]; int fault; } I;
static const I START = {0, {1, 2, 3, 4, 5, 6}, 1, {7, 7}, 1, {1, 0}, 0};
static double row(const I* s, int i) {
    double sum = s->A[3 * i] + s->A[3 * i + 1] + s->A[3 * i + 2];
    return s->gain * sum / (s->mode == 2 ? 3 : 1);
}
void* fmi3InstantiateCoSimulation(void) { I* s = malloc(sizeof *s); *s = START; return s; }
void fmi3FreeInstance(I* s) { free(s); }
int fmi3Reset(I* s) { *s = START; return 0; }
int fmi3EnterInitializationMode(I* s, _Bool known, double tolerance, double start, _Bool ends, double stop) {
    s->t = start; return 0; }
int fmi3GetFloat64(I* s, const unsigned vr[], size_t n, double value[], size_t m) {
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (vr[i] == 2) memcpy(value + k, s->A, sizeof s->A), k += 6;
        if (vr[i] == 3) value[k++] = s->t * row(s, 0), value[k++] = s->t * row(s, 1);
        if (vr[i] == 4) value[k++] = row(s, 0), value[k++] = row(s, 1);
    }
    return k == m ? 0 : 3;
}
int fmi3SetFloat64(I* s, const unsigned vr[], size_t n, const double value[], size_t m) {
    if (n != 1 || vr[0] != 2 || m != 6) return 3;
    memcpy(s->A, value, sizeof s->A);
    return 0;
}
int fmi3SetFloat32(I* s, const unsigned vr[], size_t n, const float value[], size_t m) { s->gain = value[0]; return 0; }
int fmi3GetInt8(I* s, const unsigned vr[], size_t n, signed char value[], size_t m) {
    for (size_t i = 0; i < n; i++) memcpy(value + 2 * i, s->k, 2);
    return m == 2 * n ? 0 : 3;
}
int fmi3SetInt8(I* s, const unsigned vr[], size_t n, const signed char value[], size_t m) {
    memcpy(s->k, value, 2); return m == 2 ? 0 : 3; }
int fmi3GetInt64(I* s, const unsigned vr[], size_t n, long long value[], size_t m) { value[0] = s->mode; return 0; }
int fmi3SetInt64(I* s, const unsigned vr[], size_t n, const long long value[], size_t m) {
    s->mode = value[0]; return 0; }
int fmi3GetBoolean(I* s, const unsigned vr[], size_t n, _Bool value[], size_t m) {
    for (size_t i = 0; i < n; i++) memcpy(value + 2 * i, s->on, 2);
    return 0; }
int fmi3SetBoolean(I* s, const unsigned vr[], size_t n, const _Bool value[], size_t m) {
    memcpy(s->on, value, 2); return m == 2 ? 0 : 3; }
int fmi3SetInt32(I* s, const unsigned vr[], size_t n, const int value[], size_t m) { s->fault = value[0]; return 0; }
int fmi3DoStep(I* s, double t, double h, _Bool free, _Bool* event, _Bool* end, _Bool* early, double* last) {
    s->t = *last = t + h;
    *event = 0, *early = s->fault == 1, *end = s->fault == 2;
    return s->fault == 3 ? 2 : 0;
}
"""
CODE += "".join(f"int {name}(void) {{ return 0; }}\n" for name in steps3.FUNCTIONS if f"{name}(" not in CODE)


@cache
def table() -> Path:
    """Compile the foreign FMU; once a session."""
    folder = Path(mkdtemp(prefix="mbfmu-runs3-"))
    (folder / "table.c").write_text(CODE, encoding="utf-8")
    command = ["gcc", "-shared", "-fPIC", "-w", "-o", str(folder / "table.so"), str(folder / "table.c")]
    subprocess.run(command, check=True)
    path = folder / "table.fmu"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("modelDescription.xml", XML)
        file.write(folder / "table.so", f"binaries/{fmpy.platform_tuple}/table{fmpy.sharedLibraryExtension}")
    return path


def run(**how: Any) -> mbfmu.Result:
    """Return a run of the foreign FMU, without the notice on what is left out."""
    with pytest.warns(
        ResultWarning, match=r"left out of the result: large \(of type Float64 with the shape \[20000\]\)"
    ):
        return mbfmu.simulate(table(), 1.0, **how)


def test_the_elements_of_an_array_are_variables_in_row_major_order() -> None:
    found = run()
    assert {name: found[name][-1] for name in ("A[1,3]", "A[2,1]", "y[1]", "y[2]", "der(y[2])")} == {
        "A[1,3]": 3.0, "A[2,1]": 4.0, "y[1]": 6.0, "y[2]": 15.0, "der(y[2])": 15.0,
    }  # fmt: skip
    assert np.array_equal(found["row[2]"], found["y[2]"])
    assert [found[name][0] for name in ("its.k[1]", "its.on[1]", "its.on[2]", "mode")] == [7, 1, 0, 1]
    assert found.time.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_an_element_is_set_and_the_others_keep_their_values() -> None:
    found = run(values={"A[1,1]": 10.0, "gain": 2.0, "k[2]": -3.0, "on[2]": "true"}, inputs={"A[2,2]": "4*time"})
    assert found["y[1]"][-1] == 2.0 * (10.0 + 2.0 + 3.0)
    assert found["y[2]"][-1] == 2.0 * (4.0 + 4.0 + 6.0)
    assert [found[name][-1] for name in ("its.k[1]", "its.k[2]", "its.on[1]", "its.on[2]")] == [7, -3, 1, 1]
    assert run(inputs={"mode": "mean"})["y[1]"][-1] == 2.0


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ({"values": {"n": 3.0}}, UsageError, "n is a structural parameter, which keeps its start value 2"),
        ({"values": {"blob": 1.0}}, UsageError, "blob is of type Binary, which keeps its start value"),
        ({"inputs": {"blob": 1.0}}, UsageError, "input 'blob' of '.*' is of type Binary"),
        ({"inputs": {"A": 1.0}}, UnknownNameError, r"has no variable 'A'"),
        ({"inputs": {"row[1]": 1.0}}, UsageError, "is not an input but local"),
        ({"values": {"k[1]": 300.0}}, UsageError, r"k\[1\] = 300.0 is beyond its type Int8"),
        ({"inputs": {"k[1]": "400*time"}}, FmuError, r"failed at t = 0.5 s: 200 is beyond the type Int8"),
        ({"values": {"fault": 1}}, FmuError, "returned early though this was not allowed"),
        ({"values": {"fault": 2}}, StepError, r"stopped at t = 0.25 s: it ended the run"),
        ({"values": {"fault": 3}}, StepError, r"stopped at t = 0 s: it discarded the step"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(how: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        mbfmu.simulate(table(), 1.0, **how)


def changed(folder: Path, old: str, new: str) -> Path:
    """Return the foreign FMU with a change to its description."""
    assert XML.count(old) == 1
    path = folder / "changed.fmu"
    with zipfile.ZipFile(table()) as old_file, zipfile.ZipFile(path, "w") as new_file:
        for item in old_file.infolist():
            data = old_file.read(item)
            new_file.writestr(item, data.replace(old.encode(), new.encode()) if item.filename.endswith("xml") else data)
    return path


def test_clocks_that_nobody_activates_are_told(tmp_path: Path) -> None:
    tick = '<Clock name="tick" valueReference="14" causality="input" intervalVariability="constant" '
    path = changed(tmp_path, "  </ModelVariables>", f'{tick}intervalDecimal="1"/></ModelVariables>')
    with pytest.warns(ResultWarning) as told:
        mbfmu.simulate(path, 1.0)
    assert any("these clocks were never activated: tick" in str(item.message) for item in told)


def test_start_values_that_do_not_fit_an_array_are_one_message(tmp_path: Path) -> None:
    path = changed(tmp_path, 'start="1 2 3 4 5 6"', 'start="1 2 3"')
    with pytest.raises(FmuError, match="'A' has 6 elements but 3 start values"):
        mbfmu.simulate(path, 1.0)
    assert {"start-count", "functions-exported"} == {item.rule for item in mbfmu.check(path)}


def test_there_is_an_end_to_elements(tmp_path: Path) -> None:
    many = "".join(
        f'<Float64 name="b{n}" valueReference="{100 + n}"><Dimension start="9999"/></Float64>' for n in range(6)
    )
    variables = {item.name for item in read_fmu(changed(tmp_path, "  </ModelVariables>", f"{many}</ModelVariables>"))
                 .modelVariables}  # fmt: skip
    assert {"b0[9999]", "b5"} <= variables
    assert len(variables) < MOST + 100


def test_elements_are_connected() -> None:
    found = mbfmu.couple({"a": table(), "b": table()}, [("a.y[2]", "b.A[1,2]"), ("a.its.on[1]", "b.on[2]")], 1.0, 0.25)
    assert found["b.its.on[2]"].all()
    assert found["b.y[1]"][-1] == pytest.approx(1.0 + 15.0 + 3.0)


def test_an_fmu_without_derivatives_is_not_linearized() -> None:
    with pytest.raises(FmuError, match="gives no directional derivatives"):
        mbfmu.linearize(table())

"""Runs of FMUs of FMI 3.0 in model exchange and with event mode: against FMPy, co-simulation, and by hand."""

import os
import re
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
from test_foreign3 import path_of

import mbfmu
from mbfmu.analysis.study.measures import measure
from mbfmu.analysis.study.subjects import Study, fmu_subject
from mbfmu.checker.probe import steps3
from mbfmu.errors import FmuError, StepError, UsageError
from mbfmu.fmi import drive
from mbfmu.fmi.events import Events
from mbfmu.fmi.instance import Messages, instantiate
from mbfmu.model import Model
from mbfmu.run.fmu import fmu_run, read_fmu

pytestmark = pytest.mark.skipif(os.name == "nt" or not shutil.which("gcc"), reason="there is no C compiler")

# -- ours in model exchange --------------------------------------------------------------------------------------------

MODELS: dict[str, Model | str] = {
    "ball": ball(), "top": "heavy_top", "crane": "crane", "sampled": "sampled_pid_two_link",
}  # fmt: skip
"""A mechanism that bounces, one with arrays, one with constraints, and one with samplings."""
CASES = thorough([(name,) for name in MODELS], lambda name: name == "ball")


@cache
def exchange_of(name: str, fmi: str) -> Path:
    """Write a model for model exchange; once a session."""
    path = Path(mkdtemp(prefix="mbfmu-exchange3-")) / f"{name}.fmu"
    return mbfmu.export(MODELS[name], path, kind="me", backend="native", fmi=fmi, platforms=["linux64"], stop=0.2)


def numbers(result: Any, names: list[str]) -> Any:
    """Return columns of a result, shape (n_t, n)."""
    return np.column_stack([result[name] for name in names])


@pytest.mark.parametrize("name", CASES)
def test_model_exchange_is_integrated_as_fmpy_does_it(name: str) -> None:
    path = exchange_of(name, "3.0")
    run = mbfmu.simulate(path, 0.2, output_interval=0.01, tolerance=1e-8)
    scalars = [
        item.name for item in fmpy.read_model_description(path).modelVariables
        if item.causality == "output" and item.type == "Float64" and not item.shape
    ]  # fmt: skip
    by_fmpy = fmpy.simulate_fmu(
        str(path), fmi_type="ModelExchange", stop_time=0.2, output_interval=0.01, relative_tolerance=1e-8,
        record_events=False, output=scalars,
    )  # fmt: skip
    assert scalars
    assert run.time == pytest.approx(by_fmpy["time"], rel=1e-12)
    np.testing.assert_allclose(numbers(run, scalars), numbers(by_fmpy, scalars), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_both_versions_are_integrated_to_the_same_bits(name: str) -> None:
    two, three = (mbfmu.simulate(exchange_of(name, fmi), 0.2) for fmi in ("2.0", "3.0"))
    assert set(two.names) <= set(three.names)  # whose event indicators are variables
    assert np.array_equal(numbers(two, list(two.names)), numbers(three, list(two.names)))


@pytest.mark.parametrize("name", CASES)
def test_model_exchange_comes_to_co_simulation(name: str) -> None:
    by_steps = mbfmu.simulate(MODELS[name], 0.2, stepper="projected", options={"order": 8}, output_interval=0.01)
    run = mbfmu.simulate(exchange_of(name, "3.0"), 0.2, output_interval=0.01, tolerance=1e-11)
    places = [item for item in by_steps.names if by_steps.units[item] in ("m", "rad") and item in run.names]
    assert places
    np.testing.assert_allclose(numbers(run, places), numbers(by_steps, places), rtol=0, atol=1e-7)


def test_inputs_that_change_act_along_their_lines() -> None:
    """A torque that grows with the time, against the same FMU with the stepper inside, which takes lines too."""
    torque = {"shoulder.tau": "20*time", "elbow.tau": "3*time - 0.1"}
    run = mbfmu.simulate(two_link_exchange(), 0.2, inputs=torque, output_interval=0.05, tolerance=1e-10)
    by_steps = mbfmu.simulate("two_link", 0.2, inputs=torque, output_interval=0.05, stepper="projected")
    for name in ("shoulder.phi", "elbow.phi", "shoulder.tau"):
        np.testing.assert_allclose(run[name], by_steps[name], rtol=0, atol=1e-9)


def test_an_input_that_jumps_begins_anew(tmp_path: Path) -> None:
    table = tmp_path / "torque.csv"
    table.write_text("time,elbow.tau\n0,2\n0.1,2\n0.1,-3\n0.2,-3\n", encoding="utf-8")
    run, by_steps = (
        mbfmu.simulate(model, 0.2, inputs={"elbow.tau": str(table)}, output_interval=0.05, **how)
        for model, how in ((two_link_exchange(), {"tolerance": 1e-10}), ("two_link", {"stepper": "projected"}))
    )
    np.testing.assert_allclose(run["elbow.w"], by_steps["elbow.w"], rtol=0, atol=1e-8)


@cache
def two_link_exchange() -> Path:
    """Write the two links for model exchange; once a session."""
    path = Path(mkdtemp(prefix="mbfmu-exchange3-")) / "two_link.fmu"
    return mbfmu.export("two_link", path, kind="me", backend="native", fmi="3.0", platforms=["linux64"])


def test_the_tolerance_of_model_exchange_is_that_of_the_solver() -> None:
    exact = mbfmu.simulate(two_link_exchange(), 0.5, tolerance=1e-11)["elbow.phi"][-1]
    rough, fine = (
        abs(mbfmu.simulate(two_link_exchange(), 0.5, tolerance=tolerance)["elbow.phi"][-1] - exact)
        for tolerance in (1e-3, 1e-8)
    )
    assert fine < rough / 100
    with pytest.raises(UsageError, match=r"the tolerance is 0\.0; in model exchange it must be between 0 and 1"):
        mbfmu.simulate(two_link_exchange(), 0.5, tolerance=0.0)


# -- ours with event mode ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", thorough([("ball",), ("sampled",)], lambda name: name == "ball"))
def test_event_mode_leaves_the_bits_as_they_are(name: str) -> None:
    """An FMU of FMI 2.0 has no event mode.

    A stepper that keeps momenta makes them anew at a sampling, which event mode shows at once: off by round-off.
    """
    two, three = (mbfmu.simulate(stepped(name, fmi), 0.6, output_interval=0.013) for fmi in ("2.0", "3.0"))
    for column in set(two.names) - {"solver.error"}:  # shadows of the steps end where event mode begins
        assert np.array_equal(two[column], three[column])
    assert name != "ball" or three["events.count"][-1] > 0


@cache
def stepped(name: str, fmi: str) -> Path:
    """Write a model with its stepper inside; once a session."""
    if name == "ball":
        return path_of(name, fmi)
    path = Path(mkdtemp(prefix="mbfmu-events3-")) / f"{name}.fmu"
    return mbfmu.export(MODELS[name], path, stepper="projected", backend="native", fmi=fmi, platforms=["linux64"])


def test_a_run_handles_each_event_in_event_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = stepped("ball", "3.0")
    handled: list[float] = []
    handle = Events.handle
    monkeypatch.setattr(Events, "handle", lambda self, time: (handled.append(time), handle(self, time))[1])
    run = fmu_run(path, read_fmu(path), 0.6, None, None, 0.02, {}, {})
    messages = Messages()
    instance = instantiate(fmpy.extract(str(path), str(tmp_path)), run.description, "ball", messages.note, events=True)
    table = drive.follow(instance, run.description, run.plan, run.rows(), messages)
    instance.freeInstance()
    column = dict(zip(run.shown, table[:, 1:].T, strict=True))
    assert handled[0] == 0.0
    assert len(handled) == 1 + column["events.count"][-1] > 1
    assert handled[-1] == column["events.time"][-1]


# -- those of others ---------------------------------------------------------------------------------------------------

XML = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="3.0" modelName="Turn" instantiationToken="{t}">
  {KIND}
  <DefaultExperiment startTime="0" stopTime="1" stepSize="0.25"/>
  <ModelVariables>
    <Float64 name="time" valueReference="0" causality="independent"/>
    <Float64 name="x" valueReference="1" causality="output"><Dimension start="2"/></Float64>
    <Float64 name="der(x)" valueReference="2" derivative="1"><Dimension start="2"/></Float64>
    <Float64 name="z" valueReference="3"/>
    <Int32 name="count" valueReference="4" causality="output"/>
    <Int32 name="ticks" valueReference="5" causality="output"/>
    <Int32 name="n" valueReference="6" causality="input" start="1"/>
    <Int32 name="its.n" valueReference="7" causality="output"/>
    <Int32 name="fault" valueReference="8" causality="parameter" variability="fixed" start="0"/>
    <Clock name="clock" valueReference="9" causality="input" intervalVariability="constant" intervalDecimal="0.3"/>
  </ModelVariables>
  <ModelStructure>
    <Output valueReference="1"/><Output valueReference="4"/><Output valueReference="5"/><Output valueReference="7"/>
    <ContinuousStateDerivative valueReference="2"/>
    <EventIndicator valueReference="3"/>
  </ModelStructure>
</fmiModelDescription>
"""
STEPPED = (
    '<CoSimulation modelIdentifier="turn" hasEventMode="true" canHandleVariableCommunicationStepSize="true"'
    ' mightReturnEarlyFromDoStep="true"/>'
)
INTEGRATED = '<ModelExchange modelIdentifier="turn" needsCompletedIntegratorStep="true"/>'
DISCARDED, ENDED, ENDLESS, UNABLE, STUCK, ENDED_AT_EVENT = range(1, 7)
CODE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>
enum { EVENT_MODE, STEP_MODE };
typedef struct { double t, x[2]; int count, ticks, n, fault, mode, told; } I;
static const I START = {0, {1, 0}, 0, 0, 1, 0, EVENT_MODE, 0};
void* fmi3InstantiateCoSimulation(const char* name, const char* token, const char* path, _Bool visible, _Bool logs,
                                  _Bool events, _Bool early) {
    I* s = malloc(sizeof *s); *s = START; return events && early && !getenv("NO_EVENT_MODE") ? s : 0; }
void* fmi3InstantiateModelExchange(void) { I* s = malloc(sizeof *s); *s = START; return s; }
void fmi3FreeInstance(I* s) { free(s); }
int fmi3Reset(I* s) { *s = START; return 0; }
int fmi3GetFloat64(I* s, const unsigned vr[], size_t n, double value[], size_t m) {
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (vr[i] == 1) value[k++] = s->x[0], value[k++] = s->x[1];
        if (vr[i] == 2) value[k++] = s->x[1], value[k++] = -s->x[0];
        if (vr[i] == 3) value[k++] = s->x[0];
    }
    return k == m ? 0 : 3;
}
int fmi3GetInt32(I* s, const unsigned vr[], size_t n, int value[], size_t m) {
    const int all[] = {s->count, s->ticks, s->n, s->n, s->fault};
    for (size_t i = 0; i < n; i++) value[i] = all[vr[i] - 4];
    return 0;
}
int fmi3SetInt32(I* s, const unsigned vr[], size_t n, const int value[], size_t m) {
    if (s->mode != EVENT_MODE) return 3; /* discrete inputs change in event mode alone */
    if (vr[0] == 6) s->n = value[0]; else s->fault = value[0];
    return 0;
}
int fmi3GetIntervalDecimal(I* s, const unsigned vr[], size_t n, double value[], int q[]) { *value = 0.3; return 0; }
int fmi3GetShiftDecimal(I* s, const unsigned vr[], size_t n, double value[]) { *value = 0; return 0; }
int fmi3SetClock(I* s, const unsigned vr[], size_t n, const _Bool on[]) {
    if (s->mode != EVENT_MODE || fabs(remainder(s->t, 0.3)) > 1e-12) return 3;
    s->ticks++;
    return 0;
}
int fmi3EnterEventMode(I* s) { s->mode = EVENT_MODE; s->told = 0; return 0; }
int fmi3EnterStepMode(I* s) { s->mode = STEP_MODE; return 0; }
int fmi3EnterContinuousTimeMode(I* s) { s->mode = STEP_MODE; return 0; }
int fmi3UpdateDiscreteStates(I* s, _Bool* again, _Bool* end, _Bool* nominals, _Bool* states,
                             _Bool* defined, double* t) {
    *again = s->fault == 3 || !s->told++, *end = s->fault == 6 && s->count == 1, *nominals = *states = 0;
    if (*again || s->t == 0) { *defined = 1; *t = 0.5; return 0; }
    s->count++;
    *defined = s->t < 0.5, *t = 0.5;
    return 0;
}
int fmi3DoStep(I* s, double t, double h, _Bool free, _Bool* event, _Bool* end, _Bool* early, double* last) {
    const double zero = acos(0.0), to = t + h;
    if (s->mode != STEP_MODE || fabs(t - s->t) > 1e-9 || s->fault == 1) return s->fault == 1 ? 2 : 3;
    *event = *early = (t < zero && to >= zero) || s->fault == 5;
    s->t = s->fault == 5 ? t : *early ? zero : to;
    s->x[0] = cos(s->t), s->x[1] = -sin(s->t);
    *last = *early ? s->t : s->t - 1e-3; /* a solver inside may stop beside it */
    *end = s->fault == 2;
    return 0;
}
int fmi3SetTime(I* s, double t) { s->t = t; return 0; }
int fmi3SetContinuousStates(I* s, const double x[], size_t n) { memcpy(s->x, x, sizeof s->x); return n == 2 ? 0 : 3; }
int fmi3GetContinuousStates(I* s, double x[], size_t n) { memcpy(x, s->x, sizeof s->x); return n == 2 ? 0 : 3; }
int fmi3GetContinuousStateDerivatives(I* s, double dx[], size_t n) {
    dx[0] = s->x[1], dx[1] = -s->x[0];
    return s->fault == 4 ? 3 : s->fault == 1 && s->t > 0.25 ? 2 : 0;
}
int fmi3GetNominalsOfContinuousStates(I* s, double x[], size_t n) { x[0] = x[1] = 1; return 0; }
int fmi3GetEventIndicators(I* s, double z[], size_t n) { z[0] = s->x[0]; return n == 1 ? 0 : 3; }
int fmi3CompletedIntegratorStep(I* s, _Bool free, _Bool* event, _Bool* end) {
    *event = 0, *end = s->fault == 2; return 0; }
"""
CODE += "".join(f"int {name}(void) {{ return 0; }}\n" for name in steps3.FUNCTIONS if f"{name}(" not in CODE)


@cache
def turn(kind: str) -> Path:
    """Compile an FMU that turns, x = (cos t, -sin t), and counts what it is told; once a session."""
    folder = Path(mkdtemp(prefix="mbfmu-turn-"))
    (folder / "turn.c").write_text(CODE, encoding="utf-8")
    command = ["gcc", "-shared", "-fPIC", "-w", "-o", str(folder / "turn.so"), str(folder / "turn.c"), "-lm"]
    subprocess.run(command, check=True)
    path = folder / "turn.fmu"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("modelDescription.xml", XML.replace("{KIND}", kind))
        file.write(folder / "turn.so", f"binaries/{fmpy.platform_tuple}/turn{fmpy.sharedLibraryExtension}")
    return path


def test_events_and_ticks_are_met_at_their_times() -> None:
    run = mbfmu.simulate(turn(STEPPED), 2.0, output_interval=0.25)
    np.testing.assert_allclose(run["x[1]"], np.cos(run.time), rtol=0, atol=1e-12)
    assert run["ticks"].tolist() == [np.floor(time / 0.3 + 1e-9) + 1 for time in run.time]
    # the event that it tells to be at 0.5 s, its own where x[1] falls through zero, and each tick after the start
    met = [0.5, np.pi / 2, *(0.3 * np.arange(1, 7))]
    assert run["count"].tolist() == [sum(at <= time + 1e-9 for at in met) for time in run.time]


def test_discrete_inputs_change_in_event_mode() -> None:
    run = mbfmu.simulate(turn(STEPPED), 1.0, output_interval=0.25, inputs={"n": "1 + floor(2*time)"})
    assert run["its.n"].tolist() == [1, 1, 2, 2, 3]


@pytest.mark.filterwarnings("ignore::mbfmu.errors.ResultWarning")
def test_model_exchange_meets_events_and_has_arrays() -> None:
    run = mbfmu.simulate(turn(INTEGRATED), 2.0, output_interval=0.25, tolerance=1e-10)
    np.testing.assert_allclose(run["x[1]"], np.cos(run.time), rtol=0, atol=1e-8)
    np.testing.assert_allclose(run["der(x[2])"], -np.cos(run.time), rtol=0, atol=1e-8)
    assert run["count"].tolist() == [sum(at <= time + 1e-9 for at in (0.5, np.pi / 2)) for time in run.time]


def test_the_event_mode_is_left_where_the_fmu_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_EVENT_MODE", "1")
    with pytest.raises(FmuError, match="Failed to instantiate"):  # this one has no other mode either
        mbfmu.simulate(turn(STEPPED), 1.0)


@pytest.mark.parametrize(
    ("kind", "fault", "error", "message"),
    [
        (STEPPED, DISCARDED, StepError, "stopped at t = 0 s: it discarded the step"),
        (STEPPED, ENDED, StepError, r"stopped at t = 0\.249 s: it ended the run"),
        (STEPPED, ENDED_AT_EVENT, StepError, r"stopped at t = .* s: it ended the run"),
        (STEPPED, ENDLESS, FmuError, "the discrete states still need another update after 100 calls"),
        (STEPPED, STUCK, FmuError, "more than 1000 events follow each other at t = 0 s"),
        (INTEGRATED, DISCARDED, StepError, r"stopped at t = 0\.2\d* s: "),
        (INTEGRATED, ENDED, StepError, "stopped at t = .* s: it ended the run"),
        (INTEGRATED, UNABLE, FmuError, "fmi3GetContinuousStateDerivatives"),
        (INTEGRATED, ENDLESS, FmuError, "the discrete states still need another update after 100 calls"),
    ],
)
def test_what_ends_a_run_is_one_error(kind: str, fault: int, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as told:
        mbfmu.simulate(turn(kind), 2.0, output_interval=0.25, values={"fault": fault})
    assert re.search(message, str(told.value))


def test_a_run_after_another_tells_its_own_time() -> None:
    """One instance makes both: the second one stops at its first step."""
    measures = [measure("m", "max(x[1])")]
    study = Study(fmu_subject(turn(STEPPED), ("fault",), measures, None, None, {}, 1.0, None, {}), measures)
    first, second = [study.row({"fault": fault}) for fault in (0, DISCARDED)]
    assert (first.failure, first.measures["m"]) == ("", 1.0)
    assert "stopped at t = 0 s: it discarded the step" in second.failure

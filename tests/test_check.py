"""The checker: a good FMU has no problems, each fault has its rule, nothing makes the checker raise."""

import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import fmpy
import hypothesis.strategies as st
import pytest
import pythonfmu
from harness import examples, thorough
from hypothesis import HealthCheck, example, given
from pythonfmu.builder import FmuBuilder
from rich.console import Console

import mbfmu.checker.archive as archive_rules
import mbfmu.checker.dynamic as dynamic
import mbfmu.checker.outcome as outcome
import mbfmu.checker.static as static
import mbfmu.fmi.archive as archive
import mbfmu.fmi.supervise as supervise
from mbfmu.checker import PRACTICAL, RULES, Outcome, check, report, variables
from mbfmu.checker.probe import steps3
from mbfmu.checker.sentences import SENTENCES
from mbfmu.cli import check_report
from mbfmu.cli.console import plain
from mbfmu.errors import UsageError
from mbfmu.fmi import xml
from mbfmu.fmu.export import export

Members = dict[str, bytes]

XML = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="Swing" guid="{5c1f}"
    generationDateAndTime="2024-01-01T00:00:00Z" variableNamingConvention="structured">
  <CoSimulation modelIdentifier="swing" canGetAndSetFMUstate="true" canSerializeFMUstate="true"
      canHandleVariableCommunicationStepSize="true" needsExecutionTool="false"></CoSimulation>
  <UnitDefinitions>
    <Unit name="1"/>
    <Unit name="kg"><BaseUnit kg="1"/></Unit>
    <Unit name="s"><BaseUnit s="1"/></Unit>
    <Unit name="rad"><BaseUnit rad="1"/><DisplayUnit name="deg" factor="57.29577951308232"/></Unit>
    <Unit name="rad/s"><BaseUnit rad="1" s="-1"/></Unit>
  </UnitDefinitions>
  <TypeDefinitions>
    <SimpleType name="Angle"><Real unit="rad" displayUnit="deg" min="-4" max="4"/></SimpleType>
    <SimpleType name="Mode"><Enumeration>
      <Item name="off" value="0"/><Item name="slow" value="1"/><Item name="fast" value="2"/>
    </Enumeration></SimpleType>
  </TypeDefinitions>
  <LogCategories><Category name="logStatusError"/><Category name="logAll"/></LogCategories>
  <DefaultExperiment startTime="0" stopTime="1" tolerance="1e-6" stepSize="0.01"/>
  <ModelVariables>
    <ScalarVariable name="time" valueReference="0" causality="independent"><Real unit="s"/></ScalarVariable>
    <ScalarVariable name="u[1]" valueReference="1" causality="input">
      <Real unit="1" start="0.5"/></ScalarVariable>
    <ScalarVariable name="joint.phi" valueReference="2" causality="output" initial="exact">
      <Real declaredType="Angle" start="1"/></ScalarVariable>
    <ScalarVariable name="joint.w" valueReference="3" causality="output">
      <Real unit="rad/s" derivative="3"/></ScalarVariable>
    <ScalarVariable name="k" valueReference="4" causality="parameter" variability="tunable">
      <Real unit="1" start="2"/></ScalarVariable>
    <ScalarVariable name="twice_k" valueReference="5" causality="calculatedParameter" variability="tunable">
      <Real unit="1"/></ScalarVariable>
    <ScalarVariable name="count" valueReference="6" causality="output" variability="discrete" initial="exact">
      <Integer start="0"/></ScalarVariable>
    <ScalarVariable name="m" valueReference="7" causality="parameter" variability="fixed">
      <Real unit="kg" start="3"/></ScalarVariable>
    <ScalarVariable name="table[1]" valueReference="8" variability="constant">
      <Real unit="1" start="0.25"/></ScalarVariable>
    <ScalarVariable name="table[2]" valueReference="9" variability="constant">
      <Real unit="1" start="0.75"/></ScalarVariable>
    <ScalarVariable name="mode" valueReference="10" causality="parameter" variability="fixed">
      <Enumeration declaredType="Mode" start="2"/></ScalarVariable>
    <ScalarVariable name="label" valueReference="11" causality="input" variability="discrete">
      <String start="a b"/></ScalarVariable>
    <ScalarVariable name="on" valueReference="12" causality="input" variability="discrete">
      <Boolean start="true"/></ScalarVariable>
    <ScalarVariable name="joint.rate" valueReference="3"><Real unit="rad/s"/></ScalarVariable>
  </ModelVariables>
  <ModelStructure>
    <Outputs>
      <Unknown index="3" dependencies=""/>
      <Unknown index="4" dependencies="2 3" dependenciesKind="constant dependent"/>
      <Unknown index="7" dependencies="2" dependenciesKind="dependent"/>
    </Outputs>
    <Derivatives><Unknown index="4"/></Derivatives>
    <InitialUnknowns>
      <Unknown index="4" dependencies="2 3 5" dependenciesKind="constant dependent dependent"/>
      <Unknown index="6" dependencies="5" dependenciesKind="constant"/>
    </InitialUnknowns>
  </ModelStructure>
</fmiModelDescription>
"""

SLAVE = """
import ctypes, math, os, time
from pythonfmu import Boolean, Fmi2Causality, Fmi2Slave, Integer, Real, String
from pythonfmu.enums import Fmi2Status

BORN = {}
ALIVE = set()

class Swing(Fmi2Slave):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.t, self.u, self.phi, self.w, self.k, self.count, self.hidden = 0.0, 0.5, 1.0, 0.0, 2.0, 0, 0.1
        self.m, self.table_1, self.table_2, self.mode, self.label, self.on = 3.0, 0.25, 0.75, 2, "a b", True
        self.ready = False
        BORN[self.instance_name] = BORN.get(self.instance_name, 0) + 1
        ALIVE.add(self.instance_name)
        # born
        for name in ("t", "u", "phi", "w", "k", "twice_k"):
            self.register_variable(Real(name, causality=Fmi2Causality.local))
        self.register_variable(Integer("count", causality=Fmi2Causality.local))
        for name in ("m", "table_1", "table_2"):
            self.register_variable(Real(name, causality=Fmi2Causality.local))
        self.register_variable(Integer("mode", causality=Fmi2Causality.local))
        self.register_variable(String("label", causality=Fmi2Causality.local))
        self.register_variable(Boolean("on", causality=Fmi2Causality.local))

    @property
    def twice_k(self):
        return 2.0 * self.k

    def setup_experiment(self, start_time, stop_time=None, tolerance=None):
        self.t = start_time

    def enter_initialization_mode(self):
        pass  # initialise

    def exit_initialization_mode(self):
        self.ready = True

    def terminate(self):
        ALIVE.discard(self.instance_name)
        # end

    def set_real(self, vrs, values):
        for vr, value in zip(vrs, values):
            if vr == 7 and self.ready:
                self.log("m is fixed", Fmi2Status.error)
                continue  # late
            # set
            self.vars[vr].setter(value)

    def do_step(self, t, h):
        # before
        if not self.ready:
            return False  # early
        if not h > 0.0:
            self.log(f"step size {h}", Fmi2Status.error)  # why
            return False  # size
        if not math.isfinite(self.u):
            return False  # input
        self.hidden += 0.1 * h
        self.w += h * (self.u - self.k * math.sin(self.phi) - self.hidden * self.w)
        self.phi += h * self.w
        self.t, self.count = t + h, self.count + 1
        # after
        return True

    def _get_fmu_state(self):
        inner = [self.phi, self.w, self.count, self.hidden]
        return [self.t, self.u, self.k, inner]

    def _set_fmu_state(self, state):
        self.t, self.u, self.k, (self.phi, self.w, self.count, self.hidden) = state

    @staticmethod
    def _fmu_state_to_bytes(state):
        return repr(state).encode()

    @staticmethod
    def _fmu_state_from_bytes(state):
        return eval(state.decode())
"""

NATIVE = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="Native" guid="{5c1f}" variableNamingConvention="structured">
  <CoSimulation modelIdentifier="native" canGetAndSetFMUstate="true" canSerializeFMUstate="true"
      canHandleVariableCommunicationStepSize="true" canInterpolateInputs="true" maxOutputDerivativeOrder="1"
      canNotUseMemoryManagementFunctions="true" providesDirectionalDerivative="true" canRunAsynchronuously="true"/>
  <UnitDefinitions><Unit name="m"/><Unit name="m/s"/><Unit name="s"/></UnitDefinitions>
  <LogCategories><Category name="logStatusError"/></LogCategories>
  <DefaultExperiment startTime="1" stopTime="3" stepSize="0.125"/>
  <ModelVariables>
    <ScalarVariable name="t" valueReference="0" causality="independent"><Real unit="s"/></ScalarVariable>
    <ScalarVariable name="u" valueReference="1" causality="input"><Real unit="m/s" start="1"/></ScalarVariable>
    <ScalarVariable name="y" valueReference="2" causality="output" initial="exact">
      <Real unit="m" start="0"/></ScalarVariable>
    <ScalarVariable name="k" valueReference="3" causality="parameter" variability="tunable">
      <Real start="2"/></ScalarVariable>
  </ModelVariables>
  <ModelStructure><Outputs><Unknown index="3" dependencies=""/></Outputs></ModelStructure>
</fmiModelDescription>
"""

NATIVE_C = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "fmi2Functions.h"

typedef struct { double r[4], du, stop; int ready, stopped, pending; } State;
typedef struct { State s; const fmi2CallbackFunctions* f; char name[64]; } Slave;
#define S (&((Slave*)c)->s)

static fmi2Status say(fmi2Component c, fmi2Status status, const char* text) {
    Slave* s = c;
    s->f->logger(s->f->componentEnvironment, s->name, status, "logStatusError" /* category */, "%s", text);
    return status;
}
static void begin(State* s) { memset(s, 0, sizeof *s); s->r[1] = 1.0; s->r[3] = 2.0; }

const char* fmi2GetTypesPlatform(void) { return "default"; }
const char* fmi2GetVersion(void) { return "2.0"; }
fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String names[]) { return fmi2OK; }
fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                              const fmi2CallbackFunctions* f, fmi2Boolean visible, fmi2Boolean logging) {
    if (strcmp(guid, "{5c1f}")) {
        f->logger(f->componentEnvironment, name, fmi2Error, "logStatusError", "wrong guid %s", guid);
        return 0; /* guid */
    }
    Slave* c = calloc(1, sizeof *c); /* allocate */
    strncpy(c->name, name, 63);
    c->f = f;
    begin(&c->s);
    return c;
}
void fmi2FreeInstance(fmi2Component c) { free(c); }
fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean tolerant, fmi2Real tolerance, fmi2Real start,
                               fmi2Boolean stopped, fmi2Real stop) {
    S->r[0] = start; S->stopped = stopped; S->stop = stop;
    return fmi2OK;
}
fmi2Status fmi2EnterInitializationMode(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2ExitInitializationMode(fmi2Component c) { S->ready = 1; return fmi2OK; }
fmi2Status fmi2Terminate(fmi2Component c) { S->ready = 0; return fmi2OK; }
fmi2Status fmi2Reset(fmi2Component c) { begin(S); return fmi2OK; }
fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real value[]) {
    for (size_t i = 0; i < n; i++) {
        if (vr[i] > 3) return say(c, fmi2Error, "unknown value reference"); /* get */
        value[i] = S->r[vr[i]];
    }
    return fmi2OK;
}
fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real value[]) {
    for (size_t i = 0; i < n; i++) {
        if (vr[i] > 3) return say(c, fmi2Error, "unknown value reference"); /* set */
        S->r[vr[i]] = value[i];
    }
    return fmi2OK;
}
#define NONE(name, type) fmi2Status name(fmi2Component c, const fmi2ValueReference vr[], size_t n, type value[]) { \
    return n ? say(c, fmi2Error, "all variables are Real") : fmi2OK; }
NONE(fmi2GetInteger, fmi2Integer) NONE(fmi2GetBoolean, fmi2Boolean) NONE(fmi2GetString, fmi2String)
NONE(fmi2SetInteger, const fmi2Integer) NONE(fmi2SetBoolean, const fmi2Boolean) NONE(fmi2SetString, const fmi2String)
fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate* state) {
    if (!*state) *state = malloc(sizeof(State));
    memcpy(*state, S, sizeof(State));
    return fmi2OK;
}
fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state) { memcpy(S, state, sizeof(State)); return fmi2OK; }
fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate* state) { free(*state); *state = 0; return fmi2OK; }
fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t* n) {
    *n = sizeof(State); return fmi2OK; }
fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t n) {
    memcpy(bytes, state, n); return fmi2OK; }
fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t n, fmi2FMUstate* state) {
    *state = malloc(n); memcpy(*state, bytes, n); return fmi2OK; }
fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference z[], size_t nz,
        const fmi2ValueReference v[], size_t nv, const fmi2Real dv[], fmi2Real dz[]) {
    for (size_t i = 0; i < nz; i++) dz[i] = 3.0 * dv[0]; /* direction */
    return fmi2OK;
}
fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n,
        const fmi2Integer order[], const fmi2Real value[]) { S->du = value[0]; return fmi2OK; /* inputs */ }
fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n,
        const fmi2Integer order[], fmi2Real value[]) { value[0] = S->r[1]; return fmi2OK; /* outputs */ }
fmi2Status fmi2DoStep(fmi2Component c, fmi2Real t, fmi2Real h, fmi2Boolean forget) {
    /* before */
    if (!S->ready) return say(c, fmi2Error, "a step before the initialisation");
    if (!(h > 0)) return say(c, fmi2Error, "a step must go forward");
    if (!isfinite(S->r[1])) return say(c, fmi2Discard, "u is not finite");
    if (S->stopped && t + h > S->stop + 1e-9 * h) return say(c, fmi2Error, "past the stop time");
    S->r[2] += h * (S->r[3] * S->r[1] + 0.5 * h * S->du);
    S->r[0] = t + h;
    S->pending = 1;
    return fmi2Pending;
}
fmi2Status fmi2CancelStep(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Status* value) {
    *value = S->pending-- > 0 ? fmi2Pending : fmi2OK /* ended */;
    return fmi2OK;
}
#define LESS(name, type) fmi2Status name(fmi2Component c, const fmi2StatusKind k, type* value) { return fmi2Discard; }
LESS(fmi2GetRealStatus, fmi2Real) LESS(fmi2GetIntegerStatus, fmi2Integer)
LESS(fmi2GetBooleanStatus, fmi2Boolean) LESS(fmi2GetStringStatus, fmi2String)
"""

RATE = """<ScalarVariable name="der(y)" valueReference="4"><Real unit="m/s" derivative="3"/></ScalarVariable>"""
EXCHANGE = NATIVE
for _old, _new in (
    ("<CoSimulation", '''<ModelExchange modelIdentifier="native" canGetAndSetFMUstate="true"
      canSerializeFMUstate="true" providesDirectionalDerivative="true"/>
  <CoSimulation'''),
    ('variableNamingConvention="structured"', 'variableNamingConvention="structured" numberOfEventIndicators="1"'),
    ("</ModelVariables>", f"{RATE}</ModelVariables>"),
    ("</Outputs>", '</Outputs><Derivatives><Unknown index="5"/></Derivatives>'
     '<InitialUnknowns><Unknown index="5"/></InitialUnknowns>'),
):  # fmt: skip
    EXCHANGE = EXCHANGE.replace(_old, _new, 1)

EXCHANGE_C = NATIVE_C
for _old, _new in (
    ("char name[64]; } Slave;", "char name[64]; int type; } Slave;"),
    ("double r[4]", "double r[5]"),
    ("c->f = f;", "c->f = f; /* made */\n    c->type = type; strcpy(newest, name);"),
    ("static void begin", "static char newest[64];\n"
     "static double rate(State* s) { return s->r[3] * s->r[1] - s->r[2]; }\n"
     "#define EXCHANGE (((Slave*)c)->type == fmi2ModelExchange)\nstatic void begin"),
    ("vr[i] > 3", "vr[i] > 4"),
    ("value[i] = S->r[vr[i]];", "value[i] = vr[i] == 4 ? rate(S) : S->r[vr[i]];"),
    ("dz[i] = 3.0 * dv[0];", "dz[i] = (v[0] == 2 ? -1.0 : z[i] == 2 && EXCHANGE ? 0.0 : 3.0) * dv[0];"),
):  # fmt: skip
    EXCHANGE_C = EXCHANGE_C.replace(_old, _new)
EXCHANGE_C += r"""
fmi2Status fmi2EnterEventMode(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo* info) {
    memset(info, 0, sizeof *info);
    info->newDiscreteStatesNeeded = 0 /* again */;
    return fmi2OK;
}
fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean free, fmi2Boolean* event, fmi2Boolean* end) {
    *event = *end = 0; return fmi2OK; }
fmi2Status fmi2SetTime(fmi2Component c, fmi2Real t) { S->r[0] = t; return fmi2OK; }
fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t n) { S->r[2] = x[0]; return fmi2OK; }
fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t n) { x[0] = S->r[2]; return fmi2OK; }
fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real dx[], size_t n) { dx[0] = rate(S); return fmi2OK; }
fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real z[], size_t n) { z[0] = S->r[2] - 1.5; return fmi2OK; }
fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real x[], size_t n) { x[0] = 1.0; return fmi2OK; }
"""
"""The code of a good FMU for both kinds: der(y) = k u - y, with an event where y is 1.5."""

FOREIGN = "darwin64" if sys.platform != "darwin" else "win64"
ENDINGS = {"darwin64": ".dylib", "win64": ".dll"}
PE = b"MZ" + bytes(58) + struct.pack("<I", 64) + b"PE\0\0" + struct.pack("<H", 0x8664)
HEADS = {
    "darwin64": b"\xcf\xfa\xed\xfe" + struct.pack("<I", 0x01000007) + bytes(60),
    "win64": PE,
    "linux64": b"\x7fELF\2\1" + bytes(12) + struct.pack("<H", 62) + bytes(60),
    "aarch64-linux": b"\x7fELF\2\1" + bytes(12) + struct.pack("<H", 183) + bytes(60),
}
"""What the libraries of platforms begin with."""
SCRIPT = "resources/slave_0123abcd.py"
DESCRIPTION = "modelDescription.xml"


def swing() -> Members:
    """Members of a good FMU for a platform that is not this one, so it is not run."""
    return {
        DESCRIPTION: XML.encode(),
        f"binaries/{FOREIGN}/swing{ENDINGS[FOREIGN]}": HEADS[FOREIGN],
        "resources/slavemodule.txt": b"slave_0123abcd",
        SCRIPT: SLAVE.encode(),
    }


def runnable(slave: str = SLAVE, xml: str = XML) -> Members:
    """Members of a good FMU for this platform."""
    package = Path(pythonfmu.__file__).parent
    suffix = fmpy.sharedLibraryExtension
    (library,) = (package / "resources" / "binaries" / fmpy.platform).glob(f"*{suffix}")
    return {
        **swing(),
        DESCRIPTION: xml.encode(),
        SCRIPT: slave.encode(),
        f"binaries/{fmpy.platform}/swing{suffix}": library.read_bytes(),
        **{f"resources/pythonfmu/{file.name}": file.read_bytes() for file in package.glob("*.py")},
    }


def native(folder: Path, old: str = "", new: str = "", code: str = NATIVE_C, xml: str = NATIVE) -> Path:
    """A good FMU in C, with one change to its code."""
    assert not old or code.count(old) == 1, old
    source, library = folder / "native.c", folder / f"native{fmpy.sharedLibraryExtension}"
    source.write_text(code.replace(old, new) if old else code, encoding="utf-8")
    include = Path(archive.__file__).parents[1] / "fmu" / "native" / "standard"
    command = [COMPILER or "", "-shared", "-fPIC", "-w", f"-I{include}", "-o", str(library), str(source), "-lm"]
    subprocess.run(command, check=True)
    name = f"binaries/{fmpy.platform}/native{fmpy.sharedLibraryExtension}"
    members = {DESCRIPTION: xml.encode(), name: library.read_bytes(), "resources/a.txt": b""}
    return pack(members, folder / "native.fmu")


def pack(members: Members, path: Path, compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression, compresslevel=1) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def swap(members: Members, name: str, old: str, new: str) -> Members:
    text = members[name].decode()
    assert text.count(old) == 1, old
    return {**members, name: text.replace(old, new).encode()}


def rules(outcomes: Iterable[Outcome]) -> set[str]:
    return {item.rule for item in outcomes}


def wrong(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Return what fails, and notes."""
    return [item for item in outcomes if item.status in ("fail", "note")]


def breaches(path: Path | str) -> list[Outcome]:
    """Return what is wrong with an FMU, of the standard or beyond."""
    return wrong(report(path))


COMPILER = shutil.which("cc")
needs_compiler = pytest.mark.skipif(COMPILER is None or sys.platform == "win32", reason="there is no C compiler")
needs_library = pytest.mark.skipif(
    not (Path(pythonfmu.__file__).parent / "resources" / "binaries" / fmpy.platform).is_dir(),
    reason="pythonfmu has no library for this platform",
)


def test_a_good_fmu_for_another_platform_has_no_problems(tmp_path: Path) -> None:
    assert breaches(pack(swing(), tmp_path / "swing.fmu")) == []


@needs_library
def test_a_good_fmu_that_runs_has_no_problems(tmp_path: Path) -> None:
    assert breaches(str(pack(runnable(), tmp_path / "swing.fmu"))) == []


EXPERIMENT = '<DefaultExperiment startTime="0" stopTime="1" tolerance="1e-6" stepSize="0.01"/>'
TIME = '<ScalarVariable name="t" valueReference="20" causality="independent"><Real unit="s"/></ScalarVariable>'
CONSTANT = (
    '<ScalarVariable name="{}" valueReference="{}" causality="local" variability="constant">'
    '<Real unit="1" start="{}"/></ScalarVariable>'
)
END = "</ModelVariables>"
TOOLS = '<Tool name="a"/><Tool name="a"/>'
GRAD = '<SimpleType name="Gon"><Real unit="gon"/></SimpleType>'

EDITS = [
    ("xml-encoding", 'encoding="UTF-8"', 'encoding="ISO-8859-1"'),
    ("xml-encoding", 'encoding="UTF-8"', ""),
    ("xml", "<UnitDefinitions>", "<UnitDefinitions"),
    ("fmi-version", 'fmiVersion="2.0"', 'fmiVersion="1.0"'),
    ("fmi-version", 'fmiVersion="2.0"', ""),
    ("schema", 'guid="{5c1f}"', ""),
    ("schema", 'start="0.5"', 'start="half"'),
    ("schema", 'causality="independent"', 'causality="time"'),
    ("schema", 'modelIdentifier="swing"', ""),
    ("schema", "<UnitDefinitions>", "<UnitDefinitions/><UnitDefinitions>"),
    ("schema", 'valueReference="2"', f'valueReference="{"0" * 5000}2"'),
    ("guid", "{5c1f}", " "),
    ("generation-date", "00:00:00Z", "00:00:00+00:00"),
    ("generation-date", "00:00:00Z", "00:00:00"),
    ("state-flags", 'canGetAndSetFMUstate="true"', ""),
    ("source-files", "</CoSim", '<SourceFiles><File name="a.c"/></SourceFiles></CoSim'),
    ("stop-missing", EXPERIMENT, ""),
    ("stop-missing", 'stopTime="1"', ""),
    ("default-experiment", 'stopTime="1"', 'stopTime="0"'),
    ("default-experiment", 'stopTime="1"', 'stopTime="INF"'),
    ("default-experiment", 'tolerance="1e-6"', 'tolerance="0"'),
    ("default-experiment", 'stepSize="0.01"', 'stepSize="-0.01"'),
    ("log-category", '"logAll"', '"logall"'),
    ("log-category", '"logAll"', '"logStatusError"'),
    ("annotation", "<ModelVariables>", f"<VendorAnnotations>{TOOLS}</VendorAnnotations><ModelVariables>"),
    ("annotation", '<Real unit="s"/>', f'<Real unit="s"/><Annotations>{TOOLS}</Annotations>'),
    ("unit-definition", '<Unit name="1"/>', '<Unit name="1"/><Unit name="s"/>'),
    ("unit-definition", '<DisplayUnit name="deg"', '<DisplayUnit name="deg"/><DisplayUnit name="deg"'),
    ("unit-definition", 'factor="57.29577951308232"', 'factor="0"'),
    ("unit-definition", 'factor="57.29577951308232"', 'offset="INF"'),
    ("unit-definition", '<BaseUnit kg="1"/>', '<BaseUnit kg="1" factor="NaN"/>'),
    ("type-definition", 'min="-4" max="4"', 'min="4" max="-4"'),
    ("type-definition", 'min="-4" max="4"', 'nominal="0"'),
    ("type-definition", '<Item name="off" value="0"/>', '<Item name="off" value="1"/>'),
    ("type-definition", '<Item name="off" value="0"/>', '<Item name="slow" value="0"/>'),
    ("variable-name", '"joint.phi"', '"joint phi"'),
    ("variable-name", '"u[1]"', '"u[i]"'),
    ("variable-name", '"k"', '"2k"'),
    ("variable-name", '"k"', '"schräg"'),
    ("variable-name", '"k"', '""'),
    ("array-order", '"table[1]"', '"table[3]"'),
    ("array-order", '"k"', '"table[0]"'),
    ("name-unique", '"twice_k"', '"k"'),
    ("name-unique", '"twice_k"', '"Angle"'),
    ("alias", 'name="k" valueReference="4"', 'name="k" valueReference="1"'),
    ("alias", 'name="joint.w" valueReference="3"', 'name="joint.w" valueReference="2"'),
    ("alias", 'name="time" valueReference="0"', 'name="time" valueReference="4"'),
    ("alias", 'name="mode" valueReference="10"', 'name="mode" valueReference="6"'),
    (
        "alias",
        'name="joint.rate" valueReference="3"><Real unit="rad/s"/>',
        'name="joint.rate" valueReference="3"><Real/>',
    ),
    ("alias", END, CONSTANT.format("c", 21, 1) + CONSTANT.format("d", 21, 2) + END),
    ("alias", END, CONSTANT.format("c", 4, 2) + END),
    ("independent", END, TIME + END),
    ("independent", '<Real unit="s"/></ScalarVariable>', "<Integer/></ScalarVariable>"),
    ("combination", 'causality="output" variability="discrete"', 'causality="output" variability="fixed"'),
    ("combination", 'valueReference="1" causality="input"', 'valueReference="1" causality="input" initial="exact"'),
    (
        "combination",
        'name="k" valueReference="4" causality="parameter"',
        'name="k" valueReference="4" causality="parameter" initial="calculated"',
    ),
    ("continuous-type", 'variability="discrete" initial="exact"', 'initial="exact"'),
    ("start-missing", 'unit="1" start="0.5"', 'unit="1"'),
    ("start-missing", 'declaredType="Angle" start="1"', 'declaredType="Angle"'),
    ("start-missing", 'unit="1" start="2"', 'unit="1"'),
    ("start-missing", 'unit="1" start="0.25"', 'unit="1"'),
    ("start-forbidden", 'unit="rad/s" derivative', 'unit="rad/s" start="0" derivative'),
    ("start-forbidden", '<Real unit="s"/>', '<Real unit="s" start="0"/>'),
    ("start-finite", 'start="0.5"', 'start="NaN"'),
    ("start-finite", 'start="0.5"', 'start="INF"'),
    ("start-range", 'start="1"', 'start="5"'),
    ("start-range", 'start="0.5"', 'start="0.5" max="0.25"'),
    ("start-range", 'declaredType="Mode" start="2"', 'declaredType="Mode" start="7"'),
    ("bound", '<Integer start="0"/>', '<Integer start="0" min="2" max="1"/>'),
    ("bound", 'start="0.5"', 'start="0.5" nominal="0"'),
    ("bound", 'start="0.5"', 'start="0.5" nominal="-1"'),
    ("unit-undefined", 'unit="kg" start="3"', 'unit="lb" start="3"'),
    ("unit-undefined", 'unit="1" start="0.5"', 'displayUnit="%" start="0.5"'),
    ("unit-undefined", "<TypeDefinitions>", f"<TypeDefinitions>{GRAD}"),
    ("display-unit", 'unit="1" start="0.5"', 'unit="1" displayUnit="%" start="0.5"'),
    ("declared-type", 'declaredType="Angle"', 'unit="rad" declaredType="Winkel"'),
    ("declared-type", '<Integer start="0"/>', '<Integer start="0" declaredType="Angle"/>'),
    ("model-exchange-only", 'declaredType="Angle" start="1"', 'declaredType="Angle" start="1" reinit="false"'),
    ("model-exchange-only", 'name="u[1]"', 'name="u[1]" canHandleMultipleSetPerTimeInstant="true"'),
    ("outputs", '<Unknown index="3" dependencies=""/>', ""),
    ("outputs", '<Unknown index="3" dependencies=""/>', 2 * '<Unknown index="3" dependencies=""/>'),
    ("outputs", "<Outputs>", '<Outputs><Unknown index="5" dependencies=""/>'),
    ("outputs", "<Outputs>", '<Outputs><Unknown index="99" dependencies=""/>'),
    ("derivatives", 'unit="1" start="2"', 'unit="1" start="2" derivative="99"'),
    ("derivatives", 'unit="1" start="2"', 'unit="1" start="2" derivative="5"'),
    ("derivatives", 'unit="1" start="2"', 'unit="1" start="2" derivative="7"'),
    (
        "derivatives",
        'valueReference="2" causality="output"',
        'valueReference="2" causality="output" variability="discrete"',
    ),
    ("derivatives", "<Derivatives>", '<Derivatives><Unknown index="2"/>'),
    ("initial-unknowns", '<Unknown index="6" dependencies="5" dependenciesKind="constant"/>', ""),
    ("initial-unknowns", '<Unknown index="6"', '<Unknown index="7"/><Unknown index="6"'),
    ("initial-unknowns", "<InitialUnknowns>", '<InitialUnknowns><Unknown index="6"/>'),
    ("dependencies", 'dependencies="2" ', 'dependencies="99" '),
    ("dependencies", 'dependencies="2" ', 'dependencies="5" '),
    ("dependencies", 'dependencies="2 3 5"', 'dependencies="3 2 5"'),
    ("dependencies", 'dependencies="5"', 'dependencies="4"'),
    ("dependencies-kind", '"2" dependenciesKind="dependent"', '"2" dependenciesKind="dependent dependent"'),
    ("dependencies-kind", '"2" dependenciesKind="dependent"', '"2" dependenciesKind="constant"'),
    ("dependencies-kind", 'dependencies="5" dependenciesKind="constant"', 'dependencies="5" dependenciesKind="fixed"'),
    ("dependencies-kind", '<Unknown index="6" dependencies="5"', '<Unknown index="6"'),
    ("feedthrough-missing", '<Unknown index="3" dependencies=""/>', '<Unknown index="3"/>'),
    ("execution-tool", 'needsExecutionTool="false"', 'needsExecutionTool="1"'),
    ("interpolate-inputs", 'needsExecutionTool="false"', 'canInterpolateInputs="true"'),
]


@pytest.mark.parametrize(("rule", "old", "new"), EDITS)
def test_each_fault_in_the_description_breaks_its_own_rule(tmp_path: Path, rule: str, old: str, new: str) -> None:
    found = report(pack(swap(swing(), DESCRIPTION, old, new), tmp_path / "x.fmu"), strict=True)
    assert rules(wrong(found)) == {rule}


def without(name: str) -> Callable[[Members], Members]:
    return lambda members: {key: value for key, value in members.items() if key != name}


def plus(name: str, content: bytes = b"") -> Callable[[Members], Members]:
    return lambda members: {**members, name: content}


WITHOUT_UNITS = re.sub(r'<UnitDefinitions>.*</UnitDefinitions>| (display)?[uU]nit="[^"]*"', "", XML, flags=re.DOTALL)
LIBRARY = f"binaries/{FOREIGN}/swing{ENDINGS[FOREIGN]}"

PACKINGS: list[tuple[str, Callable[[Members], Members]]] = [
    ("description-missing", without(DESCRIPTION)),
    ("zip-path", plus("/etc/passwd")),
    ("zip-path", plus("../outside.txt")),
    ("zip-path", plus("resources/../../outside.txt")),
    ("zip-path", plus("C:/outside.txt")),
    ("zip-path", plus("resources\\file.txt")),
    ("unit-missing", plus(DESCRIPTION, WITHOUT_UNITS.encode())),
    ("model-identifier", lambda m: swap(m, DESCRIPTION, '"swing"', '"my swing"')),
    ("platform-binary", plus("binaries/linux32/other.so")),
    ("platform-binary", plus("binaries/win32/swing.so")),
    ("platform-binary", without(LIBRARY)),
    ("binary-format", plus(LIBRARY, b"no library")),
    ("binary-format", plus(LIBRARY, b"MZ")),
    ("binary-format", plus("binaries/linux32/swing.so", HEADS["win64"])),
    ("binary-format", plus("binaries/linux32/swing.so", HEADS["linux64"])),
    (
        "binary-format",
        plus("binaries/win64/swing.dll", PE.replace(struct.pack("<H", 0x8664), struct.pack("<H", 0xAA64))),
    ),
    ("binary-format", plus("binaries/aarch64-linux/swing.so", HEADS["linux64"])),
    ("binary-format", plus("binaries/win32/swing.dll", HEADS["win64"])),
    ("module-name", plus("resources/model.py")),
    ("module-name", plus("resources/tools/__init__.py")),
    ("slave-script", without(SCRIPT)),
    ("slave-script", plus("resources/slavemodule.txt", b"slave_0123abcd\r\n")),
    ("slave-script", plus("resources/slavemodule.txt", b"../slave")),
    ("slave-script", lambda m: swap(m, SCRIPT, "Swing(Fmi2Slave)", "Swing")),
]


@pytest.mark.parametrize(("rule", "change"), PACKINGS)
def test_each_fault_in_the_archive_breaks_its_own_rule(
    tmp_path: Path, rule: str, change: Callable[[Members], Members]
) -> None:
    problems = breaches(pack(change(swing()), tmp_path / "x.fmu"))
    named_after = {"platform-binary"} if rule == "model-identifier" else set()
    assert rules(problems) - named_after == {rule}


DISTURBED = "self.phi += 1e-9 * (len(ALIVE) - 1)"

DYNAMIC: list[tuple[str, str, str]] = [
    ("instantiate", "# born", "raise ValueError('stillborn')"),
    ("initialise", "pass  # initialise", "raise ValueError('no start')"),
    ("step", "# before", "return False"),
    ("step", "# before", "raise ValueError('torn cable')"),
    ("step", "# before", "os._exit(0)"),
    ("output-finite", "# after", "self.w = math.inf"),
    ("start-value", "2.0, 0, 0.1", "2.5, 0, 0.1"),
    ("start-value", '"a b", True', '"a", True'),
    ("start-value", "0.75, 2,", "0.75, 1,"),
    ("start-digits", "3.0, 0.25", "3.0000000000000004, 0.25"),
    ("time", "self.t, self.count = t + h", "self.t, self.count = h"),
    ("set-input", "# set", "value = value if vr != 1 else 0.5"),
    ("tunable-parameter", "# set", "value = value if vr != 4 else 2.0"),
    ("tunable-parameter", "# after", "self.w += 0.0 if self.k == 2.0 else math.inf"),
    ("fixed-parameter", "# set", "value = value if vr != 7 else 3.0"),
    ("late-parameter", "continue  # late", "pass"),
    ("state", "self.count, self.hidden]", "self.count, 0.1]"),
    ("state", "return [self.t, self.u", "return [self.t, 0.51"),
    ("state", "inner = [", "raise ValueError\n        inner = ["),
    ("serialized-state", "repr(state)", "repr([*state[:3], [round(x, 9) for x in state[3]]])"),
    ("variable-step", "# before", "if 0 < h < 0.01: return False"),
    ("instances", "# after", DISTURBED),
    ("reset", "# born", "self.phi += BORN[self.instance_name]"),
    ("terminate", "# end", "self.phi = 0.0"),
    ("zero-step", "# before", "if h == 0.0: self.w = math.nan; return True"),
    ("zero-step", "# before", "if h == 0.0: ctypes.string_at(0)"),
    ("negative-step", "if not h > 0.0:", "if h == 0.0:"),
    ("refusal-message", 'self.log(f"step size {h}", Fmi2Status.error)  # why', "pass"),
    ("nan-input", "if not math.isfinite(self.u):", "if math.isinf(self.u):"),
    ("infinite-input", "if not math.isfinite(self.u):", "if math.isnan(self.u):"),
    ("early-step", "return False  # early", "pass"),
    ("unknown-reference", "# set", "if vr not in self.vars: continue"),
    ("message-format", "step size {h}", "50 % of step size {h}"),
    ("exit", "BORN = {}", "BORN = {}\nimport atexit\natexit.register(os._exit, 3)"),
]
"""A rule, and what to change in the slave to break it."""


def firsts(faults: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Return the first fault of each rule."""
    return list({rule: (rule, old, new) for rule, old, new in reversed(faults)}.values())


@needs_library
@pytest.mark.parametrize(("rule", "old", "new"), thorough(DYNAMIC, lambda *fault: fault in firsts(DYNAMIC)))
def test_each_fault_of_a_running_fmu_breaks_its_own_rule(tmp_path: Path, rule: str, old: str, new: str) -> None:
    members = swap(runnable(), SCRIPT, old, new)
    problems = breaches(pack(members, tmp_path / "x.fmu"))
    # an exception in the slave reaches the master with a NULL category, a fault of its own
    assert rules(problems) - {"message-category"} == {rule}


NATIVES: list[tuple[str, str, str]] = [
    ("load", "fmi2CancelStep(fmi2Component c)", "cancel(fmi2Component c)"),
    ("load", "static void begin", "__attribute__((constructor)) static void stop(void) { abort(); } static void begin"),
    ("version", 'return "2.0";', 'return "2.0.4";'),
    ("version", 'return "default";', 'return "fmi2";'),
    ("instantiate", "c->f = f;", "return 0;"),
    ("step", "/* ended */", "+ fmi2Discard"),
    ("terminate", "S->ready = 0; return fmi2OK;", "return fmi2Error;"),
    (
        "debug-logging",
        "const fmi2String names[]) { return fmi2OK;",
        "const fmi2String names[]) { return on ? fmi2Error : fmi2OK;",
    ),
    ("null-callbacks", "/* allocate */", "f->freeMemory(f->allocateMemory(1, 1));"),
    ("directional-derivative", "3.0 * dv[0];", "3.0 + dv[0];"),
    ("directional-derivative", "3.0 * dv[0];", "NAN;"),
    ("input-derivatives", "return fmi2OK; /* inputs */", "return fmi2Error;"),
    ("input-derivatives", "S->du = value[0];", "S->r[2] = NAN;"),
    ("output-derivatives", "return fmi2OK; /* outputs */", "return fmi2Error;"),
    ("output-derivatives", "value[0] = S->r[1];", "value[0] = NAN;"),
    ("message-category", '"logStatusError" /* category */', "0"),
    (
        "unknown-reference",
        'if (vr[i] > 3) return say(c, fmi2Error, "unknown value reference"); /* get */',
        "if (vr[i] > 3) continue;",
    ),
    (
        "unknown-reference",
        'if (vr[i] > 3) return say(c, fmi2Error, "unknown value reference"); /* get */',
        "if (vr[i] > 3) abort();",
    ),
    ("guid-mismatch", 'if (strcmp(guid, "{5c1f}")) {', "if (0) {"),
    (
        "guid-mismatch",
        'f->logger(f->componentEnvironment, name, fmi2Error, "logStatusError", "wrong guid %s", guid);',
        "",
    ),
    ("stop-time", "if (S->stopped", "if (0"),
    ("odd-path", "/* allocate */", "if (strchr(resources, '%')) abort();"),
    ("nan-input", "return say(c, fmi2Discard, ", "return say(c, isnan(S->r[1]) ? fmi2Fatal : fmi2Discard, "),
]
"""A rule, and what to change in the C code to break it."""


@needs_compiler
@pytest.mark.parametrize(
    ("rule", "old", "new"), thorough(NATIVES, lambda *fault: fault in firsts([*DYNAMIC, *NATIVES]))
)
def test_each_fault_of_a_native_fmu_breaks_its_own_rule(tmp_path: Path, rule: str, old: str, new: str) -> None:
    found = report(native(tmp_path, old, new), strict=True)
    assert rules(wrong(found)) == {rule}


@needs_compiler
def test_a_good_native_fmu_breaks_no_rule_however_strict(tmp_path: Path) -> None:
    found = report(native(tmp_path), strict=True)
    assert wrong(found) == []
    assert {"guid-mismatch", "stop-time", "odd-path", "output-derivatives", "directional-derivative"} <= {
        item.rule for item in found if item.status == "pass"
    }


EXCHANGES: list[tuple[str, str, str]] = [
    ("exchange-load", "fmi2EnterEventMode(fmi2Component c)", "enter(fmi2Component c)"),
    ("exchange-instantiate", "/* made */", "if (type == fmi2ModelExchange) return 0;"),
    ("exchange-initialise", "0 /* again */", "1"),
    ("integration", "dx[0] = rate(S);", "dx[0] = S->r[0] > 1.5 ? NAN : rate(S);"),
    ("integration", "z[0] = S->r[2] - 1.5;", "z[0] = S->r[2] > 1.0 ? NAN : 1.0;"),
    ("integration", "*event = *end = 0; return fmi2OK;", "return fmi2Error;"),
    ("state-values", "dx[0] = rate(S);", "dx[0] = rate(S) + 1e-9;"),
    ("set-states", "S->r[2] = x[0];", "S->r[2] = x[0] + 1e-9;"),
    ("nominal-values", "x[0] = 1.0;", "x[0] = 0.0;"),
    ("exchange-time", "{ S->r[0] = t; return fmi2OK; }", "{ return fmi2OK; }"),
    ("state-derivative", "? -1.0", "? -2.0"),
    ("undeclared-dependency", "EXCHANGE ? 0.0", "EXCHANGE ? S->r[2] - 2.0"),  # zero at the start, by chance
    (
        "exchange-state",
        "memcpy(S, state, sizeof(State));",
        "memcpy(S, state, sizeof(State)); S->r[2] += EXCHANGE * 1e-9;",
    ),
    ("exchange-reset", "begin(S); return", "begin(S); S->r[2] = EXCHANGE * 1e-9; return"),
    ("exchange-instances", "x[0] = S->r[2];", "x[0] = S->r[2] + (strcmp(newest, ((Slave*)c)->name) ? 1e-9 : 0.0);"),
    ("exchange-terminate", "S->ready = 0; return fmi2OK;", "S->ready = 0; return EXCHANGE ? fmi2Error : fmi2OK;"),
    ("exchange-exit", "{ free(c); }", "{ if (EXCHANGE) atexit(abort); free(c); }"),
]
"""A rule, and what to change in the C code of an FMU for both kinds to break it."""


@needs_compiler
def test_a_good_fmu_for_both_kinds_breaks_no_rule_however_strict(tmp_path: Path) -> None:
    found = report(native(tmp_path, code=EXCHANGE_C, xml=EXCHANGE), strict=True)
    assert wrong(found) == []
    assert {rule for rule, *_ in EXCHANGES} <= {item.rule for item in found if item.status == "pass"}
    (said,) = of("integration", found)
    assert said.message == "integrated to t = 3 s, with 1 events"


@needs_compiler
@pytest.mark.parametrize(("rule", "old", "new"), thorough(EXCHANGES, lambda *fault: fault in firsts(EXCHANGES)))
def test_each_fault_in_model_exchange_breaks_its_own_rule(tmp_path: Path, rule: str, old: str, new: str) -> None:
    found = report(native(tmp_path, old, new, EXCHANGE_C, EXCHANGE), strict=True)
    assert rules(wrong(found)) == {rule}


AGAIN = '<ScalarVariable name="again" valueReference="7"><Real unit="m/s" derivative="3"/></ScalarVariable>'
INDEX_5 = '<Unknown index="5"/>'

EXCHANGE_EDITS: list[tuple[str, str, str]] = [
    ("state-unique", f"{END}", f"{AGAIN}{END}"),
    ("reinit", '<Real start="2"/>', '<Real start="2" reinit="false"/>'),
    ("event-indicators", ' numberOfEventIndicators="1"', ""),
    ("schema", 'numberOfEventIndicators="1"', 'numberOfEventIndicators="one"'),
    ("derivatives", 'unit="m/s" derivative="3"', 'unit="m/s"'),
    ("derivatives", 'name="der(y)" valueReference="4"', 'name="der(y)" valueReference="4" variability="discrete"'),
    ("initial-unknowns", f"<InitialUnknowns>{INDEX_5}</InitialUnknowns>", ""),
]


@pytest.mark.parametrize(("rule", "old", "new"), EXCHANGE_EDITS)
def test_each_fault_in_a_description_for_model_exchange_breaks_its_own_rule(
    tmp_path: Path, rule: str, old: str, new: str
) -> None:
    members = {DESCRIPTION: EXCHANGE.encode(), f"binaries/{FOREIGN}/native{ENDINGS[FOREIGN]}": HEADS[FOREIGN]}
    assert breaches(pack(members, tmp_path / "good.fmu")) == []
    members = swap(members, DESCRIPTION, old, new)
    if rule == "state-unique":
        members[DESCRIPTION] = members[DESCRIPTION].replace(
            INDEX_5.encode(), b'<Unknown index="5"/><Unknown index="6"/>'
        )
    assert rules(breaches(pack(members, tmp_path / "bad.fmu"))) == {rule}


def test_an_fmu_for_model_exchange_alone_has_no_rule_of_cosimulation(tmp_path: Path) -> None:
    alone = re.sub(r"<CoSimulation.*?/>", "", EXCHANGE, flags=re.DOTALL)
    library = f"binaries/{fmpy.platform}/native{fmpy.sharedLibraryExtension}"
    found = report(pack({DESCRIPTION: alone.encode(), library: b"\x7fELF\2"}, tmp_path / "x.fmu"))
    assert {item.message for rule in ("load", "step", "exit") for item in of(rule, found)} == {
        "the FMU is not for co-simulation"
    }
    assert of("exchange-load", found)[0].status == "fail"
    assert of("integration", found)[0].message == "waits for the rule 'exchange-load'"


XML_3 = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="3.0" modelName="Native" instantiationToken="{5c1f}">
  <CoSimulation modelIdentifier="native" canGetAndSetFMUState="true" canSerializeFMUState="true"
    providesDirectionalDerivatives="true" providesAdjointDerivatives="true" providesPerElementDependencies="true"
    canHandleVariableCommunicationStepSize="true" hasEventMode="true" mightReturnEarlyFromDoStep="true"
    canReturnEarlyAfterIntermediateUpdate="true" providesIntermediateUpdate="true"/>
  <UnitDefinitions><Unit name="m"/></UnitDefinitions>
  <LogCategories><Category name="logStatusError"/></LogCategories>
  <DefaultExperiment startTime="1" stopTime="3" stepSize="0.125"/>
  <ModelVariables>
    <Float64 name="t" valueReference="0" causality="independent" variability="continuous"/>
    <Float64 name="u" valueReference="1" causality="input" start="1"/>
    <Float64 name="y" valueReference="2" causality="output" initial="exact" start="0" unit="m"/>
    <Float64 name="der(y)" valueReference="3" derivative="2"/>
    <UInt64 name="n" valueReference="4" causality="structuralParameter" variability="fixed" start="2"/>
    <Float64 name="p" valueReference="5" causality="parameter" variability="fixed" start="1 2">
      <Dimension valueReference="4"/></Float64>
    <Clock name="tick" valueReference="6" causality="input" intervalVariability="constant" intervalDecimal="0.5"/>
    <Int32 name="count" valueReference="7" variability="discrete" clocks="6"/>
    <Clock name="passed" valueReference="8" causality="output" intervalVariability="triggered"/>
    <Float64 name="z" valueReference="9"/>
    <Float64 name="k" valueReference="10" causality="parameter" variability="tunable" start="0.5"/>
  </ModelVariables>
  <ModelStructure>
    <Output valueReference="2" dependencies=""/>
    <Output valueReference="8"/>
    <ContinuousStateDerivative valueReference="3" dependencies="1 2" dependenciesKind="dependent dependent"/>
    <InitialUnknown valueReference="3"/>
    <InitialUnknown valueReference="8"/>
    <EventIndicator valueReference="9"/>
  </ModelStructure>
</fmiModelDescription>
"""

TUPLE = "x86_64-windows" if sys.platform != "win32" else "x86_64-darwin"
"""A platform that is not this one."""


def still() -> Members:
    """Members of a good FMU of FMI 3.0 for another platform."""
    foreign = "win64" if TUPLE.endswith("windows") else "darwin64"
    return {DESCRIPTION: XML_3.encode(), f"binaries/{TUPLE}/native{ENDINGS[foreign]}": HEADS[foreign]}


EDITS_3: list[tuple[str, str, str]] = [
    ("schema", 'clocks="6"', 'clocks="six"'),
    ("xml-encoding", 'encoding="UTF-8"', 'encoding="ISO-8859-1"'),
    ("model-identifier", '"native" can', '"my native" can'),
    ("default-experiment", 'stopTime="3"', 'stopTime="1"'),
    ("stop-missing", 'stopTime="3"', ""),
    ("log-category", '"logStatusError"', '"logstatuserror"'),
    ("unit-definition", '<Unit name="m"/>', '<Unit name="m"/><Unit name="m"/>'),
    ("instantiation-token", "{5c1f}", " "),
    ("value-reference", 'name="n" valueReference="4"', 'name="n" valueReference="7"'),
    ("unique-names", 'name="count"', 'name="n"'),
    ("unique-names", 'clocks="6"/>', 'clocks="6"><Alias name="u"/></Int32>'),
    ("start-count", 'start="1 2"', 'start="1 2 3"'),
    ("start-count", '<Dimension valueReference="4"/>', '<Dimension valueReference="40"/>'),
    ("structure-references", 'dependencies="1 2" ', 'dependencies="1 99" '),
    ("structure-references", 'dependenciesKind="dependent dependent"', 'dependenciesKind="dependent"'),
    ("capability-flags", ' hasEventMode="true"', ""),
    ("capability-flags", ' providesIntermediateUpdate="true"', ""),
    ("structure-complete", '<Output valueReference="2" dependencies=""/>', ""),
    ("structure-complete", '<InitialUnknown valueReference="3"/>', ""),
    ("structure-complete", '<InitialUnknown valueReference="3"/>', 2 * '<InitialUnknown valueReference="3"/>'),
    ("structure-complete", '<Output valueReference="2" dependencies=""/>',
     '<Output valueReference="2" dependencies=""/><Output valueReference="1"/>'),
    ("state-derivatives", ' derivative="2"', ""),
    ("state-derivatives", ' derivative="2"', ' derivative="2" variability="discrete"'),
    ("clock-attributes", ' intervalDecimal="0.5"', ""),
    ("clock-attributes", 'intervalDecimal="0.5"', 'intervalDecimal="0"'),
    ("clock-attributes", '"constant"', '"triggered"'),
    ("clock-attributes", 'causality="input" intervalVariability', 'causality="local" intervalVariability'),
    ("clock-references", 'clocks="6"', 'clocks="5"'),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "old", "new"), EDITS_3)
def test_each_fault_in_a_description_of_fmi_3_breaks_its_own_rule(
    tmp_path: Path, rule: str, old: str, new: str
) -> None:
    problems = breaches(pack(swap(still(), DESCRIPTION, old, new), tmp_path / "x.fmu"))
    named_after = {"platform-tuple"} if rule == "model-identifier" else set()
    # a value reference that is taken twice leaves another that no variable has
    named_after |= {"start-count"} if rule == "value-reference" else set()
    assert rules(problems) - named_after == {rule}


PACKINGS_3: list[tuple[str, Callable[[Members], Members]]] = [
    ("platform-tuple", plus("binaries/linux64/native.so")),
    ("platform-tuple", plus("binaries/x86_64-linux/other.so")),
    ("binary-format", plus("binaries/aarch32-linux/native.so", HEADS["aarch64-linux"])),
    ("platform-tuple", lambda m: {DESCRIPTION: m[DESCRIPTION]}),
    ("build-description", plus("sources/native.c")),
]


@pytest.mark.parametrize(("rule", "change"), PACKINGS_3)
def test_each_fault_in_an_archive_of_fmi_3_breaks_its_own_rule(
    tmp_path: Path, rule: str, change: Callable[[Members], Members]
) -> None:
    assert rules(breaches(pack(change(still()), tmp_path / "x.fmu"))) == {rule}


def test_a_good_fmu_of_fmi_3_has_no_problems_and_says_what_is_judged(tmp_path: Path) -> None:
    found = report(pack(still(), tmp_path / "x.fmu"), strict=True)
    assert wrong(found) == []
    assert of("fmi-version", found)[0].message.startswith("The FMU is of FMI 3.0: judged are archive, description,")
    assert of("alias", found)[0].message == "the FMU is of FMI 3.0: the rule is not judged"
    assert of("log-category", found)[0].section == "2.4.5"


C_3 = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifndef EXCHANGE
#define EXCHANGE 0
#endif
#define EVENT 2.0625
typedef struct { double t, u, y, p[2], k; int count, ready, passed, waits; } M;
typedef void Log(void*, int, const char*, const char*);
typedef void Update(void*, double, _Bool, _Bool, _Bool, _Bool, _Bool*, double*);
typedef struct { M m; _Bool events, early; Log* log; Update* update; } I;
typedef const unsigned* R;
static int alive;
static int say(I* s, int status, const char* text) { s->log(0, status, "logStatusError", text); return status; }
static void begin(I* s) { const M m = {0, 1, 0, {1, 2}, 0.5}; s->m = m; }
static I* make(const char* token, Log* log) {
    if (strcmp(token, "{5c1f}")) { log(0, 3, "logStatusError", "wrong token"); return 0; }
    I* s = calloc(1, sizeof *s); begin(s); s->log = log; alive++; return s; }
const char* fmi3GetVersion(void) { return "3.0"; }
void* fmi3InstantiateCoSimulation(const char* name, const char* token, const char* resources, _Bool visible,
    _Bool logging, _Bool events, _Bool early, R required, size_t n, void* environment, Log* log, Update* update) {
    I* s = make(token, log); /* made */
    if (s) s->events = events, s->early = early, s->update = update;
    return s; }
void* fmi3InstantiateModelExchange(const char* name, const char* token, const char* resources, _Bool visible,
    _Bool logging, void* environment, Log* log) { return make(token, log); }
void fmi3FreeInstance(I* s) { free(s); alive--; /* freed */ }
int fmi3EnterInitializationMode(I* s, _Bool known, double tolerance, double start, _Bool ends, double stop) {
    s->m.t = start; s->m.waits = 0; s->m.passed = 0; s->m.ready = ends ? 2 : 1; return 0; }
int fmi3Reset(I* s) { begin(s); /* reset */ return 0; }
static double rate(M* m) { return m->u - m->y; }
int fmi3GetFloat64(I* s, R vr, size_t n, double value[], size_t count) {
    M* m = &s->m;
    size_t j = 0;
    for (size_t i = 0; i < n; i++) {
        if (vr[i] == 5) { value[j++] = m->p[0]; value[j++] = m->p[1]; continue; }
        if (vr[i] > 10) return say(s, 3, "unknown value reference"); /* get */
        value[j++] = vr[i] == 0 ? m->t : vr[i] == 1 ? m->u : vr[i] == 2 ? m->y : vr[i] == 3 ? rate(m) /* rate */
            : vr[i] == 10 ? m->k : EVENT - m->t;
    }
    return j == count ? 0 : 3;
}
int fmi3SetFloat64(I* s, R vr, size_t n, const double value[], size_t count) {
    M* m = &s->m;
    for (size_t i = 0; i < n; i++)
        if (vr[i] == 1) m->u = value[0];
        else if (vr[i] == 2) m->y = value[0];
        else if (vr[i] == 10) m->k = value[0];
        else if (vr[i] == 5 && !m->ready) memcpy(m->p, value, sizeof m->p);
        else return say(s, 3, "cannot be set"); /* refuse */
    return 0;
}
int fmi3GetFMUState(I* s, void** state) { *state = malloc(sizeof(M)); memcpy(*state, &s->m, sizeof(M)); return 0; }
int fmi3SetFMUState(I* s, void* state) { memcpy(&s->m, state, sizeof(M)); /* set */ return 0; }
int fmi3FreeFMUState(I* s, void** state) { free(*state); *state = 0; return 0; }
int fmi3SerializedFMUStateSize(I* s, void* state, size_t* n) { *n = sizeof(M); return 0; }
int fmi3SerializeFMUState(I* s, void* state, char bytes[], size_t n) { memcpy(bytes, state, n); return 0; }
int fmi3DeserializeFMUState(I* s, const char bytes[], size_t n, void** state) {
    *state = malloc(n); memcpy(*state, bytes, n); /* restored */ return 0; }
int fmi3UpdateDiscreteStates(I* s, _Bool* again, _Bool* end, _Bool* nominals, _Bool* values, _Bool* timed, double* t) {
    s->m.passed = 0; /* updated */
    s->m.waits = 0;
    *end = *nominals = *values = 0; *again = 0; /* again */
    *timed = EXCHANGE == 0 && s->m.t < 2.75, *t = 2.75; /* next */
    return 0;
}
int fmi3GetClock(I* s, R vr, size_t n, _Bool value[]) {
    for (size_t i = 0; i < n; i++) value[i] = s->m.passed; return 0; }
int fmi3SetClock(I* s, R vr, size_t n, const _Bool value[]) { s->m.count++; return 0; }
int fmi3GetIntervalDecimal(I* s, R vr, size_t n, double interval[], int qualifier[]) {
    for (size_t i = 0; i < n; i++) interval[i] = 0.5, qualifier[i] = 1; return 0; }
int fmi3GetShiftDecimal(I* s, R vr, size_t n, double shift[]) { for (size_t i = 0; i < n; i++) shift[i] = 0; return 0; }
int fmi3DoStep(I* s, double t, double h, _Bool free, _Bool* event, _Bool* end, _Bool* early, double* last) {
    M* m = &s->m;
    double to = t + h, when = t;
    _Bool wanted = 0;
    *event = *end = *early = 0;
    if (!m->ready) return say(s, 3, "not initialised"); /* unready */
    if (!(h > 0)) return say(s, 2, "no such step"); /* size */
    if (!isfinite(m->u)) return say(s, 2, "no such input"); /* input */
    if (m->ready == 2 && to > 1.0 + 5.5 * 0.125) return say(s, 3, "past the stop time");
    if (s->update) s->update(0, t + h / 2, 1, 1, 1, s->early, &wanted, &when); /* update */
    if (s->early && t < EVENT && to > EVENT) to = EVENT; /* cut */
    if (wanted && when < to) to = when; /* wanted */
    if (s->events && to == EVENT) *event = 1, m->passed = 1, m->waits = 1;
    *early = to < t + h; /* early */
    m->y += (to - t) * m->k * rate(m); /* step */
    m->t = *last = to;
    return 0;
}
static double J(unsigned of, unsigned by) {
    return of == 2 && by == 1 ? (EXCHANGE ? 0.0 : 0.25) : of == 3 ? (by == 1 ? 1.0 : -1.0) : 0.0; }
int fmi3GetDirectionalDerivative(I* s, R of, size_t m, R by, size_t n, const double in[], size_t ni, double out[],
                                 size_t no) {
    for (size_t i = 0; i < m; i++) { out[i] = 0; for (size_t j = 0; j < n; j++) out[i] += J(of[i], by[j]) * in[j]; }
    return 0; /* forward */ }
int fmi3GetAdjointDerivative(I* s, R of, size_t m, R by, size_t n, const double in[], size_t ni, double out[],
                             size_t no) {
    for (size_t j = 0; j < n; j++) { out[j] = 0; for (size_t i = 0; i < m; i++) out[j] += J(of[i], by[j]) * in[i]; }
    return 0; /* backward */ }
int fmi3GetNumberOfVariableDependencies(I* s, unsigned vr, size_t* n) { *n = vr == 3 ? 2 : 0; return 0; }
int fmi3GetVariableDependencies(I* s, unsigned vr, size_t of[], unsigned on[], size_t element[], int kind[], size_t n) {
    for (size_t i = 0; i < n; i++) of[i] = 1, on[i] = 1 + i, element[i] = 1, kind[i] = 5; /* dependencies */
    return 0; }
int fmi3GetNumberOfContinuousStates(I* s, size_t* n) { *n = 1; return 0; }
int fmi3GetNumberOfEventIndicators(I* s, size_t* n) { *n = 1; return 0; }
int fmi3SetTime(I* s, double t) { s->m.t = t; /* time */ return 0; }
int fmi3GetContinuousStates(I* s, double x[], size_t n) { x[0] = s->m.y; return 0; }
int fmi3SetContinuousStates(I* s, const double x[], size_t n) { s->m.y = x[0]; /* states */ return 0; }
int fmi3GetContinuousStateDerivatives(I* s, double dx[], size_t n) { dx[0] = rate(&s->m); /* rates */ return 0; }
int fmi3GetNominalsOfContinuousStates(I* s, double x[], size_t n) { x[0] = 1.0; return 0; }
int fmi3GetEventIndicators(I* s, double z[], size_t n) { z[0] = EVENT - s->m.t; return 0; }
int fmi3CompletedIntegratorStep(I* s, _Bool free, _Bool* event, _Bool* end) { *event = *end = 0; return 0; }
int fmi3Terminate(I* s) { s->m.ready = 0; /* ended */ return 0; }
"""
STUBS = [name for name in steps3.FUNCTIONS if f"{name}(" not in C_3]
C_3 += "".join(f"int {name}(void) {{ return 0; }}\n" for name in STUBS)

STEPS_3: list[tuple[str, str, str]] = [
    ("functions-exported", "int fmi3GetBinary(void)", "int other(void)"),
    ("instantiate", "/* made */", "return 0;"),
    ("initialise", "0; /* again */", "1;"),
    ("output-finite", "/* step */", "if (t > 2.0) m->y = NAN;"),
    ("step", "/* step */", "abort();"),
    ("state", "/* set */", "s->m.y += 1e-9;"),
    ("serialized-state", "/* restored */", "((M*)*state)->y += 1e-9;"),
    ("state-elsewhere", "/* restored */", "if (alive > 1 || s->m.t < 1.5) ((M*)*state)->y += 1e-9;"),
    ("reset", "/* reset */", "s->m.y = 1e-9;"),
    ("instances", "/* step */", "m->y += 1e-9 * (alive - 1);"),
    ("exit", "/* freed */", "atexit(abort);"),
    ("terminate", "/* ended */", "return 3;"),
    ("early-step", 'return say(s, 3, "not initialised"); /* unready */', ";"),
    ("negative-step", "if (!(h > 0))", "if (h == 0)"),
    ("nan-input", "if (!isfinite(m->u))", "if (isinf(m->u))"),
    ("late-parameter", "vr[i] == 5 && !m->ready", "vr[i] == 5"),
    ("tunable-parameter", "m->k = value[0];", ";"),
    ("event-mode", "*t = 2.75; /* next */", "*t = s->m.t - 1.0;"),
    ("intermediate-update", "t + h / 2, 1, 1, 1", "t + 2 * h, 1, 1, 1"),
    ("intermediate-update", "if (s->update) s->update", "if (0) s->update"),
    ("intermediate-update", "if (wanted && when < to) to = when;", "if (wanted) to = t + h / 4;"),
    ("clock-interval", "interval[i] = 0.5", "interval[i] = 0.25"),
    ("clock-interval", "shift[i] = 0;", "shift[i] = -1;"),
    ("clock-interval", "interval[i] = 0.5", "interval[i] = 0"),
    ("clock-tick", "s->m.passed = 0; /* updated */", ";"),
    ("adjoint-derivative", "return 0; /* backward */", "if (!EXCHANGE) out[0] *= 2; return 0;"),
    ("directional-derivative", "return 0; /* forward */", "out[0] += 1; return 0;"),
    ("variable-dependencies", "on[i] = 1 + i", "on[i] = 5 + i"),
    ("variable-dependencies", "element[i] = 1, kind", "element[i] = 2, kind"),
    ("variable-dependencies", "kind[i] = 5;", "kind[i] = 6;"),
    ("guid-mismatch", 'if (strcmp(token, "{5c1f}"))', "if (0)"),
    ("stop-time", "m->ready == 2 && ", "0 && "),
    ("unknown-reference", "if (vr[i] > 10) return", "if (0) return"),
]
"""A rule, and what to change in the C code of an FMU of FMI 3.0 to break it."""
EXCHANGES_3: list[tuple[str, str, str]] = [
    (
        "state-number",
        "{ *n = 1; return 0; }\nint fmi3GetNumberOfEventIndicators",
        "{ *n = 2; return 0; }\nint fmi3GetNumberOfEventIndicators",
    ),
    ("state-adjoint", "return 0; /* backward */", "out[0] *= 2; return 0;"),
    ("state-derivative", "of == 3 ? (by == 1 ? 1.0 : -1.0)", "of == 3 ? 2.0"),
    ("undeclared-dependency", "(EXCHANGE ? 0.0 : 0.25)", "0.25"),
    ("exchange-initialise", "0; /* again */", "1;"),
    ("integration", "/* rates */", "if (s->m.t > 1.5) dx[0] = NAN;"),
    ("state-values", "/* rates */", "dx[0] += 1e-9;"),
    ("set-states", "/* states */", "s->m.y += 1e-9;"),
    ("exchange-time", "s->m.t = t; /* time */", ";"),
    ("exchange-state", "/* set */", "s->m.y += 1e-9;"),
    ("exchange-reset", "/* reset */", "s->m.y = 1e-9;"),
    ("exchange-exit", "/* freed */", "atexit(abort);"),
]
"""The same for model exchange."""
EXCHANGE_3 = re.sub(
    r"<CoSimulation.*?/>",
    '<ModelExchange modelIdentifier="native" canGetAndSetFMUState="true" canSerializeFMUState="true" '
    'providesDirectionalDerivatives="true" providesAdjointDerivatives="true"/>',
    XML_3,
    flags=re.DOTALL,
)


def three(folder: Path, old: str = "", new: str = "", xml: str = XML_3) -> Path:
    """A good FMU of FMI 3.0 in C, with one change to its code."""
    source, library = folder / "native.c", folder / "native.so"
    source.write_text(C_3.replace(old, new) if old else C_3, encoding="utf-8")
    kind = f"-DEXCHANGE={int('<ModelExchange' in xml)}"
    subprocess.run([COMPILER or "", "-shared", "-fPIC", "-w", kind, "-o", str(library), str(source), "-lm"], check=True)
    name = f"binaries/{fmpy.platform_tuple}/native{fmpy.sharedLibraryExtension}"
    return pack({DESCRIPTION: xml.encode(), name: library.read_bytes()}, folder / "native.fmu")


def is_of_3(rule: str, old: str, new: str) -> bool:
    """Return whether a fault is the first of a rule of FMI 3.0 alone; those of FMI 2.0 stand for the others."""
    return rule not in dynamic.BY_VERSION["2.0"] and (rule, old, new) in firsts([*STEPS_3, *EXCHANGES_3])


@needs_compiler
@pytest.mark.parametrize(("rule", "old", "new"), thorough(STEPS_3, is_of_3))
def test_each_fault_of_a_running_fmu_of_fmi_3_breaks_its_own_rule(
    tmp_path: Path, rule: str, old: str, new: str
) -> None:
    assert C_3.count(old) == 1
    found = report(three(tmp_path, old, new), strict=True)
    assert rules(wrong(found)) == {rule}


BARE_3 = re.sub(
    r' *<(Clock|Int32) .*\n| *<Output valueReference="8"/>\n| *<InitialUnknown valueReference="8"/>\n', "", XML_3
)
"""A description without clocks, so that the FMU is stepped without event mode too."""
RETURNS_3: list[tuple[str, str, str, str]] = [
    ("early-return", XML_3.replace(' mightReturnEarlyFromDoStep="true"', ""), "", ""),
    ("step", BARE_3, "s->early && t < EVENT", "t < EVENT"),
    ("early-return", BARE_3, "s->events && to == EVENT", "to == 2.0"),
]
"""A rule, a description, and what to change in the C code to break it."""


@needs_compiler
@pytest.mark.parametrize(("rule", "xml", "old", "new"), RETURNS_3)
def test_steps_end_early_only_where_it_is_announced_and_allowed(
    tmp_path: Path, rule: str, xml: str, old: str, new: str
) -> None:
    assert breaches(three(tmp_path, xml=BARE_3)) == []
    problems = breaches(three(tmp_path, old, new, xml))
    assert rule in rules(problems)
    assert old or rules(problems) == {rule}


@needs_compiler
@pytest.mark.parametrize(("rule", "old", "new"), thorough(EXCHANGES_3, is_of_3))
def test_each_fault_in_model_exchange_by_fmi_3_breaks_its_own_rule(
    tmp_path: Path, rule: str, old: str, new: str
) -> None:
    assert C_3.count(old) == 1
    found = report(three(tmp_path, old, new, EXCHANGE_3), strict=True)
    assert rules(wrong(found)) == {rule}


@needs_compiler
@pytest.mark.parametrize(("xml", "tried"), [(XML_3, STEPS_3), (EXCHANGE_3, EXCHANGES_3)])
def test_a_good_fmu_of_fmi_3_that_runs_breaks_no_rule(
    tmp_path: Path, xml: str, tried: list[tuple[str, str, str]]
) -> None:
    found = report(three(tmp_path, xml=xml), strict=True)
    assert wrong(found) == []
    assert {rule for rule, *_ in tried} <= {item.rule for item in found if item.status == "pass"}


def test_the_functions_that_are_looked_for_are_those_of_the_header() -> None:
    header = Path(archive.__file__).parents[1] / "fmu" / "native" / "standard" / "fmi3Functions.h"
    named = re.findall(r"FMI3_Export\s+fmi3\w+TYPE\s+(fmi3\w+);", header.read_text(encoding="utf-8"))
    assert sorted(named) == steps3.FUNCTIONS


@needs_compiler
@pytest.mark.parametrize("fmi", ["2.0", "3.0"])
def test_native_fmus_of_mbfmu_have_neither_problems_nor_notes_however_strict(tmp_path: Path, fmi: str) -> None:
    found = report(export("pendulum", tmp_path / "pendulum.fmu", backend="native", fmi=fmi), strict=True)
    assert wrong(found) == []


def test_every_rule_has_a_fault_that_breaks_it() -> None:
    tried = {rule for rule, *_ in (*EDITS, *PACKINGS, *DYNAMIC, *NATIVES, *EXCHANGES, *EXCHANGE_EDITS)}
    tried |= {rule for rule, *_ in (*EDITS_3, *PACKINGS_3, *STEPS_3, *EXCHANGES_3, *RETURNS_3)}
    elsewhere = {"file", "extension", "zip", "zip-size", "zip-method", "zip-stored", "xml-doctype", "fmpy", "unpack"}
    assert {rule.name for rule in RULES} == tried | elsewhere


# -- how a rule is tried --------------------------------------------------------------------------------------------


def of(rule: str, outcomes: Iterable[Outcome]) -> list[Outcome]:
    return [item for item in outcomes if item.rule == rule]


@needs_library
def test_an_exception_that_leaves_the_slave_is_reported_with_what_the_fmu_said(tmp_path: Path) -> None:
    members = swap(runnable(), SCRIPT, "# before", "raise ValueError('torn cable')")
    problems = breaches(pack(members, tmp_path / "x.fmu"))
    assert rules(problems) == {"step", "message-category"}
    assert all("torn cable" in problem.message for problem in problems)


@needs_library
def test_a_crash_is_a_failure_of_the_rule_that_met_it_and_the_others_are_still_tried(tmp_path: Path) -> None:
    members = swap(runnable(), SCRIPT, "# before", "if h == 0.0: ctypes.string_at(0)")
    members = swap(members, SCRIPT, "return False  # early", "pass")
    found = report(pack(members, tmp_path / "x.fmu"))
    (crash,) = of("zero-step", found)
    assert crash.status == "note"
    assert sys.platform == "win32" or "SIGSEGV" in crash.message
    assert [item.status for rule in ("negative-step", "early-step") for item in of(rule, found)] == ["pass", "note"]


@needs_library
def test_a_hang_is_a_failure_of_the_rule_that_met_it_and_the_others_are_still_tried(tmp_path: Path) -> None:
    members = swap(runnable(), SCRIPT, "# before", "if h == 0.0: time.sleep(100)")
    begin = time.monotonic()
    found = report(pack(members, tmp_path / "x.fmu"), timeout=2.5)
    assert time.monotonic() - begin < 60.0
    (hang,) = of("zero-step", found)
    assert (hang.status, "within 2.5 s" in hang.message) == ("note", True)
    assert [item.status for item in of("negative-step", found)] == ["pass"]


@needs_library
def test_when_the_time_for_all_rules_is_over_the_rest_is_not_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dynamic, "LONGEST", 0)
    found = report(pack(runnable(), tmp_path / "x.fmu"))
    (stepped, *_) = dynamic.INTERFACES
    tried = [item for rule in (*stepped.vital, *stepped.others) if not rule.strict for item in of(rule.name, found)]
    assert {(item.status, item.message) for item in tried} == {
        ("not applicable", "not tried: the FMU took more than 0 s")
    }


@needs_library
def test_without_what_is_vital_nothing_else_is_tried(tmp_path: Path) -> None:
    members = swap(runnable(), SCRIPT, "pass  # initialise", "os._exit(1)")
    found = report(pack(members, tmp_path / "x.fmu"))
    assert [item.status for item in of("initialise", found)] == ["fail"]
    assert {item.message for rule in ("step", "state", "exit") for item in of(rule, found)} == {
        "waits for the rule 'initialise'"
    }


@needs_library
def test_a_library_that_cannot_be_loaded_is_a_problem(tmp_path: Path) -> None:
    library = f"binaries/{fmpy.platform}/swing{fmpy.sharedLibraryExtension}"
    problems = breaches(pack({**runnable(), library: b"no library"}, tmp_path / "x.fmu"))
    assert rules(problems) == {"binary-format", "load"}


@needs_library
def test_an_archive_that_cannot_be_unpacked_is_a_problem(tmp_path: Path) -> None:
    members = {**runnable(), "resources/a": b"", "resources/a/b": b"", f"resources/{'c' * 1000}": b""}
    assert rules(breaches(pack(members, tmp_path / "x.fmu"))) == {"unpack"}


@needs_library
def test_an_fmu_that_prints_without_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervise, "SPOKEN", 100_000)
    members = swap(runnable(), SCRIPT, "pass  # initialise", "while True: os.write(1, bytes(10_000))")
    (problem,) = breaches(pack(members, tmp_path / "x.fmu"))
    assert problem.rule == "initialise"
    assert "without end" in problem.message


@needs_library
def test_what_the_fmu_prints_does_not_get_into_the_result(tmp_path: Path) -> None:
    noise = "print('noise'); os.write(1, b'{\"rule\": 1}\\n[1]\\n{\"done\": true}\\n')"
    assert breaches(pack(swap(runnable(), SCRIPT, "# before", noise), tmp_path / "x.fmu")) == []


SPILL = r"""
    for (int k = 3; k < 20; k++)
        if (write(k, "half\n{\"rule\": \"step\", \"status\": \"fail\"}\n{\"done\": true}\nrest", 57)) continue;
"""
REMOVE = 'if (t > 1.2 && system("rm -rf \\"$PWD\\"")) abort();'


@needs_compiler
@pytest.mark.parametrize(("old", "new"), [("/* before */", SPILL), ("/* before */", REMOVE)])
def test_an_fmu_that_forges_its_report_or_removes_its_folder_is_one_line(tmp_path: Path, old: str, new: str) -> None:
    problems = breaches(native(tmp_path, old, new))
    assert len(problems) == (new == REMOVE)
    assert all(item.message.isprintable() for item in problems)


@needs_library
def test_an_fmu_that_allows_one_instance_is_not_asked_for_two(tmp_path: Path) -> None:
    once = 'needsExecutionTool="false" canBeInstantiatedOnlyOncePerProcess="true"'
    members = swap(runnable(), DESCRIPTION, 'needsExecutionTool="false"', once)
    assert breaches(pack(swap(members, SCRIPT, "# after", DISTURBED), tmp_path / "x.fmu")) == []


@needs_library
def test_an_fmu_that_needs_a_tool_and_does_not_start_cannot_be_tried(tmp_path: Path) -> None:
    members = swap(runnable(), SCRIPT, "# born", "raise ValueError('no tool')")
    members = swap(members, DESCRIPTION, 'needsExecutionTool="false"', 'needsExecutionTool="true"')
    found = report(pack(members, tmp_path / "x.fmu"))
    (said,) = of("instantiate", found)
    assert (said.status, "no tool" in said.message) == ("not applicable", True)
    assert of("step", found)[0].message == "waits for the rule 'instantiate'"


@needs_library
def test_a_value_reference_refused_with_fatal_passes_with_a_remark(tmp_path: Path) -> None:
    (said,) = of("unknown-reference", report(pack(runnable(), tmp_path / "x.fmu")))
    assert said.status == "pass"
    assert "fmi2Fatal" in said.message


NAIVE = """
from pythonfmu import Fmi2Causality, Fmi2Slave, Fmi2Variability, Real

class Spring(Fmi2Slave):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.u, self.x, self.k, self.c, self.v = 0.0, 1.0, 2.0, 0.1 + 0.2, 0.0
        self.register_variable(Real("u", causality=Fmi2Causality.input))
        self.register_variable(Real("x", causality=Fmi2Causality.output))
        self.register_variable(Real("k", causality=Fmi2Causality.parameter))
        self.register_variable(Real("c", causality=Fmi2Causality.parameter, variability=Fmi2Variability.fixed))

    def do_step(self, current_time, step_size):
        self.v += step_size * (self.u - self.k * self.x - self.c * self.v)
        self.x += step_size * self.v
        return True
"""


@needs_library
def test_a_naive_pythonfmu_slave_shows_all_known_gaps(tmp_path: Path) -> None:
    """What pythonfmu 0.7 leaves out or gets wrong, one rule each."""
    (tmp_path / "spring.py").write_text(NAIVE, encoding="utf-8")
    flags = {"canGetAndSetFMUstate": True, "canSerializeFMUstate": True, "canInterpolateInputs": True}
    path = FmuBuilder.build_FMU(tmp_path / "spring.py", dest=tmp_path, **flags)
    found = report(path, strict=True)
    assert rules(wrong(found)) == {
        "zip-stored",  # not compressed
        "generation-date",  # +00:00
        "stop-missing",
        "combination",  # a parameter without variability
        "unit-missing",
        "initial-unknowns",
        "feedthrough-missing",  # no dependencies of outputs
        "execution-tool",  # needsExecutionTool=true
        "interpolate-inputs",  # declared, answered with fmi2Error
        "input-derivatives",
        "module-name",  # two FMUs with a 'spring' run one code
        "start-digits",  # 0.1 + 0.2 becomes 0.3
        "late-parameter",
        "state",  # hidden state is lost
        "negative-step",
        "nan-input",
        "infinite-input",
        "early-step",  # the calling sequence is not checked
        "guid-mismatch",  # nor is the guid
        "stop-time",
        "odd-path",  # the host crashes
    }


# -- what is reported -----------------------------------------------------------------------------------------------


def test_every_rule_says_something_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "junk.fmu").write_bytes(b"junk")
    good, bad = pack(swing(), tmp_path / "x.fmu"), pack(swap(swing(), DESCRIPTION, "{5c1f}", " "), tmp_path / "y.fmu")
    for path in (good, bad, tmp_path / "junk.fmu", tmp_path / "missing.fmu"):
        assert list(dict.fromkeys(item.rule for item in report(path))) == [rule.name for rule in RULES]


def test_what_the_check_lists_is_what_fails_in_the_report(tmp_path: Path) -> None:
    for old, new in (("{5c1f}", "{5c1f}"), ("{5c1f}", " "), ('"u[1]"', '"u[i]"'), (END, TIME + END)):
        path = pack(swap(swing(), DESCRIPTION, old, new), tmp_path / "x.fmu")
        assert check(path) == [item for item in report(path) if item.status == "fail"]


def test_names_sections_and_claims_of_rules_are_sound() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)
        assert re.fullmatch(r"\d(\.\d+)*|practice", rule.section)
        assert rule.claim.endswith(".")


def test_a_rule_that_is_not_reached_names_the_one_it_waits_for(tmp_path: Path) -> None:
    path = pack(swap(swing(), DESCRIPTION, 'guid="{5c1f}"', ""), tmp_path / "x.fmu")
    assert of("alias", report(path))[0].message == "waits for the rule 'schema'"


def test_rules_can_be_left_out_one_by_one_or_all_that_are_practice(tmp_path: Path) -> None:
    members = swap(swing(), DESCRIPTION, EXPERIMENT, "")
    path = pack(swap(members, DESCRIPTION, "{5c1f}", " "), tmp_path / "x.fmu")

    def failing(*skip: str) -> set[str]:
        return rules(wrong(report(path, skip=skip)))

    assert failing() == {"guid", "stop-missing"}
    assert failing("guid") == {"stop-missing"}
    assert failing("practice") == {"guid"}
    assert failing("practice", "guid") == set()
    assert of("guid", report(path, skip=["guid"]))[0].message == "left out on demand"


@pytest.mark.parametrize("name", ["giud", "zip", "schema", "step", ""])
def test_a_rule_that_is_unknown_or_vital_cannot_be_left_out(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=f"'{name}'"):
        report(tmp_path / "x.fmu", skip=[name])


def test_rules_that_few_fmus_keep_are_tried_on_demand_only(tmp_path: Path) -> None:
    found = report(pack(swing(), tmp_path / "x.fmu"))
    assert {item.message for item in of("stop-time", found)} == {"tried only if strict"}


def test_json_gives_rule_section_status_where_message_and_sentence_of_each_outcome(tmp_path: Path) -> None:
    members = swap(swing(), DESCRIPTION, "{5c1f}", " ")
    found = report(pack(swap(members, DESCRIPTION, END, TIME + END), tmp_path / "x.fmu"))
    entries = json.loads(json.dumps(plain(found)))
    assert [Outcome(**entry) for entry in entries] == list(found)
    (entry,) = (entry for entry in entries if entry["status"] == "fail")
    assert list(entry) == ["rule", "section", "status", "where", "message", "sentence"]
    assert re.fullmatch(r"modelDescription\.xml:\d+", entry["where"])
    assert {entry["status"] for entry in entries} == {"fail", "note", "pass", "not applicable"}


def test_lines_begin_with_the_sum_and_the_problems_and_end_with_what_does_not_apply(tmp_path: Path) -> None:
    members = swap(swap(swing(), DESCRIPTION, "{5c1f}", " "), DESCRIPTION, END, TIME + END)
    found = report(pack(members, tmp_path / "x.fmu"))
    first, *lines, last = check_report.as_lines("x.fmu", found)
    assert re.fullmatch(r"x\.fmu: 1 problem, 1 note; \d+ rules in order, \d+ not applicable", first)
    assert [line.split()[:2] for line in lines[:2]] == [["fail", "independent"], ["note", "guid"]]
    assert lines[0].endswith('it must be defined as "Real" without a "start" attribute.]')
    assert {line.split()[0] for line in lines[2:]} == {"pass"}
    assert last.startswith("n/a ")
    for item in found:
        assert item.status != "not applicable" or f"{item.message}: " in last


def test_a_terminal_shows_every_rule_once_and_the_sum_first(tmp_path: Path) -> None:
    members = swap(swing(), DESCRIPTION, "{5c1f}", " ")
    found = report(pack(members, tmp_path / "x.fmu"))
    text = io.StringIO()
    Console(file=text, width=120, force_terminal=True, color_system=None).print(check_report.as_picture("x.fmu", found))
    shown = text.getvalue()
    assert "not applicable\n" in shown
    assert shown.startswith("x.fmu: no problem, 1 note; ")
    for rule in RULES:
        assert len(re.findall(rf"(?<![\w-]){rule.name}(?![\w-])", shown)) >= 1


def test_a_failure_quotes_a_sentence_of_the_standard_and_the_rest_are_notes(tmp_path: Path) -> None:
    for version, sentences in SENTENCES.items():
        known = {rule.name for rule in (*archive_rules.RULES, *static.RULES)} | dynamic.BY_VERSION[version].keys()
        assert sentences.keys() <= known
    for rule, old, new, status in (
        ("start-missing", 'unit="1" start="0.5"', 'unit="1"', "fail"),
        ("stop-missing", EXPERIMENT, "", "note"),
        ("log-category", '"logAll"', '"logall"', "note"),
        ("log-category", '"logAll"', '"logStatusError"', "fail"),
        ("start-range", 'start="1"', 'start="5"', "note"),
    ):
        (item,) = breaches(pack(swap(swing(), DESCRIPTION, old, new), tmp_path / "x.fmu"))
        assert (item.rule, item.status) == (rule, status)
        assert item.sentence == (SENTENCES["2.0"][rule] if status == "fail" else "")


@needs_compiler
def test_the_duty_of_the_master_is_a_note_and_an_error_that_is_round_off_too(tmp_path: Path) -> None:
    for old, new, status in (
        ('if (!(h > 0)) return say(c, fmi2Error, "a step must go forward");', "", "note"),
        ('if (!S->ready) return say(c, fmi2Error, "a step before the initialisation");', "", "note"),
        ("memcpy(S, state, sizeof(State));", "memcpy(S, state, sizeof(State)); S->r[2] += 1e-12;", "note"),
        ("memcpy(S, state, sizeof(State));", "memcpy(S, state, sizeof(State)); S->r[2] += 1e-3;", "fail"),
    ):
        found = breaches(native(tmp_path, old, new))
        assert {item.status for item in found} == {status}


def test_a_terminal_shows_the_first_of_many_findings() -> None:
    found = [Outcome("alias", "2.2.7", "fail", "", f"number {n}") for n in range(20)]
    text = io.StringIO()
    Console(file=text, width=120).print(check_report.as_picture("x.fmu", found))
    assert "number 4" in text.getvalue()
    assert "number 5" not in text.getvalue()
    assert "15 more" in text.getvalue()


def test_findings_without_end_are_cut(tmp_path: Path) -> None:
    many = "".join(
        f'<ScalarVariable name="v{n}" valueReference="{100 + n}" causality="input"><Real unit="1"/></ScalarVariable>'
        for n in range(3 * outcome.MOST)
    )
    problems = breaches(pack(swap(swing(), DESCRIPTION, END, many + END), tmp_path / "x.fmu"))
    assert rules(problems) == {"start-missing"}
    assert len(problems) == outcome.MOST + 1


def test_messages_are_one_line_without_control_characters(tmp_path: Path) -> None:
    found = breaches(pack({**swing(), "resources/\x1b[31m\n/../a": b""}, tmp_path / "x.fmu"))
    assert found
    assert all(item.message.isprintable() and item.where.isprintable() for item in found)


def mbfmu(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mbfmu", "check", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    return subprocess.run(
        command, capture_output=True, text=True, cwd=folder, timeout=100, check=False, env=environment
    )


def test_the_command_ends_with_status_one_if_something_fails_and_zero_if_not(tmp_path: Path) -> None:
    pack(swing(), tmp_path / "good.fmu")
    pack(swap(swing(), DESCRIPTION, END, TIME + END), tmp_path / "bad.fmu")
    good, bad, mended = (mbfmu(tmp_path, *x.split()) for x in ("good.fmu", "bad.fmu", "bad.fmu --skip independent"))
    assert [found.returncode for found in (good, bad, mended)] == [0, 1, 0]
    assert good.stdout.splitlines()[0].startswith("good.fmu: no problem; ")
    assert bad.stdout.splitlines()[1].split()[:3] == ["fail", "independent", "2.2.7"]


def test_the_command_prints_json_on_demand(tmp_path: Path) -> None:
    path = pack(swap(swing(), DESCRIPTION, END, TIME + END), tmp_path / "x.fmu")
    found = mbfmu(tmp_path, "x.fmu", "--json")
    assert (found.returncode, found.stderr) == (1, "")
    assert [Outcome(**entry) for entry in json.loads(found.stdout)] == list(report(path))


def test_the_documentation_has_every_rule_with_its_section_and_claim() -> None:
    text = (Path(__file__).parents[1] / "docs" / "rules.md").read_text(encoding="utf-8")
    rows = {tuple(cell.strip() for cell in line.strip("|").split("|")) for line in text.splitlines() if line[:1] == "|"}
    two = {rule.name for rule in RULES} - static.ONLY3 - (dynamic.BY_VERSION["3.0"].keys() - dynamic.BY_VERSION["2.0"])
    for rule in RULES:
        fails = rule.name in SENTENCES["2.0" if rule.name in two else "3.0"]
        fails = fails or (rule.gate and rule.name not in PRACTICAL)
        assert (f"`{rule.name}`", rule.section, "fail" if fails else "note", rule.claim) in rows
    shared = dynamic.BY_VERSION["2.0"].keys() & dynamic.BY_VERSION["3.0"].keys()
    for section, name in ((dynamic.BY_VERSION["3.0"][name].section, name) for name in shared):
        told = f"`{name}`" if section == outcome.PRACTICE else f"`{name}` ({section})"
        assert told in " ".join(text[text.index("## FMI 3.0") :].split())


# -- what is static -------------------------------------------------------------------------------------------------


def test_a_problem_reads_as_place_rule_and_message() -> None:
    assert (
        str(Outcome("alias", "2.2.7", "fail", "modelDescription.xml:12", "why"))
        == "modelDescription.xml:12: alias: why"
    )
    assert str(Outcome("zip", "2.3", "fail", "", "why")) == "zip: why"


def test_a_problem_in_the_description_has_its_line(tmp_path: Path) -> None:
    members = swap(swing(), DESCRIPTION, 'unit="1" start="0.5"', 'unit="1"')
    (problem,) = breaches(pack(members, tmp_path / "x.fmu"))
    name, number = problem.where.split(":")
    assert name == DESCRIPTION
    line = members[DESCRIPTION].decode().splitlines()[int(number) - 1]
    assert 'name="u[1]"' in line


def test_a_large_description_that_breaks_the_schema_is_reported_without_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = pack(swap(swing(), DESCRIPTION, 'start="0.5"', 'start="half"'), tmp_path / "x.fmu")
    (placed,) = breaches(path)
    monkeypatch.setattr(xml, "PLACED", 10)
    (bare,) = breaches(path)
    assert (placed.message, bool(placed.where)) == (bare.message, not bare.where)


def test_what_fmpy_alone_finds_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static, "TABLE", ())
    members = swap(swing(), DESCRIPTION, 'unit="1" start="0.5"', 'unit="1"')
    (problem,) = breaches(pack(members, tmp_path / "x.fmu"))
    assert problem.rule == "fmpy"
    assert problem.where.startswith(DESCRIPTION)


def test_names_too_many_for_fmpy_are_still_checked(tmp_path: Path) -> None:
    long = "a" * 2 * static.FMPY_CHARACTERS
    good, bad = (swap(swing(), DESCRIPTION, '"twice_k"', f'"{name}"') for name in (long, f"{long}[]"))
    assert breaches(pack(good, tmp_path / "good.fmu")) == []
    assert rules(breaches(pack(bad, tmp_path / "bad.fmu"))) == {"variable-name"}


def test_a_failure_of_fmpy_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise KeyError("unit")

    monkeypatch.setattr(static, "read_model_description", fails)
    assert [p.rule for p in breaches(pack(swing(), tmp_path / "x.fmu"))] == ["fmpy"]


NAMES = ["a", "_a1", "a.b_2.c", "a[1]", "a[1,23].b", "der(a.b)", "der(a,2)", "'#1 (x)'", "'a\\'b'[2].c"]
NO_NAMES = ["", "1a", "a..b", ".a", "a.", "a[]", "a[1", "a[-1]", "der(a", "der(a,b)", "a b", "'", "''", "ä"]


@pytest.mark.parametrize("name", NAMES)
def test_the_grammar_of_structured_names_accepts(name: str) -> None:
    assert variables._NAME.fullmatch(name)


@pytest.mark.parametrize("name", NO_NAMES)
def test_the_grammar_of_structured_names_refuses(name: str) -> None:
    assert not variables._NAME.fullmatch(name)


def test_an_fmu_of_sources_alone_is_good(tmp_path: Path) -> None:
    members = without(f"binaries/{FOREIGN}/swing{ENDINGS[FOREIGN]}")(swing())
    listed = '<SourceFiles><File name="swing.c"/></SourceFiles></CoSim'
    members = swap(members, DESCRIPTION, "</CoSim", listed)
    assert breaches(pack({**members, "sources/swing.c": b""}, tmp_path / "x.fmu")) == []


def test_the_traps_of_pythonfmu_are_none_for_a_native_fmu(tmp_path: Path) -> None:
    members = without("resources/slavemodule.txt")(swing())
    members = swap(members, DESCRIPTION, 'needsExecutionTool="false"', 'canInterpolateInputs="true"')
    assert breaches(pack({**members, "resources/model.py": b""}, tmp_path / "x.fmu")) == []


def test_a_stored_archive_is_a_problem_only_when_large(tmp_path: Path) -> None:
    small = pack(swing(), tmp_path / "small.fmu", zipfile.ZIP_STORED)
    large = pack({**swing(), "resources/table": bytes(70_000)}, tmp_path / "large.fmu", zipfile.ZIP_STORED)
    assert (rules(breaches(small)), rules(breaches(large))) == (set(), {"zip-stored"})


def test_a_zip_bomb_is_refused_by_its_declared_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = pack({**swing(), "resources/bomb": bytes(2_000_000)}, tmp_path / "x.fmu")
    monkeypatch.setattr(archive, "MEMBER_LIMIT", 1_000_000)
    assert rules(breaches(bomb)) == {"zip-size"}
    monkeypatch.setattr(archive, "MEMBER_LIMIT", 10_000_000)
    monkeypatch.setattr(archive, "TOTAL_LIMIT", 1_000_000)
    assert rules(breaches(bomb)) == {"zip-size"}
    monkeypatch.setattr(archive, "TOTAL_LIMIT", 10_000_000)
    assert breaches(bomb) == []
    monkeypatch.setattr(archive, "DESCRIPTION_LIMIT", 1_000)
    assert rules(breaches(bomb)) == {"zip-size"}


def test_a_member_larger_than_it_declares_is_refused(tmp_path: Path) -> None:
    path = pack({**swing(), "resources/bomb": bytes(2_000_000)}, tmp_path / "x.fmu")
    path.write_bytes(path.read_bytes().replace(struct.pack("<I", 2_000_000), struct.pack("<I", 1_000)))
    assert rules(breaches(path)) == {"zip"}


def test_a_symbolic_link_in_the_archive_is_refused(tmp_path: Path) -> None:
    path = pack(swing(), tmp_path / "x.fmu")
    link = zipfile.ZipInfo("resources/link")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(path, "a") as file:
        file.writestr(link, "/etc/passwd")
    assert rules(breaches(path)) == {"zip-path"}


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name_are_refused(tmp_path: Path) -> None:
    path = pack(swing(), tmp_path / "x.fmu")
    with zipfile.ZipFile(path, "a") as file:
        file.writestr(SCRIPT, "other")
    assert rules(breaches(path)) == {"zip-path"}


ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 20 if n else "lol" * 20}">' for n in range(9))


@pytest.mark.parametrize(
    "subset",
    [
        '<!ENTITY e8 "{5c1f}">',
        '<!ENTITY e8 SYSTEM "file:///etc/passwd">',
        '<!ENTITY % far SYSTEM "http://localhost:1/x.dtd"> %far; <!ENTITY e8 "x">',
        ENTITIES,
    ],
)
@pytest.mark.parametrize("place", ['guid="{5c1f}"', '<Unit name="1"/>'])
def test_entities_are_refused_and_not_expanded(tmp_path: Path, subset: str, place: str) -> None:
    head, body = XML.split("\n", 1)
    body = body.replace(place, 'guid="&e8;"' if "guid" in place else "<Unit>&e8;</Unit>")
    xml = f"{head}<!DOCTYPE fmiModelDescription [{subset}]>\n{body}"
    problems = breaches(pack({**swing(), DESCRIPTION: xml.encode()}, tmp_path / "x.fmu"))
    assert rules(problems) <= {"xml", "xml-doctype"}
    assert problems


def test_attributes_of_the_schema_language_do_no_harm(tmp_path: Path) -> None:
    name = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="a.xsd"'
    members = swap(swing(), DESCRIPTION, "<DefaultExperiment", f"<DefaultExperiment {name}")
    assert breaches(pack(members, tmp_path / "x.fmu")) == []


@pytest.mark.parametrize("path", ["missing.fmu", "", "folder", "nul\0l.fmu", "x" * 5000])
def test_a_path_without_a_file_is_a_problem(tmp_path: Path, path: str) -> None:
    (tmp_path / "folder").mkdir()
    assert [problem.rule for problem in breaches(f"{tmp_path}/{path}")] == ["file"]


def test_an_encrypted_member_is_a_problem(tmp_path: Path) -> None:
    path = pack(swing(), tmp_path / "x.fmu")
    data = bytearray(path.read_bytes())
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + flags] |= 1
    path.write_bytes(data)
    assert rules(breaches(path)) == {"zip-method"}


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_methods_than_deflate_and_store_are_a_problem(tmp_path: Path, method: int) -> None:
    assert rules(breaches(pack(swing(), tmp_path / "x.fmu", method))) == {"zip-method"}


@pytest.mark.parametrize(("place", "value"), [(6, 45), (8, 8)])
def test_a_newer_zip_version_or_a_stored_member_of_unknown_size_is_a_problem(
    tmp_path: Path, place: int, value: int
) -> None:
    path = pack(swing(), tmp_path / "x.fmu", zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    data[data.index(archive.HEADER) + place] = value
    path.write_bytes(data)
    assert rules(breaches(path)) == {"zip-method"}


def test_a_name_without_the_ending_is_a_problem(tmp_path: Path) -> None:
    assert rules(breaches(pack(swing(), tmp_path / "x.zip"))) == {"extension"}


def test_members_without_number_are_not_even_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "COUNT_LIMIT", 100)
    path = pack({**swing(), **{f"extra/{n}": b"" for n in range(100)}}, tmp_path / "x.fmu")
    assert rules(breaches(path)) == {"zip-size"}


@pytest.mark.parametrize("nested", ["<a>" * 5000, f'<Unit name="{"x" * 11_000_000}"/>', "<!-- " + "-" * 99])
def test_a_description_no_parser_should_take_is_a_problem(tmp_path: Path, nested: str) -> None:
    members = swap(swing(), DESCRIPTION, "<UnitDefinitions>", f"<UnitDefinitions>{nested}")
    assert rules(breaches(pack(members, tmp_path / "x.fmu"))) <= {"xml", "schema"}


def test_a_description_with_very_many_variables_is_checked_in_a_moment(tmp_path: Path) -> None:
    many = "".join(
        f'<ScalarVariable name="v{n}[{n}]" valueReference="{100 + n}"><Real unit="1"/></ScalarVariable>'
        for n in range(30_000)
    )
    found = report(pack(swap(swing(), DESCRIPTION, END, many + END), tmp_path / "x.fmu"))
    assert rules(wrong(found)) == set()
    assert of("fmpy", found)[0].status == "not applicable"


@pytest.fixture(scope="session")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return pack(swing(), tmp_path_factory.mktemp("good") / "swing.fmu").read_bytes()


@pytest.fixture(scope="session")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("victim") / "x.fmu"


quick = examples(0.6, suppress_health_check=[HealthCheck.too_slow])


@quick
@given(st.binary(max_size=300))
@example(b"PK\x05\x06" + bytes(18))
def test_random_bytes_are_a_problem_and_no_exception(victim: Path, data: bytes) -> None:
    victim.write_bytes(data)
    assert breaches(victim)


@quick
@given(st.data())
def test_a_truncated_archive_is_a_problem_and_no_exception(victim: Path, good: bytes, data: st.DataObject) -> None:
    victim.write_bytes(good[: data.draw(st.integers(0, len(good) - 1))])
    assert breaches(victim)


@quick
@given(st.data())
def test_damaged_bytes_raise_no_exception(victim: Path, good: bytes, data: st.DataObject) -> None:
    damaged = bytearray(good)
    for place in data.draw(st.lists(st.integers(0, len(good) - 1), min_size=1, max_size=5)):
        damaged[place] = data.draw(st.integers(0, 255))
    victim.write_bytes(damaged)
    assert all(isinstance(problem, Outcome) for problem in breaches(victim))


@quick
@given(st.data())
def test_a_description_with_a_value_changed_raises_no_exception(victim: Path, data: st.DataObject) -> None:
    parts = XML.split('"')
    place = 2 * data.draw(st.integers(1, len(parts) // 2 - 1)) + 1
    parts[place] = data.draw(st.sampled_from(["", " ", "0", "-1", "1 1", "NaN", "4294967295", "exact", "x", "true"]))
    pack({**swing(), DESCRIPTION: '"'.join(parts).encode()}, victim)
    assert all(isinstance(problem, Outcome) for problem in breaches(victim))


@quick
@given(st.data())
def test_a_description_of_fmi_3_with_a_value_changed_raises_no_exception(victim: Path, data: st.DataObject) -> None:
    parts = XML_3.split('"')
    place = 2 * data.draw(st.integers(1, len(parts) // 2 - 1)) + 1
    parts[place] = data.draw(st.sampled_from(["", " ", "0", "-1", "1 1", "NaN", "4294967295", "exact", "x", "true"]))
    pack({**still(), DESCRIPTION: '"'.join(parts).encode()}, victim)
    assert all(isinstance(problem, Outcome) for problem in breaches(victim))


@needs_compiler
@pytest.mark.parametrize(("on", "left_out"), [("2 3", ""), ("3", "'u'"), ("2", "'y'"), ("", "'y'")])
def test_a_derivative_that_depends_on_more_than_it_declares_is_told_with_what_it_leaves_out(
    tmp_path: Path, on: str, left_out: str
) -> None:
    """der(y) = k u - y, whose dependencies are the indices 2 of u and 3 of y."""
    xml = EXCHANGE.replace(f"<Derivatives>{INDEX_5}", f'<Derivatives><Unknown index="5" dependencies="{on}"/>')
    found = breaches(native(tmp_path, code=EXCHANGE_C, xml=xml))
    assert rules(found) == ({"undeclared-dependency"} if left_out else set())
    for item in found:
        assert f"'der(y)' depends on {left_out}, which its dependencies in ModelStructure leave out" in item.message


@needs_compiler
@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ('numberOfEventIndicators="1"', 'numberOfEventIndicators="4294967295"', "integration"),
        ('numberOfEventIndicators="1"', f'numberOfEventIndicators="{"0" * 5000}1"', "exchange-load"),
    ],
)
def test_a_number_of_event_indicators_that_nobody_has_is_a_problem(
    tmp_path: Path, old: str, new: str, rule: str
) -> None:
    assert rule in rules(breaches(native(tmp_path, code=EXCHANGE_C, xml=EXCHANGE.replace(old, new))))

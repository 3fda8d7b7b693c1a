"""Integers of 64 bits go into an FMU of FMI 3.0, through a run and into its files to the last digit."""

import csv
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import fmpy
import numpy as np
import pytest

import mbfmu
from mbfmu.base.formats import read_columns
from mbfmu.checker.probe import steps3

COMPILER = shutil.which("gcc") or shutil.which("cc")
pytestmark = pytest.mark.skipif(not COMPILER or os.name == "nt", reason="there is no C compiler")

XML = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="3.0" modelName="Wide" instantiationToken="{w}">
  KIND
  <ModelVariables>
    <Float64 name="t" valueReference="0" causality="independent" variability="continuous"/>
    <Int64 name="n" valueReference="1" causality="input" start="0"/>
    <Int64 name="y" valueReference="2" causality="output"/>
    <UInt64 name="p" valueReference="3" causality="parameter" variability="fixed" start="0"/>
    <UInt64 name="q" valueReference="4" causality="output"/>
  </ModelVariables>
  <ModelStructure>
    <Output valueReference="2"/><Output valueReference="4"/>
    <InitialUnknown valueReference="2"/><InitialUnknown valueReference="4"/>
  </ModelStructure>
</fmiModelDescription>
"""
C = r"""
#include <stdint.h>
#include <stdlib.h>
typedef struct { double t; int64_t n; uint64_t p; } I;
typedef const unsigned* R;
void* fmi3InstantiateCoSimulation(void) { return calloc(1, sizeof(I)); }
void* fmi3InstantiateModelExchange(void) { return calloc(1, sizeof(I)); }
void fmi3FreeInstance(I* s) { free(s); }
int fmi3GetInt64(I* s, R vr, size_t n, int64_t v[], size_t m) { for (size_t i = 0; i < n; i++) v[i] = s->n; return 0; }
int fmi3SetInt64(I* s, R vr, size_t n, const int64_t v[], size_t m) { s->n = v[0]; return 0; }
int fmi3GetUInt64(I* s, R vr, size_t n, uint64_t v[], size_t m) {
    for (size_t i = 0; i < n; i++) v[i] = s->p;
    return 0; }
int fmi3SetUInt64(I* s, R vr, size_t n, const uint64_t v[], size_t m) { s->p = v[0]; return 0; }
int fmi3DoStep(I* s, double t, double h, _Bool free, _Bool* event, _Bool* end, _Bool* early, double* last) {
    *event = *end = *early = 0; *last = t + h; return 0; }
int fmi3UpdateDiscreteStates(I* s, _Bool* again, _Bool* end, _Bool* nominals, _Bool* values, _Bool* timed, double* t) {
    *again = *end = *nominals = *values = *timed = 0; return 0; }
int fmi3CompletedIntegratorStep(I* s, _Bool free, _Bool* event, _Bool* end) { *event = *end = 0; return 0; }
"""
KINDS = {
    "cs": '<CoSimulation modelIdentifier="wide" canHandleVariableCommunicationStepSize="true"/>',
    "me": '<ModelExchange modelIdentifier="wide"/>',
}
FIRST, SECOND, LARGEST = 2**53 + 1, -(2**62) - 3, 2**64 - 1


@pytest.fixture(scope="module", params=KINDS)
def wide(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An FMU whose outputs repeat an input and a parameter of 64 bits."""
    folder = tmp_path_factory.mktemp("wide")
    stubs = "".join(f"int {name}(void) {{ return 0; }}\n" for name in steps3.FUNCTIONS if f"{name}(" not in C)
    (folder / "wide.c").write_text(C + stubs, encoding="utf-8")
    command = [str(COMPILER), "-shared", "-fPIC", "-w", "-o", str(folder / "wide.so"), str(folder / "wide.c")]
    subprocess.run(command, check=True)
    with zipfile.ZipFile(folder / "wide.fmu", "w") as file:
        file.writestr("modelDescription.xml", XML.replace("KIND", KINDS[request.param]))
        name = f"binaries/{fmpy.platform_tuple}/wide{fmpy.sharedLibraryExtension}"
        file.writestr(name, (folder / "wide.so").read_bytes())
    return folder / "wide.fmu"


def test_integers_of_64_bits_keep_all_their_digits(wide: Path, tmp_path: Path) -> None:
    table = tmp_path / "in.csv"
    table.write_text(f"time,n\n0,{FIRST}\n0.5,{SECOND}\n", encoding="utf-8")
    run = mbfmu.simulate(
        wide, 1.0, output_interval=0.25, inputs={"n": str(table)}, values={"p": str(LARGEST)}
    )  # fmt: skip
    assert run.whole["y"].tolist() == [FIRST, FIRST, SECOND, SECOND, SECOND]
    assert run.whole["q"].tolist() == [LARGEST] * 5
    np.testing.assert_array_equal(run["y"], run.whole["y"].astype(float))
    for suffix in (".csv", ".parquet", ".npz"):
        columns = read_columns(run.write(tmp_path / f"out{suffix}"))
        assert [int(cell) for cell in columns["y"]] == run.whole["y"].tolist()
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        assert [row["q"] for row in csv.DictReader(file)] == [str(LARGEST)] * 5


@pytest.mark.parametrize("value", [FIRST, str(SECOND)])
def test_a_constant_input_of_64_bits_keeps_all_its_digits(wide: Path, value: int | str) -> None:
    assert set(mbfmu.simulate(wide, 0.1, inputs={"n": value}).whole["y"].tolist()) == {int(value)}


def test_integers_that_floating_point_numbers_hold_need_nothing_else(wide: Path) -> None:
    run = mbfmu.simulate(wide, 0.1, inputs={"n": 7}, values={"p": 2.0**60})
    assert not run.whole
    assert (run["y"][-1], run["q"][-1]) == (7.0, 2.0**60)

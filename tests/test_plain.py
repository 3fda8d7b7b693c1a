"""A model in plain C: the bits of its FMU, here and on an Arm Cortex-M7, from static memory and without a C library."""

import importlib.util
import os
import re
import shutil
import struct
import subprocess
import sys
import zipfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest
from masters import Instance
from native_fmus import Case, unpacked

import mbfmu
from mbfmu.base.cache import cache_folder
from mbfmu.errors import UsageError
from mbfmu.fmu.interface import OUTPUT, interface
from mbfmu.kernel.build.toolchain import alone
from mbfmu.prepared.prepare import prepare

HERE = Path(__file__).parent
STEPS, H = 300, 1e-3
CRANK = Case("slider_crank", "projected")
PRINT = """#include <stdio.h>
void print(const char *text) { fputs(text, stdout); }
int MAIN(void);
int main(void) { return MAIN(); }
"""
LIBRARY = {"memcpy", "memmove", "memset", "memcmp"}
"""Functions that compilers ask for without a C library too."""
FLAGS = ("-std=c99", "-O0", "-ffp-contract=off", "-fno-math-errno")
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")


@cache
def plain(model: str, stepper: str, real_time: int | None = None) -> Path:
    """Return the folder of a model in plain C."""
    folder = Path(mkdtemp(prefix="mbfmu-plain-"))
    with zipfile.ZipFile(
        mbfmu.export(model, folder / "plain.zip", kind="c", stepper=stepper, real_time=real_time)
    ) as archive:
        archive.extractall(folder)
    return folder


def sources(folder: Path) -> list[str]:
    """Return the paths of the files to compile, without the example."""
    return [str(path) for path in sorted(folder.glob("*.c")) if path.name != "main.c"]


def header(folder: Path) -> str:
    """Return the name of the header for programs."""
    (found,) = (path.name for path in folder.glob("*.h") if "_defaults(" in path.read_text())
    return found


def bits(case: Case, real_time: int | None = None) -> list[str]:
    """Return the bits of all outputs of the FMU after the same steps."""
    table = interface(prepare(mbfmu.load(case.model), case.stepper, {}, H))
    names = [item.name for item in table.variables if item.kind == OUTPUT]
    with Instance(unpacked(case, real_time=real_time)) as slave:
        values = slave.start().run(0, STEPS, H, names)[-1]
    return [struct.pack(">d", value).hex() for value in values]


def printed(folder: Path, model: str, *flags: str) -> list[str]:
    """Return what a model in plain C prints, compiled with more flags."""
    (folder / "print").mkdir(exist_ok=True)
    (folder / "print" / "print.c").write_text(PRINT)
    defined = [f"-DMODEL={model}", f"-DHEADER={header(folder)}", f"-DSTEPS={STEPS}", f"-DMAIN={model}_main"]
    files = [*sources(folder), str(HERE / "plain_bits.c"), str(folder / "print" / "print.c")]
    command = ["gcc", *FLAGS, "-Wall", "-Werror", "-Wno-unused", *flags, *defined, f"-I{folder}"]
    subprocess.run([*command, *files, "-o", str(folder / "program")], check=True)
    done = subprocess.run([folder / "program"], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize("case", [CRANK, pytest.param(Case("woodpecker", "projected"), marks=pytest.mark.further)])
def test_plain_c_has_the_bits_of_the_fmu(case: Case) -> None:
    assert printed(plain(case.model, case.stepper), case.model) == bits(case)


def test_with_a_fixed_number_of_corrections_too_and_the_bound_is_told() -> None:
    folder = plain("slider_crank", "rattle", 3)
    assert printed(folder, "slider_crank") == bits(Case("slider_crank", "rattle"), real_time=3)
    assert "with 3 corrections" in (folder / "readme.txt").read_text()


def test_a_square_root_in_whole_numbers_has_the_same_bits(tmp_path: Path) -> None:
    folder = plain(CRANK.model, CRANK.stepper)
    assert printed(folder, CRANK.model, "-U__SSE2__") == printed(folder, CRANK.model)
    roots = """
#include <stdio.h>
#include <stdint.h>
#include <string.h>
#include <math.h>
static double right(double x) { return sqrt(x); }
#undef isnan
#undef isfinite
#undef isinf
#undef signbit
#undef INFINITY
#undef NAN
#define sqrt exact_sqrt
#define copysign exact_copysign
#define fabs exact_fabs
#define fmin exact_fmin
#define fmax exact_fmax
#define floor exact_floor
#define ceil exact_ceil
#define rint exact_rint
#define fmod exact_fmod
#include "exact.h"
int main(void) {
    uint64_t seed = 1;
    for (int k = 0; k < 200000; ++k) {
        double x, one, other;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint64_t bits = (seed ^ seed >> 29) & 0x7fffffffffffffffu;
        if (k % 4 == 0) bits &= 0x000fffffffffffffu; /* subnormal */
        if (k % 4 == 1) bits &= 0xfffffffff0000000u;
        memcpy(&x, &bits, sizeof x);
        if (k < 4) x = (double[]){0.0, -0.0, INFINITY, 1.0}[k];
        one = exact_sqrt(x), other = right(x);
        if (memcmp(&one, &other, sizeof one) && x == x) return printf("%.17g\\n", x), 1;
    }
    return 0;
}
"""
    (tmp_path / "roots.c").write_text(roots)
    command = ["gcc", "-std=c99", "-O1", "-U__SSE2__", f"-I{folder}", "roots.c", "-lm", "-o", "roots"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "roots"], capture_output=True, text=True, check=False).stdout == ""


def test_plain_c_calls_nothing_of_a_library_and_writes_nothing_but_its_struct(tmp_path: Path) -> None:
    folder = plain(CRANK.model, CRANK.stepper)
    command = [
        "gcc",
        *FLAGS,
        "-ffreestanding",
        "-fno-pie",
        "-fno-stack-protector",
        "-c",
        f"-I{folder}",
        *sources(folder),
    ]
    subprocess.run(command, cwd=tmp_path, check=True)
    shown = subprocess.run(["nm", *tmp_path.glob("*.o")], capture_output=True, text=True, check=True).stdout
    kinds = [line.split()[-2:] for line in shown.splitlines() if line and not line.endswith(":")]
    defined = {name for kind, name in kinds if kind != "U"}
    assert {name for kind, name in kinds if kind == "U"} - defined <= LIBRARY
    assert {kind for kind, _ in kinds} & set("bBdDC") == set()
    assert all(name.startswith(f"{CRANK.model}_") for kind, name in kinds if kind.isupper() and kind != "U")


def test_the_memory_that_the_readme_tells_is_that_of_the_struct(tmp_path: Path) -> None:
    folder = plain(CRANK.model, CRANK.stepper)
    told = re.search(r"has (\d+) bytes", (folder / "readme.txt").read_text())
    assert told is not None
    (tmp_path / "size.c").write_text(
        f'#include "{CRANK.model}.h"\n'
        f"typedef char same[sizeof(struct {CRANK.model}_model) == {told[1]} ? 1 : -1];\n"
    )  # fmt: skip
    subprocess.run(["gcc", "-std=c99", "-c", f"-I{folder}", "size.c"], cwd=tmp_path, check=True)


def test_the_example_runs_a_second_and_names_the_outputs(tmp_path: Path) -> None:
    folder = plain(CRANK.model, CRANK.stepper)
    program = tmp_path / "example"
    subprocess.run(["gcc", *FLAGS, *map(str, folder.glob("*.c")), "-o", str(program)], check=True)
    shown = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    expected = mbfmu.simulate(CRANK.model, 1.0, stepper=CRANK.stepper, step=H)["crank.phi"][-1]
    assert float(shown[0].removeprefix("crank.phi = ").removesuffix(" rad")) == expected


@pytest.mark.parametrize("name", ["step", "double"])
def test_a_model_may_be_called_as_a_file_of_the_kernel_or_a_word_of_c(name: str) -> None:
    folder = Path(mkdtemp(prefix="mbfmu-plain-"))
    pendulum = replace(mbfmu.load("pendulum"), name=name)
    with zipfile.ZipFile(mbfmu.export(pendulum, folder / "plain.zip", kind="c")) as archive:
        archive.extractall(folder)
    assert len(printed(folder, name)) > 1


@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="needs the package ziglang")
@pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="needs Debian's qemu-system-arm")
@pytest.mark.further
def test_plain_c_has_the_bits_of_the_fmu_on_a_cortex_m7(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = plain(CRANK.model, CRANK.stepper)
    zigs = Path(os.environ.get("ZIG_GLOBAL_CACHE_DIR", cache_folder() / "zig"))
    monkeypatch.setenv("ZIG_GLOBAL_CACHE_DIR", str(zigs))
    target = ["-target", "thumb-freestanding-eabihf", "-mcpu=cortex_m7+fp_armv8d16", "-g0", "-w"]
    target.append("-fno-sanitize=undefined")
    defined = [f"-DMODEL={CRANK.model}", f"-DHEADER={CRANK.model}.h", f"-DSTEPS={STEPS}", f"-DMAIN={CRANK.model}_main"]
    linked = ["-T", str(HERE / "cortex.ld"), "-Wl,--gc-sections"]
    files = [*sources(folder), str(HERE / "plain_bits.c"), str(HERE / "cortex.c")]
    flags = [*FLAGS, "-O1", "-ffunction-sections", "-fdata-sections", f"-I{folder}"]
    command = [sys.executable, "-m", "ziglang", "cc", *target, *flags, *defined, *files, *linked, "-o", "m7.elf"]
    with alone(zigs):
        subprocess.run(command, cwd=tmp_path, check=True)
    board = ["qemu-system-arm", "-M", "mps2-an500", "-nographic", "-semihosting-config", "enable=on,target=native"]
    done = subprocess.run(
        [*board, "-kernel", "m7.elf"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert (done.stdout + done.stderr).split() == bits(CRANK)


def test_what_plain_c_cannot_have_is_refused_by_name(tmp_path: Path) -> None:
    for arguments, words in (
        ({"platforms": ["linux64"]}, "leave the platform out"),
        ({"tolerance": 1e-6}, "leave the tolerance out"),
        ({"path": tmp_path / "x.fmu"}, r"\.zip"),
    ):
        with pytest.raises(UsageError, match=words):
            mbfmu.export("pendulum", kind="c", **arguments)  # type: ignore[arg-type]

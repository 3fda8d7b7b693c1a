"""A model in plain C in single precision: no double on the way, its deviation stated, its clock without drift."""

import ctypes
import importlib.util
import math
import os
import re
import shutil
import subprocess
import sys
import zipfile
from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest

import mbfmu
from mbfmu.base.cache import cache_folder
from mbfmu.errors import StepperError, UsageError
from mbfmu.fmu.plain import precision_of
from mbfmu.fmu.plain.single import CONSTANTS, LIMITS, in_single_precision
from mbfmu.kernel.build.toolchain import alone
from mbfmu.kernel.limits import MACROS

HERE = Path(__file__).parent
CRANK, STEPS, H = "slider_crank", 300, 1e-3
FLAGS = ("-std=c99", "-O0", "-ffp-contract=off", "-fno-math-errno")
RANGES = {
    "sin": (-100, 100), "cos": (-100, 100), "tan": (-1.5, 1.5), "asin": (-1, 1), "acos": (-1, 1), "atan": (-9, 9),
    "exp": (-80, 80), "expm1": (-3, 20), "log": (1e-30, 9), "log1p": (-0.9, 9), "sinh": (-9, 9), "cosh": (-9, 9),
    "tanh": (-4, 4), "asinh": (-99, 99), "acosh": (1, 99), "atanh": (-0.99, 0.99), "hypot": (-9, 9), "atan2": (-9, 9),
    "pow": (0.01, 9),
}  # fmt: skip
"""Functions, with a range of arguments in which a rounded argument's neighbours do not matter."""
SPECIAL = (0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 2.0, -2.0, 3.0, 0.5, -1.5, 1e30, -1e30)
PRINTED = """#include <stdio.h>
void print(const char *text) { fputs(text, stdout); }
int MAIN(void);
int main(void) { return MAIN(); }
"""
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")


@cache
def exported(model: str = CRANK, stop: float = 1.0) -> Path:
    """Return the path of a model in plain C in single precision."""
    path = Path(mkdtemp(prefix="mbfmu-float-")) / f"{model}.zip"
    return mbfmu.export(model, path, kind="c", single_precision=True, stop=stop)


@cache
def folder_of(model: str = CRANK) -> Path:
    """Return the folder with its files."""
    path = exported(model)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(path.parent)
    return path.parent


def sources(folder: Path) -> list[str]:
    """Return the paths of the files to compile, without the example."""
    return [str(path) for path in sorted(folder.glob("*.c")) if path.name != "main.c"]


def defined(model: str = CRANK) -> list[str]:
    """Return the definitions that plain_bits.c takes."""
    return [f"-DMODEL={model}", f"-DHEADER={model}.h", f"-DSTEPS={STEPS}", f"-DMAIN={model}_main"]


def library(name: str, text: str, *flags: str, more: tuple[str, ...] = ()) -> Any:
    """Return a library of C text and more files."""
    folder = Path(mkdtemp(prefix="mbfmu-float-"))
    (folder / f"{name}.c").write_text(text)
    command = ["gcc", *FLAGS, "-shared", "-fPIC", *flags, str(folder / f"{name}.c"), *more, "-o", str(folder / name)]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(folder / name))


@cache
def functions() -> Any:
    """Return the elementary functions over arrays, compiled without the C library's headers."""
    over = (
        "void over_{0}(const float *x, const float *y, float *f, int n) {{ for (int i = 0; i < n; ++i) f[i] = {1}; }}"
    )
    two = {"atan2", "pow", "hypot"}
    texts = [over.format(name, f"mbfmu_{name}(x[i]{', y[i]' * (name in two)})") for name in RANGES]
    headers = str(files("mbfmu.fmu.plain.single"))
    text = "\n".join(['#include "elementary.h"', *texts, over.format("sqrt", "sqrtf(x[i])")])
    return library("functions", text, "-O1", "-ffreestanding", "-Wall", "-Wdouble-promotion", "-Werror", f"-I{headers}")


def values(name: str, x: Any, y: Any) -> Any:
    """Return the values of a function in single precision."""
    x, y = (np.ascontiguousarray(each, dtype=np.float32) for each in (x, y))
    result = np.empty_like(x)
    getattr(functions(), f"over_{name}")(*(ctypes.c_void_p(each.ctypes.data) for each in (x, y, result)), len(x))
    return result


def exact(name: str, x: Any, y: Any) -> Any:
    """Return the same in double precision."""
    called = {"pow": "power", "atan2": "arctan2", **{f"a{each}": f"arc{each}" for each in (
        "sin", "cos", "tan", "sinh", "cosh", "tanh")}}  # fmt: skip
    function = getattr(np, called.get(name, name))
    x, y = (np.asarray(each, dtype=np.float32).astype(np.float64) for each in (x, y))
    with np.errstate(all="ignore"):
        return function(x, y) if name in {"atan2", "pow", "hypot"} else function(x)


@pytest.mark.parametrize("name", RANGES)
def test_elementary_functions_are_right_to_the_last_digits(name: str) -> None:
    low, high = RANGES[name]
    draw = np.random.default_rng(7)
    x, y = draw.uniform(low, high, 20_000), draw.uniform(-3, 3, 20_000)
    right = exact(name, x, y)
    unit = np.maximum(np.spacing(np.abs(right).astype(np.float32)), 1e-9 if low < 0 else 0).astype(np.float64)
    assert np.max(np.abs(values(name, x, y) - right) / unit) <= (8 if name == "pow" else 4)


@pytest.mark.parametrize("name", RANGES)
def test_elementary_functions_have_the_special_values_of_c(name: str) -> None:
    x, y = (each.ravel() for each in np.meshgrid(SPECIAL, SPECIAL))
    right = exact(name, x, y)
    special = ~np.isfinite(right) | (right == 0) | (np.abs(right) == 1)
    with np.errstate(over="ignore"):
        rounded = right.astype(np.float32)
    assert np.array_equal(values(name, x, y)[special], rounded[special], equal_nan=True)


def test_angles_from_far_are_reduced_with_all_digits() -> None:
    angles = np.float32(2.0) ** np.arange(13, 128)
    for name in ("sin", "cos"):
        assert np.max(np.abs(values(name, angles, angles) - exact(name, angles, angles))) < 1.5e-7


def test_a_square_root_in_whole_numbers_has_the_bits_of_the_instruction() -> None:
    text = '#include "exact.h"\nvoid roots(const float *x, float *y, int n) { while (n--) y[n] = sqrtf(x[n]); }'
    headers = str(files("mbfmu.fmu.plain.single"))
    whole = library("roots", text, "-O1", "-ffreestanding", "-U__SSE__", f"-I{headers}")
    bits = np.random.default_rng(3).integers(0, 0x7F800001, 100_000, dtype=np.uint32)
    x = np.concatenate([bits.view(np.float32), np.float32([0, 1, 4, 2, 1e-45])])
    y = np.empty_like(x)
    whole.roots(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data), len(x))
    assert np.array_equal(y.view(np.uint32), np.sqrt(x).view(np.uint32))


def test_no_number_is_a_double_and_none_becomes_one(tmp_path: Path) -> None:
    folder = folder_of()
    wrong = ["-Wall", "-Wdouble-promotion", "-Wunsuffixed-float-constants", "-Wno-unused", "-Werror"]
    command = ["gcc", *FLAGS, *wrong, "-ffreestanding", "-c", f"-I{folder}", *sources(folder)]
    subprocess.run(command, cwd=tmp_path, check=True)
    comment = re.compile(r"/\*.*?\*/", re.DOTALL)
    texts = (comment.sub("", path.read_text()) for path in folder.glob("*.[ch]") if path.name != "main.c")
    assert not any(re.search(r"\bdouble\b", text) for text in texts)


def test_the_memory_that_the_readme_tells_is_that_of_the_struct(tmp_path: Path) -> None:
    folder = folder_of()
    said = re.search(r"has (\d+) bytes", (folder / "readme.txt").read_text())
    assert said is not None
    (tmp_path / "size.c").write_text(
        f'#include "{CRANK}.h"\ntypedef char same[sizeof(struct {CRANK}_model) == {said[1]} ? 1 : -1];\n'
    )
    subprocess.run(["gcc", "-std=c99", "-c", f"-I{folder}", "size.c"], cwd=tmp_path, check=True)


def test_the_stated_deviation_is_that_of_a_run_in_double_precision(tmp_path: Path) -> None:
    folder = folder_of()
    said = re.search(r"at most (\S+) of its\s+range", precision_of(exported()))
    assert said is not None
    program = tmp_path / "example"
    subprocess.run(["gcc", *FLAGS, *map(str, folder.glob("*.c")), "-o", str(program)], check=True)
    shown = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    last = {line.split(" = ")[0]: float(line.split()[2]) for line in shown}
    run = mbfmu.simulate(CRANK, 1.0, step=H, error_samples=0)
    names = ("crank.phi", "rod.phi", "slider.s")
    parts = [abs(last[name] - run[name][-1]) / np.ptp(run[name]) for name in names]
    assert 1e-8 < max(parts) <= float(said[1]) * 1.05 < 1e-4


def test_a_motion_does_not_depend_on_when_it_starts_and_its_clock_does_not_drift() -> None:
    text = f"""
#include "{CRANK}.h"
int begun(float at, unsigned long long steps, float *phi, float *time) {{
    static struct {CRANK}_model m;
    {CRANK}_defaults(&m);
    m.time = at;
    int code = {CRANK}_start(&m);
    for (int k = 0; k < {STEPS}; ++k) code |= {CRANK}_step(&m);
    m.steps += steps;
    code |= {CRANK}_step(&m);
    *phi = m.y[0];
    *time = m.time;
    return code;
}}
"""
    folder = folder_of()
    model = library("begun", text, f"-I{folder}", more=tuple(sources(folder)))

    def run(at: float, steps: int) -> tuple[float, float]:
        phi, time = ctypes.c_float(), ctypes.c_float()
        assert model.begun(ctypes.c_float(at), ctypes.c_ulonglong(steps), ctypes.byref(phi), ctypes.byref(time)) == 0
        return phi.value, time.value

    many = 10**9  # eleven days
    assert run(0.0, 0)[0] == run(1e5, 0)[0] == run(0.0, many)[0]
    assert run(0.0, many)[1] == pytest.approx((many + STEPS + 1) * H, rel=2e-7)


def test_limits_that_follow_the_rounding_are_limits_of_the_kernel() -> None:
    texts = [path.read_text() for path in Path(str(files("mbfmu.kernel") / "c")).glob("*.[ch]")]
    own = {name for text in texts for name in re.findall(r"^#define (\w+) \(?-?[\d.]+", text, re.MULTILINE)}
    assert LIMITS.keys() <= MACROS.keys() | own
    assert all(np.float32(value) != 0 for value in (*LIMITS.values(), *CONSTANTS.values()))


def test_numbers_outside_the_range_are_raised_to_it_or_refused_by_name() -> None:
    tiny = in_single_precision({"a.c": 'x = 1e-300; /* 1e-300 */ p = 0x1e5; q = SAME(1e-15); r = "2.5";'})["a.c"]
    assert tiny == 'x = 1.1754944e-38f; /* 1e-300 */ p = 0x1e5; q = SAME(4.7683716e-07f); r = "2.5";'
    with pytest.raises(UsageError, match=r"cannot hold the number 1e\+40"):
        in_single_precision({"a.c": "x = 1e40;"})


def test_constraints_that_single_precision_does_not_hold_are_refused_with_their_residual(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mbfmu.fmu.plain.precision.HELD", 1e-9)
    with pytest.raises(StepperError, match=r"it leaves \S+e-0[678] of constraint.position, more than 1e-09 .*--float"):
        mbfmu.export(CRANK, Path(mkdtemp()) / "x.zip", kind="c", single_precision=True, stop=0.1)


def test_a_model_with_numbers_beyond_the_range_is_refused_by_name() -> None:
    heavy = mbfmu.load("pendulum", {"m": 1e39})
    with pytest.raises(UsageError, match=r"the number 1e\+39 of the model: export without --float"):
        mbfmu.export(heavy, Path(mkdtemp()) / "x.zip", kind="c", single_precision=True)


def test_single_precision_is_for_plain_c_alone() -> None:
    with pytest.raises(UsageError, match="--kind c"):
        mbfmu.export("pendulum", single_precision=True)


@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="needs the package ziglang")
@pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="needs Debian's qemu-system-arm")
@pytest.mark.further
def test_a_cortex_m4_computes_no_double_and_has_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_of()
    zigs = Path(os.environ.get("ZIG_GLOBAL_CACHE_DIR", cache_folder() / "zig"))
    monkeypatch.setenv("ZIG_GLOBAL_CACHE_DIR", str(zigs))
    target = [
        "-target",
        "thumb-freestanding-eabihf",
        "-mcpu=cortex_m4+vfp4d16sp",
        "-g0",
        "-fno-sanitize=undefined",
        "-w",
    ]
    zig = [sys.executable, "-m", "ziglang", "cc", *target, *FLAGS, "-O1", "-ffunction-sections", "-fdata-sections"]
    with alone(zigs):
        subprocess.run([*zig, f"-I{folder}", "-c", *sources(folder)], cwd=tmp_path, check=True)
        objects = [str(path) for path in tmp_path.glob("*.o")]
        linked = ["-T", str(HERE / "cortex.ld"), "-Wl,--gc-sections", *objects, "-o", "m4.elf"]
        program = [str(HERE / "plain_bits.c"), str(HERE / "cortex.c")]
        subprocess.run([*zig, f"-I{folder}", *defined(), *program, *linked], cwd=tmp_path, check=True)
    needed = subprocess.run(["nm", "-u", *objects], capture_output=True, text=True, check=True).stdout
    assert "__aeabi_l2f" in needed
    assert not re.search(r"__aeabi_(c?d|f2d|u?[il]2d)", needed)
    board = ["qemu-system-arm", "-M", "mps2-an386", "-nographic", "-semihosting-config", "enable=on,target=native"]
    done = subprocess.run(
        [*board, "-kernel", "m4.elf"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    (tmp_path / "print.c").write_text(PRINTED)
    files_here = [*sources(folder), str(HERE / "plain_bits.c"), "print.c"]
    subprocess.run(["gcc", *FLAGS, *defined(), f"-I{folder}", *files_here, "-o", "here"], cwd=tmp_path, check=True)
    here = subprocess.run([tmp_path / "here"], capture_output=True, text=True, check=True).stdout
    assert len(here.split()) > 10
    assert (done.stdout + done.stderr).split() == here.split()

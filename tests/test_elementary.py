"""The kernels' own elementary functions: right to the last digit, alike however and wherever they are compiled."""

import ctypes
import ctypes.util
import hashlib
import importlib.util
import itertools
import math
import os
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from importlib.resources import files
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mbfmu.kernel import compiled_library
from mbfmu.kernel.build.toolchain import ROUNDED, tcc
from mbfmu.model import Block, Defined, Port, State
from mbfmu.model.expression import ARGUMENTS, FUNCTIONS
from mbfmu.prepared.prepare import prepare
from tests import decimals

Array = npt.NDArray[np.float64]

UNARY = (
    "sin", "cos", "tan", "asin", "acos", "atan", "exp", "expm1", "log", "log1p", "sinh", "cosh", "tanh", "asinh",
    "acosh", "atanh",
)  # fmt: skip
BINARY = ("atan2", "pow", "hypot")
NAMES = (*UNARY, *BINARY)
EXACT = {"sqrt", "floor", "ceil", "fabs", "fmod", "remainder", "copysign", "fmin", "fmax"}
"""Functions of C's library of which IEEE 754 leaves no bit open, for the numbers kernels give them."""
SPECIAL = (
    0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1.5, -1.5, 1e300, -1e300,
    5e-324, -5e-324, 1e-310, 2.0**53 - 1, 1 - 2.0**53, 2.0**53, -(2.0**53), math.nextafter(1, 0), math.nextafter(1, 2),
)  # fmt: skip


def source() -> str:
    """Return C text of the functions over arrays."""
    text = files("mbfmu.kernel").joinpath("c", "elementary.h").read_text(encoding="utf-8")
    over = "void over_{0}(const double *x, const double *y, double *f, int n) {{ for (int i = 0; i < n; ++i) {1} }}\n"
    one = (over.format(name, f"f[i] = mbfmu_{name}(x[i]), (void)y;") for name in UNARY)
    two = (over.format(name, f"f[i] = mbfmu_{name}(x[i], y[i]);") for name in BINARY)
    return "".join([text, *one, *two])


def compiled(folder: Path, *flags: str, compiler: tuple[str, ...] = ("cc",)) -> Path:
    """Return a library of the functions over arrays."""
    (folder / "elementary.c").write_text(source(), encoding="utf-8")
    library = folder / "elementary.so"
    headers = files("mbfmu.kernel") / "c"
    always = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", ROUNDED, f"-I{headers}"]
    command = [*compiler, *always, *flags, str(folder / "elementary.c"), "-o", str(library), "-lm"]
    subprocess.run(command, check=True, cwd=folder)
    return library


class Functions:
    """The functions of a library over arrays."""

    def __init__(self, library: Path) -> None:
        self.library = ctypes.CDLL(str(library))

    def __call__(self, name: str, *x: Array) -> Array:
        """Return a function's values."""
        values = np.empty_like(x[0])
        over = getattr(self.library, f"over_{name}")
        over(*(ctypes.c_void_p(each.ctypes.data) for each in (x[0], x[-1], values)), len(values))
        return values

    def of(self, name: str, *x: float) -> float:
        """Return one value."""
        return float(self(name, *(np.array([each]) for each in x))[0])


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> Functions:
    """Return the functions as kernels have them."""
    return Functions(compiled(tmp_path_factory.mktemp("elementary"), "-O2"))


def sizes(low: float, high: float, n: int, seed: int = 1) -> Array:
    """Return numbers of both signs whose logarithms are spread evenly."""
    some = np.random.default_rng(seed)
    values: Array = some.choice([-1.0, 1.0], n) * np.exp(some.uniform(math.log(low), math.log(high), n))
    return values


def between(low: float, high: float, n: int) -> Array:
    """Return numbers spread evenly."""
    return np.random.default_rng(2).uniform(low, high, n)


def samples(name: str, n: int) -> tuple[Array, ...]:
    """Return arguments over a function's range, many of them where it is hard."""
    unit = np.concatenate(
        [between(-1, 1, n), sizes(1e-20, 1, n), np.sign(between(-1, 1, n)) * (1 - sizes(1e-16, 1e-3, n) ** 2)]
    )
    if name in {"sin", "cos", "tan"}:
        near = np.arange(-63000, 63000, 126000 // n) * (math.pi / 2)
        return (np.concatenate([between(-4, 4, n), between(-1e5, 1e5, n), near, near / 2, sizes(1e-300, 1e308, n)]),)
    if name in {"asin", "acos"}:
        return (unit,)
    if name in {"atanh", "log1p"}:
        inside = unit[abs(unit) < 1]
        return (inside if name == "atanh" else np.concatenate([abs(sizes(1e-300, 1e308, n)), inside]),)
    if name in {"exp", "expm1", "sinh", "cosh", "tanh"}:
        return (np.concatenate([between(-1, 1, n), between(-745, 710, n), sizes(1e-20, 100, n)]),)
    if name == "log":
        return (np.concatenate([abs(sizes(5e-324, 1e308, n)), 1 + unit[unit > -1], between(0.5, 2, n)]),)
    if name == "acosh":
        return (1 + abs(sizes(1e-16, 1e300, 3 * n)),)
    if name == "pow":
        x = np.concatenate([abs(sizes(1e-300, 1e300, n)), between(0.1, 10, n), 1 + sizes(1e-12, 0.5, n)])
        wide = np.tile([True, False], 3 * n)[: 3 * n]
        return x, np.where(wide, between(-745, 710, 3 * n) / np.log(x), np.round(between(-9, 9, 3 * n) * 2) / 2)
    if name in {"atan2", "hypot"}:
        y = np.concatenate([sizes(1e-290, 1e290, n), between(-2, 2, n)])
        return y, np.concatenate([abs(y[:n]) * sizes(1e-12, 1e12, n, 3), between(-2, 2, n)[::-1].copy()])
    return (np.concatenate([between(-3, 3, n), sizes(1e-300, 1e300, n)]),)


def error(name: str, found: float, *x: float) -> float:
    """Return the error in units in the last place."""
    expected = decimals.exact(getattr(decimals, name), *x)
    near_zero = name in {"sin", "cos"} and 1 < abs(x[0]) <= 1e5 and abs(expected) < 1e-9
    if near_zero and abs(decimals.Decimal(found) - expected) < decimals.Decimal("1e-26"):
        return 0.0
    return decimals.ulps(found, expected)


@pytest.mark.parametrize("name", NAMES)
def test_errors_are_below_one_in_the_last_digit(functions: Functions, name: str) -> None:
    # the largest of two million each: 0.87 (expm1), 0.85 (sin, cos), 0.79 (log), 0.75 (exp, pow, where the result is
    # subnormal), others below 0.75
    x = samples(name, 500)
    found = functions(name, *x).tolist()
    errors = [error(name, *each) for each in zip(found, *(part.tolist() for part in x), strict=True)]
    assert max(errors) < 1.0


FINITE = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "atan", "exp", "expm1", "sinh", "cosh", "tanh", "asinh"])
@given(x=FINITE)
@example(
    x=6381956970095103.0 * 2.0**797
)  # of all doubles nearest to a multiple of pi/2: Muller, Elementary Functions, 2006
@example(x=709.782712893384)
@example(x=709.7827128933841)
@example(x=-745.1332191019412)
@example(x=710.4758600739439)
def test_no_number_has_a_larger_error(functions: Functions, name: str, x: float) -> None:
    if x:
        assert error(name, functions.of(name, x), x) < 1.0


@given(x=st.floats(min_value=5e-324, allow_infinity=False), y=FINITE)
def test_no_power_has_a_larger_error(functions: Functions, x: float, y: float) -> None:
    if y and x != 1:
        assert abs(y) > 1e5 or error("pow", functions.of("pow", x, y), x, y) < 1.0


@given(y=FINITE, x=FINITE)
def test_no_angle_and_no_length_has_a_larger_error(functions: Functions, y: float, x: float) -> None:
    if x and y:
        assert error("atan2", functions.of("atan2", y, x), y, x) < 1.0
        assert error("hypot", functions.of("hypot", y, x), y, x) < 1.0


@given(x=st.integers(-200, 200), y=st.integers(0, 6))
def test_powers_that_are_doubles_are_exact(functions: Functions, x: int, y: int) -> None:
    assert functions.of("pow", float(x), float(y)) == float(x**y)


@pytest.mark.parametrize("name", NAMES)
def test_special_values_are_those_of_c99(functions: Functions, name: str) -> None:
    # C's own library follows Annex F where zeros, infinities and NaN are concerned; but the sine of -0 is +0 here
    platforms = getattr(ctypes.CDLL(ctypes.util.find_library("m")), name)
    platforms.restype = ctypes.c_double
    for x in itertools.product(SPECIAL, repeat=2 if name in BINARY else 1):
        expected = platforms(*map(ctypes.c_double, x))
        found = functions.of(name, *x)
        if math.isnan(expected):
            assert math.isnan(found), (x, found)
        else:
            assert found == pytest.approx(expected, rel=1e-15, abs=1e-323), x
            assert name == "sin" or math.copysign(1, found) == math.copysign(1, expected), (x, found)


def test_zeros_are_met_as_near_as_pi_is_known(functions: Functions) -> None:
    # at the double x next to n pi the sine is n pi - x, up to its sign; digits of pi: OEIS A000796
    pi = Fraction(31415926535897932384626433832795028841971, 10**40)
    n = np.arange(1, 30000, 7)
    x = n * math.pi
    for k, angle, value in zip(n.tolist(), x.tolist(), functions("sin", x).tolist(), strict=True):
        rest = Fraction(angle) - k * pi
        sign = -1 if k % 2 else 1
        assert abs(Fraction(value) - sign * (rest - rest**3 / 6)) < abs(rest) * Fraction(2, 10**16) + Fraction(
            1, 10**26
        )


HASHED = """
import ctypes, sys
import numpy as np
library = ctypes.CDLL(sys.argv[1])
with np.load(sys.argv[2]) as arrays:
    for name in sys.argv[3:]:
        x, y = arrays[name]
        f = np.empty_like(x)
        getattr(library, "over_" + name)(*(ctypes.c_void_p(each.ctypes.data) for each in (x, y, f)), len(x))
        sys.stdout.buffer.write(f.tobytes())
"""


def values(library: Path, folder: Path, **environment: str) -> str:
    """Return a hash of all functions' values, computed in a process of its own."""
    parts = {name: samples(name, 5000) for name in NAMES}
    np.savez(folder / "x.npz", **{name: np.stack([x[0], x[-1]]) for name, x in parts.items()})
    command = [sys.executable, "-c", HASHED, str(library), str(folder / "x.npz"), *NAMES]
    run = subprocess.run(command, check=True, capture_output=True, env={**os.environ, **environment})
    assert len(run.stdout) == 8 * sum(len(x[0]) for x in parts.values())
    return hashlib.sha256(run.stdout).hexdigest()


ZIG = (sys.executable, "-m", "ziglang", "cc")
needs_zig = pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="needs the package ziglang")


@pytest.mark.parametrize(
    ("compiler", "flags"),
    [
        (("cc",), ("-O0",)),
        (("cc",), ("-O3", "-march=native")),
        pytest.param(ZIG, ("-O0", "-fno-sanitize=undefined"), marks=[needs_zig, pytest.mark.further]),
        pytest.param(ZIG, ("-O3", "-march=native", "-fno-sanitize=undefined"), marks=[needs_zig, pytest.mark.further]),
    ],
)
def test_bits_do_not_depend_on_how_it_is_compiled(
    tmp_path_factory: pytest.TempPathFactory, compiler: tuple[str, ...], flags: tuple[str, ...]
) -> None:
    one, other = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("other")
    assert values(compiled(one, "-O2"), one) == values(compiled(other, *flags, compiler=compiler), other)


def test_bits_do_not_depend_on_what_the_platform_picks_for_its_processor(tmp_path: Path) -> None:
    # glibc picks its elementary functions by the processor; without FMA and AVX2 its own pow and tan differ
    library = compiled(tmp_path, "-O2")
    plain = "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2,-AVX2_Usable,-AVX,-AVX_Usable"
    assert values(library, tmp_path) == values(library, tmp_path, GLIBC_TUNABLES=plain)


@needs_zig
def test_no_processor_is_asked_to_fuse_a_product_and_a_sum(tmp_path: Path) -> None:
    # aarch64 always can, and its compilers do unless told not to
    (tmp_path / "elementary.c").write_text(source(), encoding="utf-8")
    fused = re.compile(r"\bf(n?m(add|sub)|ml[as])\b")

    def text(*flags: str) -> str:
        command = [
            *ZIG,
            "-target",
            "aarch64-linux-gnu",
            "-std=c99",
            "-O3",
            f"-I{files('mbfmu.kernel') / 'c'}",
            *flags,
            "-S",
            "elementary.c",
            "-o",
            "code.s",
        ]
        subprocess.run(command, check=True, cwd=tmp_path)
        return (tmp_path / "code.s").read_text(encoding="latin-1")

    assert fused.search(text("-ffp-contract=fast"))
    assert not fused.search(text(ROUNDED))


def wanted(library: Path) -> set[str]:
    """Return the functions of C's mathematical library that a shared library calls."""
    nm = shutil.which("nm")
    assert nm is not None, "nm comes with the compiler's binutils"
    said = subprocess.run([nm, "-D", "--undefined-only", str(library)], check=True, capture_output=True, text=True)
    names = set(re.findall(r"\bU (\w+)", said.stdout))
    known = {
        *NAMES,
        *EXACT,
        "sincos",
        "exp2",
        "log2",
        "log10",
        "cbrt",
        "fma",
        "erf",
        "ldexp",
        "scalbn",
        "frexp",
        "rint",
    }
    return names & {form for name in known for form in (name, f"{name}f", f"{name}l", f"__{name}_finite")}


def calculator() -> Block:
    """Return a block with every function and operator that an expression can have."""
    terms = [f"{name}(0.3 + 0.1*x)" for name in FUNCTIONS if name not in ARGUMENTS]
    terms += ["atan2(x, u)", "min(x, u)", "max(x, u)", "abs(x)**u", "abs(x)**1.5", "2**x", "x**7", "x**-3", "x**101"]
    terms += ["where(x < u, x, u)", "where(x <= u, 1, x)", "(x > u)", "(x >= u)"]
    return Block(
        name="calculator",
        description="Every function",
        inputs=(Port("u", "1", "a number"),),
        states=(State("x", f"-x + 0.01*({' + '.join(terms)})", "1", 0.5, "a number"),),
        defined=tuple(Defined(f"y{k}", term, "1", "a term", output=True) for k, term in enumerate(terms)),
    )


def test_kernels_call_nothing_whose_bits_differ_between_processors() -> None:
    library = compiled_library(prepare(calculator(), None, None, 1e-2).bundle)
    assert library is not None
    assert wanted(library) <= EXACT


FREESTANDING = {"sqrt": 1, "fabs": 1, "floor": 1, "ceil": 1, "fmod": 2, "copysign": 2, "fmin": 2, "fmax": 2, "rint": 1}
"""Functions of the header for tcc, and the number of their arguments."""


@pytest.fixture(scope="module")
def freestanding(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """A library of tcc with the functions of the header, each under its name with ``own_``."""
    compiler = tcc()
    if compiler is None:
        pytest.skip("tcc is installed on Linux and Windows for Intel and AMD alone")
    text = "#include <math.h>\n"
    for name, count in FREESTANDING.items():
        given = "x, y"[: 3 * count - 2]
        text += f"double own_{name}(double x{', double y' * (count - 1)}) {{ return {name}({given}); }}\n"
    (folder := tmp_path_factory.mktemp("freestanding")).joinpath("own.c").write_text(text)
    command = [*compiler.command, *compiler.compiling, "-shared", "own.c", "-o", "own.so", *compiler.linking]
    subprocess.run(command, check=True, cwd=folder)
    return ctypes.CDLL(str(folder / "own.so"))


@given(st.sampled_from(sorted(FREESTANDING)), *[st.one_of(st.sampled_from(SPECIAL), st.floats(width=64))] * 2)
@example("fmod", 5e-324, 1.5)
@example("fmod", 1e308, 3e-320)
@example("floor", 2.0**52 + 1, 0.0)
@example("floor", -(2.0**51 + 0.5), 0.0)
@example("rint", -2.5, 0.0)
@example("rint", 2.0**52 - 0.5, 0.0)
def test_the_functions_for_tcc_have_the_bits_of_the_c_library(
    freestanding: ctypes.CDLL, name: str, x: float, y: float
) -> None:
    given = (x, y)[: FREESTANDING[name]]
    values = []
    for library, prefix in ((freestanding, "own_"), (ctypes.CDLL(ctypes.util.find_library("m")), "")):
        function = getattr(library, prefix + name)
        function.argtypes, function.restype = [ctypes.c_double] * len(given), ctypes.c_double
        values.append(function(*given))
    own, expected = values
    if math.isnan(expected):
        assert math.isnan(own)
    else:
        assert own == expected
        if name not in {"fmin", "fmax"}:  # C leaves the smaller of 0 and -0 open
            assert math.copysign(1, own) == math.copysign(1, expected)

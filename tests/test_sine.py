"""The kernels' own sine and cosine: right to the last digit, alike however they are compiled."""

import ctypes
import math
import subprocess
from fractions import Fraction
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[np.float64]

SOURCE = """
void both(const double *x, double *s, double *c, int n) {
    for (int i = 0; i < n; ++i) s[i] = mbfmu_sin(x[i]), c[i] = mbfmu_cos(x[i]);
}
"""


def compiled(tmp_path_factory: pytest.TempPathFactory, optimisation: str) -> Any:
    """Return x -> (sine, cosine)."""
    folder = tmp_path_factory.mktemp("sine")
    text = files("mbfmu.kernel").joinpath("sine.h").read_text(encoding="utf-8")
    (folder / "both.c").write_text(text + SOURCE, encoding="utf-8")
    library = folder / "both.so"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", optimisation]
    subprocess.run(["cc", *flags, str(folder / "both.c"), "-o", str(library), "-lm"], check=True)
    both = ctypes.CDLL(str(library)).both

    def evaluate(x: Array) -> tuple[Array, Array]:
        s, c = np.empty_like(x), np.empty_like(x)
        both(*(ctypes.c_void_p(each.ctypes.data) for each in (x, s, c)), len(x))
        return s, c

    return evaluate


@pytest.fixture(scope="module")
def sine_and_cosine(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return x -> (sine, cosine), as kernels have it."""
    return compiled(tmp_path_factory, "-O2")


def angles() -> Array:
    """Return angles of all sizes, many of them next to where sine or cosine vanish."""
    some = np.random.default_rng(5)
    near = np.arange(-63000, 63000, 11) * (math.pi / 2)
    small = np.ldexp(some.uniform(-1, 1, 5000), -some.integers(0, 60, 5000))
    return np.concatenate([some.uniform(-4, 4, 50000), some.uniform(-1e5, 1e5, 50000), near, near / 2, small])


def test_errors_are_below_one_in_the_last_digit(sine_and_cosine: Any) -> None:
    x = angles()
    exact = x.astype(np.longdouble)
    for found, expected in zip(sine_and_cosine(x), (np.sin(exact), np.cos(exact)), strict=True):
        error = np.abs(found - expected) / np.spacing(np.abs(expected).astype(np.float64))
        assert error[np.abs(expected) > 1e-9].max() < 1.0


def test_zeros_are_met_as_near_as_pi_is_known(sine_and_cosine: Any) -> None:
    # at the double x next to n pi the sine is n pi - x, up to its sign; digits of pi: OEIS A000796
    pi = Fraction(31415926535897932384626433832795028841971, 10**40)
    n = np.arange(1, 30000, 7)
    x = n * math.pi
    found, _ = sine_and_cosine(x)
    for k, angle, value in zip(n.tolist(), x.tolist(), found.tolist(), strict=True):
        rest = Fraction(angle) - k * pi
        sign = -1 if k % 2 else 1
        assert abs(Fraction(value) - sign * (rest - rest**3 / 6)) < abs(rest) * Fraction(2, 10**16) + Fraction(
            1, 10**26
        )


def test_what_is_no_angle_has_no_sine_and_what_is_too_large_is_the_platforms(sine_and_cosine: Any) -> None:
    s, c = sine_and_cosine(np.array([math.nan, math.inf, -math.inf, 1e6, -3e300, 0.0, -0.0]))
    assert np.isnan(s[:3]).all()
    assert np.isnan(c[:3]).all()
    assert s[3:5].tolist() == [math.sin(1e6), math.sin(-3e300)]
    assert c[3:5].tolist() == [math.cos(1e6), math.cos(-3e300)]
    assert s[5:].tolist() == [0.0, -0.0]
    assert c[5:].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("optimisation", ["-O0", "-O3"])
def test_bits_do_not_depend_on_how_it_is_compiled(
    sine_and_cosine: Any, tmp_path_factory: pytest.TempPathFactory, optimisation: str
) -> None:
    x = angles()
    other = compiled(tmp_path_factory, optimisation)
    assert np.stack(sine_and_cosine(x)).tobytes() == np.stack(other(x)).tobytes()

"""Sines and cosines of many angles at once: the bits of each alone, in code that takes each angle once."""

import ctypes
import math
import random
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from generated_code import CHECKS, compiled, compiled_text

import mbfmu
from mbfmu.dae import derive
from mbfmu.kernel import compose, vector
from mbfmu.kernel.build.toolchain import OWN
from mbfmu.kernel.codegen import c_sources
from mbfmu.kernel.emit import sections, straight
from mbfmu.kernel.emit.program import read_program
from mbfmu.kernel.emit.sources import HEADERS, generated
from mbfmu.kernel.shorten import angles, loops
from mbfmu.stepper import make_scheme

WORDS = ("double sine(double x) { return mbfmu_sin(x); }", "double cosine(double x) { return mbfmu_cos(x); }")
"""C functions of one number."""
EDGES = (0.0, -0.0, 1e5, -1e5, 99999.9, 1e22, -3e300, 5e-324, math.pi / 4, math.inf, -math.inf, math.nan)
"""Angles near which what is done with them changes."""


@pytest.mark.parametrize("flags", [("-O2",), ("-O2", *OWN), ("-O0", *CHECKS)], ids=["2", "own", "checked"])
def test_many_angles_at_once_have_the_sines_and_cosines_of_each_alone(tmp_path: Path, flags: tuple[str, ...]) -> None:
    included = (*HEADERS, angles.ANGLES)
    heads = [f'#include "{name}"' for name in included]
    whole = "void at_once(const double *x, int n, double *s, double *c) { sines_and_cosines(x, n, s, c); }"
    library = compiled_text("\n".join([*heads, *WORDS, whole, ""]), included, tmp_path, *flags)
    for each in (library.sine, library.cosine):
        each.restype, each.argtypes = ctypes.c_double, [ctypes.c_double]
    some = random.Random(0)
    for n in (*range(10), 400):
        given = [some.choice([some.uniform(-4, 4), some.uniform(-2e5, 2e5)]) for _ in range(n)]
        for k in range(n // 3):
            given[some.randrange(n)] = EDGES[k % len(EDGES)]
        x, s, c = vector(given), vector([17.0] * (n + 1)), vector([17.0] * (n + 1))
        library.at_once(x, n, s, c)
        assert bytes(s) == bytes(vector([*map(library.sine, given), 17.0]))
        assert bytes(c) == bytes(vector([*map(library.cosine, given), 17.0]))


def turning(seed: int) -> Any:
    """Return a random function of sines and cosines of arguments, of sums of them, of these sines, and of no angle."""
    some = random.Random(seed)
    n = some.randint(20, 40)
    x, p = ca.SX.sym("x", n), ca.SX.sym("p", 3)
    plain = [*ca.vertsplit(x), *ca.vertsplit(p)]
    for _ in range(some.randint(0, n // 2)):
        plain.append(some.choice(plain) + some.choice(plain) * some.choice([p[0], 0.5, 2.0]))
    values = [ca.sin(x[k]) for k in range(n)]
    for _ in range(some.randint(100, 300)):
        a, b = some.choice([*values, *plain]), some.choice([*values[-9:], some.choice(plain)])
        values.append(
            some.choice([a + b, a - b, a * b, ca.sin(some.choice(plain)), ca.cos(a), ca.cos(b) / (2 + a * a)])
        )
    results = [ca.vertcat(*some.choices([*values, *plain], k=5), values[-1 - k]) for k in range(3)]
    return ca.Function("f", [x, p], results)


@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize("length", [sections.LENGTH, 9])
@pytest.mark.parametrize("seed", range(8))
def test_a_function_in_two_parts_gives_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, length: int, optional: bool
) -> None:
    monkeypatch.setattr(straight, "LENGTH", length)
    monkeypatch.setattr(straight, "WAITING", 0)
    monkeypatch.setattr(loops, "LONG", 0)
    function, rng = turning(seed), np.random.default_rng(seed)
    given = rng.uniform(-3, 3, function.numel_in(0)), rng.uniform(0.5, 1, 3)
    found = []
    for many in (10**9, angles.MANY):
        monkeypatch.setattr(angles, "MANY", many)
        kept = [function] if optional else []
        assert ("sines_and_cosines(" in generated([function], external=True, optional=kept).text) == (many < 10**9)
        call = compiled(function, tmp_path, *CHECKS, optional=kept)
        found.append([call(*given, wanted=wanted) for wanted in ((0, 1, 2), (0,))[: 1 + optional]])
    for one, other in zip(*found, strict=True):
        assert list(map(bytes, one)) == list(map(bytes, other))


def test_each_angle_of_a_chain_is_taken_once_and_no_sine_is_left() -> None:
    for spatial in (False, True):
        dae = derive(mbfmu.load("chain", {"N": 96, "spatial": spatial}), "joint")
        sources = c_sources(compose(dae, make_scheme(dae, "direct", {"method": "rk4"})))
        text = sources["step.c"]
        assert {"angles.h", "several.h"} < sources.keys()
        assert text.count("sines_and_cosines(angles, 96, sines, cosines);") == 1
        assert "SIN(" not in text
        assert "COS(" not in text


def test_few_angles_and_angles_that_take_much_with_them_are_left_where_they_are() -> None:
    x = ca.SX.sym("x", 100)

    def parts(count: int, results: list[Any]) -> angles.Split | None:
        return angles.split(read_program(ca.Function("f", [x], [ca.vertcat(*results[:count])])))

    tied = [ca.sin(3 * x[k] ** 2) + x[k] ** 2 for k in range(100)]
    assert parts(angles.MANY - 1, tied) is None
    found = parts(100, tied)
    assert found is not None
    assert (found.angles, len(found.before.outputs)) == (100, 200)
    twice = [ca.sin(3 * (x[k] ** 2 + 1)) + x[k] ** 2 * (x[k] ** 2 + 1) for k in range(100)]
    assert parts(100, twice) is None

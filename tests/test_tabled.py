"""Functions that run seldom are tables: the same bits as straight code, in a text of few lines."""

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from generated_code import CHECKS, WARNINGS, Array, compiled
from harness import thorough

import mbfmu
from mbfmu.dae import derive
from mbfmu.kernel import compose
from mbfmu.kernel.codegen import c_sources, native_sources
from mbfmu.kernel.emit import sources, tabled
from mbfmu.kernel.emit.operations import OPERATIONS
from mbfmu.kernel.emit.sources import generated
from mbfmu.kernel.shorten import loops
from mbfmu.kernel.tangent import tangents
from mbfmu.stepper import make_scheme

UNARY: list[Callable[[Any], Any]] = [lambda a: -a, ca.sin, ca.fabs, lambda a: a**2, lambda a: ca.if_else(a > 0.3, a, 0)]
BINARY: list[Callable[[Any, Any], Any]] = [lambda a, b: a / (3 + b * b), ca.fmin, ca.atan2, lambda a, b: a < b]


def tangled(seed: int) -> Any:
    """Return a random function of two results: sums of products with both signs, among all kinds of operations."""
    some = random.Random(seed)
    x, p = ca.SX.sym("x", 9), ca.SX.sym("p", 2)
    numbers = [0.1 * k for k in range(1, 6)] + some.choice([[], [math.nan, math.inf, -math.inf]])
    values = [*ca.vertsplit(x), *ca.vertsplit(p), *map(ca.SX, numbers)]
    for _ in range(some.randint(20, 120)):
        a, b = some.choice(values), some.choice(values[-20:])
        how = some.randrange(6)
        if how < 3:  # x +- a b +- c d ...
            total = some.choice([a * b, a])
            for _ in range(some.randint(1, 6)):
                term = some.choice(values) * some.choice(values)
                total = some.choice([total + term, term + total, total - term, term - total, total + a])
            values.append(total)
        else:
            values.append(some.choice(UNARY)(a) if how == 3 else some.choice(BINARY)(a, b) if how == 4 else a - b)
    results = some.sample(values, 12) + values[-6:]
    return ca.Function("f", [x, p], [ca.vertcat(*results[:9]), ca.vertcat(*results[9:])])


def bits(results: list[Array]) -> list[bytes]:
    """Return the bits of results, in which every NaN is the same: processors take its sign from either operand."""
    return [np.where(np.isnan(item), np.nan, item).tobytes() for item in results]


@pytest.mark.parametrize(
    ("seed", "window"), thorough([(seed, 7 * 9 ** (seed % 3)) for seed in range(60)], lambda seed, _: seed < 3)
)
def test_a_table_gives_the_bits_of_straight_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, window: int
) -> None:
    function, some = tangled(seed), random.Random(seed)
    given = [some.uniform(-2, 2) for _ in range(9)], [some.uniform(0.5, 1) for _ in range(2)]
    straight = compiled(function, tmp_path)(*given)
    monkeypatch.setattr(sources, "SELDOM", 0)
    monkeypatch.setattr(tabled, "WINDOW", window)
    table = compiled(function, tmp_path, *CHECKS, *WARNINGS, optional=[function], seldom=[function.__hash__()])
    assert bits(table(*given)) == bits(straight)
    first, left_out = table(*given, wanted=[0])
    assert bits([first]) == bits(straight[:1])
    assert not left_out.any()


def test_a_table_takes_the_products_of_a_sum_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A matrix of 40 rows times a vector is one run of 40 sums; the code is as long for 10 rows."""
    monkeypatch.setattr(sources, "SELDOM", 0)
    lines = []
    for rows in (10, 40):
        x = ca.SX.sym("x", 25)
        function = ca.Function("f", [x], [ca.SX(ca.DM(np.random.default_rng(0).normal(size=(rows, 25)))) @ x])
        text = generated([function], external=True, seldom=[function.__hash__()]).text
        assert f"{{TABLE_SUM, {rows}, 25, " in text
        lines.append(text.count("\n"))
    assert lines[0] == lines[1] < 20


EVERY: list[Callable[[Any, Any], Any]] = [
    *BINARY, ca.fmax, ca.fmod, ca.hypot, ca.copysign, lambda a, b: a / b, lambda a, b: a**b,
    lambda a, b: ca.logic_and(a <= b, ca.logic_not(a == b)) + ca.logic_or(a != b, b < 0),
    *(lambda a, b, f=f: f(a) * b for f in (
        *UNARY, ca.cos, ca.tan, ca.asin, ca.acos, ca.atan, ca.exp, ca.expm1, ca.log, ca.log1p, ca.sqrt, ca.sinh,
        ca.cosh, ca.tanh, ca.asinh, lambda a: ca.acosh(1 + a), ca.atanh, ca.floor, ca.ceil, ca.sign,
        lambda a: a**0.3, lambda a: 1 / a, lambda a: 2 * a,
    )),
]  # fmt: skip
"""Every operation, of two numbers between 0 and 1."""


def test_a_table_gives_the_tangents_of_every_operation(tmp_path: Path) -> None:
    x, y = ca.SX.sym("x", 9), ca.SX.sym("y", 9)
    parts = [operation(x, y) for operation in EVERY]
    function = ca.Function("f", [x, y], [ca.vertcat(*parts), sum(parts) * x - y * x + x])
    codes = (function.instruction_id(k) for k in range(function.n_instructions()))
    names = {OPERATIONS[code][0] for code in codes if code in OPERATIONS}
    assert names == {name for name, _ in OPERATIONS.values()} - {"SAME"}
    tangent = function.forward(1)
    some = np.random.default_rng(0).uniform(0.1, 0.9, size=(4, 9)).tolist()
    values = [np.array(item).ravel() for item in function(*some[:2])]
    expected = [np.array(item).ravel() for item in tangent(*some[:2], *values, *some[2:])]
    table = compiled(tangent, tmp_path, *CHECKS, *WARNINGS, tangent_of={tangent.__hash__(): function})
    for found, wanted in zip(table(*some[:2], *values, *some[2:]), expected, strict=True):
        assert found == pytest.approx(wanted, rel=1e-13, abs=1e-13)


def test_more_values_than_a_table_can_count_are_written_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    function = tangled(1)
    given = [0.1] * 9, [0.7] * 2
    expected = bits(compiled(function, tmp_path)(*given))
    monkeypatch.setattr(sources, "SELDOM", 0)
    monkeypatch.setattr(tabled, "LONGEST", 10)
    assert "follow" not in generated([function], external=True, seldom=[function.__hash__()]).text
    result = compiled(function, tmp_path, seldom=[function.__hash__()])(*given)
    assert bits(result) == expected


def test_tables_take_the_sines_of_many_angles_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = ca.SX.sym("x", 40)
    terms = ca.sin(x * x) * ca.cos(x) - ca.sin(x)
    function = ca.Function("f", [x], [ca.vertcat(terms, ca.sum1(terms))])
    given = np.random.default_rng(0).normal(size=40).tolist()
    expected = bits(compiled(function, tmp_path)(given))
    monkeypatch.setattr(sources, "SELDOM", 0)
    for name, value in {"LONG": 0, "SHORTER": 0.0, "WELL": 0.0, "WORTH": 2.0}.items():  # no loops
        monkeypatch.setattr(loops, name, value)
    text = generated([function], external=True, seldom=[function.__hash__()]).text
    assert "sines_and_cosines(" in text
    assert "follow(" in text
    assert bits(compiled(function, tmp_path, seldom=[function.__hash__()])(given)) == expected


@pytest.mark.parametrize("stepper", ["rattle", "radau"])
def test_what_steps_and_outputs_call_is_no_table(monkeypatch: pytest.MonkeyPatch, stepper: str) -> None:
    """Tangents call the equations of a node too, and events the accelerations."""
    monkeypatch.setattr(sources, "SELDOM", 0)
    dae = derive(mbfmu.load("slider_crank"), "absolute")
    scheme = make_scheme(dae, stepper, {})
    bundle = compose(dae, scheme)
    of_fmu = native_sources(bundle, tangents(dae, scheme, bundle), "m")
    assert "follow(" in of_fmu["tangent.c"]
    for written in (c_sources(bundle), of_fmu):
        assert "follow(" not in written["step.c"]
        assert "follow(" in written["rest.c"]
        outputs = written["rest.c"].partition("void outputs(")[2].partition("\n}")[0]
        assert outputs
        assert "follow(" not in outputs

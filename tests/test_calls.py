"""Functions of numbers that call others, in generated code."""

import random
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from generated_code import CHECKS, compiled

from mbfmu.kernel import loops
from mbfmu.kernel.calls import pieces_of
from mbfmu.kernel.program import read_program


def formula(some: random.Random, name: str) -> Any:
    """Return a random function of three arguments that stays one where it is called."""
    given = [ca.SX.sym(f"x{k}", size) for k, size in enumerate((2, 3, 1))]
    values = [item for each in given for item in ca.vertsplit(each)]
    for _ in range(12):
        a, b = some.choice(values), some.choice(values)
        values.append(some.choice([a + b, a - b, a * b, ca.sqrt(a * a + 1), a / (2 + b * b)]))
    results = [ca.vertcat(values[-1], values[-3]), values[-2]]
    return ca.Function(name, given, results, {"never_inline": True})


def calling(seed: int) -> Any:
    """Return a random function that calls others, in rows of calls that take each other's results and in chains."""
    some = random.Random(seed)
    callees = [formula(random.Random(seed * 10 + k), f"called{k}") for k in range(2)]
    n = some.randint(9, 20)
    x, p = ca.SX.sym("x", 3 * n + 3), ca.SX.sym("p", 2)
    rows, behind = [], p[0]
    for k in range(n):
        pair, last = callees[k % 5 == 4](x[3 * k : 3 * k + 2], x[3 * k : 3 * k + 3], p[1])
        rows += [pair * x[k], last]
    for k in range(n - 2):
        pair, behind = callees[0](rows[2 * k], ca.vertcat(rows[2 * k + 1], 0.5, behind), behind)
        rows.append(pair)
    for _ in range(5):
        pair, last = callees[some.randint(0, 1)](
            some.choice(rows[2 * n :]), ca.vertcat(some.choice(rows[2 * n :]), some.choice([x[0], 2.0])), behind * p[1]
        )
        rows += [pair * last, pair]
    for k in range(n):  # what the first call gives is taken by the second alone
        pair, last = callees[0](x[3 * k + 1 : 3 * k + 3], x[3 * k : 3 * k + 3], p[0])
        rows += callees[1](pair, ca.vertcat(last, pair), last)
    return ca.Function("f", [x, p], [ca.vertcat(*some.sample(rows, len(rows) - 3)), ca.vertcat(behind, x[2], rows[-1])])


@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize("long", [0, 10**9])
@pytest.mark.parametrize("seed", range(8))
def test_calls_have_the_bits_that_casadi_gives_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, long: int, optional: bool
) -> None:
    monkeypatch.setattr(loops, "LONG", long)
    function, rng = calling(seed), np.random.default_rng(seed)
    given = rng.uniform(-3, 3, function.numel_in(0)), rng.uniform(0.5, 1, 2)
    known = [bytes(np.array(item).ravel()) for item in function(*given)]
    call = compiled(function, tmp_path, *CHECKS, optional=[function] if optional else [])
    assert list(map(bytes, call(*given))) == known
    if optional:
        assert bytes(call(*given, wanted=(0,))[0]) == known[0]


def test_what_calls_of_one_turn_alone_pass_on_has_one_place_for_all_turns() -> None:
    first, second = (formula(random.Random(seed), f"called{seed}") for seed in range(2))
    sizes = []
    for n in (10, 20):
        x = ca.SX.sym("x", 3 * n)
        found = []
        for k in range(n):
            pair, last = first(x[3 * k : 3 * k + 2], x[3 * k : 3 * k + 3], x[3 * k])
            found += second(pair, ca.vertcat(last, pair), last)
        function = ca.Function("f", [x], [ca.vertcat(*found)])
        sizes.append(pieces_of(read_program(function), 1, 1, ()).memory)
    assert sizes == [3, 3]

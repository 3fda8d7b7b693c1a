"""Long functions in sections: the bits of one function, from functions that are all short."""

import random
import re
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from generated_code import compiled

import mbfmu
from mbfmu.dae import derive
from mbfmu.kernel import compiled_library, compose, vector
from mbfmu.kernel.codegen import c_sources
from mbfmu.kernel.emit import sections, straight
from mbfmu.kernel.emit.program import read_program
from mbfmu.kernel.emit.sources import called, generated
from mbfmu.kernel.runtime import Compiled
from mbfmu.stepper import make_scheme

NEVER = 10**9


def tangled(seed: int) -> Any:
    """Return a random function of two arguments and three results, in which values of any age are needed."""
    some = random.Random(seed)
    x, p = ca.SX.sym("x", 6), ca.SX.sym("p", 3)
    values = [*ca.vertsplit(x), *ca.vertsplit(p), ca.SX(2.5)]
    for _ in range(some.randint(60, 200)):
        reach = some.choice([3, 20, len(values)])
        a, b = some.choice(values[-reach:]), some.choice(values)
        values.append({"+": a + b, "-": a - b, "*": a * b / (1 + b * b)}[some.choice("+-*")])
    results = [ca.vertcat(*some.choices(values, k=4), values[-1 - n]) for n in range(3)]
    return ca.Function("f", [x, p], results)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("optional", [False, True])
def test_sections_give_what_casadi_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, optional: bool
) -> None:
    monkeypatch.setattr(straight, "LENGTH", 9)
    monkeypatch.setattr(straight, "WAITING", 0)
    function = tangled(seed)
    found = generated([function], external=True, optional=[function] if optional else [])
    assert found.text.count("SECTION void f_") > 3
    x, p = np.random.default_rng(seed).uniform(-1, 1, 6), np.random.default_rng(seed).uniform(0.5, 1, 3)
    expected = [bytes(np.array(each).ravel()) for each in function(x, p)]
    call = compiled(function, tmp_path, optional=[function] if optional else [])
    for wanted in ((0, 1, 2), (0, 2), (0,))[: 3 if optional else 1]:
        results = call(x, p, wanted=wanted)
        assert [bytes(each) for each in results] == [
            each if k in wanted else bytes(40) for k, each in enumerate(expected)
        ]


def test_a_robot_steps_by_the_same_bits_in_sections_all_of_which_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    dae = derive(mbfmu.load("arm6"), "joint")
    bundle = compose(dae, make_scheme(dae, "rattle", {}))
    u, p = vector(dae.u_default()), vector(dae.p_default())
    found, longest = [], []
    monkeypatch.setattr(straight, "WAITING", 0)
    for length in (NEVER, sections.LENGTH):
        monkeypatch.setattr(straight, "LENGTH", length)
        text = c_sources(bundle)["step.c"]
        bodies = re.findall(r"^(?:static|SECTION) void .*\{\n((?:  .*\n)*)", text, re.MULTILINE)
        longest.append(max(body.count("\n") for body in bodies))
        kernel = Compiled(str(compiled_library(bundle)))
        x, _ = kernel.initialize(vector(dae.s_default()), u, p, 0.0, 1e-3)
        found.append(bytes(kernel.advance(x, u, u, p, 0.0, 1e-3, 30)[0]))
    assert found[0] == found[1]
    assert longest[0] > 3 * sections.LENGTH
    assert longest[1] < 3 * sections.LENGTH


@pytest.mark.parametrize(
    ("model", "stepper", "options", "cut"),
    [("slider_crank", "projected", {"order": 9}, False), ("arm6", "generalized_alpha", {}, True)],
)
def test_a_function_is_cut_where_many_values_wait(model: str, stepper: str, options: dict[str, Any], cut: bool) -> None:
    """Both steps have a function of 3400 to 3800 lines."""
    dae = derive(mbfmu.load(model), "joint")
    functions = compose(dae, make_scheme(dae, stepper, options)).formulas["step"].functions()
    (long,) = (item for item in called(functions) if item.is_a("SXFunction") and item.n_instructions() > 3000)
    program = read_program(long)
    assert 3000 < program.size < sections.WHOLE
    assert bool(straight.straight(program, (), "step").sections) == cut


def test_an_operation_that_one_other_takes_alone_stands_within_it() -> None:
    """A sum of squares of differences is one line, whose operands that are squared have variables."""
    x = ca.SX.sym("x", 4)
    a, b, c, d = ca.vertsplit(x)
    function = ca.Function("f", [x], [a * b + ca.sin(c - d) * 2.5, (a - b) ** 2])
    body = straight.straight(function, (), "f").body.splitlines()
    assert [line.strip() for line in body if "ADD" in line] == [
        next(line.strip() for line in body if line.strip().startswith("res[0][0] = "))
    ]
    assert any(re.search(r"res\[1\]\[0\] = SQUARE\(a\d+\);", line) for line in body)

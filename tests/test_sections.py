"""Long functions in sections: the bits of one function, from functions that are all short."""

import ctypes
import random
import re
import subprocess
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import mbfmu
from mbfmu.dae import derive
from mbfmu.kernel import compiled_library, compose, sections, straight, vector
from mbfmu.kernel.codegen import c_sources
from mbfmu.kernel.program import read_program
from mbfmu.kernel.runtime import Compiled
from mbfmu.kernel.sources import called, generated, headers
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
    for file, text in {**headers(), "f.c": found.text}.items():
        (tmp_path / file).write_text(text)
    library = tmp_path / f"f{seed}.so"
    command = ["cc", "-O0", "-ffp-contract=off", "-fPIC", "-shared", str(tmp_path / "f.c"), "-o", str(library), "-lm"]
    subprocess.run(command, check=True)
    entry = ctypes.CDLL(str(library)).f
    work = (ctypes.c_double * (found.work + 1))(*[float("nan")] * found.work, 17.0)
    x, p = np.random.default_rng(seed).uniform(-1, 1, 6), np.random.default_rng(seed).uniform(0.5, 1, 3)
    expected = [bytes(np.array(each).ravel()) for each in function(x, p)]
    given = [vector(x), vector(p)]
    for asked in ((True, True, True), (True, False, True), (True, False, False))[: 3 if optional else 1]:
        results = [(ctypes.c_double * 5)() for _ in asked]
        places = [ctypes.addressof(each) if is_asked else None for each, is_asked in zip(results, asked, strict=True)]
        entry((ctypes.c_void_p * 2)(*map(ctypes.addressof, given)), (ctypes.c_void_p * 3)(*places), work)
        for each, is_asked, wanted in zip(results, asked, expected, strict=True):
            assert bytes(each) == (wanted if is_asked else bytes(40))
    assert work[-1] == 17.0  # nothing is written behind it


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
    assert longest[0] > 10 * sections.LENGTH
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

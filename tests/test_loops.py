"""Loops in generated code: the same bits as written out, in code that no longer grows with the chain."""

import ctypes
import random
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from harness import thorough

import mbfmu
from mbfmu.dae import derive
from mbfmu.dae.merged import merged_again
from mbfmu.kernel import Bundle, codegen, compiled_library, compose, families, loops, vector
from mbfmu.kernel import bundle as composing
from mbfmu.kernel.codegen import c_sources
from mbfmu.kernel.runtime import Compiled
from mbfmu.kernel.sources import called, generated, headers
from mbfmu.stepper import make_scheme

NEVER = 10**9


def chain_bundle(N: int, spatial: bool, coordinates: str, stepper: str, **options: Any) -> tuple[Any, Bundle]:
    """Return the equations of a chain and its functions with a stepper."""
    dae = derive(mbfmu.load("chain", {"N": N, "spatial": spatial}), coordinates)
    return dae, compose(dae, make_scheme(dae, stepper, options))


@pytest.mark.parametrize(
    ("N", "spatial", "coordinates", "stepper", "options"),
    thorough(
        [
            (16, False, "joint", "direct", {"method": "rk4"}),
            (24, True, "joint", "projected", {"order": 4}),
            (16, False, "absolute", "rattle", {"iteration": "simplified"}),
            (16, True, "absolute", "rattle", {}),
            (8, False, "absolute", "radau", {}),
        ],
        lambda *case: case[3] in {"direct", "radau"} and not case[1],
    ),
)
def test_a_chain_moves_by_the_same_bits_with_loops(
    monkeypatch: pytest.MonkeyPatch, N: int, spatial: bool, coordinates: str, stepper: str, options: dict[str, Any]
) -> None:
    dae, bundle = chain_bundle(N, spatial, coordinates, stepper, **options)
    found = []
    for long in (NEVER, 300):
        monkeypatch.setattr(loops, "LONG", long)
        sources = c_sources(bundle)
        assert ("V *const v = w + " in sources["step.c"]) == (long != NEVER)
        kernel = Compiled(str(compiled_library(bundle)))
        u, p = vector(dae.u_default()), vector(dae.p_default())
        x, started = kernel.initialize(vector(dae.s_default()), u, p, 0.0, 1e-3)
        x1, status = kernel.advance(x, u, u, p, 0.0, 1e-3, 30)
        assert started.code == status.code == 0
        found.append([bytes(x), bytes(x1), bytes(kernel.outputs(x1, u, p, 0.03)), status])
    assert found[0] == found[1]


def test_functions_that_are_compiled_apart_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    dae, bundle = chain_bundle(8, True, "absolute", "rattle")
    u, p = vector(dae.u_default()), vector(dae.p_default())
    found = []
    for alone in (codegen.ALONE, 1000):
        monkeypatch.setattr(codegen, "ALONE", alone)
        assert ("step_2.c" in c_sources(bundle)) == (alone == 1000)
        kernel = Compiled(str(compiled_library(bundle)))
        x, _ = kernel.initialize(vector(dae.s_default()), u, p, 0.0, 1e-3)
        found.append(bytes(kernel.advance(x, u, u, p, 0.0, 1e-3, 30)[0]))
    assert found[0] == found[1]


@pytest.mark.slow
def test_the_code_of_a_chain_does_not_grow_with_it() -> None:
    short, long = (len(c_sources(chain_bundle(N, False, "joint", "direct")[1])["step.c"]) for N in (40, 80))
    assert long < 1.1 * short


@pytest.mark.slow
def test_the_equations_of_a_long_chain_in_absolute_coordinates_are_written_as_loops() -> None:
    _, bundle = chain_bundle(48, True, "absolute", "rattle")
    long = [item for item in called(bundle.functions()) if item.is_a("SXFunction") and item.n_instructions() > 30_000]
    assert long
    for item in long:
        text = generated([item], external=True).text
        assert len(text.splitlines()) < 0.35 * merged_again(item).n_instructions()


@pytest.mark.further
def test_outputs_that_call_the_accelerations_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for lengthy in (NEVER, 300):
        monkeypatch.setattr(composing, "LENGTHY", lengthy)
        dae, bundle = chain_bundle(8, True, "joint", "direct")
        assert bundle.outputs.is_a("SXFunction") == (lengthy == NEVER)
        x = np.random.default_rng(0).normal(size=bundle.outputs.size1_in(0))
        found.append(bytes(np.array(bundle.outputs(x, vector(dae.u_default()), vector(dae.p_default()), 0.5))))
    assert found[0] == found[1]


def test_a_function_with_loops_returns_nothing_as_its_signature_says() -> None:
    text = c_sources(chain_bundle(64, False, "joint", "direct")[1])["step.c"]
    bodies = re.findall(
        r"^(?:static )?void \w+\(const V \*const \*arg[^{;]*\{\n(.*?)^\}$", text, re.MULTILINE | re.DOTALL
    )
    assert any("V *const v = w + " in body for body in bodies)
    assert not any("return" in body for body in bodies)


def test_code_in_which_nothing_recurs_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    dae = derive(mbfmu.load("two_link"), "absolute")
    bundle = compose(dae, make_scheme(dae, "projected", {}))
    texts = []
    for long in (NEVER, 0):
        monkeypatch.setattr(loops, "LONG", long)
        texts.append(c_sources(bundle))
    assert texts[0] == texts[1]


def repetitive(seed: int) -> Any:
    """Return a random function of passes up and down a chain of bodies.

    What a body computes may need the same pass's values of its neighbour, other passes' values of any near body or of
    a certain one, its own inputs, and numbers that differ from body to body; one body may be unlike the others.
    """
    some = random.Random(seed)
    n, width = some.randint(12, 30), some.randint(1, 3)
    x, p = ca.SX.sym("x", width * n), ca.SX.sym("p", 3)
    passes: list[list[list[Any]]] = []
    results: list[Any] = []
    for _ in range(some.randint(1, 4)):
        recipe = [
            (some.choice("+-*/s"), [(some.choice("xplbbof"), [some.random() for _ in range(3)]) for _ in range(2)])
            for _ in range(some.randint(3, 12))
        ]
        numbers = [0.5 + some.randrange(8) / 8 for _ in range(n)]
        odd = some.choice([None, None, some.randrange(n)])
        before = [p[0] + k for k in range(len(recipe))]
        values: list[list[Any]] = [[]] * n
        for k in range(n) if some.random() < 0.5 else reversed(range(n)):
            own = [x[width * k + j] for j in range(width)]
            here: list[Any] = []
            for sign, choices in recipe:
                a, b = (
                    _operand(kind, place, k, here, before, passes, [*own, numbers[k]], p) for kind, place in choices
                )
                here.append({"+": a + b, "-": a - b, "*": a * b, "/": a / (4 + b * b), "s": ca.sin(a)}[sign])
            if odd == k:
                here[-1] = here[-1] * p[1] + here[0]
            values[k] = before = here
        passes.append(values)
        place = some.random()
        results += [each[int(place * len(each))] for each in values] + values[-1]
    if some.random() < 0.3:
        some.shuffle(results)
    return ca.Function("f", [x, p], [ca.cse(ca.vertcat(*results))])


def _operand(
    kind: str, place: list[float], k: int, here: list[Any], before: list[Any], passes: Any, own: list[Any], p: Any
) -> Any:
    a, b, c = place
    if kind == "l" and here:
        return here[int(a * len(here))]
    if kind == "b":
        return before[int(a * len(before))]
    if kind in "of" and passes:
        other = passes[int(a * len(passes))]
        near = min(max(k + int(3 * c) - 1, 0), len(other) - 1)
        each = other[near if kind == "o" else int(c * len(other))]
        return each[int(b * len(each))]
    return p[int(a * 3)] if kind == "p" else own[int(a * len(own))]


def compiled(function: Any, folder: Path, name: str) -> Any:
    """Return a Function's generated code, compiled: lists -> list."""
    found = generated([function], external=True)
    for file, text in {**headers(), f"{name}.c": found.text}.items():
        (folder / file).write_text(text)
    library = folder / f"{name}.so"
    command = ["cc", "-O1", "-fPIC", "-shared", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"]
    subprocess.run([*command, str(folder / f"{name}.c"), "-o", str(library), "-lm"], check=True)
    entry = ctypes.CDLL(str(library)).f
    work = (ctypes.c_double * (found.work + 1))()
    work[-1] = 17.0  # nothing is written behind it

    def call(*arguments: Sequence[float]) -> bytes:
        given = [vector(each) for each in arguments]
        result = (ctypes.c_double * function.numel_out(0))()
        arg = (ctypes.c_void_p * len(given))(*map(ctypes.addressof, given))
        entry(arg, (ctypes.c_void_p * 1)(ctypes.addressof(result)), work)
        assert work[-1] == 17.0
        return bytes(result)

    return call


@pytest.mark.parametrize("seed", thorough(zip(range(60)), lambda seed: seed < 5))
def test_whatever_recurs_gives_the_same_bits_in_loops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    function = repetitive(seed)
    values = random.Random(seed)
    given_x = [values.uniform(-1, 1) for _ in range(function.numel_in(0))]
    given_p = [values.uniform(0.5, 1) for _ in range(3)]
    found = []
    for name, long in (("straight", NEVER), ("looped", 0)):
        monkeypatch.setattr(loops, "LONG", long)
        monkeypatch.setattr(loops, "WORTH", 0.0)
        found.append(compiled(function, tmp_path, f"{name}{seed}")(given_x, given_p))
    assert found[0] == found[1]


def test_colours_that_collide_do_not_mix_operations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A colour is a hash: were it the same for unlike operations, they would still not become one family."""
    function = repetitive(7)
    x, p = [0.1 + 0.01 * k for k in range(function.numel_in(0))], [0.5, 0.7, 0.9]
    monkeypatch.setattr(loops, "WORTH", 0.0)
    found = []
    for name, long in (("straight", NEVER), ("looped", 0)):
        monkeypatch.setattr(loops, "LONG", long)
        found.append(compiled(function, tmp_path, name)(x, p))
        monkeypatch.setattr(families, "_colours", lambda program: np.zeros(len(program.kind), dtype=np.uint64))
    assert found[0] == found[1]

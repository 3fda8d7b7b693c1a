"""Loops in generated code: the same bits as written out, in code that no longer grows with the chain."""

import itertools
import math
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import hypothesis.strategies as st
import numpy as np
import pytest
from generated_code import CHECKS, compiled
from harness import thorough
from hypothesis import given

import mbfmu
from benchmarks.scale import tree
from mbfmu.dae import derive
from mbfmu.kernel import Bundle, codegen, compiled_library, compose, vector
from mbfmu.kernel import bundle as composing
from mbfmu.kernel.codegen import c_sources
from mbfmu.kernel.emit.ordering import ordered
from mbfmu.kernel.emit.program import read_program
from mbfmu.kernel.emit.sources import called, generated
from mbfmu.kernel.runtime import Compiled
from mbfmu.kernel.shorten import families, layer_text, layers, loops
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
            (24, False, "joint", "direct", {"method": "rk4"}),
            (32, True, "joint", "projected", {"order": 4}),
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


@pytest.mark.parametrize(("spatial", "turns", "left"), [(False, 40, 9), (True, 20, 7)])
def test_loops_over_a_chain_leave_out_few_turns_at_its_ends(spatial: bool, turns: int, left: int) -> None:
    """The loops of the passes along the chain, each with ends of its own, run over the same turns."""
    program = read_program(chain_bundle(40, spatial, "joint", "direct")[0].acceleration)
    found = families.find_families(program)
    assert found
    plan = loops.make_plan(program, found, 1)
    assert plan
    assert plan.last - plan.first + 1 >= turns - left


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
        assert len(text.splitlines()) < 0.35 * read_program(item).size


@pytest.mark.further
def test_outputs_that_call_the_accelerations_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for lengthy in (NEVER, 300):
        monkeypatch.setattr(composing, "LENGTHY", lengthy)
        monkeypatch.setattr(composing, "CALLED", lengthy)
        dae, bundle = chain_bundle(8, True, "joint", "direct")
        assert bundle.outputs.is_a("SXFunction") == (lengthy == NEVER)
        x = np.random.default_rng(0).normal(size=bundle.outputs.size1_in(0))
        found.append(bytes(np.array(bundle.outputs(x, vector(dae.u_default()), vector(dae.p_default()), 0.5))))
    assert found[0] == found[1]


@pytest.mark.slow
def test_the_code_of_a_chain_in_absolute_coordinates_grows_by_a_few_lines_a_link() -> None:
    written = []
    for N in (64, 128):
        _, bundle = chain_bundle(N, True, "absolute", "rattle", iteration="simplified")
        long = [item for item in called(bundle.functions()) if item.is_a("SXFunction") and item.n_instructions() > 4000]
        written.append({item.name(): len(generated([item], external=True).text.splitlines()) for item in long})
    growth = {name: (more - written[0].get(name, 0)) / 64 for name, more in written[1].items()}
    assert {"kept", "step_correct1", "step_result", "output"} <= growth.keys()
    of_outputs = growth.pop("output")
    assert max(growth.values()) < 20.0  # measured: 19.5, of some 2000 operations
    assert of_outputs < 60.0  # measured: 45.5; they solve for the multipliers on their own


def test_results_of_one_value_and_copies_of_arguments_are_stored_by_loops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, p = ca.SX.sym("x", 300), ca.SX.sym("p", 3)
    function = ca.Function("f", [x, p], [ca.vertcat(x[::-1], ca.repmat(p[1] * p[2], 200, 1), ca.SX.ones(100), x)])
    rng = np.random.default_rng(0)
    given = rng.normal(size=300).tolist(), rng.normal(size=3).tolist()
    expected = bytes(np.array(function(*given)))
    monkeypatch.setattr(loops, "LONG", 0)
    assert len(generated([function], external=True).text.splitlines()) < 40
    assert bytes(compiled(function, tmp_path, *CHECKS)(*given)[0]) == expected


@pytest.mark.parametrize(("length", "missing", "count"), [(4, 0, 40), (3, 2, 40), (7, 3, 61), (2, 1, 30), (5, 0, 33)])
def test_loops_over_blocks_of_turns_need_no_tables_and_give_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int, missing: int, count: int
) -> None:
    """Every `length` entries of the argument follow those of the result with a gap; the first block lacks some."""
    turns = np.arange(missing, missing + count)
    taken = (turns // length) * (length + 2) + turns % length
    stored = (turns // length) * (2 * length + 1) + 2 * (turns % length)
    x, y = ca.SX.sym("x", int(taken[-1]) + 1), ca.SX.zeros(int(stored[-1]) + 1)
    y[stored.tolist()] = (x[taken.tolist()] + x[1]) * x[0]
    function = ca.Function("f", [x], [ca.densify(y)])
    monkeypatch.setattr(loops, "LONG", 0)
    text = generated([function], external=True).text
    assert "b = 0" in text
    assert "[k]]" not in re.sub(r".*SAME\(0\.0\).*", "", text)  # the zeros between have a table
    given = np.random.default_rng(0).normal(size=x.numel())
    assert bytes(compiled(function, tmp_path, *CHECKS)(given.tolist())[0]) == bytes(np.array(function(given)))


@pytest.mark.parametrize("others", [2, 4, 5])
def test_turns_that_take_what_is_computed_alone_need_no_tables_and_give_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    """The first chains of operations begin otherwise, farther below than colours tell the operations at their ends."""
    x, c = ca.SX.sym("x", 60), ca.SX.sym("c", families.ROUNDS + 4)
    y = ca.vertcat(x[:others] * c[0], x[others:] + c[0])
    for k in range(1, c.numel()):
        y = y * c[k] + 1
    function = ca.Function("f", [x, c], [y])
    monkeypatch.setattr(loops, "LONG", 0)
    text = generated([function], external=True).text
    assert f"k < {x.numel()}" in text
    assert ("[k]" in text) == (others > layer_text.BESIDE)
    rng = np.random.default_rng(0)
    given = rng.normal(size=x.numel()).tolist(), rng.normal(size=c.numel()).tolist()
    assert bytes(compiled(function, tmp_path, *CHECKS)(*given)[0]) == bytes(np.array(function(*given)))


def test_layers_above_and_below_an_odd_operation_share_a_loop_and_give_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of 60 chains has an operation that the others lack, so that only 59 are alike in the middle."""
    x, c = ca.SX.sym("x", 60), ca.SX.sym("c", 5 * families.ROUNDS)
    y = x
    for k in range(c.numel()):
        y = y * c[k] + 1
        if k == c.numel() // 2:
            y[0] = 1 / y[0]
    function = ca.Function("f", [x, c], [y])
    monkeypatch.setattr(loops, "LONG", 0)
    text = generated([function], external=True).text
    assert re.findall(r"for \(int k = 0; k < (\d+)", text) == ["59"]
    rng = np.random.default_rng(0)
    given = rng.normal(size=x.numel()).tolist(), rng.normal(size=c.numel()).tolist()
    assert bytes(compiled(function, tmp_path, *CHECKS)(*given)[0]) == bytes(np.array(function(*given)))


def test_a_function_with_loops_returns_nothing_as_its_signature_says() -> None:
    text = c_sources(chain_bundle(64, False, "joint", "direct")[1])["step.c"]
    bodies = re.findall(
        r"^(?:static )?void \w+\(const V \*const \*arg[^{;]*\{\n(.*?)^\}$", text, re.MULTILINE | re.DOTALL
    )
    assert any("V *const v = w + " in body for body in bodies)
    assert not any("return" in body for body in bodies)


def test_equal_operations_are_done_once_in_either_order_of_their_operands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = ca.SX.sym("x", 4)
    results = [ca.sin(x[0] * x[1]), ca.cos(x[1] * x[0]), x[2] + x[3], (x[3] + x[2]) / x[0], x[2] - x[3], x[3] - x[2]]
    function = ca.Function("f", [x], [ca.vertcat(*results)])
    given = np.random.default_rng(0).normal(size=4).tolist()
    expected = bytes(np.array(function(given)))
    monkeypatch.setattr(loops, "LONG", 0)
    text = generated([function], external=True).text
    assert [text.count(f" {name}(") for name in ("MUL", "ADD", "SUB")] == [1, 1, 2]
    assert bytes(compiled(function, tmp_path, *CHECKS)(given)[0]) == expected


def test_code_in_which_nothing_recurs_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    x = ca.SX.sym("x", 8)
    some, result = random.Random(1), x[0]
    for _ in range(100):
        other = x[some.randrange(8)]
        result = some.choice([result + other, ca.sin(result), result * other, result - other, other / (4 + result)])
    texts = []
    for long in (NEVER, 0):
        monkeypatch.setattr(loops, "LONG", long)
        texts.append(generated([ca.Function("f", [x], [result])], external=True).text)
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


def branching(seed: int) -> Any:
    """Return a random function of passes up and down a tree of bodies, and of sums over all of them.

    What a body computes needs what its parent, or its children together, computed in the same pass, and what it
    computed itself in any; leaves of the tree have nothing from children.
    """
    some = random.Random(seed)
    n = some.randint(40, 90)
    regular = some.random() < 0.5
    parents = [(k - 1) // 2 if regular else some.randrange(max(0, k - 9), k) for k in range(1, n)]
    x, p = ca.SX.sym("x", 2 * n), ca.SX.sym("p", 3)
    passes: list[list[list[Any]]] = []
    results: list[Any] = []
    for _ in range(some.randint(1, 4)):
        outwards = some.random() < 0.5
        recipe = [(some.choice("+-*/s"), [(some.choice("xclo"), some.random()) for _ in "ab"]) for _ in range(7)]
        numbers = [0.5 + some.randrange(8) / 8 for _ in range(n)]
        values: list[list[Any]] = [[]] * n
        for k in range(n) if outwards else reversed(range(n)):
            if outwards:
                carried = values[parents[k - 1]] if k else [p[0], p[1]]
            else:
                children = [values[child + 1] for child, parent in enumerate(parents) if parent == k]
                carried = [sum(each, p[2] * x[k]) for each in zip(*children, strict=True)] or [p[0], x[k]]
            here: list[Any] = []
            for sign, choices in recipe:
                from_passes = [value for each in passes for value in each[k]]
                near = {"x": [x[k], x[n + k], numbers[k], p[2]], "c": carried, "l": here, "o": from_passes}
                a, b = ((near[kind] or carried)[int(place * len(near[kind] or carried))] for kind, place in choices)
                here.append({"+": a + b, "-": a - b, "*": a * b, "/": a / (4 + b * b), "s": ca.sin(a)}[sign])
            values[k] = here
        passes.append(values)
        results += [values[k][some.randrange(7)] for k in range(0, n, some.randint(1, 3))]
        results += [each[-1] for each in values]
        total = p[1]
        for each in values:
            total = some.choice([total + each[-2]] if seed % 3 else [total + each[-2], each[-2] + total])
        results.append(total)
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


@pytest.mark.parametrize(
    ("made", "seed"),
    thorough([(made, seed) for made in (repetitive, branching) for seed in range(60)], lambda _, seed: seed < 4),
)
def test_whatever_recurs_gives_the_same_bits_in_loops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Callable[[int], Any], seed: int
) -> None:
    function = made(seed)
    values = random.Random(seed)
    given_x = [values.uniform(-1, 1) for _ in range(function.numel_in(0))]
    given_p = [values.uniform(0.5, 1) for _ in range(3)]
    found = []
    ways = ((NEVER, 0.0, 0.0), (0, 0.0, 0.0), (0, math.inf, 0.0), (0, 0.0, math.inf))
    for long, well, almost in ways:  # no loops, families, layers, layers that disregard users
        monkeypatch.setattr(loops, "LONG", long)
        monkeypatch.setattr(loops, "WORTH", 0.0)
        monkeypatch.setattr(loops, "SHORTER", well)
        monkeypatch.setattr(loops, "WELL", well)
        monkeypatch.setattr(loops, "ALMOST_ALL", almost)
        checks = CHECKS if long != NEVER else ()  # without loops there is nothing to count wrongly
        found.append(bytes(compiled(function, tmp_path, *checks)(given_x, given_p)[0]))
    assert len({*found}) == 1


def test_pairs_of_bodies_are_one_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of forces between all of N bodies does not grow with N, and has the bits of code without loops."""
    lines = []
    for N in (8, 20):
        x, p = ca.SX.sym("x", N), ca.SX.sym("p", N)
        near = {(i, j): ca.exp(-((x[i] - x[j]) ** 2)) * ca.cos(p[i] * p[j]) for j in range(N) for i in range(j)}
        forces = [force - ca.sin(x[i]) / (1 + x[j] ** 2) for (i, j), force in near.items()]
        function = ca.Function("f", [x, p], [ca.vertcat(*forces)])
        given = np.random.default_rng(0).normal(size=(2, N)).tolist()
        found = []
        for long in (NEVER, 0):
            monkeypatch.setattr(loops, "LONG", long)
            monkeypatch.setattr(loops, "ALMOST_ALL", 0.5)
            found.append(bytes(compiled(function, tmp_path, *CHECKS)(*given)[0]))
        assert found[0] == found[1]
        text = generated([function], external=True).text
        lines.append(sum(not line.lstrip().startswith("static const") for line in text.splitlines()))
    assert lines[0] == lines[1] < 60


def test_colours_that_collide_do_not_mix_operations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A colour is a hash: were it the same for unlike operations, they would still not become one family or layer."""
    function = repetitive(7)
    x, p = [0.1 + 0.01 * k for k in range(function.numel_in(0))], [0.5, 0.7, 0.9]
    monkeypatch.setattr(loops, "WORTH", 0.0)
    found = []
    for long, shorter in ((NEVER, 0.0), (0, 0.0), (0, math.inf)):  # none, families, layers
        monkeypatch.setattr(loops, "LONG", long)
        monkeypatch.setattr(loops, "SHORTER", shorter)
        monkeypatch.setattr(loops, "WELL", shorter)
        found.append(bytes(compiled(function, tmp_path, *CHECKS)(x, p)[0]))
        for room, colouring in ((families, "colours"), (layers, "colours_below")):
            monkeypatch.setattr(room, colouring, lambda program, *_: np.zeros(len(program.kind), dtype=np.uint64))
    assert found[0] == found[1] == found[2]


CODES = (ca.OP_INPUT, ca.OP_CONST, ca.OP_ADD, ca.OP_MUL, ca.OP_DIV, ca.OP_SIN, ca.OP_OUTPUT)


@given(st.lists(st.tuples(st.sampled_from(CODES), st.integers(0, 1000), st.integers(0, 1000)), max_size=120))
def test_an_order_has_every_instruction_once_and_after_its_operands(items: list[tuple[int, int, int]]) -> None:
    codes, operands, values = [ca.OP_INPUT], [list[int]()], [0]
    for code, first, second in items:
        taken = [values[number % len(values)] for number in (first, second)]
        count = {ca.OP_INPUT: 0, ca.OP_CONST: 0, ca.OP_SIN: 1, ca.OP_OUTPUT: 1}.get(code, 2)
        if code != ca.OP_OUTPUT:
            values.append(len(codes))
        codes.append(code)
        operands.append(taken[:count])
    order = ordered(codes, operands)
    assert sorted(order) == list(range(len(codes)))
    at = {k: place for place, k in enumerate(order)}
    assert all(at[each] < at[k] for k, given in enumerate(operands) for each in given)


def test_two_sums_take_turns() -> None:
    codes = [ca.OP_INPUT] * 2 + [ca.OP_ADD] * 20
    operands = [
        [],
        [],
        *([k - 1 if k > 2 else 0, 0] for k in range(2, 12)),
        *([k - 1 if k > 12 else 1, 1] for k in range(12, 22)),
    ]
    sums = [k for k in ordered(codes, operands) if k > 1]
    assert all((first < 12) != (second < 12) for first, second in itertools.pairwise(sums))


@pytest.mark.slow
def test_the_code_of_a_tree_grows_with_its_levels() -> None:
    lines = []
    for N in (127, 255):
        dae = derive(tree(N), "joint")
        lines.append(len(c_sources(compose(dae, make_scheme(dae, "direct", {"method": "rk4"})))["step.c"].splitlines()))
    assert lines[1] < 1.25 * lines[0]

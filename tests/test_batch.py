"""Many instances at a time: to the bit each as it would be alone, whatever the others do."""

import ctypes
import importlib.util
import math
import subprocess
import warnings
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt
import pytest
from harness import DEFAULTS, examples, named, thorough
from hypothesis import given
from mechanisms import distant_arm

import mbfmu
from mbfmu.errors import ResultWarning, StartError, UnknownNameError, UsageError, ValueRangeError
from mbfmu.kernel import vector
from mbfmu.kernel.build.platforms import is_here
from mbfmu.kernel.build.toolchain import INSTRUCTIONS, ROUNDED, built, cross, widths
from mbfmu.kernel.codegen import many_sources
from mbfmu.kernel.emit import straight
from mbfmu.kernel.emit.operations import OPERATIONS
from mbfmu.kernel.failure import Facts
from mbfmu.kernel.many import Many, many_library
from mbfmu.kernel.runtime import OK
from mbfmu.model import Block, Defined, Parameter, State
from mbfmu.prepared.prepare import Prepared, prepare
from mbfmu.run.batch import BatchSimulation

Array = npt.NDArray[np.float64]

WIDTHS = (1, *widths())
H = 1e-3
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e5, -1e300, 5e-324, math.inf, -math.inf, math.nan, 0.7, -12.3, 1e-9)
MODELS = ("slider_crank", "four_bar", "bldc_motor", "disk_with_stop", "sampled_pid_two_link")
"""Loops, first-order states, events and samplings."""
CASES = [*(("two_link", scheme) for scheme in DEFAULTS), *((model, ("radau", {"stages": 3})) for model in MODELS)]
"""A tree with every stepper, and the models with one."""
OFTEN = {"projected", "radau"}
"""Steppers that stand for all."""


def aligned(values: Array) -> Array:
    """Return a copy that begins at a multiple of 64 bytes."""
    room = np.empty(len(values) + 8)
    copy = room[-room.ctypes.data % 64 // 8 :][: len(values)]
    copy[:] = values
    return copy


def scattered(prepared: Prepared, count: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """Return states, inputs and parameters of instances, shape (count, n); some inputs are far too large."""
    numbers, outline = np.random.default_rng(seed), prepared.outline
    p = np.tile(outline.p_default(), (count, 1)) * (
        1 + 0.02 * numbers.standard_normal((count, len(outline.p_default())))
    )
    u = np.array(outline.u_default()) + numbers.standard_normal((count, len(outline.inputs)))
    states = []
    for number in range(count):
        given = (vector(item) for item in (outline.s_default(), u[number].tolist(), p[number].tolist()))
        x, status = prepared.kernel.initialize(*given, 0.0, H)
        if status.code != OK:  # parameters that leave a loop open
            return scattered(prepared, count, seed + 1)
        states.append(list(x))
    u[:: max(3, count // 5)] *= 1e12
    return np.array(states), u, p


def alone(
    prepared: Prepared, x: Array, u: Array, p: Array, span: float, tolerance: float
) -> tuple[Array, Array, int | None]:
    """Return state, outputs and code of an instance after a span."""
    x1, y, failure = prepared.kernel.communicate(
        *(vector(item.tolist()) for item in (x, u, 0 * u, p)), 0.0, span, H, tolerance
    )
    return (
        np.array(x1),
        np.full(prepared.kernel.ny, np.nan) if y is None else np.array(y),
        failure and int(failure.code),
    )


def differing(
    prepared: Prepared, count: int, width: int, steps: int, tolerance: float = 0.0, path: Path | None = None
) -> tuple[int, int]:
    """Return the number of instances that differ from themselves alone, and of those that fail."""
    many = Many(str(path or many_library(prepared.bundle)), count, 1, width)
    x, u, p = scattered(prepared, count)
    x1, y, failed = many.move(*map(many.blocked, (x, u, 0 * u, p)), 0.0, steps * H, H, tolerance)
    found = 0
    for number in range(count):
        state, outputs, code = alone(prepared, x[number], u[number], p[number], steps * H, tolerance)
        same = many.one(x1, number).tobytes() == state.tobytes() and y[number].tobytes() == outputs.tobytes()
        found += not (same and code == (failed[number].code if number in failed else None))
    return found, len(failed)


@pytest.mark.parametrize(("model", "scheme"), thorough(CASES, lambda _, scheme: scheme[0] in OFTEN), ids=named)
def test_every_instance_has_the_bits_it_has_alone(model: str, scheme: tuple[str, Mapping[str, Any]]) -> None:
    prepared = prepare(mbfmu.load(model), *scheme, H)
    found = [differing(prepared, 19, width, 7) for width in WIDTHS]
    assert [wrong for wrong, _ in found] == [0] * len(WIDTHS)
    assert len({failed for _, failed in found}) == 1


@pytest.mark.parametrize("iteration", ["newton", "simplified"])
def test_instances_far_from_the_origin_have_the_bits_they_have_alone(iteration: str) -> None:
    prepared = prepare(distant_arm(1e7), "rattle", {"iteration": iteration}, H, coordinates="absolute")
    assert [differing(prepared, 19, width, 20) for width in WIDTHS] == [(0, 0)] * len(WIDTHS)


def test_functions_in_sections_give_every_instance_the_bits_it_has_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(straight, "LENGTH_IN_LANES", 40)
    prepared = prepare(mbfmu.load("two_link"), "rattle", {}, H)
    assert many_sources(prepared.bundle, WIDTHS[-1:])[f"lanes_{WIDTHS[-1]}.c"].count("SECTION void") > 4
    assert differing(prepared, 19, WIDTHS[-1], 7)[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize(("model", "stepper"), [("two_link", "projected"), ("slider_crank", "rattle")])
def test_a_hundred_thousand_instances_have_the_bits_they_have_alone(model: str, stepper: str) -> None:
    wrong, failed = differing(prepare(mbfmu.load(model), stepper, {}, H), 100_000, WIDTHS[-1], 3)
    assert wrong == 0
    assert failed > 0


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="needs the package ziglang")
@pytest.mark.skipif(not is_here("x86_64-linux"), reason="compiles for Linux")
def test_another_compiler_gives_the_same_lanes_and_bits() -> None:
    prepared = prepare(mbfmu.load("slider_crank"), "rattle", {}, H)
    path = built(many_sources(prepared.bundle, widths()), cross("x86_64-linux")[0], "kernel").path
    own = many_library(prepared.bundle)
    for width in widths():
        assert Many(str(path), 1, 1, width).in_lanes == Many(str(own), 1, 1, width).in_lanes
        assert differing(prepared, 19, width, 7, path=path)[0] == 0


def test_chosen_steps_have_the_bits_they_have_alone() -> None:
    prepared = prepare(mbfmu.load("two_link"), "projected", {}, H, 1e-6)
    assert differing(prepared, 11, WIDTHS[-1], 20, 1e-6)[0] == 0


def test_blocks_go_in_lanes_unless_the_model_stops_its_steps() -> None:
    for model, wanted in (("two_link", True), ("disk_with_stop", False), ("sampled_pid_two_link", False)):
        bundle = prepare(mbfmu.load(model), None, {}, H).bundle
        assert any(name.startswith("lanes_") for name in many_sources(bundle, widths())) == wanted


FUNCTION = """
void apply_{name}(const double *x, const double *y, double *f, int n) {{
    const V *const a = (const V *)x, *const b = (const V *)y;
    for (int i = 0; i < n; ++i) {{
        const V p = a[i], q = b[i];
        (void)p, (void)q;
        ((V *)f)[i] = {name}({operands});
    }}
}}
"""


def operations(folder: Path, header: str, *flags: str) -> ctypes.CDLL:
    """Return a library of all operations over arrays."""
    lines = ['#include "elementary.h"', f'#include "{header}"']
    for name, places in dict(OPERATIONS.values()).items():
        operands = ", ".join(f"({place})" if isinstance(place, float) else "pq"[place] for place in places)
        lines.append(FUNCTION.format(name=name, operands=operands))
    source, library = folder / f"{header}.c", folder / f"{header}.so"
    source.write_text("\n".join(lines), encoding="utf-8")
    always = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared", ROUNDED)
    command = ["cc", *always, f"-I{files('mbfmu.kernel') / 'c'}", *flags, source, "-o", library, "-lm"]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


@pytest.mark.parametrize("width", widths())
def test_every_operation_gives_in_lanes_the_bits_it_gives_alone(width: int, tmp_path: Path) -> None:
    numbers = np.random.default_rng(3)
    x = np.concatenate([np.repeat(SPECIAL, len(SPECIAL)), numbers.uniform(-4, 4, 512), numbers.uniform(-1e6, 1e6, 512)])
    y = np.concatenate([np.tile(SPECIAL, len(SPECIAL)), numbers.uniform(-4, 4, 512), numbers.integers(-3, 4, 512)])
    given, results = (aligned(item) for item in (x, y)), [aligned(np.zeros(len(x))) for _ in range(2)]
    x, y = given
    flags = INSTRUCTIONS.get(f"lanes_{width}.c", ())
    libraries = operations(tmp_path, "arithmetic.h"), operations(tmp_path, "lanes.h", f"-DLANES={width}", *flags)
    path = many_library(prepare(mbfmu.load("two_link"), None, {}, H).bundle)
    if not Many(str(path), 1, 1, width).in_lanes:
        pytest.skip("this processor has no such vectors")
    for name in dict(OPERATIONS.values()):
        for library, found, count in zip(libraries, results, (len(x), len(x) // width), strict=True):
            getattr(library, f"apply_{name}")(*(ctypes.c_void_p(item.ctypes.data) for item in (x, y, found)), count)
        one, lanes = results
        assert ((np.isnan(one) & np.isnan(lanes)) | (one.view(np.int64) == lanes.view(np.int64))).all(), name


@pytest.fixture
def arms() -> BatchSimulation:
    """Ten arms of different lengths and starts."""
    values = {"l1": np.linspace(0.8, 1.2, 10), "elbow.phi": np.linspace(-1, 1, 10), "world.g": 9.0}
    return mbfmu.Simulation("two_link", batch=10, stepper="rattle", values=values)


def test_a_batch_steps_as_simulations_do(arms: BatchSimulation) -> None:
    taus = np.linspace(-1, 1, 10)
    for number in range(10):
        values = {"l1": np.linspace(0.8, 1.2, 10)[number], "elbow.phi": np.linspace(-1, 1, 10)[number], "world.g": 9.0}
        run = mbfmu.Simulation("two_link", stepper="rattle", values=values)
        assert run.outputs.tobytes() == arms.outputs[number].tobytes()
    for _ in range(3):
        y = arms.step({"elbow.tau": taus, "shoulder.tau": 0.5}, 0.01)
    for number in range(10):
        values = {"l1": np.linspace(0.8, 1.2, 10)[number], "elbow.phi": np.linspace(-1, 1, 10)[number], "world.g": 9.0}
        run = mbfmu.Simulation("two_link", stepper="rattle", values=values)
        for _ in range(3):
            wanted = run.step({"elbow.tau": taus[number], "shoulder.tau": 0.5}, 0.01)
        assert y[number].tobytes() == wanted.tobytes()
        assert arms["elbow.phi"][number] == run["elbow.phi"]
        assert arms["elbow.tau"][number] == run["elbow.tau"]
    assert arms.time == run.time


def test_threads_change_no_bit() -> None:
    torques = np.random.default_rng(1).standard_normal((500, 2))
    one, four = (mbfmu.Simulation("two_link", batch=500, threads=threads) for threads in (1, 4))
    assert one.step(torques, 0.01).tobytes() == four.step(torques, 0.01).tobytes()


def test_an_instance_that_fails_is_told_and_leaves_the_others_alone(arms: BatchSimulation) -> None:
    torques = np.zeros((10, 2))
    torques[3] = 1e14
    with pytest.warns(ResultWarning, match="instance 3: two_link"):
        y = arms.step(torques, 0.01)
    assert set(arms.failures) == {3}
    assert np.isnan(y).all(axis=1).tolist() == [number == 3 for number in range(10)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = arms.step(np.zeros(2), 0.01)
    assert np.isnan(y).any(axis=1).tolist() == [number == 3 for number in range(10)]


def test_the_outputs_of_a_failed_instance_are_nan_whatever_they_depend_on() -> None:
    valves = mbfmu.Simulation("orifice", batch=2)
    good = valves.inputs
    bad = good.copy()
    bad[1] = 1e100
    with pytest.warns(ResultWarning, match="instance 1"):
        valves.step(bad, 0.01)
    for _ in range(2):
        assert np.isnan(valves.step(good, 0.01)).all(axis=1).tolist() == valves.failed.tolist() == [False, True]
        valves.restore(valves.state)
        assert np.isnan(valves.outputs).all(axis=1).tolist() == [False, True]


def test_a_message_is_made_when_it_is_shown_or_asked_for(
    arms: BatchSimulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    explained = Facts.explained

    def counted(self: Facts, *given: Any) -> str:
        made.append(given)
        return explained(self, *given)

    monkeypatch.setattr(Facts, "explained", counted)
    with pytest.warns(ResultWarning, match="and 7 more"):
        arms.step(np.full((10, 2), 1e14) * np.arange(1, 11)[:, None], 0.01)
    assert len(made) == 3
    arms.restart([9])
    told = arms.failures
    assert len(made) == 9
    assert [f"{1e14 * (number + 1):g} N.m" in text for number, text in told.items()] == [True] * 9
    assert arms.failures == told
    assert len(made) == 9


def test_a_restored_state_repeats_the_steps_bitwise(arms: BatchSimulation) -> None:
    with pytest.warns(ResultWarning):
        arms.step(np.full(2, 1e14) * (np.arange(10) == 4)[:, None], 0.01)
    state = arms.state
    wanted = arms.step({"elbow.tau": 1.0}, 0.02).tobytes()
    assert arms.step(None, 0.01).tobytes() != wanted
    arms.restore(state)
    assert set(arms.failures) == {4}
    assert arms.step({"elbow.tau": 1.0}, 0.02).tobytes() == wanted
    damaged = bytearray(state)
    damaged[20] ^= 1
    for wrong in (b"", state[:-1], bytes(damaged), "text"):
        with pytest.raises(UsageError, match="restore"):
            arms.restore(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(("model", "stepper"), [("two_link", "projected"), ("disk_with_stop", "radau")])
def test_instances_have_the_errors_that_they_have_alone(model: str, stepper: str) -> None:
    choices: dict[str, Any] = {"stepper": stepper, "error_samples": 7}
    many = mbfmu.Simulation(model, batch=9, **choices)
    single = mbfmu.Simulation(model, **choices)
    assert isinstance(many, BatchSimulation)
    assert np.isnan(many.errors).all()
    for span in (0.3, 0.001, 0.2, 0.1, 0.4):
        many.step(None, span)
        single.step(None, span)
    assert many.errors.tolist() == [single.error.value] * 9
    assert many.error == single.error
    state = many.state
    many.restart([2])
    assert np.isnan(many.errors).tolist() == [index == 2 for index in range(9)]
    many.restore(state)
    assert many.errors.tolist() == [single.error.value] * 9


def test_a_batch_estimates_no_error_unless_it_is_set() -> None:
    quiet, single = mbfmu.Simulation("two_link", batch=2), mbfmu.Simulation("two_link", error_samples=0)
    for simulation in (quiet, single):
        simulation.step(None, 0.01)
        assert math.isnan(simulation.error.value)


@given(
    st.one_of(st.just(math.nan), st.just(math.inf), st.just("a"), st.just([1.0, 2.0, 3.0]), st.just(None), st.just({}))
)
@examples()
def test_inputs_that_are_no_numbers_are_refused_and_change_nothing(value: Any) -> None:
    arms = mbfmu.Simulation("two_link", batch=2)
    before = arms.state
    with pytest.raises(UsageError):
        arms.step({"elbow.tau": value}, 0.01)
    assert arms.state == before


NO_NUMBERS: dict[str, Any] = {
    "complex": np.array([1 + 1j, 2]),
    "masked": np.ma.masked_array([1.0, 2.0], [False, True]),
    "masked within a list": [np.ma.masked_array([1.0, 2.0], [False, True]), np.ones(2)],
    "texts": ["1", "2"],
    "dates": np.array(["2020-01-01", "2020-01-02"], dtype=np.datetime64),
    "too large": [1, 10**400],
    "uneven": [[1.0], [1.0, 2.0]],
}


@pytest.mark.parametrize("kind", NO_NUMBERS)
def test_arrays_that_are_no_numbers_are_refused_wherever_they_are_given(kind: str) -> None:
    given = NO_NUMBERS[kind]
    arms = mbfmu.Simulation("two_link", batch=2)
    before = arms.state
    for wrong in (
        lambda: arms.step({"elbow.tau": given}, 0.01),
        lambda: arms.step(given, 0.01),
        lambda: arms.restart([0, 1], {"m2": given}),
        lambda: arms.restart([0, 1], inputs={"elbow.tau": given}),
        lambda: mbfmu.Simulation("two_link", batch=2, values={"m2": given}),
        lambda: mbfmu.Simulation("two_link", batch=2, inputs={"elbow.tau": given}),
    ):
        with pytest.raises(UsageError):
            wrong()
    assert arms.state == before


def test_each_instance_takes_what_the_type_of_a_parameter_allows() -> None:
    lamp = Block(
        "lamp",
        states=(State("w", "n*on", "rad/s"),),
        defined=(Defined("v", "w", "rad/s", output=True),),
        parameters=(Parameter("n", 1, type="Integer"), Parameter("on", True, type="Boolean")),
    )
    lamps = mbfmu.Simulation(lamp, batch=3, values={"n": np.array([1, 2, 3]), "on": np.array([True, False, True])})
    for name, values, allowed in (("n", [1, 1.5, 2], "a whole number"), ("on", [0, 0.5, 1], "true or false")):
        with pytest.raises(ValueRangeError, match=allowed):
            mbfmu.Simulation(lamp, batch=3, values={name: np.array(values)})
        with pytest.raises(ValueRangeError, match=allowed):
            lamps.restart([0, 1, 2], {name: values})
    lamps.restart([0, 2], {"n": [5, 6]})
    assert lamps.step(None, 0.1)[:, lamps.output_names.index("v")] == pytest.approx([0.5, 0.0, 0.6])


def test_mistakes_are_told(arms: BatchSimulation) -> None:
    with pytest.raises(UnknownNameError, match=r"no input 'elbw.tau'.*elbow.tau"):
        arms.step({"elbw.tau": 1.0}, 0.01)
    with pytest.raises(UsageError, match=r"shape \(10, 3\)"):
        arms.step(np.zeros((10, 3)), 0.01)
    with pytest.raises(UsageError, match="positive number of seconds"):
        arms.step(None, 0.0)
    for wrong, match in (
        ({"batch": 0}, "batch = 0"),
        ({"batch": 10**15}, "do not fit into memory"),
        ({"batch": 2**62}, "do not fit into memory"),
        ({"batch": 2, "values": {"l1": np.ones(3)}}, "2 finite numbers"),
        ({"batch": 2, "values": {"l1": np.array([1.0, math.nan])}}, "2 finite numbers"),
        ({"threads": 2}, "threads go with batch"),
        ({"batch": 2.5}, "batch = 2.5"),
    ):
        with pytest.raises(UsageError, match=match):
            mbfmu.Simulation("two_link", **wrong)
    with pytest.raises(UnknownNameError):
        mbfmu.Simulation("two_link", batch=2, values={"l9": np.ones(2)})
    with pytest.raises(UsageError, match="structural"):
        mbfmu.Simulation("chain", batch=2, values={"N": np.array([3.0, 3.0])})
    with pytest.raises(UsageError, match=r"'elbow\.tau' of 'two_link' is an input"):
        mbfmu.Simulation("two_link", batch=2, values={"elbow.tau": np.ones(2)})
    with pytest.raises(UsageError, match=r"'elbow\.tau' of 'two_link' is an input"):
        arms.restart([0], {"elbow.tau": 1.0})


def test_a_batch_that_the_memory_does_not_hold_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(BatchSimulation, "_begin", full)
    with pytest.raises(UsageError, match="2 instances of 'two_link' do not fit into memory"):
        mbfmu.Simulation("two_link", batch=2)


def test_a_start_value_by_an_expression_restarts_where_the_instances_were_made_with_numbers() -> None:
    carts = mbfmu.Simulation("cart_pendulum", batch=2)
    with pytest.raises(UsageError, match=r"'hinge\.phi' of 'cart_pendulum' is given by an expression"):
        carts.restart([0], {"hinge.phi": 1.5})
    carts = mbfmu.Simulation("cart_pendulum", batch=2, values={"hinge.phi": np.ones(2)})
    carts.restart([0], {"hinge.phi": 1.5})
    assert carts["hinge.phi"].tolist() == [1.5, 1.0]


def test_a_class_of_many_instances_is_derived_from_theirs() -> None:
    class Arm(mbfmu.Simulation):
        """One arm."""

    class Arms(BatchSimulation):
        """Many arms."""

    assert type(Arm("two_link")) is Arm
    assert type(Arms("two_link", batch=2)) is Arms
    with pytest.raises(UsageError, match=r"Arm: .*run\.batch\.BatchSimulation"):
        Arm("two_link", batch=2)


def test_a_compiler_that_fails_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\necho no vectors >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    with pytest.raises(UsageError, match=r"a batch needs a C compiler.*no vectors"):
        mbfmu.Simulation("two_link", batch=2)
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(UsageError, match=r"a batch needs a C compiler: .*cross"):
        mbfmu.Simulation("two_link", batch=2)


def test_a_start_that_is_impossible_for_one_instance_is_told() -> None:
    with pytest.raises(StartError, match="instance 1: slider_crank"):
        mbfmu.Simulation("slider_crank", batch=3, values={"l2": np.array([2.0, 0.01, 2.0])})
    cranks = mbfmu.Simulation("slider_crank", batch=3)
    with pytest.raises(StartError, match="instance 2: slider_crank"):
        cranks.restart([1, 2], {"l2": [2.0, 0.01]})

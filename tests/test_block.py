"""Blocks: first-order equations given as text, through the same kernel, steppers and FMUs as mechanisms."""

import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from harness import examples
from hypothesis import given
from hypothesis import strategies as st
from interpreted import Interpreted

import mbfmu
from mbfmu.analysis.compare import compare
from mbfmu.dae import derive
from mbfmu.errors import (
    MbfmuError,
    ModelError,
    NameInUseError,
    StartError,
    StepError,
    UnknownNameError,
    UsageError,
    ValueRangeError,
)
from mbfmu.fmu.interface import interface
from mbfmu.kernel import vector
from mbfmu.model import Block, Defined, Parameter, Port, State
from mbfmu.prepared.prepare import prepare
from mbfmu.show.viewer import motion_of_model


def oscillator(**changes: Any) -> Block:
    """A damped oscillator in units of very different size, driven by u."""
    parts: dict[str, Any] = {
        "name": "oscillator",
        "inputs": (Port("u", "N", start=1.0),),
        "states": (
            State("place", "speed/1000000.0", start=0.5),
            State("speed", "1000000.0*(u - d*rate - c*place)", start=0.0, nominal=1e6),
        ),
        "defined": (Defined("rate", "speed/1000000.0"), Defined("y", "place + 2*rate", output=True)),
        "parameters": (Parameter("c", 4.0), Parameter("half", 0.2), Parameter("d", "2*half")),
    }
    return Block(**{**parts, **changes})


def exact(time: float, u: float = 1.0) -> np.ndarray[Any, Any]:
    """Place and rate of the oscillator."""
    A = np.array([[0.0, 1.0], [-4.0, -0.4]])
    rest = np.array([u / 4, 0.0])
    found: np.ndarray[Any, Any] = rest + scipy.linalg.expm(A * time) @ (np.array([0.5, 0.0]) - rest)
    return found


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_a_linear_block_follows_the_matrix_exponential_with_the_order_of_its_stepper(stages: int) -> None:
    def error(step: float) -> float:
        found = mbfmu.simulate(oscillator(), 2.0, options={"stages": stages}, step=step, error_samples=0)
        return abs(found["place"][-1] - exact(2.0)[0])

    coarse, fine = error(0.02), error(0.01)
    assert math.log2(coarse / fine) == pytest.approx(2 * stages - 1, abs=0.15)


def test_steps_may_be_chosen_for_a_tolerance() -> None:
    found = mbfmu.simulate(oscillator(), 2.0, step=0.5, tolerance=1e-9)
    assert found["y"][-1] == pytest.approx(exact(2.0) @ [1, 2], abs=1e-8)


def test_inputs_keep_their_start_value_until_they_are_given() -> None:
    still = mbfmu.simulate(oscillator(), 1.0, step=0.01)
    assert np.all(still["u"] == 1.0)
    pushed = mbfmu.simulate(oscillator(), 1.0, step=0.01, inputs={"u": lambda _t: 3.0})
    assert pushed["place"][-1] == pytest.approx(exact(1.0, 3.0)[0], abs=1e-9)


def test_the_interpreted_kernel_gives_the_numbers_of_the_compiled_one() -> None:
    prepared = prepare(oscillator(), None, None, 0.01)
    interpreted = Interpreted(prepared.bundle)
    u, du, p = vector([1.0]), vector([0.5]), vector(prepared.dae.p_default())
    ends = []
    for kernel in (prepared.kernel, interpreted):
        x, _ = kernel.initialize(vector(prepared.dae.s_default()), u, p, 0.0, 0.01)
        x, status = kernel.advance(x, u, du, p, 0.0, 0.01, 50)
        assert status.code == 0
        ends.append([*x, *kernel.outputs(x, u, p, 0.5)])
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-13)


def test_comparisons_and_jumps_have_the_same_bits_compiled_and_interpreted() -> None:
    texts = ["u < v", "u <= v", "u > v", "u >= v", "floor(u)", "sign(u)"]
    texts += ["where(u < v, u*v, v/3)", "where(u, floor(v), u)"]
    jumps = Block(
        "jumps",
        inputs=(Port("u"), Port("v")),
        states=(State("x", "where(u < v, floor(u) - sign(v), v)", start=0.1),),
        defined=tuple(Defined(f"y{k}", text, output=True) for k, text in enumerate(texts)),
    )
    prepared = prepare(jumps, None, None, 0.01)
    kernels = prepared.kernel, Interpreted(prepared.bundle)
    p, values = vector([]), (-1.5, -1.0, -0.0, 0.0, 1e-300, 0.9999999999999999, 1.0, 2.5)
    for u in (vector([a, b]) for a in values for b in values):
        ends = []
        for kernel in kernels:
            x, _ = kernel.initialize(vector(prepared.dae.s_default()), u, p, 0.0, 0.01)
            x, status = kernel.advance(x, u, vector([0.0, 0.0]), p, 0.0, 0.01, 3)
            assert status.code == 0
            ends.append(bytes(vector([*x, *kernel.outputs(x, u, p, 0.03)])))
        assert ends[0] == ends[1]


@pytest.mark.parametrize(("u", "slope"), [(2.0, 4.0), (-1.0, -3.0)])
def test_the_slope_of_a_choice_is_that_of_what_is_chosen(u: float, slope: float) -> None:
    chosen = Block(
        "chosen",
        inputs=(Port("u", start=u),),
        states=(State("x", "where(u > 0, u**2, -3*u) + sign(u) + floor(u/7) - x"),),
        defined=(Defined("y", "(u < 5)*x", output=True),),
    )
    found = mbfmu.linearize(chosen)
    assert (float(found.A[0, 0]), float(found.B[0, 0]), float(found.C[0, 0])) == (-1.0, slope, 1.0)


@pytest.mark.parametrize("backend", ["python", pytest.param("native", marks=pytest.mark.further)])
def test_a_block_becomes_an_fmu_without_a_problem_that_runs_as_the_block_does(backend: str, tmp_path: Path) -> None:
    path = mbfmu.export(oscillator(), tmp_path / "oscillator.fmu", step=0.01, backend=backend)
    assert mbfmu.check(path) == []
    found, wanted = mbfmu.simulate(path, 1.0), mbfmu.simulate(oscillator(), 1.0, step=0.01)
    np.testing.assert_allclose(found["y"], wanted["y"], rtol=1e-13)


@pytest.mark.parametrize("backend", [pytest.param("python", marks=pytest.mark.further), "native"])
def test_a_block_may_have_no_state(backend: str, tmp_path: Path) -> None:
    clock = Block("clock", defined=(Defined("y", "sin(time)", output=True),))
    path = mbfmu.export(clock, tmp_path / "clock.fmu", step=0.01, backend=backend)
    assert mbfmu.check(path) == []
    found = mbfmu.simulate(path, 1.0, tolerance=1e-6)
    np.testing.assert_allclose(found["y"], np.sin(found.time), atol=1e-15)


def pole() -> Block:
    """An output that has no value at t = 0.5 s, and a state."""
    return Block(
        "pole",
        states=(State("x", "-a*x", start=1.0),),
        defined=(Defined("y", "sqrt(b - time)", output=True),),
        parameters=(Parameter("a", 1.0, "1/s"), Parameter("b", 0.45, "s")),
    )


@pytest.mark.parametrize("where", ["run", "simulation", "native"])
def test_an_output_that_is_not_finite_ends_a_run_of_a_model_as_one_of_its_fmu(where: str, tmp_path: Path) -> None:

    def run() -> None:
        if where == "run":
            mbfmu.simulate(pole(), 1.0, step=0.1, output_interval=0.1)
        elif where == "native":
            path = mbfmu.export(pole(), tmp_path / "pole.fmu", step=0.1, backend="native")
            mbfmu.simulate(path, 1.0, output_interval=0.1)
        else:
            alone = mbfmu.Simulation(pole(), step=0.1)
            for _ in range(5):
                alone.step(None, 0.1)

    with pytest.raises(MbfmuError, match=r"outputs at t = 0\.5 s are not finite" + ": y;" * (where == "run")):
        run()


def test_a_start_whose_outputs_are_not_finite_is_refused_and_a_parameter_of_0_is_named() -> None:
    line = Block(
        "line", states=(State("x", "1"),), defined=(Defined("y", "sqrt(x - a)/b", output=True),),
        parameters=(Parameter("a", 0.0), Parameter("b", 1.0)),
    )  # fmt: skip
    told = "line: outputs at t = 0.0 s are not finite: y; "
    zero = re.escape(f"{told}b = 0 makes them so, give it another value")
    with pytest.raises(StepError, match=zero):
        mbfmu.simulate(line, 0.1, values={"b": 0.0})
    with pytest.raises(StartError, match=zero):
        mbfmu.Simulation(line, values={"b": 0.0})
    with pytest.raises(StartError, match=f"instance 1: {zero}"):
        mbfmu.Simulation(line, batch=2, values={"b": np.array([1.0, 0.0])})
    with pytest.raises(StartError, match=re.escape(f"{told}check parameters, start values and inputs")):
        mbfmu.Simulation(line, values={"a": 1.0})
    lines = mbfmu.Simulation(line, batch=2)
    with pytest.raises(StartError, match=f"instance 1: {zero}"):
        lines.restart([1], {"b": 0.0})


def test_nominal_values_are_those_the_block_states() -> None:
    prepared = prepare(oscillator(), None, None, 0.01)
    nominal = {item.name: item.nominal for item in interface(prepared).variables}
    assert nominal["speed"] == 1e6
    assert nominal["place"] == 1.0


def test_values_of_parameters_and_states_can_be_replaced() -> None:
    changed = derive(oscillator().with_values({"c": 9.0, "place": 2.0}))
    assert list(changed.p_default()) == [9.0, 0.2]
    assert list(changed.s_default()) == [2.0, 0.0]
    with pytest.raises(UnknownNameError, match="'oscillator' has no parameter or start value 'd_'"):
        oscillator().with_values({"d_": 1.0})


@pytest.mark.parametrize(
    ("changes", "kind", "text"),
    [
        ({"inputs": (Port("c"),)}, NameInUseError, "two things named 'c'"),
        ({"inputs": (Port("sin"),)}, NameInUseError, "'sin' cannot name a quantity"),
        ({"inputs": ()}, UnknownNameError, "there is no 'u'"),
        ({"inputs": (), "states": (), "defined": ()}, ModelError, "has neither a state nor a defined quantity"),
        (
            {"defined": (Defined("rate", "y"), Defined("y", "rate", output=True))},
            ModelError,
            "in a cycle: rate -> y -> rate",
        ),
        ({"parameters": (Parameter("c", "half"), Parameter("half", "c"), Parameter("d", 1.0))}, ModelError, "cycle"),
        ({"parameters": (Parameter("c", "place"), Parameter("d", 1.0))}, UnknownNameError, "there is no 'place'"),
    ],
)
def test_a_block_that_cannot_be_is_refused_by_name(changes: dict[str, Any], kind: type[MbfmuError], text: str) -> None:
    with pytest.raises(kind, match=text):
        oscillator(**changes)


@given(value=st.one_of(st.just(math.nan), st.just(math.inf), st.floats(max_value=0.0)))
@examples(0.2)
def test_a_nominal_value_is_positive_and_finite(value: float) -> None:
    for make in (
        lambda: Port("u", nominal=value),
        lambda: State("x", "1", nominal=value),
        lambda: Defined("y", "1", nominal=value),
    ):
        with pytest.raises(ValueRangeError, match="must be a positive number"):
            make()


def test_what_is_for_mechanisms_is_refused_for_a_block() -> None:
    with pytest.raises(UsageError, match="coordinates of its own"):
        prepare(oscillator(), None, None, 0.01, coordinates="joint")
    with pytest.raises(UsageError, match="is a block of equations, and this takes a mechanism"):
        motion_of_model(oscillator(), 1.0)
    with pytest.raises(UsageError, match="'oscillator' is a block, and this compares the coordinates of mechanisms"):
        compare(oscillator(), 1.0)


def test_the_state_space_form_of_a_linear_block_is_its_matrices() -> None:
    found = mbfmu.linearize(oscillator())
    scale = np.diag([1.0, 1e6])
    np.testing.assert_allclose(found.A, scale @ [[0.0, 1.0], [-4.0, -0.4]] @ np.linalg.inv(scale), rtol=1e-14)
    np.testing.assert_allclose(found.B, [[0.0], [1e6]])
    np.testing.assert_allclose(found.C, [[1.0, 2e-6]])
    np.testing.assert_allclose(found.D, [[0.0]])
    assert found.outputs == ("y",)


def test_the_command_line_shows_the_quantities_of_a_block_and_draws_them(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mbfmu", "simulate", "pid", "--stop", "1", "--input", "reference=1"]
    shown = subprocess.run([*command, "--plot", "pid.png"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "integral" in shown.stdout
    assert "proportional" in shown.stdout
    assert (tmp_path / "pid.png").read_bytes().startswith(b"\x89PNG")


def test_a_block_without_outputs_runs_and_is_a_valid_fmu(tmp_path: Path) -> None:
    """Its state can be watched: here the integral of its input."""
    block = Block("meter", inputs=(Port("u"),), states=(State("sum", "u", "1", 0.0),))
    found = mbfmu.simulate(block, 1.0, inputs={"u": "2*time"})
    assert found["sum"][-1] == pytest.approx(1.0, rel=1e-9)
    path = mbfmu.export(block, tmp_path / "meter.fmu", backend="native", platforms=["linux64"])
    assert mbfmu.simulate(path, 1.0, inputs={"u": 2.0})["sum"][-1] == pytest.approx(2.0, rel=1e-9)

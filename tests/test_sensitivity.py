"""Sensitivity: the adjoint, the tangents and differences of runs give the same derivatives."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from harness import thorough

import mbfmu
from mbfmu import Sensitivity
from mbfmu.analysis.sensitivity.recorded import group_size
from mbfmu.errors import StartError, StepError, UnknownNameError, UsageError
from mbfmu.kernel.codegen import c_sources
from mbfmu.model import Block, Defined, Parameter, Port, State
from mbfmu.prepared.prepare import prepare

Array = npt.NDArray[np.float64]

MACHINES: Mapping[str, tuple[str, tuple[str, ...], dict[str, Any]]] = {
    "open": ("two_link", ("l1", "m2", "elbow.phi", "shoulder.w"), {"inputs": {"elbow.tau": 1.5}}),
    "absolute": ("two_link", ("l1", "m2", "elbow.phi", "shoulder.w"), {"coordinates": "absolute"}),
    "loop": ("slider_crank", ("crank.phi", "crank.w", "l2", "m3", "world.g"), {}),
    "loop in absolute coordinates": ("slider_crank", ("crank.phi", "l2", "m3"), {"coordinates": "absolute"}),
    "arm": ("arm6", ("joint1.phi", "joint2.w", "world.g"), {}),
}
STEPPERS = ("direct", "projected", "rattle", "radau", "generalized_alpha")
STOP, POINTS = 0.05, 10


def run_of(machine: str, stepper: str, **more: Any) -> Sensitivity:
    """Return a run of a machine with a stepper."""
    model, free, choices = MACHINES[machine]
    return Sensitivity(model, STOP, free, stepper=stepper, **{"output_interval": STOP / POINTS, **choices, **more})


def weights_of(outputs: Array) -> Array:
    """Return random weights in which all outputs count alike."""
    return np.random.default_rng(0).normal(size=outputs.shape) / (1e-3 + np.abs(outputs).max(axis=0))


def differences(run: Sensitivity, weights: Array) -> Array:
    """Return the derivatives of the weighted sum of all outputs by central differences, of order 4."""
    found = []
    for k, value in enumerate(run.values):
        change = 1e-4 * max(abs(value), 0.1)

        def at(steps: int, k: int = k, value: float = value, change: float = change) -> float:
            values = run.values
            values[k] = value + steps * change
            return float((run.outputs(values) * weights).sum())

        found.append((8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * change))
    return np.array(found)


def near(found: Array, wanted: Array, error: float) -> bool:
    """Return whether vectors differ by at most an error relative to the largest entry."""
    return bool(np.abs(found - wanted).max() <= error * np.abs(wanted).max())


@pytest.mark.parametrize(
    ("machine", "stepper"),
    thorough(
        [(machine, stepper) for machine in MACHINES for stepper in STEPPERS],
        lambda machine, stepper: machine == "loop" or (machine, stepper) == ("absolute", "direct"),
    ),
)
def test_the_adjoint_gives_what_tangents_and_differences_give(machine: str, stepper: str) -> None:
    run = run_of(machine, stepper)
    outputs, slopes = run.jacobian()
    weights = weights_of(outputs)
    found = run.gradient(weights)
    assert np.array_equal(found.outputs, outputs)
    assert near(found.values, np.einsum("ij,ijk->k", weights, slopes), 1e-11)
    assert near(found.values, differences(run, weights), 1e-6)


@pytest.mark.parametrize("options", [{"method": "abm4"}, {"method": "ab7"}], ids=str)
def test_a_history_and_its_beginning_are_differentiated_too(options: dict[str, str]) -> None:
    run = Sensitivity("two_link", STOP, ["l1", "elbow.phi"], stepper="direct", options=options, output_interval=0.01)
    outputs, slopes = run.jacobian()
    weights = weights_of(outputs)
    assert near(run.gradient(weights).values, np.einsum("ij,ijk->k", weights, slopes), 1e-11)
    assert near(run.gradient(weights).values, differences(run, weights), 1e-6)


@pytest.mark.parametrize(("model", "free", "stop"), [("bouncing_ball", ("g", "y"), 0.6), ("incline", ("g", "mu"), 0.3)])
def test_contacts_that_the_stepper_decides_are_differentiated(model: str, free: tuple[str, ...], stop: float) -> None:
    run = Sensitivity(model, stop, free, stepper="moreau", output_interval=0.1)
    outputs, slopes = run.jacobian()
    weights = weights_of(outputs)
    found = run.gradient(weights).values
    assert near(found, np.einsum("ij,ijk->k", weights, slopes), 1e-11)
    assert near(found, differences(run, weights), 1e-6)


def test_a_run_with_samplings_is_what_simulate_gives() -> None:
    names, values = ["a", "b"], {"Ts": 0.0117}
    run = Sensitivity("sampled_pid_two_link", 0.02, ["m"], outputs=names, values=values, output_interval=0.0029)
    result = mbfmu.simulate("sampled_pid_two_link", 0.02, values=values, output_interval=0.0029)
    assert np.array_equal(run.outputs(), np.array([result[name] for name in names]).T)


def test_a_run_is_what_simulate_gives() -> None:
    names = ["crank.phi", "slider.s"]
    run = Sensitivity("slider_crank", 0.1, ["l2"], outputs=names, stepper="rattle", output_interval=0.02)
    result = mbfmu.simulate("slider_crank", 0.1, stepper="rattle", output_interval=0.02, values={"l2": 2.5})
    values = {"l2": 2.5}
    wanted = np.array([result[name] for name in names]).T
    assert np.array_equal(run.time, result.time)
    assert np.array_equal(run.outputs(values), wanted)
    assert np.array_equal(run.gradient(np.ones(wanted.shape), values).outputs, wanted)


def test_times_are_a_list_or_an_array() -> None:
    whole = Sensitivity("two_link", None, ["l1"], times=[0, 0.01, 0.025])
    assert np.array_equal(whole.time, np.array([0.0, 0.01, 0.025]))
    assert np.array_equal(whole.time, Sensitivity("two_link", None, ["l1"], times=whole.time).time)
    with pytest.raises(UsageError, match="times"):
        Sensitivity("two_link", None, ["l1"], times=[0.0, None])


@pytest.mark.parametrize("interval", [STOP / POINTS, STOP / 3, STOP])
def test_checkpoints_change_no_bit(interval: float) -> None:
    whole, parts = (run_of("loop", "rattle", memory=memory, output_interval=interval) for memory in (1e9, 1.0))
    weights = weights_of(whole.outputs())
    for found, wanted in zip(
        vars(parts.gradient(weights)).values(), vars(whole.gradient(weights)).values(), strict=True
    ):
        assert np.array_equal(found, wanted)


def test_checkpoints_take_a_record_of_the_root_of_the_steps() -> None:
    assert group_size(10_000, 20, 1.6e6) == 10_000
    assert group_size(10_000, 20, 1.6e6 - 1) == 100


def test_weights_may_depend_on_the_outputs() -> None:
    run = run_of("loop", "rattle")
    found = run.gradient(lambda outputs: 2 * outputs)
    assert np.array_equal(found.values, run.gradient(2 * run.outputs()).values)


def test_the_gradient_of_held_inputs_is_that_of_their_steps() -> None:
    held = 0.05

    def last(torques: Array) -> float:
        simulation = mbfmu.Simulation("two_link", stepper="rattle", step=held / 8)
        for torque in torques:
            simulation.step({"shoulder.tau": float(torque)}, held)
        return simulation["elbow.phi"]

    still = Sensitivity(
        "two_link", 4 * held, ["l1"], outputs=["elbow.phi"], stepper="rattle", output_interval=held, step=held / 8
    )
    weights = np.zeros((5, 1))
    weights[-1] = 1.0
    found = still.gradient(weights).inputs[:, still.input_names.index("shoulder.tau")]
    eye = 1e-3 * np.eye(4)
    wanted = np.array([(last(item) - last(-item)) / 2e-3 for item in eye])
    assert near(found, wanted, 1e-6)


@pytest.mark.parametrize("hold", [False, True], ids=["lines", "held"])
@pytest.mark.parametrize(
    ("stepper", "options"),
    thorough(
        [("rattle", {}), ("direct", {}), ("direct", {"method": "abm4"}), ("radau", {}), ("generalized_alpha", {})],
        lambda stepper, _: stepper == "rattle",
    ),
)
def test_the_gradient_of_knots_is_that_of_differences(stepper: str, options: dict[str, str], hold: bool) -> None:
    run = Sensitivity(
        "two_link", 0.3, ["l1"], outputs=["shoulder.phi", "elbow.w"], stepper=stepper, options=options,
        output_interval=0.1, step=0.01, knots={"elbow.tau": 4, "shoulder.tau": [0.0, 0.13, 0.3]}, knots_hold=hold,
        inputs={"elbow.tau": "3*cos(8*time)"},
    )  # fmt: skip
    weights = weights_of(run.outputs())
    assert run.free[1:3] == ("elbow.tau@0", f"elbow.tau@{0.075 if hold else 0.1:g}")
    assert run.values[1] == 3.0
    found = run.gradient(weights).values
    assert near(found, differences(run, weights), 1e-6)
    assert near(found, np.einsum("ij,ijk->k", weights, run.jacobian()[1]), 1e-11)


def test_a_linear_decay_has_its_closed_derivatives() -> None:
    block = Block(
        name="decay",
        description="",
        inputs=(Port("u", "1/s", ""),),
        states=(State("x", "u - k*x", "1", 3.0, ""),),
        defined=(Defined("y", "x", "1", "", True),),
        parameters=(Parameter("k", 2.0, "1/s", ""),),
    )
    run = Sensitivity(block, 1.0, ["k", "x"], outputs=["y"], stepper="radau", step=0.02, output_interval=0.5)
    found = run.gradient([[0.0], [0.0], [1.0]])
    assert found.values == pytest.approx([-3 * np.exp(-2), np.exp(-2)], rel=1e-9)
    assert found.inputs.sum() == pytest.approx((1 - np.exp(-2)) / 2, rel=1e-9)


# -- what it refuses --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "free", "more", "message"),
    [
        ("two_link", ["l9"], {}, "no parameter"),
        ("two_link", ["link2.m"], {}, "is an expression"),
        ("two_link", ["l1", "l1"], {}, "each once"),
        ("two_link", [], {}, "name parameters or start values"),
    ],
)
def test_what_has_no_gradient_is_refused(model: str, free: list[str], more: dict[str, Any], message: str) -> None:
    with pytest.raises((UsageError, UnknownNameError), match=message):
        Sensitivity(model, 0.01, free, **more).gradient(lambda outputs: outputs)


@pytest.mark.parametrize(
    ("model", "free", "stop"), [("bouncing_ball", ["g", "e"], 1.0), ("sampled_pid_two_link", ["m"], 0.03)]
)
def test_where_a_run_has_no_adjoint_its_gradient_is_that_of_tangents(model: str, free: list[str], stop: float) -> None:
    run = Sensitivity(model, stop, free, output_interval=stop / 3)
    outputs, slopes = run.jacobian()
    weights = weights_of(outputs)
    found = run.gradient(weights)
    assert np.array_equal(found.outputs, outputs)
    assert np.array_equal(found.values, np.einsum("ij,ijk->k", weights, slopes))
    assert np.all(np.isnan(found.inputs))


def test_steps_that_would_be_halved_are_refused() -> None:
    run = Sensitivity("slider_crank", 1.0, ["l2"], stepper="radau", step=0.5, values={"crank.w": 6.0})
    assert np.all(np.isfinite(run.outputs()))
    with pytest.raises(StepError, match=r"the step of 0.5 s from t = 0 s does not converge.*: take a smaller step"):
        run.gradient(lambda outputs: outputs)


def test_weights_of_another_shape_and_values_beyond_bounds_are_refused() -> None:
    run = run_of("open", "direct")
    with pytest.raises(UsageError, match=r"weights of outputs must be finite numbers of the shape \(11, "):
        run.gradient(np.ones(3))
    with pytest.raises(UsageError, match="weights"):
        run.gradient(np.full(run.outputs().shape, np.nan))
    with pytest.raises(UsageError, match="m2 = -1 must be between"):
        run.outputs({"m2": -1.0})
    with pytest.raises(UsageError, match="m2 = nan must be between"):
        run.outputs({"m2": np.nan})
    with pytest.raises(UnknownNameError, match="'l2' is none of the free values"):
        run.outputs({"l2": 1.0})
    with pytest.raises(UsageError, match="there must be 4 numbers"):
        run.outputs([1.0])


def test_a_kernel_without_derivatives_has_none_of_their_code() -> None:
    prepared = prepare(mbfmu.load("two_link"), "rattle", None, 1e-3)
    sources = c_sources(prepared.bundle)
    assert set(sources) == {"elementary.h", "circular.h", "arithmetic.h", "matrix.h", "step.c", "rest.c"}
    assert "ADJOINT" not in sources["step.c"]


@pytest.mark.parametrize("free", ["a", "der(phi)"])
def test_values_that_start_values_contradict_after_a_change_have_no_derivative(free: str) -> None:
    choices: dict[str, Any] = {"step": 0.005, "output_interval": 0.05}
    run = Sensitivity("rolling_disk", 0.1, [free], **choices)
    weights = np.ones_like(run.outputs())
    with pytest.raises(StartError, match="contradict the constraints"):
        run.outputs(run.values + 1e-6)
    for found in (run.jacobian, lambda: run.gradient(weights)):
        with pytest.raises(UsageError, match=r"no derivative with respect to .* der\(x\), der\(y\) contradict"):
            found()
    rolling = Sensitivity(mbfmu.load("rolling_disk", free=["der(x)", "der(y)"]), 0.1, [free], **choices)
    assert near(rolling.gradient(weights).values, differences(rolling, weights), 1e-8)

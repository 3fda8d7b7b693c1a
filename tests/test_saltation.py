"""Saltation: tangents of runs across impacts, sticking and samplings are those of differences and of closed forms."""

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from harness import thorough

import mbfmu
from mbfmu import Sensitivity
from mbfmu.errors import StepError
from mbfmu.model import Contact, Coordinate, LagrangianSystem, Parameter

Array = npt.NDArray[np.float64]

MACHINES: Mapping[str, tuple[str, float, tuple[str, ...], tuple[str, ...], dict[str, Any]]] = {
    "stop": ("disk_with_stop", 1.5, ("l", "g", "e", "phi"), ("phi", "omega", "events.time"), {}),
    "stick and slip": ("stick_slip", 20.0, ("m", "k", "F_s", "delta"), ("x", "v", "events.time"), {"step": 0.01}),
    "friction of joints": (
        "slider_crank_friction", 0.5, ("r", "m_rod"), ("theta", "omega", "slider_?", "friction.f", "events.time"),
        {"inputs": {"torque": "2*sin(9*time)"}},
    ),
    "impacts with friction": (
        "woodpecker", 0.15, ("m_M", "J_S", "mu[2]"), ("y", "v", "phi_?", "omega_?", "events.time"), {"step": 5e-4},
    ),
    "a row that others imply": ("bouncing_rod", 0.9, ("L", "g"), ("y", "v", "theta", "omega", "events.time"), {}),
    "contacts that share a load": (
        "gripper", 0.1, ("m", "w"), ("free.s_?", "free.v_?", "right_tip.f_n", "events.time"), {"output_interval": 0.1},
    ),
    "sampling": ("sampled_pid_two_link", 0.05, ("m", "l", "Ts"), ("a", "wa", "b", "u?"), {"values": {"Ts": 0.0117}}),
}  # fmt: skip
ROUGH = [("impacts with friction", "rattle")]
"""Runs that are no smooth functions of their values: a contact hovers at zero, where round-off closes it."""
STEPPERS = ("direct", "projected", "rattle", "radau", "generalized_alpha", "local")


def differences(run: Sensitivity) -> Array:
    """Return the derivatives of all outputs by central differences, of order 4."""
    found = []
    for k, value in enumerate(run.values):
        change = 1e-6 * abs(value)

        def at(steps: int, k: int = k, value: float = value, change: float = change) -> Array:
            values = run.values
            values[k] = value + steps * change
            return run.outputs(values)

        found.append((8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * change))
    return np.stack(found, axis=-1)


def error(run: Sensitivity, found: Array, wanted: Array) -> float:
    """Return the largest difference, where derivatives in units of the values count relative to those of an output.

    What changes by less than the size of an output, or than its unit, is round-off of the differences.
    """
    size = np.abs(run.values)
    scale = np.abs(wanted * size).max(axis=(0, 2)) + 1e-3 * (1 + np.abs(run.outputs()).max(axis=0))
    return float((np.abs(found - wanted) * size / scale[:, None]).max())


@pytest.mark.parametrize(
    ("machine", "stepper"),
    thorough(
        [(machine, stepper) for machine in MACHINES for stepper in STEPPERS if (machine, stepper) not in ROUGH],
        lambda machine, stepper: stepper == "projected" or (machine, stepper) == ("stop", "rattle"),
    ),
)
def test_tangents_across_events_are_those_of_differences(machine: str, stepper: str) -> None:
    model, stop, free, names, choices = MACHINES[machine]
    run = Sensitivity(model, stop, free, outputs=names, stepper=stepper, **{"output_interval": stop / 7, **choices})
    outputs, slopes = run.jacobian()
    assert np.array_equal(outputs, run.outputs())
    if "events.time" in run.output_names:
        assert outputs[-1, run.output_names.index("events.time")] > 0
    assert error(run, slopes, differences(run)) < 1e-6


@pytest.mark.parametrize("stepper", ["projected", "rattle", "direct"])
def test_a_bouncing_ball_has_the_derivatives_of_its_closed_form(stepper: str) -> None:
    values = {"e": 0.8, "g": 9.81, "y": 1.0}
    run = Sensitivity(
        "bouncing_ball", None, list(values), outputs=["y", "v"], stepper=stepper, times=np.array([0.0, 1.5, 2.4])
    )
    _, slopes = run.jacobian(values)
    e, g, h, t = (ca.SX.sym(name) for name in "eght")
    for time, bounces, found in ((1.5, 2, slopes[1]), (2.4, 4, slopes[2])):
        first = ca.sqrt(2 * h / g)
        flown = t - first * (1 + 2 * sum((e**k for k in range(1, bounces)), ca.SX(0)))
        speed = e**bounces * g * first
        place = ca.vertcat(speed * flown - g * flown**2 / 2, speed - g * flown)
        closed = ca.Function("slopes", [e, g, h, t], [ca.jacobian(place, ca.vertcat(e, g, h))])
        assert found == pytest.approx(np.array(closed(*values.values(), time)), rel=1e-10)


def test_a_ball_that_has_come_to_rest_keeps_no_change() -> None:
    names, times = ["y", "v", "events.time"], np.array([0.0, 4.2, 6.0])
    run = Sensitivity("bouncing_ball", None, ["e", "g", "y"], outputs=names, times=times)
    outputs, slopes = run.jacobian()
    assert outputs[-1] == pytest.approx([0, 0, np.sqrt(2 / 9.81) * 1.8 / 0.2], abs=1e-6)
    end = np.sqrt(2 / 9.81)  # of the time at rest, t1 (1 + e)/(1 - e)
    assert slopes[-1, 2] == pytest.approx([end * 2 / 0.2**2, -end * 4.5 / 9.81, end * 4.5], rel=1e-4)
    assert np.abs(slopes[-1, :2]).max() < 1e-6


def test_a_value_that_starts_at_zero_has_its_tangent() -> None:
    run = Sensitivity("bouncing_ball", 0.3, ["v"], outputs=["y"], output_interval=0.1)
    assert run.jacobian()[1].ravel() == pytest.approx(run.time, abs=1e-12)


@pytest.mark.parametrize("machine", ["stop", "stick and slip"])
def test_tangents_of_chosen_steps_agree_to_their_tolerance(machine: str) -> None:
    model, stop, free, names, choices = MACHINES[machine]
    exact, chosen = (
        Sensitivity(
            model, stop, free, outputs=names, stepper=stepper, output_interval=stop / 7, **choices, **more
        ).jacobian()[1]
        for stepper, more in (("radau", {}), ("direct", {"tolerance": 1e-9}))
    )
    assert np.abs(chosen - exact).max() < 1e-5 * np.abs(exact).max()


@pytest.mark.parametrize("hold", [False, True], ids=["lines", "held"])
@pytest.mark.parametrize("machine", ["friction of joints", "sampling"])
def test_knots_of_inputs_have_tangents_across_events(machine: str, hold: bool) -> None:
    model, stop, knots, names, begun = {
        "friction of joints": ("slider_crank_friction", 0.5, {"torque": 5}, ["theta", "omega", "events.time"], 2.0),
        "sampling": ("digital_pid", 0.2, {"measured": [0.0, 0.07, 0.2]}, ["y"], 0.3),
    }[machine]
    run = Sensitivity(
        model, stop, [], outputs=names, output_interval=stop / 3, knots=knots, knots_hold=hold, step=2e-3,
        inputs={next(iter(knots)): begun},
    )  # fmt: skip
    outputs, slopes = run.jacobian()
    assert np.abs(slopes).max() > 0
    if "events.time" in names:
        assert outputs[-1, names.index("events.time")] > 0
    assert error(run, slopes, differences(run)) < 1e-6


def ramp(gap: str, start: float = 0.0) -> LagrangianSystem:
    """Return a mass that moves with 1 m/s towards a gap."""
    return LagrangianSystem(
        name="ramp",
        description="",
        coordinates=(Coordinate("x", "m", start, 1.0, ""),),
        kinetic="m*der(x)**2/2",
        potential="0*x",
        parameters=(Parameter("m", 1.0, "kg", ""), Parameter("a", 1.0, "m", ""), Parameter("b", 1.0, "m", "")),
        contacts=(Contact("wall", gap=gap, restitution="0.5"), Contact("floor", gap="b - x", restitution="0.5")),
    )


def test_a_gap_that_only_grazes_is_told() -> None:
    model = ramp("(x - a)**2 - 1e-19*a").with_values({"b": 9.0})
    run = Sensitivity(model, 1.5, ["x", "a"], stepper="direct", step=0.125, output_interval=0.25)
    with pytest.raises(StepError, match=r"after t = 1 s: there the gap of 'wall' only grazes zero"):
        run.jacobian()


def test_gaps_that_one_value_parts_are_told() -> None:
    run = Sensitivity(ramp("a - x"), 1.5, ["a"], stepper="direct", step=0.01, output_interval=0.25)
    with pytest.raises(StepError, match=r"after t = 1 s: there the gap of 'floor' changes at once with another"):
        run.jacobian()
    together = Sensitivity(ramp("a - x"), 1.5, ["x"], stepper="direct", step=0.01, output_interval=0.25)
    assert together.jacobian()[1][-1, 0, 0] == pytest.approx(-0.5, abs=1e-12)


def test_endless_events_are_told() -> None:
    run = Sensitivity("bouncing_ball", 6.0, ["e"], values={"e": 1.0, "y": 1e-7}, output_interval=3.0)
    with pytest.raises(StepError, match="events"):
        run.jacobian()


def test_a_restitution_is_recovered_from_bounces(tmp_path: Any) -> None:
    true = {"e": 0.7, "g": 9.7, "y": 1.1}
    path = mbfmu.simulate("bouncing_ball", 2.2, output_interval=0.05, values=true).write(tmp_path / "bounces.csv")
    found = mbfmu.fit("bouncing_ball", path, list(true), outputs=["y"])
    assert found.values == pytest.approx(true, rel=1e-8)


def test_a_sampling_that_a_value_moves_off_a_time_of_the_outputs_is_told() -> None:
    """Its period moves it, the mass does not; between the times of the outputs its period may."""
    values = {"Ts": 0.01}
    for free, times in (("m", [0.0, 0.02, 0.03]), ("Ts", [0.0, 0.025])):
        run = Sensitivity("sampled_pid_two_link", None, [free], times=times, values=values)
        assert np.isfinite(run.jacobian()[1]).all()
    run = Sensitivity("sampled_pid_two_link", None, ["Ts"], times=[0.0, 0.02, 0.03], values=values)
    with pytest.raises(StepError, match=r"after t = 0.02 s: there a sampling whose time depends on Ts"):
        run.jacobian()

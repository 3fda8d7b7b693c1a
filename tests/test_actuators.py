"""The actuators and controllers of the library: each fact that its file states."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import trapezoid

import mbfmu
from mbfmu.kernel import vector
from mbfmu.prepared.prepare import prepare


def test_a_constant_error_makes_the_pid_grow_by_its_integral_part_and_its_limit_ends_that() -> None:
    controller = mbfmu.load("pid").with_values({"K": 2.0, "T_i": 0.5, "y_max": 6.0, "T_t": 0.05})
    found = mbfmu.simulate(controller, 4.0, step=0.01, output_interval=0.01, inputs={"reference": lambda _t: 1.0})
    rate = np.gradient(found["y"], found.time)
    growing = (found.time > 0.1) & (found["y"] < 5.9)
    np.testing.assert_allclose(rate[growing], 4.0, rtol=1e-6)
    assert found["y"].max() == 6.0
    assert found["raw"].max() < 6.0 + 4.0 * 0.05 * 1.01  # K e/T_i against the back-calculation


def test_the_pid_comes_back_from_its_limit_within_the_tracking_time() -> None:
    controller = mbfmu.load("pid").with_values({"T_i": 0.5, "y_max": 2.0, "y_min": -2.0, "T_t": 0.05})
    signal = {"reference": lambda t: 1.0 if t < 5.0 else -1.0}
    found = mbfmu.simulate(controller, 6.0, step=0.01, output_interval=0.01, inputs=signal)
    left = found.time[(found.time > 5.0) & (found["y"] < 1.0)][0]
    assert left - 5.0 < 0.5  # without anti-windup the integral of 5 s would have to run down


def test_the_derivative_of_the_pid_is_that_of_the_filtered_measurement() -> None:
    prepared = prepare(mbfmu.load("pid").with_values({"T_d": 0.2, "N": 20.0}), None, None, 0.01)
    p, rising = vector(prepared.dae.p_default()), vector([0.0, 3.0, 0.0])
    x, status = prepared.kernel.advance(prepared.initial_state(), vector([0.0] * 3), rising, p, 0.0, 0.01, 100)
    assert status.code == 0
    y = prepared.kernel.outputs(x, vector([0.0, 3.0, 0.0]), p, 1.0)
    found = dict(zip((item.name for item in prepared.dae.outputs), y, strict=False))
    assert found["derivative"] == pytest.approx(-0.2 * 3.0, rel=1e-9)


def test_a_stalled_motor_gives_the_torque_of_its_current() -> None:
    found = mbfmu.simulate(mbfmu.load("dc_motor"), 1.0, step=2.5e-4, inputs={"i_ref": lambda _t: 5.0})
    assert found["i"][-1] == pytest.approx(5.0, abs=1e-6)
    assert found["tau"][-1] == pytest.approx(156.0 * 0.0302 * 5.0, rel=1e-6)


def test_a_motor_whose_joint_runs_free_reaches_the_speed_of_its_voltage() -> None:
    """Turned with the speed at which the counter-voltage is the limit, it gives no current worth speaking of."""
    speed = 24.0 / 0.0302 / 156.0
    found = mbfmu.simulate(
        mbfmu.load("dc_motor"), 1.0, step=2.5e-4,
        inputs={"i_ref": lambda _t: 5.0, "w": lambda t: speed * min(1.0, 5 * t)},
    )  # fmt: skip
    assert found["u"].max() == 24.0
    assert abs(found["i"][-1]) < 0.2


def test_a_motor_obeys_the_balance_of_its_power() -> None:
    """Electric energy = heat + energy stored in coil, rotor and gear + work on the joint + losses of the gear."""
    motor = mbfmu.load("dc_motor")
    inputs = {"i_ref": lambda _t: 4.0, "w": lambda _t: 0.5}
    found = mbfmu.simulate(motor, 0.05, step=1e-5, output_interval=1e-5, inputs=inputs)
    slip = found["w_m"] / 156.0 - found["w"]
    power = (
        found["P"] - 0.317 * found["i"] ** 2 - 0.0302 * 0.137 * np.tanh(found["w_m"]) * found["w_m"]
        - 20.0 * slip**2 - found["tau"] * found["w"]
    )  # fmt: skip
    stored = (8.23e-5 * found["i"] ** 2 + 1.38e-5 * found["w_m"] ** 2 + 2e4 * found["twist"] ** 2) / 2
    gained = trapezoid(power, found.time)
    assert gained == pytest.approx(stored[-1] - stored[0], abs=2e-4 * stored.max())


def test_a_trajectory_rests_at_both_ends_and_is_fastest_half_way() -> None:
    path = mbfmu.load("trajectory").with_values({"y_0": 1.0, "y_1": 5.0, "t_0": 0.5, "T": 2.0})
    found = mbfmu.simulate(path, 3.0, step=1e-3, output_interval=1e-3)
    assert (found["y"][0], found["y"][-1]) == (1.0, pytest.approx(5.0, abs=1e-14))
    assert found["rate"].max() == pytest.approx(15 / 8 * 4.0 / 2.0, rel=1e-12)
    assert found.time[np.argmax(found["rate"])] == pytest.approx(1.5)
    np.testing.assert_allclose(np.gradient(found["y"], found.time)[1:-1], found["rate"][1:-1], atol=1e-5)
    np.testing.assert_allclose(np.gradient(found["rate"], found.time)[2:-2], found["acceleration"][2:-2], atol=2e-2)


def test_oil_that_nothing_moves_stays_as_it_is() -> None:
    axis = mbfmu.load("hydraulic_servo").with_values({"C_i": 0.0})
    found = mbfmu.simulate(axis, 1.0, step=1e-3)
    assert np.ptp(found["p_a"]) < 1e-6
    assert np.ptp(found["p_b"]) < 1e-6


def test_the_rod_moves_at_the_speed_that_lets_all_oil_through() -> None:
    """Moved at q_n sqrt((p_s - p_a)/dp_n) y/A_a, the chambers keep their pressures."""
    axis = mbfmu.load("hydraulic_servo")
    area_a, area_b = math.pi / 4 * 0.063**2, math.pi / 4 * (0.063**2 - 0.036**2)
    speed = 0.02
    found = mbfmu.simulate(
        axis.with_values({"s_0": 0.1, "C_i": 0.0}), 8.0, step=1e-3, output_interval=0.01,
        inputs={"command": lambda _t: 0.1, "v": lambda _t: speed, "s": lambda t: speed * t},
    )  # fmt: skip
    p_a = 2.1e7 - 1.05e7 * (area_a * speed / (0.1 * 9e-4)) ** 2
    p_b = 1.05e7 * (area_b * speed / (0.1 * 9e-4)) ** 2
    assert found["p_a"][-1] == pytest.approx(p_a, rel=1e-4)
    assert found["p_b"][-1] == pytest.approx(p_b, rel=1e-4)
    friction = found["f_r"][-1]
    assert found["f"][-1] == pytest.approx(area_a * p_a - area_b * p_b - friction, rel=1e-4)


def test_the_axis_bears_a_rod_that_is_thrown_about() -> None:
    """Chambers are sucked empty and compressed: pressures stay above about a vacuum, and finite."""
    found = mbfmu.simulate(
        mbfmu.load("hydraulic_servo"), 2.0, step=5e-4, output_interval=1e-3,
        inputs={
            "command": lambda t: math.copysign(1.0, math.sin(40 * t)),
            "s": lambda t: 0.2 * math.sin(15 * t),
            "v": lambda t: 3.0 * math.cos(15 * t),
        },
    )  # fmt: skip
    assert np.all(np.isfinite(found.values))
    assert min(found["p_a"].min(), found["p_b"].min()) > -2e6


REFERENCE = json.loads(
    (Path(__file__).parent / "references" / "hydraulic_manipulator.json").read_text(encoding="utf-8")
)


def test_the_hydraulics_of_the_manipulator_stand_still_where_its_source_says() -> None:
    found = mbfmu.simulate(mbfmu.load("manipulator_hydraulics"), 1.0, step=1e-3)
    assert found["p1"][-1] == pytest.approx(REFERENCE["p0"][0], abs=1e-3)
    assert found["p2"][-1] == pytest.approx(REFERENCE["p0"][1], abs=1e-3)
    assert found["f"][-1] == pytest.approx(REFERENCE["f0"], abs=1e-5)


def test_the_manipulator_stands_still_under_the_force_its_source_says() -> None:
    found = mbfmu.simulate(
        mbfmu.load("hydraulic_manipulator"), 1.0, step=1e-3, inputs={"cylinder.f": lambda _t: REFERENCE["f0"]}
    )
    assert np.ptp(found["length.distance"]) < 1e-9
    assert found["length.distance"][0] == pytest.approx(0.5, abs=1e-12)


def test_the_oil_follows_the_reference_when_the_rod_does() -> None:
    """Driven along the reference's motion, sampled every 0.1 s, the force stays near it where little happens."""
    rows = np.array(REFERENCE["M1"])
    time, s, v, f = rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 5]
    assert np.ptp(f[time <= 2.0]) < 1e-6
    arm = mbfmu.simulate(
        mbfmu.load("hydraulic_manipulator"),
        2.0,
        step=1e-3,
        inputs={"cylinder.f": lambda t: float(np.interp(t, time, f))},
    )
    assert arm["length.distance"][-1] == pytest.approx(s[20], abs=1e-9)
    assert arm["length.distance_rate"][-1] == pytest.approx(v[20], abs=1e-9)

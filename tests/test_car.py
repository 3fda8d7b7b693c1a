"""The car on its road: loads, symmetry, braking, and its yaw rate against the bicycle model."""

import math
from functools import cache
from pathlib import Path

import fmpy
import numpy as np
import pytest

import mbfmu
from mbfmu.base.result import Result
from mbfmu.model import System, Tyre

CORNERS = ("fl", "fr", "rl", "rr")
MASS = 1330.0 + 4 * 18.0 + 2 * (15.0 + 5.0 + 3.0) + 5.0 + 2 * 20.0


@cache
def ran(stop: float, *, step: float = 2e-3, stepper: str | None = None,
        v: float = 80 / 3.6, **inputs: str) -> Result:  # fmt: skip
    return mbfmu.simulate(
        "car", stop, step=step, stepper=stepper, values={"v": v}, inputs=inputs,
        output_interval=0.01,
    )  # fmt: skip


@pytest.mark.further
def test_straight_on_the_tyres_carry_the_weight_and_the_sides_are_mirrored() -> None:
    run = ran(4.0)
    loads = {corner: run[f"{corner}_tyre.F_z"][-1] for corner in CORNERS}
    assert sum(loads.values()) == pytest.approx(MASS * 9.81, rel=1e-5)
    for axle in "fr":
        for name, sign in {"F_x": 1, "F_y": -1, "F_z": 1, "M_z": -1, "kappa": 1, "alpha": -1, "gamma": -1}.items():
            left, right = (run[f"{axle}{side}_tyre.{name}"] for side in "lr")
            np.testing.assert_allclose(left, sign * right, atol=1e-6 * max(1.0, np.abs(left).max()))
    assert abs(run["free.r_rel[2]"]).max() < 1e-9
    assert abs(run["free.r_rel[3]"]).max() < 1e-3


@pytest.mark.further
@pytest.mark.parametrize("v", [10.0, 22.0])
def test_in_a_wide_bend_the_yaw_rate_is_that_of_the_bicycle_model(v: float) -> None:
    """r = v delta / (L + K v^2) with the forces a trail behind the axles (Pacejka, 2006, sections 1.3 and 1.3.2)."""
    run = ran(8.0, v=v, steer="0.1*min(1, time)")
    steer = float(np.mean([2 * run[f"{corner}_ball.Q_rel[4]"][-1] for corner in ("fl", "fr")]))
    speed = math.hypot(run["free.v_rel[1]"][-1], run["free.v_rel[2]"][-1])
    front, rear = (np.mean([run[f"{axle}{side}_tyre.F_z"][-1] for side in "lr"]) for axle in "fr")
    car = mbfmu.load("car")
    assert isinstance(car, System)
    c = next(item for item in car.components if isinstance(item, Tyre)).coefficients
    C_f, C_r = (
        2 * abs(float(c["PKY1"])) * 3800 * math.sin(2 * math.atan(load / (float(c["PKY2"]) * 3800)))
        for load in (front, rear)
    )
    t_f, t_r = (load / 3800 * 0.376 * float(c["QDZ1"]) for load in (front, rear))
    a = 2.6 * rear / (front + rear) - t_f
    b = 2.6 * front / (front + rear) + t_r
    understeer = MASS * (b * C_r - a * C_f) / ((a + b) * C_f * C_r)
    assert run["body.w_a[3]"][-1] == pytest.approx(speed * steer / (a + b + understeer * speed**2), rel=0.02)
    assert 0 < understeer < 0.005


@pytest.mark.further
def test_the_car_brakes_to_standstill_and_stays_there() -> None:
    run = ran(9.0, step=1e-3, brake="4000*(time > 0.5)")
    v, x = run["free.v_rel[1]"], run["free.r_rel[1]"]
    assert abs(v[-1]) < 1e-3
    assert np.ptp(x[run["time"] > 7.0]) < 2e-3
    assert (80 / 3.6) ** 2 / (2 * 9.81 * 1.15) < x[-1] - 0.5 * 80 / 3.6 < 45.0
    assert all(run[f"{corner}_tyre.valid"].min() == 1 for corner in CORNERS)
    assert abs(run["free.r_rel[2]"]).max() < 1e-6


@pytest.mark.further
@pytest.mark.long
def test_an_implicit_stepper_drives_the_same_bend() -> None:
    given = {"steer": "0.8*sin(3*time)", "drive": "500"}
    explicit, implicit = ran(0.5, step=1e-3, **given), ran(0.5, step=2e-3, stepper="radau", **given)
    for name in ("free.r_rel[1]", "free.r_rel[2]", "body.w_a[3]", "fl_tyre.F_y"):
        scale = np.abs(explicit[name]).max()
        np.testing.assert_allclose(implicit[name], explicit[name], atol=1e-4 * scale)
    assert np.ptp(explicit["body.w_a[3]"]) > 0.1


@pytest.mark.further
def test_a_slippery_road_is_left_behind_by_one_parameter() -> None:
    """Full brakes on a fifth of the friction: the deceleration is at most a fifth of that of a dry road."""
    run = mbfmu.simulate("car", 2.0, step=1e-3, values={"mu": 0.2}, inputs={"brake": "4000"}, output_interval=0.01)
    assert -0.2 * 1.15 * 9.81 < (run["free.v_rel[1]"][-1] - 80 / 3.6) / 2.0 < -0.1 * 9.81


@pytest.mark.further
def test_the_exported_car_drives_in_fmpy_as_here(tmp_path: Path) -> None:
    path = mbfmu.export("car", tmp_path / "car.fmu", step=2e-3)
    names = ["free.r_rel[1]", "rr_tyre.F_y", "rr_tyre.touches"]
    found = fmpy.simulate_fmu(str(path), stop_time=1.0, output_interval=0.01, start_values={"steer": 0.2}, output=names)
    run = ran(1.0, steer="0.2")
    for name in names:
        np.testing.assert_allclose(found[name], run[name], rtol=1e-9, atol=1e-9)
    described = {item.name for item in fmpy.read_model_description(str(path)).modelVariables}
    assert {"steer", "drive", "brake", "mu", "fl_tyre.F_z"} <= described

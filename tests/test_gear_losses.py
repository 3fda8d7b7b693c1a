"""Gears with losses and one-way clutches: what they transmit, hold and let go, against closed forms."""

import math
from pathlib import Path

import numpy as np
import pytest

import mbfmu
from mbfmu.base.result import Result
from mbfmu.errors import StepperError
from mbfmu.model import (
    AxesDryFriction,
    AxesLaw,
    Backlash,
    BearingFriction,
    Body,
    Component,
    Connection,
    Gear,
    LossyGear,
    OneWayClutch,
    Revolute,
    System,
    World,
    connect,
)

J_A, J_B, RATIO = 0.5, 3.0, 2.0
both = pytest.mark.parametrize("coordinates", ["joint", "absolute"])


def shafts(*more: Component, J: tuple[float, ...] = (J_A, J_B), w: tuple[float | None, ...] = (0.0, None)) -> System:
    """Return shafts a, b and so on of the world, with inertias J and start rates w, and what acts on them."""
    parts: list[Component] = [World("world", g=0.0)]
    joined: list[Connection] = []
    for name, inertia, rate in zip("abc", J, w, strict=False):
        parts += [Revolute(name, phi=0.0, w=rate), Body(f"{name}_body", m=1.0, I_33=inertia)]
        joined += [connect("world.frame_b", f"{name}.frame_a"), connect(f"{name}.frame_b", f"{name}_body.frame_a")]
    return System("Shafts", (*parts, *more), tuple(joined), planar=True)


def torque(joint: str, formula: str) -> AxesLaw:
    """Return a torque on a shaft."""
    return AxesLaw(f"torque_{joint}", joints=(joint,), ratios=(1.0,), formula=formula)


def moved(system: System, stop: float, coordinates: str, step: float = 1e-3) -> Result:
    return mbfmu.simulate(system, stop, step=step, coordinates=coordinates, error_samples=0, output_interval=step)


def slips(found: Result, name: str) -> float:
    """Return the time at which a shaft that is at rest begins to turn."""
    return float(found.time[np.argmax(np.abs(found[name]) > 1e-9)])


def drive_train(**losses: float) -> LossyGear:
    return LossyGear("gear", joint_a="a", joint_b="b", ratio=RATIO, **losses)


@both
@pytest.mark.parametrize(("way", "ratio"), [(1, RATIO), (-1, RATIO), (1, -RATIO)])
def test_the_side_that_drives_loses_a_part_of_what_it_exceeds_its_bearings_by(
    coordinates: str, way: int, ratio: float
) -> None:
    """J_a a = T_a - f and J_b a / ratio^2 = T_b / ratio + f - F, F = t + (1 - eta_a)(f - t_a) while a drives."""
    eta_a, eta_b, t_a, t_b = 0.8, 0.6, 0.3, 0.4
    gear = LossyGear("gear", joint_a="a", joint_b="b", ratio=ratio, eta_a=eta_a, eta_b=eta_b, t_a=t_a, t_b=t_b)
    # a drives: b receives eta_a (f - t_a) - t_b / |ratio|
    T_a = 5.0
    J = J_B / RATIO**2
    # f = T_a - J_a a, J a = eta_a (T_a - J_a a - t_a) - t_b / |ratio|
    a = (eta_a * (T_a - t_a) - t_b / RATIO) / (J + eta_a * J_A)
    found = moved(shafts(gear, torque("a", str(way * T_a))), 0.5, coordinates)
    assert found["a.w"][-1] == pytest.approx(way * a * 0.5, rel=1e-9)
    assert found["b.w"][-1] == pytest.approx(way * a * 0.5 / ratio, rel=1e-9)
    # b drives: J_a a = eta_b (T_b / |ratio| - J a - t_b / |ratio|) - t_a
    T_b = 9.0
    a = (eta_b * (T_b - t_b) / RATIO - t_a) / (J_A + eta_b * J)
    found = moved(shafts(gear, torque("b", str(way * T_b))), 0.5, coordinates)
    assert found["a.w"][-1] == pytest.approx(math.copysign(1, ratio) * way * a * 0.5, rel=1e-9)


@both
def test_losses_that_grow_with_the_speed_bring_a_gear_to_its_steady_one(coordinates: str) -> None:
    """With t_a = k v the speed is w = T/k (1 - exp(-k t / J)), J the inertia of both."""
    k, T = 2.0, 3.0
    gear = LossyGear("gear", joint_a="a", joint_b="b", ratio=RATIO, t_a=f"{k}*v")
    found = moved(shafts(gear, torque("a", str(T))), 1.0, coordinates)
    J = J_A + J_B / RATIO**2
    np.testing.assert_allclose(found["a.w"], T / k * (1 - np.exp(-k * found.time / J)), atol=1e-9)


@both
def test_a_gear_holds_its_load_between_the_torques_that_lift_and_lower_it(coordinates: str) -> None:
    """The motor lifts with T_b / (ratio eta_a), and lowers with less than eta_b T_b / ratio."""
    eta_a, eta_b, T_b = 0.5, 0.4, 8.0
    gear = drive_train(eta_a=eta_a, eta_b=eta_b)
    for sign, limit in ((1, T_b / RATIO / eta_a), (-1, eta_b * T_b / RATIO)):
        system = shafts(gear, torque("b", str(-T_b)), torque("a", f"4 + {sign * 10}*time"))
        assert slips(moved(system, 1.0, coordinates), "a.w") == pytest.approx(sign * (limit - 4) / 10, abs=2e-3)


@both
def test_a_gear_whose_load_cannot_drive_it_holds_any_load(coordinates: str) -> None:
    """An efficiency of 0 counts as 1e-6: the motor's inertia gets that part of the torque at most."""
    found = moved(shafts(drive_train(eta_a=0.5, eta_b=0.0), torque("b", "-100")), 1.0, coordinates)
    assert np.max(np.abs(found["a.w"])) < 1e-6 * 100 / RATIO / J_A * 1.001


@both
def test_gears_and_bearings_on_one_shaft_let_go_together(coordinates: str) -> None:
    """eta_a (T_a - F_a) = (T_b + F_b) / ratio: the motor's bearing takes its part before the teeth lose theirs."""
    eta_a, F_a, F_b, T_b = 0.7, 0.5, 1.0, 6.0
    frictions = (
        AxesDryFriction("bearing_a", joints=("a",), ratios=(1.0,), sliding=F_a),
        AxesDryFriction("bearing_b", joints=("b",), ratios=(1.0,), sliding=F_b),
    )
    at = F_a + (T_b + F_b) / (RATIO * eta_a)
    for parts in (
        (drive_train(eta_a=eta_a, eta_b=0.9), *frictions),
        (*frictions, drive_train(eta_a=eta_a, eta_b=0.9)),
    ):
        found = moved(shafts(*parts, torque("b", str(-T_b)), torque("a", "2 + 10*time")), 1.0, coordinates)
        assert slips(found, "a.w") == pytest.approx((at - 2) / 10, abs=2e-3)


@both
@pytest.mark.parametrize("ratio", [2.0, -2.0, 0.4])
def test_frictions_on_both_shafts_of_a_gear_hold_by_the_work_that_each_would_take(
    coordinates: str, ratio: float
) -> None:
    """The motor turns at F_a + F_b / |ratio|."""
    F_a, F_b = 1.0, 4.0
    system = shafts(
        Gear("gear", joint_a="a", joint_b="b", ratio=ratio),
        AxesDryFriction("bearing_a", joints=("a",), ratios=(1.0,), sliding=F_a),
        AxesDryFriction("bearing_b", joints=("b",), ratios=(1.0,), sliding=F_b),
        torque("a", "20*time"),
    )
    found = moved(system, 1.0, coordinates)
    assert slips(found, "a.w") == pytest.approx((F_a + F_b / abs(ratio)) / 20, abs=2e-3)


@both
def test_gears_in_a_row_multiply_their_efficiencies(coordinates: str) -> None:
    """The motor turns when T eta_1 eta_2 = load / (ratio_1 ratio_2), and then J_1 a = T - f_1, and so on."""
    eta_1, eta_2, ratio_1, ratio_2, load, J = 0.8, 0.7, 2.0, 3.0, 6.0, (0.5, 1.0, 4.0)
    train = (
        LossyGear("first", joint_a="a", joint_b="b", ratio=ratio_1, eta_a=eta_1, eta_b=0.5),
        LossyGear("second", joint_a="b", joint_b="c", ratio=ratio_2, eta_a=eta_2, eta_b=0.5),
        torque("c", str(-load)),
    )
    found = moved(shafts(*train, torque("a", "1 + 5*time"), J=J, w=(0.0, None, None)), 1.0, coordinates)
    assert slips(found, "a.w") == pytest.approx((load / (ratio_1 * ratio_2 * eta_1 * eta_2) - 1) / 5, abs=2e-3)
    T = 4.0
    found = moved(shafts(*train, torque("a", str(T)), J=J, w=(0.0, None, None)), 0.5, coordinates)
    # eta_2 (eta_1 (T - J_1 a) - J_2 a / ratio_1^2) = (load + J_3 a / (ratio_1 ratio_2)) / (ratio_1 ratio_2)
    i = ratio_1 * ratio_2
    a = (eta_1 * eta_2 * T - load / i) / (eta_1 * eta_2 * J[0] + eta_2 * J[1] / ratio_1**2 + J[2] / i**2)
    assert found["a.w"][-1] == pytest.approx(a * 0.5, rel=1e-9)


@both
def test_a_blow_on_the_slow_shaft_takes_from_the_fast_one_what_the_teeth_let_through(coordinates: str) -> None:
    """The impulse of a is J_a dw_a, of which eta_a reaches b: (eta_a J_a ratio^2 + J_b) w_b stays, with c too."""
    eta_a, J_c, w = 0.6, 2.0, 1.0
    system = shafts(
        drive_train(eta_a=eta_a, eta_b=0.9),
        Backlash("teeth", joint_a="b", joint_b="c", ratio=1.0, play=0.2, e=0.0),
        J=(J_A, J_B, J_c),
        w=(RATIO * w, None, 0.0),
    )
    found = moved(system, 0.3, coordinates)
    own = eta_a * J_A * RATIO**2 + J_B
    assert found["b.w"][-1] == pytest.approx(w * own / (own + J_c), rel=1e-9)
    assert found["c.w"][-1] == pytest.approx(found["b.w"][-1], rel=1e-9)


@both
def test_a_freewheel_lets_a_shaft_turn_one_way_and_holds_it_the_other(coordinates: str) -> None:
    """Against 0.5 and its friction of 0.5 it runs out at J; then it holds -0.5, holds 0.4, and gives way to 1."""
    clutch = OneWayClutch("clutch", joints=("a",), ratios=(1.0,), sliding=0.5)
    pulls = "where(time < 2, -0.5, where(time < 3, 0.4, 1.0))"
    found = moved(shafts(clutch, torque("a", pulls), J=(1.0,), w=(1.0,)), 4.0, coordinates)
    t = found.time
    w = np.where(t < 1, 1 - t, np.where(t < 3, 0, 0.5 * (t - 3)))
    np.testing.assert_allclose(found["a.w"], w, atol=1e-9)


@both
def test_a_freewheel_between_shafts_pushes_one_that_overruns_the_other(coordinates: str) -> None:
    """Under A sin t the first takes the second along to 2 A/J at pi, and leaves it behind as it slows down."""
    A, J = 3.0, (1.0, 2.0)
    clutch = OneWayClutch("clutch", joints=("b", "a"), ratios=(1.0, -1.0))
    found = moved(shafts(clutch, torque("a", f"{A}*sin(time)"), J=J, w=(0.0, 0.0)), 6.0, coordinates)
    t, together = found.time, A / sum(J)
    b = np.where(t < math.pi / 2, together * (1 - np.cos(t)), together)
    # from the largest speed at pi on, the torque slows a down alone
    b = np.where(t < math.pi, together * (1 - np.cos(t)), 2 * together)
    a = np.where(t < math.pi, b, 2 * together - A / J[0] * (1 + np.cos(t)))
    np.testing.assert_allclose(found["b.w"], b, atol=2e-6)
    np.testing.assert_allclose(found["a.w"], a, atol=2e-6)


@both
def test_a_locked_freewheel_stands_a_blow(coordinates: str) -> None:
    """What hits it backwards rebounds as from a wall; forwards it gives way, as a free shaft."""
    for way, left, given in ((-1, 1.0, 0.0), (1, -(3 - 1) / (3 + 1), 2 / (1 + 3))):
        system = shafts(
            OneWayClutch("clutch", joints=("b",), ratios=(1.0,)),
            Backlash("teeth", joint_a="a", joint_b="b", ratio=1.0, play=0.2, e=1.0),
            J=(1.0, 3.0),
            w=(float(way), 0.0),
        )
        found = moved(system, 0.15, coordinates)
        assert found["a.w"][-1] == pytest.approx(left, abs=1e-12)
        assert found["b.w"][-1] == pytest.approx(given, abs=1e-12)


def test_steppers_without_events_refuse_gears_with_losses() -> None:
    with pytest.raises(StepperError, match="losses of a gear"):
        mbfmu.simulate(shafts(drive_train(eta_a=0.5)), 0.1, step=1e-3, stepper="moreau")


def test_an_arm_with_a_gear_and_a_bearing_under_load_falls_alike_in_both_coordinates() -> None:
    """In space, beside friction in proportion to the bearing's reaction: it turns back once, and stays."""
    system = System(
        "Arm",
        (
            World("world", n=(0.0, 0.0, -1.0)),
            Revolute("motor", n=(0.0, 1.0, 0.0), phi=0.0, w=0.0),
            Body("rotor", m=1.0, I_11=0.01, I_22=0.01, I_33=0.01),
            Revolute("arm", n=(0.0, 1.0, 0.0)),
            Body("link", m=2.0, r_CM=(0.5, 0.0, 0.0), I_11=0.01, I_22=0.1, I_33=0.1),
            LossyGear("gear", joint_a="motor", joint_b="arm", ratio=3.0, eta_a=0.8, eta_b=0.7, t_a=0.6),
            BearingFriction("bearing", joint="arm", radius=0.02, mu=0.3, mu_s=0.4),
        ),
        (
            connect("world.frame_b", "motor.frame_a"),
            connect("motor.frame_b", "rotor.frame_a"),
            connect("world.frame_b", "arm.frame_a"),
            connect("arm.frame_b", "link.frame_a"),
        ),
    )
    one, two = (moved(system, 4.0, coordinates, 2e-3) for coordinates in ("joint", "absolute"))
    assert one["events.count"][-1] == 2  # it turns back, and then stays
    assert [one[f"{name}.sticks"][-1] for name in ("gear", "bearing")] == [1, 1]
    for name in ("arm.phi", "arm.w", "motor.w"):
        np.testing.assert_allclose(two[name], one[name], atol=1e-6)


def test_an_fmu_of_a_gear_with_losses_and_a_freewheel_runs_as_the_model(tmp_path: Path) -> None:
    """Sticking, sliding both ways and a locked freewheel: alike to round-off, with as many events."""
    system = shafts(
        drive_train(eta_a=0.7, eta_b=0.5, t_a=0.1),
        OneWayClutch("clutch", joints=("c",), ratios=(1.0,)),
        AxesDryFriction("bearing", joints=("a",), ratios=(1.0,), sliding=0.2),
        torque("a", "4*sin(9*time)"),
        torque("c", "sin(9*time)"),
        J=(J_A, J_B, 1.0),
        w=(0.0, None, 0.0),
    )
    model = moved(system, 1.0, "joint", 1e-2)
    fmu = mbfmu.export(system, tmp_path / "shafts.fmu", step=1e-2, backend="native", platforms=["linux64"])
    found = mbfmu.simulate(fmu, 1.0, output_interval=1e-2)
    assert found["events.count"][-1] == model["events.count"][-1] > 4
    for name in ("a.w", "b.w", "c.w", "a.phi"):
        np.testing.assert_allclose(found[name], model[name], atol=1e-10)

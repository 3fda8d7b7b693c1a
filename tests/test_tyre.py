"""The tyre: the Magic Formula against another implementation and closed forms, and how it rolls, brakes and lifts."""

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from two_frames import Pair, values_of

import mbfmu
from mbfmu.base.result import Result
from mbfmu.errors import MbfmuError, ModelError, ModelFileError, UnknownNameError, ValueRangeError
from mbfmu.model import (
    Body,
    Component,
    FixedRotation,
    FixedTranslation,
    Prismatic,
    Revolute,
    System,
    Tyre,
    Value,
    World,
    connect,
    read_tir,
)
from mbfmu.model.forces.magic_formula import effective_radius, magic_formula, rolling_resistance, stiffness
from mbfmu.model.forces.tyre_data import complete

Array = npt.NDArray[np.float64]
HERE = Path(__file__).parent
FILE = HERE.parent / "models" / "tyre_185_80R14.tir"
CAR: dict[str, float] = read_tir(FILE)
RECORDED = json.loads((HERE / "references" / "tyre.json").read_text(encoding="utf-8"))
SETS: dict[str, dict[str, float]] = {"car": CAR, "truck": RECORDED["truck"]}
NONE = "PHX1 PHX2 PVX1 PVX2 PHY1 PHY2 PVY1 PVY2 RHX1 RHY1 RHY2 QHZ1 QHZ2 QDZ6 QDZ7 RVY1 RVY2 SSZ1 PEY3 PEX4 QEZ4"
SYMMETRIC = {**CAR, **dict.fromkeys(NONE.split(), 0.0)}
"""The tyre without conicity and plysteer: at no slip and no camber it has no force in the road."""
LOSSLESS = {**SYMMETRIC, "QSY1": 0.0}
LOAD, RADIUS, C = CAR["FNOMIN"], CAR["UNLOADED_RADIUS"], CAR["VERTICAL_STIFFNESS"]
ROLLING = RADIUS - LOAD / C * (CAR["DREFF"] * math.atan(CAR["BREFF"]) + CAR["FREFF"])
"""Effective rolling radius at the nominal load, m, by hand."""


def coefficients(given: dict[str, float]) -> SimpleNamespace:
    return SimpleNamespace(**complete("set", given))


@cache
def formula(name: str) -> ca.Function:
    """F_z, kappa, alpha, gamma -> F_x, F_y, M_x, M_y, M_z."""
    c = coefficients(SETS[name])
    x = ca.SX.sym("x", 4)
    found = magic_formula(c, x[1], x[2], x[3], x[0])
    M_y = -rolling_resistance(c, found.F_x, x[0], c.LONGVL)
    return ca.Function("formula", [x], [ca.vertcat(found.F_x, found.F_y, found.M_x, M_y, found.M_z)])


# -- the Magic Formula ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SETS)
def test_forces_and_moments_are_those_of_another_implementation(name: str) -> None:
    """At loads of 0.5 to 1.6 times the nominal, locked to spinning, up to 0.5 rad of slip, 0.08 rad of camber."""
    rows = np.array(RECORDED["values"][name])
    found = np.array([np.array(formula(name)(row[:4])).ravel() for row in rows])
    scale = np.abs(rows[:, 4:]).max(axis=0) + 1.0
    np.testing.assert_allclose(found / scale, rows[:, 4:] / scale, rtol=0, atol=2e-7)  # see the source's denominators
    assert len(rows) == 144
    assert (scale[[0, 1, 4]] > 100).all()


def test_slopes_at_no_slip_are_the_slip_stiffnesses_and_peaks_are_the_friction() -> None:
    c = coefficients(SYMMETRIC)
    kappa, alpha, load = ca.SX.sym("kappa"), ca.SX.sym("alpha"), ca.SX.sym("load")
    found = magic_formula(c, kappa, alpha, 0, load)
    slopes = ca.vertcat(ca.jacobian(found.F_x, kappa), ca.jacobian(found.F_y, alpha), ca.jacobian(found.M_z, alpha))
    f = ca.Function("f", [kappa, alpha, load], [slopes, ca.vertcat(found.F_x, found.F_y)])
    for F_z in (0.0, 1500.0, LOAD, 6000.0):
        K_x, K_y, K_z = np.array(f(0, 0, F_z)[0]).ravel()
        dfz = F_z / LOAD - 1
        assert K_x == pytest.approx(F_z * (19.733 + 0.093405 * dfz) * math.exp(0.12433 * dfz), rel=1e-12)
        by_hand = -12.536 * LOAD * math.sin(2 * math.atan(F_z / (1.3856 * LOAD)))
        assert K_y == pytest.approx(by_hand, rel=1e-12, abs=1e-9)
        trail = F_z / LOAD * RADIUS * (0.14332 - 0.0062385 * dfz)
        assert K_z == pytest.approx(-trail * by_hand, rel=1e-6, abs=1e-6)
        both = [[float(item) for item in np.array(f(slip, 0, F_z)[1]).ravel()] for slip in np.linspace(0, 1, 400)]
        side = [float(f(0, -slip, F_z)[1][1]) for slip in np.linspace(0, 1, 400)]
        assert max(item[0] for item in both) == pytest.approx(F_z * (1.09 - 0.079328 * dfz), rel=1e-4)
        assert max(side) == pytest.approx(F_z * (0.94002 - 0.17669 * dfz), rel=1e-4)


def test_relaxation_lengths_and_rolling_radius_by_hand() -> None:
    s = stiffness(coefficients(CAR), ca.SX(5000.0), ca.SX(0.1))
    dfz = 5000 / LOAD - 1
    assert float(s.sigma_x) == pytest.approx(
        5000 * (1.9021 - 0.0014739 * dfz) * math.exp(-0.03631 * dfz) * RADIUS / LOAD, rel=1e-12
    )
    by_hand = 1.8473 * math.sin(2 * math.atan(5000 / (1.9465 * LOAD))) * (1 + 0.93342 * 0.1) * RADIUS
    assert float(s.sigma_y) == pytest.approx(by_hand, rel=1e-12)
    assert float(effective_radius(coefficients(CAR), ca.SX(LOAD / C))) == pytest.approx(ROLLING, rel=1e-12)


# -- a wheel on the road --------------------------------------------------------------------------------------------


def rig(
    data: dict[str, Value] | dict[str, float] | str,
    *,
    v: float = 10.0,
    w: float | None = None,
    z: float | None = None,
    mass: float = LOAD / 9.81,
    yaw: float = 0.0,
    mu: Value = 1.0,
    aside: bool = False,
    hub: dict[str, Any] | None = None,
    more: tuple[Component, ...] = (),
) -> System:
    """A wheel that is held upright at an angle `yaw` against its way, at its nominal load unless told otherwise."""
    at = RADIUS - mass * 9.81 / C if z is None else z
    moving: list[Component] = [Prismatic("x", n=(1, 0, 0), s=0.0, v=v), Prismatic("z", n=(0, 0, 1), s=at, v=0.0)]
    if aside:
        moving.insert(1, Prismatic("y", n=(0, 1, 0), s=0.0, v=0.0))
    way = [item.name for item in moving]
    spin = v * math.cos(yaw) / ROLLING if w is None else w
    return System(
        "rig",
        components=(
            World(g=9.81, n=(0, 0, -1)),
            *moving,
            Body("load", m=mass - 20.0, I_11=1.0, I_22=1.0, I_33=1.0),
            FixedRotation("turned", n=(0, 0, 1), angle=yaw),
            Revolute("hub", n=(0, 1, 0), phi=0.0, w=spin, **(hub or {})),
            Body("wheel", m=20.0, I_11=0.5, I_22=1.0, I_33=0.5),
            Tyre("tyre", data=dict(data) if isinstance(data, dict) else data, mu=mu),
            *more,
        ),
        connections=(
            connect("world.frame_b", f"{way[0]}.frame_a"),
            *(connect(f"{one}.frame_b", f"{two}.frame_a") for one, two in itertools.pairwise(way)),
            connect(f"{way[-1]}.frame_b", "load.frame_a"),
            connect("load.frame_a", "turned.frame_a"),
            connect("turned.frame_b", "hub.frame_a"),
            connect("hub.frame_b", "wheel.frame_a"),
            connect("world.frame_b", "tyre.frame_a"),
            connect("wheel.frame_a", "tyre.frame_b"),
        ),
    )


def ran(system: System, end: float, step: float = 1e-3, **more: Any) -> Result:
    return mbfmu.simulate(system, end, step=step, **more)


@pytest.mark.parametrize("v", [10.0, -10.0])
def test_a_free_wheel_without_losses_keeps_rolling(v: float) -> None:
    run = ran(rig(LOSSLESS, v=v, aside=True), 3.0)
    assert run["x.v"][-1] == pytest.approx(v, abs=1e-9)
    assert run["hub.w"][-1] == pytest.approx(v / ROLLING, rel=1e-9)
    assert abs(run["y.s"][-1]) < 1e-9
    assert run["tyre.F_z"][-1] == pytest.approx(LOAD, rel=1e-9)


@pytest.mark.parametrize("v", [10.0, -10.0])
def test_rolling_resistance_slows_a_free_wheel_either_way(v: float) -> None:
    run = ran(rig(SYMMETRIC, v=v), 3.0)
    lost = 0.01 * RADIUS / (RADIUS - LOAD / C) * LOAD  # M_y over the loaded radius
    inertia = LOAD / 9.81 + 1.0 / (ROLLING * (RADIUS - LOAD / C))
    assert run["x.v"][-1] == pytest.approx(v - math.copysign(3.0 * lost / inertia, v), abs=2e-3)


@pytest.mark.parametrize("speed", [3.0, 30.0, -30.0])
def test_a_step_of_the_slip_angle_is_followed_over_the_relaxation_length(speed: float) -> None:
    yaw = 0.02
    run = ran(rig(LOSSLESS, v=speed, yaw=yaw), 3.0 / abs(speed), 1e-3 / abs(speed))
    sigma = 1.8473 * math.sin(2 * math.atan(1 / 1.9465)) * RADIUS
    way = np.abs(run["x.s"])
    slope = np.tan(run["tyre.alpha"])
    steady = -math.tan(yaw) if speed > 0 else math.tan(yaw)
    np.testing.assert_allclose(slope, steady * (1 - np.exp(-way / sigma)), atol=2e-4 * yaw)
    assert abs(slope[-1]) > 0.9 * yaw


def test_a_locked_wheel_slides_to_rest_and_stays_there() -> None:
    """Its way is between those of full sliding and of the peak friction; then it swings on its tread and rests."""
    system = rig(LOSSLESS, w=0.0, hub={}, aside=True)
    held = replace(
        system,
        components=tuple(item for item in system.components if item.name != "hub"),
        connections=tuple(
            connect("turned.frame_b", "wheel.frame_a") if "hub.frame_b" in (item.a, item.b) else item
            for item in system.connections
            if "hub.frame_a" not in (item.a, item.b)
        ),
    )
    run = ran(held, 6.0)
    c = coefficients(LOSSLESS)
    sliding = -float(magic_formula(c, ca.SX(-1.0), ca.SX(0), ca.SX(0), ca.SX(LOAD)).F_x) / LOAD
    assert run["tyre.kappa"].min() > -1.2
    at_rest = run["x.s"][run["time"] > 3.0]
    assert np.ptp(at_rest) < 1e-3
    assert abs(run["x.v"][-1]) < 1e-5
    assert 10.0**2 / (2 * 1.09 * 9.81) < at_rest[-1] < 10.0**2 / (2 * sliding * 9.81)
    assert np.isfinite(run["tyre.F_x"]).all()
    assert abs(run["y.s"]).max() < 1e-9


def test_a_wheel_in_the_air_is_free_and_is_told_so() -> None:
    run = ran(rig(LOSSLESS, z=RADIUS + 0.1), 0.6, 2e-4)
    free = run["tyre.rho"] < 0
    assert free[0]
    assert not free.all()
    assert (run["tyre.touches"][free] == 0).all()
    assert all(abs(run[f"tyre.{name}"][free]).max() == 0 for name in ("F_x", "F_y", "F_z", "M_z"))
    assert (run["tyre.touches"][run["tyre.rho"] > 1e-3] == 1).any()
    falling = run["time"] < 0.14
    np.testing.assert_allclose(run["z.v"][falling], -9.81 * run["time"][falling], atol=1e-9)
    assert run["tyre.F_z"].max() > 2 * LOAD
    assert run["tyre.F_z"].min() == 0


def test_the_load_has_no_jump_at_touch_down_and_never_pulls() -> None:
    run = ran(rig({**LOSSLESS, "VERTICAL_DAMPING": 5000.0}, z=RADIUS + 0.1), 0.6, 1e-4)
    assert run["tyre.F_z"].min() == 0
    first = int(np.argmax(run["tyre.F_z"] > 0))
    assert run["tyre.F_z"][first] < 0.3 * run["tyre.F_z"].max()


def test_friction_of_the_road_scales_the_peak_and_not_the_stiffness() -> None:
    c = coefficients(SYMMETRIC)
    low = SimpleNamespace(**{**vars(c), "LMUX": 0.3, "LMUY": 0.3})
    small, large = ca.SX(1e-5), ca.SX(0.2)
    pair = [[float(magic_formula(item, at, 0, 0, ca.SX(LOAD)).F_x) for at in (small, large)] for item in (c, low)]
    assert pair[1][0] == pytest.approx(pair[0][0], rel=1e-6)
    assert pair[1][1] < 0.35 * pair[0][1]


@cache
def evaluated(mirrored: bool, height: str = "0") -> tuple[Pair, Tyre, Any]:
    both = Pair(planar=False)
    tyre = Tyre("force", data={**CAR, "QSX1": 0.01, "QSX2": 0.5, "QSX3": 0.2}, mirrored=mirrored, height=height)
    p = values_of(tyre, False, {"u": ca.SX(0.02), "v": ca.SX(-0.03 if mirrored else 0.03)})
    outputs = {item.name: item.value for item in tyre.signals(p, both.a, both.b, ca.SX(3, 1), ca.SX(3, 1))}
    total = ca.SX(both.v.numel(), 1)
    for rate, effort in tyre.efforts(p, both.a, both.b):
        total += ca.jacobian(ca.vertcat(rate), both.v).T @ ca.vertcat(effort)
    return both, tyre, {**outputs, "wrench": total, "rates": ca.vertcat(*tyre.rates(p, both.a, both.b))}


def number(mirrored: bool, name: str, q: Array, v: Array, height: str = "0") -> Array:
    both, _, found = evaluated(mirrored, height)
    return both.number(found[name], q, v)


def wheel_at(gamma: float, w: float, side: int = 1) -> tuple[Array, Array]:
    """A wheel that leans by gamma and turns by w, at 10 m/s ahead and 0.3 m/s aside, on a road at rest."""
    turn = np.array([math.cos(side * gamma / 2), math.sin(side * gamma / 2), 0.0, 0.0])
    axis = np.array([0.0, math.cos(side * gamma), math.sin(side * gamma)])
    q = np.concatenate([np.zeros(3), [1.0, 0, 0, 0], [0.0, 0.0, (RADIUS - 0.02) * math.cos(gamma)], turn])
    return q, np.concatenate([np.zeros(6), [10.0, side * 0.3, 0.0], w * axis])


def test_a_mirrored_tyre_in_a_mirrored_motion_has_the_mirrored_forces() -> None:
    left, right = wheel_at(0.05, 28.0), wheel_at(0.05, 28.0, -1)
    for name, sign in {"F_x": 1, "F_y": -1, "F_z": 1, "M_x": -1, "M_y": 1, "M_z": -1, "gamma": -1, "rho": 1}.items():
        one, two = number(False, name, *left), number(True, name, *right)
        np.testing.assert_allclose(two, sign * one, rtol=1e-12, atol=1e-9)
        assert abs(one).min() > 1e-3


@pytest.mark.parametrize("gamma", [0.0, 0.2, math.pi / 2, 3.0, math.pi])
def test_a_wheel_however_it_lies_has_forces_that_are_numbers(gamma: float) -> None:
    """On its side it has none, as a thin disk does not reach the road there; far from the ranges it is not valid."""
    q, v = wheel_at(gamma, 28.0)
    wrench = number(False, "wrench", q, v)
    assert np.isfinite(wrench).all()
    assert np.isfinite(number(False, "rates", q, v)).all()
    assert number(False, "valid", q, v)[0] == (gamma < 0.25)


def edge(height: float, w: float, ahead: float, falling: float = 0.0, gamma: float = 0.0) -> tuple[Array, Array]:
    """A wheel at a height over its unloaded radius, m, with its speeds of spin, ahead and downwards."""
    q, v = wheel_at(gamma, w)
    q[9] += 0.02 + height
    v[6:9] = ahead, 0.0, -falling
    return q, v


@pytest.mark.parametrize("mirrored", [False, True])
def test_forces_and_their_derivatives_are_numbers_at_every_edge(mirrored: bool) -> None:
    """At rest, locked, backwards, where it touches, in the air, pressed without load, and on its side."""
    both, _, found = evaluated(mirrored)
    wanted = ca.vertcat(found["wrench"], found["rates"])
    slopes = ca.Function("slopes", [both.q, both.v], [wanted, ca.jacobian(wanted, ca.vertcat(both.q, both.v))])
    unloading = -0.02 * C / CAR["VERTICAL_DAMPING"]
    for state in (
        edge(-0.02, 0.0, 0.0), edge(-0.02, 0.0, 10.0), edge(-0.02, -28.0, -10.0), edge(0.0, 28.0, 10.0),
        edge(0.1, 28.0, 10.0), edge(-0.02, 28.0, 10.0, unloading), edge(-0.02, 28.0, 10.0, gamma=math.pi / 2),
    ):  # fmt: skip
        assert all(np.isfinite(np.array(item)).all() for item in slopes(*state))


@pytest.mark.parametrize(("v", "w"), [(0.0, 0.0), (0.0, 50.0), (10.0, -30.0), (-10.0, 0.0)])
def test_a_wheel_from_any_start_comes_to_roll(v: float, w: float) -> None:
    """Standing, spinning at rest, turning against its way, and locked backwards."""
    run = ran(rig(LOSSLESS, v=v, w=w), 2.0, 2e-3)
    assert all(np.isfinite(run[f"tyre.{name}"]).all() for name in ("F_x", "F_y", "M_z", "kappa", "alpha"))
    assert run["x.v"][-1] == pytest.approx(ROLLING * run["hub.w"][-1], abs=1e-3 * (1 + abs(v)))


def test_action_is_reaction_on_a_road_that_moves() -> None:
    both, _, _ = evaluated(False)
    rng = np.random.default_rng(4)
    q, v = both.anywhere(rng)
    q[2:3], q[3:7] = 0.0, [1.0, 0, 0, 0]
    q[7:10] = q[:3] + np.array([0.3, -0.2, RADIUS - 0.03])
    q[10:14] = [math.cos(0.1), math.sin(0.1), 0.0, 0.0]
    total = number(False, "wrench", q, v)
    force_a, torque_a, force_b, torque_b = np.split(total, 4)
    assert abs(force_b).max() > 100
    np.testing.assert_allclose(force_a, -force_b, atol=1e-8)
    about = torque_a + torque_b + np.cross(q[:3], force_a) + np.cross(q[7:10], force_b)
    np.testing.assert_allclose(about, 0, atol=1e-7)


def test_on_a_slope_the_load_is_along_its_normal() -> None:
    q, v = wheel_at(0.0, 0.0)
    v[:] = 0
    q[9] = 0.1 * 0.0 + (RADIUS - 0.02) * math.sqrt(1.01)
    load = number(False, "F_z", q, v, "0.1*x")
    assert load == pytest.approx(0.02 * C, rel=1e-9)
    force = number(False, "wrench", q, v, "0.1*x")[6:9]
    along = number(False, "F_x", q, v, "0.1*x")[0]
    up, ahead = np.array([-0.1, 0, 1.0]) / math.sqrt(1.01), np.array([1.0, 0, 0.1]) / math.sqrt(1.01)
    assert force @ up == pytest.approx(load[0], rel=1e-9)
    assert force @ ahead == pytest.approx(along, rel=1e-9)


# -- a car of two wheels --------------------------------------------------------------------------------------------

MASS, A, B, YAW = 2 * LOAD / 9.81, 1.1, 1.4, 900.0
"""A single-track car: mass, kg, places of the axles before and behind its centre, m, and inertia about z, kg.m2."""


def single_track(data: dict[str, float], v: float, steer: float) -> System:
    """A body that slides on the plane, with an upright wheel in front and one behind; no pitch or roll."""
    ends: list[Component] = []
    lines = []
    for name, place, load in (("front", A, B / (A + B)), ("rear", -B, A / (A + B))):
        deflection = MASS * 9.81 * load / C
        ends += [
            FixedTranslation(f"{name}_axle", r=(place, 0.0, RADIUS - deflection)),
            FixedRotation(f"{name}_steer", n=(0, 0, 1), angle=steer if name == "front" else 0.0),
            Revolute(f"{name}_hub", n=(0, 1, 0), phi=0.0, w=v / ROLLING),
            Body(f"{name}_wheel", m=1.0, I_11=0.01, I_22=0.5, I_33=0.01),
            Tyre(f"{name}_tyre", data=dict(data)),
        ]
        lines += [
            connect("body.frame_a", f"{name}_axle.frame_a"),
            connect(f"{name}_axle.frame_b", f"{name}_steer.frame_a"),
            connect(f"{name}_steer.frame_b", f"{name}_hub.frame_a"),
            connect(f"{name}_hub.frame_b", f"{name}_wheel.frame_a"),
            connect("world.frame_b", f"{name}_tyre.frame_a"),
            connect(f"{name}_wheel.frame_a", f"{name}_tyre.frame_b"),
        ]
    return System(
        "single_track",
        components=(
            World(g=9.81, n=(0, 0, -1)),
            Prismatic("x", n=(1, 0, 0), s=0.0, v=v),
            Prismatic("y", n=(0, 1, 0), s=0.0, v=0.0),
            Revolute("yaw", n=(0, 0, 1), phi=0.0, w=0.0),
            Body("body", m=MASS - 2.0, I_11=1.0, I_22=1.0, I_33=YAW),
            *ends,
        ),
        connections=(
            connect("world.frame_b", "x.frame_a"),
            connect("x.frame_b", "y.frame_a"),
            connect("y.frame_b", "yaw.frame_a"),
            connect("yaw.frame_b", "body.frame_a"),
            *lines,
        ),
    )


@pytest.mark.parametrize("v", [10.0, 25.0])
def test_the_yaw_rate_is_that_of_the_linear_bicycle_model(v: float) -> None:
    """r = v delta / (L + K v^2), K = m (b C_r - a C_f) / (L C_f C_r) (Pacejka, 2006, (1.53))."""
    steer = 5e-4
    data = {**LOSSLESS, "QDZ1": 1e-12, "QDZ2": 0.0}
    run = ran(single_track(data, v, steer), 4.0, 2e-3)
    L = A + B
    C_f, C_r = (12.536 * LOAD * math.sin(2 * math.atan(MASS * 9.81 * at / L / (1.3856 * LOAD))) for at in (B, A))
    understeer = MASS * (B * C_r - A * C_f) / (L * C_f * C_r)
    speed = math.hypot(run["x.v"][-1], run["y.v"][-1])
    assert run["yaw.w"][-1] == pytest.approx(speed * steer / (L + understeer * speed**2), rel=2e-3)
    assert abs(understeer) * v**2 > 0.02 * L


# -- what is refused ------------------------------------------------------------------------------------------------


def text_with(old: str, new: str) -> str:
    return FILE.read_text(encoding="utf-8").replace(old, new)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (text_with("PCX1 = 1.5587\n", ""), "lacks PCX1"),
        (text_with("PCX1 = 1.5587", "PCX1 = nan"), r":36: PCX1 = nan must be a finite number"),
        (text_with("PCX1 = 1.5587", "PCX1 = 1,5587"), "PCX1 = 1,5587 must be a finite number"),
        (text_with("PCX1 = 1.5587", "PCX1 ="), "PCX1 = nothing must be a finite number"),
        (text_with("PCX1 = 1.5587", "PCX1 = 1\nPCX1 = 2"), ":37: PCX1 is there a second time"),
        (text_with("PCX1 = 1.5587", "PCX1 = -1"), "PCX1 = -1 must be above zero"),
        (text_with("'PAC2002'", "'PAC89'"), "PROPERTY_FILE_FORMAT = PAC89 is not the Magic Formula of MF-Tyre 5.2"),
        (text_with("[MODEL]", "[MODEL]\nFITTYP = 61"), ":10: FITTYP = 61 is not"),
        (text_with("[MODEL]", "[MODEL]\nTYPE = 'MOTORCYCLE'"), "TYPE = MOTORCYCLE is not"),
        (text_with("'meter'", "'mm'"), ":4: LENGTH is in 'mm': convert"),
        (text_with("'radian'", "'degree'"), "ANGLE is in 'degree': convert"),
        (text_with("PKY3 = -0.93342", "PKY3 = -0.9\nPKY4 = 2"), "PKY4 = 2 is not a coefficient of MF-Tyre 5.2"),
        (text_with("PKX3 = 0.12433", "PKX3 = 0.1\nPPX1 = 0.2"), "PPX1 = 0.2 is not a coefficient of MF-Tyre 5.2"),
        (text_with("FZMIN = 190", "FZMIN = 9000"), "FZMIN = 9000.0 is not below FZMAX"),
        ("nothing of the kind\n", "it is not a tyre property file"),
    ],
)
def test_a_property_file_that_is_none_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "odd.tir"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(MbfmuError, match=said):
        Tyre("tyre", data=str(path))


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: Tyre("tyre"), ModelFileError, 'must name a tyre property file, such as "tyre.tir"'),
        (lambda: Tyre("tyre", data="absent.tir"), ModelFileError, "absent.tir"),
        (lambda: Tyre("tyre", data={**CAR, "PCY2": 1.0}), UnknownNameError, "no coefficient 'PCY2'; did you mean"),
        (lambda: Tyre("tyre", data={**CAR, "PCY1": math.inf}), ValueRangeError, "PCY1 = inf must be a finite number"),
        (lambda: Tyre("tyre", data={**CAR, "PCY1": True}), ValueRangeError, "PCY1 = True must be a finite number"),
        (lambda: Tyre("tyre", data={**CAR, "PDY1": 0.0}), ValueRangeError, "PDY1 is 0"),
        (lambda: Tyre("tyre", data=CAR, mu=0.0), ValueRangeError, "tyre.mu = 0.0 is outside"),
        (lambda: Tyre("tyre", data=CAR, n=(0.0, 0.0, 0.0)), ModelError, "has no direction"),
        (lambda: values_of(Tyre("tyre", data=CAR), True), ModelError, "a Tyre needs a spatial system"),
        (
            lambda: values_of(Tyre("tyre", data={**CAR, "LMUY": "wet"}), False), UnknownNameError, "no parameter 'wet'",
        ),
    ],
)  # fmt: skip
def test_a_tyre_that_cannot_be_is_refused(make: Callable[[], Any], error: type[MbfmuError], said: str) -> None:
    with pytest.raises(error, match=said):
        make()


def test_files_in_other_styles_and_with_old_versions_are_read(tmp_path: Path) -> None:
    path = tmp_path / "other.tir"
    text = FILE.read_text(encoding="utf-8")
    text = text.replace("PROPERTY_FILE_FORMAT = 'PAC2002'", "FITTYP = 6 $ MF-Tyre 5.2").replace("PCX1 =", "pcx1   =")
    path.write_text(
        "! a comment = 3\n[SHAPE]\n{radial width}\n 1.0 0.0\n" + text.replace("\n", "\r\n"), encoding="utf-8"
    )
    assert read_tir(path) == CAR


# -- parameters and documents ----------------------------------------------------------------------------------------


def test_a_coefficient_may_be_an_expression_of_parameters() -> None:
    system = rig({**SYMMETRIC, "LMUX": "grip", "LMUY": "grip**2"}, w=0.0, mu="wet")
    parameters = (mbfmu.model.Parameter("grip", 1.0), mbfmu.model.Parameter("wet", 1.0))
    system = replace(system, parameters=parameters)
    peaks = [abs(ran(system, 0.3, values=given)["tyre.F_x"]).max() for given in ({}, {"grip": 0.5}, {"wet": 0.5})]
    assert peaks[1] == pytest.approx(peaks[2], rel=1e-9)
    assert peaks[1] == pytest.approx(0.5 * peaks[0], rel=0.02)


def test_a_document_names_a_property_file(tmp_path: Path) -> None:
    (tmp_path / "tyre.tir").write_text(FILE.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "wheel.toml").write_text(
        """
name = "wheel"
connections = [
    ["world.frame_b", "free.frame_a"],
    ["free.frame_b", "rim.frame_a"],
    ["world.frame_b", "tyre.frame_a"],
    ["rim.frame_a", "tyre.frame_b"],
]
[components]
world = {type = "World", n = [0, 0, -1]}
free = {type = "FreeMotion", r_rel = [0, 0, 0.37], v_rel = [10, 0, 0], w_rel = [0, 27, 0]}
rim = {type = "Body", m = 300, I_11 = 20, I_22 = 40, I_33 = 20}
tyre = {type = "Tyre", data = "tyre.tir", mu = 0.8}
""",
        encoding="utf-8",
    )
    system = mbfmu.load(tmp_path / "wheel.toml")
    assert isinstance(system, System)
    tyre = next(item for item in system.components if item.name == "tyre")
    assert isinstance(tyre, Tyre)
    assert tyre.coefficients["PCX1"] == 1.5587
    assert ran(system, 0.2)["tyre.F_z"][-1] > 1000

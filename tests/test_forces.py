"""Forces: what they do to two frames or to an axis, against their laws by hand, anywhere."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
import pytest
from harness import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from states import accelerations, admissible, outputs, shown
from two_frames import TIME, Array, Pair, across, declared_inputs, moment, product, random_turn, rotation, values_of

import mbfmu
import mbfmu.model as model
from mbfmu.dae import Dae, derive
from mbfmu.errors import ModelError, UnknownNameError, ValueRangeError
from mbfmu.model import (
    AngularSpring,
    AngularStop,
    AxisContact,
    AxisForce,
    AxisLaw,
    AxisPotential,
    Body,
    Bushing,
    Component,
    CrankDrive,
    Damper,
    Force,
    ForceBetween,
    Frame,
    FrameContact,
    FreeMotion,
    Input,
    LimitedForce,
    LimitedTorque,
    LineForce,
    PoseDrive,
    Prismatic,
    Revolute,
    RotationalDamper,
    RotationalFriction,
    RotationalRotor,
    RotationalSpring,
    RotationalStop,
    Spring,
    SpringDamper,
    System,
    TorqueBetween,
    TranslationalDamper,
    TranslationalFriction,
    TranslationalRotor,
    TranslationalSpring,
    TranslationalStop,
    Value,
    World,
    WorldForce,
    WorldTorque,
    connect,
    quantity,
)

SEEDS = range(4)
STIFF = {"c_phi_1": 3.0, "c_phi_2": 5.0, "c_phi_3": 7.0}
SLOW = {"d_phi_1": 0.3, "d_phi_2": 0.5, "d_phi_3": 0.7}
BETWEEN: dict[str, tuple[Force, bool]] = {
    "Spring": (Spring("force", c=20.0, s_unstretched=0.4), False),
    "Spring, planar": (Spring("force", c=20.0, s_unstretched=0.4), True),
    "Damper": (Damper("force", d=0.7), False),
    "Damper, planar": (Damper("force", d=0.7), True),
    "SpringDamper": (SpringDamper("force", c=20.0, s_unstretched=0.4, d=0.7), False),
    "SpringDamper, planar": (SpringDamper("force", c=20.0, s_unstretched=0.4, d=0.7), True),
    "LineForce": (LineForce("force"), False),
    "LineForce, planar": (LineForce("force"), True),
    "Bushing": (Bushing("force", c=(10.0, 20.0, 30.0), d=(1.0, 2.0, 3.0), **STIFF, **SLOW), False),
    "Bushing, planar": (Bushing("force", c=(10.0, 20.0), d=(1.0, 2.0), c_phi_3=7.0, d_phi_3=0.7), True),
    "AngularSpring": (AngularSpring("force", c=20.0), False),
    "AngularSpring, planar": (AngularSpring("force", c=20.0), True),
    "AngularStop": (AngularStop("force", upper=0.3, c=20.0, d=4.0), False),
    "PoseDrive": (
        PoseDrive("force", force=(1.0, -2.0, 0.5), torque=(0.3, 0.2, -0.4), gain=2.0, bias_s=-3.0, bias_v=-0.5),
        False,
    ),
    "CrankDrive": (CrankDrive("force", L=3.0, gear=1.5, gain=2.0, bias_s=-3.0, bias_v=-0.5), False),
    **{
        f"{kind.__name__} in {resolve}{', planar' * planar}": (kind("force", resolve=resolve), planar)
        for kind in (ForceBetween, TorqueBetween)
        for resolve in ("frame_a", "frame_b")
        for planar in (False, True)
    },
}
"""Forces between two frames."""
OUTSIDE: dict[str, tuple[Force, bool]] = {
    f"{kind.__name__} in {resolve}{', planar' * planar}": (kind("force", resolve=resolve), planar)
    for kind in (WorldForce, WorldTorque)
    for resolve in ("world", "frame_b")
    for planar in (False, True)
}
ON_AXES: dict[str, AxisForce] = {
    "RotationalSpring": RotationalSpring("force", joint="hinge", c=3.0, phi_rel0=0.4),
    "RotationalDamper": RotationalDamper("force", joint="hinge", d=0.6),
    "TranslationalSpring": TranslationalSpring("force", joint="rail", c=3.0, s_rel0=0.4),
    "TranslationalDamper": TranslationalDamper("force", joint="rail", d=0.6),
    "RotationalFriction": RotationalFriction("force", joint="hinge", f_c=2.0, peak=1.5, v_s=0.2, v_0=0.05, d=0.3),
    "TranslationalFriction": TranslationalFriction("force", joint="rail", f_c=2.0, peak=1.5, v_s=0.2, v_0=0.05, d=0.3),
    "RotationalStop": RotationalStop("force", joint="hinge", lower=-0.5, upper=0.8, c=50.0, d=4.0),
    "TranslationalStop": TranslationalStop("force", joint="rail", lower=-0.5, upper=0.8, c=50.0, d=4.0),
    "AxisLaw": AxisLaw("force", joint="hinge", formula="-3*s**3 - 0.2*v*abs(v) + sin(5*time)"),
    "AxisPotential": AxisPotential("force", joint="rail", formula="3*s**4/4 + exp(-s*cos(time))"),
}
DRIVES = (LimitedTorque("force", joint="hinge", limit=3.0), LimitedForce("force", joint="rail", limit=3.0))
ROTORS = (
    RotationalRotor("force", joint="hinge", J=1e-4, ratio=-50.0),
    TranslationalRotor("force", joint="rail", J=1e-4, ratio=-50.0),
)
FRICTIONS = ("RotationalFriction", "TranslationalFriction")
STOPS = ("RotationalStop", "TranslationalStop")

between = pytest.mark.parametrize("name", BETWEEN)
outside = pytest.mark.parametrize("name", OUTSIDE)
on_axes = pytest.mark.parametrize("name", ON_AXES)


@cache
def pair(planar: bool) -> Pair:
    return Pair(planar)


def values(force: Component, planar: bool) -> SimpleNamespace:
    """What a force gets as `p`: an input f[1], f[2], ... of 2, -1, 3."""
    given = {name: ca.SX([2.0, -1.0, 3.0][:size]) for name, _, size in declared_inputs(force, planar)}
    return values_of(force, planar, given)


def wrenches(force: Force, planar: bool, q: Array, v: Array) -> tuple[Array, Array]:
    """Force and torque, resolved in the world frame, on frame_a and on frame_b: what the equations make of a force."""
    both, p = pair(planar), values(force, planar)
    total = -both.wrench(force.potential(p, both.a, both.b))
    for rate, effort in force.efforts(p, both.a, both.b):
        total += ca.jacobian(ca.vertcat(rate), both.v).T @ ca.vertcat(effort)
    on = both.number(total, q, v)
    return on[: len(v) // 2], on[len(v) // 2 :]


# -- between frames -------------------------------------------------------------------------------------------------


@between
def test_action_is_reaction_in_force_and_in_moment(name: str) -> None:
    force, planar = BETWEEN[name]
    both = pair(planar)
    for seed in SEEDS:
        q, v = both.anywhere(np.random.default_rng(seed))
        on_a, on_b = wrenches(force, planar, q, v)
        dim, half = both.dim, len(q) // 2
        assert np.abs(on_b).max() > 1e-3
        np.testing.assert_allclose(on_a[:dim] + on_b[:dim], 0, atol=1e-12)
        about_0 = sum(on[dim:] + moment(r, on[:dim]) for on, r in ((on_a, q[:dim]), (on_b, q[half : half + dim])))
        np.testing.assert_allclose(about_0, 0, atol=1e-12)


@between
def test_a_force_does_not_care_where_the_two_frames_are_together(name: str) -> None:
    """The potential is the same after one rigid displacement of both, and wrenches turn with it."""
    force, planar = BETWEEN[name]
    both = pair(planar)
    V = force.potential(values(force, planar), both.a, both.b)
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        q, v = both.anywhere(rng)
        shift, turn = rng.normal(size=both.dim), random_turn(rng, planar)
        R, dim, half = rotation(turn), both.dim, len(q) // 2
        q1, v1 = q.copy(), v.copy()
        for one, two in ((0, 0), (half, len(v) // 2)):
            q1[one : one + dim] = shift + R @ q[one : one + dim]
            q1[one + dim : one + half] = product(turn, q[one + dim : one + half])
            v1[two : two + dim] = R @ v[two : two + dim]
            if not planar:
                v1[two + dim : two + 6] = R @ v[two + dim : two + 6]
        np.testing.assert_allclose(both.number(V, q1), both.number(V, q), rtol=1e-12, atol=1e-12)
        before, after = (wrenches(force, planar, *at)[1] for at in ((q, v), (q1, v1)))
        np.testing.assert_allclose(after[:dim], R @ before[:dim], atol=1e-11)
        np.testing.assert_allclose(after[dim:], before[dim:] if planar else R @ before[dim:], atol=1e-11)


@between
def test_rates_are_linear_in_the_velocities_and_vanish_if_both_frames_move_as_one_body(name: str) -> None:
    force, planar = BETWEEN[name]
    both = pair(planar)
    rates = ca.vertcat(ca.SX(0, 1), *(rate for rate, _ in force.efforts(values(force, planar), both.a, both.b)))
    assert not ca.depends_on(ca.jacobian(rates, both.v), both.v)
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        q, _ = both.anywhere(rng)
        speed, spin, half = rng.normal(size=both.dim), rng.normal(size=both.turns), len(q) // 2
        v = np.concatenate(
            [np.concatenate([speed + across(spin, r), spin]) for r in (q[: both.dim], q[half : half + both.dim])]
        )
        np.testing.assert_allclose(both.number(rates, q, v), 0, atol=1e-12)


@between
def test_the_power_of_a_force_is_the_potential_it_frees_and_what_its_efforts_put_in(name: str) -> None:
    """Wrenches times velocities, against the potential by differences along the motion."""
    force, planar = BETWEEN[name]
    both, p = pair(planar), values(BETWEEN[name][0], planar)
    V, h = force.potential(p, both.a, both.b), 2e-4
    for seed in SEEDS:
        q, v = both.anywhere(np.random.default_rng(seed))
        at = [float(both.number(V, moved(q, v, k * h, planar))[0]) for k in (-2, -1, 1, 2)]
        freed = -(8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * h)
        efforts = sum(
            float(both.number(ca.dot(ca.vertcat(rate), ca.vertcat(effort)), q, v)[0])
            for rate, effort in force.efforts(p, both.a, both.b)
        )
        assert np.concatenate(wrenches(force, planar, q, v)) @ v == pytest.approx(freed + efforts, rel=1e-8, abs=1e-7)


def moved(q: Array, v: Array, t: float, planar: bool) -> Array:
    """Two frames after the time t at constant velocities and angular velocities."""
    q1, half, dim = q.copy(), len(q) // 2, 2 if planar else 3
    for one, two in ((0, 0), (half, len(v) // 2)):
        w = v[two + dim : two + len(v) // 2]
        angle = float(np.linalg.norm(w))
        turn = w * t if planar else np.array([math.cos(angle * t / 2), *(math.sin(angle * t / 2) * w / angle)])
        q1[one : one + dim] += t * v[two : two + dim]
        q1[one + dim : one + half] = product(turn, q[one + dim : one + half])
    return q1


@pytest.mark.parametrize("name", [name for name in BETWEEN if "Damper" in name or "Bushing" in name])
def test_dampers_take_power_out(name: str) -> None:
    force, planar = BETWEEN[name]
    both = pair(planar)
    efforts = force.efforts(values(force, planar), both.a, both.b)
    for rate, effort in efforts:
        power = ca.vertcat(rate) * ca.vertcat(effort)
        for seed in range(20):
            q, v = both.anywhere(np.random.default_rng(seed))
            assert both.number(power, q, v).max() < 0


@pytest.mark.parametrize("planar", [True, False])
def test_forces_along_a_line_by_hand(planar: bool) -> None:
    both = pair(planar)
    for seed in SEEDS:
        q, v = both.anywhere(np.random.default_rng(seed))
        dim, half = both.dim, len(q) // 2
        gap, speed = q[half : half + dim] - q[:dim], v[len(v) // 2 : len(v) // 2 + dim] - v[:dim]
        length = float(np.linalg.norm(gap))
        u = gap / length
        spring, damping = -20 * (length - 0.4), -0.7 * float(speed @ u)
        expected = {"Spring": spring, "Damper": damping, "SpringDamper": spring + damping, "LineForce": 2.0}
        for name, along in expected.items():
            on_b = wrenches(BETWEEN[name + ", planar" * planar][0], planar, q, v)[1]
            np.testing.assert_allclose(on_b[:dim], along * u, atol=1e-11, err_msg=name)
            np.testing.assert_allclose(on_b[dim:], 0, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("planar", [True, False])
def test_a_bushing_pushes_back_each_small_displacement_by_its_own_stiffness(planar: bool) -> None:
    """Six (three) displacements of 1e-5 along and about the axes of frame_a, which is anywhere."""
    force = BETWEEN["Bushing" + ", planar" * planar][0]
    dim, turns = (2, 1) if planar else (3, 3)
    stiffness = [10.0, 20.0, 7.0] if planar else [10.0, 20.0, 30.0, 3.0, 5.0, 7.0]
    rng = np.random.default_rng(5)
    r, turn = rng.normal(size=dim), random_turn(rng, planar)
    R, small = rotation(turn), 1e-5
    for k, c in enumerate(stiffness):
        by = np.zeros(dim + turns)
        by[k] = small
        tilt = by[dim:] if planar else np.array([1.0, *(by[dim:] / 2)])
        q = np.concatenate([r, turn, r + R @ by[:dim], product(turn, tilt)])
        on_b = wrenches(force, planar, q, np.zeros(2 * (dim + turns)))[1]
        pushed = np.concatenate([R.T @ on_b[:dim], on_b[dim:] if planar else R.T @ on_b[dim:]])
        np.testing.assert_allclose(pushed, -c * by, atol=1e-8 * c * small + 1e-9)


def test_a_bushing_resists_up_to_half_a_turn_and_knows_no_sign_of_a_quaternion() -> None:
    force, both = BETWEEN["Bushing"][0], pair(False)
    V = force.potential(values(force, False), both.a, both.b)
    place = np.array([0.0, 0, 0, 1, 0, 0, 0, 0, 0, 0])
    held = []
    for phi in np.linspace(0, math.pi, 9):
        Q = np.array([math.cos(phi / 2), 0, 0, math.sin(phi / 2)])
        one, other = (float(both.number(V, np.concatenate([place, sign * Q]))[0]) for sign in (1, -1))
        assert one == pytest.approx(other, abs=1e-14)
        assert one == pytest.approx(7 / 2 * (2 * math.sin(phi / 2)) ** 2, rel=1e-12)
        held.append(one)
    assert np.all(np.diff(held) > 0)


def test_a_spring_on_the_angle_turns_back_about_any_axis_by_stiffness_times_angle() -> None:
    """From angles of 1e-9 to 3 rad, of which the smallest are a series, and for both signs of the quaternion."""
    force, rng = BETWEEN["AngularSpring"][0], np.random.default_rng(0)
    for phi in (1e-9, 1e-4, 0.0199, 0.0201, 0.5, 3.0):
        n = rng.normal(size=3)
        n /= np.linalg.norm(n)
        for sign in (1, -1):
            Q = sign * np.array([math.cos(phi / 2), *(math.sin(phi / 2) * n)])
            on_b = wrenches(force, False, np.array([0.0, 0, 0, 1, 0, 0, 0, 0.3, 0, 0, *Q]), np.zeros(12))[1]
            np.testing.assert_allclose(on_b[:3], 0, atol=1e-14)
            np.testing.assert_allclose(on_b[3:], -20.0 * phi * n, rtol=1e-9, atol=1e-15)


# -- from outside ---------------------------------------------------------------------------------------------------


@outside
def test_what_acts_from_outside_is_the_input_and_acts_on_frame_b_alone(name: str) -> None:
    force, planar = OUTSIDE[name]
    both = pair(planar)
    assert force.frames == ("frame_b",)
    (label, unit, size) = declared_inputs(force, planar)[0]
    is_force = isinstance(force, WorldForce)
    assert (label, unit, size) == (("f", "N", both.dim) if is_force else ("t", "N.m", both.turns))
    given = np.array([2.0, -1.0, 3.0])[:size]
    for seed in SEEDS:
        q, v = both.anywhere(np.random.default_rng(seed))
        turns = "frame_b" in name and not (planar and not is_force)
        acting = rotation(q[len(q) // 2 + both.dim :]) @ given if turns else given
        still = np.zeros(both.turns if is_force else both.dim)
        on_a, on_b = wrenches(force, planar, q, v)
        np.testing.assert_array_equal(on_a, 0)
        np.testing.assert_allclose(on_b, [*acting, *still] if is_force else [*still, *acting], atol=1e-14)


def test_a_frame_to_resolve_in_that_is_none_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"push.resolve = 'frame_c' names no frame; did you mean 'frame_b'"):
        WorldForce("push", resolve="frame_c")


# -- on axes --------------------------------------------------------------------------------------------------------


@cache
def axis_functions(name: str) -> tuple[Any, Any]:
    """Potential of (s, t), and total effort of (s, v, t): -dV/ds and what the effort says."""
    return functions_of(ON_AXES[name])


def functions_of(force: AxisForce) -> tuple[Any, Any]:
    s, v, p = ca.SX.sym("s"), ca.SX.sym("v"), values_of(force, True)
    V = force.potential(p, s)
    total = force.effort(p, s, v) - ca.jacobian(V, s)
    return ca.Function("V", [s, TIME], [V]), ca.Function("f", [s, v, TIME], [total])


def effort(name: str, s: float, v: float, t: float = 0.0) -> float:
    return float(axis_functions(name)[1](s, v, t))


def by_hand(name: str, s: float, v: float, t: float) -> float:
    """The effort that the docstring of a component states."""
    match name.removeprefix("Rotational").removeprefix("Translational"):
        case "Spring":
            return -3 * (s - 0.4)
        case "Damper":
            return -0.6 * v
        case "Friction":
            return -(2 + (3 - 2) * math.exp(-((v / 0.2) ** 2))) * math.tanh(v / 0.05) - 0.3 * v
        case "Stop" if s > 0.8:
            return -(50 + 4 * v) * (s - 0.8)
        case "Stop" if s < -0.5:
            return (50 - 4 * v) * (-0.5 - s)
        case "Stop":
            return 0.0
        case "AxisLaw":
            return -3 * s**3 - 0.2 * v * abs(v) + math.sin(5 * t)
    return -3 * s**3 + math.cos(t) * math.exp(-s * math.cos(t))


@on_axes
@examples(0.3)
@given(s=st.floats(-3, 3), v=st.floats(-3, 3), t=st.floats(0, 10))
def test_the_effort_on_an_axis_by_hand(name: str, s: float, v: float, t: float) -> None:
    assert effort(name, s, v, t) == pytest.approx(by_hand(name, s, v, t), rel=1e-12, abs=1e-12)


@on_axes
def test_an_effort_is_the_slope_of_the_potential_and_what_takes_power_out(name: str) -> None:
    if name == "AxisLaw":
        return
    V, total = axis_functions(name)
    h, rng = 1e-3, np.random.default_rng(0)
    for s, v, t in rng.uniform(-2, 2, (40, 3)):
        at = [float(V(s + k * h, t)) for k in (-2, -1, 1, 2)]
        held = -(8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * h)
        power = (float(total(s, v, t)) - held) * v
        assert power < 1e-6
        assert float(total(s, 0.0, t)) == pytest.approx(held, abs=1e-6)


@pytest.mark.parametrize("rotor", ROTORS, ids=lambda item: type(item).__name__)
def test_a_rotor_has_the_inertia_times_the_ratio_squared_and_no_effort_at_a_constant_rate(rotor: AxisForce) -> None:
    total = functions_of(rotor)[1]
    assert float(total(0.3, -0.7, 0.0)) == 0
    assert float(ca.evalf(rotor.inertia(values_of(rotor, True)))) == pytest.approx(0.25, rel=1e-15)


@on_axes
def test_other_forces_on_axes_have_no_inertia(name: str) -> None:
    assert not ON_AXES[name].inertia(values_of(ON_AXES[name], True)).nnz()


@pytest.mark.parametrize("drive", DRIVES, ids=lambda item: type(item).__name__)
@pytest.mark.parametrize(("asked", "held"), [(0.0, 0.0), (2.5, 2.5), (-2.5, -2.5), (3.5, 3.0), (-1e9, -3.0)])
def test_a_limited_drive_puts_on_the_axis_what_is_asked_up_to_its_limit(
    drive: AxisForce, asked: float, held: float
) -> None:
    ((name, unit, size),) = declared_inputs(drive, True)
    assert (name, unit, size) == (("tau", "N.m", 1) if drive.joint == "hinge" else ("f", "N", 1))
    p = values_of(drive, True, {name: ca.SX(asked)})
    assert float(ca.evalf(drive.effort(p, ca.SX(0.3), ca.SX(-0.7)))) == held


@pytest.mark.parametrize("name", [*FRICTIONS, *STOPS])
def test_friction_and_stops_have_no_jump(name: str) -> None:
    """Along any line through speed zero and the limits, by steps of 1e-5."""
    total = axis_functions(name)[1]
    line = np.linspace(-1.5, 1.5, 300_001)
    f = np.array(total(ca.DM(line).T, ca.DM(0.7 * line[::-1]).T, 0.0)).ravel()
    steepest = 3.0 / 0.05 + 0.3 if name in FRICTIONS else 50 + 4 * 1.05 + 4 * 0.7
    assert np.abs(np.diff(f)).max() <= 1.1 * steepest * 1e-5


@pytest.mark.parametrize("name", FRICTIONS)
def test_friction_is_odd_never_helps_and_peaks_before_it_falls_to_coulombs(name: str) -> None:
    for v in np.geomspace(1e-6, 100, 50):
        assert effort(name, 0.3, v) == pytest.approx(-effort(name, 0.3, -v), rel=1e-14)
        assert effort(name, 0.3, v) < 0
    assert effort(name, 0, 100) == pytest.approx(-2 - 0.3 * 100, rel=1e-12)
    peak = max(-effort(name, 0, v) for v in np.linspace(0, 1, 1001))
    assert 2.5 < peak < 3.05
    assert effort(name, 0, 0) == 0


def test_friction_alone_is_coulombs_if_nothing_else_is_given() -> None:
    total = functions_of(TranslationalFriction("force", joint="rail", f_c=2.0))[1]
    assert float(total(0, 5.0, 0)) == pytest.approx(-2, rel=1e-12)
    assert float(total(0, -5.0, 0)) == pytest.approx(2, rel=1e-12)


@pytest.mark.parametrize("name", STOPS)
def test_a_stop_is_not_there_between_its_limits(name: str) -> None:
    for s in np.linspace(-0.5, 0.8, 20):
        assert effort(name, s, 3.0) == 0
        assert float(axis_functions(name)[0](s, 0.0)) == 0


def test_a_stop_on_one_side_leaves_the_other_open() -> None:
    total = functions_of(RotationalStop("force", joint="hinge", upper=0.8, c=50.0))[1]
    assert float(total(-1e6, -3.0, 0)) == 0
    assert float(total(0.9, 0.0, 0)) == pytest.approx(-5.0, rel=1e-12)


@pytest.mark.parametrize(("d", "keeps"), [(0.0, True), (4.0, False)])
def test_a_stop_gives_the_speed_back_but_for_its_damping(d: float, keeps: bool) -> None:
    """A unit mass against the upper stop: half a period of the spring, then out again."""
    total = functions_of(TranslationalStop("force", joint="rail", upper=0.0, c=50.0, d=d))[1]

    def out(_: float, y: Array) -> float:
        return float(y[0]) + 1e-9

    out.terminal, out.direction = True, -1  # type: ignore[attr-defined]
    run = solve_ivp(
        lambda _, y: [y[1], float(total(y[0], y[1], 0.0))], (0, 2), [0.0, 1.0], events=out, rtol=1e-10, atol=1e-12
    )
    speed = -run.y[1, -1]
    if keeps:
        assert speed == pytest.approx(1.0, abs=1e-7)
        assert run.t[-1] == pytest.approx(math.pi / math.sqrt(50), abs=1e-6)
    else:  # Hunt and Crossley: a restitution of 1 - (2/3) (d/c) v for low speeds
        assert speed == pytest.approx(1 - 2 / 3 * 4 / 50, abs=4e-3)


def test_limits_the_wrong_way_round_are_refused() -> None:
    with pytest.raises(ValueRangeError, match=r"end.lower = 1.0 is above end.upper = 0.5: swap them"):
        RotationalStop("end", joint="hinge", lower=1.0, upper=0.5)


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: AxisLaw("odd", joint="hinge", formula="-c*s"), UnknownNameError, "no parameter 'c'"),
        (lambda: AxisPotential("odd", joint="rail", formula="v**2"), UnknownNameError, "no parameter 'v'"),
        (lambda: AxisLaw("odd", joint="hing", formula="s"), UnknownNameError, "did you mean 'hinge'"),
        (lambda: AxisLaw("odd", joint="hinge", formula="s +"), ModelError, "cannot read the expression"),
        (lambda: RotationalFriction("odd", joint="hinge", peak=0.5), ValueRangeError, "odd.peak = 0.5 is outside"),
        (lambda: TranslationalFriction("odd", joint="rail", v_0=0.0), ValueRangeError, "odd.v_0 = 0.0 is outside"),
        (lambda: Bushing("odd", c=(1.0, -1.0, 0.0)), ValueRangeError, r"odd.c\[2\] = -1.0 is outside"),
    ],
)
def test_a_force_that_cannot_be_is_refused_by_name(
    make: Callable[[], Component], error: type[ModelError], said: str
) -> None:
    with pytest.raises(error, match=said):
        values_of(make(), True)


# -- what a force shows ----------------------------------------------------------------------------------------------


@cache
def floating(name: str) -> tuple[Force, bool, Dae]:
    """Two free bodies, and a force between them or from outside on the second."""
    force, planar = {**BETWEEN, **OUTSIDE, **OWN}[name]
    bodies = tuple(Body(body, m=1.0, I_11=0.3, I_22=0.4, I_33=0.5) for body in ("one", "two"))
    ends = [(f"{body.name}.frame_a", f"free_{body.name}.frame_b") for body in bodies]
    ends += [("world.frame_b", f"free_{body.name}.frame_a") for body in bodies]
    ends += [("one.frame_a" if frame == "frame_a" else "two.frame_a", f"force.{frame}") for frame in force.frames]
    parts = (World(), *bodies, *(FreeMotion(f"free_{body.name}") for body in bodies), force)
    system = System("rig", parts, tuple(connect(*pair) for pair in ends), planar=planar)
    return force, planar, derive(system, "absolute")


def floated(name: str, seed: int) -> tuple[dict[str, float], Array, Array, tuple[Array, ...]]:
    """Outputs somewhere, with the places and velocities of both bodies, and the state (q, v, u) itself."""
    _, planar, dae = floating(name)
    q, v, _ = admissible(dae, np.random.default_rng(seed), away=1.0)
    u = np.array([2.0, -1.0, 3.0])[: len(dae.inputs)]
    found = outputs(dae, q, v, u)
    places, motions = [], []
    for body in ("one", "two"):
        turn = shown(found, f"{body}.{'phi' if planar else 'Q'}", 1 if planar else 4)
        w = shown(found, f"{body}.w" if planar else f"{body}.w_a", 1 if planar else 3)
        places += [shown(found, f"{body}.r_0", 2 if planar else 3), turn]
        motions += [shown(found, f"{body}.v_0", 2 if planar else 3), w if planar else rotation(turn) @ w]
    return found, np.concatenate(places), np.concatenate(motions), (q, v, u)


def energy_rate(dae: Dae, q: Array, v: Array, u: Array) -> float:
    """Rate of kinetic and potential energy along the motion that the equations give."""
    a, _ = accelerations(dae, q, v, u)
    p = dae.extended(dae.p_default())
    x, y = ca.SX.sym("x", dae.n), ca.SX.sym("y", dae.n)
    rate = ca.jtimes(
        dae.energies.kinetic(x, y, p) + dae.energies.potential(x, p, 0.0), ca.vertcat(x, y), ca.vertcat(v, a)
    )
    return float(ca.Function("rate", [x, y], [rate])(q, v))


@dataclass(frozen=True)
class Rope(Force):
    """A force with a potential of a user's own."""

    def potential(self, p: Any, a: Frame, b: Frame) -> Any:
        return 3.0 * ca.sumsqr(b.r_0 - a.r_0) ** 2 / 4


@dataclass(frozen=True)
class Drag(Force):
    """A force from outside of a user's own, which works on a velocity and on an angular velocity."""

    @property
    def frames(self) -> tuple[str, ...]:
        return ("frame_b",)

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[Any, Any], ...]:
        return ((b.v_0, -0.5 * ca.norm_2(b.v_0) * b.v_0), (b.w_0, -0.2 * b.w_0))


@dataclass(frozen=True)
class Tow(Force):
    """A force whose input and quantity have the names of outputs."""

    power: Value = quantity(3.0, "W", "rated power")

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        return (Input("f", "N", "force on frame_b", 2 if planar else 3),)

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[Any, Any], ...]:
        return ((b.v_0, p.f),)


OWN: dict[str, tuple[Force, bool]] = {
    f"{kind.__name__}{', planar' * planar}": (kind("force"), planar)
    for kind in (Rope, Drag, Tow)
    for planar in (False, True)
}


@pytest.mark.parametrize("name", [*BETWEEN, *OUTSIDE, *OWN])
def test_a_force_shows_what_it_puts_on_frame_b(name: str) -> None:
    """Along the line if it acts along one, else resolved in frame_a; of forces and torques that are inputs nothing."""
    force, planar, dae = floating(name)
    for seed in SEEDS:
        found, q, v, _ = floated(name, seed)
        dim, half = (2 if planar else 3), len(q) // 2
        on_b = wrenches(force, planar, q, v)[1]
        if "frame_a" in force.frames:
            R = rotation(q[dim:half])
            apart = q[half : half + dim] - q[:dim]
        else:
            R, apart = np.eye(dim), np.zeros(dim)
        efforts = {label: shown(found, f"force.{label}", size) for label, size in vectors(dae).items()}
        match name.partition(",")[0].partition(" in ")[0]:
            case "LineForce" | "WorldForce" | "WorldTorque" | "ForceBetween" | "TorqueBetween" | "Tow":
                expected = {}
            case "Spring" | "Damper" | "SpringDamper":
                expected = {"f": np.array([on_b[:dim] @ apart / np.linalg.norm(apart)])}
            case "Rope" | "CrankDrive":
                expected = {"f": R.T @ on_b[:dim]}
            case "AngularSpring" | "AngularStop":
                expected = {"t": on_b[dim:] if planar else R.T @ on_b[dim:]}
            case _:
                expected = {"f": R.T @ on_b[:dim], "t": on_b[dim:] if planar else R.T @ on_b[dim:]}
        assert efforts.keys() == expected.keys()
        for label, value in expected.items():
            np.testing.assert_allclose(efforts[label], value, atol=1e-12 * (1 + np.abs(value).max()))
            assert np.abs(value).max() > 1e-3


def vectors(dae: Dae) -> dict[str, int]:
    """The efforts that a force shows, with their number of entries."""
    names = [item.name.removeprefix("force.") for item in dae.outputs if item.name.startswith("force.")]
    count = Counter(name.partition("[")[0] for name in names)
    return {name: number for name, number in count.items() if name != "power"}


@pytest.mark.parametrize("name", [*BETWEEN, *OUTSIDE, *OWN])
def test_the_energy_changes_by_the_power_that_a_force_puts_in(name: str) -> None:
    *_, dae = floating(name)
    for seed in SEEDS:
        found, _, _, state = floated(name, seed)
        gained = energy_rate(dae, *state)
        if name.startswith(("Spring", "Rope", "AngularSpring")) and "Damper" not in name:
            assert "force.power" not in found
            assert gained == pytest.approx(0, abs=1e-10)
        elif not name.startswith("Tow"):
            assert found["force.power"] == pytest.approx(gained, rel=1e-10, abs=1e-10)
            assert abs(gained) > 1e-3


@on_axes
def test_a_force_on_an_axis_shows_its_effort_and_the_power_it_puts_in(name: str) -> None:
    force = ON_AXES[name]
    joint = Revolute("hinge", n=(0, 0, 1)) if force.joint == "hinge" else Prismatic("rail")
    system = System(
        "rig",
        (World(), joint, Body("mass", m=1.3, I_33=0.7), force),
        (connect("world.frame_b", f"{joint.name}.frame_a"), connect(f"{joint.name}.frame_b", "mass.frame_a")),
        planar=True,
    )
    dae = derive(system, "joint")
    label = "tau" if force.joint == "hinge" else "f"
    signals = {item.name: item for item in dae.outputs}
    assert (signals[f"force.{label}"].unit, signals[f"force.{label}"].kind) == (
        ("N.m", "output") if label == "tau" else ("N", "output")
    )
    for s, v in np.random.default_rng(0).uniform(-2, 2, (20, 2)):
        state = (np.array([s]), np.array([v]), np.zeros(0))
        found = outputs(dae, *state)
        assert found[f"force.{label}"] == pytest.approx(by_hand(name, s, v, 0.0), rel=1e-12, abs=1e-12)
        gained = energy_rate(dae, *state)
        if name.endswith(("Spring", "AxisPotential")):
            assert "force.power" not in found
            assert gained == pytest.approx(0, abs=1e-9)
        else:
            assert (signals["force.power"].unit, signals["force.power"].kind) == ("W", "local")
            assert found["force.power"] == pytest.approx(gained, rel=1e-9, abs=1e-9)


# -- in motion ------------------------------------------------------------------------------------------------------


def on_rail(*forces: Component, v: float = 0.0) -> System:
    """A unit mass on a horizontal rail."""
    return System(
        "rig",
        (World(g=9.81), Prismatic("rail", s=0.0, v=v), Body("mass", m=1.0, I_33=1.0), *forces),
        (connect("world.frame_b", "rail.frame_a"), connect("rail.frame_b", "mass.frame_a")),
        planar=True,
    )


def test_a_mass_slides_to_rest_under_coulomb_friction_and_stays() -> None:
    brake = TranslationalFriction("brake", joint="rail", f_c=2.0, v_0=1e-3)
    run = mbfmu.simulate(on_rail(brake, v=1.0), 1.0, stepper="radau", step=1e-3)
    assert run["rail.s"][-1] == pytest.approx(1.0 / (2 * 2.0), abs=1e-3)
    assert abs(run["rail.v"][-1]) < 1e-9
    assert np.all(np.diff(run["energy.total"]) < 1e-12)


def test_a_law_and_a_potential_make_one_oscillator() -> None:
    """A cubic spring as an effort and as a potential; the energy counts only the potential."""
    law = on_rail(AxisLaw("coil", joint="rail", formula="-3*s**3 - 2*s"), v=1.3)
    well = on_rail(AxisPotential("coil", joint="rail", formula="3*s**4/4 + s**2"), v=1.3)
    one, other = (mbfmu.simulate(system, 2.0, stepper="gauss", step=1e-2) for system in (law, well))
    np.testing.assert_allclose(one["rail.s"], other["rail.s"], atol=1e-6)
    assert np.ptp(other["energy.total"]) < 1e-7
    assert np.ptp(one["energy.total"]) > 0.1


def test_a_pendulum_falls_onto_a_stop_and_comes_to_rest_in_it() -> None:
    system = System(
        "rig",
        (
            World(g=9.81),
            Revolute("hinge", phi=0.0, w=0.0),
            Body("arm", m=1.0, r_CM=(0.5, 0), I_33=0.1),
            RotationalStop("stop", joint="hinge", lower=-0.5, c=500.0, d=2000.0),
            RotationalDamper("rub", joint="hinge", d=0.5),
        ),
        (connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", "arm.frame_a")),
        planar=True,
    )
    run = mbfmu.simulate(system, 4.0, stepper="radau", step=2e-3)
    phi = run["hinge.phi"][-1]
    assert 500 * (-0.5 - phi) == pytest.approx(9.81 * 0.5 * math.cos(phi), rel=1e-4)
    assert run["hinge.phi"].min() > -0.6


def test_every_force_of_the_library_is_tested_here() -> None:
    bases = {"Force", "FrameDrive", "AxisForce", "AxisFriction", "AxisMaxwellDamper", "AxisStop", "LuGreFriction"}
    with_states = {
        f"{axis}{kind}" for axis in ("Rotational", "Translational") for kind in ("LuGreFriction", "MaxwellDamper")
    }
    elsewhere = with_states | {"MaxwellDamper", "SeriesSpringDamper"}  # tests/test_component_states.py
    elsewhere |= {"AffineThruster", "CartesianFriction", "ConstantForce", "FilteredThruster", "IntegratedThruster"}
    elsewhere |= {"Tyre"}  # tests/test_tyre.py
    elsewhere |= {f"{kind}{of}Drive" for kind in ("Filtered", "Integrated") for of in ("Crank", "Pose")}
    elsewhere |= {"EffortLimit"}  # tests/test_frame_drives.py
    elsewhere |= {"BoxDrag", "EllipsoidFluid"}  # tests/test_rope.py; those before in test_combined_axes.py
    elsewhere |= {"CartesianSpringDamper", "PointGravity"}  # tests/test_axes_elements.py, test_modelica_bodies.py
    elsewhere |= {"GravityField"}  # tests/test_third_frames.py
    elsewhere |= {"LongitudinalDrag", "PlanarTyre"}  # tests/test_planar_wheels.py
    found = {name: getattr(model, name) for name in model.__all__}
    kinds = {name: kind for name, kind in found.items() if isinstance(kind, type)}
    contacts = AxisContact | FrameContact  # tests/test_contacts.py
    forces = {name for name, kind in kinds.items() if issubclass(kind, Force | AxisForce)}
    forces -= {name for name, kind in kinds.items() if issubclass(kind, contacts)}
    here = [force for force, _ in (*BETWEEN.values(), *OUTSIDE.values())] + [*ON_AXES.values(), *DRIVES, *ROTORS]
    assert {type(force).__name__ for force in here} | elsewhere == forces - bases

"""Wheelsets on a track: contact, creep forces, hunting and critical speeds."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from math import pi, sqrt
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import minimize
from wheelsets import DATA, published, sprung

import mbfmu
from mbfmu.dae import derive
from mbfmu.errors import (
    ExpressionError,
    MbfmuError,
    ModelError,
    StartError,
    StepError,
    UsageError,
    ValueRangeError,
)
from mbfmu.model import (
    Body,
    Bushing,
    FreeMotion,
    Parameter,
    Revolute,
    SphereOnPlane,
    System,
    WheelsetOnTrack,
    World,
    WorldTorque,
    connect,
)
from mbfmu.model.wheel_rail import shen, tanh, touch
from mbfmu.prepared.failures import remedies
from mbfmu.prepared.prepare import prepare

REFERENCE = json.loads((Path(__file__).parent / "references" / "wheelset.json").read_text())
SPEEDS = (10.0, 20.0, 40.0, 80.0, 160.0)


def eigenvalues(system: System) -> npt.NDArray[np.complex128]:
    """Return the eigenvalues that oscillate, with a positive imaginary part, the slowest first."""
    found = mbfmu.modes(system).linear.eigenvalues
    return np.array(sorted((item for item in found if item.imag > 1e-3), key=lambda item: item.imag))


def hand_critical(data: Mapping[str, float]) -> tuple[float, float]:
    """Return critical speed and angular frequency of lateral motion and yaw, in closed form.

    (Wickens, Fundamentals of Rail Vehicle Dynamics, 2003, chapter 2, with the stiffness of gravity of cones on knife
    edges.) With the roll mu y, a point of contact slips across by k y' - V psi:

        m y'' + 2 k^2 f/V y' + (c + c_g) y - 2 k f psi - I_y mu V/r psi' = 0
        I psi'' + 2 f b^2/V psi' + (c_yaw - W taper (b - taper r)) psi + 2 f b taper k/r y + I_y mu V/r y' = 0

    At the critical speed two roots are i w: real and imaginary part of the determinant are an equation for V^2.
    """
    b, r, taper, f, W = data["b"], data["r"], data["taper"], data["f"], data["m"] * data["g"]
    mu, k = taper / (b - taper * r), b / (b - taper * r)
    circle, length = b / np.sin(2 * np.arctan(taper)), r + b * taper
    m, inertia, g = data["m"] + data["I"] * mu**2, data["I"], data["I_y"] * mu / r
    d_y, d_psi, c, e = 2 * k**2 * f, 2 * f * b**2, 2 * k * f, 2 * f * b * taper * k / r
    k_y = data["k"] + W * (4 * circle - length) / (2 * circle - length) ** 2
    k_psi = data["k_yaw"] - W * taper * (b - taper * r)
    x = np.polynomial.Polynomial([0.0, 1.0])
    square = ((d_y * k_psi + d_psi * k_y) + g * (c + e) * x) / (m * d_psi + inertia * d_y)
    real = ((k_y - m * square) * (k_psi - inertia * square) + c * e) * x - (d_y * d_psi + g**2 * x**2) * square
    speed = min(root.real for root in real.roots() if abs(root.imag) < 1e-9 and root.real > 0)
    return sqrt(speed), sqrt(square(speed))


@pytest.mark.parametrize(("y", "z", "yaw", "roll"), [(0.0, 0.45, 0.0, 0.0), (0.004, 0.452, 0.02, -0.003)])
@pytest.mark.parametrize("side", [1, -1])
def test_wheel_and_rail_touch_where_the_least_height_between_them_is(
    y: float, z: float, yaw: float, roll: float, side: int
) -> None:
    axle = np.array([-np.sin(yaw) * np.cos(roll), np.cos(yaw) * np.cos(roll), np.sin(roll)])
    forward = np.array([np.cos(yaw), np.sin(yaw), 0.0])
    up = np.cross(forward, axle)

    def wheel(s: Any) -> Any:
        return 0.45 - 0.06 * s + 0.8 * s**2

    def rail(s: Any) -> Any:
        return (0.3**2 - (s - 0.01) ** 2) ** 0.5 - 0.3

    def height(x: npt.NDArray[np.float64]) -> float:
        s, psi = x
        r = side * (0.75 + s) * axle + wheel(s) * (np.sin(psi) * forward - np.cos(psi) * up)
        return float(z + r[2] - rail(side * (y + r[1]) - 0.75))

    options = {"xatol": 1e-12, "fatol": 1e-15, "maxiter": 4000}
    least = minimize(height, [0.0, 0.0], method="Nelder-Mead", options=options)
    found = touch(side, ca.SX([0, y, z]), ca.SX(axle), ca.SX(0.75), wheel, rail, (ca.SX(0.07), ca.SX(0.07)))
    assert float(ca.DM(found.gap)) == pytest.approx(least.fun, abs=1e-12)
    assert float(ca.DM(found.s_wheel)) == pytest.approx(least.x[0], abs=1e-6)


def shown(system: System, q: list[float], v: list[float]) -> dict[str, float]:
    """Return the outputs in a state, without a run."""
    dae = derive(system, "joint")
    p = dae.p_default()
    a, lambda_ = dae.acceleration(q, v, [], [], p, 0.0)
    y = np.array(dae.output(q, v, [], [], a, lambda_, [], p, 0.0)).ravel()
    return dict(zip((item.name for item in dae.outputs), y.tolist(), strict=True))


def test_a_standing_wheelset_presses_with_half_its_weight_over_the_cosine_of_the_contact_angle() -> None:
    found = shown(sprung(20.0, {**DATA, "taper": 0.1}), [0, 0, 0.45, 0, 0, 0], [0, 0, 0, 0, 0, 20.0 / 0.45])
    half = DATA["m"] * DATA["g"] / 2 * sqrt(1 + 0.1**2)
    assert (found["track.left.N"], found["track.right.N"]) == pytest.approx((half, half), rel=1e-12)


@pytest.mark.parametrize("saturation", ["linear", "shen", "tanh"])
def test_weight_and_cut_force_of_the_track_accelerate_a_free_wheelset(saturation: str) -> None:
    system = sprung(20.0, {**DATA, "k": 0.0, "k_yaw": 0.0, "d": 0.0}, saturation=saturation)
    found = shown(system, [0, 0, 0.45, 0, 0, 0], [0.01, 0.003, 0, 2e-3, 0, 20.0 / 0.45])
    weight = {3: DATA["m"] * DATA["g"]}
    pulled = [DATA["m"] * found[f"wheels.a_0[{k}]"] + weight.get(k, 0.0) for k in (1, 2, 3)]
    cut = [-found[f"track.frame_b.f[{k}]"] for k in (1, 2, 3)]
    assert max(map(abs, pulled[:2])) > 100.0
    assert cut == pytest.approx(pulled, rel=1e-9, abs=1e-6)


@pytest.mark.further
def test_joint_and_absolute_coordinates_give_one_motion() -> None:
    spring = Bushing("spring", c=(4e5, 4e5, 0.0), d=(0.0, 1e4, 0.0))
    track = next(item for item in sprung(20.0).components if isinstance(item, WheelsetOnTrack))
    system = System(
        "free",
        (
            World(g=9.81, n=(0, 0, -1)),
            Body(
                "wheels", m=1000.0, I_11=600.0, I_22=80.0, I_33=600.0, r_0=(0.0, 3e-3, None),
                v_0=(0.0, None, None), w_a=(None, 20.0 / 0.45, None),
            ),
            spring,
            replace(track, v=20.0, saturation="shen"),
        ),
        (
            connect("world.frame_b", "track.frame_a"),
            connect("wheels.frame_a", "track.frame_b"),
            connect("world.frame_b", "spring.frame_a"),
            connect("wheels.frame_a", "spring.frame_b"),
        ),
    )  # fmt: skip
    results = [
        mbfmu.simulate(system, 0.1, stepper="radau", step=1e-3, coordinates=name) for name in ("joint", "absolute")
    ]
    for name in ("wheels.r_0[2]", "wheels.v_0[2]", "track.left.N", "track.right.nu_1"):
        mine, other = (result[name] for result in results)
        assert mine == pytest.approx(other, rel=1e-6, abs=1e-9)


def boxed(v: float) -> System:
    """Return a wheelset in axle boxes on a bushing, which coordinates of every kind take."""
    track = next(item for item in sprung(v).components if isinstance(item, WheelsetOnTrack))
    return System(
        "boxed",
        (
            World(g=9.81, n=(0, 0, -1)),
            FreeMotion("place", r_rel=(0, 0, 0.45), Q_rel=(1, 0, 0, 0), v_rel=(0, 0, 0), w_rel=(0, 0, 0)),
            Body("boxes", m=100.0, I_11=50.0, I_22=10.0, I_33=50.0),
            Bushing("spring", c=(4e5, 4e5, 0), d=(1e3, 1e3, 0), c_phi_2=1e4, c_phi_3=1e6, d_phi_2=1e2),
            Revolute("axle", n=(0, 1, 0), phi=0.0, w="v/0.45"),
            Body("wheels", m=1000.0, I_11=600.0, I_22=80.0, I_33=600.0),
            replace(track, saturation="shen"),
        ),
        (
            connect("world.frame_b", "place.frame_a"),
            connect("place.frame_b", "boxes.frame_a"),
            connect("world.frame_b", "spring.frame_a"),
            connect("boxes.frame_a", "spring.frame_b"),
            connect("boxes.frame_a", "axle.frame_a"),
            connect("axle.frame_b", "wheels.frame_a"),
            connect("world.frame_b", "track.frame_a"),
            connect("wheels.frame_a", "track.frame_b"),
        ),
        parameters=(Parameter("v", v, "m/s", "speed"),),
    )


def test_a_wheelset_has_the_eigenvalues_of_joint_coordinates_in_absolute_ones() -> None:
    joint, absolute = (mbfmu.modes(boxed(20.0), coordinates=name).linear for name in ("joint", "absolute"))
    one, other = (np.sort_complex(item.eigenvalues) for item in (joint, absolute))
    assert len(absolute.coordinates) > len(joint.coordinates)
    lasting = np.abs(one) > 1.0
    np.testing.assert_allclose(other[lasting], one[lasting], rtol=1e-8)
    assert np.abs(other[~lasting]).max() < 1e-6  # the turn of the wheels
    assert lasting.sum() == len(one) - 1


@pytest.mark.slow
def test_the_critical_speed_is_the_same_in_absolute_coordinates() -> None:
    speeds = [mbfmu.locus(boxed(20.0), {"v": (50.0, 150.0, 400.0)}, coordinates=name) for name in ("joint", "absolute")]
    (one,), (other,) = (item.critical for item in speeds)
    assert other.value == pytest.approx(one.value, rel=1e-8)
    assert other.eigenvalue.imag == pytest.approx(one.eigenvalue.imag, rel=1e-8)


def test_a_conical_wheelset_runs_in_klingels_waves() -> None:
    data = {**DATA, "k": 0.0, "k_yaw": 0.0, "taper": 0.005, "f": 1e9}
    (hunting,) = eigenvalues(sprung(1.0, data))[:1]
    wave = 2 * pi * sqrt(data["r"] * data["b"] / data["taper"])
    assert 2 * pi / hunting.imag == pytest.approx(wave, rel=5e-3)


def test_the_critical_speed_is_that_of_textbook_equations_up_to_the_square_of_the_taper() -> None:
    errors = []
    for taper in (0.02, 0.04):
        data = {**DATA, "taper": taper}
        speed, frequency = hand_critical(data)
        system = sprung(0.9 * speed, data)
        (critical,) = mbfmu.locus(system, {"v": (0.9 * speed, 1.1 * speed)}).critical
        assert critical.eigenvalue.imag == pytest.approx(frequency, rel=2e-2 * taper)
        assert critical.unstable == (0, 2)
        errors.append(abs(critical.value / speed - 1))
    assert errors[0] < 1e-3
    assert errors[0] < errors[1]


def test_creep_forces_stay_linear_at_first_and_end_at_the_limit_of_friction() -> None:
    force, limit = ca.SX.sym("force", 2), 3.0
    for law in (shen, tanh):
        share = ca.Function("share", [force], [law(force, ca.SX(limit)) * force])
        assert np.array(share([3e-9, 4e-9])).ravel() == pytest.approx([3e-9, 4e-9], rel=1e-8)
        assert float(ca.norm_2(share([30.0, 40.0]))) == pytest.approx(limit)
        slope = ca.Function("slope", [force], [ca.jacobian(law(force, ca.SX(limit)) * force, force)])
        assert np.array(slope([0.0, 0.0])) == pytest.approx(np.eye(2))
    shares = ca.Function("shen", [force], [shen(force, ca.SX(limit))])
    u = 0.5  # Johnson and Vermeulen: 1 - (1 - u/3)^3 of the limit
    assert float(shares([u * limit, 0.0])) * u == pytest.approx(1 - (1 - u / 3) ** 3)


def test_the_published_accelerations_of_the_test_set_hold_up_to_the_digits_of_its_multipliers() -> None:
    dae = derive(published(), "joint")
    q = [1.1241e-06, 0.0014941, 4.0089e-07, -2.8573e-4, 2.6459e-4, 0.0]
    a, lambda_ = dae.acceleration(q, [0, 0, 0, 0, 0, 300.0], [], [], dae.p_default(), 0.0)
    names = [name.rpartition(".")[0] + ".a" for name in dae.coordinates]
    assert np.array(lambda_).ravel() == pytest.approx(REFERENCE["multipliers"], abs=2e-3)
    assert np.array(a).ravel() == pytest.approx([REFERENCE["begin"][name] for name in names], abs=1.5e-3)


@pytest.mark.slow
@pytest.mark.long
def test_the_wheelset_of_the_test_set_reaches_its_published_state() -> None:
    result = mbfmu.simulate(published(), REFERENCE["t"], stepper="radau", step=2.5e-4, output_interval=0.1)
    end = [result[name][-1] for name in REFERENCE["names"]]
    assert end[:5] == pytest.approx(REFERENCE["end"][:5], abs=1e-8)
    assert end == pytest.approx(REFERENCE["end"], abs=1e-6)
    places = REFERENCE["places"]
    assert [result[name][-1] for name in places] == pytest.approx(list(places.values()), abs=1e-6)


def last_swing(system: System, **values: float) -> float:
    """Return the largest lateral displacement in the last of ten seconds, m."""
    result = mbfmu.simulate(system, 10.0, step=1e-3, output_interval=2e-3, values=values)
    return float(np.abs(result["lateral.s"][result.time > 9.0]).max())


@pytest.mark.slow
def test_the_wheelset_of_parts_hunts_as_far_as_that_of_the_test_set_and_calms_at_a_lower_speed() -> None:
    system = mbfmu.load("wheelset")
    assert isinstance(system, System)
    assert last_swing(system) == pytest.approx(last_swing(published()), rel=0.03)
    (critical,) = mbfmu.locus(system, {"v": (20.0, 30.0)}, {"lateral.s": 0.0, "along.s": 0.0, "yaw.phi": 0.0}).critical
    assert last_swing(system, v=0.8 * critical.value) < 1e-5


@pytest.mark.further
@pytest.mark.parametrize(("stepper", "step"), [("projected", 1e-4), ("rattle", 2e-5), ("generalized_alpha", 1e-4)])
def test_steppers_of_any_kind_find_one_motion(stepper: str, step: float) -> None:
    mine, other = (
        mbfmu.simulate("wheelset", 0.2, stepper=name, step=h, output_interval=0.01)
        for name, h in ((stepper, step), ("gauss", 5e-4))
    )
    for name in ("lateral.s", "yaw.phi", "along.s"):
        assert mine[name] == pytest.approx(other[name], abs=1e-7)
    assert mine["track.left.N"][1:] == pytest.approx(other["track.left.N"][1:], rel=1e-5)


@pytest.mark.further
def test_gradients_of_a_run_with_creep_forces_are_those_of_differences() -> None:
    run = mbfmu.Sensitivity(
        "wheelset", 0.1, ["c", "v", "lateral.s"], outputs=["lateral.s"], stepper="gauss", step=1e-3, output_interval=0.1
    )
    outputs, pullback = run.pullback()
    weights = np.zeros_like(outputs)
    weights[-1] = 1.0
    for number, change in enumerate((1.0, 1e-4, 1e-7)):
        step = np.eye(3)[number] * change
        ends = [run.outputs(run.values + sign * step)[-1, 0] for sign in (1, -1)]
        assert pullback(weights).values[number] == pytest.approx((ends[0] - ends[1]) / (2 * change), rel=1e-5)


@pytest.mark.further
def test_a_wheelset_that_leaves_its_rails_ends_the_motion_with_a_message() -> None:
    with pytest.raises((StepError, StartError), match="'track' has lost a rail"):
        mbfmu.simulate("wheelset", 1.0, values={"lateral.v": 3.0})


@pytest.mark.slow
def test_an_fmu_of_a_wheelset_moves_as_the_model(tmp_path: Path) -> None:
    path = mbfmu.export("wheelset", tmp_path / "wheelset.fmu", step=1e-3)
    model, fmu = (mbfmu.simulate(item, 0.5, output_interval=0.01) for item in ("wheelset", path))
    for name in ("lateral.s", "yaw.w", "track.left.N", "track.right.f_2"):
        assert fmu[name] == pytest.approx(model[name], rel=1e-9, abs=1e-12)


def test_advice_on_failed_steps_names_the_track() -> None:
    assert "'track' has lost a rail" in remedies(prepare(sprung(20.0), "radau", None, 1e-3))["NOT_FINITE"]


@pytest.mark.parametrize("wrong", [{"reach_wheel": 1e-3}, {"rail": "0"}, {"rail": "s**2"}])
def test_a_start_without_a_place_of_contact_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(StartError, match="reach of a profile or where the rail is not curved"):
        mbfmu.modes(sprung(20.0, lateral=5e-3, **wrong))


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"mu": float("nan")}, ValueRangeError),
        ({"half_gauge": 0.0}, ValueRangeError),
        ({"v": float("inf")}, ValueRangeError),
        ({"wheel": float("nan")}, ValueRangeError),
        ({"rail": "1 +"}, ExpressionError),
        ({"saturation": "cubic"}, ModelError),
    ],
)
def test_values_that_make_no_sense_are_refused(wrong: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=r"track|1 \+"):
        WheelsetOnTrack("track", **wrong)


def lifted(saturation: str = "linear", **more: float) -> System:
    """Return the sprung wheelset under a weight that acts upwards."""
    system = sprung(20.0, saturation=saturation, **more)
    parts = (replace(item, n=(0, 0, 1)) if isinstance(item, World) else item for item in system.components)
    return replace(system, components=tuple(parts))


@pytest.mark.parametrize("more", [{}, {"f_11": 0.0, "f_22": 0.0}])
def test_a_rail_that_would_pull_is_refused_by_every_tool(more: dict[str, float]) -> None:
    for tool in (mbfmu.modes, mbfmu.equilibrium, mbfmu.linearize):
        with pytest.raises(MbfmuError, match="not finite"):
            tool(lifted(**more))
    with pytest.raises(StartError, match="'track' has lost a rail"):
        mbfmu.simulate(lifted(**more), 0.01, step=1e-3)


@pytest.mark.further
def test_a_wheelset_tips_where_the_moment_is_that_of_its_weight_about_the_other_rail() -> None:
    """By hand, without creep and springs aside: m g times the distance of the rail, which the taper shortens."""
    system = sprung(20.0)
    tipped = replace(
        system,
        components=(*system.components, WorldTorque("tip")),
        connections=(*system.connections, connect("roll.frame_b", "tip.frame_b")),
    )
    with pytest.raises(StepError, match="'track' has lost a rail") as caught:
        mbfmu.simulate(tipped, 1.0, step=1e-3, inputs={"tip.t[1]": "2e4*time"})
    found = re.search(r"no step from t = ([\d.]+) s", str(caught.value))
    assert found is not None
    arm = DATA["b"] - DATA["taper"] * DATA["r"]
    assert float(found[1]) == pytest.approx(DATA["m"] * DATA["g"] * arm / 2e4, rel=2e-3)


def test_inverse_dynamics_of_creep_forces_are_refused() -> None:
    with pytest.raises(UsageError, match="such as creep forces of wheels"):
        mbfmu.inverse(sprung(20.0), {"lateral.s": "0", "along.s": "0", "yaw.phi": "0", "spin.phi": "20/0.45*time"}, 0.1)


def test_a_track_in_the_plane_is_refused() -> None:
    system = System(
        "flat",
        (World(), Body("wheels", m=1.0, I_33=1.0), WheelsetOnTrack("track")),
        (connect("world.frame_b", "track.frame_a"), connect("wheels.frame_a", "track.frame_b")),
        planar=True,
    )
    with pytest.raises(ModelError, match="spatial"):
        derive(system)


def test_creep_forces_beside_gaps_are_refused() -> None:
    system = sprung(20.0)
    ball = Body(
        "ball",
        m=1.0,
        I_11=1.0,
        I_22=1.0,
        I_33=1.0,
    )
    fall, floor = FreeMotion("fall", r_rel=(0.0, 0.0, 5.0)), SphereOnPlane("floor", radius=1.0)
    system = replace(
        system,
        components=(*system.components, ball, fall, floor),
        connections=(
            *system.connections,
            connect("world.frame_b", "fall.frame_a"),
            connect("fall.frame_b", "ball.frame_a"),
            connect("world.frame_b", "floor.frame_a"),
            connect("ball.frame_a", "floor.frame_b"),
        ),
    )
    with pytest.raises(ModelError, match=r"'floor'.*creep forces"):
        derive(system)

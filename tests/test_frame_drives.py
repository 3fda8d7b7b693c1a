"""Drives between two frames, the stop of an angle, and limits of what several forces put on an axis."""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mbfmu
from mbfmu.dae import Dae, derive
from mbfmu.errors import MbfmuError, ModelError, UnknownNameError, ValueRangeError
from mbfmu.model import (
    AffineDrive,
    AffineThruster,
    AngularStop,
    AxesEffortLimit,
    Body,
    Component,
    CrankDrive,
    EffortLimit,
    FilteredPoseDrive,
    Frame,
    IntegratedCrankDrive,
    PoseDrive,
    Prismatic,
    Revolute,
    Rope,
    Spherical,
    System,
    World,
    connect,
)
from mbfmu.model.frame import Pose

SEEDS = range(3)
TURNED = {"Q_rel": (math.cos(0.4), 0.0, math.sin(0.4), 0.0), "w_rel": (0.0, 0.0, 0.0)}


def ball(*more: Component, on: dict[str, str] | None = None, **start: Any) -> System:
    """A body on a ball joint, without weight."""
    parts = (World(g=0.0), Spherical("ball", **(start or TURNED)), Body("body", m=1.0, I_11=0.2, I_22=0.3, I_33=0.4))
    ends = [("world.frame_b", "ball.frame_a"), ("ball.frame_b", "body.frame_a")]
    for item in more:
        names = on or {"frame_a": "ball.frame_a", "frame_b": "ball.frame_b"}
        ends += [(names[frame], f"{item.name}.{frame}") for frame in item.frames]
    return System("ball", (*parts, *more), tuple(connect(*pair) for pair in ends))


def arm(*more: Component, **ends: str) -> System:
    """A body that slides along a hinged one, without weight."""
    heavy = {"I_11": 0.2, "I_22": 0.3, "I_33": 0.4}
    parts = (
        World(g=0.0),
        Revolute("hinge", n=(0.0, 0.0, 1.0), phi=0.3, w=0.0),
        Body("one", m=2.0, **heavy),
        Prismatic("rail", n=(1.0, 0.0, 0.0), s=0.7, v=0.0),
        Body("two", m=1.0, **heavy),
    )
    wires = [("world.frame_b", "hinge.frame_a"), ("hinge.frame_b", "one.frame_a"), ("hinge.frame_b", "rail.frame_a")]
    wires += [("rail.frame_b", "two.frame_a"), *((other, frame.replace("__", ".")) for frame, other in ends.items())]
    return System("arm", (*parts, *more), tuple(connect(*pair) for pair in wires))


def forces(system: System, u: Any = (), q: Any = (0.3, 0.7), v: Any = (0.0, 0.0)) -> Any:
    """Generalised forces on the hinge and the rail."""
    dae: Dae = derive(system, "joint")
    assert dae.coordinates == ["hinge.phi", "rail.s"] or list(dae.coordinates) == ["hinge.phi", "rail.s"]
    still = np.array(dae.equations.force(q, v, [], np.zeros(len(dae.inputs)), dae.p_default(), 0.0)).ravel()
    return np.array(dae.equations.force(q, v, [], u, dae.p_default(), 0.0)).ravel() - still


def test_a_limit_holds_the_sum_of_the_drives_of_a_joint_and_leaves_other_joints_alone() -> None:
    drives = (
        AffineDrive("one_drive", joints=("hinge",), ratios=(2.0,)),
        AffineDrive("both", joints=("hinge", "rail"), ratios=(1.0, -3.0)),
    )
    limit = EffortLimit("limit", joint="hinge", forces=("one_drive", "both"), lower=-1.0, upper=2.5)
    for u, expected in (((1.0, 0.3), (2.3, -0.9)), ((4.0, 0.3), (2.5, -0.9)), ((-4.0, 0.3), (-1.0, -0.9))):
        np.testing.assert_allclose(forces(arm(*drives, limit), u), expected, atol=1e-14)


def test_a_limit_counts_forces_from_afar_by_their_moment_about_the_joint() -> None:
    """A jet at 0.7 m on the rail, across it with 3 N and along it with 5 N; a rope of 2 N from there to the ground."""
    jet = AffineThruster("jet", force=(5.0, 3.0, 0.0), torque=(0.0, 0.0, 0.4))
    rope, pull = Rope("rope"), AffineDrive("pull", joints=("rope",), ratios=(-2.0,))
    ends = {"jet__frame_b": "two.frame_a", "rope__frame_1": "two.frame_a", "rope__frame_2": "world.frame_b"}
    carried = ("jet.frame_b", "rope.frame_1")
    limits = (
        EffortLimit("of_hinge", joint="hinge", forces=("jet", "pull"), carried=carried, lower=-9.0, upper=1.5),
        EffortLimit("of_rail", joint="rail", forces=("jet", "pull"), carried=carried, lower=-9.0, upper=2.0),
    )
    free = forces(arm(jet, rope, pull, **ends), (1.0, 1.0))
    np.testing.assert_allclose(free, (0.7 * 3.0 + 0.4, 5.0 - 2.0), atol=1e-14)
    np.testing.assert_allclose(forces(arm(jet, rope, pull, *limits, **ends), (1.0, 1.0)), (1.5, 2.0), atol=1e-14)
    np.testing.assert_allclose(forces(arm(jet, rope, pull, *limits, **ends), (0.2, 1.0)), (0.5, 1.0 - 2.0), atol=1e-14)


def test_a_limit_holds_in_absolute_coordinates_too() -> None:
    jet = AffineThruster("jet", force=(5.0, 3.0, 0.0))
    limit = EffortLimit("limit", joint="hinge", forces=("jet",), carried=("jet.frame_b",), lower=-1.0, upper=1.0)
    system = arm(jet, limit, jet__frame_b="two.frame_a")
    runs = [mbfmu.simulate(system, 0.5, coordinates=kind, inputs={"jet.u": 1.0}) for kind in ("joint", "absolute")]
    np.testing.assert_allclose(runs[0]["limit.tau"], 1.0 - 3.0 * runs[0]["rail.s"], atol=1e-9)
    np.testing.assert_allclose(runs[0]["hinge.phi"][-1], runs[1]["hinge.phi"][-1], rtol=1e-4)


def test_a_limit_of_a_tendon_is_met_before_that_of_its_joints() -> None:
    axes: dict[str, Any] = {"joints": ("hinge", "rail"), "ratios": (2.0, 1.0)}
    drives = (AffineDrive("first", **axes), AffineDrive("second", **axes))
    names = ("first", "second")
    tendon = AxesEffortLimit("tendon", **axes, forces=names, lower=-3.0, upper=3.0)
    joint = EffortLimit("joint", joint="hinge", forces=(*names, "tendon"), lower=-5.0, upper=5.0)
    np.testing.assert_allclose(forces(arm(*drives, tendon), (2.0, 2.0)), (6.0, 3.0), atol=1e-14)
    np.testing.assert_allclose(forces(arm(*drives, tendon, joint), (2.0, 2.0)), (5.0, 3.0), atol=1e-14)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("resolve", ["frame_a", "frame_b"])
def test_a_drive_of_a_pose_turns_about_its_torque_in_the_axes_asked_for(seed: int, resolve: str) -> None:
    """The power is ``(gain u - c torque . theta) torque . w``, with the axes of the torque by scipy."""
    rng = np.random.default_rng(seed)
    Q = rng.normal(size=4)
    Q /= np.linalg.norm(Q)
    torque, c = (0.5, -1.0, 2.0), 3.0
    drive = PoseDrive("drive", torque=torque, resolve=resolve, gain=4.0, bias_s=-c)
    w = rng.normal(size=3)
    a, b = still((0, 0, 0), (1, 0, 0, 0)), replace(still((0, 0, 0), Q), w_0=ca.SX(w))
    s, v = drive.measured(a, b)
    theta = 2 * math.acos(abs(Q[0])) * math.copysign(1, Q[0]) * Q[1:] / np.linalg.norm(Q[1:])
    R = Rotation.from_quat(Q, scalar_first=True).as_matrix() if resolve == "frame_b" else np.eye(3)
    assert float(s) == pytest.approx(np.dot(torque, theta), abs=1e-12)
    assert float(v) == pytest.approx((R @ torque) @ w, abs=1e-12)
    p = SimpleNamespace(u=0.7, **{item: getattr(drive, item) for _, item, _ in drive.declared()})
    ((rate, effort),) = drive.efforts(p, a, b)
    assert float(rate) == float(v)
    assert float(effort) == pytest.approx(4.0 * 0.7 - c * np.dot(torque, theta), abs=1e-12)


def still(r: Any, Q: Any) -> Frame:
    return Frame(Pose(ca.SX(list(r)), ca.SX(ca.DM(list(map(float, Q))))), ca.SX(3, 1), ca.SX(3, 1))


def test_the_input_of_a_servo_of_an_angle_counts_up_to_full_turns() -> None:
    drive = PoseDrive("drive", torque=(0.0, 1.0, 0.0), period=2 * math.pi)
    for u, s, expected in ((6.0, 0.0, 6.0 - 2 * math.pi), (-3.5, 0.1, -3.5 + 2 * math.pi), (2.0, 1.0, 2.0)):
        assert float(drive.nearest(ca.SX(u), ca.SX(s))) == pytest.approx(expected)


@pytest.mark.parametrize("L", [0.9, 0.2])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_rate_of_a_slider_crank_is_that_of_its_length(L: float, seed: int) -> None:
    """The slider on z is as high as the pin less the rise of the rod, or just as high if the rod is too short."""
    rng = np.random.default_rng(seed)
    x = np.array([0.3, 0.2, 0.5]) + 0.05 * rng.normal(size=3)
    drive = CrankDrive("drive", L=L, gear=2.0)
    symbols, rates = ca.SX.sym("x", 12), rng.normal(size=12)
    r_a, turn, r_b, _ = ca.vertsplit(symbols, 3)
    Q = ca.vertcat(1, turn / 2)
    v = ca.SX(rates)
    a, b = Frame(Pose(r_a, Q), v[:3], v[3:6]), Frame(Pose(r_b, ca.SX([1, 0, 0, 0])), v[6:9], v[9:])
    s, v_s = drive.measured(a, b)
    at = np.concatenate([np.zeros(6), x, np.zeros(3)])
    length, slope, rate = (
        np.array(item).ravel() for item in ca.Function("f", [symbols], [s, ca.jacobian(s, symbols), v_s])(at)
    )
    d = L**2 - x[0] ** 2 - x[1] ** 2
    assert (d > 0) == (L == 0.9)
    assert length[0] == pytest.approx(2 * (x[2] - math.sqrt(max(d, 0))))
    assert rate[0] == pytest.approx(slope @ rates)


def test_a_stop_of_an_angle_turns_a_body_back_about_any_axis_and_takes_energy() -> None:
    n = np.array([1.0, 2.0, -0.5]) / math.sqrt(5.25)
    stop = AngularStop("stop", upper=0.6, c=400.0, d=40.0)
    system = ball(stop, Q_rel=(1.0, 0.0, 0.0, 0.0), w_rel=tuple(map(float, 3 * n)))
    run = mbfmu.simulate(system, 0.6, stepper="radau", step=1e-3)
    angle = 2 * np.arccos(np.clip(np.abs(run["ball.Q_rel[1]"]), 0, 1))
    kinetic = run["energy.kinetic"]
    assert 0.6 < angle.max() < 0.6 + math.sqrt(2 * kinetic[0] / 400.0)
    assert angle[-1] < 0.6
    assert kinetic[-1] < 0.95 * kinetic[0]


MISTAKES: dict[str, tuple[Any, type[MbfmuError], str]] = {
    "torque": (lambda: PoseDrive("x", torque=(1.0,)), ValueRangeError, "must be three finite numbers"),
    "resolve": (lambda: PoseDrive("x", resolve="world"), UnknownNameError, "names no frame"),
    "observer": (lambda: FilteredPoseDrive("x", observer="word"), UnknownNameError, "did you mean 'world'"),
    "period": (lambda: PoseDrive("x", period=-1.0), ValueRangeError, "a finite number of at least 0"),
    "rod": (lambda: IntegratedCrankDrive("x", L=0.0), ValueRangeError, "must be a positive finite number"),
    "limits": (lambda: EffortLimit("x", joint="a", lower=2.0, upper=1.0), ValueRangeError, "swap them"),
    "axes limits": (lambda: AxesEffortLimit("x", lower=2.0, upper=1.0), ValueRangeError, "swap them"),
    "force": (
        lambda: derive(arm(EffortLimit("x", joint="hinge", forces=("gone",))), "joint"),
        UnknownNameError,
        "holds a force 'gone', which is not there",
    ),
    "no force": (
        lambda: derive(arm(EffortLimit("x", joint="hinge", forces=("one",))), "joint"),
        ModelError,
        "holds the sum of forces, and 'one' is none",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told(name: str) -> None:
    make, error, message = MISTAKES[name]
    with pytest.raises(error, match=message):
        make()

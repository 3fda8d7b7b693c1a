"""The consistent start: start values met, loops closed, contradictions refused."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from harness import examples
from hypothesis import given
from hypothesis import strategies as st
from interpreted import Interpreted
from mechanisms import EVERY, slider_crank, spatial_four_bar, spatial_two_link

import mbfmu
from mbfmu.dae import Dae, derive, start
from mbfmu.errors import ModelError, StartError
from mbfmu.kernel import compose, vector
from mbfmu.kernel.runtime import OK
from mbfmu.model import (
    Block,
    Body,
    BodyShape,
    Connection,
    Coordinate,
    Defined,
    FixedTranslation,
    FreeMotion,
    Joint,
    LagrangianSystem,
    Parameter,
    Pose,
    Prismatic,
    Revolute,
    Spherical,
    State,
    System,
    World,
    connect,
    guess,
)
from mbfmu.model.frame import SX, Frame
from mbfmu.prepared.prepare import prepare
from mbfmu.stepper import make_scheme

Array = npt.NDArray[np.float64]

NAMES = sorted(EVERY)
TREES = sorted(set(EVERY) - {"slider_crank", "spatial_four_bar"})
CONSISTENT = 1e-12
"""m or rad: the assembly is Newton's method, so that what it leaves is round-off (promised: 1e-9)."""


@dataclass(frozen=True)
class Ready:
    """The equations of a mechanism with a kernel that needs no compiler."""

    dae: Dae
    kernel: Interpreted


def ready_of(system: System, coordinates: str = "absolute") -> Ready:
    dae = derive(system, coordinates)
    return Ready(dae, Interpreted(compose(dae, make_scheme(dae, "direct"))))


@cache
def prepared(name: str) -> Ready:
    return ready_of(EVERY[name]())


def started(ready: Ready, **starts: float) -> dict[str, float]:
    """All outputs at the start with some start values replaced; dots are written as double underscores."""
    names = [item.name for item in ready.dae.start.starts]
    s = ready.dae.s_default()
    for name, value in starts.items():
        s[names.index(name.replace("__", "."))] = value
    return outputs_of(ready, s)


def outputs_of(ready: Ready, s: Array, t: float = 0.0) -> dict[str, float]:
    p, u = vector(ready.dae.p_default()), vector([0.0] * len(ready.dae.inputs))
    x, status = ready.kernel.initialize(vector(s), u, p, t, 1e-3)
    assert status.code == OK, status
    y = ready.kernel.outputs(x, u, p, t)
    return dict(zip((item.name for item in ready.dae.outputs), y, strict=False))


def at_start(system: System, coordinates: str = "absolute") -> dict[str, float]:
    """All outputs of a system at t = 0."""
    ready = ready_of(system, coordinates)
    return outputs_of(ready, ready.dae.s_default())


def refusal(system: System) -> str:
    """What the StartError of a system says."""
    with pytest.raises(StartError) as caught:
        prepare(system, "direct", None, 1e-3).initial_state()
    return str(caught.value)


def state(ready: Ready, s: Array) -> tuple[Array, Array]:
    """The coordinates and velocities of start values."""
    p, u = vector(ready.dae.p_default()), vector([0.0] * len(ready.dae.inputs))
    x, status = ready.kernel.initialize(vector(s), u, p, 0.0, 1e-3)
    assert status.code == OK
    x_scheme = np.array(x)[: 2 * ready.dae.n]
    return x_scheme[: ready.dae.n], x_scheme[ready.dae.n :]


def matrix(value: Any) -> Array:
    return np.array(ca.DM(value), dtype=float)


def unit(values: Mapping[str, float], name: str, s: Array, dae: Dae) -> dict[str, float]:
    """The quaternion a joint was asked for, normalised, by output name."""
    names = [item.name for item in dae.start.starts]
    labels = [f"{name}[{k}]" for k in range(1, 5)]
    Q = np.array([s[names.index(label)] for label in labels])
    assert set(labels) <= values.keys()
    return dict(zip(labels, (Q / np.linalg.norm(Q)).tolist(), strict=True))


# -- start values are met -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_start_meets_the_constraints_at_both_levels(name: str) -> None:
    shown = started(prepared(name))
    assert shown["constraint.position"] < CONSISTENT
    assert shown["constraint.velocity"] < CONSISTENT


@pytest.mark.parametrize("name", TREES)
def test_joints_of_a_tree_start_where_and_as_fast_as_they_are_told(name: str) -> None:
    ready = prepared(name)
    names = [item.name for item in ready.dae.start.starts]
    rng = np.random.default_rng(7)
    for _ in range(5):
        s = rng.uniform(-2, 2, len(names))
        shown = outputs_of(ready, s)
        wanted = dict(zip(names, s.tolist(), strict=True))
        for label in names:
            if label.endswith("Q_rel[1]"):
                wanted |= unit(shown, label.removesuffix("[1]"), s, ready.dae)
        for label, value in wanted.items():
            assert shown[label] == pytest.approx(value, abs=1e-12), label
        assert shown["constraint.position"] < CONSISTENT
        assert shown["constraint.velocity"] < CONSISTENT


@pytest.mark.parametrize("name", TREES)
def test_the_guess_of_a_tree_is_its_pose(name: str) -> None:
    dae = prepared(name).dae
    rng = np.random.default_rng(3)
    for _ in range(5):
        s, p = rng.uniform(-2, 2, len(dae.start.starts)), dae.p_default()
        q = dae.start.guess(s, p, 0.0)
        assert np.abs(matrix(dae.constraints.Phi(q, p, 0.0))).max() < 1e-14
        assert np.abs(matrix(dae.start.positions(q, s, p, 0.0))).max() < 1e-13


@pytest.mark.parametrize("N", [4, 24])
@pytest.mark.parametrize("spatial", [True, False], ids=["space", "plane"])
def test_the_rates_of_all_joints_of_a_chain_give_the_velocities_of_its_bodies(N: int, spatial: bool) -> None:
    """At once, as corrections from rest take the longer the more links hang on the first joint."""
    dae = derive(mbfmu.load("chain", {"N": N, "spatial": spatial}), "absolute")
    rng = np.random.default_rng(5)
    s, p = rng.uniform(-1, 1, len(dae.start.starts)), dae.p_default()
    q = dae.start.guess(s, p, 0.0)
    assert dae.start.rate_guess
    v = dae.start.rate_guess(s, p, 0.0)
    size = np.abs(matrix(v)).max()
    assert size > 0.1
    assert (
        np.abs(matrix(dae.constraints.Phi_q(q, p, 0.0) @ v + dae.constraints.Phi_t(q, p, 0.0))).max() < 1e-14 * N * size
    )
    assert np.abs(matrix(dae.start.rates(q, v, s, p, 0.0))).max() < 1e-14 * N * size


def test_a_long_chain_starts_with_the_rates_of_all_its_joints() -> None:
    rates = {f"joint{number}.w": 0.1 * math.sin(number) for number in range(1, 129)}
    shown = at_start(mbfmu.load("chain", {"N": 128}).with_values(rates))
    assert {name: shown[name] for name in rates} == pytest.approx(rates, abs=1e-11)


def test_rates_that_some_joints_leave_free_have_no_guess() -> None:
    system = spatial_two_link()
    assert derive(system, "absolute").start.rate_guess
    for other in (system.with_values({"elbow.w": None}), slider_crank()):
        assert derive(other, "absolute").start.rate_guess is None
    assert derive(system, "joint").start.rate_guess is None


@pytest.mark.parametrize("phi", [0.0, 3.5, -6.2, 6.5, 7.0, -9.0, 12.0, 13.0, -20.0, 100.0])
def test_a_start_angle_counts_turns_in_the_plane_and_in_space(phi: float) -> None:
    for planar in (True, False):
        body = Body("disc", m=1.0, I_11=0.1, I_22=0.1, I_33=0.1)
        ends = (connect("world.frame_b", "spin.frame_a"), connect("spin.frame_b", "disc.frame_a"))
        top = System("top", (World(), Revolute("spin", phi=phi, w=0.0), body), ends, planar=planar)
        shown = at_start(top)
        assert shown["spin.phi"] == pytest.approx(phi, abs=1e-12)


@pytest.mark.parametrize("x", [0.0, 1e-300, 1e-20, 0.01, 0.0116, 0.1, -2.5])
def test_a_body_starts_wherever_it_is_told(x: float) -> None:
    """Some coordinates are at rest at once, while others go on to the smallest numbers there are."""
    dae = derive(mbfmu.load("chaplygin_sleigh", {"sleigh.r_0[1]": x}))
    q = np.array(start.assembled(dae, list(dae.s_default()), list(dae.p_default()), 0.0)).ravel()
    assert q == pytest.approx([x + 0.3, 0.0, 0.0], rel=1e-15, abs=1e-28)  # its centre of mass lies 0.3 m ahead


def test_start_values_left_free_are_zero_in_a_tree() -> None:
    system = spatial_two_link().with_values(
        {"shoulder.phi": None, "shoulder.w": None, "elbow.phi": None, "elbow.w": None}
    )
    shown = at_start(system)
    for label in ("shoulder.phi", "shoulder.w", "elbow.phi", "elbow.w", "energy.kinetic"):
        assert shown[label] == pytest.approx(0.0, abs=1e-15)


def test_start_velocities_left_free_take_the_least_kinetic_energy() -> None:
    """Against the minimum of v M v/2 under the constraints and the rates asked for, by a KKT system in NumPy."""
    for system in (
        spatial_two_link().with_values({"elbow.w": None, "shoulder.w": 1.5, "elbow.phi": 0.8}),
        spatial_four_bar(),
    ):
        ready = ready_of(system)
        dae, s, p = ready.dae, ready.dae.s_default(), ready.dae.p_default()
        q, v = state(ready, s)
        rates = ca.SX.sym("v", dae.n)
        asked = ca.Function("asked", [rates], [ca.jacobian(dae.start.rates(q, rates, s, p, 0.0), rates)])
        C = np.vstack([matrix(dae.constraints.Phi_q(q, p, 0.0)), matrix(asked(0))])
        right = np.concatenate(
            [-matrix(dae.constraints.Phi_t(q, p, 0.0)).ravel(), -matrix(dae.start.rates(q, 0 * v, s, p, 0.0)).ravel()]
        )
        M, rows = matrix(dae.equations.M(q, p)), len(C)
        K = np.block([[M, C.T], [C, np.zeros((rows, rows))]])
        expected = np.linalg.solve(K, np.concatenate([0 * v, right]))[: dae.n]
        np.testing.assert_allclose(v, expected, atol=1e-9)
        assert np.abs(v).max() > 0.1


def test_a_start_value_follows_the_parameters_in_its_expression() -> None:
    def leaning(lean: float) -> System:
        return System(
            "leaning",
            (World(), Revolute("hinge", phi="2*lean", w="lean/4"), Body("bob", m=1.0, I_33=0.1)),
            (connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", "bob.frame_a")),
            (Parameter("lean", lean, "rad"),),
            planar=True,
        )

    for lean in (0.1, -0.6):
        shown = at_start(leaning(lean))
        assert (shown["hinge.phi"], shown["hinge.w"]) == pytest.approx((2 * lean, lean / 4), abs=1e-15)


@pytest.mark.parametrize("length", [1e-3, 0.5, 1.0, 7.0, 1e3])
def test_a_quaternion_start_is_normalised(length: float) -> None:
    Q = np.array([0.9, 0.1, -0.2, 0.3])
    Q /= np.linalg.norm(Q)
    inertia = {"I_11": 0.1, "I_22": 0.2, "I_33": 0.25}
    for joint in (Spherical("ball", Q_rel=tuple(length * Q)), FreeMotion("ball", Q_rel=tuple(length * Q))):
        ends = (connect("world.frame_b", "ball.frame_a"), connect("ball.frame_b", "bob.frame_a"))
        shown = at_start(System("gyro", (World(), joint, Body("bob", m=1.0, **inertia)), ends))
        found = [shown[f"ball.Q_rel[{k}]"] for k in range(1, 5)]
        np.testing.assert_allclose(found, Q, atol=1e-15)
        np.testing.assert_allclose([shown[f"bob.Q[{k}]"] for k in range(1, 5)], Q, atol=1e-15)


def test_a_quaternion_start_of_zeros_is_refused() -> None:
    ends = (connect("world.frame_b", "ball.frame_a"), connect("ball.frame_b", "bob.frame_a"))
    body = Body("bob", m=1.0, I_11=0.1, I_22=0.1, I_33=0.1)
    text = refusal(System("gyro", (World(), Spherical("ball", Q_rel=(0, 0, 0, 0)), body), ends))
    assert "gyro: the start values give coordinates that are not finite: ball.Q_rel[1] = 0" in text


# -- loops ----------------------------------------------------------------------------------------------------------


def test_a_slider_crank_is_closed_at_every_crank_angle() -> None:
    """s = l1 cos phi +- sqrt(l2^2 - l1^2 sin^2 phi), one of the two ways to put it together; and its rate."""
    ready = prepared("slider_crank")
    for phi in np.linspace(-math.pi, math.pi, 73):
        shown = started(ready, crank__phi=phi, crank__w=1.3)
        root = math.sqrt(4 - math.sin(phi) ** 2)
        side = math.copysign(1.0, shown["slider.s"] - math.cos(phi))
        assert shown["crank.phi"] == pytest.approx(phi, abs=1e-12)
        assert shown["slider.s"] == pytest.approx(math.cos(phi) + side * root, abs=1e-10)
        speed = 1.3 * (-math.sin(phi) - side * math.sin(phi) * math.cos(phi) / root)
        assert shown["slider.v"] == pytest.approx(speed, abs=1e-10)
        assert max(shown["constraint.position"], shown["constraint.velocity"]) < CONSISTENT


def test_a_slider_crank_near_stretched_starts_on_the_stretched_side() -> None:
    for phi in np.linspace(-1.2, 1.2, 25):
        assert started(prepared("slider_crank"), crank__phi=phi)["slider.s"] > math.cos(phi)


def test_a_spatial_four_bar_is_closed_at_every_crank_angle_it_can_have() -> None:
    """The tip of the crank and that of the rocker, each in closed form, stay 1.5 m apart."""
    ready = prepared("spatial_four_bar")
    n = np.array([0, -0.6, 0.8])
    for phi in np.linspace(-1.7, 2.0, 25):
        shown = started(ready, crank__phi=phi)
        tip = 0.5 * np.array([math.cos(phi), math.sin(phi), 0])
        turn, y = shown["rocker.phi"], np.array([0, 1.0, 0])
        swung = y * math.cos(turn) + np.cross(n, y) * math.sin(turn) + n * (n @ y) * (1 - math.cos(turn))
        assert shown["crank.phi"] == pytest.approx(phi, abs=1e-12)
        assert np.linalg.norm(np.array([2.0, 0, 0.3]) + swung - tip) == pytest.approx(1.5, abs=1e-10)
        assert max(shown["constraint.position"], shown["constraint.velocity"]) < CONSISTENT


@pytest.mark.parametrize("phi", [1.2, math.pi / 2, -math.pi / 2, 1.9])
def test_a_loop_that_cannot_close_is_refused_with_its_joints(phi: float) -> None:
    text = refusal(slider_crank(crank_phi=phi, l1=1.0, l2=0.8))
    loop = text.removeprefix("slider_crank: the loop ").split(" cannot be closed")[0]
    assert sorted(loop.split(" - ")) == ["crank", "pin", "rod", "slider"]
    assert f"crank.phi = {phi:g}" in text
    assert "check the lengths" in text


@pytest.mark.parametrize("excess", [1e-3, 1e-6])
def test_a_loop_that_fails_to_close_by_little_is_refused(excess: float) -> None:
    system = slider_crank(crank_phi=math.pi / 2, l1=1.0, l2=1.0 - excess)
    assert "cannot be closed" in refusal(system)
    ready = ready_of(system)
    s, p = vector(ready.dae.s_default()), vector(ready.dae.p_default())
    _, status = ready.kernel.initialize(s, vector([0.0]), p, 0.0, 1e-3)
    assert status.code != OK


def test_contradictory_start_values_of_two_joints_of_a_loop_are_refused() -> None:
    text = refusal(slider_crank().with_values({"slider.s": 0.5}))
    for part in ("crank", "slider", "cannot be closed", "crank.phi = 0.7", "slider.s = 0.5", "leave start values in "
                 "the loop free (such as --free crank.phi)"):  # fmt: skip
        assert part in text


def test_contradictory_start_velocities_are_refused() -> None:
    text = refusal(slider_crank().with_values({"slider.v": 0.5}))
    for part in ("start velocities contradict", "crank.w = 0", "slider.v = 0.5", "leave some of them free"):
        assert part in text


def closed_form(phi: float, w: float) -> dict[str, float]:
    """All joints of the slider-crank (l1 = 1, l2 = 2) in closed form."""
    rod = -phi - math.asin(math.sin(phi) / 2)
    rod_w = -w - w * math.cos(phi) / 2 / math.cos(phi + rod)
    s = math.cos(phi) + 2 * math.cos(phi + rod)
    v = -w * math.sin(phi) - 2 * (w + rod_w) * math.sin(phi + rod)
    return {
        "crank.phi": phi, "crank.w": w, "rod.phi": rod, "rod.w": rod_w,
        "pin.phi": -phi - rod, "pin.w": -w - rod_w, "slider.s": s, "slider.v": v,
    }  # fmt: skip


@pytest.mark.parametrize("phi", [0.3, 0.7, -1.1, 1.4])
def test_redundant_start_values_that_agree_are_accepted(phi: float) -> None:
    wanted = closed_form(phi, 1.7)
    shown = at_start(slider_crank().with_values(wanted))
    for name, value in wanted.items():
        assert shown[name] == pytest.approx(value, abs=1e-9), name
    assert max(shown["constraint.position"], shown["constraint.velocity"]) < CONSISTENT


@pytest.mark.parametrize("name", ["rod.phi", "pin.phi", "slider.s", "rod.w", "pin.w", "slider.v"])
def test_one_redundant_start_value_that_disagrees_is_refused(name: str) -> None:
    wanted = closed_form(0.7, 1.7)
    kind = "velocities contradict" if name.endswith((".w", ".v")) else "cannot be closed"
    assert kind in refusal(slider_crank().with_values({**wanted, name: wanted[name] + 1e-4}))


@pytest.mark.parametrize(("position", "rate"), [("rod.phi", "rod.w"), ("pin.phi", "pin.w"), ("slider.s", "slider.v")])
@pytest.mark.parametrize("phi", [0.7, -1.1])
def test_any_one_joint_of_a_loop_may_be_given(position: str, rate: str, phi: float) -> None:
    wanted = closed_form(phi, 1.7)
    free = {"crank.phi": None, "crank.w": None, position: wanted[position], rate: wanted[rate]}
    shown = at_start(slider_crank().with_values(free))
    assert shown[position] == pytest.approx(wanted[position], abs=1e-11)
    assert shown[rate] == pytest.approx(wanted[rate], abs=1e-11)
    assert max(shown["constraint.position"], shown["constraint.velocity"]) < CONSISTENT


def test_the_start_is_the_same_for_every_stepper() -> None:
    shown = [
        mbfmu.simulate(slider_crank(), 1e-3, stepper=stepper, step=1e-3).values[0]
        for stepper in ("direct", "rattle", "local", "gauss")
    ]
    for other in shown[1:]:
        np.testing.assert_allclose(other, shown[0], atol=1e-12)


def with_a_square(number: float) -> float:
    """The number, or zero if its square is so small that it has fewer digits."""
    return number if abs(number) > 1e-140 else 0.0


@given(phi=st.floats(-1e6, 1e6).map(with_a_square), w=st.floats(-1e3, 1e3))
@examples(2, derandomize=True)
def test_any_crank_angle_starts_consistently(phi: float, w: float) -> None:
    shown = started(prepared("slider_crank"), crank__phi=phi, crank__w=w)
    assert shown["constraint.position"] < 1e-9
    assert shown["crank.phi"] == pytest.approx(phi, rel=1e-12, abs=1e-12)


@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=2))
@examples(0.6, derandomize=True)
def test_any_start_values_give_a_state_or_a_start_error(values: list[float]) -> None:
    ready = prepared("slider_crank")
    dae = ready.dae
    p, u = vector(dae.p_default()), vector([0.0])
    x, status = ready.kernel.initialize(vector(values), u, p, 0.0, 1e-3)
    if status.code == OK:
        assert np.isfinite(np.array(x)).all()
    else:
        assert not np.array(x).any()


# -- guesses --------------------------------------------------------------------------------------------------------


def test_a_guess_chooses_the_way_in_which_a_loop_closes() -> None:
    root = math.sqrt(4 - math.sin(0.7) ** 2)
    for coordinates in ("absolute", "joint"):
        for turn, side in ((-1.0, 1), (2.5, -1)):
            shown = at_start(slider_crank().with_values({"rod.phi": guess(turn)}), coordinates)
            assert shown["crank.phi"] == pytest.approx(0.7, abs=1e-12)
            assert shown["slider.s"] == pytest.approx(math.cos(0.7) + side * root, abs=1e-10)
            assert max(shown["constraint.position"], shown["constraint.velocity"]) < CONSISTENT


def test_a_guess_in_a_tree_is_where_the_joint_starts() -> None:
    for planar in (True, False):
        body = Body("disc", m=1.0, I_11=0.1, I_22=0.1, I_33=0.1)
        ends = (connect("world.frame_b", "spin.frame_a"), connect("spin.frame_b", "disc.frame_a"))
        top = System("top", (World(), Revolute("spin", phi=guess(7.0)), body), ends, planar=planar)
        assert at_start(top)["spin.phi"] == pytest.approx(7.0, abs=1e-12)  # with its full turn


def test_a_guess_follows_the_parameters_in_its_expression() -> None:
    parameters = (*slider_crank().parameters, Parameter("lean", 2.0, "rad"))
    system = replace(slider_crank(), parameters=parameters).with_values({"rod.phi": guess("1.25*lean")})
    assert at_start(system)["slider.s"] < math.cos(0.7)
    assert at_start(system.with_values({"lean": -0.8}))["slider.s"] > math.cos(0.7)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("rod.w", "guess(1)", "a rate has no guess; leave it out"),
        ("l1", "guess(1)", "only a start value has a guess"),
        ("link.m", "guess(1)", "only a start value has a guess"),
        ("rod.phi", "guess(sin()", "cannot read the expression"),
        ("rod.phi", "guess(1/0)", "give a finite number"),
    ],
)
def test_a_guess_elsewhere_or_of_nonsense_is_refused(name: str, value: str, reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        ready_of(slider_crank().with_values({name: value}))


# -- one start value freed, another given ---------------------------------------------------------------------------


def test_one_start_value_can_be_freed_and_another_given() -> None:
    """s = l1 cos phi + sqrt(l2^2 - l1^2 sin^2 phi), solved for phi; the old value of phi chooses its sign."""
    for s, sign in ((2.5, 1), (2.5, -1)):
        old = slider_crank().with_values({"crank.phi": sign * 0.7})
        for coordinates in ("absolute", "joint"):
            shown = at_start(old.with_values({"slider.s": s}, free=["crank.phi"]), coordinates)
            assert shown["slider.s"] == pytest.approx(s, abs=1e-12)
            assert shown["crank.phi"] == pytest.approx(sign * math.acos((1 + s**2 - 4) / (2 * s)), abs=1e-9)


def test_a_rate_that_is_freed_is_left_out() -> None:
    """The slider's speed is then met by the crank's: v = -w sin phi (1 + cos phi / root)."""
    shown = at_start(slider_crank().with_values({"slider.v": -0.8}, free=["crank.w"]))
    root = math.sqrt(4 - math.sin(0.7) ** 2)
    assert shown["slider.v"] == pytest.approx(-0.8, abs=1e-11)
    assert shown["crank.w"] == pytest.approx(0.8 / (math.sin(0.7) * (1 + math.cos(0.7) / root)), abs=1e-9)


def test_a_vector_and_an_entry_of_it_can_be_freed() -> None:
    ends = (connect("world.frame_b", "free.frame_a"), connect("free.frame_b", "bob.frame_a"))
    joint = FreeMotion("free", r_rel=(1.0, 2.0), v_rel=(0.1, 0.2), phi=0.3)
    system = System("loose", (World(), joint, Body("bob", m=1.0, I_33=0.1)), ends, planar=True)
    freed = system.with_values({}, free=["free.r_rel[2]", "free.v_rel"])
    assert freed.components[1] == replace(joint, r_rel=(1.0, "guess(2.0)"), v_rel=(None, None))
    assert freed.with_values({}, free=["free.r_rel"]).components[1] == replace(
        joint, r_rel=("guess(1.0)", "guess(2.0)"), v_rel=(None, None)
    )


@pytest.mark.parametrize(
    ("name", "reason"),
    [("l1", "'l1' is a parameter"), ("link.m", "'link.m' is a parameter"), ("crank.ph", "did you mean 'phi'")],
)
def test_what_is_no_start_value_is_not_freed(name: str, reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        slider_crank().with_values({}, free=[name])


def test_a_state_of_a_block_is_never_free() -> None:
    block = Block("lag", states=(State("x", "-x"),), defined=(Defined("y", "x", output=True),))
    with pytest.raises(ModelError, match="'x' cannot be free: 'lag' is a block"):
        block.with_values({}, free=["x"])


def test_a_coordinate_of_a_lagrangian_can_be_freed_too() -> None:
    bead = LagrangianSystem(
        "bead",
        (Coordinate("x", "m", 0.6, 0.0), Coordinate("y", "m", -0.8, 0.0)),
        "(der(x)**2 + der(y)**2)/2",
        "9.81*y",
        ("x**2 + y**2 - 1",),
    )
    for y in (-0.6, 0.6):
        run = mbfmu.simulate(bead.with_values({"y": y}, free=["x", "der(x)"]), 1e-3, stepper="direct")
        assert (run["x"][0], run["y"][0]) == pytest.approx((0.8, y), abs=1e-12)
    with pytest.raises(StartError, match="contradict"):
        mbfmu.simulate(bead.with_values({"y": 0.6}), 1e-3, stepper="direct")


# -- nine digits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phi", [0.3, 0.7, -1.1, 1.4])
@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_start_values_of_nine_digits_are_met_to_nine_digits_and_the_constraints_to_round_off(
    phi: float, coordinates: str
) -> None:
    """Measured: constraints to 7e-13 m or rad."""
    wanted = {name: float(f"{value:.9g}") for name, value in closed_form(phi, 1.7).items()}
    shown = at_start(slider_crank().with_values(wanted), coordinates)
    for name, value in wanted.items():
        assert abs(shown[name] - value) < 1e-8 * max(1, abs(value)), name
    assert max(shown["constraint.position"], shown["constraint.velocity"]) < 1e-11


def test_start_values_that_give_way_are_told_with_what_they_give() -> None:
    exact, wanted = closed_form(0.7, 1.7), {}
    for name, value in exact.items():
        wanted[name] = value + (8e-9 if name == "slider.s" else 0.0)
    with pytest.warns(UserWarning, match=r"nine digits only, and moved to close the loops: .*slider\.s by [0-9]e-09"):
        prepare(slider_crank().with_values(wanted), "direct", None, 1e-3).initial_state()


@pytest.mark.parametrize("name", ["rod.phi", "slider.s", "rod.w", "slider.v"])
def test_a_start_value_that_misses_by_more_is_refused(name: str) -> None:
    wanted = closed_form(0.7, 1.7)
    assert "slider_crank" in refusal(slider_crank().with_values({**wanted, name: wanted[name] + 1e-6}))


# -- branches -------------------------------------------------------------------------------------------------------


def notices(system: System, coordinates: str | None = None) -> tuple[str, ...]:
    """What is told about the start of a system."""
    return prepare(system, "direct", None, 1e-3, 0.0, coordinates).outline.notices


def two_links_to_a_pin(lean: float) -> System:
    """Two links of 1 m from the origin to a pin at (1.2, 0): the elbow is above or below; it begins at `lean`."""
    arm = {"r": (1.0, 0.0), "r_CM": (0.5, 0.0), "m": 1.0, "I_33": 0.1}
    return System(
        "reach",
        (
            World(),
            Revolute("shoulder", phi=guess(lean)),
            BodyShape("upper", **arm),
            Revolute("elbow", phi=guess(-2 * lean)),
            BodyShape("lower", **arm),
            Revolute("pin"),
            FixedTranslation("foot", r=(1.2, 0.0)),
        ),
        (
            connect("world.frame_b", "shoulder.frame_a"),
            connect("shoulder.frame_b", "upper.frame_a"),
            connect("upper.frame_b", "elbow.frame_a"),
            connect("elbow.frame_b", "lower.frame_a"),
            connect("lower.frame_b", "pin.frame_a"),
            connect("pin.frame_b", "foot.frame_b"),
            connect("foot.frame_a", "world.frame_b"),
        ),
        planar=True,
    )


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_two_closed_poses_about_as_near_to_the_guess_are_both_told(coordinates: str) -> None:
    (text,) = notices(two_links_to_a_pin(0.0), coordinates)
    up = math.acos(0.6)
    for part in ("reach: the loops close in two ways", f"elbow.phi = {2 * up:.4g}", f"elbow.phi = {-2 * up:.4g}"):
        assert part in text
    with pytest.warns(UserWarning, match="the loops close in two ways"):
        prepare(two_links_to_a_pin(0.0), "direct", None, 1e-3, 0.0, coordinates).initial_state()


def test_the_guesses_that_a_notice_names_choose_the_other_pose() -> None:
    system = two_links_to_a_pin(0.0)
    (text,) = notices(system)
    advice = text.partition("To choose the other, give ")[2]
    found = {name: f"guess({value})" for name, value in re.findall(r'([\w.]+) = "guess\(([-\d.e]+)\)"', advice)}
    other = system.with_values(found)
    assert notices(other) == ()
    assert math.copysign(1, at_start(other)["elbow.phi"]) == -math.copysign(1, at_start(system)["elbow.phi"])


def test_a_pose_nearer_to_the_guesses_than_the_one_taken_is_told() -> None:
    """The slider closes the loop in the tree of joints, so that its guess places no body."""
    (text,) = notices(slider_crank().with_values({"slider.s": guess(-1.1)}), "joint")
    assert re.search(r"slider\.s = 2\.658.* is taken, .*slider\.s = -1\.129.* is nearer to the guesses", text)


@pytest.mark.parametrize("turn", [-1.0, 0.0, 0.87, 2.0, 3.0])
@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_no_guess_keeps_a_loop_open(turn: float, coordinates: str) -> None:
    """0.87 rad is in the middle of the two ways to close it."""
    shown = at_start(slider_crank().with_values({"rod.phi": guess(turn)}), coordinates)
    assert shown["constraint.position"] < CONSISTENT
    assert shown["crank.phi"] == pytest.approx(0.7, abs=1e-12)


def test_a_guess_on_one_side_and_a_tree_are_told_nothing_about() -> None:
    assert notices(two_links_to_a_pin(0.5)) == ()
    assert notices(slider_crank()) == ()
    assert notices(slider_crank().with_values(closed_form(0.7, 0.0))) == ()
    assert notices(spatial_two_link()) == ()


# -- joints of a user -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Driven(Joint):
    """A planar revolute whose angle is sin(2 time)."""

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        return ca.vertcat(b.r_0 - a.r_0, b.phi - a.phi - ca.sin(2 * p.time))

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        return Pose(ca.SX(2, 1), ca.sin(2 * p.time))


@dataclass(frozen=True)
class Unplaced(Driven):
    """The same without a pose: the assembly has to find it."""

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        return Joint.pose(self, p, coordinates)


@dataclass(frozen=True)
class KnifeEdge(Joint):
    """frame_b does not slip along its y axis (planar)."""

    def velocity(self, p: Any, a: Frame, b: Frame) -> SX:
        return ca.dot(b.R @ ca.SX([0, 1]), b.v_0 - a.v_0)


def on_world(joint: Joint, *more: Joint) -> System:
    ends: list[Connection] = []
    for item in (joint, *more):
        ends += [connect("world.frame_b", f"{item.name}.frame_a"), connect(f"{item.name}.frame_b", "bob.frame_a")]
    return System("rig", (World(), joint, *more, Body("bob", m=1.0, I_33=0.1)), tuple(ends), planar=True)


@pytest.mark.parametrize("kind", [Driven, Unplaced])
def test_a_constraint_that_moves_is_met_at_any_start_time(kind: type[Joint]) -> None:
    ready = ready_of(on_world(kind("drive")))
    for t in (0.0, 0.4, 1.7, 30.0):
        shown = outputs_of(ready, ready.dae.s_default(), t)
        assert shown["bob.phi"] == pytest.approx(math.sin(2 * t), abs=1e-12)
        assert shown["bob.w"] == pytest.approx(2 * math.cos(2 * t), abs=1e-11)


def test_a_start_velocity_across_a_knife_edge_is_refused() -> None:
    across = on_world(FreeMotion("free", r_rel=(0, 0), v_rel=(0.2, 1.0), phi=0.0, w=0.0), KnifeEdge("blade"))
    text = refusal(across)
    assert "start velocities contradict the constraints" in text
    assert "free.v_rel[2] = 1" in text


def test_a_start_velocity_along_a_knife_edge_is_taken() -> None:
    along = on_world(
        FreeMotion("free", r_rel=(0, 0), v_rel=(0.6, 0.8), phi=math.atan2(4, 3), w=0.3), KnifeEdge("blade")
    )
    shown = at_start(along)
    assert (shown["bob.v_0[1]"], shown["bob.v_0[2]"]) == pytest.approx((0.6, 0.8), abs=1e-12)


def test_two_joints_side_by_side_that_contradict_each_other_are_refused_by_name() -> None:
    text = refusal(on_world(Revolute("hinge", phi=0.2), Prismatic("slide", s=0.5)))
    for part in ("rig:", "hinge", "slide", "hinge.phi = 0.2", "slide.s = 0.5"):
        assert part in text


def test_joints_that_say_the_same_twice_are_one_and_say_so() -> None:
    """Two hinges in one place: the constraints are consistent but redundant, and their forces not unique."""
    twice = ready_of(on_world(Revolute("hinge", phi=0.2, w=0.0), Revolute("twin")))
    assert len(twice.dae.redundant) == 2
    shared = {item.name for item in twice.dae.outputs if not item.unique}
    assert {"hinge.frame_b.f[1]", "twin.frame_b.f[1]"} <= shared
    once = outputs_of(ready_of(on_world(Revolute("hinge", phi=0.2, w=0.0))), np.array([0.2, 0.0]))
    both = outputs_of(twice, twice.dae.s_default())
    for name, value in once.items():
        if "frame_b" not in name:
            assert both[name] == pytest.approx(value, abs=1e-12), name


@pytest.mark.parametrize("kind", ["Revolute", "Prismatic", "FreeMotion", "Spherical"])
@pytest.mark.parametrize("planar", [True, False])
def test_a_joint_with_its_frame_b_on_the_world_starts_as_it_is_told(kind: str, planar: bool) -> None:
    if kind == "Spherical" and planar:
        kind = "Revolute"
    axis = (0.6, 0.8) if planar else (0.6, 0.0, 0.8)
    turn: dict[str, Any] = {"Q_rel": (0.5, 0.5, -0.5, 0.5), "w_rel": (0.3, -0.2, 0.1)}
    slide: dict[str, Any] = {"r_rel": (0.3, -0.4, 0.0 if planar else 0.5), "v_rel": (0.1, 0.2, 0.0)}
    joint: Joint = {
        "Revolute": lambda: Revolute("joint", n=(0, 0, 1) if planar else axis, phi=0.9, w=-0.7),
        "Prismatic": lambda: Prismatic("joint", n=axis, s=0.4, v=-0.3),
        "FreeMotion": lambda: FreeMotion("joint", **slide, **({"phi": 0.4, "w": 0.6} if planar else turn)),
        "Spherical": lambda: Spherical("joint", **turn),
    }[kind]()
    body = Body("bob", m=1.0, r_CM=(0.1, 0.2, 0), I_11=0.1, I_22=0.1, I_33=0.1)
    ends = (connect("world.frame_b", "joint.frame_b"), connect("joint.frame_a", "bob.frame_a"))
    ready = ready_of(System("hung", (World(), joint, body), ends, planar=planar))
    shown = outputs_of(ready, ready.dae.s_default())
    assert ready.dae.start.starts
    for item in ready.dae.start.starts:
        assert shown[item.name] == pytest.approx(item.value, abs=1e-12), item.name


def test_a_quaternion_and_its_negative_are_one_start_in_a_loop() -> None:
    shown = started(prepared("spatial_four_bar"))
    Q = {ball: np.array([shown[f"{ball}.Q_rel[{k}]"] for k in range(1, 5)]) for ball in ("s1", "s2")}
    ready = ready_of(spatial_four_bar().with_values({f"{ball}.Q_rel": tuple(Q[ball].tolist()) for ball in Q}))
    names = [item.name for item in ready.dae.start.starts]
    for ball in Q:
        s = ready.dae.s_default()
        for k in range(1, 5):
            s[names.index(f"{ball}.Q_rel[{k}]")] *= -1
        again = outputs_of(ready, s)
        for name in ("crank.phi", "rocker.phi", "b3.r_0[3]", "b2.frame_b.r_0[1]", "b2.frame_b.r_0[2]"):
            assert again[name] == pytest.approx(shown[name], abs=1e-9), name


@pytest.mark.parametrize("seed", range(6))
def test_a_long_jacobian_is_dependent_where_its_singular_values_say_so(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    C = np.where(rng.random((40, 60)) < 0.15, rng.normal(size=(40, 60)), 0.0)
    C[np.arange(40), np.arange(40)] += 2.0
    C *= 10.0 ** rng.integers(-1, 2, (40, 1))
    other = rng.normal(size=40) @ C
    monkeypatch.setattr(start, "FEW", 0)
    for rows, depends in (
        (C, False),
        (np.vstack([C, other]), True),
        (np.vstack([C, other + 1e-7 * np.abs(other).max() * rng.normal(size=60)]), True),
        (np.vstack([C, rng.normal(size=60)]), False),
        (np.vstack([C, C[3]]), True),
        (np.vstack([C, np.full(60, np.nan)]), False),
    ):
        assert start.are_dependent(ca.DM(ca.sparsify(ca.DM(rows)))) == depends
        assert (start.dependent(rows) > 0) == depends

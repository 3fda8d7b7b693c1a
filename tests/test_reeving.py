"""Ropes over sheaves and drums: lengths and pulls by hand, lifts, tackles, belts, a rope that winds up, pictures."""

import math
from typing import Any

import casadi as ca
import numpy as np
import pytest
from harness import Array
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from states import outputs, started

import mbfmu
from mbfmu.dae import derive
from mbfmu.errors import ValueRangeError
from mbfmu.model import (
    AxesEndStop,
    AxesSpring,
    Body,
    Component,
    FixedRotation,
    FixedTranslation,
    Parameter,
    PolynomialCoupling,
    Prismatic,
    Reeving,
    Revolute,
    Spring,
    System,
    World,
    connect,
)
from mbfmu.model.frame import Frame, Pose
from mbfmu.show.viewer import motion_of_model
from mbfmu.show.viewer.drawing import drawing_of
from mbfmu.show.viewer.exchanged import motion_of_scene, motion_of_strut
from mbfmu.show.viewer.page import scene_of

KINDS = ("joint", "absolute")


def frames_at(centres: list[tuple[float, ...]], turn: Rotation | None = None) -> list[Frame]:
    """Frames at rest at these points of the plane, or of space where all is turned."""
    if turn is None:
        return [Frame(Pose(ca.SX(list(r)), ca.SX(0)), ca.SX(2, 1), ca.SX(0)) for r in centres]
    Q = ca.SX(turn.as_quat(scalar_first=True).tolist())
    at = [turn.apply([*r, 0.0][:3]).tolist() for r in centres]
    return [Frame(Pose(ca.SX(r), Q), ca.SX(3, 1), ca.SX(3, 1)) for r in at]


class Radii:
    """The radii as a component has them."""

    def __init__(self, *radii: float) -> None:
        self.radii = radii


def measured(radii: tuple[float, ...], frames: list[Frame]) -> tuple[float, list[tuple[Array, Array]]]:
    """Length, and force and torque of a unit force on each frame."""
    item, p = Reeving("rope", radii=radii), Radii(*radii)
    pulls = [tuple(np.array(ca.evalf(part)).ravel() for part in pull) for pull in item.pulls(p, *frames)]
    return float(ca.evalf(item.motion(p, *frames).value)), [(force, torque) for force, torque in pulls]


def spans(radii: tuple[float, ...], centres: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Length and direction (angle, rad) of each span, by trigonometry."""
    found = []
    for (xa, ya), (xb, yb), R_a, R_b in zip(centres, centres[1:], radii, radii[1:], strict=False):
        D = math.hypot(xb - xa, yb - ya)
        found.append((math.sqrt(D**2 - (R_b - R_a) ** 2), math.atan2(yb - ya, xb - xa) - math.asin((R_b - R_a) / D)))
    return found


THREE = (0.0, -0.3, 0.2, 0.0), [(-1.0, -0.4), (0.0, 1.0), (1.1, 0.3), (2.0, 1.5)]


@pytest.mark.parametrize("turn", [None, Rotation.from_rotvec([0.4, -1.1, 0.6])], ids=["plane", "space"])
def test_a_rope_over_two_sheaves_is_as_long_as_its_spans_and_arcs_and_pulls_along_its_spans(
    turn: Rotation | None,
) -> None:
    """The gradient by a centre is the difference of the unit vectors of both spans: a shortest path, without arcs."""
    radii, centres = THREE
    length, pulls = measured(radii, frames_at(centres, turn))
    (l_1, d_1), (l_2, d_2), (l_3, d_3) = spans(radii, centres)
    assert length == pytest.approx(l_1 + l_2 + l_3 + 0.3 * (d_1 - d_2) + 0.2 * (d_3 - d_2), rel=1e-12)
    along = [np.array([math.cos(d), math.sin(d), 0.0]) for d in (d_1, d_2, d_3)]
    expected = [-along[0], along[0] - along[1], along[1] - along[2], along[2]]
    for (force, torque), vector in zip(pulls, expected, strict=True):
        assert force == pytest.approx(vector[:2] if turn is None else turn.apply(vector), abs=1e-12)
        assert torque == pytest.approx(np.zeros(torque.size), abs=1e-12)


def test_the_gradient_of_a_rope_in_space_is_that_of_its_length() -> None:
    """By differences, of points beside the plane of a sheave, and of a drum that turns."""
    radii, turn = (0.25, -0.3, 0.0), Rotation.from_rotvec([0.2, 0.5, -0.3])
    centres: list[tuple[float, ...]] = [(0.0, 0.0, 0.0), (1.0, 0.6, 0.1), (1.5, -1.0, 0.4)]
    frames = frames_at(centres, turn)
    _, pulls = measured(radii, frames)
    for index, (force, torque) in enumerate(pulls):
        for axis in range(6):
            ends = []
            for size in (1e-5, -1e-5):
                move = size * np.eye(6)[axis]
                moved = list(frames)
                moved[index] = frames[index].moved(ca.SX(move[:3].tolist()), ca.SX(move[3:].tolist()))
                ends.append(measured(radii, moved)[0])
            assert [*force, *torque][axis] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-8)


@pytest.mark.parametrize(("R", "r"), [(0.5, 0.2), (0.2, 0.35), (0.5, -0.2)], ids=["open", "larger", "crossed"])
def test_both_spans_of_a_belt_with_its_half_turns_are_as_long_as_by_the_formula(R: float, r: float) -> None:
    """``2 sqrt(D^2 - d^2) + pi (R + |r|) + 2 d asin(d / D)``, with d = R - r; crossed where r is negative.

    The second span arrives and leaves along the x axes of frames that look back.
    """
    D, d = 1.3, R - r
    back = [Frame(Pose(ca.SX(list(at)), ca.SX(math.pi)), ca.SX(2, 1), ca.SX(0)) for at in ((D, 0.0), (0.0, 0.0))]
    there, _ = measured((R, r), frames_at([(0.0, 0.0), (D, 0.0)]))
    home, _ = measured((r, R), back)
    expected = 2 * math.sqrt(D**2 - d**2) + math.pi * (R + abs(r)) + 2 * d * math.asin(d / D)
    assert there + home + math.pi * (R + abs(r)) == pytest.approx(expected, rel=1e-12)


# -- machines -------------------------------------------------------------------------------------------------------


def begun(system: System, kind: str) -> dict[str, float]:
    """All outputs at the start, by name."""
    dae = derive(system, kind)
    return outputs(dae, *started(dae), np.zeros(len(dae.inputs)))


def tied(name: str, length: float, **ratios: float | str) -> PolynomialCoupling:
    """A rope, and drums that wind it, which is neither slack nor elastic."""
    return PolynomialCoupling(name, joints_a=tuple(ratios), ratios_a=tuple(ratios.values()), a_0=length, c_1=0.0)


def planar(*items: Component, pairs: list[tuple[str, str]], parameters: tuple[Parameter, ...] = ()) -> System:
    links = tuple(connect(*pair) for pair in pairs)
    return System("machine", (World("world", g=10.0), *items), links, planar=True, parameters=parameters)


def hanging(name: str, x: float, m: float, **start: Any) -> tuple[list[Component], list[tuple[str, str]]]:
    """A load that slides up and down at x."""
    rail, slide = FixedTranslation(f"{name}_rail", r=(x, 0.0)), Prismatic(f"{name}_slide", n=(0, 1), **start)
    ends = ("world", f"{name}_rail", f"{name}_slide"), (f"{name}_rail", f"{name}_slide", name)
    pairs = [(f"{one}.frame_b", f"{other}.frame_a") for one, other in zip(*ends, strict=True)]
    return [rail, slide, Body(name, m=m, I_33=1.0)], pairs


def lift(J: float, *more: Component) -> System:
    """A cabin and a counterweight on both sides of a sheave of radius R, each on a rope of its own."""
    cabin, at_cabin = hanging("cabin", -0.4, 3.0, s=-2.0, v=0.0)
    weight, at_weight = hanging("weight", 0.4, 2.0)
    ropes = Reeving("left", radii=(0.0, "-R")), Reeving("right", radii=("-R", 0.0))
    wound = tied("left_tie", 2.5, left=1.0, hinge="-R"), tied("right_tie", 2.5, right=1.0, hinge="R")
    sheave = FixedTranslation("head", r=(0, 0.5)), Revolute("hinge", phi=None, w=None), Body("sheave", m=1.0, I_33=J)
    up, down = (
        FixedRotation("up", n=(0, 0, 1), angle=math.pi / 2),
        FixedRotation("down", n=(0, 0, 1), angle=-math.pi / 2),
    )
    pairs = [*at_cabin, *at_weight, ("world.frame_b", "head.frame_a"), ("head.frame_b", "hinge.frame_a"),
             ("hinge.frame_b", "sheave.frame_a"), ("head.frame_b", "up.frame_a"), ("head.frame_b", "down.frame_a"),
             ("cabin.frame_a", "left.frame_1"), ("up.frame_b", "left.frame_2"), ("down.frame_b", "right.frame_1"),
             ("weight.frame_a", "right.frame_2")]  # fmt: skip
    parameters = (Parameter("R", 0.4, "m", "radius of the sheave"),)
    return planar(*cabin, *weight, *sheave, up, down, *ropes, *wound, *more, pairs=pairs, parameters=parameters)


@pytest.mark.parametrize("kind", KINDS)
def test_a_lift_with_a_counterweight_falls_as_atwoods_machine_whose_sheave_has_inertia(kind: str) -> None:
    """a = g (m_1 - m_2) / (m_1 + m_2 + J / R^2); the ropes pull m_1 (g - a) and m_2 (g + a)."""
    J = 0.32
    values = begun(lift(J), kind)
    a = 10.0 * (3.0 - 2.0) / (3.0 + 2.0 + J / 0.4**2)
    assert values["cabin_slide.a"] == pytest.approx(-a, rel=1e-12)
    assert values["weight_slide.a"] == pytest.approx(a, rel=1e-12)
    assert values["hinge.a"] == pytest.approx(a / 0.4, rel=1e-12)
    assert abs(values["left_tie.f"]) == pytest.approx(3.0 * (10.0 - a), rel=1e-12)
    assert abs(values["right_tie.f"]) == pytest.approx(2.0 * (10.0 + a), rel=1e-12)


def wound_up(length: float, R: float) -> System:
    """A small load on a rope that is wound on a fixed drum at its upper end."""
    slides = Prismatic("x", n=(1, 0), s=R, v=1.2), Prismatic("y", n=(0, 1), s=-length, v=0.0)
    down = FixedRotation("down", n=(0, 0, 1), angle=-math.pi / 2)
    items = (
        *slides,
        Body("load", m=2.0, I_33=0.0),
        down,
        Reeving("rope", radii=(-R, 0.0)),
        tied("tie", length, rope=1.0),
    )
    pairs = [("world.frame_b", "x.frame_a"), ("x.frame_b", "y.frame_a"), ("y.frame_b", "load.frame_a"),
             ("world.frame_b", "down.frame_a"), ("down.frame_b", "rope.frame_1"),
             ("load.frame_a", "rope.frame_2")]  # fmt: skip
    return planar(*items, pairs=pairs)


def test_a_load_on_a_rope_that_winds_up_on_a_drum_moves_as_the_involute_pendulum() -> None:
    """``(l + R a) a'' + R a'^2 = -g sin a``, with the angle a by which the rope leaves the vertical."""
    length, R = 1.5, 0.25
    run = mbfmu.simulate(wound_up(length, R), 2.0, step=1e-3)
    a_0 = 1.2 / length

    def slope(_: float, x: Array) -> list[float]:
        return [x[1], -(10.0 * math.sin(x[0]) + R * x[1] ** 2) / (length + R * x[0])]

    known = solve_ivp(slope, (0, 2.0), [0.0, a_0], rtol=1e-11, atol=1e-12, t_eval=run.time, method="DOP853").y[0]
    free = length + R * known
    assert run["x.s"] == pytest.approx(R * np.cos(known) + free * np.sin(known), abs=1e-7)
    assert run["y.s"] == pytest.approx(R * np.sin(known) - free * np.cos(known), abs=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_a_tackle_with_two_falls_lifts_twice_what_pulls_it(kind: str) -> None:
    """Vertical falls of length y on both sides of the block's sheave: s = 2 y, so a = g (m_1 - 2 m_2)/(m_1 + 4 m_2)."""
    load, at_load = hanging("load", 0.0, 6.0, s=-3.0, v=0.0)
    weight, at_weight = hanging("weight", 0.6, 2.0, s=-2.0)
    eye, head = FixedTranslation("eye", r=(-0.2, 0.0)), FixedTranslation("head", r=(0.4, 0.0))
    rope = Reeving("rope", radii=(0.0, 0.2, -0.2, 0.0))
    pairs = [*at_load, *at_weight, ("world.frame_b", "eye.frame_a"), ("world.frame_b", "head.frame_a"),
             ("eye.frame_b", "rope.frame_1"), ("load.frame_a", "rope.frame_2"), ("head.frame_b", "rope.frame_3"),
             ("weight.frame_a", "rope.frame_4")]  # fmt: skip
    length = 3.0 + 3.0 + 2.0 + 2 * math.pi * 0.2
    machine = planar(*load, *weight, eye, head, rope, tied("tie", length, rope=1.0), pairs=pairs)
    values = begun(machine, kind)
    a = 10.0 * (6.0 - 2 * 2.0) / (6.0 + 4 * 2.0)
    assert values["weight_slide.s"] == pytest.approx(-2.0, rel=1e-12)
    assert values["load_slide.a"] == pytest.approx(-a, rel=1e-12)
    assert values["weight_slide.a"] == pytest.approx(2 * a, rel=1e-12)
    assert abs(values["tie.f"]) == pytest.approx(2.0 * (10.0 + 2 * a), rel=1e-12)


def belt(c: float) -> System:
    """Two pulleys on axles 1 m apart, joined by the two spans of an elastic belt without pretension."""
    pulleys: list[Component] = []
    pairs = []
    for name, x, J, start in (("one", 0.0, 0.4, {"phi": 0.0, "w": 3.0}), ("two", 1.0, 0.9, {"phi": 0.0, "w": 0.0})):
        pulleys += [FixedTranslation(f"{name}_axle", r=(x, 0.0)), Revolute(f"{name}_hinge", **start),
                    Body(name, m=1.0, I_33=J), FixedRotation(f"{name}_back", n=(0, 0, 1), angle=math.pi)]  # fmt: skip
        ends = ("world", f"{name}_axle", f"{name}_hinge"), (f"{name}_axle", f"{name}_hinge", name)
        pairs += [(f"{one}.frame_b", f"{other}.frame_a") for one, other in zip(*ends, strict=True)]
        pairs.append((f"{name}_axle.frame_b", f"{name}_back.frame_a"))
    there, home = Reeving("there", radii=("R_1", "R_2")), Reeving("home", radii=("R_2", "R_1"))
    free = math.sqrt(1 - 0.1**2) + 0.1 * math.asin(0.1)
    springs = [
        AxesSpring(f"{name}_spring", joints=(name, *hinges), ratios=(1.0, *ratios), c=c, lower=-100.0, upper=free)
        for name, hinges, ratios in (
            ("there", ("one_hinge", "two_hinge"), ("-R_1", "R_2")),
            ("home", ("two_hinge", "one_hinge"), ("-R_2", "R_1")),
        )
    ]
    pairs += [("one_axle.frame_b", "there.frame_1"), ("two_axle.frame_b", "there.frame_2"),
              ("two_back.frame_b", "home.frame_1"), ("one_back.frame_b", "home.frame_2")]  # fmt: skip
    radii = Parameter("R_1", 0.3, "m", "radius"), Parameter("R_2", 0.2, "m", "radius")
    return planar(*pulleys, there, home, *springs, pairs=pairs, parameters=radii)


def test_pulleys_on_an_elastic_belt_swing_against_each_other_whose_slack_span_does_not_push() -> None:
    """``x = R_1 phi_1 - R_2 phi_2`` swings with ``w^2 = c (R_1^2/J_1 + R_2^2/J_2)``: one span pulls at a time."""
    c, until = 5000.0, 0.4
    run = mbfmu.simulate(belt(c), until, step=1e-4)
    x = 0.3 * run["one_hinge.phi"] - 0.2 * run["two_hinge.phi"]
    w = math.sqrt(c * (0.3**2 / 0.4 + 0.2**2 / 0.9))
    assert x == pytest.approx(0.9 / w * np.sin(w * run.time), abs=1e-5)
    forces = run["there_spring.f"], run["home_spring.f"]
    assert all(force.max() < 1e-6 and force.min() < -1.0 for force in forces)


def test_a_rope_that_becomes_taut_jerks_both_its_ends_at_once_and_then_holds_them() -> None:
    """A load falls on a slack rope over a sheave to a weight at rest: m_1 v shared, then Atwood's acceleration."""
    load, at_load = hanging("load", -0.2, 2.0, s=-1.0, v=0.0)
    weight, at_weight = hanging("weight", 0.2, 3.0, s=-2.0, v=0.0)
    floor = AxesEndStop("floor", joints=("weight_slide",), ratios=(1.0,), lower=-2.0)
    rope = Reeving("rope", radii=(0.0, -0.2, 0.0))
    taut = AxesEndStop("taut", joints=("rope",), ratios=(1.0,), upper=3.0 + math.pi * 0.2 + 0.45)
    pairs = [*at_load, *at_weight, ("load.frame_a", "rope.frame_1"), ("world.frame_b", "rope.frame_2"),
             ("weight.frame_a", "rope.frame_3")]  # fmt: skip
    run = mbfmu.simulate(planar(*load, *weight, floor, rope, taut, pairs=pairs), 0.5, step=1e-3)
    fall = math.sqrt(2 * 0.45 / 10.0)  # it falls by the slack
    after = 2.0 * 10.0 * fall / 5.0
    t = run.time[run.time > fall + 1e-3] - fall
    assert run["weight_slide.v"][-t.size :] == pytest.approx(after - 2.0 * t, abs=1e-9)
    assert run["load_slide.v"][-t.size :] == pytest.approx(2.0 * t - after, abs=1e-9)
    assert run["taut.upper.f_n"][-1] == pytest.approx(2 * 10.0 * 2.0 * 3.0 / 5.0, rel=1e-9)


def test_a_rope_without_two_ends_is_told() -> None:
    with pytest.raises(ValueRangeError, match=r"rope\.radii = \(0\.1,\) must have from 2 to 1000 radii, one for each"):
        Reeving("rope", radii=(0.1,))


# -- pictures -------------------------------------------------------------------------------------------------------


def test_a_picture_shows_the_spans_of_a_rope_from_where_they_leave_a_sheave_and_the_sheave_itself() -> None:
    """Both ropes of a lift are plumb, one radius beside the axle; they end at the cabin and at the counterweight."""
    motion = motion_of_model(lift(0.3), 0.1, step=1e-3, output_interval=0.01)
    scene = scene_of(motion)
    _, r, turns = motion_of_scene(scene)
    left, right = (item for item in scene["struts"] if item["role"] == "rope")
    for item, foot, x in ((left, "cabin", -0.4), (right, "weight", 0.4)):
        start, _, scale = motion_of_strut(item, r, turns)
        assert np.allclose(start[:, 0], x, atol=1e-6)
        assert np.allclose(scale[:, 2], 0.5 - motion.result[f"{foot}.r_0[2]"], atol=1e-6)
    (sheave,) = (item for item in drawing_of(motion).solids if item.role == "joint" and item.sizes["radius"] > 0.3)
    assert np.allclose(sheave.sizes["at"][:2], (0.0, 0.5), atol=1e-9)


def test_a_picture_shows_a_spring_between_its_frames() -> None:
    load, pairs = hanging("load", 0.3, 1.0, s=-1.0, v=0.0)
    pairs += [("world.frame_b", "spring.frame_a"), ("load.frame_a", "spring.frame_b")]
    motion = motion_of_model(planar(*load, Spring("spring", c=50.0, s_unstretched=0.9), pairs=pairs), 0.1)
    (item,) = (item for item in drawing_of(motion).struts if item.role == "rope")
    assert (item.near, item.far, item.winds) == ("", "load", (0.0, 0.0))
    assert np.allclose(motion.track("load", item.to[:2])[0], (0.3, -1.0), atol=1e-9)

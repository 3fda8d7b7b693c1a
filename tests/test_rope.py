"""Ropes through points: axes of their lengths, on which forces and couplings act; drag; rotors of ball joints."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from states import outputs, started

from mbfmu.dae import derive
from mbfmu.errors import ModelError, UnknownNameError, ValueRangeError
from mbfmu.model import (
    AxesSpring,
    Body,
    BoxDrag,
    CartesianFriction,
    Component,
    CutForce,
    EllipsoidFluid,
    FixedTranslation,
    FreeMotion,
    Gear,
    PolynomialCoupling,
    Prismatic,
    Revolute,
    Rope,
    Spherical,
    SpringDamper,
    System,
    TranslationalRotor,
    TranslationalSpring,
    World,
    connect,
)

KINDS = ("joint", "absolute")


def two_links(*more: Component, J: float = 0.0, **ends: str) -> System:
    """A rod on a hinge with another one on a ball at its end; `ends` names frames to connect, with __ for the dot."""
    inertia: dict[str, Any] = {"I_11": 0.1, "I_22": 0.2, "I_33": 0.15}
    components = (
        World("world"),
        Revolute("hinge", n=(0, 1, 0), phi=0.3, w=0.2),
        Body("rod", m=1.5, r_CM=(0.2, 0, 0.1), **inertia),
        FixedTranslation("elbow", r=(0.5, 0, 0.1)),
        Spherical("ball", Q_rel=(1, 0.1, 0.2, 0.05), w_rel=(0.4, -0.3, 0.7), J=J),
        Body("tip", m=0.7, r_CM=(0.1, 0.2, -0.3), **inertia),
        FixedTranslation("hook", r=(1, 0.3, 0.4)),
        FixedTranslation("eye", r=(0.2, 0.1, 0.2)),
        FixedTranslation("end", r=(0.3, 0, -0.2)),
        *more,
    )
    pairs = [("world.frame_b", "hinge.frame_a"), ("hinge.frame_b", "rod.frame_a"), ("rod.frame_a", "elbow.frame_a"),
             ("elbow.frame_b", "ball.frame_a"), ("ball.frame_b", "tip.frame_a"), ("world.frame_b", "hook.frame_a"),
             ("rod.frame_a", "eye.frame_a"), ("tip.frame_a", "end.frame_a"),
             *((other, name.replace("__", ".")) for name, other in ends.items())]  # fmt: skip
    return System("links", components, tuple(connect(a, b) for a, b in pairs))


def begun(system: System, kind: str) -> dict[str, float]:
    """All outputs at the start, by name."""
    dae = derive(system, kind)
    return outputs(dae, *started(dae), np.zeros(len(dae.inputs)))


def alike(one: dict[str, float], other: dict[str, float]) -> None:
    """Compare the motion of the links, and what their joints transmit."""
    for name in (name for name in one if name.startswith(("hinge.", "ball.", "rod.", "tip."))):
        assert one[name] == pytest.approx(other[name], rel=1e-9, abs=1e-9), name


def three_points() -> tuple[Rope, dict[str, str]]:
    ends = {"rope__frame_1": "hook.frame_b", "rope__frame_2": "eye.frame_b", "rope__frame_3": "end.frame_b"}
    return Rope("rope", points=3, shares=(1.0, 0.5)), ends


@pytest.mark.parametrize("kind", KINDS)
def test_a_spring_on_a_rope_between_two_points_is_one_between_two_frames(kind: str) -> None:
    """Cut forces too: what pulls on the frames is what the spring between them puts there."""
    spring = AxesSpring("spring", joints=("rope",), ratios=(1.0,), c=100.0, lower=0.5, upper=0.5, d=3.0)
    rope = two_links(Rope("rope"), spring, rope__frame_1="hook.frame_b", rope__frame_2="end.frame_b")
    line = SpringDamper("line", c=100.0, s_unstretched=0.5, d=3.0)
    straight = two_links(line, line__frame_a="hook.frame_b", line__frame_b="end.frame_b")
    alike(begun(rope, kind), begun(straight, kind))


def test_a_rope_over_three_points_is_as_long_and_pulls_as_by_hand_in_both_coordinates() -> None:
    """Shares of 1 and 1/2: the second stretch counts and pulls half, as behind a pulley that two strands hang on."""
    rope, ends = three_points()
    spring = TranslationalSpring("spring", joint="rope", c=100.0, s_rel0=0.5)
    system = two_links(rope, spring, **ends)
    first, second = (begun(system, kind) for kind in KINDS)
    alike(first, second)
    c, s = math.cos(0.3), math.sin(0.3)
    hook, R = np.array([1, 0.3, 0.4]), np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    eye = R @ [0.2, 0.1, 0.2]
    Q = np.array([1, 0.1, 0.2, 0.05]) / np.linalg.norm([1, 0.1, 0.2, 0.05])
    s, e = Q[0], Q[1:]
    turned = np.array([0.3, 0, -0.2])
    turned = (s * s - e @ e) * turned + 2 * e * (e @ turned) + 2 * s * np.cross(e, turned)
    end = R @ (np.array([0.5, 0, 0.1]) + turned)
    length = np.linalg.norm(eye - hook) + 0.5 * np.linalg.norm(end - eye)
    assert first["rope.s"] == pytest.approx(length, rel=1e-12)
    assert first["spring.f"] == pytest.approx(-100 * (length - 0.5), rel=1e-12)


def test_a_mass_that_a_gear_couples_with_a_rope_is_a_rotor_on_it() -> None:
    """As T = m s'^2 / 2 in absolute coordinates; joint coordinates need the mass, as a rope has no coordinate there."""
    rope, ends = three_points()
    rotor = two_links(rope, TranslationalRotor("rotor", joint="rope", J=9.0), **ends)
    mass = Body("mass", m=9.0, I_11=1.0, I_22=1.0, I_33=1.0)
    gear, slide = Gear("gear", joint_a="slide", joint_b="rope"), Prismatic("slide", n=(1, 0, 0), s=None, v=None)
    ends |= {"slide__frame_a": "world.frame_b", "mass__frame_a": "slide.frame_b"}
    moved = two_links(rope, slide, mass, gear, **ends)
    expected = begun(rotor, "absolute")
    for kind in KINDS:
        alike(begun(moved, kind), expected)
    with pytest.raises(
        ModelError, match="a rotor is on the rope 'rope', which has no coordinate of its own: let a Gear"
    ):
        derive(rotor, "joint")


def test_two_weights_on_a_rope_over_a_pulley_fall_as_atwoods_machine() -> None:
    """a = g (m_1 - m_2) / (m_1 + m_2), and the tension is 2 g m_1 m_2 / (m_1 + m_2), by a coupling."""
    bodies = [Body(name, m=m, I_11=1.0, I_22=1.0, I_33=1.0) for name, m in (("one", 3.0), ("two", 2.0))]
    components = (
        World("world", g=10.0, n=(0, 0, -1)),
        FixedTranslation("left", r=(-0.1, 0, 2)),
        FixedTranslation("right", r=(0.1, 0, 2)),
        FixedTranslation("rail_1", r=(-0.1, 0, 0)),
        FixedTranslation("rail_2", r=(0.1, 0, 0)),
        Prismatic("slide_1", n=(0, 0, 1), s=0.0, v=0.0),
        Prismatic("slide_2", n=(0, 0, 1), s=None, v=None),
        *bodies,
        Rope("rope", points=4),
        PolynomialCoupling("tie", joints_a=("rope",), ratios_a=(1.0,), a_0=4.2, c_1=0.0),
    )
    # fmt: off
    pairs = [*(("world.frame_b", f"{name}.frame_a") for name in ("left", "right", "rail_1", "rail_2")),
             ("rail_1.frame_b", "slide_1.frame_a"), ("rail_2.frame_b", "slide_2.frame_a"),
             ("slide_1.frame_b", "one.frame_a"), ("slide_2.frame_b", "two.frame_a"), ("one.frame_a", "rope.frame_1"),
             ("left.frame_b", "rope.frame_2"), ("right.frame_b", "rope.frame_3"), ("two.frame_a", "rope.frame_4")]
    # fmt: on
    system = System("atwood", components, tuple(connect(*pair) for pair in pairs))
    for kind in KINDS:
        values = begun(system, kind)
        assert values["slide_1.a"] == pytest.approx(-2.0, rel=1e-9)
        assert values["slide_2.a"] == pytest.approx(2.0, rel=1e-9)
        assert abs(values["tie.f"]) == pytest.approx(24.0, rel=1e-9)


def test_a_rotor_of_a_ball_joint_moves_alike_in_both_coordinates_and_adds_its_inertia() -> None:
    """On a body that hangs on the world at rest it is inertia of the body, without weight: a = t / (I + J)."""
    alike(*(begun(two_links(J=0.5), kind) for kind in KINDS))
    body = Body("body", m=2.0, r_CM=(0.5, 0, 0), I_11=0.1, I_22=0.1, I_33=0.1)
    ball = Spherical("ball", J=0.3, w_rel=(0, 0, 0))
    joined = (connect("world.frame_b", "ball.frame_a"), connect("ball.frame_b", "body.frame_a"))
    values = begun(System("pendulum", (World("world", g=10.0, n=(0, 0, -1)), ball, body), joined), "joint")
    assert values["ball.z_rel[2]"] == pytest.approx(2.0 * 10 * 0.5 / (0.1 + 2.0 * 0.25 + 0.3), rel=1e-12)
    with pytest.raises(ValueRangeError, match=r"ball.J = -1 must be a finite number of at least 0"):
        Spherical("ball", J=-1)


def test_a_box_in_a_fluid_is_held_back_by_the_square_of_its_speed_and_by_its_speed() -> None:
    """Formulas of the docstring by hand for a body that moves and turns, in wind."""
    b, rho, mu, wind = np.array([0.3, 0.5, 0.7]), 12.0, 0.8, np.array([0.2, -0.4, 0.1])
    v_0, w = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.9, -1.1])
    free = FreeMotion("free", v_rel=tuple(v_0.tolist()), w_rel=tuple(w.tolist()))
    body = Body("body", m=2.0, I_11=0.4, I_22=0.4, I_33=0.4)
    drag = BoxDrag("drag", b=tuple(b.tolist()), rho=rho, mu=mu, wind=tuple(wind.tolist()))
    pairs = [("world.frame_b", "free.frame_a"), ("free.frame_b", "body.frame_a"), ("body.frame_a", "drag.frame_b")]
    values = begun(System("box", (World("world", g=0.0), free, body, drag), tuple(connect(*p) for p in pairs)), "joint")
    v, d = v_0 - wind, b.mean()
    for i, (j, k) in enumerate(((1, 2), (2, 0), (0, 1))):
        f = -rho * b[j] * b[k] * abs(v[i]) * v[i] / 2 - 3 * math.pi * mu * d * v[i]
        t = -rho * b[i] * (b[j] ** 4 + b[k] ** 4) * abs(w[i]) * w[i] / 64 - math.pi * mu * d**3 * w[i]
        assert values[f"drag.f[{i + 1}]"] == pytest.approx(f, rel=1e-12)
        assert values[f"free.z_rel[{i + 1}]"] == pytest.approx(t / 0.4, rel=1e-12)


def test_friction_between_frames_is_that_of_each_axis_by_itself() -> None:
    """Along the axes of frame_a and about those of frame_b, by the formulas of the docstring."""
    v, w, I = np.array([0.02, -1.0, 0.0]), np.array([0.3, 0.005, -0.01]), 0.4  # noqa: E741
    turn = (1.0, 0.3, -0.2, 0.4)
    free = FreeMotion("free", Q_rel=turn, v_rel=tuple(v.tolist()), w_rel=tuple(w.tolist()))
    body = Body("body", m=2.0, I_11=I, I_22=I, I_33=I)
    friction = CartesianFriction("friction", f_c=3.0, t_c=0.5, v_0=0.02, w_0=0.01)
    pairs = [("world.frame_b", "free.frame_a"), ("free.frame_b", "body.frame_a"), ("world.frame_b", "friction.frame_a"),
             ("body.frame_a", "friction.frame_b")]  # fmt: skip
    system = System("free", (World("world", g=0.0), free, body, friction), tuple(connect(*p) for p in pairs))
    R = Rotation.from_quat(turn, scalar_first=True).as_matrix()
    for kind in KINDS:
        values = begun(system, kind)
        f, t = (np.array([values[f"friction.{name}[{k}]"] for k in (1, 2, 3)]) for name in "ft")
        assert f == pytest.approx(-3 * np.tanh(v / 0.02), rel=1e-9, abs=1e-12)
        turning = np.array([values[f"free.w_rel[{k}]"] for k in (1, 2, 3)])
        assert R.T @ t == pytest.approx(-0.5 * np.tanh(R.T @ turning / 0.01), rel=1e-9, abs=1e-12)


def test_the_fluid_that_moves_along_with_a_sphere_is_half_its_volume_and_with_a_thin_disk_as_by_lamb() -> None:
    """A disk of radius c that moves along its axis takes ``8/3 c^3`` along (Lamb, Hydrodynamics, art. 102)."""
    masses, inertias = EllipsoidFluid("ball", a=(0.3, 0.3, 0.3)).moved_along
    assert masses == pytest.approx([2 / 3 * math.pi * 0.3**3] * 3, rel=1e-12)
    assert inertias == [0.0, 0.0, 0.0]
    masses, inertias = EllipsoidFluid("disk", a=(0.5, 0.5, 1e-6)).moved_along
    assert masses[2] == pytest.approx(8 / 3 * 0.5**3, rel=1e-5)
    assert inertias[:2] == pytest.approx([16 / 45 * 0.5**5] * 2, rel=1e-5)
    with pytest.raises(ValueRangeError, match=r"wing\.a = \(1, 0, 1\) must be three positive semi-axes, m"):
        EllipsoidFluid("wing", a=(1, 0, 1))


def test_a_rope_is_checked_where_it_is_written() -> None:
    with pytest.raises(ValueRangeError, match=r"rope\.points = 1 must be a whole number from 2 to 1000"):
        Rope("rope", points=1)
    with pytest.raises(ValueRangeError, match="must be 2 numbers, one for each stretch"):
        Rope("rope", points=3, shares=(1.0,))
    rope, ends = three_points()
    with pytest.raises(UnknownNameError, match="'cut' shows the joint 'rope', which is not there"):
        derive(two_links(rope, CutForce("cut", joint="rope"), **ends), "joint")

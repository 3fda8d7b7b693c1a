"""Mixed coordinates: some bodies have coordinates of their own, the others those of joints; the motion is the same."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import examples, thorough
from hypothesis import given
from hypothesis import strategies as st
from random_mechanisms import random_loop, random_tree
from states import assert_same_motion
from test_flexible_joint import FLEXIBLE

import mbfmu
from mbfmu.dae import derive
from mbfmu.errors import UnknownNameError, UsageError
from mbfmu.model import (
    BodyShape,
    Distance,
    FixedTranslation,
    Joint,
    Prismatic,
    Revolute,
    Spherical,
    Subsystem,
    System,
    World,
    connect,
)
from mbfmu.model.parts import MovingPart
from mbfmu.prepared.prepare import prepare

# -- the motion -----------------------------------------------------------------------------------------------------


def some(names: list[str], rng: np.random.Generator) -> list[str]:
    """At least one of the names."""
    return [str(name) for name in rng.choice(names, rng.integers(1, len(names) + 1), replace=False)]


def random_choice(system: System, seed: int) -> str:
    """Some bodies with coordinates of their own, or some joints that carry them."""
    rng = np.random.default_rng(seed)
    names = [item.name for item in system.components]
    if rng.integers(2):
        return "absolute:" + ",".join(some([name for name in names if name[0] == "b" and name[1:].isdigit()], rng))
    able = [item.name for item in system.components if isinstance(item, Joint) and item.carries]
    return "joint:" + ",".join(some(able, rng))


@pytest.mark.parametrize("planar", [True, False], ids=["plane", "space"])
@examples(0.2, derandomize=True)
@given(seed=st.integers(0, 10_000))
def test_a_random_tree_moves_the_same_whichever_bodies_have_their_own_coordinates(planar: bool, seed: int) -> None:
    system = random_tree(seed, planar).system("tree")
    found, _ = assert_same_motion(system, seed, away=0.03, coordinates=random_choice(system, seed))
    assert not found.redundant


@pytest.mark.parametrize(
    ("planar", "closing"),
    thorough(
        [(True, Revolute), (True, Prismatic), (True, Distance), (False, Spherical), (False, Revolute)],
        lambda planar, closing: planar and closing is not Prismatic,
    ),
)
@examples(0.1, derandomize=True)
@given(seed=st.integers(0, 1000))
def test_a_random_loop_moves_the_same_whichever_bodies_have_their_own_coordinates(
    planar: bool, closing: type[Joint], seed: int
) -> None:
    system = random_loop(seed, planar, closing)
    assert_same_motion(system, seed, away=0.03, coordinates=random_choice(system, seed))


@pytest.mark.parametrize(
    "name", thorough(zip(["crane", "spatial_slider_crank", "bicycle"]), lambda name: name == "crane")
)
def test_with_all_bodies_named_the_motion_is_the_absolute_one(name: str) -> None:
    system = mbfmu.load(name)
    every = ",".join(item.name for item in system.components if isinstance(item, MovingPart))
    mixed, absolute = derive(system, f"absolute:{every}"), derive(system, "absolute")
    assert sorted(mixed.coordinates) == sorted(absolute.coordinates)
    assert (mixed.m, mixed.k) == (absolute.m, absolute.k)
    assert_same_ends(system, f"absolute:{every}", "absolute")


def ends(system: System, coordinates: str, stepper: str, options: dict[str, Any], h: float, stop: float) -> Any:
    """All outputs at the end of a run."""
    return mbfmu.simulate(
        system, stop, stepper=stepper, options=options, step=h, coordinates=coordinates, output_interval=stop
    )


def assert_same_ends(
    system: System,
    one: str,
    other: str,
    stepper: str = "projected",
    h: float = 1e-3,
    stop: float = 0.1,
    atol: float = 1e-10,
    **options: Any,
) -> None:
    """The outputs that are unique end alike, relative to their size, with the constraints at round-off.

    Measured: below 6e-12, accelerations and reactions included.
    """
    options = options or ({"order": 8} if stepper == "projected" else {})
    first, second = (ends(system, item, stepper, options, h, stop) for item in (one, other))
    for item in derive(system, other).outputs:
        if item.unique and not item.name.startswith("constraint."):
            assert first[item.name][-1] == pytest.approx(second[item.name][-1], rel=atol, abs=atol), item.name
    for run in (first, second):
        assert run["constraint.position"][-1] < 1e-13


MODELS = [
    ("two_link", "absolute:link1"),
    ("slider_crank", "absolute:link2"),
    ("four_bar", "joint:crank,rocker"),
    ("crane", "absolute:hook"),
    ("flexible_four_bar", "absolute:rod"),
    ("chaplygin_sleigh", "absolute:sleigh"),
    ("gripper", "absolute:box"),
    ("bicycle", "absolute:frame"),
    ("spatial_slider_crank", "absolute:rod"),
    ("bricard", "absolute:bar3"),
    ("arm6", "absolute:link3,link6"),
    ("stewart", "absolute:platform"),
]
"""Loops, bent bodies, rolling, contacts, and a loop whose constraints are redundant."""
QUICK = {"two_link", "four_bar", "crane", "flexible_four_bar", "chaplygin_sleigh"}


@pytest.mark.parametrize("other", ["joint", "absolute"])
@pytest.mark.parametrize(("name", "coordinates"), thorough(MODELS, lambda name, _: name in QUICK))
def test_models_move_the_same_in_mixed_coordinates(name: str, coordinates: str, other: str) -> None:
    assert_same_ends(mbfmu.load(name), coordinates, other)


STEPPERS: dict[str, dict[str, Any]] = {
    "direct": {"stop": 0.02},
    "rattle": {"h": 2e-6, "stop": 0.01},
    "radau": {"stages": 5, "stop": 0.02},
    "gauss": {"stages": 4, "stop": 0.02},
    "lobatto": {"stages": 4, "stop": 0.02},
}


@pytest.mark.parametrize("stepper", [name for name in STEPPERS if name != "direct"])
@pytest.mark.parametrize("name", thorough([("slider_crank",), ("crane",)], lambda name: name == "slider_crank"))
def test_steppers_of_every_kind_take_mixed_coordinates(name: str, stepper: str) -> None:
    coordinates = dict(MODELS)[name]
    assert_same_ends(mbfmu.load(name), coordinates, "joint", stepper, **STEPPERS[stepper])


def test_an_fmu_in_mixed_coordinates_steps_as_the_simulation_to_the_bit(tmp_path: Path) -> None:
    system, given = mbfmu.load("crane"), {"coordinates": "absolute: hook", "stepper": "projected"}
    packed = mbfmu.export(system, tmp_path / "crane.fmu", **given, backend="native")
    one, other = mbfmu.simulate(str(packed), 0.05), mbfmu.simulate(system, 0.05, **given)
    for name in ("boom.phi", "jib.phi", "lift.s", "hook.r_0[1]", "energy.total", "jib.frame_b.f[2]"):
        np.testing.assert_array_equal(one[name], other[name])


FIXED = [
    ("arm", "tip", []),  # to the outer one of two bent links
    ("row", "two", ["one"]),  # of three bent bodies in a row
    ("branched", "left", ["hub"]),  # a hub with bent bodies, on a joint of all freedoms
    ("backward", "load", ["rod"]),
]


@pytest.mark.parametrize(("name", "body", "owner"), FIXED)
def test_parts_that_bent_ones_hold_have_one_position(name: str, body: str, owner: list[str]) -> None:
    """It has the name of the part that a joint leads to."""
    found, _ = assert_same_motion(FLEXIBLE[name], seed=1, away=0.1, coordinates=f"absolute:{body}")
    placed = [item for item in found.coordinates if item.endswith(".x")]
    assert len(placed) == 1
    assert not owner or placed == [f"{owner[0]}.x"]


# -- what else is asked of a model ----------------------------------------------------------------------------------


def test_equilibria_modes_and_linear_forms_are_those_of_joint_coordinates() -> None:
    held = {"free": ["lift.f", "tilt.f"], "hold": {"boom.phi": 0.5, "jib.phi": -1.0}}
    mixed, plain = (mbfmu.equilibrium("crane", **held, coordinates=item) for item in ("absolute:hook", "joint"))
    for name in ("lift.f", "tilt.f", "lift.s", "jib.frame_b.f[2]"):
        assert mixed.outputs.get(name, mixed.values.get(name)) == pytest.approx(
            plain.outputs.get(name, plain.values.get(name)), rel=1e-9
        )
    np.testing.assert_allclose(
        np.sort_complex(mixed.eigenvalues), np.sort_complex(plain.eigenvalues), rtol=1e-6, atol=1e-6
    )
    forces = {"lift.f": 27e3, "tilt.f": -16e3}
    states = ("boom.phi", "jib.phi")
    one, other = (
        mbfmu.linearize("crane", inputs=forces, states=states, coordinates=item, outputs=("lift.s", "hook.r_0[2]"))
        for item in ("absolute:hook", "joint")
    )
    for name in "ABCD":
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-8, atol=1e-8)


def test_inverse_dynamics_and_kinematics_are_those_of_joint_coordinates() -> None:
    motion = {"lift.s": "0.3 + 0.1*sin(time)", "tilt.s": "0.5 - 0.1*time"}
    for solve in (mbfmu.inverse, mbfmu.kinematics):
        one, other = (solve("crane", motion, 0.5, coordinates=item) for item in ("absolute:hook", "joint"))
        assert set(one.names) == set(other.names)
        for name in set(one.names) - {"regularity"}:  # that of the equations, in any coordinates another
            if not name.startswith("constraint."):
                np.testing.assert_allclose(one[name], other[name], rtol=1e-8, atol=1e-8 * (1 + abs(other[name]).max()))


def test_a_page_plays_modes_in_mixed_coordinates(tmp_path: Path) -> None:
    held = {"lift.f": 27e3, "tilt.f": -16e3}
    page = mbfmu.view("crane", 0.05, inputs=held, coordinates="absolute:hook")
    assert page.write(tmp_path / "crane.html").stat().st_size > 10_000


# -- the choice -----------------------------------------------------------------------------------------------------


def carried_arm() -> System:
    """An arm of two links, as a subsystem with its shoulder, on a cart; a pendulum hangs on its tip."""
    link = {"m": 1.0, "r": (0.8, 0.0), "r_CM": (0.4, 0.0), "I_33": 0.1}
    arm = System(
        "arm",
        (
            FixedTranslation("foot", r=(0.1, 0.2)),
            Revolute("shoulder", phi=0.4, w=0.3), BodyShape("upper", **link),
            Revolute("elbow", phi=-0.7, w=0.0), BodyShape("fore", **link),
        ),
        (
            connect("foot.frame_b", "shoulder.frame_a"), connect("shoulder.frame_b", "upper.frame_a"),
            connect("upper.frame_b", "elbow.frame_a"), connect("elbow.frame_b", "fore.frame_a"),
        ),
        planar=True,
    )  # fmt: skip
    return System(
        "carried",
        (
            World(), FixedTranslation("rail", r=(0.0, 0.1)),
            Prismatic("drive", s=0.0, v=0.5), BodyShape("cart", **link), Subsystem("arm", arm),
            Revolute("pivot", phi=0.2, w=0.0), BodyShape("bob", **link),
        ),
        (
            connect("world.frame_b", "rail.frame_a"), connect("rail.frame_b", "drive.frame_a"),
            connect("drive.frame_b", "cart.frame_a"), connect("cart.frame_b", "arm.foot.frame_a"),
            connect("arm.fore.frame_b", "pivot.frame_a"), connect("pivot.frame_b", "bob.frame_a"),
        ),
        planar=True,
    )  # fmt: skip


def own(*bodies: str) -> list[str]:
    """The coordinates of bodies in the plane."""
    return [f"{body}.{name}" for body in bodies for name in ("x", "y", "phi")]


@pytest.mark.parametrize(
    ("choice", "coordinates"),
    [
        ("absolute:bob", [*own("bob"), "drive.s", "arm.shoulder.phi", "arm.elbow.phi"]),
        ("absolute:arm.upper", [*own("arm.upper"), "drive.s", "arm.elbow.phi", "pivot.phi"]),
        # the foot of the arm is fixed to the cart
        ("absolute:arm", [*own("cart", "arm.upper", "arm.fore"), "pivot.phi"]),
        ("joint:arm", [*own("cart", "bob"), "arm.shoulder.phi", "arm.elbow.phi"]),
        ("joint:arm.elbow,drive", [*own("arm.upper", "bob"), "drive.s", "arm.elbow.phi"]),
    ],
)
def test_bodies_joints_and_subsystems_are_named(choice: str, coordinates: list[str]) -> None:
    found, _ = assert_same_motion(carried_arm(), seed=0, coordinates=choice)
    assert sorted(found.coordinates) == sorted(coordinates)
    carrying = {name.rpartition(".")[0] for name in coordinates} & {item.joint for item in found.about.roles}
    assert {item.joint for item in found.about.roles if item.carries} == carrying
    assert {item.reason for item in found.about.roles if not item.carries} == {"as asked"}
    assert sum(item.rows for item in found.about.roles) == found.m


def test_every_way_to_write_a_choice_is_one_choice_in_the_cache_of_starts() -> None:
    system = carried_arm()
    keys = {
        prepare(system, "projected", None, 1e-3, coordinates=text).key
        for text in ("absolute:bob,cart", " absolute : cart , bob", "absolute:cart,bob")
    }
    assert len(keys) == 1
    assert None not in keys


WRONG: list[tuple[str, type[Exception], str]] = [
    ("absolut", UsageError, "no 'absolut' coordinates; did you mean 'absolute'"),
    ("absolute:", UsageError, "a name is missing, as in absolute:NAME,NAME"),
    ("absolute:bob,", UsageError, "a name is missing"),
    ("absolute:bob,bob", UsageError, "'bob' is named twice"),
    ("absolute:arm,arm.fore", UsageError, "'arm.fore' is in 'arm', which is named too"),
    ("absolute:bob,joint:arm", UsageError, "give one list"),
    ("absolute:bop", UnknownNameError, "no body and no subsystem with bodies 'bop'; did you mean 'bob'"),
    ("absolute:arn", UnknownNameError, "did you mean 'arm'"),
    ("absolute:pivot", UnknownNameError, "'pivot' is a Revolute, and bodies have coordinates of their own"),
    ("absolute:rail", UsageError, "'rail' is fixed to the world, so that its position has no coordinates"),
    ("absolute:world", UsageError, "'world' is fixed to the world"),
    ("joint:arm.elbo", UnknownNameError, "no joint and no subsystem with joints 'arm.elbo'; did you mean 'arm.elbow'"),
    ("joint:bob", UnknownNameError, "'bob' is a body, .* take absolute:bob"),
]


@pytest.mark.parametrize(("text", "kind", "message"), WRONG, ids=[text for text, *_ in WRONG])
def test_a_choice_that_cannot_be_is_refused_with_its_text(text: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        derive(carried_arm(), text)


def test_a_joint_without_coordinates_cannot_be_asked_to_carry_them() -> None:
    rod = System(
        "rod",
        (World(), Distance("rod", l=1.0), BodyShape("ball", m=1.0, r=(0.1, 0.0), I_33=0.1, r_0=(0.0, -1.0))),
        (connect("world.frame_b", "rod.frame_a"), connect("rod.frame_b", "ball.frame_a")),
        planar=True,
    )
    with pytest.raises(UsageError, match="the joint 'rod' cannot carry coordinates"):
        derive(rod, "joint:rod")

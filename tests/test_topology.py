"""The spanning tree: which joints carry coordinates, which close loops, and what becomes of the others."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
import pytest
from harness import thorough
from mechanisms import EVERY, free_body, slider_crank, spatial_four_bar, spatial_two_link
from random_mechanisms import IN_PLANE, IN_SPACE, Builder, in_space
from states import admissible, assert_same_motion, outputs, shown

import mbfmu
from mbfmu.dae import JointTree, derive
from mbfmu.errors import ModelError
from mbfmu.model import (
    AxisMotion,
    Body,
    Cylindrical,
    Distance,
    Fixed,
    FixedTranslation,
    FreeMotion,
    Gear,
    Joint,
    JointCoordinate,
    Planar,
    Pose,
    Prismatic,
    Revolute,
    Spherical,
    System,
    Universal,
    World,
    connect,
    flatten,
)
from mbfmu.model.frame import SX, Frame, axis_quaternion
from mbfmu.model.joints import turning

# -- the tree -------------------------------------------------------------------------------------------------------


def tree_of(system: System) -> JointTree:
    return JointTree(flatten(system))


def freedom(joint: Joint) -> int:
    return {
        Fixed: 0, Revolute: 1, Prismatic: 1, Cylindrical: 2, Universal: 2, Spherical: 3, Planar: 3, FreeMotion: 6,
    }[type(joint)]  # fmt: skip


def between(*joints: Joint) -> System:
    """A body on several joints at once."""
    ends = [
        pair for j in joints for pair in (("world.frame_b", f"{j.name}.frame_a"), (f"{j.name}.frame_b", "body.frame_a"))
    ]
    body = Body("body", m=1.0, I_11=0.1, I_22=0.1, I_33=0.1)
    return System("between", (World(), body, *joints), tuple(connect(*pair) for pair in ends))


RANKED = (
    Fixed("a"), Revolute("b"), Prismatic("c"), Cylindrical("d"), Universal("e"), Spherical("f"), Planar("g"),
    FreeMotion("h"),
)  # fmt: skip
PAIRS = [(one, two) for one in RANKED for two in RANKED if freedom(one) < freedom(two)]


@pytest.mark.parametrize(
    ("tight", "loose"), PAIRS, ids=["-".join(type(joint).__name__ for joint in pair) for pair in PAIRS]
)
def test_of_two_joints_the_less_free_one_carries_the_body(tight: Joint, loose: Joint) -> None:
    """Wherever it is listed; the other closes a loop."""
    for joints in ((tight, loose), (loose, tight)):
        tree = tree_of(between(*joints)).bodies.tree
        assert [edge.path for edge in tree.order] == [tight.name]
        assert tree.loops == ((loose.name, tight.name),)


def random_net(seed: int, bodies: int, more: int) -> Builder:
    """Bodies on random joints, and more joints between them than a tree needs."""
    rng = np.random.default_rng(seed)
    made = Builder(rng, planar=False)
    kinds = [kind for kind in IN_SPACE if kind.__name__ != "Screw"]
    frames = ["world.frame_b"]
    for number in range(1, bodies + 1):
        kind = kinds[rng.integers(len(kinds))]
        made.hang(number, kind(f"j{number}", **IN_SPACE[kind](rng)), frames[rng.integers(len(frames))])
        frames.append(f"b{number}.frame_a")
    for number in range(more):
        kind = kinds[rng.integers(len(kinds))]
        one, two = (frames[k] for k in rng.choice(len(frames), 2, replace=False))
        made.put(kind(f"k{number}"), frame_a=one, frame_b=two)
    return made


def edges(tree: JointTree) -> dict[str, tuple[int, int]]:
    """The rigid groups that each joint joins."""
    bodies = tree.bodies
    return {
        path: (bodies.anchors[f"{path}.frame_a"][0], bodies.anchors[f"{path}.frame_b"][0])
        for path in bodies.mechanism.of(Joint)
    }


def way(steps: dict[str, tuple[int, int]], start: int, stop: int) -> set[str]:
    """The joints between two groups, along some joints that make a tree."""
    found, waiting = {start: set[str]()}, [start]
    while waiting:
        here = waiting.pop()
        for path, ends in steps.items():
            if here in ends:
                there = ends[1] if ends[0] == here else ends[0]
                if there not in found:
                    found[there] = found[here] | {path}
                    waiting.append(there)
    return found[stop]


@pytest.mark.parametrize("seed", range(4))
def test_every_body_is_carried_once_and_every_other_joint_closes_its_own_loop(seed: int) -> None:
    tree = tree_of(random_net(seed, bodies=7, more=5).system("net"))
    joints = edges(tree)
    on_tree = {edge.path: joints[edge.path] for edge in tree.bodies.tree.order}
    assert sorted(edge.far for edge in tree.bodies.tree.order) == list(range(1, 8))
    reached = {0}
    for path, near, far, forward, *_ in tree.bodies.tree.order:
        assert near in reached
        assert joints[path] == ((near, far) if forward else (far, near))
        reached.add(far)
    assert {loop[0] for loop in tree.bodies.tree.loops} == joints.keys() - on_tree.keys()
    for loop in tree.bodies.tree.loops:
        assert set(loop[1:]) == way(on_tree, *joints[loop[0]])
        assert len(set(loop)) == len(loop)


@pytest.mark.parametrize("seed", range(4))
def test_no_joint_that_closes_a_loop_is_less_free_than_another_of_the_loop(seed: int) -> None:
    """So the tree has the fewest coordinates a tree can have."""
    made = random_net(seed, bodies=7, more=5)
    free = {item.name: freedom(item) for item in made.rest if isinstance(item, Joint)}
    for closing, *others in tree_of(made.system("net")).bodies.tree.loops:
        assert all(free[closing] >= free[other] for other in others)


@pytest.mark.parametrize("bars", [3, 4, 7])
def test_a_loop_of_equal_joints_is_cut_opposite_the_world(bars: int) -> None:
    """Then every body is as few joints away from the world as it can be."""
    made = Builder(np.random.default_rng(0), planar=True)
    last = "world.frame_b"
    for number in range(1, bars + 1):
        made.hang(number, Revolute(f"j{number}"), last)
        last = f"tip{number}.frame_b"
    made.put(Revolute("last"), frame_a=last, frame_b="corner.frame_b")
    depth = {0: 0}
    for _, near, far, *_ in tree_of(made.system("ring")).bodies.tree.order:
        depth[far] = depth[near] + 1
    assert max(depth.values()) == (bars + 1) // 2


def test_a_loop_is_named_by_the_joints_on_the_way_round_alone() -> None:
    """A slider-crank on a cart, with a pendulum on its rod: neither the rail nor the pivot is in the loop."""
    loop = slider_crank()
    more = (
        Prismatic("rail", s=0.0, v=0.0), Body("cart", m=2.0, I_33=1.0),
        Revolute("pivot", phi=0.2, w=0.0), Body("bob", m=0.3, r_CM=(0.2, 0), I_33=0.1),
    )  # fmt: skip
    moved = [connect(*(end.replace("world.frame_b", "cart.frame_a") for end in pair)) for pair in loop.connections]
    hung = [("world.frame_b", "rail.frame_a"), ("rail.frame_b", "cart.frame_a")]
    hung += [("coupler.frame_b", "pivot.frame_a"), ("pivot.frame_b", "bob.frame_a")]
    system = replace(loop, components=(*loop.components, *more), connections=(*moved, *(connect(*p) for p in hung)))
    for coordinates in ("absolute", "joint"):
        dae = derive(system, coordinates)
        (found,) = dae.start.loops
        assert set(found.joints) == {"crank", "rod", "pin", "slider"}
        names = dae.start.constraint_names
        assert [names[row] in found.joints for row in range(len(names))] == [
            row in found.rows for row in range(len(names))
        ]


def test_two_loops_that_share_a_joint_are_named_apart() -> None:
    """A ladder of two four-bars: the middle rocker is in both."""
    made = Builder(np.random.default_rng(0), planar=True)
    for number in (1, 2, 3):
        made.hang(number, Revolute(f"foot{number}"), "world.frame_b")
    for number in (1, 2):
        made.hang(3 + number, Revolute(f"left{number}"), f"tip{number}.frame_b")
        made.put(Revolute(f"right{number}"), frame_a=f"tip{3 + number}.frame_b", frame_b=f"tip{number + 1}.frame_b")
    loops = {loop[0]: set(loop) for loop in tree_of(made.system("ladder")).bodies.tree.loops}
    expected = [{f"foot{k}", f"left{k}", f"right{k}", f"foot{k + 1}"} for k in (1, 2)]
    assert sorted(loops.values(), key=sorted) == expected
    assert len(loops) == 2


# -- joints of couplings --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("joint", ["crank", "rod", "pin", "slider"])
def test_a_joint_that_a_motion_acts_on_carries_its_coordinate(joint: str) -> None:
    """Whichever joint of the loop it is: a spatial angle off the tree is known only up to full turns."""
    system = slider_crank()
    moved = replace(system, components=(*system.components, AxisMotion("drive", joint=joint, s="0.1*time")))
    (loop,) = tree_of(moved).bodies.tree.loops
    assert loop[0] != joint
    if joint in {"rod", "pin"}:
        assert tree_of(system).bodies.tree.loops[0][0] in {"rod", "pin"}


def test_a_gear_acts_on_joints_of_a_spatial_loop_in_all_coordinates() -> None:
    loop, gear = spatial_four_bar(), Gear("gear", joint_a="crank", joint_b="rocker", ratio=2.0)
    geared = replace(loop, components=(*loop.components, gear))
    dae = derive(geared, "joint")
    assert {"crank.phi", "rocker.phi"} <= set(dae.coordinates)
    rng = np.random.default_rng(0)
    q, v, u = admissible(dae, rng, away=0.05)
    found = outputs(dae, q, v, u)
    assert found["crank.phi"] == pytest.approx(2 * found["rocker.phi"], abs=1e-12)
    assert found["crank.a"] == pytest.approx(2 * found["rocker.a"], abs=1e-9)
    with pytest.raises(ModelError, match=r"'gear'.*full turns, and .* use joint coordinates"):
        derive(replace(loop, components=(*loop.components, replace(gear, ratio=0.7243))), "absolute")
    absolute = derive(geared, "absolute")
    found = outputs(absolute, *admissible(absolute, rng, away=0.05))
    assert math.cos(found["crank.phi"] - 2 * found["rocker.phi"]) == pytest.approx(1, abs=1e-12)
    assert found["crank.a"] == pytest.approx(2 * found["rocker.a"], abs=1e-9)


def test_gears_between_all_joints_of_a_spatial_loop_leave_the_slider_off_the_tree() -> None:
    """Its stroke is known there; an angle would be known up to full turns only."""
    loop = in_space(slider_crank())
    gears = (Gear(f"gear_{one}_{two}", joint_a=one, joint_b=two) for one, two in (("crank", "rod"), ("rod", "pin")))
    rack = Gear("rack", joint_a="slider", joint_b="crank")
    dae = derive(replace(loop, components=(*loop.components, *gears, rack)), "joint")
    assert [item.joint for item in dae.about.roles if not item.carries] == ["slider"]


def test_gears_between_all_angles_of_a_spatial_loop_take_the_one_that_is_off_the_tree() -> None:
    """It is known up to full turns, by which a gear with one such angle jumps, whatever its ratio."""
    loop = mbfmu.load("bricard")
    gears = tuple(Gear(f"gear_{k}", joint_a=f"j{k}", joint_b=f"j{k + 1}", ratio=0.7243) for k in range(5))
    dae = derive(replace(loop, components=(*loop.components, *gears)), "joint")
    assert {item.name for item in gears} <= {*dae.row_names, *dae.redundant}
    assert len([item for item in dae.about.roles if not item.carries]) == 1


# -- joints of a user -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shaken(Joint):
    """A rod that holds frame_b at a place that moves in time; it turns freely. Nothing places it."""

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        return b.r_0 - a.r_0 - a.R @ ca.vertcat(0.3 * ca.sin(2 * p.time), *(ca.SX(1, 1),) * (a.r_0.numel() - 1))


@dataclass(frozen=True)
class Placed(Shaken):
    """The same, with a pose that depends on time and no coordinate."""

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        rest = (0.0,) * (1 if p.planar else 2)
        turn = ca.SX(0) if p.planar else ca.SX([1, 0, 0, 0])
        return Pose(ca.vertcat(0.3 * ca.sin(2 * p.time), *rest), turn)


@dataclass(frozen=True)
class Swung(Placed):
    """The same in the plane, with the angle as a coordinate."""

    def motion(self, p: Any, a: Frame, b: Frame) -> tuple[JointCoordinate, ...]:
        return (turning(b.phi - a.phi),)

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        return Pose(ca.vertcat(0.3 * ca.sin(2 * p.time), 0), coordinates["phi"])


@dataclass(frozen=True)
class Circle(Joint):
    """frame_b stays 0.8 m from frame_a; a pose without coordinates says where it may begin."""

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        return ca.sumsqr(b.r_0 - a.r_0) - 0.64

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        rest = (0.0,) * (1 if p.planar else 2)
        return Pose(ca.SX([0.8, *rest]), 0 if p.planar else ca.SX([1, 0, 0, 0]))


@dataclass(frozen=True)
class Partial(Circle):
    """The same in the plane, with one of its two freedoms as a coordinate."""

    def motion(self, p: Any, a: Frame, b: Frame) -> tuple[JointCoordinate, ...]:
        return (turning(b.phi - a.phi),)

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        return Pose(ca.SX([0.8, 0]), coordinates["phi"])


@dataclass(frozen=True)
class Driven(Joint):
    """A hinge whose angle follows a law of time: the pose places it for any angle, the equations ask for one."""

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        asked = 0.8 * ca.sin(3 * p.time)
        if p.planar:
            return ca.vertcat(b.r_0 - a.r_0, b.phi - a.phi - asked)
        held = Revolute("hinge").position(p, a, b)
        across = a.R @ ca.vertcat(-ca.sin(asked), ca.cos(asked), 0)
        return ca.vertcat(held, ca.dot(across, b.R[:, 0]))

    def motion(self, p: Any, a: Frame, b: Frame) -> tuple[JointCoordinate, ...]:
        return Revolute("hinge").motion(p, a, b)

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        phi = coordinates["phi"]
        return Pose(ca.SX(2, 1), phi) if p.planar else Pose(ca.SX(3, 1), axis_quaternion((0, 0, 1), phi))


@dataclass(frozen=True)
class Rack(Joint):
    """A slider that turns as it goes, with both freedoms as coordinates and an equation between them (planar)."""

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        gap = a.R.T @ (b.r_0 - a.r_0)
        return ca.vertcat(gap[1], gap[0] - 0.4 * ca.sin(b.phi - a.phi))

    def motion(self, p: Any, a: Frame, b: Frame) -> tuple[JointCoordinate, ...]:
        gap = ca.dot(a.R[:, 0], b.r_0 - a.r_0)
        return (JointCoordinate("s", "m", gap, "v", "m/s", "acc", "m/s2", "f", "N"), turning(b.phi - a.phi))

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        return Pose(ca.vertcat(coordinates["s"], 0), coordinates["phi"])


@dataclass(frozen=True)
class Racks(Rack):
    """The same with any number of such equations."""

    ratios: Any = ()

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        gap = a.R.T @ (b.r_0 - a.r_0)
        return ca.vertcat(gap[1], *(gap[0] - ratio * ca.sin(b.phi - a.phi) for ratio in self.ratios))


@pytest.mark.parametrize("kind", [tuple, list, np.array])
def test_joints_of_one_class_are_asked_apart_for_what_their_coordinates_leave_open(kind: Callable[[Any], Any]) -> None:
    ratios = {"none": [], "one": [0.4], "other": [0.5], "two": [0.4, 0.5], "again": [0.4], "rod": []}
    joints = [Racks(name, ratios=kind(given)) for name, given in ratios.items()]
    bodies = [Body(f"b_{name}", m=1.0, I_33=0.1) for name in ratios]
    ends = [connect("world.frame_b", f"{name}.frame_a") for name in ratios]
    ends += [connect(f"{name}.frame_b", f"b_{name}.frame_a") for name in ratios]
    system = System("racks", (World(), *joints, *bodies), tuple(ends), planar=True)
    found = JointTree(flatten(system)).bodies.open_rows
    assert found == {name: tuple(range(1, 1 + len(given))) for name, given in ratios.items()}


def with_pendulum(joint: Joint, planar: bool) -> System:
    """A joint that carries a body with another hung on it."""
    made = Builder(np.random.default_rng(2), planar)
    made.hang(1, joint, "world.frame_b")
    fields = (IN_PLANE if planar else IN_SPACE)[Prismatic]
    made.hang(2, Prismatic("rail", **fields(made.rng)), "b1.frame_a")
    made.forces()
    return made.system("hung")


FREE, FREE_3 = (
    ["b1.x", "b1.y", "b1.phi"],
    ["b1.r[1]", "b1.r[2]", "b1.r[3]", *(f"b1.Q[{k}]" for k in (1, 2, 3, 4))],
)
USERS = [
    (Shaken("user"), True, FREE, 2), (Shaken("user"), False, FREE_3, 3 + 1),
    (Placed("user"), True, FREE, 2), (Placed("user"), False, FREE_3, 3 + 1),
    (Swung("user"), True, FREE, 2),
    (Circle("user"), True, FREE, 1), (Circle("user"), False, FREE_3, 1 + 1),
    (Partial("user"), True, FREE, 1),
    (Distance("user", l=0.7), True, FREE, 1), (Distance("user", l=0.7), False, FREE_3, 1 + 1),
    (Driven("user"), True, ["user.phi"], 1), (Driven("user"), False, ["user.phi"], 1),
    (Rack("user"), True, ["user.s", "user.phi"], 1),
]  # fmt: skip
"""A joint, in the plane or in space, the coordinates of the body on it, and the equations left, norms included."""


@pytest.mark.parametrize(
    ("joint", "planar", "coordinates", "rows"),
    USERS,
    ids=[f"{type(joint).__name__}-{'plane' if planar else 'space'}" for joint, planar, *_ in USERS],
)
@pytest.mark.parametrize("t", thorough(zip([0.0, 0.4]), lambda t: t > 0))
def test_a_joint_that_cannot_carry_leaves_a_free_body_and_moves_it_the_same(
    joint: Joint, planar: bool, coordinates: list[str], rows: int, t: float
) -> None:
    """It can if its pose is a function of its coordinates alone and they are all its freedom but for open equations."""
    found, _ = assert_same_motion(with_pendulum(joint, planar), seed=1, t=t, away=0.1)
    assert list(found.coordinates) == [*coordinates, "rail.s"]
    assert found.m == rows
    assert set(found.row_names) <= {"user", "b1"}


@pytest.mark.parametrize("planar", [True, False], ids=["plane", "space"])
def test_a_joint_driven_in_time_keeps_its_law_as_an_equation(planar: bool) -> None:
    dae = derive(with_pendulum(Driven("user"), planar), "joint")
    for t in (0.0, 0.3, 0.9):
        q, v, u = admissible(dae, np.random.default_rng(0), away=0.1, t=t)
        found = outputs(dae, q, v, u, t)
        assert found["user.phi"] == pytest.approx(0.8 * math.sin(3 * t), abs=1e-12)
        assert found["user.w"] == pytest.approx(2.4 * math.cos(3 * t), abs=1e-11)
        assert found["user.a"] == pytest.approx(-7.2 * math.sin(3 * t), abs=1e-9)


def test_a_body_that_two_joints_without_a_pose_hold_is_free_with_both() -> None:
    """A bar on two rods in the plane."""
    made = Builder(np.random.default_rng(2), planar=True)
    made.hang(1, Distance("one", l=1.0), "world.frame_b")
    made.put(FixedTranslation("far", r=(1.5, 0.2)), frame_a="world.frame_b")
    made.put(Distance("two", l=1.2), frame_a="far.frame_b", frame_b="tip1.frame_b")
    found, _ = assert_same_motion(made.system("swing"), seed=0, away=0.2)
    assert (list(found.coordinates), found.m) == (FREE, 2)


# -- which coordinates ----------------------------------------------------------------------------------------------

CHOICES: dict[str, tuple[Callable[[], System], str]] = {
    **{name: (make, "joint") for name, make in EVERY.items() if name != "free_body"},
    "free_body": (free_body, "absolute"),
    "spatial_two_link": (spatial_two_link, "joint"),
    "rod": (lambda: with_pendulum(Distance("user", l=0.7), False), "joint"),
    "bricard": (lambda: mbfmu.load("bricard"), "joint"),
}


@pytest.mark.parametrize("name", thorough(zip(CHOICES), lambda name: name != "bricard"))
def test_a_mechanism_has_joint_coordinates_if_they_are_fewer_and_nobody_says(name: str) -> None:
    make, chosen = CHOICES[name]
    system = make()
    made = {coordinates: derive(system, coordinates) for coordinates in ("absolute", "joint")}
    assert derive(system).coordinates == made[chosen].coordinates
    assert chosen == ("joint" if made["joint"].n < made["absolute"].n else "absolute")


def test_the_coordinates_of_a_tree_are_those_of_its_joints_in_the_order_of_the_tree() -> None:
    dae = derive(EVERY["spatial_arm"](), "joint")
    assert dae.coordinates == ("j1.phi", "j2.s", *(f"j3.Q_rel[{k}]" for k in (1, 2, 3, 4)))
    q, v, u = admissible(dae, np.random.default_rng(0))
    found = outputs(dae, q, v, u)
    np.testing.assert_allclose(q, [found["j1.phi"], found["j2.s"], *shown(found, "j3.Q_rel", 4)], atol=1e-15)

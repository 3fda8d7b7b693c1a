"""Joints, couplings and sensors: every statement of each against an independent route, anywhere."""

import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from two_frames import TIME, Array, Pair, across, product, random_axis, random_turn, rotation, values_of

import mbfmu
import mbfmu.model as model
from mbfmu.dae import absolute
from mbfmu.errors import AxisError, ModelError, UnknownNameError, ValueRangeError
from mbfmu.model import (
    AbsoluteSensor,
    AxisMotion,
    Body,
    BodyShape,
    Coincident,
    Component,
    CutForce,
    Cylindrical,
    Distance,
    Fixed,
    FreeMotion,
    Gear,
    GearPair,
    Joint,
    KnifeEdge,
    Planar,
    PlanarTranslation,
    PlanarWheel,
    PointOnLine,
    Prismatic,
    RelativeSensor,
    Revolute,
    RollingDisk,
    RollingSphere,
    RollingWheel,
    Screw,
    Sensor,
    SlippingWheel,
    Spherical,
    System,
    Universal,
    UprightWheel,
    World,
    connect,
)
from mbfmu.model.frame import Frame, identity, rotation_of
from mbfmu.show.listing import BASES, components

ROOT = Path(__file__).parents[1]
SEEDS = range(3)
SIDE = (0.48, -0.6, 0.64)
UPRIGHT = (0.8, 0.0, 0.6)
"""Perpendicular to CROSS."""
CROSS = (0.6, 0.0, -0.8)

CARRYING: dict[str, tuple[Joint, bool, int]] = {
    "Revolute": (Revolute("joint", n=SIDE), False, 1),
    "Revolute about z": (Revolute("joint"), False, 1),
    "Revolute, planar": (Revolute("joint"), True, 1),
    "Prismatic": (Prismatic("joint", n=SIDE), False, 1),
    "Prismatic, planar": (Prismatic("joint", n=(0.6, 0.8)), True, 1),
    "Cylindrical": (Cylindrical("joint", n=SIDE), False, 2),
    "Screw": (Screw("joint", n=SIDE, pitch=0.7), False, 1),
    "Screw, left-handed": (Screw("joint", n=UPRIGHT, pitch=-0.4), False, 1),
    "Universal": (Universal("joint"), False, 2),
    "Universal, oblique": (Universal("joint", n_a=SIDE, n_b=UPRIGHT), False, 2),
    "Spherical": (Spherical("joint"), False, 3),
    "Planar": (Planar("joint", n=UPRIGHT, n_x=CROSS), False, 3),
    "Planar, planar": (Planar("joint", n_x=(0.6, 0.8)), True, 3),
    "PlanarTranslation": (PlanarTranslation("joint", n=UPRIGHT, n_x=CROSS), False, 2),
    "FreeMotion": (FreeMotion("joint"), False, 6),
    "FreeMotion, planar": (FreeMotion("joint"), True, 3),
    "Fixed": (Fixed("joint", r=(0.3, -0.2, 0.5)), False, 0),
    "Fixed, planar": (Fixed("joint", r=(0.3, -0.2)), True, 0),
    "PointOnLine": (PointOnLine("joint", n=SIDE), False, 4),
    "PointOnLine, planar": (PointOnLine("joint", n=(0.6, 0.8)), True, 2),
    "RollingDisk": (RollingDisk("joint", radius=0.4), False, 5),
    "RollingDisk, tilted": (RollingDisk("joint", n_a=UPRIGHT, n=CROSS, radius=0.4), False, 5),
    "RollingSphere": (RollingSphere("joint", n=UPRIGHT, n_x=CROSS, radius=0.4), False, 5),
    "RollingWheel, planar": (RollingWheel("joint", n=(-0.6, 0.8), radius=0.4), True, 1),
}
"""Joints with a pose: in the plane or not, and the freedoms that their positions leave."""
OTHERS: dict[str, tuple[Joint, bool, int]] = {
    "Coincident": (Coincident("joint"), False, 3),
    "Coincident, planar": (Coincident("joint"), True, 1),
    "Distance": (Distance("joint", l=0.8), False, 5),
    "Distance, planar": (Distance("joint", l=0.8), True, 2),
    "KnifeEdge": (KnifeEdge("joint", n=SIDE), False, 6),
    "KnifeEdge, planar": (KnifeEdge("joint", n=(0.6, 0.8)), True, 3),
    "UprightWheel": (UprightWheel("joint", n_a=UPRIGHT, n=CROSS, radius=0.4), False, 6),
    "UprightWheel, sideways": (UprightWheel("joint", n_a=SIDE, n=CROSS, radius=0.4, sideways=True), False, 6),
    "GearPair, planar": (GearPair("joint", r_a=0.2, r_b=0.3), True, 3),
    "GearPair, internal, planar": (GearPair("joint", r_a=0.2, r_b=0.3, internal=True), True, 3),
    "SlippingWheel, planar": (SlippingWheel("joint", n=(-0.6, 0.8), radius=0.4), True, 2),
}
EVERY = {**CARRYING, **OTHERS}
ELSEWHERE = {"PlanarWheel", "WheelsetOnTrack"}
"""Joints that are tested in files of their own, as their equations hold near some poses, or in the world, only."""
ROLLING = {
    "RollingDisk": 3, "RollingDisk, tilted": 3, "RollingSphere": 3, "KnifeEdge": 5, "KnifeEdge, planar": 2,
    "UprightWheel": 4, "UprightWheel, sideways": 5,
    "GearPair, planar": 2, "GearPair, internal, planar": 2,
}  # fmt: skip
"""Joints with equations of velocities: the freedoms that all their equations leave."""

carrying = pytest.mark.parametrize("name", CARRYING)
every = pytest.mark.parametrize("name", EVERY)


def column(value: Any) -> Array:
    return np.array(ca.DM(ca.densify(ca.vertcat(value))), dtype=float).ravel()


@cache
def pair(planar: bool) -> Pair:
    return Pair(planar)


@cache
def values(name: str) -> Any:
    joint, planar, _ = EVERY[name]
    return values_of(joint, planar)


def still(planar: bool) -> Frame:
    return Frame(identity(planar), ca.SX(2 if planar else 3, 1), ca.SX(1 if planar else 3, 1))


@cache
def symbols(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Symbols of the coordinates of a joint and of their derivatives, by name."""
    joint, planar, _ = CARRYING[name]
    motion = joint.motion(values(name), still(planar), still(planar))
    sizes = {item.position: ca.vertcat(item.value).numel() for item in motion}
    coordinates, rates = ({key: ca.SX.sym(key, size) for key, size in sizes.items()} for _ in range(2))
    return coordinates, rates


def draw(name: str, rng: np.random.Generator) -> tuple[dict[str, Array], dict[str, Array]]:
    """Random coordinates and their derivatives: unit quaternions that stay unit, angles of several turns."""
    coordinates: dict[str, Array] = {}
    rates: dict[str, Array] = {}
    for key, symbol in symbols(name)[0].items():
        size = symbol.numel()
        rates[key] = rng.normal(size=size)
        if size == 4:
            coordinates[key] = random_turn(rng, planar=False)
            rates[key] -= coordinates[key] * (coordinates[key] @ rates[key])
        else:
            coordinates[key] = rng.uniform(*((-1.4, 1.4) if key == "theta" else (-9, 9)), size)
    return coordinates, rates


def evaluate(name: str, what: Any, coordinates: dict[str, Array], rates: dict[str, Array]) -> Array:
    given, moving = symbols(name)
    arguments = [ca.vertcat(ca.SX(0, 1), *table.values()) for table in (given, moving)]
    numbers = [np.concatenate([*table.values(), []]) for table in (coordinates, rates)]
    value = np.array(ca.Function("f", arguments, [ca.densify(ca.vertcat(what))])(*numbers), dtype=float)
    return value.ravel() if value.shape[1] == 1 else value


def pose(name: str, coordinates: dict[str, Array], rates: dict[str, Array]) -> tuple[Array, Array]:
    """Where frame_b is, seen from frame_a: origin, and angle or quaternion."""
    found = CARRYING[name][0].pose(values(name), symbols(name)[0])
    return evaluate(name, found.r, coordinates, rates), evaluate(name, found.angle, coordinates, rates)


def closed(name: str, rng: np.random.Generator) -> tuple[Array, Array, dict[str, Array], dict[str, Array]]:
    """Places and velocities of two frames that a joint joins, frame_a anywhere, with the joint's coordinates."""
    joint, planar, _ = CARRYING[name]
    both = pair(planar)
    q, v = both.anywhere(rng)
    coordinates, rates = draw(name, rng)
    r, turn = pose(name, coordinates, rates)
    twist = joint.twist(values(name), *symbols(name))
    velocity, w_b = (evaluate(name, item, coordinates, rates) for item in twist)
    half, dim = len(q) // 2, both.dim
    R_a, w_a = rotation(q[dim:half]), v[dim : len(v) // 2]
    turning = w_b if planar else R_a @ rotation(turn) @ w_b
    q[half:] = [*(q[:dim] + R_a @ r), *product(q[dim:half], turn)]
    v[len(v) // 2 :] = [*(v[:dim] + across(w_a, R_a @ r) + R_a @ velocity), *(w_a + turning)]
    return q, v, coordinates, rates


# -- poses ----------------------------------------------------------------------------------------------------------


@carrying
def test_a_pose_meets_the_position_for_any_coordinates(name: str) -> None:
    joint, planar, _ = CARRYING[name]
    both = pair(planar)
    Phi = joint.position(values(name), both.a, both.b)
    for seed in SEEDS:
        q, *_ = closed(name, np.random.default_rng(seed))
        np.testing.assert_allclose(both.number(Phi, q), 0, atol=2e-14 * 30)


@carrying
def test_motion_gives_back_the_coordinates_of_a_pose_and_their_rates(name: str) -> None:
    joint, planar, _ = CARRYING[name]
    both = pair(planar)
    for seed in SEEDS:
        q, v, coordinates, rates = closed(name, np.random.default_rng(seed))
        for item in joint.motion(values(name), both.a, both.b):
            found, asked = both.number(item.value, q, v), coordinates[item.position]
            if item.neutral:
                found = found * np.sign(found @ asked)
            if item.wraps:
                found = asked + (found - asked + math.pi) % (2 * math.pi) - math.pi
            np.testing.assert_allclose(found, asked, atol=1e-12)
            rate = both.number(both.dot(item.value) if item.rate_value is None else item.rate_value, q, v)
            asked = rates[item.position]
            if item.neutral:  # the angular velocity in frame_a of a changing quaternion: 2 Qdot conj(Q)
                Q = coordinates[item.position]
                asked = 2 * product(asked, np.array([Q[0], *-Q[1:]]))[1:]
            np.testing.assert_allclose(rate, asked, atol=1e-11)


@carrying
def test_the_motions_are_all_the_freedom_and_each_has_its_start_values(name: str) -> None:
    joint, planar, freedom = CARRYING[name]
    motion = joint.motion(values(name), still(planar), still(planar))
    assert sum(3 if item.neutral else ca.vertcat(item.value).numel() for item in motion) == freedom
    starts = {label for declared, label, _ in joint.declared() if declared.role == "start"}
    names = [label for item in motion for label in (item.position, item.rate, item.acceleration, item.effort)]
    assert len(set(names)) == len(names)
    assert {label for item in motion for label in (item.position, item.rate)} <= starts


@carrying
def test_the_twist_is_the_derivative_of_the_pose(name: str) -> None:
    joint, planar, _ = CARRYING[name]
    h = 1e-3
    for seed in SEEDS:
        coordinates, rates = draw(name, np.random.default_rng(seed))
        at = {
            e: pose(name, {key: coordinates[key] + e * h * rates[key] for key in coordinates}, rates)
            for e in (-2, -1, 0, 1, 2)
        }
        r, turn = ((8 * (at[1][k] - at[-1][k]) - (at[2][k] - at[-2][k])) / (12 * h) for k in (0, 1))
        angle = at[0][1]
        w = turn if planar else 2 * product(np.array([angle[0], *-angle[1:]]), turn)[1:]
        velocity, w_b = (evaluate(name, item, coordinates, rates) for item in joint.twist(values(name), *symbols(name)))
        np.testing.assert_allclose(velocity, r, atol=1e-9)
        np.testing.assert_allclose(w_b, w, atol=1e-9)


@carrying
def test_the_short_twist_is_the_one_of_the_base(name: str) -> None:
    joint, _, _ = CARRYING[name]
    if not symbols(name)[0]:
        return
    for seed in SEEDS:
        drawn = draw(name, np.random.default_rng(seed))
        short, long = (kind.twist(joint, values(name), *symbols(name)) for kind in (type(joint), Joint))
        for mine, theirs in zip(short, long, strict=True):
            np.testing.assert_allclose(evaluate(name, mine, *drawn), evaluate(name, theirs, *drawn), atol=1e-12)


@carrying
def test_the_rotation_of_a_pose_is_that_of_its_quaternion(name: str) -> None:
    joint, planar, _ = CARRYING[name]
    found = joint.pose(values(name), symbols(name)[0])
    for seed in SEEDS:
        drawn = draw(name, np.random.default_rng(seed))
        R = evaluate(name, found.R, *drawn)
        by_angle = rotation(evaluate(name, found.angle, *drawn))
        np.testing.assert_allclose(R, by_angle, atol=1e-14)
        if not planar:
            np.testing.assert_allclose(evaluate(name, rotation_of(found.angle), *drawn), by_angle, atol=1e-14)


def test_a_disk_past_flat_stands_on_its_other_side() -> None:
    name = "RollingDisk"
    joint, rng = CARRYING[name][0], np.random.default_rng(0)
    Phi = joint.position(values(name), still(False), pose_frame(name))
    for theta in (1.7, -2.5, 3.0, 4.6):
        coordinates, rates = draw(name, rng)
        coordinates["theta"] = np.array([theta])
        np.testing.assert_allclose(evaluate(name, Phi, coordinates, rates), 0, atol=1e-14)


def pose_frame(name: str) -> Frame:
    """frame_b of a joint seen from frame_a, as an expression of its coordinates."""
    found = CARRYING[name][0].pose(values(name), symbols(name)[0])
    return Frame(found, ca.SX(3, 1), ca.SX(3, 1))


COMPOSED: dict[str, tuple[Joint, Callable[[dict[str, Any]], list[tuple[Joint, dict[str, Any]]]]]] = {
    "Cylindrical": (
        Cylindrical("joint", n=SIDE),
        lambda c: [
            (Prismatic("one", n=SIDE), {"s": c["s"]}),
            (Revolute("two", n=SIDE), {"phi": c["phi"]}),
        ],
    ),
    "Screw": (
        Screw("joint", n=SIDE, pitch=0.7),
        lambda c: [
            (Prismatic("one", n=SIDE), {"s": 0.7 * c["phi"] / (2 * math.pi)}),
            (Revolute("two", n=SIDE), c),
        ],
    ),
    "Universal": (
        Universal("joint", n_a=SIDE, n_b=UPRIGHT),
        lambda c: [
            (Revolute("one", n=SIDE), {"phi": c["phi_a"]}),
            (Revolute("two", n=UPRIGHT), {"phi": c["phi_b"]}),
        ],
    ),
    "Planar": (
        Planar("joint", n=UPRIGHT, n_x=CROSS),
        lambda c: [
            (Prismatic("one", n=CROSS), {"s": c["s_x"]}),
            (Prismatic("two", n=tuple(np.cross(UPRIGHT, CROSS))), {"s": c["s_y"]}),
            (Revolute("three", n=UPRIGHT), {"phi": c["phi"]}),
        ],
    ),
    "PointOnLine": (
        PointOnLine("joint", n=SIDE),
        lambda c: [
            (Prismatic("one", n=SIDE), {"s": c["s"]}),
            (Spherical("two"), {"Q_rel": c["Q_rel"]}),
        ],
    ),
    "RollingDisk": (
        RollingDisk("joint", n_a=UPRIGHT, n=CROSS, radius=0.4),
        lambda c: [
            (Planar("one", n=UPRIGHT, n_x=tuple(np.cross(UPRIGHT, CROSS))), {**c, "phi": c["psi"]}),
            (Revolute("two", n=tuple(np.cross(UPRIGHT, CROSS))), {"phi": c["theta"]}),
            (Fixed("spoke", r=tuple(0.4 * np.array(UPRIGHT))), {}),
            (Revolute("three", n=CROSS), {"phi": c["phi"]}),
        ],
    ),
    "RollingSphere": (
        RollingSphere("joint", n=UPRIGHT, n_x=CROSS, radius=0.4),
        lambda c: [
            (Planar("one", n=UPRIGHT, n_x=CROSS), {**c, "phi": ca.SX(0)}),
            (Fixed("spoke", r=tuple(0.4 * np.array(UPRIGHT))), {}),
            (Spherical("two"), {"Q_rel": c["Q_rel"]}),
        ],
    ),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_a_joint_of_several_freedoms_is_a_chain_of_simpler_ones(name: str) -> None:
    joint, chain_of = COMPOSED[name]
    p = values_of(joint, False)
    motion = joint.motion(p, still(False), still(False))
    coordinates = {item.position: ca.SX.sym(item.position, ca.vertcat(item.value).numel()) for item in motion}
    chain = identity(False)
    for link, given in chain_of(coordinates):
        chain = chain @ link.pose(values_of(link, False), given)
    whole = joint.pose(p, coordinates)
    both = ca.Function("f", [ca.vertcat(*coordinates.values())], [chain.r - whole.r, chain.R - whole.R])
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        drawn = [
            random_turn(rng, False) if symbol.numel() == 4 else rng.uniform(-1.4, 1.4, 1)
            for symbol in coordinates.values()
        ]
        for apart in both(np.concatenate(drawn)):
            np.testing.assert_allclose(np.array(apart), 0, atol=1e-14)


def test_the_angle_of_two_quaternions_has_no_jump_within_a_turn_to_either_side() -> None:
    joint, both = CARRYING["Revolute"][0], pair(False)
    (motion,) = joint.motion(values("Revolute"), both.a, both.b)
    for phi in (-6.2, -3.2, -0.1, 3.0, 3.3, 6.2):
        Q = np.array([math.cos(phi / 2), *(math.sin(phi / 2) * np.array(SIDE))])
        q = np.concatenate([np.zeros(3), [1, 0, 0, 0], np.zeros(3), Q])
        assert both.number(motion.value, q)[0] == pytest.approx(phi, abs=1e-14)


def test_a_screw_knows_its_turns_by_its_advance() -> None:
    """Of the same orientation, one turn more is one pitch further."""
    joint = CARRYING["Screw"][0]
    both, p = pair(False), values("Screw")
    (motion,) = joint.motion(p, both.a, both.b)
    assert not motion.wraps
    n = np.array(SIDE)
    for turns in (-3, 0, 5):
        angle = 2 * math.pi * turns + 0.5
        half = np.array([math.cos(0.25), *(math.sin(0.25) * n)])
        q = np.array([0.0, 0, 0, 1, 0, 0, 0, *(n * 0.7 * angle / (2 * math.pi)), *half])
        np.testing.assert_allclose(both.number(joint.position(p, both.a, both.b), q), 0, atol=1e-14)
        assert both.number(motion.value, q)[0] == pytest.approx(angle, abs=1e-12)


# -- equations ------------------------------------------------------------------------------------------------------


def on_the_constraints(name: str, rng: np.random.Generator) -> tuple[Array, Array]:
    if name in CARRYING:
        return closed(name, rng)[:2]
    both = pair(EVERY[name][1])
    q, v = both.anywhere(rng)
    if name.startswith("Distance"):
        gap, half = rng.normal(size=both.dim), len(q) // 2
        q[half : half + both.dim] = q[: both.dim] + 0.8 * gap / np.linalg.norm(gap)
    if name.startswith("Coincident"):
        q[len(q) // 2 :][: both.dim] = q[: both.dim]
    if name.startswith("SlippingWheel"):
        half, R_a = len(q) // 2, rotation(q[both.dim : len(q) // 2])
        q[half : half + both.dim] = q[: both.dim] + R_a @ (
            0.4 * np.array([-0.6, 0.8]) + rng.normal() * np.array([0.8, 0.6])
        )
    return q, v


def rank(rows: Array) -> int:
    if not rows.size:
        return 0
    sizes = np.linalg.svd(rows.reshape(-1, rows.shape[-1]), compute_uv=False)
    return int(np.sum(sizes > 1e-8 * sizes[0]))


def jacobian(name: str, q: Array, nonholonomic: bool = False) -> Array:
    """Derivatives of the equations by velocity and angular velocity of frame_b; the position's, or all."""
    joint, planar, _ = EVERY[name]
    both, p = pair(planar), values(name)
    rows = both.dot(joint.position(p, both.a, both.b))
    if nonholonomic:
        rows = ca.vertcat(rows, joint.velocity(p, both.a, both.b))
    half = both.v.numel() // 2
    return both.number(ca.jacobian(rows, both.v)[:, half:], q).reshape(-1, half)


@every
def test_the_position_is_independent_and_leaves_the_freedoms_it_should(name: str) -> None:
    joint, planar, freedom = EVERY[name]
    both = pair(planar)
    everything = 3 if planar else 6
    rows = ca.vertcat(joint.position(values(name), both.a, both.b)).numel()
    assert rows == everything - freedom
    for seed in SEEDS:
        q, _ = on_the_constraints(name, np.random.default_rng(seed))
        assert rank(jacobian(name, q)) == rows


@pytest.mark.parametrize("name", ROLLING)
def test_the_velocities_are_independent_of_the_position_and_of_each_other(name: str) -> None:
    for seed in SEEDS:
        q, _ = on_the_constraints(name, np.random.default_rng(seed))
        rows = jacobian(name, q, nonholonomic=True)
        assert rank(rows) == rows.shape[0] == rows.shape[1] - ROLLING[name]


@every
def test_equations_and_motions_of_velocities_are_linear_in_them(name: str) -> None:
    joint, planar, _ = EVERY[name]
    both, p = pair(planar), values(name)
    rates = [item.rate_value for item in joint.motion(p, both.a, both.b) if item.rate_value is not None]
    for rows in (joint.velocity(p, both.a, both.b), *rates):
        assert not ca.depends_on(ca.jacobian(ca.vertcat(rows), both.v), both.v)
    assert not ca.depends_on(ca.vertcat(joint.position(p, both.a, both.b)), both.v)


@every
def test_a_joint_does_not_care_where_and_how_the_two_frames_move_together(name: str) -> None:
    """All equations and motions are the same after one rigid displacement and with one more rigid motion of both."""
    joint, planar, _ = EVERY[name]
    both, p = pair(planar), values(name)
    shown = [joint.position(p, both.a, both.b), joint.velocity(p, both.a, both.b)]
    for item in joint.motion(p, both.a, both.b):
        shown += [item.value, both.dot(item.value) if item.rate_value is None else item.rate_value]
    what = ca.vertcat(ca.SX(0, 1), *shown)
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        q, v = on_the_constraints(name, rng)
        v = rng.normal(size=len(v))
        shift, turn = rng.normal(size=both.dim), random_turn(rng, planar)
        speed, spin = rng.normal(size=both.dim), rng.normal(size=both.turns)
        R, half, dim = rotation(turn), len(q) // 2, both.dim
        q1, v1 = q.copy(), v.copy()
        for one, two in ((0, 0), (half, len(v) // 2)):
            q1[one : one + dim] = shift + R @ q[one : one + dim]
            q1[one + dim : one + half] = product(turn, q[one + dim : one + half])
            v1[two : two + dim] = R @ v[two : two + dim] + speed + across(spin, q1[one : one + dim])
            w = v[two + dim : two + len(v) // 2]
            v1[two + dim : two + len(v) // 2] = (w if planar else R @ w) + spin
        np.testing.assert_allclose(both.number(what, q1, v1), both.number(what, q, v), atol=1e-11)


@pytest.mark.parametrize("name", [name for name in ROLLING if name.startswith("Rolling")])
def test_the_point_that_touches_the_ground_does_not_slip(name: str) -> None:
    """With velocities that meet all equations: found on the rim or the ball itself, as its lowest point."""
    joint, planar, _ = EVERY[name]
    both, p = pair(planar), values(name)
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        q, v = on_the_constraints(name, rng)
        rows = ca.vertcat(both.dot(joint.position(p, both.a, both.b)), joint.velocity(p, both.a, both.b))
        G = both.number(ca.jacobian(rows, both.v), q).reshape(rows.numel(), -1)
        v = v - np.linalg.pinv(G) @ (G @ v)
        r_a, r_b, v_a, w_a, v_b, w_b = q[:3], q[7:10], v[:3], v[3:6], v[6:9], v[9:]
        if isinstance(joint, RollingDisk):
            N, d = rotation(q[3:7]) @ joint.n_a, rotation(q[10:]) @ joint.n
            one = np.cross(d, random_axis(rng))
            one /= np.linalg.norm(one)
            angles = np.linspace(0, 2 * math.pi, 100_001)
            rim = r_b + 0.4 * (np.outer(np.cos(angles), one) + np.outer(np.sin(angles), np.cross(d, one)))
            heights = (rim - r_a) @ N
            lowest = rim[np.argmin(heights)]
        else:
            assert isinstance(joint, RollingSphere)
            N = rotation(q[3:7]) @ joint.n
            lowest = r_b - 0.4 * N
            heights = np.array([(lowest - r_a) @ N])
        assert heights.min() == pytest.approx(0, abs=1e-8)
        slip = v_b + np.cross(w_b, lowest - r_b) - v_a - np.cross(w_a, lowest - r_a)
        np.testing.assert_allclose(slip, 0, atol=1e-3 if isinstance(joint, RollingDisk) else 1e-12)


def test_a_wheel_in_the_plane_does_not_slip() -> None:
    q, v, _, rates = closed("RollingWheel, planar", np.random.default_rng(1))
    n = rotation(q[2:3]) @ np.array([-0.6, 0.8])
    lowest = q[3:5] - 0.4 * n
    assert (lowest - q[:2]) @ n == pytest.approx(0, abs=1e-14)
    slip = v[3:5] + across(v[5:], lowest - q[3:5]) - v[:2] - across(v[2:3], lowest - q[:2])
    np.testing.assert_allclose(slip, 0, atol=1e-13)
    assert v[5] - v[2] == pytest.approx(rates["phi"][0], abs=1e-13)


# -- couplings ------------------------------------------------------------------------------------------------------


def test_a_gear_holds_two_axes_at_its_ratio() -> None:
    gear = Gear("gear", joint_a="hinge", joint_b="rail", ratio=-2.5, offset=0.3)
    assert gear.axes == ("hinge", "rail")
    s = ca.SX.sym("s", 2)
    residual = ca.Function("f", [s], [gear.position(values_of(gear, True), s[0], s[1])])
    for s_b in (-3.0, 0.0, 7.1):
        assert float(residual([-2.5 * s_b + 0.3, s_b])) == pytest.approx(0, abs=1e-14)
        assert float(residual([-2.5 * s_b + 0.8, s_b])) == pytest.approx(0.5, abs=1e-14)


def test_a_motion_follows_its_formula_of_time() -> None:
    drive = AxisMotion("drive", joint="hinge", s="0.8*sin(3*time)")
    assert drive.axes == ("hinge",)
    s = ca.SX.sym("s")
    residual = drive.position(values_of(drive, True), s)
    f = ca.Function("f", [s, TIME], [residual, ca.jacobian(residual, s), ca.jacobian(residual, TIME)])
    for t in (0.0, 0.7, 5.0):
        found = [float(item) for item in f(0.2, t)]
        assert found == pytest.approx([0.2 - 0.8 * math.sin(3 * t), 1.0, -2.4 * math.cos(3 * t)], abs=1e-14)


@pytest.mark.parametrize(
    ("coupling", "said"),
    [
        (Gear("odd", joint_a="hing", joint_b="rail"), "'odd' acts on the joint 'hing'.*did you mean 'hinge'"),
        (AxisMotion("odd", joint="hinge", s="sin(tim)"), "there is no parameter 'tim'; did you mean 'time'"),
    ],
)
def test_a_coupling_of_what_is_not_there_is_refused(coupling: Component, said: str) -> None:
    with pytest.raises(UnknownNameError, match=said):
        values_of(coupling, True)


# -- sensors --------------------------------------------------------------------------------------------------------


def shown_by(sensor: Sensor, planar: bool, frames: int, seed: int) -> tuple[dict[str, Array], Array, Array]:
    both = pair(planar)
    q, v = both.anywhere(np.random.default_rng(seed))
    found = {}
    for item in sensor.signals(values_of(sensor, planar), *(both.a, both.b)[:frames]):
        found[item.name] = both.number(item.value, q, v)
        if item.derivative is not None:  # a rate of velocities: here it is what the same velocities would change
            assert item.derivative[1] == item.unit + "2" if item.unit.endswith("/s") else item.unit + "/s"
    return found, q, v


@pytest.mark.parametrize("planar", [True, False])
def test_an_absolute_sensor_shows_how_its_frame_lies_and_moves(planar: bool) -> None:
    for seed in SEEDS:
        shown, q, v = shown_by(AbsoluteSensor("gauge"), planar, 1, seed)
        dim, half = (2, 3) if planar else (3, 7)
        np.testing.assert_array_equal(shown["r"], q[:dim])
        np.testing.assert_array_equal(shown["phi" if planar else "Q"], q[dim:half])
        np.testing.assert_array_equal(shown["v"], v[:dim])
        np.testing.assert_array_equal(shown["w"], v[dim : len(v) // 2])


@pytest.mark.parametrize("planar", [True, False])
def test_a_relative_sensor_shows_frame_b_in_the_axes_of_frame_a(planar: bool) -> None:
    both = pair(planar)
    sensor = RelativeSensor("gauge")
    for seed in SEEDS:
        shown, q, v = shown_by(sensor, planar, 2, seed)
        dim, half = both.dim, len(q) // 2
        R, gap = rotation(q[dim:half]), q[half : half + dim] - q[:dim]
        w_a, w_b = v[dim : len(v) // 2], v[len(v) // 2 + dim :]
        np.testing.assert_allclose(R @ shown["r_rel"], gap, atol=1e-14)
        assert shown["distance"][0] == pytest.approx(np.linalg.norm(gap), rel=1e-14)
        np.testing.assert_allclose(shown["w_rel"], w_b - w_a if planar else R.T @ (w_b - w_a), atol=1e-14)
        turn = shown["phi_rel" if planar else "Q_rel"]
        np.testing.assert_allclose(R @ rotation(turn), rotation(q[half + dim :]), atol=1e-14)
        r_rel = next(item for item in sensor.signals(values_of(sensor, planar), both.a, both.b) if item.name == "r_rel")
        np.testing.assert_allclose(shown["v_rel"], both.number(both.dot(r_rel.value), q, v), atol=1e-13)


# -- in motion ------------------------------------------------------------------------------------------------------


def hung(joint: Joint, body: Body, world: World, planar: bool = False) -> System:
    ends = (connect("world.frame_b", f"{joint.name}.frame_a"), connect(f"{joint.name}.frame_b", f"{body.name}.frame_a"))
    return System("rig", (world, joint, body), ends, planar=planar)


def ended(system: System, stop: float, **starts: float) -> dict[str, float]:
    """Where a run with a method of order 4 ends."""
    run = mbfmu.simulate(
        system.with_values(starts), stop, stepper="projected", options={"order": 8}, step=5e-3, output_interval=stop
    )
    return {name: float(run[name][-1]) for name in run.names}


def test_a_disk_of_parts_rolls_as_the_lagrangian_of_the_paper() -> None:
    """Its theta is pi/2 for a disk that stands, its x and y are along e_y and -e_x."""
    known = json.loads((ROOT / "tests" / "references" / "rolling_disk.json").read_text(encoding="utf-8"))
    joint = RollingDisk(
        "disk", n_a=(0, 0, 1), n=(1, 0, 0), radius=1.0, phi=0.0, theta=1 - math.pi / 2, psi=2.0, s_x=0.0, s_y=0.0,
        w=8.0, w_theta=0.2, w_psi=0.1,
    )  # fmt: skip
    body = Body("body", m=1.0, I_11=0.5, I_22=0.25, I_33=0.25)
    shown = ended(hung(joint, body, World(g=10.0, n=(0, 0, -1))), known["t"][0])
    found = {
        "x": shown["disk.s_y"],
        "y": -shown["disk.s_x"],
        "theta": shown["disk.theta"] + math.pi / 2,
        "psi": shown["disk.psi"],
        "phi": shown["disk.phi"],
    }
    for name, value in found.items():
        assert value == pytest.approx(float(known[name][0]), abs=1e-7), name


SLOPE = World(g=9.81, n=(0.6, -0.8, 0.0))
"""Gravity on a ground along x that falls by 37 degrees."""


def test_a_ball_rolls_down_a_slope_at_five_sevenths_and_keeps_its_spin() -> None:
    inertia = 0.4 * 1.3 * 0.25**2
    body = Body("ball", m=1.3, I_11=inertia, I_22=inertia, I_33=inertia)
    joint = RollingSphere("ground", radius=0.25, s_x=0.0, s_y=0.0, v_x=0.0, v_y=0.3, w_rel=(None, 2.0, None))
    shown = ended(hung(joint, body, SLOPE), 0.8)
    assert shown["ground.s_x"] == pytest.approx(5 / 7 * 9.81 * 0.6 * 0.8**2 / 2, abs=1e-9)
    assert shown["ground.s_y"] == pytest.approx(0.3 * 0.8, abs=1e-9)
    assert shown["ground.w_rel[2]"] == pytest.approx(2.0, abs=1e-9)
    assert shown["ball.r_0[2]"] == pytest.approx(0.25, abs=1e-12)


def test_a_wheel_rolls_down_a_slope_as_its_inertia_says() -> None:
    joint = RollingWheel("ground", radius=0.25, phi=0.0, w=0.0)
    shown = ended(hung(joint, Body("wheel", m=1.3, I_33=0.02), SLOPE, planar=True), 0.8)
    a = 9.81 * 0.6 / (1 + 0.02 / (1.3 * 0.25**2))
    assert shown["wheel.r_0[1]"] == pytest.approx(a * 0.8**2 / 2, abs=1e-9)
    assert shown["ground.phi"] == pytest.approx(-a * 0.8**2 / 2 / 0.25, abs=1e-9)


def test_a_nut_winds_down_its_screw_over_many_turns() -> None:
    joint = Screw("screw", n=(0, 1, 0), pitch=0.05, phi=0.0, w=0.0)
    shown = ended(hung(joint, Body("nut", m=2.0, I_11=0.1, I_22=1e-3, I_33=0.1), World()), 1.0)
    a = -9.81 / (1 + 1e-3 / 2.0 * (2 * math.pi / 0.05) ** 2)
    assert shown["nut.r_0[2]"] == pytest.approx(a / 2, abs=1e-9)
    assert shown["screw.phi"] == pytest.approx(2 * math.pi / 0.05 * a / 2, abs=1e-7)
    assert abs(shown["screw.phi"]) > 4 * math.pi


def test_a_rod_holds_a_bob_as_a_pendulum_and_carries_its_tension() -> None:
    """phi'' = -(g/l) cos(phi) from the horizontal."""
    bob = Body("bob", m=1.0, I_33=0.1, r_0=(0.8, 0.0), v_0=(0.0, 0.0), phi=0.0, w=0.0)
    rod = ended(hung(Distance("rod", l=0.8), bob, World(), planar=True), 0.7)
    fall = solve_ivp(
        lambda _, y: [y[1], -9.81 / 0.8 * math.cos(y[0])], (0, 0.7), [0, 0], method="DOP853", rtol=1e-12, atol=1e-12
    )
    phi, w = fall.y[:, -1]
    assert rod["bob.r_0[1]"] == pytest.approx(0.8 * math.cos(phi), abs=1e-9)
    assert rod["bob.r_0[2]"] == pytest.approx(0.8 * math.sin(phi), abs=1e-9)
    tension = 0.8 * w**2 - 9.81 * math.sin(phi)
    pull = rod["rod.frame_b.f[1]"] * math.cos(phi) + rod["rod.frame_b.f[2]"] * math.sin(phi)
    assert pull == pytest.approx(tension, abs=1e-7)


def test_a_weld_holds_two_bodies_as_one_and_shows_the_cut_between_them() -> None:
    """A pendulum cut in two, against the same two bodies connected to each other."""
    upper = BodyShape("upper", m=1.0, r=(0.4, 0.1), r_CM=(0.2, 0), I_33=0.05)
    lower = Body("lower", m=0.7, r_CM=(0.3, 0), I_33=0.03)
    ends = (connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", "upper.frame_a"))
    weld = (connect("upper.frame_b", "weld.frame_a"), connect("weld.frame_b", "lower.frame_a"))
    parts = (World(), Revolute("hinge", phi=0.3, w=0.0), upper, lower)
    one = ended(System("rig", parts, (*ends, connect("upper.frame_b", "lower.frame_a")), planar=True), 0.5)
    cut = ended(System("rig", (*parts, Fixed("weld")), (*ends, *weld), planar=True), 0.5)
    for name in ("hinge.phi", "hinge.w", "lower.r_0[1]", "energy.total", "hinge.frame_b.f[1]", "hinge.frame_b.f[2]"):
        assert cut[name] == pytest.approx(one[name], abs=1e-8), name
    phi, w, z = (cut[f"hinge.{label}"] for label in ("phi", "w", "a"))
    arm = rotation(np.array([phi])) @ np.array([0.7, 0.1])  # to the centre of mass of the lower body
    a = across(np.array([z]), arm) - w**2 * arm
    expected = -0.7 * (rotation(np.array([phi])).T @ (a + np.array([0, 9.81])))
    assert [cut["weld.frame_b.f[1]"], cut["weld.frame_b.f[2]"]] == pytest.approx(list(expected), abs=1e-6)


def test_a_universal_joint_turns_its_shafts_by_hookes_law() -> None:
    """tan(psi) = tan(phi) / cos(beta) for shafts along x and at beta to it, the input's pin along y at phi = 0."""
    joint, beta = Universal("joint", n_a=(0, 1, 0), n_b=(0, 0, 1)), 0.6
    both, p = pair(False), values_of(joint, False)
    leaning = ca.vertcat(joint.position(p, both.a, both.b))[3]
    bend = np.array([math.cos(beta / 2), 0, 0, math.sin(beta / 2)])
    for phi in (0.3, 1.2, -0.9):
        psi = math.atan(math.tan(phi) / math.cos(beta))
        one, two = (np.array([math.cos(angle / 2), math.sin(angle / 2), 0, 0]) for angle in (phi, psi))
        q = np.concatenate([np.zeros(3), one, np.zeros(3), product(bend, two)])
        assert both.number(leaning, q)[0] == pytest.approx(0, abs=1e-15)


# -- what cannot be -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("joint", "planar", "said"),
    [
        (
            Cylindrical("odd"),
            True,
            "'odd': a Cylindrical joint needs a spatial system; in the plane use Prismatic or Re",
        ),
        (Universal("odd"), True, "'odd': a Universal joint needs a spatial system; in the plane use Revolute"),
        (Screw("odd"), True, "'odd': a Screw joint needs a spatial system; in the plane use a Gear between"),
        (RollingDisk("odd"), True, "'odd': a RollingDisk joint needs a spatial system; in the plane use RollingWheel"),
        (RollingSphere("odd"), True, "'odd': a RollingSphere joint needs a spatial system; in the plane use RollingWh"),
        (
            PlanarTranslation("odd"),
            True,
            "'odd': a PlanarTranslation joint needs a spatial system; in the plane use Planar",
        ),
        (UprightWheel("odd"), True, "'odd': a UprightWheel joint needs a spatial system; in the plane use RollingWhe"),
        (RollingWheel("odd"), False, "'odd': a RollingWheel joint needs a planar system; in space use RollingDisk"),
        (PlanarWheel("odd"), False, "'odd': a PlanarWheel joint needs a planar system; in space use RollingDisk"),
        (GearPair("odd"), False, "'odd': a GearPair joint needs a planar system; in space use a Gear of two joints"),
        (SlippingWheel("odd"), False, "'odd': a SlippingWheel joint needs a planar system; in space use RollingDisk"),
        (PlanarWheel("odd", e=(0, 0, 1)), True, r"odd.e = \(0, 0, 1\) leaves the plane"),
        (SlippingWheel("odd", n=(0, 0, 1)), True, r"odd.n = \(0, 0, 1\) leaves the plane"),
        (Spherical("odd"), True, "'odd': a Spherical joint needs a spatial system; in the plane use Revolute"),
        (Planar("odd", n=(1, 0, 0), n_x=(0, 0, 1)), True, r"odd.n = \(1, 0, 0\): a planar system turns about z"),
        (Revolute("odd", n=(0, 0, -1)), True, r"odd.n = \(0, 0, -1\): a planar system turns about z"),
        (PointOnLine("odd", n=(0, 0, 1)), True, r"odd.n = \(0, 0, 1\) leaves the plane"),
        (RollingWheel("odd", n=(0, 0, 1)), True, r"odd.n = \(0, 0, 1\) leaves the plane"),
    ],
)
def test_a_joint_in_a_system_it_cannot_work_in_is_refused_with_what_to_do(
    joint: Joint, planar: bool, said: str
) -> None:
    body = Body("body", m=1.0, I_11=0.1, I_22=0.1, I_33=0.1)
    with pytest.raises(ModelError, match=said):
        absolute(hung(joint, body, World(), planar))


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: Planar("odd", n_x=(0.6, 0, 0.8)), AxisError, "odd.n_x.* is not perpendicular to odd.n"),
        (lambda: RollingDisk("odd", n=(0.6, 0.8, 0)), AxisError, "odd.n = .* is not perpendicular to odd.n_a"),
        (lambda: PlanarTranslation("odd", n_x=(0, 0, 1)), AxisError, "odd.n_x.* is not perpendicular to odd.n"),
        (lambda: RollingSphere("odd", n_x=(0, 1, 0)), AxisError, "odd.n_x.* is not perpendicular to odd.n"),
        (lambda: Universal("odd", n_b=(-1, 0, 0)), AxisError, "odd.n_a and odd.n_b are parallel"),
        (lambda: Universal("odd", n_a=(0, 0, 0)), AxisError, "odd.n_a.* has no direction"),
        (lambda: Screw("odd", pitch=0.0), ValueRangeError, "odd.pitch = 0: a screw that does not advance is a Rev"),
        (lambda: Distance("odd", l=0.0), ValueRangeError, "odd.l = 0.0 is outside its bounds"),
        (lambda: RollingSphere("odd", radius=-1.0), ValueRangeError, "odd.radius = -1.0 is outside its bounds"),
    ],
)
def test_a_joint_that_cannot_be_is_refused_where_it_is_made(
    make: Callable[[], Joint], error: type[ModelError], said: str
) -> None:
    with pytest.raises(error, match=said):
        make()


# -- the list and the guide -----------------------------------------------------------------------------------------


def kinds() -> dict[str, type[Component]]:
    found = {name: getattr(model, name) for name in model.__all__}
    return {name: kind for name, kind in found.items() if isinstance(kind, type) and issubclass(kind, Component)}


def test_the_list_shows_every_component_with_a_claim() -> None:
    rows = components()
    assert {row["name"] for row in rows} == set(kinds()) - BASES
    assert all(row["what_it_is"] for row in rows)


def test_every_joint_of_the_library_is_tested_here() -> None:
    joints = {name for name, kind in kinds().items() if issubclass(kind, Joint)} - {"Joint"}
    assert {type(joint).__name__ for joint, _, _ in EVERY.values()} | ELSEWHERE == joints


def test_the_guide_names_every_component() -> None:
    text = (ROOT / "docs" / "components.md").read_text(encoding="utf-8")
    assert not {name for name in set(kinds()) - BASES if f"`{name}" not in text and f"`{name}`" not in text}


def test_the_guides_own_components_do_what_it_says(tmp_path: Path) -> None:
    """A bead slides down a parabolic wire against the wind; its sensor shows how fast."""
    text = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    code = next(block for block in text.split("```python\n")[1:] if "def bead" in block).split("```")[0]
    (tmp_path / "bead.py").write_text(code, encoding="utf-8")
    system = mbfmu.load(tmp_path / "bead.py")
    run = mbfmu.simulate(system, 1.0, stepper="projected", options={"order": 4}, step=5e-3)
    x, y = run["ball.r_0[1]"], run["ball.r_0[2]"]
    np.testing.assert_allclose(y, x**2 / 2, atol=1e-12)
    speed = np.hypot(run["ball.v_0[1]"], run["ball.v_0[2]"])
    power = -0.3 * speed**3
    gained = np.concatenate([[0], np.cumsum((power[1:] + power[:-1]) / 2 * np.diff(run.time))])
    np.testing.assert_allclose(run["energy.total"] - run["energy.total"][0], gained, atol=1e-4)
    gauge = next(item for item in system.components if isinstance(item, Sensor))
    both = pair(True)
    q, v = np.array([0, 0, 0, 1.0, 0.5, 0.2]), np.array([0, 0, 0, 0.3, 0.4, 2.0])
    (shown,) = gauge.signals(None, both.b)
    assert (shown.name, shown.unit) == ("speed", "m/s")
    assert both.number(shown.value, q, v)[0] == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
@pytest.mark.parametrize("planar", [True, False], ids=["plane", "space"])
def test_what_a_joint_transmits_is_seen_from_the_world_however_its_frames_turn(planar: bool, coordinates: str) -> None:
    """A body that turns evenly about an axle beside its centre weighs on it, and pulls outwards by m w^2 r."""
    m, r, w, g = 2.0, 0.1, 30.0, 9.81
    wide = (0.0,) if planar else (0.0, 0.0)
    inertia = {"I_33": 0.5} if planar else {"I_11": 0.5, "I_22": 0.5, "I_33": 0.5}
    system = System(
        "rotor",
        planar=planar,
        components=(
            World("world", n=(0.0, -1.0, *wide[1:]), g=g),
            Revolute("axle", phi=0.3, w=w),
            Body("wheel", m=m, r_CM=(r, *wide), **inertia),
            AxisMotion("motor", "axle", f"0.3 + {w}*time"),
            CutForce("load", joint="axle"),
            CutForce("again", joint="axle"),
        ),
        connections=(connect("world.frame_b", "axle.frame_a"), connect("axle.frame_b", "wheel.frame_a")),
    )
    t = 0.013
    run = mbfmu.simulate(system, t, step=1e-3, coordinates=coordinates, stepper="projected")
    phi = 0.3 + w * t
    outwards = np.array([np.cos(phi), np.sin(phi)])
    wanted = m * w**2 * r * outwards - [0.0, m * g]
    for name in ("load", "again"):
        assert [run[f"{name}.f[{k}]"][-1] for k in (1, 2)] == pytest.approx(wanted, abs=1e-9)
    torque = run["load.t" if planar else "load.t[3]"][-1]
    assert torque == pytest.approx(-m * g * r * np.cos(phi), abs=1e-9)


def test_a_cut_force_of_no_joint_is_refused() -> None:
    parts = (World("world"), Revolute("axle"), Body("b", m=1.0, I_33=1.0), CutForce("load", joint="axel"))
    joined = (connect("world.frame_b", "axle.frame_a"), connect("axle.frame_b", "b.frame_a"))
    system = System("odd", parts, joined, planar=True)
    with pytest.raises(UnknownNameError, match="CutForce 'load' shows the joint 'axel', which is not there"):
        mbfmu.simulate(system, 0.1)

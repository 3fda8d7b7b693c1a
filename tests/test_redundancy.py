"""Constraints that say the same twice are left out, and who cannot tell their forces says so; singular starts."""

import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from harness import thorough
from mechanisms import EVERY, slider_crank
from random_mechanisms import in_space
from states import (
    admissible,
    assert_same_motion,
    closed,
    column,
    constraints,
    in_absolute,
    marked,
    matrix,
    motion,
    outputs,
    start_place,
)

import mbfmu
from mbfmu.dae import COORDINATES, Dae, derive
from mbfmu.dae.linear_algebra.redundancy import independent
from mbfmu.errors import FmuError, ModelError, StartError
from mbfmu.fmu.interface import interface
from mbfmu.model import (
    AxisMotion,
    Body,
    BodyShape,
    Component,
    Cylindrical,
    FixedRotation,
    FixedTranslation,
    FreeMotion,
    Gear,
    Joint,
    Parameter,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    System,
    Universal,
    World,
    connect,
    guess,
)
from mbfmu.prepared.prepare import prepare
from mbfmu.show.listing import description

Array = npt.NDArray[np.float64]

H = math.sqrt(0.5)

both = pytest.mark.parametrize("coordinates", COORDINATES)


def cuts(joints: Iterable[str], planar: bool = False) -> set[str]:
    """The names of the cut forces and torques of joints."""
    forces, torques = (("[1]", "[2]"), ("",)) if planar else (("[1]", "[2]", "[3]"),) * 2
    labels = [f"f{index}" for index in forces] + [f"t{index}" for index in torques]
    return {f"{joint}.frame_b.{label}" for joint in joints for label in labels}


def run(system: System, coordinates: str, stop: float = 0.5) -> dict[str, Array]:
    """All outputs from the start on."""
    return motion(derive(system, coordinates), stop)


def refusal(system: System, coordinates: str) -> str:
    """What the StartError of a system says."""
    with pytest.raises(StartError) as caught:
        prepare(system, "direct", None, 1e-3, coordinates=coordinates).initial_state()
    return str(caught.value)


def assert_close(expected: dict[str, Array], found: dict[str, Array]) -> None:
    """What was found is what was expected, to 1e-9 of its kind."""
    for name in found:
        np.testing.assert_allclose(
            found[name], expected[name], rtol=1e-9, atol=1e-9 * (1 + np.abs(expected[name]).max()), err_msg=name
        )


# -- one loop too many ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(EVERY))
@both
def test_nothing_is_left_out_where_nothing_is_redundant(name: str, coordinates: str) -> None:
    dae = derive(EVERY[name](), coordinates)
    assert dae.redundant == ()
    assert not marked(dae)
    assert dae.row_names == dae.start.constraint_names


def test_bricards_mechanism_has_one_equation_too_many_in_either_coordinates() -> None:
    """Six revolutes in a loop: 30 equations for 30 freedoms, and yet it moves; no joint's force is unique."""
    system: System = mbfmu.load("bricard")
    joints = [item.name for item in system.components if isinstance(item, Revolute)]
    for dae in assert_same_motion(system, seed=0):
        assert len(dae.redundant) == 1
        assert set(dae.redundant) <= set(joints)
        assert dae.n - dae.m == 1
        assert marked(dae) == cuts(joints)


LOOPS: dict[str, Callable[[], System]] = {"four_bar": lambda: mbfmu.load("four_bar"), "slider_crank": slider_crank}


@pytest.mark.parametrize("name", LOOPS)
@both
def test_a_planar_loop_of_spatial_joints_has_three_equations_too_many(name: str, coordinates: str) -> None:
    flat = LOOPS[name]()
    joints = [item.name for item in flat.components if isinstance(item, Joint)]
    dae = derive(in_space(flat), coordinates)
    assert len(dae.redundant) == 3
    assert dae.n - dae.m == 1
    assert marked(dae) == cuts(joints)


@pytest.mark.parametrize(
    ("name", "coordinates"),
    thorough(product(LOOPS, COORDINATES), lambda *case: case == ("four_bar", "joint")),
)
def test_a_planar_loop_of_spatial_joints_moves_as_in_the_plane(name: str, coordinates: str) -> None:
    """What acts in the plane is the same too, though all forces of a joint are marked for those across the plane."""
    flat = LOOPS[name]()
    plane, space = run(flat, "absolute"), run(in_space(flat), coordinates)
    bodies, joints = ([item.name for item in flat.components if isinstance(item, kind)] for kind in (Body, Joint))
    same = {label: label for label in plane if label in space}
    same |= {f"{body}.w": f"{body}.w_a[3]" for body in bodies} | {f"{j}.frame_b.t": f"{j}.frame_b.t[3]" for j in joints}
    assert_close(plane, {one: space[other] for one, other in same.items()})
    assert np.ptp(plane[f"{joints[0]}.phi"]) > 0.1


# -- one joint too many ---------------------------------------------------------------------------------------------


def door(*, hinges: int, carried: bool = False) -> System:
    """A door of 20 kg on hinges one above the other; its post stands still, or on a turntable."""
    post = "table.frame_a" if carried else "world.frame_b"
    inertia = {"I_11": 7.0, "I_22": 8.0, "I_33": 1.5, "I_31": 0.3}
    components: list[Component] = [World(n=(0, 0.6, -0.8)), Body("leaf", m=20.0, r_CM=(0.4, 0.1, 1.0), **inertia)]
    connections = []
    if carried:
        components += [
            Revolute("pivot", n=(0, 0.6, 0.8), phi=0.2, w=-0.5),
            Body("table", m=9.0, I_11=2.0, I_22=3.0, I_33=4.0),
        ]
        connections += [connect("world.frame_b", "pivot.frame_a"), connect("pivot.frame_b", "table.frame_a")]
    for k in range(hinges):
        given = {} if k else {"phi": 0.3, "w": 1.0}
        components += [FixedTranslation(f"{end}{k}", r=(0, 0, 2.0 * k)) for end in ("post", "edge")]
        components += [Revolute(f"hinge{k}", n=(0, 0, 1), **given)]
        connections += [
            connect(post, f"post{k}.frame_a"), connect("leaf.frame_a", f"edge{k}.frame_a"),
            connect(f"post{k}.frame_b", f"hinge{k}.frame_a"), connect(f"hinge{k}.frame_b", f"edge{k}.frame_b"),
        ]  # fmt: skip
    return System("door", tuple(components), tuple(connections))


@pytest.mark.parametrize("hinges", [2, 3])
@both
def test_a_door_on_more_hinges_than_one_keeps_its_freedom_and_marks_their_forces(hinges: int, coordinates: str) -> None:
    dae = derive(door(hinges=hinges, carried=True), coordinates)
    assert len(dae.redundant) == 5 * (hinges - 1)
    assert dae.n - dae.m == 2
    assert marked(dae) == cuts(f"hinge{k}" for k in range(hinges))  # not of the pivot


def test_forces_that_are_not_unique_are_told_in_the_fmu_and_in_the_description_of_the_model() -> None:
    system = door(hinges=2, carried=True)
    variables = interface(prepare(system, "rattle", {}, 1e-3)).variables
    told = {item.name for item in variables if item.description.endswith("; not unique, the constraints are redundant")}
    assert told == cuts(["hinge0", "hinge1"])
    counts = {row["what"]: row["which"] for row in description(system)["counts"]}
    assert counts["joints whose forces are not unique"] == ["hinge0", "hinge1"]


@pytest.mark.parametrize("carried", thorough(zip([True, False]), bool))
@both
def test_a_door_on_two_hinges_moves_as_on_one(carried: bool, coordinates: str) -> None:
    one, two = (run(door(hinges=n, carried=carried), coordinates) for n in (1, 2))
    assert_close(one, {name: two[name] for name in one.keys() - cuts(["hinge0"])})
    assert np.ptp(one["hinge0.phi"]) > 0.1


@both
def test_what_two_hinges_carry_together_is_what_one_does(coordinates: str) -> None:
    """Each force alone is one of many that hold the door; their sum, and the sum of their moments, is not."""
    one, two = (run(door(hinges=n), coordinates) for n in (1, 2))
    f_0, t_0, f_1, t_1 = (
        np.array([two[f"hinge{n}.frame_b.{label}[{k}]"] for k in (1, 2, 3)]) for n in (0, 1) for label in "ft"
    )
    moment = t_0 + t_1 + np.cross([0, 0, 2.0], f_1, axisb=0, axisc=0)
    together = {f"hinge0.frame_b.f[{k + 1}]": (f_0 + f_1)[k] for k in range(3)}
    assert_close(one, together | {f"hinge0.frame_b.t[{k + 1}]": moment[k] for k in range(3)})


def pinned(joint: Joint, *, twice: bool) -> System:
    """A body on a joint between skewed brackets, or on two of them that are alike."""
    joints = [replace(joint, name="pin"), *([type(joint)("again", **directions(joint))] if twice else [])]
    more = [connect("rod.frame_b", f"{item.name}.frame_a") for item in joints]
    more += [connect(f"{item.name}.frame_b", "arm.frame_b") for item in joints]
    return System(
        "pinned",
        (
            World(),
            Body("bob", m=1.3, r_CM=(0.3, 0.1, -0.2), I_11=0.1, I_22=0.2, I_33=0.15, I_21=0.02),
            FixedTranslation("rod", r=(0.2, 0.1, 0.3)),
            FixedTranslation("arm", r=(-0.3, 0.2, 0.1)),
            *joints,
        ),
        (connect("world.frame_b", "rod.frame_a"), connect("bob.frame_a", "arm.frame_a"), *more),
    )


def directions(joint: Joint) -> dict[str, tuple[float, ...]]:
    return dict(joint.directions())


N, ACROSS = (0.48, 0.6, 0.64), (0.8, -0.6, 0.0)
PINS = {
    Revolute("pin", n=N, phi=0.4, w=1.0): 5,
    Prismatic("pin", n=N, s=0.1, v=0.5): 5,
    Cylindrical("pin", n=N, s=0.1, v=0.5, phi=0.4, w=1.0): 4,
    Universal("pin", n_a=N, n_b=ACROSS, phi_a=0.3, phi_b=-0.2, w_a=1.0, w_b=0.5): 4,
    Spherical("pin", Q_rel=(0.8, 0.2, -0.4, 0.4), w_rel=(1.0, -0.5, 0.3)): 3,
    Planar("pin", n=ACROSS, n_x=(0.6, 0.8, 0.0), s_x=0.1, s_y=0.2, phi=0.3, v_x=0.5, v_y=-0.2, w=1.0): 3,
}


@pytest.mark.parametrize(
    ("joint", "rows"),
    thorough(PINS.items(), lambda joint, _: isinstance(joint, Revolute | Spherical)),
    ids=[type(joint).__name__ for joint in PINS],
)
def test_two_joints_that_are_alike_are_one(joint: Joint, rows: int) -> None:
    twice = pinned(joint, twice=True)
    for dae in assert_same_motion(twice, seed=0):
        assert len(dae.redundant) == rows
        assert marked(dae) == cuts(["pin", "again"])
    for coordinates in COORDINATES:
        one, two = (derive(system, coordinates) for system in (pinned(joint, twice=False), twice))
        q, v, u = admissible(one, np.random.default_rng(1))
        alone, shared = outputs(one, q, v, u), outputs(two, q, v, u)
        size = 1 + max(map(abs, alone.values()))
        for name in alone.keys() - cuts(["pin"]):
            assert shared[name] == pytest.approx(alone[name], rel=1e-10, abs=1e-11 * size), name


@pytest.mark.parametrize("coordinates", thorough(zip(COORDINATES), lambda coordinates: coordinates == "joint"))
def test_what_is_left_out_holds_wherever_the_rest_does(coordinates: str) -> None:
    for system in (mbfmu.load("bricard"), in_space(mbfmu.load("four_bar")), door(hinges=2, carried=True)):
        dae = derive(system, coordinates)
        for seed in range(3):
            q, v, _ = admissible(dae, np.random.default_rng(seed), away=0.1)
            shown_here = outputs(dae, q, v, np.zeros(len(dae.inputs)))
            np.testing.assert_allclose(column(dae.start.closing(q, dae.extended(dae.p_default()), 0.0)), 0, atol=1e-11)
            assert shown_here["constraint.velocity"] < 1e-11


def path(dae: Dae, steps: int = 80, size: float = 0.15) -> list[Array]:
    """Poses of a mechanism of one freedom from the start on, along the only way it can go."""
    p, poses, ahead = dae.p_default(), [start_place(dae)], np.ones(dae.n)
    for _ in range(steps):
        q = poses[-1]
        for _ in range(2):  # a step along the tangent, and the same again with the tangent half way
            direction = np.linalg.svd(matrix(dae.constraints.Phi_q(q, p, 0.0)))[2][-1]
            direction *= math.copysign(1.0, direction @ ahead)
            q = poses[-1] + size / 2 * direction
        poses.append(closed(dae, poses[-1] + size * direction))
        ahead = direction
    return poses


@pytest.mark.parametrize(
    "name", thorough(zip(["four_bar", "slider_crank", "bricard"]), lambda name: name != "slider_crank")
)
@pytest.mark.parametrize(
    "full", thorough(zip(COORDINATES.values()), lambda full: full is COORDINATES["joint"]), ids=list(COORDINATES)
)
def test_what_is_left_out_is_redundant_all_the_way_round(name: str, full: Callable[..., Dae]) -> None:
    """Wherever the mechanism goes, what is kept is about as independent as all equations together are."""
    system = mbfmu.load(name) if name == "bricard" else in_space(LOOPS[name]())
    every = full(system, turning=True)
    kept = independent(full(system), partial(full, system))
    assert len(kept.redundant) == (1 if name == "bricard" else 3)
    p = every.p_default()
    for q in path(every):
        values = np.linalg.svd(matrix(every.constraints.Phi_q(q, p, 0.0)), compute_uv=False)
        followed = kept.followed(q, kept.extended(p), 0.0)
        smallest = np.linalg.svd(matrix(kept.constraints.Phi_q(q, followed, 0.0)), compute_uv=False).min()
        assert smallest > 0.1 * values[kept.m - 1]


def carried_loop() -> System:
    """The planar four-bar of spatial joints on a base that moves freely."""
    loop = in_space(mbfmu.load("four_bar"))
    base = Body("base", m=50.0, I_11=10.0, I_22=11.0, I_33=12.0)
    ends = [connect(*(end.replace("world.frame_b", "base.frame_a") for end in pair)) for pair in loop.connections]
    hung = (connect("world.frame_b", "free.frame_a"), connect("free.frame_b", "base.frame_a"))
    return replace(loop, components=(*loop.components, base, FreeMotion("free")), connections=(*hung, *ends))


TURNS = {
    "x": (H, H, 0, 0),
    "y": (H, 0, H, 0),
    "z": (H, 0, 0, H),
    "xyz": (0.5, 0.5, 0.5, 0.5),
    "any": (0.8, 0, -0.36, 0.48),
}
"""Quaternions: quarter turns about an axis, a change of all axes, and another."""


@pytest.mark.parametrize("turn", thorough(zip(TURNS.values()), lambda turn: turn == TURNS["any"]), ids=list(TURNS))
@pytest.mark.parametrize("coordinates", thorough(zip(COORDINATES), lambda coordinates: coordinates == "joint"))
def test_what_is_left_out_is_redundant_however_the_mechanism_lies(turn: tuple[float, ...], coordinates: str) -> None:
    """The rows that are kept at the start are as independent when all has turned together."""
    system = carried_loop()
    joint, dae = derive(system, "joint"), derive(system, coordinates)
    assert len(dae.redundant) == 3
    q = closed(joint, start_place(joint))
    smallest = []
    for Q in ((1, 0, 0, 0), turn):
        q[[joint.coordinates.index(f"free.Q_rel[{k}]") for k in (1, 2, 3, 4)]] = Q
        still = (np.zeros(joint.n), np.zeros(len(joint.inputs)))
        here = q if coordinates == "joint" else in_absolute(dae, outputs(joint, q, *still))[0]
        rows = constraints(dae, closed(dae, here), 0.0)
        smallest.append(float(np.linalg.svd(rows, compute_uv=False).min()))
    assert smallest[1] > smallest[0] / 2


@both
def test_the_norm_of_a_quaternion_is_never_left_out(coordinates: str) -> None:
    """It is no equation of a user's, so that nobody is told of it."""
    for carried in (True, False):
        system = door(hinges=2, carried=carried)
        joints = {item.name for item in system.components if isinstance(item, Joint)}
        assert set(derive(system, coordinates).redundant) <= joints


# -- couplings ------------------------------------------------------------------------------------------------------


def parallelogram(phi: float = 0.5, w: float | None = 1.0, *more: Component, g: float = 9.81) -> System:
    """Two cranks of 1 m on bearings 2 m apart, joined by a bar of 2 m: in line at phi = 0."""

    def bar(name: str, length: float) -> BodyShape:
        return BodyShape(name, m=1.0, r=(length, 0), r_CM=(length / 2, 0), I_33=length**2 / 12)

    return System(
        "parallelogram",
        (
            World(g=g),
            Revolute("crank", phi=phi, w=w),
            bar("left", 1.0),
            Revolute("knee"),
            bar("coupler", 2.0),
            Revolute("elbow"),
            bar("right", 1.0),
            FixedTranslation("ground", r=(2.0, 0)),
            Revolute("rocker"),
            *more,
        ),
        (
            connect("world.frame_b", "crank.frame_a"), connect("crank.frame_b", "left.frame_a"),
            connect("left.frame_b", "knee.frame_a"), connect("knee.frame_b", "coupler.frame_a"),
            connect("coupler.frame_b", "elbow.frame_a"), connect("elbow.frame_b", "right.frame_b"),
            connect("world.frame_b", "ground.frame_a"), connect("ground.frame_b", "rocker.frame_a"),
            connect("rocker.frame_b", "right.frame_a"),
        ),
        planar=True,
    )  # fmt: skip


JOINTS = ("crank", "knee", "elbow", "rocker")


def test_a_gear_that_a_loop_does_already_is_left_out_and_its_torque_is_marked() -> None:
    geared = parallelogram(0.5, 1.0, Gear("gear", joint_a="crank", joint_b="rocker"))
    for dae in assert_same_motion(geared, seed=0, away=0.1):  # the loop's other branch turns the other way round
        assert len(dae.redundant) == 1
        assert dae.n - dae.m == 1
        assert marked(dae) == cuts(JOINTS, planar=True) | {"gear.tau"}


def test_two_motions_that_agree_are_one_and_their_torques_are_marked() -> None:
    moves = (AxisMotion(f"move{k}", joint=joint, s="0.5 + time**2") for k, joint in enumerate(("crank", "rocker")))
    for dae in assert_same_motion(parallelogram(0.5, None, *moves), seed=0, t=0.3, away=0.1):
        assert len(dae.redundant) == 1
        assert dae.n == dae.m
        assert marked(dae) == cuts(JOINTS, planar=True) | {"move0.tau", "move1.tau"}


@both
def test_two_motions_that_agree_at_the_start_alone_are_refused(coordinates: str) -> None:
    """The parallelogram has one freedom, and its cranks shall turn by t^2 and by 2 t^2."""
    moves = (
        AxisMotion(f"{joint}ed", joint=joint, s=f"0.5 + {k}*time**2") for k, joint in ((1, "crank"), (2, "rocker"))
    )
    with pytest.raises((ModelError, StartError), match=r"contradict"):
        motion(derive(parallelogram(0.5, None, *moves), coordinates), 0.1)


# -- singular positions ---------------------------------------------------------------------------------------------


def level(w: float | None) -> System:
    return parallelogram(0.0, w)


def folded(w: float | None) -> System:
    """A slider-crank with a rod as long as the crank, at s = 0: the rod lies on the crank, and both may turn as one."""
    system = slider_crank(math.pi / 2, 1.0, 1.0)
    return replace(
        system, components=tuple(replace(item, w=w) if item.name == "crank" else item for item in system.components)
    )


def folded_by_slider(v: float | None) -> System:
    """The same, told by the slider."""
    given: dict[str, dict[str, Any]] = {"crank": {"phi": None, "w": None}, "slider": {"s": 0.0, "v": v}}
    system = slider_crank(math.pi / 2, 1.0, 1.0)
    return replace(system, components=tuple(replace(item, **given.get(item.name, {})) for item in system.components))


@pytest.mark.parametrize("make", [level, folded, folded_by_slider])
@pytest.mark.parametrize("rate", thorough(zip([None, 0.0, 1.0]), lambda rate: rate == 1.0))
@both
def test_a_start_in_a_singular_position_is_refused_with_what_to_do(
    make: Callable[[float | None], System], rate: float | None, coordinates: str
) -> None:
    """Two branches of motion cross there, so that no start value tells which way to go."""
    said = refusal(make(rate), coordinates)
    assert "singular position" in said
    assert "start a little away from it" in said


@pytest.mark.parametrize(("make", "names"), [(level, JOINTS), (folded, ("crank", "rod", "pin", "slider"))])
@both
def test_a_singular_position_names_the_joints_of_its_loop(
    make: Callable[[float | None], System], names: tuple[str, ...], coordinates: str
) -> None:
    said = refusal(make(1.0), coordinates).partition("singular position of ")[2].partition(":")[0]
    assert set(said.split(", ")) == set(names)


@pytest.mark.parametrize("make", [parallelogram, lambda phi: slider_crank(math.pi / 2 + phi, 1.0, 1.0)])
@both
def test_a_start_near_a_singular_position_is_taken(make: Callable[[float], System], coordinates: str) -> None:
    system = make(1e-3).with_values({"world.g": 0.0, "crank.w": 1.0})  # away from it
    prepare(system, "direct", None, 1e-3, coordinates=coordinates).initial_state()
    energy = run(system, coordinates, 0.2)["energy.total"]
    np.testing.assert_allclose(energy, energy[0], atol=1e-8)


@pytest.mark.parametrize("phi", [0.0, math.pi])
@both
def test_a_slider_crank_at_dead_centre_is_not_singular(phi: float, coordinates: str) -> None:
    """The crank turns on while the slider stands: s = l1 cos(phi) + sqrt(l2^2 - l1^2 sin(phi)^2)."""
    system = slider_crank(phi).with_values({"crank.w": 1.0})
    prepare(system, "direct", None, 1e-3, coordinates=coordinates).initial_state()
    found = run(system, coordinates)
    crank, side = found["crank.phi"], 1 if phi == 0 else -1
    np.testing.assert_allclose(found["slider.s"], np.cos(crank) + side * np.sqrt(4 - np.sin(crank) ** 2), atol=1e-9)
    assert np.ptp(crank) > 0.1
    assert found["slider.v"][0] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(found["energy.total"], found["energy.total"][0], atol=1e-8)


SOURCES = """
import sys
import mbfmu
from mbfmu.prepared.prepare import prepare
from mbfmu.kernel.codegen import c_sources
name, coordinates = sys.argv[1:]
prepared = prepare(mbfmu.load(name), "direct", {}, 1e-3, coordinates=coordinates)
print(name, coordinates, *c_sources(prepared.bundle).values())
"""


@pytest.mark.parametrize(
    ("name", "coordinates"),
    thorough(product(["four_bar", "bricard"], COORDINATES), lambda *case: case == ("bricard", "joint")),
)
def test_rows_and_code_do_not_depend_on_the_instructions_that_blas_uses(name: str, coordinates: str) -> None:
    """OpenBLAS, which NumPy's wheels bring, rounds otherwise with SSE3 than with AVX2."""
    texts = [
        subprocess.run(
            [sys.executable, "-c", SOURCES, name, coordinates],
            env={**os.environ, "OPENBLAS_CORETYPE": core}, capture_output=True, text=True, check=True,
        ).stdout
        for core in ("Prescott", "Haswell")
    ]  # fmt: skip
    assert texts[0].startswith(f"{name} {coordinates} ")
    assert texts[0] == texts[1]


def tilted_four_bar() -> System:
    """A parallelogram of spatial revolutes, of which `eps` tilts the last about its coupler: then it is locked."""
    z, start = (0.0, 0.0, 1.0), 1.2

    def bar(name: str, length: float) -> BodyShape:
        return BodyShape(name, m=1.0, r=(length, 0, 0), r_CM=(length / 2, 0, 0), I_11=1e-3, I_22=1e-3, I_33=1e-3)

    return System(
        name="tilted",
        parameters=(Parameter("eps", 0.0, "rad", "tilt"), Parameter("l", 0.24, "m", "length of coupler and ground")),
        components=(
            World(g=9.81, n=(0.0, -1.0, 0.0)),
            Revolute("A", n=z, phi=start, w=0.0),
            bar("AB", 0.12),
            Revolute("B", n=z, phi=guess(-start)),
            BodyShape("BC", m=1.0, r=("l", 0, 0), I_11=1e-3, I_22=1e-3, I_33=1e-3),
            FixedRotation("t1", n=(0.0, 1.0, 0.0), angle="eps"),
            FixedTranslation("ground", r=("l", 0, 0)),
            Revolute("D", n=z, phi=guess(start)),
            bar("DC", 0.12),
            FixedRotation("t2", n=(math.sin(start), math.cos(start), 0.0), angle="eps"),
            Revolute("C", n=z, phi=guess(0.0)),
        ),
        connections=tuple(
            connect(*ends.split())
            for ends in (
                "world.frame_b A.frame_a", "A.frame_b AB.frame_a", "AB.frame_b B.frame_a", "B.frame_b BC.frame_a",
                "BC.frame_b t1.frame_a", "world.frame_b ground.frame_a", "ground.frame_b D.frame_a",
                "D.frame_b DC.frame_a", "DC.frame_b t2.frame_a", "t1.frame_b C.frame_a", "t2.frame_b C.frame_b",
            )
        ),
    )  # fmt: skip


def test_parameters_with_which_rows_that_were_left_out_are_needed_are_refused() -> None:
    """Without the rows the mechanism would swing, which with them is locked."""
    model = tilted_four_bar()
    alone = mbfmu.Simulation(model, values={"eps": 0.1})
    alone.step(None, 0.2)
    assert alone["A.phi"] == pytest.approx(1.2, abs=1e-12)
    with pytest.raises(StartError, match="constraints that are redundant with the model's own parameters"):
        mbfmu.Simulation(model, batch=2, values={"eps": np.array([0.0, 0.1])})
    rows = mbfmu.sweep(model, 0.1, measures={"A": "last(A.phi)"}, vary={"eps": (0.0, 0.1)}, workers=1)
    assert [bool(row.failure) for row in rows] == [False, True]
    longer = mbfmu.Simulation(model, batch=3, values={"l": np.array([0.24, 0.2, 0.3]), "A.phi": np.array([1.2, 1, 2])})
    assert not longer.failures


@pytest.mark.parametrize("how", [{}, {"backend": "native"}, {"backend": "native", "fmi": "3.0", "kind": "me"}])
def test_an_fmu_refuses_parameters_with_which_rows_that_were_left_out_are_needed(
    how: dict[str, Any], tmp_path: Path
) -> None:
    path = mbfmu.export(tilted_four_bar(), tmp_path / "tilted.fmu", **how)
    with pytest.raises(FmuError, match="need constraints that are redundant with the model's own and were left out"):
        mbfmu.simulate(path, 0.1, values={"eps": 0.1})
    longer = mbfmu.simulate(path, 0.1, values={"l": 0.3, "A.phi": 2.0})
    assert longer["A.phi"][-1] != pytest.approx(2.0, abs=1e-3)

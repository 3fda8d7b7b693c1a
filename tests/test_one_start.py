"""The start is one, whatever the coordinates: what start values leave free, poses that close, and what is told."""

import dataclasses
import itertools
import math
import warnings
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from harness import thorough
from mechanisms import spatial_four_bar
from random_mechanisms import random_loop, random_tree
from states import column
from test_mixed import random_choice
from test_start import CONSISTENT, outputs_of, ready_of, state

import mbfmu
from mbfmu import Sensitivity
from mbfmu.dae import Dae, derive
from mbfmu.dae.formula import Stage
from mbfmu.dae.start import start_formula
from mbfmu.model import (
    AxisMotion,
    Body,
    BodyShape,
    Distance,
    FixedTranslation,
    Joint,
    Prismatic,
    Revolute,
    System,
    World,
    connect,
    flatten,
    guess,
)
from mbfmu.prepared.prepare import prepare

Array = npt.NDArray[np.float64]

BOTH = pytest.mark.parametrize("coordinates", ["joint", "absolute"])
CLOSED = 1e-9
"""Largest residual of a start that is not refused."""
SAME = 1e-10
"""Largest difference between coordinates; measured: 2e-12."""
RATES = {"w", "v", "w_a", "w_b", "v_x", "v_y", "w_rel", "v_rel"}
MOTIONS = {"phi", "s", "phi_a", "phi_b", "s_x", "s_y", "r_rel"}


def in_line(*parts: Any) -> tuple[Any, ...]:
    """The connections of parts that follow each other."""
    return tuple(connect(f"{one.name}.frame_b", f"{two.name}.frame_a") for one, two in itertools.pairwise(parts))


def bar(name: str, m: float = 1.0) -> BodyShape:
    """A uniform bar of 1 m."""
    return BodyShape(name, m=m, r=(1.0, 0.0), r_CM=(0.5, 0.0), I_33=m / 12)


def chain(name: str, *parts: Any, others: tuple[Any, ...] = ()) -> System:
    """A planar system of parts that follow each other, from the world on."""
    world = World(n=(0.0, -1.0))
    return System(name, (world, *parts, *others), in_line(world, *parts), planar=True)


def two_links(**elbow: Any) -> System:
    return chain("two", Revolute("a", phi=0.0, w=2.0), bar("b1"), Revolute("b", phi=0.0, **elbow), bar("b2"))


def reach(*masses: float) -> System:
    """Three bars from the origin to a pin at (1.2, 0), which guesses alone place: one freedom is left."""
    one, two, three = (bar(f"bar{number}", m) for number, m in enumerate(masses or (1.0, 1.0, 1.0), 1))
    parts = (
        Revolute("a", phi=guess(1.0)), one, Revolute("b", phi=guess(-1.5)), two, Revolute("c", phi=guess(-0.5)), three,
        Revolute("pin"),
    )  # fmt: skip
    foot = FixedTranslation("foot", r=(1.2, 0.0))
    ends = (connect("pin.frame_b", "foot.frame_b"), connect("foot.frame_a", "world.frame_b"))
    plain = chain("reach", *parts, others=(foot,))
    return dataclasses.replace(plain, connections=(*plain.connections, *ends))


def started(system: System, coordinates: str) -> dict[str, float] | None:
    """All outputs at t = 0, with accelerations and forces left out; None if the start is refused."""
    dae = derive(system, coordinates).unswitched
    return begun(dae, dae.s_default())


def begun(dae: Dae, s: Array) -> dict[str, float] | None:
    """The same of equations and start values, by the stages of the start without a kernel."""
    formula = start_formula(dae)
    p = dae.extended(dae.p_default())
    symbols, values = [formula.x, formula.arguments.p, formula.arguments.t], [s, p, 0.0]
    for stage in formula.stages:
        z = column(ca.Function("guess", symbols, [stage.guess])(*values))
        if isinstance(stage, Stage):
            correct = ca.Function("correct", [*symbols, stage.unknowns], [stage.correction])
            for _ in range(40):
                z = z + (change := column(correct(*values, z)))
                if not np.abs(change).max() > 1e-15 * max(1, np.abs(z).max()):
                    break
        symbols.append(stage.unknowns)
        values.append(z)
    *found, residual = column(ca.Function("result", symbols, [formula.result])(*values))
    if not residual <= CLOSED:
        return None
    q, v, z, turned, _ = np.split(found, np.cumsum([dae.n, dae.n, dae.n_z, dae.n_angles]))
    a, none, u = np.zeros(dae.n), np.zeros(dae.m + dae.k), dae.u_default()
    y = column(dae.output(q, v, z, turned, a, none, u, p, 0.0))
    return dict(zip((item.name for item in dae.outputs), y.tolist(), strict=True))


def told(system: System, coordinates: str) -> list[str]:
    """The warnings of a short run."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mbfmu.simulate(system, 1e-3, coordinates=coordinates)
    return [str(item.message) for item in caught]


# -- rates ----------------------------------------------------------------------------------------------------------


@BOTH
def test_a_free_rate_of_a_link_takes_the_least_kinetic_energy_and_is_told(coordinates: str) -> None:
    """With W the angular velocity of the second bar, T' = (2 + W/2)/2 + W/12 = 0 at W = -3 rad/s, and T = 7/6 J."""
    shown = outputs_of(ready := ready_of(two_links(), coordinates), ready.dae.s_default())
    assert shown["b.w"] == pytest.approx(-5.0, abs=1e-11)
    assert shown["energy.kinetic"] == pytest.approx(7 / 6, abs=1e-12)
    (text,) = told(two_links(), coordinates)
    assert "two: start values leave velocities free, which take the minimum kinetic energy: b.w = -5;" in text
    assert "give more start values, such as b.w = 0" in text


def test_a_run_with_a_free_rate_is_the_same_in_all_coordinates() -> None:
    kinds = ("joint", "absolute", "absolute:b2", "joint:a")
    with pytest.warns(UserWarning, match="minimum kinetic energy"):
        ends = [mbfmu.simulate(two_links(), 0.5, coordinates=kind)["a.phi"][-1] for kind in kinds]
    assert ends == pytest.approx([ends[0]] * len(kinds), abs=1e-8)


@pytest.mark.parametrize("driven", [False, True], ids=["rate", "motion"])
@pytest.mark.parametrize("coordinates", ["joint", "absolute", "absolute:load"])
def test_a_load_on_a_moved_trolley_swings_with_the_least_kinetic_energy(driven: bool, coordinates: str) -> None:
    """A start value of the trolley's rate moves it, or a motion: T' = m v l cos(phi) + (m l^2 + I) w = 0."""
    phi, v, m, length, inertia = 0.4, 0.1, 2.0, 0.5, 0.1
    rail = Prismatic("rail", n=(1.0, 0.0)) if driven else Prismatic("rail", n=(1.0, 0.0), s=0.0, v=v)
    parts = (rail, Body("trolley", m=1.0, I_33=0.1), Revolute("rope", phi=phi))
    load = Body("load", m=m, r_CM=(0.0, -length), I_33=inertia)
    motion = (AxisMotion("drive", joint="rail", s=f"{v}*time"),) if driven else ()
    world = World(n=(0.0, -1.0))
    ends = (
        connect("world.frame_b", "rail.frame_a"), connect("rail.frame_b", "trolley.frame_a"),
        connect("trolley.frame_a", "rope.frame_a"), connect("rope.frame_b", "load.frame_a"),
    )  # fmt: skip
    shown = started(System("crab", (world, *parts, load, *motion), ends, planar=True), coordinates)
    assert shown
    assert shown["rail.v"] == pytest.approx(v, abs=1e-12)
    assert shown["rope.w"] == pytest.approx(-m * v * length * math.cos(phi) / (m * length**2 + inertia), abs=1e-11)


@pytest.mark.parametrize("coordinates", ["joint", "absolute", "absolute:b3"])
def test_free_rates_of_a_spinning_tree_minimise_the_kinetic_energy(coordinates: str) -> None:
    """Against all velocities that a start may have: those of unit changes of its free rates, by differences of T."""
    system = random_tree(31, planar=False, least=3, most=3).system("tree")
    names = [name for name in starts_of(system) if name.partition("[")[0].rpartition(".")[2] in RATES]
    kept, free = names[: len(names) // 2], names[len(names) // 2 :]
    system = system.with_values({}, free=list(dict.fromkeys(name.partition("[")[0] for name in free)))
    free = [name for name in names if name.partition("[")[0] in {item.partition("[")[0] for item in free}]
    assert kept
    shown = started(system, coordinates)
    assert shown
    least = shown["energy.kinetic"]
    dae = derive(system.with_values({name: shown[name] for name in free}), coordinates).unswitched
    names = [item.name for item in dae.starts]
    for name in free:
        energies = []
        for step in (-1.0, 1.0):
            s = dae.s_default()
            s[names.index(name)] += step
            changed = begun(dae, s)
            assert changed
            energies.append(changed["energy.kinetic"] - least)
        assert min(energies) > 0
        assert energies[0] == pytest.approx(energies[1], rel=1e-9)


@BOTH
def test_nothing_is_told_where_nothing_is_free_or_what_is_free_rests(coordinates: str) -> None:
    assert told(two_links(w=1.0), coordinates) == []
    assert told(two_links().with_values({}, free=["a.w"]), coordinates) == []


# -- poses ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("coordinates", ["absolute", "absolute:bar2", "joint:a,pin"])
def test_a_pose_that_guesses_alone_place_is_the_same_in_all_coordinates(coordinates: str) -> None:
    one, other = started(reach(), "joint"), started(reach(), coordinates)
    assert one
    assert other
    assert max(other["constraint.position"], one["constraint.position"]) < CONSISTENT
    assert abs(one["a.phi"] - 1.0) > 1e-2  # the guesses do not close the loop
    for name in ("a.phi", "b.phi", "c.phi", "bar2.r_0[1]", "bar3.phi"):
        assert other[name] == pytest.approx(one[name], abs=SAME), name


@BOTH
def test_the_masses_do_not_move_a_pose_that_guesses_place(coordinates: str) -> None:
    light, heavy = started(reach(), coordinates), started(reach(1.0, 20.0, 0.1), coordinates)
    assert light
    assert heavy
    assert light["a.phi"] == pytest.approx(heavy["a.phi"], abs=1e-12)


@BOTH
def test_a_pose_that_neither_start_values_nor_guesses_choose_is_told(coordinates: str) -> None:
    free = reach().with_values({"a.phi": 0.5, "b.phi": None, "c.phi": None})
    assert not [text for text in told(free, coordinates) if "leave the pose free" in text]
    (text,) = (text for text in told(free.with_values({"a.phi": None}), coordinates) if "leave the pose free" in text)
    assert "reach: start values and guesses leave the pose free" in text
    assert "b.phi = " in text
    assert "(from 0)" in text


def starts_of(system: System) -> list[str]:
    """Names of all start values of a system."""
    return [entry.name for entry in flatten(system).starts.values()]


def loosened(system: System, rng: np.random.Generator, loop: bool) -> System:
    """Some coordinates as guesses, in a loop ones that do not close it, and some rates free: all but one in a loop."""
    guesses, rates = {}, []
    for entry in flatten(system).starts.values():
        base = entry.name.partition("[")[0]
        kind = base.rpartition(".")[2]
        if kind in RATES:
            rates.append(base)
        elif kind in MOTIONS and rng.random() < 0.6:
            guesses[entry.name] = guess(float(entry.value) + 0.15 * rng.normal() * loop)
    rates = list(dict.fromkeys(rates))
    kept = {rates[rng.integers(len(rates))]} if loop and rates else {name for name in rates if rng.random() < 0.4}
    return system.with_values(guesses, free=[name for name in rates if name not in kept])


def distance(name: str, one: float, other: float) -> float:
    """How far two values of an output are apart; angles up to full turns, quaternions up to their sign."""
    if ".Q" in name:
        return min(abs(one - other), abs(one + other))
    return abs(math.remainder(one - other, math.tau)) if "phi" in name else abs(one - other)


CLOSING = (Revolute, Prismatic, Distance)
QUICK = ((True, 3, False), (True, 2, True), (False, 3, False), (False, 5, True))
MORE = [(planar, seed, loop) for planar in (True, False) for seed in range(40) for loop in (False, True)]


@pytest.mark.parametrize(
    ("planar", "seed", "loop"),
    thorough(dict.fromkeys([*QUICK, *MORE]), lambda *case: case in QUICK),
)
def test_a_random_mechanism_starts_in_the_same_way_in_all_coordinates_or_is_refused(
    planar: bool, seed: int, loop: bool
) -> None:
    rng = np.random.default_rng(seed)
    whole = random_loop(seed, planar, CLOSING[seed % 3]) if loop else random_tree(seed, planar).system("tree")
    system = loosened(whole, rng, loop)
    kinds = ["joint", "absolute", *(random_choice(system, number) for number in range(2))]
    ways = [started(system, kind) for kind in kinds if "fixed" not in kind]
    one, *others = ways
    assert all((item is None) == (one is None) for item in others)
    if one is None:
        assert (planar, seed, loop) not in QUICK
        return
    shown = [
        name
        for name in one
        if name.rpartition(".")[2].partition("[")[0] in {*RATES, *MOTIONS, "r_0", "v_0", "Q_rel", "kinetic"}
    ]
    for other in others:
        assert other
        for name in shown:
            assert distance(name, one[name], other[name]) < SAME, name


# -- poses that close -----------------------------------------------------------------------------------------------


def four_bar(turn: float) -> System:
    """A four-bar mechanism at right angles, whose guesses close it to round-off if it is not turned."""
    left, top = BodyShape("left", m=1.0, r=(0.0, 0.3), I_33=0.1), BodyShape("top", m=1.0, r=(0.5, 0.0), I_33=0.1)
    right = BodyShape("right", m=1.0, r=(0.0, -0.4), I_33=0.1)
    parts = (
        Revolute("a", phi=guess(turn)), left, Revolute("b", phi=guess(0.0)), top, Revolute("c", phi=guess(0.0)), right,
        Revolute("d"), FixedTranslation("ground", r=(-0.5, 0.1)),
    )  # fmt: skip
    plain = chain("bars", *parts)
    return dataclasses.replace(plain, connections=(*plain.connections, connect("ground.frame_b", "world.frame_b")))


@BOTH
def test_a_pose_that_closes_is_the_start_to_the_bit(coordinates: str) -> None:
    for turn in (0.0, 0.1):
        first = started(four_bar(turn), coordinates)
        assert first
        values = {f"{name}.phi": first[f"{name}.phi"] for name in "abcd"}
        assert turn or values == dict.fromkeys(values, 0.0)
        again = started(four_bar(0.0).with_values({name: guess(value) for name, value in values.items()}), coordinates)
        assert again
        if coordinates == "joint":  # in others angles are those of poses, with their round-off
            assert [again[f"{name}.phi"] for name in "abd"] == [values[f"{name}.phi"] for name in "abd"]
        assert {name: again[name] for name in values} == pytest.approx(values, abs=1e-15)


def fed_back(model: System, shown: dict[str, float]) -> System:
    """A model whose joints have all their start values, those of a start."""
    values = {}
    for path, joint in flatten(model).of(Joint).items():
        for field in dataclasses.fields(joint):
            if getattr(field.metadata.get("quantity"), "role", "") == "start":
                full = f"{path}.{field.name}"
                values |= {name: value for name, value in shown.items() if name.partition("[")[0] == full}
    return model.with_values(values)


LOOPS = (
    "andrews", "bicycle", "bogie", "bricard", "car", "cam_follower", "chaplygin_sleigh", "crane", "excavator",
    "four_bar", "ice_skate", "n_four_bar", "slider_crank", "spatial_slider_crank", "stewart", "wheelset",
)  # fmt: skip


@pytest.mark.parametrize("name", thorough(((name,) for name in LOOPS), lambda name: name in LOOPS[-6:-3]))
def test_a_start_that_is_given_as_start_values_comes_back(name: str) -> None:
    """Coordinates of joints to the bit; rates, which several start values share, to a few units of the last place."""
    model = mbfmu.load(name)
    one = ready_of(model, "joint")
    q, v = state(one, one.dae.s_default())
    other = ready_of(fed_back(model, outputs_of(one, one.dae.s_default())), "joint")
    again = state(other, other.dae.s_default())
    assert np.array_equal(again[0], q)
    assert np.abs(again[1] - v).max() <= 1e-14 * max(1, np.abs(v).max())


def test_a_loop_in_space_starts_at_every_crank_angle_in_joint_coordinates_too() -> None:
    """Near the last ones it is hardly open on one side of a stretched pose, and corrections jump across that."""
    ready = ready_of(spatial_four_bar(), "joint")
    names = [item.name for item in ready.dae.start.starts]
    for phi in np.linspace(-1.7, 2.0, 25):
        s = ready.dae.s_default()
        s[names.index("crank.phi")] = phi
        shown = outputs_of(ready, s)
        assert shown["crank.phi"] == pytest.approx(phi, abs=1e-12)
        assert max(shown["constraint.position"], shown["constraint.velocity"]) < CONSISTENT


@BOTH
def test_a_start_whose_guesses_close_it_has_a_derivative(coordinates: str) -> None:
    """s = cos phi + sqrt(l2^2 - sin^2 phi), where the first pose is left as it is."""
    phi, l2 = 0.7, 2.0
    root = math.sqrt(l2**2 - math.sin(phi) ** 2)
    closed = {"rod.phi": guess(-phi - math.asin(math.sin(phi) / l2)), "slider.s": guess(math.cos(phi) + root)}
    model = mbfmu.load("slider_crank", {"crank.phi": phi, "l1": 1.0, "l2": l2, **closed})
    run = Sensitivity(
        model, 1e-3, ["crank.phi", "l2"], outputs=["slider.s"], coordinates=coordinates, stepper="projected"
    )
    _, slopes = run.jacobian()
    wanted = [-math.sin(phi) - math.sin(phi) * math.cos(phi) / root, l2 / root]
    assert slopes[0][0] == pytest.approx(wanted, rel=1e-9)


def test_the_notices_of_a_start_do_not_depend_on_the_coordinates() -> None:
    texts = [prepare(reach(), None, None, 1e-3, coordinates=kind).outline.notices for kind in ("joint", "absolute")]
    assert texts[0] == texts[1]

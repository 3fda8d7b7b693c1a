"""Massless parts that constraints hold: the equations are those of the mechanism without them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import mbfmu
from mbfmu.base.result import Result
from mbfmu.dae import Dae, derive
from mbfmu.errors import MassError
from mbfmu.model import (
    AxisMotion,
    Body,
    BodyShape,
    CarriedRotor,
    Component,
    Distance,
    FixedTranslation,
    FreeMotion,
    KnifeEdge,
    Prismatic,
    Revolute,
    RotationalEndStop,
    Spherical,
    System,
    TranslationalSpring,
    Universal,
    World,
    connect,
)
from mbfmu.model.couplings import Gear

Pairs = Sequence[tuple[str, str]]
COORDINATES = pytest.mark.parametrize("coordinates", ["joint", "absolute"])
COUPLER = BodyShape("coupler", m=2.0, r=(0.7, 0.0), r_CM=(0.3, 0.1), I_33=0.2)
PLACED = ("coupler.frame_b.r_0[1]", "coupler.frame_b.r_0[2]", "coupler.phi")


def built(parts: Sequence[Component], pairs: Pairs, planar: bool = True) -> System:
    connections = tuple(connect(a, b) for a, b in pairs)
    return System("held", (World(n=(0.0, -1.0, 0.0)), *parts), connections, planar=planar)


def on_rods(m: float = 0.0) -> System:
    """A coupler on two rods that hang from the world: in any tree one rod is at the end of a chain."""

    def rod(name: str, length: float) -> Component:
        if not m:
            return FixedTranslation(name, r=(0.0, -length))
        return BodyShape(name, r=(0.0, -length), m=m, r_CM=(0.0, -0.4), I_33=0.1 * m)

    rods = (
        Revolute("a1", phi=0.3, w=1.0), rod("rod1", 0.8), Revolute("a2", phi="guess(0.1)"),
        FixedTranslation("ground", r=(1.0, 0.2)),
        Revolute("b1", phi="guess(0.4)"), rod("rod2", 0.9), Revolute("b2"),
    )  # fmt: skip
    pairs = [
        ("world.frame_b", "a1.frame_a"), ("a1.frame_b", "rod1.frame_a"), ("rod1.frame_b", "a2.frame_a"),
        ("a2.frame_b", "coupler.frame_a"), ("world.frame_b", "ground.frame_a"), ("ground.frame_b", "b1.frame_a"),
        ("b1.frame_b", "rod2.frame_a"), ("rod2.frame_b", "b2.frame_a"), ("b2.frame_b", "coupler.frame_b"),
    ]  # fmt: skip
    return built((COUPLER, *rods), pairs)


def at_distances() -> System:
    """The same coupler, free but for two distances."""
    r, v = (0.8 * np.sin(0.3), -0.8 * np.cos(0.3)), (0.8 * np.cos(0.3), 0.8 * np.sin(0.3))
    free = FreeMotion("free", r_rel=r, v_rel=v, phi="guess(0.4)")
    parts = (COUPLER, free, Distance("d1", l=0.8), Distance("d2", l=0.9), FixedTranslation("ground", r=(1.0, 0.2)))
    pairs = [
        ("world.frame_b", "free.frame_a"), ("free.frame_b", "coupler.frame_a"), ("world.frame_b", "d1.frame_a"),
        ("d1.frame_b", "coupler.frame_a"), ("world.frame_b", "ground.frame_a"), ("ground.frame_b", "d2.frame_a"),
        ("d2.frame_b", "coupler.frame_b"),
    ]  # fmt: skip
    return built(parts, pairs)


def apart(system: System, other: System, stepper: str, step: float, coordinates: str | None = None) -> float:
    """Largest distance of the coupler's motion from that of radau, which resolves it to round-off."""
    mine = mbfmu.simulate(system, 0.4, step=step, stepper=stepper, coordinates=coordinates, output_interval=0.04)
    exact = mbfmu.simulate(other, 0.4, step=0.002, stepper="radau", output_interval=0.04)
    return max(float(np.abs(mine[name] - exact[name]).max()) for name in PLACED)


@COORDINATES
@pytest.mark.parametrize("stepper", ["projected", "radau", "gauss", "lobatto"])
def test_massless_rods_are_distances(stepper: str, coordinates: str) -> None:
    assert apart(on_rods(), at_distances(), stepper, 0.002, coordinates) < 1e-9


@COORDINATES
@pytest.mark.parametrize("stepper", ["rattle", "generalized_alpha", "local", "nodal_impulse", "moreau"])
def test_massless_rods_are_distances_to_the_order_of_the_stepper(stepper: str, coordinates: str) -> None:
    coarse, fine = (apart(on_rods(), at_distances(), stepper, step, coordinates) for step in (0.004, 0.001))
    assert 0 < fine < 1e-5
    assert coarse / fine == pytest.approx(16, rel=0.2)


def test_massless_rods_in_two_planar_loops_in_space_move_as_in_the_plane() -> None:
    """Constraints across the plane have no entries, in the first loop before the rows of the second."""
    flat = on_rods()
    parts: list[Component] = []
    pairs: list[tuple[str, str]] = []
    for loop in ("one", "two"):
        for item in flat.components[1:]:
            raised = {name: (*getattr(item, name), 0.0) for name in ("r", "r_CM") if hasattr(item, name)}
            parts.append(replace(item, name=f"{loop}_{item.name}", **raised))
        named = {"world.frame_b": "world.frame_b"}
        pairs += [(named.get(a, f"{loop}_{a}"), named.get(b, f"{loop}_{b}")) for a, b in flat.connections]
    mine = mbfmu.simulate(built(parts, pairs, planar=False), 0.4, step=0.002, stepper="radau", coordinates="joint")
    other = mbfmu.simulate(flat, 0.4, step=0.002, stepper="radau")
    for loop in ("one", "two"):
        for name in PLACED[:2]:
            np.testing.assert_allclose(mine[f"{loop}_{name}"], other[name], rtol=0, atol=1e-9)


def test_rods_move_as_massless_ones_the_lighter_they_are() -> None:
    far, near = (apart(on_rods(m), on_rods(), "radau", 0.002) for m in (1e-3, 1e-5))
    assert 0 < near < 1e-6
    assert far / near == pytest.approx(100, rel=0.01)


@COORDINATES
def test_a_massless_rod_transmits_the_force_of_its_distance_along_itself(coordinates: str) -> None:
    mine = mbfmu.simulate(on_rods(), 0.4, step=0.002, stepper="radau", coordinates=coordinates)
    other = mbfmu.simulate(at_distances(), 0.4, step=0.002, stepper="radau")
    for ends, distance in ((("a1", "a2"), "d1"), (("b1", "b2"), "d2")):
        forces = [np.hypot(*(run[f"{name}.frame_b.f[{k}]"] for k in (1, 2))) for run, name in
                  ((mine, ends[0]), (mine, ends[1]), (other, distance))]  # fmt: skip
        np.testing.assert_allclose(forces[0], forces[2], rtol=0, atol=1e-9)
        np.testing.assert_allclose(forces[1], forces[2], rtol=0, atol=1e-9)
        np.testing.assert_allclose(mine[f"{ends[0]}.frame_b.f[1]"], 0, atol=1e-9)  # across the rod


def singular_kkt(dae: Dae, q: np.ndarray, v: np.ndarray, t: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Accelerations and multipliers by [T_vv C^T; C 0] with the singular T_vv and the bodies' own forces; T_vv."""
    symbols, p = dae.symbols(), dae.p_default()
    x, xdot = symbols[:2]
    momentum = dae.equations.momentum(x, xdot, p)
    rate = dae.equations.momentum_rate(x, xdot, [], [], p, t)
    M, right = ca.jacobian(momentum, xdot), rate - ca.jtimes(momentum, x, xdot)
    M, right, C = (np.array(item) for item in ca.Function("f", [x, xdot], [
        ca.densify(M), ca.densify(right), ca.densify(dae.constraints.C(x, p, t))])(q, v))  # fmt: skip
    rows = len(C)
    gamma = np.array(dae.constraints.gammas(q, v, p, t))
    solved = np.linalg.solve(np.block([[M, C.T], [C, np.zeros((rows, rows))]]), np.vstack([right, gamma])).ravel()
    return solved[: len(q)], solved[len(q) :], M


def start_of(dae: Dae) -> tuple[np.ndarray, np.ndarray]:
    """Consistent coordinates at the start and rates that the constraints allow, not those of a start."""
    from scipy.linalg import null_space

    from mbfmu.dae.start import assembled

    q = np.array(assembled(dae, dae.s_default().tolist(), dae.p_default().tolist(), 0.0)).ravel()
    p = dae.p_default()
    C, c = np.array(dae.constraints.C(q, p, 0.0)), np.array(dae.constraints.c(q, p, 0.0)).ravel()
    ways = null_space(C)
    return q, np.linalg.lstsq(C, -c, rcond=None)[0] + ways @ (ways.T @ np.cos(np.arange(len(q))))


def driven() -> System:
    """The coupler on two rods, of which one is turned by a motion given in time."""
    system = on_rods()
    parts = tuple(
        Revolute(item.name, phi=f"guess({angle})") if (angle := {"a1": 0.3, "b1": 0.4}.get(item.name)) else item
        for item in system.components
    )
    motor = AxisMotion("motor", joint="b1", s="0.4 + 3*time + time**2")
    return System("driven", (*parts, motor), system.connections, planar=True)


def in_space() -> System:
    """A body held to the world by a massless rod that cannot spin."""
    body = BodyShape("body", m=2.0, r=(0.7, 0, 0), r_CM=(0.3, 0.1, 0.05), I_11=0.1, I_22=0.2, I_33=0.15)
    free = FreeMotion("free", r_rel=(0, -0.8, 0), Q_rel=(1.0, 0.05, 0.02, 0.0))
    rod = Universal("hook", n_a=(1, 0, 0), n_b=(0, 0, 1)), FixedTranslation("rod", r=(0, -0.8, 0)), Spherical("ball")
    pairs = [
        ("world.frame_b", "free.frame_a"), ("free.frame_b", "body.frame_a"), ("world.frame_b", "hook.frame_a"),
        ("hook.frame_b", "rod.frame_a"), ("rod.frame_b", "ball.frame_a"), ("ball.frame_b", "body.frame_a"),
    ]  # fmt: skip
    return built((body, free, *rod), pairs, planar=False)


def on_skate() -> System:
    """A massless skate that a hinge and a knife edge hold, before a body that moves freely in the plane."""
    parts = (
        FreeMotion("free", r_rel=(0.1, 0.2), phi=0.3), Body("sledge", m=2.0, I_33=0.3), Revolute("hinge", phi=0.4),
        FixedTranslation("bar", r=(0.5, 0.0)), KnifeEdge("blade"),
    )  # fmt: skip
    pairs = [
        ("world.frame_b", "free.frame_a"), ("free.frame_b", "sledge.frame_a"), ("sledge.frame_a", "hinge.frame_a"),
        ("hinge.frame_b", "bar.frame_a"), ("world.frame_b", "blade.frame_a"), ("bar.frame_b", "blade.frame_b"),
    ]  # fmt: skip
    return built(parts, pairs)


@pytest.mark.parametrize(
    ("made", "coordinates"),
    [
        *((made, kind) for made in (on_rods, driven, on_skate) for kind in ("joint", "absolute")),
        (in_space, "absolute"),  # in joint coordinates the free body moves all
    ],
)
def test_accelerations_and_multipliers_are_those_of_the_singular_mass_matrix(
    made: Callable[[], System], coordinates: str
) -> None:
    dae = derive(made(), coordinates)
    q, v = start_of(dae)
    a, lambda_, M = singular_kkt(dae, q, v)
    assert np.linalg.matrix_rank(M) < dae.n
    mine = [np.array(item).ravel() for item in dae.acceleration(q, v, [], [], dae.p_default(), 0.0)]
    for ours, theirs in zip(mine, (a, lambda_), strict=True):
        norms = slice(dae.m - dae.start.norms, dae.m) if ours is mine[1] else []  # which depend on mu0 Q Q^T in M
        ours, theirs = np.delete(ours, norms), np.delete(theirs, norms)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9 * (1 + np.abs(theirs).max()))


@COORDINATES
def test_the_force_on_the_impulse_is_its_rate(coordinates: str) -> None:
    """d/dt (M v) = impulse_rate - C^T lambda, with motions given in time too."""
    dae = derive(driven(), coordinates)
    (q, v), p = start_of(dae), dae.p_default()
    a, lambda_ = (np.array(item).ravel() for item in dae.acceleration(q, v, [], [], p, 0.0))
    x, xdot = dae.symbols()[:2]
    impulse = dae.equations.impulse(x, xdot, p)
    rate = ca.Function("rate", [x, xdot], [ca.jtimes(impulse, x, xdot) + ca.jacobian(impulse, xdot) @ a])(q, v)
    C = np.array(dae.constraints.C(q, p, 0.0))
    force = np.array(dae.equations.impulse_rate(q, v, [], [], p, 0.0)).ravel() - C.T @ lambda_
    np.testing.assert_allclose(np.array(rate).ravel(), force, rtol=0, atol=1e-10 * np.abs(force).max())


def test_a_massless_dyad_between_others_changes_no_motion() -> None:
    """A knee between two massless rods is held by both, and nothing pulls at it."""
    slider = Prismatic("slide", n=(1.0, 0.0, 0.0), s=0.9, v=0.0), Body("mass", m=1.5, I_33=0.1)
    spring = TranslationalSpring("spring", joint="slide", c=40.0, s_rel0=0.7)
    knee = (
        Revolute("hip", phi="guess(0.8)"), FixedTranslation("thigh", r=(0.8, 0.0)), Revolute("knee", phi="guess(-1.5)"),
        FixedTranslation("shank", r=(0.7, 0.0)), Revolute("foot"),
    )  # fmt: skip
    ends = [("world.frame_b", "slide.frame_a"), ("slide.frame_b", "mass.frame_a")]
    chain = [
        "world.frame_b",
        *(f"{item.name}.{frame}" for item in knee for frame in ("frame_a", "frame_b")),
        "mass.frame_a",
    ]
    mine = built((*slider, spring, *knee), [*ends, *zip(chain[::2], chain[1::2], strict=True)])
    runs = [mbfmu.simulate(item, 1.0, step=0.005, stepper="radau") for item in (mine, built((*slider, spring), ends))]
    np.testing.assert_allclose(runs[0]["slide.s"], runs[1]["slide.s"], rtol=0, atol=1e-11)
    assert np.abs(runs[0]["knee.frame_b.f[1]"]).max() < 1e-9


def test_a_massless_shaft_that_a_gear_holds_turns_with_the_arm() -> None:
    parts = (
        Revolute("arm", phi=0.3),
        Body("bob", m=1.0, r_CM=(0.5, 0.0), I_33=0.1),
        Revolute("shaft"),
        FixedTranslation("end"),
    )
    ends = [("world.frame_b", "arm.frame_a"), ("arm.frame_b", "bob.frame_a"), ("world.frame_b", "shaft.frame_a")]
    geared = built(
        (*parts, Gear("gear", joint_a="shaft", joint_b="arm", ratio=7.0)), [*ends, ("shaft.frame_b", "end.frame_a")]
    )
    runs = [mbfmu.simulate(item, 0.5, step=0.005, stepper="radau") for item in (geared, built(parts[:2], ends[:2]))]
    np.testing.assert_allclose(runs[0]["arm.phi"], runs[1]["arm.phi"], rtol=0, atol=1e-11)
    np.testing.assert_allclose(runs[0]["gear.tau"], 0, atol=1e-11)


def test_joints_meet_without_a_body_in_absolute_coordinates_as_in_those_of_joints() -> None:
    arm = Revolute("arm", phi=0.3), BodyShape("bar", m=1.0, r=(0.5, 0.0), r_CM=(0.2, 0.0), I_33=0.1)
    more = Revolute("knee"), Prismatic("slide", n=(1.0, 0.0, 0.0), s=0.4), Body("foot", m=2.0, I_33=0.2)
    ends = ["world.frame_b"]
    for item in (*arm, *more[:2]):
        ends += [f"{item.name}.frame_a", f"{item.name}.frame_b"]
    system = built((*arm, *more), [*zip(ends[::2], ends[1::2], strict=False), (ends[-1], "foot.frame_a")])
    runs = [
        mbfmu.simulate(system, 0.4, step=0.002, stepper="radau", coordinates=kind) for kind in ("joint", "absolute")
    ]
    for name in ("foot.r_0[1]", "foot.r_0[2]", "foot.phi", "slide.frame_b.f[1]", "knee.frame_b.f[2]"):
        np.testing.assert_allclose(runs[0][name], runs[1][name], rtol=0, atol=1e-10)


@COORDINATES
def test_a_massless_part_that_no_constraint_holds_is_refused(coordinates: str) -> None:
    """Of a rod between two balls the spin about itself is free; a chain's last rod is held by nothing."""
    spinning = in_space()
    balls = tuple(Spherical("hook") if item.name == "hook" else item for item in spinning.components)
    rods = on_rods()
    hanging = tuple(item for item in rods.components if item.name != "b2")
    cut = tuple(item for item in rods.connections if not any(end.startswith("b2.") for end in item))
    for system, said in (
        (System("spinning", balls, spinning.connections), "'rod' can move but has no mass: fix it to a Body"),
        (System("cut", hanging, cut, planar=True), "'rod2' can move but has no mass: fix it to a Body"),
    ):
        with pytest.raises(MassError, match=said):
            derive(system, coordinates)


@pytest.mark.further
def test_an_impact_on_a_massless_rod_is_the_limit_of_light_ones() -> None:
    def hit(m: float) -> Result:
        system = on_rods(m)
        stop = RotationalEndStop("stop", joint="b1", lower=-0.3, upper=3.0, e=0.5)
        parts = System("hit", (*system.components, stop), system.connections, planar=True)
        return mbfmu.simulate(parts, 1.5, step=0.005, stepper="radau")

    exact, light = hit(0.0), hit(1e-4)
    lost = exact["energy.total"][0] - exact["energy.total"][-1]
    assert lost > 0.1
    assert light["energy.total"][0] - light["energy.total"][-1] == pytest.approx(lost, rel=1e-3)
    for name in PLACED:
        assert light[name][-1] == pytest.approx(exact[name][-1], abs=1e-3)


def test_a_rotor_with_more_inertia_than_its_body_is_refused_with_the_coordinate_along_which_M_is_negative() -> None:
    parts = (
        World(), Revolute("hinge"), Body("carrier", m=1.0, r_CM=(0.0, -0.1, 0.0), I_11=0.1, I_22=0.1, I_33=0.1),
        CarriedRotor("rotor", J=2.0),
    )  # fmt: skip
    pairs = (
        ("world.frame_b", "hinge.frame_a"),
        ("hinge.frame_b", "carrier.frame_a"),
        ("hinge.frame_b", "rotor.frame_a"),
    )
    said = r"not positive along '(hinge|rotor)\.phi': a body has a negative inertia there"
    with pytest.warns(UserWarning, match="no body has such an inertia"), pytest.raises(MassError, match=said):
        derive(System("spun", parts, tuple(connect(*pair) for pair in pairs)), "joint")


@pytest.mark.parametrize("stepper", ["rattle", "projected"])
def test_an_fmu_steps_as_the_model(stepper: str, tmp_path: Path) -> None:
    path = mbfmu.export(on_rods(), tmp_path / "rods.fmu", stepper=stepper, step=0.002)
    runs = [
        mbfmu.simulate(item, 0.1, step=0.002, **more) for item, more in ((path, {}), (on_rods(), {"stepper": stepper}))
    ]
    for name in PLACED:
        np.testing.assert_array_equal(runs[0][name], runs[1][name])

"""Joint coordinates by recursive algorithms: the same motion and outputs as absolute ones, and as Pinocchio's."""

import math
import runpy
from collections.abc import Callable
from itertools import product
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from flexible_mechanisms import branched
from harness import extra, thorough
from interpreted import Interpreted
from random_mechanisms import IN_SPACE, Builder, random_loop, random_tree, vec
from states import Random, admissible, assert_same_motion, column, matrix
from two_frames import product as quaternion_product
from two_frames import random_axis

import mbfmu
from mbfmu.dae import Dae, derive
from mbfmu.dae.joint import JointTree
from mbfmu.dae.tree.articulated import Articulated
from mbfmu.dae.tree.recursive import inverse_dynamics, link_rates, mass_matrix
from mbfmu.dae.tree.tree_factor import TreeFactor, is_shallow
from mbfmu.kernel import compose, vector
from mbfmu.kernel.emit.program import read_program
from mbfmu.kernel.runtime import OK
from mbfmu.model import (
    Body,
    Cylindrical,
    Distance,
    Fixed,
    FixedRotation,
    FreeMotion,
    Joint,
    KnifeEdge,
    Planar,
    PointOnLine,
    Prismatic,
    Revolute,
    RollingDisk,
    RollingSphere,
    Screw,
    Spherical,
    System,
    Universal,
)
from mbfmu.model.library import known_models
from mbfmu.model.mechanism import flatten
from mbfmu.stepper import make_scheme

pin = extra("pinocchio", "test")

Array = npt.NDArray[np.float64]

# -- joint against absolute coordinates -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", thorough(zip(range(6)), lambda seed: seed == 0))
@pytest.mark.parametrize("planar", [True, False], ids=["plane", "space"])
def test_a_random_tree_moves_the_same_in_both_coordinates(seed: int, planar: bool) -> None:
    assert_same_motion(random_tree(seed, planar).system("tree"), seed)


IN_PLANE_LOOPS = (
    (Distance, 3), (PointOnLine, 4), (Prismatic, 2), (Revolute, 3), (Revolute, 4), (Fixed, 2), (Fixed, 3), (Fixed, 5),
)  # fmt: skip
IN_SPACE_LOOPS = (
    (Distance, 1), (PointOnLine, 4), (Prismatic, 4), (Revolute, 2), (Spherical, 0), (Universal, 0), (Universal, 5),
    (Cylindrical, 2), (Fixed, 3),
)  # fmt: skip
LOOPS = [
    (kind, seed, planar)
    for planar, chosen in ((True, IN_PLANE_LOOPS), (False, IN_SPACE_LOOPS))
    for kind, seed in chosen
]
"""What closes which random tree; half of the loops are closed more than needed."""
FIRST = {kind: (kind, seed, planar) for kind, seed, planar in reversed(LOOPS) if planar or kind is Spherical}
"""The first tree in the plane that each joint closes, and one in space."""


@pytest.mark.parametrize(("closing", "seed", "planar"), thorough(LOOPS, lambda *loop: loop in FIRST.values()))
def test_a_random_loop_moves_the_same_in_both_coordinates(closing: type[Joint], seed: int, planar: bool) -> None:
    assert_same_motion(random_loop(seed, planar, closing), seed)


def rolling(joint: Joint, other: Joint | None = None) -> System:
    """A body on a joint that rolls or glides on the world, with a pendulum hung on it."""
    rng = np.random.default_rng(1)
    made = Builder(rng, planar=False)
    made.hang(1, joint, "world.frame_b")
    made.hang(2, Universal("cardan", n_a=random_axis(rng), n_b=random_axis(rng)), "b1.frame_a")
    if other:
        made.put(other, frame_a="world.frame_b", frame_b="tip1.frame_b")
    made.forces()
    return made.system("rolling")


@pytest.mark.parametrize(
    ("joint", "other", "rows"),
    thorough(
        [
            (RollingSphere("ball", radius=0.4), None, (0, 2)),
            (RollingDisk("disk", radius=0.4, theta=0.3), None, (0, 2)),
            (FreeMotion("free"), KnifeEdge("blade", n=(0.6, 0.0, 0.8)), (0, 1)),
        ],
        lambda joint, *_: joint.name != "ball",
    ),
    ids=["ball", "disk", "blade"],
)
def test_what_rolls_moves_the_same_in_both_coordinates(joint: Joint, other: Joint, rows: tuple[int, int]) -> None:
    """A joint that carries coordinates meets its holonomic equations by them, and keeps the nonholonomic ones."""
    found, _ = assert_same_motion(rolling(joint, other), seed=0)
    norms = sum(name.endswith("Q_rel[1]") for name in found.coordinates)
    assert (found.m - norms, found.k) == rows


@pytest.mark.parametrize("seed", thorough(zip([3, 4]), lambda seed: seed == 3))
@pytest.mark.parametrize("planar", [True, False], ids=["plane", "space"])
def test_a_random_tree_starts_and_goes_the_same_in_both_coordinates(seed: int, planar: bool) -> None:
    """The assembly from start values, and 10 steps of RK4 of 1 ms, whose error is below 1e-9."""
    tree = random_tree(seed, planar, most=3).system("tree")
    ends = []
    for coordinates in ("joint", "absolute"):
        dae = derive(tree, coordinates)
        kernel = Interpreted(compose(dae, make_scheme(dae, "direct")))
        p, u, still = vector(dae.p_default()), vector([0.5] * len(dae.inputs)), vector([0.0] * len(dae.inputs))
        x, status = kernel.initialize(vector(dae.s_default()), u, p, 0.0, 1e-3)
        assert status.code == OK
        begun = list(kernel.outputs(x, u, p, 0.0))
        x, status = kernel.advance(x, u, still, p, 0.0, 1e-3, 10)
        assert status.code == OK
        ends.append(np.array([begun, list(kernel.outputs(x, u, p, 1e-2))]))
    (begun, ended), (same, other) = ends
    np.testing.assert_allclose(begun, same, rtol=1e-9, atol=1e-11 * np.abs(begun).max())
    np.testing.assert_allclose(ended, other, rtol=1e-7, atol=1e-9 * np.abs(ended).max())


# -- against Pinocchio ----------------------------------------------------------------------------------------------


def placed(r: Any = (0, 0, 0), n: Any = (0, 0, 1), angle: float = 0.0) -> pin.SE3:
    """A pose: moved by r and turned by an angle about n."""
    return pin.SE3(pin.AngleAxis(angle, np.array(n, dtype=float)).toRotationMatrix(), np.array(r, dtype=float))


def inertia_of(body: Body) -> pin.Inertia:
    """The mass properties of a body in its frame_a."""
    rows = ((body.I_11, body.I_21, body.I_31), (body.I_21, body.I_22, body.I_32), (body.I_31, body.I_32, body.I_33))
    return pin.Inertia(float(body.m), np.array(body.r_CM, dtype=float), np.array(rows, dtype=float))


def test_the_arm_of_six_joints_is_pinocchios() -> None:
    """Mass matrix, force and acceleration at random states, against crba, rnea and aba."""
    dae, model = derive(mbfmu.load("arm6"), "joint"), pin.Model()
    model.gravity.linear = np.array([0, 0, -9.81])
    link = pin.Inertia(1.0, np.array([0.5, 0, 0]), np.diag([0.02, 1.01, 1.01]) / 12)
    last = 0
    for k in range(6):
        kind = pin.JointModelRY() if k % 2 == 0 else pin.JointModelRZ()
        last = model.addJoint(last, kind, placed((1 if k else 0, 0, 0)), f"joint{k + 1}")
        model.appendBodyToJoint(last, link, placed())
    data, p, rng = model.createData(), dae.p_default(), np.random.default_rng(0)
    assert (dae.n, dae.m) == (6, 0)
    for _ in range(10):
        q, v, u = rng.uniform(-3, 3, 6), rng.normal(size=6), rng.normal(size=6)
        upper = np.triu(pin.crba(model, data, q))
        M = upper + np.triu(upper, 1).T
        np.testing.assert_allclose(matrix(dae.equations.M(q, p)), M, atol=1e-12 * np.abs(M).max())
        force = u - pin.rnea(model, data, q, v, np.zeros(6))
        np.testing.assert_allclose(
            column(dae.equations.force(q, v, [], u, p, 0.0)), force, atol=1e-12 * (1 + np.abs(force).max())
        )
        a = pin.aba(model, data, q, v, u)
        for found in (dae.equations.free_acceleration(q, v, [], u, p, 0.0), dae.acceleration(q, v, [], u, p, 0.0)[0]):
            np.testing.assert_allclose(column(found), a, rtol=1e-10, atol=1e-10 * np.abs(a).max())


HELIX = pin.JointModelHelicalUnaligned
ROTOR, SLIDER = (
    lambda n, kind=kind: kind(np.array(n))
    for kind in (pin.JointModelRevoluteUnaligned, pin.JointModelPrismaticUnaligned)
)

ONE_BY_ONE: dict[type[Joint], Callable[[Any], dict[str, Any]]] = {
    Revolute: lambda j: {"phi": ROTOR(j.n)},
    Prismatic: lambda j: {"s": SLIDER(j.n)},
    Cylindrical: lambda j: {"s": SLIDER(j.n), "phi": ROTOR(j.n)},
    Universal: lambda j: {"phi_a": ROTOR(j.n_a), "phi_b": ROTOR(j.n_b)},
    Planar: lambda j: {"s_x": SLIDER(j.n_x), "s_y": SLIDER(np.cross(j.n, j.n_x)), "phi": ROTOR(j.n)},
    Screw: lambda j: {"phi": HELIX(np.array(j.n), j.pitch / (2 * math.pi))},
    Spherical: lambda _: {"Q_rel": pin.JointModelSpherical()},
    FreeMotion: lambda _: {"r_rel": pin.JointModelTranslation(), "Q_rel": pin.JointModelSpherical()},
}
"""Pinocchio's joints in a row that make one of ours, by the coordinate they have."""


def random_chain(rng: Random, length: int) -> tuple[System, pin.Model]:
    """A chain of random joints with brackets on both sides: ours, and Pinocchio's with our names of coordinates."""
    made, model = Builder(rng, planar=False), pin.Model()
    model.gravity.linear = 9.81 * np.array([0.6, -0.8, 0.0])
    kinds = list(ONE_BY_ONE)
    last, carrier, frame = 0, placed(), "world.frame_b"
    for number in range(1, length + 1):
        kind = kinds[rng.integers(len(kinds))]
        joint = kind(f"j{number}", **IN_SPACE[kind](rng))
        near, far = (
            {"r": vec(rng, False, 0.4), "n": random_axis(rng), "angle": float(rng.uniform(-2, 2))} for _ in range(2)
        )
        made.put(FixedRotation(f"near{number}", **near), frame_a=frame)
        frame = made.body(number)
        made.put(FixedRotation(f"far{number}", **far), frame_b=frame)
        made.put(joint, frame_a=f"near{number}.frame_b", frame_b=f"far{number}.frame_a")
        place = carrier * placed(**near)
        for coordinate, part in ONE_BY_ONE[kind](joint).items():
            last, place = model.addJoint(last, part, place, f"{joint.name}.{coordinate}"), placed()
        carrier = placed(**far)
        model.appendBodyToJoint(last, inertia_of(made.bodies[-1]), carrier)
    return made.system("chain"), model


def as_pinocchios(dae: Dae, name: str, q: Array, *rates: Array) -> tuple[Array, ...]:
    """A coordinate and its first derivatives: of a quaternion angular velocity and acceleration, turning along."""
    at = [k for k, label in enumerate(dae.coordinates) if label.partition("[")[0] == name]
    if len(at) < 4:
        return (q[at], *(rate[at] for rate in rates))
    conjugate = q[at] * [1, -1, -1, -1]
    return (np.roll(q[at], -1), *(2 * quaternion_product(conjugate, rate[at])[1:] for rate in rates))


@pytest.mark.parametrize("seed", thorough(zip(range(3)), lambda seed: seed == 0))
def test_a_chain_of_ten_random_joints_accelerates_as_pinocchios(seed: int) -> None:
    """From random states, under gravity; conj(Q) Q'' is half the angular acceleration but for its scalar part."""
    rng = np.random.default_rng(seed)
    system, model = random_chain(rng, 10)
    dae, data = derive(system, "joint"), model.createData()
    found = dae.acceleration
    for _ in range(3):
        q, v, u = admissible(dae, rng)
        a = column(found(q, v, [], u, dae.p_default(), 0.0)[0])
        columns = zip(*(as_pinocchios(dae, name, q, v, a) for name in model.names[1:]), strict=True)
        place, speed, gain = (np.concatenate(items) for items in columns)
        expected = pin.aba(model, data, place, speed, np.zeros(model.nv))
        np.testing.assert_allclose(gain, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


# -- both algorithms ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "system",
    [
        *(random_tree(seed, planar).system("tree") for seed, planar in product((0, 1, 2), (True, False))),
        *(branched(planar=planar) for planar in (True, False)),
        mbfmu.load("flexible_robot"),
    ],
    ids=lambda item: f"{item.name}-{'plane' if item.planar else 'space'}",
)
def test_articulated_bodies_and_the_factor_of_the_mass_matrix_accelerate_a_tree_alike(system: System) -> None:
    tree = JointTree(flatten(system))
    links, bodies = tree.links, tree.bodies
    moves, gravity, n = link_rates(links), bodies.gravity(), bodies.v.numel()
    force, M = ca.SX.sym("force", n), mass_matrix(links)
    articulated, factor = Articulated(links), TreeFactor(M)
    load = force - inverse_dynamics(links, moves, gravity)[0]
    both = ca.Function(
        "both",
        [bodies.q, bodies.v, bodies.p, bodies.t, force],
        [
            articulated.solve(force, moves, gravity),
            factor.solve(load),
            articulated.solve(force),
            factor.solve(force),
            M,
        ],
    )
    rng = np.random.default_rng(0)
    p = [float(entry.value) for entry in bodies.entries]
    p += [0.0] * (bodies.p.numel() - len(p))
    for _ in range(3):
        given = rng.normal(size=bodies.q.numel()), rng.normal(size=n), p, 0.0, rng.normal(size=n)
        moving, moving_too, still, still_too, M_there = (np.array(item) for item in both(*given))
        atol = 1e-15 * np.linalg.cond(M_there) * np.abs(moving).max() + 1e-12
        np.testing.assert_allclose(moving_too, moving, atol=atol)
        np.testing.assert_allclose(still_too, still, atol=atol)


def test_a_tree_is_factored_where_that_takes_less() -> None:
    """That is up to 14 links in space and 6 in the plane, and for any number of limbs up to 32 links."""
    chain = runpy.run_path(str(known_models()["chain"]))["chain"]

    def shallow(system: System) -> bool:
        return is_shallow(JointTree(flatten(system)).links)

    assert [shallow(chain(N=N, spatial=True)) for N in (2, 14, 15, 40)] == [True, True, False, False]
    assert [shallow(chain(N=N, spatial=False)) for N in (2, 6, 7, 40)] == [True, True, False, False]
    operations = []
    for N in (14, 15):
        dae = derive(chain(N=N, spatial=True), "joint")
        operations.append(read_program(dae.equations.free_acceleration).size)
    assert operations[1] < operations[0] * 15 / 14  # where they take the same time, the factor has more operations


# -- the work -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spatial", thorough(zip([True, False]), lambda spatial: not spatial), ids=["space", "plane"])
def test_the_work_for_the_acceleration_of_a_chain_grows_by_the_same_for_every_link(spatial: bool) -> None:
    """The articulated bodies cost a time linear in the links: 8 more cost what the last 8 did."""
    chain, operations = runpy.run_path(str(known_models()["chain"]))["chain"], []
    for N in (24, 32, 40):  # shorter ones divide otherwise
        dae = derive(chain(N=N, spatial=spatial), "joint")
        operations.append(read_program(dae.equations.free_acceleration).size)
    first, second = np.diff(operations)
    assert second == pytest.approx(first, rel=0.02)

"""Bodies without mass or inertia of their own in joint coordinates, where the mass matrix is regular."""

import casadi as ca
import numpy as np
import pytest

import mbfmu
from mbfmu.dae import Dae, derive
from mbfmu.errors import FrameConnectionError, MassError
from mbfmu.model import (
    Body,
    BodyShape,
    Component,
    Connection,
    FixedTranslation,
    FreeMotion,
    Prismatic,
    Revolute,
    Spherical,
    System,
    Universal,
    World,
    WorldForce,
    connect,
)

SOLID = Body("tip", m=2.0, r_CM=(0.1, 0.2, -0.3), I_11=0.3, I_22=0.4, I_33=0.5, I_21=0.05)


def chain(*parts: Component, planar: bool = False) -> System:
    """Components hung on each other in a row, from the world."""
    ends = ["world.frame_b"]
    connections: list[Connection] = []
    for item in parts:
        connections.append(connect(ends[-1], f"{item.name}.frame_a"))
        ends.append(f"{item.name}.{item.frames[-1]}")
    return System("chain", (World("world", n=(0.0, -1.0, 0.0)), *parts), tuple(connections), planar=planar)


def accelerations(dae: Dae, q: list[float], v: list[float]) -> np.ndarray:
    return np.array(dae.equations.free_acceleration(q, v, [], [0.0] * len(dae.inputs), dae.p_default(), 0.0)).ravel()


def test_two_revolutes_in_a_row_move_as_a_universal_joint() -> None:
    rows = chain(Revolute("one", n=(1.0, 0.0, 0.0)), Revolute("two", n=(0.0, 1.0, 0.0)), SOLID)
    cross = chain(Universal("hook", n_a=(1.0, 0.0, 0.0), n_b=(0.0, 1.0, 0.0)), SOLID)
    rng = np.random.default_rng(1)
    for _ in range(3):
        q, v = rng.normal(size=(2, 2)).tolist()
        mine, other = (accelerations(derive(system, "joint"), q, v) for system in (rows, cross))
        assert mine == pytest.approx(other, rel=1e-12)


@pytest.mark.parametrize("between", [FixedTranslation("arm"), Body("arm"), Body("arm", r_CM=(0.3, 0.0, 0.0))])
def test_a_body_without_mass_between_joints_moves_as_the_limit_of_light_ones(between: Component) -> None:
    joints = Revolute("one", n=(1.0, 0.0, 0.0)), Revolute("two", n=(0.0, 1.0, 0.0))
    q, v = [0.4, -0.7], [1.1, 0.6]
    mine = accelerations(derive(chain(joints[0], between, joints[1], SOLID)), q, v)
    gaps = []
    for m in (1e-3, 1e-4):
        light = Body("arm", m=m, r_CM=(0.3, 0.0, 0.0), I_11=m, I_22=m, I_33=m)
        gaps.append(
            np.abs(accelerations(derive(chain(joints[0], light, joints[1], SOLID), "joint"), q, v) - mine).max()
        )
    assert 0 < gaps[1] < 1e-3
    assert gaps[0] / gaps[1] == pytest.approx(10, rel=0.05)


def test_a_point_mass_swings_as_a_mathematical_pendulum() -> None:
    dae = derive(chain(Revolute("hinge"), Body("bob", m=3.0, r_CM=(0.8, 0.0)), planar=True))
    assert accelerations(dae, [0.3], [2.0]) == pytest.approx([-9.81 * np.cos(0.3) / 0.8], rel=1e-14)


def test_a_free_base_without_mass_is_carried_by_its_limbs() -> None:
    """The sum of all forces is that of the weights: the centre of mass falls freely."""
    base = FreeMotion(
        "base", r_rel=(0.0, 0.0, 0.0), v_rel=(0.0, 0.0, 0.0), Q_rel=(1.0, 0.0, 0.0, 0.0), w_rel=(0.0,) * 3
    )
    limbs = [
        (
            Revolute(f"joint_{k}", n=n),
            Body(f"limb_{k}", m=1.0 + k, r_CM=(0.2, -0.1 * k, 0.3), I_11=0.1, I_22=0.1, I_33=0.1),
        )
        for k, n in enumerate([(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)])
    ]
    ends = [connect("world.frame_b", "base.frame_a")]
    ends += [connect("base.frame_b", f"joint_{k}.frame_a") for k in range(2)]
    ends += [connect(f"joint_{k}.frame_b", f"limb_{k}.frame_a") for k in range(2)]
    parts = (World("world", n=(0.0, -1.0, 0.0)), base, *(item for limb in limbs for item in limb))
    dae = derive(System("walker", parts, tuple(ends)))
    rng = np.random.default_rng(2)
    Q = rng.normal(size=4)
    Q /= np.linalg.norm(Q)
    w = rng.normal(size=4)
    q, v = (
        [*rng.normal(size=3), *Q, *rng.normal(size=2)],
        [*rng.normal(size=3), *(w - Q * (Q @ w)), *rng.normal(size=2)],
    )
    a, _ = dae.acceleration(q, v, [], [], dae.p_default(), 0.0)
    x, xdot = ca.MX.sym("x", dae.n), ca.MX.sym("xdot", dae.n)
    names = [item.name for item in dae.outputs]
    rows = [names.index(f"momentum.linear[{k}]") for k in (1, 2, 3)]
    y = dae.output(x, xdot, [], [], np.zeros(dae.n), np.zeros(dae.m + dae.k), [], dae.p_default(), 0.0)[rows]
    rate, slope = ca.Function("rate", [x, xdot], [ca.jtimes(y, x, xdot), ca.jacobian(y, xdot)])(q, v)
    force = np.array(rate + slope @ a).ravel()
    assert force == pytest.approx([0.0, -9.81 * 3.0, 0.0], abs=1e-11)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ((Revolute("one"), Body("arm")), "'arm' can move but its mass is 0 kg"),
        ((Revolute("one"), FixedTranslation("arm")), "'arm' can move but has no mass"),
        ((Revolute("one"), Body("arm", m=1.0)), "'arm' can turn but an inertia .* is 0 kg"),
        ((Revolute("one"), Revolute("two"), SOLID), r"the joints at one\.frame_b, two\.frame_a have no body with mass"),
        ((Spherical("ball"), Body("arm", m=1.0, r_CM=(1.0, 0.0, 0.0))), "'arm' can turn but an inertia"),
    ],
)
def test_what_makes_the_mass_matrix_singular_is_refused(parts: tuple[Component, ...], said: str) -> None:
    with pytest.raises(MassError, match=said):
        derive(chain(*parts))


def test_an_inertia_that_no_body_has_is_told_where_the_mass_matrix_is_regular() -> None:
    body = Body("arm", m=1.0, I_11=1.0, I_22=1.0, I_33=1.0, I_21=2.0)
    with pytest.warns(UserWarning, match="no body has such an inertia.*'arm' can turn but .* is -1 kg"):
        derive(chain(Revolute("one"), body), "joint")


def test_a_joint_that_meets_forces_only_is_refused() -> None:
    system = System(
        "loose",
        (World("world"), Revolute("hinge"), SOLID, Revolute("free"), WorldForce("push")),
        (
            connect("world.frame_b", "hinge.frame_a"),
            connect("hinge.frame_b", "tip.frame_a"),
            connect("tip.frame_a", "free.frame_a"),
            connect("free.frame_b", "push.frame_b"),
        ),
    )
    with pytest.raises(FrameConnectionError, match=r"reaches no part and no other joint: connect it to a body"):
        derive(system)


def test_revolutes_in_a_row_close_a_loop_as_the_joint_they_stand_for() -> None:
    """The loop is cut elsewhere than at them, where nothing would carry mass behind the cut."""
    bar = {"I_11": 0.1, "I_22": 0.1, "I_33": 0.1}

    def loop(*ball: Component) -> System:
        parts = (
            Revolute("crank", n=(1, 0, 0), phi=0.0, w=2.0),
            BodyShape("b1", m=1.0, r=(0, 0.5, 0.1), r_CM=(0, 0.25, 0.05), **bar),
            *ball,
            BodyShape("rod", m=2.0, r=(1, -0.3, -0.1), r_CM=(0.5, -0.15, -0.05), **bar),
            Universal("cross", n_a=(0, 0, 1), n_b=(0, 1, 0)),
            BodyShape("b2", m=1.0, r=(0, -0.2, 0), r_CM=(0, -0.1, 0), **bar),
            Prismatic("slide", n=(-1, 0, 0), s="guess(0.2)"),
            FixedTranslation("wall", r=(-1.2, 0, 0)),
        )
        ends = [f"{item.name}.{frame}" for item in parts for frame in ("frame_a", "frame_b")]
        ends = ["world.frame_b", *ends, "world.frame_b"]
        pairs = tuple(connect(a, b) for a, b in zip(ends[::2], ends[1::2], strict=True))
        return System("loop", (World(n=(0.0, -1.0, 0.0)), *parts), pairs)

    revolutes = (Revolute(f"j{k}", n=tuple(float(k == i) for i in range(3))) for k in range(3))
    ours, theirs = (
        mbfmu.simulate(item, 0.2, step=0.01, tolerance=1e-9) for item in (loop(*revolutes), loop(Spherical("ball")))
    )
    assert np.ptp(ours["slide.s"]) > 1e-3
    for name in ("crank.phi", "slide.s"):
        np.testing.assert_allclose(ours[name], theirs[name], rtol=0, atol=1e-8)

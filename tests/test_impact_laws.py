"""Newton's and Poisson's laws of restitution, and the tangential one, against closed forms and all cases tried."""

import math
from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any, Literal

import numpy as np
import pytest
from events import Run
from harness import examples
from hypothesis import given
from hypothesis import strategies as st
from struck import numbers
from test_contacts import both, on_joint

import mbfmu
from mbfmu.errors import ModelError
from mbfmu.kernel import vector
from mbfmu.model import (
    BearingFriction,
    Body,
    CircleOnLine,
    Contact,
    Coordinate,
    GuideFriction,
    LagrangianSystem,
    Planar,
    PointOnPlane,
    Prismatic,
    Revolute,
    System,
    TranslationalEndStop,
    World,
    connect,
)
from mbfmu.prepared.prepare import Prepared, prepare

Array = np.ndarray[Any, Any]
Law = Literal["newton", "poisson", "sequence"]
LAWS: tuple[Law, ...] = ("newton", "poisson")


# -- all that touches, without friction ------------------------------------------------------------------------------


def least(A: Array, b: Array, base: Array) -> Array:
    """Solve 0 <= x - base, A x + b >= 0, one of each pair 0, by trying all cases."""
    n = len(b)
    for case in product((False, True), repeat=n):
        free = np.array(case)
        x = base.copy()
        if free.any():
            rest = A[np.ix_(free, ~free)] @ x[~free] + b[free]
            x[free] = np.linalg.solve(A[np.ix_(free, free)], -rest)
        if (x >= base - 1e-12).all() and (A @ x + b >= -1e-12).all():
            return x
    raise AssertionError("no case fits")


def after(A: Array, v: Array, e: Array, laws: tuple[Law, ...]) -> Array:
    """Return the rates after an impact of gaps that are the coordinates, A the inverse of their mass matrix."""
    newton = np.array([law == "newton" for law in laws])
    compression = least(A, v, np.zeros(len(v)))
    base = np.where(newton, 0, (1 + e) * compression)
    return v + A @ least(A, v + np.where(newton, e * v, 0), base)


def touching(laws: tuple[Law, ...]) -> LagrangianSystem:
    """Three coordinates that are gaps, all closed at the start, with any mass matrix."""
    rates = [f"der(x_{i})" for i in (1, 2, 3)]
    terms = [f"m_{i + 1}{j + 1}*{rates[i]}*{rates[j]}" for i in range(3) for j in range(3)]
    return LagrangianSystem(
        "touching", tuple(Coordinate(f"x_{i}", "m", 0.0, 0.0) for i in (1, 2, 3)), f"({' + '.join(terms)})/2",
        parameters=numbers(
            **{f"m_{i}{j}": float(i == j) for i in (1, 2, 3) for j in (1, 2, 3)}, e_1=0, e_2=0, e_3=0
        ),
        contacts=tuple(
            Contact(f"c_{i}", gap=f"x_{i}", restitution=f"e_{i}", impact_law=law) for i, law in enumerate(laws, 1)
        ),
    )  # fmt: skip


RATES = tuple(f"der(x_{i})" for i in range(4))
"""Names of the rates of four balls."""


def row(law: Law) -> LagrangianSystem:
    """Return four balls in a row that touch, with e = 1."""
    return LagrangianSystem(
        "row", tuple(Coordinate(f"x_{i}", "m", float(i), 0.0) for i in range(4)),
        " + ".join(f"m_{i}*der(x_{i})**2/2" for i in range(4)), parameters=numbers(m_0=1, m_1=1, m_2=1, m_3=1),
        contacts=tuple(
            Contact(f"c_{i}", gap=f"x_{i + 1} - x_{i} - 1", restitution=1.0, impact_law=law) for i in range(3)
        ),
    )  # fmt: skip


KINDS: tuple[tuple[Law, ...], ...] = (
    ("newton", "newton", "newton"), ("poisson", "poisson", "poisson"), ("poisson", "newton", "poisson"),
)  # fmt: skip


@cache
def made(model: Callable[[Any], LagrangianSystem], kind: Any) -> Prepared:
    """Return a model of a kind, prepared."""
    return prepare(model(kind), "projected", {}, 1e-2)


def struck(prepared: Prepared, values: dict[str, float]) -> dict[str, float]:
    """Return what a model shows after the impact at the start, for parameters and start values."""
    dae, kernel = prepared.dae, prepared.kernel
    s, p = ([values.get(item.name, item.value) for item in items] for items in (dae.starts, dae.parameters))
    none = vector([])
    x, status = kernel.initialize(vector(s), none, vector(p), 0.0, 1e-2)
    assert not status.code, status
    return dict(zip((item.name for item in dae.outputs), kernel.outputs(x, none, vector(p), 0.0), strict=False))


entries = st.integers(-20, 20).map(lambda k: k / 20)


@examples(2)
@given(
    laws=st.sampled_from(KINDS),
    root=st.lists(entries, min_size=9, max_size=9),
    v=st.lists(st.floats(-2, -0.01), min_size=3, max_size=3),
    e=st.lists(st.floats(0, 1), min_size=3, max_size=3),
)
def test_all_that_hits_at_once_leaves_as_its_laws_ask(
    laws: tuple[Law, ...], root: list[float], v: list[float], e: list[float]
) -> None:
    """Each law is that of its own gap; impacts never add energy if all restitutions are alike."""
    mass = np.reshape(root, (3, 3)) @ np.reshape(root, (3, 3)).T + 0.2 * np.eye(3)
    A, before = np.linalg.inv(mass), np.array(v)
    values = {f"m_{i + 1}{j + 1}": mass[i, j] for i in range(3) for j in range(3)}
    values |= {f"der(x_{i + 1})": v[i] for i in range(3)}
    for some in (e, [e[0]] * 3):
        y = struck(made(touching, laws), values | {f"e_{i + 1}": some[i] for i in range(3)})
        found = np.array([y[f"der(x_{i})"] for i in (1, 2, 3)])
        assert found == pytest.approx(after(A, before, np.array(some), laws), abs=1e-9)
    assert found @ mass @ found <= before @ mass @ before * (1 + 1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_a_single_impact_without_friction_is_the_same_by_both_laws(law: Law) -> None:
    ball = LagrangianSystem(
        "ball", (Coordinate("y", "m", 1.0, 0.0),), "der(y)**2/2", "g*y", parameters=numbers(g=9.81),
        contacts=(Contact("ground", gap="y", restitution=0.8, impact_law=law),),
    )  # fmt: skip
    found = Run(ball, 0.05).to(3.0)
    first = math.sqrt(2 / 9.81)
    wanted = [first + 2 * first * sum(0.8**k for k in range(1, n)) for n in range(1, 7)]
    assert found.times()[:6] == pytest.approx(wanted, abs=1e-12)
    assert found.to(4.2).row(["der(y)", "ground.closed"]).tolist() == [0, 1]


def pivoting(law: Law, e_1: float, e_2: float) -> Run:
    """A rod of 1 kg and 1 m that lies with one end on the ground and falls with the other, just after it has hit."""
    rod = LagrangianSystem(
        "rod", (Coordinate("y", "m", 0.5 * math.sin(0.1), 0.0), Coordinate("phi", "rad", 0.1, 0.0)),
        "(der(y)**2 + der(phi)**2/12)/2", "9.81*y",
        contacts=tuple(
            Contact(name, gap=f"y {sign} sin(phi)/2", restitution=e, impact_law=law)
            for name, sign, e in (("still", "-", e_1), ("hitting", "+", e_2))
        ),
    )  # fmt: skip
    run = Run(rod, 1e-3)
    while run["hitting.impacts"] < 1:
        run.to(run.simulation.time + 1e-3)
    return run


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("e_1", "e_2"), [(1.0, 0.0), (0.6, 0.0), (0.5, 0.5), (0.0, 0.5)])
def test_a_rod_whose_ends_differ_leaves_the_ground_as_its_law_has_it(law: Law, e_1: float, e_2: float) -> None:
    """By Newton's law the end at rest stays so; by Poisson's it gives back what its impulse has compressed.

    With the mobilities a = 4 of an end and b = -2 of one by the other, the speed v of the end that hits, and the
    impulses of the compression (-b, a) v/(a^2 - b^2) = (1, 2) v/6:

        Newton                              gap rates (0, e_2 v)
        Poisson, e_1 > e_2 = 0              (e_1 v/2, 0): the second end is pressed once more, by e_1 v/12
        Poisson, e_1 = e_2                  (0, e_2 v)
        Poisson, e_1 = 0                    (0, e_2 v): the first end is pressed once more
    """
    run = pivoting(law, e_1, e_2)
    v = math.sqrt(9.81 * math.sin(0.1) * 3)  # of the end: the energy of a rod that turns about the other one
    event = run.events[-1]
    late = run.simulation.time - event.time
    y_rate, phi_rate = event.y["der(y)"], event.y["der(phi)"]
    rises = law == "poisson" and e_1 > e_2
    wanted = (e_1 * v / 2, 0.0) if rises else (0.0, e_2 * v)
    found = (y_rate - phi_rate / 2, y_rate + phi_rate / 2)
    assert late < 1e-3
    assert found == pytest.approx(wanted, abs=1.5 * 9.81 * late + 1e-9)
    assert event.y["still.closed"] == (not rises)


# -- one after the other ---------------------------------------------------------------------------------------------


def in_turn(A: Array, v: Array, e: Array) -> Array:
    """Return the rates after impacts of gaps that are the coordinates, of which the fastest hits until none closes."""
    v = v.copy()
    while (i := int(np.argmin(v))) >= 0 and v[i] < -1e-10:
        v += A[:, i] * -(1 + e[i]) * v[i] / A[i, i]
    return v


@examples(2)
@given(
    masses=st.lists(st.floats(0.5, 2.0), min_size=4, max_size=4),
    speeds=st.lists(st.floats(-2, 2), min_size=4, max_size=4),
)
def test_what_hits_one_after_the_other_keeps_energy_and_momentum(masses: list[float], speeds: list[float]) -> None:
    """Balls in a row that touch, of which each pair that closes exchanges its impulse alone."""
    y = struck(
        made(row, "sequence"), {f"m_{i}": m for i, m in enumerate(masses)} | dict(zip(RATES, speeds, strict=True))
    )
    u, m = np.array([y[name] for name in RATES]), np.array(masses)
    gaps = np.diff(np.eye(4), axis=0)
    wanted = in_turn(gaps @ np.diag(1 / m) @ gaps.T, gaps @ np.array(speeds), np.ones(3))
    assert gaps @ u == pytest.approx(wanted, abs=1e-9)
    assert m @ u == pytest.approx(m @ np.array(speeds), abs=1e-12)
    assert m @ u**2 == pytest.approx(m @ np.array(speeds) ** 2, abs=1e-12)


@pytest.mark.parametrize(
    ("law", "wanted"),
    [("sequence", (0, 0, 0, 1)), ("newton", (-0.5, 0.5, 0.5, 0.5)), ("poisson", (-0.5, 0.5, 0.5, 0.5))],
)
def test_balls_that_touch_are_one_impact_or_as_many_as_there_are_pairs(law: Law, wanted: tuple[float, ...]) -> None:
    """The first of four equal balls hits three at rest: by two laws these move as one body of three times its mass."""
    y = struck(made(row, law), {"der(x_0)": 1.0})
    assert [y[name] for name in RATES] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("slip", [-3.0, -0.4, 0.4, 3.0])
def test_a_single_impact_is_the_same_one_after_the_other_with_its_friction(slip: float) -> None:
    values = {"e": 0.5, "mu": 0.3, "der(x)": slip}
    one, other = (struck(made(leaning, law), values) for law in ("newton", "sequence"))
    assert other == pytest.approx(one, abs=1e-12)


# -- friction --------------------------------------------------------------------------------------------------------


ARM = math.sqrt(0.5)
"""Distance of the middle of the leaning rod from its lower end, across and along the ground, m."""


def leaning(law: Law) -> LagrangianSystem:
    """A rod of 1 kg and 2 m at 45 degrees, whose lower end hits the ground at 1 m/s."""
    return LagrangianSystem(
        "leaning",
        (
            Coordinate("x", "m", 0.0, 0.0), Coordinate("y", "m", ARM, -1.0), Coordinate("phi", "rad", 0.0, 0.0),
        ),
        "(der(x)**2 + der(y)**2 + der(phi)**2/3)/2",
        parameters=numbers(e=0.5, mu=1.5),
        contacts=(
            Contact(
                "end", gap=f"y - sin(phi + {math.pi / 4})", restitution="e", slide=f"x - cos(phi + {math.pi / 4})",
                sliding="mu*normal", impact_law=law,
            ),
        ),
    )  # fmt: skip


@pytest.mark.parametrize("law", LAWS)
def test_an_oblique_impact_that_sticks_throughout_is_that_of_its_law(law: Law) -> None:
    """The end has the mobilities 1 + 3/2 along and across the ground, and -3/2 of one by the other.

    Newton's law gives the normal speed e; Poisson's expands what the compression has taken, so that the slip before
    the impact has a part in it.
    """
    e, slip, a, b = 0.5, -0.4, 2.5, -1.5
    y = struck(made(leaning, law), {"e": e, "mu": 1.5, "der(x)": slip})
    pressed = (a + b * slip) / (a**2 - b**2)
    wanted = e if law == "newton" else (a - b**2 / a) * e * pressed
    assert y["der(y)"] - ARM * y["der(phi)"] == pytest.approx(wanted, abs=1e-12)
    assert y["der(x)"] + ARM * y["der(phi)"] == pytest.approx(0, abs=1e-12)


def test_newtons_law_can_add_energy_to_an_oblique_impact_and_poissons_does_not() -> None:
    """The paradox of Kane: the slip that friction ends or turns round has its energy too."""
    gains: dict[str, list[float]] = {law: [] for law in LAWS}
    for law, mu, slip in product(LAWS, (0.3, 0.7, 1.5), (-3.0, -1.0, -0.3, 0.3, 1.0, 3.0)):
        y = struck(made(leaning, law), {"e": 0.9, "mu": mu, "der(x)": slip})
        gains[law].append(2 * y["energy.kinetic"] / (slip**2 + 1) - 1)
    assert max(gains["newton"]) > 0.04
    assert max(gains["poisson"]) < 0


@pytest.mark.parametrize(("e", "e_T"), [(1.0, 1.0), (0.8, 0.5), (0.5, -0.3), (0.5, 0.0)])
def test_a_ball_with_tangential_restitution_turns_its_slip_round(e: float, e_T: float) -> None:
    """A sphere of 1 kg and 0.1 m: with e = e_T = 1 a superball, which keeps its energy."""
    r, J, v, w = 0.1, 0.4 * 0.1**2, 2.0, 5.0
    ball = LagrangianSystem(
        "ball",
        (Coordinate("x", "m", 0.0, v), Coordinate("y", "m", r, -3.0), Coordinate("phi", "rad", 0.0, w)),
        f"(der(x)**2 + der(y)**2 + {J}*der(phi)**2)/2",
        contacts=(
            Contact("ground", gap=f"y - {r}", restitution=e, tangential=e_T, slide=f"x + {r}*phi", sliding="5*normal"),
        ),
    )  # fmt: skip
    impulse = -(1 + e_T) * (v + r * w) / (1 + r**2 / J)
    found = Run(ball, 1e-2)
    wanted = [v + impulse, 3 * e, w + impulse * r / J]
    assert found.row(["der(x)", "der(y)", "der(phi)"]) == pytest.approx(wanted, abs=1e-12)
    if e == e_T == 1:
        assert found["energy.kinetic"] == pytest.approx((v**2 + 9 + J * w**2) / 2, rel=1e-14)


# -- components ------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("law", LAWS)
def test_components_take_both_laws(law: Law, coordinates: str) -> None:
    """A single body between stops, and a disk that falls, with Coulomb's friction: both laws are one there."""
    stop = TranslationalEndStop("stop", joint="slide", lower=-0.5, upper=0.3, e=0.5, impact_law=law)
    found = mbfmu.simulate(
        on_joint(Prismatic("slide", s=0.0, v=1.0), stop), 1.0, step=1e-2, coordinates=coordinates
    )  # fmt: skip
    assert found["slide.s"][-1] == pytest.approx(0.3 - 0.5 * 0.7, abs=1e-12)
    disk = System(
        "disk", planar=True,
        components=(
            World("world", g=9.81, n=(0, -1)), Planar("free", s_x=0.0, s_y=0.5, phi=0.0, v_x=1.0, v_y=0.0, w=0.0),
            Body("body", m=2.0, I_33=0.01), CircleOnLine("ground", radius=0.1, e=0.5, mu=0.02, impact_law=law),
        ),
        connections=(
            connect("world.frame_b", "free.frame_a"), connect("free.frame_b", "body.frame_a"),
            connect("world.frame_b", "ground.frame_a"), connect("body.frame_a", "ground.frame_b"),
        ),
    )  # fmt: skip
    found = mbfmu.simulate(
        disk, 0.4, step=1e-2, stepper="projected", options={"order": 9}, coordinates=coordinates
    )  # fmt: skip
    down = math.sqrt(2 * 9.81 * 0.4)
    assert found["free.v_x"][-1] == pytest.approx(1 - 0.02 * 1.5 * down, abs=1e-12)
    assert found["free.v_y"][-1] == pytest.approx(0.5 * down - 9.81 * (0.4 - down / 9.81), abs=1e-11)


def test_a_law_that_is_none_is_refused() -> None:
    with pytest.raises(ModelError, match="'c': impact_law is 'moreau'; take 'newton' or 'poisson'"):
        Contact("c", gap="x", impact_law="moreau")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="takes a gap with friction and Newton's law"):
        Contact("c", gap="x", slide="y", sliding="normal", tangential=0.5, impact_law="poisson")
    stop = TranslationalEndStop("stop", joint="slide", impact_law="moreau")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"'stop\.lower': impact_law is 'moreau'"):
        mbfmu.Simulation(on_joint(Prismatic("slide", s=0.0, v=1.0), stop))


# -- joints that rub -------------------------------------------------------------------------------------------------


def struck_from_above(v: float, law: Law) -> System:
    """A block of 3 kg that slides in a guide at v, and a ball of 1 kg that falls on it at 4 m/s."""
    return System(
        "struck", planar=True,
        components=(
            World("world", g=0.0), Prismatic("guide", n=(1, 0), s=0.0, v=v), Body("block", m=3.0, I_33=1.0),
            Planar("fly", s_x=0.0, s_y=0.5, phi=0.0, v_x=0.0, v_y=-4.0, w=0.0), Body("ball", m=1.0, I_33=1.0),
            PointOnPlane("top", e=0.5, impact_law=law), GuideFriction("rub", joint="guide", mu=0.2, mu_s=0.2),
        ),
        connections=(
            connect("world.frame_b", "guide.frame_a"), connect("guide.frame_b", "block.frame_a"),
            connect("world.frame_b", "fly.frame_a"), connect("fly.frame_b", "ball.frame_a"),
            connect("block.frame_a", "top.frame_a"), connect("ball.frame_a", "top.frame_b"),
        ),
    )  # fmt: skip


@both
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("v", "after"), [(2.0, 2.0 - 0.2 * 6 / 3), (-2.0, -2.0 + 0.2 * 6 / 3), (0.3, 0.0)])
def test_an_impact_across_a_guide_brakes_what_slides_in_it(law: Law, v: float, after: float, coordinates: str) -> None:
    """The impulse (1 + e) 4 N.s across the guide has mu times itself along it, unless less is enough to stop."""
    found = mbfmu.simulate(struck_from_above(v, law), 0.2, step=1e-2, coordinates=coordinates)
    assert found["events.time"][-1] == pytest.approx(0.125, abs=1e-12)
    assert found["fly.v_y"][-1] == pytest.approx(2.0, abs=1e-12)
    assert found["guide.v"][-1] == pytest.approx(after, abs=1e-12)


@both
@pytest.mark.parametrize("mu", [0.0, 0.3])
def test_an_impact_on_a_rod_is_braked_in_its_bearing(mu: float, coordinates: str) -> None:
    """A rod that turns about its end meets a ball at rest, nearer to the bearing than its centre of percussion is.

    With the inertia J_o, the mass centre at l and the ball at D, the rates after follow from P = m_b D (w + e w_0) and
    (J_o + mu r m l)(w - w_0) = -P (D + mu r), as the bearing takes the impulse P + m l (w - w_0) > 0.
    """
    m, m_b, J_c, half, D, e, w_0, r = 2.0, 0.7, 0.2, 0.5, 0.5, 0.4, 1.5, 0.1
    system = System(
        "rod", planar=True,
        components=(
            World("world", g=0.0), Revolute("hinge", phi=0.0, w=w_0), Body("rod", m=m, I_33=J_c, r_CM=(half, 0)),
            Planar("fly", s_x=D, s_y=0.0, phi=0.0, v_x=0.0, v_y=0.0, w=0.0), Body("ball", m=m_b, I_33=1.0),
            PointOnPlane("face", e=e), BearingFriction("rub", joint="hinge", radius=r, mu=mu, mu_s=mu),
        ),
        connections=(
            connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", "rod.frame_a"),
            connect("world.frame_b", "fly.frame_a"), connect("fly.frame_b", "ball.frame_a"),
            connect("rod.frame_a", "face.frame_a"), connect("ball.frame_a", "face.frame_b"),
        ),
    )  # fmt: skip
    J_o, arm = J_c + m * half**2 + mu * r * m * half, m_b * D * (D + mu * r)
    w = (J_o * w_0 - arm * e * w_0) / (J_o + arm)
    assert m_b * D * (w + e * w_0) + m * half * (w - w_0) > 0
    prepared = prepare(system, "projected", {}, 1e-2, coordinates=coordinates)
    y = struck(prepared, {})
    assert (y["hinge.w"], y["fly.v_y"]) == pytest.approx((w, D * (w + e * w_0)), abs=1e-11)

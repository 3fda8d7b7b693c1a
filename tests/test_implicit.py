"""The implicit families beyond the suite for all: lobatto, radau, generalized_alpha, gauss with its forms."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from itertools import product
from typing import Any
from unittest import mock

import casadi as ca
import numpy as np
import pytest
from conftest import REFERENCES
from harness import Array, Run, run, thorough
from mechanisms import slider_crank, spatial_pendulum
from scipy.integrate import solve_ivp

import mbfmu
from mbfmu.errors import StepperError
from mbfmu.kernel import load, vector
from mbfmu.kernel.runtime import OK
from mbfmu.model import (
    Body,
    BodyShape,
    Coordinate,
    Force,
    FreeMotion,
    Joint,
    LagrangianSystem,
    Model,
    Revolute,
    RotationalSpring,
    Spring,
    System,
    World,
    connect,
)
from mbfmu.model.frame import SX, Frame, Pose
from mbfmu.prepared.prepare import Prepared
from mbfmu.prepared.prepare import prepare as prepare_in
from mbfmu.stepper import FAMILIES
from mbfmu.stepper.tableaus import collocation, gauss_tableau, lobatto_tableaus, radau_tableau


def prepare(model: Model, *arguments: Any) -> Prepared:
    """In absolute coordinates: these laws are about constraints."""
    return prepare_in(model, *arguments, coordinates="absolute" if isinstance(model, System) else None)


Scheme = tuple[str, dict[str, Any]]

SYMMETRIC: dict[str, Scheme] = {
    **{f"lobatto-{s}": ("lobatto", {"stages": s}) for s in (2, 3, 4)},
    **{f"gauss-{s}": ("gauss", {"stages": s, "projection": "symmetric"}) for s in (1, 2, 3, 4)},
    "gauss-velocity": ("gauss", {"stages": 2, "projection": "symmetric", "form": "velocity"}),
}
ANY_MODEL: dict[str, Scheme] = {
    **{f"radau-{s}": ("radau", {"stages": s}) for s in (1, 2, 3)},
    **{f"alpha-{index}": ("generalized_alpha", {"index": index}) for index in (2, 3)},
}
"""Those that take nonholonomic constraints too."""
IMPLICIT = {**SYMMETRIC, **ANY_MODEL}


def bead() -> LagrangianSystem:
    """A bead on an upright wire in polar coordinates: the mass matrix depends on the coordinates."""
    return LagrangianSystem(
        name="bead",
        coordinates=(Coordinate("r", "m", 1.0, math.tan(0.3)), Coordinate("phi", "rad", 0.3, 1.0)),
        kinetic="der(r)**2/2 + r**2*der(phi)**2/2",
        potential="9.81*r*sin(phi) + 3*phi**2",
        position=("r*cos(phi) - cos(0.3)",),
    )


PROBLEMS = {
    "two_link": lambda: mbfmu.load("two_link"),
    "slider_crank": slider_crank,
    "pendulum": spatial_pendulum,
    "bead": bead,
}


FEW = {("slider_crank", "lobatto-2"), ("slider_crank", "alpha-2"), ("pendulum", "gauss-2"), ("bead", "radau-2")}
"""One of each family on a mechanism other than the arm."""


def represents(problem: str, scheme: str) -> bool:
    """All schemes on the arm, and some on the others."""
    return problem == "two_link" or (problem, scheme) in FEW


@cache
def on(problem: str, scheme: str) -> Prepared:
    """A problem with an implicit scheme, made once."""
    return prepare(PROBLEMS[problem](), *IMPLICIT[scheme], 1e-3)


def at_rest(this: Prepared) -> Any:
    """No inputs."""
    return vector([0.0] * len(this.dae.inputs))


def trace(this: Prepared, output: str, stop: float, h: float, every: float) -> Array:
    """Return the values of an output every so many seconds."""
    index = [item.name for item in this.dae.outputs].index(output)
    p, held, x = vector(this.dae.p_default()), at_rest(this), this.initial_state()
    values = []
    for k in range(round(stop / every)):
        x, status = this.kernel.advance(x, held, held, p, k * every, h, round(every / h))
        assert status.code == OK, status
        values.append(this.kernel.outputs(x, held, p, (k + 1) * every)[index])
    return np.array(values)


def orders(this: Prepared, q: Array, v: Array, stop: float, counts: Sequence[int], floor: float) -> tuple[float, float]:
    """Return the orders of q and v from the finest pair of steps, halved each, whose errors are above a floor."""
    ends = [run(this, stop, stop / n) for n in counts]
    found = []
    for exact, errors in ((q, [end.q for end in ends]), (v, [end.v for end in ends])):
        size = [float(np.max(np.abs(item - exact))) for item in errors]
        last = max(i for i in range(1, len(size)) if size[i] > floor)
        found.append(float(np.log2(size[last - 1] / size[last])))
    return found[0], found[1]


# coefficients


@pytest.mark.parametrize("s", [1, 2, 3, 4])
def test_radau_tableau_satisfies_the_simplifying_assumptions(s: int) -> None:
    A, b, c = radau_tableau(s)
    for k in range(1, 2 * s):
        assert b @ c ** (k - 1) == pytest.approx(1 / k, abs=1e-14)  # B(2 s - 1)
    for k in range(1, s + 1):
        assert A @ c ** (k - 1) == pytest.approx(c**k / k, abs=1e-14)  # C(s)
    for k in range(1, s):
        assert (b * c ** (k - 1)) @ A == pytest.approx(b * (1 - c**k) / k, abs=1e-14)  # D(s - 1)
    assert c[-1] == 1.0
    assert A[-1] == pytest.approx(b, abs=0)


@pytest.mark.parametrize("s", [2, 3, 4, 5])
def test_lobatto_tableaus_satisfy_the_simplifying_assumptions_and_are_a_symplectic_symmetric_pair(s: int) -> None:
    A, Ahat, b, c = lobatto_tableaus(s)
    for k in range(1, 2 * s - 1):
        assert b @ c ** (k - 1) == pytest.approx(1 / k, abs=1e-13)  # B(2 s - 2)
    for k in range(1, s + 1):
        assert A @ c ** (k - 1) == pytest.approx(c**k / k, abs=1e-13)  # IIIA: C(s)
        assert (b * c ** (k - 1)) @ Ahat == pytest.approx(b * (1 - c**k) / k, abs=1e-13)  # IIIB: D(s)
    for k in range(1, s - 1):
        assert (b * c ** (k - 1)) @ A == pytest.approx(b * (1 - c**k) / k, abs=1e-13)  # IIIA: D(s - 2)
        assert Ahat @ c ** (k - 1) == pytest.approx(c**k / k, abs=1e-13)  # IIIB: C(s - 2)
    pairing = b[:, None] * Ahat + (b[:, None] * A).T
    assert pairing == pytest.approx(np.outer(b, b), abs=1e-14)
    for a in (A, Ahat):
        assert a[::-1, ::-1] + a == pytest.approx(np.tile(b, (s, 1)), abs=1e-13)


@pytest.mark.parametrize("s", [1, 2, 3, 4])
def test_gauss_tableau_is_symplectic_symmetric_and_satisfies_the_simplifying_assumptions(s: int) -> None:
    A, b, c = gauss_tableau(s)
    for k in range(1, 2 * s + 1):
        assert b @ c ** (k - 1) == pytest.approx(1 / k, abs=1e-14)
    for k in range(1, s + 1):
        assert A @ c ** (k - 1) == pytest.approx(c**k / k, abs=1e-14)
        assert (b * c ** (k - 1)) @ A == pytest.approx(b * (1 - c**k) / k, abs=1e-14)
    assert b[:, None] * A + (b[:, None] * A).T == pytest.approx(np.outer(b, b), abs=1e-14)
    assert A[::-1, ::-1] + A == pytest.approx(np.tile(b, (s, 1)), abs=1e-14)
    assert collocation(c)[1] == pytest.approx(b, abs=1e-14)


# order, constraints, work: every number of stages


@cache
def fine(problem: str, stop: float = 0.4) -> Run:
    """The solution by `direct` with steps so short that round-off is what is left, 1e-14 to 1e-13."""
    return run(prepare(PROBLEMS[problem](), "direct", {}, 1e-3), stop, 1e-4)


@pytest.mark.parametrize(
    ("problem", "scheme"), thorough(product(PROBLEMS, [name for name in IMPLICIT if name != "gauss-4"]), represents)
)
def test_every_number_of_stages_has_its_order(problem: str, scheme: str) -> None:
    this, exact = on(problem, scheme), fine(problem)
    found = orders(this, exact.q, exact.v, 0.4, (8, 16, 32, 64, 128), 2e-13)  # ten times the round-off of `fine`
    assert found == pytest.approx((this.scheme.order,) * 2, abs=0.15)


def test_four_stages_of_gauss_with_symmetric_projection_have_order_8() -> None:
    """Over a longer span: at 0.4 s round-off comes first."""
    this, exact = on("pendulum", "gauss-4"), fine("pendulum", 1.5)
    assert orders(this, exact.q, exact.v, 1.5, (8, 16, 32), 2e-12) == pytest.approx((8, 8), abs=0.15)


def corrections(scheme: str) -> float:
    """Return the corrections of a step at most: more for `radau`, which linearises once a step."""
    return 10.0 if scheme.startswith("radau") else 3.5


@pytest.mark.parametrize(("problem", "scheme"), thorough(product(PROBLEMS, IMPLICIT), represents))
def test_every_number_of_stages_meets_its_constraints_with_little_work(problem: str, scheme: str) -> None:
    this = on(problem, scheme)
    end = run(this, 2.0, 0.005)
    for level in this.scheme.exact:
        assert end.y[f"constraint.{level}"] < 2e-13
    assert end.status.iterations / end.status.substeps < corrections(scheme)


@pytest.mark.parametrize("scheme", ["lobatto-3", "gauss-2", "radau-2", "alpha-2"])
def test_an_input_that_changes_within_the_step_costs_no_order(scheme: str) -> None:
    def ends(this: Prepared, n: int) -> Array:
        p, start, slope = vector(this.dae.p_default()), at_rest(this), vector([5.0, -3.0])
        x, status = this.kernel.advance(this.initial_state(), start, slope, p, 0.0, 0.4 / n, n)
        assert status.code == OK
        return np.array(x)[: this.dae.n]

    exact = ends(prepare(PROBLEMS["two_link"](), "direct", {}, 1e-3), 4000)
    errors = [float(np.max(np.abs(ends(on("two_link", scheme), n) - exact))) for n in (20, 40)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(on("two_link", scheme).scheme.order, abs=0.15)


@pytest.mark.parametrize("scheme", thorough(zip(IMPLICIT), lambda scheme: scheme in [*IMPLICIT][::3]))
def test_a_body_without_constraints_is_integrated_too(scheme: str) -> None:
    hung = System(
        name="hung",
        planar=True,
        components=(
            World(g=9.81),
            FreeMotion("free", r_rel=(0.5, -0.2), v_rel=(0.3, 0.1), phi=0.4, w=2.0),
            Body("body", m=1.0, r_CM=(0.1, 0.2), I_33=0.3),
            Spring("spring", c=20.0, s_unstretched=0.1),
        ),
        connections=(
            connect("world.frame_b", "free.frame_a"),
            connect("free.frame_b", "body.frame_a"),
            connect("world.frame_b", "spring.frame_a"),
            connect("spring.frame_b", "body.frame_a"),
        ),
    )
    this = prepare(hung, *IMPLICIT[scheme], 1e-3)
    assert this.dae.m == this.dae.k == 0
    exact = run(prepare(hung, "direct", {}, 1e-3), 0.5, 1e-4)
    ends = [run(this, 0.5, h) for h in (0.02, 0.01)]
    errors = [float(np.max(np.abs(end.q - exact.q))) for end in ends]
    assert errors[1] < max(errors[0] / 2 ** (this.scheme.order - 0.3), 1e-11)
    assert errors[1] < 0.1


# lobatto


@pytest.mark.parametrize("problem", PROBLEMS)
def test_lobatto_with_two_stages_is_rattle(problem: str) -> None:
    this, other = on(problem, "lobatto-2"), prepare(PROBLEMS[problem](), "rattle", {}, 1e-3)
    x = y = None
    for _ in range(10):
        a, b = run(this, 0.1, 0.01, x=x), run(other, 0.1, 0.01, x=y)
        x, y = a.x, b.x
        assert a.q == pytest.approx(b.q, abs=1e-11)
        assert a.v == pytest.approx(b.v, abs=1e-10)


@pytest.mark.parametrize(("problem", "scheme"), thorough(product(PROBLEMS, SYMMETRIC), represents))
def test_symmetric_methods_are_time_reversible(problem: str, scheme: str) -> None:
    this = on(problem, scheme)
    begin = np.array(this.initial_state())[: this.scheme.step.x.numel()]
    q0, v0, _ = this.scheme.read(begin, this.dae.p_default(), 0.0)
    back = run(this, -0.5, -0.01, x=run(this, 0.5, 0.01).x)
    assert back.q == pytest.approx(np.array(q0).ravel(), abs=1e-11)
    assert back.v == pytest.approx(np.array(v0).ravel(), abs=1e-10)


@pytest.mark.parametrize("scheme", ["radau-2", "alpha-2"])
def test_damping_methods_are_not_time_reversible(scheme: str) -> None:
    this = on("two_link", scheme)
    q0 = np.array(this.initial_state())[: this.dae.n]
    assert np.max(np.abs(run(this, -0.5, -0.01, x=run(this, 0.5, 0.01).x).q - q0)) > 1e-7


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "swing"), [("lobatto-3", 1e-5), ("lobatto-4", 1e-8), ("gauss-3", 1e-8)])
def test_energy_error_of_symmetric_methods_stays_bounded_without_drift(scheme: str, swing: float) -> None:
    energy = trace(on("two_link", scheme), "energy.total", 100.0, 0.01, 0.1)
    assert np.max(np.abs(energy)) < swing
    assert abs(energy[:200].mean() - energy[-200:].mean()) < 0.1 * np.max(np.abs(energy))


@pytest.mark.slow
def test_radau_loses_energy_slowly_and_never_gains_any() -> None:
    windows = trace(on("two_link", "radau-3"), "energy.total", 100.0, 0.01, 0.1).reshape(10, 100).mean(axis=1)
    assert np.all(np.diff(windows) < 0)
    assert -1e-4 < windows[-1] < -1e-6


@pytest.mark.slow
def test_energy_error_of_generalized_alpha_stays_bounded() -> None:
    assert np.max(np.abs(trace(on("two_link", "alpha-2"), "energy.total", 100.0, 0.01, 0.1))) < 0.1


# references


@pytest.mark.parametrize(
    ("name", "options", "close"),
    [
        ("gauss", {"stages": 3, "projection": "symmetric"}, 1e-7),
        ("gauss", {"stages": 4, "projection": "symmetric"}, 1e-9),
        ("lobatto", {"stages": 3}, 2e-5),
        ("lobatto", {"stages": 4}, 1e-6),
        ("radau", {"stages": 3}, 1e-3),
    ],
)
def test_angles_of_the_sqrt_3_arm_agree_with_the_reference_over_5_s(
    name: str, options: dict[str, Any], close: float
) -> None:
    reference = json.loads((REFERENCES / "two_link_sqrt3.json").read_text(encoding="utf-8"))
    values = {key: float(value) for key, value in reference["parameters"].items()}
    this = prepare(mbfmu.load("two_link").with_values(values), name, options, 5e-3)
    for link in ("link1.phi", "link2.phi"):
        exact = np.array(reference[link], dtype=float)
        assert exact[0] == pytest.approx(values["shoulder.phi"] + (link == "link2.phi") * values["elbow.phi"])
        assert trace(this, link, 5.0, 5e-3, 0.5) == pytest.approx(exact[1:], abs=close)


# stiff forces


def stiff_arm(elbow: float) -> System:
    """The two-link arm with a spring of 1e7 N.m/rad at the elbow, bent at the start."""
    arm = mbfmu.load("two_link").with_values({"elbow.phi": elbow})
    assert isinstance(arm, System)
    return replace(arm, components=(*arm.components, RotationalSpring("coil", joint="elbow", c=1e7)))


@pytest.mark.parametrize("scheme", ["radau-2", "radau-3", "alpha-2", "alpha-3"])
@pytest.mark.parametrize("elbow", [0.0, 1e-4])
def test_a_spring_a_thousand_times_too_stiff_for_the_step_does_no_harm(scheme: str, elbow: float) -> None:
    """The elbow is as good as locked: the arm swings like one bar of both links."""
    this = prepare(stiff_arm(elbow), *IMPLICIT[scheme], 0.01)
    bent = trace(this, "elbow.phi", 10.0, 0.01, 0.1)
    assert np.max(np.abs(bent)) < 1.2 * max(elbow, 5e-7)
    assert np.max(np.abs(bent[-10:])) < 3e-7  # torque / stiffness: what shook has died out

    def bar(_: float, y: Array) -> Array:
        inertia = 1 / 3 + 1 / 3 + 4.0  # link 1, link 2 about its centre, 1 kg at 2 m
        return np.array([y[1], -9.8 * (0.5 + 2.0) * math.cos(y[0]) / inertia])

    exact = solve_ivp(bar, (0, 2), [0, 0], method="DOP853", rtol=1e-11, atol=1e-12, t_eval=np.arange(1, 21) / 10)
    found = trace(this, "shoulder.phi", 2.0, 0.01, 0.1)
    assert found == pytest.approx(exact.y[0], abs=1e-3 if scheme.startswith("radau") else 5e-3)


@pytest.mark.parametrize("scheme", ["radau-2", "radau-3", "alpha-2", "alpha-3"])
def test_stiff_forces_cost_no_more_work(scheme: str) -> None:
    this = prepare(stiff_arm(1e-4), *IMPLICIT[scheme], 0.01)
    status = run(this, 10.0, 0.01).status
    assert status.substeps == 1000
    assert status.iterations < corrections(scheme) * status.substeps


# nonholonomic constraints


@dataclass(frozen=True)
class KnifeEdge(Joint):
    """The origin of frame_b does not slip along the y axis of frame_b (planar)."""

    def velocity(self, p: Any, a: Frame, b: Frame) -> SX:
        return ca.dot(b.R @ ca.SX([0, 1]), b.v_0 - a.v_0)


def skate(trailer: bool = False) -> System:
    """Gao's skate on a slope, from rest with a spin of 1 rad/s; alone, or drawing a bar on a hinge."""
    components: list[Any] = [
        World(g=1.0, n=(1, 0)),
        FreeMotion("free", r_rel=(0, 0), v_rel=(0, 0), phi=0.0, w=1.0),
        KnifeEdge("blade"),
        Body("body", m=1.0, I_33=1.0),
    ]
    connections = [
        connect("world.frame_b", "free.frame_a"),
        connect("free.frame_b", "body.frame_a"),
        connect("world.frame_b", "blade.frame_a"),
        connect("blade.frame_b", "body.frame_a"),
    ]
    if trailer:
        components += [
            Revolute("hitch", phi=-2.0, w=0.5),
            BodyShape("bar", m=0.5, r=(0.6, 0), r_CM=(0.3, 0.1), I_33=0.02),
        ]
        connections += [connect("body.frame_a", "hitch.frame_a"), connect("hitch.frame_b", "bar.frame_a")]
    return System("skate", tuple(components), tuple(connections), planar=True)


@pytest.mark.parametrize("scheme", ANY_MODEL)
def test_a_skate_on_a_slope_follows_its_cycloid(scheme: str) -> None:
    """x = sin^2(t)/2, y = t/2 - sin(2 t)/4, phi = t (Gao et al., the skate with w = 1)."""
    this = prepare(skate(), *ANY_MODEL[scheme], 0.01)
    q = np.array([math.sin(3.0) ** 2 / 2, 1.5 - math.sin(6.0) / 4, 3.0])
    v = np.array([math.sin(6.0) / 2, (1 - math.cos(6.0)) / 2, 1.0])
    assert orders(this, q, v, 3.0, (30, 60, 120), 1e-12) == pytest.approx((this.scheme.order,) * 2, abs=0.15)
    assert run(this, 3.0, 0.01).y["constraint.velocity"] < 2e-13


@pytest.mark.parametrize("scheme", ANY_MODEL)
def test_holonomic_and_nonholonomic_constraints_hold_together(scheme: str) -> None:
    this = prepare(skate(trailer=True), *ANY_MODEL[scheme], 0.01)
    assert (this.dae.m, this.dae.k) == (2, 1)
    exact = run(prepare(skate(trailer=True), "direct", {}, 1e-3), 1.0, 2e-4)
    found = orders(this, exact.q, exact.v, 1.0, (25, 50, 100), 1e-11)
    assert found == pytest.approx((this.scheme.order,) * 2, abs=0.15)
    end = run(this, 5.0, 0.01)
    for level in this.scheme.exact:
        assert end.y[f"constraint.{level}"] < 2e-13


@pytest.mark.parametrize("scheme", SYMMETRIC)
def test_symmetric_methods_refuse_a_skate(scheme: str) -> None:
    with pytest.raises(StepperError, match="takes holonomic constraints only"):
        prepare(skate(), *SYMMETRIC[scheme], 0.01)


# constraints that move


@dataclass(frozen=True)
class Shaker(Revolute):
    """A planar revolute whose pivot moves along y of frame_a as `amplitude` sin(`omega` time)."""

    amplitude: float = 0.3
    omega: float = 5.0

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        return super().position(p, a, b) - ca.vertcat(0, self.amplitude * ca.sin(self.omega * p.time))

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        return Pose(ca.vertcat(0, self.amplitude * ca.sin(self.omega * p.time)), coordinates["phi"])


def shaken() -> System:
    """A rod on a pivot that is shaken up and down: m = 1, centre of mass at 0.5 m, I = 0.1."""
    return System(
        name="shaken",
        planar=True,
        components=(World(g=9.81), Shaker("pivot", phi=0.0, w=0.0), Body("rod", m=1.0, r_CM=(0.5, 0), I_33=0.1)),
        connections=(connect("world.frame_b", "pivot.frame_a"), connect("pivot.frame_b", "rod.frame_a")),
    )


@cache
def shaken_motion(stop: float) -> tuple[Array, Array]:
    """Return q = (x, y, phi) of the centre of mass and v, from the pendulum's own equation

    (I + m r^2) phi'' = -m r cos(phi) (g - A omega^2 sin(omega t)).
    """
    A, omega, r, g = 0.3, 5.0, 0.5, 9.81

    def rate(t: float, y: Array) -> Array:
        return np.array([y[1], -r * math.cos(y[0]) * (g - A * omega**2 * math.sin(omega * t)) / (0.1 + r**2)])

    end = solve_ivp(rate, (0, stop), [0, 0], method="DOP853", rtol=1e-13, atol=1e-14)
    phi, w = end.y[:, -1]
    q = np.array([r * math.cos(phi), A * math.sin(omega * stop) + r * math.sin(phi), phi])
    v = np.array([-r * w * math.sin(phi), A * omega * math.cos(omega * stop) + r * w * math.cos(phi), w])
    return q, v


@pytest.mark.parametrize("scheme", thorough(zip([*FAMILIES, *IMPLICIT]), lambda scheme: scheme in FAMILIES))
def test_a_rod_on_a_shaken_pivot_follows_its_exact_motion(scheme: str) -> None:
    """Every family, with its defaults, and every scheme of this file."""
    name, options = IMPLICIT.get(scheme, (scheme, {}))
    this = prepare(shaken(), name, options, 0.01)
    q, v = shaken_motion(1.0)
    ends = [run(this, 1.0, h) for h in (0.01, 0.005)]
    for exact, found in ((q, [end.q for end in ends]), (v, [end.v for end in ends])):
        errors = [float(np.max(np.abs(item - exact))) for item in found]
        assert errors[0] < 50 * 0.01**this.scheme.order + 1e-6
        assert errors[1] < max(errors[0] / 2 ** (this.scheme.order - 0.3), 1e-11)
    for level in this.scheme.exact:
        assert ends[0].y[f"constraint.{level}"] < 1e-12


# generalized_alpha


@pytest.mark.parametrize("rho", [0.0, 0.5, 1.0])
def test_generalized_alpha_has_order_2_whatever_its_damping(rho: float) -> None:
    this = prepare(PROBLEMS["two_link"](), "generalized_alpha", {"rho": rho}, 1e-3)
    exact = fine("two_link")
    assert orders(this, exact.q, exact.v, 0.4, (40, 80, 160), 1e-11) == pytest.approx((2, 2), abs=0.15)


def test_generalized_alpha_without_damping_is_refused_at_index_3() -> None:
    with pytest.raises(StepperError, match=r"rho=1 is unstable with index=3: take index=2, or rho < 1"):
        prepare(PROBLEMS["two_link"](), "generalized_alpha", {"rho": 1, "index": 3}, 1e-3)
    with pytest.raises(StepperError, match=r"rho=1\.5 is not allowed; allowed: 0\.\.1"):
        prepare(PROBLEMS["two_link"](), "generalized_alpha", {"rho": 1.5}, 1e-3)


@pytest.mark.parametrize(("index", "order", "small"), [(2, 2, 1e-4), (3, 1, 0.1)])
def test_multipliers_of_generalized_alpha_after_one_step(index: int, order: int, small: float) -> None:
    """The start leaves nothing to settle at index 2; at index 3 lambda, and nothing else, begins with an error O(h)."""
    moving = mbfmu.load("two_link").with_values(
        {"shoulder.phi": 0.5, "shoulder.w": 1.0, "elbow.phi": 0.7, "elbow.w": -2.0}
    )
    this, other = prepare(moving, "generalized_alpha", {"index": index}, 1e-3), prepare(moving, "direct", {}, 1e-3)
    n, m, p = this.dae.n, this.dae.m, this.dae.p_default()
    errors = []
    for h in (0.002, 0.001):
        exact = run(other, h, h / 8)
        lambda_ = np.array(this.dae.acceleration(exact.q, exact.v, [], [0.0, 0.0], p, h)[1]).ravel()
        end = run(this, h, h)
        errors.append(float(np.max(np.abs(np.array(end.x)[4 * n : 4 * n + m] - lambda_))))
        assert np.max(np.abs(end.q - exact.q)) < h**3
        assert np.max(np.abs(end.v - exact.v)) < 10 * h**2
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.1)
    assert errors[1] < small


@pytest.mark.parametrize("scheme", [name for name in ANY_MODEL if name != "alpha-3"])
def test_a_change_of_step_costs_no_order(scheme: str) -> None:
    """Steps in turn h and h/3: what generalized_alpha carries on is rescaled."""
    this, exact = on("two_link", scheme), fine("two_link")
    p, held = vector(this.dae.p_default()), at_rest(this)
    errors = []
    for n in (15, 30):
        x, t, h = this.initial_state(), 0.0, 0.3 / n
        for k in range(2 * n):
            step = h / 3 if k % 2 else h
            x, status = this.kernel.advance(x, held, held, p, t, step, 1)
            assert status.code == OK
            t += step
        errors.append(float(np.max(np.abs(np.array(x)[this.dae.n : 2 * this.dae.n] - exact.v))))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(this.scheme.order, abs=0.2)


# gauss on one rigid body: the two forms of the paper

MGL = 0.98
"""m g L of the paper's heavy body, N.m."""


@dataclass(frozen=True)
class Weight(Force):
    """The weight of a body held at a point of its axis: V = m g L cos(tilt)."""

    def potential(self, p: Any, a: Frame, b: Frame) -> SX:
        return MGL * b.R[2, 2]


def tilted_body(w: tuple[float, float, float], heavy: bool) -> System:
    """Lu & Ren's body: J = (2, 1.5, 1), tilted by 30 degrees about y, angular velocity w resolved in the body."""
    c, s = math.cos(math.pi / 12), math.sin(math.pi / 12)
    turned = (
        math.cos(math.pi / 6) * w[0] + math.sin(math.pi / 6) * w[2],
        w[1],
        -math.sin(math.pi / 6) * w[0] + math.cos(math.pi / 6) * w[2],
    )
    return System(
        name="tilted_body",
        components=(
            World(g=0.0),
            FreeMotion("free", r_rel=(0, 0, 0), v_rel=(0, 0, 0), Q_rel=(c, 0, s, 0), w_rel=turned),
            Body("body", m=1.0, I_11=2.0, I_22=1.5, I_33=1.0),
            *([Weight("weight")] if heavy else []),
        ),
        connections=(
            connect("world.frame_b", "free.frame_a"),
            connect("free.frame_b", "body.frame_a"),
            *([connect("world.frame_b", "weight.frame_a")] if heavy else []),
            *([connect("weight.frame_b", "body.frame_a")] if heavy else []),
        ),
    )


def energy_and_spatial_momentum(this: Prepared, x: Any, heavy: bool) -> tuple[float, Array]:
    """Return the paper's E (not normalised) and H = E(Q) p / 2 of a state of the method."""
    n = this.dae.n
    Q, rate = np.array(x)[3:7], np.array(x)[n + 3 : n + 7]
    G = np.array([[-Q[1], Q[0], Q[3], -Q[2]], [-Q[2], -Q[3], Q[0], Q[1]], [-Q[3], Q[2], -Q[1], Q[0]]])
    E = np.array([[-Q[1], Q[0], -Q[3], Q[2]], [-Q[2], Q[3], Q[0], -Q[1]], [-Q[3], -Q[2], Q[1], Q[0]]])
    J = np.diag([2.0, 1.5, 1.0])
    momentum = this.scheme.options["form"] == "momentum"
    w = np.linalg.solve(J, G @ rate / 2) if momentum else 2 * G @ rate
    p = rate if momentum else 4 * G.T @ J @ G @ rate
    V = MGL * (Q[0] ** 2 - Q[1] ** 2 - Q[2] ** 2 + Q[3] ** 2) if heavy else 0.0
    return float(w @ J @ w / 2 + V), E @ p / 2


def turning(form: str, heavy: bool, h: float, steps: int) -> tuple[Array, Array]:
    """Return E and H after each step, as long as there is a solution."""
    this = prepare(tilted_body((0.0, 0.0, 1.0) if heavy else (0.0, 1.5, 2.0), heavy), "gauss", {"form": form}, h)
    x, p, still = this.initial_state(), vector(this.dae.p_default()), vector([])
    found = [energy_and_spatial_momentum(this, x, heavy)]
    for k in range(steps):
        x, status = this.kernel.advance(x, still, still, p, k * h, h, 1)
        if status.code != OK:
            break
        found.append(energy_and_spatial_momentum(this, x, heavy))
    energy, spatial = zip(*found, strict=True)
    return np.array(energy), np.array(spatial)


@pytest.mark.parametrize(("heavy", "swing"), [(False, 1e-4), (True, 0.2)])
def test_momentum_form_turns_a_body_1000_s_in_steps_of_1_s(heavy: bool, swing: float) -> None:
    """Lu & Ren, cases 2 and 3: the energy is bounded and what is conserved of H is so to round-off."""
    energy, spatial = turning("momentum", heavy, 1.0, 1000)
    assert len(energy) == 1001
    assert np.max(np.abs(energy / energy[0] - 1)) < swing
    if heavy:
        assert energy[0] == pytest.approx(1.34870489570875, abs=1e-13)
        assert spatial[0, 2] == pytest.approx(0.866025403784439, abs=1e-14)
        spatial = spatial[:, 2:]
    else:
        assert spatial[0] == pytest.approx([1, 2.25, 1.73205080756888], abs=1e-13)
    assert np.max(np.abs(spatial - spatial[0])) < 2e-12


@pytest.mark.parametrize(("heavy", "tenth", "whole"), [(False, 3, 5), (True, 9, 13)])
def test_velocity_form_fails_on_the_same_body_within_a_few_steps(heavy: bool, tenth: int, whole: int) -> None:
    energy, _ = turning("velocity", heavy, 1.0, 20)
    error = np.abs(energy / energy[0] - 1)
    assert int(np.argmax(error > 0.1)) == tenth
    assert int(np.argmax(error > 1.0)) == whole


@pytest.mark.parametrize("h", [0.02, 0.01])
@pytest.mark.parametrize("speed", [1.0, 2.0])
def test_velocity_form_leaves_the_unit_sphere_exponentially_whatever_the_step(h: float, speed: float) -> None:
    """Rate sqrt(6/5) |Qdot|, |Qdot| = |w| / 2: the double eigenvalue -1 coupled by the curvature of the sphere."""
    left = {}
    for form in ("velocity", "momentum"):
        this = prepare(tilted_body((0.0, 1.5 * speed, 2.0 * speed), False), "gauss", {"form": form}, h)
        ends = [np.array(run(this, t, h).x)[3:7] for t in (4 / speed, 8 / speed)]
        left[form] = [abs(Q @ Q - 1) for Q in ends]
    rate = math.log(left["velocity"][1] / left["velocity"][0]) / (4 / speed)
    assert rate == pytest.approx(math.sqrt(6 / 5) * 2.5 * speed / 2, rel=0.04)
    assert max(left["momentum"]) < 1e-3 * left["velocity"][1]


def test_symmetric_projection_keeps_the_unit_sphere_and_its_order_on_the_rigid_body() -> None:
    for form in ("momentum", "velocity"):
        options = {"stages": 2, "form": form, "projection": "symmetric"}
        this = prepare(tilted_body((0.0, 1.5, 2.0), False), "gauss", options, 0.1)
        assert run(this, 10.0, 0.1).y["constraint.position"] < 1e-14
        exact = run(prepare(tilted_body((0.0, 1.5, 2.0), False), "direct", {}, 1e-3), 2.0, 2e-4)
        assert orders(this, exact.q, exact.v, 2.0, (20, 40, 80), 1e-10) == pytest.approx((4, 4), abs=0.15)


@pytest.mark.parametrize(
    ("model", "index"), [("excavator", 2), ("excavator", 3), ("robot_arm_drives", 2)], ids=lambda value: str(value)
)
def test_generalized_alpha_linearised_once_a_step_takes_the_steps_of_newtons_method(model: str, index: int) -> None:
    ends = []
    for longest in (0, math.inf):  # the number of operations from which on it linearises once
        with mock.patch.object(import_module("mbfmu.stepper.generalized_alpha"), "LONG", longest):
            prepared = prepare_in(mbfmu.load(model), "generalized_alpha", {"index": index}, 1e-3)
            assert bool(prepared.bundle.formulas["step"].decoupled) == (longest == 0)
        dae, kernel = prepared.dae, load(prepared.bundle)
        s, u, p = (vector(values) for values in (dae.s_default(), dae.u_default(), dae.p_default()))
        x, _ = kernel.initialize(s, u, p, 0.0, 1e-3)
        x, status = kernel.advance(x, u, vector(0 * dae.u_default()), p, 0.0, 1e-3, 20)
        assert status.code == OK
        ends.append(np.array(x)[: 2 * dae.n + dae.n_z] / np.r_[np.ones(2 * dae.n), dae.nominal_states])
    np.testing.assert_allclose(*ends, rtol=1e-10, atol=1e-10)

"""One suite for all steppers: order, constraints, invariants, symmetry, iterates."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest
from harness import DEFAULTS, ENDS, SCHEMES, Array, Run, arm, label, named, on_arm, run, thorough
from mechanisms import free_body, oscillator, slider_crank, spatial_pendulum

import mbfmu
from mbfmu.dae import absolute
from mbfmu.errors import StepperError, UnknownNameError
from mbfmu.model import Coordinate, LagrangianSystem, Parameter, System
from mbfmu.prepared.prepare import Prepared, prepare
from mbfmu.stepper import FAMILIES, make_scheme
from mbfmu.stepper.gauss import gauss_tableau

Scheme = tuple[str, Mapping[str, Any]]
HIGH = [scheme for scheme in SCHEMES if on_arm("absolute", scheme).order > 4]
EXACT = [scheme for scheme in SCHEMES if on_arm("absolute", scheme).exact]
WORK = {"local": 9.0, "partition": 10.0, "moreau": 20.0, "rattle-simplified": 10.0, "radau": 8.0}
"""Corrections a step at most, where a fixed point, one linearisation a step or several solves take more than Newton's
3.5."""
ROUND_OFF = {"block": 5e-11}
"""Residuals, where rates are differences of coordinates over h, and so is their round-off."""
WINDOW = {"block-5-equidistant-2": 0.7, "projected-9": 0.45}
"""Of the measured order: order 9 of `block` comes to 8.7 (12 to 24 steps) before round-off, amplified by the history,
hides it; on linear equations Verner's leading error is 2 % of a Taylor series', so that those of order 10 show: it
falls from 10.0 (7 to 14 steps) to 9.41 (14 to 28) and 9.24 (20 to 40).
"""
FLOOR = {"direct-ab7": 1e-12, "projected-7": 3e-13, "projected-9": 1e-13}
"""Errors that are no round-off, where those at steps that are stable, or show the order, are below 1e-10."""
MECHANISMS = {
    "two_link": lambda: mbfmu.load("two_link"),
    "slider_crank": slider_crank,
    "spatial_pendulum": spatial_pendulum,
}
PROBLEMS = {
    (f"{name}_joint" if coordinates == "joint" else name): (make, coordinates)
    for name, make in MECHANISMS.items()
    for coordinates in ("absolute", "joint")
}
CASES = [(problem, scheme) for problem in PROBLEMS for scheme in (SCHEMES if problem.startswith("two_link") else ENDS)]
"""All options on the arm in both coordinates, some of every family on the others."""
FEW = [scheme for scheme in DEFAULTS if scheme[0] in {"projected", "rattle"}]
"""An explicit and an implicit family."""


SOME = ("two_link", "slider_crank_joint", "spatial_pendulum")
"""An open chain, a loop that is cut, and turns in space."""


def represents(problem: str, scheme: Scheme) -> bool:
    """The ends of all options on the arm, two families on others; test_first_order.py has all in joint coordinates."""
    return problem in SOME and scheme in {"two_link": ENDS}.get(problem, FEW)


HOLDING_MOMENTA = {"gauss", "lobatto", "nodal_impulse", "rattle"}
HELD = 0.3
"""All inputs, N.m or N: the suite also sees forces from outside."""


@cache
def prepared(problem: str, name: str, options: tuple[tuple[str, Any], ...]) -> Prepared:
    """A problem with a stepper, made once."""
    make, coordinates = PROBLEMS[problem]
    return prepare(make(), name, dict(options), 1e-3, coordinates=coordinates)


def of(problem: str, scheme: Scheme) -> Prepared:
    """The same, for a row of SCHEMES."""
    return prepared(problem, scheme[0], tuple(scheme[1].items()))


@cache
def reference(problem: str) -> Run:
    """The solution at 0.4 s: direct with steps so short that its error, O(h^4), is below 1e-12."""
    return run(of(problem, ("direct", {})), 0.4, 1e-4, HELD)


def distance(a: Array, b: Array) -> float:
    """Largest difference."""
    return float(np.max(np.abs(a - b)))


def measured_order(this: Prepared, exact: Array, stop: float, counts: tuple[int, ...], floor: float) -> float:
    """Return the order of [q; v] from the finest pair of steps h, h/2 whose errors stand clear of round-off."""
    errors = {}
    for n in counts:
        end = run(this, stop, stop / n, HELD)
        errors[n] = float(np.linalg.norm(np.concatenate([end.q, end.v]) - exact))
    n = max(n for n in counts if 2 * n in counts and errors[2 * n] > floor)
    return float(np.log2(errors[n] / errors[2 * n]))


@pytest.mark.parametrize(
    ("problem", "scheme"),
    thorough((case for case in CASES if on_arm(PROBLEMS[case[0]][1], case[1]).order <= 4), represents),
    ids=named,
)
def test_measured_order_is_the_claimed_order(problem: str, scheme: Scheme) -> None:
    this, end = of(problem, scheme), reference(problem)
    order = measured_order(this, np.concatenate([end.q, end.v]), 0.4, (20, 40, 80, 160), 1e-11)
    assert order == pytest.approx(this.scheme.order, abs=0.15)


@pytest.mark.parametrize("scheme", thorough(zip(HIGH), lambda scheme: scheme in ENDS), ids=label)
def test_measured_high_order_is_the_claimed_order_on_an_oscillator(scheme: Scheme) -> None:
    """On the mechanisms above such errors reach round-off before the order shows; a mass on a spring is smoother."""
    this = prepare(oscillator(), scheme[0], scheme[1], 1e-3, coordinates="absolute")
    swing = 1.0 - HELD
    exact = np.array([HELD + swing * np.cos(8.0), 0, 0, -swing * np.sin(8.0), 0, 0])
    counts = (5, 6, 7, 8, 10, 12, 14, 16, 20, 28, 40, 56, 80, 112)
    order = measured_order(this, exact, 8.0, counts, FLOOR.get(label(scheme), 1e-10))
    assert order == pytest.approx(this.scheme.order, abs=WINDOW.get(label(scheme), 0.15))


@pytest.mark.parametrize(
    ("problem", "scheme"), thorough((case for case in CASES if case[1] in EXACT), represents), ids=named
)
def test_constraints_claimed_exact_hold_to_round_off(problem: str, scheme: Scheme) -> None:
    this = of(problem, scheme)
    x, worst = None, dict.fromkeys(this.scheme.exact, 0.0)
    for _ in range(50):
        end = run(this, 0.1, 0.01, HELD, x=x)
        x = end.x
        worst = {level: max(largest, end.y[f"constraint.{level}"]) for level, largest in worst.items()}
    assert all(largest < ROUND_OFF.get(scheme[0], 2e-13) for largest in worst.values()), worst


def test_direct_drifts_off_the_constraints() -> None:
    end = run(of("two_link", ("direct", {})), 10.0, 0.01)
    assert 1e-5 < end.y["constraint.position"] < 1e-2


def test_gauss_meets_the_position_constraint_at_the_step_ends_to_order_s_plus_1() -> None:
    this = of("two_link", ("gauss", {"stages": 3}))
    residuals = [run(this, 0.1, h).y["constraint.position"] for h in (0.02, 0.02 / 3)]  # both after an odd count
    assert np.log(residuals[0] / residuals[1]) / np.log(3) == pytest.approx(4, abs=0.3)


@pytest.mark.parametrize("basis", ["qr", "gauss"])
@pytest.mark.parametrize("problem", thorough(zip(PROBLEMS), lambda problem: problem in SOME and problem in MECHANISMS))
def test_null_space_bases_give_the_iterates_of_the_kkt_form(problem: str, basis: str) -> None:
    kkt = run(of(problem, ("local", {"basis": "kkt"})), 1.0, 0.01, HELD)
    other = run(of(problem, ("local", {"basis": basis})), 1.0, 0.01, HELD)
    assert distance(kkt.q, other.q) < 1e-11
    assert distance(kkt.v, other.v) < 1e-10
    assert other.status.iterations == pytest.approx(kkt.status.iterations, abs=3)


@pytest.mark.parametrize("problem", thorough(zip(PROBLEMS), lambda problem: problem in SOME))
def test_rattle_is_time_reversible(problem: str) -> None:
    this = of(problem, ("rattle", {}))
    there = run(this, 0.5, 0.01, HELD)
    back = run(this, -0.5, -0.01, HELD, x=there.x)
    begin = this.initial_state(u=(type(there.x))(*there.x[:0]) if not this.dae.inputs else None)
    q0, v0, _ = this.scheme.read(np.array(begin)[: this.scheme.step.x.numel()], this.dae.p_default(), 0.0)
    assert distance(back.q, np.array(q0).ravel()) < 1e-11
    assert distance(back.v, np.array(v0).ravel()) < 1e-10


@pytest.mark.slow
def test_rattle_keeps_the_energy_error_of_a_conservative_mechanism_bounded() -> None:
    this = of("two_link", ("rattle", {}))
    x, energy = None, []
    for _ in range(1000):
        end = run(this, 0.1, 0.005, x=x)
        x = end.x
        energy.append(end.y["energy.total"])
    swing = max(map(abs, energy))
    assert swing < 2e-2
    assert abs(np.mean(energy[:200]) - np.mean(energy[-200:])) < 0.1 * swing


def test_gauss_conserves_the_spatial_angular_momentum_of_a_free_rigid_body() -> None:
    """The bilinear form E(q) p / 2 of the method's own q and p is constant to round-off, at any step."""
    this = prepare(
        free_body().with_values({"body.r_CM[1]": 0.0, "body.r_CM[2]": 0.0, "body.r_CM[3]": 0.0}), "gauss", {}, 0.2
    )
    n = this.dae.n

    def spatial(x: Any) -> Array:
        Q, p = np.array(x)[3:7], np.array(x)[n + 3 : n + 7]
        E = np.array([[-Q[1], Q[0], -Q[3], Q[2]], [-Q[2], Q[3], Q[0], -Q[1]], [-Q[3], -Q[2], Q[1], Q[0]]])
        return np.asarray(E @ p / 2)

    x = this.initial_state()
    first = spatial(x)
    for _ in range(100):
        x = run(this, 0.2, 0.2, x=x).x
        assert distance(spatial(x), first) < 1e-11


@pytest.mark.parametrize("s", [1, 2, 3, 4])
def test_gauss_tableau_satisfies_the_simplifying_assumptions(s: int) -> None:
    A, b, c = gauss_tableau(s)
    for k in range(1, 2 * s + 1):
        assert b @ c ** (k - 1) == pytest.approx(1 / k, abs=1e-14)
    for k in range(1, s + 1):
        assert A @ c ** (k - 1) == pytest.approx(c**k / k, abs=1e-14)
    assert b[:, None] * A + (b[:, None] * A).T == pytest.approx(np.outer(b, b), abs=1e-14)


@pytest.mark.parametrize(("problem", "scheme"), thorough(CASES, represents), ids=named)
def test_work_per_step_is_bounded(problem: str, scheme: Scheme) -> None:
    end = run(of(problem, scheme), 0.4, 0.005, HELD)
    assert end.status.iterations / end.status.substeps < WORK.get(label(scheme), WORK.get(scheme[0], 3.5))


def test_an_unknown_stepper_option_or_choice_is_refused_by_name(two_link: System) -> None:
    dae = absolute(two_link)
    with pytest.raises(UnknownNameError, match="did you mean 'rattle'"):
        make_scheme(dae, "ratle")
    with pytest.raises(StepperError, match="no option 'stage'; did you mean 'stages'"):
        make_scheme(dae, "gauss", {"stage": 2})
    with pytest.raises(StepperError, match=r"stages=5 is not allowed; allowed: 1\|2\|3\|4"):
        make_scheme(dae, "gauss", {"stages": 5})


def test_the_table_of_steppers_can_be_called() -> None:
    assert list(mbfmu.steppers()) == list(FAMILIES)


@pytest.mark.parametrize("scheme", DEFAULTS, ids=label)
@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_a_scheme_names_the_parameters_that_the_meaning_of_its_state_depends_on(
    coordinates: str, scheme: Scheme
) -> None:
    """Those of M, which turn momenta into velocities."""
    made, p = on_arm(coordinates, scheme), arm(coordinates).p_default()
    x = np.random.default_rng(1).normal(size=made.step.x.numel())

    def read(p: Array) -> Array:
        return np.concatenate([np.array(item).ravel() for item in made.read(x, p, 0.0)])

    changing = {k for k in range(len(p)) if not np.array_equal(read(p), read(p + 0.1 * (np.arange(len(p)) == k)))}
    assert made.depends_on == changing
    assert bool(changing) == (scheme[0] in HOLDING_MOMENTA)


@pytest.mark.parametrize("scheme", DEFAULTS, ids=label)
def test_what_nothing_holds_goes_straight_on_in_a_rotating_frame(scheme: Scheme) -> None:
    free = LagrangianSystem(
        name="free",
        coordinates=(Coordinate("x", "m", 0.3, 0.1), Coordinate("y", "m", -0.2, 0.3)),
        kinetic="m/2*((der(x) - w*y)**2 + (der(y) + w*x)**2)",
        parameters=(Parameter("m", 2.0, "kg"), Parameter("w", 1.5, "rad/s")),
    )
    begin = 0.3 - 0.2j
    velocity = 0.1 + 0.3j + 1.5j * begin
    straight = np.exp(-1.5j * 1.0) * (begin + velocity * 1.0)
    off = []
    for step in (0.02, 0.01):
        found = mbfmu.simulate(free, 1.0, stepper=scheme[0], options=dict(scheme[1]), step=step)
        off.append(abs(found["x"][-1] + 1j * found["y"][-1] - straight))
    assert off[1] < 1e-3
    assert off[1] < max(off[0] / 3, 1e-12)

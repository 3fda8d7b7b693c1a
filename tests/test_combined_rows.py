"""Overconstrained mechanisms move all the way round: what is redundant follows the motion."""

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import casadi as ca
import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt
import pytest
from exchanging import Exchanged, exchanged
from harness import DEFAULTS, SCHEMES, examples, named, thorough
from hypothesis import given
from states import assert_same_motion, column, matrix

import mbfmu
from mbfmu import Result, Sensitivity
from mbfmu.dae import COORDINATES, Dae, derive
from mbfmu.dae.linear_algebra.combined_rows import CombinedRows
from mbfmu.model import (
    Body,
    BodyShape,
    Component,
    Connection,
    FixedRotation,
    FixedTranslation,
    Revolute,
    RotationalEndStop,
    Subsystem,
    System,
    World,
    connect,
    guess,
    wire,
)

Array = npt.NDArray[np.float64]

ALPHA, BETA = 0.5, 1.1
"""Twists of the links of Bennett's linkage, rad."""
FIRST = 0.8
"""Angle of its first hinge at the start, rad."""
K = math.sin((BETA + ALPHA) / 2) / math.sin((BETA - ALPHA) / 2)
"""Its constant: tan(theta_1 / 2) tan(theta_2 / 2) = K (Bennett 1903)."""


def bennett(*more: Component, fixed: bool = True, **parts: Any) -> System:
    """Bennett's linkage: four hinges, links of lengths 1 and sin(BETA) / sin(ALPHA), on the ground."""
    sides = ((1.0, ALPHA), (math.sin(BETA) / math.sin(ALPHA), BETA)) * 2
    second = 2 * math.atan(K / math.tan(FIRST / 2))
    components: list[Component] = [World(g=9.81, n=(0, -1, 0))]
    connections, last = [], "world.frame_b"
    for k, (length, twist) in enumerate(sides):
        start = {"phi": FIRST, "w": 0.0} if k == 0 else {"phi": guess((second, -FIRST, -second)[k - 1])}
        components.append(Revolute(f"j{k}", n=(0, 0, 1), **start, actuated=k == 0 and not fixed))
        connections.append(connect(last, f"j{k}.frame_a"))
        if k < 3:
            inertia = {"I_11": 0.02, "I_22": 0.1, "I_33": 0.1}
            components.append(Body(f"L{k}", m=1.0 + 0.5 * k, r_CM=(length / 2, 0, 0), **inertia))
            connections.append(connect(f"j{k}.frame_b", f"L{k}.frame_a"))
        components.append(FixedRotation(f"t{k}", r=(length, 0, 0), n=(1, 0, 0), angle=twist))
        connections.append(connect(f"j{k}.frame_b", f"t{k}.frame_a"))
        last = f"t{k}.frame_b"
    connections.append(connect(last, "world.frame_b"))
    return System("bennett", (*components, *more), tuple(connections), **parts)


PLACES = ((0.0, 0.0), (2.0, 0.0), (1.0, 1.0))
"""Bearings of three parallel cranks, m: not in line, so that one of them guides where the others are in line."""


def cranks() -> System:
    """Three parallel cranks of 1 m that carry a plate, without weight: the plate goes round in a circle."""
    components: list[Component] = [World(g=0.0), Body("plate", m=2.0, I_33=1.0, r_CM=(0.7, 0.4))]
    connections: list[Connection] = []
    for k, place in enumerate(PLACES):
        start = {"phi": 0.5, "w": 5.0} if k == 0 else {"phi": guess(0.5)}
        components += [
            FixedTranslation(f"ground{k}", r=place),
            Revolute(f"crank{k}", **start),
            BodyShape(f"bar{k}", m=1.0 + k, r=(1.0, 0), r_CM=(0.5, 0), I_33=1 / 12),
            Revolute(f"pin{k}", phi=guess(-0.5)),
            FixedTranslation(f"eye{k}", r=place),
        ]
        connections += [
            connect("world.frame_b", f"ground{k}.frame_a"), connect(f"ground{k}.frame_b", f"crank{k}.frame_a"),
            connect(f"crank{k}.frame_b", f"bar{k}.frame_a"), connect(f"bar{k}.frame_b", f"pin{k}.frame_a"),
            connect("plate.frame_a", f"eye{k}.frame_a"), connect(f"pin{k}.frame_b", f"eye{k}.frame_b"),
        ]  # fmt: skip
    return System("cranks", tuple(components), tuple(connections), planar=True)


def sarrus() -> System:
    """Sarrus' linkage: two chains of three parallel hinges in planes across each other carry a plate up and down."""
    low, small = 0.6, {"I_11": 0.05, "I_22": 0.05, "I_33": 0.05}
    components: list[Component] = [
        World(g=9.81, n=(0, 0, -1)),
        Body("plate", m=3.0, I_11=0.1, I_22=0.1, I_33=0.2),
    ]
    connections: list[Connection] = []
    for k, (out, n) in enumerate((((1.0, 0, 0), (0, 1.0, 0)), ((0, 1.0, 0), (-1.0, 0, 0)))):
        start = {"phi": -low, "w": -3.0} if k == 0 else {"phi": guess(-low)}
        half = tuple(item / 2 for item in out)
        components += [
            FixedTranslation(f"ground{k}", r=half),
            Revolute(f"a{k}", n=n, **start),
            BodyShape(f"lower{k}", m=1.0, r=out, r_CM=half, **small),
            Revolute(f"b{k}", n=n, phi=guess(2 * low - math.pi)),
            BodyShape(f"upper{k}", m=1.0, r=out, r_CM=half, **small),
            Revolute(f"c{k}", n=n, phi=guess(math.pi - low)),
            FixedTranslation(f"edge{k}", r=half),
        ]
        connections += [
            connect("world.frame_b", f"ground{k}.frame_a"), connect(f"ground{k}.frame_b", f"a{k}.frame_a"),
            connect(f"a{k}.frame_b", f"lower{k}.frame_a"), connect(f"lower{k}.frame_b", f"b{k}.frame_a"),
            connect(f"b{k}.frame_b", f"upper{k}.frame_a"), connect(f"upper{k}.frame_b", f"c{k}.frame_a"),
            connect("plate.frame_a", f"edge{k}.frame_a"), connect(f"c{k}.frame_b", f"edge{k}.frame_b"),
        ]  # fmt: skip
    return System("sarrus", tuple(components), tuple(connections))


def bricard() -> System:
    """Bricard's mechanism of six hinges, from the library."""
    system: System = mbfmu.load("bricard")
    return system


MECHANISMS: dict[str, tuple[Callable[[], System], float]] = {
    "bennett": (bennett, 2.6), "cranks": (cranks, 1.4), "sarrus": (sarrus, 0.2), "bricard": (bricard, 1.0),
}  # fmt: skip
"""Mechanisms with the time that they run: the first two once round, the third until before it is stretched, s."""

both = pytest.mark.parametrize("coordinates", COORDINATES)


@cache
def run(name: str, coordinates: str, stepper: str, options: tuple[tuple[str, Any], ...], step: float) -> Result:
    make, stop = MECHANISMS[name]
    return mbfmu.simulate(
        make(), stop, stepper=stepper, options=dict(options), step=step, output_interval=0.02, coordinates=coordinates
    )


def gap(name: str, found: Result) -> float:
    """By how much a run misses what is known of the mechanism without mbfmu, at the worst time."""
    if name == "bennett":
        return float(np.abs(np.tan(found["j0.phi"] / 2) * np.tan(found["j1.phi"] / 2) - K).max())
    if name == "cranks":  # the plate does not turn, and the kinetic energy lasts
        return float(np.abs(found["crank0.phi"] - 0.5 - 5.0 * found.time).max())
    if name == "sarrus":  # straight up, by the two links of each chain
        beside = np.abs([found["plate.r_0[1]"], found["plate.r_0[2]"]]).max()
        return float(max(beside, np.abs(found["plate.r_0[3]"] - 2 * np.sin(-found["a0.phi"])).max()))
    return float(np.abs(found["j0.phi"] - found["j2.phi"]).max())  # Bricard's is symmetric


# -- the motion -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MECHANISMS)
@both
def test_an_overconstrained_mechanism_moves_all_the_way_round(name: str, coordinates: str) -> None:
    found = run(name, coordinates, "projected", (("order", 8),), 2e-3)
    assert gap(name, found) < 1e-9
    assert np.ptp(found["energy.total"]) < 1e-10 * (1 + np.abs(found["energy.kinetic"]).max())
    assert found["constraint.position"].max() < 1e-12


@pytest.mark.parametrize("scheme", thorough(zip(SCHEMES), lambda scheme: scheme in DEFAULTS), ids=named)
def test_bennetts_linkage_passes_where_fixed_rows_fail_with_every_stepper(scheme: tuple[str, dict[str, Any]]) -> None:
    """At t = 2.44 s all but one pair of the five rows that close the loop is dependent somewhere near."""
    stepper, options = scheme
    found = run("bennett", "joint", stepper, tuple(options.items()), 2e-3)
    exact = run("bennett", "joint", "projected", (("order", 9),), 1e-3)
    coarse = options.get("stages") == 1 and stepper == "radau"  # of order 1
    assert np.abs(found["j1.phi"] - exact["j1.phi"]).max() < (0.1 if coarse else 2e-4)


@pytest.mark.parametrize("name", thorough(zip(MECHANISMS), lambda _: False))
@pytest.mark.parametrize("scheme", thorough(zip(DEFAULTS), lambda _: False), ids=named)
@both
def test_every_stepper_takes_every_overconstrained_mechanism(
    name: str, scheme: tuple[str, dict[str, Any]], coordinates: str
) -> None:
    stepper, options = scheme
    found = run(name, coordinates, stepper, tuple(options.items()), 1e-3)
    exact = run(name, "joint", "projected", (("order", 9),), 1e-3)
    angle = "crank0.phi" if name == "cranks" else "a0.phi" if name == "sarrus" else "j0.phi"
    assert np.abs(found[angle] - exact[angle]).max() < 1e-4


@pytest.mark.parametrize("name", MECHANISMS)
def test_forces_and_motion_are_the_same_in_both_coordinates(name: str) -> None:
    """In random consistent states near the start, by NumPy; forces that are not unique are left out."""
    assert_same_motion(MECHANISMS[name][0](), seed=1, away=0.05)


def test_equilibrium_and_frequencies_are_the_same_in_both_coordinates() -> None:
    found = [mbfmu.equilibrium(bennett(), coordinates=coordinates) for coordinates in COORDINATES]
    for name in ("j0.phi", "j1.phi"):
        assert found[0].outputs[name] == pytest.approx(found[1].outputs[name], abs=1e-9)
    assert sorted(np.real(found[0].eigenvalues)) == pytest.approx(sorted(np.real(found[1].eigenvalues)), rel=1e-8)


def test_the_torque_of_a_motion_is_what_makes_that_motion(tmp_path: Path) -> None:
    """Inverse dynamics all the way round, against the run that the torque gives."""
    driven = bennett(fixed=False)
    wanted = mbfmu.simulate(
        driven, 2.6, stepper="projected", options={"order": 8}, step=2e-3, output_interval=0.1,
        inputs={"j0.tau": "3*sin(2*time)"},
    )  # fmt: skip
    names = ("j0.phi", "j0.w", "j0.a")
    table = tmp_path / "motion.csv"
    rows = np.column_stack([wanted.time, *(wanted[name] for name in names)])
    np.savetxt(table, rows, "%.17g", ",", header=",".join(["time", *names]), comments="")
    torque = mbfmu.inverse(driven, table)["j0.tau"]
    np.testing.assert_allclose(torque, 3 * np.sin(2 * wanted.time), atol=1e-6)


# -- with all else that a state holds -------------------------------------------------------------------------------


def test_a_sampled_controller_and_a_stop_act_on_it_as_in_mixed_coordinates() -> None:
    """The memory of the controller, the modes of the stop and the rows share one column of the state."""
    controller = next(item for item in mbfmu.load("sampled_pid").components if item.name == "pid").system
    gains = {"Kp": 20.0, "Ki": 5.0, "Kd": 1.0, "Tf": 0.02, "ref": 1.6, "Ts": 0.01}
    system = bennett(
        RotationalEndStop("stop", joint="j0", lower=-0.2, upper=1.3, e=0.5), Subsystem("pid", controller, gains),
        fixed=False, wires=(wire("j0.phi", "pid.angle"), wire("pid.u", "j0.tau")),
    )  # fmt: skip
    one, other = (
        mbfmu.simulate(
            system, 1.5, stepper="projected", options={"order": 8}, step=2e-3, output_interval=0.01,
            coordinates=coordinates,
        )
        for coordinates in ("joint", "absolute:L1")
    )  # fmt: skip
    assert one["events.count"][-1] == other["events.count"][-1] > 2
    np.testing.assert_allclose(one["j0.phi"], other["j0.phi"], atol=1e-8)


def test_a_restored_state_repeats_the_steps_bitwise_and_lanes_have_the_bits_they_have_alone() -> None:
    alone = mbfmu.Simulation(bennett(), stepper="rattle", step=2e-3)
    many = mbfmu.Simulation(bennett(), batch=9, stepper="rattle", step=2e-3)
    alone.step({}, 2.4)
    many.step({}, 2.4)
    state = alone.state
    after = alone.step({}, 0.1).tobytes()
    assert {row.tobytes() for row in many.step({}, 0.1)} == {after}
    alone.restore(state)
    assert alone.step({}, 0.1).tobytes() == after


@pytest.mark.parametrize("stepper", thorough(zip(["projected", "rattle"]), lambda stepper: stepper == "projected"))
def test_the_adjoint_gives_what_tangents_and_differences_give(stepper: str) -> None:
    found = Sensitivity(bennett(), 0.1, ["L0.m", "j0.phi"], stepper=stepper, step=2e-3, output_interval=0.05)
    outputs, slopes = found.jacobian()
    weights = np.random.default_rng(0).normal(size=outputs.shape) / (1e-3 + np.abs(outputs).max(axis=0))
    unique = np.array([item.unique for item in derive(bennett(), "joint").outputs])
    weights[:, : len(unique)] *= unique
    gradient = found.gradient(weights).values
    np.testing.assert_allclose(gradient, np.einsum("ij,ijk->k", weights, slopes), rtol=1e-9)
    for k, value in enumerate(found.values):
        ends = []
        for side in (1, -1):
            values = found.values
            values[k] = value + side * 1e-5
            ends.append(float((found.outputs(values) * weights).sum()))
        assert gradient[k] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5)


def test_a_solver_of_its_own_passes_too(tmp_path: Path) -> None:
    with Exchanged(exchanged(bennett(), tmp_path / "bennett.fmu")) as model:
        model.start()
        model.run(2.6)
        phi = model.get(["j0.phi", "j1.phi"])
    exact = run("bennett", "joint", "projected", (("order", 9),), 1e-3)
    assert phi == pytest.approx([exact["j0.phi"][-1], exact["j1.phi"][-1]], abs=1e-7)


# -- the combinations -----------------------------------------------------------------------------------------------


def dependent_rows(rng: np.random.Generator, m: int, d: int, more: int, n: int) -> Array:
    """Rows of which d are redundant: m of a joint, and others."""
    basis = rng.normal(size=(m + more - d, n))
    mixed: Array = rng.normal(size=(m + more, m + more - d)) @ basis
    return mixed


@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(1, 4), st.integers(0, 4))
@examples(0.3)
def test_what_is_kept_spans_all_rows_and_is_orthogonal_to_what_vanishes(
    seed: int, d: int, kept: int, more: int
) -> None:
    rng, m = np.random.default_rng(seed), d + kept
    C = dependent_rows(rng, m, d, more, m + more + 1)
    rows = CombinedRows(tuple(range(m)), d, tuple(range(m, m + more)))
    w = column(rows.followed(np.zeros(rows.size), ca.SX(ca.DM(C))))
    w = column(rows.followed(ca.SX(ca.DM(w)), ca.SX(ca.DM(C))))
    A = np.vstack([C[m:], matrix(rows.combined(ca.SX(ca.DM(w)), ca.SX(ca.DM(C[:m]))))])
    values = np.linalg.svd(C, compute_uv=False)
    assert np.linalg.matrix_rank(A, tol=1e-9 * values[0]) == len(C) - d
    assert np.linalg.svd(A, compute_uv=False).min() > 1e-7 * values[0]
    R = matrix(rows.combined(ca.SX(ca.DM(w)), ca.SX.eye(m)))
    np.testing.assert_allclose(R @ R.T, np.eye(kept), atol=1e-12)
    vanishing = np.linalg.svd(C)[0][:m, len(C) - d :]
    assert np.abs(R @ vanishing).max() < 1e-6
    Y = rng.normal(size=(kept, 2))
    np.testing.assert_allclose(matrix(rows.spread(ca.SX(ca.DM(w)), ca.SX(ca.DM(Y)))), R.T @ Y, atol=1e-12)


def test_without_reflections_the_first_rows_are_dropped() -> None:
    rows = CombinedRows((4, 1, 2), 1, ())
    np.testing.assert_array_equal(matrix(rows.combined(ca.SX.zeros(rows.size), ca.SX.eye(3))), np.eye(3)[1:])
    assert rows.kept == (1, 2)


@pytest.mark.parametrize("name", ["four_bar", "door"])
def test_rows_that_are_redundant_in_the_same_way_everywhere_stay_as_they_are(name: str) -> None:
    from random_mechanisms import in_space
    from test_redundancy import door

    system = in_space(mbfmu.load("four_bar")) if name == "four_bar" else door(hinges=2)
    dae: Dae = derive(system, "joint")
    assert dae.redundant
    assert dae.constraints.follow is None

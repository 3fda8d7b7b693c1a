"""Gaps that close and friction that sticks, with every stepper: events where they are, and what stands after them."""

from collections.abc import Callable, Mapping
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import DEFAULTS, SCHEMES, named, thorough
from struck import G, ball, incline, made, reference, run, stick_slip, woodpecker

import mbfmu
from mbfmu.analysis.motion.inverse import inverse
from mbfmu.errors import StartError, StepError, UsageError
from mbfmu.kernel import vector
from mbfmu.kernel.failure import Facts
from mbfmu.kernel.limits import MOST_EVENTS
from mbfmu.kernel.runtime import MANY_EVENTS
from mbfmu.model.contact import Contact
from mbfmu.model.lagrangian import Coordinate, LagrangianSystem
from mbfmu.model.parameter import Parameter
from mbfmu.prepared.prepare import prepare

pytestmark = pytest.mark.filterwarnings("ignore:.*without projection gauss drifts")
BY_EVENTS = [scheme for scheme in SCHEMES if not mbfmu.steppers()[scheme[0]].contacts]
"""The steppers that go from event to event."""
ABOVE_FIRST = [scheme for scheme in BY_EVENTS if scheme != ("radau", {"stages": 1})]
"""Those that find every peck of a woodpecker with 20 us; implicit Euler, of order 1, passes one by."""
SOME = thorough(
    BY_EVENTS, lambda *scheme: scheme in DEFAULTS and scheme[0] in {"projected", "rattle", "radau", "block"}
)
"""The same, but by default an explicit and an implicit one, one that damps and one with a history."""
ROUND_OFF = 2e-9
"""Error of the event times at which the multistep method of the highest order stands: it does not damp round-off."""
STICK_SLIP = reference("stick_slip")
CYCLE = [item["t"] for item in STICK_SLIP["events"]["leine_limit_cycle"]]


@pytest.mark.parametrize(("stepper", "options"), SOME, ids=named)
def test_the_events_of_a_stick_slip_come_to_the_reference_at_the_steppers_order(
    stepper: str, options: Mapping[str, Any]
) -> None:
    errors = []
    next_to_events = [item + shift for item in CYCLE[:2] for shift in (-1e-4, -1e-13, 1e-15, 1e-12, 1e-8)]
    for h in (2e-2, 1e-2):
        prepared = made(stick_slip(), stepper, options, h)
        found = run(prepared, sorted([*map(float, STICK_SLIP["t"][1:]), *next_to_events]), h)
        assert len(found.events) == len(CYCLE)
        errors.append(np.abs(np.array(found.events) - CYCLE).max())
    assert errors[1] <= max(ROUND_OFF, errors[0] / 2 ** (prepared.scheme.order - 1))
    assert errors[1] < 0.3


@pytest.mark.parametrize(("stepper", "options"), SOME, ids=named)
def test_a_ball_comes_to_rest_for_good_and_weighs_on_the_ground(stepper: str, options: Mapping[str, Any]) -> None:
    found = run(made(ball(), stepper, options, 1e-2), np.linspace(0.05, 2.0, 40).tolist(), 1e-2)
    end = found.rows[-1]
    assert (end["der(y)"], end["ground.closed"], end["ground.f_n"]) == (0.0, 1.0, pytest.approx(G, rel=1e-14))
    assert abs(end["y"]) < 1e-15
    assert found.column("ground.gap").min() > -1e-14


def test_the_impacts_of_a_ball_are_those_of_the_closed_form_and_their_limit_is_its_rest() -> None:
    data = reference("bouncing_ball")
    prepared = made(ball(data["params"]["ball"]["h"], data["params"]["ball"]["e"]), "projected", {"order": 9}, 5e-2)
    hits = [item["t"] for item in data["events"]["ball"]]
    found = run(prepared, np.linspace(0.01, 4.1, 410).tolist(), 5e-2)
    assert found.events[:10] == pytest.approx(hits[:10], abs=1e-12)
    e = data["params"]["ball"]["e"]
    assert found.events[-1] == pytest.approx(sqrt(2 / G) * (1 + e) / (1 - e), abs=1e-9)


def test_a_woodpecker_meets_its_forty_eight_events() -> None:
    data = reference("woodpecker")
    found = run(made(woodpecker(), "projected", {"order": 9}, 5e-4), np.linspace(0.001, 0.8, 800).tolist(), 5e-4)
    assert found.events == pytest.approx([item["t"] for item in data["events"]], abs=1e-11)
    end = data["states"][-1]
    last = [found.rows[-1][name] for name in ("y", "phi_M", "phi_S", "der(y)", "der(phi_M)", "der(phi_S)")]
    assert last == pytest.approx([end[key] for key in ("y", "phi_M", "phi_S", "v", "omega_M", "omega_S")], abs=1e-8)


@pytest.mark.parametrize(
    ("stepper", "options"), thorough(ABOVE_FIRST, lambda *scheme: scheme[0] == "rattle" and scheme in DEFAULTS),
    ids=named,
)  # fmt: skip
def test_every_stepper_gets_through_the_pecks_of_a_woodpecker(stepper: str, options: Mapping[str, Any]) -> None:
    data = reference("woodpecker")
    found = run(made(woodpecker(), stepper, options, 2e-5), np.linspace(0.001, 0.1, 100).tolist(), 2e-5)
    first = [item["t"] for item in data["events"]][: len(found.events)]
    assert len(first) == sum(item["t"] < 0.1 for item in data["events"])
    assert found.events == pytest.approx(first, abs=1e-3)


@pytest.mark.parametrize(("stepper", "options"), [("projected", {"order": 9}), ("radau", {"stages": 5})])
def test_the_masters_communication_step_changes_nothing_beyond_round_off(
    stepper: str, options: Mapping[str, Any]
) -> None:
    prepared = made(stick_slip(), stepper, options, 1e-2)
    ends = [run(prepared, (np.arange(1, n + 1) * (12 / n)).tolist(), 1e-2) for n in (1, 7, 33, 1200)]
    for other in ends[1:]:
        assert other.rows[-1] == pytest.approx(ends[0].rows[-1], abs=1e-12)


@pytest.mark.parametrize("stepper", ["projected", "rattle", "radau", "generalized_alpha", "lobatto"])
def test_steps_chosen_for_a_tolerance_meet_it_across_events(stepper: str) -> None:
    found = run(made(stick_slip(), stepper, {}, 0.1, 1e-7), np.linspace(0.5, 20, 40).tolist(), 0.1, 1e-7)
    assert found.events == pytest.approx([time for time in CYCLE if time < 20], abs=20 * 1e-7)


def held(stepper: str, steps: int, part: float, shake: float) -> tuple[list[float], list[float]]:
    """Return the state at the start and after steps of 1 ms on a plane, with a push that changes sign each step."""
    prepared = made(incline(part), stepper, {}, 1e-3)
    kernel, p, still = prepared.kernel, vector(prepared.dae.p_default()), vector([0.0])
    x = begun = prepared.initial_state()
    if not shake:
        x, status = kernel.advance(x, still, still, p, 0.0, 1e-3, steps)
        assert not status.code
        return list(begun), list(x)
    for k in range(steps):
        x, status = kernel.advance(x, vector([shake * (-1) ** k]), still, p, k * 1e-3, 1e-3, 1)
        assert not status.code
    return list(begun), list(x)


@pytest.mark.parametrize(
    "stepper",
    thorough(
        zip(["projected", "rattle", "radau", "gauss", "block", "generalized_alpha"]),
        lambda stepper: stepper in {"projected", "radau", "block"},
    ),
)
def test_a_block_at_a_part_of_the_friction_angle_keeps_its_bits(stepper: str) -> None:
    begun, ended = held(stepper, 100_000 if stepper == "projected" else 5_000, 0.99, 0.0)
    assert begun[:-1] == ended[:-1]


def test_a_block_that_is_shaken_within_the_cone_keeps_its_bits() -> None:
    margin = G * (0.5 * np.cos(0.99 * np.arctan(0.5)) - np.sin(0.99 * np.arctan(0.5)))
    begun, ended = held("projected", 20_000, 0.99, 0.98 * float(margin))
    assert begun[:4] == ended[:4]
    assert ended[-4:-1] == begun[-4:-1]  # no event


@pytest.mark.slow
def test_a_block_keeps_its_bits_for_ten_million_steps() -> None:
    begun, ended = held("projected", 10_000_000, 0.99, 0.0)
    assert begun[:-1] == ended[:-1]


@pytest.mark.parametrize(("stepper", "options"), SOME, ids=named)
def test_the_friction_that_sticks_is_what_it_takes(stepper: str, options: Mapping[str, Any]) -> None:
    found = run(made(stick_slip(), stepper, options, 1e-2), [1.0, 2.0], 1e-2)
    assert found.column("belt.f_t") == pytest.approx([0.2, 0.4], rel=1e-9)
    assert found.column("belt.sticks").tolist() == [1.0, 1.0]


@pytest.mark.parametrize("model", [ball, stick_slip, woodpecker])
def test_the_energy_balance_stays_at_zero_across_impacts_and_friction(model: Callable[[], LagrangianSystem]) -> None:
    times = np.linspace(0.01, 6.0, 300) / (20 if model is woodpecker else 1)
    h = 2e-4 if model is woodpecker else 5e-3
    exact = run(prepare(model(), "projected", {"order": 9}, h, energy_balance=True), times.tolist(), h)
    assert exact.events
    np.testing.assert_allclose(exact.column("energy.balance"), 0, atol=1e-13)
    coarse = [
        np.abs(
            run(prepare(model(), "rattle", {}, step, energy_balance=True), times.tolist(), step).column(
                "energy.balance"
            )
        )
        for step in (h, h / 2)
    ]
    assert coarse[1].max() <= max(1e-13, coarse[0].max() / 3)  # order 2


def test_the_energy_that_impacts_and_friction_take_is_no_error_of_the_steps() -> None:
    assert not made(ball(), "projected", {}, 1e-2).outline.constant.name
    assert prepare(ball(), "projected", {}, 1e-2, energy_balance=True).outline.constant.name == "energy.balance"


@pytest.mark.parametrize("ask", [
    lambda model, _: mbfmu.linearize(model),
    lambda model, _: mbfmu.equilibrium(model),
    lambda model, _: inverse(model, {"x": "0.1*time"}),
    lambda model, folder: mbfmu.export(model, folder / "inverse.fmu", kind="inverse"),
])  # fmt: skip
def test_what_takes_smooth_equations_alone_refuses_others_by_name(
    ask: Callable[[LagrangianSystem, Path], object], tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=r"'incline' has gaps or dry friction \('plane'\)"):
        ask(incline(), tmp_path)


def test_a_start_inside_a_gap_is_refused_with_the_start_value_to_raise() -> None:
    with pytest.raises(StartError, match=r"ball: 'ground' starts 0\.01 m inside: .* raise y$"):
        made(ball(-0.01), "projected", {}, 1e-2).initial_state()
    made(ball(-1e-12), "projected", {}, 1e-2).initial_state()


def test_a_ball_between_walls_a_nanometre_apart_says_whose_events_are_too_many() -> None:
    shaken = LagrangianSystem(
        "shaken", (Coordinate("y", "m", 5e-10, 1.0),), "m*der(y)**2/2",
        parameters=(Parameter("m", 1.0), Parameter("d", 1e-9)),
        contacts=(Contact("floor", gap="y", restitution=1.0), Contact("lid", gap="d - y", restitution=1.0)),
    )  # fmt: skip
    prepared = made(shaken, "projected", {}, 1e-2)
    kernel, none, p = prepared.kernel, vector([]), vector(prepared.dae.p_default())
    _, status = kernel.advance(prepared.initial_state(), none, none, p, 0.0, 1e-2, 1)
    assert status.code == MANY_EVENTS
    assert f"more than {MOST_EVENTS} events in one communication step, the last one of the gap of 'floor'" in (
        Facts("shaken", prepared.outline.guards).message(status)
    )
    with pytest.raises(StepError, match="the gap of 'floor'"):
        mbfmu.Simulation(shaken, stepper="projected", step=1e-2).step(None, 1e-2)


def test_gauss_without_projection_is_told_to_drift_off_gaps() -> None:
    ball = mbfmu.load("bouncing_ball")
    with pytest.warns(
        UserWarning, match="without projection gauss drifts off gaps that are closed.*projection=symmetric"
    ):
        mbfmu.simulate(ball, 0.1, stepper="gauss")
    mbfmu.simulate(ball, 0.1, stepper="gauss", options={"projection": "symmetric"})

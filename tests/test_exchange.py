"""FMUs for model exchange: any solver that follows the standard finds the motion that the steppers find."""

from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest
from exchanging import Exchanged, exchanged
from fmpy import fmi2, fmi3, simulate_fmu
from fmpy.validation import validate_fmu
from harness import thorough
from masters import Instance, Unpacked, refused
from struck import ball, incline, reference, stick_slip
from test_contacts import puck, thrown

import mbfmu
from mbfmu.errors import StepperError, UsageError
from mbfmu.model import SphereOnPlane

MODELS = {"ball": ball, "stick_slip": stick_slip, "incline": incline}


@cache
def fmu(name: str, kind: str = "me", fmi: str = "2.0") -> Unpacked:
    """A model as an FMU for model exchange, unpacked; made once a session."""
    model = MODELS[name]() if name in MODELS else name
    return exchanged(model, Path(mkdtemp(prefix="mbfmu-exchange-")) / f"{name}.fmu", kind=kind, fmi=fmi)


def by_steps(model: Any, stop: float, names: list[str], **more: Any) -> list[float]:
    """What the stepper projected finds."""
    run = mbfmu.simulate(model, stop, stepper="projected", options={"order": 9}, step=1e-3, **more)
    return [float(run[name][-1]) for name in names]


@pytest.mark.parametrize(
    ("name", "shown", "stop"),
    thorough(
        [
            ("two_link", ["shoulder.phi", "elbow.w", "elbow.a"], 1.0),
            ("pendulum", ["x", "der(y)"], 2.0),
            ("slider_crank", ["crank.phi", "slider.s", "pin.w"], 1.0),
            ("heavy_top", ["pivot.Q_rel[1]", "pivot.w_rel[3]"], 0.5),
            ("hydraulic_monolith", ["q", "w"], 0.2),
            ("rolling_disk", ["x", "y", "der(psi)"], 0.5),
        ],
        lambda name, *_: name in {"slider_crank", "hydraulic_monolith", "rolling_disk"},
    ),
)
def test_a_solver_of_its_own_finds_the_motion_of_the_steppers(name: str, shown: list[str], stop: float) -> None:
    with Exchanged(fmu(name)).start() as run:
        run.run(stop)
        assert run.get(shown) == pytest.approx(by_steps(name, stop, shown), rel=1e-8, abs=1e-8)


def test_states_rates_and_indicators_are_those_of_the_start_from_the_initialisation_mode_on() -> None:
    names = {"slider_crank": "crank.phi", "ball": "y"}
    for model, name in names.items():
        with Exchanged(fmu(model)) as run:
            run.model.setupExperiment(startTime=0.0)
            run.model.enterInitializationMode()
            for value in (0.3, 0.6):  # set anew in the initialisation mode
                run.set({name: value})
                early = run._vector(run.model.getDerivatives, run.n), run.states, run.indicators
                assert np.any(early[1] != 0)
            run.model.exitInitializationMode()
            late = run._vector(run.model.getDerivatives, run.n), run.states, run.indicators
            assert [list(item) for item in early] == [list(item) for item in late]


def test_there_are_no_states_in_the_initialisation_mode_where_the_start_is_impossible() -> None:
    with Exchanged(fmu("ball")) as run:
        run.model.setupExperiment(startTime=0.0)
        run.model.enterInitializationMode()
        run.set({"y": -1.0})
        for call in ("getContinuousStates", "getDerivatives"):
            refused(run._vector, getattr(run.model, call), run.n)
            assert "no consistent start at t = 0 s" in run.messages[-1].text
        run.set({"y": 1.0})
        assert list(run.states) == [1.0, 0.0]


def test_an_accepted_point_beside_the_constraints_is_brought_back() -> None:
    with Exchanged(fmu("slider_crank")).start() as run:
        beside = run.states + 1e-3
        run.at(0.0, beside)
        assert run.get(["constraint.position"])[0] > 1e-4
        assert run.model.completedIntegratorStep() == (1, 0)
        changed, _ = run.event()
        assert changed
        assert run.get(["constraint.position"])[0] < 1e-14
        assert np.max(np.abs(run.states - beside)) < 1e-2
        assert run.model.completedIntegratorStep() == (0, 0)
        assert not run.event()[0] or run.get(["constraint.position"])[0] < 1e-14


def test_a_point_without_a_way_back_onto_the_constraints_is_an_error_with_advice(tmp_path: Path) -> None:
    model = mbfmu.load("spatial_slider_crank")
    with Exchanged(exchanged(model, tmp_path / "far.fmu", coordinates="absolute")).start() as run:
        far = run.states + 1e5 * np.cos(np.arange(run.n))
        run.at(0.0, far)
        refused(run.model.completedIntegratorStep)
        text = run.messages[-1].text
        assert "the constraints cannot be met at t = 0 s" in text
        assert "tighter tolerance or shorter steps, or raise solver.stabilization (now 10 1/s)" in text
        assert list(run.states) == list(far)


def test_stabilization_leads_back_and_moves_nothing_that_meets_the_constraints() -> None:
    found = {}
    for rate in (0.0, 10.0):
        with Exchanged(fmu("slider_crank")).start({"solver.stabilization": rate}) as run:
            start = run.states
            found[rate] = run.rates(0.0, start), run.rates(0.0, start + 1e-5)
    assert found[0.0][0] == pytest.approx(found[10.0][0], abs=1e-11)
    assert np.max(np.abs(found[0.0][1] - found[10.0][1])) > 1e-5


@pytest.mark.parametrize("name", ["two_link", "slider_crank", "hydraulic_monolith", "ball"])
def test_directional_derivatives_are_those_of_differences(name: str) -> None:
    with Exchanged(fmu(name)).start() as run:
        description = run.fmu.description
        states = [item.variable.derivative.name for item in description.derivatives]
        rates = [item.variable.name for item in description.derivatives]
        x, step = run.states + 1e-3, 1e-6
        for k, state in enumerate(states):
            run.at(0.0, x)
            references = [[run.fmu.references[item] for item in group] for group in (rates, [state])]
            exact = run.model.getDirectionalDerivative(*references, [1.0])
            ends = [run.rates(0.0, x + side * step * np.eye(run.n)[k]) for side in (1, -1)]
            scale = 1 + np.max(np.abs(ends[0]))
            assert exact == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-4 * scale, rel=1e-4)


def test_derivatives_depend_on_what_the_description_says() -> None:
    with Exchanged(fmu("hydraulic_monolith")).start() as run:
        description = run.fmu.description
        states = [item.variable.derivative.name for item in description.derivatives]
        rates = [item.variable.name for item in description.derivatives]
        for unknown in description.derivatives:
            on = {item.name for item in unknown.dependencies}
            assert on != set(states)  # it is sparse
            for state in set(states) - on:
                references = [run.fmu.references[unknown.variable.name]], [run.fmu.references[state]]
                assert run.model.getDirectionalDerivative(*references, [1.0]) == [0.0]
        assert run.get(rates) == pytest.approx(run.rates(0.0, run.states), abs=0)
        assert run.get(states) == pytest.approx(run.states, abs=0)


def test_impacts_are_met_where_the_stepper_meets_them() -> None:
    with Exchanged(fmu("ball")).start() as run:
        events = run.run(1.2, span=1.2)
        alone = mbfmu.simulate(ball(), 1.2, stepper="projected", step=1e-2)
        assert run.get(["y"])[0] == pytest.approx(alone["y"][-1], abs=1e-8)
        assert len(events) == alone["ground.impacts"][-1] > 2


def test_a_ball_comes_to_rest() -> None:
    with Exchanged(fmu("ball")).start() as run:
        run.run(6.0, span=6.0)
        assert run.get(["y", "der(y)"]) == pytest.approx([0, 0], abs=1e-14)
        assert run.model.getBoolean([run.fmu.references["ground.closed"]]) == [1]


def test_what_sticks_and_slips_does_so_at_the_same_times() -> None:
    with Exchanged(fmu("stick_slip")).start() as run:
        run.run(8.0, span=8.0)
        alone = mbfmu.simulate(stick_slip(), 8.0, stepper="projected", options={"order": 9}, step=1e-2)
        shown = ["x", "der(x)", "events.time"]
        assert run.get(shown) == pytest.approx([alone[item][-1] for item in shown], abs=1e-8)


def test_sampled_blocks_compute_at_time_events() -> None:
    with Exchanged(fmu("sampled_pid_two_link")).start() as run:
        shown = ["a", "elbow.phi"]
        events = run.run(0.3)
        assert len(events) >= 29
        assert run.get(shown) == pytest.approx(by_steps("sampled_pid_two_link", 0.3, shown), abs=1e-9)


def test_a_solver_that_steps_over_samplings_is_told_to_stop_at_them() -> None:
    with Exchanged(fmu("sampled_pid_two_link")).start() as run:
        run.at(0.1, run.states)
        assert refused(run.event) == 3  # fmi2Error
        assert "a solver must stop at the time of each event" in run.messages[-1].form


def test_angles_are_counted_over_full_turns() -> None:
    with Exchanged(fmu("slider_crank")).start() as run:
        run.run(3.0, span=0.05)
        assert run.get(["crank.phi"]) == pytest.approx(by_steps("slider_crank", 3.0, ["crank.phi"]), abs=1e-6)


def test_a_restored_state_has_the_same_derivatives_to_the_bit() -> None:
    with Exchanged(fmu("slider_crank")).start() as run:
        run.run(0.3)
        saved, time = run.model.getFMUstate(), 0.3
        first = run.rates(time, run.states)
        run.at(0.4, run.states + 0.1)
        run.model.setFMUstate(saved)
        assert list(run.rates(time, run.states)) == list(first)
        run.model.freeFMUstate(saved)


@pytest.mark.parametrize("name", ["pendulum", "ball"])
@pytest.mark.parametrize(("solver", "error"), [("CVode", 1e-4), ("Euler", 2e-2)])
def test_fmpy_integrates_it_with_its_solvers(name: str, solver: str, error: float) -> None:
    unpacked = fmu(name, "both")
    model = MODELS[name]() if name in MODELS else name
    tight = {"relative_tolerance": 1e-7} if solver == "CVode" else {"step_size": 1e-4}
    found = simulate_fmu(
        str(unpacked.folder), stop_time=0.6, fmi_type="ModelExchange", solver=solver, output=["y"],
        output_interval=0.01, **tight,
    )  # fmt: skip
    assert found["y"][-1] == pytest.approx(by_steps(model, 0.6, ["y"])[0], abs=error)


@pytest.mark.parametrize("tolerance", [1e-6, 1e-8])
def test_a_gap_that_opens_gently_has_few_events_with_a_rough_solver(tolerance: float) -> None:
    found = simulate_fmu(
        str(fmu("cam_follower").folder), stop_time=0.1, solver="CVode", relative_tolerance=tolerance,
        output=["events.count", "touch.gap"], output_interval=0.01, record_events=False,
    )  # fmt: skip
    alone = mbfmu.simulate("cam_follower", 0.1, stepper="projected", step=1e-4, output_interval=0.01)
    assert alone["events.count"][-1] == 32
    assert found["events.count"][-1] <= 40  # 24 and 19; flights lower than the solver's errors are none
    assert found["touch.gap"] == pytest.approx(alone["touch.gap"], abs=10 * tolerance)  # 0.8 and 2.3 times


FACES = {"1+2": ("rear_top", "front_top", -1), "3+4": ("rear_bottom", "front_bottom", 1)}
"""The corners of each face of the slider, by their numbers in the reference, and the side of that face."""


def rattled(tolerance: float) -> tuple[Any, list[tuple[str, float]]]:
    """Run the slider with play in its guide; return all that was recorded, and what hits faster than 1 mm/s, and when.

    The speed is that of the pin, whose height is that of both corners of a slider that does not turn.
    """
    corners = [corner for *each, _ in FACES.values() for corner in each]
    shown = ["th1", "th2", "om1", "om2", "events.count", *(f"{corner}.impacts" for corner in corners)]
    rows = simulate_fmu(
        str(fmu("slider_crank_clearance").folder), stop_time=0.1, solver="CVode", relative_tolerance=tolerance,
        output=shown, output_interval=2e-4,
    )  # fmt: skip
    hits = []
    for before, after in pairwise(rows):
        rise = 0.153 * np.cos(before["th1"]) * before["om1"] + 0.306 * np.cos(before["th2"]) * before["om2"]
        for face, (rear, front, side) in FACES.items():
            struck = [after[f"{corner}.impacts"] > before[f"{corner}.impacts"] for corner in (rear, front)]
            if any(struck) and -side * rise > 1e-3:
                assert all(struck)
                hits.append((face, float(before["time"])))
    return rows, hits


def test_a_slider_that_rattles_in_its_guide_meets_the_impacts_of_the_reference() -> None:
    """However often it comes to rest on a face: each time its bounces become lower than a solver's errors."""
    reported = reference("slider_crank_clearance")
    expected = [(word.split()[1][:3], time) for time, word in reported["events"] if "impact" in word]
    rows, hits = rattled(1e-10)
    assert [face for face, _ in hits] == [face for face, _ in expected]
    assert [time for _, time in hits] == pytest.approx([time for _, time in expected], abs=1e-6)  # 1.4e-7
    last = [float(rows[name][-1]) for name in ("th1", "th2", "om1", "om2")]
    at_end = [reported["states"][-1][k] for k in (0, 1, 3, 4)]
    assert last == pytest.approx(at_end, rel=1e-7)  # 1e-8
    assert rows["events.count"][-1] < 120  # 61


@pytest.mark.parametrize("tolerance", [1e-6, 1e-8, 1e-9])
def test_a_rough_solver_rattles_through_bounces_it_cannot_resolve(tolerance: float) -> None:
    rows, _ = rattled(tolerance)
    assert rows["time"][-1] == pytest.approx(0.1)
    assert rows["events.count"][-1] < 1000  # 233, 264, 94
    turned = reference("slider_crank_clearance")["states"][-1][0]
    assert rows["th1"][-1] == pytest.approx(turned, abs=3e3 * tolerance)  # 500 times the tolerance at most


@pytest.mark.parametrize(
    ("name", "shown", "error"),
    thorough(
        [
            ("slider_crank_friction", ["theta", "slider_v"], 400),
            ("four_bar_clearance", ["crank.phi", "pin.slip"], 15000),
        ],
        lambda name, *_: name == "slider_crank_friction",
    ),
)
@pytest.mark.parametrize("tolerance", [1e-6, 1e-8, 1e-10])
def test_slips_that_turn_and_bounces_in_a_joint_converge_with_the_tolerance(
    name: str, shown: list[str], error: float, tolerance: float
) -> None:
    """The error is relative to the tolerance; 44 and 1500 were measured."""
    found = simulate_fmu(
        str(fmu(name).folder), stop_time=1.0, solver="CVode", relative_tolerance=tolerance, output=shown,
        output_interval=0.01,
    )  # fmt: skip
    assert [found[item][-1] for item in shown] == pytest.approx(by_steps(name, 1.0, shown), abs=error * tolerance)


@pytest.mark.parametrize("steps", [200, 1000, 5000])
def test_a_rod_that_bounces_comes_to_rest_with_eulers_method(steps: int) -> None:
    """Less energy is left than that of a fall over two steps, which the method cannot tell from rest."""
    step = 2.0 / steps
    found = simulate_fmu(
        str(fmu("bouncing_rod").folder), stop_time=2.0, solver="Euler", step_size=step, output_interval=step,
        output=["energy.total"],
    )  # fmt: skip
    assert found["time"][-1] == pytest.approx(2.0)
    assert abs(found["energy.total"][-1]) < (9.81 * 2 * step) ** 2 / 2  # 0.2 times that


def test_an_event_that_a_solver_missed_is_asked_for_at_the_next_accepted_point() -> None:
    with Exchanged(fmu("ball")).start() as run:
        run.at(0.1, [0.1, -1.0])
        assert run.model.completedIntegratorStep() == (0, 0)
        run.at(0.2, [-0.01, -2.0])
        assert run.model.completedIntegratorStep() == (1, 0)
        run.event()
        assert run.states[1] == pytest.approx(1.0)
        assert run.model.completedIntegratorStep() == (0, 0)


def test_a_sampling_that_a_solver_missed_is_asked_for_at_the_next_accepted_point() -> None:
    with Exchanged(fmu("sampled_pid_two_link")).start() as run:
        due = run.next
        for time, wanted in ((0.9 * due, 0), (1.4 * due, 1)):
            run.at(time, run.states)
            assert run.model.completedIntegratorStep() == (wanted, 0)
        assert run.event()[1] == pytest.approx(2 * due)
        assert run.model.completedIntegratorStep() == (0, 0)


IN_SPACE = {
    "turns downhill and stops": lambda: puck(0.3, mu=0.4, v=(-1.0, 1.5)),
    "slides": lambda: puck(0.4, mu=0.3, v=(-1.0, 1.5)),
    "bounces and sticks": lambda: puck(0.0, 0.7, 0.1, height=1.0, v=(1.0, 0.0), rest=1e-10),
    "begins to slide": lambda: puck(0.3, mu=0.2, mu_s=0.25),
    "slides until it rolls": lambda: thrown(
        SphereOnPlane("touch", radius=0.5, mu=0.3), False, 0.3, r_rel=(0.0, 0.0, 0.5), v_rel=(2.0, 1.0, 0.0),
        w_rel=(0.0, 0.0, 1.0),
    ),
}  # fmt: skip
"""Bodies that rub in space at one contact; test_contacts.py holds their motion by steps to closed forms."""


@pytest.mark.parametrize("name", thorough(zip(IN_SPACE), lambda name: name.startswith("turns")))
def test_friction_in_space_at_one_contact_acts_as_it_does_in_steps(name: str, tmp_path: Path) -> None:
    shown = [*(f"body.{what}[{k}]" for what in ("r_0", "v_0") for k in (1, 2, 3)), "touch.slip[1]", "touch.slip[2]"]
    system = IN_SPACE[name]()
    steps = by_steps(system, 3.0, [*shown, "touch.sticks", "touch.closed"])
    made = exchanged(system, tmp_path / "rubs.fmu")
    modes = [made.references[f"touch.{mode}"] for mode in ("sticks", "closed")]
    with Exchanged(made).start() as run:
        run.run(3.0, 1e-10)
        assert run.get(shown) == pytest.approx(steps[:-2], abs=1e-8)
        assert run.model.getBoolean(modes) == steps[-2:]
    for solver, error in (({"solver": "CVode", "relative_tolerance": 1e-8}, 1e-5), ({"solver": "Euler"}, 5e-2)):
        found = simulate_fmu(str(made.folder), stop_time=3.0, output=shown, output_interval=3e-3, **solver)
        assert [found[item][-1] for item in shown] == pytest.approx(steps[:-2], abs=error)


@pytest.mark.parametrize(
    ("name", "end"), [("ball", 6.0), ("ball", 0.2), ("incline", 0.1), ("stick_slip", 1.0), ("stick_slip", 2.5)]
)
def test_an_event_at_which_nothing_falls_changes_no_modes_and_once_projected_no_states(name: str, end: float) -> None:
    with Exchanged(fmu(name)).start() as run:
        run.run(end, span=end)
        modes = [item.valueReference for item in run.fmu.variables.values() if item.type == "Boolean"]
        count = [run.fmu.references["events.count"]]
        before = run.model.getInteger(count), run.model.getBoolean(modes)
        run.event()
        states, indicators = list(run.states), list(run.indicators)
        for _ in range(3):
            run.model.enterEventMode()
            assert not run.model.newDiscreteStates()[3]
            assert not run.update()[0]
        assert before == (run.model.getInteger(count), run.model.getBoolean(modes))
        assert (states, indicators) == (list(run.states), list(run.indicators))


def test_a_force_that_jumps_at_an_event_ends_sticking_where_it_exceeds_the_limit() -> None:
    with Exchanged(fmu("incline")).start() as run:
        limit = run.indicators[0]
        for push, sticks in ((0.9 * limit, 1), (1.1 * limit, 0)):
            run.model.enterEventMode()
            run.set({"push": push})
            run.update()
            assert run.model.getBoolean([run.fmu.references["plane.sticks"]]) == [sticks]
        assert run.rates(0.0, run.states)[1] == pytest.approx(0.1 * limit, rel=1e-9)


def test_nothing_is_computed_while_a_value_is_refused() -> None:
    with Exchanged(fmu("incline")).start() as run:
        before = run.rates(0.0, run.states)
        run.set({"push": np.nan})
        refused(lambda: run.rates(0.0, run.states))
        assert "while a value is refused: push = nan" in run.messages[-1].text
        refused(run.event)
        run.set({"push": 0.0})
        run.update()
        assert list(run.rates(0.0, run.states)) == list(before)


def test_a_point_that_a_solver_rejects_leaves_no_trace() -> None:
    with Exchanged(fmu("slider_crank")).start() as run:
        run.run(0.3)
        x, shown = run.states, ["crank.phi", "slider.s"]
        before = run.get(shown)
        run.rates(0.5, x + 3.0)
        run.at(0.3, x)
        assert run.get(shown) == before


def test_a_restored_state_meets_the_same_events_to_the_bit() -> None:
    with Exchanged(fmu("ball")).start() as run:
        run.run(0.2, span=0.2)
        saved, ends = run.model.getFMUstate(), []
        for _ in range(2):
            run.model.setFMUstate(saved)
            run.at(0.5, [0.0, -4.0])
            run.event()
            ends.append((list(run.states), list(run.indicators), run.get(["events.time"])))
        assert ends[0] == ends[1]
        run.model.setFMUstate(saved)
        run.model.freeFMUstate(saved)
        assert run.get(["events.time"]) != [0.5]


@pytest.mark.parametrize("call", ["ContinuousStates", "Derivatives", "EventIndicators", "NominalsOfContinuousStates"])
def test_another_number_of_states_or_indicators_is_refused(call: str) -> None:
    with Exchanged(fmu("ball")).start() as run:
        room = (fmi2.c_double * 9)()
        refused(lambda: getattr(run.model, f"get{call}")(room, 5))
        assert "not 5" in run.messages[-1].text
        assert list(room) == [0.0] * 9


@pytest.mark.parametrize("name", ["ball", "slider_crank", "hydraulic_monolith"])
def test_both_versions_have_the_same_derivatives_and_indicators_to_the_bit(name: str) -> None:
    other = fmu(name, fmi="3.0")
    exchange = other.description.modelExchange
    new: Any = fmi3.FMU3Model(
        guid=other.description.guid, unzipDirectory=str(other.folder), modelIdentifier=exchange.modelIdentifier,
        instanceName="two",
    )  # fmt: skip
    n, n_z = len(other.description.derivatives), len(other.description.eventIndicators)

    def vector(call: Any, size: int) -> list[float]:
        room = (fmi3.c_double * size)()
        call(room, size)
        return list(room)

    with Exchanged(fmu(name)).start() as old:
        assert (n, n_z) == (old.n, old.n_indicators)
        new.instantiate()
        new.enterInitializationMode(startTime=0.0)
        new.exitInitializationMode()
        new.updateDiscreteStates()
        new.enterContinuousTimeMode()
        x = list(old.states)
        assert vector(new.getContinuousStates, n) == x
        for k in range(3):
            time, at = 0.1 * k, [value + 1e-3 * k for value in x]
            rates = list(old.rates(time, at))
            new.setTime(time)
            new.setContinuousStates((fmi3.c_double * n)(*at), n)
            assert vector(new.getContinuousStateDerivatives, n) == rates
            assert vector(new.getEventIndicators, n_z) == list(old.indicators)
            old.event()
            new.enterEventMode()
            new.updateDiscreteStates()
            new.enterContinuousTimeMode()
            assert vector(new.getContinuousStates, n) == list(old.states)
        new.terminate()
        new.freeInstance()


def test_sampled_blocks_compute_over_either_version_alike() -> None:
    found = [
        simulate_fmu(
            str(fmu("sampled_pid_two_link", fmi=fmi).folder), stop_time=0.1, solver="Euler", step_size=1e-3,
            output=["elbow.phi"],
        )["elbow.phi"].tolist()
        for fmi in ("2.0", "3.0")
    ]  # fmt: skip
    assert found[0] == found[1]


def test_friction_in_space_at_several_contacts_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(StepperError, match=r"friction in space at several contacts .'floor1', 'left1'"):
        mbfmu.export(mbfmu.load("pile", {"N": 1}), tmp_path / "pile.fmu", kind="me", backend="native")


def test_an_fmu_for_both_steps_as_one_for_steps_alone(tmp_path: Path) -> None:
    both = fmu("pendulum", "both")
    alone = exchanged("pendulum", tmp_path / "alone.fmu", kind="cs")
    found = []
    for each in (both, alone):
        with Instance(each).start() as run:
            for k in range(20):
                run.step(k * 0.05, 0.05)
            found.append(run.get(["x", "y", "der(x)"]))
    assert found[0] == found[1]
    assert not validate_fmu(str(both.folder.with_suffix(".fmu")))


@pytest.mark.parametrize("name", thorough(zip(["ball", "stick_slip"]), lambda name: name == "ball"))
def test_contacts_have_both_uses_over_fmi_3_with_the_bits_of_each_alone(name: str) -> None:
    both = fmu(name, "both", "3.0")
    path = both.folder.with_suffix(".fmu")
    assert mbfmu.check(path) == []
    assert not validate_fmu(str(path))
    variables = {item.variable.name for item in both.description.eventIndicators}
    assert variables == {"events.indicator[1]"}
    for kind, fmi_type in (("cs", "CoSimulation"), ("me", "ModelExchange")):
        alone = fmu(name, kind, "3.0")
        shown = [item.name for item in alone.description.modelVariables if item.causality == "output"]
        asked = {"fmi_type": fmi_type, "output": shown, "stop_time": 0.8, "output_interval": 0.05}
        found = [simulate_fmu(str(each.folder), relative_tolerance=1e-8, **asked) for each in (both, alone)]
        assert found[0].tobytes() == found[1].tobytes()
        indicator = simulate_fmu(str(both.folder), **{**asked, "output": [*variables, shown[0]]})
        assert np.ptp(indicator["events.indicator[1]"]) > 0.01
        if name == "ball":
            rising = indicator["events.indicator[1]"] > 1e-6
            np.testing.assert_allclose(indicator["events.indicator[1]"][rising], indicator["y"][rising], atol=1e-9)


def test_contacts_by_steps_have_no_solver_beside_them(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'moreau' decides contacts by steps, .* leave the stepper out, or export"):
        mbfmu.export(ball(), tmp_path / "x.fmu", kind="both", backend="native", stepper="moreau")
    assert not list(tmp_path.iterdir())


def test_a_call_outside_its_mode_is_refused_by_name() -> None:
    with Exchanged(fmu("pendulum")) as run:
        refused(lambda: run.rates(0.0, [0.0] * run.n))
        assert "may not be called before the initialisation mode" in run.messages[-1].text
        run.start()
        refused(run.model.enterContinuousTimeMode)
        end = "fmi2EnterContinuousTimeMode may not be called in the continuous-time mode"
        assert run.messages[-1].text.endswith(end)


def test_a_call_for_another_kind_of_fmi_3_tells_what_the_instance_is_for() -> None:
    other, told = fmu("ball", fmi="3.0"), []
    run: Any = fmi3.FMU3Model(
        guid=other.description.guid, unzipDirectory=str(other.folder), instanceName="one",
        modelIdentifier=other.description.modelExchange.modelIdentifier,
    )  # fmt: skip
    run.instantiate(loggingOn=True, logMessage=lambda *item: told.append(item[-1].decode()))
    refused(run.fmi3ActivateModelPartition, run.component, 0, 0.0)
    assert told[-1].endswith("it belongs to scheduled execution, and this instance is for model exchange")
    run.freeInstance()


def test_states_that_are_not_finite_are_discarded_with_a_word() -> None:
    with Exchanged(fmu("pendulum")).start() as run:
        before = run.states
        refused(lambda: run.at(0.0, [float("nan")] * run.n))
        assert "not finite" in run.messages[-1].text
        assert list(run.states) == list(before)


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"backend": "python"}, "--backend native"),
        ({"backend": "native", "stepper": "rattle"}, "no stepper"),
        ({"backend": "native", "real_time": 3}, "no stepper"),
    ],
)
def test_what_model_exchange_does_not_take_is_refused(given: dict[str, Any], word: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=word):
        mbfmu.export("pendulum", tmp_path / "x.fmu", kind="me", **given)
    assert not list(tmp_path.iterdir())

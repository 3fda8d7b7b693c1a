"""compare: errors against a converged reference, failures as rows, advice from the numbers."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbfmu
from mbfmu.analysis.compare import ComparedRun, Comparison, _advice, compare
from mbfmu.errors import StepperError, UnknownNameError, UsageError
from mbfmu.model import Revolute, System
from mbfmu.run.resolved import ranges
from mbfmu.show.plot import plot_comparison


@pytest.fixture(scope="module")
def found(two_link: System) -> Comparison:
    """Four steppers with three steps on the arm."""
    names = ("rattle", "projected:order=5", "radau", "direct")
    return compare(two_link, 1.0, steppers=names, steps=(0.02, 0.01, 0.005), coordinates="absolute")


def test_errors_fall_with_the_order_of_the_stepper(found: Comparison) -> None:
    for stepper, order in (("rattle", 2), ("direct", 4), ("radau", 5)):
        errors = [row.error for row in found.rows if row.stepper == stepper]
        assert len(errors) == 3
        assert np.log2(errors[0] / errors[2]) / 2 > order - 0.6


def test_the_reference_is_far_better_than_what_it_judges(found: Comparison) -> None:
    assert found.accuracy < 1e-11


def test_the_advice_names_steppers_whose_numbers_bear_it_out(found: Comparison) -> None:
    held = {row.stepper for row in found.rows if max(row.position, row.velocity) < 1e-10}
    assert "direct" not in found.advice.split("for long runs")[1]
    assert any(f"for real time {name}" in found.advice for name in held)
    assert "for stiff forces radau" in found.advice


def test_the_advice_names_no_stepper_that_leaves_the_constraints_while_others_keep_them(found: Comparison) -> None:
    assert max(row.position for row in found.rows if row.stepper == "direct") > 1e-10
    assert found.advice.startswith("For accuracy")
    assert "direct" not in found.advice


def test_if_all_leave_the_constraints_the_advice_says_so(two_link: System) -> None:
    loose = compare(two_link, 1.0, steppers=("direct",), steps=(0.02, 0.01), coordinates="absolute")
    assert loose.advice.startswith("For accuracy take direct")
    assert loose.advice.endswith("All of these leave the constraints.")
    kept = compare(two_link, 1.0, steppers=("direct",), steps=(0.02, 0.01), coordinates="joint")
    assert "direct" in kept.advice
    assert "leave" not in kept.advice


def test_a_step_that_is_too_long_for_a_stepper_does_not_hide_that_it_keeps_the_constraints() -> None:
    rows = [
        ComparedRun("projected", 0.01, failure="too long"),
        ComparedRun("projected", 0.001, 1e-6, 1e-16, 1e-16, 1e-6, 0.0, 0.5, 1.0, 1e-6),
        ComparedRun("direct", 0.01, 1e-5, 1e-5, 1e-5, 1e-5, 0.0, 0.2, 0.1, 1e-5),
    ]
    advice = _advice(rows)
    assert "direct" not in advice
    assert "projected at h = 0.001 s" in advice


def test_a_stepper_that_cannot_take_the_model_is_a_row_with_the_reason() -> None:
    rows = compare(mbfmu.load("ice_skate"), 1.0, steps=(0.01,)).rows
    failures = {row.stepper: row.failure for row in rows if row.failure}
    assert "nonholonomic" in failures["rattle"]
    assert not any(name.startswith("nodal_impulse") for name in failures)


def test_tables_and_pictures_are_written_whole(found: Comparison, tmp_path: Path) -> None:
    lines = found.write(tmp_path / "t.csv").read_text().splitlines()
    assert lines[0].startswith("stepper,h,error,position,velocity,energy")
    assert len(lines) == 13
    assert found.advice in found.write(tmp_path / "t.md").read_text()
    assert plot_comparison(found, tmp_path / "t.png").stat().st_size > 10_000
    with pytest.raises(UsageError, match=r"\.csv or \.md"):
        found.write(tmp_path / "t.txt")


def test_mistakes_are_refused_by_name(two_link: System) -> None:
    with pytest.raises(UsageError, match="at most the stop time"):
        compare(two_link, 0.1, steps=(0.2,))
    with pytest.raises(UsageError, match=r"a run of 1 s needs 1e\+300 steps of 1e-300 s, and at most 1e\+07 are"):
        compare(two_link, 1.0, steps=(1e-2, 1e-300))
    with pytest.raises(UsageError, match="is not a time"):
        compare(two_link, float("nan"))
    with pytest.raises(UnknownNameError, match="ratle"):
        compare(two_link, 1.0, coordinates="absolute", steppers=("ratle",))
    with pytest.raises(StepperError, match="no option"):
        compare(two_link, 1.0, steppers=("gauss:stage=2",))


def test_errors_are_those_of_the_whole_run_and_not_of_its_end() -> None:
    """A pendulum that swings back to its start is late there, but nearly at rest: the error is larger on the way."""
    runs = [compare("pendulum", stop, steppers=("rattle",), steps=(0.01,)).rows[0] for stop in (0.5, 1.0, 2.36)]
    assert runs[0].error < runs[1].error <= runs[2].error
    assert runs[1].energy >= runs[0].energy > 0


def test_runs_are_told_as_they_end_and_kept_when_it_is_stopped(two_link: System) -> None:
    told: list[ComparedRun] = []

    def stop(row: ComparedRun) -> None:
        told.append(row)
        if len(told) == 2:
            raise KeyboardInterrupt

    found = compare(two_link, 0.5, steppers=("projected", "rattle"), steps=(0.02, 0.01), ended=stop)
    assert found.rows == tuple(told)
    assert found.notices == ("stopped after 2 of 4 runs",)
    assert "projected" in found.advice


def test_the_advice_names_the_stepper_and_step_that_reach_1e_4_of_the_ranges_in_the_least_time() -> None:
    """Neither does with 1 ms: shorter steps follow from the orders. A run of its own with that step bears it out."""
    stop = 0.4
    machine = compare("hydraulic_monolith", stop, steppers=("rattle", "generalized_alpha"))
    good = [row for row in machine.rows if row.relative <= 1e-4]
    best = min(good, key=lambda row: row.ms)
    assert best.h < 1e-3
    assert f"for accuracy take {best.stepper} at h = {best.h:.3g} s (errors below 0.0001" in machine.advice.lower()
    ways: dict[str, Any] = {"output_interval": stop / 40, "error_samples": 0}
    run = mbfmu.simulate("hydraulic_monolith", stop, stepper=best.stepper, step=best.h, **ways)
    exact = mbfmu.simulate("hydraulic_monolith", stop, stepper="radau", options={"stages": 5}, step=5e-4, **ways)
    for name in ("q", "w", "p1", "p2"):
        assert np.abs(run[name] - exact[name]).max() < 1.5e-4 * np.ptp(exact[name])


def test_steps_that_are_named_are_all_that_is_tried() -> None:
    rows = compare("two_link", 0.1, steppers=("rattle",), steps=(0.05,)).rows
    assert [row.h for row in rows] == [0.05]
    assert rows[0].relative > 1e-4


def test_a_model_whose_forces_are_stiff_has_a_reference_too() -> None:
    """No explicit stepper passes 6 ms with such steps."""
    (row,) = compare("flyball_governor", 0.04, steppers=("radau",), steps=(0.01,)).rows
    assert row.error < 1e-6


def test_a_comparison_drives_the_inputs_that_it_is_given() -> None:
    inputs = {"elbow.tau": "10*sin(20*time)"}
    system = mbfmu.load("two_link")
    driven = replace(
        system,
        components=tuple(
            replace(item, actuated=True) if isinstance(item, Revolute) and item.name == "elbow" else item
            for item in system.components
        ),
    )
    (still,), (moved,) = (
        compare(driven, 0.2, steppers=("rattle",), steps=(0.02,), inputs=given).rows for given in (None, inputs)
    )
    run = mbfmu.simulate(driven, 0.2, stepper="rattle", step=0.02, output_interval=0.02, inputs=inputs, error_samples=0)
    exact = mbfmu.simulate(driven, 0.2, stepper="projected", step=1e-3, output_interval=0.02, inputs=inputs)
    off = max(np.abs(run[name] - exact[name]).max() for name in ("shoulder.phi", "elbow.phi"))
    assert moved.error == pytest.approx(off, rel=1e-3)
    assert moved.error != pytest.approx(still.error, rel=0.1)


def test_errors_of_angles_are_relative_to_their_own_range_beside_pressures() -> None:
    run = mbfmu.simulate("hydraulic_monolith", 0.2, step=1e-3)
    assert np.ptp(run["p1"]) > 1e5 > 1e5 * np.ptp(run["q"]) > 0
    assert ranges(run)["q"] == np.ptp(run["q"])

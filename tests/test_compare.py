"""compare: errors against a converged reference, failures as rows, advice from the numbers."""

from pathlib import Path

import numpy as np
import pytest

from mbfmu.analysis.compare import ComparedRun, Comparison, _advice, compare
from mbfmu.errors import StepperError, UnknownNameError, UsageError
from mbfmu.model import System
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
        ComparedRun("projected", 0.001, 1e-6, 1e-16, 1e-16, 1e-6, 0.0, 0.5, 1.0),
        ComparedRun("direct", 0.01, 1e-5, 1e-5, 1e-5, 1e-5, 0.0, 0.2, 0.1),
    ]
    advice = _advice(rows)
    assert "direct" not in advice
    assert "projected at h = 0.001 s" in advice


def test_a_stepper_that_cannot_take_the_model_is_a_row_with_the_reason() -> None:
    import mbfmu

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

"""The error of a run, estimated by step doubling: against the truth, and without a change of the motion."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbfmu
from mbfmu.errors import ResultWarning, UsageError

QUIET = {"output_interval": 0.02}


def true_error(name: str, stop: float, settings: dict[str, Any], reference: dict[str, Any]) -> tuple[float, Any]:
    """Return the largest error of a run by another run, relative to the ranges as an estimate is, and the run."""
    run = mbfmu.simulate(name, stop, **QUIET, **settings)
    exact = mbfmu.simulate(name, stop, error_samples=0, **QUIET, **reference)
    errors = []
    for key in run.error.by_variable:
        if key in run.names:
            span = run[key].max() - run[key].min()
            errors.append(np.abs(run[key] - exact[key]).max() / span if span > 1e-3 else 0.0)
    return max(errors), run


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("two_link", {"stepper": "rattle", "step": 5e-3}),
        ("two_link", {"stepper": "direct", "step": 2e-2}),
        ("two_link", {"stepper": "generalized_alpha", "step": 5e-3}),
        ("two_link", {"stepper": "gauss", "step": 2e-2}),
        ("slider_crank", {"stepper": "rattle", "step": 5e-3, "coordinates": "absolute"}),
        ("slider_crank", {"stepper": "projected", "options": {"order": 5}, "step": 2e-2}),
        ("four_bar", {"stepper": "radau", "step": 1e-2}),
        ("crane", {"stepper": "rattle", "step": 5e-3}),
    ],
)
def test_the_estimate_is_the_true_error_within_a_factor_of_ten(name: str, settings: dict[str, Any]) -> None:
    """By a run of order 8 with a fraction of the step, in joint coordinates."""
    reference = {"stepper": "projected", "options": {"order": 8}, "step": 1e-3}
    true, run = true_error(name, 2.0, settings, reference)
    assert 0.1 < run.error.value / true < 10


@pytest.mark.parametrize(
    ("name", "stop"),
    [("slider_crank_clearance", 0.5), ("woodpecker", 1.0), ("cam_follower", 1.0), ("disk_with_stop", 1.0)],
)
@pytest.mark.filterwarnings("ignore::mbfmu.errors.ResultWarning")
def test_the_estimate_includes_what_impacts_make_of_errors(name: str, stop: float) -> None:
    """By a run with a tenth of the step."""
    true, run = true_error(name, stop, {"step": 1e-3}, {"step": 1e-4})
    assert 0.1 < run.error.value / true < 10


def test_the_estimate_falls_with_the_square_of_the_step_in_a_method_of_order_two() -> None:
    run = mbfmu.simulate("pendulum", 4.0, step=0.02, stepper="rattle", error_samples=1)
    halved = mbfmu.simulate("pendulum", 4.0, step=0.01, stepper="rattle", error_samples=1)
    assert run.error.value / halved.error.value == pytest.approx(4, rel=0.1)


@pytest.mark.parametrize("tolerance", [0.0, 1e-5])
@pytest.mark.parametrize("name", ["slider_crank", "woodpecker", "sampled_pid_two_link"])
def test_a_run_has_the_same_bits_with_and_without_an_estimate(name: str, tolerance: float) -> None:
    runs = [mbfmu.simulate(name, 0.3, tolerance=tolerance, error_samples=samples) for samples in (0, 3)]
    assert runs[0].values.tobytes() == runs[1].values.tobytes()
    assert runs[0].steps == runs[1].steps
    assert math.isnan(runs[0].error.value)
    assert runs[1].error.value > 0


@pytest.mark.parametrize(("name", "stepper"), [("slider_crank", "rattle"), ("two_link", None), ("heavy_top", "radau")])
def test_a_run_with_a_tolerance_of_its_result_meets_it_and_says_with_which_step(name: str, stepper: Any) -> None:
    run = mbfmu.simulate(name, 1.0, stepper=stepper, step=1e-2, tolerance_of_result=1e-5, **QUIET)
    true, again = true_error(
        name,
        1.0,
        {"stepper": stepper, "step": run.step},
        {"stepper": "projected", "options": {"order": 8}, "step": 2e-4},
    )
    assert again.values.tobytes() == run.values.tobytes()
    assert 0 < true < 1.5e-5
    assert run.error.value <= 1e-5


@pytest.mark.parametrize("tolerance", [-1e-3, 1.0, math.nan])
def test_a_tolerance_of_the_result_that_makes_no_sense_is_refused(tolerance: float) -> None:
    with pytest.raises(UsageError, match="between 0 and 1"):
        mbfmu.simulate("two_link", 0.1, tolerance_of_result=tolerance)
    with pytest.raises(UsageError, match="leave --tolerance out"):
        mbfmu.simulate("two_link", 0.1, tolerance_of_result=1e-4, tolerance=1e-6)


def test_a_fit_with_larger_errors_of_its_steps_than_it_leaves_in_the_data_says_so(tmp_path: Path) -> None:
    exact = mbfmu.simulate("pendulum", 2.0, step=1e-3)
    exact.write(tmp_path / "data.csv")
    how: dict[str, Any] = {"stepper": "rattle", "outputs": ["x"]}
    coarse, fine = (mbfmu.fit("pendulum", tmp_path / "data.csv", ["g"], step=h, **how) for h in (2e-2, 1e-4))
    assert any("take a smaller step" in text for text in coarse.notices)
    assert not fine.notices


def test_a_sweep_measures_the_error_of_its_runs() -> None:
    rows = mbfmu.sweep("two_link", 0.5, measures={"off": "error"}, vary={"m2": [0.5, 1.0]})
    assert all(0 < row.measures["off"] < 1e-6 for row in rows)


def test_what_a_damped_motion_forgets_does_not_add_up() -> None:
    """Of h' = -2 h + sin(3 t), whose error after 200 s is that after 5 s: a sum of all errors is 400 times as large."""
    block = mbfmu.model.Block(
        "low_pass",
        states=(mbfmu.model.State("h", "-2*h + sin(3*time)", "1", 0.0),),
        defined=(mbfmu.model.Defined("out", "h", output=True),),
    )
    how: dict[str, Any] = {"stepper": "projected", "step": 0.02, "output_interval": 0.1}
    long = mbfmu.simulate(block, 200.0, **how)
    exact = mbfmu.simulate(block, 200.0, **how | {"step": 0.002}, error_samples=0)
    true = np.abs(long["out"] - exact["out"]).max()
    assert 0.3 < long.error.by_variable["h"] / true < 60


@pytest.mark.parametrize(("backend", "fmi"), [("native", "2.0"), ("native", "3.0"), ("python", "2.0")])
def test_every_kind_of_fmu_has_the_error_of_its_run(backend: str, fmi: str, tmp_path: Path) -> None:
    how: dict[str, Any] = {"stepper": "rattle", "step": 5e-3}
    path = mbfmu.export("two_link", tmp_path / "f.fmu", backend=backend, fmi=fmi, **how)
    run = mbfmu.simulate(path, 1.0, output_interval=5e-3)
    expected = mbfmu.simulate("two_link", 1.0, output_interval=5e-3, **how).error
    assert run["solver.error"][-1] == pytest.approx(expected.value, rel=1e-12)
    none = mbfmu.simulate(path, 1.0, values={"solver.error_samples": 0.0})
    assert not none["solver.error"].any()


def test_a_state_of_a_simulation_takes_the_error_along() -> None:
    simulation = mbfmu.Simulation("slider_crank", step=2e-3, stepper="rattle")
    for _ in range(50):
        simulation.step(None, 2e-3)
    state, found = simulation.state, []
    for _ in range(2):
        simulation.restore(state)
        simulation.step(None, 0.3)
        found.append(simulation.error)
    assert found[0] == found[1]
    assert 0 < found[0].value < 1e-2


def test_the_estimate_does_not_depend_on_the_output_points() -> None:
    errors = [mbfmu.simulate("four_bar", 0.5, output_interval=dt).error for dt in (1e-3, 2.5e-2)]
    assert errors[0].name == errors[1].name
    assert errors[0].value == pytest.approx(errors[1].value, rel=1e-6)


def test_a_run_with_a_noticeable_error_says_which_variable_and_what_to_do() -> None:
    with pytest.warns(
        ResultWarning, match=r"estimated error of .* % of its range, most of it from t = .* smaller step"
    ):
        run = mbfmu.simulate("beam_pendulum", 0.2)
    assert run.error.value > 0.01
    assert run.error.name in run.error.by_variable


def test_the_command_shows_the_estimate_and_takes_none_with_zero(said: Callable[..., str]) -> None:
    assert "estimated error" in said("simulate", "two_link", "--stop", "0.1")
    assert "estimated error" not in said("simulate", "two_link", "--stop", "0.1", "--error-samples", "0")
    shown = json.loads(said("simulate", "two_link", "--stop", "0.1", "--json"))["error"]
    assert 0 < shown["value"] < 1e-6
    assert shown["name"] in shown["by_variable"]


@pytest.mark.parametrize("samples", [-1, 10**9])
def test_a_number_of_samples_that_makes_no_sense_is_refused(samples: int) -> None:
    with pytest.raises(UsageError, match="whole number of steps"):
        mbfmu.simulate("two_link", 0.1, error_samples=samples)

"""One FMU, three masters: FMPy, libcosim and ecos see the same motion."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from masters import Array, MasterError, needs_loader, run_ecos, run_fmpy, run_libcosim

import mbfmu
from mbfmu.model import System

NAMES = (
    "shoulder.tau", "elbow.tau", "shoulder.phi", "elbow.phi", "shoulder.w", "elbow.w", "shoulder.a", "elbow.a",
    "energy.total", "link2.frame_b.r_0[1]", "link2.frame_b.r_0[2]",
)  # fmt: skip
TORQUES = {"shoulder.tau": 12.0, "elbow.tau": -3.0}
pytestmark = needs_loader
OTHERS = {"libcosim": run_libcosim, "ecos": run_ecos}


@pytest.fixture(scope="module")
def fmpy_series(two_link_fmu: Path) -> Array:
    return run_fmpy(two_link_fmu, TORQUES, NAMES)


def test_fmpy_runs_one_second_of_one_millisecond_steps(fmpy_series: Array) -> None:
    assert fmpy_series.shape == (1000, len(NAMES))
    assert np.all(fmpy_series[:, :2] == [12.0, -3.0])
    assert np.ptp(fmpy_series[:, 2]) > 0.1


@pytest.mark.parametrize("run", OTHERS.values(), ids=OTHERS)
def test_a_master_gives_the_series_of_fmpy(run: Callable[..., Array], two_link_fmu: Path, fmpy_series: Array) -> None:
    np.testing.assert_allclose(run(two_link_fmu, TORQUES, NAMES), fmpy_series, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_ecos_runs_an_fmu_of_fmi_3_to_the_series_of_fmpy(two_link: System, fmpy_series: Array, tmp_path: Path) -> None:
    path = mbfmu.export(two_link, tmp_path / "two_link.fmu", stepper="rattle", step=1e-3, backend="native", fmi="3.0")
    names = NAMES[:9]  # the others are elements of an array
    np.testing.assert_allclose(run_ecos(path, TORQUES, names), fmpy_series[:, :9], rtol=1e-9, atol=1e-9)


def test_fmpy_gives_the_series_of_the_kernel(two_link: System, fmpy_series: Array) -> None:
    inputs = {name: str(value) for name, value in TORQUES.items()}
    result = mbfmu.simulate(two_link, 1.0, stepper="rattle", step=1e-3, output_interval=1e-3, inputs=inputs)
    expected = np.column_stack([result[name][1:] for name in NAMES])
    np.testing.assert_allclose(fmpy_series, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("run", OTHERS.values(), ids=OTHERS)
def test_start_values_and_parameters_reach_the_model_through_a_master(
    run: Callable[..., Array], two_link_fmu: Path
) -> None:
    values = {"shoulder.phi": 0.4, "shoulder.w": -1.0, "l1": 1.5, "world.g": 1.6, "solver.step": 5e-4}
    names = ("l1", "world.g", "solver.step", *NAMES)
    expected = run_fmpy(two_link_fmu, values, names, stop=0.05)
    assert np.all(expected[:, :3] == [1.5, 1.6, 5e-4])
    np.testing.assert_allclose(run(two_link_fmu, values, names, stop=0.05), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("run", [run_fmpy, run_libcosim])
def test_a_step_that_cannot_be_done_stops_a_master_without_a_crash(
    run: Callable[..., Array], two_link_fmu: Path
) -> None:
    with pytest.raises(MasterError, match=r"two_link: no step from t = 0 s") as caught:
        run(two_link_fmu, {"shoulder.tau": 1e90}, NAMES, stop=0.01)
    assert caught.value.status == 1


def test_ecos_which_ignores_a_discarded_step_sees_the_state_before_it(two_link_fmu: Path) -> None:
    found = run_ecos(two_link_fmu, {"shoulder.tau": 1e90}, ("shoulder.phi", "shoulder.w", "energy.total"), stop=0.01)
    assert np.all(found == 0.0)


def test_an_impossible_start_stops_fmpy_with_the_reason(two_link_fmu: Path) -> None:
    with pytest.raises(MasterError, match=r"l1 = -1\.0: outside its bounds") as caught:
        run_fmpy(two_link_fmu, {"l1": -1.0}, NAMES, stop=0.01)
    assert caught.value.status == 1


def test_ecos_which_ignores_an_impossible_start_does_not_crash(two_link_fmu: Path) -> None:
    """And libcosim ends its process with the reason whenever an initialisation fails, whatever the FMU."""
    found = run_ecos(two_link_fmu, {"l1": -1.0}, ("l1", "shoulder.phi", "shoulder.w"), stop=0.01)
    assert np.all(found == [1.0, 0.0, 0.0])

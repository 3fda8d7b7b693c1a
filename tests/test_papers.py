"""The papers' examples give the numbers they should, and fail where the papers do."""

from functools import cache
from math import isinf
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from examples import report
from examples.papers import block_methods, local_index_1, nonholonomic, rigid_body, survey

pytestmark = pytest.mark.slow
EXAMPLES = (local_index_1, survey, block_methods, rigid_body, nonholonomic)


LONG_STEPS = pytest.mark.filterwarnings("ignore::mbfmu.errors.ResultWarning")
"""Leave to tell that steps change the energy: a paper tries how long they may be."""


@cache
def run(example: ModuleType) -> report.Found:
    found: report.Found = example.run()
    return found


@LONG_STEPS
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.__name__.rpartition(".")[2])
def test_every_example_prints_its_table_and_draws_its_figure(
    example: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = run(example)
    assert all(isinstance(value, float) for value in found.numbers.values())
    assert not any(np.isnan(value) for value in found.numbers.values())
    path = tmp_path / "figure.png"
    monkeypatch.setattr("sys.argv", ["example", "--plot", str(path)])
    report.present("title", lambda: found, example.rows)
    assert "measured" in capsys.readouterr().out
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_figure_of_no_format_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = np.arange(2.0)
    panel = report.Panel("title", "x", "y", {"line": (line, line)})
    monkeypatch.setattr("sys.argv", ["example", "--plot", "figure.txt"])
    with pytest.raises(SystemExit):
        report.present("title", lambda: report.Found({}, (panel,), 1), lambda _: [])
    assert "'figure.txt': a figure ends in .png" in capsys.readouterr().err


def test_local_equations_have_order_2_and_hold_the_constraints() -> None:
    found = run(local_index_1).numbers
    assert found["error up to 2 s"] < 4e-3
    assert found["error up to 10 s"] < 2e-2
    for name, value in {
        "1": (9.2e-4, 1.5e-3),
        "2": (2.1e-3, 1.8e-3),
        "5": (5.0e-3, 4.2e-3),
        "10": (1e-2, 1.1e-2),
    }.items():
        assert (found[f"x2, error up to {name} s"], found[f"th2, error up to {name} s"]) == pytest.approx(
            value, rel=0.05
        )
    assert found["order"] == pytest.approx(2, abs=0.15)
    assert found["frozen, order"] == pytest.approx(2, abs=0.15)
    assert found["Phi"] < 1e-14
    assert found["bases differ by"] < 1e-12
    assert found["error up to 2 s"] < found["frozen, error up to 2 s"] < 5e-3


def test_the_papers_iteration_takes_four_to_six_passes_whatever_its_tolerance() -> None:
    found = run(local_index_1).numbers
    for tolerance, iterations in {"1e-04": 3.6, "1e-05": 4.1, "1e-06": 4.9, "1e-08": 6.0}.items():
        assert found[f"EPS = {tolerance}, iterations"] == pytest.approx(iterations, abs=0.2)
    assert found["EPS = 1e-04, Phi"] < 5e-10
    assert found["EPS = 1e-08, Phi"] < 1e-14


def test_time_as_a_coordinate_runs_at_a_wrong_rate() -> None:
    found = run(local_index_1).numbers
    assert found["t a coordinate, clock at 2 s"] == pytest.approx(3.258, abs=1e-3)
    assert found["t a coordinate, angle"] > 0.5
    assert found["t a parameter, clock at 2 s"] == pytest.approx(2, abs=1e-12)
    assert found["t a parameter, angle"] < 1e-5


def test_the_surveys_methods_rank_as_it_says() -> None:
    found = run(survey).numbers
    assert found["separation, LU, h = 0.01, Phi"] < 1e-14
    assert found["separation, QR, h = 0.01, error"] < 1e-5
    assert found["direct, Adams PECE, h = 0.01, error"] < 6e-5
    assert found["error correction 5, 5, h = 0.01, Phi"] < found["direct, Adams PECE, h = 0.01, Phi"]
    assert found["error correction 50, 50, h = 0.01, error"] > 3 * found["error correction 5, 5, h = 0.01, error"]
    assert found["direct, Runge-Kutta, h = 0.01, error"] == pytest.approx(3.3e-4, rel=0.1)
    for h in ("0.01", "0.002"):
        assert found[f"separation, QR, h = {h}, error"] == found[f"separation, SVD, h = {h}, error"]
        assert found[f"separation, QR, h = {h}, error"] < found[f"direct, Adams PECE, h = {h}, error"]


def test_error_correction_stops_the_drift_and_diverges_if_too_strong() -> None:
    found = run(survey).numbers
    direct, corrected = ([found[f"{name}, Phi at {t} s"] for t in survey.TIMES] for name in survey.LONG[:2])
    assert direct[2] > 3 * direct[1] > 30 * direct[0]
    assert max(corrected) < 1e-6
    assert isinf(found["error correction 200, 200, h = 0.01, error"])
    assert found["error correction 200, 200, h = 0.002, error"] < 1e-6


def test_block_methods_meet_their_errors_at_every_index() -> None:
    found = run(block_methods).numbers
    assert found["index 1, equidistant, error at 5 s"] < 2e-6
    assert found["index 2, equidistant, error at 5 s"] < 2e-4
    assert found["index 2, equidistant, Phi_q v"] < 1e-10
    assert found["index 3, equidistant, Phi"] < 1e-13
    for index in block_methods.INDICES:
        assert found[f"r = 2, index {index}, order"] == pytest.approx(3, abs=0.2)
        assert found[f"r = 3, index {index}, order"] == pytest.approx(4.9, abs=0.2)


def test_the_energy_of_block_methods_drifts() -> None:
    found = run(block_methods).numbers
    for index in (2, 3):
        for nodes in block_methods.NODES:
            means = [abs(found[f"index {index}, {nodes}, energy in window {k}"]) for k in (1, 2, 3, 4, 5)]
            assert means == sorted(means)
            assert means[4] > 5 * means[0]


def test_block_methods_are_l_stable_for_two_stages_only() -> None:
    found = run(block_methods).numbers
    sectors = {2: (90, 90, 90), 3: (86.5, 76.7, 81.7), 4: (58.4, 0, 0), 5: (0, 0, 0)}
    growths = {2: (1, 1, 1), 3: (1.165, 1.498, 1.349), 4: (2.23, 4.10, 3.35), 5: (5.34, 13.97, 10.6)}
    for stages, expected in sectors.items():
        angles = [found[f"r = {stages}, {nodes}, sector"] for nodes in block_methods.NODES]
        assert angles == pytest.approx(expected, abs=0.1)
        largest = [found[f"r = {stages}, {nodes}, growth on the imaginary axis"] for nodes in block_methods.NODES]
        assert largest == pytest.approx(growths[stages], rel=3e-3)
    assert found["r = 2, equidistant, growth on the imaginary axis"] <= 1 + 1e-12
    assert found["r = 3, equidistant, growth on the imaginary axis"] == pytest.approx(1.165, abs=1e-3)
    assert found["r = 4, equidistant, growth on the imaginary axis"] == pytest.approx(2.23, abs=1e-2)


def test_block_methods_of_six_and_seven_stages_are_not_zero_stable() -> None:
    found = run(block_methods).numbers
    for stages, expected in {6: (1.285, 1.384, 1.344), 7: (3.60, 4.72, 4.37)}.items():
        growths = [found[f"r = {stages}, {nodes}, growth at h = 0"] for nodes in block_methods.NODES]
        assert growths == pytest.approx(expected, rel=2e-3)


def test_the_momentum_form_is_bounded_where_the_velocity_form_fails() -> None:
    found = run(rigid_body).numbers
    assert found["case 1, momentum"] < 1e-8
    assert found["case 2, momentum"] < 1e-4
    assert found["case 2, momentum, energy of q / |q|"] < 0.05
    assert found["case 3, momentum, energy of q / |q| in 100 s"] < 0.2
    assert found["case 3, momentum, median of the largest"] < 0.2
    assert found["case 1, velocity"] > 1
    assert found["case 2, velocity"] > 1
    assert found["case 3, velocity"] > 1
    # it grows from round-off: ten times as much moves the time by 1.2 s
    assert found["case 1, velocity, 10 % after"] == pytest.approx(17.5, abs=1.5)
    assert [found[f"case 2, velocity, {percent} % after"] for percent in (10, 100)] == [3, 5]
    assert [found[f"case 3, velocity, {percent} % after"] for percent in (10, 100)] == [9, 13]


def test_the_momentum_form_keeps_the_spatial_angular_momentum_exactly() -> None:
    found = run(rigid_body).numbers
    for case in ("case 1", "case 2", "case 3"):
        assert found[f"{case}, momentum, H"] < 1e-10


def test_renormalising_rescues_the_velocity_form_and_destroys_the_momentum_form() -> None:
    found = run(rigid_body).numbers
    for h in ("0.001", "0.01"):
        assert found[f"case 1, velocity, growth, h = {h}"] == pytest.approx(1.369, rel=0.02)
    assert found["case 1, velocity, renormalised"] < 1e-7
    assert found["case 2, momentum, renormalised"] > 1


def test_the_rotation_of_a_rigid_body_has_order_6_in_both_forms() -> None:
    found = run(rigid_body).numbers
    for case in ("case 2", "case 3"):
        for form in rigid_body.FORMS:
            assert found[f"{case}, {form}, rotation, order"] == pytest.approx(6, abs=0.15)
        assert found[f"{case}, momentum, omega, order"] == pytest.approx(6, abs=0.15)
        assert found[f"{case}, velocity, omega, order"] == pytest.approx(4, abs=0.15)
        assert found[f"{case}, velocity, q.q', order"] == pytest.approx(2, abs=0.15)


def test_the_printed_ends_of_case_3_lie_within_the_scatter() -> None:
    found = run(rigid_body).numbers
    for what, printed in (("energy", 0.0027), ("H_z", 0.0141)):
        low, high = (found[f"case 3, {what} at the end, {percent} %"] for percent in (5, 95))
        assert low < printed < high < 0.3
        assert 0 < found[f"case 3, {what} at the end, better than printed"] < 0.5


def test_the_unprojected_scheme_fails_exponentially_on_a_multibody_system() -> None:
    found = run(rigid_body).numbers
    assert found["two_link, none"] > 1e3 * found["two_link, symmetric"]
    expected = {0.01: (2.1e-8, 1.5e-5, 1.3e-2, 5.6e-1, 2.3e1), 0.002: (3.3e-11, 2.2e-8, 2.2e-5, 9.6e-4, 4.0e-2)}
    for h, errors in expected.items():
        measured = [found[f"two_link, none, h = {h:g}, {t:g} s"] for t in rigid_body.TIMES]
        assert measured == pytest.approx(errors, rel=0.1)
    assert found["two_link, symmetric"] < 2e-8


@LONG_STEPS
def test_nodal_impulses_keep_the_energy_and_the_constraints() -> None:
    found = run(nonholonomic).numbers
    assert found["skate, h = 0.01, velocity"] < 1.1e-5
    assert found["skate, h = 0.1, velocity"] / found["skate, h = 0.01, velocity"] == pytest.approx(100, rel=0.1)
    assert found["skate, h = 0.01, constraint"] < 1e-15
    assert found["skate, h = 0.01, segment"] < 1e-11
    assert found["skate, h = 0.01, lambda"] < 1e-9
    assert found["skate, h = 0.1, state"] == pytest.approx(1.02e-3, rel=0.01)
    assert found["skate, h = 0.1, energy"] == pytest.approx(5.0e-3, rel=0.01)
    assert found["skate, order"] == pytest.approx(2, abs=0.02)
    kept = [f"well {start}, {action}" for start in nonholonomic.STARTS for action in nonholonomic.ACTIONS]
    kept += [f"disk, spin 8, {action}" for action in nonholonomic.ACTIONS]
    for name in kept:
        first, last = (found[f"{name}, energy, {quarter} quarter"] for quarter in nonholonomic.QUARTERS)
        assert last == pytest.approx(first, rel=0.05)
        assert last < 3e-3
    for action in nonholonomic.ACTIONS:
        assert found[f"disk, spin 8, {action}, constraint"] < 1e-14
        assert found[f"disk, spin 8, {action}, order"] == pytest.approx(2, abs=0.06)


@LONG_STEPS
def test_the_printed_disk_falls_and_its_step_finds_no_solution() -> None:
    found = run(nonholonomic).numbers
    assert found["disk, spin 0.8, least theta"] == pytest.approx(0.1187, abs=1e-3)
    assert found["disk, spin 0.8, largest rate of psi"] == pytest.approx(57, abs=1)
    assert all(isinf(found[f"disk, spin 0.8, {action}, h = 0.1, error"]) for action in nonholonomic.ACTIONS)
    errors = [found[f"disk, spin 0.8, midpoint, h = {h:g}, error"] for h in nonholonomic.FINE]
    assert errors == pytest.approx([2.3, 0.86, 0.24, 0.060], rel=0.03)
    assert found["disk, spin 0.8, midpoint, order"] == pytest.approx(2, abs=0.05)

"""The papers' examples give the numbers they should, and fail where the papers do."""

import pytest

from examples.papers import block_methods, local_index_1, nonholonomic, rigid_body, survey

pytestmark = pytest.mark.slow


def test_local_equations_have_order_2_and_hold_the_constraints() -> None:
    found = local_index_1.main()
    assert found["error up to 2 s"] < 4e-3
    assert found["error up to 10 s"] < 2e-2
    assert found["order"] == pytest.approx(2, abs=0.15)
    assert found["Phi"] < 1e-14
    assert found["bases differ by"] < 1e-12
    assert found["error up to 2 s"] < found["frozen, error up to 2 s"] < 5e-3


def test_the_surveys_methods_rank_as_it_says() -> None:
    found = survey.main()
    assert found["separation, LU"][1] < 1e-14
    assert found["separation, QR"][0] < 1e-5
    assert found["direct, Adams PECE"][0] < 6e-5
    assert found["error correction 5, 5"][1] < found["direct, Adams PECE"][1]
    assert found["error correction 50, 50"][0] > 3 * found["error correction 5, 5"][0]


def test_block_methods_meet_their_errors_and_are_l_stable_for_two_stages_only() -> None:
    found = block_methods.main()
    assert found["index 1, error"] < 2e-6
    assert found["index 2, error"] < 2e-4
    assert found["index 2, Phi_q v"] < 1e-10
    assert found["index 3, Phi"] < 1e-13
    assert found["r = 2, growth on the imaginary axis"] <= 1 + 1e-12
    assert found["r = 3, growth on the imaginary axis"] == pytest.approx(1.165, abs=1e-3)
    assert found["r = 4, growth on the imaginary axis"] == pytest.approx(2.23, abs=1e-2)


def test_the_momentum_form_is_bounded_where_the_velocity_form_fails() -> None:
    found = rigid_body.main()
    assert found["case 1, momentum"] < 1e-8
    assert found["case 2, momentum"] < 0.05
    assert found["case 3, momentum"] < 0.2
    assert found["case 1, velocity"] > 1
    assert found["case 2, velocity"] > 1
    assert found["case 3, velocity"] > 1
    assert found["two_link, none"] > 1e3 * found["two_link, symmetric"]


def test_nodal_impulses_keep_the_energy_and_the_printed_disk_falls() -> None:
    found = nonholonomic.main()
    assert found["skate, h = 0.01, velocity"] < 1.1e-5
    assert found["skate, h = 0.1, velocity"] / found["skate, h = 0.01, velocity"] == pytest.approx(100, rel=0.1)
    assert found["skate, h = 0.01, constraint"] < 1e-15
    for action in ("midpoint", "trapezoid"):
        first, last = (found[f"well, {action}, energy, {quarter} quarter"] for quarter in ("first", "last"))
        assert last == pytest.approx(first, rel=0.05)
    assert found["disk, spin 8, constraint"] < 1e-14
    assert found["disk, spin 0.8, least theta"] == pytest.approx(0.1187, abs=1e-3)

"""The whole excavator in one FMU: it rests, follows its cycle, keeps its constraints and accounts for its energy."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from masters import Instance, Unpacked, need, run_ecos, run_fmpy, run_libcosim

import mbfmu
from mbfmu.model import Block, Defined, Port, State, System, wire

JOINTS = ("boom", "stick", "bucket")
CYLINDERS = ("lift", "crowd", "curl")
LOSSES = ("pump", *CYLINDERS, *(f"{name}_valve" for name in CYLINDERS))
STORES = ("line", *CYLINDERS)
SHOWN = (
    *(f"{name}.phi" for name in JOINTS),
    *(f"oil.{name}.p_{port}" for name in CYLINDERS for port in "ab"),
    *(f"control.{name}.command" for name in JOINTS),
    "oil.line.p", "oil.pump.x",
)  # fmt: skip
CYCLE = 10.0
"""s."""


def metered() -> System:
    """Return the excavator with a meter of the energy that comes in and is not lost."""
    machine: Any = mbfmu.load("excavator")
    powers = ("supplied", *(f"lost_{k}" for k in range(len(LOSSES))))
    meter = Block(
        "meter",
        inputs=tuple(Port(name, "W") for name in powers),
        states=(State("kept", "supplied - lost", "J", nominal=1e3), State("given", "supplied", "J", nominal=1e3)),
        defined=(
            Defined("lost", " + ".join(powers[1:]), "W"),
            Defined("energy", "kept", "J", output=True),
            Defined("work", "given", "J", output=True),
        ),
    )
    wires = (
        wire("oil.pump.supplied", "meter.supplied"),
        *(wire(f"oil.{name}.lost", f"meter.lost_{k}") for k, name in enumerate(LOSSES)),
    )
    return replace(machine, components=(*machine.components, meter), wires=(*machine.wires, *wires))


def unaccounted(run: mbfmu.Result) -> np.ndarray:
    """Return the energy of mechanism and oil less what has come in and is not lost, from the start on, J."""
    stored = run["energy.total"] + sum(run[f"oil.{name}.stored"] for name in STORES)
    left: np.ndarray = stored - stored[0] - run["meter.energy"]
    return left


@pytest.fixture(scope="module")
def cycle() -> mbfmu.Result:
    return mbfmu.simulate(metered(), CYCLE, step=1e-3, output_interval=0.005)


def test_a_machine_at_rest_stays_there_until_its_path_begins(cycle: mbfmu.Result) -> None:
    rest = cycle.time < 0.5
    for name in SHOWN:
        series = cycle[name][rest]
        assert np.ptp(series) < 1e-9 * max(1.0, abs(series[0])), name  # measured 9e-16
    assert all(np.ptp(cycle[f"{name}.phi"]) > 0.5 for name in JOINTS)


def test_the_joints_follow_the_dig_cycle(cycle: mbfmu.Result) -> None:
    bounds = {"boom": 0.015, "stick": 0.025, "bucket": 0.06}  # rad; measured 0.011, 0.019, 0.048
    for name, bound in bounds.items():
        error = np.abs(cycle[f"{name}.phi"] - cycle[f"control.{name}_path.y"]).max()
        assert 1e-4 < error < bound, name
        assert np.abs(cycle[f"control.{name}.command"]).max() < 1.0, name  # no valve is wide open


def test_pressures_stay_between_tank_and_relief_valve(cycle: mbfmu.Result) -> None:
    series = [cycle[f"oil.{name}.p_{port}"] for name in CYLINDERS for port in "ab"]
    assert np.min(series) > 0.0
    assert np.max(series) < 2.1e7


def test_the_linkage_is_closed_to_round_off(cycle: mbfmu.Result) -> None:
    assert cycle["constraint.position"].max() < 1e-14  # measured 9e-16
    assert cycle["constraint.velocity"].max() < 1e-13


def test_what_the_shaft_gives_is_stored_or_lost_within_the_steppers_error(cycle: mbfmu.Result) -> None:
    ways: dict[str, Any] = {"stepper": "projected", "output_interval": 0.005, "error_samples": 0}
    fine, coarse = (mbfmu.simulate(metered(), CYCLE, step=step, **ways) for step in (1e-3, 2.5e-3))
    default, here, there = (np.abs(unaccounted(run)).max() for run in (cycle, fine, coarse))
    assert cycle["meter.work"][-1] > 6e4
    assert default < 1e-12 * cycle["meter.work"][-1]  # measured 1e-14
    assert here < 1e-10 * cycle["meter.work"][-1]  # measured 6e-12
    assert there > 2.5**4 * here  # the order of the stepper, or more: measured 310


def test_a_hundred_seconds_of_power_are_stored_or_lost_within_the_steppers_error() -> None:
    run = mbfmu.simulate(metered(), 10 * CYCLE, step=1e-3, output_interval=0.1)
    assert np.abs(unaccounted(run)).max() < 1e-10 * run["meter.work"][-1]  # measured 6e-12


def test_a_controller_acts_at_its_ticks_whatever_the_masters_step() -> None:
    machine = mbfmu.load("excavator")
    fine, odd = mbfmu.Simulation(machine, step=1e-3), mbfmu.Simulation(machine, step=1e-3)
    names = [f"control.{name}.command" for name in JOINTS]
    for sim in (fine, odd):
        sim.step(None, 0.6)
    held = [odd[name] for name in names]
    for k in range(1, 41):
        before = int((odd.time + 1e-9) / 0.005)
        odd.step(None, 0.0017)
        now, held = held, [odd[name] for name in names]
        assert (now != held) == (int((odd.time + 1e-9) / 0.005) > before), k
    fine.step(None, odd.time - fine.time)
    assert held == pytest.approx([fine[name] for name in names], abs=1e-6)


@pytest.fixture(scope="module")
def fmu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("excavator")
    return mbfmu.export(mbfmu.load("excavator"), folder / "excavator.fmu", backend="native", platforms=["linux64"])


@pytest.mark.further
def test_the_fmu_gives_the_bits_of_a_simulation(fmu: Path, tmp_path: Path) -> None:
    alone, H = mbfmu.Simulation("excavator"), 1 / 128  # sums of these steps are exact
    with Instance(Unpacked(fmu, tmp_path / "fmu")).start() as run:
        for k in range(128):
            run.step(k * H, H)
            alone.step(None, H)
        assert alone["boom.phi"] < 0.34
        assert list(run.get(SHOWN)) == [alone[name] for name in SHOWN]


def test_the_fmu_goes_back_exactly(fmu: Path, tmp_path: Path) -> None:
    with Instance(Unpacked(fmu, tmp_path / "fmu")).start() as run:
        run.run(0, 70, 0.01, SHOWN)
        state = run.save()
        found = []
        for _ in range(2):
            found.append(run.run(70, 5, 0.01, SHOWN))
            run.restore(state)
    assert found[0] == found[1]


@pytest.mark.parametrize("master", ["libcosim", "ecos"])
def test_a_master_gives_the_series_of_fmpy(master: str, fmu: Path) -> None:
    need(master)
    run = {"libcosim": run_libcosim, "ecos": run_ecos}[master]
    expected = run_fmpy(fmu, {}, SHOWN, stop=0.7, step=5e-3)
    assert np.ptp(expected[:, 0]) > 1e-3
    np.testing.assert_allclose(run(fmu, {}, SHOWN, 0.7, 5e-3), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.further
def test_a_pythonfmu_of_it_passes_the_check_and_gives_the_native_series(fmu: Path, tmp_path: Path) -> None:
    path = mbfmu.export(mbfmu.load("excavator"), tmp_path / "excavator.fmu", backend="python")
    for each in (path, fmu):
        assert mbfmu.check(each) == []
    found, expected = (run_fmpy(each, {}, SHOWN, 0.7, 5e-3) for each in (path, fmu))
    np.testing.assert_allclose(found, expected, rtol=1e-12)

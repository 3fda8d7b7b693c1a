"""Machines with their drives and controllers inside: at rest at first, close to their paths, the whole as its parts."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbfmu
from mbfmu.errors import ValueRangeError
from mbfmu.model import Block, Sampled, Subsystem, System, Wire


def halves(system: System, name: str) -> tuple[System, System, list[tuple[str, str]]]:
    """Return a machine's mechanism and its drives as two systems, and what goes between them.

    Args:
        system: a mechanism with blocks.
        name: name of the mechanism's half.
    """
    driving = [
        item for item in system.components if isinstance(item, Subsystem) and isinstance(item.system, Block | Sampled)
    ]
    names = {item.name for item in driving}

    def sides(item: Wire) -> tuple[bool, bool]:
        return item.source.partition(".")[0] in names, item.target.partition(".")[0] in names

    def inner(side: bool) -> tuple[Wire, ...]:
        return tuple(item for item in system.wires if sides(item) == (side, side))

    moving = tuple(item for item in system.components if item not in driving)
    mechanism = System(name, moving, system.connections, system.parameters, stepper="projected", wires=inner(False))
    drives = System("drives", tuple(driving), wires=inner(True))
    between = [
        (f"drives.{item.source}", f"{name}.{item.target}")
        if sides(item)[0]
        else (f"{name}.{item.source}", f"drives.{item.target}")
        for item in system.wires
        if len(set(sides(item))) == 2
    ]
    return mechanism, drives, between


def largest(found: Any, names: Iterable[str]) -> float:
    """Return the largest magnitude of some columns."""
    return max(float(np.abs(found[name]).max()) for name in names)


# -- the robot arm ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def arm() -> Any:
    """Three joints of the arm with their drives, until the trajectories have ended."""
    return mbfmu.simulate("robot_arm_drives", 2.3, step=1e-3, output_interval=0.01, values={"N": 3})


def test_a_driven_arm_is_at_rest_until_its_trajectory_begins(arm: Any) -> None:
    early = arm.time < 0.099
    assert max(np.abs(arm[f"joint{i}.w"][early]).max() for i in (1, 2, 3)) < 1e-12  # measured 2e-17
    assert max(np.ptp(arm[f"motor{i}.i_q"][early]) for i in (1, 2, 3)) < 1e-10


def test_the_joints_of_a_driven_arm_stay_close_to_their_trajectories(arm: Any) -> None:
    away = {i: np.abs(arm[f"joint{i}.phi"] - arm[f"path{i}.y"]) for i in (1, 2, 3)}
    assert max(item.max() for item in away.values()) < 1e-3
    assert max(item[-1] for item in away.values()) < 2e-4
    assert all(abs(arm[f"path{i}.y"][-1] - arm[f"path{i}.y"][0]) > 0.4 for i in away)


def test_in_the_end_the_motors_carry_the_weight_of_the_arm() -> None:
    late = mbfmu.simulate("robot_arm_drives", 6.0, step=1e-3, output_interval=1.0, values={"N": 1})
    phi, current = late["joint1.phi"][-1], late["motor1.i_q"][-1]
    assert late["motor1.w"][-1] == pytest.approx(0, abs=1e-6)
    assert 160.0 * 1.5 * 4 * 0.0105 * current == pytest.approx(-9.81 * 0.5 * np.cos(phi), rel=1e-6)


def test_an_arm_with_its_drives_inside_is_what_its_coupled_halves_come_to(tmp_path: Path) -> None:
    soft = {"gear1.c": 3e4, "gear1.b": 15.0}  # a stiff gear between two FMUs takes steps of microseconds
    machine = mbfmu.load("robot_arm_drives", {"N": 1, "path1.T": 0.2, "path1.t_0": 0.02, **soft})
    assert isinstance(machine, System)
    mechanism, drives, between = halves(machine, "arm")
    assert len(between) == 2
    fmus = {
        "arm": mbfmu.export(mechanism, tmp_path / "arm.fmu", step=1e-4, backend="native", platforms=["linux64"]),
        "drives": mbfmu.export(
            drives, tmp_path / "drives.fmu", step=1e-4, stepper="projected", backend="native", platforms=["linux64"]
        ),
    }
    whole = mbfmu.simulate(machine, 0.2, step=1e-4, output_interval=2e-3)
    errors = []
    for H in (1e-3, 5e-4, 2.5e-4):
        found = mbfmu.couple(fmus, between, 0.2, H, outputs=["arm.joint1.phi"])
        each = round(2e-3 / H)
        errors.append(np.abs(found["arm.joint1.phi"][::each] - whole["joint1.phi"]).max())
    assert errors[0] < 1e-4  # measured 2.6e-5, 6.4e-6, 1.6e-6: of second order
    assert errors[1] < errors[0] / 3
    assert errors[2] < errors[1] / 3


@pytest.mark.parametrize("backend", ["native", "python"])
def test_a_driven_arm_exports_and_passes_the_check(backend: str, tmp_path: Path) -> None:
    more = {"platforms": ["linux64"]} if backend == "native" else {}
    system = mbfmu.load("robot_arm_drives", {"N": 1})
    path = mbfmu.export(system, tmp_path / "arm.fmu", step=1e-3, backend=backend, **more)
    assert mbfmu.check(path) == []
    wanted = mbfmu.simulate(system, 0.4, step=1e-3, output_interval=1e-3)
    found = mbfmu.simulate(path, 0.4, step=1e-3)
    assert np.abs(found["joint1.phi"] - wanted["joint1.phi"]).max() < 1e-12


@pytest.mark.parametrize("N", [0, 7])
def test_an_arm_has_one_to_six_joints(N: int) -> None:
    with pytest.raises(ValueRangeError, match=f"N = {N} must be between 1 and 6"):
        mbfmu.load("robot_arm_drives", {"N": N})

"""Machines with their drives and controllers inside: at rest at first, close to their paths, the whole as its parts."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mbfmu
from examples import driven
from examples.coupled import axes, split
from mbfmu import Wire
from mbfmu.dae import derive
from mbfmu.errors import ValueRangeError
from mbfmu.model import Block, Defined, Port, State, Subsystem, System, wire

# -- the robot arm ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def arm() -> Any:
    """Three joints of the arm with their drives, until the trajectories have ended."""
    return mbfmu.simulate("robot_arm_drives", 2.3, step=1e-3, output_interval=0.01, values={"N": 3})


def test_a_driven_arm_is_at_rest_until_its_trajectory_begins(arm: Any) -> None:
    early = arm.time < 0.099
    assert max(np.abs(arm[f"joint{i}.w"][early]).max() for i in (1, 2, 3)) < 1e-12  # measured 2e-17
    assert max(np.ptp(arm[f"motor{i}.i_q"][early]) for i in (1, 2, 3)) < 1e-10


def test_a_driven_arm_is_at_rest_until_its_trajectory_begins_whatever_its_parameters() -> None:
    """What carries it follows its masses and lengths, gears and motors."""
    other = {"link1.m": 3.0, "link1.r[1]": 1.2, "link2.r_CM[1]": 0.7, "world.g": 9.0, "gear1.c": 5e5, "gear2.n": 120.0}
    motor = {"axis2.n": 120.0, "motor1.psi": 0.02, "axis1.k_t": 0.12, "motor2.R": 0.2, "loop2.R": 0.2}
    early = mbfmu.simulate(
        "robot_arm_drives", 0.02, step=1e-3, output_interval=1e-3, values={"N": 2, "path1.t_0": 1.0, **other, **motor}
    )
    assert max(np.abs(early[f"joint{i}.w"]).max() for i in (1, 2)) < 1e-12
    assert max(np.ptp(early[f"motor{i}.i_q"]) for i in (1, 2)) < 1e-10


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


@pytest.mark.further
def test_an_arm_with_its_drives_inside_is_what_its_coupled_halves_come_to(tmp_path: Path) -> None:
    soft = {"gear1.c": 3e4, "gear1.b": 15.0}  # a stiff gear between two FMUs takes steps of microseconds
    machine = axes.load("robot_arm_drives", {"N": 1, "path1.T": 0.2, "path1.t_0": 0.02, **soft})
    cut = split.way(machine, "arm", {"drives": axes.blocks(machine)}, tmp_path)
    assert set(cut.wires) == {
        Wire("arm.joint1.w", "drives.gear1.w_2", 1.0),
        Wire("drives.gear1.tau_2", "arm.joint1.tau", 1.0),
    }
    study = replace(
        axes.STUDIES["arm"],
        machine=machine, shown=("joint1.phi",), mechanism="arm", stop=0.2, steps=(1e-3, 5e-4, 2.5e-4),
        ways={"halves": 2}, wholes={}, chosen={"halves": ()},
    )  # fmt: skip
    found = split.measured(study, lambda _: {"halves": cut})
    assert found["halves, 1 ms"] < 1e-4  # measured 2.6e-5, 6.4e-6, 1.6e-6
    assert found["halves, order"] == pytest.approx(2, abs=0.1)
    assert mbfmu.write_ssp(tmp_path / "arm.ssp", cut.fmus, cut.wires).exists()  # wires that fit nothing are refused


@pytest.mark.further
def test_the_example_of_both_machines_gives_the_figures_of_its_page() -> None:
    found = driven.main()
    assert found["arm, rest"] < 1e-12
    assert found["arm, error"] < 2e-3
    assert found["platform, rest"] < 1e-10
    assert found["platform, height"] < 3e-3
    assert found["platform, residual"] < 1e-13


def test_what_the_motor_of_an_arm_takes_is_stored_turned_into_heat_or_work() -> None:
    machine = mbfmu.load("robot_arm_drives", {"N": 1, "path1.T": 0.3, "path1.t_0": 0.02})
    assert isinstance(machine, System)
    flows = ("supplied", "motor_lost", "gear_lost")
    meter = Block(
        name="meter",
        inputs=tuple(Port(name, "W") for name in flows),
        states=(State("E", "supplied - motor_lost - gear_lost", "J"),),
        defined=(Defined("out", "E", "J", output=True),),
    )
    sources = ("motor1.supplied", "motor1.lost", "gear1.lost")
    wires = (wire(source, f"meter.{name}") for source, name in zip(sources, flows, strict=True))
    metered = replace(
        machine, components=(*machine.components, Subsystem("meter", meter)), wires=(*machine.wires, *wires)
    )
    found = mbfmu.simulate(metered, 0.4, step=1e-4, output_interval=1e-2)
    stored = found["energy.total"] + found["motor1.stored"] + found["gear1.stored"]
    assert np.ptp(found["meter.E"]) > 0.5
    assert np.abs(stored - stored[0] - found["meter.E"]).max() < 1e-7 * np.ptp(found["meter.E"])  # measured 8e-9


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


# -- the Stewart platform --------------------------------------------------------------------------------------------

LEGS = range(1, 7)
WORST = {"place": 3e-3, "pitch": 3e-3}
"""Bounds of the errors of the platform's height, m, and pitch, rad."""


def subsystem(name: str) -> Subsystem:
    """Return a block of the platform."""
    found = next(item for item in mbfmu.load("stewart_hydraulic").components if item.name == name)
    assert isinstance(found, Subsystem)
    return found


def test_the_controller_of_the_platform_computes_the_strokes_of_its_pose_and_their_rates() -> None:
    system = mbfmu.load("stewart")
    mounts = {item.name: item for item in system.components}
    feet, heads = (np.array([mounts[f"{end}{k}"].r for k in LEGS], dtype=float) for end in ("foot", "head"))
    home = np.linalg.norm(heads + np.array([0, 0, 2.0]) - feet, axis=1)
    found = mbfmu.simulate(subsystem("controller").system, 2.0, step=1e-3, output_interval=1e-3)
    for row in range(0, 2001, 125):
        turned = Rotation.from_euler("y", found["theta"][row]).apply(heads)
        wanted = np.linalg.norm(turned + np.array([0, 0, found["z"][row]]) - feet, axis=1) - home
        np.testing.assert_allclose([found[f"s_ref{k}"][row] for k in LEGS], wanted, atol=1e-12)
    for k in LEGS:
        slope = (found[f"s_ref{k}"][2:] - found[f"s_ref{k}"][:-2]) / 2e-3
        assert np.abs(found[f"v_ref{k}"][1:-1] - slope).max() < 1e-5 * np.abs(slope).max()
        assert np.abs(slope).max() > 0.1


@pytest.fixture(scope="module")
def platform() -> Any:
    """The platform in motion: it rises for a second, and swings."""
    return mbfmu.simulate("stewart_hydraulic", 2.5, step=5e-4, output_interval=0.01)


@pytest.mark.further
def test_a_hydraulic_platform_is_at_rest_until_its_motion_begins(platform: Any) -> None:
    early = platform.time < 0.099
    assert max(np.abs(platform[f"leg{k}.v"][early]).max() for k in LEGS) < 1e-10  # measured 2e-14
    assert max(np.ptp(platform[f"cylinder{k}.p_a"][early]) for k in LEGS) < 1e-2


@pytest.mark.further
def test_valve_and_cylinder_of_a_leg_start_in_balance(platform: Any) -> None:
    none = ca.DM(0, 1)
    valve, cylinder = subsystem("valve1"), subsystem("cylinder1")
    p_a, p_b, y = (platform[name][0] for name in ("cylinder1.p_a", "cylinder1.p_b", "valve1.y"))
    equations = derive(valve.system)
    given = [y, 0.0], none, none, none, [y, p_a, p_b, 2.1e7, 0.0], equations.p_default(), 0.0
    shown = np.array(equations.output(none, none, *given)).ravel()
    flows = dict(zip((item.name for item in equations.outputs), shown, strict=True))
    rates = np.array(equations.equations.flow(none, none, given[0], given[4], equations.p_default(), 0.0)).ravel()
    assert list(rates) == [0.0, 0.0]
    given_values = {key: value for key, value in cylinder.values.items() if key not in {"p_a", "p_b"}}
    oil = derive(cylinder.system.with_values(given_values))
    rates = np.array(
        oil.equations.flow(none, none, [p_a, p_b], [0.0, 0.0, flows["q_a"], flows["q_b"]], oil.p_default(), 0.0)
    )
    assert np.abs(rates).max() < 1e2  # Pa/s, of the 1e6 that a flow of 1e-6 m3/s makes


@pytest.mark.further
def test_a_hydraulic_platform_is_at_rest_until_its_motion_begins_whatever_its_parameters() -> None:
    """Pressures and spools follow the weights, leg by leg, and what feeds and carries them."""
    weights = {"platform.m": 1500.0, "tube2.m": 300.0, "rod3.m": 90.0, "rod3.r_CM[3]": -0.5, "world.g": 9.0}
    oil = {"supply.p_0": 2.5e7, "cylinder4.D": 0.07, "cylinder5.C_i": 3e-13, "valve1.q_n": 8e-4, "valve3.c": 2e-3}
    early = mbfmu.simulate("stewart_hydraulic", 0.05, step=5e-4, output_interval=1e-2, values={**weights, **oil})
    assert max(np.abs(early[f"leg{k}.v"]).max() for k in LEGS) < 1e-10  # measured 3e-14
    assert max(np.ptp(early[f"cylinder{k}.p_a"]) for k in LEGS) < 1e-2


@pytest.mark.further
def test_a_hydraulic_platform_follows_the_heave_and_pitch_asked_for_within_its_constraints(platform: Any) -> None:
    quaternion = np.array([platform[f"platform.Q[{i}]"] for i in (2, 3, 4, 1)]).T
    pitch = Rotation.from_quat(quaternion).as_rotvec()[:, 1]
    assert np.abs(platform["platform.r_0[3]"] - platform["controller.z"]).max() < WORST["place"]
    assert np.abs(pitch - platform["controller.theta"]).max() < WORST["pitch"]
    assert np.ptp(platform["platform.r_0[3]"]) > 0.15
    assert np.ptp(pitch) > 0.07
    assert platform["constraint.position"].max() < 1e-13  # measured 1.3e-15
    assert platform["constraint.velocity"].max() < 1e-13
    pressures = np.array([platform[f"cylinder{k}.p_{side}"] for k in LEGS for side in "ab"])
    assert 0 < pressures.min() < pressures.max() < 2.1e7


@pytest.mark.further
@pytest.mark.parametrize("backend", ["native", "python"])
def test_a_hydraulic_platform_exports_and_passes_the_check(backend: str, tmp_path: Path) -> None:
    more = {"platforms": ["linux64"]} if backend == "native" else {}
    path = mbfmu.export("stewart_hydraulic", tmp_path / "platform.fmu", step=5e-4, backend=backend, **more)
    assert mbfmu.check(path) == []
    wanted = mbfmu.simulate("stewart_hydraulic", 0.5, step=5e-4, output_interval=1e-2)
    found = mbfmu.simulate(path, 0.5, step=5e-4, output_interval=1e-2)
    assert np.abs(found["leg1.s"] - wanted["leg1.s"]).max() < 1e-11

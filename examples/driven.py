"""Machines with their drives inside: a robot arm on six servo drives, a platform on six servo axes.

Each is one system. The arm is cut into mechanism and drives as well, two FMUs whose coupled motion comes to that of the
whole as the communication step falls.

Run: python -m examples.driven [--plot FILE]
"""

import tempfile
from collections.abc import Sequence
from math import log2
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

import mbfmu
from examples.report import Found, Panel, Row, present
from mbfmu.model import Block, Sampled, Subsystem, System, Wire

JOINTS = LEGS = range(1, 7)
STOP = {"arm": 2.5, "platform": 5.0}
"""s."""
STEP = 5e-4
"""Of the platform, s; the arm's drives sample every 1e-4 s."""
COUPLED_STOP = 0.3
COUPLED_STEPS = (2e-4, 1e-4, 5e-5)
"""Communication steps, s."""


def halves(system: System, name: str) -> tuple[System, System, list[tuple[str, str]]]:
    """Return a machine's mechanism and its drives as two systems, and what goes between their FMUs.

    Args:
        system: a mechanism with blocks.
        name: name of the mechanism's half; the other one is ``drives``.
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
    drives = System("drives", tuple(driving), wires=inner(True), stepper="projected")
    between = [
        (f"drives.{item.source}", f"{name}.{item.target}")
        if sides(item)[0]
        else (f"{name}.{item.source}", f"drives.{item.target}")
        for item in system.wires
        if len(set(sides(item))) == 2
    ]
    return mechanism, drives, between


def coupling_errors(machine: System, steps: Sequence[float], stop: float, joints: Sequence[int]) -> list[float]:
    """Return how far the arm's coupled halves come from the whole, rad, for each communication step, s."""
    mechanism, drives, between = halves(machine, "arm")
    names, interval = [f"joint{i}.phi" for i in joints], steps[0]
    whole = mbfmu.simulate(machine, stop, step=steps[-1], output_interval=interval)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        fmus = {
            half.name: mbfmu.export(
                half, Path(folder) / f"{half.name}.fmu", step=steps[-1], backend="native", platforms=["linux64"]
            )
            for half in (mechanism, drives)
        }
        for H in steps:
            run = mbfmu.couple(fmus, between, stop, H, outputs=[f"arm.{name}" for name in names])
            away = [run[f"arm.{name}"][:: round(interval / H)] - whole[name] for name in names]
            found.append(float(np.abs(away).max()))
    return found


def run() -> Found:
    """Run both machines, and the arm's halves."""
    machine = mbfmu.load("robot_arm_drives")
    assert isinstance(machine, System)
    arm = mbfmu.simulate(machine, STOP["arm"], step=1e-3, output_interval=5e-3)
    off = {i: arm[f"joint{i}.phi"] - arm[f"path{i}.y"] for i in JOINTS}
    errors = coupling_errors(machine, COUPLED_STEPS, COUPLED_STOP, JOINTS)
    platform = mbfmu.simulate(mbfmu.load("stewart_hydraulic"), STOP["platform"], step=STEP, output_interval=5e-3)
    time, t = arm.time, platform.time
    pitch = Rotation.from_quat(np.array([platform[f"platform.Q[{i}]"] for i in (2, 3, 4, 1)]).T).as_rotvec()[:, 1]
    height_error = platform["platform.r_0[3]"] - platform["controller.z"]
    pitch_error = pitch - platform["controller.theta"]
    pressures = np.array([platform[f"cylinder{k}.p_{side}"] for k in LEGS for side in "ab"]) / 1e6
    residuals = [float(platform[f"constraint.{level}"].max()) for level in ("position", "velocity")]
    early = {"arm": time < 0.099, "platform": t < 0.099}
    numbers = {
        "arm, rest": max(float(np.abs(arm[f"joint{i}.w"][early["arm"]]).max()) for i in JOINTS),
        "arm, error": max(float(np.abs(item).max()) for item in off.values()),
        "arm, end": max(float(np.abs(item[-1])) for item in off.values()),
        "arm, current": max(float(np.abs(arm[f"motor{i}.i_q"]).max()) for i in JOINTS),
        "arm, coupled": errors[-1],
        "arm, order": log2(errors[-2] / errors[-1]),
        "platform, rest": max(float(np.abs(platform[f"leg{k}.v"][early["platform"]]).max()) for k in LEGS),
        "platform, height": float(np.abs(height_error).max()),
        "platform, pitch": float(np.abs(pitch_error).max()),
        "platform, least pressure": float(pressures.min()),
        "platform, greatest pressure": float(pressures.max()),
        "platform, residual": max(residuals),
    }
    panels = (
        Panel(
            "arm: joints against their trajectories", "t [s]", "[mrad]",
            {f"axis {i}": (time, 1e3 * item) for i, item in off.items()},
        ),
        Panel(
            "arm: currents of the motors", "t [s]", "[A]",
            {f"axis {i}": (time, arm[f"motor{i}.i_q"]) for i in JOINTS}, legend="",
        ),
        Panel(
            "arm: coupled halves against the whole", "communication step [s]", "[rad]",
            {"largest error": (np.array(COUPLED_STEPS), np.array(errors))}, log=True, log_x=True,
        ),
        Panel(
            "platform: motion", "t [s]", "[m], [rad]",
            {"height - 2 m": (t, platform["platform.r_0[3]"] - 2.0), "pitch": (t, pitch)},
        ),
        Panel(
            "platform: error of the motion", "t [s]", "[mm], [mrad]",
            {"height - 2 m": (t, 1e3 * height_error), "pitch": (t, 1e3 * pitch_error)}, legend="",
        ),
        Panel(
            "platform: pressures of leg 1", "t [s]", "[MPa]",
            {f"chamber {side}": (t, platform[f"cylinder1.p_{side}"] / 1e6) for side in "ab"},
        ),
    )  # fmt: skip
    return Found(numbers, panels, 3)


def main() -> dict[str, float]:
    """Return rates at rest (rad/s, m/s), errors (rad, m), currents (A), pressures (MPa) and the largest residual."""
    return run().numbers


def rows(found: dict[str, float]) -> Sequence[Row]:
    """Return the rows of the table."""
    return [
        (
            "rates before the motion, arm / platform", "0",
            f"{found['arm, rest']:.0e} rad/s / {found['platform, rest']:.0e} m/s",
        ),
        (
            "arm: joints against trajectories, at most / at the end", "-",
            f"{1e3 * found['arm, error']:.2f} / {1e3 * found['arm, end']:.2f} mrad",
        ),
        ("arm: greatest current", "60 A allowed", f"{found['arm, current']:.1f} A"),
        (
            f"arm: coupled halves with {COUPLED_STEPS[-1]:g} s against the whole, order", "0, 2",
            f"{found['arm, coupled']:.1e} rad, {found['arm, order']:.2f}",
        ),
        (
            "platform: error of height / pitch", "-",
            f"{1e3 * found['platform, height']:.2f} mm / {1e3 * found['platform, pitch']:.2f} mrad",
        ),
        (
            "platform: pressures", "0 .. 21 MPa",
            f"{found['platform, least pressure']:.2f} .. {found['platform, greatest pressure']:.2f} MPa",
        ),
        ("platform: residuals of both constraint levels", "round-off", f"{found['platform, residual']:.1e}"),
    ]  # fmt: skip


if __name__ == "__main__":
    present("Machines with their drives inside", run, rows, "expected")

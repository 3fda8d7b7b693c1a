"""Machines with their drives inside: a robot arm on six servo drives, a platform on six servo axes.

Each is one system; `examples.coupled.axes` cuts them in parts.

Run: python -m examples.driven [--plot FILE]
"""

from collections.abc import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

import mbfmu
from examples.report import Found, Panel, Row, present

JOINTS = LEGS = range(1, 7)
STOP = {"arm": 2.5, "platform": 5.0}
"""s."""
STEP = 5e-4
"""Of the platform, s; the arm's drives sample every 1e-4 s."""


def run() -> Found:
    """Run both machines."""
    arm = mbfmu.simulate(mbfmu.load("robot_arm_drives"), STOP["arm"], step=1e-3, output_interval=5e-3)
    off = {i: arm[f"joint{i}.phi"] - arm[f"path{i}.y"] for i in JOINTS}
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
        "platform, rest": max(float(np.abs(platform[f"leg{k}.v"][early["platform"]]).max()) for k in LEGS),
        "platform, height": float(np.abs(height_error).max()),
        "platform, pitch": float(np.abs(pitch_error).max()),
        "platform, least pressure": float(pressures.min()),
        "platform, greatest pressure": float(pressures.max()),
        "platform, residual": max(residuals),
    }
    panels = (
        Panel("arm: joints", "t [s]", "[rad]", {f"axis {i}": (time, arm[f"joint{i}.phi"]) for i in JOINTS}),
        Panel(
            "arm: joints against their trajectories", "t [s]", "[mrad]",
            {f"axis {i}": (time, 1e3 * item) for i, item in off.items()}, legend="",
        ),
        Panel(
            "arm: currents of the motors", "t [s]", "[A]",
            {f"axis {i}": (time, arm[f"motor{i}.i_q"]) for i in JOINTS}, legend="",
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

"""The two-link arm on two DC motors with gears, each held on its path by a PID controller: seven FMUs.

Trajectory generators give the angles that should be, controllers ask for currents, motors turn them into torques
through their elastic gears, the arm gives back angles and rates. The arm starts hanging and is swung up and held.

The gears are stiff against the light forearm. At 1 ms the coupling bears that one after the other, or with inputs held;
all at once along lines it does not: the rates then grow beyond all bounds, and 0.5 ms are needed.

Run: python -m examples.coupled.arm [--plot FILE]
"""

import tempfile
from collections.abc import Sequence
from math import pi
from pathlib import Path

import numpy as np
from scipy.integrate import trapezoid

import mbfmu
from examples.report import Found, Panel, Row, present
from mbfmu.fmu.ssp import Wire

STOP, STEP = 4.0, 1e-3
PATHS = {"shoulder": (-pi / 2, pi / 4), "elbow": (0.0, -pi / 3)}
"""rad, from and to; the arm hangs at the start."""
LINKS = {"l1": 0.6, "l2": 0.5, "m1": 3.0, "m2": 2.0}
GAINS = {"shoulder": 120.0, "elbow": 25.0}
"""A/rad; a bandwidth of some 15 rad/s, well below the resonance of the gears."""
CONTROLLER = {"T_i": 0.3, "T_d": 0.12, "N": 10.0, "T_t": 0.05, "y_min": -20.0, "y_max": 20.0}
"""s, and A: the limits are the motor's."""
GEAR = {"c": 5e3, "b": 20.0}


def connections() -> list[Wire]:
    """Return who tells whom; the rate wanted makes up for the derivative part, which sees the rate there is."""
    found = []
    for joint in PATHS:
        found += [
            Wire(f"{joint}_path.y", f"{joint}_control.reference"),
            Wire(f"{joint}_path.rate", f"{joint}_control.forward", GAINS[joint] * CONTROLLER["T_d"]),
            Wire(f"arm.{joint}.phi", f"{joint}_control.measured"),
            Wire(f"{joint}_control.y", f"{joint}_motor.i_ref"),
            Wire(f"arm.{joint}.w", f"{joint}_motor.w"),
            Wire(f"{joint}_motor.tau", f"arm.{joint}.tau"),
        ]
    return found


def fmus(folder: Path) -> dict[str, Path]:
    """Write the FMUs; return their paths by component. Both joints share the FMUs of motor, controller and path."""
    start = {f"{joint}.phi": begin for joint, (begin, _) in PATHS.items()}
    arm = mbfmu.load("two_link").with_values({**LINKS, **start})
    parts = {
        "arm": mbfmu.export(arm, folder / "arm.fmu", stepper="projected", step=STEP, backend="native"),
        "motor": mbfmu.export(mbfmu.load("dc_motor"), folder / "motor.fmu", step=2.5e-4, backend="native"),
        "control": mbfmu.export(mbfmu.load("pid"), folder / "control.fmu", step=STEP, backend="native"),
        "path": mbfmu.export(mbfmu.load("trajectory"), folder / "path.fmu", step=STEP, backend="native"),
    }
    of_joints = {f"{joint}_{name}": parts[name] for joint in PATHS for name in ("path", "control", "motor")}
    return {"arm": parts["arm"], **of_joints}


def values() -> dict[str, float]:
    """Return the parameters and start values of the components."""
    found: dict[str, float] = {}
    for joint, (begin, end) in PATHS.items():
        path, control = {"y_0": begin, "y_1": end, "t_0": 0.5, "T": 1.5}, {"K": GAINS[joint], **CONTROLLER}
        given = {"path": path, "control": control, "motor": GEAR}
        found |= {f"{joint}_{part}.{name}": value for part, them in given.items() for name, value in them.items()}
        found[f"{joint}_control.filtered"] = begin
    return found


def run() -> Found:
    """Swing the arm up; and once more with a quarter of the communication step, for what the coupling costs."""
    shown = [
        *(f"arm.{joint}.phi" for joint in PATHS),
        *(f"{joint}_path.y" for joint in PATHS),
        *(f"{joint}_motor.{name}" for joint in PATHS for name in ("i", "u", "P", "tau")),
        *(f"arm.{name}" for name in ("shoulder.w", "elbow.w", "energy.total")),
    ]
    with tempfile.TemporaryDirectory() as folder:
        parts = fmus(Path(folder))
        found, fine = (
            mbfmu.couple(
                parts,
                connections(),
                STOP,
                step,
                order="gauss_seidel",
                extrapolation=1,
                values=values(),
                outputs=shown,
            )
            for step in (STEP, STEP / 4)
        )
    error = {joint: found[f"arm.{joint}.phi"] - found[f"{joint}_path.y"] for joint in PATHS}
    power = sum(found[f"{joint}_motor.P"] for joint in PATHS)
    work = sum(found[f"{joint}_motor.tau"] * found[f"arm.{joint}.w"] for joint in PATHS)
    numbers = {
        "tracking": float(np.degrees(max(np.abs(item).max() for item in error.values()))),
        "end": float(np.degrees(max(abs(item[-1]) for item in error.values()))),
        "current": float(max(np.abs(found[f"{joint}_motor.i"]).max() for joint in PATHS)),
        "voltage": float(max(np.abs(found[f"{joint}_motor.u"]).max() for joint in PATHS)),
        "electric": float(trapezoid(power, found.time)),
        "work": float(trapezoid(work, found.time)),
        "energy": float(found["arm.energy.total"][-1] - found["arm.energy.total"][0]),
        "coupling": float(max(np.abs(found[f"arm.{j}.phi"] - fine[f"arm.{j}.phi"][::4]).max() for j in PATHS)),
    }
    angles = {f"{joint}, {what}": (found.time, np.degrees(found[name.format(joint)]))
              for joint in PATHS for what, name in (("wanted", "{}_path.y"), ("is", "arm.{}.phi"))}  # fmt: skip
    panels = (
        Panel("angles", "t [s]", "[deg]", angles),
        Panel("tracking error", "t [s]", "[deg]", {joint: (found.time, np.degrees(error[joint])) for joint in PATHS}),
        Panel("currents", "t [s]", "[A]", {joint: (found.time, found[f"{joint}_motor.i"]) for joint in PATHS}),
        Panel("torques", "t [s]", "[N.m]", {joint: (found.time, found[f"{joint}_motor.tau"]) for joint in PATHS}),
    )
    return Found(numbers, panels, 2)


def main() -> dict[str, float]:
    """Return tracking errors (deg), the largest current (A) and voltage (V), energies (J), coupling error (rad)."""
    return run().numbers


def rows(found: dict[str, float]) -> Sequence[Row]:
    """Return the rows of the table."""
    return [
        ("tracking error, at most", "-", f"{found['tracking']:.2f} deg"),
        ("error at the end", "0", f"{found['end']:.1e} deg"),
        ("largest current", "at most 20 A", f"{found['current']:.1f} A"),
        ("largest voltage", "at most 24 V", f"{found['voltage']:.1f} V"),
        ("electric energy", "-", f"{found['electric']:.1f} J"),
        ("work of the motors on the arm", f"{found['energy']:.3f} J, its energy", f"{found['work']:.3f} J"),
        ("angles at 1 ms against 0.25 ms", "-", f"{found['coupling']:.1e} rad"),
    ]


if __name__ == "__main__":
    present("Two-link arm on DC motors: seven FMUs, 4 s in steps of 1 ms", run, rows, "expected")

"""The loader crane on two hydraulic servo axes: its tip follows a straight line. Five FMUs.

The strokes that the line asks for follow from the crane's geometry. A controller for each cylinder, with the velocity
wanted fed forward, opens a servo valve; oil moves the rod against the crane.

Run: python -m examples.coupled.crane [--plot FILE]
"""

import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from scipy.integrate import cumulative_trapezoid

import mbfmu
from examples.coupled import servo
from examples.report import Array, Found, Panel, Row, present

STOP, STEP = 8.0, 1e-3
L1, L2 = 3.5, 2.5
TOP, BRACKET = np.array([0.0, 2.0]), np.array([0.25, 0.8])
LUG1, LUG2, LUG3 = np.array([1.0, -0.15]), np.array([1.9, 0.35]), np.array([-0.3, 0.25])
"""m, in the frames of the world, the boom and the jib, as in the model."""
BARRELS = {"lift": 1.3, "tilt": 1.1}
BORES = {"lift": (0.1, 0.056), "tilt": (0.1, 0.056)}
"""m, bore and rod of ISO 3320."""
SPEED = {"lift": 0.115, "tilt": 0.115}
"""m/s, of a rod without load at full command: q_n/A_a."""


def rotation(phi: float) -> Array:
    """Return the rotation by phi, rad, in the plane."""
    return np.array([[np.cos(phi), -np.sin(phi)], [np.sin(phi), np.cos(phi)]])


def strokes(tip: Array) -> dict[str, float]:
    """Return the strokes of the cylinders, m, that put the tip at a point, m, in the world frame."""
    r = tip - TOP
    jib = -np.arccos((r @ r - L1**2 - L2**2) / (2 * L1 * L2))
    boom = np.arctan2(r[1], r[0]) - np.arctan2(L2 * np.sin(jib), L1 + L2 * np.cos(jib))
    lift = np.linalg.norm(TOP + rotation(boom) @ LUG1 - BRACKET)
    tilt = np.linalg.norm(np.array([L1, 0.0]) + rotation(jib) @ LUG3 - LUG2)
    return {"lift": float(lift) - BARRELS["lift"], "tilt": float(tilt) - BARRELS["tilt"]}


def start_tip() -> Array:
    """Return where the tip is at the start: boom at 0.5 rad, jib at -1 rad against it."""
    found: Array = TOP + rotation(0.5) @ np.array([L1, 0.0]) + rotation(-0.5) @ np.array([L2, 0.0])
    return found


def line(t: float) -> Array:
    """Return where the tip should be: from the start 1.2 m up and 0.6 m in, at rest at both ends."""
    x = min(max((t - 1.0) / 5.0, 0.0), 1.0)
    found: Array = start_tip() + np.array([-0.6, 1.2]) * x**3 * (10 - 15 * x + 6 * x**2)
    return found


def wanted(axis: str, t: float) -> float:
    """Return the stroke wanted at a time, m."""
    return strokes(line(t))[axis]


def forward(axis: str, t: float) -> float:
    """Return the command that would give the velocity wanted, -1 to 1."""
    return (wanted(axis, t + 1e-4) - wanted(axis, t - 1e-4)) / 2e-4 / SPEED[axis]


def fmus(folder: Path) -> dict[str, Path]:
    """Write the FMUs; return their paths by component."""
    crane = mbfmu.export(
        mbfmu.load("crane"), folder / "crane.fmu",
        stepper="projected", options={"order": 4}, step=STEP, backend="native",
    )  # fmt: skip
    return servo.fmus(crane, "crane", BARRELS, STEP)


HOLD = {"lift": 26752.0, "tilt": -13823.0}
"""N, what holds the crane at its start."""


def values() -> dict[str, float]:
    """Return the parameters and start values of the components; the oil holds the crane at its start."""
    found: dict[str, float] = {}
    for axis, (bore, rod) in BORES.items():
        cylinder = {"D": bore, "d": rod, "L": 1.2, "s_0": 0.1}
        found |= servo.values(axis, cylinder, HOLD[axis], p_b=6e6, gain=25.0, start=wanted(axis, 0.0))
    return found


def inputs() -> dict[str, Callable[[float], float]]:
    """Return what follows the time."""
    given = {f"{axis}_control.reference": partial(wanted, axis) for axis in BARRELS}
    return given | {f"{axis}_control.forward": partial(forward, axis) for axis in BARRELS}


def run() -> Found:
    """Drive the tip along its line."""
    shown = [
        "crane.hook.r_0[1]", "crane.hook.r_0[2]", "crane.constraint.position", "crane.constraint.velocity",
        "crane.energy.total",
        *(f"crane.{axis}.{name}" for axis in BARRELS for name in ("s", "v")),
        *(f"{axis}_servo.{name}" for axis in BARRELS for name in ("p_a", "p_b", "f", "P", "y")),
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        found = mbfmu.couple(
            fmus(Path(folder)), servo.connections("crane", BARRELS), STOP, STEP,
            order="gauss_seidel", extrapolation=1, values=values(), inputs=inputs(), outputs=shown,
        )  # fmt: skip
    time = found.time
    tip = np.array([found["crane.hook.r_0[1]"], found["crane.hook.r_0[2]"]])
    error = np.linalg.norm(tip - np.array([line(t) for t in time]).T, axis=0)
    done = servo.work(found, "crane", BARRELS)
    used = cumulative_trapezoid(sum(found[f"{axis}_servo.P"] for axis in BARRELS), time, initial=0.0)
    energy = found["crane.energy.total"] - found["crane.energy.total"][0]
    pressures = {f"{axis}, {chamber}": found[f"{axis}_servo.p_{chamber}"] / 1e6 for axis in BARRELS for chamber in "ab"}
    numbers = {
        "tip": float(error.max()),
        "end": float(error[-1]),
        "least pressure": float(min(item.min() for item in pressures.values())),
        "greatest pressure": float(max(item.max() for item in pressures.values())),
        "work": float(done[-1]),
        "energy": float(energy[-1]),
        "supply": float(used[-1]),
        "residual": float(max(found["crane.constraint.position"].max(), found["crane.constraint.velocity"].max())),
    }
    panels = (
        Panel(
            "path of the tip", "x [m]", "y [m]",
            {"wanted": (np.array([line(t)[0] for t in time]), np.array([line(t)[1] for t in time])), "is": tuple(tip)},
            equal=True,
        ),
        Panel("distance of the tip from where it should be", "t [s]", "[mm]", {"tip": (time, 1e3 * error)}),
        Panel("pressures in the chambers", "t [s]", "[MPa]", {name: (time, item) for name, item in pressures.items()}),
        Panel(
            "energy", "t [s]", "[kJ]",
            {
                "from the supply": (time, used / 1e3), "work of the cylinders": (time, done / 1e3),
                "of the crane": (time, energy / 1e3),
            },
        ),
    )  # fmt: skip
    return Found(numbers, panels, 2)


def main() -> dict[str, float]:
    """Return errors of the tip (m), pressures (MPa), energies (J) and the largest residual of the constraints."""
    return run().numbers


def rows(found: dict[str, float]) -> Sequence[Row]:
    """Return the rows of the table."""
    return [
        ("tip from its line, at most", "-", f"{1e3 * found['tip']:.1f} mm"),
        ("tip at the end", "0", f"{1e3 * found['end']:.2f} mm"),
        ("pressures", "0 .. 21 MPa", f"{found['least pressure']:.2f} .. {found['greatest pressure']:.2f} MPa"),
        ("energy from the supply", "-", f"{found['supply'] / 1e3:.2f} kJ"),
        ("work of the cylinders", f"{found['energy'] / 1e3:.4f} kJ, the crane's", f"{found['work'] / 1e3:.4f} kJ"),
        ("residuals of both constraint levels", "round-off", f"{found['residual']:.1e}"),
    ]


if __name__ == "__main__":
    present(f"Loader crane on two servo axes: five FMUs, {STOP:g} s in steps of 1 ms", run, rows, "expected")

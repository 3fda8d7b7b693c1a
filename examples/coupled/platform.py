"""A Stewart platform on six hydraulic servo axes: it is lifted, tilted and turned at once. Thirteen FMUs.

The legs' lengths follow from the pose wanted; each leg has a controller with the velocity wanted fed forward, a valve
and a cylinder of its own.

Run: python -m examples.coupled.platform [--plot FILE]
"""

import tempfile
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from math import pi
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

import mbfmu
from examples.coupled import servo
from examples.report import Array, Found, Panel, Row, present
from mbfmu.model import System

STOP, STEP = 4.0, 1e-3
LEGS = tuple(range(1, 7))
AXES = tuple(f"leg{k}" for k in LEGS)
HOME = np.array([0.0, 0.0, 2.0])
"""m, where the platform is at the start."""
BORE, ROD = 0.063, 0.036
SPEED = 9e-4 / (pi / 4 * BORE**2)
"""m/s, of a rod without load at full command."""


def feet_and_heads(system: System) -> tuple[Array, Array]:
    """Return the legs' joints on the ground and, seen from the platform, those on it, m, shapes (6, 3)."""
    parts = {item.name: item for item in system.components}
    feet, heads = (np.array([parts[f"{end}{k}"].r for k in LEGS], dtype=float) for end in ("foot", "head"))
    return feet, heads


def pose(t: float) -> tuple[Array, Rotation]:
    """Return position, m, and attitude of the platform wanted at a time: at rest until 0.5 s and from 3.5 s on."""
    x = min(max((t - 0.5) / 3.0, 0.0), 1.0)
    part = x**3 * (10 - 15 * x + 6 * x**2)
    return HOME + part * np.array([0.1, -0.05, 0.3]), Rotation.from_rotvec(part * np.radians([6.0, -8.0, 5.0]))


class Legs:
    """Strokes of the legs for the pose wanted.

    Args:
        system: the platform.
    """

    def __init__(self, system: System) -> None:
        self.feet, self.heads = feet_and_heads(system)
        self.home = np.linalg.norm(HOME + self.heads - self.feet, axis=1)
        self.strokes = lru_cache(maxsize=8)(self._strokes)
        """Strokes wanted at a time, m, shape (6,); all legs ask for the same times."""

    def _strokes(self, t: float) -> Array:
        place, attitude = pose(t)
        found: Array = np.linalg.norm(place + attitude.apply(self.heads) - self.feet, axis=1) - self.home
        return found

    def wanted(self, leg: int, t: float) -> float:
        """Return the stroke wanted of a leg, m."""
        return float(self.strokes(t)[leg - 1])

    def forward(self, leg: int, t: float) -> float:
        """Return the command that would give a leg the velocity wanted, -1 to 1."""
        return (self.wanted(leg, t + 1e-4) - self.wanted(leg, t - 1e-4)) / 2e-4 / SPEED


def holding(system: System) -> Array:
    """Return the forces of the legs that hold the platform at its start, N, shape (6,)."""
    dae = mbfmu.linearize(system, outputs=tuple(f"leg{k}.a" for k in LEGS))
    found: Array = np.linalg.solve(dae.D, -dae.y0)
    return found


def fmus(system: System, folder: Path) -> dict[str, Path]:
    """Write the FMUs; return their paths by component."""
    platform = mbfmu.export(
        system, folder / "platform.fmu", stepper="projected", options={"order": 4}, step=STEP, backend="native"
    )
    return servo.fmus(platform, "platform", AXES, STEP)


def values(hold: Array) -> dict[str, float]:
    """Return the parameters and start values of the components; the oil holds the platform at its start."""
    cylinder = {"D": BORE, "d": ROD, "L": 1.0, "s_0": 0.4}
    found: dict[str, float] = {}
    for axis, force in zip(AXES, hold, strict=True):
        found |= servo.values(axis, cylinder, float(force), p_b=8e6, gain=20.0)
    return found


def run() -> Found:
    """Move the platform."""
    system = mbfmu.load("stewart")
    assert isinstance(system, System)
    legs, hold = Legs(system), holding(system)
    inputs: dict[str, Callable[[float], float]] = {}
    for k, axis in zip(LEGS, AXES, strict=True):
        inputs |= {
            f"{axis}_control.reference": partial(legs.wanted, k),
            f"{axis}_control.forward": partial(legs.forward, k),
        }
    shown = [
        *(f"platform.platform.r_0[{i}]" for i in (1, 2, 3)), *(f"platform.platform.Q[{i}]" for i in (1, 2, 3, 4)),
        "platform.constraint.position", "platform.constraint.velocity", "platform.energy.total",
        *(f"platform.{axis}.{name}" for axis in AXES for name in ("s", "v")),
        *(f"{axis}_servo.{name}" for axis in AXES for name in ("f", "p_a", "p_b")),
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        found = mbfmu.couple(
            fmus(system, Path(folder)), servo.connections("platform", AXES), STOP, STEP,
            order="gauss_seidel", extrapolation=1, values=values(hold), inputs=inputs, outputs=shown,
        )  # fmt: skip
    time = found.time
    place = np.array([found[f"platform.platform.r_0[{i}]"] for i in (1, 2, 3)]).T
    attitude = Rotation.from_quat(np.array([found[f"platform.platform.Q[{i}]"] for i in (2, 3, 4, 1)]).T)
    poses = [pose(t) for t in time]
    off = np.linalg.norm(place - np.array([r for r, _ in poses]), axis=1)
    turned = np.array([(turn.inv() * item).magnitude() for (_, turn), item in zip(poses, attitude, strict=True)])
    done = servo.work(found, "platform", AXES)
    energy = found["platform.energy.total"] - found["platform.energy.total"][0]
    forces = {f"leg {k}": (time, found[f"leg{k}_servo.f"] / 1e3) for k in LEGS}
    pressures = np.array([found[f"{axis}_servo.p_{chamber}"] for axis in AXES for chamber in "ab"]) / 1e6
    numbers = {
        "hold": float(np.ptp(hold)),
        "place": float(off.max()),
        "place, end": float(off[-1]),
        "attitude": float(np.degrees(turned.max())),
        "attitude, end": float(np.degrees(turned[-1])),
        "least pressure": float(pressures.min()),
        "greatest pressure": float(pressures.max()),
        "work": float(done[-1]),
        "energy": float(energy[-1]),
        "residual": float(
            max(found["platform.constraint.position"].max(), found["platform.constraint.velocity"].max())
        ),
    }
    panels = (
        Panel("strokes", "t [s]", "[m]", {f"leg {k}": (time, found[f"platform.leg{k}.s"]) for k in LEGS}),
        Panel("forces of the legs", "t [s]", "[kN]", forces),
        Panel("distance from the place wanted", "t [s]", "[mm]", {"platform": (time, 1e3 * off)}),
        Panel("angle to the attitude wanted", "t [s]", "[deg]", {"platform": (time, np.degrees(turned))}),
    )
    return Found(numbers, panels, 2)


def main() -> dict[str, float]:
    """Return errors of place (m) and attitude (deg), pressures (MPa), energies (J) and the largest residual."""
    return run().numbers


def rows(found: dict[str, float]) -> Sequence[Row]:
    """Return the rows of the table."""
    return [
        ("holding forces differ by", "0, by symmetry", f"{found['hold']:.1e} N"),
        ("place, at most and at the end", "-", f"{1e3 * found['place']:.1f} / {1e3 * found['place, end']:.1f} mm"),
        ("attitude, the same", "-", f"{found['attitude']:.2f} / {found['attitude, end']:.2f} deg"),
        ("pressures", "0 .. 21 MPa", f"{found['least pressure']:.2f} .. {found['greatest pressure']:.2f} MPa"),
        ("work of the legs", f"{found['energy'] / 1e3:.4f} kJ, the platform's", f"{found['work'] / 1e3:.4f} kJ"),
        ("residuals of both constraint levels", "round-off", f"{found['residual']:.1e}"),
    ]


if __name__ == "__main__":
    present(f"Stewart platform on six servo axes: thirteen FMUs, {STOP:g} s in steps of 1 ms", run, rows, "expected")

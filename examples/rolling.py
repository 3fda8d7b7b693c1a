"""A skate and a rolling disk, which may not slip sideways: paths against closed forms, a long run, FMUs in FMPy.

Run: python -m examples.rolling [--plot FILE]
"""

import tempfile
from collections.abc import Sequence
from itertools import product
from math import cos, log2, sin
from pathlib import Path
from typing import Any

import numpy as np

import mbfmu
from examples.report import Array, Curves, Found, Panel, Row, envelope, listed, present
from mbfmu.dae import derive
from mbfmu.model import Model

STEPPERS = ("nodal_impulse", "projected")
KEEPERS: dict[str, dict[str, Any]] = {
    "nodal_impulse": {"stepper": "nodal_impulse"},
    "projected": {"stepper": "projected"},
    "projected, order 8": {"stepper": "projected", "options": {"order": 8}},
}
"""What is run for a long time."""
STEP, STOP = 0.01, 100.0
"""s."""
LONG = 2000.0
"""s, with steps of `LONG_STEP`, s."""
LONG_STEP = 0.02
CONTACT = {"skate": ("skate.r_0[1]", "skate.r_0[2]"), "disk": ("x", "y")}
THETA, RATE = 1.0, 1.0
"""Inclination (rad) and turning rate (rad/s) of the disk that rolls in a circle."""


def skate_path(t: Array) -> Array:
    """Return where the skate is that starts at rest and turns at 1 rad/s (m), shape (n_t, 2): a cycloid."""
    return np.column_stack([np.sin(t) ** 2 / 2, (t - np.sin(2 * t) / 2) / 2])


def circling_disk() -> tuple[Model, float]:
    """Return the disk in its steady motion, and its spin (rad/s).

    With theta'' = 0 and psi' = RATE the equations leave
    (C + M a^2) psi' (phi' + psi' cos theta) sin theta = (A psi'^2 sin theta - M g a) cos theta.
    """
    disk = mbfmu.load("rolling_disk")
    M, a, A, C, g = (item.value for item in derive(disk).parameters)
    axial = (A * RATE**2 * sin(THETA) - M * g * a) * cos(THETA) / ((C + M * a**2) * RATE * sin(THETA))
    spin = axial - RATE * cos(THETA)
    start = {"theta": THETA, "der(theta)": 0.0, "psi": 0.0, "der(psi)": RATE, "der(phi)": spin}
    return disk.with_values({**start, "der(x)": 0.0, "der(y)": a * spin}), spin


def disk_path(t: Array, spin: float) -> Array:
    """Return where the circling disk of 1 m touches the ground (m), shape (n_t, 2)."""
    return spin / RATE * np.column_stack([np.cos(RATE * t) - 1, np.sin(RATE * t)])


def path(run: mbfmu.Result, name: str) -> Array:
    """Return the contact point of a run (m), shape (n_t, 2)."""
    return np.column_stack([run[column] for column in CONTACT[name]])


def error(run: mbfmu.Result, name: str, exact: Array) -> Array:
    """Return how far the contact point is from where it should be (m), shape (n_t,)."""
    return np.asarray(np.linalg.norm(path(run, name) - exact, axis=1))


def energy_error(run: mbfmu.Result) -> Array:
    """Return the energy's error over the kinetic energy's greatest value, shape (n_t,)."""
    energy = run["energy.total"]
    return np.asarray(np.abs(energy - energy[0]) / run["energy.kinetic"].max())


def closed_forms(skate: Model, circling: Model, spin: float) -> tuple[dict[str, float], dict[str, Curves]]:
    """Measure both against their closed forms with steps of 0.02 and 0.01 s."""
    found: dict[str, float] = {"radius": abs(spin) / RATE}
    drawn: dict[str, Curves] = {"skate": {}, "disk": {}}
    for stepper, (name, model) in product(STEPPERS, {"skate": skate, "disk": circling}.items()):
        greatest = []
        for h in (2 * STEP, STEP):
            coarse: dict[str, Any] = {"step": h, "output_interval": 2 * STEP, "error_samples": 0}
            run = mbfmu.simulate(model, STOP, stepper=stepper, **coarse)
            exact = skate_path(run.time) if name == "skate" else disk_path(run.time, spin)
            off = error(run, name, exact)
            greatest.append(float(off.max()))
        label = f"{name}, {stepper}"
        found |= {f"{label}, path": greatest[1], f"{label}, order": log2(greatest[0] / greatest[1])}
        found[f"{label}, constraint"] = float(run["constraint.velocity"].max())
        drawn[name] |= {stepper: envelope(run.time, off)}
    return found, drawn


def long_run(disk: Model) -> tuple[dict[str, float], dict[str, Curves]]:
    """Measure residual and energy of the wobbling disk over a long time, in its first and its last quarter."""
    found: dict[str, float] = {}
    drawn: dict[str, Curves] = {"energy": {}, "constraint": {}}
    for label, how in KEEPERS.items():
        run = mbfmu.simulate(disk, LONG, step=LONG_STEP, output_interval=0.1, error_samples=0, **how)
        off = energy_error(run)
        first, *_, last = np.array_split(off, 4)
        found[f"long, {label}, energy, first quarter"] = float(first.max())
        found[f"long, {label}, energy, last quarter"] = float(last.max())
        found[f"long, {label}, constraint"] = float(run["constraint.velocity"].max())
        drawn["energy"] |= {label: envelope(run.time, off)}
        drawn["constraint"] |= {label: (run.time[::80], run["constraint.velocity"][::80])}
    return found, drawn


def as_fmus(models: dict[str, Model]) -> dict[str, float]:
    """Return the greatest difference of any output of an FMU in FMPy from the run of the model itself."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for stepper, (name, model) in product(STEPPERS, models.items()):
            fmu = mbfmu.export(
                model, Path(folder) / f"{name}_{stepper}.fmu", stepper=stepper, step=STEP, backend="native"
            )
            run = mbfmu.simulate(fmu, STOP, output_interval=0.1, values={"solver.error_samples": 0.0})
            own = mbfmu.simulate(model, STOP, stepper=stepper, step=STEP, output_interval=0.1, error_samples=0)
            shared = [column for column in own.names if column in run.names]
            apart = [np.abs(run[column] - own[column]).max() for column in shared]
            found[f"{name}, {stepper}, FMU - model"] = float(max(apart))
    return found


def run() -> Found:
    """Run both with both steppers."""
    skate, disk = mbfmu.load("ice_skate"), mbfmu.load("rolling_disk")
    circling, spin = circling_disk()
    found, errors = closed_forms(skate, circling, spin)
    more, kept = long_run(disk)
    wobbling = mbfmu.simulate(disk, STOP / 4, stepper=STEPPERS[0], step=STEP, output_interval=STEP, error_samples=0)
    t = np.linspace(0, STOP / 10, 1001)
    x, y = skate_path(t).T
    disks: Curves = {
        "in a circle": (disk_path(t, spin)[:, 0], disk_path(t, spin)[:, 1]),
        "wobbling": (wobbling["x"], wobbling["y"]),
    }
    return Found(
        found | more | as_fmus({"skate": skate, "disk": disk}),
        (
            Panel("skate, path of the blade", "y, across the slope [m]", "x, down the slope [m]", {"skate": (y, x)}),
            Panel("skate against its closed form", "t [s]", "error of the path [m]", errors["skate"], log=True),
            Panel("wobbling disk, h = 0.02 s", "t [s]", "relative error of the energy", kept["energy"], log=True),
            Panel("disk, path of the contact point", "x [m]", "y [m]", disks, equal=True, legend="upper left"),
            Panel("circling disk against its closed form", "t [s]", "error of the path [m]", errors["disk"], log=True),
            Panel("wobbling disk, h = 0.02 s", "t [s]", "slip of the contact point [m/s]", kept["constraint"],
                  log=True, dots=4.0, window=(0.0, LONG, 1e-18, 1e-13)),
        ),
        columns=3,
    )  # fmt: skip


def main() -> dict[str, float]:
    """Return errors of paths (m) and orders, residuals (m/s), errors of the energy, and what FMUs differ by."""
    return run().numbers


def rows(found: dict[str, float]) -> Sequence[Row]:
    """Return the rows of the table."""
    quarters = ("first", "last")
    table: list[Row] = [("radius of the circle on which the disk rolls", "-", f"{found['radius']:.4f} m")]
    for stepper, expected in zip(STEPPERS, ("order 2", "order 4"), strict=True):
        for name in CONTACT:
            label = f"{name}, {stepper}"
            measured = f"{found[f'{label}, path']:.1e} m, order {found[f'{label}, order']:.2f}"
            table.append((f"{label}, 100 s, h = 0.01 s: error of the path", expected, measured))
            table.append((f"{label}: slip", "round-off", f"{found[f'{label}, constraint']:.0e} m/s"))
            table.append((f"{label}: native FMU in FMPy - model", "1e-12", f"{found[f'{label}, FMU - model']:.0e}"))
    for label in KEEPERS:
        kept = listed(found, (f"long, {label}, energy, {quarter} quarter" for quarter in quarters))
        claim = "no drift" if label == "nodal_impulse" else "-"
        table.append((f"wobbling disk, {label}, 2000 s: energy, first / last quarter", claim, kept))
        slip = f"{found[f'long, {label}, constraint']:.0e} m/s"
        table.append((f"wobbling disk, {label}, 2000 s: slip", "round-off", slip))
    return table


if __name__ == "__main__":
    present("Rolling without slipping", run, rows, "expected")

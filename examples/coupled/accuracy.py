"""What a coupling costs: the hydraulic manipulator's error against the communication step, way by way.

Inputs held, extrapolated or found by doing steps again; both sides at once or one after the other; pythonfmu's FMUs,
which get an extrapolated input's value in the middle of the step, and native ones, which get its derivative; and steps
chosen by rollback for a tolerance.

Run: python -m examples.coupled.accuracy [--plot FILE]
"""

import tempfile
from collections.abc import Sequence
from math import log2
from pathlib import Path
from typing import Any

import numpy as np

from examples.coupled import manipulator
from examples.report import Curves, Found, Panel, Row, listed, present

STOP = 3.0
STEPS = (1e-3, 5e-4, 2.5e-4, 1.25e-4)
"""s; the valve's corners are communication points of all."""
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "both at once, held": ("native", {"order": "jacobi", "extrapolation": 0}),
    "one after the other, held": ("native", {"order": "gauss_seidel", "extrapolation": 0}),
    "both at once, lines, pythonfmu": ("python", {"order": "jacobi", "extrapolation": 1}),
    "both at once, lines": ("native", {"order": "jacobi", "extrapolation": 1}),
    "one after the other, lines": ("native", {"order": "gauss_seidel", "extrapolation": 1}),
    "done twice": ("native", {"order": "gauss_seidel", "extrapolation": 1, "passes": 2}),
}
TOLERANCES = (1e-3, 1e-4, 1e-5)
"""Of the coupling, relative to 1 and the size of what is exchanged: forces and pressures count by their digits."""


def run() -> Found:
    """Measure the largest error of the cylinder's length over 3 s, at every millisecond."""
    numbers: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        parts = {backend: manipulator.fmus(Path(folder) / backend, backend) for backend in ("python", "native")}
        for way, (backend, how) in WAYS.items():
            for step in STEPS:
                found = manipulator.coupled(parts[backend], step, STOP, **how)
                numbers[f"{way}, {step * 1e3:g} ms"] = manipulator.error(found)
            coarse, fine = (numbers[f"{way}, {step * 1e3:g} ms"] for step in (STEPS[0], STEPS[2]))
            numbers[f"{way}, order"] = log2(coarse / fine) / 2
        for tolerance in TOLERANCES:
            how = {"order": "gauss_seidel", "extrapolation": 1, "tolerance": tolerance}
            found = manipulator.coupled(parts["native"], STEPS[0], STOP, **how)
            points, exact = manipulator.monolithic(STEPS[0], STOP)
            length = np.interp(found.time, points, exact[manipulator.SHOWN[0]])
            numbers[f"tolerance {tolerance:g}, steps"] = float(len(found.time) - 1)
            numbers[f"tolerance {tolerance:g}, shortest"] = float(np.diff(found.time).min())
            numbers[f"tolerance {tolerance:g}"] = float(np.abs(found[manipulator.SHOWN[0]] - length).max())
    steps = 1e3 * np.array(STEPS)
    curves: Curves = {way: (steps, np.array([numbers[f"{way}, {step:g} ms"] for step in steps])) for way in WAYS}
    panel = Panel(
        "error of the cylinder's length", "communication step [ms]", "[m]", curves,
        log=True, log_x=True, window=(0.1, 1.2, 3e-10, 10), legend="upper left",
    )  # fmt: skip
    return Found(numbers, (panel,), 1)


def main() -> dict[str, float]:
    """Return errors (m), orders, and for tolerances the errors, numbers of steps and shortest steps (s)."""
    return run().numbers


def rows(found: dict[str, float]) -> Sequence[Row]:
    """Return the rows of the table."""
    table: list[Row] = [
        (
            way,
            "2" if how.get("extrapolation") else "1",
            f"{listed(found, (f'{way}, {step * 1e3:g} ms' for step in STEPS))} m: order {found[f'{way}, order']:.1f}",
        )
        for way, (_, how) in WAYS.items()
    ]
    for tolerance in TOLERANCES:
        name = f"tolerance {tolerance:g}"
        table.append((name, "-", f"{found[name]:.1e} m in {found[f'{name}, steps']:.0f} steps"))
    return table


if __name__ == "__main__":
    present(
        "Hydraulic manipulator, 3 s, at 1 / 0.5 / 0.25 / 0.125 ms: error of the length", run, rows, "order expected"
    )

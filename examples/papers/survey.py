"""Hong & Liu: the survey's methods on the two-link arm: direct, error correction, variable separation.

Run: python -m examples.papers.survey [--plot FILE]
"""

from collections.abc import Sequence
from math import inf

import numpy as np

import mbfmu
from examples.papers.states import link_coordinates, reference
from examples.report import Curves, Found, Panel, Row, envelope, listed, present
from mbfmu.errors import StepError

STOP, INTERVAL = 10.0, 0.01
STEPS = (0.01, 0.002)
METHODS: dict[str, tuple[str, dict[str, object]]] = {
    "direct, Adams PECE": ("direct", {"method": "abm4"}),
    "error correction 5, 5": ("baumgarte", {"method": "abm4", "gamma": 5.0}),
    "error correction 50, 50": ("baumgarte", {"method": "abm4", "gamma": 50.0}),
    "error correction 200, 200": ("baumgarte", {"method": "abm4", "gamma": 200.0}),
    "direct, Runge-Kutta": ("direct", {"method": "rk4"}),
    "separation, LU": ("partition", {"selection": "lu"}),
    "separation, QR": ("partition", {"selection": "qr"}),
    "separation, SVD": ("partition", {"selection": "svd"}),
}
LONG = ("direct, Adams PECE", "error correction 5, 5", "separation, QR")
TIMES = (10, 50, 100)
MEASURES = ("error", "Phi", "Phi_q v")


def run() -> Found:
    """Run every method with both steps, three of them for 100 s."""
    arm = mbfmu.load("two_link")
    exact = link_coordinates(reference(arm, STOP, INTERVAL))

    def go(label: str, stop: float, h: float, interval: float) -> mbfmu.Result:
        stepper, options = METHODS[label]
        return mbfmu.simulate(
            arm, stop, stepper=stepper, options=options, step=h, output_interval=interval, coordinates="absolute"
        )

    found: dict[str, float] = {}
    drift: dict[str, Curves] = {"Phi": {}, "error": {}, "long": {}}
    for label in METHODS:
        for h in STEPS:
            try:
                result = go(label, STOP, h, INTERVAL)
            except StepError:
                found |= {f"{label}, h = {h:g}, {measure}": inf for measure in MEASURES}
                continue
            error = np.abs(link_coordinates(result) - exact).max(axis=0)
            Phi = result["constraint.position"]
            found[f"{label}, h = {h:g}, error"] = float(error.max())
            found[f"{label}, h = {h:g}, Phi"] = float(Phi.max())
            found[f"{label}, h = {h:g}, Phi_q v"] = float(result["constraint.velocity"].max())
            if h == STEPS[0] and label != "separation, SVD":
                drift["Phi"] |= {label: envelope(result.time, Phi, 100)}
                drift["error"] |= {label: envelope(result.time, error, 100)}
    for label in LONG:
        result = go(label, TIMES[-1], STEPS[0], 0.1)
        Phi = result["constraint.position"]
        found |= {f"{label}, Phi at {t} s": float(Phi[10 * t]) for t in TIMES}
        drift["long"] |= {label: envelope(result.time, Phi, 100)}
    seconds = {
        label: min(go(label, STOP, STEPS[1], STOP).seconds for _ in range(5))
        for label in ("direct, Runge-Kutta", "separation, QR")
    }
    found["time of separation / direct"] = seconds["separation, QR"] / seconds["direct, Runge-Kutta"]
    residual = "largest Φ [m]"
    return Found(
        found,
        (
            Panel("position constraints, h = 0.01 s", "t [s]", residual, drift["Phi"], log=True, legend=""),
            Panel("coordinates, h = 0.01 s", "t [s]", "largest error [m, rad]", drift["error"], log=True),
            Panel("long run, h = 0.01 s", "t [s]", residual, drift["long"], log=True),
        ),
        columns=3,
    )


def main() -> dict[str, float]:
    """Return errors of the coordinates (m, rad), residuals (infinite where a method diverges), drift and time."""
    return run().numbers


def rows(found: dict[str, float]) -> Sequence[Row]:
    """Return the rows of the table."""
    claims = {
        "direct": "simplest; errors grow with time",
        "error": "diverges less easily; depends on gamma, delta",
        "separation": "the best accuracy and stability",
    }
    table: list[Row] = []
    for label in METHODS:
        claim = next(text for key, text in claims.items() if label.startswith(key))
        lines = []
        for h in STEPS:
            names = [f"{label}, h = {h:g}, {measure}" for measure in MEASURES]
            lines.append(f"h = {h:g} s: {'diverges' if found[names[0]] == inf else listed(found, names)}")
        table.append((f"{label}: error / Phi / Phi_q v", claim, "\n".join(lines)))
    for label in LONG:
        claim = next(text for key, text in claims.items() if label.startswith(key))
        names = [f"{label}, Phi at {t} s" for t in TIMES]
        table.append((f"{label}, Phi at 10 / 50 / 100 s", claim, listed(found, names, ".0e")))
    ratio = f"{found['time of separation / direct']:.1f} times"
    return [*table, ("time of separation, QR, against direct, Runge-Kutta", "about twice", ratio)]


if __name__ == "__main__":
    present("Hong & Liu, two links, 10 s", run, rows)

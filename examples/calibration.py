"""Calibration of a robot: lengths of its links and zeros of its joints from measured positions of its tip.

The arm of six joints has links that are up to 2 mm off and encoders whose zeros are up to 0.2° off. A tracker measures
the tip in some poses, to 0.05 mm. `mbfmu.equations` gives the pose of the tip as a CasADi Function of coordinates and
parameters; the slopes in both make the least squares problem of Gauss and Newton, whose singular values tell whether
the poses determine all twelve values (Mooring, Roth and Driels, Fundamentals of Manipulator Calibration, 1991). Other
poses show what is gained.

Run: python -m examples.calibration [--plot FILE]
"""

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

import mbfmu
from examples.report import Array, Curves, Found, Panel, Row, present

MODEL = "arm6"
TIP = "link6.frame_b"
LENGTHS = tuple(f"link{k}.r[1]" for k in range(1, 7))
OFF = (2e-3, np.radians(0.2))
"""Largest errors of a length, m, and of a zero, rad."""
TRACKER = 5e-5
"""Standard deviation of a measured coordinate of the tip, m."""
POSES, TRIED = 40, 200
"""Number of poses for the calibration, and of those that are tried afterwards."""
ROUNDS = 8


def positions() -> tuple[Any, Any]:
    """Return the Functions (q, x) -> position of the tip and its slopes in x: six lengths and six zeros."""
    equations = mbfmu.equations(MODEL, parameters=LENGTHS)
    q, x = ca.SX.sym("q", 6), ca.SX.sym("x", 12)
    r, _ = equations.pose(TIP)(q + x[6:], x[:6], 0.0)
    return ca.Function("tip", [q, x], [r]), ca.Function("slopes", [q, x], [ca.jacobian(r, x)])


def calibrated(tip: Any, slopes: Any, q: Array, measured: Array) -> tuple[Array, Array, Array]:
    """Return the values, their standard errors and the singular values of the scaled Jacobian.

    Args:
        tip: see `positions`.
        slopes: see `positions`.
        q: angles of the encoders, shape (n, 6).
        measured: positions of the tip, m, shape (n, 3).
    """
    x, scale = np.r_[np.ones(6), np.zeros(6)], np.repeat(OFF, 6)
    for _ in range(ROUNDS):
        residuals = np.concatenate(
            [row - tip(angles, x).full().ravel() for angles, row in zip(q, measured, strict=True)]
        )
        J = np.vstack([slopes(angles, x).full() for angles in q]) * scale
        x = x + scale * np.linalg.lstsq(J, residuals, rcond=None)[0]
    errors = TRACKER * scale * np.sqrt(np.diag(np.linalg.inv(J.T @ J)))
    return x, errors, np.linalg.svd(J / np.linalg.norm(J, axis=0), compute_uv=False)


def run(poses: int = POSES, seed: int = 0) -> Found:
    """Measure the tip in random poses, and calibrate."""
    random = np.random.default_rng(seed)
    truth = np.r_[np.ones(6), np.zeros(6)] + np.repeat(OFF, 6) * random.uniform(-1, 1, 12)
    tip, slopes = positions()
    q, tried = random.uniform(-1.5, 1.5, (poses, 6)), random.uniform(-1.5, 1.5, (TRIED, 6))
    at = lambda angles, x: np.array([tip(row, x).full().ravel() for row in angles])  # noqa: E731
    measured = at(q, truth) + TRACKER * random.normal(size=(poses, 3))
    found, errors, singular = calibrated(tip, slopes, q, measured)
    nominal = np.r_[np.ones(6), np.zeros(6)]
    before, after = (np.linalg.norm(at(tried, x) - at(tried, truth), axis=1) for x in (nominal, found))
    numbers = {
        "before": float(np.sqrt(np.mean(before**2))),
        "after": float(np.sqrt(np.mean(after**2))),
        "length": float(np.abs(found - truth)[:6].max()),
        "zero": float(np.abs(found - truth)[6:].max()),
        "deviations": float(np.sqrt(np.mean(((found - truth) / errors) ** 2))),
        "condition": float(singular[0] / singular[-1]),
    }
    steps = np.arange(1, TRIED + 1) / TRIED
    share: Curves = {"before": (1e3 * np.sort(before), steps), "after": (1e3 * np.sort(after), steps)}
    index = np.arange(1, 7)
    off, left = np.abs(nominal - truth), np.abs(found - truth)
    lengths: Curves = {"before": (index, 1e3 * off[:6]), "after": (index, 1e3 * left[:6])}
    zeros: Curves = {"before": (index, np.degrees(off[6:])), "after": (index, np.degrees(left[6:]))}
    panels = (
        Panel("error of the tip", "error [mm]", "part of other poses", share, log_x=True),
        Panel("errors of the lengths", "link", "error [mm]", lengths, log=True, dots=9, legend=""),
        Panel("errors of the zeros", "joint", "error [°]", zeros, log=True, dots=9, legend=""),
    )
    return Found(numbers, panels, columns=3)


def rows(found: dict[str, float]) -> Sequence[Row]:
    """Return the rows of the table."""
    return [
        ("error of the tip in other poses, before", "-", f"{1e3 * found['before']:.2f} mm"),
        ("after", "-", f"{1e3 * found['after']:.3f} mm"),
        ("largest error of a length", "-", f"{1e3 * found['length']:.3f} mm"),
        ("largest error of a zero", "-", f"{np.degrees(found['zero']):.4f}°"),
        ("errors over standard errors", "1", f"{found['deviations']:.2f}"),
        ("condition number", "-", f"{found['condition']:.0f}"),
    ]


if __name__ == "__main__":
    present("A robot whose lengths and zeros are found from poses of its tip", run, rows, "expected")

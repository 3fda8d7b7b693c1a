"""A Kalman filter that sees only the cart of a pendulum, and estimates the pole, both rates and the mass of the pole.

The extended Kalman filter (Simon, Optimal State Estimation, 2006, 13.2) predicts by `mbfmu.equations`: one step of the
classical Runge-Kutta method between two measurements, with the slopes of CasADi. The mass is a state that stays as it
is. What it predicts is measured on a run of mbfmu with another mass, whose positions have random errors. Errors are
held against the deviations that the filter claims.

Run: python -m examples.estimation [--plot FILE]
"""

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

import mbfmu
from examples.report import Array, Curves, Found, Panel, Row, present

MODEL = "cart_pendulum"
STATES = ("rail.s", "hinge.phi", "rail.v", "hinge.w")
MASS, GUESSED = 0.3, 0.2
"""Mass of the pole and the one that the filter begins with, kg."""
BEGIN = {"hinge.phi": -np.pi / 2 + 0.5, "m": MASS}
"""The pole hangs, 0.5 rad from the vertical."""
PERIOD, STOP = 0.02, 8.0
"""s."""
SENSOR = 2e-3
"""Standard deviation of a measured position of the cart, m."""
DEVIATIONS = (0.05, 0.5, 0.5, 1.0, 0.15)
"""Standard deviations of the state at the begin: cart, pole, their rates, mass."""
NOISE = (1e-7, 1e-7, 1e-5, 1e-5, 1e-6)
"""Standard deviations of what each step adds, for errors of the discretisation."""


def steps() -> tuple[Any, Any]:
    """Return the Functions (x, u) -> x after a period, and its slopes in x; x has the mass at its end."""
    equations = mbfmu.equations(MODEL, parameters=("m",))
    x, u = ca.SX.sym("x", 5), ca.SX.sym("u")
    f = lambda x: ca.vertcat(equations.rhs(x[:4], u, x[4], 0.0), 0)  # noqa: E731 - the mass stays
    k1 = f(x)
    k2 = f(x + PERIOD / 2 * k1)
    k3 = f(x + PERIOD / 2 * k2)
    k4 = f(x + PERIOD * k3)
    after = x + PERIOD / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return ca.Function("step", [x, u], [after]), ca.Function("slopes", [x, u], [ca.jacobian(after, x)])


def filtered(measured: Array, forces: Array) -> tuple[Array, Array, Array]:
    """Return the estimates and their standard deviations, shape (n, 5), and the normalised innovations, (n,).

    Args:
        measured: positions of the cart at the instants, m, shape (n,).
        forces: from each instant to the next, N, shape (n,).
    """
    step, slopes = steps()
    x, P = np.array([0.0, -np.pi / 2, 0.0, 0.0, GUESSED]), np.diag(np.square(DEVIATIONS))
    Q, H = np.diag(np.square(NOISE)), np.eye(5)[:1]
    estimates, deviations, innovations = [], [], []
    for y, u in zip(measured, forces, strict=True):
        # correction: K = P H^T (H P H^T + R)^-1
        S = float((H @ P @ H.T).item()) + SENSOR**2
        K = P @ H.T / S
        innovation = y - x[0]
        x = x + K[:, 0] * innovation
        P = (np.eye(5) - K @ H) @ P @ (np.eye(5) - K @ H).T + K @ K.T * SENSOR**2
        estimates.append(x)
        deviations.append(np.sqrt(np.diag(P)))
        innovations.append(innovation / np.sqrt(S))
        # prediction: x = f(x, u), P = F P F^T + Q
        F = slopes(x, u).full()
        x, P = step(x, u).full().ravel(), F @ P @ F.T + Q
    return np.array(estimates), np.array(deviations), np.array(innovations)


def measurements(stop: float, seed: int = 0) -> tuple[Array, Array, Array, Array]:
    """Return times, states (n, 4), measured positions and the forces between the instants, which are held."""
    at = PERIOD * np.arange(round(stop / PERIOD) + 1)
    forces = np.array([4 * np.sin(3 * t) + 2 * np.sin(7 * t) for t in at])
    plant = mbfmu.Simulation(MODEL, step=1e-3, values=BEGIN)
    states = []
    for force in forces:
        states.append([plant[name] for name in STATES])
        plant.step({"rail.f": force}, PERIOD)
    truth = np.array(states)
    return at, truth, truth[:, 0] + SENSOR * np.random.default_rng(seed).normal(size=len(at)), forces


def run(stop: float = STOP) -> Found:
    """Run the cart, and estimate its state from its position."""
    at, truth, measured, forces = measurements(stop)
    estimates, deviations, innovations = filtered(measured, forces)
    whole = np.column_stack([truth, np.full(len(at), MASS)])
    parts = (estimates - whole) / deviations
    late = at > stop / 2
    numbers = {
        "pole": float(np.sqrt(np.mean((estimates - whole)[late, 1] ** 2))),
        "pole claimed": float(np.sqrt(np.mean(deviations[late, 1] ** 2))),
        "mass": float(estimates[-1, 4]),
        "mass claimed": float(deviations[-1, 4]),
        "innovations": float(np.mean(innovations[late] ** 2)),
        "within three": float(np.mean(np.abs(parts) < 3)),
        "cart": float(np.sqrt(np.mean((estimates - whole)[late, 0] ** 2))),
    }
    pole: Curves = {
        "pole": (at, np.degrees(truth[:, 1]) + 90),
        "estimate": (at, np.degrees(estimates[:, 1]) + 90),
    }
    error: Curves = {
        "error": (at, np.degrees(estimates[:, 1] - truth[:, 1])),
        "three deviations": (np.r_[at, at[::-1]], np.degrees(np.r_[3 * deviations[:, 1], -3 * deviations[::-1, 1]])),
    }
    mass: Curves = {
        "pole": (at, np.full(len(at), MASS)),
        "estimate": (at, estimates[:, 4]),
    }
    panels = (
        Panel("the pole from hanging", "t [s]", "angle [°]", pole),
        Panel("error of its angle", "t [s]", "angle [°]", error, window=(0, stop, -6, 6)),
        Panel("mass of the pole", "t [s]", "mass [kg]", mass, legend=""),
    )
    return Found(numbers, panels, columns=3)


def rows(found: dict[str, float]) -> Sequence[Row]:
    """Return the rows of the table."""
    return [
        ("error of the pole's angle", f"{np.degrees(found['pole claimed']):.2g}°", f"{np.degrees(found['pole']):.2g}°"),
        ("mass of the pole", f"{MASS} ± {found['mass claimed']:.2g} kg", f"{found['mass']:.4f} kg"),
        ("mean square of the innovations", "1", f"{found['innovations']:.2f}"),
        ("errors within three deviations", "0.997", f"{found['within three']:.3f}"),
        ("error of the cart's position", f"less than {1e3 * SENSOR:g} mm", f"{1e3 * found['cart']:.2g} mm"),
    ]


if __name__ == "__main__":
    present("A Kalman filter that sees only the cart of a pendulum", run, rows, "expected")

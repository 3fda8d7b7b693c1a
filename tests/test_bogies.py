"""The bogie against its linear equations, by hand."""

from math import atan, cos, sin

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import brentq

import mbfmu
from mbfmu.model import System

Array = npt.NDArray[np.float64]
ARM, HALF_GAUGE, RADIUS, RAIL = 1.0, 0.75, 0.46, 0.3
BOX, BOX_YAW, AXLE, FRAME_YAW, FRAME_ROLL = 200.0, 150.0, 100.0, 2500.0, 1500.0


def hand_matrices(v: float, taper: float) -> tuple[Array, Array, Array]:
    """Return mass, damping and stiffness for y and psi of each wheelset, and y, psi and roll of the frame.

    (Wickens, Fundamentals of Rail Vehicle Dynamics, 2003.) A cone on a circular arc rolls as the cone at the distance
    of its radius does on the centre of the arc: that decides the roll mu y and the stiffness of gravity.
    """
    system = mbfmu.load("bogie")
    assert isinstance(system, System)
    p = {item.name: float(item.value) for item in system.parameters}
    lean, load = atan(taper), (p["m_w"] + BOX) * 9.81 + (p["m_f"] * 9.81 + p["W"]) / 2
    b, r = HALF_GAUGE + RAIL * sin(lean), RADIUS + RAIL * cos(lean)
    mu = taper / (b - taper * r)
    across, cone = 1 + RADIUS * mu, 1 + (RADIUS + RAIL) * mu
    f = p["f"] * (load / 2 / 35e3) ** (2 / 3)
    circle, length = b / np.sin(2 * lean), r + b * taper
    gyro = AXLE * mu * v / RADIUS
    M, C, K = (np.zeros((7, 7)) for _ in range(3))
    for k in (0, 2):
        M[k, k] = p["m_w"] + BOX + (p["I_w"] + BOX_YAW) * mu**2
        M[k + 1, k + 1] = p["I_w"] + BOX_YAW
        C[k, k], C[k + 1, k + 1] = 2 * across**2 * f / v, 2 * f * HALF_GAUGE**2 / v
        C[k, k + 1], C[k + 1, k] = -gyro, gyro
        K[k, k] = load * (4 * circle - length) / (2 * circle - length) ** 2
        K[k, k + 1] = -2 * across * f
        K[k + 1, k] = 2 * f * HALF_GAUGE * taper * cone / RADIUS
        K[k + 1, k + 1] = -load * taper * (b - taper * r)
    M[4:, 4:] = np.diag([p["m_f"], FRAME_YAW, FRAME_ROLL])
    K[4, 4], K[5, 5], C[4, 4] = p["c_2"], p["c_yaw"], p["d_2"]
    for k, x in ((0, p["l"]), (2, -p["l"])):
        stretch = np.zeros((3, 7))  # along at the end of the axle, across, upwards at its end
        stretch[0, [k + 1, 5]] = -ARM, ARM
        stretch[1, [k, 4, 5]] = 1, -1, -x
        stretch[2, [k, 6]] = ARM * mu, -ARM
        K += 2 * stretch.T @ np.diag([p["c_x"], p["c_y"], p["c_z"]]) @ stretch
        C += 2 * p["d_1"] * stretch.T @ stretch
    return M, C, K


def growth(v: float, taper: float) -> float:
    """Return the largest real part of the eigenvalues of the equations by hand, 1/s."""
    M, C, K = hand_matrices(v, taper)
    none, one = np.zeros((7, 7)), np.eye(7)
    A = np.block([[none, one], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]])
    return float(np.linalg.eigvals(A).real.max())


@pytest.mark.slow
@pytest.mark.parametrize("taper", [0.025, 0.05])
def test_the_critical_speed_of_the_bogie_is_that_of_its_linear_equations(taper: float) -> None:
    speed = brentq(lambda v: growth(v, taper), 20.0, 300.0)
    found = mbfmu.locus("bogie", {"v": (0.99 * speed, 1.01 * speed)}, {"taper": taper})
    (critical,) = found.critical
    assert critical.unstable == (0, 2)
    assert critical.value == pytest.approx(speed, rel=1e-3)

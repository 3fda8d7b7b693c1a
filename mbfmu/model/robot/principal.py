"""Principal axes as MuJoCo takes them, whose order and signs decide the coordinates of an aligned body."""

import math

import numpy as np

from mbfmu.model.robot.rigid_pose import about
from mbfmu.model.robot.robot import Array

SMALLEST, CLOSE = 1e-14, 1e-12
"""Largest product of inertia that counts as none, and least difference of moments that decides their order, over the
largest moment."""
MOST = 500
"""Largest number of turns."""


def principal_axes(inertia: Array) -> Array:
    """Return principal axes, shape (3, 3), one in each column, with the largest moment first: by Jacobi's turns.

    Args:
        inertia: shape (3, 3), symmetric, kg.m2.
    """
    R, size = np.eye(3), float(np.abs(inertia).max())
    for _ in range(MOST):
        D = R.T @ inertia @ R
        i, k = max(((1, 2), (0, 2), (0, 1)), key=lambda entry: abs(D[entry]))
        if abs(D[i, k]) <= SMALLEST * size:
            break
        tau = (D[k, k] - D[i, i]) / (2 * D[i, k])
        t = 1 / (abs(tau) + math.hypot(1, tau))
        c, way = 1 / math.hypot(1, t), 1 if tau >= 0 else -1
        turn = np.eye(3)
        turn[i, i] = turn[k, k] = c
        turn[i, k], turn[k, i] = way * t * c, -way * t * c
        R = R @ turn
    moments = np.diag(R.T @ inertia @ R).copy()
    for i in (0, 1, 0):
        if moments[i] + CLOSE * size < moments[i + 1]:
            moments[i], moments[i + 1] = moments[i + 1], moments[i]
            R = R @ about(np.eye(3)[(i + 2) % 3], math.pi / 2)
    return R

"""Extrapolation of the modified midpoint rule in 80-bit arithmetic: the integrator of the references made here."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.longdouble]
Rate = Callable[[Column], Column]
COLUMNS = 9
"""Of the extrapolation table; the order is twice as much."""


def gain(rate: Rate, y: Column, H: np.longdouble, n: int) -> Column:
    """Return the change of y over H by n steps of the modified midpoint rule with smoothing."""
    h = H / n
    before, here = np.zeros_like(y), h * rate(y)
    for _ in range(n - 1):
        before, here = here, before + 2 * h * rate(y + here)
    return (before + here + h * rate(y + here)) / 2


def integrate(rate: Rate, y0: Column, times: Sequence[float], H: float, columns: int = COLUMNS) -> list[Column]:
    """Return the solution of y' = rate(y), y(0) = y0, at the times, each a multiple of H.

    (Hairer, Norsett & Wanner, Solving Ordinary Differential Equations I, II.9, with n_j = 2 j.)
    """
    y, found, done = y0, [], 0
    weights = {j: np.longdouble(2 * j) ** 2 for j in range(1, columns + 1)}
    for t in times:
        steps = round(t / H)
        for _ in range(steps - done):
            row: list[Column] = []
            for j in range(1, columns + 1):
                last, row = row, [gain(rate, y, np.longdouble(t) / steps, 2 * j)]
                for k, old in enumerate(last, 1):
                    row.append(row[-1] + (row[-1] - old) / (weights[j] / weights[j - k] - 1))
            y = y + row[-1]
        done = steps
        found.append(y)
    return found

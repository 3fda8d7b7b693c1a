"""Frequencies of flexible bodies and lines at the start of a mechanism, and the step that they ask for.

With the stiffness K of a body's own shape alone, its frequencies are the roots of det(K - omega^2 M) = 0. With the
block of M of its shape these are those with all other coordinates held; with all of M, nothing else has stiffness or is
held: constraints can only lower the highest of them (Courant & Hilbert, Methods of Mathematical Physics, chapter 1.4).
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.dae.dae import Dae

Array = npt.NDArray[np.float64]

EXPLICIT = 1 / 3
"""Longest step of explicit steppers as a part of a period: those of fourth order are stable to 0.45 of it."""


class Vibration(NamedTuple):
    """The frequencies of a flexible body or line at the start.

    Args:
        path: full name of the body.
        size: number of the coordinates of its shape.
        lowest: lowest frequency with everything but its shape held, Hz.
        highest: highest frequency that it can have in the mechanism, Hz.
    """

    path: str
    size: int
    lowest: float
    highest: float

    @property
    def step(self) -> float:
        """Longest step of explicit steppers, s."""
        return EXPLICIT / self.highest if self.highest else math.inf


def vibrations(dae: Dae) -> Iterator[Vibration]:
    """Yield the frequencies of each flexible body and line at the start."""
    if not dae.flexible:
        return
    p, u, s = dae.extended(dae.p_default()), dae.u_default(), dae.s_default()[: len(dae.assembly.starts)]
    q = dae.assembly.guess(s, p, 0.0)
    symbols = dae.symbols()
    slopes = ca.Function("slopes", list(symbols), [ca.densify(ca.jacobian(dae.force(*symbols), symbols[0]))])
    z, still = np.zeros(symbols[2].numel()), np.zeros(dae.n)
    K, M = -np.array(slopes(q, still, z, u, p, 0.0)), np.array(dae.M(q, p))
    plain = dae.unswitched
    rows = np.array(plain.Phi_q(q[: plain.n], p[: plain.n_p], 0.0))[plain.m - plain.assembly.norms : plain.m]
    norms = np.pad(rows, ((0, 0), (0, dae.n - plain.n)))
    for path, numbers in dae.flexible:
        own = np.ix_(numbers, numbers)
        alone = np.zeros_like(M)
        alone[own] = (K[own] + K[own].T) / 2
        held = _squares(alone[own], M[own], norms[:, numbers])[0]
        free = _squares(alone, M, norms)[-1]
        lowest, highest = (math.sqrt(max(item, 0.0)) / (2 * math.pi) for item in (held, free))
        yield Vibration(path, len(numbers), lowest, highest)


def _squares(K: Array, M: Array, norms: Array) -> Array:
    """Return the squares of the frequencies, from the lowest, of motions that keep quaternions at length 1."""
    from scipy.linalg import eigh, null_space  # their import takes longer than a prepared model takes to start

    ways = null_space(norms) if norms.any() else np.eye(len(M))
    found: Array = eigh(ways.T @ K @ ways, ways.T @ M @ ways, eigvals_only=True)
    return found


def quickest(dae: Dae) -> Vibration | None:
    """Return the flexible body with the highest frequency; None without flexible bodies."""
    return max(vibrations(dae), key=lambda item: item.highest, default=None)

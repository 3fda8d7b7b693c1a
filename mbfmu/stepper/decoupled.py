"""The eigenvalues of A^-1, by which the nodes of a collocation method are solved for one after the other."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.stepper.scheme import SX

Array = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Collocated:
    """Matrices and numbers by which the nodes of a collocation method are decoupled.

    With W the change of the coordinates of a node in the eigenvectors of D, gamma an eigenvalue, V = gamma W + off mu
    that of the velocities and gamma V that of the accelerations (times h and h^2), Newton's matrix is

        B2 gamma V + B1 V + B0 W + C^T L + Bz Wz,    C W,    C V,    gamma Wz - F1 V - F0 W - Fz Wz

    Args:
        D: A^-1, shape (s, s).
        n: number of coordinates.
        positions: number of constraints on positions.
        constraints: number of rows of C.
        closing: number of constraints on velocities at the nodes; 0: there are none.
        start: point y at the start of the step.
        off: SX, sparse, shape (n, n_mu): the directions in which multipliers mu move the coordinates.
        once: SX, a column: what is computed once a step, before the guess.
        symbols: SX symbols that stand for it in the start, the points, the guess, the result and in `off`.
        linearised: function of the slopes of a node's equations by its point -> (B2, B1, B0, C, Bz, F1, F0, Fz), MX.
    """

    D: Array
    n: int
    positions: int
    constraints: int
    closing: int
    start: SX
    off: SX
    once: SX
    symbols: SX
    linearised: Callable[[SX], tuple[SX, ...]]


def eigen(D: Array) -> tuple[tuple[complex, ...], Array]:
    """Return the eigenvalues gamma of D, one of each complex pair, and the real matrix T of their vectors.

    (Hairer & Wanner, Solving Ordinary Differential Equations II, IV.8.) Of a pair T has two columns, a and b, with
    D (a - i b) = gamma (a - i b), so that their coefficients w_a + i w_b are multiplied by gamma. Real ones are first.

    Args:
        D: regular, with different eigenvalues, shape (s, s).
    """
    values, vectors = np.linalg.eig(D)
    small = 1e-9 * np.abs(values).max()
    order = sorted(range(len(values)), key=lambda k: (abs(values[k].imag) > small, values[k].real))
    gamma: list[complex] = []
    columns: list[Array] = []
    for k in order:
        value, vector = values[k], vectors[:, k]
        if abs(value.imag) <= small:
            gamma.append(complex(value.real))
            columns.append(vector.real / np.abs(vector).max())
        elif value.imag < 0:
            vector = vector / vector[np.abs(vector).argmax()]
            gamma.append(complex(value))
            columns += [vector.real, -vector.imag]
    return tuple(gamma), np.stack(columns, axis=1)


def connected(pattern: Any) -> tuple[tuple[int, ...], ...]:
    """Return the groups of rows that a square pattern connects: CasADi Sparsity, shape (n, n)."""
    _, rows, offsets = (pattern + pattern.T + ca.Sparsity.diag(pattern.shape[0])).scc()
    return tuple(tuple(sorted(rows[first:end])) for first, end in pairwise(offsets))

"""Steady motions with spinning bodies: their quaternions turn, while nothing else may depend on how far they have.

A quaternion with a constant angular velocity w in its own axes obeys Q' = S Q, where S multiplies by (0, w/2) from the
right, so that Q(t) = exp(S t) Q(0). The deviations Y in Q(t) = exp(S t) Y(t) are those of a frame that spins no longer:

    Q' = exp(S t) (Y' + S Y),    Q'' = exp(S t) (Y'' + 2 S Y' + S^2 Y)

For bodies that are alike all round their axis the equations of Y are those at t = 0 at any time. S commutes with its
exponential, and is zero for coordinates that are no quaternions.
"""

from collections.abc import Sequence

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.dae import Dae

Array = npt.NDArray[np.float64]


def spin_of(quaternions_of_bodies: Sequence[list[int]], q: Array, v: Array) -> Array:
    """Return S with Q' = S Q for every quaternion among the coordinates, shape (n, n), 1/s.

    Args:
        quaternions_of_bodies: numbers of the coordinates of each quaternion, see `quaternions`.
        q: coordinates, shape (n,).
        v: rates, shape (n,).
    """
    S = np.zeros((len(q), len(q)))
    for entries in quaternions_of_bodies:
        (a, *b), (c, *d) = q[entries], v[entries]
        half = a * np.array(d) - c * np.array(b) - np.cross(b, d)  # the vector part of Q* Q'
        x, y, z = half
        S[np.ix_(entries, entries)] = [[0, -x, -y, -z], [x, 0, z, -y], [y, -z, 0, x], [z, y, -x, 0]]
    return S


def quaternions(dae: Dae) -> list[list[int]]:
    """Return the numbers of the coordinates of each quaternion, the scalar part first."""
    plain, count = dae.unswitched, dae.unswitched.start.norms
    q, _, _, _, p, t = plain.symbols()
    rows = plain.constraints.Phi(q, p, t)[plain.m - count : plain.m]
    depends = ca.jacobian_sparsity(rows, q) if count else ca.Sparsity(0, plain.n)
    columns: list[list[int]] = [[] for _ in range(count)]
    for row, column in zip(*depends.get_triplet(), strict=True):
        columns[row].append(column)
    return [sorted(entries) for entries in columns]

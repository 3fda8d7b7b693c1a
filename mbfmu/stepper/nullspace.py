"""Symbolic bases of the null space of a wide matrix, without branches: code and derivatives are straight-line."""

from collections.abc import Callable

import casadi as ca

SX = ca.SX


def householder_nullspace(P: SX) -> SX:
    """Return an orthonormal basis of ker P, SX of shape (n, n - m), by a QR factorisation of P^T."""
    return ca.nullspace(P)


def gauss_nullspace(P: SX) -> SX:
    """Return a basis of ker P, SX of shape (n, n - m), by row elimination with column exchange.

    S P X = [I C] with a permutation X, hence V = X [-C; I]. The pivot of each row is its largest entry; the exchange
    is written with a one-hot vector, so that the pivots are chosen again for every value of P.
    """
    m, n = P.shape
    S = ca.densify(P)
    X = ca.SX.eye(n)
    X = ca.densify(X)
    for row in range(m):
        best = ca.mmax(ca.fabs(S[row, row:]))
        chosen, free = [], ca.SX(1)
        for column in range(row, n):
            hit = free * (ca.fabs(S[row, column]) >= best)
            free = free * (1 - hit)
            chosen.append(hit)
        hot = ca.vertcat(ca.SX.zeros(row, 1), *chosen)
        S, X = _exchanged(S, row, hot), _exchanged(X, row, hot)
        scaled = S[row, :] / S[row, row]
        rows = [scaled if other == row else S[other, :] - S[other, row] * scaled for other in range(m)]
        S = ca.vertcat(*rows)
    return X @ ca.vertcat(-S[:, m:], ca.SX.eye(n - m))


def _exchanged(A: SX, first: int, hot: SX) -> SX:
    """Return A with the column `first` and the column that `hot` selects exchanged."""
    old, picked = A[:, first], A @ hot
    columns = [A[:, column] + hot[column] * (old - A[:, column]) for column in range(A.shape[1])]
    columns[first] = picked
    return ca.horzcat(*columns)


NULLSPACES: dict[str, Callable[[SX], SX]] = {"qr": householder_nullspace, "gauss": gauss_nullspace}

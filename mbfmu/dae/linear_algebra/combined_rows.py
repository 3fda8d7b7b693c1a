"""Combinations of redundant constraint rows that follow the motion.

Of the rows of a set of constraints d are redundant: d combinations of them vanish. Which rows can be left out changes
along the motion: those that remain of a fixed choice may lose rank where all rows together do not. Let C be some rows
of the set, shape (m, n), such that no combination vanishes without them: the rows of one joint of a loop, as the forces
there decide those in all joints around. With N the parts of the vanishing combinations in C, shape (m, d), the
equations keep m - d combinations R C that are orthogonal to it, and all other rows B of the set:

    H = H_d ... H_1,    H_j = I - w_j w_j^T,    H N = [triangular; 0],    R = the last m - d rows of H

The Householder reflections w_j (Golub & Van Loan, Matrix Computations, 5.1) are constant within a step, so that a step
has the constraints R Phi(q) = 0 with a constant R: smooth, and of full rank also off the constraints, where there are
more independent rows than on them. At the end of a step they are made again. With the old N, N^T N = I and R N = 0:

    A = [B; R C],    (A A^T) [Y; X] = A C^T N,    N' = N - R^T X

Then N'^T C - Y^T B = N^T C - [Y; X]^T A is 0, as all rows are combinations of those of A, and N' has full rank, as
N^T N' = I: no pivoting is needed. With w = 0, R selects the last m - d rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from mbfmu.dae.linear_algebra.kkt import Factor

SX = ca.SX
DAMPING = 1e-14
"""Part of the mean diagonal of A A^T that is added to it, so that a singular position leaves N finite."""


@dataclass(frozen=True)
class CombinedRows:
    """The rows C of a set that are combined, and the others.

    Args:
        rows: indices of the rows C in [Phi_q; G], shape (m,), holonomic ones; w = 0 drops the first d of them.
        d: number of redundant rows.
        others: indices of the rows B.
    """

    rows: tuple[int, ...]
    d: int
    others: tuple[int, ...]

    @property
    def kept(self) -> tuple[int, ...]:
        """Indices of the rows whose place the combinations take."""
        return self.rows[self.d :]

    @property
    def size(self) -> int:
        """Number of entries of the reflections w_1, ..., w_d; the first j entries of w_j are zero and left out."""
        return sum(len(self.rows) - j for j in range(self.d))

    def combined(self, w: SX, X: SX) -> SX:
        """Return R X, shape (m - d, n).

        Args:
            w: entries of the reflections, shape (size,).
            X: SX, shape (m, n).
        """
        for reflection in self._reflections(w):
            X = X - reflection @ (reflection.T @ X)
        return X[self.d :, :]

    def spread(self, w: SX, Y: SX) -> SX:
        """Return R^T Y, shape (m, n).

        Args:
            w: entries of the reflections, shape (size,).
            Y: SX, shape (m - d, n).
        """
        return self._reflected_back(w, ca.vertcat(ca.SX(self.d, Y.shape[1]), Y))

    def followed(self, w: SX, every: SX) -> SX:
        """Return the reflections that suit a Jacobian, shape (size,).

        Args:
            w: entries of the reflections before, shape (size,).
            every: SX, [Phi_q; G] with the redundant rows; A of this set has full rank.
        """
        C, B = every[list(self.rows), :], every[list(self.others), :]
        kept = len(self.rows) - self.d
        # the combinations that have vanished, N = H^T [I_d; 0], and the independent rows, A = [B; R C]
        N = self._reflected_back(w, ca.vertcat(ca.SX.eye(self.d), ca.SX(kept, self.d)))
        A = ca.vertcat(B, self.combined(w, C))
        # (A A^T) [Y; X] = A C^T N
        S = A @ A.T
        S += DAMPING * ca.trace(S) / A.shape[0] * ca.SX.eye(A.shape[0])
        solved = Factor(S)
        YX = ca.horzcat(*(solved.solve(column) for column in ca.horzsplit(A @ (C.T @ N))))
        # N' = N - R^T X, and the reflections that make it triangular
        N = N - self.spread(w, YX[len(self.others) :, :])
        reflections = []
        for j in range(self.d):
            x = N[j:, j]
            length, first = ca.norm_2(x), x[0]
            opposite = ca.if_else(first < 0, -length, length)
            # with v = x +- |x| e_1 and |v|^2 = 2 |x| (|x| + |x_1|): H = I - w w^T, w = sqrt(2) v / |v|
            x[0] = first + opposite
            x = x / ca.sqrt(length * (length + ca.fabs(first)))
            reflections.append(x)
            whole = ca.vertcat(ca.SX(j, 1), x)
            N = N - whole @ (whole.T @ N)
        return ca.densify(ca.vertcat(*reflections))

    def _reflections(self, w: SX) -> list[SX]:
        """Return w_1, ..., w_d, each of shape (m, 1)."""
        m, first, reflections = len(self.rows), 0, []
        for j in range(self.d):
            reflections.append(ca.vertcat(ca.SX(j, 1), w[first : first + m - j]))
            first += m - j
        return reflections

    def _reflected_back(self, w: SX, X: SX) -> SX:
        """Return H^T X, shape (m, n)."""
        for reflection in reversed(self._reflections(w)):
            X = X - reflection @ (reflection.T @ X)
        return X


def reflections_of(sets: Sequence[CombinedRows], w: SX) -> list[SX]:
    """Return the part of the reflections of all sets that belongs to each.

    Args:
        sets: sets of rows.
        w: entries of all reflections.
    """
    ends = [0]
    for item in sets:
        ends.append(ends[-1] + item.size)
    return list(ca.vertsplit(w, ends))

"""The linear system all methods share: [M C^T; C 0] [y; mu] = [f; g]."""

import copy
import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

SX = ca.SX

LEAST_PIVOT = 1e-9
"""Smallest accepted pivot of the Schur complement relative to its usual diagonal. Coordinates are known to about 1e-14,
so that accelerations with such a pivot have an error of about 1e-14 / 1e-9."""
SPARSE = 16
"""Largest number of entries of M^-1 per row for which a factor is kept."""


class OverMass:
    """The map f -> M^-1 f, for f of shape (n, j).

    Columns that touch different diagonal blocks of M are solved for together, so that with many small blocks the work
    grows with their number and not with its square.

    Args:
        solve: the map for one column.
        row_lengths: see `Dae`.
        blocks: number of the diagonal block of M that each row is in, shape (n,).
    """

    def __init__(self, solve: Callable[[SX], SX], row_lengths: tuple[float, ...], blocks: Sequence[int]) -> None:
        self._solve, self.row_lengths, self._blocks = solve, row_lengths, blocks

    @cached_property
    def inverse(self) -> SX:
        """M^-1, sparse, shape (n, n)."""
        return self(ca.SX.eye(len(self._blocks)))

    def __call__(self, f: SX) -> SX:
        # Entries of each column of f, as row and index
        n, entries = f.shape[0], _entries(f)
        entries_of: list[list[tuple[int, int]]] = [[] for _ in range(f.shape[1])]  # row and index
        for index, (row, column) in enumerate(zip(*f.sparsity().get_triplet(), strict=True)):
            entries_of[column].append((row, index))
        # One solution for all columns of a group: they touch different blocks of M
        solved, positions = [ca.SX(0, 1)], []
        for owner in self._together([{self._blocks[row] for row, _ in column} for column in entries_of]):
            rows, numbers = zip(
                *sorted(entry for column in set(owner.values()) for entry in entries_of[column]), strict=True
            )
            sparsity = ca.Sparsity(n, 1, [0, len(rows)], rows)
            solution = self._solve(ca.SX(sparsity, entries[list(numbers)]))
            first = sum(item.numel() for item in solved)
            for index, (row, item) in enumerate(
                zip(solution.sparsity().row(), solution.nonzeros(), strict=True), first
            ):
                if self._blocks[row] in owner and not item.is_zero():
                    positions.append((owner[self._blocks[row]], row, index))
            solved.append(_entries(solution))
        # Entries of M^-1 f, sorted by column and row
        positions.sort()
        ends = np.cumsum(np.bincount([column for column, _, _ in positions], minlength=f.shape[1]))
        sparsity = ca.Sparsity(n, f.shape[1], [0, *ends.tolist()], [row for _, row, _ in positions])
        return ca.SX(sparsity, ca.vertcat(*solved)[[index for _, _, index in positions]])

    @staticmethod
    def _together(touched: Sequence[set[int]]) -> list[dict[int, int]]:
        """Return groups of columns that share no block: for each group, the column of each block.

        Args:
            touched: the blocks that each column touches.
        """
        groups: list[dict[int, int]] = []
        for column, blocks in enumerate(touched):
            if not blocks:
                continue
            group = next((each for each in groups if blocks.isdisjoint(each)), None)
            if group is None:
                groups.append(group := {})
            group.update(dict.fromkeys(blocks, column))
        return groups


def _entries(matrix: SX) -> SX:
    """Return the entries of a matrix, without those left out of it, as a column, shape (nnz, 1)."""
    return ca.vec(ca.SX(matrix).nz[:])


class Factor:
    """Symbolic factorisation of a positive definite matrix: sparse, straight-line, stable without pivoting.

    Args:
        A: SX, shape (n, n).
        least: SX, shape (n,): lower bounds; unless each pivot times its weight is above its bound, the solution is NaN.
        weights: SX, shape (n,), positive; None: 1.
    """

    def __init__(self, A: SX, least: SX | None = None, weights: SX | None = None) -> None:
        if not A.sparsity().is_symmetric():  # C may have entries that are zero, which M^-1 C^T leaves out
            A = ca.project(A, A.sparsity() + A.sparsity().T)
        D, LT, p = ca.ldl(A)
        if least is not None:
            D = ca.if_else(least[p] < (D if weights is None else D * weights[p]), D, math.nan)
        self._factor = D, LT, p

    @property
    def entries(self) -> tuple[SX, SX]:
        """Return D and L^T."""
        return self._factor[:2]

    def with_entries(self, D: SX, LT: SX) -> "Factor":
        """Return the factor with other entries of the same sparsity."""
        result = copy.copy(self)
        result._factor = D, LT, self._factor[2]
        return result

    def solve(self, b: SX) -> SX:
        """Return A^-1 b."""
        return ca.ldl_solve(b, *self._factor)


class SchurFactor:
    """Symbolic factorisation of a KKT matrix through the Schur complement S = C M^-1 C^T.

    M is symmetric positive definite and C has full row rank, so that S is positive definite, and the solution is
    straight-line code. One factor serves any number of right-hand sides. If a singular position is so near that digits
    are lost, the solution is NaN: the step fails, and is repeated in smaller parts.

    Args:
        mass_solve: the map f -> M^-1 f.
        C: SX, shape (k, n), full row rank, the first rows of [Phi_q; G]; k may be 0.
        M: SX, sparse, shape (n, n); None: nothing is multiplied by it.
    """

    def __init__(self, mass_solve: OverMass, C: SX, M: SX | None = None) -> None:
        self.C, self._over = C, mass_solve
        self._M: Any = M
        self.mass_solve: Callable[[SX], SX] = mass_solve
        self._schur: Factor | None = None
        # M^-1 C^T and S = C M^-1 C^T
        self._MiCt = mass_solve(C.T)
        if C.shape[0]:
            S = C @ self._MiCt
            # Bounds of the pivots of S: relative to its diagonal, or to the usual lengths of the rows
            least, weights = LEAST_PIVOT * ca.diag(S), None
            if mass_solve.row_lengths:  # rows may lose not only their independence, but also their length
                least = least * ca.SX(mass_solve.row_lengths[: C.shape[0]]) ** 2
                weights = ca.sum2(C**2)
            self._schur = Factor(S, least, weights)

    def solve(self, f: SX, g: SX) -> tuple[SX, SX]:
        """Return (y, mu) with M y + C^T mu = f and C y = g.

        Args:
            f: SX, shape (n,).
            g: SX, shape (k,).
        """
        return self.constrained(self.mass_solve(f), g)

    def constrained(self, free: SX, g: SX) -> tuple[SX, SX]:
        """Return (y, mu) from the solution without constraints, free = M^-1 f."""
        if self._schur is None:
            return free, ca.SX(0, 1)
        # S mu = C M^-1 f - g, y = M^-1 f - M^-1 C^T mu
        mu = self._schur.solve(self.C @ free - g)
        return free - self._MiCt @ mu, mu

    def corrected(self, y: SX, y1: SX, mu: SX, f: SX, e: SX, gap: SX) -> tuple[SX, SX, SX, SX]:
        """Return (y + c, y1 + c1, mu + nu), and the 1-norm of (c, c1).

        Here M (y + c) + C^T (mu + nu) = f, M (y + c - c1) = e and C (c + c1) / 2 = -gap.

        Args:
            y: SX, shape (n,).
            y1: SX, shape (n,).
            mu: SX, shape (k,).
            f: SX, shape (n,).
            e: SX, shape (n,).
            gap: SX, shape (k,).
        """
        # c without constraints, M c = f - M y - C^T mu, and c - c1 of M (c - c1) = e - M y
        My = self.times(y)
        c, apart = self.mass_solve(f - My - self.columns(mu)), self.mass_solve(e - My)
        # S nu = C (c - (c - c1) / 2) + gap, so that C (c + c1) / 2 = -gap
        if self._schur:
            nu = self._schur.solve(self.C @ (c - apart / 2) + gap)
            mu, c = mu + nu, c - self._MiCt @ nu
        c1 = c - apart
        return y + c, y1 + c1, mu, ca.norm_1(ca.densify(ca.vertcat(c, c1)))

    def times(self, x: SX) -> SX:
        """Return M x, shape (n,)."""
        return self._M @ x

    def columns(self, mu: SX) -> SX:
        """Return C^T mu, shape (n,)."""
        return self.C.T @ mu

    def kept(self) -> tuple[SX, Callable[[SX], "SchurFactor"]] | None:
        """Return the entries of the matrices that are no numbers, and a map: symbols for these -> the factor.

        None: nothing is to be kept, as there are numbers only, or as M^-1 has more than `SPARSE` entries per row.
        """
        if self._over.inverse.nnz() > SPARSE * self.C.shape[1]:
            return None
        # Entries of all matrices that are expressions, not numbers
        D, LT = self._schur.entries if self._schur else (ca.SX(0, 1), ca.SX(0, 0))
        matrices = [self._M, self._over.inverse, self.C, self._MiCt, ca.SX(D), LT]
        entries = ca.vertcat(*map(_entries, matrices))
        named = [index for index, item in enumerate(entries.nonzeros()) if not item.is_constant()]
        ends = np.cumsum([0, *(matrix.nnz() for matrix in matrices)]).tolist()

        # The factor with symbols in place of these
        def written(symbols: SX) -> "SchurFactor":
            known, result = ca.SX(entries), copy.copy(self)
            known[named] = symbols
            parts = zip(matrices, ca.vertsplit(known, ends), strict=True)
            result._M, inverse, result.C, result._MiCt, D, LT = (ca.SX(item.sparsity(), part) for item, part in parts)
            result.mass_solve = lambda f: inverse @ f
            result._schur = self._schur and self._schur.with_entries(D, LT)
            return result

        return (entries[named], written) if named else None

"""The linear system all methods share: [M C^T; C 0] [y; mu] = [f; g]."""

import math
from typing import Any

import casadi as ca

from mbfmu.dae.dae import Dae

SX = Any

LEAST_PIVOT = 1e-9
"""Of the Schur complement, a pivot against what its diagonal usually is. Coordinates are known to about 1e-14, so that
accelerations which meet it have an error of about 1e-14 / 1e-9."""


class OverMass:
    """The map f -> M(q, p)^-1 f, for f of shape (n, j).

    Args:
        dae: the equations.
        q: SX, shape (n,).
        p: SX, shape (n_p,).
    """

    def __init__(self, dae: Dae, q: SX, p: SX) -> None:
        self._dae, self._q, self._p = dae, q, p
        self.row_lengths = dae.row_lengths

    def __call__(self, f: SX) -> SX:
        columns = (self._dae.mass_solve(self._q, self._p, f[:, column]) for column in range(f.shape[1]))
        return ca.sparsify(ca.horzcat(ca.SX(f.shape[0], 0), *columns))


class Factor:
    """Symbolic factorisation of a positive definite matrix: sparse, straight-line, stable without pivoting.

    Args:
        A: SX, shape (n, n).
        least: SX, shape (n,): where a pivot is not above it the solution is NaN.
    """

    def __init__(self, A: SX, least: SX | None = None) -> None:
        D, LT, p = ca.ldl(A)
        if least is not None:
            D = ca.if_else(least[p] < D, D, math.nan)
        self._factor = D, LT, p

    def solve(self, b: SX) -> SX:
        """Return A^-1 b."""
        return ca.ldl_solve(b, *self._factor)


class SchurFactor:
    """Symbolic factorisation of a KKT matrix through the Schur complement S = C M^-1 C^T.

    M is symmetric positive definite and C has full row rank, so that S is positive definite; all becomes straight-line
    code. One factor serves any number of right-hand sides. So near a singular position that digits are lost the
    solution is NaN: a step that meets it fails, and is done again in smaller parts.

    Args:
        mass_solve: M^-1.
        C: SX, shape (k, n), full row rank, the first rows of [Phi_q; G]; k may be 0.
    """

    def __init__(self, mass_solve: OverMass, C: SX) -> None:
        self.C = C
        self.mass_solve = mass_solve
        self._MiCt = mass_solve(C.T)
        self._schur = None
        if C.shape[0]:
            S = C @ self._MiCt
            shrunk = ca.SX.ones(C.shape[0])  # rows may lose not only their independence, but all their length
            if mass_solve.row_lengths:
                shrunk = ca.SX(mass_solve.row_lengths[: C.shape[0]]) ** 2 / ca.sum2(C**2)
            self._schur = Factor(S, LEAST_PIVOT * ca.diag(S) * shrunk)

    def solve(self, f: SX, g: SX) -> tuple[SX, SX]:
        """Return (y, mu) with M y + C^T mu = f and C y = g.

        Args:
            f: SX, shape (n,).
            g: SX, shape (k,).
        """
        return self.constrained(self.mass_solve(f), g)

    def constrained(self, free: SX, g: SX) -> tuple[SX, SX]:
        """Return (y, mu) for the solution without constraints, free = M^-1 f."""
        if self._schur is None:
            return free, ca.SX(0, 1)
        mu = self._schur.solve(self.C @ free - g)
        return free - self._MiCt @ mu, mu

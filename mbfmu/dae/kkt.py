"""The linear system all methods share: [M C^T; C 0] [y; mu] = [f; g]."""

from collections.abc import Callable
from typing import Any

import casadi as ca

from mbfmu.dae.dae import Dae

SX = Any


def over_mass(dae: Dae, q: SX, p: SX) -> Callable[[SX], SX]:
    """Return the map f -> M(q, p)^-1 f, for f of shape (n, j)."""

    def solve(f: SX) -> SX:
        columns = (dae.mass_solve(q, p, f[:, column]) for column in range(f.shape[1]))
        return ca.horzcat(ca.SX(f.shape[0], 0), *columns)

    return solve


class Factor:
    """Symbolic factorisation of a positive definite matrix: sparse, straight-line, stable without pivoting.

    Args:
        A: SX, shape (n, n).
    """

    def __init__(self, A: SX) -> None:
        self._factor = ca.ldl(A)

    def solve(self, b: SX) -> SX:
        """Return A^-1 b."""
        return ca.ldl_solve(b, *self._factor)


class SchurFactor:
    """Symbolic factorisation of a KKT matrix through the Schur complement S = C M^-1 C^T.

    M is symmetric positive definite and C has full row rank, so that S is positive definite; all becomes straight-line
    code. One factor serves any number of right-hand sides.

    Args:
        mass_solve: f, SX, shape (n, j) -> M^-1 f, such as `over_mass` gives.
        C: SX, shape (k, n), full row rank; k may be 0.
    """

    def __init__(self, mass_solve: Callable[[SX], SX], C: SX) -> None:
        self.C = C
        self.mass_solve = mass_solve
        self._MiCt = mass_solve(C.T)
        self._schur = Factor(C @ self._MiCt) if C.shape[0] else None

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

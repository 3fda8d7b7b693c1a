"""The linear system all methods share: [M C^T; C 0] [y; mu] = [f; g]."""

from typing import Any

import casadi as ca

SX = Any


class SchurFactor:
    """Symbolic factorisation of a KKT matrix through the Schur complement S = C M^-1 C^T.

    M is symmetric positive definite and C has full row rank, so that both factorisations are stable without pivoting;
    they keep the sparsity and become straight-line code. One factor serves any number of right-hand sides.

    Args:
        M: SX, shape (n, n), positive definite.
        C: SX, shape (k, n), full row rank; k may be 0.
    """

    def __init__(self, M: SX, C: SX) -> None:
        self.C = C
        self._mass = ca.ldl(M)
        self._MiCt = self.mass_solve(C.T)
        self._schur = ca.ldl(C @ self._MiCt) if C.shape[0] else None

    def mass_solve(self, f: SX) -> SX:
        """Return M^-1 f."""
        return ca.ldl_solve(f, *self._mass)

    def solve(self, f: SX, g: SX) -> tuple[SX, SX]:
        """Return (y, mu) with M y + C^T mu = f and C y = g.

        Args:
            f: SX, shape (n,).
            g: SX, shape (k,).
        """
        free = self.mass_solve(f)
        if self._schur is None:
            return free, ca.SX(0, 1)
        mu = ca.ldl_solve(self.C @ free - g, *self._schur)
        return free - self._MiCt @ mu, mu

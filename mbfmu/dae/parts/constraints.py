"""The constraints: Phi(q, p, t) = 0 and G(q, p, t) v + g(q, p, t) = 0."""

from dataclasses import dataclass
from typing import Any

import casadi as ca
from casadi import Function


@dataclass(frozen=True)
class Constraints:
    """The constraints on coordinates, m rows, and on rates, k rows; SI units. All Functions return dense columns.

    Args:
        Phi: (q, p, t) -> shape (m,).
        Phi_q: (q, p, t) -> shape (m, n), sparse.
        Phi_t: (q, p, t) -> shape (m,).
        gamma: (q, v, p, t) -> shape (m,), with Phi_q a = gamma.
        G: (q, p, t) -> shape (k, n), sparse.
        g: (q, p, t) -> shape (k,).
        gamma_G: (q, v, p, t) -> shape (k,), with G a = gamma_G.
        dropped: indices of the holonomic rows of `Start.closing` that were left out as redundant.
        follow: Function (q, p, t) -> the reflections, shape (n_w,), by which rows that were left out follow a motion:
            an entry of p, before the memory of sampled blocks (see `redundancy`); None: the same rows suffice anywhere.
        row_lengths: largest lengths of the rows of [Phi_q; G] near the start, shape (m + k,); empty without loops.
    """

    Phi: Function
    Phi_q: Function
    Phi_t: Function
    gamma: Function
    G: Function
    g: Function
    gamma_G: Function
    dropped: tuple[int, ...] = ()
    follow: Function | None = None
    row_lengths: tuple[float, ...] = ()

    @property
    def m(self) -> int:
        """Number of holonomic rows."""
        return self.Phi.numel_out(0)

    @property
    def k(self) -> int:
        """Number of nonholonomic rows."""
        return self.g.numel_out(0)

    def C(self, q: Any, p: Any, t: Any) -> Any:
        """Return the matrix of all constraints on velocities, C v + c = 0: [Phi_q; G], shape (m + k, n).

        Args:
            q: coordinates, shape (n,).
            p: parameters, shape (n_p,).
            t: time, s.
        """
        return ca.vertcat(self.Phi_q(q, p, t), self.G(q, p, t))

    def c(self, q: Any, p: Any, t: Any) -> Any:
        """Return the part of the constraints on velocities without these: [Phi_t; g], shape (m + k,).

        Args:
            q: coordinates, shape (n,).
            p: parameters, shape (n_p,).
            t: time, s.
        """
        return ca.vertcat(self.Phi_t(q, p, t), self.g(q, p, t))

    def gammas(self, q: Any, v: Any, p: Any, t: Any) -> Any:
        """Return the right side of all constraints on accelerations, C a = [gamma; gamma_G], shape (m + k,).

        Args:
            q: coordinates, shape (n,).
            v: rates, shape (n,).
            p: parameters, shape (n_p,).
            t: time, s.
        """
        return ca.vertcat(self.gamma(q, v, p, t), self.gamma_G(q, v, p, t))

"""Coefficients of the implicit Runge-Kutta methods."""

import numpy as np
import numpy.typing as npt
from numpy.polynomial import Legendre

Array = npt.NDArray[np.float64]


def collocation(c: Array) -> tuple[Array, Array]:
    """Return (A, b) of collocation at the nodes c, shapes (s, s), (s,): integrals of the Lagrange polynomials.

    (Hairer, Lubich & Wanner, Geometric Numerical Integration, II.1.2.)

    Args:
        c: nodes in [0, 1], all different, shape (s,).
    """
    s = len(c)
    k = np.arange(1, s + 1)
    inverse = np.linalg.inv(np.vander(c, s, increasing=True))
    return (c[:, None] ** k / k) @ inverse, (1 / k) @ inverse


def gauss_tableau(s: int) -> tuple[Array, Array, Array]:
    """Return (A, b, c) of the s-stage Gauss method, shapes (s, s), (s,), (s,): order 2 s.

    c are the zeros of the shifted Legendre polynomial (Hairer, Norsett & Wanner, Solving Ordinary Differential
    Equations I, II.7).
    """
    nodes, weights = np.polynomial.legendre.leggauss(s)
    c = (nodes + 1) / 2
    return collocation(c)[0], weights / 2, c


def radau_tableau(s: int) -> tuple[Array, Array, Array]:
    """Return (A, b, c) of the s-stage Radau IIA method, order 2 s - 1: c_s = 1, and b is the last row of A.

    (Hairer & Wanner, Solving Ordinary Differential Equations II, IV.5.)
    """
    c = np.append(_roots(Legendre.basis(s) - Legendre.basis(s - 1))[:-1], 1.0)
    A = collocation(c)[0]
    return A, A[-1], c


def lobatto_tableaus(s: int) -> tuple[Array, Array, Array, Array]:
    """Return (A, Ahat, b, c) of the pair Lobatto IIIA (A) and IIIB (Ahat), s >= 2, order 2 s - 2.

    Both are symmetric, and together symplectic: b_i ahat_ij + b_j a_ji = b_i b_j
    (Hairer, Lubich & Wanner, Geometric Numerical Integration, II.1.4 and VI.4.2).
    """
    c = np.concatenate([[0.0], _roots(Legendre.basis(s - 1).deriv()), [1.0]])
    A, b = collocation(c)
    A[0], A[-1] = 0.0, b
    Ahat = b * (1 - A.T / b[:, None])
    Ahat[:, 0], Ahat[:, -1] = b[0], 0.0
    return A, Ahat, b, c


def _roots(polynomial: Legendre) -> Array:
    """Return the zeros in [-1, 1] moved to [0, 1], in ascending order."""
    roots: Array = np.sort(np.real(polynomial.roots()))
    return (roots + 1) / 2

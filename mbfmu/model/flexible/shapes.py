"""Shape functions of a straight rod: polynomials on the unit interval that meet the conditions of a clamped end."""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
from numpy.polynomial import Legendre
from numpy.polynomial.legendre import leggauss
from scipy.special import eval_jacobi

from mbfmu.model.frame import SX

Array = npt.NDArray[np.float64]

DIGITS = 12
"""Decimals of the shape functions' coefficients, so that they are the same on every processor."""
NEGLIGIBLE = 1e-9
"""Part of the integrals of the squares of two modes below which that of their product is zero."""
XI = Legendre([0.5, 0.5], domain=[0, 1])
"""The place on the unit interval as a polynomial."""


@dataclass(frozen=True)
class Shapes:
    """The shape functions phi_k(xi), 0 <= xi <= 1, of which each is 1 at xi = 1.

    They span the polynomials with `order` zeros at xi = 0 and are the modes of a uniform rod among these: bending for
    order 2, tension or torsion for order 1. So their frequencies converge to those of the rod exponentially, whatever
    the conditions at both ends.

    Args:
        functions: the polynomials.
        order: number of conditions at the clamped end.
    """

    functions: tuple[Legendre, ...]
    order: int

    def at(self, xi: float, derivative: int = 0) -> Array:
        """Return the functions or their derivatives at a place, shape (n,)."""
        return np.array([_derived(item, derivative)(xi) for item in self.functions])

    def mean(self) -> Array:
        """Return the integrals of phi_k, shape (n,)."""
        xi, share = nodes(len(self.functions) + self.order)
        return np.array([math.fsum(share * item(xi)) for item in self.functions])

    def products(self, derivative: int = 0, end: float = 1.0) -> Array:
        """Return the integrals from 0 to `end` of phi_k phi_l or of products of their derivatives, shape (n, n)."""
        xi, share = nodes(len(self.functions) + self.order)
        values = [_derived(item, derivative)(end * xi) for item in self.functions]
        return np.array([[math.fsum(end * share * a * b) for b in values] for a in values]).reshape(2 * (len(values),))

    def shortening(self) -> Array:
        """Return the expansion in `shortened` of the integrals from 0 to xi of the products of slopes phi_k' phi_l'.

        Shape (2 n - 1, n (n + 1) / 2), for k = 1..n and l = 1..k; those of k and l differing count twice.
        """
        n = len(self.functions)
        xi, share = nodes(2 * n + 2)
        slopes = [item.deriv() for item in self.functions]
        pairs = [(k, m) for k in range(n) for m in range(k + 1)]
        lengths = [(1 if k == m else 2) * (slopes[k] * slopes[m]).integ(lbnd=0)(xi) for k, m in pairs]
        found = [[math.fsum(share * e * item) for item in lengths] for e in shortened(n, xi)]
        return np.array(found).reshape(len(found), len(pairs))


def shortened(count: int, xi: Array) -> list[Array]:
    """Return orthonormal polynomials with three zeros at xi = 0, which shorten a rod of `count` modes, at places.

    They are xi^3 times Jacobi's polynomials for the weight xi^6.
    """
    return [xi**3 * math.sqrt(2 * k + 7) * eval_jacobi(k, 0, 6, 2 * xi - 1) for k in range(2 * count - 1)]


@cache
def expansion(modes: int, axial: int) -> tuple[Array, Array]:
    """Return the integrals of the functions that give the place of a point of a rod, and those of their products.

    The functions are xi, those of tension, those of `shortened`, and those of bending.
    """
    bending, tension = shapes(2, modes), shapes(1, axial)
    xi, share = nodes(2 * modes + axial + 2)
    values = [xi, *(item(xi) for item in tension.functions), *shortened(modes, xi), *(f(xi) for f in bending.functions)]
    products = np.array([[math.fsum(share * a * b) for b in values] for a in values])
    size = np.sqrt(np.diag(products))
    kept = np.where(np.abs(products) > NEGLIGIBLE * np.outer(size, size), products, 0.0)
    return np.array([math.fsum(share * item) for item in values]), kept


@cache
def shapes(order: int, count: int) -> Shapes:
    """Return the shape functions of a rod.

    Args:
        order: 2 for bending, 1 for tension and torsion.
        count: number of functions.
    """
    basis = Shapes(tuple(XI**order * Legendre.basis(k, domain=[0, 1]) for k in range(count)), order)
    if not count:
        return basis
    inverse = np.linalg.inv(np.linalg.cholesky(basis.products()))
    _, vectors = np.linalg.eigh(inverse @ basis.products(order) @ inverse.T)
    modes = []
    for column in (inverse.T @ vectors).T:
        mode = Legendre(column, domain=[0, 1])
        modes.append(XI**order * Legendre([round(item, DIGITS) for item in (mode / mode(1.0)).coef], domain=[0, 1]))
    return Shapes(tuple(modes), order)


def orthogonal(products: Array) -> SX:
    """Return integrals of products of orthogonal modes, without those that are zero up to rounding."""
    size = np.sqrt(np.diag(products))
    return ca.sparsify(ca.SX(ca.DM(np.where(np.abs(products) > NEGLIGIBLE * np.outer(size, size), products, 0.0))))


def _derived(item: Legendre, derivative: int) -> Any:
    return item.deriv(derivative) if derivative else item


@cache
def nodes(count: int) -> tuple[Array, Array]:
    """Return nodes and weights of Gauss and Legendre on the unit interval, exact below the degree 2 count."""
    x, weights = leggauss(count)
    return (x + 1) / 2, weights / 2

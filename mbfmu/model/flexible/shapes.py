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

from mbfmu.model.frame import SX

Array = npt.NDArray[np.float64]

DIGITS = 12
"""Decimals of the shape functions' coefficients, so that they are the same on every processor."""
NEGLIGIBLE = 1e-9
"""Integral of the product of two modes, relative to those of their squares, below which it counts as zero."""
XI = Legendre([0.5, 0.5], domain=[0, 1])
"""Coordinate of the unit interval as a polynomial."""


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

    def slopes_with(self, other: "Shapes", end: float = 1.0) -> Array:
        """Return the integrals from 0 to `end` of the products of slopes phi_k' psi_l' with those of others."""
        xi, share = nodes(len(self.functions) + len(other.functions) + self.order)
        ours, others = ([_derived(f, 1)(end * xi) for f in item.functions] for item in (self, other))
        integrals = [[math.fsum(end * share * a * b) for b in others] for a in ours]
        return np.array(integrals).reshape(len(ours), len(others))

    def shortening(self, shear: int = 0) -> Array:
        """Return the expansion in `shortened` of the integrals from 0 to xi of the products of slopes phi_k' phi_l'.

        Shape (number, n (n + 1) / 2 + n shear), for k = 1..n and l = 1..k; those of k and l differing count twice. Then
        come those of phi_k' psi_l', twice, with the slopes of the functions of shear.
        """
        n = len(self.functions)
        xi, share = nodes(2 * n + shear + 2)
        slopes, angles = ([_derived(f, 1) for f in item.functions] for item in (self, shapes(1, shear)))
        pairs = [(1 if k == m else 2, slopes[k] * slopes[m]) for k in range(n) for m in range(k + 1)]
        pairs += [(2, slope * angle) for slope in slopes for angle in angles]
        lengths = [count * pair.integ(lbnd=0)(xi) for count, pair in pairs]
        integrals = [[math.fsum(share * e * item) for item in lengths] for e in shortened(n, xi, shear)]
        return np.array(integrals).reshape(len(integrals), len(pairs))


def shortened(count: int, xi: Array, shear: int = 0) -> list[Array]:
    """Return orthonormal polynomials with zeros at xi = 0, which shorten a rod of `count` modes, at places.

    With three zeros, and with two where there are functions of shear, they are xi^3 or xi^2 times Jacobi's polynomials
    for the weight xi^6 or xi^4.
    """
    from scipy.special import eval_jacobi  # its import takes longer than a prepared model takes to start

    zeros, degree = (2, max(2 * count, count + shear - 1)) if shear else (3, 2 * count - 1)
    order = 2 * zeros
    return [xi**zeros * math.sqrt(2 * k + order + 1) * eval_jacobi(k, 0, order, 2 * xi - 1) for k in range(degree)]


@cache
def expansion(modes: int, axial: int, shear: int = 0) -> tuple[Array, Array]:
    """Return the integrals of the functions that give the place of a point of a rod, and those of their products.

    The functions are xi, those of tension, those of `shortened`, those of bending, and those of shear.
    """
    bending, tension, sheared = shapes(2, modes), shapes(1, axial), shapes(1, shear)
    xi, share = nodes(2 * modes + axial + shear + 2)
    across = (*bending.functions, *sheared.functions)
    values = [xi, *(f(xi) for f in tension.functions), *shortened(modes, xi, shear), *(f(xi) for f in across)]
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

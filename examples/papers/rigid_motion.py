"""Motions of a rigid body about a fixed point, read from quaternions and their momenta as Lu & Ren do."""

from dataclasses import dataclass

import numpy as np

from examples.papers.states import Array

J = np.array([[2.0], [1.5], [1.0]])
"""Inertia about the fixed point in the body's axes, kg.m2."""


@dataclass(frozen=True)
class Motion:
    """States of the method, read as the paper reads them.

    Args:
        states: rows [r; q; r'; p or q'; lambda], shape (k, 15), r = 0.
        form: what the second half is.
        moment: m g L, N.m.
    """

    states: Array
    form: str
    moment: float

    @property
    def q(self) -> Array:
        """Quaternion, shape (4, k)."""
        return np.asarray(self.states.T[3:7])

    @property
    def second(self) -> Array:
        """P or q', as carried, shape (4, k)."""
        return np.asarray(self.states.T[10:14])

    @property
    def p(self) -> Array:
        """Momentum, shape (4, k): as carried, or 4 G^T J G q'."""
        if self.form == "momentum":
            return self.second
        return np.asarray(4 * np.einsum("ijk,ik->jk", G(self.q), J * times(G(self.q), self.second)))

    @property
    def omega(self) -> Array:
        """Angular velocity in the body, rad/s, shape (3, k): J^-1 G p / 2, or 2 G q'."""
        if self.form == "momentum":
            return np.asarray(times(G(self.q), self.p) / (2 * J))
        return np.asarray(2 * times(G(self.q), self.second))

    @property
    def size(self) -> Array:
        """|q|^2, shape (k,)."""
        return np.asarray((self.q**2).sum(axis=0))

    def energy(self, normalised: bool = False) -> Array:
        """Return the energy, J, shape (k,); normalised: for q / |q|, as the outputs of a simulation give it."""
        scale = self.size if normalised else np.ones(len(self.states))
        height = (self.q**2 * np.array([[1.0], [-1.0], [-1.0], [1.0]])).sum(axis=0)
        return np.asarray((J * self.omega**2).sum(axis=0) / (2 * scale**2) + self.moment * height / scale)

    def error(self, normalised: bool = False) -> Array:
        """Return the relative error of the energy, shape (k,)."""
        energy = self.energy(normalised)
        return np.asarray(np.abs(energy / energy[0] - 1))

    @property
    def spatial(self) -> Array:
        """Angular momentum in space, E(q) p / 2, N.m.s, shape (3, k)."""
        return np.asarray(times(E(self.q), self.p) / 2)

    @property
    def turned(self) -> Array:
        """The same as the paper computes it, R(q) J omega."""
        return times(rotation(self.q), J * self.omega)


def times(A: Array, x: Array) -> Array:
    """Return the products of matrices, shape (i, j, k), and columns, shape (j, k)."""
    return np.asarray(np.einsum("ijk,jk->ik", A, x))


def G(q: Array) -> Array:
    """Return G of the paper, (6), shape (3, 4, k): omega = 2 G q' in the body."""
    a, b, c, d = q
    return np.array([[-b, a, d, -c], [-c, -d, a, b], [-d, c, -b, a]])


def E(q: Array) -> Array:
    """Return E, shape (3, 4, k): omega = 2 E q' in space."""
    a, b, c, d = q
    return np.array([[-b, a, -d, c], [-c, d, a, -b], [-d, -c, b, a]])


def rotation(q: Array) -> Array:
    """Return E G^T, shape (3, 3, k): the rotation matrix if |q| = 1."""
    return np.asarray(np.einsum("ijk,ljk->ilk", E(q), G(q)))

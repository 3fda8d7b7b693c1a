"""The joint-space inertia of a tree, factored: M = L^T D L."""

from collections.abc import Sequence

import casadi as ca

from mbfmu.dae.tree.recursive import Link

SX = ca.SX
FEW = 32
"""Largest number of links of a tree whose M is factored: longer code becomes loops, which want equal work at each."""
SHALLOW = 73
"""Largest mean of the squared depth, in coordinates, at which factoring M takes no longer than the articulated-body
algorithm: that of a chain of 14 (measured on chains of 4 to 20 links, and on fixed and free trees of limbs)."""
SHALLOW_IN_PLANE = 16
"""The same in the plane: that of a chain of 6."""


def is_shallow(links: Sequence[Link]) -> bool:
    """Return whether so few coordinates lie between each link and the world that to factor M takes least time."""
    if not 0 < len(links) <= FEW:
        return False
    squares = count = 0
    ends: list[int] = []  # depth of the last coordinate of each link
    for link in links:
        first = ends[link.parent] + 1 if link.parent >= 0 else 1
        depths = range(first, first + link.columns.stop - link.columns.start)
        ends.append(depths.stop - 1)
        squares += sum(depth**2 for depth in depths)
        count += len(depths)
    return squares <= (SHALLOW_IN_PLANE if links[0].R is None else SHALLOW) * count


class TreeFactor:
    """The factors of a tree's mass matrix, from the outermost joints inward (Featherstone, algorithm 6.4).

    In this order the factors have the zeros of the tree: entries of a joint with those between it and the world only.

    Args:
        M: SX, shape (n, n), symmetric positive definite; coordinates of inner joints come before those of outer ones.
    """

    def __init__(self, M: SX) -> None:
        self._n = M.shape[0]
        # Lower triangle of M, from which the outer joints are taken one by one
        rest = {(i, j): M[i, j] for i, j in zip(*M.sparsity().get_triplet(), strict=True) if j <= i}
        self._inner: list[list[int]] = [[]] * self._n
        self._D = [ca.SX()] * self._n
        self._over = [ca.SX()] * self._n  # -1 / D, as of b (1 / D) CasADi makes b / D, and divisions are slow
        self._L: dict[tuple[int, int], SX] = {}  # -L
        # D_i = M_ii, L_ij = M_ij / D_i, and M_jk - L_ij D_i L_ik remains, for joints j and k between i and the world
        for i in reversed(range(self._n)):
            inner = self._inner[i] = [j for j in range(i) if (i, j) in rest]
            self._D[i] = rest[i, i]
            if inner:
                self._over[i] = -1 / rest[i, i]
            for index, j in enumerate(inner):
                self._L[i, j] = rest[i, j] * self._over[i]
                for k in inner[: index + 1]:
                    rest[j, k] = rest.get((j, k), 0) + self._L[i, j] * rest[i, k]

    def solve(self, b: SX) -> SX:
        """Return M^-1 b, shape (n,)."""
        # L^T y = b, from the outermost joint inward
        y = ca.vertsplit(ca.densify(b)) if self._n else []
        x: list[SX] = []
        for i in reversed(range(self._n)):
            for j in self._inner[i]:
                y[j] = y[j] + self._L[i, j] * y[i]
        # L x = D^-1 y, outward
        for i, inner in enumerate(self._inner):
            if inner:
                x.append(sum((self._L[i, j] * x[j] for j in inner), ca.SX(0)) - y[i] * self._over[i])
            else:
                x.append(y[i] / self._D[i])
        return ca.vertcat(ca.SX(0, 1), *x)

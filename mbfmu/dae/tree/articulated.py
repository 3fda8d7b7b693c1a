"""The articulated-body algorithm: accelerations of a tree in a time linear in the number of its links.

For a joint with the motion S and the articulated inertia I of its link, U = I S and D = S^T U (Featherstone, 7.3). With
u the force left over for the joint, p and b due to velocities, x the acceleration of the link but for the joint's, and
all that the parent feels turned into its axes and moved to its origin,

    vdot = D^-1 (u - U.x),     the parent feels     p + (I - U D^-1 U^T) b + U D^-1 u.

In a chain each link waits for its neighbour. There g = U D^-1 is turned and moved instead, which takes more operations,
but few of them are on the way from one end to the other: with a_P the parent's acceleration,

    vdot = D^-1 u - g.(b + a_P),     the parent feels     p + (I - U D^-1 U^T) b + g u.
"""

from collections.abc import Sequence
from typing import Any

import casadi as ca

from mbfmu.dae.tree.recursive import (
    Link,
    LinkRates,
    carry,
    lever,
    on_own_rates,
    placed,
    shape_inertias,
    symmetric,
)
from mbfmu.model.relative import cross, moment_of

SX = ca.SX


class Articulated:
    """Articulated-body inertias of a tree, which solve M vdot = force.

    Args:
        links: the links, parents before children.
    """

    def __init__(self, links: Sequence[Link]) -> None:
        self._links = links
        self._chained = len({link.parent for link in links}) == len(links) and all(link.Y is None for link in links)
        # Articulated inertia I = [A H; H^T M] of each link, at first that of the link alone
        A = [ca.SX(link.J) for link in links]
        H = [lever(link.h).T for link in links]  # moment of a
        M = [link.m * ca.SX.eye(link.r.numel()) for link in links]
        C_w, C_v, E = shape_inertias(links)
        self._D: list[Any] = [None] * len(links)
        self._U: list[tuple[SX, SX]] = [None] * len(links)  # type: ignore[list-item]
        self._DU: list[tuple[SX, SX]] = [None] * len(links)  # type: ignore[list-item]
        self._g: list[tuple[SX, SX, SX]] = [None] * len(links)  # type: ignore[list-item]
        self._felt: list[tuple[SX, SX, SX]] = [None] * len(links)  # type: ignore[list-item]
        # Inward: U = I S, D = S^T U and D^-1 U^T
        for index in reversed(range(len(links))):
            link, P = links[index], links[index].parent
            U_w = A[index] @ link.S_w + H[index] @ link.S_v
            U_v = H[index].T @ link.S_w + M[index] @ link.S_v
            U_w, U_v, D_own = on_own_rates(link, U_w, U_v, C_w[index], C_v[index], E[index])
            D = self._D[index] = _Inverse(D_own)
            self._U[index] = U_w, U_v
            DU_w, DU_v = self._DU[index] = D.times(U_w.T), D.times(U_v.T)
            if P < 0:
                continue
            # In a chain g = U D^-1, in the parent's axes
            if self._chained:
                g, g_v = link.up(DU_w.T), link.up(DU_v.T)
                self._g[index] = g, g + lever(link.r).T @ g_v, g_v
            # What the joint passes on: I - U D^-1 U^T
            A1, H1, M1 = symmetric(A[index] - U_w @ DU_w), H[index] - U_w @ DU_v, symmetric(M[index] - U_v @ DU_v)
            axis = _single_axis(link)
            if axis is not None:  # the joint passes no moment on about its own axis
                A1[axis, :], A1[:, axis], H1[axis, :] = 0, 0, 0
                A1, H1 = ca.sparsify(A1), ca.sparsify(H1)
            if link.Y is not None:
                Y_w, Y_v = link.Y
                carry(link, link.Y, A1 @ Y_w + H1 @ Y_v, H1.T @ Y_w + M1 @ Y_v, C_w, C_v, E)
            # The same in the parent's axes, then about its origin, K = lever(r)
            A1, H1, M1 = symmetric(link.up_matrix(A1)), link.up_matrix(H1), symmetric(link.up_matrix(M1))
            self._felt[index] = A1, H1, M1
            K = lever(link.r)
            HK, MK = H1 @ K, M1 @ K
            A[P] = A[P] + symmetric(A1 + HK + HK.T + K.T @ MK)
            H[P] = H[P] + H1 + MK.T
            M[P] = M[P] + M1

    def solve(self, force: SX, moves: LinkRates | None = None, gravity: SX | None = None) -> SX:
        """Return vdot, SX (n,).

        Args:
            force: generalised forces, SX (n,).
            moves: velocities of the links, whose forces are taken into account; None: the links are at rest.
            gravity: acceleration in the world's axes; None: no gravity.
        """
        # Forces p of the velocities, and accelerations b due to them
        links = self._links
        dim = links[0].r.numel()
        p_w = [ca.SX(1 if dim == 2 else 3, 1) for _ in links]
        p_v = [ca.SX(dim, 1) for _ in links]
        p_e = [ca.SX(link.elastic.E.shape[0] if link.elastic else 0, 1) for link in links]
        b_w, b_v = list(p_w), list(p_v)
        if moves is not None:
            for index, link in enumerate(links):
                p_w[index], p_v[index], p_e[index] = moves.forces[index]
                p_v[index] += moves.W[index] @ link.h
                b_w[index], b_v[index] = moves.b_w[index], moves.b_v[index]
                if link.parent >= 0:
                    b_v[index] += moves.W[link.parent] @ link.r
        # Inward: u = force - S^T p and D^-1 u
        vdot = [ca.SX()] * len(links)
        for index in reversed(range(len(links))):
            link, P = links[index], links[index].parent
            u = force[link.columns, :] - link.S_w.T @ p_w[index] - link.S_v.T @ p_v[index]
            if link.elastic:
                u[link.inner] -= p_e[index]
            if moves is not None:
                u = u - link.regular_bias
            vdot[index] = self._D[index].times(u)
            if P < 0:
                continue
            # The parent feels p + (I - U D^-1 U^T) b + U D^-1 u, in its axes and about its origin
            n, f = p_w[index], p_v[index]
            if not self._chained:
                U_w, U_v = self._U[index]
                n, f = n + U_w @ vdot[index], f + U_v @ vdot[index]
            A1, H1, M1 = self._felt[index]
            n = link.up(n) + A1 @ b_w[index] + H1 @ b_v[index]
            f = link.up(f) + H1.T @ b_w[index] + M1 @ b_v[index]
            if link.Y is not None:
                p_e[P] += link.Y.effort(link.down(n), link.down(f))
            p_w[P] = p_w[P] + (n + moment_of(link.r, f))
            p_v[P] = p_v[P] + f
            # In a chain D^-1 u - g.b, and g u is added for the parent
            if self._chained:
                g, g_w, g_v = self._g[index]
                vdot[index] -= g.T @ b_w[index] + g_v.T @ b_v[index]
                p_w[P], p_v[P] = p_w[P] + g_w @ u, p_v[P] + g_v @ u
        # Outward: the accelerations
        return self._outward(vdot, b_w, b_v, gravity)

    def _outward(self, vdot: list[SX], b_w: Sequence[SX], b_v: Sequence[SX], gravity: SX | None) -> SX:
        """Return vdot from what each joint's would be if its parent were at rest, of which it makes their values.

        Args:
            vdot: D^-1 u of each link.
            b_w: angular acceleration of each link due to velocities, relative to its parent.
            b_v: acceleration of its origin in the same way.
            gravity: acceleration in the world's axes; None: no gravity.
        """
        links = self._links
        alpha: list[SX] = []
        a: list[SX] = []
        for index, link in enumerate(links):
            P = link.parent
            # Acceleration of the link but for its joint's
            x_w, x_v = b_w[index], b_v[index]
            if P >= 0:
                x_w, x_v = alpha[P] + x_w, a[P] + cross(alpha[P], link.r) + x_v
            elif gravity is not None:
                x_v = x_v - gravity
            x_w, x_v = link.down(x_w), link.down(x_v)
            if link.Y is not None:
                bent = vdot[P][links[P].inner]
                x_w, x_v = x_w + link.Y.w @ bent, x_v + link.Y.v @ bent
            # vdot = D^-1 u - D^-1 U^T x, or in a chain D^-1 u - g.(b + a_P)
            if self._chained and P >= 0:
                _, g_w, g_v = self._g[index]
                vdot[index] -= g_w.T @ alpha[P] + g_v.T @ a[P]
            else:
                DU_w, DU_v = self._DU[index]
                vdot[index] -= DU_w @ x_w + DU_v @ x_v
            # Acceleration of the link with S vdot
            alpha.append(x_w + link.S_w @ vdot[index])
            a.append(x_v + link.S_v @ vdot[index])
        return placed(links, vdot)


def _single_axis(link: Link) -> int | None:
    """Return the number of the axis of a joint that only turns about an axis of its frame; None for others.

    With a rotor on it a joint passes a moment on about its own axis.
    """
    only = link.S_w.shape[1] == 1 and link.S_w.nnz() == 1 and not link.S_v.nnz() and link.S_w.is_constant()
    return int(link.S_w.sparsity().row()[0]) if only and not link.regular.nnz() else None


class _Inverse:
    """The inverse of a small symmetric positive definite matrix.

    Args:
        D: the matrix.
    """

    def __init__(self, D: SX) -> None:
        self._D = ca.densify(D)
        self._factor = ca.ldl(self._D) if D.shape[0] > 1 else None

    def times(self, b: SX) -> SX:
        """Return D^-1 b."""
        if not self._D.numel():
            return b
        return b / self._D if self._factor is None else ca.ldl_solve(ca.densify(b), *self._factor)

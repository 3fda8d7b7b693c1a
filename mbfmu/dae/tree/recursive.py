"""Recursive dynamics of a tree of bodies, written out as straight-line expressions.

The algorithms are those of Featherstone, Rigid Body Dynamics Algorithms (chapters 5 to 7): recursive Newton-Euler,
composite rigid body, articulated body; with classical accelerations (a of the origin, alpha of the axes) in place of
spatial ones. Each body has a link frame at the joint that carries it. In space its axes are the body's; in the plane
they are the world's, so that no vector is ever turned.

For a parent P and a body C, with R from the axes of C to those of P, r the origin of C seen from P, and K alpha the
acceleration at r due to alpha (K = -r~ in space, [-r_y; r_x] in the plane):

    w_C     = R^T w_P + w_J
    v_C     = R^T (v_P + K w_P + r')
    alpha_C = R^T alpha_P + S_w vdot + b_w,        b_w = w_J' + (R^T w_P) x w_J
    a_C     = R^T (a_P + K alpha_P) + S_v vdot + b_v,   b_v = R^T (w_P x (w_P x r) + 2 w_P x r' + r'')
    f       = m a + alpha x h + w x (w x h),       h = m r_CM
    n       = J alpha + h x a + w x J w

A flexible body has shape coordinates eta besides; h and J depend on them. They are the last of the link's coordinates,
and the poses of its children depend on them:

    alpha_C and a_C gain Y.w eta'' and Y.v eta'' of the parent, and r', w_J, b_w and b_v have parts of its eta'
    f gains C_v eta'' + f_eta(w, eta'),   n gains C_w eta'' + n_eta(w, eta')
    e       = C_w^T alpha + C_v^T a + E eta'' + e_eta(w, eta'),   the force on eta, to which children add Y^T (n, f)

(Featherstone's recursion with more columns; Bauchau, Flexible Multibody Dynamics, has such bodies.)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import casadi as ca

from mbfmu.dae.linear_algebra.turned import turned
from mbfmu.model.frame import skew
from mbfmu.model.relative import cross, moment_of
from mbfmu.model.traced import traced

SX = ca.SX
CYCLE = ((0, 1, 2), (1, 2, 0), (2, 0, 1))
"""The axes in the orders in which each is the cross product of the other two."""
EQUAL = 9
"""Depth of expressions to which two moments of inertia are compared."""


@dataclass(frozen=True)
class Elastic:
    """The inertia of a flexible body's k shape coordinates, which are the last of its link's coordinates.

    Args:
        C_w, C_v: angular momentum about the origin, and momentum, due to their rates, in the link's axes, k columns.
        E: their mass matrix, SX (k, k).
        bias: function of the link's angular velocity, in its axes -> moment, force and force on the coordinates, due
            to velocities, that a rigid body of this shape would not have.
    """

    C_w: SX
    C_v: SX
    E: SX
    bias: Callable[[SX], tuple[SX, SX, SX]]


class LinkBending(NamedTuple):
    """The motion of a link due to the shape coordinates of its flexible parent.

    Args:
        w, v: angular velocity, and velocity of the origin, by their rates, in the link's axes, k columns.
    """

    w: SX
    v: SX

    def effort(self, n: SX, f: SX) -> SX:
        """Return the force on the shape coordinates of a moment n and a force f on the link."""
        return self.w.T @ n + self.v.T @ f


@dataclass(frozen=True)
class Link:
    """One body of the tree, with the joint that carries it.

    Args:
        parent: number of the parent link; -1: the world.
        R: rotation from the axes of this link to those of its parent, SX (3, 3); None if both are the world's.
        r: origin seen from the parent's origin, in the parent's axes.
        velocity: time derivative of r seen from the parent, in the parent's axes.
        w: angular velocity seen from the parent, in this link's axes.
        S_w, S_v: derivatives of w and of R^T velocity by the joint's rates, in this link's axes, k columns.
        b_w, b_r: derivatives of w and of velocity at constant rates, in this link's axes and in the parent's.
        columns: places of the joint's k coordinates in q and v.
        m: mass, kg.
        h: m times the centre of mass, in this link's axes.
        J: inertia about the origin, in this link's axes.
        regular: SX (k, k), inertia of the joint's rates alone: of rotors, and to make the mass matrix regular.
        regular_bias: SX (k,), the force that belongs to it.
        elastic: inertia of the shape coordinates; None: the body is rigid.
        Y: derivatives of w and of R^T velocity by the rates of the parent's shape coordinates; None: it is rigid.
    """

    parent: int
    R: SX | None
    r: SX
    velocity: SX
    w: SX
    S_w: SX
    S_v: SX
    b_w: SX
    b_r: SX
    columns: slice
    m: SX
    h: SX
    J: SX
    regular: SX
    regular_bias: SX
    elastic: Elastic | None = None
    Y: LinkBending | None = None

    @property
    def shape(self) -> slice:
        """Places of the shape coordinates in q and v."""
        count = self.elastic.E.shape[0] if self.elastic else 0
        return slice(self.columns.stop - count, self.columns.stop)

    @property
    def inner(self) -> slice:
        """Places of the shape coordinates among the link's own."""
        return slice(self.shape.start - self.columns.start, self.columns.stop - self.columns.start)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Numbers of entries of its angular velocity, of its velocity, and of its shape."""
        dim = int(self.r.numel())
        return 3 if dim == 3 else 1, dim, self.shape.stop - self.shape.start

    @property
    def turn(self) -> tuple[SX, ...]:
        """R, if the link turns against its parent's axes: none where all are in the axes of the world."""
        return () if self.R is None else (self.R,)

    def up(self, x: SX) -> SX:
        """Turn a vector into the parent's axes."""
        return x if self.R is None or not x.nnz() else self.R @ x

    def down(self, x: SX) -> SX:
        """Turn a vector from the parent's axes into this link's."""
        return x if self.R is None or not x.nnz() else self.R.T @ x

    def up_matrix(self, x: SX) -> SX:
        """Turn a matrix that maps vectors to vectors, symmetric or not, into the parent's axes."""
        return x if self.R is None else turned(self.R, x)


@dataclass(frozen=True)
class LinkRates:
    """The velocities of the links.

    Args:
        w: angular velocity of each link, in its axes.
        W: `centripetal` of it.
        b_w, b_v: accelerations of each link relative to its parent due to velocities alone, in the parent's axes,
            without the W r of the parent.
        forces: moment, force and force on shape coordinates due to them, see `velocity_forces`.
    """

    w: tuple[SX, ...]
    W: tuple[SX, ...]
    b_w: tuple[SX, ...]
    b_v: tuple[SX, ...]
    forces: tuple[tuple[SX, SX, SX], ...]


def lever(r: SX) -> SX:
    """Return K with K alpha = alpha x r."""
    return -ca.sparsify(skew(r)) if r.numel() == 3 else ca.vertcat(-r[1], r[0])


def tilde(w: SX) -> SX:
    """Return the matrix whose product with r is w x r, in space or, for a scalar w, in the plane."""
    return ca.sparsify(skew(w)) if w.numel() == 3 else w * ca.SX([[0, -1], [1, 0]])


def centripetal(w: SX) -> SX:
    """Return the symmetric W with W r = w x (w x r); all that turns with w shares its six products."""
    return -(w**2) * ca.SX.eye(2) if w.numel() == 1 else ca.sparsify(_centripetal_in_space(w))


@traced
def _centripetal_in_space(w: SX) -> SX:
    W = w @ w.T
    squares = [W[x, x] for x in range(3)]
    for x, y, z in CYCLE:
        W[x, x] = -(squares[y] + squares[z])
    return W


def gyroscopic(W: SX, J: SX) -> SX:
    """Return w x J w for a symmetric J, from `centripetal` of w."""
    moments = [J[x, x] for x in range(3)]
    unequal = [float(not ca.is_equal(moments[y], moments[z], EQUAL)) for _, y, z in CYCLE]
    return _gyroscopic(W, J, ca.SX(unequal))


@traced
def _gyroscopic(W: SX, J: SX, unequal: SX) -> SX:
    n = ca.SX(3, 1)
    for x, y, z in CYCLE:
        n[x] = unequal[x] * ((J[z, z] - J[y, y]) * W[y, z])
        n[x] += J[y, z] * (W[y, y] - W[z, z]) + J[x, z] * W[x, y] - J[x, y] * W[x, z]
    return n


def link_rates(links: Sequence[Link]) -> LinkRates:
    """Return the velocities of the links, computed from the world outward.

    Args:
        links: the links, parents before children.
    """
    w, W, b_w, b_v, forces = [], [], [], [], []
    for link in links:
        if link.parent < 0:
            w.append(link.w)
            b_w.append(link.up(link.b_w))
            b_v.append(link.b_r)
        else:
            w_P = w[link.parent]
            w.append(link.down(w_P) + link.w)
            b_w.append(link.up(link.b_w) + (ca.cross(w_P, link.up(link.w)) if link.r.numel() == 3 else 0))
            b_v.append(2 * cross(w_P, link.velocity) + link.b_r)
        W.append(centripetal(w[-1]))
        forces.append(velocity_forces(link, w[-1], W[-1]))
    return LinkRates(tuple(w), tuple(W), tuple(b_w), tuple(b_v), tuple(forces))


def inverse_dynamics(
    links: Sequence[Link],
    moves: LinkRates,
    gravity: SX,
    vdot: SX | None = None,
    outer: Sequence[tuple[SX, SX]] | None = None,
) -> tuple[SX, list[SX], list[SX]]:
    """Return the joint forces of a motion, by the recursive Newton-Euler algorithm.

    Args:
        links: the links, parents before children.
        moves: their velocities.
        gravity: acceleration, in the world's axes.
        vdot: accelerations, SX (n,); None: zero.
        outer: force, and moment about the link's origin, that acts on each link from outside, in its axes.

    Returns:
        Generalised forces, SX (n,); and for each link the force, and the moment about the link's origin, that its joint
        transmits to it, in its axes.
    """
    # Outward: the accelerations alpha and a of each link, and the force and moment that they take, I a + v x* I v
    alpha: list[SX] = []
    a: list[SX] = []
    turning: list[SX] = []  # what gives the acceleration of a point at r: W + alpha~
    force: list[SX] = []
    moment: list[SX] = []
    effort: list[SX] = []
    # From the parent's, with the terms due to velocities, then with S vdot of the joint
    for index, link in enumerate(links):
        x_w, x_v = moves.b_w[index], moves.b_v[index]
        if link.parent < 0:
            x_w, x_v = link.down(x_w), link.down(x_v - gravity)
        else:
            of_parent = alpha[link.parent], a[link.parent], turning[link.parent]
            x_w, x_v = _carried(*of_parent, link.r, x_w, x_v, *link.turn)
        if vdot is not None:
            x_w, x_v = x_w + link.S_w @ vdot[link.columns, :], x_v + link.S_v @ vdot[link.columns, :]
            if link.Y is not None:
                bent = vdot[links[link.parent].shape, :]
                x_w, x_v = x_w + link.Y.w @ bent, x_v + link.Y.v @ bent
        alpha.append(x_w)
        a.append(x_v)
        # Force and moment of the inertia, and of the velocities
        n, f, e = moves.forces[index]
        spread, f, n = _inertia_forces(link.m, link.h, link.J, moves.W[index], x_w, x_v, n, f)
        turning.append(spread)
        force.append(f)
        moment.append(n)
        effort.append(e)
        # Coupling C and inertia E of shape coordinates
        if link.elastic:
            C_w, C_v = link.elastic.C_w, link.elastic.C_v
            effort[-1] += C_w.T @ x_w + C_v.T @ x_v
            if vdot is not None:
                bent = vdot[link.shape, :]
                force[-1] += C_v @ bent
                moment[-1] += C_w @ bent
                effort[-1] += link.elastic.E @ bent
        if outer:
            force[-1] -= outer[index][0]
            moment[-1] -= outer[index][1]
    # Inward: generalised forces tau = S^T f; the parent bears what its children do
    tau: list[SX] = [ca.SX(0, 1)] * len(links)
    for index in reversed(range(len(links))):
        link = links[index]
        tau_i = link.S_w.T @ moment[index] + link.S_v.T @ force[index] + link.regular_bias
        if vdot is not None:
            tau_i += link.regular @ vdot[link.columns, :]
        if link.elastic:
            tau_i[link.inner] += effort[index]
        tau[index] = tau_i
        if link.Y is not None:
            effort[link.parent] += link.Y.effort(moment[index], force[index])
        P = link.parent
        if P >= 0:
            force[P], moment[P] = _handed_on(force[P], moment[P], force[index], moment[index], link.r, *link.turn)
    return placed(links, tau), force, moment


def impulse(links: Sequence[Link], v: SX) -> SX:
    """Return the mass matrix times v, SX (n,), by the same algorithm for a mechanism at rest without weight.

    Args:
        links: the links, parents before children.
        v: velocities, SX (n,).
    """
    still = [replace(link, regular_bias=ca.SX(link.regular_bias.numel(), 1)) for link in links]
    nothing = (tuple(ca.SX(size, 1) for size in link.sizes) for link in links)
    turning, along, shape = zip(*nothing, strict=True)
    W = tuple(ca.SX(link.r.numel(), link.r.numel()) for link in links)
    moves = LinkRates(turning, W, turning, along, tuple(zip(turning, along, shape, strict=True)))
    return inverse_dynamics(still, moves, along[0], v)[0]


@traced
def _carried(alpha: SX, a: SX, turning: SX, r: SX, b_w: SX, b_v: SX, *turn: SX) -> tuple[SX, SX]:
    """Return angular and linear acceleration of a link without its joint's, in its axes, from those of its parent."""
    x_w, x_v = alpha + b_w, a + turning @ r + b_v
    for R in turn:
        x_w, x_v = R.T @ x_w, R.T @ x_v
    return x_w, x_v


@traced
def _handed_on(force: SX, moment: SX, f: SX, n: SX, r: SX, *turn: SX) -> tuple[SX, SX]:
    """Return force and moment on a link with what a child's joint takes, in the link's axes."""
    for R in turn:
        f, n = R @ f, R @ n
    return force + f, moment + (n + moment_of(r, f))


@traced
def _inertia_forces(m: SX, h: SX, J: SX, W: SX, alpha: SX, a: SX, n: SX, f: SX) -> tuple[SX, SX, SX]:
    """Return W + alpha~, and force and moment of a link's inertia, of which f and n are due to velocities."""
    turning = W + tilde(alpha)
    return turning, m * a + turning @ h + f, J @ alpha + moment_of(h, a) + n


def velocity_forces(link: Link, w: SX, W: SX) -> tuple[SX, SX, SX]:
    """Return moment and force of a link's inertia, and the force on its shape coordinates, due to velocities.

    The force leaves out that of a rigid body, W h.

    Args:
        link: the link.
        w: its angular velocity, in its axes.
        W: `centripetal` of it.
    """
    n = gyroscopic(W, link.J) if w.numel() == 3 else ca.SX(1, 1)
    if not link.elastic:
        return n, ca.SX(link.r.numel(), 1), ca.SX(0, 1)
    more_n, f, e = link.elastic.bias(w)
    return n + more_n, f, e


def placed(links: Sequence[Link], pieces: Sequence[SX]) -> SX:
    """Return the pieces of all links, such as their accelerations, as one column, SX (n,)."""
    n = max((link.columns.stop for link in links), default=0)
    column = ca.SX(n, 1)
    for link, piece in zip(links, pieces, strict=True):
        if piece.numel():
            column[link.columns] = piece
    return column


def regularising(links: Sequence[Link], v: SX) -> SX:
    """Return the energy of the inertia that belongs to the joints' rates alone, J, SX scalar.

    Args:
        links: the links.
        v: the rates, SX (n,).
    """
    energy = ca.SX(0)
    for link in links:
        energy += ca.dot(v[link.columns, :], link.regular @ v[link.columns, :]) / 2
    return energy


def mass_matrix(links: Sequence[Link]) -> SX:
    """Return the joint-space inertia, SX (n, n), by the composite rigid body algorithm."""
    # Inward: the mass m, first moment h and inertia J of each link with all that it carries
    n = max((link.columns.stop for link in links), default=0)
    m, h, J = ([getattr(link, name) for link in links] for name in ("m", "h", "J"))
    C_w, C_v, E = shape_inertias(links)
    for index in reversed(range(len(links))):
        link, P = links[index], links[index].parent
        if link.Y is not None:
            L = lever(h[index])
            n_, f = J[index] @ link.Y.w + L.T @ link.Y.v, m[index] * link.Y.v + L @ link.Y.w
            carry(link, link.Y, n_, f, C_w, C_v, E)
        if P >= 0:  # mass properties about the parent's origin, in its axes
            added = m[index], link.up(h[index]), link.up_matrix(J[index])
            m[P], h[P], J[P] = _composite(m[P], h[P], J[P], *added, link.r)
            h[P], J[P] = ca.sparsify(h[P]), ca.sparsify(J[P])
    # Inward again: forces [f; n] = I S of each column, and M_ij = S_i^T [f; n]_j along the way to the world
    diagonal, others = ca.SX(n, n), ca.SX(n, n)
    # of links farther out: columns, their forces and moments, and their forces on the link's shape coordinates
    felt: list[list[tuple[list[int], SX, SX, SX]]] = [[] for _ in links]
    for index in reversed(range(len(links))):
        link, K = links[index], lever(h[index])  # the force of alpha, and transposed the moment of a
        f = m[index] * link.S_v + K @ link.S_w
        n_ = J[index] @ link.S_w + K.T @ link.S_v
        n_, f, diagonal[link.columns, link.columns] = on_own_rates(link, n_, f, C_w[index], C_v[index], E[index])
        columns = [column for item, *_ in felt[index] for column in item]
        f_out = ca.horzcat(ca.SX(f.shape[0], 0), *(item for _, item, _, _ in felt[index]))
        n_out = ca.horzcat(ca.SX(n_.shape[0], 0), *(item for _, _, item, _ in felt[index]))
        if columns and f.shape[1]:
            block = link.S_w.T @ n_out + link.S_v.T @ f_out
            if link.elastic:
                block[link.inner, :] += ca.horzcat(*(item for _, _, _, item in felt[index]))
            others[link.columns, columns] = block
        if link.parent >= 0:
            f_all, n_all, e_out = ca.horzcat(f, f_out), ca.horzcat(n_, n_out), ca.SX(0, 0)
            if link.Y is not None:
                e_out = link.Y.effort(n_all, f_all)
            f_out = link.up(f_all)
            n_out = link.up(n_all) + lever(link.r).T @ f_out
            felt[link.parent].append(([*range(link.columns.start, link.columns.stop), *columns], f_out, n_out, e_out))
    return diagonal + others + others.T


@traced
def _composite(m: SX, h: SX, J: SX, m_C: SX, h_C: SX, J_C: SX, r: SX) -> tuple[SX, SX, SX]:
    """Return the mass properties of a link and a child whose origin is at r, in the link's axes, about its origin."""
    K, L = lever(r), lever(h_C)
    return m + m_C, h + (h_C + m_C * r), J + J_C + K.T @ L + L.T @ K + m_C * (K.T @ K)


def shape_inertias(links: Sequence[Link]) -> tuple[list[SX], list[SX], list[SX]]:
    """Return C_w, C_v and E of each link; empty for rigid ones."""
    inertias = [
        (link.elastic.C_w, link.elastic.C_v, link.elastic.E) if link.elastic else (ca.SX(),) * 3 for link in links
    ]
    return [item[0] for item in inertias], [item[1] for item in inertias], [item[2] for item in inertias]


def on_own_rates(link: Link, n: SX, f: SX, C_w: SX, C_v: SX, E: SX) -> tuple[SX, SX, SX]:
    """Return moments and forces on a link by its own rates, its shape's among them, and its inertia for these rates.

    Args:
        link: the link.
        n: moments about its origin due to accelerations of its own rates, without those of a change of shape.
        f: forces due to them.
        C_w: angular momentum due to its shape coordinates, see `Elastic`.
        C_v: momentum due to them.
        E: their mass matrix.
    """
    if not link.elastic:
        return n, f, link.S_w.T @ n + link.S_v.T @ f + link.regular
    n, f, e = ca.SX(n), ca.SX(f), C_w.T @ link.S_w + C_v.T @ link.S_v
    e[:, link.inner] += E
    n[:, link.inner] += C_w
    f[:, link.inner] += C_v
    inertia = link.S_w.T @ n + link.S_v.T @ f + link.regular
    inertia[link.inner, :] += e
    return n, f, inertia


def carry(link: Link, Y: LinkBending, n: SX, f: SX, C_w: list[SX], C_v: list[SX], E: list[SX]) -> None:
    """Add to the shape coordinates of a link's parent the inertia that they move with the link.

    Args:
        link: the link.
        Y: how these coordinates move it.
        n: its moments about its origin due to accelerations of these coordinates, in its axes.
        f: its forces due to them.
        C_w: angular momentum of all links due to shape coordinates, see `Elastic`.
        C_v: their momentum.
        E: their mass matrices.
    """
    P = link.parent
    E[P] = E[P] + symmetric(Y.effort(n, f))
    f = link.up(f)
    C_v[P] = C_v[P] + f
    C_w[P] = C_w[P] + link.up(n) + lever(link.r).T @ f


def symmetric(A: SX) -> SX:
    """Return a symmetric matrix with its upper triangle in both."""
    return A if A.numel() == 1 else ca.triu2symm(ca.triu(A))

"""Inertia of flexible bodies: kinetic energy, momentum, and the inertia of their shape coordinates.

With the origin's velocity v and the angular velocity w resolved in the body, and the integrals of its mass (see
`MassIntegrals`), Boltzmann and Hamel's equations p' + w x p = f, L' + w x L + v x p = n and (T_eta')' - T_eta = e
lose v when they are written with the acceleration a = v' + w x v of the origin:

    f = m a + alpha x first + w x (w x first) + first_eta eta'' + 2 w x first' + (first')_eta eta'
    n = J alpha + first x a + w x (J w + spin) + (J w + spin)_eta eta' + spin_eta' eta''
    e = first_eta^T a + spin_eta'^T alpha + (own_eta')_eta' eta'' + ((K_eta')_eta eta' - K_eta),
        K = own + w.spin + w.J w / 2

(Schwertassek & Wallrapp, Dynamik flexibler Mehrkoerpersysteme, 1999.)
"""

import casadi as ca

from mbfmu.dae.bodies import Bodies, Shape
from mbfmu.dae.tree.recursive import Elastic
from mbfmu.model.flexible import kinetic_energy, momenta
from mbfmu.model.frame import SX
from mbfmu.model.relative import cross, moment_of


def kinetic(bodies: Bodies, index: int) -> SX:
    """Return the kinetic energy of a group, J.

    Args:
        bodies: the bodies.
        index: that of the group.
    """
    velocity, w = bodies.coordinates.rates[index]
    shape = bodies.shape_of(index)
    if shape is None:
        inertia = bodies.inertias[index - 1]
        return (inertia.m * ca.sumsqr(bodies.center(index).v_0) + ca.dot(w, inertia.I_CM @ w)) / 2
    item, R = bodies.integrals[shape.path], bodies.coordinates.poses[index].R
    return kinetic_energy(item, ca.jtimes(item.first, shape.eta, shape.rate), R.T @ velocity, w)


def angular_momentum(bodies: Bodies, index: int, shape: Shape) -> SX:
    """Return the angular momentum of a flexible part about the world's origin, N.m.s, in the world frame.

    Args:
        bodies: the bodies.
        index: that of the group that is the part.
        shape: its shape coordinates.
    """
    pose, (velocity, w) = bodies.coordinates.poses[index], bodies.coordinates.rates[index]
    item = bodies.integrals[shape.path]
    linear, spin = momenta(item, ca.jtimes(item.first, shape.eta, shape.rate), pose.R.T @ velocity, w)
    return moment_of(pose.r, pose.R @ linear) + (spin if bodies.planar else pose.R @ spin)


def elastic(bodies: Bodies, shape: Shape, R: SX) -> tuple[SX, SX, SX, Elastic]:
    """Return mass, mass times centre of mass, inertia about the origin, and what the shape adds, of a flexible part.

    Args:
        bodies: the bodies.
        shape: the shape coordinates of the part.
        R: rotation matrix from the body's axes to those of the result; in space these are the body's, in the plane the
            moments are the same in all.
    """
    item, eta, rate = bodies.integrals[shape.path], shape.eta, shape.rate
    first_t = ca.jtimes(item.first, eta, rate)
    first_tt, first_t = R @ ca.jtimes(first_t, eta, rate), R @ first_t
    turning = ca.SX.sym("w", 1 if bodies.planar else 3)
    spinning = item.J @ turning + item.spin
    K = item.own + ca.dot(turning, item.spin) + ca.dot(turning, item.J @ turning) / 2
    spun = ca.jtimes(spinning, eta, rate)
    effort = ca.jtimes(ca.gradient(K, rate), eta, rate) - ca.gradient(K, eta)

    def bias(w: SX) -> tuple[SX, SX, SX]:
        n, e = ca.substitute([spun, effort], [turning], [w])
        return n if bodies.planar else n + ca.cross(w, item.spin), 2 * cross(w, first_t) + first_tt, e

    inertia = Elastic(
        C_w=ca.jacobian(item.spin, rate),
        C_v=R @ ca.jacobian(item.first, eta),
        E=ca.hessian(item.own, rate)[0],
        bias=bias,
    )
    return item.m, R @ item.first, item.J, inertia

"""The links of a tree of bodies: what each joint or bond adds, from the world outward."""

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from mbfmu.dae.bodies import Bodies, Carried, Shape, labels, placed_inertia, turning_of
from mbfmu.dae.flexible import elastic
from mbfmu.dae.tree.edges import Edge
from mbfmu.dae.tree.recursive import Link, LinkBending, lever
from mbfmu.model.frame import SX, Pose, identity
from mbfmu.model.relative import cross
from mbfmu.model.traced import traced

GAUGE = 0.75
"""Trace of the inertia, kg.m2, from which a quaternion's norm gets its mass where the body has no inertia of its
own."""


@dataclass(frozen=True)
class Relative:
    """Pose and motion of a frame seen from another.

    Args:
        pose: its pose.
        velocity: velocity of its origin, in the other frame's axes.
        w: angular velocity, in its own axes.
    """

    pose: Pose
    velocity: SX
    w: SX

    def __matmul__(self, other: "Relative") -> "Relative":
        """Return the motion of a third frame, of which `other` is the motion seen from this one."""
        here, there = self.pose, other.pose
        moving = _relative_motion(self.velocity, self.w, here.R, there.r, there.R, other.velocity, other.w)
        return Relative(here @ there, *moving)

    def inverse(self) -> "Relative":
        """Return the motion of the other frame seen from this one."""
        back = self.pose.inverse()
        w = -self.w if self.w.numel() == 1 else -self.pose.R @ self.w
        return Relative(back, -cross(self.w, back.r) - self.pose.R.T @ self.velocity, w)


@dataclass(frozen=True)
class Branch:
    """A joint or a bond of the tree, seen outward.

    Args:
        near, far: numbers of the groups it joins.
        label: prefix of the names of its coordinates.
        carried: its coordinates and motion, frame_b seen from frame_a.
        quaternions: slices of its coordinates that are quaternions.
        forward: whether frame_a is on the near group.
        start, stop: its near and far frame, seen from the origins of the two groups.
    """

    near: int
    far: int
    label: str
    carried: Carried
    quaternions: tuple[slice, ...]
    forward: bool
    start: Pose
    stop: Pose

    def outward(self) -> Relative:
        """Return pose and motion of the far frame seen from the near one."""
        relative = Relative(self.carried.pose, self.carried.velocity, self.carried.w_b)
        return relative if self.forward else relative.inverse()


def bond(bodies: Bodies, edge: Edge) -> Branch:
    """Return the branch of two frames that coincide."""
    here, still = identity(bodies.planar), bodies.still[0]
    carried = Carried({}, {}, here, still.v_0, still.w_0)
    start, stop = bodies.groups[edge.near].poses[edge.start], bodies.groups[edge.far].poses[edge.stop]
    return Branch(edge.near, edge.far, "", carried, (), True, start, stop)


class Links:
    """The links of a tree of bodies, to which branches are added from the world outward.

    Args:
        bodies: the bodies.
        before: names of the coordinates that come before those of the links.

    Attributes:
        links: the links.
        branches: the branches.
        names: names of the coordinates, with those before.
        q, v: coordinates of the links and their rates, SX, without those before.
        intrinsic: (name, SX residual) of the norms of quaternions.
        frames: pose of each group's link frame in the world, by the number of the group.
    """

    def __init__(self, bodies: Bodies, before: Sequence[str] = ()) -> None:
        self._bodies = bodies
        still = ca.SX(1 if bodies.planar else 3, 1)
        here = identity(bodies.planar)
        world = Pose(here.r, here.angle, ca.SX.eye(bodies.dim))
        self.frames = {0: world}
        self._rates = {0: (ca.SX(bodies.dim, 1), still)}  # velocity in the world, angular velocity in the link's axes
        self._inner, self._link_of = {0: here}, {0: -1}
        self.links: list[Link] = []
        self.branches: list[Branch] = []
        self.names = list(before)
        self.intrinsic: list[tuple[str, SX]] = []
        self.q, self.v = ca.SX(0, 1), ca.SX(0, 1)

    def add(self, branch: Branch) -> None:
        """Add a branch whose near group has a link, or is the world."""
        # Names and symbols of the branch's coordinates, with those of a flexible far group
        bodies, shape = self._bodies, self._bodies.shape_of(branch.far)
        near = bodies.shape_of(branch.near)
        names = [
            label
            for name, symbol in branch.carried.coordinates.items()
            for label in labels(f"{branch.label}.{name}", symbol)
        ]
        if shape is not None:
            names += shape.names
        columns = slice(len(self.names), len(self.names) + len(names))
        q, v = (
            ca.vertcat(ca.SX(0, 1), *items.values(), *moved)
            for items, moved in (
                (branch.carried.coordinates, [shape.eta] if shape else []),
                (branch.carried.rates, [shape.rate] if shape else []),
            )
        )
        # Pose and motion of the link frame, seen from the parent's link frame
        outward = branch.outward()
        inner = branch.stop
        if shape is not None:
            outward, inner = outward @ _bending(branch.stop, shape).inverse(), identity(bodies.planar)
        anchor = self._inner[branch.near].inverse() @ branch.start
        carrier, (v_P, w_P) = self.frames[branch.near], self._rates[branch.near]
        relative = _bending(anchor, near) @ outward
        across = relative.pose
        # The link, its pose in the world and its velocity there
        self._inner[branch.far], self._link_of[branch.far] = inner, len(self.links)
        parent = self._link_of[branch.near]
        there = carrier @ across
        there = Pose(there.r, there.angle, there.R)
        self.links.append(_link(bodies, branch, parent, relative, inner, carrier, there, q, v, columns))
        self.branches.append(branch)
        self.frames[branch.far] = there
        self._rates[branch.far] = _motion_in_world(
            v_P, w_P, carrier.R, across.r, across.R, relative.velocity, relative.w
        )
        # Unit quaternions |Q|^2 - 1 = 0, and all coordinates so far
        self.intrinsic += [(branch.label, ca.sumsqr(q[part]) - 1) for part in branch.quaternions]
        self.names += names
        self.q, self.v = ca.vertcat(self.q, q), ca.vertcat(self.v, v)

    def origin(self, index: int) -> tuple[Pose, SX, SX]:
        """Return pose, velocity and angular velocity (in its axes) of a group's origin."""
        planar = self._bodies.planar
        inner, placed = self._inner[index], self.frames[index]
        v_0, w = self._rates[index]
        back = inner.inverse()
        pose = placed @ back
        return Pose(pose.r, pose.angle, pose.R), _moved(v_0, w, placed.R, back.r), w if planar else inner.R @ w


@traced
def _relative_motion(v: SX, w: SX, R: SX, r_B: SX, R_B: SX, v_B: SX, w_B: SX) -> tuple[SX, SX]:
    """Return the motion of a frame B seen from a third, for that of the frame it is seen from."""
    if w.numel() == 1:
        return v + cross(w, R @ r_B) + R @ v_B, w + w_B
    return v + R @ ca.cross(w, r_B) + R @ v_B, R_B.T @ w + w_B


@traced
def _motion_in_world(v_0: SX, w: SX, R: SX, r_B: SX, R_B: SX, v_B: SX, w_B: SX) -> tuple[SX, SX]:
    """Return velocity in the world frame, and angular velocity in its own axes, of a frame B."""
    return _moved(v_0, w, R, r_B) + R @ v_B, w + w_B if w.numel() == 1 else R_B.T @ w + w_B


@traced
def _moved(v_0: SX, w: SX, R: SX, r: SX) -> SX:
    """Return the velocity of a body's point at r, in the world frame."""
    return v_0 + cross(w if w.numel() == 1 else R @ w, R @ r)


def unit(Q: SX, Qdot: SX) -> tuple[SX, SX]:
    """Return the unit quaternion along Q, and its derivative.

    With it the equations are those of a rigid rotation for every Q and Qdot, as methods need whose stages do not meet
    the constraint |Q| = 1.
    """
    along = Q / ca.norm_2(Q)
    return along, (Qdot - along * ca.dot(along, Qdot)) / ca.norm_2(Q)


def _bending(pose: Pose, shape: Shape | None) -> Relative:
    """Return pose and motion of a frame of a group seen from the group; rigid without shape coordinates."""
    dim = pose.r.numel()
    still = ca.SX(dim, 1), ca.SX(1 if pose.planar else 3, 1)
    if shape is None:
        return Relative(pose, *still)
    return Relative(pose, ca.jtimes(ca.SX(pose.r), shape.eta, shape.rate), turning_of(pose, shape))


def _link(
    bodies: Bodies,
    branch: Branch,
    parent: int,
    relative: Relative,
    inner: Pose,
    carrier: Pose,
    there: Pose,
    q: SX,
    v: SX,
    columns: slice,
) -> Link:
    """Return the link of a branch.

    Args:
        bodies: coordinates and frames of the mechanism.
        branch: the joint or bond, seen outward.
        parent: number of the parent link.
        relative: the link frame seen from the parent's link frame.
        inner: the link frame seen from the origin of the group.
        carrier: the parent's link frame in the world.
        there: the link frame in the world.
        q: the link's coordinates.
        v: their rates.
        columns: places of its coordinates in q and v of all links.
    """
    # Motion relative to the parent: w = S_w v + Y_w eta', and its rate with vdot = 0, which is b_w
    across, velocity, w = relative.pose, ca.sparsify(relative.velocity), relative.w
    near, shape = bodies.shape_of(branch.near), bodies.shape_of(branch.far)
    S_w, S_r = ca.jacobian(w, v), ca.jacobian(velocity, v)
    moving = (q, v) if near is None else (ca.vertcat(q, near.eta), ca.vertcat(v, near.rate))
    b_w, b_r = ca.jtimes(w, *moving), ca.jtimes(velocity, *moving)
    R, r = ca.sparsify(across.R), across.r
    Y_w, Y_r = (ca.jacobian(item, ca.SX(0, 1) if near is None else near.rate) for item in (w, velocity))
    # The same in the axes of the link; in the plane all in those of the world
    if bodies.planar:  # all in the axes of the world
        r, velocity, S_r, b_r = carrier.R @ r, carrier.R @ velocity, carrier.R @ S_r, carrier.R @ b_r
        Y_r = carrier.R @ Y_r
    # Mass m, first moment h = m c and inertia J about the link's origin: J_CM + m K^T K (Steiner), K = lever(c)
    bent = None
    if shape is not None:
        m, h, J, bent = elastic(bodies, shape, there.R if bodies.planar else ca.SX.eye(3))
    else:
        inertia = bodies.inertias[branch.far - 1]
        back = inner.inverse()
        c, J = placed_inertia(back.r, back.R, inertia.r_CM, inertia.I_CM)
        if bodies.planar:
            c = there.R @ c
        else:
            J = ca.sparsify(J)
        K = lever(ca.sparsify(c))
        m, h = inertia.m, inertia.m * ca.sparsify(c)
        J += inertia.m * K.T @ K
    # Inertia mu0 Q Q^T of each quaternion's norm, so that M is regular, and its force mu0 |Qdot|^2 Q
    regular, regular_bias = ca.SX(v.numel(), v.numel()), ca.SX(v.numel(), 1)
    for part in branch.quaternions:
        plain = J if shape is None else ca.substitute(J, shape.eta, ca.SX.zeros(shape.eta.numel()))
        mu0 = 4 * (GAUGE if J.is_zero() else ca.trace(plain)) / 3
        regular[part, part] = mu0 * q[part] @ q[part].T
        regular_bias[part] = mu0 * ca.sumsqr(v[part]) * q[part]
    # Inertia of a rotor, which moves with the joint's axis alone
    rotor = bodies.rotors.get(branch.label)
    if rotor is not None and v.numel():
        for part in branch.quaternions:  # J |w|^2 = 4 J |Qdot|^2, and the force along Q that keeps its norm
            regular[part, part] += 4 * rotor * ca.SX.eye(4)
            regular_bias[part] += 4 * rotor * ca.sumsqr(v[part]) * q[part]
        if not branch.quaternions:
            regular[0, 0] = rotor
    return Link(
        parent=parent,
        R=None if bodies.planar else R,
        r=ca.sparsify(r),
        velocity=ca.sparsify(velocity),
        w=w,
        S_w=ca.sparsify(S_w),
        S_v=ca.sparsify(S_r if bodies.planar else R.T @ S_r),
        b_w=b_w,
        b_r=b_r,
        columns=columns,
        m=m,
        h=h,
        J=J,
        regular=regular,
        regular_bias=regular_bias,
        elastic=bent,
        Y=None if near is None else LinkBending(ca.sparsify(Y_w), ca.sparsify(Y_r if bodies.planar else R.T @ Y_r)),
    )

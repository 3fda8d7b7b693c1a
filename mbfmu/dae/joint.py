"""System -> Dae in joint coordinates: those of the joints on a spanning tree, multipliers for the loops that remain.

A joint that cannot carry coordinates leaves its body free: the body then has the coordinates of a free motion from the
world, and the joint's equations hold with multipliers, as those of a joint that closes a loop.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.dae.bodies import Bodies, Carried, Coordinates, labels
from mbfmu.dae.dae import Dae
from mbfmu.dae.equations import equations
from mbfmu.dae.inertia import InertialTerms
from mbfmu.dae.recursive import (
    Articulated,
    Link,
    LinkRates,
    inverse_dynamics,
    lever,
    link_rates,
    mass_matrix,
)
from mbfmu.errors import MassError, ModelError
from mbfmu.model.frame import SX, G_matrix, Pose, identity
from mbfmu.model.joints import Joint
from mbfmu.model.mechanism import Mechanism, flatten
from mbfmu.model.parts import Inertia
from mbfmu.model.relative import cross, moment_of
from mbfmu.model.system import System

Array = npt.NDArray[np.float64]


def joint(
    system: System,
    turning: bool = False,
    formulas: Mapping[str, str] | None = None,
    choices: Sequence[str] = (),
) -> Dae:
    """Derive the equations of a system in joint coordinates.

    Args:
        system: the mechanism.
        turning: see `Bodies`.
        formulas: see `flatten`.
        choices: see `flatten`.

    Raises:
        ModelError: the system is invalid; the message says what to mend.
    """
    return JointTree(flatten(system, formulas, choices), turning).dae()


@dataclass(frozen=True)
class _Branch:
    """A joint of the tree, seen outward.

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

    def outward(self) -> tuple[Pose, SX, SX]:
        """Return pose, velocity and angular velocity (in its own axes) of the far frame seen from the near one."""
        pose, velocity, w_b = self.carried.pose, self.carried.velocity, self.carried.w_b
        if self.forward:
            return pose, velocity, w_b
        back = pose.inverse()
        w_a = -w_b if w_b.numel() == 1 else -pose.R @ w_b
        return back, -cross(w_b, back.r) - pose.R.T @ velocity, w_a


class JointTree:
    """The bodies of a mechanism in joint coordinates, and their links.

    Args:
        mechanism: the mechanism.
        turning: see `Bodies`.
    """

    def __init__(self, mechanism: Mechanism, turning: bool = False) -> None:
        self.links: list[Link] = []
        self.branches: list[_Branch] = []
        self.frames: dict[int, Pose] = {}
        self.bodies = Bodies(mechanism, central=False, coordinates=self._coordinates, turning=turning)

    def _coordinates(self, bodies: Bodies) -> Coordinates:
        still = ca.SX(1 if bodies.planar else 3, 1)
        here = identity(bodies.planar)
        world = Pose(here.r, here.angle, ca.SX.eye(bodies.dim))
        placed = {0: (world, ca.SX(bodies.dim, 1), still)}  # link frame in the world, its velocity there, w in its axes
        inner, link_of = {0: here}, {0: -1}
        names: list[str] = []
        intrinsic: list[tuple[str, SX]] = []
        branches = self.branches = [_branch(bodies, *step) for step in bodies.tree.order]
        for branch in branches:
            items = branch.carried.coordinates.items()
            own = [label for name, symbol in items for label in labels(f"{branch.label}.{name}", symbol)]
            columns = slice(len(names), len(names) + len(own))
            names += own
            q = ca.vertcat(ca.SX(0, 1), *branch.carried.coordinates.values())
            intrinsic += [(branch.label, ca.sumsqr(q[part]) - 1) for part in branch.quaternions]
            pose_P, v_P, w_P = placed[branch.near]
            anchor, outward = inner[branch.near].inverse() @ branch.start, branch.outward()
            pose, velocity, w = outward
            across = anchor @ pose
            parent = link_of[branch.near]
            inner[branch.far], link_of[branch.far] = branch.stop, len(self.links)
            self.links.append(_link(bodies, branch, parent, anchor, across, outward, pose_P, columns))
            w_0 = w_P if bodies.planar else pose_P.R @ w_P
            v_0 = v_P + cross(w_0, pose_P.R @ across.r) + pose_P.R @ (anchor.R @ velocity)
            there = pose_P @ across
            w_C = w_P + w if bodies.planar else across.R.T @ w_P + w
            placed[branch.far] = (Pose(there.r, there.angle, there.R), v_0, w_C)
        self.frames = {number: pose for number, (pose, _, _) in placed.items()}
        origins = [_origin(bodies.planar, inner[number], *placed[number]) for number in range(len(bodies.groups))]
        empty = ca.SX(0, 1)
        return Coordinates(
            names=tuple(names),
            q=ca.vertcat(empty, *(item for branch in branches for item in branch.carried.coordinates.values())),
            v=ca.vertcat(empty, *(item for branch in branches for item in branch.carried.rates.values())),
            poses=tuple(pose for pose, _, _ in origins),
            rates=tuple((velocity, w) for _, velocity, w in origins),
            intrinsic=tuple(intrinsic),
            carried={branch.label: branch.carried for branch in branches if branch.label in bodies.tree_joints},
            recursive=True,
        )

    @property
    def smaller(self) -> bool:
        """Return whether these are fewer coordinates than absolute ones, or the only ones that need no mass here."""
        return bool(self.bodies.lacking) or bool(
            self.bodies.q.numel() < (3 if self.bodies.planar else 7) * len(self.links)
        )

    def dae(self) -> Dae:
        """Return the equations.

        Raises:
            MassError: the mass matrix is singular.
            ModelError: a rotor is on a joint without coordinates.
        """
        self._check_masses()
        self._check_rotors()
        bodies, links = self.bodies, self.links
        q, v, gravity = bodies.q, bodies.v, bodies.gravity()
        T, regular = ca.SX(0), ca.SX(0)
        for number, inertia in bodies.moving():
            w = bodies.coordinates.rates[number][1]
            T += (inertia.m * ca.sumsqr(bodies.center(number).v_0) + ca.dot(w, inertia.I_CM @ w)) / 2
        for number, branch in enumerate(self.branches):
            if branch.label in bodies.rotors:
                T += bodies.rotors[branch.label] * v[links[number].columns.start] ** 2 / 2
        for link in links:
            regular += ca.dot(v[link.columns, :], link.regular @ v[link.columns, :]) / 2
        moves = link_rates(links)
        articulated = Articulated(links)
        T_q = ca.gradient(T, q)
        return equations(
            bodies,
            InertialTerms(
                T=T,
                M=mass_matrix(links),
                momentum=ca.gradient(T, v),
                T_q=T_q,
                regular_T_q=T_q + ca.gradient(regular, q),
                bias=inverse_dynamics(links, moves, gravity)[0],
                solve=articulated.solve,
                free=lambda force: articulated.solve(force, moves, gravity),
                transmitted=lambda a, outer: self.transmitted(moves, a, outer),
            ),
        )

    def _check_masses(self) -> None:
        """Raise an error if a body lacks mass or inertia, and the mass matrix is singular in all sampled positions.

        Where it is regular, warn of inertias that no body has.

        Eliminated from the outermost joint inward, the mass matrix leaves for each joint the inertia that it moves
        while the joints farther out are free: zero, or not positive, if a singular one.
        """
        bodies = self.bodies
        if not bodies.lacking:
            return
        M = ca.Function("M", [bodies.q, bodies.p, bodies.t], [ca.densify(mass_matrix(self.links))])
        symbols = ca.vertcat(ca.SX(0, 1), *bodies.symbols.values())
        p = np.zeros(bodies.p.numel())
        p[: symbols.numel()] = [float(entry.value) for entry in bodies.entries]
        rng = np.random.default_rng(0)
        best = np.full(len(self.links), -np.inf)
        for _ in range(SAMPLES):
            q = rng.normal(size=bodies.q.numel())
            best = np.maximum(best, self._pivots(np.array(M(q, p, 0.0))))
        for number, least in reversed(list(enumerate(best))):
            if not least > SINGULAR:
                far = self.branches[number].far
                reason = bodies.lacking.get(far)
                named = f"the joint '{self.branches[number].label}' moves no inertia that is its own"
                raise MassError(reason or f"{named}, as {'; '.join(bodies.lacking.values())}")
        for number, reason in bodies.lacking.items():
            (I_CM,) = bodies.numbers(bodies.inertias[number - 1].I_CM)
            moments = np.linalg.eigvalsh(np.array(I_CM))
            if moments.min() < -ROUNDED * np.abs(moments).max():
                warnings.warn(f"no body has such an inertia, and energy may be wrong: {reason}", stacklevel=2)

    def _check_rotors(self) -> None:
        for path in self.bodies.rotors:
            if path not in self.bodies.coordinates.carried:
                raise ModelError(
                    f"a rotor is on '{path}', which has no coordinate of its own as it closes a loop or is no tree "
                    "joint: put it on another joint of the loop, or use absolute coordinates (--coordinates absolute)"
                )

    def _pivots(self, M: Array) -> Array:
        """Return the least inertia left for each joint, relative to that with the joints farther out locked."""
        found = np.full(len(self.links), np.inf)
        locked = np.diag(M).copy()
        for number in reversed(range(len(self.links))):
            own = self.links[number].columns
            inner = slice(0, own.start)
            scale = np.sqrt(np.maximum(locked[own], 0.0))
            if not scale.all():
                found[number] = 0.0
            elif scale.size:
                found[number] = np.linalg.eigvalsh(M[own, own] / np.outer(scale, scale)).min()
            if found[number] > SINGULAR:
                M[inner, inner] -= M[inner, own] @ np.linalg.solve(M[own, own], M[own, inner])
        return found

    def transmitted(self, moves: LinkRates, a: SX, outer: Sequence[tuple[int, SX, SX, SX]]) -> dict[str, tuple[SX, SX]]:
        """Return the cut force and torque at frame_b, resolved there, for each joint that carries coordinates.

        Args:
            moves: the velocities of the links.
            a: accelerations of the coordinates, SX (n,).
            outer: (group, point, force, torque) of everything else that acts on the bodies, in the world frame.
        """
        planar, dim = self.bodies.planar, self.bodies.dim
        number_of = {branch.far: number for number, branch in enumerate(self.branches)}
        acting = [[ca.SX(dim, 1), ca.SX(1 if planar else 3, 1)] for _ in self.links]
        for group, point, force, torque in outer:
            pose, sums = self.frames[group], acting[number_of[group]]
            arm = point - pose.r
            moment = torque + moment_of(arm, force)
            sums[0] += force if planar else pose.R.T @ force
            sums[1] += moment if planar else pose.R.T @ moment
        pairs = [(force, moment) for force, moment in acting]
        _, forces, moments = inverse_dynamics(self.links, moves, self.bodies.gravity(), a, pairs)
        found: dict[str, tuple[SX, SX]] = {}
        for number, branch in enumerate(self.branches):
            if branch.label not in self.bodies.tree_joints:
                continue
            force, moment = -forces[number], -moments[number]
            if planar:
                force = self.frames[branch.far].R.T @ force
            if not branch.forward:  # the link frame is frame_a: shift the wrench to frame_b, and reverse it
                R = branch.carried.pose.R
                gap = branch.carried.pose.r  # from a to b, resolved in a
                force, moment = -force, -(moment - moment_of(gap, force))
                force = R.T @ force
                moment = moment if planar else R.T @ moment
            found[branch.label] = (force, moment)
        return found


SAMPLES = 5
SINGULAR = 1e-12
"""Largest inertia of a joint, relative to that with the joints farther out locked, that counts as zero."""
ROUNDED = 1e-9
"""Largest relative size of a negative principal moment that counts as rounding."""
GAUGE = 0.75
"""Trace of inertia that a quaternion's norm is given where the body itself has none, kg.m2."""


def _branch(bodies: Bodies, path: str, near: int, far: int, forward: bool) -> _Branch:
    component: Joint = bodies.mechanism.components[path]  # type: ignore[assignment]
    if path not in bodies.tree_joints:
        label, carried, quaternions = _free(bodies, far)
        start, stop = identity(bodies.planar), Pose(bodies.inertias[far - 1].r_CM, identity(bodies.planar).angle)
        return _Branch(0, far, label, carried, quaternions, True, start, stop)
    carried, quaternions = _carried(bodies, path, component)
    ends = ("frame_a", "frame_b") if forward else ("frame_b", "frame_a")
    start, stop = (
        bodies.groups[group].poses[bodies.anchors[f"{path}.{end}"][1]]
        for group, end in zip((near, far), ends, strict=True)
    )
    return _Branch(near, far, path, carried, quaternions, forward, start, stop)


def _carried(bodies: Bodies, path: str, joint: Joint) -> tuple[Carried, tuple[slice, ...]]:
    """Return the coordinates of a joint, and the slices of them that are quaternions."""
    coordinates = bodies.symbols_of(path, joint)
    rates = {name: ca.SX.sym(f"der({path}.{name})", symbol.numel()) for name, symbol in coordinates.items()}
    quaternions: list[slice] = []
    turned, turning = dict(coordinates), dict(rates)
    n = 0
    for item in joint.motion(bodies.values[path], *bodies.still):
        name, size = item.position, coordinates[item.position].numel()
        if item.neutral:
            quaternions.append(slice(n, n + size))
            turned[name], turning[name] = _unit(coordinates[name], rates[name])
        n += size
    pose = joint.pose(bodies.values[path], turned)
    velocity, w_b = _twist(bodies, path, joint, turned, turning)
    return Carried(coordinates, rates, pose, velocity, w_b), tuple(quaternions)


def _unit(Q: SX, Qdot: SX) -> tuple[SX, SX]:
    """Return the unit quaternion along Q, and its derivative.

    With it the equations are those of a rigid rotation for every Q and Qdot, as methods need whose stages do not meet
    the constraint |Q| = 1.
    """
    unit = Q / ca.norm_2(Q)
    return unit, (Qdot - unit * ca.dot(unit, Qdot)) / ca.norm_2(Q)


def _twist(bodies: Bodies, path: str, joint: Joint, coordinates: dict[str, SX], rates: dict[str, SX]) -> tuple[SX, SX]:
    """Return a joint's twist at coordinates that need not be symbols."""
    plain = bodies.symbols_of(path, joint)
    moving = bodies.symbols_of(path, joint)
    found = joint.twist(bodies.values[path], plain, moving)
    old = ca.vertcat(ca.SX(0, 1), *plain.values(), *moving.values())
    new = ca.vertcat(ca.SX(0, 1), *(coordinates[name] for name in plain), *(rates[name] for name in moving))
    velocity, w_b = ca.substitute(list(found), [old], [new]) if old.numel() else found
    return velocity, w_b


def _free(bodies: Bodies, number: int) -> tuple[str, Carried, tuple[slice, ...]]:
    """Return the coordinates of a body that no joint carries: position of its centre of mass, and orientation."""
    owner, dim = bodies.owner(number), bodies.dim
    turn, size = ("phi", 1) if bodies.planar else ("Q", 4)
    coordinates = {"r": ca.SX.sym(f"{owner}.r", dim), turn: ca.SX.sym(f"{owner}.{turn}", size)}
    rates = {name: ca.SX.sym(f"der({owner}.{name})", symbol.numel()) for name, symbol in coordinates.items()}
    angle, turning = (coordinates[turn], rates[turn]) if bodies.planar else _unit(coordinates[turn], rates[turn])
    pose = Pose(coordinates["r"], angle)
    w_b = turning if bodies.planar else 2 * G_matrix(angle) @ turning
    return owner, Carried(coordinates, rates, pose, rates["r"], w_b), () if bodies.planar else (slice(3, 7),)


def _link(
    bodies: Bodies,
    branch: _Branch,
    parent: int,
    anchor: Pose,
    across: Pose,
    outward: tuple[Pose, SX, SX],
    carrier: Pose,
    columns: slice,
) -> Link:
    """Return the link of a branch.

    Args:
        bodies: coordinates and frames of the mechanism.
        branch: the joint, seen outward.
        parent: number of the parent link.
        anchor: the near frame of the joint, seen from the parent's link frame.
        across: the link frame, seen from the parent's link frame.
        outward: pose, velocity and angular velocity of the joint's far frame seen from its near one.
        carrier: the parent's link frame in the world.
        columns: places of its coordinates in q and v.
    """
    q, v = (ca.vertcat(ca.SX(0, 1), *items.values()) for items in (branch.carried.coordinates, branch.carried.rates))
    _, velocity, w = outward
    inertia: Inertia = bodies.inertias[branch.far - 1]
    velocity = ca.sparsify(anchor.R @ velocity)
    S_w, S_r, b_w, b_r = ca.jacobian(w, v), ca.jacobian(velocity, v), ca.jtimes(w, q, v), ca.jtimes(velocity, q, v)
    back = branch.stop.inverse()
    c = back.r + back.R @ inertia.r_CM
    R, r = ca.sparsify(across.R), across.r
    regular, regular_bias = ca.SX(v.numel(), v.numel()), ca.SX(v.numel(), 1)
    if bodies.planar:  # all in the axes of the world
        c = carrier.R @ (across.R @ c)
        r, velocity, S_r, b_r = carrier.R @ r, carrier.R @ velocity, carrier.R @ S_r, carrier.R @ b_r
        J = inertia.I_CM
    else:
        J = ca.sparsify(back.R @ inertia.I_CM @ back.R.T)
    K = lever(ca.sparsify(c))
    J += inertia.m * K.T @ K
    for part in branch.quaternions:
        mu0 = 4 * (GAUGE if J.is_zero() else ca.trace(J)) / 3
        regular[part, part] = mu0 * q[part] @ q[part].T
        regular_bias[part] = mu0 * ca.sumsqr(v[part]) * q[part]
    rotor = bodies.rotors.get(branch.label)
    if rotor is not None and v.numel():
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
        m=inertia.m,
        h=inertia.m * ca.sparsify(c),
        J=J,
        regular=regular,
        regular_bias=regular_bias,
    )


def _origin(planar: bool, inner: Pose, placed: Pose, v_0: SX, w: SX) -> tuple[Pose, SX, SX]:
    """Return pose, velocity and angular velocity (in its axes) of a group's origin, from those of its link frame."""
    back = inner.inverse()
    pose = placed @ back
    w_0 = w if planar else placed.R @ w
    return Pose(pose.r, pose.angle, pose.R), v_0 + cross(w_0, placed.R @ back.r), w if planar else inner.R @ w

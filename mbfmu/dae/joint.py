"""System -> Dae in joint coordinates: those of the joints on a spanning tree, multipliers for the loops that remain.

A joint that cannot carry coordinates, or shall not, leaves its body free: the body then has the coordinates of a free
motion from the world, and the joint's equations hold with multipliers, as those of a joint that closes a loop.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.dae.augmented import Light, augmented
from mbfmu.dae.bodies import Bodies, Coordinates
from mbfmu.dae.choice import EVERY_JOINT, CoordinateChoice
from mbfmu.dae.dae import Dae
from mbfmu.dae.equations import equations
from mbfmu.dae.flexible import kinetic
from mbfmu.dae.inertia import InertialTerms
from mbfmu.dae.linear_algebra.kkt import Factor
from mbfmu.dae.tree.articulated import Articulated
from mbfmu.dae.tree.links import Branch, Links
from mbfmu.dae.tree.recursive import Link, LinkRates, impulse, inverse_dynamics, link_rates, mass_matrix, regularising
from mbfmu.dae.tree.tree_coordinates import tree_coordinates, tree_links
from mbfmu.dae.tree.tree_factor import TreeFactor, is_shallow
from mbfmu.errors import ModelError
from mbfmu.model.flexible import ElasticJoint
from mbfmu.model.frame import SX
from mbfmu.model.mechanism import Mechanism, flatten
from mbfmu.model.relative import moment_of
from mbfmu.model.system import System

Array = npt.NDArray[np.float64]


def joint(
    system: System,
    turning: bool = False,
    formulas: Mapping[str, str] | None = None,
    choices: Sequence[str] = (),
    weightless: bool = False,
    spare: int = 0,
    choice: CoordinateChoice = EVERY_JOINT,
) -> Dae:
    """Derive the equations of a system in joint coordinates.

    Args:
        system: the mechanism.
        turning: see `Bodies`.
        formulas: see `flatten`.
        choices: see `flatten`.
        weightless: see `Mechanism`.
        spare: see `Bodies`.
        choice: see `Bodies`.

    Raises:
        ModelError: the system is invalid; the message says what to mend.
        UsageError: the choice names what has no coordinates.
    """
    return JointTree(replace(flatten(system, formulas, choices), weightless=weightless), turning, choice, spare).dae()


class JointTree:
    """The bodies of a mechanism in joint coordinates, and their links.

    Args:
        mechanism: the mechanism.
        turning: see `Bodies`.
        choice: see `Bodies`.
        spare: see `Bodies`.
    """

    def __init__(
        self, mechanism: Mechanism, turning: bool = False, choice: CoordinateChoice = EVERY_JOINT, spare: int = 0
    ) -> None:
        self.bodies = Bodies(
            mechanism, central=False, coordinates=self._coordinates, turning=turning, choice=choice, spare=spare
        )

    def _coordinates(self, bodies: Bodies) -> Coordinates:
        self.tree: Links = tree_links(bodies)
        return tree_coordinates(bodies, self.tree)

    @property
    def links(self) -> list[Link]:
        """The links of the bodies, parents before children."""
        return self.tree.links

    @property
    def branches(self) -> list[Branch]:
        """The branch that holds each link."""
        return self.tree.branches

    @property
    def smaller(self) -> bool:
        """Return whether these are fewer coordinates than absolute ones, or some bodies have no mass here.

        In the plane an elastic joint leaves all freedom. A mechanism that is mostly made of them, such as a line that
        bends, has absolute coordinates, in which each of its bodies has to do with its neighbours alone.
        """
        if self.bodies.lacking:
            return True
        joints = [self.bodies.mechanism.components[edge.path] for edge in self.bodies.tree.order if edge.path]
        if self.bodies.planar and 2 * sum(isinstance(item, ElasticJoint) for item in joints) > len(joints):
            return False
        bent = sum(shape.eta.numel() for shape in self.bodies.shapes.values())
        return bool(self.bodies.q.numel() - bent < (3 if self.bodies.planar else 7) * len(joints))

    def dae(self) -> Dae:
        """Return the equations.

        Raises:
            MassError: the constraints allow a motion without mass.
            ModelError: a rotor is on a joint without coordinates.
        """
        light = self._light()
        self._check_rotors()
        # Kinetic energies of bodies and rotors
        bodies, links = self.bodies, self.links
        q, v, gravity = bodies.q, bodies.v, bodies.gravity()
        of_bodies = sum((kinetic(bodies, index) for index, _ in bodies.moving()), ca.SX(0))
        of_rotors = ca.SX(0)
        for index, branch in enumerate(self.branches):
            if branch.label in bodies.rotors:
                rates = v[links[index].columns]
                square = 4 * ca.sumsqr(rates) if branch.quaternions else rates[0] ** 2
                of_rotors += bodies.rotors[branch.label] * square / 2
        # M by composite bodies, and the bias h of M vdot = f - h by the Newton-Euler recursion
        moves = link_rates(links)
        bias, M = inverse_dynamics(links, moves, gravity)[0], cache(lambda: mass_matrix(links))
        # M^-1 by the factors of the tree, or by articulated bodies
        solve: Callable[[SX], SX]
        free: Callable[[SX], SX]
        if light:  # M is singular, and rows of constraints are added to it
            singular = cache(lambda: Factor(M()))
            solve, free = lambda f: singular().solve(f), lambda load: singular().solve(load - bias)
        elif is_shallow(links):
            factor = TreeFactor(M())
            solve, free = factor.solve, lambda load: factor.solve(load - bias)
        else:
            articulated = Articulated(links)
            solve, free = articulated.solve, lambda load: articulated.solve(load, moves, gravity)
        T_q, momentum = cache(lambda: ca.gradient(of_bodies, q)), cache(lambda: ca.gradient(of_bodies, v))

        def times_M() -> SX:
            """Return M v by the same recursion, or where bodies bend by their energy, in fewer operations."""
            if any(link.elastic for link in links):
                return momentum() + ca.gradient(regularising(links, v), v)
            return impulse(links, v)

        terms = InertialTerms(
            T=of_bodies + of_rotors,
            M=M,
            momentum=lambda: momentum() + ca.gradient(of_rotors, v),
            impulse=times_M,
            T_q=T_q,
            regular_T_q=lambda: T_q() + ca.gradient(regularising(links, v), q),
            bias=bias,
            solve=solve,
            free=free,
            transmitted=lambda a, outer: self.transmitted(moves, a, outer),
        )
        return augmented(equations(bodies, terms), light)

    def _light(self) -> list[Light]:
        """Return the joints that move no inertia, the outermost first: those for which M is singular in all positions.

        Where it is regular, warn of inertias that no body has.

        Eliminated from the outermost joint inward, the mass matrix leaves for each joint the inertia that it moves
        while the joints farther out are free: zero, or not positive, if a singular one.
        """
        bodies = self.bodies
        if not bodies.lacking:
            return []
        M = ca.Function("M", [bodies.q, bodies.p, bodies.t], [ca.densify(mass_matrix(self.links))])
        symbols = ca.vertcat(ca.SX(0, 1), *bodies.symbols.values())
        p = np.zeros(bodies.p.numel())
        p[: symbols.numel()] = [float(entry.value) for entry in bodies.entries]
        rng = np.random.default_rng(0)
        best = np.full(len(self.links), -np.inf)
        for _ in range(SAMPLES):
            q = rng.normal(size=bodies.q.numel())
            best = np.maximum(best, self._pivots(np.array(M(q, p, 0.0))))
        light = []
        for index, least in reversed(list(enumerate(best))):
            if not least > SINGULAR:
                columns, far = self.links[index].columns, self.branches[index].far
                reason = bodies.lacking.get(far)
                named = f"the joint '{self.branches[index].label}' moves no inertia that is its own"
                reason = reason or f"{named}, as {'; '.join(bodies.lacking.values())}"
                negative = far in bodies.lacking and bodies.is_one_body(far) and bodies.has_negative_inertia(far)
                light.append(Light(range(columns.start, columns.stop), reason, negative))
        for index, reason in bodies.lacking.items():
            if bodies.has_negative_inertia(index):
                warnings.warn(f"no body has such an inertia, and energy may be wrong: {reason}", stacklevel=2)
        return light

    def _check_rotors(self) -> None:
        for path in self.bodies.rotors:
            if path in self.bodies.ropes:
                raise ModelError(
                    f"a rotor is on the rope '{path}', which has no coordinate of its own: let a Gear couple it with a "
                    "body on a Prismatic joint, or use absolute coordinates (--coordinates absolute)"
                )
            if path not in self.bodies.coordinates.carried:
                raise ModelError(
                    f"a rotor is on '{path}', which has no coordinate of its own as it closes a loop or is not a tree "
                    "joint: put it on another joint of the loop, or use absolute coordinates (--coordinates absolute)"
                )

    def _pivots(self, M: Array) -> Array:
        """Return the least inertia left for each joint, relative to that with the joints farther out locked."""
        pivots = np.full(len(self.links), np.inf)
        locked = np.diag(M).copy()
        for index in reversed(range(len(self.links))):
            columns = self.links[index].columns
            inner = slice(0, columns.start)
            scale = np.sqrt(np.maximum(locked[columns], 0.0))
            if not scale.all():
                pivots[index] = 0.0
            elif scale.size:
                pivots[index] = np.linalg.eigvalsh(M[columns, columns] / np.outer(scale, scale)).min()
            if pivots[index] > SINGULAR:
                M[inner, inner] -= M[inner, columns] @ np.linalg.solve(M[columns, columns], M[columns, inner])
        return pivots

    def transmitted(self, moves: LinkRates, a: SX, outer: Sequence[tuple[int, SX, SX, SX]]) -> dict[str, tuple[SX, SX]]:
        """Return the cut force and torque at frame_b, resolved there, for each joint that carries coordinates.

        Args:
            moves: the velocities of the links.
            a: accelerations of the coordinates, SX (n,).
            outer: (group, point, force, torque) of everything else that acts on the bodies, in the world frame.
        """
        # Forces and moments on each link from outside, about its origin, in its axes
        planar, dim = self.bodies.planar, self.bodies.dim
        number_of = {branch.far: index for index, branch in enumerate(self.branches)}
        acting = [[ca.SX(dim, 1), ca.SX(1 if planar else 3, 1)] for _ in self.links]
        for group, point, force, torque in outer:
            pose, sums = self.tree.frames[group], acting[number_of[group]]
            arm = point - pose.r
            moment = torque + moment_of(arm, force)
            sums[0] += force if planar else pose.R.T @ force
            sums[1] += moment if planar else pose.R.T @ moment
        # Forces and moments that the joints transmit, by the Newton-Euler recursion
        pairs = [(force, moment) for force, moment in acting]
        _, forces, moments = inverse_dynamics(self.links, moves, self.bodies.gravity(), a, pairs)
        # The same at frame_b of each joint, resolved there
        wrenches: dict[str, tuple[SX, SX]] = {}
        for index, branch in enumerate(self.branches):
            if branch.label not in self.bodies.tree_joints:
                continue
            force, moment = -forces[index], -moments[index]
            if planar:
                force = self.tree.frames[branch.far].R.T @ force
            if self.bodies.shape_of(branch.far) is not None:  # from the origin, the link frame, to the joint
                moment = moment - moment_of(branch.stop.r, force)
                force = branch.stop.R.T @ force
                moment = moment if planar else branch.stop.R.T @ moment
            if not branch.forward:  # the link frame is frame_a: shift the wrench to frame_b, and reverse it
                R = branch.carried.pose.R
                gap = branch.carried.pose.r  # from a to b, resolved in a
                force, moment = -force, -(moment - moment_of(gap, force))
                force = R.T @ force
                moment = moment if planar else R.T @ moment
            wrenches[branch.label] = (force, moment)
        return wrenches


SAMPLES = 5
SINGULAR = 1e-12
"""Largest inertia of a joint, relative to that with the joints farther out locked, that counts as zero."""

"""Reserves of frictions that stick: what is left of their limits, where one has the force of several of one slip.

Of the slip velocities that others imply, no row acts: a row that acts has their forces too, by their shares, as it is
the work of all that counts. At the instant when they give way, each of them is at its own limit; so their forces are
moved to them before the last one is compared with what it can hold. Where normal forces depend on how a force is shared
out, as in gears with losses, they follow.
"""

from collections.abc import Sequence

import casadi as ca

from mbfmu.dae.dae import Dae
from mbfmu.dae.linear_algebra.kkt import SchurFactor
from mbfmu.dae.parts.gaps import Switches
from mbfmu.model.frame import SX

SETTLED = 2
"""Number of corrections of the limit of a friction that follows from its own force, for each such friction."""


class Reserves:
    """The reserves of frictions at a state.

    Args:
        plain: the equations without modes.
        switches: gaps and frictions.
        carried: number of the slip velocity, from 1, that has the force of each, and its share; SX, shapes (r_T,).
        W_T: matrix of the slip velocities, SX, shape (r_T, n).
        q, v, z, u, p, t: the state, its inputs and parameters, as the plain equations have them, SX.
    """

    def __init__(
        self, plain: Dae, switches: Switches, carried: tuple[SX, SX], W_T: SX, q: SX, v: SX, z: SX, u: SX, p: SX, t: SX
    ) -> None:
        self.plain, self.switches, self.W_T = plain, switches, W_T
        self.carrier, self.share = carried
        self.q, self.v, self.z, self.u, self.p, self.t = q, v, z, u, p, t
        self.r_T = len(switches.frictions)
        self.shifts: dict[tuple[int, int], SX] = {}

    def limit(self, N: SX, ways: SX) -> SX:
        """Return the largest force of each friction while it sticks, SX, shape (r_T,).

        Args:
            N: normal forces, SX, shape (r_T,).
            ways: way of each slip, 1 or -1, that it keeps from, SX, shape (r_T,).
        """
        still = ca.SX.zeros(self.r_T)
        return self.switches.static(self.switches.pressed(N, ways, still, self.p, self.t), self.p, self.t)

    def of(self, group: tuple[int, ...], N: SX, held: SX) -> SX:
        """Return what is left of the limit of a friction that sticks, and of those whose force it has too.

        Those are at their own limits where it slips. So their forces are moved to them, before its own is compared.

        Args:
            group: numbers of its slip velocities.
            N: normal forces, SX, shape (r_T,).
            held: what sticking takes along its slip, with the sign of the way that it keeps from, SX.
        """
        k, frictions = group[0], self.switches.frictions
        if len(group) > 1:
            return self.limit(N, ca.SX.ones(self.r_T))[k] - ca.norm_2(held)
        if not any(item.sided or item.one_way for item in frictions):
            return self.left(k, 1, N, ca.fabs(held))
        return ca.fmin(*(self.left(k, way, N, way * held) for way in (1, -1)))

    def left(self, k: int, way: int, N: SX, held: SX) -> SX:
        """Return what is left of the limit of a friction, and of those that it carries, on one way of its slip.

        Args:
            k: number of the friction.
            way: 1 or -1.
            N: normal forces, SX, shape (r_T,).
            held: what sticking takes against this way, SX.
        """
        # Ways of those that it carries, and their forces at their limits
        frictions = self.switches.frictions
        with_it = [j for j in range(k + 1, self.r_T) if not any(frictions[i].pair for i in (j - 1, j))]
        carried = {j: self.carrier[j] == k + 1 for j in with_it}
        ways = ca.SX.ones(self.r_T) * way
        for j in with_it:
            ways[j] = way * ca.sign(self.share[j])
        sided = any(item.sided for item in frictions)
        forces, limits = ca.SX.zeros(self.r_T), self.limit(N, ways)
        for _ in range(1 + SETTLED * sum(frictions[j].sided for j in with_it)):
            pressing = N + self.moved(k, with_it, forces) if sided else N
            limits = self.limit(pressing, ways)
            for j in with_it:
                outside = ways[j] * limits[j]
                if frictions[j].sided:  # whose limit follows from its own force
                    outside = forces[j] + (outside - forces[j]) / (1 - self.slope(k, j, pressing, ways))
                forces[j] = ca.if_else(carried[j], outside, 0)
        # What they leave to the friction itself, and its own limit with their forces where they are
        rest = held - sum((way * self.share[j] * forces[j] for j in with_it), ca.SX(0))
        limits = self.limit(N + self.moved(k, with_it, forces), ways) if sided else limits
        # A slip that goes one way needs no limit backwards
        free = ca.SX(frictions[k].one_way and way < 0)
        for j in (j for j in with_it if frictions[j].one_way):
            free = ca.logic_or(free, ca.logic_and(carried[j], ways[j] < 0))
        return ca.if_else(free, 1, limits[k] - rest)

    def moved(self, k: int, with_it: Sequence[int], forces: SX) -> SX:
        """Return how normal forces change as forces move from a friction to those that it carries, SX, shape (r_T,).

        Args:
            k: number of the friction.
            with_it: numbers of those that it may carry.
            forces: their forces, SX, shape (r_T,).
        """
        change = ca.SX.zeros(self.r_T)
        for j in with_it:
            change += self.shift(k, j) * forces[j]
        return change

    def slope(self, k: int, j: int, N: SX, ways: SX) -> SX:
        """Return the slope of the limit of a carried friction, over its own force; see `left` and `moved`."""
        pressing = ca.SX.sym("N", self.r_T)
        slope = ca.jacobian(ways[j] * self.limit(pressing, ways)[j], pressing[j])
        return ca.substitute(slope, pressing, N) * self.shift(k, j)[j]

    def shift(self, k: int, j: int) -> SX:
        """Return how normal forces change for each force that moves from friction k to j, SX, shape (r_T,).

        The accelerations stay, as W_j - share W_k is a combination of constraints: only the forces of these change.
        """
        if (k, j) not in self.shifts:
            share = self.share[j]
            W = self.W_T[j, :] - share * self.W_T[k, :]
            C = self.plain.constraints.C(self.q, self.p, self.t)
            factor = SchurFactor(self.plain.over_mass(self.q, self.p), C)
            more, lambda_ = factor.solve(-W.T, ca.SX(C.shape[0], 1))
            forces = ca.SX.zeros(len(self.switches.gaps) + self.r_T)
            forces[len(self.switches.gaps) + j], forces[len(self.switches.gaps) + k] = -1, share
            inputs = self.switches.inputs(len(self.plain.inputs), ca.SX.zeros(self.u.numel()), forces)
            moved, still = (
                self.switches.normal(
                    self.q, self.v, self.z, *(scale * x for x in (more, lambda_, inputs)), self.p, self.t
                )
                for scale in (1, 0)
            )
            self.shifts[k, j] = moved - still
        return self.shifts[k, j]

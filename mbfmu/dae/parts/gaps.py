"""Unilateral constraints and dry friction of a mechanism, before it is decided which of them act.

A gap g(q, t) >= 0 has a force f_n >= 0 along its gradient that acts only where the gap is closed. One that holds keeps
closed up to a pull: f_n >= -pull. Dry friction acts against a slip velocity gamma(q, v, t): while it slides, its
force has a given size; while it sticks, the force is what it takes, up to a limit. Both sizes may depend on a normal
force: that of a gap, with which its pull presses, or one that the motion and the multipliers of the other constraints
give, such as the reaction of a joint. A friction that breaks sticks from the start, and never again once it has
slipped.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca

Function = ca.Function
"""A CasADi Function (CasADi carries no types)."""


@dataclass(frozen=True)
class GapSignal:
    """A gap.

    Args:
        name: full name of what has the gap; ``name.gap`` is the gap, ``name.f_n`` its force.
        unit: SI unit of the gap, ``m`` or ``rad``.
        input: number of the input of the plain equations through which its force acts.
        holds: whether it holds up to the pull that `Switches.pull` gives; else it opens as soon as it is pulled.
        poisson: whether its impacts follow Poisson's law, else Newton's.
        sequential: whether it hits after the others that touch, one at a time, by Newton's law.
    """

    name: str
    unit: str
    input: int
    holds: bool = False
    poisson: bool = False
    sequential: bool = False


@dataclass(frozen=True)
class FrictionSignal:
    """A slip velocity with dry friction.

    Args:
        name: full name of what rubs; ``name.slip`` is the slip velocity, ``name.f_t`` the force of friction.
        unit: SI unit of the slip, ``m`` or ``rad``.
        input: number of the input of the plain equations through which its force acts.
        gap: number of the gap whose force is the normal force; None: `Switches.normals` gives it.
        sliding: whether the slip velocity is that of `Switches.slides`, so that what sticks keeps a place; else it
            keeps a velocity, and sticking is a nonholonomic constraint.
        signed: whether the normal force is positive on one side and negative on the other, as that of a guide.
        pair: whether this slip velocity and the next one are the two directions of one friction in space.
        breaks: whether it sticks from the start, and never again once it has slipped.
        rebounds: whether `Switches.tangential` gives it a tangential restitution; else it has none.
        reacts: whether its normal force is a reaction, of which `Switches.reaction` gives the impulse in an impact.
        sided: whether its size depends on the side that drives: the normal force along the slip counts then, less what
            `Switches.driving` gives.
        one_way: whether the slip velocity stays at or above 0, whatever force that takes.
    """

    name: str
    unit: str
    input: int
    gap: int | None
    sliding: bool
    signed: bool = False
    pair: bool = False
    breaks: bool = False
    rebounds: bool = False
    reacts: bool = False
    sided: bool = False
    one_way: bool = False

    @property
    def ways(self) -> tuple[int, ...]:
        """Directions of its force for which its limits differ; one stands for both."""
        return (1, -1) if self.sided else (1,)


@dataclass(frozen=True)
class Switches:
    """The gaps and frictions of a mechanism; r_N gaps and r_T slip velocities. All Functions return columns.

    Args:
        gaps: the gaps.
        frictions: the slip velocities.
        gap: (q, p, t) -> g, shape (r_N,).
        slip: (q, v, p, t) -> gamma, shape (r_T,), affine in v.
        slide: (q, p, t) -> places whose rates are the slip velocities, shape (r_T,); 0 for those without.
        normal: (q, v, z, a, lambda_, u, p, t) -> normal forces, shape (r_T,), N; 0 for those of gaps.
        restitution: (p) -> e of each gap, shape (r_N,).
        rest: (p) -> speed of approach, m/s or rad/s, below which a gap closes for good, shape (r_N,).
        sliding: (speed, normal, p, t) -> size of the force while it slides, shape (r_T,), N or N.m; alike for a pair.
        static: (normal, p, t) -> largest force while it sticks, shape (r_T,), N or N.m.
        names: pairs of another name that the model gives an output of these and its full name.
        pull: (u, p, t) -> largest pull of each gap, shape (r_N,), N or N.m; None: no gap holds.
        reaction: (q, v, z, change of v, impulses of lambda_, of u, p, t) -> normal impulses, shape (r_T,), N.s; 0 for
            those that are no reactions; None: there is none.
        tangential: (p) -> tangential restitution of each slip velocity, shape (r_T,); None: there is none.
        driving: (speed, p, t) -> the least normal force that drives each slip, shape (r_T,); 0 for those that are not
            sided; None: there is none.
        forces: place among the first-order states of the mean forces of the last step, gaps first, which a stepper
            decides (see `stepped`); None: there are none.
    """

    gaps: tuple[GapSignal, ...]
    frictions: tuple[FrictionSignal, ...]
    gap: Function
    slip: Function
    slide: Function
    normal: Function
    restitution: Function
    rest: Function
    sliding: Function
    static: Function
    names: tuple[tuple[str, str], ...] = ()
    pull: Function | None = None
    reaction: Function | None = None
    tangential: Function | None = None
    driving: Function | None = None
    forces: int | None = None

    @cached_property
    def rows(self) -> Function:
        """Function (q, v, p, t) -> what `Rows` tells of gaps and slip velocities, in the order of that class."""
        q, v, p, t = (ca.SX.sym(name, self.slip.numel_in(index)) for index, name in enumerate("qvpt"))

        def dot(expression: ca.SX) -> ca.SX:
            return ca.jtimes(expression, q, v) + ca.jacobian(expression, t)

        gap, slip, slide = self.gap(q, p, t), self.slip(q, v, p, t), self.slide(q, p, t)
        still = ca.substitute(slip, v, ca.SX.zeros(v.numel()))
        values = [gap, dot(gap), slip, slide, ca.jacobian(gap, q), ca.jacobian(slip, v), ca.jacobian(gap, t), still]
        return ca.Function("rows", [q, v, p, t], [*values, dot(dot(gap)), dot(slip), ca.jacobian(slide, t)])

    @property
    def acting(self) -> tuple[int, ...]:
        """Return the numbers of the inputs through which the forces act, gaps first."""
        return (*(item.input for item in self.gaps), *(item.input for item in self.frictions))

    def outer(self, count: int) -> list[int]:
        """Return the numbers of the inputs that are no forces of these; count: of the plain equations' inputs."""
        return [k for k in range(count) if k not in self.acting]

    def inputs(self, count: int, u: Any, forces: Any) -> Any:
        """Return all inputs of the plain equations, SX, shape (count,).

        Args:
            count: their number.
            u: those that are no forces of these, SX, in their order.
            forces: of gaps and frictions, SX, shape (r_N + r_T,).
        """
        result = ca.SX.zeros(count)
        for index, k in enumerate(self.outer(count)):
            result[k] = u[index]
        for index, k in enumerate(self.acting):
            result[k] = forces[index]
        return result

    @property
    def touching(self) -> tuple[str, ...]:
        """Return the names of all that has a gap or friction, each once."""
        every = [*(item.name for item in self.gaps), *(item.name for item in self.frictions)]
        return tuple(dict.fromkeys(every))

    @property
    def by_events(self) -> tuple[str, ...]:
        """Return the names of all that takes events: a pull, a strength, sides, a single way, other laws of impact."""
        gaps = [item.name for item in self.gaps if item.holds or item.poisson or item.sequential]
        frictions = [item.name for item in self.frictions if item.breaks or item.rebounds or item.sided or item.one_way]
        return tuple(dict.fromkeys([*gaps, *frictions]))

    @property
    def in_space(self) -> tuple[str, ...]:
        """Return the names of the frictions in space, whose slip is a pair of rates."""
        return tuple(item.name for item in self.frictions if item.pair)

    def pressed(self, normal: Any, way: Any, speed: Any, p: Any, t: Any) -> Any:
        """Return the normal forces that the sizes of frictions take, SX, shape (r_T,).

        They are the given ones; of a friction with sides, what is along its slip beyond the part that drives it.

        Args:
            normal: the normal forces, SX, shape (r_T,).
            way: direction of each slip, 1 or -1, SX, shape (r_T,).
            speed: size of each slip velocity, SX, shape (r_T,).
            p: parameters without modes, SX.
            t: time, SX, s.
        """
        if self.driving is None:
            return normal
        least = self.driving(speed, p, t)
        every = enumerate(self.frictions)
        return ca.vertcat(*(way[j] * normal[j] - least[j] if item.sided else normal[j] for j, item in every))

    def rubs(self, p: Any, t: Any) -> Any:
        """Return which frictions exert a force under a normal force, SX, shape (r_T,): a coefficient of 0 has none.

        Args:
            p: parameters without modes, SX.
            t: time, SX, s.
        """
        ones = ca.SX.ones(len(self.frictions))
        able = ca.logic_or(self.static(ones, p, t) > 0, self.sliding(ones, ones, p, t) > 0)
        return ca.vertcat(
            ca.SX(0, 1),
            *(1 if item.one_way or item.sided else able[j] for j, item in enumerate(self.frictions)),
        )

    @property
    def undetermined(self) -> bool:
        """Return whether forces of friction need not be unique: in space, at several contacts."""
        return len(self.in_space) > 1

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Return the numbers of the slip velocities of each friction: one, or a pair."""
        result: list[tuple[int, ...]] = []
        index = 0
        while index < len(self.frictions):
            size = 2 if self.frictions[index].pair else 1
            result.append(tuple(range(index, index + size)))
            index += size
        return tuple(result)

"""Dae: the equations of a mechanism, of a block or of both as named functions, whatever the coordinates.

    M(q) a + Phi_q^T lambda + G^T mu = force(q, v, z, u, p, t)
    z' = flow(q, v, z, u, p, t)        first-order states
    Phi(q, p, t) = 0                   holonomic, m rows
    G(q, p, t) v + g(q, p, t) = 0      nonholonomic, k rows

A mechanism has coordinates q with the rates v = q' and the accelerations a, and no z; a block has z alone, with
n = m = k = 0.

`M` is regular. With quaternions, the kinetic energy gives the direction of Q no mass; M then contains the additional
term ``mu0 Q Q^T``, from the energy ``mu0 (Q . Qdot)^2 / 2`` that is zero on the constraint |Q| = 1. `force` contains
the forces of this energy: the motion is the same, only the multiplier of the norm constraint differs. `momentum` and
`momentum_rate` come from the kinetic energy itself, without that term:

    d/dt momentum(q, v) = momentum_rate(q, v, z, u, p, t) - Phi_q^T lambda - G^T mu
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.dae.events.gaps import Switches
from mbfmu.dae.kkt import OverMass, SchurFactor
from mbfmu.dae.merged import LONG, merged
from mbfmu.dae.picture import Skeleton
from mbfmu.dae.signals import Clock, Layout, MemorySignal, ParameterSignal, Signal, StateSignal

Function = Any
"""A CasADi Function (CasADi carries no types)."""
SX = Any
"""A CasADi expression."""


@dataclass(frozen=True)
class Sampling:
    """Memory of sampled blocks, and how it changes.

    Args:
        memory: the entries of d, which stand at the end of p.
        clocks: the clocks.
        timing: Function (p) -> period and offset of each clock, shape (2 n_c,), s.
        first: Function (p) -> d at the start, shape (n_d,).
        update: Function (q, v, z, u, p, t, due) -> d after a sampling, shape (n_d,); due: 1 for each clock whose block
            computes at this instant, else 0, shape (n_c,).
    """

    memory: tuple[MemorySignal, ...]
    clocks: tuple[Clock, ...]
    timing: Function
    first: Function
    update: Function


def size_of(wanted: SX) -> SX:
    """Return the size that the distance of a coordinate or rate from its start value is relative to: at least 1."""
    return ca.fmax(1, ca.fabs(wanted))


@dataclass(frozen=True)
class Pressing:
    """Forces that depend on the multipliers of constraints, and act through inputs until they are solved for.

    Args:
        inputs: numbers of these inputs.
        law: Function (q, v, z, u, p, t, lambda_) -> these inputs, shape (number of inputs,); whatever u says of them.
    """

    inputs: tuple[int, ...]
    law: Function


@dataclass(frozen=True)
class Loop:
    """A closed loop of the mechanism.

    Args:
        joints: full names of the joints around the loop.
        rows: numbers of the rows of `closing` that belong to them.
    """

    joints: tuple[str, ...]
    rows: tuple[int, ...]


@dataclass(frozen=True)
class Assembly:
    """Equations and values for the consistent start.

    Args:
        starts: the start values s, those that are met and guesses.
        closing: Function (q, p, t) -> all holonomic rows, the redundant ones too.
        positions: Function (q, s, p, t) -> residual of the start values of coordinates; zero for one that p makes a
            guess, as `leanings` is for one that p makes a start value.
        rates: Function (q, v, s, p, t) -> residual of the start values of rates, linear in v.
        sizes: Function (s, p, t) -> size of each start value in `positions`, then of those in `rates`, see `size_of`.
        leanings: Function (q, s, p, t) -> distances of coordinates from their guesses.
        guess: Function (s, p, t) -> q, exact for a tree of joints with start values.
        mass_metric: whether changes of the coordinates are measured by the mass matrix; False: all alike.
        counted: Function (q, s, p, t) -> the counted angles, with the full turns that the start values ask for.
        position_names: name of each row of `positions`.
        rate_names: name of each row of `rates`.
        loops: the closed loops.
        constraint_names: joint or body of each row of `closing`.
        norms: number of rows at the end of `closing` that are norms of quaternions.
        rate_guess: Function (s, p, t) -> v of a tree of joints all of whose rates have start values, where v are rates
            of bodies; None: there is none.
        exact: whether the guess meets all equations of coordinates by the way it is made.
        tree: the same start in the coordinates x of joints, in which closed poses are sought; None: in q itself.
        placed: Function (x, s, p, t) -> q, with x those of `tree`; None without it.
    """

    starts: tuple[ParameterSignal, ...]
    closing: Function
    positions: Function
    rates: Function
    sizes: Function
    leanings: Function
    guess: Function
    mass_metric: bool
    counted: Function
    position_names: tuple[str, ...]
    rate_names: tuple[str, ...]
    loops: tuple[Loop, ...]
    constraint_names: tuple[str, ...]
    norms: int
    rate_guess: Function | None = None
    exact: bool = False
    tree: "Assembly | None" = None
    placed: Function | None = None

    @property
    def sought(self) -> "Assembly":
        """The start in the coordinates in which closed poses are sought."""
        return self.tree or self

    def pose(self, x: Any, s: Any, p: Any, t: Any) -> Any:
        """Return q, for the coordinates x in which closed poses are sought."""
        return self.placed(x, s, p, t) if self.placed else x

    @property
    def met_names(self) -> tuple[str, ...]:
        """Names of the rows of `positions` that are met with the default parameters."""
        guesses = {item.name for item in self.starts if item.guess}
        return tuple(name for name in self.position_names if name not in guesses)


@dataclass(frozen=True)
class Role:
    """The role of a joint in the equations.

    Args:
        joint: its full name.
        carries: whether its motions are coordinates; else all its equations are constraints.
        rows: number of its equations among the constraints, redundant ones included.
        reason: why, in a few words.
    """

    joint: str
    carries: bool
    rows: int
    reason: str


@dataclass(frozen=True)
class Dae(Layout):
    """The equations of a model (see the module's text); all Functions take and return dense columns.

    Those that few steppers need may be made when they are first asked for (see `Later`).

    Args:
        name: name of the model.
        description: one line.
        coordinates: names of q; the rates v = qdot have the same order.
        inputs: the inputs u.
        parameters: the free parameters p.
        bound: the parameters that depend on others, in the order of `bound_values`.
        outputs: the entries of `output`; the first-order states are among them.
        states: the first-order states z.
        m: number of holonomic rows.
        k: number of nonholonomic rows.
        inertia: gives `M`, which in joint coordinates has n^2 entries and is built when it is first asked for.
        mass_solve: (q, p, f) -> M^-1 f, shape (n,).
        free_acceleration: (q, v, z, u, p, t) -> M^-1 force, shape (n,): the value of a without constraints.
        force: (q, v, z, u, p, t) -> shape (n,).
        flow: (q, v, z, u, p, t) -> z', shape (n_z,).
        Phi: (q, p, t) -> shape (m,).
        Phi_q: (q, p, t) -> shape (m, n).
        Phi_t: (q, p, t) -> shape (m,).
        gamma: (q, v, p, t) -> shape (m,), with Phi_q a = gamma.
        G: (q, p, t) -> shape (k, n).
        g: (q, p, t) -> shape (k,).
        gamma_G: (q, v, p, t) -> shape (k,), with G a = gamma_G.
        momentum: (q, v, p) -> shape (n,).
        momentum_rate: (q, v, z, u, p, t) -> shape (n,).
        impulse_rate: (q, v, z, u, p, t) -> force + (M v)_q v, shape (n,): the force on M v without multipliers.
        kinetic: (q, v, p) -> J.
        potential: (q, p, t) -> J.
        angles: (q, p, t) -> rad, shape (n_angles,): angles known only up to full turns, to be counted by continuity.
        output: (q, v, z, turned, a, lambda_, u, p, t) -> shape (n_y,); turned: the counted angles, lambda_: (m + k,).
        bound_values: (p) -> values of `bound`.
        n_angles: number of counted angles.
        assembly: the consistent start of q and v.
        skeleton: points and lines of a picture; None for a system given by its Lagrangian, and for a block.
        sampled: numbers of the sampled inputs; if any, p ends in the time they last changed, and their values then.
        formulas: names of the inputs that are formulas of the time in these equations, whatever u says of them.
        dropped: numbers of the holonomic rows of `assembly.closing` that were left out as redundant.
        follow: Function (q, p, t) -> the reflections, shape (n_w,), by which rows that were left out follow a motion:
            an entry of p, before the memory of sampled blocks (see `redundancy`); None: the same rows suffice anywhere.
        row_lengths: largest lengths of the rows of [Phi_q; G] near the start, shape (m + k,); empty without loops.
        power: (q, v, z, u, p, t) -> W: what inputs and losses add to the energy, and what a potential that depends on
            the time adds; without the constraints' part. None: the equations have no energy.
        first_states: (q, v, s, p, t) -> z at the start, from the start values s of the states that have one; None: all
            have one.
        resisting: whether forces act that may be stiff: springs, dampers, friction, stops and the like.
        sampling: what sampled blocks remember, which stands at the end of p, before modes; None: there are none.
        other_names: pairs of the name that the model gives a variable and its full dotted name.
        switches: gaps and frictions; None: there are none.
        switching: the modes of these, which stand at the end of p; None: nothing is switched (see `switched`).
        pressing: forces that depend on multipliers; None: there are none, or they are solved for (see `pressed`).
        pressed: names of the inputs through which such forces act, if they are solved for.
        ends: what may end a motion, in clauses with names of joints.
        flexible: full name of each flexible body and line, and the numbers in q of the coordinates of its shape.
        roles: which joints carry coordinates, and which are constraints.
        impulses: gives `impulse` in fewer operations than by M; None: nothing does.
    """

    name: str
    description: str
    coordinates: tuple[str, ...]
    inputs: tuple[Signal, ...]
    parameters: tuple[ParameterSignal, ...]
    bound: tuple[Signal, ...]
    outputs: tuple[Signal, ...]
    states: tuple[StateSignal, ...]
    m: int
    k: int
    inertia: Callable[[], Function]
    mass_solve: Function
    free_acceleration: Function
    force: Function
    flow: Function
    Phi: Function
    Phi_q: Function
    Phi_t: Function
    gamma: Function
    G: Function
    g: Function
    gamma_G: Function
    momentum: Function
    momentum_rate: Function
    impulse_rate: Function
    kinetic: Function
    potential: Function
    angles: Function
    output: Function
    bound_values: Function
    n_angles: int
    assembly: Assembly
    skeleton: Skeleton | None = None
    sampled: tuple[int, ...] = ()
    formulas: tuple[str, ...] = ()
    dropped: tuple[int, ...] = ()
    follow: Function | None = None
    row_lengths: tuple[float, ...] = ()
    power: Function | None = None
    first_states: Function | None = None
    resisting: bool = True
    sampling: Sampling | None = None
    other_names: tuple[tuple[str, str], ...] = ()
    switches: Switches | None = None
    switching: "Switching | None" = None
    flexible: tuple[tuple[str, tuple[int, ...]], ...] = ()
    pressing: Pressing | None = None
    pressed: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    roles: tuple[Role, ...] = ()
    impulses: Callable[[], Function] | None = None

    @cached_property
    def M(self) -> Function:
        """Function (q, p) -> mass matrix, shape (n, n), positive definite."""
        return self.inertia()

    @cached_property
    def impulse(self) -> Function:
        """Function (q, v, p) -> M v, shape (n,)."""
        if self.impulses:
            return self.impulses()
        q, v, _, _, p, _ = self.symbols()
        return merged("impulse", [q, v, p], [ca.densify(self.M(q, p) @ v)])

    @cached_property
    def constant_mass(self) -> bool:
        """Whether M does not depend on q."""
        q, _, _, _, p, _ = self.symbols()
        return not ca.depends_on(self.M(q, p), q)

    @property
    def unswitched(self) -> "Dae":
        """The equations without switched rows and their slack coordinates: those of the freedoms with all gaps open."""
        return self.switching.plain if self.switching else self

    @property
    def full_names(self) -> dict[str, str]:
        """Full dotted names of the variables that the model calls otherwise, by those names."""
        return dict(self.other_names)

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return len(self.coordinates)

    @property
    def n_z(self) -> int:
        """Number of first-order states."""
        return len(self.states)

    @property
    def starts(self) -> tuple[ParameterSignal, ...]:
        """The start values s: those of the assembly, then those of the first-order states."""
        return (
            *self.assembly.starts,
            *(
                ParameterSignal(item.name, item.unit, item.description, item.start, -math.inf, math.inf, False)
                for item in self.states
                if item.start is not None
            ),
        )

    @property
    def nominal_states(self) -> npt.NDArray[np.float64]:
        """The nominal sizes of z, shape (n_z,)."""
        return np.array([item.nominal for item in self.states])

    @property
    def row_names(self) -> tuple[str, ...]:
        """Joint or body of each holonomic row."""
        names = enumerate(self.assembly.constraint_names)
        return tuple(name for row, name in names if row not in self.dropped)

    @property
    def redundant(self) -> tuple[str, ...]:
        """Joint or body of each holonomic row that was left out as redundant."""
        return tuple(self.assembly.constraint_names[row] for row in self.dropped)

    @cached_property
    def acceleration(self) -> Function:
        """Function (q, v, z, u, p, t) -> (a, [lambda; mu]) of the index-1 form, shapes (n,) and (m + k,).

        With C = [Phi_q; G]: ``[M C^T; C 0] [a; lambda] = [force; gamma]``.
        """
        q, v, _, _, p, t = given = self.symbols()
        free = self.free_acceleration(*given)
        gamma = ca.vertcat(self.gamma(q, v, p, t), self.gamma_G(q, v, p, t))
        if not self.m + self.k:
            return ca.Function("acceleration", list(given), [ca.densify(free), gamma])
        a, lambda_ = self.factor(q, p, t).constrained(free, gamma)
        return merged("acceleration", list(given), [ca.densify(a), ca.densify(lambda_)])

    def factor(self, q: SX, p: SX, t: SX) -> SchurFactor:
        """Return the factor of ``[M C^T; C 0]`` with C = [Phi_q; G].

        Args:
            q: SX, shape (n,).
            p: SX, shape (n_p,).
            t: SX, s.
        """
        return SchurFactor(self.over_mass(q, p), self.C(q, p, t))

    def C(self, q: SX, p: SX, t: SX) -> SX:
        """Return the matrix of all constraints on velocities, C v + c = 0: [Phi_q; G], shape (m + k, n)."""
        return ca.vertcat(self.Phi_q(q, p, t), self.G(q, p, t))

    def c(self, q: SX, p: SX, t: SX) -> SX:
        """Return the part of the constraints on velocities without these: [Phi_t; g], shape (m + k,)."""
        return ca.vertcat(self.Phi_t(q, p, t), self.g(q, p, t))

    def symbols(self) -> tuple[SX, SX, SX, SX, SX, SX]:
        """Return fresh SX symbols for (q, v, z, u, p, t)."""
        sizes = {"q": self.n, "v": self.n, "z": self.n_z, "u": len(self.inputs), "p": self.n_p, "t": 1}
        q, v, z, u, p, t = (ca.SX.sym(name, size) for name, size in sizes.items())
        return q, v, z, u, p, t

    def over_mass(self, q: SX, p: SX) -> OverMass:
        """Return the map f -> M(q, p)^-1 f, for f of shape (n, j).

        Args:
            q: SX, shape (n,).
            p: SX, shape (n_p,).
        """
        if self.mass_solve.n_instructions() < LONG:
            solve = lambda f: self.mass_solve(q, p, f)  # noqa: E731
        else:
            prepared, applied = self._mass_parts
            known = prepared(q, p)
            solve = lambda f: applied(known, q, p, f)  # noqa: E731
        return OverMass(solve, self.row_lengths, self._mass_blocks)

    @cached_property
    def _mass_parts(self) -> tuple[Function, Function]:
        """Functions (q, p) -> what M^-1 f takes of M for any f, and (that, q, p, f) -> M^-1 f."""
        q, _, _, _, p, _ = self.symbols()
        f = ca.SX.sym("f", self.n)
        solution, names, values = ca.extract_parametric(self.mass_solve(q, p, f), ca.vertcat(q, p), {})
        applied = ca.Function("applied", [ca.vertcat(ca.SX(0, 1), *names), q, p, f], [solution])
        return ca.Function("prepared", [q, p], [ca.vertcat(ca.SX(0, 1), *values)]), applied

    @cached_property
    def _mass_blocks(self) -> list[int]:
        """Index of the diagonal block of M that each of its rows is in, shape (n,)."""
        pattern = self.mass_solve.jac_sparsity(0, 2)
        blocks, rows, first = pattern.scc()
        found = [0] * self.n
        for block in range(blocks):
            for row in rows[first[block] : first[block + 1]]:
                found[row] = block
        return found

    @property
    def n_p(self) -> int:
        """Number of entries of p: parameters, sampled inputs with their time, reflections, memory and modes."""
        return len(self.parameters) + self.n_held + self.n_memory

    @property
    def n_w(self) -> int:
        """Number of entries of p by which redundant rows follow the motion."""
        return int(self.follow.numel_out(0)) if self.follow else 0

    @property
    def n_held(self) -> int:
        """Number of entries of p that hold the sampled inputs and their time."""
        return 1 + len(self.sampled) if self.sampled else 0

    @property
    def n_d(self) -> int:
        """Number of entries of the memory of sampled blocks."""
        return len(self.sampling.memory) if self.sampling else 0

    @cached_property
    def sampled_outputs(self) -> frozenset[int]:
        """Numbers of the outputs that change at samplings alone: what sampled blocks remember, and functions of it."""
        if not self.n_d:
            return frozenset()
        *moving, p, t = (self.output.jac_sparsity(0, place) for place in range(self.output.n_in()))
        remembered = range(self.n_p - self.n_d - self.n_modes, self.n_p - self.n_modes)
        found, others = set(), {row for slopes in (*moving, t) for row in slopes.row()}
        for row, column in zip(*p.get_triplet(), strict=True):
            if column in remembered:
                found.add(row)
            elif column >= len(self.parameters):
                others.add(row)
        return frozenset(found - others)

    @property
    def n_modes(self) -> int:
        """Number of entries of p for modes."""
        return len(self.switching.memory) if self.switching else 0

    @property
    def n_memory(self) -> int:
        """Number of entries of the reflections, the memory and the modes, which end p."""
        return self.n_w + self.n_d + self.n_modes

    @property
    def n_c(self) -> int:
        """Number of clocks of sampled blocks."""
        return len(self.sampling.clocks) if self.sampling else 0

    def extended(self, p: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return p with zeros for sampled inputs, reflections and modes, and the memory at the start, shape (n_p,).

        Args:
            p: the parameters, shape (number of parameters,).
        """
        p = np.asarray(p, dtype=float)
        whole = np.concatenate([p, np.zeros(self.n_held + self.n_memory)])
        if self.sampling:
            place = len(p) + self.n_held + self.n_w
            whole[place : place + self.n_d] = np.array(self.sampling.first(whole)).ravel()
        return whole

    def followed(self, q: Any, p: Any, t: Any) -> Any:
        """Return p with the reflections that suit a pose: those of a start, and of the end of a step.

        Args:
            q: coordinates, shape (n,).
            p: shape (n_p,).
            t: time, s.
        """
        if not self.follow:
            return p
        first = len(self.parameters) + self.n_held
        before, _, after = ca.vertsplit(p, [0, first, first + self.n_w, self.n_p])
        return ca.vertcat(before, self.follow(q, p, t), after)


@dataclass(frozen=True)
class Switching:
    """The modes of switched equations, which stand at the end of p.

    Args:
        plain: the equations before.
        memory: the entries of p for the modes.
        guards: (q, v, z, u, p, t) -> numbers that are positive as long as the modes hold, shape (r_N + r_T + signed,).
        guard_names: what each of them belongs to, in words.
        turned: (q, v, q1, v1, p, t) -> largest change of a slip in space from one state to another, relative to the
            slip there; 0 without any.
        carried: (q, v, v1, z, p, t) -> z after an impact that changes v to v1, shape (n_z,).
    """

    plain: Dae
    memory: tuple[MemorySignal, ...]
    guards: Any
    guard_names: tuple[str, ...]
    turned: Any
    carried: Any

    @property
    def switches(self) -> Switches:
        """The gaps and frictions."""
        assert self.plain.switches is not None
        return self.plain.switches

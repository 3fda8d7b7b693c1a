"""Dae: the equations of a mechanism, of a block or of both as named functions, whatever the coordinates.

    M(q) a + Phi_q^T lambda + G^T mu = force(q, v, z, u, p, t)
    z' = flow(q, v, z, u, p, t)        first-order states
    Phi(q, p, t) = 0                   holonomic, m rows
    G(q, p, t) v + g(q, p, t) = 0      nonholonomic, k rows

A mechanism has coordinates q with the rates v = q' and the accelerations a, and no z; a block has z alone, with
n = m = k = 0.

`M` is regular. With quaternions, the kinetic energy gives the direction of Q no mass; M then contains the additional
term ``mu0 Q Q^T``, from the energy ``mu0 (Q . Qdot)^2 / 2`` that is zero on the constraint |Q| = 1. `force` contains
the forces of this energy: the motion is the same, only the multiplier of the norm constraint differs. Where parts lack
mass, M may contain rows of the constraints (see `augmented`). `momentum` and `momentum_rate` come from the kinetic
energy itself, without these terms:

    d/dt momentum(q, v) = momentum_rate(q, v, z, u, p, t) - Phi_q^T lambda - G^T mu
"""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.dae.linear_algebra.kkt import OverMass, SchurFactor
from mbfmu.dae.linear_algebra.merged import LONG, merged
from mbfmu.dae.parts.about import About
from mbfmu.dae.parts.constraints import Constraints
from mbfmu.dae.parts.energies import Energies
from mbfmu.dae.parts.equations import Equations
from mbfmu.dae.parts.gaps import Switches
from mbfmu.dae.parts.pressing import Pressing
from mbfmu.dae.parts.sampling import Sampling
from mbfmu.dae.parts.start import Start
from mbfmu.dae.picture import Skeleton
from mbfmu.dae.signals import Layout, MemorySignal, ParameterSignal, Signal, StateSignal

Function = ca.Function
"""A CasADi Function (CasADi carries no types)."""
SX = ca.SX
"""A CasADi expression."""


@dataclass(frozen=True)
class Dae(Layout):
    """The equations of a model (see the module's text).

    Args:
        name: name of the model.
        description: one line.
        coordinates: names of q; the rates v = qdot have the same order.
        inputs: the inputs u.
        parameters: the free parameters p.
        bound: the parameters that depend on others, in the order of `bound_values`.
        outputs: the entries of `output`; the first-order states are among them.
        states: the first-order states z.
        equations: M, force, flow and what follows from them.
        constraints: Phi, G and their derivatives.
        energies: kinetic and potential energy, and the power that changes them.
        start: the consistent start of q, v and z.
        output: (q, v, z, turned, a, lambda_, u, p, t) -> shape (n_y,); turned: the counted angles, lambda_: (m + k,).
        angles: (q, p, t) -> rad, shape (n_angles,): angles known only up to full turns, to be counted by continuity.
        bound_values: (p) -> values of `bound`.
        sampled: indices of the sampled inputs; if any, p ends in the time they last changed, and their values then.
        formulas: names of the inputs that are formulas of the time in these equations, whatever u says of them.
        sampling: what sampled blocks remember, which stands at the end of p, before modes; None: there are none.
        switches: gaps and frictions; None: there are none.
        switching: the modes of these, which stand at the end of p; None: nothing is switched (see `switched`).
        pressing: forces that depend on multipliers; None: there are none, or they are solved for (see `pressed`).
        skeleton: points and lines of a picture; None for a system given by its Lagrangian, and for a block.
        about: names by which reports and messages speak of the equations.
    """

    name: str
    description: str
    coordinates: tuple[str, ...]
    inputs: tuple[Signal, ...]
    parameters: tuple[ParameterSignal, ...]
    bound: tuple[Signal, ...]
    outputs: tuple[Signal, ...]
    states: tuple[StateSignal, ...]
    equations: Equations
    constraints: Constraints
    energies: Energies
    start: Start
    output: Function
    angles: Function
    bound_values: Function
    sampled: tuple[int, ...] = ()
    formulas: tuple[str, ...] = ()
    sampling: Sampling | None = None
    switches: Switches | None = None
    switching: "Switching | None" = None
    pressing: Pressing | None = None
    skeleton: Skeleton | None = None
    about: About = field(default_factory=About)

    @property
    def unswitched(self) -> "Dae":
        """The equations without switched rows and their slack coordinates: those of the freedoms with all gaps open."""
        return self.switching.plain if self.switching else self

    @property
    def full_names(self) -> dict[str, str]:
        """Full dotted names of the variables that the model calls otherwise, by those names."""
        return dict(self.about.other_names)

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return len(self.coordinates)

    @property
    def m(self) -> int:
        """Number of holonomic rows."""
        return self.constraints.m

    @property
    def k(self) -> int:
        """Number of nonholonomic rows."""
        return self.constraints.k

    @property
    def n_angles(self) -> int:
        """Number of counted angles."""
        return self.angles.numel_out(0)

    @property
    def n_z(self) -> int:
        """Number of first-order states."""
        return len(self.states)

    @property
    def starts(self) -> tuple[ParameterSignal, ...]:
        """The start values s: those of the assembly, then those of the first-order states."""
        return (
            *self.start.starts,
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
        names = enumerate(self.start.constraint_names)
        return tuple(name for row, name in names if row not in self.constraints.dropped)

    @property
    def redundant(self) -> tuple[str, ...]:
        """Joint or body of each holonomic row that was left out as redundant."""
        return tuple(self.start.constraint_names[row] for row in self.constraints.dropped)

    @cached_property
    def acceleration(self) -> Function:
        """Function (q, v, z, u, p, t) -> (a, [lambda; mu]) of the index-1 form, shapes (n,) and (m + k,).

        With C = [Phi_q; G]: ``[M C^T; C 0] [a; lambda] = [force; gamma]``.
        """
        q, v, _, _, p, t = symbols = self.symbols()
        free = self.equations.free_acceleration(*symbols)
        gamma = self.constraints.gammas(q, v, p, t)
        if not self.m + self.k:
            return ca.Function("acceleration", list(symbols), [ca.densify(free), gamma])
        a, lambda_ = self.factor(q, p, t).constrained(free, gamma)
        return merged("acceleration", list(symbols), [ca.densify(a), ca.densify(lambda_)])

    def factor(self, q: SX, p: SX, t: SX) -> SchurFactor:
        """Return the factor of ``[M C^T; C 0]`` with C = [Phi_q; G].

        Args:
            q: SX, shape (n,).
            p: SX, shape (n_p,).
            t: SX, s.
        """
        return SchurFactor(self.over_mass(q, p), self.constraints.C(q, p, t))

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
        if self.equations.mass_solve.n_instructions() < LONG:
            solve = lambda f: self.equations.mass_solve(q, p, f)  # noqa: E731
        else:
            prepared, applied = self._mass_parts
            known = prepared(q, p)
            solve = lambda f: applied(known, q, p, f)  # noqa: E731
        return OverMass(solve, self.constraints.row_lengths, self._mass_blocks)

    @cached_property
    def _mass_parts(self) -> tuple[Function, Function]:
        """Functions (q, p) -> what M^-1 f takes of M for any f, and (that, q, p, f) -> M^-1 f."""
        q, _, _, _, p, _ = self.symbols()
        f = ca.SX.sym("f", self.n)
        solution, names, values = ca.extract_parametric(self.equations.mass_solve(q, p, f), ca.vertcat(q, p), {})
        applied = ca.Function("applied", [ca.vertcat(ca.SX(0, 1), *names), q, p, f], [solution])
        return ca.Function("prepared", [q, p], [ca.vertcat(ca.SX(0, 1), *values)]), applied

    @cached_property
    def _mass_blocks(self) -> list[int]:
        """Index of the diagonal block of M that each of its rows is in, shape (n,)."""
        pattern = self.equations.mass_solve.jac_sparsity(0, 2)
        blocks, rows, first = pattern.scc()
        block_of = [0] * self.n
        for block in range(blocks):
            for row in rows[first[block] : first[block + 1]]:
                block_of[row] = block
        return block_of

    @property
    def n_p(self) -> int:
        """Number of entries of p: parameters, sampled inputs with their time, reflections, memory and modes."""
        return len(self.parameters) + self.n_held + self.n_memory

    @property
    def n_w(self) -> int:
        """Number of entries of p by which redundant rows follow the motion."""
        return int(self.constraints.follow.numel_out(0)) if self.constraints.follow else 0

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
        *moving, p, t = (self.output.jac_sparsity(0, index) for index in range(self.output.n_in()))
        remembered = range(self.n_p - self.n_d - self.n_modes, self.n_p - self.n_modes)
        rows, others = set(), {row for slopes in (*moving, t) for row in slopes.row()}
        for row, column in zip(*p.get_triplet(), strict=True):
            if column in remembered:
                rows.add(row)
            elif column >= len(self.parameters):
                others.add(row)
        return frozenset(rows - others)

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
            offset = len(p) + self.n_held + self.n_w
            whole[offset : offset + self.n_d] = np.array(self.sampling.first(whole)).ravel()
        return whole

    def followed(self, q: Any, p: Any, t: Any) -> Any:
        """Return p with the reflections that suit a pose: those of a start, and of the end of a step.

        Args:
            q: coordinates, shape (n,).
            p: shape (n_p,).
            t: time, s.
        """
        if not self.constraints.follow:
            return p
        first = len(self.parameters) + self.n_held
        before, _, after = ca.vertsplit(p, [0, first, first + self.n_w, self.n_p])
        return ca.vertcat(before, self.constraints.follow(q, p, t), after)


@dataclass(frozen=True)
class Switching:
    """The modes of switched equations, which stand at the end of p.

    Args:
        plain: the equations before.
        memory: the entries of p for the modes.
        guards: (q, v, z, a, lambda_, u, p, t) -> numbers that are positive as long as the modes hold, shape
            (r_N + r_T + signed,).
        guard_names: what each of them belongs to, in words.
        turned: (q, v, q1, v1, p, t) -> how far a slip in space turns from one state to another, 1 where a step
            may not turn it further; 0 without any.
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

"""Equations of which some rows are switched: closed gaps and sticking slip velocities, chosen by modes in the memory.

Each row that can be switched has a slack coordinate s of unit mass without forces. With the mode d of the row, 1 if it
acts and 0 if not, the equations have the rows

    d g(q, t) + (1 - d) s = 0                      a gap
    d (place(q, t) - anchor) + (1 - d) s = 0       a slip velocity that is the rate of a place
    d gamma(q, v, t) + (1 - d) s' = 0              any other slip velocity

A row that acts leaves its slack coordinate at rest at 0; one that does not binds nothing but its slack coordinate, and
has a multiplier of 0. So the pattern of the equations is the same in all modes: every stepper takes them as they are.
Where rows depend on each other, as those of a block that rests on two corners and sticks at both, those that others
imply do not act: they hold anyway, and the rank is full.

A sliding friction is a force -sigma F(|gamma|, N) along its slip velocity, with the direction sigma = 1 or -1 among the
modes, so that it is smooth while it slides. In space it acts against the slip gamma, a pair of rates; the mode is then
the direction in which it began to slide, and when gamma turns away from it by 60 degrees, the friction is looked at
again. When gamma nearly comes to rest, where it may turn ever faster, the friction keeps the direction that it has
there, so that the end of the slip is a zero as in the plane: there it either rests or slides on. Where N depends on
multipliers, the friction and the multipliers of the index-1 form are solved for together.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import nan
from typing import Any

import casadi as ca
from casadi import Function

from mbfmu.dae.dae import Dae, Switching
from mbfmu.dae.events.reserves import Reserves
from mbfmu.dae.linear_algebra.kkt import SchurFactor
from mbfmu.dae.linear_algebra.merged import merged
from mbfmu.dae.naming import with_names
from mbfmu.dae.parts.constraints import Constraints
from mbfmu.dae.parts.energies import Energies
from mbfmu.dae.parts.equations import Equations
from mbfmu.dae.parts.gaps import Switches
from mbfmu.dae.parts.sampling import Sampling
from mbfmu.dae.parts.start import Start
from mbfmu.dae.parts.writer import Writer
from mbfmu.dae.picture import Skeleton
from mbfmu.dae.signals import MemorySignal, Signal
from mbfmu.errors import UsageError
from mbfmu.model.frame import SX, wrapped

BEGINNING = -1.0
"""Number of events before the modes of the start are found."""
NEWTON = 4
"""Number of corrections of a friction whose normal force is not linear in it; its linear parts need one."""
SOLVED = 1e-9
"""Residual of such a friction, relative to it and to 1 N or 1 N.m, above which it has no solution."""
TURNED = 0.5
"""Cosine of the angle between a slip in space and its direction at the last event, at which an event takes the new
direction."""
NEARLY_AT_REST = 1e-9
"""Speed, m/s or rad/s, of a slip in space that becomes slower, below which the friction keeps its direction."""
MOST_CHANGED, MOST_TURNED = 0.5, 0.02
"""Largest change of a slip in space in a step, relative to its size, along a line, and where it turns as much."""
KEPT = 2.0
"""Length of the direction of a slip in space, among the modes, that the friction keeps up to rest; else it is 1."""
SLOW = 1e-10
"""Largest slip velocity, m/s or rad/s, that may stick without having come to rest."""
LEFT = 1e-9
"""Distance, m or rad, from which a closed gap whose row does not act has been moved by a prescribed motion."""
AT_REST = 1e-150
"""Speed, m/s or rad/s, along the direction in which a slip in space began, below which the friction keeps that
direction."""
PULL = 1e-14
"""Largest pull on a closed gap, relative to all forces of gaps, that is round-off."""
COUNT, TIME = "events.count", "events.time"
"""Names of the outputs with the number of events so far and the time of the last one."""


class ModeParameters:
    """The modes as parts of the column of all parameters.

    Args:
        switches: gaps and frictions.
        p: SX, shape (n_p,), which ends in the modes.

    Attributes:
        closed: 1 for each gap that is closed, else 0.
        impacts: number of impacts of each gap.
        sticks: 1 for each slip velocity that sticks, else 0.
        direction: of each slip velocity that slides, 1 or -1, or an entry of a vector of the length 1 or `KEPT`; 0 for
            others.
        anchor: place at which each slip velocity began to stick.
        side: sign of each normal force, 1 or -1.
        bound_N: 1 for each closed gap whose row acts; 0 for a closed gap that the rows which act keep closed.
        bound_T: 1 for each sticking slip velocity whose row acts; 0 for one that the rows which act keep at rest.
        carrier: number of the slip velocity, from 1, that also has the force of one that other rows keep at rest;
            else 0.
        share: slip velocity that is carried, for each of the one that carries it.
        fallen: 1 for each guard that has fallen below zero at this event, else 0.
        count: number of events.
        time: time of the last event, s.
        given: p without the modes.
    """

    def __init__(self, switches: Switches, p: SX) -> None:
        sizes = mode_sizes(switches)
        start = p.numel() - sum(sizes)
        offsets = [0, start]
        for size in sizes:
            offsets.append(offsets[-1] + size)
        (
            self.given, self.closed, self.impacts, self.sticks, self.direction, self.anchor, self.side,
            self.bound_N, self.bound_T, self.carrier, self.share, self.fallen, self.count, self.time,
        ) = ca.vertsplit(p, offsets)  # fmt: skip


def mode_sizes(switches: Switches) -> tuple[int, ...]:
    """Return the sizes of the parts of `ModeParameters`, without the parameters before them."""
    r_N, r_T = len(switches.gaps), len(switches.frictions)
    return r_N, r_N, r_T, r_T, r_T, r_T, r_N, r_T, r_T, r_T, n_guards(switches), 1, 1


def n_guards(switches: Switches) -> int:
    """Return the number of guards: one for each gap, each slip velocity and each normal force with a sign."""
    return len(switches.gaps) + len(switches.frictions) + sum(item.signed for item in switches.frictions)


def _memory(switches: Switches) -> tuple[MemorySignal, ...]:
    rates = [
        f"{switches.frictions[j].name}.{{}}{label}"
        for group in switches.groups for j, label in zip(group, labels(group), strict=True)
    ]  # fmt: skip
    names = [f"{item.name}.{suffix}" for suffix in ("closed", "impacts") for item in switches.gaps]
    names += [name.format(suffix) for suffix in ("sticks", "direction", "anchor", "side") for name in rates]
    names += [f"{item.name}.bound_N" for item in switches.gaps]
    names += [name.format(suffix) for suffix in ("bound_T", "carrier", "share") for name in rates]
    names += [f"events.fallen[{index + 1}]" for index in range(n_guards(switches))]
    return tuple(MemorySignal(name, "") for name in (*names, COUNT, TIME))


class Rows:
    """The rows of gaps and slip velocities at a state, in coordinates without the slack ones.

    Args:
        dae: the equations before.
        q: coordinates, SX, shape (n,).
        v: rates, SX, shape (n,).
        p: parameters without modes, SX.
        t: time, SX, s.

    Attributes:
        gap, gap_rate, slip, slide: values, shapes (r_N,), (r_N,), (r_T,), (r_T,).
        W_N, W_T: matrices of the gaps' rates and the slip velocities, shapes (r_N, n) and (r_T, n).
        gap_t: partial derivative of the gaps in time; slip_0: slip velocities without velocities.
        bias_N, bias_T: second derivatives of the gaps, and derivatives of the slip velocities, without accelerations.
    """

    def __init__(self, dae: Dae, q: SX, v: SX, p: SX, t: SX) -> None:
        switches = dae.switches
        assert switches is not None
        (
            self.gap, self.gap_rate, self.slip, self.slide, self.W_N, self.W_T, self.gap_t, self.slip_0, self.bias_N,
            self.bias_T, self.slide_t,
        ) = switches.rows.call([q, v, p, t])  # fmt: skip


def switched(dae: Dae) -> Dae:
    """Return the equations with the rows of gaps and frictions switched by modes; equations without such as they are.

    Args:
        dae: the equations. The inputs through which gaps and frictions act are no longer inputs then.
    """
    if dae.switches is None:
        return dae
    return _Switched(dae, dae.switches).dae()


def refuse_switched(dae: Dae, feature: str) -> None:
    """Raise an error for equations with gaps or dry friction.

    Args:
        dae: the equations.
        feature: what takes none such, as the subject of a sentence.

    Raises:
        UsageError: they have some.
    """
    if dae.switches:
        names = ", ".join(f"'{name}'" for name in dae.switches.touching)
        raise UsageError(
            f"'{dae.name}' has gaps or dry friction ({names}): {feature} takes smooth equations; leave them out"
        )


class _Switched:
    """The pieces of switched equations, in symbols."""

    def __init__(self, plain: Dae, switches: Switches) -> None:
        self.plain, self.switches = plain, switches
        self.r_N, self.r_T = len(switches.gaps), len(switches.frictions)
        self.kept = [j for j, item in enumerate(switches.frictions) if item.sliding]
        self.rolling = [j for j, item in enumerate(switches.frictions) if not item.sliding]
        self.outer = switches.outer(len(plain.inputs))
        n, r = plain.n + self.r_N + self.r_T, self.r_N + self.r_T
        self.n, self.r = n, r
        self.m, self.k = plain.m + self.r_N + len(self.kept), plain.k + len(self.rolling)
        self.q, self.v, self.z = (ca.SX.sym(*item) for item in (("q", n), ("v", n), ("z", plain.n_z)))
        self.u, self.t = ca.SX.sym("u", len(self.outer)), ca.SX.sym("t")
        self.p = ca.SX.sym("p", plain.n_p + sum(mode_sizes(switches)))
        self.modes = ModeParameters(switches, self.p)
        self.q_0, self.s_q = ca.vertsplit(self.q, [0, plain.n, n])
        self.v_0, self.s_v = ca.vertsplit(self.v, [0, plain.n, n])
        self.rows = Rows(plain, self.q_0, self.v_0, self.modes.given, self.t)
        self.write = Writer(self.q, self.v, self.z, self.u, self.p, self.t)
        self.read = self.q_0, self.v_0, self.z, self.forces(), self.modes.given, self.t  # by the plain equations
        self.tau = ca.SX(self.r_T, 1)
        self.a, self.lambda_ = ca.SX.sym("a", n), ca.SX.sym("lambda_", self.m + self.k)
        self.pull = pulls(switches, self.forces(), self.modes.given, self.t)

    @property
    def driven(self) -> bool:
        """Whether constraints prescribe motions, so that they may move what touches at rest."""
        plain, p_0, t = self.plain.constraints, self.modes.given, self.t
        return not (plain.Phi_t(self.q_0, p_0, t).is_zero() and plain.g(self.q_0, p_0, t).is_zero())

    @property
    def slack_names(self) -> tuple[str, ...]:
        """Names of the slack coordinates."""
        gaps, frictions = self.switches.gaps, self.switches.frictions
        return (*(f"{item.name}.gap_slack" for item in gaps), *(f"{item.name}.slip_slack" for item in frictions))

    def dae(self) -> Dae:
        """Return the equations."""
        plain = self.plain

        # Equations with the switched rows, without forces of friction
        bare = replace(
            plain,
            coordinates=(*plain.coordinates, *self.slack_names),
            inputs=tuple(plain.inputs[k] for k in self.outer),
            equations=self.motion(),
            constraints=self.constraints(),
            sampled=tuple(self.outer.index(k) for k in plain.sampled),
            switching=Switching(plain, _memory(self.switches), None, (), None, None),
        )

        # The sliding friction tau, solved for with the multipliers where it depends on them
        self.tau = self.friction(bare)

        # All parts with these forces
        outputs, output = self.shown()
        whole = replace(
            bare,
            outputs=outputs,
            equations=self.rubbed(bare.equations),
            energies=self.energies(),
            start=self.start(),
            output=output,
            angles=self.write.function("angles", self.write.pose, plain.angles(self.q_0, self.modes.given, self.t)),
            bound_values=self.parametric(plain.bound_values),
            sampling=self.sampling(),
            skeleton=self.skeleton(),
        )

        return with_names(replace(whole, switching=self.switching()), dict(self.switches.names), frozenset())

    def motion(self) -> Equations:
        """Return the equations without forces of friction; a slack coordinate has the mass 1 and no force."""
        plain, write, p_0 = self.plain.equations, self.write, self.modes.given
        q_0, v_0, n, still = self.q_0, self.v_0, self.plain.n, ca.SX.zeros(self.r)
        f = ca.SX.sym("f", self.n)
        none = ca.SX(self.r_T, 1)
        result = write.equations(
            f,
            M=lambda: ca.diagcat(plain.M(q_0, p_0), ca.SX.eye(self.r)),
            mass_solve=ca.vertcat(plain.mass_solve(q_0, p_0, f[:n]), f[n:]),
            free_acceleration=ca.vertcat(plain.free_acceleration(*self.read), still),
            force=self._pulled("force", none),
            flow=plain.flow(*self.read),
            momentum=lambda: ca.vertcat(plain.momentum(q_0, v_0, p_0), self.s_v),
            momentum_rate=self._pulled("momentum_rate", none),
            impulse_rate=self._pulled("impulse_rate", none),
        )
        return replace(result, resisting=plain.resisting)

    def rubbed(self, bare: Equations) -> Equations:
        """Return the equations with the forces of friction W_T^T tau; bare: those without."""
        plain, write = self.plain.equations, self.write
        change = plain.mass_solve(self.q_0, self.modes.given, self.rows.W_T.T @ self.tau)
        free = ca.vertcat(plain.free_acceleration(*self.read) + change, ca.SX.zeros(self.r))
        changed: dict[str, Any] = {
            name: write.function(name, write.state, self._pulled(name, self.tau))
            for name in ("force", "momentum_rate", "impulse_rate")
        }
        return replace(bare, free_acceleration=write.function("free_acceleration", write.state, free), **changed)

    def _pulled(self, name: str, tau: SX) -> Callable[[], SX]:
        """Return what gives a function of the plain equations with W_T^T tau; 0 for slack coordinates."""
        still = ca.SX.zeros(self.r)
        return lambda: ca.vertcat(getattr(self.plain.equations, name)(*self.read) + self.rows.W_T.T @ tau, still)

    def constraints(self) -> Constraints:
        """Return the constraints with the switched rows after the plain ones."""
        plain, write = self.plain.constraints, self.write
        return replace(
            write.constraints(*self.positions(), *self.velocities()),
            dropped=plain.dropped,
            follow=plain.follow
            and write.function("follow", write.pose, plain.follow(self.q_0, self.modes.given, self.t)),
            row_lengths=self.row_lengths(),
        )

    def energies(self) -> Energies:
        """Return the energies; frictions add tau . W_T v to the power."""
        plain, p_0 = self.plain.energies, self.modes.given
        power = None
        if plain.power is not None:
            power = plain.power(*self.read) + ca.dot(self.tau, self.rows.W_T @ self.v_0)
        return self.write.energies(
            kinetic=lambda: plain.kinetic(self.q_0, self.v_0, p_0),
            potential=plain.potential(self.q_0, p_0, self.t),
            power=power,
        )

    def skeleton(self) -> Skeleton | None:
        """Return the picture, which has no slack coordinates."""
        plain, write = self.plain.skeleton, self.write
        pose = self.q_0, self.modes.given, self.t
        return plain and replace(
            plain,
            points=write.function("points", write.pose, plain.points(*pose)),
            axes=write.function("axes", write.pose, plain.axes(*pose)),
        )

    def switching(self) -> Switching:
        """Return the modes and their guards."""
        q, v, z, p, t, write = self.q, self.v, self.z, self.p, self.t, self.write
        guards, names = self.guards()
        q1, v1 = ca.SX.sym("q1", self.n), ca.SX.sym("v1", self.n)
        return Switching(
            plain=self.plain,
            memory=_memory(self.switches),
            guards=write.function("guards", [q, v, z, self.a, self.lambda_, self.u, p, t], guards),
            guard_names=names,
            turned=write.function("turned", [q, v, q1, v1, p, t], self.turned(q1, v1)),
            carried=write.function("carried", [q, v, v1, z, p, t], z),
        )

    def shown(self) -> tuple[tuple[Signal, ...], Function]:
        """Return the outputs and their Function."""
        turned = ca.SX.sym("turned", self.plain.n_angles)
        signals, y = self.outputs(turned)
        arguments = [self.q, self.v, self.z, turned, self.a, self.lambda_, self.u, self.p, self.t]
        return signals, self.write.function("output", arguments, y)

    def forces(self, values: SX | None = None) -> SX:
        """Return the inputs of the plain equations; values: the forces of gaps and frictions (default: none)."""
        values = ca.SX.zeros(self.r) if values is None else values
        return self.switches.inputs(len(self.plain.inputs), self.u, values)

    def positions(self) -> tuple[SX, SX, SX, SX]:
        """Return Phi, Phi_q, Phi_t and gamma."""
        plain, rows, modes, kept = self.plain, self.rows, self.modes, self.kept
        q_0, p_0, t, n, r_N = self.q_0, modes.given, self.t, self.plain.n, self.r_N
        # d = 1 for rows that act, d = 0 for those whose slack s_q is held at 0
        d = ca.vertcat(modes.bound_N, _entries(modes.bound_T, kept))
        apart = [rows.slide[j] - modes.anchor[j] for j in kept]
        apart = [
            wrapped(item) if self.switches.frictions[j].unit == "rad" else item
            for j, item in zip(kept, apart, strict=True)
        ]
        slack = [*range(r_N), *(r_N + j for j in kept)]
        # Phi = d gap + (1 - d) s_q, and the same for slips that stick where they began
        Phi = d * ca.vertcat(rows.gap, *apart) + (1 - d) * _entries(self.s_q, slack)
        # Phi_q = [d W, 1 - d], Phi_t and gamma of these rows
        left = ca.diag(d) @ ca.vertcat(rows.W_N, rows.W_T[kept, :])
        right = ca.SX(len(slack), self.r)
        for row, column in enumerate(slack):
            right[row, column] = 1 - d[row]
        Phi_t = d * ca.vertcat(rows.gap_t, _entries(rows.slide_t, kept))
        gamma = -d * ca.vertcat(rows.bias_N, _entries(rows.bias_T, kept))
        # Below the rows of the plain equations
        upper = ca.horzcat(plain.constraints.Phi_q(q_0, p_0, t), ca.SX(plain.m, self.r))
        return (
            ca.vertcat(plain.constraints.Phi(q_0, p_0, t), Phi),
            ca.vertcat(upper if plain.m else ca.SX(0, n + self.r), ca.horzcat(left, right)),
            ca.vertcat(plain.constraints.Phi_t(q_0, p_0, t), Phi_t),
            ca.vertcat(plain.constraints.gamma(q_0, self.v_0, p_0, t), gamma),
        )

    def velocities(self) -> tuple[SX, SX, SX]:
        """Return G, g and gamma_G."""
        plain, rows, modes, rolling = self.plain, self.rows, self.modes, self.rolling
        q_0, p_0, t = self.q_0, modes.given, self.t
        # G v + g = d gamma + (1 - d) s_v for slips that roll
        d = _entries(modes.bound_T, rolling)
        right = ca.SX(len(rolling), self.r)
        for row, j in enumerate(rolling):
            right[row, self.r_N + j] = 1 - d[row]
        lower = ca.horzcat(ca.diag(d) @ rows.W_T[rolling, :], right)
        upper = ca.horzcat(plain.constraints.G(q_0, p_0, t), ca.SX(plain.k, self.r))
        return (
            ca.vertcat(upper if plain.k else ca.SX(0, self.n), lower if rolling else ca.SX(0, self.n)),
            ca.vertcat(plain.constraints.g(q_0, p_0, t), d * _entries(rows.slip_0, rolling)),
            ca.vertcat(plain.constraints.gamma_G(q_0, self.v_0, p_0, t), -d * _entries(rows.bias_T, rolling)),
        )

    def row_lengths(self) -> tuple[float, ...]:
        """Return the lengths of the plain rows, and 0 for those that are switched."""
        plain = self.plain
        lengths = plain.constraints.row_lengths
        if not lengths:
            return ()
        kept, rolling = (0.0,) * (self.r_N + len(self.kept)), (0.0,) * len(self.rolling)
        return (*lengths[: plain.m], *kept, *lengths[plain.m :], *rolling)

    def multipliers(self, lambda_: SX) -> tuple[SX, SX, SX]:
        """Return the plain multipliers, and those of the gaps and of the slip velocities, of all multipliers."""
        plain, r_N, m = self.plain, self.r_N, self.m
        rubbing = ca.SX.zeros(self.r_T)
        for index, j in enumerate(self.kept):
            rubbing[j] = lambda_[plain.m + r_N + index]
        for index, j in enumerate(self.rolling):
            rubbing[j] = lambda_[m + plain.k + index]
        plain_lambda = _entries(lambda_, [*range(plain.m), *range(m, m + plain.k)])
        return plain_lambda, _entries(lambda_, range(plain.m, plain.m + r_N)), rubbing

    def normal(self, a: SX, lambda_: SX, tau: SX) -> SX:
        """Return the normal force of each friction, for accelerations, multipliers and sliding forces."""
        plain_lambda, closing, rubbing = self.multipliers(lambda_)
        normals = self.switches.normal(
            self.q_0, self.v_0, self.z, a[: self.plain.n], plain_lambda,
            self.forces(ca.vertcat(-closing, tau - rubbing)), self.modes.given, self.t,
        )  # fmt: skip
        return ca.vertcat(
            ca.SX(0, 1),
            *(
                self.modes.side[j] * normals[j]
                if item.signed
                else normals[j]
                if item.gap is None
                else self.modes.closed[item.gap] * self.pull[item.gap] - closing[item.gap]
                for j, item in enumerate(self.switches.frictions)
            ),
        )

    def friction(self, bare: Dae) -> SX:
        """Return the force of each friction that slides, shape (r_T,); bare: the equations without these forces."""
        N, rows = ca.SX.sym("N", self.r_T), self.rows
        acting, size = self._sized(N)
        if not ca.depends_on(size, N):
            return -acting * size
        # Accelerations and multipliers are linear in tau: a + M^-1 W^T tau with the constraints C
        C = bare.constraints.C(self.q, self.p, self.t)
        right = bare.constraints.gammas(self.q, self.v, self.p, self.t)
        factor = SchurFactor(bare.over_mass(self.q, self.p), C)
        a, lambda_ = factor.constrained(bare.equations.free_acceleration(*self.write.state), right)
        tau = ca.SX.sym("tau", self.r_T)
        for j in range(self.r_T):
            W = ca.vertcat(rows.W_T[j, :].T, ca.SX.zeros(self.r))
            more, multipliers = factor.solve(W, ca.SX(C.shape[0], 1))
            a, lambda_ = a + more * tau[j], lambda_ + multipliers * tau[j]
        # tau = -F(speed, N(tau)) along the slip, by Newton's method
        residual = tau + acting * ca.substitute(size, N, self.normal(a, lambda_, tau))
        slope = ca.jacobian(residual, tau)
        solution = ca.SX.zeros(self.r_T)
        for _ in range(NEWTON if ca.depends_on(slope, tau) else 1):
            at, J = ca.substitute([residual, slope], [tau], [solution])
            solution = solution - eliminated(J, at)
        if not ca.depends_on(slope, tau):
            return solution
        missed = ca.substitute(residual, tau, solution)
        return ca.if_else(ca.fabs(missed) <= SOLVED * (1 + ca.fabs(solution)), solution, nan)

    def pressed(self) -> SX:
        """Return the force of each friction that slides, from accelerations and multipliers where these suffice."""
        tau = ca.SX.sym("tau", self.r_T)
        N = self.normal(self.a, self.lambda_, tau)
        acting, size = self._sized(N)
        return self.tau if ca.depends_on(ca.densify(N), tau) else -acting * size

    def _sized(self, N: SX) -> tuple[SX, SX]:
        """Return the direction of each slip velocity that slides, and the size F(speed, N) of the force against it."""
        modes = self.modes
        closed = [1 if item.gap is None else modes.closed[item.gap] for item in self.switches.frictions]
        along, speed, going = self._sliding()

        def sized(speed: SX) -> SX:
            pressing = self.switches.pressed(N, along, speed, modes.given, self.t)
            return self.switches.sliding(speed, pressing, modes.given, self.t)

        size = sized(speed)
        if ca.depends_on(size, self.v):  # smooth beyond the end of a slip, as stages of the last step may lie there
            still = sized(ca.SX.zeros(self.r_T))
            size = ca.if_else(going < 0, 2 * still - size, size)
        return (1 - modes.sticks) * ca.vertcat(ca.SX(0, 1), *closed) * along, size

    def _sliding(self) -> tuple[SX, SX, SX]:
        """Return the direction of each slip rate that slides, smooth through rest, its speed, and that in its mode."""
        along, speed, going = ca.SX.zeros(self.r_T), ca.SX.zeros(self.r_T), ca.SX.zeros(self.r_T)
        for group in self.switches.groups:
            gamma, begun = _entries(self.rows.slip, group), _entries(self.modes.direction, group)
            if len(group) == 1:
                along[group[0]], speed[group[0]], going[group[0]] = begun, ca.fabs(gamma), begun * gamma
                continue
            size, ahead, kept = ca.norm_2(gamma), ca.dot(gamma, begun), keeps(begun)
            for k, j in enumerate(group):
                follows = ca.logic_and(ahead > AT_REST, ca.logic_not(kept))
                along[j] = ca.if_else(follows, gamma[k] / size, begun[k] / ca.if_else(kept, KEPT, 1))
                speed[j], going[j] = size, ahead
        return along, speed, going

    def turned(self, q1: SX, v1: SX) -> SX:
        """Return how far a slip in space turns, relative to what a step may turn it; q1, v1: where it changes to.

        Near rest the direction changes by Delta_perp / s in a step that changes the speed s by Delta, and its
        derivatives grow by 1 / s each, so that a step of order 4 has an error of Delta_perp Delta^4 / s^5.
        """
        n = self.plain.n
        after = self.switches.slip(q1[:n], v1[:n], self.modes.given, self.t)
        largest = ca.SX(0)
        for group in self.switches.groups:
            if len(group) > 1:
                begun, gamma = _entries(self.modes.direction, group), _entries(self.rows.slip, group)
                moved, size = _entries(after, group) - gamma, ca.norm_2(gamma)
                change, across = ca.norm_2(moved) / size, (gamma[0] * moved[1] - gamma[1] * moved[0]) / size**2
                change = ca.fmax(change / MOST_CHANGED, ca.fabs(across) * change**4 / MOST_TURNED**5)
                slides = ca.logic_and(ca.dot(begun, begun) > 0, ca.dot(begun, gamma) > NEARLY_AT_REST / 2)
                slides = ca.logic_and(slides, ca.logic_not(keeps(begun)))
                largest = ca.fmax(largest, ca.if_else(slides, change, 0))
        return largest

    def outputs(self, turned: SX) -> tuple[tuple[Signal, ...], SX]:
        """Return the outputs: the plain ones, and those of gaps, frictions and events."""
        # Forces along gaps and slips: minus the multipliers, and tau
        plain, modes, rows = self.plain, self.modes, self.rows
        plain_lambda, closing, rubbing = self.multipliers(self.lambda_)
        forces = ca.vertcat(-closing, self.pressed() - rubbing)
        # Outputs of the plain equations under these forces
        y = [
            plain.output(
                self.q_0, self.v_0, self.z, turned, self.a[: plain.n], plain_lambda, self.forces(forces), modes.given,
                self.t,
            )
        ]  # fmt: skip
        signals: list[Signal] = list(plain.outputs)

        def add(name: str, unit: str, text: str, value: SX, **more: Any) -> None:
            signals.append(Signal(name, unit, text, **more))
            y.append(value)

        # Those of gaps, frictions and events
        for i, gap in enumerate(self.switches.gaps):
            add(f"{gap.name}.gap", gap.unit, "gap", rows.gap[i], kind="output")
            add(f"{gap.name}.f_n", EFFORTS[gap.unit], "force of the closed gap", forces[i], kind="output")
            add(f"{gap.name}.closed", "1", "whether the gap is closed", modes.closed[i], kind="output", type="Boolean")
            add(f"{gap.name}.impacts", "1", "number of impacts", modes.impacts[i], kind="output", type="Integer")
        for group in self.switches.groups:
            j = group[0]
            item = self.switches.frictions[j]
            for k, label in zip(group, labels(group), strict=True):
                add(f"{item.name}.slip{label}", f"{item.unit}/s", "slip rate", rows.slip[k], kind="output")
            for k, label in zip(group, labels(group), strict=True):
                text = "friction, along the slip velocity"
                add(f"{item.name}.f_t{label}", EFFORTS[item.unit], text, forces[self.r_N + k], kind="output")
            add(f"{item.name}.sticks", "1", "whether it sticks", modes.sticks[j], kind="output", type="Boolean")
        add(COUNT, "1", "number of events since the start", modes.count, kind="output", type="Integer")
        add(TIME, "s", "time of the last event", modes.time, kind="output")
        return tuple(signals), ca.vertcat(*y)

    def guards(self) -> tuple[SX, tuple[str, ...]]:
        """Return the guards, and what each belongs to."""
        # Forces of gaps and frictions, and the limits F_s(N)
        plain, modes, rows = self.plain, self.modes, self.rows
        _, closing, rubbing = self.multipliers(self.lambda_)
        N = self.normal(self.a, self.lambda_, self.pressed())
        reserves = Reserves(plain, self.switches, (modes.carrier, modes.share), rows.W_T, *self.read)
        rubs = self.switches.rubs(modes.given, self.t)
        # A gap that is closed opens when it pulls, or when a prescribed motion moves it; one that is open closes at 0
        values, names = [], []
        noise = PULL * ca.sum1(ca.fabs(closing)) if self.r_N > 1 else 0
        for i, gap in enumerate(self.switches.gaps):
            locked = LEFT - ca.fabs(rows.gap[i]) if self.driven else 1
            pressed = ca.if_else(modes.bound_N[i], noise - closing[i] + self.pull[i], locked)
            values.append(ca.if_else(modes.closed[i], pressed, rows.gap[i]))
            names.append(f"the gap of '{gap.name}'")
        # A friction that sticks slips at its limit, or when a prescribed motion moves it; one that slides ends when its
        # rate turns
        for group in self.switches.groups:
            item = self.switches.frictions[group[0]]
            closed = ca.SX(1) if item.gap is None else modes.closed[item.gap]
            reserve = reserves.of(group, N, _entries(rubbing, group))
            gamma = _entries(rows.slip, group)
            locked = NEARLY_AT_REST - ca.norm_2(gamma) if self.driven else 1
            reserve = ca.if_else(ca.mmax(_entries(modes.bound_T, group)), reserve, locked)
            begun = _entries(modes.direction, group)
            going = ca.dot(begun, gamma)
            if len(group) > 1:
                faster = ca.dot(gamma, _entries(rows.W_T @ self.a[: self.plain.n] + rows.bias_T, group)) > 0
                speed = ca.norm_2(gamma)
                slower = ca.if_else(ca.logic_or(faster, speed <= SLOW), 1, speed - NEARLY_AT_REST)
                follows = ca.fmin(going - TURNED * speed, slower)
                going = ca.if_else(keeps(begun), ca.fmin(going, 3 * NEARLY_AT_REST - speed), follows)
            else:  # what began to move while its friction was 0 has no direction yet
                going = ca.if_else(begun[0] == 0, NEARLY_AT_REST - ca.fabs(gamma[0]), going)
            going = ca.SX(1) if item.breaks else ca.if_else(rubs[group[0]], going, 1)
            holds = ca.if_else(closed, ca.if_else(modes.sticks[group[0]], reserve, going), 1)
            values += [holds, *(ca.SX(1) for _ in group[1:])]
            names += [f"the friction of '{item.name}'"] * len(group)
        # The sign of a normal force turns where it is 0
        for j, item in enumerate(self.switches.frictions):
            if item.signed:
                values.append(N[j])
                names.append(f"the normal force of '{item.name}'")
        return ca.vertcat(*values), tuple(names)

    def start(self) -> Start:
        """Return the start: that of the plain equations, and slack coordinates at rest at 0."""
        # Start values, and sizes of the plain positions and rates
        plain = self.plain.start
        q, v, p, t = self.q, self.v, self.p, self.t
        q_0, v_0, p_0 = self.q_0, self.v_0, self.modes.given
        s = ca.SX.sym("s", len(plain.starts))
        ones = ca.SX.ones(self.r)
        values = plain.sizes(s, p_0, t)
        sizes, rate_sizes = ca.vertsplit(values, [0, plain.positions.numel_out(0), values.numel()])
        names = self.slack_names

        def function(name: str, arguments: list[SX], result: SX) -> Function:
            return merged(name, arguments, [ca.densify(result)])

        def begun(name: str, values: SX) -> Function:
            return function(name, [s, p, t], ca.vertcat(values, ca.SX.zeros(self.r)))

        # All functions of the start, with slack coordinates that start at 0
        tree, placed = self._sought(s)
        return replace(
            plain,
            closing=function("closing", [q, p, t], plain.closing(q_0, p_0, t)),
            positions=function("positions", [q, s, p, t], ca.vertcat(plain.positions(q_0, s, p_0, t), self.s_q)),
            rates=function("rates", [q, v, s, p, t], ca.vertcat(plain.rates(q_0, v_0, s, p_0, t), self.s_v)),
            sizes=function("sizes", [s, p, t], ca.vertcat(sizes, ones, rate_sizes, ones)),
            leanings=function("leanings", [q, s, p, t], plain.leanings(q_0, s, p_0, t)),
            guess=begun("guess", plain.guess(s, p_0, t)),
            rate_guess=plain.rate_guess and begun("rate_guess", plain.rate_guess(s, p_0, t)),
            counted=function("counted", [q, s, p, t], plain.counted(q_0, s, p_0, t)),
            position_names=(*plain.position_names, *names),
            rate_names=(*plain.rate_names, *names),
            first_states=self._first_states(),
            tree=tree,
            placed=placed,
        )

    def _sought(self, s: SX) -> tuple[Start | None, Function | None]:
        """Return the start in the coordinates of joints, if poses are sought in these, and the map from them to q."""
        plain, p, t, p_0 = self.plain.start, self.p, self.t, self.modes.given
        if not plain.tree:
            return None, plain.placed
        x = ca.SX.sym("x", plain.tree.closing.size1_in(0))
        of_q, of_s = [x, p, t], [x, s, p, t]

        def function(name: str, arguments: list[SX], result: SX) -> Function:
            return merged(name, arguments, [ca.densify(result)])

        tree = replace(
            plain.tree,
            closing=function("closing", of_q, plain.tree.closing(x, p_0, t)),
            positions=function("positions", of_s, plain.tree.positions(x, s, p_0, t)),
            leanings=function("leanings", of_s, plain.tree.leanings(x, s, p_0, t)),
            guess=function("guess", [s, p, t], plain.tree.guess(s, p_0, t)),
        )
        return tree, function("placed", of_s, ca.vertcat(plain.pose(x, s, p_0, t), ca.SX.zeros(self.r)))

    def parametric(self, inner: Any) -> Any:
        """Return a function of p from one of p without modes."""
        size = inner.numel_in(0)
        return ca.Function(inner.name(), [self.p], [inner(self.p[:size])])

    def _first_states(self) -> Function | None:
        inner = self.plain.start.first_states
        if inner is None:
            return None
        s = ca.SX.sym("s", inner.numel_in(2))
        return ca.Function(
            "first_states", [self.q, self.v, s, self.p, self.t],
            [ca.densify(inner(self.q_0, self.v_0, s, self.modes.given, self.t))],
        )  # fmt: skip

    def sampling(self) -> Sampling | None:
        """Return the memory of sampled blocks as functions of these inputs and parameters."""
        inner = self.plain.sampling
        if inner is None:
            return None
        return replace(
            inner.reading(self.write.state, self.read),
            timing=self.parametric(inner.timing),
            first=self.parametric(inner.first),
        )


def pulls(switches: Switches, u: SX, p: SX, t: SX) -> list[SX | float]:
    """Return the largest pull of each gap, N or N.m, at least 0.

    Args:
        switches: gaps and frictions.
        u: inputs of the plain equations, SX, shape (n_u,).
        p: parameters without modes, SX.
        t: time, SX, s.
    """
    if switches.pull is None:
        return [0] * len(switches.gaps)
    pull = switches.pull(u, p, t)
    return [ca.fmax(0, pull[i]) if item.holds else 0 for i, item in enumerate(switches.gaps)]


def keeps(direction: SX) -> SX:
    """Return whether the friction keeps the direction of a slip in space, as stated by its length; SX, shape (2,)."""
    return ca.dot(direction, direction) > KEPT


def labels(group: Sequence[int]) -> list[str]:
    """Return what follows the names of the slip rates of a friction: the number of its direction, if it has two."""
    return [""] if len(group) == 1 else [f"[{index}]" for index in range(1, len(group) + 1)]


def _entries(column: SX, indices: Sequence[int]) -> SX:
    """Return some entries of a column, as a column if there are none too."""
    return ca.vertcat(ca.SX(0, 1), *(column[index] for index in indices))


EFFORTS = {"m": "N", "rad": "N.m"}
"""Units of the forces along gaps and slips of some units."""


def eliminated(A: SX, b: SX) -> SX:
    """Return A^-1 b by elimination without pivoting; NaN unless all pivots are positive.

    Args:
        A: SX, shape (n, n).
        b: SX, shape (n,).
    """
    n = b.numel()
    rows: list[list[SX]] = [[*(A[i, j] for j in range(n)), b[i]] for i in range(n)]
    for k in range(n):
        pivot = ca.if_else(rows[k][k] > 0, rows[k][k], nan)
        for i in range(k + 1, n):
            factor = rows[i][k] / pivot
            rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k], strict=True)]
        rows[k][k] = pivot
    solution: Sequence[SX] = [ca.SX(0)] * n
    solution = list(solution)
    for k in reversed(range(n)):
        rest = sum((rows[k][j] * solution[j] for j in range(k + 1, n)), ca.SX(0))
        solution[k] = (rows[k][n] - rest) / rows[k][k]
    return ca.vertcat(ca.SX(0, 1), *solution)

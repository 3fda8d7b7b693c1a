"""The formula that finds the modes at an event: impacts first, then which gaps stay closed, what sticks and slides.

Impact, with the impulses Lambda along gaps that touch and along the slip velocities of these, and the matrix
A = W M^-1 W^T of the constrained mechanism, v+ = v + M^-1 W^T Lambda:

    0 <= Lambda_N  and  gdot+ + e gdot- >= 0, one of them zero      Newton's law, all contacts at once
    |Lambda_T| <= F(|gamma-|, Lambda_N),  gamma+ = 0 or at the limit, against gamma+

Where the normal force is a reaction, F takes the impulse of that, which is linear in all impulses. With a tangential
restitution e_T, gamma+ + e_T gamma- stands for gamma+. A gap with Poisson's law is compressed first, by impulses
Lambda_C of the same conditions with e = 0 for all that touches. They come back in part as it expands (Pfeiffer &
Glocker, Multibody Dynamics with Unilateral Contacts, 1996, ch. 8), with friction in each phase:

    0 <= Lambda_N - (1 + e) Lambda_C  and  gdot+ >= 0, one of them zero
    |Lambda_T - Lambda_CT| <= F(|gamma-|, Lambda_N - Lambda_C),  gamma+ = 0 or at the limit, against gamma+

Gaps with the law `sequence` hit one after the other: of those that approach, the fastest hits alone by Newton's law,
until none approaches (Ivanov, J. Appl. Math. Mech. 59, 1995). They leave with the rates gdot_S of that, and friction
acts on the sum of their impulses:

    0 <= Lambda_N  and  gdot+ - gdot_S >= 0, one of them zero

Modes, with accelerations a and forces lambda along gaps that touch with gdot+ = 0, and along slip velocities:

    -pull <= lambda_N  and  gddot >= 0, one of them at its bound
    |lambda_T| <= F_s(N),  gamma' = 0 or at the limit, against gamma', where gamma+ = 0; else lambda_T slides

A gap that arrives or was closed, and has neither a force nor an acceleration, is closed, as it would fall below 0 by
round-off if it were open; its friction sticks with a limit of 0.

The pull is that of a gap which was closed before or arrives, else 0: what has opened is not caught again at rest. What
opens at this event still has it, so that the accelerations are unique (the cohesive law of Jean, Acary & Monerie, Phil.
Trans. R. Soc. A 359, 2001); impulses are above any pull, and have none.

Both are written with the projections max(0, x) and x limited to [-F, F] (Alart & Curnier, Comput. Methods Appl. Mech.
Eng. 92, 1991). The unknowns are forces over the diagonal of A, so that they have the size of the velocities or
accelerations they cause.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import nan

import casadi as ca

from mbfmu.dae.dae import Dae
from mbfmu.dae.events.modes import KEPT, NEARLY_AT_REST, SLOW, ModeParameters, Rows, keeps, pulls
from mbfmu.dae.formula import Formula, Let, Stage, arguments
from mbfmu.dae.linear_algebra.kkt import OverMass, SchurFactor
from mbfmu.dae.parts.gaps import Switches
from mbfmu.model.frame import SX

TOUCHING = 1e-11
"""Largest gap, m or rad, that takes part in an impact: contacts nearer than this hit at the same time."""
HIDDEN = 1e-6
"""Largest speed, m/s or rad/s, at which a gap that falls below 0 as it opens is closed: round-off hides its flight."""
LOCKED = 1e-6
"""Mobility of a row, relative to that without the other constraints, below which it counts as none."""
SOFT = 1e-3
"""Number on the diagonal of Newton's matrix, whose diagonal is 1 for a force alone: where contacts make each other
redundant, forces are not unique, and stay near those that the sweeps find."""
STEADY = 1e-6
"""Acceleration, relative to 1 and those without contact forces, below which what the acting rows keep at rest stays so:
at a dead centre a slip may be at rest for an instant."""
DEPENDENT = 1e-8
"""Part of the diagonal of A that is left of a row that depends on others."""
LIKE = 1e-9
"""Part by which a slip rate must have more of another one's motion than one before, to carry its force in its place."""
TIED = 1e-9
"""Part of its pull from which a gap that holds opens with another: those that share a load evenly open at once."""
SWEEPS, PASSES = 2, 36
"""Number of symmetric sweeps in a pass, and largest number of passes, before Newton's method."""
AGREED = 1e-6
"""Largest residual of the laws of contact after an event, relative to 1 and the largest unknown: an event that leaves
more has no solution that was found."""
TIED_FIRST = 1e-9
"""Part by which a speed of approach may be less than the largest one and still count as equal: these hit in order."""
SWEPT = 1e-12
"""Relative change in a pass at which the sweeps end."""
IDLE = 1e-14
"""Acceleration of a gap, relative to 1 and those without contact forces, that is round-off: a gap that comes to rest
without a load is closed, and waits for one."""
STILL = 1e-14
"""Largest rate after an event, relative to 1 and the largest one before, that is round-off."""
ROUND_OFF = 1e-15
"""Round-off of a gap, relative to the coordinates it is computed from; a flight that rises less is none."""


def switch_formula(dae: Dae) -> Formula:
    """Return the formula [q; v; z] -> [q; v; z; modes], for parameters that end in the modes before.

    Args:
        dae: the switched equations.
    """
    return _Event(dae).formula()


class _Event:
    """The equations of an event, in symbols.

    Args:
        dae: the switched equations.
    """

    def __init__(self, dae: Dae) -> None:
        assert dae.switching is not None
        self.dae, self.switching = dae, dae.switching
        self.plain, self.switches = dae.switching.plain, dae.switching.switches
        # State before the event, and the modes before, which end p
        self.given = arguments(len(dae.inputs), dae.n_p, ca.SX)
        self.t = self.given.t
        self.y = ca.SX.sym("y", 2 * dae.n + dae.n_z)
        self.q, self.v, self.z = ca.vertsplit(self.y, [0, dae.n, 2 * dae.n, self.y.numel()])
        self.r_N, self.r_T = len(self.switches.gaps), len(self.switches.frictions)
        self.r = self.r_N + self.r_T
        self.ways = max((item.ways for item in self.switches.frictions), key=len, default=(1,))
        self.modes = ModeParameters(self.switches, self.given.p)
        n, n_z = self.plain.n, self.plain.n_z
        self.q_0, self.v_0, self.z_0 = self.q[:n], self.v[:n], self.z[:n_z]
        # Rows W of gaps and slips, and [Y; L] of M Y + C^T L = W^T, C Y = 0
        self.rows = Rows(self.plain, self.q_0, self.v_0, self.modes.given, self.t)
        p_0, t = self.modes.given, self.t
        W = ca.vertcat(self.rows.W_N, self.rows.W_T)
        C = self.plain.constraints.C(self.q_0, p_0, t)
        over_mass = self.plain.over_mass(self.q_0, p_0)
        self.factor = SchurFactor(over_mass, C)
        columns = [self.factor.solve(W[i, :].T, ca.SX(C.shape[0], 1)) for i in range(self.r)]
        Y, L = (ca.horzcat(ca.SX(size, 0), *(pair[k] for pair in columns)) for k, size in ((0, n), (1, C.shape[0])))
        # Restitution, speed of rest and pull of gaps; each row's own mass, least speed of approach, and A = W Y
        self.e, self.rest = self.switches.restitution(p_0), self.switches.rest(p_0)
        self.pull = pulls(self.switches, self.inputs(ca.SX.zeros(self.r)), p_0, t)
        self.begins = self.modes.count < 0
        own_masses, least = _own_masses(W, Y, over_mass, self.switches), self.least_bounce(W)
        known, self.known = _named("known", [W, Y, L, W @ Y, own_masses, least])
        self.W, self.Y, self.L, self.A, self.own, self.least = known
        _, self.own_T = ca.vertsplit(self.own, [0, self.r_N, self.r])
        # Gaps that touch: nearer than `TOUCHING`, closed before, or with a guard that fell
        self.fallen_N, self.fallen_T, _ = ca.vertsplit(
            self.modes.fallen, [0, self.r_N, self.r, self.modes.fallen.numel()]
        )
        near = [
            ca.logic_or(ca.logic_or(self.rows.gap[i] <= TOUCHING, self.fallen_N[i]), self.modes.closed[i])
            for i in range(self.r_N)
        ]
        self.touching = ca.vertcat(ca.SX(0, 1), *near)

    def formula(self) -> Formula:
        """Return the formula of the event."""
        w, x, v_p = ca.SX.sym("w", self.r), ca.SX.sym("x", self.r), ca.SX.sym("v_p", self.plain.n)
        # Impulses Lambda, the compression's first, and v+ = v + Y Lambda
        compressed, compressing = self.compression()
        leaving, ordering = self.sequence()
        hitting, hit = self.solved("impact", w, *self.impact(w, compressed, leaving=leaving))
        moved = Let(v_p, self.v_0 + self.Y @ (self.own * w))
        # Forces lambda after the impact, and the modes that follow from them
        let, pressed, choices, resting, reaction = self.decision(v_p, x)
        deciding, chosen = self.solved("decision", x, pressed, choices)
        (modes, met), named = _named("modes", [*self.new_modes(w, chosen, pressed, resting, reaction)])
        stages = (self.known, *compressing, *ordering, *hitting, moved, let, *deciding, named)
        # Rates that meet the rows of these modes; NaN where the laws of contact have no solution
        agrees, v_1 = ca.logic_and(hit.agrees, chosen.agrees), self.projected(v_p, met)
        v_0 = ca.if_else(ca.fabs(v_1) <= STILL * (1 + ca.norm_inf(self.v)), 0, v_1)

        def after(v: SX) -> SX:
            rates = ca.if_else(agrees, v, nan)
            z = self.switching.carried(self.q, self.v, rates, self.z, self.given.p, self.t)
            return ca.vertcat(self.q, rates, z, modes)

        return Formula(self.y, self.given, stages, after(v_0), slope=after(v_1))

    def least_bounce(self, W: SX) -> SX:
        """Return the speed of approach of each gap below which it closes for good, SX, shape (r_N,).

        That is the speed of rest, or that of a flight which would rise by no more than the round-off of its gap, or
        than the gap is below 0, where an event was found late.
        """
        plain, p_0, t = self.plain, self.modes.given, self.t
        alone = plain.equations.free_acceleration(
            self.q_0, self.v_0, self.z_0, self.inputs(ca.SX.zeros(self.r)), p_0, t
        )
        right = plain.constraints.gammas(self.q_0, self.v_0, p_0, t)
        falling, _ = self.factor.constrained(alone, right)
        W_N = self.rows.W_N
        noise = ca.fmax(ROUND_OFF * ca.fabs(W_N) @ ca.fabs(self.q_0), -self.rows.gap)
        return ca.fmax(self.rest, ca.sqrt(2 * noise * ca.fabs(W_N @ falling + self.rows.bias_N)))

    def compression(self) -> "tuple[SX | None, tuple[Stage | Let, ...]]":
        """Return the impulses of the compression, over masses, and the stages that solve for them; None without one."""
        if not any(item.poisson for item in self.switches.gaps):
            return None, ()
        w = ca.SX.sym("w_c", self.r)
        stages, chosen = self.solved("compression", w, *self.impact(w, None, plastic=True))
        checked, let = _named("compressed", [ca.if_else(chosen.agrees, w, nan)])
        return checked[0], (*stages, let)

    def sequence(self) -> "tuple[SX | None, tuple[Stage | Let, ...]]":
        """Return the rates at which gaps leave that hit one after the other, and the stages; None without such."""
        gaps = [i for i, item in enumerate(self.switches.gaps) if item.sequential]
        if not gaps:
            return None, ()
        # Unknowns of a pass: a count, and the impulses over masses
        begun = ca.SX.sym("sequence", 1 + len(gaps))
        count, first = ca.vertsplit(begun, [0, 1, begun.numel()])
        w, hits = list(first.elements()), ca.SX(0)
        rates = [
            self.rows.gap_rate[i] + sum((self.A[i, j] * self.own[j] * w[k] for k, j in enumerate(gaps)), ca.SX(0))
            for i in gaps
        ]
        for _ in gaps:
            # The fastest of those that approach, the first of equal ones
            speeds = [ca.if_else(self.touching[i], -rate, 0) for i, rate in zip(gaps, rates, strict=True)]
            least, free = (1 - TIED_FIRST) * ca.mmax(ca.vertcat(*speeds)), ca.SX(1)
            changes = []
            for i, speed in zip(gaps, speeds, strict=True):
                chosen = ca.logic_and(free, ca.logic_and(speed >= least, speed > self.least[i]))
                free = ca.logic_and(free, ca.logic_not(speed >= least))
                # Its impulse (1 + e) times its own mass times its speed of approach
                changes.append(ca.if_else(chosen, (1 + self.e[i]) * speed, 0))
                hits = ca.logic_or(hits, chosen)
            w = [item + change for item, change in zip(w, changes, strict=True)]
            for k, i in enumerate(gaps):
                rates[k] += sum(
                    (self.A[i, j] * self.own[j] * change for j, change in zip(gaps, changes, strict=True)), ca.SX(0)
                )
        going = ca.logic_and(count < PASSES, hits)
        stage = Stage(
            begun, ca.SX.zeros(begun.numel()), correction=ca.vertcat(going, ca.vertcat(*w) - first), watched=1,
            rough=True,
        )  # fmt: skip
        leaving = ca.SX.zeros(self.r_N)
        for i in gaps:
            change = sum((self.A[i, j] * self.own[j] * first[k] for k, j in enumerate(gaps)), ca.SX(0))
            leaving[i] = ca.if_else(first[gaps.index(i)] > 0, ca.fmax(0, self.rows.gap_rate[i] + change), 0)
        return leaving, (stage,)

    def impact(
        self, w: SX, compressed: SX | None, plastic: bool = False, leaving: SX | None = None
    ) -> tuple[SX, "list[_Choice]"]:
        """Return flags of pressed gaps, and the choices for each impulse over its mass.

        Args:
            w: impulses over masses, SX, shape (r,).
            compressed: those of the compression, which Poisson's law takes; None: there is none.
            plastic: whether nothing bounces, as in the compression.
            leaving: rates at which gaps leave that hit one after the other, SX, shape (r_N,); None: there are none.
        """
        # Rates gdot+ = gdot- + A Lambda + e gdot-, without a bounce of gaps that are nearly at rest
        rows, r_N, frictions = self.rows, self.r_N, self.switches.frictions
        pressed = ca.SX.sym("pressed", r_N)
        resting = ca.fabs(rows.gap_rate) < self.least
        bounce = ca.if_else(resting, 0, 0 if plastic else self.e) * rows.gap_rate
        change = self.A @ (self.own * w)
        # Impulses of the compression, from which those of Poisson's law count
        size_of = _sizes(self.switches, rows.slip, self.modes.given, self.t)
        before = ca.SX.zeros(self.r)
        expands = [compressed is not None and item.poisson for item in self.switches.gaps]
        for i in range(self.r):
            gap = i if i < r_N else frictions[i - r_N].gap
            if compressed is not None and gap is not None and expands[gap]:
                before[i] = compressed[i]
        # Limits F(|gamma-|, Lambda_N) of the frictions, over masses
        reaction = self.reaction(self.own * w)

        def limited(way: int) -> SX:
            pressing = _column(
                (-way * reaction[j] if item.sided else ca.fabs(reaction[j])) if item.gap is None
                else self.own[item.gap] * ca.fmax(0, w[item.gap] - before[item.gap])
                for j, item in enumerate(frictions)
            )  # fmt: skip
            return (size_of(pressing) - size_of(ca.SX.zeros(self.r_T))) / self.own_T

        limits = {way: limited(way) for way in self.ways}
        # Gaps: Lambda_N at its least value, or gdot+ = 0
        choices = []
        for i in range(r_N):
            if expands[i]:
                rate, least = rows.gap_rate[i] + change[i], (1 + ca.if_else(before[i] < self.least[i], 0, self.e[i]))
                least = ca.if_else(self.touching[i], least * before[i], 0)
            elif leaving is not None and self.switches.gaps[i].sequential:
                rate, least = rows.gap_rate[i] + change[i] - leaving[i], ca.SX(0)
            else:
                rate, least = rows.gap_rate[i] + change[i] + bounce[i], ca.SX(0)
            choices.append(_Choice((i,), ca.logic_and(self.touching[i], w[i] - rate > least), rate, base=least))
        # Frictions: gamma+ + e_T gamma- = 0, or Lambda_T at its limit against it
        for group in self.switches.groups:
            gap, unknowns = frictions[group[0]].gap, tuple(r_N + j for j in group)
            rate = _column(rows.slip[k - r_N] + change[k] for k in unknowns)
            if frictions[group[0]].rebounds and not plastic:
                assert gap is not None
                assert self.switches.tangential is not None
                e_T = self.switches.tangential(self.modes.given)
                rate += _column(ca.if_else(resting[gap], 0, e_T[k - r_N]) * rows.slip[k - r_N] for k in unknowns)
            start = _column(before[k] for k in unknowns)
            ahead = _column(w[k] for k in unknowns) - rate - start
            every = {way: limits[way][group[0]] for way in frictions[group[0]].ways}
            limit = _by_way(every, ahead)
            if gap is None:
                on = limit > 0 if frictions[group[0]].reacts and r_N else ca.SX(0)
            else:
                on = w[gap] > before[gap] if expands[gap] else pressed[gap]
            within = ca.logic_and(on, ca.norm_2(ahead) <= limit)
            if frictions[group[0]].one_way:
                within = ca.logic_or(within, ahead > 0)
            most = {way: ca.if_else(on, item, 0) for way, item in every.items()}
            choices.append(_Choice(unknowns, within, rate, _unit(ahead), most, start))
        return pressed, choices

    def reaction(self, impulses: SX) -> list[SX]:
        """Return the normal impulse of each friction whose normal force is a reaction; 0 for others.

        Without gaps nothing hits.

        Args:
            impulses: of gaps and frictions, SX, shape (r,).
        """
        if self.switches.reaction is None or not self.r_N:
            return [ca.SX(0)] * self.r_T
        changes = self.Y @ impulses, self.L @ impulses, self.inputs(impulses, ca.SX.zeros(self.given.u.numel()))
        reactions = self.switches.reaction(self.q_0, self.v_0, self.z_0, *changes, self.modes.given, self.t)
        return [reactions[j] for j in range(self.r_T)]

    def decision(self, v_p: SX, x: SX) -> tuple[Let, SX, "list[_Choice]", "_Resting", SX]:
        """Return values computed once, flags and choices for each force over its mass, and what the modes follow from.

        That is what touches at rest, in which the flags occur too, and the normal forces.

        Args:
            v_p: rates after the impact, SX, shape (n,).
            x: forces over masses, SX, shape (r,).
        """
        # Accelerations W vdot without forces of contacts, at the rates after the impact
        plain, switches, modes, r_N = self.plain, self.switches, self.modes, self.r_N
        p_0, t, frictions = modes.given, self.t, switches.frictions
        after = Rows(plain, self.q_0, v_p, p_0, t)
        right = plain.constraints.gammas(self.q_0, v_p, p_0, t)
        alone = plain.equations.free_acceleration(self.q_0, v_p, self.z_0, self.inputs(ca.SX.zeros(self.r)), p_0, t)
        bias = ca.vertcat(after.bias_N, after.bias_T)
        free, lambda_ = self.factor.constrained(alone, right)
        values, let = _named("free", [free, lambda_, after.gap_rate, after.slip, self.W @ free + bias])
        free, lambda_, speed_N, speed_T, gain_0 = values
        # Accelerations gain = W vdot + A lambda, and the normal forces N that the forces x make
        force = self.own * x
        gain = gain_0 + self.A @ force
        reaction = switches.normal(
            self.q_0, v_p, self.z_0, free + self.Y @ force, lambda_ + self.L @ force, self.inputs(force), p_0, t
        )
        hits = [ca.logic_and(self.touching[i], self.rows.gap_rate[i] < -self.least[i]) for i in range(r_N)]
        held = [self.held(i, hits[i]) for i in range(r_N)]
        N = _column(
            ca.fmax(0, force[item.gap] + held[item.gap])
            if item.gap is not None
            else (ca.fabs(reaction[j]) if item.signed else reaction[j])
            for j, item in enumerate(frictions)
        )
        # Limits F_s(N) of what sticks and F(N) of what slides, over masses
        still, sizes = ca.SX.zeros(self.r_T), _sizes(switches, speed_T, p_0, t)
        at_rest, moving = {}, {}
        for way in self.ways:  # of the force, against that of the slip
            against = -way * ca.SX.ones(self.r_T)
            at_rest[way] = switches.static(switches.pressed(N, against, still, p_0, t), p_0, t) / self.own_T
            moving[way] = sizes(switches.pressed(N, against, ca.fabs(speed_T), p_0, t)) / self.own_T
        pressed = ca.SX.sym("pressed", r_N)
        rubs = switches.rubs(p_0, t)
        # Accelerations below which a gap or slip stays at rest, and whether anything hits
        choices, resting_N, resting_T = [], [], []
        noise, idle = STEADY * (1 + ca.norm_inf(gain_0)), IDLE * (1 + ca.norm_inf(gain_0))
        quiet = ca.SX(1)  # whether nothing hits harder than round-off
        for i in range(r_N):
            quiet = ca.logic_and(quiet, ca.logic_not(hits[i]))
        # Gaps: -pull <= lambda_N, gddot >= 0, one of them at its bound, where the gap rests
        for i in range(r_N):
            hidden = ca.logic_and(self.fallen_N[i], ca.logic_and(ca.logic_not(modes.closed[i]), speed_N[i] <= HIDDEN))
            slowly = ca.if_else(quiet, self.least[i], self.rest[i])
            still = ca.logic_or(speed_N[i] <= slowly, ca.logic_and(hidden, self.rows.gap_rate[i] >= 0))
            slow = ca.logic_and(self.touching[i], still)
            resting = ca.logic_and(slow, ca.logic_not(modes.closed[i] * self.fallen_N[i]))
            round_off = ca.if_else(ca.logic_or(modes.closed[i], self.arrives(i, hits[i])), idle, 0)
            if switches.gaps[i].holds:
                least = ca.if_else(slow, -held[i] / self.own[i], 0)
                holds = ca.logic_and(resting, x[i] - gain[i] > (1 - TIED) * least - round_off)
                choices.append(_Choice((i,), holds, gain[i], base=least))
                slow = resting
            else:
                choices.append(_Choice((i,), ca.logic_and(resting, x[i] - gain[i] > -round_off), gain[i]))
            steady = ca.logic_and(speed_N[i] >= -self.least[i], ca.fabs(gain[i]) <= noise)
            resting_N.append(ca.logic_and(slow, steady))
        # Frictions: gamma' = 0 where the slip rests, or lambda_T at its limit, against gamma' or gamma
        for group in switches.groups:
            j, gap, unknowns = group[0], frictions[group[0]].gap, tuple(r_N + j for j in group)
            rate, gamma = _column(gain[k] for k in unknowns), _column(speed_T[k] for k in group)
            ahead = _column(x[k] for k in unknowns) - rate
            slow = ca.logic_or(ca.norm_2(gamma) <= SLOW, self.ended(group, gamma))
            on = ca.SX(1) if gap is None else pressed[gap]
            static = _by_way({way: at_rest[way][j] for way in frictions[j].ways}, ahead)
            # What sticks has a limit, rubs, and did not end at this event
            able = static > 0
            if gap is not None:  # what has no load sticks until it has one
                able = ca.logic_and(ca.logic_or(able, N[j] <= 0), rubs[j])
            firm = ca.logic_and(able, ca.logic_not(modes.sticks[j] * self.fallen_T[j]))
            still = ca.logic_and(on, slow)
            if frictions[j].breaks:
                whole = ca.logic_or(modes.sticks[j], self.begins)
                firm, slow = ca.logic_and(firm, whole), ca.logic_and(slow, whole)
                still = ca.logic_and(still, firm)
            # Within F_s it sticks; else it slides, against gamma' from rest, against gamma otherwise
            holds = ca.logic_and(ca.norm_2(ahead) <= static, firm)
            if frictions[j].one_way:
                holds = ca.logic_or(holds, ahead > 0)
            within = ca.logic_and(ca.logic_and(on, slow), holds)
            along = ca.if_else(slow, _unit(ahead), -_unit(gamma))
            most = {
                way: ca.if_else(on, ca.if_else(slow, at_rest[way][j], moving[way][j]), 0) for way in frictions[j].ways
            }
            choices.append(_Choice(unknowns, within, rate, along, most))
            resting_T.append(ca.logic_and(still, ca.norm_2(rate) <= noise))

        return let, pressed, choices, _Resting(resting_N, resting_T, speed_T), reaction

    def new_modes(self, w: SX, chosen: "_Chosen", pressed: SX, resting: "_Resting", reaction: SX) -> tuple[SX, SX]:
        """Return the modes after the event, and those whose rows the rates meet; see `decision` for the arguments.

        A slip that begins against its way is round-off, so that it is at rest at first.
        """
        # Rows that act and what holds, with what touches at rest
        modes, switches, r_N = self.modes, self.switches, self.r_N
        flags = ca.vertcat(ca.SX(0, 1), *chosen.pressed)
        resting = replace(resting, frictions=ca.substitute(resting.frictions, [pressed], [flags]))
        bound = _independent(self.A, self.own, chosen, resting, switches)
        # What sticks, and the direction of what slides
        direction, sticks = [], []
        halted = list(bound.rows_T)
        for group, holds, way, still in zip(switches.groups, bound.sticks, chosen.ways, resting.frictions, strict=True):
            gap = switches.frictions[group[0]].gap
            slides = ca.logic_not(holds) if gap is None else ca.logic_and(chosen.pressed[gap], ca.logic_not(holds))
            direction.append(ca.if_else(slides, -way * self.length(group, resting.slips), 0))
            if len(group) == 1 and not switches.frictions[group[0]].breaks:
                against = ca.logic_and(ca.logic_and(slides, still), -way * resting.slips[group[0]] < 0)
                against = ca.logic_and(against, ca.logic_not(ca.mmax(ca.vertcat(*halted))))  # others may imply it
                halted[group[0]] = ca.logic_or(halted[group[0]], against)
            sticks += [holds] * len(group)
        # Where each friction sticks, impacts so far, and the side of signed normal forces
        anchor = [
            ca.if_else(ca.logic_and(holds, modes.sticks[j]), modes.anchor[j], ca.if_else(holds, self.rows.slide[j], 0))
            for j, holds in enumerate(sticks)
        ]
        strong = (ca.logic_and(w[i] > 0, self.rows.gap_rate[i] < -self.least[i]) for i in range(r_N))
        hits = (ca.logic_and(self.touching[i], hit) for i, hit in enumerate(strong))
        impacts = [modes.impacts[i] + hit for i, hit in enumerate(hits)]
        side, guard = [], self.r
        for j, item in enumerate(switches.frictions):
            turned = modes.fallen[guard] if item.signed else ca.SX(0)
            guard += item.signed
            side.append(ca.if_else(turned, -modes.side[j], ca.if_else(reaction[j] < 0, -1, 1)))
        # All modes, in the order of the parameters
        first = [*bound.closed, *impacts, *sticks, *direction, *anchor, *side, *bound.rows_N]
        last = [*bound.carrier, *bound.share, 0 * modes.fallen, modes.count + 1, self.t]
        return ca.vertcat(*first, *bound.rows_T, *last), ca.vertcat(*first, *halted, *last)

    def ended(self, group: tuple[int, ...], gamma: SX) -> SX:
        """Return whether a slip has come to rest at this event; gamma: its rate after the impact, SX.

        In space it does so along the direction that its friction keeps.
        """
        fallen, begun = self.fallen_T[group[0]], self.modes.direction[list(group)]
        if len(group) == 1:
            return fallen
        return ca.logic_and(ca.logic_and(fallen, keeps(begun)), ca.dot(begun, gamma) <= NEARLY_AT_REST)

    def length(self, group: tuple[int, ...], slips: SX) -> SX:
        """Return the length of the direction of a slip: `KEPT` in space near rest, else 1; slips: all slip rates."""
        if len(group) == 1:
            return ca.SX(1)
        gamma = slips[list(group)]
        speed = ca.norm_2(gamma)
        near = ca.logic_and(speed > SLOW, speed <= 2 * NEARLY_AT_REST)
        return ca.if_else(ca.logic_and(near, ca.logic_not(self.ended(group, gamma))), KEPT, 1)

    def held(self, i: int, hits: SX) -> SX | float:
        """Return the pull up to which a gap may hold at this event; hits: whether it closes in an impact."""
        if not self.switches.gaps[i].holds:
            return 0
        touches = ca.logic_or(self.modes.closed[i], self.arrives(i, hits))
        return ca.if_else(ca.logic_or(touches, self.begins), self.pull[i], 0)

    def arrives(self, i: int, hits: SX) -> SX:
        """Return whether a gap closes at this event; hits: whether in an impact."""
        return ca.logic_or(hits, ca.logic_and(self.fallen_N[i], ca.logic_not(self.modes.closed[i])))

    def solved(
        self, name: str, x: SX, pressed: SX, choices: "list[_Choice]"
    ) -> tuple[tuple[Stage, Let, Stage], "_Chosen"]:
        """Return the stages that solve for x by its choices, and what was chosen.

        Projected Gauss-Seidel sweeps choose, and Newton's method then solves what is chosen to round-off.

        Args:
            name: name of the unknowns.
            x: SX symbols, shape (r,).
            pressed: SX symbols: whether each gap is pressed, of which choices of frictions depend, shape (r_N,).
            choices: those of gaps, then of frictions.
        """
        # Unknowns of a pass: a count, and the forces x
        gaps, frictions = choices[: self.r_N], choices[self.r_N :]
        begun = ca.SX.sym(name, 1 + self.r)
        count, first = ca.vertsplit(begun, [0, 1, begun.numel()])
        now = list(first.elements())
        # Projected value of each force: x - rate within its bounds, else the bound
        tested = _column(item.within for item in gaps)
        values: list[SX] = [
            ca.substitute(ca.if_else(item.within, x[list(item.places)] - item.rate, item.beyond(x)), pressed, tested)
            for item in choices
        ]
        # Symmetric Gauss-Seidel sweeps, repeated until the forces change no more
        sweep = list(zip(choices, values, strict=True))
        for _ in range(SWEEPS):
            for item, value in (*sweep, *reversed(sweep)):
                updated = ca.substitute(value, x, ca.vertcat(*now))
                for k, index in enumerate(item.places):
                    now[index] = updated[k]
        change = ca.vertcat(*now) - first
        going = ca.logic_and(count < PASSES, ca.norm_inf(change) > SWEPT * ca.norm_inf(ca.vertcat(*now)))
        sweeps = Stage(begun, ca.SX.zeros(begun.numel()), correction=ca.vertcat(going, change), watched=1, rough=True)

        # The choices at the end of the sweeps, held fixed
        at = [tested, *(ca.substitute(item.within, pressed, tested) for item in frictions)]
        at += [ca.SX(item.way) for item in frictions]
        (flags, *others), let = _named(f"{name}_choices", ca.substitute(at, [x], [first]))
        within, ways = others[: len(frictions)], others[len(frictions) :]
        # Newton's equations of what is chosen: the rate, or the distance to the bound
        residual = [ca.if_else(flags[i], item.rate, x[item.places[0]] - item.base) for i, item in enumerate(gaps)]
        for item, holds, way in zip(frictions, within, ways, strict=True):
            unknowns = list(item.places)
            away = item.at_limit(way if len(unknowns) == 1 else item.way)
            residual.append(ca.if_else(holds, item.rate, x[unknowns] - away))
        whole = ca.substitute(_column(residual), pressed, flags)
        last = [way if len(item.places) == 1 else ca.SX(item.way) for item, way in zip(frictions, ways, strict=True)]
        # Whether the solution meets the laws that it was chosen by
        agrees = ca.norm_inf(x - _column(values)) <= AGREED * (1 + ca.norm_inf(x))
        chosen = _Chosen([flags[i] for i in range(self.r_N)], within, last, agrees)
        return (sweeps, let, Stage(x, first, residual=whole, soft=SOFT)), chosen

    def inputs(self, forces: SX, outer: SX | None = None) -> SX:
        """Return the inputs of the plain equations, with the forces of gaps and frictions, SX, shape (r,).

        Args:
            forces: of gaps and frictions.
            outer: the other inputs, SX (default: as they are).
        """
        return self.switches.inputs(len(self.plain.inputs), self.given.u if outer is None else outer, forces)

    def projected(self, v_p: SX, modes: SX) -> SX:
        """Return the rates nearest to v_p that meet the rows of the modes."""
        dae, q, t = self.dae, self.q, self.t
        p_1 = ca.vertcat(self.modes.given, modes)
        whole = ca.vertcat(v_p, ca.SX.zeros(dae.n - self.plain.n))
        bound, offset = dae.constraints.C(q, p_1, t), dae.constraints.c(q, p_1, t)
        change, _ = SchurFactor(dae.over_mass(q, p_1), bound).solve(ca.SX(dae.n, 1), -(bound @ whole + offset))
        return whole + change


@dataclass(frozen=True)
class _Choice:
    """A force that is what it takes, so that its rate is 0, or at its limit.

    Args:
        places: numbers of the unknowns, one, or two of a friction in space.
        within: whether it is what it takes, for given values of all unknowns.
        rate: the rate, for given values of all unknowns, SX, one for each place.
        way: direction of the limit, of the shape of the rate.
        limits: size of the limit, alike in all directions (key 1), or by the sign of one, 1 or -1; None: it is 0.
        base: force from which the limit counts.
    """

    places: tuple[int, ...]
    within: SX
    rate: SX
    way: SX | float = 0
    limits: dict[int, SX] | None = None
    base: SX | float = 0

    def at_limit(self, way: SX | float) -> SX:
        """Return the value at the limit in a direction."""
        return ca.SX(self.base) + (_by_way(self.limits, way) * way if self.limits else 0)

    def beyond(self, x: SX) -> SX:
        """Return the value at the limit; x: all unknowns.

        Where the limit follows from the value itself, as far as the slope there leads: Newton's step.
        """
        outside = self.at_limit(self.way)
        if self.limits is None or len(self.limits) == 1:
            return outside
        (place,) = self.places
        return x[place] + (outside - x[place]) / (1 - ca.jacobian(outside, x[place]))


@dataclass(frozen=True)
class _Chosen:
    """The choice made for each force.

    Args:
        pressed: for each gap whether it is.
        within: for each friction whether it is what it takes.
        ways: for each friction the direction of its limit.
        agrees: whether the solution meets the laws that the choice was made by.
    """

    pressed: list[SX]
    within: list[SX]
    ways: list[SX]
    agrees: SX


@dataclass(frozen=True)
class _Resting:
    """The gaps and slips that are at rest, whatever their forces.

    Args:
        gaps: for each gap whether it does.
        frictions: for each friction whether it does.
        slips: the slip velocities, SX, shape (r_T,).
    """

    gaps: list[SX]
    frictions: list[SX]
    slips: SX


@dataclass(frozen=True)
class _Bound:
    """The gaps, frictions and rows that hold after an event.

    Args:
        closed: for each gap whether it is closed.
        sticks: for each friction whether it sticks.
        rows_N: for each gap whether its row acts.
        rows_T: for each slip velocity whether its row acts.
        carrier: for each slip velocity the number, from 1, of the one that has its force too; else 0.
        share: its slip velocity for each of that one.
    """

    closed: list[SX]
    sticks: list[SX]
    rows_N: list[SX]
    rows_T: list[SX]
    carrier: list[SX]
    share: list[SX]


def _own_masses(W: SX, Y: SX, over_mass: OverMass, switches: Switches) -> SX:
    """Return the mass that each row moves on its own, one for both rows of a pair.

    It is the inverse of the diagonal of A; or near a pose where the row moves nothing, the mass without the other
    constraints; 1 kg where it moves nothing at all.
    """
    r_N, free = len(switches.gaps), over_mass(W.T)
    inverse = []
    for i in range(W.shape[0]):
        bound, alone = ca.dot(W[i, :].T, Y[:, i]), ca.dot(W[i, :].T, free[:, i])
        inverse.append(ca.if_else(bound > LOCKED * alone, bound, alone))
    for group in switches.groups:
        mean = sum((inverse[r_N + j] for j in group), ca.SX(0)) / len(group)
        for j in group:
            inverse[r_N + j] = mean
    return ca.vertcat(ca.SX(0, 1), *(1 / ca.if_else(item > 0, item, 1) for item in inverse))


def _independent(A: SX, own_masses: SX, chosen: "_Chosen", resting: "_Resting", switches: Switches) -> "_Bound":
    """Return which rows of gaps and of sticking slip velocities act, and which hold without.

    A row is left out if those before it imply it: if little is left of its diagonal in a Cholesky factor. What touches
    at rest without a force of its own, and is kept so by the rows that act, counts as closed and sticking too.

    Args:
        A: the changes of all rates by all forces, SX, shape (r, r).
        own_masses: the mass that each row moves on its own, SX, shape (r,).
        chosen: what is pressed and what sticks by its own force.
        resting: what touches at rest.
        switches: gaps and frictions.
    """
    # Cholesky factor L L^T of A, of the rows that hold and do not depend on those before
    r_N, size = len(chosen.pressed), A.shape[0]
    holds = [*chosen.pressed]
    holds += [held for group, held in zip(switches.groups, chosen.within, strict=True) for _ in group]
    L: list[list[SX]] = []
    acting: list[SX] = []
    inverse: list[SX] = []

    def factored(i: int, row: list[SX], upto: int) -> tuple[list[SX], SX]:
        row = list(row)
        for k in range(len(row), upto):
            row.append((A[i, k] - sum((row[m] * L[k][m] for m in range(k)), ca.SX(0))) * inverse[k])
        return row, A[i, i] - sum((x**2 for x in row), ca.SX(0))

    for i in range(size):
        row, rest = factored(i, [], i)
        binds = ca.logic_and(holds[i], rest > DEPENDENT * A[i, i])
        L.append(row)
        acting.append(binds)
        inverse.append(ca.if_else(binds, 1 / ca.sqrt(ca.if_else(binds, rest, 1)), 0))
    # Rows that the acting ones imply: nothing is left of their diagonal
    implied = []
    for i in range(size):
        _, rest = factored(i, L[i], size)
        moves = A[i, i] * own_masses[i] > 1 / 2  # it is not locked by the other constraints
        implied.append(ca.logic_and(moves, rest <= DEPENDENT * A[i, i]))
    # Closed: pressed, or at rest and implied; likewise sticking
    closed = [
        ca.logic_or(pressed, ca.logic_and(still, implied[i]))
        for i, (pressed, still) in enumerate(zip(chosen.pressed, resting.gaps, strict=True))
    ]
    sticks, carrier, share = [], [ca.SX(0)] * (size - r_N), [ca.SX(0)] * (size - r_N)
    for group, held, still in zip(switches.groups, chosen.within, resting.frictions, strict=True):
        kept = still
        for j in group:
            kept = ca.logic_and(kept, ca.logic_or(implied[r_N + j], acting[r_N + j]))
        sticks.append(ca.logic_or(held, kept))
        # A slip without a row of its own takes part in the force of the one that keeps it at rest
        if len(group) == 1:
            (j,) = group
            most = ca.SX(0)
            for k in range(j):
                part = L[r_N + j][r_N + k]
                more = ca.logic_and(acting[r_N + k], ca.fabs(part) > (1 + LIKE) * most)
                most = ca.if_else(more, ca.fabs(part), most)
                carrier[j] = ca.if_else(more, k + 1, carrier[j])
                share[j] = ca.if_else(more, part * inverse[r_N + k], share[j])
            with_it = ca.logic_and(sticks[-1], ca.logic_not(acting[r_N + j]))
            carrier[j], share[j] = (ca.if_else(with_it, item, 0) for item in (carrier[j], share[j]))
    return _Bound(closed, sticks, acting[:r_N], acting[r_N:], carrier, share)


def _sizes(switches: Switches, slip: SX, p: SX, t: SX) -> Callable[[SX], SX]:
    """Return the function N -> size of each friction that slides with these slip velocities."""
    speed = ca.SX.zeros(len(switches.frictions))
    for group in switches.groups:
        size = ca.norm_2(ca.vertcat(*(slip[j] for j in group)))
        for j in group:
            speed[j] = size
    return lambda normal: switches.sliding(speed, normal, p, t)


def _by_way(limits: dict[int, SX], way: SX | float) -> SX:
    """Return the limit in a direction, of those by its sign; see `_Choice`."""
    return limits[1] if len(limits) == 1 else ca.if_else(ca.SX(way) < 0, limits[-1], limits[1])


def _unit(x: SX) -> SX:
    """Return the direction of a number or vector; 0 of 0."""
    if x.numel() == 1:
        return ca.sign(x)
    size = ca.norm_2(x)
    return x / ca.if_else(size > 0, size, 1)


def _column(items: Iterable[SX]) -> SX:
    return ca.vertcat(ca.SX(0, 1), *items)


def _named(name: str, values: list[SX]) -> tuple[list[SX], Let]:
    """Return symbols for some values, of the same shapes, and what computes them once."""
    dense = [ca.densify(ca.SX(item)) for item in values]
    column = ca.vertcat(ca.SX(0, 1), *(ca.vec(item) for item in dense))
    symbols = ca.SX.sym(name, column.numel())
    offsets = [0]
    for item in dense:
        offsets.append(offsets[-1] + item.numel())
    parts = ca.vertsplit(symbols, offsets)
    return [ca.reshape(part, *item.shape) for part, item in zip(parts, dense, strict=True)], Let(symbols, column)

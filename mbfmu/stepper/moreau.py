"""moreau: time stepping with impulses for many contacts, with gaps and joints projected on positions and velocities."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.dae.dae import Dae
from mbfmu.dae.events.modes import Rows
from mbfmu.dae.events.stepping import RESIDUALS
from mbfmu.dae.formula import Formula, Let
from mbfmu.dae.linear_algebra.kkt import SchurFactor
from mbfmu.dae.parts.gaps import Switches
from mbfmu.stepper.energy_limit import energy_limit
from mbfmu.stepper.passes import JAMMED, Numbers, Passes, accelerated, function_of, parts_of
from mbfmu.stepper.scheme import SX, Choice, Family, Problem, Scheme, Stage

FINE = 1e-3
"""Unit of velocities and positions in the test of convergence: passes that converge slowly continue until 1e-12."""
FINE_IMPULSE = 0.05
"""Unit of impulses in the test of convergence, which may grow while velocities rest: contact laws hold to 5e-11."""
SLOW = 1e-10
"""Largest slip velocity, m/s or rad/s, that counts as sticking at the start of a step."""
LOCKED = 1e-6
"""Smallest mobility of a row that scales its impulse, relative to its mobility without the other constraints."""
SHORT = 1e-20
"""Squared change of the coordinates so small that discrete gradients are those at the midpoint."""


def moreau(dae: Dae) -> Scheme:
    """Return the scheme of Moreau and Jean with combined projection, of order 1, or 2 without contacts.

    (Moreau, Unilateral contact and dry friction in finite freedom dynamics, CISM 302, 1988; Jean, Comput. Methods Appl.
    Mech. Eng. 177, 1999; Acary, Comput. Methods Appl. Mech. Eng. 256, 2013.) With means m over the step, at which all
    rows are taken, C = [Phi_q; G], gaps g >= 0 and slips gamma_T:

        M(q_m) (v_1 - v_0) = h force(q_m, v_m) + W_N^T Lambda_N + W_T^T Lambda_T - C^T lambda - C_1^T nu
        q_1 = q_0 + h v_m + M^-1 (W_N^T tau - Phi_q^T mu)
        C v_m + c = 0,    C_1 v_1 + c_1 = 0,    Phi(q_1) = 0
        0 <= Lambda_N  and  gdot_1 >= b,    0 <= tau  and  g(q_1) >= 0,    one of each pair zero
        |Lambda_T| <= F(Lambda_N),    gamma_T1 = 0 or Lambda_T at the limit, against gamma_T1

    The impulses act where a gap is closed or would close in the step. There b = -e gdot_0 if it approaches faster than
    what rests can within a step; else b = min(0, -gdot_0 - 2 g_0/h), so that it is closed at the end of the step.
    Either way Lambda_N (gdot_0 + gdot_1) <= 0: no impact without friction adds energy, however many there are at once.
    Where the impulse of a bounce is far above that of an impact alone, b yields: with friction, bodies may be jammed so
    that no impulses would do. The sizes of frictions are those of the slip velocities at the start of the step.

    In the end `energy_limit` slows the motion where it would gain energy, as with friction it may.

    Each correction makes all rows again for the step end so far, and takes Gauss-Seidel passes over all contacts, on
    velocities and on positions, which reduced rank extrapolation accelerates (Smith, Ford & Sidi, SIAM Rev. 29, 1987).
    State x = [q; v; z]; z has the mean forces of the contacts.

    Args:
        dae: the equations.
    """
    problem = Problem(dae, ca.MX)
    given, t, h, n = problem.given, problem.t, problem.h, problem.n
    contacts = _Contacts(dae)
    r, r_N = contacts.r, contacts.r_N
    x = ca.MX.sym("x", problem.n_y)
    q, v, z = problem.split(x)
    states, forces, _ = contacts.split(z)

    # which gaps act and bounce, and which frictions stick: decided at the start of the step, once
    ahead = ca.MX.sym("ahead", contacts.ahead.numel_out(0))
    first = Let(ahead, contacts.ahead(x, problem.u(t), given.p, t, h))
    fine = FINE * ca.vertcat(ca.DM.ones(2 * n), ca.DM(dae.nominal_states)[contacts.state_indices])
    fine = ca.vertcat(fine, FINE_IMPULSE * ca.DM.ones(r))
    y = ca.MX.sym("y", fine.numel() + r_N + n)
    scaled = ca.vertcat(fine, ca.DM.ones(r_N + n)) * y
    v_1, q_1, z_1, w, tau, closing = parts_of(scaled, (n, n, states.numel(), r, r_N, n))

    def rows(q_1: Any, v_1: Any, z_1: Any) -> Any:
        return contacts.ends.call([q_1, v_1, z_1, x, problem.u(t + h / 2), ahead, given.p, t, h])

    # velocities without impulses, v_f, moved by the multipliers that close C v_1 + c = 0
    v_f, missing, q_f, flown, data, gaps = rows(q_1, v_1, z_1)
    closing = closing + missing
    v_f = v_f + closing
    v_2, w_2, tau_2 = v_f, w, tau
    if r:
        # impulses w of contacts by Gauss-Seidel passes: v_2 = v_f + M^-1 W^T w
        law = data, given.p, t, h
        w_2 = accelerated(lambda w, v: contacts.pass_v(w, v, *law), contacts.moved, w, v_f, data)
        v_2 = contacts.moved(w_2, v_f, data)
    # positions q_2 = q_f + h/2 (v_2 - v_1), and impulses tau that keep gaps open: q_2 + M^-1 W_N^T tau
    q_2 = q_f + h / 2 * (v_2 - v_1)
    if r_N:
        tau_2 = accelerated(lambda w, q: contacts.pass_q(w, q, data, gaps), contacts.pushed, tau, q_2, data)
        q_2 = contacts.pushed(tau_2, q_2, data)
    # fixed point of (v, q, z, w, tau), in units in which 1 is fine enough; the guess is a free flight
    better = ca.vertcat(ca.vertcat(v_2, q_2, states + h * flown, w_2) / fine, tau_2, closing)

    *_, start, _ = rows(q + h * v, v, states)
    guess = ca.vertcat(v, q + h * v, states, *([contacts.impulses(forces, start, h)] if r else []))
    stage = Stage(y, ca.vertcat(guess / fine, ca.MX.zeros(r_N + n)), correction=better - y, watched=fine.numel())
    *_, data, _ = rows(q_1, v_1, z_1)
    # mean forces and residuals of the laws, which the next step begins with
    measured = contacts.measured(v_1, w, data, given.p, t, h) if r else ca.MX(0, 1)
    limit = energy_limit(dae) if r else None
    if limit:
        # touched: no more energy than the forces put in
        z_m = contacts.joined((states + z_1) / 2, ca.MX.zeros(z.numel() - states.numel()))
        limited = limit(q, v, z_m, q_1, v_1, problem.u(t + h / 2), given.p, t, h)
        touched = ca.norm_1(ca.vertcat(w, tau)) > 0
        q_1, v_1 = (ca.if_else(touched, *pair) for pair in zip(limited, (q_1, v_1), strict=True))
    return Scheme(
        name="moreau",
        options={},
        order=1 if r else 2,
        exact=frozenset({"position", "velocity"}),
        begin=Formula(x, given, (), x),
        step=Formula(x, given, (first, stage), ca.vertcat(q_1, v_1, contacts.joined(z_1, measured))),
        read=ca.Function("read", [x, given.p, t], [*problem.split(x)]),
    )


class _Contacts:
    """The functions of a step, with the impulses of gaps and slips in units of the rates that they change.

    Args:
        dae: the equations.

    Attributes:
        r, r_N: number of rows, and of those of gaps.
        state_indices: indices in z of the states that are not those of contacts.
        ahead: what holds throughout the step.
        ends: what the end of the step gives: velocities, places, and the rows.
        pass_v, pass_q: a pass over all contacts, on velocities and on positions.
        moved, pushed: velocities and places with impulses.
        measured: mean forces and residuals.
    """

    def __init__(self, dae: Dae) -> None:
        self.dae = dae
        self.switches = dae.switches
        self.r_N = len(dae.switches.gaps) if dae.switches else 0
        self.r_T = len(dae.switches.frictions) if dae.switches else 0
        self.r = self.r_N + self.r_T
        start = dae.switches.forces if dae.switches else dae.n_z
        assert start is not None
        self._first, self._count = start, (self.r + len(RESIDUALS) if self.r else 0)
        self.state_indices = [k for k in range(dae.n_z) if not start <= k < start + self._count]
        n = dae.n
        self._x = ca.SX.sym("x", 2 * n + dae.n_z)
        self._q, self._v, self._z = parts_of(self._x, (n, n, dae.n_z))
        self._u, self._p, self._t, self._h = (
            ca.SX.sym(*item) for item in (("u", len(dae.inputs)), ("p", dae.n_p), ("t", 1), ("h", 1))
        )
        self._held = ca.SX.sym("ahead", 2 * self.r_N + 3 * self.r_T + self.r_N)
        (
            self._active, self._bounces, self._closed_gap, self._slow, self._speed, self._limit
        ) = parts_of(self._held, (self.r_N, self.r_N, self.r_N, self.r_T, self.r_T, self.r_T))  # fmt: skip
        self.ahead = self._ahead()
        self._passes: Passes | None = None
        self.ends = self._ends()
        if self._passes:
            self.pass_v: Any = self._passes.on_velocities()
            self.moved: Any = self._passes.moved(gaps_alone=False)
            self.pass_q: Any = self._passes.on_positions()
            self.pushed: Any = self._passes.moved(gaps_alone=True)
            self.impulses: Any = self._passes.impulses()
            self.measured: Any = self._passes.measured()

    def split(self, z: Any) -> tuple[Any, Any, Any]:
        """Return the states that are not those of contacts, the mean forces and the residuals."""
        before, forces, residuals, after = parts_of(
            z, (self._first, self.r, self._count - self.r, self.dae.n_z - self._first - self._count)
        )
        return ca.vertcat(before, after), forces, residuals

    def joined(self, states: Any, of_contacts: Any) -> Any:
        """Return z from the states that are not those of contacts, and from their mean forces and residuals."""
        before, after = parts_of(states, (self._first, states.numel() - self._first))
        return ca.vertcat(before, of_contacts, after)

    def _ahead(self) -> Any:
        """Return (x, u, p, t, h) -> which gaps act, and which bounce; gaps, frictions at rest, slips, limits."""
        dae, switches = self.dae, self.switches
        q, v, z, u, p, t, h = self._q, self._v, self._z, self._u, self._p, self._t, self._h
        ahead = ca.SX(0, 1)
        if switches:
            rows = Rows(dae, q, v, p, t)
            states, forces, _ = self.split(z)
            bare = self.joined(states, ca.SX.zeros(self._count))
            # gaps that act: closed now, or after a free flight of a step, within the reach of its acceleration
            change = h * dae.acceleration(q, v, bare, u, p, t)[0]
            later = switches.gap(q + h * (v + change / 2), p, t + h)
            reach = ca.fabs(rows.W_N) @ ca.fabs(change)
            active = ca.fmin(rows.gap, later) <= h / 2 * reach
            # gaps that bounce: they close faster than their speed of rest
            bounces = rows.gap_rate < -ca.fmax(switches.rest(p), reach)
            # normal forces of frictions without a gap, from the forces of the step before
            a, lambda_ = dae.acceleration(q, v, z, u, p, t)
            inputs = [*(item.input for item in switches.gaps), *(item.input for item in switches.frictions)]
            inner = {input_: index for index, input_ in enumerate(inputs)}
            outside = iter(range(u.numel()))
            size = u.numel() + len(inner)
            acting = [forces[inner[k]] if k in inner else u[next(outside)] for k in range(size)]
            normal = switches.normal(
                q, v, z[: switches.normal.numel_in(2)], a, lambda_, ca.vertcat(ca.SX(0, 1), *acting), p, t
            )
            # limits of friction: static at rest, else sliding
            speed = ca.SX.zeros(self.r_T)
            for group in switches.groups:
                for j in group:
                    speed[j] = ca.norm_2(ca.vertcat(*(rows.slip[k] for k in group)))
            slow, N = speed <= SLOW, ca.fabs(normal)
            limit = h * ca.if_else(slow, switches.static(N, p, t), switches.sliding(speed, N, p, t))
            ahead = ca.vertcat(active, bounces, rows.gap, slow, speed, limit)
        return function_of("ahead", [self._x, u, p, t, h], [ahead])

    def _ends(self) -> Any:
        """Return (q_1, v_1, z_1, x, u, ahead, p, t, h) -> what the end of the step gives.

        That is: velocities without impulses, what they lack of the constraints, places without impulses on positions,
        means of z', nonzeros of the rows and of the changes by impulses, own masses with offsets and bounds, and gaps.
        """
        dae, switches, n = self.dae, self.switches, self.dae.n
        q, v, z, u, p, t, h = self._q, self._v, self._z, self._u, self._p, self._t, self._h
        q_1, v_1 = ca.SX.sym("q_1", n), ca.SX.sym("v_1", n)
        own_1 = ca.SX.sym("z_1", len(self.state_indices))
        states, _, _ = self.split(z)
        # midpoint of the step, and z' there: z_1 = z + h z'(q_m, v_m, (z + z_1)/2)
        middle, end = t + h / 2, t + h
        q_m, v_m = (q + q_1) / 2, (v + v_1) / 2
        zero = ca.SX.zeros(self._count)
        flown = dae.equations.flow(q_m, v_m, self.joined((states + own_1) / 2, zero), u, p, middle)
        flown = self.split(flown)[0]
        over = dae.over_mass(q_m, p)
        P, C = dae.constraints.Phi_q(q_1, p, end), dae.constraints.C(q_1, p, end)
        c, C_m, c_m = (
            dae.constraints.c(q_1, p, end),
            dae.constraints.C(q_m, p, middle),
            dae.constraints.c(q_m, p, middle),
        )
        factor, closing = SchurFactor(over, C_m), SchurFactor(over, C)
        placing = SchurFactor(over, P) if dae.k else closing
        # free velocities, constrained at the midpoint: C_m (v + v_f)/2 + c_m = 0
        free = v + h * dae.equations.free_acceleration(q_m, v_m, self.joined((states + own_1) / 2, zero), u, p, middle)
        v_f, _ = factor.constrained(free, -2 * c_m - C_m @ v)
        # closing impulses at the end of the step: C v_1 + c = 0
        missing, _ = closing.solve(ca.SX(n, 1), -c - C @ v_1)
        # positions without impulses, projected: P (q - q_1) + Phi(q_1) = 0
        q_f = q + h * v_m
        shift, _ = placing.solve(ca.SX(n, 1), -dae.constraints.Phi(q_1, p, end) - P @ (q_f - q_1))
        results = [v_f, missing, q_f + shift, flown]
        if switches:
            rows = Rows(dae, q_m, v, p, middle)
            gap = switches.gap(q_1, p, end)
            # rows of gaps as discrete gradients, W_N (q_1 - q) = change of the gaps, and the responses Y = M^-1 W^T
            W_N = _discrete(rows.W_N, q_1 - q, lambda s: switches.gap(q_m + s * (q_1 - q), p, middle + s * h))
            W = ca.sparsify(ca.vertcat(W_N, rows.W_T))
            free_of_joints = over(W.T)
            Y = self._responses(factor, free_of_joints)
            own_mass = _own_masses(W, Y, free_of_joints, switches)
            # bounds of the gap rates at the end: Newton's restitution where a gap bounces, else no overlap after it
            slow = -(W_N @ v + rows.gap_t)
            bound = ca.if_else(
                self._bounces, switches.restitution(p) * slow, ca.fmin(0, slow - 2 * ca.fmax(self._closed_gap, 0) / h)
            )
            most = JAMMED * ca.fmax(0, bound - (W_N @ v_f + rows.gap_t))
            Y = ca.sparsify(Y @ ca.diag(own_mass))
            self._passes = Passes(switches, W.sparsity(), Y.sparsity(), dae.n_p)
            held = (self._active, self._bounces, self._slow, self._speed, self._limit)
            numbers = (_nonzeros(W), _nonzeros(Y), own_mass, ca.vertcat(rows.gap_t, rows.slip_0), bound, most, *held)
            results += [self._passes.pack(Numbers(*numbers)), gap - W_N @ q_1]
        else:
            results += [ca.SX(0, 1)] * 2
        return function_of("ends", [q_1, v_1, own_1, self._x, u, self._held, p, t, h], results)

    def _responses(self, factor: SchurFactor, free: SX) -> SX:
        columns = [factor.constrained(free[:, i], ca.SX(factor.C.shape[0], 1))[0] for i in range(free.shape[1])]
        return ca.sparsify(ca.horzcat(ca.SX(self.dae.n, 0), *columns))


def _discrete(W: SX, way: SX, gaps: Callable[[SX], SX]) -> SX:
    """Return rows that give the changes of gaps over a way to its fourth power, on the pattern of those at its middle.

    (After the discrete gradient of Gonzalez, J. Nonlinear Sci. 6, 1996.) With them a body that rolls on another gains
    no energy by its constraint.

    Args:
        W: the rows at the middle, shape (r_N, n).
        way: change of the coordinates, shape (n,).
        gaps: function of the place on the way, from -1/2 to 1/2 -> gaps, shape (r_N,).
    """
    s, rows = ca.SX.sym("s"), []
    bent = gaps(s)
    for _ in range(3):
        bent = ca.jacobian(bent, s)
    bent = ca.densify(ca.substitute(bent, s, 0)) / 24
    for i in range(W.shape[0]):
        weighted = ca.SX(W[i, :].sparsity(), 1) * way.T
        rows.append(W[i, :] + bent[i] / (ca.sumsqr(weighted) + SHORT) * weighted)
    return ca.vertcat(ca.SX(0, W.shape[1]), *rows)


def _own_masses(W: SX, Y: SX, free: SX, switches: Switches) -> SX:
    """Return the mass that each row moves on its own, one for both rows of a pair; 1 kg where it moves nothing."""
    r_N = len(switches.gaps)
    inverse = [ca.fmax(ca.dot(W[i, :].T, Y[:, i]), LOCKED * ca.dot(W[i, :].T, free[:, i])) for i in range(W.shape[0])]
    for group in switches.groups:
        largest = inverse[r_N + group[0]]
        for j in group[1:]:
            largest = ca.fmax(largest, inverse[r_N + j])
        for j in group:
            inverse[r_N + j] = largest
    return ca.vertcat(ca.SX(0, 1), *(1 / ca.if_else(item > 0, item, 1) for item in inverse))


def _nonzeros(matrix: SX) -> SX:
    """Return the nonzeros of a matrix as a column."""
    return ca.vertcat(ca.SX(0, 1), *matrix.nonzeros())


@dataclass(frozen=True)
class Moreau(Choice):
    """The stepper `moreau`, which has no options."""

    name: ClassVar[str] = "moreau"


FAMILY = Family(
    choice=Moreau,
    make=moreau,
    states=True,
    contacts=True,
    order="1; without contacts 2",
    preserves="position and velocity constraints at every step end, and gaps that stay open or closed",
    needs="any model whose forces are not stiff for the step; the stepper for many contacts",
    source="Moreau, CISM 302 (1988); Jean (1999); Acary, CMAME 256 (2013)",
)

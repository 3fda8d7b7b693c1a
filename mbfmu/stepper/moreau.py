"""moreau: time stepping with impulses for many contacts, with gaps and joints projected on positions and velocities."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import casadi as ca

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Formula, Let
from mbfmu.dae.kkt import SchurFactor
from mbfmu.dae.stepped import RESIDUALS
from mbfmu.dae.switched import Rows, eliminated
from mbfmu.dae.switches import Switches
from mbfmu.stepper.energy_limit import energy_limit
from mbfmu.stepper.scheme import SX, Choice, Family, Problem, Scheme, Stage

PASSES = 16
"""Number of passes over all contacts in each correction."""
FINE = 1e-3
"""Unit of the unknowns that decide about convergence, so that passes that converge slowly go on until 1e-12."""
FINE_IMPULSE = 0.05
"""The same for impulses, which may still grow while velocities rest: the laws of contact are then met to 5e-11."""
SLOW = 1e-10
"""Largest slip rate, m/s or rad/s, that sticks at the start of a step."""
LOCKED = 1e-6
"""Least mobility of a row, relative to that without the other constraints, that its unknown impulse is scaled by."""
REGULAR = 1e-13
"""Part of its trace that is added to the matrix of an extrapolation, which is singular where passes differ little."""
SHORT = 1e-20
"""Square of a way that is so short that rows are those at its middle."""
JAMMED = 2.0
"""Impulse of a bounce beyond which it yields, over that of an impact without others and without friction."""
YIELDING = 0.3
"""Part of what a jammed impulse has in excess, as a rate, by which the speed of the bounce yields."""
AT_REST = 1e-200
"""Square of a change, of which that of passes at rest is a small part."""


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
    that no impulses would do. The sizes of frictions are those of the slip rates at the start of the step.

    In the end `energy_limit` slows the motion where it would gain energy, as with friction it may.

    Each correction makes all rows anew for the step end so far, and takes Gauss-Seidel passes over all contacts, on
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
    own, forces, _ = contacts.split(z)

    ahead = ca.MX.sym("ahead", contacts.ahead.numel_out(0))
    first = Let(ahead, contacts.ahead(x, problem.u(t), given.p, t, h))
    fine = FINE * ca.vertcat(ca.DM.ones(2 * n), ca.DM(dae.nominal_states)[contacts.own_places])
    fine = ca.vertcat(fine, FINE_IMPULSE * ca.DM.ones(r))
    y = ca.MX.sym("y", fine.numel() + r_N + n)
    v_1, q_1, z_1, w = _parts(y[: fine.numel()] * fine, n, n, own.numel(), r)
    tau, closing = _parts(y[fine.numel() :], r_N, n)

    def rows(q_1: Any, v_1: Any, z_1: Any) -> Any:
        return contacts.ends.call([q_1, v_1, z_1, x, problem.u(t + h / 2), ahead, given.p, t, h])

    v_f, missing, q_f, flown, W, Y, numbers, gaps = rows(q_1, v_1, z_1)
    closing = closing + missing
    v_f = v_f + closing
    law = (W, Y, numbers, ahead, given.p, t, h)
    w_2 = _accelerated(lambda w, v: contacts.pass_v(w, v, *law), contacts.moved, w, v_f, (Y,)) if r else w
    v_2 = contacts.moved(w_2, v_f, Y) if r else v_f
    q_f = q_f + h / 2 * (v_2 - v_1)
    tau_2, q_2 = tau, q_f
    if r_N:
        push = Y[: contacts.pushes]
        tau_2 = _accelerated(
            lambda w, q: contacts.pass_q(w, q, W, push, gaps), contacts.pushed, tau, q_f, (push,)
        )  # fmt: skip
        q_2 = contacts.pushed(tau_2, q_f, push)
    better = ca.vertcat(ca.vertcat(v_2, q_2, own + h * flown, w_2) / fine, tau_2, closing)

    _, _, _, _, _, _, start, _ = rows(q + h * v, v, own)
    guess = ca.vertcat(v, q + h * v, own, *([h * forces / start[:r]] if r else []))
    stage = Stage(y, ca.vertcat(guess / fine, ca.MX.zeros(r_N + n)), correction=better - y, watched=fine.numel())
    _, _, _, _, W, _, numbers, _ = rows(q_1, v_1, z_1)
    found = contacts.found(v_1, w, W, numbers, ahead, given.p, t, h) if r else ca.MX(0, 1)
    limit = energy_limit(dae) if r else None
    if limit:
        z_m = contacts.joined((own + z_1) / 2, ca.MX.zeros(z.numel() - own.numel()))
        limited = limit(q, v, z_m, q_1, v_1, problem.u(t + h / 2), given.p, t, h)
        touched = ca.norm_1(ca.vertcat(w, tau)) > 0
        q_1, v_1 = (ca.if_else(touched, *pair) for pair in zip(limited, (q_1, v_1), strict=True))
    return Scheme(
        name="moreau",
        options={},
        order=1 if r else 2,
        exact=frozenset({"position", "velocity"}),
        begin=Formula(x, given, (), x),
        step=Formula(x, given, (first, stage), ca.vertcat(q_1, v_1, contacts.joined(z_1, found))),
        read=ca.Function("read", [x, given.p, t], [*problem.split(x)]),
    )


class _Contacts:
    """The functions of a step, with the impulses of gaps and slips in units of the rates that they change.

    Args:
        dae: the equations.

    Attributes:
        r, r_N: number of rows, and of those of gaps.
        own_places: places in z of the states that are not those of contacts.
        ahead: what holds throughout the step.
        ends: what the end of the step gives: velocities, places, and the rows.
        pass_v, pass_q: a pass over all contacts, on velocities and on positions.
        moved, pushed: velocities and places with impulses.
        found: mean forces and residuals.
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
        self.own_places = [k for k in range(dae.n_z) if not start <= k < start + self._count]
        n = dae.n
        self._x = ca.SX.sym("x", 2 * n + dae.n_z)
        self._q, self._v, self._z = _parts(self._x, n, n, dae.n_z)
        self._u, self._p, self._t, self._h = (
            ca.SX.sym(*item) for item in (("u", len(dae.inputs)), ("p", dae.n_p), ("t", 1), ("h", 1))
        )
        self._held = ca.SX.sym("ahead", 2 * self.r_N + 3 * self.r_T + self.r_N)
        (
            self._active, self._bounces, self._closed_gap, self._slow, self._speed, self._limit
        ) = _parts(self._held, self.r_N, self.r_N, self.r_N, self.r_T, self.r_T, self.r_T)  # fmt: skip
        self.ahead = self._ahead()
        self.ends = self._ends()
        if self.r:
            self.pass_v, self.moved = self._pass_v(), self._with("moved", self._patterns[1], self.r)
            self.found = self._found()
        if self.r_N:
            self.pass_q, self.pushed = self._pass_q(), self._with("pushed", self._patterns[2], self.r_N)

    def split(self, z: Any) -> tuple[Any, Any, Any]:
        """Return the states that are not those of contacts, the mean forces and the residuals."""
        before, forces, residuals, after = _parts(
            z, self._first, self.r, self._count - self.r, self.dae.n_z - self._first - self._count
        )
        return ca.vertcat(before, after), forces, residuals

    def joined(self, own: Any, found: Any) -> Any:
        """Return z from the states that are not those of contacts, and what is found."""
        before, after = _parts(own, self._first, own.numel() - self._first)
        return ca.vertcat(before, found, after)

    def _ahead(self) -> Any:
        """Return (x, u, p, t, h) -> which gaps act, and which bounce; gaps, frictions at rest, slips, limits."""
        dae, switches = self.dae, self.switches
        q, v, z, u, p, t, h = self._q, self._v, self._z, self._u, self._p, self._t, self._h
        found = ca.SX(0, 1)
        if switches:
            rows = Rows(dae, q, v, p, t)
            own, forces, _ = self.split(z)
            bare = self.joined(own, ca.SX.zeros(self._count))
            change = h * dae.acceleration(q, v, bare, u, p, t)[0]
            later = switches.gap(q + h * (v + change / 2), p, t + h)
            reach = ca.fabs(rows.W_N) @ ca.fabs(change)
            active = ca.fmin(rows.gap, later) <= h / 2 * reach
            bounces = rows.gap_rate < -ca.fmax(switches.rest(p), reach)
            a, lambda_ = dae.acceleration(q, v, z, u, p, t)
            inputs = [*(item.input for item in switches.gaps), *(item.input for item in switches.frictions)]
            inner = {number: place for place, number in enumerate(inputs)}
            outside = iter(range(u.numel()))
            size = u.numel() + len(inner)
            acting = [forces[inner[k]] if k in inner else u[next(outside)] for k in range(size)]
            normal = switches.normal(
                q, v, z[: switches.normal.numel_in(2)], a, lambda_, ca.vertcat(ca.SX(0, 1), *acting), p, t
            )
            speed = ca.SX.zeros(self.r_T)
            for group in switches.groups:
                for j in group:
                    speed[j] = ca.norm_2(ca.vertcat(*(rows.slip[k] for k in group)))
            slow, N = speed <= SLOW, ca.fabs(normal)
            limit = h * ca.if_else(slow, switches.static(N, p, t), switches.sliding(speed, N, p, t))
            found = ca.vertcat(active, bounces, rows.gap, slow, speed, limit)
        return _function("ahead", [self._x, u, p, t, h], [found])

    def _ends(self) -> Any:
        """Return (q_1, v_1, z_1, x, u, ahead, p, t, h) -> what the end of the step gives.

        That is: velocities without impulses, what they lack of the constraints, places without impulses on positions,
        means of z', nonzeros of the rows and of the changes by impulses, own masses with offsets and bounds, and gaps.
        """
        dae, switches, n = self.dae, self.switches, self.dae.n
        q, v, z, u, p, t, h = self._q, self._v, self._z, self._u, self._p, self._t, self._h
        q_1, v_1 = ca.SX.sym("q_1", n), ca.SX.sym("v_1", n)
        own_1 = ca.SX.sym("z_1", len(self.own_places))
        own, _, _ = self.split(z)
        middle, end = t + h / 2, t + h
        q_m, v_m = (q + q_1) / 2, (v + v_1) / 2
        zero = ca.SX.zeros(self._count)
        flown = dae.flow(q_m, v_m, self.joined((own + own_1) / 2, zero), u, p, middle)
        flown = self.split(flown)[0]
        over = dae.over_mass(q_m, p)
        P, C = dae.Phi_q(q_1, p, end), ca.vertcat(dae.Phi_q(q_1, p, end), dae.G(q_1, p, end))
        c = ca.vertcat(dae.Phi_t(q_1, p, end), dae.g(q_1, p, end))
        C_m = ca.vertcat(dae.Phi_q(q_m, p, middle), dae.G(q_m, p, middle))
        c_m = ca.vertcat(dae.Phi_t(q_m, p, middle), dae.g(q_m, p, middle))
        factor, closing = SchurFactor(over, C_m), SchurFactor(over, C)
        placing = SchurFactor(over, P) if dae.k else closing
        free = v + h * dae.free_acceleration(q_m, v_m, self.joined((own + own_1) / 2, zero), u, p, middle)
        v_f, _ = factor.constrained(free, -2 * c_m - C_m @ v)
        missing, _ = closing.solve(ca.SX(n, 1), -c - C @ v_1)
        q_f = q + h * v_m
        shift, _ = placing.solve(ca.SX(n, 1), -dae.Phi(q_1, p, end) - P @ (q_f - q_1))
        results = [v_f, missing, q_f + shift, flown]
        if switches:
            rows = Rows(dae, q_m, v, p, middle)
            gap = switches.gap(q_1, p, end)
            W_N = _discrete(rows.W_N, q_1 - q, lambda s: switches.gap(q_m + s * (q_1 - q), p, middle + s * h))
            W = ca.sparsify(ca.vertcat(W_N, rows.W_T))
            Y = self._responses(factor, W)
            own_mass = _own_masses(W, Y, over(W.T), switches)
            slow = -(W_N @ v + rows.gap_t)
            bound = ca.if_else(
                self._bounces, switches.restitution(p) * slow, ca.fmin(0, slow - 2 * ca.fmax(self._closed_gap, 0) / h)
            )
            most = JAMMED * ca.fmax(0, bound - (W_N @ v_f + rows.gap_t))
            Y = ca.sparsify(Y @ ca.diag(own_mass))
            Y_p = Y[:, : self.r_N]
            offset = ca.vertcat(rows.gap_t, rows.slip_0)
            self._patterns = W.sparsity(), Y.sparsity(), Y_p.sparsity()
            self.pushes = Y_p.nnz()
            gaps = gap - W_N @ q_1
            results += [_nonzeros(W), _nonzeros(Y), ca.vertcat(own_mass, offset, bound, most), gaps]
        else:
            results += [ca.SX(0, 1)] * 4
        return _function("ends", [q_1, v_1, own_1, self._x, u, self._held, p, t, h], results)

    def _responses(self, factor: SchurFactor, W: SX) -> SX:
        columns = [factor.solve(W[i, :].T, ca.SX(factor.C.shape[0], 1))[0] for i in range(W.shape[0])]
        return ca.sparsify(ca.horzcat(ca.SX(self.dae.n, 0), *columns))

    def _with(self, name: str, pattern: Any, count: int) -> Any:
        """Return the Function (w, start, Y) -> start + Y w."""
        w, start, Y = ca.SX.sym("w", count), ca.SX.sym("start", self.dae.n), ca.SX.sym("Y", pattern.nnz())
        return _function(name, [w, start, Y], [start + ca.SX(pattern, Y) @ w])

    def _numbers(self) -> tuple[SX, tuple[SX, SX, SX, SX]]:
        """Return symbols of own masses, offsets, bounds and largest impulses of bounces, whole and in parts."""
        numbers = ca.SX.sym("numbers", 2 * self.r + 2 * self.r_N)
        own_mass, offset, bound, most = _parts(numbers, self.r, self.r, self.r_N, self.r_N)
        return numbers, (own_mass, offset, bound, most)

    def _limits(self, own_mass: SX, w: Sequence[SX]) -> Callable[[int], SX]:
        """Return the map from the number of a slip rate to the limit of its impulse, in units of its own mass."""
        switches, p, t, h = self.switches, self._p, self._t, self._h
        assert switches is not None
        N, speed = ca.SX.sym("N", self.r_T), ca.SX.sym("speed", self.r_T)
        static, sliding = switches.static(N, p, t), switches.sliding(speed, N, p, t)

        def limit(j: int) -> SX:
            gap = switches.frictions[j].gap
            if gap is None:
                return self._limit[j] / own_mass[self.r_N + j]
            pressing = own_mass[gap] * w[gap] / h
            size = ca.if_else(self._slow[j], static[j], sliding[j])
            (size,) = ca.substitute([size], [N, speed], [_only(N, j, pressing), _only(speed, j, self._speed[j])])
            return h * size / own_mass[self.r_N + j]

        return limit

    def _pass_v(self) -> Any:
        """Return the Function (w, v, W, Y, numbers, ahead, p, t, h) -> w and v after a pass."""
        switches, r_N = self.switches, self.r_N
        assert switches is not None
        inner, (W, Y, w, v), rates, change = self._sweep(self._patterns[1], self.r, self._patterns[0])
        numbers, (own_mass, offset, bound, most) = self._numbers()
        limit = self._limits(own_mass, w)
        by_gap: dict[int | None, list[tuple[int, ...]]] = {}
        for group in switches.groups:
            by_gap.setdefault(switches.frictions[group[0]].gap, []).append(group)
        for i in [*range(r_N), None]:
            if i is not None:
                wanted = ca.fmax(0, w[i] - (rates(i) + offset[i] - bound[i]))
                more = ca.fmax(0, wanted - most[i])
                wanted -= ca.if_else(self._bounces[i], YIELDING / (1 + YIELDING) * more, 0)
                change(i, ca.if_else(self._active[i], wanted, 0))
            for group in by_gap.get(i, []):
                places = [r_N + j for j in group]
                ahead = [w[k] - (rates(k) + offset[k]) for k in places]
                largest = limit(group[0])
                size = ca.norm_2(ca.vertcat(*ahead))
                factor = ca.if_else(size > largest, largest / ca.if_else(size > 0, size, 1), 1)
                for k, item in zip(places, ahead, strict=True):
                    change(k, factor * item)
        given = [*inner, W, Y, numbers, self._held, self._p, self._t, self._h]
        return _function("pass_v", given, [ca.vertcat(*w), ca.vertcat(*v)])

    def _pass_q(self) -> Any:
        """Return the Function (tau, q, W, Y, gaps) -> tau and q after a pass."""
        inner, (W, Y, w, q), places, change = self._sweep(self._patterns[2], self.r_N, self._patterns[0])
        gaps = ca.SX.sym("gaps", self.r_N)
        for i in range(self.r_N):
            change(i, ca.fmax(0, w[i] - (places(i) + gaps[i])))
        return _function("pass_q", [*inner, W, Y, gaps], [ca.vertcat(*w), ca.vertcat(*q)])

    def _sweep(self, changes: Any, count: int, rows: Any) -> Any:
        """Return the symbols of a pass, and the maps that give the rate of a row and change its impulse."""
        w, v = ca.SX.sym("w", count), ca.SX.sym("v", self.dae.n)
        W, Y = ca.SX.sym("W", rows.nnz()), ca.SX.sym("Y", changes.nnz())
        across, own_w, own_v = ca.SX(rows, W).T, w.elements(), v.elements()
        along = ca.SX(changes, Y)

        def rates(i: int) -> SX:
            column = across[:, i]
            terms = zip(column.sparsity().row(), column.nonzeros(), strict=True)
            return sum((entry * own_v[k] for k, entry in terms), ca.SX(0))

        def change(i: int, wanted: SX) -> None:
            column, step = along[:, i], wanted - own_w[i]
            for k, entry in zip(column.sparsity().row(), column.nonzeros(), strict=True):
                own_v[k] = own_v[k] + entry * step
            own_w[i] = wanted

        return (w, v), (W, Y, own_w, own_v), rates, change

    def _found(self) -> Any:
        """Return the Function (v_1, w, W, numbers, ahead, p, t, h) -> mean forces and residuals."""
        switches, r_N, h = self.switches, self.r_N, self._h
        assert switches is not None
        v, w, W = ca.SX.sym("v", self.dae.n), ca.SX.sym("w", self.r), ca.SX.sym("W", self._patterns[0].nnz())
        numbers, (own_mass, offset, bound, most) = self._numbers()
        pressing, _ = _parts(w, r_N, self.r_T)
        bound -= ca.if_else(self._bounces, YIELDING * ca.fmax(0, pressing - most), 0)
        rate = ca.SX(self._patterns[0], W) @ v + offset
        limit = self._limits(own_mass, w.elements())
        signorini, coulomb, dissipation = [ca.SX(0)], [ca.SX(0)], [ca.SX(0)]
        signorini += [
            ca.if_else(self._active[i], ca.fabs(ca.fmin(w[i], rate[i] - bound[i])), 0) for i in range(r_N)
        ]  # fmt: skip
        for group in switches.groups:
            force, slip = (ca.vertcat(*(item[r_N + j] for j in group)) for item in (w, rate))
            largest = limit(group[0])
            coulomb.append(ca.fmax(0, ca.norm_2(force) - largest))
            lost = ca.dot(force, slip) + largest * ca.norm_2(slip)
            dissipation.append(own_mass[r_N + group[0]] * ca.fabs(lost))
        residuals = (ca.mmax(ca.vertcat(*items)) for items in (signorini, coulomb, dissipation))
        found = ca.vertcat(own_mass * w / h, *residuals)
        return _function("found", [v, w, W, numbers, self._held, self._p, self._t, h], [found])


def _accelerated(sweep: Callable[[Any, Any], Any], moved: Any, w: Any, start: Any, Y: tuple[Any, ...]) -> Any:
    """Return impulses after some passes and an extrapolation, which is taken only if a further pass changes it less.

    Args:
        sweep: a pass, (w, v) -> (w, v).
        moved: Function (w, start, *Y) -> v.
        w: impulses, MX.
        start: v without impulses, MX.
        Y: further arguments of `moved`.
    """
    v, seen = moved(w, start, *Y), [w]
    for _ in range(PASSES):
        w, v = sweep(seen[-1], v)
        seen.append(w)
    changes = ca.horzcat(*(after - before for before, after in pairwise(seen)))
    R = ca.mtimes(changes.T, changes)
    R = R / (ca.trace(R) + AT_REST) + REGULAR * ca.DM.eye(PASSES)
    symbols = ca.SX.sym("R", PASSES, PASSES)
    weights = _function("weights", [symbols], [eliminated(symbols, ca.SX.ones(PASSES))])(R)
    further = ca.mtimes(ca.horzcat(*seen[1:]), weights / ca.sum1(weights))
    tried, _ = sweep(further, moved(further, start, *Y))
    better = ca.norm_1(tried - further) < ca.norm_1(changes[:, -1])
    return ca.if_else(better, tried, seen[-1])


def _discrete(W: SX, way: SX, gaps: Callable[[SX], SX]) -> SX:
    """Return rows that give the changes of gaps over a way to its fourth power, on the pattern of those at its middle.

    (After the discrete gradient of Gonzalez, J. Nonlinear Sci. 6, 1996.) With them a body that rolls on another gains
    no energy by its constraint.

    Args:
        W: the rows at the middle, shape (r_N, n).
        way: change of the coordinates, shape (n,).
        gaps: function of the place on the way, from -1/2 to 1/2 -> gaps, shape (r_N,).
    """
    s, found = ca.SX.sym("s"), []
    bent = gaps(s)
    for _ in range(3):
        bent = ca.jacobian(bent, s)
    bent = ca.densify(ca.substitute(bent, s, 0)) / 24
    for i in range(W.shape[0]):
        own = ca.SX(W[i, :].sparsity(), 1) * way.T
        found.append(W[i, :] + bent[i] / (ca.sumsqr(own) + SHORT) * own)
    return ca.vertcat(ca.SX(0, W.shape[1]), *found)


def _own_masses(W: SX, Y: SX, free: SX, switches: Switches) -> SX:
    """Return the mass that each row moves on its own, one for both rows of a pair."""
    r_N = len(switches.gaps)
    inverse = [ca.fmax(ca.dot(W[i, :].T, Y[:, i]), LOCKED * ca.dot(W[i, :].T, free[:, i])) for i in range(W.shape[0])]
    for group in switches.groups:
        largest = inverse[r_N + group[0]]
        for j in group[1:]:
            largest = ca.fmax(largest, inverse[r_N + j])
        for j in group:
            inverse[r_N + j] = largest
    return ca.vertcat(ca.SX(0, 1), *(1 / item for item in inverse))


def _only(symbols: SX, place: int, value: SX) -> SX:
    """Return the symbols with one entry replaced."""
    found = ca.SX(symbols)
    found[place] = value
    return found


def _nonzeros(matrix: SX) -> SX:
    """Return the nonzeros of a matrix as a column."""
    return ca.vertcat(ca.SX(0, 1), *matrix.nonzeros())


def _parts(column: Any, *sizes: int) -> list[Any]:
    """Return a column in parts of these sizes."""
    places = [0]
    for size in sizes:
        places.append(places[-1] + size)
    return [ca.reshape(column[i:j], j - i, 1) for i, j in pairwise(places)]


def _function(name: str, given: list[SX], results: list[SX]) -> Any:
    return ca.Function(name, given, ca.cse([ca.densify(item) for item in results]))


@dataclass(frozen=True)
class Moreau(Choice):
    """The stepper `moreau` with its options."""

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

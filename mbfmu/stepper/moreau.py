"""moreau: time stepping with impulses for many contacts, with gaps and joints on positions and velocities."""

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Formula, Let
from mbfmu.dae.kkt import SchurFactor
from mbfmu.dae.stepped import RESIDUALS
from mbfmu.dae.switched import Rows
from mbfmu.dae.switches import Switches
from mbfmu.stepper.contact_laws import UNBOUNDED, ContactLaws, function, nonzeros, parts
from mbfmu.stepper.scheme import SX, Choice, Family, Problem, Scheme, Stage

UNIT = 0.1
"""Unit of the unknowns that decide about convergence, so that passes that converge slowly go on until 1e-10."""
SLOW = 1e-10
"""Largest slip rate, m/s or rad/s, that sticks."""
LOCKED = 1e-6
"""Least mobility of a row, relative to that without the other constraints, that its unknown impulse is scaled by."""
SHORT = 1e-20
"""Square of a way that is so short that rows are those at its middle."""
CLOSED = 1e-16
"""Gap, m or rad, that is round-off of a closed one, so that no speed over a short step follows from it."""
JAMMED = 2.0
"""Impulse of a bounce beyond which it yields, over that of an impact without others and without friction."""


def moreau(dae: Dae) -> Scheme:
    """Return a scheme of Moreau's kind whose motion keeps the energy, of order 1, or 2 without contacts.

    (Moreau, Unilateral contact and dry friction in finite freedom dynamics, CISM 302, 1988; Gonzalez, J. Nonlinear
    Sci. 6, 1996.) A step is an impact at q_0, then a motion to q_1 by the midpoint rule. With C = [Phi_q; G], gaps g
    and slips gamma_T, and means m over the motion, the impact is

        M(q_0) (v_+ - v_0) = W_N^T Lambda_N + W_T^T Lambda_T - C^T lambda,    C v_+ + c = 0
        0 <= Lambda_N  and  gdot_+ >= b,  one of them zero

    with rows at q_0: b = -e gdot_0 if the gap bounces, as it would close in the step and leaves faster than forces
    change its rate meanwhile; else b = -g_0/h, so that it does not close before the step's end. The motion is

        M(q_m) (v_1 - v_+) = h force(q_m, v_m) + W_N^T Lambda_N + W_T^T Lambda_T - C^T lambda - C_1^T nu
        q_1 = q_0 + h v_m - M^-1 Phi_q^T mu,    C v_m + c = 0,    C_1 v_1 + c_1 = 0,    Phi(q_1) = 0
        0 <= Lambda_N  and  g(q_1) >= 0,  one of them zero

    with rows at q_m, and W_N (q_1 - q_0) = g(q_1) - g(q_0). So no impulse of a gap adds energy in a motion, as
    Lambda_N (g_1 - g_0) <= 0. Friction is within its limit and against the slip, gamma_T+ in an impact and the mean
    gamma_Tm in a motion, so that Lambda_T gamma_Tm <= 0. What a motion with friction leaves of the slip, a part of its
    friction stops in the next impact, and is then missing in the motion.

    An impact without bounces takes energy, and so does one without friction. Where the impulse of a bounce is far above
    that of an impact alone, b yields: with friction, bodies may be jammed so that no impulses would do.

    State x = [q; v; z]; z has the mean forces of the contacts.

    Args:
        dae: the equations.
    """
    problem = Problem(dae, ca.MX)
    given, t, h, n = problem.given, problem.t, problem.h, problem.n
    x = ca.MX.sym("x", problem.n_y)
    q, v, z = problem.split(x)
    contacts = _Contacts(dae)
    own, forces, _, _ = contacts.split(z)
    other = (given.p, t, h)
    stages: list[Stage | Let] = []
    v_p, r = v, contacts.r
    if r:
        laws = contacts.laws
        sizes = [contacts.impact.numel_out(k) for k in range(contacts.impact.n_out())]
        held = ca.MX.sym("held", sum(sizes))
        W, Y, numbers, normal = parts(held, *sizes)
        stages.append(Let(held, ca.vertcat(*contacts.impact(x, problem.u(t), *other))))
        struck = ca.MX.sym("struck", 2 + r)
        w_0 = struck[2:]
        w, left = laws.improved(w_0, struck[1], v, W, Y, numbers, other)
        stages.append(Stage(struck, ca.MX.zeros(2 + r), correction=ca.vertcat(left / UNIT, 1, w - w_0), watched=1))
        after = ca.MX.sym("after", n + contacts.friction.numel_out(0))
        v_p, friction = parts(after, n, contacts.friction.numel_out(0))
        end = laws.moved(w_0, v, Y)
        braked = laws.braked(w_0, numbers, *other)
        stages.append(Let(after, ca.vertcat(end, contacts.friction(x, end, braked, normal, *other))))

    units = ca.vertcat(ca.DM.ones(2 * n), ca.DM(dae.nominal_states)[contacts.own_places]) * UNIT
    some = min(r, 1)
    y = ca.MX.sym("y", some + units.numel() + some + r)
    _, moved, count, w_1 = parts(y, some, units.numel(), some, r)
    q_1, v_m, z_1 = parts(moved * units, n, n, own.numel())

    def rows(q_1: Any, v_m: Any, z_1: Any) -> Any:
        return contacts.motion.call([q_1, v_m, z_1, x, v_p, problem.u(t + h / 2), *other])

    v_f, shift, flown, W_1, Y_1, own_numbers = rows(q_1, v_m, z_1)
    start = ca.vertcat(q + h * v_p, v_p, own) / units
    if r:
        numbers_1 = ca.vertcat(own_numbers, friction)
        w, left = laws.improved(w_1, count, v_f, W_1, Y_1, numbers_1, other)
        v_2 = laws.moved(w, v_f, Y_1)
        first = rows(q + h * v_p, v_p, own)[-1]
        guess = ca.vertcat(0, start, 0, h * forces / first[:r])
        moved = ca.vertcat(q + h * v_2 + shift, v_2, own + h * flown) / units
        better = ca.vertcat(y[0] + left / UNIT, moved, count + 1, w)
    else:
        guess, better = start, ca.vertcat(q + h * v_f + shift, v_f, own + h * flown) / units
    stages.append(Stage(y, guess, correction=better - y, watched=some + units.numel()))
    v_1 = contacts.closed(q_1, 2 * v_m - v_p, *other)
    found = ca.MX(0, 1)
    if r:
        impulses = numbers[:r] * w_0, own_numbers[:r] * w_1
        residuals = ca.fmax(
            laws.residuals(v_p, w_0, W, numbers, *other), laws.residuals(v_m, w_1, W_1, numbers_1, *other)
        )
        found = ca.vertcat(
            (impulses[0] + impulses[1]) / h, parts(impulses[1], contacts.r_N, contacts.r_T)[0] / h, residuals
        )
    return Scheme(
        name="moreau",
        options={},
        order=1 if r else 2,
        exact=frozenset({"position", "velocity"}),
        begin=Formula(x, given, (), x),
        step=Formula(x, given, tuple(stages), ca.vertcat(q_1, v_1, contacts.joined(z_1, found))),
        read=ca.Function("read", [x, given.p, t], [*problem.split(x)]),
    )


class _Contacts:
    """The functions of a step, with impulses in units of the rates that they change.

    Args:
        dae: the equations.

    Attributes:
        r, r_N: number of rows, and of those of gaps.
        own_places: places in z of the states that are not those of contacts.
        impact: Function (x, u, p, t, h) -> nonzeros of the rows and of the responses, numbers of the laws (see
            `ContactLaws`), and normal forces that are not those of gaps.
        friction: Function (x, v, braked, normal, p, t, h) -> the numbers of the laws for a motion after an impact that
            do not change in it.
        motion: Function (q_1, v_m, z_1, x, v_+, u, p, t, h) -> mean velocity without impulses, change of the place by
            joints, mean of z', nonzeros of the rows and of the responses, and the first numbers of the laws.
        closed: Function (q_1, v_1, p, t, h) -> v_1 on the constraints.
        laws: the laws of contact.
    """

    def __init__(self, dae: Dae) -> None:
        self.dae = dae
        self.switches = dae.switches
        self.r_N = len(dae.switches.gaps) if dae.switches else 0
        self.r_T = len(dae.switches.frictions) if dae.switches else 0
        self.r = self.r_N + self.r_T
        start = dae.switches.forces if dae.switches else dae.n_z
        assert start is not None
        self._first, self._count = start, (self.r + self.r_N + len(RESIDUALS) if self.r else 0)
        self.own_places = [k for k in range(dae.n_z) if not start <= k < start + self._count]
        n = dae.n
        self._x = ca.SX.sym("x", 2 * n + dae.n_z)
        self._q, self._v, self._z = parts(self._x, n, n, dae.n_z)
        self._u, self._p, self._t, self._h = (
            ca.SX.sym(*item) for item in (("u", len(dae.inputs)), ("p", dae.n_p), ("t", 1), ("h", 1))
        )
        self._q_1, self._v_m, self._v_p = (ca.SX.sym(name, n) for name in ("q_1", "v_m", "v_p"))
        self._own_1 = ca.SX.sym("z_1", len(self.own_places))
        self._bare = self.joined(self.split(self._z)[0], ca.SX.zeros(self._count))
        motion = self._motion()
        if self.switches:
            impact = self._impact(self.switches)
            patterns = [impact[k].sparsity() + motion[k + 3].sparsity() for k in range(2)]
            impact[:2], motion[3:5] = (
                [nonzeros(ca.project(item, pattern)) for item, pattern in zip(matrices, patterns, strict=True)]
                for matrices in (impact[:2], motion[3:5])
            )
            self.impact = function("impact", [self._x, self._u, self._p, self._t, self._h], impact)
            self.friction = self._friction(self.switches)
            self.laws = ContactLaws(self.switches, dae.n_p, *patterns)
        given = [self._q_1, self._v_m, self._own_1, self._x, self._v_p, self._u, self._p, self._t, self._h]
        self.motion, self.closed = function("motion", given, motion), self._closed()

    def split(self, z: Any) -> tuple[Any, Any, Any, Any]:
        """Return the states that are not those of contacts, mean forces, those of gaps in the motion, and residuals."""
        r_N = self.r_N if self.r else 0
        before, forces, pressing, residuals, after = parts(
            z, self._first, self.r, r_N, self._count - self.r - r_N, self.dae.n_z - self._first - self._count
        )
        return ca.vertcat(before, after), forces, pressing, residuals

    def joined(self, own: Any, found: Any) -> Any:
        """Return z from the states that are not those of contacts, and what is found."""
        before, after = parts(own, self._first, own.numel() - self._first)
        return ca.vertcat(before, found, after)

    def _impact(self, switches: Switches) -> list[SX]:
        """Return the results of `impact`, with matrices whole."""
        dae, q, v, z, u, p, t, h = self.dae, self._q, self._v, self._z, self._u, self._p, self._t, self._h
        rows = Rows(dae, q, v, p, t)
        W = ca.sparsify(ca.vertcat(rows.W_N, rows.W_T))
        over, C = dae.over_mass(q, p), ca.vertcat(dae.Phi_q(q, p, t), dae.G(q, p, t))
        Y, own_mass = _responses(SchurFactor(over, C), W, over(W.T), switches)
        change, reach = h * dae.acceleration(q, v, self._bare, u, p, t)[0], ca.SX.zeros(self.r_N)
        for i in range(self.r_N):
            own = rows.W_N[i, :]
            reach[i] = ca.norm_2(own) * ca.norm_2(change[own.sparsity().get_col()])
        e, approach = switches.restitution(p), -rows.gap_rate
        bounces = ca.logic_and(
            rows.gap < h * approach, ca.logic_and(approach > switches.rest(p), e * approach > reach)
        )  # fmt: skip
        bound = ca.if_else(bounces, e * approach, -ca.fmax(0, rows.gap - CLOSED) / h)
        most = ca.if_else(bounces, JAMMED * (1 + e) * approach, UNBOUNDED)
        _, forces, pressing, _ = self.split(z)
        normal = self._normal(switches, forces)
        numbers = ca.vertcat(own_mass, rows.gap_t, rows.slip_0, bound, most)
        slow, speed = self._speeds(switches, rows.slip)
        fixed = h * self._sizes(switches, slow, speed, normal)
        bare = h * self._sizes(switches, slow, speed, ca.SX.zeros(self.r_T))
        kept = ca.vertcat(ca.SX(0, 1), *(0 if item.gap is None else pressing[item.gap] for item in switches.frictions))
        last = h * self._sizes(switches, slow, speed, kept)
        added = ca.SX.zeros(self.r_T)
        for j, item in enumerate(switches.frictions):
            most, without = (fixed[j], -fixed[j]) if item.gap is None else (last[j], -bare[j])
            brakes = own_mass[self.r_N + j] * speed[j] <= most
            kept[j], added[j] = ca.if_else(brakes, kept[j], 0), ca.if_else(brakes, 0, without)
        numbers = ca.vertcat(numbers, slow, speed, kept, added, fixed)
        return [W, Y, numbers, normal]

    def _normal(self, switches: Switches, forces: SX) -> SX:
        """Return the normal forces that are not those of gaps, of the last step."""
        dae, q, v, z, u, p, t = self.dae, self._q, self._v, self._z, self._u, self._p, self._t
        a, lambda_ = dae.acceleration(q, v, z, u, p, t)
        size = u.numel() + len(switches.acting)
        acting = switches.inputs(size, u, forces)
        return ca.fabs(switches.normal(q, v, z[: switches.normal.numel_in(2)], a, lambda_, acting, p, t))

    def _speeds(self, switches: Switches, slip: SX) -> tuple[SX, SX]:
        """Return which slips are at rest, and their speeds."""
        speed = ca.SX.zeros(self.r_T)
        for group in switches.groups:
            for j in group:
                speed[j] = ca.norm_2(ca.vertcat(*(slip[k] for k in group)))
        return speed <= SLOW, speed

    def _sizes(self, switches: Switches, slow: SX, speed: SX, normal: SX) -> SX:
        """Return the limits of frictions."""
        p, t = self._p, self._t
        return ca.if_else(slow, switches.static(normal, p, t), switches.sliding(speed, normal, p, t))

    def _friction(self, switches: Switches) -> Any:
        v, braked, normal = ca.SX.sym("v", self.dae.n), ca.SX.sym("braked", self.r_T), ca.SX.sym("normal", self.r_T)
        p, t, h = self._p, self._t, self._h
        slow, speed = self._speeds(switches, switches.slip(self._q, v, p, t))
        fixed = h * self._sizes(switches, slow, speed, normal)
        found = ca.vertcat(slow, speed, ca.SX.zeros(self.r_T), -braked, fixed)
        return function("friction", [self._x, v, braked, normal, p, t, h], [found])

    def _motion(self) -> list[SX]:
        """Return the results of `motion`, with matrices whole."""
        dae, switches, n = self.dae, self.switches, self.dae.n
        q, u, p, t, h = self._q, self._u, self._p, self._t, self._h
        q_1, v_m, v_p, own_1, own = self._q_1, self._v_m, self._v_p, self._own_1, self.split(self._z)[0]
        middle, end = t + h / 2, t + h
        q_m, z_m = (q + q_1) / 2, self.joined((own + own_1) / 2, ca.SX.zeros(self._count))
        P, P_m = dae.Phi_q(q_1, p, end), dae.Phi_q(q_m, p, middle)
        C_m = ca.vertcat(P_m, dae.G(q_m, p, middle))
        c_m = ca.vertcat(dae.Phi_t(q_m, p, middle), dae.g(q_m, p, middle))
        over = dae.over_mass(q_m, p)
        q_c, still = q_m, ca.SX(n, 1)
        if dae.m:  # masses are those of a place on the constraints, where they are constant for what turns alike
            closing = SchurFactor(over, P_m)
            for _ in range(2):
                q_c = q_c + closing.solve(still, -dae.Phi(q_c, p, middle))[0]
            over = dae.over_mass(q_c, p)
        factor, placing = SchurFactor(over, C_m), SchurFactor(over, P)
        flown = self.split(dae.flow(q_c, v_m, z_m, u, p, middle))[0]
        free = v_p + h / 2 * dae.free_acceleration(q_c, v_m, z_m, u, p, middle)
        v_f, _ = factor.constrained(free, -c_m)
        shift, _ = placing.solve(still, -dae.Phi(q_1, p, end) - P @ (q + h * v_m - q_1))
        results = [v_f, shift, flown]
        if switches:
            place, rate = ca.SX.sym("place", n), ca.SX.sym("rate", n)
            W_N = ca.substitute(ca.jacobian(switches.gap(place, p, middle), place), place, q_m)
            slip = switches.slip(q_c, rate, p, middle)
            slip_0 = ca.substitute(slip, rate, ca.SX.zeros(n))
            gap = switches.gap(q_1, p, end)
            W_N = _discrete(W_N, q_1 - q, lambda s: switches.gap(q_m + s * (q_1 - q), p, middle + s * h))
            W = ca.sparsify(ca.vertcat(W_N, ca.jacobian(slip, rate)))
            Y, own_mass = _responses(factor, W, over(W.T), switches)
            begun = gap + W_N @ (q + shift - q_1)
            bound = (ca.fmin(CLOSED, ca.fmax(-CLOSED, begun)) - begun) / h
            offset = ca.vertcat(ca.SX.zeros(self.r_N), slip_0)
            most = UNBOUNDED * ca.SX.ones(self.r_N)
            results += [W, Y, ca.vertcat(2 * own_mass, offset, bound, most)]  # half of an impulse acts on v_m
        else:
            results += [ca.SX(0, 1)] * 3
        return results

    def _closed(self) -> Any:
        dae, p, t, h = self.dae, self._p, self._t, self._h
        q, v, end = ca.SX.sym("q", dae.n), ca.SX.sym("v", dae.n), t + h
        C = ca.vertcat(dae.Phi_q(q, p, end), dae.G(q, p, end))
        c = ca.vertcat(dae.Phi_t(q, p, end), dae.g(q, p, end))
        missing, _ = SchurFactor(dae.over_mass(q, p), C).solve(ca.SX(dae.n, 1), -c - C @ v)
        return function("closed", [q, v, p, t, h], [v + missing])


def _responses(factor: SchurFactor, W: SX, free: SX, switches: Switches) -> tuple[SX, SX]:
    """Return the velocities that unit impulses of the rows give in units of their own masses, and these masses.

    A row's own mass is that which it moves on its own, one for both rows of a pair.

    Args:
        factor: of the constraints.
        W: rows, shape (r, n).
        free: what impulses would change without constraints, shape (n, r).
        switches: gaps and frictions.
    """
    columns = [factor.solve(W[i, :].T, ca.SX(factor.C.shape[0], 1))[0] for i in range(W.shape[0])]
    Y = ca.sparsify(ca.horzcat(*columns))
    inverse = [ca.fmax(ca.dot(W[i, :].T, Y[:, i]), LOCKED * ca.dot(W[i, :].T, free[:, i])) for i in range(W.shape[0])]
    for group in switches.groups:
        places = [len(switches.gaps) + j for j in group]
        largest = inverse[places[0]]
        for i in places[1:]:
            largest = ca.fmax(largest, inverse[i])
        for i in places:
            inverse[i] = largest
    own_mass = 1 / ca.vertcat(*inverse)
    return ca.sparsify(Y @ ca.diag(own_mass)), own_mass


def _discrete(W: SX, way: SX, gaps: Any) -> SX:
    """Return rows that give the changes of gaps over a way to its fourth power, on the pattern of those at its middle.

    (After the discrete gradient of Gonzalez, J. Nonlinear Sci. 6, 1996.) With them a body that rolls on another gains
    no energy by its constraint.

    Args:
        W: the rows at the middle, shape (r_N, n).
        way: change of the coordinates, shape (n,).
        gaps: function of the place on the way, from -1/2 to 1/2 -> gaps, SX, shape (r_N,).
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
    source="Moreau, CISM 302 (1988); Gonzalez, J. Nonlinear Sci. 6 (1996)",
)

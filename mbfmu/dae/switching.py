"""The formula that finds the modes at an event: impacts first, then which gaps stay closed, what sticks and slides.

Impact, with the impulses Lambda along gaps that touch and along the slip rates of these, and the matrix
A = W M^-1 W^T of the constrained mechanism, v+ = v + M^-1 W^T Lambda:

    0 <= Lambda_N  and  gdot+ + e gdot- >= 0, one of them zero      Newton's law, all contacts at once
    |Lambda_T| <= F(|gamma-|, Lambda_N),  gamma+ = 0 or at the limit, against gamma+

Modes, with accelerations a and forces lambda along gaps that touch with gdot+ = 0, and along slip rates:

    0 <= lambda_N  and  gddot >= 0, one of them zero
    |lambda_T| <= F_s(N),  gamma' = 0 or at the limit, against gamma', where gamma+ = 0; else lambda_T slides

Both are written with the projections max(0, x) and x limited to [-F, F] (Alart & Curnier, Comput. Methods Appl. Mech.
Eng. 92, 1991) and solved by Newton's method, whose corrections end after finitely many choices. The unknowns are forces
over the diagonal of A, so that they have the size of the velocities or accelerations they cause.
"""

import casadi as ca

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Formula, Let, Stage, arguments
from mbfmu.dae.kkt import SchurFactor
from mbfmu.dae.switched import Modes, Rows
from mbfmu.model.frame import SX

TOUCHING = 1e-11
"""Largest gap, m or rad, that takes part in an impact: contacts nearer than this hit at the same time."""
SLOW = 1e-10
"""Largest slip rate, m/s or rad/s, that may stick."""
STILL = 1e-14
"""Largest rate, m/s or rad/s, that is round-off where something sticks or rests."""


def switch_formula(dae: Dae) -> Formula:
    """Return the formula [q; v; z] -> [q; v; z; modes], for parameters that end in the modes before.

    Args:
        dae: the switched equations.
    """
    assert dae.switching is not None
    plain, switches = dae.switching.plain, dae.switching.switches
    given = arguments(len(dae.inputs), dae.n_p, ca.SX)
    u, p, t = given.u, given.p, given.t
    y = ca.SX.sym("y", 2 * dae.n + dae.n_z)
    q, v, z = ca.vertsplit(y, [0, dae.n, 2 * dae.n, y.numel()])
    r_N, r_T, n = len(switches.gaps), len(switches.frictions), plain.n
    modes = Modes(switches, p)
    p_0, q_0, v_0, z_0 = modes.given, q[:n], v[:n], z[: plain.n_z]
    rows = Rows(plain, q_0, v_0, p_0, t)
    W = ca.vertcat(rows.W_N, rows.W_T)
    C = ca.vertcat(plain.Phi_q(q_0, p_0, t), plain.G(q_0, p_0, t))
    factor = SchurFactor(plain.over_mass(q_0, p_0), C)
    columns = [factor.solve(W[i, :].T, ca.SX(C.shape[0], 1)) for i in range(r_N + r_T)]
    Y, L = (ca.horzcat(ca.SX(size, 0), *(pair[k] for pair in columns)) for k, size in ((0, n), (1, C.shape[0])))
    own = ca.vertcat(ca.SX(0, 1), *(1 / ca.dot(W[i, :].T, Y[:, i]) for i in range(r_N + r_T)))
    known, stages = _named("known", [W, Y, L, own])
    W, Y, L, own = known
    _, own_T = ca.vertsplit(own, [0, r_N, r_N + r_T])

    fallen_N, fallen_T, _ = ca.vertsplit(modes.fallen, [0, r_N, r_N + r_T, modes.fallen.numel()])
    near = ca.logic_or(rows.gap <= TOUCHING, fallen_N) if r_N else ca.SX(0, 1)
    touching = ca.logic_or(modes.closed, near) if r_N else near
    e, rest = switches.restitution(p_0), switches.rest(p_0)
    w = ca.SX.sym("w", r_N + r_T)
    impulse = own * w
    v_1 = v_0 + Y @ impulse
    bounce = ca.if_else(ca.fabs(rows.gap_rate) < rest, 0, e) * rows.gap_rate
    change = W @ (Y @ impulse)
    residual = []
    size_of = _sizes(dae, ca.fabs(rows.slip), p_0, t)
    pressing = ca.vertcat(
        ca.SX(0, 1),
        *(0 if item.gap is None else ca.fmax(0, impulse[item.gap]) for item in switches.frictions),
    )
    limits = (size_of(pressing) - size_of(ca.SX.zeros(r_T))) / own_T
    for i in range(r_N):
        after = rows.gap_rate[i] + change[i]
        residual.append(ca.if_else(touching[i], w[i] - ca.fmax(0, w[i] - (after + bounce[i])), w[i]))
    for j, item in enumerate(switches.frictions):
        x, after = w[r_N + j], rows.slip[j] + change[r_N + j]
        rubs = 0 if item.gap is None else touching[item.gap]
        residual.append(ca.if_else(rubs, x - _limited(x - after, limits[j]), x))
    impact = Stage(w, ca.SX.zeros(r_N + r_T), residual=ca.vertcat(*residual))

    v_p = ca.SX.sym("v_p", n)
    moved = Let(v_p, v_1)
    after = Rows(plain, q_0, v_p, p_0, t)
    none = ca.SX.zeros(len(plain.inputs))
    inner = {item.input for item in (*switches.gaps, *switches.frictions)}
    outer = [k for k in range(len(plain.inputs)) if k not in inner]
    for place, k in enumerate(outer):
        none[k] = u[place]
    C_p = ca.vertcat(plain.gamma(q_0, v_p, p_0, t), plain.gamma_G(q_0, v_p, p_0, t))
    free, lambda_ = factor.constrained(plain.free_acceleration(q_0, v_p, z_0, none, p_0, t), C_p)
    (free, lambda_, speed_N, speed_T, bias), let = _named(
        "free", [free, lambda_, after.gap_rate, after.slip, ca.vertcat(after.bias_N, after.bias_T)]
    )
    x = ca.SX.sym("x", r_N + r_T)
    force = own * x
    acting = ca.SX(none)
    for place, item in enumerate((*switches.gaps, *switches.frictions)):
        acting[item.input] = force[place]
    a = free + Y @ force
    gain = W @ a + bias
    reaction = switches.normal(q_0, v_p, z_0, a, lambda_ + L @ force, acting, p_0, t)
    N = ca.vertcat(
        ca.SX(0, 1),
        *(
            ca.fmax(0, force[item.gap]) if item.gap is not None
            else ca.fabs(reaction[j]) if item.signed else reaction[j]
            for j, item in enumerate(switches.frictions)
        ),
    )  # fmt: skip
    opening = modes.closed * fallen_N
    resting = ca.logic_and(ca.logic_and(touching, speed_N <= rest), ca.logic_not(opening)) if r_N else opening
    static, sliding = switches.static(N, p_0, t) / own_T, _sizes(dae, ca.fabs(speed_T), p_0, t)(N) / own_T
    residual, closed, sticks, direction, halted = [], [], [], [], []
    for i in range(r_N):
        residual.append(ca.if_else(resting[i], x[i] - ca.fmax(0, x[i] - gain[i]), x[i]))
        closed.append(ca.logic_and(resting[i], x[i] - gain[i] > 0))
    for j, item in enumerate(switches.frictions):
        y_j, ahead = x[r_N + j], x[r_N + j] - gain[r_N + j]
        breaking = modes.sticks[j] * fallen_T[j]
        slow = ca.logic_or(ca.fabs(speed_T[j]) <= SLOW, fallen_T[j])
        force_j = ca.if_else(slow, _limited(ahead, static[j]), -ca.sign(speed_T[j]) * sliding[j])
        rubs = ca.SX(1) if item.gap is None else resting[item.gap]
        residual.append(ca.if_else(rubs, y_j - force_j, y_j))
        on = ca.SX(1) if item.gap is None else closed[item.gap]
        holds = ca.logic_and(ca.logic_and(on, slow), ca.logic_and(ca.fabs(ahead) <= static[j], ca.logic_not(breaking)))
        sticks.append(holds)
        way = ca.if_else(slow, -ca.sign(ahead), ca.sign(speed_T[j]))
        direction.append(ca.if_else(ca.logic_and(on, ca.logic_not(holds)), way, 0))
        halted.append(ca.logic_or(holds, ca.logic_and(ca.logic_and(on, slow), way * speed_T[j] < 0)))
    decided = Stage(x, ca.SX.zeros(r_N + r_T), residual=ca.vertcat(*residual))

    anchor = [
        ca.if_else(ca.logic_and(holds, modes.sticks[j]), modes.anchor[j], ca.if_else(holds, rows.slide[j], 0))
        for j, holds in enumerate(sticks)
    ]
    impacts = [modes.impacts[i] + ca.logic_and(w[i] > 0, rows.gap_rate[i] < -rest[i]) for i in range(r_N)]
    side, place = [], r_N + r_T
    for j, item in enumerate(switches.frictions):
        turned = modes.fallen[place] if item.signed else ca.SX(0)
        place += item.signed
        side.append(ca.if_else(turned, -modes.side[j], ca.if_else(reaction[j] < 0, -1, 1)))
    (found,), named = _named(
        "modes",
        [ca.vertcat(*closed, *impacts, *sticks, *direction, *anchor, *side, 0 * modes.fallen, modes.count + 1, t)],
    )
    front, _, back = ca.vertsplit(found, [0, 2 * r_N, 2 * r_N + r_T, found.numel()])
    p_1 = ca.vertcat(p_0, front, *halted, back)  # a slip that begins against its way is round-off
    whole = ca.vertcat(v_p, ca.SX.zeros(dae.n - n))
    bound = ca.vertcat(dae.Phi_q(q, p_1, t), dae.G(q, p_1, t))
    offset = ca.vertcat(dae.Phi_t(q, p_1, t), dae.g(q, p_1, t))
    change, _ = SchurFactor(dae.over_mass(q, p_1), bound).solve(ca.SX(dae.n, 1), -(bound @ whole + offset))
    held = ca.sum1(ca.vertcat(*closed, *halted)) > 0
    last = whole + change
    size = STILL * (1 + ca.norm_inf(v))
    last = ca.if_else(ca.logic_and(held, ca.fabs(last) <= size), 0, last)
    z_1 = dae.switching.carried(q, v, last, z, p, t)
    return Formula(y, given, (stages, impact, moved, let, decided, named), ca.vertcat(q, last, z_1, found))


def _sizes(dae: Dae, speed: SX, p: SX, t: SX):  # type: ignore[no-untyped-def]
    """Return the function N -> size of each sliding friction at a speed."""
    assert dae.switching is not None
    return lambda normal: dae.switching.switches.sliding(speed, normal, p, t)


def _limited(x: SX, limit: SX) -> SX:
    """Return x limited to a size."""
    return ca.fmin(limit, ca.fmax(-limit, x))


def _named(name: str, values: list[SX]) -> tuple[list[SX], Let]:
    """Return symbols for some values, of the same shapes, and what computes them once."""
    dense = [ca.densify(ca.SX(item)) for item in values]
    column = ca.vertcat(ca.SX(0, 1), *(ca.vec(item) for item in dense))
    symbols = ca.SX.sym(name, column.numel())
    places = [0]
    for item in dense:
        places.append(places[-1] + item.numel())
    parts = ca.vertsplit(symbols, places)
    return [ca.reshape(part, *item.shape) for part, item in zip(parts, dense, strict=True)], Let(symbols, column)

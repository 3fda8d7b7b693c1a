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

from collections.abc import Callable

import casadi as ca

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Formula, Let, Stage, arguments
from mbfmu.dae.kkt import OverMass, SchurFactor
from mbfmu.dae.switched import Modes, Rows
from mbfmu.dae.switches import Switches
from mbfmu.model.frame import SX

TOUCHING = 1e-11
"""Largest gap, m or rad, that takes part in an impact: contacts nearer than this hit at the same time."""
SLOW = 1e-10
"""Largest slip rate, m/s or rad/s, that may stick."""
LOCKED = 1e-6
"""Least mobility of a row, relative to that without the other constraints, that its unknown force is scaled by."""
SOFT = 1e-14
"""Part of the motion that a force causes in its own row, beside the true one: a force that moves nothing, or that of a
contact which others make redundant, gets a value too."""
STILL = 1e-14
"""Largest rate after an event, relative to 1 and the largest one before, that is round-off."""
ROUND_OFF = 1e-15
"""Round-off of a gap, relative to the coordinates it is computed from; a flight that rises less is none."""


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
    none = ca.SX.zeros(len(plain.inputs))
    outer = [k for k in range(len(plain.inputs)) if k not in switches.acting]
    for place, k in enumerate(outer):
        none[k] = u[place]
    own = _own_masses(W, Y, plain.over_mass(q_0, p_0), switches)
    C_0 = ca.vertcat(plain.gamma(q_0, v_0, p_0, t), plain.gamma_G(q_0, v_0, p_0, t))
    falling, _ = factor.constrained(plain.free_acceleration(q_0, v_0, z_0, none, p_0, t), C_0)
    noise = ROUND_OFF * ca.fabs(rows.W_N) @ ca.fabs(q_0)
    least = ca.fmax(switches.rest(p_0), ca.sqrt(2 * noise * ca.fabs(rows.W_N @ falling + rows.bias_N)))
    known, stages = _named("known", [W, Y, L, own, least])
    W, Y, L, own, least = known
    _, own_T = ca.vertsplit(own, [0, r_N, r_N + r_T])

    fallen_N, fallen_T, _ = ca.vertsplit(modes.fallen, [0, r_N, r_N + r_T, modes.fallen.numel()])
    near = ca.logic_or(rows.gap <= TOUCHING, fallen_N) if r_N else ca.SX(0, 1)
    touching = ca.logic_or(modes.closed, near) if r_N else near
    e, rest = switches.restitution(p_0), switches.rest(p_0)
    w = ca.SX.sym("w", r_N + r_T)
    impulse = own * w
    v_1 = v_0 + Y @ impulse
    bounce = ca.if_else(ca.fabs(rows.gap_rate) < least, 0, e) * rows.gap_rate
    change = W @ (Y @ impulse) + SOFT * w
    residual = []
    size_of = _sizes(switches, rows.slip, p_0, t)
    pressing = ca.vertcat(
        ca.SX(0, 1),
        *(0 if item.gap is None else ca.fmax(0, impulse[item.gap]) for item in switches.frictions),
    )
    limits = (size_of(pressing) - size_of(ca.SX.zeros(r_T))) / own_T
    for i in range(r_N):
        after = rows.gap_rate[i] + change[i]
        residual.append(ca.if_else(touching[i], w[i] - ca.fmax(0, w[i] - (after + bounce[i])), w[i]))
    for group in switches.groups:
        gap = switches.frictions[group[0]].gap
        x = ca.vertcat(*(w[r_N + j] for j in group))
        after = ca.vertcat(*(rows.slip[j] + change[r_N + j] for j in group))
        residual.append(ca.if_else(0 if gap is None else touching[gap], x - _limited(x - after, limits[group[0]]), x))
    impact = Stage(w, ca.SX.zeros(r_N + r_T), residual=ca.vertcat(*residual))

    v_p = ca.SX.sym("v_p", n)
    moved = Let(v_p, v_1)
    after = Rows(plain, q_0, v_p, p_0, t)
    C_p = ca.vertcat(plain.gamma(q_0, v_p, p_0, t), plain.gamma_G(q_0, v_p, p_0, t))
    free, lambda_ = factor.constrained(plain.free_acceleration(q_0, v_p, z_0, none, p_0, t), C_p)
    (free, lambda_, speed_N, speed_T, bias), let = _named(
        "free", [free, lambda_, after.gap_rate, after.slip, ca.vertcat(after.bias_N, after.bias_T)]
    )
    x = ca.SX.sym("x", r_N + r_T)
    force = own * x
    acting = ca.SX(none)
    for place, k in enumerate(switches.acting):
        acting[k] = force[place]
    a = free + Y @ force
    gain = W @ a + bias + SOFT * x
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
    static, sliding = switches.static(N, p_0, t) / own_T, _sizes(switches, speed_T, p_0, t)(N) / own_T
    residual, closed, sticks, direction = [], [], [], []
    for i in range(r_N):
        residual.append(ca.if_else(resting[i], x[i] - ca.fmax(0, x[i] - gain[i]), x[i]))
        closed.append(ca.logic_and(resting[i], x[i] - gain[i] > 0))
    for group in switches.groups:
        j, gap = group[0], switches.frictions[group[0]].gap
        force_T = ca.vertcat(*(x[r_N + k] for k in group))
        ahead, gamma = force_T - ca.vertcat(*(gain[r_N + k] for k in group)), ca.vertcat(*(speed_T[k] for k in group))
        breaking = modes.sticks[j] * fallen_T[j]
        slow = ca.logic_or(ca.norm_2(gamma) <= SLOW, fallen_T[j] if len(group) == 1 else 0)
        wanted = ca.if_else(slow, _limited(ahead, static[j]), -_unit(gamma) * sliding[j])
        residual.append(ca.if_else(1 if gap is None else resting[gap], force_T - wanted, force_T))
        on = ca.SX(1) if gap is None else closed[gap]
        within = ca.logic_and(ca.norm_2(ahead) <= static[j], ca.logic_and(static[j] > 0, ca.logic_not(breaking)))
        holds = ca.logic_and(ca.logic_and(on, slow), within)
        way = ca.if_else(slow, -_unit(ahead), _unit(gamma))
        sticks += [holds] * len(group)
        direction.append(ca.if_else(ca.logic_and(on, ca.logic_not(holds)), way, 0))
    decided = Stage(x, ca.SX.zeros(r_N + r_T), residual=ca.vertcat(*residual))

    anchor = [
        ca.if_else(ca.logic_and(holds, modes.sticks[j]), modes.anchor[j], ca.if_else(holds, rows.slide[j], 0))
        for j, holds in enumerate(sticks)
    ]
    hit = [ca.logic_and(touching[i], ca.logic_and(w[i] > 0, rows.gap_rate[i] < -rest[i])) for i in range(r_N)]
    impacts = [modes.impacts[i] + hit[i] for i in range(r_N)]
    side, place = [], r_N + r_T
    for j, item in enumerate(switches.frictions):
        turned = modes.fallen[place] if item.signed else ca.SX(0)
        place += item.signed
        side.append(ca.if_else(turned, -modes.side[j], ca.if_else(reaction[j] < 0, -1, 1)))
    (found,), named = _named(
        "modes",
        [ca.vertcat(*closed, *impacts, *sticks, *direction, *anchor, *side, 0 * modes.fallen, modes.count + 1, t)],
    )
    p_1 = ca.vertcat(p_0, found)
    whole = ca.vertcat(v_p, ca.SX.zeros(dae.n - n))
    bound = ca.vertcat(dae.Phi_q(q, p_1, t), dae.G(q, p_1, t))
    offset = ca.vertcat(dae.Phi_t(q, p_1, t), dae.g(q, p_1, t))
    change, _ = SchurFactor(dae.over_mass(q, p_1), bound).solve(ca.SX(dae.n, 1), -(bound @ whole + offset))
    last = whole + change
    size = STILL * (1 + ca.norm_inf(v))
    last = ca.if_else(ca.fabs(last) <= size, 0, last)
    z_1 = dae.switching.carried(q, v, last, z, p, t)
    return Formula(y, given, (stages, impact, moved, let, decided, named), ca.vertcat(q, last, z_1, found))


def _own_masses(W: SX, Y: SX, over_mass: OverMass, switches: Switches) -> SX:
    """Return the mass that each row moves on its own, one for both rows of a pair.

    It is the inverse of the diagonal of A; or near a pose where the row moves nothing, a multiple of the mass without
    the other constraints.
    """
    r_N, free = len(switches.gaps), over_mass(W.T)
    inverse = [ca.fmax(ca.dot(W[i, :].T, Y[:, i]), LOCKED * ca.dot(W[i, :].T, free[:, i])) for i in range(W.shape[0])]
    for group in switches.groups:
        mean = sum((inverse[r_N + j] for j in group), ca.SX(0)) / len(group)
        for j in group:
            inverse[r_N + j] = mean
    return ca.vertcat(ca.SX(0, 1), *(1 / item for item in inverse))


def _sizes(switches: Switches, slip: SX, p: SX, t: SX) -> Callable[[SX], SX]:
    """Return the function N -> size of each friction that slides with these slip rates."""
    speed = ca.SX.zeros(len(switches.frictions))
    for group in switches.groups:
        size = ca.norm_2(ca.vertcat(*(slip[j] for j in group)))
        for j in group:
            speed[j] = size
    return lambda normal: switches.sliding(speed, normal, p, t)


def _unit(x: SX) -> SX:
    """Return the direction of a number or vector; 0 of 0."""
    if x.numel() == 1:
        return ca.sign(x)
    size = ca.norm_2(x)
    return x / ca.if_else(size > 0, size, 1)


def _limited(x: SX, limit: SX) -> SX:
    """Return a number or vector limited to a size."""
    if x.numel() == 1:
        return ca.fmin(limit, ca.fmax(-limit, x))
    size = ca.norm_2(x)
    return ca.if_else(size > limit, limit * x / ca.if_else(size > 0, size, 1), x)


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

"""Consistent start: coordinates and velocities that meet the constraints and the start values.

Positions: Gauss-Newton steps that change the coordinates least,

    dq = -W^-1 C^T (C W^-1 C^T + E)^-1 c(q),    c = [Phi; start values of coordinates],    C = c_q,

from the pose that the spanning tree gives (exact without loops). Where this pose may not be closed, q here are the
coordinates of the joints and W = I, so that the closed pose is the same whatever the coordinates of the motion, and
whatever the masses; the coordinates of the motion follow from it. A pose whose c is at round-off stays as it is, bit by
bit. Where no change of q makes c smaller to first order, as in a stretched loop, q is shifted a little.

Velocities: the same projection, linear, from rest, in the coordinates of the motion; or from the rates of the joints of
a tree, if all have start values and the coordinates are those of the bodies: the first joints of a long chain move so
much with so little that E would let corrections come to rest slowly. W is the mass matrix M, which gives free rates the
least kinetic energy. In the coordinates of joints M^-1 is not sparse: W = I there, and if rates are free, the rest is

    v - N (N^T M N)^-1 N^T M v,    C N = 0,

with the columns of N the projections of some unit vectors, as many as rates are free.

E is small and diagonal. Where rows of C are dependent and c contradicts itself, as that of start values which were
rounded, the corrections come to rest at the least sum of the squares of c_i over E_ii: E is so much larger for start
values that they give way, and the constraints are met to round-off. The start is rejected if a start value gives way
by more than nine digits.

Guesses have rows in C too, with a larger E and zeros in c: coordinates with guesses change least. All rows have that E
while the loops are open, if there are guesses, or if a correction is long and does not make c smaller: an open loop is
often stretched, which is a singular position, and corrections there would go anywhere, or from one side of it to the
other and back. It fades as the loops close.
"""

import math
from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Formula, Let, Stage, arguments, solve_linear
from mbfmu.dae.linear_algebra.merged import merged
from mbfmu.dae.parts.start import Loop, Start
from mbfmu.errors import StartError

SX = ca.SX
Array = npt.NDArray[np.float64]
EPSILON = 1e-12
"""Entries of E relative to the mean of the diagonal of C W^-1 C^T, which make repeated rows harmless."""
YIELDING = 1e-8
"""Entries of E for start values, relative to the diagonal of C W^-1 C^T: the part of a row that a correction leaves."""
LEANING = 0.1
"""The same for guesses; and, if there are any or a correction goes astray, for all rows while the loops are open."""
OPEN = 1.0
"""Residual of constraints and start values, m or rad, that counts as open."""
UNEVEN = 1e-6
"""Largest shift of a coordinate, m or rad, away from a pose that corrections cannot leave; and the residual of the
constraints and start values above which such a pose counts as open."""
STUCK = 1e-9
"""Part of the sum of squares of these residuals that a correction removes, to first order, below which the correction
leads nowhere."""
ROUND_OFF = 1e-15
"""Residual of a constraint or start value, relative to its terms, that counts as round-off."""
EXACT = 2.0**500
"""Factor that makes a whole number of every number of at least 1e-134, so that rounding the product changes nothing."""
NO_CHANGE = 1e-30
"""Correction of a coordinate, m or rad, below which an assembly is at rest."""
NO_DIGIT = 1e-15
"""The same relative to the coordinate: corrections would else continue to numbers so small that CasADi's solver
divides 0 by 0."""
LARGEST_CORRECTION = 0.3
"""Longest correction of a coordinate, m or rad: longer ones are shortened, for loops that start far from closed."""
GAINED = 0.25
"""Part of what a shortened correction should take from the residuals, to first order, below which it is damped."""
RANK = 1e-9
"""Singular value of the constraint Jacobian, relative to the largest, below which it counts as zero."""
SINGULAR = 1e-5
"""The same at the start, where coordinates are known only to the root of the round-off if rows become dependent."""
PROJECTIONS = 3
"""Number of times that a row is projected onto the space that others leave."""
REFINED = 2
"""Number of times that velocities are made those of the least energy: `EPSILON` leaves a part of the rest each time."""
FEW = 400
"""Number of rows up to which all singular values are computed."""
CLOSE = 1e-3
"""Relative error of the least eigenvalue of longer ones."""
PLACES = 6
"""Decimals of a free rate that decide between coordinates: those beyond differ between processors."""
NOTHING = 1e-6
"""Length of a Jacobian's rows, 1 or m, below which it counts as zero if all its rows are shorter."""
SHARE = 1e-3
"""Smallest share of a joint in a redundant combination of rows for a message to name it."""
TOLERANCE = 1e-9
"""Largest residual of the constraints that counts as consistent."""
BEYOND = 1e-6
"""Part of a change of the equations of a start, beyond which no change of coordinates and rates makes up for it."""
DIGITS = 1e-8
"""Largest difference between a coordinate or rate and its start value, relative to that if it is larger than 1, for
which the start value counts as met: that of nine digits."""


def start_formula(dae: Dae) -> Formula:
    """Return the formula s -> [q; v; z; counted angles; residual].

    The residual is the largest one of the constraints, or of the start values times TOLERANCE / DIGITS; or what rows
    that were left out as redundant constrain beyond the others (`_excess`).
    """
    # The pose q that meets Phi = 0 and the start values; by joint coordinates where it is sought in these
    symbols = arguments(len(dae.inputs), dae.n_p, ca.MX)
    every = ca.MX.sym("s", len(dae.starts))
    s, states = ca.vertsplit(every, [0, len(dae.start.starts), every.numel()])
    p, t = symbols.p, symbols.t
    stages: list[Stage | Let] = [_pose_stage(dae, s, p, t)]
    q = stages[0].unknowns
    if dae.start.placed:
        q = ca.MX.sym("q", dae.n)
        stages.append(Let(q, dae.start.pose(stages[0].unknowns, s, p, t)))
    # Rates v of the least change, or of the least energy, that meet C v + c = 0 and the start values
    v = ca.MX.sym("v", dae.n)
    over_mass = _over_mass(dae)(q, p) if dae.start.mass_metric else None
    rate_rows = _rate_rows(dae)
    rates = rate_rows(q, v, s, p, t)
    v_guess = dae.start.rate_guess(s, p, t) if dae.start.rate_guess else ca.MX.zeros(dae.n)
    stages.append(Stage(v, v_guess, correction=_least_change(over_mass, *rates)))
    free = () if dae.start.mass_metric else free_rates(dae)
    if free:
        least = ca.MX.sym("v", dae.n)
        stages.append(Let(least, _least_energy(dae, rates[0], free, q, v, p)))
        v, rates = least, rate_rows(q, least, s, p, t)
    # States z, and the residual that is left
    z = dae.start.first_states(q, v, states, p, t) if dae.start.first_states else states
    met = ca.vertcat(dae.start.closing(q, p, t), dae.start.positions(q, s, p, t))
    residual = _residual(dae)(met, rates[1], s, p, t)
    if dae.constraints.dropped:
        residual = ca.fmax(residual, _excess(dae, q, dae.followed(q, p, t), t))
    counted = dae.start.counted(q, s, p, t)
    return Formula(every, symbols, tuple(stages), ca.vertcat(q, v, z, counted, residual))


def _pose_stage(dae: Dae, s: Any, p: Any, t: Any) -> Stage:
    """Return the stage that closes a pose, in the coordinates in which it is sought; MX of start values and so on."""
    # Least change dx with C dx = -c, shortened where it is long
    of = dae.start.sought
    n = of.closing.size1_in(0)
    x = ca.MX.sym("x", n)
    over_mass = _over_mass(dae)(x, p) if of.mass_metric else None
    C, c, yielding, damping, closed = _position_rows(of)(x, s, p, t)
    dx, shortened = _least_change(over_mass, C, c, yielding), _shortened(n)
    if of.exact:
        return Stage(x, of.guess(s, p, t), correction=shortened(dx))
    # Damped where it leads astray: where the residuals become smaller by too little
    there = x + shortened(dx)
    left = ca.vertcat(of.closing(there, p, t), of.positions(there, s, p, t))
    met = left.numel()
    dx = _least_change(over_mass, C, c, _eased(n, c.numel(), met)(dx, c, left, yielding, damping))
    # Zero at round-off, and a shift away from a pose that no correction leaves
    change = _settled(n, met)(dx, shortened(dx), c[:met], C[:met, :] @ dx, closed)
    return Stage(x, of.guess(s, p, t), correction=change)


def _eased(n: int, rows: int, met: int) -> Any:
    """Return the Function (dq, c, c after its shorter change, E_ii, what is added to them if need be) -> E_ii.

    It is added where dq is long, and c becomes smaller by less than `GAINED` of what it would to first order.
    """
    dq, c, left, yielding, damping = (
        ca.SX.sym(*item) for item in (("dq", n), ("c", rows), ("left", met), ("yielding", rows), ("damping", rows))
    )
    part = LARGEST_CORRECTION / ca.fmax(LARGEST_CORRECTION, ca.norm_inf(dq))
    astray = ca.logic_and(part < 1, ca.sumsqr(left) > (1 - GAINED * part) ** 2 * ca.sumsqr(c[:met]))
    return merged("eased", [dq, c, left, yielding, damping], [yielding + astray * damping])


def _settled(n: int, met: int) -> Any:
    """Return the Function (dq, its shorter, c, C dq, whether c is at round-off) -> the change of the coordinates.

    It is zero at round-off, where it still has the derivative that the tangent of a start needs; and where dq, though
    c is not small, makes that no smaller to first order, it has a shift besides.
    """
    dq, shorter, c, change, closed = (
        ca.SX.sym(*item) for item in (("dq", n), ("shorter", n), ("c", met), ("change", met), ("closed", 1))
    )
    still = ca.floor(shorter * EXACT) / EXACT  # the same number, without a derivative
    stuck = ca.logic_and(ca.norm_inf(ca.vertcat(0, c)) > UNEVEN, ca.sumsqr(c + change) >= (1 - STUCK) * ca.sumsqr(c))
    shift = ca.vertcat(*(UNEVEN * math.sin(index) for index in range(1, n + 1)))
    changed = shorter - closed * still + stuck * shift
    return merged("settled", [dq, shorter, c, change, closed], [ca.densify(changed)])


def free_rates(dae: Dae) -> tuple[int, ...]:
    """Return numbers of coordinates whose rates, given besides all that a start asks, would determine all rates.

    They are sought at the default start; none are needed where all is at rest.

    Args:
        dae: the equations.
    """
    s, p = dae.s_default(), dae.extended(dae.p_default())
    system = rate_equations(dae, None, s[: len(dae.start.starts)], p, 0.0)
    if system is None:
        return ()
    basis = free_directions(np.array(system[0]))
    left, numbers = basis @ basis.T, []  # the projection onto the free rates
    for _ in range(basis.shape[1]):
        index = int(np.argmax(np.round(np.diag(left), PLACES)))
        numbers.append(index)
        left = left - np.outer(left[:, index], left[index]) / left[index, index]
    return tuple(sorted(numbers))


def rate_equations(dae: Dae, q: Any, s: Any, p: Any, t: float) -> tuple[Any, Array] | None:
    """Return C and c of all that the rates of a start shall meet, C v + c = 0, DM of shape (k, n), and shape (k,).

    None if the equations show without numbers that all rates are determined, or zero.

    Args:
        dae: the equations.
        q: coordinates, shape (n,); None: where the assembly stops.
        s: start values of the assembly, shape (number of them,).
        p: parameters, shape (n_p,).
        t: time, s.
    """
    rate_rows, symbols = _rate_rows(dae), _symbols(dae)
    rows, moving, _ = rate_rows(symbols[0], ca.SX.zeros(dae.n), *symbols[2:])
    if moving.is_zero() or (dae.start.exact and not dae.k and ca.sprank(rows) == dae.n):
        return None
    q = assembled(dae, s, p, t) if q is None else q
    C, c, _ = rate_rows(q, np.zeros(dae.n), s, p, t)
    return C, column(c)


def started_rates(dae: Dae, q: Any, s: Any, p: Any, t: float) -> Array:
    """Return the least rates that meet constraints and start values at a pose, shape (n,).

    Args:
        dae: the equations.
        q: coordinates, shape (n,).
        s: start values of the assembly, shape (number of them,).
        p: parameters, shape (n_p,).
        t: time, s.
    """
    C, c, _ = _rate_rows(dae)(q, np.zeros(dae.n), s, p, t)
    return -np.linalg.lstsq(np.array(C), column(c), rcond=None)[0]


def pose_equations(dae: Dae, x: Any, s: Any, p: Any, t: float) -> Array:
    """Return the derivatives of all that a pose meets or has guesses for, shape (k, n).

    Args:
        dae: the equations.
        x: the coordinates in which closed poses are sought, shape (n,).
        s: start values of the assembly, shape (number of them,).
        p: parameters, shape (n_p,).
        t: time, s.
    """
    return np.array(_position_rows(dae.start.sought)(x, s, p, t)[0])


def free_directions(C: Array) -> Array:
    """Return changes that C takes to zero, orthonormal columns, shape (n, number of them); none if it is not finite."""
    scaled = scaled_rows(C)
    if not np.all(np.isfinite(scaled)):
        return np.zeros((C.shape[1], 0))
    _, sizes, right = np.linalg.svd(scaled)
    basis: Array = right[int(np.sum(sizes > RANK)) :].T
    return basis


def _least_energy(dae: Dae, C: Any, free: Sequence[int], q: Any, v: Any, p: Any) -> Any:
    """Return the velocities of the least kinetic energy among those that C v determines.

    Args:
        dae: the equations.
        C: Jacobian of all that the velocities shall meet, MX, shape (k, n).
        free: see `free_rates`.
        q: coordinates, MX, shape (n,).
        v: velocities that meet it, MX, shape (n,).
        p: parameters, MX.
    """
    S = C @ C.T
    S += EPSILON * ca.dot(ca.DM.ones(C.shape[0]), ca.densify(ca.diag(S))) / C.shape[0] * ca.DM.eye(C.shape[0])
    N, MN = [], []
    for index in free:
        column = ca.MX(ca.DM.eye(dae.n)[:, index])
        for _ in range(PROJECTIONS):
            column = ca.densify(column - C.T @ solve_linear(S, ca.densify(C @ column)))
        N.append(column)
        MN.append(dae.equations.momentum(q, column, p))
    ways, pushed = ca.horzcat(*N), ca.horzcat(*MN)
    A = ways.T @ pushed
    A += EPSILON * ca.trace(A) / len(free) * ca.DM.eye(len(free))
    for _ in range(REFINED):
        v = v - ways @ solve_linear(A, ways.T @ dae.equations.momentum(q, v, p))
    return v


def _excess(dae: Dae, q: Any, p: Any, t: Any) -> Any:
    """Return the largest entry of what unit rows that were left out as redundant have beyond the space of the others.

    0 up to SINGULAR. With other parameters than those of the model it may not be: then these rows are needed. Each
    projection takes a part of the rest, as C C^T has twice the digits of C.

    Args:
        dae: equations from which rows were left out.
        q: coordinates, MX, shape (n,).
        p: parameters, MX, shape (n_p,).
        t: time, s, MX.
    """
    C, out = _unit_rows(dae)(q, p, t)
    square, rest = C @ C.T, out.T
    for _ in range(PROJECTIONS):
        rest = rest - C.T @ ca.horzcat(*(solve_linear(square, C @ column) for column in ca.horzsplit(rest)))
    entries = ca.SX.sym("rest", *rest.shape)
    largest = ca.mmax(ca.fabs(entries))
    return merged("excess", [entries], [ca.if_else(largest > SINGULAR, largest, 0)])(rest)


def _unit_rows(dae: Dae) -> Any:
    """Return the Function (q, p, t) -> [Phi_q; G] and the rows that were left out as redundant, each of length one.

    But those that are zero, as of an equation between bodies that are fixed to each other.
    """
    q, _, _, p, t = _symbols(dae)
    out = ca.jacobian(dae.start.closing(q, p, t), q)[list(dae.constraints.dropped), :]

    def scaled(rows: Any) -> Any:
        return ca.diag(1 / ca.fmax(NOTHING, ca.sqrt(ca.sum2(rows**2)))) @ rows

    return merged("unit_rows", [q, p, t], [scaled(dae.constraints.C(q, p, t)), ca.densify(scaled(out))])


def _symbols(dae: Dae) -> tuple[SX, SX, SX, SX, SX]:
    """Return SX symbols for (q, v, s, p, t), with s the start values of the assembly."""
    sizes = {"q": dae.n, "v": dae.n, "s": len(dae.start.starts), "p": dae.n_p, "t": 1}
    q, v, s, p, t = (ca.SX.sym(name, size) for name, size in sizes.items())
    return q, v, s, p, t


def _over_mass(dae: Dae) -> Any:
    """Return the Function (q, p) -> W^-1, sparse, shape (n, n)."""
    q, _, _, p, _ = _symbols(dae)
    return merged("over_mass", [q, p], [dae.over_mass(q, p).inverse])


def _position_rows(of: Start) -> Any:
    """Return the Function (q, s, p, t) -> C, c and E_ii relative to the diagonal of C W^-1 C^T, of coordinates.

    And what is added to E where corrections go astray, and whether c is at round-off.
    """
    q, s, p, t = (ca.SX.sym(name, of.positions.size1_in(index)) for index, name in enumerate("qspt"))
    Phi, positions = of.closing(q, p, t), of.positions(q, s, p, t)
    met, leanings = ca.vertcat(Phi, positions), of.leanings(q, s, p, t)
    gap = ca.sumsqr(met)
    open_part = LEANING * gap / (gap + OPEN**2)
    damping = open_part if leanings.numel() else ca.SX(0)
    C = ca.jacobian(ca.vertcat(met, leanings), q)
    yielding = _parts((Phi, damping), (positions, YIELDING + damping), (leanings, ca.SX(LEANING)))
    terms = ca.fmax(1, ca.fabs(C[: met.numel(), :]) @ ca.fmax(1, ca.fabs(q)))
    closed = ca.norm_inf(ca.densify(ca.vertcat(0, met / terms))) <= ROUND_OFF
    eased = _parts((met, open_part), (leanings, ca.SX(0)))
    rows = [C, ca.densify(ca.vertcat(met, ca.SX(leanings.numel(), 1))), ca.densify(yielding), ca.densify(eased), closed]
    return merged("position_rows", [q, s, p, t], rows)


def _rate_rows(dae: Dae) -> Any:
    """Return the Function (q, v, s, p, t) -> those of rates."""
    q, v, s, p, t = _symbols(dae)
    bound, rates = _bound(dae, q, v, p, t), dae.start.rates(q, v, s, p, t)
    moving = ca.vertcat(bound, rates)
    yielding = _parts((bound, ca.SX(0)), (rates, ca.SX(YIELDING)))
    rows = [ca.jacobian(moving, v), ca.densify(moving), ca.densify(yielding)]
    return merged("rate_rows", [q, v, s, p, t], rows)


def _residual(dae: Dae) -> Any:
    """Return the Function (c of coordinates, c of rates, s, p, t) -> the residual of a start."""
    of = dae.start
    holonomic, positions, nonholonomic, rates = (
        item.numel_out(0) for item in (of.closing, of.positions, dae.constraints.g, of.rates)
    )
    c, d = ca.SX.sym("c", holonomic + positions), ca.SX.sym("d", holonomic + nonholonomic + rates)
    _, _, s, p, t = _symbols(dae)
    met, requested = ca.vertsplit(c, [0, holonomic, c.numel()])
    bound, asked_rates = ca.vertsplit(d, [0, holonomic + nonholonomic, d.numel()])
    parts = ca.vertcat(0, met, bound, TOLERANCE / DIGITS * ca.vertcat(requested, asked_rates) / of.sizes(s, p, t))
    return merged("start_residual", [c, d, s, p, t], [ca.norm_inf(ca.densify(parts))])


def _bound(dae: Dae, q: SX, v: SX, p: SX, t: SX) -> SX:
    """Return the residual of the constraints on velocities."""
    Phi = dae.start.closing(q, p, t)
    return ca.vertcat(
        ca.jtimes(Phi, q, v) + ca.jacobian(Phi, t), dae.constraints.G(q, p, t) @ v + dae.constraints.g(q, p, t)
    )


def _shortened(n: int) -> Any:
    """Return the Function dq -> that change, or a shorter one in its direction; it has a derivative at dq = 0."""
    dq = ca.SX.sym("dq", n)
    shorter = dq * LARGEST_CORRECTION / ca.fmax(LARGEST_CORRECTION, ca.norm_inf(dq))
    return merged("shortened", [dq], [shorter])


def _parts(*rows: tuple[SX, SX]) -> SX:
    """Return one number for each row of some columns, shape (number of all rows,)."""
    return ca.vertcat(*(ca.repmat(part, column.numel(), 1) for column, part in rows))


def _least_change(over_mass: Any, C: Any, c: Any, yielding: Any) -> Any:
    """Return the least change for equations that give way to each other.

    Args:
        over_mass: MX, W^-1, shape (n, n); None: W = I.
        C: MX, shape (k, n).
        c: MX, shape (k,).
        yielding: MX, E_ii relative to the diagonal of C W^-1 C^T, shape (k,).
    """
    count, n = C.shape
    if not count or not n:
        return ca.MX.zeros(n)
    WiCt = C.T if over_mass is None else over_mass @ C.T
    S = C @ WiCt
    diagonal = ca.densify(ca.diag(S))
    S += ca.diag(EPSILON * ca.dot(ca.DM.ones(count), diagonal) / count + yielding * diagonal)
    return -(WiCt @ ca.densify(solve_linear(S, c)))


def start_error(dae: Dae, s: Sequence[float], p: Sequence[float], t: float) -> StartError:
    """Return the reason why a start failed: a loop that cannot be closed, or start values that contradict each other.

    Args:
        dae: the equations.
        s: start values, shape (n_s,).
        p: parameters, shape (n_p,).
        t: start time, s.
    """
    # Residuals of the constraints and of the start values at the pose that was reached
    q, n_s = assembled(dae, s, p, t), len(dae.start.starts)
    Phi = np.abs(column(dae.start.closing(q, p, t)))
    requested = missed(dae, column(q), s[:n_s], p, t)
    supplied = [(item.name, value) for item, value in zip(dae.starts, s, strict=True) if not item.guess]
    values = ", ".join(f"{name} = {value:g}" for name, value in supplied)
    # A start that is not finite
    for kind, numbers in (("coordinates", [*Phi, *requested]), ("states", s[n_s:])):
        if not np.all(np.isfinite(numbers)):
            ended = f"; perhaps {', or '.join(dae.about.ends)}" if dae.about.ends else ""
            return StartError(f"{dae.name}: the start values give {kind} that are not finite: {values}{ended}")
    # A pose that closes: rates or redundant rows contradict each other
    open_by, missed_by = max(Phi, default=0.0), max(requested, default=0.0)
    gap = max(open_by, missed_by)
    if open_by <= TOLERANCE and missed_by <= DIGITS:
        if singular := singularity(dae, q, p, t):
            return StartError(singular)
        if dae.constraints.dropped and float(_excess(dae, *map(ca.DM, (q, dae.followed(q, p, t), t)))) > 0:
            return StartError(
                f"{dae.name}: constraints that are redundant with the model's own parameters, and were left out, are "
                "not with these: give the model itself these parameters"
            )
        return StartError(
            f"{dae.name}: the start velocities contradict the constraints ({values}): leave some of them free "
            "(--free NAME)"
        )
    # Without loops the start values alone contradict each other
    if not dae.start.loops:
        return StartError(
            f"{dae.name}: the start values contradict each other ({values}; residual {gap:.2g}): leave some free "
            "(--free NAME)"
        )
    # Of several loops the worst is named
    misses = {name.rpartition(".")[0]: 0.0 for name in dae.start.position_names}
    for name, miss in zip(dae.start.position_names, requested, strict=True):
        joint = name.rpartition(".")[0]
        misses[joint] = max(misses[joint], miss)

    def wrong(loop: Loop) -> tuple[float, float]:
        gaps = [gap for gap in Phi[list(loop.rows)] if gap > TOLERANCE]
        return max(gaps, default=0.0), max((misses.get(joint, 0.0) for joint in loop.joints), default=0.0)

    worst = max(dae.start.loops, key=wrong)
    inside = [name for name in dae.start.met_names if name.rpartition(".")[0] in worst.joints]
    such = f" (such as --free {inside[0]})" if inside else ""
    return StartError(
        f"{dae.name}: the loop {' - '.join(worst.joints)} cannot be closed (residual {gap:.2g}) with {values}: "
        f"leave start values in the loop free{such}, bring them nearer to a closed pose, or check the lengths"
    )


def gap_error(dae: Dae, q: Any, p: Sequence[float], t: float, index: int) -> str:
    """Return a message on a gap that is negative at the start, with the start values that it grows and falls with.

    Args:
        dae: the equations, with gaps.
        q: coordinates, shape (n,).
        p: parameters, with the modes, shape (n_p,).
        t: time, s.
        index: of the gap.
    """
    plain, switches = dae.switching.plain if dae.switching else dae, dae.switches
    assert switches is not None
    x = ca.SX.sym("x", plain.n)
    plain_p, gap = list(p)[: plain.n_p], switches.gap
    slopes = ca.Function("slopes", [x], [ca.densify(ca.jacobian(gap(x, plain_p, t), x))])
    depth = -column(gap(list(q)[: plain.n], plain_p, t))[index]
    starts = {item.name for item in dae.starts}
    ways = [
        f"{'raise' if slope > 0 else 'lower'} {name}"
        for name, slope in zip(plain.coordinates, np.array(slopes(list(q)[: plain.n]))[index], strict=True)
        if slope and name in starts
    ]
    item = switches.gaps[index]
    return (
        f"{dae.name}: '{item.name}' starts {depth:.6g} {item.unit} inside: its gap must be 0 or more; "
        f"{' or '.join(ways) or 'change the start values that it depends on'}"
    )


def singularity(dae: Dae, q: Any, p: Sequence[float], t: float) -> str:
    """Return a message if the constraints are dependent at a pose, else an empty text.

    Constraints that are redundant everywhere have been left out of a Dae before (`redundancy.independent`). The
    remaining causes are a singular position, and a joint that states an equation twice.

    Args:
        dae: the equations.
        q: coordinates, shape (n,).
        p: parameters, shape (n_p,).
        t: time, s.
    """
    C = np.array(dae.constraints.C(q, dae.followed(q, p, t), t))
    missing = dependent(C)
    if not missing:
        return ""
    left, _, _ = np.linalg.svd(scaled_rows(C))
    weight = np.abs(left[: dae.m, -missing:]).max(axis=1)
    names = dict.fromkeys(name for name, share in zip(dae.row_names, weight, strict=True) if share > SHARE)
    for loop in dae.start.loops:
        if names.keys() & set(loop.joints):
            names.update(dict.fromkeys(loop.joints))
    who = ", ".join(names) or "the nonholonomic joints"
    if not dae.start.loops:
        return f"{dae.name}: {missing} equation(s) of {who} repeat others: state each equation only once"
    return (
        f"{dae.name}: the start is a singular position of {who}: {missing} constraint(s) depend on others there, "
        "and the mechanism could leave it in more than one way; start a little away from it"
    )


def dependent(C: npt.NDArray[np.float64]) -> int:
    """Return how many rows of a constraint Jacobian depend on the others; 0 if the Jacobian is not finite.

    Args:
        C: [Phi_q; G], shape (m + k, n).
    """
    scaled = scaled_rows(C)
    if not C.shape[0] or not np.all(np.isfinite(scaled)):
        return 0
    return len(C) - int(np.sum(np.linalg.svd(scaled, compute_uv=False) > SINGULAR))


def are_dependent(C: Any) -> bool:
    """Return whether rows of a constraint Jacobian depend on others; not if the Jacobian is not finite.

    Of a long one, the least singular value is the root of the least eigenvalue of C C^T, which is sparse: by Lanczos'
    method on its inverse (Lehoucq, Sorensen & Yang, ARPACK users' guide, 1998).

    Args:
        C: [Phi_q; G], DM, shape (m + k, n).
    """
    if C.size1() <= FEW:
        return dependent(np.array(C)) > 0
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import eigsh

    rows = C.tocsc()
    scaled = diags_array(1 / _lengths(np.sqrt(rows.power(2).sum(axis=1)))) @ rows
    if not np.all(np.isfinite(scaled.data)):
        return False
    begin = np.random.default_rng(0).normal(size=C.size1())
    try:
        least = eigsh((scaled @ scaled.T).tocsc(), 1, sigma=0.0, v0=begin, tol=CLOSE, return_eigenvectors=False)
    except RuntimeError:  # C C^T is singular in all digits, or Lanczos' method has not come to rest
        return dependent(np.array(C)) > 0
    return bool(least[0] <= SINGULAR**2)


def scaled_rows(C: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return a matrix with its rows scaled to length one, except those that are almost zero relative to the others."""
    rows: npt.NDArray[np.float64] = C / _lengths(np.linalg.norm(C, axis=1))[:, None]
    return rows


def _lengths(length: Any) -> npt.NDArray[np.float64]:
    """Return the lengths by which rows of some lengths are divided, shape (m + k,)."""
    length = np.asarray(length, dtype=float).ravel()
    longest = np.max(length, initial=NOTHING)
    lengths: npt.NDArray[np.float64] = np.where(length > SINGULAR * longest, length, longest)
    return lengths


def assembled(dae: Dae, s: Sequence[float], p: Sequence[float], t: float) -> Any:
    """Return the coordinates at which the assembly stops."""
    of, starts = dae.start, list(s)[: len(dae.start.starts)]
    x = of.sought.guess(starts, p, t)
    if x.numel():
        symbols = (ca.MX.sym(*item) for item in (("s", len(starts)), ("p", dae.n_p), ("t",)))
        inputs = list(symbols)
        stage = _pose_stage(dae, *inputs)
        correct = ca.Function("correct", [stage.unknowns, *inputs], [stage.correction])
        for _ in range(100):
            change = correct(x, starts, p, t)
            x = x + change
            if not np.any(np.abs(column(change)) > np.fmax(NO_CHANGE, NO_DIGIT * np.abs(column(x)))):
                break
    return of.pose(x, starts, p, t)


def missed(dae: Dae, q: Any, s: Any, p: Any, t: float) -> npt.NDArray[np.float64]:
    """Return by how much coordinates miss their start values, relative to these if they are larger than 1.

    Args:
        dae: the equations.
        q: coordinates, shape (n,).
        s: start values of the assembly, shape (number of them,).
        p: parameters, shape (n_p,).
        t: time, s.
    """
    residual = column(dae.start.positions(q, s, p, t))
    return np.abs(residual) / column(dae.start.sizes(s, p, t))[: len(residual)]


def start_slopes(dae: Dae, free: Sequence[tuple[bool, int]]) -> Any:
    """Return the Function (q, v, s, p, t) -> derivatives of the equations of a start.

    They are those of constraints and start values, with respect to [q; v], and with respect to some values.

    Args:
        dae: the equations.
        free: whether each value is a parameter, and its place among them or among the start values.
    """
    q, v, s, p, t = _symbols(dae)
    of, states = dae.start, ca.SX.sym("z", len(dae.starts) - s.numel())  # which no equation asks for
    rows = ca.vertcat(of.closing(q, p, t), of.positions(q, s, p, t), _bound(dae, q, v, p, t), of.rates(q, v, s, p, t))
    changed = ca.vertcat(*((p if kind else ca.vertcat(s, states))[k] for kind, k in free))
    slopes = [ca.densify(ca.jacobian(rows, item)) for item in (ca.vertcat(q, v), changed)]
    return merged("start_slopes", [q, v, s, p, t], slopes)


def contradicted(dae: Dae, slopes: Sequence[Any]) -> tuple[int, tuple[str, ...]] | None:
    """Return the number of a value, and the start values that contradict the constraints after its smallest change.

    Args:
        dae: the equations.
        slopes: of `start_slopes` at a consistent start.
    """
    rows, changes = (np.array(item) for item in slopes)
    if not (np.all(np.isfinite(rows)) and np.all(np.isfinite(changes))):
        return None
    lengths = _lengths(np.linalg.norm(rows, axis=1))[:, None]
    rows, changes = rows / lengths, changes / lengths
    left = np.abs(changes - rows @ np.linalg.lstsq(rows, changes, rcond=RANK)[0])
    wrong = left.max(axis=0, initial=0.0) > BEYOND * np.abs(changes).max(axis=0, initial=0.0)
    if not wrong.any():
        return None
    index = int(wrong.argmax())
    part = left[:, index].tolist()
    of = dae.start
    closing, bound = [""] * of.closing.numel_out(0), [""] * dae.constraints.g.numel_out(0)
    names = (*closing, *of.position_names, *closing, *bound, *of.rate_names)
    involved = sorted(zip(part, names, strict=True), reverse=True)
    return index, tuple(dict.fromkeys(name for size, name in involved if name and size > SHARE * max(part)))


def column(value: Any) -> npt.NDArray[np.float64]:
    """Return numbers of CasADi as an array, shape (n,)."""
    return np.array(value, dtype=float).reshape(-1)

"""Consistent start: coordinates and velocities that meet the constraints and the start values.

Positions: Gauss-Newton steps that change the coordinates least in the metric W of the mass matrix (for joint
coordinates, whose mass matrix has no sparse inverse, W = I),

    dq = -W^-1 C^T (C W^-1 C^T + E)^-1 c(q),    c = [Phi; start values of coordinates],    C = c_q,

from the pose that the spanning tree gives (exact without loops). Velocities: the same projection, linear, from rest; or
from the rates of the joints of a tree, if all have start values and the coordinates are those of the bodies: the first
joints of a long chain move so much with so little that E would let corrections come to rest slowly.

E is small and diagonal. Where rows of C are dependent and c contradicts itself, as that of start values which were
rounded, the corrections come to rest at the least sum of the squares of c_i over E_ii: E is so much larger for start
values that they give way, and the constraints are met to round-off. The start is refused if a start value gives way
by more than nine digits.

Guesses have rows in C too, with a larger E and zeros in c: coordinates with guesses change least. All rows have that E
while the loops are open: an open loop is often stretched, which is a singular position, and corrections there would go
anywhere. It fades as the loops close.
"""

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.dae.dae import Dae, Loop
from mbfmu.dae.formula import Formula, Stage, arguments, solve_linear
from mbfmu.dae.merged import merged
from mbfmu.errors import StartError

SX = Any
EPSILON = 1e-12
"""Entries of E relative to the mean of the diagonal of C W^-1 C^T, which make repeated rows harmless."""
YIELDING = 1e-8
"""Entries of E for start values, relative to the diagonal of C W^-1 C^T: the part of a row that a correction leaves."""
LEANING = 0.1
"""The same for guesses; and, if there are any, for all rows as long as the loops are open."""
OPEN = 1.0
"""Residual of constraints and start values, m or rad, that counts as open."""
NO_CHANGE = 1e-30
"""Correction of a coordinate, m or rad, below which an assembly is at rest."""
NO_DIGIT = 1e-15
"""The same relative to it: the others would go on to numbers so small that CasADi's solver divides 0 by 0."""
LARGEST_CORRECTION = 0.3
"""Longest correction of a coordinate, m or rad: longer ones are shortened, for loops that start far from closed."""
RANK = 1e-9
"""Singular value of the constraint Jacobian, relative to the largest, below which it counts as zero."""
SINGULAR = 1e-5
"""The same at the start, where coordinates are known only to the root of the round-off if rows become dependent."""
PROJECTIONS = 3
"""Number of times that a row is projected onto the space that others leave."""
FEW = 400
"""Number of rows up to which all singular values are computed."""
CLOSE = 1e-3
"""Relative error of the least eigenvalue of longer ones."""
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
    given = arguments(len(dae.inputs), dae.n_p, ca.MX)
    every = ca.MX.sym("s", len(dae.starts))
    s, own = ca.vertsplit(every, [0, len(dae.assembly.starts), every.numel()])
    p, t = given.p, given.t
    q, v = ca.MX.sym("q", dae.n), ca.MX.sym("v", dae.n)
    over_mass = _over_mass(dae)(q, p) if dae.assembly.mass_metric else None
    positions, rates = _position_rows(dae)(q, s, p, t), _rate_rows(dae)(q, v, s, p, t)
    dq = _shortened(dae.n)(_least_change(over_mass, *positions))
    dv = _least_change(over_mass, *rates)
    v_guess = dae.assembly.rate_guess(s, p, t) if dae.assembly.rate_guess else ca.MX.zeros(dae.n)
    z = dae.first_states(q, v, own, p, t) if dae.first_states else own
    residual = _residual(dae)(positions[1], rates[1], s, p, t)
    if dae.dropped:
        residual = ca.fmax(residual, _excess(dae, q, dae.followed(q, p, t), t))
    return Formula(
        every,
        given,
        (Stage(q, dae.assembly.guess(s, p, t), correction=dq), Stage(v, v_guess, correction=dv)),
        ca.vertcat(q, v, z, dae.assembly.counted(q, s, p, t), residual),
    )


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
    """Return the Function (q, p, t) -> [Phi_q; G] and the rows that were left out as redundant, each of length one."""
    q, _, _, p, t = _symbols(dae)
    out = ca.jacobian(dae.assembly.closing(q, p, t), q)[list(dae.dropped), :]

    def scaled(rows: Any) -> Any:
        return ca.diag(1 / ca.sqrt(ca.sum2(rows**2))) @ rows

    return merged("unit_rows", [q, p, t], [scaled(dae.C(q, p, t)), ca.densify(scaled(out))])


def _symbols(dae: Dae) -> tuple[SX, SX, SX, SX, SX]:
    """Return SX symbols for (q, v, s, p, t), with s the start values of the assembly."""
    sizes = {"q": dae.n, "v": dae.n, "s": len(dae.assembly.starts), "p": dae.n_p, "t": 1}
    q, v, s, p, t = (ca.SX.sym(name, size) for name, size in sizes.items())
    return q, v, s, p, t


def _over_mass(dae: Dae) -> Any:
    """Return the Function (q, p) -> W^-1, sparse, shape (n, n)."""
    q, _, _, p, _ = _symbols(dae)
    return merged("over_mass", [q, p], [dae.over_mass(q, p).inverse])


def _position_rows(dae: Dae) -> Any:
    """Return the Function (q, s, p, t) -> C, c and E_ii relative to the diagonal of C W^-1 C^T, of coordinates."""
    q, _, s, p, t = _symbols(dae)
    Phi, positions = dae.assembly.closing(q, p, t), dae.assembly.positions(q, s, p, t)
    met, leanings = ca.vertcat(Phi, positions), dae.assembly.leanings(q, s, p, t)
    gap = ca.sumsqr(met)
    damping = LEANING * gap / (gap + OPEN**2) if leanings.numel() else ca.SX(0)
    C = dae.assembly.slopes[0](q, s, p, t) if dae.assembly.slopes else ca.jacobian(ca.vertcat(met, leanings), q)
    yielding = _parts((Phi, damping), (positions, YIELDING + damping), (leanings, ca.SX(LEANING)))
    rows = [C, ca.densify(ca.vertcat(met, ca.SX(leanings.numel(), 1))), ca.densify(yielding)]
    return merged("position_rows", [q, s, p, t], rows)


def _rate_rows(dae: Dae) -> Any:
    """Return the Function (q, v, s, p, t) -> those of rates."""
    q, v, s, p, t = _symbols(dae)
    bound, rates = _bound(dae, q, v, p, t), dae.assembly.rates(q, v, s, p, t)
    moving = ca.vertcat(bound, rates)
    yielding = _parts((bound, ca.SX(0)), (rates, ca.SX(YIELDING)))
    if dae.assembly.slopes:
        closing = dae.assembly.slopes[0](q, s, p, t)[: dae.assembly.closing.numel_out(0), :]
        C = ca.vertcat(closing, dae.G(q, p, t), dae.assembly.slopes[1](q, v, s, p, t))
    else:
        C = ca.jacobian(moving, v)
    rows = [C, ca.densify(moving), ca.densify(yielding)]
    return merged("rate_rows", [q, v, s, p, t], rows)


def _residual(dae: Dae) -> Any:
    """Return the Function (c of coordinates, c of rates, s, p, t) -> the residual of a start."""
    of = dae.assembly
    holonomic, positions, leanings, nonholonomic, rates = (
        item.numel_out(0) for item in (of.closing, of.positions, of.leanings, dae.g, of.rates)
    )
    c, d = ca.SX.sym("c", holonomic + positions + leanings), ca.SX.sym("d", holonomic + nonholonomic + rates)
    _, _, s, p, t = _symbols(dae)
    met, asked, _ = ca.vertsplit(c, [0, holonomic, holonomic + positions, c.numel()])
    bound, asked_rates = ca.vertsplit(d, [0, holonomic + nonholonomic, d.numel()])
    parts = ca.vertcat(0, met, bound, TOLERANCE / DIGITS * ca.vertcat(asked, asked_rates) / of.sizes(s, p, t))
    return merged("start_residual", [c, d, s, p, t], [ca.norm_inf(ca.densify(parts))])


def _bound(dae: Dae, q: SX, v: SX, p: SX, t: SX) -> SX:
    """Return the residual of the constraints on velocities."""
    Phi = dae.assembly.closing(q, p, t)
    return ca.vertcat(ca.jtimes(Phi, q, v) + ca.jacobian(Phi, t), dae.G(q, p, t) @ v + dae.g(q, p, t))


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
    q, own = assembled(dae, s, p, t), len(dae.assembly.starts)
    Phi = np.abs(_column(dae.assembly.closing(q, p, t)))
    asked = missed(dae, _column(q), s[:own], p, t)
    given = [(item.name, value) for item, value in zip(dae.starts, s, strict=True) if not item.guess]
    values = ", ".join(f"{name} = {value:g}" for name, value in given)
    for what, numbers in (("coordinates", [*Phi, *asked]), ("states", s[own:])):
        if not np.all(np.isfinite(numbers)):
            ended = f"; perhaps {', or '.join(dae.ends)}" if dae.ends else ""
            return StartError(f"{dae.name}: the start values give {what} that are not finite: {values}{ended}")
    open_by, missed_by = max(Phi, default=0.0), max(asked, default=0.0)
    gap = max(open_by, missed_by)
    if open_by <= TOLERANCE and missed_by <= DIGITS:
        if singular := singularity(dae, q, p, t):
            return StartError(singular)
        if dae.dropped and float(_excess(dae, *map(ca.DM, (q, dae.followed(q, p, t), t)))) > 0:
            return StartError(
                f"{dae.name}: constraints that are redundant with the model's own parameters, and were left out, are "
                "not with these: give the model itself these parameters"
            )
        return StartError(
            f"{dae.name}: the start velocities contradict the constraints ({values}): leave some of them free "
            "(--free NAME)"
        )
    if not dae.assembly.loops:
        return StartError(
            f"{dae.name}: the start values contradict each other ({values}; residual {gap:.2g}): leave some free "
            "(--free NAME)"
        )
    misses = {name.rpartition(".")[0]: 0.0 for name in dae.assembly.position_names}
    for name, miss in zip(dae.assembly.position_names, asked, strict=True):
        joint = name.rpartition(".")[0]
        misses[joint] = max(misses[joint], miss)

    def wrong(loop: Loop) -> tuple[float, float]:
        gaps = [gap for gap in Phi[list(loop.rows)] if gap > TOLERANCE]
        return max(gaps, default=0.0), max((misses.get(joint, 0.0) for joint in loop.joints), default=0.0)

    worst = max(dae.assembly.loops, key=wrong)
    inside = [name for name in dae.assembly.met_names if name.rpartition(".")[0] in worst.joints]
    such = f" (such as --free {inside[0]})" if inside else ""
    return StartError(
        f"{dae.name}: the loop {' - '.join(worst.joints)} cannot be closed (residual {gap:.2g}) with {values}: "
        f"leave start values in the loop free{such}, bring them nearer to a closed pose, or check the lengths"
    )


def gap_error(dae: Dae, q: Any, p: Sequence[float], t: float, number: int) -> str:
    """Return a message on a gap that is negative at the start, with the start values that it grows and falls with.

    Args:
        dae: the equations, with gaps.
        q: coordinates, shape (n,).
        p: parameters, with the modes, shape (n_p,).
        t: time, s.
        number: of the gap.
    """
    plain, switches = dae.switching.plain if dae.switching else dae, dae.switches
    assert switches is not None
    x = ca.SX.sym("x", plain.n)
    given, gap = list(p)[: plain.n_p], switches.gap
    slopes = ca.Function("slopes", [x], [ca.densify(ca.jacobian(gap(x, given, t), x))])
    depth = -_column(gap(list(q)[: plain.n], given, t))[number]
    starts = {item.name for item in dae.starts}
    ways = [
        f"{'raise' if slope > 0 else 'lower'} {name}"
        for name, slope in zip(plain.coordinates, np.array(slopes(list(q)[: plain.n]))[number], strict=True)
        if slope and name in starts
    ]
    item = switches.gaps[number]
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
    C = np.array(dae.C(q, dae.followed(q, p, t), t))
    missing = dependent(C)
    if not missing:
        return ""
    left, _, _ = np.linalg.svd(scaled_rows(C))
    weight = np.abs(left[: dae.m, -missing:]).max(axis=1)
    names = dict.fromkeys(name for name, share in zip(dae.row_names, weight, strict=True) if share > SHARE)
    for loop in dae.assembly.loops:
        if names.keys() & set(loop.joints):
            names.update(dict.fromkeys(loop.joints))
    who = ", ".join(names) or "the nonholonomic joints"
    if not dae.assembly.loops:
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
    q = dae.assembly.guess(s[: len(dae.assembly.starts)], p, t)
    if not dae.n:
        return q
    formula = start_formula(dae)
    stage, given = next(item for item in formula.stages if isinstance(item, Stage)), formula.arguments
    correct = ca.Function("correct", [stage.unknowns, formula.x, given.p, given.t], [stage.correction])
    for _ in range(100):
        change = correct(q, s, p, t)
        q = q + change
        if not np.any(np.abs(_column(change)) > np.fmax(NO_CHANGE, NO_DIGIT * np.abs(_column(q)))):
            break
    return q


def missed(dae: Dae, q: Any, s: Any, p: Any, t: float) -> npt.NDArray[np.float64]:
    """Return by how much coordinates miss their start values, relative to these if they are larger than 1.

    Args:
        dae: the equations.
        q: coordinates, shape (n,).
        s: start values of the assembly, shape (number of them,).
        p: parameters, shape (n_p,).
        t: time, s.
    """
    residual = _column(dae.assembly.positions(q, s, p, t))
    return np.abs(residual) / _column(dae.assembly.sizes(s, p, t))[: len(residual)]


def start_slopes(dae: Dae, free: Sequence[tuple[bool, int]]) -> Any:
    """Return the Function (q, v, s, p, t) -> derivatives of the equations of a start.

    They are those of constraints and start values, with respect to [q; v], and with respect to some values.

    Args:
        dae: the equations.
        free: whether each value is a parameter, and its place among them or among the start values.
    """
    q, v, s, p, t = _symbols(dae)
    of, states = dae.assembly, ca.SX.sym("z", len(dae.starts) - s.numel())  # which no equation asks for
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
    number = int(wrong.argmax())
    part = left[:, number].tolist()
    of = dae.assembly
    closing, bound = [""] * of.closing.numel_out(0), [""] * dae.g.numel_out(0)
    names = (*closing, *of.position_names, *closing, *bound, *of.rate_names)
    involved = sorted(zip(part, names, strict=True), reverse=True)
    return number, tuple(dict.fromkeys(name for size, name in involved if name and size > SHARE * max(part)))


def _column(value: Any) -> npt.NDArray[np.float64]:
    return np.array(value, dtype=float).reshape(-1)

"""Redundant constraints: detected by rank at the assembled pose and near it, and left out of the equations.

A mechanism such as a four-bar of spatial revolutes has more closing constraints than it needs. The rows left out hold
wherever the others do; the motion does not determine their forces, which are taken as zero.

Where the combinations of rows that vanish are the same at every pose, as in a planar loop of spatial joints, the same
rows are left out everywhere. Where they change, as in Bennett's linkage, what is left out is a combination of rows, and
follows the motion (see `combined_rows`).
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.dae.dae import Dae
from mbfmu.dae.linear_algebra.combined_rows import CombinedRows, reflections_of
from mbfmu.dae.linear_algebra.merged import merged
from mbfmu.dae.start import RANK, SHARE, TOLERANCE, assembled, scaled_rows
from mbfmu.errors import ModelError

Array = npt.NDArray[np.float64]
SX = ca.SX

NEAR = 6
"""Number of poses near the first at which the rank is computed: a rank lost at a single pose is a singular position,
not a redundancy."""
FAR = 60
"""Number of poses at which the rows to leave out are chosen, so that the rows kept suffice wherever the mechanism goes.
"""
TIMES = (0.0, 0.37, 1.1)
"""Times at which prescribed motions are compared, s."""
CONTRADICTING = 1e-6
"""Difference from which prescribed motions contradict each other, 1/s."""
AWAY = 0.2
"""Distance of the fastest coordinate from pose to pose, m or rad."""
WANDER = 0.3
"""Random part of the direction from each pose to the next."""
DIGITS = 6
"""Decimals of a singular value that decide between rows: those beyond differ between processors."""
CHANGED = 1e-6
"""Change of an entry of a projection from which the space is not the same everywhere."""
INVOLVED = 1e-9
"""Entry of a vanishing combination, or of the projection onto all, from which it counts."""
STEP_UP = 0.35
"""Fraction of an octave above a power of two from which a length is rounded up to the next: usual lengths, such as 1 or
sqrt(2), are far from it."""


def independent(dae: Dae, again: Callable[..., Dae]) -> Dae:
    """Return the equations without redundant holonomic rows, and with the lengths of the rows that remain.

    The start and the residual outputs keep all rows.

    Args:
        dae: the equations.
        again: function (turning, spare) that derives the equations again: with rows resolved in the frames of the
            joints if `turning`, and with a number of entries of p for reflections (see `Bodies`). Rows are chosen among
            turning ones, as a row in the world frame that is redundant in one pose may be needed in another. The
            assembly keeps the rows of `dae`: they are less curved, so that its corrections converge from farther away.
    """
    if not dae.start.loops:
        return dae
    poses = closed_poses(dae, NEAR)
    rank = max((_rank(_rows(dae, q)) for q in poses), default=dae.m + dae.k)
    if rank == dae.m + dae.k:
        return _measured(dae, poses)
    dae = replace(again(turning=True), start=dae.start)
    walked = [(q, _rows(dae, q)) for q in closed_poses(dae, FAR)]
    generic = [(q, C) for q, C in walked if _rank(C) == rank]
    scaled = [scaled_rows(C) for _, C in generic]
    ambiguous = _ambiguous(dae, scaled)
    for (q, _), C in zip(generic, scaled, strict=True):
        _refuse_contradictions(dae, q, C, ambiguous)
    dropped = _dropped([C for _, C in generic], dae.k + dae.start.norms, rank)
    sets = _changing(dae, [C for _, C in generic], rank, dropped)
    if spare := sum(item.size for item in sets):
        dae = replace(again(turning=True, spare=spare), start=again(spare=spare).start)
    return _measured(_without(dae, dropped, ambiguous, sets), [q for q, _ in generic], sets)


def _measured(dae: Dae, poses: list[Array], sets: Sequence[CombinedRows] = ()) -> Dae:
    """Return the equations with the lengths that their rows get at some poses, to the next power of two.

    They only weigh a threshold, and round-off, which differs between processors, shall not reach the generated code.
    Combinations of rows have one length in each set, as they may be any.
    """
    p = dae.extended(dae.p_default())
    rows = [np.array(dae.constraints.C(q, dae.followed(q, p, 0.0), 0.0)) for q in poses]
    lengths = np.max([np.linalg.norm(C, axis=1) for C in rows], axis=0) if rows else np.zeros(0)
    left = [row for row in range(dae.m + len(dae.constraints.dropped)) if row not in dae.constraints.dropped]
    for item in sets if rows else ():
        indices = [left.index(row) for row in item.kept]
        lengths[indices] = np.max(lengths[indices])
    constraints = replace(dae.constraints, row_lengths=tuple(map(power_of_two, lengths)))
    return replace(dae, constraints=constraints)


def power_of_two(length: float) -> float:
    """Return the next power of two above a length, or the one below it if that is much nearer; 0 for 0."""
    return 2.0 ** math.ceil(math.log2(length) - STEP_UP) if length else 0.0


def _refuse_contradictions(dae: Dae, q: Array, C: Array, ambiguous: tuple[str, ...]) -> None:
    """Raise a ModelError if rows that are alike in the coordinates differ in time."""
    left, values, _ = np.linalg.svd(C)
    p = dae.extended(dae.p_default())
    still = np.zeros(dae.k + dae.start.norms)
    free = slice(0, dae.m - dae.start.norms)
    for t in TIMES:
        rates = np.concatenate([still, np.array(dae.constraints.Phi_t(q, p, t)).ravel()[free]])
        if np.max(np.abs(left[:, int(np.sum(values > RANK)) :].T @ rates), initial=0.0) > CONTRADICTING:
            raise ModelError(
                f"{dae.name}: the motions in time of {', '.join(ambiguous)} contradict each other: drop one of them"
            )


def closed_poses(dae: Dae, count: int) -> list[Array]:
    """Return the assembled pose and some on a walk from it, all closed; an empty list if it cannot be assembled.

    The walk keeps its direction, except for a random part by which it explores all degrees of freedom. Directions are
    projected onto the free ones, as a basis of these differs between processors.
    """
    s, p = dae.s_default(), dae.extended(dae.p_default())
    q = np.array(assembled(dae, list(s), list(p), 0.0)).ravel()
    closed = _closed(dae, q, p)
    if closed is None:
        return []
    poses, rng, ahead = [closed], np.random.default_rng(0), np.zeros(dae.n)
    for _ in range(count):
        C = scaled_rows(_rows(dae, poses[-1]))
        _, values, right = np.linalg.svd(C)
        free = right[int(np.sum(values > RANK)) :]
        if not len(free):
            break
        wish = free @ (ahead + WANDER * rng.normal(size=dae.n))
        ahead = free.T @ (wish / np.linalg.norm(wish))
        near = _closed(dae, poses[-1] + AWAY / np.max(np.abs(ahead)) * ahead, p)
        if near is None:
            ahead = -ahead
        else:
            poses.append(near)
    return poses


def _closed(dae: Dae, q: Array, p: Array) -> Array | None:
    """Return the pose next to q that meets the constraints, or None."""
    for _ in range(50):
        Phi = np.array(dae.constraints.Phi(q, p, 0.0)).ravel()
        if not np.all(np.isfinite([*q, *Phi])):
            return None
        if np.max(np.abs(Phi), initial=0.0) < TOLERANCE / 10:
            return q
        q = q - np.linalg.lstsq(np.array(dae.constraints.Phi_q(q, p, 0.0)), Phi, rcond=RANK)[0]
    return None


def _rank(C: Array) -> int:
    return int(np.sum(np.linalg.svd(scaled_rows(C), compute_uv=False) > RANK))


def _rows(dae: Dae, q: Array) -> Array:
    """Return [G; norms of quaternions; other rows of Phi_q] at a pose."""
    p = dae.extended(dae.p_default())
    Phi_q, norms = np.array(dae.constraints.Phi_q(q, p, 0.0)), dae.m - dae.start.norms
    return np.vstack([np.array(dae.constraints.G(q, p, 0.0)), Phi_q[norms:], Phi_q[:norms]])


def _dropped(jacobians: list[Array], held: int, rank: int) -> tuple[int, ...]:
    """Return the numbers of the rows to drop, none of them among the first `held` rows.

    With N the combinations of rows that vanish (orthonormal columns), the least singular value of the kept rows is at
    least that of all rows times the least one of the dropped rows of N. The rows chosen make this large at the worst
    pose. Rows are not scaled: a row that hardly changes with the coordinates determines little. Of equal choices the
    first is taken.
    """
    from scipy.linalg import qr  # its import takes longer than a prepared model takes to start

    vanishing = np.array([np.linalg.svd(C)[0][held:, rank:] for C in jacobians])
    count = vanishing.shape[2]

    def merit(rows: tuple[int, ...]) -> tuple[float, tuple[int, ...]]:
        worst = np.linalg.svd(vanishing[:, rows, :], compute_uv=False)[:, -1].min()
        return round(float(worst), DIGITS), tuple(-row for row in rows)

    choices = {tuple(sorted(map(int, qr(N.T, mode="r", pivoting=True)[1][:count]))) for N in vanishing}
    best = max(choices, key=merit)
    while True:
        others = [row for row in range(vanishing.shape[1]) if row not in best]
        exchanged = [tuple(sorted((*best[:k], row, *best[k + 1 :]))) for k in range(count) for row in others]
        better = max([best, *exchanged], key=merit)
        if better == best:
            return best
        best = better


def _changing(dae: Dae, jacobians: list[Array], rank: int, dropped: tuple[int, ...]) -> tuple[CombinedRows, ...]:
    """Return the sets of rows in which other rows can be left out at other poses.

    Two rows are in one set if a vanishing combination has both, directly or by others in between. Combined are those of
    one joint of each loop and of couplings, without which no combination vanishes, and of joints with dropped rows. If
    their parts of the vanishing combinations span the same space at every pose, the dropped rows can be left out
    everywhere.

    Args:
        dae: the equations with all rows.
        jacobians: rows as `_rows` returns them, at some poses.
        rank: number of independent ones.
        dropped: indices of the holonomic rows that are dropped at the start.
    """
    others = dae.m - dae.start.norms
    index = [*range(dae.m, dae.m + dae.k), *range(others, dae.m), *range(others)]  # of the rows of `_rows` in C
    order = np.argsort(index)
    vanishing = [np.linalg.svd(C)[0][order, rank:] for C in jacobians]
    linked = np.max([np.abs(N @ N.T) for N in vanishing], axis=0) > INVOLVED
    owners = [*dae.start.constraint_names, *[""] * dae.k]
    around = Counter(joint for loop in dae.start.loops for joint in loop.joints)
    share = Counter(owners[row] for row in dropped)
    cuts = {max((j for j in loop.joints if around[j] == 1), key=lambda j: share[j]) for loop in dae.start.loops}
    whole = around.keys() - cuts - share.keys()  # joints whose rows stay as they are
    sets, left = [], set(dropped)
    while left:
        members: set[int] = set()
        ahead = [min(left)]
        while ahead:
            row = ahead.pop()
            members.add(row)
            ahead += [int(other) for other in np.flatnonzero(linked[row]) if other not in members]
        first = sorted(members & left)
        left -= members
        combined = [*first, *sorted(row for row in members - set(first) if owners[row] not in whole and row < others)]
        spans = np.array([_projection(N[combined]) for N in vanishing])
        if np.abs(spans - spans[0]).max() > CHANGED:
            sets.append(CombinedRows(tuple(combined), len(first), tuple(sorted(members - set(combined)))))
    return tuple(sets)


def _projection(N: Array) -> Array:
    """Return the projection onto the space that columns span."""
    left, values, _ = np.linalg.svd(N, full_matrices=False)
    basis = left[:, values > INVOLVED]
    projection: Array = basis @ basis.T
    return projection


def _ambiguous(dae: Dae, jacobians: list[Array]) -> tuple[str, ...]:
    """Return the joints with undetermined forces: those in a vanishing combination of rows, and in their loops."""
    names: dict[str, None] = {}
    for C in jacobians:
        left, values, _ = np.linalg.svd(C)
        missing = left[:, int(np.sum(values > RANK)) :]
        weight = np.abs(missing[dae.k + dae.start.norms :]).max(axis=1, initial=0.0)
        for name, share in zip(dae.start.constraint_names, weight, strict=False):
            if share > SHARE:
                names[name] = None
    for loop in dae.start.loops:
        if names.keys() & set(loop.joints):
            names.update(dict.fromkeys(loop.joints))
    return tuple(names)


def _without(dae: Dae, dropped: tuple[int, ...], ambiguous: tuple[str, ...], sets: Sequence[CombinedRows]) -> Dae:
    """Return the equations without some holonomic rows, and with combinations of the others in the sets."""
    # Symbols: fewer multipliers lambda, and in p the reflections w of the sets
    rows = [row for row in range(dae.m) if row not in dropped]
    first, size = len(dae.parameters) + dae.n_held, sum(item.size for item in sets)
    q, v, z, u, _, t = dae.symbols()
    p, a, turned, lambda_ = (
        ca.SX.sym(*item)
        for item in (("p", dae.n_p + size), ("a", dae.n), ("turned", dae.n_angles), ("lambda_", len(rows) + dae.k))
    )
    w = reflections_of(sets, p[first : first + size])

    # The rows that remain: R C for the rows C of each set, see `CombinedRows`
    def function(name: str, arguments: list[Any], result: Any) -> Any:
        return merged(name, arguments, [result])

    def kept(X: SX) -> SX:
        whole = ca.SX(X)
        for item, reflections in zip(sets, w, strict=True):
            whole[list(item.kept), :] = item.combined(reflections, X[list(item.rows), :])
        return whole[rows, :]

    # All multipliers from those that remain: R^T lambda in each set, 0 for dropped rows
    every = ca.SX.zeros(dae.m + dae.k)
    for index, row in enumerate([*rows, *range(dae.m, dae.m + dae.k)]):
        every[row] = lambda_[index]
    for item, reflections in zip(sets, w, strict=True):
        every[list(item.rows)] = item.spread(reflections, every[list(item.kept)])
    # Normal forces of frictions, and forces that depend on multipliers, by all multipliers
    switches = dae.switches
    if switches:
        pressing = switches.normal(q, v, z, a, every, u, p, t)
        switches = replace(switches, normal=function("normal", [q, v, z, a, lambda_, u, p, t], pressing))
    pressing = dae.pressing
    if pressing:
        law = pressing.law(q, v, z, u, p, t, every)
        pressing = replace(pressing, law=function("pressing", [q, v, z, u, p, t, lambda_], law))
    # At the end of a step the reflections follow C = [Phi_q; G]
    Phi_q = dae.constraints.Phi_q(q, p, t)
    follow = None
    if sets:
        pairs = zip(sets, w, strict=True)
        C = ca.vertcat(Phi_q, dae.constraints.G(q, p, t))
        followed = ca.vertcat(*(item.followed(reflections, C) for item, reflections in pairs))
        follow = function("follow", [q, p, t], ca.densify(followed))
    # The equations with these rows, and with outputs that see all multipliers
    return replace(
        dae,
        constraints=replace(
            dae.constraints,
            Phi=function("Phi", [q, p, t], kept(dae.constraints.Phi(q, p, t))),
            Phi_q=function("Phi_q", [q, p, t], kept(Phi_q)),
            Phi_t=function("Phi_t", [q, p, t], kept(dae.constraints.Phi_t(q, p, t))),
            gamma=function("gamma", [q, v, p, t], kept(dae.constraints.gamma(q, v, p, t))),
            dropped=dropped,
            follow=follow,
        ),
        output=ca.Function(
            "output", [q, v, z, turned, a, lambda_, u, p, t], [dae.output(q, v, z, turned, a, every, u, p, t)]
        ),
        outputs=tuple(replace(item, unique=item.reaction_of not in ambiguous) for item in dae.outputs),
        switches=switches,
        pressing=pressing,
    )

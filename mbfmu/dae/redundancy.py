"""Redundant constraints: found by rank at the assembled pose and near it, and left out of the equations.

A mechanism such as a four-bar of spatial revolutes is closed more often than it need be. The rows left out hold
wherever the others do; their forces are not determined by the motion, and are taken as zero.
"""

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
from scipy.linalg import qr

from mbfmu.dae.dae import Dae
from mbfmu.dae.start import RANK, SHARE, TOLERANCE, assembled, scaled_rows

Array = npt.NDArray[np.float64]

POSES = 6
"""How many poses near the first are looked at: a rank lost at one pose alone is a singular position, no redundancy."""
AWAY = 0.2
"""m or rad; how far apart they are."""


def independent(dae: Dae) -> Dae:
    """Return the equations without redundant holonomic rows; the same object if there are none.

    The start, and the residual outputs, go on with all rows.
    """
    if not dae.assembly.loops:
        return dae
    poses = _poses(dae)
    if not poses:
        return dae
    jacobians = [_scaled(dae, q) for q in poses]
    ranks = [int(np.sum(np.linalg.svd(C, compute_uv=False) > RANK)) for C in jacobians]
    rank = max(ranks)
    if rank == dae.m + dae.k:
        return dae
    generic = [C for C, found in zip(jacobians, ranks, strict=True) if found == rank]
    kept = _kept(generic, dae.k, rank - dae.k)
    return _without(dae, kept, _ambiguous(dae, generic))


def _poses(dae: Dae) -> list[Array]:
    """Return the assembled pose and some near it, all closed; nothing if it cannot be assembled."""
    s, p = dae.s_default(), dae.extended(dae.p_default())
    q = np.array(assembled(dae, list(s), list(p), 0.0)).ravel()
    closed = _closed(dae, q, p)
    if closed is None:
        return []
    found, rng = [closed], np.random.default_rng(0)
    for _ in range(POSES):
        C = _scaled(dae, found[-1])
        _, values, right = np.linalg.svd(C)
        free = right[int(np.sum(values > RANK)) :]
        if not len(free):
            break
        step = free.T @ rng.normal(size=len(free))
        near = _closed(dae, found[-1] + AWAY * step / np.linalg.norm(step), p)
        if near is not None:
            found.append(near)
    return found


def _closed(dae: Dae, q: Array, p: Array) -> Array | None:
    """Return the pose next to q that meets the constraints, or None."""
    for _ in range(50):
        Phi = np.array(dae.Phi(q, p, 0.0)).ravel()
        if not np.all(np.isfinite(Phi)):
            return None
        if np.max(np.abs(Phi), initial=0.0) < TOLERANCE / 10:
            return q
        q = q - np.linalg.lstsq(np.array(dae.Phi_q(q, p, 0.0)), Phi, rcond=RANK)[0]
    return None


def _scaled(dae: Dae, q: Array) -> Array:
    """Return [G; Phi_q] at a pose, each row of length one."""
    p = dae.extended(dae.p_default())
    return scaled_rows(np.vstack([np.array(dae.G(q, p, 0.0)), np.array(dae.Phi_q(q, p, 0.0))]))


def _kept(jacobians: list[Array], k: int, count: int) -> tuple[int, ...]:
    """Return the holonomic rows to keep: of the choices that pivoting offers, the one best conditioned at its worst."""

    def worst(rows: tuple[int, ...]) -> float:
        chosen = [*range(k), *(k + row for row in rows)]
        return min(float(np.linalg.svd(C[chosen], compute_uv=False)[-1]) for C in jacobians)

    choices: set[tuple[int, ...]] = set()
    for C in [*jacobians, sum(jacobians[1:], jacobians[0])]:
        held = C[:k]
        rest = C[k:] - C[k:] @ np.linalg.pinv(held) @ held if k else C
        pivots = qr(rest.T, mode="r", pivoting=True)[1]
        choices.add(tuple(sorted(int(row) for row in pivots[:count])))
    return max(sorted(choices), key=worst)


def _ambiguous(dae: Dae, jacobians: list[Array]) -> tuple[str, ...]:
    """Return the joints of undetermined forces: those in a combination of rows that vanishes, and their loops."""
    names: dict[str, None] = {}
    for C in jacobians:
        left, values, _ = np.linalg.svd(C)
        missing = left[:, int(np.sum(values > RANK)) :]
        weight = np.abs(missing[dae.k :]).max(axis=1, initial=0.0)
        for name, share in zip(dae.assembly.constraint_names, weight, strict=True):
            if share > SHARE:
                names[name] = None
    for loop in dae.assembly.loops:
        if names.keys() & set(loop.joints):
            names.update(dict.fromkeys(loop.joints))
    return tuple(names)


def _without(dae: Dae, kept: tuple[int, ...], ambiguous: tuple[str, ...]) -> Dae:
    """Return the equations with the kept holonomic rows alone."""
    q, v, p, t = ca.SX.sym("q", dae.n), ca.SX.sym("v", dae.n), ca.SX.sym("p", dae.n_p), ca.SX.sym("t")
    a, u = ca.SX.sym("a", dae.n), ca.SX.sym("u", len(dae.inputs))
    turned, lambda_ = ca.SX.sym("turned", dae.n_angles), ca.SX.sym("lambda_", len(kept) + dae.k)
    rows = list(kept)

    def function(name: str, arguments: list[Any], result: Any) -> Any:
        return ca.Function(name, arguments, [ca.cse(result)])

    every = ca.SX.zeros(dae.m + dae.k)
    for number, row in enumerate([*rows, *range(dae.m, dae.m + dae.k)]):
        every[row] = lambda_[number]
    marks = tuple(f"{name}.frame_b." for name in ambiguous)
    note = "; not unique, the constraints are redundant"
    return replace(
        dae,
        m=len(rows),
        Phi=function("Phi", [q, p, t], dae.Phi(q, p, t)[rows]),
        Phi_q=function("Phi_q", [q, p, t], dae.Phi_q(q, p, t)[rows, :]),
        Phi_t=function("Phi_t", [q, p, t], dae.Phi_t(q, p, t)[rows]),
        gamma=function("gamma", [q, v, p, t], dae.gamma(q, v, p, t)[rows]),
        output=function("output", [q, v, turned, a, lambda_, u, p, t], dae.output(q, v, turned, a, every, u, p, t)),
        outputs=tuple(
            replace(item, description=item.description + note) if item.name.startswith(marks) else item
            for item in dae.outputs
        ),
        dropped=tuple(row for row in range(dae.m) if row not in kept),
    )

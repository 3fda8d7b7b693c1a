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
from mbfmu.errors import ModelError

Array = npt.NDArray[np.float64]

POSES = 6
"""How many poses near the first are looked at: a rank lost at one pose alone is a singular position, no redundancy."""
TIMES = (0.0, 0.37, 1.1)
"""s; when motions in time are compared."""
CONTRADICTING = 1e-6
"""1/s; a difference of motions from which they contradict each other."""
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
    generic = [(q, C) for q, C, found in zip(poses, jacobians, ranks, strict=True) if found == rank]
    ambiguous = _ambiguous(dae, [C for _, C in generic])
    for q, C in generic:
        _refuse_contradictions(dae, q, C, ambiguous)
    held = dae.k + dae.assembly.norms
    kept = _kept([C for _, C in generic], held, rank - held)
    return _without(dae, (*kept, *range(dae.m - dae.assembly.norms, dae.m)), ambiguous)


def _refuse_contradictions(dae: Dae, q: Array, C: Array, ambiguous: tuple[str, ...]) -> None:
    """Refuse rows that say the same of the coordinates, but not of the time."""
    left, values, _ = np.linalg.svd(C)
    p = dae.extended(dae.p_default())
    still = np.zeros(dae.k + dae.assembly.norms)
    free = slice(0, dae.m - dae.assembly.norms)
    for t in TIMES:
        rates = np.concatenate([still, np.array(dae.Phi_t(q, p, t)).ravel()[free]])
        if np.max(np.abs(left[:, int(np.sum(values > RANK)) :].T @ rates), initial=0.0) > CONTRADICTING:
            raise ModelError(
                f"{dae.name}: the motions in time of {', '.join(ambiguous)} contradict each other: drop one of them"
            )


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
    """Return [G; norms of quaternions; other rows of Phi_q] at a pose, each row of length one."""
    p = dae.extended(dae.p_default())
    Phi_q, norms = np.array(dae.Phi_q(q, p, 0.0)), dae.m - dae.assembly.norms
    return scaled_rows(np.vstack([np.array(dae.G(q, p, 0.0)), Phi_q[norms:], Phi_q[:norms]]))


def _kept(jacobians: list[Array], k: int, count: int) -> tuple[int, ...]:
    """Return which rows to keep after the first k: of the choices pivoting offers, the one that is never ill."""
    if not count:
        return ()

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
        weight = np.abs(missing[dae.k + dae.assembly.norms :]).max(axis=1, initial=0.0)
        for name, share in zip(dae.assembly.constraint_names, weight, strict=False):
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
    joints = {item.name.partition(".frame_b.")[0] for item in dae.outputs if ".frame_b.f" in item.name}
    marks = tuple(f"{name}.frame_b." if name in joints else f"{name}." for name in ambiguous)
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

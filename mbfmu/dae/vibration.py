"""Rates at which a mechanism vibrates and settles at its start, and the step that its flexible bodies ask for.

With the stiffness K of a body's own shape alone, its frequencies are the roots of det(K - omega^2 M) = 0. With the
block of M of its shape these are those with all other coordinates held; with all of M, nothing else has stiffness or is
held: constraints can only lower the highest of them (Courant & Hilbert, Methods of Mathematical Physics, chapter 1.4).
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.dae.dae import Dae
from mbfmu.dae.start import assembled, column, free_directions, started_rates

Array = npt.NDArray[np.float64]

EXPLICIT = 1 / 3
"""Longest step of explicit steppers as a part of a period: those of fourth order are stable to 0.45 of it."""

SMALL = 1e-6
"""Change of a coordinate or a rate by which the change of forces is found, relative to 1 and to their size."""
DENSE = 100
"""Largest number of coordinates of which all rates are computed, not the largest alone."""
ACCURACY = 1e-3
"""Relative accuracy of the largest alone."""


class Rates(NamedTuple):
    """The largest rates of the motions that a mechanism can make where it starts.

    Args:
        vibration: largest frequency without damping, rad/s.
        decay: largest rate at which a damper takes a motion, 1/s.
    """

    vibration: float = 0.0
    decay: float = 0.0


def fastest(dae: Dae) -> Rates:
    """Return the largest rates of a mechanism at rest where it starts, with open gaps; zero if they are not finite.

    With the motions w that the constraints allow, C w = 0, they are the largest eigenvalues omega^2 of -f_q and r of
    -f_v against M. What the constraints' own forces add as the constraints turn is left out.
    """
    dae = dae.unswitched
    p, u, s = dae.extended(dae.p_default()), dae.u_default(), dae.s_default()
    q = column(
        assembled(dae, s.tolist(), p.tolist(), 0.0) if dae.m else dae.start.guess(s[: len(dae.start.starts)], p, 0.0)
    )
    z, still = np.zeros(dae.n_z), np.zeros(dae.n)
    M, C = np.array(dae.equations.M(q, p)), np.array(dae.constraints.C(q, p, 0.0))
    if not (np.isfinite(M).all() and np.isfinite(C).all()):
        return Rates()

    def pushed(by_q: Array, by_v: Array) -> Any:
        size = SMALL * (1 + np.abs(q).max(initial=0.0))
        ends = (column(dae.equations.force(q + a * size * by_q, a * size * by_v, z, u, p, 0.0)) for a in (1, -1))
        first, last = ends
        return (last - first) / (2 * size)

    of_q, of_v = (_largest(M, C, push) for push in (lambda w: pushed(w, still), lambda w: pushed(still, w)))
    return Rates(math.sqrt(of_q), of_v)


def fastest_with_states(dae: Dae) -> Rates:
    """Return the largest rates of a motion together with its first-order states, where it starts.

    They are the largest sizes of the eigenvalues of the index-1 form, [q'; v'; z'] by [q; v; z], of pairs that vibrate
    and of those that do not: at the velocities of the start, and at those that differ from them by about 1 rad/s and
    1 m/s either way, as frictions with states settle by their slip. Infinity: they are not known.
    """
    if dae.n > DENSE:
        return Rates(math.inf, math.inf)
    p, u, s = dae.extended(dae.p_default()), dae.u_default(), dae.s_default()
    n, count = dae.n, len(dae.start.starts)
    starts, states = s[:count], s[count:]
    q = column(assembled(dae, s.tolist(), p.tolist(), 0.0) if dae.m else dae.start.guess(starts, p, 0.0))
    v = started_rates(dae, q, starts, p, 0.0)
    allowed = free_directions(np.array(dae.constraints.C(q, p, 0.0)))
    beside = allowed @ (allowed.T @ np.cos(np.arange(n)))
    z = column(dae.start.first_states(q, v, states, p, 0.0)) if dae.start.first_states else states
    size = SMALL * np.concatenate([np.full(2 * n, 1 + np.abs(q).max(initial=0.0)), dae.nominal_states])
    ends = np.cumsum([n, n])

    def rate(y: Array) -> Array:
        q, v, z = np.split(y, ends)
        a, _ = dae.acceleration(q, v, z, u, p, 0.0)
        return np.concatenate([v, column(a), column(dae.equations.flow(q, v, z, u, p, 0.0))])

    found = []
    for part in (0.0, 1.0, -1.0):
        y = np.concatenate([q, v + part * beside, z])
        columns = [(rate(y + step) - rate(y - step)) / 2 / size for step in np.diag(size)]
        found.append(np.column_stack(columns))
    if not np.isfinite(found).all():
        return Rates(math.inf, math.inf)
    values = np.concatenate([np.linalg.eigvals(item) for item in found])
    swings = np.abs(values.imag) > SMALL * np.abs(values)
    return Rates(*(float(np.abs(values[chosen]).max(initial=0.0)) for chosen in (swings, ~swings)))


def _largest(M: Array, C: Array, push: Callable[[Array], Any]) -> float:
    """Return the largest eigenvalue of a map of motions w to forces against M where C w = 0, 0 if none is positive.

    Args:
        M: mass matrix, shape (n, n).
        C: constraints on velocities, shape (m + k, n).
        push: the map of vectors of shape (n,).
    """
    n, over_mass = len(M), np.linalg.pinv(M, hermitian=True)
    allowed = np.eye(n) - over_mass @ C.T @ np.linalg.pinv(C @ over_mass @ C.T, hermitian=True) @ C

    def motion(w: Array) -> Array:
        result: Array = allowed @ (over_mass @ push(allowed @ w))
        return result

    if n <= DENSE:
        columns = np.column_stack([motion(w) for w in np.eye(n)])
        values = np.linalg.eigvals(columns) if np.isfinite(columns).all() else np.zeros(1)
    else:
        from scipy.sparse.linalg import ArpackError, LinearOperator, eigs  # as in `_squares`

        first = np.cos(np.arange(n))
        try:
            values = eigs(LinearOperator((n, n), motion), 1, which="LR", v0=first, tol=ACCURACY)[0]
        except ArpackError:
            values = np.zeros(1)
    return max(0.0, float(values.real.max()))


class Vibration(NamedTuple):
    """The frequencies of a flexible body or line at the start.

    Args:
        path: full name of the body.
        size: number of the coordinates of its shape.
        lowest: lowest frequency with everything but its shape held, Hz.
        highest: highest frequency that it can have in the mechanism, Hz.
    """

    path: str
    size: int
    lowest: float
    highest: float

    @property
    def step(self) -> float:
        """Longest step of explicit steppers, s."""
        return EXPLICIT / self.highest if self.highest else math.inf


def vibrations(dae: Dae) -> Iterator[Vibration]:
    """Yield the frequencies of each flexible body and line at the start."""
    if not dae.about.flexible:
        return
    p, u, s = dae.extended(dae.p_default()), dae.u_default(), dae.s_default()[: len(dae.start.starts)]
    q = dae.start.guess(s, p, 0.0)
    symbols = dae.symbols()
    slopes = ca.Function("slopes", list(symbols), [ca.densify(ca.jacobian(dae.equations.force(*symbols), symbols[0]))])
    z, still = np.zeros(symbols[2].numel()), np.zeros(dae.n)
    K, M = -np.array(slopes(q, still, z, u, p, 0.0)), np.array(dae.equations.M(q, p))
    plain = dae.unswitched
    rows = np.array(plain.constraints.Phi_q(q[: plain.n], p[: plain.n_p], 0.0))[plain.m - plain.start.norms : plain.m]
    norms = np.pad(rows, ((0, 0), (0, dae.n - plain.n)))
    for path, numbers in dae.about.flexible:
        block = np.ix_(numbers, numbers)
        alone = np.zeros_like(M)
        alone[block] = (K[block] + K[block].T) / 2
        held = _squares(alone[block], M[block], norms[:, numbers])[0]
        free = _squares(alone, M, norms)[-1]
        lowest, highest = (math.sqrt(max(item, 0.0)) / (2 * math.pi) for item in (held, free))
        yield Vibration(path, len(numbers), lowest, highest)


def _squares(K: Array, M: Array, norms: Array) -> Array:
    """Return the squares of the frequencies, from the lowest, of motions that keep quaternions at length 1."""
    from scipy.linalg import eigh, null_space  # their import takes longer than a prepared model takes to start

    ways = null_space(norms) if norms.any() else np.eye(len(M))
    squares: Array = eigh(ways.T @ K @ ways, ways.T @ M @ ways, eigvals_only=True)
    return squares


def quickest(dae: Dae) -> Vibration | None:
    """Return the flexible body with the highest frequency; None without flexible bodies."""
    return max(vibrations(dae), key=lambda item: item.highest, default=None)

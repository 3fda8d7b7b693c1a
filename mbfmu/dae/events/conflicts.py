"""Contacts without a solution: friction that makes their equations singular, motions that do not give way.

With the matrix A = W M^-1 W^T of the constrained mechanism, a contact i that slides along its slip gamma_j accelerates
its gap by

    gddot_i = k_i lambda_i + ...,    k_i = A_ii - F'(lambda_i) sign(gamma_j) A_ij

for each unit of its force. Where k_i is zero or negative, pressing harder does not open it: Painleve's paradox (Genot &
Brogliato, Eur. J. Mech. A 18, 1999). Where A_ii is zero, no force moves the gap: the constraints prescribe its motion.
"""

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from mbfmu.dae.dae import Dae
from mbfmu.dae.events.modes import SLOW, Rows
from mbfmu.dae.linear_algebra.kkt import SchurFactor
from mbfmu.dae.start import assembled, started_rates

PARADOX = 0.1
"""Largest k_i, relative to A_ii, of a contact that friction has made nearly singular."""
LOCKED = 1e-6
"""Largest A_ii, relative to that without constraints, of a gap that no force moves."""
NEAR = 1e-3
"""Largest gap, m or rad, that may be about to close."""
SHARE = 1e-3
"""Least share of a constraint in the motion of a gap, relative to the largest, for a message to name it."""


def start_conflict(dae: Dae, s: Sequence[float], p: Sequence[float]) -> str:
    """Return the sentence of `conflict` at t = 0, for start values and parameters of a model with contacts."""
    begun, whole = list(s)[: len(dae.start.starts)], list(dae.extended(list(p)))
    q = assembled(dae, begun, whole, 0.0)
    return conflict(dae, q, started_rates(dae, q, begun, whole, 0.0), whole, 0.0)


def conflict(dae: Dae, q: Any, v: Any, p: Sequence[float], t: float) -> str:
    """Return a sentence on a contact whose equations have no solution; an empty text if there is none.

    Args:
        dae: the equations, of any kind.
        q: coordinates, shape (n,).
        v: rates, shape (n,).
        p: parameters, shape (n_p,).
        t: time, s.
    """
    switches = dae.switches
    if switches is None:
        return ""
    plain = dae.unswitched
    state = (np.array(x, dtype=float).ravel()[:n] for x, n in ((q, plain.n), (v, plain.n), (p, plain.n_p)))
    gap, rate, slip, W, A, free, C, slope, bias, gammas = map(np.array, _matrices(plain)(*state, t))
    gap, rate, slip, free, slope, bias, gammas = (item.ravel() for item in (gap, rate, slip, free, slope, bias, gammas))
    r_N = len(switches.gaps)
    for i, item in enumerate(switches.gaps):
        if not gap[i] < NEAR or not np.all(np.isfinite(A)):
            continue
        # A gap that no force moves, and the constraints that move it: W_i = shares C, gddot = shares gammas + bias
        if free[i] > 0 and A[i, i] <= LOCKED * free[i]:
            shares = np.linalg.lstsq(C.T, W[i], rcond=None)[0]
            if rate[i] >= -SLOW and (rate[i] > SLOW or shares @ gammas + bias[i] >= 0):
                continue
            shares = np.abs(shares)
            names = [*plain.row_names, *[""] * plain.k]
            moving = dict.fromkeys(n for n, s in zip(names, shares, strict=True) if n and s > SHARE * shares.max())
            return (
                f"'{item.name}' closes against a motion that does not give way, prescribed by {', '.join(moving)}: let "
                "something between them give way, such as a spring, or a cable in place of a coupling"
            )
        # A contact whose friction makes its equation singular
        k = A[i, i]
        for j, friction in enumerate(switches.frictions):
            if friction.gap == i:
                k -= slope[j] * np.sign(slip[j]) * A[i, r_N + j]
        if k < PARADOX * A[i, i]:
            return (
                f"the friction of '{item.name}' is so large that its normal force does not push the bodies apart while "
                "it slides (Painleve's paradox): rigid bodies have no such motion; take a smaller coefficient of "
                "friction, or an elastic contact"
            )
    return ""


def _matrices(plain: Dae) -> Any:
    """Return the Function (q, v, p, t) -> gap, gap', slip, W, A, free diagonal, C, F'(1), bias of gap'', C a.

    The free diagonal is that of A without constraints.
    """
    switches = plain.switches
    assert switches is not None
    q, v, _, _, p, t = plain.symbols()
    rows = Rows(plain, q, v, p, t)
    W, C, over_mass = ca.vertcat(rows.W_N, rows.W_T), plain.constraints.C(q, p, t), plain.over_mass(q, p)
    factor, r_T = SchurFactor(over_mass, C), len(switches.frictions)
    columns = [factor.solve(W[i, :].T, ca.SX(C.shape[0], 1))[0] for i in range(W.shape[0])]
    free = ca.diag(W @ over_mass(W.T))
    speed, N = ca.SX.sym("speed", r_T), ca.SX.sym("N", r_T)
    slope = ca.diag(ca.jacobian(switches.sliding(speed, N, p, t), N))
    slope = ca.substitute(slope, ca.vertcat(speed, N), ca.vertcat(ca.fabs(rows.slip), ca.SX.ones(r_T)))
    gammas = plain.constraints.gammas(q, v, p, t)
    results = [rows.gap, rows.gap_rate, rows.slip, W, W @ ca.horzcat(*columns), free, C, slope, rows.bias_N, gammas]
    return ca.Function("conflicts", [q, v, p, t], [ca.densify(item) for item in results])

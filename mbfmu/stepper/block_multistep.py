"""block: r-stage multi-step block methods for constrained Hamilton equations."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Formula, Stage
from mbfmu.stepper.explicit import DOPRI8
from mbfmu.stepper.scheme import SX, UNEVEN, UNLIMITED, Choice, Family, Limits, Problem, Scheme, holonomic_only, option

Array = npt.NDArray[np.float64]
Rational = list[list[Fraction]]
SAME_STEP = 1e-9
"""Relative difference of two steps below which the history is used unchanged."""

LIMITS = {
    (3, "equidistant"): Limits(vibration=3.358),
    (3, "chebyshev"): Limits(vibration=1.438),
    (3, "legendre"): Limits(vibration=1.670),
    (4, "equidistant"): Limits(vibration=6.337),
    (4, "chebyshev"): Limits(2.817, 11.81),
    (4, "legendre"): Limits(2.988, 19.49),
    (5, "equidistant"): Limits(4.054, 5.808),
    (5, "chebyshev"): Limits(5.340, 4.456),
    (5, "legendre"): Limits(5.477, 4.810),
}
"""Limits by the number of nodes and by where they lie; with two there is none."""


def block_nodes(stages: int, nodes: str) -> Array:
    """Return the nodes c, shape (r,), ascending with c_r = 1 (Du & Ding, section on the choice of nodes).

    The nodes ``equidistant`` are i/r; ``chebyshev`` and ``legendre`` are the r - 1 zeros of the polynomial, mapped to
    (0, 1), and 1.
    """
    if nodes == "equidistant":
        return np.arange(1, stages + 1) / stages
    if nodes == "chebyshev":
        zeros = np.cos((2 * np.arange(1, stages) - 1) * np.pi / (2 * (stages - 1)))
    else:
        zeros = np.polynomial.legendre.leggauss(stages - 1)[0]
    return np.append(np.sort((1 + zeros) / 2), 1.0)


def block_matrices(c: Array) -> tuple[Array, Array, Array]:
    """Return (B, N, B^-1), shapes (r, r), with Y_{n+1} = h B Ydot_{n+1} + N Yhat_n (Du & Ding, (4), (8), (9)).

    The polynomial of degree 2r - 1 takes the old values at c_i - 1 and the new derivatives at c_i. The system is
    solved in rational numbers, exactly for the nodes given: its matrix is of Vandermonde type.
    """
    r = len(c)
    new, old = [Fraction(float(value)) for value in c], [Fraction(float(value)) - 1 for value in c]
    rows = [[Fraction(k) * at ** (k - 1) if k else Fraction(0) for k in range(2 * r)] for at in new]
    rows += [[at**k for k in range(2 * r)] for at in old]
    inverse = _inverse(rows)
    values = [[at**k for k in range(2 * r)] for at in new]
    both = [
        [sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in zip(*inverse, strict=True)]
        for row in values
    ]
    B = [row[:r] for row in both]
    return _float(B), _float([row[r:] for row in both]), _float(_inverse(B))


def history_weights(c: Array) -> tuple[Array, Array]:
    """Return the coefficients of the Hermite polynomial through the history, shapes (2 r, r) each.

    A history with spacing 1 has values y_j and derivatives z_j at tau_j = c_j - 1; its polynomial is
    sum_k tau^k (sum_j W_kj y_j + sum_j X_kj z_j).
    """
    r, at = len(c), [Fraction(float(value)) - 1 for value in c]
    rows = [[tau**k for k in range(2 * r)] for tau in at]
    rows += [[Fraction(k) * tau ** (k - 1) if k else Fraction(0) for k in range(2 * r)] for tau in at]
    inverse = _inverse(rows)
    return _float([row[:r] for row in inverse]), _float([row[r:] for row in inverse])


def block(dae: Dae, stages: int = 3, nodes: str = "equidistant", index: int = 2) -> Scheme:
    """Return the scheme of Du & Ding: collocation at r nodes of a step, given the values at the r nodes before.

    With D = (h B)^-1 and hats for the history,

        qdot = D (Q - N Qhat),    p = M qdot,    pdot = D (p - N phat)
        pdot_i = F_i - Phi_q(Q_i)^T lambda_i,    F = -H_q + Q_applied,
        Phi(Q_i) = 0 (index 3),    Phi_q qdot_i + Phi_t = 0 (index 2),    Phi_q a_i = gamma_i (index 1),

    so that only (Q, lambda) are unknown. The nodes of the first history lie before the start; they are computed by
    steps of order 8 back from it. First-order states are collocated in the same way, zdot = D (z - N zhat), with
    (z_i - z_n) / nominal unknown. State x = [Q; qdot; p; pdot; z; zdot; lambda_r; h]: for a step of another length the
    history is taken from the Hermite polynomial through it.

    Args:
        dae: the equations.
        stages: r, 2 to 5. The method is L-stable for r = 2 only; for r = 3 it damps up to 86 degrees; for 4 and 5 it
            does not damp oscillations.
        nodes: ``equidistant``, ``chebyshev`` or ``legendre``, the last node being the step end.
        index: level at which the constraints are imposed, and hold exactly at all nodes.
    """
    holonomic_only("block", dae)
    problem = Problem(dae)
    n, m, t, h, r, n_z = problem.n, problem.m, problem.t, problem.h, stages, problem.n_z
    c = block_nodes(stages, nodes)
    _, N, D = block_matrices(c)
    sizes = [n, n, n, n, n_z, n_z]
    ends = [r * sum(sizes[:k]) for k in range(len(sizes) + 1)]
    x = ca.SX.sym("x", ends[-1] + m + 1)
    stored = [ca.reshape(x[i:j], size, r) for i, j, size in zip(ends, ends[1:], sizes, strict=False)]
    # history at the nodes of this step: Hermite's polynomial through the stored values and rates
    Qhat, phat, zhat = (_history(c, h, x[-1], stored[k], stored[k + 1]) for k in (0, 2, 4))
    qn, vn, lambda_n = stored[0][:, -1], stored[1][:, -1], x[ends[-1] : -1]
    zn, zdot_n = stored[4][:, -1], stored[5][:, -1]

    Z, Zz, L = ca.SX.sym("Z", n, r), ca.SX.sym("Zz", n_z, r), ca.SX.sym("L", m, r)
    Q = ca.repmat(qn, 1, r) + Z
    z = ca.repmat(zn, 1, r) + ca.diag(problem.nominal) @ Zz
    # rates at the nodes: h zdot = D (z - N zhat), h qdot = D (Q - N Qhat), h pdot = D (p - N phat), p = M qdot
    hzdot = (z - zhat @ N.T) @ D.T
    times = [t + c[i] * h for i in range(r)]
    hqdot = (Q - Qhat @ N.T) @ D.T
    p = ca.horzcat(*(problem.M(Q[:, i]) @ hqdot[:, i] / h for i in range(r)))
    hpdot = (p - phat @ N.T) @ D.T
    residual = []
    for i in range(r):
        v, at = hqdot[:, i] / h, times[i]
        # node: pdot_i = F_i - P^T lambda_i, and the constraints of the chosen index
        P = problem.Phi_q(Q[:, i], at)
        residual.append(h * hpdot[:, i] - h**2 * problem.impulse_rate(Q[:, i], v, z[:, i], at) + P.T @ L[:, i])
        if index == 3:
            residual.append(problem.Phi(Q[:, i], at))
        elif index == 2:
            residual.append(P @ hqdot[:, i] + h * problem.Phi_t(Q[:, i], at))
        else:
            ha = problem.over_mass(Q[:, i])(h**2 * problem.force(Q[:, i], v, z[:, i], at) - P.T @ L[:, i])
            residual.append(P @ ha - h**2 * problem.gamma(Q[:, i], v, at))
        residual.append(hzdot[:, i] / problem.nominal - h * problem.scaled_flow(Q[:, i], v, z[:, i], at))
    stage = Stage(
        unknowns=ca.vertcat(ca.vec(Z), ca.vec(Zz), ca.vec(L)),
        guess=ca.vertcat(
            *(c[i] * h * vn for i in range(r)),
            *(c[i] * h * zdot_n / problem.nominal for i in range(r)),
            *([h**2 * lambda_n] * r),
        ),
        residual=ca.vertcat(*residual),
        watched=r * (n + n_z),
    )
    history = (Q, hqdot / h, p, hpdot / h, z, hzdot / h)
    x1 = ca.vertcat(*(ca.vec(item) for item in history), L[:, -1] / h**2, h)
    return Scheme(
        name="block",
        options={"stages": stages, "nodes": nodes, "index": index},
        order=2 * stages - 1,
        exact=frozenset({3: {"position"}, 2: {"velocity"}}.get(index, set())),
        begin=_first_history(dae, c),
        step=Formula(x, problem.given, (stage,), x1),
        read=ca.Function("read", [x, problem.p, t], [qn, vn, zn]),
        multistep=True,
        short=UNEVEN,
        replaced=True,
        limits=LIMITS.get((stages, nodes), UNLIMITED),
    )


def _history(c: Array, h: SX, h_old: SX, values: SX, rates: SX) -> SX:
    """Return the values at t_n + (c_i - 1) h of a history made with the step h_old, SX of shape (n, r)."""
    W, X = history_weights(c)
    ratio = h / h_old
    columns = []
    for tau in c - 1:
        powers = ca.vertcat(*((tau * ratio) ** k for k in range(2 * len(c))))
        columns.append(values @ (W.T @ powers) + h_old * rates @ (X.T @ powers))
    return ca.if_else(ca.fabs(ratio - 1) < SAME_STEP, values, ca.horzcat(*columns))


def _first_history(dae: Dae, c: Array) -> Formula:
    """Return the formula [q; v; z] -> x: each node of the history by one step of order 8 back from the start."""
    problem = Problem(dae, ca.MX)
    t, h = problem.t, problem.h
    start = ca.MX.sym("y", problem.n_y)

    columns: list[list[SX]] = [[], [], [], [], [], []]
    for tau in c - 1:
        step = tau * h
        y = DOPRI8.step(problem.rate, start, t, step)
        q, v, z = problem.split(y)
        lambda_ = problem.acceleration(q, v, z, t + step)[1]
        p_rate = problem.impulse_rate(q, v, z, t + step) - problem.Phi_q(q, t + step).T @ lambda_
        flow = problem.flow(q, v, z, t + step)
        for into, item in zip(columns, (q, v, problem.M(q) @ v, p_rate, z, flow), strict=True):
            into.append(item)
    lambda_0 = problem.acceleration(*problem.split(start), t)[1]
    x = ca.vertcat(*(item for column in columns for item in column), lambda_0, h)
    return Formula(start, problem.given, (), x)


def _inverse(rows: Rational) -> Rational:
    """Return the inverse of a matrix of rational numbers."""
    n = len(rows)
    work = [[*row, *(Fraction(int(i == j)) for j in range(n))] for i, row in enumerate(rows)]
    for k in range(n):
        pivot = next(i for i in range(k, n) if work[i][k])
        work[k], work[pivot] = work[pivot], work[k]
        work[k] = [value / work[k][k] for value in work[k]]
        for i in range(n):
            if i != k and work[i][k]:
                work[i] = [a - work[i][k] * b for a, b in zip(work[i], work[k], strict=True)]
    return [row[n:] for row in work]


def _float(rows: Rational) -> Array:
    return np.array([[float(value) for value in row] for row in rows])


@dataclass(frozen=True)
class BlockMultistep(Choice):
    """The stepper `block` with its options.

    Args:
        stages: `2`, `3` (default), `4` or `5`; number of nodes r.
        nodes: `equidistant` (default), `chebyshev` or `legendre`; where the nodes lie.
        index: `1`, `2` (default) or `3`; level at which the constraints are imposed.
    """

    name: ClassVar[str] = "block"
    stages: Literal[2, 3, 4, 5] = option(3, "number of nodes r")
    nodes: Literal["equidistant", "chebyshev", "legendre"] = option("equidistant", "where the nodes lie")
    index: Literal[1, 2, 3] = option(2, "level at which the constraints are imposed")


FAMILY = Family(
    choice=BlockMultistep,
    make=block,
    states=True,
    order="2 r - 1",
    preserves="the constraints of the level chosen by index, at all nodes; the other levels drift slowly",
    needs="holonomic constraints; stages above 3 only where nothing oscillates fast",
    source="Du & Ding, multi-step block methods for constrained Hamilton equations, (4)-(9)",
)

"""partition: independent coordinates are integrated, the dependent ones computed from the constraints."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import casadi as ca

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Formula, Let, Stage
from mbfmu.dae.linear_algebra.merged import merged
from mbfmu.stepper.explicit import RK4, combination, kind_of
from mbfmu.stepper.scheme import SX, Choice, Family, Problem, Scheme, option


def partition(dae: Dae, selection: str = "qr") -> Scheme:
    """Return the scheme that integrates independent coordinates (Hong & Liu, survey, variable separation).

    B^T q, B^T v and z are integrated by the classical Runge-Kutta method. At each of its points i the rest follows from
    the constraints, with C = [Phi_q; G], c = [Phi_t; g]:

        B^T (q_i - q_n - h sum_j a_ij v_j) = 0,    Phi(q_i) = 0            Newton's method
        B^T (v_i - v_n - h sum_j a_ij a_j) = 0,    C(q_i) v_i + c = 0      linear

    B is chosen again at every step, from C at q_n: ``lu`` takes the unit columns that are no pivots when C is
    eliminated; ``qr`` and ``svd`` take an orthonormal basis V of ker C. In all cases B^T y = 0 means that y = N mu for
    some mu: with N the unit columns of the pivots, or, for every basis V, with N = C(q_n)^T. Hence no basis is
    computed, and ``qr`` and ``svd`` take the same steps. State x = [q; v; z].

    Args:
        dae: the equations.
        selection: ``lu``, ``qr`` or ``svd``.
    """
    kind = kind_of(dae, 8)
    problem = Problem(dae, kind)
    n, p, t, h = problem.n, problem.p, problem.t, problem.h
    x = kind.sym("x", problem.n_y)
    qn, vn, zn = problem.split(x)
    select, to_positions, to_velocities = recoveries(dae, selection)
    selected = select(qn, p, t)
    nonzeros = kind.sym("N", selected.nnz())
    N = kind(selected.sparsity(), nonzeros)

    weights, nodes = [*RK4.A[1:], RK4.b], [*RK4.c, 1.0]
    stages: list[Stage | Let] = []
    velocities: list[SX] = []
    accelerations: list[SX] = []
    flows: list[SX] = []
    q, v, z = qn, vn, zn
    for i, row in enumerate(weights):
        here, ahead = t + float(nodes[i]) * h, t + float(nodes[i + 1]) * h
        # Runge-Kutta point of the coordinates, q~ = q_n + h sum_j a_ij v_j
        start = qn + h * combination(row, [*velocities, v])
        if i == 1:  # the constraints shift this point as far from its start as the one before, to the other side
            start = start - (q - qn - h / 2 * vn)
        values = [start, v, problem.acceleration(q, v, z, here)[0], problem.flow(q, v, z, here)]
        start, velocity, a, flow = symbols = [
            kind.sym(f"{name}{i}", item.numel()) for name, item in zip(("start", "v", "a", "flow"), values, strict=True)
        ]
        if i == 0:
            values, symbols = [*values, selected.nz[:]], [*symbols, nonzeros]
        q = kind.sym(f"q{i}", n)
        stages.append(Let(ca.vertcat(*symbols), ca.vertcat(*values)))
        # dependent coordinates from Phi(q_i) = 0, B^T (q_i - q~) = 0
        stages.append(Stage(q, start, correction=to_positions(q, N, p, ahead)))
        velocities.append(velocity)
        accelerations.append(a)
        flows.append(flow)
        # first-order states of the point, and velocities from C(q_i) v_i + c = 0, B^T (v_i - v~) = 0
        z = zn + h * combination(row, flows)
        v = to_velocities(q, vn + h * combination(row, accelerations), N, p, ahead)
    return Scheme(
        name="partition",
        options={"selection": selection},
        order=4,
        exact=frozenset({"position", "velocity"}),
        begin=Formula(x, problem.given, (), x),
        step=Formula(x, problem.given, tuple(stages), ca.vertcat(q, v, z)),
        read=ca.Function("read", [x, p, t], [qn, vn, zn]),
        limits=RK4.limits,
    )


def recoveries(dae: Dae, selection: str) -> tuple[Any, Any, Any]:
    """Return three Functions: the choice of N, and the corrections along its columns that meet the constraints.

    (q, p, t) -> N, shape (n, m + k); (q, N, p, t) -> correction of q, shape (n,); (q, v, N, p, t) -> v, shape (n,).
    """
    q, v = ca.SX.sym("q", dae.n), ca.SX.sym("v", dae.n)
    p, t, m = ca.SX.sym("p", dae.n_p), ca.SX.sym("t"), dae.m
    P = dae.constraints.Phi_q(q, p, t)
    C, c = dae.constraints.C(q, p, t), dae.constraints.c(q, p, t)
    selected = pivot_columns(C) if selection == "lu" else C.T
    N = ca.SX.sym("N", selected.sparsity())
    dq = -N[:, :m] @ unpivoted_solve(P @ N[:, :m], dae.constraints.Phi(q, p, t))
    v1 = v - N @ unpivoted_solve(C @ N, C @ v + c)
    return (
        merged("select", [q, p, t], [selected]),
        merged("to_positions", [q, N, p, t], [ca.densify(dq)]),
        merged("to_velocities", [q, v, N, p, t], [ca.densify(v1)]),
    )


def pivot_columns(C: SX) -> SX:
    """Return the unit columns of the pivots of C, SX of shape (n, rows of C), in the order of its rows.

    The pivot of each row is its largest entry outside the columns taken before. The choice is written with one-hot
    vectors, without branches, so that it is made again for every value of C; C times the result needs no pivoting.
    """
    S, free, columns = C, ca.SX.ones(C.shape[1]), [ca.SX(C.shape[1], 0)]
    for row in range(C.shape[0]):
        candidates = S[row, :].sparsity().get_col()
        size = ca.fabs(S[row, candidates].T) * free[candidates]
        best, taken, hot = ca.mmax(size), ca.SX(0), ca.SX(C.shape[1], 1)
        for column_index, column in enumerate(candidates):
            hot[column] = (1 - taken) * (size[column_index] >= best)
            taken = taken + hot[column]
        columns.append(hot)
        free = free - hot
        pivot = S[row + 1 :, :] @ hot
        S = ca.vertcat(S[: row + 1, :], S[row + 1 :, :] - (pivot / (S[row, :] @ hot)) @ S[row, :])
    return ca.horzcat(*columns)


def unpivoted_solve(A: SX, b: SX) -> SX:
    """Return A^-1 b by Gauss elimination without pivoting, which keeps the sparsity.

    It is stable near A = C N: for N = C^T this is positive definite, and unit columns have the order of the pivots
    (Golub & Van Loan, Matrix Computations, 3.4 and 4.2).

    Args:
        A: SX, shape (k, k).
        b: SX, shape (k,).
    """
    k = A.shape[0]
    rows = [ca.horzcat(A[i, :], b[i]) for i in range(k)]
    for j in range(k):
        for i in range(j + 1, k):
            if rows[i].sparsity().has_nz(0, j):
                changed = rows[i][:, j + 1 :] - rows[i][j] / rows[j][j] * rows[j][:, j + 1 :]
                rows[i] = ca.horzcat(ca.SX(1, j + 1), changed)
    y = ca.SX(k, 1)
    for i in reversed(range(k)):
        y[i] = (rows[i][k] - rows[i][:, i + 1 : k] @ y[i + 1 :, 0]) / rows[i][i]
    return y


@dataclass(frozen=True)
class Partition(Choice):
    """The stepper `partition` with its options.

    Args:
        selection: `lu`, `qr` (default) or `svd`; what is independent: coordinates (lu) or directions.
    """

    name: ClassVar[str] = "partition"
    selection: Literal["lu", "qr", "svd"] = option("qr", "what is independent: coordinates (lu) or directions")


FAMILY = Family(
    choice=Partition,
    make=partition,
    states=True,
    order="4",
    preserves="position and velocity constraints at all evaluations, so at every step end",
    needs="any model",
    source="Hong & Liu, survey, section on type II equations, variable separation",
)

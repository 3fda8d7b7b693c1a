"""radau: Radau IIA on the stabilised index-2 form: stiffly accurate, both constraint levels at the step ends."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import casadi as ca
import numpy as np

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Formula
from mbfmu.stepper.coupled import coupled_formula, weighted
from mbfmu.stepper.decoupled import Collocated
from mbfmu.stepper.scheme import SHORT, SX, Choice, Family, Problem, Scheme, option, states_beside_motion
from mbfmu.stepper.tableaus import radau_tableau


def radau(dae: Dae, stages: int | None = None) -> Scheme:
    """Return s-stage Radau IIA on the form of Gear, Gupta & Leimkuhler, order 2 s - 1 in q, v and z.

    (Hairer & Wanner, Solving Ordinary Differential Equations II, VII.2 and VII.4; Gear, Gupta & Leimkuhler, Automatic
    integration of Euler-Lagrange equations with constraints, J. Comput. Appl. Math. 12, 1985.) With C = [Phi_q; G],
    c = [Phi_t; g] and an additional multiplier mu that is zero on the solution:

        M0 q' = M0 v - P0^T mu,    M(q) v' = force - C^T lambda,    Phi(q) = 0,    C v + c = 0

    M0 and P0 are the mass matrix and Phi_q at the start of the step: mu may move q in any directions that lead off the
    constraints, and these are constant over the step. At every node x'_i = sum_j d_ij (x_j - x_n) / h with D = A^-1;
    the last node, c_s = 1, is the step end. The unknowns are the displacements Z_i = q_i - q_n, the impulses
    h^2 lambda_i and h mu_i; v_i follows from the first equation. First-order states are collocated at the same nodes,
    z_i = z_n + h sum_j a_ij z'_j, with (z_i - z_n) / nominal unknown: the method is stiffly accurate and L-stable for
    them too. A block has these equations alone (Hairer & Wanner, IV.5 and IV.8). State x = [q; v; z; lambda]. Newton's
    method linearises once a step, and falls into one system for each eigenvalue of D, see `decoupled`. That leaves out
    the derivative of C v, by which loops pass a pose where their constraints lose rank: those without states and forces
    that may be stiff are solved for with the whole matrix.

    Args:
        dae: the equations.
        stages: s, 1, 2, 3 or 5; s = 1 is the implicit Euler rule, of order 1. None: 3, and 5 where first-order states
            stand beside coordinates, as these bring motions of a few steps' length that three stages do not resolve.
    """
    problem = Problem(dae)
    s = stages or (5 if states_beside_motion(dae) else 3)
    n, m, k, t, h = problem.n, problem.m, problem.k, problem.t, problem.h
    A, _, c = radau_tableau(s)
    D = np.linalg.inv(A)
    n_z, n_y, nominal = problem.n_z, problem.n_y, problem.nominal
    x = ca.SX.sym("x", n_y + m + k)
    qn, vn, zn, lambda_n = ca.vertsplit(x, [0, n, 2 * n, n_y, n_y + m + k])
    # q' = v - M0^-1 P0^T mu at the nodes, so that h v_i = sum_j d_ij Z_j + M0^-1 P0^T h mu_i
    over_mass, P0, C0 = problem.over_mass(qn), problem.Phi_q(qn, t), problem.C(qn, t)
    moved, acceleration = over_mass(P0.T), over_mass(problem.force(qn, vn, zn, t) - C0.T @ lambda_n)
    once = ca.vertcat(*moved.nonzeros(), ca.densify(acceleration))
    symbols = ca.SX.sym("once", once.numel())
    decoupled = n_z > 0 or dae.equations.resisting or not m
    off, an = moved, acceleration
    if decoupled:
        off, an = ca.SX(moved.sparsity(), symbols[: moved.nnz()]), symbols[moved.nnz() :]

    Z = [ca.SX.sym(f"Z{i}", n) for i in range(s)]
    Zz = [ca.SX.sym(f"Zz{i}", n_z) for i in range(s)]
    L = [ca.SX.sym(f"L{i}", m + k) for i in range(s)]
    mu = [ca.SX.sym(f"mu{i}", m) for i in range(s)]
    hv = [weighted(D[i], Z) + off @ mu[i] for i in range(s)]
    gain = [weighted(D[i], [item - h * vn for item in hv]) for i in range(s)]

    def node(y: SX, at: SX) -> SX:
        q, hv, gain, L, z = ca.vertsplit(y, [0, n, 2 * n, 3 * n, 3 * n + m + k, y.numel()])
        # equations of a node: M v'_i + C^T lambda_i = force, Phi(q_i) = 0, C v_i + c = 0
        C = problem.C(q, at)
        balance = problem.times_mass(q)(gain) - h**2 * problem.force(q, hv / h, z, at) + C.T @ L
        closing = C @ hv + h * problem.c(q, at)
        return ca.vertcat(balance, problem.Phi(q, at), closing, h * problem.scaled_flow(q, hv / h, z, at))

    def finish(N: Sequence[SX]) -> tuple[SX, SX]:
        rows, flows = zip(*(ca.vertsplit(item, [0, n + 2 * m + k, item.numel()]) for item in N), strict=True)
        # collocation of z, z_i = z_n + h sum_j a_ij z'_j, and the step end, which is the last node
        collocated = [Zz[i] - weighted(A[i], flows) for i in range(s)]
        return ca.vertcat(*rows, *collocated), ca.vertcat(qn + Z[-1], hv[-1] / h, zn + nominal * Zz[-1], L[-1] / h**2)

    def linearised(slopes: SX) -> tuple[SX, ...]:
        # columns q, v, a and z of the rows of a node; those of C^T L stand in C
        columns = ca.horzsplit(slopes, [0, n, 2 * n, 3 * n, 3 * n + m + k, slopes.shape[1]])
        ends = [0, n, n + 2 * m + k, n + 2 * m + k + n_z]
        (B0, _, F0), (B1, C, F1), (B2, _, _), _, (Bz, _, Fz) = (ca.vertsplit(item, ends) for item in columns)
        return B2, B1, B0, C[m:, :], Bz @ ca.diag(nominal), F1, F0, Fz @ ca.diag(nominal)

    # guess: Taylor's series of the motion from the start of the step
    guess = [c[i] * h * vn + (c[i] * h) ** 2 / 2 * an for i in range(s)]
    guess += [c[i] * h * problem.scaled_flow(qn, vn, zn, t) for i in range(s)]
    first = ca.SX.sym("y", n_y)
    known, _, first_lambda = problem.called_acceleration(*problem.split(first), t)
    return Scheme(
        name="radau",
        options={"stages": s},
        order=2 * s - 1,
        exact=frozenset({"position", "velocity"}),
        begin=Formula(first, problem.given, known, ca.vertcat(first, first_lambda)),
        step=coupled_formula(
            problem, x,
            unknowns=ca.vertcat(*Z, *Zz, *L, *mu),
            guess=ca.vertcat(*guess, *([h**2 * lambda_n] * s), ca.SX.zeros(s * m)),
            watched=s * (n + n_z),
            points=[ca.vertcat(qn + Z[i], hv[i], gain[i], L[i], zn + nominal * Zz[i]) for i in range(s)],
            times=[t + c[i] * h for i in range(s)],
            node=node, finish=finish,
            collocated=Collocated(
                D, n, m, m + k, m + k, start=ca.vertcat(qn, h * vn, h**2 * an, h**2 * lambda_n, zn),
                off=off, once=once, symbols=symbols, linearised=linearised,
            ) if decoupled else None,
        ),
        read=ca.Function("read", [x, problem.p, t], [qn, vn, zn]),
        short=SHORT,
    )  # fmt: skip


@dataclass(frozen=True)
class Radau(Choice):
    """The stepper `radau` with its options.

    Args:
        stages: `1`, `2`, `3` or `5`; number of nodes s; default 3, 5 where first-order states stand beside
            coordinates.
    """

    name: ClassVar[str] = "radau"
    stages: Literal[1, 2, 3, 5] | None = option(
        None, "number of nodes s; default 3, 5 where first-order states stand beside coordinates"
    )


FAMILY = Family(
    choice=Radau,
    make=radau,
    stiff=True,
    states=True,
    order="2 s - 1",
    preserves="position and velocity constraints at every step end; damps what the step cannot resolve",
    needs="any model; made for stiff forces",
    source="Hairer & Wanner, Solving Ordinary Differential Equations II, VII.4; Gear, Gupta & Leimkuhler 1985",
)

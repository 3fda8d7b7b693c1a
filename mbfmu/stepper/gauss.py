"""gauss: Gauss collocation in displacement form, as in the paper, or with symmetric projection onto the constraints."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import casadi as ca
import numpy as np

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Formula
from mbfmu.stepper.coupled import coupled_formula, weighted
from mbfmu.stepper.scheme import SHORT, SX, Choice, Family, Problem, Scheme, holonomic_only, option
from mbfmu.stepper.tableaus import gauss_tableau

CONTACTS = (
    "without projection gauss drifts off gaps that are closed, more and more, and events come of that: set "
    "projection=symmetric"
)
"""Notice for models with gaps."""


def gauss(dae: Dae, stages: int = 3, form: str = "momentum", projection: str = "none") -> Scheme:
    """Return the s-stage Gauss method (Lu & Ren, displacement form of an s-stage Gauss integrator).

    The unknowns at each node are the displacement Z_i = Q_i - q_n and h^2 lambda_i. With D = A^-1,

        qdot_i = sum_j d_ij Z_j / h,    q_{n+1} = q_n + h sum b_i qdot_i

    and the same for the second variable, p = T_v(q, qdot) or v = qdot:

        momentum    pdot_i = T_q - V_q + Q - Phi_q(Q_i)^T lambda_i        (sections on the momentum form)
        velocity    M(Q_i) vdot_i = force(Q_i, qdot_i) - Phi_q(Q_i)^T lambda_i        ("traditional" form)

    First-order states are collocated at the same nodes, z_i = z_n + h sum_j a_ij z'_j, with (z_i - z_n) / nominal
    unknown; stiff ones are not damped.

    ``projection=none`` is the paper's scheme: Phi(Q_i) = 0 at the inner nodes, index 3. At the step ends the residual
    alternates and is O(h^(s+1)); order of q and v: s + 1 for odd s, s for even s (measured 2, 2, 4, 4), 2 s without
    constraints; the rotation of a single rigid body, read from the normalised quaternion, has order 2 s. The momentum
    form suits one rigid body with quaternions, whose singular mass matrix keeps the momentum free of normal parts; on
    other multibody systems in absolute coordinates the error grows exponentially in time with every step size. With the
    velocity form it does so on a rigid body too, like exp(sqrt(6/5) |omega| t / 2) for s = 3: this form is provided to
    repeat the paper's comparison.

    ``projection=symmetric`` is for multibody systems: see `_projected`. Order 2 s.

    Args:
        dae: the equations.
        stages: s, 1 to 4.
        form: ``momentum`` or ``velocity``.
        projection: ``none`` or ``symmetric``.
    """
    holonomic_only("gauss", dae)
    problem = Problem(dae)
    projected = projection == "symmetric"
    loose = dae.switching is not None and bool(dae.switching.switches.gaps) and not projected
    make = _projected if projected else _at_the_nodes
    begin, step, read = make(problem, stages, form)
    return Scheme(
        name="gauss",
        options={"stages": stages, "form": form, "projection": projection},
        order=2 * stages if projected or not dae.m else stages + stages % 2,
        exact=frozenset({"position", "velocity"} if projected else ()),
        begin=begin,
        step=step,
        read=read,
        short=SHORT,
        notices=(f"{dae.name}: {CONTACTS}",) if loose else (),
    )


def _at_the_nodes(problem: Problem, s: int, form: str) -> tuple[Formula, Formula, ca.Function]:
    """Return the paper's scheme, as (begin, step, read); state x = [q; p or v; z; lambda].

    `read` gives the admissible velocity; the v of the velocity form itself leaves the constraints by O(h^2).
    """
    n, m, t, h = problem.n, problem.m, problem.t, problem.h
    n_z, n_y, nominal = problem.n_z, problem.n_y, problem.nominal
    momentum = form == "momentum"
    A, b, c = gauss_tableau(s)
    D = np.linalg.inv(A)
    e = b @ D
    x = ca.SX.sym("x", n_y + m)
    qn, wn, zn, lambda_n = ca.vertsplit(x, [0, n, 2 * n, n_y, n_y + m])
    v_n = problem.velocity(qn, wn if momentum else problem.M(qn) @ wn, t)
    Z, Zz, L = _columns("Z", n, s), _columns("Zz", n_z, s), _columns("L", m, s)
    # rates at the nodes: h qdot_i = sum_j d_ij Z_j, and their gain, sum_j d_ij (h qdot_j - h w_n)
    hqdot = [weighted(D[i], Z) for i in range(s)]
    gain = [weighted(D[i], [item - h * wn for item in hqdot]) for i in range(s)]

    def node(y: SX, at: SX) -> SX:
        Q, hqdot, gain, L, z = ca.vertsplit(y, [0, n, 2 * n, 3 * n, 3 * n + m, y.numel()])
        push = problem.Phi_q(Q, at).T @ L
        # equations of a node: h^2 pdot_i = h^2 (T_q - V_q + Q) - P^T h^2 lambda_i, or M vdot_i = force - P^T lambda_i
        if momentum:
            balance = push - h**2 * problem.momentum_rate(Q, hqdot / h, z, at)
            second = problem.momentum(Q, hqdot)
        else:
            balance = problem.M(Q) @ gain + push - h**2 * problem.force(Q, hqdot / h, z, at)
            second = hqdot
        return ca.vertcat(second, balance, problem.Phi(Q, at), h * problem.scaled_flow(Q, hqdot / h, z, at))

    def finish(N: Sequence[SX]) -> tuple[SX, SX]:
        parts = (ca.vertsplit(item, [0, n, 2 * n + m, item.numel()]) for item in N)
        values, rows, flows = zip(*parts, strict=True)
        # collocation of the second variable, of z, and the step end q_{n+1} = q_n + sum_i e_i Z_i with e = b^T D
        change = [item - h * wn for item in values]
        second = [ca.vertcat(weighted(D[i], change), ca.SX(m, 1)) if momentum else 0 for i in range(s)]
        residual = [rows[i] + second[i] for i in range(s)]
        residual += [Zz[i] - weighted(A[i], flows) for i in range(s)]
        z1 = zn + nominal * weighted(b, flows)
        return ca.vertcat(*residual), ca.vertcat(qn + weighted(e, Z), wn + weighted(e, change) / h, z1, L[-1] / h**2)

    step = coupled_formula(
        problem, x,
        unknowns=ca.vertcat(*Z, *Zz, *L),
        guess=ca.vertcat(
            *(c[i] * h * v_n for i in range(s)), *(c[i] * h * problem.scaled_flow(qn, v_n, zn, t) for i in range(s)),
            *([h**2 * lambda_n] * s),
        ),
        watched=s * (n + n_z),
        points=[ca.vertcat(qn + Z[i], hqdot[i], gain[i], L[i], zn + nominal * Zz[i]) for i in range(s)],
        times=[t + c[i] * h for i in range(s)],
        node=node, finish=finish,
    )  # fmt: skip
    first = ca.SX.sym("y", n_y)
    q, v, z = problem.split(first)
    known, _, first_lambda = problem.called_acceleration(q, v, z, t)
    begin = ca.vertcat(q, problem.momentum(q, v) if momentum else v, z, first_lambda)
    read = ca.Function("read", [x, problem.p, t], [qn, v_n, zn])
    return Formula(first, problem.given, known, begin), step, read


def _projected(problem: Problem, s: int, form: str) -> tuple[Formula, Formula, ca.Function]:
    """Return the Gauss method on the index-1 form with symmetric projection, as (begin, step, read).

    (Hairer, Lubich & Wanner, Geometric Numerical Integration, V.4.1.) At the inner nodes the constraints are those on
    accelerations, Phi_q a = gamma: an ordinary differential equation, for which the method has order 2 s and is
    symmetric. (With Phi_q v + Phi_t = 0 at the nodes instead, the projection for odd s would be singular: the normal
    part of p changes sign from one step end to the other.) The same multipliers move the state off the constraints
    before the step and back onto them after it, in the metric of the mass matrix,

        M(q0) (q0^ - q0) = Phi_q(q0)^T mu    p0^ = M(q0) v0 + Phi_q(q0)^T nu    (q0^, p0^) -> (q1^, p1^)
        M(q1) (q1 - q1^) = Phi_q(q1)^T mu    M(q1) v1 = p1^ + Phi_q(q1)^T nu    Phi(q1) = 0, Phi_q v1 + Phi_t = 0

    so that the method is symmetric and of order 2 s (measured 2, 4, 6, 8; velocity form 2, 4, 6). The velocity form is
    the same with v0^ = v0 + M^-1 Phi_q^T nu; for a constant M the two forms agree. State x = [q; v; z; lambda].
    """
    n, m, t, h = problem.n, problem.m, problem.t, problem.h
    n_z, n_y, nominal = problem.n_z, problem.n_y, problem.nominal
    momentum = form == "momentum" and not problem.dae.equations.constant_mass
    A, b, c = gauss_tableau(s)
    D = np.linalg.inv(A)
    e = b @ D
    x = ca.SX.sym("x", n_y + m)
    q0, v0, z0, lambda0 = ca.vertsplit(x, [0, n, 2 * n, n_y, n_y + m])
    M0, P0 = problem.M(q0), problem.Phi_q(q0, t)
    off = problem.over_mass(q0)(P0.T)
    Z, Zz, L = _columns("Z", n, s), _columns("Zz", n_z, s), _columns("L", m, s)
    accelerations = _columns("A", n, s if momentum else 0)  # h^2 a_i
    d, hv1, mu, nu = (ca.SX.sym(*item) for item in (("d", n), ("hv1", n), ("mu", m), ("nu", m)))
    # off the constraints before the step: M(q0) (q0^ - q0) = P0^T mu, p0^ = M(q0) v0 + P0^T nu
    hv0 = h * v0 + off @ nu
    hp0 = h * (M0 @ v0) + P0.T @ nu
    # rates at the nodes by collocation: h qdot_i = sum_j d_ij Z_j, h^2 a_i = sum_j d_ij (h qdot_j - h v0^)
    hqdot = [weighted(D[i], Z) for i in range(s)]
    change = [item - hv0 for item in hqdot]
    ha = accelerations or [weighted(D[i], change) for i in range(s)]

    def node(y: SX, at: SX) -> SX:
        Q, hqdot, ha, L, z = ca.vertsplit(y, [0, n, 2 * n, 3 * n, 3 * n + m, y.numel()])
        P, M = problem.Phi_q(Q, at), problem.M(Q)
        # equations of a node, index 1: M a_i + P^T lambda_i = force, P a_i = gamma
        balance = M @ ha + P.T @ L - h**2 * problem.force(Q, hqdot / h, z, at)
        closing = P @ ha - h**2 * problem.gamma(Q, hqdot / h, at)
        rows = ca.vertcat(balance, closing, h * problem.scaled_flow(Q, hqdot / h, z, at))
        if not momentum:
            return rows
        # momentum form: p_i = M qdot_i and its rate
        rate = h**2 * problem.impulse_rate(Q, hqdot / h, z, at) - P.T @ L
        return ca.vertcat(rows, M @ hqdot, rate)

    def finish(N: Sequence[SX]) -> tuple[SX, SX]:
        parts = (ca.vertsplit(item, [0, n + m, n + m + n_z, item.numel()]) for item in N)
        met, flows, impulses = zip(*parts, strict=True)
        rows = [*met]
        q1, t1 = q0 + d, t + h
        M1, P1 = problem.M(q1), problem.Phi_q(q1, t1)
        # end of the collocation: p1^ from v1^ (velocity form) or from the momenta of the nodes (momentum form)
        hp1 = M1 @ (hv0 + weighted(e, change))
        if momentum:
            momenta, rates = zip(*(ca.vertsplit(item, n) for item in impulses), strict=True)
            gains = [item - hp0 for item in momenta]
            rows += [weighted(D[i], gains) - rates[i] for i in range(s)]
            hp1 = hp0 + weighted(e, gains)
        # back onto the constraints by the same mu, nu: M(q1) (q1 - q1^) = P1^T mu, M(q1) v1 = p1^ + P1^T nu, Phi = 0
        back = M1 @ (d - off @ mu - weighted(e, Z)) - P1.T @ mu
        rows += [back, M1 @ hv1 - hp1 - P1.T @ nu, problem.Phi(q1, t1), P1 @ hv1 + h * problem.Phi_t(q1, t1)]
        rows += [Zz[i] - weighted(A[i], flows) for i in range(s)]
        return ca.vertcat(*rows), ca.vertcat(q1, hv1 / h, z0 + nominal * weighted(b, flows), L[-1] / h**2)

    # guess: Taylor's series of the motion from the start of the step
    a0 = problem.over_mass(q0)(problem.force(q0, v0, z0, t) - P0.T @ lambda0)
    ahead = [*(c[i] * h for i in range(s)), h]
    step = coupled_formula(
        problem, x,
        unknowns=ca.vertcat(*Z, d, hv1, *Zz, *accelerations, *L, mu, nu),
        guess=ca.vertcat(
            *(tau * v0 + tau**2 / 2 * a0 for tau in ahead), h * v0 + h**2 * a0,
            *(c[i] * h * problem.scaled_flow(q0, v0, z0, t) for i in range(s)),
            *([h**2 * a0] * len(accelerations)), *([h**2 * lambda0] * s), ca.SX(2 * m, 1),
        ),
        watched=(s + 2) * n + s * n_z,
        points=[ca.vertcat(q0 + off @ mu + Z[i], hqdot[i], ha[i], L[i], z0 + nominal * Zz[i]) for i in range(s)],
        times=[t + c[i] * h for i in range(s)],
        node=node, finish=finish,
    )  # fmt: skip
    first = ca.SX.sym("y", n_y)
    known, _, first_lambda = problem.called_acceleration(*problem.split(first), t)
    begin = ca.vertcat(first, first_lambda)
    read = ca.Function("read", [x, problem.p, t], [q0, v0, z0])
    return Formula(first, problem.given, known, begin), step, read


def _columns(name: str, size: int, count: int) -> list[SX]:
    return [ca.SX.sym(f"{name}{i}", size) for i in range(count)]


@dataclass(frozen=True)
class Gauss(Choice):
    """The stepper `gauss` with its options.

    Args:
        stages: `1`, `2`, `3` (default) or `4`; number of nodes s.
        form: `momentum` (default) or `velocity`; velocity: the paper's traditional form, unstable.
        projection: `none` (default) or `symmetric`; symmetric: for multibody systems.
    """

    name: ClassVar[str] = "gauss"
    stages: Literal[1, 2, 3, 4] = option(3, "number of nodes s")
    form: Literal["momentum", "velocity"] = option("momentum", "velocity: the paper's traditional form, unstable")
    projection: Literal["none", "symmetric"] = option("none", "symmetric: for multibody systems")


FAMILY = Family(
    choice=Gauss,
    make=gauss,
    states=True,
    order="s + 1 (s odd), s (s even); with projection=symmetric or without constraints 2 s",
    preserves="projection=symmetric: position and velocity constraints at every step end, time symmetry. "
    "projection=none: position constraints at the inner nodes; spatial angular momentum of a rigid body; error grows "
    "exponentially on other mechanisms: short spans only",
    needs="holonomic constraints",
    source="Lu & Ren, displacement-form s-stage Gauss integrator; Hairer, Lubich & Wanner, Geometric Numerical "
    "Integration, V.4.1",
)

"""nodal_impulse: discrete mechanics with constraint impulses at the nodes, for nonholonomic systems too."""

import casadi as ca

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Formula, Stage
from mbfmu.dae.kkt import SchurFactor
from mbfmu.steppers.scheme import SX, Family, Option, Problem, Scheme


def nodal_impulse(dae: Dae, action: str = "midpoint") -> Scheme:
    """Gao et al.: the action of the unconstrained system on each segment, impulses of the constraints at the nodes.

    With d = q1 - q0, w = d/h, S(q0, q1) the discrete action and F = L_q + Q_applied,

        -S_q0 - (forces' half) = p0' - C(q0)^T Lambda
        Phi(q1) = 0,    G((q0 + q1)/2) w + g = 0
        p1' = S_q1 + (forces' half)
        midpoint:   S = h L((q0 + q1)/2, w)          trapezoid:   S = h/2 (L(q0, w) + L(q1, w))

    At a node, M v + C^T mu = p' with C v + c = 0 gives the velocity. The impulse mu does not influence the positions,
    so p' itself is carried on and the next Lambda holds both impulses (the discrete Lagrange-d'Alembert scheme).
    The paper treats nonholonomic constraints; holonomic ones are met at the nodes. State x = [q; p'].

    Args:
        dae: the equations.
        action: how the action of a segment is approximated; the same for constant M and linear potential.
    """
    problem = Problem(dae)
    n, m, t, h = problem.n, problem.m, problem.t, problem.h
    x = ca.SX.sym("x", 2 * n)
    q0, p0 = x[:n], x[n:]
    d, impulse = ca.SX.sym("d", n), ca.SX.sym("impulse", m + problem.k)
    q1, qm, w = q0 + d, q0 + d / 2, d / h
    if action == "midpoint":
        hp = problem.M(qm) @ d
        first = last = problem.impulse_rate(qm, w, t + h / 2)
    else:
        hp = (problem.M(q0) + problem.M(q1)) @ d / 2
        first, last = problem.impulse_rate(q0, w, t), problem.impulse_rate(q1, w, t + h)
    middle = dae.G(qm, problem.p, t + h / 2) @ d + h * dae.g(qm, problem.p, t + h / 2)
    residual = ca.vertcat(hp - h**2 / 2 * first - h * p0 + problem.C(q0, t).T @ impulse, problem.Phi(q1, t + h), middle)
    v0 = _node_velocity(problem, q0, p0)
    stage = Stage(ca.vertcat(d, impulse), ca.vertcat(h * v0, ca.SX.zeros(m + problem.k)), residual, watched=n)
    free = ca.SX.sym("qv", 2 * n)
    return Scheme(
        name="nodal_impulse",
        options={"action": action},
        order=2,
        exact=frozenset({"position", "velocity"}),
        begin=Formula(free, problem.given, (), ca.vertcat(free[:n], problem.M(free[:n]) @ free[n:])),
        step=Formula(x, problem.given, (stage,), ca.vertcat(q1, hp / h + h / 2 * last)),
        read=ca.Function("read", [x, problem.p, t], [q0, v0]),
    )


def _node_velocity(problem: Problem, q: SX, p: SX) -> SX:
    C, c = problem.C(q, problem.t), problem.c(q, problem.t)
    return SchurFactor(problem.over_mass(q), C).solve(p, -c)[0]


FAMILY = Family(
    name="nodal_impulse",
    make=nodal_impulse,
    order="2",
    preserves="position and velocity constraints, nonholonomic ones included, at every step end; energy error "
    "without drift",
    needs="any model",
    source="Gao et al., discrete integration of nonholonomic constrained dynamical systems",
    options={"action": Option("midpoint", "approximation of the action", choices=("midpoint", "trapezoid"))},
)

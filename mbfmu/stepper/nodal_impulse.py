"""nodal_impulse: discrete mechanics with constraint impulses at the nodes, for nonholonomic systems too."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import casadi as ca

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Formula, Stage
from mbfmu.dae.linear_algebra.kkt import SchurFactor
from mbfmu.stepper.scheme import SX, UNLIMITED, Choice, Family, Limits, Problem, Scheme, option


def nodal_impulse(dae: Dae, action: str = "midpoint") -> Scheme:
    """Return the scheme of Gao et al.: the action without constraints on each segment, their impulses at the nodes.

    With d = q1 - q0, w = d/h, S(q0, q1) the discrete action and F = L_q + Q_applied,

        -S_q0 - (forces' half) = p0' - C(q0)^T Lambda
        Phi(q1) = 0,    G((q0 + q1)/2) w + g = 0
        p1' = S_q1 + (forces' half)
        midpoint:   S = h L((q0 + q1)/2, w)          trapezoid:   S = h/2 (L(q0, w) + L(q1, w))

    At a node, M v + C^T mu = p' with C v + c = 0 gives the velocity. The impulse mu does not influence the positions,
    so p' itself is carried on and the next Lambda holds both impulses (the discrete Lagrange-d'Alembert scheme).
    The paper treats nonholonomic constraints; holonomic ones are met at the nodes. First-order states are integrated by
    the rule of the action, with (z1 - z0) / nominal unknown, of order 2; stiff ones are not damped:

        midpoint:   z1 = z0 + h z'((q0 + q1)/2, w, (z0 + z1)/2)
        trapezoid:  z1 = z0 + h/2 (z'(q0, w, z0) + z'(q1, w, z1))

    State x = [q; p'; z].

    Args:
        dae: the equations.
        action: how the action of a segment is approximated; the same for constant M and linear potential.
    """
    problem = Problem(dae)
    n, m, t, h = problem.n, problem.m, problem.t, problem.h
    x = ca.SX.sym("x", problem.n_y)
    q0, p0, z0 = problem.split(x)
    Zz = ca.SX.sym("Zz", problem.n_z)
    z1, zm = z0 + problem.nominal * Zz, z0 + problem.nominal * Zz / 2
    d, impulse = ca.SX.sym("d", n), ca.SX.sym("impulse", m + problem.k)
    q1, qm, w = q0 + d, q0 + d / 2, d / h
    # discrete action of the segment: h p, and the forces at its two ends
    if action == "midpoint":
        hp = problem.M(qm) @ d
        first = last = problem.impulse_rate(qm, w, zm, t + h / 2)
        flow = problem.scaled_flow(qm, w, zm, t + h / 2)
    else:
        hp = (problem.M(q0) + problem.M(q1)) @ d / 2
        first, last = problem.impulse_rate(q0, w, z0, t), problem.impulse_rate(q1, w, z1, t + h)
        flow = (problem.scaled_flow(q0, w, z0, t) + problem.scaled_flow(q1, w, z1, t + h)) / 2
    # nonholonomic constraints at the middle: G((q0 + q1)/2) w + g = 0
    middle = dae.constraints.G(qm, problem.p, t + h / 2) @ d + h * dae.constraints.g(qm, problem.p, t + h / 2)
    # node: p0' = -S_q0 - (half of the forces) + C(q0)^T Lambda
    balance = hp - h**2 / 2 * first - h * p0 + problem.C(q0, t).T @ impulse
    v0 = _node_velocity(problem, q0, p0)
    stage = Stage(
        ca.vertcat(d, Zz, impulse),
        ca.vertcat(h * v0, h * problem.scaled_flow(q0, v0, z0, t), ca.SX.zeros(m + problem.k)),
        residual=ca.vertcat(balance, problem.Phi(q1, t + h), middle, Zz - h * flow),
        watched=n + problem.n_z,
    )
    free = ca.SX.sym("y", problem.n_y)
    q, v, z = problem.split(free)
    return Scheme(
        name="nodal_impulse",
        options={"action": action},
        order=2,
        exact=frozenset({"position", "velocity"}),
        begin=Formula(free, problem.given, (), ca.vertcat(q, problem.M(q) @ v, z)),
        step=Formula(x, problem.given, (stage,), ca.vertcat(q1, hp / h + h / 2 * last, z1)),
        read=ca.Function("read", [x, problem.p, t], [q0, v0, z0]),
        limits=UNLIMITED if action == "midpoint" else Limits(vibration=2.0),
    )


def _node_velocity(problem: Problem, q: SX, p: SX) -> SX:
    C, c = problem.C(q, problem.t), problem.c(q, problem.t)
    return SchurFactor(problem.over_mass(q), C).solve(p, -c)[0]


@dataclass(frozen=True)
class NodalImpulse(Choice):
    """The stepper `nodal_impulse` with its options.

    Args:
        action: `midpoint` (default) or `trapezoid`; approximation of the action.
    """

    name: ClassVar[str] = "nodal_impulse"
    action: Literal["midpoint", "trapezoid"] = option("midpoint", "approximation of the action")


FAMILY = Family(
    choice=NodalImpulse,
    make=nodal_impulse,
    states=True,
    order="2",
    preserves="position and velocity constraints, nonholonomic ones included, at every step end; energy error "
    "without drift",
    needs="any model",
    source="Gao et al., discrete integration of nonholonomic constrained dynamical systems",
)

"""rattle: the symplectic method of order 2 that meets both constraint levels at the step ends."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import casadi as ca

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Call, Formula, Stage
from mbfmu.dae.linear_algebra.kkt import SchurFactor
from mbfmu.dae.linear_algebra.merged import merged
from mbfmu.stepper.scheme import SHORT, SX, Choice, Family, Limits, Problem, Scheme, holonomic_only, option

LIMITS = Limits(vibration=2.0)
"""Limits of a step: those of Stormer's and Verlet's method, whatever dampers do."""


def rattle(dae: Dae, iteration: str = "newton") -> Scheme:
    """Return RATTLE for a general mass matrix, with forces that are implicit in the velocities.

    (Hairer, Lubich & Wanner, Geometric Numerical Integration, VII.1, equations (1.26)); with V = M^-1 p and
    F = T_q - V_q + Q, the force on the momentum without multipliers:

        M(q0) V0 = p0 + h/2 (F(q0, V0, t0) - Phi_q(q0)^T lambda)
        M(q1) V1 = M(q0) V0,    q1 = q0 + h/2 (V0 + V1),    Phi(q1) = 0
        p1 = M(q1) V1 + h/2 (F(q1, V1, t1) - Phi_q(q1)^T mu),    Phi_q(q1) M(q1)^-1 p1 + Phi_t = 0

    The unknowns are the displacements d0 = h V0, d1 = h V1 and the impulses h^2/2 lambda. First-order states are
    integrated by the trapezoidal rule, z1 = z0 + h/2 (z'(q0, V0, z0, t0) + z'(q1, V1, z1, t1)), of order 2 and
    symmetric too; stiff ones are not damped. The displacements do not depend on z1, which is solved for after them, in
    units of its nominal size. State x = [q; p; z; lambda].

    Args:
        dae: the equations.
        iteration: ``newton``, or ``simplified``: its matrix is [M Phi_q^T; Phi_q 0] of the step's start, so that the
            elimination is straight-line code. A pass costs several times less, and about twice as many are needed; the
            rate of convergence is h times the speeds and dampings of the motion.
    """
    holonomic_only("rattle", dae)
    problem = Problem(dae)
    n, m, t, h = problem.n, problem.m, problem.t, problem.h
    x, first = ca.SX.sym("x", problem.n_y + m), ca.SX.sym("y", problem.n_y)
    q0, p0, z0, lambda0 = ca.vertsplit(x, [0, n, 2 * n, problem.n_y, problem.n_y + m])
    q_free, v_free, z_free = problem.split(first)

    d0, impulse = ca.SX.sym("d0", n), ca.SX.sym("impulse", m)
    d1 = d0 if dae.equations.constant_mass else ca.SX.sym("d1", n)
    q1 = q0 + (d0 + d1) / 2
    kept = _KeptFactor.of(dae) if iteration == "simplified" else None
    if kept:
        begun, factor = kept.called(q0, problem.p, t)
        ended, factor1 = kept.called(q1, problem.p, t + h)
    times_M1 = factor1.times if kept else problem.times_mass(q1)
    # half a kick of the force, h^2/2 F(q0, V0, t0), and the gap Phi(q1), q1 = q0 + (d0 + d1)/2
    kick, gap = h**2 / 2 * problem.impulse_rate(q0, d0 / h, z0, t), problem.Phi(q1, t + h)
    if iteration == "newton":
        # first half: M(q0) V0 = p0 + h/2 (F - P0^T lambda), and M(q1) V1 = M(q0) V0
        times_M0, v0 = problem.times_mass(q0), problem.over_mass(q0)(p0)
        balance = times_M0(d0) - h * p0 - kick + problem.Phi_q(q0, t).T @ impulse
        same = () if dae.equations.constant_mass else (problem.impulse(q1, d1) - times_M0(d0),)
        solved = {"residual": ca.vertcat(balance, *same, gap)}
    else:
        if not kept:
            factor = SchurFactor(problem.over_mass(q0), problem.Phi_q(q0, t), problem.M(q0))
        # the same by a correction with the matrix [M P^T; P 0] of the step's start
        v0, force = factor.mass_solve(p0), h * p0 + kick
        if dae.equations.constant_mass:
            changes = factor.solve(force - factor.times(d0) - factor.columns(impulse), -gap)
            solved = {"correction": ca.vertcat(*changes)}
        else:
            *better, change = factor.corrected(d0, d1, impulse, force, problem.impulse(q1, d1), gap)
            solved = {"corrected": ca.vertcat(*better), "change": change}
    moving = (d0,) if dae.equations.constant_mass else (d0, d1)
    unknowns, guess = ca.vertcat(*moving, impulse), ca.vertcat(*[h * v0 for _ in moving], h**2 / 2 * lambda0)
    V1 = d1 / h
    moved = Stage(unknowns, guess, watched=n * len(moving), **solved)
    # first-order states: z1 = z0 + h/2 (z'_0 + z'_1)
    Zz = ca.SX.sym("Zz", problem.n_z)
    z1, slope = z0 + problem.nominal * Zz, h / 2 * problem.scaled_flow(q0, d0 / h, z0, t)
    trapezoidal = Stage(Zz, 2 * slope, residual=Zz - slope - h / 2 * problem.scaled_flow(q1, V1, z1, t + h))
    # second half: p1 = M(q1) V1 + h/2 (F(q1, V1, t1) - P1^T mu), with mu from P1 M(q1)^-1 p1 + Phi_t = 0
    kicked = times_M1(V1) + h / 2 * problem.impulse_rate(q1, V1, z1, t + h)
    if kept:
        v1, _ = factor1.solve(kicked, -problem.Phi_t(q1, t + h))
    else:
        v1 = problem.velocity(q1, kicked, t + h)
    known, _, first_lambda = problem.called_acceleration(q_free, v_free, z_free, t)
    return Scheme(
        name="rattle",
        options={"iteration": iteration},
        order=2,
        exact=frozenset({"position", "velocity"}),
        begin=Formula(
            first, problem.given, known,
            ca.vertcat(q_free, problem.M(q_free) @ v_free, z_free, first_lambda),
        ),
        step=Formula(
            x, problem.given, (begun, moved, trapezoidal, ended) if kept else (moved, trapezoidal),
            ca.vertcat(q1, times_M1(v1), z1, 2 / h**2 * impulse),
            lasting=kept is not None and kept.lasting,
        ),
        read=ca.Function("read", [x, problem.p, t], [q0, problem.over_mass(q0)(p0), z0]),
        short=SHORT,
        limits=LIMITS,
    )  # fmt: skip


@dataclass(frozen=True)
class _KeptFactor:
    """The factor of ``[M Phi_q^T; Phi_q 0]``, computed once a step: that of a step's end begins the next one.

    With passes and the end that factor for themselves, and with no factor that lasts from step to step, a step of arm6
    in absolute coordinates takes 1.25 times as long.

    Args:
        function: Function (q, p, t) -> the entries of the factor that are no numbers.
        written: map from symbols of these to the factor.
        lasting: whether the entries depend on no time.
    """

    function: Any
    written: Callable[[SX], SchurFactor]
    lasting: bool

    @classmethod
    def of(cls, dae: Dae) -> "_KeptFactor | None":
        """Return that of some equations; None: nothing is to be kept."""
        q, _, _, _, p, t = dae.symbols()
        kept = SchurFactor(dae.over_mass(q, p), dae.constraints.Phi_q(q, p, t), dae.equations.M(q, p)).kept()
        return kept and cls(merged("kept", [q, p, t], kept[:1]), kept[1], not ca.depends_on(kept[0], t))

    def called(self, q: SX, p: SX, t: SX) -> tuple[Call, SchurFactor]:
        """Return the call that computes the factor at a pose, and the factor in its results."""
        symbols = ca.SX.sym("kept", self.function.numel_out(0))
        return Call(symbols, self.function, (q, p, t)), self.written(symbols)


@dataclass(frozen=True)
class Rattle(Choice):
    """The stepper `rattle` with its options.

    Args:
        iteration: `newton` (default) or `simplified`; simplified: cheaper, for forces not stiff against the step.
    """

    name: ClassVar[str] = "rattle"
    iteration: Literal["newton", "simplified"] = option(
        "newton", "simplified: cheaper, for forces not stiff against the step"
    )


FAMILY = Family(
    choice=Rattle,
    make=rattle,
    states=True,
    order="2",
    preserves="position and velocity constraints at every step end; symplectic: energy error without drift",
    needs="holonomic constraints",
    source="Jay 1996; Hairer, Lubich & Wanner, Geometric Numerical Integration, VII.1",
)

"""baumgarte: explicit methods on the index-1 form with feedback of the constraint residuals."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import casadi as ca

from mbfmu.dae.dae import Dae
from mbfmu.dae.linear_algebra.kkt import SchurFactor
from mbfmu.dae.linear_algebra.merged import merged
from mbfmu.stepper.explicit import METHOD_TEXT, explicit_scheme
from mbfmu.stepper.scheme import SX, Choice, Family, Problem, Scheme, option, without_empty_states

GAMMA = 5.0
"""Default of gamma, 1/s: enough to stop the drift of motions that take seconds."""
SHARE = 0.2
"""Largest value of gamma h with the default gamma: abm4 diverges at 2."""


def baumgarte(dae: Dae, method: str = "rk4", gamma: float | None = None, delta: float | None = None) -> Scheme:
    """Make the constraint residuals decay (Hong & Liu, survey, the error correction method; Baumgarte 1972):

        Phi'' + 2 gamma Phi' + delta^2 Phi = 0,    (G v + g)' + gamma (G v + g) = 0.

    Args:
        dae: the equations.
        method: ``rk4``, ``abm4`` or ``dopri5``, as for `direct`.
        gamma: 1/s; None: GAMMA, but at most SHARE / h. It must not grow with 1 / h: the stages of a Runge-Kutta method
            leave the constraints by O(h^2), and gamma = SHARE / h reduces its order to 1 (measured).
        delta: 1/s; None: gamma, which is critical damping.
    """  # noqa: D415 - the claim ends in its equation
    options = {"method": method, "gamma": gamma, "delta": delta}
    shown = {key: value for key, value in options.items() if value is not None}

    def acceleration_of(problem: Problem) -> Callable[[SX, SX, SX, SX], SX]:
        gain = ca.fmin(GAMMA, SHARE / ca.fabs(problem.h)) if gamma is None else gamma
        spring = gain if delta is None else delta
        stabilised = without_empty_states(stabilised_acceleration(dae))
        return lambda q, v, z, t: stabilised(q, v, z, problem.u(t), problem.p, t, gain, spring)

    return explicit_scheme("baumgarte", shown, dae, method, acceleration_of)


def stabilised_acceleration(dae: Dae) -> Any:
    """Return the Function (q, v, z, u, p, t, gamma, delta) -> a of the stabilised index-1 form."""
    q, v, z, u, p, t = dae.symbols()
    gamma, delta = ca.SX.sym("gamma"), ca.SX.sym("delta")
    Phi_q, G = dae.constraints.Phi_q(q, p, t), dae.constraints.G(q, p, t)
    Phidot = Phi_q @ v + dae.constraints.Phi_t(q, p, t)
    right = ca.vertcat(
        dae.constraints.gamma(q, v, p, t) - 2 * gamma * Phidot - delta**2 * dae.constraints.Phi(q, p, t),
        dae.constraints.gamma_G(q, v, p, t) - gamma * (G @ v + dae.constraints.g(q, p, t)),
    )
    factor = SchurFactor(dae.over_mass(q, p), ca.vertcat(Phi_q, G))
    a, _ = factor.constrained(dae.equations.free_acceleration(q, v, z, u, p, t), right)
    return merged("stabilised", [q, v, z, u, p, t, gamma, delta], [ca.densify(a)])


@dataclass(frozen=True)
class Baumgarte(Choice):
    """The stepper `baumgarte` with its options.

    Args:
        method: `rk4` (default), `abm4` or `dopri5`; the explicit method.
        gamma: damping of the residuals, 1/s; default 5, at most 0.2 / step.
        delta: stiffness of the residuals, 1/s; default gamma.
    """

    name: ClassVar[str] = "baumgarte"
    method: Literal["rk4", "abm4", "dopri5"] = option("rk4", METHOD_TEXT)
    gamma: float | None = option(
        None, f"damping of the residuals, 1/s; default {GAMMA:g}, at most {SHARE:g} / step", range=(0, 1e6)
    )
    delta: float | None = option(None, "stiffness of the residuals, 1/s; default gamma", range=(0, 1e6))


FAMILY = Family(
    choice=Baumgarte,
    make=baumgarte,
    states=True,
    order="4 (rk4), 5 (abm4, dopri5)",
    preserves="nothing exactly: the constraint residuals stay small, without drift",
    needs="any model; abm4: smooth inputs",
    source="Hong & Liu, survey, section on type II equations; Baumgarte, Comput. Methods Appl. Mech. Eng. 1, 1972",
)

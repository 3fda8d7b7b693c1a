"""The energy balance: stored energy minus what was put in, as an output that shows the error of a run.

With the kinetic energy T, the potential energy V and the applied forces Q, which have no potential, the motion obeys

    d/dt (T + V) = Q . v + V_t + lambda . Phi_t + mu . g

the power of inputs and losses, of a potential that depends on the time, and of driven constraints: their forces are
-Phi_q^T lambda - G^T mu, and Phi_q v + Phi_t = 0, G v + g = 0. The right side is integrated beside the motion as a
first-order state, from T + V at the start. What T + V differs from it later is the balance.
"""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from casadi import SX

from mbfmu.dae.dae import Dae
from mbfmu.dae.linear_algebra.merged import merged
from mbfmu.dae.signals import Signal, StateSignal
from mbfmu.errors import UsageError

BALANCE = "energy.balance"
EXPECTED = "energy.expected"
"""Name of the first-order state that holds the energy by the balance of power."""
STORED = ("energy.total", "energy.kinetic", "energy.potential")
"""Names of the outputs that say what a mechanism stores."""


class Conserved(NamedTuple):
    """An output that is constant without errors of the steps.

    Args:
        name: its name; empty: no output is.
        undriven: whether it is constant only as long as all inputs are zero.
    """

    name: str = ""
    undriven: bool = False


def with_balance(dae: Dae) -> Dae:
    """Return the equations with the output `energy.balance`, and a first-order state for it.

    Raises:
        UsageError: the equations have no energy that forces change by their power.
    """
    if dae.energies.power is None:
        reason = (
            "is a block of equations" if not dae.n else "has a kinetic energy that is not quadratic in the velocities"
        )
        raise UsageError(f"'{dae.name}' {reason}: it has no energy balance")
    # The state E with E' = power of the inputs and losses, from T + V at the start
    longer = replace(dae, states=(*dae.states, StateSignal(EXPECTED, "J", "", None, _size(dae), controlled=False)))
    q, v, z, u, p, t = symbols = longer.symbols()
    states = z[: dae.n_z]
    s = ca.SX.sym("s", len(dae.starts) - len(dae.start.starts))
    turned, a = ca.SX.sym("turned", dae.n_angles), ca.SX.sym("a", dae.n)
    lambda_ = ca.SX.sym("lambda_", dae.m + dae.k)
    stored = dae.energies.kinetic(q, v, p) + dae.energies.potential(q, p, t)

    # Functions of the longer state z; the balance T + V - E is an output
    def function(name: str, arguments: list[SX], result: SX) -> Any:
        return merged(name, arguments, [ca.densify(result)])

    called = [q, v, states, u, p, t]
    first = dae.start.first_states(q, v, s, p, t) if dae.start.first_states else s
    every = [q, v, z, turned, a, lambda_, u, p, t]
    shown = dae.output(q, v, states, turned, a, lambda_, u, p, t)
    switching = dae.switching and replace(
        dae.switching,
        guards=function(
            "guards", [q, v, z, a, lambda_, u, p, t], dae.switching.guards(q, v, states, a, lambda_, u, p, t)
        ),
        carried=_carried(dae, q, v, z, p, t),
    )
    text = "kinetic and potential energy, plus losses, minus what was put in; 0 without errors of the steps"
    return replace(
        longer,
        outputs=(*dae.outputs, Signal(BALANCE, "J", text, "output")),
        output=function("output", every, ca.vertcat(shown, stored - z[-1])),
        equations=dae.equations.reading(symbols, called, supplied(dae, q, v, states, u, p, t)),
        energies=dae.energies.reading(symbols, called),
        start=replace(dae.start, first_states=function("first_states", [q, v, s, p, t], ca.vertcat(first, stored))),
        sampling=dae.sampling and dae.sampling.reading(symbols, called),
        switching=switching,
    )


def _carried(dae: Dae, q: SX, v: SX, z: SX, p: SX, t: SX) -> Any:
    """Return the Function (q, v, v1, z, p, t) -> first-order states after an impact, with the energy that it takes."""
    assert dae.switching is not None
    v1, states = ca.SX.sym("v1", dae.n), z[: dae.n_z]
    lost = dae.energies.kinetic(q, v1, p) - dae.energies.kinetic(q, v, p)
    after = ca.vertcat(dae.switching.carried(q, v, v1, states, p, t), z[-1] + lost)
    return merged("carried", [q, v, v1, z, p, t], [ca.densify(after)])


def supplied(dae: Dae, q: SX, v: SX, z: SX, u: SX, p: SX, t: SX) -> SX:
    """Return the power that changes the energy, W, by inputs, losses, the time and driven constraints.

    Args:
        dae: the equations, with a power.
        q: coordinates, SX, shape (n,).
        v: rates, SX, shape (n,).
        z: first-order states, SX, shape (n_z,).
        u: inputs, SX, shape (n_u,).
        p: parameters, SX, shape (n_p,).
        t: time, SX, s.
    """
    assert dae.energies.power is not None
    power = dae.energies.power(q, v, z, u, p, t)
    driven = dae.constraints.c(q, p, t)
    if not driven.is_zero():
        power += ca.dot(dae.acceleration(q, v, z, u, p, t)[1], driven)
    return power


def constant_of(dae: Dae) -> Conserved:
    """Return the energy balance if it is an output; the energy if the equations can change it by inputs alone."""
    if any(item.name == BALANCE for item in dae.outputs):
        return Conserved(BALANCE)
    if dae.energies.power is None or dae.switching:  # impacts and friction take energy
        return Conserved()
    q, v, z, u, p, t = dae.symbols()
    still = dae.energies.power(q, v, z, ca.SX.zeros(u.numel()), p, t)
    return Conserved(STORED[0], True) if still.is_zero() and dae.constraints.c(q, p, t).is_zero() else Conserved()


def _size(dae: Dae) -> float:
    """Return a usual size of the energy, J: a power of two, from masses and forces at the start, at a rate of 1."""
    s, p = dae.s_default()[: len(dae.start.starts)], dae.extended(dae.p_default())
    q, still = dae.start.guess(s, p, 0.0), np.zeros(dae.n)
    force = dae.equations.force(q, still, np.zeros(dae.n_z), dae.u_default(), p, 0.0)
    size = float(ca.trace(dae.equations.M(q, p)) / 2 + ca.norm_1(force))
    return 2.0 ** round(math.log2(size)) if math.isfinite(size) and size > 0 else 1.0

"""Sampled-data forms: x(t_n+1) = A x(t_n) + B u(t_n), with inputs held from one instant t_n = n T to the next.

A continuous form gives exp([[A, B], [0, 0]] T) = [[A_d, B_d], [0, 1]] (Franklin, Powell & Workman, Digital Control of
Dynamic Systems, 1998, 4.3). Sampled blocks compute at each instant, before the inputs act: with their memory m,

    m(t_n) = M_x x(t_n) + M_m m(t_n-1) + M_u u(t_n),    x(t_n+1) = A_d x(t_n) + B_d [u(t_n); m(t_n)]
"""

import math
from dataclasses import replace

import casadi as ca
import numpy as np
from scipy.linalg import expm

from mbfmu.analysis.linearization.linear import Array, Linear
from mbfmu.dae import Dae
from mbfmu.errors import UsageError

ALIKE = 1e-9
"""Difference of two periods, as a part of them, up to which they are the same."""


def held(form: Linear, period: float) -> Linear:
    """Return the sampled-data form of a continuous one, with inputs that are held over a period, s.

    Raises:
        UsageError: the period is not a positive number.
    """
    if not (math.isfinite(period) and period > 0):
        raise UsageError(f"the period is {period} s; it must be a positive number, such as 0.001")
    n_x, n_u = form.B.shape
    whole = np.zeros((n_x + n_u, n_x + n_u))
    whole[:n_x] = np.hstack([form.A, form.B])
    moved = expm(whole * period)
    return replace(form, A=moved[:n_x, :n_x], B=moved[:n_x, n_x:], period=period)


def closed(form: Linear, memory: tuple[str, ...], M: Array, m0: Array) -> Linear:
    """Return a sampled-data form with the memory of the sampled blocks among its states.

    Args:
        form: the sampled-data form with inputs [u; m].
        memory: names of the entries of m.
        M: the slopes [M_x, M_m, M_u], shape (n_m, n_x + n_m + n_u).
        m0: the memory at the point, shape (n_m,).
    """
    n_x, n_m = len(form.states), len(memory)
    n_u = form.B.shape[1] - n_m
    M_x, M_m, M_u = np.split(M, [n_x, n_x + n_m], axis=1)
    B_u, B_m, D_u, D_m = form.B[:, :n_u], form.B[:, n_u:], form.D[:, :n_u], form.D[:, n_u:]
    return replace(
        form,
        A=np.block([[form.A + B_m @ M_x, B_m @ M_m], [M_x, M_m]]),
        B=np.vstack([B_u + B_m @ M_u, M_u]),
        C=np.hstack([form.C + D_m @ M_x, D_m @ M_m]),
        D=D_u + D_m @ M_u,
        states=(*form.states, *memory),
        inputs=form.inputs[:n_u],
        x0=np.concatenate([form.x0, m0]),
        u0=form.u0[:n_u],
        V=np.hstack([form.V, np.zeros((form.V.shape[0], n_m))]),
    )


def following(dae: Dae) -> tuple[int, ...]:
    """Return the numbers of the entries of the memory that may change: the others are constants from a sampling on."""
    if not dae.sampling:
        return ()
    q, v, z, u, p, t = dae.symbols()
    after = ca.cse(dae.sampling.update(q, v, z, u, p, t, ca.SX.ones(dae.n_c)))
    before = ca.vertcat(q, v, z, u, p[dae.n_p - dae.n_d :])
    return tuple(sorted(set(ca.jacobian_sparsity(after, before).row())))


def common_period(dae: Dae, p: Array, entries: tuple[int, ...]) -> float:
    """Return the period of all sampled blocks, s.

    Args:
        dae: the equations, with sampled blocks.
        p: the parameters, shape (n_p,).
        entries: numbers of the entries of the memory whose blocks count.

    Raises:
        UsageError: they have several periods, or compute at different instants.
    """
    assert dae.sampling is not None
    timing = np.array(dae.sampling.timing(p)).ravel()
    periods, offsets = timing[0::2], timing[1::2]
    names = [clock.name for clock in dae.sampling.clocks]
    counted = [names.index(dae.sampling.memory[k].clock or dae.name) for k in entries]
    first = counted[0]
    period = float(periods[first])
    apart = np.abs((offsets - offsets[first]) / period)
    for name, other, away in ((names[k], periods[k], apart[k]) for k in sorted(set(counted))):
        if abs(other - period) > ALIKE * period or abs(away - round(away)) > ALIKE:
            raise UsageError(
                f"{dae.name}: '{names[first]}' computes every {period:g} s and '{name}' every {other:g} s, or at other "
                "instants; a linear form needs one period for all sampled blocks"
            )
    return period

"""The state-space form of a model about a state that meets its constraints, from exact derivatives.

About (q0, v0, z0, u0), with C = [Phi_q; G], c = [Phi_t; g], the accelerations a of the index-1 form and the rates f of
the first-order states, small deviations obey

    Phi_q dq = 0,    C dv = -K dq,  K = (C v + c)_q,
    dv' = a_q dq + a_v dv + a_z dz + a_u du,    dz' = f_q dq + f_v dv + f_z dz + f_u du.

The states are the deviations of some coordinates, chosen by pivoting, on which the others depend: dq = V xi with
Phi_q V = 0, and dv = W eta - R K dq with C W = 0, C R = 1 and R zero in the chosen rows; then dz. Sampled blocks make
it a sampled-data form, see `sampled`.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from scipy.linalg import lu_factor, lu_solve, qr

from mbfmu.analysis.linearization.linear import Array, Linear
from mbfmu.analysis.linearization.sampled import closed, common_period, following
from mbfmu.analysis.linearization.sampled import held as held_over
from mbfmu.dae import Dae, derive, refuse_switched
from mbfmu.errors import UnknownNameError, UsageError, nearest
from mbfmu.kernel import vector
from mbfmu.model import Model
from mbfmu.prepared.prepare import Prepared, prepare_run
from mbfmu.prepared.settings import RunSettings
from mbfmu.run.inputs import Course, as_type, formulas
from mbfmu.run.model import run_prepared

PREFERENCE = 0.1
"""Weight of the columns of driven joints, by which the other joints depend on them unless that is badly conditioned."""
IDLE = 64 * float(np.finfo(float).eps)
"""Largest slope of the accelerations in a coordinate on which none depends, such as the position of a vehicle, relative
to their largest slope."""
WORST = 1e10
"""Largest condition number of the equations that give all coordinates from chosen states."""


def linearize_model(
    model: Model,
    run: RunSettings,
    given: Mapping[str, Course],
    outputs: tuple[str, ...],
    states: tuple[str, ...],
    at: float | None,
    period: float | None,
) -> Linear:
    """Return the state-space form of a mechanism or block; arguments and errors as for `linearize`."""
    if at is not None and not (math.isfinite(at) and at > 0):
        raise UsageError(f"the time of the point is {at} s; it must be a positive number")
    prepared = prepare_run(model, run if at else replace(run, stepper="direct"), formulas(given))
    dae = derive(model, run.coordinates) if prepared.dae.formulas else prepared.dae  # in which all inputs are symbols
    refuse_switched(dae, "a linearization")
    chosen = chosen_of(dae, outputs)
    return linearized(dae, point_of(prepared, dae, given, at), chosen, states, period)


class Point(NamedTuple):
    """A state that meets the constraints.

    Args:
        q: coordinates, shape (n,).
        v: rates, shape (n,).
        z: first-order states, shape (n_z,).
        u: inputs, shape (n_u,).
        p: parameters and memory, shape (n_p,).
        t: time, s.
    """

    q: Array
    v: Array
    z: Array
    u: Array
    p: Array
    t: float


def chosen_of(dae: Dae, outputs: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the requested outputs, or of all real ones that can be connected.

    Raises:
        UnknownNameError: there is no such output.
        UsageError: one has no slope.
    """
    types = {item.name: item.type for item in dae.outputs}
    chosen = outputs or tuple(item.name for item in dae.outputs if item.kind == "output" and item.type == "Real")
    for name in chosen:
        if name not in types:
            raise UnknownNameError(f"{dae.name} has no output '{name}'; {nearest(name, types)}")
        if types[name] != "Real":
            raise UsageError(f"'{name}' of {dae.name} is of type {types[name]}: leave it out, it has no slope")
    return chosen


def point_of(
    prepared: Prepared,
    dae: Dae,
    given: Mapping[str, Course],
    at: float | None = None,
    s: Array | None = None,
    parameters: Array | None = None,
) -> Point:
    """Return the consistent start, or a later state of a run.

    Args:
        prepared: the model with a stepper.
        dae: its equations, in which all inputs are symbols.
        given: inputs over time, by name; the others have their start values.
        at: time of a later state, s; None: the start.
        s: start values (default: the model's); of the start alone.
        parameters: parameters (default: the model's); of the start alone.

    Raises:
        UnknownNameError: there is no such input.
        StartError, StepError: there is no consistent start, or the run failed.
    """
    driven = [item.name for item in dae.inputs]
    for name in given:
        if name not in driven:
            raise UnknownNameError(f"{dae.name} has no input '{name}'; {nearest(name, driven)}")
    time = at or 0.0
    parameters = dae.p_default() if parameters is None else parameters
    u0 = np.array([
        as_type(given[item.name], item.type).at(time) if item.name in given else float(item.start)
        for item in dae.inputs
    ])  # fmt: skip
    if at:
        x = _state_at(prepared, at, given)
    else:
        x = prepared.initial_state(vector(u0), None if s is None else vector(s), vector(parameters), stepping=False)
    n_x, n_held = prepared.scheme.step.x.numel(), prepared.dae.n_p - len(dae.parameters)
    held = np.array(list(x)[n_x + dae.n_angles :][:n_held])  # the sampled inputs, as they last changed
    p_run = np.concatenate([parameters, held])
    start = prepared.scheme.read(list(x)[:n_x], p_run, time)
    q0, v0, z0 = (np.array(item).ravel() for item in start)
    p = p_run
    if len(p_run) != dae.n_p:
        p = np.array([*parameters, time, *u0[list(dae.sampled)], *p_run[len(p_run) - dae.n_w - dae.n_d :]])
    return Point(q0, v0, z0, u0, p, time)


def linearized(
    dae: Dae,
    point: Point,
    chosen: tuple[str, ...],
    states: tuple[str, ...] = (),
    period: float | None = None,
    spin: Array | None = None,
) -> Linear:
    """Return the state-space form of equations about a point.

    Args:
        dae: the equations.
        point: the point.
        chosen: names of the outputs.
        states: names of coordinates that are states; () for a choice by pivoting.
        period: of a sampled-data form, s; None: continuous, or that of the sampled blocks.
        spin: matrix S of a steady motion, by which its quaternions turn, see `spin_of`: the form is then that of
            deviations which do not spin; None: nothing turns.

    Raises:
        UnknownNameError, UsageError: see `linearize`; or the equations or their derivatives are not finite there.
    """
    if entries := following(dae):
        own_period = common_period(dae, point.p, entries)
        if states or period not in {None, own_period}:
            fault = "states cannot be chosen" if states else f"its period is {own_period:g} s, not {period:g} s"
            raise UsageError(f"{dae.name} has sampled blocks: {fault}; leave that out")
        return _sampled(dae, point, chosen, own_period, spin)
    if states:
        form = _with_states(dae, states, chosen, lambda more: _continuous(dae, point, more, spin))
    else:
        form = _continuous(dae, point, chosen, spin)
    return form if period is None else held_over(form, period)


def _sampled(dae: Dae, point: Point, chosen: tuple[str, ...], period: float, spin: Array | None) -> Linear:
    """Return the sampled-data form of equations with sampled blocks, about the point after a sampling.

    The rest of the model is continuous, with the blocks' memory as further inputs that are held.
    """
    assert dae.sampling is not None
    q0, v0, z0, u0, p0, t0 = point
    entries, n_u, now = list(following(dae)), len(u0), np.ones(dae.n_c)
    offset = len(p0) - dae.n_d
    m0 = np.array(dae.sampling.update(q0, v0, z0, u0, p0, t0, now)).ravel()
    form, slopes = _slopes(dae, point._replace(p=np.array([*p0[:offset], *m0])), chosen, spin)
    real = form.B.shape[1] - dae.n_d  # inputs that are no switches
    acting = [*range(real), *(real + k for k in entries)]
    form = replace(form, B=form.B[:, acting], D=form.D[:, acting], u0=form.u0[acting])
    M_q, M_v, M_z, M_m, M_u = (np.array(item) for item in _remembered(dae)(q0, v0, z0, u0, m0, p0[:offset], t0))
    switches = [k for k in range(n_u) if dae.inputs[k].type != "Real"]
    M = np.hstack([M_q @ slopes.q + M_v @ slopes.v + M_z @ slopes.z, M_m[:, entries], np.delete(M_u, switches, axis=1)])
    names = tuple(dae.sampling.memory[k].name for k in entries)
    return closed(held_over(form, period), names, M, m0[entries])


@lru_cache(maxsize=1)
def _remembered(dae: Dae) -> Any:
    """Return the Function (q, v, z, u, memory, p, t) -> slopes of what a sampling leaves in memory.

    The slopes are those in q, v, z, the memory before and u; the function is kept for other points.
    """
    assert dae.sampling is not None
    q, v, z, u, _, t = dae.symbols()
    memory, p = ca.SX.sym("memory", dae.n_d), ca.SX.sym("p", dae.n_p - dae.n_d)
    after = dae.sampling.update(q, v, z, u, ca.vertcat(p, memory), t, np.ones(dae.n_c))[list(following(dae))]
    return ca.Function("after", [q, v, z, u, memory, p, t], [ca.jacobian(after, of) for of in (q, v, z, memory, u)])


def _memory(dae: Dae) -> tuple[str, ...]:
    """Return the names of what sampled blocks remember."""
    return tuple(item.name for item in dae.sampling.memory) if dae.sampling else ()


def _state_at(prepared: Prepared, at: float, inputs: Mapping[str, Course]) -> Any:
    """Return the state x of a run at a time, s."""
    last: list[Any] = []

    def watch(_: float, x: Any) -> None:
        last[:] = [list(x)]

    run_prepared(prepared, at, None, inputs, watch=watch)
    return last[0]


class _Slopes(NamedTuple):
    """The slopes of coordinates, rates and first-order states with respect to the states of a form."""

    q: Array
    v: Array
    z: Array


def _continuous(dae: Dae, point: Point, chosen: tuple[str, ...], spin: Array | None) -> Linear:
    """Return the form about a point, in which sampled blocks remember what they do there."""
    form, _ = _slopes(dae, point, chosen, spin)
    kept = form.B.shape[1] - dae.n_d
    return replace(form, B=form.B[:, :kept], D=form.D[:, :kept], u0=form.u0[:kept], inputs=form.inputs[:kept])


def _slopes(dae: Dae, point: Point, chosen: tuple[str, ...], spin: Array | None) -> tuple[Linear, _Slopes]:
    """Return the form about a point, with the memory of sampled blocks as further inputs, and the slopes."""
    q0, v0, z0, u0, p0, t0 = point
    # the point, with the velocity that the spin S leaves over: v - S q
    S = ca.sparsify(ca.DM(np.zeros((dae.n, dae.n)) if spin is None else spin))
    v0 = v0 - np.array(S @ q0).ravel()
    offset = len(p0) - dae.n_d
    u0 = np.concatenate([u0, p0[offset:]])
    # slopes of a, z' and y there, with P = Phi_q, G, and K, the slope in q of the constraints on rates C v + c
    shown = _derivatives(dae, chosen, tuple(zip(*S.sparsity().get_triplet(), strict=True)))
    a0, flow0, y0, P, G, K, *slopes = (np.array(item) for item in shown(q0, v0, z0, u0, p0[:offset], t0, S.nonzeros()))
    if not all(np.all(np.isfinite(item)) for item in (a0, flow0, y0, P, G, K, *slopes)):
        raise UsageError(
            f"{dae.name}: the equations or their derivatives are not finite at these values; take smaller ones"
        )
    a_q, a_v, a_z, a_u, f_q, f_v, f_z, f_u, y_q, y_v, y_z, y_u = slopes

    # constraints on variations: P dq = 0 gives dq = V xi; [P; G] dv + K dq = 0 gives dv = slope xi + W eta
    driven = {item.name.rpartition(".")[0] for item in dae.inputs}
    weight = np.array([PREFERENCE if name.rpartition(".")[0] in driven else 1.0 for name in dae.coordinates])
    free_q, V, _ = _dependent(P, weight)
    free_v, W, R = _dependent(np.vstack([P, G]), weight)
    slope = -R @ K @ V  # dv = slope xi + W eta
    # A, of xi' = dq_free', eta' = da_free and z'
    by_place = np.vstack([(a_q @ V + a_v @ slope)[free_v], f_q @ V + f_v @ slope])
    idle = np.abs(by_place).max(axis=0, initial=0.0) <= IDLE * np.abs(a_q).max(initial=0.0)
    by_place[:, idle] = 0.0  # so that a double eigenvalue 0 does not become two of the root of the round-off
    A = np.block([
        [slope[free_q], W[free_q], np.zeros((len(free_q), dae.n_z))],
        [by_place[: len(free_v)], (a_v @ W)[free_v], a_z[free_v]],
        [by_place[len(free_v) :], f_v @ W, f_z],
    ])  # fmt: skip
    # B, C: inputs act on accelerations and flows; outputs see dq, dv and dz
    B = np.vstack([np.zeros((len(free_q), len(u0))), a_u[free_v], f_u])
    C = np.hstack([y_q @ V + y_v @ slope, y_v @ W, y_z])
    # dq, dv and dz as products with the states [xi; eta; z]
    nothing = np.zeros((len(q0), len(free_v) + dae.n_z))
    lower = np.zeros((dae.n_z, len(free_q) + len(free_v)))
    along = _Slopes(
        np.hstack([V, nothing]),
        np.hstack([slope + np.array(S @ V), W, np.zeros((len(q0), dae.n_z))]),
        np.hstack([lower, np.eye(dae.n_z)]),
    )
    # the form with its names; the slopes in inputs that are not real are left out
    coordinates, rates = [dae.coordinates[k] for k in free_q], [f"der({dae.coordinates[k]})" for k in free_v]
    real = [k for k, item in enumerate(dae.inputs) if item.type == "Real"]  # a switch has no slope
    acting = [*real, *range(len(dae.inputs), len(u0))]
    form = Linear(
        A, B[:, acting], C, y_u[:, acting],
        states=(*coordinates, *rates, *(item.name for item in dae.states)),
        inputs=(*(dae.inputs[k].name for k in real), *_memory(dae)), outputs=chosen,
        x0=np.concatenate([q0[free_q], v0[free_v], z0]), u0=u0[acting], y0=y0.ravel(),
        rest=float(np.abs([*a0.ravel()[free_v], *flow0.ravel()]).max(initial=0.0)),
        coordinates=dae.coordinates, q0=q0, V=along.q, t0=t0,
    )  # fmt: skip
    return form, along


@lru_cache(maxsize=1)
def _derivatives(dae: Dae, chosen: tuple[str, ...], turning: tuple[tuple[int, int], ...]) -> Any:
    """Return the Function (q, v, z, [u; memory], p, t, nonzeros of S) -> values and slopes, kept for other points.

    With v less what S turns, the values are a, z', the outputs, Phi_q, G and K, and then the slopes of a, z' and the
    outputs in q, v, z and [u; memory].

    Args:
        dae: the equations.
        chosen: names of the outputs.
        turning: rows and columns of the nonzeros of the spin S.
    """
    q, v, z, p_run, _, t = dae.symbols()
    memory, parameters = ca.SX.sym("memory", dae.n_d), ca.SX.sym("p", dae.n_p - dae.n_d)
    every, p = ca.vertcat(p_run, memory), ca.vertcat(parameters, memory)
    rows, columns = ([entry[k] for entry in turning] for k in range(2))
    S = ca.SX.sym("S", ca.Sparsity.triplet(dae.n, dae.n, rows, columns))
    # what is differentiated, at the velocity v + S q
    rates = v + S @ q
    a, lambda_ = dae.acceleration(q, rates, z, p_run, p, t)
    flow = dae.equations.flow(q, rates, z, p_run, p, t)
    names = [item.name for item in dae.outputs]
    y = dae.output(q, rates, z, dae.angles(q, p, t), a, lambda_, p_run, p, t)[[names.index(name) for name in chosen]]
    constraints = dae.constraints.C(q, p, t) @ rates + dae.constraints.c(q, p, t)
    # the acceleration less that of the spin: v' = a - S (2 v + S q)
    a -= S @ (v + rates)
    wanted = [a, flow, y, dae.constraints.Phi_q(q, p, t), dae.constraints.G(q, p, t), ca.jacobian(constraints, q)]
    wanted += [ca.jacobian(item, of) for item in (a, flow, y) for of in (q, v, z, every)]
    arguments = [q, v, z, every, parameters, t, ca.vertcat(*S.nonzeros())]
    return ca.Function("linear", arguments, [ca.densify(item) for item in wanted])


def _with_states(
    dae: Dae, states: tuple[str, ...], chosen: tuple[str, ...], about: Callable[[tuple[str, ...]], Linear]
) -> Linear:
    """Return the form in chosen coordinates s and their rates.

    With s = S x, s' = P x and s'' = Q x + D u as outputs of the usual form, the new states are [S; P; Z] x, where Z
    takes the first-order states.

    Args:
        dae: the equations.
        states: names of the coordinates s.
        chosen: names of the outputs.
        about: function that returns the usual form with the given outputs.
    """
    # the names are coordinates with rate and acceleration among the outputs
    rate_of = {item.derivative_of: item.name for item in dae.outputs if item.derivative_of}
    known = [name for name, rate in rate_of.items() if rate in rate_of]
    for name in states:
        if name not in known:
            raise UnknownNameError(f"{dae.name} has no coordinate '{name}'; {nearest(name, known)}")
    if dae.k:
        raise UsageError(
            f"{dae.name} has nonholonomic constraints, with fewer velocities than coordinates: leave states out"
        )
    # the usual form with these as further outputs: s = S x, s' = P x, s'' = Q x + D u
    rates = [rate_of[name] for name in states]
    wide = about((*chosen, *states, *rates, *(rate_of[name] for name in rates)))
    n_y, n, n_z = len(chosen), len(states), dae.n_z
    count = (len(wide.states) - n_z) // 2
    if len(set(states)) != count or n != count:
        raise UsageError(f"{dae.name} has {count} degrees of freedom: name {count} coordinates as states")
    S, P, Q = wide.C[n_y : n_y + n], wide.C[n_y + n : n_y + 2 * n], wide.C[n_y + 2 * n :]
    if n and np.linalg.cond(S[:, :n]) > WORST:
        raise UsageError(
            f"{dae.name}: {', '.join(states)} do not determine the other coordinates here: take others, such as "
            f"{', '.join(wide.states[:n])}"
        )
    # the new states [s; s'; z] = T x: A = [P; Q; A_z] T^-1, and so on
    z = slice(2 * n, None)
    back = np.linalg.inv(np.vstack([S, P, np.eye(2 * n + n_z)[z]]))
    return replace(
        wide,
        A=np.vstack([P, Q, wide.A[z]]) @ back,
        B=np.vstack([wide.D[n_y + n :], wide.B[z]]),
        C=wide.C[:n_y] @ back,
        D=wide.D[:n_y],
        states=(*states, *(f"der({name})" for name in states), *wide.states[z]),
        outputs=chosen,
        x0=np.concatenate([wide.y0[n_y : n_y + 2 * n], wide.x0[z]]),
        y0=wide.y0[:n_y],
        V=wide.V @ back,
    )


def _dependent(C: Array, weight: Array) -> tuple[list[int], Array, Array]:
    """Return the free columns of C, V with C V = 0, and R with C R = 1 that is zero in the free rows.

    Args:
        C: matrix of full row rank, shape (k, n); V has the shape (n, n - k) and is the unit matrix in the free rows.
        weight: weights of the columns, shape (n,); columns of little weight are preferred as free ones.
    """
    k, n = C.shape
    pivots = qr(C * weight, mode="r", pivoting=True)[1] if k else np.arange(n)
    bound, free = sorted(int(column) for column in pivots[:k]), sorted(int(column) for column in pivots[k:])
    V, R = np.zeros((n, n - k)), np.zeros((n, k))
    V[free] = np.eye(n - k)
    if k:
        factor = lu_factor(C[:, bound])
        V[bound], R[bound] = -lu_solve(factor, C[:, free]), lu_solve(factor, np.eye(k))
    return free, V, R

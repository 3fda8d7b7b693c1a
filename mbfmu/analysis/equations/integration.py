"""The Radau IIA method of order 5 on an implicit model, residual(x', x, lambda, u, p, t) = 0.

Stages i = 1, 2, 3 have the unknowns k_i = x'_i and lambda_i, and the residual of each is met at

    x_i = x_0 + h sum_j a_ij k_j,    t_i = t_0 + c_i h

by Newton's method with exact Jacobians. The last stage is the end of the step (Hairer and Wanner, Solving Ordinary
Differential Equations II, IV.5), so that its x' has the accelerations there. It is what acados calls an IRK integrator.
"""

import math
from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from mbfmu.analysis.equations.functions import EquationFunctions
from mbfmu.base.result import Result
from mbfmu.dae.events.modes import refuse_switched
from mbfmu.errors import StepError, UnknownNameError, UsageError, nearest
from mbfmu.model.frame import wrapped
from mbfmu.run.inputs import Course, as_type

ROOT = math.sqrt(6.0)
A = np.array([
    [(88 - 7 * ROOT) / 360, (296 - 169 * ROOT) / 1800, (-2 + 3 * ROOT) / 225],
    [(296 + 169 * ROOT) / 1800, (88 + 7 * ROOT) / 360, (-2 - 3 * ROOT) / 225],
    [(16 - ROOT) / 36, (16 + ROOT) / 36, 1 / 9],
])  # fmt: skip
"""Coefficients of the method; its weights are the last row."""
NODES = A.sum(axis=1)
"""Times of the stages, in steps."""
CORRECTIONS = 20
"""Largest number of corrections of Newton's method."""
SOLVED = 1e-9
"""Size of a correction, relative to 1 and the largest unknown, after which the next would be round-off."""


def integrated(equations: EquationFunctions, stop: float, step: float, inputs: Mapping[str, Course]) -> Result:
    """Return a run of the implicit form from the start, see `ModelEquations.simulate`."""
    dae = equations.dae
    refuse_switched(dae, "the integration of the equations alone")
    if dae.n_d or dae.n_held:
        raise UsageError(f"'{dae.name}' has sampled blocks, which a run handles: use mbfmu.simulate")
    if not (0 < step < math.inf and 0 < stop < math.inf):
        raise UsageError(f"stop = {stop:g} s and step = {step:g} s must be positive numbers")
    known = [item.name for item in dae.inputs]
    for name in inputs:
        if name not in known:
            raise UnknownNameError(f"'{dae.name}' has no input '{name}'; {nearest(name, known)}")
    driven = [as_type(inputs[item.name], item.type) if item.name in inputs else item.start for item in dae.inputs]

    def u_at(time: float) -> list[float]:
        return [item.at(time) if isinstance(item, Course) else item for item in driven]

    q, v, z, _, p, _ = equations.start
    x, n = np.concatenate([q, v, z]), dae.n
    observe, turned = _observer(equations), np.array(dae.angles(q, dae.extended(dae.p_default()), 0.0)).ravel()
    stages = _stages(equations)
    # accelerations and multipliers at the start, by which the first step begins
    u0 = u_at(0.0)
    slope = np.array(equations.rhs(x, u0, p, 0.0)).ravel()
    lambda_ = np.array(equations.multipliers(q, v, z, u0, p, 0.0)).ravel()
    count = max(1, round(stop / step))
    h = stop / count
    unknowns = np.tile(np.concatenate([slope, lambda_]), 3)
    times, rows = np.linspace(0.0, stop, count + 1), []
    for index, time in enumerate(times.tolist()):
        if index:
            before = time - h
            u = np.array([u_at(before + c * h) for c in NODES]).T
            unknowns = _solved(stages, unknowns, x, u, p, before, h, dae.name)
            x = x + h * sum(A[2, i] * k for i, k in enumerate(_split(unknowns, len(x), 0)))
            slope, lambda_ = _split(unknowns, len(x), 0)[2], _split(unknowns, len(x), 1)[2]
        y, turned = observe(x, turned, slope[n : 2 * n], lambda_, u_at(time), p, time)
        rows.append(np.array(y).ravel())
    units = {item.name: item.unit for item in dae.outputs}
    return Result(times, tuple(units), np.array(rows), units, steps=count, stepper="radau(stages=3)", step=h)


def _observer(equations: EquationFunctions) -> Any:
    """Return the Function (x, turned, a, lambda, u, p, t) -> outputs, and the angles counted on."""
    dae, (q, v, z, u, p, t) = equations.dae, equations.inner
    a, lambda_ = ca.SX.sym("a", dae.n), ca.SX.sym("lambda_", dae.m + dae.k)
    turned = ca.SX.sym("turned", dae.n_angles)
    counted = turned + wrapped(dae.angles(q, p, t) - turned)
    arguments = [equations.x, turned, a, lambda_, u, equations.symbols[4], t]
    return ca.Function("observe", arguments, [dae.output(q, v, z, counted, a, lambda_, u, p, t), counted])


def _stages(equations: EquationFunctions) -> Any:
    """Return the Function (unknowns, x0, u of each stage, p, t, h) -> residual of all stages, and its Jacobian."""
    n_x, n_lambda, n_u = (equations.sizes[name] for name in ("x", "lambda_", "u"))
    w, x0 = ca.MX.sym("w", 3 * (n_x + n_lambda)), ca.MX.sym("x0", n_x)
    u, p = ca.MX.sym("u", n_u, 3), ca.MX.sym("p", equations.sizes["p"])
    t, h = ca.MX.sym("t"), ca.MX.sym("h")
    each = ca.vertsplit(w, n_x + n_lambda)
    rows = []
    for i in range(3):
        x = x0 + h * sum(A[i, j] * each[j][:n_x] for j in range(3))
        rows.append(equations.residual(each[i][:n_x], x, each[i][n_x:], u[:, i], p, t + NODES[i] * h))
    residual = ca.vertcat(*rows)
    return ca.Function("stages", [w, x0, u, p, t, h], [residual, ca.jacobian(residual, w)])


def _solved(stages: Any, w: Any, x: Any, u: Any, p: Any, t: float, h: float, name: str) -> Any:
    """Return the unknowns of a step, from those of the step before; errors as for `ModelEquations.simulate`."""
    for _ in range(CORRECTIONS):
        residual, slopes = stages(w, x, u, p, t, h)
        change = np.array(ca.solve(slopes, residual)).ravel()
        w = w - change
        if not np.all(np.isfinite(w)):
            break
        if np.max(np.abs(change), initial=0.0) <= SOLVED * (1 + np.max(np.abs(w), initial=0.0)):
            return w
    raise StepError(f"{name}: Newton's method does not converge in the step from t = {t:g} s: take a shorter step")


def _split(unknowns: Any, n_x: int, which: int) -> list[Any]:
    """Return x' (0) or lambda (1) of each stage."""
    return [each[:n_x] if which == 0 else each[n_x:] for each in np.split(unknowns, 3)]

"""Formulas whose nodes are coupled: one function for a node's equations, and the Newton matrix assembled around it."""

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.dae.formula import Formula, Stage
from mbfmu.steppers.scheme import SX, Problem

Array = npt.NDArray[np.float64]


def weighted(weights: Array, vectors: Sequence[SX]) -> SX:
    """Return the sum of weights[j] * vectors[j]."""
    return sum(float(weight) * vector for weight, vector in zip(weights, vectors, strict=True))


def coupled_formula(
    problem: Problem,
    x: SX,
    z: SX,
    guess: SX,
    watched: int,
    points: Sequence[SX],
    times: Sequence[SX],
    node: Callable[[SX, SX], SX],
    finish: Callable[[Sequence[SX]], tuple[SX, SX]],
) -> Formula:
    """Return the formula x -> result whose unknowns z meet the same equations at several nodes, coupled linearly.

    With y_i(z) the point of node i and N_i = node(y_i, t_i), `finish` gives residual(N, z) and the result; Newton's
    method takes the Jacobian residual_N diag(node_y(y_i)) y_z + residual_z. The equations of a node stay one function,
    called once a node: the code does not grow with their number, and its compilation stays short.

    Args:
        problem: the Dae over the step, in SX.
        x: SX symbols of the state.
        z: SX symbols of the unknowns.
        guess: SX, in terms of x, shape of z.
        watched: see `Stage`.
        points: SX, in terms of x and z, one a node, all of one shape.
        times: one a node, s.
        node: (y, t) -> SX, what holds at every node.
        finish: node values -> (residual, result), in terms of them, x and z.
    """
    given = problem.given
    arguments = [x, given.u, given.du, given.p, given.t, given.h]
    y, at = ca.SX.sym("y", points[0].shape[0]), ca.SX.sym("at")
    value = ca.densify(node(y, at))
    N = [ca.SX.sym(f"N{i}", value.shape[0]) for i in range(len(points))]
    residual, result = finish(N)
    Y, NN = ca.vertcat(*points), ca.vertcat(*N)

    def function(name: str, inputs: Sequence[SX], *results: SX) -> Any:
        return ca.Function(name, [*arguments, *inputs], ca.cse(list(results)))

    local = function("node", [y, at], value, ca.jacobian(value, y))
    placed = function("points", [z], ca.densify(Y), ca.jacobian(Y, z), ca.vertcat(*times))
    closed = function("closed", [z, NN], ca.densify(residual), ca.jacobian(residual, NN), ca.jacobian(residual, z))
    ended = function("ended", [z, NN], ca.densify(result))
    guessed = function("guessed", [], ca.densify(guess))

    x, z, *rest = (ca.MX.sym(name, like.shape[0]) for name, like in zip("xzudpth", [x, z, *arguments[1:]], strict=True))
    called = [x, *rest]
    Y, Y_z, at = placed(*called, z)
    each = [local(*called, Y[i * y.numel() : (i + 1) * y.numel()], at[i]) for i in range(len(points))]
    NN = ca.vertcat(*(item[0] for item in each))
    residual, residual_N, residual_z = closed(*called, z, NN)
    jacobian = residual_N @ ca.diagcat(*(item[1] for item in each)) @ Y_z + residual_z
    stage = Stage(z, guessed(*called), correction=-ca.solve(jacobian, residual, "qr"), watched=watched)
    return Formula(x, type(given)(*rest), (stage,), ended(*called, z, NN))

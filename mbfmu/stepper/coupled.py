"""Formulas whose nodes are coupled: one function for a node's equations, and the Newton matrix assembled around it."""

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.dae.formula import Decoupled, Formula, Let, Stage, solve_linear
from mbfmu.dae.linear_algebra.jacobian import jacobian_of
from mbfmu.dae.linear_algebra.merged import merged
from mbfmu.stepper.decoupled import Collocated, connected, eigen
from mbfmu.stepper.scheme import SX, Problem

Array = npt.NDArray[np.float64]


def weighted(weights: Array, vectors: Sequence[SX]) -> SX:
    """Return the sum of weights[j] * vectors[j]."""
    return sum(float(weight) * vector for weight, vector in zip(weights, vectors, strict=True))


def coupled_formula(
    problem: Problem,
    x: SX,
    unknowns: SX,
    guess: SX,
    watched: int,
    points: Sequence[SX],
    times: Sequence[SX],
    node: Callable[[SX, SX], SX],
    finish: Callable[[Sequence[SX]], tuple[SX, SX]],
    collocated: Collocated | None = None,
) -> Formula:
    """Return the formula x -> result whose unknowns w meet the same equations at several nodes, coupled linearly.

    With y_i(w) the point of node i and N_i = node(y_i, t_i), `finish` gives residual(N, w) and the result; Newton's
    method takes the Jacobian residual_N diag(node_y(y_i)) y_w + residual_w. The equations of a node stay one function,
    called once for each node: the code does not grow with the number of nodes, and compiles quickly. For a block, which
    has no coordinates, they are written out.

    Args:
        problem: the Dae over the step, in SX.
        x: SX symbols of the state.
        unknowns: SX symbols, w.
        guess: SX, in terms of x, shape of w.
        watched: see `Stage`.
        points: the points y_i, SX in terms of x and w, all of one shape.
        times: time of each node, s.
        node: function (y, t) -> SX, the equations that hold at every node.
        finish: function of the node values -> (residual, result), in terms of them, x and w.
        collocated: what decouples the nodes; None: they are solved for together.
    """
    given = problem.given
    if not problem.n:  # the equations of a block are short: they are written out for each node
        residual, result = finish([node(y, at) for y, at in zip(points, times, strict=True)])
        return Formula(x, given, (Stage(unknowns, guess, residual, watched=watched),), result)
    arguments = [x, given.u, given.du, given.p, given.t, given.h]
    y, at = ca.SX.sym("y", points[0].shape[0]), ca.SX.sym("at")
    # functions of one node and of what couples the nodes, each with its slopes
    value = ca.densify(node(y, at))
    N = [ca.SX.sym(f"N{i}", value.shape[0]) for i in range(len(points))]
    residual, result = finish(N)
    Y, NN = ca.vertcat(*points), ca.vertcat(*N)

    def function(name: str, inputs: Sequence[SX], *results: SX) -> Any:
        return merged(name, [*arguments, *inputs], list(results))

    local = function("node", [y, at], value, jacobian_of(value, y))
    symbols = collocated.symbols if collocated else ca.SX(0, 1)
    placed = function("points", [unknowns, symbols], ca.densify(Y), ca.jacobian(Y, unknowns), ca.vertcat(*times))
    slopes = ca.jacobian(residual, NN), ca.jacobian(residual, unknowns)
    closed = function("closed", [unknowns, symbols, NN], ca.densify(residual), *slopes)
    of_nodes = [NN] if ca.depends_on(ca.densify(result), NN) else []
    ended = function("ended", [unknowns, symbols, *of_nodes], ca.densify(result))
    guessed = function("guessed", [symbols], *map(ca.densify, (guess, *([collocated.start] if collocated else []))))
    if collocated:
        alone = function("node_value", [y, at], value)
        known = function("known", [], collocated.once)
        led_off = function("led_off", [symbols], ca.densify(collocated.off))
        of_node = [ca.MX.sym(f"i{k}", local.sparsity_in(k)) for k in range(local.n_in())]
        matrices = collocated.linearised(local.call(of_node)[1])
        linearised = ca.Function("linearised", of_node, list(map(ca.densify, matrices)))

    # call them: points y_i(w), N_i = node(y_i, t_i), residual(N, w)
    x, w, *rest = (
        ca.MX.sym(name, like.shape[0]) for name, like in zip("xwudpth", [x, unknowns, *arguments[1:]], strict=True)
    )
    called, once = [x, *rest], ca.MX.sym("known", symbols.numel())
    Y, Y_w, at = placed(*called, w, once)
    each = [(Y[i * y.numel() : (i + 1) * y.numel()], at[i]) for i in range(len(points))]
    found = [local(*called, *item) for item in each]
    NN = ca.vertcat(*((alone(*called, *item) for item in each) if collocated else (value for value, _ in found)))
    residual, residual_N, residual_w = closed(*called, w, once, NN)
    # Newton's method: d residual/dw = residual_N diag(node_y(y_i)) y_w + residual_w
    jacobian = residual_N @ ca.diagcat(*(slope for _, slope in found)) @ Y_w + residual_w
    result = ended(*called, w, once, *([NN] if of_nodes else []))
    first, *start = guessed.call([*called, once])
    if not collocated:
        stage = Stage(w, first, correction=-solve_linear(jacobian, residual), watched=watched)
        return Formula(x, type(given)(*rest), (stage,), result)
    # The same with one linearisation for all nodes: that of the start, or of the middle node
    off = led_off(*called, once)
    eigenvalues, vectors = eigen(collocated.D)
    decoupled = Decoupled(
        jacobian=jacobian,
        slopes=(*linearised(*called, *start, rest[3]), off),
        renewed=(*linearised(*called, *each[len(points) // 2]), off),
        eigenvalues=eigenvalues,
        vectors=vectors,
        n=collocated.n,
        positions=collocated.positions,
        constraints=collocated.constraints,
        closing=collocated.closing,
        multipliers=off.shape[1],
        blocks=connected(matrices[-1].sparsity()),
    )
    stage = Stage(w, first, residual=residual, watched=watched, decoupled=decoupled)
    return Formula(x, type(given)(*rest), (Let(once, known(*called)), stage), result)

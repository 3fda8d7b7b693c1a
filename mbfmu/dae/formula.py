"""Formulas: pure maps that may depend on the solution of equations.

A formula is data. The kernel turns it into functions and solves its stages; only the kernel loops.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

SX = Any
"""An expression: SX, or MX in formulas that call functions, so that neither alone."""


@dataclass(frozen=True)
class Decoupled:
    """Newton's method for s nodes that D = A^-1 couples, by the eigenvalues of D; `stepper/decoupled.py` derives it.

    With one linearisation for all nodes, Newton's matrix falls into one of each real eigenvalue, and of each pair of
    complex ones, of the size of one node.

    Args:
        jacobian: MX, the derivative of the residual with respect to the unknowns, of all nodes as they are.
        slopes: MX, the matrices of the linearisation at the start of the step: B2, B1, B0, C, Bz, F1, F0, Fz, off.
        renewed: MX, the same at the unknowns of the middle node.
        eigenvalues: gamma of each group: those with an imaginary part stand for a pair.
        vectors: T, real, with D T = T diag(Gamma), shape (s, s): of a pair the real and the imaginary part.
        n: number of coordinates.
        positions: number of constraints on positions.
        constraints: number of rows of C.
        closing: number of constraints on velocities of a node.
        multipliers: number of the multipliers mu of a node.
        blocks: first-order states whose rates depend on each other, and not on those of other blocks.
    """

    jacobian: SX
    slopes: tuple[SX, ...]
    renewed: tuple[SX, ...]
    eigenvalues: Sequence[complex]
    vectors: Any
    n: int
    positions: int
    constraints: int
    closing: int
    multipliers: int
    blocks: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Stage:
    """Equations solved inside a formula by repeated correction.

    Args:
        unknowns: SX symbols, a column.
        guess: SX, one entry for each unknown, in terms of the formula's arguments and earlier stages' unknowns.
        residual: SX, one entry for each unknown: Newton's method solves residual = 0; None: `correction` is used.
        correction: SX, added to the unknowns in each pass; a method states its own iteration this way; None:
            `corrected` and `change` are used.
        corrected: SX, the unknowns after a pass.
        change: SX, the 1-norm of the watched entries of what a pass adds to the unknowns.
        watched: number of leading unknowns that decide about convergence (the rest are multipliers); None: all.
        soft: added to the diagonal of Newton's matrix, where solutions need not be unique: it finds one near the guess.
        rough: whether the passes may end before they are at rest, as a later stage begins where they end; the
            derivatives then are those of the passes.
        decoupled: how Newton's method takes the residual apart; None: it is not.
    """

    unknowns: SX
    guess: SX
    residual: SX | None = None
    correction: SX | None = None
    corrected: SX | None = None
    change: SX | None = None
    watched: int | None = None
    soft: float = 0.0
    rough: bool = False
    decoupled: Decoupled | None = None


@dataclass(frozen=True)
class Let:
    """Values that are computed once and have names of their own.

    What several corrections or stages need is then computed in none of them.

    Args:
        unknowns: SX symbols of the values, shape (n_z,).
        guess: SX, the values, shape (n_z,), in terms of the formula's arguments and what comes before.
    """

    unknowns: SX
    guess: SX


@dataclass(frozen=True)
class Call:
    """The results of a Function that stays a function, while other calls in formulas of SX become part of them.

    Args:
        unknowns: SX symbols of its results, one after the other, shape (n_z,).
        function: the Function.
        given: SX, its arguments, in terms of the formula's arguments and what comes before.
    """

    unknowns: SX
    function: Any
    given: tuple[SX, ...]


@dataclass(frozen=True)
class Arguments:
    """The arguments every formula has, as symbols.

    Args:
        u: inputs at time t.
        du: their time derivatives, constant over the step.
        p: parameters.
        t: time at the start of the step, s.
        h: step, s.
    """

    u: SX
    du: SX
    p: SX
    t: SX
    h: SX


@dataclass(frozen=True)
class Formula:
    """A map x -> result with solved stages in between.

    Args:
        x: symbols of the argument.
        arguments: the further arguments.
        stages: the stages, solved or computed in this order; those without unknowns are left out.
        result: SX, in terms of x, the arguments and the stages' unknowns.
        estimate: SX, the estimated error that the step adds, as a number relative to 1 and the size of the coordinates
            and rates, in terms of x and the arguments alone; None: there is no estimate.
        slope: SX like the result, whose derivatives stand for those of the result, such as one in which round-off is
            not set to 0; None: the result itself.
        lasting: whether the last stage, a `Call`, gives what the first one, a `Call` of the same Function, will give in
            a step that begins at the result.
    """

    x: SX
    arguments: Arguments
    stages: tuple[Stage | Let | Call, ...]
    result: SX
    estimate: SX | None = None
    slope: SX | None = None
    lasting: bool = False

    def __post_init__(self) -> None:
        solved = tuple(stage for stage in self.stages if stage.unknowns.numel())
        object.__setattr__(self, "stages", solved)


def arguments(n_u: int, n_p: int, kind: Any) -> Arguments:
    """Return fresh symbols for the arguments of a formula.

    Args:
        n_u: number of inputs.
        n_p: number of parameters.
        kind: `casadi.SX`, or `casadi.MX` to keep function calls as calls.
    """
    return Arguments(
        kind.sym("u", n_u), kind.sym("du", n_u), kind.sym("p", n_p), kind.sym("t"), kind.sym("h")
    )  # fmt: skip


def solve_linear(A: Any, b: Any) -> Any:
    """Return A^-1 b.

    Args:
        A: MX, regular, shape (n, n).
        b: MX, shape (n,).
    """
    sparsity = A.sparsity()
    if sparsity.is_diag() and not sparsity.is_dense():  # CasADi cannot read back a stored solution of such a system
        return b / ca.diag(A)
    return ca.solve(A, b, "qr", {"eps": 0})  # a matrix that is nearly singular is solved too, as in generated code

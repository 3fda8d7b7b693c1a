"""Generated code of functions that call functions: what CasADi's interpreter computes, from its instructions alone."""

from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from generated_code import WARNINGS, compiled

from mbfmu.errors import KernelError
from mbfmu.kernel.emit.sources import generated


def interpreted(function: Any, *arguments: Any) -> list[np.ndarray[Any, Any]]:
    """Return the nonzeros of a Function's results as CasADi computes them."""
    given = [ca.DM(function.sparsity_in(k), each) for k, each in enumerate(arguments)]
    return [np.array(item.nonzeros()) for item in function.call(given)]


def inner() -> Any:
    """Return a Function of two results, of which callers may want one."""
    a = ca.SX.sym("a", 4)
    return ca.Function("inner", [a], [ca.vertcat(a[0] * a[1], a[2] - a[3], 1 / a[0]), ca.SX(2) * a])


X, Y = ca.MX.sym("x", 6), ca.MX.sym("y", 4)
LOWER = ca.MX(ca.Sparsity.lower(3), X)
FULL = ca.horzcat(X[:3], Y[1:], X[3:]) + 3 * ca.MX.eye(3)
FRAMES = {
    "parts": ca.vertcat(X[1:4], Y[::2], X[[5, 0, 3]], 2.5),
    "reversed": X[::-1],
    "constants and broadcast": ca.MX([1.0, -2.0, 3.0, 4.0]) + Y[0] * Y,
    "one result of a call": inner()(Y)[0],
    "the other result of a call": inner()(X[2:])[1] + inner()(Y)[1],
    "nested calls": inner()(inner()(Y)[1])[1],
    "product": LOWER @ (LOWER @ Y[:3]),
    "sparse product": ca.densify(LOWER @ LOWER.T),
    "transposed": ca.densify(LOWER.T) @ Y[1:],
    "blocks": ca.densify(ca.diagcat(LOWER, FULL)) @ ca.vertcat(X[:3], Y[:3]),
    "projected": ca.densify(LOWER),
    "solved": ca.solve(FULL, Y[:3], "qr"),
    "solved, sparse": ca.solve(LOWER + ca.MX.eye(3), Y[:3], "qr"),
    "two right sides": ca.solve(FULL, ca.horzcat(Y[:3], X[3:]), "qr"),
    "norm": ca.norm_1(X - 0.3),
    "dot": ca.dot(X - 0.3, X) * X,
    "split": sum(ca.vertsplit(X, 2)) * 2,
    "chosen": ca.if_else(Y[0] < Y[1], X, -X),
    "called if chosen": ca.if_else(Y[0] < Y[1], inner()(Y)[1], inner()(X[:4])[1], True),
    "compared": ca.vertcat(Y[0] <= Y[1], Y[2] == Y[2], Y[0] != Y[3], ca.logic_and(Y[0], Y[1]), ca.logic_not(Y[2])),
    "signs": ca.vertcat(ca.sign(Y - 0.5), ca.fabs(Y - 0.5), ca.fmin(Y, 0.4), ca.fmax(Y, 0.4), ca.copysign(Y, Y - 0.5)),
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_gives_what_the_interpreter_gives(name: str, tmp_path: Path) -> None:
    function = ca.Function("frame", [X, Y], [FRAMES[name], X[0] + Y[0]])
    run = compiled(function, tmp_path, "-O1", *WARNINGS)
    some = np.random.default_rng(3)
    for _ in range(5):
        given = some.uniform(0.1, 0.9, 6), some.uniform(0.1, 0.9, 4)
        for found, expected in zip(run(*given), interpreted(function, *given), strict=True):
            assert found == pytest.approx(expected, rel=1e-13, abs=1e-14)  # measured: the same bits


def test_a_function_called_twice_is_written_once() -> None:
    function = ca.Function("frame", [Y], [inner()(Y)[0]])
    f = inner()
    twice = ca.Function("frame", [Y], [f(Y)[0] + f(2 * Y)[0]])
    count = [generated([each], external=True).text.count("_inner(const V") for each in (function, twice)]
    assert count == [1, 1]


def test_the_room_of_values_needed_no_more_is_used_again() -> None:
    f = inner()
    value = Y
    for _ in range(50):
        value = f(value)[1] * 0.5 + Y
    assert generated([ca.Function("frame", [Y], [value])], external=True).work < 8 * Y.numel()


def test_what_has_no_c_code_is_refused_by_name() -> None:
    x, m = ca.SX.sym("x"), ca.MX.sym("m", 3)
    with pytest.raises(KernelError, match=r"OP_ERFINV in 'f'"):
        generated([ca.Function("f", [x], [ca.erfinv(x)])], external=True)
    with pytest.raises(KernelError, match=r"OP_NORMF in 'g'"):
        generated([ca.Function("g", [m], [ca.norm_2(m)])], external=True)
    table = ca.interpolant("table", "linear", [[0.0, 1.0, 2.0]], [0.0, 1.0, 4.0])
    with pytest.raises(KernelError, match=r"'table'.*Interpolant"):
        generated([ca.Function("h", [m], [table(m[0])])], external=True)


@pytest.mark.parametrize("size", [1e-150, 1e-157, 1e-162, 5e-324])
def test_entries_whose_squares_vanish_leave_a_solution_finite(size: float, tmp_path: Path) -> None:
    A, b = ca.MX.sym("A", 3, 3), ca.MX.sym("b", 3)
    given = np.array([[1.0, 0.0, 2.0], [size, -2.0, size], [-size, size, 3.0]])
    (x,) = compiled(ca.Function("tiny", [A, b], [ca.solve(A, b, "qr")]), tmp_path, "-O1", *WARNINGS)(
        given.T.ravel(), [1.0, 2.0, 3.0]
    )
    np.testing.assert_allclose(x, [-1.0, -1.0, 1.0], rtol=1e-15)

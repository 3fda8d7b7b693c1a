"""The linear system of a motion under constraints, solved through the Schur complement."""

from typing import Any

import casadi as ca
import numpy as np
import pytest

from mbfmu.dae.linear_algebra.kkt import OverMass, SchurFactor


def kkt_factor(M: Any, C: Any, lengths: tuple[float, ...] = ()) -> SchurFactor:
    """Return the factor of ``[M C^T; C 0]`` of bodies of three coordinates each."""
    return SchurFactor(OverMass(lambda f: ca.solve(M, f), lengths, [k // 3 for k in range(M.shape[0])]), C, M)


def bodies_in_a_row(count: int) -> tuple[Any, Any, Any]:
    """Return symbols, M and C of bodies of three coordinates, each held to the one before by two rows of slopes."""
    x = ca.SX.sym("x", count * 6)
    M = ca.diagcat(*(ca.diag(x[6 * k : 6 * k + 3]) + 0.5 for k in range(count)))
    rows = ca.SX(2 * count, 3 * count)
    for k in range(count):
        rows[2 * k : 2 * k + 2, 3 * k : 3 * k + 3] = ca.vertcat(
            x[6 * k + 3 : 6 * k + 6].T, ca.SX([[0, 1, 0]]) * x[6 * k]
        )
        if k:
            rows[2 * k : 2 * k + 2, 3 * k - 3 : 3 * k] = -ca.vertcat(
                x[6 * k - 3 : 6 * k].T, ca.SX([[0, 0, 1]]) * x[6 * k]
            )
    return x, M, ca.sparsify(rows)


def test_a_pass_meets_both_equations_of_motion_and_the_constraint_of_their_mean() -> None:
    x, M, C = bodies_in_a_row(7)
    k, n = C.shape
    rng = np.random.default_rng(0)
    numbers = rng.uniform(1, 2, x.numel())
    y, y1, mu, f, e, g = (rng.normal(size=size) for size in (n, n, k, n, n, k))
    M_, C_ = (np.array(ca.DM(ca.Function("f", [x], [ca.densify(item)])(numbers))) for item in (M, C))
    corrected = kkt_factor(M, C).corrected(*map(ca.SX, (y, y1, mu, f, e, g)))
    new, new1, nu, size = (np.array(item).ravel() for item in ca.Function("f", [x], list(corrected))(numbers))
    assert np.abs(M_ @ new + C_.T @ nu - f).max() < 1e-12  # measured: 1e-14
    assert np.abs(M_ @ (new - (new1 - y1)) - e).max() < 1e-12
    assert np.abs(C_ @ (new - y + new1 - y1) / 2 + g).max() < 1e-12
    assert size == pytest.approx(np.abs(new - y).sum() + np.abs(new1 - y1).sum(), rel=1e-13)


@pytest.mark.parametrize("weighed", [False, True])
def test_rows_that_lose_their_independence_or_length_give_no_number(weighed: bool) -> None:
    x, M, C = bodies_in_a_row(7)
    numbers = np.random.default_rng(0).uniform(1, 2, x.numel())
    factor = kkt_factor(M, C, (1.0,) * C.shape[0] if weighed else ())
    solved = ca.Function("f", [x], list(factor.solve(ca.SX.ones(C.shape[1]), ca.SX.ones(C.shape[0]))))
    assert np.isfinite(np.array(solved(numbers)[0])).all()
    lost = numbers.copy()
    lost[6 * 3 + 3 : 6 * 3 + 6] = (1e-6, 1.0, 1e-6)  # the first row of the fourth body is next to its second
    assert np.isfinite(np.array(solved(lost)[0])).all()
    lost[6 * 2 + 3 : 6 * 2 + 6] = (1e-7, 1e-7, 1.0)  # and so are their parts for the body before
    lost[6 * 3 + 3 : 6 * 3 + 6] = (1e-7, 1.0, 1e-7)
    assert np.isnan(np.array(solved(lost)[0])).any()

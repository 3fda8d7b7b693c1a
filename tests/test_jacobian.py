"""Jacobians of long residuals: those of CasADi, in fewer operations, with a value wherever these have one."""

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

from mbfmu.dae.linear_algebra.jacobian import jacobian_of

LINKS = 12
"""Number of steps of a recursion."""


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take short functions for long ones."""
    monkeypatch.setattr("mbfmu.dae.linear_algebra.jacobian.LONG", 100)


def chain(bend: Callable[[Any, Any], Any]) -> tuple[Any, Any, Any]:
    """Return values that come out of a recursion, their variables, and a parameter."""
    x, p = ca.SX.sym("x", 6), ca.SX.sym("p")
    a, b, values = x[0], x[1] + 2, []
    for k in range(LINKS):
        c = ca.cos(x[k % 6] * a + p) - b / (3 + ca.sqrt(b * b + k))
        a, b = ca.sin(c) * b - a / 2, ca.atan2(c, 2 + a * a) + ca.tanh(b) + p ** (1 + c * c)
        a, b = bend(a, c), b - ca.fmin(c, a) + ca.fmax(b, p) / 7 + ca.exp(-a * a) - ca.log(2 + b * b)
        if k >= LINKS - 4:
            values += [a, b]
    return ca.vertcat(*values, x[0], p, 3 * x[1]), x, p


def evaluated(matrix: Any, x: Any, p: Any) -> tuple[int, Any]:
    """Return the number of operations of a Jacobian, and its value somewhere."""
    function = ca.Function("slopes", [x, p], [ca.densify(matrix)])
    return function.n_instructions(), np.array(function([0.1, 0.0, -0.4, 0.7, 1.1, 0.2], 0.6))


@pytest.mark.parametrize("bend", [lambda a, c: a + c, lambda a, c: ca.if_else(c > 0, a, a + ca.sqrt(c))])
def test_the_jacobian_of_a_long_recursion_is_casadis_in_no_more_operations(bend: Callable[[Any, Any], Any]) -> None:
    value, x, p = chain(bend)
    (fewer, found), (_, expected) = (evaluated(item, x, p) for item in (jacobian_of(value, x), ca.jacobian(value, x)))
    assert ca.Function("value", [x, p], [value]).n_instructions() > 100
    assert fewer <= evaluated(ca.jacobian(value, x, {"helper_options": {"ad_weight": 0}}), x, p)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8 * np.nanmax(np.abs(expected)))


def test_a_recursion_whose_steps_depend_on_few_variables_takes_fewer_operations_than_columns() -> None:
    x = ca.SX.sym("x", 12)
    turned, value = ca.SX.eye(3), ca.SX.zeros(3)
    for k in range(24):
        c, s = ca.cos(x[k % 12] * (k + 1)), ca.sin(x[k % 12] * (k + 1))
        turned = turned @ ca.vertcat(ca.horzcat(c, -s, 0.1), ca.horzcat(s * c, c * c, -s), ca.horzcat(s * s, s, c))
        value += turned @ ca.vertcat(1, x[k % 12], k)
    forward = ca.jacobian(value, x, {"helper_options": {"ad_weight": 0}})
    (count, found), (columns, expected) = (
        (ca.Function("f", [x], [item]).n_instructions(), np.array(ca.Function("f", [x], [item])(np.arange(12) / 9)))
        for item in (jacobian_of(value, x), forward)
    )
    assert count < columns
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())

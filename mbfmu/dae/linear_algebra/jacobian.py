"""Jacobians of residuals, by forward differentiation."""

from typing import Any

import casadi as ca

FORWARD = {"helper_options": {"ad_weight": 0}}
"""CasADi's options for a Jacobian column by column: it supposes that a row takes twice the work of a column."""


def forward_jacobian(value: Any, variables: Any) -> Any:
    """Return the Jacobian of a column of values, differentiated forward, shape (number of values, of variables).

    Rows, from the values back, take two to five times the operations where the values come out of a recursion along a
    tree, as its first steps depend on few variables; CasADi's own choice goes by the shape alone.

    Args:
        value: SX or MX, a column.
        variables: SX or MX symbols, a column.
    """
    return ca.jacobian(value, variables, FORWARD)

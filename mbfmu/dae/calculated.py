"""Calculated parameters -> their signals, with the bounds that other values of the parameters may leave."""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Protocol

import casadi as ca

from mbfmu.dae.signals import Signal
from mbfmu.model.component import QuantityField
from mbfmu.model.frame import SX

Range = tuple[float, float]
"""Least and greatest value."""
ANY = -math.inf, math.inf
"""Range of what may have any value."""
NOT_NEGATIVE = 0.0, math.inf
"""Range of squares and the like."""


class CalculatedParameter(Protocol):
    """A parameter."""

    @property
    def name(self) -> str:
        """Full dotted name."""

    @property
    def quantity(self) -> QuantityField:
        """Unit, description, bounds and type."""


def calculated(
    items: Sequence[CalculatedParameter], values: Sequence[SX], free: Sequence[CalculatedParameter]
) -> tuple[Signal, ...]:
    """Return the signals of calculated parameters; a bound is left out if no values of the parameters can leave it.

    Args:
        items: the calculated parameters.
        values: their expressions in symbols with the names of free parameters.
        free: the free parameters.
    """
    known = {item.name: (item.quantity.min, item.quantity.max) for item in free}
    result = []
    for item, value in zip(items, values, strict=True):
        quantity = item.quantity
        least, greatest = reach(value, known) if math.isfinite(quantity.min) or math.isfinite(quantity.max) else ANY
        if value.is_constant():  # it was checked as the model was read
            least, greatest = quantity.min, quantity.max
        low, high = (
            (quantity.min if quantity.min > least else -math.inf),
            (quantity.max if quantity.max < greatest else math.inf),
        )
        result.append(
            Signal(
                item.name, quantity.unit, quantity.description, "parameter",
                min=low, max=high, type=quantity.type, items=quantity.items,
            )
        )  # fmt: skip
    return tuple(result)


def reach(value: SX, known: Mapping[str, Range]) -> Range:
    """Return a range that holds all values of an expression, by the arithmetic of intervals; it may be too wide.

    Args:
        value: the expression, a scalar.
        known: ranges of its symbols by name.
    """
    if value.is_constant():
        return float(value), float(value)
    if value.is_symbolic():
        return known.get(value.name(), ANY)
    code, operands = value.op(), [reach(value.dep(k), known) for k in range(value.n_dep())]
    if code in {ca.OP_SQ, ca.OP_FABS, ca.OP_SQRT, ca.OP_EXP}:
        return NOT_NEGATIVE
    if code == ca.OP_NEG:
        return -operands[0][1], -operands[0][0]
    if code == ca.OP_TWICE:
        return 2 * operands[0][0], 2 * operands[0][1]
    if code == ca.OP_ADD:
        return operands[0][0] + operands[1][0], operands[0][1] + operands[1][1]
    if code == ca.OP_SUB:
        return operands[0][0] - operands[1][1], operands[0][1] - operands[1][0]
    if code == ca.OP_MUL or (code == ca.OP_DIV and operands[1][0] >= 0):
        if code == ca.OP_DIV:
            low, high = operands[1]
            operands[1] = (1 / high if high else math.inf), (1 / low if low else math.inf)
        ends = [a * b if a and b else 0.0 for a, b in product(*operands)]
        return min(ends), max(ends)
    return ANY

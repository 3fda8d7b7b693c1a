"""LinearForm combinations of named coordinates, with numbers or expressions as factors."""

from dataclasses import dataclass
from typing import TypeAlias

from mbfmu.model.component import Value
from mbfmu.model.modelica.values import joined

Factor: TypeAlias = Value | tuple[str, Value, Value]
"""A value, or an operation on two."""


def reduced(item: Factor) -> Value:
    """Return the value that a factor is."""
    if not isinstance(item, tuple):
        return item
    sign, a, b = item
    if isinstance(a, float) and isinstance(b, float):
        return {"+": a + b, "*": a * b}[sign] if sign != "/" else a / b
    result: Value = joined(sign, a, b)
    return result


def times(a: Factor, b: Factor) -> Value:
    """Return a product."""
    return reduced(("*", reduced(a), reduced(b)))


def added(a: Value, b: Value, factor: Value = 1.0) -> Value:
    """Return ``a + factor*b``."""
    return reduced(("+", a, times(factor, b)))


@dataclass(frozen=True)
class LinearForm:
    """A linear combination: the factor of each coordinate, and a constant.

    Args:
        terms: factors by name.
        constant: the constant.
    """

    terms: dict[str, Value]
    constant: Value

    def times(self, factor: Value) -> "LinearForm":
        """Return it times a factor."""
        return LinearForm(
            {name: times(factor, item) for name, item in self.terms.items()}, times(factor, self.constant)
        )

    def plus(self, other: "LinearForm", factor: Value = 1.0) -> "LinearForm":
        """Return it with another one times a factor added; what cancels is left out."""
        more = other.times(factor)
        terms = dict(self.terms)
        for name, item in more.terms.items():
            terms[name] = added(terms.get(name, 0.0), item)
        return LinearForm(
            {name: item for name, item in terms.items() if item != 0.0}, added(self.constant, more.constant)
        )

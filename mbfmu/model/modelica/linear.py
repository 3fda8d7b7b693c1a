"""Linear combinations of named coordinates, with numbers or expressions as factors."""

from dataclasses import dataclass

from mbfmu.model.component import Value
from mbfmu.model.modelica.values import joined


def times(a: Value, b: Value) -> Value:
    """Return a product."""
    return a * b if isinstance(a, float) and isinstance(b, float) else _joined("*", a, b)


def inverse(a: Value) -> Value:
    """Return the reciprocal."""
    return 1.0 / a if isinstance(a, float) else _joined("/", 1.0, a)


def added(a: Value, b: Value, factor: Value = 1.0) -> Value:
    """Return ``a + factor*b``."""
    more = times(factor, b)
    return a + more if isinstance(a, float) and isinstance(more, float) else _joined("+", a, more)


def _joined(sign: str, a: Value, b: Value) -> Value:
    result: Value = joined(sign, a, b)
    return result


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

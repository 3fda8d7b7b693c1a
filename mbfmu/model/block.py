"""Block: a controller or an actuator given by first-order equations, as text."""

import keyword
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mbfmu.errors import ModelError, NameInUseError, UnknownNameError, ValueRangeError, nearest
from mbfmu.model.component import Quantity, check_value
from mbfmu.model.expression import Expression
from mbfmu.model.system import RESERVED, Parameter
from mbfmu.model.values import replace_values


@dataclass(frozen=True)
class Port:
    """What a block is given from outside.

    Args:
        name: an identifier.
        unit: SI unit.
        description: one line for the user.
        start: its value as long as nobody sets it.
        nominal: the size it usually has.
    """

    name: str
    unit: str = "1"
    description: str = ""
    start: float = 0.0
    nominal: float = 1.0

    def __post_init__(self) -> None:
        check_value(self.name, self.start, Quantity(self.unit, self.description))
        _check_nominal(self.name, self.nominal)


@dataclass(frozen=True)
class State:
    """A quantity with a rate of its own.

    Args:
        name: an identifier.
        rate: its time derivative, in units of a second.
        unit: SI unit.
        start: start value.
        description: one line for the user.
        nominal: the size it usually has, such as 1e6 for a pressure; equations are solved to round-off of it.
    """

    name: str
    rate: str
    unit: str = "1"
    start: float = 0.0
    description: str = ""
    nominal: float = 1.0

    def __post_init__(self) -> None:
        check_value(self.name, self.start, Quantity(self.unit, self.description))
        _check_nominal(self.name, self.nominal)


@dataclass(frozen=True)
class Defined:
    """A quantity that follows from the others.

    Args:
        name: an identifier.
        value: an expression.
        unit: SI unit.
        description: one line for the user.
        output: it can be connected; else it is there to look at, and for other expressions.
        nominal: the size it usually has.
    """

    name: str
    value: str
    unit: str = "1"
    description: str = ""
    output: bool = False
    nominal: float = 1.0

    def __post_init__(self) -> None:
        _check_nominal(self.name, self.nominal)


@dataclass(frozen=True)
class Block:
    """A system of first-order equations x' = f(x, u, p, t), y = g(x, u, p, t).

    Texts are expressions of parameters, inputs, states, defined quantities and ``time``, in any order.

    Args:
        name: an identifier.
        inputs: u.
        states: x.
        defined: what follows from them; those that are outputs are y.
        parameters: numbers the texts refer to.
        description: one line for the user.
        stepper: name of the stepper to take where nobody chooses; empty: `radau`.

    Raises:
        NameInUseError: two things share a name, or a name cannot be one.
        UnknownNameError: a text names nothing that is there.
        ExpressionError: a text cannot be read.
        ModelError: quantities are defined in a circle, or there is no output.
    """

    name: str
    inputs: tuple[Port, ...] = ()
    states: tuple[State, ...] = ()
    defined: tuple[Defined, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    description: str = ""
    stepper: str = ""

    def __post_init__(self) -> None:
        seen: set[str] = set()
        constants = [item.name for item in self.parameters]
        for name in (*constants, *(item.name for item in self.quantities)):
            if not name.isidentifier() or keyword.iskeyword(name) or name in RESERVED:
                raise NameInUseError(
                    f"'{name}' cannot name a quantity of '{self.name}': use letters, digits and underscores, "
                    "and no name that expressions know already"
                )
            if name in seen:
                raise NameInUseError(f"block '{self.name}' has two things named '{name}': rename one")
            seen.add(name)
        for parameter in self.parameters:
            if isinstance(parameter.value, str):
                self._check(parameter.name, parameter.value, set(constants))
        for state in self.states:
            self._check(f"der({state.name})", state.rate, seen | {"time"})
        for defined in self.defined:
            self._check(defined.name, defined.value, seen | {"time"})
        if not any(item.output for item in self.defined):
            raise ModelError(f"block '{self.name}' has no output: define one with output=True")
        texts = self.texts()
        for name in texts:
            _refuse_circles(name, texts, ())

    @property
    def quantities(self) -> tuple[Port | State | Defined, ...]:
        """Everything that changes in time: inputs, states and what is defined."""
        return (*self.inputs, *self.states, *self.defined)

    def texts(self) -> dict[str, str]:
        """Return the expressions of what follows from other quantities, by name."""
        bound = {item.name: item.value for item in self.parameters if isinstance(item.value, str)}
        return {**bound, **{item.name: item.value for item in self.defined}}

    def _check(self, name: str, text: str, known: set[str]) -> None:
        for other in sorted(Expression(text).names - known):
            raise UnknownNameError(
                f"{name} = '{text}' of '{self.name}': there is no '{other}'; {nearest(other, known)}"
            )

    def with_values(self, values: Mapping[str, Any]) -> "Block":
        """Return the block with some parameters or start values of states replaced, by name.

        Raises:
            UnknownNameError: there is nothing of that name.
            ValueRangeError: a value is not finite or outside its bounds.
        """
        return replace_values(self, values, self._places())

    def values(self) -> tuple[str, ...]:
        """Names of everything `with_values` can replace."""
        return tuple(self._places())

    def _places(self) -> dict[str, tuple[str, str, str]]:
        return {
            **{item.name: ("parameters", item.name, "value") for item in self.parameters},
            **{item.name: ("states", item.name, "start") for item in self.states},
        }


def _check_nominal(name: str, nominal: float) -> None:
    if not (math.isfinite(nominal) and nominal > 0):
        raise ValueRangeError(f"'{name}': nominal = {nominal} must be a positive number")


def _refuse_circles(name: str, texts: Mapping[str, str], chain: tuple[str, ...]) -> None:
    if name in chain:
        raise ModelError(f"quantities are defined in a circle: {' -> '.join([*chain, name])}")
    for other in sorted(Expression(texts[name]).names & texts.keys()):
        _refuse_circles(other, texts, (*chain, name))

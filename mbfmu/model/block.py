"""Block: a controller or an actuator given by first-order equations, as text."""

import graphlib
import keyword
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mbfmu.errors import ExpressionError, ModelError, NameInUseError, UnknownNameError, ValueRangeError, nearest
from mbfmu.model.component import QuantityField, Value, check_value, is_name
from mbfmu.model.description import Description, check_items, check_texts
from mbfmu.model.expression import Expression
from mbfmu.model.parameter import RESERVED, Parameter
from mbfmu.model.values import replace_values
from mbfmu.model.variable_type import VariableType, check_declared


@dataclass(frozen=True)
class Port(Description):
    """An input of a block, given from outside.

    Args:
        name: an identifier.
        unit: SI unit.
        description: one line for the user.
        start: value until it is set.
        nominal: usual size.
        type: ``Real``; ``Integer`` or ``Boolean`` for a mode or a switch, which has no unit. In expressions True is 1.
        items: names of the values 0, 1, 2, ... of an ``Integer`` that is a mode.
    """

    name: str
    unit: str = "1"
    description: str = ""
    start: bool | float = 0.0
    nominal: float = 1.0
    type: VariableType = "Real"
    items: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_declared(self.name, self.type, self.unit, nominal=self.nominal, items=self.items)
        if isinstance(self.start, str):
            raise ValueRangeError(f"input '{self.name}': start = {self.start!r} must be a number (in {self.unit})")
        check_value(self.name, self.start, QuantityField(self.unit, self.description, type=self.type, items=self.items))
        _check_nominal(self.name, self.nominal)


@dataclass(frozen=True)
class State(Description):
    """A quantity with a rate of its own.

    Args:
        name: an identifier.
        rate: time derivative, per second.
        unit: SI unit.
        start: start value: a number, or an expression of the block's parameters.
        description: one line for the user.
        nominal: usual size, such as 1e6 for a pressure; equations are solved to round-off of this size.
    """

    name: str
    rate: str
    unit: str = "1"
    start: Value = 0.0
    description: str = ""
    nominal: float = 1.0

    def __post_init__(self) -> None:
        check_value(self.name, self.start, QuantityField(self.unit, self.description))
        _check_nominal(self.name, self.nominal)


@dataclass(frozen=True)
class Defined(Description):
    """A quantity that is defined by others.

    Args:
        name: an identifier.
        value: an expression.
        unit: SI unit.
        description: one line for the user.
        output: whether it is an output that can be connected; False: it can be watched, and used by other expressions.
        nominal: usual size.
        start: value before the first sampling, of ``previous(name)`` too (see `Sampled`): a number, or an expression
            of the block's parameters.
        type: ``Real``; ``Integer`` or ``Boolean`` for a mode or a switch, which has no unit, and whose expression gives
            whole numbers, or 1 (true) and 0 (false).
        items: names of the values 0, 1, 2, ... of an ``Integer`` that is a mode.
    """

    name: str
    value: str
    unit: str = "1"
    description: str = ""
    output: bool = False
    nominal: float = 1.0
    start: bool | Value = 0.0
    type: VariableType = "Real"
    items: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_declared(self.name, self.type, self.unit, nominal=self.nominal, items=self.items)
        check_value(self.name, self.start, QuantityField(self.unit, self.description, type=self.type, items=self.items))
        _check_nominal(self.name, self.nominal)


@dataclass(frozen=True)
class Block(Description):
    """A system of first-order equations x' = f(x, u, p, t), y = g(x, u, p, t).

    Texts are expressions of parameters, inputs, states, defined quantities and ``time``, in any order; in a block that
    is `Sampled` also of ``previous(x)``, the value of an input or defined quantity x at the last sampling.

    Args:
        name: an identifier.
        inputs: u.
        states: x.
        defined: quantities defined by them; those that are outputs are y, and there may be none, as the others can be
            watched.
        parameters: the quantities that the texts refer to.
        description: one line for the user.
        stepper: name of the default stepper; empty: `radau`.

    Raises:
        NameInUseError: two things share a name, or a name is not an identifier.
        UnknownNameError: a text refers to a name that does not exist.
        ExpressionError: a text cannot be read.
        ModelError: quantities are defined in a circle, or there is neither a state nor a defined quantity.
    """

    name: str
    inputs: tuple[Port, ...] = ()
    states: tuple[State, ...] = ()
    defined: tuple[Defined, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    description: str = ""
    stepper: str = ""

    def __post_init__(self) -> None:
        if not is_name(self.name):
            raise NameInUseError(
                f"'{self.name}' cannot name a block: use letters (a to z, A to Z), digits and underscores"
            )
        check_texts(self, "description", "stepper")
        for field, kind in (("inputs", Port), ("states", State), ("defined", Defined), ("parameters", Parameter)):
            check_items(f"{field} of block '{self.name}'", getattr(self, field), kind)
        seen: set[str] = set()
        constants = [item.name for item in self.parameters]
        for name in (*constants, *(item.name for item in self.quantities)):
            if not is_name(name) or keyword.iskeyword(name) or name in RESERVED:
                raise NameInUseError(
                    f"'{name}' cannot name a quantity of '{self.name}': use letters (a to z, A to Z), digits and "
                    "underscores, and no name that expressions know already"
                )
            if name in seen:
                raise NameInUseError(f"block '{self.name}' has two things named '{name}': rename one")
            seen.add(name)
        for parameter in self.parameters:
            if isinstance(parameter.value, str):
                self._check(parameter.name, parameter.value, set(constants))
        held: tuple[Port | Defined, ...] = (*self.inputs, *self.defined)
        known = {*seen, "time", *(f"previous({item.name})" for item in held)}
        for state in self.states:
            self._check(f"der({state.name})", state.rate, seen | {"time"})
        for defined in self.defined:
            self._check(defined.name, defined.value, known)
        begins: tuple[State | Defined, ...] = (*self.states, *self.defined)
        for begun in begins:
            if isinstance(begun.start, str):
                self._check(f"start of {begun.name}", begun.start, set(constants))
        if not (self.states or self.defined):
            raise ModelError(f"block '{self.name}' has neither a state nor a defined quantity: give one")
        _refuse_circles(self.texts())

    @property
    def quantities(self) -> tuple[Port | State | Defined, ...]:
        """Return the quantities that change in time: inputs, states and defined quantities."""
        return (*self.inputs, *self.states, *self.defined)

    @property
    def remembered(self) -> frozenset[str]:
        """Return the names of the quantities x of which an expression has ``previous(x)``."""
        names = (name for item in self.defined for name in Expression(item.value).names)
        return frozenset(name[len("previous(") : -1] for name in names if name.startswith("previous("))

    def texts(self) -> dict[str, str]:
        """Return the expressions of rates and defined quantities, by name."""
        bound = {item.name: item.value for item in self.parameters if isinstance(item.value, str)}
        return {**bound, **{item.name: item.value for item in self.defined}}

    def _check(self, name: str, text: str, known: set[str]) -> None:
        try:
            names = Expression(text).names
        except ExpressionError as error:
            raise ExpressionError(f"{name} of '{self.name}': {error}") from None
        for other in sorted(names - known):
            raise UnknownNameError(
                f"{name} = '{text}' of '{self.name}': there is no '{other}'; {nearest(other, known)}"
            )

    def with_values(self, values: Mapping[str, Any], free: Iterable[str] = ()) -> "Block":
        """Return the block with some parameters or start values of states and inputs replaced, by name.

        Args:
            values: what they are to be.
            free: for other models; no start value of a block can be free.

        Raises:
            UnknownNameError: there is no parameter or start value of that name.
            ValueRangeError: a value is not finite or outside its bounds, or `free` names something.
        """
        for name in free:
            raise ValueRangeError(f"'{name}' cannot be free: '{self.name}' is a block, whose start values determine it")
        ports = {item.name: ("inputs", item.name, "start") for item in self.inputs}
        return replace_values(self, values, {**self._places(), **ports})

    def start_values(self) -> tuple[str, ...]:
        """Return the names of all start values."""
        return tuple(item.name for item in self.states)

    def values(self) -> tuple[str, ...]:
        """Return the names of everything that `with_values` can replace."""
        return tuple(self._places())

    def _places(self) -> dict[str, tuple[str, str, str]]:
        return {
            **{item.name: ("parameters", item.name, "value") for item in self.parameters},
            **{item.name: ("states", item.name, "start") for item in self.states},
        }


def _check_nominal(name: str, nominal: float) -> None:
    if not (math.isfinite(nominal) and nominal > 0):
        raise ValueRangeError(f"'{name}': nominal = {nominal} must be a positive number")


def _refuse_circles(texts: Mapping[str, str]) -> None:
    users: dict[str, list[str]] = {name: [] for name in texts}
    for name, text in texts.items():
        for other in sorted(Expression(text).names & texts.keys()):
            users[other].append(name)
    try:
        graphlib.TopologicalSorter(users).prepare()
    except graphlib.CycleError as error:
        raise ModelError(f"quantities are defined in a cycle: {' -> '.join(error.args[1])}") from None

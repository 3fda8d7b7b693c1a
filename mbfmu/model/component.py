"""Component: a frozen record of a name and declared quantities.

How to add a component (a joint, a force, a part), in a file of your own or of mbfmu:

1. Derive a frozen dataclass from `Part`, `Joint` or `Force`; its docstring states the equations.
2. Declare each physical quantity with `quantity` (it becomes an FMU parameter), each start value with `start`
   (it becomes a settable start), each unit vector with `direction`, a formula of the time or of other names with
   `law`, and switches as plain fields (the last three are fixed when exported).
3. Declare each first-order state with `state`, and return the rates of all of them from `rates`.
4. Return the values given from outside during a run from `inputs`.
5. Give the equations as CasADi expressions of frames; nothing is differentiated by hand. Their argument `p` holds the
   quantities, states and inputs by name, each law as a function, ``p.planar``, ``p.time`` and ``p.since``.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

import numpy as np

from mbfmu.errors import AxisError, NameInUseError, ValueRangeError
from mbfmu.model.description import Description
from mbfmu.model.expression import GUESS, Expression, guessed
from mbfmu.model.variable_type import VALUES_OF, VariableType, is_value

Value: TypeAlias = float | str
"""A number, or an expression of the parameters of the enclosing system."""
Vector: TypeAlias = tuple[Value, ...]
OWN_SIZE = (1,)
"""Sizes of a vector field whose length other fields of its component decide; `Component.declared` returns it."""


@dataclass(frozen=True)
class QuantityField:
    """The meaning of a field of a component.

    Args:
        unit: SI unit.
        description: one line for the user.
        min: least value allowed.
        max: greatest value allowed.
        spatial_only: whether the field has a meaning in spatial systems only.
        role: ``parameter``; ``start`` for a start value (None leaves it to the assembly); ``state`` for the start value
            of a first-order state.
        sizes: allowed lengths of a vector; empty for a single number.
        nominal: usual size of a state.
        type: type of the variable.
        items: names of the values 0, 1, 2, ... of a mode; these are its only values.
    """

    unit: str
    description: str
    min: float = -math.inf
    max: float = math.inf
    spatial_only: bool = False
    role: str = "parameter"
    sizes: tuple[int, ...] = ()
    nominal: float = 1.0
    type: VariableType = "Real"
    items: tuple[str, ...] = ()

    @property
    def is_rate(self) -> bool:
        """Return whether a start value is that of a rate, by its unit."""
        return self.unit.endswith("/s")

    @property
    def bounds(self) -> str:
        """Return the bounds in words, such as ``0 to inf kg``."""
        return f"{self.min:g} to {self.max:g}" + f" {self.unit}" * (self.unit != "1")


def quantity(
    default: Any,
    unit: str,
    description: str,
    *,
    min: float = -math.inf,
    max: float = math.inf,
    spatial_only: bool = False,
) -> Any:
    """Declare a physical quantity of a component; with a tuple as default it is a vector of the plane or of space."""
    sizes = (2, 3) if isinstance(default, tuple) else ()
    return field(
        default=default,
        metadata={"quantity": QuantityField(unit, description, min, max, spatial_only, sizes=sizes)},
    )


def start(unit: str, description: str, *, sizes: tuple[int, ...] = (), spatial_only: bool = False) -> Any:
    """Declare a start value of a component; None leaves it, or an entry, free for the assembly, as `guess` does.

    One whose unit is per second is that of a rate.
    """
    declared = QuantityField(unit, description, spatial_only=spatial_only, role="start", sizes=sizes)
    return field(default=None, metadata={"quantity": declared})


def state(unit: str, description: str, *, nominal: float = 1.0, default: float = 0.0) -> Any:
    """Declare a first-order state of a component, of which its `rates` gives the rate; the field holds its start value.

    Args:
        unit: SI unit.
        description: one line for the user.
        nominal: usual size; implicit steppers solve for the state in units of this size.
        default: start value.
    """
    return field(
        default=default, metadata={"quantity": QuantityField(unit, description, role="state", nominal=nominal)}
    )


def guess(value: Value) -> str:
    """Return a start value that is free: the search for it begins at `value`, which chooses between closed poses.

    Args:
        value: a number, or an expression of parameters; the text is what TOML and the command line take too.
    """
    return f"{GUESS}({value if isinstance(value, str) else repr(float(value))})"


def freed(value: Value | None, declared: QuantityField) -> str | None:
    """Return a start value, or an entry of one, that is free: it becomes a guess, that of a rate is left out."""
    if value is None or declared.is_rate:
        return None
    return str(value) if isinstance(value, str) and guessed(value) is not None else guess(value)


def never_free(name: str) -> ValueRangeError:
    """Return the error of a parameter that is to be free."""
    return ValueRangeError(f"'{name}' is a parameter, which always has a value: only start values can be free")


def law(default: Value, unit: str, description: str, *names: str) -> Any:
    """Declare a formula of parameters, of ``time`` and of `names`: `p` holds it as a function of keywords `names`."""
    return field(default=default, metadata={"law": FormulaField(unit, description, names)})


def factors(default: tuple[Value, ...], description: str) -> Any:
    """Declare dimensionless factors, fixed when exported: numbers, or expressions of parameters; `p` holds a column."""
    return field(default=default, metadata={"factors": description})


@dataclass(frozen=True)
class FormulaField:
    """The meaning of a field that holds a formula.

    Args:
        unit: SI unit of its value.
        description: one line for the user.
        names: names it may depend on, besides parameters and ``time``.
    """

    unit: str
    description: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Input:
    """A value given from outside during a run.

    Args:
        name: name of the input, which follows the component's name in the FMU.
        unit: SI unit.
        description: one line for the user.
        size: 1, or number of entries ``name[1]`` and so on.
        sampled: whether the equations use the value at the time the input last changed, not the value extrapolated from
            it; it may enter the equations of positions, together with ``p.since``, the time since that change.
        internal: whether it is a force that the equations themselves determine, as those of contacts, and no input of
            the model.
    """

    name: str
    unit: str
    description: str
    size: int = 1
    sampled: bool = False
    internal: bool = False


def is_name(name: object) -> bool:
    """Return whether something can name a component, parameter or variable: an ASCII identifier, as FMI requires."""
    return isinstance(name, str) and name.isascii() and name.isidentifier()


def direction(*default: float) -> Any:
    """Declare a direction of a component: a vector of plain numbers, kept with the length 1, fixed when exported."""
    return field(default=default, metadata={"direction": True})


@dataclass(frozen=True)
class Component(Description):
    """Base of all components: a name, unique within its system, and declared quantities.

    Args:
        name: an identifier, the first part of the names of its variables.
    """

    name: str

    def __post_init__(self) -> None:
        if not is_name(self.name):
            raise NameInUseError(
                f"'{self.name}' cannot name a {type(self).__name__}: use letters (a to z, A to Z), digits and "
                "underscores, with a letter first"
            )
        for declared, label, value in self.declared():
            check_value(f"{self.name}.{label}", value, declared)
        for item in fields(self):
            if "direction" in item.metadata:
                unit = _unit_vector(f"{self.name}.{item.name}", getattr(self, item.name))
                object.__setattr__(self, item.name, unit)  # the dataclass is frozen from here on
        for formula, label, value in self.laws():
            _check_number(f"{self.name}.{label}", value, QuantityField(formula.unit, formula.description))
        for label, values in self.factors():
            if not isinstance(values, (tuple, list, np.ndarray)):
                raise ValueRangeError(f"{self.name}.{label} = {values!r} must be numbers or texts, one for each joint")
            for index, value in enumerate(values, 1):
                _check_number(f"{self.name}.{label}[{index}]", value, QuantityField("1", ""))

    @property
    def frames(self) -> tuple[str, ...]:
        """Return the names of the frames that `connect` may use."""
        return ()

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        """Return the values given from outside during a run, in a planar or a spatial system."""
        return ()

    def states(self) -> tuple[str, ...]:
        """Return the names of the first-order states, in the order of their rates."""
        return tuple(label for declared, label, _ in self.declared() if declared.role == "state")

    def laws(self) -> Iterator[tuple[FormulaField, str, Value]]:
        """Yield law, field name and value of every field that holds a formula."""
        for item in fields(self):
            if "law" in item.metadata:
                yield item.metadata["law"], item.name, getattr(self, item.name)

    def factors(self) -> Iterator[tuple[str, tuple[Value, ...]]]:
        """Yield field name and value of every field of `factors`."""
        for item in fields(self):
            if "factors" in item.metadata:
                yield item.name, getattr(self, item.name)

    def directions(self) -> Iterator[tuple[str, tuple[float, ...]]]:
        """Yield field name and value of every unit vector."""
        for item in fields(self):
            if "direction" in item.metadata:
                yield item.name, tuple(getattr(self, item.name))

    def declared(self) -> Iterator[tuple[QuantityField, str, Any]]:
        """Yield quantity, field name and value of every declared field."""
        for item in fields(self):
            if "quantity" in item.metadata:
                yield item.metadata["quantity"], item.name, getattr(self, item.name)


def check_value(name: str, value: Any, declared: QuantityField) -> None:
    """Raise an error if a value of a component or parameter is not as declared.

    Raises:
        ValueRangeError: the number is NaN, infinite or outside its bounds, the vector has a wrong length, or the value
            is neither number nor text.
        ExpressionError: the text is not an expression.
    """
    if value is None and declared.role == "start":
        return
    if not declared.sizes:
        _check_number(name, value, declared)
        return
    if not isinstance(value, (tuple, list, np.ndarray)) or len(value) not in declared.sizes:
        lengths = " or ".join(map(str, declared.sizes))
        raise ValueRangeError(f"{name} = {value!r} must be a vector of {lengths} entries (in {declared.unit})")
    for index, item in enumerate(value, 1):
        if item is not None or declared.role != "start":
            _check_number(f"{name}[{index}]", item, declared)


def _check_number(name: str, value: Any, declared: QuantityField) -> None:
    if isinstance(value, str):
        inner = guessed(value)
        if inner is not None and (declared.role != "start" or declared.is_rate):
            reason = "a rate has no guess" if declared.role == "start" else "only a start value has a guess"
            raise ValueRangeError(
                f"{name} = {value!r}: {reason}; "
                + (
                    "leave it out, and it takes the least kinetic energy"
                    if declared.role == "start"
                    else "give a value"
                )
            )
        Expression(value if inner is None else inner)
        return
    if declared.type == "Boolean" and isinstance(value, bool | np.bool_):
        return
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        wanted = VALUES_OF.get(declared.type, f"a number in {declared.unit}")
        raise ValueRangeError(f"{name} = {value!r} is not a value: give {wanted} or an expression of parameters")
    try:
        number = float(value)
    except (OverflowError, TypeError):
        number = math.inf
    if not math.isfinite(number):
        within = f" (in {declared.unit})" if declared.unit else ""
        raise ValueRangeError(f"{name} = {number} must be a finite number{within}")
    if not is_value(number, declared.type):
        raise ValueRangeError(f"{name} = {value} must be {VALUES_OF[declared.type]}")
    if declared.items and not 0 <= number < len(declared.items):
        listed = ", ".join(f"{index} ({item})" for index, item in enumerate(declared.items))
        raise ValueRangeError(f"{name} = {value} must be one of {listed}")
    if not declared.min <= number <= declared.max:
        raise ValueRangeError(f"{name} = {value} is outside its bounds {declared.bounds}")


def _unit_vector(where: str, value: Any) -> Any:
    """Return a vector with the length 1; one that has it to nine digits stays as it is, bit by bit.

    Raises:
        AxisError: it is not 2 or 3 numbers, or has no direction.
    """
    if (
        not isinstance(value, (tuple, list, np.ndarray))
        or len(value) not in {2, 3}
        or any(isinstance(item, bool) or not isinstance(item, (int, float, np.number)) for item in value)
    ):
        raise AxisError(f"{where} = {value!r} must be 2 or 3 numbers, such as (0, 0, 1)")
    numbers = tuple(float(item) for item in value)
    length = math.hypot(*numbers)
    if not 0 < length < math.inf:
        raise AxisError(f"{where} = {value} has no direction: give a vector such as (0, 0, 1)")
    return value if abs(length - 1.0) <= 1e-9 else tuple(item / length for item in numbers)

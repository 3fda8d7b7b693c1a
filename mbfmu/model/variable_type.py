"""Types of variables: real numbers, and the whole numbers and truth values of modes and switches."""

import math
from typing import Literal, TypeAlias, get_args

from mbfmu.errors import ModelError, ValueRangeError, nearest

VariableType: TypeAlias = Literal["Real", "Integer", "Boolean"]
"""Type of a variable: in an expression a ``Boolean`` is 1 (true) or 0 (false), an ``Integer`` a number."""
VALUES_OF = {"Boolean": "true or false (1 or 0)", "Integer": "a whole number of 32 bits"}
"""Values of the types that are not real, in words."""


def is_value(value: float, type: VariableType) -> bool:
    """Return whether a number is a value of a type."""
    if type == "Boolean":
        return value in (0, 1)
    if type == "Integer":
        return math.isfinite(value) and value == round(value) and -(2**31) <= value < 2**31
    return math.isfinite(value)


def check_declared(
    name: str,
    type: VariableType,
    unit: str,
    *,
    nominal: float = 1.0,
    min: float = -math.inf,
    max: float = math.inf,
    items: tuple[str, ...] = (),
) -> None:
    """Raise an error if a type does not exist, or if a variable of it has what only another has.

    Args:
        name: name of the variable, for messages.
        type: its type.
        unit: its unit; only a real variable has one other than ``1``.
        nominal: its usual size; only a real variable has one other than 1.
        min: least value; a Boolean has none.
        max: greatest value; a Boolean has none.
        items: names of the values 0, 1, 2, ... of a mode; only an Integer has any.

    Raises:
        ModelError: there is no such type.
        ValueRangeError: the variable has a unit, a usual size, bounds or items that its type has not.
    """
    known = get_args(VariableType)
    if type not in known:
        raise ModelError(f"'{name}': there is no type {type!r}; {nearest(str(type), known)}")
    if items or not isinstance(items, tuple):
        _check_items(name, type, items)
    if type == "Real":
        return
    wrong = {"unit": unit != "1", "nominal": nominal != 1.0}
    if type == "Boolean":
        wrong |= {"min": min != -math.inf, "max": max != math.inf}
    if label := next((field_name for field_name, is_wrong in wrong.items() if is_wrong), None):
        raise ValueRangeError(f"'{name}' is of type {type}, which has no {label}: leave it out")
    for field_name, bound in (("min", min), ("max", max)):
        if math.isfinite(bound) and not is_value(bound, type):
            raise ValueRangeError(f"'{name}': {field_name} = {bound} must be {VALUES_OF[type]}")


def _check_items(name: str, type: VariableType, items: tuple[str, ...]) -> None:
    if not isinstance(items, tuple):
        raise ValueRangeError(f'\'{name}\': items = {items!r} must be a tuple of names, such as ("open", "closed")')
    if type != "Integer":
        raise ValueRangeError(f"'{name}' is of type {type}, which has no items: give it type=\"Integer\"")
    wrong = [item for item in items if not isinstance(item, str) or not item.strip() or item != " ".join(item.split())]
    if wrong or len(set(items)) < len(items):
        fault = f"{wrong[0]!r} is not a name" if wrong else "two have the same name"
        raise ValueRangeError(
            f"'{name}': of the items {items}, {fault}; give each value 0, 1, 2, ... a name of its own"
        )

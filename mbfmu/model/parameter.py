"""Parameter: a quantity that expressions refer to by its name."""

import keyword
import math
from dataclasses import dataclass

from mbfmu.errors import NameInUseError
from mbfmu.model.component import QuantityField, Value, check_value, is_name
from mbfmu.model.description import Description
from mbfmu.model.expression import CONSTANTS, FUNCTIONS, GUESS, OPERATIONS
from mbfmu.model.variable_type import VariableType, check_declared

RESERVED = frozenset({*CONSTANTS, *FUNCTIONS, GUESS, *OPERATIONS, "time"})
"""Names with a meaning in every expression, which nothing else may have."""


@dataclass(frozen=True)
class Parameter(Description):
    """A parameter of a system.

    Args:
        name: an identifier.
        value: a number, True or False, or an expression of other parameters of the system, which then determine it.
        unit: SI unit.
        description: one line for the user.
        min: least value allowed.
        max: greatest value allowed.
        type: ``Real``; ``Integer`` or ``Boolean`` for a mode or a switch, which has no unit. In expressions True is 1.
        items: names of the values 0, 1, 2, ... of an ``Integer`` that is a mode.
    """

    name: str
    value: bool | Value
    unit: str = "1"
    description: str = ""
    min: float = -math.inf
    max: float = math.inf
    type: VariableType = "Real"
    items: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not is_name(self.name) or keyword.iskeyword(self.name) or self.name in RESERVED:
            raise NameInUseError(
                f"'{self.name}' cannot name a parameter: use letters (a to z, A to Z), digits and underscores, and no "
                "name that expressions know already"
            )
        check_declared(self.name, self.type, self.unit, min=self.min, max=self.max, items=self.items)
        check_value(self.name, self.value, self.quantity)

    @property
    def quantity(self) -> QuantityField:
        """Return the parameter's unit, description, bounds and type, in the form that component fields have."""
        return QuantityField(self.unit, self.description, self.min, self.max, type=self.type, items=self.items)

"""Replacing parameters and start values of systems whose parts are lists."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from mbfmu.errors import UnknownNameError, nearest

T = TypeVar("T")


def replace_values(system: T, values: Mapping[str, Any], places: Mapping[str, tuple[str, str, str]]) -> T:
    """Return a system with some parameters or start values replaced.

    Args:
        system: a dataclass with a name.
        values: what they are to be, by name.
        places: for each name that can be replaced: field of the system, name of its entry, field of the entry.

    Raises:
        UnknownNameError: there is nothing of that name.
        ValueRangeError: a value is not finite or outside its bounds.
    """
    replaced: Any = system
    for name, value in values.items():
        if name not in places:
            raise UnknownNameError(
                f"'{replaced.name}' has no parameter or start value '{name}'; {nearest(name, places)}"
            )
        group, entry, field = places[name]
        entries = (replace(item, **{field: value}) if item.name == entry else item for item in getattr(replaced, group))
        replaced = replace(replaced, **{group: tuple(entries)})
    return replaced

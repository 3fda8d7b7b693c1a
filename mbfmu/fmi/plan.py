"""The plan of a run of an FMU, and the values of its variables; nothing here needs FMPy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

TYPES = ("Real", "Integer", "Boolean")
"""Types of FMI whose values are numbers; an enumeration is an Integer."""
KINDS = {"Enumeration": "Integer"}
"""Type whose functions serve for a type that has none of its own."""
SLAVE_MODULE = "resources/slavemodule.txt"
"""File from which pythonfmu's library reads the name of its script."""
FOLDERS = 2
"""Number of folders in which the runs of an FMU take turns."""
VALUES: dict[str, Callable[[float], Any]] = {"Real": float, "Integer": round, "Enumeration": round, "Boolean": bool}
"""Functions that make a number a value of a variable, by the variable's type."""


@dataclass(frozen=True)
class Plan:
    """The plan of a run of an FMU.

    Args:
        start: first time, s.
        stop: last time, s.
        values: start values by name.
        shown: names of the variables to record.
        driven: names of the inputs that the rows hold.
        tolerance: relative tolerance of the solver in model exchange; None: that of the FMU.
    """

    start: float
    stop: float
    values: dict[str, Any]
    shown: Sequence[str]
    driven: Sequence[str]
    tolerance: float | None = None


def has_event_mode(description: Any) -> bool:
    """Return whether an FMU for co-simulation has an event mode."""
    return description.fmiVersion.startswith("3.") and bool(
        description.coSimulation and description.coSimulation.hasEventMode
    )

"""An FMI 3.0 FMU as it describes itself: its variables by value reference, and what ModelStructure lists."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from mbfmu.fmi.archive import Archive
from mbfmu.fmi.description import INITIAL, FmuDescription

FLOATS = ("Float64", "Float32")
CLOCK = "Clock"
DIGITS = 9
"""Largest number of decimal digits of an array's size that is read."""
DEFAULTS = {"parameter": "fixed", "calculatedParameter": "fixed", "structuralParameter": "fixed"}
"""Default variability by causality; that of the other causalities depends on the type."""


@dataclass(frozen=True)
class Variable3:
    """A variable of any type."""

    name: str
    reference: int
    type: str
    causality: str
    line: int
    element: Any

    @property
    def variability(self) -> str:
        """The variability, the default filled in."""
        default = DEFAULTS.get(self.causality, "continuous" if self.type in FLOATS else "discrete")
        return str(self.element.get("variability", default))

    @property
    def initialised(self) -> str:
        """The `initial` that holds: the one written, else the default; '' if there is none."""
        legal = INITIAL.get((self.causality, self.variability), ("exact",) if "arameter" in self.causality else ("",))
        return str(self.element.get("initial", legal[0]))

    def listed(self, attribute: str) -> list[int]:
        """Return the value references an attribute lists."""
        return [int(text) for text in self.element.get(attribute, "").split()]


@dataclass(frozen=True)
class Fmu3(FmuDescription):
    """A schema-valid FMI 3.0 FMU, read but not run."""

    variables: tuple[Variable3, ...]

    @property
    def by_reference(self) -> Mapping[int, Variable3]:
        """The variables by value reference."""
        return {v.reference: v for v in self.variables}

    def entries(self, kind: str) -> list[Any]:
        """Return the entries of ModelStructure of a kind, such as Output."""
        return list(self.root.iterfind(f"ModelStructure/{kind}"))

    def size(self, variable: Variable3) -> int | None:
        """Return the number of elements with the start values of structural parameters; None: it is unknown."""
        sizes = []
        known = self.by_reference
        for dimension in variable.element.iterfind("Dimension"):
            of = known.get(int(dimension.get("valueReference", "-1")))
            text = dimension.get("start") or (of.element.get("start") if of is not None else None)
            if text is None or not text.strip().isdecimal() or len(text) > DIGITS:
                return None
            sizes.append(int(text))
        return prod(sizes)


def read_description3(archive: Archive, root: Any) -> Fmu3:
    """Return the FMU a schema-valid description describes."""
    return Fmu3(
        archive=archive,
        root=root,
        variables=tuple(
            Variable3(
                name=element.get("name"),
                reference=int(element.get("valueReference")),
                type=element.tag,
                causality=element.get("causality", "local"),
                line=element.sourceline,
                element=element,
            )
            for element in root.iterfind("ModelVariables/*")
        ),
    )

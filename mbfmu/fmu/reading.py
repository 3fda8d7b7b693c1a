"""An FMU as others see it: its Real, Integer... variables with their units, read from a file that nobody trusts."""

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mbfmu.checker.archive import DESCRIPTION, read_archive
from mbfmu.checker.fmu import TYPES
from mbfmu.checker.static import parse_description
from mbfmu.errors import FmuError

BASE = ("kg", "m", "s", "A", "K", "mol", "cd", "rad")
"""The base units of FMI and SSP."""


@dataclass(frozen=True)
class ScaledUnit:
    """A unit by its base: value in base units = factor * value + offset.

    Args:
        name: as the FMU writes it.
        exponents: of the base units, in the order of `BASE`.
        factor, offset: see above.
    """

    name: str
    exponents: tuple[int, ...]
    factor: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Port:
    """A variable of an FMU.

    Args:
        name: its name.
        type: Real, Integer, Boolean, String or Enumeration.
        causality: as FMI 2.0 names it.
        unit: name of the unit, empty for none.
        description: one line.
        derivative_of: name of the variable it is the time derivative of; None for none.
    """

    name: str
    type: str
    causality: str
    unit: str
    description: str
    derivative_of: str | None


@dataclass(frozen=True)
class OuterFmu:
    """An FMI 2.0 co-simulation FMU.

    Args:
        model: name of the model.
        description: one line.
        data: the bytes of the file.
        ports: its variables by name.
        units: those with a base, by name.
    """

    model: str
    description: str
    data: bytes
    ports: Mapping[str, Port]
    units: Mapping[str, ScaledUnit]


def parse_fmu(path: str | os.PathLike[str]) -> OuterFmu:
    """Read what an FMU says of itself; nothing of it is run.

    Raises:
        FmuError: there is no file, or it is no FMI 2.0 co-simulation FMU.
    """
    archive, problems = read_archive(path)
    if archive is None:
        raise FmuError(f"'{os.fspath(path)}' is no FMU: {problems[0].message}")
    root, outcomes = parse_description(archive.read(DESCRIPTION))
    if root is None:
        raise FmuError(f"'{os.fspath(path)}': {outcomes[-1].message}")
    supported = f"'{os.fspath(path)}': only FMI 2.0 co-simulation is supported"
    if root.get("fmiVersion") != "2.0":
        raise FmuError(f"{supported}, not FMI {root.get('fmiVersion')}")
    if root.find("CoSimulation") is None:
        raise FmuError(f"{supported}, not model exchange")
    try:
        ports = {port.name: port for port in _ports(root)}
        units = {unit.name: unit for unit in _units(root)}
    except (LookupError, ValueError) as error:
        raise FmuError(f"'{os.fspath(path)}': {DESCRIPTION} cannot be read ({error}); see mbfmu check") from None
    return OuterFmu(root.get("modelName", ""), root.get("description", ""), archive.data, ports, units)


def _units(root: Any) -> Iterator[ScaledUnit]:
    for unit in root.iterfind("UnitDefinitions/Unit"):
        base = unit.find("BaseUnit")
        if base is not None:
            exponents = tuple(int(base.get(name, "0")) for name in BASE)
            factor, offset = float(base.get("factor", "1")), float(base.get("offset", "0"))
            if not (math.isfinite(factor) and math.isfinite(offset) and factor):
                raise ValueError(f"factor {factor} and offset {offset} of a unit")
            yield ScaledUnit(unit.attrib["name"], exponents, factor, offset)


def _ports(root: Any) -> Iterator[Port]:
    declared = {node.get("name"): node.find("Real") for node in root.iterfind("TypeDefinitions/SimpleType")}
    scalars = root.findall("ModelVariables/ScalarVariable")
    for scalar in scalars:
        typed = next((child for child in scalar if child.tag in TYPES), None)
        if typed is None:
            raise ValueError(f"variable '{scalar.get('name')}' has no type")
        shared = declared.get(typed.get("declaredType"))
        of = typed.get("derivative")
        yield Port(
            name=scalar.attrib["name"],
            type=typed.tag,
            causality=scalar.get("causality", "local"),
            unit=typed.get("unit", "" if shared is None else shared.get("unit", "")),
            description=scalar.get("description", ""),
            derivative_of=None if of is None else scalars[int(of) - 1].attrib["name"],
        )

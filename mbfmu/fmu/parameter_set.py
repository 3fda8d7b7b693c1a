"""Values of an FMU's variables -> .ssv, a parameter set of SSP: what a master sets before it initialises the FMU."""

import math
from collections.abc import Mapping, Sequence
from math import prod
from xml.etree.ElementTree import Element, SubElement

import mbfmu
from mbfmu.errors import UsageError, ValueRangeError, nearest
from mbfmu.fmi.description import TYPES
from mbfmu.fmi.reading import BASE, FmuVariable, ScaledUnit
from mbfmu.fmu.description import document

VALUES = "http://ssp-standard.org/SSP1/SystemStructureParameterValues"
COMMON = "http://ssp-standard.org/SSP1/SystemStructureCommon"
TRUTH = {"true": True, "1": True, "false": False, "0": False}
SIZES = {"Int8": 7, "Int16": 15, "Int32": 31, "Int64": 63, "Integer": 31}
"""Number of bits of each signed integer type without its sign; the unsigned type has one more."""

Value = float | bool | int | str
"""A value of a variable; as text it is what a user writes."""


def parameter_set(
    name: str,
    version: str,
    given: Mapping[str, tuple[FmuVariable, Value | Sequence[Value]]],
    units: Mapping[str, ScaledUnit],
) -> bytes:
    """Return an .ssv file.

    Args:
        name: name of the set.
        version: version of SSP, ``1.0`` or ``2.0``.
        given: variables with their values, by name.
        units: units with a base, by name.

    Raises:
        UsageError: a variable has no start value that may be set.
        ValueRangeError: a value is none of its variable's type, or of another number of elements.
    """
    head = {"xmlns:ssv": VALUES, "xmlns:ssc": COMMON, "version": version, "name": name}
    root = Element("ssv:ParameterSet", head | {"generationTool": f"mbfmu {mbfmu.__version__}"})
    parameters = SubElement(root, "ssv:Parameters")
    used: dict[str, ScaledUnit] = {}
    for where, (port, value) in given.items():
        if port.start is None or port.constant or port.type not in TYPES:
            raise UsageError(f"'{where}' has no start value that may be set: it is computed, or constant")
        node = SubElement(parameters, "ssv:Parameter", {"name": port.name})
        facts = {"value": " ".join(_texts(where, port, value))}
        if port.unit in units:
            used[port.unit] = units[port.unit]
            facts["unit"] = port.unit
        if port.type == "Enumeration":
            facts["name"] = port.declared
        SubElement(node, f"ssv:{port.own or port.type}", facts)
        for size in port.shape:
            SubElement(node, "ssc:Dimension", {"size": str(size)})
    enumerations = {port.declared: port.items for port, _ in given.values() if port.type == "Enumeration"}
    add_definitions(root, "ssv", enumerations, used)
    return document(root)


def add_definitions(
    root: Element, space: str, enumerations: Mapping[str, Sequence[tuple[str, int]]], units: Mapping[str, ScaledUnit]
) -> None:
    """Add the definitions of enumerations and units to a document, if there are any.

    Args:
        root: the document.
        space: prefix of the document's own elements.
        enumerations: items of the enumerations, by name.
        units: the units, by name.
    """
    if enumerations:
        parent = SubElement(root, f"{space}:Enumerations")
        for text, items in enumerations.items():
            _enumeration(parent, text, items)
    if units:
        parent = SubElement(root, f"{space}:Units")
        for text in sorted(units):
            _scaled_unit(parent, units[text])


def _enumeration(parent: Element, name: str, items: Sequence[tuple[str, int]]) -> None:
    """Add the definition of an enumeration."""
    node = SubElement(parent, "ssc:Enumeration", {"name": name})
    for item, value in items:
        SubElement(node, "ssc:Item", {"name": item, "value": str(value)})


def _scaled_unit(parent: Element, unit: ScaledUnit) -> None:
    """Add the definition of a unit."""
    base = {text: str(power) for text, power in zip(BASE, unit.exponents, strict=True) if power}
    for key, value, usual in (("factor", unit.factor, 1.0), ("offset", unit.offset, 0.0)):
        if value != usual:
            base[key] = repr(value)
    SubElement(SubElement(parent, "ssc:Unit", {"name": unit.name}), "ssc:BaseUnit", base)


def _texts(where: str, port: FmuVariable, value: Value | Sequence[Value]) -> list[str]:
    """Return the values of a variable's elements as XML has them."""
    if not port.shape:
        if not isinstance(value, Value):
            raise ValueRangeError(f"'{where}' is one value, and {list(value)} are several")
        return [_text(where, port, value)]
    listed = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
    parts: list[Value] = [listed] if isinstance(listed, Value) else list(listed)
    if len(parts) != prod(port.shape):
        raise ValueRangeError(f"'{where}' has {prod(port.shape)} elements, and {len(parts)} are given")
    return [_text(where, port, part) for part in parts]


def _text(where: str, port: FmuVariable, value: Value) -> str:
    """Return a value as XML has it."""
    if port.type == "String":
        return str(value)
    if port.type == "Enumeration":
        names = dict(port.items)
        numbers = {real: name for name, real in port.items}
        if value in names:
            return str(value)
        if value in numbers and not isinstance(value, str):
            return numbers[int(value)]
        raise ValueRangeError(f"'{where}' has no item '{value}'; {nearest(str(value), names)}")
    if port.type == "Boolean":
        key = str(value).lower() if isinstance(value, str | bool) else f"{value:g}"
        if key not in TRUTH:
            raise ValueRangeError(f"'{where}' = {value!r}: true or false is needed")
        return "true" if TRUTH[key] else "false"
    try:
        real = float(value) if not isinstance(value, bool) else math.nan
    except ValueError:
        real = math.nan
    if not math.isfinite(real):
        raise ValueRangeError(f"'{where}' = {value!r}: a finite number is needed")
    return repr(real) if port.type == "Real" else _whole(where, port, real)


def _whole(where: str, port: FmuVariable, real: float) -> str:
    kind = port.own or port.type
    unsigned = kind.startswith("U")
    bits = SIZES[kind.removeprefix("U")] + unsigned
    if real != round(real) or not (0 if unsigned else -(2**bits)) <= real < 2**bits:
        raise ValueRangeError(f"'{where}' = {real:g}: a whole number of type {kind} is needed")
    return str(int(real))

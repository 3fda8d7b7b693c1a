"""An FMU as others see it: its Real, Integer... variables with their units, read from a file that nobody trusts."""

import io
import math
import os
import re
import zipfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from mbfmu.errors import FmuError
from mbfmu.fmi.annotations import derivatives_of
from mbfmu.fmi.archive import DESCRIPTION, read_archive
from mbfmu.fmi.description import TYPES
from mbfmu.fmi.fault import one_line
from mbfmu.fmi.xml import parse_xml, read_root

BASE = ("kg", "m", "s", "A", "K", "mol", "cd", "rad")
"""The base units of FMI and SSP."""
KINDS = {"cs": ("CoSimulation", "co-simulation"), "me": ("ModelExchange", "model exchange")}
"""Uses of an FMU: their elements, and in words."""
TYPES3 = {
    **dict.fromkeys(("Float32", "Float64"), "Real"),
    **dict.fromkeys(("Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64"), "Integer"),
    "Boolean": "Boolean",
    "String": "String",
    "Enumeration": "Enumeration",
}
"""Types of FMI 3.0, each with that of FMI 2.0 for its values; Binary and Clock have none."""
TERMINALS = "terminalsAndIcons/terminalsAndIcons.xml"
IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
"""An identifier of C."""
LARGEST_REFERENCE = 2**32 - 1
"""Largest value reference."""
LARGEST_ARRAY = 10_000
"""Elements up to which an array is read."""


@dataclass(frozen=True)
class ScaledUnit:
    """A unit by its base: value in base units = factor * value + offset.

    Args:
        name: as the FMU writes it.
        exponents: of the base units, in the order of `BASE`.
        factor, offset: see above.

    Raises:
        ValueError: factor or offset is not finite, or the factor is zero.
    """

    name: str
    exponents: tuple[int, ...]
    factor: float = 1.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        """Check factor and offset."""
        if not (math.isfinite(self.factor) and math.isfinite(self.offset) and self.factor):
            raise ValueError(f"factor {self.factor} and offset {self.offset} of the unit '{self.name}'")


@dataclass(frozen=True)
class FmuVariable:
    """A variable of an FMU.

    Args:
        name: its name.
        type: Real, Integer, Boolean, String or Enumeration; of FMI 3.0 the one of these with its values, or its own.
        causality: as FMI names it.
        unit: name of the unit, empty for none.
        description: one line.
        derivative_of: name of the variable it is the time derivative of; None for none.
        reference: value reference.
        start: its start value as the FMU writes it; None for none.
        own: its type as its version of FMI names it.
        shape: its dimensions; empty: a scalar.
        items: name and value of each item of an enumeration.
        declared: name of the enumeration.
        constant: whether no value but the start value is ever its own.
        inputs: names of the inputs that an output depends on directly; None: it may depend on all.
    """

    name: str
    type: str
    causality: str
    unit: str
    description: str
    derivative_of: str | None
    reference: int = 0
    start: str | None = None
    own: str = ""
    shape: tuple[int, ...] = ()
    items: tuple[tuple[str, int], ...] = ()
    declared: str = ""
    constant: bool = False
    inputs: frozenset[str] | None = None


@dataclass(frozen=True)
class ExchangeFacts:
    """What an FMU says of its model exchange.

    Args:
        states: number of continuous states.
        indicators: number of event indicators.
        completes: whether it must be called after each accepted step.
    """

    states: int
    indicators: int
    completes: bool


@dataclass(frozen=True)
class Terminal:
    """A terminal of FMI 3.0.

    Args:
        name: its name.
        kind: what it is, such as the name of a Modelica connector.
        members: names of its variables by member name.
    """

    name: str
    kind: str
    members: Mapping[str, str]


@dataclass(frozen=True)
class OuterFmu:
    """An FMU of any tool.

    Args:
        model: name of the model.
        description: one line.
        data: the bytes of the file.
        ports: its variables by name.
        units: those with a base, by name.
        version: version of FMI.
        kinds: its uses, of `KINDS`, with the identifier of each.
        token: its GUID or instantiation token.
        exchange: what it says of model exchange; None: it has none.
        terminals: those of FMI 3.0.
    """

    model: str
    description: str
    data: bytes
    ports: Mapping[str, FmuVariable]
    units: Mapping[str, ScaledUnit]
    version: str = "2.0"
    kinds: Mapping[str, str] = field(default_factory=lambda: {"cs": ""})
    token: str = ""
    exchange: ExchangeFacts | None = None
    terminals: tuple[Terminal, ...] = ()

    def members(self, *folders: str) -> dict[str, bytes]:
        """Return the files in some folders of the archive by name."""
        with zipfile.ZipFile(io.BytesIO(self.data)) as archive:
            names = [name for name in archive.namelist() if name.startswith(folders) and not name.endswith("/")]
            return {name: archive.read(name) for name in names}


def parse_fmu(
    path: str | os.PathLike[str],
    versions: Collection[str] = ("2.0",),
    kinds: Collection[str] = ("cs",),
    advice: str = "",
) -> OuterFmu:
    """Read what an FMU says of itself; nothing of it is run.

    Args:
        path: path of the file.
        versions: versions of FMI that are supported.
        kinds: uses of which one is needed, of `KINDS`.
        advice: what the error says where version or use is another.

    Raises:
        FmuError: there is no file, or it is no FMU of such a version and use.
    """
    where = os.fspath(path)
    archive = read_archive(path)
    root = read_root(archive, where)
    uses = " and ".join(KINDS[kind][1] for kind in kinds)
    supported = f"'{where}': only FMI {' and '.join(versions)} {uses} is supported"
    version = root.get("fmiVersion")
    if version not in versions:
        raise FmuError(f"{supported}, not FMI {version}{advice}")
    elements = {kind: root.find(element) for kind, (element, _) in KINDS.items()}
    known = {kind: node.get("modelIdentifier", "") for kind, node in elements.items() if node is not None}
    if not set(known) & set(kinds):
        other = " and ".join(KINDS[kind][1] for kind in known) or "scheduled execution"
        raise FmuError(f"{supported}, not {other}{advice}")
    try:
        ports = {port.name: port for port in (_ports if version == "2.0" else _ports3)(root)}
        units = {unit.name: unit for unit in _units(root)}
        terminals = tuple(_terminals(archive.read(TERMINALS))) if TERMINALS in archive.names else ()
        exchange = _exchange(root, elements["me"]) if "me" in known else None
    except (LookupError, ValueError) as error:
        raise FmuError(f"'{where}': {DESCRIPTION} cannot be read ({error}); see mbfmu check") from None
    _check_handles(where, known, ports.values(), version)
    token = root.get("guid") or root.get("instantiationToken", "")
    about = (root.get("modelName", ""), root.get("description", ""), archive.data)
    return OuterFmu(*about, ports, units, version, known, token, exchange, terminals)


def _check_handles(where: str, known: Mapping[str, str], ports: Collection[FmuVariable], version: str) -> None:
    """Check what is written into files and code: identifiers and value references.

    Raises:
        FmuError: an identifier is not one of C, or a value reference is out of range or, in FMI 3.0, not unique.
    """
    for identifier in known.values():
        if not IDENTIFIER.fullmatch(identifier):
            text = f"modelIdentifier {identifier!r} must have only letters, digits and underscores"
            raise FmuError(f"'{where}': {one_line(text)}; export the FMU under another name")
    seen: dict[int, str] = {}
    for port in ports:
        if not 0 <= port.reference <= LARGEST_REFERENCE:
            raise FmuError(
                one_line(f"'{where}': '{port.name}' has the value reference {port.reference}; see mbfmu check")
            )
        if version != "2.0" and port.reference in seen:
            text = f"'{port.name}' and '{seen[port.reference]}' have one value reference, {port.reference}"
            raise FmuError(one_line(f"'{where}': {text}; see mbfmu check"))
        seen[port.reference] = port.name


def _units(root: Any) -> Iterator[ScaledUnit]:
    for unit in root.iterfind("UnitDefinitions/Unit"):
        base = unit.find("BaseUnit")
        if base is not None:
            exponents = tuple(int(base.get(name, "0")) for name in BASE)
            factor, offset = float(base.get("factor", "1")), float(base.get("offset", "0"))
            yield ScaledUnit(unit.attrib["name"], exponents, factor, offset)


def _exchange(root: Any, element: Any) -> ExchangeFacts:
    structure = root.find("ModelStructure")
    if root.get("fmiVersion") == "2.0":
        states = len(structure.findall("Derivatives/Unknown")) if structure is not None else 0
        completes = element.get("completedIntegratorStepNotNeeded", "false") not in {"true", "1"}
        return ExchangeFacts(states, int(root.get("numberOfEventIndicators", "0")), completes)
    rates, indicators = (
        len(structure.findall(name)) if structure is not None else 0
        for name in ("ContinuousStateDerivative", "EventIndicator")
    )
    return ExchangeFacts(rates, indicators, element.get("needsCompletedIntegratorStep", "true") in {"true", "1"})


def _items(element: Any) -> tuple[tuple[str, int], ...]:
    """Return the items of an enumeration's type."""
    return tuple((item.attrib["name"], int(item.attrib["value"])) for item in element.iterfind("Item"))


def _ports(root: Any) -> Iterator[FmuVariable]:
    declared = {
        node.get("name"): next((child for child in node if child.tag in TYPES), None)
        for node in root.iterfind("TypeDefinitions/SimpleType")
    }
    scalars = root.findall("ModelVariables/ScalarVariable")
    names = [scalar.attrib["name"] for scalar in scalars]
    causalities = [scalar.get("causality", "local") for scalar in scalars]
    inputs: dict[str, frozenset[str]] = {}
    for unknown in root.iterfind("ModelStructure/Outputs/Unknown"):
        if "dependencies" in unknown.attrib:
            on = [int(text) - 1 for text in unknown.attrib["dependencies"].split()]
            inputs[_at(names, int(unknown.attrib["index"]) - 1)] = frozenset(
                _at(names, index) for index in on if causalities[index] == "input"
            )
    annotated = derivatives_of(root)
    for scalar, name, causality in zip(scalars, names, causalities, strict=True):
        typed = next((child for child in scalar if child.tag in TYPES), None)
        if typed is None:
            raise ValueError(f"variable '{name}' has no type")
        shared = declared.get(typed.get("declaredType"))
        of = typed.get("derivative")
        yield FmuVariable(
            name=name,
            type=typed.tag,
            causality=causality,
            unit=typed.get("unit", "" if shared is None else shared.get("unit", "")),
            description=scalar.get("description", ""),
            derivative_of=annotated.get(name) if of is None else _at(names, int(of) - 1),
            reference=int(scalar.attrib["valueReference"]),
            start=typed.get("start"),
            own=typed.tag,
            items=_items(shared) if shared is not None else (),
            declared=typed.get("declaredType", "") if typed.tag == "Enumeration" else "",
            constant=scalar.get("variability") == "constant",
            inputs=inputs.get(name),
        )


def _at(names: list[str], index: int) -> str:
    """Return the name at an index, which an index of the description gives."""
    if not 0 <= index < len(names):
        raise ValueError(f"there is no variable {index + 1}")
    return names[index]


def _ports3(root: Any) -> Iterator[FmuVariable]:
    declared = {node.get("name"): node for node in root.iterfind("TypeDefinitions/*")}
    every = root.findall("ModelVariables/*")
    nodes = {int(node.attrib["valueReference"]): node for node in every}
    on: dict[int, list[int]] = {}
    for output in root.iterfind("ModelStructure/Output"):
        if "dependencies" in output.attrib:
            on[int(output.attrib["valueReference"])] = [int(text) for text in output.attrib["dependencies"].split()]
    annotated = derivatives_of(root)
    for node in every:
        reference = int(node.attrib["valueReference"])
        shared = declared.get(node.get("declaredType"))
        of = node.get("derivative")
        inputs = (nodes[item] for item in on.get(reference, ()))
        yield FmuVariable(
            name=node.attrib["name"],
            type=TYPES3.get(node.tag, node.tag),
            causality=node.get("causality", "local"),
            unit=node.get("unit", "" if shared is None else shared.get("unit", "")),
            description=node.get("description", ""),
            derivative_of=annotated.get(node.attrib["name"]) if of is None else nodes[int(of)].attrib["name"],
            reference=reference,
            start=node.get("start", None if (text := node.find("Start")) is None else text.get("value", "")),
            own=node.tag,
            shape=_shape(node, nodes),
            items=_items(shared) if shared is not None else (),
            declared=node.get("declaredType", "") if node.tag == "Enumeration" else "",
            constant=node.get("variability") == "constant",
            inputs=frozenset(item.attrib["name"] for item in inputs if item.get("causality") == "input")
            if reference in on
            else None,
        )


def _shape(node: Any, nodes: Mapping[int, Any]) -> tuple[int, ...]:
    """Return the dimensions of a variable of FMI 3.0, with the start values of structural parameters."""
    sizes = [
        int(item.get("start") or nodes[int(item.attrib["valueReference"])].attrib["start"])
        for item in node.iterfind("Dimension")
    ]
    if sizes and not 0 < prod(sizes) <= LARGEST_ARRAY:
        raise ValueError(f"variable '{node.get('name')}' has {prod(sizes)} elements")
    return tuple(sizes)


def _terminals(content: bytes) -> Iterator[Terminal]:
    """Yield the terminals of terminalsAndIcons.xml that have no others inside."""
    root = parse_xml(content)
    for node in () if root is None else root.iterfind("Terminals/Terminal"):
        members = {
            item.get("memberName"): item.attrib["variableName"]
            for item in node.iterfind("TerminalMemberVariable")
            if item.get("memberName")
        }
        yield Terminal(node.attrib["name"], node.get("terminalKind", ""), members)

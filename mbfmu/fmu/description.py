"""Interface -> modelDescription.xml (FMI 2.0)."""

import math
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from mbfmu.base.units import Display, known_unit
from mbfmu.errors import FmuError
from mbfmu.fmi.annotations import add_derivatives
from mbfmu.fmu.interface import Interface, Variable

LOG_CATEGORIES = {
    "logStatusWarning": "values that were rejected, and what is unusual",
    "logStatusDiscard": "steps that could not be done, with time, residual and remedy",
    "logStatusError": "calls that were rejected, with the reason",
    "logAll": "all messages",
}
NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""A character that no XML 1.0 file can hold (W3C, XML 1.0, 2.2)."""


@dataclass(frozen=True)
class Binary:
    """A binary of an FMU.

    Args:
        identifier: its name, a C identifier.
        sources: names of the files to compile in sources/; empty for the pythonfmu back end, which provides no
            derivatives either.
    """

    identifier: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Header:
    """The facts in modelDescription.xml about the FMU as a whole.

    Args:
        model: name of the model.
        description: one line.
        tool: name and version of the tool that made it.
        stop: default stop time, s.
        step: default communication step, s.
        steps: the binary for co-simulation; None: the FMU is not for that.
        exchange: the binary for model exchange; None: the FMU is not for that.
        derivatives: whether a native FMU gives derivatives.
        display: units in which importing tools show values, by the SI units in whose place they stand.
    """

    model: str
    description: str
    tool: str
    stop: float
    step: float
    steps: Binary | None = None
    exchange: Binary | None = None
    derivatives: bool = True
    display: Display = field(default_factory=dict)


def model_description(interface: Interface, header: Header, guid: str) -> bytes:
    """Return modelDescription.xml, which has the same bytes for the same arguments (hence no date).

    Args:
        interface: the variables.
        header: the facts about the whole.
        guid: identity of the content; it is empty in the content whose hash it is.
    """
    root = Element(
        "fmiModelDescription",
        {
            "fmiVersion": "2.0",
            "modelName": header.model,
            "guid": guid,
            "description": header.description,
            "generationTool": header.tool,
            "variableNamingConvention": "structured",
            **({"numberOfEventIndicators": str(len(interface.guards))} if header.exchange else {}),
        },
    )
    native = any(binary and binary.sources for binary in (header.steps, header.exchange))
    common = {
        "canBeInstantiatedOnlyOncePerProcess": "false",
        "canNotUseMemoryManagementFunctions": boolean(not native),
        "canGetAndSetFMUstate": "true",
        "canSerializeFMUstate": "true",
        **({"providesDirectionalDerivative": "true"} if native and header.derivatives else {}),
    }
    if header.exchange:
        attributes = {"modelIdentifier": header.exchange.identifier, "needsExecutionTool": "false", **common}
        _sources(SubElement(root, "ModelExchange", attributes), header.exchange.sources)
    if header.steps:
        attributes = {
            "modelIdentifier": header.steps.identifier,
            "needsExecutionTool": "false",
            "canHandleVariableCommunicationStepSize": "true",
            "canInterpolateInputs": boolean(native),
            **({"maxOutputDerivativeOrder": "1"} if native and header.derivatives else {}),
            **common,
        }
        _sources(SubElement(root, "CoSimulation", attributes), header.steps.sources)
    unit_definitions(root, used_units(interface))
    _types(root, used_units(interface), header.display)
    log_categories(root)
    default_experiment(root, header)
    if header.exchange:
        add_derivatives(root, unstated(interface), "2.0")
    variables = SubElement(root, "ModelVariables")
    positions = {item.name: str(index) for index, item in enumerate(interface.variables, 1)}
    stating = stated(interface, header)
    for item in interface.variables:
        _variable(variables, item, positions, stating)
    _structure(SubElement(root, "ModelStructure"), interface, positions)
    return document(root)


def check_texts(texts: Iterable[str]) -> None:
    """Raise an FmuError if one of some texts has a character that XML cannot hold."""
    for text in texts:
        if forbidden := NOT_IN_XML.search(text):
            raise FmuError(f"{text!r} has the character {forbidden[0]!r}, which an XML file cannot hold: leave it out")


def document(root: Element) -> bytes:
    """Return a tree as the bytes of an XML file.

    Raises:
        FmuError: a text in it has a character that XML cannot hold.
    """
    check_texts(text for node in root.iter() for text in (*node.attrib.values(), node.text or ""))
    indent(root)
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode").encode("utf-8") + b"\n"


def _sources(parent: Element, names: tuple[str, ...]) -> None:
    if names:
        files = SubElement(parent, "SourceFiles")
        for name in names:
            SubElement(files, "File", {"name": name})


def log_categories(root: Element) -> None:
    """Add the categories of messages."""
    categories = SubElement(root, "LogCategories")
    for name, text in LOG_CATEGORIES.items():
        SubElement(categories, "Category", {"name": name, "description": text})


def default_experiment(root: Element, header: Header) -> None:
    """Add the default experiment."""
    times = {"startTime": "0", "stopTime": number(header.stop), "stepSize": number(header.step)}
    SubElement(root, "DefaultExperiment", times)


def used_units(interface: Interface) -> list[str]:
    """Return the names of the units of all real variables, each once."""
    return sorted({item.unit for item in interface.variables if item.type == "Real"})


def unit_definitions(root: Element, used: list[str]) -> None:
    """Add the definitions of units."""
    definitions = SubElement(root, "UnitDefinitions")
    for name in used:
        unit = known_unit(name)
        node = SubElement(definitions, "Unit", {"name": name})
        if unit.base is not None:
            SubElement(node, "BaseUnit", {base: str(power) for base, power in unit.base.items()})
        for label, factor in unit.display.items():
            SubElement(node, "DisplayUnit", {"name": label, "factor": number(factor)})


def display_unit(name: str, display: Display) -> dict[str, str]:
    """Return the attribute that says how a unit is displayed: as it is chosen, angles else in degrees."""
    if name in display:
        return {"displayUnit": display[name].name}
    return {"displayUnit": next(iter(known_unit(name).display))} if name.startswith("rad") else {}


def _types(root: Element, used: list[str], display: Display) -> None:
    types = SubElement(root, "TypeDefinitions")
    for name in used:
        unit = known_unit(name)
        if unit.quantity:
            node = SubElement(types, "SimpleType", {"name": unit.quantity})
            SubElement(node, "Real", {"quantity": unit.quantity, "unit": name, **display_unit(name, display)})


def stated(interface: Interface, header: Header) -> set[str]:
    """Return the names of the variables that state what they are the derivative of: in model exchange those of states.

    OMSimulator takes every variable with the attribute `derivative` for the derivative of a continuous state.
    """
    if header.exchange:
        return {rate.name for _, rate in interface.states}
    return {item.name for item in interface.variables if item.derivative_of}


def unstated(interface: Interface) -> list[tuple[str, str]]:
    """Return the derivatives of other variables than states, each with what it is that of, by name."""
    rates = {rate.name for _, rate in interface.states}
    pairs = ((item.name, item.derivative_of) for item in interface.variables if item.name not in rates)
    return [(name, of) for name, of in pairs if of]


def _variable(parent: Element, item: Variable, positions: dict[str, str], stated: Collection[str]) -> None:
    head = {
        "name": item.name,
        "valueReference": str(item.reference),
        "description": item.description,
        "causality": item.causality,
        "variability": item.variability,
    }
    if item.initial:
        head["initial"] = item.initial
    node = SubElement(parent, "ScalarVariable", {key: value for key, value in head.items() if value})
    typed = {}
    if item.type == "Real":
        quantity = known_unit(item.unit).quantity
        typed = {"declaredType": quantity} if quantity else {"unit": item.unit}
    if math.isfinite(item.min):
        typed["min"] = item.shown(item.min)
    if math.isfinite(item.max):
        typed["max"] = item.shown(item.max)
    if item.nominal != 1:
        typed["nominal"] = number(item.nominal)
    if item.start is not None:
        typed["start"] = item.shown(item.start)
    if item.derivative_of and item.name in stated:
        typed["derivative"] = positions[item.derivative_of]
    SubElement(node, item.type, typed)


def _structure(parent: Element, interface: Interface, positions: dict[str, str]) -> None:
    """Add the model structure: what outputs, time derivatives and initial unknowns depend on."""
    by_name = {item.name: item for item in interface.variables}

    def running(name: str) -> dict[str, str]:
        """Return the attributes of an unknown after the initialisation, of which FMI 2.0 knows no parameters."""
        on = (other for other in interface.feedthrough[name] if by_name[other].causality != "parameter")
        return _dependencies([positions[other] for other in on])

    outputs = SubElement(parent, "Outputs")
    for item in interface.variables:
        if item.causality == "output":
            SubElement(outputs, "Unknown", {"index": positions[item.name], **running(item.name)})
    if interface.states:
        derivatives = SubElement(parent, "Derivatives")
        for _, rate in interface.states:
            SubElement(derivatives, "Unknown", {"index": positions[rate.name], **running(rate.name)})
    exchanged = {item.name for pair in interface.states for item in pair}
    initial = SubElement(parent, "InitialUnknowns")
    for item in interface.variables:
        listed = item.causality in {"output", "calculatedParameter"} or item.name in exchanged
        if item.initial in {"calculated", "approx"} and listed:
            on = [positions[name] for name in interface.starting[item.name]]
            SubElement(initial, "Unknown", {"index": positions[item.name], **_dependencies(on)})
    for empty in [item for item in (outputs, initial) if not len(item)]:  # a list without entries is not valid
        parent.remove(empty)


def _dependencies(on: list[str]) -> dict[str, str]:
    return {"dependencies": " ".join(sorted(on, key=int)), "dependenciesKind": " ".join(["dependent"] * len(on))}


def boolean(value: bool) -> str:
    """Return true or false as XML has it."""
    return str(value).lower()


def number(value: float) -> str:
    """Return a number as text from which the same number is read."""
    return repr(float(value))

"""Interface -> modelDescription.xml (FMI 2.0 co-simulation)."""

import math
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from mbfmu.fmu.interface import Interface, Variable
from mbfmu.fmu.units import known_unit

LOG_CATEGORIES = {
    "logStatusWarning": "what is unusual",
    "logStatusDiscard": "steps that could not be done, with time, residual and remedy",
    "logStatusError": "calls that were refused, with the reason",
    "logAll": "all messages",
}


@dataclass(frozen=True)
class Header:
    """The facts in modelDescription.xml about the FMU as a whole.

    Args:
        model: name of the model.
        identifier: name of the binary, a C identifier.
        description: one line.
        tool: name and version of the tool that made it.
        stop: default stop time, s.
        step: default communication step, s.
        sources: names of the files to compile in sources/; empty for the pythonfmu back end, which provides no
            derivatives either.
    """

    model: str
    identifier: str
    description: str
    tool: str
    stop: float
    step: float
    sources: tuple[str, ...] = ()


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
        },
    )
    native = bool(header.sources)
    slave = SubElement(
        root,
        "CoSimulation",
        {
            "modelIdentifier": header.identifier,
            "needsExecutionTool": "false",
            "canHandleVariableCommunicationStepSize": "true",
            "canInterpolateInputs": _boolean(native),
            **({"maxOutputDerivativeOrder": "1"} if native else {}),
            "canBeInstantiatedOnlyOncePerProcess": "false",
            "canNotUseMemoryManagementFunctions": _boolean(not native),
            "canGetAndSetFMUstate": "true",
            "canSerializeFMUstate": "true",
            **({"providesDirectionalDerivative": "true"} if native else {}),
        },
    )
    if native:
        files = SubElement(slave, "SourceFiles")
        for name in header.sources:
            SubElement(files, "File", {"name": name})
    _units(root, interface)
    categories = SubElement(root, "LogCategories")
    for name, text in LOG_CATEGORIES.items():
        SubElement(categories, "Category", {"name": name, "description": text})
    SubElement(
        root,
        "DefaultExperiment",
        {"startTime": "0", "stopTime": _number(header.stop), "stepSize": _number(header.step)},
    )
    variables = SubElement(root, "ModelVariables")
    positions = {item.name: str(number) for number, item in enumerate(interface.variables, 1)}
    for item in interface.variables:
        _variable(variables, item, positions)
    _structure(SubElement(root, "ModelStructure"), interface, positions)
    indent(root)
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode").encode("utf-8") + b"\n"


def _units(root: Element, interface: Interface) -> None:
    used = sorted({item.unit for item in interface.variables if item.type == "Real"})
    definitions = SubElement(root, "UnitDefinitions")
    for name in used:
        unit = known_unit(name)
        node = SubElement(definitions, "Unit", {"name": name})
        if unit.base is not None:
            SubElement(node, "BaseUnit", {base: str(power) for base, power in unit.base.items()})
        for label, factor in unit.display.items():
            SubElement(node, "DisplayUnit", {"name": label, "factor": _number(factor)})
    types = SubElement(root, "TypeDefinitions")
    for name in used:
        unit = known_unit(name)
        if unit.quantity:
            node = SubElement(types, "SimpleType", {"name": unit.quantity})
            shown = {"displayUnit": next(iter(unit.display))} if name.startswith("rad") else {}
            SubElement(node, "Real", {"quantity": unit.quantity, "unit": name, **shown})


def _variable(parent: Element, item: Variable, positions: dict[str, str]) -> None:
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
        typed["nominal"] = _number(item.nominal)
    if item.start is not None:
        typed["start"] = item.shown(item.start)
    if item.derivative_of:
        typed["derivative"] = positions[item.derivative_of]
    SubElement(node, item.type, typed)


def _structure(parent: Element, interface: Interface, positions: dict[str, str]) -> None:
    """Add the model structure: direct feed-through to outputs, and simple dependencies of initial unknowns."""
    outputs = SubElement(parent, "Outputs")
    for item in interface.variables:
        if item.causality == "output":
            on = [positions[name] for name in interface.feedthrough[item.name]]
            SubElement(outputs, "Unknown", {"index": positions[item.name], **_dependencies(on)})
    initial = SubElement(parent, "InitialUnknowns")
    for item in interface.variables:
        if item.initial in {"calculated", "approx"} and item.causality in {"output", "calculatedParameter"}:
            known = {}
            if item.causality == "calculatedParameter":
                known = _dependencies([positions[name] for name in interface.bound_on[item.name]])
            SubElement(initial, "Unknown", {"index": positions[item.name], **known})


def _dependencies(on: list[str]) -> dict[str, str]:
    return {"dependencies": " ".join(on), "dependenciesKind": " ".join(["dependent"] * len(on))}


def _boolean(value: bool) -> str:
    return str(value).lower()


def _number(value: float) -> str:
    """Return a number as text from which the same number is read."""
    return repr(float(value))

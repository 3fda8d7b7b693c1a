"""Interface -> modelDescription.xml and buildDescription.xml of FMI 3.0."""

import math
from collections.abc import Collection, Mapping
from xml.etree.ElementTree import Element, SubElement

from mbfmu.base.units import Display, known_unit
from mbfmu.fmi.annotations import add_derivatives
from mbfmu.fmu.arrays import TYPES, Array, ClockVariable, arrays, by_element, clocks, references_of
from mbfmu.fmu.description import (
    Header,
    boolean,
    default_experiment,
    display_unit,
    document,
    log_categories,
    number,
    stated,
    unit_definitions,
    unstated,
    used_units,
)
from mbfmu.fmu.interface import Interface

VERSION = "3.0"


def model_description3(interface: Interface, header: Header, token: str) -> bytes:
    """Return modelDescription.xml, which has the same bytes for the same arguments (hence no date).

    Args:
        interface: the variables.
        header: the facts about the whole.
        token: instantiation token; it is empty in the content whose hash it is.
    """
    root = Element(
        "fmiModelDescription",
        {
            "fmiVersion": VERSION,
            "modelName": header.model,
            "instantiationToken": token,
            "description": header.description,
            "generationTool": header.tool,
            "variableNamingConvention": "structured",
        },
    )
    # what the FMU can do, for each kind
    derived = header.derivatives
    common = {
        "canGetAndSetFMUState": "true",
        "canSerializeFMUState": "true",
        **({"providesDirectionalDerivatives": "true", "providesAdjointDerivatives": "true"} if derived else {}),
        "providesPerElementDependencies": "true",
    }
    if header.exchange:
        identifier = header.exchange.identifier
        attributes = {"modelIdentifier": identifier, **common, "needsCompletedIntegratorStep": "true"}
        SubElement(root, "ModelExchange", attributes)
    if header.steps:
        events = boolean(bool(interface.guards or interface.sampled))
        attributes = {
            "modelIdentifier": header.steps.identifier,
            **common,
            "canHandleVariableCommunicationStepSize": "true",
            **({"maxOutputDerivativeOrder": "1"} if derived else {}),
            "providesIntermediateUpdate": "true",
            "canReturnEarlyAfterIntermediateUpdate": "true",
            "mightReturnEarlyFromDoStep": events,
            "hasEventMode": events,
        }
        SubElement(root, "CoSimulation", attributes)
    # units, types, log categories and the default experiment
    unit_definitions(root, used_units(interface))
    _types(
        root, interface, header.display, list(dict.fromkeys(item.items for item in interface.variables if item.items))
    )
    log_categories(root)
    default_experiment(root, header)
    # variables, then clocks
    elements = arrays(interface)
    owners = by_element(elements)
    variables = SubElement(root, "ModelVariables")
    stating = stated(interface, header)
    for item in elements:
        _variable(variables, item, owners, stating)
    for clock in clocks(interface):
        _clock(variables, clock)
    # outputs, derivatives and dependencies
    _structure(SubElement(root, "ModelStructure"), interface, elements, owners)
    if header.exchange:
        pairs = dict.fromkeys((owners[name].name, owners[of].name) for name, of in unstated(interface))
        add_derivatives(root, pairs, VERSION)
    return document(root)


def build_description(header: Header) -> bytes:
    """Return buildDescription.xml, which says how the sources are compiled."""
    root = Element("fmiBuildDescription", {"fmiVersion": VERSION})
    for binary in filter(None, (header.exchange, header.steps)):
        configuration = SubElement(
            root,
            "BuildConfiguration",
            {
                "modelIdentifier": binary.identifier,
                "description": "compile with -ffp-contract=off to get the numbers of the binaries to the last bit",
            },
        )
        files = SubElement(configuration, "SourceFileSet", {"language": "C99"})
        for name in binary.sources:
            SubElement(files, "SourceFile", {"name": name})
        about = {"name": "m", "external": "true", "description": "C's functions of numbers"}
        SubElement(configuration, "Library", about)
    return document(root)


def _types(root: Element, interface: Interface, display: Display, enumerations: Collection[tuple[str, ...]]) -> None:
    types = Element("TypeDefinitions")
    for name in used_units(interface):
        if quantity := known_unit(name).quantity:
            shown = display_unit(name, display)
            SubElement(types, "Float64Type", {"name": quantity, "quantity": quantity, "unit": name, **shown})
    for items in enumerations:
        node = SubElement(types, "EnumerationType", {"name": _enumeration(items)})
        for value, item in enumerate(items):
            SubElement(node, "Item", {"name": item, "value": str(value)})
    if len(types):
        root.append(types)


def _enumeration(items: tuple[str, ...]) -> str:
    """Return the name of the type with some items, which no variable has."""
    return " | ".join(items)


def _variable(parent: Element, item: Array, owners: dict[str, Array], stated: Collection[str]) -> None:
    first, quantity = item.first, known_unit(item.first.unit).quantity
    facts = {
        "name": item.name,
        "valueReference": str(item.reference),
        "description": first.description,
        "causality": first.causality,
        "variability": first.variability,
        "initial": item.initial,
    }
    if first.type == "Real":
        facts |= {"declaredType": quantity} if quantity else {"unit": first.unit}
    if first.items:
        facts["declaredType"] = _enumeration(first.items)
    if math.isfinite(first.min) and first.type != "Boolean":
        facts["min"] = first.shown(first.min)
    if math.isfinite(first.max) and first.type != "Boolean":
        facts["max"] = first.shown(first.max)
    nominal = max(each.nominal for each in item.elements)
    if nominal != 1 and first.type == "Real":
        facts["nominal"] = number(nominal)
    if first.start is not None:
        facts["start"] = " ".join(each.shown(each.start) for each in item.elements if each.start is not None)
    if first.derivative_of and first.name in stated:
        facts["derivative"] = str(owners[first.derivative_of].reference)
    if first.variability == "continuous" and first.causality in {"input", "output", "local"}:
        facts["intermediateUpdate"] = "true"
    node = SubElement(parent, TYPES[first.type3], {key: value for key, value in facts.items() if value})
    for size in item.shape:
        SubElement(node, "Dimension", {"start": str(size)})


def _clock(parent: Element, clock: ClockVariable) -> None:
    """Add a clock: an output that events trigger, or an input with a period that is known in initialisation mode."""
    triggered = clock.sampled is None
    facts = {
        "name": clock.name,
        "valueReference": str(clock.reference),
        "description": clock.description,
        "causality": "output" if triggered else "input",
        "variability": "discrete",
        "intervalVariability": "triggered" if triggered else "fixed",
    }
    SubElement(parent, "Clock", facts)


def _structure(parent: Element, interface: Interface, elements: Collection[Array], owners: dict[str, Array]) -> None:
    """Add the model structure: what outputs, time derivatives and initial unknowns depend on."""
    rates = {rate.name for _, rate in interface.states}
    listed = rates | {state.name for state, _ in interface.states}
    guessed = {item.name for item in interface.variables if item.initial == "approx"}
    starting = {name: tuple(other for other in on if other not in guessed) for name, on in interface.starting.items()}
    for item in elements:
        if item.first.causality == "output":
            on = _on(item, interface.feedthrough, owners)
            SubElement(parent, "Output", {"valueReference": str(item.reference), **on})
    triggered = [
        {"valueReference": str(clock.reference), "dependencies": ""}
        for clock in clocks(interface)
        if clock.sampled is None
    ]
    for facts in triggered:
        SubElement(parent, "Output", facts)
    for item in elements:
        if item.first.name in rates:
            on = _on(item, interface.feedthrough, owners)
            SubElement(parent, "ContinuousStateDerivative", {"valueReference": str(item.reference), **on})
    for item in elements:
        shown = item.first.causality in {"output", "calculatedParameter"} or item.first.name in listed
        if item.initial in {"calculated", "approx"} and shown:
            SubElement(parent, "InitialUnknown", {"valueReference": str(item.reference), **_on(item, starting, owners)})
    for facts in triggered:
        SubElement(parent, "InitialUnknown", facts)
    for item in elements:
        if item.first.name in interface.indicators:
            SubElement(parent, "EventIndicator", {"valueReference": str(item.reference)})


def _on(item: Array, dependencies: Mapping[str, tuple[str, ...]], owners: dict[str, Array]) -> dict[str, str]:
    """Return the attributes that say what a variable depends on, by value references."""
    references = references_of((name for each in item.elements for name in dependencies[each.name]), owners)
    if not references:
        return {"dependencies": ""}
    return {
        "dependencies": " ".join(map(str, references)),
        "dependenciesKind": " ".join(["dependent"] * len(references)),
    }

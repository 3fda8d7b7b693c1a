"""Several FMUs and their connections -> .ssp (SSP 1.0 or 2.0): one file that a co-simulation master runs.

The behaviour of masters explains the form of the file. libcosim and ecos look elements up by their usual prefixes, know
no connectors of the system itself, and convert no units, so a change of unit is written as a linear transformation.
FMPy takes every input connector for connected, so only connected inputs have one: the others keep their start values.
OMSimulator runs a system by the method that its own annotation names.
"""

import io
import math
import os
import re
import sys
import zipfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement

import mbfmu
from mbfmu.base.arguments import checked
from mbfmu.base.files import ending_of, write_aside
from mbfmu.errors import FmuError, ModelFileError, UnknownNameError, UsageError, nearest, reason_of
from mbfmu.fmi.reading import FmuVariable, OuterFmu, ScaledUnit, parse_fmu
from mbfmu.fmu.conversion import conversion, said
from mbfmu.fmu.description import document
from mbfmu.fmu.parameter_set import Value, add_definitions, parameter_set

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NAMESPACES = {
    "xmlns:ssd": "http://ssp-standard.org/SSP1/SystemStructureDescription",
    "xmlns:ssc": "http://ssp-standard.org/SSP1/SystemStructureCommon",
    "xmlns:osp": "http://opensimulationplatform.com/SSP/OSPAnnotations",
    "xmlns:oms": "https://raw.githubusercontent.com/OpenModelica/OMSimulator/master/schema/oms.xsd",
}
DATE = (1980, 1, 1, 0, 0, 0)
"""Date of every file in the archive: the same input gives the same bytes."""
TYPES = ("Real", "Integer", "Boolean", "String")
"""Types of the variables that get connectors; masters know no others."""
VERSIONS = {"1.0": (("2.0",), ("cs",)), "2.0": (("2.0", "3.0"), ("cs", "me"))}
"""Versions of SSP, with the versions and uses of the FMUs that they take here."""
ADVICE = {"1.0": "; SSP 2.0 takes others, if the master knows it: --ssp 2.0", "2.0": ""}
SOURCES = ("output", "calculatedParameter")
"""Causalities of the variables that give values to others in a system structure."""
STEP = 1e-3
"""Communication step, s, that OMSimulator gets where none is requested: it runs no system without one."""
TOLERANCES = {"absoluteTolerance": "1e-06", "relativeTolerance": "1e-06"}
"""Tolerances that OMSimulator gets, for its solver and its methods with step size control."""
NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True)
class Wire:
    """A value that goes from one FMU to another, times a factor.

    Args:
        start: ``component.variable`` of an output.
        end: ``component.variable`` of an input.
        factor: factor of the value, such as -1 for a reaction, which may carry units; None: 1, which carries none.
    """

    start: str
    end: str
    factor: float | None = None

    @property
    def scale(self) -> float:
        """The factor, which is 1 if none is stated."""
        return 1.0 if self.factor is None else self.factor


@dataclass(frozen=True)
class Coupling:
    """The content of an .ssp file.

    Args:
        components: paths of the FMUs by component name.
        connections: connections between their variables.
        system: name of the system.
        stop: default stop time, s.
        step: communication step, s, for masters that read it here (libcosim and others of OSP).
        version: version of SSP.
        parameters: values of start values and parameters by ``component.variable``.
    """

    components: Mapping[str, str | os.PathLike[str]]
    connections: tuple[Wire, ...] = ()
    system: str | None = None
    stop: float | None = None
    step: float | None = None
    version: str = "1.0"
    parameters: Mapping[str, Value | Sequence[Value]] = field(default_factory=dict)


@checked
def write_ssp(
    path: str | os.PathLike[str],
    components: Mapping[str, str | os.PathLike[str]],
    connections: Iterable[Wire | tuple[str, str]] = (),
    *,
    system: str | None = None,
    stop: float | None = None,
    step: float | None = None,
    version: str = "1.0",
    parameters: Mapping[str, Value | Sequence[Value]] | None = None,
) -> Path:
    """Write FMUs and their connections as an .ssp file.

    Args:
        path: path of the .ssp file.
        components: paths of the FMUs by component name.
        connections: connections, each from an output, ``component.variable``, to an input.
        system: name of the system; default: the file's.
        stop: default stop time, s.
        step: communication step, s, for masters that read it here (libcosim and others of OSP).
        version: version of SSP: ``1.0``, for FMUs by FMI 2.0 for co-simulation, which masters know, or ``2.0``, for
            those by FMI 3.0 and for model exchange too.
        parameters: values of parameters and start values by ``component.variable``: the number, truth value or text,
            for an array of FMI 3.0 the values of its elements, the last index changing first.

    Returns:
        The path of the file written; it appears whole or not at all.

    Raises:
        FmuError: a file is no FMU that this version of SSP takes, or two declare one unit differently.
        UnknownNameError: a connection or a value names a component or variable that does not exist.
        UsageError: a name, time or connection is invalid, or a variable has no value that may be set.
        ValueRangeError: a value is none of its variable's type.
        MbfmuError: the file cannot be written.
    """
    target = Path(path)
    ending_of(target, (".ssp",))
    for quantity, value in (("stop time", stop), ("communication step", step)):
        if value is not None and not (math.isfinite(value) and value > 0):
            raise UsageError(f"the {quantity} is {value} s; it must be a positive number")
    if version not in VERSIONS:
        raise UsageError(f"there is no SSP version '{version}' here; {nearest(version, VERSIONS)}")
    _check_names(components)
    accepted = VERSIONS[version]
    fmus = {name: parse_fmu(file, *accepted, ADVICE[version]) for name, file in components.items()}
    links = [item if isinstance(item, Wire) else Wire(*item) for item in connections]
    plan = _Plan(fmus, links, system or target.stem, stop, step, version, parameters or {})
    return write_aside(target, _archive(plan))


def read_coupling(path: str | os.PathLike[str]) -> Coupling:
    """Read a coupling from a .toml file; the paths in it start from its folder.

    Raises:
        ModelFileError: the file is missing, does not parse, or has a key that does not belong to a coupling.
    """
    where = os.fspath(path)
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFileError(f"cannot read the coupling '{where}': {reason_of(error)}") from None
    kinds: dict[str, Any] = {
        "components": dict, "connections": list, "system": str, "stop": float, "step": float, "version": str,
        "parameters": dict,
    }  # fmt: skip
    for key, value in data.items():
        if key not in kinds:
            raise ModelFileError(f"coupling '{where}': there is no '{key}'; {nearest(key, kinds)}")
        if isinstance(value, bool) or not isinstance(value, (int, float) if kinds[key] is float else kinds[key]):
            raise ModelFileError(f"coupling '{where}': {key} = {value!r} is not a {kinds[key].__name__}")
    if not all(isinstance(file, str) for file in data.get("components", {}).values()):
        raise ModelFileError(f"coupling '{where}': a component is the path of an FMU")
    if not all(isinstance(text, str) for text in data.get("connections", ())):
        raise ModelFileError(f"coupling '{where}': a connection is written 'A.out=B.in'")
    for name, value in data.get("parameters", {}).items():
        if isinstance(value, dict):
            first = f"{name}.{next(iter(value), 'NAME')}"
            raise ModelFileError(
                f"coupling '{where}': the name of a value in [parameters] is quoted: \"{first}\" = VALUE"
            )
    folder = Path(path).parent
    components = {name: folder / file for name, file in data.pop("components", {}).items()}
    connections = tuple(wire(text) for text in data.pop("connections", ()))
    return Coupling(components, connections, **data)


def wire(text: str) -> Wire:
    """Return the connection that ``A.out=B.in`` or ``A.out=B.in:FACTOR`` stands for.

    Raises:
        UsageError: the text has another form.
    """
    start, equals, rest = (part.strip() for part in text.partition("="))
    end, colon, last = rest.rpartition(":")
    try:
        factor = float(last) if colon else None
    except ValueError:
        raise UsageError(f"connection '{text}': '{last}' is not a number; write A.out=B.in:FACTOR") from None
    if not (equals and "." in start and "." in rest):
        raise UsageError(f"connection '{text}' is not A.out=B.in with components A and B")
    return Wire(start, (end if colon else rest).strip(), factor)


def components(texts: Iterable[str]) -> dict[str, Path]:
    """Return the components that ``NAME=PATH`` and ``PATH`` name.

    Raises:
        UsageError: two components have the same name.
    """
    parts: dict[str, Path] = {}
    for text in texts:
        name, equals, path = (part.strip() for part in text.partition("="))
        file = Path(path if equals else text)
        key = name if equals else file.stem
        if key in parts:
            raise UsageError(f"both '{parts[key]}' and '{file}' are named '{key}': give one a name by NAME=PATH")
        parts[key] = file
    return parts


def assigned(texts: Iterable[str]) -> dict[str, str]:
    """Return the values that ``component.variable=VALUE`` gives.

    Raises:
        UsageError: a text has another form, or two give one value.
    """
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (equals and "." in name and value):
            raise UsageError(f"value '{text}' is not A.NAME=VALUE with a component A")
        if name in values:
            raise UsageError(f"'{name}' has two values: {values[name]} and {value}")
        values[name] = value
    return values


def refuse_source(where: str, start: str, causality: str, sources: Collection[str]) -> None:
    """Raise a UsageError unless a variable of this causality gives values to others.

    Args:
        where: the connection, for the message.
        start: name of the variable.
        causality: as FMI names it.
        sources: causalities of variables that do.
    """
    if causality not in sources:
        raise UsageError(f"{where}: '{start}' is of causality {causality}; only outputs give values")


def refuse_types(where: str, source: str, sink: str, factor: float) -> None:
    """Raise an error if a value of one type is to go to another, or one that is not real is to be multiplied.

    Args:
        where: name of the connection, for messages.
        source: type of the output.
        sink: type of the input.
        factor: factor of the value.

    Raises:
        UsageError: see above.
    """
    if source != sink:
        raise UsageError(f"{where}: a value of type {source} cannot go to type {sink}")
    if factor != 1.0 and source != "Real":
        raise UsageError(f"{where}: a factor goes with real numbers, not with type {source}")


@dataclass(frozen=True)
class _Plan:
    fmus: Mapping[str, OuterFmu]
    connections: list[Wire]
    system: str
    stop: float | None
    step: float | None
    version: str
    parameters: Mapping[str, Value | Sequence[Value]]

    @property
    def types(self) -> Collection[str]:
        """The types of the variables that get connectors."""
        return TYPES if self.version == "1.0" else (*TYPES, "Enumeration")


def _check_names(components: Mapping[str, str | os.PathLike[str]]) -> None:
    if not components:
        raise UsageError("a coupling needs at least one FMU")
    seen: dict[str, str] = {}
    for name in components:
        if not NAME.fullmatch(name):
            raise UsageError(f"'{name}' is not a name for a component (letters, digits, _): give it one by NAME=PATH")
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise UsageError(f"components '{other}' and '{name}' differ by capitals only: give one a name by NAME=PATH")


def _archive(plan: _Plan) -> bytes:
    """Return the ZIP file; it contains the FMUs unchanged, one for all components that share it."""
    sources: dict[bytes, str] = {}
    for name, fmu in plan.fmus.items():
        sources.setdefault(fmu.data, f"resources/{name}.fmu")
    sets = _parameter_sets(plan)
    members = {"SystemStructure.ssd": (_description(plan, sources, sets), zipfile.ZIP_DEFLATED)}
    members |= {_set_name(name): (content, zipfile.ZIP_DEFLATED) for name, content in sets.items()}
    members |= {source: (data, zipfile.ZIP_STORED) for data, source in sources.items()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, (content, compression) in members.items():
            info = zipfile.ZipInfo(name, DATE)
            info.compress_type = compression
            info.external_attr = 0o644 << 16
            archive.writestr(info, content)
    return buffer.getvalue()


def _set_name(component: str) -> str:
    return f"resources/{component}.ssv"


def _parameter_sets(plan: _Plan) -> dict[str, bytes]:
    """Return the parameter sets of the components that have one, by name."""
    by_component: dict[str, dict[str, tuple[FmuVariable, Value | Sequence[Value]]]] = {}
    for text, value in plan.parameters.items():
        name, port, _ = _end(plan.fmus, text)
        by_component.setdefault(name, {})[text] = (port, value)
    return {
        name: parameter_set(plan.system, plan.version, some, plan.fmus[name].units)
        for name, some in by_component.items()
    }


def _description(plan: _Plan, sources: Mapping[bytes, str], sets: Collection[str]) -> bytes:
    """Return SystemStructure.ssd."""
    units: dict[str, ScaledUnit] = {}
    enumerations: dict[str, tuple[tuple[str, int], ...]] = {}
    links = _links(plan, units)
    joined = {(link.get(f"{end}Element"), link.get(f"{end}Connector")) for link in links for end in ("start", "end")}
    names = {"version": plan.version, "name": plan.system, "generationTool": f"mbfmu {mbfmu.__version__}"}
    root = Element("ssd:SystemStructureDescription", NAMESPACES | names)
    system = SubElement(root, "ssd:System", {"name": plan.system})
    elements = SubElement(system, "ssd:Elements")
    for name, fmu in plan.fmus.items():
        head = {
            "name": name,
            "description": fmu.description,
            "type": "application/x-fmu-sharedlibrary",
            "source": sources[fmu.data],
            "implementation": "CoSimulation" if "cs" in fmu.kinds else "ModelExchange",
        }
        node = SubElement(elements, "ssd:Component", {key: value for key, value in head.items() if value})
        shown = [
            port
            for port in fmu.ports.values()
            if port.type in plan.types and (port.causality == "output" or (name, port.name) in joined)
        ]
        if shown:
            connectors = SubElement(node, "ssd:Connectors")
            for port in shown:
                unit = fmu.units.get(port.unit)
                known = unit is not None and units.setdefault(unit.name, unit) == unit
                named = _named_enumeration(enumerations, name, port)
                _connector(connectors, port, port.unit if known else "", named)
        if name in sets:
            bindings = SubElement(node, "ssd:ParameterBindings")
            SubElement(bindings, "ssd:ParameterBinding", {"source": _set_name(name)})
    if links:
        SubElement(system, "ssd:Connections").extend(links)
    _simulation_information(system, plan)
    add_definitions(root, "ssd", enumerations, units)
    _experiment(root, plan)
    return document(root)


def _connector(parent: Element, port: FmuVariable, unit: str, named: str) -> None:
    head = {"name": port.name, "kind": port.causality, "description": port.description}
    node = SubElement(parent, "ssd:Connector", {key: value for key, value in head.items() if value})
    facts = {"unit": unit, "name": named}
    SubElement(node, f"ssc:{port.own or port.type}", {key: value for key, value in facts.items() if value})
    for size in port.shape:
        SubElement(node, "ssc:Dimension", {"size": str(size)})


def _named_enumeration(known: dict[str, tuple[tuple[str, int], ...]], component: str, port: FmuVariable) -> str:
    """Enter the enumeration of a variable, and return its name, with the component's where it is another's too."""
    if port.type != "Enumeration":
        return ""
    name = port.declared if known.get(port.declared, port.items) == port.items else f"{component}.{port.declared}"
    known[name] = port.items
    return name


def _experiment(root: Element, plan: _Plan) -> None:
    if plan.stop is None and plan.step is None:
        return
    times = {"startTime": "0.0"} | ({} if plan.stop is None else {"stopTime": repr(float(plan.stop))})
    node = SubElement(root, "ssd:DefaultExperiment", times)
    if plan.step is not None:
        notes = SubElement(node, "ssd:Annotations")
        note = SubElement(notes, "ssc:Annotation", {"type": "com.opensimulationplatform"})
        algorithm = SubElement(note, "osp:Algorithm")
        SubElement(algorithm, "osp:FixedStepAlgorithm", {"baseStepSize": repr(float(plan.step))})


def _simulation_information(system: Element, plan: _Plan) -> None:
    """Add the method by which OMSimulator runs a system: it has co-simulation by steps, or a solver, for all of it."""
    notes = SubElement(system, "ssd:Annotations")
    note = SubElement(notes, "ssc:Annotation", {"type": "org.openmodelica"})
    information = SubElement(SubElement(note, "oms:Annotations"), "oms:SimulationInformation")
    step = repr(float(plan.step or STEP))
    if any("cs" in fmu.kinds for fmu in plan.fmus.values()):
        SubElement(information, "oms:FixedStepMaster", {"description": "oms-ma", "stepSize": step, **TOLERANCES})
        return
    steps = {"initialStepSize": "1e-06", "minimumStepSize": "1e-12", "maximumStepSize": step}
    SubElement(information, "oms:VariableStepSolver", {"description": "cvode", **TOLERANCES, **steps})


def _links(plan: _Plan, units: dict[str, ScaledUnit]) -> list[Element]:
    """Check the connections; return their elements, and enter their units by name."""
    driven: dict[str, str] = {}
    nodes = []
    for item in plan.connections:
        first, source, unit = _end(plan.fmus, item.start)
        second, sink, wanted = _end(plan.fmus, item.end)
        where = f"connection {item.start}={item.end}"
        refuse_source(where, item.start, source.causality, SOURCES)
        if sink.causality != "input":
            raise UsageError(f"{where}: '{item.end}' is of causality {sink.causality}; only inputs take values")
        refuse_types(where, source.type, sink.type, item.scale)
        if source.type not in plan.types:
            raise UsageError(f"{where}: masters connect no values of type {source.type}")
        if source.items != sink.items:
            raise UsageError(f"{where}: the enumerations '{source.declared}' and '{sink.declared}' have other items")
        if source.shape != sink.shape:
            raise UsageError(f"{where}: the shape {list(source.shape)} cannot go to the shape {list(sink.shape)}")
        if item.end in driven:
            raise UsageError(
                f"{where}: '{item.end}' is connected to '{driven[item.end]}' already; an input takes one value"
            )
        driven[item.end] = item.start
        if not (math.isfinite(item.scale) and item.scale):
            raise UsageError(f"{where}: the factor is {item.factor}; it must be a number other than zero")
        factor, offset = conversion(where, source.unit, sink.unit, unit, wanted, item.factor)
        for one in (unit, wanted):
            if one is not None and units.setdefault(one.name, one) != one:
                raise FmuError(f"{where}: {said(one)} is {said(units[one.name])} elsewhere in the coupling")
        head = {"startElement": first, "startConnector": source.name, "endElement": second, "endConnector": sink.name}
        node = Element("ssd:Connection", head)
        between = unit is not None and wanted is not None and unit.exponents != wanted.exponents
        if (factor, offset) != (1.0, 0.0) or between:
            node.set("suppressUnitConversion", "true")
            change = {"factor": repr(factor)} | ({"offset": repr(offset)} if offset else {})
            SubElement(node, "ssc:LinearTransformation", change)
        nodes.append(node)
    return nodes


def _end(fmus: Mapping[str, OuterFmu], text: str) -> tuple[str, FmuVariable, ScaledUnit | None]:
    """Return component, variable and unit that ``component.variable`` names."""
    name, _, variable = text.partition(".")
    if name not in fmus:
        raise UnknownNameError(f"'{text}': there is no component '{name}'; {nearest(name, fmus)}")
    fmu = fmus[name]
    if variable not in fmu.ports:
        raise UnknownNameError(f"'{text}': '{name}' has no variable '{variable}'; {nearest(variable, fmu.ports)}")
    port = fmu.ports[variable]
    return name, port, fmu.units.get(port.unit)

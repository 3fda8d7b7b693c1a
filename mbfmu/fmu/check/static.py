"""What can be said of an FMU without running it: the XSD, FMPy's validation, and mbfmu's own rules.

A rule is one function here and one row in `RULES` at the end. The function's name is the rule's id, its
docstring the claim, with the section of the FMI 2.0.4 document it stands on. It yields (message, line) for
each breach. Rules see only documents that are valid against the XSD, so they convert numbers blindly.
"""

import importlib.resources
import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from types import MappingProxyType
from typing import Any

from fmpy.model_description import ValidationError, read_model_description
from lxml import etree

from mbfmu.fmu.check.archive import DESCRIPTION, Archive
from mbfmu.fmu.check.problem import Problem

Finding = tuple[str, int | None]

SLAVE_MODULE = "resources/slavemodule.txt"

TYPES = ("Real", "Integer", "Boolean", "String", "Enumeration")

INITIAL: Mapping[tuple[str, str], tuple[str, ...]] = MappingProxyType(
    {
        ("parameter", "fixed"): ("exact",),
        ("parameter", "tunable"): ("exact",),
        ("calculatedParameter", "fixed"): ("calculated", "approx"),
        ("calculatedParameter", "tunable"): ("calculated", "approx"),
        ("input", "discrete"): ("",),
        ("input", "continuous"): ("",),
        ("output", "constant"): ("exact",),
        ("output", "discrete"): ("calculated", "exact", "approx"),
        ("output", "continuous"): ("calculated", "exact", "approx"),
        ("local", "constant"): ("exact",),
        ("local", "fixed"): ("calculated", "approx"),
        ("local", "tunable"): ("calculated", "approx"),
        ("local", "discrete"): ("calculated", "exact", "approx"),
        ("local", "continuous"): ("calculated", "exact", "approx"),
        ("independent", "continuous"): ("",),
    }
)
"""Legal values of `initial` for (causality, variability), the default first; '' where none may be written."""

LOG_CATEGORIES = frozenset(
    f"log{name}"
    for name in (
        "Events",
        "SingularLinearSystems",
        "NonlinearSystems",
        "DynamicStateSelection",
        "StatusWarning",
        "StatusDiscard",
        "StatusError",
        "StatusFatal",
        "StatusPending",
        "All",
    )
)

FMPY_CHARACTERS = 10_000
"""Characters of variable names up to which FMPy may parse them as well."""

LIBRARY_SUFFIXES = {"win": (".dll", ".lib"), "linux": (".so", ".a"), "darwin": (".dylib", ".a")}

_INDICES = r"(?:\[\d+(?:,\d+)*\])?"
_QUOTED = r"""'(?:[\w!#$%&()*+,\-./:;<>=?@\[\]^{}|~ ]|\\['"?\\abfnrtv])+'"""
_PART = rf"(?:[A-Za-z_]\w*|{_QUOTED}){_INDICES}"
_IDENTIFIER = rf"{_PART}(?:\.{_PART})*"
_DECLARATION = re.compile(rb"""<\?xml[^>]*\sencoding=["']utf-8["']""", re.IGNORECASE)
_SLAVE_CLASS = re.compile(rb"^class\s+\w+\s*\([^()]*\bFmi2Slave\b[^()]*\)\s*:", re.MULTILINE)
_NAME = re.compile(rf"{_IDENTIFIER}|der\({_IDENTIFIER}(?:,\d+)?\)", re.ASCII)


@dataclass(frozen=True)
class Variable:
    """A ScalarVariable; `attributes` are its type's, completed from its declared type."""

    index: int
    name: str
    reference: int
    type: str
    causality: str
    variability: str
    initial: str
    """As written; '' where nothing is."""
    line: int
    attributes: Mapping[str, str]

    @property
    def start(self) -> str | None:
        """The start value as written."""
        return self.attributes.get("start")

    @property
    def initialised(self) -> str:
        """The `initial` that holds: the one written if it is legal, else the default; '' if there is none."""
        legal = INITIAL.get((self.causality, self.variability), ("",))
        return self.initial if self.initial in legal else legal[0]

    @property
    def derivative_of(self) -> int | None:
        """Index of the variable this one is the derivative of."""
        index = self.attributes.get("derivative")
        return None if index is None else int(index)


@dataclass(frozen=True)
class Fmu:
    """A schema-valid FMI 2.0 co-simulation FMU, read but not run."""

    archive: Archive
    root: Any
    units: Mapping[str, Collection[str]]
    """Display units of each unit."""
    types: Mapping[str, Any]
    """The Real, Integer... element of each SimpleType."""
    variables: tuple[Variable, ...]

    @property
    def slave(self) -> Any:
        """The CoSimulation element."""
        return self.root.find("CoSimulation")

    @property
    def identifier(self) -> str:
        """The modelIdentifier of the co-simulation interface."""
        return str(self.slave.get("modelIdentifier"))

    @property
    def is_pythonfmu(self) -> bool:
        """Whether the FMU runs a Python slave in pythonfmu's library."""
        return SLAVE_MODULE in self.archive.names

    @property
    def experiment(self) -> Mapping[str, float]:
        """What the DefaultExperiment gives of startTime, stopTime, tolerance and stepSize."""
        element = self.root.find("DefaultExperiment")
        names = ("startTime", "stopTime", "tolerance", "stepSize")
        return {} if element is None else {n: float(element.get(n)) for n in names if n in element.attrib}

    def can(self, flag: str) -> bool:
        """Whether a capability flag is set."""
        return self.slave.get(flag, "false").strip() in ("true", "1")

    def variable(self, index: int) -> Variable | None:
        """The variable with a 1-based index, if there is one."""
        return self.variables[index - 1] if 1 <= index <= len(self.variables) else None

    def unknowns(self, section: str) -> list[Any]:
        """The entries of a part of ModelStructure."""
        return list(self.root.iterfind(f"ModelStructure/{section}/Unknown"))


Rule = Callable[[Fmu], Iterator[Finding]]


def _typed(element: Any) -> Any:
    return next(child for child in element if child.tag in TYPES)


def _variable(index: int, element: Any, types: Mapping[str, Any]) -> Variable:
    typed = _typed(element)
    declared = types.get(typed.get("declaredType"))
    return Variable(
        index=index,
        name=element.get("name"),
        reference=int(element.get("valueReference")),
        type=typed.tag,
        causality=element.get("causality", "local"),
        variability=element.get("variability", "continuous"),
        initial=element.get("initial", ""),
        line=element.sourceline,
        attributes={**({} if declared is None else declared.attrib), **typed.attrib},
    )


def _read(archive: Archive, root: Any) -> Fmu:
    types = {t.get("name"): _typed(t) for t in root.iterfind("TypeDefinitions/SimpleType")}
    scalars = enumerate(root.iterfind("ModelVariables/ScalarVariable"), 1)
    return Fmu(
        archive=archive,
        root=root,
        units={
            u.get("name"): {d.get("name") for d in u.iterfind("DisplayUnit")}
            for u in root.iterfind("UnitDefinitions/Unit")
        },
        types=types,
        variables=tuple(_variable(index, scalar, types) for index, scalar in scalars),
    )


def check_description(archive: Archive) -> tuple[Fmu | None, list[Problem]]:
    """Apply the XSD, FMPy and all static rules; no Fmu if the document is too broken to run."""
    try:
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
        root: Any = etree.fromstring(archive.read(DESCRIPTION), parser)
    except etree.LxmlError as error:
        return None, [Problem("xml", f"not well-formed XML: {error}", getattr(error, "lineno", None))]
    if root.getroottree().docinfo.doctype:
        return None, [Problem("xml-doctype", "a document type and entities have no place here; remove them")]

    version = root.get("fmiVersion")
    if version != "2.0":
        return None, [Problem("fmi-version", f"only FMI 2.0 co-simulation is supported, not FMI {version}")]
    if root.find("CoSimulation") is None:
        return None, [Problem("co-simulation", "only FMI 2.0 co-simulation is supported, not model exchange")]
    schema = _schema()
    if not schema.validate(root):
        return None, [Problem("schema", entry.message, entry.line) for entry in schema.error_log]

    fmu = _read(archive, root)
    problems = []
    for rule in RULES:
        rule_id = rule.__name__.replace("_", "-")
        problems += [Problem(rule_id, message, line) for message, line in rule(fmu)]
    return fmu, [*_second_opinion(fmu, problems), *problems]


@cache
def _schema() -> Any:
    with importlib.resources.as_file(importlib.resources.files("fmpy") / "schema" / "fmi2") as folder:
        return etree.XMLSchema(etree.parse(str(folder / "fmi2ModelDescription.xsd")))


def _second_opinion(fmu: Fmu, known: Collection[Problem]) -> Iterator[Problem]:
    """FMPy's findings, less what our rules have said: on a line FMPy names or, if it names none, on any.

    This is fmpy.validation.validate_fmu, but for names where they are many: FMPy takes some 3 ms to parse a name,
    and the rule variable-name says the same.
    """
    findings: list[str] = []
    try:
        read_model_description(
            BytesIO(fmu.archive.data),
            validate=True,
            validate_variable_names=sum(len(v.name) for v in fmu.variables) <= FMPY_CHARACTERS,
            validate_model_structure=True,
        )
    except ValidationError as error:
        findings = error.problems
    except Exception as error:  # noqa: BLE001 - FMPy raises bare exceptions
        findings = [str(error)]
    spoken = {problem.line for problem in known if problem.line is not None}
    for text in findings:
        lines = [int(line) for line in re.findall(r"\(line (\d+)", text)]
        if not spoken.intersection(lines or spoken):
            yield Problem("fmpy", text, lines[0] if lines else None)


# the document and its capabilities


def xml_encoding(fmu: Fmu) -> Iterator[Finding]:
    """The document is encoded in UTF-8 and says so (2.2)."""
    if not _DECLARATION.match(fmu.archive.read(DESCRIPTION)):
        yield 'the first line must be <?xml version="1.0" encoding="UTF-8"?>', 1


def guid(fmu: Fmu) -> Iterator[Finding]:
    """The guid is not empty; a master hands it to fmi2Instantiate (2.2.1)."""
    if not fmu.root.get("guid").strip():
        yield "the guid is empty; write a fingerprint of the description", fmu.root.sourceline


def generation_date(fmu: Fmu) -> Iterator[Finding]:
    """The date of generation is in UTC and says so with Z (2.2.1); VDMCheck2 refuses +00:00."""
    date = fmu.root.get("generationDateAndTime")
    if date is not None and not date.strip().endswith("Z"):
        yield f"generationDateAndTime '{date}' must be in UTC and end with 'Z'", fmu.root.sourceline


def model_identifier(fmu: Fmu) -> Iterator[Finding]:
    """The modelIdentifier is a C identifier, for it prefixes C functions (2.2.1, 4.3.1)."""
    if not re.fullmatch(r"[A-Za-z_]\w*", fmu.identifier, re.ASCII):
        yield f"modelIdentifier '{fmu.identifier}' is not a C identifier", fmu.slave.sourceline


def platform_binary(fmu: Fmu) -> Iterator[Finding]:
    """Each binaries/<platform> holds a library named modelIdentifier; without one there are sources (2.3)."""
    files = [name.split("/") for name in fmu.archive.names]
    folders = {parts[1] for parts in files if parts[0] == "binaries" and len(parts) > 2}
    for folder in sorted(folders):
        kinds = [ends for start, ends in LIBRARY_SUFFIXES.items() if folder.startswith(start)]
        suffixes = kinds[0] if kinds else {end for ends in LIBRARY_SUFFIXES.values() for end in ends}
        wanted = {fmu.identifier + suffix for suffix in suffixes}
        if not any(parts[:2] == ["binaries", folder] and parts[-1] in wanted for parts in files):
            yield f"binaries/{folder} holds none of {', '.join(sorted(wanted))}", fmu.slave.sourceline
    if not folders and not any(parts[0] == "sources" for parts in files):
        yield "the FMU has neither binaries nor sources; no master can run it", None


def source_files(fmu: Fmu) -> Iterator[Finding]:
    """Every source file that is listed lies in sources/ (2.3, 4.3.1)."""
    for file in fmu.slave.iterfind("SourceFiles/File"):
        if f"sources/{file.get('name')}" not in fmu.archive.names:
            yield f"the listed source file sources/{file.get('name')} is not in the archive", file.sourceline


def state_flags(fmu: Fmu) -> Iterator[Finding]:
    """A state that can be serialised can be got and set (4.3.1)."""
    if fmu.can("canSerializeFMUstate") and not fmu.can("canGetAndSetFMUstate"):
        yield "canSerializeFMUstate needs canGetAndSetFMUstate as well", fmu.slave.sourceline


def default_experiment(fmu: Fmu) -> Iterator[Finding]:
    """There is a default experiment that a master can run (2.2.5)."""
    values = fmu.experiment
    line = next((element.sourceline for element in fmu.root.iterfind("DefaultExperiment")), None)
    if "stopTime" not in values:
        yield "there is no DefaultExperiment with a stopTime; give one, with the stepSize the FMU likes", line
    for name, value in values.items():
        if not math.isfinite(value) or (name in ("stepSize", "tolerance") and value <= 0.0):
            yield f"DefaultExperiment {name}={value:g} is not usable", line
    if values.get("stopTime", math.inf) <= values.get("startTime", 0.0):
        yield f"DefaultExperiment stopTime={values['stopTime']:g} is not after startTime", line


def log_category(fmu: Fmu) -> Iterator[Finding]:
    """Log categories are listed once and bear the standard names, which masters filter by (2.2.4)."""
    seen = set()
    for category in fmu.root.iterfind("LogCategories/Category"):
        name = category.get("name")
        if name not in LOG_CATEGORIES:
            yield f"log category '{name}' is none of {', '.join(sorted(LOG_CATEGORIES))}", category.sourceline
        if name in seen:
            yield f"log category '{name}' is listed twice", category.sourceline
        seen.add(name)


# variables


def variable_name(fmu: Fmu) -> Iterator[Finding]:
    """With variableNamingConvention="structured" each name follows the grammar (2.2.9)."""
    if fmu.root.get("variableNamingConvention") == "structured":
        for v in fmu.variables:
            if not _NAME.fullmatch(v.name):
                yield f"'{v.name}' is not a structured name such as 'arm.frame_a.r_0[1]'", v.line


def name_unique(fmu: Fmu) -> Iterator[Finding]:
    """Variables and types all have names of their own, and so have units (2.2.2, 2.2.3, 2.2.7)."""
    unit, simple_type, variable = "UnitDefinitions/Unit", "TypeDefinitions/SimpleType", "ModelVariables/*"
    for group in ([unit], [simple_type, variable]):
        seen = set()
        for element in (found for path in group for found in fmu.root.iterfind(path)):
            name = element.get("name")
            if name in seen:
                yield f"the name '{name}' is already in use", element.sourceline
            seen.add(name)


def alias(fmu: Fmu) -> Iterator[Finding]:
    """Variables that share a value reference can be one variable (2.2.7).

    At most one can be set or starts anywhere, constants keep to constants of the same value, units are equal.
    """
    groups = defaultdict(list)
    for v in fmu.variables:
        groups["Integer" if v.type == "Enumeration" else v.type, v.reference].append(v)
    for (_, reference), group in groups.items():
        names = f"the aliases {', '.join(v.name for v in group)} (valueReference {reference})"
        constants = [v for v in group if v.variability == "constant"]
        others = [v for v in group if v.variability != "constant"]
        if constants and (others or len({v.start for v in constants}) > 1):
            yield f"{names} must all be constant with one start value, or none of them", group[0].line
        settable = [v for v in others if v.causality == "input" or v.initialised in ("exact", "approx")]
        if len(settable) > 1 or sum(v.start is not None for v in others) > 1:
            yield f"{names} can be set in more than one place; give each its own reference", group[0].line
        if len({v.attributes.get("unit") for v in group}) > 1:
            yield f"{names} have different units", group[0].line


def independent(fmu: Fmu) -> Iterator[Finding]:
    """At most one variable is independent, and it is Real (2.2.7)."""
    times = [v for v in fmu.variables if v.causality == "independent"]
    for v in times[1:]:
        yield f"'{v.name}' is a second independent variable besides '{times[0].name}'", v.line
    for v in times:
        if v.type != "Real":
            yield f"the independent variable '{v.name}' must be Real", v.line


def combination(fmu: Fmu) -> Iterator[Finding]:
    """Causality, variability and initial are one of the legal combinations (2.2.7)."""
    for v in fmu.variables:
        allowed = INITIAL.get((v.causality, v.variability))
        if allowed is None:
            legal = sorted(variability for causality, variability in INITIAL if causality == v.causality)
            yield f"'{v.name}' is {v.causality}: variability '{v.variability}' must be one of {legal}", v.line
        elif v.initial and v.initial not in allowed:
            mend = f"must be one of {list(allowed)}" if allowed[0] else "must not be written"
            yield f"'{v.name}' is {v.variability} {v.causality}: initial '{v.initial}' {mend}", v.line


def continuous_type(fmu: Fmu) -> Iterator[Finding]:
    """Only Real variables are continuous; for others variability has to be written (2.2.7)."""
    for v in fmu.variables:
        if v.variability == "continuous" and v.type != "Real" and v.causality in ("input", "output", "local"):
            yield f"'{v.name}' is {v.type}, so its variability cannot be continuous; write 'discrete'", v.line


def start_missing(fmu: Fmu) -> Iterator[Finding]:
    """Inputs and variables that start exactly or approximately have a start value (2.2.7)."""
    for v in fmu.variables:
        if v.start is None and (v.causality == "input" or v.initialised in ("exact", "approx")):
            yield f"'{v.name}' ({v.causality}, {v.initialised or 'no initial'}) needs a start value", v.line


def start_forbidden(fmu: Fmu) -> Iterator[Finding]:
    """Calculated variables and the independent one have no start value (2.2.7)."""
    for v in fmu.variables:
        if v.start is not None and (v.causality == "independent" or v.initialised == "calculated"):
            yield f"'{v.name}' must have no start value, or initial 'exact' or 'approx' where legal", v.line


def start_finite(fmu: Fmu) -> Iterator[Finding]:
    """Start values are finite numbers (2.2.7)."""
    for v in fmu.variables:
        if v.type == "Real" and v.start is not None and not math.isfinite(float(v.start)):
            yield f"the start value of '{v.name}' is {v.start}", v.line


def start_range(fmu: Fmu) -> Iterator[Finding]:
    """Start values lie between min and max (2.2.3, 2.2.7)."""
    for v in fmu.variables:
        if v.type in ("Boolean", "String"):
            continue
        low, high = float(v.attributes.get("min", "-inf")), float(v.attributes.get("max", "inf"))
        if low > high:
            yield f"'{v.name}' has min {low:g} above max {high:g}", v.line
        elif v.start is not None and math.isfinite(float(v.start)) and not low <= float(v.start) <= high:
            yield f"the start value {v.start} of '{v.name}' is outside {low:g} to {high:g}", v.line


def unit_undefined(fmu: Fmu) -> Iterator[Finding]:
    """The unit of each variable is defined, and so is its display unit (2.2.2, 2.2.7)."""
    for v in fmu.variables:
        unit, display = v.attributes.get("unit"), v.attributes.get("displayUnit")
        if unit is not None and unit not in fmu.units:
            yield f"the unit '{unit}' of '{v.name}' is not in UnitDefinitions", v.line
        elif display is not None and display not in fmu.units.get(unit or "", ()):
            yield f"the display unit '{display}' of '{v.name}' is not one of unit '{unit}'", v.line


def unit_missing(fmu: Fmu) -> Iterator[Finding]:
    """If the FMU defines units, each Real has one, be it '1' (2.2.2): no unit looks like a forgotten one."""
    for v in fmu.variables:
        if fmu.units and v.type == "Real" and "unit" not in v.attributes:
            yield f"'{v.name}' has no unit; write unit '1' if it is a pure number", v.line


def declared_type(fmu: Fmu) -> Iterator[Finding]:
    """A declared type exists and is of the variable's own kind (2.2.3)."""
    for v in fmu.variables:
        name = v.attributes.get("declaredType")
        if name is not None and name not in fmu.types:
            yield f"the declared type '{name}' of '{v.name}' is not in TypeDefinitions", v.line
        elif name is not None and fmu.types[name].tag != v.type:
            yield f"'{v.name}' is {v.type} but its declared type '{name}' is {fmu.types[name].tag}", v.line


# model structure


def _listing(fmu: Fmu, section: str, expected: Collection[int]) -> Iterator[Finding]:
    """Compare the indices in a part of ModelStructure with those that belong there."""
    seen = set()
    for unknown in fmu.unknowns(section):
        index, line = int(unknown.get("index")), unknown.sourceline
        v = fmu.variable(index)
        if v is None:
            yield f"{section} names index {index}, but there are {len(fmu.variables)} variables", line
        elif index not in expected:
            yield f"'{v.name}' (index {index}) does not belong in {section}", line
        elif index in seen:
            yield f"'{v.name}' (index {index}) stands twice in {section}", line
        seen.add(index)
    for v in fmu.variables:
        if v.index in expected and v.index not in seen:
            yield f"'{v.name}' (index {v.index}) is missing in ModelStructure/{section}", v.line


def outputs(fmu: Fmu) -> Iterator[Finding]:
    """Outputs lists every output once and nothing else (2.2.8)."""
    yield from _listing(fmu, "Outputs", {v.index for v in fmu.variables if v.causality == "output"})


def derivatives(fmu: Fmu) -> Iterator[Finding]:
    """A derivative names the Real it derives, and Derivatives lists derivatives only (2.2.7, 2.2.8)."""
    rates = {v.index: v.derivative_of for v in fmu.variables if v.derivative_of is not None}
    for index, state_index in rates.items():
        v, state = fmu.variables[index - 1], fmu.variable(state_index)
        if state is None or state.type != "Real":
            yield f"'{v.name}' is the derivative of index {state_index}, which is no Real variable", v.line
    listed = {int(unknown.get("index")) for unknown in fmu.unknowns("Derivatives")}
    yield from _listing(fmu, "Derivatives", listed & set(rates))


def initial_unknowns(fmu: Fmu) -> Iterator[Finding]:
    """InitialUnknowns lists, sorted by index, all that initialisation computes and shows (2.2.8).

    These are the outputs, exposed states and their derivatives that do not start exactly, and the calculated
    parameters.
    """
    exposed = {int(unknown.get("index")) for unknown in fmu.unknowns("Derivatives")}
    exposed |= {v.derivative_of for v in fmu.variables if v.index in exposed and v.derivative_of is not None}
    expected = {
        v.index
        for v in fmu.variables
        if v.causality == "calculatedParameter"
        or ((v.causality == "output" or v.index in exposed) and v.initialised in ("approx", "calculated"))
    }
    yield from _listing(fmu, "InitialUnknowns", expected)
    unknowns = fmu.unknowns("InitialUnknowns")
    indices = [int(unknown.get("index")) for unknown in unknowns]
    if indices != sorted(indices):
        yield "InitialUnknowns must be sorted by index", unknowns[0].sourceline


def dependencies(fmu: Fmu) -> Iterator[Finding]:
    """Dependencies name knowns in ascending order, and as many kinds as knowns (2.2.8).

    Knowns are inputs, states and time; while initialising, inputs, time and all that starts exactly.
    """
    states = {v.derivative_of for v in fmu.variables}
    for section in ("Outputs", "Derivatives", "InitialUnknowns"):
        for unknown in fmu.unknowns(section):
            where, line = f"{section} entry with index {unknown.get('index')}", unknown.sourceline
            indices = [int(index) for index in unknown.get("dependencies", "").split()]
            kinds = unknown.get("dependenciesKind", "").split()
            if "dependenciesKind" in unknown.attrib and len(kinds) != len(indices):
                yield f"the {where} has {len(indices)} dependencies but {len(kinds)} kinds", line
            if indices != sorted(set(indices)):
                yield f"the dependencies of the {where} must ascend, each once", line
            for index in indices:
                v = fmu.variable(index)
                if v is None:
                    yield f"the {where} depends on index {index}, which does not exist", line
                    continue
                known = v.initialised == "exact" if section == "InitialUnknowns" else index in states
                if not known and v.causality not in ("input", "independent"):
                    yield f"the {where} cannot depend on '{v.name}', no known there; leave it out", line


# traps of pythonfmu 0.7


def execution_tool(fmu: Fmu) -> Iterator[Finding]:
    """A slave that comes with the FMU needs no tool (4.3.1); PyFMI refuses an FMU that says it does."""
    if fmu.is_pythonfmu and fmu.can("needsExecutionTool"):
        yield "the slave is inside the FMU: write needsExecutionTool=false", fmu.slave.sourceline


def interpolate_inputs(fmu: Fmu) -> Iterator[Finding]:
    """What is declared works (4.3.1): pythonfmu answers fmi2Error to every input derivative."""
    if fmu.is_pythonfmu and fmu.can("canInterpolateInputs"):
        yield "pythonfmu takes no input derivatives: write canInterpolateInputs=false", fmu.slave.sourceline


def module_name(fmu: Fmu) -> Iterator[Finding]:
    """Packed modules have names no other FMU has, by a hash, for the FMUs of a process share `sys.modules`.

    Of two FMUs with a helper module of the same name, the second silently runs the first one's code.
    """
    if fmu.is_pythonfmu:
        parts = (name.split("/") for name in fmu.archive.names if name.endswith(".py"))
        modules = {p[1].removesuffix(".py") for p in parts if p[0] == "resources" and len(p) > 1}
        for module in sorted(modules - {"pythonfmu"}):
            if not re.search("[0-9a-fA-F]{8}", module):
                yield f"the packed module '{module}' needs a unique name, with 8 digits of a hash", None


def slave_script(fmu: Fmu) -> Iterator[Finding]:
    """slavemodule.txt names a packed script that has a class derived from Fmi2Slave."""
    if not fmu.is_pythonfmu:
        return
    module = fmu.archive.read(SLAVE_MODULE).decode(errors="replace").split("\n", 1)[0]
    script = f"resources/{module}.py"
    if not module.isidentifier() or script not in fmu.archive.names:
        yield f"{SLAVE_MODULE} names {module!r}, but there is no {script!r}", None
    elif not _SLAVE_CLASS.search(fmu.archive.read(script)):
        yield f"{script} has no class derived from Fmi2Slave", None


RULES: tuple[Rule, ...] = (
    xml_encoding,
    guid,
    generation_date,
    model_identifier,
    platform_binary,
    source_files,
    state_flags,
    default_experiment,
    log_category,
    variable_name,
    name_unique,
    alias,
    independent,
    combination,
    continuous_type,
    start_missing,
    start_forbidden,
    start_finite,
    start_range,
    unit_undefined,
    unit_missing,
    declared_type,
    outputs,
    derivatives,
    initial_unknowns,
    dependencies,
    execution_tool,
    interpolate_inputs,
    module_name,
    slave_script,
)

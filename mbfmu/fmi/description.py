"""An FMU as it describes itself: its archive, its description, its variables with the defaults filled in."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from mbfmu.fmi.archive import Archive
from mbfmu.fmi.plan import SLAVE_MODULE

KINDS = ("ModelExchange", "CoSimulation", "ScheduledExecution")
"""Names of the elements of modelDescription.xml that state the kinds of an FMU."""

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


@dataclass(frozen=True)
class ScalarVariable:
    """A ScalarVariable; `attributes` are its type's, completed from its declared type."""

    index: int
    name: str
    reference: int
    type: str
    causality: str
    variability: str
    initial: str
    """Value of the attribute `initial` as the file has it; '' where it has none."""
    line: int
    element: Any
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
    def settable(self) -> bool:
        """Whether a master may set it at some time."""
        return self.variability != "constant" and (self.causality == "input" or self.initialised in ("exact", "approx"))

    @property
    def derivative_of(self) -> int | None:
        """Index of the variable this one is the derivative of."""
        index = self.attributes.get("derivative")
        return None if index is None else int(index)

    @property
    def base(self) -> str:
        """The type in which its value is got and set."""
        return "Integer" if self.type == "Enumeration" else self.type


@dataclass(frozen=True)
class FmuDescription:
    """A schema-valid FMU of any version: its archive and the root of its description."""

    archive: Archive
    root: Any

    @property
    def version(self) -> str:
        """The version of FMI."""
        return str(self.root.get("fmiVersion"))

    @property
    def interfaces(self) -> list[Any]:
        """The elements of the kinds of FMU it is; the schema sees to at least one."""
        return [element for kind in KINDS for element in self.root.iterfind(kind)]

    @property
    def identifiers(self) -> list[str]:
        """The modelIdentifiers of the interfaces, each once."""
        return list(dict.fromkeys(str(element.get("modelIdentifier")) for element in self.interfaces))

    @property
    def experiment(self) -> Mapping[str, float]:
        """Numbers that the DefaultExperiment gives: of startTime, stopTime, tolerance and stepSize."""
        element = self.root.find("DefaultExperiment")
        names = ("startTime", "stopTime", "tolerance", "stepSize")
        return {} if element is None else {n: float(element.get(n)) for n in names if n in element.attrib}

    @property
    def platforms(self) -> Mapping[str, Collection[str]]:
        """Names of the files in each folder of binaries/, without the way to them."""
        files = [name.split("/") for name in self.archive.names if not name.endswith("/")]
        endings: dict[str, set[str]] = {}
        for parts in files:
            if parts[0] == "binaries" and len(parts) > 2:
                endings.setdefault(parts[1], set()).add(parts[-1])
        return endings


@dataclass(frozen=True)
class Fmu(FmuDescription):
    """A schema-valid FMI 2.0 FMU, read but not run."""

    units: Mapping[str, Collection[str]]
    """Display units of each unit."""
    types: Mapping[str, Any]
    """The Real, Integer... element of each SimpleType."""
    variables: tuple[ScalarVariable, ...]

    @property
    def slave(self) -> Any:
        """The CoSimulation element; None if the FMU is not for co-simulation."""
        return self.root.find("CoSimulation")

    @property
    def exchange(self) -> Any:
        """The ModelExchange element; None if the FMU is not for model exchange."""
        return self.root.find("ModelExchange")

    @property
    def is_pythonfmu(self) -> bool:
        """Whether the FMU runs a Python slave in pythonfmu's library."""
        return SLAVE_MODULE in self.archive.names and self.slave is not None

    @property
    def structured(self) -> bool:
        """Whether the names of the variables follow the structured convention."""
        return bool(self.root.get("variableNamingConvention") == "structured")

    @property
    def states(self) -> list[tuple[ScalarVariable, ScalarVariable]]:
        """The continuous states with their derivatives, in the order of Derivatives; those that are variables."""
        rates = (self.variable(int(unknown.get("index"))) for unknown in self.unknowns("Derivatives"))
        pairs = ((self.variable(rate.derivative_of or 0), rate) for rate in rates if rate is not None)
        return [(state, rate) for state, rate in pairs if state is not None]

    def variable(self, index: int) -> ScalarVariable | None:
        """Return the variable with a 1-based index, if there is one."""
        return self.variables[index - 1] if 1 <= index <= len(self.variables) else None

    def unknowns(self, section: str) -> list[Any]:
        """Return the entries of a part of ModelStructure."""
        return list(self.root.iterfind(f"ModelStructure/{section}/Unknown"))


def claims(interface: Any, flag: str) -> bool:
    """Return whether a capability flag of a CoSimulation or ModelExchange element is set."""
    return interface.get(flag, "false").strip() in ("true", "1")


def typed(element: Any) -> Any:
    """Return the Real, Integer... element in a ScalarVariable or SimpleType."""
    return next(child for child in element if child.tag in TYPES)


def read_description(archive: Archive, root: Any) -> Fmu:
    """Return the FMU a schema-valid description describes."""
    types = {t.get("name"): typed(t) for t in root.iterfind("TypeDefinitions/SimpleType")}
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


def _variable(index: int, element: Any, types: Mapping[str, Any]) -> ScalarVariable:
    type_element = typed(element)
    declared = types.get(type_element.get("declaredType"))
    return ScalarVariable(
        index=index,
        name=element.get("name"),
        reference=int(element.get("valueReference")),
        type=type_element.tag,
        causality=element.get("causality", "local"),
        variability=element.get("variability", "continuous"),
        initial=element.get("initial", ""),
        line=element.sourceline,
        element=element,
        attributes={**({} if declared is None else declared.attrib), **type_element.attrib},
    )

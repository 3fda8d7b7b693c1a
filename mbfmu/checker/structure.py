"""Rules on ModelStructure: outputs, derivatives, initial unknowns and what they depend on."""

from collections.abc import Collection, Iterator

from mbfmu.checker.document import StaticRule
from mbfmu.checker.outcome import PRACTICE, Finding, NotApplicable, Remark
from mbfmu.fmi.description import Fmu

SECTIONS = ("Outputs", "Derivatives", "InitialUnknowns")


def outputs(fmu: Fmu) -> Iterator[Finding]:
    """Outputs lists every output once and nothing else."""
    yield from _listing(fmu, "Outputs", {v.index for v in fmu.variables if v.causality == "output"})


def derivatives(fmu: Fmu) -> Iterator[Finding]:
    """A derivative names another Real that it derives; Derivatives lists derivatives of states, all continuous."""
    rates = {v.index: v.derivative_of for v in fmu.variables if v.derivative_of is not None}
    listed = {int(unknown.get("index")) for unknown in fmu.unknowns("Derivatives")}
    if not rates and not listed:
        raise NotApplicable("no variable is a derivative")
    for index, state_index in rates.items():
        v, state = fmu.variables[index - 1], fmu.variable(state_index)
        if state is None or state.type != "Real" or state_index == index:
            yield f"'{v.name}' is the derivative of index {state_index}, which is not another Real variable", v.line
        elif index in listed:
            for one in (v, state):
                if one.variability != "continuous" or one.causality not in ("local", "output"):
                    text = f"'{one.name}' is a state or its derivative: it must be continuous, and local or output"
                    yield f"{text}, not {one.variability} {one.causality}", one.line
    yield from _listing(fmu, "Derivatives", listed & set(rates))


def initial_unknowns(fmu: Fmu) -> Iterator[Finding]:
    """InitialUnknowns lists, sorted by index, all that initialisation computes and shows.

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


def state_unique(fmu: Fmu) -> Iterator[Finding]:
    """Each continuous state of model exchange has one derivative in Derivatives, and a value of its own."""
    _only_exchange(fmu)
    for quantity, key in (("derivative", "index"), ("value reference", "reference")):
        seen: dict[int, str] = {}
        for state, _ in fmu.states:
            value = getattr(state, key)
            if value in seen:
                other = "two derivatives" if quantity == "derivative" else f"the value reference of '{seen[value]}'"
                yield f"the state '{state.name}' has {other} in Derivatives", state.line
            seen[value] = state.name


def reinit(fmu: Fmu) -> Iterator[Finding]:
    """Only continuous states of model exchange have the attribute reinit."""
    _only_exchange(fmu)
    states = {state.index for state, _ in fmu.states}
    for v in fmu.variables:
        if "reinit" in v.attributes and v.index not in states:
            yield f"'{v.name}' has the attribute reinit but is not a continuous state; leave it out", v.line


def event_indicators(fmu: Fmu) -> Iterator[Finding]:
    """An FMU for model exchange says how many event indicators it has, if only 0."""
    _only_exchange(fmu)
    if "numberOfEventIndicators" not in fmu.root.attrib:
        yield "write numberOfEventIndicators, 0 if there are none", fmu.root.sourceline


def _only_exchange(fmu: Fmu) -> None:
    if fmu.exchange is None:
        raise NotApplicable("the FMU is not for model exchange")


def dependencies(fmu: Fmu) -> Iterator[Finding]:
    """Dependencies name knowns in ascending order: inputs, states, time; while initialising also exact starts."""
    states = {v.derivative_of for v in fmu.variables}
    for section in SECTIONS:
        for unknown in fmu.unknowns(section):
            where, line = f"{section} entry with index {unknown.get('index')}", unknown.sourceline
            indices = [int(index) for index in unknown.get("dependencies", "").split()]
            if indices != sorted(set(indices)):
                yield f"the dependencies of the {where} must ascend, each once", line
            for index in indices:
                v = fmu.variable(index)
                if v is None:
                    yield f"the {where} depends on index {index}, which does not exist", line
                    continue
                known = v.initialised == "exact" if section == "InitialUnknowns" else index in states
                if not known and v.causality not in ("input", "independent"):
                    yield Remark(f"the {where} depends on '{v.name}', which is not a known there; leave it out"), line


def dependencies_kind(fmu: Fmu) -> Iterator[Finding]:
    """There are as many kinds as dependencies; all but 'dependent' are for Reals, and two for initialising."""
    for section in SECTIONS:
        legal = {"dependent", "constant"}
        if section != "InitialUnknowns":
            legal |= {"fixed", "tunable", "discrete"}
        for unknown in fmu.unknowns(section):
            if "dependenciesKind" not in unknown.attrib:
                continue
            where, line = f"{section} entry with index {unknown.get('index')}", unknown.sourceline
            kinds, count = unknown.get("dependenciesKind").split(), len(unknown.get("dependencies", "").split())
            if len(kinds) != count or "dependencies" not in unknown.attrib:
                yield f"the {where} has {count} dependencies but {len(kinds)} kinds", line
            if not legal.issuperset(kinds):
                yield f"the {where} has kinds other than {', '.join(sorted(legal))}", line
            v = fmu.variable(int(unknown.get("index")))
            if v is not None and v.type != "Real" and set(kinds) - {"dependent"}:
                yield Remark(f"'{v.name}' is {v.type}, so its dependencies are of the kind 'dependent'"), line


def feedthrough_missing(fmu: Fmu) -> Iterator[Finding]:
    """Outputs state what they depend on, else masters find algebraic loops where there are none."""
    if not any(v.causality == "input" for v in fmu.variables):
        raise NotApplicable("there are no inputs")
    missing = [unknown for unknown in fmu.unknowns("Outputs") if "dependencies" not in unknown.attrib]
    if missing:
        variables = (fmu.variable(int(unknown.get("index"))) for unknown in missing)
        names = ", ".join(v.name for v in variables if v is not None)
        text = (
            f"{len(missing)} outputs have no dependencies; write those they have on inputs, or an empty list: {names}"
        )
        yield text, missing[0].sourceline


RULES: tuple[tuple[StaticRule, str], ...] = (
    (outputs, "2.2.8"),
    (derivatives, "2.2.8"),
    (initial_unknowns, "2.2.8"),
    (state_unique, "2.2.8"),
    (reinit, "2.2.7"),
    (event_indicators, PRACTICE),
    (dependencies, "2.2.8"),
    (dependencies_kind, "2.2.8"),
    (feedthrough_missing, PRACTICE),
)

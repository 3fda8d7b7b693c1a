"""Rules on FMI 3.0: token, platform tuples, value references, model structure, clocks, sources."""

from collections.abc import Callable, Collection, Iterator

from mbfmu.checker import document
from mbfmu.checker.outcome import PRACTICE, Finding, NotApplicable, Remark
from mbfmu.fmi.description import claims
from mbfmu.fmi.description3 import CLOCK, FLOATS, Fmu3, Variable3

Rule3 = Callable[[Fmu3], Iterator[Finding]]

BUILD = "sources/buildDescription.xml"
SECTIONS = ("Output", "ContinuousStateDerivative", "ClockedState", "InitialUnknown", "EventIndicator")
PERIODIC = ("constant", "fixed", "tunable")
"""Interval variabilities of a clock that may have an interval."""


def instantiation_token(fmu: Fmu3) -> Iterator[Finding]:
    """The instantiation token is not empty; a master hands it to the function that makes an instance."""
    if not fmu.root.get("instantiationToken").strip():
        yield "the instantiationToken is empty; write a fingerprint of the description", fmu.root.sourceline


def platform_tuple(fmu: Fmu3) -> Iterator[Finding]:
    """Each binaries/<arch>-<sys> is a platform tuple with a library named modelIdentifier, or there are sources."""
    for folder, files in sorted(fmu.platforms.items()):
        match = document.TUPLE.fullmatch(folder)
        if match is None:
            told = f"binaries/{folder} is not a platform tuple such as x86_64-linux"
            yield (
                told if folder in document.FOLDERS else Remark(f"{told}, but a name of its vendor"),
                f"binaries/{folder}",
            )
            continue
        for identifier in fmu.identifiers:
            wanted = {identifier + suffix for suffix in document.SUFFIXES[match[2]]}
            if not wanted.intersection(files):
                yield f"binaries/{folder} holds none of {', '.join(sorted(wanted))}", f"binaries/{folder}"
    if not fmu.platforms and BUILD not in fmu.archive.names:
        yield f"the FMU has neither binaries nor {BUILD}; no master can run it", None


def build_description(fmu: Fmu3) -> Iterator[Finding]:
    """Sources come with a buildDescription.xml that says how they are compiled."""
    if not any(name.startswith("sources/") and not name.endswith("/") for name in fmu.archive.names):
        raise NotApplicable("there are no sources")
    if BUILD not in fmu.archive.names:
        yield f"there is no {BUILD}", "sources"


def value_reference(fmu: Fmu3) -> Iterator[Finding]:
    """Every variable has a value reference of its own, whatever its type."""
    seen: dict[int, str] = {}
    for v in fmu.variables:
        if v.reference in seen:
            yield f"'{v.name}' has the value reference {v.reference} of '{seen[v.reference]}'", v.line
        seen[v.reference] = v.name


def unique_names(fmu: Fmu3) -> Iterator[Finding]:
    """Variables and aliases all have names of their own, which are not empty."""
    seen = set()
    for v in fmu.variables:
        for element in (v.element, *v.element.iterfind("Alias")):
            name = element.get("name")
            if not name or name in seen:
                yield f"the name '{name}' is empty or already in use", element.sourceline
            seen.add(name)


def start_count(fmu: Fmu3) -> Iterator[Finding]:
    """A variable has one start value for all elements, or one for each."""
    for v in fmu.variables:
        size = fmu.size(v)
        if size is None:
            yield f"the size of '{v.name}' is not that of any structural parameter", v.line
        elif v.type not in ("String", "Binary") and "start" in v.element.attrib:
            count = len(v.element.get("start").split())
            if count not in {1, size}:
                yield f"'{v.name}' has {size} elements but {count} start values", v.line


def structure_references(fmu: Fmu3) -> Iterator[Finding]:
    """What ModelStructure lists and depends on are value references of variables, with as many kinds."""
    known = fmu.by_reference
    for section in SECTIONS:
        for entry in fmu.entries(section):
            reference, line = int(entry.get("valueReference")), entry.sourceline
            if reference not in known:
                yield f"{section} names the value reference {reference}, which no variable has", line
            on = [int(text) for text in entry.get("dependencies", "").split()]
            for other in on:
                if other not in known:
                    yield f"{section} {reference} depends on {other}, a value reference no variable has", line
            if "dependenciesKind" in entry.attrib and len(entry.get("dependenciesKind").split()) != len(on):
                yield f"{section} {reference} must have as many dependenciesKind as dependencies", line


def structure_complete(fmu: Fmu3) -> Iterator[Finding]:
    """ModelStructure lists each output once, and as initial unknowns all that initialisation computes and shows."""
    known = fmu.by_reference
    outputs = {v.reference for v in fmu.variables if v.causality == "output"}
    yield from _listing(fmu, "Output", outputs, outputs)
    shown = {v.reference for v in fmu.variables if v.causality == "output" and not v.listed("clocks")}
    for rate in (known.get(int(entry.get("valueReference"))) for entry in fmu.entries("ContinuousStateDerivative")):
        if rate is not None:
            shown |= {rate.reference, *rate.listed("derivative")}
    expected = {
        v.reference
        for v in fmu.variables
        if v.causality == "calculatedParameter"
        or (v.reference in shown and v.type != CLOCK and v.initialised in ("approx", "calculated"))
    }
    allowed = expected | {v.reference for v in fmu.variables if v.type == CLOCK or v.listed("clocks")}
    yield from _listing(fmu, "InitialUnknown", expected, allowed)


def _listing(fmu: Fmu3, section: str, expected: Collection[int], allowed: Collection[int]) -> Iterator[Finding]:
    """Compare a part of ModelStructure with what must and what may stand there."""
    known, seen = fmu.by_reference, set()
    for entry in fmu.entries(section):
        reference = int(entry.get("valueReference"))
        if reference in known and reference not in allowed:
            yield f"'{known[reference].name}' does not belong among ModelStructure/{section}", entry.sourceline
        elif reference in seen:
            yield f"'{known[reference].name}' stands twice among ModelStructure/{section}", entry.sourceline
        seen.add(reference)
    for reference in expected:
        if reference not in seen:
            yield f"'{known[reference].name}' is missing in ModelStructure/{section}", known[reference].line


def state_derivatives(fmu: Fmu3) -> Iterator[Finding]:
    """State derivatives name a state; they, their states and event indicators are continuous floating point numbers."""
    known, states = fmu.by_reference, set()
    rates = [known.get(int(entry.get("valueReference"))) for entry in fmu.entries("ContinuousStateDerivative")]
    indicators = [known.get(int(entry.get("valueReference"))) for entry in fmu.entries("EventIndicator")]
    if not rates and not indicators:
        raise NotApplicable("there are neither states nor event indicators")
    wanted = [v for v in indicators if v is not None]
    for rate in filter(None, rates):
        of = rate.element.get("derivative")
        state = known.get(int(of)) if of is not None else None
        if state is None:
            yield (
                f"'{rate.name}' is a state derivative: write derivative with the value reference of its state",
                rate.line,
            )
        elif state.reference in states:
            yield f"the state '{state.name}' has two derivatives", state.line
        else:
            states.add(state.reference)
            wanted += [rate, state]
    for v in wanted:
        if v.type not in FLOATS or v.variability != "continuous":
            yield f"'{v.name}' must be continuous and Float64 or Float32, not {v.variability} {v.type}", v.line


def clock_attributes(fmu: Fmu3) -> Iterator[Finding]:
    """Clocks that are no inputs are triggered; intervals are positive, shifts not negative, only of periodic clocks."""
    clocks = [v for v in fmu.variables if v.type == CLOCK]
    if not clocks:
        raise NotApplicable("there are no clocks")
    for v in clocks:
        kind, interval = v.element.get("intervalVariability"), v.element.get("intervalDecimal")
        if v.causality != "input" and kind != "triggered":
            yield f"the clock '{v.name}' is {v.causality}: its intervalVariability is triggered, not {kind}", v.line
        if kind == "constant" and interval is None:
            yield f"the clock '{v.name}' is constant and needs intervalDecimal", v.line
        if kind not in PERIODIC and interval is not None:
            yield f"the clock '{v.name}' is {kind} and has no interval; leave intervalDecimal out", v.line
        if interval is not None and not float(interval) > 0.0:
            yield f"the interval {interval} of the clock '{v.name}' must be positive", v.line
        if not float(v.element.get("shiftDecimal", "0")) >= 0.0:
            yield f"the shift of the clock '{v.name}' must not be negative", v.line


def capability_flags(fmu: Fmu3) -> Iterator[Finding]:
    """An FMU with clocks has event mode, and one that returns early after intermediate updates has these."""
    element = fmu.root.find("CoSimulation")
    if element is None:
        raise NotApplicable("the FMU is not for co-simulation")
    if any(v.type == CLOCK for v in fmu.variables) and not claims(element, "hasEventMode"):
        yield "the FMU has clocks: hasEventMode must be true", element.sourceline
    early, updates = "canReturnEarlyAfterIntermediateUpdate", "providesIntermediateUpdate"
    if claims(element, early) and not claims(element, updates):
        yield f"{early} is true: {updates} must be true too", element.sourceline


def clock_references(fmu: Fmu3) -> Iterator[Finding]:
    """The attribute clocks lists clocks."""
    clocked: list[Variable3] = [v for v in fmu.variables if v.listed("clocks")]
    if not clocked:
        raise NotApplicable("no variable is clocked")
    clocks = {v.reference for v in fmu.variables if v.type == CLOCK}
    for v in clocked:
        for reference in v.listed("clocks"):
            if reference not in clocks:
                yield f"'{v.name}' has the clock {reference}, which no clock has as value reference", v.line


SHARED: tuple[tuple[Rule3, str], ...] = (
    (document.xml_encoding, "2.4"),
    (document.generation_date, "2.4.1"),
    (document.model_identifier, "2.4.2"),
    (document.binary_format, "2.5.1"),
    (document.default_experiment, "2.4.6"),
    (document.stop_missing, PRACTICE),
    (document.log_category, "2.4.5"),
    (document.unit_definition, "2.4.3"),
)
"""Rules that FMI 2.0 has too, with their sections in FMI 3.0.2."""

RULES: tuple[tuple[Rule3, str], ...] = (
    (instantiation_token, "2.4.1"),
    (platform_tuple, "2.5.1"),
    (build_description, "2.5.1"),
    (value_reference, "2.4.7"),
    (unique_names, "2.4.7"),
    (start_count, "2.4.7"),
    (structure_references, "2.4.8"),
    (structure_complete, "2.4.8"),
    (state_derivatives, "2.4.8"),
    (clock_attributes, "2.4.7"),
    (clock_references, "2.4.7"),
    (capability_flags, "4.4"),
)

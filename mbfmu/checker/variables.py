"""Rules on ModelVariables: names, aliases, causality, start values, units, types."""

import math
import re
from collections import defaultdict
from collections.abc import Iterator

from mbfmu.checker.document import StaticRule, bounds
from mbfmu.checker.outcome import PRACTICE, Finding, NotApplicable
from mbfmu.fmi.description import INITIAL, Fmu, ScalarVariable, typed

_INDICES = r"(?:\[\d+(?:,\d+)*\])?"
_QUOTED = r"""'(?:[\w!#$%&()*+,\-./:;<>=?@\[\]^{}|~ ]|\\['"?\\abfnrtv])+'"""
_PART = rf"(?:[A-Za-z_]\w*|{_QUOTED}){_INDICES}"
_IDENTIFIER = rf"{_PART}(?:\.{_PART})*"
_NAME = re.compile(rf"{_IDENTIFIER}|der\({_IDENTIFIER}(?:,\d+)?\)", re.ASCII)
_ELEMENT = re.compile(r"(.*)\[(\d+(?:,\d+)*)\]", re.ASCII | re.DOTALL)


def variable_name(fmu: Fmu) -> Iterator[Finding]:
    """Names follow the convention the FMU declares: flat, or structured such as 'a.b[1].c' and 'der(x)'."""
    for v in fmu.variables:
        if not v.name or set(v.name) & set("\r\n\t"):
            yield f"{v.name!r} is empty or holds a tab or line break", v.line
        elif fmu.structured and not _NAME.fullmatch(v.name):
            yield f"'{v.name}' is not a structured name such as 'arm.frame_a.r_0[1]'", v.line


def array_order(fmu: Fmu) -> Iterator[Finding]:
    """The elements of an array follow each other in row-major order."""
    if not fmu.structured:
        raise NotApplicable("the names are flat")
    last: dict[str, tuple[ScalarVariable, tuple[int, ...]]] = {}
    for v in fmu.variables:
        match = _ELEMENT.fullmatch(v.name)
        if match is None:
            continue
        array, indices = match[1], tuple(int(index) for index in match[2].split(","))
        if array in last:
            before, its_place = last[array]
            if v.index != before.index + 1 or indices <= its_place:
                yield f"'{v.name}' (index {v.index}) must not come after '{before.name}' (index {before.index})", v.line
        last[array] = v, indices


def name_unique(fmu: Fmu) -> Iterator[Finding]:
    """Variables and types all have names of their own."""
    seen = set()
    for path in ("TypeDefinitions/SimpleType", "ModelVariables/*"):
        for element in fmu.root.iterfind(path):
            name = element.get("name")
            if name in seen:
                yield f"the name '{name}' is already in use", element.sourceline
            seen.add(name)


def alias(fmu: Fmu) -> Iterator[Finding]:
    """Variables that share a value reference can be one: at most one set or started, equal units, constants apart."""
    groups = defaultdict(list)
    for v in fmu.variables:
        groups[v.base, v.reference].append(v)
    shared = [group for group in groups.values() if len(group) > 1]
    if not shared:
        raise NotApplicable("every value reference is used once")
    for group in shared:
        names = f"the aliases {', '.join(v.name for v in group)} (valueReference {group[0].reference})"
        constants = [v for v in group if v.variability == "constant"]
        others = [v for v in group if v.variability != "constant"]
        if constants and (others or len({v.start for v in constants}) > 1):
            yield f"{names} must all be constant with one start value, or none of them", group[0].line
        once = sum(v.settable or v.causality == "independent" for v in others)
        if once > 1 or sum(v.start is not None for v in others) > 1:
            yield f"{names} can be set in more than one place; give each its own reference", group[0].line
        if len({v.attributes.get("unit") for v in group}) > 1:
            yield f"{names} have different units", group[0].line


def independent(fmu: Fmu) -> Iterator[Finding]:
    """At most one variable is independent, and it is Real."""
    times = [v for v in fmu.variables if v.causality == "independent"]
    for v in times[1:]:
        yield f"'{v.name}' is a second independent variable besides '{times[0].name}'", v.line
    for v in times:
        if v.type != "Real":
            yield f"the independent variable '{v.name}' must be Real", v.line


def combination(fmu: Fmu) -> Iterator[Finding]:
    """Causality, variability and initial are one of the legal combinations."""
    for v in fmu.variables:
        allowed = INITIAL.get((v.causality, v.variability))
        if allowed is None:
            legal = sorted(variability for causality, variability in INITIAL if causality == v.causality)
            yield f"'{v.name}' is {v.causality}: variability '{v.variability}' must be one of {legal}", v.line
        elif v.initial and v.initial not in allowed:
            mend = f"must be one of {list(allowed)}" if allowed[0] else "must not be written"
            yield f"'{v.name}' is {v.variability} {v.causality}: initial '{v.initial}' {mend}", v.line


def continuous_type(fmu: Fmu) -> Iterator[Finding]:
    """Only Real variables are continuous; for others variability has to be written."""
    for v in fmu.variables:
        if v.variability == "continuous" and v.type != "Real" and v.causality in ("input", "output", "local"):
            yield f"'{v.name}' is {v.type}, so its variability cannot be continuous; write 'discrete'", v.line


def start_missing(fmu: Fmu) -> Iterator[Finding]:
    """Inputs and variables that start exactly or approximately have a start value."""
    for v in fmu.variables:
        if v.start is None and (v.causality == "input" or v.initialised in ("exact", "approx")):
            yield f"'{v.name}' ({v.causality}, {v.initialised or 'no initial'}) needs a start value", v.line


def start_forbidden(fmu: Fmu) -> Iterator[Finding]:
    """Calculated variables and the independent one have no start value."""
    for v in fmu.variables:
        if v.start is not None and (v.causality == "independent" or v.initialised == "calculated"):
            yield f"'{v.name}' must have no start value, or initial 'exact' or 'approx' where legal", v.line


def start_finite(fmu: Fmu) -> Iterator[Finding]:
    """Start values are finite numbers."""
    for v in fmu.variables:
        if v.type == "Real" and v.start is not None and not math.isfinite(float(v.start)):
            yield f"the start value of '{v.name}' is {v.start}", v.line


def start_range(fmu: Fmu) -> Iterator[Finding]:
    """Start values lie between min and max, and are items of their enumeration."""
    for v in fmu.variables:
        if v.type in ("Boolean", "String") or v.start is None or not math.isfinite(float(v.start)):
            continue
        low, high = float(v.attributes.get("min", "-inf")), float(v.attributes.get("max", "inf"))
        if low <= high and not low <= float(v.start) <= high:
            yield f"the start value {v.start} of '{v.name}' is outside {low:g} to {high:g}", v.line
        kind = fmu.types.get(v.attributes.get("declaredType", ""))
        if v.type == "Enumeration" and kind is not None and kind.tag == "Enumeration":
            values = {int(item.get("value")) for item in kind.iterfind("Item")}
            if int(v.start) not in values:
                yield f"the start value {v.start} of '{v.name}' is not an item of its enumeration", v.line


def bound(fmu: Fmu) -> Iterator[Finding]:
    """No min is above its max, and nominal values are positive."""
    for v in fmu.variables:
        if {"min", "max", "nominal"} & set(typed(v.element).attrib):
            yield from ((f"'{v.name}': {text}", v.line) for text in bounds(v.attributes))


def unit_undefined(fmu: Fmu) -> Iterator[Finding]:
    """The unit of each variable and type is defined, and a display unit comes with a unit."""
    used = {v.attributes.get("declaredType") for v in fmu.variables}
    for name, element in fmu.types.items():
        unit = element.get("unit")
        if name not in used and unit is not None and unit not in fmu.units:
            yield f"the unit '{unit}' of type '{name}' is not in UnitDefinitions", element.sourceline
    for v in fmu.variables:
        unit = v.attributes.get("unit")
        if unit is not None and unit not in fmu.units:
            yield f"the unit '{unit}' of '{v.name}' is not in UnitDefinitions", v.line
        elif unit is None and "displayUnit" in v.attributes:
            yield f"'{v.name}' has the display unit '{v.attributes['displayUnit']}' but no unit", v.line


def display_unit(fmu: Fmu) -> Iterator[Finding]:
    """The display unit of each variable is one of its unit, else masters ignore it."""
    shown = [v for v in fmu.variables if "displayUnit" in v.attributes and v.attributes.get("unit") in fmu.units]
    if not shown:
        raise NotApplicable("no variable has a display unit")
    for v in shown:
        unit, display = v.attributes["unit"], v.attributes["displayUnit"]
        if display not in fmu.units[unit]:
            yield f"the display unit '{display}' of '{v.name}' is not one of unit '{unit}'", v.line


def unit_missing(fmu: Fmu) -> Iterator[Finding]:
    """Some variable has a unit: without any, a master cannot tell degrees from radians."""
    reals = [v for v in fmu.variables if v.type == "Real"]
    if not reals:
        raise NotApplicable("there are no Real variables")
    if not any("unit" in v.attributes for v in reals):
        yield f"none of {len(reals)} Real variables has a unit; define units and name them", None


def declared_type(fmu: Fmu) -> Iterator[Finding]:
    """A declared type exists and is of the variable's own kind."""
    declared = [v for v in fmu.variables if "declaredType" in v.attributes]
    if not declared:
        raise NotApplicable("no variable has a declared type")
    for v in declared:
        name = v.attributes["declaredType"]
        if name not in fmu.types:
            yield f"the declared type '{name}' of '{v.name}' is not in TypeDefinitions", v.line
        elif fmu.types[name].tag != v.type:
            yield f"'{v.name}' is {v.type} but its declared type '{name}' is {fmu.types[name].tag}", v.line


def model_exchange_only(fmu: Fmu) -> Iterator[Finding]:
    """What is for model exchange only is not written without it: reinit, canHandleMultipleSetPerTimeInstant."""
    if fmu.root.find("ModelExchange") is not None:
        raise NotApplicable("the FMU is for model exchange as well")
    for v in fmu.variables:
        written = {"reinit", "canHandleMultipleSetPerTimeInstant"} & {*v.attributes, *v.element.attrib}
        for name in sorted(written):
            yield f"'{v.name}' has the attribute {name}, which is for model exchange; leave it out", v.line


RULES: tuple[tuple[StaticRule, str], ...] = (
    (variable_name, "2.2.9"),
    (name_unique, "2.2.7"),
    (alias, "2.2.7"),
    (independent, "2.2.7"),
    (combination, "2.2.7"),
    (continuous_type, "2.2.7"),
    (start_missing, "2.2.7"),
    (start_forbidden, "2.2.7"),
    (start_finite, "2.2"),
    (start_range, "2.2.7"),
    (bound, "2.2.3"),
    (unit_undefined, "2.2.3"),
    (display_unit, PRACTICE),
    (unit_missing, PRACTICE),
    (declared_type, "2.2.7"),
    (model_exchange_only, "2.2.7"),
)

STRICT: tuple[tuple[StaticRule, str], ...] = ((array_order, "2.2.9"),)
"""Rules on variables that few FMUs keep, which are tried on request only."""

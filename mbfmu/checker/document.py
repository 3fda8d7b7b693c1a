"""Rules on the FMU as a whole: header, binaries, capabilities, units, types, experiment, log categories."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import Any

from mbfmu.checker.outcome import PRACTICE, Finding, NotApplicable, Remark
from mbfmu.fmi.archive import DESCRIPTION
from mbfmu.fmi.binaries import ENOUGH, platforms_of
from mbfmu.fmi.description import Fmu, FmuDescription, claims

LOG_CATEGORIES = tuple(
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
"""Names of log categories that FMI 2.0 standardises."""

SUFFIXES = {"windows": (".dll", ".lib"), "linux": (".so", ".a"), "darwin": (".dylib", ".a")}
"""Suffixes of libraries by system: of shared ones, then of static ones."""
FOLDERS = {
    f"{short}{bits}": f"{processor}-{system}"
    for short, system in {"win": "windows", "linux": "linux", "darwin": "darwin"}.items()
    for bits, processor in {"32": "x86", "64": "x86_64"}.items()
}
"""Platform tuples by the names of FMI 2.0, which stand for x86."""
TUPLE = re.compile(
    r"(aarch32|aarch64|riscv32|riscv64|x86|x86_64|ppc32|ppc64)-(darwin|linux|windows)(-[a-z][a-z0-9_]*)?"
)
"""Platform tuple of FMI 3.0: processor, system and, of static libraries, their interface."""

StaticRule = Callable[[Fmu], Iterator[Finding]]
"""A rule on what the description of an FMU of FMI 2.0 says."""

_DECLARATION = re.compile(rb"""<\?xml[^>]*\sencoding=["']utf-8["']""", re.IGNORECASE)


def xml_encoding(fmu: FmuDescription) -> Iterator[Finding]:
    """The document is encoded in UTF-8 and says so in its first line."""
    if not _DECLARATION.match(fmu.archive.read(DESCRIPTION, 1000).removeprefix(b"\xef\xbb\xbf")):
        yield 'the first line must be <?xml version="1.0" encoding="UTF-8"?>', 1


def guid(fmu: Fmu) -> Iterator[Finding]:
    """The guid is not empty; a master hands it to fmi2Instantiate."""
    if not fmu.root.get("guid").strip():
        yield "the guid is empty; write a fingerprint of the description", fmu.root.sourceline


def generation_date(fmu: FmuDescription) -> Iterator[Finding]:
    """The date of generation is in UTC and says so with Z; VDMCheck2 refuses +00:00."""
    date = fmu.root.get("generationDateAndTime")
    if date is None:
        raise NotApplicable("there is no generationDateAndTime")
    if not date.strip().endswith("Z"):
        yield f"generationDateAndTime '{date}' must be in UTC and end with 'Z'", fmu.root.sourceline


def model_identifier(fmu: FmuDescription) -> Iterator[Finding]:
    """The modelIdentifier is a C identifier, for it names the library and prefixes C functions."""
    for interface in fmu.interfaces:
        name = interface.get("modelIdentifier")
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            yield f"modelIdentifier '{name}' is not a C identifier", interface.sourceline


def platform_binary(fmu: Fmu) -> Iterator[Finding]:
    """Each binaries/<platform> holds a library named modelIdentifier; without one there are sources."""
    for folder, files in sorted(fmu.platforms.items()):
        match = TUPLE.fullmatch(FOLDERS.get(folder, folder))
        for identifier in fmu.identifiers:
            wanted = {identifier + suffix for suffix in SUFFIXES[match[2]]} if match else {f"{identifier}.*"}
            if not any(fnmatchcase(file, pattern) for file in files for pattern in wanted):
                yield f"binaries/{folder} holds none of {', '.join(sorted(wanted))}", f"binaries/{folder}"
    if not fmu.platforms and not any(name.startswith("sources/") for name in fmu.archive.names):
        yield "the FMU has neither binaries nor sources; no master can run it", None


def binary_format(fmu: FmuDescription) -> Iterator[Finding]:
    """Each shared library is for the system and the processor that the name of its folder says."""
    present = False
    for folder in sorted(fmu.platforms):
        expected = FOLDERS.get(folder, folder) if fmu.version == "2.0" else folder
        match = TUPLE.fullmatch(expected)
        if match is None or match[3]:
            continue
        names = {f"binaries/{folder}/{identifier}{SUFFIXES[match[2]][0]}" for identifier in fmu.identifiers}
        for name in sorted(names & fmu.archive.names):
            present = True
            platforms = platforms_of(fmu.archive.read(name, ENOUGH))
            if not platforms:
                yield f"'{name}' is not a shared library", name
            elif expected not in platforms:
                yield f"'{name}' is for {' and '.join(platforms)}, not for {expected}", name
    if not present:
        raise NotApplicable("there is no shared library for a standardised platform")


def source_files(fmu: Fmu) -> Iterator[Finding]:
    """Every source file that is listed lies in sources/."""
    listed = [file for interface in fmu.interfaces for file in interface.iterfind("SourceFiles/File")]
    if not listed:
        raise NotApplicable("no source files are listed")
    for file in listed:
        if f"sources/{file.get('name')}" not in fmu.archive.names:
            yield f"the listed source file sources/{file.get('name')} is not in the archive", file.sourceline


def state_flags(fmu: Fmu) -> Iterator[Finding]:
    """A state that can be serialised can be got and set."""
    for interface in fmu.interfaces:
        if claims(interface, "canSerializeFMUstate") and not claims(interface, "canGetAndSetFMUstate"):
            yield "canSerializeFMUstate needs canGetAndSetFMUstate as well", interface.sourceline


def default_experiment(fmu: FmuDescription) -> Iterator[Finding]:
    """The default experiment can be run: finite, a positive step and tolerance, the stop after the start."""
    values = fmu.experiment
    if not values:
        raise NotApplicable("there is no DefaultExperiment")
    line = fmu.root.find("DefaultExperiment").sourceline
    for name, value in values.items():
        if not math.isfinite(value) or (name in ("stepSize", "tolerance") and value <= 0.0):
            yield f"DefaultExperiment {name}={value:g} is not usable", line
    if values.get("stopTime", math.inf) <= values.get("startTime", 0.0):
        yield f"DefaultExperiment stopTime={values['stopTime']:g} is not after startTime", line


def stop_missing(fmu: FmuDescription) -> Iterator[Finding]:
    """There is a default experiment with a stopTime, so that a first run needs no manual."""
    if "stopTime" not in fmu.experiment:
        yield "there is no DefaultExperiment with a stopTime; give one, with the stepSize the FMU likes", None


def log_category(fmu: FmuDescription) -> Iterator[Finding]:
    """Log categories are listed once, and the standardised ones in their own spelling."""
    categories = list(fmu.root.iterfind("LogCategories/Category"))
    if not categories:
        raise NotApplicable("there are no LogCategories")
    yield from _repeated(categories, "log category")
    for category in categories:
        name = category.get("name")
        meant = [known for known in LOG_CATEGORIES if known.lower() == name.strip().lower() and known != name]
        if meant:
            yield Remark(f"log category '{name}' should be written '{meant[0]}'"), category.sourceline


def annotation(fmu: Fmu) -> Iterator[Finding]:
    """Each tool has one annotation, in the whole and in each variable."""
    groups = [*fmu.root.iterfind("VendorAnnotations"), *fmu.root.iterfind("ModelVariables/*/Annotations")]
    if not groups:
        raise NotApplicable("there are no annotations")
    for group in groups:
        for text, line in _repeated(group.iterfind("Tool"), "annotation of the tool"):
            yield text if group.tag == "VendorAnnotations" else Remark(text), line


def unit_definition(fmu: FmuDescription) -> Iterator[Finding]:
    """Units and their display units are defined once, with finite factors other than zero."""
    units = list(fmu.root.iterfind("UnitDefinitions/Unit"))
    if not units:
        raise NotApplicable("there are no UnitDefinitions")
    yield from _repeated(units, "unit")
    for unit in units:
        yield from _repeated(unit.iterfind("DisplayUnit"), f"display unit of '{unit.get('name')}':")
        for element in unit:
            factor, offset = float(element.get("factor", "1")), float(element.get("offset", "0"))
            if not (math.isfinite(factor) and math.isfinite(offset) and factor):
                text = f"{element.tag} of unit '{unit.get('name')}': factor {factor:g} and offset {offset:g}"
                yield Remark(f"{text} cannot be converted with"), element.sourceline


def type_definition(fmu: Fmu) -> Iterator[Finding]:
    """Types have sound bounds, and items of an enumeration their own names and values."""
    if not fmu.types:
        raise NotApplicable("there are no TypeDefinitions")
    for name, element in fmu.types.items():
        yield from ((Remark(f"type '{name}': {text}"), element.sourceline) for text in bounds(element.attrib))
        items = list(element.iterfind("Item"))
        yield from _repeated(items, f"item of type '{name}':")
        for value, count in Counter(int(item.get("value")) for item in items).items():
            if count > 1:
                yield f"type '{name}': {count} items have the value {value}", element.sourceline


def bounds(attributes: Any) -> Iterator[str]:
    """Yield what is wrong with min, max and nominal."""
    low, high = float(attributes.get("min", "-inf")), float(attributes.get("max", "inf"))
    if not low <= high:
        yield f"min {low:g} is above max {high:g}"
    nominal = float(attributes.get("nominal", "1"))
    if not 0.0 < nominal < math.inf:
        yield f"nominal {nominal:g} must be positive and finite"


def _repeated(elements: Any, kind: str) -> Iterator[Finding]:
    seen = set()
    for element in elements:
        name = element.get("name")
        if name in seen:
            yield f"{kind} '{name}' is defined twice", element.sourceline
        seen.add(name)


RULES: tuple[tuple[StaticRule, str], ...] = (
    (xml_encoding, "2.2"),
    (guid, "2.2.1"),
    (generation_date, "2.2.1"),
    (model_identifier, "4.3.1"),
    (platform_binary, "2.3"),
    (binary_format, "2.3"),
    (source_files, "2.3"),
    (state_flags, "4.3.1"),
    (default_experiment, "2.2.5"),
    (stop_missing, PRACTICE),
    (log_category, "2.2.4"),
    (annotation, "2.2.6"),
    (unit_definition, "2.2.2"),
    (type_definition, "2.2.3"),
)

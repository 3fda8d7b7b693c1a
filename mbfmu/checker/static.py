"""What can be said of an FMU without running it: XML, XSD, the rules of four families, FMPy's validation.

A rule is one function in document.py, variables.py, structure.py or traps.py and one row, with the section of the
FMI 2.0.4 document it stands on, in the table at the end of that file. The function's name is the rule's id, the
first line of its docstring the claim. It yields (message, place) for each breach, or raises NotApplicable. Rules see
only documents that are valid against the XSD, so they convert numbers blindly.
"""

import importlib.resources
import re
from collections.abc import Collection, Iterator
from functools import cache, partial
from io import BytesIO
from itertools import islice
from typing import Any

from fmpy.model_description import ValidationError, read_model_description
from lxml import etree

from mbfmu.checker import document, rules3, structure, traps, variables
from mbfmu.checker.archive import DESCRIPTION, Archive
from mbfmu.checker.fmu import Description, Fmu, StaticRule, read_description
from mbfmu.checker.fmu3 import Fmu3, read_description3
from mbfmu.checker.outcome import PRACTICE, Finding, NotApplicable, Outcome, Rule

PLACED = 10_000
"""Elements up to which breaches of the schema have their lines: libxml2 looks for each among all."""
FMPY_CHARACTERS = 10_000
"""Characters of variable names up to which FMPy may parse them as well."""
FMPY_VARIABLES = 20_000
"""Variables up to which FMPy is asked for its opinion."""

TABLE: tuple[tuple[StaticRule, str], ...] = (
    *document.RULES,
    *variables.RULES,
    *structure.RULES,
    *traps.RULES,
)
STRICT = variables.STRICT

XML = Rule("xml", "2.2", "The description is well-formed XML.", gate=True)
XML_DOCTYPE = Rule("xml-doctype", PRACTICE, "The description has no document type and no entities.", gate=True)
FMI_VERSION = Rule("fmi-version", "2.2.1", "The description is of FMI 2.0 or 3.0.", gate=True)
SCHEMA = Rule("schema", "2.2", "The description is valid against the XML schema of its version of FMI.", gate=True)
FMPY = Rule("fmpy", "2.2", "FMPy's validation has nothing to add.")

VERSIONS = {
    "2.0": ("fmi2", "The FMU is of FMI 2.0: judged are archive, description, co-simulation and model exchange."),
    "3.0": (
        "fmi3",
        "The FMU is of FMI 3.0: judged are archive, description, co-simulation and model exchange; scheduled execution "
        "is read but not run.",
    ),
}
"""Names of the schemas of the versions that are judged, and what is judged of each."""

RULES = (
    *(XML, XML_DOCTYPE, FMI_VERSION, SCHEMA),
    *(Rule.of(function, section) for function, section in TABLE),
    *(Rule.of(function, section, strict=True) for function, section in STRICT),
    FMPY,
    *(Rule.of(function, section) for function, section in rules3.RULES),
)
ONLY3 = {Rule.of(function, section).name for function, section in rules3.RULES}
"""Names of the rules that FMI 2.0 does not have."""
ONLY2 = {Rule.of(function, section).name for function, section in (*TABLE, *STRICT)} - {
    Rule.of(function, section).name for function, section in rules3.SHARED
}
"""Names of the rules that FMI 3.0 does not have, or that are not written for it."""


def check_description(archive: Archive) -> tuple[Description | None, list[Outcome]]:
    """Apply the XSD, all static rules and FMPy; no Fmu if the document is too broken to run."""
    root, judged = _parse(archive.read(DESCRIPTION))
    if root is None or any(outcome.status == "fail" for outcome in judged):
        return None, judged
    fmu: Description
    try:
        fmu = (read_description if root.get("fmiVersion") == "2.0" else read_description3)(archive, root)
    except ValueError as error:  # numbers the schema allows and nobody can use, such as one of 5000 digits
        return None, [*judged, SCHEMA.outcome("fail", f"the description holds an unusable number: {error}")]
    judged += SCHEMA.judge(list)
    if isinstance(fmu, Fmu):
        for function, section in (*TABLE, *STRICT):
            judged += Rule.of(function, section).judge(partial(function, fmu))
    elif isinstance(fmu, Fmu3):
        for rule, section in (*rules3.SHARED, *rules3.RULES):
            judged += Rule.of(rule, section).judge(partial(rule, fmu))
    spoken = {outcome.where for outcome in judged if outcome.status == "fail"}
    judged += FMPY.judge(lambda: _second_opinion(fmu, spoken))
    return fmu, judged


def _parse(data: bytes) -> tuple[Any, list[Outcome]]:
    """Return the root and what the rules before the schema's own say; SCHEMA speaks here only if it fails."""
    root, judged = parse_description(data)
    if root is None:
        return None, judged
    schema = _schema(VERSIONS[root.get("fmiVersion")][0])
    strict = _parser(schema)
    try:
        return etree.fromstring(data, strict), judged
    except etree.LxmlError:
        return root, [*judged, *SCHEMA.judge(lambda: _breaches(root, schema, strict))]


def parse_description(data: bytes) -> tuple[Any, list[Outcome]]:
    """Parse modelDescription.xml without the schema.

    Returns:
        The root, or None if it is not XML without a document type and of a version that is judged; and the outcomes of
        these rules, the last of which fails if there is no root.
    """
    try:
        root = etree.fromstring(data, _parser())
    except etree.LxmlError as error:
        line = getattr(error, "lineno", None)
        return None, [XML.outcome("fail", f"not well-formed XML: {error}", line)]
    judged = XML.judge(list)
    if root.getroottree().docinfo.doctype:
        return None, [*judged, XML_DOCTYPE.outcome("fail", "entities have no place here; remove the document type")]
    judged += XML_DOCTYPE.judge(list)
    version = root.get("fmiVersion")
    if version not in VERSIONS:
        text = f"the FMU is of FMI {version}: judged are FMI 2.0 and 3.0"
        return None, [*judged, FMI_VERSION.outcome("fail", text, root.sourceline)]
    return root, [*judged, FMI_VERSION.outcome("pass", VERSIONS[version][1])]


def parse_xml(data: bytes) -> Any:
    """Return the root of a document beside the description; None if it is not XML without a document type."""
    try:
        root = etree.fromstring(data, _parser())
    except etree.LxmlError:
        return None
    return None if root.getroottree().docinfo.doctype else root


def _parser(schema: Any = None) -> Any:
    return etree.XMLParser(schema=schema, resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)


def _breaches(root: Any, schema: Any, parser: Any) -> Iterator[Finding]:
    """Yield what is not valid against the schema, with its line where the document is small enough for that."""
    if sum(1 for _ in islice(root.iter(), PLACED + 1)) <= PLACED and not schema.validate(root):
        yield from ((entry.message, entry.line) for entry in schema.error_log)
    else:
        yield from ((entry.message, None) for entry in parser.error_log)


@cache
def _schema(name: str) -> Any:
    with importlib.resources.as_file(importlib.resources.files("fmpy") / "schema" / name) as folder:
        return etree.XMLSchema(etree.parse(str(folder / f"{name}ModelDescription.xsd")))


def _second_opinion(fmu: Description, spoken: Collection[str]) -> Iterator[Finding]:
    """FMPy's findings, less what our rules have said: on a line FMPy names or, if it names none, on any.

    This is fmpy.validation.validate_fmu, but for names where they are many: FMPy takes some 3 ms to parse a name,
    and the rule variable-name says the same.
    """
    names = [element.get("name") for element in fmu.root.iterfind("ModelVariables/*")]
    if len(names) > FMPY_VARIABLES:
        raise NotApplicable(f"FMPy is not asked about more than {FMPY_VARIABLES} variables")
    findings: list[str] = []
    try:
        read_model_description(
            BytesIO(fmu.archive.data),
            validate=True,
            validate_variable_names=sum(map(len, names)) <= FMPY_CHARACTERS,
            validate_model_structure=True,
        )
    except ValidationError as error:
        findings = error.problems
    except Exception as error:  # noqa: BLE001 - FMPy raises bare exceptions
        findings = [str(error)]
    known = {int(place.rpartition(":")[2]) for place in spoken if place.startswith(f"{DESCRIPTION}:")}
    for text in findings:
        lines = [int(line) for line in re.findall(r"\(line (\d+)", text)]
        if not known.intersection(lines or known):
            yield text, lines[0] if lines else None

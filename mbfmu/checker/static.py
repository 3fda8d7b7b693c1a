"""What can be said of an FMU without running it: XML, XSD, the rules of four families, FMPy's validation.

A rule is one function in document.py, variables.py, structure.py or traps.py and one row, with the section of the
FMI 2.0.4 document it stands on, in the table at the end of that file. The function's name is the rule's id, the
first line of its docstring the claim. It yields (message, place) for each breach, or raises NotApplicable. Rules see
only documents that are valid against the XSD, so they convert numbers blindly.
"""

import re
from collections.abc import Collection, Iterator
from functools import partial
from io import BytesIO
from typing import Any

from fmpy.model_description import ValidationError, read_model_description

from mbfmu.checker import document, rules3, structure, traps, variables
from mbfmu.checker.document import StaticRule
from mbfmu.checker.outcome import PRACTICE, Finding, NotApplicable, Outcome, Rule
from mbfmu.fmi import xml as of
from mbfmu.fmi.archive import DESCRIPTION, Archive
from mbfmu.fmi.description import Fmu, FmuDescription, read_description
from mbfmu.fmi.description3 import Fmu3, read_description3
from mbfmu.fmi.fault import Fault
from mbfmu.fmi.xml import parse_description, validate

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

XML = Rule(of.XML, "2.2", "The description is well-formed XML.", gate=True)
XML_DOCTYPE = Rule(of.DOCTYPE, PRACTICE, "The description has no document type and no entities.", gate=True)
FMI_VERSION = Rule(of.VERSION, "2.2.1", "The description is of FMI 2.0 or 3.0.", gate=True)
SCHEMA = Rule("schema", "2.2", "The description is valid against the XML schema of its version of FMI.", gate=True)
FMPY = Rule("fmpy", "2.2", "FMPy's validation has nothing to add.")

JUDGED = {
    "2.0": "The FMU is of FMI 2.0: judged are archive, description, co-simulation and model exchange.",
    "3.0": "The FMU is of FMI 3.0: judged are archive, description, co-simulation and model exchange; scheduled "
    "execution is read but not run.",
}
"""What is judged of an FMU of each version."""

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


def check_description(archive: Archive) -> tuple[FmuDescription | None, list[Outcome]]:
    """Apply the XSD, all static rules and FMPy; no Fmu if the document is too broken to run."""
    data = archive.read(DESCRIPTION)
    root, fault = parse_description(data)
    judged = _judge_document(root, fault)
    if root is None:
        return None, judged
    root, breaches = validate(data, root)
    if breaches is not None:
        judged += SCHEMA.judge(lambda: breaches)
    if any(outcome.status == "fail" for outcome in judged):
        return None, judged
    fmu: FmuDescription
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


def _judge_document(root: Any, fault: Fault | None) -> list[Outcome]:
    """Return what the rules before the schema's say of a description."""
    judged: list[Outcome] = []
    for rule in (XML, XML_DOCTYPE, FMI_VERSION):
        if fault is not None and fault.kind == rule.name:
            return [*judged, rule.outcome("fail", fault.text, fault.where)]
        if rule is not FMI_VERSION:
            judged += rule.judge(list)
    return [*judged, FMI_VERSION.outcome("pass", JUDGED[root.get("fmiVersion")])]


def _second_opinion(fmu: FmuDescription, spoken: Collection[str]) -> Iterator[Finding]:
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
    known = {int(location.rpartition(":")[2]) for location in spoken if location.startswith(f"{DESCRIPTION}:")}
    for text in findings:
        lines = [int(line) for line in re.findall(r"\(line (\d+)", text)]
        if not known.intersection(lines or known):
            yield text, lines[0] if lines else None

"""Check an FMU of FMI 2.0 or 3.0, whoever made it: archive, schema, FMPy, our own rules, a test run.

outcome.py    what a rule is, and what it says
sentences.py  the sentences of the standard that a failure breaks
archive.py    rules on the ZIP file
static.py     rules on modelDescription.xml: XML, XSD, FMPy, and those of
              document.py, variables.py, structure.py, traps.py, and of rules3.py for FMI 3.0
dynamic.py    applies the rules of probe/, in the separate process in which the FMU runs
job.py        what that process must know

They judge what `mbfmu.fmi` reads and runs.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from os import PathLike

from mbfmu.base.arguments import checked
from mbfmu.checker import archive, dynamic, static
from mbfmu.checker.outcome import PRACTICE, Outcome, Rule
from mbfmu.checker.sentences import SENTENCES
from mbfmu.errors import UsageError, nearest
from mbfmu.fmi.archive import inspect

__all__ = ["RULES", "Outcome", "Rule", "check", "report"]

RULES: tuple[Rule, ...] = (*archive.RULES, *static.RULES, *dynamic.RULES)
"""All rules, in the order they are tried."""
PRACTICAL = ("output-finite", "integration")
"""Rules that others wait for and that the standard does not state."""


@checked
def check(path: str | PathLike[str]) -> list[Outcome]:
    """List where an FMU breaks the standard; an empty list means that no rule fails.

    What the standard does not require of the FMU is a note, which `report` has.

    Whatever lies at `path`, missing, damaged or hostile, the answer is a list. The last rules run the
    FMU's code with the rights of the caller (in a process of its own), if it has a library for this platform.

    Args:
        path: the .fmu file.
    """
    return [outcome for outcome in report(path) if outcome.status == "fail"]


@checked
def report(
    path: str | PathLike[str],
    *,
    strict: bool = False,
    skip: Collection[str] = (),
    timeout: float = dynamic.TIMEOUT,
) -> tuple[Outcome, ...]:
    """Return what every rule says of an FMU, in the order of `RULES`.

    Args:
        path: the .fmu file.
        strict: whether to try the rules that few FMUs keep.
        skip: names of rules to leave out; 'practice' for all that the standard does not state.
        timeout: seconds the FMU has for one rule; for all together it has five times as long.

    Raises:
        UsageError: `skip` names no rule, or one that others wait for.
    """
    left_out = _left_out(skip)
    reasons = dict.fromkeys(left_out, "left out on demand")
    if not strict:
        reasons.update({rule.name: "tried only if strict" for rule in RULES if rule.strict})
    rules = {rule.name: rule for rule in RULES}
    inspection = inspect(path)
    results = archive.judge_archive(path, inspection)
    version = None
    if inspection.archive is not None:
        fmu, judged = static.check_description(inspection.archive)
        results += judged
        if fmu is not None:
            version = fmu.version
            reasons = {**_of_other_versions(fmu.version), **reasons}
            results += dynamic.probe_fmu(fmu, reasons, timeout)
            rules |= dynamic.BY_VERSION[fmu.version]
    said: dict[str, list[Outcome]] = {}
    for outcome in results:
        said.setdefault(outcome.rule, []).append(outcome)
    complete: list[Outcome] = []
    blocker = "file"
    sentences = SENTENCES["2.0" if version is None else version]
    for rule in rules.values():
        if rule.name in reasons:
            complete.append(rule.outcome("not applicable", reasons[rule.name]))
            continue
        outcomes = _without_passes(said.get(rule.name, ())) or [
            rule.outcome("not applicable", f"waits for the rule '{blocker}'")
        ]
        if rule.gate and rule.name in said and outcomes[0].status != "pass":
            blocker = rule.name
        complete += (_weighed(outcome, rule, sentences) for outcome in outcomes)
    return tuple(complete)


def _without_passes(outcomes: Collection[Outcome]) -> list[Outcome]:
    """Return what a rule says, without a pass beside something that is wrong."""
    wrong = [outcome for outcome in outcomes if outcome.status in ("fail", "note")]
    return list(dict.fromkeys(wrong)) or list(outcomes)


def _weighed(outcome: Outcome, rule: Rule, sentences: Mapping[str, str]) -> Outcome:
    """Return a failure with the sentence that it breaks, or as a note if there is none.

    Without the rules that others wait for nothing can be judged: they fail without a sentence too.
    """
    if outcome.status != "fail":
        return outcome
    sentence = sentences.get(rule.name, "")
    if not sentence and (not rule.gate or rule.name in PRACTICAL):
        return replace(outcome, status="note")
    return replace(outcome, sentence=sentence)


def _of_other_versions(version: str) -> dict[str, str]:
    """Return why rules do not apply to an FMU of a version, by name."""
    two, three = ({*dynamic.BY_VERSION[of]} for of in ("2.0", "3.0"))
    others = static.ONLY2 | (two - three) if version == "3.0" else static.ONLY3 | (three - two)
    return dict.fromkeys(others, f"the FMU is of FMI {version}: the rule is not judged")


def _left_out(skip: Collection[str]) -> set[str]:
    """Return the names of the rules a user wants to leave out."""
    rules = {rule.name: rule for rule in RULES}
    names: set[str] = set()
    for name in skip:
        if name == PRACTICE:
            names |= {rule.name for rule in RULES if rule.section == PRACTICE and not rule.gate}
        elif name not in rules:
            raise UsageError(f"there is no rule '{name}' to leave out; {nearest(name, [*rules, PRACTICE])}")
        elif rules[name].gate:
            raise UsageError(f"the rule '{name}' cannot be left out: others make no sense without it")
        else:
            names.add(name)
    return names

"""What a check says of an FMU, as values, and how a rule becomes such a value."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from mbfmu.fmi.fault import one_line

Status = Literal["pass", "fail", "note", "not applicable"]

PRACTICE = "practice"
"""Section of a rule that the standard does not state, but without which some master fails."""

MOST = 50
"""Largest number of faults by one rule that are listed one by one."""


class Remark(str):
    """A finding that breaks no sentence of the standard, whatever its rule stands on."""

    __slots__ = ()


Finding = tuple[str, int | str | None]
"""What is wrong, and where: a line of modelDescription.xml, a member of the archive, or nowhere in particular."""


class NotApplicable(Exception):  # noqa: N818 - it is no error
    """A rule has nothing to judge in this FMU; the text says why."""


@dataclass(frozen=True)
class Rule:
    """One rule of the check.

    Args:
        name: its id, such as 'start-missing'.
        section: of the FMI 2.0.4 or 3.0.2 document, or 'practice'.
        claim: what holds if an FMU passes.
        gate: whether later rules make no sense without it.
        strict: whether it is tried only on demand.
    """

    name: str
    section: str
    claim: str
    gate: bool = False
    strict: bool = False

    @classmethod
    def of(cls, function: Callable[..., object], section: str, gate: bool = False, strict: bool = False) -> "Rule":
        """Return the rule a function states: its name is the id, the first line of its docstring the claim."""
        claim = (function.__doc__ or "").strip().partition("\n")[0]
        return cls(function.__name__.strip("_").replace("_", "-"), section, claim, gate, strict)

    def outcome(self, status: Status, message: str, where: int | str | None = None) -> "Outcome":
        """Return what this rule says."""
        location = f"modelDescription.xml:{where}" if isinstance(where, int) else where or ""
        return Outcome(self.name, self.section, status, one_line(location), one_line(message))

    def judge(self, findings: Callable[[], Iterable[Finding]]) -> list["Outcome"]:
        """Return an outcome for each finding, or one that says that there is none."""
        try:
            violations = list(islice(findings(), MOST + 1))
        except NotApplicable as reason:
            return [self.outcome("not applicable", str(reason))]
        except Exception as error:  # noqa: BLE001 - a hostile description must not end the check
            violations = [(f"the rule cannot be applied to this FMU: {error!r}", None)]
        if len(violations) > MOST:
            violations[MOST:] = [(f"and more; the first {MOST} are listed", None)]
        found = [self.outcome("note" if isinstance(item[0], Remark) else "fail", *item) for item in violations]
        return found or [self.outcome("pass", self.claim)]


@dataclass(frozen=True)
class Outcome:
    """What one rule says of one FMU; a rule that fails at several lines has an outcome for each.

    Args:
        rule: the rule's id.
        section: of the FMI 2.0.4 or 3.0.2 document the rule comes from, or 'practice'.
        status: 'fail' for a breach of the standard, 'note' for another finding, 'pass', or 'not applicable'.
        where: line or file, such as 'modelDescription.xml:12' or the name of a file in the archive; may be empty.
        message: what is wrong and how to mend it, what holds, or why the rule does not apply.
        sentence: the sentence of the standard that a failure breaks; empty for others, and where nothing can be judged.
    """

    rule: str
    section: str
    status: Status
    where: str
    message: str
    sentence: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.rule}: {self.message}" if self.where else f"{self.rule}: {self.message}"

"""The report of a check on the command line: a picture for a terminal, or a line a rule for a file; first the sum."""

from collections.abc import Collection, Iterator
from typing import Literal

from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mbfmu.checker.outcome import Outcome, Status

Shown = Literal["fail", "note", "pass", "n/a"]

WORDS: dict[Status, Shown] = {"fail": "fail", "note": "note", "pass": "pass", "not applicable": "n/a"}
"""First word of a line; problems come first."""

MOST = 5
"""Largest number of faults by one rule that a terminal shows."""


def as_lines(name: str, outcomes: Collection[Outcome]) -> Iterator[str]:
    """Yield a line that sums up the outcomes, one for each, problems first, and one for all that does not apply.

    The first failure of a rule ends with the sentence of the standard that it breaks.
    """
    yield summary(name, outcomes)
    width, quoted = max(len(outcome.rule) for outcome in outcomes), set[str]()
    absent = _of(outcomes, "not applicable")
    for status, word in WORDS.items():
        for outcome in () if status == "not applicable" else _of(outcomes, status):
            where = f"{outcome.where}: " if outcome.where else ""
            quote = f" [{outcome.sentence}]" if outcome.sentence and outcome.rule not in quoted else ""
            quoted.add(outcome.rule)
            yield f"{word:<4}  {outcome.rule:<{width}}  {outcome.section:<8}  {where}{outcome.message}{quote}"
    if absent:
        reasons = (f"{reason}: {', '.join(rules)}" for reason, rules in _reasons(absent).items())
        yield f"{WORDS['not applicable']:<4}  {'; '.join(reasons)}"


def as_picture(name: str, outcomes: Collection[Outcome]) -> RenderableType:
    """Return what a terminal shows: the sum, the problems and notes, what does not apply and why, what is in order."""
    failed, noted, passed, absent = (_of(outcomes, status) for status in WORDS)
    parts: list[RenderableType] = [Text(summary(name, outcomes), style="bold red" if failed else "bold green")]
    if failed:
        parts += [Text(), _problems(failed, "problem", "red")]
    if noted:
        parts += [Text(), _problems(noted, "note", "yellow")]
    if absent:
        table = Table.grid(padding=(0, 2))
        for reason, rules in _reasons(absent).items():
            table.add_row(Text(", ".join(rules)), Text(reason, style="dim"))
        parts += [Text("\nnot applicable", style="bold yellow"), table]
    if passed:
        entries = [Text.assemble((item.rule, "green"), (f" {item.section}", "dim")) for item in passed]
        parts += [Text("\nin order", style="bold green"), Columns(entries, padding=(0, 2), column_first=True)]
    return Group(*parts)


def _reasons(absent: Collection[Outcome]) -> dict[str, list[str]]:
    """Return the rules that do not apply by the reason."""
    reasons: dict[str, list[str]] = {}
    for outcome in absent:
        reasons.setdefault(outcome.message, []).append(outcome.rule)
    return reasons


def summary(name: str, outcomes: Collection[Outcome]) -> str:
    """Return the sum in a line."""
    failed, noted, passed, absent = (len(_of(outcomes, status)) for status in WORDS)
    problems = {0: "no problem", 1: "1 problem"}.get(failed, f"{failed} problems")
    notes = {0: "", 1: ", 1 note"}.get(noted, f", {noted} notes")
    return f"{name}: {problems}{notes}; {passed} rules in order, {absent} not applicable"


def _problems(failed: list[Outcome], kind: str, color: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style=f"bold {color}")
    table.add_column(kind, style=color, no_wrap=True)
    table.add_column("section", style="dim", no_wrap=True)
    table.add_column("where and what", overflow="fold")
    for rule in dict.fromkeys(outcome.rule for outcome in failed):
        outcomes = [outcome for outcome in failed if outcome.rule == rule]
        for outcome in outcomes[:MOST]:
            where = f"{outcome.where}\n" if outcome.where else ""
            quote = f"\n{outcome.sentence}" if outcome.sentence and outcome is outcomes[0] else ""
            table.add_row(rule, outcome.section, Text.assemble((where, "cyan"), outcome.message, (quote, "italic")))
        if len(outcomes) > MOST:
            table.add_row(rule, outcomes[0].section, Text(f"and {len(outcomes) - MOST} more: see --json", style="dim"))
    return table


def _of(outcomes: Collection[Outcome], status: Status) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.status == status]

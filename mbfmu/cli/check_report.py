"""The report of a check on the command line: a picture for a terminal, or a line a rule for a file."""

from collections.abc import Collection, Iterator
from typing import Literal

from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mbfmu.checker.outcome import Outcome, Status

Shown = Literal["fail", "pass", "n/a"]

WORDS: dict[Status, Shown] = {"fail": "fail", "pass": "pass", "not applicable": "n/a"}
"""First word of a line; problems come first."""

MOST = 5
"""Largest number of faults by one rule that a terminal shows."""


def as_lines(name: str, outcomes: Collection[Outcome]) -> Iterator[str]:
    """Yield a line for each outcome, problems first, and a last one that sums them up."""
    width = max(len(outcome.rule) for outcome in outcomes)
    for status, word in WORDS.items():
        for outcome in _of(outcomes, status):
            where = f"{outcome.where}: " if outcome.where else ""
            yield f"{word:<4}  {outcome.rule:<{width}}  {outcome.section:<8}  {where}{outcome.message}"
    yield summary(name, outcomes)


def as_picture(name: str, outcomes: Collection[Outcome]) -> RenderableType:
    """Return what a terminal shows: the problems, what does not apply and why, what is in order, the sum."""
    failed, passed, absent = (_of(outcomes, status) for status in WORDS)
    parts: list[RenderableType] = []
    if failed:
        parts.append(_problems(failed))
    if absent:
        reasons: dict[str, list[str]] = {}
        for outcome in absent:
            reasons.setdefault(outcome.message, []).append(outcome.rule)
        table = Table.grid(padding=(0, 2))
        for reason, rules in reasons.items():
            table.add_row(Text(", ".join(rules)), Text(reason, style="dim"))
        parts += [Text("\nnot applicable", style="bold yellow"), table]
    if passed:
        entries = [Text.assemble((item.rule, "green"), (f" {item.section}", "dim")) for item in passed]
        parts += [Text("\nin order", style="bold green"), Columns(entries, padding=(0, 2), column_first=True)]
    parts.append(Text(f"\n{summary(name, outcomes)}", style="bold red" if failed else "bold green"))
    return Group(*parts)


def summary(name: str, outcomes: Collection[Outcome]) -> str:
    """Return the sum in a line."""
    failed, passed, absent = (len(_of(outcomes, status)) for status in WORDS)
    problems = {0: "no problem", 1: "1 problem"}.get(failed, f"{failed} problems")
    return f"{name}: {problems}; {passed} rules in order, {absent} not applicable"


def _problems(failed: list[Outcome]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold red")
    table.add_column("problem", style="red", no_wrap=True)
    table.add_column("section", style="dim", no_wrap=True)
    table.add_column("where and what", overflow="fold")
    for rule in dict.fromkeys(outcome.rule for outcome in failed):
        outcomes = [outcome for outcome in failed if outcome.rule == rule]
        for outcome in outcomes[:MOST]:
            where = f"{outcome.where}\n" if outcome.where else ""
            table.add_row(rule, outcome.section, Text.assemble((where, "cyan"), outcome.message))
        if len(outcomes) > MOST:
            table.add_row(rule, outcomes[0].section, Text(f"and {len(outcomes) - MOST} more: see --json", style="dim"))
    return table


def _of(outcomes: Collection[Outcome], status: Status) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.status == status]

"""mbfmu check."""

from pathlib import Path
from typing import Annotated

import typer

from mbfmu.cli import complete
from mbfmu.cli.console import Report, Tell, out
from mbfmu.errors import FmuError


def check(
    _: Tell,
    fmu: Annotated[Path, typer.Argument(metavar="F.fmu", help="any FMU of FMI 2.0 or 3.0")],
    strict: Annotated[bool, typer.Option("--strict", help="also try the rules that few FMUs keep")] = False,
    skip: Annotated[
        list[str] | None,
        typer.Option(
            "--skip",
            metavar="RULE",
            help="leave a rule out, or all that are 'practice'; may be repeated",
            autocompletion=complete.rules,
        ),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="T", help="time the FMU has for one rule, s")
    ] = None,
) -> Report:
    """Check an FMU against FMI 2.0.4 or 3.0.2 and by test runs, rule by rule; the exit status is 1 if a rule fails."""
    from mbfmu.checker import report
    from mbfmu.cli import check_report

    if not fmu.is_file():
        raise FmuError(f"there is no FMU '{fmu}'")
    limit = {} if timeout is None else {"timeout": timeout}
    outcomes = report(fmu, strict=strict, skip=skip or (), **limit)
    terminal = out.is_terminal
    shown = (
        (check_report.as_picture(str(fmu), outcomes),) if terminal else tuple(check_report.as_lines(str(fmu), outcomes))
    )
    return Report(
        outcomes,
        shown,
        failed=any(outcome.status == "fail" for outcome in outcomes),
    )

"""mbfmu compare."""

from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from mbfmu.cli import complete
from mbfmu.cli.choices import number, present
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.run_options import InputOptions
from mbfmu.cli.sources import DerivedSource, check_files

if TYPE_CHECKING:
    from mbfmu.analysis.compare import ComparedRun

HEADINGS = ("stepper", "h [s]", "error", "Phi", "Phi_q v", "energy", "corr.", "us/step")


def compare(
    tell: Tell,
    *,
    stop: Annotated[float, typer.Option("--stop", metavar="T", help="stop time, s")],
    steppers: Annotated[
        str | None,
        typer.Option(
            "--steppers",
            metavar="A,B",
            help="names, with options as name:key=value",
            autocompletion=complete.stepper_list,
        ),
    ] = None,
    steps: Annotated[
        str | None,
        typer.Option(
            "--steps", metavar="H1,H2", help="steps, s; default: 10, 5, 2, 1 ms, and shorter ones to errors of 1e-4"
        ),
    ] = None,
    source: DerivedSource,
    run: InputOptions,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="TABLE", help="a .csv or .md file")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="P.png", help="work-precision picture")] = None,
) -> Report:
    """Run every stepper with every step on a model, and advise which to use."""
    from mbfmu.analysis.compare import ENDINGS, compare, shown
    from mbfmu.base.files import ending_of

    if output:
        ending_of(output, ENDINGS)
    check_files(source, other=output, picture=plot)
    done: list[float] = []
    tell("reference", 0.0)
    comparison = compare(
        source.load(),
        stop,
        steppers=steppers.split(",") if steppers else (),
        steps=[number("--steps", text) for text in steps.split(",")] if steps is not None else (),
        coordinates=source.coordinates,
        progress=lambda fraction: done.append(fraction),
        ended=lambda row: tell(_told(row), done[-1]),
        **run.named(),
    )
    if output:
        comparison.write(output)
    if plot:
        from mbfmu.show.plot import plot_comparison

        tell("plot", 0.0)
        plot_comparison(comparison, plot)
    table = Table(
        title=f"{comparison.model}, {stop:g} s; reference converged to {comparison.accuracy:.1e}", title_justify="left"
    )
    for heading in HEADINGS:
        table.add_column(escape(heading), justify="left" if heading == "stepper" else "right")
    for row in comparison.rows:
        if not row.failure:
            table.add_row(*(escape(shown(value)) for value in astuple(row)[: len(HEADINGS)]))
    failures = dict.fromkeys(row.failure for row in comparison.rows if row.failure)
    data = {
        "model": comparison.model,
        "stop": comparison.stop,
        "accuracy": comparison.accuracy,
        "rows": comparison.rows,
    }
    return Report(
        {**data, "advice": comparison.advice}, (table, *failures, comparison.advice), present(output, plot),
        comparison.notices,
    )  # fmt: skip


def _told(row: "ComparedRun") -> str:
    """Return a run that has ended, in a few words."""
    return f"{row.stepper}, {row.h:g} s: {'failed' if row.failure else f'error {row.error:.2g}'}"

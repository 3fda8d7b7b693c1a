"""mbfmu compare."""

from dataclasses import astuple
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

import mbfmu
from mbfmu.cli import complete
from mbfmu.cli.choices import Coordinates, Free, Model, Values, number, present, settings
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.robot import with_robot

HEADINGS = ("stepper", "h [s]", "error", "Phi", "Phi_q v", "energy", "corr.", "us/step")


@with_robot
def compare(
    tell: Tell,
    model: Model,
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
    steps: Annotated[str, typer.Option("--steps", metavar="H1,H2", help="steps, s")] = "0.01,0.005,0.002,0.001",
    coordinates: Coordinates = None,
    values: Values = None,
    free: Free = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="TABLE", help="a .csv or .md file")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="P.png", help="work-precision picture")] = None,
    robot: Any = None,
) -> Report:
    """Run every stepper with every step on a model, and advise which to use."""
    from mbfmu.analysis.compare import ENDINGS, compare, shown
    from mbfmu.base.files import check_outputs, ending_of

    if output:
        ending_of(output, ENDINGS)
    check_outputs((output, plot), (model,))
    if plot:
        from mbfmu.show.plot import picture_format, plot_comparison

        picture_format(plot)
    lengths = [number("--steps", text) for text in steps.split(",")]
    names = steppers.split(",") if steppers else ()
    system = mbfmu.load(model, settings(values), free or (), robot)
    found = compare(
        system, stop, steppers=names, steps=lengths, coordinates=coordinates,
        progress=lambda fraction: tell("compare", fraction),
    )  # fmt: skip
    if output:
        found.write(output)
    if plot:
        tell("plot", 0.0)
        plot_comparison(found, plot)
    table = Table(title=f"{found.model}, {stop:g} s; reference converged to {found.accuracy:.1e}", title_justify="left")
    for heading in HEADINGS:
        table.add_column(escape(heading), justify="left" if heading == "stepper" else "right")
    for row in found.rows:
        if not row.failure:
            table.add_row(*(escape(shown(value)) for value in astuple(row)[: len(HEADINGS)]))
    failures = dict.fromkeys(row.failure for row in found.rows if row.failure)
    data = {"model": found.model, "stop": found.stop, "accuracy": found.accuracy, "rows": found.rows}
    return Report({**data, "advice": found.advice}, (table, *failures, found.advice), present(output, plot))

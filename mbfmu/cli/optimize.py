"""mbfmu optimize."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

import mbfmu
from mbfmu.cli import complete
from mbfmu.cli.choices import (
    Bounds,
    Coordinates,
    InputHold,
    Inputs,
    Model,
    Options,
    Start,
    Step,
    Stepper,
    Values,
    begun,
    names,
    pairs,
    present,
    spans,
)
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.robot import with_robot


@with_robot
def optimize(
    tell: Tell,
    model: Model,
    stop: Annotated[float, typer.Option("--stop", metavar="T", help="stop time of the run, s")],
    minimize: Annotated[
        str,
        typer.Option(
            "--minimize",
            metavar="EXPRESSION",
            help="of max(NAME), min, last, mean, rms, ptp of outputs, and of free values",
        ),
    ],
    free: Annotated[
        list[str],
        typer.Option(
            "--free",
            metavar="NAME,...",
            help="parameters and start values to choose; may be repeated",
            autocompletion=complete.values,
        ),
    ],
    bounds: Bounds = None,
    stepper: Stepper = None,
    option: Options = None,
    step: Step = None,
    coordinates: Coordinates = None,
    output_interval: Annotated[
        float | None, typer.Option("--output-interval", metavar="DT", help="time between the values measured, s")
    ] = None,
    values: Values = None,
    start: Start = None,
    inputs: Inputs = None,
    input_hold: InputHold = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="BEST.json|.toml", help="file of the values, which --start takes"),
    ] = None,
    robot: Any = None,
) -> Report:
    """Compute parameters and start values for which an expression of measures of a run is least."""
    from mbfmu.equilibria import ENDINGS, write_start
    from mbfmu.files import ending_of, refuse_overwriting

    if output:
        ending_of(output, ENDINGS)
    refuse_overwriting((output,), (model, *pairs(inputs).values(), *present(start)))
    given = begun(start, values)
    found = mbfmu.optimize(
        mbfmu.load(model, given, (), robot),
        stop,
        minimize,
        names(free),
        bounds=spans(bounds),
        stepper=stepper,
        options=pairs(option),
        step=step,
        output_interval=output_interval,
        inputs=pairs(inputs),
        input_hold=input_hold,
        coordinates=coordinates,
        progress=lambda runs, value: tell(f"optimize: run {runs}, {value:.6g}", 0.0),
    )
    if output:
        write_start(output, {**given, **found.values})
    table = Table(title=found.name, title_justify="left")
    for heading in ("value", "unit", "best", "at the start", ""):
        table.add_column(heading, justify="right" if heading in {"best", "at the start"} else "left")
    for item in found.items:
        remark = "at a bound" if item.bound else ""
        table.add_row(escape(item.name), escape(item.unit), f"{item.value:.9g}", f"{item.start:.6g}", remark)
    line = f"{found.expression} = {found.least:.6g}, {found.before:.6g} at the start; {found.runs} runs"
    data = {
        "model": found.name,
        "stop": stop,
        "minimize": found.expression,
        "values": found.items,
        "before": found.before,
        "least": found.least,
        "runs": found.runs,
    }
    return Report(data, (table, line), present(output), found.notices)

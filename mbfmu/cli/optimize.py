"""mbfmu optimize."""

from collections.abc import Callable
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
from mbfmu.errors import UsageError


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
            help="of max(NAME), min, last, mean, rms, ptp of outputs and free inputs, and of free values",
        ),
    ],
    free: Annotated[
        list[str] | None,
        typer.Option(
            "--free",
            metavar="NAME,...",
            help="parameters and start values to choose; may be repeated",
            autocompletion=complete.values,
        ),
    ] = None,
    knots: Annotated[
        list[str] | None,
        typer.Option(
            "--knots",
            metavar="NAME=N",
            help="choose an input over time, by its values at N points, with lines between; may be repeated",
            autocompletion=complete.inputs,
        ),
    ] = None,
    knots_hold: Annotated[
        bool, typer.Option("--knots-hold", help="each value of an input stays until the next; default: lines between")
    ] = False,
    subject: Annotated[
        list[str] | None,
        typer.Option(
            "--subject-to",
            metavar="CONDITION",
            help="such as 'last(NAME) = 1.5' or '0 <= max(NAME) <= 2'; may be repeated",
        ),
    ] = None,
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
    write_inputs: Annotated[
        Path | None,
        typer.Option("--write-inputs", metavar="U.csv", help="table of the inputs over time, which --input takes"),
    ] = None,
    robot: Any = None,
) -> Report:
    """Compute parameters, start values and inputs for which an expression of measures of a run is least."""
    from mbfmu.analysis.equilibria import ENDINGS, write_start
    from mbfmu.base.files import check_outputs, ending_of
    from mbfmu.base.formats import format_of

    if output:
        ending_of(output, ENDINGS)
    if write_inputs:
        format_of(write_inputs)
        if not knots:
            raise UsageError("--write-inputs: no input is free over time: give knots of one (--knots)")
    check_outputs((output, write_inputs), (model, *pairs(inputs).values(), *present(start)))
    given = begun(start, values)
    found = mbfmu.optimize(
        mbfmu.load(model, given, (), robot),
        stop,
        minimize,
        names(free),
        subject=subject or (),
        knots={name: _count(name, text) for name, text in pairs(knots).items()},
        knots_hold=knots_hold,
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
    table = Table(title=found.name, title_justify="left")
    for heading in ("value", "unit", "best", "at the start", ""):
        table.add_column(heading, justify="right" if heading in {"best", "at the start"} else "left")
    for item in found.items:
        remark = "at a bound" if item.bound else ""
        table.add_row(escape(item.name), escape(item.unit), f"{item.value:.9g}", f"{item.start:.6g}", remark)
    for name, each in found.trajectories.items():
        span, remark = f"{each.values.min():.6g} to {each.values.max():.6g}", f"over time, {each.time.size} values"
        table.add_row(escape(name), escape(each.unit), span, "", remark)
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
    if found.trajectories:
        data["inputs"] = found.trajectories
    writes: list[tuple[Path, Callable[[Path], object]]] = []
    if output:
        writes.append((output, lambda path: write_start(path, {**given, **found.values})))
    if write_inputs:
        writes.append((write_inputs, found.write_inputs))
    return Report(data, (table, line), notices=found.notices, writes=tuple(writes))


def _count(name: str, text: str) -> int:
    """Return a number of knots."""
    if not text.isdecimal():
        raise UsageError(f"--knots {name}={text}: give a whole number of points")
    return int(text)

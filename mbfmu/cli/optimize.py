"""mbfmu optimize."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

import mbfmu
from mbfmu.cli import complete
from mbfmu.cli.choices import Bounds, names, pairs, spans
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.expansion import OptionGroup
from mbfmu.cli.run_options import OptimizeOptions
from mbfmu.cli.sources import StartedSource, check_files, start_writes
from mbfmu.errors import UsageError

if TYPE_CHECKING:
    from mbfmu.analysis.optimize import Optimum


@dataclass(frozen=True, kw_only=True)
class Search(OptionGroup):
    """A goal, the values that are searched for, and the conditions that they meet."""

    minimize: Annotated[
        str,
        typer.Option(
            "--minimize",
            metavar="EXPRESSION",
            help="of max(NAME), min, last, mean, rms, ptp of outputs and free inputs, and of free values",
        ),
    ]
    free: Annotated[
        list[str] | None,
        typer.Option(
            "--free",
            metavar="NAME,...",
            help="parameters and start values to choose; may be repeated",
            autocompletion=complete.values,
        ),
    ] = None
    knots: Annotated[
        list[str] | None,
        typer.Option(
            "--knots",
            metavar="NAME=N",
            help="choose an input over time, by its values at N points, with lines between; may be repeated",
            autocompletion=complete.inputs,
        ),
    ] = None
    knots_hold: Annotated[
        bool, typer.Option("--knots-hold", help="each value of an input stays until the next; default: lines between")
    ] = False
    subject: Annotated[
        list[str] | None,
        typer.Option(
            "--subject-to",
            metavar="CONDITION",
            help="such as 'last(NAME) = 1.5' or '0 <= max(NAME) <= 2'; may be repeated",
        ),
    ] = None
    bounds: Bounds = None


def optimize(
    tell: Tell,
    *,
    stop: Annotated[float, typer.Option("--stop", metavar="T", help="stop time of the run, s")],
    search: Search,
    run: OptimizeOptions,
    source: StartedSource,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="BEST.json|.toml", help="file of the values, which --start takes"),
    ] = None,
    write_inputs: Annotated[
        Path | None,
        typer.Option("--write-inputs", metavar="U.csv", help="table of the inputs over time, which --input takes"),
    ] = None,
) -> Report:
    """Compute parameters, start values and inputs for which an expression of measures of a run is least."""
    if write_inputs and not search.knots:
        raise UsageError("--write-inputs: no input is free over time: give knots of one (--knots)")
    check_files(source, run, start=output, table=write_inputs)
    result = mbfmu.optimize(
        source.load(),
        stop,
        search.minimize,
        names(search.free),
        subject=search.subject or (),
        knots={name: _count(name, text) for name, text in pairs(search.knots).items()},
        knots_hold=search.knots_hold,
        bounds=spans(search.bounds),
        progress=lambda runs, value: tell(f"optimize: run {runs}, {value:.6g}", 0.0),
        **run.named(),
    )
    data = {
        "model": result.name,
        "stop": stop,
        "minimize": result.expression,
        "values": result.items,
        "before": result.before,
        "least": result.least,
        "runs": result.runs,
    }
    if result.trajectories:
        data["inputs"] = result.trajectories
    inputs = ((write_inputs, result.write_inputs),) if write_inputs else ()
    writes = (*start_writes(source, output, result.values), *inputs)
    return Report(data, tuple(_shown(result)), notices=result.notices, writes=writes)


def _shown(result: "Optimum") -> list[RenderableType]:
    table = Table(title=result.name, title_justify="left")
    for heading in ("value", "unit", "best", "at the start", ""):
        table.add_column(heading, justify="right" if heading in {"best", "at the start"} else "left")
    for item in result.items:
        remark = "at a bound" if item.bound else ""
        table.add_row(escape(item.name), escape(item.unit), f"{item.value:.9g}", f"{item.start:.6g}", remark)
    for name, each in result.trajectories.items():
        span, remark = f"{each.values.min():.6g} to {each.values.max():.6g}", f"over time, {each.time.size} values"
        table.add_row(escape(name), escape(each.unit), span, "", remark)
    line = f"{result.expression} = {result.least:.6g}, {result.before:.6g} at the start; {result.runs} runs"
    return [table, line]


def _count(name: str, text: str) -> int:
    """Return a number of knots."""
    if not text.isdecimal():
        raise UsageError(f"--knots {name}={text}: give a whole number of points")
    return int(text)

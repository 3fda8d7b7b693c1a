"""mbfmu inverse."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import mbfmu
from mbfmu.cli import complete
from mbfmu.cli.choices import MotionStop, OutputInterval, ResultFile, Show, pairs, present
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.simulate import extremes, table
from mbfmu.cli.sources import PlacedSource, check_files, shown_names
from mbfmu.errors import UsageError

if TYPE_CHECKING:
    from mbfmu.base.result import Result


def inverse(
    tell: Tell,
    *,
    motion: Annotated[
        list[str],
        typer.Option(
            "--motion",
            metavar="FILE|NAME=EXPR",
            help="a table of joint coordinates over time, or a coordinate as an expression of time; may be repeated",
            autocompletion=complete.held,
        ),
    ],
    stop: MotionStop = None,
    output_interval: OutputInterval = None,
    efforts: Annotated[
        list[str] | None,
        typer.Option(
            "--effort",
            metavar="NAME",
            help="an input that makes the motion; may be repeated; default: all forces and torques",
            autocompletion=complete.inputs,
        ),
    ] = None,
    source: PlacedSource,
    output: ResultFile = None,
    show: Show = None,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="OUT.png", help="figure of results")] = None,
) -> Report:
    """Compute the efforts of the drives, and the reactions, that a given motion takes."""
    requested = given_motion(motion)
    check_files(source, table=output, picture=plot, read=[requested] if isinstance(requested, str) else [])
    tell("inverse dynamics", 0.0)
    result = mbfmu.inverse(
        source.load(),
        requested,
        stop,
        output_interval=output_interval,
        efforts=efforts or (),
        coordinates=source.coordinates,
        show=shown_names(show),
    )
    return written(result, source.name, output, plot)


def written(result: "Result", name: str, output: Path | None, plot: Path | None) -> Report:
    """Return the report of a motion, after its table and picture are written."""
    if output:
        result.write(output)
    if plot:
        from mbfmu.show.plot import plot_result

        plot_result(result, plot, name)
    data = {"model": name, "variables": {item: extremes(result, item) for item in result.names}}
    return Report(data, table(result), present(output, plot), result.notices)


def given_motion(motion: list[str]) -> str | dict[str, str]:
    """Return the path of a table, or expressions by name.

    Raises:
        UsageError: there are both, or several tables.
    """
    tables = [item for item in motion if "=" not in item]
    if not tables:
        return pairs(motion)
    if len(motion) > 1:
        raise UsageError("a motion is one table, or expressions NAME=EXPR of some coordinates")
    return tables[0]

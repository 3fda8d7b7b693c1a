"""mbfmu inverse."""

from pathlib import Path
from typing import Annotated, Any

import typer

import mbfmu
from mbfmu.cli import complete
from mbfmu.cli.choices import (
    Coordinates,
    Model,
    MotionStop,
    OutputInterval,
    Show,
    Start,
    Values,
    begun,
    pairs,
    present,
)
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.robot import with_robot
from mbfmu.cli.simulate import extremes, table
from mbfmu.errors import UsageError


@with_robot
def inverse(
    tell: Tell,
    model: Model,
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
    values: Values = None,
    start: Start = None,
    coordinates: Coordinates = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT.csv", help="table of all variables: .csv, .parquet, .mat or .npz"),
    ] = None,
    show: Show = None,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="OUT.png", help="picture of results")] = None,
    robot: Any = None,
) -> Report:
    """Compute the efforts of the drives, and the reactions, that a given motion takes."""
    from mbfmu.base.files import check_outputs
    from mbfmu.base.formats import format_of

    if output:
        format_of(output)
    if plot:
        from mbfmu.show.plot import picture_format, plot_result

        picture_format(plot)
    given = given_motion(motion)
    check_outputs((output, plot), (model, *([given] if isinstance(given, str) else []), *present(start)))
    tell("inverse dynamics", 0.0)
    result = mbfmu.inverse(
        mbfmu.load(model, begun(start, values), (), robot),
        given,
        stop,
        output_interval=output_interval,
        efforts=efforts or (),
        coordinates=coordinates,
        show=[name.strip() for name in show.split(",")] if show else (),
    )
    if output:
        result.write(output)
    if plot:
        plot_result(result, plot, Path(model).stem)
    data = {"model": Path(model).stem, "variables": {name: extremes(result, name) for name in result.names}}
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

"""mbfmu kinematics."""

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
    TableFile,
    Values,
    begun,
    pairs,
    present,
)
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.inverse import given_motion
from mbfmu.cli.robot import with_robot
from mbfmu.cli.simulate import extremes, table
from mbfmu.errors import UsageError


@with_robot
def kinematics(
    tell: Tell,
    model: Model,
    motion: Annotated[
        list[str] | None,
        typer.Option(
            "--motion",
            metavar="FILE|NAME=EXPR",
            help="a table of driven coordinates over time, or one as an expression of time; may be repeated",
            autocompletion=complete.held,
        ),
    ] = None,
    stop: MotionStop = None,
    output_interval: OutputInterval = None,
    frame: Annotated[
        str | None,
        typer.Option(
            "--frame",
            metavar="NAME",
            help="in place of a motion: the workspace of a frame, such as link2.frame_b",
            autocompletion=complete.frames,
        ),
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            "--grid",
            metavar="NAME=START:STOP:N",
            help="values of a driven axis for the workspace; may be repeated",
            autocompletion=complete.held,
        ),
    ] = None,
    values: Values = None,
    start: Start = None,
    coordinates: Coordinates = None,
    output: TableFile = None,
    show: Show = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="OUT.png", help="picture of results, or of the workspace")
    ] = None,
    robot: Any = None,
) -> Report:
    """Compute positions, rates and accelerations that follow from driven axes, or the workspace of a frame."""
    from mbfmu.analysis.study.points import grid as spread
    from mbfmu.base.files import check_outputs
    from mbfmu.base.formats import format_of

    if output:
        format_of(output)
    if plot:
        from mbfmu.show.plot import picture_format, plot_result, plot_workspace

        picture_format(plot)
    if bool(motion) == bool(frame):
        raise UsageError("give the motion of the driven axes (--motion), or the frame of a workspace (--frame, --grid)")
    given = given_motion(motion) if motion else ""
    check_outputs((output, plot), (model, *([given] if given and isinstance(given, str) else []), *present(start)))
    system, name = mbfmu.load(model, begun(start, values), (), robot), Path(model).stem
    if frame:
        if stop is not None or output_interval is not None or show:
            raise UsageError("a workspace has no times: leave --stop, --output-interval and --show out")
        axes = {axis: spread(axis, text) for axis, text in pairs(grid).items()}
        tell("workspace", 0.0)
        found = mbfmu.workspace(
            system, frame, axes, coordinates=coordinates, progress=lambda fraction: tell("workspace", fraction)
        )
        if output:
            found.write(output)
        if plot:
            plot_workspace(found.position, found.regularity, found.axes, found.frame, plot, name)
        counts = f"{int(found.reached.sum())} of {found.reached.size} points of the grid are reached"
        places = found.position[found.reached]
        spans = ", ".join(
            f"{letter} from {low:.6g} to {high:.6g} m"
            for letter, low, high in zip("xyz", places.min(axis=0), places.max(axis=0), strict=False)
        )
        data = {
            "model": name,
            "frame": found.frame,
            "axes": found.axes,
            "reached": found.reached,
            "position": found.position,
            "regularity": found.regularity,
        }
        return Report(data, (f"{name}: {counts}", f"{found.frame}: {spans}"), present(output, plot))
    if grid:
        raise UsageError("--grid goes with the frame of a workspace: give --frame NAME too")
    tell("kinematics", 0.0)
    result = mbfmu.kinematics(
        system,
        given,
        stop,
        output_interval=output_interval,
        coordinates=coordinates,
        show=[item.strip() for item in show.split(",")] if show else (),
    )
    if output:
        result.write(output)
    if plot:
        plot_result(result, plot, name)
    data = {"model": name, "variables": {item: extremes(result, item) for item in result.names}}
    return Report(data, table(result), present(output, plot), result.notices)

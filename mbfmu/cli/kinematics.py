"""mbfmu kinematics."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import mbfmu
from mbfmu.cli import complete
from mbfmu.cli.choices import MotionStop, OutputInterval, Show, TableFile, pairs, present
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.inverse import given_motion, written
from mbfmu.cli.sources import PlacedSource, check_files, shown_names
from mbfmu.errors import UsageError

if TYPE_CHECKING:
    from mbfmu.analysis.motion.kinematics import Workspace


def kinematics(
    tell: Tell,
    *,
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
            help="instead of a motion: the workspace of a frame, such as link2.frame_b",
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
    source: PlacedSource,
    output: TableFile = None,
    show: Show = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="OUT.png", help="figure of results, or of the workspace")
    ] = None,
) -> Report:
    """Compute positions, rates and accelerations that follow from driven axes, or the workspace of a frame."""
    if bool(motion) == bool(frame):
        raise UsageError("give the motion of the driven axes (--motion), or the frame of a workspace (--frame, --grid)")
    requested = given_motion(motion) if motion else ""
    check_files(
        source, table=output, picture=plot, read=[requested] if requested and isinstance(requested, str) else []
    )
    system = source.load()
    if frame:
        if stop is not None or output_interval is not None or show:
            raise UsageError("a workspace has no times: leave --stop, --output-interval and --show out")
        tell("workspace", 0.0)
        reached = mbfmu.workspace(
            system, frame, axes(grid), coordinates=source.coordinates,
            progress=lambda fraction: tell("workspace", fraction),
        )  # fmt: skip
        if output:
            reached.write(output)
        if plot:
            from mbfmu.show.plot import plot_workspace

            plot_workspace(reached.position, reached.regularity, reached.axes, reached.frame, plot, source.name)
        return _of_workspace(source.name, reached, present(output, plot))
    if grid:
        raise UsageError("--grid goes with the frame of a workspace: give --frame NAME too")
    tell("kinematics", 0.0)
    result = mbfmu.kinematics(
        system, requested, stop, output_interval=output_interval, coordinates=source.coordinates, show=shown_names(show)
    )
    return written(result, source.name, output, plot)


def axes(grid: list[str] | None) -> dict[str, Any]:
    """Return the values of the driven axes of a workspace, by name."""
    from mbfmu.analysis.study.points import grid as spread  # not before it is needed

    return {axis: spread(axis, text) for axis, text in pairs(grid).items()}


def _of_workspace(name: str, result: "Workspace", wrote: tuple[Path, ...]) -> Report:
    counts = f"{int(result.reached.sum())} of {result.reached.size} points of the grid are reached"
    points = result.position[result.reached]
    spans = ", ".join(
        f"{letter} from {low:.6g} to {high:.6g} m"
        for letter, low, high in zip("xyz", points.min(axis=0), points.max(axis=0), strict=False)
    )
    data = {
        "model": name,
        "frame": result.frame,
        "axes": result.axes,
        "reached": result.reached,
        "position": result.position,
        "regularity": result.regularity,
    }
    return Report(data, (f"{name}: {counts}", f"{result.frame}: {spans}"), wrote)

"""mbfmu compat."""

from pathlib import Path
from typing import Annotated

import typer

from mbfmu.cli.choices import Show, Timeout
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.run_options import InputOptions
from mbfmu.cli.sources import shown_names


def compat(
    tell: Tell,
    *,
    fmu: Annotated[Path, typer.Argument(metavar="F.fmu", help="an FMU for co-simulation, of any tool")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="folder to make")],
    stop: Annotated[
        float | None, typer.Option("--stop", metavar="T", help="stop time, s; default: that of the FMU")
    ] = None,
    step: Annotated[
        float | None,
        typer.Option("--step", metavar="H", help="communication step, s; default: that of the FMU, else T/500"),
    ] = None,
    run: InputOptions,
    show: Show = None,
    start: Annotated[
        float | None, typer.Option("--start", metavar="T", help="start time, s; default: that of the FMU")
    ] = None,
    timeout: Timeout = None,
    inside: Annotated[
        bool, typer.Option("--inside", help="put the files into the FMU of the set too, as FMI-LS-REF says")
    ] = False,
) -> Report:
    """Write the FMI Cross-Check files of an FMU: inputs, reference solution, options and ReadMe."""
    from mbfmu.run.cross_check import write_cross_check

    done = write_cross_check(
        fmu,
        output,
        stop=stop,
        step=step,
        show=shown_names(show),
        start=start,
        timeout=timeout,
        inside=inside,
        progress=lambda fraction: tell("simulate", fraction),
        **run.named(),
    )
    return Report(
        {
            "model": done.model,
            "start": done.start,
            "stop": done.stop,
            "step": done.step,
            "tolerance": done.tolerance,
            "output_interval": done.interval,
            "rows": done.rows,
            "variables": done.variables,
            "inputs": done.inputs,
            "notices": done.notices,
        },
        wrote=done.files,
        notices=done.notices,
    )

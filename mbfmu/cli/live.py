"""mbfmu live."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from mbfmu.cli.choices import Show
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.run_options import ViewOptions
from mbfmu.cli.sources import check_files, shown_names
from mbfmu.cli.view import ViewSource


def live(
    tell: Tell,
    *,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="PAGE.html", help="file to write")] = None,
    stop: Annotated[
        float | None,
        typer.Option("--stop", metavar="T", help="end of a run in advance that lays out the picture, s (default: 10)"),
    ] = None,
    run: ViewOptions,
    source: ViewSource,
    show: Show = None,
) -> Report:
    """Write one HTML page that computes the motion itself, and open it; inputs and parameters can be changed in it."""
    from mbfmu.show.viewer import refuse_page, view

    path = output or Path(f"{source.name}.html")
    refuse_page(path)
    check_files(source, run, other=path, read=[source.model])
    page = view(
        source.model,
        stop,
        values=source.fixed,
        free=source.guessed,
        robot=source.robot,
        show=shown_names(show),
        live=True,
        progress=lambda fraction: tell("live", fraction),
        **run.named(),
    )
    page.write(path)
    webbrowser.open(path.resolve().as_uri())
    return Report({"model": source.name, "stop": page.stop}, wrote=(path,))

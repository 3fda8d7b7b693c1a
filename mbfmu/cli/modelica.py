"""mbfmu modelica."""

from pathlib import Path
from typing import Annotated

import typer

from mbfmu.cli.console import Report, Tell


def modelica(
    _: Tell,
    parts: Annotated[
        list[str],
        typer.Argument(metavar="[NAME=]F.fmu...", help="FMUs with driven or moved axes, or for model exchange"),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="F.mo|FOLDER", help="file or new folder; its name is the package's"),
    ] = None,
    own: Annotated[bool, typer.Option("--own-connectors", help="do without the Modelica Standard Library")] = False,
) -> Report:
    """Write a Modelica package that gives FMUs flanges, and calls those for model exchange if it is a folder."""
    from mbfmu.base.files import check_outputs
    from mbfmu.fmu.modelica import write_modelica
    from mbfmu.fmu.ssp import components

    fmus_by_name = components(parts)
    check_outputs((output,) if output and output.suffix else (), fmus_by_name.values())  # a folder may be there
    alone = len(parts) == 1 and "=" not in parts[0]
    fmus = next(iter(fmus_by_name.values())) if alone else fmus_by_name
    return Report(
        {"fmus": {name: str(path) for name, path in fmus_by_name.items()}},
        wrote=(write_modelica(fmus, output, library=not own),),
    )

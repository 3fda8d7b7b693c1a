"""mbfmu modelica."""

from pathlib import Path
from typing import Annotated

import typer

from mbfmu.cli.console import Report, Tell


def modelica(
    _: Tell,
    fmu: Annotated[Path, typer.Argument(metavar="F.fmu", help="an FMU with driven or moved axes")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="F.mo", help="file to write; its name is the package's")
    ] = None,
    own: Annotated[bool, typer.Option("--own-connectors", help="do without the Modelica Standard Library")] = False,
) -> Report:
    """Write a Modelica package that gives an FMU flanges."""
    from mbfmu.files import refuse_overwriting
    from mbfmu.fmu.modelica import write_modelica

    refuse_overwriting((output,), (fmu,))
    return Report({"fmu": fmu}, wrote=(write_modelica(fmu, output, library=not own),))

"""mbfmu ssp."""

from pathlib import Path
from typing import Annotated

import typer

from mbfmu.cli.console import Report, Tell


def ssp(
    _: Tell,
    parts: Annotated[
        list[str],
        typer.Argument(metavar="[NAME=]A.fmu...|COUPLING.toml", help="FMUs, each a component, or a coupling file"),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="F.ssp", help="file to write")],
    connect: Annotated[
        list[str] | None,
        typer.Option(
            "--connect", metavar="A.out=B.in[:FACTOR]", help="an output goes to an input, times a factor; repeatable"
        ),
    ] = None,
    system: Annotated[
        str | None, typer.Option("--system", metavar="NAME", help="name of the system; default: the file's")
    ] = None,
    stop: Annotated[float | None, typer.Option("--stop", metavar="T", help="default stop time, s")] = None,
    version: Annotated[
        str | None,
        typer.Option("--ssp", metavar="VERSION", help="1.0 (default), or 2.0: FMI 3.0 and model exchange too"),
    ] = None,
    values: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="A.NAME=VALUE", help="value of a parameter or start value; repeatable"),
    ] = None,
    step: Annotated[
        float | None, typer.Option("--step", metavar="H", help="communication step for masters that read it here, s")
    ] = None,
) -> Report:
    """Write several FMUs and their connections as one .ssp file."""
    from mbfmu.base.files import check_outputs
    from mbfmu.fmu.ssp import Coupling, assigned, components, read_coupling, wire, write_ssp

    described = len(parts) == 1 and parts[0].endswith(".toml")
    coupling = read_coupling(parts[0]) if described else Coupling(components(parts))
    check_outputs((output,), (*parts, *coupling.components.values()))
    path = write_ssp(
        output,
        coupling.components,
        (*coupling.connections, *map(wire, connect or ())),
        system=system or coupling.system,
        stop=coupling.stop if stop is None else stop,
        step=coupling.step if step is None else step,
        version=version or coupling.version,
        parameters={**coupling.parameters, **assigned(values or ())},
    )
    return Report({"components": list(coupling.components)}, wrote=(path,))

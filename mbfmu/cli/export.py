"""mbfmu export."""

from pathlib import Path
from typing import Annotated, Any

import typer

import mbfmu
from mbfmu.cli import complete
from mbfmu.cli.choices import (
    Coordinates,
    EnergyBalance,
    Free,
    Options,
    Start,
    Step,
    Stepper,
    Tolerance,
    Values,
    begun,
    pairs,
    present,
)
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.robot import with_robot
from mbfmu.errors import UsageError


@with_robot
def export(
    tell: Tell,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="a name in models/ or fmus/, or a path of a .py, .toml, .mo, .urdf, .xacro, .sdf, MJCF .xml or recipe "
            "file",
            autocompletion=complete.exported,
        ),
    ],
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="F.fmu", help="file to write")] = None,
    stepper: Stepper = None,
    option: Options = None,
    step: Step = None,
    tolerance: Tolerance = None,
    coordinates: Coordinates = None,
    backend: Annotated[
        str,
        typer.Option(
            "--backend",
            metavar="python|native",
            help="a pythonfmu slave, or compiled C with its source",
            autocompletion=complete.backends,
        ),
    ] = "python",
    fmi: Annotated[
        str | None,
        typer.Option(
            "--fmi", metavar="2.0|3.0", help="version of FMI; 3.0 is for native", autocompletion=complete.versions
        ),
    ] = None,
    platform: Annotated[
        str | None,
        typer.Option(
            "--platform",
            metavar="linux64|win64|darwin64|all",
            help="platforms that the FMU runs on; default: this machine's for native, else all",
            autocompletion=complete.platforms,
        ),
    ] = None,
    real_time: Annotated[
        bool, typer.Option("--real-time", help="the same work in every step, converged or not (native only)")
    ] = False,
    corrections: Annotated[
        int | None, typer.Option("--passes", metavar="N", help="with --real-time: number of corrections of each stage")
    ] = None,
    energy_balance: EnergyBalance = False,
    choose: Annotated[
        list[str] | None,
        typer.Option(
            "--choose",
            metavar="NAME",
            help="a start value that a master may free, or give, by start.fixed.NAME; may be repeated",
            autocompletion=complete.start_values,
        ),
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            metavar="cs|me|both|inverse",
            help="co-simulation, model exchange (native only) or both; or co-simulation with the motions of all joints "
            "in, efforts and reactions out",
            autocompletion=complete.kinds,
        ),
    ] = "cs",
    stop: Annotated[float | None, typer.Option("--stop", metavar="T", help="default stop time, s")] = None,
    values: Values = None,
    start: Start = None,
    free: Free = None,
    robot: Any = None,
) -> Report:
    """Write a model with its stepper as an FMU."""
    from mbfmu.base.files import check_outputs, ending_of
    from mbfmu.fmu.export import CORRECTIONS, PLATFORMS
    from mbfmu.fmu.recipe import find_recipe

    if corrections is not None and not real_time:
        raise UsageError("--passes goes with --real-time")
    found = find_recipe(model)
    recipe = (found.exchanged() if kind == "me" else found).changed(
        stepper=stepper,
        options=pairs(option),
        step=step,
        tolerance=tolerance,
        stop=stop,
        coordinates=coordinates,
        fmi=fmi,
    )
    path = output or Path(f"{Path(model).stem}{'_inverse' if kind == 'inverse' else ''}.fmu")
    ending_of(path, (".fmu",))
    check_outputs((path,), (model, recipe.model, *present(start)))
    mbfmu.export(
        mbfmu.load(recipe.model, {**recipe.values, **begun(start, values)}, free or (), robot),
        path,
        backend=backend,
        platforms=PLATFORMS.get(backend) if platform == "all" else platform and (platform,),
        energy_balance=energy_balance,
        choose=choose or (),
        kind=kind,
        real_time=(CORRECTIONS if corrections is None else corrections) if real_time else None,
        progress=tell,
        **recipe.choices(),
    )
    return Report({"model": recipe.model, "backend": backend, **recipe.choices()}, wrote=(path,))

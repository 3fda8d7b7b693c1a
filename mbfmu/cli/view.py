"""mbfmu view."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mbfmu.cli import complete
from mbfmu.cli.choices import (
    Coordinates,
    Free,
    InputHold,
    Inputs,
    Options,
    Start,
    Step,
    Stepper,
    Tolerance,
    Values,
    begun,
    numbers,
    pairs,
    present,
    refuse_free,
    refuse_start,
)
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.robot import with_robot


@with_robot
def view(
    tell: Tell,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|F.fmu|RUN.csv",
            help="a model by name or path, an .fmu file, or a recorded run (.csv, .parquet, .mat, .npz)",
            autocompletion=complete.models,
        ),
    ],
    geometry: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="MODEL|FMU=MODEL",
            help="the mechanism that a recorded run or an FMU moves; may be repeated for several FMUs",
            autocompletion=complete.models,
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="PAGE.html", help="file to write")] = None,
    mode: Annotated[
        int | None,
        typer.Option("--mode", metavar="K", help="show a mode in place of a run: its number in `mbfmu linearize`"),
    ] = None,
    at: Annotated[
        float | None, typer.Option("--at", metavar="T", help="time of the state about which the mode is, s")
    ] = None,
    stop: Annotated[float | None, typer.Option("--stop", metavar="T", help="stop time, s (default: 10)")] = None,
    stepper: Stepper = None,
    option: Options = None,
    step: Step = None,
    tolerance: Tolerance = None,
    coordinates: Coordinates = None,
    output_interval: Annotated[
        float | None, typer.Option("--output-interval", metavar="DT", help="time between pictures, s")
    ] = None,
    values: Values = None,
    start: Start = None,
    free: Free = None,
    inputs: Inputs = None,
    input_hold: InputHold = False,
    up: Annotated[
        str | None,
        typer.Option(
            "--up",
            metavar="x|y|z|-x|-y|-z",
            help="axis that points upwards; default: against gravity, else z",
            autocompletion=complete.upward,
        ),
    ] = None,
    deformation: Annotated[
        float,
        typer.Option("--deformation", metavar="FACTOR", help="factor of the displacements of flexible bodies"),
    ] = 1.0,
    robot: Any = None,
) -> Report:
    """Write one HTML page that shows the mechanism moving, with its plots; it opens without a network."""
    from mbfmu.base.files import check_outputs
    from mbfmu.model.library import is_fmu
    from mbfmu.show.viewer import refuse_page, view

    name = Path(model).stem
    path = output or Path(f"{name}.html")
    refuse_page(path)
    models = _models(geometry)
    read = (*models.values(),) if isinstance(models, dict) else (models,) if models else ()
    check_outputs((path,), (model, *read, *pairs(inputs).values(), *present(start)))
    if is_fmu(model):
        refuse_start(model, start)
        if not models:
            refuse_free(model, free)
    page = view(
        model, stop, model=models, mode=mode, at=at, up=up, stepper=stepper, options=pairs(option), step=step,
        tolerance=tolerance, output_interval=output_interval,
        values=numbers(values) if is_fmu(model) else begun(start, values), free=free or (), robot=robot,
        inputs=pairs(inputs), input_hold=input_hold, coordinates=coordinates,
        deformation=deformation, progress=lambda fraction: tell("view", fraction),
    )  # fmt: skip
    page.write(path)
    return Report({"model": name, "stop": page.stop}, wrote=(path,))


def _models(given: list[str] | None) -> str | dict[str, str] | None:
    """Return one model, or models by the names of FMUs."""
    if not given:
        return None
    return given[0] if len(given) == 1 and "=" not in given[0] else pairs(given)

"""mbfmu view."""

from pathlib import Path
from typing import Annotated, Any

import typer

import mbfmu
from mbfmu.cli import complete
from mbfmu.cli.choices import (
    Coordinates,
    Free,
    InputHold,
    Inputs,
    Options,
    Step,
    Stepper,
    Tolerance,
    Values,
    numbers,
    pairs,
    refuse_free,
    settings,
)
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.robot import with_robot
from mbfmu.errors import UsageError

VIEWED = 10.0
"""Default stop time, s."""


@with_robot
def view(
    tell: Tell,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|F.fmu|RESULT.csv",
            help="a model by name or path, an .fmu file, or a table of results (.csv, .parquet, .mat, .npz)",
            autocompletion=complete.models,
        ),
    ],
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="PAGE.html", help="file to write")] = None,
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
    robot: Any = None,
) -> Report:
    """Write one HTML page that shows the mechanism moving, with its plots; it opens without a network."""
    from mbfmu.files import refuse_overwriting
    from mbfmu.formats import is_table
    from mbfmu.view import (
        looks_of,
        motion_of_model,
        motion_of_result,
        refuse_page,
        result_of_table,
        write_page,
    )

    name = Path(model).stem
    path = output or Path(f"{name}.html")
    refuse_page(path)
    refuse_overwriting((path,), (model,))
    if is_table(model):
        if stop is not None or any(
            (stepper, option, step, tolerance, coordinates, output_interval, values, free, inputs, input_hold)
        ):
            raise UsageError(f"'{model}' is a run already: only --up and -o go with it")
        motion = motion_of_result(result_of_table(model), model, up)
    else:
        end = VIEWED if stop is None else stop
        if model.endswith(".fmu"):
            refuse_free(model, free)
            result = mbfmu.simulate(
                model, end, stepper=stepper, options=pairs(option), step=step, tolerance=tolerance,
                output_interval=output_interval, values=numbers(values), inputs=pairs(inputs), input_hold=input_hold,
                coordinates=coordinates, progress=lambda fraction: tell("view", fraction),
            )  # fmt: skip
            motion = motion_of_result(result, model, up)
        else:
            motion = motion_of_model(
                mbfmu.load(model, settings(values), free or (), robot), end, stepper=stepper,
                options=pairs(option), step=step,
                tolerance=tolerance, output_interval=output_interval, inputs=pairs(inputs), input_hold=input_hold,
                coordinates=coordinates, up=up, looks=looks_of(model, robot),
                progress=lambda fraction: tell("view", fraction),
            )  # fmt: skip
    shown = float(motion.result.time[-1])
    tell("page", 0.0)
    write_page(motion, path, name, f"{shown:g} s")
    return Report({"model": name, "stop": shown}, wrote=(path,))

"""mbfmu simulate."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

import mbfmu
from mbfmu.cli.choices import (
    Coordinates,
    Free,
    Inputs,
    ModelOrFmu,
    Options,
    Step,
    Stepper,
    Tolerance,
    Values,
    numbers,
    pairs,
    present,
    refuse_free,
    settings,
)
from mbfmu.cli.console import Report, Tell
from mbfmu.errors import UsageError

if TYPE_CHECKING:
    from mbfmu.result import Result

DRIFT = 1e-6
"""Smallest constraint residual that gives a notice."""
MOST = 12
"""Largest number of coordinates and rates in the table; of a model without them it shows twice as many quantities."""
MONITORS = ("energy.total", "constraint.position", "constraint.velocity")


def simulate(
    tell: Tell,
    model: ModelOrFmu,
    stop: Annotated[float, typer.Option("--stop", metavar="T", help="stop time, s")],
    stepper: Stepper = None,
    option: Options = None,
    step: Step = None,
    tolerance: Tolerance = None,
    coordinates: Coordinates = None,
    output_interval: Annotated[
        float | None, typer.Option("--output-interval", metavar="DT", help="time between outputs, s")
    ] = None,
    values: Values = None,
    free: Free = None,
    inputs: Inputs = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="OUT.csv", help="file of results")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="OUT.png", help="picture of results")] = None,
) -> Report:
    """Run a model, or an .fmu through FMPy."""
    if plot:
        from mbfmu.plot import picture_format, plot_result

        picture_format(plot)
    if model.endswith(".fmu"):
        if stepper or option or coordinates:
            raise UsageError(f"'{model}' has its stepper inside: --stepper, --option and --coordinates go with export")
        refuse_free(model, free)
        source: Any = Path(model)
    else:
        source = mbfmu.load(model, settings(values), free or ())
    result = mbfmu.simulate(
        source,
        stop,
        stepper=stepper,
        options=pairs(option),
        step=step,
        tolerance=tolerance,
        output_interval=output_interval,
        values=numbers(values) if isinstance(source, Path) else None,
        inputs=pairs(inputs),
        coordinates=coordinates,
        progress=lambda fraction: tell("simulate", fraction),
    )
    if output:
        result.write_csv(output)
    if plot:
        tell("plot", 0.0)
        plot_result(result, plot, Path(model).stem)
    drift = max((result[name].max() for name in MONITORS[1:] if name in result.names), default=0.0)
    violated = f"the constraints are violated by up to {drift:.2g}: take a smaller step, or the stepper 'rattle'"
    return Report(
        {
            "model": Path(model).stem,
            "stop": stop,
            "steps": result.steps,
            "seconds": result.seconds,
            "drift": drift,
            "variables": {name: _extremes(result, name) for name in result.names},
        },
        (_table(result), *_speed(result)),
        present(output, plot),
        () if drift <= DRIFT else (violated,),
    )


def _extremes(result: "Result", name: str) -> dict[str, Any]:
    column = result[name]
    return {"unit": result.units.get(name, ""), "last": column[-1], "min": column.min(), "max": column.max()}


def _table(result: "Result") -> Table:
    table = Table(title_justify="left")
    for heading in ("variable", "unit", "last", "min", "max"):
        table.add_column(heading, justify="left" if heading in {"variable", "unit"} else "right")
    joints = [name for name in result.names if name in result.motions]
    others = [name for name in result.names if name not in MONITORS]
    for name in [*(joints[:MOST] or others[: 2 * MOST]), *(name for name in MONITORS if name in result.names)]:
        unit, *numbers = _extremes(result, name).values()
        table.add_row(name, unit, *(f"{number:.6g}" for number in numbers))
    return table


def _speed(result: "Result") -> tuple[str, ...]:
    if not result.steps:
        return ()
    return (f"{result.steps} steps, {result.seconds / result.steps * 1e6:.2f} microseconds each",)

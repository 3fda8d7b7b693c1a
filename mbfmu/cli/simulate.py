"""mbfmu simulate."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

import mbfmu
from mbfmu.cli.choices import (
    Coordinates,
    EnergyBalance,
    Free,
    InputHold,
    Inputs,
    ModelOrFmu,
    Options,
    Show,
    Step,
    Stepper,
    Timeout,
    Tolerance,
    Values,
    begun,
    number,
    pairs,
    present,
    refuse_free,
    refuse_start,
)
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.robot import with_robot
from mbfmu.errors import UsageError

if TYPE_CHECKING:
    from mbfmu.base.result import Result

DRIFT = 1e-6
"""Smallest constraint residual that gives a notice."""
MOST = 12
"""Largest number of coordinates and rates in the table, and half the largest number of other quantities."""
MONITORS = ("energy.total", "energy.balance", "constraint.position", "constraint.velocity")


@with_robot
def simulate(
    tell: Tell,
    model: ModelOrFmu,
    stop: Annotated[float, typer.Option("--stop", metavar="T", help="stop time, s")],
    stepper: Stepper = None,
    option: Options = None,
    step: Step = None,
    tolerance: Tolerance = None,
    coordinates: Coordinates = None,
    energy_balance: EnergyBalance = False,
    output_interval: Annotated[
        float | None, typer.Option("--output-interval", metavar="DT", help="time between outputs, s")
    ] = None,
    values: Values = None,
    free: Free = None,
    inputs: Inputs = None,
    input_hold: InputHold = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT.csv", help="table of all variables: .csv, .parquet, .mat or .npz"),
    ] = None,
    show: Show = None,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="OUT.png", help="picture of results")] = None,
    start: Annotated[
        str | None,
        typer.Option(
            "--start",
            metavar="START.json|.toml|T",
            help="start a model in an equilibrium that `mbfmu equilibrium` wrote; for an .fmu: the start time, s "
            "(default: that of its DefaultExperiment)",
        ),
    ] = None,
    timeout: Timeout = None,
    robot: Any = None,
) -> Report:
    """Run a model, or an .fmu through FMPy in a process of its own."""
    from mbfmu.base.files import check_outputs
    from mbfmu.base.formats import format_of

    if output:
        format_of(output)
    if plot:
        from mbfmu.show.plot import picture_format, plot_result

        picture_format(plot)
    file = Path(start) if start and Path(start).suffix in {".json", ".toml"} else None
    time = number("--start", start) if start and not file else None
    check_outputs((output, plot), (model, *pairs(inputs).values(), *present(file)))
    if model.endswith(".fmu"):
        if robot:
            raise UsageError(f"'{model}' has its robot inside: options of a robot go with export")
        if stepper or option or coordinates or energy_balance:
            raise UsageError(
                f"'{model}' has its stepper inside: --stepper, --option, --coordinates and --energy-balance go with "
                "export"
            )
        refuse_free(model, free)
        refuse_start(model, file)
        source: Any = Path(model)
    else:
        source = mbfmu.load(model, begun(file, values), free or (), robot)
    result = mbfmu.simulate(
        source,
        stop,
        stepper=stepper,
        options=pairs(option),
        step=step,
        tolerance=tolerance,
        output_interval=output_interval,
        values=pairs(values) if isinstance(source, Path) else None,
        inputs=pairs(inputs),
        input_hold=input_hold,
        coordinates=coordinates,
        energy_balance=energy_balance,
        show=[name.strip() for name in show.split(",")] if show else (),
        start=time,
        timeout=timeout,
        progress=lambda fraction: tell("simulate", fraction),
    )
    if output:
        result.write(output)
    if plot:
        tell("plot", 0.0)
        plot_result(result, plot, Path(model).stem)
    drift = max((result[name].max() for name in MONITORS[2:] if name in result.names), default=0.0)
    keeper = "a stepper that keeps them" if result.stepper.startswith("rattle") else "the stepper 'rattle'"
    violated = f"the constraints are violated by up to {drift:.2g}: take a smaller step, or {keeper}"
    return Report(
        {
            "model": Path(model).stem,
            "stop": stop,
            "steps": result.steps,
            "seconds": result.seconds,
            "stepper": result.stepper,
            "stepper_reason": result.reason,
            "drift": drift,
            "notices": result.notices,
            "variables": {name: extremes(result, name) for name in result.names},
        },
        (*table(result), *_speed(result)),
        present(output, plot),
        () if drift <= DRIFT else (violated,),
    )


def extremes(result: "Result", name: str) -> dict[str, Any]:
    """Return unit, last, least and greatest value of a variable."""
    column = result[name]
    return {"unit": result.units.get(name, ""), "last": column[-1], "min": column.min(), "max": column.max()}


def table(result: "Result") -> tuple[Table | str, ...]:
    """Return the table of the chosen variables, or of those that a reader looks for first and a line about the rest."""
    from mbfmu.base.result import selection

    rows = Table(title_justify="left")
    for heading in ("variable", "unit", "last", "min", "max"):
        rows.add_column(heading, justify="left" if heading in {"variable", "unit"} else "right")
    first = selection(result)
    motions = [name for name in first if name in result.roles.motions]
    others = [name for name in first if name not in result.roles.motions]
    picked = [*_most(result, others, 2 * MOST), *_most(result, motions, MOST)]
    left = len(first) - len(picked)
    picked += [name for name in MONITORS if name in result.names]
    for name in result.chosen or picked:
        unit, *numbers = extremes(result, name).values()
        rows.add_row(name, unit, *(f"{number + 0.0:.6g}" for number in numbers))  # no minus zero
    if result.chosen or not left:
        return (rows,)
    return rows, f"and {left} more: choose by --show NAME,..."


def _most(result: "Result", names: list[str], most: int) -> list[str]:
    """Return at most so many names; if there are more, those that are always zero are left out first."""
    return (names if len(names) <= most else [name for name in names if result[name].any()])[:most]


def _speed(result: "Result") -> tuple[str, ...]:
    if not result.steps:
        return ()
    speed = f"{result.steps} steps, {result.seconds / result.steps * 1e6:.2f} microseconds each"
    return speed, f"stepper {result.stepper}, {result.reason}"

"""The settings of a run as options of commands: each option is made of the description of its setting."""

from collections.abc import Callable
from typing import Annotated, Any

from mbfmu.cli.choices import (
    Coordinates,
    InputHold,
    Inputs,
    Options,
    OutputInterval,
    Step,
    Stepper,
    Tolerance,
    option,
    pairs,
)
from mbfmu.cli.expansion import Expansion, shared
from mbfmu.prepared import settings
from mbfmu.prepared.settings import RunSettings

OPTIONS: dict[str, tuple[Any, str, Callable[[Any], Any]]] = {
    "stepper": (Stepper, "stepper", str),
    "option": (Options, "options", pairs),
    "step": (Step, "step", float),
    "tolerance": (Tolerance, "tolerance", float),
    "coordinates": (Coordinates, "coordinates", str),
    "output_interval": (OutputInterval, "output_interval", float),
    "inputs": (Inputs, "inputs", pairs),
    "input_hold": (InputHold, "input_hold", bool),
}
"""Type for Typer of each option, with the name of its setting, and what reads its value."""


def run_options(names: str, interval: str = "") -> Expansion:
    """Return the options of a command that make the settings of its run.

    Args:
        names: of the options, separated by blanks.
        interval: help of --output-interval; empty: that of all runs.
    """
    kinds = {name: OPTIONS[name][0] for name in names.split()}
    if interval:
        kinds["output_interval"] = Annotated[float | None, option(settings.OUTPUT_INTERVAL, help=interval)]
    choices = {name: (kind, False if name == "input_hold" else None) for name, kind in kinds.items()}
    return shared(choices, _settings, panel="Steps, coordinates and inputs")


def _settings(**values: Any) -> RunSettings:
    """Return the settings that options give; what is left out has its default."""
    read = {OPTIONS[name][1]: OPTIONS[name][2](value) for name, value in values.items() if value not in (None, [])}
    return RunSettings(**read)


RunOptions = Annotated[
    RunSettings, run_options("stepper option step tolerance coordinates output_interval inputs input_hold")
]
MeasuredOptions = Annotated[
    RunSettings,
    run_options(
        "stepper option step tolerance coordinates output_interval inputs input_hold",
        "time between the values measured, s",
    ),
]
ViewOptions = Annotated[
    RunSettings,
    run_options(
        "stepper option step tolerance coordinates output_interval inputs input_hold", "time between pictures, s"
    ),
]
OptimizeOptions = Annotated[
    RunSettings,
    run_options(
        "stepper option step coordinates output_interval inputs input_hold", "time between the values measured, s"
    ),
]
FitOptions = Annotated[RunSettings, run_options("stepper option step tolerance coordinates inputs input_hold")]
PointOptions = Annotated[RunSettings, run_options("inputs input_hold stepper step coordinates")]
ExportOptions = Annotated[RunSettings, run_options("stepper option step tolerance coordinates")]
InputOptions = Annotated[RunSettings, run_options("inputs input_hold")]

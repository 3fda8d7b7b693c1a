"""Arguments and options that several commands share, and functions that read NAME=VALUE."""

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from mbfmu.base.described import Described
from mbfmu.cli import complete
from mbfmu.errors import ModelError, UsageError
from mbfmu.prepared import settings

Model = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="a name in models/, or a path of a .py, .toml, .mo, .urdf, .xacro, .sdf or MJCF .xml file",
        autocompletion=complete.models,
    ),
]
ModelOrFmu = Annotated[
    str,
    typer.Argument(
        metavar="MODEL_OR_FMU",
        help="a name in models/, a path of a .py, .toml, .mo, .urdf, .xacro, .sdf or MJCF .xml file, or an .fmu file",
        autocompletion=complete.models,
    ),
]


def option(described: Described, complete: Callable[..., Any] | None = None, help: str = "") -> Any:
    """Return the option of a described setting.

    Args:
        described: the setting.
        complete: function that completes its value.
        help: its help; empty: that of the description.
    """
    name, _, metavar = described.option.partition(" ")
    text = help or described.help or described.line
    return typer.Option(name, metavar=metavar or None, help=text, autocompletion=complete)


Stepper = Annotated[str | None, option(settings.STEPPER, complete.steppers)]
Options = Annotated[list[str] | None, option(settings.OPTIONS, complete.options)]
Step = Annotated[float | None, option(settings.STEP_LENGTH)]
Tolerance = Annotated[float | None, option(settings.TOLERANCE)]
Coordinates = Annotated[str | None, option(settings.COORDINATES, complete.coordinates)]
Inputs = Annotated[list[str] | None, option(settings.INPUTS, complete.inputs)]
InputHold = Annotated[bool, option(settings.INPUT_HOLD)]
OutputInterval = Annotated[float | None, option(settings.OUTPUT_INTERVAL)]
Values = Annotated[list[str] | None, option(settings.VALUES, complete.values)]
Show = Annotated[str | None, option(settings.SHOW, complete.shown_list)]
Display = Annotated[str | None, option(settings.DISPLAY, complete.display_units)]
Timeout = Annotated[float | None, option(settings.TIMEOUT)]
Kind = Annotated[str | None, option(settings.KIND)]
Validate = Annotated[bool, option(settings.VALIDATE)]
EnergyBalance = Annotated[bool, option(settings.ENERGY_BALANCE)]
ErrorSamples = Annotated[int, option(settings.ERROR_SAMPLES)]
ToleranceOfResult = Annotated[float, option(settings.TOLERANCE_OF_RESULT)]
Free = Annotated[
    list[str] | None,
    typer.Option(
        "--free",
        metavar="NAME",
        help="a start value that is only an initial guess; may be repeated",
        autocompletion=complete.start_values,
    ),
]
Start = Annotated[
    Path | None,
    typer.Option("--start", metavar="START.json|.toml", help="start in an equilibrium that `mbfmu equilibrium` wrote"),
]
Hold = Annotated[
    list[str] | None,
    typer.Option(
        "--hold",
        metavar="NAME=VALUE,...",
        help="values that coordinates, velocities, states, inputs or other outputs have; may be repeated",
        autocompletion=complete.held,
    ),
]
Unknown = Annotated[
    list[str] | None,
    typer.Option(
        "--free",
        metavar="NAME,...",
        help="inputs and parameters that are unknown too; may be repeated",
        autocompletion=complete.inputs_and_parameters,
    ),
]
Bounds = Annotated[
    list[str] | None,
    typer.Option(
        "--bounds",
        metavar="NAME=LEAST:MOST",
        help="bounds of a free value; may be repeated",
        autocompletion=complete.values,
    ),
]
TableFile = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="OUT.csv", help="table: .csv, .parquet, .mat or .npz")
]
ResultFile = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="OUT.csv", help="table of all variables: .csv, .parquet, .mat or .npz"),
]
StartFile = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="START.json|.toml", help="file to write, which --start takes"),
]
MotionStop = Annotated[
    float | None, typer.Option("--stop", metavar="T", help="stop time of a motion by expressions, s")
]

NEXT = re.compile(r",(?=[^,()]+=)")
"""A comma between two texts NAME=VALUE, not one inside a function's parentheses."""


def pairs(items: Sequence[str] | None) -> dict[str, str]:
    """Return the values of texts NAME=VALUE, by name.

    Raises:
        UsageError: a text is not NAME=VALUE, or a name has two values.
    """
    values: dict[str, str] = {}
    for item in items or ():
        name, equals, value = item.partition("=")
        if not (equals and name.strip() and value.strip()):
            raise UsageError(f"'{item}' is not NAME=VALUE")
        name, value = name.strip(), value.strip()
        if values.setdefault(name, value) != value:
            raise UsageError(f"'{name}' has two values, {values[name]} and {value}: leave one out")
    return values


def numbers(items: Sequence[str] | None, option: str = "--set") -> dict[str, float]:
    """Return the numbers of texts NAME=NUMBER, by name; a number may be an expression, such as ``pi/6``.

    Raises:
        UsageError: a text is not NAME=NUMBER; the message names the option.
    """
    return {name: number(f"{option} {name}", text) for name, text in pairs(items).items()}


def held(texts: Sequence[str] | None) -> dict[str, float]:
    """Return the numbers of texts NAME=NUMBER,..., by name.

    Raises:
        UsageError: a text has another form.
    """
    return numbers([item for text in texts or () for item in NEXT.split(text)], "--hold")


def values_of(items: Sequence[str] | None, option: str = "--set") -> dict[str, float | str]:
    """Return the values of texts NAME=NUMBER or NAME=guess(NUMBER), by name.

    Raises:
        UsageError: a text has another form; the message names the option.
    """
    values: dict[str, float | str] = {}
    for name, text in pairs(items).items():
        free = re.fullmatch(r"guess\((.*)\)", text)
        value = number(f"{option} {name}", free[1] if free else text)
        values[name] = f"guess({value})" if free else value
    return values


def names(texts: Sequence[str] | None) -> list[str]:
    """Return the names of texts NAME,..., each text with some of them."""
    return [name.strip() for text in texts or () for name in text.split(",") if name.strip()]


def spans(items: Sequence[str] | None) -> dict[str, tuple[float, float]]:
    """Return the bounds of texts NAME=LEAST:MOST, by name.

    Raises:
        UsageError: a text has another form.
    """
    bounds = {}
    for name, text in pairs(items).items():
        least, colon, most = text.partition(":")
        if not colon:
            raise UsageError(f"'{name}={text}' is not NAME=LEAST:MOST, such as {name}=0.1:2")
        bounds[name] = number(f"--bounds {name}", least), number(f"--bounds {name}", most)
    return bounds


def begun(start: Path | None, values: Sequence[str] | None) -> dict[str, float | str]:
    """Return the values of a start file and of texts NAME=NUMBER or NAME=guess(NUMBER), by name; the texts win.

    Raises:
        UsageError: a text has another form, or the file another ending.
        MbfmuError: the file is missing or holds something else.
    """
    if start is None:
        return values_of(values)
    from mbfmu.analysis.equilibria import read_start  # not before it is needed

    return {**read_start(start), **values_of(values)}


def number(where: str, text: str) -> float:
    """Return the finite number that a text stands for: digits, or an expression of numbers, ``pi`` and functions.

    Raises:
        UsageError: the text is not such a number; the message says where.
    """
    try:
        value = float(text)
    except ValueError:
        value = _evaluated(where, text)
    if not math.isfinite(value):
        raise UsageError(f"{where} = {value}: give a finite number")
    return value


def _evaluated(where: str, text: str) -> float:
    from mbfmu.model.expression import constant  # not before it is needed: `mbfmu --help` stays quick

    try:
        return constant(text)
    except ModelError as error:
        reason = str(error)
        raise UsageError(
            f"{where}: " + (reason if "is not a number" in reason else f"'{text}' is not a number: {reason}")
        ) from None


def present(*paths: Path | None) -> tuple[Path, ...]:
    """Return the paths that are given."""
    return tuple(path for path in paths if path)

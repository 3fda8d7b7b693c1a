"""Arguments and options that several commands share, and functions that read NAME=VALUE."""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from mbfmu.cli import complete
from mbfmu.errors import ModelError, UsageError

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
Stepper = Annotated[
    str | None,
    typer.Option("--stepper", metavar="NAME", help="see `mbfmu list steppers`", autocompletion=complete.steppers),
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option", metavar="K=V", help="option of the stepper; may be repeated", autocompletion=complete.options
    ),
]
Step = Annotated[float | None, typer.Option("--step", metavar="H", help="longest step of the stepper, s")]
Tolerance = Annotated[
    float | None,
    typer.Option(
        "--tolerance",
        metavar="TOL",
        help="choose the steps: error a second of motion may add; 0: equal steps; for an FMU in model exchange the "
        "relative tolerance of the solver",
    ),
]
Values = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="parameter, start value or input: a number such as 0.3, pi/6 or deg(30), true or false; may be repeated",
        autocompletion=complete.values,
    ),
]
Free = Annotated[
    list[str] | None,
    typer.Option(
        "--free",
        metavar="NAME",
        help="a start value that is only where the search begins; may be repeated",
        autocompletion=complete.start_values,
    ),
]
Start = Annotated[
    Path | None,
    typer.Option("--start", metavar="START.json|.toml", help="start in an equilibrium that `mbfmu equilibrium` wrote"),
]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        metavar="NAME=EXPR|FILE.csv",
        help="an input as an expression of time, or from a table (.csv, .parquet, .mat, .npz)",
        autocompletion=complete.inputs,
    ),
]
InputHold = Annotated[
    bool, typer.Option("--input-hold", help="inputs from files hold each value until the next; default: lines between")
]
Show = Annotated[
    str | None,
    typer.Option(
        "--show",
        metavar="NAME,...",
        help="variables of table and picture; * and ? match any text and any character",
        autocompletion=complete.shown_list,
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option("--timeout", metavar="S", help="end an .fmu that does not answer for S seconds; default: 60"),
]
Coordinates = Annotated[
    str | None,
    typer.Option(
        "--coordinates",
        metavar="absolute|joint[:NAME,...]",
        help="coordinates of the bodies; with names: of these bodies, or joints, and the other kind of the rest; "
        "default: joint if they are fewer",
        autocompletion=complete.coordinates,
    ),
]
Hold = Annotated[
    list[str] | None,
    typer.Option(
        "--hold",
        metavar="NAME=VALUE,...",
        help="values that coordinates, rates, states, inputs or other outputs have; may be repeated",
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
MotionStop = Annotated[
    float | None, typer.Option("--stop", metavar="T", help="stop time of a motion by expressions, s")
]
OutputInterval = Annotated[
    float | None, typer.Option("--output-interval", metavar="DT", help="time between outputs, s")
]
EnergyBalance = Annotated[
    bool,
    typer.Option("--energy-balance", help="output energy.balance: stored energy plus losses minus what was put in, J"),
]

NEXT = re.compile(r",(?=[^,()]+=)")
"""A comma between two texts NAME=VALUE, not one inside a function's parentheses."""


def pairs(items: Sequence[str] | None) -> dict[str, str]:
    """Return the values of texts NAME=VALUE, by name.

    Raises:
        UsageError: a text is not NAME=VALUE, or a name has two values.
    """
    found: dict[str, str] = {}
    for item in items or ():
        name, equals, value = item.partition("=")
        if not (equals and name.strip() and value.strip()):
            raise UsageError(f"'{item}' is not NAME=VALUE")
        name, value = name.strip(), value.strip()
        if found.setdefault(name, value) != value:
            raise UsageError(f"'{name}' has two values, {found[name]} and {value}: leave one out")
    return found


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


def settings(items: Sequence[str] | None, option: str = "--set") -> dict[str, float | str]:
    """Return the values of texts NAME=NUMBER or NAME=guess(NUMBER), by name.

    Raises:
        UsageError: a text has another form; the message names the option.
    """
    found: dict[str, float | str] = {}
    for name, text in pairs(items).items():
        free = re.fullmatch(r"guess\((.*)\)", text)
        value = number(f"{option} {name}", free[1] if free else text)
        found[name] = f"guess({value})" if free else value
    return found


def names(texts: Sequence[str] | None) -> list[str]:
    """Return the names of texts NAME,..., each text with some of them."""
    return [name.strip() for text in texts or () for name in text.split(",") if name.strip()]


def spans(items: Sequence[str] | None) -> dict[str, tuple[float, float]]:
    """Return the bounds of texts NAME=LEAST:MOST, by name.

    Raises:
        UsageError: a text has another form.
    """
    found = {}
    for name, text in pairs(items).items():
        least, colon, most = text.partition(":")
        if not colon:
            raise UsageError(f"'{name}={text}' is not NAME=LEAST:MOST, such as {name}=0.1:2")
        found[name] = number(f"--bounds {name}", least), number(f"--bounds {name}", most)
    return found


def begun(start: Path | None, values: Sequence[str] | None) -> dict[str, float | str]:
    """Return the values of a start file and of texts NAME=NUMBER or NAME=guess(NUMBER), by name; the texts win.

    Raises:
        UsageError: a text has another form, or the file another ending.
        MbfmuError: the file is missing or holds something else.
    """
    if start is None:
        return settings(values)
    from mbfmu.analysis.equilibria import read_start  # not before it is needed

    return {**read_start(start), **settings(values)}


def refuse_start(fmu: str, start: Path | None) -> None:
    """Raise an error if an FMU is to begin with a start file.

    Raises:
        UsageError: it is.
    """
    if start:
        raise UsageError(f"'{fmu}' has its start values inside: --start {start} goes with export")


def refuse_free(fmu: str, free: Sequence[str] | None) -> None:
    """Raise an error if start values of an FMU are to be free.

    Raises:
        UsageError: they are.
    """
    if free:
        raise UsageError(
            f"'{fmu}' has its equations inside: --free goes with export; if it was exported with --choose {free[0]}, "
            f"give --set start.fixed.{free[0]}=0"
        )


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
        told = str(error)
        raise UsageError(
            f"{where}: " + (told if "is not a number" in told else f"'{text}' is not a number: {told}")
        ) from None


def present(*paths: Path | None) -> tuple[Path, ...]:
    """Return the paths that are given."""
    return tuple(path for path in paths if path)

"""Arguments and options that several commands share, and functions that read NAME=VALUE."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from mbfmu.cli import complete
from mbfmu.errors import UsageError

Model = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="a name in models/, or a path of a .py, .toml, .urdf or .xacro file",
        autocompletion=complete.models,
    ),
]
ModelOrFmu = Annotated[
    str,
    typer.Argument(
        metavar="MODEL_OR_FMU",
        help="a name in models/, a path of a .py, .toml, .urdf or .xacro file, or an .fmu file",
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
        "--tolerance", metavar="TOL", help="choose the steps: error a second of motion may add; 0: equal steps"
    ),
]
Values = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="parameter or start value; may be repeated",
        autocompletion=complete.values,
    ),
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
Coordinates = Annotated[
    str | None,
    typer.Option(
        "--coordinates",
        metavar="absolute|joint",
        help="coordinates of the bodies; default: joint if they are fewer",
        autocompletion=complete.coordinates,
    ),
]
EnergyBalance = Annotated[
    bool,
    typer.Option("--energy-balance", help="output energy.balance: stored energy plus losses minus what was put in, J"),
]


def pairs(items: Sequence[str] | None) -> dict[str, str]:
    """Return the values of texts NAME=VALUE, by name.

    Raises:
        UsageError: a text is not NAME=VALUE.
    """
    found: dict[str, str] = {}
    for item in items or ():
        name, equals, value = item.partition("=")
        if not (equals and name.strip() and value.strip()):
            raise UsageError(f"'{item}' is not NAME=VALUE")
        found[name.strip()] = value.strip()
    return found


def numbers(items: Sequence[str] | None, option: str = "--set") -> dict[str, float]:
    """Return the numbers of texts NAME=NUMBER, by name.

    Raises:
        UsageError: a text is not NAME=NUMBER; the message names the option.
    """
    return {name: number(f"{option} {name}", text) for name, text in pairs(items).items()}


def number(where: str, text: str) -> float:
    """Return the number that a text stands for.

    Raises:
        UsageError: the text is not a number; the message says where.
    """
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{where}: '{text}' is not a number") from None


def present(*paths: Path | None) -> tuple[Path, ...]:
    """Return the paths that are given."""
    return tuple(path for path in paths if path)

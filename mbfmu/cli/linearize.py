"""mbfmu linearize."""

import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

import mbfmu
from mbfmu.cli import complete
from mbfmu.cli.choices import Coordinates, Free, Model, numbers, present, settings
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.robot import with_robot

AT_REST = 1e-6
"""Largest acceleration in an equilibrium, m/s2 or rad/s2."""


@with_robot
def linearize(
    _: Tell,
    model: Model,
    at: Annotated[
        list[str] | None,
        typer.Option(
            "--at",
            metavar="NAME=VALUE",
            help="start value or parameter of the point; may be repeated",
            autocompletion=complete.values,
        ),
    ] = None,
    free: Free = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            metavar="NAME=VALUE",
            help="an input at the point; default: 0; may be repeated",
            autocompletion=complete.inputs,
        ),
    ] = None,
    outputs: Annotated[
        list[str] | None,
        typer.Option(
            "--output-name",
            metavar="NAME",
            help="an output; default: all that can be connected, such as those of the joints",
            autocompletion=complete.outputs,
        ),
    ] = None,
    coordinates: Coordinates = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="F.npz|F.json", help="file to write")] = None,
    robot: Any = None,
) -> Report:
    """Show the state-space form A, B, C, D about a start, and its eigenvalues."""
    from mbfmu.files import ending_of, refuse_overwriting
    from mbfmu.linearization import ENDINGS

    if output:
        ending_of(output, ENDINGS)
    refuse_overwriting((output,), (model,))
    found = mbfmu.linearize(
        mbfmu.load(model, settings(at, "--at"), free or (), robot),
        inputs=numbers(inputs, "--input"),
        outputs=tuple(outputs or ()),
        coordinates=coordinates,
    )
    if output:
        found.write(output)
    table = Table(title=f"{Path(model).stem}: {', '.join(found.states)}", title_justify="left")
    for heading in ("eigenvalue [1/s]", "frequency [Hz]", "damping ratio"):
        table.add_column(escape(heading), justify="right")
    for value in found.eigenvalues:
        if value.imag < 0:
            continue  # shown with its conjugate
        size = abs(value)
        shown = f"{value.real:.6g}" + (f" +- {value.imag:.6g}i" if value.imag else "")
        table.add_row(shown, f"{value.imag / math.tau:.6g}", f"{-value.real / size:.4g}" if size else "")
    moving = f"not an equilibrium: it accelerates by up to {found.rest:.3g}; set inputs that balance it with --input"
    return Report(found.data(), (table,), present(output), (moving,) if found.rest > AT_REST else ())

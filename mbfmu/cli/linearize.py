"""mbfmu linearize."""

import cmath
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

import mbfmu
from mbfmu.cli import complete
from mbfmu.cli.choices import (
    Coordinates,
    Free,
    InputHold,
    Inputs,
    ModelOrFmu,
    Start,
    Step,
    Stepper,
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
from mbfmu.errors import UsageError

if TYPE_CHECKING:
    from mbfmu.analysis.linearization import Linear, Mode

AT_REST = 1e-6
"""Largest acceleration in an equilibrium, m/s2 or rad/s2."""
PARTICIPANTS, LEAST = 3, 0.05
"""Largest number of states that are named beside a mode, and the smallest share in it for that."""
SHAPES = 8
"""Largest number of modes in the table of shapes."""


@with_robot
def linearize(
    _: Tell,
    model: ModelOrFmu,
    values: Values = None,
    start: Start = None,
    free: Free = None,
    inputs: Inputs = None,
    input_hold: InputHold = False,
    at: Annotated[
        float | None,
        typer.Option("--at", metavar="T", help="take the state of a run at this time, s; default: the start"),
    ] = None,
    states: Annotated[
        list[str] | None,
        typer.Option(
            "--state",
            metavar="NAME",
            help="a coordinate that is a state, one for each degree of freedom; default: chosen by pivoting",
            autocompletion=complete.outputs,
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
    stepper: Stepper = None,
    step: Step = None,
    coordinates: Coordinates = None,
    period: Annotated[
        float | None,
        typer.Option(
            "--period",
            metavar="T",
            help="the sampled-data form, inputs held over this time, s; default: continuous, or the sampled blocks'",
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="F.npz|F.json", help="file to write")] = None,
    robot: Any = None,
) -> Report:
    """Show the modes about a start or a later state: frequencies, damping, shapes; write A, B, C, D."""
    from mbfmu.analysis.linearization import ENDINGS
    from mbfmu.base.files import check_outputs, ending_of
    from mbfmu.model.library import is_fmu

    if output:
        ending_of(output, ENDINGS)
    check_outputs((output,), (model, *pairs(inputs).values(), *present(start)))
    packed = is_fmu(model)
    if packed:
        if robot:
            raise UsageError(f"'{model}' has its robot inside: options of a robot go with export")
        refuse_free(model, free)
        refuse_start(model, start)
    found = mbfmu.linearize(
        model if packed else mbfmu.load(model, begun(start, values), free or (), robot),
        numbers(values) if packed else None,
        inputs=pairs(inputs),
        input_hold=input_hold,
        outputs=tuple(outputs or ()),
        states=tuple(states or ()),
        at=at,
        stepper=stepper,
        step=step,
        coordinates=coordinates,
        period=period,
    )
    if output:
        found.write(output)
    modes = found.modes
    more = f" of the first {SHAPES}; all with --json" if len(modes) > SHAPES else ""
    shown: tuple[RenderableType, ...] = (_modes(Path(model).stem, found, modes),)
    if modes:
        shown += (f"shapes: amplitude, phase in degrees{more}", _shapes(found, modes))
    return Report(found.data(), shown, present(output), unbalanced(found))


def unbalanced(found: "Linear") -> tuple[str, ...]:
    """Return the notice that a linear form is about no equilibrium, if it is not."""
    moving = f"not an equilibrium: it accelerates by up to {found.rest:.3g}; set inputs that balance it with --input"
    return (moving,) if found.rest > AT_REST else ()


def named_shares(shares: Mapping[str, float]) -> str:
    """Return the largest shares as text, such as ``elbow.phi 76 %``."""
    largest = list(shares.items())[:PARTICIPANTS]
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in largest if share >= LEAST)


def _modes(name: str, found: "Linear", modes: "tuple[Mode, ...]") -> Table:
    table = Table(title=escape(f"{name}: {', '.join(found.states)}"), title_justify="left")
    table.add_column("mode", justify="right")
    for heading in ("eigenvalue [1/s]", "frequency [Hz]", "damping ratio"):
        table.add_column(escape(heading), justify="right")
    table.add_column("largest participants")
    for number, mode in enumerate(modes, 1):
        value, ratio = mode.eigenvalue, mode.damping
        text = f"{value.real:.6g}" + (f" +- {value.imag:.6g}i" if value.imag else "")
        named = named_shares(found.participants(mode))
        frequency = f"{mode.frequency:.6g}"
        table.add_row(str(number), text, frequency, "" if ratio is None else f"{ratio:.4g}", escape(named))
    return table


def _shapes(found: "Linear", modes: "tuple[Mode, ...]") -> Table:
    """Return the table of amplitudes and phases, relative to the largest coordinate of each mode."""
    from mbfmu.analysis.linearization.linear import place_of

    some = modes[:SHAPES]
    table = Table()
    table.add_column("state")
    for number in range(1, len(some) + 1):
        table.add_column(str(number), justify="right")
    rows = [row for row, state in enumerate(found.states) if place_of(state) == state]
    columns = [mode.relative(rows) for mode in some]
    for line, row in enumerate(rows):
        table.add_row(escape(found.states[row]), *(polar(column[line]) for column in columns))
    return table


def polar(value: complex) -> str:
    """Return an amplitude and its phase in degrees as text; counter-phase is negative."""
    size, phase = abs(value), round(math.degrees(cmath.phase(value)))
    if size < 5e-4:
        return "0"
    return f"{size:.3f}" if phase == 0 else f"-{size:.3f}" if abs(phase) == 180 else f"{size:.3f}, {phase}"

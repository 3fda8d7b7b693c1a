"""mbfmu linearize."""

import cmath
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

import mbfmu
from mbfmu.cli import complete
from mbfmu.cli.choices import Hold, held, names, number, present
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.expansion import OptionGroup
from mbfmu.cli.run_options import PointOptions
from mbfmu.cli.sources import ModelOrFmuSource, check_files

if TYPE_CHECKING:
    from mbfmu.analysis.linearization import Linear, Mode

AT_REST = 1e-6
"""Largest acceleration in an equilibrium, m/s2 or rad/s2."""
PARTICIPANTS, LEAST = 3, 0.05
"""Largest number of states that are named beside a mode, and the smallest share in it for that."""
SHAPES = 8
"""Largest number of modes in the table of shapes."""


At = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="T|equilibrium",
        help="take the state of a run at this time, s, or the equilibrium near the start; default: the start",
    ),
]


@dataclass(frozen=True, kw_only=True)
class OperatingPoint(OptionGroup):
    """The state about which a model is linearized."""

    at: At = None
    hold: Hold = None
    unknown: Annotated[
        list[str] | None,
        typer.Option(
            "--free-input",
            metavar="NAME,...",
            help="inputs and parameters that are unknown in the equilibrium; may be repeated",
            autocompletion=complete.inputs_and_parameters,
        ),
    ] = None

    def named(self) -> dict[str, Any]:
        """Return the arguments that state it."""
        return {"at": point_in_time(self.at), "hold": held(self.hold), "free": names(self.unknown)}


def linearize(
    _: Tell,
    *,
    source: ModelOrFmuSource,
    run: PointOptions,
    point: OperatingPoint,
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
    period: Annotated[
        float | None,
        typer.Option(
            "--period",
            metavar="T",
            help="the sampled-data form, inputs held over this time, s; default: continuous, or the sampled blocks'",
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="F.npz|F.json", help="file to write")] = None,
) -> Report:
    """Show the modes about a start or a later state: frequencies, damping, shapes; write A, B, C, D."""
    from mbfmu.analysis.linearization import ENDINGS
    from mbfmu.base.files import ending_of

    if output:
        ending_of(output, ENDINGS)
    check_files(source, run, other=output)
    model, values = source.opened()
    form = mbfmu.linearize(
        model, values, outputs=outputs or (), states=states or (), period=period, **point.named(), **run.named()
    )
    if output:
        form.write(output)
    modes = form.modes
    more = f" of the first {SHAPES}; all with --json" if len(modes) > SHAPES else ""
    shown: tuple[RenderableType, ...] = (_modes(source.name, form, modes),)
    if modes:
        shown += (f"shapes: amplitude, phase in degrees{more}", _shapes(form, modes))
    return Report(form.data(), shown, present(output), unbalanced(form, source.packed))


def point_in_time(at: str | None) -> "float | Literal['equilibrium'] | None":
    """Return what --at stands for.

    Raises:
        UsageError: it is no number, and no equilibrium.
    """
    return "equilibrium" if at == "equilibrium" else None if at is None else number("--at", at)


def unbalanced(form: "Linear", packed: bool) -> tuple[str, ...]:
    """Return the notice that a linear form, of a model or a packed FMU, is about no equilibrium, if it is not."""
    cure = (
        "set inputs that balance it with --input"
        if packed
        else "take --at equilibrium, or --start with what `mbfmu equilibrium --hold NAME=VALUE --free INPUT` writes"
    )
    moving = f"not an equilibrium: it accelerates by up to {form.rest:.3g}; {cure}"
    return (moving,) if form.rest > AT_REST else ()


def named_shares(shares: Mapping[str, float]) -> str:
    """Return the largest shares as text, such as ``elbow.phi 76 %``."""
    largest = list(shares.items())[:PARTICIPANTS]
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in largest if share >= LEAST)


def _modes(name: str, form: "Linear", modes: "tuple[Mode, ...]") -> Table:
    table = Table(title=escape(f"{name}: {', '.join(form.states)}"), title_justify="left")
    table.add_column("mode", justify="right")
    for heading in ("eigenvalue [1/s]", "frequency [Hz]", "damping ratio"):
        table.add_column(escape(heading), justify="right")
    table.add_column("largest participants")
    for index, mode in enumerate(modes, 1):
        value, ratio = mode.eigenvalue, mode.damping
        text = f"{value.real:.6g}" + (f" +- {value.imag:.6g}i" if value.imag else "")
        named = named_shares(form.participants(mode))
        frequency = f"{mode.frequency:.6g}"
        table.add_row(str(index), text, frequency, "" if ratio is None else f"{ratio:.4g}", escape(named))
    return table


def _shapes(form: "Linear", modes: "tuple[Mode, ...]") -> Table:
    """Return the table of amplitudes and phases, relative to the largest coordinate of each mode."""
    from mbfmu.analysis.linearization.linear import place_of

    some = modes[:SHAPES]
    table = Table()
    table.add_column("state")
    for index in range(1, len(some) + 1):
        table.add_column(str(index), justify="right")
    rows = [row for row, state in enumerate(form.states) if place_of(state) == state]
    columns = [mode.relative(rows) for mode in some]
    for line, row in enumerate(rows):
        table.add_row(escape(form.states[row]), *(polar(column[line]) for column in columns))
    return table


def polar(value: complex) -> str:
    """Return an amplitude and its phase in degrees as text; counter-phase is negative."""
    size, phase = abs(value), round(math.degrees(cmath.phase(value)))
    if size < 5e-4:
        return "0"
    return f"{size:.3f}" if phase == 0 else f"-{size:.3f}" if abs(phase) == 180 else f"{size:.3f}, {phase}"

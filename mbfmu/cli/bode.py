"""mbfmu bode."""

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
    TableFile,
    Values,
    begun,
    names,
    numbers,
    pairs,
    present,
    refuse_free,
    refuse_start,
)
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.linearize import unbalanced
from mbfmu.cli.robot import with_robot
from mbfmu.errors import UsageError

if TYPE_CHECKING:
    from mbfmu.analysis.linearization import FrequencyResponse, Margin

ROWS = 24
"""Largest number of pairs in the table."""


@with_robot
def bode(
    tell: Tell,
    model: ModelOrFmu,
    sources: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="NAME,...",
            help="inputs that oscillate; default: all",
            autocompletion=complete.input_names,
        ),
    ] = None,
    outputs: Annotated[
        list[str] | None,
        typer.Option(
            "--to",
            metavar="NAME,...",
            help="outputs that answer; default: the coordinates of the joints",
            autocompletion=complete.outputs,
        ),
    ] = None,
    frequency: Annotated[
        str | None,
        typer.Option("--frequency", metavar="LOW:HIGH:N", help="frequencies, Hz; default: around the eigenvalues"),
    ] = None,
    values: Values = None,
    start: Start = None,
    free: Free = None,
    inputs: Inputs = None,
    input_hold: InputHold = False,
    at: Annotated[
        float | None,
        typer.Option("--at", metavar="T", help="take the state of a run at this time, s; default: the start"),
    ] = None,
    stepper: Stepper = None,
    step: Step = None,
    coordinates: Coordinates = None,
    period: Annotated[
        float | None,
        typer.Option(
            "--period",
            metavar="T",
            help="inputs held over this time, s, outputs sampled; default: continuous, or the sampled blocks'",
        ),
    ] = None,
    output: TableFile = None,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="OUT.png", help="picture of gain and phase")] = None,
    robot: Any = None,
) -> Report:
    """Compute gain and phase from inputs to outputs over the frequency, with their margins; draw and write them."""
    from mbfmu.analysis.linearization.response import spread
    from mbfmu.base.files import check_outputs
    from mbfmu.base.formats import format_of
    from mbfmu.model.library import is_fmu

    if output:
        format_of(output)
    if plot:
        from mbfmu.show.plot import picture_format, plot_bode

        picture_format(plot)
    check_outputs((output, plot), (model, *pairs(inputs).values(), *present(start)))
    packed = is_fmu(model)
    if packed:
        if robot:
            raise UsageError(f"'{model}' has its robot inside: options of a URDF go with export")
        refuse_free(model, free)
        refuse_start(model, start)
    tell("frequency response", 0.0)
    found = mbfmu.bode(
        model if packed else mbfmu.load(model, begun(start, values), free or (), robot),
        numbers(values) if packed else None,
        sources=names(sources),
        outputs=names(outputs),
        frequency=None if frequency is None else spread(frequency).tolist(),
        inputs=pairs(inputs),
        input_hold=input_hold,
        at=at,
        stepper=stepper,
        step=step,
        coordinates=coordinates,
        period=period,
    )
    name = Path(model).stem
    if output:
        found.write(output)
    if plot:
        curves = {
            f"{y} / {u}": (found.decibels[:, row, column], found.phase[:, row, column])
            for row, y in enumerate(found.outputs)
            for column, u in enumerate(found.inputs)
        }
        plot_bode(found.frequency, curves, plot, name)
    margins = found.margins()
    data = {
        "model": name,
        "period": found.linear.period,
        "rest": found.linear.rest,
        "frequency": found.frequency,
        "responses": [
            {"input": u, "output": y, "response": found.response[:, row, column]}
            for row, y in enumerate(found.outputs)
            for column, u in enumerate(found.inputs)
        ],
        "margins": margins,
    }
    return Report(data, tuple(_shown(name, found, margins)), present(output, plot), unbalanced(found.linear))


def _shown(name: str, found: "FrequencyResponse", margins: "tuple[Margin, ...]") -> list[RenderableType]:
    import numpy as np

    sampled = f", sampled every {found.linear.period:g} s" if found.linear.period else ""
    low, high = found.frequency[[0, -1]]
    title = f"{name}: {len(found.frequency)} frequencies from {low:.4g} to {high:.4g} Hz{sampled}"
    table = Table(title=escape(title), title_justify="left")
    table.add_column("from")
    table.add_column("to")
    for heading in (
        "gain at the lowest",
        "largest gain",
        "at [Hz]",
        "gain margin",
        "at [Hz]",
        "phase margin",
        "at [Hz]",
    ):
        table.add_column(escape(heading), justify="right")
    for item in margins[:ROWS]:
        gain = np.abs(found.pair(item.output, item.input))
        top = int(np.argmax(gain))
        table.add_row(
            escape(item.input), escape(item.output), f"{gain[0]:.5g}", f"{gain[top]:.5g}",
            _number(float(found.frequency[top])), _number(item.gain), _number(item.gain_frequency),
            "" if item.phase is None else f"{item.phase + 0.0:.4g} deg", _number(item.phase_frequency),
        )  # fmt: skip
    more = [f"and {len(margins) - ROWS} more pairs; choose some with --from and --to"] if len(margins) > ROWS else []
    return [table, *more]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.5g}"

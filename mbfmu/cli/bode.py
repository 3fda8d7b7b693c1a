"""mbfmu bode."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

import mbfmu
from mbfmu.cli import complete
from mbfmu.cli.choices import TableFile, names, present
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.linearize import OperatingPoint, unbalanced
from mbfmu.cli.run_options import PointOptions
from mbfmu.cli.sources import ModelOrFmuSource, check_files

if TYPE_CHECKING:
    from mbfmu.analysis.linearization import FrequencyResponse, Margin

ROWS = 24
"""Largest number of pairs of an input and an output in the table that is printed."""


def bode(
    tell: Tell,
    *,
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
    source: ModelOrFmuSource,
    run: PointOptions,
    point: OperatingPoint,
    period: Annotated[
        float | None,
        typer.Option(
            "--period",
            metavar="T",
            help="inputs held over this time, s, outputs sampled; default: continuous, or the sampled blocks'",
        ),
    ] = None,
    output: TableFile = None,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="OUT.png", help="figure of gain and phase")] = None,
) -> Report:
    """Compute gain and phase from inputs to outputs over the frequency, with their margins; draw and write them."""
    from mbfmu.analysis.linearization.response import spread

    check_files(source, run, table=output, picture=plot)
    model, values = source.opened()
    tell("frequency response", 0.0)
    response = mbfmu.bode(
        model,
        values,
        sources=names(sources),
        outputs=names(outputs),
        frequency=None if frequency is None else spread(frequency).tolist(),
        period=period,
        **point.named(),
        **run.named(),
    )
    name = source.name
    if output:
        response.write(output)
    if plot:
        from mbfmu.show.plot import plot_bode

        curves = {
            f"{y} / {u}": (response.decibels[:, row, column], response.phase[:, row, column])
            for row, y in enumerate(response.outputs)
            for column, u in enumerate(response.inputs)
        }
        plot_bode(response.frequency, curves, plot, name)
    margins = response.margins()
    data = {
        "model": name,
        "period": response.linear.period,
        "rest": response.linear.rest,
        "frequency": response.frequency,
        "responses": [
            {"input": u, "output": y, "response": response.response[:, row, column]}
            for row, y in enumerate(response.outputs)
            for column, u in enumerate(response.inputs)
        ],
        "margins": margins,
    }
    return Report(
        data, tuple(_shown(name, response, margins)), present(output, plot), unbalanced(response.linear, source.packed)
    )


def _shown(name: str, response: "FrequencyResponse", margins: "tuple[Margin, ...]") -> list[RenderableType]:
    import numpy as np

    sampled = f", sampled every {response.linear.period:g} s" if response.linear.period else ""
    low, high = response.frequency[[0, -1]]
    title = f"{name}: {len(response.frequency)} frequencies from {low:.4g} to {high:.4g} Hz{sampled}"
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
        gain = np.abs(response.pair(item.output, item.input))
        top = int(np.argmax(gain))
        table.add_row(
            escape(item.input), escape(item.output), f"{gain[0]:.5g}", f"{gain[top]:.5g}",
            _number(float(response.frequency[top])), _number(item.gain), _number(item.gain_frequency),
            "" if item.phase is None else f"{item.phase + 0.0:.4g} deg", _number(item.phase_frequency),
        )  # fmt: skip
    more = [f"and {len(margins) - ROWS} more pairs; choose some with --from and --to"] if len(margins) > ROWS else []
    return [table, *more]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.5g}"

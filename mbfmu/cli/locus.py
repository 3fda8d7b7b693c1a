"""mbfmu locus."""

import cmath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

import mbfmu
from mbfmu.cli import complete
from mbfmu.cli.choices import TableFile, present
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.sources import HeldSource, check_files
from mbfmu.errors import UsageError

if TYPE_CHECKING:
    from mbfmu.analysis.modal import Locus

ROWS, SHOWN = 24, 8
"""Largest numbers of values of the parameter and of eigenvalues in the table that is printed."""


def locus(
    tell: Tell,
    *,
    parameter: Annotated[
        str,
        typer.Option(
            "--parameter",
            metavar="NAME=START:STOP:N",
            help="parameter, input or held output, and its values",
            autocompletion=complete.locus_names,
        ),
    ],
    source: HeldSource,
    output: TableFile = None,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="OUT.png", help="figure of the root locus")] = None,
) -> Report:
    """Compute the eigenvalues over a parameter, and the values at which one becomes stable or unstable."""
    from mbfmu.analysis.study.points import grid

    check_files(source, table=output, picture=plot)
    name, equals, span = (part.strip() for part in parameter.partition("="))
    if not (name and equals):
        raise UsageError(f"'{parameter}' is not NAME=START:STOP:N, such as v=0:10:101")
    tell("root locus", 0.0)
    result = mbfmu.locus(
        source.load() if source.robot else source.model,
        {name: grid(name, span)},
        None if source.robot else source.fixed,
        progress=lambda fraction: tell("root locus", fraction),
        **source.conditions,
    )
    if output:
        result.write(output)
    if plot:
        from mbfmu.show.plot import plot_locus

        label = f"{name} [{result.unit}]" if result.unit else name
        critical = [item.value for item in result.critical]
        plot_locus(label, result.values, result.branches, critical, plot, source.name)
    data = {
        "model": source.name,
        "parameter": name,
        "unit": result.unit,
        "values": result.values,
        "branches": result.branches,
        "unstable": result.unstable,
        "critical": [
            {"value": item.value, "eigenvalue": item.eigenvalue, "unstable": item.unstable, "text": item.text}
            for item in result.critical
        ],
    }
    return Report(data, tuple(_shown(source.name, result)), present(output, plot))


def _shown(model: str, result: "Locus") -> list[RenderableType]:
    import numpy as np

    label = f"{result.name} [{result.unit}]" if result.unit else result.name
    lines: list[RenderableType] = [
        f"{result.name} = {item.value:.12g}{f' {result.unit}' if result.unit else ''}: {item.text}"
        + (f" at {item.eigenvalue.imag:.6g} rad/s" if item.eigenvalue.imag else "")
        for item in result.critical
    ]
    moving = [column for column in result.branches.T if np.any(column[~np.isnan(column)])]
    upper = [column for column in moving if not np.all(np.nan_to_num(column.imag) <= 0) or not np.any(column.imag)]
    table = Table(title=escape(f"{model}: eigenvalues [1/s] that are not always zero"), title_justify="left")
    table.add_column(escape(label), justify="right")
    for index in range(1, len(upper[:SHOWN]) + 1):
        table.add_column(str(index), justify="right")
    table.add_column("unstable", justify="right")
    some = np.unique(np.linspace(0, len(result.values) - 1, min(ROWS, len(result.values))).round().astype(int))
    for row in some.tolist():
        cells = [_number(complex(column[row])) for column in upper[:SHOWN]]
        table.add_row(f"{result.values[row]:.6g}", *cells, str(result.unstable[row]))
    more = len(result.values) - len(some)
    if more:
        lines.append(f"{len(some)} of {len(result.values)} values; all with --json or -o")
    return [*lines, table]


def _number(value: complex) -> str:
    if cmath.isnan(value):
        return ""
    return f"{value.real:.5g}" + (f"{value.imag:+.5g}i" if value.imag else "")

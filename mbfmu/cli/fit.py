"""mbfmu fit."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

import mbfmu
from mbfmu.cli import complete
from mbfmu.cli.choices import Bounds, names, numbers, spans
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.run_options import FitOptions
from mbfmu.cli.sources import StartedSource, check_files, start_writes

if TYPE_CHECKING:
    from mbfmu.analysis.fit import Fit, Fitted


def fit(
    tell: Tell,
    *,
    data: Annotated[
        Path,
        typer.Option(
            "--data", metavar="RUN.csv", help="measured outputs and inputs over time: .csv, .parquet, .mat or .npz"
        ),
    ],
    free: Annotated[
        list[str],
        typer.Option(
            "--free",
            metavar="NAME,...",
            help="parameters and start values to fit; may be repeated",
            autocompletion=complete.values,
        ),
    ],
    measured: Annotated[
        str | None,
        typer.Option("--measured", metavar="NAME,...", help="columns to fit; default: all that are main outputs"),
    ] = None,
    sigma: Annotated[
        list[str] | None,
        typer.Option(
            "--sigma",
            metavar="NAME=VALUE",
            help="standard deviation of the errors of a measured output; default: outputs count relative to their "
            "spread; may be repeated",
        ),
    ] = None,
    bounds: Bounds = None,
    run: FitOptions,
    source: StartedSource,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FIT.json|.toml", help="file of the values, which --start takes"),
    ] = None,
) -> Report:
    """Compute parameters and start values of a model that fit measured outputs."""
    check_files(source, run, start=output, read=(data,))
    result = mbfmu.fit(
        source.load(),
        data,
        names(free),
        outputs=names([measured or ""]),
        sigma=numbers(sigma, "--sigma") or None,
        bounds=spans(bounds),
        progress=lambda runs, rms: tell(f"fit: run {runs}, residual {rms:.4g}", 0.0),
        **run.named(),
    )
    return Report(
        {
            "model": result.name,
            "values": result.items,
            "covariance": result.covariance,
            "outputs": {
                name: {"unit": result.units[name], "residual": value} for name, value in result.residuals.items()
            },
            "residual": result.rms,
            "points": result.points,
            "runs": result.runs,
        },
        (_values(result), _residuals(result), f"{result.points} measured values, {result.runs} runs"),
        notices=result.notices,
        writes=start_writes(source, output, result.values),
    )


def _values(result: "Fit") -> Table:
    table = Table(title=result.name, title_justify="left")
    for heading in ("value", "unit", "fitted", "standard error", "at the start", ""):
        table.add_column(heading, justify="left" if heading in {"value", "unit", ""} else "right")
    for item in result.items:
        remark = "at a bound" if item.bound else ""
        table.add_row(
            escape(item.name), escape(item.unit), f"{item.value:.9g}", _error(item), f"{item.start:.6g}", remark
        )
    return table


def _error(item: "Fitted") -> str:
    if math.isfinite(item.error):
        return f"{item.error:.2g}"
    return "not determined" if math.isinf(item.error) else ""


def _residuals(result: "Fit") -> Table:
    table = Table(title_justify="left")
    for heading in ("output", "unit", "rms residual"):
        table.add_column(heading, justify="right" if heading == "rms residual" else "left")
    for name, value in result.residuals.items():
        table.add_row(escape(name), escape(result.units[name]), f"{value:.4g}")
    return table

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
    from mbfmu.analysis.fit import Fit, Fitted, Profile


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
    profiles: Annotated[
        int, typer.Option("--profiles", metavar="N", min=0, help="profiles of the N values that are determined worst")
    ] = 0,
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
        profiles=profiles,
        progress=lambda runs, rms: tell(f"fit: run {runs}, residual {rms:.4g}", 0.0),
        **run.named(),
    )
    return Report(
        {
            "model": result.name,
            "values": result.items,
            "covariance": result.covariance,
            "correlation": result.correlation,
            "identifiability": result.identifiability,
            "profiles": result.profiles,
            "outputs": {
                name: {"unit": result.units[name], "residual": value} for name, value in result.residuals.items()
            },
            "residual": result.rms,
            "points": result.points,
            "runs": result.runs,
        },
        (
            _values(result),
            _residuals(result),
            *map(_profile, result.profiles),
            f"{_determined(result)}; {result.points} measured values, {result.runs} runs",
        ),
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


def _determined(result: "Fit") -> str:
    """Return how many directions the data determine, and which values are correlated most."""
    import numpy as np

    size = np.abs(np.triu(np.nan_to_num(result.correlation, posinf=0, neginf=0), 1))
    known = result.identifiability
    text = f"{known.rank} of {len(known.singular)} values determined"
    if not size.any():
        return text
    i, j = np.unravel_index(int(size.argmax()), size.shape)
    return f"{text}, correlation {result.correlation[i, j]:.2f} of {result.items[i].name}, {result.items[j].name}"


def _profile(profile: "Profile") -> Table:
    low, high = (f"{end:.6g}" if math.isfinite(end) else "open" for end in profile.interval)
    table = Table(title=escape(f"{profile.name}: 95 % from {low} to {high}"), title_justify="left")
    for heading in ("held at", "rise of the squares"):
        table.add_column(heading, justify="right")
    for value, rise in zip(profile.values, profile.rise, strict=True):
        table.add_row(f"{value:.6g}", f"{rise:.3g}")
    return table


def _residuals(result: "Fit") -> Table:
    table = Table(title_justify="left")
    for heading in ("output", "unit", "rms residual"):
        table.add_column(heading, justify="right" if heading == "rms residual" else "left")
    for name, value in result.residuals.items():
        table.add_row(escape(name), escape(result.units[name]), f"{value:.4g}")
    return table

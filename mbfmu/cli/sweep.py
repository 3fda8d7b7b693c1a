"""mbfmu sweep."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

import mbfmu
from mbfmu.cli import complete
from mbfmu.cli.choices import Kind, ModelOrFmu, Timeout, Validate, numbers, pairs
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.expansion import OptionGroup
from mbfmu.cli.run_options import MeasuredOptions
from mbfmu.cli.sources import GuessedSource, check_files, refuse_free

if TYPE_CHECKING:
    from mbfmu.analysis.study import Row, SobolIndex


@dataclass(frozen=True, kw_only=True)
class SweepSource(GuessedSource):
    """A model or an FMU that is run with many values."""

    model: ModelOrFmu


@dataclass(frozen=True, kw_only=True)
class Points(OptionGroup):
    """The values with which a model is run."""

    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="NAME=START:STOP:N",
            help="N equally spaced values; if repeated, every combination",
            autocompletion=complete.values,
        ),
    ] = None
    sample: Annotated[
        str,
        typer.Option(
            "--sample",
            metavar="N|METHOD:N",
            help="samples of the distributions: random, or sobol, halton, lhs; saltelli: with Sobol' indices",
        ),
    ] = "0"
    distribution: Annotated[
        list[str] | None,
        typer.Option(
            "--distribution",
            metavar="NAME=KIND(NUMBERS)",
            help="distribution of a value, such as normal(MEAN,SD) or uniform(A,B); may be repeated",
            autocompletion=complete.values,
        ),
    ] = None
    correlation: Annotated[
        list[str] | None,
        typer.Option("--correlation", metavar="NAME,NAME=RHO", help="of two drawn values, between -1 and 1"),
    ] = None
    seed: Annotated[int, typer.Option("--seed", min=0, help="of the samples")] = 0

    @property
    def grids(self) -> dict[str, tuple[float, ...]]:
        """Values of each name of which every combination is run."""
        from mbfmu.analysis.study import grid  # not before it is needed

        return {name: grid(name, text) for name, text in pairs(self.vary).items()}


@dataclass(frozen=True, kw_only=True)
class Execution(OptionGroup):
    """The processes in which runs are done, and what ends them."""

    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="ADDRESS", help="address of a Dask cluster; default: this machine"),
    ] = None
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", min=1, help="local processes; default: one for each core")
    ] = None
    again: Annotated[bool, typer.Option("--again", help="run failed rows of the table again")] = False
    timeout: Timeout = None
    kind: Kind = None
    validate: Validate = True


def sweep(
    tell: Tell,
    *,
    stop: Annotated[float, typer.Option("--stop", metavar="T", help="stop time of each run, s")],
    measure: Annotated[
        list[str],
        typer.Option(
            "--measure", metavar="LABEL=max(NAME)", help="or min, last, mean, rms, ptp of an output; may be repeated"
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="OUT.csv|OUT.parquet", help="table; its rows are not run again"),
    ],
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="OUT.png", help="picture of the measures and of Sobol' indices")
    ] = None,
    points: Points,
    run: MeasuredOptions,
    source: SweepSource,
    execution: Execution,
) -> Report:
    """Run many variants of a model or an .fmu on many cores, and write a table of their measures."""
    from mbfmu.analysis.study import refuse_structure, sobol_indices

    check_files(source, run, other=output, picture=plot)
    grids = points.grids
    if source.packed:
        refuse_free(source.model, source.free)
    elif source.robot is None:  # a robot's description has no arguments
        refuse_structure(source.model, source.fixed, {name: items[0] for name, items in grids.items()})
    try:
        rows = mbfmu.sweep(
            Path(source.model) if source.packed else source.load(),
            stop,
            measures=pairs(measure),
            vary=grids,
            sample=points.sample,
            distributions=pairs(points.distribution),
            correlations=numbers(points.correlation, "--correlation"),
            seed=points.seed,
            values=numbers(source.values) if source.packed else None,
            output=output,
            again=execution.again,
            timeout=execution.timeout,
            kind=execution.kind,
            validate=execution.validate,
            scheduler=execution.scheduler,
            workers=execution.workers,
            progress=lambda fraction: tell("sweep", fraction),
            **run.named(),
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"the same command continues from the rows in '{output}'") from None
    name, indexed = source.name, points.sample.startswith("saltelli:")
    done = [row for row in rows if not row.failure]
    failures = [row.failure for row in rows if row.failure]
    lost = f"{len(failures)} of {len(rows)} runs failed, the first: {next(iter(failures), '')}"
    shown = [_extremes(f"{name}: {len(done)} of {len(rows)} runs of {stop:g} s", done)] if done else []
    indices = sobol_indices(rows, points.seed) if indexed and done else ()
    if indexed and done:
        shown.append(_indices(indices))
    if plot and done:
        from mbfmu.show.plot import plot_study

        plot_study(done, indices, plot, name)
    return Report(
        {"model": name, "stop": stop, "rows": rows, **({"indices": indices} if indexed else {})},
        tuple(shown),
        (output, *([plot] if plot and done else [])),
        (lost,) if failures else (),
        failed=not done,
    )


def _extremes(title: str, done: "Sequence[Row]") -> Table:
    """Return a table of the least and the greatest value of each measure, with its point."""
    table = Table(title=title, title_justify="left")
    for heading in ("measure", "min", "at", "max", "at"):
        table.add_column(heading, justify="left" if heading in {"measure", "at"} else "right")
    for label in done[0].measures:
        cells = [label]
        for extreme in (min, max):
            best = extreme(done, key=lambda row: row.measures[label])
            where = ", ".join(f"{name} = {value:.6g}" for name, value in best.values.items())
            cells += [f"{best.measures[label]:.6g}", where]
        table.add_row(*map(escape, cells))
    return table


def _indices(indices: "Sequence[SobolIndex]") -> Table:
    """Return a table of Sobol' indices with their intervals of 95 %."""
    table = Table(title="Sobol' indices, intervals of 95 %", title_justify="left")
    for heading in ("measure", "value"):
        table.add_column(heading)
    for heading in ("first order", "", "total", ""):
        table.add_column(heading, justify="right")
    for item in indices:
        intervals = (f"{low:.3f} .. {high:.3f}" for low, high in (item.first_interval, item.total_interval))
        first, total = intervals
        table.add_row(escape(item.measure), escape(item.name), f"{item.first:.3f}", first, f"{item.total:.3f}", total)
    return table

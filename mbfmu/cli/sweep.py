"""mbfmu sweep."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
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
    Options,
    Step,
    Stepper,
    Timeout,
    Tolerance,
    Values,
    numbers,
    pairs,
    refuse_free,
    settings,
)
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.robot import with_robot

if TYPE_CHECKING:
    from mbfmu.analysis.study import Row


@with_robot
def sweep(
    tell: Tell,
    model: ModelOrFmu,
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
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="NAME=START:STOP:N",
            help="N equally spaced values; if repeated, every combination",
            autocompletion=complete.values,
        ),
    ] = None,
    sample: Annotated[int, typer.Option("--sample", metavar="N", min=0, help="samples of the distributions")] = 0,
    distribution: Annotated[
        list[str] | None,
        typer.Option(
            "--distribution",
            metavar="NAME=normal(MEAN,SD)|uniform(A,B)",
            help="distribution of a value; may be repeated",
            autocompletion=complete.values,
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="of the samples")] = 0,
    stepper: Stepper = None,
    option: Options = None,
    step: Step = None,
    tolerance: Tolerance = None,
    coordinates: Coordinates = None,
    output_interval: Annotated[
        float | None, typer.Option("--output-interval", metavar="DT", help="time between the values measured, s")
    ] = None,
    values: Values = None,
    free: Free = None,
    inputs: Inputs = None,
    input_hold: InputHold = False,
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="ADDRESS", help="address of a Dask cluster; default: this machine"),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", min=1, help="local processes; default: one for each core")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="run failed rows of the table again")] = False,
    timeout: Timeout = None,
    robot: Any = None,
) -> Report:
    """Run many variants of a model or an .fmu on many cores, and write a table of their measures."""
    from mbfmu.analysis.study import grid, refuse_structure
    from mbfmu.base.files import check_outputs

    check_outputs((output,), (model, *pairs(inputs).values()))
    grids = {name: grid(name, text) for name, text in pairs(vary).items()}
    packed = model.endswith(".fmu")
    fixed: dict[str, Any] = dict(numbers(values) if packed else settings(values))
    source: Any = Path(model)
    if packed:
        refuse_free(model, free)
    else:
        if robot is None:  # a robot's description has no arguments
            refuse_structure(model, fixed, {name: items[0] for name, items in grids.items()})
        source = mbfmu.load(model, fixed, free or (), robot)
    rows = mbfmu.sweep(
        source,
        stop,
        measures=pairs(measure),
        vary=grids,
        sample=sample,
        distributions=pairs(distribution),
        seed=seed,
        stepper=stepper,
        options=pairs(option),
        step=step,
        tolerance=tolerance,
        output_interval=output_interval,
        values=fixed if isinstance(source, Path) else None,
        inputs=pairs(inputs),
        input_hold=input_hold,
        coordinates=coordinates,
        output=output,
        again=again,
        timeout=timeout,
        scheduler=scheduler,
        workers=workers,
        progress=lambda fraction: tell("sweep", fraction),
    )
    name = Path(model).stem
    done = [row for row in rows if not row.failure]
    failures = [row.failure for row in rows if row.failure]
    lost = f"{len(failures)} of {len(rows)} runs failed, the first: {next(iter(failures), '')}"
    return Report(
        {"model": name, "stop": stop, "rows": rows},
        (_extremes(f"{name}: {len(done)} of {len(rows)} runs of {stop:g} s", done),) if done else (),
        (output,),
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

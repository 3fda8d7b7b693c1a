"""mbfmu view."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from mbfmu.cli import complete
from mbfmu.cli.choices import Show, numbers, pairs
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.expansion import OptionGroup
from mbfmu.cli.run_options import ViewOptions
from mbfmu.cli.sources import FreeSource, check_files, refuse_free, refuse_start, shown_names


@dataclass(frozen=True, kw_only=True)
class ViewSource(FreeSource):
    """A model or an FMU that is run, or a recorded run."""

    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|F.fmu|RUN.csv",
            help="a model by name or path, an .fmu file, or a recorded run (.csv, .parquet, .mat, .npz)",
            autocompletion=complete.models,
        ),
    ]


@dataclass(frozen=True, kw_only=True)
class PageOptions(OptionGroup):
    """The options of a page: a mode in place of a run, and how it looks."""

    mode: Annotated[
        int | None,
        typer.Option("--mode", metavar="K", help="show a mode in place of a run: its number in `mbfmu linearize`"),
    ] = None
    at: Annotated[
        float | None, typer.Option("--at", metavar="T", help="time of the state about which the mode is, s")
    ] = None
    up: Annotated[
        str | None,
        typer.Option(
            "--up",
            metavar="x|y|z|-x|-y|-z",
            help="axis that points upwards; default: against gravity, else z",
            autocompletion=complete.upward,
        ),
    ] = None
    deformation: Annotated[
        float,
        typer.Option("--deformation", metavar="FACTOR", help="factor of the displacements of flexible bodies"),
    ] = 1.0


def view(
    tell: Tell,
    *,
    geometry: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="MODEL|FMU=MODEL",
            help="the mechanism that a recorded run or an FMU moves; may be repeated for several FMUs",
            autocompletion=complete.models,
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="PAGE.html", help="file to write")] = None,
    stop: Annotated[float | None, typer.Option("--stop", metavar="T", help="stop time, s (default: 10)")] = None,
    run: ViewOptions,
    source: ViewSource,
    look: PageOptions,
    show: Show = None,
    live: Annotated[
        bool,
        typer.Option("--live", help="a page that computes, in which inputs and parameters change; needs `cross`"),
    ] = False,
) -> Report:
    """Write one HTML page that shows the mechanism moving, with its plots; it opens without a network."""
    from mbfmu.show.viewer import refuse_page, view

    path = output or Path(f"{source.name}.html")
    refuse_page(path)
    models = _models(geometry)
    check_files(source, run, other=path, read=models.values() if isinstance(models, dict) else [models or source.model])
    if source.packed:
        refuse_start(source.model, source.start)
        if not models:
            refuse_free(source.model, source.free)
    page = view(
        source.model,
        stop,
        model=models,
        mode=look.mode,
        at=look.at,
        up=look.up,
        values=numbers(source.values) if source.packed else source.fixed,
        free=source.guessed,
        robot=source.robot,
        deformation=look.deformation,
        show=shown_names(show),
        live=live,
        progress=lambda fraction: tell("view", fraction),
        **run.named(),
    )
    page.write(path)
    return Report({"model": source.name, "stop": page.stop}, wrote=(path,))


def _models(texts: list[str] | None) -> str | dict[str, str] | None:
    """Return one model, or models by the names of FMUs."""
    if not texts:
        return None
    return texts[0] if len(texts) == 1 and "=" not in texts[0] else pairs(texts)

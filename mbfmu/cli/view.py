"""mbfmu view."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from mbfmu.cli import complete
from mbfmu.cli.choices import numbers, pairs, present
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.expansion import OptionGroup
from mbfmu.cli.run_options import ViewOptions
from mbfmu.cli.sources import FreeSource, ShownOptions, check_files, refuse_free, refuse_start, shown_names
from mbfmu.prepared.settings import RunSettings

if TYPE_CHECKING:
    from mbfmu.show.viewer import Page

Moved = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="MODEL|FMU=MODEL",
        help="the mechanism that a recorded run or an FMU moves; may be repeated for several FMUs",
        autocompletion=complete.models,
    ),
]


Pull = Annotated[
    str | None,
    typer.Option(
        "--pull",
        metavar="BODY,...",
        help="bodies, or frames such as link2.frame_b, that the pointer pulls in a page that computes",
    ),
]


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
class PageFile(OptionGroup):
    """The file of a page, and the end of its run.

    Attributes:
        ENDING: what the name of a file has behind that of the model, if it is not named.
    """

    ENDING: ClassVar[str] = ".html"

    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="PAGE.html", help="file to write; for `view` also .glb, .rrd"),
    ] = None
    stop: Annotated[
        float | None,
        typer.Option(
            "--stop",
            metavar="T",
            help="stop time, s (default: 10); of a page that computes: of a run in advance, which lays out the picture",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class PageOptions(OptionGroup):
    """The options of a page: a mode in place of a run, and how it looks."""

    mode: Annotated[
        int | None,
        typer.Option("--mode", metavar="K", help="show a mode instead of a run: its number in `mbfmu linearize`"),
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

    def named(self) -> dict[str, Any]:
        """Return the options by the names of arguments."""
        return asdict(self)


def view(
    tell: Tell,
    *,
    geometry: Moved = None,
    file: PageFile,
    run: ViewOptions,
    source: ViewSource,
    look: PageOptions,
    shown: ShownOptions,
    pull: Pull = None,
    film: Annotated[
        Path | None,
        typer.Option("--film", metavar="F.mp4|F.gif", help="write a film too, which Chromium draws; needs `film`"),
    ] = None,
    live: Annotated[
        bool,
        typer.Option("--live", help="a page that computes, in which inputs and parameters change; needs `cross`"),
    ] = False,
) -> Report:
    """Write one HTML page that shows the mechanism moving, with its plots; it opens without a network."""
    from mbfmu import view

    how = {**look.named(), **shown.named(), "live": live, "pull": shown_names(pull)}
    return write_page(view, tell, source, file, run, {**how, "model": models_of(source, geometry)}, film)


def write_page(
    make: Callable[..., "Page"],
    tell: Tell,
    source: ViewSource,
    file: PageFile,
    run: RunSettings,
    how: Mapping[str, Any],
    film: Path | None = None,
) -> Report:
    """Write a page.

    Args:
        make: function of the arguments of `view` that makes it.
        tell: called with the fraction done.
        source: what it shows.
        file: the file to write.
        run: settings of the run.
        how: further arguments, by name.
        film: film to write, if there is one.
    """
    from mbfmu.show.viewer import refuse_page, view
    from mbfmu.show.viewer.film import refuse_film, write_film

    path, models = file.output or Path(f"{source.name}{file.ENDING}"), how.get("model")
    refuse_page(path, make is view and not how.get("live"))
    if film:
        refuse_film(film, bool(how.get("live")))
    check_files(source, run, other=path, read=models.values() if isinstance(models, dict) else [models or source.model])
    page = make(
        source.model,
        file.stop,
        values=numbers(source.values) if source.packed else source.fixed,
        free=source.guessed,
        robot=source.robot,
        progress=lambda fraction: tell("page", fraction),
        **how,
        **run.named(),
    )
    page.write(path)
    if film:
        write_film(page, film, tell=lambda fraction: tell("film", fraction))
    return Report({"model": source.name, "stop": page.stop}, wrote=present(path, film))


def models_of(source: ViewSource, texts: list[str] | None) -> str | dict[str, str] | None:
    """Return the mechanism that a run moves, or those by the names of FMUs.

    Raises:
        UsageError: an FMU is to begin otherwise than it does.
    """
    if source.packed:
        refuse_start(source.model, source.start)
        if not texts:
            refuse_free(source.model, source.free)
    if not texts:
        return None
    return texts[0] if len(texts) == 1 and "=" not in texts[0] else pairs(texts)

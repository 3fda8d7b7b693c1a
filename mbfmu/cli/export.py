"""mbfmu export."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

import mbfmu
from mbfmu.cli import complete
from mbfmu.cli.choices import EnergyBalance
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.expansion import OptionGroup
from mbfmu.cli.run_options import ExportOptions
from mbfmu.cli.sources import FreeSource, check_files, shown_names
from mbfmu.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class ExportSource(FreeSource):
    """A model or a recipe."""

    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="a name in models/ or fmus/, or a path of a .py, .toml, .mo, .urdf, .xacro, .sdf, MJCF .xml or recipe "
            "file",
            autocompletion=complete.exported,
        ),
    ]


@dataclass(frozen=True, kw_only=True)
class Form(OptionGroup):
    """The form of an FMU: its back end, version and platforms, and how it corrects its stages."""

    backend: Annotated[
        str,
        typer.Option(
            "--backend",
            metavar="python|native",
            help="a pythonfmu slave, or compiled C with its source",
            autocompletion=complete.backends,
        ),
    ] = "python"
    fmi: Annotated[
        str | None,
        typer.Option(
            "--fmi", metavar="2.0|3.0", help="version of FMI; 3.0 is for native", autocompletion=complete.versions
        ),
    ] = None
    scalars: Annotated[
        bool,
        typer.Option(
            "--scalars", help="FMI 3.0 without arrays and clocks, for tools that have none (OMSimulator, PyFMI)"
        ),
    ] = False
    no_derivatives: Annotated[
        bool,
        typer.Option(
            "--no-derivatives", help="a native FMU without directional derivatives, which is made in half the time"
        ),
    ] = False
    platform: Annotated[
        str | None,
        typer.Option(
            "--platform",
            metavar="NAME,...|all",
            help="platforms that the FMU runs on, such as x86_64-linux, aarch64-linux or win64; default: this "
            "machine's; others need zig",
            autocompletion=complete.platforms,
        ),
    ] = None
    real_time: Annotated[
        bool, typer.Option("--real-time", help="the same work in every step, converged or not (native only)")
    ] = False
    single: Annotated[
        bool,
        typer.Option(
            "--float", help="plain C (--kind c) in single precision; reports how far that deviates up to --stop"
        ),
    ] = False
    display: Annotated[
        str | None,
        typer.Option(
            "--display",
            metavar="UNIT,...",
            help="units in which importing tools show values, such as bar, mm, kN; angles: degrees",
            autocompletion=complete.display_units,
        ),
    ] = None
    corrections: Annotated[
        int | None, typer.Option("--passes", metavar="N", help="with --real-time: number of corrections of each stage")
    ] = None

    @property
    def passes(self) -> int | None:
        """Number of corrections of each stage; None: as many as the equations need."""
        from mbfmu.fmu.export import CORRECTIONS  # not before it is needed

        if not self.real_time:
            return None
        return CORRECTIONS if self.corrections is None else self.corrections


def export(
    tell: Tell,
    *,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="F.fmu", help="file to write")] = None,
    run: ExportOptions,
    form: Form,
    energy_balance: EnergyBalance = False,
    choose: Annotated[
        list[str] | None,
        typer.Option(
            "--choose",
            metavar="NAME",
            help="a start value that a master may free, or give, by start.fixed.NAME; may be repeated",
            autocompletion=complete.start_values,
        ),
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            metavar="cs|me|both|inverse|c",
            help="co-simulation, model exchange (native only) or both; or co-simulation with the motions of all joints "
            "in, efforts and reactions out; c: no FMU but plain C for a controller, in a .zip file",
            autocompletion=complete.kinds,
        ),
    ] = "cs",
    stop: Annotated[float | None, typer.Option("--stop", metavar="T", help="default stop time, s")] = None,
    source: ExportSource,
) -> Report:
    """Write a model with its stepper as an FMU."""
    from mbfmu.base.files import ending_of
    from mbfmu.fmu.export import ADDED, PLAIN, platforms_of
    from mbfmu.fmu.plain import precision_of
    from mbfmu.fmu.recipe import find_recipe

    if form.corrections is not None and not form.real_time:
        raise UsageError("--passes goes with --real-time")
    stored = find_recipe(source.model)
    recipe = (stored.exchanged() if kind == "me" else stored).changed(
        stepper=run.stepper,
        options=run.options or {},
        step=run.step,
        tolerance=run.tolerance,
        stop=stop,
        coordinates=run.coordinates,
        fmi=form.fmi,
    )
    path = output or Path(f"{source.name}{ADDED.get(kind, '.fmu')}")
    ending_of(path, (".zip",) if kind == PLAIN else (".fmu",))
    check_files(source, other=path, read=(recipe.model,))
    platforms, notices = platforms_of(form.platform, form.backend, recipe.fmi) if form.platform else (None, ())
    mbfmu.export(
        mbfmu.load(recipe.model, {**recipe.values, **source.fixed}, source.guessed, source.robot),
        path,
        backend=form.backend,
        scalars=form.scalars,
        derivatives=not form.no_derivatives,
        platforms=platforms,
        energy_balance=energy_balance,
        choose=choose or (),
        display=shown_names(form.display),
        kind=kind,
        real_time=form.passes,
        single_precision=form.single,
        progress=tell,
        **recipe.choices(),
    )
    if form.single:
        notices = (*notices, precision_of(path))
    return Report({"model": recipe.model, "backend": form.backend, **recipe.choices()}, wrote=(path,), notices=notices)

"""The command line: each command is a function here, and its work is done elsewhere."""

import math
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import mbfmu
from mbfmu.errors import MbfmuError, UsageError

PAGE = 150
"""Columns of a table that goes to a file or another program."""

app = typer.Typer(
    name="mbfmu",
    help="Multibody mechanisms as FMI 2.0 co-simulation FMUs with constraint-preserving steppers.",
    add_completion=False,
    pretty_exceptions_enable=False,
)
out = Console(width=None if sys.stdout.isatty() else PAGE)
err = Console(stderr=True)

DRIFT = 1e-6
"""Constraint residual from which a run is worth a notice."""

AT_REST = 1e-6
"""Acceleration, m/s2 or rad/s2, below which a state counts as an equilibrium."""

VIEWED = 10.0
"""Seconds that are shown if nobody says."""


class Listing(str, Enum):
    """What `mbfmu list` can show."""

    models = "models"
    steppers = "steppers"
    components = "components"


ModelArgument = Annotated[
    str, typer.Argument(metavar="MODEL", help="a name in models/, or a path of a .py, .toml or .urdf file")
]
Stepper = Annotated[str | None, typer.Option("--stepper", metavar="NAME", help="see `mbfmu list steppers`")]
Options = Annotated[
    list[str] | None, typer.Option("--option", metavar="K=V", help="option of the stepper; may be repeated")
]
Step = Annotated[float | None, typer.Option("--step", metavar="H", help="longest step of the stepper, s")]
Tolerance = Annotated[
    float | None,
    typer.Option(
        "--tolerance", metavar="TOL", help="choose the steps: error a second of motion may add; 0: equal steps"
    ),
]
Values = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="parameter or start value; may be repeated"),
]


Inputs = Annotated[
    list[str] | None,
    typer.Option("--input", metavar="NAME=EXPR|FILE.csv", help="an input as an expression of time, or from a file"),
]
Coordinates = Annotated[
    str | None,
    typer.Option("--coordinates", metavar="absolute|joint", help="of the bodies; default: joint if they are fewer"),
]


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("--folder", "-o", help="where the files go")] = Path("mbfmu_demo"),
) -> None:
    """Export the two-link arm, check it, and drive it in closed loop through FMPy."""
    from mbfmu.demo import run_demo

    with _progress() as task:
        found = run_demo(folder, task)
    table = Table(title="two_link as an FMU, PD with gravity compensation, 10 s", title_justify="left")
    table.add_column("what")
    table.add_column("measured", justify="right")
    for what, value in found.rows:
        table.add_row(what, value)
    out.print(table)
    for problem in found.problems:
        out.print(problem, markup=False)
    out.print("check: no problem" if not found.problems else f"check: {len(found.problems)} problem(s)")
    out.print(f"wrote {found.fmu}, {found.csv}, {found.png}", soft_wrap=True, highlight=False)
    if found.problems:
        raise typer.Exit(1)


@app.command("list")
def list_(
    what: Annotated[Listing | None, typer.Argument(help="leave it out for all")] = None,
) -> None:
    """List the models, steppers or components there are."""
    from mbfmu.listing import components_table, models_table, steppers_table

    tables: dict[Listing, Callable[[], Table]] = {
        Listing.models: models_table,
        Listing.steppers: steppers_table,
        Listing.components: components_table,
    }
    for kind, table in tables.items():
        if what in {None, kind}:
            out.print(table())


@app.command()
def describe(model: ModelArgument, coordinates: Coordinates = None, values: Values = None) -> None:
    """Explain a model: bodies, joints, loops, degrees of freedom, redundant constraints."""
    from mbfmu.listing import description_tables

    for table in description_tables(mbfmu.load(model, _numbers(values)), coordinates):
        out.print(table)


@app.command()
def export(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="a name in models/ or fmus/, or a path of a .py, .toml, .urdf or recipe file"
        ),
    ],
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="F.fmu", help="file to write")] = None,
    stepper: Stepper = None,
    option: Options = None,
    step: Step = None,
    tolerance: Tolerance = None,
    coordinates: Coordinates = None,
    backend: Annotated[
        str, typer.Option("--backend", metavar="python|native", help="a pythonfmu slave, or compiled C with its source")
    ] = "python",
    platform: Annotated[
        str | None,
        typer.Option(
            "--platform",
            metavar="linux64|win64|darwin64|all",
            help="what the FMU shall run on; default: this machine's for native, else all",
        ),
    ] = None,
    real_time: Annotated[
        bool, typer.Option("--real-time", help="the same work in every step, whatever it leaves (native only)")
    ] = False,
    passes: Annotated[
        int | None, typer.Option("--passes", metavar="N", help="with --real-time: corrections of each stage")
    ] = None,
    stop: Annotated[float | None, typer.Option("--stop", metavar="T", help="default stop time, s")] = None,
    values: Values = None,
) -> None:
    """Write a model with its stepper as an FMI 2.0 co-simulation FMU."""
    from mbfmu.fmu.export import PASSES, PLATFORMS
    from mbfmu.fmu.recipe import Recipe, known_recipes, read_recipe
    from mbfmu.model.library import known_models

    if passes is not None and not real_time:
        raise UsageError("--passes goes with --real-time")
    recipes = known_recipes()
    from mbfmu.model.toml import is_model

    told = model.endswith(".toml") and not is_model(Path(model))
    if told or (model in recipes and model not in known_models()):
        recipe = read_recipe(recipes.get(model, Path(model)))
    else:
        recipe = Recipe(model)
    system = mbfmu.load(recipe.model, {**recipe.values, **_numbers(values)})
    same = stepper is None or stepper == recipe.stepper
    with _progress() as task:
        task("export", 0.0)
        path = mbfmu.export(
            system,
            output or Path(f"{Path(model).stem}.fmu"),
            stepper=stepper or recipe.stepper,
            options={**(recipe.options if same else {}), **_pairs(option)},
            step=recipe.step if step is None else step,
            tolerance=recipe.tolerance if tolerance is None else tolerance,
            stop=recipe.stop if stop is None else stop,
            coordinates=coordinates or recipe.coordinates,
            backend=backend,
            platforms=PLATFORMS.get(backend) if platform == "all" else platform and (platform,),
            real_time=(PASSES if passes is None else passes) if real_time else None,
        )
    out.print(f"wrote {path} ({path.stat().st_size / 1e3:.0f} kB)", soft_wrap=True, highlight=False)


@app.command()
def simulate(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL_OR_FMU", help="a name in models/, a path of a .py, .toml or .urdf file, or an .fmu file"
        ),
    ],
    stop: Annotated[float, typer.Option("--stop", metavar="T", help="stop time, s")],
    stepper: Stepper = None,
    option: Options = None,
    step: Step = None,
    tolerance: Tolerance = None,
    coordinates: Coordinates = None,
    output_interval: Annotated[
        float | None, typer.Option("--output-interval", metavar="DT", help="time between outputs, s")
    ] = None,
    values: Values = None,
    inputs: Inputs = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="OUT.csv", help="file of results")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="OUT.png", help="picture of results")] = None,
) -> None:
    """Run a model, or an .fmu through FMPy."""
    if model.endswith(".fmu"):
        if stepper or option or coordinates:
            raise UsageError(f"'{model}' has its stepper inside: --stepper, --option and --coordinates go with export")
        source: Any = Path(model)
    else:
        source = mbfmu.load(model, _numbers(values))
    with _progress() as task:
        result = mbfmu.simulate(
            source,
            stop,
            stepper=stepper,
            options=_pairs(option),
            step=step,
            tolerance=tolerance,
            output_interval=output_interval,
            values=_numbers(values) if isinstance(source, Path) else None,
            inputs=_pairs(inputs),
            coordinates=coordinates,
            progress=lambda fraction: task("simulate", fraction),
        )
    if output:
        result.write_csv(output)
    if plot:
        from mbfmu.plot import plot_result

        plot_result(result, plot, Path(model).stem)
    _summary(result)
    written = [str(path) for path in (output, plot) if path]
    if written:
        out.print(f"wrote {', '.join(written)}", soft_wrap=True, highlight=False)


@app.command()
def compare(
    model: ModelArgument,
    stop: Annotated[float, typer.Option("--stop", metavar="T", help="stop time, s")],
    steppers: Annotated[
        str | None, typer.Option("--steppers", metavar="A,B", help="names, with options as name:key=value")
    ] = None,
    steps: Annotated[str, typer.Option("--steps", metavar="H1,H2", help="steps, s")] = "0.01,0.005,0.002,0.001",
    coordinates: Coordinates = None,
    values: Values = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="TABLE", help="a .csv or .md file")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="P.png", help="work-precision picture")] = None,
) -> None:
    """Run every stepper with every step on a model and say which to take."""
    from mbfmu.compare import compare, shown

    lengths = [_number("--steps", text) for text in steps.split(",")]
    names = steppers.split(",") if steppers else ()
    system = mbfmu.load(model, _numbers(values))
    with _progress() as task:
        found = compare(
            system, stop, steppers=names, steps=lengths, coordinates=coordinates,
            progress=lambda fraction: task("compare", fraction),
        )  # fmt: skip
    table = Table(title=f"{found.model}, {stop:g} s; reference converged to {found.accuracy:.1e}", title_justify="left")
    headings = ("stepper", "h [s]", "error", "Phi", "Phi_q v", "energy", "corr.", "us/step")
    for heading in headings:
        table.add_column(escape(heading), justify="left" if heading == "stepper" else "right")
    for row in found.rows:
        if not row.failure:
            table.add_row(*(escape(shown(value)) for value in astuple(row)[: len(headings)]))
    out.print(table)
    for failure in dict.fromkeys(row.failure for row in found.rows if row.failure):
        out.print(failure, soft_wrap=True, highlight=False, markup=False)
    out.print(found.advice, soft_wrap=True, highlight=False)
    if output:
        found.write(output)
    if plot:
        from mbfmu.plot import plot_comparison

        plot_comparison(found, plot)
    written = [str(path) for path in (output, plot) if path]
    if written:
        out.print(f"wrote {', '.join(written)}", soft_wrap=True, highlight=False)


@app.command()
def sweep(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL_OR_FMU", help="a name in models/, a path of a .py, .toml or .urdf file, or an .fmu file"
        ),
    ],
    stop: Annotated[float, typer.Option("--stop", metavar="T", help="stop time of each run, s")],
    measure: Annotated[
        list[str],
        typer.Option(
            "--measure", metavar="LABEL=max(NAME)", help="or min, last, mean, rms, ptp of an output; may be repeated"
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="OUT.csv|OUT.parquet", help="table; what is in it is not run again"),
    ],
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary", metavar="NAME=START:STOP:N", help="N equally spaced values; repeated: every combination"
        ),
    ] = None,
    sample: Annotated[int, typer.Option("--sample", metavar="N", min=0, help="samples of the distributions")] = 0,
    distribution: Annotated[
        list[str] | None,
        typer.Option(
            "--distribution", metavar="NAME=normal(MEAN,SD)|uniform(A,B)", help="what is drawn; may be repeated"
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
    inputs: Inputs = None,
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", metavar="ADDRESS", help="of a Dask cluster; default: this machine")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", min=1, help="processes here; default: one a core")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="run rows of the table that failed once more")] = False,
) -> None:
    """Run many variants of a model or an .fmu on many cores and write a table of what they reach."""
    from mbfmu.study import grid, refuse_structure

    grids = {name: grid(name, text) for name, text in _pairs(vary).items()}
    fixed = _numbers(values)
    source: Any = Path(model)
    if not model.endswith(".fmu"):
        refuse_structure(model, fixed, {name: items[0] for name, items in grids.items()})
        source = mbfmu.load(model, fixed)
    with _progress() as task:
        rows = mbfmu.sweep(
            source,
            stop,
            measures=_pairs(measure),
            vary=grids,
            sample=sample,
            distributions=_pairs(distribution),
            seed=seed,
            stepper=stepper,
            options=_pairs(option),
            step=step,
            tolerance=tolerance,
            output_interval=output_interval,
            values=fixed if isinstance(source, Path) else None,
            inputs=_pairs(inputs),
            coordinates=coordinates,
            output=output,
            again=again,
            scheduler=scheduler,
            workers=workers,
            progress=lambda fraction: task("sweep", fraction),
        )
    done = [row for row in rows if not row.failure]
    failed = [row for row in rows if row.failure]
    if done:
        table = Table(title=f"{Path(model).stem}: {len(done)} runs of {stop:g} s", title_justify="left")
        for heading in ("measure", "min", "at", "max", "at"):
            table.add_column(heading, justify="left" if heading in {"measure", "at"} else "right")
        for label in done[0].measures:
            cells = [label]
            for extreme in (min, max):
                best = extreme(done, key=lambda row: row.measures[label])
                where = ", ".join(f"{name} = {value:.6g}" for name, value in best.values.items())
                cells += [f"{best.measures[label]:.6g}", where]
            table.add_row(*map(escape, cells))
        out.print(table)
    if failed:
        _notice(f"{len(failed)} of {len(rows)} runs failed, the first: {failed[0].failure}")
    out.print(f"wrote {output} ({len(rows)} rows)", soft_wrap=True, highlight=False)
    if not done:
        raise typer.Exit(1)


@app.command()
def view(
    source: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|F.fmu|RESULT.csv", help="a model by name or path, an .fmu file, or a file of results"
        ),
    ],
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="PAGE.html", help="file to write")] = None,
    stop: Annotated[float | None, typer.Option("--stop", metavar="T", help="stop time, s (default: 10)")] = None,
    stepper: Stepper = None,
    option: Options = None,
    step: Step = None,
    tolerance: Tolerance = None,
    coordinates: Coordinates = None,
    output_interval: Annotated[
        float | None, typer.Option("--output-interval", metavar="DT", help="time between pictures, s")
    ] = None,
    values: Values = None,
    inputs: Inputs = None,
    up: Annotated[
        str | None,
        typer.Option("--up", metavar="x|y|z|-x|-y|-z", help="what points upwards; default: against gravity, else z"),
    ] = None,
) -> None:
    """Write one HTML page that shows the mechanism moving, with its plots; it opens without a network."""
    from mbfmu.view import is_table, motion_of_model, motion_of_result, result_of_csv, write_page

    name = Path(source).stem
    path = output or Path(f"{name}.html")
    if is_table(source):
        if stop is not None or any((stepper, option, step, tolerance, coordinates, output_interval, values, inputs)):
            raise UsageError(f"'{source}' is a run already: only --up and -o go with it")
        motion = motion_of_result(result_of_csv(source), source, up)
    else:
        end = VIEWED if stop is None else stop
        with _progress() as task:
            if source.endswith(".fmu"):
                result = mbfmu.simulate(
                    source, end, stepper=stepper, options=_pairs(option), step=step, tolerance=tolerance,
                    output_interval=output_interval, values=_numbers(values), inputs=_pairs(inputs),
                    coordinates=coordinates, progress=lambda fraction: task("view", fraction),
                )  # fmt: skip
                motion = motion_of_result(result, source, up)
            else:
                motion = motion_of_model(
                    mbfmu.load(source, _numbers(values)), end, stepper=stepper, options=_pairs(option), step=step,
                    tolerance=tolerance, output_interval=output_interval, inputs=_pairs(inputs),
                    coordinates=coordinates, up=up, progress=lambda fraction: task("view", fraction),
                )  # fmt: skip
    write_page(motion, path, name, f"{motion.result.time[-1]:g} s")
    out.print(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB)", soft_wrap=True, highlight=False)


@app.command()
def linearize(
    model: ModelArgument,
    at: Annotated[
        list[str] | None,
        typer.Option("--at", metavar="NAME=VALUE", help="start value or parameter of the point; may be repeated"),
    ] = None,
    inputs: Annotated[
        list[str] | None, typer.Option("--input", metavar="NAME=VALUE", help="an input there, else 0; may be repeated")
    ] = None,
    outputs: Annotated[
        list[str] | None, typer.Option("--output-name", metavar="NAME", help="an output; default: those of the joints")
    ] = None,
    coordinates: Coordinates = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="F.npz|F.json", help="file to write")] = None,
) -> None:
    """Give the state-space form A, B, C, D about a start, and its eigenvalues."""
    found = mbfmu.linearize(
        mbfmu.load(model, _numbers(at, "--at")),
        inputs=_numbers(inputs, "--input"),
        outputs=tuple(outputs or ()),
        coordinates=coordinates,
    )
    table = Table(title=f"{Path(model).stem}: {', '.join(found.states)}", title_justify="left")
    for heading in ("eigenvalue [1/s]", "frequency [Hz]", "damping ratio"):
        table.add_column(escape(heading), justify="right")
    for value in found.eigenvalues:
        if value.imag < 0:
            continue  # shown with its conjugate
        size = abs(value)
        shown = f"{value.real:.6g}" + (f" +- {value.imag:.6g}i" if value.imag else "")
        table.add_row(shown, f"{value.imag / math.tau:.6g}", f"{-value.real / size:.4g}" if size else "")
    out.print(table)
    if found.rest > AT_REST:
        _notice(f"not an equilibrium: accelerations of up to {found.rest:.3g}; set inputs that balance it with --input")
    if output:
        out.print(f"wrote {found.write(output)}", soft_wrap=True, highlight=False)


@app.command()
def check(
    fmu: Annotated[Path, typer.Argument(metavar="F.fmu", help="any FMI 2.0 co-simulation FMU")],
    as_json: Annotated[bool, typer.Option("--json", help="print what every rule says as JSON")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="try also the rules that few FMUs keep")] = False,
    skip: Annotated[
        list[str] | None,
        typer.Option("--skip", metavar="RULE", help="leave a rule out, or all that are 'practice'; may be repeated"),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="T", help="time the FMU has for one rule, s")
    ] = None,
) -> None:
    """Check an FMU by FMI 2.0.4 and by test runs, rule by rule; exit status 1 if one fails."""
    from mbfmu.fmu.check import report, show

    limit = {} if timeout is None else {"timeout": timeout}
    with _progress() as task:
        task("check", 0.0)
        found = report(fmu, strict=strict, skip=skip or (), **limit)
    if as_json:
        out.print(show.as_json(found), markup=False, soft_wrap=True, highlight=False)
    elif out.is_terminal:
        out.print(show.as_picture(str(fmu), found))
    else:
        for line in show.as_lines(str(fmu), found):
            out.print(line, markup=False, soft_wrap=True, highlight=False)
    if any(outcome.status == "fail" for outcome in found):
        raise typer.Exit(1)


@app.command()
def ssp(
    parts: Annotated[
        list[str],
        typer.Argument(metavar="[NAME=]A.fmu...|COUPLING.toml", help="FMUs, each a component, or a file that says all"),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="F.ssp", help="file to write")],
    connect: Annotated[
        list[str] | None,
        typer.Option(
            "--connect", metavar="A.out=B.in[:FACTOR]", help="an output goes to an input, times a factor; repeatable"
        ),
    ] = None,
    system: Annotated[str | None, typer.Option("--system", metavar="NAME", help="name; default: the file's")] = None,
    stop: Annotated[float | None, typer.Option("--stop", metavar="T", help="default stop time, s")] = None,
    step: Annotated[
        float | None, typer.Option("--step", metavar="H", help="communication step for masters that read it here, s")
    ] = None,
) -> None:
    """Write several FMUs and their connections as one .ssp file (SSP 1.0)."""
    from mbfmu.fmu.ssp import Coupling, components, connection, read_coupling, write_ssp

    told = len(parts) == 1 and parts[0].endswith(".toml")
    coupling = read_coupling(parts[0]) if told else Coupling(components(parts))
    path = write_ssp(
        output,
        coupling.components,
        (*coupling.connections, *map(connection, connect or ())),
        system=system or coupling.system,
        stop=coupling.stop if stop is None else stop,
        step=coupling.step if step is None else step,
    )
    out.print(f"wrote {path} ({path.stat().st_size / 1e3:.0f} kB)", soft_wrap=True, highlight=False)


@app.command()
def modelica(
    fmu: Annotated[Path, typer.Argument(metavar="F.fmu", help="an FMU with driven or moved axes")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="F.mo", help="file to write; its name is the package's")
    ] = None,
    own: Annotated[bool, typer.Option("--own-connectors", help="do without the Modelica Standard Library")] = False,
) -> None:
    """Write a Modelica package that gives an FMU flanges."""
    from mbfmu.fmu.modelica import write_modelica

    path = write_modelica(fmu, output, library=not own)
    out.print(f"wrote {path}", soft_wrap=True, highlight=False)


@app.callback(invoke_without_command=True)
def common(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="show the version and stop")] = False,
) -> None:
    """Multibody mechanisms as FMI 2.0 co-simulation FMUs with constraint-preserving steppers."""
    if version:
        out.print(f"mbfmu {mbfmu.__version__}", highlight=False)
        raise typer.Exit
    if context.invoked_subcommand is None:
        out.print(context.get_help(), markup=False, highlight=False)


def main() -> None:
    """Run the command line; a user's mistake ends in one clear line and exit status 1."""
    warnings.showwarning = _notice
    try:
        status = app(standalone_mode=False)
    except MbfmuError as error:
        _complain(str(error))
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        if not hasattr(error, "format_message"):  # Typer's own errors, whichever copy of Click it brings
            raise
        _complain(f"{error.format_message()} (see mbfmu --help)")
        sys.exit(2)
    sys.exit(status if isinstance(status, int) else 0)


def _complain(text: str) -> None:
    line = " ".join(text.split())
    err.print(f"mbfmu: {line}", style="red", markup=False, soft_wrap=True, highlight=False)


def _notice(message: object, *_: Any, **__: Any) -> None:
    err.print(f"mbfmu: notice: {message}", markup=False, soft_wrap=True, highlight=False)


@contextmanager
def _progress() -> Iterator[Callable[[str, float], None]]:
    """Show a bar on a terminal, nothing when piped."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("", total=None)

        def tell(what: str, fraction: float) -> None:
            bar.update(task, description=what, total=1.0 if fraction else None, completed=fraction)

        yield tell


def _summary(result: Any) -> None:
    table = Table(title_justify="left")
    for heading in ("variable", "unit", "last", "min", "max"):
        table.add_column(heading, justify="left" if heading in {"variable", "unit"} else "right")
    shown = ("energy.total", "constraint.position", "constraint.velocity")
    joints = [n for n in result.names if n.rsplit(".", 1)[-1] in {"phi", "s", "w", "v"} and n.count(".") >= 1]
    for name in [*joints[:12], *(name for name in shown if name in result.names)]:
        column = result[name]
        numbers = (column[-1], column.min(), column.max())
        table.add_row(name, result.units.get(name, ""), *(f"{number:.6g}" for number in numbers))
    out.print(table)
    drift = max((result[name].max() for name in shown[1:] if name in result.names), default=0.0)
    if not drift <= DRIFT:
        _notice(f"the constraints are violated by up to {drift:.2g}: take a smaller step, or the stepper 'rattle'")
    if result.steps:
        each = result.seconds / result.steps * 1e6
        out.print(f"{result.steps} steps, {each:.2f} microseconds each", highlight=False)


def _pairs(items: list[str] | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in items or ():
        name, equals, value = item.partition("=")
        if not (equals and name.strip() and value.strip()):
            raise UsageError(f"'{item}' is not NAME=VALUE")
        found[name.strip()] = value.strip()
    return found


def _numbers(items: list[str] | None, option: str = "--set") -> dict[str, float]:
    return {name: _number(f"{option} {name}", text) for name, text in _pairs(items).items()}


def _number(where: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{where}: '{text}' is not a number") from None

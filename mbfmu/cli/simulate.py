"""mbfmu simulate."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer
from rich.table import Table

import mbfmu
from mbfmu.cli.choices import (
    EnergyBalance,
    ErrorSamples,
    Kind,
    ModelOrFmu,
    ResultFile,
    Timeout,
    ToleranceOfResult,
    Validate,
    number,
    pairs,
    present,
)  # fmt: skip
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.expansion import OptionGroup
from mbfmu.cli.run_options import RunOptions
from mbfmu.cli.sources import GuessedSource, ShownOptions, check_files
from mbfmu.errors import UsageError
from mbfmu.prepared.settings import OFTEN

if TYPE_CHECKING:
    from mbfmu.base.result import Result

DRIFT = 1e-6
"""Smallest constraint residual that gives a notice."""
MOST = 12
"""Largest number of coordinates and rates in the table, and half the largest number of other quantities."""
MONITORS = ("energy.total", "energy.balance", "constraint.position", "constraint.velocity")
"""Variables that are shown last, as they are."""


@dataclass(frozen=True, kw_only=True)
class SimulateSource(GuessedSource):
    """A model or an FMU that is run; it may start in an equilibrium, or an FMU at a time."""

    model: ModelOrFmu
    start: Annotated[
        str | None,
        typer.Option(
            "--start",
            metavar="START.json|.toml|T",
            help="start a model in an equilibrium that `mbfmu equilibrium` wrote; for an .fmu: the start time, s "
            "(default: that of its DefaultExperiment)",
        ),
    ] = None

    @property
    def start_file(self) -> Path | None:
        return Path(self.start) if self.start and Path(self.start).suffix in {".json", ".toml"} else None

    @property
    def start_time(self) -> float | None:
        """Time at which an FMU starts, s."""
        return number("--start", self.start) if self.start and not self.start_file else None


@dataclass(frozen=True, kw_only=True)
class FmuOptions(OptionGroup):
    """The way in which an FMU is run."""

    PANEL: ClassVar[str] = "FMUs"

    timeout: Timeout = None
    kind: Kind = None
    validate: Validate = True


@dataclass(frozen=True, kw_only=True)
class AccuracyOptions(OptionGroup):
    """The estimate of a run's error, and the error that it may have."""

    PANEL: ClassVar[str] = "Accuracy"

    error_samples: ErrorSamples = OFTEN
    tolerance_of_result: ToleranceOfResult = 0.0


def simulate(
    tell: Tell,
    *,
    stop: Annotated[float, typer.Option("--stop", metavar="T", help="stop time, s")],
    run: RunOptions,
    source: SimulateSource,
    fmu: FmuOptions,
    energy_balance: EnergyBalance = False,
    accuracy: AccuracyOptions,
    output: ResultFile = None,
    shown: ShownOptions,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="OUT.png", help="figure of results")] = None,
) -> Report:
    """Run a model, or an .fmu through FMPy in a process of its own."""
    start = source.start_time
    check_files(source, run, table=output, picture=plot)
    if source.packed and (run.stepper or run.options or run.coordinates or energy_balance):
        raise UsageError(
            f"'{source.model}' has its stepper inside: --stepper, --option, --coordinates and --energy-balance go with "
            "export"
        )
    if source.packed:
        source.refuse_model_options()
    result = mbfmu.simulate(
        Path(source.model) if source.packed else source.load(),
        stop,
        values=pairs(source.values) if source.packed else None,
        energy_balance=energy_balance,
        error_samples=accuracy.error_samples,
        tolerance_of_result=accuracy.tolerance_of_result,
        start=start,
        timeout=fmu.timeout,
        kind=fmu.kind,
        validate=fmu.validate,
        progress=lambda fraction: tell("simulate", fraction),
        **shown.named(),
        **run.named(),
    )
    if output:
        result.write(output)
    if plot:
        from mbfmu.show.plot import plot_result

        tell("plot", 0.0)
        plot_result(result, plot, source.name)
    drift = max((result[name].max() for name in MONITORS[2:] if name in result.names), default=0.0)
    keeper = "a stepper that keeps them" if result.stepper.startswith("rattle") else "the stepper 'rattle'"
    violated = f"the constraints are violated by up to {drift:.2g}: take a smaller step, or {keeper}"
    return Report(
        {
            "model": source.name,
            "stop": stop,
            "steps": result.steps,
            "step": result.step,
            "seconds": result.seconds,
            "stepper": result.stepper,
            "stepper_reason": result.reason,
            "drift": drift,
            "notices": result.notices,
            "error": result.error._asdict() if result.error.name else None,
            "variables": {name: extremes(result, name) for name in result.names},
        },
        (*table(result), *_speed(result), *error_line(result, bool(accuracy.tolerance_of_result))),
        present(output, plot),
        () if drift <= DRIFT else (violated,),
    )


def extremes(result: "Result", name: str) -> dict[str, Any]:
    """Return unit, last, least and greatest value of a variable."""
    column = result[name]
    return {"unit": result.units.get(name, ""), "last": column[-1], "min": column.min(), "max": column.max()}


def table(result: "Result") -> tuple[Table | str, ...]:
    """Return the table of the chosen variables, or of those that a reader looks for first and a line about the rest."""
    from mbfmu.base.result import noise, selection

    rows = Table(title_justify="left")
    for heading in ("variable", "unit", "last", "min", "max"):
        rows.add_column(heading, justify="left" if heading in {"variable", "unit"} else "right")
    first = selection(result)
    motions = [name for name in first if name in result.roles.motions]
    others = [name for name in first if name not in result.roles.motions]
    picked = [*_most(result, others, 2 * MOST), *_most(result, motions, MOST)]
    left = len(first) - len(picked)
    picked += [name for name in MONITORS if name in result.names]
    least = noise(result)
    for name in result.chosen or picked:
        below = 0.0 if name in MONITORS else least[result.units.get(name, "")]
        unit, numbers = result.shown_extremes(name, below)
        rows.add_row(name, unit, *(f"{number:.6g}" for number in numbers))
    if result.chosen or not left:
        return (rows,)
    return rows, f"and {left} more: choose by --show NAME,..."


def _most(result: "Result", names: list[str], most: int) -> list[str]:
    """Return at most so many names; if there are more, those that are always zero are left out first."""
    return (names if len(names) <= most else [name for name in names if result[name].any()])[:most]


def error_line(result: "Result", chosen: bool) -> tuple[str, ...]:
    """Return a line on the error of a run; chosen: whether the step was found for a tolerance of the result."""
    error = result.error
    if not error.name:
        return ()
    unit, factor = result.shown_unit(error.name)
    amount = "" if unit in {"", "1"} else f", {factor * error.by_variable[error.name]:.1g} {unit}"
    steps = f", with steps of {result.step:.3g} s" if chosen else ""
    return (f"estimated error {error.value:.1g} of the range of {error.name}{amount}{steps}",)


def _speed(result: "Result") -> tuple[str, ...]:
    if not result.steps:
        return ()
    speed = f"{result.steps} steps, {result.seconds / result.steps * 1e6:.2f} microseconds each"
    return speed, f"stepper {result.stepper}, {result.reason}"

"""Study: many runs of one model or FMU with different values, on the cores of this machine or on a Dask cluster."""

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated

from mbfmu.analysis.study.cluster import run
from mbfmu.analysis.study.indices import SobolIndex, sobol_indices
from mbfmu.analysis.study.measures import Measure, measure
from mbfmu.analysis.study.points import Point, grid, points
from mbfmu.analysis.study.subjects import (
    FmuSubject,
    FmuUse,
    Study,
    Subject,
    fmu_subject,
    model_subject,
    refuse_structure,
)
from mbfmu.analysis.study.table import Row, StudyTable
from mbfmu.analysis.study.together import WORTH
from mbfmu.base import extras
from mbfmu.base.described import Described, takes
from mbfmu.base.files import kept_for_itself
from mbfmu.errors import UsageError
from mbfmu.model import Model
from mbfmu.model.library import is_fmu, model_of
from mbfmu.prepared import settings
from mbfmu.prepared.settings import RunSettings
from mbfmu.run.fmu import TIMEOUT
from mbfmu.run.inputs import Course, courses, formulas
from mbfmu.run.model import Progress

__all__ = ["Row", "SobolIndex", "grid", "refuse_structure", "sobol_indices", "sweep"]


@dataclass(frozen=True)
class SweepArguments(RunSettings):
    """The arguments of `sweep`."""

    model: Annotated[
        Model | str | os.PathLike[str],
        Described("a model, a name in models/, the path of a model file, or the path of an .fmu file"),
    ]
    stop: Annotated[float, Described("end of each run", unit="s")]
    _: KW_ONLY
    measures: Annotated[
        Mapping[str, str],
        Described(
            "numbers that a run is reduced to: by label, ``max(NAME)``, or min, last, mean, rms, ptp of an output, or "
            "``error``, the run's estimated error"
        ),
    ]
    vary: Annotated[
        Mapping[str, Sequence[float | bool]] | None,
        Described("values by name of a parameter or start value, in SI units, True or False; every combination is run"),
    ] = None
    sample: Annotated[
        int | str,
        Described(
            "number N of random samples of each combination; ``sobol:N``, ``halton:N`` or ``lhs:N``: samples that are "
            "spread evenly; ``saltelli:N``: the runs that `sobol_indices` takes, N for each value and 2 N more"
        ),
    ] = 0
    distributions: Annotated[
        Mapping[str, str] | None,
        Described(
            "distributions by name: ``normal(mean,sd)``, ``uniform(a,b)``, ``lognormal(median,s)``, "
            "``triangular(a,mode,b)``, ``truncated(mean,sd,a,b)``, ``beta(alpha,beta,a,b)``, ``weibull(shape,scale)`` "
            "or ``exponential(mean)``"
        ),
    ] = None
    correlations: Annotated[
        Mapping[str, float] | None,
        Described('correlations of the normal scores of two drawn values, as ``{"a,b": 0.5}`` (Gaussian copula)'),
    ] = None
    seed: Annotated[int, Described("seed of the samples")] = 0
    output: Annotated[
        str | os.PathLike[str] | None,
        Described("a .csv or .parquet file: its rows are not run again, and new rows are added as they are done"),
    ] = None
    again: Annotated[bool, Described("whether failed rows of the file are run again")] = False
    timeout: Annotated[
        float | None,
        Described("seconds after which an .fmu that does not answer is ended, which fails its row; None: 60"),
    ] = None
    kind: Annotated[str | None, settings.KIND] = None
    validate: Annotated[bool, settings.VALIDATE] = True
    scheduler: Annotated[
        str | None,
        Described("address of a Dask scheduler, such as ``tcp://host:8786``; None: processes on this machine"),
    ] = None
    workers: Annotated[int | None, Described("number of processes (not with a scheduler); None: one for each core")] = (
        None
    )
    progress: Annotated[Progress | None, settings.PROGRESS] = None


@takes(SweepArguments)
def sweep(study: SweepArguments) -> list[Row]:
    """Run a mechanism or an FMU with every combination of values, on many cores; every point gives a row.

    An FMU has its stepper inside: stepper, options and coordinates are not for one.

    A script that calls this needs ``if __name__ == "__main__":``, as every worker process imports it.

    Raises:
        UsageError: an argument is invalid, Dask is not installed, or another run writes to the file.
        UnknownNameError: there is no such parameter, output or input.
        MbfmuError: the model is invalid, or the file cannot be written. A run that fails is a row, not an error.
    """
    _refuse_wrong(study)
    wanted = [measure(label, text) for label, text in study.measures.items()]
    names, todo = points(study.vary or {}, study.sample, study.distributions or {}, study.seed, study.correlations)
    if taken := {*names} & {item.label for item in wanted}:
        raise UsageError(f"'{min(taken)}' is varied: take another label for the measure")
    inputs = courses(study.inputs, study.input_hold)
    subject = _subject(study, names, wanted, todo[0], inputs)
    labels = tuple(item.label for item in wanted)
    table = None
    if study.output is not None:
        fingerprint = _fingerprint(subject, wanted, study.stop, study.output_interval, inputs)
        table = StudyTable(Path(study.output), names, labels, fingerprint)
    together = isinstance(subject, FmuSubject) or len(todo) >= WORTH  # an FMU needs no other kernel for it
    with kept_for_itself(table.path) if table else nullcontext():
        known = table.read() if table else {}
        if study.again:
            known = {point: row for point, row in known.items() if not row.failure}
        rows = run(
            Study(subject, wanted, together), names, list(dict.fromkeys(todo)), known, table, study.scheduler,
            study.workers, study.progress or (lambda _: None),
        )  # fmt: skip
    return [rows[point] for point in todo]


def _refuse_wrong(study: SweepArguments) -> None:
    """Raise an error for what no sweep can have, before anything is prepared."""
    try:
        import distributed  # noqa: F401 - if it is missing, say so before anything is prepared
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise UsageError(f"a sweep needs {error.name}: {extras.command('sweep')}") from None
    if not (math.isfinite(study.stop) and study.stop > 0):
        raise UsageError(f"the stop time is {study.stop} s; it must be a positive number")
    if study.scheduler and study.workers:
        raise UsageError("a scheduler has its own workers: give --workers or --scheduler")
    if study.workers is not None and study.workers < 1:
        raise UsageError(f"there must be at least 1 worker, not {study.workers}")
    if not study.measures:
        raise UsageError("nothing is measured: give --measure LABEL=max(NAME)")


def _subject(
    study: SweepArguments, names: tuple[str, ...], wanted: Sequence[Measure], first: Point, inputs: Mapping[str, Course]
) -> Subject:
    """Return the model or the FMU that is run, and reject what no run of it can have.

    Args:
        study: the arguments of the sweep.
        names: of what is varied.
        wanted: the measures.
        first: values of the first point.
        inputs: inputs over time, by name.
    """
    model, stop, interval = study.model, study.stop, study.output_interval
    if isinstance(model, Model) or not is_fmu(model):
        if study.timeout is not None:
            raise UsageError("--timeout is for an .fmu")
        if not (study.kind is None and study.validate):
            raise UsageError("--kind and --no-validate are for an .fmu")
        choices = {
            "stepper": study.stepper,
            "options": dict(study.options or {}),
            "step": study.longest,
            "tolerance": study.tolerance or 0.0,
            "coordinates": study.coordinates,
            "formulas": formulas(inputs),
        }
        return model_subject(model_of(model, study.values), names, wanted, choices, first, stop, interval, inputs)
    if study.stepper or study.options or study.coordinates:
        raise UsageError(f"'{model}' has its stepper inside: --stepper, --option and --coordinates go with export")
    if not (study.timeout is None or study.timeout > 0):
        raise UsageError(f"the timeout is {study.timeout} s; it must be a positive number")
    settings.check_kind(study.kind)
    use = FmuUse(study.kind, study.validate, TIMEOUT if study.timeout is None else study.timeout)
    return fmu_subject(
        Path(model), names, wanted, study.step, study.tolerance, study.values or {}, stop, interval, inputs, use
    )


def _fingerprint(
    subject: Subject,
    measures: Sequence[Measure],
    stop: float,
    interval: float | None,
    courses: Mapping[str, Course],
) -> str:
    inputs = {name: item.identity for name, item in courses.items()}
    facts = [subject.fingerprint(), [(m.label, m.function, m.name) for m in measures], stop, interval, inputs]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:12]

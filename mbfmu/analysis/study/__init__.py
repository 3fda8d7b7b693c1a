"""Study: many runs of one model or FMU with different values, on the cores of this machine or on a Dask cluster."""

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mbfmu.analysis.study.cluster import run
from mbfmu.analysis.study.measures import Measure, measure
from mbfmu.analysis.study.points import grid, points
from mbfmu.analysis.study.subjects import Study, Subject, fmu_subject, model_subject, refuse_structure
from mbfmu.analysis.study.table import Row, Table
from mbfmu.analysis.study.together import WORTH
from mbfmu.base import extras
from mbfmu.base.arguments import checked
from mbfmu.errors import UsageError
from mbfmu.model import Model
from mbfmu.model.library import is_fmu, model_of
from mbfmu.run.fmu import TIMEOUT
from mbfmu.run.inputs import Course, InputValue, courses, formulas
from mbfmu.run.model import Progress
from mbfmu.stepper import Choice

__all__ = ["Row", "grid", "refuse_structure", "sweep"]


@checked
def sweep(
    model: Model | str | os.PathLike[str],
    stop: float,
    *,
    measures: Mapping[str, str],
    vary: Mapping[str, Sequence[float | bool]] | None = None,
    sample: int = 0,
    distributions: Mapping[str, str] | None = None,
    seed: int = 0,
    stepper: str | Choice | None = None,
    options: Mapping[str, Any] | None = None,
    step: float | None = None,
    tolerance: float | None = None,
    output_interval: float | None = None,
    values: Mapping[str, Any] | None = None,
    inputs: Mapping[str, InputValue] | None = None,
    input_hold: bool = False,
    coordinates: str | None = None,
    output: str | os.PathLike[str] | None = None,
    again: bool = False,
    timeout: float | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[Row]:
    """Run a mechanism or an FMU with every combination of values, on many cores; every point gives a row.

    Args:
        model: a model, a name in models/, the path of a model file, or the path of an .fmu file.
        stop: end of each run, s.
        measures: numbers that a run is reduced to: by label, ``max(NAME)``, or min, last, mean, rms, ptp of an output.
        vary: values by name of a parameter or start value, in SI units, True or False; every combination is run.
        sample: number of random samples of each combination.
        distributions: distributions by name, ``normal(mean,sd)`` or ``uniform(a,b)``.
        seed: seed of the samples.
        stepper: see `simulate`.
        options: see `simulate`.
        step: see `simulate`, s.
        tolerance: see `simulate`.
        output_interval: time between the values that measures are computed from, s; see `simulate`.
        values: values that all runs share.
        inputs: see `simulate`; they are the same in all runs.
        input_hold: see `simulate`.
        coordinates: see `simulate`.
        output: a .csv or .parquet file: its rows are not run again, and new rows are added as they are done.
        again: whether failed rows of the file are run again.
        timeout: seconds after which an .fmu that does not answer is ended, which fails its row; None: 60.
        scheduler: address of a Dask scheduler, such as ``tcp://host:8786``; None: processes on this machine.
        workers: number of processes (not with a scheduler); None: one for each core.
        progress: called with the fraction done.

    A script that calls this needs ``if __name__ == "__main__":``, as every worker process imports it.

    Raises:
        UsageError: an argument is invalid, or Dask is not installed.
        UnknownNameError: there is no such parameter, output or input.
        MbfmuError: the model is invalid, or the file cannot be written. A run that fails is a row, not an error.
    """
    try:
        import distributed  # noqa: F401 - if it is missing, say so before anything is prepared
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise UsageError(f"a sweep needs {error.name}: {extras.command('sweep')}") from None
    if not (math.isfinite(stop) and stop > 0):
        raise UsageError(f"the stop time is {stop} s; it must be a positive number")
    if scheduler and workers:
        raise UsageError("a scheduler has its own workers: give --workers or --scheduler")
    if workers is not None and workers < 1:
        raise UsageError(f"there must be at least 1 worker, not {workers}")
    if not measures:
        raise UsageError("nothing is measured: give --measure LABEL=max(NAME)")
    wanted = [measure(label, text) for label, text in measures.items()]
    names, todo = points(vary or {}, sample, distributions or {}, seed)
    if taken := {*names} & {item.label for item in wanted}:
        raise UsageError(f"'{min(taken)}' is varied: take another label for the measure")
    given = courses(inputs, input_hold)
    subject: Subject
    if isinstance(model, Model) or not is_fmu(model):
        if timeout is not None:
            raise UsageError("--timeout is for an .fmu")
        choices = {
            "stepper": stepper,
            "options": dict(options or {}),
            "step": 1e-3 if step is None else step,
            "tolerance": tolerance or 0.0,
            "coordinates": coordinates,
            "formulas": formulas(given),
        }
        system = model_of(model, values)
        subject = model_subject(system, names, wanted, choices, todo[0], stop, output_interval, given)
    else:
        if stepper or options or coordinates:
            raise UsageError(f"'{model}' has its stepper inside: --stepper, --option and --coordinates go with export")
        if not (timeout is None or timeout > 0):
            raise UsageError(f"the timeout is {timeout} s; it must be a positive number")
        subject = fmu_subject(
            Path(model), names, wanted, step, tolerance, values or {}, stop, output_interval, given,
            TIMEOUT if timeout is None else timeout,
        )  # fmt: skip
    labels = tuple(item.label for item in wanted)
    table = None
    if output is not None:
        table = Table(Path(output), names, labels, _fingerprint(subject, wanted, stop, output_interval, given))
    found = table.read() if table else {}
    if again:
        found = {point: row for point, row in found.items() if not row.failure}
    rows = run(
        Study(subject, wanted, len(todo) >= WORTH), names, list(dict.fromkeys(todo)), found, table, scheduler, workers,
        progress or (lambda _: None),
    )  # fmt: skip
    return [rows[point] for point in todo]


def _fingerprint(
    subject: Subject,
    measures: Sequence[Measure],
    stop: float,
    interval: float | None,
    given: Mapping[str, Course],
) -> str:
    inputs = {name: item.identity for name, item in given.items()}
    told = [subject.fingerprint(), [(m.label, m.function, m.name) for m in measures], stop, interval, inputs]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:12]

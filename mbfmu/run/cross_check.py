"""The files that the FMI Cross-Check asks of an FMU: the FMU, its inputs, a reference solution and its options.

Source: Modelica Association, FMI Cross-Check Rules 4.1, sections 9.1.4, 9.1.5 and 10, in the repository
modelica/fmi-cross-check.
"""

import csv
import io
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import fmpy
import numpy as np
import numpy.typing as npt

import mbfmu
from mbfmu.base.described import Described, takes
from mbfmu.base.files import refuse_existing, write_folder
from mbfmu.base.result import roles
from mbfmu.errors import FmuError, UsageError
from mbfmu.kernel.limits import CLOSE
from mbfmu.prepared import settings
from mbfmu.prepared.settings import InputValue
from mbfmu.run.fmu import TIMEOUT, FmuRun, fmu_run, read_fmu, start_value, unit_of, worded
from mbfmu.run.fmu_process import run_apart
from mbfmu.run.inputs import Constant, Course, InputTable, Switched, courses, pieces
from mbfmu.run.model import POINTS, Progress
from mbfmu.run.related_files import NAME, VERSION, Related, with_related

Array = npt.NDArray[np.float64]

MOST_BYTES = 1_000_000
"""Largest size of a table by the rules, section 10."""
MOST_VARIABLES = 10
"""Largest number of variables of a reference solution that the rules recommend, section 9.1.4."""
TOLERANCE = 1e-4
"""Relative tolerance for comparisons where the FMU names none."""
ROUND_OFF = "constraint."
"""Beginning of the names of residuals, which are round-off: another master has other ones."""
FOLLOWED = "Real"
"""Type of the inputs that follow lines; those of other types hold each value until the next."""


@dataclass(frozen=True)
class CrossCheck:
    """A set of files that was written.

    Args:
        model: name of the model, with which the names of the files begin.
        files: paths of the files.
        start: begin of the run, s.
        stop: end of the run, s.
        step: time between two communication points, s.
        tolerance: relative tolerance.
        interval: time between two rows of the reference solution, s.
        rows: number of rows of the reference solution.
        variables: names of its variables.
        inputs: names of the inputs of the table of inputs; empty if there is none.
        notices: facts that deserve attention, a sentence each.
    """

    model: str
    files: tuple[Path, ...]
    start: float
    stop: float
    step: float
    tolerance: float
    interval: float
    rows: int
    variables: tuple[str, ...]
    inputs: tuple[str, ...]
    notices: tuple[str, ...]


@dataclass(frozen=True)
class CrossCheckArguments:
    """The arguments of `write_cross_check`."""

    fmu: Annotated[Path, Described("path of the .fmu file")]
    folder: Annotated[Path, Described("folder to make; it may be there if it is empty")]
    _: KW_ONLY
    stop: Annotated[float | None, Described("end of the run, s; None: that of the DefaultExperiment")] = None
    step: Annotated[
        float | None,
        Described(
            "time between two communication points, s; None: the step of the DefaultExperiment, else a 500th of the run"
        ),
    ] = None
    inputs: Annotated[
        Mapping[str, InputValue] | None, Described("see `mbfmu.simulate`; the others keep their start values")
    ] = None
    input_hold: Annotated[bool, settings.INPUT_HOLD] = False
    show: Annotated[
        Sequence[str],
        Described("names or patterns of the variables of the reference solution; empty: the outputs, at most ten"),
    ] = ()
    start: Annotated[float | None, Described("begin of the run, s; None: that of the DefaultExperiment")] = None
    timeout: Annotated[float | None, settings.TIMEOUT] = None
    inside: Annotated[
        bool, Described("whether the FMU of the set has the other files inside, with their roles (see `related_files`)")
    ] = False
    progress: Annotated[Progress, settings.PROGRESS] = lambda _: None


@takes(CrossCheckArguments)
def write_cross_check(check: CrossCheckArguments) -> CrossCheck:
    """Run an FMU for co-simulation and write its set of cross-check files, all of them or none.

    The inputs are sampled first; the reference solution is the run with these samples, so that it is met again by a
    master that reads the table of inputs.

    Raises:
        UsageError, UnknownNameError: an argument is invalid, the folder is in use, or a table would be too large.
        FmuError, StepError: the FMU is of another kind, cannot be run, or a step failed.
        MbfmuError: the files cannot be written.
    """
    # what can be refused before anything runs
    refuse_existing(check.folder)
    description = read_fmu(check.fmu)
    if description.coSimulation is None:
        raise FmuError(f"'{check.fmu}' is for model exchange only: have its tool export it for co-simulation")
    if not (check.timeout is None or check.timeout > 0):
        raise UsageError(f"the timeout is {check.timeout} s; it must be a positive number")
    content = check.fmu.read_bytes()
    # the run that is requested, and the samples of its inputs
    run_requested = _asked(
        check.fmu,
        description,
        check.start,
        check.stop,
        check.step,
        _numbers(description, check.inputs or {}, check.input_hold),
        check.show,
    )
    samples = _samples(_driven(run_requested), run_requested.points, run_requested.own)
    shown, notices = _shown(run_requested)
    model, variables = check.fmu.stem, {item.name: item for item in description.modelVariables}
    tables = {f"{model}_in.csv": _table(samples, variables)} if len(samples) > 1 else {}
    _refuse_large(tables)
    # the reference solution: the run with these samples
    inputs = {
        name: InputTable(name, samples["time"], column, variables[name].type != FOLLOWED)
        for name, column in samples.items()
        if name != "time"
    }
    values = {name: start_value(variables[name], item.at(run_requested.plan.start)) for name, item in inputs.items()}
    run = replace(run_requested, given=inputs, values={**run_requested.values, **values}, shown=shown, chosen=())
    result = run_apart(run, TIMEOUT if check.timeout is None else check.timeout, check.progress)
    # about POINTS rows of it, all finite
    every = max(1, round((len(result.time) - 1) / POINTS))
    kept = [*range(0, len(result.time) - 1, every), len(result.time) - 1]
    reference = {"time": result.time[kept], **{name: result[name][kept] for name in shown}}
    for name, column in reference.items():
        if not np.isfinite(column).all():
            raise FmuError(f"'{check.fmu}': {name} is not finite at times: leave it out of --show")
    tables = {f"{model}_ref.csv": _table(reference, variables), **tables}
    _refuse_large(tables)
    # the files: options, a text, and the FMU, which may hold them inside
    options = {
        "StartTime": run_requested.plan.start,
        "StopTime": run_requested.plan.stop,
        "StepSize": run_requested.own,
        "RelTol": _tolerance(description),
        "OutputIntervalLength": float(f"{every * run_requested.own:.15g}"),
    }
    tables[f"{model}_ref.opt"] = "".join(f"{name}, {value!r}\n" for name, value in options.items()).encode("utf-8")
    text = _read_me(check.fmu, description, options, shown, tuple(inputs), check.inside)
    if check.inside:
        content = with_related(content, [_related(name, item) for name, item in tables.items()], text)
    files = {f"{model}.fmu": content, **tables, "ReadMe.txt": text.encode("utf-8")}
    return CrossCheck(
        model,
        write_folder(check.folder, files),
        start=options["StartTime"],
        stop=options["StopTime"],
        step=options["StepSize"],
        tolerance=options["RelTol"],
        interval=options["OutputIntervalLength"],
        rows=len(kept),
        variables=shown,
        inputs=tuple(inputs),
        notices=(*notices, *result.notices),
    )


def _numbers(description: Any, inputs: Mapping[str, InputValue], hold: bool) -> dict[str, Course]:
    """Return the courses of the inputs.

    Raises:
        UsageError: an input is invalid, or a text, which a table of inputs cannot hold.
    """
    texts, rest = worded(description, inputs)
    for name in texts:
        raise UsageError(
            f"input {name} is a text, and a cross-check table holds only numbers: leave it at its start value"
        )
    return courses(rest, hold)


def _asked(
    fmu: Path,
    description: Any,
    start: float | None,
    stop: float | None,
    step: float | None,
    inputs: Mapping[str, Course],
    show: Sequence[str],
) -> FmuRun:
    """Return the requested run, with the FMU's own span and step where none are given.

    Raises:
        UsageError, UnknownNameError: an argument is invalid.
    """
    experiment = description.defaultExperiment
    default = {name: float(getattr(experiment, name, None) or 0.0) for name in ("startTime", "stopTime", "stepSize")}
    if stop is None and not default["stopTime"]:
        raise UsageError(f"'{fmu}' has no default stop time: --stop gives one")
    last = default["stopTime"] if stop is None else stop
    span = last - (default["startTime"] if start is None else start)
    if step is None:
        step = default["stepSize"] if 0.0 < default["stepSize"] < math.inf else span / POINTS
    if span > 0.0 and not 0.0 < step <= span * (1 + CLOSE):
        raise UsageError(f"the step is {step} s; it must be positive and not longer than the run, {span:g} s")
    step = min(step, span) if span > 0.0 else step
    return replace(fmu_run(fmu, description, last, None, None, step, {}, inputs, show, start), own=step)


def _driven(run: FmuRun) -> dict[str, Course]:
    """Return the courses of all inputs that are numbers; those not given keep their start values."""
    return {
        item.name: run.given.get(item.name)
        or Constant(item.name, float(start_value(item, run.values.get(item.name, item.start or 0.0))))
        for item in run.description.modelVariables
        if item.causality == "input" and item.name in run.shown
    }


def _samples(driven: Mapping[str, Course], points: Array, step: float) -> dict[str, Array]:
    """Return time and inputs as columns that are followed by lines; two rows with one time are a jump.

    Args:
        driven: the inputs.
        points: communication points, s, shape (n_t,); curves are sampled there.
        step: s.
    """
    coarse = points if any(item.curved for item in driven.values()) else points[[0, -1]]
    times = [float(points[0])]
    for begin, end in pairwise(coarse.tolist()):
        times += pieces(driven.values(), begin, end, step, divide=False)[1:]
    spans = np.diff(times)
    after, before = [], []
    jumps = np.zeros(len(times), dtype=bool)
    for item in driven.values():
        values, rates = item.lines(times)
        column = np.array([*values, item.at(times[-1])])
        arrived = column.copy()
        if isinstance(item, Switched) or (isinstance(item, InputTable) and item.jumps):
            arrived[1:] = np.array(values) + np.array(rates) * spans
            jumps |= ~np.isclose(arrived, column, rtol=CLOSE, atol=0.0)
        after.append(column)
        before.append(arrived)
    rows = np.concatenate([np.flatnonzero(jumps), np.arange(len(times))])
    order = np.lexsort((np.arange(len(rows)), rows))  # of two rows with one time, the one before the jump comes first
    first = order < np.count_nonzero(jumps)
    columns = {"time": np.array(times), **dict(zip(driven, after, strict=True))}
    left = {"time": np.array(times), **dict(zip(driven, before, strict=True))}
    return {name: np.where(first, left[name][rows[order]], columns[name][rows[order]]) for name in columns}


def _shown(run: FmuRun) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the variables of the reference solution, and notices on the choice.

    Raises:
        UsageError: there is nothing to show.
    """
    if run.chosen:
        return run.chosen, ()
    variables = {item.name: item for item in run.description.modelVariables}
    outputs = tuple(
        name for name in run.shown if variables[name].causality == "output" and not name.startswith(ROUND_OFF)
    )
    if not outputs:
        raise UsageError(f"'{run.path}' has no output that is a number: choose variables with --show")
    if len(outputs) <= MOST_VARIABLES:
        return outputs, ()
    roles_of_outputs = roles(
        (name, "output", unit_of(variables[name]), (item := variables[name].derivative) and item.name)
        for name in outputs
    )
    first = list(dict.fromkeys([*roles_of_outputs.motions, *roles_of_outputs.measured, *outputs]))[:MOST_VARIABLES]
    return tuple(name for name in outputs if name in first), (
        f"the reference has {MOST_VARIABLES} of {len(outputs)} outputs, as the rules recommend: "
        "choose by --show NAME,...",
    )


def _table(columns: Mapping[str, Array], variables: Mapping[str, Any]) -> bytes:
    """Return columns as CSV by section 10: quoted names, numbers as in C, whole numbers and truth values as such."""
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow(columns)
    cells = [
        column.tolist() if name == "time" or variables[name].type == FOLLOWED else [int(value) for value in column]
        for name, column in columns.items()
    ]
    writer.writerows(zip(*cells, strict=True))
    return text.getvalue().encode("utf-8")


def _refuse_large(tables: Mapping[str, bytes]) -> None:
    """Raise an error if a table is larger than the rules allow.

    Raises:
        UsageError: one is.
    """
    for name, text in tables.items():
        if len(text) > MOST_BYTES:
            raise UsageError(
                f"{name} would have {len(text) / 1e6:.1f} MB, and the rules allow 1 MB: take fewer variables by "
                "--show, or a longer --step"
            )


def _tolerance(description: Any) -> float:
    """Return the relative tolerance that an FMU is initialised with."""
    experiment = description.defaultExperiment
    stated = float(experiment.tolerance or 0.0) if experiment is not None else 0.0
    return stated if 0.0 < stated < math.inf else TOLERANCE


ROLES = {
    "_ref.csv": ("text/csv", "result", "the reference solution; a row holds the inputs that act from its time on"),
    "_in.csv": (
        "text/csv", "testcase",
        "the inputs; lines between rows for Real, else held; two rows with one time are a jump",
    ),
    "_ref.opt": (
        "text/plain", "configuration",
        "the span, the communication step and the spacing of the rows of the reference solution, s",
    ),
}  # fmt: skip
"""MIME type, role by FMI-LS-REF and description of the files of a set, by the end of their names."""


def _ending(name: str) -> str:
    """Return the end of the name of a file of a set, after that of the model."""
    return next(ending for ending in ROLES if name.endswith(ending))


def _related(name: str, content: bytes) -> Related:
    """Return a file of a set as one on the FMU."""
    return Related(name, *ROLES[_ending(name)], content)


def _read_me(
    fmu: Path, description: Any, options: Mapping[str, float], shown: Sequence[str], inputs: Sequence[str], inside: bool
) -> str:
    """Return the text that says what the files are, how they were made and how they are made again."""
    model = fmu.stem
    platforms = ", ".join(fmpy.supported_platforms(str(fmu))) or "none"
    span = f"--start {options['StartTime']!r} --stop {options['StopTime']!r} --step {options['StepSize']!r}"
    input_options = [f"--input {shlex.quote(f'{name}={model}_in.csv')}" for name in inputs]
    command = ["mbfmu compat", shlex.quote(f"{model}.fmu"), "-o again", span, *input_options, *["--inside"] * inside]
    whole = f"the FMU, with the other files inside by {NAME} {VERSION}" if inside else "the FMU, unchanged"
    files = {f"{model}.fmu": whole, **{model + ending: text for ending, (*_, text) in ROLES.items()}}
    if not inputs:
        del files[f"{model}_in.csv"]
    return "\n".join(
        [
            f"Cross-check of {model}, by the FMI Cross-Check Rules 4.1",
            "",
            f"FMI {description.fmiVersion} for co-simulation (fmus/{description.fmiVersion}/cs)",
            f"Platforms: {platforms}",
            f"Exported by: {description.generationTool or 'a tool that the FMU does not name'}",
            f"Reference solution by: mbfmu {mbfmu.__version__} as master, with parameters at their start values",
            "",
            *(f"{name}: {meaning}" for name, meaning in files.items()),
            "",
            "The same files again:",
            f"  {' '.join([*command, '--show', shlex.quote(','.join(shown))])}",
            "",
        ]
    )

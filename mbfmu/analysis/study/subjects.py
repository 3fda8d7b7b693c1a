"""Subjects of a study: a model with its stepper, or an FMU, as plain data that is sent to the workers.

A worker prepares a subject once, as a runner, and makes all its runs with this runner.
"""

import hashlib
import json
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from mbfmu.analysis.study.measures import ERROR, Measure
from mbfmu.analysis.study.points import Point
from mbfmu.analysis.study.table import Row
from mbfmu.analysis.study.together import LEAST, Together
from mbfmu.base.result import Result
from mbfmu.errors import MbfmuError, UnknownNameError, UsageError, nearest
from mbfmu.fmi.plan import VALUES
from mbfmu.fmu.interface import STEP, TOLERANCE
from mbfmu.kernel import describe
from mbfmu.kernel.build.toolchain import BuildError
from mbfmu.model import Model
from mbfmu.model.library import load
from mbfmu.prepared.outline import Outline
from mbfmu.prepared.prepare import Prepared, prepare
from mbfmu.run.drives import Drives
from mbfmu.run.fmu import TIMEOUT, FmuRun, fmu_run, read_fmu
from mbfmu.run.fmu_process import FmuProcess
from mbfmu.run.inputs import Course
from mbfmu.run.model import check_length, communication_points, run_prepared

Run = Callable[[Mapping[str, float]], Result]
Array = npt.NDArray[np.float64]


class Columns(NamedTuple):
    """Variables of many runs.

    Args:
        time: output points, s, shape (points,).
        values: shape (runs, points, names).
        made: whether each run was made, shape (runs,); the others tell alone why not.
    """

    time: Array
    values: Array
    made: npt.NDArray[np.bool_]


RunMany = Callable[[Sequence[Mapping[str, float]], Sequence[str]], Columns]
"""Function (values of each run, names of variables) -> these variables."""


class Subject(Protocol):
    """The subject of a study: data that is sent to the workers."""

    def open(self) -> Run:
        """Return a runner, which prepares once what all runs share, for one thread."""

    def open_many(self) -> RunMany | None:
        """Return a runner of many runs at a time; None where runs must go one by one."""

    def compile(self, together: bool) -> None:
        """Compile the subject once, so that the processes of this machine find it in the cache.

        Args:
            together: whether runs are to go together where they can.
        """

    def fingerprint(self) -> str:
        """Return a text that identifies the runs: it differs for subjects with different results.

        Of inputs over time it has only the values of functions, as the runs take them.
        """


@dataclass(frozen=True)
class ModelSubject:
    """A model with its stepper; every name in `names` is a parameter or start value of its equations."""

    system: Model
    names: tuple[str, ...]
    choices: Mapping[str, Any]
    stop: float
    interval: float | None
    given: Mapping[str, Course]

    def prepared(self) -> Prepared:
        """Return the model with its stepper."""
        return prepare(self.system, **self.choices)

    def open(self) -> Run:
        """Return a runner with a kernel of its own."""
        prepared = self.prepared()

        def run(values: Mapping[str, float]) -> Result:
            s, p = self._numbers(prepared.outline, values)
            return run_prepared(prepared, self.stop, self.interval, self.given, s=s, p=p)

        return run

    def _numbers(self, outline: Outline, values: Mapping[str, float]) -> tuple[Any, Any]:
        """Return the start values and the parameters of a run.

        Raises:
            MbfmuError: a value is out of its bounds.
        """
        self.system.with_values(values)
        p_names = [item.name for item in outline.parameters]
        s_names = [item.name for item in outline.starts]
        p, s = outline.p_default(), outline.s_default()
        for name, value in values.items():
            if name in p_names:
                p[p_names.index(name)] = value
            else:
                s[s_names.index(name)] = value
        return s, p

    def open_many(self) -> RunMany | None:
        """Return a runner of many runs at a time, in lanes; None where runs must go one by one."""
        prepared = self.prepared()
        if prepared.tolerance or prepared.outline.guards:  # which no lanes take: nothing has to be compiled to see it
            return None
        try:
            library = prepared.many
        except BuildError:  # one by one they may have another compiler
            return None
        together = library and Together(prepared, library, self.stop, self.interval, self.given)
        if not together or not together.possible:
            return None

        def run(values: Sequence[Mapping[str, float]], names: Sequence[str]) -> Columns:
            numbers = []
            fitting = np.ones(len(values), dtype=np.bool_)
            for k, each in enumerate(values):
                try:
                    numbers.append(self._numbers(prepared.outline, each))
                except MbfmuError:
                    fitting[k] = False
            measured = np.full((len(values), len(together.points), len(names)), np.nan)
            if numbers:
                s, p = (
                    np.array(item, dtype=np.float64).reshape(len(numbers), -1) for item in zip(*numbers, strict=True)
                )
                measured[fitting], fitting[fitting] = together.run(s, p, names)
            return Columns(together.points, measured, fitting)

        return run

    def compile(self, together: bool) -> None:
        """Compile the kernel."""
        self.prepared().kernel  # noqa: B018 - the property makes the kernel
        if together:
            self.open_many()

    def fingerprint(self) -> str:
        """Return the functions, fixed numbers and steps as text."""
        prepared = self.prepared()
        outline = prepared.outline
        numbers = {item.name: item.value for item in (*outline.parameters, *outline.starts)}
        fixed = {name: value for name, value in numbers.items() if name not in self.names}
        held = {item.name: item.start for item in outline.inputs if item.name not in self.given}
        points = communication_points(self.stop, prepared.step, self.interval)
        drives = Drives(outline, self.given, points, prepared.step)
        lines = ([*u, *du] for k in range(len(points) - 1) for _, _, u, du in drives.between(k))
        followed = _hash_of(lines) if _functions(self.given) else ""
        return json.dumps([describe(prepared.bundle), fixed, held, prepared.step, prepared.tolerance, followed])


@dataclass(frozen=True)
class FmuUse:
    """The way in which an .fmu file is read and run.

    Args:
        kind: ``cs`` or ``me``; None: co-simulation if it has both.
        validate: whether a description that breaks the XML schema is an error.
        timeout: seconds after which a run that does not answer is ended.
    """

    kind: str | None = None
    validate: bool = True
    timeout: float = TIMEOUT

    def read(self, path: Path, content: bytes | None = None) -> Any:
        """Return FMPy's model description of a file; content: its bytes if they are known."""
        return read_fmu(path, content, kind=self.kind, validate=self.validate)


CHOSEN = FmuUse()
"""The use that an FMU has by default."""


@dataclass(frozen=True)
class FmuSubject:
    """An .fmu file."""

    path: str
    content: bytes
    step: float | None
    tolerance: float | None
    values: Mapping[str, float]
    stop: float
    interval: float | None
    given: Mapping[str, Course]
    use: FmuUse = CHOSEN

    def open(self) -> Run:
        """Return a runner with a process of its own, in which one instance makes all runs."""
        return _Runner(self).run

    def asked(self, description: Any, values: Mapping[str, float]) -> FmuRun:
        """Return a run with some values, given FMPy's model description.

        Raises:
            UsageError: there is no such run.
        """
        return fmu_run(
            Path(self.path), description, self.stop, self.step, self.tolerance, self.interval,
            {**self.values, **values}, self.given,
        )  # fmt: skip

    def open_many(self) -> RunMany:
        """Return a runner with a process of its own, which one instance makes the runs of a task in."""
        return _Runner(self).run_many

    def compile(self, together: bool) -> None:
        """Do nothing, as an FMU is compiled already."""

    def fingerprint(self) -> str:
        """Return the file and the fixed values as text."""
        content = hashlib.sha256(self.content).hexdigest()
        followed = ""
        if _functions(self.given):
            followed = _hash_of(self.asked(self.use.read(Path(self.path), self.content), {}).rows())
        kind = [self.use.kind] if self.use.kind else []
        return json.dumps([content, self.step, self.tolerance, dict(self.values), followed, *kind])


def _functions(inputs: Mapping[str, Course]) -> bool:
    """Return whether some inputs are functions, of which nothing but values is known."""
    return any(item.identity is None for item in inputs.values())


def _hash_of(rows: Iterable[Sequence[float]]) -> str:
    digest = hashlib.sha256()
    for row in rows:
        digest.update(np.array(row, dtype=np.float64).tobytes())
    return digest.hexdigest()


class _Runner:
    """The runs of an FMU in a process of its own, which ends with this object."""

    def __init__(self, subject: FmuSubject) -> None:
        path = Path(subject.path)
        self._subject = subject
        self._process = FmuProcess(path, subject.content, subject.use.timeout)
        weakref.finalize(self, self._process.close)
        self._description = subject.use.read(path, subject.content)

    def run(self, values: Mapping[str, float]) -> Result:
        """Return the result of one run."""
        return self._process.run(self._subject.asked(self._description, values), last=False)

    def run_many(self, values: Sequence[Mapping[str, float]], names: Sequence[str]) -> Columns:
        """Return variables of many runs; those whose steps are not those of the first are not made."""
        made = np.zeros(len(values), dtype=np.bool_)
        runs: list[tuple[int, FmuRun]] = []
        for k, each in enumerate(values):
            with suppress(MbfmuError):  # alone it tells what is wrong
                run = self._subject.asked(self._description, each)
                if not runs or (np.array_equal(run.points, runs[0][1].points) and run.own == runs[0][1].own):
                    runs.append((k, run))
        if not runs:
            return Columns(np.empty(0), np.empty((len(values), 0, len(names))), made)
        (_, first), *_ = runs
        found = self._process.run_many(first, [run.values for _, run in runs], names)
        measured = np.full((len(values), len(first.points), len(names)), np.nan)
        indices = [k for k, _ in runs[: len(found)]]
        measured[indices], made[indices] = found, True
        return Columns(first.points, measured, made)


class Study:
    """A subject on a worker: it is sent without its runners, and prepares one for each thread that needs one.

    Args:
        subject: the subject.
        measures: what its runs are reduced to.
        together: whether runs go together where they can: another kernel has to be compiled for it.
    """

    def __init__(self, subject: Subject, measures: Sequence[Measure], together: bool = False) -> None:
        self.subject, self.measures, self.together = subject, measures, together
        self._idle: list[Run] = []
        self._many: list[RunMany | None] = []

    def __reduce__(self) -> Any:
        return Study, (self.subject, self.measures, self.together)

    def compile(self) -> None:
        """Compile the subject for the processes of this machine."""
        self.subject.compile(self.together)

    def rows(self, values: Sequence[Mapping[str, float]]) -> list[Row]:
        """Return the rows of some runs, made together if they can be; each is to the bit as alone."""
        alone = any(item.function == ERROR for item in self.measures)  # lanes estimate no error
        if alone or not self.together or len(values) < LEAST:
            return [self.row(item) for item in values]
        try:
            run = self._many.pop() if self._many else self.subject.open_many()
        except MbfmuError:
            run = None
        rows_known: dict[int, Row] = {}
        if run is not None:
            columns = run(values, [item.name for item in self.measures])
            for k in np.flatnonzero(columns.made).tolist():
                with suppress(MbfmuError):  # a measure that is not finite: alone it becomes the row's failure
                    pairs = zip(self.measures, columns.values[k].T, strict=True)
                    measured = {item.label: item.value(columns.time, column) for item, column in pairs}
                    rows_known[k] = Row(dict(values[k]), measured)
        self._many.append(run)
        return [rows_known[k] if k in rows_known else self.row(item) for k, item in enumerate(values)]

    def row(self, values: Mapping[str, float]) -> Row:
        """Return the row of one run; an error in the run becomes the row's failure."""
        try:
            run = self._idle.pop() if self._idle else self.subject.open()
            try:
                result = run(values)
            finally:
                self._idle.append(run)
            return Row(dict(values), {item.label: item.of(result) for item in self.measures})
        except MbfmuError as error:
            return Row(dict(values), {}, " ".join(str(error).split()))
        except Exception as error:  # noqa: BLE001 - one run must not end the study
            return Row(dict(values), {}, " ".join(f"{type(error).__name__}: {error}".split()))


def model_subject(
    system: Model,
    names: tuple[str, ...],
    measures: Sequence[Measure],
    choices: Mapping[str, Any],
    first: Point,
    stop: float,
    interval: float | None,
    given: Mapping[str, Course],
) -> ModelSubject:
    """Return a model as the subject of a study.

    Raises:
        UnknownNameError: a name or an output does not exist.
        UsageError: a name is an input, or structural: it changes the equations; or there are no such output points.
    """
    known = system.values()
    for name in names:
        if name not in known and _is_input(system, name):
            raise UsageError(
                f"'{name}' of '{system.name}' is an input, the same in all runs: make one sweep for each value, with "
                f"--input {name}=VALUE"
            )
        if name not in known:
            raise UnknownNameError(f"'{system.name}' has no parameter or start value '{name}'; {nearest(name, known)}")
    outline = prepare(system, **choices).outline
    free = outline.settable
    missing = {name: value for name, value in zip(names, first, strict=True) if name not in free}
    # an expression, a guess, or a start value left out becomes a symbol of the equations by a number as its value
    if missing:
        outline = prepare(system.with_values(missing), **choices).outline
        free = outline.settable
    for name in names:
        if name not in free:
            raise _structural(name, system.name)
    shown = [item.name for item in (*outline.inputs, *outline.outputs)]
    _check(measures, given, shown, [item.name for item in outline.inputs], system.name)
    check_length(communication_points(stop, choices["step"], interval), choices["step"])
    return ModelSubject(system.with_values(missing), names, choices, stop, interval, given)


def fmu_subject(
    path: Path,
    names: tuple[str, ...],
    measures: Sequence[Measure],
    step: float | None,
    tolerance: float | None,
    values: Mapping[str, float],
    stop: float,
    interval: float | None,
    given: Mapping[str, Course],
    use: FmuUse = CHOSEN,
) -> FmuSubject:
    """Return an .fmu file as the subject of a study.

    Raises:
        FmuError: FMPy cannot read it.
        UnknownNameError: a name or an output does not exist.
        UsageError: a name cannot be set, or is given for all runs too; or there is no such run.
    """
    description = use.read(path)
    variables = {item.name: item for item in description.modelVariables}
    for name in [*names, *values]:
        if name not in variables:
            raise UnknownNameError(f"'{path}' has no variable '{name}'; {nearest(name, variables)}")
        item = variables[name]
        settable = item.causality in {"parameter", "input"} or item.initial in {"exact", "approx"}
        if not settable or item.variability == "constant":
            raise UsageError(f"'{name}' of '{path}' is calculated: vary parameters, start values or inputs")
    for name, value in ((STEP, step), (TOLERANCE, tolerance)):
        solved = name == TOLERANCE and description.coSimulation is None  # the tolerance of the solver outside
        if value is not None and name not in variables and not solved:
            raise UsageError(f"'{path}' has no parameter {name}")
        if value is not None and name in names:
            raise UsageError(f"'{name}' is varied, and a value for all runs is given: leave one of them out")
    if both := {*names} & given.keys():
        raise UsageError(f"'{min(both)}' is varied and an input of all runs: give it to one of --vary and --input")
    kinds = {"input", "output", "local"}
    shown = [name for name, item in variables.items() if item.causality in kinds and item.type in VALUES]
    inputs = [name for name, item in variables.items() if item.causality == "input"]
    _check(measures, given, shown, inputs, str(path))
    subject = FmuSubject(str(path), path.read_bytes(), step, tolerance, dict(values), stop, interval, given, use)
    subject.asked(description, {})  # what no run can do is refused here, not in every row
    return subject


def refuse_structure(source: str, values: Mapping[str, float], names: Mapping[str, float]) -> None:
    """Raise an error if one of the names to vary is structural: an argument of a model file's function.

    Args:
        source: source of the model, as `load` takes it.
        values: further values of the model.
        names: the names, with a value of each.

    Raises:
        UsageError: one of the names is structural.
    """
    model = load(source, values)
    for name, value in names.items():
        if name in model.values() or _is_input(model, name):
            continue  # an input is refused later
        try:
            load(source, {**values, name: value})
        except UnknownNameError:
            continue  # a name that does not exist is reported later, with the nearest one
        except MbfmuError:
            pass
        raise _structural(name, source)


def _is_input(model: Model, name: str) -> bool:
    """Return whether a name that is of no parameter or start value is that of an input."""
    try:
        model.with_values({name: 0.0})
    except UnknownNameError:
        return False
    return True


def _structural(name: str, model: str) -> UsageError:
    return UsageError(
        f"'{name}' of '{model}' is structural: it changes the equations; make one sweep for each value, with --set "
        f"{name}=VALUE"
    )


def _check(
    measures: Sequence[Measure],
    inputs_driven: Mapping[str, Course],
    shown: Sequence[str],
    inputs: Sequence[str],
    model: str,
) -> None:
    for item in measures:
        if item.function != ERROR and item.name not in shown:
            raise UnknownNameError(f"'{model}' has no output '{item.name}'; {nearest(item.name, shown)}")
    for name in inputs_driven:
        if name not in inputs:
            raise UnknownNameError(f"'{model}' has no input '{name}'; {nearest(name, inputs)}")

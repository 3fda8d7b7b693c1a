"""Simulation: run a mechanism with its own kernel, or an .fmu through FMPy."""

import itertools
import math
import os
import time as clock
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mbfmu.arguments import checked
from mbfmu.dae.energy import STORED
from mbfmu.dae.energy import Constant as ConstantEnergy
from mbfmu.errors import (
    FmuError,
    MbfmuError,
    ResultWarning,
    StartError,
    StepError,
    UnknownNameError,
    UsageError,
    nearest,
)
from mbfmu.fmu.interface import STEP, TOLERANCE
from mbfmu.inputs import Constant, Course, Formula, InputValue, Table, courses, formulas, pieces
from mbfmu.kernel import Status, vector
from mbfmu.kernel.runtime import CLOSE, OK, UNFINISHED, Energy, count
from mbfmu.model import Model, RotationalMove, TranslationalMove
from mbfmu.model.library import is_fmu, model_of
from mbfmu.prepared.outline import Outline
from mbfmu.prepared.prepare import Prepared, prepare
from mbfmu.result import Result, matching, roles
from mbfmu.stepper import Choice

if TYPE_CHECKING:
    from mbfmu.checker.probe.drive import Messages, Plan

Progress = Callable[[float], None]
POINTS = 500
"""Default number of output points of a run, approximately."""
MOST_POINTS = 10_000_000
CALL = 2000
"""Largest number of steps between two looks at the keyboard."""
HISTORY = 8
"""Number of points of a first history, at which inputs are tried if it cannot be made."""
PROBES = 129
"""Number of times within a failed step at which its inputs are tried."""
TIMEOUT = 60.0
"""Seconds after which an FMU that does nothing is ended."""
BLOCK = 1000
"""Number of rows of a run that are written at once."""
AHEAD = 20
"""Largest number of blocks of rows that the process of an FMU has not read yet."""


@checked
def simulate(
    model: Model | str | os.PathLike[str],
    stop: float,
    *,
    stepper: str | Choice | None = None,
    options: Mapping[str, Any] | None = None,
    step: float | None = None,
    tolerance: float | None = None,
    output_interval: float | None = None,
    values: Mapping[str, Any] | None = None,
    inputs: Mapping[str, InputValue] | None = None,
    input_hold: bool = False,
    coordinates: str | None = None,
    energy_balance: bool = False,
    show: Sequence[str] = (),
    start: float | None = None,
    timeout: float | None = None,
    progress: Progress | None = None,
) -> Result:
    """Run a mechanism from 0 to `stop`, or an FMU through FMPy, in a process of its own.

    Gives a `ResultWarning` for each notice of the result: an error of the energy, or a message of the FMU.

    Args:
        model: a model, a name in models/, the path of a model file, or the path of an .fmu file (which contains its
            stepper).
        stop: end of the run, s.
        stepper: name of the stepper, or one with its options such as `mbfmu.Rattle(iteration="simplified")` (not for an
            .fmu); None: the one the model names, else `rattle`, or `projected` for nonholonomic constraints.
        options: options of the stepper (not for an .fmu).
        step: longest step of the stepper, s (default 0.001, or the step of the .fmu).
        tolerance: error that a second of motion may add, relative to 1 and the size of coordinates and rates; the steps
            are then chosen, up to `step`. None or 0: equal steps (None: the tolerance of the .fmu).
        output_interval: time between outputs, s. Default: a multiple of the step that gives about 500 points.
        values: parameters and start values by name; in an .fmu also texts, and the names of an enumeration's items.
        inputs: by name, a number, an expression of ``time`` such as ``"2*sin(time)"``, the path of a table (.csv,
            .parquet, .mat, .npz) with a column of that name, or a function of the time. In a model, an expression is
            part of the equations; a table is followed by lines from point to point, a function by lines from step to
            step. An .fmu gets its inputs at steps of its own length, with their derivatives if it takes these, else
            their means. Its whole-number inputs are rounded, its Boolean inputs true unless they are zero, and tables
            for these hold their values. A row of the result holds the input that acts from its time on.
        input_hold: whether tables hold each value until the next.
        coordinates: ``absolute`` or ``joint`` (not for an .fmu); None: joint coordinates if they are fewer.
        energy_balance: whether `energy.balance` is computed, for a mechanism (not for an .fmu): stored energy plus
            losses minus what was put in, J.
        show: names that tables and pictures of the result show, or patterns such as ``boom.*``; empty: a selection.
        start: begin of the run of an .fmu, s; None: the start time of its DefaultExperiment.
        timeout: seconds after which an .fmu that does not answer is ended; None: 60.
        progress: called with the fraction done.

    Raises:
        UsageError: an argument is invalid.
        ModelError, StepperError, StartError: the model, the stepper or the start is invalid.
        StepError: a step failed, or an output of the FMU is not finite.
        FmuError: the FMU cannot be run, does not answer, or ends its process.
    """
    report = progress or (lambda _: None)
    if not isinstance(model, Model) and is_fmu(model):
        path = Path(model)
        if options or stepper or coordinates or energy_balance:
            raise UsageError(
                f"'{path}' has its stepper inside: --stepper, --option, --coordinates and --energy-balance go with "
                "export"
            )
        if not (timeout is None or timeout > 0):
            raise UsageError(f"the timeout is {timeout} s; it must be a positive number")
        description = read_fmu(path)
        texts, rest = _worded(description, inputs or {})
        run = fmu_run(
            path, description, stop, step, tolerance, output_interval, {**(values or {}), **texts},
            courses(rest, input_hold), show, start,
        )  # fmt: skip
        return _warned(run_apart(run, TIMEOUT if timeout is None else timeout, report))
    if not (start is None and timeout is None):
        raise UsageError("--start and --timeout are for an .fmu: a model runs from 0")
    if not (math.isfinite(stop) and stop > 0):
        raise UsageError(f"the stop time is {stop} s; it must be a positive number")
    given = courses(inputs, input_hold)
    prepared = prepare(
        model_of(model, values),
        stepper,
        options,
        1e-3 if step is None else step,
        tolerance or 0.0,
        coordinates,
        formulas(given),
        energy_balance,
    )
    return _warned(run_prepared(prepared, stop, output_interval, given, report, show=show))


def _warned(result: Result) -> Result:
    for text in result.notices:
        warnings.warn(text, ResultWarning, stacklevel=3)
    return result


def communication_points(
    stop: float, step: float, interval: float | None, start: float = 0.0
) -> npt.NDArray[np.float64]:
    """Return the communication points t0, t0 + H, ..., stop, shape (n + 1,); the last interval may be shorter.

    Args:
        stop: end of the run, s.
        step: step of the stepper, s.
        interval: H, s; None: a multiple of the step that gives about 500 points.
        start: t0, s.

    Raises:
        UsageError: the interval is not a positive number, or there would be too many points.
    """
    span = stop - start
    if interval is None:
        if not (math.isfinite(step) and step > 0 and math.isfinite(span / step)):
            raise UsageError(f"a step of {step} s does not go with a stop time of {stop} s")
        interval = step * max(1, round(span / step / POINTS))
    if not (math.isfinite(interval) and interval > 0):
        raise UsageError(f"the output interval is {interval} s; it must be a positive number")
    if span / interval > MOST_POINTS:
        raise UsageError(f"an output interval of {interval} s gives {span / interval:.3g} points: take a longer one")
    count = max(1, math.ceil(span / interval * (1 - 1e-12)))
    points: npt.NDArray[np.float64] = start + np.arange(count + 1, dtype=np.float64) * np.float64(interval)
    points[-1] = stop
    return points


def run_prepared(
    prepared: Prepared,
    stop: float,
    interval: float | None = None,
    given: Mapping[str, Course] | None = None,
    report: Progress = lambda _: None,
    *,
    s: Any = None,
    p: Any = None,
    watch: Callable[[float, Any], None] = lambda _t, _x: None,
    show: Sequence[str] = (),
) -> Result:
    """Run a prepared model from 0 to `stop`.

    Args:
        prepared: the model with its stepper.
        stop: end of the run, s.
        interval: time between outputs, s; None: about 500 points.
        given: inputs over time, by name; the others keep their start values.
        report: called with the fraction done.
        s: start values, shape (n_s,); None: the model's.
        p: parameters, shape (n_p,); None: the model's.
        watch: called with time and state x at every communication point.
        show: see `simulate`.

    Raises:
        StartError: there is no consistent state with the start values.
        StepError: a step failed.
        UsageError, UnknownNameError: an input is invalid, or a name to show is unknown.
    """
    outline = prepared.outline
    step, tolerance, given = prepared.step, prepared.tolerance, given or {}
    _refuse_inputs(outline, given)
    shown = [*outline.inputs, *outline.outputs]
    names = tuple(item.name for item in shown)
    chosen = matching(show, names)
    points = communication_points(stop, step, interval)
    inputs = [given.get(item.name) or Constant(item.name, item.start) for item in outline.inputs]
    exact = {item.name: item for item in inputs if isinstance(item, Formula) and item.name in outline.formulas}
    columns = {name: item.column(points).tolist() for name, item in exact.items()}
    followed = [item for item in inputs if not (item.name in exact or isinstance(item, Constant))]
    divide = any(item.curved for item in followed) or (outline.multistep and bool(followed))
    corners = [] if outline.multistep else followed
    kernel = prepared.kernel
    p = vector(outline.p_default() if p is None else p)
    u, still = vector([item.at(0.0) for item in inputs]), vector([0.0] * len(inputs))
    try:
        x = prepared.initial_state(u, None if s is None else vector(s), p)
    except StartError:
        for item in exact.values():
            item.column(np.arange(HISTORY) * np.float64(-step))  # where a multistep method makes its first history
        raise
    watch(0.0, x)
    rows: list[list[float]] = []
    steps, seconds = 0, 0.0
    for k, (start, end) in enumerate(pairwise(points.tolist())):
        times, drives = [start, end], [(u, still)]
        if followed or exact:
            times = pieces(corners, start, end, step, divide)
            lines = [
                ([columns[item.name][k]] * len(times), [0.0] * len(times))
                if item.name in exact
                else (item.secants if outline.multistep else item.lines)(times)
                for item in inputs
            ]
            drives = [
                (vector([value[i] for value, _ in lines]), vector([rate[i] for _, rate in lines]))
                for i in range(len(times) - 1)
            ]
        for (t, t1), (u, du) in zip(pairwise(times), drives, strict=True):
            if t == start:
                rows.append([*u, *kernel.outputs(x, u, p, t)])
            begin = clock.perf_counter()
            x, status = _moved(kernel, x, u, du, p, t, t1 - t, step, tolerance, lambda time: report(time / stop))
            seconds += clock.perf_counter() - begin
            if status.code != OK:
                for item in exact.values():
                    item.column(np.linspace(status.time, min(status.time + step, end), PROBES))
                raise StepError(status.message(outline.name))
            steps += int(status.substeps)
        watch(end, x)
        report(end / stop)
    u = vector([item.at(stop) for item in inputs])
    rows.append([*u, *kernel.outputs(x, u, p, stop)])
    table = np.array(rows)[:, : len(shown)]
    return Result(
        points,
        names,
        table,
        {item.name: item.unit for item in shown},
        steps,
        seconds,
        roles((item.name, item.kind, item.unit, item.derivative_of) for item in shown),
        chosen,
        _energy_notices(outline.constant, names, table, len(inputs)),
        prepared.stepper,
        prepared.reason,
    )


def _refuse_inputs(outline: Outline, given: Mapping[str, Course]) -> None:
    """Raise an error for an input that does not exist, or one of a motion that is given as another kind than the rest.

    Raises:
        UnknownNameError, UsageError: see above.
    """
    known = [item.name for item in outline.inputs]
    for name, item in given.items():
        if name not in known:
            raise UnknownNameError(f"'{outline.name}' has no input '{name}'; {nearest(name, known)}")
        if name in outline.formulas and not isinstance(item, Formula | Constant):
            others = [other for other in outline.formulas if isinstance(given.get(other), Formula)]
            raise UsageError(
                f"inputs {name} and {others[0]} describe motions: give all of {', '.join(outline.formulas)} as "
                "expressions of time, or none of them"
            )


def _moved(
    kernel: Any, x: Any, u: Any, du: Any, p: Any, t: float, span: float, step: float, tolerance: float, told: Progress
) -> tuple[Any, Status]:
    """Return the state and status after a span, in calls short enough for a user to interrupt the run between them.

    The arguments are those of `runtime.move`; `told` is called between two calls with the time reached, s.
    """
    substeps, done, n = 0.0, 0.0, count(span, step)

    def later() -> Any:
        return vector([a + b * done for a, b in zip(u, du, strict=True)]) if done else u

    while tolerance:
        x, status = kernel.control(x, later(), du, p, t + done, span - done, step, tolerance, CALL)
        substeps, done = substeps + status.substeps, status.time - t
        if status.code != UNFINISHED:
            return x, status._replace(substeps=substeps)
        told(t + done)
    if n <= CALL:
        return kernel.advance(x, u, du, p, t, span / n, n)  # type: ignore[no-any-return]
    for first in range(0, n, CALL):
        x, status = kernel.advance(x, later(), du, p, t + done, span / n, min(CALL, n - first))
        substeps, done = substeps + status.substeps, (first + CALL) * (span / n)
        if status.code != OK or first + CALL >= n:
            break
        told(t + done)
    return x, status._replace(substeps=substeps)


def _energy_notices(
    constant: ConstantEnergy, names: tuple[str, ...], rows: npt.NDArray[np.float64], n_u: int
) -> tuple[str, ...]:
    """Return a notice if the energy of a run has a noticeable error.

    Args:
        constant: the quantity that only errors change.
        names: names of the columns; those of the inputs come first.
        rows: values at the output points.
        n_u: number of inputs.
    """
    if not constant.name or (constant.undriven and rows[:, :n_u].any()):
        return ()
    total, kinetic, potential = (rows[:, names.index(name)] for name in (constant.name, *STORED[1:]))
    energy = Energy(total[0], kinetic.max(), potential.min(), potential.max())
    farthest = total[np.abs(total - total[0]).argmax()]
    if not energy.noticeable(farthest):
        return ()
    return (energy.message(constant.name, farthest, "take a smaller step, or steps chosen for a tolerance"),)


def read_fmu(path: Path) -> Any:
    """Return FMPy's model description of an .fmu file.

    Raises:
        FmuError: the file is missing, or FMPy cannot read it.
    """
    import fmpy

    if not path.is_file():
        raise FmuError(f"there is no FMU '{path}'")
    try:
        return fmpy.read_model_description(str(path))
    except Exception as error:  # noqa: BLE001 - FMPy raises plain Exceptions
        raise FmuError(f"'{path}' is not an FMU that FMPy can read: {' '.join(str(error).split())}") from None


@dataclass(frozen=True)
class FmuRun:
    """A run of an FMU, as it is asked for.

    Args:
        path: path of the file, or of the folder it is unpacked to.
        description: FMPy's model description.
        points: times of the output points, s, shape (n_t,).
        values: start values by name.
        shown: names of the variables of the result.
        chosen: names that tables and pictures show.
        given: the inputs that change, by name.
        own: length of a step, s.
    """

    path: Path
    description: Any
    points: npt.NDArray[np.float64]
    values: Mapping[str, Any]
    shown: tuple[str, ...]
    chosen: tuple[str, ...]
    given: Mapping[str, Course]
    own: float

    @property
    def plan(self) -> "Plan":
        """The plan that `follow` keeps to."""
        from mbfmu.checker.probe.drive import Plan

        first, second, last = (float(self.points[k]) for k in (0, 1, -1))
        return Plan(first, last, second - first, dict(self.values), self.shown, tuple(self.given))

    def rows(self) -> Iterator[list[float]]:
        """Give the rows for `follow`: steps of the FMU's own length if an input changes, with its line over each.

        An FMU that takes derivatives of inputs gets them, any other the means over each step: an error of second order.
        A motion (see `AxisMove`) is given as it is at the start of the step, as the FMU itself goes on along its
        parabola.
        """
        about = self.description.coSimulation
        variables = {item.name: item for item in self.description.modelVariables}
        motions = _motions(variables)
        means = [
            variables[name].type == "Real"
            and not (about.canInterpolateInputs or name in motions or variables[name].variability == "discrete")
            for name in self.given
        ]
        free = about.canHandleVariableCommunicationStepSize
        still = [0.0] * len(self.given)
        for start, end in pairwise(self.points.tolist()):
            times = (
                pieces(self.given.values() if free else (), start, end, self.own, True) if self.given else [start, end]
            )
            lines = [item.lines(times) if free else item.secants(times) for item in self.given.values()]
            for k, (t, t1) in enumerate(pairwise(times)):
                yield [
                    t,
                    t1 - t,
                    *(
                        values[k] + (rates[k] * (t1 - t) / 2 if mean else 0.0)
                        for mean, (values, rates) in zip(means, lines, strict=True)
                    ),
                    *(rates[k] for _, rates in lines),
                ]
            yield [end, 0.0, *(item.at(end) for item in self.given.values()), *still]

    def table(self) -> npt.NDArray[np.void]:
        """Return the inputs as FMPy's table, which an FMU for model exchange follows by lines; it has all inputs."""
        rest = {
            item.name: Constant(item.name, float(self.values.get(item.name, item.start or 0.0)))
            for item in self.description.modelVariables
            if item.causality == "input" and item.type == "Real" and item.name not in self.given
        }
        times = [float(self.points[0])]
        for start, end in pairwise(self.points.tolist()):
            times += pieces(self.given.values(), start, end, self.own, divide=True)[1:]
        given = {**self.given, **rest}
        columns = [[item.at(time) for time in times] for item in given.values()]
        rows: npt.NDArray[np.void] = np.array(
            list(zip(times, *columns, strict=True)), dtype=[("time", float), *((name, float) for name in given)]
        )
        return rows

    def result(self, table: npt.NDArray[np.float64], seconds: float, messages: Iterable[str]) -> Result:
        """Return the result of the run.

        Args:
            table: time and the variables to show, shape (n_t, 1 + n_shown).
            seconds: wall time, s.
            messages: what the FMU said.
        """
        variables = {item.name: item for item in self.description.modelVariables}
        notices = [*messages]
        texts = [name for name, item in variables.items() if item.causality == "output" and item.type == "String"]
        if texts:
            notices.append(f"texts are left out of the result: {', '.join(texts)}")
        wrong = [name for name, column in zip(self.shown, table[:, 1:].T, strict=True) if not np.isfinite(column).all()]
        if wrong:
            notices.append(f"not finite at times: {', '.join(wrong)}")
        return Result(
            table[:, 0],
            self.shown,
            table[:, 1:],
            {name: unit_of(variables[name]) for name in self.shown},
            seconds=seconds,
            roles=roles(
                (item.name, item.causality, unit_of(item), item.derivative and item.derivative.name)
                for item in (variables[name] for name in self.shown)
            ),
            notices=tuple(notices),
            chosen=self.chosen,
        )


def fmu_run(
    path: Path,
    description: Any,
    stop: float,
    step: float | None,
    tolerance: float | None,
    interval: float | None,
    values: Mapping[str, Any],
    given: Mapping[str, Course],
    show: Sequence[str] = (),
    start: float | None = None,
) -> FmuRun:
    """Return the run of an FMU.

    Args:
        path: path of the file, or of the folder it is unpacked to.
        description: FMPy's model description.
        stop: end of the run, s.
        step: value of solver.step, s; None: the FMU's own.
        tolerance: value of solver.tolerance; None: the FMU's own.
        interval: time between outputs, s; None: about 500 points.
        values: parameters and start values by name.
        given: inputs over time, by name.
        show: see `simulate`.
        start: begin of the run, s; None: that of its DefaultExperiment.

    Raises:
        FmuError: it is of another version than FMI 1.0 or 2.0.
        UsageError, UnknownNameError: an argument is invalid.
    """
    from mbfmu.checker.probe.drive import VALUES

    if description.fmiVersion not in ("1.0", "2.0"):
        raise FmuError(f"'{path}' is of FMI {description.fmiVersion}: FMI 1.0 and 2.0 can be run")
    variables = {item.name: item for item in description.modelVariables}
    for name in [*values, *given]:
        if name not in variables:
            raise UnknownNameError(f"'{path}' has no variable '{name}'; {nearest(name, variables)}")
    for name in given:
        if variables[name].causality != "input":
            raise UsageError(f"'{name}' of '{path}' is not an input but {variables[name].causality}")
    first, source = _start_of(path, description, start)
    if not (math.isfinite(stop) and stop > first):
        raise UsageError(f"the stop time is {stop} s; it must be a time after the start, {first:g} s{source}")
    start_values = {name: _start_value(variables[name], value) for name, value in values.items()}
    default = float(variables[STEP].start) if STEP in variables else _default_step(description)
    if step is not None:
        if STEP not in variables:
            raise UsageError(f"'{path}' has no parameter {STEP}")
        start_values[STEP] = float(step)
    if tolerance is not None:
        if TOLERANCE not in variables:
            raise UsageError(f"'{path}' has no parameter {TOLERANCE}")
        start_values[TOLERANCE] = float(tolerance)
    own = start_values.get(STEP, default)
    points = _points(path, description, first, stop, own, interval)
    inputs = {
        name: item if variables[name].type == "Real" or not isinstance(item, Table) else replace(item, hold=True)
        for name, item in given.items()
    }
    for item in inputs.values():
        if isinstance(item, Formula):
            item.column(points)
        start_values[item.name] = VALUES[variables[item.name].type](item.at(first))
    shown = tuple(
        item.name
        for item in description.modelVariables
        if item.causality in {"input", "output", "local"} and item.type in VALUES and item.name != "time"
    )
    return FmuRun(
        path,
        description,
        points,
        start_values,
        shown,
        matching(show, shown),
        {name: item for name, item in inputs.items() if not isinstance(item, Constant)},
        own,
    )


def run_apart(run: FmuRun, timeout: float, report: Progress = lambda _: None) -> Result:
    """Run an FMU in a process of its own, which is ended with this call at the latest.

    Args:
        run: the run.
        timeout: seconds for which the FMU may do nothing.
        report: called with the fraction done.

    Raises:
        FmuError, StepError: the FMU cannot be run, or a step failed.
    """
    import fmpy

    from mbfmu.checker.probe.drive import followed
    from mbfmu.checker.supervise import supervise

    path, plan = run.path, run.plan
    messages: dict[str, None] = {}
    last: dict[str, Any] = {}

    def heard(line: dict[str, Any]) -> None:
        if "time" in line:
            report((line["time"] - plan.start) / (plan.stop - plan.start))
        elif "message" in line:
            messages[str(line["message"])] = None
        else:
            last.update(line)

    feed: Iterator[None] = itertools.repeat(None)
    try:
        with TemporaryDirectory(prefix="mbfmu_", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            try:
                fmpy.extract(str(path), str(folder / "fmu"))
            except OSError:
                raise
            except Exception as error:  # noqa: BLE001 - FMPy raises plain Exceptions
                raise FmuError(f"'{path}' cannot be unpacked: {error}") from None
            np.full(1, math.nan).tofile(folder / "reached")
            if followed(run.description):
                feed = _feed(folder, run.rows())
                next(feed)
            elif run.given:
                np.save(folder / "inputs.npy", run.table())
            job = {"fmu": str(folder / "fmu"), "plan": asdict(plan)}
            ending = supervise("probe.drive", job, folder, timeout, heard, idle=lambda: next(feed))
            (reached,) = np.fromfile(folder / "reached")
            table = np.load(folder / "table.npy", allow_pickle=False) if "done" in last else None
    except OSError as error:
        raise FmuError(f"'{path}' cannot be unpacked and run: {error.strerror or error}") from None
    if "failed" in last:
        raise (StepError if last.get("refused") else FmuError)(f"'{path}'{last['failed']}")
    if table is None:
        when = "before its first step" if math.isnan(reached) else f"at t = {reached:g} s"
        longer = f"; --timeout gives it more than {timeout:g} s" if ending.silent else ""
        raise FmuError(f"'{path}': {when}, {'; '.join([*messages, ending.text])}{longer}")
    report(1.0)
    if ending.code != 0:
        messages[f"after the run, {ending.text}"] = None
    return run.result(table, last["seconds"], messages)


def _feed(folder: Path, rows: Iterator[list[float]]) -> Iterator[None]:
    """Write the blocks of rows that the process of an FMU is about to read, as often as the next item is asked for.

    It removes those it has read; an empty one is the end.
    """
    for number in itertools.count():
        while (folder / f"rows{number - AHEAD}").exists():
            yield
        block = list(islice(rows, BLOCK))
        np.array(block).tofile(folder / "part")
        os.replace(folder / "part", folder / f"rows{number}")
        if not block:
            break
    while True:
        yield


def run_here(run: FmuRun, instance: Any, messages: "Messages") -> Result:
    """Run an instance of an FMU for co-simulation in this process; it is left terminated.

    Args:
        run: the run.
        instance: the instance, of FMPy.
        messages: its messages.

    Raises:
        FmuError, StepError: the FMU cannot be run, or a step failed.
    """
    from mbfmu.checker.probe.drive import MOST_NOTICES, Failure, follow, followed

    if not followed(run.description):
        raise FmuError(f"'{run.path}' is not for co-simulation by FMI 2.0")
    begin = clock.perf_counter()
    try:
        table = follow(instance, run.description, run.plan, run.rows(), messages)
        instance.terminate()
    except Failure as error:
        raise (StepError if error.refused else FmuError)(f"'{run.path}'{error}") from None
    except MbfmuError:
        raise
    except Exception as error:  # noqa: BLE001 - FMPy raises plain Exceptions
        raise FmuError(f"'{run.path}': {messages.or_else(error)}") from None
    return run.result(table, clock.perf_counter() - begin, messages[:MOST_NOTICES])


def _start_of(path: Path, description: Any, start: float | None) -> tuple[float, str]:
    """Return the start time of a run, s, and a clause that says where it is from."""
    experiment = description.defaultExperiment
    if start is None and experiment is not None and experiment.startTime is not None:
        found = float(experiment.startTime)
        if math.isfinite(found):
            return found, f", as the DefaultExperiment of '{path}' says: --start gives another" if found else ""
    if start is not None and not math.isfinite(start):
        raise UsageError(f"the start time is {start} s; it must be a finite number")
    return start or 0.0, ""


def _points(
    path: Path, description: Any, start: float, stop: float, own: float, interval: float | None
) -> npt.NDArray[np.float64]:
    """Return the output points of an FMU's run; one that takes steps of one length only has intervals of one length."""
    about = description.coSimulation
    fixed = about is not None and not about.canHandleVariableCommunicationStepSize
    if fixed and interval is None and own > 0:
        n = round((stop - start) / own)
        if n and math.isclose(n * own, stop - start, rel_tol=CLOSE):
            interval = own * next(k for k in range(max(1, round(n / POINTS)), 0, -1) if n % k == 0)
    points = communication_points(stop, own, interval, start)
    if fixed and len(points) > 2 and not math.isclose(points[-1] - points[-2], points[1] - points[0], rel_tol=1e-6):
        raise UsageError(
            f"'{path}' takes steps of one length only: the time from {start:g} s to {stop:g} s must be a multiple of "
            f"the output interval, {points[1] - points[0]:g} s"
        )
    return points


def _worded(description: Any, inputs: Mapping[str, InputValue]) -> tuple[dict[str, str], dict[str, InputValue]]:
    """Return the inputs that are texts, and the others with words as numbers.

    Words are ``true``, ``false`` and the names of an enumeration's items.

    Raises:
        UsageError: a text input gets something else.
    """
    variables = {item.name: item for item in description.modelVariables}
    texts: dict[str, str] = {}
    rest: dict[str, InputValue] = {}
    for name, value in inputs.items():
        variable = variables.get(name)
        if variable is not None and variable.type == "String":
            if not isinstance(value, str):
                raise UsageError(f"input {name} is a text, which stays as it is during the run; {value!r} is none")
            texts[name] = value
        elif variable is not None and isinstance(value, str):
            rest[name] = _words(variable).get(value.strip(), value)
        else:
            rest[name] = value
    return texts, rest


def _words(variable: Any) -> dict[str, float]:
    """Return the numbers that words stand for as values of a variable."""
    if variable.type == "Boolean":
        return {"true": 1.0, "false": 0.0}
    items = variable.declaredType.items if variable.type == "Enumeration" and variable.declaredType is not None else ()
    return {str(item.name): float(item.value) for item in items}


def _start_value(variable: Any, value: Any) -> Any:
    """Return a start value as its variable's type.

    Raises:
        UsageError: it is not of that type.
    """
    from mbfmu.checker.probe.drive import VALUES

    if variable.type == "String":
        return str(value)
    words = _words(variable)
    text = value.strip() if isinstance(value, str) else value
    try:
        number = float(words.get(text, text) if isinstance(text, str) else text)
        if variable.type == "Real" or number == round(number):
            return VALUES[variable.type](number)
    except (TypeError, ValueError, OverflowError):
        pass
    wanted = {"Real": "a number", "Boolean": "true or false"}.get(variable.type, "a whole number")
    named = f" or {nearest('', words).removeprefix('known: ')}" if variable.type == "Enumeration" and words else ""
    raise UsageError(f"{variable.name} = {value!r}: it must be {wanted}{named}")


def _motions(variables: Mapping[str, Any]) -> set[str]:
    """Return the names of the inputs that are motions: coordinate, rate and acceleration of one axis."""
    inputs = {name for name, item in variables.items() if item.causality == "input"}
    found: set[str] = set()
    for name in inputs:
        axis = name.rpartition(".")[0]
        for kind in (RotationalMove, TranslationalMove):
            motion = {f"{axis}.{part}" for part, _, _ in kind.given}
            found |= motion if motion <= inputs else set()
    return found


def _default_step(description: Any) -> float:
    experiment = description.defaultExperiment
    found = float(experiment.stepSize) if experiment is not None and experiment.stepSize else 0.0
    return found if 0.0 < found < math.inf else 1e-2


def unit_of(variable: Any) -> str:
    """Return the unit of a variable of FMPy's model description, from the variable or from its type."""
    return variable.unit or (variable.declaredType.unit if variable.declaredType is not None else "") or "1"

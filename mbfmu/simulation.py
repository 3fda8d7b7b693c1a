"""Simulation: run a mechanism with its own kernel, or an .fmu through FMPy."""

import math
import os
import shutil
import time as clock
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from ctypes import c_double, c_int, c_uint
from itertools import pairwise
from pathlib import Path
from typing import Any

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
from mbfmu.inputs import Constant, Course, Formula, InputValue, courses, formulas, pieces
from mbfmu.kernel import Status, vector
from mbfmu.kernel.runtime import OK, UNFINISHED, Energy, count
from mbfmu.model import Model, RotationalMove, TranslationalMove
from mbfmu.model.library import is_fmu, model_of
from mbfmu.prepared.outline import Outline
from mbfmu.prepared.prepare import Prepared, prepare
from mbfmu.result import Result, matching, roles
from mbfmu.stepper import Choice

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
MOST_NOTICES = 5
"""Largest number of different messages of an FMU that are kept as notices."""


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
    progress: Progress | None = None,
) -> Result:
    """Run a mechanism, or an FMU through FMPy, from 0 to `stop`.

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
        values: parameters and start values by name.
        inputs: by name, a number, an expression of ``time`` such as ``"2*sin(time)"``, the path of a table (.csv,
            .parquet, .mat, .npz) with a column of that name, or a function of the time. In a model, an expression is
            part of the equations; a table is followed by lines from point to point, a function by lines from step to
            step. An .fmu gets its inputs at steps of its own length, with their derivatives if it takes these, else
            their means. A row of the result holds the input that acts from its time on.
        input_hold: whether tables hold each value until the next.
        coordinates: ``absolute`` or ``joint`` (not for an .fmu); None: joint coordinates if they are fewer.
        energy_balance: whether `energy.balance` is computed, for a mechanism (not for an .fmu): stored energy plus
            losses minus what was put in, J.
        show: names that tables and pictures of the result show, or patterns such as ``boom.*``; empty: a selection.
        progress: called with the fraction done.

    Raises:
        UsageError: an argument is invalid.
        ModelError, StepperError, StartError: the model, the stepper or the start is invalid.
        StepError: a step failed.
        FmuError: the FMU cannot be run.
    """
    if not (math.isfinite(stop) and stop > 0):
        raise UsageError(f"the stop time is {stop} s; it must be a positive number")
    given = courses(inputs, input_hold)
    report = progress or (lambda _: None)
    if isinstance(model, Model) or not is_fmu(model):
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
    path = Path(model)
    if options or stepper or coordinates or energy_balance:
        raise UsageError(
            f"'{path}' has its stepper inside: --stepper, --option, --coordinates and --energy-balance go with export"
        )
    messages = Messages()
    result = simulate_fmu(
        path, read_fmu(path), messages, stop, step, tolerance, output_interval, values or {}, given, report, show,
        logger=messages.note, debug_logging=True,
    )  # fmt: skip
    return _warned(result)


def _warned(result: Result) -> Result:
    for text in result.notices:
        warnings.warn(text, ResultWarning, stacklevel=3)
    return result


VALUES: dict[str, Callable[[float], Any]] = {"Real": float, "Integer": round, "Enumeration": round, "Boolean": bool}
"""Functions that make a number a value of a variable, by the variable's type."""
SETTERS = {"Enumeration": "Integer"}
"""Type whose function of the standard sets a type that has none."""


def communication_points(stop: float, step: float, interval: float | None) -> npt.NDArray[np.float64]:
    """Return the communication points 0, H, 2 H, ..., stop, shape (n + 1,); the last interval may be shorter.

    Args:
        stop: end of the run, s.
        step: step of the stepper, s.
        interval: H, s; None: a multiple of the step that gives about 500 points.

    Raises:
        UsageError: the interval is not a positive number, or there would be too many points.
    """
    if interval is None:
        if not (math.isfinite(step) and step > 0 and math.isfinite(stop / step)):
            raise UsageError(f"a step of {step} s does not go with a stop time of {stop} s")
        interval = step * max(1, round(stop / step / POINTS))
    if not (math.isfinite(interval) and interval > 0):
        raise UsageError(f"the output interval is {interval} s; it must be a positive number")
    if stop / interval > MOST_POINTS:
        raise UsageError(f"an output interval of {interval} s gives {stop / interval:.3g} points: take a longer one")
    count = max(1, math.ceil(stop / interval * (1 - 1e-12)))
    points: npt.NDArray[np.float64] = np.arange(count + 1, dtype=np.float64) * np.float64(interval)
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


class Messages(list[str]):
    """The warnings and errors of an FMU."""

    def note(self, _environment: Any, _instance: Any, status: int, _category: Any, message: bytes) -> None:
        """Keep a message unless it is only a notice; FMPy calls this as its logger."""
        if status:
            self.append(message.decode("utf-8", "replace").strip())


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
        raise FmuError(f"'{path}' is not an FMU that FMPy can read: {error}") from None


def simulate_fmu(
    path: Path,
    description: Any,
    messages: Messages,
    stop: float,
    step: float | None,
    tolerance: float | None,
    interval: float | None,
    values: Mapping[str, float],
    given: Mapping[str, Course],
    report: Progress = lambda _: None,
    show: Sequence[str] = (),
    **how: Any,
) -> Result:
    """Run an FMU through FMPy from 0 to `stop`.

    Args:
        path: path of the file, or of the folder it is unpacked to.
        description: FMPy's model description.
        messages: list to which the messages of the FMU are added.
        stop: end of the run, s.
        step: value of solver.step, s; None: the FMU's own.
        tolerance: value of solver.tolerance; None: the FMU's own.
        interval: time between outputs, s; None: about 500 points.
        values: parameters and start values by name.
        given: inputs over time, by name.
        report: called with the fraction done.
        show: see `simulate`.
        how: further arguments of FMPy's simulate_fmu, such as an instance to use.

    Raises:
        FmuError, StepError: the FMU cannot be run.
        UsageError, UnknownNameError: a value or an input is invalid, or a name to show is unknown.
    """
    import fmpy

    variables = {item.name: item for item in description.modelVariables}
    for name in [*values, *given]:
        if name not in variables:
            raise UnknownNameError(f"'{path}' has no variable '{name}'; {nearest(name, variables)}")
    for name in given:
        if variables[name].causality != "input":
            raise UsageError(f"'{name}' of '{path}' is not an input but {variables[name].causality}")
    start_values = dict(values)
    default = float(variables[STEP].start) if STEP in variables else _default_step(description)
    if step is not None:
        if STEP not in variables:
            raise UsageError(f"'{path}' has no parameter {STEP}")
        start_values[STEP] = step
    if tolerance is not None:
        if TOLERANCE not in variables:
            raise UsageError(f"'{path}' has no parameter {TOLERANCE}")
        start_values[TOLERANCE] = tolerance
    own = start_values.get(STEP, default)
    points = communication_points(stop, own, interval)
    for item in given.values():
        if isinstance(item, Formula):
            item.column(points)
        start_values[item.name] = VALUES[variables[item.name].type](item.at(0.0))
    shown = [
        item.name
        for item in description.modelVariables
        if item.causality in {"input", "output", "local"} and item.type == "Real"
    ]
    chosen = matching(show, shown)

    def finished(time: float, _recorder: Any) -> bool:
        report(min(1.0, time / stop))
        return True

    changing = {name: item for name, item in given.items() if not isinstance(item, Constant)}
    begin = clock.perf_counter()
    try:
        with ExitStack() as stack:
            if changing and description.coSimulation is not None:
                if "fmu_instance" not in how:
                    how = {"fmu_instance": stack.enter_context(_opened(path, description, **how))}
                stack.enter_context(_driven(how["fmu_instance"], description, changing, own))
            elif changing:
                rest = {
                    name: Constant(name, float(start_values.get(name, item.start or 0.0)))
                    for name, item in variables.items()
                    if item.causality == "input" and item.type == "Real" and name not in changing
                }
                how["input"] = _rows({**changing, **rest}, points, own)  # FMPy's table has all inputs
            found = fmpy.simulate_fmu(
                str(path),
                stop_time=stop,
                output_interval=float(points[1] - points[0]),
                start_values=start_values,
                output=shown,
                step_finished=finished,
                set_stop_time=False,
                **how,
            )
    except MbfmuError:
        raise
    except Exception as error:  # noqa: BLE001 - FMPy raises plain Exceptions
        raise FmuError(f"'{path}': {'; '.join(messages) or error}") from None
    seconds = clock.perf_counter() - begin
    if found["time"][-1] < stop * (1 - 1e-9):
        raise StepError(f"'{path}' stopped at t = {found['time'][-1]:g} s: {'; '.join(messages)}")
    return Result(
        np.array(found["time"]),
        tuple(shown),
        np.column_stack([found[name] for name in shown]),
        {name: unit_of(variables[name]) for name in shown},
        seconds=seconds,
        roles=roles(
            (item.name, item.causality, unit_of(item), item.derivative and item.derivative.name)
            for item in (variables[name] for name in shown)
        ),
        notices=tuple(dict.fromkeys(messages))[:MOST_NOTICES],
        chosen=chosen,
    )


@contextmanager
def _opened(path: Path, description: Any, **how: Any) -> Iterator[Any]:
    """Give an instance of an FMU for co-simulation, from its file, for as long as the context lasts."""
    import fmpy

    folder = fmpy.extract(str(path))
    try:
        instance = fmpy.instantiate_fmu(folder, description, "CoSimulation", **how)
        try:
            yield instance
        finally:
            instance.freeInstance()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _driven(instance: Any, description: Any, given: Mapping[str, Course], own: float) -> Iterator[None]:
    """Make an instance of FMPy step by its own length within each communication step, every time with new inputs.

    An FMU that takes derivatives of inputs gets them, any other the means over each step: an error of second order. A
    motion (see `AxisMove`) is given as it is at the start of the step, as the FMU itself goes on along its parabola.

    Args:
        instance: the instance.
        description: FMPy's model description.
        given: the inputs, by name.
        own: length of a step, s.
    """
    about = description.coSimulation
    variables = {item.name: item for item in description.modelVariables}
    references = {name: variables[name].valueReference for name in given}
    ramped = [name for name in given if about.canInterpolateInputs and variables[name].type == "Real"]
    orders, vrs = (
        (c_int * len(ramped))(*[1] * len(ramped)),
        (c_uint * len(ramped))(*(references[name] for name in ramped)),
    )
    motions = _motions(variables)
    mean = [
        name
        for name in given
        if not (name in ramped or name in motions or variables[name].variability == "discrete")
        and variables[name].type == "Real"
    ]
    step = instance.doStep

    def give(values: Mapping[str, float]) -> None:
        for name, value in values.items():
            kind = variables[name].type
            getattr(instance, f"set{SETTERS.get(kind, kind)}")([references[name]], [VALUES[kind](value)])

    def do_step(currentCommunicationPoint: float, communicationStepSize: float) -> None:
        start, end = currentCommunicationPoint, currentCommunicationPoint + communicationStepSize
        free = about.canHandleVariableCommunicationStepSize
        times = pieces(given.values() if free else (), start, end, own, divide=True)
        lines = {name: (item.lines if free else item.secants)(times) for name, item in given.items()}
        for k, (t, t1) in enumerate(pairwise(times)):
            give({
                name: values[k] + (rates[k] * (t1 - t) / 2 if name in mean else 0.0)
                for name, (values, rates) in lines.items()
            })  # fmt: skip
            if ramped:
                slopes = (c_double * len(ramped))(*(lines[name][1][k] for name in ramped))
                instance.fmi2SetRealInputDerivatives(instance.component, vrs, len(ramped), orders, slopes)
            step(currentCommunicationPoint=t, communicationStepSize=t1 - t)
        give({name: item.at(end) for name, item in given.items()})  # the outputs of the row that follows belong to it

    instance.doStep = do_step
    try:
        yield
    finally:
        del instance.doStep


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


def _rows(given: Mapping[str, Course], points: npt.NDArray[np.float64], own: float) -> npt.NDArray[np.void]:
    """Return inputs as FMPy's table, which an FMU for model exchange follows by lines."""
    times = [float(points[0])]
    for start, end in pairwise(points.tolist()):
        times += pieces(given.values(), start, end, own, divide=True)[1:]
    columns = [[item.at(time) for time in times] for item in given.values()]
    rows: npt.NDArray[np.void] = np.array(
        list(zip(times, *columns, strict=True)), dtype=[("time", float), *((name, float) for name in given)]
    )
    return rows


def _default_step(description: Any) -> float:
    experiment = description.defaultExperiment
    return float(experiment.stepSize) if experiment is not None and experiment.stepSize else 1e-2


def unit_of(variable: Any) -> str:
    """Return the unit of a variable of FMPy's model description, from the variable or from its type."""
    return variable.unit or (variable.declaredType.unit if variable.declaredType is not None else "") or "1"

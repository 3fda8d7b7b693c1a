"""Simulation: run a mechanism with its own kernel, or an .fmu through FMPy."""

import math
import os
import time as clock
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.dae.energy import STORED, Constant
from mbfmu.errors import FmuError, ResultWarning, StepError, UnknownNameError, UsageError, nearest
from mbfmu.fmu.interface import STEP, TOLERANCE
from mbfmu.kernel import vector
from mbfmu.kernel.runtime import OK, Energy, move
from mbfmu.model import Model
from mbfmu.model.expression import Expression
from mbfmu.prepared.prepare import Prepared, prepare
from mbfmu.result import Result, read_csv

InputFunction = Callable[[float], float]
Progress = Callable[[float], None]
POINTS = 500
"""Default number of output points of a run, approximately."""
MOST_POINTS = 10_000_000
MOST_NOTICES = 5
"""Largest number of different messages of an FMU that are kept as notices."""


def simulate(
    model: Model | str | os.PathLike[str],
    stop: float,
    *,
    stepper: str | None = None,
    options: Mapping[str, Any] | None = None,
    step: float | None = None,
    tolerance: float | None = None,
    output_interval: float | None = None,
    values: Mapping[str, float] | None = None,
    inputs: Mapping[str, str | InputFunction] | None = None,
    coordinates: str | None = None,
    energy_balance: bool = False,
    progress: Progress | None = None,
) -> Result:
    """Run a mechanism, or an FMU through FMPy, from 0 to `stop`.

    Gives a `ResultWarning` for each notice of the result: an error of the energy, or a message of the FMU.

    Args:
        model: a model, or the path of an .fmu file (which contains its stepper).
        stop: end of the run, s.
        stepper: name of the stepper (not for an .fmu); None: the one the model names, else `rattle`, or `projected` for
            nonholonomic constraints.
        options: options of the stepper (not for an .fmu).
        step: longest step of the stepper, s (default 0.001, or the step of the .fmu).
        tolerance: error that a second of motion may add, relative to 1 and the size of coordinates and rates; the steps
            are then chosen, up to `step`. None or 0: equal steps (None: the tolerance of the .fmu).
        output_interval: time between outputs, s, which is the communication step: inputs are held within it. Default:
            a multiple of the step that gives about 500 points.
        values: parameters and start values by name.
        inputs: by name, an expression of ``time`` such as ``"2*sin(time)"``, the path of a .csv file with a column of
            that name, or a function of the time. A row of the result holds the input that acts from its time on; for an
            .fmu, it holds the input that acted until then.
        coordinates: ``absolute`` or ``joint`` (not for an .fmu); None: joint coordinates if they are fewer.
        energy_balance: whether `energy.balance` is computed, for a mechanism (not for an .fmu): stored energy plus
            losses minus what was put in, J.
        progress: called with the fraction done.

    Raises:
        UsageError: an argument is invalid.
        ModelError, StepperError, StartError: the model, the stepper or the start is invalid.
        StepError: a step failed.
        FmuError: the FMU cannot be run.
    """
    if not (math.isfinite(stop) and stop > 0):
        raise UsageError(f"the stop time is {stop} s; it must be a positive number")
    signals = {name: input_function(name, given) for name, given in (inputs or {}).items()}
    report = progress or (lambda _: None)
    if isinstance(model, Model):
        prepared = prepare(
            model.with_values(values or {}),
            stepper,
            options,
            1e-3 if step is None else step,
            tolerance or 0.0,
            coordinates,
            energy_balance,
        )
        return _warned(run_prepared(prepared, stop, output_interval, signals, report))
    path = Path(model)
    if path.suffix != ".fmu":
        raise UsageError(f"'{path}' is not an .fmu file; read a model file with mbfmu.load")
    if options or stepper or coordinates or energy_balance:
        raise UsageError(
            f"'{path}' has its stepper inside: --stepper, --option, --coordinates and --energy-balance go with export"
        )
    messages = Messages()
    result = simulate_fmu(
        path, read_fmu(path), messages, stop, step, tolerance, output_interval, values or {}, signals, report,
        logger=messages.note, debug_logging=True,
    )  # fmt: skip
    return _warned(result)


def _warned(result: Result) -> Result:
    for text in result.notices:
        warnings.warn(text, ResultWarning, stacklevel=3)
    return result


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


def input_function(name: str, given: str | InputFunction) -> InputFunction:
    """Return an input as a function of the time, from the value that a user gives for it (see `simulate`).

    Raises:
        UsageError: the value is neither an expression of ``time`` nor a file with such a column.
    """
    if callable(given):
        return given
    if given.endswith(".csv"):
        columns = read_csv(given)
        if name not in columns:
            raise UsageError(f"'{given}' has no column '{name}'; {nearest(name, columns)}")
        times, column = columns["time"], columns[name]
        return lambda t: float(np.interp(t, times, column))
    expression = Expression(given)
    unknown = expression.names - {"time"}
    if unknown:
        raise UsageError(
            f"input {name} = '{given}': an input is an expression of 'time', not of {sorted(unknown)[0]!r}"
        )
    symbol = ca.SX.sym("time")
    function = ca.Function("input", [symbol], [expression.evaluate(lambda _: symbol)])
    return lambda t: float(function(t))


def _sampled(
    signals: Mapping[str, InputFunction], points: npt.NDArray[np.float64]
) -> dict[str, npt.NDArray[np.float64]]:
    table = {name: np.array([signal(float(t)) for t in points]) for name, signal in signals.items()}
    for name, column in table.items():
        if not np.all(np.isfinite(column)):
            bad = points[np.argmin(np.isfinite(column))]
            raise UsageError(f"input {name} is not finite at t = {bad:g} s")
    return table


def run_prepared(
    prepared: Prepared,
    stop: float,
    interval: float | None = None,
    signals: Mapping[str, InputFunction] | None = None,
    report: Progress = lambda _: None,
    *,
    s: Any = None,
    p: Any = None,
    watch: Callable[[float, Any], None] = lambda _t, _x: None,
) -> Result:
    """Run a prepared model from 0 to `stop`.

    Args:
        prepared: the model with its stepper.
        stop: end of the run, s.
        interval: time between outputs, s; None: about 500 points.
        signals: inputs as functions of the time, by name; the others keep their start values.
        report: called with the fraction done.
        s: start values, shape (n_s,); None: the model's.
        p: parameters, shape (n_p,); None: the model's.
        watch: called with time and state x at every communication point.

    Raises:
        StartError: there is no consistent state with the start values.
        StepError: a step failed.
        UsageError, UnknownNameError: an input is invalid.
    """
    outline = prepared.outline
    name, step, tolerance = outline.name, prepared.step, prepared.tolerance
    signals = signals or {}
    inputs = [item.name for item in outline.inputs]
    for item in signals:
        if item not in inputs:
            raise UnknownNameError(f"'{name}' has no input '{item}'; {nearest(item, inputs)}")
    points = communication_points(stop, step, interval)
    table = _sampled(signals, points)
    columns = [table.get(item.name, np.full(len(points), item.start)) for item in outline.inputs]
    kernel = prepared.kernel
    p = vector(outline.p_default() if p is None else p)
    u, still = vector([column[0] for column in columns]), vector([0.0] * len(inputs))
    x = prepared.initial_state(u, None if s is None else vector(s), p)
    watch(0.0, x)
    rows = [[*u, *kernel.outputs(x, u, p, 0.0)]]
    steps, seconds = 0, 0.0
    for k, (t, t1) in enumerate(zip(points[:-1].tolist(), points[1:].tolist(), strict=True)):
        begin = clock.perf_counter()
        x, status = move(kernel, x, u, still, p, t, t1 - t, step, tolerance)
        seconds += clock.perf_counter() - begin
        if status.code != OK:
            raise StepError(status.message(name))
        steps += int(status.substeps)
        watch(t1, x)
        u = vector([column[k + 1] for column in columns])
        rows.append([*u, *kernel.outputs(x, u, p, t1)])
        report((k + 1) / (len(points) - 1))
    signals_out = [*outline.inputs, *outline.outputs]
    names, table_out = tuple(item.name for item in signals_out), np.array(rows)[:, : len(signals_out)]
    return Result(
        points,
        names,
        table_out,
        {item.name: item.unit for item in signals_out},
        steps,
        seconds,
        tuple(item.derivative_of for item in signals_out if item.derivative_of and item.kind == "output"),
        _energy_notices(outline.constant, names, table_out, len(inputs)),
    )


def _energy_notices(
    constant: Constant, names: tuple[str, ...], rows: npt.NDArray[np.float64], n_u: int
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
    signals: Mapping[str, InputFunction],
    report: Progress = lambda _: None,
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
        signals: inputs as functions of the time, by name.
        report: called with the fraction done.
        how: further arguments of FMPy's simulate_fmu, such as an instance to use.

    Raises:
        FmuError, StepError: the FMU cannot be run.
        UsageError, UnknownNameError: a value or an input is invalid.
    """
    import fmpy

    variables = {item.name: item for item in description.modelVariables}
    for name in [*values, *signals]:
        if name not in variables:
            raise UnknownNameError(f"'{path}' has no variable '{name}'; {nearest(name, variables)}")
    for name in signals:
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
    points = communication_points(stop, default if step is None else step, interval)
    table = _sampled(signals, points)
    if table:  # FMPy needs every input in its table
        rest = [item for item in description.modelVariables if item.causality == "input" and item.name not in table]
        for item in rest:
            table[item.name] = np.full(len(points), float(values.get(item.name, item.start or 0.0)))
    dtype = [("time", float), *((name, float) for name in table)]
    rows = np.array(list(zip(points, *table.values(), strict=True)), dtype=dtype) if table else None
    shown = [
        item.name
        for item in description.modelVariables
        if item.causality in {"input", "output", "local"} and item.type == "Real"
    ]

    def finished(time: float, _recorder: Any) -> bool:
        report(min(1.0, time / stop))
        return True

    begin = clock.perf_counter()
    try:
        found = fmpy.simulate_fmu(
            str(path),
            stop_time=stop,
            output_interval=float(points[1] - points[0]),
            start_values=start_values,
            input=rows,
            output=shown,
            step_finished=finished,
            set_stop_time=False,
            **how,
        )
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
        motions=tuple(
            item.derivative.name
            for item in description.modelVariables
            if item.derivative is not None and item.causality == "output"
        ),
        notices=tuple(dict.fromkeys(messages))[:MOST_NOTICES],
    )


def _default_step(description: Any) -> float:
    experiment = description.defaultExperiment
    return float(experiment.stepSize) if experiment is not None and experiment.stepSize else 1e-2


def unit_of(variable: Any) -> str:
    """Return the unit of a variable of FMPy's model description, from the variable or from its type."""
    return variable.unit or (variable.declaredType.unit if variable.declaredType is not None else "") or "1"

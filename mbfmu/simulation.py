"""Simulation: run a mechanism with its own kernel, or an .fmu through FMPy."""

import math
import os
import time as clock
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.errors import FmuError, StepError, UnknownNameError, UsageError, nearest
from mbfmu.fmu.interface import STEP, TOLERANCE
from mbfmu.fmu.prepare import prepare
from mbfmu.kernel import vector
from mbfmu.kernel.runtime import OK, move
from mbfmu.model import LagrangianSystem, Model, System
from mbfmu.model.expression import Expression
from mbfmu.result import Result, read_csv

Signal = Callable[[float], float]
Progress = Callable[[float], None]
POINTS = 500
"""About how many output points a run has if nobody says."""
MOST_POINTS = 10_000_000


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
    inputs: Mapping[str, str | Signal] | None = None,
    coordinates: str | None = None,
    progress: Progress | None = None,
) -> Result:
    """Run a mechanism, or an FMU through FMPy, from 0 to `stop`.

    Args:
        model: a System, or the path of an .fmu file (which has its stepper inside).
        stop: s.
        stepper: name of the stepper (not for an .fmu); None: the one the model names, else `rattle`, or `projected` for
            nonholonomic constraints.
        options: its options (not for an .fmu).
        step: longest step of the stepper, s (default 0.001, or what the .fmu says).
        tolerance: error that a second of motion may add, relative to 1 and the size of coordinates and rates; the steps
            are then chosen, up to `step`. None or 0: equal steps (None: what the .fmu says).
        output_interval: s between outputs, which is the communication step: inputs are held within it. Default: about
            500 points, a multiple of the step.
        values: parameters and start values by name.
            A row of the result holds the input that acts from its time on; FMPy's rows hold the one until then.
        inputs: by name, an expression of ``time`` such as ``"2*sin(time)"``, the path of a .csv file with a column of
            that name, or a function of the time.
        coordinates: ``absolute`` or ``joint`` (not for an .fmu); None: joint coordinates if they are fewer.
        progress: is told the fraction done.

    Raises:
        UsageError: the arguments do not fit.
        ModelError, StepperError, StartError: the model cannot be.
        StepError: a step could not be done.
        FmuError: the FMU cannot be run.
    """
    if not (math.isfinite(stop) and stop > 0):
        raise UsageError(f"the stop time is {stop} s; it must be a positive number")
    signals = {name: _signal(name, given) for name, given in (inputs or {}).items()}
    report = progress or (lambda _: None)
    if isinstance(model, System | LagrangianSystem):
        return _simulate_system(
            model.with_values(values or {}),
            stop,
            stepper,
            options,
            1e-3 if step is None else step,
            tolerance or 0.0,
            coordinates,
            output_interval,
            signals,
            report,
        )
    path = Path(model)
    if path.suffix != ".fmu":
        raise UsageError(f"'{path}' is no .fmu file; read a model file with mbfmu.load")
    if options or stepper or coordinates:
        raise UsageError(f"'{path}' has its stepper inside: --stepper, --option and --coordinates go with export")
    return _simulate_fmu(path, stop, step, tolerance, output_interval, values or {}, signals, report)


def communication_points(stop: float, step: float, interval: float | None) -> npt.NDArray[np.float64]:
    """Return the communication points 0, H, 2 H, ..., stop, shape (n + 1,); the last interval may be shorter.

    Args:
        stop: s.
        step: of the stepper, s.
        interval: H in s; None: a multiple of the step, about 500 points.

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


def _signal(name: str, given: str | Signal) -> Signal:
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


def _sampled(signals: Mapping[str, Signal], points: npt.NDArray[np.float64]) -> dict[str, npt.NDArray[np.float64]]:
    table = {name: np.array([signal(float(t)) for t in points]) for name, signal in signals.items()}
    for name, column in table.items():
        if not np.all(np.isfinite(column)):
            bad = points[np.argmin(np.isfinite(column))]
            raise UsageError(f"input {name} is not finite at t = {bad:g} s")
    return table


def _simulate_system(
    system: Model,
    stop: float,
    stepper: str | None,
    options: Mapping[str, Any] | None,
    step: float,
    tolerance: float,
    coordinates: str | None,
    interval: float | None,
    signals: Mapping[str, Signal],
    report: Progress,
) -> Result:
    prepared = prepare(system, stepper, options, step, tolerance, coordinates)
    inputs = [item.name for item in prepared.dae.inputs]
    for name in signals:
        if name not in inputs:
            raise UnknownNameError(f"'{system.name}' has no input '{name}'; {nearest(name, inputs)}")
    points = communication_points(stop, step, interval)
    table = _sampled(signals, points)
    columns = [table.get(name, np.zeros(len(points))) for name in inputs]
    kernel, p = prepared.kernel, vector(prepared.dae.p_default())
    u, still = vector([column[0] for column in columns]), vector([0.0] * len(inputs))
    x = prepared.initial_state(u)
    rows = [[*u, *kernel.outputs(x, u, p, 0.0)]]
    steps, seconds = 0, 0.0
    for k, (t, t1) in enumerate(zip(points[:-1].tolist(), points[1:].tolist(), strict=True)):
        begin = clock.perf_counter()
        x, status = move(kernel, x, u, still, p, t, t1 - t, step, tolerance)
        seconds += clock.perf_counter() - begin
        if status.code != OK:
            raise StepError(status.message(system.name))
        steps += int(status.substeps)
        u = vector([column[k + 1] for column in columns])
        rows.append([*u, *kernel.outputs(x, u, p, t1)])
        report((k + 1) / (len(points) - 1))
    signals_out = [*prepared.dae.inputs, *prepared.dae.outputs]
    n_shown = len(signals_out)
    return Result(
        points,
        tuple(item.name for item in signals_out),
        np.array(rows)[:, :n_shown],
        {item.name: item.unit for item in signals_out},
        steps,
        seconds,
    )


def _simulate_fmu(
    path: Path,
    stop: float,
    step: float | None,
    tolerance: float | None,
    interval: float | None,
    values: Mapping[str, float],
    signals: Mapping[str, Signal],
    report: Progress,
) -> Result:
    import fmpy

    if not path.is_file():
        raise FmuError(f"there is no FMU '{path}'")
    try:
        description = fmpy.read_model_description(str(path))
    except Exception as error:  # noqa: BLE001 - FMPy raises plain Exceptions
        raise FmuError(f"'{path}' is no FMU that FMPy can read: {error}") from None
    variables = {item.name: item for item in description.modelVariables}
    for name in [*values, *signals]:
        if name not in variables:
            raise UnknownNameError(f"'{path}' has no variable '{name}'; {nearest(name, variables)}")
    for name in signals:
        if variables[name].causality != "input":
            raise UsageError(f"'{name}' of '{path}' is no input but {variables[name].causality}")
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
    if table:  # FMPy wants every input in its table
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
    messages: list[str] = []

    def note(_environment: Any, _instance: Any, status: int, _category: Any, message: bytes) -> None:
        if status:
            messages.append(message.decode("utf-8", "replace").strip())

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
            logger=note,
            debug_logging=True,
            step_finished=finished,
            set_stop_time=False,
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
        {name: _unit(variables[name]) for name in shown},
        seconds=seconds,
    )


def _default_step(description: Any) -> float:
    experiment = description.defaultExperiment
    return float(experiment.stepSize) if experiment is not None and experiment.stepSize else 1e-2


def _unit(variable: Any) -> str:
    return variable.unit or (variable.declaredType.unit if variable.declaredType is not None else "") or "1"

"""Simulation: run a mechanism with its own kernel, or an .fmu through FMPy."""

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mbfmu.base.arguments import checked
from mbfmu.base.result import Result
from mbfmu.errors import ResultWarning, UsageError
from mbfmu.model import Model
from mbfmu.model.library import is_fmu, model_of
from mbfmu.prepared.prepare import prepare
from mbfmu.run.fmu import TIMEOUT, fmu_run, read_fmu, worded
from mbfmu.run.fmu_process import run_apart
from mbfmu.run.inputs import InputValue, courses, formulas
from mbfmu.run.model import Progress, run_prepared
from mbfmu.stepper import Choice


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
            .fmu); None: the one the model names, else one that suits the structure of the equations.
        options: options of the stepper (not for an .fmu).
        step: longest step of the stepper, s (default 0.001, or the step of the .fmu).
        tolerance: error that a second of motion may add, relative to 1 and the size of coordinates and rates; the steps
            are then chosen, up to `step`. None or 0: equal steps (None: the tolerance of the .fmu). Of an .fmu for
            model exchange: the relative tolerance of the solver.
        output_interval: time between outputs, s. Default: a multiple of the step that gives about 500 points.
        values: parameters and start values by name; in an .fmu also texts, and the names of an enumeration's items.
        inputs: by name, a number, an expression of ``time`` such as ``"2*sin(time)"``, the path of a table (.csv,
            .parquet, .mat, .npz) with a column of that name, or a function of the time. In a model, an expression is
            part of the equations; a table is followed by lines from point to point, a function by lines from step to
            step. An .fmu gets its inputs at steps of its own length, with their derivatives if it takes these, else
            their means. Whole-number inputs are rounded, Boolean inputs true unless they are zero; both are held over
            each step, and tables for them from point to point. A row of the result holds the input that acts from its
            time on.
        input_hold: whether tables hold each value until the next.
        coordinates: ``absolute``, ``joint``, or mixed as ``absolute:load`` (not for an .fmu); None: joint
            coordinates if they are fewer.
        energy_balance: whether `energy.balance` is computed, for a mechanism (not for an .fmu): stored energy plus
            losses minus what was put in, J.
        show: names that tables and pictures of the result show, or patterns such as ``boom.*``; empty: a selection.
        start: begin of the run of an .fmu, s; None: the start time of its DefaultExperiment.
        timeout: seconds after which an .fmu that does not answer is ended; None: 60.
        progress: called with the fraction done.

    Raises:
        UsageError: an argument is invalid.
        ModelError, StepperError, StartError: the model, the stepper or the start is invalid.
        StepError: a step failed, or an output is not finite.
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
        texts, rest = worded(description, inputs or {})
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

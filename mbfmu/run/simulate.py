"""Simulation: run a mechanism with its own kernel, or an .fmu through FMPy."""

import math
import os
import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np

from mbfmu.base.described import Described, takes
from mbfmu.base.result import Result
from mbfmu.base.units import display_of
from mbfmu.errors import ResultWarning, UsageError
from mbfmu.model import Model
from mbfmu.model.library import is_fmu, model_of
from mbfmu.prepared import settings
from mbfmu.prepared.prepare import Prepared, prepare_run
from mbfmu.prepared.settings import RunSettings
from mbfmu.run.fmu import TIMEOUT, fmu_run, read_fmu, worded
from mbfmu.run.fmu_process import run_apart
from mbfmu.run.inputs import courses, formulas
from mbfmu.run.model import Progress, communication_points, run_prepared
from mbfmu.run.resolved import resolved


@dataclass(frozen=True)
class SimulateArguments(RunSettings):
    """The arguments of `simulate`."""

    model: Annotated[
        Model | str | os.PathLike[str],
        Described(
            "a model, a name in models/, the path of a model file, or the path of an .fmu file (which contains its "
            "stepper)"
        ),
    ]
    stop: Annotated[float, settings.STOP]
    _: KW_ONLY
    energy_balance: Annotated[bool, settings.ENERGY_BALANCE] = False
    error_samples: Annotated[int, settings.ERROR_SAMPLES] = settings.OFTEN
    tolerance_of_result: Annotated[float, settings.TOLERANCE_OF_RESULT] = 0.0
    show: Annotated[Sequence[str], settings.SHOW] = ()
    display: Annotated[Sequence[str], settings.DISPLAY] = ()
    start: Annotated[
        float | None,
        Described("begin of the run of an .fmu", unit="s", more="; None: the start time of its DefaultExperiment"),
    ] = None
    timeout: Annotated[float | None, settings.TIMEOUT] = None
    kind: Annotated[str | None, settings.KIND] = None
    validate: Annotated[bool, settings.VALIDATE] = True
    progress: Annotated[Progress | None, settings.PROGRESS] = None


@takes(SimulateArguments)
def simulate(run: SimulateArguments) -> Result:
    """Run a mechanism from 0 to `stop`, or an FMU through FMPy, in a process of its own.

    Gives a `ResultWarning` for each notice of the result: an error of the steps or of the energy, or a message of the
    FMU. An FMU has its stepper inside: stepper, options, coordinates and energy balance are not for one.

    Raises:
        UsageError: an argument is invalid.
        ModelError, StepperError, StartError: the model, the stepper or the start is invalid.
        StepError: a step failed, or an output is not finite.
        FmuError: the FMU cannot be run, does not answer, or ends its process.
    """
    report = run.progress or (lambda _: None)
    if not isinstance(run.model, Model) and is_fmu(run.model):
        return _warned(_of_fmu(run, Path(run.model), report), run)
    if not (run.start is None and run.timeout is None):
        raise UsageError("--start and --timeout are for an .fmu: a model runs from 0")
    if not (run.kind is None and run.validate):
        raise UsageError("--kind and --no-validate are for an .fmu")
    if not (math.isfinite(run.stop) and run.stop > 0):
        raise UsageError(f"the stop time is {run.stop} s; it must be a positive number")
    settings.check_samples(run.error_samples)
    inputs = courses(run.inputs, run.input_hold)
    model = model_of(run.model, run.values)

    def prepared(step: float | None) -> Prepared:
        return prepare_run(model, replace(run, step=step), formulas(inputs), run.energy_balance)

    def with_step(step: float | None, interval: float | None, samples: int) -> Result:
        return run_prepared(prepared(step), run.stop, interval, inputs, report, show=run.show, error_samples=samples)

    if not run.tolerance_of_result:
        return _warned(with_step(run.step, run.output_interval, run.error_samples), run)
    settings.check_tolerance_of_result(run.tolerance_of_result, run.tolerance)
    step, order = run.step or settings.STEP, prepared(run.step).kernel.order
    interval = run.output_interval or float(np.diff(communication_points(run.stop, step, None))[0])
    samples = run.error_samples or settings.OFTEN
    return _warned(resolved(lambda h: with_step(h, interval, samples), step, order, run.tolerance_of_result), run)


def _of_fmu(run: SimulateArguments, path: Path, report: Progress) -> Result:
    """Return the run of an FMU; errors as for `simulate`."""
    of_models = run.error_samples != settings.OFTEN or run.tolerance_of_result
    if run.options or run.stepper or run.coordinates or run.energy_balance or of_models:
        raise UsageError(
            f"'{path}' has its stepper inside: --stepper, --option, --coordinates and --energy-balance go with export, "
            "--error-samples and --tolerance-of-result with models"
        )
    if not (run.timeout is None or run.timeout > 0):
        raise UsageError(f"the timeout is {run.timeout} s; it must be a positive number")
    settings.check_kind(run.kind)
    description = read_fmu(path, kind=run.kind, validate=run.validate)
    texts, rest = worded(description, run.inputs or {})
    wanted = fmu_run(
        path, description, run.stop, run.step, run.tolerance, run.output_interval, {**(run.values or {}), **texts},
        courses(rest, run.input_hold), run.show, run.start,
    )  # fmt: skip
    return run_apart(wanted, TIMEOUT if run.timeout is None else run.timeout, report)


def _warned(result: Result, run: SimulateArguments) -> Result:
    for text in result.notices:
        warnings.warn(text, ResultWarning, stacklevel=3)
    return replace(result, display=display_of(run.display))

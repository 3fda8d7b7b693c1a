"""The run with the values at which a search ended."""

from collections.abc import Mapping

from mbfmu.base.result import Result
from mbfmu.model import Model
from mbfmu.prepared.prepare import prepare_run
from mbfmu.prepared.settings import RunSettings
from mbfmu.run.inputs import courses, formulas
from mbfmu.run.model import run_prepared


def final_run(system: Model, settings: RunSettings, values: Mapping[str, float], stop: float) -> Result:
    """Run a model with other values, and return the result with its estimated error.

    Args:
        system: the model.
        settings: stepper, step, inputs and output points.
        values: parameters and start values by name; the others are the model's.
        stop: end of the run, s.

    Raises:
        StartError, StepError: the run fails.
    """
    inputs = courses(settings.inputs, settings.input_hold)
    prepared = prepare_run(system, settings, formulas(inputs))
    p, s = (
        [values.get(item.name, item.value) for item in items]
        for items in (prepared.outline.parameters, prepared.outline.starts)
    )
    return run_prepared(prepared, stop, settings.output_interval, inputs, s=s, p=p)

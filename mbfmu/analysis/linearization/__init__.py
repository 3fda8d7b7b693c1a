"""Linearization: the state-space form of a mechanism, a block or an FMU about a state, its modes, gain and phase."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mbfmu.analysis.linearization.fmu import linearize_fmu
from mbfmu.analysis.linearization.linear import ENDINGS, Linear, Mode
from mbfmu.analysis.linearization.mechanism import linearize_model
from mbfmu.analysis.linearization.response import FrequencyResponse, Margin, frequency_response
from mbfmu.analysis.linearization.sampled import held
from mbfmu.base.arguments import checked
from mbfmu.errors import UsageError
from mbfmu.model import Model
from mbfmu.model.library import is_fmu, model_of
from mbfmu.run.inputs import InputValue, courses
from mbfmu.stepper import Choice

__all__ = ["ENDINGS", "FrequencyResponse", "Linear", "Margin", "Mode", "bode", "frequency_response", "linearize"]


@checked
def linearize(
    model: Model | str | os.PathLike[str],
    values: Mapping[str, Any] | None = None,
    *,
    inputs: Mapping[str, InputValue] | None = None,
    input_hold: bool = False,
    outputs: Sequence[str] = (),
    states: Sequence[str] = (),
    at: float | None = None,
    stepper: str | Choice | None = None,
    step: float | None = None,
    coordinates: str | None = None,
    period: float | None = None,
) -> Linear:
    """Return the state-space form of a mechanism, a block or an FMU about its start, or about a later state of a run.

    Integer and Boolean inputs stay as they are; they are no inputs of the form.

    Args:
        model: the mechanism or block, a name in models/, the path of a model file, or the path of an .fmu file that
            gives directional derivatives.
        values: start values and parameters that differ from the model's, by name, in SI units.
        inputs: inputs by name, in SI units, as `simulate` takes them; the others have their start values, mostly 0.
        input_hold: see `simulate`.
        outputs: names of real outputs; () for all that can be connected, such as those of the joints.
        states: names of the joint coordinates that are states with their rates, as many as there are degrees of
            freedom; () for a choice by pivoting that prefers driven joints. This and the following are not for an FMU.
        at: time, s, to which a run goes before its state is taken; None: the start.
        stepper: of that run, see `simulate`.
        step: of that run, s, see `simulate`.
        coordinates: ``absolute``, ``joint``, or mixed as ``absolute:load``; None: joint coordinates if they are fewer.
        period: of a sampled-data form with held inputs, s; None: continuous, but for a model with sampled blocks, which
            has their period.

    Raises:
        ModelError, StartError: the model or its start is invalid.
        StepError: the run failed.
        FmuError: the FMU cannot be started, or gives no directional derivatives or states.
        UnknownNameError: there is no such output, parameter, start value, input or state.
        UsageError: an input is not a finite number, the states cannot be chosen so, or the values are so large that the
            equations are not finite.
    """
    given = courses(inputs, input_hold)
    if not isinstance(model, Model) and is_fmu(model):
        alien = {"states": states, "at": at, "stepper": stepper, "step": step, "coordinates": coordinates}
        if wrong := [option for option, value in alien.items() if value]:
            raise UsageError(f"'{model}' is an FMU, which is linearized about its start: leave {', '.join(wrong)} out")
        form = linearize_fmu(Path(model), values or {}, given, tuple(outputs))
        return form if period is None else held(form, period)
    return linearize_model(
        model_of(model, values), given, tuple(outputs), tuple(states), at, stepper, 1e-3 if step is None else step,
        coordinates, period,
    )  # fmt: skip


@checked
def bode(
    model: Model | str | os.PathLike[str],
    values: Mapping[str, Any] | None = None,
    *,
    sources: Sequence[str] = (),
    outputs: Sequence[str] = (),
    frequency: Sequence[float] | None = None,
    inputs: Mapping[str, InputValue] | None = None,
    input_hold: bool = False,
    at: float | None = None,
    stepper: str | Choice | None = None,
    step: float | None = None,
    coordinates: str | None = None,
    period: float | None = None,
) -> FrequencyResponse:
    """Return gain and phase over the frequency, of a mechanism, a block or an FMU about its start or a later state.

    Args:
        model: see `linearize`.
        values: see `linearize`.
        sources: names of the inputs that oscillate; () for all real ones.
        outputs: names of real outputs that answer; () for those that are coordinates or states, or for all of a model
            where none is.
        frequency: Hz, rising; None: 400 of them around the eigenvalues, up to half the sampling frequency.
        inputs: values of inputs about which they oscillate, by name, see `linearize`.
        input_hold: see `simulate`.
        at: see `linearize`, s.
        stepper: see `linearize`.
        step: see `linearize`, s.
        coordinates: see `linearize`.
        period: of inputs that are held, and outputs that are sampled, s; None: continuous, but for a model with sampled
            blocks, which has their period.

    Raises:
        ModelError, StartError: the model or its start is invalid.
        StepError, FmuError: the run failed, or the FMU cannot be linearized.
        UnknownNameError: there is no such input, output, parameter or start value.
        UsageError: the frequencies are not positive and rising, or beyond half the sampling frequency, or there are no
            inputs or outputs.
    """
    linear = linearize(
        model, values, inputs=inputs, input_hold=input_hold, outputs=outputs, at=at, stepper=stepper, step=step,
        coordinates=coordinates, period=period,
    )  # fmt: skip
    places = [name for name in linear.outputs if name in (*linear.coordinates, *linear.states)]
    return frequency_response(linear, frequency, sources, outputs or places)

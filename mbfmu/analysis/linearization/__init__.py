"""Linearization: the state-space form of a mechanism, a block or an FMU about a state, its modes, gain and phase."""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from mbfmu.analysis.linearization.fmu import linearize_fmu
from mbfmu.analysis.linearization.linear import ENDINGS, Linear, Mode
from mbfmu.analysis.linearization.mechanism import linearize_model
from mbfmu.analysis.linearization.response import FrequencyResponse, Margin, frequency_response
from mbfmu.analysis.linearization.sampled import held
from mbfmu.base.described import Described, part_of, takes
from mbfmu.errors import EquilibriumError, UsageError
from mbfmu.model import Model
from mbfmu.model.library import is_fmu, model_of
from mbfmu.prepared.settings import RunSettings, StateSettings
from mbfmu.run.inputs import Course, courses

__all__ = ["ENDINGS", "FrequencyResponse", "Linear", "Margin", "Mode", "bode", "frequency_response", "linearize"]


@dataclass(frozen=True)
class PointArguments(StateSettings):
    """The arguments of all that is computed from the equations about a state."""

    model: Annotated[
        Model | str | os.PathLike[str],
        Described(
            "the mechanism or block, a name in models/, the path of a model file, or the path of an .fmu file that "
            "gives directional derivatives"
        ),
    ]
    values: Annotated[
        Mapping[str, Any] | None,
        Described("start values and parameters that differ from the model's, by name, in SI units"),
    ] = None
    _: KW_ONLY
    outputs: Annotated[
        Sequence[str],
        Described("names of real outputs; () for all that can be connected, such as those of the joints"),
    ] = ()
    at: Annotated[
        float | Literal["equilibrium"] | None,
        Described(
            "time to which a run goes before its state is taken",
            unit="s",
            more="; ``equilibrium``: the state that `equilibrium` finds from the start; None: the start",
        ),
    ] = None
    hold: Annotated[
        Mapping[str, float] | None,
        Described(
            "values that coordinates, velocities, states, inputs or other outputs have in the equilibrium, by name"
        ),
    ] = None
    free: Annotated[
        Sequence[str], Described("names of inputs and parameters that are unknown in the equilibrium too")
    ] = ()
    period: Annotated[
        float | None,
        Described(
            "period of a sampled-data form with held inputs",
            unit="s",
            more="; None: continuous, but for a model with sampled blocks, which has their period",
        ),
    ] = None


@dataclass(frozen=True)
class LinearizeArguments(PointArguments):
    """The arguments of `linearize`."""

    _: KW_ONLY
    states: Annotated[
        Sequence[str],
        Described(
            "names of the joint coordinates that are states with their velocities, as many as there are degrees "
            "of freedom; "
            "() for a choice by pivoting that prefers driven joints"
        ),
    ] = ()


@dataclass(frozen=True)
class BodeArguments(PointArguments):
    """The arguments of `bode`."""

    _: KW_ONLY
    sources: Annotated[Sequence[str], Described("names of the inputs that oscillate; () for all real ones")] = ()
    outputs: Annotated[
        Sequence[str],
        Described(
            "names of real outputs that answer; () for those that are coordinates or states, or for all of a model "
            "where none is"
        ),
    ] = ()
    frequency: Annotated[
        Sequence[float] | None,
        Described(
            "frequencies, rising",
            unit="Hz",
            more="; None: 400 of them around the eigenvalues, up to half the sampling frequency",
        ),
    ] = None


@takes(LinearizeArguments)
def linearize(point: LinearizeArguments) -> Linear:
    """Return the state-space form of a mechanism, a block or an FMU about its start, or about a later state of a run.

    Integer and Boolean inputs stay as they are; they are no inputs of the form. An FMU is linearized about its start:
    states, time, stepper, step and coordinates are not for it.

    Raises:
        ModelError, StartError: the model or its start is invalid.
        StepError: the run failed.
        EquilibriumError: there is no equilibrium near the start, or it is not determined.
        FmuError: the FMU cannot be started, or gives no directional derivatives or states.
        UnknownNameError: there is no such output, parameter, start value, input or state.
        UsageError: an input is not a finite number, the states cannot be chosen so, or the values are so large that the
            equations are not finite.
    """
    return _linearized(point, point.states)


@takes(BodeArguments)
def bode(point: BodeArguments) -> FrequencyResponse:
    """Return gain and phase over the frequency, of a mechanism, a block or an FMU about its start or a later state.

    Raises:
        ModelError, StartError: the model or its start is invalid.
        StepError, FmuError: the run failed, or the FMU cannot be linearized.
        EquilibriumError: there is no equilibrium near the start, or it is not determined.
        UnknownNameError: there is no such input, output, parameter or start value.
        UsageError: the frequencies are not positive and rising, or beyond half the sampling frequency, or there are no
            inputs or outputs.
    """
    linear = _linearized(point, ())
    positions = [name for name in linear.outputs if name in (*linear.coordinates, *linear.states)]
    return frequency_response(linear, point.frequency, point.sources, point.outputs or positions)


def _linearized(point: PointArguments, states: Sequence[str]) -> Linear:
    """Return the state-space form about a point, in some states; errors as for `linearize`."""
    inputs = courses(point.inputs, point.input_hold)
    model, outputs = point.model, tuple(point.outputs)
    if not isinstance(model, Model) and is_fmu(model):
        alien = {
            "states": states,
            **{name: getattr(point, name) for name in ("at", "hold", "free", "stepper", "step", "coordinates")},
        }
        if wrong := [option for option, value in alien.items() if value]:
            raise UsageError(f"'{model}' is an FMU, which is linearized about its start: leave {', '.join(wrong)} out")
        form = linearize_fmu(Path(model), point.values or {}, inputs, outputs)
        return form if point.period is None else held(form, point.period)
    run, system, at = part_of(point, RunSettings), model_of(model, point.values), point.at
    if at == "equilibrium":
        system, at = _at_rest(system, inputs, point), None
    elif point.hold or point.free:
        raise UsageError("--hold and --free-input are for --at equilibrium")
    return linearize_model(system, run, inputs, outputs, tuple(states), at, point.period)


def _at_rest(system: Model, inputs: Mapping[str, Course], point: PointArguments) -> Model:
    """Return a model that starts in the equilibrium near its start, with its inputs as they are at t = 0."""
    from mbfmu.analysis.equilibria import equilibrium  # which takes the linear form for its stability

    fixed = {name: course.at(0.0) for name, course in inputs.items() if name not in point.free}
    fixed |= point.hold or {}
    try:
        rest = equilibrium(system, hold=fixed, free=point.free, coordinates=point.coordinates)
    except EquilibriumError as error:
        raise EquilibriumError(f"{error}; see `mbfmu equilibrium`, whose file --start takes") from None
    for text in rest.notices:
        warnings.warn(text, stacklevel=2)
    return model_of(system, rest.values)

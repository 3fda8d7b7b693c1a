"""Simulation: a model that steps when Python tells it to, for a controller in a loop without an FMU.

Names and values stand along the last axis of every array; many instances (batch.py) add an axis in front.
"""

import inspect
import math
import os
import reprlib
import struct
import warnings
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from mbfmu.base.arguments import checked, number, numbers
from mbfmu.base.result import RunError
from mbfmu.errors import ResultWarning, StartError, StepError, UnknownNameError, UsageError, nearest
from mbfmu.fmu.failures import facts
from mbfmu.fmu.interface import LIMITS
from mbfmu.kernel import vector
from mbfmu.kernel.errors import begun, estimated
from mbfmu.model import Model
from mbfmu.model.library import is_fmu, model_of
from mbfmu.model.variable_type import VALUES_OF, VariableType, is_value
from mbfmu.prepared.failures import not_finite
from mbfmu.prepared.outline import Outline
from mbfmu.prepared.prepare import Prepared, check_steps, prepare
from mbfmu.prepared.settings import OFTEN, check_samples
from mbfmu.stepper import Choice

Array = npt.NDArray[np.float64]
Inputs = Mapping[str, float] | npt.ArrayLike | None


class Simulation:
    """A model with its stepper at an instant, which `step` advances; its numbers are to the bit those of its FMU.

    Args:
        model: a model, a name in models/, or the path of a model file.
        stepper: see `simulate`.
        options: see `simulate`.
        step: longest step of the stepper, s.
        tolerance: see `simulate`; 0: steps of equal length.
        values: parameters and start values by name.
        inputs: inputs at the start by name; the others have their start values.
        coordinates: ``absolute``, ``joint``, or mixed as ``absolute:load``; None: joint coordinates if they are fewer.
        error_samples: see `simulate`; a batch estimates no error unless it is set.
        batch: number of instances, which makes a `BatchSimulation`; None: one.
        threads: number of threads of a batch; 0: as many as processors.

    Attributes:
        name: name of the model.
        stepper: the stepper with its options.
        input_names: names of the inputs, in the order of their arrays.
        output_names: names of the outputs, in the order of their arrays.
        units: SI units of inputs and outputs by name.

    Raises:
        ModelError, StepperError, StartError: the model, the stepper or the start is invalid, such as one that gives an
            output that is not finite.
        UsageError: an argument is invalid.
    """

    def __new__(cls, *_: Any, batch: int | None = None, **__: Any) -> "Simulation":
        """Return one of many instances where a batch is requested.

        Raises:
            UsageError: the request is to a class that is derived from that of a single instance.
        """
        if batch is None:
            return super().__new__(cls)
        from mbfmu.run.batch import BatchSimulation

        if cls is not Simulation and not issubclass(cls, BatchSimulation):
            home = f"{BatchSimulation.__module__}.{BatchSimulation.__qualname__}"
            raise UsageError(f"{cls.__name__}: a class of many instances is derived from {home}, not from Simulation")
        return super().__new__(BatchSimulation if cls is Simulation else cls)

    @checked
    def __init__(
        self,
        model: Model | str | os.PathLike[str],
        *,
        stepper: str | Choice | None = None,
        options: Mapping[str, Any] | None = None,
        step: float = 1e-3,
        tolerance: float = 0.0,
        values: Mapping[str, Any] | None = None,
        inputs: Mapping[str, float | bool] | None = None,
        coordinates: str | None = None,
        error_samples: int = OFTEN,
        batch: int | None = None,
        threads: int = 0,
    ) -> None:
        check_samples(error_samples)
        if threads:
            raise UsageError("Simulation: threads go with batch, the number of instances")
        if is_fmu(model):
            raise UsageError(f"'{model}' is an FMU: a Simulation steps a model; run FMUs with simulate or couple")
        system = model_of(model, values)
        prepared = prepare(system, stepper, options, step, tolerance, coordinates)
        outline = prepared.outline
        self._made = {"model": system, "stepper": stepper, "options": options, "step": step, "tolerance": tolerance,
                      "coordinates": coordinates, "error_samples": error_samples}  # fmt: skip
        self._introduce(outline, prepared)
        self._kernel, self._step, self._tolerance = prepared.early_kernel, float(step), float(tolerance)
        self._p = vector(outline.p_default())
        self._still = vector([0.0] * len(self.input_names))
        self._u = vector(outline.u_default())
        self._u = self._given(inputs)
        self._x = prepared.initial_state(self._u, kernel=self._kernel)
        self._time = 0.0
        self._errors = begun(self._kernel.n_errors, error_samples)
        if sentence := prepared.too_long(self._x, self._u, self._still, self._p, 0.0, kernel=self._kernel):
            warnings.warn(f"{outline.name}: {sentence}", ResultWarning, stacklevel=3)
        self._y, finite = self._kernel.checked_outputs(self._x, self._u, self._p, 0.0)
        if not finite:
            raise StartError(not_finite(prepared, self._x, self._u, self._p, 0.0))
        self._mark = self._marked()

    def _introduce(self, outline: Outline, prepared: Prepared) -> None:
        """Set what is known of a model before it starts."""
        self.name, self.stepper, self._prepared = outline.name, outline.stepper, prepared
        self.input_names = tuple(item.name for item in outline.inputs)
        self.output_names = tuple(item.name for item in outline.outputs)
        self.units = {item.name: item.unit for item in (*outline.inputs, *outline.outputs)}
        self._inputs = {name: index for index, name in enumerate(self.input_names)}
        self._outputs = {name: index for index, name in enumerate(self.output_names)}
        self._types = tuple(item.type for item in outline.inputs)

    def _marked(self, *more: int) -> int:
        """Return a hash of what decides the meaning of a state, however it was named, and of more numbers."""
        who = (self.name, self.stepper, self._prepared.outline.coordinates, self.input_names, self.output_names, *more)
        return zlib.crc32(repr(who).encode())

    def __reduce__(self) -> Any:
        """Return what makes an equal simulation of the same state: its model and arguments, which are prepared anew."""
        return _made_again, (type(self), self._made, self.state)

    def __repr__(self) -> str:
        counts = f"{len(self.input_names)} inputs, {len(self.output_names)} outputs"
        return f"<Simulation of '{self.name}' at {self._time:g} s: {counts}>"

    @property
    def time(self) -> float:
        """Time, s."""
        return self._time

    @property
    def inputs(self) -> Array:
        """Values of the inputs, which are held until others are given, shape (n_inputs,)."""
        return np.array(self._u[:], dtype=np.float64)

    @property
    def outputs(self) -> Array:
        """Values of the outputs at this time, shape (n_outputs,)."""
        values: Array = np.frombuffer(self._y, dtype=np.float64)[: len(self.output_names)].copy()
        return values

    @property
    def error(self) -> RunError:
        """The estimated error of the steps so far, as `simulate` has of a run."""
        return estimated(self._kernel, self._errors, self._prepared.outline.measured)

    def __getitem__(self, name: str) -> float:
        """Return the value of an output or an input at this time.

        Raises:
            UnknownNameError: there is none of that name.
        """
        if name in self._outputs:
            return float(self._y[self._outputs[name]])
        if name in self._inputs:
            return float(self._u[self._inputs[name]])
        raise UnknownNameError(f"'{self.name}' has no output or input '{name}'; {nearest(str(name), self.units)}")

    def step(self, inputs: Inputs, dt: float) -> Array:
        """Advance by a span of time with held inputs, and return the outputs at its end, shape (n_outputs,).

        Args:
            inputs: values by name, those left out stay as they are; or all of them, shape (n_inputs,); or None.
            dt: the span, s; it is done in steps of the stepper.

        Raises:
            UsageError, UnknownNameError: an input or the span is invalid.
            StepError: a step failed; then nothing has changed.
        """
        u, dt = self._given(inputs), span_of(dt, self._step, self._time)
        errors = type(self._errors).from_buffer_copy(self._errors)
        x, y, failure = self._kernel.communicate(
            self._x, u, self._still, self._p, self._time, dt, self._step, self._tolerance, errors
        )
        if failure is not None:
            supplied = self._x, u, self._still, self._p, self._time, self._step, self._tolerance
            raise StepError(facts(self._prepared).explained(self._kernel, failure, *supplied))
        self._u, self._x, self._y, self._errors, self._time = u, x, y, errors, self._time + dt
        return self.outputs

    def finish_compiling(self) -> None:
        """Wait for the optimised kernel, which takes over by itself as soon as it is compiled, with the same numbers.

        The first start of a model begins with a kernel of tcc, which is there at once and takes three to five times as
        long for a step: who measures the time of steps waits.
        """
        self._prepared.kernel  # noqa: B018 - the property waits

    @property
    def state(self) -> bytes:
        """Time, inputs and the state of the stepper, for `restore`; parameters stay those of the simulation."""
        content = [self._time, *self._u, *self._x, *self._errors]
        body = struct.pack(f"<{len(content)}d", *content)
        return body + struct.pack("<I", zlib.crc32(body, self._mark))

    def restore(self, state: bytes) -> None:
        """Restore a state; the steps from there are the same to the bit.

        Args:
            state: a `state` of this simulation, or of another one of the same model, stepper and coordinates, whose
                parameters may differ.

        Raises:
            UsageError: it is damaged, or of another model or stepper; then nothing has changed.
        """
        if not isinstance(state, bytes):
            raise UsageError(f"restore: a state is bytes, as `state` gives them, not {type(state).__name__}")
        n_u, n_x, n_errors = len(self._u), len(self._x), len(self._errors)
        body, check = state[:-4], state[-4:]
        if len(body) != 8 * (1 + n_u + n_x + n_errors) or check != struct.pack("<I", zlib.crc32(body, self._mark)):
            raise UsageError(
                f"restore: the state is damaged, or it is not one of '{self.name}' with this stepper and coordinates"
            )
        time, *rest = struct.unpack(f"<{len(body) // 8}d", body)
        self._time, self._u, self._x = time, vector(rest[:n_u]), vector(rest[n_u : n_u + n_x])
        self._errors = vector(rest[n_u + n_x :])
        self._y = self._kernel.outputs(self._x, self._u, self._p, self._time)

    def _given(self, inputs: Inputs) -> Any:
        """Return the vector of inputs that a user gives.

        Raises:
            UsageError, UnknownNameError: an input does not exist, or is no number.
        """
        if inputs is None:
            return self._u
        if isinstance(inputs, Mapping):
            values = list(self._u)
            for name, value in inputs.items():
                if name not in self._inputs:
                    known = nearest(str(name), self.input_names)
                    raise UnknownNameError(f"'{self.name}' has no input '{name}'; {known}")
                index = self._inputs[name]
                values[index] = _number(name, value, self._types[index])
            return vector(values)
        values_supplied = numbers(inputs)
        if values_supplied.shape != (len(self.input_names),):
            wanted = (
                f"a dictionary, or {len(self.input_names)} numbers for {', '.join(self.input_names) or 'no inputs'}"
            )
            raise UsageError(f"step: inputs = {reprlib.repr(inputs)}: inputs are {wanted}")
        # a value that is no number stays as the caller supplies it, for the message
        shown = np.asanyarray(inputs) if np.isnan(values_supplied).any() else values_supplied
        items = zip(self.input_names, shown.tolist(), self._types, strict=True)
        return vector(_number(name, value, type) for name, value, type in items)


def _made_again(kind: type[Simulation], made: Mapping[str, Any], state: bytes) -> Simulation:
    """Return a simulation that was pickled; of a class of a user's, with the arguments of the class it is derived from.

    Args:
        kind: its class.
        made: its arguments.
        state: its state.
    """
    from mbfmu.run.batch import BatchSimulation

    simulation = Simulation.__new__(kind, batch=made.get("batch"))
    if isinstance(simulation, BatchSimulation):
        BatchSimulation.__init__(simulation, **made)
    else:
        Simulation.__init__(simulation, **made)
    simulation.restore(state)
    return simulation


def _without_self(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a method as its callers see it."""
    signature = inspect.signature(function)
    return signature.replace(parameters=list(signature.parameters.values())[1:])


setattr(Simulation, "__signature__", _without_self(Simulation.__init__))  # noqa: B010 - else it is that of __new__


def span_of(dt: Any, step: float, time: float = 0.0) -> float:
    """Return a span of time that a user gives, s.

    Args:
        dt: the span, s.
        step: length of the steps that are to go over it, s.
        time: its beginning, s.

    Raises:
        UsageError: it is no positive number, below the round-off of the time, or needs too many steps.
    """
    span = math.nan if isinstance(dt, bool) else number(dt)
    if not 0 < span < math.inf:
        raise UsageError(f"dt = {reprlib.repr(dt)} must be a positive number of seconds")
    if not time + span > time:
        raise UsageError(f"dt = {span:g} s is below the round-off of the time t = {time:g} s: take more")
    check_steps(f"dt = {span:g} s", span, step)
    return float(span)


def _number(name: str, value: Any, type: VariableType) -> float:
    """Return a value of an input as a float; raise a UsageError if it is none of the input's type."""
    real = number(value)
    if not abs(real) <= LIMITS["largest"]:
        shown = reprlib.repr(value)
        raise UsageError(f"input {name} = {shown} must be a finite number of at most {LIMITS['largest']:g}")
    if not is_value(real, type):
        raise UsageError(f"input {name} = {value!r} must be {VALUES_OF[type]}")
    return real

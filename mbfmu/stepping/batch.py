"""BatchSimulation: thousands of instances of a model that step together, each to the bit as it would alone."""

import math
import os
import struct
import warnings
import zlib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from mbfmu.arguments import checked
from mbfmu.dae import ParameterSignal
from mbfmu.errors import ResultWarning, StartError, UnknownNameError, UsageError, nearest
from mbfmu.fmu.failures import facts
from mbfmu.fmu.interface import LIMITS
from mbfmu.kernel import vector
from mbfmu.kernel.many import Many
from mbfmu.kernel.runtime import OK, Status
from mbfmu.kernel.toolchain import BuildError, remedy
from mbfmu.model import Model
from mbfmu.model.library import is_fmu, model_of
from mbfmu.model.variable_type import VALUES_OF, is_value
from mbfmu.prepared.prepare import prepare
from mbfmu.stepper import Choice
from mbfmu.stepping.simulation import Simulation, span_of

Array = npt.NDArray[np.float64]
Inputs = Mapping[str, npt.ArrayLike] | npt.ArrayLike | None

SHOWN = 3
"""Number of failed instances whose messages a warning gives."""


class BatchSimulation(Simulation):
    """Many instances of a model with their stepper at an instant; `mbfmu.Simulation(model, batch=N)` makes one.

    Instances may differ in parameters, start values and inputs. They go side by side in the lanes of the processor's
    vectors and on several of its cores, and their numbers are to the bit those of a `Simulation` each. One that fails
    leaves the others alone: its outputs are NaN from then on, and `failures` tells why.

    Args:
        model: a model, a name in models/, or the path of a model file.
        batch: number of instances, N.
        threads: number of threads; 0: as many as processors.
        stepper: see `simulate`.
        options: see `simulate`.
        step: longest step of the stepper, s.
        tolerance: see `simulate`; 0: equal steps. Chosen steps, events and samplings leave the lanes: an instance then
            takes as long as alone.
        values: parameters and start values by name: numbers that all share, or arrays of shape (N,).
        inputs: inputs at the start by name, numbers or arrays of shape (N,); the others have their start values.
        coordinates: ``absolute``, ``joint``, or mixed as ``absolute:load``; None: joint coordinates if they are fewer.

    Attributes:
        count: number of instances.
        failures: why instances failed, by their numbers from 0.

    Raises:
        ModelError, StepperError, StartError: the model, the stepper or a start is invalid.
        UsageError: an argument is invalid, or there is no C compiler.
    """

    @checked
    def __init__(
        self,
        model: Model | str | os.PathLike[str],
        *,
        batch: int,
        threads: int = 0,
        stepper: str | Choice | None = None,
        options: Mapping[str, Any] | None = None,
        step: float = 1e-3,
        tolerance: float = 0.0,
        values: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        coordinates: str | None = None,
    ) -> None:
        if batch < 1 or threads < 0:
            raise UsageError(f"Simulation: batch = {batch} and threads = {threads} must be at least 1 and 0")
        if is_fmu(model):
            raise UsageError(f"'{model}' is an FMU: a Simulation steps a model; run FMUs with sweep")
        self.count = batch
        shared, own = _parted(values or {}, batch)
        system = model_of(model, {**shared, **{name: float(column[0]) for name, column in own.items()}})
        prepared = prepare(system, stepper, options, step, tolerance, coordinates)
        outline = prepared.outline
        for name in own:
            if name not in outline.settable:
                raise UsageError(
                    f"'{name}' of '{outline.name}' is structural: it changes the equations, and all instances share it"
                )
            for value in (own[name].min(), own[name].max()):
                system.with_values({name: float(value)})  # raises an error for a value out of its bounds
        self._introduce(outline, prepared)
        try:
            path = prepared.many
        except BuildError as error:
            raise UsageError(f"a batch needs a C compiler, and that of this machine fails: {error}") from None
        if path is None:
            raise UsageError(f"a batch needs a C compiler: {remedy()}")
        self._many = Many(path, batch, threads)
        self._step, self._tolerance, self._time = float(step), float(tolerance), 0.0
        p, s = (
            _with_columns(np.tile(usual, (batch, 1)), items, own)
            for usual, items in ((outline.p_default(), outline.parameters), (outline.s_default(), outline.starts))
        )
        self._system, self._made_s, self._made_p = system, s, p
        self._rows = np.tile(np.array(outline.u_default(), dtype=np.float64), (batch, 1))
        self._rows = self._given_rows(inputs)
        self._p, self._still = self._many.blocked(p), self._many.blocked(np.zeros_like(self._rows))
        self._u = self._many.blocked(self._rows)
        same = not own and not inputs
        starts = [
            prepared.initial_state(*(vector(item[k].tolist()) for item in (self._rows, s, p)))
            for k in range(1 if same else batch)
        ]
        self._x = self._many.blocked(np.array(starts * batch if same else starts))
        self._y = self._many.outputs(self._x, self._u, self._p, 0.0)
        self.failures: dict[int, str] = {}
        who = (self.name, self.stepper, coordinates, batch, self.input_names, self.output_names)
        self._mark = zlib.crc32(repr(who).encode())

    def __repr__(self) -> str:
        return f"<{self.count} instances of '{self.name}' at {self._time:g} s, of which {len(self.failures)} failed>"

    @property
    def inputs(self) -> Array:
        """Values of the inputs, which are held until others are given, shape (N, n_inputs)."""
        values: Array = self._rows.copy()
        return values

    @property
    def outputs(self) -> Array:
        """Values of the outputs at this time, which cannot be written, shape (N, n_outputs)."""
        values: Array = self._y[:, : len(self.output_names)]
        values.flags.writeable = False
        return values

    def __getitem__(self, name: str) -> Any:
        """Return the values of an output or an input at this time, shape (N,).

        Raises:
            UnknownNameError: there is none of that name.
        """
        if name in self._outputs:
            return self._y[:, self._outputs[name]].copy()
        if name in self._inputs:
            return self._rows[:, self._inputs[name]].copy()
        raise UnknownNameError(f"'{self.name}' has no output or input '{name}'; {nearest(str(name), self.units)}")

    def step(self, inputs: Inputs, dt: float) -> Array:
        """Advance all instances by a span of time with held inputs, and return the outputs, shape (N, n_outputs).

        Gives a `ResultWarning` for the instances that fail in this step.

        Args:
            inputs: values by name, numbers or arrays of shape (N,), those left out stay as they are; or all of them,
                shape (n_inputs,) or (N, n_inputs); or None.
            dt: the span, s; it is done in steps of the stepper.

        Raises:
            UsageError, UnknownNameError: an input or the span is invalid; then nothing has changed.
        """
        rows, dt = self._given_rows(inputs), span_of(dt, self._step)
        u = self._u if rows is self._rows else self._many.blocked(rows)
        given = u, self._still, self._p, self._time
        x, y, failed = self._many.move(self._x, *given, dt, self._step, self._tolerance)
        new = {number: status for number, status in failed.items() if number not in self.failures}
        told = {number: self._message(number, status, rows) for number, status in new.items()}
        for number in failed:
            self._many.one(x, number)[:] = math.nan
        self._rows, self._u, self._x, self._y, self._time = rows, u, x, y, self._time + dt
        self.failures |= told
        if told:
            shown = [f"instance {number}: {text}" for number, text in list(told.items())[:SHOWN]]
            more = f"; and {len(told) - SHOWN} more, see failures" if len(told) > SHOWN else ""
            warnings.warn("; ".join(shown) + more, ResultWarning, stacklevel=2)
        return self.outputs

    def _message(self, number: int, status: Status, rows: Array) -> str:
        """Return the message on an instance that failed in a step with these inputs."""
        x, p = (vector(self._many.one(item, number).tolist()) for item in (self._x, self._p))
        u, still = vector(rows[number].tolist()), vector([0.0] * rows.shape[1])
        given = x, u, still, p, self._time, self._step, self._tolerance
        return facts(self._prepared).explained(self._prepared.kernel, status, *given)

    @checked
    def restart(self, instances: Sequence[int] | npt.NDArray[Any], values: Mapping[str, Any] | None = None) -> None:
        """Set some instances back to a start, failed ones too, with the inputs they have; the time goes on.

        Args:
            instances: their numbers, shape (k,).
            values: parameters and start values by name, numbers or arrays of shape (k,); the others are those that the
                instances were made with.

        Raises:
            UnknownNameError, ValueRangeError, UsageError: an instance or a value is invalid; then nothing has changed.
            StartError: there is no start with these values; then nothing has changed.
        """
        numbers = np.asarray(instances)
        numbers = numbers if numbers.size else np.empty(0, dtype=np.intp)
        if numbers.size and not (
            numbers.ndim == 1 and numbers.dtype.kind in "iu" and numbers.min() >= 0 and numbers.max() < self.count
        ):
            raise UsageError(f"restart: instances are whole numbers from 0 to {self.count - 1}")
        outline, prepared = self._prepared.outline, self._prepared
        columns = {name: _numbers(value) for name, value in (values or {}).items()}
        for name, column in columns.items():
            if column.shape not in {(), numbers.shape} or not np.isfinite(column).all():
                raise UsageError(f"restart: {name} must be a finite number, or an array of {numbers.size} of them")
            if name not in outline.settable:
                known = nearest(name, outline.settable)
                raise UnknownNameError(f"'{self.name}' has no parameter or start value '{name}'; {known}")
            for bound in (column.min(initial=math.inf), column.max(initial=-math.inf)) if numbers.size else ():
                self._system.with_values({name: float(bound)})  # raises an error for a value out of its bounds
        s = _with_columns(self._made_s[numbers], outline.starts, columns)
        p = _with_columns(self._made_p[numbers], outline.parameters, columns)
        starts = []
        for k, number in enumerate(numbers.tolist()):
            given = vector(s[k]), vector(self._rows[number]), vector(p[k])
            x, status = prepared.kernel.initialize(*given, self._time, self._step)
            if status.code != OK:
                prepared.initial_state(given[1], given[0], given[2])  # raises an error that names the joints
                raise StartError(f"{self.name}: instance {number} has no start at t = {self._time:g} s")
            starts.append((x, prepared.kernel.outputs(x, *given[1:], self._time)))
        self._y = self._y.copy()  # a user may hold the array
        for number, (x, y), own in zip(numbers.tolist(), starts, p, strict=True):
            self._many.one(self._x, number)[:] = x
            self._many.one(self._p, number)[:] = own
            self._y[number] = y
            self.failures.pop(number, None)

    @property
    def state(self) -> bytes:
        """All that the next step depends on: time, inputs, states, parameters and failures, for `restore`."""
        failures = "\n".join(f"{number} {text}" for number, text in self.failures.items()).encode()
        numbers = struct.pack("<d", self._time) + b"".join(item.tobytes() for item in (self._rows, self._x, self._p))
        body: bytes = numbers + failures
        return body + struct.pack("<I", zlib.crc32(body, self._mark))

    def restore(self, state: bytes) -> None:
        """Restore a state; the steps from there are the same to the bit.

        Args:
            state: a `state` of this simulation, or of another one of the same model, stepper and number of instances.

        Raises:
            UsageError: it is damaged, or of another simulation; then nothing has changed.
        """
        if not isinstance(state, bytes):
            raise UsageError(f"restore: a state is bytes, as `state` gives them, not {type(state).__name__}")
        sizes = [self._rows.nbytes, self._x.nbytes, self._p.nbytes]
        body, check = state[:-4], state[-4:]
        if len(body) < 8 + sum(sizes) or check != struct.pack("<I", zlib.crc32(body, self._mark)):
            raise UsageError(f"restore: the state is damaged, or it is not one of these instances of '{self.name}'")
        self._time = struct.unpack("<d", body[:8])[0]
        ends = [8, *(8 + sum(sizes[: k + 1]) for k in range(3))]
        rows, x, p = (np.frombuffer(body[begin:end]) for begin, end in pairwise(ends))
        self._rows = rows.reshape(self._rows.shape).copy()
        self._u = self._many.blocked(self._rows)
        self._x[...], self._p[...] = x.reshape(self._x.shape), p.reshape(self._p.shape)
        lines = (line.split(" ", 1) for line in body[ends[-1] :].decode().split("\n") if line)
        self.failures = {int(number): text for number, text in lines}
        self._y = self._many.outputs(self._x, self._u, self._p, self._time)

    def _given_rows(self, inputs: Inputs) -> Array:
        """Return the inputs of all instances that a user gives, shape (N, n_inputs).

        Raises:
            UsageError, UnknownNameError: an input does not exist, is no number, or has another shape.
        """
        names = self.input_names
        if inputs is None:
            return self._rows
        if isinstance(inputs, Mapping):
            rows: Array = self._rows.copy()
            for name, value in inputs.items():
                if name not in self._inputs:
                    raise UnknownNameError(f"'{self.name}' has no input '{name}'; {nearest(str(name), names)}")
                column = _numbers(value)
                if column.shape not in {(), (self.count,)}:
                    raise UsageError(f"input {name} must be a number or an array of shape ({self.count},)")
                rows[:, self._inputs[name]] = column
        else:
            given = _numbers(inputs)
            if given.shape not in {(len(names),), (self.count, len(names))}:
                raise UsageError(
                    f"step: inputs have the shape {given.shape}: they are a dictionary, or of shape ({len(names)},) or "
                    f"({self.count}, {len(names)})"
                )
            rows = np.broadcast_to(given, self._rows.shape).copy()
        for place in np.flatnonzero(~(np.abs(rows) <= LIMITS["largest"]).all(axis=0)).tolist():
            raise UsageError(f"input {names[place]} must be finite numbers of at most {LIMITS['largest']:g}")
        for place, type in enumerate(self._types):
            if type != "Real" and not all(is_value(value, type) for value in np.unique(rows[:, place]).tolist()):
                raise UsageError(f"input {names[place]} must be {VALUES_OF[type]}")
        return rows


def _parted(values: Mapping[str, Any], count: int) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the values that all instances share, and the arrays of those that each has for itself, by name.

    Raises:
        UsageError: an array has another shape, or is not of finite numbers.
    """
    own = {}
    for name, value in values.items():
        if isinstance(value, np.ndarray) or (isinstance(value, list | tuple) and len(value) == count):
            column = _numbers(value)
            if column.shape != (count,) or not np.isfinite(column).all():
                raise UsageError(f"{name} must be a number, or an array of {count} finite numbers")
            own[name] = column
    return {name: value for name, value in values.items() if name not in own}, own


def _with_columns(rows: Array, items: Sequence[ParameterSignal], columns: Mapping[str, Array]) -> Array:
    """Return numbers of instances, shape (k, n), with those columns replaced that are given by name."""
    names = [item.name for item in items]
    found = np.array(rows, dtype=np.float64)
    for name, column in columns.items():
        if name in names:
            found[:, names.index(name)] = column
    return found


def _numbers(value: Any) -> Array:
    """Return an array of numbers; one of NaN where a value is none."""
    try:
        return np.asarray(value if not isinstance(value, str) else math.nan, dtype=np.float64)
    except (TypeError, ValueError):
        return np.array(math.nan)

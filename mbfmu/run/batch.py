"""BatchSimulation: thousands of instances of a model that step together, each to the bit as it would alone."""

import math
import os
import struct
import warnings
import zlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mbfmu.base.arguments import checked, numbers
from mbfmu.base.result import RunError
from mbfmu.dae import ParameterSignal
from mbfmu.errors import ResultWarning, StartError, UnknownNameError, UsageError, ValueRangeError, nearest
from mbfmu.fmu.failures import facts
from mbfmu.fmu.interface import LIMITS
from mbfmu.kernel import vector
from mbfmu.kernel.build.toolchain import BuildError, remedy
from mbfmu.kernel.errors import begun_together, estimated
from mbfmu.kernel.failure import Facts
from mbfmu.kernel.many import Many
from mbfmu.kernel.runtime import OK, Status
from mbfmu.model import Model
from mbfmu.model.library import is_fmu, model_of
from mbfmu.model.variable_type import VALUES_OF, is_value
from mbfmu.prepared.failures import not_finite
from mbfmu.prepared.prepare import Prepared, prepare
from mbfmu.prepared.settings import check_samples
from mbfmu.run.simulation import Simulation, span_of
from mbfmu.stepper import Choice

Array = npt.NDArray[np.float64]
Inputs = Mapping[str, npt.ArrayLike] | npt.ArrayLike | None

MOST_INSTANCES = 2**40
"""Number of instances above which no memory holds even one double for each."""
SHOWN = 3
"""Number of failed instances whose messages a warning quotes."""


class _Failure(NamedTuple):
    """A step of an instance that failed: how, and what it began with, of which a message is made."""

    status: Status
    x: Array
    u: Array
    p: Array
    time: float


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
        tolerance: see `simulate`; 0: steps of equal length. Chosen steps, events and sampling instants leave the
            lanes: an instance then takes as long as alone.
        values: parameters and start values by name: numbers that all share, or arrays of shape (N,).
        inputs: inputs at the start by name, numbers or arrays of shape (N,); the others have their start values.
        coordinates: ``absolute``, ``joint``, or mixed as ``absolute:load``; None: joint coordinates if they are fewer.
        error_samples: see `simulate`; while the error of steps is estimated, an instance leaves the lanes.

    Attributes:
        count: number of instances.

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
        error_samples: int = 0,
    ) -> None:
        check_samples(error_samples)
        if batch < 1 or threads < 0:
            raise UsageError(f"Simulation: batch = {batch} and threads = {threads} must be at least 1 and 0")
        if is_fmu(model):
            raise UsageError(f"'{model}' is an FMU: a Simulation steps a model; run FMUs with sweep")
        self.count = batch
        shared, differing = _parted(values or {}, batch)
        system = model_of(model, {**shared, **{name: float(column[0]) for name, column in differing.items()}})
        prepared = prepare(system, stepper, options, step, tolerance, coordinates)
        outline = prepared.outline
        self._introduce(outline, prepared)
        self._system, settable = system, outline.settable
        self._made = {"model": system, "batch": batch, "threads": threads, "stepper": stepper, "options": options,
                      "step": step, "tolerance": tolerance, "values": differing, "inputs": inputs,
                      "coordinates": coordinates, "error_samples": error_samples}  # fmt: skip
        for name in differing:
            if name not in settable and name not in self._inputs:
                raise UsageError(
                    f"'{name}' of '{outline.name}' is structural: it changes the equations, and all instances share it"
                )
        self._check_columns(differing)
        try:
            path = prepared.many
        except BuildError as error:
            raise UsageError(f"a batch needs a C compiler, and that of this machine fails: {error}") from None
        if path is None:
            raise UsageError(f"a batch needs a C compiler: {remedy()}")
        beyond = UsageError(
            f"Simulation: {batch} instances of '{outline.name}' do not fit into memory: make fewer at a time"
        )
        if batch > MOST_INSTANCES:
            raise beyond
        self._many = Many(path, batch, threads)
        self._step, self._tolerance, self._time = float(step), float(tolerance), 0.0
        self._every = error_samples if self._many.n_errors else 0
        try:
            self._begin(prepared, differing, inputs)
        except MemoryError:
            raise beyond from None

    def _begin(self, prepared: Prepared, differing: Mapping[str, Array], inputs: Mapping[str, Any] | None) -> None:
        """Make the start of every instance.

        Args:
            prepared: the model with its stepper.
            differing: parameters and start values that differ, by name, shape (N,) each.
            inputs: inputs at the start by name.

        Raises:
            StartError: an instance cannot start.
        """
        outline = prepared.outline
        p, s = (
            _with_columns(np.tile(usual, (self.count, 1)), items, differing)
            for usual, items in ((outline.p_default(), outline.parameters), (outline.s_default(), outline.starts))
        )
        self._made_s, self._made_p = s, p
        self._rows = np.tile(np.array(outline.u_default(), dtype=np.float64), (self.count, 1))
        self._rows = self._made_u = self._given_rows(inputs, self._rows)
        self._p, self._still = self._many.blocked(p), self._many.blocked(np.zeros_like(self._rows))
        self._u = self._many.blocked(self._rows)
        rows = (self._rows, s, p)
        if differing or inputs:
            starts = [self._start(k, *(vector(item[k].tolist()) for item in rows)) for k in range(self.count)]
        else:
            starts = [prepared.initial_state(*(vector(item[0].tolist()) for item in rows))] * self.count
        self._x = self._many.blocked(np.array(starts))
        self._y = self._many.outputs(self._x, self._u, self._p, 0.0)
        for k in np.flatnonzero(~np.isfinite(self._y).all(axis=1))[:1].tolist():
            u, own_p = (vector(item[k].tolist()) for item in (self._rows, p))
            raise StartError(f"instance {k}: {not_finite(prepared, starts[k], u, own_p, 0.0)}")
        self._failures: dict[int, _Failure | str] = {}
        self._errors = self._begun(self._many.blocks * self._many.width if self._every else 0)
        self._mark = self._marked(self.count, self._every)

    def _begun(self, count: int) -> Array:
        """Return the arrays of errors of as many instances at their start."""
        return begun_together(count, self._many.n_errors, self._every)

    def __repr__(self) -> str:
        return f"<{self.count} instances of '{self.name}' at {self._time:g} s, of which {len(self._failures)} failed>"

    @property
    def failed(self) -> npt.NDArray[np.bool_]:
        """Whether each instance has failed, shape (N,); its outputs are NaN then."""
        flags = np.zeros(self.count, dtype=np.bool_)
        flags[list(self._failures)] = True
        return flags

    @property
    def failures(self) -> dict[int, str]:
        """Messages on the instances that failed, by their numbers from 0; each is made when it is first read."""
        return {index: self._told(index) for index in self._failures}

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
        rows, dt = self._given_rows(inputs, self._rows), span_of(dt, self._step, self._time)
        u = self._u if rows is self._rows else self._many.blocked(rows)
        supplied = u, self._still, self._p, self._time
        x, y, failed = self._many.move(
            self._x, *supplied, dt, self._step, self._tolerance, self._errors if self._every else None
        )
        new = [index for index in failed if index not in self._failures]
        for index in new:
            x0, p = (self._many.one(item, index).copy() for item in (self._x, self._p))
            self._failures[index] = _Failure(failed[index], x0, rows[index].copy(), p, self._time)
        if self._failures:
            self._many.fill(x, [*self._failures], math.nan)
            y[[*self._failures]] = math.nan
        self._rows, self._u, self._x, self._y, self._time = rows, u, x, y, self._time + dt
        if new:
            shown = [f"instance {index}: {self._told(index)}" for index in new[:SHOWN]]
            more = f"; and {len(new) - SHOWN} more, see failures" if len(new) > SHOWN else ""
            warnings.warn("; ".join(shown) + more, ResultWarning, stacklevel=2)
        return self.outputs

    def _told(self, index: int) -> str:
        """Return the message on an instance that failed."""
        failure = self._failures[index]
        if isinstance(failure, _Failure):
            x, u, p = (vector(item.tolist()) for item in (failure.x, failure.u, failure.p))
            supplied = x, u, vector([0.0] * len(failure.u)), p, failure.time, self._step, self._tolerance
            failure = self._failures[index] = self._facts.explained(self._prepared.kernel, failure.status, *supplied)
        return failure

    @cached_property
    def _facts(self) -> Facts:
        return facts(self._prepared)

    @checked
    def restart(
        self,
        instances: Sequence[int] | npt.NDArray[Any],
        values: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
    ) -> None:
        """Set some instances back to a start, failed ones too, while the time continues.

        Args:
            instances: their numbers, shape (k,).
            values: parameters and start values by name, numbers or arrays of shape (k,); the others are those that the
                instances were made with.
            inputs: inputs at the start by name, numbers or arrays of shape (k,); the others are those that the
                instances were made with.

        Raises:
            UnknownNameError, ValueRangeError, UsageError: an instance or a value is invalid; then nothing has changed.
            StartError: there is no start with these values; then nothing has changed.
        """
        chosen = np.asarray(instances)
        chosen = chosen if chosen.size else np.empty(0, dtype=np.intp)
        if chosen.size and not (
            chosen.ndim == 1 and chosen.dtype.kind in "iu" and chosen.min() >= 0 and chosen.max() < self.count
        ):
            raise UsageError(f"restart: instances are whole numbers from 0 to {self.count - 1}")
        outline, prepared = self._prepared.outline, self._prepared
        columns = {name: numbers(value) for name, value in (values or {}).items()}
        for name, column in columns.items():
            if column.shape not in {(), chosen.shape} or not np.isfinite(column).all():
                raise UsageError(f"restart: {name} must be a finite number, or an array of {chosen.size} of them")
        self._check_columns(columns)
        u = self._given_rows(inputs, self._made_u[chosen])
        s = _with_columns(self._made_s[chosen], outline.starts, columns)
        p = _with_columns(self._made_p[chosen], outline.parameters, columns)
        starts = []
        for k, index in enumerate(chosen.tolist()):
            supplied = vector(s[k]), vector(u[k]), vector(p[k])
            x, status = prepared.kernel.initialize(*supplied, self._time, self._step)
            y = prepared.kernel.outputs(x, *supplied[1:], self._time) if status.code == OK else None
            if y is None or prepared.inside(y) is not None or prepared.broken(y):
                self._start(index, supplied[1], supplied[0], supplied[2])  # raises an error that names what is wrong
                raise StartError(f"{self.name}: instance {index} has no start at t = {self._time:g} s")
            if not all(map(math.isfinite, y)):
                raise StartError(f"instance {index}: {not_finite(prepared, x, *supplied[1:], self._time)}")
            starts.append((x, y))
        self._y, self._rows = self._y.copy(), self._rows.copy()  # a user may hold the one, and the other be `_made_u`
        for k, (index, (x, y)) in enumerate(zip(chosen.tolist(), starts, strict=True)):
            for blocks, values_of_instance in ((self._x, x), (self._u, u[k]), (self._p, p[k])):
                self._many.one(blocks, index)[:] = values_of_instance
            self._y[index], self._rows[index] = y, u[k]
            self._failures.pop(index, None)
        if self._every:
            self._errors[chosen] = self._begun(len(chosen))

    def _start(self, index: int, u: Any, s: Any, p: Any) -> Any:
        """Return the state in which an instance begins; raise an error that names the instance if there is none."""
        try:
            return self._prepared.initial_state(u, s, p)
        except (StartError, ValueRangeError) as error:
            raise type(error)(f"instance {index}: {error}") from None

    def _check_columns(self, columns: Mapping[str, Array]) -> None:
        """Raise an error if one of some values by name cannot be given to an instance.

        Raises:
            UnknownNameError, ValueRangeError, UsageError: there is no value of a name, it is out of its bounds or not
                of its type, or it is no number of the equations.
        """
        outline = self._prepared.outline
        types = {item.name: item.type for item in (*outline.parameters, *outline.starts) if not item.guess}
        for name, column in columns.items():
            if name in self._inputs:
                raise UsageError(f"'{name}' of '{self.name}' is an input: give its values with inputs")
            if name not in types and name in self._system.values():
                raise UsageError(
                    f"'{name}' of '{self.name}' is given by an expression or not at all: give it as a number where the "
                    "instances are made, and they can then restart with another one"
                )
            if name not in types:
                raise UnknownNameError(
                    f"'{self.name}' has no parameter or start value '{name}'; {nearest(name, types)}"
                )
            type = types[name]
            wrong = () if type == "Real" else (item for item in np.unique(column).tolist() if not is_value(item, type))
            for value in (*wrong, column.min(), column.max()) if column.size else ():
                self._system.with_values({name: float(value)})  # raises an error for a value that it does not allow

    @property
    def error(self) -> RunError:
        """The estimated error of the instance with the largest one; not known with ``error_samples=0``."""
        errors = self.errors
        return RunError() if np.isnan(errors).all() else self._error(int(np.nanargmax(errors)))

    @property
    def errors(self) -> Array:
        """Estimated errors of the instances so far, relative to the ranges of their worst variables, shape (N,).

        They are NaN where none is known: with ``error_samples=0``, before the first step, and where an instance failed.
        """
        unknown = self.failed if self._every else np.ones(self.count, dtype=np.bool_)
        return np.array([math.nan if unknown[k] else self._error(k).value for k in range(self.count)])

    def _error(self, index: int) -> RunError:
        """Return the estimated error of an instance."""
        own = vector(self._errors[index].tolist())
        return estimated(self._prepared.kernel, own, self._prepared.outline.measured)

    @property
    def state(self) -> bytes:
        """All that the next step depends on: time, inputs, states, parameters, errors and failures, for `restore`."""
        failures = "\n".join(f"{index} {text}" for index, text in self.failures.items()).encode()
        content = struct.pack("<d", self._time) + b"".join(item.tobytes() for item in self._kept())
        body: bytes = content + failures
        return body + struct.pack("<I", zlib.crc32(body, self._mark))

    def _kept(self) -> tuple[Array, ...]:
        """Return the arrays that a state holds."""
        return self._rows, self._x, self._p, self._errors

    def restore(self, state: bytes) -> None:
        """Restore a state; the steps from there are the same to the bit.

        Args:
            state: a `state` of this simulation, or of another one of the same model, stepper and number of instances.

        Raises:
            UsageError: it is damaged, or of another simulation; then nothing has changed.
        """
        if not isinstance(state, bytes):
            raise UsageError(f"restore: a state is bytes, as `state` gives them, not {type(state).__name__}")
        sizes = [item.nbytes for item in self._kept()]
        body, check = state[:-4], state[-4:]
        if len(body) < 8 + sum(sizes) or check != struct.pack("<I", zlib.crc32(body, self._mark)):
            raise UsageError(f"restore: the state is damaged, or it is not one of these instances of '{self.name}'")
        self._time = struct.unpack("<d", body[:8])[0]
        ends = [8, *(8 + sum(sizes[: k + 1]) for k in range(len(sizes)))]
        rows, x, p, errors = (np.frombuffer(body[begin:end]) for begin, end in pairwise(ends))
        self._rows = rows.reshape(self._rows.shape).copy()
        self._u = self._many.blocked(self._rows)
        self._x[...], self._p[...] = x.reshape(self._x.shape), p.reshape(self._p.shape)
        self._errors = errors.reshape(self._errors.shape).copy()
        lines = (line.split(" ", 1) for line in body[ends[-1] :].decode().split("\n") if line)
        self._failures = {int(index): text for index, text in lines}
        self._y = self._many.outputs(self._x, self._u, self._p, self._time)
        self._y[[*self._failures]] = math.nan

    def _given_rows(self, inputs: Inputs, held: Array) -> Array:
        """Return the inputs of instances that a user gives, shape (k, n_inputs).

        Args:
            inputs: see `step`.
            held: those that stay where none are given, shape (k, n_inputs); it is returned if none are given at all.

        Raises:
            UsageError, UnknownNameError: an input does not exist, is no number, or has another shape.
        """
        names = self.input_names
        if inputs is None:
            return held
        if isinstance(inputs, Mapping):
            rows: Array = held.copy()
            for name, value in inputs.items():
                if name not in self._inputs:
                    raise UnknownNameError(f"'{self.name}' has no input '{name}'; {nearest(str(name), names)}")
                column = numbers(value)
                if column.shape not in {(), (len(held),)}:
                    raise UsageError(f"input {name} must be a number or an array of shape ({len(held)},)")
                rows[:, self._inputs[name]] = column
        else:
            supplied = numbers(inputs)
            if supplied.shape not in {(len(names),), held.shape}:
                raise UsageError(
                    f"step: inputs have the shape {supplied.shape}: they are a dictionary, or of shape ({len(names)},) "
                    f"or {held.shape}"
                )
            rows = np.broadcast_to(supplied, held.shape).copy()
        for k in np.flatnonzero(~(np.abs(rows) <= LIMITS["largest"]).all(axis=0)).tolist():
            raise UsageError(f"input {names[k]} must be finite numbers of at most {LIMITS['largest']:g}")
        for k, type in enumerate(self._types):
            if type != "Real" and not all(is_value(value, type) for value in np.unique(rows[:, k]).tolist()):
                raise UsageError(f"input {names[k]} must be {VALUES_OF[type]}")
        return rows


def _parted(values: Mapping[str, Any], count: int) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the values that all instances share, and the arrays of those that each has for itself, by name.

    Raises:
        UsageError: an array has another shape, or is not of finite numbers.
    """
    differing = {}
    for name, value in values.items():
        if isinstance(value, np.ndarray) or (isinstance(value, list | tuple) and len(value) == count):
            column = numbers(value)
            if column.shape != (count,) or not np.isfinite(column).all():
                raise UsageError(f"{name} must be a number, or an array of {count} finite numbers")
            differing[name] = column
    return {name: value for name, value in values.items() if name not in differing}, differing


def _with_columns(rows: Array, items: Sequence[ParameterSignal], columns: Mapping[str, Array]) -> Array:
    """Return numbers of instances, shape (k, n), with those columns replaced that are given by name."""
    names = [item.name for item in items]
    result = np.array(rows, dtype=np.float64)
    for name, column in columns.items():
        if name in names:
            result[:, names.index(name)] = column
    return result

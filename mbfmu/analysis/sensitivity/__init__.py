"""Sensitivity: exact derivatives of a run with respect to parameters, start values and inputs.

The gradient of one number takes one pass back through the run, by the adjoint of each step (`recorded`), however many
values it depends on. The Jacobian of all outputs takes a tangent of the run for each value. Both differentiate the
stepper's own equations, so that they are the derivatives of the numbers that a run gives, not of its limit for small
steps.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mbfmu.analysis.sensitivity.knots import Knots, knots_of
from mbfmu.analysis.sensitivity.recorded import RecordedRun
from mbfmu.base.arguments import checked
from mbfmu.base.result import matching
from mbfmu.dae import ParameterSignal
from mbfmu.dae.start import contradicted, start_slopes
from mbfmu.errors import StepError, UnknownNameError, UsageError, nearest
from mbfmu.fmu.failures import facts
from mbfmu.kernel import following, recording, vector
from mbfmu.kernel.differentiated import Change, Following, Recording, Unknown
from mbfmu.model import Model
from mbfmu.model.library import is_fmu, model_of
from mbfmu.prepared.outline import Outline
from mbfmu.prepared.prepare import Prepared, prepare
from mbfmu.prepared.settings import InputValue
from mbfmu.run.drives import Drives
from mbfmu.run.inputs import courses, formulas
from mbfmu.run.model import check_length, communication_points
from mbfmu.stepper import Choice

__all__ = ["Gradient", "Knots", "Sensitivity"]

Array = npt.NDArray[np.float64]
UNKNOWN = {
    "GRAZED": "only grazes zero, and after the smallest change may not reach it",
    "SPLIT": "changes at once with another, and after the smallest change one comes before the other",
}
"""Behaviours of a guard at events after which a run has no derivatives, by their reasons."""
Values = Mapping[str, float] | npt.ArrayLike | None
MEMORY = 1e9
"""Bytes that the record of a run takes at most by default."""


@dataclass(frozen=True)
class Gradient:
    """The derivatives of a number that a run gives.

    Args:
        outputs: of the run, shape (n_t, n_outputs).
        values: derivatives with respect to the free values, shape (n_free,).
        inputs: derivatives with respect to the inputs in each communication interval, all along which they change by
            the same amount, shape (n_t - 1, n_inputs); NaN by tangents.
    """

    outputs: Array
    values: Array
    inputs: Array


class _Given(NamedTuple):
    """The start values and the parameters, as vectors of a kernel, and the inputs of a run."""

    s: Any
    p: Any
    drives: Drives


_Pulled = tuple[Array, Callable[[Array], tuple[Array, Array]]]
"""Outputs, and the function of their weights that returns the derivatives of free values and inputs."""


class Sensitivity:
    """A run from 0 to `stop` that is differentiated with respect to some of its values.

    Args:
        model: a model, a name in models/, or the path of a model file.
        stop: end of the run, s; None: the last of the times.
        free: names of parameters and start values; may be empty if there are knots.
        outputs: names of the outputs, or patterns such as ``boom.*``; empty: all.
        stepper: see `simulate`.
        options: see `simulate`.
        step: longest step of the stepper, s.
        tolerance: see `simulate`; 0: steps of equal length, which adjoints need.
        output_interval: time between outputs, s; None: about 500 points.
        times: times of the outputs, s, instead: 0 and times that increase, shape (n_t,).
        values: parameters and start values by name.
        inputs: see `simulate`.
        input_hold: see `simulate`.
        coordinates: see `simulate`.
        memory: bytes that the record of a run may take; for a longer run, states are kept from time to time and the
            steps in between are taken again.
        knots: inputs that are free over time: by name the number of their knots, evenly from 0 on, or the times of
            these, s. Their values are free too, after `free` and named ``INPUT@TIME``.
        knots_hold: whether the value of a knot stays until the next one; False: lines lead from value to value.

    Attributes:
        free: the names, in the order of all arrays of values.
        knots: those of inputs that are free over time.
        time: of the outputs, s, shape (n_t,).
        output_names: names of the outputs, in the order of their arrays.
        input_names: names of the inputs, in the order of their arrays.

    Raises:
        ModelError, StepperError: the model or the stepper is invalid.
        UnknownNameError, UsageError: an argument is invalid.
    """

    @checked
    def __init__(
        self,
        model: Model | str | os.PathLike[str],
        stop: float | None,
        free: Sequence[str],
        *,
        outputs: Sequence[str] = (),
        stepper: str | Choice | None = None,
        options: Mapping[str, Any] | None = None,
        step: float = 1e-3,
        tolerance: float = 0.0,
        output_interval: float | None = None,
        times: npt.ArrayLike | None = None,
        values: Mapping[str, Any] | None = None,
        inputs: Mapping[str, InputValue] | None = None,
        input_hold: bool = False,
        coordinates: str | None = None,
        memory: float = MEMORY,
        knots: Mapping[str, int | Sequence[float]] | None = None,
        knots_hold: bool = False,
    ) -> None:
        if is_fmu(model):
            raise UsageError(f"'{model}' is an FMU, with its equations inside: derivatives of a run need the model")
        functions = courses(inputs, input_hold)
        fixed = {name: item for name, item in functions.items() if name not in (knots or {})}
        choices = stepper, options, step, tolerance, coordinates, formulas(fixed)
        self._prepared = _with_numbers(model_of(model, values), tuple(free), choices, bool(knots))
        outline = self._prepared.outline
        self._memory = memory
        known = [item.name for item in outline.outputs]
        self.output_names = matching(outputs, known) if outputs else tuple(known)
        self.input_names = tuple(item.name for item in outline.inputs)
        self._shown = [known.index(name) for name in self.output_names]
        self.time = _times(stop, step, output_interval, times)
        check_length(self.time, step)
        self._drives = Drives(outline, fixed, self.time, step)
        self._places = [_place(outline, name) for name in free]
        self.knots = knots_of(outline, functions, float(self.time[-1]), knots, knots_hold)
        self.free = tuple(item.name for item in self.signals)
        self._has_slopes = False

    @property
    def signals(self) -> tuple[ParameterSignal, ...]:
        """Unit, default and bounds of each free value."""
        outline = self._prepared.outline
        chosen = ((outline.parameters if kind else outline.starts)[k] for kind, k in self._places)
        return (*chosen, *(signal for item in self.knots for signal in item.signals))

    @property
    def values(self) -> Array:
        """The model's own numbers of the free values, shape (n_free,)."""
        return np.array([item.value for item in self.signals], dtype=np.float64)

    @property
    def stepper(self) -> str:
        """The stepper with its options."""
        return self._prepared.stepper

    def limits(self, bounds: Mapping[str, Sequence[float]] | None = None) -> tuple[Array, Array]:
        """Return the least and the greatest free values of a search from the model's, each of shape (n_free,).

        Args:
            bounds: further bounds by name, two numbers each; those of an input are for all its knots.

        Raises:
            UsageError, UnknownNameError: a bound is invalid, or a value of the model is outside its bounds.
        """
        low, high = (np.array([getattr(item, which) for item in self.signals]) for which in ("min", "max"))
        inputs = {item.name for item in self.knots}
        for name, pair in (bounds or {}).items():
            entries = [k for k, item in enumerate(self.free) if name in (item, item.partition("@")[0])]
            if not entries or not (name in self.free or name in inputs):
                raise UnknownNameError(f"bounds: '{name}' is not free; {nearest(name, self.free)}")
            if len(pair) != 2 or not pair[0] < pair[1]:
                raise UsageError(f"bounds of {name} = {tuple(pair)}: give a least and a greatest value")
            low[entries], high[entries] = np.maximum(low[entries], pair[0]), np.minimum(high[entries], pair[1])
        for name, value, least, most in zip(self.free, self.values, low, high, strict=True):
            if not least <= value <= most:
                raise UsageError(
                    f"the search begins at {name} = {value:g}, not between {least:g} and {most:g}: give another value "
                    f"by --set {name}=VALUE"
                )
        return low, high

    def outputs(self, values: Values = None) -> Array:
        """Return the outputs of a run, shape (n_t, n_outputs).

        Args:
            values: free values by name, those left out are the model's; or all of them, shape (n_free,); or None.

        Raises:
            UsageError, UnknownNameError: a value is invalid.
            StartError, StepError: there is no start, or a step failed.
        """
        return self._along(self._prepared.kernel, self._given(values), lambda *_: None)[:, self._shown]

    def pullback(self, values: Values = None) -> tuple[Array, Callable[[npt.ArrayLike], Gradient]]:
        """Return the outputs, shape (n_t, n_outputs), and the function weights -> gradient; see `gradient`.

        The run is recorded once, and each call of the function goes back through it.

        Args:
            values: see `outputs`.

        Raises:
            UsageError, UnknownNameError, StartError, StepError, KernelError: see `gradient`.
        """
        outputs, back = self._recorded(values) if self._has_adjoint else self._by_tangents(values)

        def of(weights: npt.ArrayLike) -> Gradient:
            weighted = np.asarray(weights, dtype=np.float64)
            if weighted.shape != outputs.shape or not np.all(np.isfinite(weighted)):
                raise UsageError(
                    f"weights of outputs must be finite numbers of the shape {outputs.shape}, one an output"
                )
            return Gradient(outputs, *back(weighted))

        return outputs.copy(), of

    def _by_tangents(self, values: Values) -> _Pulled:
        """Return outputs and their pullback, by the Jacobian."""
        outputs, slopes = self.jacobian(values)
        unknown = np.full((len(outputs) - 1, len(self.input_names)), np.nan)
        return outputs, lambda weights: (np.einsum("ij,ijk->k", weights, slopes), unknown)

    def _recorded(self, values: Values) -> _Pulled:
        """Return outputs and their pullback, by a run that is recorded."""
        kernel = self._recording
        s, p, drives = self._given(values)
        x = self._prepared.initial_state(drives.at(0.0), s, p)
        if not self._has_slopes:
            self._refuse_contradicted(x, s, p)
        run = RecordedRun(kernel, drives, s, p, x, self._memory)

        def back(weights: Array) -> tuple[Array, Array]:
            whole = np.zeros(run.outputs.shape)
            whole[:, self._shown] = weights
            adjoint = run.adjoint(whole)
            each = [np.array([(adjoint.p if kind else adjoint.s)[k] for kind, k in self._places])]
            for item in self.knots:
                column = self.input_names.index(item.name)
                each.append(item.weights(run.lines, adjoint.u[:, column], adjoint.du[:-1, column]))
            inputs = np.zeros((len(run.outputs) - 1, len(self.input_names)))
            np.add.at(inputs, [*(line.interval for line in run.lines), -1], adjoint.u)
            return np.concatenate(each), inputs

        return run.outputs[:, self._shown], back

    def gradient(self, weights: npt.ArrayLike | Callable[[Array], npt.ArrayLike], values: Values = None) -> Gradient:
        """Return the derivatives of a number J, by the adjoint of the run.

        Models with gaps, dry friction or sampled blocks, and runs whose steps are chosen, have no adjoint: then they
        are those by the tangents of `jacobian`, which take a run for each value.

        Args:
            weights: dJ / d outputs, shape (n_t, n_outputs), or a function that returns it for such outputs.
            values: see `outputs`.

        Raises:
            UsageError, UnknownNameError: a value is invalid, the weights have another shape, or the start values
                contradict the constraints after the smallest change of a value.
            StartError, StepError: there is no start, a step failed, or a derivative is unknown.
            KernelError: there is no C compiler.
        """
        outputs, back = self.pullback(values)
        return back(weights(outputs) if callable(weights) else weights)

    def jacobian(self, values: Values = None) -> tuple[Array, Array]:
        """Return the outputs, shape (n_t, n_outputs), and their derivatives, shape (n_t, n_outputs, n_free).

        Args:
            values: see `outputs`.

        Raises:
            UsageError, UnknownNameError: a value is invalid, or the start values contradict the constraints after the
                smallest change of one.
            StartError, StepError: there is no start, a step failed, or a derivative is unknown, as after an event.
            KernelError: there is no C compiler.
        """
        kernel = self._following
        start = self._given(values)
        s, p, drives = start
        if not self._has_slopes:
            self._refuse_contradicted(self._prepared.initial_state(drives.at(0.0), s, p), s, p)
        step, tolerance = self._prepared.step, self._prepared.tolerance
        # a change e_k of each free value, and that of the start: x0_k
        changes = [self._unit(kernel, k) for k in range(len(self.free))]
        u, (_, end, *_) = drives.at(0.0), drives.between(0)[0]
        along = [
            self._known(0.0, kernel.initialize_tangent(s, u, p, 0.0, step, ss, su, sp))
            for (ss, sp), (su, _) in zip(changes, self._driving(0.0, end), strict=True)
        ]
        # outputs: y_k = y_x x_k + y_u u_k + y_p p_k
        slopes: list[list[Array]] = []

        def shown(x: Any, u: Any, t: float, end: float) -> None:
            tangents = [
                kernel.outputs_tangent(x, u, p, t, sx, su, sp)
                for sx, (_, sp), (su, _) in zip(along, changes, self._driving(t, end), strict=True)
            ]
            slopes.append([np.array(item)[self._shown] for item in tangents])

        # steps: x_k by the tangent of the stepper, one after the other
        def moved(x: Any, u: Any, du: Any, t: float, span: float) -> None:
            self._refuse_moved_sampling(x, p, t, [sp for _, sp in changes])
            driving = self._driving(t, t + span)
            for k, ((_, sp), (su, sdu)) in enumerate(zip(changes, driving, strict=True)):
                sx = along[k]
                tangents = kernel.follow(x, u, du, p, t, span, step, tolerance, Change(su, sdu, sp, sx))
                along[k] = self._known(t, tangents)

        outputs = self._along(kernel, start, moved, shown)
        shape = len(outputs), len(self.free), len(self._shown)
        return outputs[:, self._shown], np.array(slopes).reshape(shape).transpose(0, 2, 1)

    def _refuse_moved_sampling(self, x: Any, p: Any, t: float, changes: Sequence[Any]) -> None:
        """Raise an error if a sampling is due at a time from which the run continues, and its time depends on a value.

        A tangent that begins there holds for that time, not for one that the sampling moves to.

        Args:
            x: the state at that time.
            p: parameters, as a vector of the kernel.
            t: the time, s.
            changes: those of the parameters, for each free value.

        Raises:
            StepError: there is such a sampling.
        """
        until = self._prepared.bundle.until_sampling
        if until is None:
            return
        state = list(x)[: until.numel_in(0)]  # without the step that is chosen
        left, near = until(state, list(p), t)
        if float(left) > 0:
            return
        before = t - 4 * float(near) - 1e-9  # where the sampling is still to come
        for name, sp in zip(self.free, changes, strict=False):
            if any(sp) and float(self._sampling_tangent(state, list(p), before, list(sp))) != 0:
                raise StepError(
                    f"{self._prepared.outline.name}: the derivatives are not known after t = {t:g} s: there a sampling "
                    f"whose time depends on {name} falls on a time of the outputs or a corner of an input: take other "
                    "times, or another offset"
                )

    @cached_property
    def _sampling_tangent(self) -> Any:
        """Return the Function (x, p, t, sp) -> change of the time until the next sampling."""
        until = self._prepared.bundle.until_sampling
        names, (first, *_) = until.name_in(), until.name_out()
        return until.factory("sampling_tangent", [*names, f"fwd:{names[1]}"], [f"fwd:{first}"])

    @property
    def _has_adjoint(self) -> bool:
        """Whether the adjoint goes back through a run: it takes equal steps, without events and samplings."""
        bundle = self._prepared.bundle
        return not (self._prepared.tolerance or bundle.guards or bundle.until_sampling)

    @cached_property
    def _recording(self) -> Recording:
        return recording(self._prepared.bundle)

    @cached_property
    def _following(self) -> Following:
        return following(self._prepared.dae, self._prepared.scheme, self._prepared.bundle)

    def _along(
        self, kernel: Any, supplied: _Given, moved: Callable[..., None], shown: Callable[..., None] = lambda *_: None
    ) -> Array:
        """Return all outputs of a run; `moved` is called before each part of it, `shown` before each row."""
        step, tolerance = self._prepared.step, self._prepared.tolerance
        s, p, drives = supplied
        x = self._prepared.initial_state(drives.at(0.0), s, p)
        times: list[float] = self.time.tolist()
        rows = []
        for k, start in enumerate(times[:-1]):
            for t, t1, u, du in drives.between(k):
                if t == start:
                    shown(x, u, t, t1)
                    rows.append(kernel.outputs(x, u, p, t))
                moved(x, u, du, t, t1 - t)
                before = x
                x, _, status = kernel.communicate(x, u, du, p, t, t1 - t, step, tolerance)
                if status:
                    explained = facts(self._prepared).explained
                    raise StepError(explained(kernel, status, before, u, du, p, t, step, tolerance))
        u = drives.at(times[-1])
        shown(x, u, times[-1], times[-1])
        rows.append(kernel.outputs(x, u, p, times[-1]))
        return np.array(rows)

    def _refuse_contradicted(self, x: Any, s: Any, p: Any) -> None:
        """Raise an error if a start has no derivative with respect to a free value.

        Args:
            x: the state there.
            s: start values, as a vector of the kernel.
            p: parameters, as a vector of the kernel.

        Raises:
            UsageError: after the smallest change of it, the start values contradict the constraints.
        """
        dae, scheme = self._prepared.dae, self._prepared.scheme
        if dae.n and self._places:
            whole = dae.extended(list(p))
            q, v, _ = scheme.read(list(x)[: scheme.step.x.numel()], whole, 0.0)
            starts = list(s)[: len(dae.start.starts)]
            if contradiction := contradicted(dae, start_slopes(dae, self._places)(q, v, starts, whole, 0.0)):
                index, names = contradiction
                raise UsageError(
                    f"{dae.name}: a run has no derivative with respect to {self.free[index]}: after its smallest "
                    f"change the start values {', '.join(names)} contradict the constraints; leave some of them free "
                    "(mbfmu.load(MODEL, free=[NAME]))"
                )
        self._has_slopes = True  # so it has at other values, as which equations repeat others does not change

    def _known(self, t: float, followed: tuple[Any, Unknown | None]) -> Any:
        """Return a tangent, if it is known."""
        tangent, unknown = followed
        if unknown is None:
            return tangent
        switching = self._prepared.dae.switching
        if switching and unknown.reason in UNKNOWN:
            t, guard = unknown.time, switching.guard_names[unknown.guard]
            why = f"there {guard} {UNKNOWN[unknown.reason]}: end the run before, or take a smooth force"
        else:
            why = (
                "the position is singular, or the tangents of the stepper's equations do not come to rest: take "
                "another stepper, such as projected or rattle, or a smaller step"
            )
        raise StepError(f"{self._prepared.outline.name}: the derivatives are not known after t = {t:g} s: {why}")

    def _unit(self, kernel: Following, index: int) -> tuple[Any, Any]:
        """Return the changes of start values and parameters, of one free value by 1."""
        s, p = [0.0] * kernel.ns, [0.0] * kernel.np
        if index < len(self._places):
            kind, k = self._places[index]
            (p if kind else s)[k] = 1.0
        return vector(s), vector(p)

    def _driving(self, start: float, end: float) -> list[tuple[Any, Any]]:
        """Return the changes of inputs and of their rates along a line, of each free value by 1."""
        whole = np.zeros((len(self.free), 2, len(self.input_names)))
        first = len(self._places)
        for item in self.knots:
            rows = slice(first, first + len(item.times))
            first = rows.stop
            whole[rows, :, self.input_names.index(item.name)] = np.transpose(item.changes(start, end))
        return [(vector(u.tolist()), vector(du.tolist())) for u, du in whole]

    def _given(self, values: Values) -> _Given:
        """Return what a run depends on."""
        numbers = self.values
        if isinstance(values, Mapping):
            for name, value in values.items():
                if name not in self.free:
                    raise UnknownNameError(f"'{name}' is none of the free values; {nearest(name, self.free)}")
                numbers[self.free.index(name)] = value
        elif values is not None:
            numbers = np.array(values, dtype=np.float64)
        if numbers.shape != (len(self.free),):
            raise UsageError(f"values: there must be {len(self.free)} numbers, of {', '.join(self.free)}")
        outline = self._prepared.outline
        s, p = outline.s_default(), outline.p_default()
        for item, value in zip(self.signals, numbers.tolist(), strict=True):
            if not item.min <= value <= item.max:
                raise UsageError(f"{item.name} = {value:g} must be between {item.min:g} and {item.max:g}")
        for (kind, k), value in zip(self._places, numbers.tolist(), strict=False):
            (p if kind else s)[k] = value
        return _Given(vector(s), vector(p), self._driven(numbers[len(self._places) :]))

    def _driven(self, values: Array) -> Drives:
        """Return the inputs for values at the knots, shape (n_knots,)."""
        if not self.knots:
            return self._drives
        if not np.all(np.isfinite(values)):
            raise UsageError("values at knots must be finite numbers")
        parts = np.split(values, np.cumsum([len(item.times) for item in self.knots])[:-1])
        more = {item.name: item.course(part) for item, part in zip(self.knots, parts, strict=True)}
        return replace(self._drives, given={**self._drives.given, **more})


def _with_numbers(system: Model, free: tuple[str, ...], choices: tuple[Any, ...], driven: bool) -> Prepared:
    """Return a model with its stepper in which every free value is a number; driven: whether an input is free too."""
    known = system.values()
    if not (free or driven) or len(set(free)) != len(free):
        raise UsageError("free: name parameters or start values, each once")
    for name in free:
        if name not in known:
            text = nearest(name, known)
            raise UnknownNameError(f"'{system.name}' has no parameter or start value '{name}'; {text}")
    prepared = prepare(system, *choices)
    guesses = {item.name: item.value for item in prepared.outline.starts if item.guess and item.name in free}
    if guesses:
        prepared = prepare(system.with_values(guesses), *choices)
    signals = {item.name: item for item in (*prepared.outline.parameters, *prepared.outline.starts)}
    for name in free:
        if name not in signals or signals[name].type != "Real":
            raise UsageError(
                f"'{name}' of '{system.name}' is not a number that can vary: it is an expression, a start value "
                "left out, "
                "a switch, or it changes the equations; give it a value (--set), or free what it depends on"
            )
    return prepared


def _place(outline: Outline, name: str) -> tuple[bool, int]:
    """Return whether a value is a parameter, and its index among them or among the start values."""
    parameters = [item.name for item in outline.parameters]
    if name in parameters:
        return True, parameters.index(name)
    return False, [item.name for item in outline.starts].index(name)


def _times(stop: float | None, step: float, interval: float | None, times: npt.ArrayLike | None) -> Array:
    """Return the times of the outputs."""
    if times is None:
        if stop is None or not (np.isfinite(stop) and stop > 0):
            raise UsageError(f"the stop time is {stop} s; it must be a positive number")
        return communication_points(stop, step, interval)
    if stop is not None or interval is not None:
        raise UsageError("the times of the outputs are given: leave stop and output_interval out")
    instants = np.array(times, dtype=np.float64)
    if instants.ndim != 1 or len(instants) < 2 or instants[0] != 0 or not np.all(np.diff(instants) > 0):
        raise UsageError("times of outputs must begin at 0 and increase, with at least two of them")
    return instants

"""Dae + Scheme -> Outline: what a run needs of a model besides its kernel."""

import math
from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.dae import Dae, Layout, ParameterSignal, Signal
from mbfmu.dae.energy import Conserved, constant_of
from mbfmu.dae.states import PREFIX, state_signals
from mbfmu.dae.vibration import Vibration, quickest
from mbfmu.kernel.errors import Estimated
from mbfmu.kernel.failure import Bound, Quantity
from mbfmu.stepper import Scheme, Usual


@dataclass(frozen=True)
class Outline(Layout):
    """What a run needs of a model, besides its kernel.

    Args:
        name: of the model.
        stepper: the stepper with its options, as a user writes it.
        usual: the stepper that is taken if none is named, with the reason; None: one is.
        inputs: entries of u.
        parameters: entries of p.
        outputs: what the kernel puts out, without bound parameters.
        start_values: entries of s.
        sampled: number of entries that p of the Dae has beyond the parameters, for sampled inputs.
        formulas: names of the inputs that are formulas of the time in the equations.
        multistep: whether the stepper takes steps of one length best (see `Scheme`).
        notices: what a user should know about the start with the default values.
        rows: Function (x, p, t) -> [Phi_q; G] at a state of the scheme, shape (m + k, n); None without constraints.
        constant: the output that is constant without errors of the steps.
        guards: what each guard of gaps and frictions belongs to, in words.
        gaps: places among the outputs of gaps that the stepper takes without events, and may not begin below 0.
        clearances: indices of all gaps among the outputs.
        bounds: those of calculated parameters that the parameters may leave.
        limit: product of a step and a rate, rad, from which on errors of the stepper grow; None: there is none, or it
            is not watched, as the history of a multistep method belongs to one step.
        quickest: the flexible body that bounds the step of an explicit stepper; None: nothing bounds it.
        coordinates: names of q.
        measured: the coordinates, rates and first-order states whose errors are estimated, as a user sees them.
    """

    name: str
    stepper: str
    usual: Usual | None
    inputs: tuple[Signal, ...]
    parameters: tuple[ParameterSignal, ...]
    outputs: tuple[Signal, ...]
    start_values: tuple[ParameterSignal, ...]
    sampled: int
    formulas: tuple[str, ...]
    multistep: bool
    notices: tuple[str, ...]
    rows: Any
    constant: Conserved
    guards: tuple[str, ...]
    gaps: tuple[int, ...]
    clearances: tuple[int, ...]
    bounds: tuple[Bound, ...]
    limit: float | None
    quickest: Vibration | None
    coordinates: tuple[str, ...]
    measured: Estimated

    @property
    def starts(self) -> tuple[ParameterSignal, ...]:
        """The start values s."""
        return self.start_values

    @property
    def settable(self) -> set[str]:
        """Names of the parameters and of the start values that are met."""
        return {item.name for item in (*self.parameters, *self.starts) if not item.guess}

    @property
    def states(self) -> tuple[Quantity, ...]:
        """Coordinates and first-order states among the outputs, with their nominal or larger start values.

        Of a coordinate without a nominal value it is 1.
        """
        begun = {item.name: abs(item.value) for item in self.starts}
        derived = {item.derivative_of for item in self.outputs}
        return tuple(
            Quantity(item.name, item.unit, max(item.nominal or 1.0, begun.get(item.name, 0.0)), index)
            for index, item in enumerate(self.outputs)
            if item.type == "Real" and item.derivative_of is None
            if item.name in begun or (item.kind == "output" and item.name in derived)
        )

    def bounded(self, step: float) -> tuple[str, ...]:
        """Return a notice if a step, s, is too long for the quickest flexible body."""
        if self.quickest is None or step <= self.quickest.step:
            return ()
        return (
            f"{self.name}: '{self.quickest.path}' has modes of up to {self.quickest.highest:.4g} Hz, for which the "
            f"stepper needs steps below about {self.quickest.step:.2g} s, and this one is {step:g} s: take "
            "generalized_alpha or radau, a smaller step, or fewer modes or elements",
        )

    def jacobian(self, x: Any, p: Any) -> Any:
        """Return [Phi_q; G] at t = 0, DM, shape (m + k, n), for a state x and parameters p of the kernel."""
        if self.rows is None:
            return ca.DM(0, 0)
        state = list(x)[: self.rows.size1_in(0)]
        return self.rows(state, [*p, *[0.0] * self.sampled], 0.0)


def outline(dae: Dae, scheme: Scheme, notices: tuple[str, ...], usual: Usual | None) -> Outline:
    """Return the outline of a model with a stepper, with notices about its start, and why it has that stepper."""
    clearances, sampled = _clearances(dae), dae.n_p - len(dae.parameters)
    rows = _rows(dae, scheme) if dae.m + dae.k else None
    stepper = " ".join([scheme.name, *(f"{key}={value}" for key, value in scheme.options.items())])
    return Outline(
        dae.name, stepper, usual, dae.inputs, dae.parameters, dae.outputs, dae.starts, sampled,
        dae.formulas, scheme.multistep, notices, rows, constant_of(dae),
        dae.switching.guard_names if dae.switching else (),
        () if dae.switching else clearances,
        clearances,
        tuple(
            Bound(item.name, item.unit, index, item.min, item.max)
            for index, item in enumerate(dae.bound, len(dae.outputs))
            if math.isfinite(item.min) or math.isfinite(item.max)
        ),
        min(scheme.limits) if scheme.limits.any and not scheme.multistep else None,
        quickest(dae) if dae.about.flexible and scheme.limits.decay < math.inf else None,
        dae.coordinates, _measured(dae),
    )  # fmt: skip


def _measured(dae: Dae) -> Estimated:
    signals, n = state_signals(dae), dae.unswitched.n
    called = {full: name for name, full in dae.about.other_names}
    full = [item.name.removeprefix(PREFIX) for item in signals[:n]]
    coordinates = [called.get(name, name) for name in full]
    rates = {item.derivative_of: item.name for item in dae.outputs if item.derivative_of}
    rated = [rates.get(name, f"der({name})") for name in coordinates]
    states = [item for item in dae.states if item.controlled]
    return Estimated((*coordinates, *rated, *(item.name for item in states)), n, tuple(item.nominal for item in states))


def _clearances(dae: Dae) -> tuple[int, ...]:
    if dae.switches is None:
        return ()
    called = {full: name for name, full in dae.switches.names}
    index_of = {item.name: index for index, item in enumerate(dae.outputs)}
    names = (f"{gap.name}.gap" for gap in dae.switches.gaps)
    return tuple(index_of[called.get(name, name)] for name in names)


def _rows(dae: Dae, scheme: Scheme) -> Any:
    x, p, t = ca.MX.sym("x", scheme.step.x.numel()), ca.MX.sym("p", dae.n_p), ca.MX.sym("t")
    q, _, _ = scheme.read(x, p, t)
    return ca.Function("rows", [x, p, t], [dae.constraints.C(q, dae.followed(q, p, t), t)])

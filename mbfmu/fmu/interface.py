"""Interface: the one table of FMU variables that XML, both back ends, documentation and command line read.

A value reference is the number of a row. The row gives the kind of the variable and the offset of its value in the
vector of that kind; nothing else is derived from value references.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from sys import float_info
from typing import Any

from mbfmu.dae import ParameterSignal, Signal
from mbfmu.dae.energy import STORED, Conserved
from mbfmu.dae.states import indicator_signals, rate_signals, state_places, state_signals
from mbfmu.fmu.dependencies import bound_on, initial_dependencies, running_dependencies
from mbfmu.fmu.nominal import nominal_of, power_of_ten
from mbfmu.kernel.bundle import Bundle
from mbfmu.kernel.errors import Estimated
from mbfmu.kernel.failure import Quantity
from mbfmu.model.mechanism import FIXED
from mbfmu.model.variable_type import VariableType
from mbfmu.prepared.failures import remedies
from mbfmu.prepared.prepare import Prepared
from mbfmu.prepared.settings import LARGEST_TOLERANCE, MOST_SAMPLES, OFTEN
from mbfmu.stepper import Scheme

STEP = "solver.step"
TOLERANCE = "solver.tolerance"
ERROR_SAMPLES = "solver.error_samples"
DRIFT = "solver.drift"
STABILIZATION = "solver.stabilization"
"""Names of the parameters of the solver: three for co-simulation, two for model exchange."""
ALLOWED_DRIFT, RETURN = 1e-5, 10.0
"""Defaults of solver.drift and of solver.stabilization, 1/s."""
CORRECTION = "solver.correction"
ERROR = "solver.error"
RESIDUAL = "constraint.position"

TIME, INPUT, PARAMETER, SETTING, OUTPUT, DIAGNOSTIC = KINDS = (
    "time", "input", "parameter", "setting", "output", "diagnostic",
)  # fmt: skip
"""Kinds of variables, each with a vector of values: time, u, p, the parameters of the solver, y, and the report on the
steps: the size of the last correction, or the error."""
STATE, RATE, INDICATOR = EXCHANGED = ("state", "rate", "indicator")
"""Kinds of variables beside these in a kernel for model exchange: entries of [q; v; z], of its time derivative, and of
the guards as a solver sees them, which are variables in FMI 3.0 alone."""

SHAPING = "constraints, positions of bodies or sampling instants depend on it; use reset"
HIDDEN = (
    "the stepper '{stepper}' keeps momenta, which depend on it; use reset, or export with a stepper that keeps "
    "velocities, such as 'projected'"
)
CHOOSING = "only the start depends on it; use reset"
"""Reasons why a parameter is fixed after the initialisation."""

LIMITS = {
    "largest": 1e100,
    "stop_part": 1e-3,
    "step_part": 1e-6,
    "time_part": 16 * float_info.epsilon,
}
"""Numbers that both back ends compare with.

``largest``: largest magnitude of a value that may be set. ``stop_part``: part of a communication step by which its end
may pass the stop time, as masters add up steps with round-off. ``step_part``, ``time_part``: largest difference between
the beginning of a communication step and the time of the FMU, as a part of the step plus a part of the time.
"""
WHOLE = 1e-9
"""Largest round-off of the value of an Integer or Boolean: its distance from a whole number, relative to 1 and its
size."""


@dataclass(frozen=True)
class Variable:
    """One FMU variable.

    Args:
        name: structured name.
        reference: value reference.
        kind: one of `KINDS`, which names the vector of its value.
        offset: index in the vector of its kind.
        causality: causality in FMI 2.0.
        variability: variability in FMI 2.0.
        initial: attribute `initial` in FMI 2.0; None if the causality determines it.
        unit: SI unit.
        description: one line.
        start: start value; None if it may have none.
        min: least value allowed.
        max: greatest value allowed.
        nominal: usual size.
        derivative_of: name of the variable whose time derivative it is, if any.
        start_offset: index in the vector s of start values, for an output with a start value.
        fixed: why a parameter is fixed after the initialisation; None: it is tunable.
        type: type in FMI 2.0, which decides by which functions it is read and set.
        items: names of the values 0, 1, 2, ... of an Integer that is a mode, an enumeration in FMI 3.0.
    """

    name: str
    reference: int
    kind: str
    offset: int
    causality: str
    variability: str
    initial: str | None
    unit: str
    description: str
    start: float | None = None
    min: float = -math.inf
    max: float = math.inf
    nominal: float = 1.0
    derivative_of: str | None = None
    start_offset: int | None = None
    fixed: str | None = None
    type: VariableType = "Real"
    items: tuple[str, ...] = ()

    @property
    def type3(self) -> str:
        """The type in FMI 3.0, as the C code names it."""
        return "Enumeration" if self.items else self.type

    def shown(self, value: float) -> str:
        """Return a value as text, as XML has it: a number from which the same number is read, or true or false."""
        if self.type == "Boolean":
            return "true" if value else "false"
        return repr(int(value) if self.type == "Integer" else float(value))


@dataclass(frozen=True)
class Watched:
    """The outputs by which an FMU notices that its steps are too long; indices are among the outputs.

    Args:
        constant: the output that only errors of the steps change.
        energies: indices of that output, of the kinetic and of the potential energy; empty: it has none.
        residual: index of the maximum constraint residual of the coordinates; None: there is none.
        limit: product of a step and a rate, rad, from which on errors of the stepper grow; None: it is not watched.
        states: coordinates and first-order states, with their usual sizes.
        errors: the quantities whose errors are estimated; None: there is no estimate.
    """

    constant: Conserved
    energies: tuple[int, ...]
    residual: int | None
    limit: float | None
    states: tuple[Quantity, ...]
    errors: Estimated | None


@dataclass(frozen=True)
class Interface:
    """The variables of an FMU and their dependencies.

    Args:
        variables: variables in the order of modelDescription.xml and of their value references.
        feedthrough: names of the inputs, parameters and the time that each output depends on directly, by the output's
            name; for model exchange with the states, and of the states' time derivatives too.
        bound_on: names of the parameters that each calculated parameter depends on, by its name.
        watched: outputs that the FMU itself watches.
        guards: what each guard of gaps and frictions belongs to, in words.
        sampled: names of the sampled blocks.
        states: the continuous states of model exchange, each with its time derivative; none without model exchange.
        indicators: names of the event indicators that are variables.
        exchange: whether the kernel behind it is that of model exchange.
        remedies: advice by what may go wrong, see `remedies`.
        gaps: names of the gaps.
        starting: names of the start values, inputs, parameters and the time that each variable which the initialisation
            computes depends on there, by its name.
        scalars: whether FMI 3.0 has neither arrays of them nor clocks.
    """

    variables: tuple[Variable, ...]
    feedthrough: dict[str, tuple[str, ...]]
    bound_on: dict[str, tuple[str, ...]]
    watched: Watched
    guards: tuple[str, ...] = ()
    sampled: tuple[str, ...] = ()
    states: tuple[tuple[Variable, Variable], ...] = ()
    indicators: tuple[str, ...] = ()
    exchange: bool = False
    remedies: Mapping[str, str] = field(default_factory=dict)
    gaps: tuple[str, ...] = ()
    starting: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    scalars: bool = False

    @property
    def typed(self) -> bool:
        """Whether there are other variables than real ones."""
        return any(item.type != "Real" for item in self.variables)

    @property
    def limits(self) -> dict[str, float]:
        """The numbers that the back ends compare with: `LIMITS`, and `WHOLE` if there are other than real variables."""
        return {**LIMITS, "whole": WHOLE} if self.typed else LIMITS

    def index(self, name: str) -> int:
        """Return the 1-based position of a variable in modelDescription.xml."""
        return next(index for index, item in enumerate(self.variables, 1) if item.name == name)


def interface(
    prepared: Prepared,
    corrections: int = 0,
    kinds: Sequence[str] = ("cs",),
    exchange: Bundle | None = None,
    indicators: bool = False,
    start: Sequence[float] = (),
) -> Interface:
    """Return the interface of a model with a stepper.

    Args:
        prepared: the model with its stepper; for co-simulation and ``me``, with the state among its outputs.
        corrections: fixed number of corrections of each stage of a step, with solver.correction as the size of the
            last; 0: as many as the equations need.
        kinds: what the FMU is for, of ``cs`` and ``me``; all its kernels have the same variables.
        exchange: functions of the kernel, if it is that of model exchange.
        indicators: whether event indicators are variables, for co-simulation among the outputs of the model.
        start: the continuous states at the model's own start, in the order of `state_signals`; empty: they are no
            variables.
    """
    dae = prepared.dae
    # start values by name: met (exact) or guessed (approx)
    settings = _settings(prepared, corrections, kinds)
    usual = nominal_of(dae)
    names = {item.name for item in dae.parameters}
    starts = {
        item.name: (offset, item.value, "approx" if item.guess or _is_chosen(item.name, names) else "exact")
        for offset, item in enumerate(dae.starts)
    }
    followed = dict(zip((item.name for item in state_signals(dae)), start, strict=True)) if len(start) else {}
    variables: list[Variable] = []

    def add(
        kind: str, offset: int, item: Signal | ParameterSignal, causality: str, variability: str,
        initial: str | None, **more: Any,
    ) -> None:  # fmt: skip
        text = item.description
        if isinstance(item, Signal) and not item.unique:
            text += "; not unique, the constraints are redundant"
        attributes = (kind, offset, causality, variability, initial)
        if item.items:
            text = f"{text} ({', '.join(f'{value}: {name}' for value, name in enumerate(item.items))})".strip()
            more |= {"min": max(more.get("min", 0), 0), "max": min(more.get("max", math.inf), len(item.items) - 1)}
        variables.append(
            Variable(item.name, len(variables), *attributes, item.unit, text, type=item.type, items=item.items, **more)
        )

    # time, inputs, parameters and settings of the solver
    add(TIME, 0, Signal("time", "s", "time"), "independent", "continuous", None)
    for offset, signal in enumerate(dae.inputs):
        add(INPUT, offset, signal, "input", _variability(signal), None, start=signal.start, nominal=usual(signal))
    for kind, parameters in ((PARAMETER, dae.parameters), (SETTING, settings)):
        for offset, item in enumerate(parameters):
            size = power_of_ten(item.value) if item.value and item.type == "Real" else usual(item)
            why = _why_fixed(prepared.scheme, offset, item) if kind == PARAMETER else None
            add(
                kind, offset, item, "parameter", "fixed" if why else "tunable", "exact",
                start=item.value, min=item.min, max=item.max, nominal=size, fixed=why,
            )  # fmt: skip
    # outputs, some of which have start values
    for offset, signal in enumerate(dae.outputs):
        start_offset, value, initial = starts.get(signal.name) or _followed(followed, signal.name)
        add(
            OUTPUT, offset, signal, signal.kind, _variability(signal, offset in dae.sampled_outputs), initial,
            start=value, nominal=usual(signal), derivative_of=signal.derivative_of, start_offset=start_offset,
        )  # fmt: skip
    # states, derivatives and event indicators of model exchange
    if exchange:
        for kind, signals in ((STATE, state_signals(dae)), (RATE, rate_signals(dae))):
            for offset, signal in zip(state_places(dae), signals, strict=True):
                _, value, initial = _followed(followed, signal.name)
                add(
                    kind, offset, signal, "local", "continuous", initial,
                    start=value, nominal=usual(signal), derivative_of=signal.derivative_of,
                )  # fmt: skip
    shown = indicator_signals(prepared.outline.guards if indicators else ())
    if exchange:
        for offset, signal in enumerate(shown):
            add(INDICATOR, offset, signal, "local", "continuous", "calculated")
    # outputs that depend on parameters alone, and the diagnostic of real time
    bound, tunable = bound_on(dae), {item.name for item in variables if item.variability == "tunable"}
    for offset, signal in enumerate(dae.bound, len(dae.outputs)):
        variability = "tunable" if tunable & set(bound[signal.name]) else "fixed"
        add(
            OUTPUT, offset, signal, "calculatedParameter", variability, "calculated",
            min=signal.min, max=signal.max, nominal=usual(signal),
        )  # fmt: skip
    watched = _watched(prepared, corrections, kinds)
    if report := _report(corrections, watched):
        add(DIAGNOSTIC, 0, report, "local", "continuous", "calculated")
    # pairs of states and derivatives, and dependencies
    by_name = {item.name: item for item in variables}
    states = (
        [(by_name[item.derivative_of or ""], by_name[item.name]) for item in rate_signals(dae)] if "me" in kinds else []
    )
    functions = exchange or prepared.bundle
    starting = initial_dependencies(dae, functions, variables[0].name, STABILIZATION)
    known = {item.name for item in variables if item.initial != "approx"}  # by FMI, a guess is no start value
    return Interface(
        tuple(variables),
        running_dependencies(dae, functions, variables[0].name, STABILIZATION),
        bound,
        watched,
        prepared.outline.guards,
        tuple(clock.name for clock in dae.sampling.clocks) if dae.sampling else (),
        tuple(states),
        tuple(item.name for item in shown),
        exchange is not None,
        remedies(prepared, corrections),
        tuple(gap.name for gap in dae.switches.gaps) if dae.switches else (),
        {name: tuple(item for item in on if item in known) for name, on in starting.items()} | bound,
    )


def _followed(starts: Mapping[str, float], name: str) -> tuple[None, float | None, str]:
    """Return offset, start value and `initial` of a variable whose start follows from those of others."""
    return None, starts.get(name), "approx" if name in starts else "calculated"


def _variability(signal: Signal, sampled: bool = False) -> str:
    """Return how a quantity varies in time: FMI has no other than real variables that are continuous.

    Args:
        signal: the quantity.
        sampled: whether it changes at sampling instants alone.
    """
    return "continuous" if signal.type == "Real" and not sampled else "discrete"


def _is_chosen(start: str, parameters: Collection[str]) -> bool:
    """Return whether one of the parameters says whether a start value is met; a quaternion has one for all entries."""
    return any(FIXED + name in parameters for name in (start, start.partition("[")[0]))


def _why_fixed(scheme: Scheme, index: int, item: ParameterSignal) -> str | None:
    """Return why a parameter may not change during a run; None if it may."""
    if not item.tunable:
        return CHOOSING if item.name.startswith(FIXED) else SHAPING
    return HIDDEN.format(stepper=scheme.name) if index in scheme.depends_on else None


def _estimates(prepared: Prepared, corrections: int, kinds: Sequence[str]) -> bool:
    """Return whether the error of steps is estimated: not with bounded work, which has no time for it."""
    return "cs" in kinds and not corrections and prepared.bundle.measured is not None


def _watched(prepared: Prepared, corrections: int, kinds: Sequence[str]) -> Watched:
    """Return what an FMU watches; with bounded work no step takes the time of the steps that find its limit."""
    constant = prepared.outline.constant
    indices = {signal.name: index for index, signal in enumerate(prepared.dae.outputs)}
    energies = tuple(indices[name] for name in (constant.name, *STORED[1:])) if constant.name else ()
    view = prepared.outline
    limit = None if corrections else view.limit
    errors = view.measured if _estimates(prepared, corrections, kinds) else None
    return Watched(constant, energies, indices.get(RESIDUAL), limit, view.states, errors)


def _report(corrections: int, watched: Watched) -> Signal | None:
    """Return the report on the steps: with bounded work what it leaves, else the estimated error, if there is one."""
    if corrections:
        text = f"size of the last of {corrections} corrections, the largest in the communication step; 0: nothing left"
        return Signal(CORRECTION, "1", text)
    text = "estimated error of the steps so far, relative to the range of the variable with the largest one"
    return Signal(ERROR, "1", text) if watched.errors else None


def _settings(prepared: Prepared, corrections: int, kinds: Sequence[str]) -> tuple[ParameterSignal, ...]:
    """Return the parameters of the solver for some uses, in the order of their vector."""
    scheme = prepared.scheme
    longest = "maximum step size of the stepper; without a tolerance a communication step is divided into equal steps"
    error = (
        "error that a second of motion may add to coordinates and velocities, relative to 1 and their size; "
        "0: a fixed step size"
    )
    loosest = 0.0 if scheme.multistep or corrections else LARGEST_TOLERANCE  # chosen steps are not bounded work
    drift = (
        "model exchange: violation of the constraints, m, rad, m/s or rad/s, above which an accepted point asks for an "
        "event, which projects the state onto them"
    )
    stabilization = (
        "model exchange: rate at which a state beside the constraints tends to them; the solver's steps must resolve it"
    )
    shadows = "the error is estimated of one in so many steps of a long run, and of more in a short one; 0: of none"
    samples = (ParameterSignal(ERROR_SAMPLES, "1", shadows, OFTEN, 0.0, MOST_SAMPLES, True),)
    settings = {
        "cs": (
            ParameterSignal(STEP, "s", longest, prepared.step, 1e-9, math.inf, True),
            ParameterSignal(TOLERANCE, "1", error, prepared.tolerance, 0.0, loosest, True),
            *(samples if _estimates(prepared, corrections, kinds) else ()),
        ),
        "me": (
            ParameterSignal(DRIFT, "1", drift, ALLOWED_DRIFT, 1e-12, math.inf, True),
            ParameterSignal(STABILIZATION, "1/s", stabilization, RETURN, 0.0, math.inf, True),
        ),
    }
    return tuple(item for kind in kinds for item in settings[kind])

"""Interface: the one table of FMU variables that XML, both back ends, documentation and command line read.

A value reference is the number of a row. The row gives the kind of the variable and the offset of its value in the
vector of that kind; nothing else is derived from value references.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass
from sys import float_info
from typing import Any

from mbfmu.dae import Dae, ParameterSignal, Signal
from mbfmu.dae.energy import STORED, Conserved
from mbfmu.fmu.nominal import nominal_of, power_of_ten
from mbfmu.kernel.bundle import Bundle
from mbfmu.model.mechanism import FIXED
from mbfmu.model.variable_type import VariableType
from mbfmu.prepared.prepare import LARGEST_TOLERANCE, Prepared
from mbfmu.stepper import Scheme

STEP = "solver.step"
TOLERANCE = "solver.tolerance"
SETTINGS = (STEP, TOLERANCE)
"""Parameters of the solver, in the order of their vector."""
CORRECTION = "solver.correction"
RESIDUAL = "constraint.position"

TIME, INPUT, PARAMETER, SETTING, OUTPUT, DIAGNOSTIC = KINDS = (
    "time", "input", "parameter", "setting", "output", "diagnostic",
)  # fmt: skip
"""Kinds of variables, each with a vector of values: time, u, p, `SETTINGS`, y, and the report on the last step."""

SHAPING = "constraints, places of bodies or times of sampling depend on it; use reset"
HIDDEN = (
    "the stepper '{stepper}' keeps momenta, which depend on it; use reset, or export with a stepper that keeps "
    "velocities, such as 'projected'"
)
CHOOSING = "only the start depends on it; use reset"
"""Reasons why a parameter is fixed after the initialisation."""

LIMITS = {
    "largest": 1e100,
    "step_part": 1e-6,
    "time_part": 16 * float_info.epsilon,
}
"""Numbers that both back ends compare with.

``largest``: largest magnitude of a value that may be set. ``step_part``, ``time_part``: largest difference between the
beginning of a communication step and the time of the FMU, as a part of the step plus a part of the time.
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
        offset: place in the vector of its kind.
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
        start_offset: place in the vector s of start values, for an output with a start value.
        fixed: why a parameter is fixed after the initialisation; None: it is tunable.
        type: type in FMI 2.0, which decides by which functions it is read and set.
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

    def shown(self, value: float) -> str:
        """Return a value as text, as XML has it: a number from which the same number is read, or true or false."""
        if self.type == "Boolean":
            return "true" if value else "false"
        return repr(int(value) if self.type == "Integer" else float(value))


@dataclass(frozen=True)
class Watched:
    """The outputs by which an FMU notices that its steps are too long; places are among the outputs.

    Args:
        constant: the output that only errors of the steps change.
        energies: places of that output, of the kinetic and of the potential energy; empty: it has none.
        residual: place of the largest residual of the constraints on the coordinates; None: there is none.
    """

    constant: Conserved
    energies: tuple[int, ...]
    residual: int | None


@dataclass(frozen=True)
class Interface:
    """The variables of an FMU and their dependencies.

    Args:
        variables: variables in the order of modelDescription.xml and of their value references.
        feedthrough: names of the inputs that each output depends on directly, by the output's name.
        bound_on: names of the parameters that each calculated parameter depends on, by its name.
        watched: outputs that the FMU itself watches.
        guards: what each guard of gaps and frictions belongs to, in words.
    """

    variables: tuple[Variable, ...]
    feedthrough: dict[str, tuple[str, ...]]
    bound_on: dict[str, tuple[str, ...]]
    watched: Watched
    guards: tuple[str, ...] = ()

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
        return next(number for number, item in enumerate(self.variables, 1) if item.name == name)


def interface(prepared: Prepared, corrections: int = 0) -> Interface:
    """Return the interface of a model with a stepper.

    Args:
        prepared: the model with its stepper.
        corrections: fixed number of corrections of each stage of a step, with solver.correction as the size of the
            last; 0: as many as the equations need.
    """
    dae = prepared.dae
    settings = _settings(prepared.scheme, prepared.step, prepared.tolerance, corrections)
    usual = nominal_of(dae)
    names = {item.name for item in dae.parameters}
    starts = {
        item.name: (offset, item.value, "approx" if item.guess or _is_chosen(item.name, names) else "exact")
        for offset, item in enumerate(dae.starts)
    }
    found: list[Variable] = []

    def add(
        kind: str, offset: int, item: Signal | ParameterSignal, causality: str, variability: str,
        initial: str | None, **more: Any,
    ) -> None:  # fmt: skip
        text = item.description
        if isinstance(item, Signal) and not item.unique:
            text += "; not unique, the constraints are redundant"
        place = (kind, offset, causality, variability, initial)
        found.append(Variable(item.name, len(found), *place, item.unit, text, type=item.type, **more))

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
    for offset, signal in enumerate(dae.outputs):
        place, value, initial = starts.get(signal.name, (None, None, "calculated"))
        add(
            OUTPUT, offset, signal, signal.kind, _variability(signal), initial,
            start=value, nominal=usual(signal), derivative_of=signal.derivative_of, start_offset=place,
        )  # fmt: skip
    bound_on, tunable = _bound_on(dae), {item.name for item in found if item.variability == "tunable"}
    for offset, signal in enumerate(dae.bound, len(dae.outputs)):
        variability = "tunable" if tunable & set(bound_on[signal.name]) else "fixed"
        add(OUTPUT, offset, signal, "calculatedParameter", variability, "calculated", nominal=usual(signal))
    if corrections:
        text = f"size of the last of {corrections} corrections, the largest in the communication step; 0: nothing left"
        add(DIAGNOSTIC, 0, Signal(CORRECTION, "1", text), "local", "continuous", "calculated")
    return Interface(
        tuple(found), _feedthrough(dae, prepared.bundle), bound_on, _watched(prepared), prepared.outline.guards
    )


def _variability(signal: Signal) -> str:
    """Return how a quantity varies in time: FMI has no other than real variables that are continuous."""
    return "continuous" if signal.type == "Real" else "discrete"


def _is_chosen(start: str, parameters: Collection[str]) -> bool:
    """Return whether one of the parameters says whether a start value is met; a quaternion has one for all entries."""
    return any(FIXED + name in parameters for name in (start, start.partition("[")[0]))


def _why_fixed(scheme: Scheme, number: int, item: ParameterSignal) -> str | None:
    """Return why a parameter may not change during a run; None if it may."""
    if not item.tunable:
        return CHOOSING if item.name.startswith(FIXED) else SHAPING
    return HIDDEN.format(stepper=scheme.name) if number in scheme.depends_on else None


def _watched(prepared: Prepared) -> Watched:
    constant = prepared.outline.constant
    places = {signal.name: place for place, signal in enumerate(prepared.dae.outputs)}
    energies = tuple(places[name] for name in (constant.name, *STORED[1:])) if constant.name else ()
    return Watched(constant, energies, places.get(RESIDUAL))


def _settings(scheme: Scheme, step: float, tolerance: float, corrections: int) -> tuple[ParameterSignal, ...]:
    """Return the parameters of the solver, in the order of `SETTINGS`."""
    longest = "longest step of the stepper; without a tolerance a communication step is divided into equal steps"
    error = (
        "error that a second of motion may add to coordinates and rates, relative to 1 and their size; 0: equal steps"
    )
    loosest = 0.0 if scheme.multistep or corrections else LARGEST_TOLERANCE  # chosen steps are not bounded work
    return (
        ParameterSignal(STEP, "s", longest, step, 1e-9, math.inf, True),
        ParameterSignal(TOLERANCE, "1", error, tolerance, 0.0, loosest, True),
    )


def _feedthrough(dae: Dae, bundle: Bundle) -> dict[str, tuple[str, ...]]:
    pattern = bundle.outputs.jac_sparsity(0, 1)
    by_row: dict[int, list[str]] = {}
    for row, column in zip(*pattern.get_triplet(), strict=True):
        by_row.setdefault(row, []).append(dae.inputs[column].name)
    return {signal.name: tuple(by_row.get(row, ())) for row, signal in enumerate(dae.outputs)}


def _bound_on(dae: Dae) -> dict[str, tuple[str, ...]]:
    pattern = dae.bound_values.jac_sparsity(0, 0)
    by_row: dict[int, list[str]] = {}
    for row, column in zip(*pattern.get_triplet(), strict=True):
        by_row.setdefault(row, []).append(dae.parameters[column].name)
    return {signal.name: tuple(by_row.get(row, ())) for row, signal in enumerate(dae.bound)}

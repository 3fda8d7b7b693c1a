"""Interface: the one list of FMU variables that XML, slave, documentation and command line read.

Value references number the variables: time, inputs, parameters, solver.step, solver.tolerance, then what the kernel
puts out; no two share one.
"""

import math
from dataclasses import dataclass

from mbfmu.dae import Dae
from mbfmu.fmu.nominal import nominal_of, power_of_ten
from mbfmu.kernel.bundle import Bundle
from mbfmu.steppers import Scheme

STEP = "solver.step"
TOLERANCE = "solver.tolerance"
LOOSEST = 0.1
"""The largest tolerance."""


@dataclass(frozen=True)
class Variable:
    """One FMU variable.

    Args:
        name: structured name.
        reference: value reference.
        causality: as FMI 2.0 names it.
        variability: as FMI 2.0 names it.
        initial: as FMI 2.0 names it; None where the causality leaves no choice.
        unit: SI unit.
        description: one line.
        start: start value; None where none may be given.
        min: least value allowed.
        max: greatest value allowed.
        nominal: the size it usually has.
        derivative_of: name of the variable it is the time derivative of.
    """

    name: str
    reference: int
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


@dataclass(frozen=True)
class Interface:
    """The variables of an FMU and what depends on what.

    Args:
        variables: in the order of modelDescription.xml.
        feedthrough: names of the inputs each output depends on directly, by name of the output.
        bound_on: names of the parameters each calculated parameter depends on, by its name.
        n_u, n_p, n_y: how many inputs, parameters (without solver.*) and kernel outputs there are.
        starts: for each start value of the kernel, the value reference of the output it belongs to.
    """

    variables: tuple[Variable, ...]
    feedthrough: dict[str, tuple[str, ...]]
    bound_on: dict[str, tuple[str, ...]]
    n_u: int
    n_p: int
    n_y: int
    starts: tuple[int, ...]

    def index(self, name: str) -> int:
        """Return the 1-based position of a variable in modelDescription.xml."""
        return next(number for number, item in enumerate(self.variables, 1) if item.name == name)


def interface(dae: Dae, scheme: Scheme, bundle: Bundle, step: float, tolerance: float) -> Interface:
    """Return the interface of a model with a stepper.

    Args:
        dae: the equations.
        scheme: the stepper.
        bundle: its kernel's functions.
        step: default of solver.step, s.
        tolerance: default of solver.tolerance.
    """
    usual = nominal_of(dae)
    found = [
        Variable("time", 0, "independent", "continuous", None, "s", "time"),
    ]
    for signal in dae.inputs:
        found.append(
            Variable(
                signal.name, len(found), "input", "continuous", None, signal.unit, signal.description,
                signal.start, nominal=usual(signal),
            )
        )  # fmt: skip
    for item in dae.parameters:
        variability = "tunable" if item.tunable else "fixed"
        found.append(
            Variable(
                item.name, len(found), "parameter", variability, "exact", item.unit, item.description,
                item.value, item.min, item.max, power_of_ten(item.value) if item.value else usual(item),
            )
        )  # fmt: skip
    text = "longest step of the stepper; without a tolerance a communication step is divided into equal steps"
    found.append(
        Variable(STEP, len(found), "parameter", "tunable", "exact", "s", text, step, 1e-9, nominal=power_of_ten(step))
    )
    text = (
        "error that a second of motion may add to coordinates and rates, relative to 1 and their size; 0: equal steps"
    )
    most = 0.0 if scheme.multistep else LOOSEST
    found.append(Variable(TOLERANCE, len(found), "parameter", "tunable", "exact", "1", text, tolerance, 0.0, most))
    first = len(found)
    starts = {item.name: item.value for item in dae.starts}
    references: dict[str, int] = {}
    for signal in dae.outputs:
        references[signal.name] = len(found)
        exact = signal.name in starts
        found.append(
            Variable(
                signal.name, len(found), signal.kind, "continuous", "exact" if exact else "calculated", signal.unit,
                signal.description, starts.get(signal.name), nominal=usual(signal),
                derivative_of=signal.derivative_of,
            )
        )  # fmt: skip
    for signal in dae.bound:
        found.append(
            Variable(
                signal.name, len(found), "calculatedParameter", "fixed", "calculated", signal.unit,
                signal.description, nominal=usual(signal),
            )
        )  # fmt: skip
    return Interface(
        variables=tuple(found),
        feedthrough=_feedthrough(dae, bundle),
        bound_on=_bound_on(dae),
        n_u=len(dae.inputs),
        n_p=len(dae.parameters),
        n_y=len(found) - first,
        starts=tuple(references[item.name] for item in dae.starts),
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

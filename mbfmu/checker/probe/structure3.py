"""Rules that FMI 3.0 alone has on structure: adjoint derivatives, dependencies of elements, numbers of states."""

from collections.abc import Iterator
from ctypes import byref, c_int, c_size_t
from typing import Any

import numpy as np
from fmpy.fmi3 import fmi3Dependent, fmi3ValueReference

from mbfmu.checker.outcome import NotApplicable
from mbfmu.checker.probe.exchange import COLUMNS, Model
from mbfmu.checker.probe.instance import Instance
from mbfmu.checker.probe.probe import SAVED, DynamicRule, Probe

TRANSPOSED = 1e-9
"""Relative difference of an adjoint derivative from the transposed directional ones."""
MOST = 10_000
"""Largest number of dependencies of a variable that are checked."""


def _transposed(instance: Instance, unknowns: list[Any], knowns: list[Any], names: list[str]) -> Iterator[str]:
    """Compare adjoint derivatives with the transposed matrix of the directional ones."""
    derive = instance.slave.getDirectionalDerivative
    matrix = np.array([derive(unknowns, [known], [1.0]) for known in knowns])
    for row, (unknown, name) in enumerate(zip(unknowns, names, strict=True)):
        adjoint = np.array(instance.slave.getAdjointDerivative([unknown], knowns, [1.0]))
        allowed = TRANSPOSED * (np.abs(matrix[:, row]) + np.abs(adjoint)) + TRANSPOSED * np.max(
            np.abs(matrix), initial=0
        )
        for column in np.flatnonzero(~(np.abs(adjoint - matrix[:, row]) <= allowed))[:1]:
            text = f"of '{name}' by known number {column + 1} is {adjoint[column]!r}"
            yield f"the adjoint derivative {text}, the directional one {matrix[column, row]!r}"
            return


def _needs_both(probe: Probe) -> None:
    probe.needs("providesAdjointDerivatives")
    probe.needs("providesDirectionalDerivative")


def adjoint_derivative(probe: Probe) -> Iterator[str]:
    """Adjoint derivatives of the outputs by the inputs are the transposed directional ones, if the FMU has both."""
    _needs_both(probe)
    probe.after("directional-derivative")
    inputs = probe.variables("there are no continuous inputs", causality="input", variability="continuous", type="Real")
    shown = probe.variables("no output is continuous", causality="output", variability="continuous", type="Real")
    knowns, unknowns = ([v["reference"] for v in group[:COLUMNS]] for group in (inputs, shown))
    with probe.running() as instance:
        instance.run(0, SAVED)
        yield from _transposed(instance, unknowns, knowns, [v["name"] for v in shown[:COLUMNS]])


def state_adjoint(probe: Probe) -> Iterator[str]:
    """Adjoint derivatives of the states' derivatives are the transposed directional ones, if the FMU has both."""
    _needs_both(probe)
    probe.after("state-derivative")
    pairs = probe.job["states"][:COLUMNS]
    if not pairs:
        raise NotApplicable("there are no continuous states")
    states, rates = ([pair[which] for pair in pairs] for which in (0, 1))
    with probe.running(kind=Model) as model:
        yield from _transposed(model, rates, states, [f"derivative {n + 1}" for n in range(len(rates))])


def variable_dependencies(probe: Probe) -> Iterator[str]:
    """Dependencies of elements name variables and elements that exist, and no variable beyond the description's."""
    probe.needs("providesPerElementDependencies")
    sizes, declared = dict(probe.job["sizes"]), dict(probe.job["dependencies"])
    with probe.running() as instance:
        for reference, allowed in declared.items():
            for element, other, of, kind in _dependencies(instance, reference):
                where = f"a dependency of the variable {reference}"
                if other not in sizes or not 0 <= of <= sizes[other] or not 0 <= element <= sizes[reference]:
                    yield f"{where} names element {element} of it and element {of} of the variable {other}"
                    return
                if not 0 <= kind <= fmi3Dependent:
                    yield f"{where} is of the kind {kind}, which there is not"
                    return
                if allowed is not None and other not in allowed:
                    yield f"{where} names the variable {other}, which the description does not list"
                    return


def _dependencies(instance: Instance, reference: int) -> list[tuple[int, int, int, int]]:
    """Return element, variable it depends on, element of that and kind of the dependencies of a variable."""
    slave, n = instance.slave, c_size_t()
    slave.fmi3GetNumberOfVariableDependencies(slave.component, reference, byref(n))
    count = n.value
    if count > MOST:
        return []
    of, elements = (c_size_t * count)(), (c_size_t * count)()
    others, kinds = (fmi3ValueReference * count)(), (c_int * count)()
    slave.fmi3GetVariableDependencies(slave.component, reference, of, others, elements, kinds, count)
    return list(zip(of, others, elements, kinds, strict=True))


def state_number(probe: Probe) -> Iterator[str]:
    """The FMU has as many continuous states and event indicators as its description lists."""
    with probe.instance(kind=Model) as model:
        for reported, expected, quantity in (
            (model.slave.getNumberOfContinuousStates(), len(probe.job["states"]), "continuous states"),
            (model.slave.getNumberOfEventIndicators(), probe.job["indicators"], "event indicators"),
        ):
            if reported != expected:
                yield f"the FMU says it has {reported} {quantity}, and its description lists {expected}"


STEPPED: tuple[tuple[DynamicRule, str], ...] = (
    (adjoint_derivative, "2.2.12"),
    (variable_dependencies, "2.2.9"),
)
"""Rules of FMI 3.0 on the structure of an FMU for co-simulation."""

EXCHANGED: tuple[tuple[DynamicRule, str], ...] = (
    (state_number, "2.3.2"),
    (state_adjoint, "2.2.12"),
)
"""Rules of FMI 3.0 on the structure of an FMU for model exchange."""

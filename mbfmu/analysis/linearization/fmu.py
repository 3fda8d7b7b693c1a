"""The state-space form of an FMU about its start, from its directional derivatives in initialisation mode.

The states x are the outputs with a start value that is met whose time derivative is a variable too: in an FMU of mbfmu
the joint coordinates and rates that the model gives a start, `shoulder.phi` with `shoulder.w` and `shoulder.w` with
`shoulder.a`; of those that can be chosen, the ones that are met. Where they are all the states of the FMU,
x' = A x + B u follows from the derivatives of x' by x and u.
"""

import tempfile
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mbfmu.analysis.linearization.linear import Array, Linear
from mbfmu.errors import FmuError, ResultWarning, UnknownNameError, UsageError, first_of, nearest
from mbfmu.fmi.archive import read_archive
from mbfmu.fmi.description import claims
from mbfmu.fmi.plan import KINDS
from mbfmu.fmi.xml import read_root
from mbfmu.model.mechanism import FIXED
from mbfmu.run.fmu import course_of, read_fmu, start_value
from mbfmu.run.inputs import Course

SHOWN = 6
"""Largest number of variables that a warning names."""


def linearize_fmu(
    path: Path, values: Mapping[str, float], given: Mapping[str, Course], outputs: tuple[str, ...]
) -> Linear:
    """Return the state-space form of an FMU about its start.

    Gives a `ResultWarning` if variables tell of states that the form does not contain, or of events.

    Args:
        path: path of the .fmu file.
        values: start values and parameters by name.
        given: inputs over time, by name.
        outputs: names of real outputs; () for all.

    Raises:
        FmuError: the FMU cannot be started, or gives no directional derivatives or states.
        UnknownNameError: there is no such variable.
        UsageError: an input is not a finite number, or an output has no slope.
    """
    from mbfmu.fmi.instance import Messages, instantiate

    # the variables: states x, which have derivatives and start values, inputs u and outputs y
    description = read_fmu(path)
    if not _has_derivatives(path, description):
        raise FmuError(
            f"'{path}' gives no directional derivatives: export it with --backend native, or linearize the model itself"
        )
    every = {item.name: item for item in description.modelVariables}
    variables = {name: item for name, item in every.items() if item.type == "Real"}
    rate_of = {item.derivative.name: name for name, item in variables.items() if item.derivative is not None}
    states = [name for name, item in variables.items() if name in rate_of and _is_met(item, variables, values)]
    if not states:
        raise FmuError(
            f"'{path}' has no outputs with start values whose derivatives are variables: no states are known"
        )
    inputs = [name for name, item in variables.items() if item.causality == "input"]
    chosen = outputs or tuple(name for name, item in variables.items() if item.causality == "output")
    # what was supplied fits them
    for name in [*values, *given, *chosen]:
        if name not in every:
            raise UnknownNameError(f"'{path}' has no variable '{name}'; {nearest(name, every)}")
    for name in chosen:
        if name not in variables:
            raise UsageError(f"'{name}' of '{path}' is of type {every[name].type}: leave it out, it has no slope")
    for name in given:
        if every[name].causality != "input":
            driven = [item.name for item in every.values() if item.causality == "input"]
            raise UnknownNameError(f"'{path}' has no input '{name}'; {nearest(name, driven)}")
    u = {name: course_of(every[name], item).at(0.0) for name, item in given.items()}
    start = {name: start_value(every[name], value) for name, value in {**values, **u}.items()}
    messages = Messages()

    def call(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except Exception as error:  # noqa: BLE001 - FMPy raises plain Exceptions
            raise FmuError(f"'{path}': {messages.or_else(error)}") from None

    def references(names: Any) -> list[Any]:
        return [variables[name].valueReference for name in names]

    # an instance at its start, in initialisation mode
    with tempfile.TemporaryDirectory() as folder:
        call(read_archive(path).unpack, Path(folder))
        instance = call(instantiate, folder, description, path.stem, messages.note)
        try:
            for name, value in start.items():
                kind = KINDS.get(every[name].type, every[name].type)
                call(getattr(instance, f"set{kind}"), [every[name].valueReference], [value])
            call(instance.setupExperiment, startTime=0.0)
            call(instance.enterInitializationMode)
            # slopes column by column: [A; C] e_k by states, [B; D] e_k by inputs
            rates = [rate_of[name] for name in states]

            def slopes(known: list[str]) -> Array:
                """Return the derivatives of x' and y by some variables, shape (n_x + n_y, number of variables)."""
                unknown = references([*rates, *chosen])
                columns = [
                    call(instance.getDirectionalDerivative, unknown, [reference], [1.0])
                    for reference in references(known)
                ]
                table: Array = np.array(columns, dtype=np.float64).reshape(len(known), len(unknown)).T
                return table

            by_x, by_u = slopes(states), slopes(inputs)
            x0, u0, y0, rest = (
                np.array(call(instance.getReal, references(names))) for names in (states, inputs, chosen, rates)
            )
            call(instance.exitInitializationMode)
        finally:
            instance.freeInstance()
    # the form x' = A x + B u, y = C x + D u, and what it leaves out
    for text in _left_out(every.values(), {*rate_of, *rates}):
        warnings.warn(f"'{path}' {text}", ResultWarning, stacklevel=2)
    count = len(states)
    return Linear(
        by_x[:count], by_u[:count], by_x[count:], by_u[count:], states=tuple(states), inputs=tuple(inputs),
        outputs=tuple(chosen), x0=x0, u0=u0, y0=y0,
        rest=float(np.abs(rest[[name not in states for name in rates]]).max(initial=0.0)),
        coordinates=(), q0=np.zeros(0), V=np.zeros((0, count)),
    )  # fmt: skip


def _left_out(variables: Collection[Any], differentiated: Collection[str]) -> Iterator[str]:
    """Give what a form in some states and their rates leaves out, as the variables tell.

    Args:
        variables: all of them.
        differentiated: names of those that are, or have, the time derivative of another.
    """
    clocks, others = ([item for item in variables if (item.type == "Clock") == wanted] for wanted in (True, False))
    candidates = [*clocks, *(item for item in others if item.causality in {"output", "local"})]
    discrete = [item.name for item in candidates if item.variability == "discrete" or item.type == "Clock"]
    known = {*discrete, *differentiated}
    held = [item.name for item in candidates if item.initial == "exact" and item.name not in known]
    if held:
        yield (
            f"has states whose time derivatives are not variables ({first_of(held, SHOWN)}), and this form holds them "
            "as they are; linearize the model itself"
        )
    if discrete:
        yield f"has events ({first_of(discrete, SHOWN)}), and this form is that of the motion between them"


def _has_derivatives(path: Path, description: Any) -> bool:
    """Return whether an FMU for co-simulation gives directional derivatives; FMPy reads the flag of FMI 2.0 alone."""
    if description.fmiVersion == "2.0":
        return description.coSimulation is not None and bool(description.coSimulation.providesDirectionalDerivative)
    element = read_root(read_archive(path), str(path)).find("CoSimulation")
    return claims(element, "providesDirectionalDerivatives")


def _is_met(variable: Any, variables: Mapping[str, Any], values: Mapping[str, float]) -> bool:
    """Return whether a variable is an output whose start value is met, always or by the choice of the user."""
    if variable.causality != "output" or variable.initial not in {"exact", "approx"}:
        return False
    choice = variables.get(FIXED + variable.name)
    if choice is None:
        return bool(variable.initial == "exact")
    return float(values.get(choice.name, choice.start)) != 0.0

"""Rules on values: start values, inputs, parameters, derivatives, and the state that holds them all."""

import math
from collections.abc import Iterator
from typing import Any

from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import fmi2Fatal

from mbfmu.checker.outcome import PRACTICE, NotApplicable, Remark
from mbfmu.checker.probe.instance import Variable
from mbfmu.checker.probe.probe import (
    NUDGE,
    SAVED,
    DynamicRule,
    Probe,
    changeable,
    differences,
    not_finite,
    nudged,
    same,
)

REPLAYED = 10
LINEAR = 1e-3
"""Relative difference from a linear function that finite differences may have."""
HIGHEST = 9
"""Highest order of output derivatives that is requested from an FMU."""
CHANGES = 20
"""Largest number of parameters that are changed, one after the other."""


def _started(probe: Probe) -> Iterator[tuple[Variable, Any]]:
    """Yield parameters, inputs and constants with the values they have after initialisation."""
    variables = [v for v in probe.job["variables"] if "start" in v]
    if not variables:
        raise NotApplicable("there are no parameters, inputs or constants")
    with probe.running() as instance:
        values = instance.get(variables)
    for v, value in zip(variables, values, strict=True):
        start = v["start"]
        yield v, (value.decode(errors="replace") if isinstance(value, bytes) else type(start)(value))


def start_value(probe: Probe) -> Iterator[str]:
    """Parameters, inputs and constants have the start values of the description."""
    for v, value in _started(probe):
        if not same(value, v["start"]):
            yield f"'{v['name']}' is {value!r}, but its start value is {v['start']!r}"


def start_digits(probe: Probe) -> Iterator[str]:
    """The description gives start values with all their digits."""
    probe.after("start-value")
    for v, value in _started(probe):
        if value != v["start"] and same(value, v["start"]):
            yield f"'{v['name']}' is {value!r}, but the description rounds it to {v['start']!r}"


def set_input(probe: Probe) -> Iterator[str]:
    """Inputs can be set, and have after a step what they were set to."""
    inputs = [v for v in probe.variables(causality="input") if "start" in v]
    if not inputs:
        raise NotApplicable("there are no inputs with a start value")
    wanted = {}
    for v in inputs:
        value = nudged(v) if v["variability"] == "continuous" else None
        wanted[v["name"]] = v["start"] if value is None else value
    with probe.running() as instance:
        instance.run(0, 2)
        for v in inputs:
            instance.set(v, wanted[v["name"]])
        instance.step(2)
        values = instance.get(inputs)
        names = not_finite(instance.outputs())
    for v, value in zip(inputs, values, strict=True):
        expected = wanted[v["name"]]
        reported = value.decode(errors="replace") if isinstance(value, bytes) else value
        if not same(expected, type(expected)(reported)):
            yield f"'{v['name']}' is {reported!r} after it was set to {expected!r}"
    if names:
        yield Remark(f"not finite after the inputs were set: {', '.join(names)}")


def tunable_parameter(probe: Probe) -> Iterator[str]:
    """A tunable parameter can be changed between steps."""
    tunable = probe.variables("there are no tunable parameters", causality="parameter", variability="tunable")
    with probe.running() as instance:
        instance.step(0)
        for n, (v, value) in enumerate(changeable(tunable, "no tunable parameter is Real and free")[:CHANGES]):
            instance.set(v, value)
            instance.step(1 + n)
            (reported,) = instance.get([v])
            if not same(value, reported):
                yield f"'{v['name']}' is {reported!r} after it was set to {value!r}"
            if names := not_finite(instance.outputs()):
                yield Remark(f"not finite after '{v['name']}' was set to {value!r}: {', '.join(names)}")
                return
            instance.set(v, v["start"])


def fixed_parameter(probe: Probe) -> Iterator[str]:
    """A fixed parameter can be set before initialisation."""
    fixed = probe.variables("there are no fixed parameters", causality="parameter", variability="fixed")
    probe.legal = False  # an overconstrained mechanism may have no start but its own
    for v, value in changeable(fixed, "no fixed parameter is Real and free")[:CHANGES]:
        try:
            with probe.instance() as instance:
                instance.set(v, value)
                instance.initialise()
                (reported,) = instance.get([v])
                instance.step(0)
        except FMICallException:
            if probe.dead:
                break
            continue
        if not same(value, reported):
            yield f"'{v['name']}' is {reported!r} after it was set to {value!r} before initialisation"
        return
    raise NotApplicable("the FMU refuses the values that were tried")


def late_parameter(probe: Probe) -> Iterator[str]:
    """A fixed parameter does not change after initialisation."""
    fixed = probe.variables("there are no fixed parameters", causality="parameter", variability="fixed")
    v, value = changeable(fixed, "no fixed parameter is Real and free")[0]
    try:
        with probe.running() as instance:
            instance.step(0)
            instance.set(v, value)
            instance.step(1)
            (reported,) = instance.get([v])
    except FMICallException as error:
        if error.status == fmi2Fatal:
            raise
        return
    if same(value, reported):
        yield f"'{v['name']}' is fixed and was changed while stepping, with fmi2OK; answer fmi2Error"


def state(probe: Probe) -> Iterator[str]:
    """A state set back replays what followed it, to the last bit, whatever was set in between."""
    probe.needs("canGetAndSetFMUstate")
    with probe.running() as instance:
        instance.run(0, SAVED)
        saved = instance.slave.getFMUState()
        expected = instance.run(SAVED, REPLAYED)
        probe.disturb(instance, SAVED + REPLAYED)
        instance.slave.setFMUState(saved)
        outputs = instance.run(SAVED, REPLAYED)
        instance.slave.freeFMUState(saved)
    yield from differences("a state that is set does not bring the state back: ", expected, outputs)


def serialized_state(probe: Probe) -> Iterator[str]:
    """A state that went through bytes does so too."""
    probe.needs("canSerializeFMUstate")
    probe.after("state")
    with probe.running() as instance:
        instance.run(0, SAVED)
        saved = instance.slave.getFMUState()
        content = instance.slave.serializeFMUState(saved)
        instance.slave.freeFMUState(saved)
        expected = instance.run(SAVED, REPLAYED)
        probe.disturb(instance, SAVED + REPLAYED)
        saved = instance.slave.deserializeFMUState(content)
        instance.slave.setFMUState(saved)
        outputs = instance.run(SAVED, REPLAYED)
        instance.slave.freeFMUState(saved)
    yield from differences("a serialised state does not bring the state back: ", expected, outputs)


def variable_step(probe: Probe) -> Iterator[str]:
    """Step sizes may change on the way if the FMU says so."""
    probe.needs("canHandleVariableCommunicationStepSize")
    with probe.running() as instance:
        instance.run(0, SAVED)
        instance.step(SAVED, instance.h / 2)
        instance.step(SAVED + 0.5, instance.h / 2)
        instance.step(SAVED + 1)
        names = not_finite(instance.outputs())
    if names:
        yield Remark(f"not finite after steps of half the size: {', '.join(names)}")


def input_derivatives(probe: Probe) -> Iterator[str]:
    """Input derivatives can be set if the FMU says so."""
    probe.needs("canInterpolateInputs")
    inputs = probe.variables("there are no continuous inputs", causality="input", variability="continuous", type="Real")
    references = [v["reference"] for v in inputs]
    with probe.running() as instance:
        instance.step(0)
        instance.slave.setRealInputDerivatives(references, [1] * len(inputs), [NUDGE] * len(inputs))
        instance.step(1)
        names = not_finite(instance.outputs())
    if names:
        yield Remark(f"not finite after input derivatives were set: {', '.join(names)}")


def output_derivatives(probe: Probe) -> Iterator[str]:
    """Output derivatives can be got up to the order the FMU claims."""
    order = probe.job["output_order"]
    if not order:
        raise NotApplicable("maxOutputDerivativeOrder is 0")
    shown = probe.variables("no output is continuous", causality="output", variability="continuous", type="Real")
    references = [v["reference"] for v in shown]
    with probe.running() as instance:
        instance.run(0, SAVED)
        for n in range(1, min(order, HIGHEST) + 1):
            values = instance.slave.getRealOutputDerivatives(references, [n] * len(references))
            names = [v["name"] for v, value in zip(shown, values, strict=True) if not math.isfinite(value)]
            if names:
                yield Remark(f"derivatives of order {n} are not finite: {', '.join(names)}")


def directional_derivative(probe: Probe) -> Iterator[str]:
    """Directional derivatives of the outputs can be got if the FMU says so, and are linear in the direction."""
    probe.needs("providesDirectionalDerivative")
    inputs = probe.variables("there are no continuous inputs", causality="input", variability="continuous", type="Real")
    shown = probe.variables("no output is continuous", causality="output", variability="continuous", type="Real")
    known, unknown = ([v["reference"] for v in group] for group in (inputs, shown))
    with probe.running() as instance:
        instance.run(0, SAVED)
        once = instance.slave.getDirectionalDerivative(unknown, known, [1.0] * len(known))
        twice = instance.slave.getDirectionalDerivative(unknown, known, [2.0] * len(known))
    for v, a, b in zip(shown, once, twice, strict=True):
        if not (math.isfinite(a) and math.isclose(2.0 * a, b, rel_tol=LINEAR, abs_tol=LINEAR)):
            yield f"the derivative of '{v['name']}' is {a!r}, and {b!r} in twice the direction"


RULES: tuple[tuple[DynamicRule, str], ...] = (
    (start_value, "2.2.7"),
    (start_digits, PRACTICE),
    (set_input, "2.1.7"),
    (tunable_parameter, "4.2.1"),
    (fixed_parameter, "2.2.7"),
    (late_parameter, "2.2.7"),
    (state, "2.1.8"),
    (serialized_state, "2.1.8"),
    (variable_step, "4.3.1"),
    (input_derivatives, "4.2.1"),
    (output_derivatives, "4.2.1"),
    (directional_derivative, "2.1.9"),
)

"""Rules on model exchange: the event iteration, an integration by an explicit method, and what derivatives obey."""

import math
from collections.abc import Callable, Iterator
from ctypes import POINTER, c_double
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import FMU2Model, fmi2Discard
from fmpy.fmi3 import FMU3Model

from mbfmu.checker.outcome import PRACTICE, NotApplicable, Remark
from mbfmu.checker.probe.instance import Instance
from mbfmu.checker.probe.life import needs
from mbfmu.checker.probe.probe import NUDGE, SAME, DynamicRule, Probe, nudged
from mbfmu.fmi.scalars import ScalarIndex

EVALUATIONS = 4000
"""Evaluations of the derivatives an integration may take; a stiff model is not integrated to its stop time."""
EVENTS = 200
"""Events an integration may meet; some models have infinitely many in a finite time."""
TOLERANCE = 1e-5
"""Relative tolerance of the integration."""
BISECTIONS = 40
"""Halvings of a step to find an event."""
MOST = 1_000_000
"""Largest number of states or event indicators."""
COLUMNS = 20
"""Largest number of states by which derivatives are compared with differences."""
INCREMENT = 1e-6
"""Change of a state for a difference, relative to 1 and its size."""
CLOSE = 1e-3
"""Relative error differences may have."""
NOISE = 1e-9
"""Relative error derivatives may have, which a difference magnifies."""
LEAST = 1e-12
"""Derivative below which an undeclared dependency is round-off."""
POINTS = 3
"""Points at which dependencies are looked for: the start and two beside it."""
MOST_KNOWNS = 200
"""Largest number of states and inputs by which dependencies are looked for; of more, some are taken evenly."""

Vector = npt.NDArray[np.float64]


class Model(Instance):
    """One instance of the FMU under test for model exchange."""

    interfaces = MappingProxyType({"2.0": FMU2Model, "3.0": FMU3Model})

    def initialise(self, stop: float | None = None) -> None:
        """Go through initialisation and the first event iteration; end in the continuous-time mode."""
        super().initialise(stop)
        self.update()

    def update(self) -> None:
        """Update the discrete states until they settle, and enter the continuous-time mode."""
        self.next = self.settle()
        if not self.ended:
            self.slave.enterContinuousTimeMode()

    def _vector(self, function: str, n: int) -> Vector:
        if n > MOST:
            raise NotFinite(f"{function} is tried with {MOST} numbers at most, not with {n}")
        values = np.full(n, np.nan)
        getattr(self.slave, function)(values.ctypes.data_as(POINTER(c_double)), n)
        return values

    @property
    def states(self) -> Vector:
        """The continuous states."""
        return self._vector("getContinuousStates", len(self.job["states"]))

    @property
    def rates(self) -> Vector:
        """The time derivatives of the states."""
        return self._vector("getDerivatives", len(self.job["states"]))

    @property
    def nominals(self) -> Vector:
        """The nominal sizes of the states."""
        return self._vector("getNominalsOfContinuousStates", len(self.job["states"]))

    @property
    def indicators(self) -> Vector:
        """The event indicators."""
        return self._vector("getEventIndicators", self.job["indicators"])

    def at(self, time: float, states: Vector) -> None:
        """Set time and states."""
        self.slave.setTime(time)
        x = np.array(states)
        if len(x):
            self.slave.setContinuousStates(x.ctypes.data_as(POINTER(c_double)), len(x))

    def derivative(self, time: float, states: Vector) -> Vector:
        """Return the derivatives at a point; NaN where the FMU discards it."""
        try:
            self.at(time, states)
            return self.rates
        except FMICallException as error:
            if error.status != fmi2Discard:
                raise
            return np.full(len(states), np.nan)


class NotFinite(Exception):  # noqa: N818 - it ends a rule with its text
    """A point of the integration where the FMU has no finite numbers."""


def integrate(model: Model, stop: float, evaluations: int = EVALUATIONS) -> tuple[float, int]:
    """Integrate by Bogacki and Shampine's pair of orders 3 and 2 from event to event.

    Returns:
        The time that was reached, s, and the number of events.

    Raises:
        NotFinite: derivatives, states or event indicators are no finite numbers.
    """
    time, x = model.job["start"], model.states
    scale = TOLERANCE * np.maximum(np.abs(model.nominals), 1e-6)
    h, left, events = (stop - time) / 100.0, evaluations, 0
    k = _finite(time, model.derivative(time, x), "derivatives")
    while time < stop and left > 0 and events < EVENTS and not model.ended:
        # one step of order 3, not beyond the next time event, and its error by the formula of order 2
        size = min(h, stop - time, max(model.next - time, 0.0))
        left -= 3
        after, error = _step(model, time, x, k, size)
        worst = float(np.max(np.abs(error) / (scale + TOLERANCE * np.abs(x)), initial=0.0))
        # an error above the tolerance: the step again with h (1 / error)^(1/3)
        if not worst <= 1.0:
            h = size * (0.2 if math.isnan(worst) else max(0.2, 0.9 * worst ** (-1 / 3)))
            if time + h <= time:
                raise NotFinite(f"at t = {time:g} s every step, however short, leads to what is not finite")
            continue
        # a state event: an indicator has another sign after the step
        model.at(time, x)
        before = model.indicators > 0.0
        model.at(time + size, after)
        signs = _finite(time + size, model.indicators, "event indicators") > 0.0
        state_event = bool(np.any(signs != before))
        # bisect to the event; without one, the next step from the error of this
        if state_event:
            low = 0.0
            for _ in range(BISECTIONS):
                middle = 0.5 * (low + size)
                candidate = _step(model, time, x, k, middle)[0]
                model.at(time + middle, candidate)
                if np.any((model.indicators > 0.0) != before):
                    size, after = middle, candidate
                else:
                    low = middle
            model.at(time + size, after)
        else:
            h = size * min(5.0, 0.9 * worst ** (-1 / 3) if worst else 5.0) if size == h or worst > 0.5 else h
        # the step is complete
        time, x = time + size, after
        wanted, model.ended = model.slave.completedIntegratorStep()
        if model.ended:
            break
        # event mode, after which states and next time event may be others
        if state_event or wanted or time >= model.next:
            events += 1
            model.slave.enterEventMode()
            model.update()
            if model.ended:
                break
            x = model.states
            h = max(h, 1e-6 * (stop - model.job["start"]))
        _finite(time, x, "states")
        k = _finite(time, model.derivative(time, x), "derivatives")
    return time, events


def _step(model: Model, time: float, x: Vector, k: Vector, h: float) -> tuple[Vector, Vector]:
    """Return the states after a step, of order 3, and an estimate of the error."""
    b = model.derivative(time + 0.5 * h, x + 0.5 * h * k)
    c = model.derivative(time + 0.75 * h, x + 0.75 * h * b)
    after = x + h * (2.0 * k + 3.0 * b + 4.0 * c) / 9.0
    d = model.derivative(time + h, after)
    return after, h * (-5.0 * k + 6.0 * b + 8.0 * c - 9.0 * d) / 72.0


def _finite(time: float, values: Vector, quantity: str) -> Vector:
    """Return values that are finite."""
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise NotFinite(f"at t = {time:g} s the {quantity} {', '.join(map(str, wrong + 1))} are not finite")
    return values


def _some_states(probe: Probe) -> None:
    if not probe.job["states"]:
        raise NotApplicable("there are no continuous states")


def _running(probe: Probe, **changes: Any) -> Any:
    return probe.running(kind=Model, **changes)


def exchange_load(probe: Probe) -> Iterator[str]:
    """The library loads and has all functions of model exchange."""
    yield from ()
    probe.remark = needs(Model.library(probe.job))


def exchange_instantiate(probe: Probe) -> Iterator[str]:
    """The FMU makes an instance for model exchange."""
    yield from ()
    Model(probe.job, probe._callbacks, "check").free()


def exchange_initialise(probe: Probe) -> Iterator[str]:
    """The FMU initialises for model exchange, and its event iteration ends."""
    yield from ()
    with _running(probe) as model:
        model.outputs()


def integration(probe: Probe) -> Iterator[str]:
    """An explicit method integrates the FMU: states, derivatives and event indicators stay finite."""
    stop = probe.job["stop"]
    with _running(probe) as model:
        try:
            reached, events = integrate(model, stop)
        except NotFinite as error:
            yield str(error)
            return
    met = f", with {events} events" if events else ""
    why = " where the number of evaluations or events tried was used up" if reached < stop else ""
    probe.remark = f"integrated to t = {reached:g} s{why}{met}"


def state_values(probe: Probe) -> Iterator[str]:
    """States and derivatives got as variables are those of the functions that get all of them."""
    _some_states(probe)
    with _running(probe) as model:
        for way in ("the start", "a state that was set"):
            for pair, function, quantity in ((0, "states", "state"), (1, "rates", "derivative")):
                references = [entry[pair] for entry in probe.job["states"]]
                expected, read = getattr(model, function), np.array(model.slave.getReal(references))
                for n in np.flatnonzero(expected != read)[:1]:
                    text = f"at {way} {quantity} {n + 1} is {expected[n]!r}, and as a variable {read[n]!r}"
                    yield Remark(text) if np.allclose(expected, read, rtol=SAME, atol=0.0) else text
            model.at(probe.job["start"], _beside(model))


def set_states(probe: Probe) -> Iterator[str]:
    """States that are set are got again, and the derivatives depend on time, states and inputs alone."""
    _some_states(probe)
    start = probe.job["start"]
    with _running(probe) as model:
        x, expected = model.states, model.derivative(start, model.states)
        beside = _beside(model)
        model.at(start, beside)
        for n in np.flatnonzero(model.states != beside)[:1]:
            yield f"state {n + 1} was set to {beside[n]!r} and is {model.states[n]!r}"
        _ = model.rates
        reported = model.derivative(start, x)
        for n in np.flatnonzero(expected != reported)[:1]:
            now = f"{reported[n]!r} after another state was set in between"
            text = f"derivative {n + 1} was {expected[n]!r}, and is {now}"
            yield Remark(text) if np.allclose(expected, reported, rtol=SAME, atol=0.0) else text


def nominal_values(probe: Probe) -> Iterator[str]:
    """The nominal values of the states are positive finite numbers."""
    _some_states(probe)
    with _running(probe) as model:
        nominals = model.nominals
    for n in np.flatnonzero(~((nominals > 0.0) & np.isfinite(nominals)))[:1]:
        yield f"the nominal value of state {n + 1} is {nominals[n]!r}"


def exchange_time(probe: Probe) -> Iterator[str]:
    """The independent variable is the time that was set."""
    (clock, *_) = probe.variables("no independent variable is declared", causality="independent")
    with _running(probe) as model:
        time = probe.job["start"] + NUDGE * (probe.job["stop"] - probe.job["start"])
        model.slave.setTime(time)
        (reported,) = model.get([clock])
    if not math.isclose(reported, time, rel_tol=SAME, abs_tol=SAME):
        yield f"'{clock['name']}' is {reported!r} at the time {time!r}"


def state_derivative(probe: Probe) -> Iterator[str]:
    """Directional derivatives of the states' derivatives are those of differences, if the FMU has them."""
    probe.needs("providesDirectionalDerivative")
    _some_states(probe)
    start, pairs = probe.job["start"], probe.job["states"]
    with _running(probe) as model:
        x, rates = model.states, [rate for _, rate in pairs]
        here = model.derivative(start, x)
        for n, (state, _) in enumerate(pairs[:COLUMNS]):
            h = INCREMENT * max(1.0, abs(x[n]))
            to = np.eye(len(x))[n] * h
            ahead = (model.derivative(start, x + to) - here) / h
            behind = (here - model.derivative(start, x - to)) / h
            model.at(start, x)
            reported = np.array(model.slave.getDirectionalDerivative(rates, [state], [1.0]))
            size = max(np.max(np.abs(ahead)), np.max(np.abs(behind)))
            allowed = CLOSE * size + NOISE * np.max(np.abs(here)) / h + np.abs(ahead - behind) + NOISE / h
            expected = 0.5 * (ahead + behind)
            for m in np.flatnonzero(~(np.abs(reported - expected) <= allowed))[:1]:
                text = (
                    f"of derivative {m + 1} by state {n + 1} is {reported[m]!r}, that of a difference {expected[m]!r}"
                )
                yield f"the directional derivative {text}"
                return


def undeclared_dependency(probe: Probe) -> Iterator[str]:
    """Directional derivatives find no state or input that the listed dependencies of a derivative or an output lack."""
    probe.needs("providesDirectionalDerivative")
    declared = {reference: on for reference, on in probe.job["dependencies"] if on is not None}
    inputs = probe.variables(causality="input", variability="continuous", type="Real")
    knowns = [*(state for state, _ in probe.job["states"]), *(v["reference"] for v in inputs)]
    shown = probe.variables(causality="output", variability="continuous", type="Real")
    listed = [*(rate for _, rate in probe.job["states"]), *(v["reference"] for v in shown)]
    unknowns = [one for one in listed if _variable(one) in declared]
    if not knowns or not unknowns:
        raise NotApplicable("no derivative or output lists dependencies, or there are neither states nor inputs")
    knowns = knowns[:: -(-len(knowns) // MOST_KNOWNS)]
    allowed = np.array([[_variable(k) in {*declared[_variable(u)], _variable(u)} for k in knowns] for u in unknowns])
    name = {v["reference"]: f"'{v['name']}'" for v in probe.variables(base="Real")}
    with _running(probe) as model:
        x = model.states
        for point in range(POINTS):
            slopes = _slopes(model, x, inputs, unknowns, knowns, point)
            size = np.max(np.abs(slopes) * allowed, axis=1, initial=0.0, keepdims=True)
            wrong = ~allowed & (np.abs(slopes) > np.maximum(NOISE * size, LEAST))
            if wrong.any():
                row, column = np.argwhere(wrong)[0]
                of, by = name.get(unknowns[row], f"unknown {row + 1}"), name.get(knowns[column], f"known {column + 1}")
                count = np.count_nonzero(wrong)
                yield (
                    f"{of} depends on {by}, which its dependencies in ModelStructure leave out, so that importers take "
                    f"its derivative of {slopes[row, column]:.6g} for zero; such pairs: {count}"
                )
                return


def _variable(reference: Any) -> int:
    """Return the value reference of a variable, for that of one of its elements too."""
    return reference.reference if isinstance(reference, ScalarIndex) else int(reference)


def _slopes(
    model: Model, x: Vector, inputs: list[dict[str, Any]], unknowns: list[Any], knowns: list[Any], point: int
) -> Vector:
    """Return the derivatives of unknowns by knowns, shape (unknowns, knowns), at the start or at a point beside it.

    A point that the FMU discards says nothing: zeros.
    """
    if point:  # directions without a symmetry, so that what vanishes by chance at the start does not vanish there too
        away = NUDGE * np.maximum(1.0, np.abs(x)) * np.sin(1.0 + (point + np.sqrt(2.0)) * np.arange(len(x)))
        x = x + away
        for v in inputs:
            if (value := nudged(v)) is not None:
                model.set(v, value)
    try:
        model.at(model.job["start"], x)
        columns = [model.slave.getDirectionalDerivative(unknowns, [known], [1.0]) for known in knowns]
    except FMICallException as error:
        if error.status != fmi2Discard or not point:
            raise
        return np.zeros((len(unknowns), len(knowns)))
    slopes: Vector = np.nan_to_num(np.array(columns, dtype=np.float64).T)
    return slopes


def exchange_state(probe: Probe) -> Iterator[str]:
    """A state set back brings back continuous states, derivatives and outputs to the last bit."""
    probe.needs("canGetAndSetFMUstate")

    def go(model: Model) -> None:
        saved = model.slave.getFMUState()
        if probe.job["flags"]["canSerializeFMUstate"]:
            content = model.slave.serializeFMUState(saved)
            model.slave.freeFMUState(saved)
            _disturb(probe, model)
            saved = model.slave.deserializeFMUState(content)
        else:
            _disturb(probe, model)
        model.slave.setFMUState(saved)
        model.slave.freeFMUState(saved)

    yield from _returns(probe, go, "after the state was set back")


def exchange_reset(probe: Probe) -> Iterator[str]:
    """An FMU for model exchange that is reset starts anew, to the last bit."""

    def go(model: Model) -> None:
        _disturb(probe, model)
        model.slave.reset()
        model.initialise()

    yield from _returns(probe, go, "after fmi2Reset and a new initialisation")


def exchange_instances(probe: Probe) -> Iterator[str]:
    """Two instances for model exchange in one process do not disturb each other."""
    if probe.job["flags"]["canBeInstantiatedOnlyOncePerProcess"]:
        raise NotApplicable("canBeInstantiatedOnlyOncePerProcess is set")

    def go(_: Model) -> None:
        with _running(probe) as other:
            _disturb(probe, other)

    yield from _returns(probe, go, "after another instance has moved")


def _returns(probe: Probe, go: Callable[[Model], None], when: str) -> Iterator[str]:
    """Yield what differs in a bit after something that must change nothing."""
    with _running(probe) as model:
        expected = _seen(model)
        go(model)
        for name, value in _seen(model).items():
            if value != expected[name]:
                yield f"{when}, {name} is not what it was"


def _seen(model: Model) -> dict[str, Any]:
    return {
        "a continuous state": model.states.tobytes(),
        "a derivative": model.rates.tobytes(),
        "an event indicator": model.indicators.tobytes(),
        **{f"the output '{name}'": repr(value) for name, value in model.outputs().items()},
    }


def _beside(model: Model) -> Vector:
    """Return states close to the present ones."""
    x = model.states
    return x + NUDGE * np.maximum(1.0, np.abs(x)) * np.where(np.arange(len(x)) % 2, -1.0, 1.0)


def _disturb(probe: Probe, model: Model) -> None:
    """Move an instance away from where it is, and let it meet an event."""
    time = probe.job["start"] + NUDGE * (probe.job["stop"] - probe.job["start"])
    model.at(time, _beside(model))
    _ = model.rates
    model.slave.completedIntegratorStep()
    model.slave.enterEventMode()
    model.update()


def exchange_terminate(probe: Probe) -> Iterator[str]:
    """The FMU terminates from the continuous-time mode, and its last outputs can still be got."""
    with _running(probe) as model:
        expected = model.outputs()
        model.slave.terminate()
        reported = model.outputs()
        model.slave.reset()
        model.initialise()
    for name in expected:
        if repr(reported[name]) != repr(expected[name]):
            yield f"after fmi2Terminate '{name}' is {reported[name]!r} instead of {expected[name]!r}"
            return


def exchange_exit(probe: Probe) -> Iterator[str]:
    """The process ends well after the FMU was used for model exchange."""
    with _running(probe) as model:
        model.outputs()
    yield from ()


VITAL: tuple[tuple[DynamicRule, str], ...] = (
    (exchange_load, "2.3"),
    (exchange_instantiate, "2.1.5"),
    (exchange_initialise, "3.2.2"),
    (integration, "3.2.2"),
)
"""Rules on model exchange that an FMU must keep for any other rule to be tried."""

RULES: tuple[tuple[DynamicRule, str], ...] = (
    (state_values, "3.2.2"),
    (set_states, "3.2.1"),
    (nominal_values, "3.2.2"),
    (exchange_time, "3.2.1"),
    (state_derivative, "2.1.9"),
    (undeclared_dependency, "2.2.8"),
    (exchange_state, "2.1.8"),
    (exchange_reset, "2.1.6"),
    (exchange_instances, "2.1.5"),
    (exchange_terminate, "2.1.6"),
    (exchange_exit, PRACTICE),
)
"""Rules on model exchange that do not depend on each other; the last is judged by how the process ends."""

"""Rules on the life of an instance: loading, initialising, stepping, resetting, ending, side by side with another."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fmpy.fmi2 import fmi2CallbackFunctions

from mbfmu.checker.outcome import PRACTICE, NotApplicable, Remark
from mbfmu.checker.probe.instance import Instance
from mbfmu.checker.probe.probe import SAME, SAVED, STEPS, DynamicRule, Probe, differences, not_finite
from mbfmu.fmi.elf import needed_versions

LAGGING = 1000
"""Largest number of steps in which the time of an FMU must begin to move."""


def needs(slave: Any) -> str:
    """Return what a library needs of the system, as a remark; empty: nothing is known, as outside of Linux."""
    versions = needed_versions(Path(slave.dll._name).read_bytes())
    return f"The library loads; it needs {' and '.join(versions)} or newer." if versions else ""


def load(probe: Probe) -> Iterator[str]:
    """The library loads and has all functions of co-simulation."""
    yield from ()
    probe.remark = needs(Instance.library(probe.job))


def version(probe: Probe) -> Iterator[str]:
    """fmi2GetVersion answers 2.0, fmi2GetTypesPlatform default."""
    slave = Instance.library(probe.job)
    for function, expected in ((slave.fmi2GetVersion, b"2.0"), (slave.fmi2GetTypesPlatform, b"default")):
        if (answer := function()) != expected:
            yield f"{function.__name__} answers {answer!r} instead of {expected!r}"


def instantiate(probe: Probe) -> Iterator[str]:
    """The FMU makes an instance."""
    yield from ()
    Instance(probe.job, probe._callbacks, "check").free()


def initialise(probe: Probe) -> Iterator[str]:
    """The FMU initialises with its start values."""
    with probe.running() as instance:
        yield from ()
        instance.outputs()


def step(probe: Probe) -> Iterator[str]:
    """The FMU takes steps of the default size."""
    yield from ()
    list(probe.reference)


def output_finite(probe: Probe) -> Iterator[str]:
    """Outputs are finite numbers, from initialisation on."""
    for n, outputs in enumerate(probe.reference):
        if names := not_finite(outputs):
            yield f"not finite after {n} steps with start values: {', '.join(names)}"
            return


def time(probe: Probe) -> Iterator[str]:
    """The independent variable is the time of the master."""
    (clock, *_) = probe.variables("no independent variable is declared", causality="independent")
    text, start, stop = "", probe.job["start"], probe.job["stop"]
    with probe.running() as instance:
        for n in range(LAGGING):
            expected = start + n * instance.h
            (reported,) = instance.get([clock])
            if not (text or math.isclose(reported, expected, rel_tol=SAME, abs_tol=SAME * instance.h)):
                text = f"'{clock['name']}' is {reported!r} at the time {expected!r}"
            if (reported > start and n >= SAVED) or expected + instance.h > stop:
                break
            instance.step(n)
    if text:  # an FMU whose internal steps are longer lags behind, but moves
        yield Remark(text) if start < reported else text


def instances(probe: Probe) -> Iterator[str]:
    """Two instances in one process go the same way and do not disturb each other."""
    if probe.job["flags"]["canBeInstantiatedOnlyOncePerProcess"]:
        raise NotApplicable("canBeInstantiatedOnlyOncePerProcess is set")
    expected = probe.reference
    with probe.running() as one, probe.running() as two:
        outputs = one.run(0, SAVED)
        other = two.run(0, STEPS)
        outputs += one.run(SAVED, STEPS - SAVED)[1:]
    for reported in (outputs, other):
        yield from differences("with another instance in the process, ", expected, reported)


def reset(probe: Probe) -> Iterator[str]:
    """A reset instance starts anew, with its start values and the first results."""
    expected = probe.reference
    with probe.running() as instance:
        instance.run(0, STEPS)
        probe.disturb(instance, STEPS)
        instance.slave.reset()
        instance.initialise()
        outputs = instance.run(0, STEPS)
    yield from differences("after a reset and a new initialisation, ", expected, outputs)


def terminate(probe: Probe) -> Iterator[str]:
    """The FMU terminates, its last outputs can still be got, and it can be reset."""
    with probe.running() as instance:
        instance.run(0, SAVED)
        expected = instance.outputs()
        instance.slave.terminate()
        outputs = instance.outputs()
        instance.slave.reset()
        instance.initialise()
    yield from differences("after the end, ", [expected], [outputs])


def debug_logging(probe: Probe) -> Iterator[str]:
    """Each log category of the description can be switched on, and all of them off."""
    with probe.instance() as instance:
        yield from ()
        for category in probe.job["categories"]:
            instance.slave.setDebugLogging(True, [category])
        instance.slave.setDebugLogging(False, [])
        instance.initialise()


def null_callbacks(probe: Probe) -> Iterator[str]:
    """The FMU needs no memory callbacks if it says so."""
    probe.needs("canNotUseMemoryManagementFunctions")
    callbacks = fmi2CallbackFunctions()
    callbacks.logger = probe._callbacks.logger
    with probe.running(callbacks=callbacks) as instance:
        instance.run(0, SAVED)
    yield from ()


def exit(probe: Probe) -> Iterator[str]:
    """The process ends well after the FMU was used."""
    with probe.running() as instance:
        instance.run(0, SAVED)
    yield from ()


VITAL: tuple[tuple[DynamicRule, str], ...] = (
    (load, "2.3"),
    (instantiate, "2.1.5"),
    (initialise, "2.1.6"),
    (step, "4.2.2"),
    (output_finite, PRACTICE),
)
"""Rules on the life of an instance that an FMU must keep for any other rule to be tried."""

RULES: tuple[tuple[DynamicRule, str], ...] = (
    (version, "2.1.4"),
    (time, "2.2.7"),
    (instances, "2.1.5"),
    (reset, "2.1.6"),
    (terminate, "2.1.6"),
    (debug_logging, "2.1.5"),
    (null_callbacks, "2.1.5"),
)

"""Rules on misuse: what the FMU answers when a master asks for nonsense, and what it says of it."""

import math
import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import fmi2Fatal

from mbfmu.checker.outcome import PRACTICE, NotApplicable
from mbfmu.checker.probe.instance import Instance
from mbfmu.checker.probe.probe import SAVED, DynamicRule, Probe, differences, not_finite
from mbfmu.fmi.scalars import ScalarIndex

UNKNOWN = 4_000_000_000
"""A value reference no variable has, unless one has it."""
WRONG_GUID = "{00000000-dead-dead-dead-000000000000}"
ODD = "a +(1)#%20,\u00e9"
"""Name of a folder that tests whether a URI is decoded."""


def zero_step(probe: Probe) -> Iterator[str]:
    """A step of size zero is refused or changes no time; it does no harm."""
    outputs = probe.refused(SAVED, 0.0)
    if outputs is not None and (names := not_finite(outputs)):
        yield f"not finite after a step of size zero: {', '.join(names)}"


def negative_step(probe: Probe) -> Iterator[str]:
    """A step of negative size is refused."""
    if probe.refused(SAVED, -probe.job["step"]) is not None:
        yield "a step of negative size was answered with fmi2OK; answer fmi2Error or fmi2Discard"


def refusal_message(probe: Probe) -> Iterator[str]:
    """A refused step comes with a message."""
    if probe.refused(SAVED, -probe.job["step"]) is not None:
        raise NotApplicable("no step was refused")
    if not probe.log:
        yield "a step of negative size was refused without a message; say why through the logger"


def nan_input(probe: Probe) -> Iterator[str]:
    """NaN in an input does not come out as a step well done."""
    yield from _not_a_number(probe, math.nan)


def infinite_input(probe: Probe) -> Iterator[str]:
    """An infinite input does not come out as a step well done."""
    yield from _not_a_number(probe, math.inf)


def _not_a_number(probe: Probe, value: float) -> Iterator[str]:
    inputs = probe.variables("there are no continuous inputs", causality="input", variability="continuous", type="Real")
    outputs = probe.refused(SAVED, None, inputs[0], value)
    if outputs is not None and (names := not_finite(outputs)):
        yield f"{value} in '{inputs[0]['name']}' was answered with fmi2OK and spoils {', '.join(names)}; refuse it"


def early_step(probe: Probe) -> Iterator[str]:
    """A step before initialisation is refused."""
    with probe.instance() as instance:
        if _refuses(instance, 0):
            return
    yield "a step before the initialisation was answered with fmi2OK; answer fmi2Error"


def _refuses(instance: Instance, n: int) -> bool:
    """Ask for a step; whether it is refused."""
    try:
        instance.step(n)
    except FMICallException as error:
        if error.status == fmi2Fatal:
            raise
        return True
    return False


def unknown_reference(probe: Probe) -> Iterator[str]:
    """A value reference no variable has is refused, when got and when set."""
    taken = {v["reference"] for v in probe.job["variables"]}
    free: Any = next(n for n in count(UNKNOWN) if n not in taken)
    unknown = {
        "base": "Real",
        "reference": free if probe.job["version"] == "2.0" else ScalarIndex("Float64", free, 1, 0),
    }
    probe.legal = False
    for action in ("set", "got"):
        try:
            with probe.running() as instance:
                if action == "set":
                    instance.set(unknown, 1.0)
                    instance.step(0)
                else:
                    instance.get([unknown])
        except FMICallException as error:
            if error.status == fmi2Fatal:
                probe.remark = f"refused with fmi2Fatal ({error.function}), which ends all instances"
                return
            continue
        yield f"an unknown value reference was {action} with fmi2OK; answer fmi2Error"


def guid_mismatch(probe: Probe) -> Iterator[str]:
    """An instance with another guid than the description's is refused, with a message."""
    try:
        instance = Instance({**probe.job, "guid": WRONG_GUID}, probe._callbacks, "check")
    except Exception:  # noqa: BLE001 - FMPy raises a bare exception for a null pointer
        if not probe.log:
            yield "a wrong guid was refused without a message; say why through the logger"
        return
    instance.free()
    yield "an instance is made with a wrong guid: an FMU whose description was exchanged would run"


def stop_time(probe: Probe) -> Iterator[str]:
    """A step past the stop time is refused if the master has set one."""
    stop = probe.job["start"] + SAVED * probe.job["step"]
    with probe.instance() as instance:
        instance.initialise(stop)
        instance.run(0, SAVED)
        if _refuses(instance, SAVED):
            return
    yield "a step past the stop time that the master has set was answered with fmi2OK; answer fmi2Error"


def odd_path(probe: Probe) -> Iterator[str]:
    """The FMU runs from a folder whose name the resource URI must encode."""
    folder = Path(probe.job["folder"]).with_name(ODD)
    shutil.copytree(probe.job["folder"], folder)
    with probe.running(folder=str(folder)) as instance:
        outputs = instance.run(0, SAVED)
    yield from differences(f"in the folder {ODD!r}, ", probe.reference[: SAVED + 1], outputs)


def message_category(probe: Probe) -> Iterator[str]:
    """Every message has a category if the description lists any: some masters crash at none."""
    yield from ()
    if not probe.job["categories"]:
        raise NotApplicable("there are no LogCategories")


def message_format(probe: Probe) -> Iterator[str]:
    """A percent sign in a message is doubled, for loggers print with printf."""
    if not probe.job["pythonfmu"]:
        raise NotApplicable("the arguments of messages are known for pythonfmu's alone")
    yield from ()


RULES: tuple[tuple[DynamicRule, str], ...] = (
    (zero_step, "4.2.2"),
    (negative_step, "4.2.2"),
    (refusal_message, "2.1.3"),
    (nan_input, PRACTICE),
    (infinite_input, PRACTICE),
    (early_step, "4.2.4"),
)

STRICT: tuple[tuple[DynamicRule, str], ...] = (
    (guid_mismatch, "2.1.5"),
    (stop_time, "2.1.6"),
    (odd_path, "2.1.5"),
)
"""Rules on wrong calls that few FMUs keep, which are tried on request only."""

MESSAGES: tuple[tuple[DynamicRule, str], ...] = (
    (message_category, "2.1.5"),
    (message_format, "2.1.5"),
)
"""Rules on the messages that an FMU logged while all other rules were tried."""

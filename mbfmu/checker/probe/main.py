"""The process in which an FMU is put to the test: applies the rules it is told to, and prints what they say."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import fmi2Fatal

from . import exchange, life, misuse, steps3, values
from .instance import PRACTICE, DynamicRule, NotApplicable, Probe
from .report import begin

VITAL = life.VITAL
OTHERS = (*life.RULES, *values.RULES, *misuse.RULES)
STRICT = misuse.STRICT
MESSAGES = misuse.MESSAGES
LAST: tuple[tuple[DynamicRule, str], ...] = (
    (misuse.unknown_reference, PRACTICE),
    (life.exit, PRACTICE),
)
"""Rules after which the process may be of no use; how it ends is judged by the parent."""
EXCHANGE_VITAL = exchange.VITAL
EXCHANGE_OTHERS = exchange.RULES
STEPS3_VITAL = steps3.VITAL
STEPS3_OTHERS = steps3.RULES
ALL = (*VITAL, *OTHERS, *STRICT, *MESSAGES, *LAST, *EXCHANGE_VITAL, *EXCHANGE_OTHERS, *STEPS3_VITAL, *STEPS3_OTHERS)


def main(job: dict[str, Any], report: Callable[..., None]) -> None:
    """Apply the rules in turn; stop where going on makes no sense."""
    probe = Probe(job, report)
    functions = {rule.__name__.replace("_", "-"): rule for rule, _ in ALL}
    vital = {rule for rule, _ in (*VITAL, *EXCHANGE_VITAL, *STEPS3_VITAL)}
    for name in job["rules"]:
        report(begin=name)
        probe.log.clear()
        probe.remark, probe.legal = "", True
        status, messages = _apply(probe, functions[name])
        for text in messages:
            report(rule=name, status=status, message=text)
        if status == "fail":
            probe.failed.add(name)
            if functions[name] in vital:
                break
        if probe.dead:
            return
    report(done=True)


def _apply(probe: Probe, rule: DynamicRule) -> tuple[str, list[str]]:
    """Return what a rule says: its status, and the messages for it."""
    try:
        found = list(rule(probe))
    except NotApplicable as reason:
        return "not applicable", [str(reason)]
    except FMICallException as error:
        found = [str(error)]
        if error.status == fmi2Fatal:
            found = [f"{error.function} answered fmi2Fatal, which ends all instances; answer fmi2Error or fmi2Discard"]
    except Exception as error:  # noqa: BLE001 - FMPy raises bare exceptions
        found = [str(error)]
    said = f"; the FMU says: {' | '.join(probe.log)}" if probe.log else ""
    return ("fail", [text + said for text in found]) if found else ("pass", [probe.remark])


def run(job: Path) -> None:
    """Apply the rules of a job file."""
    main(json.loads(job.read_text(encoding="utf-8")), begin())

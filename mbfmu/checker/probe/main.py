"""The process in which an FMU is put to the test: applies the requested rules, and prints what they say."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import fmi2Fatal

from mbfmu.checker.outcome import PRACTICE, NotApplicable, Remark
from mbfmu.checker.probe import exchange, life, misuse, steps3, structure3, values
from mbfmu.checker.probe.instance import Instance
from mbfmu.checker.probe.probe import DynamicRule, Probe
from mbfmu.fmi.report import begin

LAST: tuple[tuple[DynamicRule, str], ...] = (
    (misuse.unknown_reference, PRACTICE),
    (life.exit, PRACTICE),
)
"""Rules after which the process may be of no use; how it ends is judged by the parent."""

Rows = tuple[tuple[DynamicRule, str], ...]


class RuleTable(NamedTuple):
    """The rules of one kind of FMU, with their sections; the last of the last says how the process ends.

    Args:
        vital: rules without which the others make no sense.
        others: the others.
        strict: those that few FMUs keep.
        last: rules after which the process may be of no use.
    """

    vital: Rows
    others: Rows
    strict: Rows = ()
    last: Rows = ()


SECTIONS3 = {
    life.load: "2.5.1", life.instantiate: "2.3.1", life.initialise: "2.3.3", life.step: "4.2.1",
    life.output_finite: PRACTICE, life.time: "2.4.7", life.instances: "2.3.1", life.reset: "2.3.1",
    life.terminate: "2.3.8", life.debug_logging: "2.3.1", life.exit: PRACTICE,
    values.start_value: "2.4.7", values.start_digits: PRACTICE, values.set_input: "2.2.7",
    values.tunable_parameter: "2.4.7", values.fixed_parameter: "2.4.7", values.late_parameter: "2.4.7",
    values.state: "2.2.7", values.serialized_state: "2.2.7", values.variable_step: "4.4",
    values.directional_derivative: "2.2.12",
    misuse.zero_step: "4.2.1", misuse.negative_step: "4.2.1", misuse.refusal_message: "2.2.4",
    misuse.nan_input: PRACTICE, misuse.infinite_input: PRACTICE, misuse.early_step: "2.3",
    misuse.unknown_reference: PRACTICE, misuse.guid_mismatch: "2.4.1", misuse.stop_time: "2.3.2",
    misuse.odd_path: "2.3.1", misuse.message_category: "2.3.1",
    exchange.exchange_load: "2.5.1", exchange.exchange_instantiate: "2.3.1", exchange.exchange_initialise: "2.3.3",
    exchange.integration: "3.2", exchange.state_values: "3.2.1", exchange.set_states: "3.2.1",
    exchange.nominal_values: "2.3.3", exchange.exchange_time: "3.2.1", exchange.state_derivative: "2.2.12",
    exchange.undeclared_dependency: "2.4.8", exchange.exchange_state: "2.2.7", exchange.exchange_reset: "2.3.1",
    exchange.exchange_instances: "2.3.1", exchange.exchange_terminate: "2.3.8", exchange.exchange_exit: PRACTICE,
}  # fmt: skip
"""Sections in FMI 3.0.2 of the rules that both versions have."""


def _three(rows: Rows) -> Rows:
    """Return those of some rules that FMI 3.0 has too, with its sections."""
    return tuple((rule, SECTIONS3[rule]) for rule, _ in rows if rule in SECTIONS3)


STEPPED = RuleTable(
    life.VITAL, (*life.RULES, *values.RULES, *misuse.RULES), misuse.STRICT, (*misuse.MESSAGES, *LAST)
)  # fmt: skip
EXCHANGED = RuleTable(exchange.VITAL, exchange.RULES)
STEPPED3 = RuleTable(
    (*steps3.VITAL, *_three(STEPPED.vital)),
    (*_three(STEPPED.others), *steps3.RULES, *structure3.STEPPED),
    _three(STEPPED.strict),
    _three(STEPPED.last),
)
EXCHANGED3 = RuleTable(
    _three(EXCHANGED.vital),
    (*_three(EXCHANGED.others[:-1]), *structure3.EXCHANGED, *_three(EXCHANGED.others[-1:])),
)
TABLES = (STEPPED, EXCHANGED, STEPPED3, EXCHANGED3)


def main(job: dict[str, Any], report: Callable[..., None]) -> None:
    """Apply the rules in turn; stop where going on makes no sense."""
    probe = Probe(job, report, steps3.Stepped if job["clocks"] else Instance)
    functions = {rule.__name__.replace("_", "-"): rule for table in TABLES for rows in table for rule, _ in rows}
    vital = {rule for table in TABLES for rule, _ in table.vital}
    for name in job["rules"]:
        report(begin=name)
        probe.log.clear()
        probe.remark, probe.legal = "", True
        said = _apply(probe, functions[name])
        if not Path(job["folder"]).is_dir():  # which is the FMU's own doing
            report(gone=True)
            return
        for status, text in said:
            report(rule=name, status=status, message=text)
        if any(status == "fail" for status, _ in said):
            probe.failed.add(name)
            if functions[name] in vital:
                break
        if probe.dead:
            return
    report(done=True)


def _apply(probe: Probe, rule: DynamicRule) -> list[tuple[str, str]]:
    """Return what a rule says: each message with its status."""
    try:
        violations = list(rule(probe))
    except NotApplicable as reason:
        return [("not applicable", str(reason))]
    except FMICallException as error:
        violations = [str(error)]
        if error.status == fmi2Fatal:
            violations = [
                f"{error.function} answered fmi2Fatal, which ends all instances; answer fmi2Error or fmi2Discard"
            ]
    except Exception as error:  # noqa: BLE001 - FMPy raises bare exceptions
        violations = [str(error)]
    said = f"; the FMU says: {' | '.join(probe.log)}" if probe.log else ""
    version = f"fmi{probe.job['version'][0]}"
    found = [
        ("note" if isinstance(text, Remark) else "fail", text.replace("fmi2", version) + said) for text in violations
    ]
    return found or [("pass", probe.remark)]


def run(job: Path) -> None:
    """Apply the rules of a job file."""
    main(json.loads(job.read_text(encoding="utf-8")), begin())

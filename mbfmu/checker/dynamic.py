"""What an FMU does when it runs: starts probe/ in a process of its own and reads what it finds.

The FMU is foreign machine code: it may crash, hang or end the process. Each of these is a failure of the rule that
met it; the rules that are left are tried in a new process.
"""

import errno
import os
import time
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fmpy

from mbfmu.checker.job import job_of
from mbfmu.checker.outcome import Outcome, Rule
from mbfmu.checker.probe import main as probe
from mbfmu.fmi.description import FmuDescription, claims
from mbfmu.fmi.supervise import Ending, supervise

TIMEOUT = 30.0
"""Seconds after which a rule counts as hung."""
LONGEST = 5
"""Longest time for all rules together, as a multiple of that for one rule."""

PROBE = "mbfmu.checker.probe.main"
"""Module that applies the rules, in a process of its own."""
LOADER = " The loader of pythonfmu decodes only spaces: unpack it in a folder of plain letters, or take a native FMU."
"""What is told of an FMU in pythonfmu's library that an encoded URI ends."""
UNPACK = Rule("unpack", "2.3", "The archive can be unpacked.", gate=True)


@dataclass(frozen=True)
class RuleSet:
    """The rules of one kind of FMU; the last of the others says how the process ends.

    Args:
        version: version of FMI.
        element: its element in the description.
        name: the kind in words.
        vital: rules without which the others make no sense.
        others: the others.
    """

    version: str
    element: str
    name: str
    vital: tuple[Rule, ...]
    others: tuple[Rule, ...]


def _interface(version: str, element: str, name: str, table: probe.RuleTable) -> RuleSet:
    """Return the rules of a kind of FMU."""
    others = [Rule.of(function, section) for function, section in table.others]
    others += [Rule.of(function, section, strict=True) for function, section in table.strict]
    others += [Rule.of(function, section) for function, section in table.last]
    vital = tuple(Rule.of(function, section, gate=True) for function, section in table.vital)
    return RuleSet(version, element, name, vital, tuple(others))


INTERFACES = (
    _interface("2.0", "CoSimulation", "co-simulation", probe.STEPPED),
    _interface("2.0", "ModelExchange", "model exchange", probe.EXCHANGED),
    _interface("3.0", "CoSimulation", "co-simulation", probe.STEPPED3),
    _interface("3.0", "ModelExchange", "model exchange", probe.EXCHANGED3),
)
BY_VERSION = {
    version: {rule.name: rule for one in INTERFACES if one.version == version for rule in (*one.vital, *one.others)}
    for version in ("2.0", "3.0")
}
"""Rules of each version of FMI by name, with the sections of its document."""
RULES = (UNPACK, *{**BY_VERSION["3.0"], **BY_VERSION["2.0"]}.values())
STARTED = ("load", "instantiate", "exchange-load", "exchange-instantiate")
"""Rules an FMU that needs a tool may break where the tool is missing."""


def probe_fmu(fmu: FmuDescription, without: Collection[str] = (), timeout: float = TIMEOUT) -> list[Outcome]:
    """Run an FMU through the rules of probe/.

    Args:
        fmu: the FMU.
        without: names of rules not to try.
        timeout: seconds one rule may take; all together may take five times as long.
    """
    libraries = [_library(fmu, element) for element in fmu.interfaces]
    if not fmu.archive.names.intersection(libraries):
        return [rule.outcome("not applicable", f"there is no '{libraries[-1]}'") for rule in RULES]
    with TemporaryDirectory(prefix="mbfmu_", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        try:
            fmpy.extract(BytesIO(fmu.archive.data), folder / "fmu")
        except Exception as error:  # noqa: BLE001 - FMPy raises bare exceptions
            return [UNPACK.outcome("fail", f"the archive cannot be unpacked: {error}")]
        outcomes, deadline = UNPACK.judge(list), time.monotonic() + LONGEST * timeout
        for interface in (one for one in INTERFACES if one.version == fmu.version):
            outcomes += _probe_interface(fmu, interface, folder, without, timeout, deadline)
    return outcomes


def _library(fmu: FmuDescription, element: Any) -> str:
    """Return the path of an interface's library in the archive."""
    platform = fmpy.platform if fmu.version == "2.0" else fmpy.platform_tuple
    return f"binaries/{platform}/{element.get('modelIdentifier')}{fmpy.sharedLibraryExtension}"


def _probe_interface(
    fmu: FmuDescription, interface: RuleSet, folder: Path, without: Collection[str], timeout: float, deadline: float
) -> list[Outcome]:
    """Apply the rules of one interface."""
    element = fmu.root.find(interface.element)
    rules = (*interface.vital, *interface.others)
    if element is None:
        return [rule.outcome("not applicable", f"the FMU is not for {interface.name}") for rule in rules]
    library = _library(fmu, element)
    if library not in fmu.archive.names:
        return [rule.outcome("not applicable", f"there is no '{library}'") for rule in rules]
    try:
        job = job_of(fmu, element, folder / "fmu")
    except ValueError as error:  # numbers the schema allows and nobody can use, such as one of 5000 digits
        return [interface.vital[0].outcome("fail", f"the description holds what cannot be used: {error}")]
    run = _Run(interface, folder, library, job, timeout, deadline)
    left, last = [rule for rule in rules if rule.name not in without], rules[-1]
    run.supervise([rule for rule in left if rule is not last])
    if last in left and run.runs:
        run.end()
    excused = STARTED if claims(element, "needsExecutionTool") else ()
    return [_excused(outcome) if outcome.rule in excused else outcome for outcome in run.found]


def _excused(outcome: Outcome) -> Outcome:
    """Return what is said of an FMU that does not start where the tool it needs may be missing."""
    if outcome.status != "fail":
        return outcome
    text = f"the FMU needs its tool, and may miss it here: {outcome.message}"
    return replace(outcome, status="not applicable", message=text)


@dataclass
class _Run:
    """The processes that try one FMU, one after the other.

    Args:
        interface: the rules.
        folder: where files may go.
        library: name of the FMU's library, where all faults are reported.
        job: what probe/ must know.
        timeout: seconds one rule may take.
        deadline: when all must be over, on the monotonic clock.
        found: what the rules have said.
        last: how the last process ended, if it came to its end.
    """

    interface: RuleSet
    folder: Path
    library: str
    job: dict[str, Any]
    timeout: float
    deadline: float
    found: list[Outcome] = field(default_factory=list)
    last: Ending | None = None

    @property
    def runs(self) -> bool:
        """Whether no rule that others wait for has failed, and there is time left."""
        broken = {outcome.rule for outcome in self.found if outcome.status == "fail"}
        return time.monotonic() < self.deadline and not any(
            rule.name in broken for rule in (UNPACK, *self.interface.vital)
        )

    def supervise(self, rules: list[Rule]) -> None:
        """Try the rules, in a new process after each that ended one."""
        names = {rule.name: rule for rule in rules}
        left = list(rules)
        while left:
            if time.monotonic() > self.deadline:
                text = f"not tried: the FMU took more than {LONGEST * self.timeout:g} s"
                self.found += [rule.outcome("not applicable", text) for rule in (*left, self.interface.others[-1])]
                return
            try:
                ending, entries = self._process([rule.name for rule in left])
            except OSError as error:
                self._lose(left, error)
                return
            begun = left[0]
            said: set[str] = set()
            done = False
            for entry in entries:
                done = done or "done" in entry
                begun = names.get(str(entry.get("begin")), begun)
                rule = names.get(str(entry.get("rule")))
                if rule is not None:
                    said.add(rule.name)
                    self._note(rule, entry.get("status"), str(entry.get("message")))
            if any("gone" in entry for entry in entries):
                self._lose(left[left.index(begun) :], OSError(errno.ENOENT, os.strerror(errno.ENOENT)))
                return
            if not done and begun.name not in said:
                self._note(begun, "fail", ending.text + (LOADER if self._misreads(begun) else ""))
            if any(outcome.status == "fail" and names[outcome.rule].gate for outcome in self.found):
                return
            self.last = ending if done else None
            left = [] if done else left[left.index(begun) + 1 :]

    def _misreads(self, rule: Rule) -> bool:
        """Return whether a rule gives pythonfmu's loader an encoded URI."""
        return bool(self.job["pythonfmu"]) and rule.name == "odd-path"

    def end(self) -> None:
        """See how a process ends in which no call was answered with fmi2Fatal: the last one, or a new one."""
        rule = self.interface.others[-1]
        try:
            ending = self.last or self._process([rule.name])[0]
        except OSError as error:
            self._lose([rule], error)
            return
        fault = "" if ending.code == 0 else f"after the FMU was freed, {ending.text}"
        self._note(rule, "fail" if fault else "pass", fault)

    def _lose(self, left: list[Rule], error: OSError) -> None:
        """Take down that the rules that are left cannot be tried, as the files that they need are gone."""
        text = f"the FMU removed or changed the files of the check: {error.strerror or error}"
        self.found.append(UNPACK.outcome("fail", text, self.library))
        self.found += [rule.outcome("not applicable", f"not tried: {text}") for rule in left]

    def _note(self, rule: Rule, status: Any, message: str) -> None:
        """Take down what a rule says; a pass of a rule on messages does not undo an earlier failure."""
        said = any(outcome.rule == rule.name for outcome in self.found)
        if status not in ("pass", "not applicable"):
            self.found.append(rule.outcome("note" if status == "note" else "fail", message, self.library))
        elif not said:
            self.found.append(rule.outcome(status, message or rule.claim))

    def _process(self, names: list[str]) -> tuple[Ending, list[dict[str, Any]]]:
        """Run probe/; return how its process ended, and its report."""
        failed = [outcome.rule for outcome in self.found if outcome.status == "fail"]
        job = {**self.job, "rules": names, "failed": failed}
        entries: list[dict[str, Any]] = []
        ending = supervise(PROBE, job, self.folder, self.timeout, entries.append, self.deadline)
        return ending, entries

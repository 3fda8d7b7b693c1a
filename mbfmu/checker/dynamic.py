"""What an FMU does when it runs: starts probe/ in a process of its own and reads what it finds.

The FMU is foreign machine code: it may crash, hang or end the process. Each of these is a failure of the rule that
met it; the rules that are left are tried in a new process.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fmpy

from mbfmu.checker.fmu import Fmu
from mbfmu.checker.outcome import Outcome, Rule
from mbfmu.checker.probe import main as probe

TIMEOUT = 30.0
"""Seconds after which a rule counts as hung."""
LONGEST = 5
"""As many times the FMU as a whole may take."""
PATIENCE = 0.02
"""Seconds between two looks at what the process has written."""
SPOKEN = 2**24
"""Bytes a process may write; an FMU that writes more is ended."""

STEP = 0.01
"""Step size in seconds for an FMU that prefers none."""

STARTING = ("parameter", "input")
"""Causalities whose start values hold, whatever initialisation computes."""

CHILD = """
import sys
from pathlib import Path
sys.path = [sys.argv[1], *filter(None, sys.path)]
from probe.main import run
del sys.path[0]
run(Path(sys.argv[2]))
"""
"""What the process of the FMU runs; its arguments are the folder of probe/ and the job."""

UNPACK = Rule("unpack", "2.3", "The archive can be unpacked.", gate=True)
VITAL = tuple(Rule.of(function, section, gate=True) for function, section in probe.VITAL)
OTHERS = (
    *(Rule.of(function, section) for function, section in probe.OTHERS),
    *(Rule.of(function, section, strict=True) for function, section in probe.STRICT),
    *(Rule.of(function, section) for function, section in (*probe.MESSAGES, *probe.LAST)),
)
EXIT = OTHERS[-1]
RULES = (UNPACK, *VITAL, *OTHERS)
STARTED = ("load", "instantiate")
"""Rules an FMU that needs a tool may break where the tool is missing."""


def probe_fmu(fmu: Fmu, without: Collection[str] = (), timeout: float = TIMEOUT) -> list[Outcome]:
    """Run an FMU through the rules of probe/.

    Args:
        fmu: the FMU.
        without: names of rules not to try.
        timeout: seconds one rule may take; all together may take five times as long.
    """
    library = f"binaries/{fmpy.platform}/{fmu.identifier}{fmpy.sharedLibraryExtension}"
    if library not in fmu.archive.names:
        return [rule.outcome("not applicable", f"there is no '{library}'") for rule in RULES]
    with TemporaryDirectory(prefix="mbfmu_", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        try:
            fmpy.extract(BytesIO(fmu.archive.data), folder / "fmu")
        except Exception as error:  # noqa: BLE001 - FMPy raises bare exceptions
            return [UNPACK.outcome("fail", f"the archive cannot be unpacked: {error}")]
        run = _Run(folder, library, _job(fmu, folder / "fmu"), timeout, time.monotonic() + LONGEST * timeout)
        left = [rule for rule in (*VITAL, *OTHERS) if rule.name not in without]
        run.supervise([rule for rule in left if rule is not EXIT])
        if EXIT in left and run.runs:
            run.end()
    excused = STARTED if fmu.can("needsExecutionTool") else ()
    return [*UNPACK.judge(list), *(_excused(outcome) if outcome.rule in excused else outcome for outcome in run.found)]


def _excused(outcome: Outcome) -> Outcome:
    """Return what is said of an FMU that does not start where the tool it needs may be missing."""
    if outcome.status != "fail":
        return outcome
    text = f"the FMU needs its tool, and may miss it here: {outcome.message}"
    return replace(outcome, status="not applicable", message=text)


def _job(fmu: Fmu, folder: Path) -> dict[str, Any]:
    """Gather what probe/ must know of an FMU."""
    given = fmu.experiment
    outputs: dict[str, dict[str, int]] = {}
    for v in fmu.variables:
        if v.causality == "output":
            outputs.setdefault(v.base, {})[v.name] = v.reference
    flags = (
        "canGetAndSetFMUstate",
        "canSerializeFMUstate",
        "canHandleVariableCommunicationStepSize",
        "canBeInstantiatedOnlyOncePerProcess",
        "canInterpolateInputs",
        "canNotUseMemoryManagementFunctions",
        "providesDirectionalDerivative",
    )
    return {
        "folder": str(folder),
        "guid": fmu.root.get("guid"),
        "identifier": fmu.identifier,
        "pythonfmu": fmu.is_pythonfmu,
        "start": given.get("startTime", 0.0),
        "step": given["stepSize"] if 0.0 < given.get("stepSize", 0.0) < float("inf") else STEP,
        "tolerance": given.get("tolerance"),
        "outputs": outputs,
        "variables": list(_variables(fmu)),
        "categories": [element.get("name") for element in fmu.root.iterfind("LogCategories/Category")],
        "flags": {flag: fmu.can(flag) for flag in flags},
        "asynchronous": fmu.can("canRunAsynchronuously"),
        "output_order": int(fmu.slave.get("maxOutputDerivativeOrder", "0")),
    }


def _variables(fmu: Fmu) -> Iterator[dict[str, Any]]:
    for v in fmu.variables:
        entry: dict[str, Any] = {
            "name": v.name,
            "reference": v.reference,
            "type": v.type,
            "base": v.base,
            "causality": v.causality,
            "variability": v.variability,
        }
        if v.start is not None and (v.causality in STARTING or v.variability == "constant"):
            entry["start"] = _value(v.base, v.start)
        if v.type == "Real":
            entry["min"] = float(v.attributes.get("min", "-inf"))
            entry["max"] = float(v.attributes.get("max", "inf"))
        yield entry


def _value(base: str, text: str) -> float | int | str:
    if base == "Real":
        return float(text)
    if base == "Boolean":
        return int(text.strip() in ("true", "1"))
    return int(text) if base == "Integer" else text


@dataclass
class _Run:
    """The processes that try one FMU, one after the other.

    Args:
        folder: where files may go.
        library: name of the FMU's library, the place of all that is found.
        job: what probe/ must know.
        timeout: seconds one rule may take.
        deadline: when all must be over, on the monotonic clock.
        found: what the rules have said.
        last: how the last process ended, if it came to its end.
    """

    folder: Path
    library: str
    job: dict[str, Any]
    timeout: float
    deadline: float
    found: list[Outcome] = field(default_factory=list)
    last: "_Ending | None" = None

    @property
    def runs(self) -> bool:
        """Whether no rule that others wait for has failed, and there is time left."""
        broken = {outcome.rule for outcome in self.found if outcome.status == "fail"}
        return time.monotonic() < self.deadline and not any(rule.name in broken for rule in VITAL)

    def supervise(self, rules: list[Rule]) -> None:
        """Try the rules, in a new process after each that ended one."""
        names = {rule.name: rule for rule in rules}
        left = list(rules)
        while left:
            if time.monotonic() > self.deadline:
                text = f"not tried: the FMU took more than {LONGEST * self.timeout:g} s"
                self.found += [rule.outcome("not applicable", text) for rule in (*left, EXIT)]
                return
            ending = self._process([rule.name for rule in left])
            begun = left[0]
            said: set[str] = set()
            done = False
            for entry in ending.entries:
                done = done or "done" in entry
                begun = names.get(str(entry.get("begin")), begun)
                rule = names.get(str(entry.get("rule")))
                if rule is not None:
                    said.add(rule.name)
                    self._note(rule, entry.get("status"), str(entry.get("message")))
            if not done and begun.name not in said:
                self._note(begun, "fail", ending.text)
            if any(outcome.status == "fail" and names[outcome.rule].gate for outcome in self.found):
                return
            self.last = ending if done else None
            left = [] if done else left[left.index(begun) + 1 :]

    def end(self) -> None:
        """See how a process ends in which no call was answered with fmi2Fatal: the last one, or a new one."""
        ending = self.last or self._process([EXIT.name])
        fault = "" if ending.code == 0 else f"after the FMU was freed, {ending.text}"
        self._note(EXIT, "fail" if fault else "pass", fault)

    def _note(self, rule: Rule, status: Any, message: str) -> None:
        """Take down what a rule says; a pass of a rule on messages does not undo an earlier failure."""
        said = any(outcome.rule == rule.name for outcome in self.found)
        if status not in ("pass", "not applicable"):
            self.found.append(rule.outcome("fail", message, self.library))
        elif not said:
            self.found.append(rule.outcome(status, message or rule.claim))

    def _process(self, names: list[str]) -> "_Ending":
        """Run probe/, in files rather than pipes, which a tool started by the FMU could keep open."""
        failed = [outcome.rule for outcome in self.found if outcome.status == "fail"]
        (self.folder / "job.json").write_text(
            json.dumps({**self.job, "rules": names, "failed": failed}), encoding="utf-8"
        )
        command = [sys.executable, "-c", CHILD, str(Path(__file__).parent), str(self.folder / "job.json")]
        out, err = self.folder / "out", self.folder / "err"
        with (
            out.open("wb") as stdout,
            err.open("wb") as stderr,
            subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                cwd=self.folder,
                start_new_session=True,
            ) as process,
        ):
            try:
                code = self._wait(process, out, err)
            finally:
                if process.poll() is None:
                    _kill(process)
        return _Ending(code, self.timeout, _head(out), _head(err))

    def _wait(self, process: subprocess.Popen[bytes], out: Path, err: Path) -> int | None:
        """Wait until the process ends or has said nothing for too long; None if it must be killed."""
        size, heard = 0, time.monotonic()
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(PATIENCE)
            if (grown := out.stat().st_size) != size:
                size, heard = grown, time.monotonic()
            if time.monotonic() > min(heard + self.timeout, self.deadline) or err.stat().st_size > SPOKEN:
                return None


@dataclass(frozen=True)
class _Ending:
    """How a process ended, and what it wrote."""

    code: int | None
    timeout: float
    out: str
    err: str

    @property
    def entries(self) -> Iterator[dict[str, Any]]:
        """The lines of probe/; the last one may be cut short."""
        for line in self.out.splitlines():
            with contextlib.suppress(ValueError):
                entry = json.loads(line)
                if isinstance(entry, dict):
                    yield entry

    @property
    def text(self) -> str:
        """What to say of it."""
        if self.code is None and len(self.err) >= SPOKEN:
            return f"the FMU prints without end, more than {SPOKEN} bytes"
        if self.code is None:
            return f"the FMU did not answer within {self.timeout:g} s"
        said = " | ".join(self.err.split("\n")[-6:]).strip(" |")
        return f"the FMU ended the process ({_name(self.code)}). {said}".strip()


def _head(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(SPOKEN).decode("utf-8", errors="replace")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the process, and what the FMU started, as far as the system can tell."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):  # it may have ended in the meantime
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _name(code: int) -> str:
    """Name the way a process ended."""
    try:
        return signal.Signals(-code).name if code < 0 else f"exit status {code}"
    except ValueError:
        return f"signal {-code}"

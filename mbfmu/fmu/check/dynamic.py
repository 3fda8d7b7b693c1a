"""What an FMU does when it runs: starts probe.py in a process of its own and reads what it finds.

The FMU is foreign machine code: it may crash, hang or end the process, and each of these is a Problem.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fmpy

from mbfmu.fmu.check.problem import Problem
from mbfmu.fmu.check.static import Fmu

TIMEOUT = 60.0
"""Seconds after which a run counts as hung."""

STEP = 0.01
"""Step size in seconds for an FMU that prefers none."""


def run_fmu(fmu: Fmu) -> list[Problem]:
    """Run an FMU through the rules of probe.py; no problems if it has no library for this platform."""
    library = f"binaries/{fmpy.platform}/{fmu.identifier}{fmpy.sharedLibraryExtension}"
    if library not in fmu.archive.names:
        return []
    with TemporaryDirectory(prefix="mbfmu_", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        try:
            fmpy.extract(BytesIO(fmu.archive.data), folder / "fmu")
        except (OSError, ValueError) as error:
            return [Problem("zip-path", f"the archive cannot be unpacked: {error}")]
        (folder / "job.json").write_text(json.dumps(_job(fmu, folder / "fmu")), encoding="utf-8")
        return list(_supervise(folder))


def _job(fmu: Fmu, folder: Path) -> dict[str, Any]:
    """Gather what probe.py must know of an FMU."""
    given = fmu.experiment
    outputs: dict[str, dict[str, int]] = {}
    for v in fmu.variables:
        if v.causality == "output":
            outputs.setdefault("Integer" if v.type == "Enumeration" else v.type, {})[v.name] = v.reference
    inputs = [
        [v.name, v.reference]
        for v in fmu.variables
        if (v.causality, v.variability, v.type) == ("input", "continuous", "Real")
    ]
    return {
        "folder": str(folder),
        "guid": fmu.root.get("guid"),
        "identifier": fmu.identifier,
        "start": given.get("startTime", 0.0),
        "step": given["stepSize"] if 0.0 < given.get("stepSize", 0.0) < float("inf") else STEP,
        "tolerance": given.get("tolerance"),
        "outputs": outputs,
        "input": next(iter(inputs), None),
        "state": fmu.can("canGetAndSetFMUstate"),
        "serialize": fmu.can("canSerializeFMUstate"),
        "variable_step": fmu.can("canHandleVariableCommunicationStepSize"),
        "instances": not fmu.can("canBeInstantiatedOnlyOncePerProcess"),
    }


def _supervise(folder: Path) -> Iterator[Problem]:
    """Run probe.py, in files rather than pipes, which a tool started by the FMU could keep open."""
    command = [sys.executable, str(Path(__file__).with_name("probe.py")), str(folder / "job.json")]
    out, err = folder / "out", folder / "err"
    with (
        out.open("wb") as stdout,
        err.open("wb") as stderr,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            cwd=folder,
            start_new_session=True,
        ) as process,
    ):
        try:
            code: int | None = process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            if process.poll() is None:
                _kill(process)

    stage, done = "loading", False
    for line in out.read_text(encoding="utf-8", errors="replace").splitlines():
        with contextlib.suppress(ValueError):  # the last line may be cut short
            entry = json.loads(line)
            stage, done = entry.get("stage", stage), "done" in entry
            if "rule" in entry:
                yield Problem(entry["rule"], entry["message"])
    where = "after the last rule" if done else f"at the rule '{stage}'"
    if code is None:
        yield Problem("timeout", f"the FMU did not answer within {TIMEOUT:g} s, {where}")
    elif code or not done:
        said = " | ".join(err.read_text(encoding="utf-8", errors="replace").split("\n")[-6:]).strip(" |")
        yield Problem("crash", f"the FMU ended the process ({_ending(code)}) {where}. {said}".strip())


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the process, and what the FMU started, as far as the system can tell."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):  # it may have ended in the meantime
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _ending(code: int) -> str:
    """Name the way a process ended."""
    try:
        return signal.Signals(-code).name if code < 0 else f"exit status {code}"
    except ValueError:
        return f"signal {-code}"

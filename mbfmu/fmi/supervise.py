"""Supervision of the process in which a foreign FMU runs: it may crash, hang, end the process or print without end.

The process runs one module with a job, and reports in JSON lines that begin with a token, which it reads from its
input: what the FMU writes to the same descriptor is no report. It is ended when it is silent for too long.
"""

import contextlib
import json
import math
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mbfmu.fmi.fault import one_line

PATIENCE = 0.02
"""Longest time between two reads of what the process has written, s; reads are more frequent after a line."""
BRIEFLY = 1e-4
"""Shortest time between two reads of what the process has written, s."""
SPOKEN = 2**24
"""Bytes a process may write beside its report; an FMU that writes more is ended."""
PART = 2**20
"""Largest number of bytes of a report that are read at once."""
WORDS = 2000
"""Largest number of characters of what the FMU wrote that a message holds."""

CHILD = """
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
sys.path = [*filter(None, sys.path)]
folder, way, job = sys.argv[1:]
parts = way.split(".")
for n in range(1, len(parts)):
    package = sys.modules[".".join(parts[:n])] = ModuleType(".".join(parts[:n]))
    package.__path__ = [str(Path(folder, *parts[:n]))]
import_module(way).run(Path(job))
"""
"""Script of the process of an FMU; its arguments are the folder of mbfmu, a module and the job.

Packages on the way to the module come without their own `__init__`, which imports what the FMU shall not meet.
"""


@dataclass(frozen=True)
class Ending:
    """The end of a process.

    Args:
        code: its exit status, negative for a signal; None: it was ended here.
        timeout: seconds for which it could be silent.
        written: what it wrote beside its report.
    """

    code: int | None
    timeout: float
    written: str

    @property
    def silent(self) -> bool:
        """Whether it was ended as it reported nothing for too long."""
        return self.code is None and len(self.written) < SPOKEN

    @property
    def text(self) -> str:
        """The message on a process that ended before its work was done."""
        if self.silent:
            return f"the FMU did not answer within {self.timeout:g} s"
        if self.code is None:
            return f"the FMU prints without end, more than {SPOKEN} bytes"
        said = " | ".join(self.written.split("\n")[-6:]).strip(" |")[-WORDS:]
        return one_line(f"the FMU ended the process ({_name(self.code)}). {said}")


def supervise(
    module: str,
    job: Mapping[str, Any],
    folder: Path,
    timeout: float,
    heard: Callable[[dict[str, Any]], None],
    deadline: float = math.inf,
) -> Ending:
    """Run a module in a process of its own, and return how it ended; nothing of it is left running.

    Args:
        module: see `Supervised`.
        job: see `Supervised`.
        folder: see `Supervised`.
        timeout: seconds for which the process may report nothing.
        heard: see `Supervised`.
        deadline: when all must be over, on the monotonic clock.

    Raises:
        OSError: the folder cannot be used, for example because the FMU has removed it.
    """
    with Supervised(module, job, folder, heard) as process:
        ending = process.wait(timeout, deadline)
    assert ending is not None
    return ending


class Supervised:
    """A process that runs a module; it is a context, so that nothing of it is left running.

    Its input is a pipe, so that it ends with this process, whatever ends that. It writes to files, as a tool started by
    the FMU could keep a pipe open.

    Args:
        module: full name of the module, whose function `run` is called with the path of the job.
        job: what it must know, as JSON data.
        folder: where files may go, and where the process runs.
        heard: called with every line of its report, by `wait`.
    """

    def __init__(
        self, module: str, job: Mapping[str, Any], folder: Path, heard: Callable[[dict[str, Any]], None]
    ) -> None:
        (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
        command = [sys.executable, "-c", CHILD, str(Path(__file__).parents[2]), module, str(folder / "job.json")]
        out, err = folder / "out", folder / "err"
        token = secrets.token_hex(16).encode()
        with contextlib.ExitStack() as stack:
            stdout, stderr = (stack.enter_context(path.open("wb")) for path in (out, err))
            self._lines = stack.enter_context(contextlib.closing(_Lines(out, token, heard)))
            self._err = stack.enter_context(err.open("rb"))  # still open if the FMU removes the file
            self._process = stack.enter_context(
                subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=stdout, stderr=stderr, cwd=folder, start_new_session=True
                )
            )
            stack.callback(self._end)
            with contextlib.suppress(BrokenPipeError):  # it has ended already, which `wait` reports
                assert self._process.stdin is not None
                self._process.stdin.write(token + b"\n")
                self._process.stdin.flush()
            self.close = stack.pop_all().close

    def __enter__(self) -> "Supervised":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def written(self) -> int:
        """Number of bytes that the process has written beside its report."""
        return os.fstat(self._err.fileno()).st_size + self._lines.noise

    def wait(
        self,
        timeout: float,
        deadline: float = math.inf,
        idle: Callable[[], None] = lambda: None,
        until: Callable[[], bool] = lambda: False,
    ) -> Ending | None:
        """Wait until the process ends, or is ended as it has reported nothing for too long; return how it ended.

        Args:
            timeout: seconds for which it may report nothing.
            deadline: when all must be over, on the monotonic clock.
            idle: called again and again meanwhile.
            until: called after each of its lines; None is returned once it is true, and the process continues.
        """
        code = None
        last = now = time.monotonic()
        while code is None and now <= min(last + timeout, deadline) and self.written <= SPOKEN:
            code = self._process.poll()
            if code is None:
                time.sleep(min(PATIENCE, BRIEFLY + (now - last) / 8))
            idle()
            now = time.monotonic()
            if self._lines.hear():
                last = now
            if until():
                return None
        self._end()
        self._lines.hear()
        if until():
            return None
        self._err.seek(0)
        said = self._err.read(SPOKEN).decode("utf-8", errors="replace")
        return Ending(code, timeout, said or self._lines.noise * " ")

    def _end(self) -> None:
        if self._process.poll() is None:
            _kill(self._process)
            self._process.wait()


class _Lines:
    """The lines of a report, as they come; the last one may be cut short.

    Args:
        path: path of the file.
        token: the bytes that a line of the report begins with.
        heard: called with every line.
    """

    def __init__(self, path: Path, token: bytes, heard: Callable[[dict[str, Any]], None]) -> None:
        self._file, self._token, self._heard, self._rest = path.open("rb"), token, heard, b""
        self.noise = 0
        """Number of bytes in the file that are no report."""
        self.close = self._file.close

    def hear(self) -> bool:
        """Read what is new; return whether there is a line of the report."""
        said = False
        while self.noise <= SPOKEN and (new := self._file.read(PART)):
            *lines, self._rest = (self._rest + new).split(b"\n")
            for line in lines:
                if not line.startswith(self._token):
                    self.noise += len(line)
                    continue
                with contextlib.suppress(ValueError):  # another thread of the FMU wrote into the line
                    self._heard(json.loads(line.removeprefix(self._token)))
                    said = True
            if len(self._rest) > SPOKEN:
                self.noise, self._rest = self.noise + len(self._rest), b""
        return said


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the process, and what the FMU started, as far as the system can tell."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):  # it may have ended in the meantime
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _name(code: int) -> str:
    """Return the name of the way in which a process ended."""
    try:
        return signal.Signals(-code).name if code < 0 else f"exit status {code}"
    except ValueError:
        return f"signal {-code}"

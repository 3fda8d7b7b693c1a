"""The process of its own in which an FMU runs: it may crash, hang or end the process, and a run says so."""

import itertools
import json
import math
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from io import BytesIO
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from mbfmu.base.result import Result
from mbfmu.errors import FmuError, StepError
from mbfmu.fmi.supervise import SPOKEN, Ending, Supervised
from mbfmu.run.fmu import FmuRun
from mbfmu.run.model import Progress

BLOCK = 1000
"""Number of rows of a run that are written at once."""
AHEAD = 20
"""Largest number of blocks of rows that the process of an FMU has not read yet."""


def run_apart(run: FmuRun, timeout: float, report: Progress = lambda _: None) -> Result:
    """Run an FMU in a process of its own, which is ended with this call at the latest.

    Args:
        run: the run.
        timeout: seconds for which the FMU may do nothing.
        report: called with the fraction done.

    Raises:
        FmuError, StepError: the FMU cannot be run, or a step failed.
    """
    with FmuProcess(run.path, run.path, timeout) as process:
        return process.run(run, report)


class FmuProcess:
    """The process of an FMU, for one run after the other; it is a context, so that nothing of it is left.

    One instance makes all runs, with a reset between them. After a run that failed, the next one has a new process.

    Args:
        path: path of the file, for messages.
        source: where the file is, or its bytes.
        timeout: seconds for which the FMU may do nothing.

    Raises:
        FmuError: the file cannot be unpacked.
    """

    def __init__(self, path: Path, source: Path | bytes, timeout: float) -> None:
        import fmpy

        self._path, self._timeout = path, timeout
        self._process: Supervised | None = None
        self._count = 0  # of runs
        self._said: dict[str, Any] = {}  # what the process has reported on a run
        self._messages: dict[str, None] = {}
        self._report: Progress = lambda _: None
        try:
            self._scratch = TemporaryDirectory(prefix="mbfmu_", ignore_cleanup_errors=True)
            self._folder = Path(self._scratch.name)
            fmpy.extract(BytesIO(source) if isinstance(source, bytes) else str(source), str(self._folder / "fmu"))
        except Exception as error:  # noqa: BLE001 - FMPy raises plain Exceptions
            self.close()
            reason = (error.strerror if isinstance(error, OSError) else None) or error
            raise FmuError(f"'{path}' cannot be unpacked: {reason}") from None

    def __enter__(self) -> "FmuProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process and remove its files."""
        self._end()
        if "_scratch" in vars(self):
            self._scratch.cleanup()

    def _end(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None

    def run(self, run: FmuRun, report: Progress = lambda _: None, last: bool = True) -> Result:
        """Return the result of a run.

        Args:
            run: the run.
            report: called with the fraction done.
            last: whether no other run follows: the process then ends, and the result has a notice if it fails at that.

        Raises:
            FmuError, StepError: the FMU cannot be run, or a step failed.
        """
        folder = self._folder / f"run{self._count}"
        self._report = lambda time: report((time - run.plan.start) / (run.plan.stop - run.plan.start))
        try:
            if not self._ready():
                self._end()
            self._said.clear()
            self._messages.clear()
            folder.mkdir()
            feed = self._begin(run, folder, last)
            finished = (lambda: False) if last else (lambda: "done" in self._said or "failed" in self._said)
            assert self._process is not None
            ending = self._process.wait(self._timeout, idle=lambda: next(feed), until=finished)
            (reached,) = np.fromfile(folder / "reached")
            table = np.load(folder / "table.npy", allow_pickle=False) if "done" in self._said else None
            if ending is not None or table is None or self._process.written > SPOKEN // 2:
                self._end()
            shutil.rmtree(folder)
        except OSError as error:
            self._end()
            raise FmuError(f"'{self._path}' cannot be unpacked and run: {error.strerror or error}") from None
        except BaseException:
            self._end()
            raise
        if table is None:
            raise self._failure(ending, reached)
        report(1.0)
        if ending is not None and ending.code != 0:
            self._messages[f"after the run, {ending.text}"] = None
        return run.result(table, self._said["seconds"], self._messages)

    def _ready(self) -> bool:
        """Return whether there is a process that has ended its last run and waits for the next one."""
        if self._process is None:
            return False
        return self._process.wait(self._timeout, until=lambda: "ready" in self._said) is None

    def _begin(self, run: FmuRun, folder: Path, last: bool) -> Iterator[None]:
        """Return what feeds a run with rows, once it has begun; there is a new process for it if there was none."""
        np.full(1, math.nan).tofile(folder / "reached")
        feed = _feed(folder, run.rows())
        next(feed)
        (folder / "part").write_text(json.dumps({"plan": asdict(run.plan), "last": last}), encoding="utf-8")
        os.replace(folder / "part", folder / "plan.json")
        if self._process is None:
            job = {"fmu": str(self._folder / "fmu"), "first": self._count}
            self._process = Supervised("mbfmu.fmi.drive", job, self._folder, self._heard)
        self._count += 1
        return feed

    def _heard(self, line: dict[str, Any]) -> None:
        if "time" in line:
            self._report(line["time"])
        elif "message" in line:
            self._messages[str(line["message"])] = None
        else:
            self._said.update(line)

    def _failure(self, ending: Ending | None, reached: float) -> FmuError | StepError:
        """Return what is wrong with a run that has no table."""
        if "failed" in self._said:
            return (StepError if self._said.get("refused") else FmuError)(f"'{self._path}'{self._said['failed']}")
        assert ending is not None
        when = "before its first step" if math.isnan(reached) else f"at t = {reached:g} s"
        longer = f"; --timeout gives it more than {self._timeout:g} s" if ending.silent else ""
        return FmuError(f"'{self._path}': {when}, {'; '.join([*self._messages, ending.text])}{longer}")


def _feed(folder: Path, rows: Iterator[list[float]]) -> Iterator[None]:
    """Write the blocks of rows that the process of an FMU is about to read, each time that the next item is read.

    It removes those it has read; an empty one is the end.
    """
    for index in itertools.count():
        while (folder / f"rows{index - AHEAD}").exists():
            yield
        block = list(islice(rows, BLOCK))
        np.array(block).tofile(folder / "part")
        os.replace(folder / "part", folder / f"rows{index}")
        if not block:
            break
    while True:
        yield

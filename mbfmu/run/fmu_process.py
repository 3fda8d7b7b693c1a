"""The process of its own in which an FMU runs: it may crash, hang or end the process, and a run says so."""

import errno
import itertools
import json
import math
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from mbfmu.base.result import Result
from mbfmu.errors import FmuError, StepError
from mbfmu.fmi.archive import read_archive
from mbfmu.fmi.fault import one_line
from mbfmu.fmi.plan import FOLDERS
from mbfmu.fmi.supervise import SPOKEN, Ending, Supervised
from mbfmu.run.fmu import FmuRun
from mbfmu.run.model import Progress

BLOCK = 1000
"""Number of rows of a run that are written at once."""
LOST = 1.0
"""Time after which a block of rows that the process of an FMU still waits for must have been removed by the FMU, s."""
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
        self._path, self._timeout = path, timeout
        self._process: Supervised | None = None
        self._count = 0  # of runs
        self._said: dict[str, Any] = {}  # what the process has reported on a run
        self._messages: dict[str, None] = {}
        self._report: Progress = lambda _: None
        self._fed: list[float] = []  # when each block of rows was written, on the monotonic clock
        try:
            self._scratch = TemporaryDirectory(prefix="mbfmu_", ignore_cleanup_errors=True)
            self._folder = Path(self._scratch.name)
            archive = read_archive(path, source if isinstance(source, bytes) else None)
            archive.unpack(self._folder / "fmu")
        except (OSError, FmuError) as error:
            self.close()
            raise FmuError(f"'{path}' cannot be run: {error}") from None

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
        self._report = lambda time: report((time - run.plan.start) / (run.plan.stop - run.plan.start))
        shape = (len(run.points), 1 + len(run.shown))
        table, rests, ending, reached = self._made(run, {"last": last}, shape)
        if table is None:
            raise self._failure(ending, reached)
        report(1.0)
        if ending is not None and ending.code != 0:
            self._messages[f"after the run, {ending.text}"] = None
        return run.result(table, self._said["seconds"], self._messages, rests)

    def run_many(self, run: FmuRun, batch: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Any:
        """Return variables of runs that differ in their start values only, up to the first that does not go through.

        Args:
            run: one of the runs.
            batch: start values of each.
            names: names of the variables.

        Returns:
            The variables, shape (runs that were made, n_t, n_names).

        Raises:
            FmuError: the FMU cannot be run.
        """
        self._report = lambda _: None
        columns = [1 + run.shown.index(name) for name in names]
        shape = (-1, len(run.points), len(names))
        table, *_ = self._made(
            run, {"last": False, "batch": [dict(values) for values in batch], "columns": columns}, shape
        )
        return np.empty((0, *shape[1:])) if table is None else table

    def _made(
        self, run: FmuRun, task: Mapping[str, Any], shape: Sequence[int]
    ) -> tuple[Any, Any, Ending | None, float]:
        """Return what the process makes of a task.

        Args:
            run: the run.
            task: what the process must know beside its plan.
            shape: shape of the table; -1: any number of runs.

        Returns:
            The table, None if there is none, what it lacks of 64-bit integers, the end of the process, and the time
            that it reached, s.

        Raises:
            FmuError: the files of the run cannot be used.
        """
        folder, last = self._folder / f"run{self._count % FOLDERS}", bool(task["last"])
        try:
            if not self._ready():
                self._end()
            self._said.clear()
            self._messages.clear()
            if self._process is None:  # a run that ended badly may have left a plan and rows
                for index in range(FOLDERS):
                    shutil.rmtree(self._folder / f"run{index}", ignore_errors=True)
            folder.mkdir(exist_ok=True)
            feed = self._begin(run, folder, task)
            finished = (lambda: False) if last else (lambda: "done" in self._said or "failed" in self._said)
            assert self._process is not None
            ending = self._process.wait(self._timeout, idle=lambda: next(feed), until=finished)
            (reached,) = np.fromfile(folder / "reached", count=1)
            table = _table(folder / "table.npy", shape) if "done" in self._said else None
            rests = np.load(folder / "rests.npy") if (folder / "rests.npy").exists() else None
            if ending is not None or table is None or self._process.written > SPOKEN // 2:
                self._end()
            if last or table is None:  # rows may be left
                shutil.rmtree(folder, ignore_errors=True)
            else:
                for name in ("plan.json", "table.npy", "rests.npy"):
                    (folder / name).unlink(missing_ok=True)
        except (OSError, ValueError) as error:
            self._end()
            reason = (error.strerror if isinstance(error, OSError) else None) or error
            gone = "" if (folder / "plan.json").exists() else "it removed or changed the files of its run: "
            raise FmuError(one_line(f"'{self._path}' cannot be run: {gone}{reason}")) from None
        except BaseException:
            self._end()
            raise
        return table, rests, ending, reached

    def _ready(self) -> bool:
        """Return whether there is a process that has ended its last run and waits for the next one."""
        if self._process is None:
            return False
        return self._process.wait(self._timeout, until=lambda: "ready" in self._said) is None

    def _begin(self, run: FmuRun, folder: Path, task: Mapping[str, Any]) -> Iterator[None]:
        """Return what feeds a run with rows, once it has begun; there is a new process for it if there was none."""
        np.full(1, math.nan).tofile(folder / "reached")
        self._fed.clear()
        feed = _feed(folder, run.rows(), self._fed)
        next(feed)
        (folder / "part").write_text(json.dumps({"plan": asdict(run.plan), **task}), encoding="utf-8")
        os.replace(folder / "part", folder / "plan.json")
        if self._process is None:
            exchange = run.description.coSimulation is None
            job = {"fmu": str(self._folder / "fmu"), "first": self._count, "exchange": exchange}
            self._process = Supervised("mbfmu.fmi.drive", job, self._folder, self._heard)
        self._count += 1
        return feed

    def _heard(self, line: dict[str, Any]) -> None:
        if "time" in line:
            self._report(line["time"])
        elif "message" in line:
            self._messages[one_line(line["message"])] = None
        elif "waits" in line:
            index = line["waits"]
            if index < len(self._fed) and time.monotonic() > self._fed[index] + LOST:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        else:
            self._said.update(line)

    def _failure(self, ending: Ending | None, reached: float) -> FmuError | StepError:
        """Return what is wrong with a run that has no table."""
        if "failed" in self._said:
            kind = StepError if self._said.get("refused") else FmuError
            return kind(one_line(f"'{self._path}'{self._said['failed']}"))
        assert ending is not None
        when = "before its first step" if math.isnan(reached) else f"at t = {reached:g} s"
        longer = f"; --timeout gives it more than {self._timeout:g} s" if ending.silent else ""
        return FmuError(f"'{self._path}': {when}, {'; '.join([*self._messages, ending.text])}{longer}")


def _table(path: Path, shape: Sequence[int]) -> Any:
    """Return the table that the process of an FMU has saved.

    Args:
        path: path of the file.
        shape: its shape; -1: any number.

    Raises:
        OSError, ValueError: there is none, or it is not that of the run.
    """
    table = np.load(path, allow_pickle=False)
    if not table.size and shape[0] < 0:
        return None
    alike = len(table.shape) == len(shape) and all(n in (-1, m) for n, m in zip(shape, table.shape, strict=True))
    if not alike or table.dtype != np.float64:
        raise ValueError(f"its table has the shape {table.shape} instead of {tuple(shape)}")
    return table


def _feed(folder: Path, rows: Iterator[list[float]], written: list[float]) -> Iterator[None]:
    """Write the blocks of rows that the process of an FMU is about to read, each time that the next item is read.

    It removes those it has read; an empty one is the end.

    Args:
        folder: folder of the run.
        rows: the rows.
        written: gets the time of each block, s.
    """
    for index in itertools.count():
        while (folder / f"rows{index - AHEAD}").exists():
            yield
        block = list(islice(rows, BLOCK))
        np.array(block).tofile(folder / "part")
        os.replace(folder / "part", folder / f"rows{index}")
        written.append(time.monotonic())
        if not block:
            break
    while True:
        yield

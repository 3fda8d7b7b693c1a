"""Cluster: the runs of a study on Dask, in processes of this machine or on a cluster; no row is lost."""

import itertools
import signal
import tempfile
import time as clock
import warnings
from asyncio import TimeoutError as AsyncTimeoutError
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from mbfmu.analysis.study.points import Point
from mbfmu.analysis.study.subjects import Study
from mbfmu.analysis.study.table import Row, StudyTable
from mbfmu.errors import MbfmuError, UsageError
from mbfmu.run.model import Progress

SAVING = 2.0
"""Least time between two times that the table of a study is written, s; long tables are written less often."""
WAITING = 60
"""Longest wait for the first worker of a cluster, s."""
AHEAD = 3
"""Number of tasks under way for each thread of the workers."""
LOST = "the connection to the Dask scheduler was lost; the same command continues from what is done"
"""Message on a scheduler that does not answer any more."""
TASK = 0.2
"""Intended time of a task, s: short runs are combined, as Dask needs milliseconds for each task."""


def run(
    study: Study,
    names: tuple[str, ...],
    todo: Sequence[Point],
    known: Mapping[Point, Row],
    table: StudyTable | None,
    scheduler: str | None,
    workers: int | None,
    report: Progress,
) -> dict[Point, Row]:
    """Return the rows of all points: those that exist, and new ones, which are added to the file as they are done.

    Args:
        study: the subject and its measures.
        names: names of the varied values.
        todo: the points to run, each once.
        known: rows that exist already.
        table: the file, if there is one.
        scheduler: address of a Dask scheduler; None: processes on this machine.
        workers: number of processes; None: one for each core.
        report: called with the fraction done.

    Raises:
        UsageError: the cluster does not answer or has no workers.
        MbfmuError: the connection to the cluster is lost, or the file cannot be written.
    """
    rows = dict(known)
    left = [point for point in todo if point not in rows]

    def save() -> None:
        if table:
            others = [row for point, row in rows.items() if point not in points]
            table.write([*(rows[point] for point in todo if point in rows), *others])

    points = set(todo)
    if not left:
        report(1.0)
        return rows
    if scheduler is None:
        study.compile()
    with _client(scheduler, workers, len(left)) as client:
        save()  # a file that cannot be written is reported before hours of work
        saved, cost = clock.monotonic(), 0.0
        try:
            for count, (point, row) in enumerate(_rows(client, study, names, left), 1):
                rows[point] = row
                report(1 - (len(left) - count) / len(todo))
                if clock.monotonic() - saved > max(SAVING, 20 * cost):
                    begin = clock.monotonic()
                    save()
                    saved = clock.monotonic()
                    cost = saved - begin
        except (OSError, AsyncTimeoutError):
            raise MbfmuError(LOST) from None
        finally:
            save()
    return rows


@contextmanager
def _client(scheduler: str | None, workers: int | None, most: int) -> Iterator[Any]:
    """Connect to a cluster, or start one of local processes."""
    import dask.config
    import distributed
    from dask.system import CPU_COUNT

    if scheduler:
        try:
            client = distributed.Client(scheduler, timeout=10, set_as_default=False)
        except (OSError, ValueError) as error:
            raise UsageError(f"no Dask scheduler answers at '{scheduler}': {error}") from None
        with client:
            try:
                client.wait_for_workers(1, timeout=WAITING)
            except TimeoutError:
                raise UsageError(f"the Dask scheduler '{scheduler}' has no workers: start `dask worker`") from None
            yield client
        return
    count = min(workers or CPU_COUNT, most)
    with (
        tempfile.TemporaryDirectory(prefix="mbfmu_sweep_", ignore_cleanup_errors=True) as folder,
        # a row that kills its worker is tried twice
        dask.config.set({"distributed.scheduler.allowed-failures": 0, "temporary-directory": folder}),
        ExitStack() as stack,
    ):
        try:
            cluster = distributed.LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                processes=True,
                dashboard_address=":0",
                silence_logs="CRITICAL",
                local_directory=folder,
            )
            stack.enter_context(cluster)
            client = stack.enter_context(distributed.Client(cluster, set_as_default=False))
            client.register_worker_callbacks(_settle)
        except (OSError, RuntimeError, AsyncTimeoutError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            message = f"the {count} processes of the study do not start ({reason}): take fewer, by --workers"
            raise MbfmuError(message) from None
        yield client


def _settle(dask_worker: Any) -> None:
    """Leave Ctrl-C and the warning about compilers to the command, and keep files in the worker's own folder."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore", RuntimeWarning)
    tempfile.tempdir = dask_worker.local_directory  # it is removed even if the worker dies


def _rows(client: Any, study: Study, names: tuple[str, ...], todo: Sequence[Point]) -> Iterator[tuple[Point, Row]]:
    """Yield points with their rows as they are done; if a worker dies, its points are repeated one by one."""
    parts = (study.subject, study.measures, study.together)
    shared = client.submit(Study, *parts, pure=False)  # if its worker dies, Dask makes it anew
    suspects: list[Point] = []
    for points, outcome in _stream(client, shared, names, todo, alone=False):
        if isinstance(outcome, list):
            yield from zip(points, outcome, strict=True)
        else:
            suspects += points
    for (point,), outcome in _stream(client, shared, names, suspects, alone=True):
        if isinstance(outcome, list):
            yield point, outcome[0]
        else:
            text = f"the worker failed, {type(outcome).__name__}: {' '.join(str(outcome).split())}"
            yield point, Row(dict(zip(names, point, strict=True)), {}, text)


def _stream(
    client: Any, shared: Any, names: tuple[str, ...], todo: Sequence[Point], *, alone: bool
) -> Iterator[tuple[Sequence[Point], list[Row] | BaseException]]:
    """Yield the rows, or the error, of some points at a time; enough are under way to keep all threads busy, or one."""
    from distributed import as_completed

    waiting = iter(todo)
    under_way: dict[str, Sequence[Point]] = {}
    done = as_completed(loop=client.loop)
    size = 1

    def submit(count: int) -> None:
        for _ in range(count):
            points = list(itertools.islice(waiting, size))
            if points:
                values = [dict(zip(names, point, strict=True)) for point in points]
                future = client.submit(_task, shared, values, pure=False)
                under_way[future.key] = points
                done.add(future)

    threads, counted = sum(client.nthreads().values()), clock.monotonic()
    submit(1 if alone else AHEAD * max(1, threads))
    for future in done:
        if clock.monotonic() - counted > SAVING:  # workers come and go
            threads, counted = sum(client.nthreads().values()), clock.monotonic()
        if future.cancelled():
            raise MbfmuError(LOST)
        points, error = under_way.pop(future.key), future.exception()
        if error is None:
            rows, seconds = future.result()
            size = 1 if alone else max(1, min(2 * size, int(TASK * len(rows) / max(seconds, 1e-6))))
            yield points, rows
        else:
            yield points, error
        submit((1 if alone else AHEAD * max(1, threads)) - len(under_way))


def _task(study: Study, values: Sequence[Mapping[str, float]]) -> tuple[list[Row], float]:
    """Return the rows of some runs, and the time they took, s."""
    begin = clock.perf_counter()
    rows = study.rows(values)
    return rows, clock.perf_counter() - begin

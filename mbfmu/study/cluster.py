"""Cluster: the runs of a study on Dask, in processes of this machine or on a cluster; no row is lost."""

import itertools
import time as clock
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from mbfmu.errors import MbfmuError, UsageError
from mbfmu.simulation import Progress
from mbfmu.study.points import Point
from mbfmu.study.subjects import Study
from mbfmu.study.table import Row, Table

SAVING = 2.0
"""Seconds between two versions of the file; long tables are written less often."""
WAITING = 60
"""Seconds a cluster has to show a worker."""
AHEAD = 3
"""Rows under way for each thread of the workers."""


def run(
    study: Study,
    names: tuple[str, ...],
    todo: Sequence[Point],
    found: Mapping[Point, Row],
    table: Table | None,
    scheduler: str | None,
    workers: int | None,
    report: Progress,
) -> dict[Point, Row]:
    """Return the rows of all points, those found already and those made now, which go to the file as they come in.

    Args:
        study: what is run and measured.
        names: of what is varied.
        todo: the points, each once.
        found: rows that are there already.
        table: the file, if there is one.
        scheduler: address of a Dask scheduler; None: processes on this machine.
        workers: how many; None: one a core.
        report: is told the fraction done.

    Raises:
        UsageError: the cluster is not there.
        MbfmuError: it goes away, or the file cannot be written.
    """
    rows = dict(found)
    left = [point for point in todo if point not in rows]

    def save() -> None:
        if table:
            others = [row for point, row in rows.items() if point not in places]
            table.write([*(rows[point] for point in todo if point in rows), *others])

    places = set(todo)
    if not left:
        report(1.0)
        return rows
    with _client(scheduler, workers, len(left)) as client:
        save()  # a file that cannot be written is known before hours of work
        saved, cost = clock.monotonic(), 0.0
        try:
            for number, (point, row) in enumerate(_rows(client, study, names, left), 1):
                rows[point] = row
                report(1 - (len(left) - number) / len(todo))
                if clock.monotonic() - saved > max(SAVING, 20 * cost):
                    begin = clock.monotonic()
                    save()
                    saved = clock.monotonic()
                    cost = saved - begin
        finally:
            save()
    return rows


@contextmanager
def _client(scheduler: str | None, workers: int | None, most: int) -> Iterator[Any]:
    """Connect to a cluster, or start one of local processes."""
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
        distributed.LocalCluster(
            n_workers=count, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs="CRITICAL"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _rows(client: Any, study: Study, names: tuple[str, ...], todo: Sequence[Point]) -> Iterator[tuple[Point, Row]]:
    """Yield points with their rows as they come in; a point in whose company workers died is tried again alone."""
    from distributed.scheduler import KilledWorker

    shared = client.submit(Study, study._subject, study._measures, pure=False)  # if its worker dies, Dask makes it anew
    suspects: list[Point] = []
    for point, row in _stream(client, shared, names, todo, None):
        if isinstance(row, KilledWorker):
            suspects.append(point)
        else:
            yield point, _as_row(names, point, row)
    for point, row in _stream(client, shared, names, suspects, 1):
        yield point, _as_row(names, point, row)


def _stream(
    client: Any, shared: Any, names: tuple[str, ...], todo: Sequence[Point], window: int | None
) -> Iterator[tuple[Point, Row | BaseException]]:
    """Yield what comes of each point, with so many under way that no thread waits, and no more."""
    from distributed import as_completed

    waiting = iter(todo)
    under_way: dict[str, Point] = {}
    done = as_completed(loop=client.loop)

    def submit(count: int) -> None:
        for point in itertools.islice(waiting, count):
            future = client.submit(_row, shared, dict(zip(names, point, strict=True)), pure=False)
            under_way[future.key] = point
            done.add(future)

    threads, asked = sum(client.nthreads().values()), clock.monotonic()
    submit(window or AHEAD * max(1, threads))
    for future in done:
        if clock.monotonic() - asked > SAVING:  # workers come and go
            threads, asked = sum(client.nthreads().values()), clock.monotonic()
        if future.cancelled():
            raise MbfmuError(
                "the connection to the Dask scheduler was lost; the same command goes on from what is done"
            )
        yield under_way.pop(future.key), future.exception() or future.result()
        submit((window or AHEAD * max(1, threads)) - len(under_way))


def _row(study: Study, values: Mapping[str, float]) -> Row:
    return study.row(values)


def _as_row(names: tuple[str, ...], point: Point, row: Row | BaseException) -> Row:
    if isinstance(row, Row):
        return row
    text = f"the worker failed, {type(row).__name__}: {' '.join(str(row).split())}"
    return Row(dict(zip(names, point, strict=True)), {}, text)

"""python -m benchmarks.distributed [--runs N] [--workers N]: a study of a native FMU on a Dask cluster of processes.

Four studies of the same random points: whole; with a worker killed when a third is done; interrupted at half; and the
same command again. The columns are runs made, time (s), runs a second, processor time of a worker for each run (ms),
of the client and scheduler for each run and for each task (ms), runs of a task, and memory of the largest worker with
the process of its FMU (MB). The last lines are what more workers would do: as many times the runs of one, until client
and scheduler, one process here, are busy all the time.
"""

import argparse
import os
import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import distributed

import mbfmu
from benchmarks.conditions import conditions
from benchmarks.table import markdown

COLUMNS = (
    "study", "runs", "s", "runs a second", "ms of a worker a run", "ms of the scheduler a run", "a task",
    "runs of a task", "MB of a worker",
)  # fmt: skip
STUDY: dict[str, Any] = {
    "stop": 1.0,
    "measures": {"top": "max(elbow.phi)", "drift": "ptp(energy.total)"},
    "distributions": {"l1": "uniform(0.8,1.2)", "m2": "normal(1,0.05)", "elbow.phi": "uniform(-1,1)"},
    "seed": 1,
}
MORE = (4, 16, 100, 1000)
"""Numbers of workers whose rate is extrapolated."""


class Counted(distributed.SchedulerPlugin):  # type: ignore[misc]  # Dask has no types
    """The number of tasks that were done."""

    def __init__(self) -> None:
        self.tasks = 0

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        """Count a task that has its result."""
        self.tasks += finish == "memory" and start == "processing"


def family(pid: int) -> list[Path]:
    """Return the folders in /proc of a process and those that it started."""
    started = [
        int(item) for tasks in Path(f"/proc/{pid}/task").glob("*/children") for item in tasks.read_text().split()
    ]
    return [Path(f"/proc/{pid}"), *(folder for child in started for folder in family(child))]


def spent(pids: list[int]) -> float:
    """Return processor time of processes and those that they started, s."""
    fields = [(folder / "stat").read_text().rpartition(")")[2].split() for pid in pids for folder in family(pid)]
    return sum(map(int, (item for row in fields for item in row[11:15]))) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> float:
    """Return the memory of a process and those that it started, MB; shared pages count for each."""
    pages = sum(int((folder / "statm").read_text().split()[1]) for folder in family(pid))
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def measured(name: str, client: Any, counted: Counted, study: Callable[[], int]) -> list[Any]:
    """Run a study, and return its row."""
    pids = list(client.run(os.getpid).values())
    before, own, wall, tasks = spent(pids), time.process_time(), time.perf_counter(), counted.tasks
    runs = study()
    seconds, own = time.perf_counter() - wall, time.process_time() - own
    after = list(client.run(os.getpid).values())
    cost = (spent(after) - before) / runs if after == pids else float("nan")  # a worker that died took its times along
    tasks = counted.tasks - tasks
    return [
        name, runs, seconds, runs / seconds, 1e3 * cost, 1e3 * own / runs, 1e3 * own / tasks, runs / tasks,
        max(map(memory, after)),
    ]  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=4)
    chosen = parser.parse_args()
    print(conditions(), end="\n\n")
    with (
        tempfile.TemporaryDirectory() as name,
        distributed.LocalCluster(
            n_workers=chosen.workers, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        folder = Path(name)
        fmu = mbfmu.export("two_link", folder / "two_link.fmu", backend="native")
        counted = Counted()
        cluster.scheduler.add_plugin(counted)

        def study(output: str, runs: int = chosen.runs, progress: Any = None) -> list[Any]:
            return mbfmu.sweep(
                fmu,
                sample=runs,
                scheduler=cluster.scheduler_address,
                output=folder / output,
                progress=progress,
                **STUDY,
            )

        study("warm.csv", 4 * chosen.workers)
        whole: list[Any] = []

        def first() -> int:
            whole.extend(study("whole.csv"))
            return len(whole)

        def killed() -> int:
            victims = list(client.run(os.getpid).values())[:1]

            def progress(fraction: float) -> None:
                if victims and fraction > 1 / 3:
                    os.kill(victims.pop(), signal.SIGKILL)

            rows = study("killed.csv", progress=progress)
            assert not victims
            assert [row.measures for row in rows] == [row.measures for row in whole]
            return len(rows)

        def half() -> int:
            def progress(fraction: float) -> None:
                if fraction > 1 / 2:
                    raise KeyboardInterrupt

            with suppress(KeyboardInterrupt):
                study("half.csv", progress=progress)
            return len((folder / "half.csv").read_text().splitlines()) - 1

        def again() -> int:
            kept = len((folder / "half.csv").read_text().splitlines()) - 1
            rows = study("half.csv")
            assert [row.measures for row in rows] == [row.measures for row in whole]
            return len(rows) - kept

        studies = {
            "whole": first, "a worker killed at a third": killed, "interrupted at half": half, "the rest": again
        }  # fmt: skip
        rows = []
        for label, run in studies.items():
            rows.append(measured(label, client, counted, run))
            cells = [f"{item:.3g}" if isinstance(item, float) else str(item) for item in rows[-1]]
            print("\n".join(markdown(COLUMNS, [cells])[0 if label == "whole" else 2 :]), flush=True)
        assert not any(row.failure for row in whole)
    worker, scheduler = rows[0][4:6]
    print()
    for count in MORE:
        busy = 1e3 * count / worker
        print(f"{count} workers on cores of their own: {min(busy, 1e3 / scheduler):.0f} runs a second of {busy:.0f}")


if __name__ == "__main__":
    main()

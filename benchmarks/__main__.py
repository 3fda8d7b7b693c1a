"""python -m benchmarks: mbfmu and its peers on the same tasks, with the time of a step and the true error.

Every case is run with given steps and, where a task has targets, with the longest step that reaches each of them. Runs
are interleaved and repeated; the median is shown with the spread (largest over smallest). Errors are against references
of more digits than double precision holds; peers that are not installed are named.
"""

import argparse
import sys
from pathlib import Path

from benchmarks import fmus, ours, peers
from benchmarks.conditions import conditions
from benchmarks.measure import Job, Row, measure, reaching
from benchmarks.table import check_suffix, comparison, show, write
from benchmarks.task import Task
from benchmarks.tasks import TASKS

REPEATS = 7
FMUS = "fmus"
"""The task that measures FMUs instead of kernels."""


def jobs(task: Task, names: list[str]) -> list[Job]:
    """Return what is to be measured on a task, with the peers of some names."""
    if task.name == "steppers":
        return [Job(case, h) for case in ours.every_stepper(task) for h in task.steps]
    task = ours.with_truth(task)
    found: list[Job] = []
    for case in (*ours.cases(task), *peers.cases(task, names)):
        if not case.adaptive:
            found += [Job(case, h) for h in task.steps if h >= case.finest]
        found += reaching(case, task.targets)
    return found


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--task", choices=[*TASKS, FMUS], nargs="+", action="extend", help="only these")
    parser.add_argument("--peers", nargs="*", choices=peers.PEERS, help="the peers too: those named, or all")
    parser.add_argument("--repeats", type=int, default=REPEATS, help=f"of each measurement (default {REPEATS})")
    parser.add_argument(
        "-o", dest="outputs", metavar="TABLE", type=Path, nargs="+", default=[], help="write .csv, .md or .png too"
    )
    chosen = parser.parse_args()
    names: list[str] = []
    if chosen.peers is not None:
        names, absent = peers.present(chosen.peers or peers.PEERS)
        for name, reason in absent.items():
            print(f"absent: {name} ({reason})", file=sys.stderr)
    for path in chosen.outputs:
        check_suffix(path)
    print(conditions())
    rows: list[Row] = []
    for name in chosen.task or [*(name for name in TASKS if name != "steppers"), FMUS]:
        for task in TASKS[name]() if name != FMUS else ():
            print(f"{task.name}: looking for steps", file=sys.stderr)
            rows += measure(jobs(task, names), chosen.repeats)
    if rows:
        show(rows)
    for line in comparison(rows):
        print(line)
    if not chosen.task or FMUS in chosen.task:
        print(*fmus.report(), sep="\n")
    for path in chosen.outputs:
        write(rows, path)


if __name__ == "__main__":
    main()

"""python -m benchmarks.contacts: the time to an error where something touches, mbfmu beside the peers.

Every scheme is run with steps from long to short by a factor of 2, until a run takes too long; a step counts for an
error if it and the next one reach it. Times are those of the processor, medians of repeats.
"""

import argparse
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks import ours, peers
from benchmarks.case import Case, End
from benchmarks.conditions import conditions
from benchmarks.measure import ENOUGH
from benchmarks.table import markdown
from benchmarks.targets import OURS
from benchmarks.task import Task
from benchmarks.tasks import TASKS

NAMES = tuple(name for name in TASKS if any(task.touching for task in TASKS[name]()))
LONGEST = 0.5
"""Seconds of a run after which no finer step is tried."""
COARSEST = 8
"""Fewest steps that are tried."""
ASKED = 10.0
"""How many times faster than each peer mbfmu is to be."""


@dataclass(frozen=True)
class Swept:
    """What a scheme does with all steps.

    Args:
        case: who solves what.
        runs: steps, s, and ends, from long to short.
    """

    case: Case
    runs: tuple[tuple[float, End], ...]

    def reaching(self, error: float) -> tuple[float, End] | None:
        """Return the longest step that, with the next one, reaches an error, and its end."""
        for (h, end), (_, after) in zip(self.runs, (*self.runs[1:], self.runs[-1]), strict=True):
            if max(end.error, after.error) <= error:
                return h, end
        return None

    @property
    def best(self) -> End:
        """The run with the least error."""
        return min((end for _, end in self.runs), key=lambda end: end.error)


@dataclass(frozen=True)
class Best:
    """The least time of an engine to an error.

    Args:
        swept: the scheme.
        h: step, s.
        end: how it went.
        ms: processor's time, milliseconds.
    """

    swept: Swept
    h: float
    end: End
    ms: float


def swept(case: Case) -> Swept:
    """Run a case with all steps."""
    runs = []
    for k in range(40):
        h = case.task.stop / (COARSEST * 2**k)
        end = case.run(h)
        runs.append((h, end))
        if h < case.finest or not end.seconds < LONGEST or (end.error < 1e-11 and len(runs) > 3):
            break
    return Swept(case, tuple(runs))


def best(found: Sequence[Swept], error: float, repeats: int) -> Best | None:
    """Return the least time of some schemes to an error, measured again; None: it is not reached."""
    reached = [(item, *step) for item in found if (step := item.reaching(error))]
    if not reached:
        return None
    measured = []
    for item, h, end in sorted(reached, key=lambda one: one[2].seconds)[:2]:
        inner = max(1, round(ENOUGH / max(end.seconds, 1e-6)))
        times = [
            statistics.fmean(item.case.run(h).seconds for _ in range(inner))
            for _ in range(repeats if end.seconds < LONGEST / 3 else 1)
        ]
        measured.append(Best(item, h, end, statistics.median(times) * 1e3))
    return min(measured, key=lambda one: one.ms)


def lines(task: Task, names: Sequence[str], repeats: int) -> Iterator[list[str]]:
    """Return the lines of a task, one for each engine and error, mbfmu first."""
    found: dict[str, list[Swept]] = {}
    for case in (*ours.cases(task), *peers.cases(task, names)):
        found.setdefault(case.engine, []).append(swept(case))
    for error in task.targets:
        fastest = {engine: best(items, error, repeats) for engine, items in found.items()}
        mine = fastest[OURS]
        for engine, one in fastest.items():
            yield line(task, error, engine, found[engine], one, mine)


def line(task: Task, error: float, engine: str, found: Sequence[Swept], one: Best | None, mine: Best | None) -> list[str]:
    """Return the line of an engine and an error."""
    if one is None:
        most = min(found, key=lambda item: item.best.error)
        least = f"not reached: {most.best.error:.1e} in {most.best.seconds * 1e3:.3g} ms"
        return [task.name, f"{error:g}", engine, least, most.case.scheme, "", f"{most.best.phi:.1e}", ""]
    times = f"{one.ms / mine.ms:.1f}" if mine and engine != OURS else ""
    return [
        task.name, f"{error:g}", engine, f"{one.ms:.3g}", one.swept.case.scheme, f"{one.h:.2g}", f"{one.end.phi:.1e}",
        times,
    ]  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.contacts", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--task", choices=NAMES, nargs="+", default=NAMES, help="only these")
    parser.add_argument("--peers", nargs="*", choices=peers.TOUCHING, default=peers.TOUCHING, help="only these")
    parser.add_argument("--repeats", type=int, default=5, help="of each measurement (default 5)")
    chosen = parser.parse_args()
    names, absent = peers.present(chosen.peers)
    for name, reason in absent.items():
        print(f"absent: {name} ({reason})", file=sys.stderr)
    print(conditions(), "", sep="\n")
    for row in markdown(["task", "error", "engine", "ms", "scheme", "h", "penetration", "times mbfmu's"], []):
        print(row)
    for name in chosen.task:
        for task in TASKS[name]():
            for cells in lines(task, names, chosen.repeats):
                print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()

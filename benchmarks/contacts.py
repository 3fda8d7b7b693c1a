"""python -m benchmarks.contacts: the time to an error where something touches, mbfmu beside the peers.

Every scheme is run with steps from long to short by a factor of 2, until a run takes too long; a step counts for an
error if it and the next one reach it. Times are those of the processor, medians of repeats.
"""

import argparse
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt

from benchmarks import ours, peers
from benchmarks.case import Case, End
from benchmarks.conditions import conditions
from benchmarks.measure import ENOUGH
from benchmarks.table import markdown
from benchmarks.targets import OURS
from benchmarks.task import Task
from benchmarks.tasks import TOUCHING

LONGEST = 0.5
"""Seconds of a run after which no finer step is tried, unless told."""
COARSEST = 8
"""Fewest steps that are tried."""
STEP, WATCHED = 1e-3, 12
"""Step of the runs whose penetration is shown, s, and how many steps after the first impact it is looked at."""


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


def swept(case: Case, longest: float) -> Swept:
    """Run a case with all steps until a run takes longer than `longest`, s."""
    runs = []
    for k in range(40):
        h = case.task.stop / (COARSEST * 2**k)
        end = case.run(h)
        runs.append((h, end))
        if h < case.finest or not end.seconds < longest or (end.error < 1e-11 and len(runs) > 3):
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


def lines(task: Task, names: Sequence[str], repeats: int, longest: float) -> Iterator[list[str]]:
    """Return the lines of a task, one for each engine and error, mbfmu first."""
    found: dict[str, list[Swept]] = {}
    for case in all_cases(task, names):
        found.setdefault(case.engine, []).append(swept(case, longest))
    for error in task.targets:
        fastest = {engine: best(items, error, repeats) for engine, items in found.items()}
        mine = fastest[OURS]
        for engine, one in fastest.items():
            yield line(task, error, engine, found[engine], one, mine)


def depths(names: Sequence[str]) -> Iterator[list[str]]:
    """Return the lines of the deepest penetrations, each engine with the scheme that has the least error at STEP."""
    for name, height in (("bouncing_ball", "h"), ("thrown_puck", "height")):
        (task,) = TOUCHING[name]()
        errors: dict[str, list[tuple[float, str]]] = {}
        for case in all_cases(task, names):
            errors.setdefault(case.engine, []).append((case.run(STEP).error, case.scheme))
        chosen = {engine: min(items) for engine, items in errors.items()}
        depth, rest = dict.fromkeys(chosen, 0.0), dict.fromkeys(chosen, 0.0)
        lands = sqrt(2 * task.values[height] / 9.81)
        for t in (*(lands + k * STEP for k in range(1, WATCHED + 1)), task.stop):
            for case in all_cases(replace(task, stop=t), names):
                if case.scheme == chosen[case.engine][1]:
                    rest[case.engine] = case.run(STEP).phi
                    depth[case.engine] = max(depth[case.engine], rest[case.engine])
        for engine, (error, scheme) in chosen.items():
            yield [name, engine, scheme, f"{error:.1e}", f"{depth[engine]:.1e}", f"{rest[engine]:.1e}"]


def all_cases(task: Task, names: Sequence[str]) -> Iterator[Case]:
    """Return mbfmu's cases and the peers'."""
    yield from ours.cases(task)
    yield from peers.cases(task, names)


def line(
    task: Task, error: float, engine: str, found: Sequence[Swept], one: Best | None, mine: Best | None
) -> list[str]:
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
    described = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.contacts", description=described)
    parser.add_argument("--task", choices=TOUCHING, nargs="+", default=tuple(TOUCHING), help="only these")
    parser.add_argument("--peers", nargs="*", choices=peers.TOUCHING, default=peers.TOUCHING, help="only these")
    parser.add_argument("--depths", action="store_true", help="how deep things sink in, instead of times")
    parser.add_argument("--repeats", type=int, default=5, help="of each measurement (default 5)")
    parser.add_argument("--longest", type=float, default=LONGEST, help=f"seconds of a run (default {LONGEST:g})")
    chosen = parser.parse_args()
    names, absent = peers.present(chosen.peers)
    for name, reason in absent.items():
        print(f"absent: {name} ({reason})", file=sys.stderr)
    print(conditions(), "", sep="\n")
    if chosen.depths:
        for row in markdown(["task", "engine", "scheme", "error", "deepest, m", "at the end, m"], depths(names)):
            print(row)
        return
    for row in markdown(["task", "error", "engine", "ms", "scheme", "h", "penetration", "times mbfmu's"], []):
        print(row)
    for name in chosen.task:
        for task in TOUCHING[name]():
            for cells in lines(task, names, chosen.repeats, chosen.longest):
                print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()

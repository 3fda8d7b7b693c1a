"""python -m benchmarks: every stepper on every task, with the time of one step and the true error.

Runs are interleaved and repeated; the median is shown with the spread (largest over smallest). Errors are against
references of more digits than double precision holds.
"""

import argparse
import csv
import json
import statistics
import sys
import time
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

import mbfmu
from mbfmu.fmu.prepare import Prepared, prepare
from mbfmu.kernel import Interpreted, compiled_library, describe, vector
from mbfmu.kernel.runtime import OK, Compiled

REFERENCES = Path(__file__).parents[1] / "tests" / "references"
REPEATS = 7


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Args:
        task: the problem.
        engine: who ran it.
        scheme: the stepper with its options.
        coordinates: absolute or joint.
        h: step, s.
        steps: number of steps.
        us_per_step: median wall time of one step, microseconds.
        ms: median wall time of the whole run, milliseconds.
        error: largest error of the joint angles at the end, rad.
        phi: residual of the position constraints at the end.
        phidot: residual of the velocity constraints at the end.
        energy: error of the energy at the end, J.
        spread: largest over smallest time of the repeats.
    """

    task: str
    engine: str
    scheme: str
    coordinates: str
    h: float
    steps: int
    us_per_step: float
    ms: float
    error: float
    phi: float
    phidot: float
    energy: float
    spread: float


@dataclass(frozen=True)
class Case:
    """A stepper on two_link over 2 s.

    Args:
        prepared: model and stepper.
        kernel: who runs it.
        h: step, s.
    """

    prepared: Prepared
    kernel: Compiled | Interpreted
    h: float

    def once(self) -> tuple[float, dict[str, float]]:
        """Run 2 s in one kernel call; return its wall time (s) and the outputs at the end."""
        dae = self.prepared.dae
        p, u = vector(dae.p_default()), vector([0.0, 0.0])
        x, _ = self.kernel.initialize(vector(dae.s_default()), u, p, 0.0, self.h)
        begin = time.perf_counter()
        x, status = self.kernel.advance(x, u, u, p, 0.0, self.h, self.steps)
        seconds = time.perf_counter() - begin
        if status.code != OK:
            raise SystemExit(status.message(dae.name))
        y = self.kernel.outputs(x, u, p, 2.0)
        return seconds, {item.name: value for item, value in zip(dae.outputs, y, strict=False)}

    @property
    def steps(self) -> int:
        """Number of steps in 2 s."""
        return round(2.0 / self.h)


SCHEMES = tuple((family.name, options) for family in mbfmu.steppers() for options in family.variants())


def two_link() -> list[tuple[str, Case]]:
    """Return all steppers, compiled and interpreted, at h = 1 ms and 10 ms."""
    cases: list[tuple[str, Case]] = []
    for name, options in SCHEMES:
        prepared = prepare(mbfmu.load("two_link"), name, options, 1e-3)
        library = compiled_library(prepared.bundle)
        kernels: dict[str, Compiled | Interpreted] = {"mbfmu": Compiled(str(library))} if library else {}
        kernels["mbfmu interpreted"] = Interpreted(describe(prepared.bundle))
        for engine, kernel in kernels.items():
            cases += [(engine, Case(prepared, kernel, h)) for h in (1e-3, 1e-2)]
    return cases


TASKS = {"two_link": two_link}


def measure(task: str) -> list[Row]:
    """Return the rows of a task, repeats interleaved."""
    cases = TASKS[task]()
    reference = json.loads((REFERENCES / f"{task}.json").read_text(encoding="utf-8"))
    exact = {name: float(reference[name][-1]) for name in ("shoulder.phi", "elbow.phi")}
    times: list[list[float]] = [[] for _ in cases]
    ends: list[dict[str, float]] = [{} for _ in cases]
    for _ in track(range(REPEATS), task, console=Console(stderr=True), disable=not sys.stderr.isatty()):
        for number, (_, case) in enumerate(cases):
            seconds, ends[number] = case.once()
            times[number].append(seconds)
    rows = []
    for (engine, case), spent, end in zip(cases, times, ends, strict=True):
        median = statistics.median(spent)
        rows.append(
            Row(
                task, engine, case.prepared.stepper, "absolute", case.h, case.steps,
                median / case.steps * 1e6, median * 1e3,
                max(abs(end[name] - value) for name, value in exact.items()),
                end["constraint.position"], end["constraint.velocity"], abs(end["energy.total"]),
                max(spent) / min(spent),
            )
        )  # fmt: skip
    return rows


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--task", choices=sorted(TASKS), action="append", help="only this one; may be repeated")
    parser.add_argument("-o", dest="output", metavar="TABLE.csv", type=Path, help="also write the rows as CSV")
    chosen = parser.parse_args()
    rows = [row for task in chosen.task or sorted(TASKS) for row in measure(task)]
    table = Table(title="one thread, medians; error of the joint angles at the end", title_justify="left")
    names = [item.name for item in fields(Row)]
    for name in names:
        table.add_column(name, justify="left" if name in {"task", "engine", "scheme", "coordinates"} else "right")
    for row in rows:
        table.add_row(*(f"{value:.3g}" if isinstance(value, float) else str(value) for value in astuple(row)))
    Console(width=None if sys.stdout.isatty() else 160).print(table)
    if chosen.output:
        with open(chosen.output, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(names)
            writer.writerows(astuple(row) for row in rows)


main()

"""python -m benchmarks.iftomm: the five problems A01 to A05 of the IFToMM library of multibody benchmarks.

The library lists submissions by accuracy and processor time (https://www.iftomm-multibody.org/benchmark). Accuracy is
the largest error of the energy at the output points, of A05, which damps, that of the slider's height against a run
with a tenth of the step. The time is that of the steps from the start to the end, the least of some runs. Beside it is
what OpenSim 3.2 publishes of itself on an Intel Core i5-4570
(https://github.com/RehabEngGroup/MBSbenchmarksInOpenSim). With -o, a text file for each problem has the columns that
a submission asks for.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import mbfmu
from benchmarks.conditions import conditions
from benchmarks.judge import Array
from benchmarks.table import markdown
from mbfmu.errors import StepError
from mbfmu.kernel import vector
from mbfmu.kernel.runtime import OK, move
from mbfmu.prepared.prepare import Prepared, prepare

REPEATS = 20
FINER = 10
"""How many steps of the reference of A05 make one of the run."""
ENERGY = "energy.total"


@dataclass(frozen=True)
class Problem:
    """A problem and how it is solved.

    Args:
        name: in the library.
        model: its name here.
        columns: what a submission lists besides the time.
        stepper: and its options.
        step: s.
        stop: s.
        interval: s, of the output points.
        opensim: processor time that OpenSim's authors publish, ms.
        options: of the stepper.
        conserves: its energy is constant.
    """

    name: str
    model: str
    columns: tuple[str, ...]
    stepper: str
    step: float
    stop: float
    interval: float
    opensim: float
    options: Mapping[str, Any] = field(default_factory=dict)
    conserves: bool = True


PROBLEMS = (
    Problem("A01", "pendulum", ("x", "y"), "projected", 1e-2, 10.0, 1e-2, 637.0, {"order": 5}),
    Problem("A02", "n_four_bar", ("b0.r_0[1]", "b0.r_0[2]"), "projected", 1e-2, 10.0, 1e-2, 455.0, {"order": 5}),
    Problem("A03", "andrews", ("beta.phi",), "projected", 1e-4, 0.05, 1e-3, 384.0, {"order": 7}),
    Problem("A04", "bricard", ("p2.r[1]", "p2.r[2]", "p2.r[3]"), "projected", 1e-2, 10.0, 1e-2, 258.0, {"order": 5}),
    Problem("A05", "flyball_governor", ("slider.s",), "radau", 5e-3, 10.0, 1e-2, 233.0, {"stages": 3}, False),
)


def prepared(problem: Problem, step: float) -> Prepared:
    """Return a problem with its compiled kernel."""
    return prepare(mbfmu.load(problem.model), problem.stepper, dict(problem.options), step)


def course(problem: Problem, ready: Prepared) -> Array:
    """Return time, energy and columns at the output points, shape (number of points, 2 + number of columns)."""
    outline, kernel = ready.outline, ready.kernel
    p, u = vector(outline.p_default()), vector(outline.u_default())
    names = [item.name for item in outline.outputs]
    x, rows = ready.initial_state(), []
    for k in range(round(problem.stop / problem.interval) + 1):
        t = k * problem.interval
        values = dict(zip(names, kernel.outputs(x, u, p, t), strict=False))
        rows.append([t, values[ENERGY], *(values[name] for name in problem.columns)])
        x, status = move(kernel, x, u, u, p, t, problem.interval, ready.step, 0.0)
        if status.code != OK:
            raise StepError(f"{problem.name} stops at t = {t:g} s")
    return np.array(rows)


def least_time(problem: Problem, ready: Prepared, repeats: int) -> float:
    """Return the least processor time of the steps of some runs, s."""
    outline, start, times = ready.outline, ready.initial_state(), []
    p, u = vector(outline.p_default()), vector(outline.u_default())
    for _ in range(repeats):
        begin = time.process_time()
        move(ready.kernel, start, u, u, p, 0.0, problem.stop, ready.step, 0.0)
        times.append(time.process_time() - begin)
    return min(times)


def accuracy(problem: Problem, run: Array) -> float:
    """Return the accuracy of a run in the sense of the library: J, of A05 m."""
    if problem.conserves:
        return float(np.abs(run[:, 1] - run[0, 1]).max())
    exact = course(problem, prepared(problem, problem.step / FINER))
    return float(np.abs(run[:, 2:] - exact[:, 2:]).max())


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.iftomm", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=REPEATS, help=f"of each run (default {REPEATS})")
    parser.add_argument("-o", dest="folder", type=Path, help="write the results of each problem to this folder")
    chosen = parser.parse_args(arguments)
    print(conditions())
    lines = []
    for problem in PROBLEMS:
        ready = prepared(problem, problem.step)
        run, seconds = course(problem, ready), least_time(problem, ready, chosen.repeats)
        how = " ".join([problem.stepper, *(f"{name}={value}" for name, value in problem.options.items())])
        unit = "J" if problem.conserves else "m"
        lines.append(
            [
                problem.name, problem.model, f"{how}, {problem.step:g} s", f"{accuracy(problem, run):.1e} {unit}",
                f"{seconds * 1e3:.3g}", f"{problem.opensim:g}", f"{problem.opensim / seconds / 1e3:.0f}",
            ]
        )  # fmt: skip
        if chosen.folder:
            chosen.folder.mkdir(parents=True, exist_ok=True)
            kept = np.delete(run, 1, axis=1)
            header = "\t".join(["t", *problem.columns])
            np.savetxt(
                chosen.folder / f"{problem.name}.txt", kept, fmt="%.12e", delimiter="\t", header=header, comments=""
            )
    print(*markdown(("problem", "model", "method", "accuracy", "ms", "OpenSim, ms", "ratio"), lines), sep="\n")


if __name__ == "__main__":
    main()

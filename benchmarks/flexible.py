"""python -m benchmarks.flexible: the time to an error where bodies bend, mbfmu beside Exudyn.

A beam falls and bends far: beams in a row beside cables by absolute nodal coordinates (ANCF), against the end of
the inextensible beam. A bar swings with ten modes of its finite element model: mbfmu's modal body beside Exudyn's
floating frame of reference (FFRF), each against its own end with many steps. Every way is run with 10, 20, 40, ...
steps, and a number of steps counts for an error if it and the next one reach it. Times are those of the processor.
"""

import argparse
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from itertools import pairwise
from time import process_time
from typing import Any

import numpy as np

import mbfmu
from benchmarks.bending import FALL, MODES, SETS, SWING, Way, bar
from benchmarks.conditions import conditions
from benchmarks.judge import Array
from benchmarks.measure import ENOUGH
from benchmarks.table import markdown
from benchmarks.targets import OURS
from mbfmu.analysis.reduction import reduce
from mbfmu.kernel import vector
from mbfmu.model import ModalBody, Revolute, System, World, connect
from mbfmu.prepared.prepare import Prepared, prepare

TIP = np.array([-0.979444, -0.201679])
"""Tip of the inextensible beam after FALL, m: a Ritz method with 12 terms; with 10 and 14 it is within 3e-6
(tests/test_flexible_models.py, `ritz`)."""
ERRORS = {"falling": (1e-2, 1e-3, 1e-4), "swinging": (1e-2, 1e-3, 1e-4)}
"""Errors of the tip to be reached, m."""
SCHEMES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("generalized_alpha", {}), ("gauss", {"stages": 1}), ("gauss", {}), ("radau", {}), ("direct", {"method": "rk4"}),
)  # fmt: skip
"""mbfmu's steppers and their options."""
FEWEST, LONGEST, FINEST = 10, 0.2, 2_560
"""Fewest steps; seconds of a run after which no more steps are tried; steps of a run that stands for its limit."""


def falling() -> Iterator[Way]:
    """Return mbfmu's ways of the falling beam."""
    for number, modes in ((1, 3), (2, 2), (2, 3), (3, 2), (4, 2)):
        system = mbfmu.load("beam_pendulum", {"number": number, "modes": modes})
        tip = [f"beam{number}.frame_b.r_0[{k}]" for k in (1, 2)]
        yield from _ways(system, f"{number} x {modes} modes", FALL, tip)


def swinging() -> Iterator[Way]:
    """Return mbfmu's ways of the reduced bar, without displacements of second order, which the peer has not either."""
    system = System(
        name="bar",
        components=(
            World(), Revolute("hinge", n=(0.0, 0.0, 1.0), phi=0.0, w=0.0),
            ModalBody("bar", data=reduce(replace(bar(), second_order=None), SETS, MODES).data),
        ),
        connections=(connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", "bar.frame_a")),
    )  # fmt: skip
    yield from _ways(system, "modal body", SWING, [f"bar.tip.r_0[{k}]" for k in (1, 2, 3)])


def _ways(system: Any, label: str, stop: float, tip: Sequence[str]) -> Iterator[Way]:
    for stepper, options in SCHEMES:
        this = prepare(system, stepper, options, stop / FINEST, coordinates="joint")
        chosen = " ".join([stepper, *(f"{key}={value}" for key, value in options.items())])
        yield Way(OURS, f"{label}, {chosen}", partial(_run, this, stop, tip))


def _run(this: Prepared, stop: float, tip: Sequence[str], n: int) -> tuple[float, Array]:
    u, p, x = vector([]), vector(this.dae.p_default()), this.initial_state()
    begin = process_time()
    x, status = this.kernel.advance(x, u, u, p, 0.0, stop / n, n)
    seconds = process_time() - begin
    names = [item.name for item in this.dae.outputs]
    y = np.array(this.kernel.outputs(x, u, p, stop)) if status.code == 0 else np.full(len(names), np.nan)
    return seconds, y[[names.index(name) for name in tip]]


def least(way: Way, exact: Array | None, errors: Sequence[float]) -> dict[float, tuple[float, int]]:
    """Return the processor's time, ms, and the number of steps to each error that is reached.

    Args:
        way: whose.
        exact: where the tip is in the end; None: where it is with FINEST steps.
        errors: m.
    """
    if exact is None:
        exact = way.run(FINEST)[1]
    runs: list[tuple[int, float]] = []
    for k in range(20):
        n = FEWEST * 2**k
        seconds, tip = way.run(n)
        error = float(np.linalg.norm(tip - exact))
        runs.append((n, error if np.isfinite(error) else np.inf))
        if seconds > LONGEST:
            break
    found = {}
    for wanted in errors:
        reached = (n for (n, error), (_, next_) in pairwise(runs) if max(error, next_) <= wanted)
        if n := next(reached, None):
            found[wanted] = _ms(way, n), n
    return found


def _ms(way: Way, n: int) -> float:
    """Return the median of three times of a run, each the mean of some, in ms."""
    inner = max(1, round(ENOUGH / max(way.run(n)[0], 1e-6)))
    return statistics.median(statistics.fmean(way.run(n)[0] for _ in range(inner)) for _ in range(3)) * 1e3


def lines(task: str, every: Sequence[Way], exact: Array | None) -> Iterator[list[str]]:
    """Return the lines of a task: the fastest way of each engine to each error."""
    found = [(way, least(way, exact, ERRORS[task])) for way in every]
    for error in ERRORS[task]:
        mine = min((times[error][0] for way, times in found if way.engine == OURS and error in times), default=np.nan)
        for engine in dict.fromkeys(way.engine for way in every):
            reached = [(*times[error], way) for way, times in found if way.engine == engine and error in times]
            if not reached:
                yield [task, f"{error:g}", engine, "not reached", "", "", ""]
                continue
            ms, n, way = min(reached, key=lambda item: item[0])
            ratio = "" if engine == OURS else f"{ms / mine:.1f}"
            yield [task, f"{error:g}", engine, f"{ms:.3g}", way.scheme, str(n), ratio]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flexible", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--task", choices=tuple(ERRORS), nargs="+", default=tuple(ERRORS), help="only these")
    chosen = parser.parse_args()
    peer: Any = None
    try:
        peer = import_module("benchmarks.peers.exudyn_flexible")
    except ImportError as error:
        print(f"absent: exudyn ({error})", file=sys.stderr)
    print(conditions(), "", sep="\n")
    for row in markdown(["task", "error, m", "engine", "ms", "scheme", "steps", "times mbfmu's"], []):
        print(row)
    own: dict[str, tuple[Callable[[], Iterator[Way]], Array | None]] = {
        "falling": (falling, TIP), "swinging": (swinging, None)
    }  # fmt: skip
    for task in chosen.task:
        ways, exact = own[task]
        every = [*ways(), *(getattr(peer, task)() if peer else ())]
        for cells in lines(task, every, exact):
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()

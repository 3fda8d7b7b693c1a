"""python -m benchmarks.scale [--in-turn] [CASE...]: the first start and the steps of mechanisms of up to 1000 bodies.

A first start reads the model, derives its equations, writes and compiles its code and gives its first state, in a
process of its own with an empty cache; imports are not counted. Its kernel is one of tcc; the optimised one is there
later, counted from the beginning too. Memory is the largest of this process and of the compilers. A step is a call of
the optimised kernel for 1 ms, with its outputs, the median of some.
Chains and trees start with a turn in each joint: of one at rest, which falls at its bearing alone, the accelerations of
far links are subnormal numbers, for which processors take many times as long.
With --in-turn the steps of two cases are compared in one process, block by block in turn, as others on a machine slow
down what needs much memory more.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import sin
from time import perf_counter, process_time
from typing import Any

from benchmarks.conditions import conditions
from benchmarks.table import markdown

STEPS, H = 20, 1e-3
"""Steps that are timed, and their length, s."""
BLOCKS, WARMING = 150, 3
"""Number of blocks of `STEPS` steps of each of two cases in turn, and of the steps before each that are not timed."""
RATE = 0.1
"""Largest speed of a joint at the start of chains and trees, rad/s."""


@dataclass(frozen=True)
class Case:
    """A mechanism, and how it is taken.

    Args:
        name: name of the case.
        bodies: number of bodies that move.
        system: gives the model.
        coordinates: joint or absolute.
        stepper: name of the stepper.
        turning: whether each joint turns at the start.
        options: options of the stepper.
    """

    name: str
    bodies: int
    system: Callable[[], Any]
    coordinates: str
    stepper: str
    turning: bool = False
    options: tuple[tuple[str, str], ...] = ()

    @property
    def start(self) -> dict[str, float]:
        """The speeds of the joints at the start by name, rad/s, which differ from each other."""
        return {f"joint{i}.w": RATE * sin(i) for i in range(1, self.bodies + 1)} if self.turning else {}


def tree(N: int) -> Any:
    """Return a tree of N spatial links: two hang from each, on hinges about z and y in turn."""
    from mbfmu.model import BodyShape, Component, Connection, Revolute, System, World, connect

    components: list[Component] = [World(g=9.81)]
    connections: list[Connection] = []
    for i in range(1, N + 1):
        n = (0, 0, 1) if i.bit_length() % 2 else (0, 1, 0)
        phi = 0.4 if i % 2 else -0.4
        components += [
            Revolute(f"joint{i}", n=n, phi=phi, actuated=i == 1),
            BodyShape(f"link{i}", m=1.0, r=(1, 0, 0), r_CM=(0.5, 0, 0), I_11=0.002, I_22=0.08, I_33=0.08),
        ]
        parent = f"link{i // 2}.frame_b" if i > 1 else "world.frame_b"
        connections += [connect(parent, f"joint{i}.frame_a"), connect(f"joint{i}.frame_b", f"link{i}.frame_a")]
    return System(name="tree", components=tuple(components), connections=tuple(connections))


def loaded(name: str, values: dict[str, Any]) -> Any:
    """Return a model by its name."""
    import mbfmu

    return mbfmu.load(name, values)


def _cases() -> tuple[Case, ...]:
    simplified = "iteration", "simplified"

    def chain(N: int) -> Callable[[], Any]:
        return partial(loaded, "chain", {"N": N, "spatial": True})

    def loops(N: int) -> Callable[[], Any]:
        return partial(loaded, "n_four_bar", {"N": N})

    return (
        Case("arm6", 6, partial(loaded, "arm6", {}), "joint", "direct"),
        Case("arm6 rattle", 6, partial(loaded, "arm6", {}), "joint", "rattle"),
        Case("stewart radau", 13, partial(loaded, "stewart", {}), "joint", "radau"),
        Case("stewart_hydraulic rattle", 13, partial(loaded, "stewart_hydraulic", {}), "joint", "rattle"),
        Case("excavator_flexible radau", 7, partial(loaded, "excavator_flexible", {}), "joint", "radau"),
        *(Case(f"chain {N}", N, chain(N), "joint", "direct", True) for N in (128, 256, 1000)),
        *(Case(f"tree {N}", N, partial(tree, N), "joint", "direct", True) for N in (127, 1000)),
        *(Case(f"loops {N}", 2 * N + 1, loops(N), "joint", "projected") for N in (64, 500)),
        Case("loops 40 radau", 81, loops(40), "joint", "radau"),
        *(Case(f"chain {N} absolute", N, chain(N), "absolute", "rattle", True) for N in (32, 64, 128)),
        Case("chain 128 absolute simplified", 128, chain(128), "absolute", "rattle", True, (simplified,)),
    )


CASES = _cases()
"""The rows of the table."""


def simulation(case: Case, kind: Any) -> Any:
    """Return a simulation of a case, of the class `mbfmu.Simulation`, which takes long to import."""
    options = dict(case.options)
    return kind(
        case.system(), coordinates=case.coordinates, stepper=case.stepper, options=options, step=H, values=case.start
    )


def steps(running: Any, warming: int) -> float:
    """Return the median time of some steps, us, after some that do not count."""
    times = []
    for _ in range(warming + STEPS):
        before = perf_counter()
        running.step({}, H)
        times.append(perf_counter() - before)
    return statistics.median(times[warming:]) * 1e6


def block(running: Any, start: Any) -> float:
    """Return what `steps` finds; it begins at the start again if a step fails.

    Four-bars in a row get, after 0.7 s, to positions from which no motion goes on.
    """
    from mbfmu.errors import StepError

    try:
        return steps(running, WARMING)
    except StepError:
        running.restore(start)
        return steps(running, WARMING)


def in_turn(cases: Sequence[Case]) -> list[list[float]]:
    """Return the times of a step of two cases, us, and their ratio: the quartiles of blocks of steps in turn."""
    from mbfmu import Simulation

    running = [simulation(case, Simulation) for case in cases]
    for each in running:
        each.finish_compiling()
    starts = [each.state for each in running]
    found: list[list[float]] = [[], [], []]
    for _ in range(BLOCKS):
        for times, each, start in zip(found, running, starts, strict=False):
            times.append(block(each, start))
        found[2].append(found[1][-1] / found[0][-1])
    return [statistics.quantiles(values, n=4) for values in found]


def started(case: Case) -> dict[str, float]:
    """Return what a first start, an optimised kernel and a step of a case take, in this process: s, MB and us."""
    from mbfmu import Simulation

    begin, busy = perf_counter(), process_time()
    running = simulation(case, Simulation)
    first, used = perf_counter() - begin, process_time() - busy
    running.finish_compiling()
    optimised = perf_counter() - begin
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    memory = max(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, children.ru_maxrss) / 1e3
    compiling = children.ru_utime + children.ru_stime
    return {
        "first": first, "optimised": optimised, "deriving": used, "compiling": compiling, "memory": memory,
        "step": steps(running, 1),
    }  # fmt: skip


def measured(case: Case) -> dict[str, float]:
    """Return what `started` finds in a process of its own with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "XDG_CACHE_HOME": cache}
        command = [sys.executable, "-m", "benchmarks.scale", "--alone", case.name]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(run.stdout)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(case.name for case in CASES))
    parser.add_argument("--in-turn", action="store_true", help="compare the steps of two cases")
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    given = parser.parse_args()
    by_name = {case.name: case for case in CASES}
    if unknown := [name for name in given.cases if name not in by_name]:
        parser.error(f"there is no case '{unknown[0]}'; known: {', '.join(by_name)}")
    if given.alone:
        print(json.dumps(started(by_name[given.alone])))
        return
    if given.in_turn and len(given.cases) != 2:
        parser.error("--in-turn takes two cases")
    print(conditions())
    if given.in_turn:
        rows = in_turn([by_name[name] for name in given.cases])
        names = *(f"{name}, us" for name in given.cases), "ratio"
        lines = [[name, *(f"{value:.4g}" for value in row)] for name, row in zip(names, rows, strict=True)]
        print("\n".join(markdown(["a step", "first quartile", "median", "third quartile"], lines)))
        return
    lines = []
    for case in [by_name[name] for name in given.cases] or CASES:
        cost = measured(case)
        times = [f"{cost[key]:.2f}" for key in ("first", "optimised", "deriving", "compiling")]
        lines.append(
            [case.name, str(case.bodies), f"{case.stepper}, {case.coordinates}", *times, f"{cost['memory']:.0f}",
             f"{cost['step']:.4g}"]
        )  # fmt: skip
        print(*lines[-1], file=sys.stderr)
    head = [
        "mechanism",
        "bodies",
        "steps",
        "first start, s",
        "optimised, s",
        "deriving, CPU s",
        "compiling, CPU s",
        "MB",
        "step, us",
    ]
    print("\n".join(markdown(head, lines)))


if __name__ == "__main__":
    main()

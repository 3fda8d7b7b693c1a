"""python -m benchmarks.starts: what the start of a large model costs, in mbfmu and in programs that generate no code.

Each row is a process of its own. The start is processor time, s: of importing the program, building the model and all
that comes before the first step; mbfmu's with its compilers, from an empty cache and again. NumPy is loaded before the
others' clocks begin. A step is 1 ms. Memory is the peak of the process, with mbfmu loaded, or of a compiler, MB.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from benchmarks.conditions import conditions
from benchmarks.table import markdown

H = 1e-3
"""Step, s."""
STEPS = 200
"""Number of steps of which a step's time is taken."""
FREQUENCY = 0.3
"""Of the others' contacts, times the step."""
WHO = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
Start = Callable[[], float]
"""What builds a model, takes `STEPS` steps and returns their time, s."""


def ours(model: str) -> Start:
    """Return the start of a model of the library."""

    def started() -> float:
        import mbfmu
        from mbfmu.kernel import vector
        from mbfmu.prepared.prepare import prepare

        this = prepare(mbfmu.load(model), None, None, H)
        u, p, x = vector(this.outline.u_default()), vector(this.outline.p_default()), this.initial_state()
        begin = time.process_time()
        this.kernel.advance(x, u, u, p, 0.0, H, STEPS)
        return time.process_time() - begin

    return started


def piles(peer: str) -> Start:
    """Return the start of the heap of spheres of a peer."""
    from benchmarks.pile import heap

    task = replace(heap(20), stop=STEPS * H)

    def started() -> float:
        from importlib import import_module

        ways = list(import_module(f"benchmarks.peers.{peer}_pile").ways(task))
        return float(ways[-1].run(H, None))

    return started


def stewart(peer: str) -> Start:
    """Return the start of the Stewart platform of a peer."""
    import mbfmu
    from mbfmu.model import System

    system = mbfmu.load("stewart")
    assert isinstance(system, System)

    def started() -> float:
        from importlib import import_module

        return float(import_module(f"benchmarks.peers.{peer}_stewart").run(system, H, STEPS)[0])

    return started


def cables() -> Start:
    """Return Exudyn's start of a pendulum of eight ANCF cables."""
    from benchmarks.bending import FALL

    n = round(FALL / H)

    def started() -> float:
        from benchmarks.peers.exudyn_flexible import falling

        way = next(item for item in falling() if item.scheme.startswith("8"))
        return float(way.run(n)[0]) * STEPS / n

    return started


STARTS: dict[tuple[str, str], Callable[[], Start]] = {
    **{(model, "mbfmu"): partial(ours, model) for model in ("pile", "stewart", "flexible_pendulum")},
    **{("pile", peer): partial(piles, peer) for peer in ("mujoco", "exudyn", "drake")},
    **{("stewart", peer): partial(stewart, peer) for peer in ("mujoco", "drake")},
    ("flexible_pendulum", "exudyn"): cables,
}
"""By model and program; each imports what its clock leaves out."""


def one(model: str, program: str) -> dict[str, float]:
    """Return start, memory and step of a row, in this process."""
    start = STARTS[model, program]()
    begin = 0.0 if program == "mbfmu" else used()
    steps = start()
    memory = max(resource.getrusage(who).ru_maxrss for who in WHO) / 1024
    return {"start": used() - begin - steps, "memory": memory, "step": steps / STEPS * 1e6}


def used() -> float:
    """Return the processor time of this process and its compilers, s."""
    return sum(item.ru_utime + item.ru_stime for item in map(resource.getrusage, WHO))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.starts", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(one(*chosen.one)))
        return
    print(conditions())
    rows = []
    for model, program in sorted(STARTS):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "XDG_CACHE_HOME": folder}
            for state in ("empty cache", "again") if program == "mbfmu" else ("",):
                command = [sys.executable, "-m", "benchmarks.starts", "--one", model, program]
                done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
                found = json.loads(done.stdout.splitlines()[-1])
                name = f"{program}, {state}" if state else program
                rows.append([model, name, f"{found['start']:.2f}", f"{found['memory']:.0f}", f"{found['step']:.3g}"])
                print(*rows[-1], file=sys.stderr, flush=True)
    print(*markdown(("task", "by", "start, s", "memory, MB", "step, us"), rows), sep="\n")


if __name__ == "__main__":
    main()

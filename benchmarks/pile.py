"""python -m benchmarks.pile: what many contacts cost, mbfmu's `moreau` beside the peers.

Spheres fall into a box and come to rest in a heap (models/pile). Nobody knows where each of them ends: that depends on
every rounding. What is compared is whether the laws hold: how deep spheres and walls enter each other, what energy
appears from nowhere, and what is left of the complementarity conditions at rest. Every scheme is run with steps from
long to short by a factor of 2, until a run takes too long. Times are those of the processor, the least of repeats.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from time import process_time
from typing import Any, NamedTuple

import numpy as np

import mbfmu
from benchmarks import peers
from benchmarks.conditions import conditions
from benchmarks.judge import Array
from benchmarks.table import markdown
from benchmarks.targets import OURS
from mbfmu.errors import MbfmuError
from mbfmu.kernel import vector
from mbfmu.model import FreeMotion, System
from mbfmu.prepared.prepare import Prepared, prepare

COARSEST, FINEST = 4e-3, 2e-6
"""Steps between which all are tried, s."""
LONGEST = 1.0
"""Seconds of a run after which no finer step is tried, unless told."""
TARGETS = (1e-3, 1e-4, 1e-5)
"""Penetrations that are to be kept within in the least time, m."""
RESTING = 0.1
"""Part of the time, at its end, in which the residuals of the laws are taken."""
RESTS = 1e-2
"""Kinetic energy at the end up to which a heap rests, J; runs that end with more do not count."""
PUSHING = 1e-9
"""Normal force that counts as one, as a part of a sphere's weight."""


@dataclass(frozen=True)
class Heap:
    """What everybody builds: equal solid spheres in a box that is open above, with its floor at z = 0.

    Args:
        places: centres at the start, shape (N, 3), m; all are at rest.
        stop: s.
        radius: of a sphere, m.
        side: inner length of the box, m.
        m: mass of a sphere, kg.
        e: restitution.
        mu: coefficient of friction.
        g: gravity, along -z, m/s2.
    """

    places: Array
    stop: float = 1.0
    radius: float = 0.05
    side: float = 0.34
    m: float = 0.5
    e: float = 0.2
    mu: float = 0.3
    g: float = 9.81

    @property
    def inertia(self) -> float:
        """Of a sphere about its centre, kg m2."""
        return 0.4 * self.m * self.radius**2

    @property
    def walls(self) -> Array:
        """Planes: normals and what is subtracted from n r - radius to give a gap, shape (5, 4)."""
        half = -self.side / 2
        return np.array([(0, 0, 1, 0), (1, 0, 0, half), (-1, 0, 0, half), (0, 1, 0, half), (0, -1, 0, half)], float)


class Push(NamedTuple):
    """A contact in which a force acts.

    Args:
        gap: negative where it is entered, m.
        normal: size of the normal force, N.
        friction: tangential force, N.
        slip: tangential velocity on which it acts, in the same axes, m/s.
    """

    gap: float
    normal: float
    friction: Array
    slip: Array


class Seen(NamedTuple):
    """What is seen at the end of a step.

    Args:
        r: centres, shape (N, 3), m.
        v: their velocities, shape (N, 3), m/s.
        w: angular velocities, shape (N, 3), rad/s.
        pushes: contacts with forces; None: the engine does not tell them.
    """

    r: Array
    v: Array
    w: Array
    pushes: Sequence[Push] | None


Watch = Callable[[Seen], None]


@dataclass(frozen=True)
class Way:
    """Somebody's way to let the spheres fall.

    Args:
        engine: who runs it.
        scheme: the method with its options.
        run: takes a step in s and what sees every step's end, and returns the processor's time, s, NaN if it was given
            up; with None it runs in the engine's own loop.
    """

    engine: str
    scheme: str
    run: Callable[[float, Watch | None], float]


class Found(NamedTuple):
    """How a run went.

    Args:
        way: whose it was.
        h: step, s.
        seconds: processor's time.
        deepest: largest penetration at a step's end, m.
        gained: largest rise of the energy above what it was at an earlier step's end, J.
        moving: kinetic energy at the end, J.
        gap: largest size of a gap in which a force acts, m.
        excess: largest friction beyond the limit, N.
        undissipated: largest difference of the power of friction from the largest one possible, W.
    """

    way: Way
    h: float
    seconds: float
    deepest: float
    gained: float
    moving: float
    gap: float
    excess: float
    undissipated: float


def heap(N: int) -> Heap:
    """Return the heap of the model with N spheres."""
    system = mbfmu.load("pile", {"N": N})
    assert isinstance(system, System)
    return Heap(np.array([item.r_rel for item in system.components if isinstance(item, FreeMotion)], float))


@cache
def prepared(N: int) -> Prepared:
    """Return mbfmu's model, compiled."""
    return prepare(mbfmu.load("pile", {"N": N}), "moreau", {}, COARSEST)


def vectors(y: dict[str, float], N: int, name: str) -> Array:
    """Return the outputs of that name of all spheres, shape (N, 3)."""
    return np.array([[y[f"free{i}.{name}[{k}]"] for k in (1, 2, 3)] for i in range(1, N + 1)])


def steps(task: Heap, h: float) -> int:
    """Return how many equal steps of about h make the whole time."""
    return max(1, round(task.stop / h))


def ours(task: Heap) -> Way:
    """Return mbfmu's way."""
    N = len(task.places)
    this = prepared(N)
    names = [item.name for item in this.dae.outputs]
    contacts = [name.removesuffix(".f_n") for name in names if name.endswith(".f_n")]

    def run(h: float, watch: Watch | None) -> float:
        n = steps(task, h)
        h, x = task.stop / n, this.initial_state()
        u, p = vector([]), vector(this.dae.p_default())
        calls = ((0, n),) if watch is None else tuple((k, 1) for k in range(n))
        begin = process_time()
        for k, count in calls:
            x, status = this.kernel.advance(x, u, u, p, k * h, h, count)
            if status.code:
                return float("nan")
            if watch:
                watch(seen(x, (k + 1) * h))
        return process_time() - begin

    def seen(x: Any, t: float) -> Seen:
        y = dict(zip(names, this.kernel.outputs(x, vector([]), vector(this.dae.p_default()), t), strict=False))
        pushes = [
            Push(y[f"{name}.gap"], y[f"{name}.f_n"], pair(y, name, "f_t"), pair(y, name, "slip"))
            for name in contacts
            if y[f"{name}.f_n"]
        ]
        r, v, w = (vectors(y, N, name) for name in ("r_rel", "v_rel", "w_rel"))
        return Seen(r, v, w, pushes)

    return Way(OURS, "moreau", run)


def pair(y: dict[str, float], contact: str, name: str) -> Array:
    """Return a tangential vector of a contact."""
    return np.array([y[f"{contact}.{name}[{k}]"] for k in (1, 2)])


def push(task: Heap, r: Array, v: Array, w: Array, on: int, of: int, f: Array) -> Push:
    """Return a contact from the force that an engine tells.

    Args:
        task: the spheres.
        r: centres, shape (N, 3), m.
        v: their velocities, shape (N, 3), m/s.
        w: angular velocities, shape (N, 3), rad/s.
        on: number of the sphere on which the force acts.
        of: number of the sphere that exerts it, or -1 minus the number of the wall.
        f: force, shape (3,), N.
    """
    if of < 0:
        *n, offset = task.walls[-1 - of]
        normal = np.array(n)
        gap = normal @ r[on] - task.radius - offset
        rate = v[on] - task.radius * np.cross(w[on], normal)
    else:
        way = r[on] - r[of]
        normal = way / np.linalg.norm(way)
        gap = np.linalg.norm(way) - 2 * task.radius
        rate = v[on] - v[of] - task.radius * np.cross(w[on] + w[of], normal)
    size = float(normal @ f)
    return Push(float(gap), size, f - size * normal, rate - (normal @ rate) * normal)


def gaps(task: Heap, r: Array) -> Array:
    """Return all gaps, m."""
    walls = task.walls
    planes = r @ walls[:, :3].T - walls[:, 3] - task.radius
    i, j = np.triu_indices(len(r), 1)
    return np.concatenate([planes.ravel(), np.linalg.norm(r[i] - r[j], axis=1) - 2 * task.radius])


class Judge:
    """What sees every step of a run and keeps what is worst.

    Args:
        task: the spheres.
        count: number of steps.
    """

    def __init__(self, task: Heap, count: int) -> None:
        self.task = task
        self.left = count
        self.resting = RESTING * count
        self.least = task.m * task.g * float(task.places[:, 2].sum())
        self.deepest = self.gained = self.moving = 0.0
        self.gap = self.excess = self.undissipated = float("nan")

    def __call__(self, seen: Seen) -> None:
        task = self.task
        self.left -= 1
        self.deepest = max(self.deepest, -float(gaps(task, seen.r).min()))
        self.moving = float(task.m * (seen.v**2).sum() + task.inertia * (seen.w**2).sum()) / 2
        energy = self.moving + task.m * task.g * float(seen.r[:, 2].sum())
        self.gained = max(self.gained, energy - self.least)
        self.least = min(self.least, energy)
        if self.left > self.resting or seen.pushes is None:
            return
        if np.isnan(self.gap):
            self.gap = self.excess = self.undissipated = 0.0
        for item in seen.pushes:
            if item.normal < PUSHING * task.m * task.g:
                continue
            limit = task.mu * item.normal
            self.gap = max(self.gap, abs(item.gap))
            self.excess = max(self.excess, float(np.linalg.norm(item.friction)) - limit)
            lost = item.friction @ item.slip + limit * float(np.linalg.norm(item.slip))
            self.undissipated = max(self.undissipated, abs(float(lost)))


def found(task: Heap, way: Way, h: float, repeats: int) -> Found:
    """Run a way with a step, watched once and timed some times."""
    judge = Judge(task, steps(task, h))
    watched = way.run(h, judge)
    seconds = min(way.run(h, None) for _ in range(repeats)) if np.isfinite(watched) else np.nan
    if not np.isfinite([seconds, judge.deepest, judge.gained]).all():
        return Found(way, h, np.nan, *([np.inf] * 6))
    return Found(
        way, h, seconds, judge.deepest, judge.gained, judge.moving, judge.gap, judge.excess, judge.undissipated
    )


def runs(task: Heap, way: Way, longest: float, repeats: int) -> list[Found]:
    """Run a way with all steps until a run takes longer than `longest`, s."""
    made, h = [], COARSEST
    while h > FINEST:
        made.append(found(task, way, h, repeats))
        if made[-1].seconds > longest:
            break
        h /= 2
    return made


def ways(task: Heap, names: Sequence[str]) -> Iterator[Way]:
    """Return mbfmu's way and those of some peers."""
    yield ours(task)
    for name in names:
        yield from import_module(f"benchmarks.peers.{name}_pile").ways(task)


def cells(one: Found) -> list[str]:
    """Return the line of a run."""
    numbers = (one.deepest, one.gained, one.moving, one.gap, one.excess, one.undissipated)
    told = ["not told" if np.isnan(number) else f"{number:.1e}" for number in numbers]
    return [one.way.engine, one.way.scheme, f"{one.h:.2g}", f"{one.seconds * 1e3:.3g}", *told]


HEADS = ("engine", "scheme", "h", "ms", "deepest, m", "energy gained, J", "kinetic at the end, J")
RESIDUALS = ("gap with force, m", "friction beyond limit, N", "power not dissipated, W")


def main() -> None:
    """Measure and print."""
    described = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pile", description=described)
    parser.add_argument("--peers", nargs="*", choices=peers.PILING, default=peers.PILING, help="only these")
    parser.add_argument("--spheres", type=int, default=10, help="number of spheres (default 10)")
    parser.add_argument("--repeats", type=int, default=3, help="of each run, the least counts (default 3)")
    parser.add_argument("--longest", type=float, default=LONGEST, help=f"seconds of a run (default {LONGEST:g})")
    chosen = parser.parse_args()
    names, absent = peers.present(chosen.peers)
    for name, reason in absent.items():
        print(f"absent: {name} ({reason})", file=sys.stderr)
    print(conditions(), "", sep="\n")
    try:
        task = heap(chosen.spheres)
    except MbfmuError as error:
        raise SystemExit(str(error)) from error
    made: dict[str, list[Found]] = {}
    for row in markdown([*HEADS, *RESIDUALS], []):
        print(row)
    for way in ways(task, names):
        for one in runs(task, way, chosen.longest, chosen.repeats):
            made.setdefault(way.engine, []).append(one)
            print("| " + " | ".join(cells(one)) + " |", flush=True)
    print()
    for row in markdown(["engine", *(f"ms to {target:g} m" for target in TARGETS)], quickest(made)):
        print(row)


def quickest(made: dict[str, list[Found]]) -> Iterator[list[str]]:
    """Return a line for each engine: its least times to keep penetrations within the targets."""
    for engine, items in made.items():
        line = [engine]
        for target in TARGETS:
            kept = [one for one in items if one.deepest <= target and one.moving <= RESTS]
            if kept:
                one = min(kept, key=lambda item: item.seconds)
                line.append(f"{one.seconds * 1e3:.3g} ({one.way.scheme}, h = {one.h:.2g})")
            else:
                line.append(f"not reached ({min(one.deepest for one in items):.1e})")
        yield line


if __name__ == "__main__":
    main()

"""python -m benchmarks.batch: what a step costs where thousands of instances go together, on one core.

mbfmu takes 1, 2, 4 and 8 instances at a time, of those numbers that the processor has vectors for; their bits are the
same. Beside it are, one by one, Pinocchio's C++ loop (benchmarks/peers/pinocchio.cpp), its accelerations of many
instances by OpenMP with one thread, MuJoCo's `rollout` with one thread, and Drake's simulator, which are scalar; and
MuJoCo's MJX and Brax, which JAX compiles for the processor, in double precision. All take steps of RK4 from starts that
differ, but for Drake's RK3, Brax's Euler, and the stepper that is named for ours.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from itertools import islice
from time import process_time
from typing import NamedTuple

import numpy as np

from benchmarks.conditions import conditions
from benchmarks.judge import Array
from benchmarks.ours import RK4, Scheme, bundled, kernel_of, label
from benchmarks.table import markdown
from benchmarks.task import Task, X, Y
from benchmarks.tasks import TASKS
from mbfmu.kernel import vector
from mbfmu.kernel.many import Many, many_library
from mbfmu.stepper.explicit import RK4 as METHOD

COUNT, STEPS, H = 4096, 100, 1e-3
"""Instances of ours, steps of a call, and their length, s."""
FEW = 64
"""Instances of the peers that take them one by one."""
FEW_STEPS = 10
"""Steps of a call of the peers that take all instances together."""
REPEATS = 5
"""Number of calls, of which the quickest counts."""
PROJECTED: Scheme = ("projected", {"order": 4})
CASES: tuple[tuple[str, Scheme], ...] = (
    ("arm6", RK4),
    ("two_link", RK4),
    ("two_link", PROJECTED),
    ("slider_crank", PROJECTED),
    ("slider_crank", ("rattle", {"iteration": "simplified"})),
    ("slider_crank", ("rattle", {})),
)
"""Tasks, and how ours takes them."""
WIDTHS = (1, 2, 4, 8)


class Cost(NamedTuple):
    """What a step of an instance costs, ns."""

    engine: str
    scheme: str
    width: int
    ns: float


def quickest(call: Callable[[], object], steps: int) -> float:
    """Return the time of a step, ns, in the quickest of some calls that take so many."""
    call()
    times = []
    for _ in range(REPEATS):
        begin = process_time()
        call()
        times.append(process_time() - begin)
    return min(times) / steps * 1e9


def ours(task: Task, scheme: Scheme) -> Iterator[Cost]:
    """Yield our costs with each width."""
    dae, bundle = bundled(task, "joint", scheme)
    path, kernel = many_library(bundle), kernel_of(task, "joint", scheme)
    u, p = np.array(dae.u_default()), np.array(dae.p_default())
    x, _ = kernel.initialize(vector(dae.s_default()), vector(u), vector(p), 0.0, H)
    scatter = 1e-9 * np.random.default_rng(0).standard_normal((COUNT, len(x)))
    for width in WIDTHS:
        many = Many(str(path), COUNT, 1, width)
        if width > 1 and not many.in_lanes:
            continue
        rows = (np.array(x) + scatter * (width > 1), np.tile(u, (COUNT, 1)), np.zeros((COUNT, len(u))))
        x_b, u_b, du_b, p_b = (many.blocked(item) for item in (*rows, np.tile(p, (COUNT, 1))))
        call = partial(many.move, x_b, u_b, du_b, p_b, 0.0, STEPS * H, H, 0.0)
        yield Cost("mbfmu", label(scheme), width, quickest(call, COUNT * STEPS))


def one_by_one(name: str, task: Task) -> Iterator[Cost]:
    """Yield the cost of an engine's own loop over the steps of one instance, none if it does not take the task."""
    peer = import_module(f"benchmarks.peers.{name}")
    for case in islice(peer.cases(task), 1):
        ends = [case.run(H) for _ in range(REPEATS)]
        yield Cost(case.engine, case.scheme, 1, min(end.seconds / end.steps for end in ends) * 1e9)


def pinocchio_pool(task: Task) -> Iterator[Cost]:
    """Yield the cost of Pinocchio's accelerations of many instances by OpenMP, in one thread, with RK4 in NumPy."""
    engine = import_module("pinocchio")
    if task.pins:
        return
    model, numbers = engine.Model(), {-1: 0}
    kinds = {X: engine.JointModelRX, Y: engine.JointModelRY}
    for i, link in enumerate(task.links):
        place = engine.SE3(np.eye(3), np.array(link.at, dtype=float))
        numbers[i] = model.addJoint(numbers[link.parent], kinds.get(link.axis, engine.JointModelRZ)(), place, f"{i}")
        inertia = engine.Inertia(
            link.m, np.array(link.center, dtype=float), np.diag(np.array(link.inertia, dtype=float))
        )
        model.appendBodyToJoint(numbers[i], inertia, engine.SE3.Identity())
    model.gravity.linear = np.array(task.gravity, dtype=float)
    pool = engine.ModelPool(model, 1)
    q0, v0 = (np.array([[getattr(link, name)] for link in task.links], dtype=float) for name in ("q", "v"))
    scatter = 1e-9 * np.random.default_rng(0).standard_normal((len(q0), COUNT))
    tau = np.zeros((len(q0), COUNT), order="F")

    def rate(y: Array, _: float) -> Array:
        a = np.empty_like(tau, order="F")
        engine.abaInParallel(1, pool, np.asfortranarray(y[: len(q0)]), np.asfortranarray(y[len(q0) :]), tau, a)
        return np.concatenate([y[len(q0) :], a])

    def call() -> object:
        y = np.concatenate([q0 + scatter, v0 + 0 * scatter])
        for _ in range(FEW_STEPS):
            y = METHOD.step(rate, y, 0.0, H)
        return y

    yield Cost("pinocchio OpenMP", "RK4", COUNT, quickest(call, COUNT * FEW_STEPS))


def mujoco(task: Task) -> Iterator[Cost]:
    """Yield the cost of MuJoCo's rollout with one thread."""
    peer, engine = import_module("benchmarks.peers.mujoco"), import_module("mujoco")
    rollouts = import_module("mujoco.rollout")
    model = engine.MjModel.from_xml_string(peer.describe(task, H, False))
    data = engine.MjData(model)
    data.qpos[:], data.qvel[:] = ([getattr(link, name) for link in task.links] for name in ("q", "v"))
    full = engine.mjtState.mjSTATE_FULLPHYSICS
    start = np.zeros(engine.mj_stateSize(model, full))
    engine.mj_getState(model, data, start, full)
    starts = np.tile(start, (FEW, 1))

    def call() -> object:
        return rollouts.rollout(model, data, starts, nstep=STEPS)

    yield Cost("mujoco rollout", "RK4", 1, quickest(call, FEW * STEPS))


def mjx(task: Task) -> Iterator[Cost]:
    """Yield the cost of MuJoCo's MJX, with as many instances as ours and without the time to compile."""
    peer, engine, jax = (import_module(name) for name in ("benchmarks.peers.mujoco", "mujoco", "jax"))
    jax.config.update("jax_enable_x64", True)
    steps = import_module("mujoco.mjx")
    model = engine.MjModel.from_xml_string(peer.describe(task, H, False))
    data = engine.MjData(model)
    data.qpos[:], data.qvel[:] = ([getattr(link, name) for link in task.links] for name in ("q", "v"))
    on_device, state = steps.put_model(model), steps.put_data(model, data)
    scatter = 1e-9 * np.random.default_rng(0).standard_normal((COUNT, model.nq))
    states = jax.vmap(lambda change: state.replace(qpos=state.qpos + change))(scatter)
    step = jax.vmap(steps.step, (None, 0))
    run = jax.jit(lambda states: jax.lax.fori_loop(0, FEW_STEPS, lambda _, x: step(on_device, x), states))
    yield Cost("mujoco MJX", "RK4", COUNT, quickest(lambda: run(states).qpos.block_until_ready(), COUNT * FEW_STEPS))


def brax(task: Task) -> Iterator[Cost]:
    """Yield the cost of Brax in generalized coordinates, whose steps are those of semi-implicit Euler alone."""
    peer, jax = (import_module(name) for name in ("benchmarks.peers.mujoco", "jax"))
    jax.config.update("jax_enable_x64", True)
    reader, steps = import_module("brax.io.mjcf"), import_module("brax.generalized.pipeline")
    if task.pins:
        return
    text = peer.describe(task, H, False).replace('"RK4"', '"Euler"')
    shape = '<worldbody><geom size="0.01" contype="0" conaffinity="0"/>'  # it takes no model without a shape
    model = reader.loads(text.replace("<worldbody>", shape))
    q, v = (np.array([getattr(link, name) for link in task.links], dtype=float) for name in ("q", "v"))
    starts = q + 1e-9 * np.random.default_rng(0).standard_normal((COUNT, len(q)))
    states = jax.jit(jax.vmap(lambda start: steps.init(model, start, v)))(starts)
    step = jax.vmap(lambda state: steps.step(model, state, np.zeros(model.act_size())))
    run = jax.jit(lambda states: jax.lax.fori_loop(0, FEW_STEPS, lambda _, x: step(x), states))
    yield Cost("brax", "Euler", COUNT, quickest(lambda: run(states).q.block_until_ready(), COUNT * FEW_STEPS))


PEERS: tuple[tuple[str, Callable[[Task], Iterator[Cost]]], ...] = (
    ("Pinocchio", partial(one_by_one, "pinocchio")),
    ("Pinocchio's OpenMP", pinocchio_pool),
    ("MuJoCo", mujoco),
    ("MJX", mjx),
    ("Brax", brax),
    ("Drake", partial(one_by_one, "drake")),
)
"""The other engines."""


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    print(f"`{conditions()}`\n")
    rows: list[tuple[str, ...]] = []
    peers: dict[str, list[Cost]] = {}
    for name, scheme in CASES:
        task = TASKS[name]()[0]
        if name not in peers:
            peers[name] = []
            for engine, costs_of in PEERS:
                try:
                    peers[name] += costs_of(task)
                except ImportError as error:
                    print(f"{engine} is left out: {error}", file=sys.stderr)
        costs = list(ours(task, scheme))
        alone, best = costs[0].ns, min(cost.ns for cost in costs)
        for cost in (*costs, *peers[name]):
            mine = cost.engine == "mbfmu"
            ratio = (
                f"{alone / cost.ns:.2f} times our own alone" if mine else f"ours is {cost.ns / best:.1f} times faster"
            )
            rows.append((name, cost.engine, cost.scheme, str(cost.width), f"{cost.ns:.0f}", ratio))
            print(*rows[-1], sep="  ", file=sys.stderr)
    print(*markdown(("task", "engine", "scheme", "at a time", "ns a step", "throughput"), rows), sep="\n")


if __name__ == "__main__":
    main()

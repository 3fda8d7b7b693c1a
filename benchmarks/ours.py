"""mbfmu's own cases: a whole run is one call of the kernel."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import mbfmu
from benchmarks.case import Case, End, clock, number_of_steps, touched
from benchmarks.task import Task
from mbfmu.dae import Dae, derive
from mbfmu.kernel import Bundle, Compiled, compiled_library, compose, vector
from mbfmu.kernel.failure import Facts
from mbfmu.kernel.runtime import OK, move
from mbfmu.model import LagrangianSystem
from mbfmu.stepper import make_scheme

Options = Mapping[str, Any]
Scheme = tuple[str, Options]

RK4: Scheme = ("direct", {"method": "rk4"})
AB7: Scheme = ("direct", {"method": "ab7"})
HIGHER: tuple[Scheme, ...] = tuple(("projected", {"order": order}) for order in (5, 8, 9))
PROJECTED: tuple[Scheme, ...] = (("projected", {"order": 4}), *HIGHER, ("projected", {"order": 7}))
IMPLICIT: tuple[Scheme, ...] = (
    ("rattle", {"iteration": "simplified"}),
    ("rattle", {}),
    ("gauss", {"stages": 3, "projection": "symmetric"}),
    ("radau", {"stages": 3}),
)
CHOOSING: Scheme = HIGHER[1]
"""The scheme that is also run with steps of its own choice: its estimate is as accurate as its steps."""
LARGEST = 8
"""Links of a chain up to which everything is run."""


def cases(task: Task) -> Iterator[Case]:
    """Return a task's cases, compiled."""
    for coordinates, scheme in plan(task):
        dae, _ = bundled(task, coordinates, scheme)
        kernel = kernel_of(task, coordinates, scheme)
        yield case(task, dae, kernel, "mbfmu", scheme, coordinates)
        if scheme == CHOOSING and coordinates == "joint":
            yield case(task, dae, kernel, "mbfmu", scheme, coordinates, chosen=True)


def plan(task: Task) -> Iterator[tuple[str, Scheme]]:
    """Return the coordinates and schemes that make sense for a task."""
    if task.model == "rolling_disk":  # nonholonomic, with coordinates of its own
        schemes = (RK4, *PROJECTED, ("nodal_impulse", {}), ("radau", {"stages": 3}))
        yield from (("own", scheme) for scheme in schemes)
        return
    if not task.links:  # with contacts, and with coordinates of its own or of joints
        yield from (("own", scheme) for scheme in (RK4, *HIGHER))
        return
    tree, small = not task.pins, len(task.links) <= LARGEST
    implicit = IMPLICIT if small else ()
    for scheme in (RK4, *((AB7, *HIGHER) if tree else PROJECTED), *implicit):  # on a tree there is nothing to project
        yield "joint", scheme
    if small and (task.planar or not tree):
        yield from (("absolute", scheme) for scheme in (RK4, *PROJECTED, *IMPLICIT))
    else:
        yield from (("absolute", scheme) for scheme in ((RK4, PROJECTED[0], IMPLICIT[0]) if small else IMPLICIT[:1]))


def every_stepper(task: Task) -> Iterator[Case]:
    """Return all steppers with all their options in absolute coordinates."""
    for family in mbfmu.steppers().values():
        for options in family.variants():
            dae, bundle = bundled(task, "absolute", (family.name, options))
            kernel = Compiled(str(compiled_library(bundle)))
            yield case(task, dae, kernel, "mbfmu", (family.name, options), "absolute")


def with_truth(task: Task) -> Task:
    """Return a task that knows its true end; where no reference does, it is RK4's with an eighth of the least step."""
    if task.exact:
        return task
    dae, kernel = bundled(task, "joint", RK4)[0], kernel_of(task, "joint", RK4)
    outputs = seen(dae, kernel, run(task, dae, kernel, min(task.steps) / 8)[1], task.stop)
    return replace(task, exact={link.name: outputs[link.name] for link in task.links})


@cache
def _dae(model: str, values: tuple[tuple[str, float], ...], coordinates: str) -> Dae:
    system = mbfmu.load(model, dict(values))
    return derive(system, None if isinstance(system, LagrangianSystem) or coordinates == "own" else coordinates)


@cache
def _bundled(model: str, values: tuple[tuple[str, float], ...], coordinates: str, name: str, options: Any) -> Bundle:
    dae = _dae(model, values, coordinates)
    return compose(dae, make_scheme(dae, name, dict(options)))


def bundled(task: Task, coordinates: str, scheme: Scheme) -> tuple[Dae, Bundle]:
    """Return the equations and the kernel's functions."""
    model = (task.model, tuple(task.values.items()), coordinates)
    return _dae(*model), _bundled(*model, scheme[0], tuple(scheme[1].items()))


def kernel_of(task: Task, coordinates: str, scheme: Scheme) -> Compiled:
    """Return the compiled kernel."""
    return Compiled(str(compiled_library(bundled(task, coordinates, scheme)[1])))


def run(task: Task, dae: Dae, kernel: Compiled, h: float, tolerance: float = 0.0) -> tuple[Any, Any, float, int]:
    """Return the states at the start and at the end (None: no solution), seconds and number of steps.

    Steps are equal, about h, or with a tolerance chosen, at most that.
    """
    p, u = vector(dae.p_default()), vector([0.0] * len(dae.inputs))
    n = number_of_steps(task, h)
    x, status = kernel.initialize(vector(dae.s_default()), u, p, 0.0, task.stop / n)
    if status.code != OK:
        raise SystemExit(Facts(dae.name).message(status))
    begin = clock(task)
    x1, status = move(kernel, x, u, u, p, 0.0, task.stop, task.stop / n, tolerance)
    seconds = clock(task) - begin
    return x, (x1 if status.code == OK else None), seconds, int(status.substeps) if tolerance else n


def case(
    task: Task, dae: Dae, kernel: Compiled, engine: str, scheme: Scheme, coordinates: str,
    chosen: bool = False,
) -> Case:  # fmt: skip
    """Return the case of a kernel, with equal steps or chosen ones."""

    def once(h: float) -> End:
        start, end, seconds, steps = run(task, dae, kernel, *((task.stop, h) if chosen else (h,)))
        if end is None:
            return End(seconds, steps, *([float("inf")] * 4))
        return ended(task, dae, kernel, start, end, seconds, steps)

    if chosen:
        return Case(task, engine, f"{label(scheme)}, chosen steps", coordinates, once, adaptive=True, finest=1e-13)
    return Case(task, engine, label(scheme), coordinates, once)


def label(scheme: Scheme) -> str:
    """Return a scheme as a user writes it."""
    name, options = scheme
    return " ".join([name, *(f"{key}={value}" for key, value in options.items())])


def seen(dae: Dae, kernel: Compiled, x: Any, t: float) -> dict[str, float]:
    """Return the outputs of a state by name."""
    p, u = vector(dae.p_default()), vector([0.0] * len(dae.inputs))
    return {item.name: value for item, value in zip(dae.outputs, kernel.outputs(x, u, p, t), strict=False)}


def ended(task: Task, dae: Dae, kernel: Compiled, start: Any, end: Any, seconds: float, steps: int) -> End:
    """Return how a run from a state to another one went."""
    first, last = seen(dae, kernel, start, 0.0), seen(dae, kernel, end, task.stop)
    if task.touching:
        gaps = [value for name, value in last.items() if name.endswith(".gap")]
        return touched(task, seconds, steps, last, min(gaps, default=0.0))
    error = max(abs(last[item] - value) for item, value in task.exact.items())
    phi, phidot = (last.get(f"constraint.{level}", 0.0) for level in ("position", "velocity"))
    return End(seconds, steps, error, phi, phidot, abs(last["energy.total"] - first["energy.total"]))

"""python -m benchmarks.machines: the time to an error of machines with oil and drives, mbfmu beside solvers of others.

The solvers of others get mbfmu's own equations as generated C, so that what is compared is the method and its code.
Valves and pedals are moved by smooth functions of the time, or by values of these that are held, as from a controller.
The error is the largest of all coordinates, rates and first-order states at some points, relative to their ranges; the
reference is `projected` of order 9 with short steps for implicit methods, else `radau`. Times are those of the
processor.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import mbfmu
from benchmarks.case import Case, End
from benchmarks.conditions import conditions
from benchmarks.judge import Array
from benchmarks.measure import Row, measure, reaching
from benchmarks.peers.machines import cases
from benchmarks.table import comparison, markdown, show
from benchmarks.targets import OURS
from benchmarks.task import Task
from mbfmu.dae import Dae, derive
from mbfmu.kernel import vector
from mbfmu.kernel.runtime import OK, move
from mbfmu.model import System
from mbfmu.model.expression import Expression
from mbfmu.prepared.prepare import Prepared, prepare
from mbfmu.run.resolved import sizes

POINTS = 20
"""Number of points at which the error is found."""
TARGETS = (1e-4, 1e-6)
"""Errors to be reached, relative to the ranges."""
STEPPERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("radau", {"stages": 5}),
    ("radau", {"stages": 3}),
    ("generalized_alpha", {}),
    ("rattle", {"iteration": "simplified"}),
    ("gauss", {"stages": 3, "projection": "symmetric"}),
    ("projected", {"order": 4}),
    ("projected", {"order": 5}),
    ("projected", {"order": 8}),
    ("direct", {"method": "rk4"}),
)
"""mbfmu's steppers and their options."""
CHOOSING = (STEPPERS[0], STEPPERS[7])
"""Those that are also run with steps of their own choice."""
COST_STEP = 1e-3
"""Step of the table of costs, s."""


@dataclass(frozen=True, eq=False)
class Machine:
    """A machine that is driven.

    Args:
        name: of the model.
        system: the model without its sampled controllers.
        inputs: expressions of the time by name.
        stop: s.
        finest: step of the references, s.
        held: time over which each value of the inputs is held, as by a sampled controller, s; 0: they are smooth.
        stops: components that never act in this motion, which the others' equations leave out.
    """

    name: str
    system: System
    inputs: Mapping[str, str]
    stop: float
    finest: float
    stops: tuple[str, ...] = ()
    held: float = 0.0

    @property
    def label(self) -> str:
        """Name of the task."""
        return f"{self.name}, held" if self.held else self.name

    @property
    def formulas(self) -> Mapping[str, str]:
        """Inputs that are part of the equations."""
        return {} if self.held else self.inputs

    @property
    def grid(self) -> Array:
        """The ends of intervals, at which inputs jump, s, shape (a multiple of POINTS plus 1,)."""
        return np.linspace(0.0, self.stop, POINTS * self.every + 1)

    @property
    def every(self) -> int:
        """Number of intervals from one point to the next."""
        return max(1, round(self.stop / POINTS / self.held)) if self.held else 1

    @cached_property
    def held_inputs(self) -> Array:
        """The inputs of each interval, shape (number of intervals, number of inputs)."""
        values = np.tile(self.dae.u_default(), (len(self.grid) - 1, 1))
        names = [item.name for item in self.dae.inputs]
        for name, text in self.inputs.items() if self.held else ():
            for k, t in enumerate(self.grid[:-1].tolist()):
                values[k, names.index(name)] = float(Expression(text).evaluate(dict.fromkeys(("time",), t).__getitem__))
        return values

    def prepared(self, stepper: str, options: Mapping[str, Any]) -> Prepared:
        """Return the machine with a stepper."""
        return prepare(self.system, stepper, options, COST_STEP, formulas=self.formulas)

    @cached_property
    def dae(self) -> Dae:
        """The equations that the others get."""
        return derive(without(self.system, self.stops), None, self.formulas)

    @cached_property
    def references(self) -> tuple[Array, Array]:
        """The motion by two methods, shape (number of points, 2 n + n_z)."""
        first, second = (
            motion(self, self.prepared(name, options), self.finest)[0]
            for name, options in (("projected", {"order": 9}), ("radau", {"stages": 5}))
        )
        assert first is not None
        assert second is not None
        return first, second

    @cached_property
    def ranges(self) -> Array:
        """What errors are relative to, shape (2 n + n_z,)."""
        dae, true = self.dae, self.references[0]
        units = {
            str(k): unit for k, unit in enumerate([*["q"] * dae.n, *["v"] * dae.n, *(item.unit for item in dae.states)])
        }
        return np.array(list(sizes({name: true[:, int(name)] for name in units}, units).values()))

    def error(self, found: Array | None, implicit: bool) -> float:
        """Return the largest error of a motion at the points, relative to the ranges; infinity: there is none."""
        if found is None or not np.isfinite(found).all():
            return np.inf
        return float(np.max(np.abs(found - self.references[0 if implicit else 1]) / self.ranges))


def without(system: System, names: Sequence[str]) -> System:
    """Return a model without some components and their wires."""

    def kept(end: str) -> bool:
        return end.partition(".")[0] not in names

    return replace(
        system,
        components=tuple(item for item in system.components if item.name not in names),
        wires=tuple(item for item in system.wires if kept(item.source) and kept(item.target)),
    )


def excavator() -> Machine:
    """Return the excavator; all three cylinders move."""
    system = mbfmu.load("excavator")
    assert isinstance(system, System)
    inputs = {f"oil.{name}_valve.command": f"{a}*sin({w}*time)" for name, a, w in
              (("lift", 0.3, 3.0), ("crowd", -0.3, 4.0), ("curl", 0.3, 5.0))}  # fmt: skip
    return Machine("excavator", without(system, ("control",)), inputs, 2.0, 1e-4)


def loader() -> Machine:
    """Return the loader; both cylinders move, the lift cylinder stays off its stop."""
    system = mbfmu.load(str(Path(__file__).with_name("loader.py")))
    assert isinstance(system, System)
    inputs = {"lift_servo.command": "0.3*sin(3*time)", "tilt_servo.command": "0.3*sin(4*time)"}
    return Machine("loader", without(system, ("lift_pid", "tilt_pid")), inputs, 1.0, 5e-5, ("bump",))


def stewart_hydraulic() -> Machine:
    """Return the platform; its six legs swing about their rest."""
    system = mbfmu.load("stewart_hydraulic")
    assert isinstance(system, System)
    inputs = {f"valve{k}.command": f"0.2*sin({2 + k}*time)" for k in range(1, 7)}
    return Machine("stewart_hydraulic", without(system, ("controller",)), inputs, 0.5, 1e-4)


def car() -> Machine:
    """Return the car; it changes the lane."""
    system = mbfmu.load("car")
    assert isinstance(system, System)
    return Machine("car", system, {"steer": "0.5*sin(4*time)", "drive": "100", "brake": "0"}, 1.0, 2e-4)


def robot_arm_drives() -> Machine:
    """Return the arm with its sampled controllers, which no solver of others runs."""
    system = mbfmu.load("robot_arm_drives")
    assert isinstance(system, System)
    return Machine("robot_arm_drives", system, {}, 0.5, 1e-4)


MACHINES: dict[str, Callable[[], Machine]] = {
    "excavator": excavator, "loader": loader, "stewart_hydraulic": stewart_hydraulic,
    "robot_arm_drives": robot_arm_drives, "car": car,
}  # fmt: skip


def motion(
    machine: Machine, prepared: Prepared, h: float, tolerance: float = 0.0
) -> tuple[Array | None, float, int, tuple[float, float]]:
    """Return the motion at the points (None: a step failed), the processor's time, s, steps, and largest residuals."""
    kernel, outline, dae = prepared.kernel, prepared.outline, machine.dae
    p, inputs = vector(outline.p_default()), machine.held_inputs
    still = vector([0.0] * inputs.shape[1])
    span = float(machine.grid[1])
    h = span / max(1, round(span / h))
    x, seconds, steps = prepared.initial_state(stepping=False), 0.0, 0
    rows, residuals = [state_of(prepared, dae, x, 0.0)], [0.0, 0.0]
    names = [item.name for item in outline.outputs]
    for k, u in enumerate(map(vector, inputs)):
        begin = time.process_time()
        x, status = move(kernel, x, u, still, p, k * span, span, h, tolerance)
        seconds += time.process_time() - begin
        if status.code != OK:
            return None, seconds, 1, (np.inf, np.inf)
        steps += int(status.substeps)
        if (k + 1) % machine.every:
            continue
        rows.append(state_of(prepared, dae, x, (k + 1) * span))
        y = kernel.outputs(x, u, p, (k + 1) * span)
        for level, kind in enumerate(("position", "velocity")):
            residuals[level] = max(residuals[level], y[names.index(f"constraint.{kind}")])
    return np.array(rows), seconds, steps, (residuals[0], residuals[1])


def state_of(prepared: Prepared, dae: Dae, x: Any, t: float) -> Array:
    """Return [q; v; z] of a state, without what a stop that never acts adds."""
    size, p = prepared.scheme.step.x.numel(), prepared.dae.extended(prepared.dae.p_default())
    q, v, z = (np.array(item).ravel() for item in prepared.scheme.read(list(x)[:size], p, t))
    return np.concatenate([q[: dae.n], v[: dae.n], z[: dae.n_z]])


def ours(machine: Machine, families: Sequence[str]) -> Iterator[Case]:
    """Return mbfmu's cases of some families."""
    task = Task(machine.label, machine.name, machine.stop)
    for name, options in (item for item in STEPPERS if item[0] in families):
        label = " ".join([name, *(f"{key}={value}" for key, value in options.items())])
        prepared, implicit = machine.prepared(name, options), name not in ("projected", "direct")
        yield Case(task, OURS, label, "default", _once(machine, prepared, implicit, False), finest=machine.finest)
        if (name, options) in CHOOSING:
            once = _once(machine, prepared, implicit, True)
            yield Case(task, OURS, f"{label}, chosen steps", "default", once, adaptive=True, finest=1e-12)


def _once(machine: Machine, prepared: Prepared, implicit: bool, chosen: bool) -> Callable[[float], End]:
    def once(h: float) -> End:
        found, seconds, steps, residuals = motion(machine, prepared, *((machine.stop, h) if chosen else (h,)))
        return End(seconds, steps, machine.error(found, implicit), *residuals, np.nan)

    return once


def costs(machine: Machine, families: Sequence[str]) -> list[str]:
    """Return a line of the table of costs: processor's time of 1 ms, us, and the error, with steps of 1 ms."""
    cells = [machine.name]
    for case in (case for case in ours(machine, families) if not case.adaptive):
        ends = [case.run(COST_STEP) for _ in range(3)]
        spent = min(end.seconds for end in ends) / machine.stop * 1e3
        cells.append(f"{spent:.3g}, {ends[0].error:.0e}" if np.isfinite(ends[0].error) else "no solution")
    return cells


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.machines", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--task", choices=MACHINES, nargs="+", default=tuple(MACHINES), help="only these")
    families = tuple(dict.fromkeys(name for name, _ in STEPPERS))
    parser.add_argument("--steppers", choices=families, nargs="+", default=families, help="only these of mbfmu's")
    parser.add_argument("--held", type=float, default=0.0, help="hold inputs for so long, as sampled controllers do, s")
    parser.add_argument(
        "--costs", action="store_true", help="what 1 ms costs with each stepper, instead of times to errors"
    )
    parser.add_argument("--repeats", type=int, default=3, help="of each measurement (default 3)")
    chosen = parser.parse_args()
    print(conditions(), "", sep="\n")
    if chosen.costs:
        names = [" ".join([name, *map(str, options.values())]) for name, options in STEPPERS if name in chosen.steppers]
        print(
            *markdown(["machine", *names], (costs(MACHINES[name](), chosen.steppers) for name in chosen.task)), sep="\n"
        )
        return
    rows: list[Row] = []
    for name in chosen.task:
        machine = replace(MACHINES[name](), held=chosen.held)
        between = np.max(np.abs(np.subtract(*machine.references)) / machine.ranges)
        print(f"{machine.label}: both references differ by {between:.1g} of the ranges", flush=True)
        for case in (*ours(machine, chosen.steppers), *cases(machine)):
            print(f"{name}: {case.engine}, {case.scheme}", file=sys.stderr)
            rows += measure(list(reaching(case, TARGETS)), chosen.repeats)
    show(rows)
    for line in comparison(rows):
        print(line)


if __name__ == "__main__":
    main()

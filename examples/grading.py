"""An excavator that draws its bucket along a straight line: its equations predict, its FMU is the plant.

The machine of `models/excavator.py`, mechanism and oil, without its own controllers. Every 50 ms the predictive
controller reads all 24 states from the FMU, which FMPy runs: angles and rates, pump, line, spools and the pressures of
the cylinders. It finds commands of the three valves over the next 0.4 s for which the tip of the bucket stays on a
level line and the bucket turns as it should, and follows the line in time as well as pump and valves allow. The
prediction is the implicit form of `mbfmu.equations` by the Radau IIA method of order 3, one step for each interval,
which the stiff oil does not force to be short. Commands are found by the method of Gauss and Newton from those before,
with bounds and no step longer than 0.1 (Diehl, Ferreau and Haverbeke, Efficient numerical methods for nonlinear MPC and
moving horizon estimation, in: Nonlinear Model Predictive Control, 2009, pp. 391-417).

Beside it are the machine's own controllers of the three joints, PI with the speed fed forward, every 5 ms. They follow
the angles that belong to the line, requested in the same time and in twice that time.

Run: python -m examples.grading [--plot FILE]
"""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from scipy.optimize import lsq_linear

import mbfmu
from examples.predictive import plant
from examples.report import Array, Curves, Found, Panel, Row, present
from mbfmu.model import Subsystem, System, wire

AXES = {"lift": "boom", "crowd": "stick", "curl": "bucket"}
"""Cylinders, and the joints that they move."""
TIP = "shell.frame_b"
LENGTH, TURN = 1.0, 0.65
"""The bucket is drawn so far towards the machine, m, and turns so far, rad."""
BEGIN, DURATION, AFTER = 0.3, 1.4, 0.8
"""Begin of the motion, its requested duration, and the time that it is watched afterwards, s."""
PERIOD, SAMPLE = 0.05, 0.005
"""Periods of the predictive controller and of the PI controllers, s."""
HORIZON, STAGES, ROUNDS = 8, 2, 2
"""Intervals, stages of the Radau method in each, iterations at each instant."""
LIMIT, LONGEST = 0.5, 0.1
"""Largest command of a valve, of 1, and the largest change of a command in one iteration."""
PRESSURE = 12e6
"""Pressure of the line, Pa, below which the valves take more than the pump gives."""
ALONG, ACROSS, TURNED, LACKING, SMOOTH = 10.0, 500.0, 250.0, 3e-7, 1.0
"""Weights of distances along and across the line (1/m), of the bucket's angle (1/rad), of lacking pressure (1/Pa), and
of changes of commands."""


def machine(own: bool = False, load: float = 40.0) -> System:
    """Return mechanism and oil, wired: commands of the valves in; or with the machine's own controllers: angles in.

    Args:
        own: with its own controllers.
        load: mass in the bucket, kg.
    """
    mechanism = mbfmu.load("excavator", {"part": "mechanism", "load": load})
    oil, control = (mbfmu.load("excavator", {"part": part}) for part in ("oil", "control"))
    joints = tuple(item for item in control.components if item.name in AXES.values()) if own else ()
    wires = [
        item
        for name in AXES
        for item in (
            wire(f"{name}_pins.distance", f"oil.{name}.s"),
            wire(f"{name}_pins.distance_rate", f"oil.{name}.v"),
            wire(f"oil.{name}.f", f"{name}.f"),
        )
    ]
    for name, joint in AXES.items() if own else ():
        wires += [wire(f"{joint}.phi", f"control.{joint}.measured")]
        wires += [wire(f"control.{joint}.command", f"oil.{name}_valve.command")]
    parts = (Subsystem("control", replace(control, components=joints, wires=())),) if own else ()
    return replace(mechanism, components=(*mechanism.components, Subsystem("oil", oil), *parts), wires=tuple(wires))


class Line(NamedTuple):
    """The line: the tip's position (m) and the bucket's angle (rad) where it begins."""

    x: float
    y: float
    angle: float

    def progress(self, at: Any, duration: float) -> Any:
        """Return how far along the line the tip should be at some times, m: a motion of least jerk."""
        part = np.clip((np.asarray(at) - BEGIN) / duration, 0.0, 1.0)
        return LENGTH * part**3 * (10 - 15 * part + 6 * part**2)

    def turned(self, s: Any) -> Any:
        """Return the bucket's angle where the tip is at s, m."""
        return self.angle - TURN / LENGTH * s


class Controller:
    """The problem of one instant, made once, and its last solution."""

    def __init__(self) -> None:
        equations = self.equations = mbfmu.equations(machine(), parameters=())
        tip = equations.pose(TIP)
        first, _ = tip(equations.start.q, [], 0.0)
        self.line = Line(*first.full().ravel().tolist(), float(equations.start.q[:3].sum()))
        self.nominal = np.r_[np.ones(10), [item.nominal for item in equations.quantities["z"]]]
        step = self._step()
        # what should vanish after an interval: distances, angle, lacking pressure
        x, s = ca.SX.sym("x", step.size1_out(0)), ca.SX.sym("s")
        state = x * self.nominal
        r, _ = tip(state[:5], [], 0.0)
        along = self.line.x - r[0]
        lacking = ca.fmax(0, PRESSURE - state[equations.names["x"].index("oil.line.p")])
        angle = ca.sum1(state[:3]) - self.line.turned(along)
        parts = (ALONG * (along - s), ACROSS * (r[1] - self.line.y), TURNED * angle, LACKING * lacking)
        off = ca.Function("off", [x, s], [ca.vertcat(*parts)])
        # all residuals of the horizon, and their slopes in the commands
        begin, last = ca.MX.sym("x", x.numel()), ca.MX.sym("last", 3)
        u, targets = ca.MX.sym("u", 3, HORIZON), ca.MX.sym("targets", HORIZON)
        rows, at, before = [], begin, last
        for k in range(HORIZON):
            at = step(at, u[:, k])
            rows += [off(at, targets[k]), SMOOTH * (u[:, k] - before)]
            before = u[:, k]
        r = ca.vertcat(*rows)
        self.residuals = ca.Function("residuals", [begin, last, u, targets], [r])
        self.slopes = ca.Function("slopes", [begin, last, u, targets], [r, ca.jacobian(r, ca.vec(u))])
        self.u = np.zeros((3, HORIZON))

    def _step(self) -> Any:
        """Return the Function (x, u) -> x after a period, in parts of the nominal values."""
        equations, nominal = self.equations, self.nominal
        n, m = len(nominal), equations.sizes["lambda_"]
        derivatives, _, _ = ca.collocation_coeff(ca.collocation_points(STAGES, "radau"))
        x, u = ca.SX.sym("x", n), ca.SX.sym("u", 3)
        X, forces = ca.SX.sym("X", n, STAGES), ca.SX.sym("lambda", m, STAGES)
        rates = ca.horzcat(x, X) @ derivatives / PERIOD
        scale = np.r_[np.ones(5), np.full(5, 1e3), 10 * nominal[10:], np.ones(m)]
        rows = [
            equations.residual(nominal * rates[:, i], nominal * X[:, i], 1e3 * forces[:, i], u, [], 0.0) / scale
            for i in range(STAGES)
        ]
        unknowns = ca.vertcat(ca.vec(X), ca.vec(forces))
        problem = ca.Function("problem", [unknowns, x, u], [ca.vertcat(*rows)])
        solve = ca.rootfinder("solve", "newton", problem, {"abstol": 1e-8, "max_iter": 30, "error_on_fail": False})
        x, u = ca.MX.sym("x", n), ca.MX.sym("u", 3)
        solution = solve(ca.vertcat(ca.repmat(x, STAGES), np.zeros(m * STAGES)), x, u)
        return ca.Function("step", [x, u], [solution[(STAGES - 1) * n : STAGES * n]])

    def commands(self, state: Array, now: float) -> Array:
        """Return the commands of the valves until the next instant, from the state x and the time, s."""
        targets = self.line.progress(now + PERIOD * np.arange(1, HORIZON + 1), DURATION)
        rest = (state / self.nominal, self.u[:, 0])
        # the problem before began an interval earlier
        u = np.hstack([self.u[:, 1:], self.u[:, -1:]])
        for _ in range(ROUNDS):
            r, J = (item.full() for item in self.slopes(*rest, u, targets))
            flat = u.T.ravel()
            bounds = np.maximum(-LIMIT - flat, -LONGEST), np.minimum(LIMIT - flat, LONGEST)
            change = lsq_linear(J, -r.ravel(), (bounds[0] - 1e-12, bounds[1] + 1e-12)).x.reshape(HORIZON, 3).T
            # half of it, if it is too long for its linearisation
            part = 1.0
            while not self._norm(*rest, u + part * change, targets) <= np.linalg.norm(r) and part > 1e-3:
                part /= 2
            u = u + part * change
        self.u = np.clip(u, -LIMIT, LIMIT)
        return self.u[:, 0]

    def _norm(self, *arguments: Any) -> float:
        return float(np.linalg.norm(self.residuals(*arguments).full()))


class Drawn(NamedTuple):
    """A run: times (s), positions of the tip (m), angles of the bucket (rad), commands, processor time an instant."""

    time: Array
    tip: Array
    angle: Array
    commands: Array
    cost: float


SHOWN = (f"{TIP}.r_0[1]", f"{TIP}.r_0[2]", "shell.phi", *(f"oil.{name}_valve.asked" for name in AXES))


def predictive(controller: Controller, stop: float, load: float = 40.0) -> Drawn:
    """Run the FMU under the predictive controller; load: mass in the bucket, kg, which it takes for 40 kg."""
    names = [f"{name[4:-5]}.w" if name.startswith("der(") else name for name in controller.equations.names["x"]]
    inputs = [f"oil.{name}_valve.command" for name in AXES]
    rows, costs = [], []
    with tempfile.TemporaryDirectory() as folder, plant(machine(load=load), Path(folder)) as (slave, reference):
        for k in range(round(stop / PERIOD)):
            state = np.array(slave.getReal([reference[name] for name in names]))
            begin = time.process_time()
            commands = controller.commands(state, k * PERIOD)
            costs.append(time.process_time() - begin)
            slave.setReal([reference[name] for name in inputs], commands.tolist())
            for i in range(round(PERIOD / SAMPLE)):
                rows.append(slave.getReal([reference[name] for name in SHOWN]))
                slave.doStep(currentCommunicationPoint=k * PERIOD + i * SAMPLE, communicationStepSize=SAMPLE)
    return _drawn(rows, float(np.median(costs)))


def angles(controller: Controller, duration: float, stop: float) -> tuple[Array, Array]:
    """Return the angles of the joints on the line and their rates every 5 ms, each of shape (n, 3)."""
    equations, line = controller.equations, controller.line
    joints, s = ca.SX.sym("joints", 3), ca.SX.sym("s")
    r, _ = equations.pose(TIP)(ca.vertcat(joints, equations.start.q[3:]), [], 0.0)
    rows = ca.vertcat(r[0] - (line.x - s), r[1] - line.y, ca.sum1(joints) - line.turned(s))
    solve = ca.rootfinder("solve", "newton", ca.Function("rows", [joints, s], [rows]))
    path, now = [], equations.start.q[:3]
    for way in line.progress(SAMPLE * np.arange(round(stop / SAMPLE)), duration):
        now = solve(now, way).full().ravel()
        path.append(now)
    return np.array(path), np.gradient(np.array(path), SAMPLE, axis=0)


def own(controller: Controller, duration: float, load: float = 40.0) -> Drawn:
    """Run the FMU of the machine with its own PI controllers; load: mass in the bucket, kg."""
    references = np.hstack(angles(controller, duration, BEGIN + duration + AFTER))
    inputs = [f"control.{joint}.{name}" for name in ("reference", "rate") for joint in AXES.values()]
    rows = []
    with tempfile.TemporaryDirectory() as folder, plant(machine(True, load), Path(folder)) as (slave, reference):
        for k, values in enumerate(references.tolist()):
            slave.setReal([reference[name] for name in inputs], values)
            rows.append(slave.getReal([reference[name] for name in SHOWN]))
            slave.doStep(currentCommunicationPoint=k * SAMPLE, communicationStepSize=SAMPLE)
    return _drawn(rows, 0.0)


def _drawn(rows: Sequence[Sequence[float]], cost: float) -> Drawn:
    values = np.array(rows)
    return Drawn(SAMPLE * np.arange(len(values)), values[:, :2], values[:, 2], values[:, 3:], cost)


def run() -> Found:
    """Draw the bucket along the line by both controllers."""
    controller = Controller()
    line, stop = controller.line, BEGIN + DURATION + AFTER
    runs = {
        "predictive": predictive(controller, stop),
        "PI": own(controller, DURATION),
        "PI, twice the time": own(controller, 2 * DURATION),
        "predictive, half as much load again": predictive(Controller(), stop, 60.0),
        "PI, twice the time, half as much load again": own(controller, 2 * DURATION, 60.0),
    }
    numbers, path, way, commands = {"cost": runs["predictive"].cost}, Curves(), Curves(), Curves()
    for name, drawn in runs.items():
        s = line.x - drawn.tip[:, 0]
        across = drawn.tip[:, 1] - line.y
        numbers |= {f"across, {name}": float(np.abs(across).max())}
        numbers |= {f"turned, {name}": float(np.abs(drawn.angle - line.turned(s)).max())}
        numbers |= {f"time, {name}": float(drawn.time[np.abs(s - LENGTH) > 0.01 * LENGTH][-1] - BEGIN)}
        if not name.endswith("load again"):
            path[name] = s, 1e3 * across
            way[name] = drawn.time, s
            commands[name] = drawn.time, drawn.commands[:, 1]
    panels = (
        Panel("the tip off the line", "along the line [m]", "height [mm]", path, window=(-0.05, 1.1, -20, 20)),
        Panel("the tip along the line", "t [s]", "[m]", way, legend=""),
        Panel("command of the stick's valve", "t [s]", "of 1", commands, legend=""),
    )
    return Found(numbers, panels, columns=3)


def rows(found: dict[str, float]) -> Sequence[Row]:
    """Return the rows of the table."""
    table = []
    for name in ("predictive", "PI", "PI, twice the time"):
        requested = DURATION * (2 if "twice" in name else 1)
        table += [
            (f"{name}: tip off the line, at most", "0", f"{1e3 * found[f'across, {name}']:.1f} mm"),
            (f"{name}: bucket from its angle, at most", "0", f"{1e3 * found[f'turned, {name}']:.1f} mrad"),
            (f"{name}: at its end, within 1 %, after", f"{requested} s", f"{found[f'time, {name}']:.2f} s"),
        ]
    for name in ("predictive", "PI, twice the time"):
        off = found[f"across, {name}, half as much load again"]
        table.append((f"{name}, 60 kg in the bucket instead of 40: tip off the line", "0", f"{1e3 * off:.1f} mm"))
    table.append(("processor time of an instant", f"less than {1e3 * PERIOD:.0f} ms", f"{1e3 * found['cost']:.0f} ms"))
    return table


if __name__ == "__main__":
    present("A bucket that is drawn along a line by predictive control of its machine", run, rows, "expected")

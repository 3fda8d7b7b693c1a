"""A six-axis robot from a URDF as an FMU, led along a smooth motion by a controller outside that knows its equations.

Run: python -m examples.robot [--plot FILE]
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import fmpy
import numpy as np
from fmpy.fmi2 import FMU2Slave
from scipy.integrate import cumulative_trapezoid

import mbfmu
from examples.report import Array, Curves, Found, Panel, Row, present
from mbfmu.dae import derive
from mbfmu.model import System
from mbfmu.model.library import known_models

STEP = 1e-3
"""s, of controller, master and stepper."""
POSES = (
    (0.0, -1.5, 1.2, -1.3, -1.57, 0.0), (0.9, -1.1, 1.5, -1.9, -1.2, 0.8), (1.4, -1.9, 1.0, -0.7, -1.8, -0.9),
    (0.0, -1.5, 1.2, -1.3, -1.57, 0.0),
)  # fmt: skip
"""rad, of the six joints."""
MOVE, REST = 1.5, 0.5
"""s, from one pose to the next and there."""
STOP = (len(POSES) - 1) * (MOVE + REST)
STIFFNESS, DAMPING = 400.0, 40.0
"""1/s^2 and 1/s: errors die out like those of a critically damped oscillator of 20 rad/s."""
WRIST = tuple(f"wrist_3.r_0[{k}]" for k in (1, 2, 3))

Law = Callable[[float, Array, Array], Array]
"""(time in s, angles in rad, rates in rad/s) -> torques in N.m, all of shape (6,)."""


def wanted(t: float) -> tuple[Array, Array, Array]:
    """Return wanted angles (rad), rates and accelerations; polynomials of degree five, at rest at both ends."""
    k = min(int(t / (MOVE + REST)), len(POSES) - 2)
    x = min((t - k * (MOVE + REST)) / MOVE, 1.0)
    begin, way = np.array(POSES[k]), np.subtract(POSES[k + 1], POSES[k])
    return (
        begin + way * x**3 * (10 - 15 * x + 6 * x**2),
        way / MOVE * 30 * x**2 * (1 - x) ** 2,
        way / MOVE**2 * 60 * x * (1 - x) * (1 - 2 * x),
    )


class Equations:
    """What the controllers and the energy balance take from the model: its equations of motion in joint angles."""

    def __init__(self, robot: System) -> None:
        dae = derive(robot)
        self.dae, self.p = dae, dae.p_default()
        rough = [item.name.endswith(("_damper.d", "_friction.f_c")) for item in dae.parameters]
        self.smooth = np.where(rough, 0.0, self.p)

    def inertia(self, phi: Array) -> Array:
        """Return the mass matrix (kg.m2), shape (6, 6)."""
        return np.array(self.dae.equations.M(phi, self.p))

    def bias(self, phi: Array, w: Array) -> Array:
        """Return the torques (N.m) of gravity and of the rates, without friction, that the motors must bear."""
        return -np.array(self.dae.equations.force(phi, w, [], np.zeros(6), self.smooth, 0.0)).ravel()

    def friction(self, phi: Array, w: Array) -> Array:
        """Return the torques (N.m) of damping and dry friction that the motors must bear."""
        return -np.array(self.dae.equations.force(phi, w, [], np.zeros(6), self.p, 0.0)).ravel() - self.bias(phi, w)

    def wrist(self, phi: Array) -> Array:
        """Return where the last joint is (m), shape (3,)."""
        still = np.zeros(6)
        y = self.dae.output(phi, still, [], np.zeros(self.dae.n_angles), still, [], still, self.p, 0.0)
        names = [item.name for item in self.dae.outputs]
        return np.array(y).ravel()[[names.index(name) for name in WRIST]]


def computed_torque(known: Equations) -> Law:
    """Return the law that lets errors die out alike in all joints; friction is that of the wanted rates."""

    def law(t: float, phi: Array, w: Array) -> Array:
        goal, rate, acceleration = wanted(t)
        a = acceleration + STIFFNESS * (goal - phi) + DAMPING * (rate - w)
        return np.asarray(known.inertia(phi) @ a + known.bias(phi, w) + known.friction(goal, rate))

    return law


def each_joint_alone(known: Equations) -> Law:
    """Return the law that bears weight and friction and pulls each joint by itself, as stiff as the other at first."""
    own = np.diag(known.inertia(np.array(POSES[0])))

    def law(t: float, phi: Array, w: Array) -> Array:
        goal, rate, _ = wanted(t)
        pull = own * (STIFFNESS * (goal - phi) + DAMPING * (rate - w))
        return np.asarray(pull + known.bias(phi, np.zeros(6)) + known.friction(goal, rate))

    return law


LAWS = {"computed torque": computed_torque, "each joint alone": each_joint_alone}


@dataclass(frozen=True)
class Driven:
    """A run in closed loop, at every step.

    Args:
        time: s, shape (n_t,).
        phi: rad, shape (n_t, 6).
        w: rad/s, shape (n_t, 6).
        tau: N.m, held from each time on, shape (n_t - 1, 6).
        energy: J, shape (n_t,).
        wrist: m, shape (n_t, 3).
    """

    time: Array
    phi: Array
    w: Array
    tau: Array
    energy: Array
    wrist: Array


def drive(path: Path, joints: Sequence[str], law: Law) -> Driven:
    """Run the robot's FMU in FMPy under a law."""
    description = fmpy.read_model_description(str(path))
    vr = {variable.name: variable.valueReference for variable in description.modelVariables}
    torques = [vr[f"{joint}.tau"] for joint in joints]
    names = [*(f"{joint}.phi" for joint in joints), *(f"{joint}.w" for joint in joints), "energy.total", *WRIST]
    shown = [vr[name] for name in names]
    with tempfile.TemporaryDirectory() as folder:
        robot = FMU2Slave(
            guid=description.guid,
            unzipDirectory=fmpy.extract(str(path), unzipdir=folder),
            modelIdentifier=description.coSimulation.modelIdentifier,
            instanceName="robot",
        )
        robot.instantiate()
        robot.setupExperiment(startTime=0.0)
        robot.enterInitializationMode()
        robot.exitInitializationMode()
        rows, taus = [np.array(robot.getReal(shown))], []
        for k in range(round(STOP / STEP)):
            taus.append(law(k * STEP, rows[-1][:6], rows[-1][6:12]))
            robot.setReal(torques, taus[-1].tolist())
            robot.doStep(currentCommunicationPoint=k * STEP, communicationStepSize=STEP)
            rows.append(np.array(robot.getReal(shown)))
        robot.terminate()
        robot.freeInstance()
    found = np.array(rows)
    return Driven(
        np.arange(len(rows)) * np.float64(STEP),
        found[:, :6],
        found[:, 6:12],
        np.array(taus),
        found[:, 12],
        found[:, 13:],
    )


def balance(run: Driven, known: Equations) -> tuple[Array, Array, Array]:
    """Return the motors' work, what friction has taken, and what the energy misses of the difference (J).

    A torque is held over a step, so its work is that torque times the angle turned; the power of friction is
    integrated by the trapezoidal rule.
    """
    work = np.concatenate([[0.0], np.cumsum(np.sum(run.tau * np.diff(run.phi, axis=0), axis=1))])
    power = np.array([known.friction(phi, w) @ w for phi, w in zip(run.phi, run.w, strict=True)])
    lost = cumulative_trapezoid(power, dx=STEP, initial=0.0)
    return work, lost, run.energy - run.energy[0] - work + lost


def efforts() -> dict[str, float]:
    """Return the greatest torque (N.m) that the URDF allows each joint."""
    joints = ElementTree.parse(known_models()["robot"]).getroot().iter("joint")
    limits = {joint.get("name", ""): joint.find("limit") for joint in joints}
    return {name: float(limit.get("effort", "inf")) for name, limit in limits.items() if limit is not None}


def run() -> Found:
    """Run the robot under both laws."""
    robot = mbfmu.load("robot")
    assert isinstance(robot, System)
    known, allowed = Equations(robot), efforts()
    joints = [item.name.removesuffix(".tau") for item in known.dae.inputs]
    robot = robot.with_values({f"{joint}.phi": angle for joint, angle in zip(joints, POSES[0], strict=True)})
    with tempfile.TemporaryDirectory() as folder:
        fmu = mbfmu.export(robot, Path(folder) / "robot.fmu", stepper="rattle", step=STEP, backend="native")
        runs = {name: drive(fmu, joints, law(known)) for name, law in LAWS.items()}
    numbers: dict[str, float] = {}
    errors: dict[str, Array] = {}
    for name, driven in runs.items():
        goals = np.array([wanted(float(t))[0] for t in driven.time])
        errors[name] = np.degrees(driven.phi - goals)
        places = np.array([known.wrist(goal) for goal in goals])
        numbers[f"{name}, error, rms"] = float(np.sqrt(np.mean(errors[name] ** 2)))
        numbers[f"{name}, error"] = float(np.abs(errors[name]).max())
        numbers[f"{name}, wrist"] = float(np.linalg.norm(driven.wrist - places, axis=1).max())
        most = np.abs(driven.tau).max(axis=0)
        numbers[f"{name}, effort"] = max(float(m) / allowed[joint] for m, joint in zip(most, joints, strict=True))
        work, lost, missing = balance(driven, known)
        numbers |= {f"{name}, work": float(work[-1]), f"{name}, friction": float(lost[-1])}
        numbers |= {
            f"{name}, exchanged": float(np.ptp(driven.energy)),
            f"{name}, missing": float(np.abs(missing).max()),
        }
    time, driven = runs["computed torque"].time, runs["computed torque"]
    work, lost, missing = balance(driven, known)

    def each(times: Array, values: Array) -> Curves:
        return {joint.removesuffix("_joint"): (times, column) for joint, column in zip(joints, values.T, strict=True)}

    energies = {"work of the motors": work, "stored": driven.energy - driven.energy[0], "taken by friction": lost}
    angle, degrees = "φ [rad]", "error [degrees]"
    return Found(
        numbers,
        (
            Panel("motion", "t [s]", angle, each(time, driven.phi), window=(0.0, STOP, -2.2, 4.6), legend="upper left"),
            Panel("torques", "t [s]", "τ [N.m]", each(time[:-1], driven.tau), legend=""),
            Panel("energy", "t [s]", "[J]", {name: (time, values) for name, values in energies.items()}),
            *(
                Panel(f"error, {name}", "t [s]", degrees, each(time, values), legend="")
                for name, values in errors.items()
            ),
            Panel("work - stored - friction", "t [s]", "[J]", {"missing": (time, -missing)}),
        ),
        columns=3,
    )


def main() -> dict[str, float]:
    """Return errors of angles (degrees) and wrist (m), the part of the allowed torques used, and energies (J)."""
    return run().numbers


def rows(found: dict[str, float]) -> Sequence[Row]:
    """Return the rows of the table."""
    table: list[Row] = []
    for name in LAWS:
        error = f"{found[f'{name}, error, rms']:.2g} / {found[f'{name}, error']:.2g} degrees"
        table.append((f"{name}: error of the angles, rms / largest", "-", error))
        table.append((f"{name}: error of the wrist's path", "-", f"{1e3 * found[f'{name}, wrist']:.3f} mm"))
        table.append((f"{name}: most of a joint's allowed torque", "< 100 %", f"{found[f'{name}, effort']:.0%}"))
        energies = f"{found[f'{name}, work']:.4f} / {found[f'{name}, friction']:.4f} J"
        table.append((f"{name}: work of the motors / taken by friction", "-", energies))
        missing = f"{found[f'{name}, missing']:.1e} J of {found[f'{name}, exchanged']:.1f} J"
        table.append((f"{name}: work - stored - friction", "0", missing))
    return table


if __name__ == "__main__":
    present("A six-axis robot in closed loop, 6 s in steps of 1 ms", run, rows, "expected")

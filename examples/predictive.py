"""Model-predictive control of a pendulum on a cart: its equations predict, its FMU is the plant.

Every 50 ms the controller reads cart and pole from the FMU, which FMPy runs, and finds the forces over the next
1.5 s that bring the pole up and the cart to the middle, within the ends of the rail and the force of the drive. It
holds the first of them until the next instant. The prediction is that of `mbfmu.equations`, one step of the classical
Runge-Kutta method for each interval, in a multiple shooting problem that IPOPT solves from the solution before
(Rawlings, Mayne and Diehl, Model Predictive Control, 2nd ed. 2017, ch. 8).

Run: python -m examples.predictive [--plot FILE]
"""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import casadi as ca
import fmpy
import numpy as np
from fmpy.fmi2 import FMU2Slave

import mbfmu
from examples.report import Array, Curves, Found, Panel, Row, present
from mbfmu.model import System

MODEL = "cart_pendulum"
FORCE = "rail.f"
STATES = ("rail.s", "hinge.phi", "rail.v", "hinge.w")
"""Outputs of the FMU that are the state of the equations."""
BEGIN = {"hinge.phi": -np.pi / 2}
"""The pole hangs down, rad."""
PERIOD, HORIZON = 0.05, 30
"""s, and the number of intervals."""
LIMIT, RAIL = 15.0, 0.8
"""Largest force, N, and largest distance of the cart from the middle, m."""
PRICE = 1e3
"""Cost of a meter beyond the rail, in each interval."""
STOP = 5.0


class Controller:
    """The problem of one instant, made once, and its last solution."""

    def __init__(self) -> None:
        equations = mbfmu.equations(MODEL, parameters=())
        opti = self.opti = ca.Opti()
        x, u = opti.variable(4, HORIZON + 1), opti.variable(1, HORIZON)
        self.x, self.u, self.now = x, u, opti.parameter(4)
        f = lambda x, u: equations.rhs(x, u, [], 0.0)  # noqa: E731
        cost = 0
        for k in range(HORIZON):
            k1 = f(x[:, k], u[k])
            k2 = f(x[:, k] + PERIOD / 2 * k1, u[k])
            k3 = f(x[:, k] + PERIOD / 2 * k2, u[k])
            k4 = f(x[:, k] + PERIOD * k3, u[k])
            opti.subject_to(x[:, k + 1] == x[:, k] + PERIOD / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
            # the pole is up where sin(phi) = 1
            cost += 10 * (1 - ca.sin(x[1, k + 1])) + x[0, k + 1] ** 2 + 0.01 * x[3, k + 1] ** 2 + 1e-4 * u[k] ** 2
        last = x[:, -1]
        cost += 100 * (1 - ca.sin(last[1])) + 10 * last[0] ** 2 + ca.sumsqr(last[2:])
        opti.subject_to(x[:, 0] == self.now)
        opti.subject_to(opti.bounded(-LIMIT, ca.vec(u), LIMIT))
        # the ends of the rail at a price, so that there is always a solution
        beyond = opti.variable(1, HORIZON)
        opti.subject_to(ca.vec(beyond) >= 0)
        opti.subject_to(ca.vec(x[0, 1:] - beyond) <= RAIL)
        opti.subject_to(ca.vec(x[0, 1:] + beyond) >= -RAIL)
        opti.minimize(cost + PRICE * ca.sum2(beyond))
        opti.solver("ipopt", {"print_time": False, "expand": True}, {"print_level": 0, "sb": "yes", "max_iter": 200})
        self.iterations = 0
        self.guess: tuple[Any, Any] | None = None

    def force(self, state: Sequence[float]) -> float:
        """Return the force until the next instant, N; state: cart (m), pole (rad) and their rates."""
        self.opti.set_value(self.now, state)
        x, u = self.guess or (np.tile(np.reshape(state, (4, 1)), HORIZON + 1), np.full(HORIZON, 1.0))
        self.opti.set_initial(self.x, x)
        self.opti.set_initial(self.u, np.reshape(u, (1, HORIZON)))
        found = self.opti.solve()
        x, u = np.array(found.value(self.x)), np.array(found.value(self.u)).ravel()
        self.iterations += int(found.stats()["iter_count"])
        # the next problem begins an interval later
        self.guess = np.hstack([x[:, 1:], x[:, -1:]]), np.append(u[1:], u[-1])
        return float(u[0])


@contextmanager
def plant(model: System, folder: Path, step: float = 1e-3) -> Iterator[tuple[FMU2Slave, dict[str, int]]]:
    """Give the FMU of a model, ready to step, and the references of its variables by name."""
    path = mbfmu.export(model, folder / f"{model.name}.fmu", backend="native", step=step)
    description = fmpy.read_model_description(str(path))
    unzipped = fmpy.extract(str(path), str(folder / model.name))
    slave = FMU2Slave(
        guid=description.guid,
        unzipDirectory=unzipped,
        modelIdentifier=description.coSimulation.modelIdentifier,
        instanceName=model.name,
    )
    slave.instantiate()
    try:
        slave.setupExperiment(startTime=0.0)
        slave.enterInitializationMode()
        slave.exitInitializationMode()
        yield slave, {item.name: item.valueReference for item in description.modelVariables}
        slave.terminate()
    finally:
        slave.freeInstance()
        shutil.rmtree(unzipped, ignore_errors=True)


def controlled(stop: float = STOP) -> tuple[Array, Array, int]:
    """Return the states at the instants, shape (n + 1, 4), the forces between them, (n,), and all iterations."""
    controller = Controller()
    states, forces = [], []
    with tempfile.TemporaryDirectory() as folder, plant(mbfmu.load(MODEL, BEGIN), Path(folder)) as (slave, reference):
        shown = [reference[name] for name in STATES]
        for k in range(round(stop / PERIOD)):
            states.append(slave.getReal(shown))
            forces.append(controller.force(states[-1]))
            slave.setReal([reference[FORCE]], [forces[-1]])
            slave.doStep(currentCommunicationPoint=k * PERIOD, communicationStepSize=PERIOD)
        states.append(slave.getReal(shown))
    return np.array(states), np.array(forces), controller.iterations


def run(stop: float = STOP) -> Found:
    """Run the closed loop."""
    states, forces, iterations = controlled(stop)
    time = PERIOD * np.arange(len(states))
    up = np.abs(np.sin(states[:, 1]) - 1) < 1e-3
    settled = len(up) - int(np.argmin(up[::-1])) if not up.all() else 0
    numbers = {
        "angle": float(np.arccos(np.clip(np.sin(states[-1, 1]), -1, 1))),
        "cart": float(abs(states[-1, 0])),
        "farthest": float(np.abs(states[:, 0]).max()),
        "largest force": float(np.abs(forces).max()),
        "up after": float(PERIOD * settled),
        "iterations": iterations / len(forces),
    }
    force: Curves = {"force": (np.repeat(time, 2)[1:-1], np.repeat(forces, 2))}
    cart: Curves = {"cart": (time, states[:, 0])}
    pole: Curves = {"pole": (time, np.degrees(states[:, 1]))}
    panels = (
        Panel("force of the drive", "t [s]", "force [N]", force, legend=""),
        Panel("cart", "t [s]", "position [m]", cart, legend=""),
        Panel("pole", "t [s]", "angle [°]", pole, legend=""),
    )
    return Found(numbers, panels, columns=3)


def rows(found: dict[str, float]) -> Sequence[Row]:
    """Return the rows of the table."""
    return [
        ("the pole is up, within 2.6°, from", "-", f"{found['up after']:.2f} s"),
        ("pole from the vertical at the end", "0", f"{np.degrees(found['angle']):.1g}°"),
        ("cart from the middle at the end", "0", f"{found['cart']:.1e} m"),
        ("cart, farthest from the middle", f"at most {RAIL} m", f"{found['farthest']:.3f} m"),
        ("largest force", f"at most {LIMIT:g} N", f"{found['largest force']:.2f} N"),
        ("iterations of IPOPT for each instant", "-", f"{found['iterations']:.1f}"),
    ]


if __name__ == "__main__":
    present("A pole that is swung up and held by predictive control of its FMU", run, rows, "expected")

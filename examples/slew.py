"""A slewing crane that turns its hanging load by a right angle in the shortest time, and leaves it at rest.

The load hangs on a rope under the tip of a jib; the column has a torque and a rate at most. The equations are those of
`mbfmu.equations`, and stand in the optimisation by direct collocation after Hermite and Simpson (Betts, Practical
Methods for Optimal Control and Estimation Using Nonlinear Programming, 2nd ed. 2010, ch. 4), as in
`examples/optimal_control.py`: torques are lines over each interval, whose length h is an unknown too. IPOPT solves it
with exact derivatives. A stepper then runs the crane with the torques; beside it the fastest slew of a crane whose load
cannot swing, with the load.

Run: python -m examples.slew [--plot FILE]
"""

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

import mbfmu
from examples.report import Array, Curves, Found, Panel, Row, present
from mbfmu.model import Body, BodyShape, FixedTranslation, Revolute, System, Universal, World, connect

ANGLE = np.pi / 2
"""The slew, rad."""
TORQUE, RATE = 4000.0, 0.35
"""Largest torque of the column, N.m, and its largest rate, rad/s."""
STATES = ("slew.phi", "rope.phi_a", "rope.phi_b")
INTERVALS = 60
AFTER = 6.0
"""Time that the load is watched after the slew, s."""


def crane() -> System:
    """Return the crane: a column that turns about the vertical, a jib of 8 m, and a load of 200 kg on 4 m of rope."""
    return System(
        name="slewing_crane",
        description="A slewing crane with a load on a rope",
        components=(
            World(g=9.81, n=(0, 0, -1)),
            Revolute("slew", n=(0, 0, 1), phi=0.0, w=0.0, actuated=True),
            BodyShape("jib", m=300.0, r=(8.0, 0, 0), r_CM=(3.0, 0, 0), I_11=10.0, I_22=1600.0, I_33=1600.0),
            Universal("rope", n_a=(1, 0, 0), n_b=(0, 1, 0), phi_a=0.0, phi_b=0.0, w_a=0.0, w_b=0.0),
            FixedTranslation("length", r=(0, 0, -4.0)),
            Body("load", m=200.0, I_11=10.0, I_22=10.0, I_33=10.0),
        ),
        connections=(
            connect("world.frame_b", "slew.frame_a"),
            connect("slew.frame_b", "jib.frame_a"),
            connect("jib.frame_b", "rope.frame_a"),
            connect("rope.frame_b", "length.frame_a"),
            connect("length.frame_b", "load.frame_a"),
        ),
    )


class Slew(NamedTuple):
    """A slew: its time (s), torques at the ends of equal intervals (N.m), and the iterations of the solver."""

    time: float
    torques: Array
    iterations: int


def fastest(intervals: int = INTERVALS) -> Slew:
    """Return the fastest slew from rest to rest, of crane and load."""
    equations = mbfmu.equations(crane(), parameters=())
    if equations.names["q"] != STATES:
        raise ValueError(f"other coordinates than expected: {equations.names['q']}")
    n = equations.sizes["x"]
    opti = ca.Opti()
    x, u, h = opti.variable(n, intervals + 1), opti.variable(1, intervals + 1), opti.variable()
    f = lambda x, u: equations.rhs(x, TORQUE * u, [], 0.0)  # noqa: E731 - torques are parts of the largest
    rates = [f(x[:, k], u[k]) for k in range(intervals + 1)]
    for k in range(intervals):
        # the point in the middle, and the defect of Simpson's rule over the interval
        middle = (x[:, k] + x[:, k + 1]) / 2 + h * (rates[k] - rates[k + 1]) / 8
        between = f(middle, (u[k] + u[k + 1]) / 2)
        opti.subject_to(x[:, k + 1] - x[:, k] - h * (rates[k] + 4 * between + rates[k + 1]) / 6 == 0)
    end = np.zeros(n)
    end[0] = ANGLE
    opti.subject_to(x[:, 0] == np.zeros(n))
    opti.subject_to(x[:, -1] == end)
    opti.subject_to(opti.bounded(-1, ca.vec(u), 1))
    opti.subject_to(opti.bounded(-RATE, ca.vec(x[3, :]), RATE))
    opti.subject_to(h >= 1e-3)
    opti.minimize(intervals * h)
    opti.set_initial(h, 2 * ANGLE / RATE / intervals)
    guess = np.linspace(np.zeros(n), end, intervals + 1).T
    guess[3, 1:-1] = RATE / 2
    opti.set_initial(x, guess)
    opti.solver("ipopt", {"print_time": False, "expand": True}, {"print_level": 0, "sb": "yes", "max_iter": 500})
    found = opti.solve()
    torques = TORQUE * np.array(found.value(u), dtype=np.float64).ravel()
    return Slew(intervals * float(found.value(h)), torques, int(found.stats()["iter_count"]))


def rigid(intervals: int = 600) -> Slew:
    """Return the fastest slew of the crane if its load could not swing: full torque, full rate, full torque back."""
    equations = mbfmu.equations(crane(), parameters=())
    still = equations.start._replace(v=np.array([0.0, 0.0, 0.0]))
    inertia = float(equations.mass(still.q, still.p, 0.0)[0, 0])
    begin = RATE * inertia / TORQUE
    time = begin + ANGLE / RATE
    at = np.linspace(0.0, time, intervals + 1)
    torques = np.where(at < begin, TORQUE, np.where(at > time - begin, -TORQUE, 0.0))
    return Slew(time, torques, 0)


def followed(slew: Slew, step: float = 2e-3) -> mbfmu.Result:
    """Return a run of the crane with these torques, and then without any."""
    at = np.linspace(0.0, slew.time, len(slew.torques))

    def torque(time: float) -> float:
        return float(np.interp(time, at, slew.torques, right=0.0))

    return mbfmu.simulate(crane(), slew.time + AFTER, inputs={"slew.tau": torque}, step=step, error_samples=0)


def sway(result: mbfmu.Result, since: float) -> float:
    """Return the largest angle of the rope from the vertical from a time on, rad."""
    cosine = np.cos(result["rope.phi_a"]) * np.cos(result["rope.phi_b"])
    return float(np.arccos(np.clip(cosine, -1.0, 1.0))[result.time > since].max())


def run(intervals: int = INTERVALS) -> Found:
    """Find the fastest slew, and run the crane with it and with that of a load that cannot swing."""
    numbers: dict[str, float] = {}
    torques: Curves = {}
    angles: Curves = {}
    path: Curves = {}
    for name, slew in {"load that swings": fastest(intervals), "fixed load": rigid()}.items():
        result = followed(slew)
        numbers |= {f"time, {name}": slew.time, f"sway, {name}": sway(result, slew.time)}
        numbers |= {f"angle, {name}": float(result["slew.phi"][-1])}
        numbers |= {f"iterations, {name}": float(slew.iterations)}
        torques[name] = result.time, result["slew.tau"] / 1000
        angles[name] = result.time, np.degrees(result["slew.phi"])
        path[name] = result["load.r_0[1]"], result["load.r_0[2]"]
    panels = (
        Panel("torque of the column", "t [s]", "torque [kN.m]", torques),
        Panel("angle of the column", "t [s]", "angle [°]", angles, legend=""),
        Panel("the load from above", "x [m]", "y [m]", path, equal=True, legend=""),
    )
    return Found(numbers, panels, columns=3)


def rows(found: dict[str, float]) -> Sequence[Row]:
    """Return the rows of the table."""
    return [
        ("time of the slew", "-", f"{found['time, load that swings']:.3f} s"),
        ("time, if the load could not swing", "less", f"{found['time, fixed load']:.3f} s"),
        ("sway after the slew", "0", f"{np.degrees(found['sway, load that swings']):.2g}°"),
        ("sway after that of a load that cannot swing", "-", f"{np.degrees(found['sway, fixed load']):.2g}°"),
        ("iterations of IPOPT", "-", f"{found['iterations, load that swings']:.0f}"),
    ]


if __name__ == "__main__":
    present("A crane that slews its load by 90° and leaves it at rest", run, rows, "expected")

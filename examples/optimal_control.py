"""An optimal control over an FMU: CasADi reads it by its DaeBuilder, and IPOPT finds the torques that swing an arm up.

The problem is that of `examples/swing.py`, which follows runs of a stepper and their gradients. Here the equations of
the FMU stand in the optimisation themselves, by direct collocation after Hermite and Simpson (Betts, Practical Methods
for Optimal Control and Estimation Using Nonlinear Programming, 2nd ed. 2010, ch. 4): torques are lines over each
interval, and over it

    x_1/2 = (x_0 + x_1)/2 + h (f_0 - f_1)/8,    x_1 = x_0 + h (f_0 + 4 f_1/2 + f_1)/6.

Run: python -m examples.optimal_control
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import casadi as ca
import fmpy
import numpy as np

import mbfmu

MODEL, STOP = "two_link", 1.0
STATES = ("shoulder.phi", "elbow.phi", "rate.shoulder.phi", "rate.elbow.phi")
TORQUES = ("shoulder.tau", "elbow.tau")
BEGIN, END = (-np.pi / 2, 0.0, 0.0, 0.0), (np.pi / 2, 0.0, 0.0, 0.0)
"""Hanging and upright, both at rest: rad and rad/s."""
LIMIT = 60.0
"""Largest torque of a joint, N.m."""
INTERVALS = 40
FMI = "3.0"


def right_side(folder: Path) -> Any:
    """Return the time derivatives of the arm's states as a CasADi Function (x, u), which calls an FMU in a folder.

    The FMU gives its Jacobian too: by directional derivatives, where its description declares a dependency.
    """
    path = mbfmu.export(MODEL, folder / f"{MODEL}.fmu", kind="me", backend="native", fmi=FMI)
    dae = ca.DaeBuilder(MODEL, str(fmpy.extract(str(path), str(folder / MODEL))))
    if dae.x() != [f"state.{name}" for name in STATES] or dae.u() != list(TORQUES):
        raise ValueError(f"other states or inputs than expected: {dae.x()}, {dae.u()}")
    return dae.create("f", ["x", "u"], ["ode"])


def solve(f: Any, intervals: int = INTERVALS) -> tuple[Any, Any, int]:
    """Return states and torques at the ends of the intervals, shapes (4, n + 1) and (2, n + 1), and the iterations.

    Args:
        f: the right side, see `right_side`.
        intervals: their number n, of equal length.
    """
    h = STOP / intervals
    opti = ca.Opti()
    x, u = opti.variable(len(STATES), intervals + 1), opti.variable(len(TORQUES), intervals + 1)
    rates = [f(x[:, k], u[:, k]) for k in range(intervals + 1)]
    effort = 0
    for k in range(intervals):
        # the point in the middle, and the defect of Simpson's rule over the interval
        middle = (x[:, k] + x[:, k + 1]) / 2 + h * (rates[k] - rates[k + 1]) / 8
        torques = (u[:, k] + u[:, k + 1]) / 2
        defect = x[:, k + 1] - x[:, k] - h * (rates[k] + 4 * f(middle, torques) + rates[k + 1]) / 6
        opti.subject_to(defect == 0)
        effort += h * (ca.sumsqr(u[:, k]) + 4 * ca.sumsqr(torques) + ca.sumsqr(u[:, k + 1])) / 6
    opti.minimize(effort)
    opti.subject_to(x[:, 0] == ca.DM(BEGIN))
    opti.subject_to(x[:, -1] == ca.DM(END))
    opti.subject_to(opti.bounded(-LIMIT, ca.vec(u), LIMIT))
    opti.set_initial(x, np.linspace(BEGIN, END, intervals + 1).T)
    quiet = {"print_level": 0, "sb": "yes", "hessian_approximation": "limited-memory", "max_iter": 500}
    opti.solver("ipopt", {"print_time": False}, quiet)
    found = opti.solve()
    return found.value(x), found.value(u), int(found.stats()["iter_count"])


def run_again(torques: Any, folder: Path) -> float:
    """Return how far from upright the arm is after a run of a stepper with these torques, rad and rad/s."""
    table = folder / "torques.csv"
    rows = np.vstack([np.linspace(0.0, STOP, torques.shape[1]), torques]).T
    np.savetxt(table, rows, delimiter=",", header=",".join(("time", *TORQUES)), comments="")
    how = {"values": {"shoulder.phi": BEGIN[0]}, "inputs": dict.fromkeys(TORQUES, str(table)), "step": 1e-3}
    end = mbfmu.simulate(mbfmu.load(MODEL), STOP, **how)
    shown = ("shoulder.phi", "elbow.phi", "shoulder.w", "elbow.w")
    return max(abs(float(end[name][-1]) - value) for name, value in zip(shown, END, strict=True))


def main(numbers: Sequence[int] = (INTERVALS,)) -> dict[str, float]:
    """Return for each number of intervals the effort (N.m), the iterations, and how far off a stepper then ends."""
    measured: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        f = right_side(Path(name))
        for intervals in numbers:
            _, torques, iterations = solve(f, intervals)
            ends = torques[:, :-1], torques[:, 1:]  # the mean square of lines
            squares = np.mean(ends[0] ** 2 + ends[0] * ends[1] + ends[1] ** 2, axis=1) / 3
            measured[f"effort, {intervals}"] = float(np.sqrt(squares.sum()))
            measured[f"iterations, {intervals}"] = float(iterations)
            measured[f"away, {intervals}"] = run_again(torques, Path(name))
    return measured


if __name__ == "__main__":
    for name, value in main((INTERVALS, 2 * INTERVALS)).items():
        print(f"{name:14s} {value:.6g}")

"""Make lugre.csv and backlash.csv: what sensors would see of two machines, computed by SciPy alone.

Nothing of mbfmu is used. The first is a mass with the friction of Canudas de Wit, Olsson, Astrom and Lischinsky (A new
model for control of systems with friction, IEEE Transactions on Automatic Control 40(3), 1995, pp. 419-425, equations
1 to 4), pushed by a force. The second is a motor that turns a wheel through teeth with play (Nordin and Gutman,
Controlling mechanical systems with backlash - a survey, Automatica 38(10), 2002, pp. 1633-1649, rigid teeth), which
meet with a restitution, stay together after a rebound slower than `rest`, and part where they would have to pull.
Inputs are lines between the rows of the tables.

Run: python tests/references/make_measured.py
"""

from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

FOLDER = Path(__file__).parent
ACCURACY = {"rtol": 1e-10, "atol": 1e-13}
SHORTEST = 1e-4
"""A twelfth of the shortest time between two hits, s: no step of the integrator leaps over it."""


def write(name, **columns):
    rows = np.transpose(list(columns.values()))
    np.savetxt(FOLDER / name, rows, "%.10g", ",", header=",".join(columns).replace("__", "."), comments="")


def lugre(m=1.0, f_c=1.0, f_s=1.5, v_s=0.02, sigma_0=1000.0, sigma_1=20.0, sigma_2=0.4):
    time = 0.01 * np.arange(401)
    force = 1.3 * np.sin(2 * np.pi * 0.5 * time) + 0.9 * np.sin(2 * np.pi * 1.3 * time)

    def rates(t, x):
        _, v, z = x
        g = f_c + (f_s - f_c) * np.exp(-((v / v_s) ** 2))
        z_rate = v - sigma_0 * abs(v) * z / g
        friction = sigma_0 * z + sigma_1 * z_rate + sigma_2 * v
        return v, (np.interp(t, time, force) - friction) / m, z_rate

    s = [0.0]
    x = np.zeros(3)
    for begin, end in pairwise(time):
        x = solve_ivp(rates, (begin, end), x, "Radau", **ACCURACY).y[:, -1]
        s.append(x[0])
    write("lugre.csv", time=time, rail__f=force, rail__s=s)


def backlash(J_a=0.02, J_b=0.05, d_b=0.05, play=0.06, offset=0.01, e=0.4, rest=5e-3):
    time = 0.01 * np.arange(301)
    torque = 0.12 * np.sin(2 * np.pi * 0.9 * time + 0.4) + 0.05 * np.sin(2 * np.pi * 2.3 * time)

    def rates(t, x, touching):
        _, _, w_a, w_b = x
        tau = np.interp(t, time, torque)
        if touching:
            together = (tau - d_b * w_b) / (J_a + J_b)
            return w_a, w_b, together, together
        return w_a, w_b, tau / J_a, -d_b * w_b / J_b

    def push(t, x, touching):
        """Return what the tooth of a exerts on that of b, along the side on which they touch, N.m."""
        return touching * (J_b * rates(t, x, True)[3] + d_b * x[3])

    def gap(side):
        return lambda _t, x, _touching: play / 2 - side * (x[0] - x[1] - offset)

    meeting, parting = (gap(1), gap(-1)), (push,)
    for event in (*meeting, push):
        event.direction, event.terminal = -1, True
    x, touching = np.array([offset, 0.0, 0.0, 0.0]), 0
    rows, hits = [x[:2]], 0
    for begin, end in pairwise(time):
        at = begin
        while at < end:
            events = parting if touching else meeting
            run = solve_ivp(rates, (at, end), x, args=(touching,), events=events, max_step=SHORTEST, **ACCURACY)
            x, at = run.y[:, -1], run.t[-1]
            if run.status == 1 and touching:
                touching = 0
            elif run.status == 1:
                hits += 1
                side = 1 if len(run.t_events[0]) else -1
                u = x[2] - x[3]
                after = -e * u if e * abs(u) > rest else 0.0
                impulse = (after - u) / (1 / J_a + 1 / J_b)
                x = x + np.array([0.0, 0.0, impulse / J_a, -impulse / J_b])
                touching = side if after == 0.0 and push(at, x, side) > 0 else 0
        rows.append(x[:2])
    print(hits, "hits")
    a, b = np.transpose(rows)
    write("backlash.csv", time=time, a__tau=torque, a__phi=a, b__phi=b)


if __name__ == "__main__":
    lugre()
    backlash()

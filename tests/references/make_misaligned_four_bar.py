"""Make misaligned_four_bar.json: positions at rest of the four-bar mechanism over a turn of its crank.

The bars are geometrically exact beams. From A to D, with the force f, which is constant, and the moment m in the
section,

    r' = R (e + F),    R' = R K~,    m' = f x r',
    F = f_1/EA along the bar, f_2/GA_s, f_3/GA_s across it,    K = m_1/GI_t, m_2/EI, m_3/EI,

seen from the section, and a rotation of any angle at each hinge. Of f and m at A and the angles at B and C, eight
unknowns, the end has to be at D, its axis along that of D, and no hinge has a moment about its axis: Newton's method,
with derivatives by complex steps, and Runge-Kutta's steps along the bars. The crank goes on in small steps, smaller
ones where all bars lie in a line, for neighbouring positions to be of one branch.

The second route is mbfmu's own motion: with beams of modes, without and with shear, and with geometrically exact lines
of two elements for each bar, which take a smooth start of the crank. The largest differences after 10 degrees, and
more than 5 degrees from the positions in line, stand in the file.

Run: python tests/references/make_misaligned_four_bar.py
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.interpolate import CubicSpline

import mbfmu
from mbfmu.model import AxisMotion, Beam, Component, FlexibleLine

Array = npt.NDArray[Any]

E, G = 207e9, 207e9 / 2.6
LENGTHS, SIDES = (0.12, 0.24, 0.12), (0.016, 0.016, 0.008)
ALONG = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
NORMAL, D = np.array([0.0, 0.0, 1.0]), np.array([0.24, 0.0, 0.0])
TILTED = np.array([np.sin(np.radians(5.0)), 0.0, np.cos(np.radians(5.0))])
UNITS = np.array([1e3, 1e3, 1e3, 1e2, 1e2, 1e2, 1.0, 1.0])
STEPS = 12
OMEGA = 0.6
NAMES = (
    "D.phi", "joint_C.r[1]", "joint_C.r[2]", "joint_C.r[3]", "A.frame_b.f[1]", "A.frame_b.f[2]", "A.frame_b.f[3]",
    "A.frame_b.t[1]", "A.frame_b.t[2]", "A.frame_b.t[3]",
)  # fmt: skip
"""The model's outputs: rad, m, and force, N, and moment, N.m, in the crank at A, seen from there."""


def cross(a: Array, b: Array) -> Array:
    """Return a x b, sooner than NumPy does for single vectors."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def turned(Q: Array, v: Array) -> Array:
    """Return a vector turned by a quaternion."""
    c = 2 * cross(Q[1:], v)
    return v + Q[0] * c + cross(Q[1:], c)


def product(P: Array, Q: Array) -> Array:
    """Return the product of two quaternions."""
    return np.append(P[0] * Q[0] - P[1:] @ Q[1:], P[0] * Q[1:] + Q[0] * P[1:] + cross(P[1:], Q[1:]))


def about(n: Array, angle: Any) -> Array:
    """Return the quaternion of a rotation about an axis."""
    return np.append(np.cos(angle / 2), np.sin(angle / 2) * n)


def bar(number: int, start: Array, f: Array) -> Array:
    """Return place, quaternion and moment at the end of a bar, from those at its start."""
    e, h = ALONG[number], SIDES[number]
    EA, GA, GI, EI = E * h**2, 0.8281 * G * h**2, 0.14058 * G * h**4, E * h**4 / 12

    def rate(y: Array) -> Array:
        Q, m = y[3:7], y[7:]
        back = Q * np.array([1.0, -1.0, -1.0, -1.0])
        own_f, own_m = turned(back, f), turned(back, m)
        strain = own_f / GA + (e @ own_f) * (1 / EA - 1 / GA) * e
        bent = own_m / EI + (e @ own_m) * (1 / GI - 1 / EI) * e
        r_s = turned(Q, e + strain)
        return np.concatenate([r_s, product(Q, np.append(0.0, bent)) / 2, cross(f, r_s)])

    y, count = start, round(STEPS * LENGTHS[number] / 0.12)
    ds = LENGTHS[number] / count
    for _ in range(count):
        k1 = rate(y)
        k2 = rate(y + ds / 2 * k1)
        k3 = rate(y + ds / 2 * k2)
        y = y + ds / 6 * (k1 + 2 * k2 + 2 * k3 + rate(y + ds * k3))
    return y


def ends(x: Array, crank: float) -> list[Array]:
    """Return the ends of the three bars for the unknowns."""
    x = x * UNITS
    hinges = [about(NORMAL, crank), about(NORMAL, x[6]), about(TILTED, x[7])]
    found, y = [], np.concatenate([np.zeros(3), [1.0, 0.0, 0.0, 0.0], x[3:6]])
    for number, hinge in enumerate(hinges):
        y = bar(number, np.concatenate([y[:3], product(y[3:7], hinge), y[7:]]), x[:3])
        found.append(y)
    return found


def residual(x: Array, crank: float) -> Array:
    """Return what is to be zero, in units of about one."""
    found = ends(x, crank)
    free = [turned(y[3:7], n) @ y[7:] for y, n in zip(found, (NORMAL, TILTED, NORMAL), strict=True)]
    axis = turned(found[2][3:7], NORMAL)
    return np.concatenate([np.array(free) / 10, 100 * (found[2][:3] - D), 10 * axis[:2]])


def rest(guess: Array, crank: float) -> Array:
    """Return the unknowns of the position at rest by Newton's method."""
    x = guess
    for _ in range(30):
        columns = [residual(x + 1e-30j * unit, crank).imag / 1e-30 for unit in np.eye(8)]
        dx = np.linalg.solve(np.column_stack(columns), residual(x, crank))
        x = x - dx
        if np.abs(dx).max() < 1e-11:
            return x
    raise ValueError(f"no position at rest found at {np.degrees(crank)} degrees")


def positions(sign: float = -1.0) -> tuple[Array, Array]:
    """Return angles of the crank, degrees, and a row of values for each."""
    steps = np.unique(np.round([*np.arange(0, 360.1, 2.5), *np.arange(86, 94, 0.1), *np.arange(266, 274, 0.1)], 6))
    rows, last, x = [], np.zeros(8), np.zeros(8)
    for k, angle in enumerate(steps):
        crank = sign * np.radians(angle)
        ahead = (angle - steps[k - 1]) / (steps[k - 1] - steps[k - 2]) if k > 1 else 0.0
        last, x = x, rest(x + ahead * (x - last), crank)
        _, at_C, at_D = ends(x, crank)
        back, load = about(NORMAL, -crank), x * UNITS
        D_phi = 2 * np.arctan2(at_D[6], at_D[3])
        rows.append([D_phi, *at_C[:3], *turned(back, load[:3]), *turned(back, load[3:6])])
    return steps, np.array(rows)


def moved(shear: int = 0, elements: int = 0) -> mbfmu.Result:
    """Return the motion of the model over a turn, with beams or with lines."""
    model = mbfmu.load("misaligned_four_bar", {"shear": shear})

    def other(item: Component) -> Component:
        if isinstance(item, AxisMotion):
            return replace(item, s="Omega*(time + 0.02*(exp(-time/0.02) - 1))")
        if not isinstance(item, Beam):
            return item
        same = {name: getattr(item, name) for name in ("L", "rho", "A", "E", "G", "I_z", "I_y", "I_t")}
        return FlexibleLine(item.name, **same, k_y=0.8281, k_z=0.8281, elements=elements)

    if elements:
        model = replace(model, components=tuple(other(item) for item in model.components))
    return mbfmu.simulate(model, 12.0, step=5e-3, output_interval=0.01)


def main() -> None:
    """Compute the positions, compare the motion with them, write the file."""
    steps, values = positions()
    coarse = np.isin(steps, np.arange(0, 360.1, 2.5))
    away = coarse & (np.abs(steps % 180 - 90) > 5) & (steps > 10)
    differences = {}
    ways: tuple[tuple[str, dict[str, int], float], ...] = (
        ("beams", {}, 0.0),
        ("beams, shear=1", {"shear": 1}, 0.0),
        ("lines, elements=2", {"elements": 2}, 0.02),
    )
    for label, given, late in ways:
        run = moved(**given)
        times = np.radians(steps[away]) / OMEGA + late
        found = np.column_stack([CubicSpline(run.time, run[name])(times) for name in NAMES])
        largest = np.abs(found - values[away]).max(axis=0)
        differences[label] = {name: float(f"{x:.3g}") for name, x in zip(NAMES, largest, strict=True)}
        print(label, differences[label])
    extremes = {name: [column.min(), column.max()] for name, column in zip(NAMES, values.T, strict=True)}
    content = {
        "problem": "misaligned_four_bar: positions at rest over a turn of the crank, by its angle, degrees",
        "source": "geometrically exact beams by a shooting method, made by make_misaligned_four_bar.py",
        "names": NAMES,
        "crank": steps[coarse].tolist(),
        "rest": [[float(f"{x:.9g}") for x in row] for row in np.round(values[coarse], 9)],
        "extremes": {name: [float(f"{x:.6g}") for x in pair] for name, pair in extremes.items()},
        "differences": differences,
    }
    Path(__file__).with_name("misaligned_four_bar.json").write_text(json.dumps(content) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

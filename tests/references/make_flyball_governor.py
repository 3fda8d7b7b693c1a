"""Make flyball_governor.json: the stiff governor in the shaft's angle psi, the slider's height s and the arms' angle a.

Both arms move alike, a below the horizontal. With rho(x) = r + x cos a and z(x) = 1 - x sin a on an arm,

    T = J(a) psi'^2/2 + m_s s'^2/2 + B a'^2/2,    V = m_s g s + 2 g sum m z + K (l - l0)^2
    l^2 = (cos a/2)^2 + (1 - sin a/2 - s)^2,      J psi' constant,    dampers: Q = -2 C l' dl/dq

Extrapolation in 80-bit arithmetic at two steps. The second route is mbfmu's own equations in absolute and joint
coordinates with the order-8 stepper `projected` at two steps; the differences stand in the file.

Run: python tests/references/make_flyball_governor.py
"""

import json
from pathlib import Path

import numpy as np
from extrapolation import Column, integrate
from numpy import longdouble as real

import mbfmu

PI, G = real("3.14159265358979323846"), real("9.81")
M_ROD, M_BALL, M_SLIDER, M_SHAFT = real("0.3"), real(5), real(3), real("0.3")
THIN, LONG = M_ROD * real("2e-4") / 12, M_ROD * real("1.0001") / 12
CUBE = M_SLIDER * real("0.02") / 12
K, C, L0, R = real(800000), real(40000), real("0.5"), real("0.05")
LEVER = M_ROD / 4 + LONG + M_BALL


def inertia(a: np.longdouble) -> tuple[np.longdouble, np.longdouble]:
    """Return J about the shaft and its derivative."""
    c, s = np.cos(a), np.sin(a)
    arms = M_ROD * (R + c / 2) ** 2 + LONG * c**2 + THIN * s**2 + M_BALL * (R + c) ** 2
    slope = -M_ROD * (R + c / 2) * s + 2 * (THIN - LONG) * s * c - 2 * M_BALL * (R + c) * s
    return THIN * M_SHAFT / M_ROD + CUBE + 2 * arms, 2 * slope


START = PI / 6
SPIN = inertia(START)[0] * 2 * PI


def rate(y: Column) -> Column:
    """Return the derivatives of (psi, s, a, s', a')."""
    _, s, a, ds, da = y
    J, slope = inertia(a)
    out, down = np.cos(a) / 2, 1 - np.sin(a) / 2 - s
    length = np.sqrt(out**2 + down**2)
    l_s, l_a = -down / length, (-out * np.sin(a) / 2 - down * np.cos(a) / 2) / length
    pull = 2 * K * (length - L0) + 2 * C * (l_s * ds + l_a * da)
    w = SPIN / J
    weight = 2 * G * np.cos(a) * (M_ROD / 2 + M_BALL)
    return np.array([w, ds, da, -G - pull * l_s / M_SLIDER, (slope * w**2 / 2 + weight - pull * l_a) / (2 * LEVER)])


def main() -> None:
    """Integrate over 10 s, compare with the model, write the file."""
    times = [0.1, 0.2, 0.5, *map(float, range(1, 11))]
    y0 = np.array([0, real("0.5"), START, 0, 0])
    coarse, fine = (np.array(integrate(rate, y0, times, H, 6)) for H in (2.5e-4, 2e-4))
    names = ("shaft.phi", "slider.s", "arm1.phi", "slider.v", "arm1.w", "shaft.w")
    columns = [*fine.T, [SPIN / inertia(a)[0] for a in fine[:, 2]]]
    apart = {"extrapolation, two steps": float(np.abs(coarse - fine).max())}
    for kind, h in ((kind, h) for kind in ("absolute", "joint") for h in (1e-4, 5e-5)):
        own = mbfmu.simulate(
            mbfmu.load("flyball_governor"), 10.0, stepper="projected", options={"order": 8}, step=h,
            output_interval=0.1, coordinates=kind,
        )  # fmt: skip
        rows = [round(t / 0.1) for t in times]
        apart[f"mbfmu, {kind} coordinates, projected order=8, {h:g} s"] = max(
            float(np.abs(own[name][rows] - np.array(values)).max()) for name, values in zip(names, columns, strict=True)
        )
    print(apart)
    data = {
        "problem": "flyball_governor: IFToMM multibody benchmark A05 over 10 s",
        "source": "extrapolation in 80-bit arithmetic in psi, s and a, made by make_flyball_governor.py",
        "differences": apart,
        "parameters": {},
        "t": times,
        **{
            name: [np.format_float_positional(x, precision=19) for x in values]
            for name, values in zip(names, columns, strict=True)
        },
    }
    text = json.dumps(data, indent=1) + "\n"
    Path(__file__).with_name("flyball_governor.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

"""Make bricard.json, four_bar.json, spatial_slider_crank.json: loops with one freedom, reduced to their crank angle.

With w_i(theta) the positions of the masses c_i, and for rotations the axes e_k of a body with c_k = (J_1 + J_2 + J_3)/2
- J_k,

    T = I(theta) theta'^2/2,    I = sum c_i |w_i'|^2,    I theta'' = -I'/2 theta'^2 - V'

so that only the closed loop, solved by square roots, and its first two derivatives are needed (forward differentiation,
`Jet`). Extrapolation in 80-bit arithmetic at two steps; the second route is mbfmu's own equations in absolute
and joint coordinates with the order-8 stepper `projected` at two steps. The differences stand in the files.

Run: python tests/references/make_one_freedom.py
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from extrapolation import Column, integrate
from numpy import longdouble as real

import mbfmu

G = real("9.81")


@dataclass(frozen=True)
class Jet:
    """A function of one variable: value, first and second derivative."""

    v: Any
    d: Any = 0
    dd: Any = 0

    def __add__(self, other: Any) -> "Jet":
        o = jet(other)
        return Jet(self.v + o.v, self.d + o.d, self.dd + o.dd)

    def __mul__(self, other: Any) -> "Jet":
        o = jet(other)
        return Jet(self.v * o.v, self.d * o.v + self.v * o.d, self.dd * o.v + 2 * self.d * o.d + self.v * o.dd)

    def __sub__(self, other: Any) -> "Jet":
        return self + jet(other) * -1

    def of(self, f: Any, df: Any, ddf: Any) -> "Jet":
        """Return the function whose value and derivatives at v are given, applied to this one."""
        return Jet(f, df * self.d, ddf * self.d**2 + df * self.dd)

    def sin(self) -> "Jet":
        """Return the sine."""
        s, c = np.sin(self.v), np.cos(self.v)
        return self.of(s, c, -s)

    def cos(self) -> "Jet":
        """Return the cosine."""
        s, c = np.sin(self.v), np.cos(self.v)
        return self.of(c, -s, -c)

    def power(self, p: Any) -> "Jet":
        """Return this to a constant power."""
        return self.of(self.v**p, p * self.v ** (p - 1), p * (p - 1) * self.v ** (p - 2))


def jet(x: Any) -> Jet:
    """Return a constant as a function."""
    return x if isinstance(x, Jet) else Jet(real(x))


Vector = tuple[Jet, ...]
Masses = list[tuple[Any, Vector]]


def dot(a: Vector, b: Vector) -> Jet:
    """Return the scalar product."""
    total = jet(0)
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def scaled(a: Vector, k: Any) -> Vector:
    """Return k times a vector."""
    return tuple(x * k for x in a)


def plus(a: Vector, b: Vector) -> Vector:
    """Return the sum of two vectors."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


def unit(a: Vector) -> Vector:
    """Return the direction of a vector."""
    return scaled(a, dot(a, a).power(real(-1) / 2))


def cross(a: Vector, b: Vector) -> Vector:
    """Return the vector product."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def four_bar(theta: Jet) -> tuple[Masses, Jet, dict[str, Jet]]:
    """Return masses, potential and outputs: crank 0.5, coupler 1.2, rocker 1.0, bearings 1.3 m apart, 1 kg/m."""
    d, l1, l2, l3 = (real(x) for x in ("1.3", "0.5", "1.2", "1.0"))
    e1 = (theta.cos(), theta.sin())
    B, D = scaled(e1, l1), (jet(d), jet(0))
    gap = plus(D, scaled(B, -1))
    length2 = dot(gap, gap)
    along = (length2 + (l2**2 - l3**2)) * length2.power(-1) * (real(1) / 2)
    height = (length2.power(-1) * l2**2 - along * along).power(real(1) / 2)
    C = plus(B, (gap[0] * along - gap[1] * height, gap[1] * along + gap[0] * height))
    e2, e3 = scaled(plus(C, scaled(B, -1)), 1 / l2), scaled(plus(C, scaled(D, -1)), 1 / l3)
    middles = scaled(B, real(1) / 2), scaled(plus(B, C), real(1) / 2), scaled(plus(D, C), real(1) / 2)
    masses: Masses = list(zip((l1, l2, l3), middles, strict=True))
    masses += [(length**3 / 12, e) for length, e in ((l1, e1), (l2, e2), (l3, e3))]
    V = middles[0][1] * l1 + middles[1][1] * l2 + middles[2][1] * l3
    return masses, V * G, {"bar3.frame_b.r_0[1]": C[0], "bar3.frame_b.r_0[2]": C[1]}


def spatial_slider_crank(theta: Jet) -> tuple[Masses, Jet, dict[str, Jet]]:
    """Return masses, potential and outputs: see the model of that name."""
    lAB, lBC, yA, zA = (real(x) for x in ("0.08", "0.3", "0.1", "0.12"))
    B = (jet(0), jet(yA) - theta.sin() * lAB, jet(zA) + theta.cos() * lAB)
    x = (jet(lBC**2) - B[1] * B[1] - B[2] * B[2]).power(real(1) / 2)
    C = (x, jet(0), jet(0))
    e1 = scaled(plus(C, scaled(B, -1)), 1 / lBC)
    e2 = unit(cross((jet(1), jet(0), jet(0)), e1))
    e3 = cross(e1, e2)
    middle = scaled(plus(B, C), real(1) / 2)
    J1, J2 = real("4e-4"), real("4e-3")
    masses: Masses = [(real("1e-4"), (theta.cos(), theta.sin())), (real("0.5"), middle), (real(2), C)]
    masses += [(J2 - J1 / 2, e1), (J1 / 2, e2), (J1 / 2, e3)]
    return masses, middle[2] * real("0.5") * G, {"slider.s": x}


def bricard(theta: Jet) -> tuple[Masses, Jet, dict[str, Jet]]:
    """Return masses, potential and outputs: with sin b = sin a/(1 + sin a), box bars of 1 x 0.1 x 0.1 m."""
    zero, one = jet(0), jet(1)
    sa, ca = theta.sin(), theta.cos()
    sb = sa * (one + sa).power(-1)
    cb = (one - sb * sb).power(real(1) / 2)
    points = [
        (zero, zero, zero), (ca, zero, sa * -1), (ca * (one - sb), cb * -1, sb * -1),
        (ca, cb * (one + sa) * -1, one - sa), (zero, cb * -1, one - sb), (zero, zero, one),
    ]  # fmt: skip
    along, across = real("0.02") / 12, real("1.01") / 12
    masses: Masses = []
    V, normal = zero, (zero, one, zero)
    for a, b in pairwise(points):
        e, middle = plus(b, scaled(a, -1)), scaled(plus(a, b), real(1) / 2)
        other = cross(e, normal)
        masses += [(real(1), middle), (across - along / 2, e), (along / 2, normal), (along / 2, other)]
        V, normal = V + middle[1] * G, other
    shown = {f"p{i}.r[{k + 1}]": points[i][k] for i in (1, 2, 3, 4) for k in range(3)}
    return masses, V, shown


def make(
    model: Callable[[Jet], tuple[Masses, Jet, dict[str, Jet]]],
    angle: str,
    start: tuple[Any, Any],
    times: list[float],
    H: float,
    steps: tuple[float, float],
    about: str,
) -> None:
    """Integrate from (theta, theta') with steps H and H/2, compare with the model of the same name, write the file."""

    def rate(y: Column) -> Column:
        masses, V, _ = model(Jet(y[0], real(1)))
        inertia, slope = real(0), real(0)
        for c, w in masses:
            for x in w:
                inertia += c * x.d**2
                slope += 2 * c * x.d * x.dd
        return np.array([y[1], -(slope * y[1] ** 2 / 2 + V.d) / inertia])

    name, y0 = model.__name__, np.array(start, real)
    coarse, fine = (integrate(rate, y0, times, step) for step in (H, H / 2))
    columns: dict[str, list[Any]] = {f"{angle}.phi": [], f"{angle}.w": []}
    for theta, omega in fine:
        columns[f"{angle}.phi"].append(theta)
        columns[f"{angle}.w"].append(omega)
        for label, value in model(Jet(theta, real(1)))[2].items():
            columns.setdefault(label, []).append(value.v)
    apart = {"extrapolation, two steps": float(np.abs(np.array(coarse) - np.array(fine)).max())}
    for kind, h in ((kind, h) for kind in ("absolute", "joint") for h in steps):
        own = mbfmu.simulate(
            mbfmu.load(name), times[-1], stepper="projected", options={"order": 8}, step=h, output_interval=times[0],
            coordinates=kind,
        )  # fmt: skip
        rows = [round(t / times[0]) for t in times]
        apart[f"mbfmu, {kind} coordinates, projected order=8, {h:g} s"] = max(
            float(np.abs(own[label][rows] - np.array(values)).max()) for label, values in columns.items()
        )
    print(name, apart)
    data = {
        "problem": about,
        "source": "extrapolation in 80-bit arithmetic on the one angle, made by make_one_freedom.py",
        "differences": apart,
        "parameters": {},
        "t": times,
        **{label: [np.format_float_positional(x, precision=19) for x in values] for label, values in columns.items()},
    }
    Path(__file__).with_name(f"{name}.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    pi = real("3.14159265358979323846")
    whole = [float(k) for k in range(1, 11)]
    make(
        four_bar,
        "crank",
        (pi / 3, 6),
        whole,
        0.01,
        (5e-4, 2.5e-4),
        "four_bar: crank at 60 degrees with 6 rad/s, over 10 s",
    )
    halves = [k / 2 for k in range(1, 11)]
    make(
        spatial_slider_crank,
        "crank",
        (0, 6),
        halves,
        0.01,
        (1e-3, 5e-4),
        "spatial_slider_crank: crank up with 6 rad/s, 5 s",
    )
    twenty = [k / 2 for k in range(1, 21)]
    make(bricard, "j0", (0, 0), twenty, 0.01, (1e-3, 5e-4), "bricard: IFToMM multibody benchmark A04 over 10 s")

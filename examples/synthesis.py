"""A linkage whose point goes straight and evenly: lengths found with exact gradients, under Grashof's conditions.

Run: python -m examples.synthesis [--plot FILE]
"""

from collections.abc import Mapping, Sequence
from math import pi

import numpy as np
from scipy.integrate import trapezoid
from scipy.optimize import minimize

import mbfmu
from examples.report import Array, Curves, Found, Panel, Row, present
from mbfmu.analysis.optimize import Optimum
from mbfmu.model import (
    AxisMotion,
    Block,
    Body,
    BodyShape,
    Defined,
    FixedTranslation,
    Parameter,
    Port,
    Revolute,
    Subsystem,
    System,
    World,
    connect,
    wire,
)  # fmt: skip

STOP, STEP = 1.0, 0.01
"""s; half a turn of the crank."""
STROKE = 4.0
"""m, which the point is to go in that time."""
HOEKEN = {"l1": 1.0, "d": 2.0, "l2": 2.5, "l3": 2.5, "b": 5.0, "x_0": 2.0, "y_0": -4.0}
"""m; Hoeken's straight-line linkage. The search begins there."""
CONDITIONS = ("l1 + l2 <= d + l3", "l1 + l3 <= d + l2", "l1 + d <= l2 + l3")
"""Grashof's, with the crank as the shortest bar: it turns fully."""
LEAST_ANGLE = 40.0
"""Degrees, the least angle between coupler and rocker."""
BOUNDS = (0.1, 20.0)
"""m, of each length."""


FREE = tuple(HOEKEN)
GOAL = "rms(miss.e_x)**2 + rms(miss.e_y)**2"


def linkage() -> System:
    """Return the linkage with its crank driven; `miss` has the distances of the point from where it is to be."""
    miss = Block(
        name="miss",
        inputs=(Port("x", "m", "place of the point"), Port("y", "m", "place of the point")),
        defined=(
            Defined("e_x", f"x - x_0 - {STROKE}*(time/{STOP} - 0.5)", "m", "distance along the line", True),
            Defined("e_y", "y - y_0", "m", "distance across the line", True),
        ),
        parameters=(Parameter("x_0", 0.0, "m", "middle of the line"), Parameter("y_0", 0.0, "m", "its height")),
    )
    bars = {"bar1": "l1", "bar2": "l2", "bar3": "l3"}
    return System(
        name="straight",
        planar=True,
        parameters=tuple(Parameter(name, value, "m") for name, value in HOEKEN.items()),
        components=(
            World(g=0.0),
            Revolute("crank", phi=pi / 2, w=pi / STOP),
            AxisMotion("turning", joint="crank", s=f"pi/2 + pi*time/{STOP}"),
            *(BodyShape(bar, m=1.0, r=(size, 0), r_CM=(f"{size}/2", 0), I_33=0.1) for bar, size in bars.items()),
            Revolute("coupler"),
            Revolute("pin"),
            Revolute("rocker"),
            FixedTranslation("bearing", r=("d", 0)),
            FixedTranslation("arm", r=("b", 0)),
            Body("point", m=0.1, I_33=0.01),
            Subsystem("miss", miss, {"x_0": "x_0", "y_0": "y_0"}),
        ),
        connections=(
            connect("world.frame_b", "crank.frame_a"),
            connect("crank.frame_b", "bar1.frame_a"),
            connect("bar1.frame_b", "coupler.frame_a"),
            connect("coupler.frame_b", "bar2.frame_a"),
            connect("bar2.frame_b", "pin.frame_a"),
            connect("pin.frame_b", "bar3.frame_b"),
            connect("world.frame_b", "bearing.frame_a"),
            connect("bearing.frame_b", "rocker.frame_a"),
            connect("rocker.frame_b", "bar3.frame_a"),
            connect("bar2.frame_a", "arm.frame_a"),
            connect("arm.frame_b", "point.frame_a"),
        ),
        wires=(wire("point.r_0[1]", "miss.x"), wire("point.r_0[2]", "miss.y")),
    )


def optimum() -> Optimum:
    """Return the lengths for which the point is nearest to where it is to be."""
    return mbfmu.optimize(
        linkage(), STOP, GOAL, FREE, subject=[*CONDITIONS, f"max(pin.phi) <= -{LEAST_ANGLE}*pi/180"],
        bounds=dict.fromkeys(FREE[:-2], BOUNDS), step=STEP, output_interval=STEP,
    )  # fmt: skip


def places(lengths: Mapping[str, float], angle: Array) -> tuple[Array, Array, Array]:
    """Return crank pin, coupler pin and point, each of shape (n, 2), by the intersection of two circles."""
    l1, d, l2, l3, b = (lengths[name] for name in FREE[:5])
    pin = l1 * np.column_stack([np.cos(angle), np.sin(angle)])
    apart = np.array([d, 0.0]) - pin
    length = np.linalg.norm(apart, axis=1, keepdims=True)
    along = (l2**2 - l3**2 + length**2) / (2 * length)
    aside = np.sqrt(l2**2 - along**2)
    far = pin + (along * apart + aside * np.column_stack([apart[:, 1], -apart[:, 0]])) / length
    return pin, far, pin + b / l2 * (far - pin)


def missed(lengths: Mapping[str, float], time: Array) -> Array:
    """Return by how much the point misses its place, along and across the line, shape (n, 2)."""
    _, _, point = places(lengths, np.pi / 2 + np.pi * time / STOP)
    wanted = np.column_stack([lengths["x_0"] + STROKE * (time / STOP - 0.5), np.full_like(time, lengths["y_0"])])
    return np.asarray(point - wanted)


def in_closed_form() -> dict[str, float]:
    """Return the same optimum from the circles alone, with differences for derivatives."""
    time = np.linspace(0, STOP, round(STOP / STEP) + 1)

    def goal(x: Array) -> float:
        return float(trapezoid((missed(dict(zip(FREE, x, strict=True)), time) ** 2).sum(axis=1), time) / STOP)

    found = minimize(goal, list(HOEKEN.values()), method="BFGS", options={"gtol": 1e-10})
    return dict(zip(FREE, found.x.tolist(), strict=True))


def run() -> Found:
    """Find the lengths, and again from the circles alone."""
    best, again = optimum(), in_closed_form()
    motions = {
        name: mbfmu.simulate(linkage(), STOP, values=values, step=STEP)
        for name, values in (("Hoeken", HOEKEN), ("optimum", best.values))
    }
    numbers = {
        "runs": float(best.runs),
        "away": max(abs(best[name] - again[name]) for name in FREE),
        "symmetry": max(abs(best["l2"] - best["l3"]), abs(best["b"] - 2 * best["l2"]), abs(best["x_0"] - best["d"])),
    }
    paths: Curves = {}
    across: Curves = {}
    along: Curves = {}
    for name, values in (("Hoeken", HOEKEN), ("optimum", best.values)):
        motion, lengths = motions[name], dict(values)
        turn = 180 * motion.time / STOP - 90
        errors = np.column_stack([motion["miss.e_x"], motion["miss.e_y"]])
        numbers[f"rms, {name}"] = float(np.sqrt(trapezoid((errors**2).sum(axis=1), motion.time) / STOP))
        numbers[f"across, {name}"] = float(np.ptp(errors[:, 1]))
        numbers[f"angle, {name}"] = float(np.degrees(-motion["pin.phi"].max()))
        numbers[f"circles, {name}"] = float(np.abs(errors - missed(lengths, motion.time)).max())
        _, _, point = places(lengths, np.linspace(0, 2 * np.pi, 361))
        paths[name] = point[:, 0] - lengths["x_0"], point[:, 1] - lengths["y_0"]
        across[name], along[name] = (turn, 1e3 * errors[:, 1]), (turn, 1e3 * errors[:, 0])
    numbers |= {name: best[name] for name in FREE}
    panels = (
        Panel("paths of a whole turn", "x [m]", "y [m]", paths, equal=True),
        Panel("across the line", "crank [°]", "error [mm]", across),
        Panel("along the line", "crank [°]", "error [mm]", along, legend=""),
    )
    return Found(numbers, panels, columns=3)


def main() -> dict[str, float]:
    """Return errors (m), least angles (degrees), lengths (m) and differences from the closed form (m)."""
    return run().numbers


def rows(found: dict[str, float]) -> Sequence[Row]:
    """Return the rows of the table."""
    lengths = ", ".join(f"{name} {found[name]:.4f}" for name in FREE[:5])
    return [
        *(
            (f"rms error, {name}", "-", f"{1e3 * found[f'rms, {name}']:.2f} mm of {STROKE:g} m; "
             f"across {1e3 * found[f'across, {name}']:.2f} mm in all; angle {found[f'angle, {name}']:.1f}°")
            for name in ("Hoeken", "optimum")
        ),
        ("lengths found", "-", f"{lengths} m, in {found['runs']:.0f} runs"),
        ("away from the optimum by circles", "-", f"{found['away']:.0e} m"),
        ("away from l2 = l3 = b/2, x_0 = d", "0", f"{found['symmetry']:.0e} m"),
        ("errors away from those by circles", "round-off", f"{found['circles, optimum']:.0e} m"),
    ]  # fmt: skip


if __name__ == "__main__":
    present("A point that goes straight and evenly for half a turn of the crank", run, rows, "expected")

"""The hydraulic manipulator of the LIM co-simulation benchmark as two FMUs, mechanics and oil.

The mechanism takes the cylinder's force and gives its length and rate; the oil takes those and the valve's position and
gives the force. What the coupling costs is measured against both halves integrated as one system.

Run: python -m examples.coupled.manipulator [--plot FILE]
"""

import tempfile
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

import mbfmu
from examples.report import Array, Found, Panel, Row, present
from mbfmu.dae import derive
from mbfmu.fmu.ssp import Wire

STOP = 10.0
STEP = 1e-3
"""s, of the communication."""
K0 = 0.45434558959805127
"""Position of the valve at which nothing moves."""
BREAKS = (0.0, 2.0, 2.001, 6.0, 6.002, STOP)
"""s, where the manoeuvre has corners."""
CONNECTIONS = (
    Wire("arm.length.distance", "oil.s"),
    Wire("arm.length.distance_rate", "oil.v"),
    Wire("oil.f", "arm.cylinder.f"),
)
SHOWN = ("arm.length.distance", "arm.length.distance_rate", "oil.p1", "oil.p2", "oil.f")


def valve(t: float) -> float:
    """Return the valve's position in manoeuvre M1: at 2 s down by 0.01 within 1 ms, at 6 s up by 0.03 within 2 ms."""
    return float(np.interp(t, BREAKS, (K0, K0, K0 - 0.01, K0 - 0.01, K0 + 0.02, K0 + 0.02)))


def fmus(folder: Path, backend: str) -> dict[str, Path]:
    """Write the two FMUs; return their paths by component, in the order in which they step.

    The mechanism goes first: the force then is the one quantity that is extrapolated, and it is the smoother one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    choices: dict[str, dict[str, Any]] = {
        "arm": {"model": "hydraulic_manipulator", "stepper": "projected", "step": 1e-3},
        "oil": {"model": "manipulator_hydraulics", "step": 5e-4},
    }
    return {
        name: mbfmu.export(mbfmu.load(how.pop("model")), folder / f"{name}.fmu", backend=backend, **how)
        for name, how in choices.items()
    }


def coupled(parts: dict[str, Path], step: float = STEP, stop: float = STOP, **how: Any) -> mbfmu.Result:
    """Run the two FMUs; how: see `mbfmu.couple`. No error is estimated unless `how` says so: it is measured here."""
    return mbfmu.couple(
        parts, CONNECTIONS, stop, step, inputs={"oil.k": valve}, outputs=SHOWN, **{"error": False, **how}
    )


@cache
def monolithic(every: float, stop: float = STOP) -> tuple[Array, dict[str, Array]]:
    """Return times and the quantities of `SHOWN` of both halves as one system, correct to round-off.

    Args:
        every: s between the times.
        stop: s.
    """
    arm, oil = derive(mbfmu.load("hydraulic_manipulator")), derive(mbfmu.load("manipulator_hydraulics"))
    q, v, p, k = ca.SX.sym("q", 2), ca.SX.sym("v", 2), ca.SX.sym("p", 2), ca.SX.sym("k")
    p_arm, p_oil, nothing = ca.DM(arm.p_default()), ca.DM(oil.p_default()), ca.SX(0, 1)
    names = [item.name for item in arm.outputs]
    places = [names.index(name.partition(".")[2]) for name in SHOWN[:2]]
    s = arm.output(q, v, [], nothing, ca.SX.zeros(2), nothing, ca.SX.zeros(1), p_arm, 0.0)[places]
    u = ca.vertcat(s, k)
    y = oil.output([], [], p, [], [], [], u, p_oil, 0.0)
    f = y[[item.name for item in oil.outputs].index("f")]
    rate = ca.vertcat(
        v, arm.equations.free_acceleration(q, v, [], f, p_arm, 0.0), oil.equations.flow([], [], p, u, p_oil, 0.0)
    )
    x = ca.vertcat(q, v, p)
    slope = ca.Function("slope", [x, k], [ca.densify(rate)])
    shown = ca.Function("shown", [x, k], [ca.densify(ca.vertcat(s, p, f))])

    x0 = np.array([np.pi / 6, -2 * np.pi / 3, 0.0, 0.0, *oil.s_default()])
    size = np.array([1, 1, 1, 1, 1e6, 1e6])
    points = np.arange(round(stop / every) + 1) * every
    rows: list[Array] = []
    corners = [t for t in BREAKS if t < stop] + [stop]
    for begin, end in pairwise(corners):
        inside = points[(points >= begin - 1e-9) & (points < end - 1e-9)]
        run = solve_ivp(
            lambda t, z: np.array(slope(z * size, valve(t))).ravel() / size, (begin, end), x0 / size,
            method="DOP853", rtol=1e-12, atol=1e-13, t_eval=np.append(np.maximum(inside, begin), end),
        )  # fmt: skip
        rows += [z * size for z in run.y.T[:-1]]
        x0 = run.y[:, -1] * size
    rows.append(x0)
    found = np.array([np.array(shown(z, valve(t))).ravel() for t, z in zip(points, rows, strict=True)])
    return points, dict(zip(SHOWN, found.T, strict=True))


def error(found: mbfmu.Result, name: str = SHOWN[0], every: float = STEP) -> float:
    """Return the largest error of a quantity of a coupled run against both halves as one system."""
    points, exact = monolithic(every, float(found.time[-1]))
    at = np.searchsorted(found.time, points - 1e-9)
    return float(np.abs(found[name][at] - exact[name]).max())


def run() -> Found:
    """Run couplings at 1 ms; the best: native FMUs, one after the other, inputs along lines, each step done twice."""
    with tempfile.TemporaryDirectory() as folder:
        parts = fmus(Path(folder), "native")
        found = coupled(parts, order="gauss_seidel", extrapolation=1, passes=2)
        once = coupled(parts, order="gauss_seidel", extrapolation=1, error=True)
        held = coupled(parts, order="jacobi", extrapolation=0)
    points, exact = monolithic(STEP)
    numbers = {
        "length": error(found),
        "pressure": max(error(found, name) for name in ("oil.p1", "oil.p2")),
        "force": error(found, "oil.f"),
        "length, done once": error(once),
        "length, inputs held": error(held),
        "force, done once": error(once, "oil.f"),
        "force, done once, estimated": once.error.by_variable["oil.f"],
        "lift": float(np.ptp(exact[SHOWN[0]])),
    }
    panels = (
        Panel("length of the cylinder", "t [s]", "s [m]", {"two FMUs": (found.time, found[SHOWN[0]])}),
        Panel(
            "pressures", "t [s]", "p [MPa]",
            {f"p{k}": (found.time, found[f"oil.p{k}"] / 1e6) for k in (1, 2)}, legend="center right",
        ),
        Panel(
            "error of the length against one system, 1 ms", "t [s]", "|error| [m]",
            {
                label: (points, result[SHOWN[0]][np.searchsorted(result.time, points - 1e-9)] - exact[SHOWN[0]])
                for label, result in (("inputs held", held), ("along lines", once), ("done twice", found))
            },
            log=True, window=(0.0, STOP, 1e-13, 1e-3), legend="upper left",
        ),
    )  # fmt: skip
    return Found(numbers, panels, 3)


def main() -> dict[str, float]:
    """Return the largest errors of the coupled run at 1 ms (m, Pa, N), and how far the cylinder moves (m)."""
    return run().numbers


def rows(found: dict[str, float]) -> Sequence[Row]:
    """Return the rows of the table."""
    return [
        ("error of the cylinder's length, inputs along lines, done twice", "1e-6 m", f"{found['length']:.1e} m"),
        ("error of the pressures", "-", f"{found['pressure']:.1e} Pa"),
        ("error of the force", "-", f"{found['force']:.1e} N"),
        ("error of the length, done once", "-", f"{found['length, done once']:.1e} m"),
        ("error of the length, inputs held", "-", f"{found['length, inputs held']:.1e} m"),
        ("the cylinder moves by", "-", f"{found['lift']:.3f} m"),
    ]


if __name__ == "__main__":
    present("Hydraulic manipulator, M1: two FMUs against one system, 10 s in steps of 1 ms", run, rows, "asked")

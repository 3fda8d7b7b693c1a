"""Gao et al.: nonholonomic systems with impulses at the nodes: skate, skate in a well, rolling disk.

Run: python -m examples.papers.nonholonomic [--plot FILE]
"""

from collections.abc import Sequence
from itertools import product
from math import cos, inf, log2, sin

import numpy as np

import mbfmu
from examples.papers.states import reference, states
from examples.report import Array, Curves, Found, Panel, Row, envelope, listed, present
from mbfmu.errors import StepError
from mbfmu.model import Model
from mbfmu.prepared.prepare import prepare

ACTIONS = ("midpoint", "trapezoid")
SKATE = ("skate.r_0[1]", "skate.r_0[2]", "skate.phi")
DISK = ("x", "y", "theta", "psi", "phi")
STARTS: dict[str, dict[str, object]] = {
    "a": {},
    "b": {"skate.r_0": (1.0, 0.0), "skate.v_0": (0.0, 0.0), "skate.phi": 0.0},
}
"""(29), which the model has, and (30)."""
PRINTED = {"der(phi)": 0.8, "der(x)": -0.8 * sin(2.0), "der(y)": 0.8 * cos(2.0)}
FINE = (0.01, 0.005, 0.0025, 0.00125)
TIMES = (10, 100, 400)
QUARTERS = ("first", "last")


def go(model: Model, stop: float, h: float, action: str = "midpoint", interval: float | None = None) -> mbfmu.Result:
    """Run the paper's method, with an output at every step if no interval (s) is given."""
    return mbfmu.simulate(
        model, stop, stepper="nodal_impulse", options={"action": action}, step=h, output_interval=interval or h
    )


def energy_error(run: mbfmu.Result) -> Array:
    """Return the relative error of the energy."""
    energy = run["energy.total"]
    return np.asarray(np.abs(energy / energy[0] - 1))


def quarters(label: str, run: mbfmu.Result) -> dict[str, float]:
    """Return the largest relative error of the energy in the first and in the last quarter of a run."""
    first, *_, last = np.array_split(energy_error(run), 4)
    parts = zip(QUARTERS, (first, last), strict=True)
    return {f"{label}, energy, {name} quarter": float(part.max()) for name, part in parts}


def skate_state(t: Array) -> Array:
    """Return the paper's solution (26) and its rates for omega = 1: x, y, phi, x', y', phi', shape (6, n_t)."""
    return np.array(
        [
            np.sin(t) ** 2 / 2,
            (t - np.sin(2 * t) / 2) / 2,
            t,
            np.sin(2 * t) / 2,
            (1 - np.cos(2 * t)) / 2,
            np.ones_like(t),
        ]
    )


def multiplier(model: Model, stop: float, h: float) -> tuple[float, float]:
    """Return the largest error of lambda at the nodes, N, and the largest residual within the segments, m/s.

    The momentum p' before a node, the impulse there and the motion after it give C^T Lambda h =
    h p' - (q1 - q0) + h^2 F / 2, and -Lambda / h is lambda = 2 sin t.

    Args:
        model: the skate.
        stop: s.
        h: step, s.
    """
    x = states(prepare(model, "nodal_impulse", None, h), round(stop / h), h)
    q, p, d = x[:-1, :3], x[:-1, 3:], np.diff(x[:, :3], axis=0)
    push = p / h - d / h**2 + np.array([0.5, 0.0, 0.0])
    lambda_ = push[:, 0] * np.sin(q[:, 2]) - push[:, 1] * np.cos(q[:, 2])
    middle = q[:, 2] + d[:, 2] / 2
    within = (d[:, 0] * np.sin(middle) - d[:, 1] * np.cos(middle)) / h
    exact = 2 * np.sin(h * np.arange(len(q)))
    return float(np.abs(lambda_ - exact)[1:].max()), float(np.abs(within).max())


def skate() -> tuple[dict[str, float], dict[str, Curves]]:
    """Measure the skate, whose solution is known, with both steps over 100 s."""
    model = mbfmu.load("ice_skate")
    found: dict[str, float] = {}
    drawn: dict[str, Curves] = {"state": {}, "energy": {}}
    for h in (0.1, 0.01):
        run, label = go(model, 100.0, h), f"skate, h = {h:g}"
        exact = skate_state(run.time)
        rates = [run[f"skate.{name}"] for name in ("v_0[1]", "v_0[2]", "w")]
        off = np.array([*(run[name] for name in SKATE), *rates]) - exact
        error = np.linalg.norm(off, axis=0) / np.linalg.norm(exact, axis=0)
        found[f"{label}, velocity"] = float(np.hypot(off[3], off[4]).max())
        found[f"{label}, state"] = float(error.max())
        found[f"{label}, energy"] = float(energy_error(run).max())
        found[f"{label}, constraint"] = float(run["constraint.velocity"].max())
        found[f"{label}, lambda"], found[f"{label}, segment"] = multiplier(model, 100.0, h)
        drawn["state"] |= {f"h = {h:g} s": envelope(run.time, error)}
        drawn["energy"] |= {f"h = {h:g} s": envelope(run.time, energy_error(run))}
    found["skate, order"] = log2(found["skate, h = 0.1, state"] / found["skate, h = 0.01, state"]) / log2(10)
    return found, drawn


def well() -> tuple[dict[str, float], dict[str, Curves]]:
    """Measure the skate in the well from both starts, h = 0.1 s, over 400 s."""
    found: dict[str, float] = {}
    drawn: dict[str, Curves] = {}
    for start, values in STARTS.items():
        model = mbfmu.load("ice_skate_harmonic").with_values(values)
        exact = reference(model, 400.0, 0.1, 2e-3)
        for action in ACTIONS:
            run, label = go(model, 400.0, 0.1, action), f"well {start}, {action}"
            error = np.max([np.abs(run[name] - exact[name]) for name in SKATE], axis=0)
            found |= {f"{label}, error up to {t} s": float(error[: 10 * t + 1].max()) for t in TIMES}
            found |= quarters(label, run)
        drawn[start] = {f"start {start}": (run[SKATE[0]], run[SKATE[1]])}
    return found, drawn


def disk() -> tuple[dict[str, float], dict[str, Curves]]:
    """Measure the disk with spin 8, as the figures need, and with the printed spin 0.8."""
    model = mbfmu.load("rolling_disk")
    found: dict[str, float] = {}
    for action in ACTIONS:
        run, label = go(model, 100.0, 0.1, action), f"disk, spin 8, {action}"
        found |= quarters(label, run)
        found[f"{label}, constraint"] = float(run["constraint.velocity"].max())
        coarse, fine = (float(energy_error(go(model, 10.0, h, action)).max()) for h in (0.05, 0.025))
        found[f"{label}, order"] = log2(coarse / fine)
    printed = model.with_values(PRINTED)
    fallen = reference(printed, 5.0, 0.01, 2.5e-4)
    found["disk, spin 0.8, least theta"] = float(fallen["theta"].min())
    found["disk, spin 0.8, largest rate of psi"] = float(np.abs(fallen["der(psi)"]).max())
    for action, h in product(ACTIONS, (0.1, *FINE)):
        label = f"disk, spin 0.8, {action}, h = {h:g}"
        try:
            end = go(printed, 5.0, h, action, interval=5.0)
        except StepError:
            found[f"{label}, error"] = inf
        else:
            found[f"{label}, error"] = max(abs(float(end[name][-1] - fallen[name][-1])) for name in DISK)
    finest = [found[f"disk, spin 0.8, midpoint, h = {h:g}, error"] for h in FINE[-2:]]
    found["disk, spin 0.8, midpoint, order"] = log2(finest[0] / finest[1])
    return found, {
        "path": {"spin 8": (run["x"], run["y"]), "spin 0.8 (printed)": (fallen["x"], fallen["y"])},
        "theta": {
            "spin 8": (run.time[:51], run["theta"][:51]), "spin 0.8 (printed)": (fallen.time, fallen["theta"])
        },
    }  # fmt: skip


def run() -> Found:
    """Run the three examples."""
    (found, skates), (more, wells), (most, disks) = skate(), well(), disk()
    return Found(
        found | more | most,
        (
            Panel("skate (figure 1)", "t [s]", "relative error of the state", skates["state"], log=True),
            Panel("skate (figure 2)", "t [s]", "relative error of the energy", skates["energy"], log=True),
            Panel("disk", "t [s]", "inclination θ [rad]", disks["theta"], legend=""),
            *(
                Panel(f"well, start {start} (figure 4)", "x [m]", "y [m]", wells[start], dots=1.0, equal=True)
                for start in STARTS
            ),
            Panel("disk, contact point (figure 6)", "x [m]", "y [m]", disks["path"], equal=True),
        ),
        columns=3,
    )


def main() -> dict[str, float]:
    """Return errors, residuals (m/s), relative errors of the energy and orders of the three examples."""
    return run().numbers


def rows(found: dict[str, float]) -> Sequence[Row]:
    """Return the rows of the table."""
    skates = {
        what: listed(found, (f"skate, h = {h:g}, {what}" for h in (0.1, 0.01)))
        for what in ("state", "energy", "constraint", "segment", "lambda")
    }
    table: list[Row] = [
        ("skate, relative error of the state, h = 0.1 / 0.01 s", "order 2",
         f"{skates['state']}: order {found['skate, order']:.2f}"),
        ("skate, relative error of the energy", "small, periodic", skates["energy"]),
        ("skate, constraint at the nodes", "exact", skates["constraint"]),
        ("skate, constraint within the segments", "exact", skates["segment"]),
        ("skate, lambda at the nodes", "-", f"error {skates['lambda']} N"),
    ]  # fmt: skip
    for start, action in product(STARTS, ACTIONS):
        label = f"well {start}, {action}"
        kept = listed(found, (f"{label}, energy, {quarter} quarter" for quarter in QUARTERS))
        errors = listed(found, (f"{label}, error up to {t} s" for t in TIMES))
        measured = f"energy {kept} in the first / last quarter\nerror up to 10 / 100 / 400 s {errors}"
        table.append((f"{label}, 400 s, h = 0.1 s", "energy error without drift", measured))
    for action in ACTIONS:
        label = f"disk, spin 8, {action}"
        kept = listed(found, (f"{label}, energy, {quarter} quarter" for quarter in QUARTERS))
        measured = f"energy {kept} in the first / last quarter\nconstraint {found[f'{label}, constraint']:.0e}"
        claim = "energy error without drift, constraints exact, order 2"
        table.append((f"{label}, 100 s, h = 0.1 s", claim, f"{measured}, order {found[f'{label}, order']:.2f}"))
    least, rate = (found[f"disk, spin 0.8, {what}"] for what in ("least theta", "largest rate of psi"))
    falls = f"none of them: it falls to theta = {least:.4f}, psi' up to {rate:.0f} rad/s"
    table.append(("disk, printed spin 0.8", "figures 6 to 8", falls))
    for action in ACTIONS:
        steps = (0.1, *FINE)
        errors = listed(found, (f"disk, spin 0.8, {action}, h = {h:g}, error" for h in steps), ".2g")
        what = f"disk, spin 0.8, {action}, error at 5 s, h = {', '.join(map(str, steps))} s"
        table.append((what, "h = 0.1 s does", f"{errors} (inf: no solution)"))
    return table


if __name__ == "__main__":
    present("Gao et al., nodal impulses", run, rows)

"""A suspension's spring and damper: 200 variants on all cores, the best one checked in an FMU whose parameters are set.

Run: python -m examples.design [--plot FILE]
"""

import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
from fmpy.fmi2 import FMU2Slave
from scipy.integrate import trapezoid
from scipy.linalg import expm
from scipy.optimize import minimize

import mbfmu
from examples.report import Array, Curves, Field, Found, Panel, Row, listed, present
from mbfmu.analysis.study import Row as Variant

STOP, STEP = 10.0, 5e-3
"""s; the height of the road is held over a step."""
SPEED, ROUGHNESS = 20.0, 256e-6
"""m/s; m^3 at 0.1 cycles/m: an average road, class C of ISO 8608."""
WAVES = np.linspace(0.02, 1.0, 50)
"""Cycles/m."""
HEIGHTS = 0.1 / WAVES * np.sqrt(2 * ROUGHNESS * (WAVES[1] - WAVES[0]))
"""m, of the sines of these waves."""
PHASES = np.random.default_rng(1).uniform(0, 2 * np.pi, len(WAVES))
BOX = {"k_s": (8e3, 30e3), "c_s": (400.0, 4000.0)}
"""N/m and N.s/m."""
SAMPLES, GRID, SPREAD = 100, 10, 0.15
"""Random variants of the whole box; then a grid of this number squared, so far around the best of them."""
LOAD, ROOM, GRIP = 75.0, 0.08, 0.25
"""kg of luggage; m for the sag under it and the wheel's stroke; rms of the tyre's force over the weight on it."""
SETTINGS = {"world.g": 0.0}
"""The system is linear, and everything counts from where it stands at rest."""
STEPPER: dict[str, Any] = {"stepper": "projected", "options": {"order": 8}}
BUILT = {"k_s": 18e3, "c_s": 1.4e3}
MEASURES = {"acceleration": "rms(car.a_0[2])", "stroke": "min(suspension.s)", "force": "rms(hub.frame_b.f[2])"}
SHOWN = ("car.a_0[2]", "suspension.s", "hub.frame_b.f[2]")
MASSES = {"m_s": 300.0, "m_u": 40.0, "k_t": 180e3}
"""kg, kg and N/m, of the model."""
WEIGHT = (MASSES["m_s"] + MASSES["m_u"]) * 9.81


def road(t: float) -> float:
    """Return the height (m) of the road under the wheel."""
    return float(HEIGHTS @ np.sin(2 * np.pi * SPEED * t * WAVES + PHASES))


UNDER = [road(k * STEP) for k in range(round(STOP / STEP) + 1)]
"""m, at the communication points."""


def room(values: Mapping[str, float], stroke: float) -> float:
    """Return how much room (m) sag and stroke take."""
    return LOAD * 9.81 / values["k_s"] - stroke


def allowed(row: Variant) -> bool:
    """Say whether a variant has room and grip enough."""
    measures = row.measures
    return room(row.values, measures["stroke"]) <= ROOM and measures["force"] <= GRIP * WEIGHT


def best(rows: Sequence[Variant]) -> Variant:
    """Return the variant with the least acceleration of those that are allowed."""
    return min((row for row in rows if not row.failure and allowed(row)), key=lambda row: row.measures["acceleration"])


def reduced(columns: Array) -> dict[str, float]:
    """Return the measures of a run, from acceleration, stroke and force, shape (n_t, 3)."""
    squares = np.sqrt(trapezoid(columns**2, dx=STEP, axis=0) / STOP)
    return {"acceleration": float(squares[0]), "stroke": float(columns[:, 1].min()), "force": float(squares[2])}


def in_fmpy(path: Path, values: Mapping[str, float]) -> Array:
    """Return acceleration, stroke and force (SI units) of an FMU with some parameters set, shape (n_t, 3)."""
    description = fmpy.read_model_description(str(path))
    vr = {variable.name: variable.valueReference for variable in description.modelVariables}
    with tempfile.TemporaryDirectory() as folder:
        car = FMU2Slave(
            guid=description.guid,
            unzipDirectory=fmpy.extract(str(path), unzipdir=folder),
            modelIdentifier=description.coSimulation.modelIdentifier,
            instanceName="car",
        )
        car.instantiate()
        car.setReal([vr[name] for name in values], list(values.values()))
        car.setupExperiment(startTime=0.0)
        car.enterInitializationMode()
        car.exitInitializationMode()
        rows = []
        for k in range(len(UNDER)):
            car.setReal([vr["tyre.z"]], [UNDER[k]])
            rows.append(car.getReal([vr[name] for name in SHOWN]))
            car.doStep(currentCommunicationPoint=k * STEP, communicationStepSize=STEP)
        car.terminate()
        car.freeInstance()
    return np.array(rows)


def by_exponential(values: Mapping[str, float]) -> Array:
    """Return the same from the linear equations, exact up to round-off, without mbfmu."""
    k_s, c_s, (m_s, m_u, k_t) = values["k_s"], values["c_s"], MASSES.values()
    A, B = np.zeros((4, 4)), np.zeros((4, 1))  # state: heights of wheel and car, and their rates
    A[:2, 2:] = np.eye(2)
    A[2] = [-(k_s + k_t) / m_u, k_s / m_u, -c_s / m_u, c_s / m_u]
    A[3] = [k_s / m_s, -k_s / m_s, c_s / m_s, -c_s / m_s]
    B[2] = k_t / m_u
    step = expm(np.block([[A, B], [np.zeros((1, 5))]]) * STEP)[:4]
    x, rows = np.zeros(4), []
    for z in UNDER:
        rows.append([A[3] @ x, x[1] - x[0], k_t * (x[0] - z)])
        x = step @ [*x, z]
    return np.array(rows)


def optimum() -> tuple[dict[str, float], float]:
    """Return the best of all values, found with the exponential, and its acceleration (m/s^2)."""

    def of(x: Array) -> tuple[dict[str, float], dict[str, float]]:
        values = {"k_s": 1e3 * float(x[0]), "c_s": 1e3 * float(x[1])}
        return values, reduced(by_exponential(values))

    def spare(x: Array) -> list[float]:
        values, measures = of(x)
        return [1 - room(values, measures["stroke"]) / ROOM, 1 - measures["force"] / (GRIP * WEIGHT)]

    found = minimize(
        lambda x: of(x)[1]["acceleration"], [BUILT[name] / 1e3 for name in BOX], method="SLSQP",
        bounds=[(low / 1e3, high / 1e3) for low, high in BOX.values()], constraints={"type": "ineq", "fun": spare},
    )  # fmt: skip
    return of(found.x)[0], float(found.fun)


def study(folder: Path) -> tuple[list[Variant], dict[str, float]]:
    """Run all variants into one table; return them, and how long it took (s) and how many there are."""
    car = mbfmu.load("quarter_car")
    told: list[float] = []
    times = np.arange(len(UNDER)) * np.float64(STEP)
    profile = mbfmu.Result(times, ("tyre.z",), np.array(UNDER)[:, None]).write(folder / "road.csv")

    def variants(**which: Any) -> list[Variant]:
        told.clear()
        return mbfmu.sweep(
            car, STOP, measures=MEASURES, output=folder / "car.csv", step=STEP, output_interval=STEP, values=SETTINGS,
            inputs={"tyre.z": str(profile)}, input_hold=True, progress=told.append, **which, **STEPPER,
        )  # fmt: skip

    begin = time.perf_counter()
    wide = variants(sample=SAMPLES, distributions={name: f"uniform({a},{b})" for name, (a, b) in BOX.items()})
    near = {
        name: np.linspace((1 - SPREAD) * value, (1 + SPREAD) * value, GRID).tolist()
        for name, value in best(wide).values.items()
    }
    fine = variants(vary=near)
    seconds = time.perf_counter() - begin
    runs = len((folder / "car.csv").read_text(encoding="utf-8").splitlines()) - 1
    variants(vary=near)
    return [*wide, *fine], {"variants": float(runs), "seconds": seconds, "run again": len(told) - 1.0}


def run() -> Found:
    """Run the study, then the best variant and the built one in one FMU."""
    with tempfile.TemporaryDirectory() as name:
        variants, numbers = study(Path(name))
        chosen = best(variants)
        car = mbfmu.load("quarter_car")
        fmu = mbfmu.export(car, Path(name) / "car.fmu", step=STEP, backend="native", **STEPPER)
        runs = {"best": in_fmpy(fmu, {**SETTINGS, **chosen.values}), "built": in_fmpy(fmu, {**SETTINGS, **BUILT})}
    ideal, least = optimum()
    numbers |= {"failures": float(sum(bool(row.failure) for row in variants))}
    numbers |= {"allowed": float(sum(not row.failure and allowed(row) for row in variants))}
    for label, given in {"best": chosen.values, "built": BUILT, "optimum": ideal}.items():
        measures = reduced(runs[label] if label in runs else by_exponential(given))
        numbers |= {f"{label}, {name}": given[name] for name in BOX}
        numbers |= {f"{label}, acceleration": measures["acceleration"], f"{label}, grip": measures["force"] / WEIGHT}
        numbers[f"{label}, room"] = room(given, measures["stroke"])
    again = reduced(runs["best"])
    numbers["FMU - table"] = max(abs(again[name] / value - 1) for name, value in chosen.measures.items())
    apart = np.abs(runs["best"] - by_exponential(chosen.values)).max(axis=0) / np.abs(runs["best"]).max(axis=0)
    numbers["FMU - exponential"] = float(apart.max())
    numbers["gain"] = 1 - numbers["best, acceleration"] / numbers["built, acceleration"]
    numbers["off the optimum"] = numbers["best, acceleration"] / least - 1
    return Found(numbers, panels(variants, numbers, runs), columns=2)


def panels(variants: Sequence[Variant], numbers: Mapping[str, float], runs: Mapping[str, Array]) -> tuple[Panel, ...]:
    """Return the figure's panels: the plane of the two values, what comfort costs in grip, and the car's motion."""
    done = [row for row in variants if not row.failure]
    k, c = (np.array([row.values[name] for row in done]) / 1e3 for name in BOX)
    felt, force = (np.array([row.measures[name] for row in done]) for name in ("acceleration", "force"))
    taken = np.array([room(row.values, row.measures["stroke"]) for row in done])
    within = np.array([allowed(row) for row in done])
    marks = ("built", "best", "optimum")
    at = {
        name: (np.array([numbers[f"{name}, k_s"] / 1e3]), np.array([numbers[f"{name}, c_s"] / 1e3])) for name in marks
    }
    costs = {
        name: (np.array([100 * numbers[f"{name}, grip"]]), np.array([numbers[f"{name}, acceleration"]]))
        for name in marks
    }
    grip = 100 * force / WEIGHT
    limits = {f"room: {100 * ROOM:g} cm": (taken, ROOM), f"grip: {GRIP:.0%}": (force, GRIP * WEIGHT)}
    plane: Curves = {"allowed": (k[within], c[within]), "not allowed": (k[~within], c[~within])}
    cost: Curves = {"allowed": (grip[within], felt[within]), "not allowed": (grip[~within], felt[~within])}
    late = int(8 / STEP)
    times = np.arange(len(runs["best"]))[late:] * np.float64(STEP)
    field = Field(k, c, felt, "rms acceleration [m/s²]", limits)
    near = np.array([numbers["best, k_s"] / 1e3, numbers["best, c_s"] / 1e3])
    (k0, c0), (k1, c1) = (1 - 2 * SPREAD) * near, (1 + 4 * SPREAD) * near
    return (
        Panel("all variants", "k_s [kN/m]", "c_s [kN.s/m]", plane | at, dots=5.0, legend="", field=field, marks=marks),
        Panel("near the best", "k_s [kN/m]", "c_s [kN.s/m]", plane | at, dots=5.0, legend="upper right", field=field,
              marks=marks, window=(k0, k1, c0, c1)),
        Panel("what comfort costs", "rms force of the tyre [% of the weight]", "rms acceleration [m/s²]", cost | costs,
              dots=5.0, legend="", marks=marks),
        Panel("the car on the road", "t [s]", "acceleration [m/s²]",
              {name: (times, runs[name][late:, 0]) for name in ("built", "best")}),
    )  # fmt: skip


def main() -> dict[str, float]:
    """Return values, accelerations (m/s^2), room (m) and grip of best, built and optimum, differences, and time (s)."""
    return run().numbers


def rows(found: dict[str, float]) -> Sequence[Row]:
    """Return the rows of the table."""
    table: list[Row] = [
        ("variants run / failed / allowed", "200", listed(found, ("variants", "failures", "allowed"), ".0f")),
        ("run again when the table is there", "0", f"{found['run again']:.0f}"),
        ("time on all cores", "-", f"{found['seconds']:.0f} s"),
    ]
    for label in ("built", "best", "optimum"):
        table.append(
            (
                f"{label}: k_s, c_s",
                "-",
                f"{found[f'{label}, k_s'] / 1e3:.2f} kN/m, {found[f'{label}, c_s'] / 1e3:.3f} kN.s/m",
            )
        )
        table.append((
            f"{label}: rms acceleration / room / grip", f"least / {100 * ROOM:g} cm / {GRIP:.0%}",
            f"{found[f'{label}, acceleration']:.3f} m/s2 / {100 * found[f'{label}, room']:.2f} cm / "
            f"{found[f'{label}, grip']:.1%}",
        ))  # fmt: skip
    return [
        *table,
        ("best against built", "-", f"{found['gain']:.1%} less acceleration"),
        ("best against the optimum", "-", f"{found['off the optimum']:.2%} more acceleration"),
        ("FMU with the best values - table, relative", "round-off", f"{found['FMU - table']:.0e}"),
        ("FMU - matrix exponential, relative", "-", f"{found['FMU - exponential']:.0e}"),
    ]


if __name__ == "__main__":
    present("A suspension: 200 variants, 10 s of a rough road each", run, rows, "expected")

"""The demo: export a loader crane, check it, and let a controller drive the FMU through FMPy."""

import math
import shutil
import time as clock
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mbfmu.base.result import Result
from mbfmu.checker import check
from mbfmu.errors import FmuError
from mbfmu.fmu.export import export
from mbfmu.model.library import load
from mbfmu.run.fmu import read_fmu, unit_of
from mbfmu.show.plot import FLOOR, RESIDUALS, round_off, save

MODEL = "crane"
STEPPER = "rattle"
STOP = 10.0
STEP = 2e-3
"""Step of the FMU and of the controller, s."""
AXES = ("lift", "tilt")
"""Cylinders of boom and jib."""
LOW, HIGH = np.array([0.22, 0.36]), np.array([0.68, 0.76])
"""Strokes between which the cylinders go to and fro, m."""
PERIOD = 6.0
"""Period of the strokes, s; the second cylinder is a quarter of it behind."""
BLEND = 2.0
"""Time in which the set-points go over from the strokes at the start to the periodic ones, s."""
KP = np.array([2.4e6, 1.5e6])
"""Proportional gains, N/m."""
KD = KP / 6
"""Derivative gains, N.s/m."""
KI = 3 * KP
"""Integral gains, N/(m.s)."""
OUTLINES = {
    "beam1": ((0.0, 0.12), (1.9, 0.35), (3.5, 0.08), (3.5, -0.08), (1.0, -0.15), (0.0, -0.12)),
    "beam2": ((-0.3, 0.25), (0.1, 0.12), (2.5, 0.05), (2.5, -0.05), (0.0, -0.1)),
}
"""Outlines of boom and jib in their own frames, m."""
COLOURS = {"beam1": "C0", "beam2": "C1"}
"""Colours of boom and jib: those of the curves of the cylinders that move them."""
CYLINDERS = (("barrel1", "rod1"), ("barrel2", "rod2"))
PLACES = (
    "beam1",
    "beam2",
    "beam2.frame_b",
    *(name for part, rod in CYLINDERS for name in (part, f"{part}.frame_b", rod)),
)
"""Frames whose positions are recorded, from which the crane is drawn."""
SHOWN = (
    *(f"{axis}.{quantity}" for quantity in "fsv" for axis in AXES), "beam1.phi", "beam2.phi",
    *(f"{place}.r_0[{number}]" for place in PLACES for number in (1, 2)), "energy.total", *RESIDUALS,
)  # fmt: skip
POSES = {0.0: 0.15, 3.0: 0.3, 6.0: 1.0}
"""Opacity of the poses in the picture, by the time, s."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Demo:
    """The results of the demo.

    Args:
        fmu: the FMU it made.
        csv: the run, with references.
        png: the picture.
        problems: findings of the check, empty if all is well.
        rows: the table: what, value.
    """

    fmu: Path
    csv: Path
    png: Path
    problems: tuple[str, ...]
    rows: tuple[tuple[str, str], ...]


def set_points(t: float, start: Array) -> tuple[Array, Array]:
    """Return strokes (m) and rates (m/s) that the cylinders are to have, shapes (2,): from rest to and fro.

    Args:
        t: time, s.
        start: strokes at the start, shape (2,), m.
    """
    turn = 2 * math.pi * t / PERIOD - np.array([0.0, math.pi / 2])
    away = LOW + (HIGH - LOW) * (1 - np.cos(turn)) / 2 - start
    rate = (HIGH - LOW) * np.sin(turn) * math.pi / PERIOD
    x = min(t / BLEND, 1.0)
    s, s_dot = x**3 * (10 - 15 * x + 6 * x**2), 30 * x**2 * (1 - x) ** 2 / BLEND
    return start + s * away, s_dot * away + s * rate


def holding_forces(acceleration: Callable[[Array], Array]) -> Array:
    """Return the forces (N) of the cylinders under which a crane at rest stays so, shape (2,).

    Args:
        acceleration: of the cylinders (m/s^2) under forces (N), shapes (2,); it is affine in them.
    """
    free = acceleration(np.zeros(2))
    change = np.column_stack([acceleration(1e3 * unit) - free for unit in np.eye(2)])
    return np.asarray(-1e3 * np.linalg.solve(change, free), dtype=np.float64)


def run_demo(folder: Path, progress: Callable[[str, float], None]) -> Demo:
    """Make the FMU, check it, run it and draw the run.

    Args:
        folder: where the files go; made if it is not there.
        progress: function that gets the name of the current phase and the fraction done.

    Raises:
        FmuError: the FMU did not run.
    """
    progress("export", 0.0)
    fmu = export(load(MODEL), folder / f"{MODEL}.fmu", stepper=STEPPER, step=STEP, stop=STOP)
    progress("check", 0.0)
    problems = tuple(str(problem) for problem in check(fmu))
    run, per_step = closed_loop(fmu, STOP, lambda fraction: progress("closed loop", fraction))
    error = 1e3 * np.column_stack([run[f"{axis}.s"] - run[f"reference.{axis}.s"] for axis in AXES])
    work = sum(np.cumsum(run[f"{axis}.f"][1:] * np.diff(run[f"{axis}.s"])) for axis in AXES)
    energy = run["energy.total"]
    balance = energy - energy[0] - np.append(0.0, work)
    position, velocity = (float(np.max(run[name])) for name in RESIDUALS)
    rows = (
        ("tracking error, rms / max", f"{np.sqrt(np.mean(error**2)):.3f} / {np.max(np.abs(error)):.3f} mm"),
        ("constraint.position, max", f"{position:.1e}"),
        ("constraint.velocity, max", f"{velocity:.1e}"),
        ("round-off, for comparison", f"{round_off(run):.1e}"),
        ("energy balance, max error", f"{np.max(np.abs(balance)):.1e} J of {np.ptp(energy):.0f} J exchanged"),
        ("FMU step through FMPy", f"{per_step:.0f} us (set inputs, step, get outputs)"),
    )
    full = Result(run.time, (*run.names, "energy.balance"), np.column_stack([run.values, balance]), run.units)
    return Demo(fmu, full.write(fmu.with_suffix(".csv")), _picture(run, fmu.with_suffix(".png")), problems, rows)


def closed_loop(fmu: Path, stop: float, progress: Callable[[float], None]) -> tuple[Result, float]:
    """Run two PID controllers that move the cylinders of the crane's FMU.

    Args:
        fmu: path of the FMU.
        stop: s.
        progress: function that gets the fraction done.

    Returns:
        The run with its set-points, and the mean wall time of a step, us.

    Raises:
        FmuError: the FMU did not run.
    """
    import fmpy
    from fmpy.fmi2 import FMU2Slave

    description = read_fmu(fmu)
    variables = {item.name: item for item in description.modelVariables}
    forces, accelerations, shown = (
        [variables[name].valueReference for name in names]
        for names in ([f"{axis}.f" for axis in AXES], [f"{axis}.a" for axis in AXES], SHOWN)
    )
    unzipped = fmpy.extract(str(fmu))
    slave: Any = FMU2Slave(
        guid=description.guid,
        unzipDirectory=unzipped,
        modelIdentifier=description.coSimulation.modelIdentifier,
        instanceName=MODEL,
    )

    def acceleration(force: Array) -> Array:
        slave.setReal(forces, force.tolist())
        return np.array(slave.getReal(accelerations))

    try:
        slave.instantiate()
        slave.setupExperiment(startTime=0.0)
        slave.enterInitializationMode()
        hold = holding_forces(acceleration)
        slave.setReal(forces, hold.tolist())
        slave.exitInitializationMode()
        count = round(stop / STEP)
        rows, spent, total = [slave.getReal(shown)], 0.0, np.zeros(2)
        start = np.array(rows[0][2:4])
        for k in range(count):
            goal, rate = set_points(k * STEP, start)
            s, v = np.array(rows[-1][2:4]), np.array(rows[-1][4:6])
            total += STEP * (goal - s)
            force = hold + KP * (goal - s) + KD * (rate - v) + KI * total
            begin = clock.perf_counter()
            slave.setReal(forces, force.tolist())
            slave.doStep(currentCommunicationPoint=k * STEP, communicationStepSize=STEP)
            rows.append(slave.getReal(shown))
            spent += clock.perf_counter() - begin
            if k % 100 == 99:
                progress((k + 1) / count)
        slave.terminate()
        slave.freeInstance()
    except Exception as error:  # noqa: BLE001 - FMPy raises plain Exceptions
        raise FmuError(f"'{fmu}' did not run in FMPy: {error}") from None
    finally:
        shutil.rmtree(unzipped, ignore_errors=True)
    time = np.arange(count + 1) * np.float64(STEP)
    wanted = np.array([set_points(float(t), start)[0] for t in time])
    references = {f"reference.{axis}.s": "m" for axis in AXES}
    units = {name: unit_of(variables[name]) for name in SHOWN} | references
    return Result(time, (*SHOWN, *references), np.column_stack([rows, wanted]), units), spent / count * 1e6


def place(run: Result, name: str) -> Array:
    """Return where a frame is over a run, shape (n_t, 2), m."""
    return np.column_stack([run[f"{name}.r_0[1]"], run[f"{name}.r_0[2]"]])


def draw_ground(axes: Axes) -> None:
    """Draw what stands still, and set the limits of the axes."""
    axes.set(xlim=(-0.9, 6.4), ylim=(-1.3, 5.3), aspect="equal")
    axes.axis("off")
    axes.fill([-0.9, 6.4, 6.4, -0.9], [-1.3, -1.3, -1.15, -1.15], color="0.85")
    axes.fill([-0.3, 0.35, 0.12, -0.12], [-1.15, -1.15, 2.05, 2.05], color="0.45")


def draw_crane(axes: Axes, run: Result, k: int, alpha: float = 1.0) -> list[Artist]:
    """Draw the crane in a pose.

    Args:
        axes: to draw on, in m.
        run: of the crane.
        k: number of the pose in the run.
        alpha: opacity.

    Returns:
        What was drawn.
    """
    drawn: list[Artist] = []
    for name, outline in OUTLINES.items():
        phi, origin = run[f"{name}.phi"][k], place(run, name)[k]
        turn = np.array([[math.cos(phi), math.sin(phi)], [-math.sin(phi), math.cos(phi)]])
        x, y = (np.array(outline) @ turn + origin).T
        drawn += axes.fill(x, y, color=COLOURS[name], alpha=alpha, linewidth=0)
    for barrel, rod in CYLINDERS:
        foot, end, eye = (place(run, name)[k] for name in (barrel, f"{barrel}.frame_b", rod))
        drawn += axes.plot(*np.array([foot, eye]).T, color="0.55", linewidth=3, alpha=alpha, zorder=3)
        drawn += axes.plot(
            *np.array([foot, end]).T, color="0.25", linewidth=6, solid_capstyle="butt", alpha=alpha, zorder=4
        )
    x, y = place(run, "beam2.frame_b")[k]
    drawn += axes.plot([x], [y - 0.15], "o", color="0.2", markersize=11, alpha=alpha, markeredgewidth=0)
    return drawn


def draw_residuals(axes: Axes, run: Result) -> None:
    """Draw the residuals of the constraints beside the band of round-off."""
    for name, colour in zip(RESIDUALS, ("C2", "C4"), strict=True):
        shown = np.maximum(run[name], FLOOR)
        axes.semilogy(run.time, shown, colour, label=name.removeprefix("constraint."), linewidth=0.6)
    axes.axhspan(FLOOR, round_off(run), color="k", alpha=0.07, linewidth=0, label="round-off")
    axes.set_ylim(FLOOR, 1e-9)


def _picture(run: Result, path: Path) -> Path:
    figure = Figure(figsize=(11, 5.6), layout="constrained")
    figure.suptitle(
        f"{MODEL}.fmu ({STEPPER}, h = {STEP * 1e3:g} ms) in FMPy, its cylinders under PID controllers outside"
    )
    grid = figure.add_gridspec(4, 2, width_ratios=(1.15, 1.0))
    scene = figure.add_subplot(grid[:, 0])
    strokes, errors, forces, residuals = panels = [figure.add_subplot(grid[k, 1]) for k in range(4)]
    draw_ground(scene)
    scene.plot(*place(run, "beam2.frame_b").T, ":", color="0.5", linewidth=1)
    for time, alpha in POSES.items():
        k = round(time / STEP)
        draw_crane(scene, run, k, alpha)
        x, y = place(run, "beam2.frame_b")[k]
        scene.text(x + 0.22, y - 0.15, f"{time:g} s", fontsize="small", va="center", bbox={"color": "white", "pad": 1})
        for axes in panels:
            axes.axvline(time, color="k", linewidth=0.8, alpha=max(alpha, 0.3))
    for axis in AXES:
        strokes.plot(run.time, run[f"{axis}.s"], label=axis)
        errors.plot(run.time, 1e3 * (run[f"{axis}.s"] - run[f"reference.{axis}.s"]), label=axis)
        forces.plot(run.time, run[f"{axis}.f"] / 1e3, label=axis)
    wanted = np.column_stack([run[f"reference.{axis}.s"] for axis in AXES])
    strokes.plot(run.time, wanted, "k:", linewidth=1, label=["set-point", "_set-point"])
    draw_residuals(residuals, run)
    labels = ("stroke [m]", "error [mm]", "force [kN]", "residual")
    for axes, label in zip(panels, labels, strict=True):
        axes.set_ylabel(label)
        axes.grid(alpha=0.3)
        axes.margins(x=0)
        axes.tick_params(labelbottom=axes is residuals)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small", frameon=False)
    figure.align_ylabels(panels)
    residuals.set_xlabel("time [s]")
    return save(figure, path)

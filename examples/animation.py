"""A moving picture: the loader crane as an FMU, driven by a controller outside.

Run: python -m examples.animation (writes docs/crane.gif)
"""

import math
import tempfile
from pathlib import Path

import fmpy
import numpy as np
import numpy.typing as npt
from fmpy.fmi2 import FMU2Slave
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

import mbfmu
from mbfmu.result import Result

Array = npt.NDArray[np.float64]

PERIOD, STEP, FRAMES, COLORS = 6.0, 2e-3, 75, 48
RANGE = {"lift": (0.22, 0.68), "tilt": (0.36, 0.76)}
"""Strokes between which the cylinders go to and fro, m."""
GAIN = {"lift": 2.4e6, "tilt": 1.5e6}
"""N/m; the damping is a sixth of it in N.s/m, and the integral gain three times it in N/(m.s)."""
OUTLINES = {
    "beam1": ((0.0, 0.12), (1.9, 0.35), (3.5, 0.08), (3.5, -0.08), (1.0, -0.15), (0.0, -0.12)),
    "beam2": ((-0.3, 0.25), (0.1, 0.12), (2.5, 0.05), (2.5, -0.05), (0.0, -0.1)),
}
"""Of boom and jib, in their own frames, m."""
CYLINDERS = {"lift": ("barrel1", "rod1"), "tilt": ("barrel2", "rod2")}


def wanted(axis: str, time: float) -> tuple[float, float]:
    """Return stroke (m) and rate (m/s) that an axis is to have; one cylinder follows the other by a quarter period."""
    low, high = RANGE[axis]
    turn = 2 * math.pi * time / PERIOD - (math.pi / 2 if axis == "tilt" else 0.0)
    return low + (high - low) * (1 - math.cos(turn)) / 2, (high - low) * math.sin(turn) * math.pi / PERIOD


def drive(path: Path, periods: int = 3) -> Result:
    """Run the crane in closed loop; return the last period, which goes over into itself."""
    description = fmpy.read_model_description(str(path))
    vr = {variable.name: variable.valueReference for variable in description.modelVariables}
    shown = [item.name for item in description.modelVariables if item.causality in {"input", "output", "local"}]
    with tempfile.TemporaryDirectory() as folder:
        crane = FMU2Slave(
            guid=description.guid,
            unzipDirectory=fmpy.extract(str(path), unzipdir=folder),
            modelIdentifier=description.coSimulation.modelIdentifier,
            instanceName="crane",
        )
        crane.instantiate()
        crane.setupExperiment(startTime=0.0)
        crane.enterInitializationMode()
        crane.exitInitializationMode()
        sums, rows, steps = dict.fromkeys(RANGE, 0.0), [], round(PERIOD / STEP)
        for k in range(periods * steps):
            for axis, gain in GAIN.items():
                s, v = crane.getReal([vr[f"{axis}.s"], vr[f"{axis}.v"]])
                goal, rate = wanted(axis, k * STEP)
                sums[axis] += STEP * (goal - s)
                force = gain * (goal - s + (rate - v) / 6 + 3 * sums[axis])
                crane.setReal([vr[f"{axis}.f"]], [force])
            crane.doStep(currentCommunicationPoint=k * STEP, communicationStepSize=STEP)
            if k >= (periods - 1) * steps:
                rows.append(crane.getReal([vr[name] for name in shown]))
        crane.terminate()
        crane.freeInstance()
    return Result(np.arange(1, steps + 1) * np.float64(STEP), tuple(shown), np.array(rows))


def points(run: Result, name: str) -> Array:
    """Return where a point is over the run, shape (n_t, 2), m."""
    return np.column_stack([run[f"{name}.r_0[1]"], run[f"{name}.r_0[2]"]])


def draw(run: Result, path: Path, frames: int) -> None:
    """Draw the mechanism beside strokes, forces and residuals, and write it as a GIF."""
    figure = Figure(figsize=(8.0, 3.6), dpi=110, layout="constrained")
    grid = figure.add_gridspec(3, 2, width_ratios=(1.15, 1.0))
    scene, *plots = figure.add_subplot(grid[:, 0]), *(figure.add_subplot(grid[k, 1]) for k in range(3))
    scene.set(xlim=(-0.9, 6.4), ylim=(-1.3, 5.3), aspect="equal")
    scene.axis("off")
    scene.fill([-0.9, 6.4, 6.4, -0.9], [-1.3, -1.3, -1.15, -1.15], color="0.85")
    scene.fill([-0.3, 0.35, 0.12, -0.12], [-1.15, -1.15, 2.05, 2.05], color="0.45")
    tip = points(run, "beam2.frame_b")
    scene.plot(tip[:, 0], tip[:, 1], ":", color="0.6", linewidth=1)
    bodies = {name: scene.fill([0, 0], [0, 0], color=color)[0] for name, color in (("beam1", "C1"), ("beam2", "C0"))}
    barrels = {axis: scene.plot([], [], "0.25", lw=6, solid_capstyle="butt", zorder=4)[0] for axis in CYLINDERS}
    rods = {axis: scene.plot([], [], color="0.55", linewidth=3, zorder=3)[0] for axis in CYLINDERS}
    (load,) = scene.plot([], [], "o", color="0.2", markersize=11)
    time = run.time - run.time[0]
    for axis in RANGE:
        plots[0].plot(time, [wanted(axis, float(t))[0] for t in run.time], "k:", linewidth=1)
        plots[0].plot(time, run[f"{axis}.s"], label=axis, linewidth=1.2)
        plots[1].plot(time, run[f"{axis}.f"] / 1e3, linewidth=1.2)
    for name in ("position", "velocity"):
        plots[2].semilogy(time, np.maximum(run[f"constraint.{name}"], 1e-17), label=name, linewidth=0.6)
    plots[2].set_ylim(1e-17, 1e-9)
    plots[2].set_xlabel("time [s]", fontsize=8)
    for axes, label in zip(plots, ("stroke [m]", "force [kN]", "residual"), strict=True):
        axes.set_ylabel(label, fontsize=8)
        axes.tick_params(labelsize=7)
        axes.set_xlim(0, PERIOD)
        axes.grid(alpha=0.3)
    plots[0].legend(fontsize=7, ncols=2, loc="upper right")
    plots[2].legend(fontsize=7, ncols=2, loc="upper right")
    plots[0].set_ylim(0.15, 1.0)
    cursors = [axes.axvline(0.0, color="k", linewidth=0.8) for axes in plots]

    def show(frame: int) -> None:
        k = frame * len(time) // frames
        for name, outline in OUTLINES.items():
            phi, origin = run[f"{name}.phi"][k], points(run, name)[k]
            turn = np.array([[math.cos(phi), math.sin(phi)], [-math.sin(phi), math.cos(phi)]])
            bodies[name].set_xy(np.array(outline) @ turn + origin)
        for axis, (barrel, rod) in CYLINDERS.items():
            foot, end, eye = (points(run, name)[k] for name in (barrel, f"{barrel}.frame_b", rod))
            barrels[axis].set_data(*np.array([foot, end]).T)
            rods[axis].set_data(*np.array([foot, eye]).T)
        load.set_data(tip[k, :1], tip[k, 1:] - 0.15)
        for cursor in cursors:
            cursor.set_xdata([time[k], time[k]])

    canvas = FigureCanvasAgg(figure)
    pictures: list[Image.Image] = []
    for frame in range(frames):
        show(frame)
        canvas.draw()
        picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
        if not pictures:  # one palette for all, without dithering: what stands still costs nothing
            palette = picture.quantize(COLORS, dither=Image.Dither.NONE)
        pictures.append(picture.quantize(palette=palette, dither=Image.Dither.NONE))
    each = round(1000 * PERIOD / frames)
    pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=each, loop=0, optimize=True)


def main(path: Path | None = None, frames: int = FRAMES) -> dict[str, float]:
    """Run and draw; return tracking error (m), largest residual, and the size of the file (kB)."""
    target = path or Path(__file__).parents[1] / "docs" / "crane.gif"
    with tempfile.TemporaryDirectory() as folder:
        run = drive(mbfmu.export(mbfmu.load("crane"), Path(folder) / "crane.fmu", stepper="rattle", step=1e-3))
    draw(run, target, frames)
    goals = {axis: np.array([wanted(axis, float(t))[0] for t in run.time]) for axis in RANGE}
    return {
        "tracking error, m": max(float(np.abs(run[f"{axis}.s"] - goals[axis]).max()) for axis in RANGE),
        "residual": float(max(run["constraint.position"].max(), run["constraint.velocity"].max())),
        "file, kB": target.stat().st_size / 1e3,
    }


if __name__ == "__main__":
    for label, number in main().items():
        print(f"{label:20s} {number:.3g}")

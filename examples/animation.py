"""A moving picture: the demo's loader crane as an FMU, driven by a controller outside.

Run: python -m examples.animation (writes docs/crane.gif; another file with --plot FILE)
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import mbfmu
from examples.film import DOCS, film, present
from mbfmu.base.result import Result
from mbfmu.show.demo import (
    AXES,
    MODEL,
    PERIOD,
    STEP,
    STEPPER,
    closed_loop,
    draw_crane,
    draw_ground,
    draw_residuals,
    place,
)

PERIODS, FRAMES = 3, 75
TARGET = DOCS / "crane.gif"


def last_period(run: Result) -> Result:
    """Return the last period, which goes over into itself, from 0 s on."""
    count = round(PERIOD / STEP)
    return Result(run.time[: count + 1], run.names, run.values[-count - 1 :], run.units)


def draw(run: Result, frames: int) -> Iterator[npt.NDArray[np.uint8]]:
    """Yield frames of the mechanism beside strokes, forces and residuals."""
    figure = Figure(figsize=(8.0, 3.6), dpi=110, layout="constrained")
    grid = figure.add_gridspec(3, 2, width_ratios=(1.15, 1.0))
    scene, *plots = figure.add_subplot(grid[:, 0]), *(figure.add_subplot(grid[k, 1]) for k in range(3))
    draw_ground(scene)
    scene.plot(*place(run, "beam2.frame_b").T, ":", color="0.6", linewidth=1)
    for axis in AXES:
        plots[0].plot(run.time, run[f"{axis}.s"], label=axis, linewidth=1.2)
        plots[0].plot(run.time, run[f"reference.{axis}.s"], "k:", linewidth=1)
        plots[1].plot(run.time, run[f"{axis}.f"] / 1e3, linewidth=1.2)
    draw_residuals(plots[2], run)
    plots[2].set_xlabel("time [s]", fontsize=8)
    for axes, label in zip(plots, ("stroke [m]", "force [kN]", "residual"), strict=True):
        axes.set_ylabel(label, fontsize=8)
        axes.tick_params(labelsize=7)
        axes.set_xlim(0, PERIOD)
        axes.grid(alpha=0.3)
    plots[0].legend(fontsize=7, ncols=2, loc="upper right")
    plots[2].legend(fontsize=7, ncols=3, loc="upper right")
    plots[0].set_ylim(0.15, 1.0)
    cursors = [axes.axvline(0.0, color="k", linewidth=0.8) for axes in plots]
    canvas = FigureCanvasAgg(figure)
    for frame in range(frames):
        k = frame * (len(run.time) - 1) // frames
        crane = draw_crane(scene, run, k)
        for cursor in cursors:
            cursor.set_xdata([run.time[k], run.time[k]])
        canvas.draw()
        for part in crane:
            part.remove()
        yield np.asarray(canvas.buffer_rgba()).copy()


def main(path: Path = TARGET, frames: int = FRAMES) -> dict[str, float]:
    """Run and draw; return tracking error (m), largest residual, and the size of the file (kB)."""
    with tempfile.TemporaryDirectory() as folder:
        fmu = mbfmu.export(mbfmu.load(MODEL), Path(folder) / "crane.fmu", stepper=STEPPER, step=STEP)
        run = last_period(closed_loop(fmu, PERIODS * PERIOD, lambda _: None)[0])
    film(draw(run, frames), path, 1000 * PERIOD / frames)
    return {
        "tracking error, m": max(float(np.abs(run[f"{axis}.s"] - run[f"reference.{axis}.s"]).max()) for axis in AXES),
        "residual": float(max(run["constraint.position"].max(), run["constraint.velocity"].max())),
        "file, kB": path.stat().st_size / 1e3,
    }


if __name__ == "__main__":
    present("Draw the moving picture of the crane.", TARGET, main)

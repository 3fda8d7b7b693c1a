"""A moving picture: the demo's loader crane as an FMU, driven by a controller outside.

Run: python -m examples.animation (writes docs/crane.gif; another file with --plot FILE)
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

import mbfmu
from mbfmu.demo import AXES, MODEL, PERIOD, STEP, STEPPER, closed_loop, draw_crane, draw_ground, draw_residuals, place
from mbfmu.result import Result

PERIODS, FRAMES, COLORS = 3, 75, 48
TARGET = Path(__file__).parents[1] / "docs" / "crane.gif"


def last_period(run: Result) -> Result:
    """Return the last period, which goes over into itself, from 0 s on."""
    count = round(PERIOD / STEP)
    return Result(run.time[: count + 1], run.names, run.values[-count - 1 :], run.units)


def draw(run: Result, path: Path, frames: int) -> None:
    """Draw the mechanism beside strokes, forces and residuals, and write it as a GIF."""
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
    pictures: list[Image.Image] = []
    for frame in range(frames):
        k = frame * (len(run.time) - 1) // frames
        crane = draw_crane(scene, run, k)
        for cursor in cursors:
            cursor.set_xdata([run.time[k], run.time[k]])
        canvas.draw()
        for part in crane:
            part.remove()
        picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
        if not pictures:  # one palette for all, without dithering: what stands still costs nothing
            palette = picture.quantize(COLORS, dither=Image.Dither.NONE)
        pictures.append(picture.quantize(palette=palette, dither=Image.Dither.NONE))
    each = round(1000 * PERIOD / frames)
    pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=each, loop=0, optimize=True)


def main(path: Path = TARGET, frames: int = FRAMES) -> dict[str, float]:
    """Run and draw; return tracking error (m), largest residual, and the size of the file (kB)."""
    with tempfile.TemporaryDirectory() as folder:
        fmu = mbfmu.export(mbfmu.load(MODEL), Path(folder) / "crane.fmu", stepper=STEPPER, step=STEP)
        run = last_period(closed_loop(fmu, PERIODS * PERIOD, lambda _: None)[0])
    draw(run, path, frames)
    return {
        "tracking error, m": max(float(np.abs(run[f"{axis}.s"] - run[f"reference.{axis}.s"]).max()) for axis in AXES),
        "residual": float(max(run["constraint.position"].max(), run["constraint.velocity"].max())),
        "file, kB": path.stat().st_size / 1e3,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Draw the moving picture of the crane.")
    parser.add_argument("--plot", metavar="FILE", type=Path, default=TARGET, help="where it goes, as .gif")
    for label, number in main(parser.parse_args().plot).items():
        print(f"{label:20s} {number:.3g}")

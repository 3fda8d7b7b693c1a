"""A moving picture: a rimless wheel that walks down a slope and comes to its gait.

Run: python -m examples.moving.walker (writes docs/moving/walker.gif; another file with --plot FILE)
"""

from collections.abc import Iterator
from math import cos, pi, sin, sqrt
from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import mbfmu
from examples.film import DOCS, film, present
from mbfmu.base.result import Result

Array = npt.NDArray[np.float64]
TARGET = DOCS / "moving" / "walker.gif"
STOP, STEP, FRAMES = 6.0, 5e-3, 90
LEGS, LENGTH, MASS, INERTIA, SLOPE, G = 8, 1.0, 1.0, 0.2, 0.08, 9.81
START = -0.92
"""Rate at the start, rad/s, just enough for the first step."""
STONE, BODY, FOOT = "0.82", "#5b6570", "#D55E00"


def gait() -> tuple[float, float]:
    """Return the rates just before and after the impacts of the steady gait, rad/s, by the closed form."""
    half, whole = pi / LEGS, INERTIA + MASS * LENGTH**2
    left = (INERTIA + MASS * LENGTH**2 * cos(2 * half)) / whole
    before = sqrt(4 * MASS * G * LENGTH * sin(half) * sin(SLOPE) / (whole * (1 - left**2)))
    return before, left * before


def turned(points: Array) -> Array:
    """Return points of the slope's axes, shape (n, 2), as one sees them with gravity downwards."""
    c, s = cos(SLOPE), sin(SLOPE)
    return points @ np.array([[c, -s], [s, c]])


def draw_scene(axes: Axes, run: Result, k: int) -> list[object]:
    """Draw the wheel on its slope at an instant, the eye beside the hub; return what is to be removed again."""
    x, y, phi = (run[f"rolling.{name}"][k] for name in ("s_x", "s_y", "phi"))
    eye = turned(np.array([[x, 0.0]]))
    hub = np.array([x, y])
    number = np.arange(LEGS)
    lean = pi / LEGS + 2 * pi / LEGS * number + phi
    tips = hub + LENGTH * np.column_stack([np.sin(lean), -np.cos(lean)])
    ground = turned(np.array([[x - 4, 0], [x + 4, 0], [x + 4, -3], [x - 4, -3]])) - eye
    parts: list[object] = [*axes.fill(*ground.T, color=STONE)]
    for mark in np.arange(np.ceil(2 * (x - 2)) / 2, x + 2, 0.5):
        line = turned(np.array([[mark, 0], [mark - 0.06, -0.09]])) - eye
        parts += axes.plot(*line.T, color="0.55", linewidth=1)
    for i, tip in enumerate(tips):
        stands = run[f"tip_{i + 1}.closed"][k] > 0
        leg = turned(np.array([hub, tip])) - eye
        width = 4.0 if i else 6.0  # one leg is thicker, so that the turn can be followed
        parts += axes.plot(*leg.T, color=BODY, linewidth=width, solid_capstyle="round")
        if stands:
            parts += axes.plot(*leg[1:].T, "o", color=FOOT, markersize=8)
    parts += axes.plot(*(turned(hub[None]) - eye).T, "o", color=BODY, markersize=14)
    return parts


def frames(run: Result, count: int) -> Iterator[npt.NDArray[np.uint8]]:
    """Yield the frames: the wheel beside its rate and the force on its feet."""
    figure = Figure(figsize=(7.6, 3.5), dpi=100, layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=(1.2, 1.2))
    scene, upper, lower = figure.add_subplot(grid[:, 0]), figure.add_subplot(grid[0, 1]), figure.add_subplot(grid[1, 1])
    scene.set_aspect("equal")
    scene.set(xlim=(-1.3, 1.3), ylim=(-0.3, 2.1), xticks=[], yticks=[])
    for spine in scene.spines.values():
        spine.set_visible(False)
    t, press = run.time, sum(run[f"tip_{i}.f_n"] for i in range(1, LEGS + 1))
    upper.plot(t, -run["rolling.w"], color="#0072B2", linewidth=1.2)
    for rate, text in zip(gait(), ("steady gait, at an impact", None), strict=True):
        upper.axhline(rate, color="k", linestyle=":", linewidth=1, label=text)
    upper.set_ylim(0, 1.65)
    upper.legend(fontsize=7, loc="lower right")
    lower.plot(t, press, color="#0072B2", linewidth=1.2)
    lower.axhline(MASS * G * cos(SLOPE), color="k", linestyle=":", linewidth=1, label="at rest")
    lower.set_ylim(0, 10.5)
    lower.legend(fontsize=7, loc="lower right")
    lower.set_xlabel("time [s]", fontsize=8)
    for axes, label in ((upper, "rate [rad/s]"), (lower, "force on the slope [N]")):
        axes.set_ylabel(label, fontsize=8)
        axes.tick_params(labelsize=7)
        axes.grid(alpha=0.3)
        axes.set_xlim(0, STOP)
    cursors = [axes.axvline(0.0, color="k", linewidth=0.8) for axes in (upper, lower)]
    canvas = FigureCanvasAgg(figure)
    for k in np.linspace(0, len(t) - 1, count).astype(int):
        parts = draw_scene(scene, run, int(k))
        for cursor in cursors:
            cursor.set_xdata([t[k], t[k]])
        canvas.draw()
        yield np.asarray(canvas.buffer_rgba()).copy()
        for part in parts:
            part.remove()  # type: ignore[attr-defined]


def main(path: Path = TARGET, count: int = FRAMES) -> dict[str, float]:
    """Run and draw; return the steps, the largest rate and the steady gait's (rad/s), and the file's size (kB)."""
    how = {"stepper": "projected", "options": {"order": 8}, "step": STEP, "output_interval": STEP}
    run = mbfmu.simulate(mbfmu.load("rimless_wheel"), STOP, values={"w_0": START}, **how)
    film(frames(run, count), path, 1000 * STOP / count)
    fastest = float(-run["rolling.w"].min())
    return {
        "steps": float(run["events.count"][-1]),
        "steady gait, rad/s": gait()[0],
        "fastest, rad/s": fastest,
        "file, kB": path.stat().st_size / 1e3,
    }


if __name__ == "__main__":
    present("Draw the moving picture of the walker.", TARGET, main)

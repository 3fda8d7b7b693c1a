"""A moving picture: two fingers lift a box by friction, let it slip, and catch it.

Run: python -m examples.moving.gripper (writes docs/moving/gripper.gif; another file with --plot FILE)
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle

import mbfmu
from examples.film import DOCS, film, present

Array = npt.NDArray[np.float64]
Course = dict[str, Array]
TARGET = DOCS / "moving" / "gripper.gif"
STEP, STOP, FRAMES, SLOWER = 2e-3, 3.0, 90, 1.6
"""Step and end of the run, s; number of frames; how much slower than real they are shown."""
WIDTH, HEIGHT, TIP, MASS, ALL, MU, G = 0.05, 0.08, 0.015, 2.0, 6.0, 0.4, 9.81
"""Half width and half height of the box, radius of a fingertip, m; masses, kg; friction; gravity."""
TIMES = (0.0, 0.25, 1.3, 1.55, 2.6)
"""Times from which the fingers have the forces below, s."""
FORCES = (1.0, 36.0, 20.0, 60.0, -1.0)
"""Forces of the fingers, N: they close, hold, slip, catch, open."""
LIFT, UP, DOWN = 0.2, (0.4, 1.2), (1.8, 2.5)
"""Way of the hoist, m; when it goes up, and when down, s."""
STIFF, DAMPED = 6000.0, 400.0
"""Gains of the hoist's controller, N/m and N.s/m."""
HELD, SLIDES, STEEL = "#0072B2", "#D55E00", "#5b6570"
KEPT = ("free.s_y", "free.phi", "lift.s", "left.s", "right.s", "left_tip.sticks", "left_tip.closed")


def wanted(t: float, down: float) -> tuple[float, float, float]:
    """Return the height of the fingertips, m, that the hoist follows, its rate and its acceleration.

    Args:
        t: time, s.
        down: way down, m.
    """
    way, begin, end = (LIFT, *UP) if t < DOWN[0] else (-down, *DOWN)
    base = HEIGHT if way > 0 else HEIGHT + LIFT
    w = np.pi / (end - begin)
    turn = w * float(np.clip(t - begin, 0, end - begin))
    moving = begin < t < end
    return base + way / 2 * (1 - np.cos(turn)), way / 2 * w * np.sin(turn), moving * way / 2 * w**2 * np.cos(turn)


def run() -> Course:
    """Close, lift, slip, catch, put down and open."""
    simulation = mbfmu.Simulation(mbfmu.load("gripper"), step=STEP, inputs={"left.f": FORCES[0], "right.f": FORCES[0]})
    rows: list[list[float]] = []
    down = 0.0
    for k in range(round(STOP / STEP) + 1):
        t = k * STEP
        f = FORCES[int(np.searchsorted(TIMES, t, side="right")) - 1]
        if t < DOWN[0]:
            down = simulation["free.s_y"] - HEIGHT
        s, v, a = wanted(t, down)
        rows.append([t, max(f, 0.0), a, *(simulation[name] for name in KEPT)])
        load = ALL if simulation["free.s_y"] > HEIGHT + 1e-9 else ALL - MASS
        pull = load * (G + a) + STIFF * (s - simulation["lift.s"]) + DAMPED * (v - simulation["lift.v"])
        simulation.step({"left.f": f, "right.f": f, "lift.f": pull}, STEP)
    return dict(zip(("time", "grip", "a", *KEPT), np.array(rows).T, strict=True))


def sliding(found: Course) -> npt.NDArray[np.bool_]:
    """Return when the box slips between closed fingers."""
    return np.asarray((found["left_tip.closed"] > 0) & (found["left_tip.sticks"] == 0) & (found["grip"] > 2))


def draw_scene(axes: Axes, found: Course, k: int) -> list[object]:
    """Draw the gripper and the box at an instant; return what is to be removed again."""
    height, box = found["lift.s"][k], found["free.s_y"][k]
    colour = SLIDES if sliding(found)[k] else HELD
    rail = height + 0.17
    parts: list[object] = [
        axes.add_patch(Rectangle((-0.012, rail), 0.024, 0.5, color=STEEL)),
        axes.add_patch(Rectangle((-0.16, rail - 0.012), 0.32, 0.024, color=STEEL)),
        axes.add_patch(
            Rectangle((-WIDTH, box - HEIGHT), 2 * WIDTH, 2 * HEIGHT, facecolor="#f1d9a7", edgecolor="0.3", linewidth=1)
        ),
    ]
    for mark in (-0.04, 0.0, 0.04):
        parts += axes.plot([-WIDTH, WIDTH], [box + mark] * 2, color="0.75", linewidth=0.7)
    for side, name in ((-1, "left.s"), (1, "right.s")):
        x = -side * found[name][k]
        parts += [
            axes.add_patch(Rectangle((x + side * 0.012 - 0.011, height), 0.022, rail - height, color=STEEL)),
            axes.add_patch(Circle((x, height), TIP, color=colour)),
        ]
    return parts


def frames(found: Course, count: int) -> Iterator[npt.NDArray[np.uint8]]:
    """Yield the frames: the gripper beside forces and heights."""
    figure = Figure(figsize=(7.6, 3.7), dpi=100, layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=(1.0, 1.5))
    scene, upper, lower = figure.add_subplot(grid[:, 0]), figure.add_subplot(grid[0, 1]), figure.add_subplot(grid[1, 1])
    scene.set_aspect("equal")
    scene.set(xlim=(-0.19, 0.19), ylim=(-0.03, 0.52), xticks=[], yticks=[])
    scene.axhspan(-0.03, 0, color="0.82")
    for spine in scene.spines.values():
        spine.set_visible(False)
    t = found["time"]
    upper.plot(t, 2 * MU * found["grip"], color=HELD, linewidth=1.2, label="most friction of the fingers")
    upper.plot(t, MASS * (G + found["a"]), "k:", linewidth=1.2, label="box, m (g + a)")
    upper.set_ylim(0, 62)
    lower.plot(t, found["lift.s"] - HEIGHT, color=STEEL, linewidth=1.2, label="fingers")
    lower.plot(t, found["free.s_y"] - HEIGHT, color="#E69F00", linewidth=1.2, label="box")
    lower.set_xlabel("time [s]", fontsize=8)
    slips = sliding(found)
    for axes, label in ((upper, "force [N]"), (lower, "height [m]")):
        axes.set_ylabel(label, fontsize=8)
        axes.tick_params(labelsize=7)
        axes.grid(alpha=0.3)
        axes.set_xlim(0, STOP)
        bottom, top = axes.get_ylim()
        axes.fill_between(t, bottom, top, where=slips, color=SLIDES, alpha=0.2, linewidth=0, label="slips")
        axes.set_ylim(bottom, top)
    upper.legend(fontsize=7, loc="upper left")
    lower.legend(fontsize=7, loc="upper left")
    cursors = [axes.axvline(0.0, color="k", linewidth=0.8) for axes in (upper, lower)]
    canvas = FigureCanvasAgg(figure)
    for k in np.linspace(0, len(t) - 1, count).astype(int):
        parts = draw_scene(scene, found, int(k))
        for cursor in cursors:
            cursor.set_xdata([t[k], t[k]])
        canvas.draw()
        yield np.asarray(canvas.buffer_rgba()).copy()
        for part in parts:
            part.remove()  # type: ignore[attr-defined]


def main(path: Path = TARGET, count: int = FRAMES) -> dict[str, float]:
    """Run and draw; return for how long and how far the box slips (s, m), its tilt (rad), the file's size (kB)."""
    found = run()
    film(frames(found, count), path, SLOWER * 1000 * STOP / count)
    slips = sliding(found)
    way = (found["free.s_y"] - found["lift.s"])[slips]
    return {
        "slips, s": float(slips.sum() * STEP),
        "slips by, m": float(way[0] - way[-1]),
        "tilt, rad": float(np.abs(found["free.phi"]).max()),
        "file, kB": path.stat().st_size / 1e3,
    }


if __name__ == "__main__":
    present("Draw the moving picture of the gripper.", TARGET, main)

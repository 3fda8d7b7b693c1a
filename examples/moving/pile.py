"""A moving picture: spheres that fall into a box and come to rest, stepped by `moreau`.

Run: python -m examples.moving.pile (writes docs/moving/pile.gif; another file with --plot FILE)
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image, ImageDraw

import mbfmu
from examples.film import DOCS, film, present
from mbfmu.base.result import Result

Array = npt.NDArray[np.float64]
TARGET = DOCS / "moving" / "pile.gif"
COUNT, STOP, STEP, SHOWN = 20, 1.0, 2e-3, 0.02
"""Number of spheres; time, step and time between frames, s."""
SLOWER = 3.0
SIZE = (400, 400)
"""Width and height of the scene, pixels."""
FINE = 2
"""Rays along and across a pixel."""
RADIUS, SIDE, HEIGHT, MASS = 0.05, 0.34, 0.3, 0.5
EYE, AIM, LENS = np.array([0.55, -1.05, 0.72]), np.array([0.0, 0.0, 0.19]), 3.7
"""Place of the eye and what it looks at, m; its focal length over half the picture's width."""
LIGHT = np.array([0.35, -0.45, 0.9]) / np.linalg.norm([0.35, -0.45, 0.9])
LAYERS = np.array([[0, 114, 178], [230, 159, 0], [0, 158, 115], [204, 121, 167]], float)
"""Colours of the layers in which the spheres start; one half of each is lighter."""
FLOOR, WALL, SKY = np.array([226.0] * 3), np.array([238.0, 240.0, 243.0]), np.array([255.0] * 3)
TONES = (0.45, 0.62, 0.78, 0.9, 1.0)
"""Shares of a colour that the light leaves, from the dark side on."""


def axes_of_view() -> tuple[Array, Array, Array]:
    """Return the directions to the right, up and ahead of the eye."""
    ahead = (AIM - EYE) / np.linalg.norm(AIM - EYE)
    right = np.cross(ahead, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    return right, np.cross(right, ahead), ahead


def rays() -> Array:
    """Return the directions of all rays, shape (rows, columns, 3)."""
    width, height = SIZE[0] * FINE, SIZE[1] * FINE
    x = (np.arange(width) + 0.5) / width * 2 - 1
    y = (1 - (np.arange(height) + 0.5) / height * 2) * height / width
    right, up, ahead = axes_of_view()
    found: Array = x[None, :, None] * right + y[:, None, None] * up + LENS * ahead
    return found / np.linalg.norm(found, axis=-1, keepdims=True)


def seen_at(place: Array) -> tuple[float, float]:
    """Return where in the picture a place appears, pixels."""
    right, up, ahead = axes_of_view()
    away = place - EYE
    depth = away @ ahead / LENS
    return (1 + away @ right / depth) * SIZE[0] / 2, SIZE[1] / 2 - away @ up / depth * SIZE[0] / 2


def shaded(points: Array, spheres: Array) -> npt.NDArray[np.bool_]:
    """Return which points, shape (n, 3), the spheres keep from the light."""
    away = spheres[None] - points[:, None]
    along = away @ LIGHT
    across = np.einsum("nsk,nsk->ns", away, away) - along**2
    return np.asarray(((along > 1e-6) & (across < RADIUS**2)).any(axis=1))


def scene(directions: Array, spheres: Array, poles: Array) -> npt.NDArray[np.uint8]:
    """Return the picture of spheres at their places, whose halves around their poles are lighter."""
    d = directions.reshape(-1, 3)
    colour, depth = np.tile(SKY, (len(d), 1)), np.full(len(d), np.inf)
    planes = ((2, 0.0, FLOOR), (0, -SIDE / 2, WALL), (1, SIDE / 2, WALL))
    for axis, place, shade in planes:
        far = (place - EYE[axis]) / d[:, axis]
        points = EYE + far[:, None] * d
        inside = np.abs(points[:, :2]) < SIDE / 2 + 1e-9
        inside[:, 0] |= axis == 0
        inside[:, 1] |= axis == 1
        hit = (far > 0) & inside.all(axis=1) & (points[:, 2] > -1e-9) & (points[:, 2] < HEIGHT)
        dark = shaded(points[hit], spheres)
        colour[hit] = np.where(dark[:, None], 0.78, 1.0) * shade
        depth[hit] = far[hit]
    for number, (center, pole) in enumerate(zip(spheres, poles, strict=True)):
        away = center - EYE
        along = d @ away
        inside_it = RADIUS**2 - (away @ away - along**2)
        hit = inside_it > 0
        far = along[hit] - np.sqrt(inside_it[hit])
        nearer = far < depth[hit]
        hit[hit] = nearer
        points = EYE + far[nearer, None] * d[hit]
        normal = (points - center) / RADIUS
        lit = np.clip(normal @ LIGHT, 0, 1) * ~shaded(points + 1e-4 * normal, np.delete(spheres, number, axis=0))
        tone = np.array(TONES)[np.digitize(lit, (0.05, 0.3, 0.6, 0.85))]
        paint = LAYERS[number // 5 % len(LAYERS)]
        light = (normal @ pole > 0)[:, None]
        colour[hit] = np.where(light, 0.45 * paint + 0.55 * 255, paint) * tone[:, None]
        depth[hit] = far[nearer]
    fine = colour.reshape(SIZE[1], FINE, SIZE[0], FINE, 3).mean(axis=(1, 3))
    return np.asarray(fine, np.uint8)


def edges(picture: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return the picture with the edges of the box that are nearest to the eye."""
    image = Image.fromarray(picture)
    pen, half = ImageDraw.Draw(image), SIDE / 2
    corners = [(-half, -half), (half, -half), (half, half)]
    top = [seen_at(np.array([x, y, HEIGHT])) for x, y in corners]
    bottom = [seen_at(np.array([x, y, 0.0])) for x, y in corners]
    for line in (top, bottom, *([a, b] for a, b in zip(top, bottom, strict=True))):
        pen.line(line, fill=(150, 155, 160), width=1)
    return np.asarray(image)


def run() -> Result:
    """Let the spheres fall."""
    system = mbfmu.load("pile", {"N": COUNT})
    return mbfmu.simulate(system, STOP, stepper="moreau", step=STEP, output_interval=SHOWN / 5)


def plots(found: Result) -> tuple[FigureCanvasAgg, list[object]]:
    """Return a canvas with energy, force on the floor and residuals over time, and its cursors."""
    figure = Figure(figsize=(3.6, 4.0), dpi=100, layout="constrained")
    axes = figure.subplots(3, 1, sharex=True)
    t = found.time
    pressing = sum(found[f"floor{i}.f_n"] for i in range(1, COUNT + 1))
    axes[0].plot(t, found["energy.total"], color="#0072B2", linewidth=1.2)
    axes[1].plot(t, pressing, color="#0072B2", linewidth=0.9)
    axes[1].axhline(COUNT * MASS * 9.81, color="k", linestyle=":", linewidth=1)
    axes[1].set_ylim(0, 3.5 * COUNT * MASS * 9.81)
    deepest = -np.min([found[name] for name in found.names if name.endswith(".gap")], axis=0)
    laws = np.max([found[f"contacts.{law}"] for law in ("signorini", "coulomb", "dissipation")], axis=0)
    for values, text, colour in ((deepest, "penetration [m]", "#D55E00"), (laws, "laws of contact", "#009E73")):
        axes[2].semilogy(t, np.maximum(values, 1e-17), ".", label=text, color=colour, markersize=2)
    axes[2].set_ylim(1e-18, 1e-8)
    axes[2].legend(fontsize=7, loc="upper right", markerscale=4)
    axes[2].set_xlabel("time [s]", fontsize=8)
    for item, text in zip(axes, ("energy [J]", "force on the floor [N]", "residual"), strict=True):
        item.set_ylabel(text, fontsize=8)
        item.tick_params(labelsize=7)
        item.grid(alpha=0.3)
        item.set_xlim(0, STOP)
    return FigureCanvasAgg(figure), [item.axvline(0.0, color="k", linewidth=0.8) for item in axes]


def frames(found: Result, count: int) -> Iterator[npt.NDArray[np.uint8]]:
    """Yield the frames: the scene beside the plots."""
    directions = rays()
    canvas, cursors = plots(found)
    numbers = range(1, COUNT + 1)
    for k in np.linspace(0, len(found.time) - 1, count).astype(int):
        spheres = np.array([[found[f"free{i}.r_rel[{axis}]"][k] for axis in (1, 2, 3)] for i in numbers])
        Q = np.array([[found[f"free{i}.Q_rel[{part}]"][k] for part in (1, 2, 3, 4)] for i in numbers])
        s, x, y, z = Q.T
        poles = np.column_stack([2 * (x * z + s * y), 2 * (y * z - s * x), s**2 + z**2 - x**2 - y**2])
        for cursor in cursors:
            cursor.set_xdata([found.time[k]] * 2)  # type: ignore[attr-defined]
        canvas.draw()
        beside = np.asarray(canvas.buffer_rgba())[:, :, :3]
        yield np.hstack([edges(scene(directions, spheres, poles)), beside])


def main(path: Path = TARGET, count: int = round(STOP / SHOWN)) -> dict[str, float]:
    """Run and draw; return penetration (m), the largest residual of the laws of contact, and the file's size (kB)."""
    found = run()
    film(frames(found, count), path, SLOWER * 1000 * STOP / count, colors=256)
    return {
        "penetration, m": float(-min(found[name].min() for name in found.names if name.endswith(".gap"))),
        "residual of the laws": float(
            max(found[f"contacts.{law}"].max() for law in ("signorini", "coulomb", "dissipation"))
        ),
        "file, kB": path.stat().st_size / 1e3,
    }


if __name__ == "__main__":
    present("Draw the moving picture of the pile.", TARGET, main)

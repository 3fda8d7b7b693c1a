"""Figure: a rope from a drum over a sheave to a load, with the signs of the radii, and the velocity of the load."""

import tempfile
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import mbfmu
from examples.figures.style import BLUE, GREY, INK, ORANGE, PALE, Array, arrow, blank, panels
from mbfmu.model import Model

PAGE = "docs/ropes.md"
DRUM, HEAD = ((0.0, 0.0), -0.25), ((4.0, 3.0), -0.2)
TORQUE = 300.0


def hoist(folder: Path) -> Model:
    """Return the model that the page on ropes shows; its file is written to a folder."""
    file, page = folder / "hoist.py", (Path(__file__).parents[2] / PAGE).read_text(encoding="utf-8")
    text = page.partition('```python title="hoist.py"\n')[2].partition("```\n")[0]
    file.write_text(text, encoding="utf-8")
    return mbfmu.load(file)


def span(a: Array, radius_a: float, b: Array, radius_b: float) -> tuple[Array, Array]:
    """Return the points at which the common tangent of two sheaves of signed radii leaves one and meets the other."""
    d, difference = b - a, radius_b - radius_a
    turned = np.array([-d[1], d[0]])
    along = (np.sqrt(d @ d - difference**2) * d - difference * turned) / (d @ d)
    across = np.array([-along[1], along[0]])
    return a - radius_a * across, b - radius_b * across


def scene(sheet: Axes, load: Array) -> None:
    """Draw the winch with its load."""
    blank(sheet, (-1.6, 6.2), (-1.9, 4.0))
    (drum, R), (head, r) = ((np.array(at), radius) for at, radius in (DRUM, HEAD))
    sheet.plot([drum[0], head[0]], [drum[1], head[1]], color=PALE, linewidth=6, zorder=0)
    for centre, radius in ((drum, R), (head, r)):
        around = np.linspace(0, 2 * np.pi, 60)
        sheet.fill(*(centre[:, None] + abs(radius) * np.array([np.cos(around), np.sin(around)])), color=GREY)
    spans = span(drum, R, head, r), span(head, r, load, 0.0)
    arc = np.linspace(*(np.arctan2(*(point - head)[::-1]) for point in (spans[0][1], spans[1][0])), 20)
    over = head + abs(r) * np.column_stack([np.cos(arc), np.sin(arc)])
    sheet.plot(*np.vstack([spans[0], over, spans[1]]).T, color=BLUE, linewidth=1.6)
    sheet.fill(
        *(load[:, None] + np.array([(-0.45, 0.45, 0.45, -0.45), (0.0, 0.0, -0.8, -0.8)])), facecolor=PALE, edgecolor=INK
    )
    sheet.text(*(load - (0.0, 0.4)), "load", ha="center", va="center", family="monospace", size=8)
    arrow(sheet, (0.8, 1.15), (1.6, 1.75), BLUE)
    for text, at, alignment in (
        ('frame_1: "-R"', (0.0, -0.6), "center"),
        ("frame_2: -0.2", (4.0, 3.45), "center"),
        ("frame_3: 0", (4.6, load[1] + 0.15), "left"),
    ):
        sheet.text(*at, text, ha=alignment, family="monospace", size=8)
    sheet.text(-1.5, 3.6, "both clockwise: negative", color=BLUE, size=8)


def draw() -> Figure:
    """Return the figure."""
    with tempfile.TemporaryDirectory() as folder:
        run = mbfmu.simulate(hoist(Path(folder)), 2.0, inputs={"winch.tau": str(TORQUE)}, output_interval=0.01)
    figure, (sheet, plot) = panels(1, 2, (8.2, 3.2), gridspec_kw={"width_ratios": (1.25, 1)})
    scene(sheet, np.array([run["load.r_0[1]"][0], run["load.r_0[2]"][0]]))
    exact = (TORQUE / 0.25 - 100 * 9.81) / (100 + 2.5 / 0.25**2) * run.time
    plot.plot(run.time, run["load.v_0[2]"], color=BLUE, linewidth=3, alpha=0.5, label="load.v_0[2]")
    plot.plot(run.time, exact, color=ORANGE, linewidth=1, linestyle="--", label="rope that does not stretch")
    plot.set(xlabel="time [s]", ylabel="velocity [m/s]")
    plot.legend(loc="upper left")
    figure.tight_layout()
    return figure

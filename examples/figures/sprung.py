"""Figure: a mass between a spring along a line and a spring on the axis of its joint, and its motion."""

import tempfile
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import mbfmu
from examples.figures.style import BLUE, GREY, INK, ORANGE, PALE, arrow, blank, panels
from mbfmu.model import Model

STOP = 1.0
PAGE = "docs/forces.md"


def sprung(folder: Path) -> Model:
    """Return the model that the page on forces shows; its file is written to a folder."""
    file, page = folder / "sprung.py", (Path(__file__).parents[2] / PAGE).read_text(encoding="utf-8")
    text = page.partition('```python title="sprung.py"\n')[2].partition("```\n")[0]
    file.write_text(text, encoding="utf-8")
    return mbfmu.load(file)


def spring(axes: Axes, start: float, end: float, y: float, colour: str) -> None:
    """Draw a spring between two points of a height."""
    x = np.concatenate([[0.0], np.linspace(0.15, 0.85, 13), [1.0]])
    zigzag = np.concatenate([[0.0, 0.0], 0.07 * np.array([1, -1] * 5 + [1]), [0.0, 0.0]])
    axes.plot(start + x * (end - start), y + zigzag, color=colour, linewidth=1.2)


def draw() -> Figure:
    """Return the figure."""
    with tempfile.TemporaryDirectory() as folder:
        run = mbfmu.simulate(sprung(Path(folder)), STOP, output_interval=STOP / 200)
    figure, (sheet, plot) = panels(1, 2, (8.2, 2.5), gridspec_kw={"width_ratios": (1.2, 1)})
    blank(sheet, (-1.25, 0.75), (-0.55, 0.65))
    s = float(run["rail.s"][0]) + 0.1  # apart enough to be seen
    sheet.fill([-1.08, -1, -1, -1.08], [-0.3, -0.3, 0.3, 0.3], color=GREY)
    sheet.plot([-1, 0.7], [-0.22, -0.22], color=GREY, linewidth=2)
    sheet.fill([s - 0.14, s + 0.14, s + 0.14, s - 0.14], [-0.2, -0.2, 0.2, 0.2], facecolor=PALE, edgecolor=INK)
    sheet.text(s, 0, "mass", ha="center", va="center", family="monospace", size=8)
    spring(sheet, -1, s - 0.14, 0.1, BLUE)
    sheet.text(-0.5, 0.24, "line: frame_a to frame_b", color=BLUE, ha="center", family="monospace", size=8)
    arrow(sheet, (s - 0.14, -0.1), (s - 0.5, -0.1), ORANGE)
    sheet.text(
        -0.3, -0.38, "axis: force -c rail.s on the axis of rail", color=ORANGE, ha="center", family="monospace", size=8
    )
    arrow(sheet, (0, 0.42), (s, 0.42))
    sheet.plot([0, 0], [-0.22, 0.48], color=INK, linewidth=0.6, linestyle=":")
    sheet.plot([s, s], [0.2, 0.48], color=INK, linewidth=0.6, linestyle=":")
    sheet.text(s / 2, 0.48, "rail.s", ha="center", family="monospace", size=8)
    exact = 0.1 * np.cos(10 * run.time)
    plot.plot(run.time, run["rail.s"], color=BLUE, linewidth=3, alpha=0.5, label="rail.s")
    plot.plot(run.time, exact, color=ORANGE, linewidth=1, linestyle="--", label="0.1 cos(10 t)")
    plot.set(xlabel="time [s]", ylabel="position [m]", ylim=(-0.11, 0.16))
    plot.legend(loc="upper center", ncol=2)
    figure.tight_layout()
    return figure

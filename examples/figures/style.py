"""Style of the figures that explain: colours, arrows, boxes, and a file that suits light and dark pages."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt

mpl.use("agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

Array = npt.NDArray[np.float64]

BLUE, ORANGE, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#b3589a"
INK, GREY, PALE = "#222222", "#7a828a", "#dfe6ed"
DARK = "<style>@media (prefers-color-scheme: dark) { svg { filter: invert(0.93) hue-rotate(180deg) } }</style>"
"""Rule of a figure by which its lightness is inverted on a dark page; hues stay."""
mpl.rcParams |= {
    "svg.fonttype": "none",
    "svg.hashsalt": "mbfmu",
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "path.simplify_threshold": 0.5,
}


def panels(rows: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Figure, list[Axes]]:
    """Return a figure and its axes, row by row; size: width and height, inches."""
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, **options)
    return figure, [item for row in axes for item in row]


def blank(axes: Axes, x: tuple[float, float], y: tuple[float, float]) -> Axes:
    """Make axes a sheet for a drawing with one scale in both directions, and return them."""
    axes.set(xlim=x, ylim=y, aspect="equal")
    axes.axis("off")
    return axes


def arrow(
    axes: Axes,
    start: Sequence[float] | Array,
    end: Sequence[float] | Array,
    colour: str = INK,
    bend: float = 0.0,
    head: str = "-|>",
    width: float = 1.3,
) -> None:
    """Draw an arrow; bend: curvature of its arc, positive to the right of its way."""
    style = {
        "arrowstyle": head, "color": colour, "shrinkA": 0, "shrinkB": 0, "linewidth": width,
        "connectionstyle": f"arc3,rad={bend}",
    }  # fmt: skip
    axes.annotate("", zorder=2, xy=(end[0], end[1]), xytext=(start[0], start[1]), arrowprops=style)


def box(
    axes: Axes,
    at: tuple[float, float],
    size: tuple[float, float],
    text: str,
    colour: str = PALE,
    mono: bool = False,
    text_size: float = 9,
) -> None:
    """Draw a box with text; at: its middle."""
    corner = (at[0] - size[0] / 2, at[1] - size[1] / 2)
    shape = "round,pad=0,rounding_size=0.08"
    axes.add_patch(FancyBboxPatch(corner, *size, boxstyle=shape, facecolor=colour, edgecolor=GREY, zorder=3))
    axes.text(*at, text, ha="center", va="center", family="monospace" if mono else None, size=text_size, zorder=4)


def save(figure: Figure, path: str) -> None:
    """Write a figure as .svg with a transparent ground, which is dark on a dark page."""
    figure.savefig(path, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    file = Path(path)
    text = re.sub(r" *<metadata>.*?</metadata>\n", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r"<path[^>]*>", lambda path: re.sub(r"(\d+\.\d\d)\d+", r"\1", path[0]), text)  # hundredths of a point
    file.write_text(re.sub(r"(<svg\b[^>]*>)", rf"\1\n {DARK}", text, count=1), encoding="utf-8")

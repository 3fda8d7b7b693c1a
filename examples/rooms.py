"""The rooms of mbfmu and the data that goes from one to the next, as CONTRIBUTING.md shows them.

Run: python -m examples.rooms --plot FILE
"""

import argparse
from collections.abc import Sequence

import matplotlib as mpl

mpl.use("agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

WIDTH, HEIGHT, PITCH = 1.6, 0.72, 2.55
"""Size of a room, and distance from one to the next."""
PIPELINE = (
    ("model/", "reads,\nassembles", "System"),
    ("dae/", "derives\nthe equations", "Dae"),
    ("stepper/", "formulas\nof a step", "Scheme"),
    ("kernel/", "writes and\ncompiles C", "Kernel"),
    ("prepared/", "finds the\nstart", "Prepared"),
    ("fmu/", "packs and\ndescribes", "FMU"),
)
"""The rooms that a model passes through, what each does, and the data that leaves it."""
USERS = (
    ("cli/", "commands"),
    ("show/", "plots,\npages"),
    ("analysis/", "linear models,\nfits, studies"),
    ("run/", "simulates,\ncouples"),
)
"""The rooms that use a `Prepared` or an FMU, from the left."""
FOREIGN = (
    ("fmi/", "opens and\nruns any FMU"),
    ("checker/", "judges\nany FMU"),
)
"""The rooms that know FMUs of any origin."""
BASE = ("errors.py, base/", "errors, files, formats, cache, results: used by all rooms")
COLOURS = {"pipeline": "#d7e6f5", "user": "#e6efd8", "foreign": "#f7e6cf", "base": "#ececec"}
LINE = "#41566b"


def room(axes: Axes, x: float, y: float, name: str, text: str, colour: str, width: float = WIDTH) -> None:
    """Draw a room with its name and what it does."""
    box = FancyBboxPatch((x, y), width, HEIGHT, boxstyle="round,pad=0.02,rounding_size=0.08", fc=colour, ec=LINE)
    axes.add_patch(box)
    axes.text(x + width / 2, y + 0.55, name, ha="center", va="center", family="monospace", weight="bold", size=10)
    axes.text(x + width / 2, y + 0.23, text, ha="center", va="center", size=8, linespacing=1.05)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Draw an arrow from one point to another."""
    style = {"arrowstyle": "-|>", "color": LINE, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=end, xytext=start, arrowprops=style)


def across(axes: Axes, start: int, end: int, y: float) -> None:
    """Draw an arrow from a room to a neighbour in its row, both by their index from the left."""
    tail, head = (start * PITCH + WIDTH + 0.03, end * PITCH - 0.03)
    if end < start:
        tail, head = (start * PITCH - 0.03, end * PITCH + WIDTH + 0.03)
    arrow(axes, (tail, y + HEIGHT / 2), (head, y + HEIGHT / 2))


def draw(path: str) -> None:
    """Draw the rooms and the arrows into a file."""
    figure, axes = plt.subplots(figsize=(12.2, 4.2), dpi=110)
    below, middle, above = 0.0, 1.25, 2.95
    end = len(PIPELINE) * PITCH
    arrow(axes, (-0.3, middle + HEIGHT / 2), (-0.03, middle + HEIGHT / 2))
    axes.text(-0.36, middle + HEIGHT / 2, "model\nfile", ha="right", va="center", size=9)
    for index, (name, text, result) in enumerate(PIPELINE):
        room(axes, index * PITCH, middle, name, text, COLOURS["pipeline"])
        across(axes, index, index + 1, middle)
        left = index * PITCH + WIDTH
        axes.text(
            left + (PITCH - WIDTH) / 2 - 0.03,
            middle + HEIGHT / 2 + 0.07,
            result,
            ha="center",
            va="bottom",
            size=8,
            style="italic",
        )
    axes.text(end + 0.03, middle + HEIGHT / 2, "any co-\nsimulation\nmaster", ha="left", va="center", size=9)
    for index, (name, text) in enumerate(USERS):
        room(axes, index * PITCH, above, name, text, COLOURS["user"])
        if index:
            across(axes, index, index - 1, above)
    run = len(USERS) - 1
    for index, (name, text) in enumerate(FOREIGN, start=run + 1):
        room(axes, index * PITCH, above, name, text, COLOURS["foreign"])
    across(axes, run + 1, run, above)
    across(axes, run + 1, run + 2, above)
    for index, label in ((run + 1, "Prepared"), (run + 2, "FMU")):
        start = (index * PITCH + WIDTH / 2, middle + HEIGHT + 0.03)
        goal = ((index - 1) * PITCH + WIDTH / 2, above - 0.03)
        arrow(axes, start, goal)
        x, y = (start[0] + goal[0]) / 2, (start[1] + goal[1]) / 2
        axes.text(x + 0.18, y + 0.03, label, ha="left", va="bottom", size=8, style="italic")
    x, y = (run + 1) * PITCH + WIDTH / 2, above + HEIGHT + 0.3
    axes.text(x, y, "FMUs of other tools", ha="center", va="bottom", size=9)
    arrow(axes, (x, y - 0.02), (x, above + HEIGHT + 0.03))
    room(axes, 0.0, below, *BASE, COLOURS["base"], width=end - PITCH + WIDTH)
    axes.set(xlim=(-1.0, end + 1.2), ylim=(-0.1, 4.4))
    axes.axis("off")
    figure.savefig(path, bbox_inches="tight")
    plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw the picture."""
    parser = argparse.ArgumentParser(description="Draw the rooms of mbfmu.")
    parser.add_argument("--plot", metavar="FILE", required=True, help="picture to write")
    draw(parser.parse_args(arguments).plot)


if __name__ == "__main__":
    main()

"""What examples share: a table of claims beside measurements, and a figure."""

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mbfmu.errors import MbfmuError

Array = npt.NDArray[np.float64]
Curves = dict[str, tuple[Array, Array]]
"""Lines (x, y) by what the legend calls them."""
Window = tuple[float, float, float, float] | None
Row = tuple[str, str, str]
"""What, the claim, measured."""
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe & Ito's palette, told apart with any colour vision."""
DASHES = ("-", "--", "-.", ":")


@dataclass(frozen=True)
class Field:
    """A quantity that is known at scattered places of a plane.

    Args:
        x, y: the places, shape (n,).
        values: shape (n,), drawn as filled contours.
        label: of the colours, with the unit.
        limits: lines on which another quantity, shape (n,), has a value, by what the legend calls them.
    """

    x: Array
    y: Array
    values: Array
    label: str
    limits: Mapping[str, tuple[Array, float]]


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Args:
        title: above it.
        x, y: what is on the axes, with units.
        curves: what is drawn; a curve has the colour of its name in all panels of a figure.
        log: logarithmic y axis.
        log_x: logarithmic x axis.
        dots: size of points drawn instead of lines; 0: lines.
        equal: the same scale on both axes.
        window: limits (x0, x1, y0, y1) of the axes; None: of the data.
        legend: where it is; empty: none.
        field: what is drawn under the curves.
        marks: names of curves that are drawn as large points.
    """

    title: str
    x: str
    y: str
    curves: Curves
    log: bool = False
    log_x: bool = False
    dots: float = 0.0
    equal: bool = False
    window: Window = None
    legend: str = "best"
    field: Field | None = None
    marks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Found:
    """What an example measures.

    Args:
        numbers: by name.
        panels: of its figure, row by row, as many as fill it.
        columns: of the figure.
    """

    numbers: dict[str, float]
    panels: tuple[Panel, ...]
    columns: int


def envelope(time: Array, values: Array, windows: int = 200) -> tuple[Array, Array]:
    """Return the largest magnitude in each of some windows of time, and their ends."""
    parts = np.array_split(np.arange(len(time)), min(windows, len(time)))
    return np.array([time[part[-1]] for part in parts]), np.array([np.abs(values[part]).max() for part in parts])


def listed(found: Mapping[str, float], names: Iterable[str], form: str = ".1e", between: str = " / ") -> str:
    """Return numbers by name as text."""
    return between.join(f"{found[name]:{form}}" for name in names)


def show(title: str, rows: Sequence[Row], source: str) -> None:
    """Print a table; source: whose claims stand beside what is measured."""
    table = Table(title=title, title_justify="left", show_lines=True)
    for heading in ("what", source, "measured"):
        table.add_column(heading)
    for row in rows:
        table.add_row(*map(escape, row))
    Console().print(table)


def draw(found: Found, path: str) -> Path:
    """Draw an example's figure.

    Args:
        found: what it measured.
        path: of the picture; its ending says the format.

    Raises:
        UsageError: the ending names no format.
        MbfmuError: the file cannot be written.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    from mbfmu.show.plot import FLOOR, save

    names = list(dict.fromkeys(name for panel in found.panels for name in panel.curves))
    rows = len(found.panels) // found.columns
    figure = Figure(figsize=(3.6 * found.columns, 2.9 * rows), layout="constrained")
    for axes, panel in zip(figure.subplots(rows, found.columns, squeeze=False).flat, found.panels, strict=True):
        if panel.field:
            field = panel.field
            shades = axes.tricontourf(field.x, field.y, field.values, levels=16, cmap="Greys", alpha=0.6)
            figure.colorbar(shades, ax=axes, label=field.label)
            for dashes, (text, (values, level)) in zip(DASHES, field.limits.items(), strict=False):
                axes.tricontour(field.x, field.y, values, levels=[level], colors="black", linestyles=dashes)
                axes.plot([], [], "black", linestyle=dashes, label=text)
        for name, (x, y) in panel.curves.items():
            number = names.index(name)
            style: dict[str, Any] = {"linewidth": 1.2, "linestyle": DASHES[number // len(COLOURS)]}
            if panel.dots:
                style = {"marker": ".", "markersize": panel.dots, "linestyle": "none"}
            if name in panel.marks:
                style = {"marker": "D", "markersize": 6, "markeredgecolor": "black", "linestyle": "none", "zorder": 5}
            values = np.maximum(np.abs(y), FLOOR) if panel.log else y
            axes.plot(x, values, label=name, color=COLOURS[number % len(COLOURS)], **style)
        axes.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
        if panel.log:
            axes.set_yscale("log")
        if panel.log_x:
            axes.set_xscale("log")
            axes.xaxis.set_minor_formatter(NullFormatter())  # within one decade the labels would overlap
        if panel.equal:
            axes.set_aspect("equal", adjustable="box" if panel.window else "datalim")
        if panel.window:
            axes.axis(panel.window)
        axes.title.set_fontsize("medium")
        axes.grid(alpha=0.3)
        if len(panel.curves) > 1 and panel.legend:
            axes.legend(
                loc=panel.legend,
                fontsize="x-small",
                framealpha=0.7,
                markerscale=1 if panel.marks else 6 / (panel.dots or 6),
            )
    return save(figure, path)


def present(
    title: str,
    run: Callable[[], Found],
    rows: Callable[[dict[str, float]], Sequence[Row]],
    source: str = "the paper",
) -> None:
    """Run an example from the command line: print its table and, with ``--plot FILE``, draw its figure.

    Args:
        title: of the table.
        run: the example.
        rows: of the table, from the numbers.
        source: whose claims stand beside what is measured.
    """
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--plot", metavar="FILE", help="draw the figure, as .png, .svg or .pdf")
    path = parser.parse_args().plot
    found = run()
    show(title, rows(found.numbers), source)
    if path:
        try:
            print(draw(found, path))
        except MbfmuError as error:
            parser.error(str(error))

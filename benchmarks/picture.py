"""A picture of rows: time against error for tasks with targets, time of an RK4 step against length for chains."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import Row
from benchmarks.targets import OURS, rk4


def plot(rows: Sequence[Row], path: Path) -> None:
    """Draw a panel a task, and one a kind of chain; a line an engine, the best it did."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    engines = list(dict.fromkeys(row.engine for row in rows))
    compared = {row.task for row in rows if row.engine != OURS or len(engines) == 1}
    tasks = list(dict.fromkeys(row.task for row in rows if row.task in compared and not row.task.startswith("chain")))
    chains = list(dict.fromkeys(row.task.split()[0] for row in rows if row.task.startswith("chain")))
    columns = min(3, len(tasks) + len(chains))
    lines = math.ceil((len(tasks) + len(chains)) / columns)
    size = (4 * columns, 3.4 * lines + 0.4)
    figure, axes = pyplot.subplots(lines, columns, figsize=size, squeeze=False, layout="constrained")
    for axis in axes.ravel()[len(tasks) + len(chains) :]:
        axis.set_visible(False)
    for axis, name in zip(axes.ravel(), [*tasks, *chains], strict=False):
        for number, engine in enumerate(engines):
            here = [row for row in rows if row.engine == engine and row.task.split()[0] == name]
            points = lengths(here) if name in chains else frontier(here)
            if points:
                style: dict[str, Any] = {"lw": 2.5, "marker": "o"} if engine == OURS else {"lw": 1, "marker": "s"}
                axis.loglog(*zip(*points, strict=True), label=engine, color=f"C{number}", markersize=4, **style)
        axis.set_title(name, fontsize=10)
        axis.grid(alpha=0.3)
        if name in chains:
            axis.set(xlabel="links", ylabel="us of an RK4 step")
        else:
            axis.set(xlabel="error at the end", ylabel="ms")
            axis.invert_xaxis()
    found = {
        label: line for axis in axes.ravel() for line, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=4, fontsize=8)
    figure.savefig(path, dpi=90)
    pyplot.close(figure)


def frontier(rows: Sequence[Row]) -> list[tuple[float, float]]:
    """Return (error, ms) of the rows that no other one beats in both, the largest error first."""
    points = sorted((row.ms, row.error) for row in rows if math.isfinite(row.error))
    best: list[tuple[float, float]] = []
    for ms, error in points:
        if not best or error < best[-1][0]:
            best.append((max(error, 1e-16), ms))
    return best


def lengths(rows: Sequence[Row]) -> list[tuple[float, float]]:
    """Return (number of links, us) of RK4."""
    return [(float(row.task.split()[1]), row.us_per_step) for row in rows if rk4(row)]

"""Tables and plots of rows."""

import csv
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.measure import Row

NAMES = [item.name for item in fields(Row)]
TEXT = {"task", "engine", "scheme", "coordinates", "what", "by", "which"}
OURS = "mbfmu"


def show(rows: Sequence[Row]) -> None:
    """Print rows."""
    table = Table(title="one thread, medians; errors at the end", title_justify="left")
    for name in NAMES:
        table.add_column(name, justify="left" if name in TEXT else "right")
    for row in rows:
        table.add_row(*map(text, astuple(row)))
    Console(width=None if sys.stdout.isatty() else 180).print(table)


def text(value: object) -> str:
    """Return a cell."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def write(rows: Sequence[Row], path: Path) -> None:
    """Write rows as .csv, .md or .png (time against error)."""
    match path.suffix:
        case ".csv":
            with open(path, "w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(NAMES)
                writer.writerows(astuple(row) for row in rows)
        case ".md":
            lines = markdown(NAMES, (list(map(text, astuple(row))) for row in rows))
            path.write_text("\n".join([*lines, "", *ratios_in_words(rows)]) + "\n", encoding="utf-8")
        case ".png":
            plot(rows, path)
        case _:
            raise SystemExit(f"'{path}': a table ends in .csv, .md or .png")


def markdown(names: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table."""
    rule = ["---" if name in TEXT else "---:" for name in names]
    return ["| " + " | ".join(cells) + " |" for cells in (names, rule, *rows)]


ROUND_OFF = 1e-12
"""Residual up to which constraints count as met: our own runs to a target must meet them, the peers' need not."""


@dataclass(frozen=True)
class Ratio:
    """Our best row against the best one of a peer.

    Args:
        task: the problem.
        what: is compared.
        key: the column.
        ours: our row.
        peer: the peer's row.
    """

    task: str
    what: str
    key: str
    ours: Row
    peer: Row

    @property
    def times(self) -> float:
        """How many times faster we are."""
        return float(getattr(self.peer, self.key) / getattr(self.ours, self.key))

    def cells(self) -> list[str]:
        """Return a line of a table."""
        mine, theirs = (text(float(getattr(row, self.key))) for row in (self.ours, self.peer))
        by, which = (f"{row.scheme}, {row.coordinates}" for row in (self.ours, self.peer))
        return [self.task, self.what, mine, by, self.peer.engine, theirs, which, f"{self.times:.1f}"]


def ratios(rows: Sequence[Row]) -> list[Ratio]:
    """Return the ratios to every peer, the fastest first: the time to each target, and that of a step of RK4."""
    found: list[Ratio] = []
    for task in dict.fromkeys(row.task for row in rows):
        here = [row for row in rows if row.task == task]
        for target in sorted({row.target for row in here if row.target}, reverse=True):
            reached = [row for row in here if row.target == target]
            reached = [row for row in reached if row.engine != OURS or max(row.phi, row.phidot) <= ROUND_OFF]
            found += _against(task, f"ms to {target:g}", "ms", reached)
        for h in sorted({row.h for row in here if not row.target}):
            stepped = [row for row in here if not row.target and row.h == h and "rk4" in row.scheme.lower()]
            found += _against(task, f"us of an RK4 step, h = {h:g} s", "us_per_step", stepped)
    return found


def _against(task: str, what: str, key: str, rows: Sequence[Row]) -> list[Ratio]:
    def cost(row: Row) -> float:
        return float(getattr(row, key))

    best = {engine: min((row for row in rows if row.engine == engine), key=cost) for engine in {r.engine for r in rows}}
    ours = best.pop(OURS, None)
    best.pop(f"{OURS} interpreted", None)
    if ours is None:
        return []
    return [Ratio(task, what, key, ours, peer) for peer in sorted(best.values(), key=cost)]


def ratios_in_words(rows: Sequence[Row]) -> list[str]:
    """Return the lines of a table of ratios; empty without peers."""
    names = ["task", "what", OURS, "by", "engine", "its best", "which", "times faster"]
    cells = [item.cells() for item in ratios(rows)]
    return markdown(names, cells) if cells else []


def plot(rows: Sequence[Row], path: Path) -> None:
    """Draw time against error, a panel a task."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    tasks = list(dict.fromkeys(row.task for row in rows))
    columns = min(3, len(tasks))
    lines = math.ceil(len(tasks) / columns)
    figure, axes = pyplot.subplots(
        lines, columns, figsize=(6 * columns, 5 * lines), squeeze=False, layout="constrained"
    )
    for axis in axes.ravel()[len(tasks) :]:
        axis.set_visible(False)
    for axis, task in zip(axes.ravel(), tasks, strict=False):
        here = [row for row in rows if row.task == task]
        for key in dict.fromkeys((row.engine, row.scheme, row.coordinates) for row in here):
            own = sorted(
                (row.ms, max(row.error, 1e-16)) for row in here if (row.engine, row.scheme, row.coordinates) == key
            )
            style = "o-" if key[0] == OURS else "s--"
            axis.loglog([error for _, error in own], [ms for ms, _ in own], style, label=" ".join(key), markersize=4)
        axis.set(title=task, xlabel="error at the end", ylabel="ms")
        axis.invert_xaxis()
        axis.legend(fontsize=5)
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)

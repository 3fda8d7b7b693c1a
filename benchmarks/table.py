"""Tables of rows."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks import targets
from benchmarks.measure import Row
from benchmarks.picture import plot
from benchmarks.targets import OURS, reached, rk4, second_order

NAMES = [item.name for item in fields(Row)]
WIDTH = 230
"""Characters of a line, that no number is cut off."""
TEXT = {"task", "engine", "scheme", "coordinates", "what", "by", "which", "verdict"}


def show(rows: Sequence[Row]) -> None:
    """Print rows."""
    table = Table(title="one thread, medians; errors at the end", title_justify="left", box=SIMPLE_HEAD, padding=(0, 1))
    for name in NAMES:
        table.add_column(name, justify="left" if name in TEXT else "right", no_wrap=True)
    for row in rows:
        table.add_row(*map(text, astuple(row)))
    Console(width=WIDTH).print(table)


def text(value: object) -> str:
    """Return a cell."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def write(rows: Sequence[Row], path: Path) -> None:
    """Write rows as .csv, .md or .png (the picture)."""
    check_suffix(path)
    if path.suffix == ".csv":
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(NAMES)
            writer.writerows(astuple(row) for row in rows)
    elif path.suffix == ".md":
        lines = markdown(NAMES, (list(map(text, astuple(row))) for row in rows))
        path.write_text("\n".join([*lines, *comparison(rows)]) + "\n", encoding="utf-8")
    else:
        plot(rows, path)


def check_suffix(path: Path) -> None:
    """Refuse a table of an unknown kind; raise SystemExit."""
    if path.suffix not in {".csv", ".md", ".png"}:
        raise SystemExit(f"'{path}': a table ends in .csv, .md or .png")


def markdown(names: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table."""
    rule = ["---" if name in TEXT else "---:" for name in names]
    return ["| " + " | ".join(cells) + " |" for cells in (names, rule, *rows)]


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
    """Return the ratios to every peer, the fastest first: the time to each target, and that of a step of one method."""
    found: list[Ratio] = []
    for task in dict.fromkeys(row.task for row in rows):
        here = [row for row in rows if row.task == task]
        for target in sorted({row.target for row in here if row.target}, reverse=True):
            found += _against(task, f"ms to {target:g}", "ms", list(filter(reached(target), here)))
        for what, chosen in (("RK4", rk4), ("implicit, order 2,", second_order)):
            stepped = list(filter(chosen, here))
            for h in sorted({row.h for row in stepped}):
                at_h = [row for row in stepped if row.h == h]
                found += _against(task, f"us of a step, {what} h = {h:g} s", "us_per_step", at_h)
    return found


def _against(task: str, what: str, key: str, rows: Sequence[Row]) -> list[Ratio]:
    def cost(row: Row) -> float:
        return float(getattr(row, key))

    best = {engine: min((row for row in rows if row.engine == engine), key=cost) for engine in {r.engine for r in rows}}
    ours = best.pop(OURS, None)
    if ours is None:
        return []
    return [Ratio(task, what, key, ours, peer) for peer in sorted(best.values(), key=cost)]


def comparison(rows: Sequence[Row]) -> list[str]:
    """Return the lines of two tables, the ratios to all peers and the targets; empty without peers."""
    names = ["task", "what", OURS, "by", "engine", "its best", "which", "times faster"]
    tables = (names, [item.cells() for item in ratios(rows)]), (targets.NAMES, targets.verdicts(rows))
    return [line for names, cells in tables if cells for line in ("", *markdown(names, cells))]

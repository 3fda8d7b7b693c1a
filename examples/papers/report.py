"""Printing a paper's claims beside what is measured."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table


def show(title: str, rows: Sequence[tuple[str, str, str]]) -> None:
    """Print rows of (what, the paper's claim, measured)."""
    table = Table(title=title, title_justify="left", show_lines=True)
    for heading in ("what", "the paper", "measured"):
        table.add_column(heading)
    for row in rows:
        table.add_row(*row)
    Console().print(table)

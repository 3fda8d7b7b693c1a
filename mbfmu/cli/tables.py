"""Rows of `mbfmu list` and `mbfmu describe` as tables for a terminal."""

from typing import Any

from rich.markup import escape
from rich.table import Table

from mbfmu.show.details import Row

DENSE = {"variables", "fields", "frames", "read", "left_out"}
"""Titles of long tables with short rows, which have no lines between these."""


def table(title: str, rows: list[Row]) -> Table:
    """Return rows as a table."""
    made = Table(title=title.replace("_", " ").capitalize(), title_justify="left", show_lines=title not in DENSE)
    for heading in rows[0]:
        made.add_column(heading.replace("_", " "), overflow="fold", no_wrap=heading == "name")
    for row in rows:
        made.add_row(*(escape(_cell(value)) for value in row.values()))
    return made


def _cell(value: Any) -> str:
    match value:
        case list():
            return ", ".join(value)
        case dict() if all(isinstance(item, dict) for item in value.values()):
            return "\n".join(f"{key}={item['allowed']} ({_default(item)})" for key, item in value.items())
        case dict():
            return ", ".join(f"{name} [{unit}]" for name, unit in value.items())
        case float():
            return f"{value:.6g}"
    return str(value)


def _default(option: dict[str, Any]) -> str:
    """Return an option's default; where the equations decide it, its text says how."""
    return option["text"] if option["default"] is None else f"default {option['default']}"

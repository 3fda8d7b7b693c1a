"""mbfmu cache."""

from typing import Annotated

import typer

from mbfmu.cli.console import Report, Tell


def cache(
    _: Tell,
    clear: Annotated[bool, typer.Option("--clear", help="remove all files of the cache")] = False,
) -> Report:
    """Show where the cache is and how much is in it, or clear it."""
    from rich.table import Table

    from mbfmu.base import cache as store

    path, largest, before = store.cache_folder(), store.limit(), sum(item.size for item in store.usage())
    if clear:
        store.clear()
    usage = store.usage()
    size = sum(item.size for item in usage)
    table = Table()
    for heading in ("folder", "files", "MB", "holds"):
        table.add_column(heading, justify="right" if heading in {"files", "MB"} else "left")
    for item in usage:
        table.add_row(item.kind, str(item.files), f"{item.size / 1e6:.1f}", item.holds)
    limits = f"{size / 1e6:.1f} MB; limit of {' and '.join(store.SEALED)}: {largest / 1e6:g} MB (set by {store.LIMIT})"
    removed = (f"removed {(before - size) / 1e6:.1f} MB",) if clear else ()
    data = {"path": path, "size": size, "limit": largest, "removed": before - size, "folders": usage}
    return Report(data, (str(path), table, limits, *removed))

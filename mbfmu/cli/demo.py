"""mbfmu demo."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from mbfmu.cli.console import Report, Tell


def demo(
    tell: Tell,
    folder: Annotated[Path, typer.Option("--folder", "-o", help="where the files go")] = Path("mbfmu_demo"),
) -> Report:
    """Export a loader crane, check it, and drive it in closed loop through FMPy."""
    from mbfmu.show.demo import run_demo

    result = run_demo(folder, tell)
    table = Table(title="crane as an FMU, its two cylinders under PID control, 10 s", title_justify="left")
    table.add_column("what")
    table.add_column("measured", justify="right")
    for quantity, value in result.rows:
        table.add_row(quantity, value)
    count = len(result.problems)
    return Report(
        {"measured": dict(result.rows), "problems": result.problems},
        (table, *result.problems, f"check: {count} problem(s)" if count else "check: no problem"),
        (result.fmu, result.csv, result.png),
        failed=count > 0,
    )

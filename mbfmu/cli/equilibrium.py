"""mbfmu equilibrium."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

import mbfmu
from mbfmu.cli.choices import StartFile, present
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.sources import HeldSource, check_files

if TYPE_CHECKING:
    from mbfmu.analysis.equilibria import Equilibrium, Item

ROUNDED = 1e-12
"""Largest coordinate that is shown as zero, m or rad."""


def equilibrium(tell: Tell, source: HeldSource, output: StartFile = None) -> Report:
    """Compute where a machine stays at rest or moves steadily, and whether that is stable; write it as a start."""
    check_files(source, start=output)
    tell("equilibrium", 0.0)
    found = mbfmu.equilibrium(source.load(), **source.conditions)
    found = replace(found, values={**source.fixed, **found.values})
    if output:
        found.write(output)
    data = _data(found) | {"branches": [_data(item) for item in found.branches]}
    return Report(data, tuple(_shown(found)), present(output), found.notices)


def _data(found: "Equilibrium") -> dict[str, Any]:
    return {
        "model": found.name,
        "stability": found.stability,
        "items": found.items,
        "values": found.values,
        "eigenvalues": found.eigenvalues,
        "residual": found.residual,
        "unknowns": found.unknowns,
        "equations": found.equations,
        "outputs": found.outputs,
    }


def _shown(found: "Equilibrium") -> list[RenderableType]:
    table = Table()
    table.add_column("quantity")
    table.add_column("unit")
    for heading in ("value", "at the start"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for item in found.items:
        role = (
            "" if item.role == "coordinate" else item.role if item.role in {"held", "state"} else f"freed {item.role}"
        )
        table.add_row(escape(item.name), escape(item.unit), value_text(item, 9), f"{item.start:.6g}", role)
    count = f"{len(found.equations)} equations, {len(found.unknowns)} unknowns, {found.corrections} corrections"
    lines: list[RenderableType] = [f"{found.name}: {found.stability}", table, f"{count}, residual {found.residual:.1e}"]
    if found.eigenvalues.size:
        lines.append(f"eigenvalues [1/s]: {', '.join(_number(value) for value in found.eigenvalues)}")
    if found.branches:
        lines += ["further equilibria near the start", _branches(found)]
    return lines


def _branches(found: "Equilibrium") -> Table:
    """Return the table of further equilibria: what differs, one column each."""
    table = Table()
    table.add_column("quantity")
    for number in range(1, len(found.branches) + 1):
        table.add_column(str(number), justify="right")
    for row, item in enumerate(found.items):
        if item.role != "held":
            table.add_row(escape(item.name), *(value_text(other.items[row], 6) for other in found.branches))
    table.add_row("", *(other.stability for other in found.branches))
    return table


def value_text(item: "Item", digits: int) -> str:
    """Return a value as text, without the round-off of a coordinate that is zero."""
    small = item.role == "coordinate" and abs(item.value) < ROUNDED
    return f"{0.0 if small else item.value:.{digits}g}"


def _number(value: complex) -> str:
    return f"{value.real:.4g}" + (f" +- {value.imag:.4g}i" if value.imag else "")

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
"""Largest number that is shown as zero, relative to its nominal size: 1 m, 1 rad, or what a state states."""


def equilibrium(tell: Tell, source: HeldSource, output: StartFile = None) -> Report:
    """Compute where a machine stays at rest or moves steadily, and whether that is stable; write it as a start."""
    check_files(source, start=output)
    tell("equilibrium", 0.0)
    result = mbfmu.equilibrium(
        source.load(), **source.conditions, progress=lambda fraction: tell("equilibrium", fraction)
    )
    result = replace(result, values={**source.fixed, **result.values})
    if output:
        result.write(output)
    data = _data(result) | {"branches": [_data(item) for item in result.branches]}
    return Report(data, tuple(_shown(result)), present(output), result.notices)


def _data(result: "Equilibrium") -> dict[str, Any]:
    return {
        "model": result.name,
        "stability": result.stability,
        "items": result.items,
        "values": result.values,
        "eigenvalues": result.eigenvalues,
        "residual": result.residual,
        "unknowns": result.unknowns,
        "equations": result.equations,
        "outputs": result.outputs,
    }


def _shown(result: "Equilibrium") -> list[RenderableType]:
    table = Table()
    table.add_column("quantity")
    table.add_column("unit")
    for heading in ("value", "at the start"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for item in result.items:
        role = (
            "" if item.role == "coordinate" else item.role if item.role in {"held", "state"} else f"freed {item.role}"
        )
        table.add_row(escape(item.name), escape(item.unit), value_text(item, 9), f"{item.start:.6g}", role)
    count = f"{len(result.equations)} equations, {len(result.unknowns)} unknowns, {result.corrections} corrections"
    lines: list[RenderableType] = [
        f"{result.name}: {result.stability}",
        table,
        f"{count}, residual {result.residual:.1e}",
    ]
    if result.eigenvalues.size:
        lines.append(f"eigenvalues [1/s]: {', '.join(_number(value) for value in result.eigenvalues)}")
    if result.branches:
        lines += ["further equilibria near the start", _branches(result)]
    return lines


def _branches(result: "Equilibrium") -> Table:
    """Return the table of further equilibria: what differs, one column each."""
    table = Table()
    table.add_column("quantity")
    for index in range(1, len(result.branches) + 1):
        table.add_column(str(index), justify="right")
    for row, item in enumerate(result.items):
        if item.role != "held":
            table.add_row(escape(item.name), *(value_text(other.items[row], 6) for other in result.branches))
    table.add_row("", *(other.stability for other in result.branches))
    return table


def value_text(item: "Item", digits: int) -> str:
    """Return a value as text, without the round-off of what is zero, unless it is a freed input or parameter."""
    small = item.role not in {"input", "parameter"} and abs(item.value) < ROUNDED * item.nominal
    return f"{0.0 if small else item.value:.{digits}g}"


def _number(value: complex) -> str:
    return f"{value.real:.4g}" + (f" +- {value.imag:.4g}i" if value.imag else "")

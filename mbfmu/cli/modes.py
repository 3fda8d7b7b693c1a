"""mbfmu modes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

import mbfmu
from mbfmu.cli.choices import present
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.equilibrium import value_text
from mbfmu.cli.linearize import named_shares, polar
from mbfmu.cli.sources import HeldSource, check_files
from mbfmu.errors import UsageError, first_of

if TYPE_CHECKING:
    from mbfmu.analysis.modal import Modes, ModeShape

SHAPES = 8
"""Largest number of modes in the table of shapes."""
MOVED = 3
"""Largest number of bodies that are named beside a mode."""
STILL = 5e-4
"""Largest amplitude of a body or motion in a mode that counts as rest in the tables."""


def modes(
    tell: Tell,
    *,
    source: HeldSource,
    animate: Annotated[
        Path | None, typer.Option("--animate", metavar="PAGE.html", help="page that shows a mode moving")
    ] = None,
    mode: Annotated[
        int | None,
        typer.Option("--mode", metavar="K", help="number of the mode on the page; default: the first that oscillates"),
    ] = None,
) -> Report:
    """Show frequencies, damping and mode shapes about an equilibrium or a steady motion, and what takes part."""
    if mode is not None and animate is None:
        raise UsageError("--mode is the number of the mode on a page: give --animate PAGE.html too")
    if animate:
        from mbfmu.show.viewer import refuse_page

        refuse_page(animate)
    check_files(source, other=animate)
    system = source.load()
    tell("modes", 0.0)
    result = mbfmu.modes(system, **source.conditions)
    name = source.name
    if animate:
        first = next((k for k, item in enumerate(result.shapes, 1) if item.mode.frequency), 1)
        index = first if mode is None else mode
        page = mbfmu.view(system, mode=index, title=name, values=result.values, coordinates=source.coordinates)
        page.write(animate)
    there = result.equilibrium
    notices = there.notices if there else ()
    data = {
        "model": name,
        "states": result.linear.states,
        "values": {**source.fixed, **result.values},
        "steady": there is None,
        "stability": there.stability if there else None,
        "modes": [_data(item) for item in result.shapes],
    }
    return Report(data, tuple(_shown(name, result)), present(animate), notices)


def _data(item: "ModeShape") -> dict[str, Any]:
    mode = item.mode
    return {
        "eigenvalue": mode.eigenvalue,
        "frequency": mode.frequency,
        "damping": mode.damping,
        "shape": mode.shape,
        "joints": item.joints,
        "bodies": item.bodies,
    }


def _shown(name: str, result: "Modes") -> list[RenderableType]:
    lines: list[RenderableType] = []
    if result.equilibrium:
        coordinates = [item for item in result.equilibrium.items if item.role != "held"]
        values = first_of([f"{item.name} = {value_text(item, 6)}" for item in coordinates], SHAPES)
        lines.append(f"about the equilibrium {values}")
    lines.append(_table(name, result))
    if any(item.bodies for item in result.shapes):
        more = f" of the first {SHAPES}; all with --json" if len(result) > SHAPES else ""
        lines += [f"displacements of the bodies [m] and rotations [rad]: amplitude, phase in degrees{more}"]
        lines.append(_shapes(result))
    return lines


def _table(name: str, result: "Modes") -> Table:
    table = Table(title=escape(f"{name}: {len(result)} modes"), title_justify="left")
    table.add_column("mode", justify="right")
    for heading in ("eigenvalue [1/s]", "frequency [Hz]", "damping ratio"):
        table.add_column(escape(heading), justify="right")
    table.add_column("joints")
    table.add_column("bodies")
    for index, item in enumerate(result.shapes, 1):
        value, ratio = item.mode.eigenvalue, item.mode.damping
        text = f"{value.real:.6g}" + (f" +- {value.imag:.6g}i" if value.imag else "")
        bodies = sorted((body for body in item.bodies if body.largest > STILL), key=lambda body: -body.largest)
        moved = ", ".join(f"{body.body} {100 * body.largest:.0f} %" for body in bodies[:MOVED])
        table.add_row(
            str(index), text, f"{item.mode.frequency:.6g}", "" if ratio is None else f"{ratio:.4g}",
            escape(named_shares(item.joints)), escape(moved),
        )  # fmt: skip
    return table


def _shapes(result: "Modes") -> Table:
    """Return the table of the bodies' motions, one column for each mode."""
    some = result.shapes[:SHAPES]
    table = Table()
    table.add_column("body")
    for index in range(1, len(some) + 1):
        table.add_column(str(index), justify="right")
    for k, body in enumerate(some[0].bodies):
        parts = (("displacement", "xyz", body.displacement), ("rotation", "xyz", body.rotation))
        for part, letters, entry in parts:
            for axis in range(len(entry)):
                row = [getattr(item.bodies[k], part)[axis] for item in some]
                label = (
                    f"{body.body} {letters[axis]}"
                    if part == "displacement"
                    else (f"{body.body} turn" if len(entry) == 1 else f"{body.body} turn {letters[axis]}")
                )
                if max(map(abs, row)) > STILL:
                    table.add_row(escape(label), *(polar(value) for value in row))
    return table

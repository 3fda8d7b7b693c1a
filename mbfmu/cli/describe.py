"""mbfmu describe."""

import re
from typing import TYPE_CHECKING, Annotated

import typer

from mbfmu.cli.console import Report, Tell
from mbfmu.cli.sources import DerivedSource
from mbfmu.errors import UnknownNameError, nearest

if TYPE_CHECKING:
    from mbfmu.model.component import Component

Explain = Annotated[
    bool,
    typer.Option("--explain", help="of a robot's file: what was read as what, what was left out, what that changes"),
]


def describe(_: Tell, source: DerivedSource, explain: Explain = False) -> Report:
    """Explain a model, or a component by its name: bodies, joints, loops, frames; name, unit, default, meaning."""
    from mbfmu.cli.tables import table
    from mbfmu.dae import derive
    from mbfmu.dae.plausible import value_notices
    from mbfmu.model.library import known_models
    from mbfmu.model.toml.kinds import component_type, component_types
    from mbfmu.show.details import start_fault
    from mbfmu.show.listing import description

    if re.fullmatch(r"[A-Z]\w*", source.model) and source.model not in known_models():
        if kind := component_type(source.model):
            return _component(kind)
        raise UnknownNameError(f"there is no component '{source.model}'; {nearest(source.model, component_types())}")
    system = source.load()
    if explain:
        from mbfmu.show.explained import explained

        rows = explained(source.model, system, source.robot)
        shown = tuple(table(title, items) for title, items in rows.items() if items)
        return Report({"model": system.name, **rows}, shown)
    dae = derive(system, source.coordinates)
    sections = description(system, source.coordinates, dae)
    tables = (table(kind, rows) for kind, rows in sections.items() if rows)
    fault = start_fault(dae)
    return Report(
        {"model": system.name, "description": system.description, "start_fault": fault, **sections},
        tuple(tables),
        notices=(*value_notices(dae), *([fault] if fault else [])),
    )


def _component(kind: "type[Component]") -> Report:
    """Return the report on a component."""
    from mbfmu.cli.tables import table
    from mbfmu.show.details import component_fields, connections_of, text_of

    connected, taken = connections_of(kind), component_fields(kind)
    data = {
        "component": kind.__name__,
        "description": text_of(kind),
        "frames_or_joints": connected,
        "fields": taken,
    }
    shown = (f"{kind.__name__}: {text_of(kind)}", f"frames or joints: {', '.join(connected)}", table("fields", taken))
    return Report(data, shown)

"""The tables of `mbfmu list`."""

import inspect

from rich.markup import escape
from rich.table import Table

import mbfmu.model as model
from mbfmu.model.component import Component
from mbfmu.model.library import known_models, load
from mbfmu.steppers import FAMILIES

BASES = frozenset(
    {"AxisConstraint", "AxisForce", "AxisFriction", "AxisStop", "Component", "Force", "Joint", "Part", "Sensor"}
)
"""Components to derive from, not to put into a model."""


def models_table() -> Table:
    """Return the models in models/."""
    table = _table("Models", "name", "what it is", "joints or coordinates", "parameters")
    for name in known_models():
        system = load(name)
        if isinstance(system, model.LagrangianSystem):
            joints = [item.name for item in system.coordinates]
        else:
            joints = [item.name for item in system.components if isinstance(item, model.Joint)]
        table.add_row(name, system.description, ", ".join(joints), ", ".join(item.name for item in system.parameters))
    return table


def steppers_table() -> Table:
    """Return the families of steppers with what they keep."""
    table = _table("Steppers", "name", "options", "order", "preserves", "needs", "source")
    for family in FAMILIES.values():
        options = "\n".join(
            f"{key}={option.allowed} (default {option.default})" for key, option in family.options.items()
        )
        table.add_row(family.name, options, family.order, family.preserves, family.needs, family.source)
    return table


def components_table() -> Table:
    """Return the components a model is made of, with their quantities."""
    table = _table("Components", "name", "what it is", "quantities [unit]")
    for name in model.__all__:
        kind = getattr(model, name)
        if not (isinstance(kind, type) and issubclass(kind, Component)):
            continue
        if name in BASES:
            continue
        item = kind(name=name)
        quantities = [f"{label} [{declared.unit}]" for declared, label, _ in item.declared()]
        quantities += [f"{label} [{declared.unit}] (a formula)" for declared, label, _ in item.laws()]
        table.add_row(name, (inspect.getdoc(kind) or "").partition("\n")[0], escape(", ".join(quantities)))
    return table


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title, title_justify="left", show_lines=True)
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading == "name")
    return table

"""The tables of `mbfmu list`."""

import inspect
from collections import Counter

from rich.markup import escape
from rich.table import Table

import mbfmu.model as model
from mbfmu.dae import Ode, derive
from mbfmu.dae.joint import JointTree
from mbfmu.model.component import Component
from mbfmu.model.library import known_models, load
from mbfmu.steppers import FAMILIES

BASES = frozenset(
    {
        "AxisConstraint",
        "AxisForce",
        "AxisFriction",
        "AxisMove",
        "AxisStop",
        "Component",
        "Force",
        "Joint",
        "Part",
        "Sensor",
    }
)
"""Components to derive from, not to put into a model."""


def models_table() -> Table:
    """Return the models in models/."""
    table = _table("Models", "name", "what it is", "joints, coordinates or states", "parameters")
    for name in known_models():
        system = load(name)
        if isinstance(system, model.Block):
            joints = [item.name for item in system.states]
        elif isinstance(system, model.LagrangianSystem):
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


def description_tables(system: model.Model, coordinates: str | None = None) -> list[Table]:
    """Return what a mechanism consists of: bodies, joints, loops, and how its coordinates count.

    Args:
        system: the mechanism.
        coordinates: ``absolute`` or ``joint``; None: joint coordinates if they are fewer.
    """
    dae = derive(system, coordinates)
    if isinstance(dae, Ode):
        return [_block_table(dae)]
    count = _table(f"{dae.name}: {dae.description}", "what", "how many", "which")
    redundant = ", ".join(f"{rows} of {name}" for name, rows in Counter(dae.redundant).items())
    marked = (item.name.partition(".frame_b")[0] for item in dae.outputs if "not unique" in item.description)
    shared = ", ".join(dict.fromkeys(marked))
    rows = [
        ("degrees of freedom", dae.n - dae.m - dae.k, "of the velocities, after all constraints"),
        ("coordinates", dae.n, ", ".join(dae.coordinates)),
        ("holonomic constraints", dae.m, ""),
        ("nonholonomic constraints", dae.k, ""),
        (
            "redundant constraints",
            len(dae.redundant),
            f"left out: {redundant}; not unique: forces of {shared}" if redundant else "",
        ),
        ("inputs", len(dae.inputs), ", ".join(item.name for item in dae.inputs)),
        ("parameters", len(dae.parameters), ", ".join(item.name for item in dae.parameters)),
    ]
    for what, number, which in rows:
        count.add_row(what, str(number), escape(which))
    if not isinstance(system, model.System):
        return [count]
    return [*_mechanism_tables(JointTree(model.flatten(system))), count]


def _block_table(ode: Ode) -> Table:
    count = _table(f"{ode.name}: {ode.description}", "what", "how many", "which")
    outputs = [item.name for item in ode.outputs if item.kind == "output"]
    rows = {
        "states": [item.name for item in ode.states],
        "inputs": [item.name for item in ode.inputs],
        "outputs": outputs,
        "parameters": [item.name for item in ode.parameters],
    }
    for what, names in rows.items():
        count.add_row(what, str(len(names)), ", ".join(names))
    return count


def _mechanism_tables(tree: JointTree) -> list[Table]:
    mechanism, spanning = tree.bodies.mechanism, tree.bodies.tree
    bodies = _table("Bodies", "number", "parts", "hangs on")
    hangs = {far: path for path, _, far, _ in spanning.order}
    for number, group in enumerate(tree.bodies.groups):
        bodies.add_row(str(number), ", ".join(group.parts), hangs.get(number, "the world"))
    joints = _table("Joints", "name", "type", "from body", "to body", "in joint coordinates")
    for path, joint in mechanism.of(model.Joint).items():
        ends = [str(tree.bodies.anchors[f"{path}.{frame}"][0]) for frame in ("frame_a", "frame_b")]
        freedom = sum(
            3 if item.neutral else item.value.numel()
            for item in joint.motion(tree.bodies.values[path], *tree.bodies.still)
        )
        role = "carries coordinates" if path in tree.bodies.tree_joints else "constraints"
        joints.add_row(path, type(joint).__name__, *ends, str(freedom), role)
    tables = [bodies, joints]
    if spanning.loops:
        loops = _table("Loops", "number", "joints on the way round")
        for number, way in enumerate(spanning.loops, 1):
            loops.add_row(str(number), " - ".join(way))
        tables.append(loops)
    return tables


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title, title_justify="left", show_lines=True)
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading == "name")
    return table

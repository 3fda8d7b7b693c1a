"""Lists of models, steppers, components and file formats, and the parts of a mechanism, as rows of tables."""

import inspect
from collections import Counter
from collections.abc import Iterable
from dataclasses import fields

import mbfmu.model as model
from mbfmu.base.extensions import COMPONENTS, registered
from mbfmu.dae import Dae, ParameterSignal, Signal, derive
from mbfmu.dae.choice import EVERY_JOINT, chosen
from mbfmu.dae.joint import JointTree
from mbfmu.dae.parts.about import Role
from mbfmu.dae.vibration import vibrations
from mbfmu.model.component import Component
from mbfmu.model.library import known_models, load
from mbfmu.model.readers import READERS, other_readers
from mbfmu.model.sampled import block_of
from mbfmu.show.details import Row, connections_of, frames_of, variables
from mbfmu.stepper import steppers as families

BASES = frozenset(
    {
        "AxisMaxwellDamper",
        "LuGreFriction",
        "AxesContact",
        "AxesForce",
        "AxisConstraint",
        "AxisContact",
        "AxisDryFriction",
        "AxisEndStop",
        "AxisForce",
        "AxisLatch",
        "AxisShearPin",
        "AxisFriction",
        "AxisMove",
        "AxisStop",
        "Component",
        "Composite",
        "FlexibleBody",
        "Force",
        "FrameContact",
        "FrameDrive",
        "Joint",
        "MovingPart",
        "Part",
        "Sensor",
        "SurfaceContact",
    }
)
"""Names of the components that are base classes, and not part of a model."""


def models() -> list[Row]:
    """Return the models in models/."""
    rows = []
    for name in known_models():
        system = load(name)
        if isinstance(system, model.Sampled):
            system = system.block
        if isinstance(system, model.Block):
            moves = [item.name for item in system.states]
        elif isinstance(system, model.LagrangianSystem):
            moves = [item.name for item in system.coordinates]
        elif system.only_blocks:
            moves = list(model.flatten(system).states)
        else:
            moves = [item.name for item in system.components if isinstance(item, model.Joint)]
        called = {full: name for name, full in getattr(system, "names", {}).items()}
        parameters = [called.get(item.name, item.name) for item in system.parameters]
        rows.append(
            {
                "name": name,
                "what_it_is": system.description,
                "joints_coordinates_or_states": moves,
                "parameters": parameters,
            }
        )
    return rows


def steppers() -> list[Row]:
    """Return the families of steppers with the quantities they preserve."""
    return [
        {
            "name": family.name,
            "options": {
                key: {"allowed": option.allowed, "default": option.default, "text": option.text}
                for key, option in family.options.items()
            },
            "order": family.order,
            "preserves": family.preserves,
            "needs": family.needs,
            "source": family.source,
        }
        for family in families().values()
    ]


def components() -> list[Row]:
    """Return the components for models, with the units of their quantities and formulas.

    Those that other installed packages register come last.
    """
    kinds: dict[str, type[Component]] = {}
    for name in model.__all__:
        kind = getattr(model, name)
        if isinstance(kind, type) and issubclass(kind, Component) and name not in BASES:
            kinds[name] = kind
    kinds |= registered(COMPONENTS, Component, kinds)
    return [
        {
            "name": name,
            "what_it_is": (inspect.getdoc(kind) or "").partition("\n")[0],
            "frames_or_joints": connections_of(kind),
            "quantities": {
                item.name: item.metadata["quantity"].unit for item in fields(kind) if "quantity" in item.metadata
            },
            "formulas": {item.name: item.metadata["law"].unit for item in fields(kind) if "law" in item.metadata},
        }
        for name, kind in kinds.items()
    ]


def readers() -> list[Row]:
    """Return the file formats of models; those that other installed packages register come last."""
    others = other_readers()
    suffixes = {row: [key for key, reader in others.items() if reader is row] for row in others.values()}
    return [
        *({"name": row.name, "suffixes": list(row.suffixes), "what_it_is": row.text} for row in READERS),
        *({"name": row.name, "suffixes": keys, "what_it_is": row.text} for row, keys in suffixes.items()),
    ]


def description(system: model.Model, coordinates: str | None = None, dae: Dae | None = None) -> dict[str, list[Row]]:
    """Return the parts of a mechanism: bodies, joints, loops, frequencies, frames, variables, counts.

    Args:
        system: the mechanism.
        coordinates: ``absolute``, ``joint``, or mixed as ``absolute:load``; None: joint coordinates if they are fewer.
        dae: its equations in these coordinates (default: they are derived).
    """
    dae = dae or derive(system, coordinates)
    choice = EVERY_JOINT if coordinates is None else chosen(coordinates)
    vibrating = [
        {
            "name": item.path,
            "shape_coordinates": item.size,
            "lowest_Hz": item.lowest,
            "highest_Hz": item.highest,
            "longest_explicit_step_s": item.step,
        }
        for item in vibrations(dae)
    ]
    rows = _mechanism_counts(dae) if dae.n else []
    if dae.states or not dae.n:
        rows.append(("states", dae.n_z, [item.name for item in dae.states]))
    listed = {"inputs": _named(dae.inputs)}
    if not dae.n:  # a mechanism has too many outputs to list
        listed["outputs"] = _named(item for item in dae.outputs if item.kind == "output")
    listed["parameters"] = _named(dae.parameters)
    rows += [(quantity, len(names), names) for quantity, names in listed.items()]
    counts = [{"what": quantity, "how_many": count, "which": which} for quantity, count, which in rows]
    if not isinstance(system, model.System):
        return {"variables": variables(dae), "counts": counts}
    mechanism = model.flatten(system)
    joints = mechanism.of(model.Joint)  # a body has free start values too, which nobody needs
    settable = tuple(
        name for name in system.start_values() if dae.full_names.get(name, name).rpartition(".")[0] in joints
    )
    taken = {"variables": variables(dae, settable), "counts": counts}
    parts = (
        {}
        if system.only_blocks
        else {**_parts(JointTree(mechanism, choice=choice), dae.about.roles), "flexible_bodies": vibrating}
    )
    frames = {} if system.only_blocks else {"frames": frames_of(mechanism)}
    return {**parts, **_network(mechanism), **frames, **taken}


def _network(mechanism: model.Mechanism) -> dict[str, list[Row]]:
    """Return the blocks of a mechanism, and the wires of all its systems with full names."""
    blocks = []
    for path, item in mechanism.blocks.items():
        block = block_of(item)
        blocks.append(
            {
                "name": path,
                "type": type(item).__name__,
                "period": item.period if isinstance(item, model.Sampled) else "",
                "inputs": [port.name for port in block.inputs],
                "states": [state.name for state in block.states],
                "outputs": [defined.name for defined in block.defined if defined.output],
            }
        )
    wires = []
    for prefix, wire in mechanism.wires:
        source, target = (mechanism.names.get(prefix + end, prefix + end) for end in (wire.source, wire.target))
        wires.append({"from": source, "to": target, "factor": wire.scale, "offset": wire.offset})
    return {"blocks": blocks, "wires": wires}


def _named(items: Iterable[Signal | ParameterSignal]) -> list[str]:
    """Return the names of variables, with the type of those that are not real."""
    return [item.name if item.type == "Real" else f"{item.name} ({item.type})" for item in items]


def _mechanism_counts(dae: Dae) -> list[tuple[str, int, list[str]]]:
    shared = list(dict.fromkeys(item.reaction_of for item in dae.outputs if item.reaction_of and not item.unique))
    left_out = [f"{rows} of {name}" for name, rows in Counter(dae.redundant).items()]
    touching: list[tuple[str, int, list[str]]] = []
    if dae.switches:
        gaps, frictions = [item.name for item in dae.switches.gaps], [item.name for item in dae.switches.frictions]
        touching = [("gaps", len(gaps), gaps), ("frictions", len(dae.switches.groups), list(dict.fromkeys(frictions)))]
    dae = dae.unswitched
    return [
        ("degrees of freedom", dae.n - dae.m - dae.k, []),
        ("coordinates", dae.n, list(dae.coordinates)),
        ("holonomic constraints", dae.m, []),
        ("nonholonomic constraints", dae.k, []),
        ("redundant constraints, left out", len(dae.redundant), left_out),
        ("joints whose forces are not unique", len(shared), shared),
        *touching,
    ]


def _parts(tree: JointTree, roles: tuple[Role, ...]) -> dict[str, list[Row]]:
    mechanism, spanning = tree.bodies.mechanism, tree.bodies.tree
    hangs = {edge.far: edge.path or edge.start for edge in spanning.order}
    role_of = {item.joint: item for item in roles}
    bodies = [
        {"number": index, "parts": list(group.parts), "hangs_on": hangs.get(index, "the world")}
        for index, group in enumerate(tree.bodies.groups)
    ]
    joints = []
    for path, joint in mechanism.of(model.Joint).items():
        ends = [tree.bodies.anchors[f"{path}.{frame}"][0] for frame in ("frame_a", "frame_b")]
        freedom = sum(
            3 if item.neutral else item.value.numel()
            for item in joint.motion(tree.bodies.values[path], *tree.bodies.still)
        )
        joints.append(
            {
                "name": path,
                "type": type(joint).__name__,
                "from_body": ends[0],
                "to_body": ends[1],
                "freedom": freedom,
                "carries_coordinates": role_of[path].carries,
                "constraints": role_of[path].rows,
                "because": role_of[path].reason,
            }
        )
    loops = [{"number": index, "joints": list(way)} for index, way in enumerate(spanning.loops, 1)]
    return {"bodies": bodies, "joints": joints, "loops": loops}

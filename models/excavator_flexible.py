"""The excavator with a boom that bends: a box of steel plates, reduced from its finite element mesh.

All but the boom is that of `excavator`. The boom is the `ModalBody` of `excavator_boom.npz`, which `examples/boom.py`
makes of a mesh: 10 modes in the plane of the machine, clamped at the pivot, with frames at the other three pins.

Known facts: the ten lowest frequencies of the boom clamped at its pivot are those of the whole mesh to 1e-9; its mass,
79.3 kg, is that of the mesh to round-off, and next to that of the rigid boom, 80 kg.
"""

from dataclasses import replace
from pathlib import Path

from mbfmu import load
from mbfmu.errors import ValueRangeError
from mbfmu.model import Connection, ModalBody, System

BOOM = Path(__file__).with_name("excavator_boom.npz")
PLACES = {"beam.frame_b": "beam.tip", "lift_eye.frame_b": "beam.lift_eye", "crowd_foot.frame_b": "beam.crowd_foot"}
"""Frames of the flexible boom in place of those of the rigid one."""


def excavator_flexible(part: str = "mechanism") -> System:
    """Return the machine, or its mechanism.

    Args:
        part: `mechanism`, driven by forces of the cylinders; `whole`, with hydraulics and controllers.
    """
    if part not in {"mechanism", "whole"}:
        raise ValueRangeError(f"part = {part} must be mechanism or whole")
    rigid = load("excavator", {"part": part})
    assert isinstance(rigid, System)
    gone = {"beam", "lift_eye", "crowd_foot"}
    at = [item.name for item in rigid.components].index("beam")
    components = [item for item in rigid.components if item.name not in gone]
    components.insert(at, ModalBody("beam", data=str(BOOM), zeta=0.01))
    connections = []
    for item in rigid.connections:
        ends = [PLACES.get(end, end) for end in (item.a, item.b)]
        if not {"lift_eye.frame_a", "crowd_foot.frame_a"} & {*ends}:
            connections.append(Connection(*ends))
    return replace(
        rigid,
        name="excavator_flexible",
        description="The excavator with a boom that bends",
        components=tuple(components),
        connections=tuple(connections),
        stepper="generalized_alpha",
    )

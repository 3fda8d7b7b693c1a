"""The arm of the excavator on hard ground: the bucket's teeth come down on it, press, stick and drag.

The arm is that of `excavator`, with the forces of its three cylinders as inputs, or the whole machine with hydraulics
and controllers; the teeth are a point on a plane with Coulomb's friction. Source: own data. Known facts: at rest, for
each of the three joints, the virtual work of cylinders, weights, normal force and friction is zero; the teeth stay as
long as this friction is at most mu times the normal force, and drag from there. The whole machine, whose path leads
below the ground, presses with what the pressures allow, and drags the bucket towards itself.
"""

from dataclasses import replace

from mbfmu import load
from mbfmu.errors import ValueRangeError
from mbfmu.model import FixedTranslation, Parameter, PointOnPlane, System, connect

PUSHES = {"lift.f": 12000.0, "crowd.f": -4270.0, "curl.f": -850.0}
"""Forces of the cylinders at the start, N; with 870 N more in the first the arm would hang in the air."""


def excavator_ground(part: str = "mechanism") -> System:
    """Return the arm above the ground; `lift.f`, `crowd.f` and `curl.f` push the pins of the cylinders apart.

    Args:
        part: `mechanism`, or `whole` for the machine with its drives, which then meets the ground on its way.
    """
    if part not in {"mechanism", "whole"}:
        raise ValueRangeError(f"excavator_ground: part = {part} must be mechanism or whole")
    machine: System = load("excavator", {"part": part})
    return replace(
        machine,
        name="excavator_ground",
        description="Excavator of 1.8 t whose bucket comes down on hard ground",
        stepper="projected",
        input_starts=PUSHES if part == "mechanism" else {},
        parameters=(
            *machine.parameters,
            Parameter("y_ground", -0.05 if part == "mechanism" else -0.4, "m", "height of the ground"),
            Parameter("mu", 0.5, "1", "coefficient of friction of the ground", min=0),
        ),
        components=(
            *machine.components,
            FixedTranslation("ground", r=(0.0, "y_ground")),
            PointOnPlane("teeth", mu="mu", rest=1e-6),
        ),
        connections=(
            *machine.connections,
            connect("world.frame_b", "ground.frame_a"),
            connect("ground.frame_b", "teeth.frame_a"),
            connect("shell.frame_b", "teeth.frame_b"),
        ),
    )

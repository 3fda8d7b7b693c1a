"""What a user assembles: systems of parts, joints and forces; or a Lagrangian."""

from typing import TypeAlias

from mbfmu.model.component import Component, Input, Value, Vector, direction, law, quantity, start
from mbfmu.model.couplings import AxisConstraint, AxisMotion, Gear
from mbfmu.model.forces import (
    AxisForce,
    Damper,
    Force,
    RotationalDamper,
    RotationalSpring,
    Spring,
    TranslationalDamper,
    TranslationalSpring,
)
from mbfmu.model.frame import Frame, Pose
from mbfmu.model.joints import FreeMotion, Joint, KnifeEdge, Motion, Prismatic, Revolute, Spherical
from mbfmu.model.lagrangian import Coordinate, LagrangianSystem
from mbfmu.model.mechanism import Mechanism, flatten
from mbfmu.model.parts import Body, BodyShape, FixedRotation, FixedTranslation, Inertia, Part, World
from mbfmu.model.sensors import Measured, Sensor
from mbfmu.model.system import Connection, Parameter, Subsystem, System, connect

Model: TypeAlias = System | LagrangianSystem
"""What can be simulated and exported."""

__all__ = [
    "AxisConstraint",
    "AxisForce",
    "AxisMotion",
    "Body",
    "BodyShape",
    "Component",
    "Connection",
    "Coordinate",
    "Damper",
    "FixedRotation",
    "FixedTranslation",
    "Force",
    "Frame",
    "FreeMotion",
    "Gear",
    "Inertia",
    "Input",
    "Joint",
    "KnifeEdge",
    "LagrangianSystem",
    "Measured",
    "Mechanism",
    "Model",
    "Motion",
    "Parameter",
    "Part",
    "Pose",
    "Prismatic",
    "Revolute",
    "RotationalDamper",
    "RotationalSpring",
    "Sensor",
    "Spherical",
    "Spring",
    "Subsystem",
    "System",
    "TranslationalDamper",
    "TranslationalSpring",
    "Value",
    "Vector",
    "World",
    "connect",
    "direction",
    "flatten",
    "law",
    "quantity",
    "start",
]

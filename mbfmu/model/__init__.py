"""What a user assembles: systems of parts, joints and forces."""

from mbfmu.model.component import Component, quantity, start
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
from mbfmu.model.joints import FreeMotion, Joint, Motion, Prismatic, Revolute, Spherical
from mbfmu.model.mechanism import Mechanism, flatten
from mbfmu.model.parts import Body, BodyShape, FixedRotation, FixedTranslation, Inertia, Part, World
from mbfmu.model.system import Connection, Parameter, Subsystem, System, connect

__all__ = [
    "AxisForce",
    "Body",
    "BodyShape",
    "Component",
    "Connection",
    "Damper",
    "FixedRotation",
    "FixedTranslation",
    "Force",
    "Frame",
    "FreeMotion",
    "Inertia",
    "Joint",
    "Mechanism",
    "Motion",
    "Parameter",
    "Part",
    "Pose",
    "Prismatic",
    "Revolute",
    "RotationalDamper",
    "RotationalSpring",
    "Spherical",
    "Spring",
    "Subsystem",
    "System",
    "TranslationalDamper",
    "TranslationalSpring",
    "World",
    "connect",
    "flatten",
    "quantity",
    "start",
]

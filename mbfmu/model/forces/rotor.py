"""Rotors that turn with the axis of a joint through a gear."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mbfmu.model.component import Value, quantity
from mbfmu.model.forces.force import AxisForce
from mbfmu.model.frame import SX


@dataclass(frozen=True)
class Rotor(AxisForce):
    """Base of rotors: kinetic energy ``J (ratio v)^2 / 2`` for the rate v of the axis; derived for each kind of axis.

    Only the rotation relative to the body that carries the drive counts, as in Featherstone, Rigid Body Dynamics
    Algorithms, section 9.6: for a large ratio the rest is small. The rotor's mass belongs to that body.
    """

    def inertia(self, p: Any) -> SX:
        return p.J * p.ratio**2


@dataclass(frozen=True)
class RotationalRotor(Rotor):
    """The rotor of a revolute joint's drive, with its gear: it adds ``J ratio^2`` to the inertia on the axis.

    Args:
        J: inertia of the rotor about its own axis, kg.m2.
        ratio: turns of the rotor per turn of the joint.
    """

    J: Value = quantity(0.0, "kg.m2", "inertia of the rotor", min=0)
    ratio: Value = quantity(1.0, "1", "turns of the rotor per turn of the joint")
    axis_unit: ClassVar[str] = "rad"


@dataclass(frozen=True)
class TranslationalRotor(Rotor):
    """The rotor of a prismatic joint's drive, with its gear: it adds ``J ratio^2`` to the mass on the axis.

    Args:
        J: inertia of the rotor about its own axis, kg.m2.
        ratio: angle of the rotor per distance of the joint, rad/m.
    """

    J: Value = quantity(0.0, "kg.m2", "inertia of the rotor", min=0)
    ratio: Value = quantity(1.0, "rad/m", "angle of the rotor per distance of the joint")
    axis_unit: ClassVar[str] = "m"

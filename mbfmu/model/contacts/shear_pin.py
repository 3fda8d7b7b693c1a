"""A pin that holds a joint until it is sheared."""

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.model.component import Value, quantity
from mbfmu.model.contacts.contact import AxisContact, Friction
from mbfmu.model.frame import SX


@dataclass(frozen=True)
class AxisShearPin(AxisContact):
    """Base of pins that hold a joint where it starts; derived for each kind of axis.

    A force above `strength`, to either side, breaks the pin, and so does an impact that moves the joint. The joint is
    free from there on. One that starts at a speed has no pin: ``sticks`` is false from the start.
    """

    parts: ClassVar[tuple[str, ...]] = ()
    rubs: ClassVar[bool] = True

    def frictions(self, p: Any, s: SX, v: SX) -> tuple[Friction, ...]:
        return (Friction(v, lambda *_: ca.SX(0), lambda _: p.strength, s, unit=self.axis_unit, breaks=True),)


@dataclass(frozen=True)
class RotationalShearPin(AxisShearPin):
    """Shear pin of a revolute joint.

    Args:
        strength: torque that breaks it, N.m.
    """

    strength: Value = quantity(0.0, "N.m", "torque that breaks it", min=0)
    axis_unit: ClassVar[str] = "rad"


@dataclass(frozen=True)
class TranslationalShearPin(AxisShearPin):
    """Shear pin of a prismatic joint.

    Args:
        strength: force that breaks it, N.
    """

    strength: Value = quantity(0.0, "N", "force that breaks it", min=0)
    axis_unit: ClassVar[str] = "m"

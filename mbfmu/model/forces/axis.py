"""Linear springs and dampers on the axis of a joint."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mbfmu.model.component import Value, quantity
from mbfmu.model.forces.force import AxisForce
from mbfmu.model.frame import SX


@dataclass(frozen=True)
class RotationalSpring(AxisForce):
    """Linear spring on the axis of a revolute joint: ``V = c (phi - phi_rel0)^2 / 2``.

    Args:
        c: stiffness, N.m/rad.
        phi_rel0: angle without torque, rad.
    """

    c: Value = quantity(0.0, "N.m/rad", "stiffness", min=0)
    phi_rel0: Value = quantity(0.0, "rad", "angle without torque")
    axis_unit: ClassVar[str] = "rad"

    def potential(self, p: Any, s: SX) -> SX:
        return p.c * (s - p.phi_rel0) ** 2 / 2


@dataclass(frozen=True)
class RotationalDamper(AxisForce):
    """Linear damper on the axis of a revolute joint: ``tau = -d w``.

    Args:
        d: damping constant, N.m.s/rad.
    """

    d: Value = quantity(0.0, "N.m.s/rad", "damping constant", min=0)
    axis_unit: ClassVar[str] = "rad"

    def effort(self, p: Any, s: SX, v: SX) -> SX:
        return -p.d * v


@dataclass(frozen=True)
class TranslationalSpring(AxisForce):
    """Linear spring on the axis of a prismatic joint: ``V = c (s - s_rel0)^2 / 2``.

    Args:
        c: stiffness, N/m.
        s_rel0: position without force, m.
    """

    c: Value = quantity(0.0, "N/m", "stiffness", min=0)
    s_rel0: Value = quantity(0.0, "m", "position without force")
    axis_unit: ClassVar[str] = "m"

    def potential(self, p: Any, s: SX) -> SX:
        return p.c * (s - p.s_rel0) ** 2 / 2


@dataclass(frozen=True)
class TranslationalDamper(AxisForce):
    """Linear damper on the axis of a prismatic joint: ``f = -d v``.

    Args:
        d: damping constant, N.s/m.
    """

    d: Value = quantity(0.0, "N.s/m", "damping constant", min=0)
    axis_unit: ClassVar[str] = "m"

    def effort(self, p: Any, s: SX, v: SX) -> SX:
        return -p.d * v

"""Dry friction with a state, on the axis of a joint: it sticks, and its breakaway depends on the rate of the load."""

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.model.component import Value, quantity, state
from mbfmu.model.forces.force import AxisForce
from mbfmu.model.forces.friction import stribeck
from mbfmu.model.frame import SX


@dataclass(frozen=True)
class LuGreFriction(AxisForce):
    """Base of LuGre friction: bristles with the mean deflection z bend and slip; derived for each kind of axis.

    ``z' = v - sigma_0 |v| z / g(v)`` and ``f = -(sigma_0 z + sigma_1 z' + sigma_2 v)`` with the Stribeck curve
    ``g(v) = f_c + (f_s - f_c) exp(-(v/v_s)^2)``, ``f_s = peak f_c`` (Canudas de Wit, Olsson, Astrom, Lischinsky, IEEE
    Trans. Automatic Control 40 (1995)). At rest it is a spring of stiffness `sigma_0`, so a load sticks; sliding
    steadily, ``f = -(g(v) sign(v) + sigma_2 v)``. It gives back no more than the bristles store if
    ``sigma_2 >= sigma_1 (peak - 1)`` (Barahona, Canudas de Wit, IEEE Trans. Automatic Control 45 (2000)).

    Sliding bristles settle within about ``g / (sigma_0 |v|)``, which is usually far below the step: take `radau`.
    """

    @staticmethod
    def bending(p: Any, v: SX) -> SX:
        """Return z', the rate of the bristles' deflection, rad/s or m/s."""
        return v - p.sigma_0 * ca.fabs(v) * p.z / stribeck(p, v)

    def effort(self, p: Any, s: SX, v: SX) -> SX:
        return -(p.sigma_0 * p.z + p.sigma_1 * self.bending(p, v) + p.sigma_2 * v)

    def rates(self, p: Any, s: SX, v: SX) -> tuple[SX, ...]:
        return (self.bending(p, v),)


@dataclass(frozen=True)
class RotationalLuGreFriction(LuGreFriction):
    """LuGre friction on the axis of a revolute joint: it sticks; Coulomb, Stribeck and viscous.

    Args:
        f_c: Coulomb torque, N.m.
        peak: breakaway torque over Coulomb torque.
        v_s: Stribeck speed, rad/s, at which the excess over Coulomb torque has fallen to 1/e.
        sigma_0: stiffness of the bristles, N.m/rad.
        sigma_1: damping of the bristles, N.m.s/rad.
        sigma_2: viscous constant, N.m.s/rad.
        z: start deflection of the bristles, rad.
    """

    f_c: Value = quantity(1.0, "N.m", "Coulomb torque", min=1e-9)
    peak: Value = quantity(1.0, "1", "breakaway torque over Coulomb torque", min=1)
    v_s: Value = quantity(0.001, "rad/s", "Stribeck speed", min=1e-9)
    sigma_0: Value = quantity(1e5, "N.m/rad", "stiffness of the bristles", min=1e-9)
    sigma_1: Value = quantity(300.0, "N.m.s/rad", "damping of the bristles", min=0)
    sigma_2: Value = quantity(0.0, "N.m.s/rad", "viscous constant", min=0)
    z: Value = state("rad", "mean deflection of the bristles", nominal=1e-5)
    axis_unit: ClassVar[str] = "rad"


@dataclass(frozen=True)
class TranslationalLuGreFriction(LuGreFriction):
    """LuGre friction on the axis of a prismatic joint: it sticks; Coulomb, Stribeck and viscous.

    Args:
        f_c: Coulomb force, N.
        peak: breakaway force over Coulomb force.
        v_s: Stribeck speed, m/s, at which the excess over Coulomb force has fallen to 1/e.
        sigma_0: stiffness of the bristles, N/m.
        sigma_1: damping of the bristles, N.s/m.
        sigma_2: viscous constant, N.s/m.
        z: start deflection of the bristles, m.
    """

    f_c: Value = quantity(1.0, "N", "Coulomb force", min=1e-9)
    peak: Value = quantity(1.0, "1", "breakaway force over Coulomb force", min=1)
    v_s: Value = quantity(0.001, "m/s", "Stribeck speed", min=1e-9)
    sigma_0: Value = quantity(1e5, "N/m", "stiffness of the bristles", min=1e-9)
    sigma_1: Value = quantity(300.0, "N.s/m", "damping of the bristles", min=0)
    sigma_2: Value = quantity(0.0, "N.s/m", "viscous constant", min=0)
    z: Value = state("m", "mean deflection of the bristles", nominal=1e-5)
    axis_unit: ClassVar[str] = "m"

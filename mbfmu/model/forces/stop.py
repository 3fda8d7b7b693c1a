"""Compliant limits on the axis of a joint."""

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.errors import ValueRangeError
from mbfmu.model.component import Component, Value, quantity
from mbfmu.model.forces.force import AxisForce
from mbfmu.model.frame import SX

NO_LIMIT = 1e9
"""Value of a limit that never acts, rad or m."""


@dataclass(frozen=True)
class AxisStop(AxisForce):
    """Base of stops: a spring and a damper that act outside the limits only; derived for each kind of axis.

    With the depth ``x = max(0, lower - s) + max(0, s - upper)``: ``V = c x^2 / 2``, and the damping ``-d x v`` grows
    with the depth (Hunt, Crossley, J. Appl. Mech. 42 (1975)), so that the force has no jump. The stop would pull on an
    axis that leaves it faster than ``c / d``.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        check_limits(self, getattr(self, "lower", 0.0), getattr(self, "upper", 0.0))

    @staticmethod
    def depth(p: Any, s: SX) -> SX:
        """Return the distance of the axis beyond a limit, rad or m."""
        return ca.fmax(0, p.lower - s) + ca.fmax(0, s - p.upper)

    def potential(self, p: Any, s: SX) -> SX:
        return p.c * self.depth(p, s) ** 2 / 2

    def effort(self, p: Any, s: SX, v: SX) -> SX:
        return -p.d * self.depth(p, s) * v


def check_limits(stop: Component, lower: Value, upper: Value) -> None:
    """Raise an error if the lower limit of a stop is above the upper one, where both are numbers.

    Raises:
        ValueRangeError: it is.
    """
    if not (isinstance(lower, str) or isinstance(upper, str)) and lower > upper:
        raise ValueRangeError(f"{stop.name}.lower = {lower} is above {stop.name}.upper = {upper}: swap them")


@dataclass(frozen=True)
class RotationalStop(AxisStop):
    """Compliant limits of a revolute joint: a spring and a damper that act outside them only.

    Args:
        lower: least angle, rad (default: none).
        upper: greatest angle, rad (default: none).
        c: stiffness, N.m/rad.
        d: damping per depth, N.m.s/rad2.
    """

    lower: Value = quantity(-NO_LIMIT, "rad", "least angle")
    upper: Value = quantity(NO_LIMIT, "rad", "greatest angle")
    c: Value = quantity(0.0, "N.m/rad", "stiffness", min=0)
    d: Value = quantity(0.0, "N.m.s/rad2", "damping per depth", min=0)
    axis_unit: ClassVar[str] = "rad"


@dataclass(frozen=True)
class TranslationalStop(AxisStop):
    """Compliant limits of a prismatic joint: a spring and a damper that act outside them only.

    Args:
        lower: least position, m (default: none).
        upper: greatest position, m (default: none).
        c: stiffness, N/m.
        d: damping per depth, N.s/m2.
    """

    lower: Value = quantity(-NO_LIMIT, "m", "least position")
    upper: Value = quantity(NO_LIMIT, "m", "greatest position")
    c: Value = quantity(0.0, "N/m", "stiffness", min=0)
    d: Value = quantity(0.0, "N.s/m2", "damping per depth", min=0)
    axis_unit: ClassVar[str] = "m"

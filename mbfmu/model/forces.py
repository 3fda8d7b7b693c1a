"""Forces: springs and dampers between frames and on the axes of joints.

An element states a potential, or pairs of a rate and the effort that does work on it; the generalised force follows
by differentiation: ``Q = -V_q`` and ``Q = (d rate / d v)^T effort``. Action equals reaction by construction.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.model.component import Component, Value, quantity
from mbfmu.model.frame import SX, Frame

SMALLEST_LENGTH = 1e-12
"""m; below it the direction between two points is taken as undefined and no force acts along it."""


@dataclass(frozen=True)
class Force(Component):
    """Base of forces between frame_a and frame_b: override `potential`, `efforts`, or both."""

    @property
    def frames(self) -> tuple[str, ...]:
        return ("frame_a", "frame_b")

    def potential(self, p: Any, a: Frame, b: Frame) -> SX:
        """Return the potential energy, SX scalar, J."""
        return ca.SX(0)

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        """Return pairs (rate, effort), each an SX scalar or column; effort times rate is the power put in, W."""
        return ()


@dataclass(frozen=True)
class AxisForce(Component):
    """Base of efforts on the axis of a joint.

    Args:
        joint: name of the joint, in the same system; its first motion is the axis.
    """

    joint: str = ""
    axis_unit: ClassVar[str] = ""
    """Unit of the coordinate the effort acts on; empty: any."""

    def potential(self, p: Any, s: SX) -> SX:
        """Return the potential energy, J, for the axis coordinate s (rad or m)."""
        return ca.SX(0)

    def effort(self, p: Any, s: SX, v: SX) -> SX:
        """Return the effort on the axis (N.m or N) for its coordinate s and rate v."""
        return ca.SX(0)


def _length(a: Frame, b: Frame) -> SX:
    gap = b.r_0 - a.r_0
    return ca.sqrt(ca.dot(gap, gap) + SMALLEST_LENGTH**2)


@dataclass(frozen=True)
class Spring(Force):
    """Linear spring along the line from frame_a to frame_b: ``V = c (s - s_unstretched)^2 / 2``.

    Args:
        c: stiffness, N/m.
        s_unstretched: length without force, m.
    """

    c: Value = quantity(0.0, "N/m", "stiffness", min=0)
    s_unstretched: Value = quantity(0.0, "m", "length without force", min=0)

    def potential(self, p: Any, a: Frame, b: Frame) -> SX:
        return p.c * (_length(a, b) - p.s_unstretched) ** 2 / 2


@dataclass(frozen=True)
class Damper(Force):
    """Linear damper along the line from frame_a to frame_b: ``f = -d s'``.

    Args:
        d: damping constant, N.s/m.
    """

    d: Value = quantity(0.0, "N.s/m", "damping constant", min=0)

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        rate = ca.dot(b.r_0 - a.r_0, b.v_0 - a.v_0) / _length(a, b)
        return ((rate, -p.d * rate),)


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

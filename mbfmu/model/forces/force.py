"""The contract of forces.

An element states a potential, or pairs of a rate and the effort that does work on it; the generalised force follows
by differentiation: ``Q = -V_q`` and ``Q = (d rate / d v)^T effort``. Action equals reaction by construction.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.model.component import Component
from mbfmu.model.frame import SX, Frame


@dataclass(frozen=True)
class Force(Component):
    """Base of forces between frame_a and frame_b: override `potential`, `efforts`, or both.

    A force from outside overrides `frames` with frame_b alone; its frame `a` is then the world's.
    """

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

    def inertia(self, p: Any) -> SX:
        """Return the inertia that moves with the axis alone (kg.m2 or kg): it adds ``inertia v^2 / 2`` of energy."""
        return ca.SX(1, 1)

"""The contract of forces.

An element states a potential, or pairs of a rate and the effort that does work on it; the generalised force follows
by differentiation: ``Q = -V_q`` and ``Q = (d rate / d v)^T effort``. Action equals reaction by construction.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.model.component import Component
from mbfmu.model.frame import SX, Frame
from mbfmu.model.sensors import Measured


@dataclass(frozen=True)
class Force(Component):
    """Base of forces between frame_a and frame_b: override `potential`, `efforts`, or both.

    A force from outside overrides `frames` with frame_b alone; its frame `a` is then the world's. Further frames are
    `Frame` objects of `p`, by their names.
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

    def rates(self, p: Any, a: Frame, b: Frame) -> tuple[SX, ...]:
        """Return the rates of the first-order states (see `component.state`), in the order of their fields, 1/s."""
        return ()

    def signals(self, p: Any, a: Frame, b: Frame, f: SX, t: SX) -> tuple[Measured, ...]:
        """Return the outputs: force `f` and torque `t` on frame_b, resolved in frame_a.

        An output that is zero by structure, or whose name is that of a quantity or an input, is left out.

        Args:
            p: quantities and inputs by name.
            a: frame_a; of a force from outside, the world's.
            b: frame_b.
            f: force that the element puts on frame_b, N, resolved in the world frame.
            t: its torque, N.m, resolved in the world frame.
        """
        where = f"on frame_b, resolved in {'frame_a' if 'frame_a' in self.frames else 'the world frame'}"
        return (
            Measured("f", "N", f"force {where}", a.R.T @ f),
            Measured("t", "N.m", f"torque {where}", t if p.planar else a.R.T @ t),
        )


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

    def rates(self, p: Any, s: SX, v: SX) -> tuple[SX, ...]:
        """Return the rates of the first-order states (see `component.state`), in the order of their fields, 1/s."""
        return ()

    def inertia(self, p: Any) -> SX:
        """Return the inertia that moves with the axis alone (kg.m2 or kg): it adds ``inertia v^2 / 2`` of energy."""
        return ca.SX(1, 1)

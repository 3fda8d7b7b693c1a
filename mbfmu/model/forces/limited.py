"""Drives on the axis of a joint with a greatest effort."""

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.model.component import Input, Value, quantity
from mbfmu.model.forces.force import AxisForce
from mbfmu.model.frame import SX


@dataclass(frozen=True)
class Limited(AxisForce):
    """Base of drives whose effort follows an input up to a limit; derived for each kind of axis."""

    effort_input: ClassVar[Input] = Input("", "", "")
    """The effort that is asked for."""

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        return (self.effort_input,)

    def effort(self, p: Any, s: SX, v: SX) -> SX:
        return ca.fmax(-p.limit, ca.fmin(p.limit, getattr(p, self.effort_input.name)))


@dataclass(frozen=True)
class LimitedTorque(Limited):
    """A drive of a revolute joint: the input `tau`, N.m, acts on its axis as far as a limit allows.

    Args:
        limit: greatest torque in both directions, N.m.
    """

    limit: Value = quantity(0.0, "N.m", "greatest torque", min=0)
    axis_unit: ClassVar[str] = "rad"
    effort_input: ClassVar[Input] = Input("tau", "N.m", "torque that the drive is to put on the axis")


@dataclass(frozen=True)
class LimitedForce(Limited):
    """A drive of a prismatic joint: the input `f`, N, acts on its axis as far as a limit allows.

    Args:
        limit: greatest force in both directions, N.
    """

    limit: Value = quantity(0.0, "N", "greatest force", min=0)
    axis_unit: ClassVar[str] = "m"
    effort_input: ClassVar[Input] = Input("f", "N", "force that the drive is to put on the axis")

"""Couplings: equations between the coordinates of joints' axes."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.model.component import Component, Value, law, quantity
from mbfmu.model.frame import SX


@dataclass(frozen=True)
class AxisConstraint(Component):
    """Base of holonomic equations between the first coordinates of joints.

    Spatial angles need joint coordinates: in absolute ones they are known only up to full turns.
    """

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the joints, in the same system."""
        return ()

    def position(self, p: Any, *s: SX) -> SX:
        """Return the residual, SX column, for the axis coordinates s (rad or m)."""
        return ca.SX(0, 1)


@dataclass(frozen=True)
class Gear(AxisConstraint):
    """Ideal coupling of two axes: ``s_a = ratio * s_b + offset`` (a gear, a rack and pinion, a mimicking joint).

    Args:
        joint_a, joint_b: names of the joints, in the same system.
        ratio: of the coordinates, such as the number of teeth of b over that of a.
        offset: coordinate of a where that of b is zero, rad or m.
    """

    joint_a: str = ""
    joint_b: str = ""
    ratio: Value = quantity(1.0, "1", "coordinate of a for each of b")
    offset: Value = quantity(0.0, "1", "coordinate of a where that of b is zero")

    @property
    def axes(self) -> tuple[str, ...]:
        return (self.joint_a, self.joint_b)

    def position(self, p: Any, *s: SX) -> SX:
        return s[0] - p.ratio * s[1] - p.offset


@dataclass(frozen=True)
class AxisMotion(AxisConstraint):
    """Prescribed motion of an axis: ``s = s(t)``; the effort it takes is an output.

    Args:
        joint: name of the joint, in the same system.
        s: formula of ``time`` and parameters, rad or m.
    """

    joint: str = ""
    s: Value = law(0.0, "rad or m", "coordinate of the axis as a formula of time")

    @property
    def axes(self) -> tuple[str, ...]:
        return (self.joint,)

    def position(self, p: Any, *s: SX) -> SX:
        return s[0] - p.s()

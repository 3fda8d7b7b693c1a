"""Distance: two points at a constant distance."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.model.component import Value, quantity
from mbfmu.model.frame import SX, Frame
from mbfmu.model.joints.joint import Joint


@dataclass(frozen=True)
class Distance(Joint):
    """The origins of frame_a and frame_b stay at the distance `l`: a massless rod with a ball at each end.

    Equation: ``((r_b - r_a) . (r_b - r_a) - l^2) / (2 l) = 0``, to first order the excess of length in m; the cut force
    at frame_b is the force in the rod.

    Args:
        l: length, m.
    """

    l: Value = quantity(1.0, "m", "length", min=1e-9)  # noqa: E741 - the length, as everywhere in mechanics

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        gap = b.r_0 - a.r_0
        return (ca.dot(gap, gap) - p.l**2) / (2 * p.l)

"""GearPair: two gear wheels in the plane, whose centres may move."""

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.model.component import Value, quantity
from mbfmu.model.frame import SX, Frame
from mbfmu.model.joints.joint import Joint


@dataclass(frozen=True)
class GearPair(Joint):
    """Two gear wheels about the origins of frame_a and frame_b mesh; others hold their centres. For planar systems.

    Equation (nonholonomic, as the angle of the line of centres is known only up to full turns), with w_g the angular
    velocity of that line: ``r_a (w_a - w_g) + r_b (w_b - w_g) = 0``, with -r_b for r_b if the teeth of b are inside.
    The centres are to stay at the distance of the radii's sum, or difference. Teeth transmit a force normal to it.

    Args:
        r_a: radius of the wheel of frame_a, m.
        r_b: radius of the wheel of frame_b, m; larger than r_a if it is the outer one.
        internal: whether the wheel of frame_a is within that of frame_b.
    """

    r_a: Value = quantity(0.1, "m", "radius of the wheel of frame_a", min=1e-9)
    r_b: Value = quantity(0.1, "m", "radius of the wheel of frame_b", min=1e-9)
    internal: bool = False
    needs: ClassVar[str] = "planar"
    instead: ClassVar[str] = "a Gear of two joints"

    def velocity(self, p: Any, a: Frame, b: Frame) -> SX:
        r_b = -p.r_b if self.internal else p.r_b
        line, rate = b.r_0 - a.r_0, b.v_0 - a.v_0
        w_g = (line[0] * rate[1] - line[1] * rate[0]) / ca.dot(line, line)
        return p.r_a * (a.w_0 - w_g) + r_b * (b.w_0 - w_g)

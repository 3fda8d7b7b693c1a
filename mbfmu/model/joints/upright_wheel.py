"""UprightWheel: a wheel that rolls upright on a plane, held there by the rest of the mechanism."""

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.model.component import Value, direction, quantity
from mbfmu.model.frame import SX, Frame
from mbfmu.model.joints.joint import Joint
from mbfmu.model.relative import axis, velocity_seen


@dataclass(frozen=True)
class UprightWheel(Joint):
    """A wheel about the origin of frame_b, whose axle stays parallel to a plane of frame_a, rolls without slipping.

    For spatial systems. Equations (nonholonomic), with N the normal of the plane, d the axle, ``t = N x d / |N x d|``
    and the wheel's point at ``c = -radius N`` from its centre: the point does not move against frame_a along t and,
    unless the wheel may slide sideways, along ``t x N``. Other joints hold the axle at the height `radius`. Of two
    wheels on one axle one slides sideways: both together would state the same equation twice.

    Args:
        n_a: normal of the plane on the wheel's side, a unit vector resolved in frame_a.
        n: axle, a unit vector resolved in frame_b.
        radius: radius of the wheel, m.
        sideways: whether the wheel may slide along its axle.
    """

    n_a: tuple[float, ...] = direction(0.0, 1.0, 0.0)
    n: tuple[float, ...] = direction(0.0, 0.0, 1.0)
    radius: Value = quantity(1.0, "m", "radius of the wheel", min=1e-9)
    sideways: bool = False
    needs: ClassVar[str] = "spatial"
    instead: ClassVar[str] = "RollingWheel"

    def velocity(self, p: Any, a: Frame, b: Frame) -> SX:
        N = a.R @ axis(self.n_a)
        along = ca.cross(N, b.R @ axis(self.n))
        t = along / ca.norm_2(along)
        slip = velocity_seen(a, b, -p.radius * N)
        return ca.dot(t, slip) if self.sideways else ca.vertcat(ca.dot(t, slip), ca.dot(ca.cross(t, N), slip))

"""SlippingWheel: a wheel in the plane that stands on a line and slips on it."""

from dataclasses import dataclass
from math import nan
from typing import Any, ClassVar

import casadi as ca

from mbfmu.model.component import Input, Value, direction, quantity, start
from mbfmu.model.frame import SX, Frame
from mbfmu.model.joints.joint import Joint, JointCoordinate, check_in_plane, sliding, turning
from mbfmu.model.relative import axis, velocity_seen
from mbfmu.model.slip import friction_curve


@dataclass(frozen=True)
class SlippingWheel(Joint):
    """A wheel about the origin of frame_b stays on the line through frame_a and slips on it. For planar systems.

    Equation, with n the normal of the line: ``n . (r_b - r_a) = radius``. With t = (n_y, -n_x) along the line (+x for a
    ground along x) and the slip ``u = t . v + radius w`` the line puts the force ``-N mu(u) t`` on the point that
    touches, where N is the normal force, which the equations determine with it. mu is an odd function with the peak
    `mu_A` at v_A and mu_S from v_S on (`friction_curve`). Where N is 0 the wheel has left the line, and the run ends.

    Args:
        n: normal of the line on the wheel's side, a unit vector resolved in frame_a.
        radius: radius of the wheel, m.
        mu_A, mu_S: coefficients of friction at the peak, and of sliding.
        v_A, v_S: slip velocities of the peak, and from which friction is constant, m/s.
        s, v: start position (m) and velocity (m/s) of the wheel's centre along t.
        phi, w: start angle (rad) and angular velocity (rad/s) of frame_b seen from frame_a.
    """

    n: tuple[float, ...] = direction(0.0, 1.0, 0.0)
    radius: Value = quantity(1.0, "m", "radius of the wheel", min=1e-9)
    mu_A: Value = quantity(1.0, "1", "coefficient of friction at the peak", min=0)
    mu_S: Value = quantity(0.7, "1", "coefficient of friction of sliding", min=0)
    v_A: Value = quantity(0.1, "m/s", "slip velocity of the peak", min=1e-9)
    v_S: Value = quantity(0.3, "m/s", "slip velocity of sliding", min=1e-9)
    s: Value | None = start("m", "position of the centre along the line")
    v: Value | None = start("m/s", "velocity of the centre along the line")
    phi: Value | None = start("rad", "angle of frame_b seen from frame_a")
    w: Value | None = start("rad/s", "angular velocity of frame_b seen from frame_a")
    needs: ClassVar[str] = "planar"
    instead: ClassVar[str] = "RollingDisk"
    ends: ClassVar[str] = "has left its line (its normal force fell to 0)"

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        return (*super().inputs(planar), Input("f_t", "N", "friction along the line", internal=True))

    def _directions(self, a: Frame) -> tuple[SX, SX]:
        check_in_plane(self, "n")
        n = axis(self.n, planar=True)
        return a.R @ n, a.R @ ca.vertcat(n[1], -n[0])

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        return ca.dot(self._directions(a)[0], b.r_0 - a.r_0) - p.radius

    def motion(self, p: Any, a: Frame, b: Frame) -> tuple[JointCoordinate, ...]:
        along = ca.dot(self._directions(a)[1], b.r_0 - a.r_0)
        return sliding(along), turning(b.phi - a.phi, acceleration="wd")

    def slip(self, p: Any, a: Frame, b: Frame) -> SX:
        """Return the velocity with which the wheel slips along the line, m/s."""
        along = ca.dot(self._directions(a)[1], velocity_seen(a, b, ca.SX(2, 1)))
        return along + p.radius * (b.w_0 - a.w_0)

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        return ((self.slip(p, a, b), p.f_t),)

    def pressed(self, p: Any, a: Frame, b: Frame, lambda_: SX) -> SX:
        N, u = -lambda_[0], self.slip(p, a, b)
        return ca.if_else(N > 0, -N * friction_curve(u, p.v_A, p.v_S, p.mu_A, p.mu_S), nan)

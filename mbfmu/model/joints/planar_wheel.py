"""PlanarWheel: a wheel on the plane of motion, seen from above, that rolls and does not slip."""

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.model.component import Value, direction, quantity
from mbfmu.model.frame import SX, Frame
from mbfmu.model.joints.joint import Joint, check_in_plane
from mbfmu.model.relative import axis


@dataclass(frozen=True)
class PlanarWheel(Joint):
    """A wheel about an axis in the plane, as of a car seen from above: it neither slips nor slides sideways.

    The hub is the origin of frame_b. The wheel's own rotation is that of frame_a, of a body on a `Revolute` of the
    world: the axis of that joint stands for the wheel's. Equations (nonholonomic), with e the driving direction and n
    normal to it: ``n . v_b = 0`` and ``e . v_b = radius w_a``.

    Args:
        e: driving direction, a unit vector resolved in frame_b.
        radius: radius of the wheel, m.
    """

    e: tuple[float, ...] = direction(1.0, 0.0, 0.0)
    radius: Value = quantity(0.3, "m", "radius of the wheel", min=1e-9)
    needs: ClassVar[str] = "planar"
    instead: ClassVar[str] = "RollingDisk"

    def velocity(self, p: Any, a: Frame, b: Frame) -> SX:
        check_in_plane(self, "e")
        along, sideways = rolling(b, axis(self.e, planar=True))
        return ca.vertcat(sideways, along - p.radius * a.w_0)


def rolling(b: Frame, e: SX) -> tuple[SX, SX]:
    """Return the velocities of the origin of a frame along a direction fixed in it, and normal to it, m/s.

    Args:
        b: the frame.
        e: unit vector resolved in it, in the plane.
    """
    x, y = ca.vertsplit(b.R.T @ b.v_0)
    return e[0] * x + e[1] * y, e[0] * y - e[1] * x

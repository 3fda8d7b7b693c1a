"""Round bodies that touch: a circle or sphere on a line or plane, and two of them, outside or one in the other."""

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.model.component import Value, quantity
from mbfmu.model.contacts.contact import SurfaceContact, rate_of
from mbfmu.model.frame import SX, Frame, axis_rotation
from mbfmu.model.relative import cross, distance, r_rel, velocity_seen

AWAY = axis_rotation((0.48, -0.64, 0.6), 0.7)
"""Rotation into a frame whose third axis is far from the directions of contact that models usually have."""


@dataclass(frozen=True)
class CircleOnLine(SurfaceContact):
    """A circle about the origin of frame_b on the line along x through the origin of frame_a, in the plane.

    The gap is the distance of the circle from the line, towards frame_a's y.

    Args:
        radius: radius of the circle, m.
    """

    radius: Value = quantity(0.0, "m", "radius of the circle", min=0)
    needs: ClassVar[str] = "planar"

    def gap(self, p: Any, a: Frame, b: Frame) -> SX:
        return r_rel(a, b)[1] - p.radius

    def friction(self, p: Any, a: Frame, b: Frame) -> tuple[SX, SX | None]:
        def place(a: Frame, b: Frame) -> SX:
            return r_rel(a, b)[0] + p.radius * (b.phi - a.phi)

        return rate_of(place, a, b), place(a, b)


@dataclass(frozen=True)
class SphereOnPlane(SurfaceContact):
    """A sphere about the origin of frame_b on the plane of frame_a's x and y, in space.

    The gap is the distance of the sphere from the plane, towards frame_a's z. What sticks rolls.

    Args:
        radius: radius of the sphere, m.
    """

    radius: Value = quantity(0.0, "m", "radius of the sphere", min=0)
    needs: ClassVar[str] = "spatial"

    def gap(self, p: Any, a: Frame, b: Frame) -> SX:
        return r_rel(a, b)[2] - p.radius

    def friction(self, p: Any, a: Frame, b: Frame) -> tuple[SX, SX | None]:
        slip = a.R.T @ velocity_seen(a, b, -p.radius * a.R[:, 2])
        return slip[:2], None


@dataclass(frozen=True)
class CircleOnCircle(SurfaceContact):
    """Two circles in the plane, about the origins of frame_a and frame_b, that touch from outside.

    The gap is the distance of the circles.

    Args:
        radius_a: radius of the circle about frame_a, m.
        radius_b: radius of the circle about frame_b, m.
    """

    radius_a: Value = quantity(0.0, "m", "radius of the circle about frame_a", min=0)
    radius_b: Value = quantity(0.0, "m", "radius of the circle about frame_b", min=0)
    needs: ClassVar[str] = "planar"

    def gap(self, p: Any, a: Frame, b: Frame) -> SX:
        return distance(a, b) - p.radius_a - p.radius_b

    def friction(self, p: Any, a: Frame, b: Frame) -> tuple[SX, SX | None]:
        n = (b.r_0 - a.r_0) / distance(a, b)
        return ca.dot(cross(ca.SX(1), n), _slip(a, b, p.radius_a * n, -p.radius_b * n)), None


@dataclass(frozen=True)
class PinInHole(SurfaceContact):
    """A round pin about the origin of frame_b in a round hole about that of frame_a, in the plane.

    The gap is the clearance without the distance of the centres.

    Args:
        radius: radius of the pin, m.
        clearance: radius of the hole without that of the pin, m.
    """

    radius: Value = quantity(0.0, "m", "radius of the pin", min=0)
    clearance: Value = quantity(0.0, "m", "radius of the hole without that of the pin", min=0)
    needs: ClassVar[str] = "planar"

    def gap(self, p: Any, a: Frame, b: Frame) -> SX:
        return p.clearance - distance(a, b)

    def friction(self, p: Any, a: Frame, b: Frame) -> tuple[SX, SX | None]:
        n = (b.r_0 - a.r_0) / distance(a, b)
        slip = _slip(a, b, (p.radius + p.clearance) * n, p.radius * n)
        return ca.dot(cross(ca.SX(1), n), slip), None


@dataclass(frozen=True)
class SphereOnSphere(SurfaceContact):
    """Two spheres in space, about the origins of frame_a and frame_b, that touch from outside.

    The gap is the distance of the spheres. The two entries of the slip are along tangents that turn with the line of
    the centres.

    Args:
        radius_a: radius of the sphere about frame_a, m.
        radius_b: radius of the sphere about frame_b, m.
    """

    radius_a: Value = quantity(0.0, "m", "radius of the sphere about frame_a", min=0)
    radius_b: Value = quantity(0.0, "m", "radius of the sphere about frame_b", min=0)
    needs: ClassVar[str] = "spatial"

    def gap(self, p: Any, a: Frame, b: Frame) -> SX:
        return distance(a, b) - p.radius_a - p.radius_b

    def friction(self, p: Any, a: Frame, b: Frame) -> tuple[SX, SX | None]:
        n = (b.r_0 - a.r_0) / distance(a, b)
        return _tangents(n).T @ _slip(a, b, p.radius_a * n, -p.radius_b * n), None


def _slip(a: Frame, b: Frame, arm_a: SX, arm_b: SX) -> SX:
    """Return the velocity of a point of b over that of a point of a, m/s, in the world frame; arms: of both, m."""
    return b.v_0 + cross(b.w_0, arm_b) - a.v_0 - cross(a.w_0, arm_a)


def _tangents(n: SX) -> SX:
    """Return two tangents of a unit normal, at right angles, shape (3, 2).

    They turn steadily with the normal, but for one direction that no usual arrangement has. (Duff et al., Building an
    orthonormal basis, revisited, J. Comput. Graph. Tech. 6, 2017, in a frame of its own.)

    Args:
        n: unit vector, in the world frame, shape (3,).
    """
    seen = AWAY.T @ n
    x, y, a = seen[0], seen[1], -1 / (1 + seen[2])
    return AWAY @ ca.horzcat(ca.vertcat(1 + x**2 * a, x * y * a, -x), ca.vertcat(x * y * a, 1 + y**2 * a, -y))

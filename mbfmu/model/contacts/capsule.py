"""Capsules, which are all that is within a radius of a line, on lines, planes and balls."""

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.model.component import Value, quantity
from mbfmu.model.contacts.contact import SurfaceContact
from mbfmu.model.contacts.round import CircleOnCircle, CircleOnLine, SphereOnPlane, SphereOnSphere
from mbfmu.model.contacts.several import SeveralPoints, carried
from mbfmu.model.frame import SX, Frame
from mbfmu.model.relative import r_rel

ENDS = ("left", "right")
"""Ends of a capsule along its frame's -x and x."""


@dataclass(frozen=True)
class Capsule(SeveralPoints):
    """Base of contacts of a capsule whose middle is the origin of frame_b and whose axis is frame_b's x.

    Args:
        length: distance of the centres of its round ends, m.
    """

    length: Value = quantity(0.0, "m", "distance of the centres of the round ends", min=0)
    parts: ClassVar[tuple[str, ...]] = ENDS

    def points(self, p: Any) -> tuple[SX, ...]:
        still = [0] * (1 if p.planar else 2)
        return tuple(ca.vertcat(sign * p.length / 2, *still) for sign in (-1, 1))


@dataclass(frozen=True)
class CapsuleOnLine(Capsule, CircleOnLine):
    """A capsule on the line along x through the origin of frame_a, in the plane.

    Its ends `left` and `right` touch as circles do (see `CircleOnLine`).

    Args:
        radius: radius of the capsule, m.
    """


@dataclass(frozen=True)
class CapsuleOnPlane(Capsule, SphereOnPlane):
    """A capsule on the plane of frame_a's x and y, in space.

    Its ends `left` and `right` touch as spheres do (see `SphereOnPlane`).

    Args:
        radius: radius of the capsule, m.
    """


@dataclass(frozen=True)
class CapsuleSide(SurfaceContact):
    """Base of contacts of a capsule about frame_a, which touches as the ball in it nearest to frame_b.

    Args:
        length: distance of the centres of the capsule's round ends, m.
    """

    length: Value = quantity(0.0, "m", "distance of the centres of the round ends", min=0)

    def nearest(self, p: Any, a: Frame, b: Frame) -> Frame:
        """Return the frame of the capsule at the point of its axis that is nearest to frame_b."""
        along = ca.fmin(ca.fmax(r_rel(a, b)[0], -p.length / 2), p.length / 2)
        return carried(a, ca.vertcat(along, *[0] * (1 if p.planar else 2)))

    def gap(self, p: Any, a: Frame, b: Frame) -> SX:
        return super().gap(p, self.nearest(p, a, b), b)

    def friction(self, p: Any, a: Frame, b: Frame) -> tuple[SX, SX | None]:
        return super().friction(p, self.nearest(p, a, b), b)


@dataclass(frozen=True)
class CapsuleOnCircle(CapsuleSide, CircleOnCircle):
    """A capsule about the origin of frame_a, along frame_a's x, and a circle about that of frame_b, in the plane.

    The gap is their distance. Its second derivative has a jump where the contact passes from the side to a round end.

    Args:
        radius_a: radius of the capsule, m.
        radius_b: radius of the circle, m.
    """


@dataclass(frozen=True)
class CapsuleOnSphere(CapsuleSide, SphereOnSphere):
    """A capsule about the origin of frame_a, along frame_a's x, and a sphere about that of frame_b, in space.

    The gap is their distance. Its second derivative has a jump where the contact passes from the side to a round end.

    Args:
        radius_a: radius of the capsule, m.
        radius_b: radius of the sphere, m.
    """

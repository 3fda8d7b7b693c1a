"""Contacts of several points of one body, each by the law of a point or of a ball."""

from dataclasses import dataclass, replace
from typing import Any

from mbfmu.model.contacts.contact import Friction, Gap, SurfaceContact, coulomb
from mbfmu.model.frame import SX, Frame
from mbfmu.model.relative import cross


def carried(b: Frame, point: SX) -> Frame:
    """Return the frame at a point of the body of a frame, with the same axes.

    Args:
        b: the frame.
        point: m, resolved in it.
    """
    arm = b.R @ point
    return replace(b, pose=replace(b.pose, r=b.r_0 + arm), v_0=b.v_0 + cross(b.w_0, arm))


@dataclass(frozen=True)
class SeveralPoints(SurfaceContact):
    """Base of contacts of several points of one body: override `points`; `gap` and `friction` are those of one."""

    def points(self, p: Any) -> tuple[SX, ...]:
        """Return the points, m, resolved in frame_b, one for each of `parts`."""
        raise NotImplementedError

    def gaps(self, p: Any, a: Frame, b: Frame) -> tuple[Gap, ...]:
        return tuple(Gap(self.gap(p, a, carried(b, point)), p.e, p.rest) for point in self.points(p))

    def frictions(self, p: Any, a: Frame, b: Frame) -> tuple[Friction, ...]:
        if not self.rubs:
            return ()
        touching = (self.friction(p, a, carried(b, point)) for point in self.points(p))
        return tuple(coulomb(p, index, *item) for index, item in enumerate(touching))

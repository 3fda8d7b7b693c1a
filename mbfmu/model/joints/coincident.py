"""Coincident: two points that stay together, where a loop closes."""

from dataclasses import dataclass
from typing import Any

from mbfmu.model.frame import SX, Frame
from mbfmu.model.joints.joint import Joint


@dataclass(frozen=True)
class Coincident(Joint):
    """The origins of frame_a and frame_b coincide: ``r_b = r_a``; how the frames turn is free.

    In space it allows the motion of a `Spherical` joint, in the plane that of a `Revolute` one, but it has no motions
    of its own to start, drive or show: it closes loops, whose coordinates those of their other joints remain.
    """

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        return b.r_0 - a.r_0

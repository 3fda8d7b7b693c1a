"""A rope through points: a length that forces and couplings of axes act on."""

from collections.abc import Iterator
from dataclasses import dataclass

import casadi as ca

from mbfmu.errors import ValueRangeError
from mbfmu.model.component import Component
from mbfmu.model.frame import SX, Frame
from mbfmu.model.joints.joint import JointCoordinate, sliding
from mbfmu.model.relative import distance

MOST_POINTS = 1_000
"""Largest number of points of a rope."""


@dataclass(frozen=True)
class Rope(Component):
    """A massless rope without friction through the origins of frame_1, frame_2, ..., straight between them.

    Its length ``s = sum share_k |r_k+1 - r_k|`` is an axis, as that of a prismatic joint: forces, stops, drives and
    couplings of axes name the rope as their joint. Alone it has no force. Where two of its points meet, the direction
    between them is undefined: they must not, unless they are fixed to one body.

    Args:
        points: number of its points, at least 2.
        shares: factor of each stretch between two points in the length: the part of the force that pulls there, such
            as 0.5 behind a pulley that two strands hang on, and 0 where the rope is interrupted; empty: 1 each.
    """

    points: int = 2
    shares: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.points, bool) or not isinstance(self.points, int) or not 2 <= self.points <= MOST_POINTS:
            raise ValueRangeError(f"{self.name}.points = {self.points} must be a whole number from 2 to {MOST_POINTS}")
        if self.shares and len(self.shares) != self.points - 1:
            message = f"must be {self.points - 1} numbers, one for each stretch between two points"
            raise ValueRangeError(f"{self.name}.shares = {self.shares} {message}")

    @property
    def frames(self) -> tuple[str, ...]:
        return tuple(f"frame_{index}" for index in range(1, self.points + 1))

    def motion(self, *frames: Frame) -> JointCoordinate:
        """Return its length, m, as an axis, for its frames in their order."""
        stretches = (share * distance(*frames[index : index + 2]) for index, share in self._stretches())
        return sliding(sum(stretches, ca.SX(0)))

    def pulls(self, *frames: Frame) -> list[SX]:
        """Return the gradient of the length by the position of each point, in the world frame, for its frames."""
        slopes = [ca.SX(frame.r_0.numel(), 1) for frame in frames]
        for index, share in self._stretches():
            a, b = frames[index : index + 2]
            along = share * (b.r_0 - a.r_0) / distance(a, b)
            slopes[index] -= along
            slopes[index + 1] += along
        return slopes

    def _stretches(self) -> Iterator[tuple[int, float]]:
        """Yield the index of the first point and the share of each stretch that counts."""
        shares = self.shares or (1.0,) * (self.points - 1)
        yield from ((index, share) for index, share in enumerate(shares) if share)

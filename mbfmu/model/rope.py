"""A rope through points and over round bodies: a length that forces and couplings of axes act on."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.errors import ValueRangeError
from mbfmu.model.component import Component
from mbfmu.model.frame import SX, Frame
from mbfmu.model.joints.joint import JointCoordinate, sliding
from mbfmu.model.relative import moment_of
from mbfmu.model.wrapping import SHAPES, WAYS, Stretch, around, straight

MOST_POINTS = 1_000
"""Largest number of points of a rope."""


@dataclass(frozen=True)
class RopePath(Component):
    """Base of massless ropes without friction, whose length is an axis like the one of a prismatic joint.

    Forces, stops, drives and couplings of axes name the rope as their joint. By itself it has no force.
    """

    def motion(self, p: Any, *frames: Frame) -> JointCoordinate:
        """Return its length, m, as an axis.

        Args:
            p: its quantities.
            frames: its frames in their order.
        """
        raise NotImplementedError

    def pulls(self, p: Any, *frames: Frame) -> list[tuple[SX, SX]]:
        """Return the gradient of the length by the shift and by the turn of each frame, in the world frame.

        It is the wrench that a unit force which lengthens the rope puts on the frame's body: the force and its torque
        about the frame's origin. The arguments are those of `motion`.
        """
        raise NotImplementedError

    def spans(self, p: Any) -> list[tuple[int, SX, SX]]:
        """Return k, from 1, and the signed radii at both ends, m, of each span that counts, from frame_k to frame_k+1.

        Args:
            p: its quantities.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Rope(RopePath):
    """A massless rope without friction through the origins of frame_1, frame_2, ..., straight or over round bodies.

    Its length ``s = sum share_k s_k``, with the length s_k of the stretch from frame_k to frame_k+1, is an axis:
    forces, stops, drives and couplings of axes name the rope as their joint. By itself it has no force. Where two of
    its points meet, the direction between them is undefined: they must not, unless they are fixed to one body.

    A stretch that may touch a sphere or an endless cylinder takes the shortest path around it; where the straight line
    is clear, or begins within it, it is straight. The sphere is about the origin of the frame over_k, the cylinder
    about its z axis; in the plane both are disks. One that is to pass on one side takes the frame side_k: it goes
    around as the path over its origin does. One that a ring holds touches the surface from inside, at one point. They
    are the paths of MuJoCo's spatial tendons.

    Args:
        points: number of its points, at least 2.
        shares: factor of each stretch between two points in the length: the part of the force that pulls there, such
            as 0.5 behind a pulley that two strands hang on, and 0 where the rope is interrupted; empty: 1 each.
        over: what each stretch may touch, ``sphere``, ``cylinder`` or nothing (``""``); empty: nothing.
        radii: radius of each, m, 0 where there is none; empty: there are none.
        ways: way of each: the shorter one (``""``), on the ``side`` of side_k, or ``inside``; empty: the shorter ones.
    """

    points: int = 2
    shares: tuple[float, ...] = ()
    over: tuple[str, ...] = ()
    radii: tuple[float, ...] = ()
    ways: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.points, bool) or not isinstance(self.points, int) or not 2 <= self.points <= MOST_POINTS:
            raise ValueRangeError(f"{self.name}.points = {self.points} must be a whole number from 2 to {MOST_POINTS}")
        for label, items, noun in (
            ("shares", self.shares, "numbers"),
            ("over", self.over, "texts"),
            ("radii", self.radii, "numbers"),
            ("ways", self.ways, "texts"),
        ):
            if items and len(items) != self.points - 1:
                message = f"must be {self.points - 1} {noun}, one for each stretch between two points"
                raise ValueRangeError(f"{self.name}.{label} = {items} {message}")
        for index, (shape, radius, way) in enumerate(self._round(), 1):
            if shape not in ("", *SHAPES) or way not in ("", *WAYS):
                message = f"over[{index}] must be one of {', '.join(SHAPES)}, ways[{index}] one of {', '.join(WAYS)}"
                raise ValueRangeError(f"{self.name}: {message}, or empty; they are {shape!r} and {way!r}")
            if bool(shape) != (0 < radius < math.inf) or (way and not shape):
                message = f"over[{index}], its positive radius and ways[{index}] belong together"
                raise ValueRangeError(f"{self.name}: {message}; they are {shape!r}, {radius!r} and {way!r}")

    @property
    def frames(self) -> tuple[str, ...]:
        """Return the names of its frames: those of its points, then those of the bodies that it may touch."""
        points = [f"frame_{index}" for index in range(1, self.points + 1)]
        return (*points, *(label for _, labels in self._bodies() for label in labels))

    def motion(self, p: Any, *frames: Frame) -> JointCoordinate:
        lengths = (share * stretch.length for _, share, stretch in self._stretches(frames))
        return sliding(sum(lengths, ca.SX(0)))

    def pulls(self, p: Any, *frames: Frame) -> list[tuple[SX, SX]]:
        # What touches the rope bears what its two ends do not
        nothing = ca.SX(frames[0].r_0.numel(), 1), ca.SX(frames[0].w_0.numel(), 1)
        slopes = dict.fromkeys(self.frames, nothing)
        held = dict(zip(self.frames, frames, strict=True))
        touched = dict(self._bodies())
        for index, share, stretch in self._stretches(frames):
            force, torque = nothing
            for label, slope in ((f"frame_{index}", stretch.first), (f"frame_{index + 1}", stretch.last)):
                slopes[label] = slopes[label][0] + share * slope, nothing[1]
                if index in touched:
                    body = held[touched[index][0]]
                    force, torque = force - slope, torque - moment_of(held[label].r_0 - body.r_0, slope)
            if index in touched:
                slopes[touched[index][0]] = share * force, share * torque
        return list(slopes.values())

    def spans(self, p: Any) -> list[tuple[int, SX, SX]]:
        shares = self.shares or (1.0,) * (self.points - 1)
        return [(index, ca.SX(0), ca.SX(0)) for index, share in enumerate(shares, 1) if share]

    def _round(self) -> list[tuple[str, float, str]]:
        """Return shape, radius and way of each stretch."""
        none = self.points - 1
        return list(zip(self.over or ("",) * none, self.radii or (0.0,) * none, self.ways or ("",) * none, strict=True))

    def _bodies(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Yield the index of each stretch that may touch something, and the frames of that."""
        for index, (shape, _, way) in enumerate(self._round(), 1):
            if shape:
                yield index, (f"over_{index}", f"side_{index}")[: 2 if way == "side" else 1]

    def _stretches(self, frames: tuple[Frame, ...]) -> Iterator[tuple[int, float, Stretch]]:
        """Yield the index from 1, the share and the path of each stretch that counts."""
        held, touched = dict(zip(self.frames, frames, strict=True)), dict(self._bodies())
        for index, (share, (shape, radius, way)) in enumerate(
            zip(self.shares or (1.0,) * (self.points - 1), self._round(), strict=True), 1
        ):
            a, b = held[f"frame_{index}"], held[f"frame_{index + 1}"]
            if share and shape:
                body, *beside = (held[label] for label in touched[index])
                yield index, share, around(shape, radius, way, a, b, body, next(iter(beside), None))
            elif share:
                yield index, share, straight(a, b)

"""Ropes over sheaves and drums, which are always on them: hoists, lifts, belts."""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.errors import ValueRangeError
from mbfmu.model.component import Value, factors
from mbfmu.model.frame import SX, Frame, expression, wrapped
from mbfmu.model.joints.joint import JointCoordinate, sliding
from mbfmu.model.relative import SMALLEST_LENGTH
from mbfmu.model.rope import MOST_POINTS, RopePath


@dataclass(frozen=True)
class Reeving(RopePath):
    """A massless rope over sheaves about frame_1, frame_2, ..., from one drum or point to another.

    Its length ``s`` is an axis: forces, stops, drives and couplings of axes name the rope as their joint. Between two
    sheaves it follows their common tangent, ``l^2 = D^2 - (R_b - R_a)^2`` with the distance D of their centres and
    signed radii; each sheave adds ``|R|`` times the angle that the rope winds around it.

    The axle of a sheave is the z axis of its frame. The rope does not lift off: its angle on a sheave lies between a
    quarter of a revolution less than none, where it would have left, and three quarters. In space the axles of sheaves
    next to each other are parallel; sideways the rope swings about the points at which it leaves them. Where a point
    lies within a sheave there is no tangent, and the length is not a number.

    A sheave between two others revolves without resistance, and its frame may do so with it. A drum at an end holds the
    rope, whose length counts from a mark: the point where a rope along the x axis of the frame touches the drum. Its
    frame is fixed to the bearing, and the rope leaves it within half a revolution of that axis. The hinge of the drum
    takes up the rope: what acts along it has ``joints=("rope", "hinge")`` and ``ratios=(1, "-R")`` at the first frame,
    ``(1, "R")`` at the last, with the signed radius R. A sheave with inertia, without slip, is a drum at the ends of
    two ropes, and so is the pulley of a belt.

    Args:
        radii: signed radius of each frame's sheave, m, at least two: positive where the rope, from frame_1 on, winds
            counterclockwise about the z axis; negative: clockwise; 0: a point or an eyelet. A number is fixed when
            exported, an expression follows its parameters and keeps its sign.
    """

    radii: tuple[Value, ...] = factors((0.0, 0.0), "signed radius of each sheave, m")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2 <= len(self.radii) <= MOST_POINTS:
            raise ValueRangeError(
                f"{self.name}.radii = {self.radii} must have from 2 to {MOST_POINTS} radii, one for each frame"
            )

    @property
    def frames(self) -> tuple[str, ...]:
        return tuple(f"frame_{index}" for index in range(1, len(self.radii) + 1))

    def motion(self, p: Any, *frames: Frame) -> JointCoordinate:
        return sliding(self._length(p, frames))

    def pulls(self, p: Any, *frames: Frame) -> list[tuple[SX, SX]]:
        sizes = frames[0].r_0.numel(), ca.SX(frames[0].w_0).numel()
        moves = [tuple(ca.SX.sym("move", size) for size in sizes) for _ in frames]
        moved = tuple(frame.moved(*move) for frame, move in zip(frames, moves, strict=True))
        every = ca.vertcat(*(item for move in moves for item in move))
        slopes = ca.jacobian(self._length(p, moved), every).T
        slopes = ca.substitute(slopes, every, ca.SX.zeros(every.numel()))
        parts = ca.vertsplit(slopes, sum(sizes))
        return [(part[: sizes[0]], part[sizes[0] :]) for part in parts]

    def spans(self, p: Any) -> list[tuple[int, SX, SX]]:
        ends = itertools.pairwise(expression(radius) for radius in p.radii)
        return [(index, *pair) for index, pair in enumerate(ends, 1)]

    def _length(self, p: Any, frames: tuple[Frame, ...]) -> SX:
        """Return the length of the rope, m."""
        radii = [expression(radius) for radius in p.radii]
        axles = [_axle(frame) if radius != 0 else None for frame, radius in zip(frames, self.radii, strict=True)]
        # Spans: lengths, and directions in the world frame
        lengths, directions = [], []
        for index, (a, b) in enumerate(itertools.pairwise(frames)):
            axle = axles[index] if axles[index] is not None else axles[index + 1]
            length, direction = _span(b.r_0 - a.r_0, radii[index + 1] - radii[index], axle)
            lengths.append(length)
            directions.append(direction)
        # Arcs: of the drums at the ends from their marks, of the others from one span to the next
        seen = [
            [(frame.R.T @ directions[k])[:2] for k in (index - 1, index) if 0 <= k < len(directions)]
            for index, frame in enumerate(frames)
        ]
        arcs = [radii[0] * _angle(seen[0][0]), -radii[-1] * _angle(seen[-1][0])]
        for radius, (into, out) in zip(radii[1:-1], seen[1:-1], strict=True):
            sense = ca.if_else(radius < 0, -1, 1)
            turn = _angle(ca.vertcat(ca.dot(into, out), into[0] * out[1] - into[1] * out[0]))
            arcs.append(radius * sense * (wrapped(sense * turn - math.pi / 2) + math.pi / 2))
        return sum([*lengths, *arcs], ca.SX(0))


def _axle(frame: Frame) -> SX:
    """Return the axis about which a sheave turns, in the world frame; in the plane a placeholder."""
    return ca.SX(1) if frame.planar else frame.R[:, 2]


def _angle(x: SX) -> SX:
    return ca.atan2(x[1], x[0])


def _span(d: SX, difference: SX, axle: SX | None) -> tuple[SX, SX]:
    """Return the length of a span, m, and its direction across the axle, a unit vector in the world frame.

    With the turn J by a quarter about the axle, ``d = l t + (R_b - R_a) J t``, so that
    ``t = (l d - (R_b - R_a) J d) / D^2``.

    Args:
        d: from the first centre to the second, m.
        difference: R_b - R_a, signed radii, m.
        axle: direction of the axles; None: both are points.
    """
    if axle is None:
        length = ca.sqrt(ca.dot(d, d) + SMALLEST_LENGTH**2)
        return length, d / length
    rise = ca.SX(0) if d.numel() == 2 else ca.dot(axle, d)
    flat = d if d.numel() == 2 else d - rise * axle
    turned = ca.vertcat(-d[1], d[0]) if d.numel() == 2 else ca.cross(axle, d)
    square = ca.dot(flat, flat)
    across = ca.sqrt(square - difference**2)
    return ca.sqrt(across**2 + rise**2), (across * flat - difference * turned) / square

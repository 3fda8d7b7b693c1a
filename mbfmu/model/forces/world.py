"""Forces and torques that are given during the run: from outside, and between two frames."""

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.errors import UnknownNameError, nearest
from mbfmu.model.component import Input
from mbfmu.model.forces.force import Force
from mbfmu.model.frame import SX, Frame

THIRD = "frame_resolve"
"""Frame whose axes a force may be resolved in, beside the frames that it acts on."""
RESOLVED = ("world", "frame_b", THIRD)
BETWEEN = ("world", "frame_a", "frame_b", THIRD)


@dataclass(frozen=True)
class Resolved(Force):
    """Base of forces and torques that are inputs, resolved in one of some frames.

    Args:
        resolve: the axes the input is resolved in, ``world`` or a frame; ``frame_resolve`` is a third one, on which
            nothing acts.
    """

    resolve: str = "world"
    axes: ClassVar[tuple[str, ...]] = RESOLVED

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.resolve not in self.axes:
            raise UnknownNameError(
                f"{self.name}.resolve = {self.resolve!r} names no frame; {nearest(str(self.resolve), self.axes)}"
            )

    @property
    def frames(self) -> tuple[str, ...]:
        return (*super().frames, THIRD) if self.resolve == THIRD else super().frames

    def in_world(self, p: Any, x: SX, a: Frame, b: Frame) -> SX:
        """Return the input resolved in the world frame."""
        if self.resolve == "world" or x.numel() == 1:
            return x
        frame: Frame = p.frame_resolve if self.resolve == THIRD else a if self.resolve == "frame_a" else b
        return frame.R @ x


@dataclass(frozen=True)
class External(Resolved):
    """Base of forces and torques on frame_b from outside.

    Args:
        resolve: the axes the input is resolved in, ``world``, ``frame_b`` or ``frame_resolve``.
    """

    @property
    def frames(self) -> tuple[str, ...]:
        return tuple(frame for frame in super().frames if frame != "frame_a")


@dataclass(frozen=True)
class WorldForce(External):
    """A force on the origin of frame_b: the inputs ``f[1]`` and so on, N, with power ``f . v_b``.

    Args:
        resolve: the axes the input is resolved in, ``world``, ``frame_b`` (then it turns with the body) or
            ``frame_resolve``, a third frame.
    """

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        return (Input("f", "N", f"force on frame_b, resolved in {self.resolve}", 2 if planar else 3),)

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        return ((b.v_0, self.in_world(p, p.f, a, b)),)


@dataclass(frozen=True)
class WorldTorque(External):
    """A torque on frame_b: the inputs ``t[1]`` to ``t[3]``, in the plane ``t``, N.m, with power ``t . w_b``.

    Args:
        resolve: the axes the input is resolved in, ``world``, ``frame_b`` (then it turns with the body) or
            ``frame_resolve``, a third frame.
    """

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        return (Input("t", "N.m", f"torque on frame_b, resolved in {self.resolve}", 1 if planar else 3),)

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        return ((b.w_0, self.in_world(p, p.t, a, b)),)


@dataclass(frozen=True)
class ForceBetween(Resolved):
    """A force between two frames: the inputs ``f[1]`` and so on, N, on the origin of frame_b, and its reaction.

    The reaction acts on the body of frame_a along the same line: at frame_a it is ``-f`` with the torque ``-r x f`` of
    the lever r from frame_a to frame_b.

    Args:
        resolve: the axes the input is resolved in, ``world``, ``frame_a``, ``frame_b`` or a third frame,
            ``frame_resolve``.
    """

    axes: ClassVar[tuple[str, ...]] = BETWEEN

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        return (Input("f", "N", f"force on frame_b, resolved in {self.resolve}", 2 if planar else 3),)

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        r = b.r_0 - a.r_0
        carried = a.w_0 * ca.vertcat(-r[1], r[0]) if p.planar else ca.cross(a.w_0, r)
        return ((b.v_0 - a.v_0 - carried, self.in_world(p, p.f, a, b)),)


@dataclass(frozen=True)
class TorqueBetween(Resolved):
    """A torque between two frames: the inputs ``t[1]`` to ``t[3]``, in the plane ``t``, N.m, on frame_b.

    Its reaction ``-t`` acts on frame_a.

    Args:
        resolve: the axes the input is resolved in, ``world``, ``frame_a``, ``frame_b`` or a third frame,
            ``frame_resolve``.
    """

    axes: ClassVar[tuple[str, ...]] = BETWEEN

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        return (Input("t", "N.m", f"torque on frame_b, resolved in {self.resolve}", 1 if planar else 3),)

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        return ((b.w_0 - a.w_0, self.in_world(p, p.t, a, b)),)

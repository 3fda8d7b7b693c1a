"""Forces and torques from outside, given during the run."""

from dataclasses import dataclass
from typing import Any

from mbfmu.errors import UnknownNameError, nearest
from mbfmu.model.component import Input
from mbfmu.model.forces.force import Force
from mbfmu.model.frame import SX, Frame

RESOLVED = ("world", "frame_b")


@dataclass(frozen=True)
class External(Force):
    """Base of forces and torques on frame_b from outside.

    Args:
        resolve: the axes the input is resolved in, ``world`` or ``frame_b``.
    """

    resolve: str = "world"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.resolve not in RESOLVED:
            raise UnknownNameError(
                f"{self.name}.resolve = {self.resolve!r} names no frame; {nearest(str(self.resolve), RESOLVED)}"
            )

    @property
    def frames(self) -> tuple[str, ...]:
        return ("frame_b",)

    def in_world(self, x: SX, b: Frame) -> SX:
        """Return the input resolved in the world frame."""
        return x if self.resolve == "world" or x.numel() == 1 else b.R @ x


@dataclass(frozen=True)
class WorldForce(External):
    """A force on the origin of frame_b: the inputs ``f[1]`` and so on, N, with power ``f . v_b``.

    Args:
        resolve: the axes the input is resolved in, ``world`` or ``frame_b`` (then it turns with the body).
    """

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        return (Input("f", "N", f"force on frame_b, resolved in {self.resolve}", 2 if planar else 3),)

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        return ((b.v_0, self.in_world(p.f, b)),)


@dataclass(frozen=True)
class WorldTorque(External):
    """A torque on frame_b: the inputs ``t[1]`` to ``t[3]``, in the plane ``t``, N.m, with power ``t . w_b``.

    Args:
        resolve: the axes the input is resolved in, ``world`` or ``frame_b`` (then it turns with the body).
    """

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        return (Input("t", "N.m", f"torque on frame_b, resolved in {self.resolve}", 1 if planar else 3),)

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        return ((b.w_0, self.in_world(p.t, b)),)

"""The joint contract."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.model.component import Component
from mbfmu.model.frame import SX, Frame, Pose, identity


@dataclass(frozen=True)
class Motion:
    """A coordinate of a joint, with its rate, its acceleration and the effort that does work on it.

    Args:
        position: name of the coordinate; a field of this name holds its start value.
        unit: SI unit of the coordinate.
        value: SX scalar or column, the coordinate in terms of the two frames.
        rate: name of the rate; a field of this name holds its start value.
        rate_unit: SI unit of the rate.
        rate_value: SX like `value`, linear in the velocities; None: the time derivative of `value`.
        acceleration: name of the derivative of the rate.
        acceleration_unit: SI unit of it.
        effort: name of the input whose power is effort times rate.
        effort_unit: SI unit of it.
        wraps: the coordinate is an angle known only up to full turns, to be counted on by continuity.
        neutral: the coordinate where nobody gives a start value (default zeros); a quaternion's start is normalised.
    """

    position: str
    unit: str
    value: SX
    rate: str
    rate_unit: str
    acceleration: str
    acceleration_unit: str
    effort: str
    effort_unit: str
    rate_value: SX | None = None
    wraps: bool = False
    neutral: tuple[float, ...] = ()


@dataclass(frozen=True)
class Joint(Component):
    """Base of joints between frame_a and frame_b.

    A joint states, as CasADi expressions of the two frames:

    1. `position`: holonomic equations, zero when the joint is closed; and/or
    2. `velocity`: nonholonomic equations, linear in the velocities;
    3. `motion`: the coordinates a user reads and drives (optional);
    4. `pose`: where frame_b is, seen from frame_a, for given coordinates (optional: it places the bodies of a
       tree exactly at the start; without it the assembly starts from frame_b on frame_a).

    `p` holds the joint's quantities as expressions, the flag ``p.planar`` and the time ``p.time`` (s).

    Args:
        actuated: the efforts of the joint's motions are inputs.
    """

    actuated: bool = False

    @property
    def frames(self) -> tuple[str, ...]:
        return ("frame_a", "frame_b")

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        """Return the residual of the holonomic equations, SX column."""
        return ca.SX(0, 1)

    def velocity(self, p: Any, a: Frame, b: Frame) -> SX:
        """Return the residual of the nonholonomic equations, SX column, linear in the velocities."""
        return ca.SX(0, 1)

    def motion(self, p: Any, a: Frame, b: Frame) -> tuple[Motion, ...]:
        """Return the coordinates of the joint."""
        return ()

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        """Return the pose of frame_b seen from frame_a for given coordinates."""
        return identity(p.planar)

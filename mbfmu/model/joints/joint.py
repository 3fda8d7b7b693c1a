"""The joint contract."""

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.errors import AxisError, ModelError
from mbfmu.model.component import Component, Input
from mbfmu.model.frame import SX, Frame, G_matrix, Pose, identity
from mbfmu.model.sensors import Measured


@dataclass(frozen=True)
class JointCoordinate:
    """A coordinate of a joint, with its rate, its acceleration and the effort that does work on it.

    Args:
        position: name of the coordinate; a field of this name holds its start value.
        unit: SI unit of the coordinate.
        value: SX scalar or column, the coordinate in terms of the two frames.
        rate: name of the rate; a field of this name holds its start value.
        rate_unit: SI unit of the rate.
        rate_value: SX like `value`, linear in the velocities; None: the time derivative of `value`.
        acceleration: name of the derivative of the rate.
        acceleration_unit: SI unit of that derivative.
        effort: name of the input whose power is effort times rate.
        effort_unit: SI unit of the effort.
        wraps: whether the coordinate is an angle known only up to full turns, to be counted by continuity.
        neutral: value of the coordinate without a start value (default zeros); given for quaternions, whose start value
            is normalised.
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

    @property
    def effort_kind(self) -> str:
        """The plain word for the effort, force or torque, by its unit."""
        return "torque" if self.effort_unit == "N.m" else "force"


def sliding(
    value: SX, position: str = "s", rate: str = "v", acceleration: str = "a", effort: str = "f"
) -> JointCoordinate:
    """Return a motion along a line, m, with its names."""
    return JointCoordinate(position, "m", value, rate, "m/s", acceleration, "m/s2", effort, "N")


def turning(
    value: SX,
    position: str = "phi",
    rate: str = "w",
    acceleration: str = "a",
    effort: str = "tau",
    *,
    wraps: bool = False,
) -> JointCoordinate:
    """Return a motion about an axis, rad, with its names."""
    return JointCoordinate(position, "rad", value, rate, "rad/s", acceleration, "rad/s2", effort, "N.m", wraps=wraps)


@dataclass(frozen=True)
class Joint(Component):
    """Base of joints between frame_a and frame_b.

    A joint states, as CasADi expressions of the two frames:

    1. `position`: holonomic equations, zero when the joint is closed; and/or
    2. `velocity`: nonholonomic equations, linear in the velocities;
    3. `motion`: the coordinates a user reads and drives (optional);
    4. `pose`: the pose of frame_b seen from frame_a for given coordinates (optional). With it `motion` must be all
       the freedom that `position` leaves: the joint can then carry the coordinates of a tree, where `position` is
       not needed, and the bodies of a tree are placed exactly at the start;
    5. `twist`: the motion of frame_b seen from frame_a (optional: the derivative of `pose`, in a shorter form);
    6. `potential` and `dissipation` of its motions, where the joint itself is elastic or damped (optional);
    7. `efforts`, forces that the joint's own constraint forces decide, with their law in `pressed` (optional).

    `p` holds the joint's quantities as expressions, the flag ``p.planar`` and the time ``p.time`` (s).

    Args:
        actuated: whether the efforts of the joint's motions are inputs.
    """

    actuated: bool = False
    needs: ClassVar[str] = ""
    """Kind of system, ``planar`` or ``spatial``, in which alone the joint works; empty: it works in both."""
    instead: ClassVar[str] = ""
    """The joint to use in the other kind of system."""
    ends: ClassVar[str] = ""
    """Possible end of a motion at this joint, a clause after its name in messages on steps that fail; empty: none."""

    @property
    def frames(self) -> tuple[str, ...]:
        return ("frame_a", "frame_b")

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        """Return the values given from outside during a run besides the efforts: none by default.

        Raises:
            ModelError: the joint does not work in such a system.
        """
        if self.needs and planar != (self.needs == "planar"):
            where = "in the plane" if planar else "in space"
            raise ModelError(
                f"'{self.name}': a {type(self).__name__} joint needs a {self.needs} system; {where} use {self.instead}"
            )
        return ()

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        """Return the residual of the holonomic equations, SX column."""
        return ca.SX(0, 1)

    def velocity(self, p: Any, a: Frame, b: Frame) -> SX:
        """Return the residual of the nonholonomic equations, SX column, linear in the velocities."""
        return ca.SX(0, 1)

    def motion(self, p: Any, a: Frame, b: Frame) -> tuple[JointCoordinate, ...]:
        """Return the coordinates of the joint."""
        return ()

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        """Return the pose of frame_b seen from frame_a for given coordinates (by name, as in `motion`)."""
        return identity(p.planar)

    def twist(self, p: Any, coordinates: dict[str, SX], rates: dict[str, SX]) -> tuple[SX, SX]:
        """Return the motion of frame_b seen from frame_a.

        Args:
            p: the joint's quantities.
            coordinates: SX symbols by name.
            rates: their time derivatives, SX symbols by the same names.

        Returns:
            The velocity of frame_b's origin, m/s, resolved in frame_a, and the angular velocity, rad/s, resolved in
            frame_b (a scalar in the plane).
        """
        pose = self.pose(p, coordinates)
        q, v = ca.vertcat(*coordinates.values()), ca.vertcat(*(rates[name] for name in coordinates))

        def dot(expression: SX) -> SX:
            return ca.jtimes(expression, q, v) + ca.jacobian(expression, p.time)

        angle = dot(pose.angle)
        return dot(pose.r), angle if p.planar else 2 * G_matrix(pose.angle) @ angle

    def effort(self, p: Any, s: SX, v: SX) -> SX:
        """Return the effort that the joint itself puts on its first motion (N or N.m): none by default.

        Args:
            p: the joint's quantities and inputs.
            s: the coordinate of the first motion, SX scalar (m or rad).
            v: its rate, SX scalar.
        """
        return ca.SX(0)

    def potential(self, p: Any, *coordinates: SX) -> SX:
        """Return the energy that the joint stores, J: none by default.

        Args:
            p: the joint's quantities.
            coordinates: value of each of its motions, SX scalar or column.
        """
        return ca.SX(0)

    def dissipation(self, p: Any, *rates: SX) -> SX:
        """Return Rayleigh's dissipation function of the joint, W, whose slopes are the efforts against the rates.

        Args:
            p: the joint's quantities.
            rates: rate of each of its motions, SX scalar or column.
        """
        return ca.SX(0)

    def rates(self, p: Any, s: SX, v: SX) -> tuple[SX, ...]:
        """Return the rates of the first-order states (see `component.state`), in the order of their fields, 1/s.

        The arguments are those of `effort`.
        """
        return ()

    def inertia(self, p: Any) -> SX:
        """Return the inertia J that moves with the joint's first rate alone: energy ``J rate . rate / 2``, or none."""
        return ca.SX(1, 1)

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        """Return pairs (rate, effort) of forces that depend on constraint forces: none by default.

        Each is an SX scalar or column; the efforts are internal inputs of the joint, whose values `pressed` gives.
        """
        return ()

    def pressed(self, p: Any, a: Frame, b: Frame, lambda_: SX) -> SX:
        """Return the values of the internal inputs, SX column, in their order.

        Args:
            p: the joint's quantities.
            a: frame_a.
            b: frame_b.
            lambda_: multipliers of the joint's rows, those of `position` first; the rows put their negatives, times
                their gradients, on the frames.
        """
        return ca.SX(0, 1)

    def signals(self, p: Any, a: Frame, b: Frame, lambda_: SX) -> tuple[Measured, ...]:
        """Return more outputs than motions and cut forces: none by default; the arguments are those of `pressed`."""
        return ()

    @property
    def carries(self) -> bool:
        """Return whether the joint can carry the coordinates of a tree."""
        return type(self).pose is not Joint.pose


def check_perpendicular(joint: Joint, first: str, second: str) -> None:
    """Raise an error if two directions of a joint are not perpendicular.

    Raises:
        AxisError: the directions are not perpendicular.
    """
    one, two = getattr(joint, first), getattr(joint, second)
    if abs(sum(x * y for x, y in zip(one, two, strict=False))) > 1e-9:
        raise AxisError(
            f"{joint.name}.{second} = {two} is not perpendicular to {joint.name}.{first} = {one}: turn one of them"
        )


def check_in_plane(component: Component, label: str) -> None:
    """Raise an error if a direction of a component in a planar system leaves the plane.

    Raises:
        AxisError: the direction leaves the plane.
    """
    n = getattr(component, label)
    if len(n) > 2 and abs(n[2]) > 1e-9:
        raise AxisError(f"{component.name}.{label} = {n} leaves the plane; a planar system moves in x and y")

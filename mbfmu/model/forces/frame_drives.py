"""Drives between two frames: servos of a relative pose, and of the rod of a slider-crank that is not modelled."""

import math
from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.errors import ModelError, UnknownNameError, ValueRangeError, nearest
from mbfmu.model.component import Input, Value, quantity, state
from mbfmu.model.forces.commanded import Commanded, Filtered, Integrated, affine
from mbfmu.model.forces.force import Force
from mbfmu.model.forces.stop import NO_LIMIT
from mbfmu.model.frame import SX, Frame
from mbfmu.model.relative import Q_rel, r_rel, v_rel, velocity_seen

SMALL = 1e-4
"""Square of the sine of half an angle below which the rotation vector is a series: its next term is 1e-21 of it."""

OBSERVERS = ("frame_a", "frame_b", "world")
"""Frames in which the motion of one frame against the other may be seen."""


def rotation_vector(a: Frame, b: Frame) -> SX:
    """Return the rotation vector of b seen from a, rad: its direction is the axis, its length the angle, 0 to pi."""
    Q = Q_rel(a, b)
    x = ca.dot(Q[1:], Q[1:])
    series = 2 * (1 + x * (1 / 6 + x * (3 / 40 + x * (5 / 112 + x * 35 / 1152))))
    sine = ca.sqrt(ca.fmax(x, SMALL))
    per_sine = ca.if_else(x < SMALL, series, 2 * ca.atan2(sine, ca.fabs(Q[0])) / sine)
    return ca.if_else(Q[0] < 0, -per_sine, per_sine) * Q[1:]


@dataclass(frozen=True)
class FrameDrive(Commanded, Force):
    """Base of drives whose force is affine in the input `u`, in a length s between two frames, and in its velocity v.

    ``f = (gain + gain_s s + gain_v v) u + bias + bias_s s + bias_v v``, with u and f held within their limits; it puts
    the power ``f v`` into the mechanism. For spatial systems; override `measured`.

    Args:
        gain, gain_s, gain_v: force per input, and its slopes.
        bias, bias_s, bias_v: force without input, and its slopes.
        u_least, u_greatest: limits of the input.
        f_least, f_greatest: limits of the force.
    """

    gain: Value = quantity(1.0, "1", "force per input")
    gain_s: Value = quantity(0.0, "1", "slope of the gain by the length")
    gain_v: Value = quantity(0.0, "1", "slope of the gain by the velocity")
    bias: Value = quantity(0.0, "1", "force without input")
    bias_s: Value = quantity(0.0, "1", "slope of the force by the length")
    bias_v: Value = quantity(0.0, "1", "slope of the force by the velocity")
    u_least: Value = quantity(-NO_LIMIT, "1", "least input")
    u_greatest: Value = quantity(NO_LIMIT, "1", "greatest input")
    f_least: Value = quantity(-NO_LIMIT, "1", "least force")
    f_greatest: Value = quantity(NO_LIMIT, "1", "greatest force")

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        if planar:
            raise ModelError(f"{type(self).__name__} '{self.name}' needs a spatial system")
        return (Input("u", "1", "what the drive is to do"),)

    def measured(self, a: Frame, b: Frame) -> tuple[SX, SX]:
        """Return the length s and its velocity v, SX scalars."""
        raise NotImplementedError

    def nearest(self, u: SX, s: SX) -> SX:
        """Return the input as the law takes it at a length: as it is."""
        return u

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        s, v = self.measured(a, b)
        return ((v, affine(p, s, v, self.nearest(self.acting(p), s))),)


@dataclass(frozen=True)
class PoseDrive(FrameDrive):
    """A drive along and about directions of the pose of frame_b seen from frame_a.

    ``s = force . r + torque . theta``, with the position r of frame_b in frame_a and its rotation vector theta, and
    ``v = force . r' + torque . w``, with the relative angular velocity w resolved in `resolve`. So v is s'
    while frame_b turns about the direction of the torque. It is the actuator of MuJoCo on a ball or a free joint, and
    at a site with a reference site.

    Args:
        force: direction and size of the force, resolved in frame_a, fixed when exported.
        torque: direction and size of the torque, fixed when exported.
        resolve: the axes of the torque and of w, ``frame_a`` or ``frame_b``.
        observer: where r' is seen from: ``frame_a``, ``frame_b``, or the ``world``: the difference of the velocities.
        period: period of the input, such as a full turn, whose nearest value to s counts; 0: it has none.
        gain, gain_s, gain_v, bias, bias_s, bias_v: see `FrameDrive`.
        u_least, u_greatest, f_least, f_greatest: limits of the input and the force.
    """

    force: tuple[float, ...] = (0.0, 0.0, 0.0)
    torque: tuple[float, ...] = (0.0, 0.0, 0.0)
    resolve: str = "frame_a"
    observer: str = "frame_a"
    period: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("force", "torque"):
            x = getattr(self, name)
            if len(x) != 3 or not all(map(math.isfinite, x)):
                raise ValueRangeError(f"{self.name}.{name} = {x} must be three finite numbers")
        for name, known in (("resolve", OBSERVERS[:2]), ("observer", OBSERVERS)):
            if (label := getattr(self, name)) not in known:
                raise UnknownNameError(f"{self.name}.{name} = {label!r} names no frame; {nearest(str(label), known)}")
        if not 0 <= self.period < math.inf:
            raise ValueRangeError(f"{self.name}.period = {self.period} must be a finite number of at least 0")

    def measured(self, a: Frame, b: Frame) -> tuple[SX, SX]:
        s, v = ca.SX(0), ca.SX(0)
        if any(self.force):
            along = ca.SX(list(self.force))
            s += ca.dot(along, r_rel(a, b))
            v += ca.dot(along, self._velocity(a, b))
        if any(self.torque):
            about = ca.SX(list(self.torque))
            s += ca.dot(about, rotation_vector(a, b))
            v += ca.dot((a if self.resolve == "frame_a" else b).R @ about, b.w_0 - a.w_0)
        return s, v

    def _velocity(self, a: Frame, b: Frame) -> SX:
        """Return the velocity of frame_b against frame_a for the observer, m/s, resolved in frame_a."""
        match self.observer:
            case "frame_a":
                return v_rel(a, b)
            case "frame_b":
                return -a.R.T @ velocity_seen(b, a, ca.SX(3, 1))
        return a.R.T @ (b.v_0 - a.v_0)

    def nearest(self, u: SX, s: SX) -> SX:
        return u - self.period * ca.floor((u - s) / self.period + 0.5) if self.period else u


@dataclass(frozen=True)
class FilteredPoseDrive(Filtered, PoseDrive):
    """A drive of a pose behind a filter of first order: its gain multiplies `z`, with ``z' = (u - z) / T``.

    Args:
        force, torque, gain, ...: see `PoseDrive`.
        T: time constant, s.
        z: start value of the filter's state.
    """

    T: Value = quantity(1.0, "s", "time constant", min=1e-9)
    z: Value = state("1", "filtered input")


@dataclass(frozen=True)
class IntegratedPoseDrive(Integrated, PoseDrive):
    """A drive of a pose behind an integrator: its gain multiplies `z`, with ``z' = u`` between the limits of z.

    Args:
        force, torque, gain, ...: see `PoseDrive`.
        z_least, z_greatest: limits of z.
        z: start value of the integral.
    """

    z_least: Value = quantity(-NO_LIMIT, "1", "least integral")
    z_greatest: Value = quantity(NO_LIMIT, "1", "greatest integral")
    z: Value = state("1", "integral of the input")


@dataclass(frozen=True)
class CrankDrive(FrameDrive):
    """A drive of a slider on the z axis of frame_a, from which a massless rod leads to the origin of frame_b.

    With the axis n of the slider and x from there to the origin of frame_b:
    ``s = gear (n . x - sqrt(d))`` with ``d = (n . x)^2 + L^2 - x . x``; a rod that is too short, ``d <= 0``, has
    ``s = gear n . x``. It is the slider-crank of MuJoCo's actuators, which has no mass.

    Args:
        L: length of the rod, m, fixed when exported.
        gear: factor of the length, fixed when exported.
        gain, gain_s, gain_v, bias, bias_s, bias_v: see `FrameDrive`.
        u_least, u_greatest, f_least, f_greatest: limits of the input and the force.
    """

    L: float = 1.0
    gear: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.L < math.inf:
            raise ValueRangeError(f"{self.name}.L = {self.L} must be a positive finite number")

    def measured(self, a: Frame, b: Frame) -> tuple[SX, SX]:
        n, x = a.R[:, 2], b.r_0 - a.r_0
        n_dot, x_dot = ca.cross(a.w_0, n), b.v_0 - a.v_0
        along, rate = ca.dot(n, x), ca.dot(n_dot, x) + ca.dot(n, x_dot)
        d = along**2 + self.L**2 - ca.dot(x, x)
        root = ca.sqrt(ca.if_else(d > 0, d, 1.0))
        root_dot = (along * rate - ca.dot(x, x_dot)) / root
        s = along - ca.if_else(d > 0, root, 0.0)
        return self.gear * s, self.gear * (rate - ca.if_else(d > 0, root_dot, 0.0))


@dataclass(frozen=True)
class FilteredCrankDrive(Filtered, CrankDrive):
    """A drive of a slider-crank behind a filter of first order: its gain multiplies `z`, with ``z' = (u - z) / T``.

    Args:
        L, gear, gain, ...: see `CrankDrive`.
        T: time constant, s.
        z: start value of the filter's state.
    """

    T: Value = quantity(1.0, "s", "time constant", min=1e-9)
    z: Value = state("1", "filtered input")


@dataclass(frozen=True)
class IntegratedCrankDrive(Integrated, CrankDrive):
    """A drive of a slider-crank behind an integrator: its gain multiplies `z`, with ``z' = u`` between its limits.

    Args:
        L, gear, gain, ...: see `CrankDrive`.
        z_least, z_greatest: limits of z.
        z: start value of the integral.
    """

    z_least: Value = quantity(-NO_LIMIT, "1", "least integral")
    z_greatest: Value = quantity(NO_LIMIT, "1", "greatest integral")
    z: Value = state("1", "integral of the input")

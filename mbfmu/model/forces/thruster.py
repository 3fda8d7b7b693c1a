"""Thrusters: a force and a torque along directions fixed in a body, by an input."""

import math
from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.errors import ValueRangeError
from mbfmu.model.component import Input, Value, quantity, state
from mbfmu.model.forces.commanded import Commanded, Filtered, Integrated
from mbfmu.model.forces.force import Force
from mbfmu.model.forces.stop import NO_LIMIT
from mbfmu.model.frame import SX, Frame


@dataclass(frozen=True)
class AffineThruster(Commanded, Force):
    """A wrench on frame_b along directions that turn with it: a jet, a propeller.

    With ``v = force . v_b + torque . w_b``, both velocities resolved in frame_b, it puts ``f v`` into the mechanism,
    where ``f = gain u + bias + bias_v v``, with u and f held within their limits.

    Args:
        force: direction and size of the force on the origin of frame_b per f, resolved in frame_b, fixed when exported.
        torque: those of the torque, m.
        gain: force per input.
        bias, bias_v: force without input, and its slope by the speed v.
        u_least, u_greatest: limits of the input.
        f_least, f_greatest: limits of f, N.
    """

    force: tuple[float, ...] = (1.0, 0.0, 0.0)
    torque: tuple[float, ...] = (0.0, 0.0, 0.0)
    gain: Value = quantity(1.0, "N", "force per input")
    bias: Value = quantity(0.0, "N", "force without input")
    bias_v: Value = quantity(0.0, "N.s/m", "slope of the force by the speed")
    u_least: Value = quantity(-NO_LIMIT, "1", "least input")
    u_greatest: Value = quantity(NO_LIMIT, "1", "greatest input")
    f_least: Value = quantity(-NO_LIMIT, "N", "least force")
    f_greatest: Value = quantity(NO_LIMIT, "N", "greatest force")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("force", "torque"):
            x = getattr(self, name)
            if len(x) not in {1, 2, 3} or not all(map(math.isfinite, x)):
                raise ValueRangeError(f"{self.name}.{name} = {x} must be finite numbers, one for each axis")

    @property
    def frames(self) -> tuple[str, ...]:
        return ("frame_b",)

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        return (Input("u", "1", "what the thruster is asked for"),)

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        force = ca.SX(list(self.force[: 2 if p.planar else 3]))
        torque = ca.SX(list(self.torque[-1:] if p.planar else self.torque))
        v = ca.dot(b.R @ force, b.v_0) + ca.dot(torque if p.planar else b.R @ torque, b.w_0)
        return ((v, ca.fmax(p.f_least, ca.fmin(p.f_greatest, p.gain * self.acting(p) + p.bias + p.bias_v * v))),)


@dataclass(frozen=True)
class FilteredThruster(Filtered, AffineThruster):
    """An affine thruster behind a filter of first order: its gain multiplies `z`, with ``z' = (u - z) / T``.

    Args:
        force, torque, gain, ...: see `AffineThruster`.
        T: time constant, s.
        z: start value of the filter's state.
    """

    T: Value = quantity(1.0, "s", "time constant", min=1e-9)
    z: Value = state("1", "filtered input")


@dataclass(frozen=True)
class IntegratedThruster(Integrated, AffineThruster):
    """An affine thruster behind an integrator: its gain multiplies `z`, with ``z' = u`` between the limits of z.

    Args:
        force, torque, gain, ...: see `AffineThruster`.
        z_least, z_greatest: limits of z.
        z: start value of the integral.
    """

    z_least: Value = quantity(-NO_LIMIT, "1", "least integral")
    z_greatest: Value = quantity(NO_LIMIT, "1", "greatest integral")
    z: Value = state("1", "integral of the input")


@dataclass(frozen=True)
class ConstantForce(Force):
    """A constant force on a point of a body: ``V = -f . r_0``, such as a lift that holds part of a weight.

    Args:
        f: force, N, resolved in the world frame.
        r: from frame_b to the point, m, resolved in frame_b.
    """

    f: tuple[Value, ...] = quantity((0.0, 0.0, 0.0), "N", "force, resolved in the world frame")
    r: tuple[Value, ...] = quantity((0.0, 0.0, 0.0), "m", "frame_b to the point, resolved in frame_b")

    @property
    def frames(self) -> tuple[str, ...]:
        return ("frame_b",)

    def potential(self, p: Any, a: Frame, b: Frame) -> SX:
        return -ca.dot(p.f, b.r_0 + b.R @ p.r)

"""Forces along the line between two frames."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.model.component import Input, Value, quantity
from mbfmu.model.forces.force import Force
from mbfmu.model.frame import SX, Frame
from mbfmu.model.relative import distance
from mbfmu.model.sensors import Measured


def lengthening(a: Frame, b: Frame) -> SX:
    """Return the rate of the distance of two frames, m/s."""
    return ca.dot(b.r_0 - a.r_0, b.v_0 - a.v_0) / distance(a, b)


def push(a: Frame, b: Frame, f: SX) -> tuple[Measured, ...]:
    """Return the force along the line of two frames as an output, for the force on frame_b."""
    along = ca.dot(f, b.r_0 - a.r_0) / distance(a, b)
    return (Measured("f", "N", "force that pushes frame_a and frame_b apart", along),)


@dataclass(frozen=True)
class Spring(Force):
    """Linear spring along the line from frame_a to frame_b: ``V = c (s - s_unstretched)^2 / 2``.

    Args:
        c: stiffness, N/m.
        s_unstretched: length without force, m.
    """

    c: Value = quantity(0.0, "N/m", "stiffness", min=0)
    s_unstretched: Value = quantity(0.0, "m", "length without force", min=0)

    def potential(self, p: Any, a: Frame, b: Frame) -> SX:
        return p.c * (distance(a, b) - p.s_unstretched) ** 2 / 2

    def signals(self, p: Any, a: Frame, b: Frame, f: SX, t: SX) -> tuple[Measured, ...]:
        return push(a, b, f)


@dataclass(frozen=True)
class Damper(Force):
    """Linear damper along the line from frame_a to frame_b: ``f = -d s'``.

    Args:
        d: damping constant, N.s/m.
    """

    d: Value = quantity(0.0, "N.s/m", "damping constant", min=0)

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        rate = lengthening(a, b)
        return ((rate, -p.d * rate),)

    def signals(self, p: Any, a: Frame, b: Frame, f: SX, t: SX) -> tuple[Measured, ...]:
        return push(a, b, f)


@dataclass(frozen=True)
class SpringDamper(Spring, Damper):
    """Linear spring and damper in parallel: ``V = c (s - s_unstretched)^2 / 2`` and ``f = -d s'``.

    Args:
        c: stiffness, N/m.
        s_unstretched: length without spring force, m.
        d: damping constant, N.s/m.
    """


@dataclass(frozen=True)
class LineForce(Force):
    """Actuator along the line from frame_a to frame_b.

    The input `f`, N, pushes the frames apart, with power ``f s'``.
    """

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        return (Input("f", "N", "force that pushes frame_a and frame_b apart"),)

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        return ((lengthening(a, b), p.f),)

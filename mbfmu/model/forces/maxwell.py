"""Spring and damper in series, whose force is a first-order state: along a line, and on the axis of a joint."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mbfmu.model.component import Value, quantity, state
from mbfmu.model.forces.force import AxisForce, Force
from mbfmu.model.forces.line import lengthening, push
from mbfmu.model.frame import SX, Frame
from mbfmu.model.relative import distance
from mbfmu.model.sensors import Measured


@dataclass(frozen=True)
class MaxwellDamper(Force):
    """Linear spring and damper in series along the line from frame_a to frame_b: ``f' = -c (s' + f / d)``.

    Their common force f pushes the frames apart. A stretch that is held relaxes with ``T = d / c``; for a vibration of
    angular frequency w the storage modulus is ``c (w T)^2 / (1 + (w T)^2)`` and the loss modulus
    ``c w T / (1 + (w T)^2)`` (Maxwell, On the dynamical theory of gases, 1867). It has no length without force. The
    energy of the spring counts as taken out of the mechanism until it comes back.

    Args:
        c: stiffness of the spring, N/m.
        d: constant of the damper, N.s/m.
        f: start force, N.
    """

    c: Value = quantity(0.0, "N/m", "stiffness of the spring", min=0)
    d: Value = quantity(1.0, "N.s/m", "constant of the damper", min=1e-9)
    f: Value = state("N", "force that pushes frame_a and frame_b apart", nominal=100.0)

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        return ((lengthening(a, b), p.f),)

    def rates(self, p: Any, a: Frame, b: Frame) -> tuple[SX, ...]:
        return (-p.c * (lengthening(a, b) + p.f / p.d),)

    def signals(self, p: Any, a: Frame, b: Frame, f: SX, t: SX) -> tuple[Measured, ...]:
        return ()  # its force is its state


@dataclass(frozen=True)
class SeriesSpringDamper(Force):
    """Linear damper and spring in series along the line from frame_a to frame_b, told apart by the damper's length.

    Both have the force ``f = c (s - s_unstretched - s_damper)``, with ``d s_damper' = f`` and the distance s of the
    frames. It is a `MaxwellDamper` whose start is the length of the damper instead of the force.

    Args:
        c: stiffness of the spring, N/m.
        d: constant of the damper, N.s/m.
        s_unstretched: length of the spring without force, m.
        s_damper: start length of the damper, m.
    """

    c: Value = quantity(0.0, "N/m", "stiffness of the spring", min=0)
    d: Value = quantity(1.0, "N.s/m", "constant of the damper", min=1e-9)
    s_unstretched: Value = quantity(0.0, "m", "length of the spring without force", min=0)
    s_damper: Value = state("m", "length of the damper", nominal=1.0)

    @staticmethod
    def stretching(p: Any, a: Frame, b: Frame) -> SX:
        """Return the force that pulls the frames together, N."""
        return p.c * (distance(a, b) - p.s_unstretched - p.s_damper)

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        return ((lengthening(a, b), -self.stretching(p, a, b)),)

    def rates(self, p: Any, a: Frame, b: Frame) -> tuple[SX, ...]:
        return (self.stretching(p, a, b) / p.d,)

    def signals(self, p: Any, a: Frame, b: Frame, f: SX, t: SX) -> tuple[Measured, ...]:
        return push(a, b, f)


@dataclass(frozen=True)
class AxisMaxwellDamper(AxisForce):
    """Base of springs and dampers in series, with their common effort as state; derived for each kind of axis."""

    def effort(self, p: Any, s: SX, v: SX) -> SX:
        (name,) = self.states()
        return getattr(p, name)

    def rates(self, p: Any, s: SX, v: SX) -> tuple[SX, ...]:
        return (-p.c * (v + self.effort(p, s, v) / p.d),)


@dataclass(frozen=True)
class RotationalMaxwellDamper(AxisMaxwellDamper):
    """Linear spring and damper in series on the axis of a revolute joint: ``tau' = -c (w + tau / d)``.

    Args:
        c: stiffness of the spring, N.m/rad.
        d: constant of the damper, N.m.s/rad.
        tau: start torque on the axis, N.m.
    """

    c: Value = quantity(0.0, "N.m/rad", "stiffness of the spring", min=0)
    d: Value = quantity(1.0, "N.m.s/rad", "constant of the damper", min=1e-9)
    tau: Value = state("N.m", "torque on the axis", nominal=100.0)
    axis_unit: ClassVar[str] = "rad"


@dataclass(frozen=True)
class TranslationalMaxwellDamper(AxisMaxwellDamper):
    """Linear spring and damper in series on the axis of a prismatic joint: ``f' = -c (v + f / d)``.

    Args:
        c: stiffness of the spring, N/m.
        d: constant of the damper, N.s/m.
        f: start force on the axis, N.
    """

    c: Value = quantity(0.0, "N/m", "stiffness of the spring", min=0)
    d: Value = quantity(1.0, "N.s/m", "constant of the damper", min=1e-9)
    f: Value = state("N", "force on the axis", nominal=100.0)
    axis_unit: ClassVar[str] = "m"

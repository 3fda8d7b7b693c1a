"""Couplings: equations between the coordinates of joints' axes."""

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.errors import ValueRangeError
from mbfmu.model.component import Component, Input, Value, factors, law, quantity
from mbfmu.model.frame import SX


@dataclass(frozen=True)
class AxisConstraint(Component):
    """Base of holonomic equations between the first coordinates of joints.

    In absolute coordinates spatial angles are known only up to full turns: there a coupling needs a ratio of small
    whole numbers, such as 3 or 1.5, which is fixed then.
    """

    @property
    def axes(self) -> tuple[str, ...]:
        """Return the names of the joints, in the same system."""
        return ()

    def position(self, p: Any, *s: SX) -> SX:
        """Return the residual, SX column, for the axis coordinates s (rad or m)."""
        return ca.SX(0, 1)

    def inertias(self, p: Any) -> tuple[SX, ...]:
        """Return an inertia J for each axis (kg.m2 or kg), or none; the sum of ``J v^2 / 2`` is zero where it holds."""
        return ()


@dataclass(frozen=True)
class Gear(AxisConstraint):
    """Ideal coupling of two axes: ``s_a = ratio * s_b + offset`` (a gear, a rack and pinion, a mimicking joint).

    Args:
        joint_a, joint_b: names of the joints, in the same system.
        ratio: ratio of the coordinates, such as the number of teeth of b over that of a.
        offset: coordinate of a where that of b is zero, rad or m.
        lent: inertia that b lends to a, kg.m2 or kg, fixed when exported; negative: a lends it to b. The energy
            ``lent (v_a^2 - ratio^2 v_b^2) / 2`` is zero, so that no motion changes, and an axis that moves no mass has
            an inertia, which joint coordinates need.
    """

    joint_a: str = ""
    joint_b: str = ""
    ratio: Value = quantity(1.0, "1", "coordinate of a for each of b")
    offset: Value = quantity(0.0, "1", "coordinate of a where that of b is zero")
    lent: float = 0.0

    @property
    def axes(self) -> tuple[str, ...]:
        return (self.joint_a, self.joint_b)

    def position(self, p: Any, *s: SX) -> SX:
        return s[0] - p.ratio * s[1] - p.offset

    def inertias(self, p: Any) -> tuple[SX, ...]:
        return (ca.SX(self.lent), -self.lent * p.ratio**2) if self.lent else ()


@dataclass(frozen=True)
class PolynomialCoupling(AxisConstraint):
    """Coupling of two combinations of axes by a polynomial: ``a - a_0 = c_0 + c_1 x + ... + c_4 x^4``, ``x = b - b_0``.

    With ``a = sum ratio_k s_k`` over the first joints, and b over the others; without others x is zero. It is the
    equality of joints and of fixed tendons in MuJoCo.

    Args:
        joints_a, joints_b: names of the joints, in the same system.
        ratios_a, ratios_b: one for each of these joints, a number that is fixed when exported, or an expression of
            parameters.
        a_0, b_0: combinations at the reference, rad or m.
        c_0, c_1, c_2, c_3, c_4: coefficients of the polynomial.
    """

    joints_a: tuple[str, ...] = ()
    joints_b: tuple[str, ...] = ()
    ratios_a: tuple[Value, ...] = factors((1.0,), "ratios of the first joints")
    ratios_b: tuple[Value, ...] = factors((), "ratios of the other joints")
    a_0: Value = quantity(0.0, "1", "first combination at the reference")
    b_0: Value = quantity(0.0, "1", "second combination at the reference")
    c_0: Value = quantity(0.0, "1", "constant of the polynomial")
    c_1: Value = quantity(1.0, "1", "coefficient of x")
    c_2: Value = quantity(0.0, "1", "coefficient of x^2")
    c_3: Value = quantity(0.0, "1", "coefficient of x^3")
    c_4: Value = quantity(0.0, "1", "coefficient of x^4")

    def __post_init__(self) -> None:
        super().__post_init__()
        for joints, ratios in ((self.joints_a, self.ratios_a), (self.joints_b, self.ratios_b)):
            if len(joints) != len(ratios):
                raise ValueRangeError(f"{self.name}: {ratios} must be {len(joints)} ratios, one for each joint")

    @property
    def axes(self) -> tuple[str, ...]:
        return (*self.joints_a, *self.joints_b)

    def position(self, p: Any, *s: SX) -> SX:
        count = len(self.joints_a)
        a, b = (
            sum((ratio * item for ratio, item in zip(ratios, items, strict=True)), ca.SX(0))
            for ratios, items in ((p.ratios_a, s[:count]), (p.ratios_b, s[count:]))
        )
        x = b - p.b_0 if self.joints_b else ca.SX(0)
        return a - p.a_0 - (p.c_0 + x * (p.c_1 + x * (p.c_2 + x * (p.c_3 + x * p.c_4))))


@dataclass(frozen=True)
class AxisMove(AxisConstraint):
    """Base of motions of an axis given from outside: ``s(t) = s + v (t - t0) + a (t - t0)^2 / 2``.

    s, v and a are the inputs at t0, when they last changed; the effort that the motion needs is an output.

    Args:
        joint: name of the joint, in the same system.
    """

    joint: str = ""
    given: ClassVar[tuple[tuple[str, str, str], ...]] = ()
    """Name, unit and description of the coordinate, its rate and its acceleration."""

    @property
    def axes(self) -> tuple[str, ...]:
        return (self.joint,)

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        return tuple(Input(name, unit, text, sampled=True) for name, unit, text in self.given)

    def position(self, p: Any, *s: SX) -> SX:
        start, rate, gain = (getattr(p, name) for name, _, _ in self.given)
        return s[0] - (start + rate * p.since + gain * p.since**2 / 2)


@dataclass(frozen=True)
class RotationalMove(AxisMove):
    """Rotation given from outside: inputs phi, w and a; the torque it needs is the output tau."""

    given: ClassVar[tuple[tuple[str, str, str], ...]] = (
        ("phi", "rad", "angle the axis is to have"),
        ("w", "rad/s", "its angular velocity"),
        ("a", "rad/s2", "its angular acceleration"),
    )


@dataclass(frozen=True)
class TranslationalMove(AxisMove):
    """Translation given from outside: inputs s, v and a; the force it needs is the output f."""

    given: ClassVar[tuple[tuple[str, str, str], ...]] = (
        ("s", "m", "position the axis is to have"),
        ("v", "m/s", "its velocity"),
        ("a", "m/s2", "its acceleration"),
    )


@dataclass(frozen=True)
class AxisMotion(AxisConstraint):
    """Prescribed motion of an axis: ``s = s(t)``; the effort it needs is an output.

    Args:
        joint: name of the joint, in the same system.
        s: coordinate in terms of ``time`` and parameters, rad or m.
    """

    joint: str = ""
    s: Value = law(0.0, "rad or m", "coordinate of the axis as a formula of time")

    @property
    def axes(self) -> tuple[str, ...]:
        return (self.joint,)

    def position(self, p: Any, *s: SX) -> SX:
        return s[0] - p.s()

"""Dry friction that sticks, on the axis of a joint: of a given size, or in proportion to the joint's own reaction."""

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.model.combined import CombinedAxes
from mbfmu.model.component import Value, law, quantity
from mbfmu.model.contacts.contact import AxesContact, AxisContact, Friction
from mbfmu.model.frame import SX
from mbfmu.model.joints import Prismatic, Revolute
from mbfmu.model.relative import axis

SMALLEST_FORCE = 1e-12
"""Force, N, by which the size of a normal force is smoothed where it vanishes."""


@dataclass(frozen=True)
class AxisDryFriction(AxisContact):
    """Base of friction of a given size that sticks; derived for each kind of axis.

    While it slides, ``|f| = F_c + (F_s - F_c) exp(-(v/v_s)^2) + F_v |v|`` (Stribeck, with Coulomb and viscous
    friction); while it sticks, the force is what it takes, up to ``F_s``. An ``F_s`` below ``F_c`` counts as that.
    """

    parts: ClassVar[tuple[str, ...]] = ()
    rubs: ClassVar[bool] = True

    def frictions(self, p: Any, s: SX, v: SX) -> tuple[Friction, ...]:
        F_s = ca.fmax(p.F_s, p.F_c)
        return (
            Friction(
                v,
                lambda speed, _: p.F_c + (F_s - p.F_c) * ca.exp(-((speed / p.v_s) ** 2)) + p.F_v * speed,
                lambda _: F_s,
                s,
                unit=self.axis_unit,
            ),
        )


@dataclass(frozen=True)
class RotationalDryFriction(AxisDryFriction):
    """Dry friction of a revolute joint that sticks.

    Args:
        F_s: largest torque while it sticks, N.m; 0: F_c.
        F_c: Coulomb torque, N.m.
        v_s: Stribeck speed, rad/s, at which the excess over Coulomb torque has fallen to 1/e.
        F_v: viscous constant, N.m.s/rad.
    """

    F_s: Value = quantity(0.0, "N.m", "largest torque while it sticks", min=0)
    F_c: Value = quantity(0.0, "N.m", "Coulomb torque", min=0)
    v_s: Value = quantity(0.1, "rad/s", "Stribeck speed", min=1e-9)
    F_v: Value = quantity(0.0, "N.m.s/rad", "viscous constant", min=0)
    axis_unit: ClassVar[str] = "rad"


@dataclass(frozen=True)
class TranslationalDryFriction(AxisDryFriction):
    """Dry friction of a prismatic joint that sticks.

    Args:
        F_s: largest force while it sticks, N; 0: F_c.
        F_c: Coulomb force, N.
        v_s: Stribeck speed, m/s, at which the excess over Coulomb force has fallen to 1/e.
        F_v: viscous constant, N.s/m.
    """

    F_s: Value = quantity(0.0, "N", "largest force while it sticks", min=0)
    F_c: Value = quantity(0.0, "N", "Coulomb force", min=0)
    v_s: Value = quantity(0.1, "m/s", "Stribeck speed", min=1e-9)
    F_v: Value = quantity(0.0, "N.s/m", "viscous constant", min=0)
    axis_unit: ClassVar[str] = "m"


@dataclass(frozen=True)
class AxesDryFriction(CombinedAxes, AxesContact):
    """Dry friction that sticks along a combination of axes, ``s = sum ratio_k s_k``: a clutch or a brake.

    Args:
        joints: names of the joints, in the same system.
        ratios: one for each of these joints, a number that is fixed when exported, or an expression of parameters.
        sliding: size of the friction, N.m or N, while it slides, in terms of the size ``v`` of the slip rate, ``time``
            and parameters; below 0 counts as 0.
        peak: largest friction while it sticks over that of a speed of 0.
    """

    sliding: Value = law(0.0, "N.m or N", "size of the friction as a formula of v and time", "v")
    peak: Value = quantity(1.0, "1", "largest friction while it sticks over that of a speed of 0", min=1)
    parts: ClassVar[tuple[str, ...]] = ()
    rubs: ClassVar[bool] = True

    def frictions(self, p: Any, s: tuple[SX, ...], v: tuple[SX, ...]) -> tuple[Friction, ...]:
        def size(speed: SX) -> SX:
            return ca.fmax(0, p.sliding(v=speed))

        slip, slide = self.combined(p, v), self.combined(p, s)
        return (Friction(slip, lambda speed, _: size(speed), lambda _: p.peak * size(ca.SX(0)), slide),)


@dataclass(frozen=True)
class GuideFriction(AxisContact):
    """Friction of a prismatic joint in proportion to the force across its axis, which the motion decides with it.

    ``|f| = mu |N|`` while it slides, up to ``mu_s |N|`` while it sticks, with the cut force N across the axis. The
    moment in the guide adds nothing. A `mu_s` below `mu` counts as that.

    Args:
        mu: coefficient while it slides.
        mu_s: coefficient while it sticks; 0: that of `mu`.
    """

    mu: Value = quantity(0.0, "1", "coefficient while it slides", min=0)
    mu_s: Value = quantity(0.0, "1", "coefficient while it sticks", min=0)
    axis_unit: ClassVar[str] = "m"
    parts: ClassVar[tuple[str, ...]] = ()
    rubs: ClassVar[bool] = True

    def frictions(self, p: Any, s: SX, v: SX) -> tuple[Friction, ...]:
        def across(joint: Prismatic, f: SX, _: SX) -> SX:
            n = axis(joint.n, p.planar)
            return n[0] * f[1] - n[1] * f[0] if p.planar else _size(f - n * ca.dot(n, f))

        return (
            Friction(
                v, lambda _, N: p.mu * N, lambda N: ca.fmax(p.mu, p.mu_s) * N, s,
                normal=across, signed=p.planar, unit=self.axis_unit,
            ),
        )  # fmt: skip


@dataclass(frozen=True)
class BearingFriction(AxisContact):
    """Friction of a revolute joint in proportion to the force across its axis, which the motion decides with it.

    ``|tau| = mu radius N`` while it slides, up to ``mu_s radius N`` while it sticks, with the size N of the cut force
    across the axis. Its force along the axis and its moments add nothing. A `mu_s` below `mu` counts as that. If `mu`
    is so large that no force, or more than one, fits the motion (Painleve), the step fails.

    Args:
        radius: radius of the bearing, m.
        mu: coefficient while it slides.
        mu_s: coefficient while it sticks; 0: that of `mu`.
    """

    radius: Value = quantity(0.0, "m", "radius of the bearing", min=0)
    mu: Value = quantity(0.0, "1", "coefficient while it slides", min=0)
    mu_s: Value = quantity(0.0, "1", "coefficient while it sticks", min=0)
    axis_unit: ClassVar[str] = "rad"
    parts: ClassVar[tuple[str, ...]] = ()
    rubs: ClassVar[bool] = True

    def frictions(self, p: Any, s: SX, v: SX) -> tuple[Friction, ...]:
        def across(joint: Revolute, f: SX, _: SX) -> SX:
            if p.planar:
                return _size(f)
            n = axis(joint.n)
            return _size(f - n * ca.dot(n, f))

        return (
            Friction(
                v, lambda _, N: p.mu * p.radius * N, lambda N: ca.fmax(p.mu, p.mu_s) * p.radius * N, s,
                normal=across, unit=self.axis_unit,
            ),
        )  # fmt: skip


def _size(f: SX) -> SX:
    """Return the size of a force, N, smooth where it vanishes."""
    return ca.sqrt(ca.dot(f, f) + SMALLEST_FORCE**2)

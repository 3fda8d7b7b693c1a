"""Dry friction on the axis of a joint and between frames, smooth enough for every stepper."""

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.model.component import Value, quantity
from mbfmu.model.forces.force import AxisForce, Force
from mbfmu.model.frame import SX, Frame
from mbfmu.model.relative import v_rel


def stribeck(p: Any, v: SX) -> SX:
    """Return the Stribeck curve ``f_c + (f_s - f_c) exp(-(v/v_s)^2)`` with ``f_s = peak f_c``, N.m or N."""
    return p.f_c * (1 + (p.peak - 1) * ca.exp(-((v / p.v_s) ** 2)))


@dataclass(frozen=True)
class AxisFriction(AxisForce):
    """Base of friction: Coulomb, Stribeck and viscous, with the jump at rest smoothed; derived for each kind of axis.

    ``f = -(f_c + (f_s - f_c) exp(-(v/v_s)^2)) tanh(v/v_0) - d v`` with the breakaway force ``f_s = peak f_c``
    (Armstrong-Helouvry, Dupont, Canudas de Wit, Automatica 30 (1994), with tanh in place of the sign). It never adds
    energy. Below `v_0` it is viscous: nothing sticks, and a load creeps at about ``v_0 load / f_s``.
    """

    def effort(self, p: Any, s: SX, v: SX) -> SX:
        return -stribeck(p, v) * ca.tanh(v / p.v_0) - p.d * v


@dataclass(frozen=True)
class RotationalFriction(AxisFriction):
    """Friction on the axis of a revolute joint: Coulomb, Stribeck and viscous, with the jump at rest smoothed.

    Args:
        f_c: Coulomb torque, N.m.
        peak: breakaway torque over Coulomb torque.
        v_s: Stribeck speed, rad/s, at which the excess over Coulomb torque has fallen to 1/e.
        v_0: speed of smoothing, rad/s, at which the dry part has 76 % of its value.
        d: viscous constant, N.m.s/rad.
    """

    f_c: Value = quantity(0.0, "N.m", "Coulomb torque", min=0)
    peak: Value = quantity(1.0, "1", "breakaway torque over Coulomb torque", min=1)
    v_s: Value = quantity(0.1, "rad/s", "Stribeck speed", min=1e-9)
    v_0: Value = quantity(0.01, "rad/s", "speed of smoothing", min=1e-9)
    d: Value = quantity(0.0, "N.m.s/rad", "viscous constant", min=0)
    axis_unit: ClassVar[str] = "rad"


@dataclass(frozen=True)
class TranslationalFriction(AxisFriction):
    """Friction on the axis of a prismatic joint: Coulomb, Stribeck and viscous, with the jump at rest smoothed.

    Args:
        f_c: Coulomb force, N.
        peak: breakaway force over Coulomb force.
        v_s: Stribeck speed, m/s, at which the excess over Coulomb force has fallen to 1/e.
        v_0: speed of smoothing, m/s, at which the dry part has 76 % of its value.
        d: viscous constant, N.s/m.
    """

    f_c: Value = quantity(0.0, "N", "Coulomb force", min=0)
    peak: Value = quantity(1.0, "1", "breakaway force over Coulomb force", min=1)
    v_s: Value = quantity(0.1, "m/s", "Stribeck speed", min=1e-9)
    v_0: Value = quantity(0.01, "m/s", "speed of smoothing", min=1e-9)
    d: Value = quantity(0.0, "N.s/m", "viscous constant", min=0)
    axis_unit: ClassVar[str] = "m"


@dataclass(frozen=True)
class CartesianFriction(Force):
    """Dry friction between two frames along each axis of frame_a and about each axis of frame_b, smooth at rest.

    With the velocity v of frame_b seen from frame_a and its angular velocity w, resolved in frame_a and in frame_b:
    ``f_i = -f_c tanh(v_i / v_0)`` and ``t_i = -t_c tanh(w_i / w_0)``. It is the friction of MuJoCo in ball and free
    joints, smoothed as in `AxisFriction`.

    Args:
        f_c: Coulomb force along each axis, N.
        t_c: Coulomb torque about each axis, N.m.
        v_0: velocity of smoothing, m/s.
        w_0: angular velocity of smoothing, rad/s.
    """

    f_c: Value = quantity(0.0, "N", "Coulomb force along each axis", min=0)
    t_c: Value = quantity(0.0, "N.m", "Coulomb torque about each axis", min=0)
    v_0: Value = quantity(0.01, "m/s", "velocity of smoothing", min=1e-9)
    w_0: Value = quantity(0.01, "rad/s", "angular velocity of smoothing", min=1e-9)

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        v, w = v_rel(a, b), b.w_0 - a.w_0
        w = w if p.planar else b.R.T @ w
        return ((v, -p.f_c * ca.tanh(v / p.v_0)), (w, -p.t_c * ca.tanh(w / p.w_0)))

"""A gear with losses: meshing efficiency and friction of its bearings, by the side that drives."""

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.model.component import Value, law, quantity
from mbfmu.model.contacts.contact import AxesContact, Friction
from mbfmu.model.couplings import AxisConstraint
from mbfmu.model.frame import SX

LEAST = 1e-6
"""Least efficiency: a smaller one counts as that."""


@dataclass(frozen=True)
class LossyGear(AxisConstraint, AxesContact):
    """Coupling of two axes with losses: ``s_a = ratio s_b + offset``, and forces by the side that drives.

    With the force or torque ``f_a`` that the gear takes from a, counted in the direction of the motion, the one that it
    gives to b, ``ratio (f_a - F)``, and the friction ``t_a`` and ``t_b`` of the bearings of a and b:

        F = t_a + t_b / |ratio| + (1 - eta_a) x        if x = f_a - t_a > 0, so that a drives
        F = t_a + t_b / |ratio| + (1 / eta_b - 1) |x|  else, so that b drives

    At rest the gear sticks as long as F within these limits holds it. With ``eta_b = 0`` b cannot drive: the gear locks
    itself (Pelchen, Schweiger & Otter, Modeling and Simulating the Efficiency of Gearboxes and of Planetary Gearboxes,
    Modelica Conference 2002).

    Args:
        joint_a, joint_b: names of the joints, in the same system.
        ratio: ratio of the coordinates, such as the teeth of b over the teeth of a.
        offset: coordinate of a where b is at zero, rad or m.
        eta_a: efficiency of the teeth while a drives, in terms of the speed ``v`` of a, ``time`` and
            parameters; from 0 to 1.
        eta_b: efficiency while b drives, of the same.
        t_a: friction of the bearings of a, N.m or N, of the same; below 0 counts as 0.
        t_b: friction of the bearings of b, N.m or N, of the same.
    """

    joint_a: str = ""
    joint_b: str = ""
    ratio: Value = quantity(1.0, "1", "coordinate of a for each of b")
    offset: Value = quantity(0.0, "1", "coordinate of a where b is at zero")
    eta_a: Value = law(1.0, "1", "efficiency while a drives, as a formula of v and time", "v")
    eta_b: Value = law(1.0, "1", "efficiency while b drives, as a formula of v and time", "v")
    t_a: Value = law(0.0, "N.m or N", "friction of the bearings of a as a formula of v and time", "v")
    t_b: Value = law(0.0, "N.m or N", "friction of the bearings of b as a formula of v and time", "v")
    parts: ClassVar[tuple[str, ...]] = ()
    rubs: ClassVar[bool] = True

    @property
    def axes(self) -> tuple[str, ...]:
        return (self.joint_a, self.joint_b)

    def position(self, p: Any, *s: SX) -> SX:
        return s[0] - p.ratio * s[1] - p.offset

    def frictions(self, p: Any, s: tuple[SX, ...], v: tuple[SX, ...]) -> tuple[Friction, ...]:
        def efficiency(formula: Any, speed: SX) -> SX:
            return ca.fmin(1, ca.fmax(LEAST, formula(v=speed)))

        def bearing(formula: Any, speed: SX) -> SX:
            return ca.fmax(0, formula(v=speed))

        def size(speed: SX, x: SX) -> SX:
            t = bearing(p.t_a, speed) + bearing(p.t_b, speed) / ca.fabs(p.ratio)
            a_drives, b_drives = 1 - efficiency(p.eta_a, speed), 1 / efficiency(p.eta_b, speed) - 1
            return t + ca.fmax(a_drives * x, -b_drives * x)

        return (
            Friction(
                p.ratio * v[1],
                size,
                lambda x: size(ca.SX(0), x),
                p.ratio * s[1],
                normal=lambda _, force: -force,
                driving=lambda speed: bearing(p.t_a, speed),
            ),
        )

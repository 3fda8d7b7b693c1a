"""Springs and stops on the angle between two frames, about whichever axis it is."""

import math
from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.errors import ModelError
from mbfmu.model.component import Value, quantity
from mbfmu.model.forces.force import Force
from mbfmu.model.frame import SX, Frame
from mbfmu.model.relative import Q_rel, w_rel

SMALL = 1e-4
"""Square of the sine of half an angle below which the angle is a series: its next term is 1e-21 of it."""


@dataclass(frozen=True)
class AngularSpring(Force):
    """Spring that turns frame_b back to the orientation of frame_a: ``V = c phi^2 / 2``.

    phi is the angle of the relative rotation, 0 to pi, whose quaternion is ``(cos phi/2, n sin phi/2)``; in the plane
    the relative angle itself. It is the stiffness of a ball joint in MuJoCo.

    Args:
        c: stiffness, N.m/rad.
    """

    c: Value = quantity(0.0, "N.m/rad", "stiffness", min=0)

    def potential(self, p: Any, a: Frame, b: Frame) -> SX:
        if p.planar:
            return p.c * (b.phi - a.phi) ** 2 / 2
        Q = Q_rel(a, b)
        return p.c * _squared_angle(ca.dot(Q[1:], Q[1:]), Q[0]) / 2


def _squared_angle(x: SX, s: SX) -> SX:
    """Return phi^2 for x = sin^2(phi/2) and s = cos(phi/2): ``4 arcsin^2(sqrt(x))``, by its series where x is small."""
    terms = (1.0, 1 / 3, 8 / 45, 4 / 35, 128 / 1575)
    series = 4 * x * sum((term * x**power for power, term in enumerate(terms[1:], 1)), ca.SX(terms[0]))
    angle = 2 * ca.atan2(ca.sqrt(ca.fmax(x, SMALL)), ca.fabs(s))
    return ca.if_else(x < SMALL, series, angle**2)


@dataclass(frozen=True)
class AngularStop(Force):
    """Compliant limit of the angle between two frames, about whichever axis: a spring and a damper beyond it.

    With the angle phi of the relative rotation, 0 to pi, about the axis n, and the depth ``x = max(0, phi - upper)``:
    ``V = c x^2 / 2``, and the damping ``-d x n . w``, as in `RotationalStop`. It is the range of a ball joint in
    MuJoCo, whose stop yields by other rules. For spatial systems.

    Args:
        upper: greatest angle, rad.
        c: stiffness, N.m/rad.
        d: damping per depth, N.m.s/rad2.
    """

    upper: Value = quantity(math.pi, "rad", "greatest angle", min=0, max=math.pi)
    c: Value = quantity(0.0, "N.m/rad", "stiffness", min=0)
    d: Value = quantity(0.0, "N.m.s/rad2", "damping per depth", min=0)

    def potential(self, p: Any, a: Frame, b: Frame) -> SX:
        if p.planar:
            raise ModelError(f"AngularStop '{self.name}' needs a spatial system: in the plane use a RotationalStop")
        return p.c * self._depth(p, a, b) ** 2 / 2

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        e = Q_rel(a, b)[1:]
        n = e / ca.sqrt(ca.fmax(ca.dot(e, e), SMALL**2))
        rate = ca.if_else(Q_rel(a, b)[0] < 0, -1, 1) * ca.dot(n, w_rel(a, b))
        return ((rate, -p.d * self._depth(p, a, b) * rate),)

    def _depth(self, p: Any, a: Frame, b: Frame) -> SX:
        Q = Q_rel(a, b)
        sine = ca.sqrt(ca.fmax(ca.dot(Q[1:], Q[1:]), SMALL**2))
        return ca.fmax(0, 2 * ca.atan2(sine, ca.fabs(Q[0])) - p.upper)

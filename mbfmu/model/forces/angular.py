"""Springs on the angle between two frames, about whichever axis it is."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.model.component import Value, quantity
from mbfmu.model.forces.force import Force
from mbfmu.model.frame import SX, Frame
from mbfmu.model.relative import Q_rel

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

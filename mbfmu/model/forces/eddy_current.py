"""A brake by eddy currents, which its own heat makes weaker."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.model.component import Value, quantity, state
from mbfmu.model.forces.axes import AxesForce
from mbfmu.model.frame import SX

ROOM = 293.15
"""Default temperature, K: 20 degrees Celsius."""


@dataclass(frozen=True)
class EddyCurrentBrake(AxesForce):
    """A brake on a combination of axes by eddy currents, whose material becomes warmer.

    ``f = -2 peak x / (1 + x^2)`` with ``x = v / (v_peak (1 + alpha (T - T_ref)))``, as its resistance grows with the
    temperature T; ``C T' = -f v``. Units follow from the combination.

    Args:
        joints, ratios: the combination, see `AxesForce`.
        peak: largest force or torque.
        v_peak: speed of the combination at which it has that, at the temperature T_ref.
        alpha: temperature coefficient of the resistance at T_ref, 1/K.
        T_ref: reference temperature, K.
        C: heat capacity, J/K; 0: T stays as it starts.
        T: start value of the temperature, K.
    """

    peak: Value = quantity(0.0, "1", "largest force or torque", min=0)
    v_peak: Value = quantity(1.0, "1", "speed at which it has that", min=1e-9)
    alpha: Value = quantity(0.0, "1/K", "temperature coefficient of the resistance")
    T_ref: Value = quantity(ROOM, "K", "reference temperature")
    C: Value = quantity(0.0, "J/K", "heat capacity", min=0)
    T: Value = state("K", "temperature", nominal=100.0, default=ROOM)

    def effort(self, p: Any, s: SX, v: SX) -> SX:
        x = v / (p.v_peak * (1 + p.alpha * (p.T - p.T_ref)))
        return -2 * p.peak * x / (1 + x**2)

    def rates(self, p: Any, s: SX, v: SX) -> tuple[SX, ...]:
        return (ca.if_else(p.C > 0, -self.effort(p, s, v) * v / p.C, 0),)

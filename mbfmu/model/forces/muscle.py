"""Muscles that pull along combinations of axes, such as ropes."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.errors import ValueRangeError
from mbfmu.model.component import Input, Value, quantity, state
from mbfmu.model.forces.axes import AxesForce
from mbfmu.model.frame import SX


@dataclass(frozen=True)
class Muscle(AxesForce):
    """A muscle with its tendon, which shortens a combination of axes: a Hill-type element without a series spring.

    With the combination s and its rate v, the optimal length ``L_0 = (s_2 - s_1) / (r_2 - r_1)``, the scaled length
    ``L = r_1 + (s - s_1) / L_0`` and the scaled velocity ``V = v / (L_0 v_max)``:
    ``f = -F_0 (F_L(L) F_V(V) z + F_P(L))``. F_L is a bump of four parabolas from l_min over 1 at L = 1 to l_max; F_V
    is ``(1 + V)^2`` while it shortens, and ``f_vmax - (f_vmax - 1 - V)^2 / (f_vmax - 1)`` while it lengthens, between 0
    and f_vmax; F_P rises from L = 1 as a parabola to f_pmax / 2 at ``b = (1 + l_max) / 2`` and continues straight. The
    activation z follows the input u, both held between 0 and 1 in the time constant: ``z' = (u - z) / tau``, with
    ``tau = T_1 (1/2 + 3/2 z)`` while it rises and ``T_2 / (1/2 + 3/2 z)`` while it falls; with a width the two merge
    by ``x^3 (6 x^2 - 15 x + 10)`` of ``x = (u - z) / width + 1/2``. They are MuJoCo's, after Millard, Uchida, Seth,
    Delp, J. Biomech. Eng. 135 (2013).

    Args:
        joints, ratios: the combination, see `AxesForce`.
        F_0: greatest active force at rest, N.
        s: least and greatest value of the combination, s_1 and s_2, m.
        r: scaled lengths there, r_1 and r_2.
        curve: l_min, l_max, v_max (1/s), f_pmax, f_vmax.
        T: time constants of activation and deactivation, T_1 and T_2, s.
        width: difference of u and z over which they merge.
        z: start value of the activation.
    """

    F_0: Value = quantity(1.0, "N", "greatest active force at rest", min=0)
    s: tuple[float, ...] = (0.0, 1.0)
    r: tuple[float, ...] = (0.75, 1.05)
    curve: tuple[float, ...] = (0.5, 1.6, 1.5, 1.3, 1.2)
    T: tuple[float, ...] = (0.01, 0.04)
    width: Value = quantity(0.0, "1", "difference over which the time constants merge", min=0)
    z: Value = state("1", "activation")

    def __post_init__(self) -> None:
        super().__post_init__()
        for label, numbers, count in (("s", self.s, 2), ("r", self.r, 2), ("T", self.T, 2), ("curve", self.curve, 5)):
            if len(numbers) != count:
                raise ValueRangeError(f"{self.name}.{label} = {numbers} must be {count} numbers")
        for label, (first, second) in (("s", self.s), ("r", self.r)):
            if not first < second:
                raise ValueRangeError(f"{self.name}.{label} = {(first, second)} needs a first number below the second")
        l_min, l_max, v_max, f_pmax, f_vmax = self.curve
        if not (l_min < 1 < l_max and v_max > 0 and f_pmax >= 0 and f_vmax > 1 and min(self.T) > 0):
            message = "needs l_min < 1 < l_max, v_max > 0, f_pmax >= 0, f_vmax > 1"
            raise ValueRangeError(f"{self.name}.curve = {self.curve} {message}, and T = {self.T} positive numbers")

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        return (Input("u", "1", "excitation, 0 to 1"),)

    def effort(self, p: Any, s: SX, v: SX) -> SX:
        l_min, l_max, v_max, f_pmax, f_vmax = self.curve
        L_0 = (self.s[1] - self.s[0]) / (self.r[1] - self.r[0])
        L, V = self.r[0] + (s - self.s[0]) / L_0, v / (L_0 * v_max)
        rising, falling = _bump((L - l_min) / (1 - l_min)), _bump((l_max - L) / (l_max - 1))
        F_L = ca.if_else(L <= 1, rising, falling)
        shortening = ca.fmax(1 + V, 0) ** 2
        lengthening = f_vmax - ca.fmax(f_vmax - 1 - V, 0) ** 2 / (f_vmax - 1)
        F_V = ca.if_else(V <= 0, shortening, lengthening)
        x = 2 * ca.fmax(L - 1, 0) / (l_max - 1)
        F_P = f_pmax * ca.if_else(x <= 1, x**2 / 2, x - 0.5)
        return -p.F_0 * (F_L * F_V * p.z + F_P)

    def rates(self, p: Any, s: SX, v: SX) -> tuple[SX, ...]:
        excess = ca.fmax(0, ca.fmin(1, p.u)) - p.z
        slowing = 0.5 + 1.5 * ca.fmax(0, ca.fmin(1, p.z))
        quick, slow = self.T[0] * slowing, self.T[1] / slowing
        x = ca.fmax(0, ca.fmin(1, excess / ca.fmax(p.width, 1e-15) + 0.5))
        merged = slow + (quick - slow) * x**3 * (6 * x**2 - 15 * x + 10)
        tau = ca.if_else(p.width > 0, merged, ca.if_else(excess > 0, quick, slow))
        return (excess / tau,)


def _bump(x: SX) -> SX:
    """Return the half of a bump that rises from 0 at x = 0 to 1 at x = 1, by two parabolas."""
    x = ca.fmax(0, ca.fmin(1, x))
    return ca.if_else(x <= 0.5, 2 * x**2, 1 - 2 * (1 - x) ** 2)

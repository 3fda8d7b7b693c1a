"""Inputs of drives and thrusters: their limits, a filter of first order, an integral."""

from typing import Any

import casadi as ca

from mbfmu.model.frame import SX


class Commanded:
    """A force whose gain multiplies its input `u`, held between the parameters `u_least` and `u_greatest`."""

    def asked(self, p: Any) -> SX:
        """Return the input within its limits."""
        return ca.fmax(p.u_least, ca.fmin(p.u_greatest, p.u))

    def acting(self, p: Any) -> SX:
        """Return the value that the gain multiplies: the input within its limits."""
        return self.asked(p)


class Filtered(Commanded):
    """A force whose gain multiplies the state `z` of a filter with the time constant `T`."""

    def acting(self, p: Any) -> SX:
        return p.z

    def rates(self, p: Any, *_: Any, **__: Any) -> tuple[SX, ...]:
        """Return z'."""
        return ((self.asked(p) - p.z) / p.T,)


class Integrated(Commanded):
    """A force whose gain multiplies the integral `z` of its input, between `z_least` and `z_greatest`."""

    def acting(self, p: Any) -> SX:
        return ca.fmax(p.z_least, ca.fmin(p.z_greatest, p.z))

    def rates(self, p: Any, *_: Any, **__: Any) -> tuple[SX, ...]:
        """Return z', which at a limit does not lead beyond it."""
        u = self.asked(p)
        rising = ca.if_else(p.z < p.z_greatest, ca.fmax(u, 0), 0)
        return (rising + ca.if_else(p.z > p.z_least, ca.fmin(u, 0), 0),)


def affine(p: Any, s: SX, v: SX, u: SX) -> SX:
    """Return ``(gain + gain_s s + gain_v v) u + bias + bias_s s + bias_v v``, within its limits.

    Args:
        p: the quantities of the force.
        s: the coordinate that it measures.
        v: its velocity.
        u: what the gain multiplies.
    """
    gain, bias = p.gain + p.gain_s * s + p.gain_v * v, p.bias + p.bias_s * s + p.bias_v * v
    return ca.fmax(p.f_least, ca.fmin(p.f_greatest, gain * u + bias))

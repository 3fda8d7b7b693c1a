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

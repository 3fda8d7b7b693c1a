"""The energies of a motion, and the power that changes them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
from casadi import Function

from mbfmu.dae.linear_algebra.merged import merged


@dataclass(frozen=True)
class Energies:
    """The energies that a mechanism stores, and the power that changes them.

    Args:
        kinetic: (q, v, p) -> J.
        potential: (q, p, t) -> J.
        power: (q, v, z, u, p, t) -> W: what inputs and losses add to the energy, and what a potential that depends on
            the time adds; without the constraints' part. None: the equations have no energy.
    """

    kinetic: Function
    potential: Function
    power: Function | None = None

    def reading(self, symbols: Sequence[Any], values: Sequence[Any]) -> "Energies":
        """Return the energies with the power as a Function of other symbols, see `Equations.reading`.

        Args:
            symbols: SX symbols for (q, v, z, u, p, t).
            values: SX, what the power reads as (q, v, z, u, p, t), in terms of the symbols.
        """
        if self.power is None:
            return self
        return replace(self, power=merged("power", list(symbols), [ca.densify(self.power(*values))]))

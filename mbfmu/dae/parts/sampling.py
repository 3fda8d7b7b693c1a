"""The memory of sampled blocks, and how it changes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
from casadi import Function

from mbfmu.dae.linear_algebra.merged import merged
from mbfmu.dae.signals import Clock, MemorySignal


@dataclass(frozen=True)
class Sampling:
    """Memory of sampled blocks, and how it changes.

    Args:
        memory: the entries of d, which stand at the end of p.
        clocks: the clocks.
        timing: Function (p) -> period and offset of each clock, shape (2 n_c,), s.
        first: Function (p) -> d at the start, shape (n_d,).
        update: Function (q, v, z, u, p, t, due) -> d after a sampling, shape (n_d,); due: 1 for each clock whose block
            computes at this instant, else 0, shape (n_c,).
    """

    memory: tuple[MemorySignal, ...]
    clocks: tuple[Clock, ...]
    timing: Function
    first: Function
    update: Function

    def reading(self, symbols: Sequence[Any], values: Sequence[Any]) -> "Sampling":
        """Return the sampling with the update as a Function of other symbols, see `Equations.reading`.

        Args:
            symbols: SX symbols for (q, v, z, u, p, t).
            values: SX, what the update reads as (q, v, z, u, p, t), in terms of the symbols.
        """
        due = ca.SX.sym("due", len(self.clocks))
        update = merged("update", [*symbols, due], [ca.densify(self.update(*values, due))])
        return replace(self, update=update)

"""The equations of motion: M a + Phi_q^T lambda + G^T mu = force, z' = flow."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
from casadi import Function

from mbfmu.dae.linear_algebra.merged import merged

OF_STATE = ("force", "free_acceleration", "momentum_rate", "impulse_rate")
"""Functions of (q, v, z, u, p, t) that have an entry for each coordinate."""


@dataclass(frozen=True)
class Equations:
    """The equations of motion; SI units. All Functions take and return dense columns, but for matrices.

    Those that few steppers need may be made when they are first asked for (see `Later`).

    Args:
        inertia: gives `M`, which in joint coordinates has n^2 entries and is built when it is first asked for.
        mass_solve: (q, p, f) -> M^-1 f, shape (n,).
        free_acceleration: (q, v, z, u, p, t) -> M^-1 force, shape (n,): the value of a without constraints.
        force: (q, v, z, u, p, t) -> shape (n,), along the coordinates.
        flow: (q, v, z, u, p, t) -> z', shape (n_z,).
        momentum: (q, v, p) -> shape (n,), along the coordinates.
        momentum_rate: (q, v, z, u, p, t) -> shape (n,).
        impulse_rate: (q, v, z, u, p, t) -> force + (M v)_q v, shape (n,): the force on M v without multipliers.
        impulses: gives `impulse` in fewer operations than by M; None: nothing does.
        resisting: whether forces act that may be stiff: springs, dampers, friction, stops and the like.
    """

    inertia: Callable[[], Function]
    mass_solve: Function
    free_acceleration: Function
    force: Function
    flow: Function
    momentum: Function
    momentum_rate: Function
    impulse_rate: Function
    impulses: Callable[[], Function] | None = None
    resisting: bool = True

    @cached_property
    def M(self) -> Function:
        """Function (q, p) -> mass matrix, shape (n, n), positive definite."""
        return self.inertia()

    @cached_property
    def impulse(self) -> Function:
        """Function (q, v, p) -> M v, shape (n,)."""
        if self.impulses:
            return self.impulses()
        q, v, p = (ca.SX.sym(name, self.M.numel_in(index)) for name, index in (("q", 0), ("v", 0), ("p", 1)))
        return merged("impulse", [q, v, p], [ca.densify(self.M(q, p) @ v)])

    @cached_property
    def constant_mass(self) -> bool:
        """Whether M does not depend on q."""
        q, p = (ca.SX.sym(name, self.M.numel_in(index)) for index, name in enumerate(("q", "p")))
        return not ca.depends_on(self.M(q, p), q)

    def reading(self, symbols: Sequence[Any], values: Sequence[Any], rates: Any = None) -> "Equations":
        """Return the equations as Functions of other symbols, such as those of fewer inputs or more states.

        Args:
            symbols: SX symbols for (q, v, z, u, p, t).
            values: SX, what these equations read as (q, v, z, u, p, t), in terms of the symbols.
            rates: SX, rates of first-order states after those of these equations; None: there are none.
        """

        def function(name: str, result: Any) -> Function:
            return merged(name, list(symbols), [ca.densify(result)])

        flow = self.flow(*values)
        changed: dict[str, Any] = {name: function(name, getattr(self, name)(*values)) for name in OF_STATE}
        changed["flow"] = function("flow", flow if rates is None else ca.vertcat(flow, rates))
        return replace(self, **changed)

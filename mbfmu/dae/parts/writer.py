"""Expressions -> the parts of a Dae: which Function has which arguments is said here alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca
from casadi import SX, Function

from mbfmu.dae.linear_algebra.merged import later, merged
from mbfmu.dae.parts.constraints import Constraints
from mbfmu.dae.parts.energies import Energies
from mbfmu.dae.parts.equations import Equations

Result = SX | Callable[[], SX]
"""An expression, or what gives it when its Function is first asked for."""


def dense(result: SX) -> SX:
    """Return a column with all its entries; a matrix as it is."""
    return ca.densify(result) if result.is_column() else result


@dataclass(frozen=True)
class Writer:
    """The maker of Functions of some symbols.

    Args:
        q, v, z, u, p, t: the symbols, SX.
        finished: what is done with an expression before a Function has it.
    """

    q: SX
    v: SX
    z: SX
    u: SX
    p: SX
    t: SX
    finished: Callable[[SX], SX] = dense

    @property
    def state(self) -> list[SX]:
        """The symbols of q, v, z, u, p and t."""
        return [self.q, self.v, self.z, self.u, self.p, self.t]

    @property
    def pose(self) -> list[SX]:
        """The symbols of q, p and t."""
        return [self.q, self.p, self.t]

    @property
    def motion(self) -> list[SX]:
        """The symbols of q, v, p and t."""
        return [self.q, self.v, self.p, self.t]

    def function(self, name: str, arguments: Sequence[SX], result: Result) -> Function:
        """Return a Function of an expression."""
        if isinstance(result, SX):
            return merged(name, arguments, [self.finished(result)])
        return later(lambda: merged(name, arguments, [self.finished(result())]))

    def constraints(self, Phi: SX, Phi_q: SX, Phi_t: SX, gamma: SX, G: SX, g: SX, gamma_G: SX) -> Constraints:
        """Return constraints, see `Constraints`."""
        return Constraints(
            Phi=self.function("Phi", self.pose, Phi),
            Phi_q=self.function("Phi_q", self.pose, Phi_q),
            Phi_t=self.function("Phi_t", self.pose, Phi_t),
            gamma=self.function("gamma", self.motion, gamma),
            G=self.function("G", self.pose, G),
            g=self.function("g", self.pose, g),
            gamma_G=self.function("gamma_G", self.motion, gamma_G),
        )

    def equations(
        self,
        f: SX,
        M: Callable[[], SX],
        mass_solve: Result,
        free_acceleration: Result,
        force: Result,
        flow: Result,
        momentum: Result,
        momentum_rate: Result,
        impulse_rate: Result,
    ) -> Equations:
        """Return equations of motion, see `Equations`; f: SX symbols of what `mass_solve` takes, shape (n,)."""
        return Equations(
            inertia=lambda: self.function("M", [self.q, self.p], M()),
            mass_solve=self.function("mass_solve", [self.q, self.p, f], mass_solve),
            free_acceleration=self.function("free_acceleration", self.state, free_acceleration),
            force=self.function("force", self.state, force),
            flow=self.function("flow", self.state, flow),
            momentum=self.function("momentum", [self.q, self.v, self.p], momentum),
            momentum_rate=self.function("momentum_rate", self.state, momentum_rate),
            impulse_rate=self.function("impulse_rate", self.state, impulse_rate),
        )

    def energies(self, kinetic: Result, potential: SX, power: Result | None) -> Energies:
        """Return energies, see `Energies`."""
        return Energies(
            kinetic=self.function("kinetic", [self.q, self.v, self.p], kinetic),
            potential=self.function("potential", self.pose, potential),
            power=None if power is None else self.function("power", self.state, power),
        )

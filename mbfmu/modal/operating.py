"""The state about which a model vibrates: its start if it stays there or moves on steadily, else an equilibrium.

A state is steady if q(t) = q0 + v0 t, z(t) = z0 meet the equations of motion: a bicycle that rides straight on, a rotor
that turns, or a machine at rest.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbfmu.dae import Dae, refuse_switched
from mbfmu.equilibria import Equilibrium
from mbfmu.equilibria.newton import Found, newton
from mbfmu.equilibria.problem import Array, Problem, Start, column, whole
from mbfmu.equilibria.result import told
from mbfmu.equilibria.search import search
from mbfmu.errors import EquilibriumError, UsageError
from mbfmu.inputs import Course
from mbfmu.linearization import Linear
from mbfmu.linearization.mechanism import Point, linearized, point_of
from mbfmu.model import Model
from mbfmu.prepared.prepare import Prepared, prepare

STEADY = 1e-6
"""Largest acceleration, m/s2 or rad/s2, and gap of constraints, m or rad, of a steady motion."""
AHEAD = (0.0, 0.37, 1.1)
"""Times at which a steady motion is looked at, s."""


@dataclass(frozen=True)
class Operating:
    """A steady state.

    Args:
        point: the state.
        equilibrium: the same, if it had to be searched for; None: it is the start.
        found: the end of its search, from which that for other values goes on.
    """

    point: Point
    equilibrium: Equilibrium | None = None
    found: Found | None = None


@dataclass(frozen=True)
class Machine:
    """A model with what is held and freed in its equilibria.

    Args:
        model: the model.
        prepared: its equations, with which its start is found.
        hold: values of outputs and inputs by name.
        free: names of what is unknown.
        values: values that an equilibrium passes on, by name.
    """

    model: Model
    prepared: Prepared
    hold: Mapping[str, float]
    free: tuple[str, ...]
    values: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        model: Model,
        hold: Mapping[str, float],
        free: tuple[str, ...],
        values: Mapping[str, Any],
        coordinates: str | None,
    ) -> "Machine":
        """Return a model, prepared; arguments and errors as for `modes`."""
        prepared = prepare(model, "direct", None, 1e-3, 0.0, coordinates)
        refuse_switched(prepared.dae, "a linearization")
        return cls(model, prepared, hold, free, values)

    @property
    def dae(self) -> Dae:
        """The equations."""
        return self.prepared.dae

    def operating(
        self,
        given: Mapping[str, Course] | None = None,
        s: Array | None = None,
        p: Array | None = None,
        before: Found | None = None,
    ) -> Operating:
        """Return the steady state.

        Args:
            given: inputs by name; the others have their start values.
            s: start values (default: the model's).
            p: parameters (default: the model's).
            before: the equilibrium of other values, from which the search goes on.

        Raises:
            StartError: there is no consistent start.
            EquilibriumError: there is no equilibrium near the start.
        """
        dae, prepared = self.dae, self.prepared
        start = point_of(prepared, dae, given or {}, None, s, p)
        if not (self.hold or self.free) and is_steady(dae, start):
            return Operating(start)
        begin = Start.of(dae, self.hold, s, p, start.u)
        problem = Problem(dae, begin, self.free, dict(self.hold))
        notices: tuple[str, ...] = ()
        found = newton(problem, before.x) if before and len(before.x) == len(problem.first) else None
        if found is None or not found.met or found.rank < len(found.x):
            found, _, notices = search(problem)
        at = problem.at(found.x)
        point = Point(at.q, at.v, at.z, at.u, whole(dae, at.u, at.p), 0.0)
        if problem.moving and not is_steady(dae, point):
            raise EquilibriumError(
                f"{dae.name}: the motion that is held changes the linear form in time, as a coordinate moves on which "
                "the form depends: take joint coordinates, or hold rates that are zero"
            )
        return Operating(point, told(self.model, problem, found, self.values, notices), found)

    def linear(self, operating: Operating, chosen: tuple[str, ...] = ()) -> Linear:
        """Return the state-space form about a steady state, with some outputs."""
        return linearized(self.dae, operating.point, chosen)


def is_steady(dae: Dae, point: Point) -> bool:
    """Return whether a state stays as it is, or moves on with the rates that it has.

    Args:
        dae: the equations.
        point: the state.
    """
    q, v, z, u, p, t = point
    if dae.sampling:
        memory = p[dae.n_p - dae.n_d :]
        after = column(dae.sampling.update(q, v, z, u, p, t, np.ones(dae.n_c)))
        if not np.max(np.abs(after - memory), initial=0.0) <= STEADY:
            return False
    for time in AHEAD if np.any(v) else AHEAD[:1]:
        there = q + time * v
        gaps = [
            dae.acceleration(there, v, z, u, p, t)[0],
            dae.flow(there, v, z, u, p, t),
            dae.Phi(there, p, t),
            dae.Phi_q(there, p, t) @ v + dae.Phi_t(there, p, t),
            dae.G(there, p, t) @ v + dae.g(there, p, t),
        ]
        if not all(np.max(np.abs(column(item)), initial=0.0) <= STEADY for item in gaps):
            return False
    return True


def checked_hold(hold: Mapping[str, float] | None) -> dict[str, float]:
    """Return the values that are held.

    Raises:
        UsageError: one is not finite.
    """
    for name, value in (hold or {}).items():
        if not math.isfinite(value):
            raise UsageError(f"hold: {name} = {value} must be a finite number")
    return dict(hold or {})

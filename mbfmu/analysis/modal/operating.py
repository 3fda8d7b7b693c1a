"""The state about which a model vibrates: its start if it stays there or moves on steadily, else an equilibrium.

A state is steady if q(t) = q0 + v0 t, z(t) = z0 meet the equations of motion: a bicycle that rides straight on, a rotor
that turns, or a machine at rest. Quaternions turn on instead, by exp(S t), see `spin_of`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from scipy.linalg import expm

from mbfmu.analysis.equilibria import Equilibrium
from mbfmu.analysis.equilibria.newton import Found, newton
from mbfmu.analysis.equilibria.problem import Array, EquilibriumProblem, SearchStart, whole
from mbfmu.analysis.equilibria.result import told
from mbfmu.analysis.equilibria.search import search
from mbfmu.analysis.linearization import Linear
from mbfmu.analysis.linearization.mechanism import Point, linearized, point_of
from mbfmu.analysis.linearization.spinning import quaternions, spin_of
from mbfmu.dae import Dae, refuse_switched
from mbfmu.dae.start import column
from mbfmu.errors import EquilibriumError, UsageError
from mbfmu.model import Model
from mbfmu.prepared.prepare import Prepared, prepare
from mbfmu.run.inputs import Course

STEADY = 1e-6
"""Largest acceleration, m/s2 or rad/s2, and gap of constraints, m or rad, of a steady motion."""
AHEAD = (0.0, 0.37, 1.1)
"""Times along a steady motion at which its linear form is computed, to see whether it changes, s."""
ALIKE = 1e-6
"""Largest relative difference of the linear form between two times of a steady motion that counts as none."""
LEAST = 1e-6
"""Entries of a direction's slope that count as zero, relative to the largest."""


@dataclass(frozen=True)
class Operating:
    """A steady state.

    Args:
        point: the state.
        spin: matrix S by which its quaternions turn, shape (n, n), 1/s.
        equilibrium: the same, if it had to be searched for; None: it is the start.
        found: the end of its search, from which that for other values continues.
    """

    point: Point
    spin: Array
    equilibrium: Equilibrium | None = None
    found: Found | None = None


@dataclass(frozen=True)
class Machine:
    """A model with what is held and freed in its equilibria.

    Args:
        model: the model.
        prepared: its equations, with which its start is computed.
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
            before: the equilibrium of other values, from which the search continues.

        Raises:
            StartError: there is no consistent start.
            EquilibriumError: there is no equilibrium near the start.
        """
        dae, prepared = self.dae, self.prepared
        # a start that is steady already, with nothing held or free
        start = point_of(prepared, dae, given or {}, None, s, p)
        if not (self.hold or self.free):
            spin = spin_of(self._quaternions, start.q, start.v)
            if is_steady(dae, start, spin):
                self._refuse_periodic(start, spin)
                return Operating(start, spin)
        # else the equilibrium: by Newton's method from the last one, or by a search
        begin = SearchStart.of(dae, self.hold, s, p, start.u)
        problem = EquilibriumProblem(dae, begin, self.free, dict(self.hold))
        notices: tuple[str, ...] = ()
        solution = newton(problem, before.x) if before and len(before.x) == len(problem.first) else None
        if solution is None or not solution.met or solution.rank < len(solution.x):
            solution, _, notices = search(problem)
        # the point there; a motion must be steady, and its form constant in time
        at = problem.at(solution.x)
        point = Point(at.q, at.v, at.z, at.u, whole(dae, at.u, at.p, at.q), 0.0)
        spin = spin_of(self._quaternions, point.q, point.v)
        if problem.moving:
            if not is_steady(dae, point, spin):
                raise EquilibriumError(
                    f"{dae.name}: the motion that is held changes the linear form in time, as a coordinate moves on "
                    "which the form depends: take joint coordinates, or hold velocities that are zero"
                )
            self._refuse_periodic(point, spin)
        return Operating(point, spin, told(self.model, problem, solution, self.values, notices), solution)

    @cached_property
    def _quaternions(self) -> list[list[int]]:
        """Numbers of the coordinates of each quaternion."""
        return quaternions(self.dae)

    @cached_property
    def _slope(self) -> ca.Function:
        """Function (q, v, z, u, p, t, dq, dv, dz) -> how accelerations and the rates of z change in that direction."""
        arguments = self.dae.symbols()
        q, v, z = arguments[:3]
        way = [ca.SX.sym(name, item.numel()) for name, item in (("dq", q), ("dv", v), ("dz", z))]
        rates = ca.vertcat(self.dae.acceleration(*arguments)[0], self.dae.equations.flow(*arguments))
        slope = ca.jtimes(rates, ca.vertcat(q, v, z), ca.vertcat(*way))
        return ca.Function("slope", [*arguments, *way], [ca.densify(slope)])

    def _refuse_periodic(self, point: Point, spin: Array) -> None:
        """Check that the linear form about a steady motion does not change in time.

        Raises:
            EquilibriumError: it does: the form in some direction is another one later.
        """
        q, v, z, u, p, t = point
        n = len(q)
        # slopes along one direction at later times, turned back by exp(-S t)
        way = np.cos(1 + np.arange(2 * n + len(z)) ** 1.5)  # no direction in particular
        slopes = []
        for time in AHEAD if np.any(v) else ():
            turn = expm(time * spin)
            there, rate = moved(point, time, spin, turn)
            dq, dv = turn @ way[:n], turn @ (way[n : 2 * n] + spin @ way[:n])
            slope = column(self._slope(there, rate, z, u, p, t + time, dq, dv, way[2 * n :]))
            slopes.append(np.concatenate([turn.T @ slope[:n], slope[n:]]))
        # all alike, or the form changes in time
        for later in slopes[1:]:
            size = np.abs(slopes[0]) + LEAST * np.abs(slopes[0]).max(initial=0.0)
            if not np.all(np.abs(later - slopes[0]) <= ALIKE * size):
                raise EquilibriumError(
                    f"{self.dae.name}: the linear form changes in time along the steady motion, as something that "
                    "turns or moves on is not alike all round or along its way: eigenvalues at one time say nothing "
                    "about it; begin with velocities that are zero, or take bodies, springs and surfaces that are alike"
                )

    def linear(self, operating: Operating, chosen: tuple[str, ...] = ()) -> Linear:
        """Return the state-space form about a steady state, with some outputs."""
        return linearized(self.dae, operating.point, chosen, spin=operating.spin)


def is_steady(dae: Dae, point: Point, spin: Array) -> bool:
    """Return whether a state stays as it is, or moves on with the rates that it has.

    Args:
        dae: the equations.
        point: the state.
        spin: matrix S by which its quaternions turn, shape (n, n), 1/s.
    """
    q, v, z, u, p, t = point
    if dae.sampling:
        memory = p[dae.n_p - dae.n_d :]
        after = column(dae.sampling.update(q, v, z, u, p, t, np.ones(dae.n_c)))
        if not np.max(np.abs(after - memory), initial=0.0) <= STEADY:
            return False
    for time in AHEAD if np.any(v) else AHEAD[:1]:
        there, rate = moved(point, time, spin, expm(time * spin))
        later = t + time  # drives move on too
        gaps = [
            column(dae.acceleration(there, rate, z, u, p, later)[0]) - spin @ spin @ there,
            dae.equations.flow(there, rate, z, u, p, later),
            dae.constraints.Phi(there, p, later),
            dae.constraints.Phi_q(there, p, later) @ rate + dae.constraints.Phi_t(there, p, later),
            dae.constraints.G(there, p, later) @ rate + dae.constraints.g(there, p, later),
        ]
        if not all(np.max(np.abs(column(item)), initial=0.0) <= STEADY for item in gaps):
            return False
    return True


def moved(point: Point, time: float, spin: Array, turn: Array) -> tuple[Array, Array]:
    """Return coordinates and rates of a steady motion at a later time, s; turn: exp(S t) of its spin S."""
    turned = turn @ point.q
    return turned + time * (point.v - spin @ point.q), point.v + spin @ (turned - point.q)


def checked_hold(hold: Mapping[str, float] | None) -> dict[str, float]:
    """Return the values that are held.

    Raises:
        UsageError: one is not finite.
    """
    for name, value in (hold or {}).items():
        if not math.isfinite(value):
            raise UsageError(f"hold: {name} = {value} must be a finite number")
    return dict(hold or {})

"""EquationFunctions: the equations of a model as CasADi Functions, made when they are first used.

With C = [Phi_q; G], the index-1 form and the state x = [q; v; z]:

    M(q, p, t) a + C^T lambda = force(q, v, z, u, p, t),    C a = gamma(q, v, p, t)
    z' = flow(q, v, z, u, p, t)
    x' = rhs(x, u, p, t)                                    explicit
    residual(x', x, lambda, u, p, t) = 0                    implicit

All values are in SI units, all vectors columns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.analysis.linearization.mechanism import Point, point_of
from mbfmu.dae import Dae
from mbfmu.dae.states import per_second, units_of
from mbfmu.errors import UnknownNameError, UsageError, nearest
from mbfmu.model import Model
from mbfmu.prepared.prepare import prepare_run
from mbfmu.prepared.settings import RunSettings

Array = npt.NDArray[np.float64]
Function = ca.Function
SX = ca.SX

STATE = ("q", "v", "z", "u", "p", "t")
"""Names of the arguments of Functions of the whole state."""
FUNCTIONS = (
    "mass", "force", "flow", "constraints", "constraint_jacobian", "constraint_rate", "gamma", "acceleration",
    "multipliers", "rhs", "residual", "outputs", "kinetic", "potential", "power", "sampling", "guards",
)  # fmt: skip
"""Names of the Functions that have no arguments of their own, as `pose` has."""


@dataclass(frozen=True)
class EquationEntry:
    """An entry of q, v, z, u, p or of the outputs.

    Args:
        name: full dotted name.
        unit: SI unit.
        description: one line.
        value: default, or start value; of coordinates and rates see `ModelEquations.start`.
        min, max: bounds.
        nominal: usual size of a first-order state.
    """

    name: str
    unit: str
    description: str = ""
    value: float = 0.0
    min: float = -np.inf
    max: float = np.inf
    nominal: float = 1.0


@dataclass(frozen=True, repr=False)
class EquationFunctions:
    """The Functions of a model's equations; `ModelEquations` has the arguments, and adds runs and exports."""

    model: Model
    coordinates: str | None
    parameters: tuple[str, ...]
    dae: Dae = field(compare=False)
    source: tuple[str, Mapping[str, Any]] | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        """Return name and sizes."""
        sizes = ", ".join(f"{size} {name}" for name, size in self.sizes.items())
        return f"<equations of {self.dae.name}: {sizes}>"

    # names and numbers

    @cached_property
    def quantities(self) -> dict[str, tuple[EquationEntry, ...]]:
        """Names, units, defaults and bounds of the entries of q, v, z, u, p and y, the outputs."""
        dae = self.dae
        units = units_of(dae, dae.coordinates)
        every = {item.name: item for item in dae.parameters}
        p = [
            EquationEntry(item.name, item.unit, item.description, item.value, item.min, item.max)
            for item in (every[name] for name in self.parameters)
        ]
        return {
            "q": tuple(EquationEntry(name, unit) for name, unit in zip(dae.coordinates, units, strict=True)),
            "v": tuple(
                EquationEntry(f"der({name})", per_second(unit))
                for name, unit in zip(dae.coordinates, units, strict=True)
            ),
            "z": tuple(
                EquationEntry(item.name, item.unit, item.description, item.start or 0.0, nominal=item.nominal)
                for item in dae.states
            ),
            "u": tuple(
                EquationEntry(item.name, item.unit, item.description, item.start, item.min, item.max)
                for item in dae.inputs
            ),
            "p": (*p, *(EquationEntry(name, "1", "memory", value) for name, value in self._memory)),
            "y": tuple(EquationEntry(item.name, item.unit, item.description) for item in dae.outputs),
        }

    @cached_property
    def names(self) -> dict[str, tuple[str, ...]]:
        """Names of the entries of q, v, z, u, p, y, of the state x and of the multipliers."""
        names = {key: tuple(item.name for item in items) for key, items in self.quantities.items()}
        return {**names, "x": (*names["q"], *names["v"], *names["z"]), "lambda_": self._multiplier_names()}

    @property
    def sizes(self) -> dict[str, int]:
        """Number of entries of q, v, z, u, p, y, of the state x and of the multipliers."""
        return {key: len(names) for key, names in self.names.items()}

    @property
    def is_ode(self) -> bool:
        """Whether there are no constraints, so that `rhs` is all there is; else it keeps them to first order only."""
        return not self.dae.m + self.dae.k

    @property
    def p(self) -> Array:
        """The default of p: parameters, then the memory of sampled inputs and blocks, and modes, at the start."""
        return np.array([item.value for item in self.quantities["p"]])

    @property
    def u(self) -> Array:
        """The default of u."""
        return self.dae.u_default()

    @cached_property
    def start(self) -> Point:
        """The consistent start: q, v, z, u, p and t, after what sampled blocks compute then.

        Raises:
            StartError: there is none.
        """
        run = RunSettings(stepper="projected", coordinates=self.coordinates)
        q, v, z, u, p, t = point_of(prepare_run(self.model, run), self.dae, {})
        kept = p[[*self._kept, *range(len(self.dae.parameters), len(p))]]
        if self.dae.sampling:
            offsets = np.array(self.dae.sampling.timing(p)).ravel()[1::2]
            kept = np.array(self.sampling(q, v, z, u, kept, t, np.where(offsets == t, 1.0, 0.0))).ravel()
        return Point(q, v, z, u, kept, t)

    # Functions

    @cached_property
    def mass(self) -> Function:
        """Function (q, p, t) -> M, shape (n, n), positive definite."""
        q, p, _ = self._pose
        return self._function("mass", "qpt", M=self.dae.equations.M(q, p))

    @cached_property
    def force(self) -> Function:
        """Function (q, v, z, u, p, t) -> right side of the equations of motion, along the coordinates, shape (n,)."""
        return self._function("force", STATE, force=self.dae.equations.force(*self.inner))

    @cached_property
    def flow(self) -> Function:
        """Function (q, v, z, u, p, t) -> z', shape (n_z,)."""
        return self._function("flow", STATE, flow=self.dae.equations.flow(*self.inner))

    @cached_property
    def constraints(self) -> Function:
        """Function (q, p, t) -> Phi, shape (m,): the holonomic constraints, 0 on a motion."""
        return self._function("constraints", "qpt", Phi=self.dae.constraints.Phi(*self._pose))

    @cached_property
    def constraint_jacobian(self) -> Function:
        """Function (q, p, t) -> C = [Phi_q; G], shape (m + k, n), whose transpose carries the multipliers."""
        return self._function("constraint_jacobian", "qpt", C=self.dae.constraints.C(*self._pose))

    @cached_property
    def constraint_rate(self) -> Function:
        """Function (q, v, p, t) -> C v + c, shape (m + k,): the constraints on rates, 0 on a motion."""
        q, p, t = self._pose
        rate = self.dae.constraints.C(q, p, t) @ self.inner[1] + self.dae.constraints.c(q, p, t)
        return self._function("constraint_rate", "qvpt", rate=rate)

    @cached_property
    def gamma(self) -> Function:
        """Function (q, v, p, t) -> gamma with C a = gamma, shape (m + k,)."""
        q, v, _, _, p, t = self.inner
        return self._function("gamma", "qvpt", gamma=self.dae.constraints.gammas(q, v, p, t))

    @cached_property
    def acceleration(self) -> Function:
        """Function (q, v, z, u, p, t) -> a = v', shape (n,), of the index-1 form."""
        return self._function("acceleration", STATE, a=self._accelerations[0])

    @cached_property
    def multipliers(self) -> Function:
        """Function (q, v, z, u, p, t) -> lambda, shape (m + k,), of the index-1 form."""
        return self._function("multipliers", STATE, lambda_=self._accelerations[1])

    @cached_property
    def rhs(self) -> Function:
        """Function (x, u, p, t) -> x' = [v; a; z'] for x = [q; v; z].

        With constraints it is the index-1 form: exact from a consistent state, which it keeps but for drift.
        """
        q, v, z, u, p, t = self.inner
        rate = ca.vertcat(v, self._accelerations[0], self.dae.equations.flow(q, v, z, u, p, t))
        return named_function("rhs", {"x": self.x, **self._pick("upt")}, {"xdot": rate})

    @cached_property
    def residual(self) -> Function:
        """Function (xdot, x, lambda_, u, p, t) -> residual of the implicit index-1 form, shape (n_x + m + k,)."""
        q, v, z, u, p, t = self.inner
        dae, n = self.dae, self.dae.n
        xdot, lambda_ = SX.sym("xdot", self.x.numel()), SX.sym("lambda_", dae.m + dae.k)
        q_t, a, z_t = ca.vertsplit(xdot, [0, n, 2 * n, self.x.numel()])
        C = dae.constraints.C(q, p, t)
        rows = ca.vertcat(
            q_t - v,
            dae.equations.M(q, p) @ a + C.T @ lambda_ - dae.equations.force(q, v, z, u, p, t),
            z_t - dae.equations.flow(q, v, z, u, p, t),
            C @ a - dae.constraints.gammas(q, v, p, t),
        )
        return named_function(
            "residual", {"xdot": xdot, "x": self.x, "lambda_": lambda_, **self._pick("upt")}, {"r": rows}
        )

    @cached_property
    def outputs(self) -> Function:
        """Function (q, v, z, u, p, t) -> y, all outputs; angles without the full turns that a run counts."""
        return self._function("outputs", STATE, y=self.y)

    def output(self, *names: str) -> Function:
        """Return the Function (q, v, z, u, p, t) -> some outputs, a column in the order of their names.

        Args:
            names: names of the outputs.

        Raises:
            UnknownNameError: there is no such output.
        """
        return self._function("output", STATE, y=self.y[[self.row(name) for name in names]])

    @cached_property
    def kinetic(self) -> Function:
        """Function (q, v, p) -> kinetic energy, J."""
        q, v, _, _, p, _ = self.inner
        return self._function("kinetic", "qvp", T=self.dae.energies.kinetic(q, v, p))

    @cached_property
    def potential(self) -> Function:
        """Function (q, p, t) -> potential energy, J."""
        return self._function("potential", "qpt", V=self.dae.energies.potential(*self._pose))

    @cached_property
    def power(self) -> Function:
        """Function (q, v, z, u, p, t) -> power that inputs and losses put into the energy, W, without constraints'.

        Raises:
            UsageError: the equations have no energy.
        """
        if self.dae.energies.power is None:
            raise UsageError(f"'{self.dae.name}' has no energy, whose power could be given")
        return self._function("power", STATE, P=self.dae.energies.power(*self.inner))

    @cached_property
    def sampling(self) -> Function:
        """Function (q, v, z, u, p, t, due) -> p_next, after an instant at which blocks compute: those whose due is 1.

        Raises:
            UsageError: there are no sampled blocks.
        """
        dae = self.dae
        if dae.sampling is None:
            raise UsageError(f"'{dae.name}' has no sampled blocks: leave sampling out")
        due, (*_, p, _) = SX.sym("due", dae.n_c), self.symbols
        memory = dae.sampling.update(*self.inner, due)
        last = p.numel() - dae.n_modes
        after = ca.vertcat(p[: last - dae.n_d], memory, p[last:])
        return named_function("sampling", {**self._pick(STATE), "due": due}, {"p_next": after})

    @cached_property
    def guards(self) -> Function:
        """Function (q, v, z, u, p, t) -> numbers that are positive as long as the modes hold.

        Raises:
            UsageError: there are no modes.
        """
        if self.dae.switching is None:
            raise UsageError(f"'{self.dae.name}' has no gaps or dry friction: leave guards out")
        q, v, z, u, p, t = self.inner
        a, lambda_ = self.dae.acceleration(*self.inner)
        return self._function("guards", STATE, guards=self.dae.switching.guards(q, v, z, a, lambda_, u, p, t))

    # pieces

    def _multiplier_names(self) -> tuple[str, ...]:
        """Return the joint or body of each row of C; of a gap or slip that is switched, its name."""
        dae = self.dae
        switched = [name.removesuffix("_slack") for name in dae.coordinates if name.endswith("_slack")]
        gaps = [name for name in switched if name.endswith(".gap")]
        slips = switched[len(gaps) :]
        # slips of sliding bodies are holonomic rows, those of rolling ones are rows of velocities
        sliding = dae.m - len(dae.row_names) - len(gaps)
        if 0 < sliding < len(slips):
            slips = [f"slip {k + 1}" for k in range(len(slips))]
        rolling = slips[sliding:]
        velocities = (f"velocity constraint {k + 1}" for k in range(dae.k - len(rolling)))
        return (*dae.row_names, *gaps, *slips[:sliding], *velocities, *rolling)

    @cached_property
    def _kept(self) -> list[int]:
        """Indices in p of `dae` of the parameters that are arguments."""
        known = [item.name for item in self.dae.parameters]
        return [known.index(name) for name in self.parameters]

    @cached_property
    def _memory(self) -> list[tuple[str, float]]:
        """Names and values at the start of the entries of p after the parameters."""
        dae = self.dae
        names = ["time of the sampled inputs", *(dae.inputs[k].name for k in dae.sampled)] if dae.sampled else []
        names += [f"reflection[{k + 1}]" for k in range(dae.n_w)]
        names += [item.name for item in dae.sampling.memory] if dae.sampling else []
        names += [item.name for item in dae.switching.memory] if dae.switching else []
        values = dae.extended(dae.p_default())[len(dae.parameters) :]
        return list(zip(names, map(float, values), strict=True))

    @cached_property
    def symbols(self) -> tuple[SX, ...]:
        """The symbols of (q, v, z, u, p, t), in which p has the parameters that are arguments, and the memory."""
        q, v, z, u, _, t = self.dae.symbols()
        return q, v, z, u, SX.sym("p", len(self._kept) + len(self._memory)), t

    def _whole(self, p: SX) -> SX:
        """Return p of `dae`."""
        free, memory = ca.vertsplit(p, [0, len(self._kept), p.numel()])
        known = [item.name for item in self.dae.parameters]
        values = dict(zip(known, self.dae.p_default().tolist(), strict=True)) | dict(
            zip(self.parameters, ca.vertsplit(free), strict=True)
        )
        return ca.vertcat(SX(0, 1), *values.values(), memory)

    @cached_property
    def inner(self) -> tuple[SX, ...]:
        """The arguments (q, v, z, u, p, t) of the functions of `dae`."""
        *others, p, t = self.symbols
        return *others, self._whole(p), t

    @property
    def _pose(self) -> tuple[SX, SX, SX]:
        return self.inner[0], self.inner[4], self.inner[5]

    @cached_property
    def x(self) -> SX:
        return ca.vertcat(*self.symbols[:3])

    @cached_property
    def _accelerations(self) -> tuple[SX, SX]:
        a, lambda_ = self.dae.acceleration(*self.inner)
        return a, lambda_

    @cached_property
    def y(self) -> SX:
        """All outputs, in terms of `symbols`."""
        q, v, z, u, p, t = self.inner
        y: SX = self.dae.output(q, v, z, self.dae.angles(q, p, t), *self._accelerations, u, p, t)
        return y

    def row(self, name: str) -> int:
        """Return the index of an output; errors as for `output`."""
        known = self.names["y"]
        if name not in known:
            raise UnknownNameError(f"'{self.dae.name}' has no output '{name}'; {nearest(name, known)}")
        return known.index(name)

    def _pick(self, names: Sequence[str]) -> dict[str, SX]:
        return {name: self.symbols[STATE.index(name)] for name in names}

    def _function(self, name: str, arguments: Sequence[str], **results: SX) -> Function:
        return named_function(name, self._pick(arguments), results)


def named_function(name: str, arguments: Mapping[str, SX], results: Mapping[str, SX]) -> Function:
    """Return a Function with named arguments and results; columns are dense, matrices have their pattern."""
    values = [ca.densify(item) if item.is_column() else item for item in results.values()]
    return ca.Function(name, [*arguments.values()], ca.cse(values), [*arguments], [*results])

"""Equilibrium: where a machine stays at rest or moves steadily, the trim that holds it there, and its stability.

The unknowns x are the coordinates q, the first-order states z and what is freed: inputs and parameters. In a steady
motion, in which rates are held, the rates v are unknown too. At t = 0 they meet

    Phi(q, p) = 0,    a(q, v, z, u, p) = 0,    z' = 0,    the values that are held,

with the accelerations a of the index-1 form, in which the forces of the constraints balance the others. At rest v = 0;
in a steady motion [Phi_q; G] v + [Phi_t; g] = 0, and the rates of all joints that are not held, and the accelerations of
all joints, are zero. The equations may be more than the unknowns, as long as they agree: those of a machine with
constraints repeat each other. Newton's method therefore takes the least correction -J^+ f, with the rows and columns of
J = f_x scaled; it is damped so that the correction falls that J^+ asks for next (the natural monotonicity test: Deuflhard,
Newton Methods for Nonlinear Problems, 2004, chapter 3). The rank of J at the end says what nothing determines.
"""

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import tomllib

from mbfmu.arguments import checked
from mbfmu.dae import Dae, derive
from mbfmu.dae.start import assembled, scaled_rows
from mbfmu.errors import EquilibriumError, MbfmuError, UnknownNameError, UsageError, nearest
from mbfmu.files import ending_of, write_aside
from mbfmu.linearization.mechanism import linearize_about
from mbfmu.model import LagrangianSystem, Model, System
from mbfmu.model.library import model_of
from mbfmu.model.mechanism import flatten

Array = npt.NDArray[np.float64]
SX = Any

ENDINGS = (".json", ".toml")
"""Endings of start files."""
STABLE, UNSTABLE, UNDECIDED = "stable", "unstable", "undecided on the imaginary axis"
"""Verdicts of the linearization."""
MOST_STEPS = 200
"""Largest number of Newton's corrections from one start."""
LONGEST = 0.3
"""Longest correction of a coordinate, m or rad."""
HALVINGS = 20
"""Largest number of times that a correction is halved."""
RANK = 1e-9
"""Singular value of the scaled slopes, relative to the largest, below which it counts as zero; the same for the length
of a column."""
COARSE = 0.03
"""The same for a second try: where a whole line of equilibria bends, the first asks for corrections along it."""
SHORT = 1e-3
"""Length of a row, relative to the longest of its kind, up to which rows are scaled: shorter ones are curved most."""
SETTLED = 1e-13
"""Correction, relative to the unknowns, that round-off explains."""
MET = 1e-8
"""Largest distance of the unknowns from meeting an equation, relative to their sizes, that counts as met."""
SHARE = 0.1
"""Smallest share of an unknown in what nothing determines for a message to name it."""
AROUND = (3.0, 1.0)
"""Distances of other starts, m, rad or nominal sizes: nearly opposite, and beside."""
UNEVEN = 0.05
"""Largest further shift of a start, for starts that are singular positions."""
MOST_STARTS = 8
"""Largest number of freedoms along which other starts lie."""
PARALLEL = 0.99
"""Cosine from which two freedoms are one."""
SAME = 1e-6
"""Largest difference of two equilibria that count as one, relative to the sizes of the unknowns."""
MOST_BRANCHES = 6
"""Largest number of further equilibria that are told."""
AS_NEAR = 1.1
"""Largest ratio of the distances of two equilibria from the start that makes them equally near."""
QUATERNION = 4
"""Number of entries of a quaternion, which with all signs reversed is the same rotation."""
NAMED = 3
"""Largest number of names in a message."""


@dataclass(frozen=True)
class Item:
    """A quantity of an equilibrium that was asked for or found.

    Args:
        name: full dotted name.
        unit: SI unit.
        role: ``coordinate``, ``rate``, ``state``, ``input``, ``parameter`` or ``held``.
        value: its value there.
        start: its value at the start.
    """

    name: str
    unit: str
    role: str
    value: float
    start: float


@dataclass(frozen=True)
class Equilibrium:
    """A state in which a machine stays, or moves steadily.

    Args:
        name: of the model.
        items: what was held, and what was found: coordinates of joints, first-order states, freed inputs and parameters.
        values: start values, inputs and parameters by name, with which the model starts there, as `with_values` takes
            them.
        outputs: all outputs there, by name, such as the forces in springs and joints.
        eigenvalues: of the linearization there, 1/s, each conjugate pair once; parts that are round-off are 0.
        unknowns: names of what was solved for.
        equations: names of the equations.
        residual: what remains, at most: of accelerations, m/s2 or rad/s2, of rates of states in units of their nominal
            sizes, 1/s, or of constraints.
        corrections: number of corrections of Newton's method.
        branches: further equilibria near the start, the nearest first.
        notices: what a user should know about the search.
    """

    name: str
    items: tuple[Item, ...]
    values: dict[str, Any]
    outputs: dict[str, float]
    eigenvalues: npt.NDArray[np.complex128]
    unknowns: tuple[str, ...]
    equations: tuple[str, ...]
    residual: float
    corrections: int
    branches: tuple["Equilibrium", ...] = ()
    notices: tuple[str, ...] = field(default=())

    def __getitem__(self, name: str) -> float:
        """Return the value of an output, a freed input or a freed parameter.

        Raises:
            UnknownNameError: there is nothing of that name.
        """
        known = {**self.outputs, **{item.name: item.value for item in self.items}}
        if name not in known:
            raise UnknownNameError(f"the equilibrium has no '{name}'; {nearest(name, known)}")
        return known[name]

    @property
    def stability(self) -> str:
        """The verdict of the linearization; its zero eigenvalues decide nothing."""
        if np.any(self.eigenvalues.real > 0):
            return UNSTABLE
        return STABLE if np.all(self.eigenvalues.real < 0) else UNDECIDED

    @checked
    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write `values` as a start file, .json or .toml; numbers read back exactly.

        Raises:
            UsageError: the path has another ending.
            MbfmuError: the file cannot be written.
        """
        target = Path(path)
        if ending_of(target, ENDINGS) == ".json":
            return write_aside(target, f"{json.dumps(self.values, indent=1)}\n".encode())
        lines = (f"{json.dumps(name)} = {json.dumps(value)}\n" for name, value in self.values.items())
        return write_aside(target, "".join(lines).encode())


def read_start(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a start file, such as `Equilibrium.write` makes: values by name, numbers or texts such as ``guess(0.3)``.

    Raises:
        UsageError: the path has another ending.
        MbfmuError: the file is missing, does not parse, or holds something else.
    """
    source = Path(path)
    parse: Callable[[str], Any] = json.loads if ending_of(source, ENDINGS) == ".json" else tomllib.loads
    try:
        found = parse(source.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise MbfmuError(f"cannot read the start file '{path}': {error}") from None
    if not isinstance(found, dict):
        raise MbfmuError(f"the start file '{path}' must hold values by name")
    for name, value in found.items():
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise MbfmuError(
                f"the start file '{path}': {name} = {value!r} must be a number, or a text as --set takes it"
            )
    return found


@checked
def equilibrium(
    model: Model | str | os.PathLike[str],
    *,
    free: Sequence[str] = (),
    hold: Mapping[str, float] | None = None,
    values: Mapping[str, Any] | None = None,
    coordinates: str | None = None,
) -> Equilibrium:
    """Return the equilibrium of a mechanism or a block that Newton's method finds from its start, with those around.

    Args:
        model: the mechanism or block, a name in models/, or the path of a model file.
        free: names of inputs and parameters that are unknown beside the coordinates and the first-order states.
        hold: values that outputs, such as coordinates, rates, states or forces, or inputs are to have, in SI units, by
            name. A rate that is held at another value than zero makes it a steady motion, and its coordinate, on which
            nothing may depend, keeps its start value.
        values: start values, inputs and parameters that differ from the model's, by name.
        coordinates: ``absolute`` or ``joint``; None: joint coordinates if they are fewer.

    Raises:
        EquilibriumError: there is no equilibrium near the start, or the equations do not determine it.
        UnknownNameError: there is nothing of a name.
        ModelError: the model is invalid.
        UsageError: something is both free and held, or a value is not finite.
    """
    system = model_of(model, values)
    for name, value in (hold or {}).items():
        if not math.isfinite(value):
            raise UsageError(f"hold: {name} = {value} must be a finite number")
    return equilibrium_of(system, derive(system, coordinates), hold or {}, values or {}, tuple(free))


def equilibrium_of(
    system: Model, dae: Dae, hold: Mapping[str, float], given: Mapping[str, Any], free: tuple[str, ...] = ()
) -> Equilibrium:
    """Return the equilibrium of equations; arguments and errors as for `equilibrium`.

    Args:
        system: the model.
        dae: its equations.
        hold: values by name.
        given: values that the result passes on, by name.
        free: names of what is unknown too.
    """
    problem = _Problem(dae, _Start.of(dae, hold), free, dict(hold))
    first, others, notices = _search(problem)
    found = [_told(system, problem, item, given, notices) for item in (first, *others)]
    return replace(found[0], branches=tuple(found[1:]))


@dataclass(frozen=True)
class _Start:
    """The state from which the search begins, at t = 0."""

    q: Array
    v: Array
    s: Array
    u: Array
    p: Array

    @classmethod
    def of(cls, dae: Dae, hold: Mapping[str, float]) -> "_Start":
        s, p = dae.s_default(), dae.p_default()
        names = [item.name for item in dae.inputs]
        u = np.array([hold.get(name, value) for name, value in zip(names, dae.u_default(), strict=True)])
        q = _column(assembled(dae, list(s), list(_whole(dae, u, p)), 0.0))
        return cls(q, np.zeros(dae.n), s, u, p)


def _whole(dae: Dae, u: Any, p: Any) -> Any:
    """Return p of the equations, with the sampled inputs as they are at t = 0; arrays or expressions."""
    if not dae.sampled:
        return p
    held = [u[k] for k in dae.sampled]
    return np.array([*p, 0.0, *held]) if isinstance(p, np.ndarray) else ca.vertcat(p, 0, *held)


@dataclass(frozen=True)
class _State:
    """The unknowns as the equations take them; arrays or expressions."""

    q: Any
    v: Any
    z: Any
    u: Any
    p: Any


class _Problem:
    """Unknowns and equations of an equilibrium.

    Args:
        dae: the equations of the model.
        start: where the search begins.
        free: names of inputs and parameters that are unknown.
        hold: values of outputs and inputs, by name.
    """

    def __init__(self, dae: Dae, start: _Start, free: tuple[str, ...], hold: dict[str, float]) -> None:
        self.dae, self.start = dae, start
        self.free = tuple(dict.fromkeys(free))
        self.positions, self.rates, self.gains = _chains(dae)
        inputs = [item.name for item in dae.inputs]
        self.hold = {name: value for name, value in hold.items() if name not in inputs}
        self.given = {name: value for name, value in hold.items() if name in inputs}
        self._refuse_names(inputs)
        own = len(dae.assembly.starts)
        q, v, _, u, p, _ = dae.symbols()
        s = ca.SX.sym("s", len(dae.starts) - own)
        still = (
            _column(dae.Phi_t(start.q, _whole(dae, start.u, start.p), 0.0)),
            _column(dae.g(start.q, _whole(dae, start.u, start.p), 0.0)),
        )
        turning = [name for name in self.rates if self.hold.get(name)]
        self.moving = bool(turning) or any(np.any(item) for item in still)
        for name in turning:  # its place along the motion stays
            place = next(item.derivative_of for item in dae.outputs if item.name == name)
            if place and place not in self.hold:
                self.hold[place] = self._at_start(place)
        free_u = [inputs.index(name) for name in self.free if name in inputs]
        parameters = [item.name for item in dae.parameters]
        free_p = [parameters.index(name) for name in self.free if name in parameters]
        u_all, p_all = ca.SX(ca.DM(start.u)), ca.SX(ca.DM(start.p))
        for k in free_u:
            u_all[k] = u[k]
        for k in free_p:
            p_all[k] = p[k]
        if not dae.inputs:
            u_all = ca.SX(0, 1)
        if not dae.parameters:
            p_all = ca.SX(0, 1)
        whole, zero = _whole(dae, u_all, p_all), ca.SX(0)
        v_all = v if self.moving else ca.SX.zeros(dae.n)
        known = ca.vertcat(ca.SX(ca.DM(start.s[:own])), s) if own else s
        z_all = dae.first_states(q, v_all, known[own:], whole, zero) if dae.first_states else s
        states = [item for item in dae.states if item.start is not None]
        x = ca.vertcat(q, v if self.moving else ca.SX(0, 1), s, *(u[k] for k in free_u), *(p[k] for k in free_p))
        self.sizes = np.array([
            *np.ones(dae.n), *np.ones(dae.n if self.moving else 0), *(item.nominal for item in states),
            *(dae.inputs[k].nominal or max(1.0, abs(start.u[k])) for k in free_u),
            *(abs(start.p[k]) or 1.0 for k in free_p),
        ])  # fmt: skip
        self.first = np.concatenate([
            start.q, start.v if self.moving else [], start.s[own:], start.u[free_u], start.p[free_p]
        ])  # fmt: skip
        self.names = (
            *dae.coordinates, *(f"der({name})" for name in dae.coordinates if self.moving),
            *(item.name for item in states), *(inputs[k] for k in free_u), *(parameters[k] for k in free_p),
        )  # fmt: skip
        self.bounds = {dae.parameters[k].name: (dae.parameters[k].min, dae.parameters[k].max) for k in free_p}
        state = _State(q, v_all, z_all, u_all, p_all)
        rows = self._rows(state, whole)
        self.equations, self.kinds = tuple(name for name, _, _ in rows), tuple(kind for _, kind, _ in rows)
        f = ca.densify(ca.vertcat(ca.SX(0, 1), *(value for _, _, value in rows)))
        self.function = ca.Function("equilibrium", [x], [f, ca.densify(ca.jacobian(f, x))])
        self.state = ca.Function("state", [x], [ca.densify(item) for item in (q, v_all, z_all, u_all, p_all)])

    def _refuse_names(self, inputs: list[str]) -> None:
        """Raise an error for names that are unknown, or both free and held."""
        dae = self.dae
        outputs = [item.name for item in dae.outputs]
        parameters = [item.name for item in dae.parameters]
        bound = [item.name for item in dae.bound]
        solved = [*dae.coordinates, *self.positions, *(item.name for item in dae.states)]
        for name in self.free:
            if name in bound:
                raise UsageError(f"'{name}' of '{dae.name}' follows from other parameters: free one of these")
            if name not in (*inputs, *parameters, *solved):
                raise UnknownNameError(
                    f"'{dae.name}' has no input, parameter, state or coordinate '{name}'; "
                    + nearest(name, [*inputs, *parameters, *solved])
                )
        for name in self.hold:
            if name in parameters:
                raise UsageError(f"'{name}' is a parameter, which keeps its value: give it with --set {name}=VALUE")
            if name not in outputs:
                raise UnknownNameError(
                    f"'{dae.name}' has no output or input '{name}'; {nearest(name, [*outputs, *inputs])}"
                )
        for name in self.free:
            if name in self.hold or name in self.given:
                raise UsageError(f"'{name}' is both free and held: drop one of the two")

    def _at_start(self, name: str) -> float:
        """Return an output at the start, at rest."""
        dae, start = self.dae, self.start
        p = _whole(dae, start.u, start.p)
        s = start.s[len(dae.assembly.starts) :]
        z = dae.first_states(start.q, start.v, s, p, 0.0) if dae.first_states else s
        angles = dae.angles(start.q, p, 0.0)
        y = dae.output(start.q, start.v, z, angles, 0 * start.q, np.zeros(dae.m + dae.k), start.u, p, 0.0)
        return float(y[[item.name for item in dae.outputs].index(name)])

    def _rows(self, state: _State, p: SX) -> list[tuple[str, str, SX]]:
        """Return the equations: name, kind and what is to be zero."""
        dae, zero = self.dae, ca.SX(0)
        q, v, z, u = state.q, state.v, state.z, state.u
        units = {item.name: item.unit for item in dae.outputs}
        rows: list[tuple[str, str, SX]] = []

        def add(names: Iterable[str], kind: str, values: SX) -> None:
            rows.extend((name, kind, values[k]) for k, name in enumerate(names))

        turned = ca.SX.sym("turned", dae.n_angles)
        wanted = [name for name in self.hold if name not in dae.coordinates]
        quiet = [name for name in self.rates if name not in self.hold] if self.moving else []
        shown = [*wanted, *quiet, *(self.gains if self.moving else ())]
        a, lambda_ = dae.acceleration(q, v, z, u, p, zero)
        y: dict[str, SX] = {}
        if shown:
            numbers = {item.name: k for k, item in enumerate(dae.outputs)}
            every = dae.output(q, v, z, turned, a, lambda_, u, p, zero)
            y = {name: every[numbers[name]] for name in shown}
        angles = dae.angles(q, p, zero)

        def counted(value: SX) -> SX:
            return ca.substitute(value, turned, angles) if dae.n_angles else value

        add((f"constraint of {name}" for name in dae.row_names), "constraint", dae.Phi(q, p, zero))
        if self.moving:
            C = ca.vertcat(dae.Phi_q(q, p, zero), dae.G(q, p, zero))
            speeds = C @ v + ca.vertcat(dae.Phi_t(q, p, zero), dae.g(q, p, zero))
            names = [*dae.row_names, *(f"nonholonomic row {k}" for k in range(1, dae.k + 1))]
            add((f"rate of the constraint of {name}" for name in names), "speed", speeds)
            add((f"{name} = 0" for name in quiet), "speed", [counted(y[name]) for name in quiet])
            add((f"{name} = 0" for name in self.gains), "acceleration", [counted(y[name]) for name in self.gains])
        else:
            add((f"acceleration of {name}" for name in dae.coordinates), "acceleration", a)
        flow = dae.flow(q, v, z, u, p, zero) / ca.DM(dae.nominal_states) if dae.n_z else ca.SX(0, 1)
        add((f"rate of {item.name}" for item in dae.states), "flow", flow)
        for name, value in self.hold.items():
            if name in dae.coordinates:
                gap = q[dae.coordinates.index(name)] - value
            else:
                gap = counted(y[name] - value)
                if dae.n_angles and units[name] == "rad" and ca.depends_on(y[name], turned):
                    gap = ca.atan2(ca.sin(gap), ca.cos(gap))
            rows.append((f"{name} = {value:g}", "place" if name in self.positions else "held", gap))
        return rows

    def at(self, x: Array) -> _State:
        """Return what unknowns stand for."""
        return _State(*(_column(item) for item in self.state(x)))


def _chains(dae: Dae) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the names of the coordinates, of their rates and of their accelerations, of all joints or of the model."""
    if not dae.n:
        return (), (), ()
    joints = {item.name for item in dae.skeleton.joints} if dae.skeleton else {""}
    own = [item for item in dae.outputs if item.kind == "output" and item.name.rpartition(".")[0] in joints]
    differentiated = {item.derivative_of for item in own}
    gains = [item for item in own if item.derivative_of and item.name not in differentiated]
    rates = tuple(item.derivative_of for item in gains if item.derivative_of)
    last = {*rates, *(item.name for item in gains)}
    return tuple(item.name for item in own if item.name not in last), rates, tuple(item.name for item in gains)


# -- Newton's method ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Found:
    """Where Newton's method ended.

    Args:
        x: the unknowns.
        f: the equations' residuals.
        J: their slopes.
        gaps: distance of the unknowns from meeting each equation, relative to their sizes.
        rank: of J.
        loose: unknowns that nothing determines: an orthonormal basis, shape (number, n_x).
        settled: whether no further correction is asked for.
        corrections: how many were made.
    """

    x: Array
    f: Array
    J: Array
    gaps: Array
    rank: int
    loose: Array
    settled: bool
    corrections: int

    @property
    def met(self) -> bool:
        """Return whether all equations are met."""
        return self.settled and bool(np.max(self.gaps, initial=0.0) <= MET)


@dataclass(frozen=True)
class _Slopes:
    """The pseudo-inverse of J, with rows and columns scaled."""

    rows: Array
    columns: Array
    left: Array
    values: Array
    right: Array
    rank: int

    @classmethod
    def of(cls, J: Array, sizes: Array, kinds: tuple[str, ...], cut: float) -> "_Slopes":
        """Return the factors of J.

        Args:
            J: shape (number of equations, number of unknowns).
            sizes: usual sizes of the unknowns.
            kinds: kinds of the equations; a row is scaled to length 1 unless it is short among those of its kind.
            cut: singular value, relative to the largest, below which it counts as zero.
        """
        scaled = J * sizes
        length = np.linalg.norm(scaled, axis=1)
        longest = {kind: max(length[[other == kind for other in kinds]]) for kind in set(kinds)}
        most = np.array([longest[kind] or 1.0 for kind in kinds])
        rows = 1 / np.maximum(length, SHORT * most)
        scaled = scaled * rows[:, None]
        across = np.linalg.norm(scaled, axis=0)
        columns = 1 / np.where(across > RANK * max(np.max(across, initial=0.0), 1e-300), across, 1.0)
        left, values, right = np.linalg.svd(scaled * columns, full_matrices=True)
        rank = int(np.sum(values > cut * np.max(values, initial=0.0)))
        return cls(rows, columns * sizes, left, values, right, rank)

    def correction(self, f: Array) -> Array:
        """Return -J^+ f, relative to the columns' scales."""
        part = self.left[:, : self.rank].T @ (self.rows * f) / self.values[: self.rank]
        return -(self.right[: self.rank].T @ part)


def _newton(problem: _Problem, x: Array, cut: float = RANK) -> _Found:
    """Return where damped corrections lead from a start; cut: see `_Slopes`."""
    n, kinds, sizes = problem.dae.n, problem.kinds, problem.sizes
    f, J = _evaluated(problem, x)
    settled, count = False, 0
    slopes = None
    while np.all(np.isfinite(f)) and np.all(np.isfinite(J)):
        slopes = _Slopes.of(J, sizes, kinds, cut)
        step = slopes.correction(f)
        asked = float(np.linalg.norm(step))
        dx = step * slopes.columns
        if np.max(np.abs(dx) / np.maximum(sizes, np.abs(x)), initial=0.0) <= SETTLED:
            settled = True
            break
        if count == MOST_STEPS:
            break
        factor = min(1.0, LONGEST / max(float(np.max(np.abs(dx[:n]), initial=0.0)), LONGEST))
        for _ in range(HALVINGS):
            there = x + factor * dx
            f_there, J_there = _evaluated(problem, there)
            if np.all(np.isfinite(f_there)) and np.linalg.norm(slopes.correction(f_there)) <= (1 - factor / 4) * asked:
                break
            factor /= 2
        else:  # nothing falls any more: round-off if the correction is small, else a place that it cannot leave
            settled = bool(np.max(np.abs(dx) / np.maximum(sizes, np.abs(x)), initial=0.0) <= MET)
            break
        x, f, J, count = there, f_there, J_there, count + 1
    if slopes is None:
        gaps = np.full(len(f), math.inf)
        return _Found(x, f, J, gaps, 0, np.zeros((0, len(x))), False, count)
    slopes = _Slopes.of(J, sizes, kinds, RANK)
    loose = slopes.right[slopes.rank :] * slopes.columns
    return _Found(x, f, J, np.abs(f) * slopes.rows, slopes.rank, loose, settled, count)


def _evaluated(problem: _Problem, x: Array) -> tuple[Array, Array]:
    f, J = problem.function(x)
    return _column(f), np.array(J, dtype=float).reshape(len(problem.equations), len(x))


# -- the search --------------------------------------------------------------------------------------------------------


def _search(problem: _Problem) -> tuple[_Found, list[_Found], tuple[str, ...]]:
    """Return the equilibrium that is told, those around, and notices.

    Raises:
        EquilibriumError: there is none, or it is not determined.
    """
    begin = _newton(problem, problem.first)
    if not begin.met:
        again = _newton(problem, problem.first, COARSE)
        begin = again if again.met else begin
    if begin.met:
        _refuse_loose(problem, begin)
    found = [begin] if begin.met else []
    seen = [_signature(problem, item) for item in found]
    loose = None
    for x in _around(problem):
        other = _newton(problem, x)
        if other.met and other.rank < len(other.x):
            loose = loose or other
        elif other.met:
            own = _signature(problem, other)
            if not any(_alike(own, signature) for signature in seen):
                found.append(other)
                seen.append(own)
    inside = [item for item in found if not _outside(problem, item)]
    if loose and not found:
        _refuse_loose(problem, loose)
    if not inside:
        raise _failure(problem, found[0] if found else begin)

    def distance(item: _Found) -> float:
        return float(np.linalg.norm((item.x - problem.first) / problem.sizes))

    if begin in inside:
        others = sorted(inside[1:], key=distance)
        return begin, others[:MOST_BRANCHES], ()
    nearest_first = sorted(inside, key=distance)
    near = [item for item in nearest_first if distance(item) <= AS_NEAR * distance(nearest_first[0])]
    first = next((item for item in near if _stable(problem, item)), near[0])
    text = "Newton's method fails from the start values; this equilibrium was found from a start beside them"
    others = [item for item in nearest_first if item is not first]
    return first, others[:MOST_BRANCHES], (f"{problem.dae.name}: {text}",)


def _around(problem: _Problem) -> Iterable[Array]:
    """Yield other starts: where the mechanism comes to rest, and where it gets along each of its freedoms."""
    dae = problem.dae
    n_q = dae.n
    first_state = n_q * (2 if problem.moving else 1)
    states = range(first_state, first_state + sum(item.start is not None for item in dae.states))
    uneven = np.zeros(len(problem.first))
    for number, k in enumerate([*range(n_q), *states], 1):
        uneven[k] = UNEVEN * math.sin(number)
    ways: list[Array] = []
    for k in range(n_q):
        ahead = _way(problem, problem.first, np.eye(n_q)[k])[0]
        if ahead.any() and not any(abs(ahead @ way) > PARALLEL for way in ways) and len(ways) < MOST_STARTS:
            ways.append(ahead / np.linalg.norm(ahead))
    if n_q and not problem.moving:
        yield _released(problem, _walked(problem, problem.first, uneven[:n_q], UNEVEN))
    for sign in (1.0, -1.0):
        beside = _walked(problem, problem.first, sign * uneven[:n_q], UNEVEN).copy()
        beside[n_q:] += sign * (uneven * problem.sizes)[n_q:]
        yield beside
        for distance in AROUND:
            for way in ways:
                yield _walked(problem, beside, sign * way, distance)
            for k in states:
                moved = beside.copy()
                moved[k] += sign * distance * problem.sizes[k]
                yield moved


def _way(problem: _Problem, x: Array, ahead: Array) -> tuple[Array, Array]:
    """Return the part of a direction of the coordinates that constraints leave free, and the correction that closes them.

    Both have the shape (n,); the values of coordinates that are held count as constraints.
    """
    n = problem.dae.n
    f, J = _evaluated(problem, x)
    bound = np.array([kind in {"constraint", "place"} for kind in problem.kinds], dtype=bool)
    C = J[bound, :n]
    if not (np.all(np.isfinite(C)) and np.all(np.isfinite(f[bound]))):
        return np.zeros(n), np.zeros(n)
    inverse = np.linalg.pinv(C, rcond=RANK)
    free = ahead - inverse @ (C @ ahead)
    return np.where(np.abs(free) > RANK, free, 0.0), -inverse @ f[bound]


def _walked(problem: _Problem, x: Array, ahead: Array, distance: float) -> Array:
    """Return where the mechanism gets in a direction, with its loops closed all the way.

    Args:
        problem: unknowns and equations.
        x: unknowns at the start.
        ahead: direction of the coordinates, shape (n,).
        distance: how far the fastest coordinate moves, m or rad.
    """
    n, steps = problem.dae.n, math.ceil(distance / LONGEST)
    if not n:
        return x
    for _ in range(steps):
        free, _ = _way(problem, x, ahead)
        size = float(np.max(np.abs(free), initial=0.0))
        if not size:
            break
        ahead, x = free / size, x.copy()
        x[:n] += distance / steps * ahead
        x[:n] += _way(problem, x, ahead)[1]
    return x


def _released(problem: _Problem, x: Array) -> Array:
    """Return about where the mechanism comes to rest if it is released and hardly moves for resistance.

    Each step goes along the accelerations at rest, which are the steepest descent of the potential energy in the metric
    of the mass matrix; its length halves when the direction turns back.
    """
    n, length, last = problem.dae.n, LONGEST, np.zeros(problem.dae.n)
    moved = np.array([kind == "acceleration" for kind in problem.kinds], dtype=bool)
    for _ in range(MOST_STEPS):
        ahead, closing = _way(problem, x, _evaluated(problem, x)[0][moved])
        size = float(np.max(np.abs(ahead), initial=0.0))
        if ahead @ last < 0:
            length /= 2
        if length < SHORT or not SETTLED < size < math.inf:
            break
        last, x = ahead, x.copy()
        x[:n] += length * ahead / size + closing
    return x


def _signature(problem: _Problem, found: _Found) -> Array:
    """Return numbers that are the same for one equilibrium, whatever full turns and signs of quaternions it came by."""
    dae, at = problem.dae, problem.at(found.x)
    numbers = list((found.x / problem.sizes)[dae.n * (2 if problem.moving else 1) :])
    if not dae.n:
        return np.array(numbers)
    y, units = _outputs(dae, at, _whole(dae, at.u, at.p)), {item.name: item.unit for item in dae.outputs}
    groups: dict[str, list[str]] = {}
    for name in problem.positions:
        groups.setdefault(name.partition("[")[0], []).append(name)
    for names in groups.values():
        values = np.array([y[name] for name in names])
        if units[names[0]] == "rad":
            numbers += [*np.cos(values), *np.sin(values)]
        elif units[names[0]] == "1" and len(names) == QUATERNION:
            numbers += np.outer(values, values).ravel().tolist()
        else:
            numbers += values.tolist()
    return np.array(numbers)


def _alike(one: Array, other: Array) -> bool:
    return bool(np.max(np.abs(one - other) / np.maximum(1, np.abs(other)), initial=0.0) <= SAME)


def _outside(problem: _Problem, found: _Found) -> str:
    """Return what is outside its bounds; an empty text if all is inside."""
    for name, (least, most) in problem.bounds.items():
        value = found.x[problem.names.index(name)]
        if not least <= value <= most:
            return f"{name} = {value:g} is outside its bounds {least:g} to {most:g}"
    return ""


def _stable(problem: _Problem, found: _Found) -> bool:
    return not np.any(_eigenvalues(problem, found).real > 0)


def _eigenvalues(problem: _Problem, found: _Found) -> npt.NDArray[np.complex128]:
    dae, at = problem.dae, problem.at(found.x)
    linear = linearize_about(dae, at.q, at.v, at.z, at.u, _whole(dae, at.u, at.p), 0.0, ())
    return np.array([mode.eigenvalue for mode in linear.modes], dtype=np.complex128)


# -- messages ----------------------------------------------------------------------------------------------------------


def _refuse_loose(problem: _Problem, found: _Found) -> None:
    """Raise an error if the equations do not determine all unknowns."""
    if found.rank == len(found.x):
        return
    dae, missing = problem.dae, len(found.x) - found.rank
    shares = np.max(np.abs(found.loose) / np.max(np.abs(found.loose), axis=1, keepdims=True), axis=0)
    loose = [name for name, share in zip(problem.names, shares, strict=True) if share > SHARE]
    outputs = {item.name for item in dae.outputs}
    holdable = [name for name in loose if name in outputs] or _moved_outputs(problem, found)
    freed = [name for name in loose if name in problem.free]
    ways = []
    if holdable:
        at = problem.at(found.x)
        ways.append(f"--hold {holdable[0]}={_value(problem, at, holdable[0]):.4g}")
    if freed:
        ways.append(f"leave {freed[0]} out of --free")
    raise EquilibriumError(
        f"{dae.name}: {_counts(problem)}, and nothing determines {_listed(loose)}: "
        + (f"hold {missing} of them" if len(loose) > 1 else "hold it")
        + (f", such as {' or '.join(ways)}" if ways else "")
    )


def _value(problem: _Problem, at: _State, name: str) -> float:
    dae, p = problem.dae, _whole(problem.dae, at.u, at.p)
    if name in dae.coordinates:
        return float(at.q[dae.coordinates.index(name)]) + 0.0
    return _outputs(dae, at, p)[name]


def _moved_outputs(problem: _Problem, found: _Found) -> list[str]:
    """Return the joints' coordinates that change along what nothing determines."""
    dae, at = problem.dae, problem.at(found.x)
    names = [name for name in problem.positions if name not in problem.hold]
    if not (dae.n and names):
        return []
    slopes = _position_slopes(dae, at, _whole(dae, at.u, at.p), names)
    moved = np.max(np.abs(slopes @ found.loose[:, : dae.n].T), axis=1, initial=0.0)
    order = np.argsort(-moved, kind="stable")
    return [names[k] for k in order if moved[k] > SHARE * np.max(moved, initial=0.0) > 0]


def _failure(problem: _Problem, found: _Found) -> EquilibriumError:
    """Return the error of a search that found nothing."""
    dae = problem.dae
    if outside := _outside(problem, found) if found.met else "":
        return EquilibriumError(f"{dae.name}: the equilibrium found is impossible: {outside}; free something else")
    if not np.all(np.isfinite(found.f)):
        return EquilibriumError(
            f"{dae.name}: the equations are not finite at the start; bring the start values nearer to an equilibrium"
        )
    order = [k for k in np.argsort(-found.gaps, kind="stable") if found.gaps[k] > MET]
    left = "; ".join(f"{problem.equations[k]} by {abs(found.f[k]):.3g}" for k in order[:NAMED]) or "none of them alone"
    helpers = _helpers(problem, found)
    ways = [f"free what can balance it (--free {helpers[0]})"] if helpers else []
    driven = [name for name in problem.rates if f"{name} = 0" in (problem.equations[k] for k in order)]
    if driven:
        ways.append(f"hold the rate of a steady motion (--hold {driven[0]}=VALUE)")
    if problem.hold:
        ways.append("hold less or other values")
    ways.append("begin nearer to an equilibrium (--set)")
    return EquilibriumError(
        f"{dae.name}: no equilibrium near the start: {_counts(problem)}, and these remain unmet: {left}: "
        + "; or ".join(ways)
    )


def _helpers(problem: _Problem, found: _Found) -> list[str]:
    """Return the inputs that could balance what remains, the best first: of equal ones those of joints that are held."""
    dae = problem.dae
    others = [item.name for item in dae.inputs if item.name not in (*problem.free, *problem.given)]
    if not others:
        return []
    wider = _Problem(dae, problem.start, (*problem.free, *others), {**problem.hold, **problem.given})
    known = dict(zip(problem.names, found.x, strict=True))
    x = np.array([known.get(name, value) for name, value in zip(wider.names, wider.first, strict=True)])
    f, J = _evaluated(wider, x)
    scale = np.divide(found.gaps, np.abs(found.f), out=np.ones_like(found.f), where=found.f != 0)
    held = {name.rpartition(".")[0] for name in problem.hold}
    columns = [wider.names.index(name) for name in problem.names]

    def left(name: str) -> float:
        some = scale[:, None] * J[:, [*columns, wider.names.index(name)]]
        rest = scale * f - some @ np.linalg.lstsq(some, scale * f, rcond=RANK)[0]
        return round(float(np.linalg.norm(rest) / np.linalg.norm(scale * f)), 3)

    rest = {name: left(name) for name in others}
    return sorted(
        (name for name in others if rest[name] < 1), key=lambda name: (rest[name], name.rpartition(".")[0] not in held)
    )


def _counts(problem: _Problem) -> str:
    return f"{len(problem.equations)} equations for {len(problem.names)} unknowns"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


# -- the result --------------------------------------------------------------------------------------------------------


def _told(
    system: Model, problem: _Problem, found: _Found, given: Mapping[str, Any], notices: tuple[str, ...]
) -> Equilibrium:
    dae, at = problem.dae, problem.at(found.x)
    p = _whole(dae, at.u, at.p)
    y = _outputs(dae, at, p) | {name: problem.hold.get(name, 0.0) for name in problem.rates if problem.moving}
    units = {item.name: item.unit for item in (*dae.outputs, *dae.inputs, *dae.parameters)}
    first = {name: problem._at_start(name) for name in (*problem.hold, *problem.positions)}
    items = [Item(name, units[name], "coordinate", y[name], first[name]) for name in problem.positions]
    begun = dict(zip(problem.names, problem.first.tolist(), strict=True))
    values = dict(zip(problem.names, found.x.tolist(), strict=True))
    items += [
        Item(item.name, item.unit, "state", values[item.name], begun[item.name])
        for item in dae.states
        if item.name in values
    ]
    for kind, signals in (("input", dae.inputs), ("parameter", dae.parameters)):
        items += [
            Item(item.name, item.unit, kind, values[item.name], begun[item.name])
            for item in signals
            if item.name in problem.free
        ]
    shown = {item.name for item in items}
    held = [Item(name, units[name], "held", y[name], first[name]) for name in problem.hold]
    held += [Item(name, units[name], "held", value, value) for name, value in problem.given.items()]
    items = [replace(item, role="held") if item.name in problem.hold else item for item in items]
    items += [item for item in held if item.name not in shown]
    sums = [abs(found.f[k]) for k, kind in enumerate(problem.kinds)]
    timed: tuple[str, ...] = ()
    if _depends_on_time(dae):
        timed = (f"{dae.name}: the equations depend on the time: this is the balance at t = 0",)
    return Equilibrium(
        name=dae.name,
        items=tuple(items),
        values={**given, **_start_values(system, problem, at, y)},
        outputs=y,
        eigenvalues=_eigenvalues(problem, found),
        unknowns=problem.names,
        equations=problem.equations,
        residual=max(sums, default=0.0),
        corrections=found.corrections,
        notices=(*notices, *timed),
    )


def _depends_on_time(dae: Dae) -> bool:
    q, v, z, u, p, t = dae.symbols()
    moved = dae.force(q, v, z, u, p, t), dae.flow(q, v, z, u, p, t), dae.Phi(q, p, t), dae.G(q, p, t), dae.g(q, p, t)
    return any(ca.depends_on(item, t) for item in moved)


def _outputs(dae: Dae, at: _State, p: Any) -> dict[str, float]:
    """Return all outputs, by name."""
    a, lambda_ = dae.acceleration(at.q, at.v, at.z, at.u, p, 0.0)
    y = _column(dae.output(at.q, at.v, at.z, dae.angles(at.q, p, 0.0), a, lambda_, at.u, p, 0.0))
    return {item.name: float(value) + 0.0 for item, value in zip(dae.outputs, y, strict=True)}


def _position_slopes(dae: Dae, at: _State, p: Any, names: Sequence[str]) -> Array:
    """Return the slopes of joints' coordinates with respect to q, shape (number of names, n)."""
    q, turned = ca.SX.sym("q", dae.n), ca.SX.sym("turned", dae.n_angles)
    still, nothing = ca.SX.zeros(dae.n), ca.SX.zeros(dae.m + dae.k)
    numbers = {item.name: k for k, item in enumerate(dae.outputs)}
    y = dae.output(q, still, ca.DM(at.z), turned, still, nothing, ca.DM(at.u), ca.DM(p), 0.0)
    some = y[[numbers[name] for name in names]]
    if dae.n_angles:
        some = ca.substitute(some, turned, dae.angles(q, ca.DM(p), 0.0))
    return np.array(ca.Function("slopes", [q], [ca.densify(ca.jacobian(some, q))])(at.q)).reshape(len(names), dae.n)


def _start_values(system: Model, problem: _Problem, at: _State, y: Mapping[str, float]) -> dict[str, Any]:
    """Return start values with which the assembly finds these coordinates and rates, and what was freed."""
    dae = problem.dae
    found: dict[str, Any] = {}
    if isinstance(system, System):
        found |= _joint_starts(system, problem, at, y)
    elif isinstance(system, LagrangianSystem):
        found |= {name: y[name] for name in system.start_values()}
    known = dict(zip((item.name for item in dae.states), at.z.tolist(), strict=True))
    found |= {item.name: known[item.name] for item in dae.states if item.start is not None}
    inputs = dict(zip((item.name for item in dae.inputs), at.u.tolist(), strict=True))
    parameters = dict(zip((item.name for item in dae.parameters), at.p.tolist(), strict=True))
    for name in (*problem.given, *problem.free):
        if name in inputs or name in parameters:
            found[name] = inputs.get(name, parameters.get(name))
    return found


def _joint_starts(system: System, problem: _Problem, at: _State, y: Mapping[str, float]) -> dict[str, Any]:
    """Return start values of joints and bodies: those that the model gives, and further ones that are needed.

    In a closed loop coordinates that follow from others become guesses, which choose how the loop closes.
    """
    dae, settable = problem.dae, set(system.start_values())
    entries = {name: entry for name, entry in flatten(system).starts.items() if name in y and name in settable}
    found: dict[str, Any] = {name: y[name] for name, entry in entries.items() if not entry.guess}
    rates = [name for name in problem.rates if name in settable]
    if problem.moving:
        found |= {name: y[name] for name in rates}
    others = [name for name in problem.positions if name in settable and name not in found]
    if not dae.assembly.loops:
        return found | {name: y[name] for name in others}
    p = _whole(dae, at.u, at.p)
    units = {item.name: item.unit for item in dae.outputs}
    positional = [name for name in found if not units[name].endswith("/s")]
    slopes = _position_slopes(dae, at, p, [*positional, *others])
    rows = np.vstack([np.array(dae.Phi_q(at.q, p, 0.0)).reshape(dae.m, dae.n), slopes[: len(positional)]])
    groups: dict[str, list[int]] = {}
    for k, name in enumerate(others):
        groups.setdefault(name.partition("[")[0], []).append(k)
    for group in groups.values():
        wider = np.vstack([rows, slopes[len(positional) :][group]])
        if _rank(wider) > _rank(rows):
            rows = wider
            found |= {others[k]: y[others[k]] for k in group}
        else:
            found |= {others[k]: f"guess({y[others[k]]!r})" for k in group}
    return found


def _rank(rows: Array) -> int:
    return int(np.linalg.matrix_rank(scaled_rows(rows), tol=RANK)) if rows.size else 0


def _column(value: Any) -> Array:
    return np.array(value, dtype=float).reshape(-1)

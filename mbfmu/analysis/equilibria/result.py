"""Equilibrium: the state of rest or steady motion, and the start file that takes a run there."""

import json
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from mbfmu.analysis.equilibria.newton import RANK, Found
from mbfmu.analysis.equilibria.problem import EquilibriumProblem, Unknowns, outputs_at, position_slopes, whole
from mbfmu.analysis.equilibria.search import eigenvalues, lasts
from mbfmu.base.arguments import checked
from mbfmu.base.files import ending_of, write_aside
from mbfmu.dae import Dae
from mbfmu.dae.start import scaled_rows
from mbfmu.errors import MbfmuError, UnknownNameError, nearest, reason_of
from mbfmu.model import LagrangianSystem, Model, System
from mbfmu.model.mechanism import flatten

Array = npt.NDArray[np.float64]

ENDINGS = (".json", ".toml")
"""Endings of start files."""
STABLE, UNSTABLE, UNDECIDED = "stable", "unstable", "undecided on the imaginary axis"
"""Verdicts of the linearization."""


@dataclass(frozen=True)
class Item:
    """A quantity of an equilibrium that was held or computed.

    Args:
        name: full dotted name.
        unit: SI unit.
        role: ``coordinate``, ``rate``, ``state``, ``input``, ``parameter`` or ``held``.
        value: its value there.
        start: its value at the start.
        nominal: usual size of a state; 1 of all else.
    """

    name: str
    unit: str
    role: str
    value: float
    start: float
    nominal: float = 1.0


@dataclass(frozen=True)
class Equilibrium:
    """A state in which a machine stays, or moves steadily.

    Args:
        name: of the model.
        items: what was held, and what was computed: coordinates of joints, first-order states, freed inputs, freed
            parameters.
        values: start values, inputs and parameters by name, with which the model starts there, as `with_values` takes
            them.
        outputs: all outputs there, by name, such as the forces in springs and joints.
        eigenvalues: of the linearization there, 1/s, each conjugate pair once; parts that are round-off are 0. There
            are none for a steady motion in coordinates of which more than those of the held rates move, or which is
            steady at one position only.
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
        return STABLE if self.eigenvalues.size and np.all(self.eigenvalues.real < 0) else UNDECIDED

    @checked
    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write `values` as a start file, .json or .toml; numbers read back exactly.

        Raises:
            UsageError: the path has another ending.
            MbfmuError: the file cannot be written.
        """
        return write_start(path, self.values)


def write_start(path: str | os.PathLike[str], values: Mapping[str, Any]) -> Path:
    """Write values by name as a start file, .json or .toml; numbers read back exactly.

    Raises:
        UsageError: the path has another ending.
        MbfmuError: the file cannot be written.
    """
    target = Path(path)
    if ending_of(target, ENDINGS) == ".json":
        return write_aside(target, f"{json.dumps(values, indent=1)}\n".encode())
    lines = (f"{json.dumps(name)} = {json.dumps(value)}\n" for name, value in values.items())
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
        content = parse(source.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise MbfmuError(f"cannot read the start file '{path}': {reason_of(error)}") from None
    if not isinstance(content, dict):
        raise MbfmuError(f"the start file '{path}' must hold values by name")
    for name, value in content.items():
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise MbfmuError(
                f"the start file '{path}': {name} = {value!r} must be a number, or a text as --set takes it"
            )
    return content


def told(
    system: Model, problem: EquilibriumProblem, solution: Found, fixed: Mapping[str, Any], notices: tuple[str, ...]
) -> Equilibrium:
    """Return an equilibrium as users see it, with the values that start a run there.

    Args:
        system: the model.
        problem: unknowns and equations.
        solution: their solution.
        fixed: values that are passed on, by name.
        notices: what a user should know about the search.
    """
    # outputs there; angles with the full turns of the start
    dae, at = problem.dae, problem.at(solution.x)
    p = whole(dae, at.u, at.p, at.q)
    y = outputs_at(dae, at, p) | {name: problem.hold.get(name, 0.0) for name in problem.rates if problem.moving}
    units = {item.name: item.unit for item in (*dae.outputs, *dae.inputs)}
    first = {name: problem.at_start(name) for name in (*problem.hold, *problem.positions)}
    for name in problem.positions:
        if units[name] == "rad" and name not in dae.coordinates:  # known up to full turns
            y[name] += math.tau * round((problem.hold.get(name, first[name]) - y[name]) / math.tau)
    # unknowns with their values: coordinates, states, free inputs and parameters
    items = [Item(name, units[name], "coordinate", y[name], first[name]) for name in problem.positions]
    begun = dict(zip(problem.names, problem.first.tolist(), strict=True))
    values = dict(zip(problem.names, solution.x.tolist(), strict=True))
    items += [
        Item(item.name, item.unit, "state", values[item.name], begun[item.name], item.nominal)
        for item in dae.states
        if item.name in values
    ]
    kinds: tuple[tuple[str, Sequence[Any]], ...] = (("input", dae.inputs), ("parameter", dae.parameters))
    for kind, signals in kinds:
        items += [
            Item(item.name, item.unit, kind, values[item.name], begun[item.name])
            for item in signals
            if item.name in problem.free
        ]
    # what is held
    shown = {item.name for item in items}
    held = [Item(name, units[name], "held", y[name], first[name]) for name in problem.hold]
    held += [Item(name, units[name], "held", value, value) for name, value in problem.given.items()]
    items = [replace(item, role="held") if item.name in problem.hold else item for item in items]
    items += [item for item in held if item.name not in shown]
    # stability by the eigenvalues, where these say something about it
    timed: tuple[str, ...] = ()
    steady = lasts(problem, solution)
    if _depends_on_time(dae) and not (problem.moving and steady):
        timed = (f"{dae.name}: the equations depend on the time: this is the balance at t = 0",)
    values_there = eigenvalues(problem, solution)
    if not steady:
        moved = ", ".join(name for name in problem.hold if problem.hold[name] and name in problem.rates)
        timed += (
            f"{dae.name}: the motion is steady at this place only, as forces change where {moved} leads: it does not "
            "go on like this, and its stability is not judged",
        )
    elif problem.moving and not values_there.size:
        timed += (f"{dae.name}: the stability of a steady motion is judged in joint coordinates only",)
    # the result, with the values that start a run there
    return Equilibrium(
        name=dae.name,
        items=tuple(items),
        values={**fixed, **_start_values(system, problem, at, y)},
        outputs=y,
        eigenvalues=values_there,
        unknowns=problem.names,
        equations=problem.equations,
        residual=float(np.max(np.abs(solution.f), initial=0.0)),
        corrections=solution.corrections,
        notices=(*notices, *timed),
    )


def _depends_on_time(dae: Dae) -> bool:
    q, v, z, u, p, t = dae.symbols()
    moved = (
        dae.equations.force(q, v, z, u, p, t),
        dae.equations.flow(q, v, z, u, p, t),
        dae.constraints.Phi(q, p, t),
        dae.constraints.G(q, p, t),
        dae.constraints.g(q, p, t),
    )
    return any(ca.depends_on(item, t) for item in moved)


def _start_values(system: Model, problem: EquilibriumProblem, at: Unknowns, y: Mapping[str, float]) -> dict[str, Any]:
    """Return start values with which the assembly finds these coordinates and rates, and what was freed."""
    dae = problem.dae
    starts: dict[str, Any] = {}
    if isinstance(system, System):
        starts |= _joint_starts(system, problem, at, y)
    elif isinstance(system, LagrangianSystem):
        starts |= {name: y[name] for name in system.start_values()}
    known = dict(zip((item.name for item in dae.states), at.z.tolist(), strict=True))
    starts |= {item.name: known[item.name] for item in dae.states if item.start is not None}
    inputs = dict(zip((item.name for item in dae.inputs), at.u.tolist(), strict=True))
    tunable, memory = np.split(at.p, [len(dae.parameters)])
    parameters = dict(zip((item.name for item in dae.parameters), tunable.tolist(), strict=True))
    for item, value in zip(dae.sampling.memory if dae.sampling else (), memory.tolist(), strict=True):
        starts[item.name.replace("previous(", "").rstrip(")")] = value
    for name in (*problem.given, *problem.free):
        if name in inputs or name in parameters:
            starts[name] = inputs.get(name, parameters.get(name))
    return starts


def _joint_starts(system: System, problem: EquilibriumProblem, at: Unknowns, y: Mapping[str, float]) -> dict[str, Any]:
    """Return start values of joints and bodies: those that the model gives, and further ones that are needed.

    In a closed loop coordinates that follow from others become guesses, which choose how the loop closes.
    """
    dae, settable = problem.dae, set(system.start_values())
    called = {full: name for name, full in dae.full_names.items()}
    starts = {called.get(full, full): entry for full, entry in flatten(system).starts.items()}
    entries = {name: entry for name, entry in starts.items() if name in y and name in settable}
    met: dict[str, Any] = {name: y[name] for name, entry in entries.items() if not entry.guess}
    rates = [name for name in problem.rates if name in settable]
    if problem.moving:
        met |= {name: y[name] for name in rates}
    others = [name for name in problem.positions if name in settable and name not in met]
    if not dae.start.loops:
        return met | {name: y[name] for name in others}
    p = whole(dae, at.u, at.p, at.q)
    units = {item.name: item.unit for item in dae.outputs}
    positional = [name for name in met if not units[name].endswith("/s")]
    slopes = position_slopes(dae, at, p, [*positional, *others])
    rows = np.vstack([np.array(dae.constraints.Phi_q(at.q, p, 0.0)).reshape(dae.m, dae.n), slopes[: len(positional)]])
    groups: dict[str, list[int]] = {}
    for k, name in enumerate(others):
        groups.setdefault(name.partition("[")[0], []).append(k)
    for group in groups.values():
        wider = np.vstack([rows, slopes[len(positional) :][group]])
        if _rank(wider) > _rank(rows):
            rows = wider
            met |= {others[k]: y[others[k]] for k in group}
        else:
            met |= {others[k]: f"guess({y[others[k]]!r})" for k in group}
    return met


def _rank(rows: Array) -> int:
    return int(np.linalg.matrix_rank(scaled_rows(rows), tol=RANK)) if rows.size else 0

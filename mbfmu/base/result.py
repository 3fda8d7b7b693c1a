"""Result: the values of variables over time from a simulation."""

import html
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import mbfmu
from mbfmu.base import extras
from mbfmu.base.arguments import checked
from mbfmu.base.formats import read_columns, write_columns
from mbfmu.base.units import Display, DisplayUnit, shown_unit
from mbfmu.errors import MbfmuError, UnknownNameError, UsageError, nearest

KINDS = {
    "rad": "angle [rad]",
    "m": "position [m]",
    "rad/s": "ang. velocity [rad/s]",
    "m/s": "velocity [m/s]",
    "N.m": "torque [N.m]",
    "N": "force [N]",
}
"""Labels of coordinates, rates and inputs in a plot, by their unit."""
MONITORS = ("energy", "constraint", "momentum")
"""Beginnings of the names of quantities of a mechanism as a whole."""
NOISE = 1e-15
"""Size of a number, relative to the largest one of its unit in a result, below which it is round-off and shown as 0."""
REPR = 3
"""Largest number of variables that the representation of a result names."""


@dataclass(frozen=True)
class Roles:
    """The variables that a reader looks for first, by what they are.

    Args:
        inputs: names of the inputs.
        measured: names of the outputs of sensors, forces, couplings and blocks.
        motions: names of the coordinates of joints and their rates.
    """

    inputs: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()
    motions: tuple[str, ...] = ()


def roles(variables: Iterable[tuple[str, str, str, str | None]]) -> Roles:
    """Return the roles of variables.

    A component is a joint if it has rates, and outputs that are neither derivatives nor differentiated are quaternions
    only; its outputs are coordinates, rates and accelerations. The other components measure.

    Args:
        variables: name, kind (``input``, ``output`` or ``local``), unit and, if there is one, the name of the variable
            whose time derivative it is.
    """
    items = list(variables)
    shown = [item for item in items if item[1] == "output" and not item[0].startswith(MONITORS)]
    differentiated = {derived for *_, derived in shown}
    moving = {_component(name) for name, *_, derived in shown if derived}
    measuring = {
        _component(name)
        for name, _, unit, derived in shown
        if not derived and name not in differentiated and not (unit == "1" and _component(name) in moving)
    }
    return Roles(
        inputs=tuple(name for name, kind, *_ in items if kind == "input"),
        measured=tuple(name for name, *_ in shown if _component(name) in measuring),
        motions=tuple(
            name
            for name, *_, derived in shown
            if _component(name) not in measuring and not (derived and name not in differentiated)
        ),
    )


def _component(name: str) -> str:
    return name.rpartition(".")[0]


class RunError(NamedTuple):
    """The estimated error of a run: what its steps add up to.

    Args:
        value: the largest error of a coordinate, rate or first-order state, relative to its range; NaN: none is known.
        name: that quantity; empty if none is known.
        time: when the steps added most to its error, s.
        by_variable: errors by name, in SI units.
    """

    value: float = math.nan
    name: str = ""
    time: float = math.nan
    by_variable: Mapping[str, float] = {}


@dataclass(frozen=True, repr=False)
class Result:
    """Values of variables over time.

    Args:
        time: times, s, shape (n_t,).
        names: names of the variables.
        values: values in SI units, shape (n_t, n_names).
        units: SI unit by name.
        steps: number of steps the stepper made, 0 if unknown.
        seconds: wall time of these steps, s.
        roles: the variables that a reader looks for first.
        chosen: names that tables and pictures show; empty: a selection by their roles.
        notices: what is wrong with the values by a noticeable part, a sentence each.
        stepper: the stepper with its options; empty if unknown.
        reason: the reason for the stepper.
        whole: exact values by name of integers of more than 53 bits, which `values` rounds; files have them.
        error: the estimated error of the run.
        step: longest step of the stepper, s; 0 if unknown.
        display: units in which tables and pictures show values, by the SI units in whose place they stand.
    """

    time: npt.NDArray[np.float64]
    names: tuple[str, ...]
    values: npt.NDArray[np.float64]
    units: dict[str, str] = field(default_factory=dict)
    steps: int = 0
    seconds: float = 0.0
    roles: Roles = field(default_factory=Roles)
    chosen: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    stepper: str = ""
    reason: str = ""
    whole: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    error: RunError = field(default_factory=RunError)
    step: float = 0.0
    display: Display = field(default_factory=dict)

    def shown_unit(self, name: str) -> DisplayUnit:
        """Return the unit in which tables and pictures show a variable, with its factor."""
        return shown_unit(self.units.get(name, ""), self.display)

    def __getitem__(self, name: str) -> npt.NDArray[np.float64]:
        """Return the values of one variable, shape (n_t,).

        Raises:
            UnknownNameError: there is no variable of that name.
        """
        if not isinstance(name, str):
            raise UsageError(f"result[{name!r}]: a result is indexed by the name of a variable, such as result['time']")
        if name == "time":
            return self.time
        if name not in self.names:
            raise UnknownNameError(f"the result has no variable '{name}'; {nearest(name, self.names)}")
        return self.values[:, self.names.index(name)]

    def __contains__(self, name: object) -> bool:
        return name == "time" or name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __repr__(self) -> str:
        span = f"{self.time[0]:g} to {self.time[-1]:g} s" if len(self.time) else "no time"
        shown = ", ".join(self.names[:REPR]) + (", ..." if len(self.names) > REPR else "")
        return f"<Result: {len(self.time)} points, {span}, {len(self.names)} variables: {shown}>"

    def shown_extremes(self, name: str, below: float = 0.0) -> tuple[str, tuple[float, float, float]]:
        """Return the unit in which a variable is shown, and in it the last, least and greatest value.

        Args:
            name: the variable.
            below: magnitude in the SI unit up to which a value is shown as zero, see `noise`.
        """
        unit, factor = self.shown_unit(name)
        column = self[name]
        last, least, greatest = (
            0.0 if abs(value) <= below else factor * float(value) for value in (column[-1], column.min(), column.max())
        )
        return unit, (last, least, greatest)

    def _repr_html_(self) -> str:
        """Return a table of the last, least and greatest values, which notebooks show."""
        heads = "".join(f"<th>{text}</th>" for text in ("variable", "unit", "last", "min", "max"))
        rows = []
        for name in self.names if len(self.time) else ():
            unit, extremes = self.shown_extremes(name)
            numbers = "".join(f"<td>{value:.6g}</td>" for value in extremes)
            rows.append(f"<tr><th>{html.escape(name)}</th><td>{html.escape(unit)}</td>{numbers}</tr>")
        return f"<p>{html.escape(repr(self)[1:-1])}</p><table><tr>{heads}</tr>{''.join(rows)}</table>"

    def plot(self, path: str | os.PathLike[str] | None = None, title: str = "") -> Any:
        """Draw coordinates, rates, inputs, constraint residuals and the energy.

        Args:
            path: path of the picture, whose suffix is its format; None: no file is written.
            title: title above the picture.

        Returns:
            The figure of matplotlib, which a notebook shows.

        Raises:
            UsageError: all curves are zero, or the suffix names no format.
            MbfmuError: the file cannot be written.
        """
        return mbfmu.plot_result(self, path, title)

    def to_pandas(self) -> Any:
        """Return the values as a DataFrame of pandas, with the time as its index.

        Raises:
            UsageError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise UsageError(f"a DataFrame needs pandas: {extras.command('pandas')}") from None
        return pandas.DataFrame(self.values, index=pandas.Index(self.time, name="time"), columns=list(self.names))

    @checked
    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write ``time`` and all variables to a .csv, .parquet, .mat or .npz file; numbers read back exactly.

        A .mat file has ``names``, a cell array, and ``values``, with a column for each name; an .npz file has an array
        for each name.

        Raises:
            UsageError: the path has another ending, or a library for it is not installed.
            MbfmuError: the file cannot be written.
        """
        columns = {name: self.values[:, index] for index, name in enumerate(self.names)} | dict(self.whole)
        return write_columns(Path(path), {"time": self.time, **columns})


def read_table(path: str | os.PathLike[str], *, jumps: bool = False) -> dict[str, npt.NDArray[np.float64]]:
    """Read a .csv, .parquet, .mat or .npz file, such as `Result.write` makes, into columns of finite numbers, by name.

    Args:
        path: path of the file.
        jumps: whether two rows may have one time, after the first.

    Raises:
        UsageError: the path has another ending, or a library for it is not installed.
        MbfmuError: the file is missing, has no ``time`` column that increases, or contains other values than numbers.
    """
    content: dict[str, Any] = read_columns(Path(path))
    if "time" not in content or not len(content["time"]):
        raise MbfmuError(f"'{path}' needs a column 'time', in a .csv file by a header line, and at least one row")
    try:
        if any(map(np.iscomplexobj, content.values())):
            raise TypeError("complex")
        columns = {name: np.array(column, dtype=np.float64) for name, column in content.items()}
    except (TypeError, ValueError):
        raise MbfmuError(f"'{path}' holds something that is not a number") from None
    for name, column in columns.items():
        if column.shape != columns["time"].shape or column.ndim != 1 or not np.all(np.isfinite(column)):
            raise MbfmuError(f"'{path}': '{name}' needs one finite number for each time")
    steps = np.diff(columns["time"])
    if not (np.all(steps > 0) or (jumps and steps[0] > 0 and np.all(steps >= 0))):
        raise MbfmuError(f"'{path}': the times must increase")
    return columns


def matching(patterns: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return the requested names, each once.

    Args:
        patterns: names, or patterns with ``*`` for any text and ``?`` for any character, such as ``boom.*``.
        names: the known names.

    Raises:
        UnknownNameError: a name is not known, or a pattern matches none.
    """
    known, matches = set(names), dict[str, None]()
    for pattern in patterns:
        fits = pattern.replace("[", "[[]")  # brackets are indices of vectors here
        hits = [pattern] if pattern in known else [name for name in names if fnmatchcase(name, fits)]
        if not hits:
            fault = "no variable matches" if set(pattern) & set("*?") else "there is no variable"
            raise UnknownNameError(f"{fault} '{pattern}'; {nearest(pattern, names)}")
        matches.update(dict.fromkeys(hits))
    return tuple(matches)


def noise(result: Result) -> dict[str, float]:
    """Return the largest number that tables show as 0, by SI unit: round-off of the largest one of the unit."""
    largest: dict[str, float] = {}
    for index, name in enumerate(result.names):
        unit, sizes = result.units.get(name, ""), np.abs(result.values[:, index])
        largest[unit] = max(largest.get(unit, 0.0), float(np.max(sizes[np.isfinite(sizes)], initial=0.0)))
    return {unit: NOISE * size for unit, size in largest.items()}


def selection(result: Result) -> list[str]:
    """Return the names to show: driven inputs, what is measured, then motions, of joints with drives first.

    Where no joint moves, as in a block, all others follow.
    """
    driven = [name for name in result.roles.inputs if np.any(result[name])]
    drives = {_component(name) for name in result.roles.inputs}
    motions = sorted(result.roles.motions, key=lambda name: _component(name) not in drives)
    return list(dict.fromkeys([*driven, *result.roles.measured, *(motions or coordinates(result))]))


def coordinates(result: Result) -> list[str]:
    """Return the names that a plot shows: joints' coordinates, rates and inputs, without frames and bodies."""
    bodies = {name.split(".r_0")[0] for name in result.names if ".r_0" in name}
    return [
        name
        for name in result.names
        if not name.startswith(MONITORS) and ".frame_" not in name and name.rsplit(".", 1)[0] not in bodies
    ]

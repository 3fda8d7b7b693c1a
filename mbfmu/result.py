"""Result: the values of variables over time from a simulation."""

import csv
import html
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import mbfmu
from mbfmu.arguments import checked
from mbfmu.errors import MbfmuError, UnknownNameError, UsageError, nearest
from mbfmu.files import write_aside

KINDS = {
    "rad": "angle [rad]",
    "m": "position [m]",
    "rad/s": "ang. velocity [rad/s]",
    "m/s": "velocity [m/s]",
    "N.m": "torque [N.m]",
    "N": "force [N]",
}
"""Labels of coordinates, rates and inputs in a plot, by their unit."""
REPR = 3
"""Largest number of variables that the representation of a result names."""


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
        motions: names of coordinates and rates: outputs whose time derivative is an output too.
        stepper: the stepper with its options; empty if unknown.
        reason: the reason for the stepper.
    """

    time: npt.NDArray[np.float64]
    names: tuple[str, ...]
    values: npt.NDArray[np.float64]
    units: dict[str, str] = field(default_factory=dict)
    steps: int = 0
    seconds: float = 0.0
    motions: tuple[str, ...] = ()
    stepper: str = ""
    reason: str = ""

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

    def _repr_html_(self) -> str:
        """Return a table of the last, least and greatest values, which notebooks show."""
        heads = "".join(f"<th>{text}</th>" for text in ("variable", "unit", "last", "min", "max"))
        rows = []
        for name in self.names if len(self.time) else ():
            column, unit = self[name], html.escape(self.units.get(name, ""))
            numbers = "".join(f"<td>{value:.6g}</td>" for value in (column[-1], column.min(), column.max()))
            rows.append(f"<tr><th>{html.escape(name)}</th><td>{unit}</td>{numbers}</tr>")
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
            raise UsageError('a DataFrame needs pandas: python -m pip install "mbfmu[pandas]"') from None
        return pandas.DataFrame(self.values, index=pandas.Index(self.time, name="time"), columns=list(self.names))

    @checked
    def write_csv(self, path: str | os.PathLike[str]) -> Path:
        """Write a CSV file: first column ``time``, then the variables; numbers read back exactly.

        Raises:
            MbfmuError: the file cannot be written.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["time", *self.names])
        writer.writerows(
            [repr(t), *map(repr, row)] for t, row in zip(self.time.tolist(), self.values.tolist(), strict=True)
        )
        return write_aside(Path(path), text.getvalue().encode("utf-8"))


def read_csv(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a CSV file with a header line into columns of finite numbers, by name.

    Raises:
        MbfmuError: the file is missing, has no ``time`` column that increases, or contains other values than numbers.
    """
    try:
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise MbfmuError(f"cannot read '{path}': {error}") from None
    if len(rows) < 2 or "time" not in rows[0]:
        raise MbfmuError(f"'{path}' needs a header line with a column 'time', and at least one row")
    try:
        table = np.array(rows[1:], dtype=float)
    except ValueError:
        raise MbfmuError(f"'{path}' holds something that is not a number, or rows of different length") from None
    if table.ndim != 2 or table.shape[1] != len(rows[0]) or not np.all(np.isfinite(table)):
        raise MbfmuError(f"'{path}': every row needs {len(rows[0])} finite numbers")
    columns = dict(zip(rows[0], table.T, strict=True))
    if not np.all(np.diff(columns["time"]) > 0):
        raise MbfmuError(f"'{path}': the times must increase")
    return columns


def coordinates(result: Result) -> list[str]:
    """Return the names that a plot shows: joints' coordinates, rates and inputs, without frames and bodies."""
    skip = ("energy", "constraint", "momentum")
    bodies = {name.split(".r_0")[0] for name in result.names if ".r_0" in name}
    return [
        name
        for name in result.names
        if not name.startswith(skip) and ".frame_" not in name and name.rsplit(".", 1)[0] not in bodies
    ]

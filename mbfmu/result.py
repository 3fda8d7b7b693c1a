"""Result: the values of variables over time from a simulation."""

import csv
import io
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mbfmu.errors import MbfmuError, UnknownNameError, nearest
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


@dataclass(frozen=True)
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
    """

    time: npt.NDArray[np.float64]
    names: tuple[str, ...]
    values: npt.NDArray[np.float64]
    units: dict[str, str] = field(default_factory=dict)
    steps: int = 0
    seconds: float = 0.0
    motions: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> npt.NDArray[np.float64]:
        """Return the values of one variable, shape (n_t,).

        Raises:
            UnknownNameError: there is no variable of that name.
        """
        if name == "time":
            return self.time
        if name not in self.names:
            raise UnknownNameError(f"the result has no variable '{name}'; {nearest(name, self.names)}")
        return self.values[:, self.names.index(name)]

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
    return check_columns(path, dict(zip(rows[0], table.T, strict=True)))


def check_columns(path: str | os.PathLike[str], columns: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of a table if they are a run's.

    Raises:
        MbfmuError: there is no ``time`` column that increases, or a value is no finite number.
    """
    if not columns.get("time", np.zeros(0)).size:
        raise MbfmuError(f"'{path}' needs a column 'time', and at least one row")
    if not all(np.all(np.isfinite(column)) for column in columns.values()):
        raise MbfmuError(f"'{path}' needs finite numbers in every row")
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

"""Table: the rows of a study and their file."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mbfmu.errors import MbfmuError, UsageError
from mbfmu.files import write_aside
from mbfmu.study.points import Point

FAILURE, STUDY = "failure", "study"
"""Names of the file's columns beside values and measures."""
ENDINGS = (".csv", ".parquet")


@dataclass(frozen=True)
class Row:
    """One run of a study.

    Args:
        values: the varied values by name, in SI units.
        measures: the measures by label; empty after a failure.
        failure: reason why there are no measures; empty otherwise.
    """

    values: dict[str, float]
    measures: dict[str, float]
    failure: str = ""


@dataclass(frozen=True)
class Table:
    """The file of a study: columns of values, measures, ``failure`` and ``study``, a hash of all that rows share."""

    path: Path
    names: tuple[str, ...]
    labels: tuple[str, ...]
    study: str

    def __post_init__(self) -> None:
        if self.path.suffix not in ENDINGS:
            raise UsageError(f"'{self.path}' must end in {' or '.join(ENDINGS)}")
        if twice := [name for name in self.columns if self.columns.count(name) > 1]:
            raise UsageError(f"two columns of '{self.path}' are named '{twice[0]}': take another label for the measure")

    @property
    def columns(self) -> list[str]:
        """Return the names of all columns."""
        return [*self.names, *self.labels, FAILURE, STUDY]

    def read(self) -> dict[Point, Row]:
        """Return the rows of an existing file; none if there is no file.

        Raises:
            MbfmuError: the file cannot be read, or contains another study.
        """
        if not self.path.exists():
            return {}
        columns, records = _records(self.path)
        if columns != self.columns:
            raise UsageError(
                f"'{self.path}' holds another table, with columns {', '.join(columns)}: name another file, or delete it"
            )
        found: dict[Point, Row] = {}
        for record in records:
            if record[-1] != self.study:
                raise UsageError(
                    f"'{self.path}' holds another study (model, stop time, stepper, inputs or measures differ): name "
                    "another file, or delete it"
                )
            try:
                point = tuple(float(value) for value in record[: len(self.names)])
                failure = record[-2] or ""
                measured = () if failure else record[len(self.names) : -2]
                found[point] = Row(
                    dict(zip(self.names, point, strict=True)),
                    {label: float(value) for label, value in zip(self.labels, measured, strict=not failure)},
                    failure,
                )
            except (TypeError, ValueError):
                raise MbfmuError(f"'{self.path}' holds a row that cannot be read: {record}") from None
        return found

    def write(self, rows: Sequence[Row]) -> None:
        """Write the file under another name and rename it.

        Raises:
            MbfmuError: the file cannot be written.
        """
        records: list[list[Any]] = [
            [*row.values.values(), *(row.measures.get(label) for label in self.labels), row.failure, self.study]
            for row in rows
        ]
        if self.path.suffix == ".parquet":
            import pyarrow
            import pyarrow.parquet

            kinds = [pyarrow.float64()] * (len(self.names) + len(self.labels)) + [pyarrow.string()] * 2
            columns = list(zip(*records, strict=True)) or [()] * len(kinds)
            arrays = [pyarrow.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
            content = io.BytesIO()
            pyarrow.parquet.write_table(pyarrow.table(arrays, names=self.columns), content)
            write_aside(self.path, content.getvalue())
            return
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([["" if value is None else value for value in record] for record in records])
        write_aside(self.path, text.getvalue().encode("utf-8"))


def _records(path: Path) -> tuple[list[str], list[list[Any]]]:
    try:
        if path.suffix == ".parquet":
            import pyarrow.parquet

            table = pyarrow.parquet.read_table(path)
            columns = [column.to_pylist() for column in table.columns]
            return table.column_names, [list(record) for record in zip(*columns, strict=True)]
        with path.open(encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file))
        return (lines[0] if lines else []), lines[1:]
    except (OSError, ValueError, csv.Error) as error:
        raise MbfmuError(f"cannot read '{path}': {error}") from None

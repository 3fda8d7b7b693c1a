"""Table: the rows of a study and their file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mbfmu.analysis.study.points import Point
from mbfmu.base.files import is_stream
from mbfmu.base.formats import format_of, read_columns, write_columns
from mbfmu.errors import MbfmuError, UsageError

FAILURE, STUDY = "failure", "study"
"""Names of the columns of a study's file beside values and measures."""


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
class StudyTable:
    """The file of a study: columns of values, measures, ``failure`` and ``study``, a hash of all that rows share."""

    path: Path
    names: tuple[str, ...]
    labels: tuple[str, ...]
    study: str

    def __post_init__(self) -> None:
        format_of(self.path, texts=True)
        if is_stream(self.path):
            raise UsageError(f"'{self.path}' is not a file, which the rows of a study are read from again")
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
        content = read_columns(self.path, texts=True)
        if list(content) != self.columns:
            raise UsageError(
                f"'{self.path}' holds another table, with columns {', '.join(content)}: name another file, or delete it"
            )
        rows: dict[Point, Row] = {}
        for record in zip(*content.values(), strict=True):
            if record[-1] != self.study:
                raise UsageError(
                    f"'{self.path}' holds another study (model, stop time, stepper, inputs or measures differ): name "
                    "another file, or delete it"
                )
            try:
                point = tuple(float(value) for value in record[: len(self.names)])
                failure = record[-2] or ""
                measured = () if failure else record[len(self.names) : -2]
                rows[point] = Row(
                    dict(zip(self.names, point, strict=True)),
                    {label: float(value) for label, value in zip(self.labels, measured, strict=not failure)},
                    failure,
                )
            except (TypeError, ValueError):
                raise MbfmuError(f"'{self.path}' holds a row that cannot be read: {record}") from None
        return rows

    def write(self, rows: Sequence[Row]) -> None:
        """Write the file under another name and rename it.

        Raises:
            MbfmuError: the file cannot be written.
        """
        records: list[list[Any]] = [
            [*row.values.values(), *(row.measures.get(label) for label in self.labels), row.failure, self.study]
            for row in rows
        ]
        columns = zip(*records, strict=True) if records else ([] for _ in self.columns)
        write_columns(self.path, dict(zip(self.columns, columns, strict=True)), texts=True)

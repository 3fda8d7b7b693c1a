"""Formats: files of columns of numbers or texts; the ending of a file's name decides its format."""

import csv
import io
import re
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from mbfmu.base import extras
from mbfmu.base.files import ending_of, is_stream, write_aside
from mbfmu.errors import MbfmuError, UsageError, reason_of

Columns: TypeAlias = Mapping[str, Any]
"""Columns of equal length by name: arrays of numbers, or lists of numbers, texts and None."""
UNREADABLE = re.compile("[\0\r\ud800-\udfff]")
"""A character with which the name of a column does not read back in every format."""
LONGEST_STREAM = 2**28
"""Largest number of bytes that are read from a pipe or another file that may never end."""


@dataclass(frozen=True)
class Format:
    """A format of a file of columns.

    Args:
        write: function (columns) -> content of the file.
        read: function (content) -> columns; the numbers of a text file are texts.
        library: library that it needs beyond those of mbfmu; empty: none.
        texts: whether cells may be texts or empty.
    """

    write: Callable[[Columns], bytes]
    read: Callable[[bytes], dict[str, Any]]
    library: str = ""
    texts: bool = False


def _by_name(columns: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return columns by name.

    Raises:
        ValueError: two have one name.
    """
    by_name: dict[str, Any] = {}
    for name, column in columns:
        if name in by_name:
            raise ValueError(f"two columns are named '{name}'")
        by_name[name] = column
    return by_name


def _write_csv(columns: Columns) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    lists = (column.tolist() if isinstance(column, np.ndarray) else column for column in columns.values())
    writer.writerows(zip(*lists, strict=True))
    return text.getvalue().encode("utf-8")


def _read_csv(content: bytes) -> dict[str, Any]:
    text = content.decode("utf-8-sig")  # which Excel writes
    names, *rows = list(csv.reader(io.StringIO(text, newline=""))) or [[]]
    if any(len(row) != len(names) for row in rows):
        raise ValueError(f"every row needs {len(names)} cells")
    return _by_name((name.strip(), [row[index] for row in rows]) for index, name in enumerate(names))


def _write_parquet(columns: Columns) -> bytes:
    import pyarrow
    import pyarrow.parquet

    def array(column: Any) -> Any:
        if isinstance(column, np.ndarray) and column.dtype.kind in "iu":
            return pyarrow.array(column)
        numbers = isinstance(column, np.ndarray) or not any(isinstance(cell, str) for cell in column)
        return pyarrow.array(column, pyarrow.float64() if numbers else pyarrow.string())

    content = io.BytesIO()
    table = pyarrow.table([array(column) for column in columns.values()], names=list(columns))
    pyarrow.parquet.write_table(table, content)
    return content.getvalue()


def _read_parquet(content: bytes) -> dict[str, Any]:
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(content)).read()
    return _by_name(zip(table.column_names, (column.to_pylist() for column in table.columns), strict=True))


def _write_mat(columns: Columns) -> bytes:
    """Return a MATLAB file with ``names``, a cell array, and ``values``, one column for each name.

    The names of variables in MATLAB have neither dots nor brackets, so that the columns cannot be variables.
    """
    from scipy.io import savemat

    content = io.BytesIO()
    names = np.array([*columns], dtype=object)
    savemat(content, {"names": names, "values": np.column_stack([*columns.values()])}, do_compression=True)
    return content.getvalue()


def _read_mat(content: bytes) -> dict[str, Any]:
    from scipy.io import loadmat

    content_by_name = loadmat(io.BytesIO(content), variable_names=("names", "values"))
    return _by_name(
        zip(("".join(item) for item in content_by_name["names"].ravel()), content_by_name["values"].T, strict=True)
    )


def _write_npz(columns: Columns) -> bytes:
    """Return a NumPy archive with an array for each name; `numpy.savez` takes no array named ``file``."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, column in columns.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(column), allow_pickle=False)
    return content.getvalue()


def _read_npz(content: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        return _by_name((name, archive[name]) for name in archive.files)


FORMATS = {
    ".csv": Format(_write_csv, _read_csv, texts=True),
    ".parquet": Format(_write_parquet, _read_parquet, library="pyarrow", texts=True),
    ".mat": Format(_write_mat, _read_mat),
    ".npz": Format(_write_npz, _read_npz),
}
"""Formats of tables by the ending of the file's name."""


def is_table(path: str) -> bool:
    """Return whether the ending of a path is that of a table."""
    return Path(path).suffix.lower() in FORMATS


def format_of(path: Path, *, texts: bool = False) -> Format:
    """Return the format of a file by its ending.

    Args:
        path: path of the file.
        texts: whether cells may be texts or empty.

    Raises:
        UsageError: the ending names no format, or its library is not installed.
    """
    chosen = FORMATS[ending_of(path, [name for name, item in FORMATS.items() if item.texts or not texts])]
    if chosen.library and find_spec(chosen.library) is None:
        raise UsageError(f"'{path}' needs {chosen.library}: {extras.command('sweep')}")
    return chosen


def write_columns(path: Path, columns: Columns, *, texts: bool = False) -> Path:
    """Write columns in the format that the ending of the path names; numbers read back exactly.

    Raises:
        UsageError: the ending names no format, or its library is not installed.
        MbfmuError: the file cannot be written, or the name of a column would not read back.
    """
    for name in columns:
        if unreadable := UNREADABLE.search(name):
            fault = f"its column {name!r} has the character {unreadable[0]!r}, with which it does not read back"
            raise MbfmuError(f"cannot write '{path}': {fault}; give it another name")
    return write_aside(path, format_of(path, texts=texts).write(columns))


def read_columns(path: Path, *, texts: bool = False) -> dict[str, Any]:
    """Read the columns of a file in the format that its ending names.

    Raises:
        UsageError: the ending names no format, or its library is not installed.
        MbfmuError: the file cannot be read.
    """
    chosen = format_of(path, texts=texts)
    try:
        return chosen.read(_content(path))
    except Exception as error:  # noqa: BLE001 - damaged files raise the errors of several libraries
        raise MbfmuError(f"cannot read '{path}': {reason_of(error)}") from None


def _content(path: Path) -> bytes:
    """Return the content of a file, or of a pipe, a device excepted.

    Raises:
        OSError: it cannot be read.
        ValueError: it may never end.
    """
    if path.is_char_device():
        raise ValueError("it is a device, which may never end")
    if not is_stream(path):
        return path.read_bytes()
    with path.open("rb") as stream:
        content = stream.read(LONGEST_STREAM + 1)
    if len(content) > LONGEST_STREAM:
        raise ValueError(f"it gives more than {LONGEST_STREAM} bytes, and may never end: write it to a file first")
    return content

"""The text of standard input data (SID): blocks of numbers, names and matrices, read and written.

A file is ``part`` with ``new modal``: ``refmod`` (mass, number and names of the modes), ``frame`` with its nodes, and
the matrices of the body. A matrix has its order, rows, columns, modes and structure (0: zero, 1: diagonal, 2:
symmetric, 3: full, 4: unit), then entries ``m0(row, column)`` and ``m1(...)``, counted from 1.
(Wallrapp, Mech. Struct. Mach. 22, 1994.)
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from mbfmu.errors import ModelFileError

Array = npt.NDArray[np.float64]

OF_NODE = ("origin", "phi", "psi", "AP", "sigma")
"""Matrices of a node."""
OF_BODY = ("mdCM", "J", "Ct", "Cr", "Me", "Gr", "Ge", "Oe", "ksigma", "Ke", "De")
"""Matrices of a body."""
HEADER = ("order", "nrow", "ncol", "nq", "nqn", "structure")
"""Numbers before the entries of a matrix."""
ENTRY = re.compile(r"m([01n])\s*\((\s*\d+\s*(?:,\s*\d+\s*)*)\)", re.IGNORECASE)
"""Name of an entry of a matrix."""
MOST = 1000
"""Largest number of rows, columns and modes that are read."""


@dataclass
class Matrix:
    """A matrix as it stands in a file.

    Args:
        size: the numbers of HEADER.
        zeroth: entries of the matrix without modes, by row and column from 0.
        first: entries of its slopes by the modes, by their three numbers from 0.
    """

    size: dict[str, int]
    zeroth: dict[tuple[int, ...], float] = field(default_factory=dict)
    first: dict[tuple[int, ...], float] = field(default_factory=dict)

    def value(self) -> Array:
        """Return the matrix without modes, shape (rows, columns)."""
        rows, columns, structure = (self.size[key] for key in ("nrow", "ncol", "structure"))
        value = np.eye(rows, columns) if structure == 4 and not self.zeroth else np.zeros((rows, columns))
        for (i, j), entry in self.zeroth.items():
            value[i, j] = entry
            if structure == 2 and (j, i) not in self.zeroth:
                value[j, i] = entry
        return value

    def slopes(self, modes_last: bool) -> Array:
        """Return the slopes, shape (rows, modes, columns); `modes_last` where entries have the mode's number last."""
        slopes = np.zeros([self.size[key] for key in ("nrow", "nq", "ncol")])
        entries = {(i, b, a) if modes_last else (i, a, b): entry for (i, a, b), entry in self.first.items()}
        for (i, mode, j), entry in entries.items():
            slopes[i, mode, j] = entry
            if self.size["structure"] == 2 and (j, mode, i) not in entries:
                slopes[j, mode, i] = entry
        return slopes

    def lines(self, name: str, indent: str) -> Iterator[str]:
        """Yield the lines of the matrix."""
        yield f"{indent}{name}"
        for key in HEADER:
            yield f"{indent}    {key:9} = {self.size[key]:4d}"
        for kind, entries in (("m0", self.zeroth), ("m1", self.first)):
            for indices, entry in entries.items():
                yield f"{indent}    {kind}({','.join(f'{k + 1:4d}' for k in indices)}) = {entry:.17E}".replace("E", "D")
        yield f"{indent}end {name}"


@dataclass
class Node:
    """A node: its name, what it is seen from, and its matrices by their names."""

    name: str
    seen_from: str = ""
    matrices: dict[str, Matrix] = field(default_factory=dict)


@dataclass
class SidContents:
    """Contents of a file: mass, number of modes, nodes, and matrices by their names."""

    mass: float = np.nan
    modes: int = 0
    nodes: list[Node] = field(default_factory=list)
    matrices: dict[str, Matrix] = field(default_factory=dict)


def matrix_of(value: Array, slopes: Array | None, modes: int) -> Matrix:
    """Return a matrix for a file, whose entries that are zero are left out.

    Args:
        value: the matrix without modes, shape (rows, columns).
        slopes: shape (rows, modes, columns); None: there are none.
        modes: number of modes.
    """
    numbers = (1 if slopes is not None else 0, *value.shape, modes, 0, 3)
    first = {} if slopes is None else {indices: float(slopes[indices]) for indices in map(tuple, np.argwhere(slopes))}
    zeroth = {indices: float(value[indices]) for indices in map(tuple, np.argwhere(value))}
    return Matrix(dict(zip(HEADER, numbers, strict=True)), zeroth, first)


def text_of(body: SidContents) -> str:
    """Return a body as the text of a file."""
    lines = ["mbfmu: standard input data of a flexible body", "part", "    new modal = body", "        refmod"]
    lines += [f"            mass    = {body.mass:.17E}".replace("E", "D"), f"            nelastq = {body.modes:4d}"]
    lines += [f"            ielastq ({k:4d}) = mode {k}" for k in range(1, body.modes + 1)]
    lines += ["        end refmod", "        frame"]
    for node in body.nodes:
        lines += [f"            new node = {node.name}", f"                rframe = {node.seen_from}"]
        for name in OF_NODE:
            if name in node.matrices:
                lines += node.matrices[name].lines(name, " " * 16)
        lines.append("            end node")
    lines.append("        end frame")
    for name in OF_BODY:
        if name in body.matrices:
            lines += body.matrices[name].lines(name, " " * 8)
    return "".join(f"{line}\n" for line in (*lines, "    end modal", "end part"))


def read_body(path: Path) -> SidContents:
    """Return what a file holds.

    Raises:
        ModelFileError: the file is missing or damaged; the message tells the line.
    """
    try:
        text = path.read_text(encoding="latin-1")
    except OSError as error:
        raise ModelFileError(f"cannot read '{path}': {error.strerror}") from None
    return _Parser(path, text).body()


class _Parser:
    """A walk along the lines of a file."""

    def __init__(self, path: Path, text: str) -> None:
        self._path, self._lines, self._number = path, text.splitlines(), 0

    def body(self) -> SidContents:
        """Return what the file holds."""
        while self._next()[0] != "part":
            pass
        contents = SidContents()
        known = {name.lower(): name for name in OF_BODY}
        while True:
            key, _ = self._next()
            if key == "end part":
                return contents
            if key == "refmod":
                self._refmod(contents)
            elif key == "frame":
                contents.nodes += self._nodes()
            elif key in known:
                self._take(contents.matrices, known[key])
            elif key not in {"new modal", "end modal"}:
                self._refuse(f"'{key}' is not a part of a body")

    def _next(self) -> tuple[str, str]:
        """Return the key, in lower case, and the value of the next line that is not empty."""
        line = ""
        while not line:
            if self._number == len(self._lines):
                self._refuse("the file ends before its part does, as files of standard input data do not")
            line = self._lines[self._number].strip()
            self._number += 1
        key, _, value = line.partition("=")
        return " ".join(key.lower().split()), value.strip()

    def _refmod(self, body: SidContents) -> None:
        while (item := self._next())[0] != "end refmod":
            key, value = item
            if key == "mass":
                body.mass = self._real(value)
            elif key == "nelastq":
                body.modes = self._whole(value)
            elif not key.startswith("ielastq"):
                self._refuse(f"'{key}' is not a part of refmod")

    def _nodes(self) -> Iterator[Node]:
        known = {name.lower(): name for name in OF_NODE}
        node = None
        while (item := self._next())[0] != "end frame":
            key, value = item
            if key == "new node":
                node = Node(value)
            elif node is None:
                self._refuse(f"'{key}' is in no node")
            elif key == "rframe":
                node.seen_from = value
            elif key in known:
                self._take(node.matrices, known[key])
            elif key == "end node":
                yield node
                node = None
            else:
                self._refuse(f"'{key}' is not a part of a node")

    def _take(self, matrices: dict[str, Matrix], name: str) -> None:
        if name in matrices:
            self._refuse(f"there are two matrices {name}")
        matrices[name] = self._matrix(name.lower())

    def _matrix(self, name: str) -> Matrix:
        matrix = Matrix({})
        while (item := self._next())[0] != f"end {name}":
            key, value = item
            if key in HEADER:
                matrix.size[key] = self._whole(value)
                continue
            entry = ENTRY.fullmatch(key)
            if not entry or missing(matrix):
                self._refuse(f"'{key}' is not a number of {name}, or comes before {', '.join(HEADER)}")
            kind, indices = entry[1], tuple(int(number) - 1 for number in entry[2].split(","))
            if kind == "n":
                self._refuse("matrices of higher order (mn) are not read")
            if not _fits(indices, matrix, kind):
                self._refuse(f"'{key}' is beyond the rows, columns and modes of {name}")
            entries = matrix.first if kind == "1" else matrix.zeroth
            if indices in entries:
                self._refuse(f"'{key}' is in {name} twice")
            entries[indices] = self._real(value)
        if gone := missing(matrix):
            self._refuse(f"{name} has no {gone[0]}")
        return matrix

    def _whole(self, value: str) -> int:
        if not value.isdecimal() or int(value) > MOST:
            self._refuse(f"'{value}' is not a whole number from 0 to {MOST}")
        return int(value)

    def _real(self, value: str) -> float:
        try:
            number = float(value.upper().replace("D", "E"))
        except ValueError:
            number = np.nan
        if not np.isfinite(number):
            self._refuse(f"'{value}' is not a finite number")
        return number

    def _refuse(self, text: str) -> NoReturn:
        raise ModelFileError(f"'{self._path}', line {self._number}: {text}")


def missing(matrix: Matrix) -> list[str]:
    """Return the numbers of the header that a matrix lacks; nqn may."""
    return [key for key in HEADER if key not in matrix.size and key != "nqn"]


def _fits(indices: tuple[int, ...], matrix: Matrix, kind: str) -> bool:
    rows, columns, modes = (matrix.size[key] for key in ("nrow", "ncol", "nq"))
    if kind == "0":
        return len(indices) == 2 and 0 <= indices[0] < rows and 0 <= indices[1] < columns
    if len(indices) != 3 or min(indices) < 0 or indices[0] >= rows:
        return False
    return (indices[1] < modes and indices[2] < columns) or (indices[1] < columns and indices[2] < modes)

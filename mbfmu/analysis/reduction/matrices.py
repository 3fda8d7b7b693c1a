"""Matrices: a finite element model from the files of another program.

.npz    NumPy's arrays `nodes` (N, 3), `M` and `K`, each square or as rows (row, column, value) counted from 0, and
        `set.NAME` with the numbers of nodes from 0, for each node set; `dofs` (n, 2) where they are not those below
.mtx    one file for each matrix: Matrix Market, or text of Abaqus (*MATRIX OUTPUT, FORMAT=MATRIX INPUT) with lines of
        row node, its degree of freedom from 1, column node, its degree of freedom, value, of one triangle or of both;
        beside them a table of the nodes with the columns node, x, y, z, and set: names of node sets with blanks between

Without other word every node has three degrees of freedom, its translations, or six, with its rotations, in the order
of the nodes.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix

from mbfmu.analysis.reduction.model import Array, FiniteElementModel, Numbers
from mbfmu.base.formats import read_columns
from mbfmu.errors import ModelFileError, UsageError, reason_of

ENDINGS = (".npz", ".mtx")
"""Endings of files of matrices."""
MARKET = b"%%MatrixMarket"
"""Beginning of a file of the Matrix Market."""
SET = "set."
"""Beginning of the name of an array that is a node set."""


def read_matrices(
    stiffness: str | os.PathLike[str],
    mass: str | os.PathLike[str] | None = None,
    nodes: str | os.PathLike[str] | None = None,
) -> FiniteElementModel:
    """Read a finite element model that another program has assembled.

    Args:
        stiffness: an .npz file with all of it, or an .mtx file with the stiffness matrix.
        mass: an .mtx file with the mass matrix.
        nodes: a table of the nodes.

    Raises:
        UsageError: a file is missing, or what is in the files does not fit together.
        ModelFileError: a file cannot be read.
    """
    stiffness = Path(stiffness)
    if stiffness.suffix.lower() == ".npz":
        if mass or nodes:
            raise UsageError(f"'{stiffness}' has mass and nodes in it: leave out --mass and --nodes")
        return _from_npz(stiffness)
    if not mass or not nodes:
        raise UsageError(f"'{stiffness}' is only a matrix: give --mass M.mtx and --nodes NODES.csv")
    mass = Path(mass)
    labels, points, sets = _table(Path(nodes))
    texts = [_content(path) for path in (stiffness, mass)]
    if texts[0].startswith(MARKET) != texts[1].startswith(MARKET):
        raise UsageError(f"'{stiffness}' and '{mass}' are of two formats: give both in one")
    if texts[0].startswith(MARKET):
        K, M = (_market(path) for path in (stiffness, mass))
        dofs = _usual(K.shape[0], len(points), stiffness)
    else:
        entries = [_labelled(text, path, labels) for text, path in zip(texts, (stiffness, mass), strict=True)]
        keys = np.unique(np.concatenate([np.ravel(item[0]) for item in entries]))
        dofs = np.column_stack([keys // 6, keys % 6])
        K, M = (_assembled(np.searchsorted(keys, pairs), values, len(keys)) for pairs, values in entries)
    return FiniteElementModel(points, dofs, M, K, sets)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelFileError(f"cannot read '{path}': {error.strerror}") from None


def _from_npz(path: Path) -> FiniteElementModel:
    arrays = read_columns(path)
    if missing := [name for name in ("nodes", "M", "K") if name not in arrays]:
        raise ModelFileError(f"'{path}' lacks the array '{missing[0]}' of a finite element model")
    nodes = _numbers(arrays["nodes"], "nodes", path)
    sets = {name.removeprefix(SET): _whole(item, name, path) for name, item in arrays.items() if name.startswith(SET)}
    n = len(arrays["dofs"]) if "dofs" in arrays else 0
    M, K = (_square(_numbers(arrays[name], name, path), name, path, n) for name in ("M", "K"))
    n = K.shape[0]
    dofs = _whole(arrays["dofs"], "dofs", path) if "dofs" in arrays else _usual(n, len(nodes), path)
    if dofs.shape != (n, 2) or not ((dofs >= 0) & (dofs < [len(nodes), 6])).all():
        raise ModelFileError(f"'{path}': dofs must be {n} rows of a node from 0 and a component from 0 to 5")
    return FiniteElementModel(nodes, dofs, M, K, sets)


def _numbers(value: Any, name: str, path: Path) -> Array:
    array = np.asarray(value)
    if array.dtype.kind not in "fiu" or array.ndim != 2:
        raise ModelFileError(f"'{path}': {name} must be a table of numbers, not of the shape {array.shape}")
    return array.astype(np.float64)


def _whole(value: Any, name: str, path: Path) -> Numbers:
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        raise ModelFileError(f"'{path}': {name} must hold whole numbers")
    return array.astype(np.int64)


def _square(value: Array, name: str, path: Path, n: int) -> csr_matrix:
    """Return a matrix that is given whole or as rows (row, column, value)."""
    if value.shape[0] == value.shape[1]:
        return csr_matrix(value)
    if value.shape[1] != 3:
        raise ModelFileError(f"'{path}': {name} must be square, or rows (row, column, value), not {value.shape}")
    pairs = value[:, :2].astype(np.int64)
    if (pairs != value[:, :2]).any() or pairs.min(initial=0) < 0:
        raise ModelFileError(f"'{path}': {name} has rows or columns that are not whole numbers from 0")
    n = n or int(pairs.max(initial=-1)) + 1
    if pairs.max(initial=-1) >= n:
        raise ModelFileError(f"'{path}': {name} has rows or columns beyond the {n} degrees of freedom")
    return coo_matrix((value[:, 2], pairs.T), shape=(n, n)).tocsr()


def _usual(n: int, nodes: int, path: Path) -> Numbers:
    """Return degrees of freedom in the order of the nodes, three or six of each."""
    if n not in {3 * nodes, 6 * nodes}:
        raise ModelFileError(f"'{path}' has {n} degrees of freedom for {nodes} nodes: it must be three or six of each")
    each = n // nodes
    return np.column_stack([np.repeat(np.arange(nodes), each), np.tile(np.arange(each), nodes)])


def _table(path: Path) -> tuple[Mapping[int, int], Array, dict[str, Numbers]]:
    """Return the rows of nodes by their label, their positions, and the node sets."""
    columns = read_columns(path, texts=True)
    if missing := [name for name in ("node", "x", "y", "z") if name not in columns]:
        raise ModelFileError(f"'{path}' lacks the column '{missing[0]}': a table of nodes has node, x, y, z and set")
    try:
        labels = {int(label): row for row, label in enumerate(columns["node"])}
        points = np.array([[float(item) for item in columns[name]] for name in "xyz"]).T.reshape(-1, 3)
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"'{path}': {error}") from None
    if len(labels) < len(points):
        raise ModelFileError(f"'{path}' has two nodes with one label")
    members: dict[str, list[int]] = {}
    for row, names in enumerate(columns.get("set", ())):
        for name in str(names or "").split():
            members.setdefault(name, []).append(row)
    return labels, points, {name: np.array(rows) for name, rows in members.items()}


def _market(path: Path) -> csr_matrix:
    from scipy.io import mmread

    try:
        matrix = csr_matrix(mmread(path))
    except Exception as error:  # noqa: BLE001 - a damaged file raises the errors of several libraries
        raise ModelFileError(f"cannot read '{path}' as a matrix: {reason_of(error)}") from None
    if matrix.dtype.kind == "c":
        raise ModelFileError(f"'{path}' has complex numbers, such as those of structural damping: give the real part")
    return matrix.astype(np.float64)


def _labelled(text: bytes, path: Path, labels: Mapping[int, int]) -> tuple[Numbers, Array]:
    """Return rows and columns, as 6 node + component, and values of a matrix in the text format of Abaqus."""
    pairs, values = [], []
    for index, line in enumerate(text.decode("latin-1").splitlines(), 1):
        if not line.strip() or line.startswith("*"):
            continue
        try:
            row, row_dof, column, column_dof, value = line.rstrip(", ").split(",")
            ends = [(labels[int(row)], int(row_dof)), (labels[int(column)], int(column_dof))]
            if not all(1 <= dof <= 6 for _, dof in ends):
                raise ValueError
            pairs.append([6 * node + dof - 1 for node, dof in ends])
            values.append(float(value))
        except (ValueError, KeyError):
            raise ModelFileError(
                f"'{path}', line {index}: '{line.strip()[:60]}' is not an entry 'node, dof, node, dof, value' of nodes "
                "in the table"
            ) from None
    if not values:
        raise ModelFileError(f"'{path}' has no entries")
    return np.array(pairs), np.array(values)


def _assembled(pairs: Numbers, values: Array, n: int) -> csr_matrix:
    """Return a symmetric matrix from the entries of one triangle or of both."""
    row, column = pairs.T
    whole = coo_matrix((values, (row, column)), shape=(n, n)).tocsr()
    across = row != column  # whose triangle depends on the order of the nodes in the table
    if np.isin(row * n + column, column[across] * n + row[across]).any():
        return whole
    return whole + coo_matrix((values[across], (column[across], row[across])), shape=(n, n)).tocsr()

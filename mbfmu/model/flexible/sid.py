"""Standard input data (SID) of flexible bodies: text files of matrices that depend on the modes to first order.

(O. Wallrapp, Standardization of flexible body modeling in multibody system codes, Mech. Struct. Mach. 22, 1994;
Schwertassek & Wallrapp, Dynamik flexibler Mehrkoerpersysteme, 1999.) A slope is m1(row, mode, column) as the program
FEMBS writes it; others write m1(row, column, mode). The origins of nodes, which have one column, tell which it is.
"""

from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from mbfmu.base.files import write_aside
from mbfmu.errors import ModelFileError
from mbfmu.model.flexible.sid_text import Array, Matrix, Node, SidContents, matrix_of, read_body, text_of

SID = ".sid_fem"
"""Ending of the files, in any case."""
COLUMN = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
"""Rows and columns of the entries of a moment of inertia that is a column."""
SQUARES = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))
"""Products of angular velocities that the columns of Oe belong to."""
SAME = 1e-6
"""Largest difference of numbers that should be the same, as a part of the largest of them."""


def read_sid(path: Path) -> dict[str, Any]:
    """Return the constants of a body from a SID file, by the names of `ModalData`.

    The body's reference frame becomes frame_a, and nodes become the other frames. Moment of inertia and centrifugal
    stiffness of second order are one matrix in the file (Oe): both are in J2. Stresses of nodes are left out.

    Raises:
        ModelFileError: the file is missing, damaged, or contradicts itself; or it has what no `ModalBody` has, such as
            a node that is turned against the body at rest, or stresses at rest.
    """
    return _Constants(path, read_body(path)).modal_data()


def write_sid(path: Path, data: Any) -> Path:
    """Write the constants of a body, `ModalData`, to a SID file; stresses and the surface are left out.

    Raises:
        MbfmuError: the file cannot be written.
    """
    n, r_phi = len(data.Me), data.moments()
    J2 = data.J2 + 2 * np.eye(3)[:, :, None, None] * np.einsum("aakl->kl", data.N2)
    J2 = J2 - data.N2 - data.N2.transpose(1, 0, 2, 3)
    bent = np.stack([data.N2[(a + 1) % 3, (a + 2) % 3] - data.N2[(a + 2) % 3, (a + 1) % 3] for a in range(3)])
    Cr1 = data.Cr1 + bent
    gyration = -2 * (r_phi.transpose(1, 0, 2) - np.eye(3)[:, :, None] * np.einsum("aak->k", r_phi))
    half = np.array([1 / (1 + (a == b)) for a, b in SQUARES])
    first, second = (np.stack([item[a, b] for a, b in SQUARES], axis=-1) * -half for item in (data.J1, J2))
    matrices = {
        "mdCM": (data.c0[:, None], data.C1[:, :, None]),
        "J": (_columned(data.J0)[:, None], _columned(data.J1)[:, :, None]),
        "Ct": (data.C1.T, _slopes(data.C2.transpose(2, 1, 0))),
        "Cr": (data.Cr0.T, Cr1.transpose(2, 1, 0)),
        "Me": (data.Me, None),
        "Gr": (gyration.reshape(3, 3 * n), None),
        "Ge": (2 * Cr1.transpose(2, 0, 1).reshape(n, 3 * n), None),
        "Oe": (first, second),
        "ksigma": (np.zeros((n, 1)), None),
        "Ke": (data.Ke, None),
        "De": (data.De, None),
    }
    nodes = []
    for name, r0, Phi0, Phi1, Psi0 in zip(data.frames, data.r0, data.Phi0, data.Phi1, data.Psi0, strict=True):
        of_node = {
            "origin": (r0[:, None], Phi0[:, :, None]), "phi": (Phi0, _slopes(Phi1)), "psi": (Psi0, None),
            "AP": (np.eye(3), np.cross(Psi0.T[:, None], np.eye(3)).transpose(2, 0, 1)),
        }  # fmt: skip
        nodes.append(Node(name, "body ref", {key: matrix_of(*item, n) for key, item in of_node.items()}))
    body = SidContents(data.m, n, nodes, {key: matrix_of(*item, n) for key, item in matrices.items()})
    return write_aside(path, text_of(body).encode("ascii"))


class _Constants:
    """The constants of what a file holds."""

    def __init__(self, path: Path, body: SidContents) -> None:
        self._path, self._body, self._n = path, body, body.modes
        if missing := [name for name in ("mdCM", "J", "Ct", "Cr", "Me", "Ke") if name not in body.matrices]:
            self._refuse(f"there is no matrix {missing[0]}")
        for node in body.nodes:
            if missing := [name for name in ("origin", "phi", "psi") if name not in node.matrices]:
                self._refuse(f"node {node.name} has no {missing[0]}")
            if node.seen_from.lower() != "body ref":
                self._refuse(f"node {node.name} is seen from '{node.seen_from}', and only 'body ref' can be read")
        every = [*body.matrices.items(), *(item for node in body.nodes for item in node.matrices.items())]
        for name, matrix in every:
            if matrix.first and matrix.size["nq"] != self._n:
                self._refuse(f"{name} has {matrix.size['nq']} modes, and the body {self._n}")
        places = [entry for node in body.nodes for entry in node.matrices["origin"].first]
        self._modes_last = any(entry[2] for entry in places)
        if self._modes_last and any(entry[1] for entry in places):
            self._refuse("the origins of nodes have slopes m1 with neither one row of modes nor one column")

    def modal_data(self) -> dict[str, Any]:
        """Return the constants."""
        n, matrices = self._n, self._body.matrices
        if self._value(matrices.get("ksigma"), n, 1).any():
            self._refuse("the body is under stress at rest (ksigma), which no ModalBody is")
        J0, J1 = self._inertia(matrices["J"])
        Cr1 = self._slopes(matrices["Cr"], n, 3).transpose(2, 1, 0)
        C2 = _even(self._slopes(matrices["Ct"], n, 3).transpose(2, 1, 0))
        even, N2 = (Cr1 + Cr1.transpose(0, 2, 1)) / 2, np.zeros((3, 3, n, n))
        if not C2.any():  # without displacements of second order it is the rotary inertia of nodes that turn
            even = np.zeros_like(even)
        for a in range(3):
            b, c = (a + 1) % 3, (a + 2) % 3
            N2[b, c], N2[c, b] = even[a] / 2, -even[a] / 2
        J2, squares = np.zeros((3, 3, n, n)), matrices.get("Oe")
        wanted = np.stack([-J1[a, b] / (1 + (a == b)) for a, b in SQUARES], axis=1)
        if squares and not _same(self._value(squares, n, 6), wanted):
            self._refuse("Oe contradicts J: m0 must hold -1/2 or -1 times the slopes of the moments of inertia")
        for (a, b), part in zip(SQUARES, self._slopes(squares, n, 6).transpose(2, 0, 1), strict=True):
            J2[a, b] = J2[b, a] = -(1 + (a == b)) * (part + part.T) / 2
        return {
            "m": self._body.mass, "c0": self._value(matrices["mdCM"], 3, 1)[:, 0],
            "C1": self._value(matrices["Ct"], n, 3).T, "C2": C2,
            "J0": J0, "J1": J1, "J2": J2, "N2": N2, "Cr0": self._value(matrices["Cr"], n, 3).T, "Cr1": Cr1 - even,
            **{name: self._value(matrices.get(name), n, n) for name in ("Me", "Ke", "De")}, **self._frames(),
        }  # fmt: skip

    def _frames(self) -> dict[str, Any]:
        """Return the names and the constants of the frames."""
        n, nodes = self._n, self._body.nodes
        constants = {
            "r0": np.zeros((len(nodes), 3)), "Phi0": np.zeros((len(nodes), 3, n)),
            "Phi1": np.zeros((len(nodes), 3, n, n)), "Psi0": np.zeros((len(nodes), 3, n)),
        }  # fmt: skip
        for k, node in enumerate(nodes):
            origin, phi, psi = (node.matrices[name] for name in ("origin", "phi", "psi"))
            axes = node.matrices.get("AP")
            if axes and not _same(self._value(axes, 3, 3), np.eye(3)):
                self._refuse(f"node {node.name} is turned against the body at rest: frames have the body's axes")
            constants["r0"][k], constants["Phi0"][k] = self._value(origin, 3, 1)[:, 0], self._value(phi, 3, n)
            constants["Psi0"][k], constants["Phi1"][k] = self._value(psi, 3, n), _even(self._slopes(phi, 3, n))
            if not _same(self._slopes(origin, 3, 1)[:, :, 0], constants["Phi0"][k]):
                self._refuse(f"the origin of node {node.name} contradicts its phi")
        names = tuple(node.name if node.name.isidentifier() else f"node{node.name}" for node in nodes)
        return {**constants, "frames": names}

    def _inertia(self, matrix: Matrix) -> tuple[Array, Array]:
        """Return the moment of inertia and its slopes, shapes (3, 3) and (3, 3, n), from a column or a square."""
        if matrix.size["ncol"] == 3:
            return self._value(matrix, 3, 3), self._slopes(matrix, 3, 3).transpose(0, 2, 1)
        J0, J1 = np.zeros((3, 3)), np.zeros((3, 3, self._n))
        column, slopes = self._value(matrix, 6, 1)[:, 0], self._slopes(matrix, 6, 1)[:, :, 0]
        for (a, b), entry, slope in zip(COLUMN, column, slopes, strict=True):
            J0[a, b] = J0[b, a] = entry
            J1[a, b] = J1[b, a] = slope
        return J0, J1

    def _value(self, matrix: Matrix | None, rows: int, columns: int) -> Array:
        if matrix is None:
            return np.zeros((rows, columns))
        value = matrix.value()
        if value.shape != (rows, columns):
            self._refuse(f"a matrix is {value.shape[0]} x {value.shape[1]}, and must be {rows} x {columns}")
        return value

    def _slopes(self, matrix: Matrix | None, rows: int, columns: int) -> Array:
        """Return the slopes of a matrix, shape (rows, modes, columns)."""
        if matrix is None or not matrix.first:
            return np.zeros((rows, self._n, columns))
        self._value(matrix, rows, columns)
        try:
            return matrix.slopes(self._modes_last)
        except IndexError:
            order = "row, column, mode" if self._modes_last else "row, mode, column"
            self._refuse(f"slopes are not all m1({order}), as those of the nodes' origins are")

    def _refuse(self, text: str) -> NoReturn:
        raise ModelFileError(f"'{self._path}': {text}")


def _slopes(value: Array) -> Array | None:
    """Return slopes, None where all are zero."""
    return value if value.any() else None


def _columned(J: Array) -> Array:
    """Return the entries of a moment of inertia as a column."""
    return np.stack([J[a, b] for a, b in COLUMN])


def _even(slopes: Array) -> Array:
    """Return the part that is symmetric in its last two axes."""
    return np.asarray((slopes + slopes.swapaxes(-1, -2)) / 2)


def _same(a: Array, b: Array) -> bool:
    """Return whether numbers are the same but for the digits that files give."""
    return bool(np.abs(a - b).max(initial=0.0) <= SAME * max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0)))

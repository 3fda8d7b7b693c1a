"""Modal data: the constants of a flexible body given by modes, and the file that holds them."""

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mbfmu.base.files import ending_of
from mbfmu.base.formats import read_columns, write_columns
from mbfmu.errors import ModelFileError, NameInUseError, ValueRangeError
from mbfmu.model.component import is_name
from mbfmu.model.flexible.sid import SID, read_sid, write_sid
from mbfmu.model.flexible.stresses import ModalSurface, StressPoints

Array = npt.NDArray[np.float64]

ENDINGS = (".npz", SID)
"""Endings of files of modal data: NumPy's arrays, and standard input data."""
FORMAT = "mbfmu modal body 1"
"""Text in a file of modal data that names its format."""
OPTIONAL = ("C2", "J2", "N2", "Cr1", "De", "Phi1")
"""Constants that a file may leave out; they are zero then."""
PARTS = {
    "stresses": (StressPoints, {"names": "sigma_names", "r": "sigma_at", "sigma": "sigma"}),
    "surface": (ModalSurface, {"r": "surface", "triangles": "surface_triangles", "Phi": "surface_Phi",
                               "sigma": "surface_sigma"}),
}  # fmt: skip
"""Optional parts of a body: class, and names of the arrays in a file by those of its fields."""
OWN = frozenset({"eta", "eta_t", "eta_tt", "data", "zeta", "r_0", "v_0", "a_0", "phi", "w", "Q", "w_a"})
"""Names of variables of the body, which its frames cannot have."""
ALIKE = 1e-6
"""Largest difference of entries that symmetry makes equal, relative to the largest entry."""
INDEFINITE = 1e-9
"""Size of a negative eigenvalue of a scaled matrix that counts as round-off."""
IN_PLANE = 1e-6
"""Fraction of a mode's motion in the x-y plane, or out of it, below which it counts as zero."""


@dataclass(frozen=True, eq=False)
class ModalData:
    """The constants of a flexible body with n modes and k frames besides frame_a, where it is clamped.

    A point of the body that is at r at rest is at r + phi eta + eta.(gamma eta) / 2, seen from frame_a and resolved
    there; gamma, of second order, is what makes loads along the body stiffen or soften it. All integrals are over the
    mass. The letters are those of the standard input data of O. Wallrapp, Mech. Struct. Mach. 22 (1994), of which C1 is
    the transpose of C_t; C2, N2 and Phi1 are their terms of geometric stiffening.

    Args:
        m: mass, kg.
        c0, C1, C2: integrals of r, phi and gamma, shapes (3,), (3, n), (3, n, n); the first is in kg.m.
        J0, J1, J2: moment of inertia about the origin of frame_a, kg.m2, and its derivatives by eta without those of
            gamma, shapes (3, 3), (3, 3, n), (3, 3, n, n).
        N2: integral of r_a gamma_b, shape (3, 3, n, n).
        Cr0: integral of r x phi, shape (3, n).
        Cr1: integral of phi_i x phi_j, shape (3, n, n).
        Me, Ke, De: matrices of mass, stiffness and damping of the modes, shape (n, n).
        frames: names of the frames besides frame_a.
        r0: their positions at rest, m, shape (k, 3).
        Phi0: translations of the frames by the modes, shape (k, 3, n).
        Phi1: gamma at the frames, shape (k, 3, n, n).
        Psi0: rotations of the frames by the modes, rad, shape (k, 3, n).
        stresses: points whose stresses become outputs; None: there are none.
        surface: surface that pictures show; None: they show lines between the frames.

    Raises:
        ValueRangeError: a value is NaN or infinite, a shape does not fit, or a matrix is not what it has to be.
        NameInUseError: the name of a frame is none, or that of a variable, or two frames have one name.
    """

    m: float
    c0: Array
    C1: Array
    C2: Array
    J0: Array
    J1: Array
    J2: Array
    N2: Array
    Cr0: Array
    Cr1: Array
    Me: Array
    Ke: Array
    De: Array
    frames: tuple[str, ...]
    r0: Array
    Phi0: Array
    Phi1: Array
    Psi0: Array
    stresses: StressPoints | None = None
    surface: ModalSurface | None = None

    def __post_init__(self) -> None:
        self._set_arrays()
        self._check_energies()
        self._check_names()

    def _set_arrays(self) -> None:
        """Set all matrices as arrays of numbers.

        Raises:
            ValueRangeError: one has another shape than the number of modes asks for, or entries that are not finite.
        """
        n = self.Me.shape[0] if np.ndim(self.Me) == 2 else 0
        if not n:
            raise ValueRangeError(f"Me has the shape {np.shape(self.Me)}: it must be (n, n), with a row for each mode")
        for name, shape in shapes_of(n, len(self.frames)).items():
            value = np.asarray(getattr(self, name))
            if value.shape != shape:
                raise ValueRangeError(f"{name} has the shape {value.shape}: with {n} modes it must be {shape}")
            if value.dtype.kind not in "fiu" or not np.isfinite(value).all():
                raise ValueRangeError(f"{name} has entries that are not finite numbers")
            object.__setattr__(self, name, float(value) if name == "m" else np.array(value, dtype=np.float64))
        for part in (self.stresses, self.surface):
            if part is not None and part.modes != n:
                raise ValueRangeError(f"the stresses or the surface are those of {part.modes} modes: the body has {n}")

    def _check_energies(self) -> None:
        """Raise a `ValueRangeError` unless the matrices are symmetric and the energies that they give not negative."""
        if not self.m > 0:
            raise ValueRangeError(f"m = {self.m:g} kg must be a mass above zero")
        for name in ("Me", "Ke", "De", "J0", "J1", "J2"):
            _check_symmetric(name, getattr(self, name), (0, 1))
        for name, axes in (("J2", (2, 3)), ("N2", (2, 3)), ("C2", (1, 2)), ("Phi1", (2, 3))):
            _check_symmetric(name, getattr(self, name), axes)
        if not _least(self.Me) > INDEFINITE:
            raise ValueRangeError("Me is not positive definite: every combination of modes needs mass")
        for name, matrix in (("Ke", self.Ke), ("De", self.De), ("the mass matrix of m, c0, J0, C1, Cr0 and Me",
                                                               self.mass_matrix())):  # fmt: skip
            if not _least(matrix) > -INDEFINITE:
                raise ValueRangeError(f"{name} has a negative eigenvalue: energies must not be negative")

    def _check_names(self) -> None:
        """Raise a `NameInUseError` unless each frame has a name that it can have, and no other has."""
        for name in self.frames:
            if not is_name(name) or name == "frame_a":
                raise NameInUseError(
                    f"'{name}' cannot name a frame besides frame_a: use letters, digits and underscores"
                )
        if taken := OWN & {*self.frames, *(self.stresses.names if self.stresses else ())}:
            raise NameInUseError(
                f"a frame or point with stresses cannot have the name '{min(taken)}' of a variable of the body: name "
                "its node set or place otherwise"
            )
        if len({*self.frames}) < len(self.frames):
            raise NameInUseError(f"two frames have one name: {', '.join(self.frames)}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModalData) and all(
            np.array_equal(getattr(self, item.name), getattr(other, item.name)) for item in fields(self)
        )

    def __hash__(self) -> int:
        return hash((self.m, self.frames, self.Ke.tobytes()))

    def __repr__(self) -> str:
        return f"<ModalData: {self.m:g} kg, {len(self.Me)} modes, frames {', '.join(('frame_a', *self.frames))}>"

    def mass_matrix(self) -> Array:
        """Return the mass matrix of the velocity of frame_a, its angular velocity and eta_t at rest, (6 + n, 6 + n)."""
        x, y, z = self.c0
        across = np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])
        return np.block(
            [[self.m * np.eye(3), across, self.C1], [across.T, self.J0, self.Cr0], [self.C1.T, self.Cr0.T, self.Me]]
        )

    def moments(self) -> Array:
        """Return the integrals of r_a phi_b, shape (3, 3, n): their even part is in J1, the odd one in Cr0."""
        trace = np.einsum("aak->k", self.J1) / 4
        even = np.eye(3)[:, :, None] * trace - self.J1 / 2
        odd = np.zeros_like(even)
        for c in range(3):
            a, b = (c + 1) % 3, (c + 2) % 3
            odd[a, b], odd[b, a] = self.Cr0[c] / 2, -self.Cr0[c] / 2
        return np.asarray(even + odd)

    def in_plane(self) -> tuple[int, ...]:
        """Return the numbers of the modes that move the body in the x-y plane, from 0."""
        return tuple(map(int, np.flatnonzero(self._parts()[0] > IN_PLANE)))

    def mixed(self) -> tuple[int, ...]:
        """Return the numbers of the modes that move the body both in the x-y plane and out of it, from 0."""
        inside, outside = self._parts()
        return tuple(map(int, np.flatnonzero((inside > IN_PLANE) & (outside > IN_PLANE))))

    def _parts(self) -> tuple[Array, Array]:
        """Return how far each mode moves frames and centre of mass in the x-y plane, and out of it, as parts of 1."""
        L = np.sqrt(np.trace(self.J0) / self.m)
        moves = np.abs([*self.Phi0, self.C1 / self.m])
        turns = np.abs([*(item * L for item in self.Psi0), self.Cr0 / (self.m * L if L else 1.0)])
        inside = np.maximum(moves[:, :2].max(axis=(0, 1)), turns[:, 2].max(axis=0))
        outside = np.maximum(moves[:, 2].max(axis=0), turns[:, :2].max(axis=(0, 1)))
        whole = np.maximum(np.maximum(inside, outside), np.finfo(np.float64).tiny)
        return inside / whole, outside / whole


def shapes_of(n: int, k: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the constants of a body with n modes and k frames besides frame_a, by name."""
    return {
        "m": (), "c0": (3,), "C1": (3, n), "C2": (3, n, n), "J0": (3, 3), "J1": (3, 3, n), "J2": (3, 3, n, n),
        "N2": (3, 3, n, n), "Cr0": (3, n), "Cr1": (3, n, n), "Me": (n, n), "Ke": (n, n), "De": (n, n), "r0": (k, 3),
        "Phi0": (k, 3, n), "Phi1": (k, 3, n, n), "Psi0": (k, 3, n),
    }  # fmt: skip


def read_modal(path: str | os.PathLike[str]) -> ModalData:
    """Read modal data from an .npz file, or from one of standard input data (.sid_fem).

    Raises:
        ModelFileError: the file is missing, damaged, or holds something else.
        ValueRangeError, NameInUseError: see `ModalData`; the message begins with the path.
    """
    where = Path(path)
    ending = where.suffix.lower()
    if ending not in ENDINGS or not where.is_file():
        raise ModelFileError(
            f"there is no file '{where}' of modal data, which ends in {' or '.join(ENDINGS)}: see `mbfmu reduce`"
        )
    try:
        return ModalData(**read_sid(where)) if ending == SID else _from_arrays(where)
    except (ValueRangeError, NameInUseError) as error:
        raise type(error)(f"'{where}': {error}") from None


def _from_arrays(where: Path) -> ModalData:
    """Return the modal data of an .npz file."""
    columns = read_columns(where)
    if str(columns.pop("format", "")) != FORMAT:
        raise ModelFileError(f"'{where}' holds no modal data: its array 'format' must be '{FORMAT}'")
    n, frames = len(np.atleast_1d(columns.get("Me", ()))), tuple(map(str, np.atleast_1d(columns.pop("frames", ()))))
    parts = {name: items for name, (_, arrays) in PARTS.items() if (items := _popped(columns, arrays, where))}
    shapes = shapes_of(n, len(frames))
    if strange := sorted({*columns} - {*shapes}):
        raise ModelFileError(f"'{where}' has the array '{strange[0]}', which modal data do not have")
    if missing := sorted({*shapes} - {*columns} - {*OPTIONAL}):
        raise ModelFileError(f"'{where}' lacks the array '{missing[0]}' of modal data")
    filled: dict[str, Any] = {name: np.zeros(shape) for name, shape in shapes.items()} | columns
    return ModalData(**filled, frames=frames, **{name: PARTS[name][0](**items) for name, items in parts.items()})


def write_modal(path: str | os.PathLike[str], data: ModalData) -> Path:
    """Write modal data to an .npz file, or to one of standard input data (.sid_fem), without stresses and surface.

    Terms that are zero throughout and may be left out are left out.

    Raises:
        UsageError: the path ends in neither.
        MbfmuError: the file cannot be written.
    """
    where = Path(path)
    if ending_of(where, ENDINGS) == SID:
        return write_sid(where, data)
    arrays = {item.name: np.asarray(getattr(data, item.name)) for item in fields(data) if item.name not in PARTS}
    kept = {name: value for name, value in arrays.items() if name not in OPTIONAL or value.any()}
    for name, (_, labels) in PARTS.items():
        if (part := getattr(data, name)) is not None:
            kept |= {label: np.asarray(getattr(part, item)) for item, label in labels.items()}
    return write_columns(where, {"format": np.array(FORMAT), **kept})


def _popped(columns: dict[str, Any], arrays: dict[str, str], where: Path) -> dict[str, Any]:
    """Return the arrays of a part by the names of its fields, taken out of those of a file; none if none are there.

    Raises:
        ModelFileError: some are there and others are not.
    """
    popped = {item: columns.pop(label) for item, label in arrays.items() if label in columns}
    if missing := [label for item, label in arrays.items() if popped and item not in popped]:
        raise ModelFileError(f"'{where}' lacks the array '{missing[0]}', which goes with the others of its kind")
    if "names" in popped:
        popped["names"] = tuple(map(str, np.atleast_1d(popped["names"])))
    return popped


def _check_symmetric(name: str, value: Array, axes: tuple[int, int]) -> None:
    if np.abs(value - value.swapaxes(*axes)).max(initial=0.0) > ALIKE * np.abs(value).max(initial=0.0):
        raise ValueRangeError(f"{name} is not symmetric in its indices {axes[0] + 1} and {axes[1] + 1}")


def _least(matrix: Array) -> float:
    """Return the least eigenvalue of a symmetric matrix whose diagonal is scaled to 1 where it is not zero."""
    size = np.sqrt(np.abs(np.diag(matrix)))
    scale = 1 / np.where(size > 0, size, 1.0)
    return float(np.linalg.eigvalsh(matrix * np.outer(scale, scale)).min())

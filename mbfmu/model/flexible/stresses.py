"""Stresses of modes: at named points, which become outputs, and on a surface that pictures show."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from mbfmu.errors import NameInUseError, ValueRangeError
from mbfmu.model.component import is_name

Array = npt.NDArray[np.float64]

COMPONENTS = ("xx", "yy", "zz", "xy", "yz", "zx")
"""Components of the stress tensor, in order."""


@dataclass(frozen=True, eq=False)
class StressPoints:
    """Points of a flexible body at which its n modes have known stresses.

    Args:
        names: names of k points.
        r: their places at rest, m, seen from frame_a and resolved there, shape (k, 3).
        sigma: stresses xx, yy, zz, xy, yz and zx by the modes, N/m2 for each unit of eta, shape (k, 6, n).

    Raises:
        ValueRangeError: a value is NaN or infinite, or a shape does not fit.
        NameInUseError: the name of a point is none, or two points have one name.
    """

    names: tuple[str, ...]
    r: Array
    sigma: Array

    def __post_init__(self) -> None:
        k, n = len(self.names), np.shape(self.sigma)[-1] if np.ndim(self.sigma) == 3 else 0
        _settle(self, {"r": (k, 3), "sigma": (k, 6, n)}, np.float64)
        for name in self.names:
            if not is_name(name):
                raise NameInUseError(f"'{name}' cannot name a point with stresses: use letters, digits and underscores")
        if len({*self.names}) < k:
            raise NameInUseError(f"two points with stresses have one name: {', '.join(self.names)}")

    def __eq__(self, other: object) -> bool:
        return _alike(self, other)

    def __hash__(self) -> int:
        return hash((self.names, self.r.tobytes()))

    @property
    def modes(self) -> int:
        """Number of modes."""
        return int(self.sigma.shape[-1])


@dataclass(frozen=True, eq=False)
class ModalSurface:
    """A surface of a flexible body for pictures, with the displacements and stresses of its n modes.

    Args:
        r: places of v corners at rest, m, seen from frame_a and resolved there, shape (v, 3).
        triangles: numbers of their corners, counterclockwise from outside, shape (f, 3).
        Phi: displacements of the corners by the modes, shape (v, 3, n).
        sigma: stresses as those of `StressPoints`, shape (v, 6, n); (0, 6, n) where they are not known.

    Raises:
        ValueRangeError: a value is NaN or infinite, a shape does not fit, or a triangle has no such corner.
    """

    r: npt.NDArray[np.float32]
    triangles: npt.NDArray[np.int32]
    Phi: npt.NDArray[np.float32]
    sigma: npt.NDArray[np.float32]

    def __post_init__(self) -> None:
        v, n = np.size(self.r) // 3, np.shape(self.Phi)[-1] if np.ndim(self.Phi) == 3 else 0
        _settle(self, {"r": (v, 3), "Phi": (v, 3, n), "sigma": (v if np.size(self.sigma) else 0, 6, n)}, np.float32)
        triangles = np.asarray(self.triangles)
        if triangles.dtype.kind not in "iu" or triangles.ndim != 2 or triangles.shape[1] != 3:
            raise ValueRangeError(f"the triangles of a surface must be rows of three corners, not {triangles.shape}")
        if triangles.size and not 0 <= triangles.min() <= triangles.max() < v:
            raise ValueRangeError(f"a triangle of a surface has a corner beyond the {v} corners")
        object.__setattr__(self, "triangles", triangles.astype(np.int32))

    def __eq__(self, other: object) -> bool:
        return _alike(self, other)

    def __hash__(self) -> int:
        return hash((self.r.tobytes(), self.triangles.tobytes()))

    @property
    def modes(self) -> int:
        """Number of modes."""
        return int(self.Phi.shape[-1])


def squared_von_mises(sigma: Any) -> Any:
    """Return the square of the equivalent stress of R. v. Mises (1913), of numbers or expressions.

    Args:
        sigma: the stresses xx, yy, zz, xy, yz and zx.
    """
    xx, yy, zz, xy, yz, zx = (sigma[k] for k in range(6))
    return ((xx - yy) ** 2 + (yy - zz) ** 2 + (zz - xx) ** 2) / 2 + 3 * (xy**2 + yz**2 + zx**2)


def _settle(item: Any, shapes: dict[str, tuple[int, ...]], kind: type) -> None:
    """Check arrays of a description, and make copies of them of one type."""
    for name, shape in shapes.items():
        value = np.asarray(getattr(item, name))
        if value.shape != shape:
            raise ValueRangeError(f"{name} of {type(item).__name__} has the shape {value.shape}: it must be {shape}")
        if value.dtype.kind not in "fiu" or not np.isfinite(value).all():
            raise ValueRangeError(f"{name} of {type(item).__name__} has entries that are not finite numbers")
        object.__setattr__(item, name, np.array(value, dtype=kind))


def _alike(item: Any, other: Any) -> bool:
    return type(item) is type(other) and all(
        np.array_equal(getattr(item, part.name), getattr(other, part.name)) for part in fields(item)
    )

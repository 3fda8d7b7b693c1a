"""Checks that numbers can be the inertia of a body."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

ROUNDED = 0.01
"""Relative excess of a principal moment over the sum of the other two that is allowed, as data are often rounded to two
digits."""


def inertia_matrix(moments: Sequence[float], products: Sequence[float]) -> npt.NDArray[np.float64]:
    """Return the inertia matrix, shape (3, 3), kg.m2.

    Args:
        moments: I_11, I_22, I_33.
        products: I_21, I_31, I_32 (entries of the matrix: minus the integrals of xy, xz, yz).
    """
    (xx, yy, zz), (xy, xz, yz) = moments, products
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def unphysical(inertia: npt.NDArray[np.float64]) -> str:
    """Return the reason why no body can have an inertia; an empty text if a body can.

    The principal moments of a body are not negative, and none exceeds the sum of the other two (an idealised rod, or
    a point, is at the limit).

    Args:
        inertia: about the centre of mass, shape (3, 3), symmetric, finite, kg.m2.
    """
    size = float(np.abs(inertia).max())
    if size == 0:
        return ""
    least, middle, largest = np.linalg.eigvalsh(inertia / size)
    shown = ", ".join(f"{value * size:.6g}" for value in (least, middle, largest))
    if least < -1e-9:
        return f"the inertia is not positive: its principal moments are {shown} kg.m2"
    if largest > (least + middle) * (1 + ROUNDED) + 1e-9:
        return (
            f"no body has principal moments of {shown} kg.m2: none may exceed the sum of the other two "
            "(is the inertia about the centre of mass?)"
        )
    return ""

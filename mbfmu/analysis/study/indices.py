"""Sobol' indices: which values a measure depends on, alone and together with others.

With the base points A and B and the points A_i, which are A with the value i of B,

    S_i = mean(f_B (f_Ai - f_A)) / V,    T_i = mean((f_A - f_Ai)^2) / (2 V),

where V is the variance of f over A and B: the estimators of Saltelli et al. (Computer Physics Communications 181, 2010,
pp. 259-270) for the first-order index, and of Jansen (Computer Physics Communications 117, 1999, pp. 35-43) for the
total one. Intervals are those of a bootstrap over the base points.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mbfmu.analysis.study.table import Row
from mbfmu.base.arguments import checked
from mbfmu.errors import UsageError

Array = npt.NDArray[np.float64]

RESAMPLED = 1000
"""Number of bootstrap samples."""
PARTS = (2.5, 97.5)
"""Percentiles that are the ends of an interval."""


@dataclass(frozen=True)
class SobolIndex:
    """The indices of one measure and one varied value.

    Args:
        measure: label of the measure.
        name: name of the value.
        first: part of the variance that the value causes alone.
        first_interval: ends of its interval of 95 %.
        total: part of the variance that goes if the value is fixed: alone and together with others.
        total_interval: ends of its interval of 95 %.
    """

    measure: str
    name: str
    first: float
    first_interval: tuple[float, float]
    total: float
    total_interval: tuple[float, float]


@checked
def sobol_indices(rows: Sequence[Row], seed: int = 0) -> tuple[SobolIndex, ...]:
    """Return the first-order and total Sobol' indices of each measure and each value of a sweep.

    Base points with a run that failed are left out.

    Args:
        rows: all rows of a sweep with ``sample="saltelli:N"`` and no grid, in their order.
        seed: seed of the bootstrap.

    Raises:
        UsageError: the rows are others, fewer than two base points have all their runs, or a measure does not vary.
    """
    names = tuple(rows[0].values) if rows else ()
    count = len(rows) // (len(names) + 2)
    points = np.array([[*row.values.values()] for row in rows], dtype=np.float64).reshape(len(rows), len(names))
    if not names or count * (len(names) + 2) != len(rows) or not _is_scheme(points, count):
        raise UsageError("these rows are not those of a sample saltelli:N without a grid, in their order")
    blocks = [rows[k * count : (k + 1) * count] for k in range(len(names) + 2)]
    whole = [k for k in range(count) if not any(block[k].failure for block in blocks)]
    if len(whole) < 2:
        raise UsageError(f"of {count} base points {len(whole)} have all their runs: indices take two at least")
    picked = np.random.default_rng(seed).integers(0, len(whole), (RESAMPLED, len(whole)))
    found = []
    for label in blocks[0][whole[0]].measures:
        f = np.array([[block[k].measures[label] for k in whole] for block in blocks])
        if not np.ptp(f[:2]) > 0:
            raise UsageError(f"'{label}' is the same in all runs: it depends on none of these values")
        first, total = _estimated(f)
        some = np.array([_estimated(f[:, resample]) for resample in picked])
        ends = np.percentile(some, PARTS, axis=0)
        for k, name in enumerate(names):
            intervals = [(float(ends[0, which, k]), float(ends[1, which, k])) for which in range(2)]
            found.append(SobolIndex(label, name, float(first[k]), intervals[0], float(total[k]), intervals[1]))
    return tuple(found)


def _is_scheme(points: Array, count: int) -> bool:
    """Return whether points are A, B and for each value A with that value of B."""
    if not count:
        return False
    A, B, *mixed = np.split(points, len(points) // count)
    return all(
        np.array_equal(block[:, j], (B if j == k else A)[:, j])
        for k, block in enumerate(mixed)
        for j in range(A.shape[1])
    )


def _estimated(f: Array) -> tuple[Array, Array]:
    """Return the first-order and the total indices from f over A, B and the mixed points, shape (d + 2, N)."""
    f_A, f_B, mixed = f[0], f[1], f[2:]
    centre, V = f[:2].mean(), f[:2].var()
    first = np.mean((f_B - centre) * (mixed - f_A), axis=1) / V  # the mean of f_Ai - f_A is zero in the limit
    return first, np.mean((f_A - mixed) ** 2, axis=1) / (2 * V)

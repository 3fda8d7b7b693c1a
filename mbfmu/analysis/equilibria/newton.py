"""Newton's method for equations that may be more than the unknowns, as long as they agree.

The corrections are the least ones, -J^+ f, with the rows and columns of J = f_x scaled. They are damped so that the
correction falls that the same J^+ asks for next: the natural monotonicity test (Deuflhard, Newton Methods for Nonlinear
Problems, 2004, chapter 3). The rank of J at the end says what nothing determines.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mbfmu.analysis.equilibria.problem import EquilibriumProblem
from mbfmu.dae.start import column

Array = npt.NDArray[np.float64]

MOST_STEPS = 200
"""Largest number of Newton's corrections from one start."""
LONGEST = 0.3
"""Longest correction of a coordinate, m or rad."""
FARTHEST = 1000.0
"""Largest displacement of a coordinate from its start that the search follows, m or rad."""
HALVINGS = 20
"""Largest number of times that a correction is halved."""
RANK = 1e-9
"""Singular value of the scaled slopes, relative to the largest, below which it counts as zero; the same for the length
of a column."""
SHORT = 1e-3
"""Length of a row, relative to the longest of its kind, up to which rows are scaled: shorter ones are curved most."""
SETTLED = 1e-13
"""Correction, relative to the unknowns, that round-off explains."""
MET = 1e-8
"""Largest distance of the unknowns from meeting an equation, relative to their sizes, that counts as met."""


@dataclass(frozen=True, eq=False)
class Found:
    """The end of Newton's method.

    Args:
        x: the unknowns.
        f: the equations' residuals.
        J: their slopes.
        gaps: distance of the unknowns from meeting each equation, relative to their sizes.
        rank: of J.
        loose: unknowns that nothing determines: an orthonormal basis, shape (number, n_x).
        settled: whether no further correction is needed.
        corrections: how many were made.
    """

    x: Array
    f: Array
    J: Array
    gaps: Array
    rank: int
    loose: Array
    settled: bool
    corrections: int

    @property
    def met(self) -> bool:
        """Return whether all equations are met."""
        return self.settled and bool(np.max(self.gaps, initial=0.0) <= MET)


@dataclass(frozen=True)
class Slopes:
    """The pseudo-inverse of J, with rows and columns scaled."""

    rows: Array
    columns: Array
    left: Array
    values: Array
    right: Array
    rank: int

    @classmethod
    def of(cls, J: Array, sizes: Array, kinds: tuple[str, ...], cut: float) -> "Slopes":
        """Return the factors of J.

        Args:
            J: shape (number of equations, number of unknowns).
            sizes: usual sizes of the unknowns.
            kinds: kinds of the equations; a row is scaled to length 1 unless it is short among those of its kind.
            cut: singular value, relative to the largest, below which it counts as zero.
        """
        scaled = J * sizes
        length = np.linalg.norm(scaled, axis=1)
        longest = {kind: max(length[[other == kind for other in kinds]]) for kind in set(kinds)}
        most = np.array([longest[kind] or 1.0 for kind in kinds])
        rows = 1 / np.maximum(length, SHORT * most)
        scaled = scaled * rows[:, None]
        across = np.linalg.norm(scaled, axis=0)
        columns = 1 / np.where(across > RANK * max(np.max(across, initial=0.0), 1e-300), across, 1.0)
        left, values, right = np.linalg.svd(scaled * columns, full_matrices=True)
        rank = int(np.sum(values > cut * np.max(values, initial=0.0)))
        return cls(rows, columns * sizes, left, values, right, rank)

    def correction(self, f: Array) -> Array:
        """Return -J^+ f, relative to the columns' scales."""
        part = self.left[:, : self.rank].T @ (self.rows * f) / self.values[: self.rank]
        step: Array = -(self.right[: self.rank].T @ part)
        return step


def newton(
    problem: EquilibriumProblem, x: Array, cut: float = RANK, most: int = MOST_STEPS, left: Array | float = 0.0
) -> Found:
    """Return where damped corrections lead from a start.

    Args:
        problem: unknowns and equations.
        x: where they begin.
        cut: see `Slopes`.
        most: largest number of corrections.
        left: residuals that the equations are to have, shape (number of equations,).
    """
    n, kinds, sizes = problem.dae.n, problem.kinds, problem.sizes
    f, J = evaluated(problem, x)
    f = f - left
    settled, count = False, 0
    slopes = None
    while np.all(np.isfinite(f)) and np.all(np.isfinite(J)):
        # the shortest correction of J dx = -f, scaled, by the singular values that count
        slopes = Slopes.of(J, sizes, kinds, cut)
        step = slopes.correction(f)
        size = float(np.linalg.norm(step))
        dx = step * slopes.columns
        # settled: no unknown moves by more than round-off
        if np.max(np.abs(dx) / np.maximum(sizes, np.abs(x)), initial=0.0) <= SETTLED:
            settled = True
            break
        if count >= most:
            break
        # damping: coordinates move by at most LONGEST, and the correction by the same slopes must fall,
        # |dx(x + factor dx)| <= (1 - factor / 4) |dx|
        factor = min(1.0, LONGEST / max(float(np.max(np.abs(dx[:n]), initial=0.0)), LONGEST))
        for _ in range(HALVINGS):
            there = x + factor * dx
            f_there, J_there = evaluated(problem, there)
            f_there = f_there - left
            if np.all(np.isfinite(f_there)) and np.linalg.norm(slopes.correction(f_there)) <= (1 - factor / 4) * size:
                break
            factor /= 2
        else:  # nothing falls any more: round-off if the correction is small, else a local minimum of the residual
            settled = bool(np.max(np.abs(dx) / np.maximum(sizes, np.abs(x)), initial=0.0) <= MET)
            break
        x, f, J, count = there, f_there, J_there, count + 1
    if slopes is None:
        gaps = np.full(len(f), math.inf)
        return Found(x, f, J, gaps, 0, np.zeros((0, len(x))), False, count)
    # rank and null space of J at the end: what the equations leave open
    slopes = Slopes.of(J, sizes, kinds, RANK)
    loose = slopes.right[slopes.rank :] * slopes.columns
    return Found(x, f, J, np.abs(f) * slopes.rows, slopes.rank, loose, settled, count)


def evaluated(problem: EquilibriumProblem, x: Array) -> tuple[Array, Array]:
    """Return the residuals of the equations and their slopes."""
    f, J = problem.function(x)
    return column(f), np.array(J, dtype=float).reshape(len(problem.equations), len(x))

"""What is run of bodies that bend, and the bar that every engine reduces to the same modes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.judge import Array
from mbfmu.analysis.reduction import FiniteElementModel, Material, assemble

FALL, SWING = 0.8, 0.5
"""Durations of the two tasks, s."""
MODES = 4
"""Number of modes of the bar with both ends held; six more are those of a unit displacement of its tip."""
SETS = ("root", "tip")
"""Node sets of the bar's ends."""


@dataclass(frozen=True)
class Way:
    """Somebody's way to solve a task.

    Args:
        engine: who.
        scheme: the model and the method with their options.
        run: takes a number of steps; returns the processor's time of the loop, s, and where the tip is in the end, m.
    """

    engine: str
    scheme: str
    run: Callable[[int], tuple[float, Array]]


@cache
def bar() -> FiniteElementModel:
    """Return a bar of aluminium of 1 m along x, 10 mm high and 20 mm wide, in twelve hexahedra."""
    x, y, z = np.meshgrid(np.linspace(0, 1, 13), [-0.005, 0.005], [-0.01, 0.01], indexing="ij")
    points = np.column_stack([x.ravel(), y.ravel(), z.ravel()])
    number = np.arange(len(points)).reshape(x.shape)
    around = ((0, 0), (1, 0), (1, 1), (0, 1))
    cells = np.column_stack([(number[:-1] if i == 0 else number[1:])[:, j, k] for i in (0, 1) for j, k in around])
    ends = dict(zip(SETS, (number[0].ravel(), number[-1].ravel()), strict=True))
    return assemble(points, ("hexahedron", cells), Material(E=7e10, nu=0.3, rho=2700.0), ends)

"""The error of the steps of a run, by step doubling now and then (`doubling.c`).

A shadow begins where the motion is, goes along with it in steps of half the length, and their distance is noted after
1, 4, 16 ... steps: Hairer, Norsett & Wanner, Solving Ordinary Differential Equations I, II.4. How the distance grows
with the length of a shadow tells whether the errors of steps add up, grow, or are forgotten as the motion is damped.
"""

import ctypes
import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mbfmu.base.result import RunError

Array = npt.NDArray[np.float64]

BRIEF = 4
"""Least number of steps of a shadow after which its distance counts: within them vanishes what stiff parts damp at
once, and what changes its sign from step to step."""
SCALES = 6
"""Number of lengths of shadows, from one step on, each four times the one before."""
DENSE = 128
"""Number of steps of a run up to which all have shadows; there are fewer and fewer after."""

ENTRIES = (
    "EVERY", "WAIT", "STEPS", "SHADOWS", "LENGTH", "DONE",
    *(f"LAST_{scale}" for scale in range(SCALES)), *(f"COVERED_{scale}" for scale in range(SCALES)),
)  # fmt: skip
"""Entries of an array of errors: steps of a long run for each that has a shadow, 0 for no shadow; steps until the next
shadow; steps taken; shadows begun; steps of the present one, 0 without, and how many it has taken; for each length of
shadows the step of the last distance, and the number of steps that the distances stand for."""
ROW = ("LEAST", "GREATEST", "MOST", "FASTEST", "TIME", *(f"SUM_{scale}" for scale in range(SCALES)))
"""Numbers of each quantity: its least and greatest value, its largest distance from a shadow, the largest distance by
the number of steps and its time, s, and for each length the sum of the distances for all steps they stand for."""

SMALL = 1e-3
"""Part of the largest range of the coordinates, or of the rates, below which that of one of them does not count."""
NARROW = 1e-6
"""Range of a coordinate or rate, m, rad, m/s or rad/s, that counts at least: what stands still has round-off alone."""
SLIGHT = 1e-6
"""Part of the size of a quantity below which its range does not count, as that of a wheel that turns at a constant
speed."""
PASSING = 30.0
"""Largest ratio of the relative errors of a rate and of its coordinate: above it the rate's error passes too soon to be
one of the motion, as where something stiff settles."""
DOUBT = 0.25
"""Amount by which the power of length with which sums of distances fall may be larger than they show."""
FORGOTTEN = 1e-9
"""Least ratio of a sum of distances to that of the shortest shadows."""

MACROS = {
    "BRIEF": BRIEF,
    "SCALES": SCALES,
    "DENSE": DENSE,
    **{f"E_{name.removesuffix('_0')}": ENTRIES.index(name) for name in ENTRIES if name[-1] not in "12345"},
    "E_SIZE": len(ENTRIES),
    **{f"R_{name.removesuffix('_0')}": ROW.index(name) for name in ROW if name[-1] not in "12345"},
    "E_ROW": len(ROW),
    "SMALL": SMALL,
    "NARROW": NARROW,
    "SLIGHT_RANGE": SLIGHT,
    "PASSING": PASSING,
    "DOUBT": DOUBT,
    "FORGOTTEN": FORGOTTEN,
}
"""Places in an array of errors, by the names of their macros in C."""


class Estimated(NamedTuple):
    """The quantities whose errors are estimated: coordinates, rates and first-order states.

    Args:
        names: full dotted names.
        n: number of coordinates, which the rates follow.
        usual: usual sizes of the first-order states, which come last.
    """

    names: tuple[str, ...]
    n: int
    usual: tuple[float, ...]


def size(quantities: int, nx: int) -> int:
    """Return the length of an array of errors of as many quantities, for states of nx entries."""
    return len(ENTRIES) + quantities * len(ROW) + nx


def begun(length: int, every: int) -> Any:
    """Return the array of errors at the start of a run.

    Args:
        length: its length, as the kernel says.
        every: steps of a long run for each that has a shadow; 0: there is no shadow.
    """
    errors = (ctypes.c_double * length)()
    if length:
        errors[ENTRIES.index("EVERY")] = every
    return errors


def begun_together(count: int, length: int, every: int) -> Array:
    """Return the arrays of errors of instances at the start of their runs, shape (count, length); see `begun`."""
    errors = np.zeros((count, length))
    errors[:, [ENTRIES.index("EVERY")] if length else []] = every
    return errors


def estimated(kernel: Any, errors: Any, measured: Estimated) -> RunError:
    """Return the error of a run, which the kernel finds in its array of errors, and from what they are errors of."""
    names, n, usual = measured
    amounts, worst, when = (ctypes.c_double * len(names))(), (ctypes.c_int * 1)(), (ctypes.c_double * 1)()
    value = kernel.error(errors, n, (ctypes.c_double * (len(usual) + 1))(*usual), amounts, worst, when)
    if math.isnan(value):
        return RunError()
    return RunError(value, names[worst[0]], when[0], dict(zip(names, amounts, strict=True)))

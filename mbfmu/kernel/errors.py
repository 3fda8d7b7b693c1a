"""The error of the steps of a run, by step doubling now and then (`doubling.c`).

A piece of a few steps is taken once more, in steps of half the length, and both ends are compared: Hairer, Norsett &
Wanner, Solving Ordinary Differential Equations I, II.4. What steps add to the error of a quantity is summed up, as if
no error grew or vanished later.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mbfmu.base.result import RunError

ENTRIES = ("EVERY", "WAIT", "SPACING", "STEPS", "COVERED")
"""Entries of an array of errors: most steps from one comparison to the next, 0 for none; steps until the next one;
steps that it stands for; steps taken; those of them that comparisons stand for."""
ROW = ("least", "greatest", "sum", "largest", "time")
"""Numbers of each quantity after them: its least and greatest value, the sum of the errors of the steps, the largest
part of that sum from one comparison, and its time, s."""
SMALL = 1e-3
"""Part of the largest range of the coordinates, or of the rates, below which that of one of them does not count."""
LEAST = 1e-6
"""Range of a coordinate or rate, m, rad, m/s or rad/s, that counts at least: what stands still has round-off alone."""

PIECE = 4
"""Number of steps that are compared together: within them vanishes what stiff parts damp at once, and what changes its
sign from step to step."""
DENSE = 8
"""Number of comparisons whose spacing is the same while the steps of a run double: there are enough in a short run."""

SLIGHT = 1e-6
"""Part of the size of a quantity below which its range does not count, as that of a wheel that turns at a constant
speed."""

PASSING = 30.0
"""Largest ratio of the relative errors of a rate and of its coordinate: above it the rate's error passes too soon to be
one of the motion, as where something stiff settles."""

MACROS = {
    "PIECE": PIECE,
    "DENSE": DENSE,
    **{f"E_{name}": entry for entry, name in enumerate(ENTRIES)},
    "E_SIZE": len(ENTRIES),
    "E_ROW": len(ROW),
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


def begun(size: int, every: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the array of errors at the start of a run.

    Args:
        size: its length, as the kernel says.
        every: most steps from one comparison to the next; 0: no step is compared.
    """
    errors = np.zeros(size)
    errors[: len(ENTRIES)] = every, 1, 1, 0, 0
    rows = errors[len(ENTRIES) :].reshape(-1, len(ROW))
    rows[:, 0], rows[:, 1] = math.inf, -math.inf
    return errors


def estimated(errors: Sequence[float], measured: Estimated) -> RunError:
    """Return the error of a run from its array of errors, and from what they are errors of."""
    names, n, usual = measured
    whole = np.array(errors)
    head, rows = dict(zip(ENTRIES, whole, strict=False)), whole[len(ENTRIES) :].reshape(-1, len(ROW))
    if not (head.get("COVERED", 0) > 0 and len(rows)):
        return RunError()
    least, greatest, total, _, time = rows.T
    error, scale = total * head["STEPS"] / head["COVERED"], greatest - least
    for part in (slice(0, n), slice(n, 2 * n)):
        scale[part] = np.maximum(scale[part], max(LEAST, SMALL * scale[part].max(initial=0.0)))
    scale[2 * n :] = np.maximum(scale[2 * n :], SMALL * np.array(usual))
    scale = np.maximum(scale, SLIGHT * np.maximum(np.abs(least), np.abs(greatest)))
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(error > 0, error / scale, 0.0)
    relative[n : 2 * n] = np.minimum(relative[n : 2 * n], PASSING * relative[:n])
    worst = int(np.argmax(np.where(np.isnan(relative), math.inf, relative)))
    return RunError(
        float(relative[worst]), names[worst], float(time[worst]), dict(zip(names, error.tolist(), strict=True))
    )

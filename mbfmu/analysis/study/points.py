"""Points: the values of a study's runs."""

import itertools
import math
import reprlib
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from mbfmu.analysis.study.sampling import SALTELLI, drawn, sample_of
from mbfmu.base.arguments import numbers
from mbfmu.errors import UsageError

Array = npt.NDArray[np.float64]
Point = tuple[float, ...]
"""The varied values of a run, in the order of their names."""


def grid(name: str, text: str) -> tuple[float, ...]:
    """Read ``START:STOP:N`` as N equally spaced values, both ends included.

    Raises:
        UsageError: the text has another form.
    """
    try:
        start, stop, points = text.split(":")
        count, ends = int(points), (float(start), float(stop))
    except ValueError:
        raise UsageError(f"'{name}={text}' is not NAME=START:STOP:N, such as {name}=0.5:1.5:11") from None
    if count < 1 or not all(map(math.isfinite, ends)):
        raise UsageError(f"'{name}={text}': START and STOP must be finite, N at least 1")
    return tuple(np.linspace(*ends, count).tolist())


def points(
    vary: Mapping[str, Sequence[float | bool]],
    sample: int | str,
    distributions: Mapping[str, str],
    seed: int,
    correlations: Mapping[str, float] | None = None,
) -> tuple[tuple[str, ...], list[Point]]:
    """Return the names and the points of a study: every combination of `vary`, each with every sample.

    Raises:
        UsageError: nothing is varied, the sample is none, values are no list of finite numbers, the seed is negative,
            or samples and distributions do not go together.
    """
    if both := vary.keys() & distributions.keys():
        raise UsageError(f"'{min(both)}' is varied and drawn: give it to one of --vary and --distribution")
    wanted = sample_of(sample)
    if bool(distributions) != (wanted.count > 0):
        raise UsageError("--sample N and --distribution NAME=... go together: N samples of each NAME")
    if not vary and not distributions:
        raise UsageError("nothing is varied: give --vary NAME=START:STOP:N, or --sample N and --distribution NAME=...")
    if correlations and not distributions:
        raise UsageError("correlations are those of values that are drawn: give them distributions")
    if seed < 0:
        raise UsageError(f"the seed is {seed}; it must be at least 0")
    if vary and wanted.method == SALTELLI:
        raise UsageError("the indices of a sample saltelli:N are those of values that are drawn: leave --vary out")
    grids = {name: numbers(values) for name, values in vary.items()}
    for name, values in grids.items():
        if values.ndim != 1 or not values.size or not np.isfinite(values).all():
            raise UsageError(f"'{name}' is varied over {reprlib.repr(vary[name])}; it needs a list of finite numbers")
    samples: list[Point] = [()]
    if distributions:
        samples = [tuple(row) for row in drawn(wanted, distributions, seed, correlations).tolist()]
    combinations = itertools.product(*(values.tolist() for values in grids.values()))
    return (*vary, *distributions), [(*fixed, *chance) for fixed in combinations for chance in samples]

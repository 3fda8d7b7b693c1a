"""Points: the values of a study's runs."""

import itertools
import math
import re
import reprlib
import zlib
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

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


def drawn(name: str, text: str, count: int, seed: int) -> Array:
    """Return random values for a name, shape (count,); a larger count begins with the same values.

    Args:
        name: name of the value; each name has random numbers of its own.
        text: ``normal(mean,sd)`` or ``uniform(a,b)``.
        count: number of values.
        seed: seed for all names.

    Raises:
        UsageError: the text is no distribution.
    """
    match = re.fullmatch(r"\s*(normal|uniform)\s*\(([^,]+),([^,]+)\)\s*", text)
    try:
        assert match
        first, second = float(match[2]), float(match[3])
        assert math.isfinite(first)
        assert math.isfinite(second)
        assert second > (0 if match[1] == "normal" else first)
    except (AssertionError, ValueError):
        raise UsageError(
            f"'{name}={text}' is not a distribution: write normal(mean,sd) with sd > 0, or uniform(a,b) with a < b"
        ) from None
    numbers = np.random.default_rng([seed, zlib.crc32(name.encode())])
    return numbers.normal(first, second, count) if match[1] == "normal" else numbers.uniform(first, second, count)


def points(
    vary: Mapping[str, Sequence[float | bool]], sample: int, distributions: Mapping[str, str], seed: int
) -> tuple[tuple[str, ...], list[Point]]:
    """Return the names and the points of a study: every combination of `vary`, each with every sample.

    Raises:
        UsageError: nothing is varied, values are no list of finite numbers, the seed is negative, or samples and
            distributions do not go together.
    """
    if both := vary.keys() & distributions.keys():
        raise UsageError(f"'{min(both)}' is varied and drawn: give it to one of --vary and --distribution")
    if bool(distributions) != (sample > 0):
        raise UsageError("--sample N and --distribution NAME=... go together: N samples of each NAME")
    if not vary and not distributions:
        raise UsageError("nothing is varied: give --vary NAME=START:STOP:N, or --sample N and --distribution NAME=...")
    if seed < 0:
        raise UsageError(f"the seed is {seed}; it must be at least 0")
    grids = {name: numbers(values) for name, values in vary.items()}
    for name, values in grids.items():
        if values.ndim != 1 or not values.size or not np.isfinite(values).all():
            raise UsageError(f"'{name}' is varied over {reprlib.repr(vary[name])}; it needs a list of finite numbers")
    columns = [drawn(name, text, sample, seed).tolist() for name, text in distributions.items()]
    samples: list[Point] = list(zip(*columns, strict=True)) if columns else [()]
    combinations = itertools.product(*(values.tolist() for values in grids.values()))
    return (*vary, *distributions), [(*fixed, *chance) for fixed in combinations for chance in samples]

"""Sampling: the points of a study by chance, or spread evenly over what the distributions allow."""

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from mbfmu.errors import UsageError

Array = npt.NDArray[np.float64]

RANDOM, SALTELLI = "random", "saltelli"
METHODS = (RANDOM, "sobol", "halton", "lhs", SALTELLI)
"""Ways to draw samples: independent ones, Sobol' and Halton sequences, a Latin hypercube, Saltelli's scheme."""
INSIDE = 2.0**-53
"""Smallest distance of a sample of the unit interval from its ends, where a normal distribution is infinite."""


@dataclass(frozen=True)
class Sample:
    """The way and the size of a sample.

    Args:
        method: one of `METHODS`.
        count: number of samples; of Saltelli's scheme, of its base points.
    """

    method: str
    count: int


def sample_of(text: int | str) -> Sample:
    """Read ``N`` or ``METHOD:N``.

    Raises:
        UsageError: the text has another form, or the number does not suit the method.
    """
    method, colon, number = str(text).rpartition(":")
    method = method if colon else RANDOM
    if method not in METHODS or not re.fullmatch(r"\s*\d+\s*", number):
        raise UsageError(f"'{text}' is not a sample: write N or METHOD:N, with a METHOD of {', '.join(METHODS)}")
    count = int(number)
    if method in {"sobol", SALTELLI} and (count < 2 or count & (count - 1)):
        raise UsageError(f"'{text}': a Sobol' sequence is balanced at powers of two only, such as {method}:1024")
    if not count and method != RANDOM:
        raise UsageError(f"'{text}': there must be at least one sample")
    return Sample(method, count)


@dataclass(frozen=True)
class Distribution:
    """A distribution of a value.

    Args:
        kind: ``normal`` or ``uniform``.
        first, second: mean and standard deviation, or the ends.
    """

    kind: str
    first: float
    second: float

    def at(self, parts: Array) -> Array:
        """Return the values below which some parts of all values lie, each part between 0 and 1."""
        if self.kind == "uniform":
            return self.first + (self.second - self.first) * parts
        from scipy.special import ndtri

        values: Array = self.first + self.second * ndtri(np.clip(parts, INSIDE, 1 - INSIDE))
        return values


def distribution(name: str, text: str) -> Distribution:
    """Read ``normal(mean,sd)`` or ``uniform(a,b)``.

    Raises:
        UsageError: the text is no distribution.
    """
    match = re.fullmatch(r"\s*(normal|uniform)\s*\(([^,]+),([^,]+)\)\s*", text)
    try:
        assert match
        first, second = float(match[2]), float(match[3])
        assert isfinite(first)
        assert isfinite(second)
        assert second > (0 if match[1] == "normal" else first)
    except (AssertionError, ValueError):
        raise UsageError(
            f"'{name}={text}' is not a distribution: write normal(mean,sd) with sd > 0, or uniform(a,b) with a < b"
        ) from None
    return Distribution(match[1], first, second)


def drawn(sample: Sample, distributions: Mapping[str, str], seed: int) -> Array:
    """Return samples of some values, shape (number of samples, number of values).

    More samples begin with the same ones, but for a Latin hypercube and Saltelli's scheme. The latter has the base
    points A, as many B, and for each value the points A with that value of B: N (number of values + 2) in all.

    Args:
        sample: the way and the size.
        distributions: distributions by name, see `distribution`.
        seed: seed of all random numbers.

    Raises:
        UsageError: a text is no distribution.
    """
    read = {name: distribution(name, text) for name, text in distributions.items()}
    if sample.method == RANDOM:
        return np.column_stack([_independent(item, name, sample.count, seed) for name, item in read.items()])
    parts = _unit(sample, len(read), seed)
    if sample.method == SALTELLI:
        A, B = parts[:, : len(read)], parts[:, len(read) :]
        parts = np.vstack([A, B, *(np.column_stack([*A.T[:k], B[:, k], *A.T[k + 1 :]]) for k in range(len(read)))])
    return np.column_stack([item.at(parts[:, k]) for k, item in enumerate(read.values())])


def _independent(item: Distribution, name: str, count: int, seed: int) -> Array:
    """Return random values for a name, which has random numbers of its own, shape (count,)."""
    numbers = np.random.default_rng([seed, zlib.crc32(name.encode())])
    if item.kind == "normal":
        return numbers.normal(item.first, item.second, count)
    return numbers.uniform(item.first, item.second, count)


def _unit(sample: Sample, size: int, seed: int) -> Array:
    """Return evenly spread points of the unit cube, shape (count, size), or (count, 2 size) for Saltelli's scheme."""
    from scipy.stats import qmc

    engines: dict[str, Any] = {"sobol": qmc.Sobol, "halton": qmc.Halton, "lhs": qmc.LatinHypercube}
    twice = sample.method == SALTELLI
    engine = engines["sobol" if twice else sample.method](2 * size if twice else size, seed=seed)
    points: Array = engine.random(sample.count)
    return points

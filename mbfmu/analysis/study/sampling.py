"""Sampling: the points of a study by chance, or spread evenly over what the distributions allow."""

import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

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


def _normal(parts: Array, mean: float, sd: float) -> Array:
    from scipy.special import ndtri

    values: Array = mean + sd * ndtri(parts)
    return values


def _beta(parts: Array, alpha: float, beta: float, a: float, b: float) -> Array:
    from scipy.special import betaincinv

    values: Array = a + (b - a) * betaincinv(alpha, beta, parts)
    return values


def _truncated(parts: Array, mean: float, sd: float, a: float, b: float) -> Array:
    from scipy.special import ndtr

    low, high = (ndtr((end - mean) / sd) for end in (a, b))
    return np.clip(_normal(np.clip(low + (high - low) * parts, INSIDE, 1 - INSIDE), mean, sd), a, b)


def _triangular(parts: Array, a: float, mode: float, b: float) -> Array:
    rising = np.sqrt(parts * (b - a) * (mode - a))
    return np.where(parts < (mode - a) / (b - a), a + rising, b - np.sqrt((1 - parts) * (b - a) * (b - mode)))


class DistributionKind(NamedTuple):
    """A kind of distribution: its numbers in words, whether some numbers suit it, and its inverse distribution."""

    numbers: str
    suits: Callable[..., bool]
    inverse: Callable[..., Array]


KINDS = {
    "normal": DistributionKind("mean,sd with sd > 0", lambda _, sd: sd > 0, _normal),
    "uniform": DistributionKind("a,b with a < b", lambda a, b: a < b, lambda parts, a, b: a + (b - a) * parts),
    "lognormal": DistributionKind(
        "median,s with median > 0, and s > 0 the standard deviation of the logarithm",
        lambda median, s: median > 0 and s > 0,
        lambda parts, median, s: median * np.exp(_normal(parts, 0.0, s)),
    ),
    "triangular": DistributionKind(
        "a,mode,b with a <= mode <= b", lambda a, mode, b: a <= mode <= b and a < b, _triangular
    ),
    "truncated": DistributionKind(
        "mean,sd,a,b with sd > 0 and a < b", lambda _, sd, a, b: sd > 0 and a < b, _truncated
    ),
    "beta": DistributionKind(
        "alpha,beta,a,b with alpha, beta > 0 and a < b", lambda alpha, beta, a, b: min(alpha, beta) > 0 and a < b, _beta
    ),
    "weibull": DistributionKind(
        "shape,scale, both positive",
        lambda shape, scale: min(shape, scale) > 0,
        lambda parts, shape, scale: scale * (-np.log1p(-parts)) ** (1 / shape),
    ),
    "exponential": DistributionKind("mean > 0", lambda mean: mean > 0, lambda parts, mean: -mean * np.log1p(-parts)),
}
"""Distributions by name."""


@dataclass(frozen=True)
class Distribution:
    """A distribution of a value.

    Args:
        kind: one of `KINDS`.
        numbers: its numbers.
    """

    kind: str
    numbers: tuple[float, ...]

    def at(self, parts: Array) -> Array:
        """Return the values below which some parts of all values lie, each part between 0 and 1."""
        return KINDS[self.kind].inverse(np.clip(parts, INSIDE, 1 - INSIDE), *self.numbers)


def distribution(name: str, text: str) -> Distribution:
    """Read a distribution, such as ``normal(mean,sd)``.

    Raises:
        UsageError: the text is no distribution.
    """
    match = re.fullmatch(r"\s*(\w+)\s*\(([^()]*)\)\s*", text)
    kind = KINDS.get(match[1]) if match else None
    if not match or kind is None:
        raise UsageError(
            f"'{name}={text}' is not a distribution: write KIND(NUMBERS), with a KIND of {', '.join(KINDS)}"
        )
    try:
        numbers = tuple(map(float, match[2].split(",")))
        suits = all(map(isfinite, numbers)) and kind.suits(*numbers)
    except (ValueError, TypeError):  # no numbers, or more or fewer than it takes
        suits = False
    if not suits:
        raise UsageError(f"'{name}={text}' is not a distribution: write {match[1]}(NUMBERS) of {kind.numbers}")
    return Distribution(match[1], numbers)


def drawn(
    sample: Sample, distributions: Mapping[str, str], seed: int, correlations: Mapping[str, float] | None = None
) -> Array:
    """Return samples of some values, shape (number of samples, number of values).

    More samples begin with the same ones, but for a Latin hypercube and Saltelli's scheme. The latter has the base
    points A, as many B, and for each value the points A with that value of B: N (number of values + 2) in all.

    Args:
        sample: the way and the size.
        distributions: distributions by name, see `distribution`.
        seed: seed of all random numbers.
        correlations: those of the normal scores of two values, by their names with a comma between; see `_mixed`.

    Raises:
        UsageError: a text is no distribution, or there are no such correlations.
    """
    read = {name: distribution(name, text) for name, text in distributions.items()}
    if sample.method == RANDOM and not correlations:
        return np.column_stack([_independent(item, name, sample.count, seed) for name, item in read.items()])
    if sample.method == RANDOM:
        parts = np.column_stack([_numbers(name, seed).random(sample.count) for name in read])
    else:
        parts = _unit(sample, len(read), seed)
    if correlations:
        if sample.method == SALTELLI:
            raise UsageError("Sobol' indices are those of independent values: leave the correlations out")
        parts = _mixed(parts, _correlation(list(read), correlations))
    if sample.method == SALTELLI:
        A, B = parts[:, : len(read)], parts[:, len(read) :]
        parts = np.vstack([A, B, *(np.column_stack([*A.T[:k], B[:, k], *A.T[k + 1 :]]) for k in range(len(read)))])
    return np.column_stack([item.at(parts[:, k]) for k, item in enumerate(read.values())])


def _independent(item: Distribution, name: str, count: int, seed: int) -> Array:
    """Return random values for a name, which has random numbers of its own, shape (count,)."""
    numbers = _numbers(name, seed)
    if item.kind in {"normal", "uniform"}:  # by NumPy, as before there were others
        first, second = item.numbers
        return (numbers.normal if item.kind == "normal" else numbers.uniform)(first, second, count)
    return item.at(numbers.random(count))


def _numbers(name: str, seed: int) -> np.random.Generator:
    """Return the source of the random numbers of a name."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def _mixed(parts: Array, correlation: Array) -> Array:
    """Return points of the unit cube with correlated normal scores: a Gaussian copula.

    Each coordinate stays uniform, and Spearman's rank correlation is 6/pi asin(rho/2) for a correlation rho (Nelsen, An
    Introduction to Copulas, 2nd ed. 2006, 5.1).
    """
    from scipy.special import ndtr, ndtri

    mixed: Array = ndtr(ndtri(np.clip(parts, INSIDE, 1 - INSIDE)) @ np.linalg.cholesky(correlation).T)
    return mixed


def _correlation(names: list[str], correlations: Mapping[str, float]) -> Array:
    """Return the matrix of correlations."""
    matrix = np.eye(len(names))
    for pair, value in correlations.items():
        first, _, second = (part.strip() for part in pair.partition(","))
        for name in (first, second):
            if name not in names:
                raise UsageError(
                    f"correlation of '{pair}': give two values that have distributions, as {names[0]},NAME"
                )
        if first == second or not -1 < value < 1:
            raise UsageError(f"correlation of '{pair}' = {value}: it is a number between -1 and 1 of two values")
        i, j = names.index(first), names.index(second)
        matrix[i, j] = matrix[j, i] = value
    if np.linalg.eigvalsh(matrix)[0] <= 0:
        raise UsageError(f"the correlations of {', '.join(correlations)} contradict each other: make some smaller")
    return matrix


def _unit(sample: Sample, size: int, seed: int) -> Array:
    """Return evenly spread points of the unit cube, shape (count, size), or (count, 2 size) for Saltelli's scheme."""
    from scipy.stats import qmc

    engines: dict[str, Any] = {"sobol": qmc.Sobol, "halton": qmc.Halton, "lhs": qmc.LatinHypercube}
    twice = sample.method == SALTELLI
    engine = engines["sobol" if twice else sample.method](2 * size if twice else size, seed=seed)
    points: Array = engine.random(sample.count)
    return points

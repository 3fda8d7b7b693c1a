"""Identifiability: which values of a fit its data tell, and what they tell of the others.

J has the derivatives of the scaled residuals, with columns of length 1. Directions with singular values that are zero
change no residual: N holds them. What the data tell of the values that N moves are functions that it leaves as they
are: sums of c_i p_i with N c = 0, or products of powers p_i^c_i with (N / p) c = 0. A finite step along N shows which
of them are.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

ALIKE = 1e-9
"""Singular value of the scaled Jacobian, relative to the largest, below which values cannot be told apart."""
SHARE = 1e-5
"""Smallest part of a value in a direction, relative to the largest, that is no round-off."""
MOVED = 0.1
"""Step along a direction, relative to the values, by which a combination is tried."""
SAME = 1e-5
"""Change of the residuals along such a step, relative to that by the largest of its parts, that is none."""
DENOMINATOR = 4
"""Largest denominator of an exponent in words."""


@dataclass(frozen=True)
class Identifiability:
    """The values, and combinations of values, that the data of a fit determine.

    Args:
        singular: singular values of the Jacobian with columns of length 1, the largest first.
        rank: number of those that are not zero.
        undetermined: groups of values that the data do not tell apart, or not at all.
        combinations: for each group what the data do tell of it, such as ``m*l`` or ``a + b``; () if nothing.
        exact: for each group whether the combinations hold at other values too, and not to first order only.
    """

    singular: tuple[float, ...]
    rank: int
    undetermined: tuple[tuple[str, ...], ...]
    combinations: tuple[tuple[str, ...], ...]
    exact: tuple[bool, ...]

    @property
    def notices(self) -> tuple[str, ...]:
        """One sentence for each group."""
        found = []
        for names, told, exact in zip(self.undetermined, self.combinations, self.exact, strict=True):
            apart = f"{', '.join(names)} apart" if len(names) > 1 else names[0]
            only = f", only {', '.join(told)}{'' if exact else ' to first order'}" if told else ""
            found.append(f"the data do not determine {apart}{only}: free fewer values, or measure more")
        return tuple(found)


def identifiability(
    J: Array, values: Array, scale: Array, names: Sequence[str], residuals: Callable[[Array], Array]
) -> Identifiability:
    """Return what can be told from data.

    Args:
        J: derivatives of the scaled residuals, shape (n_r, n).
        values: the values at which they hold, shape (n,).
        scale: their sizes, positive, shape (n,).
        names: of the values.
        residuals: function of other values; infinite where there are none.
    """
    if not values.size:
        return Identifiability((), 0, (), (), ())
    sizes = np.linalg.norm(J, axis=0)
    scaled = J / np.where(sizes > 0, sizes, 1.0)
    _, singular, V = np.linalg.svd(scaled, full_matrices=True)
    lost = len(V) - int((singular > ALIKE * max(singular.max(), np.finfo(float).tiny)).sum())
    # directions that change no residual, with as few values in each as can be, and the groups that they join
    N = _echelon(V[len(V) - lost :] / np.where(sizes > 0, sizes, 1.0) / scale)
    groups = _joined([np.flatnonzero(row).tolist() for row in N])
    here = residuals(values) if groups else values
    # one after the other, in units of the sizes
    found = [
        _words(J * scale, values / scale, scale, names, N, group, lambda x: residuals(x * scale) - here)
        for group in groups
    ]
    return Identifiability(
        tuple(singular.tolist()),
        len(V) - lost,
        tuple(tuple(names[k] for k in group) for group in groups),
        tuple(words for words, _ in found),
        tuple(exact for _, exact in found),
    )


def _words(
    J: Array,
    values: Array,
    scale: Array,
    names: Sequence[str],
    N: Array,
    group: list[int],
    change: Callable[[Array], Array],
) -> tuple[tuple[str, ...], bool]:
    """Return the combinations of a group that stay as they are along N, and whether a finite step confirms them.

    J, values, N and the argument of `change` are in units of the scale.
    """
    rows = N[:, group][N[:, group].any(axis=1)]
    if len(rows) == len(group):
        return (), True
    p, called = values[group], [names[k] for k in group]

    def stays(moved: Array) -> bool:
        """Return whether the residuals stay as they are."""
        x = values.copy()
        x[group] = moved
        parts = np.linalg.norm(J[:, group] * (moved - p), axis=0)
        difference = change(x)
        return bool(np.isfinite(difference).all() and np.linalg.norm(difference) <= SAME * parts.max())

    # products of powers: a step along N in the logarithms
    if np.abs(p).min() > SHARE:
        powers = [_fractions(row) for row in _complement(rows / p)]
        steps = MOVED * np.sum(rows / p / np.abs(rows / p).max(axis=1, keepdims=True), axis=0)
        if all(powers) and stays(p * np.exp(steps)):
            return tuple(_product(row, called) for row in powers), True
    # sums: a step along N
    sums = tuple(
        sum_in_words(zip(called, row.tolist(), strict=True), SHARE, 4) for row in _complement(rows * scale[group])
    )
    return sums, stays(p + MOVED * np.sum(rows / np.abs(rows).max(axis=1, keepdims=True), axis=0))


def _echelon(rows: Array) -> Array:
    """Return rows of the same span, each with a column of its own, by elimination with complete pivoting."""
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(float).tiny)
    for k in range(len(rows)):
        below = np.abs(rows[k:])
        at, column = divmod(int(below.argmax()), rows.shape[1])
        rows[[k, k + at]] = rows[[k + at, k]]
        rows[k] /= rows[k, column]
        others = [i for i in range(len(rows)) if i != k]
        rows[others] -= np.outer(rows[others, column], rows[k])
    return np.where(np.abs(rows) > SHARE, rows, 0.0)


def _complement(rows: Array) -> Array:
    """Return rows c with `rows` c = 0, each with a first entry 1."""
    scale = np.abs(rows).max(axis=0)
    _, _, V = np.linalg.svd(rows / scale, full_matrices=True)
    found = _echelon(V[len(rows) :]) / scale
    return np.array([row / row[np.flatnonzero(row)[0]] for row in found])


def _joined(supports: list[list[int]]) -> list[list[int]]:
    """Return sets of indices joined where they overlap."""
    groups: list[set[int]] = []
    for support in supports:
        new = set(support)
        for group in [group for group in groups if group & new]:
            groups.remove(group)
            new |= group
        groups.append(new)
    return sorted(sorted(group) for group in groups)


def _fractions(row: Array) -> list[int]:
    """Return a row as integers, by its common denominator; empty if it is none of small denominators."""
    near = [Fraction(value).limit_denominator(DENOMINATOR) for value in row.tolist()]
    if any(abs(float(a) - b) > SHARE * max(1.0, abs(b)) for a, b in zip(near, row.tolist(), strict=True)):
        return []
    common = lcm(*(item.denominator for item in near))
    return [int(item * common) for item in near]


def _product(exponents: Sequence[int], names: Sequence[str]) -> str:
    """Return a product of powers, such as ``m*l**2/k``."""
    parts = {True: list[str](), False: list[str]()}
    for name, power in zip(names, exponents, strict=True):
        if power:
            parts[power > 0].append(name if abs(power) == 1 else f"{name}**{abs(power)}")
    return "/".join(["*".join(parts[True]) or "1", *parts[False]])


def sum_in_words(terms: Iterable[tuple[str, float]], same: float, digits: int) -> str:
    """Return a sum, such as ``a + 0.5 b``.

    Args:
        terms: names and factors, of which those of 0 are left out; the first that is not has the factor 1.
        same: difference of a factor from 1 or -1 that is round-off.
        digits: significant digits of the factors.
    """
    text = ""
    for name, factor in terms:
        if factor:
            size = "" if abs(abs(factor) - 1) < same else f"{abs(factor):.{digits}g} "
            text += f" {'-' if factor < 0 else '+'} {size}{name}" if text else name
    return text

"""Couplings of angles that are known only up to full turns.

A coupling that is linear in its axes, r = sum n_k s_k + ..., jumps by multiples of 2 pi n_k where an angle s_k passes
a full turn. Where these have a common measure, the period P, r is wrapped to it: with x = 2 pi r / P, the residual
P / (2 pi) atan2(sin x, cos x) is zero where r is, up to P, and smooth there.

Springs, stops and the like take such an angle within half a turn. Where it comes near that, they have no number: a
motion ends there, as they would act from the other side after it.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import casadi as ca

from mbfmu.model.frame import SX, wrapped

KNOWN = 0.97 * math.pi
"""Largest angle, rad, that forces take where it is known only up to full turns; a step is shorter than the rest of half
a turn."""
FINEST = 24
"""Largest number of periods in the jump of the first angle: of more, one could be passed in a step."""
LONGEST = 1000
"""Largest denominator of a ratio of jumps."""
RATIONAL = 1e-12
"""Largest difference of a ratio of jumps from a rational number that counts as one."""


def unrolled(residual: SX, slopes: SX, numbers: Callable[[SX], Sequence[float]]) -> SX | None:
    """Return residuals without the jumps of angles, SX column; None if these have no common measure.

    With parameters that change the ratios of the jumps it has no value.

    Args:
        residual: SX column.
        slopes: its derivatives by the angles that are known up to full turns, SX, shape (rows, number of them).
        numbers: function that returns the values of expressions of parameters.
    """
    rows = []
    for index in range(residual.numel()):
        ratios = numbers(slopes[index, :].T)
        period = _period(ratios)
        if period is None:
            return None
        row = wrapped(2 * math.pi / period * residual[index]) * (period / (2 * math.pi)) if period else residual[index]
        for slope, ratio in zip(ca.horzsplit(slopes[index, :]), ratios, strict=True):
            if not slope.is_constant():
                row = ca.if_else(ca.eq(slope, ratio), row, math.nan)
        rows.append(row)
    return ca.vertcat(*rows)


def within_half_a_turn(angle: SX) -> SX:
    """Return an angle that is known only up to full turns as forces take it, between -pi and pi; NaN near these.

    Args:
        angle: SX scalar, rad.
    """
    principal = wrapped(angle)
    return principal * ca.if_else(ca.fabs(principal) <= KNOWN, 1, math.nan)


def _period(ratios: Sequence[float]) -> float | None:
    """Return the common measure of the jumps 2 pi n_k; 0 of none, None if there is none that is long enough."""
    sizes = [abs(ratio) for ratio in ratios if ratio]
    if not sizes:
        return 0.0
    parts = [Fraction(size / sizes[0]).limit_denominator(LONGEST) for size in sizes]
    pairs = zip(parts, (size / sizes[0] for size in sizes), strict=True)
    if any(abs(float(part) - size) > RATIONAL * size for part, size in pairs):
        return None
    denominator = math.lcm(*(part.denominator for part in parts))
    common = math.gcd(*(part.numerator * (denominator // part.denominator) for part in parts)) / denominator
    return 2 * math.pi * sizes[0] * common if sizes[0] <= FINEST * sizes[0] * common else None

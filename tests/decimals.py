"""Elementary functions to eighty digits: series and Python's decimal, the second route to what kernels compute."""

import math
from collections.abc import Callable
from decimal import Context, Decimal, getcontext, localcontext
from functools import cache

DIGITS, DIGITS_OF_LARGE_ANGLES = 80, 420

ONE, TWO, LARGE = Decimal(1), Decimal(2), Decimal(10000)


@cache
def pi(digits: int) -> Decimal:
    """Return pi by Machin's formula."""
    one = 10 ** (digits + 10)

    def arc_of_inverse(n: int) -> int:
        power, total, k = one // n, one // n, 1
        while power:
            power //= -n * n
            k += 2
            total += power // k
        return total

    with localcontext(Context(prec=digits + 10)):
        return Decimal(4 * (4 * arc_of_inverse(5) - arc_of_inverse(239))) / one


def exact(function: Callable[..., Decimal], *x: float) -> Decimal:
    """Return a function's value at doubles."""
    with localcontext(Context(prec=DIGITS, Emin=-999999, Emax=999999)):
        return function(*map(Decimal, x))


def ulps(found: float, expected: Decimal) -> float:
    """Return the error of a double in units in the last place of the exact value; infinite doubles are 2^1024."""
    size = (
        float(abs(expected)) if abs(expected) <= Decimal(math.nextafter(math.inf, 0)) else math.nextafter(math.inf, 0)
    )
    if Decimal(size) > abs(expected):
        size = math.nextafter(size, 0)
    value = Decimal(math.copysign(1, found)) * TWO**1024 if math.isinf(found) else Decimal(found)
    with localcontext(Context(prec=DIGITS, Emin=-999999, Emax=999999)):
        if math.isinf(found) and abs(expected) > abs(value):
            return 0.0 if (expected > 0) == (found > 0) else math.inf
        return float(abs(value - expected) / Decimal(math.ulp(size)))


def series(first: Decimal, factor: Callable[[int], Decimal]) -> Decimal:
    """Return the sum of terms of which each is the last one times factor(k)."""
    total, term, k = first, first, 0
    while term and term.adjusted() > total.adjusted() - getcontext().prec:
        k += 1
        term *= factor(k)
        total += term
    return total


def _reduced(x: Decimal) -> tuple[Decimal, int]:
    with localcontext(Context(prec=DIGITS_OF_LARGE_ANGLES)):
        half = pi(DIGITS_OF_LARGE_ANGLES) / 2
        n = (x / half).to_integral_value()
        rest = x - n * half
    return +rest, int(n) % 4


def _sine(x: Decimal, quadrant: int) -> Decimal:
    square = x * x
    if quadrant % 2:
        value = series(ONE, lambda k: -square / ((2 * k - 1) * 2 * k))
    else:
        value = series(x, lambda k: -square / (2 * k * (2 * k + 1)))
    return -value if quadrant % 4 > 1 else value


def sin(x: Decimal) -> Decimal:
    """Return the sine."""
    return _sine(*_reduced(x))


def cos(x: Decimal) -> Decimal:
    """Return the cosine."""
    rest, quadrant = _reduced(x)
    return _sine(rest, quadrant + 1)


def tan(x: Decimal) -> Decimal:
    """Return the tangent."""
    return sin(x) / cos(x)


def atan(x: Decimal) -> Decimal:
    """Return the arc tangent, by halving the angle four times and its series."""
    for _ in range(4):
        x = x / (1 + (1 + x * x).sqrt())
    power, total, k = x, x, 1
    while power and power.adjusted() > total.adjusted() - getcontext().prec:
        k += 2
        power *= -x * x
        total += power / k
    return 16 * total


def atan2(y: Decimal, x: Decimal) -> Decimal:
    """Return the angle of the point (x, y), not at 0."""
    if abs(y) > abs(x):
        return (pi(DIGITS) / 2).copy_sign(y) - atan(x / y)
    return atan(y / x) + (pi(DIGITS).copy_sign(y) if x < 0 else 0)


def asin(x: Decimal) -> Decimal:
    """Return the arc sine."""
    return atan2(x, ((1 - x) * (1 + x)).sqrt())


def acos(x: Decimal) -> Decimal:
    """Return the arc cosine."""
    return atan2(((1 - x) * (1 + x)).sqrt(), x)


def exp(x: Decimal) -> Decimal:
    """Return the exponential; beyond doubles any number beyond them."""
    return max(min(x, LARGE), -LARGE).exp()


def expm1(x: Decimal) -> Decimal:
    """Return the exponential less one."""
    return series(x, lambda k: x / (k + 1)) if abs(x) < 1 else exp(x) - 1


def sinh(x: Decimal) -> Decimal:
    """Return the hyperbolic sine."""
    return (expm1(x) - expm1(-x)) / 2


def cosh(x: Decimal) -> Decimal:
    """Return the hyperbolic cosine."""
    return (exp(x) + exp(-x)) / 2


def tanh(x: Decimal) -> Decimal:
    """Return the hyperbolic tangent."""
    return -expm1(-2 * abs(x)).copy_sign(-x) / (expm1(-2 * abs(x)) + 2)


def log(x: Decimal) -> Decimal:
    """Return the natural logarithm."""
    return x.ln()


def log1p(x: Decimal) -> Decimal:
    """Return the logarithm of 1 + x."""
    small = x / (2 + x)
    if abs(x) > Decimal("0.1"):
        return (1 + x).ln()
    power, total, k = small, small, 1
    while power and power.adjusted() > total.adjusted() - getcontext().prec:
        k += 2
        power *= small * small
        total += power / k
    return 2 * total


def asinh(x: Decimal) -> Decimal:
    """Return the inverse hyperbolic sine."""
    size = abs(x)
    return log1p(size + size * size / (1 + (1 + size * size).sqrt())).copy_sign(x)


def acosh(x: Decimal) -> Decimal:
    """Return the inverse hyperbolic cosine."""
    return log1p(x - 1 + ((x - 1) * (x + 1)).sqrt())


def atanh(x: Decimal) -> Decimal:
    """Return the inverse hyperbolic tangent."""
    return log1p(2 * x / (1 - x)) / 2


def pow(x: Decimal, y: Decimal) -> Decimal:
    """Return x to the power y for x > 0."""
    return exp(y * x.ln())


def hypot(x: Decimal, y: Decimal) -> Decimal:
    """Return the length of the vector (x, y)."""
    return (x * x + y * y).sqrt()

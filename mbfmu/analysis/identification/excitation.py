"""Excitation: the motion of a robot from which its base parameters are identified best.

Each coordinate is a Fourier series with the period T, omega = 2 pi / T (Swevers et al., Optimal robot excitation and
identification, IEEE Transactions on Robotics and Automation 13(5), 1997, pp. 730-740):

    q(t) = c + sum_k (A_k sin(k omega t) + B_k cos(k omega t)),

from rest without acceleration. With errors of the efforts that are alike, the covariance of the parameters is
proportional to (Y^T Y)^-1; the determinant of Y^T Y is made largest. The sums of the amplitudes
sqrt(A_k^2 + B_k^2) keep the bounds at all times, between the samples too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.errors import UnknownNameError, UsageError, nearest

Array = npt.NDArray[np.float64]

SAMPLES = 10
"""Samples of the motion for each harmonic."""
ROUNDED = 1e-6
"""Amplitude, relative to a bound, below which its square root is rounded."""
MOST = 200
"""Largest number of iterations of the search."""
SETTLED = 1e-3
"""Change of the logarithm at which the search ends."""


@dataclass(frozen=True)
class Excitation:
    """A periodic motion.

    Args:
        coordinates: names of the coordinates.
        duration: period, s.
        centre: c, shape (n,).
        sines, cosines: A and B, shape (n, harmonics).
        log_det: logarithm of det(Y^T Y), over the samples.
        log_det_begun: that of the motion at which the search began.
        condition: condition number of Y with columns of length 1.
    """

    coordinates: tuple[str, ...]
    duration: float
    centre: Array = field(repr=False)
    sines: Array = field(repr=False)
    cosines: Array = field(repr=False)
    log_det: float
    log_det_begun: float
    condition: float

    def at(self, time: npt.ArrayLike) -> tuple[Array, Array, Array]:
        """Return coordinates, rates and accelerations at some times, each of shape (n_t, n)."""
        harmonics = self.sines.shape[1]
        x = np.hstack([self.centre[:, None], self.sines, self.cosines])
        q, v, a = (x @ rows.T for rows in _bases(np.asarray(time, dtype=np.float64), self.duration, harmonics))
        return q.T, v.T, a.T

    @property
    def motion(self) -> dict[str, str]:
        """The coordinates as expressions of ``time`` by name, which `mbfmu.inverse` takes."""
        texts = {}
        for name, centre, sines, cosines in zip(
            self.coordinates, self.centre.tolist(), self.sines.tolist(), self.cosines.tolist(), strict=True
        ):
            terms = [repr(centre)]
            for k, (A, B) in enumerate(zip(sines, cosines, strict=True)):
                angle = f"{2 * np.pi * (k + 1) / self.duration!r}*time"
                terms += [f"{A!r}*sin({angle})", f"{B!r}*cos({angle})"]
            texts[name] = " + ".join(terms)
        return texts


def exciting(
    function: Any,
    names: tuple[str, ...],
    duration: float,
    positions: Mapping[str, Sequence[float]],
    rates: Mapping[str, float],
    accelerations: Mapping[str, float],
    harmonics: int,
    seed: int,
) -> Excitation:
    """Return the motion for a Function (q, v, a) -> Y; other arguments, errors: as for `BaseParameters.excitation`."""
    from scipy.optimize import minimize

    n = len(names)
    if harmonics < 3:
        raise UsageError(f"harmonics = {harmonics}: two of them bring a coordinate to rest, so that it takes three")
    if not duration > 0:
        raise UsageError(f"the duration is {duration} s; it must be positive")
    low, high, bounds = _limits(names, positions, rates, accelerations)
    size = 1 + 2 * harmonics
    times = np.linspace(0.0, duration, SAMPLES * harmonics, endpoint=False, dtype=np.float64)
    bases = _bases(times, duration, harmonics)
    orders = 2 * np.pi / duration * np.arange(1, harmonics + 1)
    # the slope of -log det(Y^T Y) in Y is -2 pinv(Y)^T, and that in the coefficients follows by the chain rule
    q, v, a = function.sx_in()
    W = ca.SX.sym("W", n, function.size2_out(0))
    moved = ca.vertcat(q, v, a)
    slope = ca.gradient(ca.sum1(ca.sum2(W * function(q, v, a))), moved)
    slopes = ca.Function("slopes", [q, v, a, W], [slope]).map(len(times))
    rows = function.map(len(times))

    def regressor(x: Array) -> tuple[tuple[Array, ...], Array]:
        motion = tuple(x.reshape(n, size) @ rows.T for rows in bases)
        return motion, np.vstack(np.hsplit(rows(*motion).full(), len(times)))

    def value(x: Array) -> tuple[float, Array]:
        motion, Y = regressor(x)
        U, singular, V = np.linalg.svd(Y, full_matrices=False)
        weights = -2 * (U / singular) @ V
        by_motion = slopes(*motion, np.hstack(np.vsplit(weights, len(times)))).full()
        gradient = sum(part @ rows for part, rows in zip(np.vsplit(by_motion, 3), bases, strict=True))
        return float(-2 * np.log(singular).sum()), np.asarray(gradient).ravel()

    # the parts of the bounds that a motion takes, shape (bounds, n): positions above and below, rates, accelerations
    def taken(c: Array, amplitude: Array) -> Array:
        reach = amplitude.sum(axis=1)
        inner = (amplitude @ orders**k / most for k, most in bounds.items())
        return np.array([(c + reach - low) / (high - low), (high - c + reach) / (high - low), *inner])

    # the numbers, shape (n, 1), by which amplitudes about the centre are too large for the bounds
    def excess(c: Array, amplitude: Array) -> Array:
        none = taken(c, 0 * amplitude)
        factors: Array = np.max((taken(c, amplitude) - none) / (1 - none), axis=0)[:, None]
        return factors

    def left(x: Array) -> Array:
        c, A, B = _split(x, n, harmonics)
        return 1 - taken(c, _amplitudes(A, B, low, high)).ravel()

    def left_slopes(x: Array) -> Array:
        _, A, B = _split(x, n, harmonics)
        size = _amplitudes(A, B, low, high)
        found = []
        for centre, weights in (
            (-1 / (high - low), -1 / (high - low)[:, None] * np.ones(harmonics)),
            (1 / (high - low), -1 / (high - low)[:, None] * np.ones(harmonics)),
            *((np.zeros(n), -(orders**k) / most[:, None]) for k, most in bounds.items()),
        ):
            blocks = np.zeros((n, n, size.shape[1] * 2 + 1))
            blocks[np.arange(n), np.arange(n)] = np.hstack([centre[:, None], weights * A / size, weights * B / size])
            found.append(blocks.reshape(n, -1))
        return np.vstack(found)

    # at rest, without acceleration, at the begin: linear in the coefficients
    still = np.vstack([np.kron(np.eye(n), bases[1][:1] / orders[0]), np.kron(np.eye(n), bases[2][:1] / orders[0] ** 2)])
    # a random motion at rest at its begin, within its bounds
    start = np.random.default_rng(seed).normal(size=(n, size)) / np.r_[1.0, np.tile(np.arange(1, harmonics + 1), 2)]
    start = (start.ravel() - np.linalg.pinv(still) @ (still @ start.ravel())).reshape(n, size)
    start[:, 0] = (low + high) / 2
    c, A, B = _split(start, n, harmonics)
    start[:, 1:] /= 1.05 * excess(c, np.hypot(A, B))
    begun = value(start.ravel())[0]
    found = minimize(
        value, start.ravel(), jac=True, method="SLSQP", options={"maxiter": MOST, "ftol": SETTLED},
        constraints=(
            {"type": "ineq", "fun": left, "jac": left_slopes},
            {"type": "eq", "fun": lambda x: still @ x, "jac": lambda _: still},
        ),
    )  # fmt: skip
    # within the bounds to the last digit, which the search keeps to its tolerance
    c, A, B = _split(found.x, n, harmonics)
    c = np.clip(c, low, high)
    shrunk = np.maximum(1.0, excess(c, np.hypot(A, B)))
    A, B = A / shrunk, B / shrunk
    x = np.hstack([c[:, None], A, B]).ravel()
    Y = regressor(x)[1]
    condition = float(np.linalg.cond(Y / np.linalg.norm(Y, axis=0)))
    return Excitation(names, duration, c, A, B, -value(x)[0], -begun, condition)


def _bases(times: Array, duration: float, harmonics: int) -> tuple[Array, Array, Array]:
    """Return what multiplies c, A and B to q, v and a at some times, each of shape (n_t, 1 + 2 harmonics)."""
    orders = 2 * np.pi / duration * np.arange(1, harmonics + 1)
    sin, cos, none = np.sin(np.outer(times, orders)), np.cos(np.outer(times, orders)), np.zeros((len(times), 1))
    return (
        np.hstack([none + 1, sin, cos]),
        np.hstack([none, orders * cos, -orders * sin]),
        np.hstack([none, -(orders**2) * sin, -(orders**2) * cos]),
    )


def _split(x: Array, n: int, harmonics: int) -> tuple[Array, Array, Array]:
    """Return c, A and B."""
    rows = x.reshape(n, 1 + 2 * harmonics)
    return rows[:, 0], rows[:, 1 : 1 + harmonics], rows[:, 1 + harmonics :]


def _amplitudes(A: Array, B: Array, low: Array, high: Array) -> Array:
    """Return sqrt(A^2 + B^2), never less and rounded near 0, where it has no slope."""
    amplitudes: Array = np.sqrt(A**2 + B**2 + ((ROUNDED * (high - low)) ** 2)[:, None])
    return amplitudes


def _limits(
    names: Sequence[str],
    positions: Mapping[str, Sequence[float]],
    rates: Mapping[str, float],
    accelerations: Mapping[str, float],
) -> tuple[Array, Array, dict[int, Array]]:
    """Return the ends of each coordinate, and the largest rates (1) and accelerations (2)."""
    for name in (*positions, *rates, *accelerations):
        if name not in names:
            raise UnknownNameError(f"there is no coordinate '{name}'; {nearest(name, names)}")
    for name in names:
        if name not in positions or name not in rates:
            raise UsageError(f"'{name}' has no bounds: give the least and greatest position and the rate of each")
        if len(positions[name]) != 2 or not positions[name][0] < positions[name][1]:
            raise UsageError(f"positions of '{name}': give the least and the greatest, not {positions[name]}")
        if not (rates[name] > 0 and accelerations.get(name, 1.0) > 0):
            raise UsageError(f"the largest rate and acceleration of '{name}' must be positive")
    low, high = np.array([positions[name] for name in names], dtype=np.float64).T
    most = np.array([accelerations.get(name, np.inf) for name in names], dtype=np.float64)
    return low, high, {1: np.array([rates[name] for name in names], dtype=np.float64), 2: most}

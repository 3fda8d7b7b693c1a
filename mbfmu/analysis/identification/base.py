"""Base parameters: the independent combinations of inertial parameters on which the efforts depend.

W stacks the regressor at random configurations, P picks independent columns W_1 of it and the others W_2 = W_1 K_2:

    W theta = W_1 beta,    beta = theta_1 + K_2 theta_2

(Gautier, Journal of Robotic Systems 8(4), 1991, pp. 485-506).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.analysis.identifiability import sum_in_words
from mbfmu.analysis.identification.excitation import Excitation, exciting
from mbfmu.analysis.identification.regressor import Regressor
from mbfmu.base.arguments import checked
from mbfmu.errors import UsageError

Array = npt.NDArray[np.float64]

ALONE = 1e-9
"""Size, relative to the largest, below which a singular value or a coefficient is round-off."""
SPARE = 3
"""Equations at random configurations for each parameter."""
UNITS = {"m": "kg", "h": "kg.m", "J": "kg.m2"}
"""Units of inertial parameters, by the first letter of their label."""


@dataclass(frozen=True)
class BaseParameters:
    """The base parameters of a model.

    Args:
        regressor: the regressor of all inertial parameters.
        columns: indices of the parameters theta_1 that stand for the combinations.
        matrix: K with beta = K theta, shape (n_base, n_theta).
        values: beta of the model.
        singular: singular values of the regressor at random configurations, the largest first.
    """

    regressor: Regressor = field(repr=False)
    columns: tuple[int, ...]
    matrix: Array = field(repr=False)
    values: Array = field(repr=False)
    singular: Array = field(repr=False)

    @property
    def rank(self) -> int:
        """The number of base parameters."""
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """Name of the parameter that stands for each combination."""
        return tuple(self.regressor.names[k] for k in self.columns)

    @property
    def units(self) -> tuple[str, ...]:
        """SI unit of each combination."""
        return tuple(UNITS[name.rpartition(".")[2][0]] for name in self.names)

    @property
    def combinations(self) -> tuple[str, ...]:
        """Each combination in words, such as ``link1.J_33 + link2.J_33 + 4 link2.m``."""
        found = []
        for row, first in zip(self.matrix.tolist(), self.columns, strict=True):
            terms = list(zip(self.regressor.names, row, strict=True))
            found.append(sum_in_words([terms.pop(first), *terms], ALONE, 6))
        return tuple(found)

    @property
    def unidentifiable(self) -> tuple[str, ...]:
        """Names of the parameters on which no effort depends."""
        return tuple(name for k, name in enumerate(self.regressor.names) if not self.matrix[:, k].any())

    @cached_property
    def function(self) -> ca.Function:
        """Function (q, v, a) -> Y_1, shape (n, n_base), with M a - force = Y_1 beta + rest."""
        q, v, a = self.regressor.matrix.sx_in()
        Y = self.regressor.matrix(q, v, a)[:, list(self.columns)]
        return ca.Function("base_regressor", [q, v, a], [Y], ["q", "v", "a"], ["Y"])

    @checked
    def rows(self, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike) -> Array:
        """Return Y_1 at many configurations, one below the other, shape (n_t n, n_base).

        Args:
            q: coordinates, shape (n_t, n).
            v: rates, shape (n_t, n).
            a: accelerations, shape (n_t, n).

        Raises:
            UsageError: an array has another shape.
        """
        return stacked(self.function, *(self._columns(name, x) for name, x in (("q", q), ("v", v), ("a", a))))

    @checked
    def excitation(
        self,
        duration: float,
        positions: Mapping[str, Sequence[float]],
        rates: Mapping[str, float],
        accelerations: Mapping[str, float] | None = None,
        *,
        harmonics: int = 5,
        seed: int = 0,
    ) -> Excitation:
        """Compute a periodic motion that tells the base parameters best: largest log det of Y_1^T Y_1 (D-optimal).

        Args:
            duration: period, s; the motion begins and ends at rest.
            positions: least and greatest value of each coordinate by name.
            rates: largest rate of each coordinate by name, in its unit per second.
            accelerations: largest acceleration of some by name, in their units per second squared.
            harmonics: number of harmonics of each coordinate.
            seed: seed of the motion at which the search begins.

        Raises:
            UnknownNameError: there is no such coordinate.
            UsageError: a bound is missing or contradicts itself, or there are fewer than three harmonics.
        """
        names = self.regressor.coordinates
        return exciting(self.function, names, duration, positions, rates, accelerations or {}, harmonics, seed)

    def _columns(self, name: str, x: npt.ArrayLike) -> Array:
        array = np.asarray(x, dtype=np.float64)
        if array.ndim != 2 or array.shape[1] != len(self.regressor.coordinates):
            raise UsageError(f"{name} has the shape {array.shape}, not (n_t, {len(self.regressor.coordinates)})")
        return array


def stacked(function: ca.Function, q: Array, v: Array, a: Array) -> Array:
    """Return a function of (q, v, a) at many configurations, one below the other."""
    wide: Array = function.map(len(q))(q.T, v.T, a.T).full()
    return np.vstack(np.hsplit(wide, len(q)))


def reduced(of: Regressor, seed: int) -> BaseParameters:
    """Return the base parameters; see `base_parameters`."""
    n, n_theta = len(of.coordinates), len(of.names)
    count, random = SPARE * n_theta // n + 1, np.random.default_rng(seed)
    spans = np.array([np.pi if unit == "rad" else 1.0 for unit in of.units])
    q, v, a = (random.uniform(-span, span, (count, n)) for span in (spans, 1.0, 1.0))
    W = stacked(of.matrix, q, v, a)
    # rank by the singular values of W with columns of length 1
    sizes = np.linalg.norm(W, axis=0)
    scaled = W / np.where(sizes > ALONE * sizes.max(), sizes, np.inf)
    singular = np.asarray(np.linalg.svd(scaled, compute_uv=False), dtype=np.float64)
    rank = int((singular > ALONE * singular[0]).sum())
    # independent columns: those that add most to the ones before, so that a body's parameters join its ancestors'
    fresh = np.abs(np.diag(np.linalg.qr(scaled, mode="r")))
    columns = np.sort(np.argsort(-fresh)[:rank])
    # the others in terms of them: W_2 = W_1 K_2
    K: Array = np.linalg.lstsq(scaled[:, columns], W, rcond=None)[0] / sizes[columns, None]
    K[np.abs(K) < ALONE * np.abs(K).max()] = 0.0
    K[:, columns] = np.eye(rank)
    # beta of the model: its own efforts are Y_1 beta + rest
    efforts = stacked(of.efforts, q, v, a) - stacked(of.rest, q, v, a)
    beta: Array = np.linalg.lstsq(scaled[:, columns], efforts.ravel(), rcond=None)[0] / sizes[columns]
    return BaseParameters(of, tuple(columns.tolist()), K, beta, singular)

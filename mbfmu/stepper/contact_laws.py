"""The laws of contact for impulses w on velocities v = v_f + Y w: Gauss-Seidel passes, and Newton steps where needed.

Impulses are in units of the rates that they change: that of a row on its own has a slope of 1. With rates
gamma = W v + offset, bounds b and limits F the laws are

    0 <= w_N,   gamma_N >= b,   one of them an equality;      |w_T| <= F(w_N),   w_T = F(w_N) against gamma_T unless 0

or w = P_k(w, gamma), where P_k projects w - k (gamma - b) on the impulses allowed, for any k > 0 (Alart & Curnier,
Comput. Methods Appl. Mech. Eng. 92, 1991). A pass takes this contact by contact with k = 1. A Newton step solves

    v' = v_f + Y (P_k(w, gamma) + K W (v' - v)),    K = d P_k / d gamma

which has the size of v, however many contacts there are. Rows may depend on each other: 1/k is the weight of a proximal
term, by which forces that are not unique stay near those before.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import casadi as ca

from mbfmu.dae.formula import solve_linear
from mbfmu.dae.switches import Switches

SX = Any
"""A CasADi expression (CasADi carries no types)."""

PASSES = 8
"""Number of passes over all contacts before a Newton step, and after it."""
NEGLIGIBLE = 1e-13
"""Change of all impulses in a pass, as rates, m/s or rad/s, that needs no Newton step."""
WEIGHTS = 1e-3, 1e-2
"""Least and largest weight of the proximal term, which is the change of the impulses in a pass in between."""
STEPS = 2
"""Number of Newton steps in each correction, at most."""
PATIENCE = 8
"""Number of corrections in which a Newton step has to lead to better impulses; later it may lead through worse ones."""
TOLERATED = 3.0
"""Change in a pass after a later Newton step, relative to that without it, up to which the step is taken."""
YIELDING = 0.3
"""Part of what a jammed impulse has in excess, as a rate, by which the speed of the bounce yields."""
UNBOUNDED = 1e300
"""Impulse beyond which what is no bounce would yield."""
AT_REST = 1e-200
"""Square of an impulse that no friction has."""


class ContactLaws:
    """The laws of contact, with rows and responses as columns of their nonzeros.

    Args:
        switches: gaps and frictions.
        n_p: number of parameters.
        rows: pattern of W, shape (r, n).
        responses: pattern of Y, shape (n, r).

    Attributes:
        moved: Function (w, v_f, Y) -> v.
        residuals: Function (v, w, W, numbers, p, t, h) -> residuals of the laws (see `stepped`), shape (3,).
        braked: Function (w, numbers, p, t, h) -> frictions beyond those of impacts, N.s or N.m.s, shape (r_T,).
    """

    def __init__(self, switches: Switches, n_p: int, rows: Any, responses: Any) -> None:
        self._switches, self._rows, self._responses = switches, rows, responses
        self._r_N, self._r_T = len(switches.gaps), len(switches.frictions)
        self._r, self._n = self._r_N + self._r_T, rows.size2()
        self._W, self._Y = ca.SX.sym("W", rows.nnz()), ca.SX.sym("Y", responses.nnz())
        self._w, self._v = ca.SX.sym("w", self._r), ca.SX.sym("v", self._n)
        self._numbers = ca.SX.sym("numbers", 2 * self._r + 2 * self._r_N + 5 * self._r_T)
        (
            self._own_mass, self._offset, self._bound, self._most,
            self._slow, self._speed, self._kept, self._added, self._fixed,
        ) = parts(self._numbers, *[self._r] * 2, *[self._r_N] * 2, *[self._r_T] * 5)  # fmt: skip
        self._other = [ca.SX.sym("p", n_p), ca.SX.sym("t"), ca.SX.sym("h")]
        self.moved = function(
            "moved", [self._w, self._v, self._Y], [self._v + ca.SX(responses, self._Y) @ self._w]
        )  # fmt: skip
        self._pass, self._linear, self._allowed = self._pass_over(), self._linearised(), self._within()
        self._better = self._newton_or_not()
        self.residuals, self.braked = self._residuals(), self._beyond_impacts()

    def improved(
        self, w: Any, count: Any, v_f: Any, W: Any, Y: Any, numbers: Any, other: Sequence[Any]
    ) -> tuple[Any, Any]:
        """Return better impulses, and the 1-norm of their change in the last pass, which is 0 where the laws hold.

        Args:
            w: impulses, MX, shape (r,).
            count: number of corrections before.
            v_f: velocities without impulses, MX, shape (n,).
            W: nonzeros of the rows, MX.
            Y: nonzeros of the responses, MX.
            numbers: MX, one after the other: own masses of the rows and offsets of their rates, shape (r,) each; bounds
                of gaps' rates and impulses beyond which these yield, shape (r_N,) each; and of slip rates, shape (r_T,)
                each: whether it is at rest, its speed, the normal force that adds to the present one, what adds to the
                limit of the impulse, and that limit for frictions without a gap.
            other: p, t, h.
        """
        w, left = self._passes(w, v_f, W, Y, numbers, other)
        for _ in range(STEPS):
            w, left = self._better(left > NEGLIGIBLE, w, count, left, v_f, W, Y, numbers, *other)
        return w, left

    def _passes(self, w: Any, v_f: Any, W: Any, Y: Any, numbers: Any, other: Sequence[Any]) -> tuple[Any, Any]:
        v, before = self.moved(w, v_f, Y), w
        for _ in range(PASSES):
            before = w
            w, v = self._pass(w, v, W, Y, numbers, *other)
        return w, ca.norm_1(w - before)

    def _newton_or_not(self) -> Any:
        """Return the Function (whether, w, count, left, v_f, W, Y, numbers, p, t, h) -> w and left after a Newton step.

        The step is taken only if passes after it change less than as many passes without it, or later not much more.
        """
        sizes = (self._r, 1, 1, self._n, self._W.numel(), self._Y.numel(), self._numbers.numel())
        given = [ca.MX.sym(f"i{k}", size) for k, size in enumerate(sizes)]
        given += [ca.MX.sym(item.name() if item.is_scalar() else "p", item.numel()) for item in self._other]
        w, count, left, v_f, W, Y, numbers, *other = given
        v = self.moved(w, v_f, Y)
        weight = ca.fmin(WEIGHTS[1], ca.fmax(WEIGHTS[0], left))
        P, K = self._linear(w, v, W, numbers, 1 / weight, *other)
        across = ca.mtimes(ca.MX(self._slopes, K), ca.MX(self._rows, W))
        along = ca.MX(self._responses, Y)
        change = solve_linear(ca.DM.eye(self._n) - ca.mtimes(along, across), self.moved(P, v_f, Y) - v)
        tried = self._allowed(P + ca.mtimes(across, change), numbers, *other)
        plain, left_plain = self._passes(w, v_f, W, Y, numbers, other)
        tried, left_tried = self._passes(tried, v_f, W, Y, numbers, other)
        taken = left_tried < ca.if_else(count < PATIENCE, 1, TOLERATED) * left_plain
        results = [ca.if_else(taken, tried, plain), ca.if_else(taken, left_tried, left_plain)]
        stepped = ca.Function("newton", given, results)
        return ca.Function.if_else("better", stepped, ca.Function("as_is", given, [w, left]))

    def _normal(self, i: int, w: SX, rate: SX, k: SX | float = 1.0) -> SX:
        """Return P_k of a gap's impulse."""
        wanted = ca.fmax(0, w - k * (rate - self._bound[i]))
        return wanted - k * YIELDING / (1 + k * YIELDING) * ca.fmax(0, wanted - self._most[i])

    def _limit(self, j: int, w: Sequence[SX]) -> SX:
        """Return the limit of a friction's impulse, in units of its own mass, at the impulses of gaps."""
        return ca.fmax(0, self._impulse(j, w, self._kept[j]) + self._added[j]) / self._own_mass[self._r_N + j]

    def _impulse(self, j: int, w: Sequence[SX], kept: SX | float) -> SX:
        """Return the limit that the normal force alone gives, N.s or N.m.s."""
        p, t, h = self._other
        gap = self._switches.frictions[j].gap
        if gap is None:
            return self._fixed[j]
        N, speed = ca.SX.zeros(self._r_T), ca.SX.zeros(self._r_T)
        N[j], speed[j] = self._own_mass[gap] * w[gap] / h + kept, self._speed[j]
        sizes = (self._switches.static(N, p, t), self._switches.sliding(speed, N, p, t))
        return h * ca.if_else(self._slow[j], sizes[0][j], sizes[1][j])

    def _friction(self, group: Sequence[int], ahead: Sequence[SX], w: Sequence[SX]) -> list[SX]:
        """Return the entries of a friction's impulse that are allowed next to some."""
        largest, size = self._limit(group[0], w), ca.sqrt(ca.sumsqr(ca.vertcat(*ahead)) + AT_REST)
        factor = ca.if_else(size > largest, largest / size, 1)
        return [factor * item for item in ahead]

    def _pass_over(self) -> Any:
        """Return the Function (w, v, W, Y, numbers, p, t, h) -> w and v after a pass."""
        across, along = ca.SX(self._rows, self._W).T, ca.SX(self._responses, self._Y)
        w, v = self._w.elements(), self._v.elements()

        def rate(i: int) -> SX:
            column = across[:, i]
            terms = zip(column.sparsity().row(), column.nonzeros(), strict=True)
            return sum((entry * v[k] for k, entry in terms), self._offset[i])

        def change(i: int, wanted: SX) -> None:
            column, step = along[:, i], wanted - w[i]
            for k, entry in zip(column.sparsity().row(), column.nonzeros(), strict=True):
                v[k] = v[k] + entry * step
            w[i] = wanted

        by_gap: dict[int | None, list[tuple[int, ...]]] = {}
        for group in self._switches.groups:
            by_gap.setdefault(self._switches.frictions[group[0]].gap, []).append(group)
        for i in [*range(self._r_N), None]:
            if i is not None:
                change(i, self._normal(i, w[i], rate(i)))
            for group in by_gap.get(i, []):
                places = [self._r_N + j for j in group]
                wanted = self._friction(group, [w[k] - rate(k) for k in places], w)
                for k, item in zip(places, wanted, strict=True):
                    change(k, item)
        given = [self._w, self._v, self._W, self._Y, self._numbers, *self._other]
        return function("pass", given, [ca.vertcat(*w), ca.vertcat(*v)])

    def _linearised(self) -> Any:
        """Return the Function (w, v, W, numbers, k, p, t, h) -> P_k and the nonzeros of K."""
        k, rate = ca.SX.sym("k"), ca.SX.sym("rate", self._r)
        found = [self._normal(i, self._w[i], rate[i], k) for i in range(self._r_N)]
        by_rate: dict[int, SX] = {}
        for group in self._switches.groups:
            places = [self._r_N + j for j in group]
            items = self._friction(group, [self._w[i] - k * rate[i] for i in places], found)
            by_rate.update(zip(places, items, strict=True))
        P = ca.vertcat(*found, *(by_rate[i] for i in sorted(by_rate)))
        K = ca.jacobian(P, rate)
        self._slopes = K.sparsity()
        own = ca.SX(self._rows, self._W) @ self._v + self._offset
        results = ca.substitute([P, nonzeros(K)], [rate], [own])
        return function("linearised", [self._w, self._v, self._W, self._numbers, k, *self._other], results)

    def _within(self) -> Any:
        """Return the Function (w, numbers, p, t, h) -> allowed impulses next to w."""
        w = [ca.fmax(0, self._w[i]) for i in range(self._r_N)] + self._w.elements()[self._r_N :]
        for group in self._switches.groups:
            places = [self._r_N + j for j in group]
            for i, item in zip(places, self._friction(group, [w[i] for i in places], w), strict=True):
                w[i] = item
        return function("allowed", [self._w, self._numbers, *self._other], [ca.vertcat(*w)])

    def _residuals(self) -> Any:
        w, rate = self._w.elements(), ca.SX(self._rows, self._W) @ self._v + self._offset
        signorini, coulomb, dissipation = [ca.SX(0)], [ca.SX(0)], [ca.SX(0)]
        for i in range(self._r_N):
            yielding = YIELDING * ca.fmax(0, w[i] - self._most[i])
            signorini.append(ca.fabs(ca.fmin(w[i], rate[i] - self._bound[i] + yielding)))
        for group in self._switches.groups:
            force, slip = (ca.vertcat(*(item[self._r_N + j] for j in group)) for item in (w, rate))
            largest = self._limit(group[0], w)
            coulomb.append(ca.fmax(0, ca.norm_2(force) - largest))
            lost = ca.dot(force, slip) + largest * ca.norm_2(slip)
            dissipation.append(self._own_mass[self._r_N + group[0]] * ca.fabs(lost))
        found = [ca.mmax(ca.vertcat(*items)) for items in (signorini, coulomb, dissipation)]
        given = [self._v, self._w, self._W, self._numbers, *self._other]
        return function("residuals", given, [ca.vertcat(*found)])

    def _beyond_impacts(self) -> Any:
        w, found = self._w.elements(), [ca.SX(0)] * self._r_T
        none = [ca.SX(0)] * self._r
        for group in self._switches.groups:
            first = group[0]
            size = self._own_mass[self._r_N + first] * ca.norm_2(ca.vertcat(*(w[self._r_N + j] for j in group)))
            of_impact = self._impulse(first, w, 0) - self._impulse(first, none, 0)
            for j in group:
                found[j] = ca.fmax(0, size - of_impact)
        return function("braked", [self._w, self._numbers, *self._other], [ca.vertcat(ca.SX(0, 1), *found)])


def nonzeros(matrix: SX) -> SX:
    """Return the nonzeros of a matrix as a column."""
    return ca.vertcat(ca.SX(0, 1), *matrix.nonzeros())


def parts(column: Any, *sizes: int) -> list[Any]:
    """Return a column in parts of these sizes."""
    places = [0]
    for size in sizes:
        places.append(places[-1] + size)
    return [ca.reshape(column[i:j], j - i, 1) for i, j in pairwise(places)]


def function(name: str, given: list[SX], results: list[SX]) -> Any:
    """Return the Function of dense results without common subexpressions."""
    return ca.Function(name, given, ca.cse([ca.densify(item) for item in results]))

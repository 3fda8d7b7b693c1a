"""The Schur complement of many alike bodies, put together and eliminated front by front, in calls of few functions.

With C_e and M_e the columns and the block of body e, S = C M^-1 C^T is the sum of the bodies' shares C_e M_e^-1 C_e^T.
Rows that the same bodies share are eliminated together: the front of such rows holds the shares of bodies that touch
them and what the fronts before leave, and leaves a share to one later front (the multifrontal method: Duff & Reid, The
multifrontal solution of indefinite sparse symmetric linear equations, ACM TOMS 9, 1983). Bodies and fronts that are
alike call one function (see `alike`).
"""

import copy
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import casadi as ca

from mbfmu.dae import alike
from mbfmu.dae.alike import Calls, argument, columns
from mbfmu.model.frame import SX

FUNCTIONS = 0.5
"""Largest number of different fronts, relative to that of all, with which calls are worth it."""


@dataclass(frozen=True)
class Element:
    """A body as the constraints see it.

    Args:
        columns: numbers of its coordinates.
        groups: numbers of the constraints that it takes part in, in groups that the same bodies share.
    """

    columns: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]

    @property
    def rows(self) -> tuple[int, ...]:
        """Numbers of all these constraints."""
        return tuple(row for group in self.groups for row in group)


@dataclass(frozen=True)
class Front:
    """Rows that are eliminated together, and those to which their elimination leaves a share.

    Args:
        own: numbers of the rows that are eliminated.
        later: numbers of the others.
        elements: numbers of the elements whose shares it takes.
        before: numbers of the fronts whose shares it takes.
        places: place among its rows of each row of these elements, and then of these fronts.
    """

    own: tuple[int, ...]
    later: tuple[int, ...]
    elements: tuple[int, ...]
    before: tuple[int, ...]
    places: tuple[tuple[int, ...], ...]

    @property
    def key(self) -> Hashable:
        """The common part of alike fronts."""
        return len(self.own), len(self.later), self.places


@dataclass(frozen=True)
class Plan:
    """The elements and the fronts in their order.

    Args:
        elements: the elements.
        fronts: the fronts.
    """

    elements: tuple[Element, ...]
    fronts: tuple[Front, ...]


def plan_of(C: Any, bodies: Sequence[int]) -> Plan | None:
    """Return elements and fronts for the pattern of C; None if few fronts are alike.

    Args:
        C: CasADi Sparsity, shape (k, n).
        bodies: number of the body that each coordinate belongs to, shape (n,).
    """
    if len(set(bodies)) < alike.MANY or not C.size1():
        return None
    of: dict[int, list[int]] = defaultdict(list)
    for column, body in enumerate(bodies):
        of[body].append(column)
    touched: list[set[int]] = [set() for _ in range(C.size1())]
    for row, column in zip(*C.get_triplet(), strict=True):
        touched[row].add(bodies[column])
    groups: dict[frozenset[int], list[int]] = defaultdict(list)
    for row, bodies_of_row in enumerate(touched):
        groups[frozenset(bodies_of_row)].append(row)
    members = list(groups.values())
    of_body: dict[int, list[int]] = defaultdict(list)
    for number, among in enumerate(groups):
        for body in among:
            of_body[body].append(number)
    order = _order(len(members), of_body.values())
    place = {group: at for at, group in enumerate(order)}
    moving = [body for body in of if of_body[body]]
    elements = [Element(tuple(of[body]), tuple(tuple(members[group]) for group in of_body[body])) for body in moving]
    waiting: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))  # elements and fronts, by place
    for number, body in enumerate(moving):
        waiting[min(place[group] for group in of_body[body])][0].append(number)
    fronts: list[Front] = []
    reach: list[set[int]] = []  # places of the groups that each front leaves a share to
    for at, group in enumerate(order):
        taken, before = waiting[at]
        share = {place[other] for number in taken for other in of_body[moving[number]]}
        share |= {other for number in before for other in reach[number]}
        ahead = sorted(share - {at})
        own, later = members[group], [row for other in ahead for row in members[order[other]]]
        index = {row: k for k, row in enumerate((*own, *later))}
        sources = [elements[number].rows for number in taken] + [fronts[number].later for number in before]
        fronts.append(
            Front(
                tuple(own), tuple(later), tuple(taken), tuple(before),
                tuple(tuple(index[row] for row in rows) for rows in sources),
            )
        )  # fmt: skip
        reach.append(set(ahead))
        if ahead:
            waiting[ahead[0]][1].append(at)
    if len({front.key for front in fronts}) > FUNCTIONS * len(fronts):
        return None
    return Plan(tuple(elements), tuple(fronts))


def _order(count: int, cliques: Any) -> list[int]:
    """Return the order in which groups of rows are eliminated.

    Args:
        count: number of the groups.
        cliques: groups that one body joins, for each body.
    """
    pairs = {(a, b) for clique in cliques for a in clique for b in clique} | {(k, k) for k in range(count)}
    rows, columns = zip(*sorted(pairs), strict=True)
    return list(ca.Sparsity.triplet(count, count, rows, columns).amd())


class Fronts:
    """The factor of S = C M^-1 C^T, with C.

    Args:
        plan: elements and fronts for C.
        inverse: M^-1, SX, block diagonal, shape (n, n).
        C: SX, shape (k, n).
        least: part of the diagonal of S below which a pivot counts as none.
        row_lengths: see `Dae`.
    """

    def __init__(self, plan: Plan, inverse: SX, C: SX, least: float, row_lengths: Sequence[float]) -> None:
        self._plan, self._functions, self._calls = plan, _Functions(), Calls()
        k, n = C.shape
        self.shape = k, n
        self._C = [[argument(C[list(group), list(item.columns)]) for group in item.groups] for item in plan.elements]
        shares = [
            self._calls(_share, *own, argument(inverse[list(item.columns), list(item.columns)]))
            for own, item in zip(self._C, plan.elements, strict=True)
        ]
        diagonal = [ca.SX(0)] * k
        for item, share in zip(plan.elements, shares, strict=True):
            at = 0
            for place, row in enumerate(item.rows):
                diagonal[row] = diagonal[row] + share[at]
                at += len(item.rows) - place
        bounds = [least * item for item in diagonal]
        weights = [ca.SX(1)] * k
        if row_lengths:
            lengths = ca.sum2(C**2)
            bounds = [item * length**2 for item, length in zip(bounds, row_lengths, strict=False)]
            weights = lengths.elements()
        self._D: list[SX] = []
        self._L: list[SX] = []
        left: list[SX] = []
        for front in plan.fronts:
            given = [*(shares[number] for number in front.elements), *(left[number] for number in front.before)]
            D, L, share = self._functions.front(front)(*given)
            own = list(front.own)
            pivots = ca.vertcat(
                *(
                    ca.if_else(bounds[row] < (D[at] * weights[row] if row_lengths else D[at]), D[at], math.nan)
                    for at, row in enumerate(own)
                )
            )
            self._D.append(pivots)
            self._L.append(L)
            left.append(share)

    @property
    def entries(self) -> SX:
        """The entries of all parts that are no numbers."""
        return ca.vertcat(ca.SX(0, 1), *(block.given for own in self._C for block in own), *self._D, *self._L)

    def with_entries(self, entries: SX) -> "Fronts":
        """Return the factor with other entries."""
        found = copy.copy(self)
        blocks = [block.given for own in self._C for block in own]
        sizes = [item.numel() for item in (*blocks, *self._D, *self._L)]
        parts = iter(ca.vertsplit(entries, [0, *accumulate(sizes)]))
        found._C = [[block.renamed(next(parts)) for block in own] for own in self._C]
        found._D, found._L = [next(parts) for _ in self._D], [next(parts) for _ in self._L]
        return found

    def rows(self, x: SX) -> SX:
        """Return C x, shape (k,)."""
        elements = self._plan.elements
        parts = columns(x, [item.columns for item in elements])
        every = ca.vertcat(*(self._calls(_rows, *own, part) for own, part in zip(self._C, parts, strict=True)))
        places: dict[int, list[int]] = defaultdict(list)
        for place, row in enumerate(row for item in elements for row in item.rows):
            places[row].append(place)
        found = every[[places[row][0] for row in range(self.shape[0])]]
        for number in range(1, max(map(len, places.values()))):
            rows = [row for row in range(self.shape[0]) if len(places[row]) > number]
            found[rows] += every[[places[row][number] for row in rows]]
        return found

    def columns(self, mu: SX) -> SX:
        """Return C^T mu, shape (n,)."""
        elements = self._plan.elements
        parts = iter(columns(mu, [group for item in elements for group in item.groups]))
        every = ca.vertcat(*(self._calls(_columns, *own, *(next(parts) for _ in own)) for own in self._C))
        found = ca.SX.zeros(self.shape[1])
        found[[column for item in elements for column in item.columns]] = every
        return found

    def solve(self, b: SX) -> SX:
        """Return S^-1 b, shape (k,)."""
        solved: list[SX] = []
        left: list[SX] = []
        parts = columns(b, [front.own for front in self._plan.fronts])
        for number, front in enumerate(self._plan.fronts):
            given = [parts[number].given, self._L[number], *(left[each] for each in front.before)]
            z, share = self._functions.forward(front)(*given)
            solved.append(z)
            left.append(share)
        x: list[Any] = [None] * self.shape[0]
        for number in reversed(range(len(self._plan.fronts))):
            front = self._plan.fronts[number]
            later = ca.vertcat(ca.SX(0, 1), *(x[row] for row in front.later))
            own = self._functions.backward(front)(solved[number], self._D[number], self._L[number], later)
            for row, entry in zip(front.own, own.elements(), strict=True):
                x[row] = entry
        return ca.vertcat(*x)


def _share(*given: SX) -> SX:
    """Return the lower triangle of C_e M_e^-1 C_e^T column by column, from the blocks of C_e and M_e^-1."""
    C = ca.vertcat(*given[:-1])
    share = C @ (given[-1] @ C.T)
    return ca.vertcat(
        *(share[row, column] for column in range(share.shape[0]) for row in range(column, share.shape[0]))
    )


def _rows(*given: SX) -> SX:
    """Return C_e x_e, from the blocks of C_e and x_e."""
    return ca.densify(ca.vertcat(*given[:-1]) @ given[-1])


def _columns(*given: SX) -> SX:
    """Return C_e^T mu_e, from the blocks of C_e and those of mu_e."""
    half = len(given) // 2
    return ca.densify(ca.vertcat(*given[:half]).T @ ca.vertcat(*given[half:]))


class _Functions:
    """The functions that elements and fronts call, each made once for all that are alike."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Any] = {}

    def _once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def front(self, front: Front) -> Any:
        """Return the Function (shares of elements and fronts) -> D, the columns of L below it, the share that is left.

        Shares are lower triangles, column by column.
        """

        def make() -> Any:
            s, size = len(front.own), len(front.own) + len(front.later)
            F = [[ca.SX(0)] * size for _ in range(size)]
            given = []
            for places in front.places:
                share = ca.SX.sym("share", len(places) * (len(places) + 1) // 2)
                given.append(share)
                at = 0
                for j, column in enumerate(places):
                    for row in places[j:]:
                        low, high = max(row, column), min(row, column)
                        F[low][high] = F[low][high] + share[at]
                        at += 1
            D, L = [], []
            for j in range(s):
                D.append(F[j][j])
                over = 1 / F[j][j]
                factor = [F[i][j] * over for i in range(j + 1, size)]
                L += factor
                for i in range(j + 1, size):
                    for k in range(j + 1, i + 1):
                        F[i][k] = F[i][k] - factor[i - j - 1] * F[k][j]
            share = [F[i][k] for k in range(s, size) for i in range(k, size)]
            empty = ca.SX(0, 1)
            results = [ca.vertcat(empty, *D), ca.vertcat(empty, *L), ca.vertcat(empty, *share)]
            return alike.apart("front", given, [ca.densify(item) for item in results])

        return self._once(("front", front.key), make)

    def forward(self, front: Front) -> Any:
        """Return the Function (b, L, shares of fronts) -> the solution with L, and the share that is left."""

        def make() -> Any:
            s, size = len(front.own), len(front.own) + len(front.later)
            b, L = ca.SX.sym("b", s), _Panel(s, size)
            z = [*b.elements(), *[ca.SX(0)] * (size - s)]
            given = []
            for places in front.places[len(front.elements) :]:
                share = ca.SX.sym("share", len(places))
                given.append(share)
                for at, place in enumerate(places):
                    z[place] = z[place] + share[at]
            for j in range(s):
                for i in range(j + 1, size):
                    z[i] = z[i] - L[i, j] * z[j]
            left = ca.vertcat(ca.SX(0, 1), *z[s:])
            return alike.apart("forward", [b, L.symbols, *given], [ca.vertcat(*z[:s]), ca.densify(left)])

        places = front.places[len(front.elements) :]
        return self._once(("forward", len(front.own), len(front.later), places), make)

    def backward(self, front: Front) -> Any:
        """Return the Function (z, D, L, the solution's later rows) -> its own rows."""

        def make() -> Any:
            s, size = len(front.own), len(front.own) + len(front.later)
            z, D, L, later = ca.SX.sym("z", s), ca.SX.sym("D", s), _Panel(s, size), ca.SX.sym("later", size - s)
            x = [*(z / D).elements(), *later.elements()]
            for j in reversed(range(s)):
                for i in range(j + 1, size):
                    x[j] = x[j] - L[i, j] * x[i]
            return alike.apart("backward", [z, D, L.symbols, later], [ca.vertcat(*x[:s])])

        return self._once(("backward", len(front.own), len(front.later)), make)


class _Panel:
    """Symbols of the columns of L below the diagonal."""

    def __init__(self, columns: int, rows: int) -> None:
        self.symbols = ca.SX.sym("L", sum(rows - 1 - j for j in range(columns)))
        self._first = [sum(rows - 1 - k for k in range(j)) for j in range(columns)]

    def __getitem__(self, place: tuple[int, int]) -> SX:
        row, column = place
        return self.symbols[self._first[column] + row - column - 1]
